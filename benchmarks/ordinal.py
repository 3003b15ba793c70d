"""Ordinal learners side by side with others: CPU seconds, one process, one thread, warm, least of several.

    python -m benchmarks.ordinal                 # generated data; about two minutes
    python -m benchmarks.ordinal --data DIR      # batch fits on copies of Abalone, California, Parkinsons, MSLR
    python -m benchmarks.ordinal --only pass     # pass, one, batch or cold

Rivals that are not installed are named and left out (benchmarks/requirements.txt lists them). Results are also
written to benchmarks/results/ordinal.json.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

HERE = Path(__file__).resolve().parent
FLAGS = ["-O3", "-g0", "-fno-math-errno", "-fno-trapping-math"]  # those of setup.py
results: dict[str, dict] = {}


def least(work, times=7):
    """CPU seconds of the fastest of several runs."""
    best = np.inf
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def show(group, what, ours, other, aim, note=""):
    """`other / ours` when the aim is to be faster; `ours / other` when it is to stay near a floor."""
    ratio = other / ours if aim.startswith("≥") else ours / other
    print(f"{what:66} {1e3 * ours:9.2f} ms {1e3 * other:9.2f} ms   {ratio:7.2f}×  (aim {aim}) {note}", flush=True)
    results.setdefault(group, {})[what] = {"ours_s": ours, "other_s": other, "ratio": ratio, "aim": aim, "note": note}


def peer(name):
    try:
        return importlib.import_module(f"benchmarks.peers.{name}")
    except ImportError as problem:
        print(f"{name} left out: {problem}", file=sys.stderr)
        return None


def floor():
    """Compile the floor kernels as setup.py compiles ours."""
    from Cython.Build import cythonize
    from setuptools import Extension
    from setuptools.dist import Distribution

    folder = tempfile.mkdtemp()
    extension = Extension("ordinal_floor", [str(HERE / "ordinal_floor.py")], extra_compile_args=FLAGS)
    directives = {"boundscheck": False, "wraparound": False, "cdivision": True, "initializedcheck": False}
    modules = cythonize([extension], build_dir=folder, language_level=3, compiler_directives=directives, quiet=True)
    command = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
    command.build_lib = command.build_temp = folder
    command.ensure_finalized()
    command.run()
    path = next(Path(folder).glob("ordinal_floor*.so"))
    spec = importlib.util.spec_from_file_location("ordinal_floor", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def generated(n, d, K, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    direction = rng.normal(size=d)
    z = X @ direction / np.linalg.norm(direction) + rng.normal(scale=0.5, size=n)
    return X, np.searchsorted(np.quantile(z, np.arange(1, K) / K), z)


def kernel_pass(X, y, K, variant, average, C=0.01):
    """The compiled pass by itself, from zero."""
    from podium.kernels import ordinal as kernel

    d, n = X.shape[1], K - 1
    state = [np.zeros(d), np.zeros(n), np.zeros(d * average), np.zeros(n * average)]
    codes, none = y.astype(np.int32), np.empty(0, np.int64)
    code = {"pa": 0, "pa1": 1, "pa2": 2}[variant]
    strength = np.array([C if code else np.inf])
    kernel.pass_dense(X, codes, codes, strength, none, *state, np.empty(0, np.int32), np.zeros(2), code, 0)


def against_floor():
    """A compiled pass over the rows against one dot product and one addition a row."""
    floors = floor()
    for d, K, n, near in ((136, 5, 4000, "≤ 1.5"), (8, 5, 40_000, "≤ 6"), (8, 100, 40_000, "≤ 15")):
        X, y = generated(n, d, K)
        bound = {"plain": least(partial(floors.plain, X, np.zeros(d), 0.01), 25)}
        bound["unrolled"] = least(partial(floors.unrolled, X, np.zeros(d), 0.01), 25)
        for variant, average in (("pa1", True), ("pa1", False), ("pa2", True), ("pa", False)):
            ours = least(partial(kernel_pass, X, y, K, variant, average), 15)
            for form, seconds in bound.items():
                what = f"d={d}, K={K}, {variant}{', averaged' if average else ''} / {form} floor"
                show("pass", what, ours, seconds, near)


def against_scikit_learn():
    """`partial_fit` on the same rows."""
    from sklearn import linear_model

    from podium.ordinal import PassiveAggressiveOrdinal

    for d, n, aim in ((8, 40_000, "≥ 1.5"), (136, 4000, "≥ 5")):
        X, y = generated(n, d, 5)
        grades = np.arange(5)
        ours = least(lambda X=X, y=y: PassiveAggressiveOrdinal(classes=range(5)).partial_fit(X, y), 9)
        for name, goal in (
            ("PassiveAggressiveRegressor", aim),
            ("SGDRegressor", "≥ 1"),
            ("PassiveAggressiveClassifier", "≥ 10"),
            ("SGDClassifier", "≥ 1"),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                more = {"classes": grades} if "Classifier" in name else {}
                theirs = least(partial(getattr(linear_model, name)().partial_fit, X, y, **more), 5)
            show("pass", f"partial_fit, d={d}, n={n:,} / {name}", ours, theirs, goal)


def passes():
    against_floor()
    against_scikit_learn()


def one_example():
    """`learn_one` on arrays against river's on its own dictionaries."""
    from podium.ordinal import PassiveAggressiveOrdinal

    river = peer("river")
    if river is None:
        return
    X, y = generated(20_000, 8, 5)
    rows, labels = list(X), y.tolist()
    dicts = [{f"f{j}": float(v) for j, v in enumerate(x)} for x in X]
    numbers = [float(v) for v in labels]

    def ours():
        model = PassiveAggressiveOrdinal(classes=range(5))
        for x, label in zip(rows, labels, strict=True):
            model.learn_one(x, label)

    theirs = least(partial(river.learn, dicts, numbers), 3)
    show("one", "learn_one, 20,000 examples of 8 features / river PARegressor", least(ours, 5), theirs, "≥ 3")


