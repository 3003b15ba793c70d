"""Scores without an end, and parts of what votes say: every field, margins by their closed forms, refusals."""

import dataclasses
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from podium.errors import DataWarning, InputError
from podium.ranking.uncertainty import Information, ScoreCovariance, estimate, extra_covariance, score_covariance
from podium.ranking.uncertainty.dense import covariance, full_covariance, laplacian
from podium.ranking.uncertainty.ends import _margin, bounded_items, bounded_part, end_rows, reach
from podium.ranking.uncertainty.information import Alternative, WeightedInformation

import reference_uncertainty as reference


def whole(kind=Information, **more):
    """Four items, five pairs, six rows of votes with two effects; everything is there."""
    rng = np.random.default_rng(0)
    left, right = np.array([0, 0, 1, 2, 1]), np.array([1, 2, 3, 3, 2])
    vote_left, vote_right = np.array([0, 2, 1, 3, 2, 0]), np.array([1, 0, 3, 2, 1, 1])
    rows = {
        "ridge": 0.3, "border": rng.normal(size=(4, 2)), "corner": 9 * np.eye(2), "vote_left": vote_left,
        "vote_right": vote_right, "vote_gradient": rng.normal(size=6), "vote_weight": np.arange(1.0, 7.0),
        "vote_weight_sq": np.arange(2.0, 8.0), "vote_extra_gradient": rng.normal(size=(6, 2)),
        "target": rng.random(6), "scores": np.array([0.4, 0.1, -0.2, -0.3]),
        "clusters": {"judge": np.array([0, 1, 0, -1, 1, 0]), "group": np.array([3, 3, 2, 2, 1, 1])},
    }  # fmt: skip
    return kind(4, left, right, np.arange(1.0, 6.0), **(rows | more))


def test_a_part_is_about_the_votes_among_its_items():
    e = whole(open_above=np.array([False, False, True, False]), open_below=np.zeros(4, bool))
    part = bounded_part(e, np.array([0, 1, 3]))
    assert part.n == 3
    assert (part.left.tolist(), part.right.tolist(), part.curvature.tolist()) == ([0, 1], [1, 2], [1.0, 3.0])
    assert (part.open_above, part.open_below) == (None, None)
    assert part.border.tolist() == e.border[[0, 1, 3]].tolist()
    assert part.border.flags.c_contiguous
    assert part.corner is e.corner
    assert part.ridge == 0.3
    assert part.scores.tolist() == [0.4, 0.1, -0.3]
    kept = [0, 2, 5]  # rows of votes without item 2
    assert (part.vote_left.tolist(), part.vote_right.tolist()) == ([0, 1, 0], [1, 2, 1])
    for name in ("vote_gradient", "vote_weight", "vote_weight_sq", "vote_extra_gradient", "target"):
        assert getattr(part, name).tolist() == getattr(e, name)[kept].tolist(), name
    assert {name: codes.tolist() for name, codes in part.clusters.items()} == {"judge": [0, 0, 0], "group": [3, 2, 1]}


def test_a_part_of_what_is_not_known_is_not_known():
    bare = Information(3, np.array([0, 1]), np.array([1, 2]), np.array([1.0, 2.0]))
    part = bounded_part(bare, np.array([1, 2]))
    assert (part.left.tolist(), part.right.tolist(), part.curvature.tolist()) == ([0], [1], [2.0])
    assert (part.border, part.scores, part.vote_gradient, part.target) == (None, None, None, None)


def test_a_part_of_weighted_votes_keeps_their_squares():
    rng = np.random.default_rng(1)
    squared = {
        "squared_curvature": np.arange(5.0),
        "squared_border": rng.normal(size=(4, 2)),
        "squared_corner": np.eye(2),
    }
    e = whole(WeightedInformation, **squared)
    part = bounded_part(e, np.array([0, 1, 3]))
    assert isinstance(part, WeightedInformation)
    assert part.squared_curvature.tolist() == [0.0, 2.0]
    assert part.squared_border.tolist() == e.squared_border[[0, 1, 3]].tolist()
    assert part.squared_corner is e.squared_corner
    plain = WeightedInformation(2, np.array([0]), np.array([1]), np.ones(1), squared_curvature=np.ones(1))
    assert bounded_part(plain, np.array([0, 1])).squared_border is None


def test_which_items_have_both_ends():
    above, below = np.array([True, False, False, False]), np.array([False, False, False, True])
    assert bounded_items(whole()) is None
    assert bounded_items(whole(open_above=np.zeros(4, bool), open_below=np.zeros(4, bool))) is None
    assert bounded_items(whole(open_above=above)).tolist() == [1, 2, 3]
    assert bounded_items(whole(open_below=below)).tolist() == [0, 1, 2]
    assert bounded_items(whole(open_above=above, open_below=below)).tolist() == [1, 2]


