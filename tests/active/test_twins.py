"""What is asked next and what the models say, each part beside a plain loop that does the same."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit
from scipy.stats import kstest

from podium.active import aims, bands, blocks, kemeny, many, models, order, planner, rank_with, summary
from podium.active.blocks import exchange_stretches, mend_stretches
from podium.active.choice import most_telling, swiss_round
from podium.active.clean import clean_pairs, partial_order
from podium.active.features import Features
from podium.active.many import chosen_among_many, head_chance
from podium.active.model_scores import Scores, fit_scores
from podium.active.models import draft_model, fit_models, rank_posterior, vote_table, weights_of
from podium.active.oracles import Simulated
from podium.active.order import SparseWins
from podium.active.planner import Planner
from podium.active.posterior import Posterior, _loglik
from podium.active.tally import CHECK, CHOSEN, REPEAT, Ballots, pair_keys
from podium.errors import InputError

from reference_active import posterior_of

NONE = np.zeros((0, 2), dtype=np.int64)
NO_KEYS = np.zeros(0, dtype=np.int64)


def tally_of(n, votes):
    """Votes as (left, right, value, judge, kind); nan is a skip."""
    ballots = Ballots(n)
    columns = zip(*votes, strict=True) if votes else [[]] * 5
    types = (np.int64, np.int64, np.float64, np.int64, np.int64)
    ballots.add(*(np.array(list(column), dtype=kind) for column, kind in zip(columns, types, strict=True)))
    return ballots.tally


def random_votes(n, count, seed, judges=1, checks=0.3):
    """Votes of judges who mostly prefer the lower number."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, count)
    right = (left + rng.integers(1, n, count)) % n
    value = (rng.random(count) < expit((right - left) / 2)).astype(float)
    kind = np.where(rng.random(count) < checks, CHECK, CHOSEN)
    return list(zip(left, right, value, rng.integers(0, judges, count), kind, strict=True))


# ---- Swiss rounds ---------------------------------------------------------------------------------------------------


def paired(order, degree, barred, count):
    """Neighbours among the least asked; who is left over meets the nearest it has not met, whoever that is."""
    n = len(degree)

    def met(u, v):
        return min(u, v) * n + max(u, v) in barred

    pairs, waiting = [], []
    for v in [u for u in order if degree[u] == min(degree[w] for w in order)]:
        partner = next((u for u in waiting if not met(u, v)), None)
        if partner is None or len(pairs) == count:
            waiting.append(v)
        else:
            waiting.remove(partner)
            pairs.append([partner, v])
    for u in waiting:
        used = set(itertools.chain(*pairs))
        near = sorted(order, key=lambda v, u=u: abs(order.index(v) - order.index(u)))
        partner = next((v for v in near if v != u and not met(u, v) and v not in used), None)
        if partner is not None and u not in used and len(pairs) < count:
            pairs.append([u, partner])
    return pairs


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_swiss_rounds_are_those_of_a_plain_loop(share):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 10))
        order = rng.permutation(n)[: rng.integers(1, n + 1)]
        degree = rng.integers(0, 3, n)
        barred = [u * n + v for u, v in itertools.combinations(range(n), 2) if rng.random() < share]
        count = int(rng.integers(1, 6))
        found = swiss_round(order, degree, np.array(barred, dtype=np.int64), count)
        assert found.tolist() == paired(order.tolist(), degree.tolist(), set(barred), count)
        assert found.shape == (len(found), 2)


# ---- the pairs that tell most ---------------------------------------------------------------------------------------


