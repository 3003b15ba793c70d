"""`podium rank`: a file in, a leaderboard out."""

import io
import json
import os
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import podium
from podium.cli import run
from podium.cli.rank import rank
from podium.errors import InputError
from podium.pairwise.bradley_terry import common_sd

from helpers import simulate

KEYS = [
    "item", "score", "std_error", "lower", "upper", "rank", "rank_lower", "rank_upper", "tier",
    "wins", "losses", "ties", "comparisons", "settings",
]  # fmt: skip


@pytest.fixture
def votes(tmp_path):
    """A file of 600 votes with languages, sides and judges."""
    rng = np.random.default_rng(0)
    winner, loser, _ = simulate(5, 600, rng)
    names = np.array(["ant", "bee", "cat", "dog", "eel"])
    path = tmp_path / "votes.csv"
    pl.DataFrame(
        {
            "winner": names[winner],
            "loser": names[loser],
            "language": np.where(rng.random(600) < 0.5, "en", "de"),
            "judge": rng.choice(["ann", "bob", "cem", "dot", "eva"], 600),
        }
    ).write_csv(path)
    return path


def call(capfd, *args):
    """Run the command; return its exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as stop:
        run(["rank", *map(str, args)])
    out, err = capfd.readouterr()
    return stop.value.code, out, err


def ok(capfd, *args):
    code, out, err = call(capfd, *args)
    assert code == 0, err
    return out, err


def refused(capfd, *args):
    code, out, err = call(capfd, *args)
    assert (code, out) == (2, "")
    return err


def test_json_rows_are_the_librarys_numbers(votes, capfd):
    out, _ = ok(capfd, votes, "--format", "json")
    rows = json.loads(out)
    ranking = podium.BradleyTerry().fit(podium.read_comparisons(votes)).ranking_
    assert [list(row) for row in rows] == [KEYS] * 5
    assert [row["item"] for row in rows] == list(ranking.order)
    lower, upper = ranking.intervals()
    for row in rows:
        k = ranking.items.index(row["item"])
        assert row["score"] == pytest.approx(ranking.scores[k])
        assert row["lower"] == pytest.approx(lower[k])
        assert row["upper"] == pytest.approx(upper[k])
        assert row["wins"] + row["losses"] + row["ties"] == row["comparisons"]


def test_data_go_to_stdout_and_words_to_stderr(votes, capfd):
    out, err = ok(capfd, votes, "--format", "csv")
    assert pl.read_csv(io.StringIO(out)).columns == KEYS
    assert "600 votes on 5 items" in err


def test_the_table_shows_every_item_and_its_interval(votes, capfd):
    out, _ = ok(capfd, votes)
    lines = out.splitlines()
    assert lines[0].split() == ["rank", "item", "score", "interval", "ranks", "tier", "votes"]
    assert len(lines) == 6
    assert all("●" in line for line in lines[1:])


@pytest.mark.parametrize("suffix", ["csv", "json", "jsonl", "parquet"])
def test_output_files_take_the_form_of_their_suffix(suffix, votes, tmp_path, capfd):
    target = tmp_path / f"board.{suffix}"
    out, _ = ok(capfd, votes, "-o", target)
    assert out == ""
    read = {"csv": pl.read_csv, "json": pl.read_json, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[suffix]
    assert read(target)["item"].to_list() == list(
        podium.BradleyTerry().fit(podium.read_comparisons(votes)).ranking_.order
    )


def test_a_text_file_holds_the_table(votes, tmp_path, capfd):
    ok(capfd, votes, "-o", tmp_path / "board.txt")
    assert "●" in (tmp_path / "board.txt").read_text()


def test_by_gives_one_ranking_per_value(votes, capfd):
    out, _ = ok(capfd, votes, "--by", "language", "--format", "csv")
    frame = pl.read_csv(io.StringIO(out))
    whole = pl.read_csv(votes)
    parts = [podium.Comparisons.from_frame(whole.filter(pl.col("language") == name)) for name in ("en", "de")]
    spread = common_sd(podium.BradleyTerry(), parts)  # one for all parts
    for language in ("en", "de"):
        part = whole.filter(pl.col("language") == language)
        alone = podium.BradleyTerry(l2="auto").fit(podium.Comparisons.from_frame(part), sd=spread).ranking_
        ours = frame.filter(pl.col("language") == language)
        assert ours["item"].to_list() == list(alone.order)
        assert ours["score"].to_numpy() == pytest.approx([alone.score(item) for item in alone.order], abs=1e-6)


def test_top_and_min_votes_shorten_the_table_only(votes, capfd):
    full = json.loads(ok(capfd, votes, "--format", "json")[0])
    top = json.loads(ok(capfd, votes, "--format", "json", "--top", 2)[0])
    assert top == full[:2]
    limit = sorted(row["comparisons"] for row in full)[2]
    many = json.loads(ok(capfd, votes, "--format", "json", "--min-votes", limit)[0])
    assert many == [row for row in full if row["comparisons"] >= limit]


def test_level_widens_and_none_removes_the_intervals(votes, capfd):
    narrow = json.loads(ok(capfd, votes, "--format", "json", "--level", 0.8)[0])
    wide = json.loads(ok(capfd, votes, "--format", "json", "--level", 0.99)[0])
    assert all(a["upper"] - a["lower"] < b["upper"] - b["lower"] for a, b in zip(narrow, wide, strict=True))
    none = json.loads(ok(capfd, votes, "--format", "json", "--ci", "none")[0])
    assert all(row["lower"] is None and row["score"] is not None for row in none)


@pytest.mark.filterwarnings("ignore:there are 5 judges only")
@pytest.mark.parametrize("kind", ["sandwich", "judge", "bootstrap"])
def test_each_kind_of_interval_is_the_librarys(kind, votes, capfd):
    rows = json.loads(ok(capfd, votes, "--format", "json", "--ci", kind)[0])
    ranking = podium.BradleyTerry().fit(podium.read_comparisons(votes)).ranking_
    how = {"judge": ("cluster", {"cluster": "judge"}), "bootstrap": ("bootstrap", {"seed": 0})}.get(kind, (kind, {}))
    errors = dict(zip(ranking.items, ranking.with_uncertainty(how[0], **how[1]).std_errors, strict=True))
    plain = dict(zip(ranking.items, ranking.std_errors, strict=True))
    # Bootstrap draws depend on how rows were merged; they agree to their own noise.
    assert all(
        row["std_error"] == pytest.approx(errors[row["item"]], rel=0.15 if kind == "bootstrap" else 1e-6)
        for row in rows
    )
    assert any(abs(row["std_error"] - plain[row["item"]]) > 1e-6 for row in rows)


def test_elo_and_anchor(votes, capfd):
    rows = json.loads(ok(capfd, votes, "--format", "json", "--scale", "elo", "--anchor", "cat=1500")[0])
    assert {row["item"]: row["score"] for row in rows}["cat"] == pytest.approx(1500)


def test_the_saved_model_is_the_ranking(votes, tmp_path, capfd):
    rows = json.loads(ok(capfd, votes, "--format", "json", "--save", tmp_path / "m.podium")[0])
    model = podium.load(tmp_path / "m.podium")
    assert list(model.ranking_.order) == [row["item"] for row in rows]


def test_stdin_several_files_and_column_names(votes, tmp_path, capfd, monkeypatch):
    frame = pl.read_csv(votes).rename({"winner": "better", "loser": "worse"})
    half = tmp_path / "half.csv"
    frame.head(300).write_csv(half)
    frame.tail(300).write_parquet(tmp_path / "rest.parquet")
    names = ("--winner", "better", "--loser", "worse", "--format", "json")
    whole = ok(capfd, votes, "--format", "json")[0]
    parts = ok(capfd, half, tmp_path / "rest.parquet", *names)[0]
    for a, b in zip(json.loads(whole), json.loads(parts), strict=True):
        assert a["item"] == b["item"]
        assert a["score"] == pytest.approx(b["score"], abs=1e-6)
    done = subprocess.run(
        [sys.executable, "-m", "podium", "rank", "-", "--format", "json"],
        input=votes.read_bytes(),
        capture_output=True,
        check=True,
    )
    assert [row["item"] for row in json.loads(done.stdout)] == [row["item"] for row in json.loads(whole)]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--anchor", "cat"], "'cat' is not ITEM=SCORE"),
        (["--anchor", "yak=3"], "'yak' is not among the 5 items"),
        (["--method", "win-rate", "--scale", "elo"], "--scale does not apply to --method win-rate"),
        (["--method", "win-rate", "--ci", "sandwich"], "no intervals|no likelihood|scores only"),
        (["--winner", "nobody"], "nobody"),
        (["--by", "nothing"], "nothing"),
        (["-o", "board.xyz"], "the suffix names no format"),
        (["-o", "absent/board.csv"], "cannot write absent/board.csv"),
        (["--by", "language", "--save", "m.podium"], "--save holds one ranking"),
        (["--ci", "group"], "group"),
        (["--picture", "wins"], "--picture is about --plot"),
        (["--title", "x"], "--title is about --plot, --report or --embed"),
        (["--seed", "3"], "--seed is about the bootstrap only"),
        (["--ci", "none", "--level", "0.9"], "--level is about intervals, and there are none"),
        (["--by", "language", "--anchor", "yak=3"], "language = .*'yak' is not among"),
        (["--level", "2"], "--level"),
        (["--side-effect"], "give left, right and outcome"),
    ],
)
def test_bad_options_are_one_message_and_exit_code_2(args, message, votes, capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    code, out, err = call(capfd, votes, *args)
    assert code == 2
    assert out == ""
    assert "Traceback" not in err
    import re

    assert re.search(message, err), err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("winner,loser\n", "no votes|no rows|nothing"),
        ("winner,loser\na,b\nc,c\n", "row 2: 'c' is compared with itself"),
        ("left,right,outcome\na,b,1\nb,c,maybe\n", "row 2.*maybe"),
        ("winner,loser\na,b\n,c\n", "row 2"),
        ("a,b,c\n1,2,3\n", "winner"),
        ("winner,loser,weight\na,b,1\nb,c,-2\n", "row 2.*weight.*-2"),
        ("winner,loser\na,b\nb,c,d\n", "row 2"),
        ("winner,winner\na,b\n", "winner"),
    ],
)
def test_bad_files_are_named_with_row_and_file(text, message, tmp_path, capfd):
    import re

    path = tmp_path / "bad.csv"
    path.write_text(text)
    code, _, err = call(capfd, path)
    assert code == 2
    assert err.count("\n") == 1
    assert "bad.csv" in err
    assert re.search(message, err), err


def test_warnings_are_one_line_on_stderr(tmp_path, capfd):
    path = tmp_path / "order.csv"
    path.write_text("winner,loser\na,b\nb,c\na,c\n")
    out, err = ok(capfd, path, "--format", "json")
    assert "warning: 'a' never loses and 'c' never wins" in err
    first, *_, last = json.loads(out)
    assert first["upper"] is None  # open-ended: JSON has no infinity
    assert last["lower"] is None


def test_an_interrupted_reader_is_no_error(votes):
    if os.name != "posix":
        pytest.skip("needs a POSIX shell")
    shell = f"{sys.executable} -m podium rank {votes} --format csv | head -1"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("item,score")
    assert "Traceback" not in done.stderr


def test_completion_is_offered():
    environment = os.environ | {"_PODIUM_COMPLETE": "bash_source"}
    done = subprocess.run(
        [sys.executable, "-m", "podium"], env=environment, capture_output=True, text=True, check=False
    )
    assert "_podium_completion" in done.stdout


def test_by_a_column_named_like_one_of_ours_keeps_both(tmp_path, capfd):
    path = tmp_path / "votes.csv"
    path.write_text("winner,loser,rank\na,b,x\nb,a,x\na,b,y\nb,a,y\n")
    out, _ = ok(capfd, path, "--by", "rank", "--format", "csv")
    frame = pl.read_csv(io.StringIO(out))
    assert frame["by rank"].to_list() == ["x", "x", "y", "y"]
    assert frame["rank"].to_list() == [1, 1, 1, 1]


def test_side_and_tie_effects_are_told(tmp_path, capfd):
    path = tmp_path / "votes.csv"
    path.write_text("left,right,outcome\na,b,1\nb,a,1\na,b,0.5\nb,a,0\na,b,0\n")
    _, err = ok(capfd, path, "--side-effect", "--ties", "davidson")
    assert "position bias, in favour of the left side" in err
    assert "equals tie with chance" in err


def test_a_full_disk_is_one_line(votes):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    command = [sys.executable, "-m", "podium", "rank", str(votes)]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "args",
    [
        ("votes.csv", "--save", "votes.csv"),
        ("votes.csv", "-o", "./votes.csv"),
        ("*.csv", "-o", "link.csv"),
        (".", "--format", "csv", "-o", "votes.csv"),
        ("votes.csv", "--features", "link.csv", "--save", "votes.csv"),
    ],
)
def test_an_output_that_is_read_is_refused(votes, capfd, monkeypatch, args):
    monkeypatch.chdir(votes.parent)
    before = votes.read_bytes()
    os.symlink("votes.csv", "link.csv")
    code, out, err = call(capfd, *args)
    assert (code, out) == (2, "")
    assert "would overwrite what is read" in err
    assert votes.read_bytes() == before


def test_two_outputs_are_two_files(votes, capfd, monkeypatch):
    monkeypatch.chdir(votes.parent)
    code, _, err = call(capfd, votes, "--save", "x.csv", "-o", "../" + votes.parent.name + "/x.csv")
    assert code == 2
    assert "--output and --save are both x.csv" in err
    ok(capfd, votes, "--save", "/dev/null", "--format", "csv", "-o", "/dev/null")


def test_a_table_that_would_be_empty_says_why(votes, capfd):
    most = max(podium.BradleyTerry().fit(podium.read_comparisons(votes)).ranking_.to_frame()["comparisons"])
    code, out, err = call(capfd, votes, "--min-votes", "1000")
    assert (code, out) == (2, "")
    assert f"no item has 1,000 votes, the most is {most:g}; lower --min-votes" in err
    code, out, err = call(capfd, votes, "--min-votes", "1000", "--by", "language")
    assert (code, out) == (2, "")
    assert "no part has an item with 1,000 votes" in err
    code, _, err = call(capfd, votes, "--min-votes", "nan")
    assert code == 2
    assert "--min-votes" in err
    assert "not a number" in err


def test_a_model_that_learns_on_says_that_it_does_not_know_the_votes_of_items(capfd, tmp_path):
    games, model = tmp_path / "games.csv", tmp_path / "live.podium"
    games.write_text("winner,loser\nann,bob\nbob,cat\nann,cat\n")
    ok(capfd, games, "--method", "online-rabf", "--save", model)
    code, out, err = call(capfd, games, "--model", model, "--min-votes", "2")
    assert (code, out) == (2, "")
    assert "--min-votes: a model that learns on does not know the votes of items; drop it" in err


def test_a_suffix_that_contradicts_the_format_is_refused(votes, capfd, tmp_path):
    code, _, err = call(capfd, votes, "-o", tmp_path / "t.csv", "--format", "parquet")
    assert code == 2
    assert "parquet by --format and csv by its suffix" in err
    assert not (tmp_path / "t.csv").exists()


def test_a_file_given_twice_is_refused(votes, capfd, monkeypatch):
    monkeypatch.chdir(votes.parent)
    os.symlink("votes.csv", "link.csv")
    for names in (("votes.csv", "votes.csv"), ("votes.csv", "link.csv"), ("*.csv",), ("-", "-")):
        code, out, err = call(capfd, *names)
        assert (code, out) == (2, "")
        assert "is given twice, and its votes would count double" in err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("plain.csv", "--ci", "judge"), "name its column by --judge"),
        (("plain.csv", "--winner", "x", "--loser", "loser"), "no column 'x' (given as --winner)"),
        (("plain.csv", "--anchor", "x=1"), "--anchor: 'x' is not among"),
        (("plain.csv", "--delimiter", "ab"), "--delimiter ab is not one plain character"),
        (("plain.csv", "--input-format", "parquet"), "whatever --input-format parquet says"),
        (("parquet.csv",), "rename it, or name its format by --input-format"),
        (("model.podium",), "model.podium is a saved model; `podium diff` compares it"),
        (("odd.csv",), "or name them, as --winner COLUMN and --loser COLUMN"),
    ],
)
def test_messages_name_the_option_that_helps(tmp_path, capfd, monkeypatch, args, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "plain.csv").write_text("winner,loser\na,b\nb,a\na,b\n")
    (tmp_path / "odd.csv").write_text("up,down\na,b\n")
    (tmp_path / "parquet.csv").write_bytes(b"PAR1....")
    podium.save(podium.BradleyTerry().fit(podium.read_comparisons("plain.csv")), "model.podium")
    code, out, err = call(capfd, *args)
    assert (code, out) == (2, "")
    assert message in err


def test_differences_are_those_of_the_ranking_and_corrected_for_all_pairs(capfd, votes):
    code, out, _ = call(capfd, votes, "--differences", "--format", "json", "--top", "2")
    assert code == 0
    (row,) = json.loads(out)
    ranking = podium.BradleyTerry().fit(podium.read_comparisons(votes)).ranking_
    expected = ranking.differences()
    assert len(expected) == 10
    assert [row["item"], row["against"]] == list(ranking.order[:2])
    assert row["p_adjusted"] == pytest.approx(expected["p_adjusted"][0], rel=1e-3)
    assert row["std_error"] == pytest.approx(expected["std_error"][0], rel=1e-3)
    code, out, _ = call(capfd, votes, "--differences")
    assert "p_adjusted" in out
    assert len(out.splitlines()) == 11
    code, _, err = call(capfd, votes, "--differences", "--ci", "none")
    assert code == 2
    assert "--differences is about standard errors" in err


def test_a_dash_is_standard_output_where_a_table_is_written_and_refused_where_a_file_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text("winner,loser\na,b\nb,c\na,c\nc,a\nb,a\n")
    for options in ([], ["--format", "csv"], ["--format", "json"]):
        shown, dash = (CliRunner().invoke(rank, ["votes.csv", *options, *more]) for more in ([], ["-o", "-"]))
        assert dash.exit_code == 0, dash.exception
        assert dash.stdout == shown.stdout
    for name, words in (("--report", "not to standard output"), ("--plot", "use .png"), ("--save", "not to standard")):
        refused = CliRunner().invoke(rank, ["votes.csv", name, "-"])
        assert isinstance(refused.exception, InputError)
        assert words in str(refused.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["votes.csv"]


def test_pooled_parts_lie_between_their_own_votes_and_all_votes(votes, capfd):
    """Four votes for a newcomer in one language do not lift it over what all languages say of it."""

    def scores(*options):
        rows = json.loads(ok(capfd, votes, "--format", "json", *options)[0])
        return {(row.get("language"), row["item"]): row["score"] for row in rows}

    whole, apart, pooled = scores(), scores("--by", "language"), scores("--by", "language", "--pool")
    distance = lambda found: sum(abs(value - whole[None, item]) for (_, item), value in found.items())  # noqa: E731
    assert distance(pooled) < distance(apart)
    told = ok(capfd, votes, "--by", "language", "--pool")[1]
    assert "few votes pull a score towards that of all parts together" in told
    for options in (
        ["--pool"],
        ["--pool", "--by", "language", "--l2", 1],
        ["--pool", "--by", "language", "--method", "elo"],
    ):
        assert "--pool is about the parts of --by and a penalty from the votes" in refused(capfd, votes, *options)


def test_intervals_relative_to_an_item_are_those_of_the_library(votes, capfd):
    ranking = podium.BradleyTerry().fit(podium.read_comparisons(votes)).ranking_
    item = ranking.order[1]
    out, told = ok(capfd, votes, "--reference", item, "--format", "json")
    rows = {row["item"]: row for row in json.loads(out)}
    lower, upper = ranking.intervals(reference=item)
    for each, low, high in zip(ranking.items, lower, upper, strict=True):
        assert (rows[each]["lower"], rows[each]["upper"]) == pytest.approx((low, high), abs=1e-6)
        half = (rows[each]["upper"] - rows[each]["lower"]) / 2
        assert rows[each]["std_error"] == pytest.approx(half / 1.959964, abs=1e-5)
    assert f"relative to the score of {item!r}" in told
    assert "reference=" in rows[item]["settings"]
    assert "is not in this ranking" in refused(capfd, votes, "--reference", "nobody")


def test_rank_intervals_by_theorem_can_be_asked_for(votes, capfd):
    ranking = podium.BradleyTerry().fit(podium.read_comparisons(votes)).ranking_
    for method in ("pairwise", "guaranteed"):
        rows = {row["item"]: row for row in json.loads(ok(capfd, votes, "--ranks", method, "--format", "json")[0])}
        best, worst = ranking.rank_intervals(method=method)
        found = [(rows[item]["rank_lower"], rows[item]["rank_upper"]) for item in ranking.items]
        assert found == list(zip(best.tolist(), worst.tolist(), strict=True))
    assert "needs a posterior" in refused(capfd, votes, "--ranks", "pairwise", "--l2", 1)
    assert "drop --ci sandwich" in refused(capfd, votes, "--ranks", "pairwise", "--ci", "sandwich")
    assert "intervals, and there are none" in refused(capfd, votes, "--ranks", "guaranteed", "--ci", "none")


def test_balanced_pairs_count_alike_however_often_they_met(tmp_path, capfd):
    """Copying one pair's votes fifty times changes no score; unbalanced it does, where no scores explain all pairs."""
    circle = ["a,b"] * 3 + ["b,a"] + ["b,c"] * 3 + ["c,b"] + ["a,c"] * 2 + ["c,a"] * 2
    few, many = tmp_path / "few.csv", tmp_path / "many.csv"
    few.write_text("\n".join(["winner,loser", *circle]))
    many.write_text("\n".join(["winner,loser", *circle, *circle[:4] * 50]))

    def scores(path, *options):
        rows = json.loads(ok(capfd, path, "--l2", "0", "--format", "json", *options)[0])
        return [row["score"] for row in sorted(rows, key=lambda row: row["item"])]

    assert scores(many, "--balance", "pairs") == pytest.approx(scores(few), abs=1e-5)
    assert scores(many) != pytest.approx(scores(few), abs=1e-2)


