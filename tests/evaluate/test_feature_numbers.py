"""Bounds, plans and what features are worth: every number by its formula, every sentence in its words."""

import dataclasses
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from podium import RABF, Comparisons, PlackettLuce
from podium.errors import InputError
from podium.evaluate import feature_bounds, feature_diagnosis, learning_curve, plan_votes, risk_bound
from podium.evaluate.feature_bounds import RiskBound, VotePlan, _misordered
from podium.evaluate.feature_diagnosis import LearningCurve, residual_norm, residual_outliers

PENALTIES = {"feature_penalty": 0.3, "residual_penalty": 0.7}
FEATURES = np.array([[1.0, 0.0], [0.5, 1.0], [-1.0, 0.3], [0.0, -2.0], [0.7, 0.7]])


def votes(m=40, seed=0, n=5, **more):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    return Comparisons.from_arrays(left, right, items=range(n), **more)


# ---- the bound ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_each_part_of_a_bound_is_its_formula(loss):
    bound = RiskBound(loss, 50.0, 0.1, 0.4, 0.3, 0.2, 1.5, 2.0, 7.0)
    complexity = 2 * 2.0 * (math.sqrt(2) * 1.5 * 0.3 + 0.2) * math.sqrt(2 / 50)
    deviation = 7.0 * math.sqrt(math.log(1 / 0.1) / (2 * 50))
    assert bound.complexity == pytest.approx(complexity)
    assert bound.deviation == pytest.approx(deviation)
    assert bound.value == pytest.approx(0.4 + complexity + deviation)
    assert bound.error == 1.0
    small = dataclasses.replace(bound, votes=1e6)
    assert small.error == pytest.approx(small.value / (math.log(2) if loss == "logistic" else 1.0))
    excess = {"logistic": 0.2**2 / 2, "squared": 0.2**2, "hinge": 0.2}[loss]
    assert bound.votes_for(0.2) == pytest.approx(((complexity + deviation) * math.sqrt(50) / excess) ** 2)
    for epsilon in (0, -0.1, "x"):
        with pytest.raises(InputError, match="epsilon="):
            bound.votes_for(epsilon)
    assert bound.votes_for(1e-200) == math.inf


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
@pytest.mark.parametrize("limit", [(0.5, 0.25), None])
def test_a_bound_is_about_the_votes_and_the_lengths_of_the_model(loss, limit):
    tie = np.arange(40) % 5 == 0
    weight = np.linspace(0.5, 2.0, 40)
    c = votes(tie=tie, weight=weight)
    options = {"max_norm": limit} if limit else PENALTIES
    model = RABF(loss=loss, **options).fit(c, FEATURES)
    bound = risk_bound(model, c)
    assert (bound.loss, bound.delta) == (loss, 0.05)
    assert bound.votes == pytest.approx(weight.sum())
    scores = model.ranking_.scores
    margin = scores[c.left] - scores[c.right]
    outcome = np.where(tie, 0.5, 1.0)
    wide, rest = bound.feature_norm, bound.residual_norm
    if limit:
        assert (wide, rest) == limit
    else:
        assert wide == pytest.approx(np.linalg.norm(model.coef_ * model._scale))
        square = model.residuals_ @ model.residuals_ if loss == "hinge" else residual_norm(model)
        assert rest == pytest.approx(math.sqrt(square))
    assert bound.radius == model.feature_radius_
    far = 2 * bound.radius * wide + math.sqrt(2) * rest
    each, lipschitz, largest = {
        "logistic": (
            -outcome * np.log(1 / (1 + np.exp(-margin))) - (1 - outcome) * np.log(1 / (1 + np.exp(margin))),
            1.0,
            math.log1p(math.exp(far)),
        ),
        "squared": ((margin - (2 * outcome - 1)) ** 2, 2 * (far + 1), (far + 1) ** 2),
        "hinge": (
            outcome * np.maximum(1 - margin, 0) + (1 - outcome) * np.maximum(1 + margin, 0),
            1.0,
            1 + far,
        ),
    }[loss]
    assert bound.empirical == pytest.approx(np.average(each, weights=weight))
    assert bound.lipschitz == pytest.approx(lipschitz)
    assert bound.largest == pytest.approx(largest)


