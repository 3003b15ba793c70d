"""Plackett-Luce against brute force over orders, generic optimisers, Bradley-Terry, and data with known scores."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from podium import BradleyTerry, Comparisons, PlackettLuce, Rankings
from podium.errors import InputError
from podium.pairwise._fit import choices
from podium.pairwise._fit.choices import ListLoss, choose_sd

from helpers import thin_data
from strategies import lists_of_pairs


def flat(entry):
    return [item for place in entry for item in (place if isinstance(place, list) else [place])]


def chance_of_order(order, strength):
    """The chance of one order of all items, by definition."""
    chance, left = 1.0, sum(strength)
    for item in order:
        chance *= strength[item] / left
        left -= strength[item]
    return chance


def chance_of_top(top, offered, strength):
    """The chance that these come first, in this order: a sum over all orders of the rest."""
    rest = [item for item in offered if item not in top]
    total = {item: strength[item] for item in offered}
    return sum(
        chance_of_order([*range(len(offered))], [total[item] for item in (*top, *order)])
        for order in itertools.permutations(rest)
    )


def efron(entry, offered, strength):
    """−log likelihood with Efron's averaging, as a plain loop."""
    left, loss = list(offered), 0.0
    for place in entry:
        tied = place if isinstance(place, list) else [place]
        if len(left) == 1:
            break
        among, gone = sum(strength[i] for i in left), sum(strength[i] for i in tied)
        for k, item in enumerate(tied):
            loss -= math.log(strength[item] / (among - k / len(tied) * gone))
        left = [item for item in left if item not in tied]
    return loss


def davidson_luce(entry, offered, strength, delta):
    """−log likelihood of Davidson-Luce, every set that could be chosen added up by hand."""
    left, loss = list(offered), 0.0

    def of(chosen):
        return delta.get(len(chosen), 0.0) * math.prod(strength[i] for i in chosen) ** (1 / len(chosen))

    for place in entry:
        tied = place if isinstance(place, list) else [place]
        if len(left) == 1:
            break
        every = sum(of(each) for size in delta for each in itertools.combinations(left, size))
        loss -= math.log(of(tied) / every)
        left = [item for item in left if item not in tied]
    return loss


def draw(scores, rows, k, rng):
    return np.argsort(-(scores + rng.gumbel(size=(rows, len(scores)))), axis=1)[:, :k]


@st.composite
def surveys(draw_from):
    """Lists of up to six items with ties, and what was on offer."""
    n = draw_from(st.integers(3, 6))
    lists, offers = [], []
    for _ in range(draw_from(st.integers(2, 8))):
        order = list(draw_from(st.permutations(range(n))))
        size = draw_from(st.integers(1, n))
        entry = []
        for item in order[:size]:
            if entry and draw_from(st.integers(0, 3)) == 0:
                entry[-1] = [*(entry[-1] if isinstance(entry[-1], list) else [entry[-1]]), item]
            else:
                entry.append(item)
        lists.append(entry)
        offers.append(sorted(order[: draw_from(st.integers(size, n))]))
    return n, lists, offers


