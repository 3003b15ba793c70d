"""The journal: only ever added to, shared, and nothing acknowledged is lost."""

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings

import pytest

from podium import read_comparisons
from podium.active import ActiveRanker, locks
from podium.active.journal import Journal, Standing, check_header, fingerprint, header, parse_log, problem_of
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


# ---- rows -----------------------------------------------------------------------------------------------------------


def test_a_head_names_the_items_by_a_hash_of_their_kinds_and_labels():
    whole = hashlib.sha256(b"str:tea\x1fint:1").hexdigest()
    assert fingerprint(["tea", 1]) == whole[:16]
    assert len({fingerprint(items) for items in (["tea", 1], ["tea", "1"], [1, "tea"], ["tea"])}) == 4
    head = header(["tea", 1], 7, "quick", {"goal": "order"})
    assert head | {"version": ""} == {
        "podium": "journal", "version": "", "format": 2, "items": whole[:16], "n": 2, "seed": 7, "preset": "quick",
        "options": {"goal": "order"},
    }  # fmt: skip


def test_the_head_of_a_log_is_given_back_whatever_was_added_since():
    head = ActiveRanker(ITEMS, seed=1).head
    for first in ("journal", "interview"):
        found = check_header([head | {"podium": first}], ITEMS)
        assert found == head | {"podium": first}
    added = [{"podium": "item", "item": "cola"}, {"podium": "item", "item": ["ice", 1]}]
    found = check_header([head, added[0], vote("tea", "milk"), added[1]], [*ITEMS, "cola", ("ice", 1)])
    assert found == head
    assert found is not head
    for items in ([*ITEMS, "cola", ("ice", 2)], [*ITEMS, ("ice", 1), "cola"], [*ITEMS, "cola"]):
        with pytest.raises(
            InputError,
            match=rf"^the log is of other items: it has 6 with hash '{head['items']}', these are {len(items)} with",
        ):
            check_header([head, *added], items)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"podium": "vote"}, "^the log has no header; its first line is {'podium': 'journal', …}: give the whole log"),
     ({"seed": None, "n": None}, "^the log's header lacks n, seed; it was damaged, or is no podium log: begin another$"),  # noqa: E501
     ({"options": []}, "^the log's header is not as it was written; it was damaged"),
     ({"format": 2.0}, "^the log's header is not as it was written"),
     ({"format": 3, "version": "9.9"}, r"^the log is of the newer podium 9.9; this is .*: upgrade$")],
)  # fmt: skip
def test_a_head_that_is_not_one_is_said(change, message):
    with pytest.raises(InputError, match=message):
        check_header([ActiveRanker(ITEMS, seed=1).head | change], ITEMS)
    for rows in ([], ["text"], [None]):
        with pytest.raises(InputError, match=r"^the log has no header"):
            check_header(rows, ITEMS)


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ([1], "not a JSON object"),
        (None, "not a JSON object"),
        ({"podium": ["lease"]}, "'podium' is ['lease']; it is text or a number"),
        (vote("tea", "milk", judge={}), "'judge' is {}; it is text or a number"),
        (vote({"a": 1}, "milk"), "'left' is {'a': 1}; it is text or a number"),
        (vote("tea", [["a"], 1]), "'right' is [['a'], 1]; it is text or a number"),
        (vote("tea", ["milk", 1]), None),
        (vote("tea", "milk", [1]), "'outcome' is [1]; it is text or a number"),
        ({"podium": "undo", "row": [2]}, "'row' is [2]; it is text or a number"),
        ({"podium": "item", "item": [["a"]]}, "'item' is [['a']]; it is text or a number"),
        ({"podium": "item", "item": ["a", 1]}, None),
        ({"podium": "journal"}, None),
        ({"podium": "interview"}, None),
        ({"podium": "ask"}, None),
        ({"podium": "skip", "left": "tea"}, "a note of 'skip' without right"),
        ({"podium": "skip", "left": "tea", "right": "milk"}, None),
        ({"podium": "undo"}, "a note of 'undo' without row"),
        ({"podium": "lease", "judge": "ann"}, "a note of 'lease' without left, right, until"),
        ({"podium": "item"}, "a note of 'item' without item"),
        ({"podium": "judge"}, "a note of 'judge' without judge"),
        ({"podium": "exclude"}, "a note of 'exclude' without judge"),
        ({"left": "tea", "outcome": 1}, "neither an event nor an answer with left and right"),
        ({"right": "tea", "outcome": 1}, "neither an event nor an answer with left and right"),
        (vote("tea", "milk", True), "outcome True is unknown; it is 1, 0 or 0.5"),
        (vote("tea", "milk", 2), "outcome 2 is unknown; it is 1, 0 or 0.5"),
        ({"left": "tea", "right": "milk"}, "outcome None is unknown; it is 1, 0 or 0.5"),
        (vote("tea", "milk", 0.5), None),
        (vote("tea", "milk", 0), None),
    ],
)
def test_what_is_wrong_with_a_row(row, problem):
    assert problem_of(row) == problem