def test_weights_are_told_beside_the_number_of_votes(tmp_path, capfd):
    """Three rows of a million are three votes, and the table sums their weights: the line above it says both."""
    file = tmp_path / "votes.csv"
    file.write_text("winner,loser,weight\na,b,1000000\nb,c,1000000\nc,a,500000\n")
    assert "3 votes of total weight 2.5e+06 on 3 items" in ok(capfd, file)[1]


def test_one_vote_that_outweighs_the_rest_is_told(tmp_path, capfd):
    """Intervals are as wide as what the votes are worth: (1e6 + 2)² / (1e12 + 2) of them, in numbers 1."""
    file = tmp_path / "votes.csv"
    file.write_text("winner,loser,weight\na,b,1000000\nb,c,1\nc,a,1\n")
    assert "3 votes of total weight 1e+06 (worth 1 vote of equal weight) on 3 items" in ok(capfd, file)[1]


@pytest.mark.parametrize(("rows", "end"), [
    (["a,b", "b,c", "c,a", "a,last", "b,last"], "-∞"),
    (["a,b", "b,c", "c,a", "first,a", "first,b"], "∞"),
    (["a,b", "b,c", "c,a", "first,a", "b,last"], "-∞ or ∞"),
])  # fmt: skip
def test_an_interval_without_an_end_is_explained(tmp_path, capfd, rows, end):
    """Nobody beat the first and the last beat nobody: no vote says how far off they are."""
    file = tmp_path / "votes.csv"
    file.write_text("\n".join(["winner,loser", *rows]) + "\n")
    why = "the votes set no bound there, as where an item, or it and all those above or below it, only won or only lost"
    assert f"an end of {end}: {why}\n" in ok(capfd, file)[1]
    assert "set no bound" not in ok(capfd, file, "--ci", "none")[1]
    page = tmp_path / "page.html"
    ok(capfd, file, "--report", page)
    assert f"An arrow (−∞ or ∞) marks an interval that does not end: {why}." in page.read_text()
    file.write_text("\n".join(["winner,loser", *rows[:3]]) + "\n")
    assert "set no bound" not in ok(capfd, file, "--report", page)[1] + page.read_text()


