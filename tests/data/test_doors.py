"""The doors through which columns and options come: what passes, what is refused nearest to it, and in which row."""

import types
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from podium import Comparisons
from podium.data import validation
from podium.data.connectivity import _groups_between, check_connected, groups_of
from podium.data.features.moments import _dependent, column_moments, warn_of_columns
from podium.data.pairs import Adjacency, count_rows, count_table
from podium.data.splits import deal
from podium.errors import ConnectivityWarning, DataWarning, InputError, NotFittedError, PodiumWarning, SeparationWarning

TINY = 5e-324


@pytest.mark.parametrize(
    ("limits", "taken", "refused"),
    [
        (
            {},
            [0, -1.5, 1.7e308, np.float32(2), np.int8(3)],
            [float("nan"), np.inf, -np.inf, "1", None, True, 1j, 10**400],
        ),
        ({"least": 1}, [1, 1.5], [1 - 1e-15, 0]),
        ({"above": 1}, [1 + 1e-15, 2], [1, 0]),
        ({"below": 1}, [1 - 1e-15, -5], [1, 2]),
        ({"least": 0, "below": 1}, [0, 0.5], [-TINY, 1]),
        ({"whole": True}, [0, -3, np.int64(5), 2**63 - 1], [0.0, 1.5, True, "1", 2**63]),
        ({"whole": True, "least": 2}, [2], [1]),
    ],
)
def test_a_number_is_finite_and_within_its_limits(limits, taken, refused):
    for value in taken:
        assert validation.number_option("x", value, **limits) == float(value)
    for value in refused:
        with pytest.raises(InputError, match=r"^x=.*it must be a"):
            validation.number_option("x", value, **limits)


