"""Arena data as it is: fields inside columns, a and b in mid-name, FastChat's style control, empty cells of --by."""

import json

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from podium import BradleyTerry, Comparisons, read_comparisons
from podium.cli import run
from podium.data.files import read_comparisons_by, read_table
from podium.errors import DataWarning, InputError

ELEMENTS = ("sum_assistant_{}_tokens", "header_count_{}", "list_count_{}", "bold_count_{}")


def battles(count=400, seed=0):
    """Rows as the arena publishes them, and the fields of `conv_metadata` as FastChat reads them."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        a = int(rng.integers(0, 5))
        b = (a + int(rng.integers(1, 5))) % 5
        meta = {"turns": 1}
        for side in "ab":
            meta[f"sum_assistant_{side}_tokens"] = int(rng.integers(0, 900))
            meta[f"header_count_{side}"] = {f"h{k}": int(rng.integers(0, 4)) for k in range(1, 4)}
            meta[f"list_count_{side}"] = {"ordered": int(rng.integers(0, 5)), "unordered": int(rng.integers(0, 9))}
            meta[f"bold_count_{side}"] = {"**": int(rng.integers(0, 20)), "__": 0}
        long = meta["sum_assistant_a_tokens"] > meta["sum_assistant_b_tokens"]
        winner = "model_a" if rng.random() < (0.65 if long else 0.35) else "model_b"
        winner = "tie" if rng.random() < 0.1 else winner
        rows.append({"model_a": f"m{a}", "model_b": f"m{b}", "winner": winner, "conv_metadata": meta})
    return rows


def fastchat(rows):
    """The style columns of FastChat's construct_style_matrices, written out again with numpy."""
    values = {}
    for side in "ab":
        read = [[row["conv_metadata"][name.format(side)] for row in rows] for name in ELEMENTS]
        values[side] = np.array([[x if isinstance(x, int) else sum(x.values()) for x in column] for column in read])
    diff = (values["a"] - values["b"]).astype(float) / (values["a"] + values["b"] + 1)
    return ((diff - diff.mean(axis=1, keepdims=True)) / diff.std(axis=1, keepdims=True)).T


def write(rows, folder, ending):
    path = folder / f"battles.{ending}"
    if ending == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif ending == "json":
        path.write_text(json.dumps(rows))
    else:
        frame = pl.DataFrame(rows)
        frame.write_parquet(path) if ending == "parquet" else frame.write_ipc(path)
    return path


@pytest.mark.parametrize("ending", ["jsonl", "json", "parquet", "arrow"])
def test_the_covariates_of_style_arena_are_those_of_fastchat(tmp_path, ending):
    rows = battles()
    votes = read_comparisons(write(rows, tmp_path, ending), style="arena", keep="rows")
    assert votes.covariate_names == ("sum_assistant_tokens", "header_count", "list_count", "bold_count")
    assert_allclose(votes.covariates, fastchat(rows), atol=1e-12)
    assert_allclose(votes.covariate_sds(), 1.0)
    counted = read_comparisons(write(rows, tmp_path, ending), style="arena")
    order = np.lexsort(votes.covariates.T)
    assert_allclose(counted.covariates[np.lexsort(counted.covariates.T)], votes.covariates[order], atol=1e-12)


def test_the_fit_is_that_of_a_logistic_regression_on_fastchats_columns(tmp_path):
    from scipy.optimize import minimize

    rows = battles()
    style = fastchat(rows)
    names = sorted({row["model_a"] for row in rows} | {row["model_b"] for row in rows})
    design = np.zeros((len(rows), 5))
    for k, row in enumerate(rows):
        design[k, names.index(row["model_a"])] += 1
        design[k, names.index(row["model_b"])] -= 1
    design = np.hstack([design[:, 1:], style])  # the first item is 0
    won = np.array([{"model_a": 1.0, "model_b": 0.0, "tie": 0.5}[row["winner"]] for row in rows])

    def loss(w):
        margin = design @ w
        return np.logaddexp(0, margin).sum() - won @ margin

    best = minimize(loss, np.zeros(8), method="BFGS", options={"gtol": 1e-8}).x
    model = BradleyTerry(l2=0).fit(read_comparisons(write(rows, tmp_path, "jsonl"), style="arena"))
    assert_allclose(model.coef_, best[4:], atol=1e-5)
    scores = np.concatenate([[0], best[:4]])
    found = [model.ranking_.score(name) for name in names]
    assert_allclose(np.array(found) - np.mean(found), scores - scores.mean(), atol=1e-5)


