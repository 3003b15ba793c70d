"""Parts of a ranking's uncertainty by hand: what information says of itself, covariances, bounds, words, printing."""

import dataclasses
import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from podium import BradleyTerry, Comparisons, Ranking
from podium.errors import InputError
from podium.ranking import award_marks, leaderboard
from podium.ranking.uncertainty import (
    Information,
    ScoreCovariance,
    estimate,
    many,
    probability_above,
    probability_best,
    quantile,
    quasi,
    score_covariance,
)
from podium.ranking.uncertainty import worth as worth_module
from podium.ranking.uncertainty.chances import probability_best_over
from podium.ranking.uncertainty.dense import covariance
from podium.ranking.uncertainty.ends import end_rows, reach
from podium.ranking.uncertainty.graph import Graph
from podium.ranking.uncertainty.information import Alternative, WeightedInformation
from podium.ranking.uncertainty.lists import ListInformation
from podium.ranking.uncertainty.messages import item_precisions, pair_gaps
from podium.ranking.uncertainty.posterior import mean_chance_margin, posterior_covariance
from podium.ranking.uncertainty.redraw import _newton, _poisson
from podium.ranking.uncertainty.worth import cluster_worth, votes_worth

ENDS = {"left": np.array([0, 1]), "right": np.array([1, 2]), "curvature": np.array([2.0, 3.0])}


def information(
    gradients=True, weight=(1.0, 1.0), square=None, extras=0, extra_gradient=False, kind=Information, **more
):
    weight = np.array(weight, dtype=float)
    rows = {
        "vote_left": np.array([0, 1]), "vote_right": np.array([1, 2]), "vote_gradient": np.array([0.1, -0.2]),
        "vote_weight": weight, "vote_weight_sq": weight if square is None else np.array(square, dtype=float),
    }  # fmt: skip
    if extras:
        rows |= {"border": np.zeros((3, extras)), "corner": np.eye(extras)}
        rows |= {"vote_extra_gradient": np.zeros((2, extras))} if extra_gradient else {}
    if not gradients:
        rows = {name: value for name, value in rows.items() if not name.startswith("vote")}
    return kind(3, **ENDS, **(rows | more))


@pytest.mark.parametrize(("gradients", "extras", "known", "counts"), list(itertools.product([0, 1], repeat=4)))
def test_auto_is_the_sandwich_where_all_gradients_are_known_and_weights_are_no_counts(gradients, extras, known, counts):
    if extras and known and not gradients:
        return
    found = information(
        bool(gradients), square=None if counts else [2.0, 2.0], extras=extras, extra_gradient=bool(known)
    )
    whole = gradients and (known or not extras)
    assert found.choose("auto") == ("sandwich" if whole and not counts else "hessian")
    assert found.choose("cluster") == "cluster"
    assert found.has_gradients == bool(gradients)
    assert found.extras == extras
    if whole:
        assert found.require("sandwich") is None
    else:
        with pytest.raises(InputError, match="'sandwich' needs every vote's gradient"):
            found.require("sandwich")
    assert found.require("hessian") is None


def test_weights_are_counts_where_their_squares_are_about_as_much():
    """Up to a hundredth: Σ|w² − w| against Σw."""
    assert information(weight=[60.0, 40.0], square=[60.6, 40.4]).counted
    assert not information(weight=[60.0, 40.0], square=[60.6, 40.5]).counted
    assert not information(weight=[60.0, 40.0], square=[61.0, 39.0]).counted  # though the sums are equal
    assert information(gradients=False).counted
    assert information(weight=[60.0, 40.0], square=[60.6, 40.4]).votes_per_weight == 1.0
    assert information(weight=[2.0, 4.0], square=[4.0, 16.0]).votes_per_weight == pytest.approx(6 / 20)
    assert information(weight=[2.0, 4.0], square=[0.0, 0.0]).votes_per_weight == 1.0
    assert information(gradients=False).votes_per_weight == 1.0


def test_weighted_information_is_weighted_where_weights_are_no_counts():
    uneven = information(weight=[2.0, 4.0], square=[4.0, 16.0], kind=WeightedInformation, squared_curvature=np.ones(2))
    assert uneven.choose("auto") == "weighted"
    assert uneven.choose("sandwich") == "sandwich"
    assert uneven.require("auto") is None
    assert uneven.fits
    assert information(kind=WeightedInformation, squared_curvature=np.ones(2)).choose("auto") == "hessian"
    assert not information(kind=WeightedInformation, squared_curvature=np.ones(3)).fits
    assert not information(kind=WeightedInformation, squared_curvature=np.ones(2), extras=1).fits


def test_the_cluster_is_named_where_there_are_several():
    codes = np.array([0, 1])
    one, two = information(clusters={"judge": codes}), information(clusters={"judge": codes, "group": codes})
    assert one.require("cluster") == "judge"
    assert two.require("cluster", "group") == "group"
    assert two.require("bootstrap", "judge") == "judge"
    assert two.require("bootstrap") is None
    with pytest.raises(InputError, match="name the cluster: the votes have 'judge', 'group'"):
        two.require("cluster")
    with pytest.raises(InputError, match="name the cluster: the votes name no judge, group or ranking"):
        information().require("cluster")
    for kind in ("hessian", "sandwich", "auto"):
        with pytest.raises(InputError, match="takes no cluster"):
            two.require(kind, "judge")
    assert information(clusters={"judge": np.array([4, 4])}).cluster_count("judge") == 1
    assert information(clusters={"judge": np.array([-1, -1])}).cluster_count("judge") == 2
    assert information(clusters={"judge": np.array([-1, 0])}).cluster_count("judge") == 2


def test_what_a_penalty_leaves_of_a_score_without_votes():
    assert information(ridge=4.0).prior_variance == 0.25
    parts = [
        Alternative(share, ENDS["curvature"] * share, ridge, None, None, np.zeros(3))
        for share, ridge in ((0.25, 1), (0.75, 3))
    ]
    mixed = information(ridge=9.0, alternatives=tuple(parts))
    assert mixed.prior_variance == pytest.approx(0.25 / 1 + 0.75 / 3)
    for one, whole in mixed.under_each_penalty():
        assert whole.alternatives == ()
        assert whole.ridge == one.ridge
        assert whole.curvature is one.curvature
    assert information(ridge=0.5).summed_curvature().tolist() == [2.5, 5.5, 3.5]


