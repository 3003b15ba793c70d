"""The journal: only ever added to, shared, and nothing acknowledged is lost."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
import warnings

import pytest

from podium import read_comparisons
from podium.active import ActiveRanker
from podium.active.journal import Journal, Standing, check_header
from podium.errors import DataWarning, InputError

ITEMS = ["tea", "milk", "coffee", "juice"]


def begun(path):
    return Journal(path, ActiveRanker(ITEMS, seed=1).head)


def vote(left, right, outcome=1, judge="ann"):
    return {"left": left, "right": right, "outcome": outcome, "judge": judge}


def test_rows_are_on_disk_when_append_returns_and_others_see_them(tmp_path):
    path = tmp_path / "log.jsonl"
    one, two = begun(path), begun(path)
    assert (one.resumed, two.resumed) == (False, True)
    assert one.append([vote("tea", "milk")]) == [2]
    assert two.append([vote("milk", "juice", 0, "bob")]) == [3]
    assert [json.loads(line).get("outcome") for line in path.read_bytes().splitlines()] == [None, 1, 0]
    with one.locked():
        assert list(one.standing.votes) == [2, 3]


def test_an_undo_is_a_row_and_takes_back_ones_own(tmp_path):
    path = tmp_path / "log.jsonl"
    one, two = begun(path), begun(path)
    one.append([vote("tea", "milk")])
    two.append([vote("milk", "juice", 0, "bob")])
    assert one.undo("ann")["left"] == "tea"
    assert one.undo("ann") is None
    assert two.undo("bob")["left"] == "milk"
    assert len(path.read_bytes().splitlines()) == 5
    one.append([vote("tea", "juice")])
    assert len(read_comparisons(path)) == 1


def test_an_excluded_judge_counts_no_more_also_in_what_comes_later(tmp_path):
    path = tmp_path / "log.jsonl"
    journal = begun(path)
    journal.append([vote("tea", "milk"), vote("tea", "juice", 1, "bob"), {"podium": "exclude", "judge": "bob"}])
    journal.append([vote("milk", "juice", 1, "bob")])
    assert len(journal.standing.counting()) == 1
    assert len(read_comparisons(path)) == 1
    assert ActiveRanker.replay(ITEMS, journal.rows).answered == 1


@pytest.mark.parametrize("torn", [b'{"left": "te', '{"left": "th\u00e9'.encode()[:-1], b"{"])
def test_a_half_last_line_is_cut_off_and_said(tmp_path, torn):
    path = tmp_path / "log.jsonl"
    journal = begun(path)
    journal.append([vote("tea", "milk")])
    with path.open("ab") as file:
        file.write(torn)
    with pytest.warns(DataWarning, match=r"log.jsonl, line 3: not whole"):
        again = begun(path)
    again.append([vote("milk", "juice")])
    assert len(again.rows) == 3
    assert [json.loads(line).get("outcome") for line in path.read_bytes().splitlines()] == [None, 1, 1]


def test_a_whole_row_without_its_line_end_is_kept(tmp_path):
    path = tmp_path / "log.jsonl"
    begun(path).close()
    with path.open("ab") as file:
        file.write(json.dumps(vote("tea", "milk")).encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again = begun(path)
    assert len(again.standing.votes) == 1
    again.close()


def test_leases_hold_until_their_time_or_the_answer_and_a_clock_that_jumps_back_frees_nothing(tmp_path):
    path = tmp_path / "log.jsonl"
    one, two = begun(path), begun(path)
    one.join("ann")
    with one.locked():
        one.lease([(("tea", "milk"), "check")], "ann", 1000.0, 60.0)
    with two.locked():
        assert two.standing.out(1030.0, but="bob") == [("tea", "milk")]
        assert two.standing.out(1030.0, but="ann") == []
        assert two.standing.out(1061.0) == []
        assert two.standing.held_by("ann", 1030.0) == [(("tea", "milk"), "check")]
        assert two.standing.held_by("bob", 1030.0) == []
    with one.locked():
        one.lease([(("tea", "juice"), "chosen")], "ann", 10.0, 60.0)  # the clock went back by a quarter of an hour
    with two.locked():
        assert two.standing.out(1055.0) == [("tea", "milk"), ("tea", "juice")]
    one.append([vote("milk", "tea")])
    with two.locked():
        assert two.standing.out(1055.0) == [("tea", "juice")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"podium": "lease", "left": "tea", "right": "milk", "judge": "zoe", "until": 1.0},
            "a lease of 'zoe', a judge of",
        ),
        ({"podium": "lease", "left": "tea", "right": "milk", "judge": "ann", "until": "noon"}, "a lease until 'noon'"),
        ({"podium": "undo", "row": 9}, "an undo of row 9, which is no vote that counts"),
        ({"podium": "exclude", "judge": "zoe"}, "'zoe' is excluded, but no row is of that judge"),
    ],
)
def test_rows_that_make_no_sense_are_named(row, message):
    standing = Standing()
    standing.take(2, vote("tea", "milk"))
    with pytest.raises(InputError, match=f"log, row 3: {message}"):
        standing.take(3, row)


def test_a_journal_of_other_items_or_a_newer_format_is_refused():
    head = ActiveRanker(ITEMS, seed=1).head
    with pytest.raises(InputError, match="the log is of other items"):
        check_header([head], ITEMS[::-1])
    with pytest.raises(InputError, match="the log is of other items"):
        check_header([head], [*ITEMS, "cola"])
    check_header([head, {"podium": "item", "item": "cola"}], [*ITEMS, "cola"])
    with pytest.raises(InputError, match="newer podium"):
        check_header([head | {"format": 3}], ITEMS)


WRITER = """
import sys
from pathlib import Path
from podium.active import ActiveRanker
from podium.active.journal import Journal
items, name = ["tea", "milk", "coffee", "juice"], sys.argv[2]
journal = Journal(Path(sys.argv[1]), ActiveRanker(items, seed=1).head)
count = 0
while True:
    number = journal.append([{"left": "tea", "right": "milk", "outcome": 1, "judge": name, "number": count}])[0]
    print(count, number, flush=True)  # acknowledged
    count += 1
    if count % 5 == 0:
        journal.undo(name)
