"""Plackett-Luce with features against brute force, RABF on pairs, quadrature, and data with known scores."""

import math
import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.stats import spearmanr

from podium import RABF, Comparisons, PlackettLuce, Rankings, load, save
from podium.errors import DataWarning, InputError
from podium.evaluate import residual_outliers
from podium.pairwise._fit.choices import ListLoss
from podium.pairwise._fit.feature_solver import Place
from podium.pairwise._fit.list_features import ListEvidence, ListProblem, solve_lists

TREATED = {"feature_penalty": 0.4, "l2": 0.7, "standardize": False, "tol": 1e-10}


def ballots(scores, rows, k, rng):
    tops = np.argsort(-(scores + rng.gumbel(size=(rows, len(scores)))), axis=1)[:, :k]
    return [[int(item) for item in top] for top in tops]


def plain_loss(lists, scores, n, delta):
    """−log likelihood of a top k of all items with pairs that share a place: every set added up by hand."""
    loss, strength = 0.0, np.exp(scores)
    for entry in lists:
        left = list(range(n))
        for place in entry:
            tied = place if isinstance(place, list) else [place]
            if len(left) == 1:
                break
            pairs = [(i, j) for i in left for j in left if i < j] if delta else []
            every = strength[left].sum() + delta * sum(math.sqrt(strength[i] * strength[j]) for i, j in pairs)
            own = strength[tied[0]] if len(tied) == 1 else delta * math.sqrt(strength[tied[0]] * strength[tied[1]])
            loss -= math.log(own / every)
            left = [item for item in left if item not in tied]
    return loss


@pytest.mark.parametrize("ties", ["efron", "davidson"])
def test_the_optimum_is_that_of_a_generic_minimiser_of_the_penalised_likelihood(ties):
    rng = np.random.default_rng(1)
    n, d = 5, 2
    table = rng.normal(size=(n, d))
    lists = ballots(table @ [1.0, -1.0], 25, 3, rng)
    if ties == "davidson":
        lists = [[[*entry[:2]], entry[2]] if k % 5 == 0 else entry for k, entry in enumerate(lists)]
    model = PlackettLuce(ties=ties, **TREATED)
    model.fit(Rankings.from_lists(lists, items=range(n), unranked="below"), features=table)
    centred = table - table.mean(axis=0)

    def objective(point):
        weights, residuals, more = np.split(point, [d, d + n])
        delta = math.exp(more[0]) if ties == "davidson" else 0.0
        told = plain_loss(lists, centred @ weights + residuals, n, delta)
        return told + 0.4 * weights @ weights + 0.7 * residuals @ residuals

    start = np.zeros(d + n + (ties == "davidson"))
    found = minimize(objective, start, method="BFGS", options={"gtol": 1e-7}).x
    assert_allclose(model.coef_, found[:d], atol=2e-5)
    assert_allclose(model.residuals_, found[d : d + n], atol=2e-5)
    if ties == "davidson":
        assert model.tie_strength_ == pytest.approx(math.exp(found[-1]), rel=1e-4)


def paired(n=12, d=3, rows=150):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(n + 2, d))
    scores = table @ np.linspace(1.0, -0.5, d) + 0.3 * rng.normal(size=n + 2)
    left = rng.integers(0, n, rows)
    right = (left + rng.integers(1, n, rows)) % n
    won = rng.random(rows) < 1 / (1 + np.exp(scores[right] - scores[left]))
    pairs = [(f"i{a}", f"i{b}") if k else (f"i{b}", f"i{a}") for a, b, k in zip(left, right, won, strict=True)]
    votes = Comparisons.from_frame({"winner": [w for w, _ in pairs], "loser": [x for _, x in pairs],
                                    "judge": [k % 40 for k in range(rows)]})  # fmt: skip
    return votes, {f"i{k}": row for k, row in enumerate(table)}, table


