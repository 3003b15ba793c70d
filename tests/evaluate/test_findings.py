"""What a diagnosis says in words, what dropping votes moves, bounds of each loss, and changes between leaderboards."""

import dataclasses
import math
import types
import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from podium import RABF, Comparisons
from podium.errors import PodiumWarning
from podium.evaluate import risk_bound
from podium.evaluate.diagnosis import findings, steadiness
from podium.evaluate.diagnosis.findings import Diagnosis
from podium.evaluate.diagnosis.misfit import Fit, Test
from podium.evaluate.diagnosis.steadiness import Reliability, _moves, influence_frame, lead_test
from podium.evaluate.differences import Standing, compare_rankings, settings_of
from podium.evaluate.judging import _frame
from podium.ranking.uncertainty import quantile

FINE, BAD, FEW = Test(1.0, 2.0, 0.5), Test(3.0, 2.0, 0.01), Test(1.0, 2.0, 0.5, enough=False)
ROW = {"item": ["tea"], "against": ["milk"], "votes": [1200.0], "won": [900.0], "expected": [650.25], "residual": [9.0]}


def diagnosis(**more):
    whole = {
        "residuals": pl.DataFrame(ROW), "largest": FINE, "dispersion": FINE, "cyclic": Test(0.25, 0.125, 0.5),
        "reliability": None, "influence": influence_frame([]), "replicates": 99, "leader": "tea",
    }  # fmt: skip
    return Diagnosis(**(whole | more))


def said(**more):
    return [(each.name, each.text, each.concern) for each in diagnosis(**more).findings()]


def test_the_fit_in_words():
    largest, dispersion, cyclic = said()
    assert largest == (
        "Largest residual", "tea won 900 of 1,200 against milk, expected 650: within chance (p = 0.50).", False
    )  # fmt: skip
    assert dispersion == (
        "Over-dispersion",
        "Results vary 0.5 times as much as by chance: within chance (p = 0.50).",
        False,
    )
    assert cyclic[0] == "Transitivity"
    assert cyclic[1].startswith("25 % of what the votes say is cyclic, 12.5 % is expected by chance: within chance")
    largest, dispersion, cyclic = said(largest=BAD, dispersion=BAD, cyclic=Test(0.5, 0.1, 0.04))
    assert [each[2] for each in (largest, dispersion, cyclic)] == [True, True, True]
    assert largest[1].endswith("chance gives as much in 1.0 % of cases.")
    assert dispersion[1].endswith(
        "Intervals are too narrow; errors clustered by judge, or a bootstrap of judges, may mend them."
    )
    assert "1.5 times" in dispersion[1]
    assert "No single ranking can explain these votes" in cyclic[1]
    assert said(largest=FEW)[0][1].endswith("too few votes to tell.")
    assert "1 times" in said(dispersion=Test(3.0, 0.0, 0.5))[1][1]
    decided = pl.DataFrame(ROW | {"won": [7.0]})
    assert "tea won 7 of 1,200 decided votes against" in said(decided=decided)[0][1]
    assert " of these: " in said(decided=decided)[0][1]
    assert " of these: " not in said()[0][1]
    nothing = said(dispersion=Test(np.nan, np.nan, 1.0))
    assert nothing == [
        ("Fit", "No pairs form a cycle, so scores fit them all exactly: there is nothing to test.", False)
    ]
    assert [each.name for each in diagnosis(largest=BAD).concerns] == ["Largest residual"]
    assert diagnosis(dispersion=Test(np.nan, 1.0, 1.0)).to_dict()["tests"]["dispersion"] is None