@pytest.mark.parametrize("unranked", ["below", "unknown", "offered"])
@pytest.mark.parametrize("ties", ["efron", "davidson"])
def test_the_likelihood_is_that_of_a_plain_loop(unranked, ties):
    @settings(max_examples=25, deadline=None)
    @given(surveys(), st.integers(0, 1000))
    def holds(survey, seed):
        n, lists, offers = survey
        rng = np.random.default_rng(seed)
        weight, scores = rng.uniform(0.5, 2.0, len(lists)), rng.normal(size=n)
        known = {"offered": offers} if unranked == "offered" else {}
        way = "unknown" if unranked == "unknown" else "below"
        if all(len(flat(each)) < 2 for each in (offers if unranked == "offered" else lists)) and unranked != "below":
            with pytest.raises(InputError, match="no ranking holds two items"):
                Rankings.from_lists(lists, items=range(n), unranked=way, weight=weight, **known)
            return
        r = Rankings.from_lists(lists, items=range(n), unranked=way, weight=weight, **known)
        loss = ListLoss(r, davidson=ties == "davidson")
        extras = rng.normal(size=loss.extras)
        delta = {1: 1.0} | dict(zip(loss.orders[1:].tolist(), np.exp(extras).tolist(), strict=True))
        expected = 0.0
        for entry, offer, w in zip(lists, offers, weight, strict=True):
            among = {"below": range(n), "unknown": flat(entry), "offered": offer}[unranked]
            one = efron(entry, among, np.exp(scores))
            expected += w * (one if ties == "efron" else davidson_luce(entry, among, np.exp(scores), delta))
        assert loss.value(scores, extras)[0] == pytest.approx(expected, rel=1e-9, abs=1e-9)
        _check_derivatives(loss, scores, extras)

    holds()


def _check_derivatives(loss, scores, extras):
    point, n, step = np.concatenate([scores, extras]), len(scores), 1e-5
    _, gradient = loss.value(scores, extras)
    hessian = loss.place(scores, extras).hessian()
    for k, way in enumerate(np.eye(len(point)) * step):
        up, down = (loss.value(*np.split(point + sign * way, [n])) for sign in (1, -1))
        assert (up[0] - down[0]) / (2 * step) == pytest.approx(gradient[k], abs=1e-6)
        assert_allclose((up[1] - down[1]) / (2 * step), hessian[k], atol=1e-6)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_a_top_k_has_the_chance_of_all_orders_that_begin_so(k):
    rng = np.random.default_rng(k)
    scores = rng.normal(size=5)
    tops = list(itertools.permutations(range(5), k))
    total = 0.0
    for top in tops:
        loss = ListLoss(Rankings.from_lists([list(top)], items=range(5), unranked="below"))
        chance = math.exp(-loss.value(scores, np.empty(0))[0])
        assert chance == pytest.approx(chance_of_top(top, range(5), np.exp(scores).tolist()), rel=1e-9)
        total += chance
    assert total == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("unranked", ["below", "unknown"])
@pytest.mark.parametrize("ties", ["efron", "davidson"])
def test_fit_agrees_with_a_generic_optimiser(unranked, ties):
    rng = np.random.default_rng(3)
    n = 5
    lists = draw(rng.normal(size=n), 60, 4, rng).tolist()
    lists = [[a, [b, c], d] if k % 3 == 0 else [a, b, c][: 2 + k % 2] for k, (a, b, c, d) in enumerate(lists)]
    l2 = 0.3

    def objective(point):
        strength, delta = np.exp(point[:n]), {1: 1.0, 2: math.exp(point[n])}
        among = range(n) if unranked == "below" else None
        each = [
            efron(entry, among or flat(entry), strength)
            if ties == "efron"
            else davidson_luce(entry, among or flat(entry), strength, delta)
            for entry in lists
        ]
        return sum(each) + l2 * float(point[:n] @ point[:n]) + (0.0 if ties == "davidson" else point[n] ** 2)

    found = minimize(objective, np.zeros(n + 1), method="BFGS", options={"gtol": 1e-7}).x
    model = PlackettLuce(l2=l2, ties=ties).fit(Rankings.from_lists(lists, items=range(n), unranked=unranked))
    assert_allclose(model.ranking_.scores, found[:n] - found[:n].mean(), atol=2e-5)
    if ties == "davidson":
        assert model.tie_strengths_ == pytest.approx({2: math.exp(found[n])}, rel=1e-4)
        assert model.tie_strength_ == model.tie_strengths_[2]


