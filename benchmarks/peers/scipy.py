"""SciPy: least squares on votes by its sparse solvers."""

import numpy as np

from benchmarks.harness import Data


def _design(data: Data):
    from scipy.sparse import csr_array

    m = len(data["winner"])
    columns = np.column_stack([data["winner"], data["loser"]]).ravel()
    return csr_array((np.tile([1.0, -1.0], m), columns, 2 * np.arange(m + 1)), shape=(m, data["n"]))


def least_squares(data: Data):
    """`lsqr` on one row a vote; building the rows is part of the work."""
    from scipy.sparse.linalg import lsqr

    return lambda: lsqr(_design(data), np.ones(len(data["winner"])), atol=1e-12, btol=1e-12)[0]


def laplacian(data: Data):
    """`spsolve` on the Laplacian, one item held at 0."""
    from scipy.sparse.linalg import spsolve

    def run():
        design = _design(data)
        matrix, force = (design.T @ design).tocsc(), design.T @ np.ones(len(data["winner"]))
        scores = np.concatenate([[0.0], spsolve(matrix[1:, 1:], force[1:])])
        return scores - scores.mean()

    return run
