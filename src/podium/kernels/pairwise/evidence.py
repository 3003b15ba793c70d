"""Loops behind a penalty from the data: the shape of a logistic loss, and variances by belief propagation."""

import cython
from cython.cimports.podium.kernels.pairwise.memory import prefetch

AHEAD = cython.declare(cython.Py_ssize_t, 24)  # rows between asking memory for an item's number and using it
FAR = cython.declare(cython.Py_ssize_t, 100_000)  # items from which their numbers are far away in memory

real = cython.fused_type(cython.float, cython.double)


def pair_rows(
    start: cython.const[cython.longlong][::1],
    partner: cython.const[cython.int][::1],
    wins: cython.const[real][::1],
    meetings: cython.const[real][::1],
    left: cython.int[::1],
    right: cython.int[::1],
    points: cython.double[::1],
    total: cython.double[::1],
) -> None:
    """Lay out the pairs of an adjacency once, the smaller item on the left."""
    i: cython.Py_ssize_t
    k: cython.longlong
    row: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(start.shape[0] - 1):
            for k in range(start[i], start[i + 1]):
                if partner[k] > i:
                    left[row] = cython.cast(cython.int, i)
                    right[row] = partner[k]
                    points[row] = wins[k]
                    total[row] = meetings[k]
                    row += 1


def logistic_shape(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    total: cython.const[cython.double][::1],
    strength: cython.const[cython.double][::1],
    odds: cython.const[cython.double][::1],
    curvature: cython.double[::1],
    lean: cython.double[::1],
) -> None:
    """Fill p(1 − p)·total and 2p − 1 of every row, p the chance of left: strength over strength, times the row's odds.

    `odds` may be empty.
    """
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t = left.shape[0]
    far: cython.bint = strength.shape[0] > FAR
    with cython.nogil:
        for k in range(m):
            if far and k + AHEAD < m:
                prefetch(cython.address(strength[right[k + AHEAD]]))
            mine: cython.double = strength[left[k]] * (odds[k] if odds.shape[0] > 0 else 1.0)
            other: cython.double = strength[right[k]]
            share: cython.double = 1.0 / (mine + other)
            curvature[k] = total[k] * (mine * share) * (other * share)
            lean[k] = (mine - other) * share


def contract_logistic(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    curvature: cython.const[cython.double][::1],
    lean: cython.const[cython.double][::1],
    gaps: cython.const[cython.double][::1],
    push: cython.double[::1],
) -> cython.double:
    """Add c(1 − 2p)·gap to `push` at left and take it at right; return Σ c(1 − 6pq)·gap²."""
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t = left.shape[0]
    far: cython.bint = push.shape[0] > FAR
    fourth: cython.double = 0.0
    with cython.nogil:
        for k in range(m):
            if far and k + AHEAD < m:
                prefetch(cython.address(push[right[k + AHEAD]]))
            third: cython.double = -curvature[k] * lean[k] * gaps[k]
            fourth += curvature[k] * (1.5 * lean[k] * lean[k] - 0.5) * gaps[k] * gaps[k]  # 4pq = 1 − lean²
            push[left[k]] += third
            push[right[k]] -= third
    return fourth


def first_precisions(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    curvature: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
    taken: cython.double[::1],
) -> None:
    """Add to `taken` what each pair takes from the precision of its items, w² / the partner's precision without it.

    This is for the first sweep, when each item's precision is still the diagonal, 1/`inverse`.
    """
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t = left.shape[0]
    far: cython.bint = taken.shape[0] > FAR
    with cython.nogil:
        for k in range(m):
            if far and k + AHEAD < m:
                prefetch(cython.address(inverse[right[k + AHEAD]]))
                prefetch(cython.address(taken[right[k + AHEAD]]))
            square: cython.double = curvature[k] * curvature[k]
            taken[left[k]] += square * inverse[right[k]]
            taken[right[k]] += square * inverse[left[k]]


