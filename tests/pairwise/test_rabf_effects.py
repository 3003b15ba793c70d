"""RABF with sides, ties, judges and sparse features, against a generic optimiser, Bradley-Terry and dense twins."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.sparse import csc_matrix, csr_array, hstack

from podium import RABF, BradleyTerry, Comparisons
from podium.errors import DataWarning, InputError, SeparationWarning
from podium.models import load, save
from podium.pairwise._fit import solvers

from helpers import thin_data

OPTIONS = [
    {"side_effect": True},
    {"ties": "davidson"},
    {"side_effect": True, "ties": "davidson"},
]


def planted(n, m, rng, d=3, side=0.6, nu=0.8, covariates=False, judges=None, near=None):
    """Votes with sides, ties and, if asked for, a covariate and judges; and the features and true scores."""
    features = rng.normal(size=(n, d))
    truth = features @ rng.normal(size=d) / math.sqrt(d) + 0.4 * rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, near or n, m)) % n
    extra = rng.normal(size=(m, 1)) if covariates else None
    margin = truth[left] - truth[right] + side + (0.5 * extra[:, 0] if covariates else 0.0)
    chances = np.stack([np.exp(-margin / 2), np.full(m, nu), np.exp(margin / 2)])
    outcome = (rng.random(m) > np.cumsum(chances / chances.sum(axis=0), axis=0)).sum(axis=0) - 1
    data = Comparisons(
        tuple(range(n)),
        left.astype(np.int32),
        right.astype(np.int32),
        outcome=outcome.astype(np.int8),
        sided=True,
        covariates=extra,
        covariate_names=("length",) if covariates else (),
        judge=None if judges is None else rng.integers(0, judges, m).astype(np.int32),
        judges=() if judges is None else tuple(range(judges)),
    )
    return data, features, truth


def by_a_generic_optimiser(data, features, penalties, side_effect=False, ties="half"):
    """The penalised loss written out vote by vote, for SciPy's BFGS."""
    n, d = features.shape
    extra = np.empty((len(data.left), 0)) if data.covariates is None else data.covariates
    columns = np.hstack([extra, np.ones((len(extra), 1))]) if side_effect else extra
    p = columns.shape[1]

    def loss(theta):
        w, r, e = theta[:d], theta[d : d + n], theta[d + n :]
        scores = features @ w + r
        margin = scores[data.left] - scores[data.right] + columns @ e[:p]
        won, lost, tied = (data.outcome == k for k in (1, -1, 0))
        penalty = penalties[0] * w @ w + penalties[1] * r @ r
        if ties == "half":
            points = won + 0.5 * tied
            return np.sum(np.logaddexp(0, margin) - points * margin) + penalty
        total = np.logaddexp(np.logaddexp(margin / 2, -margin / 2), e[-1])
        return np.sum(total - won * margin / 2 + lost * margin / 2 - tied * e[-1]) + penalty

    start = np.zeros(d + n + p + (ties == "davidson"))
    found = minimize(loss, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 5000})
    return found.x, found.fun


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("covariates", [False, True])
@pytest.mark.parametrize("how", ["dense", "pcg", "banded"])
def test_effects_are_those_of_a_generic_optimiser(options, covariates, how, monkeypatch):
    rng = np.random.default_rng(1)
    data, features, _ = planted(8, 150, rng, covariates=covariates, near=3 if how == "banded" else None)
    if how != "dense":
        monkeypatch.setattr("podium.pairwise._fit.feature_solver.DENSE", 0)
        monkeypatch.setattr(solvers, "DENSE", 0)
    if how == "banded":
        monkeypatch.setattr("podium.pairwise._fit.feature_solver.MAX_CG_STEPS", 0)
    model = RABF(feature_penalty=0.3, residual_penalty=0.8, standardize=False, tol=1e-8, **options)
    model.fit(data, features)
    theta, objective = by_a_generic_optimiser(data, features, (0.3, 0.8), **options)
    assert model.solver_ == how
    assert model.objective_ == pytest.approx(objective, abs=1e-7)
    assert_allclose(model.ranking_.scores, features @ theta[:3] + theta[3:11], atol=2e-5)
    effects = [*model.covariate_coef_]
    effects += [model.side_effect_] if "side_effect" in options else []
    effects += [math.log(model.tie_strength_)] if "ties" in options else []
    assert_allclose(effects, theta[11:], atol=2e-5)


