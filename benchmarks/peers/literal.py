"""Rule (19) of the RABF paper as one would write it with NumPy."""

import numpy as np

from benchmarks.harness import Data


def online(data: Data):
    """One step a vote; every step shrinks all residuals."""
    features, winner, loser = data["features"], data["winner"].tolist(), data["loser"].tolist()

    def run():
        w, r = np.zeros(features.shape[1]), np.zeros(data["n"])
        for i, j in zip(winner, loser, strict=True):
            difference = features[i] - features[j]
            slope = -1.0 / (1.0 + np.exp(w @ difference + r[i] - r[j]))
            w *= 1.0 - 0.1 * 1e-4
            w -= 0.1 * slope * difference
            r *= 1.0 - 0.1 * 1e-3
            r[i] -= 0.1 * slope
            r[j] += 0.1 * slope
        return features @ w + r

    return run