def test_a_shift_is_free_where_the_border_sums_to_nothing():
    border = np.array([[1.0], [2.0], [-3.0]])
    assert information(extras=0).shift_free
    assert Information(3, **ENDS, border=border, corner=np.eye(1)).shift_free
    assert not Information(3, **ENDS, border=border + np.array([[1e-6], [0], [0]]), corner=np.eye(1)).shift_free
    two = np.hstack([border, np.ones((3, 1))])
    assert not Information(3, **ENDS, border=two, corner=np.eye(2)).shift_free


# ---- covariances ----------------------------------------------------------------------------------------------------

MATRIX = np.array([[2.0, 0.5, -1.0], [0.5, 1.0, 0.2], [-1.0, 0.2, 3.0]])


def test_variances_of_differences():
    known = ScoreCovariance(MATRIX)
    whole = np.array([[MATRIX[i, i] + MATRIX[j, j] - 2 * MATRIX[i, j] for j in range(3)] for i in range(3)])
    assert_allclose(known.differences(slice(None)), whole)
    assert_allclose(known.differences(1), whole[1])
    alone = ScoreCovariance(variances=MATRIX.diagonal())
    assert_allclose(alone.differences(0), [4.0, 3.0, 5.0])
    assert_allclose(known.among(np.array([2, 0])).matrix, MATRIX[np.ix_([2, 0], [2, 0])])
    assert_allclose(alone.among(np.array([2, 0])).variance, [3.0, 2.0])
    assert ScoreCovariance(variances=np.array([-1e-9, 1.0])).variance.tolist() == [0.0, 1.0]


def test_bounds_open_on_the_side_that_votes_leave_open():
    scores = np.array([1.0, 0.0, -1.0])
    plain = ScoreCovariance(MATRIX)
    half = 2.0 * np.sqrt(MATRIX.diagonal())
    for found, wanted in zip(plain.bounds(scores, 2.0), (scores - half, scores + half), strict=True):
        assert_allclose(found, wanted)
    apart = 2.0 * np.sqrt(plain.differences(1))
    lower, upper = plain.bounds(scores, 2.0, fixed=1)
    assert_allclose(lower, scores - apart)
    assert_allclose(upper, scores + apart)
    above, below = np.array([True, False, False]), np.array([False, False, True])
    ends = ScoreCovariance(MATRIX, open_above=above, open_below=below)
    assert ends.open_ended.tolist() == [True, False, True]
    assert ScoreCovariance(MATRIX, open_above=above & False).open_ended is None
    lower, upper = ends.bounds(scores, 2.0)
    assert_allclose(lower, [1 - half[0], -half[1], -np.inf])
    assert_allclose(upper, [np.inf, half[1], -1 + half[2]])
    lower, upper = ends.bounds(scores, 2.0, fixed=1)  # the difference to one that is bounded
    assert_allclose(lower, [1 - half[0], 0.0, -np.inf])
    assert_allclose(upper, [np.inf, 0.0, -1 + half[2]])
    lower, upper = ends.bounds(scores, 2.0, fixed=0)  # which may be as high as it likes: all others as low
    assert lower.tolist() == [1.0, -np.inf, -np.inf]
    assert_allclose(upper, [1.0, half[1] + half[0], -1 + half[2] + half[0]])
    lower, upper = ends.bounds(scores, 2.0, fixed=2)
    assert upper.tolist() == [np.inf, np.inf, -1.0]


def test_confidence_that_one_is_above_another():
    known, scores = ScoreCovariance(MATRIX), np.array([1.0, 0.0, -1.0])
    assert probability_above(scores, known, 0, 2) == pytest.approx(norm.cdf(2 / math.sqrt(2 + 3 + 2)))
    assert probability_above(scores, known, 2, 0) == pytest.approx(norm.cdf(-2 / math.sqrt(7)))
    assert probability_above(scores, known, 1, 1) == 0.5
    sure = ScoreCovariance(np.zeros((3, 3)))
    assert [probability_above(np.array([1.0, 1.0, 0.0]), sure, *pair) for pair in ((0, 1), (0, 2), (2, 0))] == [
        0.5,
        1,
        0,
    ]
    ends = ScoreCovariance(MATRIX, open_above=np.array([True, False, False]))
    assert math.isnan(probability_above(scores, ends, 0, 1))
    assert math.isnan(probability_above(scores, ends, 1, 0))
    assert probability_above(scores, ends, 1, 2) > 0.5
    shares = probability_best(scores, ends)
    assert math.isnan(shares[0])
    assert shares[1:].sum() == pytest.approx(1)
    assert shares[1] == pytest.approx(probability_above(scores, ends, 1, 2), abs=0.02)
    assert np.isnan(probability_best(scores, ScoreCovariance(MATRIX, open_above=np.ones(3, bool)))).all()


def test_firsts_over_several_posteriors_are_their_mean():
    one, other = ScoreCovariance(np.eye(2)), ScoreCovariance(np.eye(2))
    possible = [(0.25, np.array([0.0, 50.0]), one), (0.75, np.array([1.0, 0.0]), other)]
    expected = 0.75 * norm.cdf(1 / math.sqrt(2))
    assert probability_best_over(possible)[0] == pytest.approx(expected, abs=0.02)
    assert probability_best_over([(0.0, np.array([9.0, 0.0]), one), (1.0, np.array([0.0, 9.0]), other)])[0] < 1e-6


def test_levels_go_from_a_trillionth_to_one_less():
    for level in (1e-12, 0.5, 0.95, 1 - 1e-12):
        assert quantile(level) == pytest.approx(norm.ppf((1 + level) / 2), rel=1e-3, abs=1e-14)
    for level in (0.9e-12, 0, 1, 1 - 0.9e-12, "x", None, float("nan")):
        with pytest.raises(InputError, match="level must lie between 0 and 1"):
            quantile(level)


