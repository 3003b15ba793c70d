"""The way of the FastChat leaderboard, written from its description: pandas counts, scikit-learn or L-BFGS solves."""

import numpy as np

from benchmarks.harness import Data

LN10 = np.log(10.0)


def _frame(data: Data):
    import pandas as pd

    return pd.DataFrame({"model_a": data["left_list"], "model_b": data["right_list"], "winner": data["outcome_list"]})


def _wins(frame):
    """Pivot tables of who beat whom, as model × model counts."""
    import pandas as pd

    tables = [
        pd.pivot_table(frame[frame["winner"] == side], index="model_a", columns="model_b", aggfunc="size", fill_value=0)
        for side in ("model_a", "model_b")
    ]
    names = sorted(set(frame["model_a"]) | set(frame["model_b"]))
    by_a, by_b = (table.reindex(index=names, columns=names, fill_value=0).to_numpy(dtype=float) for table in tables)
    return names, by_a + by_b.T


def leaderboard(data: Data):
    """From a pandas frame of strings: pivot tables, then one weighted logistic regression on all pairs."""
    from sklearn.linear_model import LogisticRegression

    frame = _frame(data)

    def run():
        names, wins = _wins(frame)
        n = len(names)
        left, right = np.nonzero(wins)
        design = np.zeros((2 * len(left), n))
        rows = np.arange(len(left))
        design[rows, left], design[rows, right] = LN10, -LN10
        design[len(left) + rows, left], design[len(left) + rows, right] = -LN10, LN10
        weight = np.concatenate([wins[left, right]] * 2)
        won = np.repeat([1, 0], len(left))  # each win is also a loss of the other: both rows are given
        model = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-6, max_iter=1000)
        scores = LN10 * model.fit(design, won, sample_weight=weight).coef_[0]
        return scores[np.argsort(np.argsort(data["names"]))]

    return run


def bootstrap(data: Data):
    """From counted (a, b, outcome) rows: multinomial redraws of the counts, each solved by L-BFGS-B from zero.

    The gradient is summed with `np.add.at`, as there; both sides of a pair and both outcomes are rows of their own.
    """
    from scipy.optimize import minimize
    from scipy.special import expit

    n, rounds = data["n"], data["rounds"]
    first = np.random.default_rng(0).random(len(data["winner"])) < 0.5
    left, right = np.where(first, data["winner"], data["loser"]), np.where(first, data["loser"], data["winner"])
    cells, counts = np.unique((left.astype(np.int64) * n + right) * 2 + first, return_counts=True)
    ends = np.stack([cells // 2 // n, cells // 2 % n], axis=1)
    outcome = (cells % 2).astype(float)

    def fit(weight):
        def loss(scores):
            chance = expit(LN10 * (scores[ends[:, 0]] - scores[ends[:, 1]]))
            value = -float((outcome * np.log(chance) + (1 - outcome) * np.log(1 - chance)) @ weight)
            gradient = np.zeros(n)
            np.add.at(gradient, ends, (-LN10 * (outcome - chance) * weight)[:, None] * np.array([1.0, -1.0]))
            return value, gradient

        return minimize(loss, np.zeros(n), jac=True, method="L-BFGS-B", options={"gtol": 1e-6, "maxiter": 100}).x

    def run():
        rng = np.random.default_rng(0)
        votes = int(counts.sum())
        np.std([fit(weight) for weight in rng.multinomial(votes, counts / votes, size=rounds)], axis=0)

    return run
