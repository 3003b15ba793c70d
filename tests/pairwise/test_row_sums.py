"""Fits whose rows are kept elsewhere: the optimum of the same votes in one place, whatever happens to the workers."""

import os
import signal
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from podium import BradleyTerry, Comparisons
from podium.engine import Processes, Serial, connect
from podium.errors import InputError, PodiumWarning, SeparationWarning
from podium.pairwise._fit import row_sums
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.row_sums import LocalSums, keep_rows, rows_that_pay
from podium.pairwise._fit.solvers import Rows

import reference
from helpers import as_comparisons
from strategies import votes
from suites.cluster import require_dask


def league(m=600, n=12, covariate=True, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n)
    left = rng.integers(0, n, m).astype(np.int32)
    right = ((left + rng.integers(1, n, m)) % n).astype(np.int32)
    length = rng.normal(size=(m, 1))
    margin = truth[left] - truth[right] + 0.3 + 0.5 * length[:, 0]
    outcome = np.where(rng.random(m) < 0.2, 0, np.where(rng.random(m) < 1 / (1 + np.exp(-margin)), 1, -1))
    more = {"covariates": length, "covariate_names": ("length",)} if covariate else {}
    return Comparisons(tuple(range(n)), left, right, outcome=outcome.astype(np.int8), sided=True, **more)


@pytest.fixture
def always(monkeypatch):
    """As if it always paid, in parts of a few rows."""
    monkeypatch.setattr("podium.pairwise._fit.strength_model.rows_that_pay", lambda *_, **__: 0)
    monkeypatch.setattr(row_sums, "ROWS_A_PART", 200)


@pytest.fixture(scope="module")
def processes():
    with Processes(2) as engine:
        yield engine


@pytest.fixture(scope="module")
def cluster():
    require_dask()
    with connect("local:2") as engine:
        yield engine


KINDS = [
    {"l2": 0.01},
    {"l2": 0.0, "side_effect": True},
    {"l2": 0.05, "ties": "davidson", "side_effect": True},
    {"l2": "auto"},
]


def everything(model):
    return np.concatenate([model.ranking_.scores, model._extras])


@pytest.mark.parametrize("options", KINDS, ids=str)
@pytest.mark.parametrize("covariate", [True, False])
def test_the_optimum_is_that_of_one_place(options, covariate, always):
    same_optimum(options, league(covariate=covariate), Serial())


@pytest.mark.parametrize("covariate", [True, False])
def test_a_penalty_from_the_votes_of_many_items_is_the_same(covariate, always, monkeypatch):
    monkeypatch.setattr(row_sums, "ROWS_A_PART", 2000)
    data = league(5000, 600, covariate, seed=4)  # so many that the evidence is estimated, from rough fits
    here = BradleyTerry(tol=1e-10).fit(data)
    there = BradleyTerry(tol=1e-10).fit(data, engine=Serial())
    assert there.solver_ == "sums"
    assert there.sd_ == pytest.approx(here.sd_, rel=1e-8)
    assert_allclose(everything(there), everything(here), atol=1e-8)


@pytest.mark.parametrize("name", ["processes", "cluster"])
def test_so_it_is_with_workers(name, request, always):
    same_optimum(KINDS[2], league(), request.getfixturevalue(name))


def same_optimum(options, data, engine):
    here = BradleyTerry(**options, tol=1e-10).fit(data)
    there = BradleyTerry(**options, tol=1e-10).fit(data, engine=engine)
    assert (here.solver_, there.solver_) == (here.solver_, "sums")
    assert_allclose(everything(there), everything(here), atol=1e-8)
    assert_allclose(there.ranking_.std_errors, here.ranking_.std_errors, rtol=1e-6)
    assert there.log_likelihood_ == pytest.approx(here.log_likelihood_, abs=1e-8)


@settings(max_examples=30, deadline=None)
@given(votes(), st.integers(1, 4), st.sampled_from([0.01, 1.0]))
def test_it_is_that_of_plain_newton_too(data, parts, l2):
    n, rows = data
    comparisons = as_comparisons(n, rows)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        patch.setattr("podium.pairwise._fit.strength_model.rows_that_pay", lambda *_, **__: 0)
        patch.setattr(row_sums, "ROWS_A_PART", parts)
        model = BradleyTerry(l2=l2, tol=1e-9).fit(comparisons, engine=Serial())
    assert model.solver_ == "sums"
    expected, found = reference.newton(n, rows, l2), model.ranking_.scores
    assert_allclose(found - found.mean(), expected - expected.mean(), atol=1e-6)


