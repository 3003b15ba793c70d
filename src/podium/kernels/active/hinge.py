"""Hinge loss over all pairs of items in different blocks, without listing the pairs."""

import cython


def cross_block_hinge(
    scores: cython.const[cython.double][::1],
    ascending: cython.const[cython.longlong][::1],
    block: cython.const[cython.longlong][::1],
    count: cython.double[::1],
    total: cython.double[::1],
    slope: cython.double[::1],
) -> cython.double:
    """Return the sum of max(0, 1 - s_u + s_v) over u in an earlier block than v; add its gradient by s to `slope`.

    `ascending` sorts the scores. A window of margin 1 slides over them; two Fenwick trees over the blocks (room in
    `count` and `total`, one cell more than there are blocks) hold how many and which sum of scores are inside.
    """
    n: cython.Py_ssize_t = scores.shape[0]
    blocks: cython.Py_ssize_t = count.shape[0] - 1
    i: cython.Py_ssize_t
    head: cython.Py_ssize_t
    b: cython.Py_ssize_t
    u: cython.longlong
    v: cython.longlong
    inside: cython.double
    sums: cython.double
    value: cython.double = 0.0
    with cython.nogil:
        count[:] = 0.0
        total[:] = 0.0
        head = 0
        for i in range(n):  # v from the lowest score; inside are all u with s_u < 1 + s_v
            v = ascending[i]
            while head < n and scores[ascending[head]] < 1.0 + scores[v]:
                u = ascending[head]
                b = block[u] + 1
                while b <= blocks:
                    count[b] += 1.0
                    total[b] += scores[u]
                    b += b & -b
                head += 1
            inside = 0.0
            sums = 0.0
            b = block[v]  # blocks strictly before v's
            while b > 0:
                inside += count[b]
                sums += total[b]
                b -= b & -b
            value += inside * (1.0 + scores[v]) - sums
            slope[v] += inside
        count[:] = 0.0
        head = n - 1
        for i in range(n - 1, -1, -1):  # u from the highest score; inside are all v with s_v > s_u - 1
            u = ascending[i]
            while head >= 0 and scores[u] < 1.0 + scores[ascending[head]]:
                b = blocks - block[ascending[head]]
                while b <= blocks:
                    count[b] += 1.0
                    b += b & -b
                head -= 1
            inside = 0.0
            b = blocks - 1 - block[u]
            while b > 0:
                inside += count[b]
                b -= b & -b
            slope[u] -= inside
    return value