def test_groups_that_never_met_may_lie_anywhere_to_each_other():
    left, right = np.array([0, 2, 3]), np.array([1, 3, 4])
    known = Information(5, left, right, np.ones(3), ridge=1.0)
    grouped = Information(5, left, right, np.ones(3), ridge=1.0, groups=np.array([0, 0, 1, 1, 1]))
    plain, apart = posterior_covariance(known).matrix, posterior_covariance(grouped).matrix
    added = apart - plain
    assert_allclose(added[:2, :2], 1e4)
    assert_allclose(added[2:, 2:], 1e4)
    assert_allclose(added[:2, 2:], 0.0)
    assert_allclose(mean_chance_margin(np.array([3.0]), np.array([0.0])), 3.0)
    assert_allclose(mean_chance_margin(np.array([3.0]), np.array([2.0])), 3 / math.sqrt(1 + math.pi / 4))


def test_poisson_draws_have_the_mean_and_variance_that_they_should():
    mean = np.array([0.3, 1.0, 5.0, 60.0, 5000.0])
    draws = _poisson(mean, 4000, np.random.default_rng(0))
    assert_allclose(draws.mean(axis=0), mean, rtol=0.05)
    assert_allclose(draws.var(axis=0), mean, rtol=0.1)
    assert (draws[:, :3] == np.rint(draws[:, :3])).all()
    few = _poisson(mean[:3], 3, np.random.default_rng(0))
    assert few.shape == (3, 3)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
def test_a_redrawn_optimum_has_no_gradient(ridge):
    left, right = np.array([0, 1, 2]), np.array([1, 2, 0])
    total, wins = np.array([9.0, 8.0, 7.0]), np.array([8.0, 1.0, 3.0])
    scores = _newton(np.array([5.0, -5.0, 0.0]), left, right, total, wins, ridge, 1e-9)
    force = total / (1 + np.exp(scores[right] - scores[left])) - wins
    gradient = np.bincount(left, force, 3) - np.bincount(right, force, 3) + ridge * scores
    assert_allclose(gradient, 0, atol=1e-6)


# ---- words and printing ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "used", "says"),
    [
        (("auto", None), ("hessian", None), "from the likelihood's curvature"),
        (("auto", None), ("weighted", None), "from the likelihood's curvature, as weights are not counts"),
        (("auto", None), ("sandwich", None), "sandwich, as weights are not counts"),
        (("sandwich", None), ("sandwich", None), "sandwich"),
        (("cluster", "judge"), ("cluster", "judge"), "clustered by judge"),
        (("cluster", "judge"), ("hessian", None), "from the likelihood's curvature; all votes are of one judge"),
        (("bootstrap", "group"), ("bootstrap", "group"), "bootstrap by group"),
    ],
)
def test_where_errors_come_from(asked, used, says):
    assert leaderboard.error_source(asked, used) == says


def test_remarks_below_a_table():
    plain = SimpleNamespace(counted=True, cluster_count=lambda cluster: 30)
    assert leaderboard.remarks(plain, ("auto", None), ("hessian", None), "mean score") == [
        "95 % confidence intervals, relative to the mean score (from the likelihood's curvature)"
    ]
    assert len(leaderboard.remarks(plain, ("cluster", "judge"), ("cluster", "judge"), "mean")) == 1
    few = information(clusters={"judge": np.array([0, 1])})
    assert "2 judges" in leaderboard.remarks(few, ("cluster", "judge"), ("cluster", "judge"), "mean")[1]
    uneven = SimpleNamespace(counted=False)
    assert leaderboard.remarks(uneven, ("auto", None), ("hessian", None), "mean")[1].startswith(
        "weights are not counts, but"
    )
    assert len(leaderboard.remarks(uneven, ("hessian", None), ("hessian", None), "mean")) == 1
    assert len(leaderboard.remarks(uneven, ("auto", None), ("weighted", None), "mean")) == 1


def test_labels_of_one_plain_type_stay_as_they_are():
    kinds = {"i64": [1, 2], "f64": [1.5, 2.0], "bool": [True, False], "str": ["a", 1]}
    for name, items in kinds.items():
        frame = leaderboard.frame(items, {"score": np.zeros(2)})
        assert (
            str(frame["item"].dtype)
            .lower()
            .startswith({"i64": "int", "f64": "float", "bool": "bool", "str": "str"}[name])
        )
        assert frame["tier"].null_count() == 2
        assert frame.columns == list(leaderboard.COLUMNS)
    assert leaderboard.interval_cells(*np.array([[1.0], [2.0], [1], [3], [2]]), digits=1)[0] == ["1.0 … 2.0"]


def votes(n=4):
    pairs = [(f"i{a}", f"i{b}") for a in range(n) for b in range(n) if a != b] + [("i0", "i1")] * 3
    return Comparisons.from_pairs(pairs)


def test_a_long_table_is_cut_and_says_by_how_much():
    from podium.ranking.ranking import MAX_PRINTED_ROWS

    for count in (MAX_PRINTED_ROWS, MAX_PRINTED_ROWS + 1):
        text = repr(Ranking(range(count), -np.arange(count) * 1.0))
        assert ("… and 1 more" in text) == (count > MAX_PRINTED_ROWS)
        assert "and 0 more" not in text
        assert f"{-(MAX_PRINTED_ROWS - 1)}.00" in text
    elo = Ranking("ab", [1500.4, 1400.0], unit=400 / math.log(10), note="anchored")
    assert "1500" in repr(elo)
    assert "1500.4" not in repr(elo)
    assert repr(elo).endswith("anchored")
    assert "9.95" in repr(Ranking("ab", [9.95, 0.0], unit=9.9))


def test_equal_rankings_are_equal_in_scores_units_and_sources():
    one = Ranking("ab", [1.0, 0.0])
    assert one == Ranking("ab", [1.0, 0.0])
    for other in (
        Ranking("ba", [1.0, 0.0]), Ranking("ab", [1.0, 0.1]), Ranking("ab", [1.0, 0.0], unit=2.0),
        Ranking("ab", [1.0, 0.0], uncertainty="sandwich"), Ranking("ab", [1.0, 0.0], cluster="judge"),
    ):  # fmt: skip
        assert one != other
    assert one != "ab"


