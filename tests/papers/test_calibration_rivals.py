"""Other methods beside ours: each interval is what its method says, seen from outside."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from papers import calibration_rivals as rivals
from podium import Comparisons


def two_items(wins, losses):
    votes = Comparisons.from_arrays([0] * wins + [1] * losses, [1] * wins + [0] * losses, items=range(2))
    return rivals.Votes(votes, np.array([0.0, 0.0]))


def test_profile_likelihood_of_two_items_has_the_bounds_of_a_share():
    """The centred score is half the log-odds of the share, whose interval ends at two roots."""
    wins, losses = 7, 3

    def rise(odds):
        p = 1 / (1 + math.exp(-odds))
        best = wins * math.log(wins / 10) + losses * math.log(losses / 10)
        return best - wins * math.log(p) - losses * math.log(1 - p) - rivals.CRITICAL**2 / 2

    top = math.log(wins / losses)
    lower, upper = rivals.profile(two_items(wins, losses), 0)
    assert lower[0] == pytest.approx(brentq(rise, top - 6, top) / 2, abs=1e-3)
    assert upper[0] == pytest.approx(brentq(rise, top, top + 6) / 2, abs=1e-3)


def test_walds_bounds_are_those_of_the_contrast_with_the_mean():
    """Half the log-odds, with half the error √(1/7 + 1/3)."""
    votes = two_items(7, 3)
    lower, upper = votes.around(np.array([math.log(7 / 3), 0.0]), np.array([[1 / 7 + 1 / 3, 0.0], [0.0, 0.0]]))
    half = rivals.CRITICAL * math.sqrt(1 / 7 + 1 / 3) / 2
    assert (lower[0], upper[0]) == pytest.approx((math.log(7 / 3) / 2 - half, math.log(7 / 3) / 2 + half))
    ours = rivals.ours(votes, 0)
    assert (ours[0][0], ours[1][0]) == pytest.approx((lower[0], upper[0]), abs=1e-4)


def test_what_is_wider_than_anybody_asks_has_no_bound_and_no_width():
    votes = two_items(7, 3)
    found = rivals.held(votes, (np.array([-0.5, -100.0]), np.array([0.5, 100.0])), votes.compared)
    assert found == {"held": 1.0, "width": 1.0, "no bound": 0.5}


def test_the_page_shows_the_rivals_that_were_run():
    found = rivals.cells((rivals.HERE / "rivals.jsonl").read_text().splitlines())
    text = (rivals.HERE.parents[1] / "docs" / "intervals.md").read_text()
    assert rivals.page(found) in text, "python -m papers.calibration_rivals --again --markdown"
