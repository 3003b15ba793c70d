"""What clean answers imply: an order in which no answer points backwards, and what it passes on."""

import cython


def topological(
    start: cython.const[cython.longlong][::1],
    after: cython.const[cython.int][::1],
    waiting: cython.int[::1],
    order: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Fill `order` so that every item comes before those in its row of start/after; return how many could be placed.

    `waiting` has the number of items known to come before each, and is used up. With a cycle some are left out.
    """
    n: cython.Py_ssize_t = order.shape[0]
    v: cython.Py_ssize_t
    k: cython.Py_ssize_t
    done: cython.Py_ssize_t = 0
    filled: cython.Py_ssize_t = 0
    with cython.nogil:
        for v in range(n):
            if waiting[v] == 0:
                order[filled] = v
                filled += 1
        while done < filled:
            v = order[done]
            done += 1
            for k in range(start[v], start[v + 1]):
                waiting[after[k]] -= 1
                if waiting[after[k]] == 0:
                    order[filled] = after[k]
                    filled += 1
    return filled


def chain_bounds(
    start: cython.const[cython.longlong][::1],
    after: cython.const[cython.int][::1],
    order: cython.const[cython.longlong][::1],
    own: cython.const[cython.longlong][::1],
    low: cython.longlong[::1],
    high: cython.longlong[::1],
) -> None:
    """Where each item stands beside a chain, as far as answers imply: own[v] is its number in the chain, from 1, or 0.

    low[v] becomes the last of the chain known to come before v (0: none), high[v] the first known to come after it;
    `low` begins as zeros, `high` as one more than the length of the chain. `order` is topological.
    """
    n: cython.Py_ssize_t = order.shape[0]
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    most: cython.longlong
    with cython.nogil:
        for i in range(n):
            u = order[i]
            most = own[u] if own[u] > 0 else low[u]
            for k in range(start[u], start[u + 1]):
                v = after[k]
                if most > low[v]:
                    low[v] = most
        for i in range(n - 1, -1, -1):
            u = order[i]
            most = high[u]
            for k in range(start[u], start[u + 1]):
                v = after[k]
                if own[v] > 0:
                    if own[v] < most:
                        most = own[v]
                elif high[v] < most:
                    most = high[v]
            high[u] = most