def test_a_bound_of_margins_is_about_the_margins():
    margin = np.linspace(0.1, 3.0, 40)
    c = votes(margin=margin)
    model = RABF(loss="squared", max_norm=(0.5, 0.25)).fit(c, FEATURES)
    bound = risk_bound(model, c, delta=0.2)
    scores = model.ranking_.scores
    assert bound.delta == 0.2
    assert bound.empirical == pytest.approx(np.mean((scores[c.left] - scores[c.right] - margin) ** 2))
    off = 2 * bound.radius * 0.5 + math.sqrt(2) * 0.25 + 3.0
    assert (bound.lipschitz, bound.largest) == pytest.approx((2 * off, off**2))


def test_what_has_no_bound_is_refused():
    c = votes()
    model = RABF(**PENALTIES).fit(c, FEATURES)
    for delta in (1.0, 2.0):
        with pytest.raises(InputError, match=f"delta={delta}: a probability between 0 and 1 is expected"):
            risk_bound(model, c, delta=delta)
    for delta in (0.0, -1.0, math.nan):
        with pytest.raises(InputError, match="delta="):
            risk_bound(model, c, delta=delta)
    says = "the bounds are about scores alone; fit without side, covariates, modelled ties and flips"
    tied = votes(tie=np.arange(40) % 4 == 0)
    styled = votes(covariates={"length": np.linspace(-1, 1, 40)})
    for data, other in (
        (tied, RABF(ties="davidson", **PENALTIES).fit(tied, FEATURES)),
        (c, RABF(flip_rate=0.1, **PENALTIES).fit(c, FEATURES)),
        (styled, RABF(**PENALTIES).fit(styled, FEATURES)),
    ):
        with pytest.raises(InputError, match=says):
            risk_bound(other, data)
    with pytest.raises(InputError, match="a fitted RABF is expected, not a PlackettLuce"):
        risk_bound(PlackettLuce(), c)
    with pytest.raises(InputError, match="risk_bound takes Comparisons"):
        risk_bound(model, [(0, 1)])


# ---- the plan -------------------------------------------------------------------------------------------------------


def test_a_plan_in_words():
    plan = VotePlan(0.05, (10, 1200), (0.3, 0.1234), 5678.4, 2.34e9, -0.5)
    assert str(plan) == (
        "1,200 votes: about 12.3 % of pairs in the wrong order; 5 % needs about 5,678 votes by the learning curve, "
        "2.3e+09 by the bound of Theorem 2"
    )
    assert "about 999,999,999,999 votes" in str(dataclasses.replace(plan, by_curve=999_999_999_999.0))
    assert "about 1e+12 votes" in str(dataclasses.replace(plan, by_curve=1e12))
    assert "about inf votes" in str(dataclasses.replace(plan, by_curve=math.inf))
    assert str(dataclasses.replace(plan, by_curve=math.inf, exponent=feature_bounds.SLOWEST)) == (
        "1,200 votes: about 12.3 % of pairs in the wrong order, and more votes have not lowered it so far: the items "
        "may well be equal"
    )
    slow = dataclasses.replace(plan, by_curve=800.0, exponent=feature_bounds.SLOWEST)
    assert "needs about 800 votes" in str(slow)


@pytest.mark.parametrize(
    ("power", "factor", "exponent", "by_curve"),
    [
        (-0.5, 1.0, -0.5, lambda error: 40 * (error / 0.05) ** 2),
        (-1.0, 0.4, -1.0, lambda error: 40 * error / 0.05),
        (-3.0, 900.0, -2.0, lambda error: 40 * (error / 0.05) ** 0.5),
        (0.0, 0.2, -0.05, lambda error: math.inf),
        (0.0, 0.05, -0.05, lambda error: 40.0),  # there already
        (0.3, 0.01, -0.05, lambda error: 40 * (error / 0.05) ** 20),
    ],
)
def test_a_plan_goes_on_by_the_power_of_the_votes_so_far(power, factor, exponent, by_curve, monkeypatch):
    """Errors factor · votes^power on average over the splits: the exponent is held between −2 and −1/20."""
    turn = iter(range(100))

    def misordered(model, rng):
        k = next(turn)
        return factor * (10, 14, 20, 28, 40)[k % 5] ** power * (1.1 if k < 5 else 0.9)

    monkeypatch.setattr(feature_bounds, "_misordered", misordered)
    plan = plan_votes(votes(), FEATURES, splits=2, **PENALTIES)
    assert plan.sizes == (10, 14, 20, 28, 40)
    assert_allclose(plan.errors, [factor * size**power for size in plan.sizes])
    assert plan.exponent == pytest.approx(exponent)
    assert plan.by_curve == pytest.approx(by_curve(factor * 40**power))
    model = RABF(**PENALTIES).fit(votes(), FEATURES)
    assert plan.by_bound == pytest.approx(risk_bound(model, votes()).votes_for(0.05))


