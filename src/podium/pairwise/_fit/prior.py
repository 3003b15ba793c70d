"""A penalty from the data: how far true scores lie apart, judged by the votes.

Scores are taken for draws from N(0, s²), which is the penalty l2 = 1/(2s²). With J the penalised loss at its optimum
u, H the Hessian there (extra parameters included, with a flat prior) and x = log s, we maximise

    F(x) = −J − ½ log det H − n·x − x²/2 + δ,

Laplace's approximation of the marginal likelihood, a weak prior log s ~ N(0, 1), and the leading terms of second order

    δ = −⅛ Σ κ₄·(W, W) + ⅛ aᵀVa,    a = Σ κ₃·W,    V = H⁻¹,

with κ₃ and κ₄ the third and fourth derivatives of a row's loss and W the covariance of what the row sees: its margin,
and Davidson's tie parameter if there is one (Tierney & Kadane 1986; Shun & McCullagh 1995). For a logistic row
κ₃ = c(1 − 2p) and κ₄ = c(1 − 6pq). Without δ and the prior, few votes pull s to 0, where all items are equal.

F is climbed by its derivative. Along the optimum dH/dx has one part from the penalty and one from the curvature that
moves with u, du/dx = (2/s²) V u:

    F′(x) = ‖u‖²/s² + tr V/s² − n − x − uᵀVa/s² + δ′.

Up to `MAX_DENSE_ITEMS` items V is a matrix; beyond, see `many_items`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.pairs import Adjacency
from podium.kernels.pairwise.bradley_terry import scatter_difference
from podium.kernels.pairwise.evidence import contract_logistic, logistic_shape, pair_rows
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.many_items import SparseInverse
from podium.pairwise._fit.solvers import Rows, evaluate

__all__ = [
    "MAX_DENSE_ITEMS",
    "Prior",
    "Spread",
    "adjacency_rows",
    "choose_prior",
    "contract_davidson",
    "log_evidence",
    "possible_spreads",
]

Floats = NDArray[np.float64]
RowLosses: TypeAlias = LogisticRows | DavidsonRows
Fit: TypeAlias = Callable[[float, float, Floats | None, Floats | None], tuple[Floats, Floats]]

MAX_DENSE_ITEMS = 400  # up to here V is held as a matrix
SMALLEST, LARGEST = math.log(1e-3), math.log(30.0)  # ends of the range of log s
LONGEST, SHORTEST = 0.7, 0.025  # steps of log s, and first ones
MENDED_WITHIN = 0.2  # of log s
MAX_EVALUATIONS = 40
# Accuracy of log s, and of the scores at each s tried. With many items log s is asked for to a share of what is known
# of it at best, 1/√(2n).
X_TOL, FIT_TOL = 2e-6, 1e-7
ROUGH_X_TOL, ROUGH_FIT_TOL = 0.1, 1e-3
# Where the prior's share of what is known of the scores is small, they hardly move with s: the first step is Newton's
# with scores as they are, and log s may be less accurate, as long as scores are.
SMALL_SHARE, LOOSEST_X_TOL = 0.02, 1e-5
# Where votes and penalty pull against each other harder than chance would, by so many standard deviations, another top
# is looked for; with many items only where the first is this near 0. Meanwhile there is next to no penalty, in
# curvatures of a row.
CONTRADICTED, FLAT, LOOSE = 4.0, 0.5, 1e-7
STEP = 1e-4  # of log s, for a derivative of δ where scores are exact
NEGLIGIBLE = 1e-3  # δ an item, below which it moves log s by less than a hundredth of what is known of it
# The other spreads that the votes leave possible: steps of log s, the ends of what is looked at, and how much less
# probable than the best of them (as a log) may be left out. Here the prior is log s ~ N(0, 2²): no single s has to be
# kept from 0, and close fields are not to be ruled out.
SPREAD_STEP, SMALLEST_SPREAD, LARGEST_SPREAD, LEFT_OUT, VAGUE = 0.4, math.log(0.03), math.log(8.0), 6.0, 2.0
APART = 0.02  # least distance of log s for one where they are not


@dataclass(frozen=True, slots=True)
class Prior:
    """The standard deviation s of the true scores that the votes speak for.

    `scores` and `extras` are a penalised optimum close to that at s, to start from. `flat` marks one that draws scores
    together against the votes, where no better one was found.
    """

    sd: float
    scores: Floats
    extras: Floats
    evaluations: int
    flat: bool = False

    @property
    def l2(self) -> float:
        """The penalty that says the same: 1/(2s²)."""
        return 0.5 / self.sd**2


def adjacency_rows(a: Adjacency, scale: float = 1.0) -> tuple[Rows, LogisticRows]:
    """The pairs of an adjacency as rows of a logistic loss, every vote counted `scale` times."""
    m = len(a.partner) // 2
    left, right = np.empty(m, dtype=np.int32), np.empty(m, dtype=np.int32)
    points, total = np.empty(m), np.empty(m)
    pair_rows(a.start, a.partner, a.wins, a.total, left, right, points, total)
    if scale != 1.0:
        points, total = scale * points, scale * total
    return Rows(len(a), left, right), LogisticRows(points, total)


class Inverse(Protocol):
    """A = Laplacian(curvature) + ridge·I, as far as the evidence needs its inverse."""

    @property
    def gaps(self) -> Floats:
        """Variance of u_left − u_right for every row."""
        ...

    @property
    def rough_trace(self) -> float:
        """Trace of the inverse, or what is cheap to know of it."""
        ...

    def trace(self) -> float:
        """Trace of the inverse."""
        ...

    @property
    def log_determinant(self) -> float:
        """Of A itself."""
        ...

    def solve(self, columns: Floats) -> Floats:
        """The inverse times some columns."""
        ...


def choose_prior(rows: Rows, loss: RowLosses, fit: Fit, *, points: Floats, votes: Floats) -> Prior:
    """Find the standard deviation of the true scores that the votes speak for.

    `points` (wins and half the ties) and `votes` are the sums of each item; they only say where to start.

    `fit(l2, tol, scores, extras)` returns the penalised optimum, starting from scores and extras found before (None at
    first). `loss` counts votes: weights that are not counts must have been scaled by Σw/Σw².
    """
    climb = _Climb(rows, loss, fit)
    x = climb.top(_start(points, votes))
    found = Prior(math.exp(x), *climb.found, len(climb.visited))
    if climb.visited[-1].share < SMALL_SHARE or not (climb.dense or found.sd < FLAT):
        return found
    tension, wide = _tension(rows, loss, found, dense=climb.dense)
    if not tension > rows.n - 1 + CONTRADICTED * math.sqrt(2.0 * (rows.n - 1)):
        return found
    # Where items met their neighbours only, as on a ladder, F has a second top: from near 0 every step looks small.
    again = _Climb(rows, loss, fit)
    y = again.top(min(max(math.log(wide), x), LARGEST))
    other = Prior(math.exp(y), *again.found, len(climb.visited) + len(again.visited))
    if climb.dense:
        better = log_evidence(rows, loss, fit, other.sd) > log_evidence(rows, loss, fit, found.sd)
    else:
        better = _tension(rows, loss, other, dense=False)[0] < tension
    return other if better else replace(found, flat=not climb.dense)


def _tension(rows: Rows, loss: RowLosses, prior: Prior, *, dense: bool) -> tuple[float, float]:
    """How hard votes pull against the penalty, and how far apart scores would lie a Newton step away without it.

    The pull is g = u/s². With L the Laplacian, gᵀL⁺g has at most the mean of χ² with n − 1 degrees of freedom where
    true scores are draws from N(0, s²).
    """
    n, ridge = rows.n, prior.sd**-2
    curvature = evaluate(rows, loss, 0.5 * ridge, prior.scores, prior.extras).curvature
    loose = LOOSE * max(float(curvature.mean()), 1e-9)  # L itself has no inverse
    inverse: Inverse = (
        DenseInverse(rows, curvature, loose)
        if dense
        else SparseInverse(n, rows.left, rows.right, curvature, loose, prior.scores)
    )
    gradient = ridge * prior.scores
    step = inverse.solve(gradient[:, None])[:, 0]
    return float(gradient @ step), float(np.std(prior.scores + step))


@dataclass(frozen=True, slots=True)
class Spread:
    """One spread s of the true scores that the votes leave possible: how probable it is, and the optimum there."""

    share: float
    sd: float
    scores: Floats
    extras: Floats


def possible_spreads(rows: Rows, loss: RowLosses, fit: Fit, prior: Prior) -> list[Spread]:
    """Spreads around the chosen one, with their posterior probabilities; few items only.

    Evenly spaced in log s, up and down from the chosen one until they are improbable.
    """
    nodes = [_spread_at(rows, loss, fit, math.log(prior.sd), prior.scores, prior.extras)]
    for step in (-SPREAD_STEP, SPREAD_STEP):
        value, node = nodes[0]
        while SMALLEST_SPREAD <= (x := math.log(node.sd) + step) <= LARGEST_SPREAD:
            value, node = _spread_at(rows, loss, fit, x, node.scores, node.extras)
            nodes.append((value, node))
            if value < max(each for each, _ in nodes) - LEFT_OUT:
                break
    shares = np.exp(np.array([value for value, _ in nodes]) - max(value for value, _ in nodes))
    shares /= shares.sum()
    return [Spread(share, n.sd, n.scores, n.extras) for share, (_, n) in zip(shares.tolist(), nodes, strict=True)]


def _spread_at(rows: Rows, loss: RowLosses, fit: Fit, x: float, scores: Floats, extras: Floats) -> tuple[float, Spread]:
    """The optimum at log s = x, looked for from one near it, and the log of its posterior up to a constant."""
    scores, extras = fit(0.5 * math.exp(-2.0 * x), FIT_TOL, scores, extras)
    value = _evidence_at(rows, loss, x, scores, extras) - 0.5 * (x / VAGUE) ** 2
    return value, Spread(1.0, math.exp(x), scores, extras)


def log_evidence(rows: Rows, loss: RowLosses, fit: Fit, sd: float) -> float:
    """F at one s: the log of the marginal likelihood times the prior of log s, up to a constant (few items only)."""
    x = math.log(sd)
    return _evidence_at(rows, loss, x, *fit(0.5 / sd**2, FIT_TOL, None, None)) - 0.5 * x * x


def _evidence_at(rows: Rows, loss: RowLosses, x: float, scores: Floats, extras: Floats) -> float:
    """The log of the marginal likelihood at log s = x, whose optimum is given, up to a constant."""
    place = _Place(rows, loss, x, scores, extras, dense=True)
    penalised = evaluate(rows, loss, 0.5 * math.exp(-2.0 * x), scores, extras).objective
    return float(-penalised - 0.5 * place.log_determinant - rows.n * x + place.second_order)


def _start(points: Floats, votes: Floats) -> float:
    """log s by moments, as if each item had met random others.

    With opponents drawn alike, an item's share of points has variance arcsin(q)/2π about ½ beyond that of chance,
    q = s²/(c² + 2s²), taking the logistic for a normal distribution with c = 1.7.
    """
    seen = votes > 0.0
    beyond = float(np.sum((points[seen] - 0.5 * votes[seen]) ** 2 / votes[seen])) - 0.25 * seen.sum()
    share = beyond / max(float(votes.sum()) - float(seen.sum()), 1.0)
    q = math.sin(2.0 * math.pi * min(max(share, 0.003), 0.07))
    return 0.5 * math.log(2.9 * q / (1.0 - 2.0 * q))


class _Climb:
    """To the top of F: secant steps on F′, kept between points that are known to lie on either side.

    With few items δ′ is a difference along the optimum; with many, or many votes, it is the slope of a parabola through
    the values of δ met on the way, which costs nothing.
    """

    def __init__(self, rows: Rows, loss: RowLosses, fit: Fit) -> None:
        self.rows, self.loss, self.fit = rows, loss, fit
        self.dense = rows.n <= MAX_DENSE_ITEMS
        self.x_tol = X_TOL if self.dense else ROUGH_X_TOL / math.sqrt(2.0 * rows.n)
        self.fit_tol = FIT_TOL if self.dense else ROUGH_FIT_TOL
        self.found: tuple[Floats, Floats] = (np.empty(0), np.empty(0))
        self.visited: list[_Visit] = []
        self.mend = _Mend()

    def top(self, x: float) -> float:
        """Climb from x, and return log s at the top."""
        last = math.inf
        while True:
            here = self._visit(x)
            self.visited.append(here)
            there = self._next(here)
            # The error after a secant step is of the order of that step times the last.
            step = abs(there - x)
            x_tol = max(self.x_tol, min(X_TOL / max(here.share, 1e-9), LOOSEST_X_TOL) if self.dense else 0.0)
            if step * min(2.0 * last, 1.0) <= x_tol or len(self.visited) == MAX_EVALUATIONS:
                return there
            last, x = step, there

    def _next(self, here: _Visit) -> float:
        uphill = self._slope(here)
        if len(self.visited) == 1 and here.share < SMALL_SHARE:
            return here.x + here.jump
        if len(self.visited) == 1:
            return here.x + math.copysign(max(abs(here.jump), SHORTEST), here.jump)
        before = self.visited[-2]
        steepness = (uphill - self._slope(before)) / (here.x - before.x)
        step = -uphill / steepness if steepness < 0.0 else math.copysign(LONGEST, uphill)
        there = here.x + min(max(step, -LONGEST), LONGEST)
        low = max((v.x for v in self.visited if self._slope(v) > 0.0), default=SMALLEST)
        high = min((v.x for v in self.visited if self._slope(v) <= 0.0), default=LARGEST)
        return there if low < there < high or high <= low else (low + high) / 2.0

    def _visit(self, x: float) -> _Visit:
        ridge, n = math.exp(-2.0 * x), self.rows.n
        self.found = self.fit(0.5 * ridge, self.fit_tol, *(self.found if self.visited else (None, None)))
        scores, extras = self.found
        place = _Place(self.rows, self.loss, x, scores, extras, dense=self.dense)
        size, trace = ridge * float(scores @ scores), ridge * place.trace(self.mend)
        moving = 2.0 * ridge * float(scores @ place.pushed[0])
        jump = 0.5 * math.log(max(size, 1e-9 * n) / max(n - trace, 1e-9 * n))
        bend = None
        if self.dense and abs(place.second_order) > NEGLIGIBLE * n:
            along = place.solve(2.0 * ridge * scores, np.zeros(len(extras)))
            moved = scores + STEP * along[0], extras + STEP * along[1]
            ahead = _Place(self.rows, self.loss, x + STEP, *moved, dense=True)
            bend = (ahead.second_order - place.second_order) / STEP
        slope = size + trace - n - x - 0.5 * moving
        if (share := trace / n) < SMALL_SHARE:
            jump = slope / (2.0 * (size + trace) + 1.0)
        return _Visit(x, slope, place.second_order, bend, min(max(jump, -LONGEST), LONGEST), share)

    def _slope(self, visit: _Visit) -> float:
        """F′."""
        return visit.slope + (self._bend(visit.x) if visit.bend is None else visit.bend)

    def _bend(self, x: float) -> float:
        """δ′(x), from the last three values far enough apart, by Newton's divided differences."""
        known: list[tuple[float, float]] = []
        for visit in reversed(self.visited):
            if len(known) < 3 and all(abs(visit.x - other) >= APART for other, _ in known):
                known.append((visit.x, visit.second_order))
        if len(known) < 2:
            return 0.0
        (a, at_a), (b, at_b) = known[:2]
        first = (at_a - at_b) / (a - b)
        if len(known) < 3:
            return first
        c, at_c = known[2]
        return first + (first - (at_b - at_c) / (b - c)) / (a - c) * (2.0 * x - a - b)