def test_frames_have_fields_too():
    rows = battles(60)
    votes = Comparisons.from_frame(pl.DataFrame(rows), style="arena")
    assert_allclose(votes.covariates, fastchat(rows), atol=1e-12)
    plain = Comparisons.from_frame(pl.DataFrame(rows).lazy(), covariates=["conv_metadata.header_count"])
    expected = [
        sum(row["conv_metadata"]["header_count_a"].values()) - sum(row["conv_metadata"]["header_count_b"].values())
        for row in rows
    ]
    assert_allclose(plain.covariates[:, 0], expected)


@pytest.mark.parametrize(
    "name",
    ["conv_metadata.sum_assistant_a_tokens", "conv_metadata.sum_assistant_b_tokens", "sum_assistant_tokens"],
)
def test_a_and_b_in_mid_name_are_paired(name):
    rows = battles(30)
    votes = Comparisons.from_frame(pl.DataFrame(rows), covariates=name)
    expected = [
        row["conv_metadata"]["sum_assistant_a_tokens"] - row["conv_metadata"]["sum_assistant_b_tokens"] for row in rows
    ]
    assert_allclose(votes.covariates[:, 0], expected)


PAIRS = {
    "words": ("words_a", "words_b"), "len": ("left_len", "right_len"), "n_tok": ("n_A_tok", "n_B_tok"),
    "turn_1_a": ("turn_1_a", "turn_1_b"), "x": ("x_1", "x_2"), "deep.a.n": ("deep.a.n", "deep.b.n"),
}  # fmt: skip


@pytest.mark.parametrize("stem", PAIRS)
def test_pairs_are_left_minus_right_whatever_they_are_called(stem):
    one, other = PAIRS[stem]
    frame = {"a": ["x", "y"], "b": ["y", "x"], "outcome": [1, 0], one: [5.0, 1.0], other: [2.0, 4.0]}
    assert Comparisons.from_frame(frame, covariates=stem).covariates[:, 0].tolist() == [3.0, -3.0]
    assert Comparisons.from_frame(frame, covariates=other).covariates[:, 0].tolist() == [3.0, -3.0]


def test_a_column_of_that_very_name_comes_before_a_field_or_a_pair():
    frame = pl.DataFrame(
        {"a": ["x", "y"], "b": ["y", "x"], "outcome": [1, 0], "m.n": [7, 8], "m": [{"n": 1}, {"n": 2}]}
    )
    assert Comparisons.from_frame(frame, covariates="m.n").covariates[:, 0].tolist() == [7.0, 8.0]
    frame = {"a": ["x", "y"], "b": ["y", "x"], "outcome": [1, 0], "n": [7, 8], "n_a": [1, 2], "n_b": [1, 2]}
    assert Comparisons.from_frame(frame, covariates="n").covariates[:, 0].tolist() == [7.0, 8.0]


def test_any_role_may_be_a_field(tmp_path):
    rows = [{"game": {"home": "x", "away": "y", "won": k % 2}, "by": {"who": f"j{k % 3}"}} for k in range(6)]
    path = write(rows, tmp_path, "jsonl")
    votes = read_comparisons(path, left="game.home", right="game.away", outcome="game.won", judge="by.who")
    assert votes.items == ("x", "y")
    assert votes.judges == ("j0", "j1", "j2")
    parts = read_comparisons_by(path, "by.who", left="game.home", right="game.away", outcome="game.won")
    assert {value: len(part) for value, part in parts.items()} == {"j0": 2, "j1": 2, "j2": 2}
    assert read_table(path, columns=["by.who"])["by.who"].to_list() == ["j0", "j1", "j2"] * 2
    assert read_table(path).columns == ["game", "by"]


def test_fields_that_later_rows_lack_or_add_are_no_trouble(tmp_path, monkeypatch):
    monkeypatch.setattr("podium.data.tables.jsonlines.BLOCK", 200)
    rows = battles(40)
    for row in rows[20:]:
        row["conv_metadata"]["header_count_a"]["h9"] = 1
        row["conv_metadata"]["list_count_b"] = {}
    votes = read_comparisons(write(rows, tmp_path, "jsonl"), style="arena", keep="rows")
    assert_allclose(votes.covariates[:, [0, 2, 3]], fastchat(rows)[:, [0, 2, 3]], atol=1e-12)


