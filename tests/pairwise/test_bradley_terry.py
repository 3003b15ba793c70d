"""Bradley-Terry against closed forms, a dense Newton, choix, and laws."""

import math
import re
import warnings

import choix
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from podium import BradleyTerry, Comparisons
from podium.errors import (
    ConnectivityWarning,
    ConvergenceError,
    DataWarning,
    InputError,
    NotFittedError,
    SeparationWarning,
)
from podium.pairwise._fit import solvers

from helpers import as_comparisons, sided, simulate, thin_data
from reference import newton, newton_in_long_double
from strategies import votes


def test_three_wins_in_four_are_odds_of_three_to_one():
    model = BradleyTerry(l2=0).fit(Comparisons.from_pairs([("a", "b")] * 3 + [("b", "a")]))
    assert model.ranking_.score("a") - model.ranking_.score("b") == pytest.approx(math.log(3), abs=1e-6)
    assert model.win_probability("a", "b") == pytest.approx(0.75, abs=1e-6)
    assert model.converged_


@settings(max_examples=150, deadline=None)
@given(votes(), st.sampled_from([0.01, 0.1, 1.0]))
def test_fit_agrees_with_plain_newton(data, l2):
    n, rows = data
    with thin_data():
        scores = BradleyTerry(l2=l2).fit(as_comparisons(n, rows)).ranking_.scores
    truth = newton(n, rows, l2)
    assert_allclose(scores - scores.mean(), truth - truth.mean(), atol=2e-6)  # where zero is, is said elsewhere


def test_without_penalty_it_agrees_with_choix():
    winner, loser, _ = simulate(12, 3000, np.random.default_rng(0))
    ours = BradleyTerry(l2=0).fit(Comparisons.from_arrays(winner, loser, items=range(12))).ranking_.scores
    theirs = choix.opt_pairwise(12, list(zip(winner, loser, strict=True)), alpha=1e-12)
    assert_allclose(ours, theirs - theirs.mean(), atol=1e-4)


@pytest.mark.parametrize(
    ("near", "how", "l2"), [(None, "coordinate", 1e-3), (2, "banded", 1e-3), (2, "banded", 0.0), (2, "dense", 1e-3)]
)
def test_each_graph_gets_its_solver_and_all_find_the_same_optimum(near, how, l2, monkeypatch):
    n = 300 if how == "dense" else 600
    winner, loser, _ = simulate(n, 60_000, np.random.default_rng(1), spread=0.3, near=near)
    data = Comparisons.from_arrays(winner, loser, items=range(n))
    model = BradleyTerry(l2=l2).fit(data)
    assert model.solver_ == how
    monkeypatch.setattr(solvers, "MAX_SWEEPS_LEFT", -1)  # give up sweeping at once,
    monkeypatch.setattr(solvers, "DENSE", 0)  # nor factorise,
    monkeypatch.setattr(solvers, "BAND_FLOPS", 0)  # so conjugate gradients must do
    by_gradients = BradleyTerry(l2=l2, tol=1e-9).fit(data)
    assert by_gradients.solver_ == "pcg"
    assert_allclose(model.ranking_.scores, by_gradients.ranking_.scores, atol=1e-5)


@pytest.mark.parametrize("l2", [1e-3, 0.05])
@pytest.mark.parametrize("single", [False, True])
def test_items_that_only_won_are_settled_by_themselves_at_the_same_optimum(l2, single, monkeypatch):
    rng = np.random.default_rng(5)
    winner, loser, _ = simulate(600, 4000, rng, spread=2.0)
    ladder = np.arange(600, 604)  # each beat the next and met nobody else: sweeps crawl along it
    winner = np.concatenate([winner, ladder[:-1], ladder[:1]])
    loser = np.concatenate([loser, ladder[1:], [0]])
    votes = Comparisons.from_arrays(winner, loser, items=range(604))
    if single:
        monkeypatch.setattr(solvers, "SINGLE", 0)
    monkeypatch.setattr(solvers, "CHEAP", 0)
    monkeypatch.setattr(solvers, "MAX_SWEEPS_LEFT", math.inf)
    settled = []
    settle = solvers._settle
    monkeypatch.setattr(solvers, "_settle", lambda *each: (settled.append(len(each[3])), settle(*each)))
    found = solvers.coordinate_newton(votes.adjacency, l2, 1e-6, 500)
    assert found.converged
    assert 0 < max(settled) < 604 / 8
    upset = 1 / (1 + np.exp(found.scores[winner] - found.scores[loser]))
    force, matrix = -2 * l2 * found.scores, np.diag(np.full(604, 2 * l2))
    for one, two, sign in ((winner, winner, 1), (loser, loser, 1), (winner, loser, -1), (loser, winner, -1)):
        np.add.at(matrix, (one, two), sign * upset * (1 - upset))
    np.add.at(force, winner, upset)
    np.add.at(force, loser, -upset)
    assert np.abs(np.linalg.solve(matrix, force)).max() < 1e-6  # Newton's step from there