@pytest.mark.parametrize("kind", ["logistic", "davidson"])
def test_sums_over_parts_are_those_over_all_rows_and_the_product_is_the_hessian(kind, always):
    rng = np.random.default_rng(3)
    n, m = 7, 200
    left = rng.integers(0, n, m).astype(np.int32)
    right = ((left + rng.integers(1, n, m)) % n).astype(np.int32)
    rows = Rows(n, left, right, rng.normal(size=(m, 2)))
    a, b, c = rng.exponential(size=(3, m))
    loss = LogisticRows(a, a + b) if kind == "logistic" else DavidsonRows(a, b, c)
    scores, extras = rng.normal(size=n), rng.normal(size=2 + loss.own)
    whole, parts = LocalSums((rows, loss)), keep_rows(Serial(), rows, loss)
    one, other = whole.point(scores, extras), parts.point(scores, extras)
    for name in ("value", "slopes", "diagonal", "extra_slopes", "border", "corner"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-10, atol=1e-10)
    columns = rng.normal(size=(n, 3))
    product = parts.product(scores, extras, columns)
    assert_allclose(product, whole.product(scores, extras, columns), rtol=1e-10, atol=1e-10)
    near = 1e-6 * columns
    for k in range(3):  # by differences of the slopes
        ahead, behind = (whole.point(scores + sign * near[:, k], extras).slopes for sign in (1, -1))
        assert_allclose(product[:, k], (ahead - behind) / 2e-6, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", ["processes", "cluster"])
def test_a_worker_killed_in_a_fit_changes_nothing(name, request, always, tmp_path, monkeypatch):
    engine, data = request.getfixturevalue(name), league()
    undisturbed = BradleyTerry(l2=0.01, tol=1e-10).fit(data, engine=engine)
    calm = row_sums.KeptSums.point
    seen = []

    def point(self, scores, extras):
        seen.append(1)
        if len(seen) != 3:
            return calm(self, scores, extras)
        return self.kept.sum(Killing(str(tmp_path / "killed")), scores, extras, add=row_sums.added)

    monkeypatch.setattr(row_sums.KeptSums, "point", point)
    model = BradleyTerry(l2=0.01, tol=1e-10).fit(data, engine=engine)
    assert (tmp_path / "killed").exists()
    assert len(seen) > 3
    assert everything(model).tobytes() == everything(undisturbed).tobytes()


class Killing:
    """`point_of`, but the first worker that is asked dies before it answers."""

    def __init__(self, marker):
        self.marker = marker

    def __call__(self, part, scores, extras):
        try:
            os.close(os.open(self.marker, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return row_sums.point_of(part, scores, extras)
        os.kill(os.getpid(), signal.SIGKILL)
        return None


def test_few_rows_are_solved_here_and_that_is_said():
    data = league(covariate=False)
    with pytest.warns(PodiumWarning, match=r"^66 rows solved here: on 1 worker a fit of this kind never pays$"):
        model = BradleyTerry(l2=0.01).fit(data, engine=Serial())
    assert model.solver_ != "sums"
    with Processes(8) as engine, pytest.warns(PodiumWarning, match=r"on 8 workers a fit pays from [\d,]+ rows on$"):
        BradleyTerry(l2=0.01).fit(league(), engine=engine)


def test_what_pays_grows_with_workers_and_sweeps_are_hard_to_beat():
    assert rows_that_pay(8, swept=False) > rows_that_pay(20, swept=False)
    assert rows_that_pay(8, swept=True) == np.inf
    assert rows_that_pay(1, swept=False) == np.inf
    assert np.isfinite(rows_that_pay(100, swept=True))


def test_bad_engines_are_refused():
    with pytest.raises(InputError, match="engine='here' runs nothing; give a Dask client"):
        BradleyTerry().fit(league(), engine="here")
    with pytest.raises(InputError, match="bias_reduction=True is for few items, solved here; leave out engine="):
        BradleyTerry(l2=0, bias_reduction=True).fit(league(), engine=Serial())


def test_a_side_that_decides_all_votes_ends_as_here(always):
    data = league(200, 6, covariate=False)
    won = Comparisons(data.items, data.left, data.right, outcome=np.ones(200, np.int8), sided=True)
    for engine in (None, Serial()):
        with pytest.warns(SeparationWarning, match="the side separates the votes"):
            model = BradleyTerry(l2=0.1, side_effect=True).fit(won, engine=engine)
        assert_allclose(model.ranking_.scores, 0.0, atol=1e-5)
