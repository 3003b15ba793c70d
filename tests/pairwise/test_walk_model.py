"""Votes over time as rows between nodes, and covariances at any time: against loops and dense algebra."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import Comparisons, DynamicBradleyTerry
from podium.errors import InputError
from podium.pairwise._fit import walk_model, walk_posterior
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.walk_model import (
    Held,
    WalkFeatures,
    WalkModel,
    by_day,
    history_of,
    joined_history,
    with_items,
    written_out,
)
from podium.pairwise._fit.walk_posterior import WalkPosterior
from podium.pairwise._fit.walk_search import Search, Spreads

NAMES = tuple("abcd")


def votes(sided=True, m=40, seed=0, ties=True, time=None):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 4, m).astype(np.int32)
    right = ((left + rng.integers(1, 4, m)) % 4).astype(np.int32)
    outcome = rng.choice([-1, 0, 1] if ties else [-1, 1], m).astype(np.int8)
    time = rng.integers(0, 5, m) * 0.75 if time is None else time
    return Comparisons(
        NAMES, left, right, outcome=outcome, sided=sided, time=time, weight=rng.choice([0.5, 1.0, 2.0], m)
    )


# ---- histories ------------------------------------------------------------------------------------------------------


def test_dates_count_by_whole_days_and_numbers_as_they_are():
    time = np.array([1.25, -0.5, 3.0])
    assert by_day(time, "date").tolist() == [1.0, -1.0, 3.0]
    assert by_day(time, "number").tolist() == time.tolist()


@pytest.mark.parametrize("sided", [True, False])
def test_a_history_counts_each_pair_at_each_time(sided):
    c = votes(sided)
    counts = {}
    for left, right, outcome, time, weight in zip(c.left, c.right, c.outcome, c.time, c.weight, strict=True):
        if not sided and left > right:
            left, right, outcome = right, left, -outcome
        row = counts.setdefault((left, right, time), [0.0, 0.0, 0.0])
        row[{1: 0, -1: 1, 0: 2}[int(outcome)]] += weight
    found = history_of(c)
    assert found["items"] == NAMES
    keys = list(zip(found["left"], found["right"], found["time"], strict=True))
    assert keys == sorted(counts)
    assert_allclose(np.column_stack([found["wins"], found["losses"], found["ties"]]), [counts[key] for key in keys])


def test_histories_are_joined_by_label():
    one = history_of(votes())
    two = history_of(Comparisons.from_arrays(["d", "new"], ["new", "a"], time=[9.0, 9.5]))
    both = joined_history(one, two)
    assert both["items"] == (*NAMES, "new")
    for name in ("time", "wins", "losses", "ties"):
        assert both[name].tolist() == [*one[name], *two[name]]
    named = [(both["items"][i], both["items"][j]) for i, j in zip(both["left"], both["right"], strict=True)]
    assert named[-2:] == [(two["items"][i], two["items"][j]) for i, j in zip(two["left"], two["right"], strict=True)]
    assert named[:-2] == [(NAMES[i], NAMES[j]) for i, j in zip(one["left"], one["right"], strict=True)]
    more = with_items(one, (*NAMES, "x"))
    assert more["items"] == (*NAMES, "x")
    assert more["left"] is one["left"]


# ---- features -------------------------------------------------------------------------------------------------------


def test_features_are_scaled_by_the_items_with_votes():
    history = with_items(history_of(votes()), (*NAMES, "new"))
    table = np.random.default_rng(1).normal(3.0, 2.0, (5, 2))
    found = WalkFeatures(history, table, True)
    assert found.seen.tolist() == [True] * 4 + [False]
    expected = (table - table[:4].mean(axis=0)) / table[:4].std(axis=0)
    assert_allclose(found.matrix, expected)
    assert found.prior_centre == pytest.approx(-0.5 * math.log(2.0))  # two columns of variance 1
    plain = WalkFeatures(history, table, False)
    assert plain.prior_centre == pytest.approx(-0.5 * math.log(plain.matrix[:4].var(axis=0).sum()))
    assert plain.prior_centre == pytest.approx(-0.5 * math.log(table[:4].var(axis=0).sum()))


def test_too_many_values_of_features_are_refused(monkeypatch):
    history = history_of(votes())
    rows, table = len(history["left"]), np.random.default_rng(1).normal(size=(4, 2))
    monkeypatch.setattr(walk_model, "MAX_DESIGN", 2 * rows)
    WalkFeatures(history, table, True)
    written_out(table)
    monkeypatch.setattr(walk_model, "MAX_DESIGN", 2 * rows - 1)
    with pytest.raises(InputError, match=rf"{rows} pairs at their times and 2 features are too many.*{2 * rows - 1}"):
        WalkFeatures(history, table, True)
    monkeypatch.setattr(walk_model, "MAX_DESIGN", 7)
    with pytest.raises(InputError, match="features: 4 items and 2 features are too many"):
        written_out(table)
    monkeypatch.setattr(walk_model, "MAX_DESIGN", 8)
    assert written_out(table).tolist() == table.tolist()


# ---- the model ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("held", [None, Held(0.4, 0.01)])
@pytest.mark.parametrize("side", [True, False])
@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize("still", [True, False])
def test_rows_of_a_model_lose_nothing(still, ties, side, held):
    if held is not None and not side:
        held = None
    history = with_items(history_of(votes()), (*NAMES, "new"))
    table = np.random.default_rng(1).normal(size=(5, 2))
    features = WalkFeatures(history, table, True)
    model = WalkModel(history, ties, side, still, features, held)
    first = [min(t for i, j, t in zip(*(history[k] for k in ("left", "right", "time")), strict=True) if k in (i, j))
             for k in range(4)]  # fmt: skip
    assert model.since.tolist() == [*first, history["time"].max()]
    assert (model.n, model.weights, model.still, model.side_effect) == (5, 2, still, side)
    assert model.effects == 2 + side + (ties == "davidson")
    assert len(model.walks) == (
        5
        if still
        else 1 + len({(i, t) for s in ("left", "right") for i, t in zip(history[s], history["time"], strict=True)})
    )
    item = model.walks.item
    expected, found = {}, {}
    for k in range(len(history["left"])):
        i, j, t = history["left"][k], history["right"][k], history["time"][k]
        key = (i, j) if still else (i, j, t)
        total = expected.setdefault(key, np.zeros(3))
        total += [history[name][k] for name in ("wins", "losses", "ties")]
    rows, loss = model.rows, model.loss
    if ties == "davidson":
        assert isinstance(loss, DavidsonRows)
        values = np.column_stack([loss.wins, loss.losses, loss.ties])
    else:
        assert isinstance(loss, LogisticRows)
        values = np.column_stack([loss.points, loss.total])
    for a, b, each in zip(rows.left, rows.right, values, strict=True):
        key = (item[a], item[b]) if still else (item[a], item[b], model.walks.time[a])
        found[key] = found.get(key, 0.0) + each
    for key, (wins, losses, tied) in expected.items():
        assert_allclose(
            found[key], [wins, losses, tied] if ties == "davidson" else [wins + tied / 2, wins + losses + tied]
        )
    assert found.keys() == expected.keys()
    design = features.matrix[item[rows.left]] - features.matrix[item[rows.right]]
    full = np.column_stack([design, np.ones(len(design))]) if side else design
    assert_allclose(model.whole.design, full)
    assert_allclose(rows.design, design if held else full)
    assert rows.offset is None if held is None else rows.offset.tolist() == [0.4] * len(design)
    precision = model.precision(0.3, 0.8, 0.5)
    assert precision.effects.tolist() == [4.0, 4.0] + [0.0] * (model.effects - 2 - (held is not None))
    extras = np.arange(1.0, model.effects + 1)
    assert model.searched(extras).tolist() == [x for k, x in enumerate(extras, start=1) if not (held and k == 3)]


def test_without_features_or_ties_there_are_no_effects():
    model = WalkModel(history_of(votes(ties=False)), "davidson", False, False, None)
    assert isinstance(model.loss, LogisticRows)
    assert (model.effects, model.weights, model.prior_centre) == (0, 0, 0.0)
    assert model.rows.design is None
    only_held = WalkModel(history_of(votes()), "half", True, False, None, Held(0.4, 0.01))
    assert only_held.rows.design is None
    assert only_held.whole.design.tolist() == [[1.0]] * len(only_held.rows.left)


def test_all_effects_hold_what_was_held():
    history = history_of(votes())
    features = WalkFeatures(history, np.random.default_rng(1).normal(size=(4, 2)), True)
    model = WalkModel(history, "davidson", True, False, features, Held(0.4, 0.01))
    search = Search(model, 3.0, 1e-8, 50)
    found = search.fit(Spreads(0.3, 0.8, 0.5))
    whole = model.all_effects(found)
    assert whole.point.extras.tolist() == [*found.point.extras[:2], 0.4, found.point.extras[2]]
    assert whole.precision.effects.tolist() == [4.0, 4.0, 0.0, 0.0]
    assert (whole.n_iter, whole.converged) == (found.n_iter, found.converged)
    assert whole.point.objective == pytest.approx(found.point.objective)
    kept = [0, 1, 3]
    assert_allclose(whole.point.corner[np.ix_(kept, kept)], found.point.corner)
    assert_allclose(whole.point.border[:, kept], found.point.border)
    free = WalkModel(history, "davidson", True, False, features)
    assert free.all_effects(found) is found
    assert free.searched(whole.point.extras) is whole.point.extras


# ---- the posterior --------------------------------------------------------------------------------------------------


DRIFT, SD, WEIGHT = 0.3, 0.8, 0.5


def fitted(held=None, ties="davidson", side=True, drift=DRIFT):
    history = with_items(history_of(votes()), (*NAMES, "new"))
    features = WalkFeatures(history, np.random.default_rng(1).normal(size=(5, 2)), True)
    model = WalkModel(history, ties, side, False, features, held)
    found = Search(model, 3.0, 1e-10, 50).fit(Spreads(drift, SD, WEIGHT))
    return WalkPosterior(model, found, drift, SD)


def dense(posterior):
    """Covariance of all nodes and effects."""
    point, walks = posterior.point, posterior.model.walks
    n = len(walks)
    matrix = np.zeros((n, n))
    for k in range(n):
        if k in walks.first:
            matrix[k, k] += 1 / SD**2
        else:
            step = np.eye(n)[k] - np.eye(n)[k - 1]
            matrix += np.outer(step, step) / (posterior.drift**2 * (walks.time[k] - walks.time[k - 1]))
    for a, b, c in zip(posterior.model.rows.left, posterior.model.rows.right, point.curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    hessian = np.block([[matrix, point.border], [point.border.T, point.corner]])
    held = posterior.model.held
    if held is not None:  # known as well as was found without the prior
        covariance = np.linalg.inv(hessian)
        side = n + posterior.model.weights
        hessian[side, side] += 1 / held.variance - 1 / covariance[side, side]
    return np.linalg.inv(hessian)


ASKED = [(0, 3.0), (1, 1.1), (2, 4.5), (3, 3.0), (4, 3.0), (-1, 3.0), (0, -2.0), (1, 6.0)]


def loads_of(posterior, asked):
    """What each score is made of: nodes and effects, its mean, and the variance that is its own."""
    walks, n = posterior.model.walks, len(posterior.model.walks)
    loads, free = np.zeros((len(asked), n + posterior.model.effects)), np.zeros(len(asked))
    for row, (item, at) in enumerate(asked):
        free[row] = SD**2
        if item < 0:
            continue
        loads[row, n : n + 2] = posterior.model.matrix[item]
        own = np.flatnonzero(walks.item == item)
        if at < walks.time[own[0]]:
            continue
        late = own[walks.time[own] > at]
        if not len(late):
            loads[row, own[-1]] = 1.0
            free[row] = posterior.drift**2 * (at - walks.time[own[-1]])
        else:
            before, after = walks.time[late[0] - 1], walks.time[late[0]]
            share = (at - before) / (after - before)
            loads[row, late[0] - 1], loads[row, late[0]] = 1 - share, share
            free[row] = posterior.drift**2 * share * (after - at)
    return loads, free


def points_of(posterior, asked):
    item, at = zip(*asked, strict=True)
    return posterior.points(np.array(item, dtype=np.int64), np.array(at))


@pytest.mark.parametrize("held", [None, Held(0.4, 0.02)])
def test_scores_and_covariances_are_those_of_dense_algebra(held, monkeypatch):
    posterior = fitted(held)
    covariance, points = dense(posterior), points_of(posterior, ASKED)
    loads, free = loads_of(posterior, ASKED)
    x = np.concatenate([posterior.point.scores, posterior.point.extras])
    n = len(posterior.model.walks)
    assert len(points) == len(ASKED)
    assert_allclose(posterior.scores(points), loads @ x, atol=1e-9)
    assert_allclose(posterior.walked(points), loads[:, :n] @ x[:n], atol=1e-9)
    assert_allclose(points.free, free, atol=1e-12)
    assert points.known.tolist() == [True, True, True, True, True, False, False, True]
    assert_allclose(posterior.effect_covariance(), covariance[n:, n:], rtol=1e-6, atol=1e-12)
    inner = posterior.covariance(posterior.contrasts(points), posterior.loadings(points))
    assert_allclose(inner, loads @ covariance @ loads.T, atol=1e-8)
    monkeypatch.setattr(walk_posterior, "COLUMNS_AT_ONCE", 3)
    again = posterior.covariance(posterior.contrasts(points), posterior.loadings(points))
    assert_allclose(again, inner, atol=1e-12)
    away = np.eye(len(ASKED)) - 1 / len(ASKED)
    spread = away @ (inner + np.diag(free)) @ away
    rows = np.array([0, 3, 5])
    assert_allclose(posterior.centred_variances(points, rows), spread.diagonal()[rows], atol=1e-8)
    assert posterior.centred_variances(points, rows[:0]).tolist() == []
    information = posterior.information(points)
    laplacian = np.zeros((8, 8))
    for a, b, pull in zip(information.left, information.right, information.curvature, strict=True):
        laplacian[[a, b, a, b], [a, b, b, a]] += [pull, pull, -pull, -pull]
    assert_allclose(np.linalg.pinv(laplacian), spread, atol=1e-6)
    assert_allclose(information.scores, loads @ x, atol=1e-9)


@pytest.mark.parametrize("sided", [True, False])
@pytest.mark.parametrize("side", [True, False])
def test_margins_share_what_their_items_share(side, sided, monkeypatch):
    posterior = fitted(side=side)
    covariance = dense(posterior)
    rows = [((0, 3.0), (1, 3.0)), ((0, 5.0), (2, 5.0)), ((0, 6.0), (1, 6.0)), ((-1, 3.0), (0, 3.0)),
            ((-1, 3.0), (-1, 3.0)), ((4, 3.0), (3, 3.0)), ((1, 6.0), (0, 5.0)), ((0, 3.0), (1, 3.0))]  # fmt: skip
    one, other = (points_of(posterior, side_of) for side_of in zip(*rows, strict=True))
    (a, free_a), (b, free_b) = (loads_of(posterior, side_of) for side_of in zip(*rows, strict=True))
    loads = a - b
    if side and sided:
        loads[:, len(posterior.model.walks) + 2] = 1.0
    x = np.concatenate([posterior.point.scores, posterior.point.extras])
    assert_allclose(posterior.margins(one, other, sided), loads @ x, atol=1e-9)
    variances = (loads @ covariance @ loads.T).diagonal() + free_a + free_b
    for at_once in (256, 2):
        monkeypatch.setattr(walk_posterior, "COLUMNS_AT_ONCE", at_once)
        assert_allclose(posterior.margin_variances(one, other, sided), variances, atol=1e-8)
    assert_allclose(posterior.margin_variances(one, other, sided, over_drifts=False), variances, atol=1e-8)
    together = loads @ covariance @ loads.T
    for p, (first, second) in enumerate(rows):
        for q, (third, fourth) in enumerate(rows):
            for mine, my_free, sign in ((first, free_a[p], 1), (second, free_b[p], -1)):
                for his, his_free, turn in ((third, free_a[q], 1), (fourth, free_b[q], -1)):
                    if mine[0] >= 0 and mine[0] == his[0]:  # a walk after the last node is shared until the earlier
                        together[p, q] += sign * turn * min(my_free, his_free)
            if p == q:
                together[p, p] += (first[0] < 0) * free_a[p] + (second[0] < 0) * free_b[p]
    assert_allclose(posterior.margin_covariance(one, other, sided), together, atol=1e-8)


def test_over_drifts_variances_are_means_with_how_far_the_scores_are():
    parts = [(0.3, fitted(drift=0.1)), (0.7, fitted(drift=0.6))]
    alone = fitted()
    whole = WalkPosterior(alone.model, alone.found, DRIFT, SD, lambda: parts)
    assert not len(alone.parts)
    one, other = points_of(whole, [(0, 5.0), (1, 3.0)]), points_of(whole, [(2, 5.0), (3, 1.0)])
    variance, matrix = np.zeros(2), np.zeros((2, 2))
    spread = np.zeros(3)
    every = points_of(whole, [(0, 5.0), (1, 5.0), (3, 5.0)])
    joint = np.zeros((3, 3))
    for share, part in parts:
        mine, his = points_of(part, [(0, 5.0), (1, 3.0)]), points_of(part, [(2, 5.0), (3, 1.0)])
        away = part.margins(mine, his, True) - whole.margins(one, other, True)
        variance += share * (part.margin_variances(mine, his, True) + away**2)
        matrix += share * (part.margin_covariance(mine, his, True) + np.outer(away, away))
        points = points_of(part, [(0, 5.0), (1, 5.0), (3, 5.0)])
        moved = part.scores(points) - whole.scores(every)
        spread += share * (part.centred_variances(points, np.arange(3)) + (moved - moved.mean()) ** 2)
        inner = part.covariance(part.contrasts(points), part.loadings(points)) + np.diag(points.free)
        joint += share * (inner + np.outer(moved, moved))
    assert_allclose(whole.margin_variances(one, other, True), variance)
    assert_allclose(whole.margin_covariance(one, other, True), matrix)
    assert_allclose(whole.centred_variances(every, np.arange(3)), spread)
    assert_allclose(
        whole.margin_variances(one, other, True, over_drifts=False), alone.margin_variances(one, other, True)
    )
    information = whole.information(every)
    away = np.eye(3) - 1 / 3
    laplacian = np.zeros((3, 3))
    for a, b, pull in zip(information.left, information.right, information.curvature, strict=True):
        laplacian[[a, b, a, b], [a, b, b, a]] += [pull, pull, -pull, -pull]
    assert_allclose(np.linalg.pinv(laplacian), away @ joint @ away, atol=1e-9)


def test_chances_that_may_truly_be_are_drawn_with_what_rows_share():
    c = votes()
    model = DynamicBradleyTerry(drift=0.3, sd=0.8, side_effect=True).fit(c)
    asked = Comparisons(NAMES, [0, 0, 2], [1, 1, 3], outcome=[0] * 3, sided=True, time=np.array([3.0, 9.0, 9.0]))
    covariance = model._margin_covariance(asked)
    assert_allclose(covariance.diagonal(), model._margin_errors(asked))
    drawn = model.draw_chances(asked, 4000, np.random.default_rng(0))
    margins = np.log(drawn[:, :, 0] / drawn[:, :, 2])
    assert_allclose(margins.mean(axis=0), model._margins(asked), atol=4 * np.sqrt(covariance.max() / 4000))
    assert_allclose(np.cov(margins.T), covariance, atol=0.12 * covariance.max())


# ---- the search -----------------------------------------------------------------------------------------------------


def searching(features=False, span=4.0, gaps=(0.0, 0.5, 2.0)):
    model = SimpleNamespace(
        weights=2 * features, prior_centre=0.3 if features else 0.0, walks=SimpleNamespace(gap=np.array(gaps)), n=3
    )
    return Search(model, span, 1e-6, 50)


def test_spreads_are_looked_for_between_bounds():
    bounds = searching(True)._bounds()
    assert_allclose(bounds["sd"], np.log([1e-3, 30.0]))
    assert_allclose(bounds["weight_sd"], 0.3 + np.log([1e-3, 30.0]))
    assert_allclose(bounds["drift"], np.log([1e-3 / 2.0, 10.0 / math.sqrt(0.5)]))
    assert_allclose(searching(gaps=(0.0, 0.0))._bounds()["drift"], np.log([1e-3 / 2, 10.0 / 2]))
    assert "drift" not in searching(span=0.0)._bounds()


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize(
    "asked", [Spreads(None, None, None), Spreads(0.4, None, None), Spreads(None, 1.5, 0.7), Spreads(0.4, 1.5, 0.7),
              Spreads(0.4, None, 0.7), Spreads(None, None, 0.7)],
)  # fmt: skip
def test_the_best_spreads_are_at_the_top_of_evidence_and_prior(asked, features, monkeypatch):
    search = searching(features)
    tops = {"drift": 0.25, "sd": 0.6, "weight_sd": 0.5}
    width = 0.3

    def evidence(at):
        names = ["drift", "sd", *(["weight_sd"] if features else [])]
        return -sum((math.log(getattr(at, name) / tops[name]) / width) ** 2 / 2 for name in names)

    monkeypatch.setattr(search, "evidence", evidence)
    found, value = search.best(asked)
    centre = {"sd": 0.0, "weight_sd": 0.3 if features else 0.0}
    total = 0.0
    for name in Spreads._fields:
        given = getattr(asked, name)
        if name == "weight_sd" and not features:
            assert found.weight_sd == 1.0
            continue
        if given is not None:
            assert getattr(found, name) == given
            log = math.log(given)
        elif name == "drift":
            log = math.log(tops["drift"])
        else:  # evidence and a weak prior: their precisions weigh the two
            log = (math.log(tops[name]) / width**2 + centre[name]) / (1 / width**2 + 1)
            total -= (log - centre[name]) ** 2 / 2
        total -= ((log - math.log(tops[name])) / width) ** 2 / 2
        assert math.log(getattr(found, name)) == pytest.approx(log, abs=0.1)
    assert value == pytest.approx(total, abs=0.05)
    assert value == pytest.approx(
        search.prior_and_evidence(found, asked if features else asked._replace(weight_sd=1.0))
    )


def test_a_best_beyond_the_bounds_is_at_the_bounds(monkeypatch):
    search = searching()
    monkeypatch.setattr(search, "evidence", lambda at: 50.0 * math.log(at.sd))
    assert search.best(Spreads(0.4, None, None))[0].sd == pytest.approx(30.0, rel=0.02)
    monkeypatch.setattr(search, "evidence", lambda at: -50.0 * math.log(at.drift))
    assert search.best(Spreads(None, 1.0, None))[0].drift == pytest.approx(1e-3 / 2, rel=0.02)


def test_drifts_are_looked_at_below_and_above_the_best(monkeypatch):
    search = searching()
    asked = []
    monkeypatch.setattr(search, "_shares", lambda best, drifts, found: asked.append((best, drifts, found)))
    monkeypatch.setattr(search, "evidence", lambda at: 10 * at.drift)
    best = Spreads(0.4, 1.0, 1.0)
    search.drifts(best)
    search.drifts_beside_none(best, 7.0)
    (first, drifts, found), (second, none, beside) = asked
    assert first == second == best
    assert_allclose(drifts, [0.12, 0.26, 0.4])
    assert_allclose(found, [1.2, 2.6, 4.0])
    assert_allclose(none, [0.0, 0.05])  # a walk of 0.1 over a time of 4
    assert_allclose(beside, [7.0, 0.5])
    asked.clear()
    search.drifts(best._replace(drift=0.0012))
    assert_allclose(asked[0][1], [0.0012 * 0.65, 0.0012])  # what is below the least walk is none


def test_each_try_begins_where_the_last_ended():
    history = history_of(votes())
    model = WalkModel(history, "davidson", True, False, None)
    search = Search(model, 3.0, 1e-8, 50)
    assert search.scores is None
    found = search.fit(Spreads(0.3, 0.8, None))
    assert search.scores is found.scores
    assert search.extras is found.point.extras
    again = search.fit(Spreads(0.3, 0.8, None))
    assert again.n_iter <= 1
    assert_allclose(again.scores, found.scores, atol=1e-7)
    assert found.precision.own.max() == pytest.approx(1 / 0.8**2)
    assert found.precision.link[found.precision.link > 0].max() == pytest.approx(1 / (0.09 * 0.75))
    posterior = WalkPosterior(model, again, 0.3, 0.8)
    assert search.evidence(Spreads(0.3, 0.8, None)) == pytest.approx(posterior.log_evidence(), abs=1e-6)