@pytest.mark.parametrize("given", [{}, {"feature_penalty": 0.3}, {"feature_penalty": 0.3, "residual": 2.0}])
@pytest.mark.parametrize("d", [3, 20])
@pytest.mark.filterwarnings("ignore::podium.errors.DataWarning")
def test_on_pairs_it_is_rabf_with_its_penalties_errors_and_predictions(given, d):
    votes, features, table = paired(d=d)
    residual = {"residual": "auto"} | given
    penalty = given.get("feature_penalty", "auto")
    theirs = RABF(feature_penalty=penalty, residual_penalty=residual["residual"], tol=1e-9).fit(votes, features)
    ours = PlackettLuce(feature_penalty=penalty, l2=residual["residual"], tol=1e-9).fit(votes, features)
    assert ours.ranking_.items == theirs.ranking_.items
    assert ours.unseen_ == theirs.unseen_ == ("i12", "i13")
    near = {"rtol": 1e-4, "atol": 1e-5}
    assert_allclose([ours.feature_penalty_, ours.l2_], [theirs.feature_penalty_, theirs.residual_penalty_], **near)
    for name in ("coef_", "coef_std_errors_", "residuals_", "explained_", "feature_std_"):
        assert_allclose(getattr(ours, name), getattr(theirs, name), **near, err_msg=name)
    assert_allclose(ours.ranking_.scores, theirs.ranking_.scores, **near)
    assert_allclose(ours.predict(table, True), theirs.predict(table, True), **near)
    for kind, cluster in (("hessian", None), ("sandwich", None), ("cluster", "judge")):
        one, other = (model.ranking_.with_uncertainty(kind, cluster=cluster).std_errors for model in (ours, theirs))
        assert_allclose(one, other, **near, err_msg=kind)
    assert ours.log_likelihood_ == pytest.approx(theirs.log_likelihood_, abs=1e-4)
    assert residual_outliers(ours)["item"].to_list() == residual_outliers(theirs)["item"].to_list()


def problem(davidson, rng, n=6, d=2, rows=40):
    table = rng.normal(size=(n, d))
    table -= table.mean(axis=0)
    lists = ballots(table @ [1.0, -0.5], rows, 3, rng)
    if davidson:
        lists = [[[*entry[:2]], entry[2]] if k % 6 == 0 else entry for k, entry in enumerate(lists)]
    loss = ListLoss(Rankings.from_lists(lists, items=range(n), unranked="below"), davidson=davidson)
    return ListProblem(loss, table)


@pytest.mark.parametrize("davidson", [False, True])
def test_the_slope_of_the_evidence_is_that_of_its_value(davidson):
    data = problem(davidson, np.random.default_rng(3))
    evidence = ListEvidence(data)

    def at(x, slopes=False):
        place = solve_lists(data, tuple(0.5 * np.exp(-2.0 * x)), 1e-11, 100).place
        return evidence.at(x, place, slopes)

    here, step = np.array([-0.3, -0.6]), 1e-3
    slope = [(at(here + step * way).value - at(here - step * way).value) / (2 * step) for way in np.eye(2)]
    assert_allclose(at(here, True).slope, slope, atol=2e-3)


def test_the_evidence_is_the_marginal_likelihood_by_quadrature():
    """Three items and one feature: scores have the prior N(0, s_w² xxᵀ + s_r² I); only two of their margins matter."""
    rng = np.random.default_rng(5)
    x = np.array([[-1.0], [0.2], [0.8]])
    lists = ballots(2.0 * x[:, 0], 40, 2, rng)
    data = ListProblem(ListLoss(Rankings.from_lists(lists, items=range(3), unranked="below")), x)
    evidence = ListEvidence(data)
    nodes, weights = np.polynomial.hermite_e.hermegauss(30)
    shares = np.multiply.outer(weights, weights).ravel() / weights.sum() ** 2

    def exact(log_sds):
        prior = np.exp(2 * log_sds[0]) * x @ x.T + np.exp(2 * log_sds[1]) * np.eye(3)
        margins = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
        root = np.linalg.cholesky(margins @ prior @ margins.T)
        points = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2) @ root.T
        chances = [math.exp(-plain_loss(lists, np.array([a + b, b, 0.0]), 3, 0.0)) for a, b in points]
        off = log_sds - evidence.centre
        return math.log(shares @ chances) - 0.5 * off @ off

    for log_sds in (np.array([0.0, -0.5]), np.array([-1.0, -1.0]), np.array([0.5, 0.0])):
        place = solve_lists(data, tuple(0.5 * np.exp(-2.0 * log_sds)), 1e-10, 100).place
        assert evidence.at(log_sds, place, slopes=False).value == pytest.approx(exact(log_sds), abs=0.05)


