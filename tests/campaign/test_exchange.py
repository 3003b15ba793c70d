"""Out of a campaign and back: tables, journals and whole campaigns say the same on the other side."""

import csv
import hashlib
import io
import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium.active.journal import Standing as JournalStanding
from podium.campaign import archive, setup
from podium.campaign.archive import is_archive, read_archive, write_archive
from podium.campaign.exchange import import_votes, journal_lines, votes_frame
from podium.campaign.items import Items
from podium.campaign.live import live_votes
from podium.campaign.standing import standing
from podium.data.files import read_comparisons
from podium.data.writing import write_table
from podium.errors import InputError
from podium.store import open_store
from podium.store.values import Item, Media

from suites.campaigns import Bench

PICTURE = hashlib.sha256(b"\x89PNG\r\n\x1a\n").hexdigest()


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "c.db"), new=True) as store:
        yield store


@pytest.fixture
def bench(store):
    """A campaign in which everything has happened."""
    bench = Bench(store, items=6, judges=("ann", "bob", "=cmd|' /C calc'!A0"))
    rng = np.random.default_rng(1)
    for k in range(40):
        judge = int(rng.integers(3))
        question = bench.next(judge, 1).questions
        if not question:
            continue
        outcome = [1.0, 0.0, 0.5, None][rng.integers(4)]
        bench.vote(judge, question[0].id, outcome, id=f"x{k}", reason="-1+1" if k == 3 else None, ms=700)
        if k % 6 == 5:
            bench.undo(judge, f"x{k}")
    bench.do(lambda writer: setup.exclude(writer, 1, bench.now))
    bench.do(lambda writer: setup.withdraw(writer, 5, bench.now))
    picture = Media(PICTURE, "image/png", b"\x89PNG\r\n\x1a\n")
    bench.do(
        lambda writer: setup.add_items(writer, Items([Item(-1, "late", "image", None, PICTURE)], {"": picture}), 9)
    )
    return bench


def rows_of(bench):
    return bench.read(lambda reader: list(reader.votes(bench.id)))


def live_rows(content):
    """(judge, left, right, value) of the votes that count, by name."""
    live = live_votes(content)
    names = {judge.id: judge.name for judge in content.judges}
    columns = zip(live.judge.tolist(), live.left.tolist(), live.right.tolist(), live.value.tolist(), strict=True)
    return [(names[judge], live.labels[a], live.labels[b], value) for judge, a, b, value in columns]


def test_the_table_says_which_votes_count(bench):
    frame = votes_frame(bench.content(), rows_of(bench))
    counted = frame.filter(frame["counts"])
    found = list(counted.select("judge", "left", "right", "outcome").iter_rows())
    assert found == live_rows(bench.content())
    assert frame.height == bench.content().campaign.last_vote


def test_votes_written_as_csv_hold_no_formula_and_come_back_by_an_import(bench, tmp_path):
    path = tmp_path / "votes.csv"
    frame = votes_frame(bench.content(), rows_of(bench))
    write_table(frame.filter(frame["counts"] & frame["outcome"].is_not_null()), path)
    text = [cell for row in csv.reader(io.StringIO(path.read_text(), newline="")) for cell in row]
    assert any(cell.startswith("'=cmd") for cell in text)
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in text)
    with open_store(str(tmp_path / "other.db"), new=True) as other:
        copy = Bench(other, items=6, judges=(), seed=bench.campaign.seed)
        import_votes(other, copy.id, str(path), copy.now)
        assert live_rows(copy.content()) == live_rows(bench.content())


