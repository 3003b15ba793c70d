"""Votes put together from codes, arrays and each other: every column of the result, and each refusal."""

from collections import Counter

import numpy as np
import pytest

from podium import Comparisons
from podium.data.building import array_columns, pair_columns, squared_weights
from podium.errors import DataWarning, InputError


def votes(items="ab", left=(0, 1), right=(1, 0), **more):
    arrays = {name: np.array(value) if isinstance(value, list) else value for name, value in more.items()}
    return Comparisons(tuple(items), np.array(left, np.int32), np.array(right, np.int32), **arrays)


# ---- two sets of votes ----------------------------------------------------------------------------------------------


def test_what_only_one_set_says_is_what_the_other_means():
    """Votes without weights weigh 1, without counts are one, without outcomes were won by the left."""
    plain = votes("ab")
    rich = votes("cb", outcome=[0, -1], weight=[2.0, 0.5], count=[3, 1])
    both = plain + rich
    assert both.items == ("a", "b", "c")
    assert (both.left.tolist(), both.right.tolist()) == ([0, 1, 2, 1], [1, 0, 1, 2])
    assert both.outcome.tolist() == [1, 1, 0, -1]
    assert both.weight.tolist() == [1.0, 1.0, 2.0, 0.5]
    assert both.count.tolist() == [1, 1, 3, 1]
    assert both.weight_sq.tolist() == [1.0, 1.0, *squared_weights(rich).tolist()]
    assert (both.margin, both.judge, both.time, both.covariates, both.group) == (None,) * 5
    turned = rich + plain
    assert turned.items == ("c", "b", "a")
    assert turned.outcome.tolist() == [0, -1, 1, 1]
    assert turned.weight.tolist() == [2.0, 0.5, 1.0, 1.0]
    assert (plain + plain).weight is None
    assert (plain + plain).weight_sq is None
    assert (plain + plain).outcome is None
    assert (plain + plain).count is None


def test_judges_groups_times_and_covariates_are_matched_by_label():
    one = votes(judge=[0, 1], judges=("x", "y"), group=[0, 0], groups=("g",), time=[1.0, 2.0], margin=[0.5, 1.0],
                covariates=np.array([[1.0], [2.0]]), covariate_names=("len",))  # fmt: skip
    other = votes("bc", judge=[1, 0], judges=("y", "z"), group=[0, 1], groups=("h", "g"), time=[3.0, 4.0],
                  margin=[2.0, 3.0], covariates=np.array([[3.0], [4.0]]), covariate_names=("len",))  # fmt: skip
    both = one + other
    assert both.judges == ("x", "y", "z")
    assert [both.judges[code] for code in both.judge] == ["x", "y", "z", "y"]
    assert [both.groups[code] for code in both.group] == ["g", "g", "h", "g"]
    assert both.time.tolist() == [1.0, 2.0, 3.0, 4.0]
    assert both.margin.tolist() == [0.5, 1.0, 2.0, 3.0]
    assert both.covariates.tolist() == [[1.0], [2.0], [3.0], [4.0]]
    assert both.covariate_names == ("len",)


@pytest.mark.parametrize(
    ("name", "one", "other", "both"),
    [
        ("sided", True, True, True), ("sided", True, False, False), ("sided", False, True, False),
        ("ordered", True, True, True), ("ordered", True, False, False), ("ordered", False, True, False),
        ("vote_is", "game", "game", "game"), ("vote_is", "game", "vote", "vote"), ("vote_is", "vote", "game", "vote"),
    ],
)  # fmt: skip
def test_what_holds_of_all_is_what_holds_of_both(name, one, other, both):
    assert getattr(votes(**{name: one}) + votes(**{name: other}), name) == both


def test_groups_of_rankings_are_numbered_anew():
    lists, grouped = Comparisons.from_rankings([["a", "b"], ["b", "a"]]), votes(group=[0, 0], groups=("g",))
    assert (lists + lists).groups == (1, 2, 3, 4)
    assert (lists + lists).group.tolist() == [0, 1, 2, 3]
    assert (lists + lists).group_is == "ranking"
    mixed = lists + grouped
    assert (mixed.group_is, mixed.groups, mixed.group.tolist()) == ("group", (1, 2, 3), [0, 1, 2, 2])