@pytest.mark.parametrize(
    ("correlation", "votes", "concern", "says"),
    [
        (0.6, 10, False, "which means 0.75 for all votes; they order 80 % of the pairs alike."),
        (0.5384, 60, True, "That is little for so many votes"),
        (0.5384, 50, True, "That is little for so many votes"),
        (0.5384, 49, False, "With 49 votes an item the order is not settled; 50 settle it mostly."),
        (7 / 13, 60, False, "which means 0.70 for all votes"),
        (-0.1, 60, True, "no agreement, so the scores are noise"),
        (0.0, 60, True, "which means 0.00"),
    ],
)  # fmt: skip
def test_the_reliability_in_words(correlation, votes, concern, says):
    finding = findings._reliability(Reliability(correlation, -0.004, 0.9, 0.8), votes)
    assert finding.name == "Split-half reliability"
    assert "(0.00 to 0.90)" in finding.text
    assert says in finding.text
    assert finding.concern == concern


def refits(*rows):
    return influence_frame([("judge", "ann", 3.0, *row) for row in rows])


def test_the_influence_in_words():
    still = refits(("tea", "milk", 1, 1, 0.1, 0, False))
    assert said(influence=still)[-1] == (
        "Influence of a judge",
        "No pair changes order when any one judge is left out.",
        False,
    )
    some = said(influence=still, tried={"judge": (10, 12)})[-1][1]
    assert some == "No pair changes order when any one of the 10 busiest judges is left out."
    assert "busiest" not in said(influence=still, tried={"judge": (12, 12)})[-1][1]
    moved = said(influence=refits(("tea", "milk", 3, 2, 0.1, 1, False)))[-1]
    assert moved[1] == (
        "The most influential judge is ann: without it, milk goes from rank 3 to 2, and 1 pair changes order."
    )
    led = said(influence=refits(("milk", "milk", 2, 1, 0.1, 1200, False)))[-1]
    assert "1,200 pairs change order. Without ann, milk would lead instead of tea, as may happen by chance." in led[1]
    assert not led[2]
    turned = said(influence=refits(("milk", "milk", 2, 1, 0.1, 5, False), ("oat", "oat", 2, 1, 0.1, 2, True)))[-1]
    assert "Without ann, oat would lead instead of tea: more than chance gives." in turned[1]
    assert turned[2]
    item = influence_frame(
        [("item", "tea", 3.0, "milk", "milk", 2, 1, 0.1, 1, False), ("item", "x", 3.0, "tea", "x", 1, 1, 0, 0, False)]
    )
    assert said(influence=item)[-1][0] == "Influence of an item"
    assert "goes from rank 2 to 1 among the others, and 1 pair changes order." in said(influence=item)[-1][1]
    assert "would lead" not in said(influence=item)[-1][1]  # without the leader itself another leads


def test_refits_are_told_by_swaps_then_by_shift():
    rows = [
        ("judge", name, 1.0, "a", "a", 1, 1, shift, swaps, False)
        for name, shift, swaps in (("p", 0.5, 1), ("q", 0.1, 3), ("r", 0.9, 1), ("s", 0.9, 1))
    ]
    frame = influence_frame(rows)
    assert frame["dropped"].to_list() == ["q", "r", "s", "p"]
    assert frame.columns == [
        "kind",
        "dropped",
        "votes",
        "leader",
        "moved",
        "rank_before",
        "rank_after",
        "shift",
        "swaps",
        "turned",
    ]
    assert influence_frame([]).shape == (0, 10)


def test_what_a_refit_moves_by_hand():
    items = list("abcd")
    before, after = np.array([3.0, 2.0, 1.0, 0.0]), np.array([3.0, 5.0, 9.0, 0.5])
    kept, shown = np.array([True, True, False, True]), np.ones(4, bool)
    leader, moved, old, new, shift, swaps = _moves(items, before, after, kept, shown)
    assert (leader, swaps) == ("b", 1)
    one, other = before[kept] - before[kept].mean(), after[kept] - after[kept].mean()
    assert shift == pytest.approx(np.abs(other - one).max())
    assert (moved, old, new) == ("b", 2, 1)  # a and b move as far; the scores of b farther
    assert _moves(items, before, after, kept, np.array([True, False, True, True]))[0] == "a"
    assert _moves(items, before, after, kept, np.array([False, False, True, False]))[0] == "b"  # nobody shown is left
    assert _moves(items, before, np.zeros(4), kept, shown)[0] == "a"
    assert _moves(items, before, before, np.array([True, False, False, False]), shown)[-1] == 0


