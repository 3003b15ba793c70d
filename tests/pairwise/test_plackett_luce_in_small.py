"""Plackett-Luce on a handful of rankings: what a fit keeps, what is refused, and tables from their parts."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import Comparisons, PlackettLuce
from podium.data.rankings import Rankings
from podium.errors import InputError
from podium.pairwise import plackett_luce
from podium.pairwise._fit.choices import ListLoss
from podium.ranking.uncertainty import extra_std_errors

from helpers import thin_data

ITEMS = "abcde"


def lists(rows=30, ties=False, seed=0, listed=3):
    rng = np.random.default_rng(seed)
    orders = np.argsort(-(np.linspace(1, -1, 5) + rng.gumbel(size=(rows, 5))), axis=1)[:, :listed]
    made = [[ITEMS[k] for k in order] for order in orders]
    return [[a, [b, c]] if ties and k % 3 == 0 else [a, b, c] for k, (a, b, c) in enumerate(made)]


def rankings(unranked="below", **more):
    weight = more.pop("weight", None)
    return Rankings.from_lists(lists(**more), items=list(ITEMS), unranked=unranked, weight=weight)


def test_defaults_and_older_states():
    assert PlackettLuce().get_params() == {
        "l2": "auto", "feature_penalty": "auto", "ties": "efron", "standardize": True, "missing": "error",
        "one_hot": False, "max_iter": 200, "tol": 1e-6,
    }  # fmt: skip
    model = PlackettLuce(l2=0.3).fit(rankings())
    state = PlackettLuce.upgraded({"ranking_": model.ranking_, "l2": 0.3}, 1)
    assert state["residuals_"].tolist() == model.ranking_.scores.tolist()
    assert (state["feature_penalty"], state["standardize"], state["missing"], state["one_hot"]) == (
        "auto",
        True,
        "error",
        False,
    )
    assert state["feature_penalty_"] is None


@pytest.mark.parametrize(
    ("options", "featured", "why"),
    [({"l2": -1}, 0, "l2=-1"), ({"l2": "much"}, 0, "l2='much'"), ({"feature_penalty": 0}, 0, "feature_penalty=0"),
     ({"ties": "half"}, 0, "ties='half'"), ({"missing": "zero"}, 0, "missing='zero'"), ({"tol": 0}, 0, "tol=0"),
     ({"standardize": 3}, 0, "standardize=3"), ({"one_hot": "x"}, 0, "one_hot='x'"), ({"max_iter": 0}, 0, "max_iter=0"),
     ({"l2": 0}, 1, "l2=0 leaves features nothing to explain"), ({"l2": 1.01e12}, 1, r"l2=.*at most 1e\+12"),
     ({"feature_penalty": 1.01e12}, 1, r"feature_penalty=.*at most 1e\+12")],
)  # fmt: skip
def test_options_are_refused_by_name(options, featured, why):
    with pytest.raises(InputError, match=why):
        PlackettLuce(**options)._check(5, bool(featured))
    PlackettLuce(l2=1e12, feature_penalty=1e12)._check(5, True)
    PlackettLuce(l2=2e12, feature_penalty=2e12)._check(5, False)
    PlackettLuce(l2=0)._check(5, False)


@pytest.mark.parametrize(("most", "held"), [(5, True), (4, False)])
def test_items_are_as_many_as_a_matrix_holds(most, held, monkeypatch):
    monkeypatch.setattr(plackett_luce, "MAX_DENSE_ITEMS", most)
    if held:
        PlackettLuce()._check(5, False)
    else:
        with pytest.raises(
            InputError, match=r"up to 4 items; there are 5; rank fewer, or break the rankings into pairs"
        ):
            PlackettLuce()._check(5, False)


@pytest.mark.parametrize("weight", [None, np.full(30, 0.5)])
@pytest.mark.parametrize("ties", ["efron", "davidson"])
def test_a_fit_keeps_what_it_found(ties, weight):
    r = rankings(ties=True, weight=weight)
    model = PlackettLuce(l2=0.3, ties=ties).fit(r)
    loss = ListLoss(r, davidson=ties == "davidson")
    extras = np.log(list(model.tie_strengths_.values()))
    value, gradient = loss.value(model.ranking_.scores, extras)
    assert_allclose(gradient[:5] + 0.6 * model.ranking_.scores, 0.0, atol=1e-4)
    assert model.log_likelihood_ == pytest.approx(-value, rel=1e-6)
    assert (model.n_rankings_, model.converged_, model.sd_, model.l2_) == (30, True, None, 0.3)
    assert model.residuals_.tolist() == model.ranking_.scores.tolist()
    assert model.residuals_ is not model.ranking_.scores
    assert model.feature_names_ == ()
    assert list(model.tie_strengths_) == ([2] if ties == "davidson" else [])
    assert model.tie_strength_ == (None if ties == "efron" else model.tie_strengths_[2])
    assert not model.credible_intervals_
    errors = model.tie_std_errors_
    if ties == "davidson":
        assert errors == {2: pytest.approx(extra_std_errors(model.ranking_.information, "hessian")[-1])}
    else:
        assert errors == {}
    assert_allclose(model.ranking_.record, r.record())
    assert model.settings_["l2"] == 0.3


def test_penalties_from_weights_that_are_no_counts_are_in_rankings():
    one, two = PlackettLuce().fit(rankings()), PlackettLuce().fit(rankings(weight=np.full(30, 0.25)))
    assert two.sd_ == pytest.approx(one.sd_, rel=1e-4)
    assert two.l2_ == pytest.approx(0.25 * one.l2_, rel=1e-3)
    assert_allclose(two.ranking_.scores, one.ranking_.scores, atol=1e-4)
    assert_allclose(two.ranking_.posterior.ridge, one.ranking_.posterior.ridge, rtol=1e-3)
    assert one.l2_ == pytest.approx(0.5 / one.sd_**2)
    tied = PlackettLuce(ties="davidson").fit(rankings(ties=True))
    assert tied.tie_std_errors_[2] == pytest.approx(extra_std_errors(tied.ranking_.posterior, "hessian")[-1])


def test_open_ended_scores_do_not_move_the_mean():
    r = Rankings.from_lists(lists(), items=[*ITEMS, "never"], unranked="below")
    with thin_data():
        ranking = PlackettLuce(l2=0.3).fit(r).ranking_
    assert abs(ranking.scores[:5].mean()) < 1e-9
    assert ranking.score("never") < ranking.scores[:5].min()


def test_residuals_of_all_pairs_are_those_of_a_loop_largest_first():
    model = PlackettLuce(l2=0.3).fit(rankings())
    frame = model.pair_residuals()
    assert frame.columns == ["item", "against", "above", "rankings", "expected", "residual"]
    assert frame.height == 10
    sizes = np.abs(frame["residual"].to_numpy())
    assert (np.diff(sizes) <= 1e-12).all()
    for row in frame.rows(named=True):
        i, j = row["item"], row["against"]
        met = [order for order in lists() if i in order or j in order]
        above = sum((*order, j, i).index(i) < (*order, j).index(j) for order in met)
        chance = 1 / (1 + math.exp(model.ranking_.score(j) - model.ranking_.score(i)))
        assert (row["above"], row["rankings"]) == (above, len(met))
        assert row["expected"] == pytest.approx(len(met) * chance)
        assert row["residual"] == pytest.approx(
            (above - len(met) * chance) / math.sqrt(len(met) * chance * (1 - chance))
        )
    votes = PlackettLuce(l2=0.3).fit(Comparisons.from_pairs([("a", "b"), ("b", "a")]))
    with pytest.raises(
        InputError, match="pair_residuals is computed from the rankings, and a file or comparisons hold none"
    ):
        votes.pair_residuals()


@pytest.mark.parametrize("standardize", [True, False])
def test_a_fit_with_features_keeps_what_it_found(standardize):
    raw = np.random.default_rng(1).normal(2.0, 3.0, (7, 2))
    features = dict(zip("abcdefg", raw, strict=True))
    model = PlackettLuce(l2=0.7, feature_penalty=0.4, standardize=standardize).fit(rankings(), features)
    mean, scale = raw[:5].mean(axis=0), raw[:5].std(axis=0) if standardize else np.ones(2)
    moved, w = (raw - mean) / scale, model.coef_ * scale
    origin = 0.0 if standardize else float(mean @ w)
    assert model.unseen_ == ("f", "g")
    assert model.residuals_[5:].tolist() == [0.0, 0.0]
    assert_allclose(model.ranking_.scores, origin + moved @ w + model.residuals_, atol=1e-5)
    parts = np.var((moved @ w)[:5]), np.var(model.residuals_[:5])
    assert model.explained_ == pytest.approx(parts[0] / sum(parts))
    assert (model.l2_, model.feature_penalty_, model.boundary_, model.sd_) == (0.7, 0.4, (), None)
    assert model.n_rankings_ == 30
    assert model.credible_intervals_
    assert_allclose(model.ranking_.record[0], [*rankings().record()[0], 0.0, 0.0])
    value, gradient = ListLoss(rankings()).value(model.ranking_.scores[:5], np.empty(0))
    assert model.log_likelihood_ == pytest.approx(-value, rel=1e-6)
    assert_allclose(gradient + 1.4 * model.residuals_[:5], 0.0, atol=1e-4)
    assert_allclose(moved[:5].T @ gradient + 0.8 * w, 0.0, atol=1e-3)
    assert "_training_features" in vars(model)
    assert "_training_features" not in model.__getstate__()
    assert_allclose(model.predict(raw), origin + moved @ w, atol=1e-9)
    model.ranking_ = model.ranking_.with_uncertainty("sandwich")
    assert not model.credible_intervals_


def test_chances_of_a_tie_are_davidsons():
    model = PlackettLuce(l2=0.3, ties="davidson").fit(rankings(ties=True))
    for margin in (-1.2, 0.0, 0.7):
        parts = math.exp(margin / 2), model.tie_strength_, math.exp(-margin / 2)
        found = [float(each[0]) for each in model._outcomes(np.array([margin]))]
        assert found == pytest.approx([part / sum(parts) for part in parts])