def test_errors_and_bounds_against_one_item_are_those_of_the_difference():
    ranking = BradleyTerry(l2=0.01, scale="elo").fit(votes()).ranking_
    matrix, unit = ranking.covariance, ranking.unit
    expected = unit * np.sqrt([matrix[i, i] + matrix[1, 1] - 2 * matrix[i, 1] for i in range(4)])
    against = ranking.shown(reference="i1")
    assert_allclose(against.std_errors, expected, atol=1e-9)
    lower, upper = ranking.intervals(0.9, reference="i1")
    assert_allclose(upper - lower, 2 * norm.ppf(0.95) * expected, atol=1e-9)
    assert against.held_fixed == "score of 'i1'"
    assert ranking.held_fixed == "mean score"
    assert_allclose(ranking.std_errors, unit * np.sqrt(matrix.diagonal()))


def test_items_are_found_by_label_or_near_ones_are_named():
    ranking = Ranking(["apple", "pear", ("item", "x"), "mean"], [1.0, 2.0, 3.0, 4.0])
    assert ranking._reference("pear") == 1
    assert ranking._reference(("item", "x")) == 2  # a label itself
    assert ranking._reference(("item", "apple")) == 0
    assert ranking._reference(("item", "mean")) == 3
    assert ranking._reference(None) is None
    with pytest.raises(InputError, match="'mean' is an item here"):
        ranking._reference("mean")
    with pytest.raises(InputError, match="'aple' is not in this ranking; did you mean 'apple'"):
        ranking.score("aple")
    with pytest.raises(InputError, match="the 4 items are in `items`"):
        ranking.score("zzzzzz")
    with pytest.raises(InputError, match="is not in this ranking"):
        ranking.score(["apple"])


def test_the_share_of_ties_is_by_weight():
    record = np.array([1.0, 2.0]), np.array([2.0, 1.0]), np.array([3.0, 3.0])
    assert Ranking("ab", [1.0, 0.0], record=record)._tied_share() == 0.5
    assert Ranking("ab", [1.0, 0.0], record=tuple(np.zeros((3, 2))))._tied_share() == 0.0
    assert Ranking("ab", [1.0, 0.0])._tied_share() == 0.0


def test_ranks_by_the_posterior_need_one_and_its_own_errors():
    auto = BradleyTerry().fit(votes()).ranking_
    plain = BradleyTerry(l2=0.01).fit(votes()).ranking_
    assert auto._rank_method() == "pairwise"
    assert plain._rank_method() == "guaranteed"
    assert auto.with_uncertainty("hessian")._rank_method() == "guaranteed"
    with pytest.raises(InputError, match="needs a posterior"):
        plain.rank_intervals(method="pairwise")
    with pytest.raises(InputError, match="credible intervals need a prior"):
        plain.intervals(kind="credible")
    with pytest.raises(InputError, match="kind='x' is not known"):
        plain.intervals(kind="x")
    assert Ranking("ab", [1.0, 0.0], credible=True)._rank_method() == "pairwise"
    lower, upper = auto.intervals(kind="credible")
    assert_allclose((lower + upper) / 2, auto.scores, atol=1e-9)
    lower, upper = auto.intervals()
    assert_allclose((lower + upper) / 2, auto.estimates, atol=1e-9)
    assert np.ptp(auto.estimates) > np.ptp(auto.scores)
    assert auto.estimates.mean() == pytest.approx(auto.scores.mean())
    assert plain.estimates is plain.scores


# ---- what votes are worth, and where open scores end ----------------------------------------------------------------


def test_votes_are_worth_more_where_ties_are_counted_half_and_less_where_weights_differ():
    assert votes_worth(information(weight=[5.0, 5.0]), 0.0) == 1.0
    assert votes_worth(information(weight=[5.0, 5.0]), 0.2) == pytest.approx(1 / 0.8)
    assert votes_worth(information(weight=[5.0, 5.0]), 1.0) == pytest.approx(10.0)  # all but one vote
    assert votes_worth(information(weight=[5.0, 5.0], tie_strength=0.5), 0.2) == 1.0
    assert votes_worth(information(gradients=False), 0.5) == 1.0
    assert votes_worth(information(weight=[5.0, 5.0], square=[0.0, 0.0]), 0.5) == 1.0
    for lacking in ("vote_weight", "vote_weight_sq"):
        assert votes_worth(information(**{lacking: None}), 0.5) == 1.0
    uneven = information(weight=[2.0, 4.0], square=[4.0, 16.0])
    own, squares = np.array([2.0, 6.0, 4.0]), np.array([4.0, 20.0, 16.0])
    expected = 3 / np.sum(squares / own) / (6 / 20)
    assert votes_worth(uneven, 0.0) == pytest.approx(expected)


def test_votes_of_one_cluster_are_worth_their_share():
    rows = {"clusters": {"judge": np.array([0, 0])}}
    alike = information(**rows)
    pulls = np.array([0.1, -0.2])
    alone = np.array([pulls[0] ** 2, pulls[0] ** 2 + pulls[1] ** 2, pulls[1] ** 2])
    together = np.array([pulls[0], -pulls[0] + pulls[1], -pulls[1]]) ** 2
    variance = np.array([1.0, 2.0, 3.0])
    assert cluster_worth(alike, "judge", variance) == pytest.approx(alone @ variance / (together @ variance))
    apart = information(clusters={"judge": np.array([-1, -1])})
    assert cluster_worth(apart, "judge", variance) == 1.0
    mixed = information(clusters={"judge": np.array([0, -1])})
    assert cluster_worth(mixed, "judge", variance) == 1.0
    assert cluster_worth(alike, "judge", np.zeros(3)) == 1.0


def open_top(codes, weight=(1.0, 1.0, 1.0)):
    """Item 2 beat 0 three times; 0 and 1 are bounded."""
    weight = np.array(weight)
    return Information(
        3, np.array([0]), np.array([1]), np.ones(1), vote_left=np.array([2, 2, 2]), vote_right=np.array([0, 0, 0]),
        vote_gradient=np.array([-0.1, -0.1, -0.2]), vote_weight=weight, vote_weight_sq=weight,
        clusters={"judge": np.array(codes)},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("codes", "numbers"),
    [([0, 0, 0], [1 / 3] * 3), ([0, 1, 0], [1 / 2, 1, 1 / 2]), ([-1, -1, -1], [1, 1, 1]),
     ([-1, 0, 0], [1, 1 / 2, 1 / 2]),
     ([1, -1, -1], [1, 1, 1]), ([0, -1, 1], [1, 1, 1])],
)  # fmt: skip
def test_wins_of_one_cluster_count_as_one(codes, numbers):
    item, margin, number = end_rows(open_top(codes), np.array([0, 1]), "judge")
    assert item.tolist() == [2, 2, 2]
    assert_allclose(number, numbers)
    assert_allclose(margin, np.log([9.0, 9.0, 4.0]))  # what was missing was 0.1: odds of nine to one
    assert end_rows(open_top(codes), np.array([0, 1]), None)[2].tolist() == [1, 1, 1]