def test_large_penalties_hold_what_they_are_on():
    data = problem(False, np.random.default_rng(4))
    tight = solve_lists(data, (1e12, 0.5), 1e-9, 100).place
    assert np.abs(tight.weights).max() < 1e-9
    linear = solve_lists(data, (1e-3, 1e12), 1e-9, 100).place
    assert np.abs(linear.residuals).max() < 1e-9

    def objective(weights):
        return data.value(Place(weights, np.zeros(6), np.empty(0))) + 1e-3 * weights @ weights

    assert_allclose(linear.weights, minimize(objective, np.zeros(2), options={"gtol": 1e-8}).x, atol=1e-5)


def test_items_nobody_could_list_are_placed_by_their_features_and_their_intervals_hold():
    rng = np.random.default_rng(8)
    held, near = [], []
    for _ in range(25):
        table = rng.normal(size=(30, 2))
        scores = table @ [1.2, -0.8] + 0.4 * rng.normal(size=30)
        lists = Rankings.from_lists(ballots(scores[:20], 120, 4, rng), items=range(20), unranked="below")
        model = PlackettLuce().fit(lists, features=dict(enumerate(table)))
        assert set(model.unseen_) == set(range(20, 30))
        lower, upper = model.ranking_.intervals(0.9)
        centred = scores - scores.mean() + model.ranking_.scores.mean()
        held.append(((lower <= centred) & (centred <= upper))[20:].mean())
        near.append(spearmanr(scores[20:], model.ranking_.scores[20:]).statistic)
    assert np.mean(near) > 0.85
    assert 0.84 < np.mean(held) < 0.96  # 250 intervals of 90 %, whose items come in 25 sets


def test_useless_features_cost_little_and_rankings_outweigh_them():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=12)
    lists = Rankings.from_lists(ballots(scores, 300, 12, rng))
    plain = PlackettLuce().fit(lists)
    useless = PlackettLuce().fit(lists, features=rng.normal(size=(12, 2)))
    assert_allclose(useless.ranking_.scores, plain.ranking_.scores, atol=0.1)


def test_weights_that_are_no_counts_change_neither_scores_nor_errors():
    rng = np.random.default_rng(6)
    table = rng.normal(size=(6, 1))
    lists = ballots(table[:, 0], 60, 3, rng)
    one, other = (
        PlackettLuce(tol=1e-9).fit(Rankings.from_lists(lists, items=range(6), unranked="below", weight=weight), table)
        for weight in (None, np.full(60, 0.25))
    )
    assert_allclose(one.ranking_.scores, other.ranking_.scores, atol=1e-6)
    assert_allclose(one.coef_std_errors_, other.coef_std_errors_, rtol=1e-5)
    assert other.l2_ == pytest.approx(0.25 * one.l2_, rel=1e-4)


def test_a_stored_model_scores_new_items_as_before(tmp_path):
    rng = np.random.default_rng(7)
    frame = pl.DataFrame({"dish": list("abcdef"), "price": rng.normal(size=6), "kind": list("xyxyzz")})
    lists = [[frame["dish"][k] for k in top] for top in ballots(frame["price"].to_numpy(), 50, 3, rng)]
    model = PlackettLuce(one_hot=True).fit(Rankings.from_lists(lists, unranked="below"), frame)
    save(model, tmp_path / "m.podium")
    again = load(tmp_path / "m.podium")
    new = pl.DataFrame({"price": [0.0, 2.0], "kind": ["x", "z"]})
    assert_allclose(again.predict(new, return_std=True), model.predict(new, return_std=True))
    assert again.feature_names_ == ("price", "kind=y", "kind=z")
    scores = again.score(Rankings.from_lists([["a", "b"], ["c"]], unranked="below"))
    assert scores == pytest.approx(model.score(Rankings.from_lists([["a", "b"], ["c"]], unranked="below")))


LISTS = [["a", "b"], ["b", "c"], ["c", "a"], ["a"]]
FEATURES = {"a": [1.0], "b": [2.0], "c": [0.5]}


@pytest.mark.parametrize(
    ("options", "features", "said"),
    [
        ({"l2": 0}, FEATURES, "leaves features nothing to explain"),
        ({"feature_penalty": 0}, FEATURES, "feature_penalty"),
        ({"feature_penalty": 1e13}, FEATURES, "rounding decides"),
        ({"l2": 1e13}, FEATURES, "rounding decides"),
        ({}, {"a": [1.0], "b": [2.0]}, "'c'"),
        ({}, {"a": ["x"], "b": ["y"], "c": ["x"]}, "one_hot"),
        ({"missing": "zero"}, FEATURES, "missing"),
        ({}, np.ones((2, 1)), "2"),
    ],
)
def test_bad_features_are_refused_in_a_sentence(options, features, said):
    with pytest.raises(InputError, match=said):
        PlackettLuce(**options).fit(Rankings.from_lists(LISTS, unranked="below"), features)