def test_a_plan_learns_from_parts_drawn_by_the_seed():
    c = votes()
    plans = {seed: plan_votes(c, FEATURES, splits=1, seed=seed, **PENALTIES) for seed in (0, 3)}
    order = np.random.default_rng(3).permutation(40)
    models = [RABF(**PENALTIES).fit(c.take(order[:size]), FEATURES) for size in (10, 14, 20, 28, 40)]
    assert_allclose(plans[3].errors, [wrong_pairs(model) for model in models])
    assert plan_votes(c, FEATURES, splits=1, **PENALTIES) == plans[0] != plans[3]


def test_a_plan_is_the_mean_of_three_splits_unless_told(monkeypatch):
    asked = []
    monkeypatch.setattr(feature_bounds, "_misordered", lambda model, rng: asked.append(model) or len(asked) / 1000)
    plan = plan_votes(votes(20), FEATURES, **PENALTIES)
    assert len(asked) == 15
    assert_allclose(plan.errors, [(k + (k + 5) + (k + 10)) / 3000 for k in range(1, 6)])


def wrong_pairs(model, pairs=None):
    """Mean chance, over pairs of compared items, that the lower one is truly the higher."""
    ranking = model.ranking_
    met = [k for k, item in enumerate(ranking.items) if item not in model.unseen_]
    chances = []
    for a in range(len(met)):
        for b in range(a + 1, len(met)):
            i, j = met[a], met[b]
            weight = np.zeros(len(ranking))
            weight[i], weight[j] = 1.0, -1.0
            error = math.sqrt(weight @ ranking.covariance @ weight)
            chances.append(norm.cdf(-abs(ranking.scores[i] - ranking.scores[j]) / error))
    return np.mean(chances if pairs is None else np.array(chances)[pairs])


def test_wrong_pairs_are_of_items_that_were_compared(monkeypatch):
    c = votes(30, n=4)
    c = Comparisons.from_arrays(c.left, c.right, items=range(5))  # the last without votes
    model = RABF(**PENALTIES).fit(c, FEATURES)
    assert list(model.unseen_) == [4]
    rng = np.random.default_rng(0)
    assert _misordered(model, rng) == pytest.approx(wrong_pairs(model))
    monkeypatch.setattr(feature_bounds, "MAX_PAIRS", 6)
    assert _misordered(model, rng) == pytest.approx(wrong_pairs(model))  # all six
    monkeypatch.setattr(feature_bounds, "MAX_PAIRS", 5)
    kept = np.random.default_rng(7).choice(6, 5, replace=False)
    assert _misordered(model, np.random.default_rng(7)) == pytest.approx(wrong_pairs(model, kept))
    monkeypatch.setattr(type(model.ranking_), "covariance", None)  # as with very many items: as if independent
    monkeypatch.setattr(feature_bounds, "MAX_PAIRS", 6)
    ranking = model.ranking_
    one, other = np.triu_indices(4, 1)
    gap = np.abs(ranking.scores[one] - ranking.scores[other])
    error = np.hypot(ranking.std_errors[one], ranking.std_errors[other])
    assert _misordered(model, rng) == pytest.approx(norm.cdf(-gap / error).mean())


def test_the_bound_of_a_plan_leaves_effects_out():
    c = votes(tie=np.arange(40) % 5 == 0, covariates={"length": np.linspace(-1, 1, 40)})
    bare = dataclasses.replace(c, covariates=None, covariate_names=())
    plan = plan_votes(c, FEATURES, splits=1, ties="davidson", epsilon=0.1, **PENALTIES)
    wanted = risk_bound(RABF(**PENALTIES).fit(bare, FEATURES), bare).votes_for(0.1)
    assert plan.by_bound == pytest.approx(wanted)
    assert plan.epsilon == 0.1
    flips = plan_votes(bare, FEATURES, splits=1, flip_rate=0.1, **PENALTIES)
    assert flips.by_bound == pytest.approx(risk_bound(RABF(**PENALTIES).fit(bare, FEATURES), bare).votes_for(0.05))