def batch(data):
    """Batch fits: error on held-out rows and time, CumulativeLogit against mord, statsmodels and skordinal."""
    from podium.ordinal import CumulativeLogit, PassiveAggressiveOrdinal

    sets = {"generated n=4,000 d=10 K=5": generated(5000, 10, 5)}
    if data:
        from podium.datasets import load_graded

        sets = {}
        for name in ("abalone", "california", "parkinsons", "mslr"):
            try:
                X, y = load_graded(name, data)
            except ValueError as problem:
                print(f"{name} left out: {problem}", file=sys.stderr)
                continue
            sets[f"{name} n={len(y):,} d={X.shape[1]}"] = X, y - 1
    mord, statsmodels, skordinal = peer("mord"), peer("statsmodels"), peer("skordinal")
    for what, (X, y) in sets.items():
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
        X = X[:, X.std(axis=0) > 0]
        test = np.random.default_rng(0).random(len(y)) < 0.2
        train, rows = (np.ascontiguousarray(X[~test]), y[~test]), X[test]

        def run(make, times, train=train, rows=rows, truth=y[test]):
            found = []
            seconds = least(lambda: found.append(make(*train)), times)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return seconds, float(np.abs(found[-1](rows) - truth).mean())

        ours, error = run(lambda X, y: CumulativeLogit(l2=1.0).fit(X, y).predict_median, 3)
        rivals = {}
        if mord:
            rivals["mord LogisticAT"] = (mord.logistic_at, "≥ 10", 1)
            rivals["mord OrdinalRidge"] = (mord.ordinal_ridge, "≥ 0", 3)
        if statsmodels and train[0].shape[1] < 50:
            rivals["statsmodels OrderedModel"] = (statsmodels.ordered_logit, "≥ 10", 1)
        if skordinal:
            rivals["skordinal LogisticAT"] = (skordinal.logistic_at, "≥ 1", 1)
        rivals["our PassiveAggressiveOrdinal"] = (
            lambda X, y: PassiveAggressiveOrdinal(random_state=0).fit(X, y).predict,
            "≥ 0",
            2,
        )
        for name, (make, aim, times) in rivals.items():
            try:
                theirs, other = run(make, times)
            except Exception as problem:
                print(f"{what}: {name} failed: {problem}", file=sys.stderr)
                continue
            show("batch", f"{what}: CumulativeLogit / {name}", ours, theirs, aim, f"MAE {error:.3f} / {other:.3f}")


def cold():
    """A new process that imports, makes 1,000 rows and fits, against one that imports scikit-learn's linear models."""
    fit = (
        "import numpy as np; from podium.ordinal import PassiveAggressiveOrdinal as P; r = np.random.default_rng(0); "
        "X = r.normal(size=(1000, 8)); P().fit(X, np.digitize(X[:, 0], [-1, 0, 1]))"
    )

    def child(code):
        start = os.times()
        subprocess.run([sys.executable, "-c", code], check=True)
        end = os.times()
        return end.children_user + end.children_system - start.children_user - start.children_system

    for what in ("sklearn.linear_model", "sklearn.base"):
        times = [(child(fit), child(f"import {what}")) for _ in range(4)]
        ours, other = (min(each) for each in zip(*times, strict=True))
        show("cold", f"cold start: import and first fit / import {what}", ours, other, "≤ 1.5")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with copies of the data sets")
    parser.add_argument("--only", choices=["pass", "one", "batch", "cold"])
    options = parser.parse_args()
    parts = {"pass": passes, "one": one_example, "batch": lambda: batch(options.data), "cold": cold}
    print(f"{'':66} {'ours':>12} {'other':>12}     ratio")
    with threadpool_limits(1):
        for name, part in parts.items():
            if options.only in (None, name):
                part()
    path = HERE / "results" / "ordinal.json"
    path.parent.mkdir(exist_ok=True)
    kept = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(kept | results, indent=1) + "\n")


if __name__ == "__main__":
    main()