def test_lines_that_say_nothing_are_notes_and_those_that_are_broken_are_numbered():
    lines = ["", "  \n", json.dumps(vote("tea", "milk")), b'"\xe9"', "{", '{"left": 1}']
    with pytest.warns(DataWarning) as said:
        rows = parse_log(lines)
    assert rows == [{"podium": "ask"}, {"podium": "ask"}, vote("tea", "milk"), *[{"podium": "ask"}] * 3]
    assert [str(each.message) for each in said] == [
        "log, line 4: not UTF-8 text; the line is left out",
        "log, line 5: not JSON (Expecting property name enclosed in double quotes); the line is left out",
        "log, line 6: neither an event nor an answer with left and right; the line is left out",
    ]


def lease(left, right, judge, until, **more):
    return {"podium": "lease", "left": left, "right": right, "judge": judge, "until": until, **more}


def test_what_rows_come_to():
    standing = Standing()
    rows = [
        {"podium": "judge", "judge": "cy"}, lease("tea", ["ice", 1], "cy", 50.0, kind="check"), vote("tea", "milk"),
        {"podium": "skip", "left": "milk", "right": "juice", "judge": "bob"}, lease("tea", "juice", "ann", 40),
        {"podium": "item", "item": ["ice", 1]}, {"podium": "ask"}, lease("milk", "tea", "bob", 60, kind="odd"),
    ]  # fmt: skip
    for number, row in enumerate(rows, start=2):
        standing.take(number, row)
    assert list(standing.votes) == [4, 5]
    assert standing.judges == {"ann", "bob", "cy"}
    assert standing.added == [("ice", 1)]
    assert standing.out(39.0) == [("tea", ("ice", 1)), ("tea", "juice"), ("milk", "tea")]
    assert standing.out(40.0) == [("tea", ("ice", 1)), ("milk", "tea")]  # until then, not longer
    assert standing.out(39.0, but="cy") == [("tea", "juice"), ("milk", "tea")]
    assert standing.held_by("cy", 49.9) == [(("tea", ("ice", 1)), "check")]
    assert standing.held_by("cy", 50.0) == []
    assert standing.held_by("ann", 0.0) == [(("tea", "juice"), "chosen")]
    assert standing.held_by("bob", 0.0) == [(("milk", "tea"), "chosen")]
    standing.take(10, {"podium": "skip", "left": ["ice", 1], "right": "tea", "judge": "cy"})  # from the other side
    assert standing.held_by("cy", 0.0) == []
    standing.take(11, {"podium": "exclude", "judge": "bob"})
    assert standing.counting() == [(4, rows[2]), (10, standing.votes[10])]
    standing.take(12, {"podium": "undo", "row": 4})
    assert [number for number, _ in standing.counting()] == [10]
    with pytest.raises(InputError, match=r"^log, row 13: an undo of row 4, which is no vote that counts$"):
        standing.take(13, {"podium": "undo", "row": 4})


# ---- a file ---------------------------------------------------------------------------------------------------------


