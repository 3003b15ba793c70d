"""Games with a home advantage, for which R has the answers."""

import numpy as np

from podium import Comparisons

# Baseball, American League 1987 (Agresti 1990), as R's BradleyTerry2 ships it: wins of the home and the away team.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
HOME_AWAY = """
4-3 4-2 4-3 6-1 4-2 6-0  3-3 4-2 4-3 6-0 6-1 4-3  2-5 4-3 2-4 4-3 4-2 6-0  3-3 5-1 2-5 4-3 4-2 6-1
5-1 2-5 3-3 4-2 5-2 6-0  2-5 3-3 3-4 4-3 4-2 2-4  2-5 1-5 1-6 2-4 1-6 3-4
"""


def sided(rows, n):
    """Votes (left, right, 1 or -1, times) with sides."""
    left, right, outcome, count = np.array(rows).T
    outcome, count = outcome.astype(np.int8), count.astype(np.int64)
    left, right = left.astype(np.int32), right.astype(np.int32)
    return Comparisons(tuple(range(n)), left, right, outcome=outcome, count=count, sided=True)


def baseball(*, home_always_wins=False):
    pairs = [(i, j) for i in range(7) for j in range(7) if i != j]
    rows = []
    for (home, away), games in zip(pairs, HOME_AWAY.split(), strict=True):
        wins = (1, 0) if home_always_wins else map(int, games.split("-"))
        rows += [(home, away, sign, times) for sign, times in zip((1, -1), wins, strict=True) if times]
    return sided(rows, 7)
