"""Scores that move: refusals at the edge, what a fit keeps, rankings at a time, and going on; all in small."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import Comparisons, DynamicBradleyTerry
from podium.errors import ConvergenceError, InputError, SeparationWarning
from podium.pairwise import dynamic
from podium.pairwise._fit import walk_effects
from podium.pairwise._fit.walk_effects import LOOSE_SD, _following, _votes, side_effect
from podium.pairwise._fit.walk_model import WalkModel, history_of
from podium.pairwise._fit.walk_search import Spreads

NAMES = tuple("abcd")


def votes(m=40, seed=0, sided=True, time=None, ties=True, **more):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 4, m).astype(np.int32)
    right = ((left + rng.integers(1, 4, m)) % 4).astype(np.int32)
    outcome = rng.choice([-1, 0, 1] if ties else [-1, 1], m, p=[0.3, 0.2, 0.5] if ties else [0.4, 0.6]).astype(np.int8)
    time = np.sort(rng.integers(0, 6, m)) * 0.5 if time is None else time
    return Comparisons(NAMES, left, right, outcome=outcome, sided=sided, time=time, **more)


@pytest.fixture(scope="module")
def fitted():
    return DynamicBradleyTerry(drift=0.3, sd=0.9).fit(votes())


@pytest.mark.parametrize(
    ("options", "held"),
    [({"sd": 1e-6}, True), ({"sd": 0.99e-6}, False), ({"sd": 1e3}, True), ({"sd": 1.01e3}, False),
     ({"feature_penalty": 1e-12}, True), ({"feature_penalty": 0.99e-12}, False), ({"feature_penalty": 1e12}, True),
     ({"feature_penalty": 1.01e12}, False), ({"drift": 0.99e4 / math.sqrt(2.5)}, True),
     ({"drift": 1.01e4 / math.sqrt(2.5)}, False)],
)  # fmt: skip
def test_spreads_are_taken_up_to_their_ends(options, held):
    c = votes()
    assert np.ptp(c.time) == 2.5
    model = DynamicBradleyTerry(**{"drift": 0.3, "sd": 0.9} | options)
    if held:
        model._check(c)
    else:
        with pytest.raises(InputError, match=f"{next(iter(options))}="):
            model._check(c)


def test_defaults_are_those_that_are_told():
    assert DynamicBradleyTerry().get_params() == {
        "drift": "auto", "sd": "auto", "feature_penalty": "auto", "ties": "half", "side_effect": False, "at": None,
        "standardize": True, "missing": "error", "one_hot": False, "scale": "log-odds", "max_iter": 100, "tol": 1e-6,
    }  # fmt: skip
    wrong_ones = {"missing": "zero", "ties": "efron", "scale": "points", "standardize": 2, "one_hot": "yes"}
    wrong_ones |= {"side_effect": "left", "max_iter": 0, "tol": 0.0, "drift": "fast", "sd": -1}
    for name, wrong in wrong_ones.items():
        with pytest.raises(InputError, match=f"{name}="):
            DynamicBradleyTerry(**{name: wrong}).fit(votes())


def test_times_are_asked_for_as_the_votes_have_them(fitted):
    assert fitted.times_ == (0.0, 2.5)
    assert fitted.ranking_at(0.0).note == "scores as of 0"
    with pytest.raises(InputError, match=r"at=-0\.1 is before the first vote, 0; no scores are there"):
        fitted.ranking_at(-0.1)
    with pytest.raises(InputError, match=r"at='2024-01-01': it must be a time as those of the votes, a number"):
        fitted.ranking_at("2024-01-01")
    dated = replace(votes(), time=votes().time * 2 + 19_000.75, time_is="date")
    model = DynamicBradleyTerry(drift=0.3, sd=0.9).fit(dated)
    assert model.times_ == (19_000.0, 19_005.0)
    with pytest.raises(InputError, match=r"at='soon': it must be a time as those of the votes, a date as 2024-05-31"):
        model.ranking_at("soon")
    with pytest.raises(InputError, match="is before the first vote, 2022-01-08"):
        model.ranking_at("2022-01-07")
    assert model.ranking_at("2022-01-08").note == "scores as of 2022-01-08"
    with pytest.raises(InputError, match="the model's times are of another kind"):
        model.predict_proba(votes())
    with pytest.raises(InputError, match="the votes before have times of another kind"):
        model.partial_fit(votes())


def test_votes_of_a_time_are_counted_and_items_join_with_their_first(fitted):
    c = votes()
    for when in (0.0, 1.0, 1.2, 2.5, 9.0):
        ranking = fitted.ranking_at(when)
        then = c.time <= when
        seen = sorted({int(k) for k in (*c.left[then], *c.right[then])}) if when < 2.5 else [0, 1, 2, 3]
        assert ranking.items == tuple(NAMES[k] for k in seen)
        wins = [np.sum(then & ((c.left == k) & (c.outcome == 1) | (c.right == k) & (c.outcome == -1))) for k in seen]
        losses = [np.sum(then & ((c.left == k) & (c.outcome == -1) | (c.right == k) & (c.outcome == 1))) for k in seen]
        ties = [np.sum(then & ((c.left == k) | (c.right == k)) & (c.outcome == 0)) for k in seen]
        assert_allclose(ranking.record, [wins, losses, ties])
    assert fitted.ranking_.note is None
    assert fitted.ranking_.posterior is not None
    assert_allclose(fitted.ranking_.posterior.curvature, fitted.ranking_.information.curvature)
    elo = DynamicBradleyTerry(drift=0.3, sd=0.9, scale="elo").fit(c).ranking_
    assert_allclose(elo.scores, 1000 + 400 / math.log(10) * fitted.ranking_.scores, atol=1e-3)
    assert elo.unit == pytest.approx(400 / math.log(10))


def test_chances_without_times_are_those_of_the_last(fitted):
    asked = Comparisons(NAMES, [0, 1], [2, 3], outcome=[0, 0])
    last = replace(asked, time=np.full(2, 2.5))
    assert_allclose(fitted.predict_proba(asked), fitted.predict_proba(last))
    gap = fitted.ranking_.scores[0] - fitted.ranking_.scores[2]
    assert fitted.predict_proba(asked)[0, 0] == pytest.approx(1 / (1 + math.exp(-gap)), abs=1e-5)
    early = fitted.ranking_at(1.0)
    then = fitted.predict_proba(replace(asked, time=np.full(2, 1.0)))
    assert then[0, 0] == pytest.approx(1 / (1 + math.exp(early.score("c") - early.score("a"))), abs=1e-5)


@pytest.mark.parametrize("given", [{"drift": 0.3}, {"sd": 0.9}])
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_chances_allow_for_how_well_scores_are_known_where_a_spread_is_from_the_votes(ties, given):
    model = DynamicBradleyTerry(ties=ties, **given).fit(votes())
    asked = Comparisons((*NAMES, "new"), [0, 4], [2, 1], outcome=[0, 0])
    margins = model._margins(asked)
    variance = model._posterior.margin_variances(*model._placed(asked), False, over_drifts=False)
    z = np.linspace(-8, 8, 4001)
    mass = np.exp(-(z**2) / 2)
    strength = model.tie_strength_ or 0.0
    for row in range(2):
        margin = margins[row] + math.sqrt(variance[row]) * z
        parts = np.exp(margin / 2), np.full(len(z), strength), np.exp(-margin / 2)
        expected = [mass @ (part / sum(parts)) / mass.sum() for part in parts]
        assert_allclose(model.predict_proba(asked)[row], expected, atol=2e-3)


def test_a_stored_model_knows_its_posterior_again():
    model = DynamicBradleyTerry(side_effect=True, ties="davidson").fit(votes(80))
    again = pickle.loads(pickle.dumps(model))
    assert "_kept" not in vars(again)
    assert again.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-6)
    assert_allclose(again.effect_std_errors_, model.effect_std_errors_, rtol=1e-6)
    assert_allclose(again.ranking_at(1.0).std_errors, model.ranking_at(1.0).std_errors, rtol=1e-6)
    assert len(model.effect_std_errors_) == 2
    assert again.side_effect_ == model.side_effect_


def test_a_side_that_is_held_is_found_again_for_the_drift(monkeypatch):
    asked = []
    real = dynamic.side_effect
    monkeypatch.setattr(
        dynamic, "side_effect", lambda h, ties, drift, most: asked.append(drift) or real(h, ties, drift, most)
    )
    model = DynamicBradleyTerry(drift=0.3, side_effect=True).fit(votes(80))
    assert asked == [0.0, 0.3]
    assert model.side_effect_ == pytest.approx(real(model._history, "half", 0.3, 100).effect)
    asked.clear()
    given = DynamicBradleyTerry(drift=0.3, sd=0.9, side_effect=True).fit(votes(80))
    assert asked == []
    assert given._held is None
    still = DynamicBradleyTerry(drift=0.0, side_effect=True).fit(votes(80))
    assert asked == [0.0]
    assert still.side_effect_ == pytest.approx(real(still._history, "half", 0.0, 100).effect)
    plain = DynamicBradleyTerry(drift=0.3).fit(votes(80))
    assert plain.side_effect_ == 0.0
    asked.clear()
    model.partial_fit(votes(10, seed=3, time=np.full(10, 3.0)))
    assert asked == [0.3]


def test_the_side_left_to_the_prior_or_to_scores_that_stand_still(monkeypatch):
    history = history_of(votes(80))
    still = side_effect(history, "half", 0.0, 100)
    assert still.variance > 0
    moving = side_effect(history, "half", 0.5, 100)
    assert moving.effect != still.effect
    monkeypatch.setattr(walk_effects, "runs_away", lambda *_: True)
    assert side_effect(history, "half", 0.5, 100) == still
    always = history | {
        "losses": 0 * history["losses"],
        "ties": 0 * history["ties"],
        "wins": np.ones(len(history["wins"])),
    }
    assert side_effect(always, "half", 0.5, 100) is None


def test_votes_of_a_history_are_those_of_the_items_that_have_any():
    history = history_of(votes()) | {"items": (*NAMES, "new")}
    keep = (history["left"] != 1) & (history["right"] != 1)
    history |= {name: history[name][keep] for name in ("left", "right", "time", "wins", "losses", "ties")}
    left, right, c = _votes(history)
    assert c.items == ("a", "c", "d")
    assert [c.items[k] for k in left] == [history["items"][k] for k in history["left"]]
    assert [c.items[k] for k in right] == [history["items"][k] for k in history["right"]]
    assert c.weight.sum() == pytest.approx(sum(history[name].sum() for name in ("wins", "losses", "ties")))
    for name, outcome in (("wins", 1), ("losses", -1), ("ties", 0)):
        for a, b in {*zip(left, right, strict=True)}:
            told = c.weight[(c.left == a) & (c.right == b) & (c.outcome == outcome)].sum()
            assert told == pytest.approx(history[name][(left == a) & (right == b)].sum())
    assert c.sided
    assert c.weight_sq.tolist() == c.weight.tolist()


def test_walks_follow_the_sides_as_votes_between_equals_would_have_them():
    history = history_of(votes(80))
    model = WalkModel(history, "half", True, False, None)
    total = history["wins"] + history["losses"] + history["ties"]
    precision = model.precision(0.3, LOOSE_SD, 1.0)
    rows, prior = _following(model, precision, total)
    n = model.rows.n
    matrix = np.diag(precision.own)
    for k in np.flatnonzero(precision.link):
        step = np.eye(n)[k] - np.eye(n)[k - 1]
        matrix = matrix + precision.link[k] * np.outer(step, step)
    force = np.zeros(n)
    for a, b, w in zip(model.rows.left, model.rows.right, total, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += 0.25 * w * np.array([1, 1, -1, -1])
        force[[a, b]] += 0.25 * w * np.array([1, -1])
    z = np.linalg.solve(matrix, force)
    assert_allclose(rows.design[:, 1], z[rows.left] - z[rows.right], atol=1e-7)
    assert rows.design[:, 0].tolist() == [1.0] * len(rows.left)
    assert prior.effects.tolist() == [0.0, 0.25]
    assert prior.own is precision.own


def test_a_side_that_decides_all_votes_is_told():
    c = votes(60, ties=False)
    with pytest.warns(SeparationWarning, match="the side separates the votes"):
        DynamicBradleyTerry(drift=0.3, sd=0.9, side_effect=True).fit(replace(c, outcome=np.ones(60, dtype=np.int8)))


def test_too_few_steps_end_in_a_sentence():
    with pytest.raises(ConvergenceError, match="no optimum in 1 Newton step; look for scores without an end"):
        DynamicBradleyTerry(drift=0.3, sd=0.9, max_iter=1, tol=1e-12).fit(votes())
    tied = replace(votes(), outcome=np.zeros(40, dtype=np.int8))
    with pytest.raises(InputError, match="every vote is a tie: ties='davidson' cannot tell the items apart"):
        DynamicBradleyTerry(ties="davidson").fit(tied)
    none = DynamicBradleyTerry(drift=0.3, sd=0.9, ties="davidson").fit(votes(ties=False))
    assert none.tie_strength_ == 0.0
    assert none.effect_std_errors_.tolist() == []


# ---- drifts from the votes ------------------------------------------------------------------------------------------


class Told:
    """In place of a search: evidence that is known."""

    def __init__(self, still, moving, standing):
        self.still, self.moving, self.standing = still, moving, standing

    def best(self, asked):
        if self.still:
            return Spreads(0.0, 0.7, 1.0), self.standing
        return Spreads(0.4 if asked.drift is None else asked.drift, 0.8, 1.0), self.moving

    def prior_and_evidence(self, at, asked):
        assert at == Spreads(0.0, 0.8, 1.0)
        return self.again


@pytest.mark.parametrize(
    ("standing", "again", "moves"),
    [(-50.0, -50.0, True), (-39.0, -50.0, False), (-50.0, -39.0, False), (-40.0, -50.0, False), (-40.0001, -50.0, True),
     (-40.00003, -50.0, False)],
)  # fmt: skip
def test_a_walk_that_explains_no_more_is_none(standing, again, moves, monkeypatch):
    model = DynamicBradleyTerry()
    model._history = history_of(votes())
    Told.again = again
    monkeypatch.setattr(model, "_search_in", lambda still: Told(still, -40.0, standing))
    search, spreads = model._searched()
    assert spreads == (Spreads(0.4, 0.8, 1.0) if moves else Spreads(0.0, 0.7, 1.0))
    assert search.still != moves


def test_a_drift_that_is_given_is_taken(monkeypatch):
    model = DynamicBradleyTerry(drift=0.25, sd=0.6, feature_penalty=2.0)
    model._history = history_of(votes())
    asked = []

    class Asked(Told):
        def best(self, spreads):
            asked.append((self.still, spreads))
            return spreads, 0.0

    monkeypatch.setattr(model, "_search_in", lambda still: Asked(still, 0.0, 0.0))
    assert model._searched()[1] == Spreads(0.25, 0.6, 0.5)
    model.drift = 0.0
    assert model._searched()[1] == Spreads(0.0, 0.6, 0.5)
    model._history = model._history | {"time": np.full(len(model._history["time"]), 3.0)}
    model.drift = "auto"
    assert model._searched()[1] == Spreads(0.0, 0.6, 0.5)
    assert [still for still, _ in asked] == [False, True, True]


def test_drifts_that_votes_leave_possible_are_asked_for_only_where_they_choose(monkeypatch):
    model = DynamicBradleyTerry(drift=0.25)
    model._history = history_of(votes())
    assert model._possible_drifts(None, Spreads(0.25, 1.0, 1.0)) == []
    model.drift = "auto"

    class Drifts:
        def __init__(self, still):
            self.still = still

        def drifts(self, spreads):
            return [("moving", spreads)]

        def drifts_beside_none(self, spreads, evidence):
            return [("beside none", self.still, evidence)]

        def evidence(self, spreads):
            return ("evidence", self.still)

    monkeypatch.setattr(model, "_search_in", Drifts)
    spreads = Spreads(0.25, 1.0, 1.0)
    assert model._possible_drifts(Drifts(False), spreads) == [("moving", spreads)]
    none = Spreads(0.0, 1.0, 1.0)
    assert model._possible_drifts(Drifts(True), none) == [("beside none", False, ("evidence", True))]
    model._history = model._history | {"time": np.full(len(model._history["time"]), 3.0)}
    assert model._possible_drifts(Drifts(False), spreads) == []


def test_other_drifts_are_fitted_with_their_shares():
    model = DynamicBradleyTerry().fit(votes(60))
    model._drifts = [(0.0, 0.25), (0.2, 0.35), (0.5, 0.4)]
    parts = model._at_other_drifts()
    assert [share for share, _ in parts] == [0.25, 0.35, 0.4]
    assert [part.drift for _, part in parts] == [0.0, 0.2, 0.5]
    for _, part in parts:
        alone = DynamicBradleyTerry(drift=part.drift, sd=model.sd_).fit(votes(60))
        points = part.points(np.arange(4), np.full(4, 2.5))
        assert_allclose(part.scores(points), alone.ranking_.scores, atol=1e-4)
    model._drifts = []
    assert model._at_other_drifts() == []


# ---- newcomers with features ----------------------------------------------------------------------------------------


def test_newcomers_may_be_filled_by_means_and_known_ones_are_not_asked_for_again():
    table = {name: [float(k), float(k * k)] for k, name in enumerate(NAMES)}
    options = {"drift": 0.3, "sd": 0.9, "feature_penalty": 0.5}
    late = Comparisons.from_arrays(["new", "a"], ["a", "b"], time=[3.0, 3.0])
    filled = DynamicBradleyTerry(**options, missing="mean").fit(votes(), table).partial_fit(late)
    mean = {"new": np.mean(list(table.values()), axis=0).tolist()}
    told = DynamicBradleyTerry(**options).fit(votes(), table).partial_fit(late, mean)
    assert_allclose(filled.ranking_.scores, told.ranking_.scores, atol=1e-6)
    again = DynamicBradleyTerry(**options).fit(votes(), table)
    before = again._table.copy()
    again.partial_fit(Comparisons.from_arrays(["a"], ["b"], time=[3.0]))
    assert_allclose(again._table, before)
    assert again._weight_sd == pytest.approx(1.0)
    assert again.feature_penalty_ == pytest.approx(0.5)
    assert_allclose(again.residuals_ + again._posterior.explained, again.ranking_.scores, atol=1e-6)
    parts = np.var(again._posterior.explained[:4]), np.var(again.residuals_)
    assert again.explained_ == pytest.approx(parts[0] / sum(parts))
    none = DynamicBradleyTerry(drift=0.3, sd=0.9).fit(votes())
    assert none.explained_ == 0.0
    assert none.unseen_ == ()
    assert none._weight_sd == 1.0


def test_older_states_are_filled():
    ready = DynamicBradleyTerry.upgraded({"drift": 0.1}, 1)
    assert ready["feature_penalty"] == "auto"
    assert ready["standardize"] is True
    assert (ready["missing"], ready["one_hot"]) == ("error", False)
    assert "_table" not in ready
    state = {"_scores": np.zeros(3), "_history": {"items": ("a", "b", "c")}}
    learned = DynamicBradleyTerry.upgraded(state, 1)
    assert learned["_table"].shape == (3, 0)
    assert (learned["_drifts"], learned["_held"], learned["feature_penalty_"]) == ([], None, None)
    assert learned["_scores"] is state["_scores"]
