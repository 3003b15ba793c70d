"""Rankings: lists checked once, what they say of items they do not list, and the files of survey tools."""

import io
import itertools
import json
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from podium import Comparisons, Rankings, read_comparisons, read_rankings
from podium.data.files import read_votes
from podium.errors import DataWarning, InputError

ITEMS = ["tea", "milk", "cola", "mate, cold", 'say "hi"', "a > b"]


@st.composite
def lists(draw, ties=True):
    found = []
    for _ in range(draw(st.integers(1, 8))):
        order = list(draw(st.permutations(ITEMS)))[: draw(st.integers(1, len(ITEMS)))]
        entry = []
        for item in order:
            if ties and entry and draw(st.integers(0, 3)) == 0:
                entry[-1] = [*(entry[-1] if isinstance(entry[-1], list) else [entry[-1]]), item]
            else:
                entry.append(item)
        found.append(entry)
    return found


def places(entry):
    """(place, item) of a list, items that share a place with the same number."""
    return [
        (k, item) for k, place in enumerate(entry) for item in (place if isinstance(place, list) else [place])
    ]  # fmt: skip


def ordered_pairs(entry, everything=()):
    """All (better, worse) pairs that one list says, and its ties, by a plain loop."""
    listed = places(entry)
    wins = {(a, b) for k, a in listed for m, b in listed if k < m}
    ties = {frozenset((a, b)) for k, a in listed for m, b in listed if k == m and a != b}
    unlisted = [item for item in everything if item not in {item for _, item in listed}]
    return wins | {(a, b) for _, a in listed for b in unlisted}, ties


@settings(deadline=None, max_examples=60)
@given(lists(), st.sampled_from(["below", "unknown"]))
def test_pairs_are_those_of_a_plain_loop(entries, unranked):
    try:
        r = Rankings.from_lists(entries, items=ITEMS, unranked=unranked)
    except InputError:
        assert all(len(places(entry)) < 2 for entry in entries)  # nothing is said then
        assert unranked == "unknown"
        return
    wins, ties = {}, {}
    for entry in entries:
        better, level = ordered_pairs(entry, ITEMS if unranked == "below" else ())
        for pair in better:
            wins[pair] = wins.get(pair, 0) + 1
        for pair in level:
            ties[pair] = ties.get(pair, 0) + 1
    p = r.pairs
    found = {(ITEMS[i], ITEMS[j]): w for i, j, w in zip(p.left, p.right, p.left_wins, strict=True) if w}
    found |= {(ITEMS[j], ITEMS[i]): w for i, j, w in zip(p.left, p.right, p.right_wins, strict=True) if w}
    assert found == wins
    level = {frozenset((ITEMS[i], ITEMS[j])): w for i, j, w in zip(p.left, p.right, p.ties, strict=True) if w}
    assert level == ties
    votes = Comparisons.from_rankings(r)
    assert votes.group_is == "ranking"
    assert len(votes) == sum(wins.values()) + sum(ties.values())
    assert_array_equal(np.stack(votes.record()), np.stack(r.record()))


@settings(deadline=None, max_examples=40)
@given(lists())
def test_lists_go_in_and_come_out(entries):
    alone = [[place[0] if isinstance(place, list) and len(place) == 1 else place for place in e] for e in entries]
    assert Rankings.from_lists(entries, items=ITEMS, unranked="below").to_lists() == alone


def quoted(item):
    return '"' + item.replace('"', '""') + '"'


