"""Bradley-Terry on votes that workers keep, in this process: rows of a part, sums, errors and what is refused."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import BradleyTerry, Comparisons
from podium.data.kept import VotePart
from podium.engine import Serial
from podium.errors import ConvergenceError, InputError
from podium.pairwise._fit import kept_model
from podium.pairwise._fit.kept_model import KeptModel, _added, _curvature_of, _Kind, _products_of, _rows_of
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.row_sums import itself
from podium.pairwise._fit.solvers import Solution

N = 5


def votes(m=90, seed=0, covariate=False, weight=None, ties=True):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, N, m).astype(np.int32)
    right = ((left + rng.integers(1, N, m)) % N).astype(np.int32)
    outcome = rng.choice([-1, 0, 1] if ties else [-1, 1], m).astype(np.int8)
    more = {"covariates": rng.normal(size=(m, 1)), "covariate_names": ("length",)} if covariate else {}
    return Comparisons(tuple("abcde"), left, right, outcome=outcome, sided=True, weight=weight, **more)


def kept(c, parts=3):
    """As `keep_comparisons` leaves votes with an engine, here in parts of one process."""
    everyone = np.arange(N, dtype=np.int32)
    cut = [VotePart(c.take(rows), everyone, N) for rows in np.array_split(np.arange(len(c.left)), parts)]
    cut.append(VotePart(None, everyone, N))
    wins, losses, ties = c.record()
    weight = c.vote_rows()[3]
    return SimpleNamespace(
        items=c.items, covariate_names=c.covariate_names if c.covariates is not None else (), wins=wins, losses=losses,
        ties=ties, weight=float(weight.sum()), weight_sq=float(c.weight_squares().sum()), reach=c,
        parts=Serial().keep(itself, cut), sided=True,
    )  # fmt: skip


KINDS = [
    ("half", False, False),
    ("half", True, False),
    ("davidson", True, False),
    ("davidson", True, True),
    ("half", False, True),
]


@pytest.mark.parametrize(("ties", "side", "covariate"), KINDS)
def test_the_optimum_and_its_errors_are_those_of_votes_that_are_here(ties, side, covariate):
    c = votes(covariate=covariate)
    model = KeptModel(kept(c), ties, side)
    here = BradleyTerry(l2=0.3, ties=ties, side_effect=side, tol=1e-9).fit(c)
    assert model.columns == here._columns
    found = model.optimum(0.3, 1e-9, 100)
    scores = found.scores - found.scores.mean()
    assert_allclose(scores, here.ranking_.scores, atol=1e-7)
    assert_allclose(found.extras, here._extras, atol=1e-7)
    assert model.size == (here.n_parameters_, pytest.approx(90.0))
    assert model.counted
    known = model.information(found, 0.3, model.sums.point(found.scores, found.extras))
    expected = here.ranking_.information
    assert known.ridge == 0.6
    matrices = []
    for each in (known, expected):
        matrix = np.zeros((N, N))
        for a, b, curve in zip(each.left, each.right, each.curvature, strict=True):
            matrix[[a, b, a, b], [a, b, b, a]] += [curve, curve, -curve, -curve]
        matrices.append(matrix)
    assert_allclose(*matrices, atol=1e-6)
    assert known.tie_strength == pytest.approx(here.tie_strength_ or 0.0)
    if model.columns:
        assert_allclose(known.border, expected.border, atol=1e-6)
        assert_allclose(known.corner, expected.corner, atol=1e-6)
    else:
        assert known.border is None
    assert known.open_above.tolist() == expected.open_above.tolist()
    assert known.open_below.tolist() == expected.open_below.tolist()


def test_errors_are_left_out_for_many_items_and_weights_that_are_no_counts(monkeypatch):
    c = votes()
    model = KeptModel(kept(c), "half", False)
    found = model.optimum(0.3, 1e-9, 100)
    at = model.sums.point(found.scores, found.extras)
    monkeypatch.setattr(kept_model, "MAX_ITEMS_WITH_ERRORS", N)
    assert model.information(found, 0.3, at) is not None
    monkeypatch.setattr(kept_model, "MAX_ITEMS_WITH_ERRORS", N - 1)
    assert model.information(found, 0.3, at) is None
    monkeypatch.undo()
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], 90)
    heavy = KeptModel(kept(votes(weight=weight)), "half", False)
    assert not heavy.counted
    assert heavy.size == (4, pytest.approx(weight.sum() ** 2 / (weight**2).sum()))
    assert heavy.information(heavy.optimum(0.3, 1e-9, 100), 0.3, at) is None


@pytest.mark.parametrize(
    ("davidson", "side", "covariate"), [(False, False, False), (True, True, True), (False, True, False)]
)
def test_a_part_without_votes_has_rows_of_the_same_kind(davidson, side, covariate):
    rows, loss = _rows_of(VotePart(None, np.empty(0, np.int32), 7), _Kind(davidson, side, int(covariate)))
    assert (rows.n, len(rows.left), len(rows.right)) == (7, 0, 0)
    assert isinstance(loss, DavidsonRows if davidson else LogisticRows)
    width = int(side) + int(covariate)
    assert rows.design is None if not width else rows.design.shape == (0, width)


def test_rows_of_a_part_have_the_codes_of_the_whole():
    c = votes(covariate=True)
    codes = np.array([3, 0, 9, 5, 7], dtype=np.int32)
    rows, loss = _rows_of(VotePart(c, codes, 10), _Kind(True, True, 1))
    assert rows.n == 10
    assert rows.left.tolist() == codes[c.left].tolist()
    assert rows.right.tolist() == codes[c.right].tolist()
    assert_allclose(rows.design, np.column_stack([c.covariates, np.ones(90)]))
    for values, outcome in ((loss.wins, 1), (loss.losses, -1), (loss.ties, 0)):
        assert values.tolist() == (c.outcome == outcome).astype(float).tolist()
    plain, points = _rows_of(VotePart(votes(), codes, 10), _Kind(False, False, 0))
    assert points.total.sum() == 90.0
    assert plain.design is None
    products, count = _products_of((rows, loss))
    assert_allclose(products, rows.design.T @ rows.design)
    assert count == 90
    both = _added((products, count), (2 * products, 5))
    assert_allclose(both[0], 3 * products)
    assert both[1] == 95
    scores, extras = np.random.default_rng(2).normal(size=10), np.array([0.1, 0.2, -0.5])
    table = _curvature_of((rows, loss), scores, extras)
    curvature = loss(rows.margin(scores, extras), extras)[2]
    expected = np.zeros((10, 10))
    np.add.at(expected, (np.minimum(rows.left, rows.right), np.maximum(rows.left, rows.right)), curvature)
    assert_allclose(table, expected)


def test_what_cannot_be_is_refused():
    tied = votes()
    tied = Comparisons(tied.items, tied.left, tied.right, outcome=np.zeros(90, dtype=np.int8), sided=True)
    with pytest.raises(InputError, match="every vote is a tie: ties='davidson' cannot tell the items apart"):
        KeptModel(kept(tied), "davidson", False)
    none = votes(ties=False)
    assert not KeptModel(kept(none), "davidson", False).davidson
    outcome = none.outcome.copy()
    outcome[0] = 0
    once = KeptModel(
        kept(Comparisons(none.items, none.left, none.right, outcome=outcome, sided=True)), "davidson", False
    )
    assert (once.davidson, once.tied, once.columns) == (True, 1.0, ("tie",))
    with pytest.raises(
        ConvergenceError, match=r"no optimum in 1 steps: expected and observed wins .*; raise l2=, now 0\.3"
    ):
        KeptModel(kept(votes()), "half", True).optimum(0.3, 1e-12, 1)
    c = votes(covariate=True)
    idle = Comparisons(
        c.items,
        c.left,
        c.right,
        outcome=c.outcome,
        sided=True,
        covariates=0 * c.covariates,
        covariate_names=("length",),
    )
    with pytest.raises(InputError, match="covariate 'length' is 0 in every vote"):
        KeptModel(kept(idle), "half", False)
    one = Comparisons(
        c.items,
        c.left,
        c.right,
        outcome=c.outcome,
        sided=True,
        covariates=c.covariates * 0 + 2,
        covariate_names=("length",),
    )
    with pytest.raises(InputError, match="length, side: one follows from the others"):
        KeptModel(kept(one), "half", True)
    size = KeptModel(kept(one), "half", False).column_size
    assert_allclose(size, [2.0])


def test_effects_without_an_optimum_are_told_by_their_size_on_a_typical_row():
    model = KeptModel(kept(votes()), "half", True)
    assert model.column_size.tolist() == [1.0]
    fine = Solution(np.zeros(N), np.array([11.9]), 1, "sums", 0.0, True)
    model.warn_of_separation(fine)
    from podium.errors import SeparationWarning

    with pytest.warns(SeparationWarning, match="the side separates the votes"):
        model.warn_of_separation(Solution(np.zeros(N), np.array([-12.1]), 1, "sums", 0.0, True))
    assert math.isfinite(model.optimum(0.3, 1e-9, 100).gap)
