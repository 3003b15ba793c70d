"""One batch of rows, role by role: the arrays it becomes, and where it says that something is wrong."""

from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from podium.data.tables import batch
from podium.data.tables.batch import Batch, Seen
from podium.data.tables.columns import recognise
from podium.errors import InputError


def made(columns, where="v.csv", row=10, kept=None, style=None, seen=None, **options):
    """A batch whose first row is the eleventh of its file."""
    layout = recognise(list(columns), **options)
    return Batch(seen or Seen(style), layout, pl.DataFrame(columns), where, row, kept)


def read(columns, **options):
    piece = made(columns, **options).read()
    return {name: values.tolist() for name, values in piece.items()}


SIDES = {"left": ["a", "b"], "right": ["b", "c"]}
WINS = {"winner": ["a", "b"], "loser": ["b", "c"]}
CODES = {"left": [0, 1], "right": [1, 2]}


@pytest.mark.parametrize(
    ("columns", "options", "more"),
    [
        (WINS, {}, {}),
        (SIDES | {"outcome": ["left", "tie"]}, {}, {"outcome": [1, 0]}),
        (SIDES | {"outcome": [Decimal("0.5"), Decimal("1.0")]}, {}, {"outcome": [0, 1]}),
        (SIDES | {"margin": [-1.5, 0.0]}, {}, {"margin": [-1.5, 0.0], "outcome": [-1, 0]}),
        (SIDES | {"outcome": [1, 0], "margin": [2.0, 1.0]}, {}, {"outcome": [1, -1], "margin": [2.0, 1.0]}),
        (SIDES | {"winner_a": [1, 0], "winner_b": [0, 0], "winner_tie": [0, 1]}, {}, {"outcome": [1, 0]}),
        (SIDES | {"home_goals": [3, 1], "away_goals": [1, 1]}, {}, {"margin": [2.0, 0.0], "outcome": [1, 0]}),
        (SIDES | {"home_goals": [3, 1], "away_goals": [1, 1], "FTR": ["H", "D"]}, {},
         {"margin": [2.0, 0.0], "outcome": [1, 0]}),
        (WINS | {"weight": [0.5, 2], "count": [3, 0], "judge": ["x", "y"], "group": [7, 7]}, {},
         {"weight": [0.5, 2.0], "count": [3, 0], "judge": [0, 1], "group": [0, 0]}),
        (WINS | {"day": [3, 4], "lang": ["en", None]}, {"time": "day", "by": "lang"},
         {"time": [3.0, 4.0], "by": [0, 1]}),
        (WINS | {"x": [1.0, -2.0], "len_a": [5, 1], "len_b": [2, 2]}, {"covariates": ["x", "len"]},
         {"covariates": [[1.0, 3.0], [-2.0, -1.0]]}),
    ],
)  # fmt: skip
def test_every_role_becomes_its_array(columns, options, more):
    assert read(columns, **options) == CODES | more


def test_a_row_of_counts_is_a_row_for_each_outcome_that_occurred():
    columns = SIDES | {"left_wins": [2, 0], "right_wins": [0, 1], "ties": [3, 0], "weight": [0.5, 4.0]}
    assert read(columns) == {
        "left": [0, 0, 1], "right": [1, 1, 2], "outcome": [1, 0, -1], "count": [2, 3, 1], "weight": [0.5, 0.5, 4.0]
    }  # fmt: skip
    assert read(SIDES | {"left_wins": [2, 0], "right_wins": [0, 1]})["outcome"] == [1, -1]


