"""The defaults of `LabelRanker` beside those of one-vs-rest, chains and LightGBM, by ranking quality.

    python -m benchmarks.multilabel --data DIR              every set (a quarter of an hour of CPU time), kept
    python -m benchmarks.multilabel --only noise,topics     some of the sets; generated ones need no --data
    python -m benchmarks.multilabel --limit 300             CPU seconds that one fit may take (120 unless said)
    python -m benchmarks.multilabel --splits 16 --no-save   more splits, or generated samples; print only

The measure is label ranking average precision (LRAP), the mean over several splits: the published one and random
ones of its size, or generated samples. Rivals see scaled features where that is better for them; we see the features
as they are. Beside every difference stands its standard error over the test rows, paired (both score the same rows), a
row that was tested in several splits counted once: it says nothing of other training rows.
"""

from __future__ import annotations

import argparse
import json
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["RESULTS", "main", "table"]

RESULTS = Path(__file__).parent / "results" / "label-defaults.json"
MARGIN = 0.005  # of LRAP, that ours may be below the best rival
SEED = 301  # the first of the generated sets: no default was chosen by these samples
SAMPLES = 2


# ---- sets -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Rows to train on, rows to test on, and which rows of the set those are."""

    X: Any
    Y: np.ndarray
    rows: Any
    truth: np.ndarray
    which: np.ndarray


def published(name: str, dense: bool, splits: int) -> Callable[[str, int | None], Iterator[Split]]:
    """The published split of a set, then random ones of the same size."""

    def make(folder: str, some: int | None = None) -> Iterator[Split]:
        from podium.datasets import load_multilabel

        X, Y, n = load_multilabel(name, folder)
        X, Y = (X.toarray() if dense else X.tocsr()), Y.toarray().astype(int)
        rng = np.random.default_rng(0)
        for split in range(some or splits):
            order = rng.permutation(len(Y)) if split else np.arange(len(Y))
            train, test = order[:n], order[n:]
            yield Split(X[train], Y[train], X[test], Y[test], test)

    return make


def drawn(
    draw: Callable[[np.random.Generator], tuple[Any, np.ndarray]], train: int
) -> Callable[[str, int | None], Iterator[Split]]:
    """Generated samples; their rows are numbered on."""

    def make(folder: str, some: int | None = None) -> Iterator[Split]:
        for number, seed in enumerate(range(SEED, SEED + (some or SAMPLES))):
            X, Y = draw(np.random.default_rng(seed))
            which = number * len(Y) + np.arange(train, len(Y))
            yield Split(X[:train], Y[:train], X[train:], Y[train:], which)

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