WAYS = {
    "json": lambda e: (json.dumps([{"ranking": entry} for entry in e]), {"format": "json"}),
    "text": lambda e: (
        pl.DataFrame({"ranking": [" > ".join(quoted(item) for item in entry) for entry in e]}).write_csv(),
        {},
    ),
    "json in csv": lambda e: (pl.DataFrame({"ranking": [json.dumps(entry) for entry in e]}).write_csv(), {}),
    "places": lambda e: (
        pl.DataFrame({f"Rank {k + 1}": [dict(enumerate(entry)).get(k) for entry in e] for k in range(6)}).write_csv(),
        {},
    ),
    "ranks": lambda e: (
        pl.DataFrame({i: [{b: a + 1 for a, b in places(entry)}.get(i) for entry in e] for i in ITEMS}).write_csv(),
        {"rank_columns": ITEMS},
    ),
    "long": lambda e: (
        pl.DataFrame(
            [(r, item, k + 1) for r, entry in enumerate(e) for k, item in reversed(places(entry))],
            schema=["respondent", "item", "rank"],
            orient="row",
        ).write_csv(),
        {},
    ),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*stands right before:podium.errors.DataWarning")  # by chance they may
@pytest.mark.parametrize("way", WAYS)
def test_every_form_of_file_says_the_same(way):
    @settings(deadline=None, max_examples=20)
    @given(lists(ties=way in ("json in csv", "ranks", "long")))
    def holds(entries):
        entries = [*entries, ITEMS]
        text, options = WAYS[way](entries)
        found = read_rankings(io.BytesIO(text.encode()), unranked="below", **options)
        expected = Rankings.from_lists(entries, items=found.items, unranked="below")
        order = [
            [sorted(place, key=str) if isinstance(place, list) else place for place in e] for e in found.to_lists()
        ]
        wanted = [
            [sorted(place, key=str) if isinstance(place, list) else place for place in e] for e in expected.to_lists()
        ]
        assert order == wanted

    holds()


LONG = "respondent,item,rank\n"
WIDE = "id,Rank 1,Rank 2,Rank 3\n"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            LONG + "ann,tea,1\nbob,tea,1\nann,tea,2\n",
            {},
            r"row 3: 'tea' is ranked twice by 'ann'; remove one, or tell .* apart by group=",
        ),
        (LONG + "ann,tea,1\nann,milk,2\nann,tea,2\nann,milk,1\n", {}, r"row 3: 'tea' is ranked twice by 'ann'"),
        (LONG + "ann,tea,1\nann,milk,3\n", {}, r"row 2: rank 3 comes after rank 1, so ranks have a gap"),
        (LONG + "ann,tea,2\nann,milk,3\n", {}, r"row 1: rank 2 comes first, so ranks have a gap"),
        (LONG + "ann,tea,best\n", {}, r"row 1: 'rank' is 'best', which is no rank; ranks are whole numbers from 1"),
        (LONG + "ann,tea,1.5\n", {}, r"row 1: 'tea' has rank 1.5; ranks are whole numbers"),
        (LONG + "ann,tea,0\n", {}, r"row 1: 'tea' has rank 0; ranks are whole numbers"),
        (LONG + "ann,,1\n", {}, r"row 1: column 'item' is empty"),
        ("item,rank\ntea,1\n", {"item": "item"}, r"needs a column of the respondent; .* name it by judge="),
        ("who,item,rank\nann,tea,1\n", {"item": "item", "judge": "who", "rank": "place"}, r"no column 'place'"),
        (WIDE + "1,tea,,milk\n", {}, r"row 1: 'Rank 2' is empty and 'Rank 3' is not; fill the places from the first"),
        (WIDE + "1,tea,milk,\n2,tea,milk,tea\n", {}, r"row 2: 'tea' is ranked twice, in 'Rank 1' and 'Rank 3'"),
        ("Rank 1,Rank 3\ntea,milk\n", {}, r"columns 'Rank 1', 'Rank 3' .* place 2 is not among them"),
        ("tea,milk\n1,2\n1,3\n", {"rank_columns": ["tea", "milk"]}, r"row 2: rank 3 comes after rank 1"),
        ("tea,milk\n1,2\nx,1\n", {"rank_columns": ["tea", "milk"]}, r"row 2: 'tea' is 'x', which is no rank"),
        ("tea,milk\n1,2\n-1,1\n", {"rank_columns": ["tea", "milk"]}, r"row 2: 'tea' has rank -1"),
        ("tea,milk\n1,2\n", {"rank_columns": ["tea", "cola"]}, r"no column 'cola' \(given as rank_columns="),
        ("tea,milk\n1,2\n", {"rank_columns": ["tea"]}, r"names one item, 'tea'"),
        ("ranking\na > b\na = b > c\n", {}, r"row 2: 'a = b' may be one item or two that share a place"),
        ("ranking\na > b > a\n", {}, r"row 1: 'a' appears twice in the ranking"),
        ("winner,loser\na,b\n", {}, r"unranked='below' is about rankings, and these are votes on pairs"),
        (LONG + "ann,tea,1\n", {"count": "rank"}, r"column 'rank' is given as count= but already"),
        (WIDE + "1,tea,,\n2,,,\n", {}, r"only one item, 'tea'; a ranking needs at least two"),
        (WIDE + "1,,,\n", {}, r"no items; a ranking needs at least two"),
    ],
)
def test_what_is_wrong_with_a_survey_is_named_with_its_row(text, options, message):
    with pytest.raises(InputError, match=message) as caught:
        read_rankings(io.BytesIO(text.encode()), unranked="below", **options)
    assert "\n" not in str(caught.value)