def telling(scores, count, closed, out, interest, asked):
    """Round by round the pairs of most p(1-p)·√v, no item twice; what is picked, or out, is counted as answered."""
    n, precision, chosen = len(scores.mean), scores.precision.copy(), []

    def chance(u, v, covariance):
        variance = covariance[u, u] + covariance[v, v] - 2 * covariance[u, v]
        return expit((scores.mean[u] - scores.mean[v]) / math.sqrt(1 + math.pi * variance / 8)), variance

    def answered(u, v):
        p, _ = chance(u, v, np.linalg.inv(scores.precision))
        for a, b, sign in ((u, u, 1), (v, v, 1), (u, v, -1), (v, u, -1)):
            precision[a, b] += sign * p * (1 - p)

    for u, v in out:
        answered(u, v)
    while len(chosen) < count:
        covariance, worth = np.linalg.inv(precision), {}
        for u, v in itertools.combinations(range(n), 2):
            if u * n + v not in closed and (u, v) not in chosen:
                p, variance = chance(u, v, covariance)
                worth[u, v] = p * (1 - p) * math.sqrt(variance) * (0.7 if u * n + v in asked else 1.0)
                worth[u, v] *= 1.0 if interest is None else interest[u] + interest[v]
        now = []
        for pair in sorted(worth, key=lambda pair: -worth[pair]):
            if len(now) < min(max(1, n // 4), count - len(chosen)) and not set(pair) & set(itertools.chain(*now)):
                now.append(pair)
        if not now:
            break
        chosen += now
        for pair in now:
            answered(*pair)
    return [list(pair) for pair in chosen]


@pytest.mark.parametrize("n", [3, 9, 13])
@pytest.mark.parametrize("count", [1, 5, 200])
@pytest.mark.parametrize("with_interest", [False, True])
def test_the_most_telling_pairs_are_those_of_a_plain_loop(n, count, with_interest):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        scores = fit_scores(tally_of(n, random_votes(n, 4 * n, seed)))
        every = [u * n + v for u, v in itertools.combinations(range(n), 2)]
        closed = [key for key in every if rng.random() < 0.2]
        again = [key for key in every if rng.random() < 0.4]
        out = np.array([divmod(key, n)[::-1] for key in closed[:2]], dtype=np.int64).reshape(-1, 2)
        interest = 0.02 + rng.random(n) if with_interest else None
        asked = np.array(again, dtype=np.int64) if seed else None
        found = most_telling(scores, count, np.array(closed, dtype=np.int64), out, interest, asked)
        twin = telling(scores, count, set(closed), out.tolist(), interest, set(again) if seed else set())
        assert found.tolist() == twin
        assert len(found) == min(count, len(every) - len(closed))


# ---- sorting without a contradiction --------------------------------------------------------------------------------


def sorted_on(n, rows, shut, out, count, seed):
    """Swiss rounds up to two and a half questions an item; then open pairs whose two answers tell most evenly."""
    before = {(u, v) for u, v in rows}
    for w, u, v in itertools.product(range(n), repeat=3):  # paths, the middle one outermost
        if (u, w) in before and (w, v) in before:
            before.add((u, v))
    items = np.random.default_rng([seed, 11]).permutation(n)
    barred = set(shut) | {min(u, v) * n + max(u, v) for u, v in out}
    votes = [pair for row in [*rows, *out] for pair in row]
    degree = np.bincount(votes, minlength=n) if votes else np.zeros(n, dtype=np.int64)
    if degree.sum() < 5 * n:
        wins = {u: sum((a == u) - (b == u) for a, b in rows) for u in range(n)}
        ahead = sorted(items.tolist(), key=lambda u: -wins[u])
        if len(pairs := swiss_round(np.array(ahead), degree, np.array(sorted(barred), dtype=np.int64), count)):
            return pairs.tolist()

    def settled(u, v):
        above = [a for a in range(n) if a == u or (a, u) in before]
        below = [b for b in range(n) if b == v or (v, b) in before]
        return sum(a != b and (a, b) not in before and (b, a) not in before for a in above for b in below)

    uneven = {}
    for u, v in itertools.combinations(items.tolist(), 2):
        if (u, v) not in before and (v, u) not in before and min(u, v) * n + max(u, v) not in barred:
            uneven[u, v] = abs(
                np.log(np.float32(settled(u, v)) / np.float32(settled(v, u)))
            )  # ties as in single precision
    most, used, chosen = max(0.7, min(uneven.values(), default=0.0)), set(itertools.chain(*out)), []
    for pair in sorted(uneven, key=lambda pair: uneven[pair]):
        if uneven[pair] <= most and not used & set(pair) and len(chosen) < count:
            used |= set(pair)
            chosen.append(list(pair))
    return chosen


@pytest.mark.parametrize("votes", [0, 6, 18, 24, 26])
def test_pairs_that_sort_are_those_of_a_plain_loop(votes):
    n, told = 9, 0
    for seed in range(25):
        rng = np.random.default_rng(seed)
        truth = rng.permutation(n).tolist()
        every = [(u, v) for k, u in enumerate(truth) for v in truth[k + 2 :]]  # no neighbours: some pairs stay open
        rows = [every[k] for k in rng.permutation(len(every))[:votes]]
        tally = tally_of(n, [(u, v, 1.0, 0, CHOSEN) for u, v in rows])
        known = partial_order(tally)
        free = [pair for pair in itertools.combinations(range(n), 2) if pair[0] * n + pair[1] not in tally.keys]
        out = [free[k] for k in rng.permutation(len(free))[: rng.integers(0, 3)]]
        skipped = [u * n + v for u, v in free if rng.random() < 0.2]
        shut, count = np.array(sorted([*tally.keys.tolist(), *skipped])), int(rng.integers(1, 6))
        found = clean_pairs(known, shut, np.array(out, dtype=np.int64).reshape(-1, 2), count, seed)
        twin = sorted_on(n, rows, shut.tolist(), out, count, seed)
        assert [sorted(pair) for pair in found.tolist()] == [sorted(pair) for pair in twin]
        told += len(found)
    assert told > 20


@pytest.mark.parametrize(("n", "size"), [(401, 15), (1100, 31), (5000, 63)])
def test_the_sample_that_is_sorted_first_has_about_the_root_of_all_items(n, size):
    assert 0.6 < size / math.sqrt(n) < 1.1
    pairs = clean_pairs(partial_order(tally_of(n, [])), NO_KEYS, NONE, 999, 2)
    sample = np.random.default_rng([2, 11]).permutation(n)[:size]
    assert len(pairs) == size // 2
    assert set(pairs.ravel().tolist()) <= set(sample.tolist())


# ---- stretches ------------------------------------------------------------------------------------------------------


def test_stretches_are_exchanged_twenty_times_and_only_where_it_helps():
    wins = np.triu(np.ones((30, 30)), 1)
    once = np.arange(30)[::-1]
    for _ in range(20):
        once = exchange_stretches(wins, once, most=1)
    assert exchange_stretches(wins, np.arange(30)[::-1]).tolist() == once.tolist()
    assert exchange_stretches(wins, once, most=1).tolist() != once.tolist()
    assert exchange_stretches(np.ones((30, 30)), np.arange(30)[::-1]).tolist() == list(range(30))[::-1]
    slight = np.zeros((4, 4))
    slight[2, 1] = 1e-10  # less than rounding
    assert exchange_stretches(slight, np.arange(4)).tolist() == [0, 1, 2, 3]
    slight[2, 1] = 1e-8
    assert exchange_stretches(slight, np.arange(4)).tolist() != [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("costs", "turns"), [([10, 9, 8, 7, 6, 5], 4), ([10, 9, 9, 1], 1), ([10, 10], 0), ([10, 9, 8.5, 9], 2)]
)
def test_rounds_of_mending_go_on_while_the_cost_falls_four_at_most(monkeypatch, costs, turns):
    """Each round turns the order on by one place; the last that lowered the cost is the result."""
    said = iter(costs)
    table = SimpleNamespace(
        cost=lambda order: next(said), square=lambda part: None, insertion_search=lambda order: order,
        window_search=lambda order: order,
    )  # fmt: skip
    monkeypatch.setattr(blocks, "exchange_stretches", lambda wins, order: np.roll(order, 1))
    start = np.arange(7)
    assert mend_stretches(table, start).tolist() == np.roll(start, turns).tolist()
    assert start.tolist() == list(range(7))


# ---- the order and its bands ----------------------------------------------------------------------------------------


def test_both_models_say_a_chance_of_every_pair():
    n = 7
    tally = tally_of(n, random_votes(n, 40, 3))
    fitted = fit_models(tally)
    by_score, by_place = aims.chances(fitted)
    for u, v in itertools.product(range(n), repeat=2):
        if u != v:
            assert by_score[u, v] == pytest.approx(fitted.scores.chances(np.array([u]), np.array([v]))[0][0])
            assert by_place[u, v] == pytest.approx(fitted.posterior.chances(np.array([[u, v]]), fitted.table)[0])
    assert by_place.diagonal().tolist() == [0.5] * n


@pytest.mark.parametrize(("n", "dense", "share"), [(12, 99, 1.0), (13, 13, 0.5), (13, 13, 0.75), (14, 13, 1.0)])
def test_up_to_twelve_items_are_ordered_exactly_and_others_searched_from_the_model_believed(
    monkeypatch, n, dense, share
):
    calls = []

    def noted(name):
        def call(wins, order=None, **more):
            calls.append((name, order if order is None else list(order), more.get("restarts")))
            return np.roll(np.arange(n) if order is None else np.array(order), 1)

        return call

    for name in ("exact_order", "iterated_search", "exchange_stretches", "insertion_search"):
        monkeypatch.setattr(aims, name, noted(name))
    monkeypatch.setattr(aims, "DENSE", dense)
    monkeypatch.setattr(aims, "SQUARE", n)
    monkeypatch.setattr(aims, "chances", lambda models: (np.full((n, n), 0.5), np.full((n, n), 0.5)))
    by_score, by_place = list(range(n)), list(range(n))[::-1]
    fitted = SimpleNamespace(
        share=share, weight=None, scores=SimpleNamespace(order=np.array(by_score)),
        posterior=SimpleNamespace(order=np.array(by_place), scale=0.0, floor=0.1),
    )  # fmt: skip
    found = aims.best_order(tally_of(n, [(0, 1, 1.0, 0, CHOSEN)]), fitted, "truth").tolist()
    start = by_place if share > 0.5 else by_score
    if n == 12:
        assert calls == [("exact_order", None, None)]
    elif n == 13:
        assert calls == [("iterated_search", start, 20)]
        assert found == np.roll(start, 1).tolist()
    else:
        steps = [np.roll(start, k).tolist() for k in range(4)]
        assert calls == [("iterated_search", steps[0], 3), ("exchange_stretches", steps[1], None), ("insertion_search", steps[2], None)]  # fmt: skip  # noqa: E501
        assert found == steps[3]


def test_without_a_covariance_a_rank_spreads_over_the_scores_within_a_deviation():
    rng = np.random.default_rng(0)
    mean, variance = rng.normal(0, 2, 40), rng.uniform(0.1, 4, 40)
    expected = []
    for own, each in zip(mean, variance, strict=True):
        expected.append(sum(abs(other - own) < math.sqrt(each) for other in mean) / 2)
    assert_allclose(bands.rank_spread(Scores(mean, None, variance)), expected)


def test_scores_that_only_move_together_spread_no_rank():
    """Their covariance has no root of its own: it is singular."""
    scores = Scores(np.array([3.0, 2.0, 1.0]), np.ones((3, 3)), np.ones(3))
    assert bands.rank_spread(scores).tolist() == [0.0, 0.0, 0.0]


# ---- many items -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "top"), [(7, None), (8, None), (9, None), (30, None), (30, 2)])
def test_among_many_each_is_asked_where_it_may_stand_the_less_sure_the_more(monkeypatch, count, top):
    n, rng = 8, np.random.default_rng(1)
    tally = tally_of(n, random_votes(n, 30, 1))
    given, swept = [], []
    fake = SimpleNamespace(position=np.arange(n)[::-1] * 1.0, std=rng.uniform(0.5, 3, n), order=np.arange(n)[::-1])

    def sweep(table, sweeps, quantiles):
        swept.append((table, sweeps, quantiles))
        return quantiles * (n - 1)

    fake.sweep = sweep
    draft = SimpleNamespace(posterior=SimpleNamespace(copy=lambda: fake), table="all votes")
    monkeypatch.setattr(many, "_partners", lambda *parts: given.append(parts) or "pairs")
    closed, out = np.array([0 * n + 1, 2 * n + 7]), np.array([[3, 0], [3, 5]])
    assert chosen_among_many(tally, draft, closed, out, count, top, rng) == "pairs"
    ((table, sweeps, quantiles),) = swept
    ((order, shut, target, eager, wanted, most, _),) = given
    assert most == math.ceil(count / n) + 1
    assert (table, sweeps, order.tolist()) == ("all votes", 1, fake.order.tolist())
    assert np.sort(np.floor(quantiles * most), axis=1).tolist() == [list(range(most))] * n  # one of each stratum
    assert len({tuple(row) for row in np.floor(quantiles * most).tolist()}) > 1
    assert_allclose(target, quantiles * (n - 1))
    neighbours = [set(shut.partner[shut.start[u] : shut.start[u + 1]].tolist()) for u in range(n)]
    expected = [set() for _ in range(n)]
    for u, v in [(0, 1), (2, 7), (3, 0), (3, 5)]:
        expected[u].add(v)
        expected[v].add(u)
    assert neighbours == expected
    waiting = np.array([1, 0, 0, 2, 0, 1, 0, 0])
    sure = np.maximum(tally.degree / 3, 1)
    twin = fake.std * np.sqrt(sure / (sure + waiting))
    interest = np.ones(n) if top is None else 0.02 + head_chance(fake.position, fake.std, top)
    assert_allclose(eager, twin * interest)
    assert wanted == (count if top is None else min(count, math.ceil(most * interest.sum())))


def test_the_eager_have_more_partners_but_no_more_than_are_worth_it(monkeypatch):
    n, wants = 4, []

    def choose(start, partner, order, visit, want, target, far, seen, head, link, pairs):
        each = np.zeros(n, dtype=np.int64)
        each[visit] = want
        wants.append(each)
        assert target[:, 0].tolist() == visit.tolist()  # targets travel with their items
        assert (far, len(link) >= 2 * len(pairs), len(pairs)) == (n, True, want.sum())
        pairs[:, 0], pairs[:, 1] = np.arange(len(pairs)), n
        return len(pairs)

    monkeypatch.setattr(many, "kernel", SimpleNamespace(choose_partners=choose))
    shut = SparseWins(n, NO_KEYS, NO_KEYS, NO_KEYS)
    target = np.tile(np.arange(n, dtype=float)[:, None], (1, 3))

    def partners(eager, count, most, seed):
        return many._partners(
            np.arange(n), shut, target, np.array(eager, dtype=float), count, most, np.random.default_rng(seed)
        )

    pairs = partners([3, 1, 1, 1], 6, 3, 0)
    assert wants.pop().tolist() == [3, 1, 1, 1]
    assert pairs[:, 0].tolist() == list(range(6))
    for seed in range(400):
        pairs = partners([9, 1, 1, 1], 5, 2, seed)
        assert len(pairs) == min(wants[-1].sum(), 5)
        assert (np.diff(pairs[:, 0]) > 0).all()  # in the order in which they were made
    assert np.array(wants)[:, 0].tolist() == [2] * 400  # two at most; the others share what is left
    assert_allclose(np.mean(wants, axis=0)[1:], 1.0, atol=0.1)
    assert np.array(wants).max() == 2


# ---- the two models -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "votes", "folds"), [(9, 20, True), (10, 20, False), (9, 21, False)])
def test_few_items_and_votes_are_held_out_by_fifths_and_of_others_a_part(monkeypatch, n, votes, folds):
    monkeypatch.setattr(models, "DENSE", 9)
    monkeypatch.setattr(models, "MAX_VOTES_HELD_OUT", 20)
    monkeypatch.setattr(models, "_fit_folds", lambda tally, prior, weight: ("folds", prior, weight))
    monkeypatch.setattr(models, "_finished", lambda tally, prior, draft: ("finished", prior, draft))
    monkeypatch.setattr(models, "draft_model", lambda tally, prior: ("draft", prior))
    tally, prior = tally_of(n, random_votes(n, votes, 0, judges=2)), (np.zeros(n), 1.0)
    if folds:
        found = fit_models(tally, prior)
        assert found[:2] == ("folds", prior)
        assert_allclose(found[2], weights_of(tally, prior))
    else:
        assert fit_models(tally, prior) == ("finished", prior, ("draft", prior))
        assert fit_models(tally, prior, "mine") == ("finished", prior, "mine")


@pytest.mark.parametrize("with_prior", [False, True])
def test_five_fits_predict_the_parts_that_they_have_not_seen(with_prior):
    n = 12
    tally = tally_of(n, random_votes(n, 150, 4, judges=3))
    prior = (np.linspace(2, -2, n), 0.7) if with_prior else None
    weight, part = weights_of(tally, prior), models.fold_of(tally)
    fits, noise = [], Posterior(n)
    gap, variance, held = np.zeros(150), np.zeros(150), np.zeros((150, 2))
    for fold in range(5):
        rest = tally.part(part != fold)
        scores = fit_scores(rest, weight, prior)
        posterior, table = rank_posterior(rest, scores.order, weight)
        fits.append((posterior, table))
        for k in np.flatnonzero(part == fold):
            u, v = tally.low[k], tally.high[k]
            held[k, 0] = scores.chances(np.array([u]), np.array([v]))[0][0]
            gap[k] = posterior.position[v] - posterior.position[u]
            variance[k] = posterior.std[u] ** 2 + posterior.std[v] ** 2
    noise.learn_noise(gap, variance, tally.value)
    for k in range(150):
        posterior, table = fits[part[k]]
        posterior.floor, posterior.scale = noise.floor, noise.scale
        held[k, 1] = posterior.chances(np.array([[tally.low[k], tally.high[k]]]), table)[0]
    found = fit_models(tally, prior)
    assert_allclose(found.held_out, held)
    assert found.tested.all()
    assert_allclose(found.weight, weight)
    scores = fit_scores(tally, weight, prior)
    assert_allclose(found.scores.mean, scores.mean)
    last, table = rank_posterior(tally, scores.order, weight, (noise.floor, noise.scale))
    assert (found.posterior.floor, found.posterior.scale, found.posterior.fresh) == (noise.floor, noise.scale, 150)
    assert_allclose(found.posterior.std, last.std)
    assert found.posterior.order.tolist() == last.order.tolist()
    assert_allclose(found.table.edge, table.edge)


def test_model_b_begins_with_the_order_of_a_search_and_is_swept_three_times(monkeypatch):
    n = 9
    tally = tally_of(n, random_votes(n, 40, 5, judges=2))
    weight, order = np.array([1.5, 0.5]), np.arange(n)[::-1]
    table = vote_table(tally, weight)
    for noise in (None, (0.2, 1.5)):
        twin = Posterior(n)
        if noise is not None:
            twin.floor, twin.scale = noise
        twin.start(table.window_search(table.insertion_search(order)), tally.degree)
        twin.sweep(table, 3)
        found, laid_out = rank_posterior(tally, order, weight, noise)
        assert_allclose(found.std, twin.std)
        assert found.position.tolist() == twin.position.tolist()
        assert_allclose(laid_out.edge, table.edge)
        assert (found.floor, found.scale) == (twin.floor, twin.scale)
    nothing, _ = rank_posterior(tally_of(n, []), order, None)
    assert nothing.order.tolist() == order.tolist()
    assert_allclose(nothing.std, n / math.sqrt(12))


@pytest.mark.parametrize("hasty", [False, True])
def test_a_draft_is_swept_three_times_or_twice_from_a_narrow_zone(monkeypatch, hasty):
    n = 40
    monkeypatch.setattr(models, "HASTY", n - 1 if hasty else n)
    seen = []
    sweep = Posterior.sweep

    def noted(self, table, sweeps, quantiles=None):
        seen.append((self.scale, sweeps, len(table.left)))
        return sweep(self, table, sweeps, quantiles)

    tally = tally_of(n, random_votes(n, 500, 2, judges=2))
    prior = np.linspace(1, -1, n), 0.5
    weight = weights_of(tally, prior)
    with monkeypatch.context() as patched:
        patched.setattr(Posterior, "sweep", noted)
        draft = draft_model(tally, prior)
    assert len(seen) == (2 if hasty else 3)
    assert seen[0][0] == pytest.approx((0.003 if hasty else 0.02) * n)
    assert {row[1:] for row in seen} == {(1, int(np.count_nonzero(~draft.out)))}
    rest = tally.part(~draft.out)
    scores = fit_scores(rest, weight, prior)
    assert_allclose(draft.start, scores.mean)
    assert_allclose(draft.weight, weight)
    assert_allclose(draft.table.edge, vote_table(tally, weight).edge)
    assert_allclose(draft.seen[draft.out, 0], scores.chances(tally.low[draft.out], tally.high[draft.out])[0])
    assert draft.posterior.fresh == np.count_nonzero(draft.out)  # of the last sweep only
    pairs = np.column_stack([tally.low, tally.high])[draft.out]
    assert_allclose(draft.seen[draft.out, 1], draft.posterior.chances(pairs, vote_table(rest, weight)))
    before = draft.posterior.std.copy()
    found = fit_models(tally, prior, draft) if tally.n > models.DENSE else models._finished(tally, prior, draft)
    assert_allclose(draft.posterior.std, before)
    again = draft.posterior.copy()
    again.sweep(draft.table, 3)
    assert_allclose(found.posterior.std, again.std)
    assert (found.tested == draft.out).all()
    assert_allclose(found.scores.mean, fit_scores(tally, weight, prior).mean, atol=1e-3)


def test_doubt_is_the_larger_of_all_votes_and_of_check_votes(monkeypatch):
    """All that were held out for that; of check votes all that were predicted, with trust in 1 beforehand."""
    n = 30
    votes = [(k, k + 1, 1.0, 0, CHECK if k % 2 else CHOSEN) for k in range(20)]
    tally = tally_of(n, votes)
    seen = np.column_stack([np.linspace(0.1, 0.9, 20), np.linspace(0.9, 0.1, 20)])
    part, tested = np.arange(20) < 8, np.arange(20) < 14
    asked = []
    doubts = iter([(1.5, 3.0), (2.5, 1.0), (1.0, 0.0)] * 2)

    def doubt(chances, value, trust=np.inf):
        asked.append((chances, len(value), trust))
        return next(doubts)

    monkeypatch.setattr(models, "_doubt", doubt)
    monkeypatch.setattr(models, "_share", lambda seen, value: 0.25)
    posterior = SimpleNamespace(order=np.arange(n))
    found = models._models(tally, None, posterior, None, None, seen, tested, part)
    mixed = 0.75 * seen[:, 0] + 0.25 * seen[:, 1]
    checks = tested & (tally.kind == CHECK)
    assert found.doubt == 2.5
    assert [each[1:] for each in asked[:2]] == [(8, np.inf), (7, 0.5)]
    assert_allclose(asked[0][0], mixed[part])
    assert_allclose(asked[1][0], mixed[checks])
    assert asked[2][1:] == (8, np.inf)  # all neighbours, of the part only
    assert (found.share, found.turning, found.straight) == (0.25, False, True)
    doubts = iter([(3.5, 3.0), (2.5, 1.0), (1.0, 0.0)])
    assert models._models(tally, None, posterior, None, None, seen, tested, part).doubt == 3.5


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("precision", [0.0, 0.4])
def test_a_place_is_the_mean_of_a_posterior_written_out(seed, precision):
    """One item moved: partners with their own spread, plain mistakes, another share of them among far pairs."""
    n, rng = 24, np.random.default_rng(seed)
    found = Posterior(n)
    order = rng.permutation(n)
    found.position[order] = np.arange(n)
    found.std = rng.uniform(0.3, 3.0, n)
    found.floor, found.scale, found.precision = 0.08, 1.3, precision
    found.prior = rng.uniform(0, n, n)
    item = int(order[5 + 2 * seed])
    partners = rng.permutation(np.delete(np.arange(n), item))[:9]
    answers = rng.choice([0.0, 0.5, 1.0], 9, p=[0.45, 0.1, 0.45])
    table = SparseWins(n, np.full(9, item), partners, 2 * answers - 1)
    position, spread = found.position.copy(), found.std.copy()
    away = np.array([(1.3**k - 1) / 0.3 for k in range(1, 17)])
    steps = np.concatenate([-away[::-1], [0.0], away]) * max(spread[item] / 4, 0.5)
    grid = np.unique(np.clip(position[item] + steps, 0, n - 1))
    room = np.empty((1, 0))
    found._visit(table, (_loglik(0.08), _loglik(0.2)), order, np.array([item]), room, room.copy())
    logs = -0.5 * precision * (grid - found.prior[item]) ** 2
    for where, wide, answer in zip(position[partners], spread[partners], answers, strict=True):
        z = np.clip((where - grid) / np.hypot(1.3, 0.55 * wide), -12, 12)
        floor = np.where((np.abs(where - grid) > n / 3) & (answer != 0.5), 0.2, 0.08)
        first, last = floor + (1 - 2 * floor) * expit(z), floor + (1 - 2 * floor) * expit(-z)
        logs += answer * np.log(first) + (1 - answer) * np.log(last)
    widths = (np.append(grid[1:], grid[-1]) - np.append(grid[0], grid[:-1])) / 2
    mass = np.exp(1.3 * (logs - logs.max())) * widths
    mean = mass @ grid / mass.sum()
    std = math.sqrt(mass @ (grid - mean) ** 2 / mass.sum())
    assert found.position[item] == pytest.approx(mean, abs=0.05)
    assert found.std[item] == pytest.approx(max(std, 0.2), abs=0.05)
    others = np.arange(n) != item
    assert found.position[others].tolist() == position[others].tolist()
    assert found.std[others].tolist() == spread[others].tolist()
    if not precision:
        twin = posterior_of(item, partners, answers, position, spread, 0.08, 1.3, 0.55, 1.3, grid, n / 3, 0.2)
        assert twin == pytest.approx((mean, std))


# ---- plans ----------------------------------------------------------------------------------------------------------


def loaded(n, votes, **options):
    found = Planner(n, **({"seed": 0} | options))
    if votes:
        found.load(*zip(*votes, strict=True))
    return found


def keys_of(questions):
    return {tuple(sorted(pair)) for pair in questions.pairs.tolist()}


EVERY = list(itertools.combinations(range(4), 2))
WAVERING = [(u, v, float(k % 2), 0, CHOSEN) for u, v in EVERY for k in range(2)]  # each pair both ways


def test_a_pair_that_a_judge_has_skipped_may_be_asked_of_others():
    for more in ([], [(0, 2, 1.0, 0, CHOSEN), (0, 2, 0.0, 0, CHOSEN)]):
        found = loaded(4, [(0, 1, np.nan, 1, CHOSEN), *more])
        left = {*EVERY} - {(0, 2) for _ in more}
        assert keys_of(found.plan(30, judge=1)) == left - {(0, 1)}
        assert keys_of(found.plan(30)) == left - {(0, 1)}
        assert keys_of(found.plan(30, judge=2)) >= left
        assert found._skipped(1).tolist() == found._skipped(None).tolist() == [0 * 4 + 1]
        assert found._skipped(2).tolist() == []


def test_each_plan_is_numbered_and_draws_other_check_pairs():
    found = loaded(30, random_votes(30, 400, 1), random_share=0.5)
    first, second = found.plan(20), found.plan(20)
    assert found.plans == 2
    checks = [{tuple(sorted(pair)) for pair in each.pairs[each.kind == CHECK].tolist()} for each in (first, second)]
    assert checks[0] != checks[1]
    found.plans = 0
    assert found.plan(20).pairs.tolist() == first.pairs.tolist()


def test_either_item_of_a_question_may_be_on_the_left():
    found = loaded(30, [])
    left = [pair for k in range(8) for pair in found.plan(15).pairs.tolist()]
    share = np.mean([u < v for u, v in left])
    assert 0.3 < share < 0.7


@pytest.mark.parametrize("many_items", [False, True])
def test_once_every_pair_was_asked_those_come_again_that_somebody_else_answered(monkeypatch, many_items):
    if many_items:
        monkeypatch.setattr(planner, "DENSE", 3)
    votes = [*WAVERING, *((0, v, 1.0, 1, CHOSEN) for v in (1, 2, 3))]

    def again(found, judge, barred=()):
        pairs = found._again(9, np.array(barred, dtype=np.int64), judge)
        assert len(pairs) == len({tuple(sorted(pair)) for pair in pairs.tolist()})
        return {tuple(sorted(pair)) for pair in pairs.tolist()}

    found = loaded(4, votes)
    if many_items:  # an item once
        assert len(again(found, 0)) == len(again(found, None)) == 2
        assert again(found, 1) < {(1, 2), (1, 3), (2, 3)}
        assert again(found, 1, [1 * 4 + 2, 2 * 4 + 3]) == {(1, 3)}
        return
    assert again(found, 1) == {(1, 2), (1, 3), (2, 3)}
    assert again(found, 0) == again(found, None) == again(found, 7) == {*EVERY}
    assert again(found, 1, [1 * 4 + 2]) == {(1, 3), (2, 3)}
    assert again(found, 1, [1 * 4 + 2, 1 * 4 + 3, 2 * 4 + 3]) == {(0, 1), (0, 2), (0, 3)}  # rather than nothing
    skipping = loaded(4, [*votes, (1, 2, np.nan, 5, CHOSEN)])
    assert again(skipping, 1) == {(1, 3), (2, 3)}
    questions = found.plan(9)
    assert keys_of(questions) == {*EVERY}
    assert set(questions.kind.tolist()) == {REPEAT}


@pytest.mark.parametrize(
    ("repeats", "same", "changed", "p", "may"),
    [("auto", 11, 0, 0.5, True), ("auto", 12, 0, 0.5, False), ("auto", 12, 1, 0.5, True), ("auto", 12, 0, 0.2, True),
     ("auto", 13, 0, 0.2, False), ("never", 11, 0, 0.5, False), ("never", 12, 1, 0.5, False)],
)  # fmt: skip
def test_a_pair_may_be_asked_again_until_twelve_answers_that_should_have_wavered_did_not(
    repeats, same, changed, p, may
):
    """Of twelve repeated pairs four changed answers are expected where each has 2p(1-p)."""
    n = 9
    pairs = list(itertools.combinations(range(n), 2))
    votes = [(u, v, 1.0, 0, CHOSEN) for u, v in pairs[:same] for _ in range(2)]
    votes += [(u, v, float(k), 0, CHOSEN) for u, v in pairs[same : same + changed] for k in range(2)]
    votes += [(u, v, float(k), k, CHOSEN) for u, v in pairs[-6:] for k in range(2)]  # two judges, who differ
    found = loaded(n, votes, repeats=repeats)
    assert found.partial is None
    found._kept["scores"] = SimpleNamespace(chances=lambda left, right: (np.full(len(left), p), None))
    assert found._repeatable() == may


@pytest.mark.parametrize("count", [19, 20])
def test_where_nothing_contradicts_twenty_answers_are_enough_to_end(count):
    votes = [(0, 1, 1.0, 0, CHOSEN)] * (count - 2) + [(1, 2, 1.0, 0, CHOSEN), (0, 2, 1.0, 0, CHOSEN)]
    found = loaded(3, votes)
    assert found.settled
    assert found.finished
    assert found._repeatable() == (count < 20)
    assert found.exhausted == (count >= 20)
    assert bool(len(found.plan(3))) == (count < 20)


def test_a_round_of_thousands_of_items_grows_with_the_votes(monkeypatch):
    monkeypatch.setattr(planner, "DENSE", 10)
    votes = [(0, 1, float(k % 2), 0, CHOSEN) for k in range(200)]
    for hasty, size in ((11, 30), (12, 12)):
        monkeypatch.setattr(planner, "HASTY", hasty)
        assert loaded(12, votes).round_size == size
        assert loaded(12, votes[:70]).round_size == 12  # a seventh of so few is less
        assert loaded(12, votes[:59]).round_size == 6


def test_a_round_of_clean_answers_is_what_sorts_unless_more_than_the_order_is_wanted():
    votes = [(k, k + 1, 1.0, 0, CHOSEN) for k in range(9)]
    assert loaded(10, []).round_size == 5
    assert loaded(10, votes).round_size == len(loaded(10, votes)._sorting)
    settled = loaded(3, [(0, 1, 1.0, 0, CHOSEN), (1, 2, 1.0, 0, CHOSEN), (0, 2, 1.0, 0, CHOSEN)])
    assert (len(settled._sorting), settled.round_size) == (0, 1)
    assert loaded(11, votes, goal=("top", 2)).round_size == 5
    assert loaded(11, votes, features=np.arange(11.0)).round_size == 5
    assert loaded(11, votes * 7, goal=("top", 2)).round_size == 2


@pytest.mark.parametrize("count", [1, 4, 9])
def test_swiss_rounds_of_answers_that_contradict_go_by_the_scores(count):
    n = 9
    votes = [(0, 1, 1.0, 0, CHOSEN), (0, 1, 0.0, 0, CHOSEN), (2, 3, 1.0, 0, CHOSEN), (4, 5, 1.0, 0, CHOSEN)]
    found = loaded(n, votes, seed=3)
    out = np.array([[6, 7]])
    start = np.random.default_rng([3, 5]).permutation(n).tolist()
    order = sorted(start, key=lambda u: -found.scores.mean[u])
    degree, shut, expected = [2, 2, 1, 1, 1, 1, 1, 1, 0], {0 * n + 1, 2 * n + 3, 4 * n + 5, 6 * n + 7}, []
    while len(expected) < count:
        for pair in paired(order, degree, shut, count - len(expected)):
            expected.append(pair)
            shut.add(min(pair) * n + max(pair))
            for u in pair:
                degree[u] += 1
    questions = found.plan(count, out=out)
    assert [sorted(pair) for pair in questions.pairs.tolist()] == [sorted(pair) for pair in expected]
    assert set(questions.kind.tolist()) == {CHOSEN}


@pytest.mark.parametrize(
    ("out", "message"),
    [(5, "out is 5; give pairs of item numbers"), ([(0, 1), (2,)], r"out is \[\(0, 1\), \(2,\)\]; give pairs"),
     ([(0, 1, 2)], r"out has shape \(1, 3\); give pairs"), ([(0, 9)], "out, row 1: 9; numbers are 0 to 4"),
     ([(9, 0)], "out, row 1: 9"), ([(0.5, 1)], "out is an array of float64")],
)  # fmt: skip
def test_what_is_out_or_tired_are_pairs_of_numbers(out, message):
    with pytest.raises(InputError, match=message):
        loaded(5, []).plan(1, out=out)
    with pytest.raises(InputError, match=message.replace("out", "tired", 1)):
        loaded(5, []).plan(1, tired=out)
    assert len(loaded(5, []).plan(1, out=iter([]), tired=np.zeros((0, 2)))) == 1


def test_there_is_a_limit_to_the_items_that_can_be_numbered():
    assert Planner(2**31 - 1, seed=0).n == 2**31 - 1
    with pytest.raises(InputError, match="2,147,483,648 items; a planner takes at most 2,147,483,647"):
        Planner(2**31, seed=0)
    with pytest.raises(InputError, match="judge is -1; it is a whole number, at least 0"):
        loaded(4, []).plan(1, judge=-1)


def test_features_are_expected_scores_of_a_first_fit():
    n = 12
    table = np.random.default_rng(1).normal(size=(n, 2))
    table[:, 0] = -np.arange(n)
    found = loaded(n, random_votes(n, 80, 6, judges=2), features=table)
    guess, worth = Features(table, n).score_prior(fit_scores(found.tally))
    assert worth > 0
    assert_allclose(found.prior[0], guess)
    assert found.prior[1] == worth
    expected = fit_scores(found.tally, weights_of(found.tally, found.prior), found.prior)
    assert_allclose(found.scores.mean, expected.mean)
    assert_allclose(found.models.scores.mean, expected.mean)
    assert loaded(n, []).prior is None


def test_of_many_items_the_models_go_on_from_what_the_plan_was_made_with(monkeypatch):
    given = []
    monkeypatch.setattr(planner, "fit_models", lambda *parts: given.append(parts) or "models")
    monkeypatch.setattr(planner, "draft_model", lambda tally, prior: ("draft", len(tally), prior))
    for dense, draft in ((9, ("draft", 30, None)), (10, None)):
        monkeypatch.setattr(planner, "DENSE", dense)
        found = loaded(10, random_votes(10, 30, 1))
        assert found.models == "models"
        assert given.pop() == (found.tally, None, draft)


def test_what_is_handed_out_is_ones_own_and_what_is_kept_is_not_pickled():
    found = loaded(8, random_votes(8, 60, 2))
    before = found.order().tolist()
    found.order()[:] = 0
    assert found.order().tolist() == before
    assert found._kept
    assert found.__getstate__()["_kept"] == {}
    assert found.__getstate__()["seed"] == 0


def test_models_are_fitted_to_say_something_and_not_for_a_settled_order_without_checks(monkeypatch):
    chain = [(0, 1, 1.0, 0, CHOSEN), (1, 2, 1.0, 0, CHOSEN), (0, 2, 1.0, 0, CHOSEN)]
    settled = loaded(3, chain * 10)
    assert settled._state().models is None
    assert loaded(3, [])._state().models is None
    checked = loaded(3, [*chain[:2], (0, 2, 1.0, 0, CHECK)] * 10)
    assert checked.settled
    assert checked._state().models is not None
    assert checked.summary().agreement is not None
    open_order = loaded(4, chain)
    assert not open_order.settled
    state = open_order._state()
    assert state.models is not None
    assert (state.top, state.settled, state.finished) == (None, False, False)
    assert state.order.tolist() == open_order.order().tolist()
    assert_allclose(state.half_widths, open_order.half_widths())
    assert [end.tolist() for end in state.bands] == [end.tolist() for end in open_order.bands()]
    assert loaded(4, chain, goal=("top", 2))._state().top == 2


def test_check_pairs_are_left_out_where_too_many_items_have_few_left():
    found = Planner(3001, seed=0)
    assert len(found._checks(1_200_000, NO_KEYS, np.random.default_rng(0))) == 0
    some = found._checks(50, pair_keys(np.array([[0, 1]]), 3001), np.random.default_rng(0))
    assert some.shape == (50, 2)
    assert (some[:, 0] < some[:, 1]).all()


def test_a_finished_sample_of_many_items_is_not_verified_but_sorted_in():
    """Beyond 400 items the chain goes on with the next stage at once."""
    n = 401
    mixed = np.random.default_rng([4, 11]).permutation(n)
    rows = [(int(u), int(v), 1.0, 0, CHOSEN) for u, v in itertools.pairwise(mixed[:15])]
    tally = tally_of(n, rows)
    pairs = clean_pairs(partial_order(tally), tally.keys, NONE, 40, 4)
    new = set(mixed[15:].tolist())
    assert sum(len(new & set(pair)) == 1 for pair in pairs.tolist()) == len(pairs) - 1


@pytest.mark.parametrize(("judge", "judges"), [(0, 1), (1, 1), (1, 2)])
def test_of_a_single_judge_nothing_is_asked_again_of_others_before_all_was_asked(monkeypatch, judge, judges):
    given = []
    monkeypatch.setattr(planner, "most_telling", lambda *parts: given.append(parts) or NONE)
    votes = [(k % 6, (k + 1) % 6, 1.0, k % judges, CHOSEN) for k in range(40)]
    found = loaded(6, votes)
    found._chosen(5, NONE, NO_KEYS, judge, np.random.default_rng(0))
    assert (given[0][5] is None) == (judges == 1)
    assert (given[0][2].tolist() == found.tally.keys.tolist()) == (judges == 1)


@pytest.mark.parametrize(("votes", "out", "swiss"), [(24, 0, True), (25, 0, False), (23, 1, True), (23, 2, False)])
def test_swiss_rounds_last_for_two_and_a_half_questions_an_item_those_out_among_them(monkeypatch, votes, out, swiss):
    said = []
    monkeypatch.setattr(planner, "most_telling", lambda *parts: said.append("models") or NONE)
    monkeypatch.setattr(planner, "swiss_round", lambda *parts: said.append("swiss") or NONE)
    found = loaded(10, [(0, 1, float(k % 2), 0, CHOSEN) for k in range(votes)])
    found._chosen(
        3, NONE if not out else np.array([[2, 3 + k] for k in range(out)]), NO_KEYS, None, np.random.default_rng(0)
    )
    assert said == ["swiss" if swiss else "models"]


@pytest.mark.parametrize(("dense", "many_items"), [(9, True), (10, False)])
def test_beyond_some_hundred_items_partners_are_sought_by_place(monkeypatch, dense, many_items):
    given = []
    monkeypatch.setattr(planner, "DENSE", dense)
    monkeypatch.setattr(planner, "draft_model", lambda tally, prior: ("draft", len(tally), prior))
    monkeypatch.setattr(planner, "chosen_among_many", lambda *parts: given.append(parts) or NONE)
    monkeypatch.setattr(planner, "most_telling", lambda *parts: NONE)
    found = loaded(10, random_votes(10, 60, 1), goal=("top", 3))
    out, rng = np.array([[0, 1]]), np.random.default_rng(0)
    found._chosen(7, out, np.array([1]), None, rng)
    if not many_items:
        assert given == []
        return
    tally, draft, asked, pending, count, top, same = given[0]
    assert (tally is found.tally, draft, count, top) == (True, ("draft", 60, None), 7, 3)
    assert asked.tolist() == sorted({*tally.keys.tolist(), 1})
    assert pending.tolist() == [[0, 1]]
    assert same is rng


def test_a_plan_that_has_too_few_useful_pairs_is_filled_with_others_each_once(monkeypatch):
    monkeypatch.setattr(planner, "most_telling", lambda scores, count, *rest: np.array([[0, 2]]))
    found = loaded(7, [(0, 1, float(k % 2), 0, CHOSEN) for k in range(30)], random_share=0.0)
    questions = found.plan(12, out=[(3, 4)], tired=[(4, 5)])
    assert len(keys_of(questions)) == 12
    assert not keys_of(questions) & {(0, 1), (3, 4), (4, 5)}
    kinds = dict(zip([tuple(sorted(pair)) for pair in questions.pairs.tolist()], questions.kinds, strict=True))
    assert kinds.pop((0, 2)) == "chosen"
    assert set(kinds.values()) == {"check"}
    monkeypatch.setattr(planner, "most_telling", lambda scores, count, *rest: np.array([[0, 1], [2, 0]]))
    again = found.plan(2)
    assert sorted(again.kinds) == ["chosen", "repeat"]  # 0 and 1 have met


def test_check_pairs_have_their_share_and_are_not_among_the_chosen(monkeypatch):
    given = []
    monkeypatch.setattr(
        planner, "most_telling", lambda scores, count, closed, *rest: given.append((count, closed)) or NONE
    )
    found = loaded(20, random_votes(20, 150, 1, checks=0.0), random_share=0.4)
    questions = found.plan(10)
    assert found._checks_due(10, 0) == 8  # twice the share at most
    ((count, closed),) = given
    assert count == 2
    assert len(closed) == len(found.tally.keys) + 8
    assert set(questions.kinds) == {"check"}


def test_what_an_oracle_is_asked_keeps_its_kind():
    found = rank_with(Simulated(14, "flips", 0.3, seed=2), range(14), seed=0, random_share=0.5, budget=91)
    kinds = [row["kind"] for row in found.log[1:]]
    assert set(kinds) == {"chosen", "check"}
    assert kinds.count("check") == np.count_nonzero(found.planner.tally.kind == CHECK) == len(found.check_comparisons)
    assert found.answered == len({frozenset((row["left"], row["right"])) for row in found.log[1:]})


# ---- orders ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("votes", "message"),
    [([[0, 1j], [0, 0]], "^votes hold something that is no number; entry"), (np.zeros((2, 2), "M8[D]"), "no number"),
     (np.zeros((2, 2), "m8[D]"), "no number"), ([[0, 10**400], [0, 0]], "no number"), ([[0, None], ["x", 0]], "no number"),  # noqa: E501
     ([1, 2], r"^votes have shape \(2,\); a square array is needed"), ([[0, np.inf], [0, 0]], r"^votes\[0, 1\] is inf; weights of votes"),  # noqa: E501
     ([[0, 1], [-2, 0]], r"^votes\[1, 0\] is -2; weights of votes are finite and not negative$")],
)  # fmt: skip
def test_weights_of_votes_are_numbers_from_0_on(votes, message):
    with pytest.raises(InputError, match=message):
        kemeny(votes)


def test_what_stands_on_the_diagonal_is_ignored_and_options_are_checked():
    assert kemeny([[-5, 0], [np.float64(2), np.nan]], items=("x", "y")).order == ("y", "x")
    assert kemeny([[9.0]]).order == (0,)
    for options, message in (
        ({"restarts": -1}, "restarts=-1"),
        ({"seed": -1}, "seed"),
        ({"items": 5}, "^items is 5; give a list"),
    ):
        with pytest.raises(InputError, match=message):
            kemeny(np.zeros((2, 2)), **options)
    with pytest.raises(InputError, match=r"^1 item for 2 rows of votes; give one label per row$"):
        kemeny(np.zeros((2, 2)), items=["x"])
    wins = np.zeros((2, 2))
    wins[0, 0] = 7.0
    kemeny(wins)
    assert wins[0, 0] == 7.0  # the caller's array stays as it is


def test_votes_of_nobody_in_particular_are_of_one_judge():
    found = Planner(["a", "b", "c"], seed=0)
    assert (found.n, found.plans, len(found)) == (3, 0, 0)
    found.load([0], [1], [1])
    assert (found.tally.judges, found.tally.judge.tolist(), found.tally.kind.tolist()) == (1, [0], [CHOSEN])
    found.tell([1], [2], 0.5)
    assert (found.tally.judges, found.tally.judge.tolist(), found.tally.value.tolist()) == (1, [0, 0], [1.0, 0.5])
    assert Planner(2, seed=0).n == 2


def test_where_many_pairs_are_left_they_are_drawn_from_all_of_them_each_once():
    n = 40
    found = loaded(n, [(u, v, 1.0, 0, CHOSEN) for u, v in itertools.combinations(range(10), 2)])
    barred = np.array([10 * n + 11])
    seen = set()
    for seed in range(12):
        pairs = [tuple(pair) for pair in found._checks(150, barred, np.random.default_rng(seed)).tolist()]
        assert len(set(pairs)) == len(pairs) == 150
        assert all(u < v and v >= 10 and (u, v) != (10, 11) for u, v in pairs)
        seen |= set(pairs)
    assert len(seen) > 0.9 * (780 - 46)  # each is left out twelve times with a chance of 0.06


@pytest.mark.parametrize(("n", "searches"), [(1, 1), (2, 1), (3, 21), (30, 21)])
def test_a_search_is_begun_anew_twenty_times_where_more_than_one_exchange_is_possible(monkeypatch, n, searches):
    """Each time a stretch of the best order so far is shuffled, no item lost; a worse order is not kept."""
    seen = []

    def noted(wins, order):
        seen.append(np.asarray(order).tolist())
        return np.arange(n) if len(seen) == 1 else np.asarray(order)

    monkeypatch.setattr(order, "window_search", noted)
    monkeypatch.setattr(order, "insertion_search", lambda wins, given: given)
    wins = np.triu(np.ones((n, n)), 1)
    assert order.iterated_search(wins, np.arange(n)[::-1]).tolist() == list(range(n))
    assert len(seen) == searches
    changed = []
    for trial in seen[1:]:
        assert sorted(trial) == list(range(n))
        changed += [place for place, item in enumerate(trial) if place != item]
    if n > 3:
        assert (min(changed), max(changed)) == (0, n - 1)


def test_the_order_of_least_disagreement_has_its_defaults(monkeypatch):
    given = []

    def noted(wins, *, restarts, rng):
        given.append((restarts, rng.integers(2**40)))
        return np.arange(21)

    monkeypatch.setattr(order, "iterated_search", noted)
    kemeny(np.triu(np.ones((21, 21)), 1))
    kemeny(np.triu(np.ones((21, 21)), 1), restarts=0, seed=5)
    assert given == [(20, np.random.default_rng(0).integers(2**40)), (0, np.random.default_rng(5).integers(2**40))]


def test_no_chance_is_taken_for_surer_than_one_in_ten_thousand():
    """Of three votes foretold with certainty two went wrong: logits are those of 0.9999."""
    value, sure = np.array([1.0, 0.0, 0.0]), math.log(0.9999 / 0.0001)
    fit = {each: sum(v * sure / each - math.log1p(math.exp(sure / each)) for v in value) for each in models.DOUBTS}
    for chances, said in ((np.ones(3), value), (np.zeros(3), 1 - value)):
        divisor, gain = models._doubt(chances, said)
        assert divisor == 4.0
        assert gain == pytest.approx(fit[4.0] - fit[1.0], rel=1e-6)


def test_the_lot_of_a_pair_is_uniform_and_its_part_one_of_five():
    tally = tally_of(60, [(u, v, 1.0, 0, CHOSEN) for u, v in itertools.combinations(range(60), 2)])
    lots = models._lot(tally)
    assert kstest(lots, "uniform").pvalue > 0.01
    assert len(np.unique(lots)) == len(tally)
    assert np.bincount(models.fold_of(tally), minlength=5).min() > 0.15 * len(tally)


@pytest.mark.parametrize(("n", "reach"), [(2048, 54), (2049, 33)])
def test_the_cells_around_an_item_reach_so_many_deviations(n, reach):
    """In quarters of a deviation, each cell wider than the one before by the same ratio, alike to both sides."""
    steps = Posterior(n)._steps
    assert int(steps[-1] / 4) in (reach, reach - 1)
    assert_allclose(steps, -steps[::-1])
    widths = np.diff(steps[len(steps) // 2 :])
    assert_allclose(widths[1:] / widths[:-1], widths[1] / widths[0])
    assert widths[0] == pytest.approx(1.0)


@pytest.mark.parametrize(("gap", "told"), [(15, False), (16, True)])
def test_far_pairs_of_unsure_items_are_a_sixth_of_all_places_farther(gap, told):
    """Of thirty places ten are far; two deviations more are asked for, but five at most."""
    found = Posterior(30)
    found.position, found.std = np.arange(30.0), np.full(30, 10.0)
    left = np.arange(10)
    table = SparseWins(30, left, left + gap, -np.ones(10))
    assert found.far_floor(table) == pytest.approx(0.3 if told else 0.1)  # all are wrong


def left_out(table, place, rows):
    """Guesses of places from one standard column, each item left out: an intercept, and a penalty of one."""
    column = (table - table.mean()) / table.std()
    design = np.column_stack([np.ones(len(table)), column])
    found = []
    for row in rows:
        keep = [k for k in rows if k != row]
        at = np.array([place[rows.index(k)] for k in keep])
        normal = design[keep].T @ design[keep] + np.diag([0.0, 1.0])
        found.append(design[row] @ np.linalg.solve(normal, design[keep].T @ at))
    return np.array(found)


def test_features_make_the_start_where_they_leave_half_of_the_variance_open_at_most():
    n, sample_size, told = 80, 20, {True: 0, False: 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        table = rng.permutation(n) + rng.normal(0, 25.0, n)
        sample = np.argsort(table + rng.normal(0, 30.0, n))[2::4].tolist()
        place = (np.arange(sample_size) + 0.5) * n / sample_size - 0.5
        open_share = np.mean((place - left_out(table, place, sample)) ** 2) / (n**2 / 12)
        started = Features(table, n).start(np.array(sample)) is not None
        assert started == (open_share <= 0.5)
        told[started] += 0.3 < open_share < 0.8
    assert min(told.values()) >= 3  # on both sides, and not far from it


def test_questions_until_the_first_few_are_stable_count_those_who_may_be_among_them():
    n, off = 30, np.linspace(1.0, 12.0, 30)
    weight = head_chance(np.arange(n), off / 2, 4) + 1e-9
    bits = 1 + 0.1 * math.log2(0.1) + 0.9 * math.log2(0.9)
    typical = 2 * np.sum(weight * off) / weight.sum()
    expected = math.ceil(weight.sum() * 1.7 / bits * max(0.1, math.log2(typical / (0.15 * 29))))
    assert summary._until_stable(off, weight, 0.1) == expected
    assert expected < summary._until_stable(off, np.ones(n), 0.1)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 9])
def test_items_that_share_a_gap_meet_after_the_checks_and_before_others_are_bisected(count):
    """Of 401 items fifteen are sorted, and two more are known to stand between the same two of them."""
    n, seed = 401, 4
    mixed = np.random.default_rng([seed, 11]).permutation(n).tolist()
    chain, one, two = mixed[:15], mixed[15], mixed[18]
    rows = [
        *itertools.pairwise(chain),
        *((chain[6], item) for item in (one, two)),
        *((item, chain[7]) for item in (one, two)),
    ]
    tally = tally_of(n, [(u, v, 1.0, 0, CHOSEN) for u, v in rows])
    pairs = clean_pairs(partial_order(tally), tally.keys, NONE, count, seed).tolist()
    others = [item for item in mixed[15:] if item not in (one, two)]
    expected = [[chain[0], chain[2]], sorted([one, two]), *([item, chain[7]] for item in others)][:count]
    assert [sorted(pair) if set(pair) == {one, two} else pair for pair in pairs] == expected


@pytest.mark.parametrize(("n", "judges"), [(2**28, 4), (2**27, 16), (3, 1_000_000)])
def test_judges_are_as_many_as_a_number_of_62_bits_has_room_for(n, judges):
    """A vote is one number: the pair, the judge, and sixteen ways to answer and to have been asked."""
    assert judges == min(2**62 // (16 * n**2), 1_000_000)
    ballots = Ballots(n)
    ballots.add(*(np.array([part]) for part in (0, n - 1, 1.0, judges - 1, CHECK)))
    with pytest.raises(InputError, match=f"^judge {judges} is too large a number; number the judges from 0$"):
        ballots.add(*(np.array([part]) for part in (0, 1, 1.0, judges, CHOSEN)))
    codes = ballots._codes
    assert len(codes) == 0  # sorted in when they are looked at
    ballots._sort_in()
    pair, rest = divmod(int(ballots._codes[0]), 16 * judges)
    assert (pair, *divmod(rest, 16)) == (n - 1, judges - 1, 2 * 4 + CHECK)