def test_a_journal_comes_back_with_the_same_standing(bench, tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text("".join(journal_lines(bench.content(), rows_of(bench))))
    with open_store(str(tmp_path / "other.db"), new=True) as other:
        copy = Bench(other, items=6, judges=(), seed=bench.campaign.seed)
        copy.do(lambda writer: setup.withdraw(writer, 5, 1))
        done = import_votes(other, copy.id, str(path), copy.now)
        assert done.votes + done.skips + done.undos == bench.content().campaign.last_vote
        assert live_rows(copy.content()) == live_rows(bench.content())
        again = import_votes(other, copy.id, str(path), copy.now)
        assert (again.votes, again.repeated) == (0, bench.content().campaign.last_vote)


def test_other_readers_count_what_counts_in_a_journal(bench, tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text("".join(journal_lines(bench.content(), rows_of(bench))))
    votes = read_comparisons(str(path), keep="rows")
    value = (votes.outcome + 1) / 2
    columns = zip(votes.left.tolist(), votes.right.tolist(), value.tolist(), strict=True)
    assert [(votes.items[a], votes.items[b], v) for a, b, v in columns] == [
        row[1:] for row in live_rows(bench.content())
    ]


def test_a_journal_of_podium_ask_is_read(store, tmp_path):
    from podium.active import ActiveRanker

    items = [f"item {k}" for k in range(6)]
    ranker = ActiveRanker(items, seed=3)
    while not ranker.done:
        pairs = ranker.ask(1)
        ranker.tell(pairs, [float(left < right) for left, right in pairs], "ann")
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ranker.log))
    bench = Bench(store, judges=("ann",))
    done = import_votes(store, bench.id, str(path), bench.now)
    assert done.votes == sum("outcome" in row for row in ranker.log)
    assert {name for name, *_ in live_rows(bench.content())} == {"ann (import)"}  # not the person with the link
    assert standing(bench.content()).order == tuple(items)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5), st.integers(0, 3), st.integers(0, 30)), max_size=25))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_journal_means_here_what_it_means_to_podium_ask(tmp_path, steps):
    """The journal's own reading is the truth, and `podium rank log.jsonl` agrees."""
    rows = [
        {"podium": "journal", "format": 2},
        {"podium": "judge", "judge": "ann"},
        {"podium": "judge", "judge": "bob"},
    ]
    journal = JournalStanding()
    for number, row in enumerate(rows, start=1):
        journal.take(number, row)
    for left, shift, kind, which in steps:
        pair = {"left": f"item {left}", "right": f"item {(left + shift) % 6}"}
        who = {"judge": ("ann", "bob")[which % 2], "time": None}
        row = pair | {"outcome": (1, 0, 0.5)[which % 3]} | who
        if kind == 1:
            row = {"podium": "skip"} | pair | who
        elif kind == 2 and journal.votes:
            undone = sorted(journal.votes)[which % len(journal.votes)]
            row = {"podium": "undo", "row": undone} | ({"judge": journal.votes[undone]["judge"]} if which % 2 else {})
        elif kind == 3 and which % 10 == 0:
            row = {"podium": "exclude", "judge": who["judge"]}
        rows.append(row)
        journal.take(len(rows), row)
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    expected = [
        (row["judge"], row["left"], row["right"], row["outcome"]) for _, row in journal.counting() if "outcome" in row
    ]
    (tmp_path / "c.db").unlink(missing_ok=True)
    with open_store(str(tmp_path / "c.db"), new=True) as store:
        bench = Bench(store, judges=())
        import_votes(store, bench.id, str(path), bench.now)
        content = bench.content()
        assert live_rows(content) == expected
        back = tmp_path / "back.jsonl"
        back.write_text("".join(journal_lines(content, rows_of(bench))))
    again = JournalStanding()
    for number, line in enumerate(back.read_text().splitlines(), start=1):
        again.take(number, json.loads(line))
    assert [
        (row["judge"], row["left"], row["right"], row["outcome"]) for _, row in again.counting() if "outcome" in row
    ] == expected
    if expected:
        for file in (path, back):
            votes = read_comparisons(str(file), keep="rows")
            names = [(votes.items[a], votes.items[b]) for a, b in zip(votes.left, votes.right, strict=True)]
            assert names == [(left, right) for _, left, right, _ in expected]


def test_a_table_of_votes_is_read_and_strange_items_are_named(store, tmp_path):
    bench = Bench(store, items=3)
    path = tmp_path / "votes.csv"
    path.write_text("left,right,outcome,judge\nitem 0,item 1,1,x\nitem 1,new,tie,y\n")
    with pytest.raises(InputError, match=r"does not have: 'new'; add them first"):
        import_votes(store, bench.id, str(path), bench.now)
    assert bench.content().campaign.last_vote == 0
    done = import_votes(store, bench.id, str(path), bench.now, add=True)
    assert (done.votes, done.items, done.judges) == (2, 1, 2)
    assert live_rows(bench.content()) == [("x", "item 0", "item 1", 1.0), ("y", "item 1", "new", 0.5)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("{", "line 2 cannot be read"),
        ('{"left": "item 0", "right": "item 1", "outcome": 0.7}', "line 2 cannot be read .*outcome 0.7"),
        ('{"left": "item 0", "outcome": 1}', "line 2 lacks 'right'"),
        ('{"left": "item 0", "right": "item 0", "outcome": 1}', "compared with itself"),
        ('{"podium": "undo", "row": 1}', "line 2 cannot be read .*undoes line 1, which is no vote that stands"),
        ('{"podium": "undo", "row": []}', "line 2 cannot be read"),
        ('{"podium": "undo"}', "line 2 lacks 'row'"),
        ('{"podium": "exclude"}', "line 2 lacks 'judge'"),
        ("[1]", "line 2 cannot be read"),
        ('{"left": "item 0", "right": "item 1", "outcome": 1, "time": "soon"}', "line 2 cannot be read"),
    ],
)
def test_a_bad_line_of_a_journal_is_named_and_nothing_is_taken(store, tmp_path, line, words):
    bench = Bench(store)
    path = tmp_path / "log.jsonl"
    path.write_text('{"podium": "campaign"}\n' + line + "\n")
    with pytest.raises(InputError, match=words):
        import_votes(store, bench.id, str(path), bench.now)
    assert bench.content().campaign.last_vote == 0


def test_a_file_that_is_not_there(store):
    bench = Bench(store)
    with pytest.raises(InputError, match="no such file"):
        import_votes(store, bench.id, "none.csv", bench.now)


