"""`podium diff`."""

import json

import pytest
from click.testing import CliRunner

from podium import BradleyTerry, read_comparisons, save
from podium.cli.diff import diff
from podium.cli.rank import rank
from podium.errors import InputError


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
        ("item,score\nx,1\nx,2\n", "'x' stands twice"),
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
    assert "both are leaderboards" in run("board.csv", "board.csv", "--winner", "x").output


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
    assert "can be read once only" in run("-", "-").output