@dataclass(frozen=True, slots=True)
class _Visit:
    """What was found at one s: F′ less δ′, δ, δ′ if known, a first step, and the prior's share of what is known.

    The step is that of the fixed point s² = ‖u‖²/(n − tr V/s²), or Newton's with u and V as they are.
    """

    x: float
    slope: float
    second_order: float
    bend: float | None
    jump: float
    share: float


class _Mend:
    """Traces along the way: what the cheap one lacks is found once, and again only further on.

    Most of it is loose ends that the penalty alone holds, which grow as s².
    """

    def __init__(self) -> None:
        self.at, self.lacks = 1e300, 0.0

    def __call__(self, inverse: Inverse, ridge: float) -> float:
        """Trace of the inverse."""
        if abs(math.log(ridge / self.at)) > 2.0 * MENDED_WITHIN:
            self.at, self.lacks = ridge, inverse.trace() - inverse.rough_trace
        return inverse.rough_trace + self.lacks * self.at / ridge


class _Place:
    """What F needs at one point: the inverse Hessian, extra parameters eliminated, and the rows' cumulants.

    With A the scores' block, B the border, C the corner, M = A⁻¹B and S = C − BᵀM, the full inverse is
    [[A⁻¹ + M S⁻¹ Mᵀ, −M S⁻¹], [−S⁻¹ Mᵀ, S⁻¹]].
    """

    def __init__(self, rows: Rows, loss: RowLosses, x: float, scores: Floats, extras: Floats, *, dense: bool) -> None:
        self.rows, self.loss = rows, loss
        self.ridge = math.exp(-2.0 * x)
        self.curvature: Floats = np.empty(len(rows.left))
        self.border: Floats = np.empty((rows.n, 0))
        self.corner: Floats = np.empty((0, 0))
        self.lean = np.empty(0)
        if isinstance(loss, LogisticRows):
            self.lean = np.empty(len(rows.left))
            shift = np.empty(0) if rows.design is None else rows.design @ extras
            if rows.offset is not None:
                shift = rows.offset if rows.design is None else shift + rows.offset
            odds = _exp(shift)
            logistic_shape(rows.left, rows.right, loss.total, _exp(scores), odds, self.curvature, self.lean)
        if len(extras):
            point = evaluate(rows, loss, 0.5 * self.ridge, scores, extras)
            self.curvature, self.border, self.corner = point.curvature, point.border, point.corner
        self.inverse: Inverse = (
            DenseInverse(rows, self.curvature, self.ridge)
            if dense
            else SparseInverse(rows.n, rows.left, rows.right, self.curvature, self.ridge, scores)
        )
        self.through, self.core = self.border, self.corner  # both empty without extras
        if len(extras):
            self.through = self.inverse.solve(self.border)
            schur = self.corner - self.border.T @ self.through
            # An effect that separates the votes has hardly any curvature left, and less than rounding takes.
            schur[np.diag_indices_from(schur)] += 1e-9 * np.abs(np.diag(self.corner)) + 1e-9
            self.core = np.asarray(np.linalg.inv(schur), dtype=np.float64)
        self._contract(scores, extras)

    def trace(self, mend: _Mend) -> float:
        """Trace of the scores' block of V."""
        return mend(self.inverse, self.ridge) + float(np.einsum("ij,jk,ik->", self.through, self.core, self.through))

    @property
    def log_determinant(self) -> float:
        """Of H."""
        return self.inverse.log_determinant - (float(np.linalg.slogdet(self.core)[1]) if len(self.core) else 0.0)

    def solve(self, scores: Floats, extras: Floats) -> tuple[Floats, Floats]:
        """V times a vector."""
        plain = self.inverse.solve(scores[:, None])[:, 0]
        if not len(extras):
            return plain, extras
        effect: Floats = self.core @ (extras - self.border.T @ plain)
        return plain - self.through @ effect, effect

    def _contract(self, scores: Floats, extras: Floats) -> None:
        """Contract the rows' third and fourth derivatives with the covariance of what each row sees."""
        rows, gaps = self.rows, self.inverse.gaps
        push, push_extras = np.zeros(rows.n), np.zeros(len(extras))  # a
        if len(extras):
            covariance = self._seen(gaps)
            gaps = np.ascontiguousarray(covariance[0, 0])
        if isinstance(self.loss, LogisticRows):
            fourth = contract_logistic(rows.left, rows.right, self.curvature, self.lean, gaps, push)
            third = None if rows.design is None else -(self.curvature * self.lean * gaps)[None]
        else:
            third, fourth = contract_davidson(self.loss, rows.margin(scores, extras), extras[-1], covariance)
            scatter_difference(rows.left, rows.right, np.ascontiguousarray(third[0]), push)
            push_extras[-1] = third[1].sum()
        if rows.design is not None and third is not None:
            push_extras[: rows.design.shape[1]] = third[0] @ rows.design
        self.pushed = self.solve(push, push_extras)  # Va; the derivative of log det H along V f is fᵀVa
        self.second_order = (float(push @ self.pushed[0] + push_extras @ self.pushed[1]) - fourth) / 8.0  # δ

    def _seen(self, gaps: Floats) -> Floats:
        """Covariance of each row's margin, and of Davidson's parameter if there is one: (coordinates, same, rows)."""
        seen = np.zeros((1 + self.loss.own, len(gaps), len(self.core)))
        seen[0] = self.through[self.rows.right] - self.through[self.rows.left]
        if self.rows.design is not None:
            seen[0, :, : self.rows.design.shape[1]] += self.rows.design
        if self.loss.own:
            seen[1, :, -1] = 1.0
        covariance: Floats = np.einsum("akp,pq,bkq->abk", seen, self.core, seen)
        covariance[0, 0] += gaps
        return covariance


