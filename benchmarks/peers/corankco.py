"""corankco (pip): Kemeny consensus of rankings; every vote is a ranking of two items, absent items cost nothing."""

from __future__ import annotations

import numpy as np


def prepare(wins, exact):
    """A function that returns an order: its exact algorithm (a linear programme by PuLP and CBC) or BioConsert."""
    from corankco.dataset import Dataset
    from corankco.scoringscheme import ScoringScheme

    if exact:
        from corankco.algorithms.exact.exactalgorithmpulp import ExactAlgorithmPulp as Algorithm
    else:
        from corankco.algorithms.bioconsert.bioconsert import BioConsert as Algorithm
    winner, loser = np.nonzero(wins)
    votes = Dataset.from_raw_list([[{int(u)}, {int(v)}] for u, v in zip(winner, loser, strict=True)])
    scheme = ScoringScheme.get_induced_measure_scoring_scheme()

    def run():
        found = Algorithm().compute_consensus_rankings(votes, scheme, True).consensus_rankings[0]
        return np.array([int(str(item)) for tied in found for item in tied])

    return run
