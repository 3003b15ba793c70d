"""Refitting many resampled data sets at once: the gradients of all replicates in one pass each."""

import cython
from cython.cimports.libc.math import exp


def look_up(
    draws: cython.double[:, ::1],
    place: cython.const[cython.longlong][::1],
    start: cython.const[cython.longlong][::1],
    below: cython.const[cython.double][::1],
    guide: cython.const[cython.int][:, ::1],
) -> None:
    """Turn uniform draws in [0, 1) into whole numbers, in place: column k by the distribution place[k].

    `below[start[d] + j]` is the chance of j or less under distribution d, the last of them more than 1; guide[d, g] is
    a number that no draw of at least g / width lies below.
    """
    b: cython.Py_ssize_t
    k: cython.Py_ssize_t
    width: cython.double = guide.shape[1]
    with cython.nogil:
        for b in range(draws.shape[0]):
            for k in range(place.shape[0]):
                chance: cython.double = draws[b, k]
                of: cython.Py_ssize_t = place[k]
                value: cython.Py_ssize_t = guide[of, cython.cast(cython.Py_ssize_t, chance * width)]
                while below[start[of] + value] <= chance:
                    value += 1
                draws[b, k] = value


def sum_by_pair(
    draws: cython.const[cython.double][:, ::1],
    size: cython.const[cython.double][::1],
    target: cython.const[cython.double][::1],
    pair: cython.const[cython.longlong][::1],
    total: cython.double[:, ::1],
    wins: cython.double[:, ::1],
) -> None:
    """Add draws[b, k]·size[k] to total[b, pair[k]], and target[k] times as much to wins[b, pair[k]]."""
    b: cython.Py_ssize_t
    k: cython.Py_ssize_t
    with cython.nogil:
        for b in range(draws.shape[0]):
            for k in range(pair.shape[0]):
                amount: cython.double = draws[b, k] * size[k]
                total[b, pair[k]] += amount
                wins[b, pair[k]] += amount * target[k]


def logistic_gradients(
    scores: cython.const[cython.double][:, ::1],
    left: cython.const[cython.longlong][::1],
    right: cython.const[cython.longlong][::1],
    total: cython.const[cython.double][:, ::1],
    wins: cython.const[cython.double][:, ::1],
    gradient: cython.double[:, ::1],
) -> None:
    """Add to gradient[b] the derivative of Σ_k total·log(1 + exp(−margin)) + (total − wins)·margin at scores[b]."""
    b: cython.Py_ssize_t
    k: cython.Py_ssize_t
    with cython.nogil:
        for b in range(scores.shape[0]):
            for k in range(left.shape[0]):
                # An overflow to infinity gives the right chance, zero.
                chance: cython.double = 1.0 / (1.0 + exp(scores[b, right[k]] - scores[b, left[k]]))
                force: cython.double = total[b, k] * chance - wins[b, k]
                gradient[b, left[k]] += force
                gradient[b, right[k]] -= force


def add_gradients(
    excess: cython.const[cython.double][:, ::1],
    left: cython.const[cython.longlong][::1],
    right: cython.const[cython.longlong][::1],
    slope: cython.const[cython.double][::1],
    gradient: cython.double[:, ::1],
) -> None:
    """Add excess[b, k]·slope[k] to gradient[b, left[k]] and take it from gradient[b, right[k]]."""
    b: cython.Py_ssize_t
    k: cython.Py_ssize_t
    with cython.nogil:
        for b in range(excess.shape[0]):
            for k in range(left.shape[0]):
                force: cython.double = excess[b, k] * slope[k]
                gradient[b, left[k]] += force
                gradient[b, right[k]] -= force
