"""Small things several tests need."""

import warnings
from contextlib import contextmanager

import numpy as np
import pytest

from podium.data.comparisons import Comparisons
from podium.errors import ConnectivityWarning, InputError, SeparationWarning


def as_comparisons(n, rows, **more):
    """Comparisons of (left, right, outcome, weight) rows, built from columns."""
    left, right, outcome, weight = (np.array(column) for column in zip(*rows, strict=True))
    winner, loser = np.where(outcome == 0, right, left), np.where(outcome == 0, left, right)
    return Comparisons.from_arrays(winner, loser, weight=weight, tie=outcome == 0.5, items=range(n), **more)


def sided(n, rows):
    """The same with the sides kept."""
    left, right, outcome, weight = (np.array(column) for column in zip(*rows, strict=True))
    codes = left.astype(np.int32), right.astype(np.int32)
    return Comparisons(range(n), *codes, outcome=(2 * outcome - 1).astype(np.int8), weight=weight, sided=True)


@contextmanager
def thin_data():
    """Small random data are often separated or disconnected, which is not what the test is about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SeparationWarning)
        warnings.simplefilter("ignore", ConnectivityWarning)
        yield


def simulate(n, m, rng, spread=1.0, near=None):
    """Winner and loser codes of m votes drawn from a Bradley-Terry model; with `near`, only |i − j| ≤ near meet."""
    truth = rng.normal(0, spread, n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n if near is None else left + rng.integers(1, near + 1, m)
    left, right = left[right < n], right[right < n]
    won = rng.random(len(left)) < 1 / (1 + np.exp(truth[right] - truth[left]))
    return np.where(won, left, right), np.where(won, right, left), truth


class Noted:
    """Takes the place of a function: notes how it is called, gives one answer."""

    def __init__(self, answer=None):
        self.calls, self.answer = [], answer

    def __call__(self, *args, **more):
        self.calls.append((args, more))
        return self.answer


def refusal(call, *args, **more):
    """The words in which a call is refused."""
    with pytest.raises(InputError) as told:
        call(*args, **more)
    return str(told.value)
