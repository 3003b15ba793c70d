"""Threshold models, pass by pass: score each row, grade it, and learn from it where it has loss.

What one update does is in update.py. Its call happens only for rows with loss and costs nothing beside the
row's own products, so it need not be inlined; what every row does is.

Averages cost nothing per example without an update: beside w the kernels keep lag = sum_t (t - 1) a_t x_t, and the
mean of w over T examples is w - lag / T.
"""

import cython
from cython.cimports.libc.math import INFINITY
from cython.cimports.podium.kernels.ordinal.update import learn

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)

PRANK = cython.declare(cython.int, 3)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _grade(
    theta: cython.p_double,
    score: cython.double,
    under: cython.Py_ssize_t,
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


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _off(grade: cython.Py_ssize_t, under: cython.Py_ssize_t, over: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """How many grades there are from `grade` to the label."""
    return under - grade if grade < under else (grade - over if grade > over else 0)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _dot(
    x: cython.pointer(cython.const[real]),
    at: cython.pointer(cython.const[index]),
    size: cython.Py_ssize_t,
    w: cython.p_double,
    squared: cython.p_double,
) -> cython.double:
    """w·x, and |x|² into `squared`. A dense row has no columns `at`: four running sums work side by side there."""
    j: cython.Py_ssize_t
    whole: cython.Py_ssize_t = size - size % 4
    x0: cython.double
    x1: cython.double
    x2: cython.double
    x3: cython.double
    s0: cython.double = 0.0
    s1: cython.double = 0.0
    s2: cython.double = 0.0
    s3: cython.double = 0.0
    q0: cython.double = 0.0
    q1: cython.double = 0.0
    q2: cython.double = 0.0
    q3: cython.double = 0.0
    if at:
        for j in range(size):
            x0 = x[j]
            s0 += x0 * w[at[j]]
            q0 += x0 * x0
        squared[0] = q0
        return s0
    for j in range(0, whole, 4):
        x0 = x[j]
        x1 = x[j + 1]
        x2 = x[j + 2]
        x3 = x[j + 3]
        s0 += x0 * w[j]
        s1 += x1 * w[j + 1]
        s2 += x2 * w[j + 2]
        s3 += x3 * w[j + 3]
        q0 += x0 * x0
        q1 += x1 * x1
        q2 += x2 * x2
        q3 += x3 * x3
    for j in range(whole, size):
        x0 = x[j]
        s0 += x0 * w[j]
        q0 += x0 * x0
    squared[0] = (q0 + q1) + (q2 + q3)
    return (s0 + s1) + (s2 + s3)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _add(
    w: cython.p_double,
    lag: cython.p_double,
    x: cython.pointer(cython.const[real]),
    at: cython.pointer(cython.const[index]),
    size: cython.Py_ssize_t,
    a: cython.double,
    seen: cython.longlong,
) -> cython.void:
    """w += a x and, where there is a lag, lag += seen a x; only in columns `at` of a sparse row."""
    j: cython.Py_ssize_t
    late: cython.double = seen * a
    x0: cython.double
    if at:
        for j in range(size):
            w[at[j]] += a * x[j]
        if lag:
            for j in range(size):
                lag[at[j]] += late * x[j]
    elif lag:
        for j in range(size):
            x0 = x[j]
            w[j] += a * x0
            lag[j] += late * x0
    else:
        for j in range(size):
            w[j] += a * x[j]


def learn_rows(
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
    """Learn from the rows in `order` (all of them in turn when empty); return how many updates there were.

    Rows are compressed (data, indices, indptr), or dense, end to end in `data`: then `indptr` is empty. `C` has one
    value, or one a row where 0 skips the row. Empty lags mean no averaging. `predicted`, when not empty, receives each
    row's grade before its update. Adds the absolute errors and the number of rows to `totals`. `seen` examples came
    before.

    Stops at a row r with NaN or infinity and returns -1 - r; what was learned until then must be thrown away.
    """
    t: cython.Py_ssize_t
    r: cython.Py_ssize_t
    n: cython.Py_ssize_t = theta.shape[0]
    size: cython.Py_ssize_t = w.shape[0]
    sparse: cython.bint = indptr.shape[0] > 0
    ordered: cython.bint = order.shape[0] > 0
    rows: cython.Py_ssize_t = order.shape[0] if ordered else low.shape[0]
    one: cython.bint = C.shape[0] == 1
    keep: cython.bint = predicted.shape[0] > 0
    values: cython.pointer(cython.const[real]) = cython.address(data[0]) if data.shape[0] > 0 else cython.NULL
    columns: cython.pointer(cython.const[index]) = cython.address(indices[0]) if indices.shape[0] > 0 else cython.NULL
    x: cython.pointer(cython.const[real])
    at: cython.pointer(cython.const[index]) = cython.NULL
    weights: cython.p_double = cython.address(w[0])
    thresholds: cython.p_double = cython.address(theta[0])
    late: cython.p_double = cython.address(w_lag[0]) if w_lag.shape[0] > 0 else cython.NULL
    lag: cython.p_double = cython.address(theta_lag[0]) if theta_lag.shape[0] > 0 else cython.NULL
    c: cython.double
    q: cython.double = 0.0
    score: cython.double
    grade: cython.Py_ssize_t
    error: cython.Py_ssize_t
    a: cython.double
    errors: cython.double = 0.0
    updates: cython.longlong = 0
    first: cython.longlong = seen
    with cython.nogil:
        for t in range(rows):
            r = order[t] if ordered else t
            c = C[0] if one else C[r]
            if c == 0.0:
                continue
            if sparse:
                x = values + indptr[r]
                at = columns + indptr[r]
                size = indptr[r + 1] - indptr[r]
            else:
                x = values + r * size
            score = _dot(x, at, size, weights, cython.address(q))
            if not q < INFINITY:
                updates = -1 - r
                break
            grade = _grade(thresholds, score, low[r], n)
            error = _off(grade, low[r], high[r])
            if keep:
                predicted[r] = grade
            errors += error
            if error > 0 or (variant != PRANK and not _content(thresholds, score, low[r], high[r], n)):
                updates += 1
                a = learn(thresholds, lag, seen, variant, c, score, q, low[r], high[r], n)
                _add(weights, late, x, at, size, a, seen)
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
    """`learn_rows` for a single example; return its absolute error, -1 when nothing changed, -2 for NaN or infinity.

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
    late: cython.p_double
    error: cython.Py_ssize_t
    a: cython.double
    for j in range(d):
        score += x[j] * w[j]
        q += x[j] * x[j]
    if not q < INFINITY:
        return -2
    error = _off(_grade(theta, score, low, n), low, high)
    if error == 0 and (variant == PRANK or _content(theta, score, low, high, n)):
        return -1
    a = learn(theta, lag, seen, variant, C, score, q, low, high, n)
    for j in range(d):
        w[j] += a * x[j]
    if averaged:
        late = theta + n
        for j in range(d):
            late[j] += seen * a * x[j]
    return cython.cast(cython.int, error)


def learn_scored(
    score: cython.double,
    q: cython.double,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    C: cython.double,
    theta: cython.double[::1],
    lag: cython.double[::1],
    variant: cython.int,
    seen: cython.longlong,
) -> cython.double:
    """Move the thresholds for an example of which only score and squared length are known; return the step along it.

    This is all that a learner by inner products needs. `lag` is empty without averaging.
    """
    n: cython.Py_ssize_t = theta.shape[0]
    thresholds: cython.p_double = cython.address(theta[0])
    late: cython.p_double = cython.address(lag[0]) if lag.shape[0] > 0 else cython.NULL
    if _off(_grade(thresholds, score, low, n), low, high) == 0 and _content(thresholds, score, low, high, n):
        return 0.0
    return learn(thresholds, late, cython.cast(cython.double, seen), variant, C, score, q, low, high, n)


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
