"""Labels as people write them: ordered categories, "3-4", intervals, words without an order."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.errors import DataWarning, InputError
from podium.ordinal import CumulativeLogit, MedianBaseline, PassiveAggressiveOrdinal, errors, read_labels

LEVELS = ["low", "medium", "high"]
WORDS = np.repeat(LEVELS, 20)
X = np.arange(60.0)[:, None]
ORDERED = pd.Categorical(WORDS, categories=LEVELS, ordered=True)


@pytest.mark.parametrize(
    "labels",
    [
        {"y": ORDERED},
        {"y": pd.Series(ORDERED)},
        {"y": pd.DataFrame({"low": ORDERED, "high": ORDERED})},
        {"y_lower": pd.Series(ORDERED), "y_upper": pd.Series(ORDERED)},
        {"y": pl.Series(WORDS.tolist(), dtype=pl.Enum(LEVELS))},
    ],
)
@pytest.mark.parametrize("make", [CumulativeLogit, PassiveAggressiveOrdinal])
def test_the_order_of_categories_is_the_order_of_grades(labels, make):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = make().fit(X, **labels)
    assert model.classes_.tolist() == LEVELS
    assert model.predict([[0.0], [30.0], [59.0]]).tolist() == LEVELS


def test_a_category_that_does_not_occur_keeps_its_place():
    seen = pd.Categorical(["low", "high"] * 30, categories=LEVELS, ordered=True)
    assert read_labels(seen)[2].tolist() == LEVELS
    assert errors(seen[:2], ["high", "high"]).tolist() == [2, 0]


def test_named_classes_win_over_categories():
    assert CumulativeLogit(classes=LEVELS[::-1]).fit(X, ORDERED).classes_.tolist() == LEVELS[::-1]


def test_ends_with_different_orders_are_refused():
    other = pd.Categorical(WORDS, categories=LEVELS[::-1], ordered=True)
    with pytest.raises(InputError, match="different orders"):
        read_labels(y_lower=pd.Series(ORDERED), y_upper=pd.Series(other))


@pytest.mark.parametrize("column", [WORDS, WORDS.tolist(), pd.Categorical(WORDS), pl.Series(WORDS.tolist())])
@pytest.mark.parametrize("make", [CumulativeLogit, PassiveAggressiveOrdinal])
def test_words_say_in_which_order_they_were_taken(column, make):
    with pytest.warns(DataWarning, match="order of the alphabet: high < low < medium") as told:
        make().fit(X, column)
    assert told[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(classes=LEVELS).fit(X, column)


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1), st.sampled_from(["-", " - ", "–", ".."])
)
def test_written_ranges_are_the_two_columns(ends, dash):
    lower, upper = np.sort(np.array(ends).reshape(-1, 2), axis=1).T
    text = [str(a) if a == b else f"{a}{dash}{b}" for a, b in zip(lower, upper, strict=True)]
    low, high, grades = read_labels(text)
    expected = read_labels(y_lower=lower, y_upper=upper)
    assert [int(g) for g in grades] == expected[2].tolist()  # text of numbers is sorted by number
    assert low.tolist() == expected[0].tolist()
    assert high.tolist() == expected[1].tolist()
    known = read_labels(text, classes=np.arange(13))
    assert (known[0].tolist(), known[1].tolist()) == (lower.tolist(), upper.tolist())


@pytest.mark.parametrize(
    ("labels", "classes", "expected"),
    [
        (["low", "low-medium", "high"], LEVELS, [(0, 0), (0, 1), (2, 2)]),
        (["1-2", "3-4"], ["1-2", "3-4"], [(0, 0), (1, 1)]),  # grades of that name
        ([pd.Interval(1, 2, closed="both"), pd.Interval(2, 4)], None, [(0, 1), (2, 3)]),
        ([pd.Interval(-np.inf, 2), pd.Interval(3, np.inf, closed="left")], [1, 2, 3, 4], [(0, 1), (2, 3)]),
        (pd.arrays.IntervalArray.from_tuples([(1, 3), (0, 1)]), None, [(1, 2), (0, 0)]),
        (np.array([1, 2, "2-3"], dtype=object), None, [(0, 0), (1, 1), (1, 2)]),
        (["-1", "-1-2", "2"], None, [(0, 0), (0, 1), (1, 1)]),
    ],
)
def test_ranges_in_one_column(labels, classes, expected):
    low, high, _ = read_labels(labels, classes=None if classes is None else np.array(classes))
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == expected


def test_bins_of_pandas_are_grades_in_their_order():
    low, high, grades = read_labels(pd.cut(np.arange(9), 3))
    assert (low == high).all()
    assert low.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert len(grades) == 3


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        (["1", "4-2"], None, "row 2: the range .* lower end above"),
        (["1", "2-9"], [1, 2, 3], "row 2: '2-9' is not one of the grades"),
        (["1-2", None], None, "row 2: no grade"),
        (
            ["1-2", "2", "≥3"],
            None,
            "row 3: the grade '≥3' is no number and no range such as '1-2'; correct it, or name",
        ),
        ([pd.Interval(0.5, 2.5)], None, "row 1: the interval .* leaves out an end"),
    ],
)
def test_ranges_that_cannot_be_read_are_refused(labels, classes, message):
    with pytest.raises(InputError, match=message):
        read_labels(np.array(labels, dtype=object), classes=None if classes is None else np.array(classes))


def test_a_single_example_may_have_a_written_range():
    pair, text, interval = (PassiveAggressiveOrdinal(C=1.0, classes=[1, 2, 3, 4]) for _ in range(3))
    for x in (1.0, -1.0, 2.0):
        pair.learn_one([x], (3, 4))
        text.learn_one([x], "3-4")
        interval.learn_one([x], pd.Interval(3, 4, closed="both"))
    assert text.thresholds_.tolist() == interval.thresholds_.tolist() == pair.thresholds_.tolist()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("far", [1e19, 1e300])
def test_grades_beyond_whole_numbers_of_64_bits_are_labels_like_others(far):
    assert MedianBaseline().fit([[1.0], [2.0]], [1.0, far]).classes_.tolist() == [1.0, far]


def test_ends_given_alone_are_open_on_the_other_side():
    both = [[1, 2, 3], [2, 3, 3]]
    for ends, rows in (
        ({"y_lower": both[0]}, [[low, None] for low in both[0]]),
        ({"y_upper": both[1]}, [[None, high] for high in both[1]]),
        ({"y_lower": both[0], "y_upper": both[1]}, np.transpose(both).tolist()),
    ):
        alone = read_labels(**ends, classes=[1, 2, 3])
        together = read_labels(np.array(rows, dtype=object), None, None, classes=[1, 2, 3])
        assert [each.tolist() for each in alone] == [each.tolist() for each in together]


def test_a_range_the_wrong_way_round_by_the_alphabet_says_how_the_grades_go():
    with pytest.raises(InputError) as found:
        read_labels(None, y_lower=["solid", "poor"], y_upper=["fine", "solid"])
    assert str(found.value) == (
        "row 1: the range ['solid', 'fine'] has its lower end above its upper end, as the grades go "
        "'fine', 'poor', 'solid'; swap them, or name the grades from lowest to highest by classes="
    )
    with pytest.raises(InputError, match=r"row 2: the range \[3, 2\] has its lower end above its upper end; swap them"):
        read_labels(None, y_lower=[1, 3], y_upper=[2, 2])
