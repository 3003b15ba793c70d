"""pytrec-eval-terrier: dictionaries in, dictionaries out; end to end from arrays."""

import numpy as np
import pytrec_eval


def dictionaries(y, s, sizes):
    """Judgements and a run as nested dictionaries."""
    ends = np.concatenate([[0], np.cumsum(sizes)])
    qrels, run = {}, {}
    for q in range(len(sizes)):
        docs = [f"d{i}" for i in range(sizes[q])]
        qrels[f"q{q}"] = dict(zip(docs, y[ends[q] : ends[q + 1]].tolist(), strict=True))
        run[f"q{q}"] = dict(zip(docs, s[ends[q] : ends[q + 1]].tolist(), strict=True))
    return qrels, run


def evaluate(y, s, sizes):
    qrels, run = dictionaries(y, s, sizes)
    found = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut.10", "recip_rank"}).evaluate(run)
    names = {"ap": "map", "ndcg@10": "ndcg_cut_10", "rr": "recip_rank"}
    return {ours: float(np.mean([row[theirs] for row in found.values()])) for ours, theirs in names.items()}
