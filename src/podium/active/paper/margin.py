"""Large margins (section 4): the hinge losses SVM1, SVM2 and SVM3, and a solver that knows how far it is off."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.active.validation import codes_of, listed
from podium.data.validation import floats_of, number_option, whole_option
from podium.errors import ConvergenceWarning, InputError
from podium.kernels.active import hinge as kernel
from podium.text import counted

__all__ = [
    "BlockHinge",
    "LargeMargin",
    "block_weights",
    "cross_block_hinge",
    "finite_scores",
    "least_loss",
    "relative_gap",
    "svm1",
    "svm2",
    "svm3",
]

LEVEL = 0.4  # where between the bound and the best loss the next point is looked for
MAX_IDLE = 30  # rounds for which a cut is kept without being of use
ROUNDING = 1e-9  # by which a length may exceed its limit
NAUGHT = 1e-6  # a share of the loss of weights 0 that counts as none


@dataclass(frozen=True, slots=True, eq=False)
class LargeMargin:
    """A linear ranker: items by falling score, `features @ weights`.

    `loss` is the objective at the weights, `flat` that of weights 0. No weights within the radius reach less than
    `bound`, which is proved (a feasible point of the dual), so `gap` says how far the solver may be off.
    """

    weights: np.ndarray
    loss: float
    bound: float
    flat: float
    steps: int

    @property
    def gap(self) -> float:
        """How far the loss may be above the least, as a share of it (of a millionth of `flat` if that is more)."""
        return relative_gap(self.loss, self.bound, self.flat)

    def scores(self, features: Any) -> np.ndarray:
        """The score of each row, as far as these go."""
        table = floats_of("features", features)
        if table.ndim != 2 or table.shape[1] != len(self.weights):
            raise InputError(
                f"features have shape {table.shape}; rows of {counted(len(self.weights), 'number')} are needed"
            )
        return finite_scores(lambda rows: rows @ self.weights, table)

    def order(self, features: Any) -> np.ndarray:
        """Rows by falling score; equal ones as they come."""
        order: np.ndarray = np.argsort(-self.scores(features), kind="stable")
        return order


def relative_gap(loss: float, bound: float, flat: float) -> float:
    """The difference of a loss and its bound as a share of the loss, which may be 0."""
    return (loss - bound) / max(loss, NAUGHT * flat) if loss > bound else 0.0


def finite_scores(score: Callable[[np.ndarray], np.ndarray], table: np.ndarray) -> np.ndarray:
    """The score of each row; a row that has none, being infinite, missing or too large, is named."""
    with np.errstate(over="ignore", invalid="ignore"):
        scores = score(table)
    bad = np.flatnonzero(~np.isfinite(scores) | ~np.isfinite(table).all(axis=1))
    if len(bad):
        raise InputError(f"features: row {bad[0] + 1} has a number that is missing, infinite or too large to score")
    return scores


def svm1(
    features: Any, wins: Any, *, radius: float = 10.0, tolerance: float = 1e-4, max_steps: int = 3000
) -> LargeMargin:
    """Minimise SVM1: the sum of max(0, 1 - score(u) + score(v)) over all pairs with wins[u, v] = 1.

    `features` are rows φ(u) of length at most 1, the score is ⟨w, φ(u)⟩, and w is no longer than `radius`, the paper's
    c. A tie, 0.5, counts half either way; nan is no answer. Every answer is needed: what it costs without is `svm3`.

    >>> wins = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    >>> found = svm1(np.array([[1.0], [0.5], [0.0]]), wins, radius=4.0)
    >>> found.weights.round(3).tolist(), round(found.loss, 3), found.gap <= 1e-4
    ([2.0], 0.0, True)
    """
    everyone = np.arange(len(floats_of("wins", wins, (None, None))))
    return svm2(features, [everyone], wins, radius=radius, tolerance=tolerance, max_steps=max_steps)


def svm2(
    features: Any,
    blocks: Sequence[Any],
    wins: Any,
    *,
    radius: float = 10.0,
    tolerance: float = 1e-4,
    max_steps: int = 3000,
) -> LargeMargin:
    """Minimise SVM2: pairs of different blocks as the blocks stand, pairs inside a block as they were answered."""
    table = _unit_rows(features)
    block = _block_of(blocks, len(table))
    answers = floats_of("wins", wins)
    if answers.shape != (len(table), len(table)):
        raise InputError(f"wins have shape {answers.shape}; a row and a column an item, {len(table)} each, is needed")
    off_diagonal = ~np.eye(len(table), dtype=bool)
    winner, loser = np.nonzero((block[:, None] == block) & off_diagonal & (answers > 0))
    bad = np.argwhere(off_diagonal & ~np.isnan(answers) & ~((answers >= 0) & (answers <= 1)))
    if len(bad):
        u, v = bad[0]
        raise InputError(f"wins: row {u + 1}, column {v + 1} is {answers[u, v]:g}; it is between 0 and 1, or nan")
    loss = BlockHinge(block, winner, loser, answers[winner, loser])
    return least_loss(table, loss, radius=radius, tolerance=tolerance, max_steps=max_steps)


def svm3(
    features: Any,
    blocks: Sequence[Any],
    winner: Any,
    loser: Any,
    *,
    weight: Any = None,
    radius: float = 10.0,
    tolerance: float = 1e-4,
    max_steps: int = 3000,
) -> LargeMargin:
    """Minimise SVM3: all pairs of different blocks, none of which is asked or listed, and a sample of those inside.

    Row k of the sample says that item winner[k] goes before loser[k], both in one block. Unless `weight` says
    otherwise the rows of a block stand for all of its pairs: each weighs (pairs of the block) / (rows of the block),
    which is 1 in a small block, asked in full, and the paper's Σ(nᵢ choose 2) / M in big ones sampled uniformly.

    Theorem 4.2: with M = O(ε⁻⁶ (1 + 2c)² d log(c/ε)) rows the loss is within a share O(ε) of SVM2's at every w at once.
    """
    table = _unit_rows(features)
    block = _block_of(blocks, len(table))
    first, second = (codes_of(name, codes, len(table)) for name, codes in (("winner", winner), ("loser", loser)))
    if len(first) != len(second):
        raise InputError(f"{counted(len(first), 'winner')} and {counted(len(second), 'loser')}; give one of each a row")
    apart = np.flatnonzero((block[first] != block[second]) | (first == second))
    if len(apart):
        u, v = first[apart[0]], second[apart[0]]
        what = "the same item twice" if u == v else f"items {u} and {v}, of different blocks"
        raise InputError(f"row {apart[0] + 1} of the sample has {what}; rows are pairs inside a block")
    if weight is None:
        rows_weigh = block_weights(block, first)
    else:
        rows_weigh = floats_of("weight", weight)
        if rows_weigh.shape != first.shape or not np.isfinite(rows_weigh).all() or (rows_weigh < 0).any():
            raise InputError("weight: give one finite number, 0 or more, for each row of the sample")
    loss = BlockHinge(block, first, second, rows_weigh)
    return least_loss(table, loss, radius=radius, tolerance=tolerance, max_steps=max_steps)


def block_weights(block: np.ndarray, rows: np.ndarray, shares: np.ndarray | None = None) -> np.ndarray:
    """What each row weighs, so that the rows of a block, given by an item, stand for all its pairs.

    `shares` says how much of an answer each row is, where a tie is two rows of a half.
    """
    size = np.bincount(block)
    shares = np.ones(len(rows)) if shares is None else shares
    seen = np.bincount(block[rows], shares, len(size))
    weights: np.ndarray = shares * (size * (size - 1) / 2.0 / np.maximum(seen, 1e-300))[block[rows]]
    return weights


@dataclass(frozen=True, slots=True, eq=False)
class BlockHinge:
    """A loss of section 4 by scores: all pairs of different blocks, the earlier first, and listed rows."""

    block: np.ndarray  # of each item, from 0
    winner: np.ndarray
    loser: np.ndarray
    weight: np.ndarray

    def at(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """Its value and its gradient by the scores."""
        value, slope = cross_block_hinge(scores, self.block)
        margin = 1.0 - scores[self.winner] + scores[self.loser]
        active = (margin > 0) * self.weight
        n = len(scores)
        slope += np.bincount(self.loser, active, n) - np.bincount(self.winner, active, n)
        return value + float(margin @ active), slope


def cross_block_hinge(scores: np.ndarray, block: np.ndarray) -> tuple[float, np.ndarray]:
    """Sum of max(0, 1 - s_u + s_v) over all u in an earlier block than v, and its gradient, in O(n log n).

    >>> value, slope = cross_block_hinge(np.array([0.0, 0.5]), np.array([0, 1]))
    >>> value, slope.tolist()
    (1.5, [-1.0, 1.0])
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    block = np.ascontiguousarray(block, dtype=np.int64)
    blocks = int(block.max(initial=-1)) + 1
    slope = np.zeros(len(scores))
    room = np.empty(blocks + 1), np.empty(blocks + 1)
    ascending = np.argsort(scores, kind="stable")
    return float(kernel.cross_block_hinge(scores, ascending, block, *room, slope)), slope


