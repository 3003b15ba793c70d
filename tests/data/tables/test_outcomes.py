"""What outcomes say, word by word; and rankings from places, ranks and long tables, by hand."""

import numpy as np
import polars as pl
import pytest

from podium.data.tables import outcomes, surveys
from podium.data.tables.columns import recognise
from podium.data.tables.labels import Numbering
from podium.data.tables.outcomes import UNKNOWN, Outcomes, meaning_of
from podium.data.tables.surveys import ListPiece, ListStore, from_places, from_ranks, item_names, place_columns
from podium.errors import InputError

SIDES = recognise(["left", "right", "outcome"])
NAMED = recognise(["red", "blue", "winner"], left="red", right="blue")
LEAGUE = recognise(["home", "away", "result"])


def fail(row, message):
    raise InputError(f"row {row + 1}: {message}")


@pytest.mark.parametrize(
    ("words", "layout", "meaning"),
    [
        (outcomes.LEFT, SIDES, 1), (outcomes.RIGHT, SIDES, -1), (outcomes.TIE, SIDES, 0), (["red", " RED "], NAMED, 1),
        (["Blue"], NAMED, -1), (["won", "2", "", "h", "home", "d", "x"], SIDES, UNKNOWN), ([1, 1.0, True], SIDES, 1),
        ([0, 0.0, False, "0-1"], SIDES, -1), ([0.5, "½-½", "Both Bad"], SIDES, 0),
        (["H", "home", "1", 1.0, "left", "l", "true", "1-0"], LEAGUE, 1),
        (["A", "Away", "0", 0.0, "right", "r", "false", "0-1"], LEAGUE, -1),
        (["D", "x", "tie", 0.5, "draw", "="], LEAGUE, 0), (["b", "model_b", "model_a", "2"], LEAGUE, UNKNOWN),
    ],
)  # fmt: skip
def test_words_and_numbers_say_who_won(words, layout, meaning):
    assert {word: meaning_of(word, layout) for word in words} == dict.fromkeys(words, meaning)


def reader(*labels):
    items = Numbering()
    items.single(pl.Series(labels))
    return Outcomes(items)


def read(found, values, pairs, layout=SIDES, **options):
    left, right = (np.array(side, np.int32) for side in zip(*pairs, strict=True))
    return found.read(pl.Series("outcome", values, **options), left, right, layout, fail).tolist()


def test_the_label_of_the_winner_is_an_outcome_too():
    found = reader("tea", "milk", "left")
    assert read(found, ["milk", "tea", "tie", "tea"], [(0, 1), (0, 1), (1, 0), (1, 0)]) == [-1, 1, 0, -1]
    assert read(found, ["left"], [(2, 1)]) == [1], "both say the same"
    with pytest.raises(
        InputError, match=r"^row 1: outcome 'left' says left, but is also the other item's label; use left"
    ):
        read(reader("tea", "milk", "left"), ["left"], [(1, 2)])
    with pytest.raises(InputError, match=r"^row 2: outcome 'cola' is unknown; use 1, 0 or 0.5, left, right or tie, or "
                                         r"the winner's label \('tea' or 'milk'\)"):  # fmt: skip
        read(reader("tea", "milk"), ["tea", "cola"], [(0, 1), (0, 1)])
    with pytest.raises(InputError, match=r"^row 1: outcome 'milk' is unknown"):
        read(reader("tea", "milk", "cola"), ["milk"], [(0, 2)])
    with pytest.raises(InputError, match=r"^row 2: column 'outcome' is empty; an unknown outcome is not a tie"):
        read(reader("tea", "milk"), ["tea", None], [(0, 1), (0, 1)])


def test_a_word_in_another_case_is_not_taken_for_the_other_side():
    with pytest.raises(
        InputError, match=r"^row 1: outcome 'a' says left, but in another case is also the other item's"
    ):
        read(reader("B", "A"), ["a"], [(0, 1)])
    assert read(reader("A", "B"), ["a"], [(0, 1)]) == [1]
    assert read(reader("B", "C"), ["a"], [(0, 1)]) == [1]
    with pytest.raises(InputError, match=r"^row 1: outcome 'TIE' says tie, but in another case is also"):
        read(reader("x", "tie"), ["TIE"], [(0, 1)])
    with pytest.raises(InputError, match="says right, but in another case"):
        read(reader("B", "x"), ["b"], [(0, 1)])
    assert read(reader("B", "b"), ["b"], [(0, 1)]) == [-1], "the very label of one of the two"


