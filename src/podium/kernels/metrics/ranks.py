"""Where the relevant labels of each row land in its ranking, by counting or by sorting.

A row is a list of scores; its relevant labels are positions in that list with a value above 0 (position -1: the label
is relevant but was not ranked at all). `offsets` cut the flat scores into rows, `starts` cut the relevant labels.
"""

import cython
from cython.cimports.libc.float import DBL_MAX
from cython.cimports.libc.math import fabs
from cython.cimports.libc.string import memcpy

real = cython.fused_type(cython.float, cython.double)
number = cython.fused_type(cython.schar, cython.int, cython.longlong, cython.float, cython.double)

LABEL = cython.declare(cython.int, 0)  # of ties: label, average, worst


def count_nonzero(relevance: cython.const[number][:, ::1], starts: cython.longlong[::1]) -> None:
    """Fill `starts` (rows + 1) with the running number of non-zero cells."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    total: cython.longlong = 0
    width: cython.Py_ssize_t = relevance.shape[1]
    with cython.nogil:
        starts[0] = 0
        for i in range(relevance.shape[0]):
            here: cython.longlong = 0
            for j in range(width):
                here += relevance[i, j] != 0
            total += here
            starts[i + 1] = total


def gather_nonzero(
    relevance: cython.const[number][:, ::1],
    starts: cython.const[cython.longlong][::1],
    position: cython.int[::1],
    value: cython.double[::1],
) -> None:
    """List the non-zero cells of each row: position in the row, and value."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    end: cython.Py_ssize_t
    with cython.nogil:
        for i in range(relevance.shape[0]):
            k = starts[i]
            end = starts[i + 1]
            j = 0
            while k < end:  # written whether it counts or not: no branch to mispredict
                position[k] = cython.cast(cython.int, j)
                value[k] = cython.cast(cython.double, relevance[i, j])
                k += relevance[i, j] != 0
                j += 1


def summary(value: cython.const[cython.double][::1], out: cython.double[::1]) -> None:
    """out: the smallest and the largest value, and 1 if all are whole numbers (NaN is not)."""
    k: cython.Py_ssize_t
    low: cython.double = value[0]
    high: cython.double = value[0]
    odd: cython.longlong = 0
    with cython.nogil:
        for k in range(value.shape[0]):
            low = value[k] if value[k] < low else low
            high = value[k] if value[k] > high else high
            odd += 0 if cython.cast(cython.double, cython.cast(cython.int, value[k])) == value[k] else 1
    out[0] = low
    out[1] = high
    out[2] = 1.0 if odd == 0 else 0.0


def count_places(
    scores: cython.const[real][::1],
    offsets: cython.const[cython.longlong][::1],
    starts: cython.const[cython.longlong][::1],
    position: cython.const[cython.int][::1],
    ties: cython.int,
    ahead: cython.int[::1],
    tied: cython.int[::1],
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
) -> None:
    """For rows first..last-1 count the labels ahead of each relevant one: one comparison per score and relevant label.

    With ties = LABEL an equal score counts as ahead when its label is smaller, and `tied` is 1. Otherwise `ahead`
    counts larger scores only, `tied` the equal ones (itself included). A label that was not ranked gets tied = 0.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    at: cython.Py_ssize_t
    begin: cython.Py_ssize_t
    end: cython.Py_ssize_t
    above: cython.longlong
    level: cython.longlong
    mine: real
    row: cython.pointer(cython.const[real])
    base: cython.Py_ssize_t = starts[first]
    with cython.nogil:
        for i in range(first, last):
            begin = offsets[i]
            end = offsets[i + 1]
            for k in range(starts[i], starts[i + 1]):
                if position[k] < 0:
                    ahead[k - base] = cython.cast(cython.int, end - begin)
                    tied[k - base] = 0
                    continue
                at = position[k]
                row = cython.address(scores[begin])
                mine = row[at]
                above = 0
                if ties == LABEL:
                    for j in range(at):
                        above += 1 if row[j] >= mine else 0
                    for j in range(at + 1, end - begin):
                        above += 1 if row[j] > mine else 0
                    tied[k - base] = 1
                else:
                    level = 0
                    for j in range(end - begin):
                        above += 1 if row[j] > mine else 0
                        level += 1 if row[j] >= mine else 0
                    tied[k - base] = cython.cast(cython.int, level - above)
                ahead[k - base] = cython.cast(cython.int, above)


def pack(scores: cython.const[real][:, ::1], bits: cython.int, keys: cython.double[:, ::1]) -> None:
    """Copy the scores with their lowest `bits` bits replaced by the label: sorting the keys then sorts the labels.

    Keys rise with the score and, where the rest of the score is equal, fall with the label. Sorting plain numbers is
    two to three times as fast as sorting indices by number.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    score: cython.double
    word: cython.ulonglong
    negative: cython.ulonglong
    width: cython.Py_ssize_t = scores.shape[1]
    last: cython.ulonglong = width - 1
    mask: cython.ulonglong = (cython.cast(cython.ulonglong, 1) << bits) - 1
    with cython.nogil:
        for i in range(scores.shape[0]):
            for j in range(width):
                score = cython.cast(cython.double, scores[i, j]) + 0.0  # -0.0 becomes 0.0
                if fabs(score) > DBL_MAX:  # an infinity with a label in it would be NaN
                    score = DBL_MAX if score > 0 else -DBL_MAX
                memcpy(cython.address(word), cython.address(score), 8)
                negative = word >> 63
                word = (word & ~mask) | (last - j + negative * (2 * j - last))  # j, or last - j
                memcpy(cython.address(keys[i, j]), cython.address(word), 8)


