"""Who can be reached from whom through the votes.

Meetings are laid out by item: item i met partner[start[i]:start[i + 1]] and took `wins` of the `total`, a tie
counting half. So i won or tied where wins > 0, and lost or tied where wins < total.
"""

import cython
from cython.cimports.podium.kernels.pairwise.memory import prefetch

AHEAD = cython.declare(cython.Py_ssize_t, 16)  # meetings between asking memory for a label and using it

real = cython.fused_type(cython.float, cython.double)

BEATS = cython.declare(cython.int, 1)
LOSES = cython.declare(cython.int, 2)


def reach(
    start: cython.const[cython.longlong][::1],
    partner: cython.const[cython.int][::1],
    wins: cython.const[real][::1],
    total: cython.const[real][::1],
    way: cython.int,
    label: cython.int,
    labels: cython.int[::1],
    queue: cython.int[::1],
    root: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Give `label` to every item reached from `root`; return how many.

    `way` is 1 to go from an item to those it beat or tied, 2 to those it lost to or tied, 3 for either.

    Only items whose label is negative are entered. `queue` has one cell per item.
    """
    head: cython.Py_ssize_t = 0
    tail: cython.Py_ssize_t = 1
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    queue[0] = root
    labels[root] = label
    with cython.nogil:
        while head < tail and tail < labels.shape[0]:
            i = queue[head]
            head += 1
            if head + 4 < tail:
                prefetch(cython.address(start[queue[head + 4]]))
                prefetch(cython.address(partner[start[queue[head + 1]]]))
            for k in range(start[i], start[i + 1]):
                if k + AHEAD < partner.shape[0]:
                    prefetch(cython.address(labels[partner[k + AHEAD]]))
                # Asked in this order: soon nearly all partners are known, and the branch is foreseen.
                if labels[partner[k]] < 0 and ((way & BEATS and wins[k] > 0) or (way & LOSES and wins[k] < total[k])):
                    labels[partner[k]] = label
                    queue[tail] = partner[k]
                    tail += 1
    return tail


def strong_components(
    start: cython.const[cython.longlong][::1],
    partner: cython.const[cython.int][::1],
    wins: cython.const[real][::1],
    labels: cython.int[::1],
    index: cython.int[::1],
    low: cython.int[::1],
    stack: cython.int[::1],
    path: cython.int[::1],
    cursor: cython.longlong[::1],
) -> cython.int:
    """Number the strongly connected components of "i beat or tied j" (Tarjan, without recursion); return how many.

    A component that beats another gets the larger number. `labels` and `index` are -1 on entry; the other
    arrays are scratch with one cell per item.
    """
    n: cython.Py_ssize_t = labels.shape[0]
    root: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.longlong
    found: cython.int = 0
    clock: cython.int = 0
    height: cython.Py_ssize_t = 0
    depth: cython.Py_ssize_t
    deeper: cython.bint
    with cython.nogil:
        for root in range(n):
            if index[root] >= 0:
                continue
            depth = 0
            path[0] = root
            cursor[root] = start[root]
            index[root] = clock
            low[root] = clock
            clock += 1
            stack[height] = root
            height += 1
            while depth >= 0:
                i = path[depth]
                deeper = False
                k = cursor[i]
                while k < start[i + 1]:
                    if wins[k] > 0:
                        j = partner[k]
                        if index[j] < 0:
                            index[j] = clock
                            low[j] = clock
                            clock += 1
                            stack[height] = j
                            height += 1
                            depth += 1
                            path[depth] = j
                            cursor[j] = start[j]
                            deeper = True
                            k += 1
                            break
                        if labels[j] < 0 and index[j] < low[i]:
                            low[i] = index[j]
                    k += 1
                cursor[i] = k
                if deeper:
                    continue
                if low[i] == index[i]:
                    while True:
                        height -= 1
                        j = stack[height]
                        labels[j] = found
                        if j == i:
                            break
                    found += 1
                depth -= 1
                if depth >= 0 and low[i] < low[path[depth]]:
                    low[path[depth]] = low[i]
    return found


def unite(left: cython.const[cython.int][::1], right: cython.const[cython.int][::1], first: cython.int[::1]) -> None:
    """Let first[i] be the first item of those that rows join to i; it begins as 0, 1, 2, …"""
    k: cython.Py_ssize_t
    with cython.nogil:
        for k in range(left.shape[0]):
            a: cython.int = left[k]
            b: cython.int = right[k]
            while first[a] != a:
                first[a] = first[first[a]]
                a = first[a]
            while first[b] != b:
                first[b] = first[first[b]]
                b = first[b]
            if a < b:
                first[b] = a
            else:
                first[a] = b
        for k in range(first.shape[0]):
            first[k] = first[first[k]]  # of those before it, it is settled