def test_numbers_are_numbers_unless_the_column_is_called_winner():
    plain, winner = SIDES, recognise(["left", "right", "winner"])
    assert read(reader(0, 1), [1, 0], [(0, 1), (0, 1)], plain) == [1, -1]
    with pytest.raises(InputError, match=r"^row 1: outcome 1 says left, but is also the other item's label"):
        read(reader(0, 1), [1], [(0, 1)], winner)
    assert read(reader(7, 8), [8, 7], [(0, 1), (0, 1)], winner) == [-1, 1]
    torn = (
        "would be a number and .* the winner's label, in one column; use left, right or tie, or call the column winner"
    )
    with pytest.raises(InputError, match=f"^row 2: outcome 1 {torn}"):
        read(reader(0, 1, 5), [1, 5], [(0, 1), (0, 2)], plain)
    found = reader(0, 1, 5)
    assert read(found, [1], [(0, 1)], plain) == [1]
    with pytest.raises(InputError, match=f"^row 1: outcome 1 {torn}"):
        read(found, [5], [(0, 2)], plain)


def test_pieces_that_took_values_for_different_things_are_not_united():
    label, number, neither = reader(0, 1, 5), reader(0, 1, 5), reader(0, 1, 5)
    read(label, [5], [(0, 2)])
    read(number, [1], [(0, 1)])
    read(neither, ["tie"], [(0, 1)])
    assert (label.as_label, label.as_number, number.as_label, number.as_number) == (5, None, None, 1)
    neither.unite(label, "b.csv")
    assert (neither.as_label, neither.as_number) == (5, None)
    with pytest.raises(InputError, match=r"^b\.csv: outcome 1 would be a number and 5 the winner's label"):
        number.unite(neither, "b.csv")


# ---- rankings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["Rank 2", "id", "Rank 1"], [(1, "Rank 1"), (2, "Rank 2")]), (["Rank 1"], []),
        (["1st choice", "2nd choice", "3rd choice"], [(1, "1st choice"), (2, "2nd choice"), (3, "3rd choice")]),
        (["Q5 [Rank 1]", "Q5 [Rank 2]"], [(1, "Q5 [Rank 1]"), (2, "Q5 [Rank 2]")]),
        (["Q5 rank 1", "Q5 rank 2", "Q6 rank 1", "Q6 rank 2"], []),
        (["q5_rank_1", "Q5_Rank_2"], [(1, "q5_rank_1"), (2, "Q5_Rank_2")]),
        (["top10", "top9"], [(9, "top9"), (10, "top10")]), (["Rank 1", "Rank 2)"], []), (["ranks", "score 1"], []),
        (["Rank 1", " Rank 2 "], [(1, "Rank 1"), (2, " Rank 2 ")]),
    ],
)  # fmt: skip
def test_columns_named_after_places(names, found):
    assert place_columns(names) == found


@pytest.mark.parametrize(
    ("columns", "items"),
    [
        (["Q [Tea]", "Q [Milk ]"], ["Tea", "Milk"]), (["Q [Tea]", "P [Milk]"], ["Q [Tea]", "P [Milk]"]),
        (["Q [Tea]"], ["Q [Tea]"]), (["Q [Tea]", "Milk"], ["Q [Tea]", "Milk"]),
        (["Q [Tea]", "Q [Tea]"], ["Q [Tea]"] * 2),
        (["Q [ ]", "Q [Tea]"], ["Q [ ]", "Q [Tea]"]),
    ],
)  # fmt: skip
def test_items_within_brackets_after_one_question(columns, items):
    assert item_names(columns) == items


def test_rankings_from_places():
    piece = from_places(np.array([[2, 0, -1], [-1, -1, -1], [1, -1, -1], [0, 1, 2]]), "pqr", str, fail)
    assert (piece.item.tolist(), piece.size.tolist(), piece.tied.tolist()) == (
        [2, 0, 1, 0, 1, 2],
        [2, 0, 1, 3],
        [0] * 6,
    )
    with pytest.raises(InputError, match=r"^row 2: 'q' is empty and 'r' is not; fill the places from the first on"):
        from_places(np.array([[0, 1, 2], [0, -1, 1]]), "pqr", str, fail)
    with pytest.raises(InputError, match=r"^row 1: 'p' is empty and 'q' is not"):
        from_places(np.array([[-1, 1, 2]]), "pqr", str, fail)
    with pytest.raises(InputError, match=r"^row 2: 'item 1' is ranked twice, in 'p' and 'r'; remove one"):
        from_places(np.array([[0, 1, 2], [1, 0, 1]]), "pqr", lambda code: f"item {code}", fail)


def ranked(rows, codes=(7, 8, 9)):
    return from_ranks(np.array(rows, float), np.array(codes, np.int32), "pqr", fail)


