"""`podium diff`."""

import html
import json
import re
import shlex
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from podium import BradleyTerry, read_comparisons, save
from podium.cli.diff import diff
from podium.cli.rank import rank
from podium.errors import DataWarning, InputError
from podium.evaluate.differences import read_settings

from helpers import thin_data


def votes(*pairs):
    return "winner,loser\n" + "".join(f"{a},{b}\n" * n for a, b, n in pairs)


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "before.csv").write_text(votes(("x", "y", 60), ("y", "x", 20), ("y", "z", 50), ("z", "y", 30)))
    (tmp_path / "after.csv").write_text(votes(("y", "x", 60), ("x", "y", 20), ("y", "z", 50), ("z", "y", 30)))
    (tmp_path / "other.csv").write_text(votes(("u", "v", 2), ("v", "u", 1)))
    return lambda *args: CliRunner().invoke(diff, args)


def test_who_moved_and_what_is_more_than_chance(run):
    done = run("before.csv", "after.csv", "--format", "json")
    rows = {row["item"]: row for row in json.loads(done.stdout)}
    assert (rows["x"]["rank_a"], rows["x"]["rank_b"], rows["x"]["significant"]) == (1, 3, True)
    assert "3 items in both; 33.3 % of their pairs stand in the same order" in done.stderr
    table = run("before.csv", "after.csv").stdout
    assert "1 → 3 ▼2" in table
    assert table.splitlines()[-1].endswith("*")


def test_leaderboards_models_and_votes_can_be_mixed(run):
    assert CliRunner().invoke(rank, ["before.csv", "-o", "board.csv"]).exit_code == 0
    save(BradleyTerry().fit(read_comparisons("before.csv")), "model.podium")
    for first in ("board.csv", "model.podium"):
        rows = json.loads(run(first, "before.csv", "--format", "json").stdout)
        assert all(abs(row["change"]) < 1e-6 for row in rows)
        assert not any(row["significant"] for row in rows)


def test_without_errors_nothing_is_called_significant(run, tmp_path):
    (tmp_path / "scores.csv").write_text("item,score\nx,1\ny,2\n")
    done = run("scores.csv", "before.csv")
    assert "nothing can be called significant" in done.stderr
    assert "only in the second: 1 (z)" in done.stderr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,score\nx,1\nx,2\n", "'x' appears twice"),
        ("item,score\nx,1\ny,\n", "missing or not finite"),
        ("item,score\nx,good\ny,bad\n", "must be numbers"),
    ],
)
def test_a_damaged_leaderboard_is_named(run, tmp_path, text, message):
    (tmp_path / "bad.csv").write_text(text)
    problem = run("bad.csv", "before.csv").exception
    assert isinstance(problem, InputError)
    assert "bad.csv" in str(problem)
    assert message in str(problem)


def test_no_item_in_common_is_an_error_that_names_some(run):
    problem = run("before.csv", "other.csv").exception
    assert isinstance(problem, InputError)
    assert "no item in common: ['x', 'y', 'z'] and ['u', 'v']" in str(problem)
    assert "no such file" in str(run("before.csv", "nowhere.csv").exception)


def test_columns_of_votes_may_be_named(run, tmp_path):
    text = (tmp_path / "before.csv").read_text()
    (tmp_path / "named.csv").write_text(text.replace("winner,loser", "first,second").replace(",", ";"))
    assert run("named.csv", "before.csv").exception is not None
    (tmp_path / "again.csv").write_text((tmp_path / "named.csv").read_text())
    done = run(
        "named.csv", "again.csv", "--winner", "first", "--loser", "second", "--delimiter", ";", "--format", "json"
    )
    assert done.exit_code == 0, done.output
    assert {row["change"] for row in json.loads(done.stdout)} == {0.0}


def test_column_options_beside_leaderboards_are_refused(run):
    CliRunner().invoke(rank, ["before.csv", "-o", "board.csv"])
    assert "both are leaderboards" in str(run("board.csv", "board.csv", "--winner", "x").exception)


def test_the_same_file_twice_is_told(run):
    done = run("before.csv", "./before.csv")
    assert done.exit_code == 0
    assert "before.csv and ./before.csv are the same file" in done.stderr
    assert "same file" not in run("before.csv", "after.csv").stderr


@pytest.mark.parametrize("name", ["board.csv", "board.json", "board.jsonl", "board.parquet", "after.csv", "m.podium"])
def test_standard_input_is_read_like_a_path(run, tmp_path, name):
    if name.startswith("board"):
        CliRunner().invoke(rank, ["after.csv", "-o", name])
    save(BradleyTerry().fit(read_comparisons("after.csv")), "m.podium")
    piped = CliRunner().invoke(diff, ["before.csv", "-", "--format", "json"], input=(tmp_path / name).read_bytes())
    assert piped.exit_code == 0, piped.exception
    assert piped.stdout == run("before.csv", name, "--format", "json").stdout
    assert "can be read once only" in str(run("-", "-").exception)