def test_a_journal_says_whose_it_is_and_what_was_added(tmp_path):
    journal = begun(tmp_path / "log.jsonl")
    assert journal.fits(ITEMS)
    assert not journal.fits(ITEMS[::-1])
    assert not journal.fits([*ITEMS, "cola"])
    journal.append([{"podium": "item", "item": "cola"}])
    assert journal.fits([*ITEMS, "cola"])
    assert not journal.fits(ITEMS)
    assert not journal.fits([*ITEMS, "beer"])
    assert journal.head["n"] == 4
    assert journal.rows[0] == journal.head


def test_a_judge_joins_once_takes_pairs_and_gives_them_back(tmp_path):
    journal, other = begun(tmp_path / "log.jsonl"), begun(tmp_path / "log.jsonl")
    journal.join("ann")
    journal.join("ann")
    assert [row["podium"] for row in journal.rows] == ["journal", "judge"]
    with journal.locked():
        journal.lease([(("tea", "milk"), "check"), (("tea", "juice"), "chosen")], "ann", 1000.0, 60.0)
    assert journal.rows[2:] == [
        lease("tea", "milk", "ann", 1060.0, kind="check"),
        lease("tea", "juice", "ann", 1060.0, kind="chosen"),
    ]
    journal.append([vote("milk", "tea")])
    journal.release("bob", 1001.0)
    assert len(journal.rows) == 5
    journal.release("ann", 1001.0)
    assert journal.rows[5:] == [lease("tea", "juice", "ann", 0, kind="chosen")]
    journal.release("ann", 1001.0)  # nothing is left to give back
    assert len(journal.rows) == 6
    with other.locked():
        assert other.standing.out(0.5) == []
    assert (journal.time(5.0), journal.time(2000.0), journal.time(7.0)) == (1001.0, 2000.0, 2000.0)


def test_an_undo_gives_the_pair_back_to_the_judge_until_a_time(tmp_path):
    journal = begun(tmp_path / "log.jsonl")
    journal.append([vote("tea", "milk") | {"kind": "check"}, vote("tea", "juice"), vote("milk", "juice", 0, "bob")])
    assert journal.undo("ann", "noon", until=99.0) == vote("tea", "juice")
    assert journal.rows[4:] == [
        {"podium": "undo", "row": 3, "judge": "ann", "time": "noon"},
        lease("tea", "juice", "ann", 99.0, kind="chosen"),
    ]
    assert journal.undo("ann", until=99.0)["left"] == "tea"
    assert journal.rows[-1]["kind"] == "check"
    assert journal.rows[-2] == {"podium": "undo", "row": 2, "judge": "ann", "time": None}
    assert journal.undo("ann") is None
    assert journal.undo("bob") == vote("milk", "juice", 0, "bob")
    assert journal.rows[-1]["podium"] == "undo"


def test_a_line_that_others_broke_is_left_out_and_keeps_its_number(tmp_path):
    path = tmp_path / "log.jsonl"
    journal = begun(path)
    with path.open("ab") as file:
        file.write(b"oops\n" + json.dumps(vote("tea", "milk")).encode() + b"\n")
    with pytest.warns(DataWarning, match=r"^log.jsonl, line 2: not JSON \(Expecting value\); the line is left out$"):
        assert journal.append([vote("tea", "thé")]) == [4]
    assert journal.rows[1] == {"podium": "ask"}
    assert list(journal.standing.votes) == [3, 4]
    assert "thé" in path.read_text(encoding="utf-8")  # as people write it


def test_what_is_cut_off_is_the_last_line_alone(tmp_path):
    path = tmp_path / "log.jsonl"
    journal = begun(path)
    journal.append([vote("tea", "milk")])
    whole = path.read_bytes()
    with path.open("ab") as file:
        file.write(json.dumps(vote("tea", "juice")).encode() + b'\n{"left": ')
    with (
        pytest.warns(DataWarning, match=r"^log.jsonl, line \d+: not whole, it was never acknowledged; it is cut off$"),
        journal.locked(),
    ):
        pass
    assert path.read_bytes() == whole + json.dumps(vote("tea", "juice")).encode() + b"\n"
    assert len(journal.rows) == 3