def test_limits_are_told():
    for limits, says in (
        ({"least": 2, "whole": True}, "a whole number of at least 2"),
        ({"above": 0, "below": 1}, "a finite number above 0 and below 1"),
        ({"least": 0, "more": ", or 'auto'"}, "a finite number of at least 0, or 'auto'"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=rf"^x=-9: it must be {says}$"):
            validation.number_option("x", -9, **limits)
    with pytest.raises(InputError, match=r"at most 9,223,372,036,854,775,807"):
        validation.whole_option("x", 2**63, least=0)


def test_seeds_words_flags_and_names():
    assert [validation.seed_option("s", value) for value in (None, 0, 2**63 - 1, 2**200)] == [
        None,
        0,
        2**63 - 1,
        2**200,
    ]
    for value in (-1, 1.0, "1"):
        with pytest.raises(InputError, match="s="):
            validation.seed_option("s", value)
    assert isinstance(validation.whole_option("n", np.int8(3), least=0), int)
    assert validation.choice_option("c", "b", ("a", "b")) == "b"
    for known, says in ((("a",), "use 'a'"), (("a", "b"), "use 'a' or 'b'"), (("a", "b", "c"), "use 'a', 'b' or 'c'")):
        with pytest.raises(InputError, match=f"c='x' is not known; {says}$"):
            validation.choice_option("c", "x", known)
    assert validation.flag_option("f", np.True_) is True
    assert validation.flag_option("f", False) is False
    with pytest.raises(InputError, match="f=1: it must be True or False"):
        validation.flag_option("f", 1)
    assert validation.names_option("id", ("b", "a", "b")) == ("b", "a")
    with pytest.raises(InputError, match=r"id=.*: it must be the name of a column"):
        validation.names_option("id", ["a", 1])


def test_an_estimator_that_was_not_fitted_is_ours_to_name():
    from podium.ordinal import PRank

    with pytest.raises(NotFittedError):
        validation.check_is_fitted(PRank(), "coef_")
    validation.check_is_fitted(PRank().fit([[1.0], [2.0]], [1, 2]), "coef_")


@pytest.mark.parametrize(
    ("door", "taken", "refused"),
    [
        (lambda v: validation.outcome_column(v, 2), [1, -1],
         {(1, 2): "row 2: outcome is 2", (-2, 1): "row 1: outcome is -2"}),
        (lambda v: validation.count_column(v, 2), [1, 2**53 - 1],
         {(1, 0): "row 2: count is 0", (2**53, 1): "row 1: count is"}),
        (lambda v: validation.members(v, "ab", "judge", 2), [0, 1],
         {(0, 2): "row 2: judge 2 is outside the 2 places of `judges`", (-1, 0): "row 1: judge -1"}),
        (lambda v: validation.share_column(v, np.array([2, 3]), 2), [0, 3],
         {(3, 0): "row 1: counts is 3; it must be at least 0, and the row stands for 2",
          (0, -1): "row 2: counts is -1"}),
        (lambda v: validation.share_column(v, None, 2), [0, 2**53],
         {(0, 2**53 + 1): "row 2: counts is", (-1, 1): "row 1"}),
        (lambda v: validation.time_column(v, 2), [1e15, -1e15],
         {(0, 1.1e15): "row 2: time is 1.1e.15; give a number between ±1e.15", (np.nan, 0): "row 1: time is nan"}),
        (lambda v: validation.non_negative_column(v, "weight", 2), [0, 1e300],
         {(1, -1): "row 2: weight is -1; it must be a finite number of at least 0",
          (np.inf, 1): "row 1", (1, np.nan): "row 2"}),
        (lambda v: validation.non_negative_column(v, "margin", 2, -np.inf), [-1e150, 1e150],
         {(1, 1.1e150): "row 2: margin is .*between ±1e.150", (-1.1e150, 1): "row 1: margin",
          (np.nan, 1): "row 1: .*a finite number$"}),
        (lambda v: validation.row_numbers(v, 2), [-2, 1],
         {(0, 2): "there is no 2; numbers go from 0 to 1", (-3, 0): "there is no -3"}),
    ],
)  # fmt: skip
def test_columns_are_refused_by_their_row(door, taken, refused):
    assert door(np.array(taken)).tolist() == taken
    for values, says in refused.items():
        with pytest.raises(InputError, match=says):
            door(np.array(values))
    with pytest.raises(InputError, match=r"shape|one column is expected"):
        door(np.array([[1, 1]]))
    with pytest.raises(InputError, match=r"numbers are expected|integer"):
        door(np.array(["a", "b"]))


def test_a_column_has_as_many_rows_as_the_votes():
    for door in (
        lambda v: validation.outcome_column(v, 2), lambda v: validation.count_column(v, 2),
        lambda v: validation.members(v, "ab", "judge", 2), lambda v: validation.share_column(v, None, 2),
        lambda v: validation.time_column(v, 2), lambda v: validation.non_negative_column(v, "weight", 2),
    ):  # fmt: skip
        with pytest.raises(InputError, match=r"has shape \(3,\), the votes have 2 rows; they must match"):
            door(np.array([1, 1, 1]))
    assert validation.members(np.array([0, 1], np.int64), "ab", "judge", 2).dtype == np.int32


def test_columns_of_other_kinds_are_what_they_say():
    assert validation.row_numbers([True, False, True], 3).tolist() == [0, 2]
    with pytest.raises(InputError, match=r"a mask of shape \(2,\) for 3 rows"):
        validation.row_numbers([True, False], 3)
    assert validation.outcome_column([], 0).dtype == np.int8
    assert validation.code_column(np.array([1, 2], np.uint8), "left").dtype == np.int64
    assert validation.code_column(np.array([1, 2], np.int32), "left").dtype == np.int32
    with pytest.raises(
        InputError, match=r"left: with `items`, integer codes are expected, not float64; leave `items` out"
    ):
        validation.code_column([0.5], "left")
    with pytest.raises(InputError, match=r"row 2: x is masked; remove the row"):
        validation.array_of(np.ma.masked_array([1, 2], [False, True]), "x")
    with pytest.raises(InputError, match=r"x: numbers are expected \(rows differ in length"):
        validation.array_of([[1], [1, 2]], "x")
    for values in (np.array([1j]), np.array(["2020-01-01"], "M8[D]"), [10**400]):
        with pytest.raises(InputError, match="x: numbers are expected"):
            validation.array_of(values, "x", np.float64)
    with pytest.raises(InputError, match="x: numbers are expected"):
        validation.array_of(np.array([1e300]), "x", np.float32)
    whole = np.arange(3.0)
    assert validation.array_of(whole, "x", np.float64) is whole


def test_weights_are_neither_too_large_nor_all_too_small():
    for weight in ([0.0, 0.0], [1e-140], [1e140], [1e-300, 1.0], []):
        validation.check_weights(np.array(weight))
    with pytest.raises(InputError, match=r"row 2: weight is 1.1e.140, too large to be summed; divide all weights by"):
        validation.check_weights(np.array([1.0, 1.1e140]))
    with pytest.raises(
        InputError, match="row 1: weight is 9e-141, too small to be squared, and no other is larger; multiply"
    ):
        validation.check_weights(np.array([0.9e-140, 1e-200]))
    validation.heaviest(np.array([1e150]))
    validation.heaviest(np.array([]))
    with pytest.raises(InputError, match=r"row 2: its weight is 1.1e.150; divide all weights by one number"):
        validation.heaviest(np.array([1.0, 1.1e150]))


def test_covariates_are_a_table_with_names():
    table, names = validation.covariate_table({"a": [1, 2], "b": [3.0, 1e150]}, 2)
    assert (table.tolist(), names) == ([[1.0, 3.0], [2.0, 1e150]], ("a", "b"))
    table, names = validation.covariate_table([1, 2], 2)
    assert (table.tolist(), names) == ([[1.0], [2.0]], ("x1",))
    assert validation.covariate_table(np.ones((2, 3)), 2)[1] == ("x1", "x2", "x3")
    for values in ({}, np.ones((3, 1)), np.ones((2, 0)), np.ones((2, 1, 1)), 3.0):
        with pytest.raises(InputError, match=r"covariates have shape .*, the votes have 2 rows; they must match"):
            validation.covariate_table(values, 2)
    with pytest.raises(InputError, match=r"row 2: covariate 'b' is 1.1e.150; it must lie between ±1e.150"):
        validation.covariate_table({"a": [1, 2], "b": [1, 1.1e150]}, 2)
    with pytest.raises(InputError, match="row 1: covariate 'a' is nan; it must be finite"):
        validation.covariate_table({"a": [np.nan, 2]}, 2)


def test_lists_pairs_labels_and_kinds():
    assert validation.union_of_labels("ab", "bca")[0] == ("a", "b", "c")
    assert validation.union_of_labels("ab", "bca")[1].tolist() == [1, 2, 0]
    assert [validation.is_one(each) for each in ("ab", b"a", 3, np.array(3), [3], np.array([3]), {})] == [True] * 4 + [
        False
    ] * 3
    assert [validation.is_pair(each) for each in ((1, 2), [1], np.zeros(2), "ab", {1, 2}, 5)] == [True, False, True] + [
        False
    ] * 3
    with pytest.raises(InputError, match="x is 'ab'; give names"):
        validation.entries_of("x", "ab", "names")
    assert validation.distinct_labels(range(3)) == range(3)
    for items in (3, np.eye(2)):
        with pytest.raises(InputError, match="is no list of labels"):
            validation.distinct_labels(items)
    with pytest.raises(InputError, match="items: 'a' appears twice; labels must differ"):
        validation.distinct_labels(["a", "b", "a"])
    with pytest.raises(InputError, match=r"items: \[1\] cannot be a label"):
        validation.distinct_labels([[1]])
    with pytest.raises(InputError, match="x must be an Adjacency, not int"):
        validation.instance_of(Adjacency, 3, "x")
    with pytest.raises(InputError, match="x must be a Comparisons, not str"):
        validation.instance_of(Comparisons, "s", "x")
    for shape, fine in (
        ((2, 3), True),
        ((None, 3), True),
        ((2, None), True),
        ((3, 2), False),
        ((6,), False),
        (None, True),
    ):
        if fine:
            assert validation.floats_of("x", np.ones((2, 3)), shape).shape == (2, 3)
        else:
            with pytest.raises(InputError, match=r"x: shape \(2, 3\) is given; it must be \("):
                validation.floats_of("x", np.ones((2, 3)), shape)


@pytest.mark.parametrize("form", ["csr_array", "csc_array"])
def test_a_sparse_table_is_sound_where_it_points_into_its_own_arrays(form):
    good = getattr(sparse, form)(np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]))
    assert validation.is_sound(good)
    assert validation.is_sound(getattr(sparse, form)((2, 3)))
    assert validation.is_sound(np.eye(2))
    assert validation.is_sound(sparse.coo_array(good))
    minor = good.shape[1] if form == "csr_array" else good.shape[0]

    def with_parts(**parts):
        whole = {
            "format": good.format,
            "shape": good.shape,
            "indptr": good.indptr,
            "indices": good.indices,
            "data": good.data,
        }
        return types.SimpleNamespace(**(whole | parts))

    assert validation.is_sound(with_parts())
    for parts in (
        {"indices": np.full(3, minor)}, {"indices": np.array([0, 0, -1])}, {"indptr": good.indptr + 1},
        {"indptr": good.indptr[:-1]}, {"indptr": np.where(np.arange(len(good.indptr)) == 1, 9, good.indptr)},
        {"data": good.data[:-1]}, {"indices": good.indices[:-1]},
    ):  # fmt: skip
        assert not validation.is_sound(with_parts(**parts))
    assert validation.is_sound(with_parts(indices=np.append(good.indices, 99), data=np.append(good.data, 1.0)))


