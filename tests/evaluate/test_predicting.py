"""Assessments, nested models and leagues at their edges: defaults, what is passed on, problems, draws, and refusals."""

import dataclasses
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import chi2

from podium import BradleyTerry, Comparisons, CrowdBradleyTerry, Elo, Ranking, WinRate
from podium.data.splits import deal
from podium.errors import InputError
from podium.evaluate import (
    assess,
    assessment,
    compare_nested,
    final_table,
    forecasts,
    league,
    likelihood_ratio_test,
    nested,
)
from podium.evaluate.assessment import Assessment, known_methods
from podium.evaluate.nested import _ratio, _steps
from podium.pairwise import METHODS
from podium.pairwise.base import Ranker, logistic

PAIRS = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c"), ("b", "a"), ("c", "b")] * 4


SEEN = []  # what rankers were fitted to


class Sure(Ranker):
    """A ranker whose chances are known: b wins by one, c by two log-odds; it notes what it was fitted to."""

    def fit(self, comparisons, **about):
        SEEN.append((len(comparisons), about))
        self.ranking_ = Ranking(comparisons.items, np.arange(len(comparisons.items), dtype=float))
        return self

    def _outcomes(self, margins):
        return logistic(margins)


class Failing(Sure):
    def fit(self, comparisons, **about):
        raise InputError("no luck today")


def votes():
    return Comparisons.from_pairs(PAIRS)


# ---- assessments ----------------------------------------------------------------------------------------------------


def test_an_assessment_without_being_told(monkeypatch):
    asked = {}

    def dealt(comparisons, folds, rng):
        asked.update(folds=folds, first=rng.random())
        return deal(comparisons, folds, np.random.default_rng(0))

    monkeypatch.setattr(assessment, "deal", dealt)
    SEEN.clear()
    found = assess(votes(), {"sure": Sure})
    assert asked == {"folds": 10, "first": np.random.default_rng(0).random()}
    assert (found.folds, found.votes, found.problems) == (10, 24, {})
    assert len(found.log_loss["sure"]) == 10
    assert sum(size for size, _ in SEEN) == 9 * 24  # each fold is left out once
    assert all(about == {} for _, about in SEEN)


def test_features_go_to_the_methods_that_use_them():
    class Fed(Sure):
        uses = dataclasses.replace(Sure.uses, features=True)

    SEEN.clear()
    assess(votes(), {"fed": Fed, "plain": Sure}, features="table", id="name", folds=2)
    assert [about for _, about in SEEN] == [{"features": "table", "id": "name"}, {}] * 2


def test_a_method_that_fails_is_told_and_the_others_are_assessed():
    found = assess(votes(), {"failing": Failing, "sure": Sure}, folds=3)
    assert list(found.log_loss) == list(found.brier) == list(found.accuracy) == list(found.curves) == ["sure"]
    assert str(found.problems["failing"]) == "no luck today"
    with pytest.raises(InputError, match=r"^no method could be assessed; failing: no luck today$"):
        assess(votes(), {"failing": Failing}, folds=3)
    with pytest.raises(InputError, match="method='failing'"):
        found.calibration_error("failing")


def test_the_measures_of_each_fold_and_the_curve_over_all():
    found = assess(votes(), {"sure": Sure}, folds=3, seed=2)
    hands = deal(votes(), 3, np.random.default_rng(2))
    parts = []
    for fold in range(3):
        part = votes().share(hands[:, fold])
        chance = 1 / (1 + np.exp(part.right - part.left.astype(float)))
        parts.append(chance)
        assert found.log_loss["sure"][fold] == pytest.approx(-np.log(chance).mean())
        assert found.brier["sure"][fold] == pytest.approx(((1 - chance) ** 2).mean())
        assert found.accuracy["sure"][fold] == pytest.approx((chance > 0.5).mean())
    chance = np.concatenate(parts)
    wanted = assessment.calibration(chance, np.ones(24), np.ones(24))
    for mine, theirs in zip(found.curves["sure"], wanted, strict=True):
        assert_allclose(mine, theirs)


def test_which_methods_can_be_assessed():
    plain, fed = known_methods(), known_methods(features=True)
    assert set(METHODS) - set(plain) == {"rabf", "plackett-luce", "dynamic"}
    assert set(fed) - set(plain) == {"rabf"}
    assert list(assessment._makers(None, False)) == plain
    assert list(assessment._makers(None, True)) == fed
    assert list(assessment._makers(["elo", "win-rate"], False)) == ["elo", "win-rate"]
    for bad in ("elo", 3):
        with pytest.raises(InputError, match=r"methods is .*; give names, such as"):
            assessment._makers(bad, False)
    for none in ([], {}):
        with pytest.raises(InputError, match=r"^name at least one method$"):
            assessment._makers(none, False)


