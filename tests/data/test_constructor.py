"""The constructor of Comparisons is public: whatever it is given, it refuses with a sentence or holds a good value.

The kernels behind it read memory by the codes it holds, so that a bad one would end the process.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium import Comparisons
from podium.errors import InputError
from podium.pairwise.bradley_terry import BradleyTerry
from podium.pairwise.counting import WinRate

from helpers import thin_data
from reference import pair_table

N, ROWS = 3, 4
GOOD = {
    "items": "abc",
    "left": np.array([0, 1, 2, 0]),
    "right": np.array([1, 2, 0, 2]),
    "outcome": np.array([1, 0, -1, 1], np.int8),
    "weight": np.array([1.0, 2.0, 0.5, 1.0]),
    "weight_sq": np.array([1.0, 4.0, 0.25, 1.0]),
    "count": np.array([1, 2, 1, 3]),
    "margin": np.array([1.0, -2.0, 0.0, 3.0]),
    "margin_ss": np.zeros(ROWS),
    "judge": np.array([0, 1, 1, 0], np.int32),
    "judges": ("ann", "bob"),
    "group": np.array([0, 0, 1, 1], np.int32),
    "groups": (1, 2),
    "group_is": "group",
    "vote_is": "game",
    "covariates": np.array([[0.5], [1.0], [-1.0], [0.0]]),
    "covariate_names": ("length",),
    "sided": True,
    "ordered": False,
}

numbers = st.one_of(
    st.integers(-2, 4),
    st.sampled_from([5, -7, 100, 2**31, 2**53, 2**62, 2**63, 2**64, -(2**63), 0.5, 1e308, 1e200, -0.0, 1e-320]),
    st.sampled_from([float("nan"), float("inf"), -float("inf"), None, True, "a", "1", b"x", 1j, (), [1], {}]),
)
dtypes = [
    np.int8,
    np.uint8,
    np.int32,
    np.int64,
    np.uint64,
    np.float32,
    np.float64,
    bool,
    "U3",
    "M8[D]",
    "m8[s]",
    object,
]


@st.composite
def columns(draw):
    """Anything that could be handed over for a column: lists and arrays of every length, type, shape and layout."""
    values = draw(st.lists(numbers, min_size=0, max_size=9)) if draw(st.booleans()) else [1] * draw(st.integers(0, 9))
    kind = draw(
        st.sampled_from(["list", "tuple", "array", "strided", "backwards", "table", "masked", "scalar", "none"])
    )
    if kind == "none":
        return None
    if kind == "scalar":
        return draw(numbers)
    if kind in ("list", "tuple"):
        return values if kind == "list" else tuple(values)
    try:
        with np.errstate(all="ignore"):
            array = np.array(values, dtype=draw(st.sampled_from(dtypes)))
    except (TypeError, ValueError, OverflowError):
        array = np.ones(len(values), dtype=np.int64)
    if kind == "strided":
        return np.repeat(array, 2)[::2]
    if kind == "backwards":
        return array[::-1]
    if kind == "table":
        return np.asfortranarray(np.stack([array, array], axis=draw(st.sampled_from([0, -1]))))
    if kind == "masked":
        return np.ma.array(array, mask=draw(st.booleans()))
    return array


labels = st.one_of(
    st.lists(st.one_of(numbers, st.text(max_size=2)), max_size=4),
    st.sampled_from(["abc", "aab", "a", "", range(3), range(0), {"a": 1, "b": 2, "c": 3}, np.array(["a", "b", "c"])]),
    st.sampled_from([5, None, np.array(3), np.eye(3), [["a"], "b"], [("a", ["b"]), "b"], ("a", None), ["\ud800", "b"]]),
)
anything = {name: columns() for name in GOOD} | dict.fromkeys(["items", "judges", "groups", "covariate_names"], labels)
anything |= {name: st.sampled_from([True, False, 1, "yes", None, np.True_]) for name in ("sided", "ordered")}
anything["vote_is"] = st.sampled_from(["vote", "game", "match", None, 3, []])
anything["group_is"] = st.sampled_from(["group", "ranking", "judge", None, 3, []])


def good_part(draw):
    """A good set of arguments: those that come together, together."""
    kept = {"items", "left", "right"}
    for together in (["outcome"], ["weight"], ["weight", "weight_sq"], ["count"], ["margin"], ["margin", "margin_ss"]):
        kept |= set(together) if draw(st.booleans()) else set()
    for together in (["judge", "judges"], ["group", "groups"], ["covariates", "covariate_names"], ["sided"]):
        kept |= set(together) if draw(st.booleans()) else set()
    return {name: GOOD[name] for name in kept}


@st.composite
def malformed(draw):
    given = good_part(draw)
    for name in draw(st.lists(st.sampled_from(sorted(GOOD)), min_size=1, max_size=3, unique=True)):
        given[name] = draw(anything[name])
    return given


def assert_good(c):
    """Everything a holder relies on, read off with plain Python."""
    n, rows = len(c.items), len(c.left)
    assert n >= 2
    assert rows >= 1
    assert len(set(c.items)) == n
    for name in ("left", "right", "outcome", "weight", "weight_sq", "count", "margin", "margin_ss", "judge", "group"):
        column = getattr(c, name)
        if column is not None:
            assert column.shape == (rows,), name
            assert column.flags.c_contiguous, name
    assert all(0 <= i < n and 0 <= j < n and i != j for i, j in zip(c.left.tolist(), c.right.tolist(), strict=True))
    assert c.left.dtype == c.right.dtype
    assert c.left.dtype in (np.int32, np.int64)
    assert c.outcome is None or set(c.outcome.tolist()) <= {-1, 0, 1}
    for name in ("weight", "weight_sq", "margin_ss", "margin"):
        column = getattr(c, name)
        assert column is None or (column.dtype == np.float64 and np.isfinite(column).all()), name
        assert column is None or name == "margin" or (column >= 0).all(), name
    assert c.weight is None or (c.weight > 0).all()
    assert c.count is None or (c.count.dtype == np.int64 and (c.count >= 1).all())
    for codes, known in ((c.judge, c.judges), (c.group, c.groups)):
        assert codes is None or all(0 <= code < len(known) for code in codes.tolist())
        assert (codes is None) == (known == ())
    if c.covariates is not None:
        assert c.covariates.shape == (rows, len(c.covariate_names))
        assert np.isfinite(c.covariates).all()
    assert len(c) == (rows if c.count is None else sum(c.count.tolist()))


@settings(max_examples=400, deadline=None)
@given(malformed())
def test_the_constructor_refuses_with_a_sentence_or_holds_a_good_value(arguments):
    try:
        c = Comparisons(**arguments)
    except InputError:
        return
    assert_good(c)
    assert np.isfinite(c.pairs.total).all()
    with thin_data():
        assert np.isfinite(WinRate().fit(c).ranking_.scores).all()
    assert_good(replace(c, sided=not c.sided))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_good_arguments_are_taken_in_every_layout(data):
    given = good_part(data.draw)
    plain = Comparisons(**given)
    for change in (lambda a: a.tolist(), lambda a: np.repeat(a, 2, axis=0)[::2], lambda a: np.asfortranarray(a)):
        other = Comparisons(**{key: change(v) if isinstance(v, np.ndarray) else v for key, v in given.items()})
        assert_good(other)
        assert [column.tolist() for column in other.pairs] == [column.tolist() for column in plain.pairs]
        assert other.weight_squares().tolist() == plain.weight_squares().tolist()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_pairs_of_the_constructor_are_those_of_a_plain_loop(data):
    given = good_part(data.draw) | {"sided": False}
    c = Comparisons(**given)
    weight = given.get("weight", given.get("count", np.ones(ROWS)))
    outcome = (given.get("outcome", np.ones(ROWS)) + 1) / 2
    rows = zip(given["left"].tolist(), given["right"].tolist(), outcome.tolist(), weight.tolist(), strict=True)
    found = {(i, j): [a, b, t] for i, j, a, b, t in zip(*(column.tolist() for column in c.pairs), strict=True)}
    assert found == {pair: pytest.approx(counts) for pair, counts in pair_table(list(rows)).items()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"left": np.zeros(5_000_000, int), "right": np.ones(1, int)},
            "left has 5,000,000 rows, right 1; they must match",
        ),
        ({"outcome": np.array([1], np.int8)}, r"outcome has shape \(1,\), the votes have 4 rows"),
        ({"outcome": np.array([5, -7, 100, 0])}, "row 1: outcome is 5; give 1 where left won"),
        ({"outcome": [1, 0.5, 0, 1]}, "outcome: integers are expected, not float64; give 1 where left won"),
        ({"outcome": [True, False, True, True]}, "outcome: integers are expected, not bool"),
        ({"left": [0, 1, 3, 0]}, r"row 3: code 3 is outside 0\.\.2"),
        ({"left": [0, 2, 2, 0]}, "row 2: 'c' is compared with itself"),
        ({"weight": [1, 1, -1, 1]}, "row 3: weight is -1; it must be a finite number of at least 0"),
        ({"weight": [1, 1, 1, 1e200]}, r"row 4: weight is 1e\+200, too large to be summed"),
        (
            {"weight": [0, 1e-200, 1e-150, 0]},
            "row 3: weight is 1e-150, too small to be squared, and no other is larger",
        ),
        ({"weight": np.ma.array([1.0] * 4, mask=[0, 0, 1, 0])}, "row 3: weight is masked"),
        ({"weight_sq": [1.0] * 4}, "weight_sq is given without weight"),
        ({"margin_ss": [1.0] * 4}, "margin_ss is given without margin"),
        ({"margin": [1.0, 2.0, np.nan, 0.0]}, "row 3: margin is nan; it must be a finite number"),
        ({"count": [1, 1, 0, 1]}, "row 3: count is 0; it must be at least 1"),
        ({"count": [1, 1.5, 1, 1]}, "count: whole numbers are expected, not float64"),
        ({"judge": [0, 0, 1, 0], "judges": ["ann"]}, "row 3: judge 1 is outside the 1 places of `judges`"),
        ({"judge": [0, 0, 1, 0]}, "row 1: judge 0 is outside the 0 places of `judges`"),
        ({"judges": ["ann"]}, "judges are listed and no row has one; give judge= too"),
        ({"groups": ["x", "x"], "group": [0] * 4}, "groups: 'x' appears twice"),
        ({"covariates": np.ones((4, 2)), "covariate_names": ["x"]}, "covariates have 2 columns and covariate_names 1"),
        ({"covariates": [[1.0], [np.inf], [0.0], [0.0]]}, "row 2: covariate 'x1' is inf"),
        ({"covariate_names": ["x"]}, "covariate_names are given without covariates"),
        ({"group_is": "judge"}, "group_is is 'judge'; choose 'group' or 'ranking'"),
        ({"vote_is": "match"}, "vote_is is 'match'; choose 'vote' or 'game'"),
        ({"sided": "no"}, "sided is 'no'; give True or False"),
        ({"items": ["a", None, "b"]}, r"items: place 2 is missing \(None\); name every item"),
        ({"items": 3}, "items: 3 is no list of labels"),
    ],
)
def test_what_is_wrong_is_named(change, message):
    with pytest.raises(InputError, match=message):
        Comparisons(**{name: GOOD[name] for name in ("items", "left", "right")} | change)


def test_equal_votes_of_a_row_share_its_weight():
    """Five votes of weight 0.4 are one row of weight 2: its squares are 5 · 0.16, not 2²."""
    counted = Comparisons("ab", [0], [1], count=[5], weight=[2.0])
    single = Comparisons("ab", [0] * 5, [1] * 5, weight=[0.4] * 5)
    assert counted.pairs.left_wins_sq.tolist() == pytest.approx(single.pairs.left_wins_sq.tolist())


def test_rows_of_weight_zero_go_and_their_items_stay():
    c = Comparisons("abc", [0, 1], [1, 2], weight=[1.0, 0.0], margin=[1.0, 2.0])
    assert (len(c), c.items, c.margin.tolist()) == (1, ("a", "b", "c"), [1.0])
    with pytest.raises(InputError, match="no votes"):
        Comparisons("ab", [0], [1], weight=[0.0])


def test_every_second_row_is_taken():
    c = Comparisons(**GOOD)
    part = c.take(slice(None, None, 2))
    assert_good(part)
    assert part.left.tolist() == [0, 2]
    with thin_data():
        BradleyTerry().fit(Comparisons.from_pairs([("a", "b"), ("b", "a"), ("b", "a")]).take(slice(None, None, 2)))


@pytest.mark.parametrize("items", [["\ud800", "b"], ["a", None], ["a", float("nan")], ["a", "a"], ["a", ["b"]], 5])
def test_both_ways_to_list_items_refuse_the_same(items):
    with pytest.raises(InputError) as by_constructor:
        Comparisons(items, [0], [1])
    with pytest.raises(InputError) as by_arrays:
        Comparisons.from_arrays([0], [1], items=items)
    assert str(by_arrays.value) == str(by_constructor.value)


@pytest.mark.parametrize("margin", [1e151, 1e308])
def test_a_margin_whose_square_is_no_number_is_refused_everywhere(margin):
    for make in (
        lambda: Comparisons("ab", [0, 0], [1, 1], margin=[1.0, -margin]),
        lambda: Comparisons.from_arrays([0, 0], [1, 1], items="ab", margin=[1.0, margin]),
        lambda: Comparisons.from_frame({"left": ["a"] * 2, "right": ["b"] * 2, "margin": [1.0, -margin]}),
    ):
        with pytest.raises(InputError, match=r"row 2: margin is .*between"):
            make()
    assert Comparisons("ab", [0], [1], margin=[1e149]).margin[0] == 1e149