def test_the_arena_compares_what_both_sides_have():
    columns = WINS | {"len_a": [5, 1], "len_b": [2, 2]}
    found = made(columns, covariates="len", style="arena").read()["covariates"]
    assert found.tolist() == [[3 / 8], [-1 / 4]]
    with pytest.raises(InputError, match="row 11: len_a is -1; give a finite number, 0 or more"):
        made(WINS | {"len_a": [-1, 1], "len_b": [2, 2]}, covariates="len", style="arena").read()
    counted = WINS | {"head_a": [{"h1": 1, "h2": 2}, {"h1": 1, "h2": None}], "head_b": [{"h1": 0, "h2": 1}] * 2}
    assert made(counted, covariates="head").read()["covariates"].tolist() == [[2.0], [0.0]]


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        (WINS | {"weight": ["1", "x"]}, {}, "row 12: weight is x; give a finite number, 0 or more"),
        (WINS | {"weight": [1.0, None]}, {}, "row 12: weight is missing; give a finite number, 0 or more"),
        (WINS | {"weight": ["1,5", "2"]}, {}, "row 11: weight is 1,5; give 1.5, with a point"),
        (WINS | {"weight": [1.0, 2e140]}, {}, r"row 12: weight is 2e\+140, too large to be summed; divide all weights"),
        (WINS | {"weight": [b"1", b"x"]}, {}, "row 12: weight is x; give"),
        (WINS | {"count": [1.0, 1.5]}, {}, "row 12: count is 1.5; a count is a whole number, 0 or more"),
        (WINS | {"count": [1, 2**53]}, {},
         r"row 12: count is 9.0072e\+15, too many to count exactly; give less than 2\*\*53"),
        (WINS | {"count": [-1, 2]}, {}, "row 11: count is -1; give a finite number, 0 or more"),
        (SIDES | {"margin": [1.0, np.inf]}, {},
         r"row 12: margin is inf; give a finite number between -1e\+150 and 1e\+150"),
        (SIDES | {"margin": [2e150, 1.0]}, {}, r"row 11: margin is 2e\+150; give a finite number between"),
        (SIDES | {"home_goals": [1, None], "away_goals": [0, 1]}, {},
         "row 12: home_goals is empty; give what the side scored"),
        (SIDES | {"home_goals": [1, 2], "away_goals": [0, -1]}, {},
         "row 12: away_goals is -1; what a side scored is 0 or more"),
        (SIDES | {"home_goals": [1, 2], "away_goals": [0, 1], "FTR": ["H", "A"]}, {},
         "row 12: FTR A, home_goals 2, away_goals 1 do not agree; correct the row, or say that .* by left_goals=False"),
        (SIDES | {"winner_a": [1, 1], "winner_b": [0, 1], "winner_tie": [0, 0]}, {},
         "row 12: winner_a 1, winner_b 1, winner_tie 0; exactly one of them must be 1"),
        (SIDES | {"winner_a": [2, 1], "winner_b": [0, 0], "winner_tie": [-1, 0]}, {}, "row 11: winner_tie is -1"),
        (SIDES | {"winner_a": [0.5, 1], "winner_b": [0.5, 0], "winner_tie": [0, 0]}, {},
         "row 11: .*exactly one of them"),
        (WINS | {"judge": ["x", None]}, {},
         "row 12: column 'judge' is empty; give every row a label or remove the row"),
        (WINS | {"judge": ["x", "  "]}, {}, "row 12: column 'judge' is empty"),
        ({"winner": ["a", None], "loser": ["b", "c"]}, {}, "row 12: column 'winner' is empty"),
        ({"winner": ["a", "b"], "loser": ["b", "b"]}, {}, "row 12: 'b' is compared with itself; remove the row"),
        ({"winner": ["a", "b"], "loser": [1, 2]}, {}, "columns 'winner' and 'loser' hold labels of different kinds "
                                                      r"\(text and numbers\); make both text or both numbers"),
        (WINS | {"day": [1, None]}, {"time": "day"}, "row 12: day is empty; every vote needs its time"),
        (WINS | {"x": [1.0, None]}, {"covariates": "x"},
         "row 12: x is missing; fill it in, remove such rows, or leave the covariate out$"),
        (WINS | {"x_a": ["", "  "], "x_b": [1, 2]}, {"covariates": "x"}, "row 11: x_a is missing, as in row 12; fill"),
        (WINS | {"x": [None, float("inf")]}, {"covariates": "x"}, "row 11: x is missing; fill"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_file_and_row(columns, options, said):
    with pytest.raises(InputError, match=rf"^v\.csv, {said}"):
        made(columns, **options).read()
    nameless = said.replace("^", "")
    with pytest.raises(InputError, match=rf"^{nameless}"):
        made(columns, where="", **options).read()


def test_rows_that_were_left_out_count_in_the_numbers_of_the_others():
    kept = np.array([3, 7])
    with pytest.raises(InputError, match=r"^v\.csv, row 18: weight is -1"):
        made(WINS | {"weight": [1.0, -1.0]}, kept=kept).read()
    one = made(WINS, kept=kept)
    assert one.row_numbers().tolist() == [14, 18]
    assert one.row_numbers(np.array([1])).tolist() == [18]
    assert made(WINS).row_numbers().tolist() == [11, 12]


def test_labels_keep_their_codes_and_kinds_over_batches():
    seen = Seen(None)
    made(WINS, seen=seen).read()
    piece = made({"winner": ["d", "a"], "loser": ["c", "d"]}, seen=seen, row=12).read()
    assert (piece["left"].tolist(), piece["right"].tolist()) == ([3, 0], [2, 3])
    assert seen.items.place(3) == "v.csv, row 13"
    assert seen.items.place(1) == "v.csv, row 11"
    with pytest.raises(
        InputError, match=r"column 'winner' holds text in v\.csv and numbers in w\.csv, so labels cannot be"
    ):
        made({"winner": [1], "loser": [2]}, seen=seen, where="w.csv").read()
    nameless = Seen(None)
    nameless.same_kind("c", "text", "")
    nameless.same_kind("c", "text", "")
    with pytest.raises(InputError, match="holds text in one part and numbers in another"):
        nameless.same_kind("c", "numbers", "")


# ---- rankings -------------------------------------------------------------------------------------------------------


def lists(columns, **options):
    one = made(columns, **options)
    one.lists()
    return one.seen.lists.columns(one.fail), one.seen


def test_rankings_of_every_form_become_codes():
    for columns, options in (
        ({"ranking": ["a > b", "b"]}, {}), ({"ranking": [["a", "b"], ["b"]]}, {}),
        ({"Rank 1": ["a", "b"], "Rank 2": ["b", None]}, {}),
        ({"a": [1, None], "b": [2, 1]}, {"rank_columns": ["a", "b"]}),
        ({"user": [0, 0, 1], "item": ["a", "b", "b"], "rank": [1, 2, 1]}, {}),
    ):  # fmt: skip
        found, seen = lists(columns, **options)
        assert (found["item"].tolist(), found["start"].tolist(), found["tied"].tolist()) == (
            [0, 1, 1],
            [0, 2, 3],
            [0] * 3,
        )
        assert seen.items.labels == ("a", "b")


def test_a_ranking_that_counts_stands_as_often_with_what_is_beside_it():
    columns = {"ranking": [["a", "b"], ["b"], ["b", "a", "c"]], "count": [2, 0, 1], "weight": [0.5, 1.0, 2.0]}
    columns |= {"judge": list("xyx")}
    found, _ = lists(columns)
    assert found["item"].tolist() == [0, 1, 0, 1, 1, 0, 2]
    assert found["start"].tolist() == [0, 2, 4, 7]
    assert (found["weight"].tolist(), found["judge"].tolist()) == ([0.5, 0.5, 2.0], [0, 0, 0])
    tied, _ = lists({"ranking": ['["a", ["b", "c"]]', '["c"]']})
    assert (tied["tied"].tolist(), tied["item"].tolist()) == ([0, 0, 1, 0], [0, 1, 2, 2])


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ({"Rank 1": ["a", "  "], "Rank 2": ["b", None]}, {},
         "row 12: 'Rank 1' holds blanks only; leave the cell empty, or name"),
        ({"a": ["1", "2"], "b": ["2", "x"]}, {"rank_columns": ["a", "b"]},
         "row 12: 'b' is 'x', which is no rank; ranks are whole"),
        ({"user": [0, 0], "item": ["a", "b"], "rank": [1.0, 1.5]}, {},
         "row 12: 'b' has rank 1.5; ranks are whole numbers from 1"),
        ({"user": [0, 0], "item": ["a", "b"], "rank": [0, 1]}, {}, "row 11: 'a' has rank 0"),
        ({"user": [0, None], "item": ["a", "b"], "rank": [1, 2]}, {}, "row 12: column 'user' is empty"),
        ({"user": [0, 0], "item": ["a", None], "rank": [1, 2]}, {}, "row 12: column 'item' is empty"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_ranking_is_named(columns, options, said):
    with pytest.raises(InputError, match=rf"^v\.csv, {said}"):
        lists(columns, **options)


def test_rows_of_a_long_table_without_a_rank_say_nothing():
    one = made({"user": [0, 0, 1], "item": ["a", "b", "c"], "rank": [1, None, 1], "weight": [2.0, 2.0, 3.0]})
    rows = one.long_rows()
    assert {name: values.tolist() for name, values in rows.items()} == {
        "item": [0, 2], "rank": [1.0, 1.0], "row": [10, 12], "file": [0, 0], "judge": [0, 1],
        "weight": [2.0, 3.0]}  # fmt: skip
    again = made({"user": [1], "item": ["a"], "rank": [1]}, seen=one.seen, where="w.csv").long_rows()
    assert again["file"].tolist() == [1]
    assert one.seen.files == ["v.csv", "w.csv"]


@pytest.mark.parametrize(("most", "refused"), [(7, False), (6, True)])
def test_copies_of_rankings_make_pairs_up_to_so_many(monkeypatch, most, refused):
    """Three pairs of three items, twice, and one pair once: seven."""
    monkeypatch.setattr(batch, "MAX_PAIRS", most)
    columns = {"ranking": [["a", "b", "c"], ["b", "a"]], "count": [2, 1]}
    if refused:
        with pytest.raises(
            InputError, match=r"^v\.csv, row 12: with count 1 the rankings make 7 pairs, more than 6, and each"
        ):
            lists(columns)
    else:
        assert lists(columns)[1].pairs == 7
        _, seen = lists(columns)
        monkeypatch.setattr(batch, "MAX_PAIRS", 7.5)
        with pytest.raises(InputError, match="row 11: with count 1 the rankings make 8 pairs"):
            made({"ranking": [["a", "b"]], "count": [1]}, seen=seen).lists()