def unpack(
    scores: cython.const[real][:, ::1],
    keys: cython.const[cython.double][:, ::1],
    bits: cython.int,
    starts: cython.const[cython.longlong][::1],
    position: cython.const[cython.int][::1],
    ties: cython.int,
    ahead: cython.int[::1],
    tied: cython.int[::1],
    order: cython.int[::1],
    lists: cython.int[:, ::1],
    tangled: cython.uchar[::1],
) -> None:
    """As `count_places`, from the sorted keys of `pack`.

    Scores that differ in the replaced bits only are put right by looking at the scores themselves. Rows where that
    would take long are marked in `tangled` and left to the caller.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    t: cython.Py_ssize_t
    u: cython.Py_ssize_t
    label: cython.int
    key: cython.double
    word: cython.ulonglong
    before: cython.ulonglong
    code: cython.ulonglong
    negative: cython.ulonglong
    last: cython.ulonglong = scores.shape[1] - 1
    moved: cython.Py_ssize_t
    width: cython.Py_ssize_t = scores.shape[1]
    mask: cython.ulonglong = (cython.cast(cython.ulonglong, 1) << bits) - 1
    base: cython.Py_ssize_t = starts[0]
    place: cython.p_int = cython.address(lists[0, 0])
    size: cython.p_int = cython.address(lists[1, 0])
    with cython.nogil:
        for i in range(scores.shape[0]):
            before = 0
            moved = 0
            for t in range(width):
                key = keys[i, width - 1 - t]
                memcpy(cython.address(word), cython.address(key), 8)
                negative = word >> 63
                code = word & mask
                label = cython.cast(cython.int, last - code + negative * (2 * code - last))
                order[t] = label
                if (word ^ before) & ~mask == 0 and t > 0:
                    u = t
                    while u > 0 and scores[i, order[u - 1]] < scores[i, label]:
                        order[u] = order[u - 1]
                        u -= 1
                    while u > 0 and scores[i, order[u - 1]] == scores[i, label] and order[u - 1] > label:
                        order[u] = order[u - 1]
                        u -= 1
                    order[u] = label
                    moved += t - u
                    if moved > 8 * width:
                        break
                before = word
            tangled[i] = moved > 8 * width
            if moved > 8 * width:
                continue
            from_order(cython.address(scores[i, 0]), width, cython.address(order[0]), ties, place, size)
            for k in range(starts[i] - base, starts[i + 1] - base):
                ahead[k] = place[position[k]]
                tied[k] = 1 if ties == LABEL else size[position[k]]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def from_order(
    scores: cython.pointer(cython.const[real]),
    width: cython.Py_ssize_t,
    order: cython.p_int,
    ties: cython.int,
    place: cython.p_int,
    size: cython.p_int,
) -> cython.void:
    """How many labels are ahead of each label, and how many share its score, from the labels in rank order."""
    t: cython.Py_ssize_t
    u: cython.Py_ssize_t
    stop: cython.Py_ssize_t
    if ties == LABEL:
        for t in range(width):
            place[order[t]] = cython.cast(cython.int, t)
        return
    t = 0
    while t < width:
        stop = t + 1
        while stop < width and scores[order[stop]] == scores[order[t]]:
            stop += 1
        for u in range(t, stop):
            place[order[u]] = cython.cast(cython.int, t)
            size[order[u]] = cython.cast(cython.int, stop - t)
        t = stop


def places_from_order(
    scores: cython.const[real][::1],
    order: cython.int[::1],
    position: cython.const[cython.int][::1],
    ties: cython.int,
    ahead: cython.int[::1],
    tied: cython.int[::1],
    lists: cython.int[:, ::1],
) -> None:
    """As `count_places` for one row whose labels were put in rank order already."""
    k: cython.Py_ssize_t
    with cython.nogil:
        from_order(
            cython.address(scores[0]),
            scores.shape[0],
            cython.address(order[0]),
            ties,
            cython.address(lists[0, 0]),
            cython.address(lists[1, 0]),
        )
        for k in range(position.shape[0]):
            ahead[k] = lists[0, position[k]]
            tied[k] = 1 if ties == LABEL else lists[1, position[k]]