@pytest.mark.parametrize("options", OPTIONS)
def test_without_features_it_is_bradley_terry_with_the_same_options(options):
    data, features, _ = planted(10, 400, np.random.default_rng(2), judges=60)
    plain = BradleyTerry(l2=0.7, tol=1e-9, **options).fit(data)
    alone = RABF(residual_penalty=0.7, tol=1e-9, **options).fit(data)
    with pytest.warns(DataWarning, match="the same for every compared item"):
        zeros = RABF(residual_penalty=0.7, feature_penalty=1.0, tol=1e-9, **options).fit(data, 0 * features)
    for model in (alone, zeros):
        mine, theirs = model.ranking_, plain.ranking_
        assert_allclose(mine.scores, theirs.scores, atol=1e-7)
        assert model.side_effect_ == pytest.approx(plain.side_effect_, abs=1e-7)
        assert model.tie_strength_ == pytest.approx(plain.tie_strength_, abs=1e-7)
        if "side_effect" in options:
            assert model.side_effect_std_error_ == pytest.approx(plain.side_effect_std_error_, rel=1e-6)
        assert_allclose(mine.std_errors, theirs.std_errors, rtol=1e-6)
        for how, more in (("sandwich", {}), ("cluster", {"cluster": "judge"})):
            robust = mine.with_uncertainty(how, **more), theirs.with_uncertainty(how, **more)
            assert_allclose(robust[0].std_errors, robust[1].std_errors, rtol=1e-6)
        assert model.log_likelihood_ == pytest.approx(plain.log_likelihood_, abs=1e-6)
        assert_allclose(model.predict_proba(data), plain.predict_proba(data), atol=1e-7)
        assert model.effects_ == plain.effects_
        if "ties" in options:
            assert model.tie_probability(0, 1) == pytest.approx(plain.tie_probability(0, 1), abs=1e-7)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("votes", [60, 600])
def test_without_features_the_penalty_from_the_votes_is_that_of_bradley_terry(options, votes):
    """Where every item stood on either side as often: there is no side for its score to follow."""
    data, _, _ = planted(12, votes, np.random.default_rng(3))
    left, right = np.concatenate([data.left, data.right]), np.concatenate([data.right, data.left])
    outcome = np.concatenate([data.outcome, -np.roll(data.outcome, 1)])
    both = Comparisons(data.items, left, right, outcome=outcome, sided=True)
    with thin_data():
        plain, model = BradleyTerry(**options).fit(both), RABF(**options).fit(both)
    assert 1 / math.sqrt(2 * model.residual_penalty_) == pytest.approx(plain.sd_, rel=1e-5)
    assert model.side_effect_ == pytest.approx(plain.side_effect_, abs=1e-4)


