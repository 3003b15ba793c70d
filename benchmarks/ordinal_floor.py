"""The least that learning from a row can cost: one dot product and one addition of a multiple. Compiled by ordinal.py.

`plain` is written as one would write it; `unrolled` keeps four sums, as the library's kernels do.
"""

import cython


def plain(X: cython.const[cython.double][:, ::1], w: cython.double[::1], step: cython.double) -> None:
    t: cython.Py_ssize_t
    j: cython.Py_ssize_t
    s: cython.double
    a: cython.double
    with cython.nogil:
        for t in range(X.shape[0]):
            s = 0.0
            for j in range(X.shape[1]):
                s += X[t, j] * w[j]
            a = step if s < 0.0 else -step
            for j in range(X.shape[1]):
                w[j] += a * X[t, j]


def unrolled(X: cython.const[cython.double][:, ::1], w: cython.double[::1], step: cython.double) -> None:
    t: cython.Py_ssize_t
    j: cython.Py_ssize_t
    whole: cython.Py_ssize_t = X.shape[1] - X.shape[1] % 4
    s0: cython.double
    s1: cython.double
    s2: cython.double
    s3: cython.double
    a: cython.double
    with cython.nogil:
        for t in range(X.shape[0]):
            s0 = s1 = s2 = s3 = 0.0
            for j in range(0, whole, 4):
                s0 += X[t, j] * w[j]
                s1 += X[t, j + 1] * w[j + 1]
                s2 += X[t, j + 2] * w[j + 2]
                s3 += X[t, j + 3] * w[j + 3]
            for j in range(whole, X.shape[1]):
                s0 += X[t, j] * w[j]
            a = step if (s0 + s1) + (s2 + s3) < 0.0 else -step
            for j in range(X.shape[1]):
                w[j] += a * X[t, j]
