"""The Davidson-Luce likelihood of rankings with ties: a choice is of any set of items of the sizes that occur.

A set of size o has strength δ_o · (Π a_i)^{1/o}, with a_i = exp(score) and δ_1 = 1. What is divided by, the sum over
all sets of what is left, is Σ_o δ_o e_o(a^{1/o}), with e_o the elementary symmetric polynomial. The loss is a sum of
logs of sums of exponentials of scores and log δ, so its derivatives are means and covariances of what is chosen.
"""

import cython
from cython.cimports.libc.math import log


def davidson_luce(
    item: cython.const[cython.int][::1],
    start: cython.const[cython.longlong][::1],
    tied: cython.const[cython.uchar][::1],
    weight: cython.const[cython.double][::1],
    rest: cython.const[cython.int][::1],
    rest_start: cython.const[cython.longlong][::1],
    everyone: cython.bint,
    orders: cython.const[cython.longlong][::1],
    delta: cython.const[cython.double][::1],
    roots: cython.const[cython.double][:, ::1],
    marks: cython.uchar[::1],
    members: cython.int[::1],
    symmetric: cython.double[:, ::1],
    without: cython.double[::1],
    mean: cython.double[::1],
    gradient: cython.double[::1],
    hessian: cython.double[:, ::1],
    single: cython.double[:, ::1],
) -> cython.double:
    """Return Σ weight · log of what was chosen from; add its gradient and (unless empty) its Hessian.

    Parameters are the scores and log δ of orders[1:]; roots[q, i] is a_i^{1/orders[q]}. `single` is empty, or gets one
    gradient for each ranking. Room: members (n), symmetric (orders, largest + 1), without (largest + 1), mean (all).
    """
    r: cython.Py_ssize_t
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    q: cython.Py_ssize_t
    p: cython.Py_ssize_t
    o: cython.Py_ssize_t
    m: cython.Py_ssize_t
    end: cython.Py_ssize_t
    offset: cython.Py_ssize_t
    a: cython.int
    b: cython.int
    n: cython.Py_ssize_t = roots.shape[1]
    kinds: cython.Py_ssize_t = orders.shape[0]
    curved: cython.bint = hessian.shape[0] > 0
    apart: cython.bint = single.shape[0] > 0
    loss: cython.double = 0.0
    with cython.nogil:
        for r in range(start.shape[0] - 1):
            first: cython.Py_ssize_t = start[r]
            last: cython.Py_ssize_t = start[r + 1]
            w: cython.double = weight[r]
            m = last - first
            for k in range(first, last):
                members[k - first] = item[k]
            if everyone:
                for k in range(first, last):
                    marks[item[k]] = 1
                for i in range(n):
                    if not marks[i]:
                        members[m] = i
                        m += 1
                for k in range(first, last):
                    marks[item[k]] = 0
            else:
                for j in range(rest_start[r], rest_start[r + 1]):
                    members[m] = rest[j]
                    m += 1
            k = first
            while k < last:
                end = k + 1
                while tied.shape[0] > 0 and end < last and tied[end]:
                    end += 1
                offset = k - first
                k = end
                if m - offset == 1:
                    continue  # the last has no choice
                total: cython.double = 0.0
                for q in range(kinds):
                    symmetric[q, 0] = 1.0
                    for o in range(1, orders[q] + 1):
                        symmetric[q, o] = 0.0
                    for i in range(offset, m):
                        for o in range(orders[q], 0, -1):
                            symmetric[q, o] += roots[q, members[i]] * symmetric[q, o - 1]
                    total += delta[q] * symmetric[q, orders[q]]
                loss += w * log(total)
                for i in range(offset, m):
                    a = members[i]
                    mean[a] = 0.0
                    own: cython.double = 0.0
                    for q in range(kinds):
                        # e of all but i: e'_o = e_o − x_i e'_{o−1}
                        x: cython.double = roots[q, a]
                        other: cython.double = 1.0
                        for o in range(1, orders[q]):
                            other = symmetric[q, o] - x * other
                        part: cython.double = delta[q] * x * other / (total * orders[q])
                        mean[a] += part
                        own += part / orders[q]
                        if curved and q > 0:
                            hessian[a, n + q - 1] += w * part
                    gradient[a] += w * mean[a]
                    if apart:
                        single[r, a] += w * mean[a]
                    if curved:
                        hessian[a, a] += w * own
                for q in range(1, kinds):
                    chance: cython.double = delta[q] * symmetric[q, orders[q]] / total
                    mean[n + q - 1] = chance
                    gradient[n + q - 1] += w * chance
                    if apart:
                        single[r, n + q - 1] += w * chance
                    if curved:
                        hessian[n + q - 1, n + q - 1] += w * chance
                if not curved:
                    continue
                for q in range(1, kinds):
                    for i in range(offset, m):
                        hessian[members[i], n + q - 1] -= w * mean[members[i]] * mean[n + q - 1]
                    for p in range(1, kinds):
                        hessian[n + p - 1, n + q - 1] -= w * mean[n + p - 1] * mean[n + q - 1]
                for i in range(offset, m):
                    a = members[i]
                    hessian[a, a] -= w * mean[a] * mean[a]
                    for j in range(i + 1, m):
                        b = members[j]
                        hessian[a, b] -= w * mean[a] * mean[b]
                        hessian[b, a] -= w * mean[a] * mean[b]
                for q in range(1, kinds):
                    for i in range(offset, m):
                        a = members[i]
                        x = roots[q, a]
                        without[0] = 1.0
                        for o in range(1, orders[q]):
                            without[o] = symmetric[q, o] - x * without[o - 1]
                        for j in range(i + 1, m):
                            b = members[j]
                            other = 1.0
                            for o in range(1, orders[q] - 1):
                                other = without[o] - roots[q, b] * other
                            part = w * delta[q] * x * roots[q, b] * other / (total * orders[q] * orders[q])
                            hessian[a, b] += part
                            hessian[b, a] += part
    return loss
