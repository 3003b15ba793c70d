"""Label rankers whose labels are shared out among workers: the same coefficients, to the bit."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from podium.engine import Processes, Serial, connect
from podium.errors import ConvergenceError, InputError
from podium.multilabel import LabelRanker

from suites.cluster import require_dask


def examples(sparse, rows=120, features=6, labels=150, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, features)) * (rng.random((rows, features)) < 0.5)
    y = (rng.random((rows, labels)) < 1 / (1 + np.exp(2 - x @ rng.normal(size=(features, labels))))).astype(float)
    return (csr_array(x) if sparse else x), y


@pytest.fixture(scope="module", params=["processes", "cluster"])
def engine(request):
    if request.param == "cluster":
        require_dask()
    with Processes(2) if request.param == "processes" else connect("local:2") as engine:
        yield engine


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("options", [{"C": 1.0, "surrogate": "univariate"}, {"surrogate": "univariate"}], ids=str)
def test_coefficients_and_choices_are_those_of_one_place(engine, sparse, options):
    X, Y = examples(sparse)
    here, there = LabelRanker(**options).fit(X, Y), LabelRanker(**options).fit(X, Y, engine=engine)
    assert here.coef_.tobytes() == there.coef_.tobytes()
    assert here.intercept_.tobytes() == there.intercept_.tobytes()
    assert here.validation_ == there.validation_


def test_an_error_of_a_worker_is_that_of_here(engine):
    X, Y = examples(False)
    for where in (Serial(), engine):
        with pytest.raises(ConvergenceError, match="did not converge in 1 Newton step"):
            LabelRanker(C=100.0, surrogate="univariate", tol=1e-9, max_iter=1).fit(X, Y, engine=where)


def test_trees_and_what_runs_nothing_are_refused():
    X, Y = examples(False)
    with pytest.raises(InputError, match="engine= shares out the labels of scorer='linear'"):
        LabelRanker(scorer="trees").fit(X, Y, engine=Serial())
    with pytest.raises(InputError, match="engine=3 runs nothing"):
        LabelRanker().fit(X, Y, engine=3)