@pytest.mark.parametrize("band", [1, 3, 10])
def test_a_band_is_called_wider_only_where_no_order_is_as_narrow(band):
    rng = np.random.default_rng(band)
    left, right = np.divmod(np.arange(500 * band), band)
    right = left + 1 + right
    left, right = left[right < 500], right[right < 500]
    order = rng.permutation(500)
    chain = solvers.LinearSolver(solvers.Rows(500, order[left].astype(np.int32), order[right].astype(np.int32)), 1.0)
    assert chain.band == band
    assert not chain._is_wider(band)
    star = solvers.Rows(500, np.zeros(499, np.int32), np.arange(1, 500, dtype=np.int32))
    assert solvers.LinearSolver(star, 1.0)._is_wider(249)  # 250 is the least band of a star of 500
    assert not solvers.LinearSolver(star, 1.0)._is_wider(250)


def test_small_and_large_tables_of_counts_give_the_same_pairs(monkeypatch):
    winner, loser, _ = simulate(50, 4000, np.random.default_rng(2))
    small = Comparisons.from_arrays(winner, loser, items=range(50)).pairs
    monkeypatch.setattr("podium.data.comparisons.MIN_DENSE_CELLS", 0)
    large = Comparisons.from_arrays(winner[:600], loser[:600], items=range(50))  # 2,500 cells > 4 · 600
    assert vars(large)["_cells"] is None
    rest = Comparisons.from_arrays(winner[600:1200], loser[600:1200], items=range(50))
    both = {(i, j): (a, b) for i, j, a, b, _ in zip(*(large + rest).pairs, strict=True)}
    monkeypatch.undo()
    again = Comparisons.from_arrays(winner[:1200], loser[:1200], items=range(50)).pairs
    assert both == {(i, j): (a, b) for i, j, a, b, _ in zip(*again, strict=True)}
    assert small.total.sum() == 4000


