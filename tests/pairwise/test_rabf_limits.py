"""RABF within hard limits, with the hinge loss and with row weights: SLSQP, a dual programme, the literal design."""

import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize
from scipy.sparse import csr_array
from sklearn.svm import LinearSVC

from podium import RABF, Comparisons
from podium.errors import DataWarning, InputError, PodiumWarning

from helpers import as_comparisons
from reference_rabf import design
from strategies import votes


def planted(n, m, seed, d=2, sd=0.4):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d))
    truth = features @ rng.normal(size=d) + sd * rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(truth[right] - truth[left]))
    rows = [(int(i), int(j), float(y), 1.0) for i, j, y in zip(left, right, won, strict=True)]
    return rows, features, truth


def losses(loss, table, rows):
    """Value and gradient in θ of the votes' loss, written out."""
    outcome, weight = np.array([(y, w) for *_, y, w in rows]).T

    def value(theta):
        margin = table @ theta
        if loss == "logistic":
            each = np.logaddexp(0, margin) - outcome * margin
            slope = 1 / (1 + np.exp(-margin)) - outcome
        else:
            each, slope = (margin - (2 * outcome - 1)) ** 2, 2 * (margin - (2 * outcome - 1))
        return weight @ each, table.T @ (weight * slope)

    return value


def by_slsqp(loss, table, rows, d, norms):
    """Problem (3) for a general solver of constrained problems."""
    start = np.full(table.shape[1], 1e-3)
    parts = (slice(0, d), norms[0]), (slice(d, None), norms[1])
    limits = [{"type": "ineq", "fun": lambda t, s=s, c=c: c**2 - t[s] @ t[s]} for s, c in parts]
    found = minimize(
        losses(loss, table, rows), start, jac=True, method="SLSQP", constraints=limits,
        options={"ftol": 1e-14, "maxiter": 2000},
    )  # fmt: skip
    return found.x, found.fun


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("norms", [(0.3, 0.2), (0.3, 50.0), (50.0, 0.2), (0.01, 3.0), (50.0, 50.0)])
def test_limits_give_the_optimum_of_a_general_solver(loss, norms):
    rows, features, _ = planted(7, 120, 1)
    model = RABF(loss=loss, max_norm=norms, standardize=False).fit(as_comparisons(7, rows), features)
    table = design(7, rows, features)
    theta, objective = by_slsqp(loss, table, rows, 2, norms)
    lengths = np.linalg.norm(model.coef_), np.linalg.norm(model.residuals_)
    assert (np.array(lengths) <= np.array(norms) * (1 + 1e-7)).all()
    assert model.objective_ == pytest.approx(objective, rel=1e-7)
    scores = features @ theta[:2] + theta[2:]
    assert_allclose(model.ranking_.scores - model.ranking_.scores.mean(), scores - scores.mean(), atol=2e-4)
    whole = losses(loss, table, rows)(np.zeros(9))[0]
    multipliers = model.feature_penalty_, model.residual_penalty_
    for name, length, norm, multiplier in zip(("feature", "residual"), lengths, norms, multipliers, strict=True):
        if name in model.binding_:
            assert length == pytest.approx(norm, rel=1e-7)
        else:
            assert multiplier * norm**2 < 1e-8 * whole


