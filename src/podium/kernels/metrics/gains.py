"""From the places of the relevant labels of each row to everything a ranking metric is made of.

A row is sorted (metrics_sort.py), measured (`exact_gains`, or `mean_gains` over ties) and set beside the best ranking
of the same labels (`best_possible`). Loss and gain formulas are not here (metrics/formulas.py): these loops give their
ingredients, a line of columns for each row of scores.
"""

import cython
from cython.cimports.podium.kernels.metrics.sort import order_labels, sort_counting, write_in_place

# Columns of `statistics`; metrics/formulas.py reads them by the same numbers. WIDTH more follow for each cut-off.
COUNT = cython.declare(cython.int, 0)
AP = cython.declare(cython.int, 1)
RR = cython.declare(cython.int, 2)
BAD = cython.declare(cython.int, 3)
PAIRS = cython.declare(cython.int, 4)
DCG = cython.declare(cython.int, 5)
IDCG = cython.declare(cython.int, 6)
TOTAL = cython.declare(cython.int, 7)
BASE = cython.declare(cython.int, 8)
CUT_RANKSUM = cython.declare(cython.int, 0)
CUT_RANKSUM_BEST = cython.declare(cython.int, 1)
CUT_VALUE = cython.declare(cython.int, 2)
CUT_VALUE_BEST = cython.declare(cython.int, 3)
CUT_HIT = cython.declare(cython.int, 4)
CUT_DCG = cython.declare(cython.int, 5)
CUT_IDCG = cython.declare(cython.int, 6)
CUT_RR = cython.declare(cython.int, 7)
WIDTH = cython.declare(cython.int, 8)

