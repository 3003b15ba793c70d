"""Label rankers: streaming beside river, and fits on sets of the MULAN collection beside scikit-learn and LightGBM.

    python -m benchmarks.multilabel --data DIR             the defaults beside the rivals' (minutes)
    python -m benchmarks.multilabel --only noise,topics    some of the sets; generated ones need no --data

That table is of label ranking average precision (LRAP), the mean over several splits: the published one and random
ones of its size, or generated samples. Rivals see scaled features where that is better for them; we see the features as
they are. libmultilabel needs PyTorch and an environment of its own; it is not run here.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

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


# ---- the defaults beside the rivals' ---------------------------------------------------------------------------------

Split = tuple[Any, np.ndarray, Any, np.ndarray]  # training rows and labels, test rows and labels
MARGIN = 0.005  # of LRAP, that ours may be below the best rival


def published(name: str, dense: bool, splits: int) -> Callable[[str], Iterator[Split]]:
    """The published split of a set, then random ones of the same size."""

    def make(folder: str) -> Iterator[Split]:
        from podium.datasets import load_multilabel

        X, Y, n = load_multilabel(name, folder)
        X, Y = (X.toarray() if dense else X.tocsr()), Y.toarray().astype(int)
        rng = np.random.default_rng(0)
        for split in range(splits):
            order = rng.permutation(len(Y)) if split else np.arange(len(Y))
            yield X[order[:n]], Y[order[:n]], X[order[n:]], Y[order[n:]]

    return make


def drawn(
    draw: Callable[[np.random.Generator], tuple[Any, np.ndarray]], train: int
) -> Callable[[str], Iterator[Split]]:
    """Generated samples, none of which any default was chosen by."""

    def make(folder: str) -> Iterator[Split]:
        for seed in (101, 102):
            X, Y = draw(np.random.default_rng(seed))
            yield X[:train], Y[:train], X[train:], Y[train:]

    return make


def _chances(rng: np.random.Generator, margins: np.ndarray) -> np.ndarray:
    return (rng.random(margins.shape) < 1 / (1 + np.exp(-margins))).astype(int)


def logistic(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    X = rng.normal(size=(1600, 30)) * np.exp(rng.normal(size=30))
    return X, _chances(rng, 1.5 * (X / X.std(axis=0)) @ rng.normal(size=(30, 10)) / 3 - 1.5)


def prototypes(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    centres, sets = rng.normal(size=(40, 15)), (rng.random((40, 12)) < 0.25).astype(int)
    which = rng.integers(40, size=1800)
    flips = rng.random((1800, 12)) < 0.05
    return centres[which] + 0.7 * rng.normal(size=(1800, 15)), sets[which] ^ flips


def signs(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    X = rng.normal(size=(1800, 12))
    left, right = rng.integers(12, size=(2, 8))
    return X, _chances(rng, 2.5 * np.sign(X[:, left] * X[:, right]) - 1)


def noise(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    shares = rng.beta(0.6, 3.0, size=100)
    X = rng.normal(size=(900, 68))
    weak = 0.15 * X[:, :5] @ rng.normal(size=(5, 100))
    return X, _chances(rng, np.log(shares / (1 - shares)) + weak)


def topics(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    from scipy import sparse

    words = rng.dirichlet(np.full(600, 0.05), size=20)
    Y = (rng.random((1500, 20)) < rng.beta(1, 8, size=20)).astype(int)
    mix = Y + 0.05
    rates = 40 * (mix / mix.sum(axis=1, keepdims=True)) @ words
    return sparse.csr_array(rng.poisson(rates).astype(float)), Y


SETS: dict[str, Callable[[str], Iterator[Split]]] = {
    "emotions": published("emotions", True, 5),
    "scene": published("scene", True, 3),
    "yeast": published("yeast", True, 3),
    "bibtex": published("bibtex", False, 1),
    "logistic": drawn(logistic, 800),
    "prototypes": drawn(prototypes, 900),
    "signs": drawn(signs, 900),
    "noise": drawn(noise, 450),
    "topics": drawn(topics, 700),
}


def _standardised(X: Any, rows: Any) -> tuple[Any, Any]:
    if not isinstance(X, np.ndarray):
        return X, rows
    size = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    return (X - X.mean(axis=0)) / size, (rows - X.mean(axis=0)) / size


def rivals(name: str) -> dict[str, Callable[[Any, np.ndarray, Any], np.ndarray]]:
    """Ways to score the labels of new rows, by name; ours begin with "podium"."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.multioutput import ClassifierChain

    from podium.multilabel import LabelRanker

    def ours(scorer: str, **fixed: Any) -> Callable[[Any, np.ndarray, Any], np.ndarray]:
        return lambda X, Y, rows: LabelRanker("ap", scorer, **fixed).fit(X, Y).decision_function(rows)

    def theirs(make: Callable[[], Any], scale: bool = False) -> Callable[[Any, np.ndarray, Any], np.ndarray]:
        def score(X: Any, Y: np.ndarray, rows: Any) -> np.ndarray:
            X, rows = _standardised(X, rows) if scale else (X, rows)
            return np.asarray(make().fit(X, Y).predict_proba(rows))

        return score

    def regression() -> Any:
        return LogisticRegression(max_iter=1000)

    ways = {
        "podium linear, C=1": ours("linear", C=1.0, surrogate="univariate"),
        "podium linear": ours("linear"),
        "podium trees": ours("trees"),
        "podium auto": ours("auto"),
        "one-vs-rest": theirs(lambda: OneVsRestClassifier(regression())),
        "one-vs-rest, scaled": theirs(lambda: OneVsRestClassifier(regression()), scale=True),
        "chain, scaled": theirs(lambda: ClassifierChain(regression()), scale=True),
    }
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return ways
    ways["LightGBM"] = theirs(lambda: OneVsRestClassifier(LGBMClassifier(n_jobs=1, verbose=-1)))
    return ways