# ---- dealing, groups ------------------------------------------------------------------------------------------------


def test_votes_are_dealt_evenly_and_rankings_whole():
    rng = np.random.default_rng(0)
    votes = Comparisons.from_pairs([("a", "b")] * 11)
    dealt = deal(votes, 4, rng)
    assert sorted(dealt.sum(axis=0).tolist()) == [2, 3, 3, 3]
    assert (dealt.sum(axis=1) == 1).all()
    assert deal(votes.take(slice(0, 8)), 4, rng).sum() == 8
    with pytest.raises(InputError, match="7 votes cannot be dealt into 4 parts; ask for fewer"):
        deal(votes.take(slice(0, 7)), 4, rng)
    counted = Comparisons.from_frame({"winner": ["a", "b"], "loser": ["b", "a"], "count": [5, 3]}, count="count")
    dealt = deal(counted, 4, rng)
    assert dealt.sum(axis=1).tolist() == [5, 3]
    with pytest.raises(InputError, match="8 votes cannot be dealt into 5 parts"):
        deal(counted, 5, rng)
    lists = Comparisons.from_rankings([["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]])
    dealt = deal(lists, 3, rng)
    for group in range(3):
        assert len(set(np.argmax(dealt[lists.group == group], axis=1).tolist())) == 1
    assert dealt.sum(axis=0).tolist() == [3, 3, 3]
    with pytest.raises(InputError, match="3 rankings cannot be dealt into 4 parts"):
        deal(lists, 4, rng)


def said(pairs, l2=1.0):
    votes = Comparisons.from_pairs(pairs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PodiumWarning)
        check_connected(votes.items, votes.adjacency, l2)
    return [(one.category, str(one.message)) for one in caught]


def test_what_the_votes_cannot_place_is_said_in_words():
    circle = [("a", "b"), ("b", "c"), ("c", "a")]
    assert said(circle) == []
    apart = [*circle, ("x", "y"), ("y", "x"), ("p", "q"), ("q", "p"), ("s", "t"), ("t", "s")]
    ((kind, text),) = said(apart[:7])
    assert kind is ConnectivityWarning
    assert text.startswith("items fall into 3 groups never compared with each other: ['a', 'b', 'c'], ")
    assert ", …" not in text
    assert ", …; scores" in said(apart)[0][1]
    with pytest.raises(InputError, match=r"4 groups never compared .*; compare across groups, or set l2 > 0"):
        said(apart, l2=0)
    ((kind, text),) = said([*circle, ("top", "a")])
    assert kind is SeparationWarning
    assert text == "'top' never loses; the distance to the rest is set by l2 = 1 alone, and intervals are open-ended"
    assert "set by the penalty alone" in said([*circle, ("top", "a")], l2=None)[0][1]
    assert said([*circle, ("top", "a"), ("a", "low")])[0][1].startswith("'top' never loses and 'low' never wins;")
    both = said([*circle, ("top", "a"), ("best", "a"), ("a", "low")])[0][1]
    assert both.startswith("'top' and 'best' never lose, and 'low' never wins;")
    with pytest.raises(InputError, match="'top' never loses, so no finite scores exist; set l2 > 0"):
        said([*circle, ("top", "a")], l2=0)
    over = [*circle, ("x", "y"), ("y", "x"), ("x", "a")]
    assert said(over)[0][1].startswith("the group ['x', 'y'] never loses to the rest;")


def test_groups_one_above_the_other_are_counted():
    pairs = [(a, b) for k in range(5) for a, b in [(f"{k}a", f"{k}b"), (f"{k}b", f"{k}a")]]
    pairs += [(f"{k}a", f"{k + 1}a") for k in range(4)]
    votes = Comparisons.from_pairs(pairs)
    assert _groups_between(votes.adjacency) == 3
    chain = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "d")])
    assert _groups_between(chain.adjacency) == 2
    assert _groups_between(Comparisons.from_pairs([("a", "b"), ("b", "c")]).adjacency) == 0
    assert (
        "and 2 groups in between only ever beat those below; all their distances are"
        in said([("a", "b"), ("b", "c"), ("c", "d")])[0][1]
    )
    assert groups_of("abcd", np.array([0, 1, 1, 2])) == [("b", "c"), ("a",), ("d",)]


