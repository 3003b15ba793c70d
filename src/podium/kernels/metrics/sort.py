"""Sorting the relevant labels of one row, for metrics.py: by their places, and by what they are worth.

metrics_sort.pxd declares what it calls. A row is a few labels: each sort is chosen for that, and none allocates.
"""

import cython


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def goes_before(
    a: cython.int,
    b: cython.int,
    ahead: cython.p_int,
    tied: cython.p_int,
    value: cython.pointer(cython.const[cython.double]),
    falling: cython.bint,
) -> cython.bint:
    """Whether label a comes before label b in the order of `order_labels`."""
    if (tied[a] == 0) != (tied[b] == 0):
        return tied[b] == 0
    if tied[a] != 0 and ahead[a] != ahead[b]:
        return ahead[a] < ahead[b]
    return value[a] > value[b] if falling and tied[a] != 0 else value[a] < value[b]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def order_labels(
    n: cython.Py_ssize_t,
    ahead: cython.p_int,
    tied: cython.p_int,
    value: cython.pointer(cython.const[cython.double]),
    falling: cython.bint,
    order: cython.p_int,
    spare: cython.p_int,
) -> cython.void:
    """Sort 0..n-1 by (ranked before not ranked, ahead, value): values fall or rise within equal `ahead`.

    Labels that were not ranked come last, the least relevant first.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    size: cython.Py_ssize_t
    left: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    right: cython.Py_ssize_t
    out: cython.Py_ssize_t
    held: cython.int
    for i in range(n):
        order[i] = cython.cast(cython.int, i)
    if n <= 32:
        for i in range(1, n):
            held = order[i]
            j = i - 1
            while j >= 0 and goes_before(held, order[j], ahead, tied, value, falling):
                order[j + 1] = order[j]
                j -= 1
            order[j + 1] = held
        return
    size = 1
    while size < n:
        left = 0
        while left < n:
            middle = min(left + size, n)
            right = min(left + 2 * size, n)
            i = left
            j = middle
            for out in range(left, right):
                if j >= right or (i < middle and not goes_before(order[j], order[i], ahead, tied, value, falling)):
                    spare[out] = order[i]
                    i += 1
                else:
                    spare[out] = order[j]
                    j += 1
            left = right
        for i in range(n):
            order[i] = spare[i]
        size *= 2


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def write_in_place(
    n: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    ahead: cython.p_int,
    order: cython.p_int,
    spare: cython.p_int,
) -> cython.void:
    """Sort labels that all have a different rank below `width`, by writing each where it belongs; O(width)."""
    k: cython.Py_ssize_t
    at: cython.Py_ssize_t = 0
    for k in range(n):
        spare[ahead[k]] = cython.cast(cython.int, k + 1)
    for k in range(width):
        order[at] = spare[k] - 1
        at += spare[k] != 0
        spare[k] = 0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _by_counting(
    n: cython.Py_ssize_t, value: cython.p_double, levels: cython.int, tally: cython.p_int
) -> cython.double:
    """`sort_counting` for whole values from 0 to `levels`."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    size: cython.Py_ssize_t
    grade: cython.int
    level: cython.int
    wrong: cython.double = 0.0
    for level in range(levels + 1):
        tally[level] = 0
    for i in range(n):
        grade = cython.cast(cython.int, value[i])
        wrong += tally[grade]  # values below this one, so far
        for level in range(levels + 1):
            tally[level] += level > grade
    j = n
    for level in range(levels + 1):
        size = n if level == levels else tally[level + 1]
        while j > n - size:
            j -= 1
            value[j] = level
    return wrong


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _by_merging(n: cython.Py_ssize_t, value: cython.p_double, spare: cython.p_double) -> cython.double:
    """`sort_counting` for any values."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    size: cython.Py_ssize_t
    left: cython.Py_ssize_t
    middle: cython.Py_ssize_t
    right: cython.Py_ssize_t
    out: cython.Py_ssize_t
    wrong: cython.double = 0.0
    size = 1
    while size < n:
        left = 0
        while left < n:
            middle = min(left + size, n)
            right = min(left + 2 * size, n)
            i = left
            j = middle
            for out in range(left, right):
                if j >= right or (i < middle and value[i] >= value[j]):
                    spare[out] = value[i]
                    i += 1
                else:
                    wrong += middle - i
                    spare[out] = value[j]
                    j += 1
            left = right
        for i in range(n):
            value[i] = spare[i]
        size *= 2
    return wrong


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def sort_counting(
    n: cython.Py_ssize_t, value: cython.p_double, spare: cython.p_double, levels: cython.int, tally: cython.p_int
) -> cython.double:
    """Sort `value` downwards; return how many pairs stood the wrong way round (a smaller value first).

    Whole values up to `levels` are sorted by counting, others (levels = 0) by merging.
    """
    if levels > 0:
        return _by_counting(n, value, levels, tally)
    return _by_merging(n, value, spare)
