"""Votes to counts: the pass over the rows that every batch ranker starts from."""

import cython

code = cython.fused_type(cython.int, cython.longlong)


def histogram(
    left: cython.const[code][::1],
    right: cython.const[code][::1],
    counts: cython.uint[::1],
    n: cython.Py_ssize_t,
) -> None:
    """Add one to counts[left * n + right] for each row.

    `counts` has n * n + 1 cells; rows with a code outside 0..n-1 land in the last, so the loop never branches
    and never writes out of bounds.
    """
    k: cython.Py_ssize_t
    cell: cython.size_t
    limit: cython.size_t = n
    with cython.nogil:
        for k in range(left.shape[0]):
            i: cython.size_t = cython.cast(cython.size_t, left[k])  # a negative code becomes huge
            j: cython.size_t = cython.cast(cython.size_t, right[k])
            cell = i * limit + j
            cell = cell if (i < limit) & (j < limit) else limit * limit
            counts[cell] += 1