@pytest.mark.parametrize("bad", [{"folds": 1}, {"folds": 2.5}, {"seed": -1}])
def test_numbers_of_an_assessment_that_cannot_be_are_named(bad):
    with pytest.raises(InputError, match=f"{next(iter(bad))}="):
        assess(votes(), ["win-rate"], **bad)
    with pytest.raises(InputError, match="assess takes Comparisons"):
        assess(PAIRS)


def test_a_table_of_methods_has_each_measure_with_its_half_width():
    rows = {name: np.array(values) for name, values in {"p": [0.3, 0.4], "q": [0.2, 0.3]}.items()}
    brier, accuracy = ({name: values * scale for name, values in rows.items()} for scale in (0.5, 2.0))
    curve = np.array([0.6]), np.array([0.7]), np.zeros(1), np.ones(1)
    frame = Assessment(rows, brier, accuracy, {"p": curve, "q": curve}, {}, 2, 9).to_frame()
    assert frame.columns == [
        "method", "log_loss", "log_loss_pm", "brier", "brier_pm", "accuracy", "accuracy_pm", "worse", "worse_pm",
        "calibration",
    ]  # fmt: skip
    assert frame["method"].to_list() == ["q", "p"]
    assert frame["brier"].to_list() == pytest.approx([0.125, 0.175])
    assert frame["accuracy"].to_list() == pytest.approx([0.5, 0.7])
    assert frame["worse"].to_list() == pytest.approx([0.0, 0.1])
    assert frame["worse_pm"].to_list() == pytest.approx([0.0, 0.0], abs=1e-12)
    assert frame["calibration"].to_list() == pytest.approx([0.1, 0.1])


# ---- nested models --------------------------------------------------------------------------------------------------


def test_a_ratio_is_never_below_nothing():
    assert _ratio(-5.0, -5.0 - 1e-12, 2) == nested.LikelihoodRatio(0.0, 2, 0, 1.0)
    found = _ratio(-5.0, -3.0, 3)
    assert (found.statistic, found.degrees, found.boundary) == (4.0, 3, 0)
    assert found.p_value == pytest.approx(chi2.sf(4.0, 3))
    assert _ratio(-5.0, -3.0, 1, boundary=1).p_value == pytest.approx(chi2.sf(4.0, 1) / 2)


def sided(m=80, seed=0, **more):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 4, m).astype(np.int32)
    right = ((left + rng.integers(1, 4, m)) % 4).astype(np.int32)
    outcome = rng.choice([-1, 1], m, p=[0.4, 0.6]).astype(np.int8)
    return Comparisons(tuple("abcd"), left, right, outcome=outcome, **({"sided": True} | more))


def test_models_that_are_not_nested_are_refused():
    c = sided()
    tied = dataclasses.replace(c, outcome=np.where(np.arange(80) % 5 == 0, 0, c.outcome).astype(np.int8))
    half, own = BradleyTerry(l2=0).fit(tied), BradleyTerry(l2=0, side_effect=True, ties="davidson").fit(tied)
    with pytest.raises(InputError, match="ties counted half and ties as outcomes of their own are likelihoods of diff"):
        likelihood_ratio_test(half, own)
    plain = BradleyTerry(l2=0).fit(c)
    no_ties = BradleyTerry(l2=0, side_effect=True, ties="davidson").fit(c)
    found = likelihood_ratio_test(plain, no_ties)  # without ties the two are one
    alike = likelihood_ratio_test(plain, BradleyTerry(l2=0, side_effect=True).fit(c))
    assert found.statistic == pytest.approx(alike.statistic, abs=1e-4)
    assert found.degrees == alike.degrees == 1
    fewer = BradleyTerry(l2=0, side_effect=True).fit(c.take(np.arange(79)))
    with pytest.raises(InputError, match="the two models were fitted to different votes; fit both to the same"):
        likelihood_ratio_test(plain, fewer)
    renamed = BradleyTerry(l2=0, side_effect=True).fit(dataclasses.replace(c, items=tuple("abcx")))
    with pytest.raises(InputError, match="the two models were fitted to different votes"):
        likelihood_ratio_test(plain, renamed)
    with pytest.raises(
        InputError, match="the larger model lacks 'side', which the smaller one has: they are not nested"
    ):
        likelihood_ratio_test(alike_side(c), plain)


