"""Differences between items and quasi-variances: numbers of R, closed forms, and laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from podium import BradleyTerry, Comparisons
from podium.errors import InputError
from podium.ranking.differences import holm
from podium.ranking.uncertainty import quasi_variances

from helpers import thin_data

# Citations between four journals of statistics (Stigler 1994), cited by citing, and what R 4.2 with BradleyTerry2 1.1
# and qvcalc 1.0 says of them: BTabilities(BTm(...)) and qvcalc() of it.
JOURNALS = ("Biometrika", "Comm Statist", "JASA", "JRSS-B")
CITED = np.array([[714, 730, 498, 221], [33, 425, 68, 17], [320, 813, 1072, 142], [284, 276, 325, 188]])
ABILITIES = [0.0, -2.9490724968, -0.4795697698, 0.2689540558]
STD_ERRORS = [0.0, 0.10254533537, 0.06058872924, 0.07082996511]
QUASI_VARIANCES = [0.001774176683, 0.008507472007, 0.001835769333, 0.003424115479]


def journals():
    i, j = np.nonzero(~np.eye(4, dtype=bool))
    winner, loser = (np.repeat(each, CITED[i, j]) for each in (i, j))
    return BradleyTerry(l2=0, tol=1e-11).fit(Comparisons.from_arrays(winner, loser, items=JOURNALS)).ranking_


def test_quasi_variances_are_those_of_qvcalc():
    ranking = journals()
    assert_allclose(ranking.scores - ranking.scores[0], ABILITIES, atol=1e-7)
    assert_allclose(ranking.quasi_variances(), QUASI_VARIANCES, rtol=1e-5)


def test_differences_to_one_item_have_the_errors_of_r():
    frame = journals().differences()
    for journal, ability, error in list(zip(JOURNALS, ABILITIES, STD_ERRORS, strict=True))[1:]:
        pair = {journal, "Biometrika"}
        (row,) = [row for row in frame.to_dicts() if {row["item"], row["against"]} == pair]
        assert abs(row["difference"]) == pytest.approx(abs(ability), abs=1e-7)
        assert row["std_error"] == pytest.approx(error, rel=1e-6)


def test_every_pair_is_in_the_table_once_best_first_and_adjusted_over_all():
    ranking = journals()
    frame = ranking.differences(0.9)
    assert len(frame) == 6
    assert (frame["difference"] >= 0).all()
    assert frame["item"].to_list() == [ranking.order[k] for k in (0, 0, 0, 1, 1, 2)]
    assert_allclose(frame["p_adjusted"], holm(frame["p_value"].to_numpy()))
    assert (frame["significant"] == (frame["p_adjusted"] < 0.1)).all()
    assert_allclose(frame["upper"] - frame["difference"], 1.6448536269514722 * frame["std_error"])
    elo = BradleyTerry(l2=0.1, scale="elo").fit(Comparisons.from_pairs([("a", "b")] * 3 + [("b", "a")]))
    unit = 400 / np.log(10)
    assert elo.ranking_.differences()["std_error"][0] == pytest.approx(
        unit * np.sqrt(elo.ranking_.with_uncertainty("hessian").covariance @ [1, -1] @ [1, -1])
    )


def test_equal_items_are_called_different_in_at_most_five_sets_of_a_hundred():
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        left = rng.integers(6, size=240)
        right = (left + rng.integers(1, 6, size=240)) % 6
        votes = Comparisons.from_arrays(left, right, items=range(6))
        wrong += BradleyTerry(l2=1e-3).fit(votes).ranking_.differences()["significant"].any()
    assert wrong / 60 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 60)


def test_items_that_only_won_have_no_significant_difference_and_no_quasi_variance():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("a", "c"), ("top", "a")] * 3)
    with thin_data():
        ranking = BradleyTerry().fit(votes).ranking_
    frame = ranking.differences()
    top = (frame["item"] == "top") | (frame["against"] == "top")
    assert frame.filter(top)["std_error"].is_infinite().all()
    assert not frame.filter(top)["significant"].any()
    quasi = dict(zip(ranking.items, ranking.quasi_variances(), strict=True))
    assert np.isnan(quasi["top"])
    assert np.isfinite([quasi[item] for item in "abc"]).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(4, 9), st.integers(0, 10**6))
def test_quasi_variances_are_the_least_squares_of_a_general_optimiser(n, seed):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n, 2 * n))
    matrix = half @ half.T
    i, j = np.triu_indices(n, 1)
    wanted = matrix[i, i] + matrix[j, j] - 2 * matrix[i, j]

    def misfit(q):
        return np.sum(np.log((q[i] + q[j]) / wanted) ** 2) if (q[i] + q[j] > 0).all() else np.inf

    q, worst = quasi_variances(matrix)
    again = minimize(misfit, q * rng.uniform(0.9, 1.1, n), method="Nelder-Mead", options={"maxiter": 4000}).fun
    assert misfit(q) <= again + 1e-9
    assert worst == pytest.approx(np.abs(np.sqrt((q[i] + q[j]) / wanted) - 1).max())


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([-6, -5, -3, 0, 2, 6]), min_size=3, max_size=8), st.integers(0, 10**6))
def test_independent_scores_of_any_size_are_their_own_quasi_variances(powers, seed):
    """Exact but for the rounding of the sums from which they are read."""
    own = np.random.default_rng(seed).uniform(1, 2, len(powers)) * 10.0 ** np.array(powers)
    q, worst = quasi_variances(np.diag(own))
    assert_allclose(q, own, rtol=1e-9, atol=8 * len(own) * np.finfo(float).eps * own.max())
    assert worst <= 1e-9


def test_three_items_are_exact_and_one_is_refused():
    matrix = np.array([[2.0, 0.5, 0.1], [0.5, 1.0, 0.3], [0.1, 0.3, 3.0]])
    q, worst = quasi_variances(matrix)
    assert q[0] + q[1] == pytest.approx(2.0)
    assert q[0] + q[2] == pytest.approx(4.8)
    assert q[1] + q[2] == pytest.approx(3.4)
    assert worst == pytest.approx(0, abs=1e-9)
    with pytest.raises(InputError, match="at least two items"):
        quasi_variances(np.eye(1))
    with pytest.raises(InputError, match="finite and not 0"):
        quasi_variances(np.zeros((3, 3)))
