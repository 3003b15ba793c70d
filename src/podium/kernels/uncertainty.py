"""Loops behind intervals: the largest standardised gap of a draw."""

import cython
from cython.cimports.libc.math import fabs


def largest_gaps(
    draws: cython.const[cython.double][:, ::1],
    precision: cython.const[cython.double][:, ::1],
    largest: cython.double[::1],
) -> None:
    """Set largest[d] = max over i < j of |draws[d, i] − draws[d, j]|·precision[i, j]."""
    d: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n: cython.Py_ssize_t = draws.shape[1]
    with cython.nogil:
        for d in range(draws.shape[0]):
            top: cython.double = 0.0
            for i in range(n):
                here: cython.double = draws[d, i]
                for j in range(i + 1, n):
                    gap: cython.double = fabs(here - draws[d, j]) * precision[i, j]
                    top = gap if gap > top else top
            largest[d] = top