@settings(max_examples=40, deadline=None)
@given(votes(most_items=5, outcomes=(1.0, 0.0, 0.5)))
def test_davidson_and_side_agree_with_a_generic_optimiser(data):
    n, rows = data
    if all(y == 0.5 for *_, y, _ in rows) or not any(y == 0.5 for *_, y, _ in rows):
        return
    l2 = 0.3

    def objective(theta):
        u, side, eta = theta[:n], theta[n], theta[n + 1]
        total = l2 * u @ u
        for i, j, y, w in rows:
            m = u[i] - u[j] + side
            part = np.logaddexp(np.logaddexp(m / 2, -m / 2), eta)
            total += w * (part - {1.0: m / 2, 0.0: -m / 2, 0.5: eta}[y])
        return total

    # A side that always wins has no finite effect: hold it as data always do, with one vote each way.
    rows = [*rows, (0, 1, 1.0, 1.0), (0, 1, 0.0, 1.0)]
    with thin_data():
        model = BradleyTerry(l2=l2, ties="davidson", side_effect=True).fit(sided(n, rows))
    found = minimize(objective, np.zeros(n + 2), method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    scores = model.ranking_.scores - model.ranking_.scores.mean()  # where the penalty has them
    ours = np.concatenate([scores, [model.side_effect_, math.log(model.tie_strength_)]])
    assert objective(ours) <= found.fun + 1e-9


def test_covariates_agree_with_logistic_regression_on_the_same_design():
    rng = np.random.default_rng(3)
    n, m = 8, 4000
    truth, style = rng.normal(0, 1, n), rng.normal(0, 1, m)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(-(truth[left] - truth[right] + 0.7 * style)))
    winner, loser = np.where(won, left, right), np.where(won, right, left)
    data = Comparisons.from_arrays(winner, loser, covariates={"style": np.where(won, style, -style)}, items=range(n))
    model = BradleyTerry(l2=0.5).fit(data)
    from sklearn.linear_model import LogisticRegression

    design = np.zeros((m, n + 1))
    design[np.arange(m), left], design[np.arange(m), right], design[:, n] = 1, -1, 1e4 * style
    peer = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12, max_iter=10_000, solver="newton-cg").fit(
        design, won
    )
    # scikit-learn's penalty is ½‖·‖²/C; a huge unit for style leaves it all but unpenalised.
    assert_allclose(model.ranking_.scores, peer.coef_[0, :n], atol=1e-4)
    assert model.coef_[0] == pytest.approx(1e4 * peer.coef_[0, n], abs=1e-4)
    assert abs(model.coef_[0] - 0.7) < 4 * model.coef_std_errors_[0]
    assert model.covariate_names_ == ("style",)


def test_side_effect_is_found_with_its_error():
    rng = np.random.default_rng(4)
    n, m = 10, 20_000
    truth = rng.normal(0, 1, n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(-(truth[left] - truth[right] + 0.4)))
    data = sided(n, list(zip(left, right, won.astype(float), np.ones(m), strict=True)))
    model = BradleyTerry(side_effect=True).fit(data)
    assert abs(model.side_effect_ - 0.4) < 4 * model.side_effect_std_error_
    assert 0.005 < model.side_effect_std_error_ < 0.05
    plain = BradleyTerry().fit(data)
    assert plain.side_effect_ == 0.0
    assert plain.side_effect_std_error_ is None


def test_elo_scale_and_anchor_move_scores_but_not_chances_or_errors():
    winner, loser, _ = simulate(6, 500, np.random.default_rng(5))
    data = Comparisons.from_arrays(winner, loser, items=list("abcdef"))
    plain = BradleyTerry().fit(data)
    elo = BradleyTerry(scale="elo", anchor=("a", 1500)).fit(data)
    unit = 400 / math.log(10)
    assert elo.ranking_.score("a") == 1500
    assert_allclose(np.diff(elo.ranking_.scores), unit * np.diff(plain.ranking_.scores))
    assert_allclose(BradleyTerry(scale="elo").fit(data).ranking_.scores, 1000 + unit * plain.ranking_.scores)
    assert_allclose(elo.ranking_.std_errors, unit * plain.ranking_.std_errors)
    assert elo.win_probability("a", "b") == pytest.approx(plain.win_probability("a", "b"))


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("scale", ["log-odds", "elo"])
@pytest.mark.parametrize(("l2", "close"), [(1e-3, 0.02), (1e-6, 1e-4)])
def test_an_item_that_only_lost_or_only_won_moves_nobody(l2, close, scale, sign):
    """Its score would be infinite, where its votes say nothing of the others: what is left is the penalty's doing."""
    better, worse, _ = simulate(24, 1500, np.random.default_rng(12))
    ends = (np.append(better, [3, 7]), np.append(worse, [24, 24]))  # two losses
    ends = ends[::sign]  # or, all turned round, two wins
    model = BradleyTerry(l2=l2, scale=scale)
    before = model.fit(Comparisons.from_arrays(ends[0][:1500], ends[1][:1500], items=range(24))).ranking_
    with thin_data():
        after = model.fit(Comparisons.from_arrays(*ends, items=range(25))).ranking_
    assert_allclose(after.scores[:24], before.scores, atol=close * before.unit)
    assert_allclose(after.scores[:24].mean(), before.scores.mean(), atol=1e-9 * before.unit)
    for mine, theirs in zip(after.intervals(), before.intervals(), strict=True):
        assert_allclose(mine[:24], theirs, atol=2 * close * before.unit)
    assert after.held_fixed == "mean of the 24 bounded items"


