"""scikit-learn: Bradley-Terry as logistic regression, one row per vote or one per pair and winner.

The penalty is the same as ours (C = 1 / (2·l2)), the tolerance as tight as its likelihood needs to match.
"""

import numpy as np

from benchmarks.harness import Data


def _model(data: Data, solver: str, tol: float):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=1 / (2 * data["l2"]), fit_intercept=False, solver=solver, tol=tol, max_iter=10_000)


def _design(left: np.ndarray, right: np.ndarray, n: int):
    from scipy.sparse import csr_array

    rows = len(left)
    columns = np.empty(2 * rows, dtype=np.int32)
    columns[0::2], columns[1::2] = left, right
    values = np.tile([1.0, -1.0], rows)
    return csr_array((values, columns, np.arange(0, 2 * rows + 1, 2, dtype=np.int32)), shape=(rows, n))


def rows(solver: str, tol: float = 1e-8):
    """One row per vote; every other one is turned round, since the estimator wants two classes."""

    def prepare(data: Data):
        winner, loser, n = data["winner"], data["loser"], data["n"]

        def run():
            turned = np.arange(len(winner)) % 2 == 1
            design = _design(np.where(turned, loser, winner), np.where(turned, winner, loser), n)
            return _model(data, solver, tol).fit(design, ~turned).coef_[0]

        import sklearn.linear_model  # noqa: F401  # warm

        return run

    return prepare


def pairs(solver: str, tol: float = 1e-8, sparse: bool = True):
    """Votes counted by the user into one weighted row per pair and winner."""

    def prepare(data: Data):
        winner, loser, n = data["winner"], data["loser"], data["n"]

        def run():
            low, high = np.minimum(winner, loser).astype(np.int64), np.maximum(winner, loser)
            cells = 2 * (low * n + high) + (winner < loser)
            if n <= 2000:
                counts = np.bincount(cells, minlength=2 * n * n)
                seen = np.flatnonzero(counts)
                weight = counts[seen]
            else:
                seen, weight = np.unique(cells, return_counts=True)
            pair, low_won = np.divmod(seen, 2)
            design = _design(pair // n, pair % n, n)
            if not sparse:
                design = design.toarray()
            return _model(data, solver, tol).fit(design, low_won == 1, sample_weight=weight).coef_[0]

        import sklearn.linear_model  # noqa: F401  # warm

        return run

    return prepare


def features(solver: str, tol: float = 1e-7):
    """The literal design of RABF, one row per vote with x_winner − x_loser and e_winner − e_loser; built beforehand."""

    def prepare(data: Data):
        from scipy.sparse import csr_array, hstack

        winner, loser, x = data["winner"], data["loser"], data["features"]
        sign = np.where(np.arange(len(winner)) % 2 == 1, -1.0, 1.0)
        dense = csr_array(sign[:, None] * (x[winner] - x[loser]))
        design = hstack([dense, _design(winner, loser, data["n"]).multiply(sign[:, None])]).tocsr()
        design.indices, design.indptr = design.indices.astype(np.int32), design.indptr.astype(np.int32)
        model = _model(data, solver, tol)
        return lambda: model.fit(design, sign > 0).coef_[0]

    return prepare


def covariates(solver: str, tol: float = 1e-7):
    """One row per vote with its covariates beside the two items; built beforehand, and penalised like the items."""

    def prepare(data: Data):
        from scipy.sparse import csr_array, hstack

        sign = np.where(np.arange(len(data["winner"])) % 2 == 1, -1.0, 1.0)[:, None]
        items = _design(data["winner"], data["loser"], data["n"])
        design = hstack([items.multiply(sign), csr_array(sign * data["covariates"])]).tocsr()
        model = _model(data, solver, tol)
        return lambda: model.fit(design, sign[:, 0] > 0).coef_[0]

    return prepare
