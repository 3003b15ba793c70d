"""Votes to counts: the pass over the rows that every batch ranker starts from."""

import cython
from cython.cimports.podium.kernels.pairwise.memory import prefetch

AHEAD = cython.declare(cython.Py_ssize_t, 16)  # rows between asking memory for a cell and using it

code = cython.fused_type(cython.int, cython.longlong)
tally = cython.fused_type(cython.int, cython.double)
real = cython.fused_type(cython.float, cython.double)


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
    limit: cython.size_t = n
    with cython.nogil:
        for k in range(left.shape[0]):
            i: cython.size_t = cython.cast(cython.size_t, left[k])  # a negative code becomes huge
            j: cython.size_t = cython.cast(cython.size_t, right[k])
            cell: cython.size_t = i * limit + j
            cell = cell if (i < limit) & (j < limit) else limit * limit
            counts[cell] += 1


def histogram_outcomes(
    left: cython.const[code][::1],
    right: cython.const[code][::1],
    outcome: cython.const[cython.schar][::1],
    counts: cython.uint[::1],
    n: cython.Py_ssize_t,
) -> None:
    """The same for rows with an outcome of -1, 0 or 1: three tables one after the other, then the cell of bad rows."""
    k: cython.Py_ssize_t
    limit: cython.size_t = n
    with cython.nogil:
        for k in range(left.shape[0]):
            i: cython.size_t = cython.cast(cython.size_t, left[k])
            j: cython.size_t = cython.cast(cython.size_t, right[k])
            cell: cython.size_t = (cython.cast(cython.size_t, outcome[k] + 1) * limit + i) * limit + j
            cell = cell if (i < limit) & (j < limit) else 3 * limit * limit
            counts[cell] += 1