@pytest.mark.parametrize("name", ["margin", "judge", "group", "time", "covariates"])
def test_what_only_one_has_and_cannot_be_made_up_is_refused(name):
    more = {
        "margin": {"margin": [1.0, 2.0]}, "judge": {"judge": [0, 0], "judges": ("x",)}, "time": {"time": [1.0, 2.0]},
        "group": {"group": [0, 0], "groups": ("g",)}, "covariates": {"covariates": np.array([[1.0], [2.0]])},
    }[name]  # fmt: skip
    for one, other in ((votes(**more), votes()), (votes(), votes(**more))):
        with pytest.raises(InputError, match=f"only one of the two has {name} values; give both or neither"):
            _ = one + other


def test_dates_and_covariates_that_differ_are_refused():
    with pytest.raises(InputError, match="times are dates in one of the two and numbers in the other; give both alike"):
        _ = votes(time=[1.0, 2.0], time_is="date") + votes(time=[1.0, 2.0])
    table = np.array([[1.0], [2.0]])
    with pytest.raises(InputError, match=r"covariates differ: \('p',\) and \('q',\)"):
        _ = votes(covariates=table, covariate_names=("p",)) + votes(covariates=table, covariate_names=("q",))


def test_squares_are_those_given_else_of_the_weights():
    assert squared_weights(votes()).tolist() == [1.0, 1.0]
    assert squared_weights(votes(weight=[2.0, 3.0])).tolist() == [4.0, 9.0]
    assert squared_weights(votes(weight=[2.0, 3.0], weight_sq=[1.5, 2.5])).tolist() == [1.5, 2.5]


# ---- codes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"left": [0]}, "left has 1 row, right 2; they must match"),
        ({"weight_sq": [1.0, 1.0]}, "weight_sq is given without weight"),
        ({"margin_ss": [1.0, 1.0]}, "margin_ss is given without margin; give both, or neither"),
        ({"judges": ("x",)}, "judges are listed and no row has one; give judge= too, their codes"),
        ({"groups": ("x",)}, "groups are listed and no row has one; give group= too"),
        ({"group_is": "list"}, "group_is is 'list'; choose 'group' or 'ranking'"), ({"group_is": 3}, "group_is is 3"),
        ({"vote_is": "match"}, "vote_is is 'match'; choose 'vote' or 'game'"), ({"vote_is": ["game"]}, "vote_is is"),
        ({"time_is": "day"}, "time_is is 'day'; choose 'number' or 'date'"),
        ({"sided": 1}, "sided is 1; give True or False"),
        ({"ordered": "no"}, "ordered is 'no'; give True or False"),
        ({"covariate_names": ("x",)}, "given without covariates"),
        ({"covariates": np.ones((2, 2)), "covariate_names": ("x",)}, "2 columns and covariate_names 1; name each"),
        ({"covariates": np.ones((2, 1)), "covariate_names": (3,)}, r"covariate_names are \(3,\); give a name in text"),
        ({"weight": [1.0, -1.0]}, "row 2: weight is -1"), ({"weight": [1.0]}, "weight has shape"),
        ({"outcome": [1, 2]}, "row 2: outcome is 2"), ({"count": [0, 1]}, "row 1: count is 0"),
        ({"time": [1.0, np.nan]}, "row 2: time is nan"),
        ({"judge": [0, 1], "judges": ("x",)}, "row 2: judge 1 is outside the 1"),
        ({"items": ("a", None)}, r"items: place 2 is missing \(None\); name every item"),
        ({"items": ("a", "\ud800")}, "items: .* is half a character"),
        ({"items": ("a", "a")}, "items: 'a' appears twice"),
        ({"right": [1, 1]}, "row 2: 'b' is compared with itself"), ({"right": [2, 0]}, "2"),
    ],
)  # fmt: skip
def test_columns_of_codes_that_do_not_fit_are_refused(change, said):
    with pytest.raises(InputError, match=said):
        votes(**change)