def test_short_lists_need_a_word_about_the_others():
    with pytest.raises(InputError) as caught:
        Rankings.from_lists([["a", "b", "c"], ["a", "c"]])
    assert str(caught.value) == (
        "1 ranking of 2 lists fewer items than were on offer (the first of them 2 of 3), so say what holds of the "
        "others: "
        "unranked='below' if they could have been listed and were passed over, as in a top 5; "
        "unranked='unknown' if nothing is known of them, as when each was asked about some items only"
    )
    for make in (Comparisons.from_rankings, lambda each: Comparisons.from_frame({"ranking": each})):
        with pytest.raises(InputError, match="so say what holds of the others"):
            make([["a", "b", "c"], ["a", "c"]])
    assert len(Comparisons.from_rankings([["a", "b", "c"], ["a", "c"]], unranked="below")) == 6
    assert len(Comparisons.from_rankings([["a", "b", "c"], ["a", "c"]], unranked="unknown")) == 4
    with pytest.raises(InputError, match="unranked='above' is not known; use 'below' or 'unknown'"):
        Rankings.from_lists([["a", "b"]], unranked="above")


def test_respondents_who_rank_nothing_are_left_out_and_counted():
    text = WIDE + "1,tea,milk,\n2,,,\n3,milk,tea,\n4,,,\n"
    with pytest.warns(DataWarning, match="2 rankings without any item, left out"):
        rankings = read_rankings(io.BytesIO(text.encode()), unranked="below")
    assert len(rankings) == 2


def test_what_was_on_offer_may_differ_from_list_to_list():
    r = Rankings.from_lists([["a"], ["c", "b"]], offered=[["a", "b"], ["b", "c", "d"]], unranked="below")
    assert r.rest_sizes.tolist() == [1, 1]
    wins = {(r.items[i], r.items[j]) for i, j in zip(*Comparisons.from_rankings(r).vote_rows()[:2], strict=True)}
    assert wins == {("a", "b"), ("c", "b"), ("c", "d"), ("b", "d")}
    assert Rankings.from_lists([["a", "b"], ["c"]], offered=[["a", "b"], ["c"]]).unranked is None
    with pytest.raises(InputError, match="row 2: 'a' is listed and was not on offer"):
        Rankings.from_lists([["a"], ["a"]], offered=[["a", "b"], ["b"]], unranked="below")


