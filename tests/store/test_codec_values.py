"""The log as arrays and bytes, and cells as values: every edge, beside `struct`, `hashlib` and plain Python."""

import datetime
import hashlib
import json
import struct
from dataclasses import fields, replace

import numpy as np
import pytest

from podium._version import __version__
from podium.errors import InputError
from podium.store import codec, content, values
from podium.store.codec import VoteArrays, checksum, decode, encode, from_snapshots, in_range, seal
from podium.store.values import (
    KINDS,
    LATEST,
    Call,
    Campaign,
    Item,
    Judge,
    Question,
    Vote,
    campaign_of,
    changed,
    from_json,
    pair_of,
    value_of,
)

ROWS = [[0, 1, 0, 2, 0], [3, 2, 1, 0, 1 + 16], [2, 0, 7, 1, 4 + 32], [1, 3, 0, -1, 2], [2, 1, 1, -2, 3]]


def arrays(*rows):
    return VoteArrays.of_rows(list(rows))


# ---- arrays ---------------------------------------------------------------------------------------------------------


def test_rows_become_columns_of_the_smallest_kinds():
    votes = arrays(*ROWS)
    assert len(votes) == 5
    names = [each.name for each in fields(VoteArrays)]
    assert names == ["left", "right", "judge", "outcome", "kind"]
    for k, name in enumerate(names):
        assert getattr(votes, name).tolist() == [row[k] for row in ROWS]
    assert [getattr(votes, name).dtype.itemsize for name in names] == [4, 4, 4, 1, 1]
    assert all(getattr(votes, name).flags.c_contiguous for name in names)
    assert len(arrays()) == 0


def test_the_log_is_fourteen_bytes_a_row_column_after_column_little_endian():
    columns = list(zip(*ROWS, strict=True))
    expected = b"".join(struct.pack("<5i", *column) for column in columns[:3])
    expected += b"".join(struct.pack("<5b", *column) for column in columns[3:])
    assert encode(arrays(*ROWS)) == expected
    assert len(expected) == 5 * 14
    again = decode(expected, 5)
    assert [getattr(again, each.name).tolist() for each in fields(VoteArrays)] == [list(c) for c in columns]
    for data in (expected[:-1], expected + b"x", b""):
        assert decode(data, 5) is None
    assert decode(expected, 4) is None
    assert len(decode(b"", 0)) == 0


def test_pieces_are_cut_and_joined():
    votes = arrays(*ROWS)
    piece = votes.part(1, 3)
    assert piece.left.tolist() == [3, 2]
    assert piece.kind.tolist() == [17, 36]
    whole = VoteArrays.joined([votes.part(0, 2), votes.part(2, 5)])
    assert encode(whole) == encode(votes)
    assert encode(VoteArrays.joined(iter([votes]))) == encode(votes)
    assert len(VoteArrays.joined([])) == 0


def test_which_rows_stand():
    """The last undoes the second; the fourth is a skip."""
    votes = arrays(*ROWS)
    assert votes.counted().tolist() == [True, False, True, False, False]
    assert votes.skipped().tolist() == [False, False, False, True, False]
    first_undone = arrays(ROWS[0], ROWS[3], [1, 0, 0, -2, 0], [2, 0, 0, -2, 0])
    assert not first_undone.counted().any()
    assert not first_undone.skipped().any()
    tie = arrays([0, 1, 0, 1, 0], [0, 1, 0, 0, 0])
    assert tie.counted().all()


def test_kinds_and_predictions_share_a_number():
    votes = arrays(*([0, 1, 0, 2, code + guess] for guess in (0, 16, 32) for code in range(len(KINDS))))
    assert votes.kinds().tolist() == [*range(len(KINDS))] * 3
    expected = [np.nan] * len(KINDS) + [1.0] * len(KINDS) + [0.0] * len(KINDS)
    np.testing.assert_array_equal(votes.predicted(), expected)


# ---- pieces that are kept -------------------------------------------------------------------------------------------


