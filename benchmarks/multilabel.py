"""Label rankers: streaming beside river, and fits on sets of the MULAN collection beside scikit-learn and LightGBM.

    python -m benchmarks.run --family multilabel --full --data DIR    these scenarios
    python -m benchmarks.multilabel --data DIR                        the defaults beside others (label_defaults.py)

libmultilabel needs PyTorch and an environment of its own; it is not run here.
"""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Data, Scenario, Way, public_data

__all__ = ["SCENARIOS"]


# ---- data -----------------------------------------------------------------------------------------------------------


def generated(rng: np.random.Generator) -> Data:
    X = rng.normal(size=(1000, 20))
    return {"X": X, "Y": (X @ rng.normal(size=(20, 10)) > 0.5).astype(int)}


def mulan(name: str, dense: bool):
    """One set from the folder given with --data, split as published; dense features standardised."""

    def make(rng: np.random.Generator) -> Data:
        from podium.datasets import load_multilabel

        with public_data() as folder:
            X, Y, n = load_multilabel(name, folder)
        if dense:
            X = X.toarray()
            X = (X - X[:n].mean(axis=0)) / (X[:n].std(axis=0) + 1e-12)
        return {"X": X[:n], "Y": Y[:n], "rows": X[n:], "truth": Y[n:]}

    return make


def quality(data: Data, scores: np.ndarray) -> str:
    """Two ranking measures on the test split: lower sum@3 and higher AP are better."""
    from podium.metrics import ranking_report

    report = ranking_report(data["truth"], scores, metrics=["sum@3", "ap"])
    return f"sum@3 {report['sum@3']:.3f}, AP {1 - report['ap']:.4f}"


def missed(data: Data, scores: np.ndarray) -> float:
    """1 − average precision on the test split."""
    from podium.metrics import ranking_report

    return float(ranking_report(data["truth"], scores, metrics=["ap"])["ap"])


# ---- ways -----------------------------------------------------------------------------------------------------------


def ours_streaming(data: Data):
    from podium.multilabel import OnlineLabelRanker

    def run():
        OnlineLabelRanker("sum@3").partial_fit(data["X"], data["Y"])

    return run


def river(data: Data):
    from benchmarks.peers.river_multilabel import learn

    rows = [{f"f{j}": v for j, v in enumerate(row)} for row in data["X"].tolist()]
    labels = [{f"l{j}": bool(v) for j, v in enumerate(row)} for row in data["Y"].tolist()]

    def run():
        learn(rows, labels)

    return run


def ours(surrogate: str = "univariate"):
    """A linear label ranker, trained for sum@3 with a given penalty."""

    def prepare(data: Data):
        from podium.multilabel import LabelRanker

        ranker = LabelRanker("sum@3", C=1.0, surrogate=surrogate, standardize=False)
        return lambda: ranker.fit(data["X"], data["Y"]).decision_function(data["rows"])

    return prepare


def ours_by_default(scorer: str):
    """What is not given is chosen on rows held out."""

    def prepare(data: Data):
        from podium.multilabel import LabelRanker

        return lambda: LabelRanker("sum@3", scorer).fit(data["X"], data["Y"]).decision_function(data["rows"])

    return prepare


def ours_trees(data: Data):
    """The same over LightGBM's trees."""
    from lightgbm import LGBMClassifier

    from podium.multilabel import LabelRanker

    trees = LGBMClassifier(n_estimators=100, learning_rate=0.05, num_leaves=15, n_jobs=1, verbose=-1)
    return lambda: LabelRanker("sum@3", trees).fit(data["X"], data["Y"]).decision_function(data["rows"])


def one_vs_rest(data: Data):
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier

    hard = data["Y"].toarray().astype(int)
    return lambda: OneVsRestClassifier(LogisticRegression()).fit(data["X"], hard).decision_function(data["rows"])


def chain(data: Data):
    from sklearn.linear_model import LogisticRegression
    from sklearn.multioutput import ClassifierChain

    hard = data["Y"].toarray().astype(int)
    return lambda: ClassifierChain(LogisticRegression()).fit(data["X"], hard).predict_proba(data["rows"])


# ---- scenarios ------------------------------------------------------------------------------------------------------


def small(name: str) -> Scenario:
    """Every learner on a set with dense features."""
    return Scenario(
        f"labels-{name}",
        f"Fits on {name}",
        mulan(name, dense=True),
        (
            Way("podium, linear", ours(), repeats=2),
            Way("podium, linear, chosen", ours_by_default("linear"), repeats=1),
            Way('podium, scorer="trees"', ours_by_default("trees"), repeats=1),
            Way('podium, scorer="auto"', ours_by_default("auto"), repeats=1),
            Way('podium, surrogate="pairwise"', ours("pairwise"), repeats=1),
            Way('podium, surrogate="softmax-normalised"', ours("softmax-normalised"), repeats=1),
            Way("podium, LightGBM trees", ours_trees, repeats=1),
            Way("scikit-learn one-vs-rest", one_vs_rest, repeats=1),
            Way("scikit-learn ClassifierChain", chain, repeats=1),
        ),
        full=True,
        objective=missed,
        quality=quality,
    )


def sparse(name: str, reach: float | None) -> Scenario:
    """The linear learners on a set with many labels and sparse features."""
    return Scenario(
        f"labels-{name}",
        f"Fits on {name}",
        mulan(name, dense=False),
        (
            Way("podium, linear", ours(), repeats=2),
            Way("podium, linear, chosen", ours_by_default("linear"), repeats=1),
            Way("scikit-learn one-vs-rest", one_vs_rest, reach=reach, repeats=1),
        ),
        full=True,
        objective=missed,
        quality=quality,
    )


SCENARIOS = (
    Scenario(
        "streaming",
        "Learning 1,000 examples one at a time, 20 features, 10 labels",
        generated,
        (Way("podium", ours_streaming), Way("river ClassifierChain", river, reach=100, repeats=1)),
    ),
    *(small(name) for name in ("emotions", "scene", "yeast")),
    sparse("bibtex", 2),
    sparse("delicious", None),
)


if __name__ == "__main__":
    from benchmarks.label_defaults import main

    main()
