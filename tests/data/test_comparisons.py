"""Comparisons: building, checking, merging, connectivity."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from podium import Comparisons, Rankings
from podium.errors import InputError

from helpers import as_comparisons, sided
from reference import pair_table, strong_components
from strategies import votes


def table(c):
    return {(int(i), int(j)): (a, b, t) for i, j, a, b, t in zip(*c.pairs, strict=True)}


@settings(max_examples=150, deadline=None)
@given(votes())
def test_pairs_are_the_counts_of_a_plain_loop(data):
    n, rows = data
    ours = table(as_comparisons(n, rows))
    truth = pair_table(rows)
    assert ours.keys() == truth.keys()
    for pair, counts in truth.items():
        assert_allclose(ours[pair], counts)


@settings(max_examples=60, deadline=None)
@given(votes(outcomes=(1.0, 0.0), weighted=False, most_items=8, most_votes=40))
def test_unweighted_wins_take_the_fast_way_to_the_same_counts(data):
    n, rows = data
    winner = [i if y else j for i, j, y, _ in rows]
    loser = [j if y else i for i, j, y, _ in rows]
    small = Comparisons.from_arrays(winner, loser, items=range(n))
    large = Comparisons.from_arrays(winner, loser, items=range(n + 1000))  # more cells than four times the votes
    assert small._plain
    truth = {pair: (a, b, 0) for pair, (a, b, _) in pair_table(rows).items()}
    assert table(small) == truth
    assert table(large) == truth


@settings(max_examples=60, deadline=None)
@given(votes(weighted=False, most_items=6, most_votes=30))
def test_unweighted_outcomes_take_the_fast_way_to_the_same_counts(data):
    n, rows = data
    left, right, outcome, _ = (np.array(column) for column in zip(*rows, strict=True))
    for keep_sides in (False, True):
        columns = {"outcome": (2 * outcome - 1).astype(np.int8), "sided": keep_sides}
        fast = Comparisons(range(n), left, right, **columns)
        slow = Comparisons(range(n), left, right, weight=np.ones(len(left)), **columns)
        assert table(fast) == table(slow)
        assert_allclose(fast.adjacency.sums[0], slow.adjacency.sums[0])


def test_pairs_keep_sides_and_squared_weights():
    rows = [(0, 1, 1.0, 2.0), (1, 0, 1.0, 3.0), (0, 1, 0.5, 0.5)]
    c = sided(2, rows)
    by_side = c.pairs_by_side
    assert [column.tolist() for column in by_side] == [[0, 1], [1, 0], [2.0, 3.0], [0.0, 0.0], [0.5, 0.0]]
    assert by_side.left_wins_sq.tolist() == [4.0, 9.0]
    assert by_side.ties_sq.tolist() == [0.25, 0.0]
    for merged in (c, as_comparisons(2, rows)):  # who met whom does not depend on the sides
        assert table(merged) == {(0, 1): (2.0, 3.0, 0.5)}
        assert merged.pairs.right_wins_sq.tolist() == [9.0]


@settings(max_examples=60, deadline=None)
@given(votes(most_items=5), st.booleans())
def test_every_opponent_is_laid_out_once(data, plain):
    n, rows = data
    c = sided(n, [(i, j, y, 1.0) for i, j, y, _ in rows] if plain else rows)
    a = c.adjacency
    for i in range(n):
        met = a.partner[a.start[i] : a.start[i + 1]].tolist()
        assert sorted(met) == sorted({j if i == k else k for j, k, _, _ in rows if i in (j, k)})


def test_sides_are_kept_where_the_left_always_won():
    c = Comparisons("abc", np.array([0, 1, 1]), np.array([1, 0, 2]), sided=True)
    assert [column.tolist() for column in c.pairs_by_side] == [[0, 1, 1], [1, 0, 2], [1, 1, 1], [0, 0, 0], [0, 0, 0]]


def test_margins_keep_their_mean_and_spread():
    c = Comparisons.from_arrays([0, 1, 0], [1, 0, 1], margin=[2.0, 1.0, 5.0], weight=[1.0, 1.0, 2.0], items="ab")
    values, weight = np.array([2.0, -1.0, 5.0]), np.array([1.0, 1.0, 2.0])
    mean = np.average(values, weights=weight)
    assert c.pairs.margin[0] == pytest.approx(mean)
    assert c.pairs.margin_ss[0] == pytest.approx(weight @ (values - mean) ** 2)


@settings(max_examples=100, deadline=None)
@given(votes(most_items=7, most_votes=12))
def test_components_agree_with_brute_force(data):
    n, rows = data
    c = as_comparisons(n, rows)
    wins = [(i, j) for i, j, y, _ in rows if y > 0] + [(j, i) for i, j, y, _ in rows if y < 1]
    strong = strong_components(n, wins)
    weak = strong_components(n, wins + [(j, i) for i, j in wins])
    assert {frozenset(group) for group in c.components(strong=True)} == strong
    assert {frozenset(group) for group in c.components()} == weak
    assert c.adjacency.is_strongly_connected == (len(strong) == 1)
    above, below = c.adjacency.open_ended
    core = max(len(group) for group in strong)
    if core > 1:
        middle = [group for group in strong if len(group) == core]
        assert any(not (above[list(group)] | below[list(group)]).any() for group in middle)


def test_open_ends_of_a_chain_with_a_core():
    # 0 ⇄ 1 is the core; 2 beats it, 3 loses to it, 4 was never compared with them.
    c = Comparisons.from_arrays([0, 1, 2, 0, 4, 5], [1, 0, 0, 3, 5, 4], items=range(6))
    above, below = c.adjacency.open_ended
    assert above.tolist() == [False, False, True, False, True, True]
    assert below.tolist() == [False, False, False, True, True, True]


def test_items_without_votes_are_open_both_ways():
    c = Comparisons.from_arrays([0, 1], [1, 2], items="abcd")
    above, below = c.adjacency.open_ended
    assert above[3]
    assert below[3]


def test_adding_matches_items_by_label():
    a = Comparisons.from_pairs([("tea", "milk")])
    b = Comparisons.from_pairs([("cola", "tea"), ("tea", "milk")])
    both = a + b
    assert both.items == ("tea", "milk", "cola")
    assert len(both) == 3
    assert table(both) == {(0, 1): (2, 0, 0), (0, 2): (0, 1, 0)}


def test_adding_judges_to_none_is_refused():
    a = Comparisons.from_arrays(["x"], ["y"], judge=["ann"])
    with pytest.raises(InputError, match="only one of the two has judge"):
        a + Comparisons.from_pairs([("x", "y")])


def test_rankings_become_pairs_in_clusters():
    c = Comparisons.from_rankings([["a", "b", "c"], ["b", "a"]], unranked="unknown")
    assert len(c) == 4
    assert table(c) == {(0, 1): (1, 1, 0), (0, 2): (1, 0, 0), (1, 2): (1, 0, 0)}
    assert c.group.tolist() == [0, 0, 0, 1]
    assert c.group_is == "ranking"
    more = c + Comparisons.from_rankings([["c", "a"]])
    assert more.group.tolist() == [0, 0, 0, 1, 2]


def test_weightless_rows_are_left_out_but_their_items_stay():
    c = Comparisons.from_arrays(["a", "a"], ["b", "c"], weight=[1, 0])
    assert len(c) == 1
    assert c.items == ("a", "b", "c")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Comparisons.from_pairs([("a", "b"), ("c", "c")]),
            "row 2: 'c' is compared with itself; remove the row",
        ),
        (lambda: Comparisons.from_pairs([]), "no votes"),
        (lambda: Comparisons.from_pairs(["ab"]), "row 1: 'ab' is not a"),
        (lambda: Comparisons.from_pairs([("a", "b", "c")]), "row 1: .* is not a"),
        (lambda: Comparisons.from_arrays([0, 5], [1, 0], items="abc"), "row 2: code 5 is outside 0..2"),
        (lambda: Comparisons.from_arrays([0, -1], [1, 0], items="abc"), "row 2: code -1 is outside 0..2"),
        (lambda: Comparisons.from_arrays([0], [0], items="abc"), "row 1: 'a' is compared with itself"),
        (lambda: Comparisons.from_arrays([0.5], [1], items="abc"), "integer codes are expected"),
        (lambda: Comparisons.from_arrays([0], [1, 0], items="abc"), "they must match"),
        (lambda: Comparisons.from_arrays([0], [1], items="aba"), "'a' appears twice"),
        (lambda: Comparisons.from_arrays(["a", "b"], ["b", "a"], weight=[1, -2]), "row 2: weight is -2"),
        (lambda: Comparisons.from_arrays(["a", "b"], ["b", "a"], weight=[float("nan"), 1]), "row 1: weight is nan"),
        (lambda: Comparisons.from_arrays(["a", "b"], ["b", "a"], weight=[1, float("inf")]), "row 2: weight is inf"),
        (lambda: Comparisons.from_arrays(["a"], ["b"], margin=[float("nan")]), "row 1: margin is nan"),
        (lambda: Comparisons.from_arrays(["a"], ["b"], weight=[1, 2]), "they must match"),
        (lambda: Comparisons.from_arrays(["a"], ["b"], tie=[0.5]), "row 1: tie is 0.5; use true or false"),
        (lambda: Comparisons.from_arrays(["a"], ["b"], judge=["x", "y"]), "judge has 2 rows, the votes 1"),
        (lambda: Comparisons.from_arrays(["a"], ["b"], covariates=[[float("nan")]]), "row 1: covariate 'x1' is nan"),
        (lambda: Comparisons.from_arrays(["a"], ["b"], weight=["heavy"]), "weight: numbers are expected"),
        (lambda: Comparisons.from_arrays(["a", ""], ["b", "c"]), "row 2"),
        (lambda: Comparisons.from_arrays(["a", None], ["b", "c"]), "row 2"),
        (lambda: Comparisons.from_rankings([["a", "b", "a"]]), "row 1: 'a' appears twice in the ranking"),
        (lambda: Comparisons.from_rankings([1]), "row 1: 1 is not a list of items"),
        (lambda: Comparisons.from_rankings([[{"a": 1}, "b"]]), "row 1: .* cannot be a label"),
        (lambda: Comparisons.from_pairs([1, 2]), "row 1: 1 is not a"),
        (lambda: Comparisons.from_arrays([0], [1], items=[]), "no items"),
        (lambda: Comparisons.from_arrays([0], [1], items=[["a"], "b"]), "cannot be a label"),
        (
            lambda: Comparisons.from_arrays(np.ma.array([0, 1], mask=[0, 1]), [1, 0], items="ab"),
            "row 2: winner is masked",
        ),
        (lambda: Comparisons.from_arrays(["a"], ["b"], covariates=1.0), "covariates have shape"),
        (lambda: Comparisons.from_arrays(["a"], ["b"], covariates=["x"]), "covariates: numbers are expected"),
        (lambda: Comparisons.from_arrays(["a"], ["b"], covariates={}), "covariates have shape"),
        (lambda: Comparisons.from_rankings([["a"], ["b"]], unranked="unknown"), "no ranking holds two items"),
        (lambda: Comparisons.from_rankings(["abc"]), "row 1: 'abc' is not a list of items"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_the_repr_says_how_much_there_is():
    assert repr(Comparisons.from_pairs([("a", "b")])) == "<Comparisons: 1 vote on 2 items ('a', 'b')>"


def test_generators_and_sums_of_sets_are_taken():
    parts = [Comparisons.from_arrays(iter("ab"), iter("bc")), Comparisons.from_pairs([("c", "a")])]
    assert len(sum(parts)) == 3


def test_counts_without_weights_are_weights():
    c = Comparisons("ab", np.array([0]), np.array([1]), count=np.array([5]))
    assert table(c) == {(0, 1): (5.0, 0.0, 0.0)}
    assert table(c + Comparisons.from_pairs([("a", "b")])) == {(0, 1): (6.0, 0.0, 0.0)}


class TestVotesByNumber:
    """`votes[…]` numbers single votes, whether a row is one or stands for many."""

    def test_counted_rows_split_like_the_votes_they_stand_for(self):
        rng = np.random.default_rng(0)
        counted = Comparisons.from_frame(
            {"winner": list("aabc"), "loser": list("bccb"), "count": [3, 1, 4, 2], "weight": [1.0, 2.0, 0.5, 1.5]}
        )
        each = np.repeat(np.arange(4), counted.count)
        assert len(counted) == counted.shape[0] == 10
        for numbers in (rng.permutation(10)[:6], slice(2, 9, 3), rng.random(10) < 0.5, np.array([1, 1, 1, 9]), [4, 0]):
            part = counted[numbers]
            chosen = each[numbers]
            assert len(part) == len(chosen)
            weights = np.array([1.0, 2.0, 0.5, 1.5])[chosen]
            wins = np.zeros((3, 3))
            np.add.at(wins, (counted.left[chosen], counted.right[chosen]), weights)
            found = np.zeros((3, 3))
            np.add.at(found, (part.left, part.right), part.weight)
            assert_allclose(found, wins)
            assert part.weight_squares().sum() == pytest.approx((weights**2).sum())

    def test_single_votes_keep_their_order_and_repeats(self):
        votes = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a")])
        assert votes[[2, 0, 0]].left.tolist() == [2, 0, 0]
        assert votes[1].left.tolist() == [1]
        assert votes[np.array([0, 1]), ...].right.tolist() == [1, 2]

    def test_folds_of_scikit_learn_split_votes(self):
        from sklearn.model_selection import KFold
        from sklearn.utils import _safe_indexing

        votes = Comparisons.from_frame({"winner": list("ab"), "loser": list("ba"), "count": [7, 3]})
        sizes = [(len(_safe_indexing(votes, a)), len(_safe_indexing(votes, b))) for a, b in KFold(5).split(votes)]
        assert sizes == [(8, 2)] * 5


def test_rankings_put_together_are_clusters_of_their_own_one_each():
    one = Comparisons.from_rankings([["a", "b", "c"], ["b", "a"]], unranked="unknown")
    other = Comparisons.from_rankings([["c", "a"], ["a", "b"], ["b", "c"]], unranked="unknown")
    both = one + other
    assert both.groups == (1, 2, 3, 4, 5)
    assert both.group.tolist() == [*one.group.tolist(), *(other.group + 2).tolist()]


def test_groups_of_items_are_numbered_from_the_first_item_on():
    apart = Comparisons.from_arrays([0, 1], [2, 3], items=["a", "b", "c", "d"])
    assert apart.adjacency.components.tolist() == [0, 1, 0, 1]


def test_what_the_codes_say_wrongly_is_named():
    for left, right, message in [
        ([], [], "no votes: there is nothing to rank"),
        ([0, 1], [1, 1], "row 2: 'b' is compared with itself"),
        ([0, 0], [1, 7], r"row 2: code 7 is outside 0\.\.2"),
        ([0, -1], [1, 0], r"row 2: code -1 is outside 0\.\.2"),
        ([0, 3], [1, 3], r"row 2: code 3 is outside 0\.\.2"),
    ]:
        with pytest.raises(InputError, match=message):
            Comparisons(("a", "b", "c"), np.array(left, dtype=np.int32), np.array(right, dtype=np.int32))


def test_times_out_of_order_are_put_in_order_and_equal_ones_keep_theirs():
    for times in ([1, 3, 2, 4], [2, 2, 1, 1], [5, 1, 2, 3], [0, 1, 2, 3], [3, 3, 3, 2]):
        votes = Comparisons.from_arrays(["a", "b", "c", "d"], ["b", "c", "d", "a"], time=times)
        earliest_first = sorted(range(4), key=lambda row: times[row])
        assert votes.by_time().left.tolist() == [votes.left[row] for row in earliest_first]
        assert votes.by_time().time.tolist() == sorted(times)


def test_equal_votes_of_one_row_share_its_weight_and_its_squares():
    codes = np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32)
    five = Comparisons(("a", "b", "c"), *codes, weight=np.array([6.0, 5.0]), count=np.array([4, 1]))
    one_by_one = Comparisons.from_arrays(["a"] * 4 + ["b"], ["b"] * 4 + ["c"], weight=[1.5] * 4 + [5.0])
    assert five.weight_squares().tolist() == [9.0, 25.0]
    assert five.to_frame()["weight"].to_list() == [1.5, 5.0]  # of each vote
    assert sum(one_by_one.weight_squares()) == pytest.approx(9.0 + 25.0)


def test_rows_come_back_from_a_frame_with_all_they_carry():
    carried = {
        "weight": [1.0, 2.0, 0.5],
        "judge": ["ann", "bob", "ann"],
        "group": ["x", "y", "y"],
        "time": [3.0, 1.0, 2.0],
    }
    won = Comparisons.from_arrays(["a", "b", "c"], ["b", "c", "a"], **carried)
    tied = Comparisons.from_arrays(["a", "b", "c"], ["b", "c", "a"], tie=[False, True, False], **carried)
    assert won.to_frame().columns == ["winner", "loser", "weight", "judge", "group", "time"]
    assert tied.to_frame().columns == ["left", "right", "outcome", "weight", "judge", "group", "time"]
    for cast in (won, tied):
        again = Comparisons.from_frame(cast.to_frame(), time="time")
        assert again.to_frame().equals(cast.to_frame())
        for mine, theirs in zip(again.record(), cast.record(), strict=True):
            assert mine.tolist() == theirs.tolist()


def test_a_vote_weighs_half_as_much_for_every_half_life():
    cast = {"winner": ["a", "b", "c"], "loser": ["b", "c", "a"], "time": [0.0, 10.0, 30.0]}
    assert Comparisons.from_arrays(**cast).aged(10.0).weight.tolist() == [1 / 8, 1 / 4, 1.0]
    weighted = Comparisons.from_arrays(**cast, weight=[4.0, 2.0, 3.0]).aged(10.0)
    assert weighted.weight.tolist() == [0.5, 0.5, 3.0]
    assert weighted.weight_squares().tolist() == [0.25, 0.25, 9.0]
    assert (Comparisons.from_arrays(**cast).aged(1e-3).weight > 0).all()  # next to nothing, but not lost
    with pytest.raises(InputError, match="is about the age of votes, and these have no times"):
        Comparisons.from_pairs([("a", "b")]).aged(10.0)


@pytest.mark.parametrize("counts", [[1, 0, 1], [0, 3, 2], [0, 0, 1]])
def test_single_votes_are_shared_as_often_as_asked(counts):
    whole = Comparisons.from_arrays(["a", "b", "c"], ["b", "c", "a"], weight=[1.0, 2.0, 4.0])
    part = whole.share(np.array(counts))
    assert part.weight.tolist() == [w for w, times in zip([1.0, 2.0, 4.0], counts, strict=True) for _ in range(times)]
    assert part.items == whole.items


def test_covariates_come_back_in_the_frame_and_without_any_there_are_no_sds():
    length = [3.0, -7.0, 0.5]
    votes = Comparisons.from_arrays([0, 1, 2], [1, 2, 0], covariates={"length": length})
    assert votes.to_frame()["length"].to_list() == length
    assert Comparisons.from_frame(votes.to_frame(), covariates="length").covariate_sds() == pytest.approx(
        np.std(length)
    )
    assert Comparisons.from_pairs([("a", "b")]).covariate_sds().shape == (0,)


def test_only_votes_are_added_to_votes():
    votes = Comparisons.from_pairs([("a", "b")])
    with pytest.raises(TypeError):
        _ = votes + "ab"


def test_rankings_that_say_what_they_do_not_list_are_not_told_again():
    ballots = Rankings.from_lists([["a", "b"]], unranked="below")
    with pytest.raises(InputError, match="already say what holds of items they do not list"):
        Comparisons.from_rankings(ballots, unranked="unknown")


def test_votes_with_other_covariates_are_not_added():
    short, long = (Comparisons.from_arrays([0, 1], [1, 0], covariates={name: [1.0, 2.0]}) for name in ("short", "long"))
    with pytest.raises(InputError, match=r"covariates differ: .*short.* and .*long"):
        _ = short + long
