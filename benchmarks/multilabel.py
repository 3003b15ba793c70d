"""Label rankers side by side with others: CPU seconds, one process, one thread.

    python -m benchmarks.multilabel                  streaming on generated data
    python -m benchmarks.multilabel --data DIR       and fits on MULAN sets (see podium.datasets.load_multilabel)
    python -m benchmarks.multilabel --data DIR --compare     the tables of docs/multilabel.md; some minutes
    python -m benchmarks.multilabel --data DIR --compare delicious     one set of them

Rivals that are not installed are named and left out (benchmarks/requirements.txt lists them). libmultilabel needs
PyTorch and an environment of its own; it is not run here. Results go to benchmarks/results/multilabel.json.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from threadpoolctl import threadpool_limits

from podium.datasets import load_multilabel
from podium.metrics import ranking_report
from podium.multilabel import LabelRanker, OnlineLabelRanker

HERE = Path(__file__).resolve().parent
SETS = ("emotions", "scene", "yeast", "bibtex", "delicious")
results: dict[str, dict] = {}


def cpu(work):
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


def quality(Y, scores):
    report = ranking_report(Y, scores, metrics=["sum@3", "ap"])
    return {"sum@3": report["sum@3"], "ap": 1 - report["ap"]}


def bibtex(data):
    X, Y, n = load_multilabel("bibtex", data)
    ours, ranker = min(
        (cpu(lambda: LabelRanker("sum@3").fit(X[:n], Y[:n])) for _ in range(2)), key=lambda pair: pair[0]
    )
    theirs, other = cpu(lambda: OneVsRestClassifier(LogisticRegression()).fit(X[:n], Y[:n].toarray().astype(int)))
    mine, its = quality(Y[n:], ranker.decision_function(X[n:])), quality(Y[n:], other.decision_function(X[n:]))
    print(f"bibtex: ours {ours:.2f} s, AP {mine['ap']:.4f}; one-vs-rest {theirs:.2f} s, AP {its['ap']:.4f}; "
          f"{ours / theirs:.2f}× (aim ≤ 0.5)", flush=True)  # fmt: skip
    results["bibtex"] = {"ours_s": ours, "sklearn_s": theirs, "ratio": ours / theirs, "ours": mine, "sklearn": its}


def streaming():
    try:
        from benchmarks.peers import river_multilabel
    except ImportError as problem:
        print(f"river left out: {problem}", file=sys.stderr)
        return
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 20))
    Y = (X @ rng.normal(size=(20, 10)) > 0.5).astype(int)
    rows = [{f"f{j}": v for j, v in enumerate(row)} for row in X.tolist()]
    labels = [{f"l{j}": bool(v) for j, v in enumerate(row)} for row in Y.tolist()]
    theirs, _ = cpu(lambda: river_multilabel.learn(rows, labels))
    ours = min(cpu(lambda: OnlineLabelRanker("sum@3").partial_fit(X, Y))[0] for _ in range(5))
    print(f"streaming 1,000 × 20, 10 labels: ours {1e3 * ours:.2f} ms, river {1e3 * theirs:.0f} ms; "
          f"{theirs / ours:.0f}× (aim ≥ 100)", flush=True)  # fmt: skip
    results["streaming"] = {"ours_s": ours, "river_s": theirs, "ratio": theirs / ours}


def compare(data, sets):
    for name in sets:
        X, Y, n = load_multilabel(name, data)
        small = name in ("emotions", "scene", "yeast")
        if small:
            X = X.toarray()
            X = (X - X[:n].mean(axis=0)) / (X[:n].std(axis=0) + 1e-12)
        hard = Y[:n].toarray().astype(int)
        learners = {"linear": LabelRanker("sum@3"), "one-vs-rest": OneVsRestClassifier(LogisticRegression())}
        if small:
            learners |= {"pairwise": LabelRanker("sum@3", surrogate="pairwise")}
            learners |= {"softmax": LabelRanker("sum@3", surrogate="softmax-normalised"), "trees": trees()}
            learners |= {"chain": ClassifierChain(LogisticRegression())}
        row = results.setdefault(f"compare {name}", {})
        for kind, learner in learners.items():
            if learner is None:
                continue
            seconds, fitted = cpu(partial(learner.fit, X[:n], Y[:n] if isinstance(learner, LabelRanker) else hard))
            scores = fitted.predict_proba(X[n:]) if kind == "chain" else fitted.decision_function(X[n:])
            row[kind] = cell = quality(Y[n:], scores) | {"seconds": seconds}
            print(f"{name:10} {kind:12} sum@3 {cell['sum@3']:.3f}  AP {cell['ap']:.4f}  {seconds:.2f} s", flush=True)


def trees():
    try:
        from lightgbm import LGBMClassifier
    except ImportError as problem:
        print(f"lightgbm left out: {problem}", file=sys.stderr)
        return None
    return LabelRanker(
        "sum@3", LGBMClassifier(n_estimators=100, learning_rate=0.05, num_leaves=15, n_jobs=1, verbose=-1)
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data")
    parser.add_argument("--compare", nargs="*", choices=SETS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        streaming()
        if given.data:
            bibtex(given.data)
        if given.data and given.compare is not None:
            compare(given.data, given.compare or SETS)
    target = HERE / "results" / "multilabel.json"
    target.parent.mkdir(exist_ok=True)
    known = json.loads(target.read_text()) if target.exists() else {}
    target.write_text(json.dumps(known | results, indent=1) + "\n")


if __name__ == "__main__":
    main()
