"""Loops of the Plackett-Luce likelihood: a ranking is a row of choices, each among what is left.

Ranking r lists item[start[r]:start[r + 1]], best first; `tied[k]` says that item k shares the place of the one before
it (empty: no ties). Below them lie rest[rest_start[r]:rest_start[r + 1]], or with `everyone`, where `rest` is empty,
all items that are not listed. A choice among a set with strengths a has chance a_i / Σ a. Of t items that share a place
the l-th leaves l/t of all of them behind (Efron): each factor is a choice among weighted strengths.

Strengths are exp(score); `total` is their sum. Loops that need room are given it: `room` is (2, longest list).
"""

import cython
from cython.cimports.libc.math import log


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def below(
    strength: cython.const[cython.double][::1],
    item: cython.const[cython.int][::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    total: cython.double,
    marks: cython.uchar[::1],
) -> cython.double:
    """Summed strength of all items that are not listed; where hardly anything is left, added up anew."""
    k: cython.Py_ssize_t
    n: cython.Py_ssize_t = strength.shape[0]
    if last - first >= n:
        return 0.0
    left: cython.double = total
    for k in range(first, last):
        left -= strength[item[k]]
    if left > 1e-6 * total:
        return left
    for k in range(first, last):
        marks[item[k]] = 1
    left = 0.0
    for k in range(n):
        if not marks[k]:
            left += strength[k]
    for k in range(first, last):
        marks[item[k]] = 0
    return left


def choices(
    strength: cython.const[cython.double][::1],
    item: cython.const[cython.int][::1],
    start: cython.const[cython.longlong][::1],
    tied: cython.const[cython.uchar][::1],
    weight: cython.const[cython.double][::1],
    rest: cython.const[cython.int][::1],
    rest_start: cython.const[cython.longlong][::1],
    everyone: cython.bint,
    total: cython.double,
    marks: cython.uchar[::1],
    room: cython.double[:, ::1],
    hazard: cython.double[::1],
    values: cython.double[::1],
    base: cython.double[::1],
) -> cython.double:
    """Return Σ weight · log of what was chosen from; add to hazard[i] the Σ weight/total of all choices i was in.

    The gradient of the loss is strength · hazard less the choices won. With `everyone`, hazard is relative to that of
    an item in no list, which is the sum of `base`. `values` (empty, or one for each place) and `base` (empty, or one
    for each ranking) get the gradient of single rankings: `values` at the items listed, strength · base at the others
    (with `everyone`: at all of them, in addition).
    """
    r: cython.Py_ssize_t
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    gone: cython.Py_ssize_t
    end: cython.Py_ssize_t
    size: cython.Py_ssize_t
    n: cython.Py_ssize_t = strength.shape[0]
    ties: cython.bint = tied.shape[0] > 0
    apart: cython.bint = values.shape[0] > 0
    loss: cython.double = 0.0
    with cython.nogil:
        for r in range(start.shape[0] - 1):
            first: cython.Py_ssize_t = start[r]
            last: cython.Py_ssize_t = start[r + 1]
            w: cython.double = weight[r]
            left: cython.double = 0.0
            more: cython.bint = last - first < n
            if everyone:
                left = below(strength, item, first, last, total, marks)
            else:
                more = rest_start[r + 1] > rest_start[r]
                for j in range(rest_start[r], rest_start[r + 1]):
                    left += strength[rest[j]]
            for k in range(last - 1, first - 1, -1):
                left += strength[item[k]]
                room[0, k - first] = left
            passed: cython.double = 0.0  # Σ 1/total of the choices so far
            product: cython.double = 1.0  # of what was chosen from: one logarithm for many
            k = first
            while k < last:
                end = k + 1
                while ties and end < last and tied[end]:
                    end += 1
                size = end - k
                own: cython.double = passed
                chosen: cython.double = 1.0
                if size == 1:
                    if end == last and not more:
                        chosen = 0.0  # the last has no choice
                    else:
                        product *= room[0, k - first]
                        passed += 1.0 / room[0, k - first]
                        own = passed
                else:
                    together: cython.double = 0.0
                    for j in range(k, end):
                        together += strength[item[j]]
                    for gone in range(size):
                        share: cython.double = (1.0 * gone) / size
                        among: cython.double = room[0, k - first] - share * together
                        product *= among
                        own += (1.0 - share) / among
                        passed += 1.0 / among
                        if product < 1e-150 or product > 1e150:
                            loss += w * log(product)
                            product = 1.0
                if product < 1e-150 or product > 1e150:
                    loss += w * log(product)
                    product = 1.0
                for j in range(k, end):
                    room[1, j - first] = own
                    if apart:
                        values[j] = -w * chosen
                k = end
            loss += w * log(product)
            behind: cython.double = passed if everyone else 0.0
            for k in range(first, last):
                own = w * (room[1, k - first] - behind)
                hazard[item[k]] += own
                if apart:
                    values[k] += strength[item[k]] * own
            for j in range(rest_start[r], rest_start[r + 1]):
                hazard[rest[j]] += w * passed
            if base.shape[0] > 0:
                base[r] = w * passed
    return loss


def curvatures(
    strength: cython.const[cython.double][::1],
    item: cython.const[cython.int][::1],
    start: cython.const[cython.longlong][::1],
    tied: cython.const[cython.uchar][::1],
    weight: cython.const[cython.double][::1],
    rest: cython.const[cython.int][::1],
    rest_start: cython.const[cython.longlong][::1],
    everyone: cython.bint,
    total: cython.double,
    marks: cython.uchar[::1],
    room: cython.double[:, ::1],
    pairs: cython.double[:, ::1],
    lacks: cython.double[::1],
) -> cython.double:
    """Add the Σ weight/total² of the choices that both of a pair were in, to pairs[i, j] or pairs[j, i].

    Times both strengths it is minus the Hessian of the loss. With `everyone`, what a pair in no list has is returned,
    and pairs[i, j] is relative to that less lacks[i] and lacks[j].
    """
    r: cython.Py_ssize_t
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    h: cython.Py_ssize_t
    gone: cython.Py_ssize_t
    end: cython.Py_ssize_t
    size: cython.Py_ssize_t
    n: cython.Py_ssize_t = strength.shape[0]
    ties: cython.bint = tied.shape[0] > 0
    whole: cython.double = 0.0
    with cython.nogil:
        for r in range(start.shape[0] - 1):
            first: cython.Py_ssize_t = start[r]
            last: cython.Py_ssize_t = start[r + 1]
            w: cython.double = weight[r]
            left: cython.double = 0.0
            more: cython.bint = last - first < n
            if everyone:
                left = below(strength, item, first, last, total, marks)
            else:
                more = rest_start[r + 1] > rest_start[r]
                for j in range(rest_start[r], rest_start[r + 1]):
                    left += strength[rest[j]]
            for k in range(last - 1, first - 1, -1):
                left += strength[item[k]]
                room[0, k - first] = left
            passed: cython.double = 0.0  # Σ 1/total² of the choices so far
            k = first
            while k < last:
                end = k + 1
                while ties and end < last and tied[end]:
                    end += 1
                size = end - k
                own: cython.double = passed
                within: cython.double = passed  # for two that share the place
                if size == 1:
                    if end < last or more:
                        passed += 1.0 / (room[0, k - first] * room[0, k - first])
                        own = passed
                else:
                    together: cython.double = 0.0
                    for j in range(k, end):
                        together += strength[item[j]]
                    for gone in range(size):
                        share: cython.double = (1.0 * gone) / size
                        among: cython.double = room[0, k - first] - share * together
                        own += (1.0 - share) / (among * among)
                        within += (1.0 - share) * (1.0 - share) / (among * among)
                        passed += 1.0 / (among * among)
                for j in range(k, end):
                    room[1, j - first] = own
                    for h in range(k, j):
                        pairs[item[h], item[j]] += w * (within - 2.0 * own if everyone else within)
                k = end
            if everyone:
                whole += w * passed
                for k in range(first, last):
                    lacks[item[k]] += w * (passed - room[1, k - first])
                k = first
                while k < last:
                    end = k + 1
                    while ties and end < last and tied[end]:
                        end += 1
                    for j in range(k, end):
                        for h in range(k, j):
                            pairs[item[h], item[j]] += w * passed
                        for h in range(first, k):
                            pairs[item[h], item[j]] += w * (passed - room[1, j - first])
                    k = end
            else:
                k = first
                while k < last:
                    end = k + 1
                    while ties and end < last and tied[end]:
                        end += 1
                    for h in range(k, end):
                        for j in range(end, last):
                            pairs[item[h], item[j]] += w * room[1, h - first]
                        for j in range(rest_start[r], rest_start[r + 1]):
                            pairs[item[h], rest[j]] += w * room[1, h - first]
                    k = end
                for h in range(rest_start[r], rest_start[r + 1]):
                    for j in range(h + 1, rest_start[r + 1]):
                        pairs[rest[h], rest[j]] += w * passed
    return whole


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def lower(
    covariance: cython.const[cython.double][:, ::1],
    members: cython.const[cython.int][::1],
    m: cython.Py_ssize_t,
    place: cython.Py_ssize_t,
    by: cython.double,
    held: cython.double[::1],
    seen: cython.double[::1],
) -> cython.double:
    """Take `by` from what the member at `place` holds; return what Σ held_i held_j cov_ij² loses."""
    j: cython.Py_ssize_t
    c: cython.Py_ssize_t = members[place]
    lost: cython.double = 0.0
    for j in range(m):
        v: cython.double = covariance[c, members[j]]
        seen[j] -= v * by
        lost += held[j] * v * v
    held[place] -= by
    return 2.0 * by * lost - by * by * covariance[c, c] * covariance[c, c]


def second_order(
    strength: cython.const[cython.double][::1],
    covariance: cython.const[cython.double][:, ::1],
    item: cython.const[cython.int][::1],
    start: cython.const[cython.longlong][::1],
    tied: cython.const[cython.uchar][::1],
    weight: cython.const[cython.double][::1],
    rest: cython.const[cython.int][::1],
    rest_start: cython.const[cython.longlong][::1],
    everyone: cython.bint,
    product: cython.const[cython.double][::1],
    square: cython.double,
    marks: cython.uchar[::1],
    members: cython.int[::1],
    held: cython.double[::1],
    seen: cython.double[::1],
    third: cython.double[::1],
) -> cython.double:
    """Contract third and fourth derivatives of the loss with a covariance V of the scores.

    Add Σ weight · E[y (yᵀVy)] to `third`, return Σ weight · (E[(yᵀVy)²] − (tr ΣV)² − 2 tr(ΣVΣV)), with y what was
    chosen less its mean, Σ its covariance. With `everyone`, `product` is V·strength and `square` Σ a_i a_j V_ij² of all
    items.
    """
    r: cython.Py_ssize_t
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    end: cython.Py_ssize_t
    size: cython.Py_ssize_t
    m: cython.Py_ssize_t
    n: cython.Py_ssize_t = strength.shape[0]
    ties: cython.bint = tied.shape[0] > 0
    fourth: cython.double = 0.0
    both: cython.double
    with cython.nogil:
        for r in range(start.shape[0] - 1):
            first: cython.Py_ssize_t = start[r]
            last: cython.Py_ssize_t = start[r + 1]
            w: cython.double = weight[r]
            m = last - first
            for k in range(first, last):  # those listed come first, in their order
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
            both = square
            for i in range(m):
                held[i] = strength[members[i]]
                seen[i] = product[members[i]] if everyone else 0.0
            if not everyone:
                both = 0.0
                for i in range(m):
                    for j in range(m):
                        v: cython.double = covariance[members[i], members[j]]
                        seen[i] += v * held[j]
                        both += held[i] * held[j] * v * v
            k = first
            while k < last:
                end = k + 1
                while ties and end < last and tied[end]:
                    end += 1
                size = end - k
                if size == 1 and end == last and m == last - first:
                    break  # the last has no choice
                for _ in range(size):
                    among: cython.double = 0.0
                    square_seen: cython.double = 0.0
                    mean: cython.double = 0.0
                    through: cython.double = 0.0
                    for i in range(k - first, m):
                        among += held[i]
                        through += held[i] * seen[i]
                        square_seen += held[i] * seen[i] * seen[i]
                        mean += held[i] * covariance[members[i], members[i]]
                    through /= among * among
                    square_seen /= among * among * among
                    mean = mean / among - through
                    even: cython.double = 0.0
                    for i in range(k - first, m):
                        chance: cython.double = held[i] / among
                        far: cython.double = covariance[members[i], members[i]] - 2.0 * seen[i] / among + through
                        even += chance * far * far
                        third[members[i]] += w * chance * (far - mean)
                    inner: cython.double = both / (among * among) - 2.0 * square_seen + through * through
                    fourth += w * (even - mean * mean - 2.0 * inner)
                    for j in range(k, end):
                        both -= lower(covariance, members, m, j - first, strength[item[j]] / size, held, seen)
                for j in range(k, end):
                    held[j - first] = 0.0
                k = end
    return fourth


def count_pairs(
    item: cython.const[cython.int][::1],
    start: cython.const[cython.longlong][::1],
    tied: cython.const[cython.uchar][::1],
    weight: cython.const[cython.double][::1],
    rest: cython.const[cython.int][::1],
    rest_start: cython.const[cython.longlong][::1],
    wins: cython.double[:, ::1],
    ties: cython.double[:, ::1],
    listed: cython.double[::1],
) -> None:
    """Add the weight of every pair that a ranking orders to wins, or ties (both ways), and of every listing."""
    r: cython.Py_ssize_t
    k: cython.Py_ssize_t
    j: cython.Py_ssize_t
    even: cython.bint = tied.shape[0] > 0
    with cython.nogil:
        for r in range(start.shape[0] - 1):
            w: cython.double = weight[r]
            for k in range(start[r], start[r + 1]):
                i: cython.int = item[k]
                listed[i] += w
                same: cython.bint = even
                for j in range(k + 1, start[r + 1]):
                    same = same and tied[j]
                    if same:
                        ties[i, item[j]] += w
                        ties[item[j], i] += w
                    else:
                        wins[i, item[j]] += w
                for j in range(rest_start[r], rest_start[r + 1]):
                    wins[i, rest[j]] += w
