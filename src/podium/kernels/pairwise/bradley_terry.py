"""Loops of the Bradley-Terry solvers."""

import cython
from cython.cimports.libc.math import exp, fabs, log1p
from cython.cimports.podium.kernels.pairwise.memory import prefetch

real = cython.fused_type(cython.float, cython.double)
power = cython.fused_type(cython.float, cython.double)

AHEAD = cython.declare(cython.Py_ssize_t, 24)  # meetings between asking memory for a strength and using it
FAR = cython.declare(cython.Py_ssize_t, 100_000)  # items from which strengths are far away in memory
MOST = cython.declare(cython.double, 3.0)  # longest single step: exp stays tame and Newton does not overshoot far


def coordinate_sweep(
    start: cython.const[cython.longlong][::1],
    partner: cython.const[cython.int][::1],
    total: cython.const[real][::1],
    points: cython.const[cython.double][::1],
    ridge: cython.double,
    items: cython.const[cython.int][::1],
    scores: cython.double[::1],
    strength: power[::1],
    steps: cython.double[::1],
) -> tuple[cython.double, cython.double]:
    """One Newton step for the score of each of `items` in turn; `strength` is exp(score) and is kept so.

    The walk through `strength` is random: with a million items, half the memory is half the time.

    Fills in how far each item went. Returns the decrement Σ step² · curvature, and the largest step.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    place: cython.Py_ssize_t
    decrement: cython.double = 0.0
    longest: cython.double = 0.0
    with cython.nogil:
        for place in range(items.shape[0]):
            i = items[place]
            mine: cython.double = exp(scores[i])
            end: cython.Py_ssize_t = start[i + 1]
            expected: cython.double = 0.0
            variance: cython.double = 0.0
            more_expected: cython.double = 0.0
            more_variance: cython.double = 0.0
            k = start[i]
            ahead: cython.Py_ssize_t = k + AHEAD
            if scores.shape[0] > FAR and end + AHEAD <= partner.shape[0]:
                while ahead < end + AHEAD:  # the strengths of items soon to come
                    prefetch(cython.address(strength[partner[ahead]]))
                    ahead += 1
            while k + 1 < end:  # two at a time: the divisions overlap, and the sums do not wait for each other
                chance: cython.double = mine / (mine + strength[partner[k]])
                other: cython.double = mine / (mine + strength[partner[k + 1]])
                term: cython.double = total[k] * chance
                another: cython.double = total[k + 1] * other
                expected += term
                more_expected += another
                variance += term - term * chance
                more_variance += another - another * other
                k += 2
            if k < end:
                chance = mine / (mine + strength[partner[k]])
                term = total[k] * chance
                expected += term
                variance += term - term * chance
            slope: cython.double = points[i] - (expected + more_expected) - ridge * scores[i]
            curvature: cython.double = variance + more_variance + ridge
            if curvature <= 0.0:
                steps[i] = 0.0
                continue
            step: cython.double = slope / curvature
            step = MOST if step > MOST else (-MOST if step < -MOST else step)
            decrement += step * step * curvature
            longest = fabs(step) if fabs(step) > longest else longest
            steps[i] = fabs(step)
            scores[i] += step
            strength[i] = exp(scores[i])
    return decrement, longest


def item_slopes(
    start: cython.const[cython.longlong][::1],
    partner: cython.const[cython.int][::1],
    total: cython.const[real][::1],
    points: cython.const[cython.double][::1],
    ridge: cython.double,
    scores: cython.const[cython.double][::1],
    strength: cython.const[cython.double][::1],
    slopes: cython.double[::1],
    curvatures: cython.double[::1],
) -> None:
    """Derivatives of the penalised loss for each score: slopes[i], and the diagonal of the second derivative."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    with cython.nogil:
        for i in range(scores.shape[0]):
            mine: cython.double = strength[i]
            expected: cython.double = 0.0
            curvature: cython.double = ridge
            for k in range(start[i], start[i + 1]):
                chance: cython.double = mine / (mine + strength[partner[k]])
                term: cython.double = total[k] * chance
                expected += term
                curvature += term - term * chance
            slopes[i] = expected - points[i] + ridge * scores[i]
            curvatures[i] = curvature


def logistic_rows(
    margin: cython.const[cython.double][::1],
    points: cython.const[cython.double][::1],
    total: cython.const[cython.double][::1],
    slope: cython.double[::1],
    curvature: cython.double[::1],
) -> cython.double:
    """Log loss of rows where left took `points` of `total` at score difference `margin`; fills the derivatives."""
    k: cython.Py_ssize_t
    loss: cython.double = 0.0
    with cython.nogil:
        for k in range(margin.shape[0]):
            tail: cython.double = exp(-fabs(margin[k]))  # at most 1, so nothing overflows
            small: cython.double = tail / (1.0 + tail)
            # log(1 + exp(margin)) - share * margin
            loss += total[k] * (log1p(tail) + (margin[k] if margin[k] > 0 else 0.0)) - points[k] * margin[k]
            # Exact for a row that one side won throughout, whose slope is tiny beside its weight.
            slope[k] = (total[k] - points[k]) - total[k] * small if margin[k] > 0 else total[k] * small - points[k]
            curvature[k] = total[k] * small * (1.0 - small)
    return loss


def laplacian_product(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    weight: cython.const[cython.double][::1],
    vector: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> None:
    """Add to `out` the graph Laplacian of the weighted pairs times `vector`."""
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t = left.shape[0]
    far: cython.bint = vector.shape[0] > FAR
    with cython.nogil:
        for k in range(m):
            if far and k + AHEAD < m:
                prefetch(cython.address(vector[right[k + AHEAD]]))
                prefetch(cython.address(out[right[k + AHEAD]]))
            flow: cython.double = weight[k] * (vector[left[k]] - vector[right[k]])
            out[left[k]] += flow
            out[right[k]] -= flow


def scatter_difference(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    value: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> None:
    """Add each row's value to its left item and take it from its right."""
    k: cython.Py_ssize_t
    with cython.nogil:
        for k in range(left.shape[0]):
            out[left[k]] += value[k]
            out[right[k]] -= value[k]


def scatter_sum(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    value: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> None:
    """Add each row's value to both its items."""
    k: cython.Py_ssize_t
    with cython.nogil:
        for k in range(left.shape[0]):
            out[left[k]] += value[k]
            out[right[k]] += value[k]


def solve_lower(lower: cython.const[cython.double][:, ::1], values: cython.double[::1]) -> None:
    """Solve L Lᵀ x = values in place, L being a lower triangle."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n: cython.Py_ssize_t = values.shape[0]
    with cython.nogil:
        for i in range(n):
            total: cython.double = values[i]
            for j in range(i):
                total -= lower[i, j] * values[j]
            values[i] = total / lower[i, i]
        for i in range(n - 1, -1, -1):
            values[i] /= lower[i, i]
            for j in range(i):
                values[j] -= lower[i, j] * values[i]