@settings(max_examples=25, deadline=None)
@given(votes(), st.sampled_from([0.05, 0.5, 3.0]), st.sampled_from([0.05, 0.5, 3.0]), st.integers(0, 99))
def test_no_point_within_the_limits_is_better_as_the_multipliers_certify(data, w_norm, r_norm, seed):
    """Weak duality: min loss + Σλ(‖·‖² − limit²) is a lower bound, and here the loss reaches it."""
    n, rows = data
    features = np.random.default_rng(seed).normal(size=(n, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = RABF(max_norm=(w_norm, r_norm), standardize=False).fit(as_comparisons(n, rows), features)
    w, r = model.coef_, model.residuals_
    gradient = losses("logistic", design(n, rows, features), rows)(np.concatenate([w, r]))[1]
    multipliers = np.array([model.feature_penalty_] * 2 + [model.residual_penalty_] * n)
    whole = sum(weight for *_, weight in rows)
    assert_allclose(gradient + 2 * multipliers * np.concatenate([w, r]), 0, atol=1e-5 * whole)
    slack = np.array([w_norm**2 - w @ w, r_norm**2 - r @ r])
    assert (slack >= -1e-6 * np.array([w_norm, r_norm]) ** 2).all()
    assert np.array([model.feature_penalty_, model.residual_penalty_]) @ np.maximum(slack, 0) <= 1e-6 * whole


@pytest.mark.parametrize("flip_rate", [0.1, 0.3])
def test_problem_13_is_problem_14_with_scores_divided(flip_rate):
    """Lemma 5: limits (1 − 2ρ)·(W, R) on the votes as they are, against W and R on the unbiased loss."""
    rows, features, _ = planted(8, 150, 2)
    data, keep = as_comparisons(8, rows), 1 - 2 * flip_rate
    corrected = RABF(loss="squared", flip_rate=flip_rate, max_norm=(0.4, 0.3), standardize=False).fit(data, features)
    plain = RABF(loss="squared", max_norm=(0.4 * keep, 0.3 * keep), standardize=False).fit(data, features)
    assert_allclose(plain.coef_, keep * corrected.coef_, atol=1e-7)
    assert_allclose(plain.residuals_, keep * corrected.residuals_, atol=1e-7)
    theta, _ = by_slsqp("squared", design(8, rows, features), rows, 2, (0.4 * keep, 0.3 * keep))
    assert_allclose(plain.coef_, theta[:2], atol=1e-5)


def test_a_sign_of_life_of_limits_on_consistent_votes_and_without_features():
    """Votes that have no finite optimum: the limit holds them."""
    data = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("a", "c")])
    model = RABF(max_norm=(1.0, 2.0)).fit(data)
    assert np.linalg.norm(model.residuals_) == pytest.approx(2.0, rel=1e-7)
    assert model.binding_ == ("residual",)
    assert model.ranking_.order == ("a", "b", "c")
    assert model.unfitted().fit(data).ranking_.order == ("a", "b", "c")


@pytest.mark.parametrize("norms", [(1e6, 1e6), (1e-3, 1e6), (1e6, 1e-3), (1e-9, 1e-9)])
def test_limits_of_any_size_are_kept(norms):
    for pairs in ([("a", "b")], [("a", "b"), ("b", "c"), ("c", "a")], [("a", "b"), ("b", "a"), ("a", "c")]):
        data = Comparisons.from_pairs(pairs)
        features = {item: [1.0 * k] for k, item in enumerate(data.items)}
        model = RABF(max_norm=norms, standardize=False).fit(data, features)
        assert abs(model.coef_[0]) <= norms[0] * (1 + 1e-6)
        assert np.linalg.norm(model.residuals_) <= norms[1] * (1 + 1e-6)
        assert model.objective_ <= len(pairs) * np.log(2) * (1 + 1e-12)
        if norms == (1e6, 1e6) and len(pairs) == 1:
            assert model.objective_ < 1e-6


def test_limits_with_sides_ties_and_the_hinge_loss_are_kept():
    rng = np.random.default_rng(3)
    n, m = 10, 300
    left = rng.integers(0, n, m).astype(np.int32)
    right = ((left + rng.integers(1, n, m)) % n).astype(np.int32)
    outcome = rng.choice([-1, 0, 1], m, p=[0.3, 0.2, 0.5]).astype(np.int8)
    data = Comparisons(tuple(range(n)), left, right, outcome=outcome, sided=True)
    features = rng.normal(size=(n, 2))
    for options in (
        {"ties": "davidson", "side_effect": True},
        {"loss": "hinge"},
        {"loss": "hinge", "side_effect": True},
    ):
        model = RABF(max_norm=(0.05, 0.1), **options).fit(data, features)
        assert np.linalg.norm(model.residuals_) <= 0.1 * (1 + 1e-6)
        assert np.linalg.norm(model.coef_ * features.std(axis=0)) <= 0.05 * (1 + 1e-6)


# ---- hinge ----------------------------------------------------------------------------------------------------


def dual_optimum(signed, weight, penalties):
    """The dual, max Σα − ¼‖Λ^−½ Aᵀα‖² over 0 ≤ α ≤ c, one coordinate at a time: a lower bound wherever it stops."""
    scaled = signed / np.sqrt(2 * penalties)
    gram = scaled @ scaled.T
    alpha = np.zeros(len(weight))
    for _ in range(20_000):
        before = alpha.copy()
        for k in range(len(alpha)):
            alpha[k] = np.clip(alpha[k] + (1 - gram[k] @ alpha) / gram[k, k], 0, weight[k])
        if np.abs(alpha - before).max() < 1e-12:
            break
    return alpha.sum() - alpha @ gram @ alpha / 2


def hinge_rows(n, rows, features):
    """Signed rows of the design and their weights; a tie is half a vote for either."""
    split = [(i, j, 1.0, y * w) for i, j, y, w in rows] + [(i, j, -1.0, (1 - y) * w) for i, j, y, w in rows]
    split = [row for row in split if row[3] > 0]
    sign, weight = np.array([(s, w) for *_, s, w in split]).T
    return sign[:, None] * design(n, split, features), weight