@pytest.mark.parametrize("l2", [0.0, 0.2, "auto"])
@pytest.mark.parametrize("ties", [("half", "efron"), ("davidson", "davidson")])
def test_rankings_of_two_are_bradley_terry(l2, ties):
    rng = np.random.default_rng(5)
    winner = rng.integers(0, 7, 400)
    loser = (winner + rng.integers(1, 7, 400)) % 7
    tie, judge = rng.random(400) < 0.1, rng.integers(0, 40, 400)
    votes = Comparisons.from_arrays(winner, loser, tie=tie, judge=judge, items=list("abcdefg"))
    pairs, lists = BradleyTerry(l2=l2, ties=ties[0]).fit(votes), PlackettLuce(l2=l2, ties=ties[1]).fit(votes)
    # With ties as outcomes of their own, terms of second order are left out of the choice of the penalty.
    close = 5e-3 if l2 == "auto" and ties[0] == "davidson" else 1e-6
    assert_allclose(lists.ranking_.scores, pairs.ranking_.scores, atol=close)
    # Bradley-Terry's intervals hold the strength of ties at the value that belongs to the penalised scores.
    alike = 1e-3 if l2 == "auto" and ties[0] == "davidson" else 1e-6
    assert_allclose(lists.ranking_.std_errors, pairs.ranking_.std_errors, rtol=alike)
    assert_allclose(lists.predict_proba(votes), pairs.predict_proba(votes), atol=close)
    assert lists.log_likelihood_ == pytest.approx(pairs.log_likelihood_, rel=1e-4)
    for kind in ("sandwich", "cluster"):
        errors = [model.ranking_.with_uncertainty(kind).std_errors for model in (lists, pairs)]
        assert_allclose(*errors, rtol=alike)


def test_lists_of_two_are_the_comparisons_they_say():
    rng = np.random.default_rng(6)
    pairs = [(int(i), int((i + d) % 5)) for i, d in zip(rng.integers(0, 5, 80), rng.integers(1, 5, 80), strict=True)]
    lists = Rankings.from_lists([list(pair) for pair in pairs], unranked="unknown", items=range(5))
    votes = Comparisons.from_arrays(*np.array(pairs).T, items=range(5))
    one, other = PlackettLuce().fit(lists), BradleyTerry().fit(votes)
    assert_allclose(one.ranking_.scores, other.ranking_.scores, atol=1e-5)
    assert one.sd_ == pytest.approx(other.sd_, rel=1e-4)


def test_the_penalty_is_where_the_marginal_likelihood_by_quadrature_is_largest():
    """Three items: the integral over scores is done on a grid; Laplace's formula with its correction comes near."""
    rng = np.random.default_rng(2)
    lists = draw(np.array([1.2, 0.0, -1.2]), 25, 2, rng).tolist()
    loss = ListLoss(Rankings.from_lists(lists, items=range(3), unranked="below"))
    nodes = np.linspace(-7, 7, 41)
    grid = np.array(list(itertools.product(nodes, repeat=3)))
    # What is added to all scores changes nothing, so two differences are enough for the likelihood.
    log_likelihood = np.array([-loss.value(scores, np.empty(0))[0] for scores in grid])

    def evidence(x):
        prior = -0.5 * (grid**2).sum(axis=1) / math.exp(2 * x) - 3 * x
        return float(np.logaddexp.reduce(log_likelihood + prior)) - 0.5 * x * x

    xs = np.linspace(-1.0, 1.2, 45)
    best = xs[int(np.argmax([evidence(x) for x in xs]))]
    sd, _ = choose_sd(loss, max_iter=100)
    assert math.log(sd) == pytest.approx(best, abs=0.1)


@pytest.mark.parametrize("kind", ["hessian", "sandwich", "bootstrap"])
def test_standard_errors_are_those_of_many_surveys(kind):
    rng = np.random.default_rng(9)
    scores = np.array([1.5, 0.8, 0.3, 0.0, -0.4, -0.9, -1.3])
    found = []
    for _ in range(400):
        r = Rankings.from_lists(draw(scores, 250, 3, rng).tolist(), items=range(7), unranked="below")
        found.append(PlackettLuce(l2=0.0).fit(r).ranking_.scores)
    ranking = PlackettLuce(l2=0.0).fit(r).ranking_
    more = {"seed": 1, "replicates": 400} if kind == "bootstrap" else {}
    assert_allclose(ranking.with_uncertainty(kind, **more).std_errors, np.std(found, axis=0), rtol=0.25)


