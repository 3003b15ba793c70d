"""Frames of every form become the same codes; whatever is wrong is named with its row."""

import itertools
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from podium.data.comparisons import Comparisons
from podium.data.rankings import Rankings
from podium.data.tables.forms import Collector, as_polars, read_frame
from podium.errors import DataWarning, InputError

items = st.sampled_from(["tea", "coffee", "mate", "a label longer than a view holds"])
votes = st.lists(
    st.tuples(items, items, st.sampled_from([1, 0, 0.5])).filter(lambda v: v[0] != v[1]), min_size=1, max_size=30
)
MEANING = {1: 1, 0: -1, 0.5: 0}


def rows(found):
    """Each row as (left, right, outcome) in the user's labels."""
    names = found["items"]
    outcome = found.get("outcome", np.ones(len(found["left"]), int))
    return [(names[a], names[b], int(c)) for a, b, c in zip(found["left"], found["right"], outcome, strict=True)]


def tally(found):
    """Votes of each kind, counted one by one."""
    counts = {}
    for row, count in zip(rows(found), found.get("count", np.ones(len(found["left"]), int)), strict=True):
        counts[row] = counts.get(row, 0) + int(count)
    return counts


# ---- forms --------------------------------------------------------------------------------------------------


def test_winner_and_loser_have_no_sides_and_no_outcome():
    found = read_frame({"winner": ["tea", "milk"], "loser": ["milk", "mate"]})
    assert found["items"] == ("tea", "milk", "mate")
    assert found["left"].dtype == found["right"].dtype == np.int32
    assert "outcome" not in found
    assert (found["sided"], found["ordered"]) == (False, True)