def test_an_end_that_is_not_shown_is_not_explained(tmp_path, capfd):
    file = tmp_path / "votes.csv"
    file.write_text("winner,loser\na,b\nb,c\nc,a\na,last\nb,last\nc,last\n")
    assert "an end of -∞" in ok(capfd, file)[1]
    assert "an end of" not in ok(capfd, file, "--top", 3)[1]


def test_scores_outside_their_intervals_are_told(tmp_path, votes, capfd):
    """The penalty pulls scores and not intervals: an item that wins among forty equals is pulled out of its own."""
    equals = [f"i{a},i{b}" for a in range(40) for b in range(40) if a != b]
    file = tmp_path / "equals.csv"
    file.write_text("\n".join(["winner,loser", *equals, *(f"new,i{k}" for k in range(12)), "i0,new"]) + "\n")
    out, err = ok(capfd, file, "--format", "json")
    outside = [row["item"] for row in json.loads(out) if not row["lower"] <= row["score"] <= row["upper"]]
    assert outside == ["new"]
    assert "1 item has its score outside the interval" in err
    assert "outside the interval" not in ok(capfd, file, "--ci", "none")[1]
    assert "outside the interval" not in ok(capfd, votes)[1]


@pytest.mark.parametrize(
    ("length", "why"),
    [
        ((5, 2), "length, side: 1 row of votes cannot tell 2 effects apart; get more"),
        ((4, 4), "covariate 'length' is 0 in every vote"),
    ],
)
def test_a_part_that_cannot_be_fitted_is_left_out_and_nothing_else_changes(tmp_path, capfd, length, why):
    rng = np.random.default_rng(4)
    left, right = np.array([rng.choice(4, 2, replace=False) for _ in range(200)]).T
    table = pl.DataFrame(
        {
            "left": [f"item {k}" for k in left],
            "right": [f"item {k}" for k in right],
            "outcome": rng.integers(0, 2, 200),
            "length_a": rng.integers(1, 9, 200),
            "length_b": rng.integers(1, 9, 200),
            "language": rng.choice(["en", "de"], 200),
        }
    )
    rare = pl.DataFrame([("item 0", "item 1", 1, *length, "sw")], schema=table.schema, orient="row")
    table.write_csv(tmp_path / "without.csv")
    pl.concat([table[:100], rare, table[100:]]).write_csv(tmp_path / "with.csv")
    rare.write_csv(tmp_path / "alone.csv")
    options = ["--by", "language", "--covariates", "length", "--side-effect", "--l2", 0.1, "--format", "csv"]
    page = tmp_path / "page.html"
    expected, _ = ok(capfd, tmp_path / "without.csv", *options, "--report", page)
    out, told = ok(capfd, tmp_path / "with.csv", *options, "--report", page)
    assert out == expected
    warned = [line for line in told.splitlines() if line.startswith("warning:")]
    assert len(warned) == 1
    assert warned[0].startswith(f"warning: language = sw, 1 vote on 2 items, is left out: {why}")
    assert "language = sw" not in told.replace(warned[0], "")
    assert "anguage = sw, 1 vote on 2 items, is left out" in page.read_text()
    assert "<b>201</b> votes" in page.read_text(), "all together"
    assert f"language = sw: {why}" in refused(capfd, tmp_path / "alone.csv", *options)


