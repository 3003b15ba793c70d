"""Probabilistic bisection: the posterior against its formula, the questions, and what they buy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium.active import rank_with
from podium.active.bisect import BisectOptions, bisect, estimate, random_pairs
from podium.active.features import Features
from podium.active.interview import Interview
from podium.active.oracles import Simulated
from podium.active.order import SparseWins
from podium.active.paper.quicksort import quicksort
from podium.active.posterior import BLUR, FAR, TEMPER, UNIT, Posterior, _loglik, rater_weights
from podium.errors import InputError

from reference_active import posterior_of, random_tournament


def interviewed(n, oracle, seed=0, start=None, **options):
    start = start or (lambda state: bisect(state, BisectOptions()))
    interview = Interview(n, start, seed=seed, **options)
    while not interview.done:
        pairs = interview.ask()
        interview.tell(pairs, oracle.answer(pairs))
    return interview


@pytest.mark.parametrize("least", [0.2, 2.0, 30.0])  # spreads: sure items, middling ones, and some that stand anywhere
@pytest.mark.parametrize("floors", [(0.1, 0.1), (0.003, 0.3), (0.3, 0.35)])
def test_a_sweep_places_an_item_at_the_mean_of_its_posterior(least, floors):
    rng = np.random.default_rng(1)
    n = 200
    for item in (0, 3, 60, 111, 199):
        posterior = Posterior(n)
        posterior.position = np.arange(n, dtype=float)
        posterior.spread = rng.uniform(least, 4 * least, n)
        posterior.floor, posterior.scale = floors[0], 1.5
        partners = rng.permutation(np.delete(np.arange(n), item))[:25]
        answers = np.where(rng.random(25) < 0.15, partners < item, partners > item).astype(float)
        answers[:2] = 0.5
        steps = posterior._steps * max(UNIT, posterior.spread[item] / 4)
        mean, spread = posterior_of(
            item, partners, answers, posterior.position, posterior.spread, floors[0], 1.5, BLUR, TEMPER,
            np.clip(item + steps, 0, n - 1), far=FAR * n, far_floor=floors[1],
        )  # fmt: skip
        table = SparseWins(n, np.full(25, item), partners, 2 * answers - 1)
        before, found = posterior.position.copy(), np.empty((1, 2))
        posterior._visit(table, tuple(map(_loglik, floors)), np.array([item]), np.array([[0.0, 0.5]]), found)
        assert posterior.position[item] == pytest.approx(mean, abs=0.03 * max(spread, 1.0))
        assert posterior.spread[item] == pytest.approx(max(spread, 0.2), rel=0.05)
        assert_allclose(np.delete(posterior.position, item), np.delete(before, item))
        assert 0 <= found[0, 0] <= found[0, 1] <= n - 1
        assert abs(found[0, 1] - mean) <= 1.5 * max(spread, 1.0)


def test_clean_answers_give_the_hidden_order_with_about_the_questions_of_quicksort():
    judge = Simulated(200, "flips", 0.0, seed=2)
    from podium.active.presets import is_stable

    ours = interviewed(200, judge, start=lambda state: bisect(state, BisectOptions(until=is_stable)))
    sort = interviewed(200, judge, start=quicksort)
    assert ours.order.tolist() == judge.order.tolist() == sort.order.tolist()
    assert ours.asked < 1.3 * sort.asked


NOISE = [
    ("flips", 0.0),
    ("flips", 0.1),
    ("flips", 0.3),
    ("bradley-terry", 0.01),
    ("bradley-terry", 0.05),
    ("cyclic", 0.05),
    ("chaos", 0.02),
    ("long-range", 0.1),
]


@pytest.mark.parametrize(("n", "runs"), [(80, 8), (300, 5)])
@pytest.mark.parametrize(("model", "level"), NOISE)
def test_with_the_same_questions_the_order_is_no_worse_than_quicksort(model, level, n, runs):
    excess = []
    for seed in range(runs):
        judge = Simulated(n, model, level, seed=seed)
        quick = interviewed(n, judge, seed=seed, start=quicksort)
        mine = rank_with(judge, range(n), budget=quick.asked, random_share=0.0, seed=seed)
        assert mine.interview.asked <= quick.asked
        excess.append(judge.cost(np.array(mine.ranking_.order)) - judge.cost(quick.order))
    assert np.mean(excess) <= 2 * np.std(excess, ddof=1) / np.sqrt(runs)


@pytest.mark.parametrize("preset", ["quick", "standard", "thorough"])
@pytest.mark.parametrize(("n", "runs"), [(80, 6), (300, 3)])
@pytest.mark.parametrize(("model", "level"), NOISE)
def test_no_preset_is_worse_than_quicksort(model, level, n, runs, preset):
    excess = []
    for seed in range(runs):
        judge = Simulated(n, model, level, seed=seed)
        quick = interviewed(n, judge, seed=seed, start=quicksort)
        mine = rank_with(judge, range(n), preset=preset, seed=seed)
        excess.append(judge.cost(np.array(mine.ranking_.order)) - judge.cost(quick.order))
    assert np.mean(excess) <= 2 * np.std(excess, ddof=1) / np.sqrt(runs)


def test_the_noise_is_found_from_fresh_answers():
    for level in (0.0, 0.1, 0.25):
        judge = Simulated(300, "flips", level, seed=1)
        interview = interviewed(300, judge, budget=300 * 22)
        assert estimate(interview.state).floor == pytest.approx(level, abs=0.06)


def test_no_pair_is_asked_twice_and_all_are_within_the_budget():
    judge = Simulated(40, "flips", 0.2, seed=1)
    interview = interviewed(40, judge, budget=500, random_share=0.1)
    votes = interview.evidence.votes()
    keys = set(zip(votes.left.tolist(), votes.right.tolist(), strict=True))
    assert len(keys) == len(votes) == interview.asked == 500


def test_asking_everything_finds_an_order_no_single_move_improves():
    wins = random_tournament(25, 0.2, np.random.default_rng(0))
    from podium.active.oracles import MatrixOracle
    from podium.active.order import insertion_search, mfast_cost

    interview = interviewed(25, MatrixOracle(wins))
    assert interview.asked == 300
    assert mfast_cost(wins, insertion_search(wins, interview.order)) == mfast_cost(wins, interview.order)


def test_a_goal_of_the_head_finds_more_of_the_head():
    missed = {None: 0, 10: 0}
    near = {}
    for seed in range(6):
        judge = Simulated(150, "flips", 0.15, seed=seed)
        for top in missed:
            found = interviewed(150, judge, budget=1200, start=lambda s, t=top: bisect(s, BisectOptions(top=t)))
            missed[top] += len(set(judge.order[:10].tolist()) - set(estimate(found.state).order[:10].tolist()))
            votes = found.evidence.votes()
            near[top] = np.mean(np.minimum(judge.place[votes.left], judge.place[votes.right]) < 20)
    assert missed[10] < missed[None]
    assert near[10] > 1.3 * near[None]


def test_random_pairs_are_distinct_and_spread_evenly():
    pairs = random_pairs(50, 150, np.random.default_rng(0))
    assert len({tuple(sorted(pair)) for pair in pairs.tolist()}) == len(pairs) > 140
    assert np.bincount(pairs.ravel(), minlength=50).max() <= 6


def test_a_careless_rater_weighs_less():
    rng = np.random.default_rng(0)
    judge = Simulated(40, "flips", 0.0, seed=1)
    interview = Interview(40, lambda s: bisect(s, BisectOptions()), seed=0, budget=600)
    while not interview.done:
        pairs = interview.ask()
        who = rng.integers(0, 2, len(pairs))
        answers = judge.answer(pairs)
        answers[(who == 1) & (rng.random(len(pairs)) < 0.4)] = 0.5
        lies = (who == 1) & (rng.random(len(pairs)) < 0.4)
        answers[lies] = 1 - answers[lies]
        interview.tell(pairs, answers, who)
    careful, careless = rater_weights(interview.evidence.votes(), interview.state.posterior)
    assert careful > 1.5 * careless


def test_informative_features_say_where_an_item_stands_and_useless_ones_do_not():
    rng = np.random.default_rng(0)
    posterior = Posterior(200)
    posterior.position = rng.permutation(200).astype(float)
    posterior.spread[:] = 5.0
    telling = np.column_stack([posterior.position + rng.normal(0, 10, 200), rng.normal(size=200)])
    guess, precision = Features(telling, 200).prior(posterior)
    assert np.corrcoef(guess, posterior.position)[0, 1] > 0.95
    assert 1 / np.sqrt(precision) < 20
    useless = Features(rng.normal(size=(200, 5)), 200).prior(posterior)[1]
    assert useless < 1e-5


def test_a_sorted_sample_tells_whether_features_can_make_the_start():
    rng = np.random.default_rng(1)
    sample, place = np.arange(0, 200, 13), np.arange(200.0)
    telling = Features(np.column_stack([place + rng.normal(0, 20, 200), rng.normal(size=(200, 3))]), 200)
    found = telling.start(sample)
    assert found.position.argsort().argsort().tolist() == found.position.tolist()  # places, each given once
    assert np.sqrt(np.mean((found.position - place) ** 2)) < 40  # 58 if drawn by lot
    assert 10 < found.spread[0] < 45
    lots = [Features(rng.normal(size=(200, 4)), 200).start(sample) for _ in range(40)]
    assert sum(lot is not None for lot in lots) <= 2


@pytest.mark.parametrize(("model", "level"), [("flips", 0.1), ("bradley-terry", 0.05)])
def test_informative_features_save_questions_and_useless_ones_cost_at_most_a_twentieth(model, level):
    n, costs = 200, {}
    for seed in range(3):
        judge, rng = Simulated(n, model, level, seed=seed), np.random.default_rng(seed)
        tables = {
            "none": None,
            "informative": np.column_stack([judge.place + rng.normal(0, 0.1 * n, n), rng.normal(size=(n, 3))]),
            "useless": rng.normal(size=(n, 4)),
        }
        for name, table in tables.items():
            found = rank_with(judge, range(n), budget=6 * n, seed=seed, features=table)
            costs[name] = costs.get(name, 0) + judge.cost(np.array(found.ranking_.order))
    assert costs["informative"] < 0.9 * costs["none"]
    assert costs["useless"] <= 1.05 * costs["none"]


def test_a_budget_too_small_to_sort_is_not_spent_on_an_unfinished_sort():
    # Four questions an item where sorting takes seven: at least as good as random pairs ordered by their wins.
    n, ours, random = 300, 0, 0
    for seed in range(3):
        judge = Simulated(n, "bradley-terry", 0.01, seed=seed)
        ours += judge.cost(np.array(rank_with(judge, range(n), budget=4 * n, seed=seed).ranking_.order))
        pairs = random_pairs(n, 4 * n, np.random.default_rng(seed))
        first = judge.answer(pairs)
        wins = np.bincount(pairs[:, 0], first, n) + np.bincount(pairs[:, 1], 1 - first, n)
        random += judge.cost(np.argsort(-wins, kind="stable"))
    assert ours < 0.8 * random


def test_bad_features_are_named():
    with pytest.raises(InputError, match="one row for each of the 3 items"):
        Features(np.zeros((2, 2)), 3)
    with pytest.raises(InputError, match="row 2, column 1"):
        Features([[1.0], [np.nan]], 2)