def test_intervals_cover_and_ranks_hold():
    rng = np.random.default_rng(4)
    covered, held, rounds, n = 0.0, 0.0, 60, 10
    for _ in range(rounds):
        scores = rng.normal(size=n)
        r = Rankings.from_lists(draw(scores, 80, 3, rng).tolist(), items=range(n), unranked="below")
        with thin_data():
            ranking = PlackettLuce().fit(r).ranking_
            lower, upper = ranking.intervals(0.9)
            best, worst = ranking.rank_intervals(0.9)
        true = np.argsort(np.argsort(-scores)) + 1
        bounded = np.isfinite(lower) & np.isfinite(upper)
        centred = scores - scores[bounded].mean() + ranking.scores[bounded].mean()
        covered += float(np.mean((lower <= centred) & (centred <= upper)))
        held += float(np.mean((best <= true) & (true <= worst)))
    assert 0.85 < covered / rounds < 0.95
    assert held / rounds > 0.88


def test_errors_by_respondent_allow_for_several_rankings_of_one():
    """Each respondent answers the same five times: naive errors are √5 too small, clustered ones are not."""
    rng = np.random.default_rng(8)
    scores = np.linspace(1, -1, 6)
    once = draw(scores, 200, 3, rng).tolist()
    fit = PlackettLuce(l2=0.0).fit
    single = fit(Rankings.from_lists(once, items=range(6), unranked="below")).ranking_
    many = Rankings.from_lists(
        [entry for entry in once for _ in range(5)], items=range(6), unranked="below", judge=np.repeat(range(200), 5)
    )
    ranking = fit(many).ranking_
    assert_allclose(ranking.std_errors * math.sqrt(5), single.std_errors, rtol=1e-5)
    clustered = ranking.with_uncertainty("cluster", cluster="judge").std_errors
    assert_allclose(clustered, single.with_uncertainty("sandwich").std_errors, rtol=0.01)
    boot = ranking.with_uncertainty("bootstrap", cluster="judge", seed=0).std_errors
    assert_allclose(boot, clustered, rtol=0.15)


def test_below_says_who_was_passed_over_and_pairs_say_less():
    """Four hundred respondents list their top 5 of 30: what was passed over counts."""
    rng = np.random.default_rng(18)
    scores = rng.normal(size=30)
    lists = draw(scores, 400, 5, rng).tolist()
    order = np.argsort(np.argsort(scores))

    def spearman(ranking):
        found = dict(zip(ranking.items, ranking.scores, strict=True))
        return np.corrcoef(order, np.argsort(np.argsort([found.get(k, -9.0) for k in range(30)])))[0, 1]

    with thin_data():
        below = PlackettLuce().fit(Rankings.from_lists(lists, items=range(30), unranked="below")).ranking_
        unknown = PlackettLuce().fit(Rankings.from_lists(lists, unranked="unknown")).ranking_
    assert spearman(below) > 0.97 > spearman(unknown)


def test_pairs_need_more_rankings_for_the_same_error():
    rng = np.random.default_rng(1)
    scores, errors = np.linspace(1.2, -1.2, 8), {"lists": [], "pairs": []}
    for _ in range(150):
        r = Rankings.from_lists(draw(scores, 60, 4, rng).tolist(), items=range(8), unranked="below")
        with thin_data():
            errors["lists"].append(PlackettLuce(l2=0.01).fit(r).ranking_.scores - scores)
            errors["pairs"].append(BradleyTerry(l2=0.01).fit(Comparisons.from_rankings(r)).ranking_.scores - scores)
    lists, pairs = (float(np.mean(np.square(errors[name]))) for name in ("lists", "pairs"))
    assert 1.02 < pairs / lists < 1.6


