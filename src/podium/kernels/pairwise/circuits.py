"""Votes redrawn with everyone's wins as they are: won votes are followed from item to item, and circuits reversed."""

import cython


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _walk(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    start: cython.const[cython.longlong][::1],
    won: cython.int[::1],
    uniform: cython.const[cython.double][::1],
    path: cython.longlong[::1],
    step_of: cython.longlong[::1],
    used: cython.longlong,
    begin: cython.longlong,
) -> cython.longlong:
    """Follow won votes from a random item until one is met again; return where on the path the circuit begins, or −1.

    Its slots are in path[begin:], ended by −1. An item that won nothing is a dead end: −1.
    """
    n: cython.longlong = start.shape[0] - 1
    item: cython.longlong = cython.cast(cython.longlong, uniform[used] * n)
    at: cython.longlong = begin
    while step_of[item] < 0 and start[item + 1] > start[item]:
        used += 1
        slot: cython.longlong = start[item] + cython.cast(
            cython.longlong, uniform[used] * (start[item + 1] - start[item])
        )
        path[at] = slot
        step_of[item] = at
        at += 1
        row: cython.int = won[slot]
        item = cython.cast(cython.longlong, left[row]) + right[row] - item
    path[at] = -1
    return step_of[item]  # −1 at a dead end, which was never stepped from


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _length_of(path: cython.longlong[::1], begin: cython.longlong) -> cython.longlong:
    """Number of slots from `begin` on."""
    length: cython.longlong = 0
    while path[begin + length] >= 0:
        length += 1
    return length


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reverse(
    won: cython.int[::1], path: cython.longlong[::1], begin: cython.longlong, end: cython.longlong
) -> cython.bint:
    """Turn the circuit path[begin:end] round; return whether that changes who won against whom.

    The vote that an item's predecessor won against it is now the one that it won.
    """
    before: cython.int = won[path[end - 1]]
    changed: cython.bint = False
    k: cython.longlong
    for k in range(begin, end):
        row: cython.int = won[path[k]]
        changed = changed or row != before
        won[path[k]] = before
        before = row
    return changed


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _restore(
    won: cython.int[::1], path: cython.longlong[::1], begin: cython.longlong, end: cython.longlong
) -> cython.void:
    """Undo `reverse`."""
    first: cython.int = won[path[begin]]
    k: cython.longlong
    for k in range(begin, end - 1):
        won[path[k]] = won[path[k + 1]]
    won[path[end - 1]] = first


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _left_gain(
    left: cython.const[cython.int][::1],
    owner: cython.const[cython.int][::1],
    won: cython.int[::1],
    path: cython.longlong[::1],
    begin: cython.longlong,
    end: cython.longlong,
) -> cython.longlong:
    """How many more votes the left side wins once this circuit is reversed."""
    gain: cython.longlong = 0
    k: cython.longlong
    for k in range(begin, end):
        gain += -1 if left[won[path[k]]] == owner[path[k]] else 1
    return gain


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _wipe(
    owner: cython.const[cython.int][::1],
    path: cython.longlong[::1],
    step_of: cython.longlong[::1],
    begin: cython.longlong,
    end: cython.longlong,
) -> cython.void:
    """Forget the steps of a path."""
    k: cython.longlong
    for k in range(begin, end):
        step_of[owner[path[k]]] = -1


def reverse_circuits(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    start: cython.const[cython.longlong][::1],
    owner: cython.const[cython.int][::1],
    won: cython.int[::1],
    moves: cython.longlong,
    keep_sides: cython.bint,
    uniform: cython.const[cython.double][::1],
    path: cython.longlong[::1],
    step_of: cython.longlong[::1],
    counts: cython.longlong[::1],
) -> None:
    """Make up to `moves` moves on the votes `won`, as far as the random numbers reach.

    won[start[i]:start[i + 1]] holds the row of each vote that item i won, `owner` the item i; row k is between left[k]
    and right[k]. A move goes from a random item along random won votes until it meets an item again, and reverses the
    circuit from there to there: everybody in it still has as many wins. The way to the circuit stays as it is. A
    circuit and its reverse are found with equal chance: in the long run all outcomes with these wins are as likely.

    With `keep_sides` the left side must also win as often as before: if it does not, a second circuit is reversed,
    and if it still does not, both are restored.

    `path` (2n + 4) and `step_of` (n, all −1 before and after) are scratch space. Added to counts: moves made, and moves
    that changed something.
    """
    used: cython.longlong = 0
    need: cython.longlong = 2 * start.shape[0]
    with cython.nogil:
        while moves > 0 and used + need <= uniform.shape[0]:
            moves -= 1
            changed: cython.bint = False
            gain: cython.longlong = 0
            begin: cython.longlong = _walk(left, right, start, won, uniform, path, step_of, used, 0)
            end: cython.longlong = _length_of(path, 0)
            _wipe(owner, path, step_of, 0, end)
            used += end + 1
            if begin >= 0:
                if keep_sides:
                    gain = _left_gain(left, owner, won, path, begin, end)
                changed = _reverse(won, path, begin, end)
            if gain != 0:
                begin_next: cython.longlong = _walk(left, right, start, won, uniform, path, step_of, used, end + 1)
                end_next: cython.longlong = end + 1 + _length_of(path, end + 1)
                _wipe(owner, path, step_of, end + 1, end_next)
                used += end_next - end
                if begin_next >= 0 and gain + _left_gain(left, owner, won, path, begin_next, end_next) == 0:
                    _reverse(won, path, begin_next, end_next)
                else:
                    _restore(won, path, begin, end)
                    changed = False
            counts[0] += 1
            counts[1] += changed


def count_wins(
    left: cython.const[cython.int][::1],
    owner: cython.const[cython.int][::1],
    won: cython.const[cython.int][::1],
    wins: cython.double[::1],
) -> None:
    """Add to wins[k] the votes of row k that its left item won."""
    k: cython.Py_ssize_t
    with cython.nogil:
        for k in range(won.shape[0]):
            if left[won[k]] == owner[k]:
                wins[won[k]] += 1.0
