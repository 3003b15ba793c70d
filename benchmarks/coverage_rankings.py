"""How often intervals and ranks from rankings hold, and how near the order comes to the true one, in simulated surveys.

python -m benchmarks.coverage_rankings
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.printed import head, row

DESIGNS = ((10, 80, 3, 200), (30, 400, 5, 100), (8, 20, 8, 200))  # items, rankings, listed, data sets


def simulate(n: int, rows: int, k: int, sets: int) -> None:
    """Print a row of figures: scores are normal, every ranking lists its k best of n."""
    from podium import PlackettLuce, Rankings

    rng = np.random.default_rng(1)
    held, ranks, near, unknown = [], [], [], []
    for _ in range(sets):
        scores = rng.normal(size=n)
        lists = np.argsort(-(scores + rng.gumbel(size=(rows, n))), axis=1)[:, :k].tolist()
        ranking = PlackettLuce().fit(Rankings.from_lists(lists, items=range(n), unranked="below")).ranking_
        (lower, upper), (best, worst) = ranking.intervals(0.95), ranking.rank_intervals(0.95)
        bounded = np.isfinite(lower) & np.isfinite(upper)
        centred = scores - scores[bounded].mean() + ranking.scores[bounded].mean()
        true = np.argsort(np.argsort(-scores)) + 1
        held.append(np.mean((lower <= centred) & (centred <= upper)))
        ranks.append(np.mean((best <= true) & (true <= worst)))
        near.append(_spearman(scores, ranking.scores))
        alone = PlackettLuce().fit(Rankings.from_lists(lists, unranked="unknown")).ranking_
        known = dict(zip(alone.items, alone.scores, strict=True))
        unknown.append(_spearman(scores, np.array([known.get(item, -9.0) for item in range(n)])))
    title = f"{rows} rankings that list {k} of {n} ({sets} sets)"
    row(title, f"{np.mean(held):.1%}", f"{np.mean(ranks):.1%}", f"{np.mean(near):.3f}", f"{np.mean(unknown):.3f}")


def _spearman(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.corrcoef(np.argsort(np.argsort(one)), np.argsort(np.argsort(other)))[0, 1])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    head("Simulated surveys", "Intervals hold", "Ranks hold", "Spearman, unlisted below", "Spearman, unlisted unknown")
    for design in DESIGNS:
        simulate(*design)
