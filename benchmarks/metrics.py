"""Ranking metrics side by side with others: CPU seconds, one process, one thread, warm, least of several.

    python -m benchmarks.metrics                 about a minute
    python -m benchmarks.metrics --only table    table, density, queries or threads

Ours is every metric at once; a rival computes the ones named. Rivals that are not installed are named and left out
(benchmarks/requirements.txt lists them). Results are also written to benchmarks/results/metrics.json.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import label_ranking_average_precision_score, ndcg_score

from podium.metrics import ranking_report

HERE = Path(__file__).resolve().parent
results: dict[str, dict] = {}


def least(work, times=5, clock=time.process_time):
    """Seconds of the fastest of several runs."""
    best = np.inf
    for _ in range(times):
        start = clock()
        work()
        best = min(best, clock() - start)
    return best


def show(what, ours, other, aim):
    """`other / ours` when the aim is to be faster; `ours / other` when it is to stay near a floor."""
    ratio = other / ours if aim.startswith("≥") else ours / other
    print(f"{what:62} {1e3 * ours:9.2f} ms {1e3 * other:9.2f} ms   {ratio:7.2f}×  (aim {aim})", flush=True)
    results[what] = {"ours_s": ours, "other_s": other, "ratio": ratio, "aim": aim}


def labels(rng, rows, width, relevant):
    """Random scores, and as many relevant labels in every row."""
    relevance = np.zeros((rows, width), dtype=np.int8)
    relevance[:, :relevant] = 1
    return rng.permuted(relevance, axis=1), rng.normal(size=(rows, width))


def table(rng):
    for width, relevant, aims in ((100, 3, ("≥ 50", "≥ 200")), (1000, 5, ("≥ 40", "≥ 60"))):
        y, s = labels(rng, 10_000, width, relevant)
        ours = least(lambda y=y, s=s: ranking_report(y, s), 7)
        what = f"10,000 × {width}, {relevant} relevant, all metrics against scikit-learn"
        show(f"{what} nDCG", ours, least(lambda y=y, s=s: ndcg_score(y, s), 1), aims[0])
        other = least(lambda y=y, s=s: label_ranking_average_precision_score(y, s), 1)
        show(f"{what} LRAP", ours, other, aims[1])


def density(rng):
    for rows, width in ((10_000, 100), (5_000, 1000), (1_000, 5000)):
        floor = None
        for relevant in (3, width // 20, width // 4, width // 2, width - 1):
            y, s = labels(rng, rows, width, relevant)
            floor = floor or least(lambda s=s: np.argsort(s, axis=1))
            ours = least(lambda y=y, s=s: ranking_report(y, s))
            show(f"{rows:,} × {width}, {relevant} relevant, against one np.argsort", ours, floor, "≤ 1.1")


def queries(rng):
    sizes = rng.integers(20, 79, size=20_000)
    y = (rng.random(sizes.sum()) < 0.05).astype(int)
    s = rng.normal(size=sizes.sum())
    options = {"metrics": ["ap", "ndcg@10", "rr"], "kind": "gain", "gain": "linear", "empty": "one", "group": sizes}
    ours = least(lambda: ranking_report(y, s, **options))
    mean = ranking_report(y, s, **options)
    for name in ("pytrec_eval", "ir_measures", "ranx", "torchmetrics"):
        try:
            peer = importlib.import_module(f"benchmarks.peers.{name}_metrics")
        except ImportError as problem:
            print(f"{name} left out: {problem}", file=sys.stderr)
            continue
        few = sizes[:50]  # a first run on little: what it costs once a process (ranx compiles) is told apart
        once = least(lambda peer=peer, few=few: peer.evaluate(y[: few.sum()], s[: few.sum()], few), 1)
        start = time.process_time()
        theirs = peer.evaluate(y, s, sizes)
        spent = time.process_time() - start
        gap = max(abs(theirs[key] - mean[key]) for key in theirs)
        what = f"20,000 queries, {len(y):,} documents, against {name}"
        show(what, ours, spent, "≥ 20")
        print(f"    largest difference of a mean {gap:.0e}; its start-up, not counted, {once:.2f} s", flush=True)
        results[what] |= {"gap": gap, "start_up_s": once}


def threads(rng):
    y, s = labels(rng, 10_000, 1000, 300)
    one = least(lambda: ranking_report(y, s), 5, time.perf_counter)
    two = least(lambda: ranking_report(y, s, threads=2), 5, time.perf_counter)
    show("10,000 × 1000, two threads against one (wall clock)", two, one, "≥ 1.5")


def main():
    groups = {"table": table, "density": density, "queries": queries, "threads": threads}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=groups)
    only = parser.parse_args().only
    for name, group in groups.items():
        if only in (None, name):
            group(np.random.default_rng(0))
    target = HERE / "results" / "metrics.json"
    target.parent.mkdir(exist_ok=True)
    known = json.loads(target.read_text()) if target.exists() else {}
    target.write_text(json.dumps(known | results, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