LONG = b'{"left": "' + b"x" * 300_000


def test_a_torn_last_line_is_cut_off_whole_however_long_it_is(tmp_path):
    path = tmp_path / "log.jsonl"
    begun(path).append([vote("tea", "milk")] * 3000)
    whole = path.read_bytes()
    assert whole.count(b"\n") == 3001
    path.write_bytes(whole + LONG)
    with pytest.warns(
        DataWarning, match=r"^log.jsonl, line 3002: not whole, it was never acknowledged; it is cut off$"
    ):
        again = begun(path)
    assert path.read_bytes() == whole
    again.append([vote("milk", "juice")])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        last = begun(path)
    assert (len(last.rows), last.rows[-1]["left"]) == (3002, "milk")


def test_a_torn_line_behind_those_of_another_process_is_named_by_its_place_in_the_file(tmp_path):
    path = tmp_path / "log.jsonl"
    one, two = begun(path), begun(path)
    one.append([vote("tea", "milk")])
    two.append([vote("milk", "juice", 0, "bob")] * 5)
    assert len(one.rows) == 2
    whole = path.read_bytes()
    path.write_bytes(whole + LONG)
    with pytest.warns(DataWarning, match=r"^log.jsonl, line 8: not whole"):
        one.append([vote("tea", "juice")])
    assert path.read_bytes().startswith(whole)
    assert [(row["left"], row["right"]) for row in begun(path).rows[6:]] == [("milk", "juice"), ("tea", "juice")]


def test_without_locks_a_journal_is_written_all_the_same(tmp_path, monkeypatch):
    def none(file, **options):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("podium.active.journal.lock", none)
    monkeypatch.setattr("podium.active.journal.unlock", none)
    journal = begun(tmp_path / "log.jsonl")
    assert journal.append([vote("tea", "milk")]) == [2]
    journal.close()
    assert journal._file.closed


def test_a_lock_is_held_by_one_and_let_go(tmp_path):
    path = tmp_path / "a.lock"
    with path.open("w+b") as one, path.open("r+b") as two:
        locks.lock(one)
        with pytest.raises(OSError, match=r"temporarily|denied|lock") as taken:
            locks.lock(two, wait=False)
        assert taken.value.errno in locks.TAKEN
        locks.unlock(one)
        locks.lock(two, wait=False)


def test_a_session_has_a_hidden_file_of_its_own_beside_the_log(tmp_path):
    log = tmp_path / "log.jsonl"
    with locks.session(log, "ann") as first, locks.session(log, "ann") as second, locks.session(log, "bob") as other:
        assert (first, second, other) == (True, False, True)
        names = sorted(path.name for path in tmp_path.iterdir())
        marks = sorted(hashlib.sha256(f"log.jsonl\x1f{name}".encode()).hexdigest()[:16] for name in ("ann", "bob"))
        assert names == [f".log.jsonl.{mark}.lock" for mark in marks]
        with locks.session(tmp_path / "other.jsonl", "ann") as elsewhere:
            assert elsewhere
    assert list(tmp_path.iterdir()) == []
    with locks.session(log, "ann") as again:
        assert again
    (tmp_path / names[0]).touch()  # what a killed process leaves keeps nobody out
    with locks.session(log, "ann") as left, locks.session(log, "bob") as behind:
        assert left
        assert behind


def test_a_file_of_a_session_that_was_taken_away_meanwhile_is_made_anew(tmp_path, monkeypatch):
    """Its last holder took it away between the opening and the lock: the lock would be on nothing."""
    log, turns = tmp_path / "log.jsonl", []
    lock = locks.lock

    def late(file, *, wait=True):
        lock(file, wait=wait)
        turns.append(file)
        if len(turns) == 1:
            next(iter(tmp_path.iterdir())).unlink()

    monkeypatch.setattr(locks, "lock", late)
    with locks.session(log, "ann") as held:
        assert held
        assert len(turns) == 2
        assert turns[0].closed
        assert len(list(tmp_path.iterdir())) == 1