def second_precisions(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    curvature: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
    precision: cython.const[cython.double][::1],
    own_left: cython.double[::1],
    own_right: cython.double[::1],
    taken: cython.double[::1],
) -> None:
    """Set each item's precision without the pair after the first sweep; add to `taken` what the pair takes next."""
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t = left.shape[0]
    far: cython.bint = taken.shape[0] > FAR
    with cython.nogil:
        for k in range(m):
            if far and k + AHEAD < m:
                prefetch(cython.address(inverse[right[k + AHEAD]]))
                prefetch(cython.address(precision[right[k + AHEAD]]))
                prefetch(cython.address(taken[right[k + AHEAD]]))
            square: cython.double = curvature[k] * curvature[k]
            from_left: cython.double = precision[left[k]] + square * inverse[right[k]]
            from_right: cython.double = precision[right[k]] + square * inverse[left[k]]
            own_left[k] = from_left
            own_right[k] = from_right
            taken[left[k]] += square / from_right
            taken[right[k]] += square / from_left


def next_precisions(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    curvature: cython.const[cython.double][::1],
    precision: cython.const[cython.double][::1],
    own_left: cython.double[::1],
    own_right: cython.double[::1],
    taken: cython.double[::1],
) -> None:
    """The same after a later sweep: each item's precision is that with the pair, less what the pair took."""
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t = left.shape[0]
    far: cython.bint = taken.shape[0] > FAR
    with cython.nogil:
        for k in range(m):
            if far and k + AHEAD < m:
                prefetch(cython.address(precision[right[k + AHEAD]]))
                prefetch(cython.address(taken[right[k + AHEAD]]))
            square: cython.double = curvature[k] * curvature[k]
            from_left: cython.double = precision[left[k]] + square / own_right[k]
            from_right: cython.double = precision[right[k]] + square / own_left[k]
            own_left[k] = from_left
            own_right[k] = from_right
            taken[left[k]] += square / from_right
            taken[right[k]] += square / from_left


def first_gaps(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    curvature: cython.const[cython.double][::1],
    inverse: cython.const[cython.double][::1],
    precision: cython.const[cython.double][::1],
    gaps: cython.double[::1],
) -> None:
    """Variance of left less right in every row after the first sweep."""
    k: cython.Py_ssize_t
    m: cython.Py_ssize_t = left.shape[0]
    far: cython.bint = inverse.shape[0] > FAR
    with cython.nogil:
        for k in range(m):
            if far and k + AHEAD < m:
                prefetch(cython.address(inverse[right[k + AHEAD]]))
                prefetch(cython.address(precision[right[k + AHEAD]]))
            square: cython.double = curvature[k] * curvature[k]
            own_left: cython.double = precision[left[k]] + square * inverse[right[k]]
            own_right: cython.double = precision[right[k]] + square * inverse[left[k]]
            gaps[k] = (own_left + own_right - 2.0 * curvature[k]) / (own_left * own_right - square)


def later_gaps(
    curvature: cython.const[cython.double][::1],
    own_left: cython.double[::1],
    own_right: cython.const[cython.double][::1],
) -> None:
    """Put the variance of left less right in every row in the place of left's precision without it."""
    k: cython.Py_ssize_t
    with cython.nogil:
        for k in range(curvature.shape[0]):
            both: cython.double = own_left[k] * own_right[k] - curvature[k] * curvature[k]
            own_left[k] = (own_left[k] + own_right[k] - 2.0 * curvature[k]) / both


def laplacian_columns(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    weight: cython.const[cython.double][::1],
    columns: cython.const[cython.double][:, ::1],
    out: cython.double[:, ::1],
) -> None:
    """Add to `out` the graph Laplacian of the weighted pairs times every column."""
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    m: cython.Py_ssize_t = left.shape[0]
    far: cython.bint = columns.shape[0] > FAR
    with cython.nogil:
        for k in range(m):
            if far and k + AHEAD < m:
                prefetch(cython.address(columns[right[k + AHEAD], 0]))
                prefetch(cython.address(out[right[k + AHEAD], 0]))
            for j in range(columns.shape[1]):
                flow: cython.double = weight[k] * (columns[left[k], j] - columns[right[k], j])
                out[left[k], j] += flow
                out[right[k], j] -= flow