def test_the_numbers_of_what_is_kept_are_those_of_files_there_are():
    assert (codec.PIECE, codec.SNAPSHOT_FORMAT) == (50_000, 1)
    key = b"1:7:50000:"
    assert checksum(b"data", 7, 50_000) == hashlib.blake2b(b"data", digest_size=16, key=key).hexdigest()
    key = b"7:standing"
    assert seal(b"data", 7, "standing") == hashlib.blake2b(b"data", digest_size=16, key=key).hexdigest()
    long = f"7:{'x' * 100}".encode()[:64]  # no longer key is taken
    assert seal(b"data", 7, "x" * 100) == hashlib.blake2b(b"data", digest_size=16, key=long).hexdigest()


def kept(campaign, count, *, first=0):
    """Snapshots of two rows each."""
    pieces = []
    for number in range(first + 1, first + count + 1):
        data = encode(arrays([0, number % 3, 0, 2, 0], [1, 2, 1, 0, 1]))
        pieces.append((2 * number, 1, data, checksum(data, campaign, 2 * number)))
    return pieces


@pytest.mark.parametrize(
    ("spoil", "fit"),
    [
        (lambda pieces: pieces, 3),
        (lambda pieces: [], 0),
        (lambda pieces: [*pieces[:1], (*pieces[1][:3], "x"), pieces[2]], 1),
        (lambda pieces: [*pieces[:2], (pieces[2][0], 2, *pieces[2][2:])], 2),
        (lambda pieces: [*pieces[:2], (pieces[2][0], 0, *pieces[2][2:])], 2),
        (lambda pieces: [pieces[0], pieces[2]], 1),
        (lambda pieces: pieces[1:], 0),
        (lambda pieces: [(pieces[0][0], 1, pieces[0][2][:-1], pieces[0][3]), *pieces[1:]], 0),
        (lambda pieces: [*kept(8, 1), *pieces[1:]], 0),
    ],
)
def test_pieces_fit_up_to_the_first_that_does_not(monkeypatch, spoil, fit):
    monkeypatch.setattr(codec, "PIECE", 2)
    pieces = kept(7, 3)
    some = spoil(pieces)
    votes, intact = from_snapshots(7, some, 6, 3)
    assert len(votes) == 2 * fit
    assert intact == (len(some) == fit)
    assert votes.right.tolist() == [right for number in range(1, fit + 1) for right in (number % 3, 2)]


def test_a_piece_beyond_the_end_of_the_log_or_of_other_items_does_not_fit(monkeypatch):
    monkeypatch.setattr(codec, "PIECE", 2)
    for last_vote, items, fit in ((6, 3, 3), (5, 3, 2), (4, 3, 2), (3, 3, 1), (0, 3, 0), (6, 2, 0)):
        votes, intact = from_snapshots(7, kept(7, 3), last_vote, items)
        assert (len(votes), intact) == (2 * fit, fit == 3)


@pytest.mark.parametrize(
    ("row", "fits"),
    [
        ([0, 1, 0, 2, 0], True), ([3, 0, 0, 0, 0], True), ([4, 0, 0, 0, 0], False), ([-1, 0, 0, 0, 0], False),
        ([0, 3, 0, 0, 0], True), ([0, 4, 0, 0, 0], False), ([0, -1, 0, 0, 0], False),
        ([0, 1, -1, 0, 0], False), ([0, 1, 99, 0, 0], True),
        ([0, 1, 0, 3, 0], False), ([0, 1, 0, -1, 0], True), ([0, 1, 0, -3, 0], False),
        ([1, 1, 0, -2, 0], True), ([0, 1, 0, -2, 0], False), ([9, 1, 0, -2, 0], True), ([10, 1, 0, -2, 0], False),
        ([0, 1, 0, 0, 4], True), ([0, 1, 0, 0, 5], False), ([0, 1, 0, 0, 15], False), ([0, 1, 0, 0, -1], False),
        ([0, 1, 0, 0, 16], True), ([0, 1, 0, 0, 20], True), ([0, 1, 0, 0, 21], False), ([0, 1, 0, 0, 36], True),
        ([0, 1, 0, 0, 47], False), ([0, 1, 0, 0, 48], False), ([0, 1, 0, 0, 52], False),
    ],
)  # fmt: skip
def test_codes_that_can_be(row, fits):
    """Of four items, in a piece that ends with row 10: an undo is of an earlier row, from 1 on."""
    good = [0, 1, 0, 2, 0]
    assert in_range(arrays(row), 10, 4) is fits
    assert in_range(arrays(good, row), 10, 4) is fits
    assert in_range(arrays(row, good), 10, 4) is fits
    assert in_range(arrays(), 10, 4) is True