@pytest.fixture
def arena(tmp_path, monkeypatch):
    """Votes with ties, sides and a covariate, and the same votes ranked in several ways."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    m, n = 3000, 8
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    half = 0.25 * (right - left) + 0.2
    chances = np.array([np.exp(half), np.full(m, 1.5), np.exp(-half)])
    place = rng.random(m) * chances.sum(axis=0)
    outcome = 1 - 0.5 * ((place > chances[0]).astype(int) + (place > chances[0] + chances[1]).astype(int))
    names = np.array([f"item {k}" for k in range(n)])
    long, short = rng.normal(size=(2, m))
    columns = {"left": names[left], "right": names[right], "outcome": outcome, "wit_a": long, "wit_b": short}
    pl.DataFrame(columns).write_csv("votes.csv")
    return tmp_path


def board(name, *options):
    done = CliRunner().invoke(rank, ["votes.csv", "-o", name, *options])
    assert done.exit_code == 0, (done.output, done.exception)


UNLIKE = {
    "ties": ["--ties", "davidson"],
    "side effect": ["--side-effect"],
    "covariates": ["--covariates", "wit"],
    "l2": ["--l2", "50"],
    "method": ["--method", "least-squares"],
}


@pytest.mark.parametrize("name", UNLIKE)
def test_a_page_says_what_diff_says_of_an_earlier_leaderboard_that_was_fitted_otherwise(arena, name):
    board("plain.csv")
    board("other.csv", *UNLIKE[name])
    told = CliRunner().invoke(diff, ["plain.csv", "other.csv"]).stderr
    sentence = next(line for line in told.splitlines() if line.startswith("not fitted alike"))
    since = ["votes.csv", "--since", "plain.csv", "--report", "page.html"]
    with pytest.warns(DataWarning, match=re.escape(f"since plain.csv: {sentence}")):
        assert CliRunner().invoke(rank, [*since, *UNLIKE[name]]).exit_code == 0
    assert sentence in html.unescape(Path("page.html").read_text())
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        assert CliRunner().invoke(rank, since).exit_code == 0
    assert "not fitted alike" not in Path("page.html").read_text()


@pytest.mark.parametrize("name", UNLIKE)
@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "parquet"])
def test_the_same_votes_fitted_in_two_ways_have_no_changes(arena, name, form):
    board(f"plain.{form}")
    board(f"other.{form}", *UNLIKE[name])
    done = CliRunner().invoke(diff, [f"plain.{form}", f"other.{form}"])
    assert done.exit_code == 0, done.exception
    assert "*" not in done.stdout
    assert "change of score" not in done.stdout
    assert f"not fitted alike ({name}: " in done.stderr
    rows = json.loads(CliRunner().invoke(diff, [f"plain.{form}", f"other.{form}", "--format", "json"]).stdout)
    assert all(set(row) == {"item", "rank_a", "rank_b", "climbed"} for row in rows)


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "parquet"])
def test_a_written_leaderboard_is_a_plain_table_that_says_how_it_was_fitted(arena, form):
    board(f"b.{form}", "--covariates", "wit", "--ties", "davidson", "--scale", "elo", "--l2", "0.5")
    frame = {
        "csv": pl.read_csv, "json": lambda path: pl.DataFrame(json.loads((arena / path).read_text())),
        "jsonl": pl.read_ndjson, "parquet": pl.read_parquet,
    }[form](f"b.{form}")  # fmt: skip
    assert frame["score"].dtype == pl.Float64
    (told,) = frame["settings"].unique()
    assert read_settings(told) == {
        "method": "bradley-terry", "l2": "0.5", "ties": "davidson", "side_effect": "False", "scale": "elo",
        "bias_reduction": "False", "covariates": "wit",
    }  # fmt: skip


@pytest.mark.parametrize(
    "options", [["--scale", "elo"], ["--anchor", "item 3=7"], ["--scale", "elo", "--ci", "sandwich"]]
)
def test_scale_and_anchor_are_no_change(arena, options):
    board("plain.csv")
    board("other.csv", *options)
    rows = json.loads(CliRunner().invoke(diff, ["plain.csv", "other.csv", "--format", "json"]).stdout)
    assert all(abs(row["change"]) < 1e-6 for row in rows)
    assert not any(row["significant"] for row in rows)
    rows = json.loads(CliRunner().invoke(diff, ["other.csv", "votes.csv", "--format", "json"]).stdout)
    assert all(abs(row["change"]) < 1e-6 for row in rows)


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z_]{0,8}", fullmatch=True), st.text(st.characters(codec="utf-8")), max_size=5
    )
)
def test_settings_survive_writing_whatever_they_hold(told):
    assert read_settings(shlex.join(f"{name}={value}" for name, value in told.items())) == told


def test_a_leaderboard_that_does_not_say_is_told(run, tmp_path):
    (tmp_path / "scores.csv").write_text("item,score,std_error\nx,1,0.1\ny,2,0.1\n")
    assert "scores.csv does not say how it was fitted" in run("scores.csv", "before.csv").stderr
    assert "does not say" not in run("after.csv", "before.csv").stderr
    mixed = "item,score,settings\nx,1,method=borda\ny,2,method=elo\n"
    (tmp_path / "mixed.csv").write_text(mixed)
    assert "fitted in 2 ways" in str(run("mixed.csv", "before.csv").exception)


def contrast(model, items, weight):
    """Scores less the reference, and the standard errors of that, by the whole covariance."""
    order = [model.ranking_.items.index(item) for item in items]
    scores, joint = model.ranking_.scores[order], model.ranking_.covariance[np.ix_(order, order)]
    matrix = np.eye(len(weight)) - weight
    return matrix @ scores, np.sqrt(np.maximum(np.diag(matrix @ joint @ matrix.T), 0))


@pytest.mark.parametrize("reference", [None, "mean", "weighted-mean", "y"])
def test_the_reference_is_held_fixed_and_its_error_is_that_of_the_contrast(run, tmp_path, reference):
    models = [
        BradleyTerry(l2=0).fit(read_comparisons(f"{name}.csv")) for name in ("before", "after")
    ]  # the votes alone
    items = models[0].ranking_.items
    votes_of = np.array([{"x": 160.0, "y": 320.0, "z": 160.0}[item] for item in items])  # in both files together
    weight = {
        "weighted-mean": votes_of / votes_of.sum(), "y": np.array([float(item == "y") for item in items]),
    }.get(reference, np.full(3, 1 / 3))  # fmt: skip
    (one, error_a), (two, error_b) = (contrast(model, items, weight) for model in models)
    options = [] if reference is None else ["--reference", reference]
    rows = {row["item"]: row for row in json.loads(run("before.csv", "after.csv", *options, "--format", "json").stdout)}
    for k, item in enumerate(items):
        assert rows[item]["change"] == pytest.approx(two[k] - one[k], abs=1e-6)
        assert rows[item]["std_error"] == pytest.approx(np.hypot(error_a[k], error_b[k]), abs=1e-6)
    # Tables hold no covariances: never narrower than the truth.
    for name in ("before", "after"):
        CliRunner().invoke(rank, [f"{name}.csv", "-o", f"{name}-board.csv"])
    tables = run("before-board.csv", "after-board.csv", *options, "--format", "json")
    for row in json.loads(tables.stdout):
        assert row["change"] == pytest.approx(rows[row["item"]]["change"], abs=1e-6)
        assert row["std_error"] >= rows[row["item"]]["std_error"] - 1e-6
    assert ("upper bounds" in tables.stderr) == (reference in ("weighted-mean", "y"))


def test_an_item_that_only_won_moves_nobody(run, tmp_path):
    text = (tmp_path / "before.csv").read_text()
    (tmp_path / "more.csv").write_text(text + "star,x\n" * 5)
    (tmp_path / "most.csv").write_text(text + "star,x\n" * 500)
    with thin_data():
        rows = json.loads(run("more.csv", "most.csv", "--format", "json").stdout)
    assert {row["item"]: row["significant"] for row in rows} == dict.fromkeys(["x", "y", "z", "star"], False)
    assert all(abs(row["change"]) < 0.01 for row in rows if row["item"] != "star")


def test_penalties_from_the_votes_make_no_change_and_are_named(run, tmp_path):
    rows = (tmp_path / "before.csv").read_text().splitlines()
    (tmp_path / "more.csv").write_text("\n".join(rows + rows[1:] * 5) + "\n")  # the same shares of wins
    told = run("before.csv", "more.csv", "--format", "json")
    assert all(abs(row["change"]) < 1e-4 for row in json.loads(told.stdout))
    spreads = [BradleyTerry().fit(read_comparisons(name)).sd_ for name in ("before.csv", "more.csv")]
    assert "about {:.2f} log-odds from the mean in the first, {:.2f} in the second".format(*spreads) in told.stderr
    for name in ("before", "more"):
        CliRunner().invoke(rank, [f"{name}.csv", "-o", f"{name}-board.csv"])
    tables = run("before-board.csv", "more-board.csv", "--format", "json")
    assert all(abs(row["change"]) < 1e-4 for row in json.loads(tables.stdout))
    assert "changes are of scores without the penalty" in tables.stderr
    assert "l2=auto" not in run("before.csv", "before-board.csv").stderr  # one spread: nothing to name
    bare = tmp_path / "bare.csv"
    frame = pl.read_csv(tmp_path / "more-board.csv").drop("lower", "upper")
    frame.write_csv(bare)  # without bounds the score by the votes alone is not known, so nothing is tested
    assert "significant" not in json.loads(run("before.csv", "bare.csv", "--format", "json").stdout)[0]


def test_a_reference_that_is_not_in_both_is_refused(run, tmp_path):
    assert "'nobody' is not in both leaderboards" in str(
        run("before.csv", "after.csv", "--reference", "nobody").exception
    )
    (tmp_path / "scores.csv").write_text("item,score,std_error\nx,1,0.1\ny,2,0.1\n")
    problem = run("scores.csv", "before.csv", "--reference", "weighted-mean").exception
    assert "lacks comparisons" in str(problem)
    (tmp_path / "named.csv").write_text("item,score\nmean,1\ny,2\n")
    assert "is an item here" in str(run("named.csv", "named.csv", "--reference", "mean").exception)