def test_a_score_ends_where_its_wins_become_improbable():
    """Three wins at margin m, moved down by x: the chance of all of them is Π 1/(1 + e^(x − m))."""
    item, margin, number = np.array([2, 2, 0]), np.array([1.0, 2.0, 0.5]), np.array([1.0, 2.0, 1.0])
    found = reach(3, item, margin, number, 0.05)
    chance = 1 / (1 + math.exp(found[2] - 1.0)) / (1 + math.exp(found[2] - 2.0)) ** 2
    assert chance == pytest.approx(0.05, rel=1e-4)
    assert 1 / (1 + math.exp(found[0] - 0.5)) == pytest.approx(0.05, rel=1e-4)
    assert found[1] == np.inf


def test_marks_go_up_to_a_billion_either_way():
    ranking = Ranking("ab", [1.0, 0.0])
    assert award_marks(ranking, (-1e9, 1e9)).to_frame()["mark"].to_list() == [1e9, -1e9]
    for scale in ((0, 1.1e9), (-1.1e9, 0)):
        with pytest.raises(InputError):
            award_marks(ranking, scale)
    assert award_marks(ranking, known={"a": 1e9, "b": -1e9}).to_frame()["mark"].to_list() == pytest.approx([1e9, -1e9])
    with pytest.raises(InputError, match="the known mark of 'a' is"):
        award_marks(ranking, known={"a": 1.1e9, "b": 0})


def test_a_penalty_from_the_votes_is_told_below_the_table():
    auto = BradleyTerry().fit(votes())
    assert f"about {auto.sd_:.2f} log-odds from it (l2=auto)" in repr(auto.ranking_)
    assert "l2=auto" not in repr(BradleyTerry(l2=0.1).fit(votes()).ranking_)


@pytest.mark.parametrize("curvature", [0.01, 1.0, 100.0])
def test_a_graph_is_long_where_four_steps_reach_few(curvature):
    """Six of a chain are within four steps of its second, the first that met two: a twentieth of 120; of a star all."""
    for n, long in ((200, True), (120, True), (119, False)):
        chain = Information(n, np.arange(n - 1), np.arange(1, n), np.full(n - 1, curvature), ridge=1e-3)
        assert Graph(chain).is_long == long
    star = Information(300, np.zeros(299, int), np.arange(1, 300), np.full(299, curvature), ridge=1e-3)
    assert not Graph(star).is_long


# ---- rankings as votes ----------------------------------------------------------------------------------------------


def lists(**more):
    """Three rankings of four items, the first weighing 2, with dense gradients written out in `dense_gradients`."""
    whole = {
        "vote_weight": np.array([2.0, 1.0, 1.0]), "vote_weight_sq": np.array([4.0, 1.0, 1.0]),
        "list_row": np.array([0, 0, 1, 2, 2]), "list_item": np.array([0, 1, 2, 1, 3]),
        "list_value": np.array([0.4, -0.2, 0.3, -0.5, 0.1]),
        "list_base": np.array([0.1, -0.3, 0.2]), "list_strength": np.array([0.4, 0.3, 0.2, 0.1]),
        "clusters": {"judge": np.array([0, 1, 1])},
    }  # fmt: skip
    return ListInformation(4, np.array([0, 1, 2]), np.array([1, 2, 3]), np.array([2.0, 3.0, 1.0]), **(whole | more))


def dense_gradients(e):
    rows = np.zeros((3, 4))
    for row, item, value in zip(e.list_row, e.list_item, e.list_value, strict=True):
        rows[int(row), int(item)] += value
    return rows + (np.outer(e.list_base, e.list_strength) if len(e.list_base) else 0.0)


@pytest.mark.parametrize("bare", [False, True])
@pytest.mark.parametrize("extras", [0, 2])
@pytest.mark.parametrize("cluster", [None, "judge"])
def test_gradients_of_rankings_are_summed_as_if_written_out(bare, extras, cluster):
    more = {"list_base": np.empty(0), "list_strength": np.empty(0)} if bare else {}
    extra = np.array([[0.3, -1.0], [0.2, 0.4], [-0.7, 0.1]])[:, :extras]
    if extras:
        more |= {"border": np.zeros((4, extras)), "corner": np.eye(extras), "vote_extra_gradient": extra}
    e = lists(**more)
    rows = np.hstack([dense_gradients(e), extra])
    if cluster is None:
        rows = rows * (np.sqrt(e.vote_weight_sq) / e.vote_weight)[:, None]
    else:
        rows = np.array([rows[0], rows[1] + rows[2]])
    assert_allclose(e.meat(cluster), rows.T @ rows, atol=1e-12)
    assert_allclose(e.squared_pulls(cluster), (rows**2).sum(axis=0)[:4], atol=1e-12)
    assert e.fits
    assert e.has_gradients


def test_arrays_of_rankings_that_do_not_fit_are_seen():
    wrong = [
        {"list_row": np.array([0, 0, 1, 2, 3])}, {"list_row": np.array([0, 0, 1, 2, -1])},
        {"list_item": np.array([0, 1, 2, 1, 4])}, {"list_value": np.ones(4)}, {"list_base": np.ones(2)},
        {"list_strength": np.ones(3)}, {"clusters": {"judge": np.zeros(2, int)}}, {"end_item": np.array([0])},
        {"end_item": np.array([4]), "end_margin": np.ones(1), "end_votes": np.ones(1), "end_row": np.zeros(1)},
    ]  # fmt: skip
    for change in wrong:
        assert not lists(**change).fits, change
    ends = {"end_item": np.array([3]), "end_margin": np.ones(1), "end_votes": np.ones(1), "end_row": np.zeros(1)}
    assert lists(**ends).fits
    assert not lists(vote_weight=None).fits
    assert not lists(vote_weight=None).has_gradients


