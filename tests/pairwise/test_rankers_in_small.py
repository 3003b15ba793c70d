"""Crowds, RABF, online steps and Bradley-Terry on a handful of votes: each number that a fit keeps, from its parts."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import RABF, BradleyTerry, Comparisons, CrowdBradleyTerry, OnlineRABF, PlackettLuce
from podium.data.rankings import Rankings
from podium.errors import ConvergenceError, InputError, SeparationWarning
from podium.pairwise import crowd, rabf
from podium.pairwise._fit.feature_solver import Place
from podium.pairwise._fit.judge_tests import JudgeTest

from helpers import thin_data
from suites.crowds import crowd as judged

NAMES = tuple("abcd")


def votes(m=60, seed=0, ties=True, sided=True, **more):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 4, m).astype(np.int32)
    right = ((left + rng.integers(1, 4, m)) % 4).astype(np.int32)
    outcome = rng.choice([-1, 0, 1] if ties else [-1, 1], m).astype(np.int8)
    return Comparisons(NAMES, left, right, outcome=outcome, sided=sided, **more)


# ---- crowds ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def leaning():
    c, _ = judged(4, [1.4, 0.2, 1.0, 0.8], 30, np.random.default_rng(3), leans=[0.9, -0.5, 0.4, 0.6])
    return CrowdBradleyTerry(l2=0.3, reliability_sd=0.6, side_effect=True).fit(c), c


def test_defaults_and_what_a_fit_keeps(leaning):
    model, c = leaning
    assert CrowdBradleyTerry().get_params() == {
        "l2": "auto", "reliability_sd": "auto", "side_effect": False, "max_iter": 200, "tol": 1e-6,
    }  # fmt: skip
    found = model._found
    assert (model.l2_, model.sd_, model.judges_) == (0.3, None, c.judges)
    assert model.n_iter_ == found.n_iter
    for mine, theirs in (
        ((model.reliability_, model.reliability_std_errors_), found.integral.slope()),
        (
            (model.lean_, model.lean_std_errors_),
            found.integral.lean(),
        ),
    ):
        assert_allclose(mine[0], theirs[0])
        assert_allclose(mine[1], theirs[1])
    assert (model.side_effect_, model.reliability_sd_, model.lean_sd_) == tuple(found.extras)
    assert abs(model.ranking_.scores.mean()) < 1e-9
    assert_allclose(np.diff(model.ranking_.scores), np.diff(found.scores), atol=1e-5)
    assert model.side_effect_std_error_ == model._model.lean_error(found, 0.3)
    assert model.settings_["judges_sd"] == 0.6
    assert CrowdBradleyTerry.upgraded({"a": 1}, 2) == {"side_effect_std_error_": None, "a": 1}
    frame = model.judge_frame()
    assert frame.columns == ["judge", "reliability", "std_error", "lean", "lean_std_error", "votes", "p_value", "flag"]
    order = np.argsort(model.reliability_)
    assert frame["judge"].to_list() == [c.judges[k] for k in order]
    assert_allclose(frame["lean"], model.lean_[order])
    assert_allclose(frame["lean_std_error"], model.lean_std_errors_[order])
    assert_allclose(frame["std_error"], model.reliability_std_errors_[order])
    assert_allclose(frame["p_value"], model._judge_tests()[order, 0])
    assert frame["votes"].to_list() == [30.0] * 4


def test_chances_of_judges_are_means_over_what_is_known_of_them(leaning):
    """σ(b·gap + a) over b ~ N(slope, sd²) and a ~ N(lean, sd²); a stranger has the spread of all."""
    model, c = leaning
    asked = Comparisons(
        (*c.items, "new"), [0, 1, 2, 0, 4], [3, 2, 0, 1, 0], outcome=[0] * 5, sided=True,
        judge=[0, 1, 4, 3, 2], judges=(*c.judges, "stranger"),
    )  # fmt: skip
    found = model.predict_proba(asked)
    plain = model.predict_proba(replace(asked, sided=False))
    scores = np.append(model.ranking_.scores, model.ranking_.scores.mean())
    z = np.linspace(-7, 7, 281)
    one, two = np.meshgrid(z, z, indexing="ij")
    mass = np.exp(-(one**2 + two**2) / 2)
    mass /= mass.sum()
    for row, k in enumerate([0, 1, 4, 3, 2]):
        gap = scores[asked.left[row]] - scores[asked.right[row]]
        slope, spread = (model.reliability_[k], model.reliability_std_errors_[k]) if k < 4 else (1.0, 0.6)
        lean, width = (model.lean_[k], model.lean_std_errors_[k]) if k < 4 else (model.side_effect_, model.lean_sd_)
        chance = 1 / (1 + np.exp(-((slope + spread * one) * gap + lean + width * two)))
        assert found[row, 0] == pytest.approx((mass * chance).sum(), abs=4e-3)
        alone = 1 / (1 + np.exp(-(slope + spread * one) * gap))
        assert plain[row, 0] == pytest.approx((mass * alone).sum(), abs=4e-3)
    assert (found[:, 1] == 0).all()
    assert_allclose(found.sum(axis=1), 1.0)
    nobody = model.predict_proba(Comparisons(c.items, [0], [3], outcome=[0]))
    assert nobody[0, 0] == pytest.approx(model.win_probability(0, 3))
    assert model.win_probability(0, 3, judge=c.judges[1]) == pytest.approx(
        model.predict_proba(Comparisons(c.items, [0], [3], outcome=[0], judge=[0], judges=(c.judges[1],)))[0, 0]
    )
    with pytest.raises(InputError, match="'zoe' is not among the 4 judges"):
        model.win_probability(0, 3, judge="zoe")


def test_with_a_prior_from_the_votes_chances_allow_for_scores_too():
    c, _ = judged(4, [1.0] * 4, 20, np.random.default_rng(5))
    model = CrowdBradleyTerry(reliability_sd=0.0).fit(c)
    asked = Comparisons((*c.items, "new"), [0, 4], [1, 2], outcome=[0, 0])
    variance = model.ranking_.difference_variance(np.array([0]), np.array([1]))[0]
    z = np.linspace(-8, 8, 2001)
    mass = np.exp(-(z**2) / 2)
    margin = model.ranking_.score(0) - model.ranking_.score(1) + math.sqrt(variance) * z
    chance = mass @ (1 / (1 + np.exp(-margin))) / mass.sum()
    assert model.predict_proba(asked)[0, 0] == pytest.approx(chance, abs=2e-3)
    gap = model.ranking_.scores.mean() - model.ranking_.score(2)
    assert model.predict_proba(asked)[1, 0] == pytest.approx(1 / (1 + math.exp(-gap)))  # of strangers nothing is known
    assert model.sd_ == pytest.approx(math.sqrt(0.5 / model._l2))


def test_flags_are_those_of_the_tests_that_were_made(leaning, monkeypatch):
    _, c = leaning
    copy = CrowdBradleyTerry(l2=0.3, reliability_sd=0.6, side_effect=True).fit(c)
    asked = []

    def told(found, l2):
        asked.append(l2)
        return {1: JudgeTest(0.001, 0.5, 0.4), 3: JudgeTest(0.9, 0.9, 0.01)}

    monkeypatch.setattr(copy._model, "tests", told)
    assert copy.flags_ == {c.judges[1]: "chance"}
    assert asked == [0.3]
    assert np.isnan(copy._judge_tests()).tolist() == [[True] * 3, [False] * 3, [True] * 3, [False] * 3]
    frame = copy.judge_frame()
    assert frame.filter(frame["judge"] == c.judges[1])["flag"].to_list() == ["chance"]
    assert frame["p_value"].null_count() == 2
    assert asked == [0.3], "once"
    assert "_model" not in copy.__getstate__()


def test_open_ended_scores_do_not_move_the_mean_of_a_crowd():
    c, _ = judged(4, [1.0] * 3, 30, np.random.default_rng(6))
    lost = (c.left == 2) | (c.right == 2)
    outcome = np.where(lost, np.where(c.left == 2, -1, 1), c.outcome).astype(np.int8)
    with thin_data():
        model = CrowdBradleyTerry(l2=0.3, reliability_sd=0.4).fit(replace(c, outcome=outcome))
    assert abs(model.ranking_.scores[[0, 1, 3]].mean()) < 1e-9
    assert model.ranking_.scores[2] < -1


@pytest.mark.parametrize(("effect", "said"), [(12.1, True), (11.9, False), (-12.1, True)])
def test_a_lean_beyond_measure_is_told(effect, said, leaning, monkeypatch):
    _, c = leaning
    real = crowd.JudgeModel.penalised
    monkeypatch.setattr(
        crowd.JudgeModel, "penalised",
        lambda self, *a: (lambda f: replace(f, extras=np.array([effect, *f.extras[1:]])))(real(self, *a)),
    )  # fmt: skip
    model = CrowdBradleyTerry(l2=0.3, reliability_sd=0.6, side_effect=True)
    if said:
        with pytest.warns(SeparationWarning, match=f"its effect {effect:.3g} has no finite optimum"):
            model.fit(c)
    else:
        model.fit(c)


# ---- RABF -----------------------------------------------------------------------------------------------------------


def table(n=5, d=2, seed=1):
    return np.random.default_rng(seed).normal(2.0, 3.0, (n, d))


def test_rabf_keeps_its_defaults():
    assert RABF().get_params() == {
        "loss": "logistic", "feature_penalty": "auto", "residual_penalty": "auto", "max_norm": None, "ties": "half",
        "side_effect": False, "flip_rate": 0.0, "flip_loss": "auto", "standardize": True, "row_weights": None,
        "missing": "error", "one_hot": False, "max_iter": 200, "tol": 1e-6,
    }  # fmt: skip
    state = RABF.upgraded({"feature_spread_": 3, "_covariate_names": ("x",), "covariate_coef_": np.array([2.0])}, 1)
    assert state["feature_std_"] == 3
    assert state["_columns"] == ("covariate:x",)
    assert state["_extras"].tolist() == [2.0]
    assert (state["ties"], state["side_effect"], state["max_norm"], state["row_weights"]) == ("half", False, None, None)
    assert (state["binding_"], state["_basis"]) == ((), None)
    assert math.isnan(state["feature_radius_"])


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_what_rabf_keeps_follows_from_weights_and_residuals(loss, standardize):
    c, raw = votes(), table()
    features = dict(zip("abcde", raw, strict=True))
    model = RABF(loss=loss, feature_penalty=0.4, residual_penalty=0.7, standardize=standardize).fit(c, features)
    mean, scale = raw[:4].mean(axis=0), raw[:4].std(axis=0) if standardize else np.ones(2)
    moved = (raw - mean) / scale
    w, r = model.coef_ * scale, model.residuals_
    assert r[4] == 0.0
    assert model.unseen_ == ("e",)
    origin = 0.0 if standardize else float(mean @ w)
    assert_allclose(model.ranking_.scores, origin + moved @ w + r, atol=1e-5)
    assert_allclose(model.predict(raw), origin + moved @ w, atol=1e-9)
    parts = np.var((moved @ w)[:4]), np.var(r[:4])
    assert model.explained_ == pytest.approx(parts[0] / sum(parts))
    assert model.feature_radius_ == pytest.approx(np.linalg.norm(moved, axis=1).max())
    assert_allclose(model.feature_std_, raw.std(axis=0))
    u = moved @ w + r
    margin, y = u[c.left] - u[c.right], c.outcome.astype(float)
    value = {
        "logistic": lambda: np.sum(np.logaddexp(0, margin) - (1 + y) / 2 * margin),
        "squared": lambda: np.sum((margin - y) ** 2),
        "hinge": lambda: np.sum((1 + y) / 2 * np.maximum(1 - margin, 0) + (1 - y) / 2 * np.maximum(1 + margin, 0)),
    }[loss]()
    assert model.objective_ == pytest.approx(value + 0.4 * w @ w + 0.7 * r @ r, rel=1e-6)
    if loss == "squared":
        assert model.noise_ == pytest.approx(math.sqrt(model.objective_ / 60), rel=1e-6)
        from scipy.stats import norm

        gap = model.ranking_.score("a") - model.ranking_.score("b")
        assert model.win_probability("a", "b") == pytest.approx(norm.cdf(gap / model.noise_))
    else:
        assert model.noise_ is None
    if loss == "logistic":
        gap = model.ranking_.score("a") - model.ranking_.score("b")
        assert model.win_probability("a", "b") == pytest.approx(1 / (1 + math.exp(-gap)))
    assert model.tie_probability("a", "b") == 0.0
    assert (model.ranking_.information is None) == (loss == "hinge")
    assert_allclose(model.ranking_.record[0], [*c.record()[0], 0.0])
    assert (model.feature_penalty_, model.residual_penalty_, model.boundary_) == (0.4, 0.7, ())


def test_chances_of_reported_votes_know_their_flips():
    model = RABF(feature_penalty=0.4, residual_penalty=0.7, flip_rate=0.1).fit(votes(), table(4))
    gap = model.ranking_.score("a") - model.ranking_.score("b")
    assert model.win_probability("a", "b") == pytest.approx(0.1 + 0.8 / (1 + math.exp(-gap)))
    assert model.ranking_.uncertainty == "auto"
    corrected = RABF(feature_penalty=0.4, residual_penalty=0.7, flip_rate=0.1, flip_loss="corrected").fit(
        votes(), table(4)
    )
    assert corrected.ranking_.uncertainty == "sandwich"
    tied = RABF(feature_penalty=0.4, residual_penalty=0.7, ties="davidson").fit(votes(), table(4))
    gap = tied.ranking_.score("a") - tied.ranking_.score("b")
    total = math.exp(gap / 2) + math.exp(-gap / 2) + tied.tie_strength_
    assert tied.tie_probability("a", "b") == pytest.approx(tied.tie_strength_ / total)
    assert tied.win_probability("a", "b") == pytest.approx(math.exp(gap / 2) / total)


def test_effects_are_named_in_their_order_and_enter_chances():
    rng = np.random.default_rng(4)
    c = votes(200, covariates=rng.normal(size=(200, 2)), covariate_names=("length", "tone"))
    model = RABF(feature_penalty=0.4, residual_penalty=0.7, side_effect=True, ties="davidson").fit(c, table(4))
    assert model.effects_ == ("length", "tone", "side", "tie")
    assert model.covariate_names_ == ("length", "tone")
    assert len(model.covariate_coef_) == len(model.covariate_std_errors_) == 2
    scores = model.ranking_.scores
    margin = scores[c.left] - scores[c.right] + c.covariates @ model.covariate_coef_ + model.side_effect_
    assert_allclose(model._margins(c), margin)
    plain = replace(c, sided=False, outcome=None)
    assert_allclose(model._margins(plain), margin - model.side_effect_)
    errors = model._effect_errors()
    assert_allclose([*model.covariate_std_errors_, model.side_effect_std_error_], errors[:3])
    none = RABF(feature_penalty=0.4, residual_penalty=0.7).fit(votes(), table(4))
    assert none.side_effect_ == 0.0
    assert none.side_effect_std_error_ is None
    assert none.tie_strength_ is None
    assert none.effects_ == ()
    hinge = RABF(loss="hinge", feature_penalty=0.4, residual_penalty=0.7).fit(votes(), table(4))
    with pytest.raises(InputError, match="loss='hinge' is no likelihood: there are no standard errors; use another"):
        _ = hinge.coef_std_errors_


@pytest.mark.parametrize(("off", "refused"), [(0.0, False), (0.5, True)])
def test_two_explanations_are_looked_for_from_farther_out(off, refused, monkeypatch):
    model = RABF(feature_penalty=0.4, residual_penalty=0.7, flip_rate=0.1)
    starts = []
    real = rabf.solve_features

    def solve(problem, penalties, tol, most, start):
        starts.append(start)
        found = real(problem, penalties, tol, most, start)
        moved = Place(found.place.weights, found.place.residuals + off * np.arange(4), found.place.extras)
        return replace(found, place=moved)

    monkeypatch.setattr(rabf, "solve_features", solve)
    if refused:
        with pytest.raises(
            ConvergenceError, match=r"flip_rate=0\.1: these votes can be explained in more than one way"
        ):
            model.fit(votes(), table(4))
    else:
        model.fit(votes(), table(4))
    (start,) = starts
    plain = RABF(feature_penalty=0.4, residual_penalty=0.7).fit(votes(), table(4))
    assert_allclose(start.residuals, 3.0 * plain.residuals_, atol=1e-2)


def test_limits_keep_their_loss_and_say_which_bind():
    c = votes()
    loose, tight = RABF(max_norm=(50.0, 50.0)).fit(c, table(4)), RABF(max_norm=(0.01, 0.1)).fit(c, table(4))
    assert loose.binding_ == ()
    assert tight.binding_ == ("feature", "residual")
    scores = tight.ranking_.scores
    margin = scores[c.left] - scores[c.right]
    value = np.sum(np.logaddexp(0, margin) - (1 + c.outcome) / 2 * margin)
    assert tight.objective_ == pytest.approx(value, rel=1e-5)
    given = RABF(feature_penalty=1.0, residual_penalty=1.0).fit(c, table(4))
    assert given.binding_ == ()
    for wrong in ("ab", (1.0,), (1.0, 2.0, 3.0), (1.0, 0.0), (1.0, math.inf), (True, 1.0), ("1", 1.0), 3.0):
        with pytest.raises(InputError, match="max_norm="):
            RABF(max_norm=wrong).fit(c, table(4))


# ---- online ---------------------------------------------------------------------------------------------------------


def test_online_keeps_its_defaults_and_room_for_newcomers():
    assert OnlineRABF().get_params() == {
        "loss": "logistic", "feature_penalty": 1e-4, "residual_penalty": 1e-4, "schedule": "sqrt", "step": 0.5,
        "average": "auto", "flip_rate": 0.0, "standardize": True,
    }  # fmt: skip
    assert OnlineRABF.upgraded({"loss": "squared"}, 1) == {"flip_rate": 0.0, "loss": "squared"}
    model = OnlineRABF(standardize=False)
    rows = {}
    rng = np.random.default_rng(5)
    for k in range(9):
        rows[k] = rng.normal(size=2)
        model.add({k: rows[k]})
        if k:
            model.update(k, k - 1)
        assert_allclose(model._features[: k + 1], [rows[j] for j in range(k + 1)])
    assert len(model._features) >= 9
    assert model.ranking_.items == tuple(range(9))
    whole = OnlineRABF(standardize=False).add(rows)
    for k in range(1, 9):
        whole.update(k, k - 1)
    assert_allclose(whole.ranking_.scores, model.ranking_.scores)
    assert_allclose(whole.coef_, model.coef_)


@pytest.mark.parametrize(
    ("average", "loss", "mean"),
    [("auto", "logistic", False), ("auto", "squared", True), (True, "logistic", True), (False, "squared", False)],
)
def test_iterates_are_averaged_where_asked_or_with_the_squared_loss(average, loss, mean):
    path = []
    model = OnlineRABF(average=average, loss=loss)
    last = OnlineRABF(average=False, loss=loss)
    for a, b in [("a", "b"), ("b", "c"), ("a", "c"), ("c", "b")]:
        model.update(a, b)
        last.update(a, b)
        path.append(dict(zip(last.ranking_.items, last.ranking_.scores, strict=True)))
    found = dict(zip(model.ranking_.items, model.ranking_.scores, strict=True))
    for item in "abc":
        expected = np.mean([each.get(item, 0.0) for each in path]) if mean else path[-1][item]
        assert found[item] == pytest.approx(expected, abs=1e-12)


def test_ties_and_margins_are_targets_of_the_squared_loss():
    for more, target in (({"tie": True}, 0.0), ({}, 1.0), ({"margin": -2.0}, -2.0)):
        model = OnlineRABF(loss="squared", step=0.1, schedule="constant", residual_penalty=0.0, average=False)
        model.update("a", "b", **more)
        assert_allclose(model.ranking_.scores, [0.2 * target, -0.2 * target])
    flipped = OnlineRABF(
        loss="squared", step=0.1, schedule="constant", residual_penalty=0.0, average=False, flip_rate=0.1
    )
    assert_allclose(flipped.update("a", "b").ranking_.scores, [0.2 / 0.8, -0.2 / 0.8])
    with pytest.raises(InputError, match=r"flip_rate=0\.5: a share of wrong votes lies in \[0, 0\.5\)"):
        OnlineRABF(flip_rate=0.5).update("a", "b")
    with pytest.raises(InputError, match="step · penalty is 1; at 1 and beyond"):
        OnlineRABF(step=2.0, feature_penalty=0.5).update("a", "b")
    OnlineRABF(step=2.0, feature_penalty=0.49).update("a", "b")


# ---- Bradley-Terry --------------------------------------------------------------------------------------------------


def test_bradley_terry_keeps_its_defaults():
    assert BradleyTerry().get_params() == {
        "l2": "auto", "ties": "half", "side_effect": False, "bias_reduction": False, "anchor": None,
        "scale": "log-odds", "half_life": None, "max_iter": 500, "tol": 1e-6,
    }  # fmt: skip


@pytest.mark.parametrize("anchor", [("b", 7.5), {"b": 7.5}])
def test_an_anchor_shifts_all_scores_alike(anchor):
    plain, held = (BradleyTerry(l2=0.2, anchor=each).fit(votes()).ranking_ for each in (None, anchor))
    assert held.score("b") == 7.5
    assert_allclose(held.scores - plain.scores, held.scores[0] - plain.scores[0])
    assert held.note == "'b' is set to 7.5, and all scores are shifted alike"
    assert plain.note is None
    shape = "give one item and its score"
    strange = {("zoe", 1.0): "'zoe' is not among the 4 items", ("b", math.inf): "the score of 'b' is inf"}
    for wrong, why in (strange | {("b",): shape, "b": shape}).items():
        with pytest.raises(InputError, match=why):
            BradleyTerry(anchor=wrong).fit(votes())


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_chances_under_a_prior_are_means_over_the_margin(ties):
    model = BradleyTerry(ties=ties).fit(votes())
    asked = Comparisons((*NAMES, "new"), [0, 4], [2, 1], outcome=[0, 0])
    variance = model.ranking_.difference_variance(np.array([0]), np.array([2]))[0]
    assert_allclose(model._margin_variance(asked), [variance, 0.0])
    z = np.linspace(-8, 8, 4001)
    mass = np.exp(-(z**2) / 2)
    margin = model.ranking_.score("a") - model.ranking_.score("c") + math.sqrt(variance) * z
    parts = np.exp(margin / 2), np.full(len(z), model.tie_strength_ or 0.0), np.exp(-margin / 2)
    expected = [mass @ (part / sum(parts)) / mass.sum() for part in parts]
    assert_allclose(model.predict_proba(asked)[0], expected, atol=1e-3)
    assert (model.win_probability("a", "c"), model.tie_probability("a", "c")) == pytest.approx(
        tuple(expected[:2]), abs=1e-3
    )
    given = BradleyTerry(l2=0.2, ties=ties).fit(votes())
    assert given._margin_variance(asked).tolist() == [0.0, 0.0]


def test_errors_of_effects_are_those_of_posterior_or_likelihood():
    c = votes(200, covariates=np.random.default_rng(6).normal(size=(200, 1)), covariate_names=("length",))
    from podium.ranking.uncertainty import extra_std_errors

    auto = BradleyTerry(side_effect=True, ties="davidson").fit(c)
    assert auto.effects_ == ("length", "side", "tie")
    own = extra_std_errors(auto.ranking_.posterior, "hessian")
    assert_allclose([*auto.coef_std_errors_, auto.side_effect_std_error_], own[:2])
    auto.ranking_ = auto.ranking_.with_uncertainty("sandwich")
    robust = extra_std_errors(auto.ranking_.information, "sandwich", None)
    assert_allclose([*auto.coef_std_errors_, auto.side_effect_std_error_], robust[:2])
    given = BradleyTerry(l2=0.2, side_effect=True).fit(c)
    assert_allclose(given.coef_std_errors_[0], extra_std_errors(given.ranking_.information, "auto", None)[0])
    assert BradleyTerry(l2=0.2).fit(votes()).coef_std_errors_.tolist() == []


def test_pairs_of_rankings_are_clustered():
    lists = [["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"], ["a", "c", "b"]] * 5
    c = Comparisons.from_rankings(lists)
    assert c.group_is == "ranking"
    for model in (BradleyTerry(l2=0.2).fit(c), RABF(feature_penalty=1.0, residual_penalty=0.5).fit(c)):
        assert (model.ranking_.uncertainty, model.ranking_.cluster) == ("cluster", "ranking")
    days = votes(group=np.arange(60) // 20, groups=(0, 1, 2))
    for model in (BradleyTerry(l2=0.2).fit(days), RABF(feature_penalty=1.0, residual_penalty=0.5).fit(days)):
        assert (model.ranking_.uncertainty, model.ranking_.cluster) == ("auto", None)


def test_rankings_of_newcomers_by_place_or_by_label_go_on_alike():
    from podium import DynamicBradleyTerry

    raw = table(6)
    first = votes(time=np.arange(60) / 6.0)
    late = Comparisons.from_arrays(["e", "a", "f"], ["a", "b", "e"], time=[11.0, 11.0, 12.0])
    named = dict(zip("abcdef", raw, strict=True))
    options = {"drift": 0.3, "sd": 0.9, "feature_penalty": 0.5}
    order = [named[item] for item in late.items]
    ways = [named, np.array(order), {k: named[k] for k in "ef"}]
    fits = [DynamicBradleyTerry(**options).fit(first, raw[:4]).partial_fit(late, way) for way in ways]
    begun = DynamicBradleyTerry(**options).partial_fit(first, raw[:4])
    assert begun.ranking_.items == NAMES
    for each in fits:
        assert set(each.ranking_.items) == set("abcdef")
        assert_allclose(
            [each.ranking_.score(item) for item in "abcdef"],
            [fits[0].ranking_.score(item) for item in "abcdef"],
            atol=1e-5,
        )
        assert_allclose([each._table[each._history["items"].index(item)] for item in "ef"], raw[4:])
    scores, deviations = fits[0].predict(raw, return_std=True)
    assert_allclose(scores, fits[0].predict(raw))
    assert (deviations > 0.9).all()


@pytest.mark.parametrize("options", [{"l2": 0.2}, {"l2": "auto"}, {"l2": 0.2, "bias_reduction": True}])
def test_a_fit_of_bradley_terry_keeps_what_it_found_and_looks_at_a_penalty_that_was_given(options, monkeypatch):
    from podium.pairwise._fit.strength_model import StrengthModel

    said = []
    for name in ("warn_of_penalty", "warn_of_separation", "check_design"):
        monkeypatch.setattr(StrengthModel, name, lambda self, *a, name=name: said.append((name, a)))
    c = votes(200)
    model = BradleyTerry(**options, ties="davidson", side_effect=True).fit(c)
    names = [name for name, _ in said]
    assert names[:2] == ["check_design", "warn_of_separation"]
    assert ("warn_of_penalty" in names) == (options == {"l2": 0.2})
    if "warn_of_penalty" in names:
        found, l2, bounded = said[-1][1]
        assert l2 == 0.2
        assert bounded.tolist() == [True] * 4
        assert_allclose(found.extras, model._extras)
    auto = options["l2"] == "auto"
    assert (model.sd_ is None) == (not auto)
    assert model.l2_ == (pytest.approx(0.5 / model.sd_**2) if auto else 0.2)
    assert (model.ranking_.posterior is None) == (not auto)
    assert bool(model.ranking_.information) is True
    assert model.converged_ is True
    assert model.n_iter_ >= 1
    assert model.solver_ == "dense"
    assert (model.n_votes_, model.n_parameters_) == (200.0, 5)
    assert model.votes_per_parameter_ == 40.0
    assert model.effects_ == ("side", "tie")
    assert_allclose(model.ranking_.record, c.record())
    given = BradleyTerry(ties="davidson").fit(c, sd=0.8)
    assert (given.sd_, given.l2_) == (0.8, pytest.approx(0.5 / 0.64))
    heavy = BradleyTerry().fit(replace(c, weight=np.full(200, 0.5)), sd=0.8)
    assert heavy.l2_ == pytest.approx(0.5 / 0.64 / 2)


def test_votes_that_age_count_by_their_half_life():
    c = votes(time=np.arange(60) / 6.0)
    model = BradleyTerry(l2=0.2, half_life=2.0).fit(c)
    last = float(c.time.max())
    weighed = replace(c, weight=0.5 ** ((last - c.time) / 2.0))
    plain = BradleyTerry(l2=0.2).fit(weighed)
    assert_allclose(model.ranking_.scores, plain.ranking_.scores, atol=1e-6)
    assert_allclose(model.ranking_.record, c.record())  # counted whole
    assert model._training is c


@pytest.mark.parametrize("make", [BradleyTerry, PlackettLuce, lambda: CrowdBradleyTerry(reliability_sd=0.0)])
def test_under_a_prior_chances_turn_around_whichever_item_comes_first(make):
    c = votes(80, judge=np.arange(80) % 4, judges=tuple("wxyz"))
    model = make().fit(c)
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b]
    left, right = np.array(pairs, dtype=np.int32).T
    chances = model.predict_proba(Comparisons(NAMES, left, right, outcome=np.zeros(12, dtype=np.int8)))
    known = dict(zip(pairs, chances[:, 0], strict=True))
    for a, b in pairs:
        assert known[a, b] + known[b, a] == pytest.approx(1.0)
        gap = model.ranking_.scores[a] - model.ranking_.scores[b]
        assert abs(known[a, b] - 0.5) < abs(1 / (1 + math.exp(-gap)) - 0.5), "doubt draws to the middle"


def test_so_many_rankings_are_simulated_by_default(monkeypatch):
    from podium.pairwise import plackett_luce

    model = PlackettLuce(l2=0.3).fit(Rankings.from_lists([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"]]))
    seeds = []
    monkeypatch.setattr(plackett_luce, "_simulated", lambda r, scores, rng: seeds.append(rng.random()) or r)
    monkeypatch.setattr(PlackettLuce, "_fitted_again", lambda self, drawn, scores: scores)
    found = model.goodness_of_fit()
    assert (found.replicates, found.p_value, len(seeds)) == (199, 1.0, 199)
    assert seeds[0] == np.random.default_rng(0).random()
