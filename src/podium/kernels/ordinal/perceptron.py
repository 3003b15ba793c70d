"""The multi-class perceptron of Crammer and Singer (2003), one prototype a grade: the baseline without order."""

import cython

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _update(
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


def pass_dense(
    X: cython.const[real][:, ::1],
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

    Arguments as in `ordinal.pass_dense`; `weight` scales the step. A `lag` without rows means no averaging.
    """
    t: cython.Py_ssize_t
    r: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    d: cython.Py_ssize_t = X.shape[1]
    K: cython.Py_ssize_t = W.shape[0]
    rows: cython.Py_ssize_t = order.shape[0] if order.shape[0] > 0 else X.shape[0]
    ordered: cython.bint = order.shape[0] > 0
    one: cython.bint = weight.shape[0] == 1
    keep: cython.bint = predicted.shape[0] > 0
    averaged: cython.bint = lag.shape[0] > 0
    best: cython.Py_ssize_t
    right: cython.Py_ssize_t = 0
    step: cython.double
    late: cython.double
    total: cython.double
    errors: cython.double = 0.0
    updates: cython.longlong = 0
    first: cython.longlong = seen
    with cython.nogil:
        for t in range(rows):
            r = order[t] if ordered else t
            step = weight[0] if one else weight[r]
            if step == 0.0:
                continue
            for k in range(K):
                total = W[k, d]
                for j in range(d):
                    total += X[r, j] * W[k, j]
                scores[k] = total
            best = _update(cython.address(scores[0]), K, low[r], high[r], cython.address(right))
            if keep:
                predicted[r] = best
            if best < low[r] or best > high[r]:
                errors += low[r] - best if best < low[r] else best - high[r]
                updates += 1
                W[right, d] += step
                W[best, d] -= step
                for j in range(d):
                    W[right, j] += step * X[r, j]
                    W[best, j] -= step * X[r, j]
                if averaged:
                    late = step * cython.cast(cython.double, seen)
                    lag[right, d] += late
                    lag[best, d] -= late
                    for j in range(d):
                        lag[right, j] += late * X[r, j]
                        lag[best, j] -= late * X[r, j]
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
    weight: cython.const[cython.double][::1],
    order: cython.const[cython.longlong][::1],
    W: cython.double[:, ::1],
    lag: cython.double[:, ::1],
    scores: cython.double[::1],
    predicted: cython.int[::1],
    totals: cython.double[::1],
    seen: cython.longlong,
) -> cython.longlong:
    """`pass_dense` for rows in compressed form."""
    t: cython.Py_ssize_t
    r: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    d: cython.Py_ssize_t = W.shape[1] - 1
    K: cython.Py_ssize_t = W.shape[0]
    rows: cython.Py_ssize_t = order.shape[0] if order.shape[0] > 0 else indptr.shape[0] - 1
    ordered: cython.bint = order.shape[0] > 0
    one: cython.bint = weight.shape[0] == 1
    keep: cython.bint = predicted.shape[0] > 0
    averaged: cython.bint = lag.shape[0] > 0
    best: cython.Py_ssize_t
    right: cython.Py_ssize_t = 0
    step: cython.double
    late: cython.double
    total: cython.double
    errors: cython.double = 0.0
    updates: cython.longlong = 0
    first: cython.longlong = seen
    with cython.nogil:
        for t in range(rows):
            r = order[t] if ordered else t
            step = weight[0] if one else weight[r]
            if step == 0.0:
                continue
            for k in range(K):
                total = W[k, d]
                for j in range(indptr[r], indptr[r + 1]):
                    total += data[j] * W[k, indices[j]]
                scores[k] = total
            best = _update(cython.address(scores[0]), K, low[r], high[r], cython.address(right))
            if keep:
                predicted[r] = best
            if best < low[r] or best > high[r]:
                errors += low[r] - best if best < low[r] else best - high[r]
                updates += 1
                late = step * cython.cast(cython.double, seen)
                W[right, d] += step
                W[best, d] -= step
                if averaged:
                    lag[right, d] += late
                    lag[best, d] -= late
                for j in range(indptr[r], indptr[r + 1]):
                    W[right, indices[j]] += step * data[j]
                    W[best, indices[j]] -= step * data[j]
                    if averaged:
                        lag[right, indices[j]] += late * data[j]
                        lag[best, indices[j]] -= late * data[j]
            seen += 1
    totals[0] += errors
    totals[1] += seen - first
    return updates