def test_a_part_of_rankings_keeps_the_gradients_of_its_items():
    e = lists()
    part = e.among(np.array([1, 3]))
    assert part["list_row"].tolist() == [0, 2, 2]
    assert part["list_item"].tolist() == [0, 0, 1]
    assert part["list_value"].tolist() == [-0.2, -0.5, 0.1]
    assert part["list_strength"].tolist() == [0.3, 0.1]
    assert lists(vote_weight=None).among(np.array([1, 3])) == {}
    assert not len(lists(list_base=np.empty(0), list_strength=np.empty(0)).among(np.array([0]))["list_strength"])


@pytest.mark.parametrize(
    ("rows", "codes", "numbers"),
    [([0, 1, 2, 2], [0, 1, 1], [1.0, 2 / 4, 1.0, 2 / 4]), ([0, 1, 2, -1], [0, 1, 1], [1.0, 1.0, 1.0, 1.0]),
     ([-1, -1, -1, -1], [0, 1, 1], [1.0, 1.0, 1.0, 1.0]), ([0, 0, 0, 0], [1, 1, 1], [1 / 3, 2 / 4, 2 / 3, 2 / 4])],
)  # fmt: skip
def test_choices_of_one_cluster_on_an_item_are_worth_one(rows, codes, numbers):
    """Items 3, 2, 3, 2 with 1, 2, 2, 2 choices; −1 is a ranking of many, in no cluster with another."""
    margin = np.array([0.5, 1.0, 1.5, 2.0])
    e = lists(
        end_item=np.array([3, 2, 3, 2]), end_margin=margin, end_votes=np.array([1.0, 2.0, 2.0, 2.0]),
        end_row=np.array(rows), clusters={"judge": np.array(codes)},
    )  # fmt: skip
    item, found, number = end_rows(e, np.array([0, 1]), "judge")
    assert item.tolist() == [3, 2, 3, 2]
    assert found is margin
    assert_allclose(number, numbers)
    assert e.ends(None)[2].tolist() == [1.0, 2.0, 2.0, 2.0]
    assert not len(lists().ends("judge")[0])


def test_rankings_of_one_cluster_are_not_clustered():
    assert lists().count("judge") == 2
    with pytest.raises(InputError, match="by judge need at least two clusters; the rankings have 1"):
        lists(clusters={"judge": np.array([4, 4, 4])}).count("judge")


def test_redrawn_rankings_move_as_their_gradients_say():
    e = lists(scores=np.array([1.0, 0.0, 0.0, -1.0]))
    inverse = np.eye(4) * 0.5
    drawn = e.redrawn(inverse, 4000, None, np.random.default_rng(1))
    assert_allclose(drawn.mean(axis=0), e.scores, atol=0.02)
    assert_allclose(np.cov(drawn.T), inverse @ e.meat(None) @ inverse, atol=0.006)
    together = e.redrawn(inverse, 4000, "judge", np.random.default_rng(2))
    assert_allclose(np.cov(together.T), inverse @ e.meat("judge") @ inverse, atol=0.01)
    assert lists().redrawn(inverse, 3, None, np.random.default_rng(1)).shape == (3, 4)


# ---- posteriors that count a vote for less --------------------------------------------------------------------------


@pytest.mark.parametrize("worth", [0.4, 1.0, 2.5])
def test_a_vote_that_is_worth_less_counts_less_everywhere(worth):
    border, corner = np.array([[0.3], [-0.1], [-0.2]]), np.array([[1.7]])
    e = information(border=border, corner=corner, ridge=0.8)
    less = worth_module._times(e, worth)
    assert_allclose(less.curvature, worth * e.curvature)
    assert_allclose(less.border, worth * border)
    assert_allclose(less.corner, worth * corner)
    assert less.ridge == e.ridge
    hessian = np.zeros((4, 4))
    for left, right, curve in zip(e.left, e.right, worth * e.curvature, strict=True):
        hessian[[left, right], [left, right]] += curve
        hessian[[left, right], [right, left]] -= curve
    hessian[:3, :3] += 0.8 * np.eye(3)
    hessian[:3, 3:], hessian[3:, :3], hessian[3:, 3:] = worth * border, worth * border.T, worth * corner
    assert worth_module._log_determinant(less) == pytest.approx(math.log(np.linalg.det(hessian)))
    plain = worth_module._times(information(ridge=0.8), worth)
    assert (plain.border, plain.corner) == (None, None)
    assert worth_module._log_determinant(plain) < worth_module._log_determinant(information(ridge=0.8)) or worth >= 1


@pytest.mark.parametrize("worth", [0.3, 1.0, 1.6])
def test_a_posterior_of_discounted_votes_is_that_of_a_quadratic_loss(worth):
    """Loss ½(u − m)ᵀL(u − m) to the power k with the prior R: precision kL + R, mean (kL + R)⁻¹ k L m."""
    e = information(ridge=0.8)
    laplacian = np.array([[2.0, -2.0, 0.0], [-2.0, 5.0, -3.0], [0.0, -3.0, 3.0]])
    best = np.array([1.0, 0.3, -1.3])
    prior = 0.8 * np.eye(3)
    scores = np.linalg.solve(laplacian + prior, laplacian @ best)
    ((share, mean, covariance),) = worth_module.posteriors(e, scores, worth)
    assert share == 1.0
    assert_allclose(mean, np.linalg.solve(worth * laplacian + prior, worth * laplacian @ best), atol=1e-9)
    centre = np.eye(3) - 1 / 3
    assert_allclose(covariance.matrix, centre @ np.linalg.inv(worth * laplacian + prior) @ centre, atol=1e-9)


