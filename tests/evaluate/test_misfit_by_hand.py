"""Misfit at its edges: votes that are all ties, certain ones, weighted redraws, and the tests put together by hand."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium.evaluate.diagnosis import misfit
from podium.evaluate.diagnosis.misfit import Fit, Test
from podium.evaluate.diagnosis.table import Model, Table


def table(wins, losses, ties, squares=None, left=(0,), right=(1,), n=2):
    columns = [np.array(each, dtype=float) for each in (wins, losses, ties)]
    total = sum(columns)
    return Table(n, np.array(left, np.int32), np.array(right, np.int32), *columns,
                 total if squares is None else np.array(squares, dtype=float))  # fmt: skip


def model(gap, nu=None, n=2):
    scores = np.zeros(n)
    scores[0], scores[1] = gap / 2, -gap / 2
    return Model(scores, np.empty(0), None if nu is None else math.log(nu), 0.1)


def test_votes_that_are_all_ties_vary_next_to_nothing():
    """Chances of one half, ties as likely as can be: no vote is decided; a hundredth of ¼ is left of the variance."""
    fit = Fit(table([0], [0], [4]), model(0.0))
    assert fit.tie.tolist() == [1.0]
    assert fit.win.tolist() == [0.0]
    assert fit.std_error[0] ** 2 == pytest.approx(4 * 0.01 * 0.25)
    assert (fit.votes[0], fit.won[0], fit.expected[0], fit.residual[0]) == (4.0, 2.0, 2.0, 0.0)


def test_ties_are_as_many_as_there_were_and_leave_the_points_as_expected():
    gap = 1.2
    p = 1 / (1 + math.exp(-gap))
    fit = Fit(table([3], [1], [2]), model(gap))
    tied = 2 / (2 * 6 * (1 - p))
    assert tied < 1
    assert fit.tie[0] == pytest.approx(2 * tied * (1 - p))
    assert fit.win[0] + fit.tie[0] / 2 == pytest.approx(p)
    assert fit.std_error[0] ** 2 == pytest.approx(6 * (p * (1 - p) - 0.5 * tied * (1 - p)))
    many = Fit(table([3], [1], [20]), model(gap))
    assert many.tie[0] == pytest.approx(2 * (1 - p))  # no more than that is possible
    assert many.win[0] == pytest.approx(p - (1 - p))


def test_light_votes_have_ties_as_heavy_ones():
    p = 1 / (1 + math.exp(-1.0))
    fit = Fit(table([0.2], [0.1], [0.1]), model(1.0))
    assert fit.tie[0] == pytest.approx(2 * (0.1 / (2 * 0.4 * (1 - p))) * (1 - p))


def test_a_certain_vote_has_no_ties_to_give():
    fit = Fit(table([3], [0], [1]), model(2000.0))
    assert (fit.win.tolist(), fit.tie.tolist()) == ([1.0], [0.0])
    assert fit.std_error[0] == pytest.approx(1e-6)  # the root of the least variance
    assert np.isfinite(fit.residual).all()


@pytest.mark.parametrize("nu", [0.5, 2.0])
def test_modelled_ties_have_their_own_chance_and_variance(nu):
    gap = 0.8
    odds = np.array([math.exp(gap / 2), nu, math.exp(-gap / 2)])
    win, tie, _ = odds / odds.sum()
    fit = Fit(table([3], [1], [2], squares=[9.0]), model(gap, nu))
    assert (fit.win[0], fit.tie[0]) == pytest.approx((win, tie))
    mean = win + tie / 2
    variance = win + tie / 4 - mean**2
    assert fit.std_error[0] ** 2 == pytest.approx(9.0 * variance)
    share = 4 / 6
    worth = mean * (1 - mean) * 36 / (9.0 * variance)
    ratio = share * math.log(share / mean) + (1 - share) * math.log((1 - share) / (1 - mean))
    assert fit.residual[0] == pytest.approx(math.copysign(math.sqrt(2 * worth * ratio), share - mean))


@pytest.mark.parametrize(("wins", "losses"), [(5, 0), (0, 5)])
def test_a_pair_that_went_one_way_is_as_far_as_its_chance_is_small(wins, losses):
    p = 1 / (1 + math.exp(-0.7))
    fit = Fit(table([wins], [losses], [0]), model(0.7))
    chance = p if wins else 1 - p
    assert fit.residual[0] == pytest.approx((1 if wins else -1) * math.sqrt(-2 * 5 * math.log(chance)))


def test_redrawn_weights_are_as_many_equal_votes_as_they_are_worth():
    made = table([4, 0.5], [2, 0.5], [0, 0], squares=[12.0, 4.0], left=(0, 0), right=(1, 1))
    fit = Fit(made, model(0.3))
    rng = np.random.default_rng(0)
    for _ in range(20):
        drawn = fit.drawn(rng)
        assert set(drawn.wins[:1]) <= {0.0, 2.0, 4.0, 6.0}  # three votes of weight 2
        assert drawn.wins[1] in (0.0, 1.0)  # one at least
        assert_allclose(drawn.wins + drawn.losses + drawn.ties, [6.0, 1.0])
        assert (drawn.squares == made.squares).all()


def test_redrawn_votes_have_the_chances_of_the_model():
    fit = Fit(table([400], [300], [300]), model(0.5, 0.9))
    rng = np.random.default_rng(1)
    drawn = [fit.drawn(rng) for _ in range(50)]
    for name, chance in (("wins", fit.win[0]), ("ties", fit.tie[0]), ("losses", 1 - fit.win[0] - fit.tie[0])):
        mean = np.mean([getattr(each, name)[0] for each in drawn]) / 1000
        assert mean == pytest.approx(chance, abs=5 * math.sqrt(0.25 / 50_000))


# ---- the tests themselves -------------------------------------------------------------------------------------------


class Redraws:
    """Redraws that are told; each moved as often as it must."""

    tables, moves = (), 10

    def __init__(self, table, keep_sides):
        self.moved = self.redraws = 0
        Redraws.kept = keep_sides

    def draw(self, replicates, rng):
        for each in Redraws.tables[:replicates]:
            self.redraws += 1
            self.moved += Redraws.moves
            yield each


@pytest.fixture
def circle(monkeypatch):
    """Three items in a circle of ten votes a pair, and redraws that are less and less so."""
    ends = {"left": (0, 1, 0), "right": (1, 2, 2), "n": 3}
    fit = Fit(table([9, 9, 1], [1, 1, 9], [0, 0, 0], **ends), model(0.0, n=3))
    Redraws.tables = [table([k, k, 10 - k], [10 - k, 10 - k, k], [0, 0, 0], **ends) for k in (5, 6, 7, 8)]
    Redraws.moves = 10
    monkeypatch.setattr(misfit, "ExactRedraws", Redraws)
    return fit


def test_each_measure_is_set_against_those_of_the_redraws(circle):
    largest, dispersion, cyclic = circle.tests(4, np.random.default_rng(0))
    measured, drawn = circle.measures(), np.array([circle.measures(each) for each in Redraws.tables])
    assert (largest.value, dispersion.value, cyclic.value) == pytest.approx(measured[:3])
    assert [each.expected for each in (largest, dispersion, cyclic)] == pytest.approx(
        drawn[:, :3].mean(axis=0).tolist()
    )
    assert [each.p_value for each in (largest, dispersion, cyclic)] == [1 / 5] * 3  # none is as far
    assert all(each.enough for each in (largest, dispersion, cyclic))
    assert not Redraws.kept


def test_redraws_as_far_count_against_it(circle):
    Redraws.tables = [circle.table, *Redraws.tables[:3]]
    assert [each.p_value for each in circle.tests(4, np.random.default_rng(0))] == [2 / 5] * 3


@pytest.mark.parametrize(("others", "enough"), [((8, 5, 5, 5), True), ((8, 8, 5, 5), False)])
def test_votes_are_enough_where_few_redraws_go_as_far_as_any(others, enough, circle):
    """The largest of four redraws has a share of two fifths, with the votes: few redraws are not few votes."""
    ends = {"left": (0, 1, 0), "right": (1, 2, 2), "n": 3}
    mild, *Redraws.tables = (
        table([k, k, 10 - k], [10 - k, 10 - k, k], [0, 0, 0], **ends) for k in (6, *others)
    )  # fmt: skip
    found = Fit(mild, model(0.0, n=3)).tests(4, np.random.default_rng(0))
    assert [each.enough for each in found] == [enough] * 3


def test_redraws_that_hardly_moved_are_not_enough(circle):
    Redraws.moves = 9
    found = circle.tests(4, np.random.default_rng(0))
    assert [each.enough for each in found] == [False] * 3
    Redraws.tables = Redraws.tables * 8
    assert [each.enough for each in circle.tests(32, np.random.default_rng(0))] == [True] * 3  # p below a twentieth


def test_sides_are_kept_where_the_model_has_them(circle):
    sided = Table(3, *(getattr(circle.table, name) for name in ("left", "right", "wins", "losses", "ties", "squares")),
                  np.ones((3, 1)))  # fmt: skip
    fit = Fit(sided, Model(np.zeros(3), np.zeros(1), None, 0.1))
    fit.tests(2, np.random.default_rng(0))
    assert Redraws.kept


def test_votes_that_are_not_counted_are_drawn_from_the_chances_given(circle, monkeypatch):
    weighted = table([9, 9, 1], [1, 1, 9], [0, 0, 0], squares=[20.0] * 3, left=(0, 1, 0), right=(1, 2, 2), n=3)
    fit = Fit(weighted, model(0.0, n=3))
    assert not fit.exact
    drawn_from = []
    plain = Fit.drawn
    monkeypatch.setattr(Fit, "drawn", lambda self, rng: drawn_from.append(self.model) or plain(self, rng))
    given = model(0.4, n=3)
    fit.tests(3, np.random.default_rng(0), given)
    assert drawn_from == [given] * 3
    drawn_from.clear()
    fit.tests(2, np.random.default_rng(0))
    assert drawn_from == [fit.model] * 2


def test_a_test_is_of_concern_below_a_twentieth():
    assert misfit.SIGNIFICANCE == 0.05
    assert [Test(1.0, 1.0, p).significant for p in (0.049, 0.05, 0.051)] == [True, False, False]


def test_the_pairs_furthest_off_are_fifty_unless_told():
    n = 12
    left, right = np.triu_indices(n, 1)
    rng = np.random.default_rng(2)
    wins = rng.integers(0, 5, len(left)).astype(float)
    many = table(wins, 4 - wins, 0 * wins, left=left, right=right, n=n)
    fit = Fit(many, Model(np.zeros(n), np.empty(0), None, 0.1))
    frame = fit.residual_frame(list(range(n)))
    assert len(frame) == 50
    assert frame.columns == ["item", "against", "votes", "won", "expected", "residual"]
    assert frame["residual"].to_list() == pytest.approx(sorted(np.abs(fit.residual), reverse=True)[:50])
    assert (frame["expected"] == 2.0).all()
    assert (frame["won"] >= 2.0).all()
    assert len(fit.residual_frame(list(range(n)), most=3)) == 3


@pytest.mark.parametrize(("expected", "says"), [(0.5, "vary 3 times"), (1.0, "vary 1.5 times"), (0.0, "vary 1 times")])
def test_dispersion_is_told_against_what_chance_gives(expected, says):
    from podium.evaluate.diagnosis.findings import Diagnosis
    from podium.evaluate.diagnosis.steadiness import influence_frame

    fine = Test(1.0, 2.0, 0.5)
    pairs = Fit(table([9, 9, 1], [1, 1, 9], [0, 0, 0], left=(0, 1, 0), right=(1, 2, 2), n=3), model(0.0, n=3))
    found = Diagnosis(
        pairs.residual_frame("abc"), fine, Test(1.5, expected, 0.5), fine, None, influence_frame([]), 9, "a"
    ).findings()
    assert says in found[1].text
    assert [each.concern for each in found] == [False] * 3


def test_a_small_measure_counts_beside_a_huge_one():
    both = np.random.default_rng(3).normal(size=(6, 5)) * [1, 1, 1, 1e12, 1.0]
    measured, drawn = misfit._together(both[0], both[1:])
    z = (both[:, 3:] - both[:, 3:].mean(axis=0)) / both[:, 3:].std(axis=0)
    assert_allclose(np.append(measured[3], drawn[:, 3]), z.sum(axis=1))
