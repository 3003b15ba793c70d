"""Linear algebra of the planner runs in one thread, and the process gets its threads back."""

from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from podium.active import Planner
from podium.active.threads import one_thread


def threads():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(limits=2, user_api="blas"):
        if threads() != {2}:
            pytest.skip("this library of linear algebra has one thread only")
        yield


def test_blocks_nest_and_give_the_threads_back_also_after_an_error():
    with one_thread():
        with one_thread():
            assert threads() == {1}
        assert threads() == {1}
    assert threads() == {2}
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert threads() == {2}


def test_a_planner_plans_and_orders_in_one_thread(monkeypatch):
    seen = set()
    factor = np.linalg.cholesky
    monkeypatch.setattr(np.linalg, "cholesky", lambda array: (seen.update(threads()), factor(array))[1])
    planner = Planner(12, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(8):
        asked = planner.plan(6)
        planner.tell(asked.left, asked.right, rng.random(len(asked)) < 0.5, 0, asked.kind)
    planner.bands()
    assert seen == {1}
    assert threads() == {2}


def test_only_linear_algebra_is_held_to_one_thread(monkeypatch):
    """Loops of other libraries keep their threads."""
    asked = []
    libraries = SimpleNamespace(limit=lambda **limits: asked.append(limits) or nullcontext())
    monkeypatch.setattr("podium.active.threads._libraries", lambda: libraries)
    with one_thread():
        assert asked == [{"limits": 1, "user_api": "blas"}]