def refused(says, frame, **options):
    with pytest.raises(InputError, match=says):
        Comparisons.from_frame(frame, **options)


def test_what_cannot_be_styled_is_named():
    rows = pl.DataFrame(battles(10))
    plain = {"model_a": ["x", "y"], "model_b": ["y", "x"], "winner": ["model_a", "tie"]}
    refused(r"style='arena' takes sum_assistant_tokens, .* finds none in 'model_a'", plain, style="arena")
    refused(r"style='elo' is unknown", plain, style="elo")
    refused(r"'n' is one column; give n_a and n_b", plain | {"n": [1, 2]}, covariates="n", style="arena")
    sides = {"n_a": [1, -2], "n_b": [1, 1]}
    refused(r"row 2: n_a is -2; give a finite number, 0 or more", plain | sides, covariates="n", style="arena")
    same = {"n_a": [1, 1], "n_b": [1, 1]}
    refused(r"covariate 'n' is the same in every vote", plain | same, covariates="n", style="arena")
    won = {"winner": ["x", "y"], "loser": ["y", "x"], "n_a": [1, 2], "n_b": [1, 1]}
    refused(r"is about a left and a right side", won, covariates="n", style="arena")
    refused(r"column 'conv_metadata' holds Struct.*it takes numbers", rows, covariates="conv_metadata")
    twice = pl.DataFrame([{**plain_row, "p": {"n_a": 1, "n_b": 2}, "q": {"n_a": 1, "n_b": 2}} for plain_row in ROWS])
    refused(r"covariate 'n' could be 'p.n' or 'q.n'; give the whole name", twice, covariates="n")
    missing = pl.DataFrame(
        [ROWS[0] | {"n": {"a": {"k": 1}, "b": {"k": 2}}}, ROWS[1] | {"n": {"a": None, "b": {"k": 1}}}]
    )
    refused(r"row 2: n.a is missing", missing, covariates="n.a")


ROWS = [{"model_a": "x", "model_b": "y", "winner": "model_a"}, {"model_a": "y", "model_b": "x", "winner": "tie"}]


@pytest.mark.parametrize(
    "values", [["en", "en", None, "de", " ", "de"], [1, 1, None, 2, None, 2], [1.5, 1.5, None, 2.5, float("nan"), 2.5]]
)
@pytest.mark.parametrize("keep", ["rows", "counts"])
def test_empty_cells_of_by_are_left_out_with_a_remark(tmp_path, values, keep):
    frame = pl.DataFrame({"winner": list("aabbab"), "loser": list("bbaaba"), "lang": values}, strict=False)
    frame.write_parquet(tmp_path / "votes.parquet")
    frame.write_csv(tmp_path / "votes.csv")
    for name in ("votes.parquet",) if isinstance(values[0], float) else ("votes.parquet", "votes.csv"):
        with pytest.warns(DataWarning, match="2 votes without a 'lang', left out"):
            parts = read_comparisons_by(tmp_path / name, "lang", keep=keep)
        assert [len(part) for part in parts.values()] == [2, 2]
        assert [str(value).removesuffix(".0") for value in parts] == [str(values[0]), str(values[3])]


def test_empty_cells_are_left_out_over_several_files_and_processes(tmp_path):
    for k in range(3):
        rows = pl.DataFrame({"winner": ["a", "b", "a"], "loser": ["b", "a", "b"], "n": [k, None, 7]})
        rows.write_parquet(tmp_path / f"{k}.parquet")
    for jobs in (1, 2):
        with pytest.warns(DataWarning, match="3 votes without a 'n', left out"):
            parts = read_comparisons_by(str(tmp_path / "*.parquet"), "n", jobs=jobs)
        assert {value: len(part) for value, part in parts.items()} == {0: 1, 7: 3, 1: 1, 2: 1}
    pl.DataFrame({"winner": ["a"], "loser": ["b"], "n": [None]}).write_csv(tmp_path / "none.csv")
    with pytest.raises(InputError, match="column 'n' is empty in every row"):
        read_comparisons_by(tmp_path / "none.csv", "n")


def command(capfd, *args):
    with pytest.raises(SystemExit) as stop:
        run([str(each) for each in args])
    out, err = capfd.readouterr()
    return stop.value.code, out, err