def test_rankings_from_ranks_with_ties_and_holes():
    nan = np.nan
    piece = ranked([[2, 1, 3], [1, nan, 1], [nan, nan, nan], [2, 1, 2]])
    assert piece.item.tolist() == [8, 7, 9, 7, 9, 8, 7, 9]
    assert piece.size.tolist() == [3, 2, 0, 3]
    assert piece.tied.tolist() == [0, 0, 0, 0, 1, 0, 0, 1]
    assert ranked([[1, 1, 2]]).tied.tolist() == ranked([[1, 1, 3]]).tied.tolist() == [0, 1, 0], "both ways to go on"
    for rows, said in (
        ([[1, 2, 3], [1, 2, 4]], "^row 2: rank 4 comes after rank 2, so ranks have a gap; number them from 1 on"),
        ([[2, 3, nan]], "^row 1: rank 2 comes first, so ranks have a gap"), ([[1, 1, 4]], "rank 4 comes after rank 1"),
        ([[0, 1, 2]], "^row 1: 'p' has rank 0; ranks are whole numbers from 1 up, empty where there is none"),
        ([[1, 2, 3], [1, 1.5, 2]], "^row 2: 'q' has rank 1.5"), ([[1, nan, 3]], "rank 3 comes after rank 1"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            ranked(rows)


def long(judge, item, rank, **more):
    columns = {"judge": judge, "item": item, "rank": rank} | more
    return {
        name: np.array(values, float if name in ("rank", "weight") else np.int32) for name, values in columns.items()
    }


def assembled(*parts):
    store = ListStore()
    store.rows += parts
    return store.columns(fail)


def test_a_long_table_is_put_together_in_the_order_in_which_rankings_appear():
    found = assembled(
        long([4, 2, 4], [0, 1, 2], [2, 1, 1], weight=[0.5, 2.0, 0.5]),
        long([2, 4, 2], [0, 1, 2], [2, 2, 3], weight=[2.0, 0.5, 2.0]),
    )
    assert found["item"].tolist() == [2, 0, 1, 1, 0, 2]
    assert (found["start"].tolist(), found["tied"].tolist()) == ([0, 3, 6], [0, 0, 1, 0, 0, 0])
    assert (found["judge"].tolist(), found["weight"].tolist()) == ([4, 2], [0.5, 2.0])
    groups = assembled(long([1, 1, 1, 1], [0, 1, 0, 1], [1, 2, 2, 1], group=[5, 5, 3, 3]))
    assert (groups["start"].tolist(), groups["item"].tolist()) == ([0, 2, 4], [0, 1, 1, 0])
    assert groups["group"].tolist() == [5, 3]
    assert assembled(long([1, 1, 2], [0, 1, 0], [1, 1, 1]))["tied"].tolist() == [0, 1, 0], "no tie of two rankings"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (long([1, 2, 1], [0, 0, 0], [1, 1, 2]), "^row 3: twice"),
        (long([1, 1], [0, 1], [1, 3]), "^row 2: rank 3 comes after"),
        (long([1, 1], [0, 1], [2, 3]), "^row 1: rank 2 comes first, so ranks have a gap"),
        (long([1, 1, 1], [0, 1, 2], [1, 1, 4]), "^row 3: rank 4 comes after rank 1"),
        (long([2, 2, 1, 1], [0, 1, 0, 1], [1, 2, 1, 3]), "^row 4: rank 3 comes after rank 1"),
        (long([1, 1], [0, 1], [1, 2], weight=[1.0, 2.0]), "^row 2: weight$"),
        (long([1, 2, 1], [0, 0, 1], [1, 1, 2], by=[0, 1, 1]), "^row 3: by$"),
    ],
)  # fmt: skip
def test_a_long_table_with_gaps_or_twice_the_same_is_refused_by_row(rows, said):
    with pytest.raises(InputError, match=said):
        assembled(rows)


def test_ranks_may_go_on_by_one_or_by_as_many_as_came_before():
    for ranks in ([1, 1, 2], [1, 1, 3], [1, 2, 2], [1, 1, 1]):
        assert assembled(long([1] * 3, [0, 1, 2], ranks))["item"].tolist() == [0, 1, 2]


def test_stores_of_two_readers_are_united_under_new_codes():
    one, other = ListStore(), ListStore()
    one.pieces.append(ListPiece(np.array([0, 1]), np.array([2]), np.zeros(2, np.uint8), {"judge": np.array([0])}))
    other.pieces.append(
        ListPiece(np.array([1, 0]), np.array([1, 1]), np.zeros(2, np.uint8), {"judge": np.array([0, 1])})
    )
    one.unite(other, {"left": np.array([5, 6]), "judge": np.array([3, 4])})
    found = one.columns(fail)
    assert (found["item"].tolist(), found["start"].tolist()) == ([0, 1, 6, 5], [0, 2, 3, 4])
    assert found["judge"].tolist() == [0, 3, 4]
    assert len(one) == 3
    rows, more = ListStore(), ListStore()
    rows.rows.append(long([0, 0], [0, 1], [1, 2]))
    more.rows.append(long([0], [1], [1]))
    rows.unite(more, {"left": np.array([5, 6]), "judge": np.array([3])})
    assert len(rows) == 3
    found = rows.columns(fail)
    assert (found["item"].tolist(), found["judge"].tolist()) == ([0, 1, 6], [0, 3])


def test_items_repeated_within_their_ranking_are_found():
    found = surveys._repeated(np.array([0, 1, 0, 0, 1], np.int32), np.array([0, 0, 1, 0, 2]))
    assert found.tolist() == [False, False, False, True, False]