# ---- pairs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sided", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_pairs_are_those_of_a_loop(sided, weighted):
    rng = np.random.default_rng(5)
    left = rng.integers(0, 4, 40).astype(np.int32)
    right = ((left + rng.integers(1, 4, 40)) % 4).astype(np.int32)
    outcome = rng.integers(-1, 2, 40).astype(np.int8)
    weight = rng.exponential(size=40) if weighted else np.ones(40)
    margin, within = rng.normal(size=40), rng.exponential(size=40)
    found = count_rows(
        left, right, 4, outcome=outcome, weight=weight if weighted else None, weight_sq=weight**2 if weighted else None,
        margin=margin, margin_ss=within, sided=sided,
    )  # fmt: skip
    sums = {}
    for k in range(40):
        a, b = int(left[k]), int(right[k])
        key, sign = ((a, b), 1) if sided or a < b else ((b, a), -1)
        place = {1: 0, -1: 1, 0: 2}[sign * int(outcome[k])]
        sums.setdefault(key, []).append((place, weight[k], sign * margin[k], within[k]))
    assert sorted(zip(found.left.tolist(), found.right.tolist(), strict=True)) == sorted(sums)
    for k, key in enumerate(zip(found.left.tolist(), found.right.tolist(), strict=True)):
        rows = sums[key]
        wanted = [sum(w for place, w, _, _ in rows if place == which) for which in range(3)]
        assert_allclose([found.left_wins[k], found.right_wins[k], found.ties[k]], wanted)
        squares = [sum(w * w for place, w, _, _ in rows if place == which) for which in range(3)]
        assert_allclose([found.left_wins_sq[k], found.right_wins_sq[k], found.ties_sq[k]], squares)
        mean = sum(w * m for _, w, m, _ in rows) / sum(w for _, w, _, _ in rows)
        assert found.margin[k] == pytest.approx(mean)
        assert found.margin_ss[k] == pytest.approx(sum(w * (m - mean) ** 2 + s for _, w, m, s in rows))
        assert found.total[k] == pytest.approx(sum(wanted))
        assert found.left_points[k] == pytest.approx(wanted[0] + wanted[2] / 2)