def test_a_whole_campaign_in_a_zip_is_the_same_campaign(bench, tmp_path):
    path = str(tmp_path / "all.zip")
    write_archive(bench.store, bench.id, path)
    assert is_archive(path)
    before = bench.content()
    with open_store(str(tmp_path / "other.db"), new=True) as other:
        made = read_archive(other, path)
        after = other.read(lambda reader: reader.content(made.id))
        assert (after.items, after.judges) == (before.items, before.judges)
        assert replace(after.campaign, id=0, plans=0, planned_at=0) == replace(
            before.campaign, id=0, plans=0, planned_at=0
        )
        assert standing(after) == standing(before)
        votes = other.read(lambda reader: list(reader.votes(made.id)))
        assert votes == [replace(vote, question=None) for vote in rows_of(bench)]
        assert other.read(lambda r: r.events(made.id)) == bench.read(lambda r: r.events(bench.id))
        assert other.read(lambda reader: reader.media(made.id, PICTURE)).type == "image/png"
        _, token = bench.links[0]
        from podium.campaign.tokens import hash_of

        assert other.read(lambda reader: reader.judge_of_token(hash_of(token)))[1].name == "ann"
    again = read_archive(bench.store, path)  # beside the first: another name, and no link for two
    assert again.slug == "tea-2"
    assert bench.read(lambda reader: reader.judge_of_token(hash_of(token)))[0] == bench.id


def test_no_wrong_byte_in_a_zip_is_a_surprise(bench, tmp_path):
    path = tmp_path / "all.zip"
    write_archive(bench.store, bench.id, str(path))
    whole = path.read_bytes()
    refused = 0
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
        assert is_archive(str(path)) in (True, False)
        try:
            archive._members(str(path))
        except InputError:
            refused += 1
    assert refused > 50


def test_a_damaged_zip_is_refused_in_a_sentence(bench, tmp_path):
    path = tmp_path / "all.zip"
    write_archive(bench.store, bench.id, str(path))
    cut = tmp_path / "cut.zip"
    cut.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(InputError, match="take another copy"):
        read_archive(bench.store, str(cut))
    other = tmp_path / "other.zip"
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            target.writestr(name, data.replace(b'"outcome": 1.0', b'"outcome": 0.0') if name == "votes.jsonl" else data)
    with pytest.raises(InputError, match=r"votes\.jsonl is not as it was written"):
        read_archive(bench.store, str(other))
    newer = tmp_path / "newer.zip"
    with zipfile.ZipFile(newer, "w") as target:
        target.writestr("podium.json", '{"archive": 99, "version": "9", "members": {}}')
    with pytest.raises(InputError, match="newer podium 9; upgrade"):
        read_archive(bench.store, str(newer))
    assert not is_archive(str(newer))
    assert len(bench.read(lambda reader: reader.campaigns())) == 1


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet", "journal"])
def test_an_export_taken_back_into_its_own_campaign_adds_nothing(bench, tmp_path, form):
    path = tmp_path / f"votes.{form.replace('journal', 'jsonl')}"
    if form == "journal":
        path.write_text("".join(journal_lines(bench.content(), rows_of(bench))))
    else:
        write_table(votes_frame(bench.content(), rows_of(bench)), path)
    before, judges = live_rows(bench.content()), len(bench.content().judges)
    done = import_votes(bench.store, bench.id, str(path), bench.now)
    assert (done.votes, done.judges) == (0, 0)
    assert done.repeated == (len(rows_of(bench)) if form == "journal" else len(before))
    assert live_rows(bench.content()) == before
    assert len(bench.content().judges) == judges


def test_a_log_that_has_grown_adds_its_new_rows_alone(store, tmp_path):
    bench = Bench(store, items=3, judges=("ann",))
    path = tmp_path / "log.jsonl"
    at = "2026-01-01T00:00:0"
    lines = [
        '{"podium": "journal"}',
        f'{{"left": "item 0", "right": "item 1", "outcome": 1, "judge": "ann", "time": "{at}1Z"}}',
        f'{{"left": "item 0", "right": "item 1", "outcome": 1, "judge": "bob", "time": "{at}1Z"}}',
        f'{{"left": "item 2", "right": "item 1", "outcome": 1, "judge": "ann", "time": "{at}2Z"}}',
        f'{{"podium": "undo", "row": 4, "judge": "ann", "time": "{at}3Z"}}',
        f'{{"left": "item 2", "right": "item 1", "outcome": 0, "judge": "ann", "time": "{at}4Z"}}',
        f'{{"podium": "undo", "row": 2, "judge": "ann", "time": "{at}5Z"}}',
        '{"podium": "exclude", "judge": "bob"}',
    ]
    counts = []
    for length in (3, 4, 6, 8):
        path.write_text("\n".join(lines[:length]) + "\n")
        done = import_votes(store, bench.id, str(path), bench.now)
        counts.append((done.votes, done.undos, done.repeated, done.judges))
    assert counts == [(2, 0, 0, 2), (1, 0, 2, 0), (1, 1, 3, 0), (0, 1, 5, 0)]
    assert live_rows(bench.content()) == [("ann (import)", "item 2", "item 1", 0.0)]