def test_an_anchor_that_the_votes_do_not_bound_is_remarked_on():
    data = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("a", "new")])
    with thin_data():
        firm = BradleyTerry(anchor=("a", 100)).fit(data).ranking_
        loose = BradleyTerry(anchor=("new", 100)).fit(data).ranking_
    assert firm.score("a") == 100
    assert "bound" not in firm.note
    assert "the votes do not bound 'new'" in loose.note


def test_consistent_votes_warn_and_name_the_ends_and_without_penalty_are_an_error():
    data = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("a", "c")])
    with pytest.warns(SeparationWarning, match=r"'a' never loses and 'c' never wins"):
        ranking = BradleyTerry().fit(data).ranking_
    assert ranking.order == ("a", "b", "c")
    lower, upper = ranking.intervals()
    assert upper[0] == np.inf
    assert lower[2] == -np.inf
    with pytest.raises(InputError, match=r"no finite scores exist; set l2 > 0"):
        BradleyTerry(l2=0).fit(data)


@pytest.mark.parametrize("l2", ["auto", 1e-3])
def test_a_chain_that_nobody_climbs_says_that_all_distances_are_the_penaltys(l2):
    chain = Comparisons.from_pairs([(f"i{k:02d}", f"i{k + 1:02d}") for k in range(29)])
    words = r"'i00' never loses and 'i29' never wins, and 28 groups in between .*; all their distances are set by "
    with pytest.warns(SeparationWarning, match=words):
        BradleyTerry(l2=l2).fit(chain)
    circles = [
        ("top", "a"),
        ("a", "b"),
        ("b", "a"),
        ("b", "c"),
        ("c", "d"),
        ("d", "c"),
    ]  # one group, and one at the end
    with pytest.warns(SeparationWarning, match="and 2 groups in between only ever beat those below"):
        BradleyTerry(l2=l2).fit(Comparisons.from_pairs([*circles, ("d", "end")]))  # a group each
    with pytest.warns(SeparationWarning, match="'top' never loses; the distance to the rest is"):
        BradleyTerry(l2=l2).fit(Comparisons.from_pairs(circles))
    pairs = [("top", "a"), ("a", "b"), ("b", "a"), ("b", "end")]  # one group between both ends
    with pytest.warns(SeparationWarning, match="'top' never loses and 'end' never wins; the distance to the rest is"):
        BradleyTerry(l2=l2).fit(Comparisons.from_pairs(pairs))


def test_a_group_that_never_loses_is_named():
    data = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"), ("a", "c")])
    with pytest.warns(SeparationWarning, match=r"the group \['a', 'b'\] never loses to the rest; the distance"):
        BradleyTerry().fit(data)


def test_groups_never_compared_are_named():
    data = Comparisons.from_pairs([("tea", "milk"), ("milk", "tea"), ("car", "bus"), ("bus", "car")])
    with pytest.warns(
        ConnectivityWarning, match=r"2 groups never compared with each other: \['tea', 'milk'\], \['car', 'bus'\]"
    ):
        BradleyTerry().fit(data)
    with pytest.raises(InputError, match=r"compare across groups, or set l2 > 0"):
        BradleyTerry(l2=0).fit(data)


def test_without_penalty_separate_groups_each_have_their_optimum_centred():
    pairs = [("a", "b")] * 3 + [("b", "a")]
    with pytest.raises(InputError):
        BradleyTerry(l2=0).fit(Comparisons.from_pairs([*pairs, ("c", "d"), ("d", "c")]))