"""


def test_nothing_acknowledged_is_lost_when_two_processes_are_killed(tmp_path):
    """Thirty rounds of two writers on one journal, both killed at any moment; what they said was written is there."""
    path = tmp_path / "log.jsonl"
    expected = {}
    for turn in range(30):
        names = [f"{turn}-a", f"{turn}-b"]
        runs = []
        for name in names:
            run = subprocess.Popen([sys.executable, "-c", WRITER, str(path), name], stdout=subprocess.PIPE, text=True)
            runs.append(run)
        for run in runs:
            run.stdout.readline()  # both are at work
        time.sleep(0.003 * (turn % 10))
        for run, name in zip(runs, names, strict=True):
            os.kill(run.pid, signal.SIGKILL)
            said = run.communicate(timeout=60)[0].split("\n")[:-1]
            expected[name] = max([0, *(int(line.split()[0]) for line in said if len(line.split()) == 2)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        journal = begun(path)
    written = {}
    for row in journal.rows:
        if "number" in row:
            assert row["number"] == written.get(row["judge"], -1) + 1  # in order, none missing, none twice
            written[row["judge"]] = row["number"]
    assert all(written[name] >= last for name, last in expected.items())


def test_one_session_for_each_judge_the_name_of_nobody_is_none_of_them(tmp_path):
    path = tmp_path / ("log" * 60 + ".jsonl")  # a name as long as file systems take
    with begun(path).session("ann"), begun(path).session(None), begun(path).session("None"), begun(path).session(""):
        with pytest.raises(InputError, match=r"'ann' is answering.*judge="), begun(path).session("ann"):
            pass
        with pytest.raises(InputError, match="without a name"), begun(path).session(None):
            pass
    with begun(path).session("ann"):
        pass
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_where_no_lock_can_be_had_the_session_begins_and_says_so(tmp_path, monkeypatch):
    def none(file, **options):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("podium.active.locks.lock", none)
    journal = begun(tmp_path / "log.jsonl")
    with pytest.warns(DataWarning, match=r"cannot be kept out here \(No locks available"), journal.session("ann"):
        pass
