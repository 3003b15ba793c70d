"""Forecasts before each game, and final tables against every outcome played out by hand."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import RABF, BradleyTerry, Comparisons, DynamicBradleyTerry, Elo, OnlineRABF, WinRate
from podium.errors import DataWarning, InputError
from podium.evaluate import final_table, forecasts
from podium.evaluate.league import _points, before_first_vote, unpredicted


def games(seed=0, n=4, m=60):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    outcome = rng.choice([-1, 0, 1], m, p=[0.3, 0.2, 0.5]).astype(np.int8)
    return Comparisons(tuple("abcdefgh"[:n]), left, right, outcome=outcome, sided=True, time=np.arange(m) // 4 * 1.0)


def fixtures(pairs, items="abcd"):
    left, right = (np.array([items.index(pair[k]) for pair in pairs]) for k in (0, 1))
    return Comparisons(tuple(items), left, right, outcome=np.zeros(len(pairs), np.int8), sided=True)


def by_hand(model, left_over, so_far, worth, top):
    """Chances of every table, each sequence of outcomes once; equal points share their ranks."""
    chances = model.predict_proba(left_over)
    items, n = left_over.items, len(left_over.items)
    first, high, last, points = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    for told in itertools.product(range(3), repeat=len(left_over.left)):
        chance = np.prod([chances[k, outcome] for k, outcome in enumerate(told)])
        table = np.array([so_far[item] for item in items], float)
        for k, outcome in enumerate(told):
            table[left_over.left[k]] += worth[outcome]
            table[left_over.right[k]] += worth[2 - outcome]
        points += chance * table
        for i in range(n):
            above, equal = np.sum(table > table[i]), np.sum(table == table[i])
            ranks = np.arange(above, above + equal)  # by lot
            first[i] += chance * np.mean(ranks == 0)
            high[i] += chance * np.mean(ranks < top)
            last[i] += chance * np.mean(ranks == n - 1)
    return {"expected_points": points, "first": first, "top": high, "last": last}


@pytest.mark.parametrize(
    "model",
    [Elo(k=40, side_advantage=50), BradleyTerry(l2=0.1, ties="davidson", side_effect=True)],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("worth", [(3, 1, 0), (2, 1, 0), (1, 0.5, 0)])
@pytest.mark.filterwarnings("ignore:the model gives a tie no chance")
def test_a_final_table_is_that_of_all_outcomes_played_by_hand(model, worth, monkeypatch):
    c = games()
    model.fit(c)
    monkeypatch.setattr(type(model), "_margin_covariance", lambda self, c: None)  # strengths taken as known
    left_over = fixtures(["ab", "ca", "bd", "dc", "ad"])
    played = c.take(np.arange(9))
    wins, losses, ties = played.record()
    so_far = dict(zip(c.items, worth[0] * wins + worth[1] * ties + worth[2] * losses, strict=True))
    frame = final_table(model, left_over, played, points=worth, top=2, draws=20_000, seed=1).sort("item")
    assert frame["points"].to_list() == [so_far[item] for item in "abcd"]
    wanted = by_hand(model, left_over, so_far, worth, 2)
    for name in ("first", "top", "last"):
        assert_allclose(frame[name], wanted[name], atol=4 * 0.5 / np.sqrt(20_000))
    assert_allclose(frame["expected_points"], wanted["expected_points"], atol=0.06)
    assert frame["first"].sum() == pytest.approx(1)
    assert frame["top"].sum() == pytest.approx(2)
    assert frame["last"].sum() == pytest.approx(1)


@pytest.mark.parametrize(
    "model",
    [BradleyTerry(ties="davidson", side_effect=True), DynamicBradleyTerry(ties="davidson", side_effect=True)],
    ids=lambda model: type(model).__name__,
)
def test_drawn_margins_have_the_mean_and_the_errors_that_bounds_have(model):
    """And chances over them are those of `predict_proba`, which allows for errors with a prior from the votes."""
    c = games(m=120)
    model.fit(c)
    asked = fixtures(["ab", "ac", "ba", "cd", "dc"])
    chances = model.draw_chances(asked, 40_000, np.random.default_rng(0))
    drawn = np.log(chances[:, :, 0] / chances[:, :, 2])  # Davidson's odds of a win to a loss
    assert_allclose(drawn.mean(axis=0), model._margins(asked), atol=0.03)
    assert_allclose(drawn.var(axis=0), model._margin_errors(asked), rtol=0.05)
    spread = np.cov(drawn.T)
    assert_allclose(spread, model._margin_covariance(asked), atol=0.05 * spread.max())
    both = drawn[:, 0] + drawn[:, 2]  # a at home to b, and b to a: strengths cancel, twice the side effect is left
    assert both.mean() == pytest.approx(2 * model.side_effect_, abs=0.02)
    assert_allclose(chances.mean(axis=0), model.predict_proba(asked), atol=0.01)


def test_later_games_of_one_team_share_what_it_walks():
    c = games(m=80)
    model = DynamicBradleyTerry(drift=0.5, sd=1.0).fit(c)
    last = c.time.max()
    asked = replace(fixtures(["ab", "ab", "cd"]), time=last + np.array([4.0, 9.0, 4.0]))
    covariance = model._margin_covariance(asked)
    now = model._margin_covariance(replace(fixtures(["ab", "ab", "cd"]), time=np.full(3, last)))
    assert_allclose(covariance - now, [[2, 2, 0], [2, 4.5, 0], [0, 0, 2]], atol=1e-9)  # 0.25 · days · two teams


@pytest.mark.parametrize(
    ("model", "remedy"),
    [
        (BradleyTerry(l2=0.1), "fit it with ties='davidson'"),
        (Elo(), "fit one that models ties, as Bradley-Terry, with ties='davidson'"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_a_table_without_ties_says_so_where_the_games_had_some(model, remedy):
    c, left_over = games(), fixtures(["ab", "ca", "bd", "dc", "ad"])
    with pytest.warns(DataWarning, match="no ties are played, and points are those of a league without ties") as heard:
        frame = final_table(model.fit(c), left_over, top=2, draws=200)
    assert remedy in str(heard[0].message)
    assert frame["expected_points"].sum() == pytest.approx(3 * 5)  # a winner of every game
    decided = c.take(np.flatnonzero(c.outcome != 0))
    with pytest.warns(DataWarning, match="no ties are played"):  # the model saw none, the table so far has some
        final_table(model.fit(decided), left_over, c, top=2, draws=2)


def test_a_table_is_silent_about_ties_that_are_modelled_or_never_were():
    c, left_over = games(), fixtures(["ab", "ca", "bd", "dc", "ad"])
    decided = c.take(np.flatnonzero(c.outcome != 0))
    final_table(BradleyTerry(l2=0.1).fit(decided), left_over, decided, top=2, draws=2)  # a warning is an error here
    modelled = final_table(BradleyTerry(l2=0.1, ties="davidson").fit(c), left_over, c.take([0]), top=2, draws=200)
    assert (modelled["expected_points"] - modelled["points"]).sum() < 3 * 5


def test_forecasts_are_those_of_a_loop_that_fits_before_each_day():
    c = games(m=60)
    for model in (DynamicBradleyTerry(drift=0.2, sd=1.0, side_effect=True), Elo(side_advantage=30), OnlineRABF()):
        found = forecasts(model, c, start=0.5)
        assert np.isnan(found[:28]).all()
        for first in range(28, 60, 4):
            before = type(model)(**model.get_params()).fit(c.take(slice(0, first)))
            assert_allclose(found[first : first + 4], before.predict_proba(c.take(slice(first, first + 4))), atol=1e-6)
    again = forecasts(BradleyTerry(l2=0.1), c, start=0.5, refit=True)
    assert_allclose(again[56:], BradleyTerry(l2=0.1).fit(c.take(slice(0, 56))).predict_proba(c.take(slice(56, 60))))


def test_forecasts_with_features_are_fits_with_them():
    c = games(m=40)
    table = np.array([[1.0, 0.0], [0.5, 1.0], [-1.0, 0.3], [0.0, -2.0]])
    model = RABF(feature_penalty=0.1, residual_penalty=0.5)
    found = forecasts(model, c, start=0.8, refit=True, features=table)
    for first in (32, 36):
        before = RABF(feature_penalty=0.1, residual_penalty=0.5).fit(c.take(slice(0, first)), features=table)
        assert_allclose(found[first : first + 4], before.predict_proba(c.take(slice(first, first + 4))), atol=1e-6)
    assert np.isnan(found[:32]).all()
    without = forecasts(model, c, start=0.8, refit=True)
    assert np.abs(without[32:] - found[32:]).max() > 1e-3
    with pytest.raises(InputError, match="features= do not apply to Elo; leave them out"):
        forecasts(Elo(), c, features=table)


@pytest.mark.parametrize(("rows", "start", "first"), [(10, 0.5, 5), (10, 0.45, 4), (10, 0.99, 9), (3, 0.5, 1)])
def test_without_times_each_vote_is_a_time_of_its_own(rows, start, first):
    c = replace(games(m=rows), time=None)
    found = forecasts(Elo(), c, start=start)
    assert np.isnan(found[:first]).all()
    assert np.isfinite(found[first:]).all()


def test_fixtures_that_have_no_chances_are_named_up_to_five_and_counted():
    c = games()
    model = DynamicBradleyTerry(drift=0.2, sd=1.0).fit(replace(c, time=c.time + 10))
    labels = "abcdz"
    pairs = ["ab", *["az", "zb"] * 3, "cd"]
    left, right = (np.array([labels.index(pair[k]) for pair in pairs]) for k in (0, 1))
    time = np.array([20.0, 20, 20, 20, 20, 20, 5, 9.0])
    left_over = Comparisons(tuple(labels), left, right, outcome=np.zeros(8, np.int8), sided=True, time=time)
    strange, sentences = unpredicted(model, left_over, "f.csv, ")
    assert strange.tolist() == [False, *[True] * 6, True]
    assert sentences == [
        *(f"f.csv, row {row}: 'z' is not in the model; its chances are left empty" for row in range(2, 7)),
        "… and 1 row more with items that are not in the model",
        "f.csv, row 8: it is before the model's first vote, 10.0; its chances are left empty",
    ]
    early, words = before_first_vote(model, left_over)
    assert early.tolist() == [False] * 6 + [True, True]
    assert words == "it is before the model's first vote, 10.0"
    at_first = replace(left_over, time=np.full(8, 10.0))
    assert not before_first_vote(model, at_first)[0].any()
    two = replace(left_over.take([0, 7, 7]), time=np.array([20.0, 1.0, 2.0]))
    assert unpredicted(model, two) == (
        pytest.approx([False, True, True]),
        ["row 2: it is before the model's first vote, 10.0; its chances are left empty", "… and 1 row more before it"],
    )
    assert before_first_vote(Elo().fit(c), left_over)[1] == ""
    assert not unpredicted(Elo().fit(c), left_over.take([0, 7]))[0].any()


@pytest.mark.parametrize("points", [(3, 1, 0), (2, 1, 0), (3, 0, -1)])
def test_points_so_far_are_wins_ties_and_losses(points):
    c = Comparisons.from_frame({"left": list("aabx"), "right": list("bbaa"), "outcome": [1, 0.5, 1, 0]})
    with pytest.warns(DataWarning, match="no ties are played"):
        frame = final_table(Elo().fit(games(n=4)), fixtures(["cd"]), c, points=points, top=2, draws=50)
    win, tie, loss = points
    so_far = {"a": win + tie + loss + win, "b": loss + tie + win, "x": loss, "c": 0.0, "d": 0.0}
    assert dict(zip(frame["item"], frame["points"], strict=True)) == so_far
    gained = dict(zip(frame["item"], frame["expected_points"] - frame["points"], strict=True))
    assert gained["a"] == gained["b"] == gained["x"] == 0.0
    assert gained["c"] + gained["d"] == pytest.approx(win + loss)


def test_forecasts_do_not_see_the_result():
    c = games(m=60)
    other = replace(c, outcome=np.where(c.time >= 10, -c.outcome, c.outcome).astype(np.int8))
    model = DynamicBradleyTerry(drift=0.2, sd=1.0)
    one, two = (forecasts(model, votes, start=0.4) for votes in (c, other))
    day = c.time == 10
    assert_allclose(one[day], two[day], atol=1e-9)
    assert np.abs(one[c.time == 11] - two[c.time == 11]).max() > 1e-3


def test_what_cannot_be_played_is_refused():
    c, left_over = games(), fixtures(["ab", "cd"])
    model = Elo().fit(c)
    with pytest.raises(InputError, match="row 2: 'z' is not in the model; correct the label"):
        final_table(model, fixtures(["ab", "cz"], "abcz"))
    with pytest.raises(InputError, match="top=4: there are 4 items"):
        final_table(model, left_over, top=4)
    with pytest.raises(InputError, match=r"points=.*give three numbers"):
        final_table(model, left_over, points=(3, 1), top=2)
    with pytest.raises(InputError, match="WinRate cannot go on with further votes"):
        forecasts(WinRate(), c)
    with pytest.raises(InputError, match=r"all of the first 0\.3 of the votes are of one time"):
        forecasts(Elo(), replace(c, time=np.zeros(60)))
    with pytest.raises(InputError, match="the votes are counted"):
        forecasts(Elo(), c.merged())


@pytest.mark.parametrize("points", [[3 + 1j, 1, 0], "3,1,0", [3, 1], [3, 1, np.inf], None])
def test_points_that_are_no_three_numbers_are_refused(points):
    with pytest.raises(InputError, match="three numbers"):
        _points(points)