def least_loss(
    features: np.ndarray, loss: BlockHinge, *, radius: float, tolerance: float = 1e-4, max_steps: int = 3000
) -> LargeMargin:
    """Minimise a loss over the ball ‖w‖ ≤ radius until the gap is proved to be at most `tolerance`.

    A level method. Every point that was tried gives a cut, a linear function that lies below the loss everywhere. The
    next point is the shortest one at which all cuts lie below a level between the bound and the best loss so far. If
    it is longer than the radius, no point of the ball reaches the level. Either way its multipliers, scaled to sum to
    1, are a feasible point of the dual, max over the simplex of Σ αₖ bₖ - radius ‖Σ αₖ aₖ‖, and bound the loss below.
    """
    radius = number_option("radius", radius, above=0)
    tolerance = number_option("tolerance", tolerance, above=0)
    max_steps = whole_option("max_steps", max_steps, least=1)
    point = best = np.zeros(features.shape[1])  # in units of the radius
    start, slope = loss.at(np.zeros(len(features)))
    if start == 0:
        return LargeMargin(best, 0.0, 0.0, 0.0, 1)
    cuts, heights = (features.T @ slope)[None] * (radius / start), np.ones(1)  # losses are shares of that of w = 0
    idle = np.zeros(1)
    least, bound, steps = 1.0, 0.0, 1
    while relative_gap(least, bound, 1.0) > tolerance and steps < max_steps:
        steps += 1
        shortest, multipliers = _shortest(cuts, heights, bound + LEVEL * (least - bound))
        if (total := multipliers.sum()) > 0:
            shares = multipliers / total
            bound = max(bound, float(heights @ shares - np.linalg.norm(shares @ cuts)))
        idle = np.where(multipliers > 0, 0, idle + 1)
        cuts, heights, idle = cuts[idle <= MAX_IDLE], heights[idle <= MAX_IDLE], idle[idle <= MAX_IDLE]
        if shortest is None or np.linalg.norm(shortest) > 1.0:
            continue
        point = shortest
        value, slope = loss.at(features @ (radius * point))
        value, cut = value / start, (features.T @ slope) * (radius / start)
        cuts, heights, idle = np.vstack([cuts, cut]), np.append(heights, value - cut @ point), np.append(idle, 0)
        if value < least:
            least, best = value, point
    found = LargeMargin(radius * best, least * start, min(bound, least) * start, start, steps)
    if found.gap > tolerance:
        warnings.warn(
            f"the hinge loss may be {100 * found.gap:.2g} % above the least after {counted(steps, 'step')}; raise "
            "max_steps, or lower radius",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found


def _shortest(cuts: np.ndarray, heights: np.ndarray, level: float) -> tuple[np.ndarray | None, np.ndarray]:
    """The shortest point w with cuts @ w + heights <= level, None if there is none, and multipliers of the cuts.

    Lawson and Hanson's least distance programming: one problem of non-negative least squares.
    """
    from scipy.optimize import nnls

    system = np.vstack([-cuts.T, heights - level])
    target = np.zeros(len(system))
    target[-1] = 1.0
    try:
        multipliers, _ = nnls(system, target, maxiter=100 * system.shape[1])
    except RuntimeError:  # it turned in circles: no point, and nothing new about the bound
        return None, np.zeros(len(cuts))
    rest = system @ multipliers - target
    return (rest[:-1] / -rest[-1] if rest[-1] < -1e-13 else None), multipliers


def _unit_rows(features: Any) -> np.ndarray:
    """Features as floats, every row of length at most 1, as section 4 supposes."""
    table = np.ascontiguousarray(floats_of("features", features))
    if table.ndim != 2 or not table.size:
        raise InputError(f"features have shape {table.shape}; one row of numbers for each item is needed")
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        row, column = bad[0]
        raise InputError(f"features: row {row + 1}, column {column + 1} is {table[row, column]}; numbers are needed")
    with np.errstate(over="ignore"):
        length = np.linalg.norm(table, axis=1)
    row = int(length.argmax())
    if length[row] > 1.0 + ROUNDING:
        raise InputError(
            f"features: row {row + 1} has length {length[row]:.4g}, more than 1; divide all features by it"
        )
    return table


def _block_of(blocks: Sequence[Any], n: int) -> np.ndarray:
    """The number of each item's block; every item is in one."""
    block = np.full(n, -1)
    for number, members in enumerate(listed("blocks", blocks, "lists of item numbers")):
        codes = codes_of("blocks", members, n)
        twice = codes[block[codes] >= 0] if len(np.unique(codes)) == len(codes) else codes[:1]
        if len(twice):
            raise InputError(f"block {number + 1}: item {int(twice[0])} is there twice; name each item once")
        block[codes] = number
    if (block < 0).any():
        raise InputError(f"item {int(np.flatnonzero(block < 0)[0])} is in no block; blocks must cover every item")
    return block