def test_too_few_steps_are_an_error_that_says_what_to_do():
    winner, loser, _ = simulate(20, 2000, np.random.default_rng(6))
    with pytest.raises(ConvergenceError, match="raise l2="):
        BradleyTerry(l2=1e-3, max_iter=1).fit(Comparisons.from_arrays(winner, loser, items=range(20)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l2": -1}, "l2=-1"),
        ({"l2": float("nan")}, "l2=nan"),
        ({"l2": "much"}, "l2='much'"),
        ({"tol": 0}, "tol=0: it must be a finite number above 0"),
        ({"max_iter": -5}, "max_iter=-5: it must be a whole number of at least 1"),
        ({"anchor": ("a", "x")}, "the score of 'a' is x"),
        ({"ties": "ignore"}, "ties='ignore' is not known; use 'half' or 'davidson'"),
        ({"scale": "points"}, "scale='points' is not known"),
        ({"anchor": ("z", 0)}, "'z' is not among the 2 items"),
        ({"anchor": {"a": 1, "b": 2}}, "give one item and its score"),
        ({"side_effect": True}, "give left, right and outcome"),
    ],
)
def test_bad_options_are_named(options, message):
    data = Comparisons.from_pairs([("a", "b"), ("b", "a")])
    with pytest.raises(InputError, match=message):
        BradleyTerry(**options).fit(data)


def test_only_ties_have_no_davidson_model_and_no_ties_have_strength_zero():
    only = Comparisons.from_arrays(["a", "b"], ["b", "c"], tie=[True, True])
    with pytest.raises(InputError, match="every vote is a tie"):
        BradleyTerry(ties="davidson").fit(only)
    none = Comparisons.from_pairs([("a", "b"), ("b", "a")])
    assert BradleyTerry(ties="davidson").fit(none).tie_strength_ == 0.0


def test_davidson_chances_add_up():
    data = Comparisons.from_arrays(["a", "b", "a", "a"], ["b", "a", "b", "b"], tie=[False, False, True, False])
    model = BradleyTerry(l2=1e-3, ties="davidson").fit(data)
    total = model.win_probability("a", "b") + model.win_probability("b", "a") + model.tie_probability("a", "b")
    assert total == pytest.approx(1.0)
    # Two items, all three outcomes free: the model is saturated and must give the observed shares (l2 is small).
    assert model.tie_probability("a", "b") == pytest.approx(0.25, abs=1e-2)


def five_and_three_wins(rng, strength=1.0, truth=None, votes=120):
    """Votes with ties on five items, drawn from Davidson's model, and three of a newcomer with the first three."""
    truth = np.zeros(6) if truth is None else truth
    left = np.concatenate([rng.integers(0, 5, votes), np.full(3, 5)])
    right = np.concatenate([(left[:votes] + rng.integers(1, 5, votes)) % 5, [0, 1, 2]])
    half = (truth[left] - truth[right]) / 2
    chances = np.exp(np.column_stack([half, -half, np.full(len(half), math.log(strength))]))
    draw = rng.random(len(half)) * chances.sum(axis=1)
    outcome = np.where(draw < chances[:, 0], 1.0, np.where(draw < chances[:, :2].sum(axis=1), 0.0, 0.5))
    return left, right, outcome


@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize(("level", "sign"), [(0.95, 1), (0.8, 1), (0.95, -1)])
def test_with_davidson_the_finite_end_is_where_three_wins_become_improbable(level, sign, side):
    left, right, outcome = five_and_three_wins(np.random.default_rng(3))
    outcome[-3:] = 1.0 if sign > 0 else 0.0
    rows = list(zip(left, right, outcome, np.ones(len(left)), strict=True))
    with thin_data():
        model = BradleyTerry(l2=1e-3, ties="davidson", side_effect=side).fit(sided(6, rows))
    lower, upper = model.ranking_.intervals(level)
    end = lower[5] if sign > 0 else upper[5]
    gap = sign * (end - model.ranking_.scores[:3] + model.side_effect_)
    wins = 1 / (1 + np.exp(-gap))  # Davidson's chance of a win where the vote is no tie
    assert np.prod(wins) == pytest.approx((1 - level) / 2, rel=1e-6)  # Clopper & Pearson
    assert (upper if sign > 0 else lower)[5] == sign * np.inf


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_three_wins_over_equals_prove_no_champion(ties):
    left, right, outcome = five_and_three_wins(np.random.default_rng(3))
    outcome[-3:] = 1.0
    with thin_data():
        rows = zip(left, right, outcome, np.ones(len(left)), strict=True)
        ranking = BradleyTerry(ties=ties).fit(as_comparisons(6, list(rows))).ranking_
    best, worst = ranking.rank_intervals()
    assert best[5] == 1
    assert worst[5] >= 4
    assert ranking.tiers()[0] != (5,)


