"""Many equal votes are taken together on the way, and nothing that is measured changes by it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from podium import Comparisons
from podium.evaluate import assess, assessment, diagnose, diagnosis
from podium.pairwise import ranker


@pytest.fixture(scope="module")
def votes():
    rng = np.random.default_rng(4)
    left = rng.integers(5, size=600)
    right = (left + 1 + rng.integers(4, size=600)) % 5
    won = rng.random(600) < 1 / (1 + np.exp(0.4 * (right - left)))
    outcome = np.where(rng.random(600) < 0.1, 0.5, won)
    frame = {"left": left, "right": right, "outcome": outcome, "weight": rng.choice([1.0, 2.0, 0.25], 600)}
    return Comparisons.from_frame({name: column.tolist() for name, column in frame.items()})


@pytest.mark.parametrize("method", ["borda", "copeland", "least-squares", "rank-centrality", "win-rate"])
def test_the_slope_found_from_pairs_is_the_most_likely_one_of_the_single_votes(votes, method):
    model = ranker(method)().fit(votes)
    left, right, outcome, weight = votes.vote_rows()
    scores = model.ranking_.scores / model.ranking_.unit
    gap = scores[left] - scores[right]
    size = np.sqrt(weight @ gap**2 / weight.sum())

    def loss(b):
        return weight @ (np.logaddexp(0, -b * gap) * outcome + np.logaddexp(0, b * gap) * (1 - outcome))

    # the prior is 1e-3 b² / 2 of the slope per root mean square gap
    best = minimize_scalar(lambda b: loss(b) + 0.5e-3 * (b * size) ** 2, bounds=(0, 20 / size), method="bounded").x
    assert_allclose(model.predict_proba(votes)[:, 0], 1 / (1 + np.exp(-best * gap)), atol=1e-5)


def test_held_out_votes_that_are_merged_are_measured_alike(votes, monkeypatch):
    methods = ["bradley-terry", "elo", "borda"]
    found = []
    for least in (0, 10**9):
        monkeypatch.setattr(assessment, "MERGED_FROM", least)
        found.append(assess(votes, methods, folds=4, seed=2))
    for measure in ("log_loss", "brier", "accuracy"):
        merged, single = (getattr(one, measure) for one in found)
        for name in methods:
            assert_allclose(merged[name], single[name], rtol=1e-12)


def test_a_diagnosis_of_single_votes_is_that_of_their_counts(votes, monkeypatch):
    monkeypatch.setattr(diagnosis, "MERGED_FROM", 0)
    single, counts = (diagnose(each, replicates=19, splits=4, seed=3) for each in (votes, votes.merged()))
    assert single.to_dict() == counts.to_dict()