def test_too_many_pairs_are_refused_before_they_are_made():
    r = Rankings.from_lists([[k] for k in range(5000)], unranked="below")
    with pytest.raises(
        InputError, match=r"make 2.5e\+07 pairs, k\(n − k\) pairs and more each, more than 2e\+07; rank"
    ):
        Comparisons.from_rankings(r)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rankings.from_lists([["a", "a"]]), "row 1: 'a' appears twice in the ranking"),
        (lambda: Rankings.from_lists([["a", ["b", "a"]]]), "row 1: 'a' appears twice in the ranking"),
        (lambda: Rankings.from_lists("ab"), "give a list of lists"),
        (lambda: Rankings.from_lists(Counter({("a", "b"): 3})), "rankings are a Counter, whose values would be lost"),
        (lambda: Comparisons.from_rankings({("a", "b"): 3}), "rankings are a dict, whose values would be lost"),
        (lambda: Rankings.from_lists(["ab"]), "row 1: 'ab' is not a list of items"),
        (lambda: Rankings.from_lists([["a", None]]), "row 1: item is missing"),
        (lambda: Rankings.from_lists([["a", "b"], [], ["b", ["a", float("nan")]]]), r"row 3: item is missing \(nan\)"),
        (lambda: Rankings.from_lists([["a"], ["b"]], offered=[["a"], ["b", " "]]), "row 2 of offered: item is missing"),
        (lambda: Rankings.from_lists([["a", "b"], ["b", (["a"],)]]), r"row 2: item is \(\['a'\],\), a tuple"),
        (lambda: Rankings.from_lists([]), "no items; a ranking needs at least two"),
        (lambda: Rankings.from_lists([[], []], items="ab"), "no ranking lists an item"),
        (lambda: Rankings.from_lists([["a", "z"]], items="ab"), "'z' is listed and is not among the items"),
        (lambda: Rankings.from_lists([["a", "b"]], weight=[-1.0]), "row 1: weight is -1; it must be"),
        (lambda: Rankings.from_lists([["a", "b"]], weight=[0.0]), "no ranking lists an item"),
        (lambda: Rankings.from_lists([["a", "b"]], judge=["x", "y"]), "judge has 2 rows, the rankings 1"),
        (lambda: Rankings.from_lists([["a", "b"]], offered=[]), "offered has 0 rows, the rankings 1"),
        (lambda: Rankings("ab", np.array([0, 2]), np.array([0, 2])), "item: code 2 is outside 0..1"),
        (lambda: Rankings("ab", np.array([0, 1]), np.array([0, 3])), "start: give where each ranking begins"),
        (lambda: Rankings("ab", np.array([0, 0]), np.array([0, 2])), "row 1: 'a' appears twice"),
        (lambda: Rankings("ab", np.array([0, 1]), np.array([0, 2]), tied=[1, 0]), "tied: give 1 where"),
        (lambda: Rankings("ab", np.array([0]), np.array([0, 1]), rest=np.array([1])), "rest and rest_start come"),
    ],
)
def test_bad_rankings_are_refused_in_a_sentence(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_rankings_can_be_taken_apart():
    r = Rankings.from_lists([["a", "b"], ["b", ["c", "a"]], ["c"]], unranked="below", weight=[1, 2, 3], judge="xyx")
    some = r[np.array([2, 1])]
    assert some.to_lists() == [["c"], ["b", ["c", "a"]]]
    assert some.weight.tolist() == [3, 2]
    assert [some.judges[code] for code in some.judge] == ["x", "y"]
    assert r.to_frame().rows()[2:5] == [(2, "y", "b", 1, 2.0), (2, "y", "c", 2, 2.0), (2, "y", "a", 2, 2.0)]


def test_a_file_is_divided_by_a_column_and_counts_are_copies(tmp_path):
    (tmp_path / "s.csv").write_text("region,Rank 1,Rank 2,count\nn,tea,milk,2\ns,cola,tea,1\nn,milk,,1\n")
    parts = read_votes(tmp_path / "s.csv", by="region", unranked="below")
    assert parts["n"].to_lists() == [["tea", "milk"], ["tea", "milk"], ["milk"]]
    assert set(parts["s"].items) == {"tea", "milk", "cola"}, "all were on offer to each part"
    assert read_votes(tmp_path / "s.csv", by="region", unranked="unknown")["s"].items == ("cola", "tea")
    assert len(read_comparisons(tmp_path / "s.csv", unranked="unknown")) == 3


@pytest.mark.parametrize("jobs", [1, 2])
def test_rankings_of_several_files_are_those_of_one(tmp_path, jobs):
    rows = ["ann,tea,1", "bob,cola,1", "ann,milk,2", "bob,tea,2", "eve,milk,1"]
    (tmp_path / "1.csv").write_text(LONG + "\n".join(rows[:3]) + "\n")
    (tmp_path / "2.csv").write_text(LONG + "\n".join(rows[3:]) + "\n")
    found = read_rankings(tmp_path, unranked="below", jobs=jobs)
    assert found.to_lists() == [["tea", "milk"], ["cola", "tea"], ["milk"]]
    assert found.judges == ("ann", "bob", "eve")
    (tmp_path / "2.csv").write_text(LONG + "bob,tea,2\nbob,tea,3\n")
    with pytest.raises(InputError, match=r"2.csv, row 2: 'tea' is ranked twice by 'bob'"):
        read_rankings(tmp_path, unranked="below", jobs=jobs)


@pytest.mark.parametrize(
    "names",
    [
        ["Rank 1", "Rank 2"],
        ["choice_1", "choice_2"],
        ["1st choice", "2nd choice"],
        ["Q5 [Rank 1]", "Q5 [Rank 2]"],
        ["PREFERENCE1", "PREFERENCE2"],
        ["Top 2", "Top 1"],
    ],
)
def test_places_are_known_by_their_names(names):
    best_first = sorted(names)
    cells = dict(zip(best_first, ("tea", "milk"), strict=True))
    text = ",".join(names) + "\n" + ",".join(cells[name] for name in names) + "\n"
    assert read_rankings(io.BytesIO(text.encode()), unranked="below").to_lists() == [["tea", "milk"]]


def test_ties_survive_json_lines_and_a_group_makes_two_rankings_of_one():
    lines = b'{"ranking": ["a", ["b", "c"]]}\n{"ranking": ["b", "a", "c"]}\n'
    assert read_rankings(io.BytesIO(lines), format="jsonl").to_lists() == [["a", ["b", "c"]], ["b", "a", "c"]]
    text = b"respondent,question,item,rank\nann,q1,tea,1\nann,q1,milk,2\nann,q2,tea,2\nann,q2,milk,1\n"
    found = read_rankings(io.BytesIO(text), group="question")
    assert found.to_lists() == [["tea", "milk"], ["milk", "tea"]]
    assert found.groups == ("q1", "q2")


def test_added_rankings_keep_what_was_on_offer_to_each():
    one = Rankings.from_lists([["a", "b"], ["b"]], unranked="below", judge=["x", "y"])
    other = Rankings.from_lists([["c", ["a", "d"]], ["d"]], unranked="below", judge=["y", "z"], weight=[2.0, 0.5])
    both = one + other
    assert both.items == ("a", "b", "c", "d")
    assert both.to_lists() == one.to_lists() + other.to_lists()
    assert both.weights.tolist() == [1.0, 1.0, 2.0, 0.5]
    assert [both.judges[k] for k in both.judge] == ["x", "y", "y", "z"]
    below = [sorted(both.rest[a:b].tolist()) for a, b in itertools.pairwise(both.rest_start)]
    assert below == [[], [0], [], [0, 2]]
    wins = {}
    for part in (one, other, both):
        won, lost, tied = part.record()
        for item, *record in zip(part.items, won, lost, tied, strict=True):
            wins.setdefault(item, []).append(record)
    for records in wins.values():
        assert np.sum(records[:-1], axis=0).tolist() == records[-1]


def test_the_sum_of_parts_is_the_whole():
    lists = [["a", "b"], ["c"], ["b", "a", "c"], ["c", "b"]]
    whole = Rankings.from_lists(lists, unranked="below")
    parts = [whole.take([0, 1]), whole.take([2, 3])]
    again = sum(parts)
    assert again.everyone
    assert again.to_lists() == whole.to_lists()
    apart = [Rankings.from_lists(some, unranked="below").with_items(whole.items) for some in (lists[:2], lists[2:])]
    assert np.array_equal(np.array((apart[0] + apart[1]).record()), np.array(whole.record()))


def test_complete_rankings_of_other_items_say_nothing_of_each_other():
    both = Rankings.from_lists([["a", "b"]]) + Rankings.from_lists([["c", "d"]])
    assert both.unranked == "unknown"
    assert np.array(both.record())[:2].tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]]
    same = Rankings.from_lists([["a", "b"]]) + Rankings.from_lists([["b", "a"]])
    assert same.unranked is None
    mixed = Rankings.from_lists([["a", "b"]], items="abc", unranked="unknown") + Rankings.from_lists(
        [["c"]], items="abc", unranked="below"
    )
    assert mixed.rest_sizes.tolist() == [0, 2]


