"""Pairing off items that stand next to each other, none with a partner whom it may not meet."""

import cython


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _has(keys: cython.const[cython.longlong][::1], key: cython.longlong) -> cython.bint:
    """Whether `key` is among `keys`, which ascend."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = keys.shape[0]
    middle: cython.Py_ssize_t
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < keys.shape[0] and keys[low] == key


def pair_off(
    items: cython.const[cython.longlong][::1],
    barred: cython.const[cython.longlong][::1],
    n: cython.longlong,
    count: cython.Py_ssize_t,
    pairs: cython.longlong[:, ::1],
    waiting: cython.longlong[::1],
) -> tuple:
    """Give each item the first one before it that still waits and that it may meet, up to `count` pairs.

    `barred` ascends and holds min · n + max of the pairs that may not be. `waiting` has room for all items and ends
    with those left over, in order. Returns how many pairs there are, and how many wait.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    made: cython.Py_ssize_t = 0
    left: cython.Py_ssize_t = 0
    u: cython.longlong
    v: cython.longlong
    with cython.nogil:
        for i in range(items.shape[0]):
            v = items[i]
            k = left
            if made < count:
                k = 0
                while k < left:
                    u = waiting[k]
                    if not _has(barred, u * n + v if u < v else v * n + u):
                        break
                    k += 1
            if k == left:
                waiting[left] = v
                left += 1
                continue
            pairs[made, 0] = waiting[k]
            pairs[made, 1] = v
            made += 1
            left -= 1
            while k < left:
                waiting[k] = waiting[k + 1]
                k += 1
    return made, left