def better_on_the_left(n, votes, pull, rng):
    """Scores from N(0, 0.8²), a side worth .5, and better items on the left more often."""
    truth = 0.8 * rng.normal(size=n)
    one = rng.integers(0, n, n * votes // 2)
    other = (one + rng.integers(1, n, len(one))) % n
    stays = rng.random(len(one)) < 1 / (1 + np.exp(-pull * (truth[one] - truth[other])))
    left, right = np.where(stays, one, other), np.where(stays, other, one)
    won = rng.random(len(one)) < 1 / (1 + np.exp(-(truth[left] - truth[right] + 0.5)))
    ends = left.astype(np.int32), right.astype(np.int32)
    return Comparisons(tuple(range(n)), *ends, outcome=np.where(won, 1, -1).astype(np.int8), sided=True)


def spread_of(model):
    return 1 / math.sqrt(2 * model.residual_penalty_)


def test_scores_are_as_spread_as_they_are_where_better_items_stand_left(monkeypatch):
    """Scores that could not follow the side came out closer than they are, by 15 % on average."""
    sets = [better_on_the_left(60, 10, 3.0, np.random.default_rng([9, k])) for k in range(12)]
    found = np.mean([math.log(spread_of(RABF(side_effect=True).fit(each)) / 0.8) for each in sets])
    monkeypatch.setattr("podium.pairwise._fit.feature_model.FeatureModel.followed", lambda *_: None)
    before = np.mean([math.log(spread_of(RABF(side_effect=True).fit(each)) / 0.8) for each in sets])
    assert abs(found) < 0.1
    assert before < found - 0.05


def test_where_scores_follow_a_side_many_items_have_the_spread_of_few(monkeypatch):
    votes = better_on_the_left(120, 20, 1.5, np.random.default_rng(11))
    exact = RABF(side_effect=True).fit(votes)
    monkeypatch.setattr("podium.pairwise._fit.penalties.MAX_DENSE_ITEMS", 0)
    rough = RABF(side_effect=True).fit(votes)
    assert spread_of(rough) == pytest.approx(spread_of(exact), rel=0.1)
    assert_allclose(rough.ranking_.std_errors, exact.ranking_.std_errors, rtol=0.15)


@pytest.mark.parametrize("given", ["feature_penalty", "residual_penalty"])
def test_a_penalty_that_is_given_stays_where_effects_are_held(given):
    data, features, _ = planted(12, 200, np.random.default_rng(3), covariates=True)
    model = RABF(side_effect=True, **{given: 0.37}).fit(data, features)
    assert getattr(model, f"{given}_") == 0.37
    assert np.isfinite(model.ranking_.std_errors).all()


def test_planted_effects_are_recovered_within_their_errors():
    off = []
    for seed in range(8):
        data, features, truth = planted(30, 900, np.random.default_rng(seed), judges=20)
        model = RABF(side_effect=True, ties="davidson").fit(data, features)
        off.append((model.side_effect_ - 0.6) / model.side_effect_std_error_)
        assert model.tie_strength_ == pytest.approx(0.8, abs=0.2)
        assert np.corrcoef(model.ranking_.scores, truth)[0, 1] > 0.75
    assert np.abs(np.mean(off)) < 4 / math.sqrt(8)
    assert np.abs(off).max() < 3.5


def test_the_side_is_worth_so_many_points_with_the_squared_loss():
    data, features, _ = planted(9, 200, np.random.default_rng(4), covariates=True)
    options = {"loss": "squared", "feature_penalty": 0.3, "residual_penalty": 0.8, "standardize": False}
    model = RABF(**options, side_effect=True).fit(data, features)
    table = np.zeros((200, 3 + 9 + 2))
    table[:, :3] = features[data.left] - features[data.right]
    table[np.arange(200), 3 + data.left] += 1
    table[np.arange(200), 3 + data.right] -= 1
    table[:, 12], table[:, 13] = data.covariates[:, 0], 1.0
    penalties = np.diag([0.3] * 3 + [0.8] * 9 + [0.0] * 2)
    theta = np.linalg.solve(table.T @ table + penalties, table.T @ data.outcome)
    assert model.side_effect_ == pytest.approx(theta[13], abs=1e-9)
    assert_allclose(model.ranking_.scores, features @ theta[:3] + theta[3:12], atol=1e-9)


def test_a_model_of_sides_and_ties_survives_its_file(tmp_path):
    data, features, _ = planted(10, 300, np.random.default_rng(5))
    model = RABF(side_effect=True, ties="davidson").fit(data, features)
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    assert (again.side_effect_, again.tie_strength_) == (model.side_effect_, model.tie_strength_)
    assert again.side_effect_std_error_ == pytest.approx(model.side_effect_std_error_, rel=1e-12)
    assert_allclose(again.predict_proba(data), model.predict_proba(data))


@pytest.mark.parametrize("penalty", ["auto", 1.0])
def test_covariates_whose_effects_are_not_identified_are_named(penalty):
    length, winner, loser = np.array([1.0, -2.0, 0.5, 3.0]), ["a", "b", "c", "b"], ["b", "c", "a", "a"]
    for columns, words in (
        ({"none": 0.0 * length}, "covariate 'none' is 0 in every vote"),
        ({"cm": length, "inch": length / 2.54}, "cm, inch: one follows from the others"),
    ):
        with pytest.raises(InputError, match=words):
            RABF(residual_penalty=penalty).fit(Comparisons.from_arrays(winner, loser, covariates=columns))


def test_what_sides_and_ties_cannot_go_with_is_refused():
    pairs = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("b", "c")])
    with pytest.raises(InputError, match="side_effect=True needs votes that say which item stood on which side"):
        RABF(side_effect=True).fit(pairs)
    with pytest.raises(InputError, match="ties='davidson' is a likelihood of win, tie and loss, which loss='squared'"):
        RABF(ties="davidson", loss="squared").fit(pairs)
    with pytest.raises(InputError, match=r"which flip_rate=0\.1 is not; drop either"):
        RABF(ties="davidson", flip_rate=0.1).fit(pairs)
    tied = Comparisons.from_arrays([0, 1], [1, 2], tie=[True, True], items=range(3))
    with pytest.raises(InputError, match="every vote is a tie"):
        RABF(ties="davidson").fit(tied)
    assert RABF(ties="davidson").fit(pairs).tie_strength_ == 0.0  # no ties, no parameter
    lefts = Comparisons(("a", "b"), *np.array([[0, 1], [1, 0]], dtype=np.int32), sided=True)
    with pytest.warns(SeparationWarning, match="the side separates the votes"):
        RABF(side_effect=True).fit(lefts)