def test_what_cannot_be_added_is_said():
    plain, judged = Rankings.from_lists([["a", "b"]]), Rankings.from_lists([["a", "b"]], judge=["x"])
    with pytest.raises(InputError, match="some rankings name a judge and others do not"):
        plain + judged
    with pytest.raises(InputError, match="'b' is ranked and is not among the items"):
        plain.with_items(["a", "c"])
    with pytest.raises(TypeError):
        plain + 1


@pytest.mark.parametrize("offered", [[np.array("a"), ["a", "b"]], np.array(["a", 7], dtype=object)[0:1].reshape(())])
def test_an_array_without_dimensions_is_no_list(offered):
    with pytest.raises(InputError, match=r"is not a list of items|give a list of lists of items"):
        Rankings.from_lists([["a", "b"], ["b", "a"]], offered=offered)


def said(rankings):
    """Which item each ranking puts above which."""
    frame = Comparisons.from_rankings(rankings).to_frame()
    return sorted(frame.select("winner", "loser").rows())


def test_what_was_on_offer_to_each_ranking_stays_with_it():
    offered = [["a", "b"], ["a", "b", "c"]]
    ballots = Rankings.from_lists([["a"], ["b", "c"]], offered=offered, unranked="below")
    assert said(ballots) == [("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")]
    assert said(ballots.take([1])) == [("b", "a"), ("b", "c"), ("c", "a")]
    assert ballots.take([1, 0]).rest_sizes.tolist() == [1, 1]
    assert said(ballots[0, ...]) == [("a", "b")]
    assert said(ballots.with_items(["c", "d", "b", "a"])) == said(ballots)
    assert ballots.shape == (2,)


def test_rankings_that_leave_the_rest_open_say_nothing_of_it_when_added_to_whole_ones():
    some = Rankings.from_lists([["a", "b"]], items=["a", "b", "c"], unranked="unknown")
    whole = Rankings.from_lists([["c", "a", "b"]])
    for both in (some + whole, whole + some):
        assert said(both) == [("a", "b"), ("a", "b"), ("c", "a"), ("c", "b")]
    with pytest.raises(TypeError):
        _ = some + "ab"


def test_rows_of_one_ranking_with_two_weights_are_refused():
    text = "respondent,item,rank,weight\n1,a,1,2\n1,b,2,2\n2,a,1,1\n2,b,2,3\n"
    alike = "is another than in the rows of '2' before; make them alike, or tell several rankings of one apart by group"
    with pytest.raises(InputError, match=f"row 4: 'weight' {alike}"):
        read_rankings(io.StringIO(text))
    with pytest.raises(InputError, match=f"row 4: 'Panel / room' {alike}"):
        read_votes(io.StringIO(text.replace("weight", "Panel / room")), by="Panel / room")
    grouped = "respondent,item,rank,weight,group\n1,a,1,2,x\n1,b,2,3,x\n"
    with pytest.raises(InputError, match=r"'weight' is another than in the rows of '1' before; make them alike$"):
        read_rankings(io.StringIO(grouped))