def test_who_leads_by_the_likelihood():
    lower = np.array([0.5, 0.0])
    ranking = types.SimpleNamespace(items=("a", "b"), intervals=lambda reference: (lower, None))
    ahead = lead_test(ranking)
    assert ahead("a", "b") is True
    assert ahead("b", "a") is False
    assert ahead("a", "zebra") is False
    assert Reliability(0.0, 0.0, 0.0, 0.5).full == 0.0


def test_a_judge_stands_out_by_the_level_over_all_that_were_tried(monkeypatch):
    """z beyond 1.645 for one judge, beyond 1.96 for each of two."""
    votes = Comparisons.from_frame(
        {"winner": list("abab"), "loser": list("baba"), "judge": list("xxyy")}, judge="judge"
    )  # fmt: skip
    for z, turned in ((1.9, False), (2.0, True)):
        monkeypatch.setattr(steadiness, "JudgeTest", lambda votes, z=z: types.SimpleNamespace(z_value=lambda *codes: z))
        found = steadiness.influence(
            types.SimpleNamespace(uses=types.SimpleNamespace(order=False)), votes, lambda part: np.array([0.0, 1.0]),
            np.array([1.0, 0.0]), ("a", "b"), np.ones(2, bool), lambda one, other: False,
        )  # fmt: skip
        assert [row[-1] for row in found.rows] == [turned, turned]
        assert found.tried == {"judge": (2, 2)}


def test_the_busiest_are_left_out_first_down_to_a_single_vote(monkeypatch):
    """Judges with 3, 1, 2 and no votes, items with 4, 5, 1, 1 and 1; each once, in the order of their votes."""
    votes = Comparisons(
        tuple("abcde"), np.array([0, 0, 1, 1, 0, 1]), np.array([1, 1, 0, 2, 3, 4]), outcome=np.ones(6, np.int8),
        judge=np.array([0, 2, 0, 1, 2, 0]), judges=tuple("xyzw"),
    )  # fmt: skip

    def found():
        refits = steadiness.influence(
            types.SimpleNamespace(uses=types.SimpleNamespace(order=False)), votes,
            lambda part: np.array([1.0, 0.0, -1.0, -2.0, -3.0]), np.array([1.0, 0.0, -1.0, -2.0, -3.0]), tuple("abcde"),
            np.ones(5, bool), lambda one, other: False,
        )  # fmt: skip
        return {kind: [row[1:3] for row in refits.rows if row[0] == kind] for kind in ("item", "judge")}, refits.tried

    rows, tried = found()
    assert rows["item"] == [("b", 5.0), ("a", 4.0), ("c", 1.0), ("d", 1.0), ("e", 1.0)]
    assert rows["judge"] == [("x", 3.0), ("z", 2.0), ("y", 1.0)]
    assert tried == {"item": (5, 5), "judge": (3, 3)}
    monkeypatch.setattr(steadiness, "MIN_DROPPED", 1)
    monkeypatch.setattr(steadiness, "MAX_DROPPED", 2)
    rows, tried = found()
    assert rows == {"item": [("b", 5.0), ("a", 4.0)], "judge": [("x", 3.0), ("z", 2.0)]}
    assert tried == {"item": (2, 5), "judge": (2, 3)}
    monkeypatch.setattr(steadiness, "MAX_REFIT_ROWS", 6)  # one refit of six votes
    assert found()[1] == {"item": (1, 5), "judge": (1, 3)}
    monkeypatch.setattr(steadiness, "MIN_DROPPED", 3)
    assert found()[1] == {"item": (3, 5), "judge": (3, 3)}