def test_clusters_are_counted_among_the_votes_that_bound_scores(tmp_path, capfd):
    """Item a never loses, so b and c alone have bounded scores; bob never compared these two."""
    votes = tmp_path / "votes.csv"
    header = "left,right,outcome,judge\n"
    votes.write_text(f"{header}a,b,1,ann\na,c,1,bob\nb,c,1,ann\nc,b,1,ann\na,b,1,bob\n")
    told = refused(capfd, votes, "--ci", "judge")
    assert (
        "need votes of two judges at least between the items with a bounded score (2 of 3), and have those of 1" in told
    )
    assert "use --ci sandwich, or get more votes" in told
    ok(capfd, votes, "--ci", "sandwich")
    votes.write_text(f"{header}a,b,1,ann\na,c,1,bob\nb,c,1,ann\nc,b,1,bob\na,b,1,bob\n")
    ok(capfd, votes, "--ci", "judge")


def test_a_part_whose_covariate_has_no_spread_is_left_out_in_arena_style(tmp_path, capfd):
    rows = ["model_a,model_b,winner,length_a,length_b,lang"]
    rows += [f"{a},{b},model_{'ab'[k % 2]},{k},{3 * k % 7},en" for k, (a, b) in enumerate(["xy", "yz", "zx"] * 10)]
    (tmp_path / "with.csv").write_text("\n".join([*rows, "x,y,model_a,4,2,sw\n"]))
    (tmp_path / "without.csv").write_text("\n".join([*rows, ""]))
    options = ["--by", "lang", "--covariates", "length", "--style", "arena", "--format", "csv"]
    out, told = ok(capfd, tmp_path / "with.csv", *options)
    assert "lang = sw, 1 vote, is left out: covariate 'length' is the same in every vote" in told
    assert out == ok(capfd, tmp_path / "without.csv", *options)[0]