@pytest.mark.parametrize("nu", [0.0, 0.3, 2.0, 40.0])
@pytest.mark.parametrize("margin", [-9.0, -2.0, 0.0, 0.5, 3.0, 25.0])
def test_a_margin_is_found_from_what_a_win_took_beyond_the_points_expected(margin, nu):
    """P(loss) + P(tie) / 2 by Davidson."""
    odds = math.exp(margin / 2), nu, math.exp(-margin / 2)
    missing = (odds[2] + odds[1] / 2) / sum(odds)
    assert _margin(np.array([missing]), nu)[0] == pytest.approx(margin, abs=1e-6)


def test_margins_beyond_all_numbers_are_far_and_finite():
    found = _margin(np.array([0.0, 1.0]), 0.0)
    assert np.isfinite(found).all()
    assert found[0] > 600
    assert found[1] < -30


def test_the_votes_of_open_items_with_bounded_ones():
    """Item 3 won against 0 and 1, and against 2, which is open too; weights that are no counts; one row of nothing."""
    weight, square = np.array([4.0, 3.0, 2.0, 0.0, 5.0]), np.array([4.0, 4.5, 2.0, 0.0, 5.0])
    e = Information(
        4, np.array([0]), np.array([1]), np.ones(1), vote_left=np.array([3, 1, 3, 3, 0]),
        vote_right=np.array([0, 3, 2, 0, 1]), vote_gradient=np.array([-0.1, 0.2, -0.3, -0.4, 0.5]), vote_weight=weight,
        vote_weight_sq=square,
    )  # fmt: skip
    item, margin, number = end_rows(e, np.array([0, 1]), None)
    assert item.tolist() == [3, 3]
    assert_allclose(margin, np.log([0.9 / 0.1, 0.8 / 0.2]))
    assert_allclose(number, [4.0, 9.0 / 4.5])
    nobody, margin, number = end_rows(e, np.array([], dtype=int), None)  # where none is bounded: votes with anyone
    assert sorted(nobody.tolist()) == [0, 0, 1, 1, 2, 3, 3, 3]
    assert len(number) == 8
    for empty in end_rows(Information(2, np.array([0]), np.array([1]), np.ones(1)), np.array([0]), None):
        assert len(empty) == 0


@pytest.mark.parametrize("tail", [0.5, 0.025, 1e-9])
def test_a_reach_is_where_the_wins_become_improbable(tail):
    item, margin, number = np.array([0, 0, 2]), np.array([-1.0, 2.0, 0.0]), np.array([2.5, 1.0, 4.0])
    found = reach(3, item, margin, number, tail)
    assert found[1] == np.inf
    for k in (0, 2):
        rows = item == k
        log = -(number[rows] * np.logaddexp(0, found[k] - margin[rows])).sum()
        if found[k] > 1e-12:
            assert log == pytest.approx(math.log(tail), rel=1e-9)
        else:  # improbable as they are found
            assert log < math.log(tail)
    assert found[2] == pytest.approx(max(0.0, math.log(tail ** (-1 / 4) - 1)), abs=1e-9)


def test_ends_lie_at_the_level_asked_for():
    """Four wins at a margin of 0: the chance of all is (1 + e^x)⁻⁴."""
    known = ScoreCovariance(
        np.diag([1.0, np.inf]), open_above=np.array([False, True]), end_item=np.array([1]), end_margin=np.zeros(1),
        end_votes=np.array([4.0]),
    )  # fmt: skip
    width = norm.ppf(0.975)
    half = known.halves(width)
    assert half[0] == pytest.approx(width)
    assert half[1] == pytest.approx(math.log(0.025 ** (-1 / 4) - 1))
    lower, upper = known.bounds(np.array([0.0, 3.0]), width)
    assert lower[1] == pytest.approx(3.0 - half[1])
    assert upper[1] == np.inf


# ---- what is asked of information -----------------------------------------------------------------------------------


def test_what_cannot_be_had_is_said():
    e = whole()
    for kind in ("hessian", "sandwich", "auto"):
        with pytest.raises(InputError, match=f"uncertainty '{kind}' takes no cluster; use 'cluster' or 'bootstrap'"):
            e.require(kind, "judge")
    with pytest.raises(
        InputError, match="uncertainty 'x' is not known; choose one of auto, hessian, sandwich, cluster, boot"
    ):
        e.require("x")
    with pytest.raises(InputError, match="no cluster 'team' in the votes: the votes have 'judge', 'group'"):
        e.require("bootstrap", "team")
    with pytest.raises(InputError, match="needs every vote's gradient in the extra parameters too; use 'hessian'"):
        dataclasses.replace(e, vote_extra_gradient=None).require("sandwich")
    assert e.require("weighted") is None
    with pytest.raises(InputError, match="the bootstrap gives replicates, not a formula; use `score_covariance`"):
        full_covariance(e, "bootstrap", None)