def test_rankings_that_follow_the_model_fit_and_two_camps_do_not():
    rng = np.random.default_rng(7)
    scores = np.linspace(1.5, -1.5, 6)
    alike = draw(scores, 300, 6, rng).tolist()
    camps = draw(2 * scores, 150, 6, rng).tolist() + draw(-scores, 150, 6, rng).tolist()
    fitted = [PlackettLuce().fit(Rankings.from_lists(each)).goodness_of_fit(replicates=59) for each in (alike, camps)]
    assert fitted[0].p_value > 0.05
    assert fitted[1].p_value < 0.05
    assert fitted[0].pairs == 15


def test_p_values_of_fitting_rankings_are_spread_evenly():
    rng = np.random.default_rng(17)
    scores, found = np.linspace(1, -1, 5), []
    for k in range(40):
        r = Rankings.from_lists(draw(scores, 60, 3, rng).tolist(), items=range(5), unranked="below")
        with thin_data():
            found.append(PlackettLuce(l2=0.01).fit(r).goodness_of_fit(replicates=39, seed=k).p_value)
    assert 0.3 < np.mean(found) < 0.7
    assert np.mean(np.array(found) <= 0.1) < 0.3


def test_the_error_of_a_tie_strength_is_that_of_a_share():
    # Of two equals a share p = δ / (2 + δ) is tied, so that log δ is the log-odds of p and a constant.
    lists = [["a", "b"]] * 30 + [["b", "a"]] * 30 + [[["a", "b"]]] * 40
    model = PlackettLuce(l2=0, ties="davidson", tol=1e-10).fit(Rankings.from_lists(lists))
    assert model.tie_strengths_ == pytest.approx({2: 4 / 3})
    assert model.tie_std_errors_ == pytest.approx({2: (100 * 0.4 * 0.6) ** -0.5})


def test_rankings_of_items_on_offer_fit_or_not_as_whole_ones_do():
    rng = np.random.default_rng(23)
    offers = [tuple(rng.permutation(6)[:4].tolist()) for _ in range(400)]

    def on_offer(whole):
        return [[item for item in order if item in offer] for order, offer in zip(whole, offers, strict=True)]

    scores = np.linspace(1.5, -1.5, 6)
    alike = on_offer(draw(scores, 400, 6, rng).tolist())
    camps = on_offer(draw(2 * scores, 200, 6, rng).tolist() + draw(-scores, 200, 6, rng).tolist())
    for kind, fits in ((alike, True), (camps, False)):
        listed = Rankings.from_lists(kind, items=range(6), unranked="unknown")
        cut = [order[:2] for order in kind]
        below = Rankings.from_lists(cut, items=range(6), offered=offers, unranked="below")
        for each in (listed, below):
            test = PlackettLuce().fit(each).goodness_of_fit(replicates=39)
            assert (test.p_value > 0.05) is fits


def test_score_is_the_mean_log_chance_of_held_out_rankings():
    rng = np.random.default_rng(11)
    scores = rng.normal(size=4)
    model = PlackettLuce(l2=0.1).fit(Rankings.from_lists(draw(scores, 100, 4, rng).tolist()))
    strength = np.exp([model.ranking_.score(k) for k in range(4)])
    held_out = draw(scores, 20, 4, rng).tolist()
    expected = np.mean([math.log(chance_of_order(order, strength.tolist())) for order in held_out])
    assert model.score(Rankings.from_lists(held_out)) == pytest.approx(expected, rel=1e-9)
    assert model.score(Rankings.from_lists(held_out)) > -math.log(24)


