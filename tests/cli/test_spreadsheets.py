"""Every command that writes CSV: no cell is a formula, and the labels are read back as they came in."""

import base64
import csv
import io
import re
import shlex

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from podium.cli import main
from podium.data.files import read_table
from podium.data.writing import write_table

from helpers import thin_data

NAMES = ["=cmd|' /C calc'!A0", "'=1+1", "@ann", "-dash", "+plus", "tea"]


def call(*words):
    with thin_data():
        done = CliRunner().invoke(main, list(words))
    assert done.exit_code == 0, (done.output, done.exception)
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("formulas")
    rng = np.random.default_rng(1)
    left = rng.integers(0, 6, 200)
    right = (left + rng.integers(1, 6, 200)) % 6
    names = np.array(NAMES)
    votes = pl.DataFrame({"winner": names[left], "loser": names[right], "part": names[rng.integers(0, 2, 200)]})
    write_table(votes, path / "votes.csv")
    write_table(votes.head(100), path / "early.csv")
    write_table(pl.DataFrame({"id": NAMES, "size": rng.normal(size=6)}), path / "items.csv")
    rows = pl.DataFrame({"id": NAMES * 8, "x": rng.normal(size=48), "y": rng.normal(size=48)})
    write_table(rows.with_columns(g=pl.Series(rng.integers(1, 4, 48))), path / "grades.csv")
    tags = {name: rng.integers(0, 2, 48) for name in ("=tag 1", "'=tag 2", "@tag 3")}
    write_table(rows.with_columns(**{name: pl.Series(each) for name, each in tags.items()}), path / "tags.csv")
    write_table(pl.DataFrame({"home": NAMES, "away": NAMES[1:] + NAMES[:1]}), path / "games.csv")
    judged = {"query": [name for name in NAMES for _ in range(2)], "doc": [*NAMES, *NAMES]}
    write_table(pl.DataFrame(judged | {"relevance": [0, 1] * 6}), path / "qrels.csv")
    write_table(pl.DataFrame(judged | {"score": rng.normal(size=12)}), path / "run.csv")
    return path


# The command that writes out.csv, after those that it needs, and the column of its labels.
WRITERS = {
    "rank": ("rank votes.csv -o out.csv", "item"),
    "rank by": ("rank votes.csv --by part -o out.csv", "part"),
    "diff": ("diff early.csv votes.csv -o out.csv", "item"),
    "marks": ("rank votes.csv --marks 0:100 -o out.csv", "item"),
    "predict": ("rank votes.csv --save m.podium; predict games.csv --model m.podium -o out.csv", "left"),
    "grade predict": ("grade fit grades.csv --label g --id id --save g.podium; "
        "grade predict grades.csv --id id --model g.podium -o out.csv", "id"),
    "label predict": ("label fit tags.csv --labels '*tag*' --id id --save t.podium; "
        "label predict tags.csv --labels '*tag*' --id id --model t.podium -o out.csv", "id"),
    "metrics": ("metrics qrels.csv run.csv -m ndcg --per-query -o out.csv", "query"),
    "campaign": ("campaign new items.csv --title T --question Q? --db c.db; campaign import votes.csv --db c.db; "
        "campaign export votes --db c.db -o out.csv", "left"),
    "campaign ranking": ("campaign new items.csv --title T --question Q? --db d.db; "
        "campaign import votes.csv --db d.db; campaign export ranking --db d.db -o out.csv", "item"),
}  # fmt: skip


def assert_no_formula(text):
    for cell in (cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row):
        assert not re.match(r"[=+\-@\t\r\n]", cell) or re.fullmatch(r"-[0-9.e+-]+|-inf", cell), cell


@pytest.mark.parametrize("writer", WRITERS)
def test_what_a_command_writes_holds_no_formula_and_every_label(writer, folder, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "out.csv").unlink(missing_ok=True)
    lines, column = WRITERS[writer]
    for line in lines.split("; "):
        call(*shlex.split(line))
    text = (folder / "out.csv").read_text()
    assert_no_formula(text)
    found = set(read_table(folder / "out.csv")[column].to_list())
    assert found - {None, "overall", "all", ""} <= set(NAMES)
    assert found & {NAMES[0], NAMES[1]}, "a label that needs the mark is there"
    call(*shlex.split(lines.split("; ")[-1].replace("out.csv", "out.jsonl")))
    assert set(pl.read_ndjson(folder / "out.jsonl")[column].to_list()) == found, "another form says the same"


def test_the_table_that_a_page_hands_out_holds_no_formula(folder, monkeypatch):
    monkeypatch.chdir(folder)
    call("rank", "votes.csv", "--report", "page.html")
    data = re.search(r'href="data:text/csv;base64,([^"]+)"', (folder / "page.html").read_text())[1]
    text = base64.b64decode(data).decode()
    assert_no_formula(text)
    assert set(read_table(io.StringIO(text))["item"].to_list()) == set(NAMES)


def test_scores_since_a_file_written_here_find_their_items(folder, monkeypatch):
    monkeypatch.chdir(folder)
    call("rank", "early.csv", "-o", "last.csv")
    call("rank", "votes.csv", "--since", "last.csv", "--report", "since.html", "-o", "now.csv")
    assert ">new<" not in (folder / "since.html").read_text(), "every item was there before"
    call("diff", "last.csv", "now.csv", "-o", "moved.csv")
    assert set(read_table(folder / "moved.csv")["item"].to_list()) == set(NAMES)