@pytest.mark.parametrize("sided", [False, True])
@pytest.mark.parametrize("tables", [1, 3])
def test_tables_of_counts_are_the_pairs_of_their_votes(tables, sided):
    rng = np.random.default_rng(2)
    cells = rng.integers(0, 3, (tables, 4, 4)).astype(np.uint32)
    cells[:, range(4), range(4)] = 0
    rows = [
        (a, b, {1: 1, 3: {0: -1, 1: 0, 2: 1}.get(which, 1)}[tables])
        for which in range(tables) for a in range(4) for b in range(4) for _ in range(int(cells[which, a, b]))
    ]  # fmt: skip
    left, right, outcome = (np.array(column) for column in zip(*rows, strict=True))
    slow = count_rows(
        left.astype(np.int32), right.astype(np.int32), 4, outcome=outcome.astype(np.int8), weight=None, weight_sq=None,
        sided=sided,
    )  # fmt: skip
    quick = count_table(cells, 4, sided=sided)

    def by_pair(pairs):
        return {(a, b): rest for a, b, *rest in zip(*(column.tolist() for column in pairs), strict=True)}

    assert by_pair(quick) == by_pair(slow)
    assert np.array_equal(quick.ties_sq, quick.ties)


def test_the_layout_by_item_is_that_of_a_loop():
    pairs = [("a", "b"), ("a", "b"), ("b", "a"), ("c", "a"), ("d", "c")]
    votes = Comparisons.from_pairs(pairs)
    a = Adjacency.of_wins(votes.left, votes.right, 4)
    points, total = a.sums
    assert points.tolist() == [2, 1, 1, 1]
    assert total.tolist() == [4, 3, 2, 1]
    assert [mask.tolist() for mask in a.one_sided] == [[False] * 3 + [True], [False] * 4]
    assert not a.is_strongly_connected
    assert a.components.tolist() == [0, 0, 0, 0]
    again = Adjacency.of_pairs(votes.pairs, 4)
    for name in ("start", "partner", "wins", "total"):
        order = [np.lexsort((each.partner, np.repeat(np.arange(4), np.diff(each.start)))) for each in (a, again)]
        one, other = (getattr(each, name) for each in (a, again))
        if name != "start":
            one, other = one[order[0]], other[order[1]]
        assert one.tolist() == other.tolist()
    back = a.pairs()
    assert {(u, v): (w, x) for u, v, w, x, _ in zip(*(c.tolist() for c in back), strict=True)} == {
        (0, 1): (2, 1), (0, 2): (0, 1), (2, 3): (0, 1)
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(25))
def test_open_ends_are_those_of_who_can_reach_whom(seed):
    """Above the largest group that beat each other in a circle nobody bounds an item; alike below."""
    rng = np.random.default_rng(seed)
    n = 7
    winner = rng.integers(0, n, 11)
    loser = (winner + rng.integers(1, n, 11)) % n
    votes = Comparisons.from_arrays(winner, loser, items=range(n))
    beats = np.eye(n, dtype=bool)
    beats[winner, loser] = True
    for _ in range(n):
        beats = beats | (beats.astype(int) @ beats.astype(int) > 0)
    groups = beats & beats.T
    sizes = groups.sum(axis=1)
    above, below = votes.adjacency.open_ended
    assert votes.adjacency.is_strongly_connected == bool(beats.all())
    met = np.zeros(n, bool)
    met[winner] = met[loser] = True
    if sizes.max() == 1:
        won, lost = np.isin(np.arange(n), winner), np.isin(np.arange(n), loser)
        assert above.tolist() == (won | ~met).tolist()
        assert below.tolist() == (lost | ~met).tolist()
    elif (sizes == sizes.max()).sum() == sizes.max():  # one largest group
        core = int(np.argmax(sizes))
        assert above.tolist() == (~beats[core]).tolist()
        assert below.tolist() == (~beats[:, core]).tolist()


