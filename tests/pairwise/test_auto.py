"""BradleyTerry(l2="auto"): a penalty from the votes, and what is read from likelihood and posterior."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from podium import BradleyTerry, Comparisons
from podium.errors import ConnectivityWarning, InputError, PodiumWarning, SeparationWarning
from podium.models import load, save
from podium.pairwise.bradley_terry import common_sd


def drawn(n, m, seed, sd=0.8):
    rng = np.random.default_rng(seed)
    scores = sd * rng.standard_normal(n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(scores[right] - scores[left]))
    return [(int(a), int(b)) if w else (int(b), int(a)) for a, b, w in zip(left, right, won, strict=True)]


def outcomes(rows):
    left, right, outcome = zip(*rows, strict=True)
    return Comparisons.from_frame({"left": list(left), "right": list(right), "outcome": list(outcome)})


@pytest.fixture
def connected():
    votes = Comparisons.from_pairs(drawn(8, 200, 1))
    assert votes.adjacency.is_strongly_connected
    return votes


def auto(votes, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        return BradleyTerry(l2="auto", **options).fit(votes)


def hessian(votes, scores, sd, worth=1.0):
    """Dense L + I/s² at some scores."""
    n = len(votes.items)
    found = np.eye(n) / sd**2
    for left, right, total in zip(votes.pairs.left, votes.pairs.right, votes.pairs.total, strict=True):
        p = 1 / (1 + math.exp(scores[right] - scores[left]))
        along = np.zeros(n)
        along[left], along[right] = 1, -1
        found += worth * total * p * (1 - p) * np.outer(along, along)
    return found


def test_the_penalty_found_gives_the_same_scores_when_named(connected):
    model = auto(connected)
    assert model.l2_ == pytest.approx(1 / (2 * model.sd_**2))
    named = BradleyTerry(l2=model.l2_).fit(connected)
    assert named.sd_ is None
    assert_allclose(named.ranking_.scores, model.ranking_.scores, atol=1e-5)


def test_confidence_intervals_are_those_of_the_likelihood(connected):
    model, plain = auto(connected), BradleyTerry(l2=0).fit(connected)
    assert_allclose(model.ranking_.intervals(), plain.ranking_.intervals(), atol=1e-4)
    assert_allclose(model.ranking_.std_errors, plain.ranking_.std_errors, rtol=1e-4)
    assert np.ptp(model.ranking_.scores) < np.ptp(plain.ranking_.scores)
    mine, theirs = (each.ranking_.intervals(reference=3) for each in (model, plain))
    shift = model.ranking_.score(3) - plain.ranking_.score(3)
    assert_allclose(np.array(mine) - shift, theirs, atol=1e-4)


def test_credible_intervals_are_those_of_the_inverse_of_curvature_and_prior(connected):
    ranking = (model := auto(connected)).ranking_
    inverse = np.linalg.inv(hessian(connected, ranking.scores, model.sd_))
    centre = np.eye(8) - 1 / 8
    half = 1.959964 * np.sqrt(np.diag(centre @ inverse @ centre))
    assert_allclose(ranking.intervals(kind="credible"), (ranking.scores - half, ranking.scores + half), atol=1e-4)
    with pytest.raises(InputError, match="use l2='auto'"):
        BradleyTerry(l2=0.1).fit(connected).ranking_.intervals(kind="credible")
    with pytest.raises(InputError, match="'confidence' or 'credible'"):
        ranking.intervals(kind="sure")


def test_a_chance_is_the_mean_over_the_posterior(connected):
    model = auto(connected)
    inverse = np.linalg.inv(hessian(connected, model.ranking_.scores, model.sd_))
    variance = inverse[0, 0] + inverse[1, 1] - 2 * inverse[0, 1]
    node, weight = np.polynomial.hermite_e.hermegauss(60)
    margin = model.ranking_.score(connected.items[0]) - model.ranking_.score(connected.items[1])
    mean = weight @ (1 / (1 + np.exp(-margin - math.sqrt(variance) * node))) / weight.sum()
    assert model.win_probability(*connected.items[:2]) == pytest.approx(mean, abs=0.003)
    total = model.win_probability(*connected.items[:2]) + model.win_probability(*connected.items[1::-1])
    assert total == pytest.approx(1)


def test_ties_of_davidson_have_mean_chances_too():
    rows = [("a", "b", outcome) for outcome in (1, 1, 0.5, 0, 0.5)] + [("b", "c", outcome) for outcome in (1, 0.5, 0)]
    votes = outcomes(rows)
    model = auto(votes, ties="davidson")
    win, tie, loss = model.win_probability("a", "b"), model.tie_probability("a", "b"), model.win_probability("b", "a")
    assert win + tie + loss == pytest.approx(1)
    assert win > loss


def test_an_item_that_only_won_has_an_open_score_and_a_place():
    votes = Comparisons.from_pairs(
        [("new", "a"), ("new", "b"), *[(x, y) for x in "abcd" for y in "abcd" if x != y] * 3]
    )
    with pytest.warns(SeparationWarning, match="'new' never loses; the distance to the rest is set by the penalty"):
        model = BradleyTerry(l2="auto").fit(votes)
    ranking = model.ranking_
    assert ranking.intervals()[1][votes.items.index("new")] == np.inf
    assert np.isfinite(ranking.intervals(kind="credible")).all()
    assert ranking.probability_best().sum() == pytest.approx(1)
    assert ranking.rank_intervals()[1][votes.items.index("new")] == 5  # two wins over equals prove nothing
    assert 0.5 < model.win_probability("new", "a") < 0.75


def test_groups_never_compared_have_no_ranks_to_each_other():
    better = [("a1", "a2"), ("a2", "a3"), ("a1", "a3")] * 40 + [("a2", "a1"), ("a3", "a2")]
    votes = Comparisons.from_pairs(better + [(x.replace("a", "b"), y.replace("a", "b")) for x, y in better])
    with pytest.warns(ConnectivityWarning):
        model = auto(votes)
    best, worst = model.ranking_.rank_intervals()
    places = dict(zip(votes.items, zip(best.tolist(), worst.tolist(), strict=True), strict=True))
    assert places["a1"] == places["b1"] == (1, 4)
    assert places["a3"] == places["b3"] == (3, 6)
    assert model.ranking_.probability_above("a1", "b3") == pytest.approx(0.5, abs=0.05)


def test_equal_weights_are_votes_whatever_their_size():
    pairs = drawn(10, 60, 3)
    plain = auto(Comparisons.from_pairs(pairs))
    for weight in (0.25, 3.0):
        weighted = auto(Comparisons.from_arrays(*zip(*pairs, strict=True), weight=[weight] * len(pairs)))
        assert weighted.sd_ == pytest.approx(plain.sd_, rel=1e-5)
        assert weighted.l2_ == pytest.approx(weight * plain.l2_, rel=1e-4)
        assert_allclose(weighted.ranking_.scores, plain.ranking_.scores, atol=1e-5)
        mine, theirs = (each.ranking_.intervals(kind="credible") for each in (weighted, plain))
        assert_allclose(mine, theirs, atol=1e-4)


def test_repeated_votes_and_counts_are_the_same():
    pairs = drawn(10, 60, 4)
    once = sorted(set(pairs))
    left, right = (list(side) for side in zip(*once, strict=True))
    wins = [pairs.count(pair) for pair in once]
    counted = Comparisons.from_frame({"left": left, "right": right, "left_wins": wins, "right_wins": [0] * len(once)})
    assert auto(counted).sd_ == pytest.approx(auto(Comparisons.from_pairs(pairs)).sd_, rel=1e-5)


def test_an_anchor_shifts_scores_and_intervals_alike(connected):
    free, held = auto(connected).ranking_, auto(connected, anchor=(connected.items[2], 5.0)).ranking_
    shift = 5.0 - free.score(connected.items[2])
    assert_allclose(held.scores, free.scores + shift)
    for kind in ("confidence", "credible"):
        assert_allclose(held.intervals(kind=kind), np.array(free.intervals(kind=kind)) + shift, atol=1e-9)


def test_the_elo_scale_stretches_all(connected):
    plain, elo = auto(connected).ranking_, auto(connected, scale="elo").ranking_
    for kind in ("confidence", "credible"):
        wide = np.array(elo.intervals(kind=kind)) - 1000
        assert_allclose(wide, 400 / math.log(10) * np.array(plain.intervals(kind=kind)), rtol=1e-6)


@pytest.mark.parametrize("sides", ["mixed", "separating"])
def test_a_side_effect_is_found_beside_the_spread(sides):
    rng = np.random.default_rng(6)
    rows = []
    for a, b in drawn(10, 120, 5):
        left, right = (a, b) if rng.random() < 0.5 else (b, a)
        rows.append((left, right, 1 if sides == "separating" else int(left == a)))
    model = auto(outcomes(rows), side_effect=True)
    assert 0.01 < model.sd_ < 10
    assert np.isfinite(model.ranking_.scores).all()


@pytest.mark.parametrize(
    "rows",
    [
        [("a", "b", 1)],
        [("a", "b", 0.5)],
        [("a", "b", 0.5), ("b", "c", 0.5)] * 20,
        [("a", "b", 1), ("b", "c", 1), ("a", "c", 1)] * 50,
    ],
)
def test_few_equal_or_consistent_votes_have_an_answer(rows):
    votes = outcomes(rows)
    model = auto(votes)
    assert 0.01 < model.sd_ < 30
    assert np.isfinite(model.ranking_.scores).all()
    assert 0 < model.win_probability("a", "b") < 1
    assert repr(model.ranking_)


def test_errors_that_were_named_are_used_for_ranks(connected):
    ranking = auto(connected).ranking_.with_uncertainty("bootstrap", seed=1)
    best, worst = ranking.rank_intervals()
    assert np.all(best <= ranking.ranks)
    assert np.all(ranking.ranks <= worst)


def test_what_is_no_penalty_is_refused(connected):
    with pytest.raises(InputError, match="l2='none': it must be a finite number of at least 0, or 'auto'"):
        BradleyTerry(l2="none").fit(connected)


def test_saved_models_keep_posterior_and_spread(connected, tmp_path):
    model = auto(connected)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.sd_ == model.sd_
    assert_allclose(again.ranking_.intervals(kind="credible"), model.ranking_.intervals(kind="credible"))
    assert again.win_probability(*connected.items[:2]) == model.win_probability(*connected.items[:2])


def test_a_penalty_from_the_votes_is_the_default(connected):
    assert BradleyTerry().get_params()["l2"] == "auto"
    assert BradleyTerry().fit(connected).ranking_ == auto(connected).ranking_


def test_estimates_are_scores_by_the_votes_alone(connected):
    ranking, plain = auto(connected).ranking_, BradleyTerry(l2=0).fit(connected).ranking_
    assert_allclose(ranking.estimates, plain.scores, atol=1e-5)
    assert_allclose(ranking.estimates, np.mean(ranking.intervals(), axis=0), atol=1e-9)
    assert_allclose(plain.estimates, plain.scores)


@pytest.mark.parametrize("wins", [1, 4, 50])
def test_an_item_that_only_won_moves_no_confidence_interval_but_pulls_scores_of_those_it_beat(wins):
    """Under a prior its distance is finite, so that losing to it says something; the likelihood alone hears nothing."""
    pairs = drawn(6, 120, 7)
    before = auto(Comparisons.from_pairs(pairs)).ranking_
    after = auto(Comparisons.from_pairs(pairs + [("star", 0)] * wins)).ranking_
    old = np.array(before.intervals())[:, [before.items.index(item) for item in range(6)]]
    new = np.array(after.intervals())[:, [after.items.index(item) for item in range(6)]]
    assert_allclose(new - new.mean(), old - old.mean(), atol=1e-3)
    assert after.score(0) - after.score(1) < before.score(0) - before.score(1)
    assert after.order[0] == "star" or wins == 1


def test_swapped_sides_and_new_names_change_nothing_and_turned_votes_turn_the_scores():
    pairs = drawn(9, 90, 8)
    ranking, turned = (auto(Comparisons.from_pairs(each)).ranking_ for each in (pairs, [(b, a) for a, b in pairs]))
    named = auto(Comparisons.from_pairs([(f"<{a}>", f"<{b}>") for a, b in reversed(pairs)])).ranking_
    for item in range(9):
        assert turned.score(item) == pytest.approx(-ranking.score(item), abs=1e-5)
        assert named.score(f"<{item}>") == pytest.approx(ranking.score(item), abs=1e-5)


@pytest.mark.parametrize("effect", ["side", "ties", "covariate"])
def test_few_votes_that_scores_and_effects_explain_in_many_ways_have_intervals_too(effect):
    """A dozen votes on eight items: what they do not bound is open, and nothing is refused."""
    rng = np.random.default_rng(9)
    for _ in range(30):
        left = rng.integers(0, 8, 12)
        rows = {"left": left, "right": (left + rng.integers(1, 8, 12)) % 8, "outcome": rng.integers(0, 2, 12) * 1.0}
        if effect == "ties":
            rows["outcome"][rng.random(12) < 0.4] = 0.5
            if (rows["outcome"] == 0.5).all():
                continue
        options = {"side": {"side_effect": True}, "ties": {"ties": "davidson"}}.get(effect, {})
        more = {"covariates": ["style"]} if effect == "covariate" else {}
        if more:
            rows["style"] = rng.standard_normal(12)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ranking = BradleyTerry(**options).fit(Comparisons.from_frame(rows, **more)).ranking_
            lower, upper = ranking.intervals()
            best, worst = ranking.rank_intervals()
        assert not np.isnan(lower).any()
        assert not np.isnan(upper).any()
        assert (lower <= upper).all()
        assert ((best <= ranking.ranks) & (ranking.ranks <= worst)).all()


def penalised(votes, l2, centre):
    """Scores by a generic optimiser of Σ log-loss + l2·‖s − centre‖²."""

    def objective(scores):
        gap = scores[votes.left] - scores[votes.right]
        return np.logaddexp(0, -gap).sum() + l2 * np.sum((scores - centre) ** 2)

    return minimize(objective, centre, method="BFGS", options={"gtol": 1e-8}).x


def test_scores_of_a_group_are_pulled_to_the_centre_that_is_given():
    votes = Comparisons.from_pairs(drawn(6, 40, 10))
    centre = np.random.default_rng(11).standard_normal(6)
    model = BradleyTerry().fit(votes, sd=0.7, centre=dict(zip(votes.items, centre, strict=True)))
    expected = penalised(votes, 1 / (2 * 0.7**2), centre)
    assert model.sd_ == 0.7
    assert_allclose(model.ranking_.scores - model.ranking_.scores.mean(), expected - expected.mean(), atol=1e-4)
    plain = auto(votes)
    assert_allclose(model.ranking_.std_errors, plain.ranking_.std_errors, rtol=1e-3)  # the likelihood knows no centre
    inverse = np.linalg.inv(hessian(votes, expected, 0.7))
    project = np.eye(6) - 1 / 6
    half = 1.959964 * np.sqrt(np.diag(project @ inverse @ project))
    lower, upper = model.ranking_.intervals(kind="credible")
    assert_allclose((upper - lower) / 2, half, rtol=1e-3)


def test_a_spread_that_is_given_and_a_centre_of_zeros_are_the_plain_penalty(connected):
    named = BradleyTerry(l2=0.5).fit(connected)
    given = BradleyTerry().fit(connected, sd=1.0)
    centred = BradleyTerry().fit(connected, sd=1.0, centre=dict.fromkeys(connected.items, 0.0))
    for model in (given, centred):
        assert_allclose(model.ranking_.scores, named.ranking_.scores, atol=1e-5)
    free = BradleyTerry().fit(connected, centre=dict.fromkeys(connected.items, 0.0))
    assert free.sd_ == pytest.approx(auto(connected).sd_, rel=1e-4)


@pytest.mark.parametrize("more", [{}, {"ties": "davidson"}, {"side_effect": True}])
def test_one_spread_for_several_groups(more):
    groups = [Comparisons.from_pairs(drawn(8, 60, seed, sd)) for seed, sd in ((12, 0.3), (13, 1.5))]
    if "side_effect" in more:
        groups = [
            outcomes([(a, b, 1) if k % 3 else (b, a, 0) for k, (a, b) in enumerate(drawn(8, 60, s))]) for s in (1, 2)
        ]
    model = BradleyTerry(**more)
    alone = [common_sd(model, [group]) for group in groups]
    assert alone == pytest.approx([auto(group, **more).sd_ for group in groups], rel=1e-5)
    together = common_sd(model, groups)
    assert min(alone) * 0.9 < together < max(alone)


def test_a_prior_is_refused_where_there_is_none(connected):
    with pytest.raises(InputError, match="they need l2='auto'"):
        BradleyTerry(l2=1.0).fit(connected, sd=1.0)
    with pytest.raises(InputError, match="sd=0: it must be"):
        BradleyTerry().fit(connected, sd=0)
    with pytest.raises(InputError, match="has no score there"):
        BradleyTerry().fit(connected, centre={connected.items[0]: 1.0})


def test_with_many_votes_the_penalty_is_found_by_sweeps_alone(monkeypatch):
    """Rough fits on the way once went on with Newton's method, at twenty times the cost of a plain fit."""

    def refuse(*_args, **_options):
        raise AssertionError("sweeps are enough here")

    monkeypatch.setattr("podium.pairwise._fit.strength_model.newton", refuse)
    monkeypatch.setattr("podium.pairwise._fit.solvers.CHEAP", 0)  # as with very many pairs
    rng = np.random.default_rng(2)
    n, m = 500, 100_000
    truth, left = rng.normal(size=n), rng.integers(n, size=m)
    right = (left + rng.integers(1, n, size=m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(truth[right] - truth[left]))
    votes = Comparisons.from_arrays(np.where(won, left, right), np.where(won, right, left))
    assert BradleyTerry().fit(votes).sd_ == pytest.approx(truth.std(), rel=0.05)


def test_where_no_score_is_bounded_two_wins_prove_little():
    """The chance of c's two wins at its lower end is 2.5 %, its opponents where the ranking has them."""
    votes = Comparisons.from_pairs([("d", "b"), ("c", "e"), ("b", "e"), ("c", "d")])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        ranking = BradleyTerry().fit(votes).ranking_
    lower, upper = (dict(zip(ranking.items, ends, strict=True)) for ends in ranking.intervals())
    chance = math.prod(1 / (1 + math.exp(ranking.score(other) - lower["c"])) for other in ("d", "e"))
    assert chance == pytest.approx(0.025, abs=1e-6)
    assert upper["e"] == pytest.approx(-lower["c"])  # the votes mirror each other
    assert all(lower[item] == -math.inf and upper[item] == math.inf for item in ("b", "d"))


def test_intervals_of_votes_that_bound_no_score_hold_the_truth():
    """Five items and six votes; with opponents anywhere, as next to no penalty has them, three in four were held."""
    rng, held = np.random.default_rng(3), []
    while len(held) < 40:
        truth, left = 0.8 * rng.normal(size=5), rng.integers(0, 5, 6)
        right = (left + rng.integers(1, 5, 6)) % 5
        won = rng.random(6) < 1 / (1 + np.exp(truth[right] - truth[left]))
        votes = Comparisons.from_arrays(np.where(won, left, right), np.where(won, right, left))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PodiumWarning)
            ranking = BradleyTerry().fit(votes).ranking_
        if not np.isfinite(ranking.std_errors).any():
            lower, upper = ranking.intervals()
            true = truth[list(ranking.items)] - truth[list(ranking.items)].mean() + ranking.scores.mean()
            held.append(np.mean((lower <= true) & (true <= upper)))
    assert np.mean(held) >= 0.95
