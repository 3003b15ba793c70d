"""Votes on chosen pairs: the spread of scores can be read off all of them, their intervals are too narrow."""

import numpy as np

from papers.chosen_pairs import COLUMNS, one


def test_the_spread_is_that_of_the_truth_and_intervals_are_not_to_be_trusted():
    rows = np.array([one(30, 12, seed) for seed in range(4)])
    mean = dict(zip(COLUMNS, rows.mean(axis=0), strict=True))
    assert abs(mean["sd, all votes"] - mean["true sd"]) < 0.35
    assert mean["holds, all"] < 0.95
    assert 0.8 < mean["holds, check"] <= 1
    assert mean["error, all"] < mean["true sd"]  # better than scores that are all equal