@pytest.mark.parametrize("worth", [0.3, 0.8, 1.6])
def test_spreads_are_as_probable_as_the_discounted_votes_make_them(worth):
    """Of the same quadratic loss: the log of ∫ exp(−k·loss) N(u; 0, 1/ridge) du under each of two penalties."""
    laplacian = np.array([[2.0, -2.0, 0.0], [-2.0, 5.0, -3.0], [0.0, -3.0, 3.0]])
    best = np.array([1.0, 0.3, -1.3])

    def evidence(k, ridge):
        precision = k * laplacian + ridge * np.eye(3)
        mean = np.linalg.solve(precision, k * laplacian @ best)
        loss = k * 0.5 * (mean - best) @ laplacian @ (mean - best) + 0.5 * ridge * mean @ mean
        return -loss - 0.5 * np.linalg.slogdet(precision)[1] + 1.5 * math.log(ridge)

    def shares(k):
        logs = np.array([evidence(k, ridge) for ridge in (0.3, 2.0)])
        return np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()

    means = [np.linalg.solve(laplacian + ridge * np.eye(3), laplacian @ best) for ridge in (0.3, 2.0)]
    alternatives = tuple(
        Alternative(share, ENDS["curvature"], ridge, None, None, mean - means[0])
        for share, ridge, mean in zip(shares(1.0), (0.3, 2.0), means, strict=True)
    )
    found = worth_module.posteriors(information(ridge=0.3, alternatives=alternatives), means[0], worth)
    assert_allclose([share for share, _, _ in found], shares(worth), atol=1e-6)
    for (_, mean, _), ridge in zip(found, (0.3, 2.0), strict=True):
        whole = np.linalg.solve(worth * laplacian + ridge * np.eye(3), worth * laplacian @ best)
        assert_allclose(mean, whole, atol=1e-9)
    for (share, mean, _), one, before in zip(
        worth_module.posteriors(information(ridge=0.3, alternatives=alternatives), means[0]), alternatives, means,
        strict=True,
    ):  # fmt: skip
        assert share == one.share
        assert_allclose(mean, before)


def test_misfits_of_quasi_variances_are_squared_logarithms():
    i, j = np.triu_indices(3, 1)
    q, wanted = np.array([1.0, 2.0, 0.5]), np.array([1.0, 1.5, 2.5])
    assert quasi._misfit(q, i, j, wanted) == pytest.approx(math.log(3.0) ** 2)
    assert quasi._misfit(np.array([-2.0, 1.0, 3.0]), i, j, wanted) == np.inf
    assert quasi._misfit(np.array([1.0, -1.0, 3.0]), i, j, wanted) == np.inf
    apart = np.diag([0.01, 1.0, 100.0, 3.0, 0.1])
    assert_allclose(quasi.quasi_variances(apart)[0], apart.diagonal(), rtol=1e-5)


def test_quasi_variances_that_need_small_steps_are_found_too():
    """Strongly correlated scores: a full first step would make a sum negative."""
    for seed in range(12):
        root = np.random.default_rng(seed).normal(size=(6, 2))
        matrix = root @ root.T + 0.02 * np.eye(6)
        q, error = quasi.quasi_variances(matrix)
        i, j = np.triu_indices(6, 1)
        total, wanted = q[i] + q[j], matrix[i, i] + matrix[j, j] - 2 * matrix[i, j]
        assert (total > 0).all()
        off = np.log(total / wanted) / total
        assert_allclose(np.bincount(i, off, 6) + np.bincount(j, off, 6), 0.0, atol=1e-5 / total.min())
        assert error == pytest.approx(np.abs(np.sqrt(total / wanted) - 1).max())


# ---- very many items ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ridge", [0.05, 1.0, 400.0])
def test_messages_on_a_tree_are_exact(ridge):
    """Of a chain of five the precision of each item, and the variance of each neighbours' difference."""
    left, right, curve = np.arange(4, dtype=np.int32), np.arange(1, 5, dtype=np.int32), np.array([1.0, 3.0, 0.5, 2.0])
    hessian = ridge * np.eye(5)
    for u, v, w in zip(left, right, curve, strict=True):
        hessian[[u, v], [u, v]] += w
        hessian[[u, v], [v, u]] -= w
    inverse = np.linalg.inv(hessian)
    diagonal = hessian.diagonal().copy()
    tolerance = 1e-4 if ridge > 100 else 1e-8
    assert_allclose(item_precisions((left, right, curve), diagonal, 1e-10), 1 / inverse.diagonal(), rtol=1e-8)
    gaps, variance = pair_gaps((left, right, curve), diagonal, tolerance)
    assert_allclose(variance, inverse.diagonal(), rtol=10 * tolerance)
    expected = inverse[left, left] + inverse[right, right] - 2 * inverse[left, right]
    assert_allclose(gaps, expected, rtol=10 * tolerance)


def test_groups_of_many_items_lie_anywhere_to_the_largest(monkeypatch):
    monkeypatch.setattr(estimate, "DENSE_LIMIT", 20)
    left, right = np.triu_indices(24, 1)
    groups = np.repeat([1, 0], [14, 10])
    met = groups[left] == groups[right]
    e = Information(24, left[met], right[met], np.ones(met.sum()), ridge=1.0, groups=groups)
    found = posterior_covariance(e)
    assert found.matrix is None
    monkeypatch.undo()
    whole = posterior_covariance(e).matrix
    alone = posterior_covariance(dataclasses.replace(e, groups=None)).matrix
    assert_allclose(whole, alone + 1e4 * (groups[:, None] == groups))
    assert_allclose(found.variance, alone.diagonal() + 1e4 * (groups == 0), rtol=0.05)


def grid(n, seed=0):
    """Every item met four others at random: curvatures that differ."""
    rng = np.random.default_rng(seed)
    left = np.repeat(np.arange(n), 4)
    right = (left + rng.integers(1, n, 4 * n)) % n
    return Information(n, left, right, rng.uniform(0.1, 1.0, 4 * n), ridge=0.05)


