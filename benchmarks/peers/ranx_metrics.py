"""ranx: Qrels and Run objects, compiled on first use, end to end from arrays; and its tests between runs."""

import numpy as np
from ranx import Qrels, Run
from ranx import evaluate as measure
from ranx.statistical_tests import compute_statistical_significance

from benchmarks.peers.pytrec_eval_metrics import dictionaries


def evaluate(y, s, sizes):
    qrels, run = dictionaries(y, s, sizes)
    kept = {q: {d: v for d, v in docs.items() if v} or {"none": 1} for q, docs in qrels.items()}
    found = measure(Qrels(kept), Run(run), ["map", "ndcg@10", "mrr"])
    return {"ap": float(found["map"]), "ndcg@10": float(found["ndcg@10"]), "rr": float(found["mrr"])}


def significance(gains, test, metrics):
    """P-values by metric and pair, in the order of `compare_runs`."""
    runs = list(gains)
    found = compute_statistical_significance(runs, gains, stat_test=test, n_permutations=1000)
    pairs = [frozenset((runs[i], runs[j])) for j in range(len(runs)) for i in range(j)]
    return np.array([found[pair][metric]["p_value"] for metric in metrics for pair in pairs])