@pytest.mark.parametrize(("count", "warned"), [(29, True), (30, False)])
def test_few_clusters_are_warned_of(count, warned, recwarn):
    rng = np.random.default_rng(2)
    left, right, won = reference.votes(rng, np.zeros(4), 120)
    u = reference.fit(4, left, right, won, np.ones(120))
    e = reference.information(4, left, right, won, np.ones(120), u, clusters={"judge": np.arange(120) % count})
    score_covariance(e, "cluster")
    heard = [str(each.message) for each in recwarn if issubclass(each.category, DataWarning)]
    assert len(heard) == warned
    if warned:
        assert heard[0].startswith(
            "there are 29 judges only: intervals clustered by it tend to be too narrow below 30;"
        )


def test_two_clusters_are_enough_and_one_is_not():
    rng = np.random.default_rng(6)
    left, right, won = reference.votes(rng, np.zeros(4), 60)
    u = reference.fit(4, left, right, won, np.ones(60))
    codes = np.arange(60) % 2
    e = reference.information(4, left, right, won, np.ones(60), u, clusters={"judge": codes})
    bread = reference.centred_inverse(reference.hessian(4, e.left, e.right, e.curvature, e.ridge), 4)
    rows = reference.directions(4, left, right) * e.vote_gradient[:, None]
    sums = np.array([rows[codes == k].sum(axis=0) for k in (0, 1)])
    assert_allclose(covariance(e, "cluster"), bread @ sums.T @ sums @ bread * 2, atol=1e-11)
    alone = dataclasses.replace(e, clusters={"judge": 0 * codes})
    with pytest.raises(InputError, match="errors clustered by judge need at least two clusters; the votes have 1"):
        covariance(alone, "cluster")


def test_a_laplacian_is_a_sum_over_pairs():
    left, right, weight = (
        np.array([0, 2, 1, 0], np.int32),
        np.array([1, 0, 2, 1], np.int32),
        np.array([1.0, 2.0, 3.0, 4.0]),
    )
    assert_allclose(laplacian(3, left, right, weight), reference.hessian(3, left, right, weight, 0.0))


@pytest.mark.parametrize("effects", [False, True])
def test_weighted_errors_have_squared_weights_in_the_middle(effects):
    rng = np.random.default_rng(3)
    squared = {"squared_curvature": rng.random(5)}
    more = {"border": None, "corner": None, "vote_extra_gradient": None}
    if effects:
        squared |= {"squared_border": rng.normal(size=(4, 2)), "squared_corner": 5 * np.eye(2)}
        more = {}
    e = whole(WeightedInformation, **squared, **more)
    assert e.choose("auto") == "weighted"
    hessian = reference.hessian(4, e.left, e.right, e.curvature, e.ridge)
    meat = reference.hessian(4, e.left, e.right, e.squared_curvature, 0.0)
    if effects:
        hessian = np.block([[hessian, e.border], [e.border.T, e.corner]])
        meat = np.block([[meat, e.squared_border], [e.squared_border.T, e.squared_corner]])
    bread = reference.centred_inverse(hessian, 4)
    wanted = bread @ meat @ bread
    assert_allclose(full_covariance(e, "auto", None), wanted, atol=1e-10)
    assert_allclose(covariance(e, "auto"), wanted[:4, :4], atol=1e-10)


def test_effects_over_several_penalties_vary_with_where_the_optimum_is():
    e = whole(vote_gradient=None, vote_left=None, vote_right=None, vote_extra_gradient=None, clusters={})
    shifts = np.array([[0.1, -0.1, 0.2, 0.0, 0.3, -0.4], [0.0, 0.2, -0.1, 0.1, -0.2, 0.1]])
    parts = tuple(
        Alternative(share, scale * e.curvature, ridge, scale * e.border, e.corner, shift)
        for share, scale, ridge, shift in ((0.25, 1.0, 0.3, shifts[0]), (0.75, 0.5, 0.9, shifts[1]))
    )
    wanted = np.zeros((2, 2))
    for one in parts:
        hessian = np.block(
            [[reference.hessian(4, e.left, e.right, one.curvature, one.ridge), one.border], [one.border.T, one.corner]]
        )
        wanted += one.share * (np.linalg.inv(hessian)[4:, 4:] + np.outer(one.shift[4:], one.shift[4:]))
    found = extra_covariance(dataclasses.replace(e, alternatives=parts))
    assert_allclose(found, wanted, atol=1e-10)