def test_which_items_are_solved_to_check_a_series(monkeypatch):
    """Eight at random, the eight most compared, and those asked for; one that is off by more than allowed fails it."""
    made = Graph(grid(60))
    exact = many._solved(made, np.arange(60))
    seen = []

    def noted(graph, chosen, gradients=None):
        seen.append(chosen)
        return exact[chosen]

    monkeypatch.setattr(many, "_solved", noted)
    assert many._agrees(made, exact)
    (chosen,) = seen
    busiest = np.argsort(-made.diagonal)[:8]
    assert set(busiest.tolist()) <= set(chosen.tolist())
    assert 8 < len(chosen) <= 16
    rest = np.setdiff1d(np.arange(60), chosen)
    assert many._agrees(made, exact, also=rest[:1])
    assert set(seen[1].tolist()) == {*chosen.tolist(), int(rest[0])}
    for error in (0.04, 0.01):
        for item in (chosen[0], chosen[-1], busiest[0]):
            for factor, fine in ((1 + 1.01 * error, False), (1 - 1.01 * error, False), (1 + 0.99 * error, True)):
                variance = exact.copy()
                variance[item] *= factor
                assert many._agrees(made, variance, error=error) == fine
    variance = exact.copy()
    variance[rest[0]] *= 2
    assert many._agrees(made, variance)
    assert not many._agrees(made, variance, also=rest[:1])


def test_solved_variances_are_those_of_the_dense_inverse():
    e = grid(40)
    assert_allclose(many._solved(Graph(e), np.array([3, 0, 39])), covariance(e).diagonal()[[3, 0, 39]], rtol=1e-6)
    series = many._hessian_series(Graph(e))
    assert series is not None


def test_the_items_that_lean_most_on_others_are_exact_and_the_next_are_checked(monkeypatch):
    """64 items by the largest variance times own curvature are solved, the next eight compared."""
    e = grid(120, 3)
    made = Graph(e)
    exact, series = covariance(e).diagonal(), many._hessian_series(made)
    leaning = np.argsort(-series * made.diagonal, kind="stable")
    asked = {}

    def agrees(graph, variance, gradients=None, *, error=0.04, also=None):
        asked.update(error=error, also=also)
        return True

    monkeypatch.setattr(many, "_agrees", agrees)
    found = many._checked_series(made)
    assert_allclose(found[leaning[:64]], exact[leaning[:64]], rtol=1e-6)
    assert found[leaning[64]] == series[leaning[64]]
    assert asked["also"].tolist() == leaning[64:72].tolist()
    assert asked["error"] == 0.01
    monkeypatch.setattr(many, "_agrees", lambda *given, **more: False)
    assert many._checked_series(made) is None


# ---- covariances of several penalties, and scores without an end ----------------------------------------------------


def test_a_covariance_over_penalties_is_their_mean_and_that_of_the_optimum():
    shifts = np.array([[0.3, 0.1, -0.1], [-0.2, 0.4, 0.1]])
    parts = tuple(
        Alternative(share, scale * ENDS["curvature"], ridge, None, None, shift)
        for share, scale, ridge, shift in zip((0.25, 0.75), (1.0, 0.5), (1.0, 3.0), shifts, strict=True)
    )
    found = score_covariance(information(ridge=9.0, alternatives=parts)).matrix
    expected = np.zeros((3, 3))
    for one in parts:
        shift = one.shift - one.shift.mean()
        there = dataclasses.replace(information(ridge=one.ridge), curvature=one.curvature)
        expected += one.share * (covariance(there) + np.outer(shift, shift))
    assert_allclose(found, expected)


@pytest.mark.parametrize("votes", [1.0, 50.0])
def test_scores_whose_votes_say_nothing_beside_an_effect_are_open_at_both_ends(votes):
    """Curvature below a threshold of the votes; then those go too who were held by these alone."""
    least = estimate.LEAST_CURVATURE
    weight = np.full(4, votes)
    rows = {
        "vote_left": np.array([0, 1, 2, 3]), "vote_right": np.array([1, 2, 3, 4]), "vote_gradient": np.full(4, 0.1),
        "vote_weight": weight, "vote_weight_sq": weight**2, "border": np.zeros((5, 1)), "corner": np.eye(1),
        "vote_extra_gradient": np.zeros((4, 1)),
    }  # fmt: skip
    scale = votes  # a vote is worth 1 / votes of its weight
    curvature = least * scale * np.array([2.0, 2.0, 0.6, 0.3])
    e = Information(5, np.arange(4), np.arange(1, 5), curvature, **rows)
    assert e.votes_per_weight == pytest.approx(1 / votes)
    found = estimate._without_bounds(e)
    assert found.open_above.tolist() == found.open_below.tolist() == [False, False, False, True, True]
    assert estimate._without_bounds(dataclasses.replace(e, ridge=1.01 * least * scale)).open_above is None
    held = estimate._without_bounds(dataclasses.replace(e, curvature=least * scale * np.array([2.0, 2.0, 2.0, 1.01])))
    assert held.open_above is None
    above = np.array([True, False, False, False, False])
    once = estimate._without_bounds(dataclasses.replace(e, open_above=above))
    assert once.open_above.tolist() == [True, False, False, True, True]
    assert once.open_below.tolist() == [False, False, False, True, True]
    only_below = estimate._without_bounds(dataclasses.replace(e, open_below=above))
    assert only_below.open_above.tolist() == [False, False, False, True, True]
    assert only_below.open_below.tolist() == [True, False, False, True, True]
    plain = dataclasses.replace(e, border=None, corner=None, vote_extra_gradient=None)
    assert estimate._without_bounds(plain) is plain


def test_redrawn_scores_are_held_within_robust_deviations_of_their_median():
    rng = np.random.default_rng(1)
    drawn = rng.normal(size=(4000, 2))
    assert_allclose(estimate._covariance_of(drawn), np.cov(drawn.T), rtol=0.02, atol=0.02)
    reach = estimate.CLIP_DEVIATIONS * 1.4826 * np.median(np.abs(drawn[:, 0] - np.median(drawn[:, 0])))
    wild = drawn.copy()
    wild[:40, 0] = 1e6
    held = drawn.copy()
    held[:40, 0] = np.median(wild[:, 0]) + reach
    assert_allclose(estimate._covariance_of(wild)[0, 0], np.var(held[:, 0]), rtol=0.05)


def test_very_many_items_have_no_table_of_differences(monkeypatch):
    ranking = BradleyTerry(l2=0.5).fit(votes()).ranking_
    monkeypatch.setattr(Ranking, "_known_covariance", lambda self: ScoreCovariance(variances=np.ones(len(self))))
    for what, call in (("a table of differences", ranking.differences), ("quasi-variances", ranking.quasi_variances)):
        with pytest.raises(InputError, match=f"4 items have too many pairs for {what}; rank fewer items"):
            call()
