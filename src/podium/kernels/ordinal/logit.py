"""The cumulative logit likelihood of a range of grades, in one pass over the rows.

With u = theta_high - z and l = theta_(low-1) - z the chance of the range is sigmoid(u) - sigmoid(l), which equals
sigmoid(u) sigmoid(-l) (1 - exp(l - u)). So minus its logarithm is two logistic losses and a term of the thresholds
alone; nothing cancels, and the Hessian in z is just sigmoid'(u) + sigmoid'(l).
"""

import cython
from cython.cimports.libc.math import exp, fabs, log1p

real = cython.fused_type(cython.float, cython.double)
index = cython.fused_type(cython.int, cython.longlong)


def rows(
    z: cython.const[cython.double][::1],
    low: cython.const[cython.int][::1],
    high: cython.const[cython.int][::1],
    weight: cython.const[cython.double][::1],
    theta: cython.const[cython.double][::1],
    slope: cython.double[::1],
    bend_over: cython.double[::1],
    bend_under: cython.double[::1],
    gradient: cython.double[::1],
    curvature: cython.double[::1],
) -> cython.double:
    """Return the logistic losses of all rows; per row set their slope in z and their second derivatives at the upper
    and the lower threshold; add the gradient and the diagonal of the Hessian in the thresholds.

    A threshold -inf or +inf is an open end. `weight` has one value or one a row.
    """
    r: cython.Py_ssize_t
    n: cython.Py_ssize_t = theta.shape[0]
    one: cython.bint = weight.shape[0] == 1
    w: cython.double
    t: cython.double
    tail: cython.double
    chance: cython.double
    loss: cython.double = 0.0
    with cython.nogil:
        for r in range(z.shape[0]):
            w = weight[0] if one else weight[r]
            slope[r] = 0.0
            bend_over[r] = 0.0
            bend_under[r] = 0.0
            if high[r] < n:  # log(1 + exp(-u))
                t = theta[high[r]] - z[r]
                tail = exp(-fabs(t))
                loss += w * (log1p(tail) + (0.0 if t > 0 else -t))
                chance = (tail if t > 0 else 1.0) / (1.0 + tail)  # sigmoid(-u)
                slope[r] += w * chance
                gradient[high[r]] -= w * chance
                bend_over[r] = w * chance * (1.0 - chance)
                curvature[high[r]] += bend_over[r]
            if low[r] > 0:  # log(1 + exp(l))
                t = theta[low[r] - 1] - z[r]
                tail = exp(-fabs(t))
                loss += w * (log1p(tail) + (t if t > 0 else 0.0))
                chance = (1.0 if t > 0 else tail) / (1.0 + tail)  # sigmoid(l)
                slope[r] -= w * chance
                gradient[low[r] - 1] += w * chance
                bend_under[r] = w * chance * (1.0 - chance)
                curvature[low[r] - 1] += bend_under[r]
    return loss


def cross_dense(
    X: cython.const[real][:, ::1],
    low: cython.const[cython.int][::1],
    high: cython.const[cython.int][::1],
    bend_over: cython.const[cython.double][::1],
    bend_under: cython.const[cython.double][::1],
    cross: cython.double[:, ::1],
) -> None:
    """Subtract each row, times its second derivatives, from the rows of `cross` of its two thresholds."""
    r: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n: cython.Py_ssize_t = cross.shape[0]
    with cython.nogil:
        for r in range(X.shape[0]):
            if high[r] < n:
                for j in range(X.shape[1]):
                    cross[high[r], j] -= bend_over[r] * X[r, j]
            if low[r] > 0:
                for j in range(X.shape[1]):
                    cross[low[r] - 1, j] -= bend_under[r] * X[r, j]


def cross_sparse(
    data: cython.const[real][::1],
    indices: cython.const[index][::1],
    indptr: cython.const[index][::1],
    low: cython.const[cython.int][::1],
    high: cython.const[cython.int][::1],
    bend_over: cython.const[cython.double][::1],
    bend_under: cython.const[cython.double][::1],
    cross: cython.double[:, ::1],
) -> None:
    """`cross_dense` for rows in compressed form."""
    r: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n: cython.Py_ssize_t = cross.shape[0]
    with cython.nogil:
        for r in range(indptr.shape[0] - 1):
            for j in range(indptr[r], indptr[r + 1]):
                if high[r] < n:
                    cross[high[r], indices[j]] -= bend_over[r] * data[j]
                if low[r] > 0:
                    cross[low[r] - 1, indices[j]] -= bend_under[r] * data[j]