# ---- bounds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_a_bound_is_made_of_the_losses_of_the_votes(loss):
    rng = np.random.default_rng(3)
    features = {item: rng.normal(size=2) for item in "abcd"}
    rows = {
        "left": list("abcdab"),
        "right": list("bcdacd"),
        "outcome": [1, 0, 1, 0.5, 1, 0],
        "weight": [1, 2, 1, 3, 1, 1],
    }
    votes = Comparisons.from_frame(rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        model = RABF(loss=loss, max_norm=(0.7, 0.4)).fit(votes, features)
    bound = risk_bound(model, votes, delta=0.1)
    losses = []
    for left, right, outcome, weight in zip(*rows.values(), strict=True):
        margin = model.ranking_.score(left) - model.ranking_.score(right)
        losses.append({
            "logistic": outcome * math.log1p(math.exp(-margin)) + (1 - outcome) * math.log1p(math.exp(margin)),
            "squared": (margin - (2 * outcome - 1)) ** 2,
            "hinge": outcome * max(0, 1 - margin) + (1 - outcome) * max(0, 1 + margin),
        }[loss] * weight)  # fmt: skip
    assert bound.empirical == pytest.approx(sum(losses) / 9, rel=1e-6)
    far = 2 * model.feature_radius_ * 0.7 + math.sqrt(2) * 0.4
    lipschitz, largest = {
        "logistic": (1, math.log1p(math.exp(far))),
        "squared": (2 * (far + 1), (far + 1) ** 2),
        "hinge": (1, 1 + far),
    }[loss]
    assert (bound.lipschitz, bound.largest) == (pytest.approx(lipschitz), pytest.approx(largest))
    assert (bound.votes, bound.delta, bound.feature_norm, bound.residual_norm) == (9, 0.1, 0.7, 0.4)
    complexity = 2 * lipschitz * (math.sqrt(2) * model.feature_radius_ * 0.7 + 0.4) * math.sqrt(2 / 9)
    assert bound.complexity == pytest.approx(complexity)
    assert bound.deviation == pytest.approx(largest * math.sqrt(math.log(10) / 18))
    assert bound.value == pytest.approx(bound.empirical + bound.complexity + bound.deviation)
    small = type(bound)(loss, 1e8, 0.1, 0.3, 0.7, 0.4, 1.0, 1.0, 1.0)
    assert small.error == pytest.approx(small.value / {"logistic": math.log(2), "squared": 1, "hinge": 1}[loss])
    assert bound.error == min(1.0, bound.value / {"logistic": math.log(2), "squared": 1, "hinge": 1}[loss])


# ---- leaderboards ---------------------------------------------------------------------------------------------------


def board(scores, errors=None, covariance=None, votes=None, settings=None, items="abc"):
    arrays = [None if each is None else np.array(each, dtype=float) for each in (scores, errors, covariance, votes)]
    return Standing(tuple(items), *arrays, settings)


def test_changes_without_covariances_have_an_error_of_at_most_the_sum():
    one, other = (
        board([1, 0, -1], [0.3, 0.2, 0.4], votes=[1, 2, 3]),
        board([2, 0, -2], [0.1, 0.5, 0.6], votes=[3, 2, 1]),
    )
    mean = compare_rankings(one, other)
    assert_allclose(mean.std_errors, np.hypot([0.3, 0.2, 0.4], [0.1, 0.5, 0.6]))
    assert not mean.bounded
    item = compare_rankings(one, other, "b")
    assert_allclose(item.std_errors, np.hypot([0.3 + 0.2, 0, 0.4 + 0.2], [0.1 + 0.5, 0, 0.6 + 0.5]))
    assert item.bounded
    weighted = compare_rankings(one, other, "weighted-mean")
    shares = np.array([4, 4, 4]) / 12
    assert_allclose(weighted.scores[0], np.array([1, 0, -1]) - shares @ [1, 0, -1])
    assert_allclose(weighted.std_errors, np.hypot(np.array([0.3, 0.2, 0.4]) + 0.3, np.array([0.1, 0.5, 0.6]) + 0.4))
    frame = mean.to_frame(0.9)
    assert_allclose(frame["upper"] - frame["lower"], 2 * quantile(0.9) * frame["std_error"])
    assert mean.agreement == 1.0


def test_changes_with_covariances_are_exact():
    matrix = np.array([[0.5, 0.1, 0.0], [0.1, 0.4, 0.2], [0.0, 0.2, 0.9]])
    side = board([1, 0, -1], np.sqrt(matrix.diagonal()), matrix)
    found = compare_rankings(side, side, "b")
    contrast = np.array([[1, -1, 0], [0, 0, 0], [0, -1, 1]])
    assert_allclose(found.std_errors, np.sqrt(2 * np.diag(contrast @ matrix @ contrast.T)), atol=1e-12)
    open_ended = board([1, 0, -1], [np.inf, 0.5, 0.5], np.where(np.eye(3) * [1, 0, 0] > 0, np.inf, matrix))
    found = compare_rankings(open_ended, open_ended)  # the mean is that of the bounded
    assert found.std_errors[0] == np.inf
    assert np.isfinite(found.std_errors[1:]).all()
    assert_allclose(found.scores[0], [1.5, 0.5, -0.5])
    found = compare_rankings(open_ended, open_ended, "a")
    assert found.std_errors.tolist() == [0.0, np.inf, np.inf]


def test_fits_by_other_settings_are_compared_by_rank_alone():
    one = board([1, 0, -1], [1, 1, 1], settings={"method": "elo", "k": "20", "scale": "elo"})
    for settings, unlike in (
        ({"method": "elo", "k": "20", "scale": "log-odds"}, ()), ({"method": "elo", "k": "10"}, ("k: 20 and 10",)),
        ({"method": "elo"}, ("k: 20 and none",)), ({"method": "borda"}, ("method: elo and borda",)), (None, ()),
    ):  # fmt: skip
        found = compare_rankings(one, board([0, 1, -1], [1, 1, 1], settings=settings))
        assert found.unlike == unlike
        assert (found.std_errors is None) == bool(unlike)
        assert ("change" in found.to_frame().columns) == (not unlike)
        assert found.to_frame()["climbed"].to_list() == [1, -1, 0]


def test_settings_of_an_anchor_and_of_numbers():
    model = types.SimpleNamespace(settings_={"l2": 0.001, "anchor": ("tea pot", 1500.0), "side_effect": True})
    assert settings_of(model).endswith("l2=0.001 'anchor=tea pot=1500' side_effect=True")


def test_beyond_two_deviations_of_a_sample_one_misfits():
    """Squares over information are the infits; n − 1 below the squared deviations."""
    infit = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.3])
    above = (infit[-1] - infit.mean()) / infit.std(ddof=1)
    assert 2 < above < 2.6
    information = np.full(8, 10.0)

    def frame(infit, variance=1e3):
        columns = np.stack([information * infit, information, np.full(8, variance), np.full(8, 40.0)])
        return _frame("judge", list("abcdefgh"), np.arange(8), columns)

    found = frame(infit)
    assert found["judge"][0] == "h"
    assert found["misfit"].to_list() == [True] + [False] * 7
    assert not found["beyond_chance"].any()
    near = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25, 1.3])
    assert (near[-1] - near.mean()) / near.std(ddof=1) < 2
    assert not frame(near)["misfit"].any()
    assert frame(infit, variance=0.01)["beyond_chance"].to_list() == [True] + [False] * 7


def test_redrawn_ties_are_as_many_as_the_model_says_where_all_may_be_ties():
    made = dataclasses.make_dataclass("Rows", ["total", "squares", "wins", "losses", "ties"])
    fit = Fit.__new__(Fit)
    fit.table = made(np.full(1, 4.0), np.full(1, 4.0), 0, 0, 0)
    fit.win, fit.tie = np.array([0.4]), np.array([0.6 + 1e-12])  # rounding: a little too much
    drawn = fit.drawn(np.random.default_rng(0))
    assert drawn.losses.tolist() == [0.0]
    assert (drawn.wins + drawn.ties).tolist() == [4.0]
