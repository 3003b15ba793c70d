"""Newton's method that sees rows only through sums over them: here, or where an engine keeps them in parts.

A step needs one sum for the loss with its derivatives, and one for each step of conjugate gradients: the Hessian times
a vector. A part computes its curvature anew from the scores each time, so that there is nothing to lose with a worker
but rows, which engines make again from their chunk. What travels is 8 bytes an item, there and back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from podium.engine import Engine, Kept
from podium.kernels.pairwise.bradley_terry import scatter_sum
from podium.kernels.pairwise.evidence import laplacian_columns
from podium.numeric import conjugate_gradients
from podium.pairwise._fit.solvers import MOST_ROUNDING, SEPARATES, RowLoss, Rows, Solution, evaluate

__all__ = ["KeptSums", "LocalSums", "RowSums", "keep_rows", "newton_by_sums", "rows_that_pay"]

Floats = NDArray[np.float64]

SUMS = 60  # that a fit takes, as measured: six to eight steps of seven or eight each
SUM_LATENCY = 0.03  # seconds of CPU that a sum over a cluster takes whatever is in it
ROW_SECONDS = 7e-8  # that a row takes of a sum on a worker, which finds its curvature anew
NEWTON_SECONDS, SWEPT_SECONDS = 1.3e-6, 8e-8  # that a row takes of a whole fit here, by Newton or by sweeps over items
LAST = 1e-9  # accuracy of the linear solve of the last step
ROWS_A_PART = 2_000_000  # at most
Part = tuple[Rows, RowLoss]


@dataclass(slots=True)
class Sums:
    """The loss of some rows and its derivatives; sums of two add."""

    value: float
    slopes: Floats  # (n,)
    diagonal: Floats  # (n,)
    extra_slopes: Floats  # (p,)
    border: Floats  # (n, p)
    corner: Floats  # (p, p)


class RowSums(Protocol):
    """What Newton's method needs of the rows."""

    def point(self, scores: Floats, extras: Floats) -> Sums:
        """Loss and derivatives."""
        ...

    def product(self, scores: Floats, extras: Floats, columns: Floats) -> Floats:
        """The scores' block of the Hessian times each of the columns (n, k)."""
        ...


def point_of(part: Part, scores: Floats, extras: Floats) -> Sums:
    """The sums of one part."""
    rows, loss = part
    at = evaluate(rows, loss, 0.0, scores, extras)
    diagonal = np.zeros(rows.n)
    scatter_sum(rows.left, rows.right, at.curvature, diagonal)
    return Sums(at.objective, at.slopes, diagonal, at.extra_slopes, np.ascontiguousarray(at.border), at.corner)


def product_of(part: Part, scores: Floats, extras: Floats, columns: Floats) -> Floats:
    """The Hessian of one part times columns; its curvature is found anew."""
    rows, loss = part
    curvature = loss(rows.margin(scores, extras), extras)[2]
    out = np.zeros_like(columns)
    laplacian_columns(rows.left, rows.right, curvature, columns, out)
    return out


def added(one: Sums, other: Sums) -> Sums:
    """The sum, in place of the first."""
    one.value += other.value
    for name in ("slopes", "diagonal", "extra_slopes", "border", "corner"):
        getattr(one, name)[...] += getattr(other, name)
    return one


def added_products(one: Floats, other: Floats) -> Floats:
    """The sum, in place of the first."""
    one += other
    return one


@dataclass(frozen=True)
class LocalSums:
    """Rows in this process."""

    part: Part

    def point(self, scores: Floats, extras: Floats) -> Sums:
        """Loss and derivatives."""
        return point_of(self.part, scores, extras)

    def product(self, scores: Floats, extras: Floats, columns: Floats) -> Floats:
        """The Hessian times columns."""
        return product_of(self.part, scores, extras, columns)


@dataclass(frozen=True)
class KeptSums:
    """Rows in parts that an engine keeps."""

    kept: Kept

    def point(self, scores: Floats, extras: Floats) -> Sums:
        """Loss and derivatives."""
        sums: Sums = self.kept.sum(point_of, scores, extras, add=added)
        return sums

    def product(self, scores: Floats, extras: Floats, columns: Floats) -> Floats:
        """The Hessian times columns."""
        product: Floats = self.kept.sum(product_of, scores, extras, columns, add=added_products)
        return product


