"""What rankers say of themselves, refusals and ways out that ordinary votes do not come to."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import (
    RABF,
    Borda,
    BradleyTerry,
    Comparisons,
    Copeland,
    CrowdBradleyTerry,
    DynamicBradleyTerry,
    Elo,
    LeastSquares,
    OnlineRABF,
    PlackettLuce,
    WinRate,
)
from podium.engine import Serial
from podium.errors import ConvergenceError, InputError, PodiumWarning
from podium.pairwise import METHODS, OURS, bradley_terry, dynamic, method_of, plackett_luce, ranker
from podium.pairwise._fit import row_sums, solvers, strength_model
from podium.pairwise._fit.bias import reduce_bias, with_more
from podium.pairwise._fit.effects import Effects
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.many_items import SparseInverse
from podium.pairwise._fit.row_sums import LocalSums, newton_by_sums
from podium.pairwise._fit.rows import pull_rows
from podium.pairwise._fit.solvers import LinearSolver, Rows, Solution, evaluate, newton
from podium.pairwise._fit.strength_model import StrengthModel
from podium.pairwise.base import MIN_CHANCE, Ranker, _aligned, _best_slope, _normal_draws, _of_pairs, davidson, logistic
from podium.ranking.ranking import Ranking

from helpers import simulate, thin_data


def votes(n=4, m=60, seed=0, **more):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, m).astype(np.int32)
    right = ((left + rng.integers(1, n, m)) % n).astype(np.int32)
    outcome = rng.choice([-1, 0, 1], m, p=[0.3, 0.2, 0.5]).astype(np.int8)
    return Comparisons(tuple("abcdefgh"[:n]), left, right, outcome=outcome, sided=True, time=np.arange(m) / 6.0, **more)


# ---- what rankers say of themselves ---------------------------------------------------------------------------------


def test_scores_are_counted_in_margins_by_the_squared_losses_only():
    said = {
        LeastSquares(): True, RABF(loss="squared"): True, RABF(): False, OnlineRABF(loss="squared"): True,
        OnlineRABF(): False, BradleyTerry(): False, Elo(margins=True): False, WinRate(): False, PlackettLuce(): False,
    }  # fmt: skip
    assert {model: model.in_margins for model in said} == said


def test_intervals_are_credible_where_they_are_a_posteriors():
    c = votes()
    with thin_data():
        assert BradleyTerry(l2=0.1).fit(c).credible_intervals_ is False
        assert WinRate().fit(c).credible_intervals_ is False
        assert DynamicBradleyTerry(drift=0.1, sd=1.0).fit(c).credible_intervals_ is True
        model = RABF(feature_penalty=1.0, residual_penalty=0.5).fit(c)
        assert model.credible_intervals_
        model.ranking_ = model.ranking_.with_uncertainty("sandwich")
        assert not model.credible_intervals_


def test_what_a_ranker_does_not_estimate_it_says_so():
    for model in (WinRate(), Borda(), Copeland(), LeastSquares(), Elo()):
        model.fit(votes())
        assert model.side_effect_ == 0.0
        assert model.tie_strength_ is None
        assert model.feature_names_ == model.covariate_names_ == ()
        assert model.predict_interval(votes()) is None
        drawn = model.draw_chances(votes(), 3, np.random.default_rng(0))
        assert_allclose(drawn, np.tile(model.predict_proba(votes()), (3, 1, 1)))


def test_names_of_methods_and_classes_go_both_ways():
    for name in OURS:
        assert method_of(ranker(name)) == name
        assert METHODS[name] == OURS[name]
    assert set(OURS) <= set(METHODS)
    assert len(METHODS) == len(list(METHODS))

    class Own(WinRate):
        pass

    assert method_of(Own) == "Own"
    for wrong in ("fastest", None, 3):
        with pytest.raises(InputError, match=r"is not known; choose one of bradley-terry, borda"):
            ranker(wrong)


def test_settings_hold_what_decides_and_nothing_empty():
    model = BradleyTerry(l2=0.2, anchor=("a", 5.0)).fit(votes())
    assert model.settings_ == {
        "l2": 0.2, "ties": "half", "side_effect": False, "bias_reduction": False, "anchor": ("a", 5.0),
        "scale": "log-odds",
    }  # fmt: skip
    auto = BradleyTerry().fit(votes())
    assert auto.settings_["sd"] == auto.sd_
    again = auto.unfitted(scale="elo")
    assert (again.l2, again.scale) == (auto.l2_, "elo")
    assert not again.__sklearn_is_fitted__()
    assert WinRate(prior=1.0).fit(votes()).unfitted().prior == 1.0
    assert RABF(max_norm=(1.0, 1.0)).fit(votes()).unfitted().max_norm == (1.0, 1.0)


# ---- chances --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.0, 0.7, -0.7, 30.0, -800.0])
def test_chances_are_those_of_their_formulas(margin):
    win, tie, loss = (float(each[0]) for each in logistic(np.array([margin])))
    assert (win, tie) == (pytest.approx(1 / (1 + math.exp(-margin)) if margin > -700 else 0.0), 0.0)
    assert win + loss == pytest.approx(1.0)
    parts = [math.exp(max(margin, -700) / 2), 0.8, math.exp(-max(margin, -700) / 2)]
    found = [float(each[0]) for each in davidson(np.array([margin]), 0.8)]
    assert found == pytest.approx([part / sum(parts) for part in parts], abs=1e-12)


def test_the_best_slope_is_where_the_votes_are_most_likely():
    rng = np.random.default_rng(1)
    gap, weight = 5.0 * rng.normal(size=50), rng.uniform(0.5, 2.0, 50)
    outcome = rng.choice([0.0, 0.5, 1.0], 50)
    outcome[gap > 0] = np.maximum(outcome[gap > 0], 0.5)

    def loss(b, gap=gap, outcome=outcome):
        size = math.sqrt(weight @ gap**2 / weight.sum())
        return weight @ (np.logaddexp(0, b * gap) - outcome * b * gap) + 0.5e-3 * (b * size) ** 2

    found = _best_slope(gap, outcome, weight)
    assert loss(found) < min(loss(found * 1.001), loss(found / 1.001))
    sure = (gap > 0).astype(float)  # consistent: held by a little prior
    at = _best_slope(gap, sure, weight)
    assert loss(at, outcome=sure) < min(loss(at * 1.01, outcome=sure), loss(at / 1.01, outcome=sure))
    turned = _best_slope(gap, 1.0 - outcome, weight)
    assert turned == pytest.approx(-found)
    assert _best_slope(np.zeros(3), np.ones(3), np.ones(3)) == 0.0


def test_scores_are_aligned_by_label_and_strangers_stand_in_the_middle():
    ranking = Ranking(("a", "b", "c"), np.array([10.0, 40.0, 25.0]), unit=5.0)
    assert _aligned(ranking, ranking.items).tolist() == [2.0, 8.0, 5.0]
    assert _aligned(ranking, ("c", "new", "a")).tolist() == [5.0, 5.0, 2.0]


def test_draws_have_the_mean_and_covariance_asked_for():
    mean, root = np.array([1.0, -2.0, 0.5]), np.array([[1.0, 0.0], [0.5, 1.0], [1.5, 1.0]])  # singular
    drawn = _normal_draws(mean, root @ root.T, 20_000, np.random.default_rng(0))
    assert_allclose(drawn.mean(axis=0), mean, atol=0.05)
    assert_allclose(np.cov(drawn.T), root @ root.T, atol=0.1)


def test_a_score_never_asks_for_more_than_a_chance_of_a_billionth():
    class Sure(WinRate):
        def _outcomes(self, margins):
            return np.ones_like(margins), np.zeros_like(margins), np.zeros_like(margins)

    upset = Comparisons.from_pairs([("b", "a")])
    model = Sure().fit(Comparisons.from_pairs([("a", "b")]))
    assert model.score(replace(upset, left=upset.right, right=upset.left, outcome=[-1])) == pytest.approx(
        math.log(MIN_CHANCE)
    )
    assert math.isclose(MIN_CHANCE, 1e-9)


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_bounds_of_chances_are_those_of_the_margins_bounds(level):
    from scipy.stats import norm

    c = votes(m=200)
    model = BradleyTerry(l2=0.1, ties="davidson", side_effect=True).fit(c)
    variance, margins = model._margin_errors(c), model._margins(c)
    lower, upper = model.predict_interval(c, level)
    half = norm.ppf(0.5 + level / 2) * np.sqrt(variance)
    for row in range(0, 200, 17):
        grid = np.linspace(margins[row] - half[row], margins[row] + half[row], 2001)
        each = np.vstack([np.column_stack(davidson(grid, nu)) for nu in model.tie_strength_interval(level)])
        assert_allclose(lower[row], each.min(axis=0), atol=1e-5)
        assert_allclose(upper[row], each.max(axis=0), atol=1e-5)


def even(wins, ties):
    """Votes between two equals: so many wins of each, and ties."""
    outcome = [1] * wins + [-1] * wins + [0] * ties
    return Comparisons(("a", "b"), [0] * len(outcome), [1] * len(outcome), outcome=outcome, time=np.zeros(len(outcome)))


@pytest.mark.parametrize("ranker", [
    BradleyTerry(ties="davidson"), BradleyTerry(ties="davidson", l2=0.01), RABF(ties="davidson", residual_penalty=0.5),
    DynamicBradleyTerry(ties="davidson", drift=0.0, sd=1.0),
])  # fmt: skip
def test_how_well_ties_between_equals_are_known(ranker):
    """Between equals a tie is a coin of its own: log ν = log(2p / (1 − p)) has the variance 1 / (n p (1 − p))."""
    from scipy.stats import norm

    model, p = ranker.unfitted().fit(even(20, 10)), 0.2
    error = 1 / math.sqrt(50 * p * (1 - p))
    ends = 2 * p / (1 - p) * np.exp(norm.ppf([0.05, 0.95]) * error)
    assert_allclose(model.tie_strength_interval(0.9), ends, rtol=1e-3)


@pytest.mark.parametrize("ranker", [
    BradleyTerry(ties="davidson"), BradleyTerry(ties="davidson", l2=0.01),
    DynamicBradleyTerry(ties="davidson", drift=0.0, sd=1.0),
])  # fmt: skip
def test_without_a_tie_its_chance_has_an_upper_bound(ranker):
    """With a chance of p, n votes go without a tie with chance (1 − p)ⁿ, as Clopper and Pearson have it."""
    model = ranker.unfitted().fit(even(30, 0))
    low, high = model.tie_strength_interval(0.95)
    assert low == model.tie_strength_ == 0.0
    assert high / (2 + high) == pytest.approx(1 - 0.05 ** (1 / 60), rel=1e-6)
    lower, upper = model.predict_interval(even(1, 0), 0.95)
    assert lower[0, 1] == 0.0
    assert upper[0, 1] == pytest.approx(high / (2 + high))
    assert (lower[:, [0, 2]] < 0.5).all()


def test_a_side_is_part_of_the_margins_of_votes_without_ties():
    from podium.pairwise.base import _most_ties

    c = votes(m=80)
    c = replace(c, outcome=np.where(c.outcome == 0, 1, c.outcome))
    model = BradleyTerry(l2=0.1, ties="davidson", side_effect=True).fit(c)
    expected = _most_ties(model._margins(c), np.ones(80), 0.05)
    assert model.tie_strength_interval(0.95) == (0.0, pytest.approx(expected, rel=1e-6))
    assert model._outcomes(np.zeros(1))[1] == 0.0


@pytest.mark.parametrize(
    "outcome", [[0, 1, 1, -1, 0, -1, -1, -1, 1, 1, 1, -1], [1, 0, -1, 0, 0, 0, 1, -1, 0, 0, -1, 1]]
)
@pytest.mark.parametrize("ranker", [BradleyTerry, DynamicBradleyTerry])
def test_a_side_that_won_as_often_as_it_lost_has_no_effect_and_an_error(ranker, outcome):
    """Everyone met everyone on either side: with no effect both sides are expected to win alike, and they did."""
    home, away = np.nonzero(~np.eye(4, dtype=bool))
    games = Comparisons(tuple("abcd"), home, away, outcome=outcome, sided=True, time=np.zeros(12))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few votes
        model = ranker(ties="davidson", side_effect=True).fit(games)
    assert model.side_effect_ == pytest.approx(0, abs=1e-6)
    assert np.isfinite(model.ranking_.std_errors).all()


def test_ties_that_are_no_outcome_have_no_interval_nor_have_those_of_unknown_votes():
    assert BradleyTerry().fit(even(5, 5)).tie_strength_interval() is None
    assert RABF(ties="davidson", residual_penalty=0.5).fit(even(5, 0)).tie_strength_interval() is None


@pytest.mark.parametrize(("games", "nu"), [(56, 1.0), (20, 1.0), (56, 0.05)])
def test_bounds_of_chances_hold_the_truth_as_often_as_they_say(games, nu):
    rng, sets, items = np.random.default_rng(games), 40, 8
    home, away = (side.ravel() for side in np.meshgrid(range(items), range(items), indexing="ij"))
    home, away = home[home != away], away[home != away]
    held = []
    for _ in range(sets):
        scores = rng.normal(0, 0.8, items)
        truth = np.column_stack(davidson(scores[home] - scores[away] + 0.3, nu))
        outcome = 1 - (rng.random(len(home))[:, None] > truth.cumsum(axis=1)[:, :2]).sum(axis=1)
        asked = Comparisons(tuple(range(items)), home, away, outcome=outcome, sided=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few votes
            model = BradleyTerry(ties="davidson", side_effect=True).fit(asked.take(rng.permutation(len(home))[:games]))
        lower, upper = model.predict_interval(asked)
        held.append(((lower <= truth) & (truth <= upper)).mean(axis=0))
    assert (np.mean(held, axis=0) >= 0.93).all()


def test_a_ranker_that_does_not_fit_says_so():
    with pytest.raises(NotImplementedError, match="Ranker does not say how it is fitted"):
        Ranker().fit(votes())
    with pytest.raises(InputError, match="WinRate has no parameter 'k'; it takes prior"):
        WinRate().set_params(k=1)
    with pytest.raises(InputError, match="Borda has no parameter 'k'; it takes none"):
        Borda().set_params(k=1)


@pytest.mark.parametrize("draws", [0, 1.5, "many"])
def test_draws_are_whole_numbers(draws):
    with pytest.raises(InputError, match="draws="):
        WinRate().fit(votes()).draw_chances(votes(), draws, np.random.default_rng(0))


# ---- Bradley-Terry --------------------------------------------------------------------------------------------------


def test_very_many_items_have_no_errors_of_chances(monkeypatch):
    c = votes()
    model = BradleyTerry(l2=0.1).fit(c)
    monkeypatch.setattr(bradley_terry, "MAX_ITEMS_WITH_ERRORS", 4)
    assert model._margin_errors(c) is not None
    assert model._margin_covariance(c) is not None
    monkeypatch.setattr(bradley_terry, "MAX_ITEMS_WITH_ERRORS", 3)
    assert model._margin_errors(c) is None
    assert model._margin_covariance(c) is None
    assert model.predict_interval(c) is None


def test_errors_of_margins_are_their_covariance_and_strangers_add_the_spread_of_all():
    c = votes(covariates=np.random.default_rng(3).normal(size=(60, 1)), covariate_names=("length",))
    model = BradleyTerry(side_effect=True).fit(c)
    asked = Comparisons(
        ("a", "b", "new", "newer"), [0, 0, 2, 0], [1, 2, 3, 1], outcome=[0] * 4, sided=True,
        covariates=np.array([[0.0], [0.0], [0.0], [2.0]]), covariate_names=("length",),
    )  # fmt: skip
    covariance = model._margin_covariance(asked)
    assert_allclose(covariance.diagonal(), model._margin_errors(asked))
    joint = model._joint_covariance()
    contrast = np.zeros((4, 4 + 2))
    contrast[0, [0, 1]], contrast[1, 0], contrast[3, [0, 1]] = [1, -1], 1, [1, -1]
    contrast[:, 5], contrast[3, 4] = 1.0, 2.0
    expected = contrast @ joint @ contrast.T + np.diag([0.0, 1.0, 2.0, 0.0]) * model.sd_**2
    assert_allclose(covariance, expected, atol=1e-12)
    given = BradleyTerry(l2=0.2).fit(votes())
    assert_allclose(given._margin_errors(asked)[2], 0.0, atol=1e-12)  # no prior, nothing known of strangers


def test_bias_reduction_is_for_few_items(monkeypatch):
    monkeypatch.setattr(bradley_terry, "MAX_ITEMS", 4)
    assert BradleyTerry(l2=0, bias_reduction=True).fit(votes()).converged_
    monkeypatch.setattr(bradley_terry, "MAX_ITEMS", 3)
    with pytest.raises(InputError, match=r"bias_reduction=True needs a matrix of all items, up to 3; there are 4"):
        BradleyTerry(l2=0, bias_reduction=True).fit(votes())
    monkeypatch.undo()
    with pytest.raises(InputError, match=r"bias_reduction=True is for few items, solved here; leave out engine="):
        BradleyTerry(l2=0, bias_reduction=True).fit(votes(), engine=Serial())


def test_a_common_spread_around_given_scores_is_that_of_the_deviations():
    rng = np.random.default_rng(5)
    groups = [votes(seed=k, m=150) for k in range(2)]
    centre = dict(zip("abcd", rng.normal(size=4), strict=True))
    plain, around = (bradley_terry.common_sd(BradleyTerry(), groups, each) for each in (None, centre))
    one = BradleyTerry().fit(groups[0], sd=around, centre=centre)
    assert one.sd_ == around
    assert plain != pytest.approx(around, rel=1e-3)
    zero = bradley_terry.common_sd(BradleyTerry(), groups, dict.fromkeys("abcd", 0.0))
    assert zero == pytest.approx(plain, rel=0.02)
    with pytest.raises(InputError, match="centre: 'd' has no score there; give one for every item"):
        BradleyTerry().fit(groups[0], sd=1.0, centre={"a": 0.0, "b": 0.0, "c": 0.0})
    with pytest.raises(InputError, match="sd and centre describe a prior: they need l2='auto'"):
        BradleyTerry(l2=0.1).fit(groups[0], sd=1.0)


def test_criteria_are_about_the_maximum_of_counted_votes():
    c = votes()
    model = BradleyTerry(l2=0, side_effect=True, ties="davidson").fit(c)
    assert model.n_parameters_ == 3 + 2
    assert model.aic_ == pytest.approx(10 - 2 * model.log_likelihood_)
    assert model.bic_ == pytest.approx(5 * math.log(60) - 2 * model.log_likelihood_)
    for other, why in (
        (BradleyTerry(l2=0.1).fit(c), "aic_ is about the maximum of the likelihood; fit with l2=0, or compare"),
        (BradleyTerry(l2=0, bias_reduction=True).fit(c), "fit with l2=0 and without bias_reduction, or compare"),
        (BradleyTerry(l2=0).fit(replace(c, weight=np.full(60, 0.5))), "aic_ needs votes that are counts"),
    ):
        with pytest.raises(InputError, match=why):
            _ = other.aic_


def test_few_rows_are_solved_here_with_a_word_from_how_many_workers_pay():
    with pytest.warns(PodiumWarning, match=r"6 rows solved here: on 1 worker a fit of this kind never pays"):
        BradleyTerry(l2=0.1).fit(votes(), engine=Serial())


# ---- ways out -------------------------------------------------------------------------------------------------------


def test_rows_of_judged_or_grouped_votes_are_the_votes_with_their_clusters():
    c = votes(judge=np.arange(60) % 3, judges=("x", "y", "z"), group=np.arange(60) // 20, groups=(0, 1, 2))
    *columns, squares, clusters = pull_rows(c)
    for found, expected in zip(columns, c.vote_rows(), strict=True):
        assert found.tolist() == expected.tolist()
    assert squares.tolist() == c.weight_squares().tolist()
    assert {name: codes.tolist() for name, codes in clusters.items()} == {
        "judge": c.judge.tolist(), c.group_is: c.group.tolist()
    }  # fmt: skip


def chain(m=30, n=5, seed=2):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, m).astype(np.int32)
    rows = Rows(n, left, ((left + 1) % n).astype(np.int32), rng.normal(size=(m, 1)))
    wins, losses = rng.exponential(size=(2, m))
    loss = LogisticRows(wins, wins + losses)
    count = np.bincount(rows.left, wins + losses, n) + np.bincount(rows.right, wins + losses, n)
    return rows, loss, count


def test_newton_that_finds_no_descent_ends_where_it_is(monkeypatch):
    rows, loss, count = chain()
    monkeypatch.setattr(solvers, "_search", lambda *_: None)
    found = newton(rows, loss, 0.2, 1e-9, 50, votes=count)
    assert found.n_iter == 0
    assert not found.scores.any()
    assert not found.converged
    monkeypatch.undo()
    best = newton(rows, loss, 0.2, 1e-12, 50, votes=count)
    monkeypatch.setattr(solvers, "_search", lambda *_: None)
    there = newton(rows, loss, 0.2, 1e-6, 50, votes=count, scores=best.scores, extras=best.extras)
    assert there.converged, "as good as it gets"


@pytest.mark.parametrize("sums", [False, True])
def test_a_step_is_halved_until_it_goes_down_and_none_is_found_where_all_leads_up(sums):
    rows, loss, count = chain()
    best = newton(rows, loss, 0.2, 1e-12, 50, votes=count)
    off = np.array([0.4, -0.4, 0.1, 0.0, -0.1])
    scores = best.scores + off
    here = evaluate(rows, loss, 0.2, scores, best.extras)
    local = LocalSums((rows, loss))

    def search(du, de):
        if not sums:
            found = solvers._search(rows, loss, 0.2, here, du, de)
            return None if found is None else (found.scores, found.extras)
        point = local.point(scores, best.extras)
        found = row_sums._search(local, point, scores, best.extras, here.slopes, (du, de), 0.2)
        return None if found is None else found[1:]

    none = np.zeros(1)
    whole = search(-off, none)
    assert_allclose(whole[0], best.scores)
    far = search(-3.0 * off, none)
    assert_allclose(far[0], scores - 1.5 * off)
    capped = search(-100.0 * off, none)  # ten at most, and then halves of it
    share = np.abs(capped[0] - scores).max() / 10.0
    assert math.log2(share) == pytest.approx(round(math.log2(share)))
    assert share < 1
    up = 1e3 * off
    ended = search(up, none)
    assert ended is None or np.abs(ended[0] - scores).max() < 1e-9


def test_newton_by_sums_counts_its_steps_and_tells_what_is_left():
    rows, loss, count = chain()
    begin = {"scores": np.zeros(5), "extras": np.zeros(1), "votes": count}
    best = newton(rows, loss, 0.2, 1e-12, 50, votes=count)
    found = newton_by_sums(LocalSums((rows, loss)), 0.2, 1e-9, 50, **begin)
    assert_allclose(found.scores, best.scores, atol=1e-8)
    assert_allclose(found.extras, best.extras, atol=1e-8)
    assert found.converged
    assert found.solver == "sums"
    assert 2 <= found.n_iter < 15
    short = newton_by_sums(LocalSums((rows, loss)), 0.2, 1e-9, 1, **begin)
    assert (short.n_iter, short.converged) == (1, False)
    at = evaluate(rows, loss, 0.2, np.zeros(5), np.zeros(1))
    gap = max(np.max(np.abs(at.slopes) / count), abs(at.extra_slopes[0]) / (count.sum() / 2))
    assert short.gap == pytest.approx(gap)
    free = newton_by_sums(LocalSums((rows, loss)), 0.0, 1e-9, 50, **begin)
    assert abs(free.scores.mean()) < 1e-12


@pytest.mark.parametrize("sums", [False, True])
def test_an_effect_that_runs_away_ends_the_search_as_its_end(sums):
    rows, _, count = chain()
    rows = replace(rows, design=np.ones((30, 1)))
    always = LogisticRows(np.ones(30), np.ones(30))  # the left one, whoever it is
    if sums:
        begin = {"scores": np.zeros(5), "extras": np.zeros(1), "votes": count, "size": np.ones(1)}
        found = newton_by_sums(LocalSums((rows, always)), 0.2, 1e-6, 200, **begin)
    else:
        found = newton(rows, always, 0.2, 1e-6, 200, votes=count)
    assert found.converged
    assert found.extras[0] > 12
    assert found.n_iter < 60


def test_newton_by_sums_that_finds_no_descent_ends_where_it_is(monkeypatch):
    rows, loss, count = chain()
    monkeypatch.setattr(row_sums, "_search", lambda *_: None)
    found = newton_by_sums(LocalSums((rows, loss)), 0.2, 1e-9, 50, scores=np.zeros(5), extras=np.zeros(1), votes=count)
    assert (found.n_iter, found.converged) == (0, False)


def test_a_graph_that_chances_have_cut_is_held_by_a_little_more():
    left, right = np.array([0, 1, 2], np.int32), np.array([1, 2, 3], np.int32)
    curvature = np.array([1.0, 0.0, 1.0])  # 1 and 2 are cut apart
    for how in ("dense", "banded"):
        solve = LinearSolver(Rows(4, left, right), 0.0, how).factor(curvature, 1e-9)
        found = solve(np.array([1.0, -1.0, 2.0, -2.0]))
        assert found[0] - found[1] == pytest.approx(1.0, rel=1e-4)
        assert found[2] - found[3] == pytest.approx(2.0, rel=1e-4)
    with pytest.raises(ConvergenceError, match="the weights of the votes differ too much for a solution"):
        LinearSolver(Rows(4, left, right), 1.0, "dense").factor(np.array([-5.0, 1.0, 1.0]), 1e-9)


def test_a_correction_that_does_not_converge_is_handed_on():
    rows, loss, _ = chain()
    asked = []

    def fit(corrected, near):
        asked.append((corrected, near))
        return Solution(np.zeros(5), np.zeros(1), 1, "dense", 1.0, False)

    found = reduce_bias(rows, loss, fit, l2=0.1, tol=1e-6, worth=2.0)
    assert not found.converged
    ((first, near),) = asked
    assert near is None
    assert_allclose(first.points, loss.points + 0.5 * 0.2 / 3 / 2 * 1.5)
    assert_allclose(first.total, loss.total + 0.5 * 0.2 / 2)
    begun = Solution(np.zeros(5), np.zeros(1), 1, "dense", 1.0, False)
    assert reduce_bias(rows, loss, fit, l2=0.1, tol=1e-6, worth=2.0, near=begun) is begun


def test_leverages_are_added_to_votes_by_halves():
    added = np.array([[0.2, 0.4], [0.6, 0.0], [1.0, 2.0]])
    plain = with_more(LogisticRows(np.array([1.0, 2.0]), np.array([3.0, 4.0])), added)
    assert_allclose(plain.points, [1.0 + 0.1 + 0.25, 2.0 + 0.2 + 0.5])
    assert_allclose(plain.total, [3.0 + 0.9, 4.0 + 1.2])
    tied = with_more(DavidsonRows(*np.ones((3, 2))), added)
    assert_allclose([tied.wins, tied.losses, tied.ties], 1.0 + 0.5 * added)


@pytest.mark.parametrize("way", ["search", "runs away"])
def test_effects_that_are_not_found_without_the_penalty_are_left_to_it(way, monkeypatch):
    model = StrengthModel(votes(), "half", True)
    if way == "search":
        real = StrengthModel._corrected
        monkeypatch.setattr(StrengthModel, "_corrected", lambda *a, **k: replace(real(*a, **k), converged=False))
    else:
        asked = []
        monkeypatch.setattr(strength_model, "runs_away", lambda *_: asked.append(1) or len(asked) > 1)
    model.hold_effects(100)
    assert model.effects is None
    monkeypatch.undo()
    model.hold_effects(100)
    assert len(model.effects.values) == 1


def test_so_many_items_tell_their_spread_well(monkeypatch):
    c = votes()
    model = StrengthModel(c, "half", False)
    prior = model.prior(100)
    found = model.optimum(prior.l2, 1e-8, 100, prior)
    assert model.spreads(found, prior, 100)
    monkeypatch.setattr(strength_model, "MAX_DENSE_ITEMS", 3)
    assert model.spreads(found, prior, 100) == ()


def test_where_no_likelihood_is_determined_the_fits_own_penalty_stands_in(monkeypatch):
    c = votes()
    model = StrengthModel(c, "half", True)
    near = model.optimum(0.3, 1e-8, 100)
    asked = []
    monkeypatch.setattr(strength_model, "is_determined", lambda information: asked.append(information.ridge))
    found = model.likelihood(near, 0.3, 1e-8, 100)
    assert asked == [0.0, 2 * 1e-3]
    assert found.ridge == 0.6
    assert found.scores is near.scores


def test_the_trace_of_very_many_items_comes_near_and_the_shift_is_known():
    rng = np.random.default_rng(6)
    n = 60
    left = rng.integers(0, n, 400).astype(np.int32)
    right = ((left + rng.integers(1, n, 400)) % n).astype(np.int32)
    curvature = rng.uniform(0.05, 0.25, 400)
    inverse = SparseInverse(n, left, right, curvature, 0.3, rng.normal(size=n))
    matrix = 0.3 * np.eye(n)
    for a, b, c in zip(left, right, curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    exact = np.linalg.inv(matrix)
    assert math.isnan(inverse.log_determinant)
    assert_allclose(inverse.diagonal, matrix.diagonal())
    columns = rng.normal(size=(n, 3)) + 5.0
    assert_allclose(inverse.solve(columns), exact @ columns, rtol=0.02, atol=0.02)
    assert_allclose(inverse.solve(np.ones((n, 1))), 1 / 0.3)
    assert inverse.trace() == pytest.approx(np.trace(exact), rel=0.01)
    assert inverse.rough_trace == pytest.approx(np.trace(exact), rel=0.1)
    gaps = exact[left, left] + exact[right, right] - 2 * exact[left, right]
    assert_allclose(inverse.gaps, gaps, rtol=0.2)
    assert inverse.gaps.mean() == pytest.approx(gaps.mean(), rel=0.03)
    turned = SparseInverse(n, n - 1 - left, n - 1 - right, curvature, 0.3, inverse.scores[::-1].copy())
    assert turned.trace() == pytest.approx(inverse.trace(), rel=1e-9)


# ---- other rankers --------------------------------------------------------------------------------------------------


def test_online_features_are_a_mapping_and_the_ones_it_began_with():
    model = OnlineRABF().add({"a": {"size": 1.0}, "b": {"size": 2.0}}).update("a", "b")
    with pytest.raises(InputError, match="add takes a mapping from item to its features"):
        model.add([[1.0]])
    with pytest.raises(InputError, match="features are 'age'; the model began with 'size'"):
        model.add({"c": {"age": 1.0}})
    assert model.feature_columns_ == model.feature_names_ == ("size",)
    assert model.n_votes_ == 1
    with pytest.raises(InputError, match=r"feature 'size' of 'c' is 1e\+200, too large to be squared"):
        model.add({"c": {"size": 1e200}})
    assert "c" not in model.ranking_.items


def test_moments_of_features_grow_as_those_of_all():
    rng = np.random.default_rng(7)
    rows = 3.0 + rng.normal(size=(9, 2))
    from podium.pairwise.online import _merged

    parts = np.zeros((3, 2))
    for begin, end in ((0, 2), (2, 3), (3, 9)):
        parts = _merged(parts, begin, rows[begin:end])
    assert_allclose(parts[0], rows.mean(axis=0))
    assert_allclose(parts[1], ((rows - rows.mean(axis=0)) ** 2).sum(axis=0))
    assert_allclose(parts[2], np.abs(rows).max(axis=0))


def test_curves_are_of_listed_items():
    c = votes()
    model = DynamicBradleyTerry(drift=0.2, sd=1.0).fit(c)
    for wrong, why in (("a", "items must be a list of items, not str"), (3, "not int"), ([], "none is listed"),
                       (["zoe"], "'zoe' was never compared, so there is no curve of it; 4 items were"), ([["a"]], "was never compared")):  # fmt: skip  # noqa: E501
        with pytest.raises(InputError, match=why):
            model.curves(wrong)
    frame = model.curves(["b", "a", "b"], points=3)
    assert frame["item"].unique(maintain_order=True).to_list() == ["b", "a"]
    since = {
        item: min(t for t, *ends in zip(c.time, c.left, c.right, strict=True) if k in ends)
        for item, k in (("a", 0), ("b", 1))
    }
    assert frame.height == sum(since[item] <= t for item in "ab" for t in np.linspace(*model.times_, 3))
    assert set(model.curves(points=3)["time"].to_list()) == set(np.linspace(*model.times_, 3).tolist())


def test_errors_of_very_many_items_are_left_to_the_curves(monkeypatch):
    monkeypatch.setattr(dynamic, "MAX_ITEMS_WITH_ERRORS", 3)
    ranking = DynamicBradleyTerry(drift=0.2, sd=1.0).fit(votes()).ranking_
    assert ranking.note == "4 items are too many for the errors of all; curves(items) has those of some"
    assert ranking.information is None
    monkeypatch.setattr(dynamic, "MAX_ITEMS_WITH_ERRORS", 4)
    assert DynamicBradleyTerry(drift=0.2, sd=1.0).fit(votes()).ranking_.note is None


def test_features_of_rankings_are_refused_beyond_so_many_items(monkeypatch):
    c = votes()
    table = {item: [float(k)] for k, item in enumerate("abcdef")}
    monkeypatch.setattr(plackett_luce, "MAX_DENSE_ITEMS", 6)
    assert PlackettLuce(l2=0.5, feature_penalty=0.5).fit(c, table).unseen_ == ("e", "f")
    monkeypatch.setattr(plackett_luce, "MAX_DENSE_ITEMS", 5)
    with pytest.raises(InputError, match="6 items have features, more than the 5 there may be"):
        PlackettLuce(l2=0.5, feature_penalty=0.5).fit(c, table)


@pytest.mark.parametrize(
    ("options", "named"),
    [({"feature_penalty": 1.0, "residual_penalty": 1.0}, "feature_penalty="), ({"max_norm": (1.0, 1.0)}, "max_norm=")],
)
def test_where_penalties_are_given_there_is_nothing_for_workers(options, named):
    features = np.random.default_rng(8).normal(size=(4, 1))
    with pytest.warns(PodiumWarning, match=f"with {named} given there are no penalties to average over"):
        shared = RABF(**options).fit(votes(), features, engine=Serial())
    assert_allclose(shared.ranking_.std_errors, RABF(**options).fit(votes(), features).ranking_.std_errors)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RABF().fit(votes(m=200), features, engine=Serial())


def test_spreads_of_crowds_at_the_end_of_their_range_are_taken():
    winner, loser, _ = simulate(4, 80, np.random.default_rng(9))
    c = Comparisons.from_arrays(winner, loser, judge=[f"j{k % 4}" for k in range(80)])
    assert CrowdBradleyTerry(l2=0.5, reliability_sd=5.0).fit(c).reliability_sd_ == 5.0
    with pytest.raises(InputError, match=r"reliability_sd is 5\.01, more than judges differ by; give at most 5"):
        CrowdBradleyTerry(reliability_sd=5.01).fit(c)


# ---- Elo ------------------------------------------------------------------------------------------------------------


def test_steps_of_elo_grow_with_the_margin_by_straight_lines():
    for margin, times in (
        (0.5, 1.0),
        (1.0, 1.0),
        (1.5, 1.25),
        (2.0, 1.5),
        (2.5, 1.625),
        (3.0, 1.75),
        (5.0, 2.0),
        (13.0, 3.0),
    ):
        one = Comparisons.from_arrays(["a"], ["b"], margin=[margin])
        moved = Elo(k=10, margins=True).fit(one).ranking_.scores[0] - 1000.0
        assert moved == pytest.approx(10 * 0.5 * times)


def test_elo_keeps_its_defaults_scale_and_side():
    model = Elo().update("a", "b")
    assert model.ranking_.scores.tolist() == [1008.0, 992.0]
    assert model.ranking_.unit == pytest.approx(400 / math.log(10))
    assert model.side_effect_ == 0.0
    home = Elo(side_advantage=100.0).fit(votes())
    assert home.side_effect_ == pytest.approx(100 * math.log(10) / 400)
    plain = replace(votes(), sided=False, outcome=np.abs(votes().outcome))
    assert_allclose(Elo(side_advantage=100.0).fit(plain).ranking_.scores, Elo().fit(plain).ranking_.scores)
    state = Elo.upgraded({"k": 16.0}, 1)
    assert state == {"side_advantage": 0.0, "margins": False, "_record": None, "k": 16.0}
    old = Elo().update("a", "b")
    old._record = None
    assert old.update("a", "c").ranking_.record is None


@pytest.mark.parametrize("weight", [-1.0, "much", float("nan")])
def test_a_vote_of_elo_has_a_weight(weight):
    model = Elo()
    with pytest.raises(InputError, match="weight="):
        model.update("a", "b", weight=weight)
    assert not model.__sklearn_is_fitted__()
    for name in ("initial", "side_advantage"):
        with pytest.raises(InputError, match=rf"{name}=2e\+100: ratings go up to 1e\+100"):
            Elo(**{name: 2e100}).update("a", "b")
    assert Elo(k=1e-9).update("a", "b", weight=0.0).ranking_.scores.tolist() == [1000.0, 1000.0]


# ---- counting and least squares -------------------------------------------------------------------------------------


@pytest.mark.parametrize("prior", [0.0, 1.0, 4.0])
def test_rates_of_wins_with_tied_games_added(prior):
    c = Comparisons.from_arrays([0, 0, 1, 0], [1, 2, 0, 1], tie=[False] * 3 + [True], items=list("abcd"))
    found = WinRate(prior=prior).fit(c).ranking_
    points, games = {"a": 2.5, "b": 1.5, "c": 0.0, "d": 0.0}, {"a": 4, "b": 3, "c": 1, "d": 0}
    for item in "abcd":
        total = games[item] + prior
        assert found.score(item) == pytest.approx((points[item] + prior / 2) / total if total else 0.5)


def test_noise_is_per_vote_whatever_the_weights_and_unknown_with_as_many_scores_as_votes():
    rng = np.random.default_rng(10)
    left = rng.integers(0, 4, 40)
    right = (left + rng.integers(1, 4, 40)) % 4
    margin, weight = rng.exponential(size=40), rng.choice([0.5, 1.0, 3.0], 40)
    model = LeastSquares(l2=0.7).fit(Comparisons.from_arrays(left, right, margin=margin, weight=weight, items=range(4)))
    scores = model.ranking_.scores
    off = weight @ (scores[left] - scores[right] - margin) ** 2
    count = weight.sum() ** 2 / (weight**2).sum()
    assert model.noise_ == pytest.approx(math.sqrt(off / weight.sum() * count / (count - 3)))
    exact = LeastSquares().fit(Comparisons.from_arrays(["a", "b"], ["b", "c"], margin=[2.0, 1.0]))
    assert math.isnan(exact.noise_)
    assert exact.ranking_.information is None
    assert exact.cyclic_share_ == pytest.approx(0.0, abs=1e-12)
    even = LeastSquares().fit(Comparisons.from_arrays(["a", "b"], ["b", "a"], tie=[True, True]))
    assert even.cyclic_share_ == 0.0
    assert even.noise_ == 0.0
    assert even.ranking_.information is None


# ---- what is shared -------------------------------------------------------------------------------------------------


def test_leverages_of_a_pair_are_shared_out_by_votes():
    c = votes()
    pairs = c.pairs_by_side
    added = np.random.default_rng(11).uniform(size=(3, len(pairs)))
    weight = np.ones(60)
    found = Effects(np.zeros(1), np.eye(1), added).added_to(c, c.left, c.right, weight)
    place = {(int(a), int(b)): k for k, (a, b) in enumerate(zip(pairs.left, pairs.right, strict=True))}
    for row, (a, b) in enumerate(zip(c.left, c.right, strict=True)):
        k = place[int(a), int(b)]
        assert_allclose(found[:, row], added[:, k] / pairs.total[k])
    assert_allclose(found.sum(), added.sum())


def test_pairs_that_met_have_their_gap_points_and_weight():
    c = votes(weight=np.random.default_rng(12).choice([0.5, 1.0, 2.0], 60))
    scores = np.array([0.3, -0.12, 0.77, -0.45])
    gap, share, total = _of_pairs(scores, c.pairs)
    expected = {}
    for a, b, y, w in zip(c.left, c.right, c.outcome, c.weight, strict=True):
        key = (min(a, b), max(a, b))
        points, heavy = expected.get(key, (0.0, 0.0))
        expected[key] = points + w * (1 + (y if a < b else -y)) / 2, heavy + w
    rows = [(scores[i] - scores[j], points / heavy, heavy) for (i, j), (points, heavy) in expected.items()]
    turned = list(zip(gap, share, total, strict=True))
    both = {round(abs(g), 9): (s if g > 0 else 1 - s, t) for g, s, t in turned}
    for g, s, t in rows:
        assert both[round(abs(g), 9)] == pytest.approx((s if g > 0 else 1 - s, t))
    assert len(turned) == len(rows)


def test_what_was_computed_is_kept_until_scores_change():
    model = Elo(k=20).fit(votes())
    before = model.log_likelihood_
    assert model._log_likelihood == before
    model.update("a", "b")
    assert "_log_likelihood" not in vars(model)
    again = WinRate().fit(votes())
    _ = again.predict_proba(votes())
    slope = again._slope
    again._moved()
    assert "_slope" not in vars(again)
    _ = again.log_likelihood_
    assert again._slope == slope
    stored = again.__getstate__()
    assert "_training" not in stored
    assert stored["_slope"] == slope
    alone = WinRate()
    vars(alone).update(stored)
    alone._moved()
    assert alone._slope == slope, "without votes it cannot be found again"
    with pytest.raises(
        InputError, match="log_likelihood_ is computed from the votes, and votes given one by one are not kept"
    ):
        _ = alone.log_likelihood_


def test_covariates_enter_by_name_or_not_at_all():
    c = votes(covariates=np.random.default_rng(13).normal(size=(60, 2)), covariate_names=("length", "tone"))
    model = BradleyTerry(l2=0.2).fit(c)
    turned = replace(c, covariates=c.covariates[:, ::-1].copy(), covariate_names=("tone", "length"))
    assert_allclose(model._covariate_effects(turned, model.coef_), c.covariates @ model.coef_)
    assert model._covariate_effects(votes(), model.coef_) == 0.0
    assert BradleyTerry(l2=0.2).fit(votes())._covariate_effects(c, np.empty(0)) == 0.0
    with pytest.raises(
        InputError, match="fitted with covariate 'tone', which these votes do not have; they have 'length'"
    ):
        model._covariate_effects(replace(c, covariates=c.covariates[:, :1], covariate_names=("length",)), model.coef_)


def test_a_log_likelihood_counts_each_outcome_as_the_model_does():
    c = votes(weight=np.random.default_rng(14).choice([0.5, 1.0, 2.0], 60))
    for ties in ("half", "davidson"):
        model = BradleyTerry(l2=0.2, ties=ties, side_effect=True).fit(c)
        chances = model.predict_proba(c)
        total = 0.0
        for (win, tie, loss), y, w in zip(chances, c.outcome, c.weight, strict=True):
            tied = math.log(tie) if ties == "davidson" else 0.5 * math.log(win * loss)
            total += w * {1: math.log(win), -1: math.log(loss), 0: tied}[int(y)]
        assert model.log_likelihood_ == pytest.approx(total)