def test_what_cannot_be_planned_is_refused():
    with pytest.raises(InputError, match="19 votes are too few to plan by; it needs at least 20"):
        plan_votes(votes(19), FEATURES)
    assert plan_votes(votes(20), FEATURES, splits=1, **PENALTIES).sizes == (5, 7, 10, 14, 20)
    for epsilon in (0.5, 0.6):
        with pytest.raises(InputError, match=f"epsilon={epsilon}: a share of pairs between 0 and 0.5 is expected"):
            plan_votes(votes(), FEATURES, epsilon=epsilon)
    for bad in ({"epsilon": 0}, {"epsilon": math.nan}, {"splits": 0}, {"splits": 1.5}, {"seed": -1}):
        with pytest.raises(InputError, match=f"{next(iter(bad))}="):
            plan_votes(votes(), FEATURES, **bad)
    with pytest.raises(InputError, match=r"a plan takes votes apart; keep each vote a row \(keep=\)"):
        plan_votes(votes().merged(), FEATURES)
    with pytest.raises(InputError, match="plan_votes takes Comparisons"):
        plan_votes([(0, 1)], FEATURES)


# ---- what features miss ---------------------------------------------------------------------------------------------


def residuals(model):
    """Residuals, their errors by the curvature of loss and prior, and which items were compared."""
    information = model.ranking_.information
    total = np.full(len(model.ranking_), float(information.ridge))
    for left, right, curvature in zip(information.left, information.right, information.curvature, strict=True):
        total[left] += curvature
        total[right] += curvature
    met = np.array([item not in model.unseen_ for item in model.ranking_.items])
    return model.residuals_, 1 / np.sqrt(total), met


@pytest.fixture(scope="module")
def with_stranger():
    """Five items of which the last two have no votes."""
    c = votes(60, n=3, seed=2)
    c = Comparisons.from_arrays(c.left, c.right, items=range(5))
    return RABF(**PENALTIES).fit(c, FEATURES)


def test_the_size_of_what_features_miss_is_over_items_with_votes(with_stranger):
    rest, error, met = residuals(with_stranger)
    assert met.tolist() == [True, True, True, False, False]
    assert residual_norm(with_stranger) == pytest.approx((rest[met] ** 2 + error[met] ** 2).sum())


def test_outliers_are_far_for_their_own_error_among_all_items(with_stranger):
    rest, error, met = residuals(with_stranger)
    z = rest / error
    order = [k for k in np.argsort(-np.abs(z)).tolist() if met[k]]
    for count in range(4):
        ends = [np.inf, *np.abs(z[order]), 0.0]
        width = (ends[count] + ends[count + 1]) / 2 if count else ends[1] * 1.01
        level = (2 * norm.cdf(width) - 1) ** 3  # for three items together
        if not 1e-9 < level < 1 - 1e-9:
            continue
        found = residual_outliers(with_stranger, level=level)
        assert found.columns == ["item", "residual", "std_error", "z"]
        assert found["item"].to_list() == [str(k) for k in order[:count]]
        assert_allclose(found["residual"], rest[order[:count]])
        assert_allclose(found["std_error"], error[order[:count]])
        assert_allclose(found["z"], z[order[:count]])
    default = residual_outliers(with_stranger)
    far = np.abs(z) > norm.ppf((1 + 0.95 ** (1 / 3)) / 2)
    assert len(default) == (far & met).sum()
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        residual_outliers(with_stranger, level=1.0)


def test_what_has_no_residuals_is_refused():
    c = votes()
    with pytest.raises(InputError, match="this PlackettLuce was fitted without features; give them to fit"):
        residual_norm(PlackettLuce().fit(c))
    hinge = RABF(loss="hinge", **PENALTIES).fit(c, FEATURES)
    for ask in (residual_norm, residual_outliers):
        with pytest.raises(InputError, match="loss='hinge' is no likelihood: nothing says how sure residuals are"):
            ask(hinge)
        with pytest.raises(InputError, match="a fitted RABF or PlackettLuce is expected, not a int"):
            ask(3)