def test_columns_of_codes_are_held_as_they_are_needed():
    table = np.array([[1.0, 2.0], [3.0, 4.0]])
    made = votes(
        margin=[-1.0, 2.0], margin_ss=[0.0, 1.0], outcome=[-1, 1], covariates=table, sided=np.True_, time=[3, 1]
    )
    assert made.margin.tolist() == [-1.0, 2.0]
    assert made.covariate_names == ("x1", "x2")
    assert made.sided is True
    assert made.time.dtype == np.float64
    wide = Comparisons(("a", "b"), np.array([0], np.int32), np.array([1], np.int64))
    assert wide.left.dtype == wide.right.dtype
    assert Comparisons(range(3), np.array([0, 1]), np.array([1, 2])).items == range(3)


# ---- arrays ---------------------------------------------------------------------------------------------------------


def test_arrays_become_columns():
    made = array_columns(["a", "b"], ["b", "c"], weight=[1, 2], tie=[False, True], margin=[0.5, 0], judge=["x", "y"],
                         group=iter("gg"), time=["1970-01-02", "1970-01-03"], covariates={"p": [1, 2]})  # fmt: skip
    assert made["items"] == ("a", "b", "c")
    assert (made["left"].tolist(), made["right"].tolist()) == ([0, 1], [1, 2])
    assert (made["outcome"].tolist(), made["outcome"].dtype) == ([1, 0], np.int8)
    assert (made["weight"].tolist(), made["margin"].tolist()) == ([1.0, 2.0], [0.5, 0.0])
    assert (made["judge"].tolist(), made["judges"], made["group"].tolist()) == ([0, 1], ("x", "y"), [0, 0])
    assert (made["time"].tolist(), made["time_is"]) == ([1.0, 2.0], "date")
    assert (made["covariates"].tolist(), made["covariate_names"]) == ([[1.0], [2.0]], ("p",))
    assert set(array_columns(["a"], ["b"])) == {"items", "left", "right"}
    coded = array_columns([1], [0], items=["p", "q"])
    assert (coded["items"], coded["left"].tolist(), coded["right"].tolist()) == (("p", "q"), [1], [0])


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (([], []), {}, "no votes: there is nothing to rank"),
        ((["a"], ["b", "c"]), {}, "left has 1 rows? and right has 2"),
        (([0], [1, 0]), {"items": "ab"}, "winner has 1 row, loser 2; they must match"),
        ((["a", "b"], ["b", "a"]), {"tie": [0, 2]}, "row 2: tie is 2; use true or false"),
        ((["a"], ["b"]), {"judge": ["x", "y"]}, "judge has 2 rows, the votes 1; they must match"),
        ((["a"], ["b"]), {"group": ["x", "y"]}, "group has 2 rows, the votes 1"),
        ((["a"], ["b"]), {"weight": [-1]}, "weight is -1"),
        ((["a"], ["b"]), {"margin": [-1]}, "margin is -1"),
        ((3, ["b"]), {}, "winner: 3 is no column; give a list or an array"),
        ((["a"], 3), {}, "loser: 3 is no column"), ((["a"], ["b"]), {"time": 3}, "time: 3 is no column"),
        ((["a"], ["b"]), {"judge": 3}, "judge: 3 is no column"),
    ],
)  # fmt: skip
def test_arrays_that_do_not_fit_are_refused(arguments, options, said):
    with pytest.raises(InputError, match=said):
        array_columns(*arguments, **options)


def test_labels_that_look_alike_are_told_with_the_rows_where_they_first_stand():
    with pytest.warns(DataWarning, match=r"items .*: 'Tea' \(row 1\) and 'tea' \(row 3\)"):
        array_columns(["Tea", "Tea", "milk"], ["milk", "milk", "tea"])


