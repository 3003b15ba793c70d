"""Threshold models, one example at a time: the exact passive-aggressive updates and PRank.

A model is a direction w and sorted thresholds; an example has a score w·x and a label low..high (codes from 0).
Thresholds i < low must lie below the score ("under"), thresholds i >= high above it ("over").
With q = |x|², slack s_i = 1 + theta_i - w·x under and 1 + w·x - theta_i over, the update of each variant is
w += a x with `a` the root of a scalar equation whose right side only falls:

    PA     a            = sum_under max(0, s_i - a q)         - sum_over max(0, s_i + a q)
    PA-I   a            = sum_under min(C, max(0, s_i - a q)) - sum_over min(C, max(0, s_i + a q))
    PA-II  a (1 + 1/2C) = sum_under max(0, s_i - a q)         - sum_over max(0, s_i + a q)

Slacks are signed: a constraint that holds before the update can bind after it. They fall with the distance from
the label because the thresholds are sorted, so no search is needed: see `_root` and `_root_clipped`.

Averages cost nothing per example without an update: beside w the kernels keep lag = sum_t (t - 1) a_t x_t, and the
mean of w over T examples is w - lag / T.
"""

import cython
from cython.cimports.libc.math import INFINITY

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)

PA = cython.declare(cython.int, 0)
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
    total: cython.double = C * (full - filled)
    weight: cython.double = 1.0 + q * ((kept - full) + (gained - filled))
    k: cython.Py_ssize_t
    nearest: cython.double
    slack: cython.double
    which: cython.int
    for k in range(full, kept):
        total += 1.0 + sign * (theta[falls + step * k] - score)
    for k in range(filled, gained):
        total -= 1.0 - sign * (theta[rises - step * k] - score)
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
        if nearest * weight >= total * q:  # a q = total q / weight comes first
            break
        if which == 1:
            full -= 1
            total += nearest
            weight += q
        elif which == 2:
            kept -= 1
            total -= nearest
            weight -= q
        elif which == 3:
            gained += 1
            total += nearest
            weight += q
        else:
            filled += 1
            total -= nearest
            weight -= q
    # The running sums have rounding of every step in them: the last word has a fresh sum.
    total = C * (full - filled)
    for k in range(full, kept):
        total += 1.0 + sign * (theta[falls + step * k] - score)
    for k in range(filled, gained):
        total -= 1.0 - sign * (theta[rises - step * k] - score)
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
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _learn(
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


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _grade(
    theta: cython.p_double,
    score: cython.double,
    under: cython.Py_ssize_t,
    over: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
) -> cython.Py_ssize_t:
    """How many thresholds are <= score: the predicted grade, looked for from the label outwards."""
    grade: cython.Py_ssize_t = under
    if grade > 0 and theta[grade - 1] > score:
        grade -= 1
        while grade > 0 and theta[grade - 1] > score:
            grade -= 1
        return grade
    while grade < n and theta[grade] <= score:
        grade += 1
    return grade


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _content(
    theta: cython.p_double,
    score: cython.double,
    under: cython.Py_ssize_t,
    over: cython.Py_ssize_t,
    n: cython.Py_ssize_t,
) -> cython.bint:
    """Whether the two thresholds next to the label keep their distance of 1, and so all do: no loss."""
    return (under == 0 or theta[under - 1] <= score - 1.0) and (over == n or theta[over] >= score + 1.0)


def pass_dense(
    X: cython.const[real][:, ::1],
    low: cython.const[cython.int][::1],
    high: cython.const[cython.int][::1],
    C: cython.const[cython.double][::1],
    order: cython.const[cython.longlong][::1],
    w: cython.double[::1],
    theta: cython.double[::1],
    w_lag: cython.double[::1],
    theta_lag: cython.double[::1],
    predicted: cython.int[::1],
    totals: cython.double[::1],
    variant: cython.int,
    seen: cython.longlong,
) -> cython.longlong:
    """Learn from the rows of X in `order` (all of them in turn when empty); return how many updates there were.

    `C` has one value, or one a row where 0 skips the row. Empty lags mean no averaging. `predicted`, when not
    empty, receives each row's grade before its update. Adds the absolute errors and the number of rows to
    `totals`. `seen` examples came before.

    Stops at a row r with NaN or infinity and returns -1 - r; what was learned until then must be thrown away.
    """
    t: cython.Py_ssize_t
    r: cython.Py_ssize_t
    j: cython.Py_ssize_t
    d: cython.Py_ssize_t = X.shape[1]
    whole: cython.Py_ssize_t = d - d % 4
    n: cython.Py_ssize_t = theta.shape[0]
    rows: cython.Py_ssize_t = order.shape[0] if order.shape[0] > 0 else X.shape[0]
    ordered: cython.bint = order.shape[0] > 0
    one: cython.bint = C.shape[0] == 1
    keep: cython.bint = predicted.shape[0] > 0
    thresholds: cython.p_double = cython.address(theta[0])
    lag: cython.p_double = cython.address(theta_lag[0]) if theta_lag.shape[0] > 0 else cython.NULL
    under: cython.Py_ssize_t
    over: cython.Py_ssize_t
    grade: cython.Py_ssize_t
    c: cython.double
    s0: cython.double
    s1: cython.double
    s2: cython.double
    s3: cython.double
    q0: cython.double
    q1: cython.double
    q2: cython.double
    q3: cython.double
    x0: cython.double
    x1: cython.double
    x2: cython.double
    x3: cython.double
    score: cython.double
    a: cython.double
    late: cython.double
    errors: cython.double = 0.0
    updates: cython.longlong = 0
    first: cython.longlong = seen
    with cython.nogil:
        for t in range(rows):
            r = order[t] if ordered else t
            c = C[0] if one else C[r]
            if c == 0.0:
                continue
            s0 = s1 = s2 = s3 = q0 = q1 = q2 = q3 = 0.0
            for j in range(0, whole, 4):
                x0 = X[r, j]
                x1 = X[r, j + 1]
                x2 = X[r, j + 2]
                x3 = X[r, j + 3]
                s0 += x0 * w[j]
                s1 += x1 * w[j + 1]
                s2 += x2 * w[j + 2]
                s3 += x3 * w[j + 3]
                q0 += x0 * x0
                q1 += x1 * x1
                q2 += x2 * x2
                q3 += x3 * x3
            for j in range(whole, d):
                x0 = X[r, j]
                s0 += x0 * w[j]
                q0 += x0 * x0
            score = (s0 + s1) + (s2 + s3)
            q0 = (q0 + q1) + (q2 + q3)
            if not q0 < INFINITY:
                updates = -1 - r
                break
            under = low[r]
            over = high[r]
            grade = _grade(thresholds, score, under, over, n)
            if keep:
                predicted[r] = grade
            errors += under - grade if grade < under else (grade - over if grade > over else 0)
            if grade < under or grade > over or (variant != PRANK and not _content(thresholds, score, under, over, n)):
                updates += 1
                late = cython.cast(cython.double, seen)
                a = _learn(thresholds, lag, late, variant, c, score, q0, under, over, n)
                if lag:
                    late *= a
                    for j in range(d):
                        x0 = X[r, j]
                        w[j] += a * x0
                        w_lag[j] += late * x0
                else:
                    for j in range(d):
                        w[j] += a * X[r, j]
            seen += 1
    totals[0] += errors
    totals[1] += seen - first
    return updates


def pass_sparse(
    data: cython.const[real][::1],
    indices: cython.const[index][::1],
    indptr: cython.const[index][::1],
    low: cython.const[cython.int][::1],
    high: cython.const[cython.int][::1],
    C: cython.const[cython.double][::1],
    order: cython.const[cython.longlong][::1],
    w: cython.double[::1],
    theta: cython.double[::1],
    w_lag: cython.double[::1],
    theta_lag: cython.double[::1],
    predicted: cython.int[::1],
    totals: cython.double[::1],
    variant: cython.int,
    seen: cython.longlong,
) -> cython.longlong:
    """`pass_dense` for rows in compressed form; an update costs what the row holds, averaging included."""
    t: cython.Py_ssize_t
    r: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n: cython.Py_ssize_t = theta.shape[0]
    rows: cython.Py_ssize_t = order.shape[0] if order.shape[0] > 0 else indptr.shape[0] - 1
    ordered: cython.bint = order.shape[0] > 0
    one: cython.bint = C.shape[0] == 1
    keep: cython.bint = predicted.shape[0] > 0
    thresholds: cython.p_double = cython.address(theta[0])
    lag: cython.p_double = cython.address(theta_lag[0]) if theta_lag.shape[0] > 0 else cython.NULL
    under: cython.Py_ssize_t
    over: cython.Py_ssize_t
    grade: cython.Py_ssize_t
    c: cython.double
    q: cython.double
    score: cython.double
    a: cython.double
    late: cython.double
    errors: cython.double = 0.0
    updates: cython.longlong = 0
    first: cython.longlong = seen
    with cython.nogil:
        for t in range(rows):
            r = order[t] if ordered else t
            c = C[0] if one else C[r]
            if c == 0.0:
                continue
            score = q = 0.0
            for j in range(indptr[r], indptr[r + 1]):
                score += data[j] * w[indices[j]]
                q += cython.cast(cython.double, data[j]) * data[j]
            if not q < INFINITY:
                updates = -1 - r
                break
            under = low[r]
            over = high[r]
            grade = _grade(thresholds, score, under, over, n)
            if keep:
                predicted[r] = grade
            errors += under - grade if grade < under else (grade - over if grade > over else 0)
            if grade < under or grade > over or (variant != PRANK and not _content(thresholds, score, under, over, n)):
                updates += 1
                late = cython.cast(cython.double, seen)
                a = _learn(thresholds, lag, late, variant, c, score, q, under, over, n)
                for j in range(indptr[r], indptr[r + 1]):
                    w[indices[j]] += a * data[j]
                if lag:
                    late *= a
                    for j in range(indptr[r], indptr[r + 1]):
                        w_lag[indices[j]] += late * data[j]
            seen += 1
    totals[0] += errors
    totals[1] += seen - first
    return updates


def learn_one(
    x: cython.const[cython.double][::1],
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    C: cython.double,
    state: cython.double[::1],
    averaged: cython.bint,
    variant: cython.int,
    seen: cython.longlong,
) -> cython.int:
    """`pass_dense` for a single example; return its absolute error, -1 when nothing changed, -2 for NaN or infinity.

    `state` is w, theta and, when averaged, their lags, end to end: a call is too short to hand over four arrays.
    """
    j: cython.Py_ssize_t
    d: cython.Py_ssize_t = x.shape[0]
    n: cython.Py_ssize_t = (state.shape[0] // 2 if averaged else state.shape[0]) - d
    w: cython.p_double = cython.address(state[0])
    theta: cython.p_double = w + d
    lag: cython.p_double = theta + n + d if averaged else cython.NULL
    score: cython.double = 0.0
    q: cython.double = 0.0
    a: cython.double
    grade: cython.Py_ssize_t
    error: cython.Py_ssize_t
    for j in range(d):
        score += x[j] * w[j]
        q += x[j] * x[j]
    if not q < INFINITY:
        return -2
    grade = _grade(theta, score, low, high, n)
    error = low - grade if grade < low else (grade - high if grade > high else 0)
    if error == 0 and (variant == PRANK or _content(theta, score, low, high, n)):
        return -1
    a = _learn(theta, lag, cython.cast(cython.double, seen), variant, C, score, q, low, high, n)
    for j in range(d):
        w[j] += a * x[j]
    if lag:
        a *= seen
        for j in range(d):
            theta[n + j] += a * x[j]
    return cython.cast(cython.int, error)


def grade_one(
    x: cython.const[cython.double][::1],
    state: cython.const[cython.double][::1],
    averaged: cython.bint,
    share: cython.double,
) -> cython.Py_ssize_t:
    """The grade of one example under w - share * lag and the thresholds likewise; -2 for NaN or infinity."""
    j: cython.Py_ssize_t
    d: cython.Py_ssize_t = x.shape[0]
    half: cython.Py_ssize_t = state.shape[0] // 2 if averaged else state.shape[0]
    score: cython.double = 0.0
    late: cython.double = 0.0
    for j in range(d):
        score += x[j] * state[j]
    if averaged:
        for j in range(d):
            late += x[j] * state[half + j]
        score -= share * late
    if not -INFINITY < score < INFINITY:
        return -2
    for j in range(d, half):
        if score < (state[j] - share * state[half + j] if averaged else state[j]):
            return j - d
    return half - d