# ---- by hand --------------------------------------------------------------------------------------------------------


def small(**more):
    """a before b and c, who share a place; c before a; b alone."""
    return Rankings.from_lists([["a", ["b", "c"]], ["c", "a"], ["b"]], items="abcd", **({"unranked": "below"} | more))


def test_a_frame_has_the_places_of_each_ranking():
    frame = small(weight=[1.0, 2.0, 0.5], judge=["x", "y", "x"], group=[7, 8, 7]).to_frame()
    assert frame.to_dict(as_series=False) == {
        "ranking": [1, 1, 1, 2, 2, 3], "judge": ["x", "x", "x", "y", "y", "x"], "group": [7, 7, 7, 8, 8, 7],
        "item": ["a", "b", "c", "c", "a", "b"], "rank": [1, 2, 2, 1, 2, 1],
        "weight": [1.0, 1.0, 1.0, 2.0, 2.0, 0.5],
    }  # fmt: skip
    plain = Rankings.from_lists([["a", "b", "c"], ["c", "a", "b"]]).to_frame()
    assert plain.columns == ["ranking", "item", "rank"]
    assert plain["rank"].to_list() == [1, 2, 3, 1, 2, 3]


@pytest.mark.parametrize("kind", ["below", "unknown", "offered"])
def test_wins_losses_and_ties_are_those_of_all_pairs(kind):
    lists = [["a", ["b", "c"]], ["c", "a"], ["b"]]
    rest = {"below": ["d", "bd", "acd"], "unknown": ["", "", ""], "offered": ["", "b", "c"]}[kind]
    more = {"unranked": "unknown" if kind == "unknown" else "below"}
    if kind == "offered":
        more["offered"] = ["abc", "abc", "bc"]
    rankings = small(weight=[1.0, 2.0, 4.0], **(more | ({"offered": [list(o) for o in more["offered"]]} if "offered" in more else {})))  # fmt: skip  # noqa: E501
    wins, losses, ties = np.zeros(4), np.zeros(4), np.zeros(4)
    for ranking, under, weight in zip(lists, rest, (1.0, 2.0, 4.0), strict=True):
        places = [place if isinstance(place, list) else [place] for place in ranking] + ([list(under)] if under else [])
        for k, place in enumerate(places):
            for one in place:
                for later in places[k + 1 :]:
                    for other in later:
                        wins["abcd".index(one)] += weight
                        losses["abcd".index(other)] += weight
                if k < len(ranking):
                    ties["abcd".index(one)] += weight * (len(place) - 1)
    for found, expected in zip(rankings.record(), (wins, losses, ties), strict=True):
        assert found.tolist() == expected.tolist()
    assert rankings.rest_sizes.tolist() == [len(under) for under in rest]
    assert rankings._written_rest().tolist() == ["abcd".index(item) for under in rest for item in under]
    assert rankings.everyone == (kind == "below")


@pytest.mark.parametrize(("most", "held"), [(8, True), (7, False)])
def test_pairs_are_made_up_to_so_many(most, held, monkeypatch):
    """k(k − 1)/2 among the listed and k(n − k) with the others: 3 + 3·1, 1 + 2·2, 0 + 1·3, less the pair tied."""
    monkeypatch.setattr("podium.data.rankings.MAX_PAIRS", most + 6)
    rankings = small()
    if held:
        assert len(rankings.pair_columns()["left"]) == 14
    else:
        with pytest.raises(InputError, match=r"the 3 rankings make 14 pairs, k\(n − k\) pairs and more each"):
            rankings.pair_columns()


def test_what_lies_below_is_written_out_up_to_so_much(monkeypatch):
    one, other = small(), Rankings.from_lists([["e"]], items="ae", unranked="below")
    for most, held in ((7, True), (6, False)):  # 1 + 2 + 3 items below, and one
        monkeypatch.setattr("podium.data.rankings.MAX_BELOW", most)
        if held:
            both = one + other
            assert both.rest_sizes.tolist() == [1, 2, 3, 1]
            assert both.items == ("a", "b", "c", "d", "e")
        else:
            with pytest.raises(InputError, match="and 7 of these lie below those listed, more than 6"):
                _ = one + other


