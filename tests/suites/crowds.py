"""Votes of judges whose slopes and leans are known, for the tests of crowds."""

import numpy as np

from podium import Comparisons


def crowd(n, slopes, each, rng, *, sd=1.5, leans=None):
    """`each` votes of judges with these slopes (and leans, which make sides matter), and the true scores."""
    truth = rng.normal(0, sd, n)
    judge = np.repeat(np.arange(len(slopes)), each)
    left = rng.integers(0, n, len(judge))
    right = (left + rng.integers(1, n, len(judge))) % n
    lean = 0 if leans is None else np.asarray(leans)[judge]
    margin = np.asarray(slopes)[judge] * (truth[left] - truth[right]) + lean
    won = rng.random(len(judge)) < 1 / (1 + np.exp(-margin))
    votes = Comparisons(
        tuple(range(n)),
        left.astype(np.int32),
        right.astype(np.int32),
        outcome=np.where(won, 1, -1).astype(np.int8),
        judge=judge.astype(np.int32),
        judges=tuple(f"judge {k}" for k in range(len(slopes))),
        sided=leans is not None,
    )
    return votes, truth - truth.mean()
