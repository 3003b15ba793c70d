"""Rows: what a likelihood sees of the votes, as pairs with counts or vote by vote."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.pairwise._fit.likelihoods import DavidsonRows, LapseRows, LogisticRows, SquaredRows

__all__ = ["davidson_loss", "logistic_loss", "pull_rows", "squared_loss", "vote_targets"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


def vote_targets(c: Comparisons, outcome: Floats) -> Floats:
    """What the squared loss wants of each row's margin: the margin given, or 1, −1 and 0."""
    return 2.0 * outcome - 1.0 if c.margin is None else c.margin


def pull_rows(
    c: Comparisons, *, by_side: bool = False
) -> tuple[NDArray[Any], NDArray[Any], Floats, Floats, Floats, dict[str, NDArray[Any]]]:
    """Rows for the robust errors: pair × outcome, or the votes where clusters, covariates or margins need them.

    `by_side` keeps (a, b) and (b, a) apart, for models in which the side matters.
    """
    if c.judge is None and c.group is None and c.covariates is None and c.margin is None:
        p = c.pairs_by_side if by_side else c.pairs
        ends = np.concatenate([p.left] * 3), np.concatenate([p.right] * 3)
        outcome = np.repeat([1.0, 0.0, 0.5], len(p))
        weight = np.concatenate([p.left_wins, p.right_wins, p.ties]).astype(np.float64)
        squares = np.concatenate([p.left_wins_sq, p.right_wins_sq, p.ties_sq]).astype(np.float64)
        seen = weight > 0
        return ends[0][seen], ends[1][seen], outcome[seen], weight[seen], squares[seen], {}
    clusters = {} if c.judge is None else {"judge": c.judge}
    if c.group is not None:
        clusters[c.group_is] = c.group
    return *c.vote_rows(), c.weight_squares(), clusters


def davidson_loss(c: Comparisons, *, by_side: bool = False) -> tuple[Codes, Codes, DavidsonRows]:
    """Left, right and the log loss of votes whose ties are an outcome of their own."""
    if c.covariates is not None:
        left, right, outcome, weight = c.vote_rows()
        wins, losses, ties = (weight * (outcome == value) for value in (1.0, 0.0, 0.5))
        return left, right, DavidsonRows(wins, losses, ties)
    p = c.pairs_by_side if by_side else c.pairs
    wins, losses, ties = (np.asarray(each, dtype=np.float64) for each in (p.left_wins, p.right_wins, p.ties))
    return p.left, p.right, DavidsonRows(wins, losses, ties)


def logistic_loss(
    c: Comparisons, flip_rate: float = 0.0, flip_loss: str = "corrected", *, by_side: bool = False
) -> tuple[Codes, Codes, LogisticRows | LapseRows]:
    """Left, right and the log loss of the votes; a tie is half a win for both.

    With `flip_rate` ρ it is, "corrected", the unbiased loss ((1 − ρ) ℓ(t, y) − ρ ℓ(t, −y)) / (1 − 2ρ), which for the
    log loss is ℓ(t, y) − ρ/(1 − 2ρ)·y·t: as if the winner had taken more than there was to take. "lapse" is −log of the
    chance that a vote is reported as it was. `by_side` keeps (a, b) and (b, a) apart.
    """
    if c.covariates is not None or _scattered(c):
        left, right, outcome, weight = c.vote_rows()
        points = weight * outcome
    else:
        p = c.pairs_by_side if by_side else c.pairs
        left, right, points, weight = p.left, p.right, p.left_points, p.total
    if flip_rate and flip_loss == "lapse":
        return left, right, LapseRows(points, weight, flip_rate)
    if flip_rate:
        points = points + flip_rate / (1.0 - 2.0 * flip_rate) * (2.0 * points - weight)
    return left, right, LogisticRows(points, weight)


def squared_loss(c: Comparisons, flip_rate: float = 0.0, *, by_side: bool = False) -> tuple[Codes, Codes, SquaredRows]:
    """Left, right and the squared loss of the votes, whose targets are the margins, or 1, −1 and 0 for a tie.

    With `flip_rate` ρ it is the unbiased loss of Lemma 5: targets y/(1 − 2ρ), and a constant y²(1 − 1/(1 − 2ρ)²) (the
    paper's proof prints it without the square). Flips scatter the targets, so errors and penalties are those of the
    targets around the fit; the constant, which would take that scatter off again, is kept apart.
    """
    if c.covariates is not None or _scattered(c):
        left, right, outcome, weight = c.vote_rows()
        target = vote_targets(c, outcome)
        within = 0.0 if c.margin_ss is None else float(c.margin_ss.sum())
    else:
        p = c.pairs_by_side if by_side else c.pairs
        left, right, weight = p.left, p.right, p.total
        if p.margin is not None and p.margin_ss is not None:
            target, within = p.margin, float(p.margin_ss.sum())
        else:
            target = (p.left_wins - p.right_wins) / weight
            within = float((p.left_wins + p.right_wins).sum() - weight @ target**2)
    keep = 1.0 / (1.0 - 2.0 * flip_rate)
    constant = (1.0 - keep**2) * (float(weight @ target**2) + within)
    target = np.ascontiguousarray(keep * target, dtype=np.float64)
    return left, right, SquaredRows(target, weight, keep**2 * within, constant)


def _scattered(c: Comparisons) -> bool:
    """Whether plain votes hardly ever repeat a pair, so that counting them first gains nothing."""
    plain = c.weight is None and c.count is None and c.margin is None and c.outcome is None
    return plain and 8 * len(c.left) < len(c.items) ** 2
