"""choix: iterative Luce spectral ranking on a dense matrix of wins, which the user counts."""

from benchmarks.harness import Data


def dense_with_counting(data: Data):
    """From integer arrays: a bincount of the pairs, then `ilsr_pairwise_dense`."""
    import choix
    import numpy as np

    n, winner, loser = data["n"], data["winner"], data["loser"]

    def run():
        wins = np.bincount(winner * n + loser, minlength=n * n).reshape(n, n).astype(float)
        return choix.ilsr_pairwise_dense(wins, tol=1e-8)

    return run


def dense(data: Data):
    """From a ready matrix of wins."""
    import choix
    import numpy as np

    n = data["n"]
    wins = np.bincount(data["winner"] * n + data["loser"], minlength=n * n).reshape(n, n).astype(float)
    return lambda: choix.ilsr_pairwise_dense(wins, tol=1e-8)


def rank_centrality(data: Data):
    """From a list of pairs, as it wants them."""
    import choix

    pairs = list(zip(data["winner"].tolist(), data["loser"].tolist(), strict=True))
    return lambda: choix.rank_centrality(data["n"], pairs)


def opt_rankings(data: Data):
    """Newton-CG on the rankings, lists of codes, with the same penalty."""
    import choix

    return lambda: choix.opt_rankings(data["n"], data["lists"], alpha=data["l2"], method="Newton-CG", tol=1e-6)


def ilsr_rankings(data: Data):
    """Iterative Luce spectral ranking on the rankings."""
    import choix

    return lambda: choix.ilsr_rankings(data["n"], data["lists"], alpha=0.0, tol=1e-6)