def compared(name: str, folder: str, skip: tuple[str, ...] = ()) -> dict[str, dict[str, Any]]:
    """LRAP by split and CPU seconds of every way on one set."""
    from sklearn.metrics import label_ranking_average_precision_score

    found: dict[str, dict[str, Any]] = {}
    for X, Y, rows, truth in SETS[name](folder):
        for way, score in rivals(name).items():
            if way in skip:
                continue
            start = time.process_time()
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of scikit-learn: labels that never occur, features without names
                    scores = score(X, Y, rows)
            except ValueError as problem:  # a chain does not take a label that never occurs
                print(f"{name}: {way} failed: {problem}")
                continue
            entry = found.setdefault(way, {"lrap": [], "seconds": []})
            entry["lrap"].append(round(float(label_ranking_average_precision_score(truth, scores)), 4))
            entry["seconds"].append(round(time.process_time() - start, 2))
    return found


def verdict(found: dict[str, dict[str, Any]]) -> str:
    """How far the two defaults are from their bars."""
    mean = {way: float(np.mean(entry["lrap"])) for way, entry in found.items()}
    plain = max(value for way, value in mean.items() if way.startswith("one-vs-rest"))
    best = max(value for way, value in mean.items() if not way.startswith("podium"))
    said = []
    for way, bar in (("podium linear", plain), ("podium auto", best)):
        gap = mean[way] - bar
        said.append(f"{way} {gap:+.4f} ({'reached' if gap >= -MARGIN else 'MISSED'})")
    return ", ".join(said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with copies of the public sets; without it, generated ones only")
    parser.add_argument("--only", help="names of sets, separated by commas")
    parser.add_argument("--skip", default="", help="names of ways to leave out, separated by semicolons")
    parser.add_argument("--results", type=Path, help="add what was measured to this JSON file")
    given = parser.parse_args()
    generated = ("logistic", "prototypes", "signs", "noise", "topics")
    names = given.only.split(",") if given.only else [each for each in SETS if given.data or each in generated]
    for name in names:
        found = compared(name, given.data or "", tuple(given.skip.split(";")))
        print(f"\n{name}: {verdict(found)}")
        for way, entry in found.items():
            splits = " ".join(f"{each:.4f}" for each in entry["lrap"])
            print(
                f"  {way:22s} {np.mean(entry['lrap']):.4f}  {np.mean(entry['seconds']):8.2f} s   {splits}", flush=True
            )
        if given.results:
            held = json.loads(given.results.read_text()) if given.results.exists() else {}
            given.results.write_text(json.dumps(held | {name: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