def alike_side(c):
    return BradleyTerry(l2=0, side_effect=True).fit(c)


@pytest.mark.parametrize("side", [False, True])
def test_steps_grow_by_the_side_and_each_covariate(side):
    x = np.random.default_rng(1).normal(size=(80, 2))
    c = sided(sided=side, covariates=x, covariate_names=("u", "v"))
    steps = _steps(c)
    assert [name for name, _, _ in steps] == ["scores", *["+ position bias"] * side, "+ u", "+ v"]
    assert [with_side for _, _, with_side in steps] == [False, *[True] * side, side, side]
    assert steps[0][1].covariates is None
    assert steps[-2][1].covariates.tolist() == x[:, :1].tolist()
    assert steps[-2][1].covariate_names == ("u",)
    assert steps[-1][1].covariates.tolist() == x.tolist()


@pytest.mark.parametrize("side", [False, True])
def test_judges_who_differ_are_a_model_of_their_own(side):
    """The most likely standard deviation of reliabilities, by a grid; half a parameter, as it may be 0."""
    rng = np.random.default_rng(3)
    judge = rng.integers(0, 4, 60).astype(np.int32)
    c = sided(60, seed=5, sided=side, judge=judge, judges=tuple("pqrs"))
    frame = compare_nested(c)
    row = frame.row(-1, named=True)
    assert row["model"] == ("scores + judges differ" if side else "+ judges differ")
    plain = BradleyTerry(l2=0).fit(c)
    best = max(
        plain.log_likelihood_,
        *(CrowdBradleyTerry(l2=0, reliability_sd=sd).fit(c).log_likelihood_ for sd in (0.25, 0.5, 1.0, 2.0, 3.0)),
    )
    assert row["log_likelihood"] >= best - 0.05
    assert row["parameters"] == plain.n_parameters_ + 1
    assert row["degrees"] == 1
    assert row["statistic"] == pytest.approx(max(0, 2 * (row["log_likelihood"] - plain.log_likelihood_)))
    assert row["p_value"] == pytest.approx(chi2.sf(row["statistic"], 1) / 2 if row["statistic"] > 0 else 1.0)
    assert row["aic"] == pytest.approx(2 * row["parameters"] - 2 * row["log_likelihood"])
    assert row["bic"] == pytest.approx(row["parameters"] * math.log(60) - 2 * row["log_likelihood"])


def test_one_judge_and_judges_beside_covariates_are_not_tested():
    one = sided(judge=np.zeros(80, np.int32), judges=("p",))
    assert compare_nested(one)["model"].to_list() == ["scores", "+ position bias"]
    with pytest.raises(InputError, match="the votes have no sides, covariates or judges: there is no effect to test"):
        compare_nested(dataclasses.replace(one, sided=False))
    x = np.random.default_rng(1).normal(size=(80, 1))
    two = dataclasses.replace(
        one, judge=(np.arange(80) % 2).astype(np.int32), judges=("p", "q"), covariates=x, covariate_names=("u",)
    )
    assert compare_nested(two)["model"].to_list() == ["scores", "+ position bias", "+ u"]


# ---- leagues --------------------------------------------------------------------------------------------------------


class Told(Ranker):
    """Chances of a win, a tie and a loss that are told: (p, q, 1 − p − q) of every fixture."""

    chances = (0.5, 0.25)
    tie_strength_ = 1.0
    counts_ties_half_ = False

    def fit(self, comparisons):
        self.ranking_ = Ranking(comparisons.items, np.zeros(len(comparisons.items)))
        return self

    def draw_chances(self, c, draws, rng):
        win, tie = self.chances
        return np.tile([win, tie, 1 - win - tie], (draws, len(c.left), 1))


def told(win, tie, items="abcd"):
    model = Told().fit(Comparisons.from_arrays([0, 1, 2], [1, 2, 3], items=list(items)))
    model.chances = (win, tie)
    return model


def fixtures(*pairs, items="abcd"):
    left, right = (np.array([items.index(pair[k]) for pair in pairs]) for k in (0, 1))
    return Comparisons(tuple(items), left, right, outcome=np.zeros(len(pairs), np.int8), sided=True)