def test_an_item_never_listed_is_last_and_open_below():
    rng = np.random.default_rng(12)
    lists = draw(np.array([0.5, 0.2, 0.0, -0.5]), 60, 2, rng).tolist()
    with thin_data():
        ranking = PlackettLuce().fit(Rankings.from_lists(lists, items=range(5), unranked="below")).ranking_
        lower, upper = ranking.intervals()
    assert ranking.order[-1] == 4
    assert lower[4] == -np.inf
    # It was passed over in all 120 choices: it may be as strong as makes that improbable, 0.025.
    strength = np.exp(ranking.estimates)

    def log_chance(score):
        left = [sum(strength[k] for k in range(4) if k not in entry[:place]) for entry in lists for place in range(2)]
        return sum(math.log(each / (each + math.exp(score))) for each in left)

    assert log_chance(upper[4]) == pytest.approx(math.log(0.025), rel=1e-3)


@settings(max_examples=30, deadline=None)
@given(pairs=lists_of_pairs, l2=st.sampled_from(["auto", 0.3]))
def test_intervals_of_rankings_of_two_are_those_of_bradley_terry(pairs, l2):
    """Also where few votes leave scores open, or all of them."""
    lists = Rankings.from_lists([list(pair) for pair in pairs], unranked="unknown")
    with thin_data():
        rankings = (
            PlackettLuce(l2=l2).fit(lists).ranking_,
            BradleyTerry(l2=l2).fit(Comparisons.from_pairs(pairs)).ranking_,
        )
        ends = [dict(zip(each.items, zip(*each.intervals(), strict=True), strict=True)) for each in rankings]
    for item in lists.items:
        # Where next to no penalty places far ends, each search stops within its own tolerance.
        assert_allclose(ends[0][item], ends[1][item], atol=0.02)


def test_a_score_without_end_needs_a_penalty():
    lists = Rankings.from_lists([["a", "b"], ["b", "a"]], items="abc", unranked="below")
    with pytest.raises(InputError, match="'c' never wins, so no finite scores exist; set l2 > 0"):
        PlackettLuce(l2=0.0).fit(lists)


def test_scores_under_weights_are_those_of_copies():
    rng = np.random.default_rng(13)
    lists = draw(np.linspace(1, -1, 5), 40, 3, rng).tolist()
    times = rng.integers(1, 4, 40)
    copies = [entry for entry, count in zip(lists, times, strict=True) for _ in range(count)]
    whole = PlackettLuce(l2=0.1).fit(Rankings.from_lists(copies, items=range(5), unranked="below"))
    weighed = PlackettLuce(l2=0.1).fit(Rankings.from_lists(lists, items=range(5), unranked="below", weight=times))
    assert_allclose(weighed.ranking_.scores, whole.ranking_.scores, atol=1e-6)
    assert weighed.log_likelihood_ == pytest.approx(whole.log_likelihood_)


@pytest.mark.parametrize("ties", ["efron", "davidson"])
def test_rankings_of_two_with_uneven_weights_are_as_sure_as_votes(ties):
    """Bradley-Terry and Plackett-Luce are one model there, also where one ranking holds nearly all the weight."""
    lists, weight = [["a", "b"], ["b", "a"], ["a", "b"], ["c", "b"], ["b", "c"]], [1000.0, 1.0, 1.0, 3.0, 0.5]
    even = [*lists, ["a", "b"], ["b", "a"]]
    pairs = Comparisons.from_arrays(*zip(*lists, strict=True), weight=weight)
    for known in (Rankings.from_lists(lists, unranked="unknown", weight=weight), pairs):
        found = PlackettLuce(l2=0.01, ties=ties).fit(known).ranking_
        expected = BradleyTerry(l2=0.01).fit(pairs).ranking_
        assert_allclose(found.scores, expected.scores, atol=1e-5)
        assert_allclose(found.std_errors, expected.std_errors, rtol=1e-4)
        lower, upper = PlackettLuce(ties=ties).fit(known).ranking_.intervals()
        assert (lower < found.scores).all()
        assert (found.scores < upper).all()
    plain, heavy = (
        PlackettLuce(ties=ties).fit(Rankings.from_lists(even, unranked="unknown", weight=each)).ranking_
        for each in (None, [1000.0] * len(even))
    )
    assert_allclose(heavy.intervals(), plain.intervals(), rtol=1e-3)