# ---- features -------------------------------------------------------------------------------------------------------


def test_moments_of_columns_are_those_of_numpy_dense_and_sparse():
    table = np.array([[0.0, 2.0, 5.0, 0.0], [0.0, 0.0, 5.0, 0.0], [3e200, -1.0, 5.0, 0.0]])
    for each in (table, sparse.csr_array(table)):
        mean, size, constant = column_moments(each)
        assert_allclose(mean, [1e200, 1 / 3, 5, 0])
        assert_allclose(size[1:], table[:, 1:].std(axis=0), atol=1e-12)
        assert size[0] == pytest.approx(np.sqrt(2) * 1e200)
        assert constant.tolist() == [False, False, True, True]
    for near, flat in ((1e-11, False), (1e-13, True)):
        column = np.array([[1.0], [1.0 + near], [1.0 - near]])
        assert column_moments(column)[2].tolist() == [flat]


def test_columns_that_follow_from_others_are_found():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 20))
    standard = np.column_stack([a, b, a + 2 * b, rng.normal(size=20), a])
    assert _dependent(standard) == [2, 4]
    assert _dependent(np.column_stack([a, a + 1e-3 * b])) == []
    assert _dependent(np.column_stack([0 * a, a])) == [0]


def warned(matrix, votes=100):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = warn_of_columns(matrix, [f"f{k}" for k in range(matrix.shape[1])], votes)
    assert all(one.category is DataWarning for one in caught)
    return found, [str(one.message) for one in caught]


def test_features_that_tell_nothing_new_are_named():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 6))
    for form in (np.asarray, sparse.csr_array):
        assert warned(form(np.column_stack([a, b]))) == ((), [])
        found, says = warned(form(np.column_stack([a, np.ones(6), b, a - b])))
        assert found == ("f1", "f3")
        assert len(says) == 2
        assert "'f1': the same for every compared item" in says[0]
        assert "'f3': follows from those before it" in says[1]
    assert "6 features for 6 compared items" in warned(rng.normal(size=(6, 6)))[1][0]
    assert warned(rng.normal(size=(7, 6)))[1] == []
    assert "5 votes for 6 features" in warned(rng.normal(size=(7, 6)), votes=5)[1][0]
    assert warned(rng.normal(size=(7, 6)), votes=6)[1] == []