def test_what_needs_features_or_none_says_so():
    lists = Rankings.from_lists(LISTS, unranked="below")
    with pytest.raises(InputError, match="without features; give them to fit"):
        residual_outliers(PlackettLuce().fit(lists))


def test_goodness_of_fit_knows_rankings_of_the_model_from_camps():
    rng = np.random.default_rng(3)
    table = rng.normal(size=(8, 1))
    scores, new = table[:6, 0] - table[:6, 0].mean(), {item: table[item].tolist() for item in range(8)}
    camps = ballots(2 * scores, 150, 6, rng) + ballots(-scores, 150, 6, rng)
    for lists, fits in ((ballots(scores, 300, 6, rng), True), (camps, False)):
        model = PlackettLuce(l2=1.0, feature_penalty=0.5).fit(Rankings.from_lists(lists), new)
        found = model.goodness_of_fit(replicates=39)
        assert (found.p_value > 0.05) == fits
        assert found.pairs == 15


def test_features_that_explain_nothing_do_not_change_the_goodness_of_fit():
    """At the largest penalty of the weights the model is the one without features, and so is the simulation."""
    rng = np.random.default_rng(4)
    lists = Rankings.from_lists(ballots(np.linspace(1, -1, 5), 80, 3, rng), items=range(5), unranked="below")
    plain = PlackettLuce(l2=0.5).fit(lists).goodness_of_fit(replicates=39)
    held = PlackettLuce(l2=0.5, feature_penalty=1e12).fit(lists, rng.normal(size=(5, 1))).goodness_of_fit(replicates=39)
    assert held.statistic == pytest.approx(plain.statistic, abs=1e-4)
    assert held.p_value == plain.p_value


def test_p_values_of_rankings_that_follow_features_are_spread_evenly():
    """Weights and residuals are drawn from the prior that the penalties stand for."""
    rng, found = np.random.default_rng(17), []
    for k in range(40):
        table = rng.normal(size=(5, 1))
        table = (table - table.mean()) / table.std()
        scores = table[:, 0] * rng.normal() + rng.normal(0.0, 0.5, 5)
        lists = Rankings.from_lists(ballots(scores, 60, 3, rng), items=range(5), unranked="below")
        model = PlackettLuce(l2=2.0, feature_penalty=0.5).fit(lists, table)
        found.append(model.goodness_of_fit(replicates=39, seed=k).p_value)
    assert 0.3 < np.mean(found) < 0.7
    assert np.mean(np.array(found) <= 0.1) < 0.3


def test_a_column_that_is_the_same_everywhere_is_named_and_ignored():
    lists = Rankings.from_lists(LISTS * 5, unranked="below")
    table = {"a": {"size": 1.0, "same": 7.0}, "b": {"size": 2.0, "same": 7.0}, "c": {"size": 0.5, "same": 7.0}}
    with pytest.warns(DataWarning, match="same"):
        model = PlackettLuce().fit(lists, table)
    assert np.isnan(model.coef_std_errors_).tolist() == [False, True]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plain = PlackettLuce().fit(lists, {item: [row["size"]] for item, row in table.items()})
    assert_allclose(plain.ranking_.scores, model.ranking_.scores, atol=1e-6)


@pytest.mark.parametrize("standardize", [False, True])
def test_scores_are_what_features_say_and_a_residual(standardize):
    """In the features' own units; about their mean where they are standardised."""
    rng = np.random.default_rng(3)
    table = rng.normal(size=(5, 2)) * [1.0, 3.0] + 2.0
    lists = ballots(table @ [0.5, -0.2], 40, 5, rng)
    model = PlackettLuce(feature_penalty=0.5, l2=0.3, standardize=standardize)
    model.fit(Rankings.from_lists(lists, items=range(5)), features=table)
    origin = table.mean(axis=0) if standardize else 0.0
    assert_allclose(model.ranking_.scores, (table - origin) @ model.coef_ + model.residuals_, atol=1e-6)
    assert_allclose(model.predict(table), (table - origin) @ model.coef_, atol=1e-6)
    assert abs(model.ranking_.scores.mean()) > 0.01 or standardize
