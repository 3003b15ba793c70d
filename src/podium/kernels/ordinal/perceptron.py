"""The multi-class perceptron of Crammer and Singer (2003), one prototype a grade: the baseline without order."""

import cython

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _best(
    scores: cython.p_double,
    K: cython.Py_ssize_t,
    low: cython.Py_ssize_t,
    high: cython.Py_ssize_t,
    right: cython.pointer(cython.Py_ssize_t),
) -> cython.Py_ssize_t:
    """Return the best grade; set `right` to the best one that the label allows."""
    k: cython.Py_ssize_t
    best: cython.Py_ssize_t = 0
    right[0] = low
    for k in range(K):
        if scores[k] > scores[best]:
            best = k
        if low < k <= high and scores[k] > scores[right[0]]:
            right[0] = k
    return best


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _score(
    prototype: cython.p_double,
    d: cython.Py_ssize_t,
    x: cython.pointer(cython.const[real]),
    at: cython.pointer(cython.const[index]),
    size: cython.Py_ssize_t,
) -> cython.double:
    """The prototype's intercept, after its d weights, plus its product with the row; `at` as in `passes._dot`."""
    j: cython.Py_ssize_t
    total: cython.double = prototype[d]
    if at:
        for j in range(size):
            total += x[j] * prototype[at[j]]
    else:
        for j in range(size):
            total += x[j] * prototype[j]
    return total


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _move(
    table: cython.double[:, ::1],
    right: cython.Py_ssize_t,
    wrong: cython.Py_ssize_t,
    x: cython.pointer(cython.const[real]),
    at: cython.pointer(cython.const[index]),
    size: cython.Py_ssize_t,
    step: cython.double,
) -> cython.void:
    """Add `step` times the row, and its 1 for the intercept, to one prototype and take it from another."""
    j: cython.Py_ssize_t
    d: cython.Py_ssize_t = table.shape[1] - 1
    to: cython.p_double = cython.address(table[right, 0])
    off: cython.p_double = cython.address(table[wrong, 0])
    to[d] += step
    off[d] -= step
    if at:
        for j in range(size):
            to[at[j]] += step * x[j]
            off[at[j]] -= step * x[j]
    else:
        for j in range(size):
            to[j] += step * x[j]
            off[j] -= step * x[j]


def learn_rows(
    data: cython.const[real][::1],
    indices: cython.const[index][::1],
    indptr: cython.const[index][::1],
    low: cython.const[cython.int][::1],
    high: cython.const[cython.int][::1],
    weight: cython.const[cython.double][::1],
    order: cython.const[cython.longlong][::1],
    W: cython.double[:, ::1],
    lag: cython.double[:, ::1],
    scores: cython.double[::1],
    predicted: cython.int[::1],
    totals: cython.double[::1],
    seen: cython.longlong,
) -> cython.longlong:
    """Learn from the rows in `order`; row k of W holds prototype k, its last column the intercept.

    Arguments as in `passes.learn_rows`; `weight` scales the step. A `lag` without rows means no averaging.
    """
    t: cython.Py_ssize_t
    r: cython.Py_ssize_t
    k: cython.Py_ssize_t
    d: cython.Py_ssize_t = W.shape[1] - 1
    size: cython.Py_ssize_t = d
    K: cython.Py_ssize_t = W.shape[0]
    sparse: cython.bint = indptr.shape[0] > 0
    ordered: cython.bint = order.shape[0] > 0
    rows: cython.Py_ssize_t = order.shape[0] if ordered else low.shape[0]
    one: cython.bint = weight.shape[0] == 1
    keep: cython.bint = predicted.shape[0] > 0
    averaged: cython.bint = lag.shape[0] > 0
    values: cython.pointer(cython.const[real]) = cython.address(data[0]) if data.shape[0] > 0 else cython.NULL
    columns: cython.pointer(cython.const[index]) = cython.address(indices[0]) if indices.shape[0] > 0 else cython.NULL
    x: cython.pointer(cython.const[real])
    at: cython.pointer(cython.const[index]) = cython.NULL
    best: cython.Py_ssize_t
    right: cython.Py_ssize_t = 0
    step: cython.double
    errors: cython.double = 0.0
    updates: cython.longlong = 0
    first: cython.longlong = seen
    with cython.nogil:
        for t in range(rows):
            r = order[t] if ordered else t
            step = weight[0] if one else weight[r]
            if step == 0.0:
                continue
            if sparse:
                x = values + indptr[r]
                at = columns + indptr[r]
                size = indptr[r + 1] - indptr[r]
            else:
                x = values + r * size
            for k in range(K):
                scores[k] = _score(cython.address(W[k, 0]), d, x, at, size)
            best = _best(cython.address(scores[0]), K, low[r], high[r], cython.address(right))
            if keep:
                predicted[r] = best
            if best < low[r] or best > high[r]:
                errors += low[r] - best if best < low[r] else best - high[r]
                updates += 1
                _move(W, right, best, x, at, size, step)
                if averaged:
                    _move(lag, right, best, x, at, size, step * seen)
            seen += 1
    totals[0] += errors
    totals[1] += seen - first
    return updates
