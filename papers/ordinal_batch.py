"""The online learners beside a batch model of the same loss, linear and with a kernel.

    python -m papers.ordinal_batch --data DIR       # a minute; without --data the sets are downloaded
    python -m papers.ordinal_batch --generated      # seconds: grades around circles, which no direction can part

Four fifths of the rows to learn, the mean absolute error in grades on the rest, five splits (three with a kernel); CPU
seconds of one fit. PA is averaged PA-I with everything left to itself; with a kernel it learns from 3,000 rows at most.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np

from benchmarks.printed import head, row
from podium.datasets import load_graded
from podium.errors import DataWarning
from podium.ordinal import CumulativeLogit, MarginOrdinal, MedianBaseline, PassiveAggressiveOrdinal, mae

SETS = ("abalone", "california", "parkinsons")
ROWS_WITH_KERNEL = 3000


def learners(seed: int, kernel: bool) -> dict[str, Any]:
    linear = {
        "constant median": MedianBaseline(),
        "PA, online": PassiveAggressiveOrdinal(random_state=seed),
        "loss (2), batch": MarginOrdinal(),
        "cumulative logit, batch": CumulativeLogit(),
    }
    bent = {
        "PA, rbf, budget 1,000": PassiveAggressiveOrdinal(kernel="rbf", max_iter=3, random_state=seed),
        "PA, rbf, budget 100": PassiveAggressiveOrdinal(kernel="rbf", budget=100, max_iter=3, random_state=seed),
    }
    return bent if kernel else linear


def circles(n: int = 1500, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, 1 + np.digitize(np.hypot(X[:, 0], X[:, 1]), [0.8, 1.5])


def compare(X: np.ndarray, y: np.ndarray, splits: int = 5) -> dict[str, tuple[float, float]]:
    """Mean error on the rows held out, and CPU seconds, of every learner."""
    grades, found = np.unique(y), {}
    for kernel in (False, True):
        for seed in range(min(splits, 3) if kernel else splits):
            order = np.random.default_rng(seed).permutation(len(y))
            train, test = order[: len(y) * 4 // 5], order[len(y) * 4 // 5 :]
            if kernel:
                train = train[:ROWS_WITH_KERNEL]
            for name, model in learners(seed, kernel).items():
                start = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", DataWarning)  # a direction that says nothing is what circles show
                    model.fit(X[train], y[train])
                used = time.process_time() - start
                guess = getattr(model, "predict_median", model.predict)(X[test])
                found.setdefault(name, []).append((mae(y[test], guess, classes=grades), used))
    return {name: tuple(np.mean(each, axis=0).tolist()) for name, each in found.items()}


def main(argv: list[str] | None = None) -> dict[str, dict[str, tuple[float, float]]]:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of the data sets")
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--generated", action="store_true", help="only circles")
    given = parser.parse_args(argv)
    results = {"circles": compare(*circles(), splits=given.splits)}
    for name in () if given.generated else given.sets:
        results[name] = compare(*load_graded(name, given.data)[:2], splits=given.splits)
    head("", *(name.capitalize() for name in results))
    for learner in next(iter(results.values())):
        cells = (results[name].get(learner) for name in results)
        row(learner, *(f"{cell[0]:.3f}, {1000 * cell[1]:.0f} ms" if cell else "" for cell in cells))
    return results


if __name__ == "__main__":
    main()
