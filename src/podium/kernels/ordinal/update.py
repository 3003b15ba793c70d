"""One update of a threshold model, exact: the passive-aggressive rules and PRank.

A model is a direction w and sorted thresholds; an example has a score w·x and a label low..high (codes from 0).
Thresholds i < low must lie below the score ("under"), thresholds i >= high above it ("over").
With q = |x|², slack s_i = 1 + theta_i - w·x under and 1 + w·x - theta_i over, the update of each variant is
w += a x with `a` the root of a scalar equation whose right side only falls:

    PA     a            = sum_under max(0, s_i - a q)         - sum_over max(0, s_i + a q)
    PA-I   a            = sum_under min(C, max(0, s_i - a q)) - sum_over min(C, max(0, s_i + a q))
    PA-II  a (1 + 1/2C) = sum_under max(0, s_i - a q)         - sum_over max(0, s_i + a q)

Slacks are signed: a constraint that holds before the update can bind after it. They fall with the distance from
the label because the thresholds are sorted, so no search is needed: see `_root` and `_root_clipped`.

`learn` is all that other kernels call, by the declaration in update.pxd.
"""

import cython
from cython.cimports.libc.math import INFINITY

PA1 = cython.declare(cython.int, 1)
PA2 = cython.declare(cython.int, 2)
PRANK = cython.declare(cython.int, 3)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _reach_down(
    theta: cython.p_double, size: cython.Py_ssize_t, bound: cython.double, count: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """How many of the last thresholds are > bound; `count` is a guess, from which it is not far."""
    while count > 0 and theta[size - count] <= bound:
        count -= 1
    while count < size and theta[size - count - 1] > bound:
        count += 1
    return count


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _reach_up(
    theta: cython.p_double, size: cython.Py_ssize_t, bound: cython.double, count: cython.Py_ssize_t
) -> cython.Py_ssize_t:
    """How many of the first thresholds are <= bound; `count` is a guess, from which it is not far."""
    while count > 0 and theta[count - 1] > bound:
        count -= 1
    while count < size and theta[count] <= bound:
        count += 1
    return count


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _root(
    theta: cython.p_double,
    score: cython.double,
    q: cython.double,
    under: cython.Py_ssize_t,
    over: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    scale: cython.double,
) -> cython.double:
    """`a` of PA (scale 1) and PA-II (scale 1 + 1/2C).

    Grow both active sets from empty, nearest threshold first. Adding one never drives out another: an addition
    under raises a, which only helps those over, and those already under have more slack than the newcomer.
    """
    total: cython.double = 0.0
    weight: cython.double = scale
    i: cython.Py_ssize_t = under - 1
    j: cython.Py_ssize_t = over
    slack: cython.double
    grown: cython.bint = True
    while grown:
        grown = False
        while i >= 0:
            slack = 1.0 + theta[i] - score
            if slack * weight <= q * total:
                break
            total += slack
            weight += q
            i -= 1
            grown = True
        while j < n:
            slack = 1.0 + score - theta[j]
            if slack * weight <= -q * total:
                break
            total -= slack
            weight += q
            j += 1
            grown = True
    return total / weight


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _active(
    theta: cython.p_double,
    score: cython.double,
    C: cython.double,
    sign: cython.double,
    falls: cython.Py_ssize_t,
    rises: cython.Py_ssize_t,
    full: cython.Py_ssize_t,
    kept: cython.Py_ssize_t,
    filled: cython.Py_ssize_t,
    gained: cython.Py_ssize_t,
) -> cython.double:
    """Sum of the multipliers at a = 0 of the sets of `_walk`, the falling side's minus the rising side's."""
    step: cython.Py_ssize_t = -1 if sign > 0 else 1
    k: cython.Py_ssize_t
    total: cython.double = C * (full - filled)
    for k in range(full, kept):
        total += 1.0 + sign * (theta[falls + step * k] - score)
    for k in range(filled, gained):
        total -= 1.0 - sign * (theta[rises - step * k] - score)
    return total


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _walk(
    theta: cython.p_double,
    score: cython.double,
    q: cython.double,
    C: cython.double,
    sign: cython.double,
    falls: cython.Py_ssize_t,
    rises: cython.Py_ssize_t,
    rises_size: cython.Py_ssize_t,
    full: cython.Py_ssize_t,
    kept: cython.Py_ssize_t,
    filled: cython.Py_ssize_t,
    gained: cython.Py_ssize_t,
) -> cython.double:
    """Move sign * a up to the root of PA-I, passing at most two breakpoints per threshold.

    The way up makes the slacks of one side fall and those of the other rise. Numbered from the label outwards, the
    first `full` thresholds of the falling side have multiplier C, those up to `kept` their slack, the rest 0; on the
    rising side likewise `filled` and `gained`. `falls` and `rises` are the thresholds next to the label; `sign` is +1
    when the falling side is the one under the label.
    """
    step: cython.Py_ssize_t = -1 if sign > 0 else 1
    total: cython.double = _active(theta, score, C, sign, falls, rises, full, kept, filled, gained)
    weight: cython.double = 1.0 + q * ((kept - full) + (gained - filled))
    nearest: cython.double
    slack: cython.double
    which: cython.int
    while True:
        # Where the next one comes off C, reaches 0 (falling side), leaves 0, reaches C (rising side).
        slack = 1.0 + sign * (theta[falls + step * (full - 1)] - score) - C if full > 0 else INFINITY
        nearest = slack
        which = 1
        if kept > full:
            slack = 1.0 + sign * (theta[falls + step * (kept - 1)] - score)
            if slack < nearest:
                nearest = slack
                which = 2
        if gained < rises_size:
            slack = -1.0 + sign * (theta[rises - step * gained] - score)
            if slack < nearest:
                nearest = slack
                which = 3
        if filled < gained:
            slack = C - 1.0 + sign * (theta[rises - step * filled] - score)
            if slack < nearest:
                nearest = slack
                which = 4
        if nearest == INFINITY or nearest * weight >= total * q:  # a q = total q / weight comes first
            break
        if which == 1:
            full -= 1
            total += nearest
        elif which == 2:
            kept -= 1
            total -= nearest
        elif which == 3:
            gained += 1
            total += nearest
        else:
            filled += 1
            total -= nearest
        # Counted anew: a running sum would lose the 1 beside a large q.
        weight = 1.0 + q * ((kept - full) + (gained - filled))
    # The running sums have rounding of every step in them: the last word has a fresh sum.
    total = _active(theta, score, C, sign, falls, rises, full, kept, filled, gained)
    return sign * total / (1.0 + q * ((kept - full) + (gained - filled)))


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _pull(
    theta: cython.p_double,
    target: cython.double,
    under: cython.Py_ssize_t,
    over: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    C: cython.double,
    counts: cython.pointer(cython.Py_ssize_t),
) -> cython.double:
    """PA-I's sum of multipliers, under minus over, were the new score `target`.

    Counts how many have C and how many have any multiplier, under and over, starting from the counts given.
    """
    total: cython.double
    k: cython.Py_ssize_t
    counts[0] = _reach_down(theta, under, target - 1.0 + C, counts[0])
    counts[1] = _reach_down(theta, under, target - 1.0, counts[0] if counts[0] > counts[1] else counts[1])
    counts[2] = _reach_up(theta + over, n - over, target + 1.0 - C, counts[2])
    counts[3] = _reach_up(theta + over, n - over, target + 1.0, counts[2] if counts[2] > counts[3] else counts[3])
    total = C * (counts[0] - counts[2])
    for k in range(under - counts[1], under - counts[0]):
        total += 1.0 + theta[k] - target
    for k in range(over + counts[2], over + counts[3]):
        total -= 1.0 + target - theta[k]
    return total


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _root_clipped(
    theta: cython.p_double,
    score: cython.double,
    q: cython.double,
    under: cython.Py_ssize_t,
    over: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
    C: cython.double,
) -> cython.double:
    """`a` of PA-I: count the sets at a = 0, or near the root when they are large, and walk from there."""
    counts: cython.Py_ssize_t[4]
    a: cython.double = 0.0
    gap: cython.double
    counts[0] = counts[1] = counts[2] = counts[3] = 0
    gap = _pull(theta, score, under, over, n, C, counts)
    if counts[1] + counts[3] > 8:  # many: guess the root from how densely they lie, and start there
        density: cython.double = 0.0
        if counts[1] > 0:
            density += counts[1] / (1.0 + theta[under - 1] - score)
        if counts[3] > 0:
            density += counts[3] / (1.0 + score - theta[over])
        a = gap / (1.0 + q * C * density)
        gap = _pull(theta, score + a * q, under, over, n, C, counts) - a
    if gap >= 0.0:
        return _walk(theta, score, q, C, 1.0, under - 1, over, n - over, counts[0], counts[1], counts[2], counts[3])
    return _walk(theta, score, q, C, -1.0, over, under - 1, under, counts[2], counts[3], counts[0], counts[1])


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _move(
    theta: cython.p_double,
    lag: cython.p_double,
    seen: cython.double,
    variant: cython.int,
    C: cython.double,
    scale: cython.double,
    target: cython.double,
    under: cython.Py_ssize_t,
    over: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
) -> cython.void:
    """Move the thresholds, given target = the new score of the example.

    Each rule is a monotone function of the old threshold even in floating point, so the order is kept exactly.
    """
    floor: cython.double = target - 1.0
    ceiling: cython.double = target + 1.0
    i: cython.Py_ssize_t = under - 1
    old: cython.double
    new: cython.double
    shrink: cython.double = 1.0 - 1.0 / scale
    while i >= 0 and theta[i] > floor:
        old = theta[i]
        if variant == PA2:
            new = floor + (old - floor) * shrink
        else:
            new = old - C if old - C > floor else floor
        theta[i] = new
        if lag:
            lag[i] += seen * (new - old)
        i -= 1
    i = over
    while i < n and theta[i] < ceiling:
        old = theta[i]
        if variant == PA2:
            new = ceiling + (old - ceiling) * shrink
        else:
            new = old + C if old + C < ceiling else ceiling
        theta[i] = new
        if lag:
            lag[i] += seen * (new - old)
        i += 1


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _prank(
    theta: cython.p_double,
    lag: cython.p_double,
    seen: cython.double,
    score: cython.double,
    under: cython.Py_ssize_t,
    over: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
) -> cython.double:
    """Crammer and Singer's rule: each threshold on the wrong side of the score moves by one."""
    a: cython.double = 0.0
    i: cython.Py_ssize_t = under - 1
    while i >= 0 and theta[i] >= score:
        theta[i] -= 1.0
        if lag:
            lag[i] -= seen
        a += 1.0
        i -= 1
    i = over
    while i < n and theta[i] <= score:
        theta[i] += 1.0
        if lag:
            lag[i] += seen
        a -= 1.0
        i += 1
    return a


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def learn(
    theta: cython.p_double,
    lag: cython.p_double,
    seen: cython.double,
    variant: cython.int,
    C: cython.double,
    score: cython.double,
    q: cython.double,
    under: cython.Py_ssize_t,
    over: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
) -> cython.double:
    """Move the thresholds for one example with loss; return `a`, the step along x."""
    a: cython.double
    scale: cython.double = 1.0
    if variant == PRANK:
        return _prank(theta, lag, seen, score, under, over, n)
    if variant == PA1:
        a = _root_clipped(theta, score, q, under, over, n, C)
    else:
        if variant == PA2:
            scale = 1.0 + 0.5 / C
        a = _root(theta, score, q, under, over, n, scale)
    _move(theta, lag, seen, variant, C, scale, score + a * q, under, over, n)
    return a