@pytest.mark.parametrize(
    ("chances", "points"),
    [((1, 0), {"a": 3 + 3, "b": 0 + 3, "c": 0.0, "d": 0.0}), ((0, 1), {"a": 1 + 1, "b": 1 + 1, "c": 1.0, "d": 1.0}),
     ((0, 0), {"a": 0.0, "b": 3 + 0, "c": 3.0, "d": 3.0})],
)  # fmt: skip
def test_what_is_certain_is_played_every_time(chances, points):
    left_over = fixtures("ab", "ac", "bd")
    frame = final_table(told(*chances), left_over, top=2, draws=50)
    assert dict(zip(frame["item"], frame["expected_points"], strict=True)) == points
    assert frame.columns == ["item", "points", "expected_points", "first", "top", "last", "expected_rank"]
    assert frame["points"].to_list() == [0.0] * 4
    assert frame["first"].sum() == pytest.approx(1)
    assert frame["top"].sum() == pytest.approx(2)
    assert frame["last"].sum() == pytest.approx(1)
    assert frame["expected_rank"].sum() == pytest.approx(1 + 2 + 3 + 4)
    ranks = {item: sum(other > mine for other in points.values()) for item, mine in points.items()}
    equal = {item: sum(other == mine for other in points.values()) for item, mine in points.items()}
    for row in frame.to_dicts():
        item = row["item"]
        places = range(ranks[item], ranks[item] + equal[item])
        assert min(places) + 1 <= row["expected_rank"] <= max(places) + 1
        if equal[item] == 1:
            assert row["expected_rank"] == ranks[item] + 1
            assert row["top"] == (ranks[item] < 2)
    assert frame["expected_points"].is_sorted(descending=True)


@pytest.mark.parametrize("draws", [999, 1000, 1001, 2500])
def test_draws_are_as_many_as_asked_for_in_blocks(draws, monkeypatch):
    asked = []
    model = told(1, 0)
    plain = Told.draw_chances
    monkeypatch.setattr(
        Told, "draw_chances", lambda self, c, draws, rng: asked.append(draws) or plain(self, c, draws, rng)
    )
    frame = final_table(model, fixtures("ab"), top=2, draws=draws)
    assert sum(asked) == draws
    assert max(asked) <= 1000
    assert dict(zip(frame["item"], frame["expected_points"], strict=True))["a"] == 3.0
    assert frame.filter(item="a")["first"].item() == 1.0


def test_a_final_table_without_being_told(monkeypatch):
    asked = []
    plain = Told.draw_chances
    monkeypatch.setattr(
        Told, "draw_chances", lambda self, c, draws, rng: asked.append(draws) or plain(self, c, draws, rng)
    )
    items = "abcdef"
    model = told(0.5, 0.25, items)
    one = final_table(model, fixtures("ab", "cd", "ef", items=items))
    assert sum(asked) == 10_000
    same = final_table(model, fixtures("ab", "cd", "ef", items=items), points=(3, 1, 0), top=4, seed=0)
    other = final_table(model, fixtures("ab", "cd", "ef", items=items), seed=1)
    assert one.equals(same)
    assert not one.equals(other)
    assert one["top"].sum() == pytest.approx(4)


def test_equal_points_are_put_in_order_by_lot():
    frame = final_table(told(0, 1), fixtures("ab", "cd"), top=1, draws=4000, seed=2)
    assert_allclose(frame["first"].to_numpy(), 0.25, atol=0.04)
    assert_allclose(frame["last"].to_numpy(), 0.25, atol=0.04)
    assert_allclose(frame["expected_rank"].to_numpy(), 2.5, atol=0.1)


def test_games_played_bring_points_and_items_of_their_own():
    played = Comparisons.from_arrays(["x", "a", "a"], ["a", "b", "b"], tie=[False, True, False])
    model = told(1, 0)
    frame = final_table(model, fixtures("ab"), played, points=(5, 2, 1), top=2, draws=10)
    assert dict(zip(frame["item"], frame["points"], strict=True)) == {
        "x": 5.0, "a": 1.0 + 2.0 + 5.0, "b": 2.0 + 1.0, "c": 0.0, "d": 0.0,
    }  # fmt: skip
    assert frame.filter(item="a")["expected_points"].item() == 8.0 + 5.0
    assert frame.filter(item="b")["expected_points"].item() == 3.0 + 1.0