def test_the_command_ranks_arena_data_and_tells_effects_per_standard_deviation(tmp_path, capfd):
    path = write(battles(), tmp_path, "jsonl")
    code, _, err = command(capfd, "rank", path, "--style", "arena", "--l2", "0")
    assert code == 0, err
    model = BradleyTerry(l2=0).fit(read_comparisons(path, style="arena"))
    assert "covariates, log-odds per standard deviation over the votes" in err
    assert f"{model.coef_[0]:+.4g}" in err
    code, _, err = command(
        capfd, "rank", path, "--covariates", "sum_assistant_tokens", "--l2", "0", "--report", tmp_path / "r.html"
    )
    votes = read_comparisons(path, covariates="sum_assistant_tokens")
    model, sd = BradleyTerry(l2=0).fit(votes), votes.covariate_sds()[0]
    raw = [row["conv_metadata"] for row in battles()]
    gaps = np.array([row["sum_assistant_a_tokens"] - row["sum_assistant_b_tokens"] for row in raw])
    assert sd == pytest.approx(gaps.std())
    assert f"{model.coef_[0] * sd:+.4g}" in err
    assert f"(sd {sd:.4g})" in err
    page = (tmp_path / "r.html").read_text()
    assert "Per standard deviation" in page
    assert f"{model.coef_[0] * sd:+.4g}" in page


def test_equal_answers_have_no_effect_by_default_and_one_in_the_arena(tmp_path):
    """Centring moves a position bias into the covariate: with all answers on the left longer, equal ones are not 0."""
    frame = pl.DataFrame([*ROWS, ROWS[0]]).with_columns(n_a=pl.Series([5, 9, 4]), n_b=pl.Series([1, 2, 4]))
    assert Comparisons.from_frame(frame, covariates="n").covariates[2, 0] == 0
    assert Comparisons.from_frame(frame, covariates="n", style="arena").covariates[2, 0] < -1


@pytest.mark.parametrize("name", ["rank", "compare", "check"])
def test_every_command_that_controls_for_covariates_takes_the_style(tmp_path, capfd, name):
    path = write(battles(60), tmp_path, "parquet")
    more = {"compare": ["--method", "bradley-terry", "--folds", "2"], "check": ["--replicates", "3"]}.get(name, [])
    code, _, err = command(capfd, name, path, "--style", "arena", *more)
    assert code == 0, err
    code, _, err = command(capfd, name, path, "--style", "arena", "--covariates", "turns", *more)
    assert code == 2
    assert "--style arena needs both sides of a covariate" in err or "no column for covariate 'turns'" in err


def test_the_log_of_a_campaign_counts_what_counts(tmp_path):
    """Skips, undone votes and those of an excluded judge are rows of the export, and no votes."""
    log = {
        "seq": [1, 2, 3, 4, 5], "judge": ["ann", "ann", "bob", "ann", "ann"], "left": ["a", "a", "b", "b", "a"],
        "right": ["b", "c", "a", "c", "b"], "outcome": [1.0, None, 1.0, 1.0, 0.0],
        "kind": ["check", "chosen", "chosen", "check", "chosen"],
        "undoes": [None] * 5, "counts": [True, False, False, True, True],
    }  # fmt: skip
    frame = pl.DataFrame(log)
    frame.write_csv(tmp_path / "votes.csv")
    frame.write_parquet(tmp_path / "votes.parquet")
    for name in ("votes.csv", "votes.parquet"):
        with pytest.warns(DataWarning, match="were chosen by earlier answers, so intervals of scores are too narrow"):
            votes = read_comparisons(tmp_path / name, keep="rows")
        assert (votes.items, votes.judges, len(votes)) == (("a", "b", "c"), ("ann",), 3)
        assert {kind: len(part) for kind, part in read_comparisons_by(tmp_path / name, "kind").items()} == {
            "check": 2,
            "chosen": 1,
        }
    with pytest.warns(DataWarning, match="rank the campaign itself for places"):
        assert len(Comparisons.from_frame(frame)) == 3
    checks = frame.with_columns(counts=pl.Series([True, False, False, True, False]))
    assert len(Comparisons.from_frame(checks)) == 2, "what does not count is not warned of"
    bad = frame.with_columns(right=pl.Series(["b", "c", "a", "b", "b"]))
    with pytest.raises(InputError, match="row 4: 'b' is compared with itself"):
        Comparisons.from_frame(bad)
    with pytest.raises(InputError, match="no row counts: all are skipped"):
        Comparisons.from_frame(frame.with_columns(counts=pl.lit(False)))