@example((3, [(0, 1, 1.0, 1.0), (0, 1, 0.5, 1.0), (2, 0, 1.0, 1.0)]), 0.02, 0.3, 0)  # no factor near the optimum
@settings(max_examples=15, deadline=None)
@given(votes(), st.sampled_from([0.02, 0.3, 5.0]), st.sampled_from([0.02, 0.3, 5.0]), st.integers(0, 99))
def test_the_hinge_loss_reaches_the_dual_of_a_quadratic_programme(data, feature_penalty, residual_penalty, seed):
    n, rows = data
    features = np.random.default_rng(seed).normal(size=(n, 2))
    model = RABF(loss="hinge", feature_penalty=feature_penalty, residual_penalty=residual_penalty, standardize=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model.fit(as_comparisons(n, rows), features)
    signed, weight = hinge_rows(n, rows, features)
    penalties = np.array([feature_penalty] * 2 + [residual_penalty] * n)
    theta = np.concatenate([model.coef_, model.residuals_])
    primal = weight @ np.maximum(1 - signed @ theta, 0) + penalties @ theta**2
    assert model.objective_ == pytest.approx(primal, rel=1e-9)
    lower = dual_optimum(signed, weight, penalties)
    assert lower <= primal * (1 + 1e-9)
    assert primal - lower <= 1e-9 * weight.sum()


def test_the_hinge_loss_is_exact_where_most_votes_are_exactly_at_1():
    """Next to no penalty puts scores at whole distances: more votes at 1 than parameters, which no iteration likes.

    At an optimum some duals 0 ≤ α ≤ c, those of votes off 1 at a bound, hold every weight and residual where it is: a
    linear feasibility problem, solved by SciPy.
    """
    rows, features, _ = planted(40, 700, 9, d=3)
    options = {"feature_penalty": 0.02, "residual_penalty": 0.02, "standardize": False}
    model = RABF(loss="hinge", **options).fit(as_comparisons(40, rows), features)
    signed, weight = hinge_rows(40, rows, features)
    theta = np.concatenate([model.coef_, model.residuals_])
    margin = signed @ theta
    at_one = np.abs(margin - 1) < 1e-8
    assert at_one.sum() > signed.shape[1]
    low, high = np.where(margin < 1 - 1e-8, weight, 0.0), np.where(margin > 1 + 1e-8, 0.0, weight)
    feasible = linprog(np.zeros(len(weight)), A_eq=signed.T, b_eq=2 * 0.02 * theta, bounds=np.column_stack([low, high]))
    assert feasible.status == 0


@example((3, [(0, 1, 0.0, 1.0), (0, 2, 1.0, 1.0), (1, 0, 1.0, 1.0)]), 0.02, 0)
@example((2, [(0, 1, 1.0, 1.0), (0, 1, 0.0, 1.0), (1, 0, 1.0, 1.0)]), 0.02, 0)  # the side alone explains the votes
@example((6, [(1, 0, 0.0, 1.0), (2, 4, 1.0, 1.0), (2, 4, 0.0, 1.0), (3, 2, 0.0, 1.0), (3, 5, 0.0, 1.0)]), 0.02, 60)
@settings(max_examples=15, deadline=None)
@given(votes(), st.sampled_from([0.02, 0.3, 5.0]), st.integers(0, 99))
def test_the_hinge_loss_with_a_side_effect_has_a_dual_that_proves_it(data, penalty, seed):
    """The dual with Σ s·α = 0 for the side, by linear programming: no other effect or score is better."""
    n, rows = data
    features = np.random.default_rng(seed).normal(size=(n, 2))
    sided = [(i, j, y, w) for i, j, y, w in rows if y != 0.5] or [(0, 1, 1.0, 1.0)]
    left, right = (np.array([row[k] for row in sided], dtype=np.int32) for k in (0, 1))
    outcome = np.array([1 if row[2] else -1 for row in sided], dtype=np.int8)
    data = Comparisons(tuple(range(n)), left, right, outcome=outcome, sided=True)
    options = {"feature_penalty": penalty, "residual_penalty": penalty, "standardize": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        model = RABF(loss="hinge", side_effect=True, **options).fit(data, features)
    table = design(n, [(i, j, y, 1.0) for i, j, y, _ in sided], features)
    signed = outcome[:, None] * np.hstack([table, np.ones((len(sided), 1))])
    theta = np.concatenate([model.coef_, model.residuals_, [model.side_effect_]])
    margin = signed @ theta
    low, high = (margin < 1 - 1e-7).astype(float), (margin <= 1 + 1e-7).astype(float)
    target = np.append(2 * penalty * theta[:-1], 0.0)
    feasible = linprog(np.zeros(len(sided)), A_eq=signed.T, b_eq=target, bounds=np.column_stack([low, high]))
    assert feasible.status == 0


@pytest.mark.parametrize("how", ["dense", "pcg"])
def test_the_hinge_loss_is_a_support_vector_machine_on_the_whole_design(how, monkeypatch):
    rows, features, _ = planted(60, 900, 4, d=4)
    if how == "pcg":
        monkeypatch.setattr("podium.pairwise._fit.hinge.MAX_DENSE_ITEMS", 0)
        monkeypatch.setattr("podium.pairwise._fit.solvers.DENSE", 0)
        monkeypatch.setattr("podium.pairwise._fit.solvers.BAND_FLOPS", 0)
    model = RABF(loss="hinge", feature_penalty=0.2, residual_penalty=0.7, standardize=False)
    with nullcontext() if how == "dense" else pytest.warns(PodiumWarning, match="may take many minutes"):
        model.fit(as_comparisons(60, rows), features)
    assert model.solver_ == how
    signed, _ = hinge_rows(60, rows, features)
    scale = np.sqrt(2 * np.array([0.2] * 4 + [0.7] * 60))
    twice = np.vstack([signed, -signed]) / scale  # a vote turned over belongs to the other class
    machine = LinearSVC(loss="hinge", C=0.5, fit_intercept=False, tol=1e-9, max_iter=1_000_000)
    machine.fit(twice, np.repeat([1, -1], len(signed)))
    theta = machine.coef_[0] / scale
    assert_allclose(model.ranking_.scores, features @ theta[:4] + theta[4:], atol=2e-4)
    assert np.linalg.norm(theta - np.concatenate([model.coef_, model.residuals_])) < 1e-3


def test_the_hinge_loss_with_a_side_effect_and_covariates_has_no_better_neighbour():
    rng = np.random.default_rng(5)
    n, m = 8, 120
    left = rng.integers(0, n, m).astype(np.int32)
    right = ((left + rng.integers(1, n, m)) % n).astype(np.int32)
    outcome = rng.choice([-1, 1], m, p=[0.3, 0.7]).astype(np.int8)
    length = rng.normal(size=(m, 1))
    data = Comparisons(
        tuple(range(n)), left, right, outcome=outcome, sided=True, covariates=length, covariate_names=("length",)
    )
    features = rng.normal(size=(n, 2))
    options = {"feature_penalty": 0.3, "residual_penalty": 0.5, "standardize": False}
    model = RABF(loss="hinge", side_effect=True, **options).fit(data, features)

    def objective(theta):
        u = features @ theta[:2] + theta[2:10]
        margin = u[left] - u[right] + length[:, 0] * theta[10] + theta[11]
        return np.maximum(1 - outcome * margin, 0).sum() + 0.3 * theta[:2] @ theta[:2] + 0.5 * theta[2:10] @ theta[2:10]

    here = np.concatenate([model.coef_, model.residuals_, model.covariate_coef_, [model.side_effect_]])
    assert model.objective_ == pytest.approx(objective(here), rel=1e-12)
    around = minimize(objective, here, method="Powell", options={"xtol": 1e-10, "ftol": 1e-14, "maxiter": 20_000})
    assert model.objective_ <= around.fun * (1 + 1e-6)


def test_the_hinge_loss_has_chances_and_no_errors():
    rows, features, truth = planted(15, 600, 6)
    model = RABF(loss="hinge", feature_penalty=0.1, residual_penalty=1.0).fit(as_comparisons(15, rows), features)
    assert np.corrcoef(model.ranking_.scores, truth)[0, 1] > 0.85
    assert_allclose(model.predict_proba(as_comparisons(15, rows)).sum(axis=1), 1)
    assert model.ranking_.information is None
    for ask in (lambda: model.coef_std_errors_, lambda: model.predict(features, return_std=True)):
        with pytest.raises(InputError, match="loss='hinge' is no likelihood: there are no standard errors"):
            ask()
    assert model.predict(features).shape == (15,)


# ---- row weights ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_row_weights_multiply_the_features_of_each_item(sparse):
    """Appendix A: the vector of a comparison is (μ_j x_j − μ_i x_i; e_j − e_i)."""
    rows, features, _ = planted(6, 100, 7, d=9 if sparse else 2)
    weights = np.array([0.0, 0.5, 1.0, 1.0, 2.0, 0.3])
    options = {"feature_penalty": 0.4, "residual_penalty": 0.6, "tol": 1e-9}
    data = as_comparisons(6, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        given = csr_array(features) if sparse else features
        model = RABF(**options, standardize=False, row_weights=dict(enumerate(weights))).fit(data, given)
        by_hand = RABF(**options, standardize=False).fit(data, weights[:, None] * features)
        scaled = RABF(**options, row_weights=dict(enumerate(weights))).fit(data, given)
        standard = (features - features.mean(axis=0)) / features.std(axis=0)
        also = RABF(**options, standardize=False).fit(data, weights[:, None] * standard)
    for one, other in ((model, by_hand), (scaled, also)):
        centred = [each.ranking_.scores - each.ranking_.scores.mean() for each in (one, other)]
        assert_allclose(centred[0], centred[1], atol=1e-7)
        assert one.objective_ == pytest.approx(other.objective_, rel=1e-9)
    assert_allclose(model.coef_, by_hand.coef_, atol=1e-7)
    assert_allclose(scaled.coef_ * features.std(axis=0), also.coef_, atol=1e-7)


def test_row_weights_come_as_a_mapping_or_a_column():
    rows, features, _ = planted(4, 80, 8)
    data = as_comparisons(4, rows)
    table = {k: {"size": x[0], "age": x[1], "trust": [1.0, 0.2, 1.0, 0.0][k]} for k, x in enumerate(features)}
    plain = {k: {"size": x[0], "age": x[1]} for k, x in enumerate(features)}
    options = {"feature_penalty": 0.4, "residual_penalty": 0.6}
    by_column = RABF(**options, row_weights="trust").fit(data, table)
    assert by_column.feature_names_ == ("size", "age")
    model = RABF(**options, row_weights={1: 0.2, 3: 0.0, "later": 2.0}).fit(data, plain)
    assert_allclose(model.ranking_.scores, by_column.ranking_.scores, atol=1e-9)
    assert by_column.predict({"new": {"size": 0.1, "age": 0.2}}).shape == (1,)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({0: -1.0}, "the row weight of 0 is -1; it must be a finite number from 0 up"),
        ({"nobody": 1.0}, "row weights: none of 'nobody' is among the items"),
        ([1.0, 2.0], r"row_weights=\[1.0, 2.0\]: a column's name or a mapping from item is expected"),
        ({0: "much"}, "the row weight of 0 is 'much'; it must be a number"),
        ("trust", "row_weights='trust': no column of numbers of that name; there are 'x1', 'x2'"),
    ],
)
def test_bad_row_weights_are_named(weights, message):
    rows, features, _ = planted(4, 80, 8)
    with pytest.raises(InputError, match=message):
        RABF(row_weights=weights).fit(as_comparisons(4, rows), features)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_norm": (1.0, 0.0)}, r"max_norm=\(1.0, 0.0\): both must be finite numbers above 0"),
        ({"max_norm": 3.0}, "max_norm=3.0: give two numbers, for weights and residuals"),
        ({"max_norm": (1.0, 2.0), "feature_penalty": 1.0}, "max_norm= takes the place of feature_penalty="),
        ({"max_norm": (1.0, 2.0), "flip_rate": 0.1}, "max_norm= needs a convex loss; use flip_loss='corrected'"),
        ({"loss": "hinge"}, "loss='hinge' is no likelihood to choose penalties by; give feature_penalty= and residual"),
        ({"loss": "hinge", "max_norm": (1.0, 1.0), "flip_rate": 0.1}, "flip_rate= does not go with loss='hinge'"),
        ({"loss": "hinge", "max_norm": (1.0, 1.0), "ties": "davidson"}, "ties='davidson' is a likelihood"),
    ],
)
def test_what_does_not_go_together_is_said(options, message):
    rows, features, _ = planted(4, 80, 8)
    with pytest.raises(InputError, match=message):
        RABF(**options).fit(as_comparisons(4, rows), features)


def test_the_hinge_loss_on_very_many_items_says_that_it_takes_long(monkeypatch):
    votes = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")])
    monkeypatch.setattr("podium.pairwise._fit.hinge.MAX_DENSE_ITEMS", 2)
    for limits in ({"feature_penalty": 1.0, "residual_penalty": 1.0}, {"max_norm": (1.0, 1.0)}):
        with pytest.warns(PodiumWarning, match=r"loss='hinge' on 3 items may take many minutes.* up to 2; loss='log"):
            RABF(loss="hinge", **limits).fit(votes)
