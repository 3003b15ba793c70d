"""Loops over scores that walk in time: one path of nodes for each item, laid out one after the other.

A path has a link of precision `link[k]` between node k − 1 and node k, 0 where a path begins, and `own[k]` on top. The
factors are those of  own + path Laplacian = L D Lᵀ,  found without a difference of large numbers: links may be as stiff
as they like.
"""

import cython
from cython.cimports.libc.math import sqrt


def factor(
    own: cython.const[cython.double][::1],
    link: cython.const[cython.double][::1],
    pivot: cython.double[::1],
    lower: cython.double[::1],
) -> None:
    """Fill the diagonal D and what stands left of it in L."""
    k: cython.Py_ssize_t
    n: cython.Py_ssize_t = own.shape[0]
    rest: cython.double = 0.0  # the pivot of the node before, less the link to this one
    with cython.nogil:
        for k in range(n):
            through: cython.double = 0.0
            lower[k] = 0.0
            if link[k] > 0.0:
                through = link[k] * (rest / (rest + link[k]))
                lower[k] = -link[k] / pivot[k - 1]
            rest = own[k] + through
            pivot[k] = rest + (link[k + 1] if k + 1 < n else 0.0)


def solve(
    pivot: cython.const[cython.double][::1],
    lower: cython.const[cython.double][::1],
    force: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> None:
    """Solve L D Lᵀ out = force."""
    k: cython.Py_ssize_t
    n: cython.Py_ssize_t = pivot.shape[0]
    with cython.nogil:
        out[0] = force[0]
        for k in range(1, n):
            out[k] = force[k] - lower[k] * out[k - 1]
        out[n - 1] /= pivot[n - 1]
        for k in range(n - 2, -1, -1):
            out[k] = out[k] / pivot[k] - lower[k + 1] * out[k + 1]


def half_solve(
    pivot: cython.const[cython.double][::1],
    lower: cython.const[cython.double][::1],
    force: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> None:
    """Solve L D^½ out = force."""
    k: cython.Py_ssize_t
    last: cython.double = 0.0
    with cython.nogil:
        for k in range(pivot.shape[0]):
            last = force[k] - lower[k] * last
            out[k] = last / sqrt(pivot[k])


def half_solve_back(
    pivot: cython.const[cython.double][::1],
    lower: cython.const[cython.double][::1],
    force: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> None:
    """Solve D^½ Lᵀ out = force."""
    k: cython.Py_ssize_t
    n: cython.Py_ssize_t = pivot.shape[0]
    with cython.nogil:
        out[n - 1] = force[n - 1] / sqrt(pivot[n - 1])
        for k in range(n - 2, -1, -1):
            out[k] = force[k] / sqrt(pivot[k]) - lower[k + 1] * out[k + 1]


def product(
    own: cython.const[cython.double][::1],
    link: cython.const[cython.double][::1],
    vector: cython.const[cython.double][::1],
    out: cython.double[::1],
) -> None:
    """Write own·vector plus the path Laplacian times vector."""
    k: cython.Py_ssize_t
    before: cython.double = 0.0
    n: cython.Py_ssize_t = own.shape[0]
    with cython.nogil:
        for k in range(n):
            after: cython.double = 0.0
            if k + 1 < n:
                after = link[k + 1] * (vector[k] - vector[k + 1])
            out[k] = own[k] * vector[k] + after - before
            before = after
