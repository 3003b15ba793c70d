"""Loops behind intervals: largest standardised gaps, fill of a sparse factor, diagonal of a sparse inverse."""

import cython
from cython.cimports.libc.math import fabs


def largest_gaps(
    draws: cython.const[cython.double][:, ::1],
    precision: cython.const[cython.double][:, ::1],
    largest: cython.double[::1],
) -> None:
    """Set largest[d] = max over i < j of |draws[d, i] − draws[d, j]|·precision[i, j]."""
    d: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n: cython.Py_ssize_t = draws.shape[1]
    with cython.nogil:
        for d in range(draws.shape[0]):
            top: cython.double = 0.0
            for i in range(n):
                here: cython.double = draws[d, i]
                for j in range(i + 1, n):
                    gap: cython.double = fabs(here - draws[d, j]) * precision[i, j]
                    top = gap if gap > top else top
            largest[d] = top


def largest_own_gaps(
    draws: cython.const[cython.double][:, ::1],
    precision: cython.const[cython.double][:, ::1],
    largest: cython.double[:, ::1],
) -> None:
    """Set largest[d, i] = max over j of |draws[d, i] − draws[d, j]|·precision[i, j]."""
    d: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n: cython.Py_ssize_t = draws.shape[1]
    with cython.nogil:
        for d in range(draws.shape[0]):
            for i in range(n):
                here: cython.double = draws[d, i]
                top: cython.double = 0.0
                for j in range(n):
                    gap: cython.double = fabs(here - draws[d, j]) * precision[i, j]
                    top = gap if gap > top else top
                largest[d, i] = top


def largest_one_sided_gaps(
    draws: cython.const[cython.double][:, ::1],
    precision: cython.const[cython.double][:, ::1],
    largest: cython.double[::1],
) -> None:
    """Set largest[d] = max over i, j of (draws[d, i] − draws[d, j])·precision[i, j]; precision 0 leaves i, j out."""
    d: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    n: cython.Py_ssize_t = draws.shape[1]
    with cython.nogil:
        for d in range(draws.shape[0]):
            top: cython.double = 0.0
            for i in range(n):
                here: cython.double = draws[d, i]
                for j in range(n):
                    gap: cython.double = (here - draws[d, j]) * precision[i, j]
                    top = gap if gap > top else top
            largest[d] = top


def largest_flips(
    draws: cython.const[cython.double][:, ::1],
    above: cython.const[cython.int][::1],
    below: cython.const[cython.int][::1],
    ratio: cython.const[cython.double][::1],
    largest: cython.double[::1],
) -> None:
    """Set largest[d] = the first ratio[k] with draws[d, above[k]] < draws[d, below[k]], 0 without any.

    With ratios in falling order that is the largest.
    """
    d: cython.Py_ssize_t
    k: cython.Py_ssize_t
    with cython.nogil:
        for d in range(draws.shape[0]):
            largest[d] = 0.0
            for k in range(ratio.shape[0]):
                if draws[d, above[k]] < draws[d, below[k]]:
                    largest[d] = ratio[k]
                    break


def fill(
    start: cython.const[cython.int][::1],
    column: cython.const[cython.int][::1],
    parent: cython.int[::1],
    seen: cython.int[::1],
    below: cython.longlong[::1],
    most_entries: cython.double,
    most_work: cython.double,
) -> cython.double:
    """Return the work, Σ below², of a Cholesky factor of the symmetric CSR pattern in the order given.

    `below[j]` becomes the number of entries under the diagonal of column j, found by climbing the elimination tree from
    every entry (Davis 2006, section 4.1); nothing is stored. Gives up with −1 once there is too much of either.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    j: cython.int
    n: cython.Py_ssize_t = start.shape[0] - 1
    entries: cython.double = 0.0
    work: cython.double = 0.0
    with cython.nogil:
        for i in range(n):
            parent[i] = -1
            seen[i] = cython.cast(cython.int, i)
            below[i] = 0
            for k in range(start[i], start[i + 1]):
                j = column[k]
                if j >= i:
                    continue
                while seen[j] != i:
                    if parent[j] == -1:
                        parent[j] = cython.cast(cython.int, i)
                    seen[j] = cython.cast(cython.int, i)
                    work += 2 * below[j] + 1
                    below[j] += 1
                    entries += 1
                    j = parent[j]
            if entries > most_entries or work > most_work:
                work = -1.0
                break
    return work


def inverse_diagonal(
    start: cython.const[cython.int][::1],
    row: cython.const[cython.int][::1],
    factor: cython.const[cython.double][::1],
    pivot: cython.const[cython.double][::1],
    inverse: cython.double[::1],
    place: cython.int[::1],
    diagonal: cython.double[::1],
) -> None:
    """Diagonal of (L D Lᵀ)⁻¹ without the rest of it, by the recursion of Takahashi, Fagan and Chen (1973).

    L is unit lower triangular in CSC with sorted rows, each column starting at its diagonal. `inverse` receives the
    entries on L's pattern, `place` is scratch filled with −1.
    """
    j: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    k: cython.Py_ssize_t
    at: cython.int
    n: cython.Py_ssize_t = pivot.shape[0]
    with cython.nogil:
        for j in range(n - 1, -1, -1):
            for a in range(start[j] + 1, start[j + 1]):
                place[row[a]] = cython.cast(cython.int, a)
                inverse[a] = 0.0
            for a in range(start[j] + 1, start[j + 1]):
                k = row[a]
                inverse[a] -= factor[a] * inverse[start[k]]
                for b in range(start[k] + 1, start[k + 1]):
                    at = place[row[b]]
                    if at >= 0:
                        inverse[at] -= factor[a] * inverse[b]
                        inverse[a] -= factor[at] * inverse[b]
            total: cython.double = 1.0 / pivot[j]
            for a in range(start[j] + 1, start[j + 1]):
                total -= factor[a] * inverse[a]
                place[row[a]] = -1
            inverse[start[j]] = total
            diagonal[j] = total