# ---- sparse features ------------------------------------------------------------------------------------------


def sparse_features(n, d, rng, share=0.1):
    return np.where(rng.random((n, d)) < share, rng.normal(size=(n, d)) + 1.0, 0.0)


@pytest.mark.parametrize("d", [6, 70])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("penalty", [0.5, "auto"])
def test_a_sparse_table_says_what_the_same_one_written_out_does(d, standardize, penalty, tmp_path):
    rng = np.random.default_rng(6)
    data, _, _ = planted(20, 300, rng)
    features, new = sparse_features(20, d, rng, 0.4), sparse_features(5, d, rng, 0.4)
    options = {"feature_penalty": penalty, "residual_penalty": penalty, "standardize": standardize, "tol": 1e-9}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # more features than items
        dense, sparse = (RABF(**options).fit(data, table) for table in (features, csr_array(features)))
        other = RABF(**options).fit(data, csc_matrix(features))
    save(sparse, tmp_path / "model")
    for model in (sparse, other, load(tmp_path / "model")):
        assert_allclose(model.ranking_.scores, dense.ranking_.scores, atol=1e-6)
        assert_allclose(model.ranking_.std_errors, dense.ranking_.std_errors, rtol=1e-4)
        assert_allclose(model.coef_, dense.coef_, atol=1e-6)
        assert_allclose(model.coef_std_errors_, dense.coef_std_errors_, rtol=1e-4)
        assert_allclose(model.feature_std_, dense.feature_std_, rtol=1e-9)
        for table in (new, csr_array(new)):
            for mine, theirs in zip(model.predict(table, True), dense.predict(table, True), strict=True):
                assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)


def test_a_wide_sparse_table_is_never_written_out(monkeypatch):
    """A hundred thousand words: written out, the table would take 80 megabytes and its inner products a terabyte."""
    rng = np.random.default_rng(7)
    data, _, truth = planted(100, 3000, rng, d=2)
    words = np.floor(100_000 * rng.random((100, 200)) ** 3).astype(int)
    table = csr_array((np.ones(words.size), (np.repeat(np.arange(100), 200), words.ravel())), shape=(100, 100_000))
    table = csr_array(hstack([table[:, :-1], truth[:, None]]))
    for kind in ("toarray", "todense"):
        allowed = getattr(csr_array, kind)

        def small(self, *args, allowed=allowed, **options):
            assert self.shape[1] <= 100
            return allowed(self, *args, **options)

        monkeypatch.setattr(csr_array, kind, small)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # more features than items, and words that nobody used
        model = RABF().fit(data, table)
    assert np.corrcoef(model.ranking_.scores, truth)[0, 1] > 0.8
    scores, errors = model.predict(table, return_std=True)
    assert np.isfinite(scores).all()
    assert (errors > 0).all()
    assert np.isfinite(model.coef_std_errors_[~model._ignored]).all()


def test_bad_sparse_tables_are_named():
    data = Comparisons.from_pairs([("ann", "bob"), ("bob", "eve"), ("eve", "ann")])
    table = csr_array(np.eye(3))
    for value in (math.nan, math.inf):
        bad = table.copy()
        bad.data[1] = value
        with pytest.raises(InputError, match=rf"features: 'x2' is {value} for 'bob'; it must be finite"):
            RABF().fit(data, bad)
    with pytest.raises(InputError, match="features have 2 rows, the votes 3 items"):
        RABF().fit(data, table[:2])
    with pytest.raises(InputError, match=r"a table with a column at least is expected, not a shape of \(3, 0\)"):
        RABF().fit(data, csr_array((3, 0)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = RABF().fit(data, table)
    with pytest.raises(InputError, match=r"a sparse table of shape \(3, 2\); the model was fitted with 3 columns"):
        model.predict(table[:, :2])
