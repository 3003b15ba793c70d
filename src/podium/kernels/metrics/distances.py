"""Counting discordant pairs in O(n log n)."""

import cython


def count_descents(
    value: cython.double[::1],
    weight: cython.double[::1],
    spare_value: cython.double[::1],
    spare_weight: cython.double[::1],
) -> cython.double:
    """Sort `value` upwards, with `weight` beside it; return Σ weight_i weight_j over pairs that stood downwards.

    Equal values are no descent.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    left: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    right: cython.Py_ssize_t
    out: cython.Py_ssize_t
    n: cython.Py_ssize_t = value.shape[0]
    size: cython.Py_ssize_t = 1
    rest: cython.double
    total: cython.double = 0.0
    with cython.nogil:
        while size < n:
            left = 0
            while left < n:
                middle = min(left + size, n)
                right = min(left + 2 * size, n)
                rest = 0.0
                for i in range(left, middle):
                    rest += weight[i]
                i = left
                j = middle
                for out in range(left, right):
                    if j >= right or (i < middle and value[i] <= value[j]):
                        spare_value[out] = value[i]
                        spare_weight[out] = weight[i]
                        rest -= weight[i]
                        i += 1
                    else:
                        total += rest * weight[j]
                        spare_value[out] = value[j]
                        spare_weight[out] = weight[j]
                        j += 1
                left = right
            for i in range(n):
                value[i] = spare_value[i]
                weight[i] = spare_weight[i]
            size *= 2
    return total