def test_some_of_very_many_rankings_tell_who_is_linked(monkeypatch):
    monkeypatch.setattr("podium.data.rankings.ENOUGH_RANKINGS", 4)
    circle = [["a", "b", "c"], ["c", "a", "b"], ["b", "c", "a"]]
    linked = Rankings.from_lists([each for each in circle for _ in range(4)])  # of which every third
    assert linked._linkage.is_strongly_connected
    assert "adjacency" not in vars(linked)
    few = Rankings.from_lists(circle * 2 + circle[:1])  # seven: fewer than twice four
    assert few._linkage is few.adjacency
    apart = Rankings.from_lists([["a", "b", "c"]] * 12)
    assert not apart._linkage.is_strongly_connected
    assert apart._linkage is apart.adjacency


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": [0, 2]}, "start: give where each ranking begins in `item`, from 0, and the end last"),
        ({"start": [1, 2, 3]}, "start: give where"), ({"start": [0, 3, 2, 3]}, "start: give where"),
        ({"start": []}, "start"), ({"item": [0, 1, 3]}, r"item: code 3 is outside 0\.\.2"),
        ({"item": [0, 0, 2]}, "row 1: 'a' appears twice in the ranking; remove one"),
        ({"tied": [1, 0, 0]}, "tied: give 1"), ({"tied": [0, 1, 1]}, "tied: give 1"), ({"tied": [0, 2, 0]}, "tied"),
        ({"tied": [0, 1]}, "tied"), ({"rest": [2]}, "rest and rest_start come together"),
        ({"rest_start": [0, 0, 0]}, "rest and rest_start come together"),
        ({"rest": [2], "rest_start": [0, 1]}, "rest_start is of 1 rankings, start of 2; they must match"),
        ({"rest": [1], "rest_start": [0, 1, 1]}, "row 1: 'b' appears twice"),
        ({"rest": [2], "rest_start": [0, 0, 1]}, "row 2: 'c' appears twice"),
        ({"rest": [3], "rest_start": [0, 1, 1]}, r"rest: code 3 is outside 0\.\.2"),
    ],
)  # fmt: skip
def test_codes_of_rankings_that_do_not_fit_are_refused(change, message):
    """a before b, and c alone."""
    columns = {"item": [0, 1, 2], "start": [0, 2, 3], "unranked": "below"} | change
    columns = {name: np.array(value, dtype=np.int64) if isinstance(value, list) else value for name, value in columns.items()}  # fmt: skip  # noqa: E501
    with pytest.raises(InputError, match=message):
        Rankings("abc", columns.pop("item"), columns.pop("start"), **columns)


def test_codes_of_rankings_that_fit_are_taken():
    good = {
        "rest": np.array([2, 0]),
        "rest_start": np.array([0, 1, 2]),
        "unranked": "below",
        "tied": np.array([0, 1, 0]),
    }
    made = Rankings("abc", np.array([0, 1, 2]), np.array([0, 2, 3]), **good)
    assert made.to_lists() == [[["a", "b"]], ["c"]]
    assert made.rest_sizes.tolist() == [1, 1]


def test_rankings_of_more_items_than_there_were_say_nothing_of_the_new_ones():
    whole = Rankings.from_lists([["a", "b"], ["b", "a"]])
    more = whole.with_items("bca")
    assert (more.unranked, more.to_lists()) == ("unknown", [["a", "b"], ["b", "a"]])
    assert whole.with_items("ba").unranked is None
    offered = Rankings.from_lists([["a"], ["b"]], offered=[["a", "b"], ["b", "c"]], unranked="below")
    moved = offered.with_items("cdba")
    assert [moved.items[code] for code in moved.rest] == ["b", "c"]
    assert [moved.items[code] for code in moved.item] == ["a", "b"]
    with pytest.raises(InputError, match="'b' is ranked and is not among the items; add it, or correct it"):
        whole.with_items("ac")


def test_what_was_on_offer_is_let_go_where_nothing_is_known_of_it():
    offered = [["a", "b", "c"], ["b", "a"]]
    unknown = Rankings.from_lists([["a", "b"], ["b", "a"]], offered=offered, unranked="unknown")
    assert (unknown.rest, unknown.rest_start) == (None, None)
    assert unknown.rest_sizes.tolist() == [0, 0]
    whole = Rankings.from_lists([["a", "b"], ["c", "b"]], offered=[["a", "b"], ["b", "c"]])
    assert (whole.unranked, whole.rest, whole.rest_start) == (None, None, None)
    below = Rankings.from_lists([["a", "b"], ["b", "a"]], offered=offered, unranked="below")
    assert (below.rest.tolist(), below.rest_start.tolist()) == ([2], [0, 1, 1])
    codes = {"rest": np.array([2]), "rest_start": np.array([0, 1])}
    assert Rankings("abc", np.array([0, 1]), np.array([0, 2]), unranked="unknown", **codes).rest is None