def test_finite_ends_hold_the_truth_with_ties_modelled():
    """Newcomers of all strengths who happened to win all three: their lower bound lies below the truth."""
    rng, held = np.random.default_rng(8), []
    while len(held) < 150:
        truth = rng.normal(size=6)
        left, right, outcome = five_and_three_wins(rng, truth=truth)
        if not (outcome[-3:] == 1).all():
            continue
        with thin_data():
            rows = zip(left, right, outcome, np.ones(len(left)), strict=True)
            ranking = BradleyTerry(ties="davidson").fit(as_comparisons(6, list(rows))).ranking_
        held.append(ranking.intervals()[0][5] <= truth[5] - truth[:5].mean())
    assert np.mean(held) >= 0.93


def chain(n, each=20, step=0.1):
    """Votes between neighbours only, each a little better than the one before."""
    rng = np.random.default_rng(13)
    left = np.repeat(np.arange(n - 1), each)
    won = rng.random(len(left)) < 1 / (1 + math.exp(step))
    return Comparisons.from_arrays(np.where(won, left, left + 1), np.where(won, left + 1, left), items=range(n))


def test_a_penalty_that_flattens_a_long_chain_is_remarked_on():
    data = chain(100_000)
    with thin_data(), pytest.warns(DataWarning, match="the penalty flattens the scores: with l2 = 0.00037 instead of"):
        flat = BradleyTerry(l2=1e-3).fit(data).ranking_.scores
    assert np.ptp(flat) < 100  # where neighbours tell of a range of 10,000


@pytest.mark.parametrize("l2", [1e-3, 1e-2])
def test_the_remark_on_the_penalty_says_by_how_much(l2):
    data = chain(1000, each=40, step=0.05)
    with thin_data(), pytest.warns(DataWarning, match="the penalty flattens") as said:
        here = BradleyTerry(l2=l2, tol=1e-9).fit(data).ranking_.scores
    share = float(re.search(r"about (\d+) %", str(said[-1].message))[1]) / 100
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = BradleyTerry(l2=l2 * math.exp(-0.02), tol=1e-9).fit(data).ranking_.scores
    here, there = here - here.mean(), there - there.mean()
    assert share == pytest.approx(here @ (there - here) / (here @ here) / 0.02, abs=0.01)


@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize(("n", "m", "near"), [(20, 400, None), (130, 20_000, None), (500, 5000, None), (50, 5000, 3)])
def test_ordinary_votes_get_no_remark_on_the_penalty(n, m, near, ties):
    winner, loser, _ = simulate(n, m, np.random.default_rng(14), near=near)
    tie = np.random.default_rng(15).random(len(winner)) < 0.1
    data = Comparisons.from_arrays(winner, loser, tie=tie, items=range(n))
    with thin_data(), warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        BradleyTerry(ties=ties).fit(data)
        BradleyTerry(ties=ties, l2=1.0).fit(data)  # shrunk as asked
    assert [str(each.message) for each in said if issubclass(each.category, DataWarning)] == []


def test_asking_before_fit_says_so():
    with pytest.raises(NotFittedError, match="call fit"):
        BradleyTerry().win_probability("a", "b")


def test_a_covariate_that_decides_every_vote_is_warned_about():
    winner, loser, _ = simulate(5, 400, np.random.default_rng(7))
    data = Comparisons.from_arrays(winner, loser, covariates={"leak": np.ones(400)}, items=range(5))
    with pytest.warns(SeparationWarning, match="'leak' separates the votes"):
        BradleyTerry().fit(data)


def test_a_side_that_always_wins_is_warned_about():
    rows = [(i, j, 1.0, 1.0) for i in range(4) for j in range(4) if i != j]
    with pytest.warns(SeparationWarning, match="the side separates the votes"):
        BradleyTerry(side_effect=True).fit(sided(4, rows))


