"""Limits stand where they are said to: how many votes, items, judges and fixtures are looked at, and in which way."""

import types

import numpy as np
import pytest

from podium import Comparisons, Elo
from podium.errors import InputError
from podium.evaluate import assessment, final_table
from podium.evaluate.diagnosis import steadiness
from podium.evaluate.diagnosis.exact import ExactRedraws
from podium.evaluate.diagnosis.misfit import Cycles, Fit
from podium.evaluate.diagnosis.table import Model, Table


def one_row(n, votes):
    """A pair that voted so often, among n items."""
    wins = np.array([float(votes)])
    return Table(n, np.array([0], np.int32), np.array([1], np.int32), wins, 0 * wins, 0 * wins, wins)


def fit_of(table):
    fit = Fit.__new__(Fit)
    fit.table, fit.votes = table, table.total
    return fit


@pytest.mark.parametrize(
    ("n", "votes", "exact"),
    [(2, 100_000, True), (2, 100_001, False), (1001, 100_050, True), (1000, 100_050, False)],
)
def test_wins_are_kept_up_to_a_hundred_thousand_votes_or_below_two_hundred_an_item(n, votes, exact):
    assert fit_of(one_row(n, votes)).exact == exact


def chain(n):
    ends = np.arange(n - 1, dtype=np.int32)
    ones = np.ones(n - 1)
    return Table(n, ends, ends + 1, ones, ones, 0 * ones, 2 * ones)


@pytest.mark.parametrize(("n", "dense"), [(300, True), (301, False)])
def test_what_goes_round_is_seen_by_a_matrix_of_up_to_three_hundred_items(n, dense):
    assert Cycles(chain(n)).dense == dense


@pytest.mark.parametrize(("leaves", "few"), [(999, True), (1000, False)])
def test_beyond_it_is_looked_for_among_a_million_pairs_of_opponents(leaves, few):
    """A star: its middle met them all, leaves² and one each."""
    ones = np.ones(leaves)
    star = Table(
        leaves + 1, np.zeros(leaves, np.int32), np.arange(1, leaves + 1, dtype=np.int32), ones, ones, 0 * ones, 2 * ones
    )
    assert Cycles(star).few == few


def influence(votes, n):
    return steadiness.influence(
        types.SimpleNamespace(uses=types.SimpleNamespace(order=False)), votes, lambda part: None, np.arange(n) * 1.0,
        tuple(range(n)), np.ones(n, bool), lambda one, other: False,
    ).tried  # fmt: skip


def round_robin(n, rows):
    left = np.arange(rows) % n
    return Comparisons.from_arrays(left, (left + 1) % n, items=range(n))


def test_fifty_items_are_left_out_in_turn_and_fewer_of_very_many_votes(monkeypatch):
    assert influence(round_robin(50, 60), 50) == {"item": (50, 50)}
    assert influence(round_robin(51, 60), 51) == {"item": (50, 51)}
    assert influence(round_robin(60, 125_000), 60) == {"item": (40, 60)}  # five million votes in all these refits
    monkeypatch.setattr(steadiness, "MAX_REFIT_ROWS", 1)
    assert influence(round_robin(12, 60), 12) == {"item": (10, 12)}  # ten at least


def test_walks_of_all_redraws_have_thirty_million_steps(monkeypatch):
    asked = []

    def moved(self, won, moves, rng):
        asked.append(moves)
        return won

    monkeypatch.setattr(ExactRedraws, "_moved", moved)
    made = one_row(4, 400)
    next(ExactRedraws(made, False).draw(20_000, np.random.default_rng(0)))
    assert asked[0] == int(30_000_000 / ((5 + 2) * 20_001))


def test_the_least_penalty_of_a_refit_is_a_millionth():
    class Fitted:
        side_effect, tie_strength_, coef_, l2 = False, 0.0, (), 0.0
        ranking_ = types.SimpleNamespace(scores=np.zeros(2), unit=1.0)

    assert Model.of(Fitted()).l2 == 1e-6
    Fitted.l2 = 2e-6
    assert Model.of(Fitted()).l2 == 2e-6


def test_a_curve_has_ten_bins():
    predicted, *_ = assessment.calibration(np.linspace(0.5, 1, 200), np.ones(200), np.ones(200))
    assert len(predicted) == 10


def test_five_thousand_fixtures_are_the_most():
    votes = round_robin(6, 30)
    model = Elo().fit(votes)
    most = round_robin(6, 5000)
    assert len(final_table(model, most, draws=1)) == 6
    with pytest.raises(InputError, match="5,001 fixtures are more than 5,000; simulate fewer at a time"):
        final_table(model, round_robin(6, 5001), draws=1)