def keep_rows(engine: Engine, rows: Rows, loss: RowLoss) -> KeptSums:
    """Hand the rows to an engine, in equal parts, one a worker or more."""
    workers, count = workers_of(engine), len(rows.left)
    parts = max(workers, -(-count // ROWS_A_PART))
    return KeptSums(engine.keep(itself, list(_cut(rows, loss, min(parts, count)))))


def workers_of(engine: Engine) -> int:
    """How many workers share the work."""
    return int(getattr(engine, "n", 1))


def rows_that_pay(workers: int, swept: bool) -> float:
    """The rows from which sums by workers are faster than the fit here; `swept` where that goes by sweeps over items.

    Costs are as measured by `python -m benchmarks.cluster --fit`.
    """
    here = SWEPT_SECONDS if swept else NEWTON_SECONDS
    saved = here - SUMS * ROW_SECONDS / workers
    return SUMS * SUM_LATENCY / saved if saved > 0 else np.inf


def itself(part: Part) -> Part:
    """A chunk that is its own part."""
    return part


def _cut(rows: Rows, loss: RowLoss, parts: int) -> Iterator[Part]:
    """Runs of rows with their share of the loss."""
    for chosen in np.array_split(np.arange(len(rows.left)), parts):
        run = slice(int(chosen[0]), int(chosen[-1]) + 1)
        yield _some(rows, run, ("left", "right", "design", "offset")), _some(loss, run, _by_row(loss, len(rows.left)))


def _by_row(loss: RowLoss, count: int) -> tuple[str, ...]:
    names = [field.name for field in fields(loss)]  # type: ignore[arg-type]  # losses are dataclasses
    return tuple(name for name in names if np.shape(getattr(loss, name)) == (count,))


def _some(value: Any, run: slice, names: tuple[str, ...]) -> Any:
    return replace(
        value,
        **{name: np.ascontiguousarray(column[run]) for name in names if (column := getattr(value, name)) is not None},
    )


# ---- Newton ---------------------------------------------------------------------------------------------------


def newton_by_sums(
    sums: RowSums,
    l2: float,
    tol: float,
    max_iter: int,
    *,
    votes: Floats,
    scores: Floats,
    extras: Floats,
    size: Floats | None = None,
) -> Solution:
    """The optimum of the penalised loss, as `solvers.newton` finds it; `votes` is the weight of each item's votes.

    `size` is the root of the mean square of each column of the design, by which effects without an optimum are known.
    """
    here, step, left, gap = sums.point(scores, extras), 0, np.inf, np.inf
    yardstick = np.where(votes > 0.0, votes, 1.0)
    while step < max_iter:
        slopes = here.slopes + 2.0 * l2 * scores
        gap = float(np.max(np.abs(slopes) / yardstick))
        gap = max(gap, float(np.max(np.abs(here.extra_slopes), initial=0.0)) / (float(votes.sum()) / 2.0))
        move = _direction(sums, here, slopes, scores, extras, l2, min(0.05, 0.1 * gap))
        if _longest(move) <= 10.0 * tol:
            move = _direction(sums, here, slopes, scores, extras, l2, LAST)
        before, left = left, _longest(move)
        found = _search(sums, here, scores, extras, slopes, move, l2)
        if found is None:  # no descent in floating point: as good as it gets
            break
        here, scores, extras = found
        step += 1
        if left <= tol or 0.5 * before < left <= MOST_ROUNDING:
            break
        runs_away = size is not None and np.any(np.abs(extras[: len(size)]) * size > SEPARATES)
        if gap <= 1e-3 * tol and runs_away:  # for ever: every step finds the votes likelier
            left = 0.0
            break
    centred = scores - scores.mean() if l2 == 0 else scores
    return Solution(centred, extras, step, "sums", gap, left <= max(tol, MOST_ROUNDING))


def _longest(move: tuple[Floats, Floats]) -> float:
    return max(float(np.max(np.abs(each), initial=0.0)) for each in move)


def _direction(
    sums: RowSums, here: Sums, slopes: Floats, scores: Floats, extras: Floats, l2: float, accuracy: float
) -> tuple[Floats, Floats]:
    """The Newton step; all columns that the Schur complement of the effects needs are solved side by side."""
    ridge = max(2.0 * l2, 1e-12 * max(float(here.diagonal.mean()), 1e-300))

    def product(columns: Floats) -> Floats:
        return ridge * columns + sums.product(scores, extras, np.ascontiguousarray(columns))

    force = np.ascontiguousarray(np.column_stack([slopes, here.border]))
    solved, _ = conjugate_gradients(product, here.diagonal + ridge, force, accuracy=accuracy, most=10 * len(scores))
    through, across = solved[:, 0], solved[:, 1:]
    if not across.shape[1]:
        return -through, np.empty(0)
    schur = here.corner - here.border.T @ across
    schur[np.diag_indices_from(schur)] += 1e-12 * np.abs(np.diag(here.corner)) + 1e-300
    effects = np.linalg.solve(schur, here.border.T @ through - here.extra_slopes).astype(np.float64)
    return -through - across @ effects, effects


def _search(
    sums: RowSums, here: Sums, scores: Floats, extras: Floats, slopes: Floats, move: tuple[Floats, Floats], l2: float
) -> tuple[Sums, Floats, Floats] | None:
    """As far along the step as the loss falls enough."""
    now = here.value + l2 * float(scores @ scores)
    expected = float(slopes @ move[0] + here.extra_slopes @ move[1])
    length = min(1.0, 10.0 / max(float(np.max(np.abs(move[0]), initial=0.0)), 1e-300))
    for _ in range(50):
        there = scores + length * move[0], extras + length * move[1]
        point = sums.point(*there)
        if point.value + l2 * float(there[0] @ there[0]) <= now + 1e-4 * length * expected + 1e-13 * abs(now):
            return point, *there
        length *= 0.5
    return None