def test_intervals_hold_under_uneven_weights():
    """Where rankings are simulated from known scores; 89 % by the sandwich, whose votes seen vary too little."""
    rng, held = np.random.default_rng(2), []
    for _ in range(40):
        truth = rng.normal(size=5)
        truth -= truth.mean()
        known = Rankings.from_lists(
            draw(truth, 30, 5, rng).tolist(), items=range(5), unranked="below", weight=rng.lognormal(0, 1.5, 30)
        )
        ranking = PlackettLuce(l2=1e-6).fit(known).ranking_
        lower, upper = ranking.intervals()
        held.append(np.mean((lower <= truth) & (truth <= upper)))
    assert np.mean(held) > 0.92


@pytest.mark.parametrize("unit", [1.0, 1e-3, 1e3])
def test_where_an_endless_score_ends_weights_are_worth_as_many_rankings(unit):
    """Four of five rankings put a first, the fifth is without it: (Σw)²/Σw² choices by hand, in any unit."""
    lists, weight = [["a", "b"], ["a", "b"], ["a", "b"], ["b", "c"], ["c", "b"]], np.array([3.0, 1.0, 1.0, 2.0, 2.0])
    known = Rankings.from_lists(lists, unranked="unknown", weight=unit * weight)
    with thin_data():
        ends = PlackettLuce().fit(known).ranking_.information.ends(None)
    assert ends[2].sum() == pytest.approx(25 / 11)


@pytest.mark.parametrize("unranked", ["below", "unknown"])
def test_renaming_and_reordering_change_nothing(unranked):
    rng = np.random.default_rng(14)
    lists = draw(np.linspace(1, -1, 6), 80, 4, rng).tolist()
    one = PlackettLuce().fit(Rankings.from_lists(lists, items=range(6), unranked=unranked)).ranking_
    turned = [[f"item {k}" for k in entry] for entry in reversed(lists)]
    other = PlackettLuce().fit(Rankings.from_lists(turned, unranked=unranked)).ranking_
    assert_allclose([other.score(f"item {k}") for k in range(6)], one.scores, atol=1e-5)
    assert_allclose(dict(zip(other.items, other.std_errors, strict=True))["item 3"], one.std_errors[3], rtol=1e-4)


def test_too_many_items_and_too_large_ties_are_refused():
    many = Rankings.from_lists([list(range(5001))])
    with pytest.raises(InputError, match=r"up to 5,000 items; there are 5,001; rank fewer"):
        PlackettLuce().fit(many)
    wide = Rankings.from_lists([[list(range(13)), 13], [13, list(range(13))]])
    with pytest.raises(InputError, match=r"13 items share a place, more than 12: ties='davidson' .* ties='efron'"):
        PlackettLuce(ties="davidson").fit(wide)
    with thin_data():
        assert PlackettLuce(ties="efron").fit(wide).converged_


def test_residuals_of_pairs_are_those_of_a_plain_count():
    lists = [["a", "b", "c"], ["b", "a"], ["c", "a", "b"], ["a"]]
    model = PlackettLuce(l2=0.5).fit(Rankings.from_lists(lists, unranked="below"))
    chance = 1 / (1 + math.exp(model.ranking_.score("b") - model.ranking_.score("a")))
    row = model.pair_residuals().row(by_predicate=(pl.col("item") == "a") & (pl.col("against") == "b"), named=True)
    assert (row["above"], row["rankings"]) == (3, 4)
    assert row["expected"] == pytest.approx(4 * chance)
    assert row["residual"] == pytest.approx((3 - 4 * chance) / math.sqrt(4 * chance * (1 - chance)))