LABEL = cython.declare(cython.int, 0)
AVERAGE = cython.declare(cython.int, 1)
WORST = cython.declare(cython.int, 2)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def best_possible(
    n: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    levels: cython.int,
    value: cython.p_double,
    gain: cython.p_double,
    running: cython.pointer(cython.const[cython.double]),
    cuts: cython.pointer(cython.const[cython.longlong]),
    n_cuts: cython.Py_ssize_t,
    out: cython.p_double,
) -> cython.void:
    """Normalisers: the statistics of the ranking that puts `value` (falling, with gains `gain`) first."""
    c: cython.Py_ssize_t
    k: cython.Py_ssize_t
    inside: cython.Py_ssize_t
    run: cython.double = 1.0
    same: cython.double = 0.0
    total: cython.double = 0.0
    worth: cython.double = 0.0
    top: cython.double
    ranksum: cython.double
    dcg: cython.double
    if levels == 1:
        same = 0.5 * n * (n - 1.0)
        worth = n
        total = running[n]
    else:
        for k in range(n):
            worth += value[k]
            total += gain[k] * (running[k + 1] - running[k])
            if k > 0:
                run = run + 1.0 if value[k] == value[k - 1] else 1.0
                same += run - 1.0
    out[IDCG] = total
    out[TOTAL] = worth
    out[PAIRS] = 0.5 * n * (n - 1.0) - same + cython.cast(cython.double, n) * (width - n)
    for c in range(n_cuts):
        inside = min(n, cuts[c])
        top = 0.0
        ranksum = 0.0
        dcg = 0.0
        if levels == 1:
            top = inside
            ranksum = 0.5 * inside * (inside + 1.0)
            dcg = running[inside]
        else:
            for k in range(inside):
                top += value[k]
                ranksum += value[k] * (k + 1)
                dcg += gain[k] * (running[k + 1] - running[k])
        out[BASE + c * WIDTH + CUT_RANKSUM_BEST] = ranksum + (worth - top) * (cuts[c] + 1)
        out[BASE + c * WIDTH + CUT_VALUE_BEST] = top
        out[BASE + c * WIDTH + CUT_IDCG] = dcg


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def exact_gains(
    n: cython.Py_ssize_t,
    ranked: cython.Py_ssize_t,
    rank: cython.p_int,
    value: cython.p_double,
    gain: cython.p_double,
    discount: cython.pointer(cython.const[cython.double]),
    cuts: cython.pointer(cython.const[cython.longlong]),
    n_cuts: cython.Py_ssize_t,
    out: cython.p_double,
) -> cython.void:
    """Statistics from exact ranks, ascending; only the first `ranked` labels of n were ranked at all."""
    c: cython.Py_ssize_t
    k: cython.Py_ssize_t
    p: cython.longlong
    ap: cython.double = 0.0
    bad: cython.double = 0.0
    total: cython.double = 0.0
    worth: cython.double = 0.0
    for k in range(ranked):
        ap += (k + 1.0) / rank[k]
        total += gain[k] * discount[rank[k] - 1]
    for k in range(n):
        worth += value[k]
        bad += rank[k] - 1 - k  # irrelevant labels ahead of this one
    out[AP] = ap / n
    out[RR] = 1.0 / rank[0] if ranked > 0 else 0.0
    out[BAD] = bad
    out[DCG] = total
    for c in range(n_cuts):
        p = cuts[c]
        top: cython.double = 0.0
        ranksum: cython.double = 0.0
        dcg: cython.double = 0.0
        k = 0
        while k < ranked and rank[k] <= p:
            top += value[k]
            ranksum += value[k] * rank[k]
            dcg += gain[k] * discount[rank[k] - 1]
            k += 1
        out[BASE + c * WIDTH + CUT_HIT] = 1.0 if k > 0 else 0.0
        out[BASE + c * WIDTH + CUT_RR] = out[RR] if k > 0 else 0.0
        out[BASE + c * WIDTH + CUT_RANKSUM] = ranksum + (worth - top) * (p + 1)
        out[BASE + c * WIDTH + CUT_VALUE] = top
        out[BASE + c * WIDTH + CUT_DCG] = dcg


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def first_hit(
    m: cython.double,
    start: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    inside: cython.Py_ssize_t,
    none: cython.p_double,
) -> cython.double:
    """Expected 1 / rank of the first of m relevant labels among `size` tied ones, 0 when beyond the first `inside`.

    `none` receives the chance that none of them is inside; `start` labels are ahead of them all.
    """
    i: cython.Py_ssize_t
    chance: cython.double
    low: cython.double = 1.0  # chance that no relevant label came yet
    rr: cython.double = 0.0
    for i in range(inside):
        chance = min(m / (size - i), 1.0)
        rr += low * chance / (start + i + 1.0)
        low *= 1.0 - chance
    none[0] = low
    return rr


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def mean_gains(
    n: cython.Py_ssize_t,
    ranked: cython.Py_ssize_t,
    rank: cython.p_int,
    tied: cython.p_int,
    value: cython.p_double,
    gain: cython.p_double,
    running: cython.pointer(cython.const[cython.double]),
    cuts: cython.pointer(cython.const[cython.longlong]),
    n_cuts: cython.Py_ssize_t,
    out: cython.p_double,
) -> cython.void:
    """Expected statistics when tied labels are shuffled; `running[k]` is the sum of the first k discounts.

    McSherry and Najork (2008), "Computing information retrieval performance measures efficiently in the presence of
    tied scores", extended to the rank sum, the number of bad pairs and the chance of a hit.
    """
    c: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    end: cython.Py_ssize_t
    start: cython.Py_ssize_t
    size: cython.Py_ssize_t
    inside: cython.Py_ssize_t
    p: cython.longlong
    low: cython.double = 1.0
    ap: cython.double = 0.0
    rr: cython.double = 0.0
    bad: cython.double = 0.0
    total: cython.double = 0.0
    k = 0
    while k < ranked:
        start = rank[k] - 1
        size = tied[k]
        end = k
        worth: cython.double = 0.0
        gains: cython.double = 0.0
        unequal: cython.double = 0.0
        run: cython.double = 0.0
        while end < ranked and rank[end] == rank[k]:
            worth += value[end]
            gains += gain[end]
            run = run + 1.0 if end > k and value[end] == value[end - 1] else 1.0
            unequal += (end - k + 1) - run
            end += 1
        m: cython.double = end - k  # relevant labels in this group of `size` equal scores
        slope: cython.double = (m - 1.0) / (size - 1.0) if size > 1 else 0.0
        for i in range(size):
            ap += m / size * (k + 1.0 + i * slope) / (start + i + 1.0)
        if k == 0:
            rr = first_hit(m, start, size, size, cython.address(low))
        bad += m * (start - k) + 0.5 * m * (size - m) + 0.5 * unequal
        total += gains * (running[start + size] - running[start]) / size
        for c in range(n_cuts):
            p = cuts[c]
            inside = max(min(p - start, size), 0)
            out[BASE + c * WIDTH + CUT_VALUE] += worth * inside / size
            out[BASE + c * WIDTH + CUT_DCG] += gains * (running[start + inside] - running[start]) / size
            out[BASE + c * WIDTH + CUT_RANKSUM] += (
                worth * (inside * (start + 0.5 * (inside + 1.0)) + (size - inside) * (p + 1.0)) / size
            )
            if k == 0:
                out[BASE + c * WIDTH + CUT_RR] = first_hit(m, start, size, inside, cython.address(low))
                out[BASE + c * WIDTH + CUT_HIT] = 1.0 - low
        k = end
    for k in range(ranked, n):  # not ranked: behind everything that was
        bad += rank[k] - 1 - ranked
        for c in range(n_cuts):
            out[BASE + c * WIDTH + CUT_RANKSUM] += value[k] * (cuts[c] + 1.0)
    out[AP] = ap / n
    out[RR] = rr
    out[BAD] = bad
    out[DCG] = total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def take_last_places(ranked: cython.Py_ssize_t, rank: cython.p_int, size: cython.p_int) -> cython.void:
    """Give the relevant labels of each group of equal scores the last ranks of the group, in their order."""
    k: cython.Py_ssize_t = 0
    stop: cython.Py_ssize_t
    at: cython.Py_ssize_t
    end: cython.int
    while k < ranked:
        stop = k
        while stop < ranked and rank[stop] == rank[k]:
            stop += 1
        end = rank[k] + size[k] - 1
        for at in range(stop - 1, k - 1, -1):
            rank[at] = end
            end -= 1
        k = stop


