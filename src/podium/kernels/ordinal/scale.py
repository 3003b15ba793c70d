"""Rows made comparable on the way: centred and scaled by what was seen before, while the next scale is added up.

`learn_one` is the whole of it for a single example and several candidate learners at once; tables are scaled in blocks
by `standardise` and learned by passes.py.
"""

import cython
from cython.cimports.libc.math import INFINITY
from cython.cimports.podium.kernels.ordinal.update import learn

real = cython.fused_type(cython.float, cython.double)

PRANK = cython.declare(cython.int, 3)


def standardise(
    X: cython.const[real][:, ::1],
    metric: cython.double[:, ::1],
    Z: cython.double[:, ::1],
) -> None:
    """Z = (X - mean) * factor, and the sums and squares of X - mean added up.

    `metric` holds four rows: mean, factor, sums and squares.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    d: cython.Py_ssize_t = X.shape[1]
    x: cython.pointer(cython.const[real])
    z: cython.p_double
    mean: cython.p_double = cython.address(metric[0, 0])
    factor: cython.p_double = cython.address(metric[1, 0])
    sums: cython.p_double = cython.address(metric[2, 0])
    squares: cython.p_double = cython.address(metric[3, 0])
    with cython.nogil:
        for i in range(X.shape[0]):
            x = cython.address(X[i, 0])
            z = cython.address(Z[i, 0])
            # Four short loops: each writes one array, so that the compiler may take several columns at a time.
            for j in range(d):
                z[j] = x[j] - mean[j]
            for j in range(d):
                sums[j] += z[j]
            for j in range(d):
                squares[j] += z[j] * z[j]
            for j in range(d):
                z[j] *= factor[j]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _grade(theta: cython.p_double, score: cython.double, n: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """How many thresholds are <= score."""
    grade: cython.Py_ssize_t = 0
    while grade < n and theta[grade] <= score:
        grade += 1
    return grade


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _off(grade: cython.Py_ssize_t, low: cython.Py_ssize_t, high: cython.Py_ssize_t) -> cython.Py_ssize_t:
    return low - grade if grade < low else (grade - high if grade > high else 0)


def learn_one(
    x: cython.const[cython.double][::1],
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    C: cython.const[cython.double][::1],
    lanes: cython.double[:, ::1],
    frozen: cython.double[:, ::1],
    metric: cython.double[:, ::1],
    z: cython.double[::1],
    losses: cython.double[::1],
    lead: cython.Py_ssize_t,
    averaged: cython.bint,
    variant: cython.int,
    seen: cython.longlong,
) -> cython.int:
    """Scale one example and let every lane learn from it, each with its C; return the absolute error of lane `lead`.

    A lane is w, theta and, when averaged, their lags, end to end; row l of `frozen` is the w and theta by which lane l
    is judged: the errors go to `losses`. The result is -1 when lane `lead` did not change, -2, with nothing learned,
    for NaN, infinity or a square that overflows.
    """
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    d: cython.Py_ssize_t = x.shape[0]
    size: cython.Py_ssize_t = lanes.shape[1] // 2 if averaged else lanes.shape[1]
    n: cython.Py_ssize_t = size - d
    w: cython.p_double
    theta: cython.p_double
    late: cython.p_double
    lag: cython.p_double
    apart: cython.double
    score: cython.double
    q: cython.double = 0.0
    raw: cython.double = 0.0
    error: cython.Py_ssize_t
    a: cython.double
    lead_error: cython.int = -1
    for j in range(d):
        apart = x[j] - metric[0, j]
        raw += apart * apart
        z[j] = apart * metric[1, j]
        q += z[j] * z[j]
    if not raw < INFINITY or not q < INFINITY:
        return -2
    for j in range(d):
        apart = x[j] - metric[0, j]
        metric[2, j] += apart
        metric[3, j] += apart * apart
    for k in range(lanes.shape[0]):
        if frozen.shape[0] > 0:
            w = cython.address(frozen[k, 0])
            score = 0.0
            for j in range(d):
                score += z[j] * w[j]
            losses[k] += _off(_grade(w + d, score, n), low, high)
        w = cython.address(lanes[k, 0])
        theta = w + d
        late = w + size if averaged else cython.NULL
        lag = late + d if averaged else cython.NULL
        score = 0.0
        for j in range(d):
            score += z[j] * w[j]
        error = _off(_grade(theta, score, n), low, high)
        if error == 0 and (
            variant == PRANK
            or ((low == 0 or theta[low - 1] <= score - 1.0) and (high == n or theta[high] >= score + 1.0))
        ):
            continue
        a = learn(theta, lag, cython.cast(cython.double, seen), variant, C[k], score, q, low, high, n)
        for j in range(d):
            w[j] += a * z[j]
        if averaged:
            for j in range(d):
                late[j] += seen * a * z[j]
        if k == lead:
            lead_error = cython.cast(cython.int, error)
    return lead_error