def test_what_cannot_be_tabled_is_refused(monkeypatch):
    model = told(0.5, 0.25)
    for top, says in (
        (4, "top=4: there are 4 items, so all of them are among the first 4"),
        (0, "top=0"),
        (1.5, "top=1.5"),
    ):
        with pytest.raises(InputError, match=says):
            final_table(model, fixtures("ab"), top=top)
    assert len(final_table(model, fixtures("ab"), top=3, draws=1)) == 4
    for bad in ({"draws": 0}, {"draws": 1.5}, {"seed": -1}, {"points": (1, 2)}):
        with pytest.raises(InputError, match=f"{next(iter(bad))}="):
            final_table(model, fixtures("ab"), top=2, **bad)
    with pytest.raises(InputError, match=r"row 1: 'x' is not in the model; correct the label"):
        final_table(model, fixtures("xa", items="abcx"), top=2)
    monkeypatch.setattr(league, "MAX_FIXTURES", 2)
    assert len(final_table(model, fixtures("ab", "cd"), top=2, draws=1)) == 4
    with pytest.raises(InputError, match="3 fixtures are more than 2; simulate fewer at a time"):
        final_table(model, fixtures("ab", "cd", "ac"), top=2)
    with pytest.raises(InputError, match="model must be a Ranker, not int"):
        final_table(3, fixtures("ab"))
    with pytest.raises(InputError, match="final_table takes Comparisons"):
        final_table(model, [("a", "b")])


def test_forecasts_begin_after_three_tenths_unless_told():
    c = Comparisons.from_pairs(PAIRS[:20])
    found = forecasts(Elo(), c)
    assert np.isnan(found[:6]).all()
    assert np.isfinite(found[6:]).all()
    assert_allclose(found, forecasts(Elo(), c, start=0.3))
    model = Elo()
    before = dict(vars(model))
    forecasts(model, c)
    assert vars(model) == before  # it is left as it is


@pytest.mark.parametrize("start", [0, 1, -0.1, 1.5, "x", math.nan])
def test_shares_that_cannot_begin_are_named(start):
    with pytest.raises(InputError, match="start="):
        forecasts(Elo(), votes(), start=start)


def test_what_cannot_be_forecast_is_refused():
    with pytest.raises(InputError, match="refit="):
        forecasts(Elo(), votes(), refit="yes")
    with pytest.raises(
        InputError, match=r"WinRate cannot go on with further votes; it has to be fitted anew each time"
    ):
        forecasts(WinRate(), votes())
    assert np.isfinite(forecasts(WinRate(), votes(), refit=True)[-1]).all()
    with pytest.raises(
        InputError, match="the votes are counted, and forecasts need them one by one; keep each vote a row"
    ):
        forecasts(Elo(), votes().merged())
    with pytest.raises(InputError, match="model must be a Ranker, not str"):
        forecasts("elo", votes())
    with pytest.raises(InputError, match="forecasts takes Comparisons"):
        forecasts(Elo(), PAIRS)


def test_votes_of_one_time_are_forecast_together():
    time = np.repeat([1.0, 2.0, 3.0], 8)
    c = dataclasses.replace(votes(), time=time)
    found = forecasts(Elo(), c, start=0.4)  # the tenth vote is of the second time
    assert np.isnan(found[:8]).all()
    assert np.isfinite(found[8:]).all()
    for first in (8, 16):
        before = Elo().fit(c.take(slice(0, first)))
        assert_allclose(found[first : first + 8], before.predict_proba(c.take(slice(first, first + 8))))
    with pytest.raises(InputError, match=r"all of the first 0\.3 of the votes are of one time; there is none to learn"):
        forecasts(Elo(), c, start=0.3)


def test_a_date_is_the_whole_day():
    import types

    model = types.SimpleNamespace(times_=np.array([10.5, 12.0]), _time_is=None)
    for time_is, early in (("date", [True, False]), (None, [False, False])):
        asked = types.SimpleNamespace(time=np.array([10.9, 11.0]), time_is=time_is, left=np.zeros(2, int))
        found, words = league.before_first_vote(model, asked)
        assert found.tolist() == early
        assert words == "it is before the model's first vote, 1970-01-11 12:00:00"  # ten days and a half later
    for none in (types.SimpleNamespace(times_=None), types.SimpleNamespace()):
        found, words = league.before_first_vote(none, asked)
        assert (found.tolist(), found.dtype, words) == ([False, False], bool, "")


def test_items_with_equal_points_stay_in_their_order():
    frame = final_table(told(0, 1), fixtures("ab", "cd"), top=1, draws=2)
    assert frame["item"].to_list() == ["a", "b", "c", "d"]


def test_folds_are_shared_by_the_processes_asked_for(monkeypatch):
    asked = []
    running = assessment.running
    monkeypatch.setattr(assessment, "running", lambda *given: asked.append(given) or running(1, 1, None))
    assess(votes(), {"sure": Sure}, folds=3)
    assess(votes(), {"sure": Sure}, folds=4, jobs=2, engine="x")
    assert asked == [(1, 3, None), (2, 4, "x")]