def test_items_that_share_the_first_place_are_both_first_in_the_frame():
    frame = Rankings.from_lists([[["a", "b"], "c"], [["c", "b", "a"]]]).to_frame()
    assert frame["rank"].to_list() == [1, 1, 3, 1, 1, 1]
    assert frame["ranking"].to_list() == [1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize("other", [1, 0.0, "0", None])
def test_only_the_zero_of_a_sum_is_added_from_the_left(other):
    rankings = Rankings.from_lists([["a", "b"]])
    assert 0 + rankings is rankings
    with pytest.raises(TypeError):
        _ = other + rankings


def test_rankings_are_taken_by_number_mask_and_slice_and_others_refused():
    r = Rankings.from_lists([["a", "b"], ["b", "a"], ["a", "b"]])
    for rows, lists in (
        (slice(1, 3), [["b", "a"], ["a", "b"]]), ([-2], [["b", "a"]]), ([False, True, True], [["b", "a"], ["a", "b"]]),
        (np.array([1, 1]), [["b", "a"], ["b", "a"]]),
    ):  # fmt: skip
        assert r.take(rows).to_lists() == lists
    for rows, said in (([3], "there is no 3; numbers go from 0 to 2"), ([True], "a mask of shape"), ([0.5], "whole")):
        with pytest.raises(InputError, match=said):
            r.take(rows)
    for rows in ([], slice(0, 0), [False] * 3):
        with pytest.raises(InputError, match="no rankings: there is nothing to rank"):
            r.take(rows)
    assert r[1].to_lists() == [["b", "a"]]
    assert r[1, ...].to_lists() == [["b", "a"]]
    assert r[1:].to_lists() == [["b", "a"], ["a", "b"]]


@pytest.mark.parametrize("scale", [1e-12, 0.1, 1e12])
def test_the_unit_of_weights_does_not_matter(scale):
    """What rounding leaves of sums of weights is no pair; what weighs little beside others is one."""
    lists = [["a"], ["a", "b"], ["b", "a"], ["c"], ["a", "c", "b"]] * 3
    weight = np.array([0.1, 0.2, 0.3, 0.7, 0.9] * 3)
    plain = Rankings.from_lists(lists, items="abcd", unranked="below", weight=weight)
    scaled = Rankings.from_lists(lists, items="abcd", unranked="below", weight=scale * weight)
    for one, other in zip(plain.pairs, scaled.pairs, strict=True):
        np.testing.assert_allclose(scale * one if one.dtype.kind == "f" else one, other, rtol=1e-9)
    wins = {}
    for entry, each in zip(lists, scale * weight, strict=True):
        for pair in ordered_pairs(entry, "abcd")[0]:
            wins[pair] = wins.get(pair, 0.0) + each
    p = scaled.pairs
    found = {("abcd"[i], "abcd"[j]): w for i, j, w in zip(p.left, p.right, p.left_wins, strict=True) if w}
    found |= {("abcd"[j], "abcd"[i]): w for i, j, w in zip(p.left, p.right, p.right_wins, strict=True) if w}
    assert found == pytest.approx(wins)
    light = Rankings.from_lists([["a", "b"], ["b", "a"]], unranked="below", weight=[1.0, 1e-6])
    assert light.pairs.right_wins.tolist() == [pytest.approx(1e-6)]


def test_codes_are_held_as_the_kernels_take_them():
    given = {
        "tied": np.array([0, 1, 0], np.int64), "weight": [1, 2], "rest": np.array([2, 0], np.int64),
        "rest_start": np.array([0, 1, 2], np.int32), "judge": np.array([1, 0], np.int64), "judges": ["x", "y"],
        "group": np.array([0, 0], np.int64), "groups": ["g"],
    }  # fmt: skip
    made = Rankings("abc", np.array([0, 1, 2], np.int64), np.array([0, 2, 3], np.int32), unranked="below", **given)
    kinds = {name: getattr(made, name).dtype for name in ("item", "start", "tied", "weight", "rest", "rest_start")}
    assert kinds == {"item": np.int32, "start": np.int64, "tied": np.uint8, "weight": np.float64, "rest": np.int32,
                     "rest_start": np.int64}  # fmt: skip
    assert (made.judges, made.groups, made.judge.dtype) == (("x", "y"), ("g",), np.int32)
    item, start, tied, weight, rest, begins = made.columns()
    assert (item.tolist(), start.tolist(), tied.tolist()) == ([0, 1, 2], [0, 2, 3], [0, 1, 0])
    assert (weight.tolist(), rest.tolist(), begins.tolist()) == ([1.0, 2.0], [2, 0], [0, 1, 2])
    plain = Rankings("ab", np.array([0, 1]), np.array([0, 2]))
    assert [column.tolist() for column in plain.columns()] == [[0, 1], [0, 2], [], [1.0], [], [0, 0]]
    for change, said in (({"judge": [2, 0]}, "row 1: judge 2 is outside the 2 places"), ({"weight": [1]}, "weight"),
                         ({"judges": ["x", "x"]}, "judges: 'x' appears twice")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            Rankings("abc", np.array([0, 1, 2]), np.array([0, 2, 3]), unranked="below", **given | change)