def first_bad_row(
    left: cython.const[code][::1],
    right: cython.const[code][::1],
    n: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """Return the first row with a code outside 0..n-1 or an item against itself; -1 when all are good."""
    k: cython.Py_ssize_t
    bad: cython.Py_ssize_t = -1
    limit: cython.size_t = n
    with cython.nogil:
        for k in range(left.shape[0]):
            i: cython.size_t = cython.cast(cython.size_t, left[k])
            j: cython.size_t = cython.cast(cython.size_t, right[k])
            if (i >= limit) | (j >= limit) | (i == j):
                bad = k
                break
    return bad


def lay_out_wins(
    winner: cython.const[code][::1],
    loser: cython.const[code][::1],
    start: cython.longlong[::1],
    position: cython.int[::1],
    partner: cython.uint[::1],
    wins: cython.float[::1],
    total: cython.float[::1],
) -> cython.Py_ssize_t:
    """Lay rows "winner beat loser" out by item, both ways, equal partners merged; return how many entries.

    A counting sort by item, then one walk per item that finds a partner's slot through `position`: no comparison
    sort, O(rows + n), one random write a row and side. `start` (n + 2) is zero and `position` (n) is -1 on entry;
    the other outputs have two cells per row, of which the first `entries` are filled. Counts must stay below 2**24.
    """
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    n: cython.Py_ssize_t = position.shape[0]
    rows: cython.Py_ssize_t = winner.shape[0]
    slot: cython.Py_ssize_t
    begin: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t
    fill: cython.Py_ssize_t = 0
    word: cython.uint
    with cython.nogil:
        # Counts are kept two places ahead, so that after the scatter start[i + 1] is where segment i ends.
        for k in range(rows):
            if k + AHEAD < rows:
                prefetch(cython.address(start[winner[k + AHEAD] + 2]))
                prefetch(cython.address(start[loser[k + AHEAD] + 2]))
            start[winner[k] + 2] += 1
            start[loser[k] + 2] += 1
        for i in range(n):
            start[i + 2] += start[i + 1]
        for k in range(rows):
            if k + 2 * AHEAD < rows:
                prefetch(cython.address(start[winner[k + 2 * AHEAD] + 1]))
                prefetch(cython.address(start[loser[k + 2 * AHEAD] + 1]))
                prefetch(cython.address(partner[start[winner[k + AHEAD] + 1]]))
                prefetch(cython.address(partner[start[loser[k + AHEAD] + 1]]))
            # The partner and, in the last bit, whether the owner won, share a word.
            slot = start[winner[k] + 1]
            start[winner[k] + 1] = slot + 1
            partner[slot] = (cython.cast(cython.uint, loser[k]) << 1) | 1
            slot = start[loser[k] + 1]
            start[loser[k] + 1] = slot + 1
            partner[slot] = cython.cast(cython.uint, winner[k]) << 1
        for i in range(n):
            end = start[i + 1]
            first: cython.Py_ssize_t = fill
            for k in range(begin, end):
                if k + AHEAD < 2 * rows:
                    prefetch(cython.address(position[partner[k + AHEAD] >> 1]))
                word = partner[k]
                j: cython.Py_ssize_t = word >> 1
                slot = position[j]
                if slot < first:  # a first meeting: slots only grow, so older ones lie below `first`
                    slot = fill
                    position[j] = cython.cast(cython.int, fill)
                    partner[slot] = word >> 1  # writes never overtake reads: slot <= k
                    wins[slot] = 0.0
                    total[slot] = 0.0
                    fill += 1
                wins[slot] += word & 1
                total[slot] += 1.0
            begin = end
            start[i + 1] = fill
    return fill


def pair_slots(
    left: cython.const[code][::1],
    right: cython.const[code][::1],
    sided: cython.bint,
    start: cython.longlong[::1],
    position: cython.longlong[::1],
    order: cython.longlong[::1],
    slots: cython.longlong[::1],
    first_row: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Number the distinct pairs and give each row its pair's number; return how many pairs.

    Pairs are unordered unless `sided`. `first_row[s]` is a row of pair s. `start` (n + 1) is zero and
    `position` (n) is -1 on entry.
    """
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    row: cython.Py_ssize_t
    n: cython.Py_ssize_t = position.shape[0]
    rows: cython.Py_ssize_t = left.shape[0]
    begin: cython.Py_ssize_t = 0
    end: cython.Py_ssize_t
    first: cython.Py_ssize_t
    fill: cython.Py_ssize_t = 0
    with cython.nogil:
        for k in range(rows):
            i = left[k] if sided or left[k] < right[k] else right[k]
            start[i + 1] += 1
        for i in range(n):
            start[i + 1] += start[i]
        for k in range(rows):
            i = left[k] if sided or left[k] < right[k] else right[k]
            order[start[i]] = k
            start[i] += 1
        for i in range(n):
            end = start[i]
            first = fill
            for k in range(begin, end):
                row = order[k]
                j = right[row] if sided or left[row] < right[row] else left[row]
                if position[j] < first:
                    position[j] = fill
                    first_row[fill] = row
                    fill += 1
                slots[row] = position[j]
            begin = end
    return fill


def lay_out_pairs(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    left_wins: cython.const[tally][::1],
    right_wins: cython.const[tally][::1],
    ties: cython.const[tally][::1],
    start: cython.longlong[::1],
    partner: cython.int[::1],
    wins: cython.double[::1],
    total: cython.double[::1],
) -> None:
    """Lay pairs out by item, both ways: item i's partners are partner[start[i]:start[i + 1]].

    `wins` is what i took of the `total`, a tie counting half. `start` (n + 2) is zero on entry.
    """
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    with cython.nogil:
        for k in range(left.shape[0]):
            start[left[k] + 2] += 1
            start[right[k] + 2] += 1
        for i in range(start.shape[0] - 2):
            start[i + 2] += start[i + 1]
        for k in range(left.shape[0]):
            half: cython.double = 0.5 * ties[k]
            weight: cython.double = left_wins[k] + right_wins[k] + 2.0 * half
            slot = start[left[k] + 1]
            start[left[k] + 1] = slot + 1
            partner[slot] = right[k]
            wins[slot] = left_wins[k] + half
            total[slot] = weight
            slot = start[right[k] + 1]
            start[right[k] + 1] = slot + 1
            partner[slot] = left[k]
            wins[slot] = right_wins[k] + half
            total[slot] = weight


def item_sums(
    start: cython.const[cython.longlong][::1],
    wins: cython.const[real][::1],
    total: cython.const[real][::1],
    points: cython.double[::1],
    votes: cython.double[::1],
    won: cython.uchar[::1],
    lost: cython.uchar[::1],
) -> None:
    """Sum what each item took, and the weight of its votes; note whether it ever won or lost (a tie is both)."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    with cython.nogil:
        for i in range(points.shape[0]):
            took: cython.double = 0.0
            weight: cython.double = 0.0
            some_won: cython.bint = False
            some_lost: cython.bint = False
            for k in range(start[i], start[i + 1]):
                took += wins[k]
                weight += total[k]
                some_won |= wins[k] > 0
                some_lost |= wins[k] < total[k]
            points[i] = took
            votes[i] = weight
            won[i] = some_won
            lost[i] = some_lost