# ---- cells ----------------------------------------------------------------------------------------------------------


def cells(value):
    return [getattr(value, each.name) for each in fields(value)]


GOOD = [
    Item(0, "tea", "image", "body", "ab", [0.5], 3, 4), Item(1, "milk"), Judge(0, "ann", conflicts=(1,)),
    Question(0, 1, predicted=0.5, place=-1, judge=2, until=9), Vote(0, "id", 0, 1, 0.5, 3, "why", None, ms=3),
    Campaign(1, "tea", "Tea", "?", "", 1, {}, -7, "open", "h", 5, planned_at=-1),
    Call("r", 1, 0, 0, 1, 0, outcome=1, cost=2), Vote(0, "id", 0, 1, None, undoes=2),
]  # fmt: skip


@pytest.mark.parametrize("value", GOOD, ids=lambda value: type(value).__name__)
def test_what_can_be_is_the_value(value):
    for _ in range(2):  # the second time by what is remembered of the first
        assert value_of(type(value), cells(value)) == value


def test_a_moment_is_before_the_year_ten_thousand():
    last = datetime.datetime(9999, 12, 31, tzinfo=datetime.UTC) + datetime.timedelta(days=1, milliseconds=-1)
    since = (last - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(milliseconds=1)
    assert since + 1 == LATEST


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize(
    ("value", "name", "cell", "said"),
    [
        (Item(0, "tea"), "code", -1, "-1"), (Item(0, "tea"), "code", LATEST, str(LATEST)),
        (Item(0, "tea"), "code", True, "True"), (Item(0, "tea"), "code", 1.0, "1.0"),
        (Item(0, "tea"), "label", None, "None"), (Item(0, "tea"), "label", b"x", "b'x'"),
        (Item(0, "tea"), "withdrawn", -5, "-5"), (Item(0, "tea"), "withdrawn", "soon", "'soon'"),
        (Item(0, "tea"), "features", "x", "'x'"), (Item(0, "tea"), "label", 5, "5"),
        (Judge(0, "ann"), "state", "asleep", "'asleep'"), (Judge(0, "ann"), "target", -1, "-1"),
        (Judge(0, "ann"), "conflicts", None, "None"),
        (Question(0, 1), "kind", "odd", "'odd'"), (Question(0, 1), "predicted", "x", "'x'"),
        (Question(0, 1), "wanted", -1, "-1"), (Question(0, 1), "state", None, "None"),
        (Vote(0, "v", 0, 1, 1.0), "outcome", True, "True"), (Vote(0, "v", 0, 1, 1.0), "seq", -1, "-1"),
        (Vote(0, "v", 0, 1, 1.0), "client_id", "", None), (Vote(0, "v", 0, 1, 1.0), "outcome", 1, None),
        (Call("r", 1, 0, 0, 1, 0), "turned", LATEST, str(LATEST)),
        (Call("r", 1, 0, 0, 1, 0), "turned", LATEST - 1, None),
        (Item(0, "tea"), "label", "x" * 99, None), (Item(0, "tea"), "body", 7, "7"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(monkeypatch, value, name, cell, said, known):
    monkeypatch.setattr(values, "_FITTING", {})
    if known:
        value_of(type(value), cells(value))
    row = cells(changed(value, **{name: cell}))
    if said is None:
        assert value_of(type(value), row) == changed(value, **{name: cell})
        return
    with pytest.raises(InputError) as caught:
        value_of(type(value), row)
    kind = type(value).__name__.lower()
    assert str(caught.value) == f"{kind}: {name} is {said}, the database is damaged; restore a copy"


def test_a_long_cell_is_shortened_where_it_is_named():
    with pytest.raises(InputError) as caught:
        value_of(Item, cells(Item(0, "tea", withdrawn="x" * 99)))
    assert str(caught.value) == f"item: withdrawn is '{'x' * 49}, the database is damaged; restore a copy"


def test_only_places_plans_and_seeds_may_be_below_nothing():
    campaign = GOOD[5]
    assert value_of(Campaign, cells(campaign)) == campaign
    for name in ("version", "made", "last_vote", "last_event", "plans"):
        with pytest.raises(InputError, match=f"campaign: {name} is -1, the database is damaged"):
            value_of(Campaign, cells(changed(campaign, **{name: -1})))
    assert campaign.position == (0, 0)
    assert changed(campaign, last_vote=4, last_event=5).position == (4, 5)


def test_rows_of_one_kind_are_looked_at_cell_by_cell_once_and_words_always(monkeypatch):
    monkeypatch.setattr(values, "_FITTING", {})
    looked, check = [], values._check
    monkeypatch.setattr(values, "_check", lambda kind, row: looked.append(kind) or check(kind, row))
    for code in range(3):
        value_of(Item, cells(Item(code, "tea")))
    assert looked == [Item]
    value_of(Item, cells(Item(4, "tea", body="with")))
    assert looked == [Item] * 2
    for _ in range(2):
        value_of(Judge, cells(Judge(0, "ann")))
    assert looked == [Item, Item, Judge, Judge]


def test_a_row_with_a_cell_too_many_or_too_few_is_none():
    whole = cells(Item(0, "tea"))
    for row in (whole[:-1], [*whole, 1]):
        with pytest.raises(ValueError, match="argument"):
            value_of(Item, row)


def test_a_campaign_has_a_number():
    campaign = GOOD[5]
    assert campaign_of(cells(campaign)) == campaign
    with pytest.raises(InputError) as caught:
        campaign_of(cells(changed(campaign, id=0)))
    assert str(caught.value) == "campaign: id is 0, the database is damaged; restore a copy"


def test_a_changed_value_is_another_with_all_the_rest():
    one = Question(3, 4, "gold", 2, 0.25, "out", 7, 8, 9, 1, 5)
    other = changed(one, state="done", judge=None)
    assert other == replace(one, state="done", judge=None)
    assert one.state == "out"


def test_one_number_for_a_pair_and_no_other_pair():
    some = [0, 1, 2, 3, 1000, 2**31 - 2, 2**31 - 1]
    pairs = {(a, b) for a in some for b in some if a < b}
    assert len({pair_of(a, b) for a, b in pairs}) == len(pairs)
    for a, b in pairs:
        assert pair_of(b, a) == pair_of(a, b) == a * 2**31 + b
        assert pair_of(a, b) < 2**63


@pytest.mark.parametrize("cell", ["[1", "", b"\xff", None, 5, "[" * 200_000])
def test_a_cell_that_is_no_json_is_named(cell):
    with pytest.raises(InputError) as caught:
        from_json(cell)
    assert str(caught.value) == f"a cell holds {repr(cell)[:50]}, no JSON, the database is damaged; restore a copy"
    assert from_json('{"a": [1, null]}') == {"a": [1, None]}


# ---- the whole campaign ---------------------------------------------------------------------------------------------


class Rows:
    """Answers statements by what they begin with; what was asked is kept."""

    def __init__(self, **answers):
        self.answers, self.asked = answers, []

    def __call__(self, sql, values):
        self.asked.append((sql, values))
        for begins, rows in self.answers.items():
            if begins in sql:
                return rows
        return []


def test_what_was_derived_fits_its_campaign_position_and_version():
    campaign = changed(GOOD[5], id=7, last_vote=40, last_event=2)
    run = Rows(derived=[("text", "x"), (b"bad", "x"), (memoryview(b"good"), seal(b"good", 7, "ranks"))])
    assert content.load_derived(run, campaign, "ranks") == b"good"
    ((_, asked),) = run.asked
    assert asked == {"campaign": 7, "name": "ranks", "version": __version__, "last_vote": 40, "last_event": 2}
    assert content.load_derived(Rows(derived=[(b"good", seal(b"good", 8, "ranks"))]), campaign, "ranks") is None
    assert content.load_derived(Rows(derived=[(b"good", seal(b"good", 7, "other"))]), campaign, "ranks") is None
    assert content.load_derived(Rows(), campaign, "ranks") is None


@pytest.mark.parametrize(
    ("rows", "ends", "last_vote", "words"),
    [
        ([ROWS[0], ROWS[1]], (1, 2), 2, None),
        ([], (None, None), 0, None),
        ([ROWS[0]], (1, 1), 2, "the log of campaign 7 has 1 rows and should have 2; restore a copy"),
        ([ROWS[0], ROWS[1]], (1, 2), 1, "the log of campaign 7 has 2 rows and should have 1; restore a copy"),
        ([ROWS[0], ROWS[1]], (2, 3), 2, "the log of campaign 7 has rows that cannot be, it is damaged; restore a copy"),
        ([ROWS[0], ROWS[1]], (1, 3), 2, "the log of campaign 7 has rows that cannot be, it is damaged; restore a copy"),
        ([ROWS[0], ROWS[1]], (0, 2), 2, "the log of campaign 7 has rows that cannot be, it is damaged; restore a copy"),
        ([[9, 1, 0, 2, 0]], (1, 1), 1, "the log of campaign 7 has rows that cannot be, it is damaged; restore a copy"),
    ],
)
def test_a_log_has_all_its_rows_from_the_first_to_the_last(rows, ends, last_vote, words):
    run = Rows(**{"min(seq)": [(ends[0],)], "max(seq)": [(ends[1],)], "seq > :after": rows})
    if words is None:
        votes, intact = content.load_votes(run, 7, last_vote, 4)
        assert (encode(votes), intact) == (encode(arrays(*rows)), True)
        assert all(values["campaign"] == 7 for _, values in run.asked)
        return
    with pytest.raises(InputError) as caught:
        content.load_votes(run, 7, last_vote, 4)
    assert str(caught.value) == words


def test_the_log_goes_on_where_the_pieces_end(monkeypatch):
    monkeypatch.setattr(codec, "PIECE", 2)
    rest = [[2, 1, 0, 1, 0]]
    answers = {"min(seq)": [(1,)], "max(seq)": [(5,)], "seq > :after": rest}
    for pieces, intact in ((kept(7, 2), True), ([*kept(7, 2), (6, 1, "text is no piece", "x")], False)):
        run = Rows(snapshot=pieces, **answers)
        votes, whole = content.load_votes(run, 7, 5, 3)
        assert (len(votes), whole) == (5, intact)
        assert votes.left.tolist() == [0, 1, 0, 1, 2]
        assert [values["after"] for sql, values in run.asked if "after" in values] == [4]


def test_thousands_of_rows_are_told_with_commas():
    run = Rows(**{"seq > :after": [ROWS[0]] * 1234})
    with pytest.raises(InputError, match=r"^the log of campaign 7 has 1,234 rows and should have 5,678; restore"):
        content.load_votes(run, 7, 5678, 4)


def test_cells_of_json_are_read_and_others_left():
    row = cells(changed(GOOD[5], options=json.dumps({"ties": True})))
    (campaign,) = content.campaigns_of(Rows(campaign=[row]))
    assert campaign.options == {"ties": True}
    assert content._json(b"[1]") == [1]
    assert content._json([1]) == [1]
    assert content._json(None) is None
    with pytest.raises(ValueError, match="argument"):
        content._read(Item, [1, 2])
