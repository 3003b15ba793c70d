"""The likelihood of rankings as rows of choices: its optimum by MM and Newton, and a penalty from the data.

A ranking is taken apart into choices, each among what is left. Items that share a place are chosen by Efron's averaging
(a tie of t items is t choices, in each of which part of the tied ones is gone already), or as a set with a strength of
its own (Davidson-Luce: one more parameter log δ_t for each size t of tie). Both losses are convex.

The Hessian of the scores is a Laplacian: it is held as the weights between pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.rankings import Rankings
from podium.errors import InputError, Option
from podium.kernels.pairwise.davidson_luce import davidson_luce
from podium.kernels.pairwise.plackett_luce import choices, curvatures, second_order

__all__ = ["ListFit", "ListLoss", "ListPlace", "choose_sd", "maximise", "positive_solver"]

Floats = NDArray[np.float64]
Solve: TypeAlias = Callable[[Floats], Floats]

MM_PASSES = 4
SMOOTHING = 0.5  # choices won, and lost to an average item, added to each item for the start
MAX_STEP = 4.0  # of a score, in log-odds
HALVINGS = 30
ROUNDING = 1e-12  # of the objective, within which it is the same
MAX_EXACT_ITEMS = 400  # up to here the spread is searched to the last digit, with terms of second order
MAX_SECOND_ORDER_WORK = 2e8  # choices times items, beyond which terms of second order say nothing
SMALLEST, LARGEST = math.log(1e-3), math.log(30.0)  # ends of the range of log s
FIT_TOL, ROUGH_FIT_TOL = 1e-7, 1e-3
X_TOL = 1e-5
MANY_LISTED = 300_000  # items listed, from which passes over the rankings are spared
MANY_EACH = 100  # times an item is listed, on average, from which the optimum hardly moves with the penalty
FIRST_RANKINGS = 50_000  # from which the others' optimum is started
ALONE_STEPS = 40  # of one score, each of up to 1
CHORD_RATE = 0.3  # by which steps with an old Hessian must shrink, or it is made anew
MAX_ORDER = 12  # of a tie that is an outcome of its own


@dataclass(frozen=True, slots=True)
class ListPlace:
    """The Hessian of the loss at one point: the weight of every pair, and what the strengths of ties add to it."""

    pairs: Floats
    border: Floats
    corner: Floats

    def hessian(self) -> Floats:
        """The Hessian of the scores and the strengths of ties."""
        n, p = self.border.shape
        matrix = np.empty((n + p, n + p))
        matrix[:n, :n] = -self.pairs
        matrix[np.arange(n), np.arange(n)] = self.pairs.sum(axis=1)
        if p:
            matrix[:n, n:], matrix[n:, :n], matrix[n:, n:] = self.border, self.border.T, self.corner
        return matrix


@dataclass(frozen=True, slots=True)
class ListFit:
    """Where the search ended: the optimum if `converged`."""

    scores: Floats
    extras: Floats
    n_iter: int
    left: float
    converged: bool
    solve: Solve | None = None  # with the Hessian last used, where that may be used again


class ListLoss:
    """Σ weight · −log chance of rankings, as a function of scores and log δ of each size of tie."""

    def __init__(self, rankings: Rankings, *, davidson: bool = False, weight: Floats | None = None) -> None:
        self.rankings, self.n = rankings, len(rankings.items)
        item, start, tied, given, rest, rest_start = rankings.columns()
        self.weight = given if weight is None else weight
        self._equal = rankings.weight is None and weight is None
        self._last: tuple[Floats, Floats, float, Floats] | None = None
        self._columns = (item, start, tied, self.weight, rest, rest_start)
        self.everyone = rankings.everyone
        self._marks = np.zeros(self.n, dtype=np.uint8)
        self._room = np.empty((2, int(rankings.sizes.max(initial=0)) + 1))
        self.orders = np.array([1, *_tie_sizes(rankings)] if davidson else [1], dtype=np.int64)
        self.davidson = len(self.orders) > 1
        if self.orders.max() > MAX_ORDER:
            raise InputError(
                f"{self.orders.max()} items share a place, more than {MAX_ORDER}: ",
                Option("ties", "davidson"),
                " gives every size of tie a strength of its own; use ",
                Option("ties", "efron"),
            )

    @property
    def extras(self) -> int:
        """Number of strengths of ties."""
        return len(self.orders) - 1

    @cached_property
    def chosen(self) -> Floats:
        """How often each item was chosen; the last of a complete ranking had no choice."""
        r = self.rankings
        item, start, tied, weight, _, _ = self._columns
        own = None if self._equal else np.repeat(weight, r.sizes)
        won = np.bincount(item, own, self.n).astype(np.float64)
        last = start[1:] - 1
        free = (r.rest_sizes > 0) | (r.sizes == 0)
        if len(tied):
            free = free | ((tied[last] > 0) & (r.sizes > 1))
        return np.asarray(won - np.bincount(item[last[~free]], weight[~free], self.n), dtype=np.float64)

    @cached_property
    def _won(self) -> Floats:
        """What the chosen add to the loss, for scores and ties: a set of size t shares one choice among its items."""
        if not self.davidson:
            return self.chosen
        r = self.rankings
        item, start, tied, weight, _, _ = self._columns
        begins = np.flatnonzero(tied == 0)
        size = np.diff([*begins, len(item)])
        row = np.searchsorted(start, begins, side="right") - 1
        last = begins + size == start[row + 1]
        free = ~last | (r.rest_sizes[row] > 0) | (size > 1)
        each = np.where(free, weight[row] / size, 0.0)
        won = np.zeros(self.n + self.extras)
        won[: self.n] = np.bincount(item, np.repeat(each, size), self.n)
        for k, order in enumerate(self.orders[1:].tolist()):
            won[self.n + k] = weight[row[(size == order) & free]].sum()
        return won

    @property
    def is_large(self) -> bool:
        """Whether there are so many rankings that passes over them are worth sparing."""
        listed = len(self.rankings.item)
        return listed > MANY_LISTED and listed > MANY_EACH * self.n and not self.davidson

    def thinned(self) -> ListLoss:
        """Some of the rankings, standing for all."""
        step = -(-len(self.rankings) // FIRST_RANKINGS)
        some = np.arange(0, len(self.rankings), step)
        return ListLoss(self.rankings.take(some), weight=step * self.weight[some])

    def start(self) -> tuple[Floats, Floats]:
        """A few passes of Hunter's MM (2004), with a little added so that all scores are finite."""
        strength, scale = np.ones(self.n), SMOOTHING * float(self.weight.mean())
        for _ in range(MM_PASSES):
            _, hazard = self._hazard(strength)
            strength = (self.chosen + scale) / (hazard + scale)
            strength /= np.exp(np.mean(np.log(strength)))
        return np.log(strength), np.full(self.extras, -1.0)

    def each_alone(self, scores: Floats, ridge: float) -> Floats:
        """Every item's best score with the others held, as in a step of MM: e^s · hazard + ridge · s = times chosen."""
        expected = self.value(scores, np.empty(0))[1] + self.chosen
        there = scores.copy()
        for _ in range(ALONE_STEPS):
            now = expected * np.exp(there - scores)
            there -= np.clip((now + ridge * there - self.chosen) / (now + ridge), -1.0, 1.0)
        centred: Floats = there - there.mean()
        return centred

    def _hazard(self, strength: Floats) -> tuple[float, Floats]:
        hazard, base, none = np.zeros(self.n), np.empty(len(self.rankings)), np.empty(0)
        total = float(strength.sum())
        loss = choices(strength, *self._columns, self.everyone, total, self._marks, self._room, hazard, none, base)
        return loss, hazard + base.sum() if self.everyone else hazard

    def value(self, scores: Floats, extras: Floats) -> tuple[float, Floats]:
        """Loss and gradient; where a search ended, the next begins, so the last ones are kept."""
        last = self._last
        if last is None or not (np.array_equal(last[0], scores) and np.array_equal(last[1], extras)):
            self._last = last = (scores.copy(), extras.copy(), *self._value(scores, extras))
        return last[2], last[3].copy()

    def _value(self, scores: Floats, extras: Floats) -> tuple[float, Floats]:
        top = float(scores.max())
        if self.davidson:
            gradient = np.zeros(self.n + self.extras)
            loss = self._davidson(scores - top, extras, gradient, np.empty((0, 0)))
            won = self._won
            return loss - float(won @ np.concatenate([scores - top, extras])), gradient - won
        strength = np.exp(scores - top)
        loss, hazard = self._hazard(strength)
        return loss - float(self.chosen @ (scores - top)), strength * hazard - self.chosen

    def _davidson(
        self, scores: Floats, extras: Floats, gradient: Floats, hessian: Floats, single: Floats | None = None
    ) -> float:
        roots = np.exp(scores / self.orders[:, None])
        largest = int(self.orders.max()) + 1
        loss: float = davidson_luce(
            *self._columns,
            self.everyone,
            self.orders,
            np.concatenate([[1.0], np.exp(extras)]),
            roots,
            self._marks,
            np.empty(self.n, dtype=np.int32),
            np.empty((len(self.orders), largest)),
            np.empty(largest),
            np.empty(self.n + self.extras),
            gradient,
            hessian,
            np.empty((0, 0)) if single is None else single,
        )
        return loss

    def place(self, scores: Floats, extras: Floats) -> ListPlace:
        """The parts of the Hessian."""
        n, p = self.n, self.extras
        if self.davidson:
            matrix = np.zeros((n + p, n + p))
            self._davidson(scores - scores.max(), extras, np.zeros(n + p), matrix)
            pairs = -(matrix[:n, :n] + matrix[:n, :n].T) / 2
            np.fill_diagonal(pairs, 0.0)
            return ListPlace(pairs, matrix[:n, n:].copy(), matrix[n:, n:].copy())
        strength = np.exp(scores - scores.max())
        pairs, lacks = np.zeros((n, n)), np.zeros(n)
        total = float(strength.sum())
        whole = curvatures(strength, *self._columns, self.everyone, total, self._marks, self._room, pairs, lacks)
        pairs += pairs.T.copy()
        if self.everyone:
            pairs += whole
            pairs -= lacks[:, None]
            pairs -= lacks
        pairs *= strength[:, None]
        pairs *= strength
        np.fill_diagonal(pairs, 0.0)
        np.maximum(pairs, 0.0, out=pairs)
        return ListPlace(pairs, np.empty((n, 0)), np.empty((0, 0)))

    def single_gradients(self, scores: Floats, extras: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Gradient of each ranking at the items it lists, the base that the others share, and their strengths.

        For ties as outcomes of their own, a table of all of them instead; the others are empty then.
        """
        if self.davidson:
            single = np.zeros((len(self.rankings), self.n + self.extras))
            self._davidson(scores - scores.max(), extras, np.zeros(self.n + self.extras), np.empty((0, 0)), single)
            return np.empty(0), np.empty(0), np.empty(0), single - self._won_by_row()
        strength = np.exp(scores - scores.max())
        values, base = np.empty(len(self._columns[0])), np.empty(len(self.rankings))
        total = float(strength.sum())
        choices(strength, *self._columns, self.everyone, total, self._marks, self._room, np.zeros(self.n), values, base)
        return values, base, strength, np.empty((0, 0))

    def _won_by_row(self) -> Floats:
        item, start, tied, weight, _, _ = self._columns
        begins = np.flatnonzero(tied == 0)
        size = np.diff([*begins, len(item)])
        row = np.searchsorted(start, begins, side="right") - 1
        free = (begins + size != start[row + 1]) | (self.rankings.rest_sizes[row] > 0) | (size > 1)
        won = np.zeros((len(self.rankings), self.n + self.extras))
        each = np.where(free, weight[row] / size, 0.0)
        np.add.at(won, (np.repeat(row, size), item), np.repeat(each, size))
        for k, order in enumerate(self.orders[1:].tolist()):
            np.add.at(won[:, self.n + k], row[(size == order) & free], weight[row[(size == order) & free]])
        return won

    def second_order(self, scores: Floats, covariance: Floats) -> float:
        """δ = −⅛ κ₄·(V, V) + ⅛ aᵀVa with a = κ₃·V, as for pairs (see `prior`); 0 where the data are many."""
        r, n = self.rankings, self.n
        work = float(np.sum(r.sizes * (r.sizes + r.rest_sizes)))
        if self.davidson or work > MAX_SECOND_ORDER_WORK:
            return 0.0
        strength, third = np.exp(scores - scores.max()), np.zeros(n)
        product, square = np.empty(0), 0.0
        if self.everyone:
            product, square = covariance @ strength, float(strength @ covariance**2 @ strength)
        item, start, tied, weight, rest, rest_start = self._columns
        fourth: float = second_order(
            strength, np.ascontiguousarray(covariance), item, start, tied, weight, rest, rest_start, self.everyone,
            product, square, self._marks, np.empty(n, dtype=np.int32), np.empty(n), np.empty(n), third,
        )  # fmt: skip
        return (float(third @ covariance @ third) - fourth) / 8.0


def _tie_sizes(rankings: Rankings) -> list[int]:
    """Sizes of ties that occur."""
    if rankings.tied is None:
        return []
    begins = np.flatnonzero(rankings.tied == 0)
    sizes = np.unique(np.diff([*begins, len(rankings.item)]))
    return [int(size) for size in sizes if size > 1]


def maximise(
    loss: ListLoss,
    precision: float | Floats,
    *,
    tol: float,
    max_iter: int,
    scores: Floats | None = None,
    extras: Floats | None = None,
    solve: Solve | None = None,
) -> ListFit:
    """Minimise loss + ½ sᵀ(precision)s by Newton's method; a number is that times the identity.

    Without a precision the scores' mean is held at 0, which changes nothing else.
    """
    n = loss.n
    if scores is None:
        scores, extras, solve = _begin(loss, precision, tol, max_iter)
    assert extras is not None, "they come together"
    here = np.concatenate([scores, extras])
    pull = _pull(precision, n)

    def objective(point: Floats) -> tuple[float, Floats]:
        value, gradient = loss.value(point[:n], point[n:])
        drawn = pull(point[:n])
        gradient[:n] += drawn
        return value + 0.5 * float(point[:n] @ drawn), gradient

    value, gradient = objective(here)
    left = math.inf
    for step in range(1, max_iter + 1):
        fresh = solve is None
        if solve is None:
            solve = positive_solver(penalised(loss.place(here[:n], here[n:]).hessian(), precision, n))
        move, before = -solve(gradient), left
        left = float(np.abs(move).max(initial=0.0))
        move *= min(1.0, MAX_STEP / max(left, 1e-300))
        for _ in range(HALVINGS):
            there = here + move
            new, slope = objective(there)
            if new <= value + ROUNDING * abs(value):
                break
            move /= 2.0
        else:  # no descent in floating point: as good as it gets
            return ListFit(here[:n], here[n:], step, left, left <= math.sqrt(tol))
        here, value, gradient = there, new, slope
        # Newton squares the error; steps with an old Hessian shrink it by a rate, which two of them show.
        rate = left if fresh else left / before if math.isfinite(before) else CHORD_RATE
        if left * min(rate, 1.0) <= (0.01 if fresh else 0.1) * tol or (fresh and left <= tol):
            return ListFit(here[:n], here[n:], step, left, True, solve if loss.is_large else None)
        if not loss.is_large or rate > CHORD_RATE:
            solve = None
    return ListFit(here[:n], here[n:], max_iter, left, False)


def _begin(loss: ListLoss, precision: float | Floats, tol: float, max_iter: int) -> tuple[Floats, Floats, Solve | None]:
    """Where to start: after a few passes of MM; with very many rankings, at the optimum of some of them.

    Steps with their Hessian shrink the error fast enough to spare that of all.
    """
    if not loss.is_large or len(loss.rankings) < 2 * FIRST_RANKINGS:
        return *loss.start(), None
    some = loss.thinned()
    if isinstance(precision, np.ndarray):
        first = maximise(some, precision, tol=math.sqrt(tol), max_iter=max_iter)
        return first.scores, first.extras, None
    held = max(precision, 1e-3)
    first = maximise(some, held, tol=math.sqrt(tol), max_iter=max_iter)
    scores = loss.each_alone(first.scores, held)
    return scores, first.extras, _solver_of_some(some, scores, first.extras, held)


def _solver_of_some(some: ListLoss, scores: Floats, extras: Floats, ridge: float) -> Solve:
    """What solves with the Hessian of some rankings at the scores of all: near that of all, at a part of its cost."""
    return positive_solver(penalised(some.place(scores, extras).hessian(), ridge, some.n))


def _pull(precision: float | Floats, n: int) -> Solve:
    if isinstance(precision, np.ndarray):
        return lambda scores: precision @ scores
    return lambda scores: precision * scores


def penalised(hessian: Floats, precision: float | Floats, n: int) -> Floats:
    """The Hessian with that of the penalty; without one, the common shift is made stiff."""
    if isinstance(precision, np.ndarray):
        hessian[:n, :n] += precision
        return hessian
    places = np.arange(n)
    hessian[places, places] += precision
    if precision == 0.0:
        hessian[:n, :n] += float(hessian[places, places].mean()) / n
    return hessian


def positive_solver(matrix: Floats) -> Solve:
    """What solves with a matrix that is positive definite, but for rounding."""
    try:
        if len(matrix) <= 300:
            np.linalg.cholesky(matrix)
            return lambda vector: np.asarray(np.linalg.solve(matrix, vector), dtype=np.float64)
        from scipy.linalg import cho_factor, cho_solve

        factor = cho_factor(matrix, check_finite=False)
        return lambda vector: cho_solve(factor, vector)
    except np.linalg.LinAlgError:
        matrix[np.diag_indices(len(matrix))] += 1e-8 * float(np.abs(matrix.diagonal()).max())
        return lambda vector: np.asarray(np.linalg.lstsq(matrix, vector, rcond=None)[0], dtype=np.float64)


def choose_sd(loss: ListLoss, *, max_iter: int) -> tuple[float, ListFit]:
    """The standard deviation s of the true scores that the rankings speak for, and the fit there; see `prior`.

    Maximises F(log s) = −J − ½ log det H − n·log s − (log s)²/2 + δ: Laplace's approximation of the marginal
    likelihood, a weak prior of s, and terms of second order. `loss` counts rankings: weights that are not counts must
    have been scaled by Σw/Σw².
    """
    if loss.is_large:
        return _settled_sd(loss, max_iter)
    from scipy.optimize import minimize_scalar

    exact = loss.n <= MAX_EXACT_ITEMS
    near = maximise(loss, 1.0, tol=1e-3, max_iter=max_iter)
    fits: list[ListFit] = [near]

    def minus_evidence(x: float) -> float:
        inside = min(max(x, SMALLEST), LARGEST)
        ridge = math.exp(-2.0 * inside)
        last = fits[-1]
        tol = FIT_TOL if exact else ROUGH_FIT_TOL
        found = maximise(loss, ridge, tol=tol, max_iter=max_iter, scores=last.scores, extras=last.extras)
        fits.append(found)
        return -_evidence(loss, found, ridge, inside) + (x - inside) ** 2

    begin = math.log(max(float(np.std(near.scores)), 0.05))
    close = X_TOL if exact else 0.05 / math.sqrt(2.0 * loss.n)
    step = 0.3 if exact else 2.0 / math.sqrt(2.0 * loss.n)
    found = minimize_scalar(minus_evidence, bracket=(begin, begin + step), method="brent", options={"xtol": close})
    return math.exp(min(max(float(found.x), SMALLEST), LARGEST)), fits[-1]


def _settled_sd(loss: ListLoss, max_iter: int) -> tuple[float, ListFit]:
    """The same where the data are so many that the optimum hardly moves with s: F′ = 0 at (n + log s)·s² = ‖u‖² + tr V.

    Each item was listed a hundred times and more: V is its own variance, and s² for what is added to all scores.
    """
    n, x = loss.n, 0.0
    scores: Floats | None = None
    extras: Floats | None = None
    solve: Solve | None = None
    if len(loss.rankings) >= 2 * FIRST_RANKINGS:
        thin = loss.thinned()
        sd, some = _settled_sd(thin, max_iter)
        x, scores, extras = math.log(sd), loss.each_alone(some.scores, sd**-2), some.extras
        solve = _solver_of_some(thin, scores, extras, sd**-2)
    for _ in range(max_iter):
        ridge = math.exp(-2.0 * x)
        found = maximise(loss, ridge, tol=ROUGH_FIT_TOL, max_iter=max_iter, scores=scores, extras=extras, solve=solve)
        scores, extras, solve = found.scores, found.extras, found.solve
        own = np.maximum(loss.chosen, 1.0)  # about the curvature of a score, where many are chosen from
        before = x
        for _ in range(20):
            trace = math.exp(2.0 * x) + float(np.sum(1.0 / (own + math.exp(-2.0 * x))))
            x = 0.5 * math.log((float(scores @ scores) + trace) / max(n + x, 1.0))
            x = min(max(x, SMALLEST), LARGEST)
        if abs(x - before) <= 0.1 / math.sqrt(2.0 * n):
            break
    return math.exp(x), found


def _evidence(loss: ListLoss, found: ListFit, ridge: float, x: float) -> float:
    """F at one s."""
    n = loss.n
    place = loss.place(found.scores, found.extras)
    matrix = penalised(place.hessian(), ridge, n)
    size = loss.value(found.scores, found.extras)[0] + 0.5 * ridge * float(found.scores @ found.scores)
    more = 0.0
    if n <= MAX_EXACT_ITEMS:
        inverse: Floats = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
        determinant = -float(np.linalg.slogdet(inverse)[1])
        more = loss.second_order(found.scores, inverse[:n, :n])
    else:
        determinant = 2.0 * float(np.log(np.linalg.cholesky(matrix).diagonal()).sum())
    return -size - 0.5 * determinant - n * x - 0.5 * x * x + more
