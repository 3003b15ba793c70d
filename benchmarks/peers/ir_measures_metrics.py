"""ir_measures: one door to several evaluators; end to end from arrays."""

import ir_measures
from ir_measures import AP, RR, nDCG

from benchmarks.peers.pytrec_eval_metrics import dictionaries


def evaluate(y, s, sizes):
    qrels, run = dictionaries(y, s, sizes)
    found = ir_measures.calc_aggregate([AP, nDCG @ 10, RR], qrels, run)
    return {"ap": found[AP], "ndcg@10": found[nDCG @ 10], "rr": found[RR]}
