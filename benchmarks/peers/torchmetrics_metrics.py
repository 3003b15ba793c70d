"""torchmetrics: retrieval metrics on tensors; needs PyTorch, so an environment of its own."""

import numpy as np
import torch
from torchmetrics.retrieval import RetrievalMAP, RetrievalMRR, RetrievalNormalizedDCG


def evaluate(y, s, sizes):
    index = torch.tensor(np.repeat(np.arange(len(sizes)), sizes))
    scores, target = torch.tensor(s - s.min() + 1.0), torch.tensor(y)  # its AP drops scores of 0 and less
    measures = {"ap": RetrievalMAP(), "ndcg@10": RetrievalNormalizedDCG(top_k=10), "rr": RetrievalMRR()}
    return {name: float(measure(scores, target, indexes=index)) for name, measure in measures.items()}