def test_a_learning_curve_is_that_of_a_loop():
    c = votes(50)
    found = learning_curve(c, FEATURES, sizes=(0.1, 0.5), splits=2, seed=5, **PENALTIES)
    assert found.sizes == (5, 25)
    rng = np.random.default_rng(5)
    for split in range(2):
        order = rng.permutation(50)
        held = c.take(order[40:])
        for place, size in enumerate(found.sizes):
            for table, losses in ((FEATURES, found.with_features), (None, found.without_features)):
                model = RABF(**PENALTIES).fit(c.take(order[:size]), table)
                chance = model.predict_proba(held)[:, 0]
                assert losses[place, split] == pytest.approx(-np.log(chance).mean(), rel=1e-6)
    assert_allclose(found.advantage, (found.without_features - found.with_features).mean(axis=1))


def test_a_learning_curve_without_being_told(monkeypatch):
    asked = []

    class Quick:
        def __init__(self, **options):
            self.options = options

        def fit(self, part, table, id=None):
            asked.append((len(part.left), table is not None, id, self.options))
            return self

        def score(self, held):
            return -float(len(held.left))

    monkeypatch.setattr(feature_diagnosis, "RABF", Quick)
    found = learning_curve(votes(40), FEATURES, id="name", loss="x")
    assert found.sizes == (2, 4, 8, 16, 32)
    assert found.with_features.shape == (5, 5)
    assert (found.with_features == 8.0).all()  # a fifth is held out
    assert asked[:4] == [(2, True, "name", {"loss": "x"}), (2, False, None, {"loss": "x"}),
                         (4, True, "name", {"loss": "x"}), (4, False, None, {"loss": "x"})]  # fmt: skip
    assert learning_curve(votes(40), FEATURES, sizes=(0.001,), splits=1).sizes == (2,)
    assert learning_curve(votes(20), FEATURES, sizes=np.array([0.8]), splits=1).sizes == (16,)


def test_the_first_part_of_a_learning_curve_is_drawn_from_seed_0(monkeypatch):
    c = votes(40)
    one = learning_curve(c, FEATURES, sizes=(0.5,), splits=1, **PENALTIES)
    same, other = (learning_curve(c, FEATURES, sizes=(0.5,), splits=1, seed=k, **PENALTIES) for k in (0, 1))
    assert one.with_features.tolist() == same.with_features.tolist() != other.with_features.tolist()


def test_what_is_no_learning_curve_is_refused():
    for sizes in ((0.81,), (0.0,), (-0.1,), (), 0.5, "0.5", ("half",), (None,)):
        with pytest.raises(InputError, match=r"sizes are shares of the votes up to 0\.8 \(a fifth is held out\); got"):
            learning_curve(votes(), FEATURES, sizes=sizes)
    with pytest.raises(InputError, match="19 votes, too few for a learning curve; it needs at least 20"):
        learning_curve(votes(19), FEATURES)
    with pytest.raises(InputError, match=r"a learning curve takes votes apart; keep each vote a row \(keep=\)"):
        learning_curve(votes().merged(), FEATURES)
    for bad in ({"splits": 0}, {"seed": -1}):
        with pytest.raises(InputError, match=f"{next(iter(bad))}="):
            learning_curve(votes(), FEATURES, **bad)
    with pytest.raises(InputError, match="learning_curve takes Comparisons"):
        learning_curve([(0, 1)], FEATURES)


def test_an_advantage_is_the_mean_over_splits():
    curve = LearningCurve((2, 4), np.array([[1.0, 2.0], [0.5, 0.5]]), np.array([[2.0, 4.0], [0.25, 1.0]]))
    assert curve.advantage.tolist() == [1.5, 0.125]


def test_features_may_be_a_table_with_names():
    import polars as pl

    c = votes(20)
    table = pl.DataFrame({"u": FEATURES[::-1, 0], "name": [4, 3, 2, 1, 0], "v": FEATURES[::-1, 1]})
    named = plan_votes(c, table, id="name", splits=1, **PENALTIES)
    plain = plan_votes(c, FEATURES, splits=1, **PENALTIES)
    assert_allclose(named.errors, plain.errors)
    assert named.by_bound == pytest.approx(plain.by_bound)
    curve = learning_curve(c, table, id="name", sizes=(0.8,), splits=1, **PENALTIES)
    assert_allclose(curve.with_features, learning_curve(c, FEATURES, sizes=(0.8,), splits=1, **PENALTIES).with_features)
