"""ranx: Qrels and Run objects, compiled on first use; end to end from arrays."""

from ranx import Qrels, Run
from ranx import evaluate as measure

from benchmarks.peers.pytrec_eval_metrics import dictionaries


def evaluate(y, s, sizes):
    qrels, run = dictionaries(y, s, sizes)
    kept = {q: {d: v for d, v in docs.items() if v} or {"none": 1} for q, docs in qrels.items()}
    found = measure(Qrels(kept), Run(run), ["map", "ndcg@10", "mrr"])
    return {"ap": float(found["map"]), "ndcg@10": float(found["ndcg@10"]), "rr": float(found["mrr"])}
