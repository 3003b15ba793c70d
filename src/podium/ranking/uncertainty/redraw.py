"""Poisson bootstrap on counts: how far the scores move when the votes are drawn again.

A row that stands for many equal votes is redrawn by one number. With Σ w and Σ w² over the row's votes, the draw is
(Σw²/Σw)·Poisson((Σw)²/Σw²): mean Σ w and variance Σ w², exactly the Poisson bootstrap of single votes when these have
equal weights. With a cluster, whole judges, groups or rankings are drawn, Poisson(1) times each.

Refits start at the optimum and step with its Hessian (a chord method: no matrix is factored again), all replicates
side by side; the few that do not settle, those where a redrawn item loses or wins everything, get plain Newton.
Models with extra parameters take the first step only (a score bootstrap: Kline & Santos 2012).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from podium.data.validation import whole_option
from podium.engine import running
from podium.errors import InputError
from podium.kernels.pairwise import bootstrap as kernel
from podium.ranking.uncertainty.dense import DENSE_LIMIT, inverse_hessian, laplacian
from podium.ranking.uncertainty.information import Information
from podium.ranking.uncertainty.lists import ListInformation

__all__ = ["bootstrap"]

MAX_HELD_DRAWS = 4_000_000  # numbers of one table of draws held at once
REFITTED = 128  # replicates refitted side by side: the same however many processes share them, and so are the bits
MAX_CHORD_STEPS = 40  # chord steps before a replicate gets plain Newton
MAX_TABLES, MIN_TABLED = 1000, 20  # different means that have tables, and draws of each that are worth them
POISSON_VALUES = 100  # in a table: with a mean of 30 one of 100 or more comes once in 10²¹ draws
GUIDES = 128  # where to begin looking, for each range of chances
NORMAL_FROM = 30.0  # mean from which a Poisson draw is made by its normal limit: eight times faster, 5σ from zero


def bootstrap(
    information: Information,
    *,
    replicates: int = 1000,
    cluster: str | None = None,
    rng: np.random.Generator,
    jobs: int | None = 1,
    engine: Any = None,
) -> np.ndarray:
    """Return (replicates, n) mean-centred scores, each the optimum for redrawn votes, by `jobs` processes or an engine.

    Examples
    --------
    One pair, 60 votes to 40: the log-odds vary by √(1/60 + 1/40) = 0.20, half of it on each item.

    >>> import numpy as np
    >>> from podium.ranking.uncertainty import Information
    >>> votes = np.array([60.0, 40.0])
    >>> pair = Information(
    ...     2, np.array([0]), np.array([1]), np.array([24.0]),
    ...     vote_left=np.array([0, 0]), vote_right=np.array([1, 1]), vote_gradient=np.array([-0.4, 0.6]),
    ...     vote_weight=votes, vote_weight_sq=votes, target=np.array([1.0, 0.0]),
    ...     scores=np.array([1, -1]) * np.log(1.5) / 2,
    ... )
    >>> redrawn = bootstrap(pair, replicates=4000, rng=np.random.default_rng(0))
    >>> print(round(2 * redrawn.std(axis=0)[0], 2))
    0.21
    """
    cluster = information.require("bootstrap", cluster)
    replicates = whole_option("replicates", replicates, least=2)
    if information.n > DENSE_LIMIT:
        raise InputError(
            f"the bootstrap of {information.n:,} items would hold an n × n matrix; above {DENSE_LIMIT:,} use 'sandwich'"
        )
    inverse = inverse_hessian(information, centred=False)
    if isinstance(information, ListInformation):
        scores = information.redrawn(inverse, replicates, cluster, rng)
        return np.asarray(scores - scores.mean(axis=1, keepdims=True))
    block = max(1, MAX_HELD_DRAWS // max(1, len(information.vote_gradients()[0])))
    scores = np.empty((replicates, information.n))

    def parts() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for start in range(0, replicates, block):
            draws, size = _draws(information, cluster, min(block, replicates - start), rng)
            yield from ((draws[k : k + REFITTED], size) for k in range(0, len(draws), REFITTED))

    with running(jobs, -(-replicates // REFITTED), engine) as runner:
        np.concatenate(list(runner.map(_redrawn, parts(), information, inverse)), out=scores)
    scores -= scores.mean(axis=1, keepdims=True)
    return scores


def _redrawn(part: tuple[np.ndarray, np.ndarray], information: Information, inverse: np.ndarray) -> np.ndarray:
    """Scores for some of the draws."""
    refit = information.target is not None and information.scores is not None and not information.extras
    return (_refits if refit else _first_steps)(information, inverse, *part)


def _draws(
    information: Information, cluster: str | None, count: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Multiplicities (count, rows), and the weight that one of them stands for in each row."""
    _, _, _, weight, square = information.vote_gradients()
    size = np.divide(square, weight, out=np.ones(len(weight)), where=weight > 0)
    mean = np.divide(weight, size)
    if cluster is None:
        return _poisson(mean, count, rng), size
    codes = information.clusters[cluster]
    alone = codes < 0
    times = rng.poisson(1.0, size=(count, int(codes.max(initial=0)) + 1))
    draws = np.take(times, codes, axis=1) * mean  # C order, unlike times[:, codes]
    if alone.any():
        draws[:, alone] = _poisson(mean[alone], count, rng)
    return draws, size