def _exp(log_odds: Floats) -> Floats:
    """Exponentials whose products and squares are numbers; beyond, a vote says nothing more anyway."""
    return np.exp(np.clip(log_odds, -150.0, 150.0))


def contract_davidson(loss: DavidsonRows, margin: Floats, eta: float, covariance: Floats) -> tuple[Floats, float]:
    """κ₃·W (coordinates, rows) and the sum of κ₄·(W, W), for margin and tie parameter.

    The loss of a vote is the log of a sum of exponentials, so its derivatives are cumulants of what is added up: with
    y the outcome less its mean and Σ its covariance, κ₃·W = E[y (yᵀWy)] and
    κ₄·(W, W) = E[(yᵀWy)²] − (tr ΣW)² − 2 tr(ΣWΣW).
    """
    outcome = np.array([[0.5, 0.0], [-0.5, 0.0], [0.0, 1.0]])  # what left wins, right wins and ties add to the sum
    power = outcome @ np.stack([margin, np.full_like(margin, eta)])
    chance = np.exp(power - power.max(axis=0))
    chance /= chance.sum(axis=0)
    y = outcome[:, :, None] - np.einsum("ok,oa->ak", chance, outcome)
    sigma = np.einsum("ok,oak,obk->abk", chance, y, y)
    size = np.einsum("oak,abk,obk->ok", y, covariance, y)
    both = np.einsum("abk,bck->ack", sigma, covariance)
    total = loss.wins + loss.losses + loss.ties
    fourth = np.einsum("ok,ok->k", chance, size**2) - np.einsum("aak->k", both) ** 2
    fourth -= 2.0 * np.einsum("abk,bak->k", both, both)
    return total * np.einsum("ok,oak,ok->ak", chance, y, size), float(total @ fourth)


class DenseInverse:
    """The inverse as a matrix."""

    def __init__(self, rows: Rows, curvature: Floats, ridge: float) -> None:
        n = rows.n
        across = np.bincount(rows.left.astype(np.int64) * n + rows.right, curvature, n * n).reshape(n, n)
        across = across + across.T
        self.matrix: Floats = np.linalg.inv(np.diag(across.sum(axis=1) + ridge) - across)
        variance = self.matrix.diagonal()
        self.rough_trace = float(variance.sum())
        self.gaps: Floats = variance[rows.left] + variance[rows.right] - 2.0 * self.matrix[rows.left, rows.right]

    @property
    def log_determinant(self) -> float:
        """Of A itself."""
        return -float(np.linalg.slogdet(self.matrix)[1])

    def trace(self) -> float:
        """Trace of the inverse."""
        return self.rough_trace

    def solve(self, columns: Floats) -> Floats:
        """The inverse times some columns."""
        product: Floats = self.matrix @ columns
        return product
