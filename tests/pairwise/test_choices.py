"""The fit to rankings part by part: what was chosen, how searches end, and the spread by the equations it solves."""

import math
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import Comparisons, PlackettLuce
from podium.data.rankings import Rankings
from podium.errors import ConvergenceError, InputError
from podium.pairwise import plackett_luce
from podium.pairwise._fit import choices
from podium.pairwise._fit.choices import ListLoss, _evidence, _tie_sizes, choose_sd, maximise
from podium.pairwise.plackett_luce import _Data, _pearson, _simulated, _ties_only

from helpers import thin_data

ITEMS = "abcde"
TIED = [["a", ["b", "c"]], [["d", "b"], "a"], ["c"], [["a", "b", "c"]], ["b", "c", "a", "d", "e"], [["e", "a"]]]
WEIGHT = [1.0, 2.0, 0.5, 3.0, 1.5, 0.25]


def rankings(lists=TIED, unranked="unknown", weight=None, **more):
    return Rankings.from_lists(lists, items=list(ITEMS), unranked=unranked, weight=weight, **more)


def drawn(rows=60, n=5, listed=3, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    scores = spread * np.linspace(1, -1, n)
    orders = np.argsort(-(scores + rng.gumbel(size=(rows, n))), axis=1)[:, :listed]
    return [[ITEMS[k] for k in order] for order in orders]


@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize("unranked", ["unknown", "below"])
def test_who_was_chosen_is_counted_where_there_was_a_choice(unranked, weight):
    """By Efron a tie of t items is t choices; the last alone of what is left is none."""
    loss = ListLoss(rankings(unranked=unranked, weight=weight))
    expected = dict.fromkeys(ITEMS, 0.0)
    sets, by_row = dict.fromkeys(ITEMS, 0.0), np.zeros((len(TIED), 5 + 2))
    sizes = {2: 0.0, 3: 0.0}
    for row, ranking in enumerate(TIED):
        w = 1.0 if weight is None else weight[row]
        listed = sum(len(place) for place in ranking)
        left = 5 if unranked == "below" else listed
        for place in ranking:
            for item in place:
                if left > 1:  # something else is left, or others share the place
                    expected[item] += w
                    sets[item] += w / len(place)
                    by_row[row, ITEMS.index(item)] += w / len(place)
            if len(place) > 1:
                sizes[len(place)] += w
                by_row[row, 5 + (len(place) == 3)] += w
            left -= len(place)
    assert_allclose(loss.chosen, [expected[item] for item in ITEMS])
    own = ListLoss(rankings(unranked=unranked, weight=weight), davidson=True)
    assert own.orders.tolist() == [1, 2, 3]
    assert_allclose(own._won, [*(sets[item] for item in ITEMS), sizes[2], sizes[3]])
    assert_allclose(own._won_by_row(), by_row)
    assert_allclose(ListLoss(rankings(unranked=unranked), weight=np.full(6, 2.0)).weight, 2.0)


def test_sizes_of_ties_are_those_that_occur():
    assert _tie_sizes(rankings()) == [2, 3]
    assert _tie_sizes(rankings([["a", "b"], ["b", "c"]])) == []
    assert ListLoss(rankings([["a", "b"]]), davidson=True).orders.tolist() == [1]
    assert not ListLoss(rankings(), davidson=False).davidson
    assert ListLoss(rankings(), davidson=True).extras == 2


def test_a_tie_of_twelve_is_an_outcome_and_one_of_thirteen_is_not():
    names = [str(k) for k in range(14)]
    for size, held in ((12, True), (13, False)):
        r = Rankings.from_lists([[names[:size], names[13]], [names[13], names[:size]]], unranked="unknown")
        if held:
            assert ListLoss(r, davidson=True).orders.tolist() == [1, 12]
        else:
            with pytest.raises(InputError, match="13 items share a place, more than 12"):
                ListLoss(r, davidson=True)


def test_values_are_kept_for_the_place_they_were_asked_for(monkeypatch):
    loss = ListLoss(rankings(), davidson=True)
    scores, extras = np.linspace(0.5, -0.5, 5), np.array([-0.5, 0.3])
    value, gradient = loss.value(scores, extras)
    gradient += 99.0  # the copy of a caller
    asked = []
    real = loss._value
    monkeypatch.setattr(loss, "_value", lambda *at: asked.append(at) or real(*at))
    assert loss.value(scores.copy(), extras.copy())[0] == value
    assert loss.value(scores, extras)[1].max() < 50
    assert asked == []
    assert loss.value(scores, extras + 0.1)[0] != value
    assert loss.value(scores + 0.1 * np.eye(5)[0], extras)[0] != value
    assert len(asked) == 2
    moved = scores.copy()
    before = loss.value(moved, extras)[0]
    moved += np.arange(5)
    assert loss.value(moved, extras)[0] != before, "a caller's array may change"


def test_the_start_is_near_the_optimum_and_finite_for_everybody():
    r = rankings(drawn(200, listed=2), "below", np.full(200, 1e-6))
    loss = ListLoss(r)
    scores, extras = loss.start()
    best = maximise(loss, 1e-9, tol=1e-8, max_iter=99).scores
    assert abs(scores.mean()) < 1e-12
    assert len(extras) == 0
    assert np.abs(scores - best + best.mean()).max() < 0.25
    never = ListLoss(rankings([["a", "b"]] * 9, "below"))
    assert np.isfinite(never.start()[0]).all()
    assert ListLoss(rankings(), davidson=True).start()[1].tolist() == [-1.0, -1.0]


@pytest.mark.parametrize(
    ("listed", "each", "davidson", "large"),
    [(180, 36, 0, False), (179, 36, 0, False), (179, 35, 0, True), (180, 35, 0, False), (179, 35, 1, False)],
)
def test_rankings_are_many_by_items_listed_and_each_item(listed, each, davidson, large, monkeypatch):
    lists = drawn(60)  # 180 listed, 36 for each of five items
    if davidson:
        lists[0] = [[*lists[0][:2]], lists[0][2]]
    monkeypatch.setattr(choices, "MANY_LISTED", listed)
    monkeypatch.setattr(choices, "MANY_EACH", each)
    assert ListLoss(rankings(lists, "below"), davidson=bool(davidson)).is_large == large


# ---- searches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("precision", [0.0, 0.4])
def test_a_search_ends_within_what_was_asked_and_says_how(precision, large, monkeypatch):
    if large:
        monkeypatch.setattr(choices, "MANY_LISTED", 10)
        monkeypatch.setattr(choices, "MANY_EACH", 1)
    loss = ListLoss(rankings(drawn(), "below"))
    found = maximise(loss, precision, tol=1e-8, max_iter=50)
    gradient = loss.value(found.scores, found.extras)[1] + precision * found.scores
    assert found.converged
    assert_allclose(gradient, 0.0, atol=1e-6)
    assert (found.solve is not None) == large
    assert abs(found.scores.mean()) < 1e-6
    assert found.left <= 1e-3
    again = maximise(loss, precision, tol=1e-4, max_iter=50, scores=found.scores, extras=found.extras)
    assert (again.n_iter, again.converged) == (1, True)
    short = maximise(loss, precision, tol=1e-12, max_iter=1, scores=np.linspace(-2, 2, 5), extras=found.extras)
    assert (short.n_iter, short.converged) == (1, False)
    assert short.left > 0.1
    far = maximise(loss, precision, tol=1e-8, max_iter=99, scores=np.array([-8.0, 8, 4, -4, 0]), extras=found.extras)
    assert_allclose(far.scores - far.scores.mean(), found.scores - found.scores.mean(), atol=1e-5)


def test_no_score_moves_by_more_than_four_in_a_step():
    loss = ListLoss(rankings(drawn(), "below"))
    start = np.array([-30.0, 30.0, 0.0, 0.0, 0.0])
    found = maximise(loss, 0.4, tol=1e-8, max_iter=1, scores=start, extras=np.empty(0))
    assert 0 < np.abs(found.scores - start).max() <= 4.0 + 1e-9
    assert found.left > 4.0


def test_an_old_hessian_is_used_until_steps_no_longer_shrink(monkeypatch):
    monkeypatch.setattr(choices, "MANY_LISTED", 10)
    monkeypatch.setattr(choices, "MANY_EACH", 1)
    loss = ListLoss(rankings(drawn(200), "below"))
    best = maximise(loss, 0.4, tol=1e-10, max_iter=50)
    made = []
    real = choices.positive_solver
    monkeypatch.setattr(choices, "positive_solver", lambda matrix: made.append(1) or real(matrix))
    near = maximise(
        loss, 0.4, tol=1e-10, max_iter=50, scores=best.scores + 0.01 * np.array([1, -1, 1, -1, 0]), extras=best.extras,
        solve=best.solve,
    )  # fmt: skip
    assert near.converged
    assert made == []
    assert_allclose(near.scores, best.scores, atol=1e-8)
    slow = maximise(
        loss, 0.4, tol=1e-10, max_iter=50, scores=best.scores + 0.01 * np.array([1, -1, 1, -1, 0]), extras=best.extras,
        solve=lambda gradient: 0.5 * best.solve(gradient),
    )  # fmt: skip
    assert slow.converged
    assert made
    assert_allclose(slow.scores, best.scores, atol=1e-8)


def test_a_step_too_far_is_halved_and_one_uphill_is_none():
    loss = ListLoss(rankings(drawn(), "below"))
    best = maximise(loss, 0.4, tol=1e-10, max_iter=50)
    start = best.scores + 0.05 * np.array([1.0, -1.0, 0.5, -0.5, 0.0])
    hessian = loss.place(start, np.empty(0)).hessian() + 0.4 * np.eye(5)
    gradient = loss.value(start, np.empty(0))[1] + 0.4 * start
    newton = -np.linalg.solve(hessian, gradient)
    options = {"tol": 1e-12, "max_iter": 1, "scores": start, "extras": np.empty(0)}
    for times, taken in ((1.0, 1.0), (1.7, 1.7), (3.5, 1.75), (7.0, 1.75)):
        found = maximise(loss, 0.4, **options, solve=lambda g, times=times: times * np.linalg.solve(hessian, g))
        assert_allclose(found.scores, start + taken * newton)
        assert found.left == pytest.approx(times * np.abs(newton).max())
    up = maximise(loss, 0.4, **options, solve=lambda g: -np.linalg.solve(hessian, g))
    assert up.scores.tolist() == start.tolist()
    assert (up.n_iter, up.converged, up.solve) == (1, False, None)
    near = maximise(loss, 0.4, **options | {"tol": 1.0}, solve=lambda g: -np.linalg.solve(hessian, g))
    assert near.converged, "within the root of what was asked for"
    assert ListLoss(rankings([["a", "b"]]), davidson=True)._won.tolist() == [1.0, 0.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize("davidson", [False, True])
def test_the_spread_has_the_largest_evidence(davidson):
    lists = drawn(40, listed=4)
    if davidson:
        lists = [[a, [b, c], d] if k % 4 == 0 else [a, b, c, d] for k, (a, b, c, d) in enumerate(lists)]
    loss = ListLoss(rankings(lists, "below"), davidson=davidson)
    sd, near = choose_sd(loss, max_iter=99)

    def evidence(x):
        ridge = math.exp(-2 * x)
        found = maximise(loss, ridge, tol=1e-9, max_iter=99)
        hessian = loss.place(found.scores, found.extras).hessian() + ridge * np.diag([1.0] * 5 + [0.0] * loss.extras)
        value = loss.value(found.scores, found.extras)[0] + 0.5 * ridge * found.scores @ found.scores
        more = loss.second_order(found.scores, np.linalg.inv(hessian)[:5, :5])
        expected = -value - 0.5 * np.linalg.slogdet(hessian)[1] - 5 * x - 0.5 * x * x + more
        assert _evidence(loss, found, ridge, x) == pytest.approx(expected, abs=1e-6)
        return expected

    x = math.log(sd)
    low, here, high = evidence(x - 0.02), evidence(x), evidence(x + 0.02)
    assert here > max(low, high)
    assert abs(high - low) / (2 * here - low - high) < 0.1  # the top of a parabola
    fitted = maximise(loss, sd**-2, tol=1e-8, max_iter=99)
    assert_allclose(near.scores, fitted.scores, atol=1e-3)
    assert (loss.second_order(fitted.scores, np.eye(5)) == 0.0) == davidson


def test_beyond_many_items_the_evidence_has_no_terms_of_second_order(monkeypatch):
    loss = ListLoss(rankings(drawn(), "below"))
    found = maximise(loss, 1.0, tol=1e-9, max_iter=99)
    whole = _evidence(loss, found, 1.0, 0.0)
    hessian = loss.place(found.scores, found.extras).hessian() + np.eye(5)
    more = loss.second_order(found.scores, np.linalg.inv(hessian))
    assert abs(more) > 1e-4
    monkeypatch.setattr(choices, "MAX_EXACT_ITEMS", 4)
    assert _evidence(loss, found, 1.0, 0.0) == pytest.approx(whole - more)
    rough = choose_sd(loss, max_iter=99)[0]
    monkeypatch.undo()
    assert math.log(rough / choose_sd(loss, max_iter=99)[0]) == pytest.approx(0.0, abs=0.15)
    work = sum(3 * 5 for _ in range(60))
    monkeypatch.setattr(choices, "MAX_SECOND_ORDER_WORK", work)
    assert loss.second_order(found.scores, np.linalg.inv(hessian)) == more
    monkeypatch.setattr(choices, "MAX_SECOND_ORDER_WORK", work - 1)
    assert loss.second_order(found.scores, np.linalg.inv(hessian)) == 0.0


@pytest.mark.parametrize("thinned", [False, True])
def test_of_very_many_rankings_the_spread_solves_its_equation(thinned, monkeypatch):
    """(n + log s)·s² = ‖u‖² + tr V, with V each score's own variance and s² for what is added to all."""
    monkeypatch.setattr(choices, "MANY_LISTED", 10)
    monkeypatch.setattr(choices, "MANY_EACH", 1)
    monkeypatch.setattr(choices, "FIRST_RANKINGS", 100 if thinned else 10_000)
    loss = ListLoss(rankings(drawn(600, spread=2.0), "below"))
    sd, found = choose_sd(loss, max_iter=99)
    fitted = maximise(loss, sd**-2, tol=1e-9, max_iter=99)
    trace = sd**2 + np.sum(1.0 / (loss.chosen + sd**-2))
    right = fitted.scores @ fitted.scores + trace
    assert (5 + math.log(sd)) * sd**2 == pytest.approx(right, rel=2 * 0.1 / math.sqrt(10))
    # 0.1/√(2n) of log s is where the search ends; the inner equation is solved at the scores that it returns
    inner = found.scores @ found.scores + trace
    assert (5 + math.log(sd)) * sd**2 == pytest.approx(inner, rel=1e-3)
    assert_allclose(found.scores, fitted.scores, atol=0.05)


# ---- comparisons as rankings ----------------------------------------------------------------------------------------


def votes(**more):
    rng = np.random.default_rng(2)
    left = rng.integers(0, 4, 50)
    right = (left + rng.integers(1, 4, 50)) % 4
    return Comparisons.from_arrays(
        left, right, tie=rng.random(50) < 0.3, weight=rng.choice([0.5, 1.0, 2.0], 50), items=list("abcd"), **more
    )


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("judged", [False, True])
def test_votes_become_rankings_of_two(half, judged):
    c = votes(judge=[f"j{k % 7}" for k in range(50)], group=[k % 3 for k in range(50)]) if judged else votes()
    data = _Data(None, c, half=half)
    r = data.lists
    won, tied, squares = {}, {}, 0.0
    for a, b, y, w in zip(c.left, c.right, c.outcome, c.weight, strict=True):
        if y == 0:
            for pair in ((a, b), (b, a)):
                tied[pair] = tied.get(pair, 0.0) + w
        else:
            won[a, b] = won.get((a, b), 0.0) + w
        squares += w * w
    found, level = {}, {}
    for k in range(len(r)):
        one, other = (int(item) for item in r.item[r.start[k] : r.start[k + 1]])
        if r.tied is not None and r.tied[r.start[k] + 1]:
            for pair in ((one, other), (other, one)):
                level[pair] = level.get(pair, 0.0) + r.weights[k]
        else:
            found[one, other] = found.get((one, other), 0.0) + r.weights[k]
    if half:
        assert r.tied is None
        whole = {pair: won.get(pair, 0.0) + 0.5 * tied.get(pair, 0.0) for pair in won.keys() | tied.keys()}
        assert found == pytest.approx(whole)
    else:
        assert found == pytest.approx(won)
        assert level == pytest.approx(tied)
    assert data.squares.sum() == pytest.approx(squares)
    assert data.worth == pytest.approx(c.weight.sum() / squares)
    assert set(data.clusters) == ({"judge", "group"} if judged else set())
    if judged:
        assert len(data.squares) == 50
        assert data.clusters["judge"].tolist() == c.judge.tolist()
        assert data.clusters["group"].tolist() == c.group.tolist()
        for k in range(len(r)):
            ends = set(r.item[r.start[k] : r.start[k + 1]].tolist())
            assert ends == {int(c.left[data.rows[k]]), int(c.right[data.rows[k]])}
    assert data.record()[0].tolist() == c.record()[0].tolist()


def test_votes_of_weight_nothing_are_left_out_and_counts_are_worth_one():
    c = Comparisons.from_arrays(["a", "b", "a"], ["b", "a", "b"], weight=[1.0, 0.0, 3.0], judge=["x", "y", "y"])
    data = _Data(None, c, half=True)
    assert data.lists.weights.tolist() == [1.0, 3.0]
    assert data.clusters["judge"].tolist() == [0, 1]
    assert data.squares.tolist() == [1.0, 9.0]
    assert _Data(None, Comparisons.from_pairs([("a", "b"), ("b", "a")]), half=True).worth == 1.0
    lists = rankings(drawn(6), "below", WEIGHT, judge=[0, 0, 1, 1, 2, 2], group=[0, 1, 0, 1, 0, 1])
    own = _Data(lists, None)
    assert own.worth == pytest.approx(sum(WEIGHT) / sum(w * w for w in WEIGHT))
    assert own.squares.tolist() == [w * w for w in WEIGHT]
    assert own.clusters["ranking"].tolist() == list(range(6))
    assert set(own.clusters) == {"ranking", "judge", "group"}
    assert _Data(rankings(drawn(6), "below"), None).worth == 1.0
    assert own.record()[0].tolist() == lists.record()[0].tolist()


@pytest.mark.parametrize(
    ("lists", "unranked", "only"),
    [([[["a", "b"]], [["c", "d"]]], "unknown", True), ([[["a", "b"]], [["c", "d"], "a"]], "unknown", False),
     ([[["a", "b"]]], "below", False), ([["a", "b"]], "unknown", False)],
)  # fmt: skip
def test_rankings_hold_ties_only_where_no_item_is_before_another(lists, unranked, only):
    assert _ties_only(rankings(lists, unranked)) == only


# ---- simulation -----------------------------------------------------------------------------------------------------


def test_pearsons_statistic_is_that_of_a_plain_count():
    lists = drawn(30)
    r, scores = rankings(lists, "below"), np.array([0.5, 0.2, 0.0, -0.3, -0.4])
    total = 0.0
    for i in range(5):
        for j in range(i + 1, 5):
            met = [order for order in lists if ITEMS[i] in order or ITEMS[j] in order]
            won = sum(
                (*order, ITEMS[j], ITEMS[i]).index(ITEMS[i]) < (*order, ITEMS[j]).index(ITEMS[j]) for order in met
            )
            chance = 1 / (1 + math.exp(scores[j] - scores[i]))
            total += (won - len(met) * chance) ** 2 / (len(met) * chance * (1 - chance))
    assert _pearson(r, scores) == pytest.approx(total)


@pytest.mark.parametrize("kind", ["below", "unknown", "offered"])
def test_simulated_rankings_have_the_sizes_offers_and_chances_of_the_model(kind):
    scores = np.array([1.0, 0.5, 0.0, -0.5, -1.0])
    offered = [["a", "b", "c"], ["c", "d", "e", "a"], ["b", "e"]] * 400
    lists = [each[:2] if k % 3 != 2 else each[:1] for k, each in enumerate(offered)]
    more = {"offered": offered} if kind == "offered" else {}
    r = rankings(lists, "unknown" if kind == "unknown" else "below", **more)
    found = _simulated(r, scores, np.random.default_rng(1))
    assert found.sizes.tolist() == r.sizes.tolist()
    assert found.items == r.items
    first = {0: {}, 1: {}, 2: {}}
    for k in range(len(found)):
        listed = found.item[found.start[k] : found.start[k + 1]].tolist()
        under = [] if found.rest is None else found.rest[found.rest_start[k] : found.rest_start[k + 1]].tolist()
        assert len({*listed, *under}) == len(listed) + len(under)
        if kind == "offered":
            assert {ITEMS[i] for i in listed + under} == set(offered[k])
        if kind == "unknown":
            assert {ITEMS[i] for i in listed} == set(lists[k])
        first[k % 3][listed[0]] = first[k % 3].get(listed[0], 0) + 1
    for which, counts in first.items():
        among = {"below": ITEMS, "unknown": lists[which], "offered": offered[which]}[kind]
        strength = {ITEMS.index(item): math.exp(scores[ITEMS.index(item)]) for item in among}
        for item, each in strength.items():
            chance = each / sum(strength.values())
            assert counts.get(item, 0) / 400 == pytest.approx(
                chance, abs=4 * math.sqrt(chance * (1 - chance) / 400) + 1e-9
            )


def test_a_p_value_counts_simulations_with_a_statistic_as_large(monkeypatch):
    model = PlackettLuce(l2=0.3).fit(rankings(drawn(30), "below"))
    sizes = iter([5.0, 4.0, 5.0, 6.0, 4.999])
    monkeypatch.setattr(plackett_luce, "_pearson", lambda *_: next(sizes))
    found = model.goodness_of_fit(replicates=4)
    assert (found.statistic, found.p_value, found.replicates, found.pairs) == (5.0, (1 + 2) / 5, 4, 10)


def test_simulated_rankings_are_fitted_again_at_the_penalty_found():
    r = rankings(drawn(30), "below")
    features = np.random.default_rng(3).normal(size=(5, 1))
    plain, featured = PlackettLuce(l2=0.3).fit(r), PlackettLuce(l2=0.3, feature_penalty=0.2).fit(r, features)
    again = rankings(drawn(30, seed=5), "below")
    assert_allclose(
        plain._fitted_again(again, plain.ranking_.scores), PlackettLuce(l2=0.3).fit(again).ranking_.scores, atol=2e-3
    )
    other = PlackettLuce(l2=0.3, feature_penalty=0.2).fit(again, features).ranking_.scores
    found = featured._fitted_again(again, featured.ranking_.scores)
    assert_allclose(found - found.mean(), other - other.mean(), atol=2e-3)


# ---- what it says ---------------------------------------------------------------------------------------------------


def test_the_likelihood_alone_is_asked_where_it_bounds_scores(monkeypatch):
    """No penalty where all scores are bounded, next to none where some are, more where that has no end."""
    asked = []

    def kept(loss, precision, **more):
        asked.append(precision)
        return maximise(loss, precision, **more)

    monkeypatch.setattr(plackett_luce, "maximise", kept)
    whole = partial(lambda found, ridge: (found, ridge))
    bounded = PlackettLuce().fit(rankings(drawn(60), "below"))
    loss = ListLoss(rankings(drawn(60), "below"))
    near = maximise(loss, 1.0, tol=1e-6, max_iter=99)
    asked.clear()
    found, ridge = bounded._likelihood(whole, loss, near, 2.0)
    assert (ridge, asked) == (0.0, [0.0])
    assert_allclose(loss.value(found.scores, found.extras)[1], 0.0, atol=1e-4)
    some = [*drawn(60), ["e"]]
    loose = ListLoss(Rankings.from_lists(some, items=[*ITEMS, "never"], unranked="below"))
    near = maximise(loose, 1.0, tol=1e-6, max_iter=99)
    asked.clear()
    least = 2.0 * plackett_luce.LEAST_L2 / 2.0
    assert bounded._likelihood(whole, loose, near, 2.0)[1] == asked[0] == least
    asked.clear()
    bounded.max_iter = 1
    bounded.tol = 1e-12
    assert bounded._likelihood(whole, loose, near, 2.0) == (near, 2.0 * bounded.l2_)
    assert asked == [least, 2.0 * 1e-3 / 2.0]
    none = ListLoss(rankings([["a", "b", "c", "d", "e"]]))
    near = maximise(none, 1.0, tol=1e-6, max_iter=99)
    asked.clear()
    assert bounded._likelihood(whole, none, near, 1.0) == (near, 2.0 * bounded.l2_)
    assert asked == []


def test_too_few_steps_say_what_to_raise():
    with pytest.raises(
        ConvergenceError, match=r"no optimum in 1 steps: the last moved a score by .*; raise l2=, now 0.01"
    ):
        PlackettLuce(l2=0.01, max_iter=1, tol=1e-12).fit(rankings(drawn(30), "below"))


def test_scores_of_whole_rankings_are_means_over_their_weights():
    model = PlackettLuce(l2=0.1, ties="davidson").fit(rankings(TIED * 3))
    some = rankings(TIED[:2], weight=[1.0, 3.0])
    loss = ListLoss(some, davidson=True)
    extras = np.log([model.tie_strengths_[2]])
    assert model.score(some) == pytest.approx(-loss.value(model.ranking_.scores, extras)[0] / 4.0)
    stranger = Rankings.from_lists([["new", "a"]], items=["new", "a"])
    gap = model.ranking_.scores.mean() - model.ranking_.score("a")
    assert model.score(stranger) == pytest.approx(-math.log1p(math.exp(-gap)))


def test_chances_allow_for_how_well_scores_are_known():
    lists = [[a, [b, c]] if k % 3 == 0 else [a, b, c] for k, (a, b, c) in enumerate(drawn(40))]
    with thin_data():
        model = PlackettLuce(ties="davidson").fit(rankings(lists, "below"))
    asked = Comparisons.from_arrays(["a", "a", "new", "c"], ["e", "b", "d", "new"])
    variance = model._margin_variance(asked)
    places = [[ITEMS.index(item) for item in pair] for pair in (("a", "e"), ("a", "b"))]
    known = model.ranking_.difference_variance(*np.array(places).T)
    assert_allclose(variance, [*known, 0.0, 0.0])
    z = np.linspace(-8, 8, 4001)
    mass = np.exp(-(z**2) / 2)
    for row in range(3):
        margin = model._margins(asked)[row] + math.sqrt(variance[row]) * z
        parts = np.exp(margin / 2), np.full(len(z), model.tie_strength_), np.exp(-margin / 2)
        expected = [mass @ (part / sum(parts)) / mass.sum() for part in parts]
        assert_allclose(model.predict_proba(asked)[row], expected, atol=1e-5)
    given = PlackettLuce(l2=0.5).fit(rankings(drawn(40), "below"))
    assert given._margin_variance(asked).tolist() == [0.0] * 4
    gap = given.ranking_.score("a") - given.ranking_.score("e")
    assert given.predict_proba(asked)[0].tolist() == pytest.approx(
        [1 / (1 + math.exp(-gap)), 0, 1 / (1 + math.exp(gap))]
    )