def test_rankings_in_which_all_are_tied_have_no_strength_of_ties():
    lists = [[["a", "b"]], [["a", "b", "c"]], [["c", "b"]]]
    with pytest.raises(InputError, match="in every ranking all items are tied"):
        PlackettLuce(ties="davidson").fit(Rankings.from_lists(lists, unranked="unknown"))
    with thin_data():  # below the tied ones lies what was passed over
        assert (
            PlackettLuce(ties="davidson")
            .fit(Rankings.from_lists(lists[:1] * 9 + [["c"]], unranked="below"))
            .tie_strengths_
        )


def test_goodness_of_fit_says_what_it_cannot_do():
    tied = PlackettLuce(l2=0.1).fit(Rankings.from_lists([["a", ["b", "c"]], ["c", "b", "a"]]))
    with pytest.raises(InputError, match="for rankings without ties"):
        tied.goodness_of_fit()
    with thin_data():
        votes = PlackettLuce(l2=0.1).fit(Comparisons.from_pairs([("a", "b"), ("b", "a")]))
    with pytest.raises(InputError, match="computed from the rankings, and a file or comparisons hold none"):
        votes.goodness_of_fit()
    with pytest.raises(InputError, match="2 items share a place, which no ranking fitted had"):
        PlackettLuce(l2=0.1, ties="davidson").fit(Rankings.from_lists([["a", "b"], ["b", "a"]])).score(
            Rankings.from_lists([[["a", "b"]]])
        )


def test_lists_and_tables_are_told_how_to_become_rankings():
    for data in ([["a", "b", "c"]], {"Rank 1": ["a"], "Rank 2": ["b"]}):
        with pytest.raises(InputError, match=r"takes Rankings or Comparisons, not .* by Rankings.from_lists"):
            PlackettLuce().fit(data)


def test_very_many_rankings_have_the_optimum_of_few_passes(monkeypatch):
    """Started from some of the rankings and with an old Hessian, the optimum is that of plain Newton."""
    rng = np.random.default_rng(15)
    lists = draw(rng.normal(size=12), 6000, 3, rng)
    r = Rankings.from_lists(lists.tolist(), items=range(12), unranked="below")
    plain, auto = PlackettLuce(l2=0.3).fit(r).ranking_, PlackettLuce().fit(r)
    monkeypatch.setattr(choices, "MANY_LISTED", 10)
    monkeypatch.setattr(choices, "FIRST_RANKINGS", 500)
    assert ListLoss(r).is_large
    assert len(ListLoss(r).thinned().rankings) == 500
    assert_allclose(PlackettLuce(l2=0.3).fit(r).ranking_.scores, plain.scores, atol=1e-6)
    large = PlackettLuce().fit(r)
    assert math.log(large.sd_ / auto.sd_) == pytest.approx(0.0, abs=0.2 / math.sqrt(24))
    assert_allclose(large.ranking_.scores, auto.ranking_.scores, atol=1e-3)


def test_rankings_that_are_even_need_one_step():
    model = PlackettLuce(l2=0, max_iter=1).fit(Rankings.from_lists([["a", "b"], ["b", "a"]]))
    assert model.n_iter_ == 1
    assert_allclose(model.ranking_.scores, 0, atol=1e-12)


@pytest.mark.parametrize(("most", "held"), [(12, True), (11, False)])
def test_rankings_too_many_to_simulate_are_refused_by_rankings_times_items(most, held, monkeypatch):
    lists = [["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"], ["a", "c", "b"]]
    model = PlackettLuce(l2=0.3).fit(Rankings.from_lists(lists))
    monkeypatch.setattr("podium.pairwise.plackett_luce.MAX_DRAWN", most)
    if held:
        assert model.goodness_of_fit(replicates=1).replicates == 1
    else:
        with pytest.raises(InputError, match="4 rankings of 3 items are too many to simulate; take some only"):
            model.goodness_of_fit(replicates=1)