def rules(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """A label where two features are both high enough, each label with features and places of its own."""
    X = rng.exponential(size=(1500, 20))
    pairs, places = rng.integers(20, size=(2, 10)), rng.uniform(0.3, 1.2, size=(2, 10))
    both = (X[:, pairs[0]] > places[0]) & (X[:, pairs[1]] > places[1])
    return X, both.astype(int) ^ (rng.random(both.shape) < 0.07)


def rings(rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """A label near the middle of three features, each label with a middle of its own."""
    X = rng.normal(size=(1500, 10))
    middles = rng.normal(size=(9, 3))
    seen = [rng.choice(10, 3, replace=False) for _ in range(9)]
    far = np.column_stack([np.linalg.norm(X[:, few] - at, axis=1) for few, at in zip(seen, middles, strict=True)])
    return X, _chances(rng, 3 * (1.6 - far))


GENERATED = {
    "logistic": drawn(logistic, 800),
    "prototypes": drawn(prototypes, 900),
    "signs": drawn(signs, 900),
    "noise": drawn(noise, 450),
    "topics": drawn(topics, 700),
    "rules": drawn(rules, 700),
    "rings": drawn(rings, 700),
}
SETS: dict[str, Callable[[str, int | None], Iterator[Split]]] = {
    "emotions": published("emotions", True, 5),
    "yeast": published("yeast", True, 2),
    "scene": published("scene", True, 2),
    "bibtex": published("bibtex", False, 1),
    **GENERATED,
}


# ---- ways -----------------------------------------------------------------------------------------------------------


def _standardised(X: Any, rows: Any) -> tuple[Any, Any]:
    if not isinstance(X, np.ndarray):
        return X, rows
    size = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    return (X - X.mean(axis=0)) / size, (rows - X.mean(axis=0)) / size


def ways() -> dict[str, Callable[[Any, np.ndarray, Any], np.ndarray]]:
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

    found = {
        "podium linear, C=1": ours("linear", C=1.0, surrogate="univariate"),
        "podium linear": ours("linear"),
        "podium auto": ours("auto"),
        "one-vs-rest": theirs(lambda: OneVsRestClassifier(regression())),
        "one-vs-rest, scaled": theirs(lambda: OneVsRestClassifier(regression()), scale=True),
        "chain, scaled": theirs(lambda: ClassifierChain(regression()), scale=True),
    }
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return found
    found["LightGBM"] = theirs(lambda: OneVsRestClassifier(LGBMClassifier(n_jobs=1, verbose=-1)))
    return found


# ---- runs -----------------------------------------------------------------------------------------------------------


class OutOfTimeError(Exception):
    """A fit took more CPU time than it may."""


def limited(seconds: float, call: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    """What a call returns, and its CPU seconds; stopped when they are more than `seconds`."""

    def stop(*_: Any) -> None:
        raise OutOfTimeError

    before = signal.signal(signal.SIGPROF, stop)
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return call(), time.process_time() - start
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def by_row(truth: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Label ranking average precision of each row, as scikit-learn has it: equal scores have the rank of the last."""
    from scipy.stats import rankdata

    there = truth > 0
    among = rankdata(np.where(there, -scores, np.inf), method="max", axis=1)  # of the relevant labels only
    share = np.where(there, among / rankdata(-scores, method="max", axis=1), 0.0)
    count = there.sum(axis=1)
    return np.where((count == 0) | there.all(axis=1), 1.0, share.sum(axis=1) / np.maximum(count, 1))


def compared(name: str, folder: str, limit: float, splits: int | None = None) -> dict[str, Any]:
    """LRAP of every row and CPU seconds of every way on one set, and why a way has none."""
    found: dict[str, dict[str, Any]] = {}
    problems: dict[str, str] = {}
    which = []
    for split in SETS[name](folder, splits):
        which.append(split.which)
        for way, score in ways().items():
            if way in problems:
                continue
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # of scikit-learn: labels that never occur, features without names
                    scores, seconds = limited(limit, partial(score, split.X, split.Y, split.rows))
            except OutOfTimeError:
                problems[way] = f"not finished in {limit:g} s of CPU"
            except ValueError as problem:  # a chain does not take a label that never occurs
                problems[way] = f"failed: {str(problem).splitlines()[0].split(', but')[0]}"
            else:
                entry = found.setdefault(way, {"rows": [], "seconds": []})
                entry["rows"].append(by_row(split.truth, scores))
                entry["seconds"].append(round(seconds, 2))
    return {"found": {way: found[way] for way in found if way not in problems}, "problems": problems, "which": which}


def difference(ours: list[np.ndarray], theirs: list[np.ndarray], which: list[np.ndarray]) -> tuple[float, float]:
    """The mean over splits of the mean difference, and its standard error over the test rows, each counted once."""
    share = [(a - b) / (len(a) * len(ours)) for a, b in zip(ours, theirs, strict=True)]
    sums = np.bincount(np.concatenate(which), np.concatenate(share))
    tests = np.bincount(np.concatenate(which))
    mean = float(sums.sum())
    each = sums - mean * tests / tests.sum()
    return mean, float(np.sqrt(np.square(each).sum()))


def result(name: str, run: dict[str, Any]) -> dict[str, Any]:
    """What is kept of a set: means by split, seconds, and how far the two defaults are from their bars."""
    from benchmarks.printed import stamp

    found, which = run["found"], run["which"]
    mean = {way: float(np.mean([rows.mean() for rows in entry["rows"]])) for way, entry in found.items()}
    rivals = [way for way in mean if not way.startswith("podium")]
    plain = [way for way in rivals if way.startswith("one-vs-rest")]
    bars = {}
    for way, few in (("podium linear", plain), ("podium auto", rivals)):
        if way in mean and few:
            best = max(few, key=mean.__getitem__)
            gap, error = difference(found[way]["rows"], found[best]["rows"], which)
            bars[way] = {"beside": best, "gap": round(gap, 4), "error": round(error, 4)}
    kept = {
        way: {"lrap": [round(float(rows.mean()), 4) for rows in entry["rows"]], "seconds": entry["seconds"]}
        for way, entry in found.items()
    }
    return {**stamp(), "generated": name in GENERATED, "ways": kept, "problems": run["problems"], "bars": bars}


def text(name: str, kept: dict[str, Any]) -> str:
    """A set as lines for the terminal."""
    lines = [f"\n{name}"]
    for way, bar in kept["bars"].items():
        word = "reached" if bar["gap"] >= -MARGIN else "MISSED"
        lines.append(f"  {way} is {bar['gap']:+.4f} ± {bar['error']:.4f} from {bar['beside']}: {word}")
    for way, entry in kept["ways"].items():
        splits = " ".join(f"{each:.4f}" for each in entry["lrap"])
        lines.append(f"  {way:22s} {np.mean(entry['lrap']):.4f}  {np.mean(entry['seconds']):8.2f} s   {splits}")
    return "\n".join([*lines, *(f"  {way:22s} {problem}" for way, problem in kept["problems"].items())])


def table(results: dict[str, Any]) -> str:
    """The sets as a table of docs/multilabel.md."""
    lines = [
        "| Set (splits) | One-vs-rest | Linear, less it | Best rival | Auto, less it | "
        "Seconds: fixed, chosen, auto; rival |",
        "|---|--:|--:|---|--:|--:|",
    ]  # fmt: skip
    for name in (each for each in SETS if each in results):
        kept = results[name]
        ways = kept["ways"]
        mean = {way: np.mean(entry["lrap"]) for way, entry in ways.items()}
        seconds = {way: f"{np.mean(entry['seconds']):.2g}" for way, entry in ways.items()}
        linear, auto = (kept["bars"].get(f"podium {each}") for each in ("linear", "auto"))
        best = max((way for way in mean if not way.startswith("podium")), key=mean.__getitem__)
        ours = ", ".join(seconds.get(f"podium {each}", "–") for each in ("linear, C=1", "linear", "auto"))
        lines.append(
            f"| {name} ({len(ways['podium linear']['lrap'])}) | {_digits(mean[linear['beside']])} | {_gap(linear)} | "
            f"{best} {_digits(mean[best])} | {_gap(auto)} | {ours}; {seconds[best]} |"
        )
    kept_sets = [(name, results[name]["problems"]) for name in SETS if name in results]
    problems = [f"{name}, {way}: {problem}" for name, found in kept_sets for way, problem in found.items()]
    days = sorted({f"{each['date']}, {each['commit']}" for each in results.values()})
    tail = [f"Not in the table: {'; '.join(problems)}." if problems else "", f"Measured {'; '.join(days)}."]
    return "\n".join([*lines, "", " ".join(each for each in tail if each), ""])


def _digits(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _gap(bar: dict[str, Any] | None) -> str:
    if bar is None:
        return "–"
    gap, error = (f"{each:.4f}".replace("0.", ".", 1) for each in (bar["gap"], bar["error"]))
    return f"{'' if bar['gap'] < 0 else '+'}{gap} ± {error}{'' if bar['gap'] >= -MARGIN else ' **missed**'}".replace(
        "-", "−"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder with copies of the public sets; without it, generated ones only")
    parser.add_argument("--only", help="names of sets, separated by commas")
    parser.add_argument("--limit", type=float, default=120.0, help="CPU seconds that one fit may take")
    parser.add_argument(
        "--splits", type=int, help="splits, or generated samples, of each set instead of the usual 1 to 5"
    )
    parser.add_argument("--no-save", action="store_true", help="print only")
    given = parser.parse_args()
    names = given.only.split(",") if given.only else [each for each in SETS if given.data or each in GENERATED]
    if unknown := [each for each in names if each not in SETS]:
        parser.error(f"no set {', '.join(unknown)}; there are {', '.join(SETS)}")
    if not given.data and (public := [each for each in names if each not in GENERATED]):
        parser.error(f"{', '.join(public)}: give --data, a folder with copies of the public sets")
    for name in names:
        kept = result(name, compared(name, given.data or "", given.limit, given.splits))
        print(text(name, kept), flush=True)
        if not given.no_save:
            held = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
            RESULTS.write_text(json.dumps(held | {name: kept}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