FORMS = {
    "numbers": {"outcome": [1, 0, 0.5]},
    "words": {"outcome": ["left", " RIGHT ", "Tie"]},
    "arena": {"winner": ["model_a", "model_b", "tie (bothbad)"]},
    "equals": {"outcome": ["left", "right", "="]},
    "letters": {"result": ["a", "b", "draw"]},
    "labels": {"winner": ["tea", "milk", "both"]},
    "flags": {"winner_model_a": [1, 0, 0], "winner_model_b": [0, 1, 0], "winner_tie": [0, 0, 1]},
    "true flags": {"winner_model_a": [True, False, False], "winner_model_b": [False, True, False]}
    | {"winner_tie": [False, False, True]},
    "margin": {"margin": [2.5, -0.1, 0.0]},
    "counts": {"left_wins": [1, 0, 0], "right_wins": [0, 1, 0], "ties": [0, 0, 1]},
    "counts by letter": {"wins_a": ["1", "0", "0"], "wins_b": ["0", "1", "0"], "ties": ["0", "0", "1"]},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("sides", [("left", "right"), ("model_a", "model_b"), ("A", "B")])
def test_every_form_says_the_same(form, sides):
    frame = {sides[0]: ["tea", "mate", "milk"], sides[1]: ["milk", "milk", "tea"], "turn": [1, 2, 3]} | FORMS[form]
    found = read_frame(frame)
    assert rows(found) == [("tea", "milk", 1), ("mate", "milk", -1), ("milk", "tea", 0)]
    assert found["sided"]
    assert found["outcome"].dtype == np.int8
    assert found["ordered"] == ("counts" not in form)


@given(votes)
def test_frames_of_every_kind_and_both_ways_to_keep_them_agree(cast):
    table = {name: [vote[k] for vote in cast] for k, name in enumerate(["left", "right", "outcome"])}
    expected = [(left, right, MEANING[outcome]) for left, right, outcome in cast]
    frame = pl.DataFrame(table, strict=False)
    kinds = [
        table,
        frame,
        frame.lazy(),
        pd.DataFrame(table),
        pa.table(table),
        frame.with_columns(pl.col("left").cast(pl.Categorical)),
    ]
    for kind in kinds:
        found = read_frame(kind)
        assert rows(found) == expected
        assert found["items"] == tuple(dict.fromkeys(item for vote in cast for item in vote[:2]))
        counted = read_frame(kind, keep="counts")
        assert tally(counted) == tally(found)
        assert len(set(rows(counted))) == len(counted["left"])
        assert counted["items"] == found["items"]
        assert not counted["ordered"]


def test_integer_labels_stay_integers():
    found = read_frame(pl.DataFrame({"winner": [7, 9], "loser": [9, 3]}))
    assert found["items"] == (7, 9, 3)
    assert {type(item) for item in found["items"]} == {int}


@pytest.mark.parametrize("kinds", [(pl.Int64, pl.Int8), (pl.UInt64, pl.UInt64), (pl.UInt8, pl.Int64)])
def test_integers_of_every_width_are_the_same_labels(kinds):
    big = 2**63 + 1 if kinds[0] == pl.UInt64 else 7
    frame = pl.DataFrame({"winner": pl.Series([big, 9], dtype=kinds[0]), "loser": pl.Series([9, 3], dtype=kinds[1])})
    found = read_frame(frame)
    assert found["items"] == (big, 9, 3)
    assert {type(item) for item in found["items"]} == {int}


@pytest.mark.parametrize("kinds", [(pl.Int64, pl.UInt64), (pl.UInt64, pl.Int32), (pl.Int64, pl.Float64)])
def test_integers_beside_other_numbers_stay_exact(kinds):
    big = 2**62
    left, right = [big, big + 1, 5], [3, 3, 1]
    frame = pl.DataFrame({"winner": pl.Series(left, dtype=pl.Int64), "loser": right})
    if kinds[0] == pl.UInt64:
        frame = frame.select(winner=frame["winner"].cast(kinds[0]), loser=frame["loser"].cast(kinds[1]))
    found = read_frame(frame.with_columns(pl.col("loser").cast(kinds[1])))
    assert found["items"] == (big, 3, big + 1, 5, 1)
    assert {type(item) for item in found["items"]} == {int}


def test_numbers_that_are_not_whole_are_labels_beside_integers():
    found = read_frame(pl.DataFrame({"winner": [1, 2], "loser": [2.5, 1.0]}))
    assert found["items"] == (1, 2.5, 2)
    with pytest.raises(InputError, match=r"row 2: column 'loser' is empty"):
        read_frame(pl.DataFrame({"winner": [1, 2], "loser": [2.5, None]}))
    with pytest.raises(InputError, match=r"row 1: column 'loser' is empty"):
        read_frame(pl.DataFrame({"winner": [1, 2], "loser": [float("nan"), 1.0]}))


def test_dates_and_decimals_are_labels_as_they_read():
    days = pl.Series(["2026-01-02", "2026-01-03"]).str.to_date()
    found = read_frame(pl.DataFrame({"winner": days, "loser": days.reverse()}))
    assert found["items"] == ("2026-01-02", "2026-01-03")


def test_pandas_without_pyarrow_is_taken_column_by_column(monkeypatch):
    frame = pd.DataFrame({"winner": ["tea", "milk"], "loser": ["milk", "mate"]}, dtype=object)
    monkeypatch.delattr(pd.DataFrame, "__arrow_c_stream__")
    assert rows(read_frame(frame)) == [("tea", "milk", 1), ("milk", "mate", 1)]


# ---- what merging keeps --------------------------------------------------------------------------------------


weights = st.one_of(st.just(0.0), st.floats(1e-3, 9))


@given(st.lists(st.tuples(st.booleans(), weights, st.floats(-9, 9)), min_size=1), st.integers(1, 5))
def test_merging_keeps_weights_their_squares_and_the_spread_of_margins(cast, size):
    frame = pl.DataFrame(
        {
            "left": ["tea"] * len(cast),
            "right": ["milk"] * len(cast),
            "outcome": [int(won) for won, _, _ in cast],
            "weight": [weight for _, weight, _ in cast],
            "margin": [margin for _, _, margin in cast],
        }
    )
    collector = Collector("counts")
    for start in range(0, len(cast), size):
        collector.add(frame.slice(start, size))
    kept = [vote for vote in cast if vote[1] > 0]
    if not kept:
        with pytest.raises(InputError, match="every row has weight 0"):
            collector.result()
        return
    found = collector.result()
    for k, outcome in enumerate(found["outcome"]):
        mine = np.array([(weight, margin) for won, weight, margin in kept if won == (outcome == 1)])
        mean = np.average(mine[:, 1], weights=mine[:, 0])
        assert found["count"][k] == len(mine)
        np.testing.assert_allclose(found["weight"][k], mine[:, 0].sum())
        np.testing.assert_allclose(found["weight_sq"][k], (mine[:, 0] ** 2).sum())
        np.testing.assert_allclose(found["margin"][k], mean, atol=1e-9)
        np.testing.assert_allclose(found["margin_ss"][k], mine[:, 0] @ (mine[:, 1] - mean) ** 2, atol=1e-9)


def test_judges_groups_and_covariates_keep_votes_apart():
    frame = {
        "winner": ["tea"] * 6,
        "loser": ["milk"] * 6,
        "judge": ["ann", "ann", "bob", "ann", "ann", "ann"],
        "group": [1, 1, 1, 2, 1, 1],
        "length_a": [5.0, 5.0, 5.0, 5.0, 6.0, -0.0],
        "length_b": [5.0, 5.0, 5.0, 5.0, 5.0, 0.0],
    }
    found = read_frame(frame, keep="counts", covariates=["length"])
    assert found["count"].tolist() == [3, 1, 1, 1]
    assert found["covariates"].tolist() == [[0.0], [0.0], [0.0], [1.0]]
    assert (found["judges"], found["groups"]) == (("ann", "bob"), (1, 2))
    assert found["covariate_names"] == ("length",)
    without = read_frame(frame, keep="counts", judge=False, group=False)
    assert without["count"].tolist() == [6]
    assert "judge" not in without


def test_a_weight_on_counts_weighs_each_vote():
    found = read_frame({"a": ["x"], "b": ["y"], "wins_a": [3], "wins_b": [2], "weight": [0.5]})
    assert found["count"].tolist() == [3, 2]
    assert found["weight"].tolist() == [1.5, 1.0]
    assert found["weight_sq"].tolist() == [0.75, 0.5]


def test_a_count_column_says_how_many_equal_votes_a_row_is():
    found = read_frame({"winner": ["x", "y"], "loser": ["y", "x"], "count": [4, 0]})
    assert found["count"].tolist() == [4]
    votes = Comparisons(**found)
    assert (votes.weight.tolist(), votes.weight_sq.tolist()) == ([4.0], [4.0])
    assert not found["ordered"]
    weighed = read_frame({"winner": ["x"], "loser": ["y"], "count": [4], "weight": [0.5]})
    assert (weighed["weight"].tolist(), weighed["weight_sq"].tolist()) == ([2.0], [1.0])


@pytest.mark.parametrize("keep", ["rows", "counts"])
def test_a_weight_says_the_same_beside_a_count_and_beside_counts_of_wins(keep):
    single = {"left": ["x"] * 5, "right": ["y"] * 5, "outcome": [1, 1, 1, 0, 0], "weight": [0.5] * 5}
    counted = {"left": ["x"] * 2, "right": ["y"] * 2, "outcome": [1, 0], "count": [3, 2], "weight": [0.5] * 2}
    wins = {"left": ["x"], "right": ["y"], "left_wins": [3], "right_wins": [2], "weight": [0.5]}
    for frame in (single, counted, wins):
        pairs = Comparisons(**read_frame(frame, keep=keep)).pairs
        assert (pairs.left_wins.tolist(), pairs.right_wins.tolist()) == ([1.5], [1.0])
        assert (pairs.left_wins_sq.tolist(), pairs.right_wins_sq.tolist()) == ([0.75], [0.5])


def test_counted_votes_go_out_and_come_back():
    frame = {"left": ["x", "y"], "right": ["y", "z"], "outcome": [1, 0.5], "count": [4, 2], "weight": [0.5, 3.0]}
    votes = Comparisons.from_frame(frame)
    again = Comparisons.from_frame(votes.to_frame())
    assert votes.to_frame()["weight"].to_list() == [0.5, 3.0]
    for name in ("count", "weight", "weight_sq"):
        np.testing.assert_allclose(getattr(again, name), getattr(votes, name))


def test_one_value_of_a_column_at_a_time():
    collector = Collector("rows", by="lang")
    collector.add(pl.DataFrame({"winner": ["a", "b", "c"], "loser": ["b", "c", "b"], "lang": ["en", "de", "en"]}))
    parts = collector.result_by()
    assert list(parts) == ["en", "de"]
    assert parts["en"]["items"] == ("a", "b", "c")
    assert rows(parts["de"]) == [("b", "c", 1)]


# ---- columns -------------------------------------------------------------------------------------------------


def test_columns_may_be_given_by_option():
    frame = {"first": ["x"], "second": ["y"], "verdict": ["second"]}
    assert rows(read_frame(frame, left="first", right="second", outcome="verdict")) == [("x", "y", -1)]
    assert rows(read_frame(frame, winner="second", loser="first")) == [("y", "x", 1)]


BAD_COLUMNS = [
    (["x", "y"], {}, r"cannot tell who met whom: found columns 'x', 'y'; expected winner and loser"),
    (["left", "right"], {}, r"cannot tell who won: found columns 'left', 'right'"),
    (["left", "right", "outcome"], {"outcome": "won"}, r"no column 'won' \(given as outcome=\); found 'left', 'right'"),
    (["left", "right", "outcome"], {"left": "right"}, r"left and right come together; give right= too"),
    (["winner", "Winner", "loser"], {}, r"'winner', 'Winner' differ only in case"),
    (["winner", "loser", "judge", "rater"], {}, r"'judge', 'rater' could each be the judge; say which by judge="),
    (["winner", "loser", "left", "right", "outcome"], {}, r"both tell who met whom"),
    (["winner", "loser"], {"loser": "loser", "winner": "x"}, r"no column 'x' \(given as winner=\)"),
    (["winner", "loser"], {"wieght": "x"}, r"no such option: wieght"),
    (["winner", "loser"], {"weight": "winner"}, r"'winner' is given as weight= but already tells"),
    (["winner", "loser"], {"covariates": ["length"]}, r"no column for covariate 'length', nor a pair such as length_a"),
    (["left", "right", "left_wins"], {"left_wins": "left_wins"}, r"give right_wins= too"),
    (["winner"], {"loser": "winner", "winner": False}, r"give winner= too"),
    (["winner", "loser"], {"winner": 3}, r"winner is 3; give the name of a column, or False for none"),
    (["winner", "loser", "weight"], {"weight": True}, r"weight is True; give the name of a column"),
    (["winner", "loser"], {"covariates": 3}, r"covariates is 3; give a list of columns"),
    (["winner", "loser"], {"covariates": [3]}, r"covariate 3 is not the name of a column"),
    (["left", "right", "left_wins", "right_wins", "n"], {"count": "n"}, r"count='n' beside counts of wins"),
    (["winner", "loser", "t"], {"ties": "t"}, r"ties='t' would not be read, as votes are taken from 'winner', 'loser'"),
    (["left", "right", "outcome", "w"], {"outcome": "outcome", "winner": "w"}, r"winner='w' would not be read"),
    (["left", "right", "outcome", "winner"], {}, r"'outcome', 'winner' could each be the outcome; say which by outco"),
    (["left", "right", "result", "winner"], {}, r"'result', 'winner' could each be the outcome; say which by outcome="),
    (
        ["model_a", "model_b", "a", "b", "winner"],
        {},
        r"'model_a', 'model_b' or 'a', 'b' could each be left and right; say which by left= and right=",
    ),
    (["left", "right", "left_wins", "right_wins", "outcome"], {}, r"'left_wins', 'right_wins' and 'outcome' each tell"),
    (["left", "right", "left_wins", "right_wins", "margin"], {}, r"'left_wins', 'right_wins' and 'margin' each tell"),
    (["ranking"], {"winner": "nope"}, r"no column 'nope' \(given as winner=\); found 'ranking'"),
    (["ranking", "x"], {"outcome": "x"}, r"outcome='x' would not be read, as votes are taken from 'ranking'"),
    (["ranking", "x"], {"group": "x"}, r"group='x' beside rankings, of which each is a group of its own"),
    (["ranking", "x"], {"covariates": "x"}, r"covariates belong to a comparison of two items"),
]


@pytest.mark.parametrize(("names", "options", "message"), BAD_COLUMNS)
def test_columns_that_cannot_be_told_are_listed(names, options, message):
    with pytest.raises(InputError, match=message):
        read_frame({name: ["x"] for name in names}, **options)


def test_an_unknown_option_is_answered_with_all_there_are_once():
    with pytest.raises(InputError) as problem:
        read_frame({"winner": ["x"], "loser": ["y"]}, wieght="w")
    known = str(problem.value).partition("choose among ")[2].split(", ")
    assert len(known) == len(set(known))
    assert {"winner", "weight", "group", "covariates"} <= set(known)


def test_an_option_chooses_among_candidates():
    frame = {"left": ["x"], "right": ["y"], "result": ["2-1"], "winner": ["y"], "a": ["p"], "b": ["q"]}
    assert rows(read_frame(frame, left="left", right="right", outcome="winner")) == [("x", "y", -1)]
    counts = {"left": ["x"], "right": ["y"], "left_wins": [3], "right_wins": [0], "outcome": [0], "count": [3]}
    assert tally(read_frame(counts, outcome=False)) == {("x", "y", 1): 3}


def test_an_unknown_way_to_keep_votes_is_refused():
    with pytest.raises(InputError, match="keep is 'all'; choose 'rows' or 'counts'"):
        read_frame({"winner": ["x"], "loser": ["y"]}, keep="all")


# ---- values --------------------------------------------------------------------------------------------------

GOOD = {"left": ["tea", "milk", "tea"], "right": ["milk", "mate", "mate"], "outcome": ["left", "right", "tie"]}
BAD_VALUES = [
    ({"outcome": ["left", "right", "maybe"]}, r"row 3: outcome 'maybe' is unknown; .*\('tea' or 'mate'\)"),
    ({"outcome": [1, 0, -1]}, r"row 3: outcome -1 is unknown"),
    ({"outcome": ["left", None, "tie"]}, r"row 2: column 'outcome' is empty; an unknown outcome is not a tie"),
    ({"outcome": ["left", "right", "milk"]}, r"row 3: outcome 'milk' is unknown"),
    ({"right": ["milk", "mate", "tea"]}, r"row 3: 'tea' is compared with itself; remove the row"),
    ({"left": ["tea", "", "tea"]}, r"row 2: column 'left' is empty"),
    ({"left": ["tea", "milk", "  "]}, r"row 3: column 'left' is empty"),
    ({"right": [None, "mate", "mate"]}, r"row 1: column 'right' is empty"),
    ({"weight": [1.0, float("nan"), 1.0]}, r"row 2: weight is missing; give a finite number, 0 or more"),
    ({"weight": [1.0, 1.0, None]}, r"row 3: weight is missing"),
    ({"weight": [1.0, -2.0, 1.0]}, r"row 2: weight is -2.0; give a finite number, 0 or more"),
    ({"weight": [1.0, 1.0, float("inf")]}, r"row 3: weight is inf; give a finite number"),
    ({"weight": ["1", "heavy", "1"]}, r"row 2: weight is heavy; give a finite number"),
    ({"margin": [1.0, float("nan"), 1.0]}, r"row 2: margin is missing; give a finite number"),
    ({"judge": ["ann", "bob", ""]}, r"row 3: column 'judge' is empty"),
    ({"count": [1, 2**63, 1]}, r"row 2: count is 9.22337e\+18, too many to count exactly"),
    ({"count": [1, 1, 2**53]}, r"row 3: count is .*, too many to count exactly; give less than 2\*\*53"),
    ({"count": [1, 2, 1.5]}, r"row 3: count is 1.5; a count is a whole number"),
    ({"right": [1, 2, 3]}, r"columns 'left' and 'right' hold labels of different kinds \(text and numbers\)"),
    ({"left": [["tea"], ["milk"], ["tea"]]}, r"column 'left' holds List\(String\); labels are text or numbers"),
]


@pytest.mark.parametrize(("change", "message"), BAD_VALUES)
@pytest.mark.parametrize("keep", ["rows", "counts"])
def test_a_bad_value_is_named_with_its_row(change, message, keep):
    with pytest.raises(InputError, match="^" + message):
        read_frame(GOOD | change, keep=keep)
    bare = message.removeprefix("^")
    with pytest.raises(InputError, match="^votes.csv, " + bare):
        read_frame(GOOD | change, keep=keep, where="votes.csv")


def test_counts_must_be_whole_and_not_negative():
    frame = {"left": ["x"], "right": ["y"], "left_wins": [1], "right_wins": [2]}
    with pytest.raises(InputError, match=r"row 1: left_wins is 1.5; a count is a whole number"):
        read_frame(frame | {"left_wins": [1.5]})
    with pytest.raises(InputError, match=r"row 1: right_wins is -1; give a finite number, 0 or more"):
        read_frame(frame | {"right_wins": [-1]})


def test_flags_must_agree():
    frame = {"model_a": ["x"], "model_b": ["y"], "winner_model_a": [1], "winner_model_b": [1], "winner_tie": [0]}
    with pytest.raises(InputError, match=r"row 1: winner_model_a 1, winner_model_b 1, winner_tie 0; exactly one"):
        read_frame(frame)


def test_a_word_that_names_the_other_item_is_not_guessed():
    with pytest.raises(InputError, match=r"row 1: outcome 'b' says right, but is also the other item's label"):
        read_frame({"left": ["b"], "right": ["a"], "outcome": ["b"]})
    with pytest.raises(InputError, match=r"row 1: outcome 1 says left, but is also the other item's label"):
        read_frame({"left": [0], "right": [1], "winner": [1]})
    assert rows(read_frame({"left": ["a"], "right": ["b"], "outcome": ["b"]})) == [("a", "b", -1)]


def test_a_word_that_names_the_other_item_in_another_case_is_not_guessed():
    with pytest.raises(InputError, match=r"row 1: outcome 'a' says left, but in another case is also the other item's"):
        read_frame({"left": ["B"], "right": ["A"], "winner": ["a"]})
    with pytest.raises(InputError, match=r"row 2: outcome 'Tie' says tie, but in another case is also the other"):
        read_frame({"left": ["x", "tie"], "right": ["y", "x"], "outcome": ["left", "Tie"]})
    frame = {"left": ["A", "a", "A"], "right": ["B", "A", "C"], "winner": ["a", "a", "b"]}
    with pytest.warns(DataWarning, match=r"'A' \(row 1\) and 'a' \(row 2\)"):
        assert rows(read_frame(frame)) == [("A", "B", 1), ("a", "A", 1), ("A", "C", -1)]


@pytest.mark.parametrize("kind", [pl.Int64, pl.Float64, pl.String])
def test_numbers_in_an_outcome_are_numbers_also_where_items_are_called_so(kind):
    frame = {"left": [3, 0, 1, 1], "right": [1, 1, 0, 3], "outcome": [1, 1, 0, 0]}
    typed = pl.DataFrame(frame).with_columns(pl.all().cast(pl.String) if kind == pl.String else pl.all())
    found = read_frame(typed.with_columns(pl.col("outcome").cast(kind)))
    assert found["outcome"].tolist() == [1, 1, -1, -1]


@pytest.mark.parametrize("order", [1, -1])
def test_a_column_of_labels_is_not_taken_for_numbers(order):
    message = r"row \d: outcome 1 would be a number and [37] the winner's label, in one column; use left, right or tie"
    frame = pl.DataFrame({"left": [3, 7, 3], "right": [1, 3, 1], "outcome": [1, 7, 3]})[::order]
    with pytest.raises(InputError, match=message):
        read_frame(frame)
    collector = Collector("rows")
    collector.add(frame[:1])
    with pytest.raises(InputError, match=message):
        collector.add(frame[1:])


def test_outcomes_of_large_numbers_name_the_very_item():
    big = 2**53
    found = read_frame({"left": [big, big], "right": [big + 1, big + 1], "winner": [big + 1, big]})
    assert found["outcome"].tolist() == [-1, 1]


def test_outcomes_are_text_in_one_frame_and_numbers_in_the_next():
    collector = Collector("rows")
    collector.add(pl.DataFrame({"left": ["x", "x"], "right": ["y", "y"], "outcome": ["right", "left"]}))
    collector.add(pl.DataFrame({"left": ["x", "x"], "right": ["y", "y"], "outcome": [1.0, 0.5]}))
    assert collector.result()["outcome"].tolist() == [-1, 1, 1, 0]


def test_rows_are_counted_over_pieces_of_one_frame_and_anew_in_the_next():
    good, bad = pl.DataFrame(GOOD), pl.DataFrame(GOOD | {"right": ["milk", "mate", "tea"]})
    collector = Collector("counts")
    collector.add(good, "one.csv")
    with pytest.raises(InputError, match=r"^two.csv, row 6: 'tea' is compared with itself"):
        collector.add(pl.concat([good, bad]), "two.csv")


def test_labels_that_are_numbers_in_one_file_and_text_in_another_name_both():
    collector = Collector("counts")
    collector.add(pl.DataFrame({"winner": [1], "loser": [2]}), "one.parquet")
    with pytest.raises(InputError, match=r"'winner' holds numbers in one.parquet and text in two.parquet"):
        collector.add(pl.DataFrame({"winner": ["1"], "loser": ["2"]}), "two.parquet")


PLAIN = {"winner": ["a"], "loser": ["b"]}
WINS = {"left": ["a"], "right": ["b"], "left_wins": [1], "right_wins": [2]}
UNLIKE = [
    (GOOD, PLAIN, r"votes are read from 'winner', 'loser', in one.csv from 'left', 'right', 'outcome'"),
    (PLAIN, PLAIN | {"weight": [2.0]}, r"column 'weight' is here but not in one.csv; .* with weight=False"),
    (PLAIN | {"weight": [2.0]}, PLAIN, r"column 'weight' is in one.csv but not here; .* with weight=False"),
    (WINS, WINS | {"ties": [2]}, r"column 'ties' is here but not in one.csv; .* with ties=False"),
    (PLAIN, PLAIN | {"judge": ["x"]}, r"column 'judge' is here but not in one.csv; .* with judge=False"),
    (
        PLAIN | {"judge": ["x"]},
        PLAIN | {"rater": ["x"]},
        r"votes are read from 'winner', 'loser', 'rater', in one.csv from",
    ),
]


@pytest.mark.parametrize(("one", "two", "message"), UNLIKE)
def test_files_must_have_the_same_columns_whichever_comes_first(one, two, message):
    collector = Collector("counts")
    collector.add(pl.DataFrame(one), "one.csv")
    with pytest.raises(InputError, match=f"^two.csv: {message}"):
        collector.add(pl.DataFrame(two), "two.csv")


def test_a_column_left_out_by_option_need_not_be_in_every_file():
    collector = Collector("counts", weight=False)
    for frame in (PLAIN, PLAIN | {"weight": [2.0]}):
        collector.add(pl.DataFrame(frame))
    assert collector.result()["count"].tolist() == [2]


def test_no_rows_is_an_error():
    with pytest.raises(InputError, match="no rows: there is nothing to rank"):
        read_frame({"winner": [], "loser": []})


def test_what_is_no_frame_is_refused():
    with pytest.raises(InputError, match="a list is not a frame"):
        read_frame([("tea", "milk")])
    with pytest.raises(InputError, match=r"column 'winner' mixes text and other values"):
        read_frame({"winner": ["tea", 1], "loser": ["x", "y"]})
    with pytest.raises(InputError, match=r"column 'winner' has 2 rows and 'loser' 1; give one value of each"):
        read_frame({"winner": ["tea", "milk"], "loser": ["x"]})
    with pytest.raises(InputError, match=r"column 'winner' is 'tea', a single value; give a list"):
        read_frame({"winner": "tea", "loser": "ale"})
    twice = pd.DataFrame([["a", "b", "c"]], columns=["winner", "loser", "winner"])
    with pytest.raises(InputError, match=r"2 columns are called 'winner'; give every column its own name"):
        read_frame(twice)
    with pytest.raises(InputError, match=r"the frame cannot be read: .*winner"):
        read_frame(pa.table([["a"], ["b"], ["c"]], names=["winner", "loser", "winner"]))


LOOK_ALIKES = [
    ("b", " b", "'b' (row 2) and ' b' (row 3)"),
    ("Tea", "tea ", "'Tea' (row 2) and 'tea ' (row 3)"),
    ("café", "cafe\u0301", r"'caf\xe9' (row 2) and 'cafe\u0301' (row 3)"),
    ("Zürich", "ZÜRICH", "'Zürich' (row 2) and 'ZÜRICH' (row 3)"),
    ("tea", "t\u200bea", r"'tea' (row 2) and 't\u200bea' (row 3)"),
    ("green tea", "green\u00a0 tea", r"'green tea' (row 2) and 'green\xa0 tea' (row 3)"),
]


@pytest.mark.parametrize(("one", "other", "words"), LOOK_ALIKES)
def test_labels_that_look_alike_are_kept_apart_with_a_warning_that_names_their_rows(one, other, words):
    columns = {"winner": ["a", one, "c", one], "loser": ["c", "a", other, other]}
    for read in (
        lambda: read_frame(columns)["items"],
        lambda: Comparisons.from_pairs(list(zip(*columns.values(), strict=True))).items,
    ):
        with pytest.warns(DataWarning, match="items that differ only in case, blanks") as told:
            assert read() == ("a", "c", one, other)
        assert [words in str(each.message) for each in told] == [True]
    with pytest.warns(DataWarning, match=r"judges that differ only in case") as told:
        read_frame({"winner": ["a", "b", "a"], "loser": ["b", "a", "b"], "judge": ["x", one, other]})
    assert words in str(told[0].message)


@pytest.mark.parametrize("table", [
    {"ranking": ["a > Tea", "b > a", "b > tea"]},
    {"Rank 1": ["a", "b", "b"], "Rank 2": ["Tea", "a", "tea"]},
    {"respondent": [1, 1, 1], "item": ["Tea", "a", "tea"], "rank": [1, 2, 3]},
])  # fmt: skip
def test_items_of_rankings_that_look_alike_are_named_too(table):
    with pytest.warns(DataWarning, match=r"'Tea' \(row 1\) and 'tea' \(row 3\)"):
        read_frame(table, unranked="unknown")


@pytest.mark.parametrize(("winner", "loser", "items"), [
    (["a", "b", "Maße"], ["b", " c", "Masse"], ("a", "b", "Maße", " c", "Masse")),
    (["a\nb", "A", "x1"], ["A", "B", "x2"], ("a\nb", "A", "x1", "B", "x2")),
    ([1, 2], [2, 3], (1, 2, 3)),
    (["b b", "\u200b"], ["\u200b", "b b"], ("b b", "\u200b")),
])  # fmt: skip
def test_labels_that_are_plainly_different_are_not_remarked(winner, loser, items):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert set(read_frame({"winner": winner, "loser": loser})["items"]) == set(items)
    assert told == []


@given(st.lists(st.text("aA b\n\u200b\u00a0", min_size=1, max_size=4), min_size=2, max_size=4, unique=True))
def test_labels_look_alike_if_their_words_do_whatever_the_others_hold(labels):
    def words(label):
        return label.replace("\u200b", "").lower().split()

    assume(all(label.strip() for label in labels))
    alike = any(words(one) == words(other) for one, other in itertools.combinations(labels, 2))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        Comparisons.from_pairs(list(itertools.pairwise(labels)))
    assert any("differ only in case" in str(each.message) for each in told) == alike


def test_many_look_alikes_are_not_all_named():
    names = [f"{case}{k}" for k in range(9) for case in "xX"]
    with pytest.warns(DataWarning, match=r"'x2' \(row 3\) and 'X2' \(row 3\); …; write them alike"):
        read_frame({"winner": names[::2], "loser": names[1::2]})


# ---- rankings ------------------------------------------------------------------------------------------------


@given(
    st.lists(st.permutations(["tea", "milk", "mate", "ale"]).flatmap(lambda p: st.integers(0, 4).map(lambda k: p[:k])))
)
@pytest.mark.filterwarnings("ignore:.* without any item, left out")
def test_rankings_in_a_frame_are_those_of_a_list(rankings):
    if not any(len(ranking) > 1 for ranking in rankings):
        with pytest.raises(InputError, match=r"no ranking holds two items|no rows|only one item|no items"):
            Comparisons.from_frame({"ranking": rankings}, unranked="unknown")
        return
    expected = Comparisons.from_rankings(rankings, unranked="unknown")
    for frame in ({"ranking": rankings}, pl.DataFrame({"ranking": rankings}), pd.DataFrame({"ranking": rankings})):
        found = Comparisons.from_frame(frame, unranked="unknown")
        assert (found.items, found.groups, found.group_is) == (expected.items, expected.groups, expected.group_is)
        assert found.to_frame().equals(expected.to_frame())
        assert (found.sided, found.ordered) == (expected.sided, expected.ordered)


@pytest.mark.parametrize("keep", ["rows", "counts"])
def test_a_ranking_that_counts_is_as_many_and_carries_its_weight_and_judge(keep):
    frame = {"ranking": ["a > b > c", "c > a", "d > a"], "count": [2, 1, 0], "weight": [0.5, 3.0, 1.0]}
    frame["judge"] = ["ann", "bob", "bob"]
    votes = Comparisons.from_frame(frame, keep=keep, unranked="unknown")
    assert votes.items == ("a", "b", "c", "d")
    expected = [("a", "b"), ("a", "c"), ("b", "c")] * 2 + [("c", "a")]
    assert votes.to_frame().select("winner", "loser").rows() == expected
    assert votes.weight.tolist() == [0.5] * 6 + [3.0]
    assert votes.group.tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert votes.groups == (1, 2, 3)
    assert [votes.judges[code] for code in votes.judge] == ["ann"] * 6 + ["bob"]


def test_a_bad_ranking_is_named_with_its_row():
    with pytest.raises(InputError, match=r"row 2: 'a' appears twice in the ranking; remove one"):
        read_frame({"ranking": ["a > b", "a > b > a"]})
    with pytest.raises(InputError, match=r"row 1: 3 is no ranking; list items best first, as in a > b"):
        read_frame({"ranking": [3, 1]})
    with pytest.raises(InputError, match=r"row 2: weight is -1.0; give a finite number"):
        read_frame({"ranking": ["a > b", "b > a"], "weight": [1.0, -1.0]})
    with pytest.raises(InputError, match=r"column 'ranking' mixes text and other values"):
        read_frame({"ranking": [["a", 1]]})


@pytest.mark.parametrize("label", ["N/A", "n/a", "nan", "NULL", "None", "-", "?", " na ", "#N/A"])
def test_an_item_that_reads_like_a_missing_answer_is_remarked_and_kept(label):
    pairs = {"winner": ["a", "b"], "loser": ["b", label]}
    with pytest.warns(DataWarning) as told:
        found = read_frame(pairs)
    assert found["items"] == ("a", "b", label)
    assert [str(each.message) for each in told] == [
        f"{label!r} (row 2) reads like a missing answer; remove the row if it is one"
    ]
    with pytest.warns(DataWarning, match=re.escape(f"{label!r} (row 2) reads like a missing answer; leave the cell")):
        read_frame({"Rank 1": ["a", label], "Rank 2": ["b", None]}, unranked="below")
    with pytest.warns(DataWarning, match="'N/A' \\(row 1\\), '--' \\(row 1\\) read like missing answers"):
        read_frame({"ranking": ["a > N/A > --"]}, unranked="below")


@pytest.mark.parametrize("label", ["None of the above", "nana", "Ana", "N", "0", "---x", 0.5])
def test_other_items_are_no_placeholders(label):
    """No warning, which would be an error here."""
    other = ["b", "a"] if isinstance(label, str) else [1.5, 2.5]
    found = read_frame({"winner": other, "loser": [other[1], label]})
    assert set(found["items"]) == {*other, label}


def test_values_that_divide_the_votes_and_look_alike_are_remarked():
    rows = {"winner": ["a", "b", "a", "a"], "loser": ["b", "a", "b", "b"], "lang": ["en", "EN", "", " "]}
    collector = Collector(by="lang")
    collector.add(as_polars(rows), "v.csv")
    with pytest.warns(DataWarning) as told:
        assert list(collector.result_by()) == ["en", "EN"]
    assert str(told[0].message) == (
        "values of 'lang' that differ only in case, blanks or how their characters are coded are kept apart: "
        "'en' (v.csv, row 1) and 'EN' (v.csv, row 2); write them alike if they are the same"
    )
    assert len(told) == 2  # and that some have none


def test_a_single_place_is_a_vote_for_one_over_all_others():
    rows = {"respondent": ["r1", "r2", "r3"], "Rank 1": ["tea", "milk", "tea"]}
    one = Rankings._of(**read_frame(rows, unranked="below"))
    assert one.to_lists() == [["tea"], ["milk"], ["tea"]]
    assert one.pair_columns()["left"].shape == (3,)  # each over the one item it did not name
    for way in (None, "unknown"):
        with pytest.raises(InputError, match="'Rank 1' is the only one named after a place, so no row puts two items"):
            read_frame(rows, unranked=way)
    with pytest.raises(InputError, match="cannot tell who met whom"):
        read_frame({"respondent": ["r1"], "Rank 2": ["tea"]}, unranked="below")
    long = {"respondent": ["r1", "r1"], "item": ["tea", "milk"], "rank": [1, 2], "top1": ["x", "y"]}
    assert Rankings._of(**read_frame(long, unranked="below")).to_lists() == [["tea", "milk"]]
