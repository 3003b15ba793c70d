"""Means over penalties whose fits are shared out: those of one process to the bit, whatever happens to the workers."""

import os
import signal
import warnings

import numpy as np
import pytest

from podium import RABF, Comparisons
from podium.engine import Processes, connect
from podium.errors import InputError, PodiumWarning
from podium.pairwise._fit import penalties

from suites.cluster import require_dask


def votes_on(n, m, seed=0):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 3))
    truth = features @ [1.0, -0.5, 0.0] + 0.4 * rng.normal(size=n)
    left = rng.integers(0, n, m).astype(np.int32)
    right = ((left + rng.integers(1, n, m)) % n).astype(np.int32)
    outcome = np.where(rng.random(m) < 1 / (1 + np.exp(truth[right] - truth[left])), 1, -1)
    return Comparisons(tuple(range(n)), left, right, outcome=outcome.astype(np.int8), sided=True), features


@pytest.fixture(scope="module")
def processes():
    with Processes(2) as engine:
        yield engine


@pytest.fixture(scope="module")
def cluster():
    require_dask()
    with connect("local:2") as engine:
        yield engine


CASES = {
    "few items": (12, 80, {}),
    "many items": (450, 900, {}),
    "one penalty": (12, 80, {"feature_penalty": 0.5}),
    "flips": (12, 200, {"flip_rate": 0.1}),
    "squared": (12, 80, {"loss": "squared"}),
    "sides": (12, 80, {"side_effect": True}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", ["processes", "cluster"])
def test_scores_and_errors_are_those_of_here_to_the_bit(case, name, request):
    n, m, options = CASES[case]
    votes, features = votes_on(n, m)
    here = RABF(**options).fit(votes, features)
    there = RABF(**options).fit(votes, features, engine=request.getfixturevalue(name))
    assert len(there.ranking_.information.alternatives) > 1, "penalties are averaged over"
    for value in ("scores", "std_errors"):
        assert getattr(here.ranking_, value).tobytes() == getattr(there.ranking_, value).tobytes()
    assert here.coef_std_errors_.tobytes() == there.coef_std_errors_.tobytes()


def test_an_engine_is_not_asked_again_after_the_fit():
    votes, features = votes_on(12, 80)
    with Processes(2) as engine:
        model = RABF().fit(votes, features, engine=engine)
    engine.map = None
    assert np.isfinite(model.ranking_.std_errors).all()


class Killing:
    """The optimum at a node, but the first worker that is asked dies before it answers."""

    def __init__(self, path):
        self.path = path

    def __call__(self, x, climb):
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGKILL)
        except FileExistsError:
            return CALM(x, climb)
        raise AssertionError("nobody survives this")


CALM = penalties._optimum_there


@pytest.mark.parametrize("name", ["processes", "cluster"])
def test_a_worker_killed_at_a_node_changes_nothing(name, request, monkeypatch, tmp_path):
    votes, features = votes_on(12, 80)
    here = RABF().fit(votes, features).ranking_.std_errors
    monkeypatch.setattr(penalties, "_optimum_there", Killing(str(tmp_path / "killed")))
    there = RABF().fit(votes, features, engine=request.getfixturevalue(name)).ranking_.std_errors
    assert (tmp_path / "killed").exists()
    assert here.tobytes() == there.tobytes()


def test_penalties_that_are_numbers_leave_nothing_to_share(processes):
    votes, features = votes_on(12, 80)
    for options in ({"feature_penalty": 1.0, "residual_penalty": 1.0}, {"max_norm": (1.0, 1.0)}):
        with pytest.warns(PodiumWarning, match="no penalties to average over, and nothing for workers"):
            RABF(**options).fit(votes, features, engine=processes)
    with pytest.raises(InputError, match="runs nothing"), warnings.catch_warnings():
        RABF().fit(votes, features, engine="local:2")