def _poisson(mean: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Draws (count, len(mean)): Poisson, or its normal limit where the mean is large and the limit far from zero."""
    large = mean >= NORMAL_FROM
    draws = np.empty((count, len(mean)))
    if large.any():
        normal = rng.standard_normal((count, int(np.count_nonzero(large))))
        normal *= np.sqrt(mean[large])
        normal += mean[large]
        draws[:, large] = normal
    if not large.all():
        draws[:, ~large] = _small_poisson(mean[~large], count, rng)
    return draws


def _small_poisson(mean: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """Poisson draws with means below `NORMAL_FROM`; where few differ, as counts do, by tables of their chances."""
    different, place = np.unique(mean, return_inverse=True)
    if len(different) > MAX_TABLES or count < MIN_TABLED:
        drawn: np.ndarray = rng.poisson(mean, size=(count, len(mean))).astype(np.float64)
        return drawn
    chances = np.exp(-different[:, None]) * np.ones(POISSON_VALUES)
    for value in range(1, POISSON_VALUES):
        chances[:, value] = chances[:, value - 1] * different / value
    below = np.cumsum(chances, axis=1)
    below[:, -1] = np.inf
    starts = np.arange(GUIDES) / GUIDES
    guide = np.stack([np.searchsorted(row, starts, side="right") for row in below]).astype(np.int32)
    draws = rng.random((count, len(mean)))
    kernel.look_up(draws, place.astype(np.int64), POISSON_VALUES * np.arange(len(different)), below.ravel(), guide)
    return draws


def _refits(information: Information, inverse: np.ndarray, draws: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Optimum of Σ total·logloss + ridge/2·‖u‖² for every row of draws."""
    e, n = information, information.n
    assert e.target is not None, "only a plain logistic model is refitted"
    assert e.scores is not None, "refits start at the optimum"
    left, right, _, _, _ = e.vote_gradients()
    pairs, pair = np.unique(left.astype(np.int64) * n + right, return_inverse=True)
    left, right = np.divmod(pairs, n)
    total, wins = np.zeros((len(draws), len(pairs))), np.zeros((len(draws), len(pairs)))
    kernel.sum_by_pair(draws, size, np.ascontiguousarray(e.target, dtype=float), pair, total, wins)
    scores = np.tile(np.asarray(e.scores, dtype=float), (len(draws), 1))
    close = 1e-3 * np.sqrt(max(float(inverse.diagonal().min()), np.finfo(float).tiny))
    moving = np.arange(len(draws))
    for _ in range(MAX_CHORD_STEPS):
        here = np.ascontiguousarray(scores[moving])
        gradient = e.ridge * here
        kernel.logistic_gradients(here, left, right, total[moving], wins[moving], gradient)
        step = gradient @ inverse
        scores[moving] = here - step
        moving = moving[np.abs(step).max(axis=1) > close]
        if not len(moving):
            return scores
    for b in moving:
        scores[b] = _newton(np.asarray(e.scores, dtype=float), left, right, total[b], wins[b], e.ridge, close)
    return scores


def _newton(
    start: np.ndarray,
    left: np.ndarray,
    right: np.ndarray,
    total: np.ndarray,
    wins: np.ndarray,
    ridge: float,
    close: float,
) -> np.ndarray:
    """Damped Newton for one replicate; an optimum at infinity (no ridge) is followed until the steps are small."""
    n, scores = len(start), start.copy()
    for _ in range(100):
        chance = 1 / (1 + np.exp(scores[right] - scores[left]))
        force = total * chance - wins
        gradient = np.bincount(left, force, n) - np.bincount(right, force, n) + ridge * scores
        hessian = laplacian(n, left, right, total * chance * (1 - chance))
        hessian[np.diag_indices(n)] += ridge + 1e-9 * (hessian.diagonal().mean() + ridge)
        hessian += hessian.diagonal().mean() / n
        try:
            step = np.linalg.solve(hessian, gradient)
        except np.linalg.LinAlgError:  # weights so uneven that rounding leaves a direction open: the shortest step
            step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        longest = np.abs(step).max()
        scores -= step / max(1.0, longest / 2)  # at most two log-odds at a time
        if longest <= close:
            break
    return scores


def _first_steps(information: Information, inverse: np.ndarray, draws: np.ndarray, size: np.ndarray) -> np.ndarray:
    """One Newton step from the optimum, where the gradient of the redrawn loss is that of the excess draws."""
    e, n = information, information.n
    left, right, slope, weight, _ = e.vote_gradients()
    excess = draws * size - weight
    gradient = np.zeros((len(draws), n))
    kernel.add_gradients(
        excess, left.astype(np.int64), right.astype(np.int64), np.ascontiguousarray(slope, dtype=float), gradient
    )
    if e.vote_extra_gradient is not None:
        gradient = np.hstack([gradient, excess @ e.vote_extra_gradient])
    start = 0.0 if e.scores is None else e.scores
    moved: np.ndarray = start - (gradient @ inverse)[:, :n]
    return moved
