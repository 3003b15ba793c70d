"""`make test-checked`: the kernels in use are those with bounds checks, and the checks are alive."""

import os
import pathlib

import numpy as np
import pytest

import podium
from podium.kernels.active import order
from podium.kernels.pairwise import rabf
from podium.kernels.text import encode

pytestmark = [
    pytest.mark.checked,
    pytest.mark.skipif(not os.environ.get("PODIUM_CHECKED"), reason="kernels without bounds checks: make test-checked"),
]


def test_the_package_is_the_checked_one():
    assert pathlib.Path(podium.__file__).parts[-3].startswith("checked")
    assert pathlib.Path(encode.__file__).is_relative_to(pathlib.Path(podium.__file__).parent)
    assert encode.__file__.endswith((".so", ".pyd"))


def test_an_index_out_of_bounds_is_an_error():
    one, two = np.zeros(1), np.zeros(2)
    codes = np.array([2], dtype=np.int32), np.array([0], dtype=np.int32)
    with pytest.raises(IndexError):
        rabf.logistic_by_item(*codes, one, one, two, one.copy(), two.copy(), two.copy())


def test_an_index_out_of_bounds_where_nothing_can_be_raised_is_seen(monkeypatch):
    """A kernel that may not raise reports to sys.unraisablehook; pytest's own hook makes that an error in this run."""
    seen = []
    monkeypatch.setattr("sys.unraisablehook", seen.append)
    wins = np.array([[0.0, 0.0], [1.0, 0.0]])
    both = np.array([0, 1])
    order.insertion_pass(wins, both.copy(), both[:1], np.zeros(1, dtype=np.int64))
    assert [event.exc_type for event in seen] == [IndexError]
