"""Losses of votes by their formulas, derivatives by differences, rows by loops, and what a ranker says before a fit."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from podium import BradleyTerry, Comparisons, DynamicBradleyTerry, Elo, OnlineRABF, Ranking, WinRate
from podium.errors import InputError, NotFittedError, PodiumWarning
from podium.pairwise import METHODS, ranker
from podium.pairwise._fit.likelihoods import DavidsonRows, HeldTies, LapseRows, LogisticRows, SquaredRows
from podium.pairwise._fit.rows import _scattered, davidson_loss, logistic_loss, pull_rows, squared_loss
from podium.pairwise.base import _aligned, _best_slope, _normal_draws, davidson, logistic
from podium.ranking.uncertainty.posterior import mean_chance_margin

MARGIN = np.array([-2.0, -0.3, 0.0, 0.7, 3.0])
WINS, LOSSES, TIES = np.array([3.0, 0, 2, 5, 1]), np.array([1.0, 2, 2, 0, 4]), np.array([0.0, 3, 1, 2, 0.5])
POINTS, TOTAL = WINS + TIES / 2, WINS + LOSSES + TIES
TARGET = np.array([0.5, -1.0, 0.2, 0.0, 1.0])


def lapse(m, rho=0.1):
    return rho + (1 - 2 * rho) / (1 + np.exp(-m))


LOSSES_OF = {
    "logistic": (
        LogisticRows(POINTS, TOTAL), lambda m: POINTS * np.log1p(np.exp(-m)) + (TOTAL - POINTS) * np.log1p(np.exp(m)),
    ),
    "lapse": (
        LapseRows(POINTS, TOTAL, 0.1), lambda m: -POINTS * np.log(lapse(m)) - (TOTAL - POINTS) * np.log(1 - lapse(m)),
    ),
    "squared": (SquaredRows(TARGET, TOTAL, 2.5), lambda m: TOTAL * (m - TARGET) ** 2 + 2.5 / 5),
    "davidson": (DavidsonRows(WINS, LOSSES, TIES), None),
    "held": (HeldTies(DavidsonRows(WINS, LOSSES, TIES), 0.4), None),
}  # fmt: skip


def davidson_each(m, eta=0.4):
    total = np.log(np.exp(m / 2) + np.exp(-m / 2) + np.exp(eta))
    return TOTAL * total - (WINS - LOSSES) * m / 2 - TIES * eta


@pytest.mark.parametrize("name", LOSSES_OF)
def test_slopes_are_those_of_the_formula(name):
    rows, each = LOSSES_OF[name]
    each = each or davidson_each
    extras = np.array([0.4])
    loss, slope, curvature, own, mixed, corner = rows(MARGIN, extras)
    assert loss == pytest.approx(each(MARGIN).sum())
    h = 1e-4
    assert_allclose(slope, (each(MARGIN + h) - each(MARGIN - h)) / (2 * h), atol=1e-5)
    second = (each(MARGIN + h) - 2 * each(MARGIN) + each(MARGIN - h)) / h**2
    if name == "lapse":  # the expected curvature: that of votes that fall as the model says
        q = lapse(MARGIN)
        bend = 0.8 * np.exp(-MARGIN) / (1 + np.exp(-MARGIN)) ** 2
        assert_allclose(curvature, TOTAL * bend**2 / (q * (1 - q)))
    else:
        assert_allclose(curvature, second, atol=1e-4)
    if name == "davidson":
        up, down = (rows(MARGIN, extras + sign * h) for sign in (1, -1))
        assert own[0] == pytest.approx((up[0] - down[0]) / (2 * h), abs=1e-5)
        assert_allclose(mixed[:, 0], (up[1] - down[1]) / (2 * h), atol=1e-5)
        assert corner[0, 0] == pytest.approx((up[3][0] - down[3][0]) / (2 * h), abs=1e-5)
        third = [rows.margin_derivatives(MARGIN + sign * h, extras) for sign in (1, -1)]
        here = rows.margin_derivatives(MARGIN, extras)
        assert_allclose(here[0], curvature)
        assert_allclose(here[1], (third[0][0] - third[1][0]) / (2 * h), atol=1e-6)
        assert_allclose(here[2], (third[0][1] - third[1][1]) / (2 * h), atol=1e-6)
    else:
        assert (own.shape, mixed.shape, corner.shape) == ((0,), (5, 0), (0, 0))
    assert rows.own == (1 if name == "davidson" else 0)


@pytest.mark.parametrize("outcome", [1.0, 0.0, 0.5])
def test_the_slope_of_one_vote_is_that_of_its_row(outcome):
    one, votes = np.ones(5), np.full(5, outcome)
    won, lost, tied = (np.full(5, float(outcome == each)) for each in (1.0, 0.0, 0.5))
    extras = np.array([0.4])
    slope, own = LogisticRows.vote_slopes(MARGIN, votes, extras)
    assert_allclose(slope, LogisticRows(votes, one)(MARGIN, extras)[1])
    assert own.shape == (5, 0)
    lapsed = LapseRows(votes, one, 0.2)
    assert_allclose(lapsed.vote_slopes(MARGIN, votes), lapsed(MARGIN, extras)[1])
    slope, own = DavidsonRows.vote_slopes(MARGIN, votes, extras)
    rows = DavidsonRows(won, lost, tied)
    assert_allclose(slope, rows(MARGIN, extras)[1])
    assert own.sum() == pytest.approx(rows(MARGIN, extras)[3][0])


def test_leverages_of_outcomes_are_those_of_a_loop():
    rows, variance, mixed, own = (
        DavidsonRows(WINS, LOSSES, TIES),
        np.linspace(0.1, 0.5, 5),
        np.linspace(-0.1, 0.1, 5),
        0.3,
    )
    found = rows.outcome_leverages(MARGIN, np.array([0.4]), variance, mixed, own)
    for k, m in enumerate(MARGIN):
        parts = np.array([math.exp(m / 2), math.exp(-m / 2), math.exp(0.4)])
        chance = parts / parts.sum()
        added = np.array([[0.5, 0], [-0.5, 0], [0, 1]])
        spread = np.array([[variance[k], mixed[k]], [mixed[k], own]])
        for place in range(3):
            y = added[place] - chance @ added
            assert found[place, k] == pytest.approx(TOTAL[k] * chance[place] * (y @ spread @ y))


def test_no_margin_is_too_far():
    far = np.array([-2000.0, 2000.0])
    for rows in (
        DavidsonRows(*np.ones((3, 2))),
        LogisticRows(np.ones(2), np.full(2, 2.0)),
        LapseRows(np.ones(2), np.full(2, 2.0), 0.1),
    ):
        assert all(np.isfinite(part).all() for part in rows(far, np.array([0.0])))
    assert_allclose(np.sum(davidson(far, 1.0), axis=0), 1)
    assert_allclose(np.sum(logistic(far), axis=0), 1)
    assert [float(part[0]) for part in davidson(np.array([math.log(4)]), 1.0)] == pytest.approx([4 / 7, 2 / 7, 1 / 7])


# ---- rows -----------------------------------------------------------------------------------------------------------


def votes(**more):
    return Comparisons.from_frame(
        {"left": list("abcab"), "right": list("bcaba"), "outcome": [1, 0.5, 1, 0, 1], "weight": [1, 2, 1, 3, 0.5]}
        | more
    )


@pytest.mark.parametrize("by_side", [False, True])
def test_losses_of_rows_are_those_of_the_votes(by_side):
    c = votes()
    margin_of = {"a": 0.3, "b": -0.2, "c": 0.5}
    scores = np.array([margin_of[item] for item in c.items])
    side = 0.7 if by_side else 0.0
    table = list(zip(list("abcab"), list("bcaba"), [1, 0.5, 1, 0, 1], [1, 2, 1, 3, 0.5], strict=True))

    def total(each):
        return sum(w * each(margin_of[a] - margin_of[b] + side, y) for a, b, y, w in table)

    def found(made):
        left, right, rows = made
        return rows(scores[left] - scores[right] + side, np.array([0.1]))[0], rows

    log = lambda m, y: y * math.log1p(math.exp(-m)) + (1 - y) * math.log1p(math.exp(m))  # noqa: E731
    assert found(logistic_loss(c, by_side=by_side))[0] == pytest.approx(total(log))
    rho = 0.1
    corrected = lambda m, y: ((1 - rho) * log(m, y) - rho * log(m, 1 - y)) / (1 - 2 * rho)  # noqa: E731
    assert found(logistic_loss(c, rho, by_side=by_side))[0] == pytest.approx(total(corrected))
    q = lambda m: rho + (1 - 2 * rho) / (1 + math.exp(-m))  # noqa: E731
    assert found(logistic_loss(c, rho, "lapse", by_side=by_side))[0] == pytest.approx(
        total(lambda m, y: -y * math.log(q(m)) - (1 - y) * math.log(1 - q(m)))
    )
    assert found(squared_loss(c, by_side=by_side))[0] == pytest.approx(total(lambda m, y: (m - (2 * y - 1)) ** 2))
    loss, rows = found(squared_loss(c, rho, by_side=by_side))
    keep = 1 / (1 - 2 * rho)
    assert loss == pytest.approx(total(lambda m, y: (m - keep * (2 * y - 1)) ** 2))
    unbiased = lambda m, y: ((1 - rho) * (m - y) ** 2 - rho * (m + y) ** 2) * keep  # noqa: E731
    assert loss + rows.constant == pytest.approx(total(lambda m, y: unbiased(m, 2 * y - 1)))
    nu = 0.1

    def davidson_log(m, y):
        parts = {1: m / 2, 0: -m / 2, 0.5: nu}
        return -parts[y] + math.log(sum(math.exp(each) for each in parts.values()))

    assert found(davidson_loss(c, by_side=by_side))[0] == pytest.approx(total(davidson_log))
    ends_left, ends_right, outcome, weight, squares, clusters = pull_rows(c, by_side=by_side)
    assert clusters == {}
    assert weight.sum() == pytest.approx(7.5)
    assert squares.sum() == pytest.approx(1 + 4 + 1 + 9 + 0.25)
    assert (weight > 0).all()
    pulls = sum(
        w * (scores[a] - scores[b] + (side if by_side else 0)) * (y - 0.5)
        for a, b, y, w in zip(ends_left, ends_right, outcome, weight, strict=True)
    )
    assert pulls == pytest.approx(sum(w * (margin_of[a] - margin_of[b] + side) * (y - 0.5) for a, b, y, w in table))


def test_votes_that_hardly_repeat_are_taken_one_by_one():
    """Eight times the votes against the square of the items."""
    for rows, items, scattered in ((49, 20, True), (50, 20, False), (1, 3, True), (2, 3, False)):
        c = Comparisons(tuple(range(items)), np.zeros(rows, np.int32), np.ones(rows, np.int32))
        assert _scattered(c) == scattered
    for more in (
        {"weight": np.ones(1)},
        {"outcome": np.ones(1, np.int8)},
        {"margin": np.ones(1)},
        {"count": np.ones(1, np.int64)},
    ):
        assert not _scattered(Comparisons((0, 1, 2), np.zeros(1, np.int32), np.ones(1, np.int32), **more))


# ---- chances --------------------------------------------------------------------------------------------------------


def test_the_best_slope_is_the_most_likely_one():
    rng = np.random.default_rng(2)
    gap = rng.normal(0, 30, 50)
    outcome, weight = (rng.random(50) < 1 / (1 + np.exp(-gap / 20))).astype(float), rng.exponential(size=50)

    def loss(b):
        return weight @ (outcome * np.log1p(np.exp(-b * gap)) + (1 - outcome) * np.log1p(np.exp(b * gap)))

    found = _best_slope(gap, outcome, weight)
    assert found == pytest.approx(minimize_scalar(loss, bounds=(0, 1), method="bounded").x, rel=2e-3)
    assert np.isfinite(_best_slope(gap, (gap > 0) * 1.0, weight))
    assert _best_slope(np.zeros(3), np.ones(3), np.ones(3)) == 0.0
    assert _best_slope(gap, 1 - outcome, weight) == pytest.approx(-found, rel=1e-6)


def test_draws_have_the_mean_and_covariance_and_an_unknown_item_is_average():
    covariance = np.array([[1.0, 0.8, 0.0], [0.8, 1.0, 0.0], [0.0, 0.0, 0.0]])
    drawn = _normal_draws(np.array([1.0, 2.0, 3.0]), covariance, 20_000, np.random.default_rng(0))
    assert_allclose(drawn.mean(axis=0), [1, 2, 3], atol=0.03)
    assert_allclose(np.cov(drawn.T), covariance, atol=0.03)
    ranking = Ranking("ab", [4.0, 1.0], unit=2.0)
    assert _aligned(ranking, ("b", "x", "a")).tolist() == [0.5, 1.25, 2.0]
    assert _aligned(ranking, ranking.items).tolist() == [2.0, 0.5]


def dated(ties=False, n=4, m=40):
    rng = np.random.default_rng(1)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    outcome = rng.choice([-1, 0, 1] if ties else [-1, 1], m).astype(np.int8)
    return Comparisons(
        tuple("abcd"[:n]),
        left.astype(np.int32),
        right.astype(np.int32),
        outcome=outcome,
        sided=True,
        time=np.arange(m) * 1.0,
    )


@pytest.mark.parametrize("ties", [False, True])
def test_chances_of_scores_that_move_allow_for_their_errors(ties):
    c = dated(ties)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        model = DynamicBradleyTerry(drift=0.1, ties="davidson" if ties else "half").fit(c)  # sd from the votes
    margins = model._margins(c)
    variance = model._posterior.margin_variances(*model._placed(c), c.sided, over_drifts=False)
    found = model.predict_proba(c)
    assert_allclose(found.sum(axis=1), 1)
    if not ties:
        assert_allclose(found[:, 0], 1 / (1 + np.exp(-mean_chance_margin(margins, variance))))
    rng = np.random.default_rng(0)
    drawn = margins + np.sqrt(variance) * rng.standard_normal((20_000, len(margins)))
    wins = (davidson(drawn, model.tie_strength_) if ties else logistic(drawn))[0].mean(axis=0)
    assert_allclose(found[:, 0], wins, atol=0.012)
    fixed = DynamicBradleyTerry(drift=0.1, sd=1.0).fit(c)
    assert_allclose(fixed.predict_proba(c)[:, 0], 1 / (1 + np.exp(-fixed._margins(c))))


# ---- before a fit ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "name",
    [
        "ranking_",
        "feature_names_",
        "covariate_names_",
        "side_effect_",
        "tie_strength_",
        "settings_",
        "log_likelihood_",
        "anything_",
    ],
)
def test_what_is_learned_is_not_there_before_a_fit(method, name):
    with pytest.raises(NotFittedError, match="is not fitted yet; call"):
        getattr(ranker(method)(), name)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("call", ["predict_proba", "predict_interval", "score"])
def test_nothing_is_predicted_before_a_fit(method, call):
    with pytest.raises(NotFittedError, match="is not fitted yet; call"):
        getattr(ranker(method)(), call)(dated())
    with pytest.raises(NotFittedError):
        ranker(method)().draw_chances(dated(), 2, np.random.default_rng(0))


def test_parameters_by_name():
    model = Elo(k=10)
    assert model.set_params(k=5, initial=0).get_params()["k"] == 5
    with pytest.raises(InputError, match="Elo has no parameter 'j'; it takes k, "):
        model.set_params(j=1)
    with pytest.raises(AttributeError, match="'Elo' object has no attribute 'nothing'"):
        _ = model.nothing
    with pytest.raises(AttributeError, match="'Elo' object has no attribute 'nothing_'"):
        _ = model.fit(dated()).nothing_
    with pytest.raises(InputError, match="votes given one by one are not kept"):
        _ = Elo().update("a", "b").log_likelihood_


def test_the_score_and_the_likelihood_of_votes_by_hand():
    c = dated(ties=True)
    model = BradleyTerry(l2=0.1).fit(c)
    chance = 1 / (1 + np.exp(-model._margins(c)))
    points = (c.outcome + 1) / 2
    expected = points * np.log(chance) + (1 - points) * np.log(1 - chance)
    assert model.score(c) == pytest.approx(expected.mean())
    assert model.log_likelihood_ == pytest.approx(expected.sum())
    tied = BradleyTerry(l2=0.1, ties="davidson").fit(c)
    win, tie, loss = davidson(tied._margins(c), tied.tie_strength_)
    each = np.where(c.outcome == 1, win, np.where(c.outcome == 0, tie, loss))
    assert tied.log_likelihood_ == pytest.approx(np.log(each).sum())
    both = np.where(c.outcome == 1, win + tie / 2, loss + tie / 2)
    half = 0.5 * (np.log(win + tie / 2) + np.log(loss + tie / 2))
    assert tied.score(c) == pytest.approx(np.where(c.outcome == 0, half, np.log(both)).mean())
    low, high = tied.predict_interval(c, 0.9)
    assert (low <= tied.predict_proba(c) + 1e-9).all()
    assert (high >= tied.predict_proba(c) - 1e-9).all()
    assert WinRate().fit(c).predict_interval(c) is None
    draws = WinRate().fit(c).draw_chances(c, 3, np.random.default_rng(0))
    assert_allclose(draws, np.tile(WinRate().fit(c).predict_proba(c), (3, 1, 1)))


def test_targets_of_any_type_are_learned_from():
    """Margins of whole numbers move an online ranker as the same floats do."""
    whole = Comparisons(("a", "b"), np.zeros(3, np.int32), np.ones(3, np.int32), margin=np.array([1.0, 2.0, -1.0]))
    one, other = (OnlineRABF(loss="squared", flip_rate=rate).fit(whole) for rate in (0.0, 0.25))
    assert np.ptp(other.ranking_.scores) > np.ptp(one.ranking_.scores) > 0
    by_one = OnlineRABF(loss="squared")
    by_one.update("a", "b", margin=1)
    with_float = OnlineRABF(loss="squared")
    with_float.update("a", "b", margin=1.0)
    assert_allclose(by_one.ranking_.scores, with_float.ranking_.scores)