def statistics(
    widths: cython.const[cython.longlong][::1],
    starts: cython.const[cython.longlong][::1],
    value: cython.const[cython.double][::1],
    gain: cython.const[cython.double][::1],
    ties: cython.int,
    levels: cython.int,
    level_gain: cython.const[cython.double][::1],
    discount: cython.const[cython.double][::1],
    running: cython.const[cython.double][::1],
    cuts: cython.const[cython.longlong][::1],
    ahead: cython.int[::1],
    tied: cython.int[::1],
    lists: cython.int[:, ::1],
    held: cython.double[:, ::1],
    out: cython.double[:, ::1],
) -> None:
    """Fill one row of `out` (all 0 before) per row of scores; columns as named at the top of this module.

    `starts` begins where `value`, `ahead` and `tied` begin. `levels` is 1 when every value is 1, the largest value
    when all are whole numbers up to 31, else 0; gains are in `level_gain` by value or, with levels = 0, in `gain`.
    `lists` (4, all 0) and `held` (3) have one column more than the longest row has scores or relevant labels.
    `discount[0]` belongs to rank 1, and running[k] is the sum of the first k.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    n: cython.Py_ssize_t
    here: cython.Py_ssize_t
    ranked: cython.Py_ssize_t
    base: cython.Py_ssize_t = starts[0]
    n_cuts: cython.Py_ssize_t = cuts.shape[0]
    tally: cython.int[32]
    order: cython.p_int = cython.address(lists[0, 0])
    spare: cython.p_int = cython.address(lists[1, 0])
    rank: cython.p_int = cython.address(lists[2, 0])
    size: cython.p_int = cython.address(lists[3, 0])
    values: cython.p_double = cython.address(held[0, 0])
    gains: cython.p_double = cython.address(held[1, 0])
    room: cython.p_double = cython.address(held[2, 0])
    first_discount: cython.pointer(cython.const[cython.double]) = cython.address(discount[0])
    first_running: cython.pointer(cython.const[cython.double]) = cython.address(running[0])
    first_cut: cython.pointer(cython.const[cython.longlong]) = cython.address(cuts[0])
    row: cython.p_double
    with cython.nogil:
        for i in range(widths.shape[0]):
            here = starts[i] - base
            n = starts[i + 1] - base - here
            row = cython.address(out[i, 0])
            row[COUNT] = n
            if n == 0:
                continue
            ranked = 0
            for k in range(n):
                ranked += tied[here + k] != 0
            if n == 1:
                order[0] = 0
            elif ties == LABEL and ranked == n and n > 8 and 16 * n > widths[i]:
                write_in_place(n, widths[i], cython.address(ahead[here]), order, spare)
            else:
                order_labels(
                    n,
                    cython.address(ahead[here]),
                    cython.address(tied[here]),
                    cython.address(value[here]),
                    ties == AVERAGE,
                    order,
                    rank,
                )
            for k in range(n):
                values[k] = value[here + order[k]]
                gains[k] = gain[here + order[k]] if levels == 0 else level_gain[cython.cast(cython.int, values[k])]
                rank[k] = ahead[here + order[k]] + 1
                size[k] = tied[here + order[k]]
            if ties == AVERAGE:
                mean_gains(n, ranked, rank, size, values, gains, first_running, first_cut, n_cuts, row)
            else:
                if ties == WORST:
                    take_last_places(ranked, rank, size)
                for k in range(ranked, n):
                    rank[k] = cython.cast(cython.int, widths[i] + 1 + k - ranked)
                exact_gains(n, ranked, rank, values, gains, first_discount, first_cut, n_cuts, row)
            if levels != 1 and n > 1:  # else all are worth the same, and in order
                row[BAD] += sort_counting(n, values, room, levels, cython.address(tally[0]))
                if levels == 0:
                    sort_counting(n, gains, room, 0, cython.address(tally[0]))
                else:
                    for k in range(n):
                        gains[k] = level_gain[cython.cast(cython.int, values[k])]
            best_possible(n, widths[i] + n - ranked, levels, values, gains, first_running, first_cut, n_cuts, row)