def test_pairs_are_two_things_each():
    made = pair_columns(iter([("a", "b"), ["b", "c"], np.array(["c", "a"])]))
    assert (made["left"].tolist(), made["right"].tolist()) == ([0, 1, 2], [1, 2, 0])
    for pairs, said in (
        ([("a", "b"), ("a",)], r"row 2: \('a',\) is not a \(winner, loser\) pair"), (["ab"], "row 1: 'ab' is not a"),
        ([("a", "b", "c")], "row 1: .* is not a"), ([], "no votes: there is nothing to rank"),
        (3, "pairs: 3 is no column"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            pair_columns(pairs)


# ---- the same votes with other weights ------------------------------------------------------------------------------


def test_balanced_votes_count_every_pair_alike_and_weigh_as_much_in_all():
    made = votes("abc", left=[0, 1, 0, 0], right=[1, 0, 1, 2], weight=[1.0, 2.0, 3.0, 2.0], outcome=[1, 1, 0, -1])
    even = made.balanced()
    assert even.weight.tolist() == pytest.approx([4 / 6, 8 / 6, 12 / 6, 4.0])
    assert even.weight_sq.tolist() == pytest.approx(
        [(w * s) ** 2 for w, s in ((1, 2 / 3), (2, 2 / 3), (3, 2 / 3), (2, 2))]
    )
    assert even.outcome.tolist() == made.outcome.tolist()


@pytest.mark.parametrize("half_life", [1.0, 4.0])
def test_aged_votes_halve_with_every_half_life(half_life):
    made = votes(left=[0, 1, 0], right=[1, 0, 1], time=[0.0, 8.0, 4.0], weight=[1.0, 2.0, 4.0])
    share = np.array([2.0 ** (-8 / half_life), 1.0, 2.0 ** (-4 / half_life)])
    assert made.aged(half_life).weight.tolist() == pytest.approx((np.array([1.0, 2.0, 4.0]) * share).tolist())
    assert made.aged(half_life).weight_sq.tolist() == pytest.approx((np.array([1.0, 4.0, 16.0]) * share**2).tolist())
    for bad in (0, -1, "x"):
        with pytest.raises(InputError, match="half_life"):
            made.aged(bad)


def test_deviations_of_covariates_count_every_vote():
    table = np.array([[1.0, 0.0], [4.0, 0.0]])
    assert votes(covariates=table).covariate_sds().tolist() == [1.5, 0.0]
    assert votes(covariates=table, count=[3, 1]).covariate_sds().tolist() == pytest.approx([np.std([1, 1, 1, 4]), 0.0])


def test_only_votes_in_our_form_are_taken_by_rankers():
    from podium.data.comparisons import as_comparisons

    made = votes()
    assert as_comparisons(made) is made
    for given, way in (([("a", "b")], "from_pairs"), ({"winner": ["a"]}, "from_frame"), (3, "from_frame")):
        with pytest.raises(InputError, match=rf"^score takes Comparisons, not \w+; make them by Comparisons\.{way}"):
            as_comparisons(given, "score")
    with pytest.raises(InputError, match=r"^fit takes Comparisons"):
        as_comparisons(3)


def test_groups_of_items_by_votes_and_by_wins():
    made = votes("abcde", left=[0, 1, 2, 3], right=[1, 0, 0, 4])
    assert made.components() == [("a", "b", "c"), ("d", "e")]
    assert sorted(made.components(strong=True)) == [("a", "b"), ("c",), ("d",), ("e",)]
    assert made.components(strong=True)[0] == ("a", "b")


def test_every_row_of_votes_with_its_outcome_and_weight():
    left, right, outcome, weight = votes(outcome=[0, -1], weight=[2.0, 3.0]).vote_rows()
    assert (left.tolist(), right.tolist(), outcome.tolist(), weight.tolist()) == (
        [0, 1],
        [1, 0],
        [0.5, 0.0],
        [2.0, 3.0],
    )
    assert left.dtype == right.dtype == np.int32
    assert [column.tolist() for column in votes().vote_rows()[2:]] == [[1.0, 1.0], [1.0, 1.0]]
    assert [votes().noun, votes(vote_is="game").noun, Comparisons.from_rankings([["a", "b"]]).noun] == [
        "vote", "game", "pair"]  # fmt: skip


def test_counts_of_a_counter_are_not_lost():
    cast = Counter([("a", "b"), ("a", "b"), ("b", "a")])
    for build in (Comparisons.from_pairs, lambda them: Comparisons.from_arrays(them, them)):
        with pytest.raises(InputError, match=r"a Counter is no column; .* that is elements\(\); or .* a column count"):
            build(cast)
    assert len(Comparisons.from_pairs(cast.elements())) == 3
    counted = {"winner": [won for won, _ in cast], "loser": [lost for _, lost in cast], "count": [*cast.values()]}
    assert (
        Comparisons.from_frame(counted).pairs.left_wins.sum() + Comparisons.from_frame(counted).pairs.right_wins.sum()
        == 3
    )