def test_covariates_that_say_nothing_or_the_same_are_refused():
    winner, loser, _ = simulate(5, 200, np.random.default_rng(8))
    x = np.random.default_rng(9).normal(size=200)
    idle = Comparisons.from_arrays(winner, loser, covariates={"idle": 0 * x}, items=range(5))
    with pytest.raises(InputError, match="covariate 'idle' is 0 in every vote"):
        BradleyTerry().fit(idle)
    twice = Comparisons.from_arrays(winner, loser, covariates={"x": x, "double": 2 * x}, items=range(5))
    with pytest.raises(InputError, match="x, double: one follows from the others"):
        BradleyTerry().fit(twice)


def three_groups(scale, bridge, rng):
    """Three groups of four that voted much among themselves, each beating the next; with `bridge` lightly beaten."""
    rows = []
    for base in (0, 4, 8):
        for _ in range(30):
            i = int(rng.integers(4))
            rows.append((base + i, base + (i + int(rng.integers(1, 4))) % 4, float(rng.random() < 0.6), scale))
        rows += [(base + i, base + (i + 1) % 4, 1.0, scale) for i in range(4)]
    rows += [(base + i, base + 4 + i, 1.0, scale) for base in (0, 4) for i in range(3)]
    if bridge:
        rows += [(base + 4, base, 1.0, 0.01 * min(scale, 1.0)) for base in (0, 4)]
    return rows


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3, 1e6, 1e8])
@pytest.mark.parametrize(("l2", "bridge"), [(0.0, True), (1e-3, True), (1.0, True), (1e-3, False), (1.0, False)])
@pytest.mark.parametrize("how", ["as it likes", "pcg"])
def test_scores_are_as_near_the_optimum_as_asked_whatever_the_weights(scale, l2, bridge, how, monkeypatch):
    """A group hangs on the penalty or a hundredth of a vote while its own votes weigh millions."""
    if how == "pcg":
        monkeypatch.setattr(solvers, "DENSE", 0)
        monkeypatch.setattr(solvers, "BAND_FLOPS", 0)
    rows = three_groups(scale, bridge, np.random.default_rng(11))
    with thin_data():
        warnings.simplefilter("ignore", DataWarning)  # the penalty may well be what holds a group
        found = BradleyTerry(l2=l2).fit(as_comparisons(12, rows)).ranking_.scores
    truth = newton_in_long_double(12, rows, l2)
    loose = 30.0 if scale * 1e2 > 1e9 * max(l2, 1e-2) else 3.0  # there rounding of the sums is what is left
    assert_allclose(found - found.mean(), truth - truth.mean(), atol=loose * 1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1e12])
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_scaling_weights_and_penalty_together_moves_nothing(scale, ties):
    rows = [(0, 1, 1.0, 1.0), (1, 2, 0.0, 2.0), (2, 0, 0.5, 1.0), (0, 2, 1.0, 1.5), (1, 0, 1.0, 1.0), (2, 1, 0.0, 1.0)]
    scaled = [(i, j, y, scale * w) for i, j, y, w in rows]
    plain = BradleyTerry(l2=0.1, ties=ties, side_effect=True).fit(sided(3, rows))
    other = BradleyTerry(l2=0.1 * scale, ties=ties, side_effect=True).fit(sided(3, scaled))
    assert_allclose(other.ranking_.scores, plain.ranking_.scores, atol=1e-5)
    assert other.side_effect_ == pytest.approx(plain.side_effect_, abs=1e-5)


def test_what_was_learned_is_not_there_before_fit():
    for name in ("coef_", "coef_std_errors_", "side_effect_", "tie_strength_"):
        with pytest.raises(NotFittedError):
            getattr(BradleyTerry(), name)


def test_never_losing_is_read_off_the_votes_not_off_sums():
    rows = [(0, 1, 1.0, 1.0), (1, 0, 1.0, 1e-12), (1, 2, 1.0, 1.0), (2, 1, 1.0, 1.0)]
    model = BradleyTerry().fit(as_comparisons(3, rows))  # no warning: 0 did lose, however little
    assert np.isfinite(model.ranking_.intervals()[1]).all()