def test_many_items_have_variances_where_quick_ones_are_asked_for(monkeypatch):
    n = 40
    rng = np.random.default_rng(4)
    left = rng.integers(n, size=800)
    right = (left + rng.integers(1, n, size=800)) % n
    e = Information(n, left, right, rng.uniform(0.1, 0.3, 800), ridge=0.1)
    exact = covariance(e)
    assert score_covariance(e, variances_only=True).matrix is not None  # few items: the matrix is as quick
    assert not estimate.has_quick_variances(e, "hessian")
    monkeypatch.setattr(estimate, "MIN_QUICK_ITEMS", n)
    assert score_covariance(e, variances_only=True).matrix is not None
    monkeypatch.setattr(estimate, "MIN_QUICK_ITEMS", n - 1)
    assert estimate.has_quick_variances(e, "hessian")
    assert not estimate.has_quick_variances(e, "sandwich")
    assert not estimate.has_quick_variances(whole(), "hessian")
    quick = score_covariance(e, variances_only=True)
    assert quick.matrix is None
    assert_allclose(quick.variance, exact.diagonal(), rtol=0.01)
    assert_allclose(score_covariance(e).matrix, exact)
    monkeypatch.setattr(estimate, "DENSE_LIMIT", n)
    assert score_covariance(e).matrix is not None
    assert estimate.has_quick_variances(e, "hessian")
    monkeypatch.setattr(estimate, "DENSE_LIMIT", n - 1)
    assert not estimate.has_quick_variances(e, "hessian")
    beyond = score_covariance(e)
    assert beyond.matrix is None
    assert_allclose(beyond.variance, exact.diagonal(), rtol=0.04)


def test_votes_without_any_cluster_are_clusters_of_their_own():
    rng = np.random.default_rng(7)
    left, right, won = reference.votes(rng, np.zeros(4), 50)
    u = reference.fit(4, left, right, won, np.ones(50))
    e = reference.information(4, left, right, won, np.ones(50), u, clusters={"judge": np.full(50, -1)})
    assert_allclose(covariance(e, "cluster"), covariance(e, "sandwich") * 50 / 49, atol=1e-11)


def test_a_bootstrap_is_passed_what_was_asked_for(monkeypatch):
    asked = []

    def drawn(part, *, rng, **more):
        asked.append(more | {"first": rng.random()})
        return np.random.default_rng(0).normal(size=(9, 4))

    monkeypatch.setattr(estimate, "bootstrap", drawn)
    e = whole(border=None, corner=None, vote_extra_gradient=None)
    score_covariance(e, "bootstrap", seed=3)
    with pytest.warns(DataWarning, match="judges only"):
        score_covariance(e, "bootstrap", "judge", replicates=7, seed=4, jobs=2, engine="x")
    assert asked == [
        {"replicates": 1000, "cluster": None, "jobs": 1, "engine": None, "first": np.random.default_rng(3).random()},
        {"replicates": 7, "cluster": "judge", "jobs": 2, "engine": "x", "first": np.random.default_rng(4).random()},
    ]


def test_a_bootstrap_knows_one_penalty_only():
    e = whole(border=None, corner=None, vote_extra_gradient=None, target=None)
    parts = tuple(
        Alternative(share, scale * e.curvature, 0.3, None, None, np.zeros(4))
        for share, scale in ((0.5, 1.0), (0.5, 9.0))
    )
    several = dataclasses.replace(e, alternatives=parts)
    one, other = (score_covariance(each, "bootstrap", replicates=40, seed=1).matrix for each in (e, several))
    assert_allclose(other, one)


def test_a_shift_is_free_up_to_rounding():
    for off, free in ((1.8e-9, True), (3e-9, False)):  # of 2 in all
        border = np.array([[1.0], [-1.0 + off]])
        assert (
            Information(2, np.array([0]), np.array([1]), np.ones(1), border=border, corner=np.eye(1)).shift_free == free
        )


def test_weights_are_counts_up_to_a_hundredth_exactly():
    rows = {"vote_left": np.array([0]), "vote_right": np.array([1]), "vote_gradient": np.zeros(1)}
    for square, counted in ((128.0, True), (129.25, True), (129.5, False), (126.75, True), (126.5, False)):
        e = Information(2, np.array([0]), np.array([1]), np.ones(1), vote_weight=np.array([128.0]),
                        vote_weight_sq=np.array([square]), **rows)  # fmt: skip
        assert e.counted == counted


def test_an_item_that_an_open_one_alone_holds_is_open_beside_an_effect():
    """A chain: the first only won, so that its votes bound nobody; the others say next to nothing to each other."""
    rows = {"border": np.zeros((3, 1)), "corner": np.eye(1), "open_above": np.array([True, False, False])}
    e = Information(3, np.array([0, 1]), np.array([1, 2]), np.array([5.0, 0.006]), **rows)
    found = estimate._without_bounds(e)
    assert found.open_above.tolist() == [True, True, True]
    assert found.open_below.tolist() == [False, True, True]