@pytest.mark.parametrize("options", [("--method", "least-squares"), ("--method", "rabf", "--loss", "squared")])
def test_margins_in_large_units_are_shown_as_those_in_small_ones(tmp_path, options):
    """What is far in log-odds is not in metres or cents: the picture of the intervals stays, and so do effects."""
    rng = np.random.default_rng(3)
    rows = []
    for _ in range(60):
        one, other = rng.choice(4, 2, replace=False)
        rows.append((f"i{one}", f"i{other}", other - one + 0.5 + rng.normal()))
    if "rabf" in options:
        options = (*options, "--side-effect")
    shown = []
    for unit in (1.0, 1e6):
        file = tmp_path / "margins.csv"
        file.write_text("left,right,margin\n" + "".join(f"{a},{b},{unit * gap:.9g}\n" for a, b, gap in rows))
        done = CliRunner().invoke(rank, [str(file), *options])
        assert done.exit_code == 0, done.output
        shown.append([re.findall("[├─●┤◂▸]+", line) for line in done.stdout.splitlines()])
        assert "no number" not in done.stderr
    assert shown[0] == shown[1]
    assert all("◂" not in bar for (bar,) in shown[1][1:])


def test_margins_in_small_units_are_not_all_zero(tmp_path):
    """Seconds told in days, shares of a per cent: the table, the page and the picture tell the items apart."""
    gaps = ((0, 1, 2.0), (1, 2, 2.5), (0, 2, 5.0), (1, 0, -1.5), (2, 1, -3.0), (2, 0, -4.0))
    file = tmp_path / "margins.csv"
    file.write_text("left,right,margin\n" + "".join(f"i{a},i{b},{1e-6 * gap}\n" for a, b, gap in gaps))
    page, picture = tmp_path / "page.html", tmp_path / "board.svg"
    options = ["--method", "least-squares", "--report", str(page), "--embed", str(picture)]
    done = CliRunner().invoke(rank, [str(file), *options])
    assert done.exit_code == 0, done.output
    scores = podium.LeastSquares().fit(podium.read_comparisons(file)).ranking_.scores
    shown = [float(line.split()[2]) for line in done.stdout.splitlines()[1:]]
    assert shown == pytest.approx(sorted(scores, reverse=True), abs=6e-8)
    assert len(set(shown)) == 3
    for text in (page.read_text(), picture.read_text()):
        assert all(f">{line.split()[2]}<".replace("-", "\u2212") in text for line in done.stdout.splitlines()[1:])
