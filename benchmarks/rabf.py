"""Features, judges, covariates, other rankers, and learning vote by vote."""

from __future__ import annotations

import numpy as np

from benchmarks.harness import Data, Scenario, Way
from benchmarks.peers import choix, crowdkit, elote, literal, openskill, scipy, sklearn

__all__ = ["SCENARIOS"]


# ---- data -----------------------------------------------------------------------------------------------------------


def featured(n: int, d: int, m: int, penalty: float = 1.0):
    """Votes on items whose scores are half explained by features."""

    def make(rng: np.random.Generator) -> Data:
        features = rng.normal(size=(n, d))
        truth = features @ rng.normal(size=d) / np.sqrt(2 * d) + rng.normal(size=n) / np.sqrt(2)
        left = rng.integers(0, n, m)
        right = (left + rng.integers(1, n, m)) % n
        won = rng.random(m) < 1 / (1 + np.exp(truth[right] - truth[left]))
        winner, loser = np.where(won, left, right).astype(np.int32), np.where(won, right, left).astype(np.int32)
        names = [f"item-{k:05d}" for k in range(n)]
        lists = (
            {"left_list": [names[k] for k in winner], "right_list": [names[k] for k in loser]} if m <= 100_000 else {}
        )
        return {"n": n, "winner": winner, "loser": loser, "features": features, "l2": penalty, "names": names} | lists

    return make


def judged(n: int, judges: int, m: int):
    """The same with judges, a fifth of whom flip coins."""
    plain = featured(n, 1, m)

    def make(rng: np.random.Generator) -> Data:
        data = plain(rng)
        judge = rng.integers(0, judges, m)
        swap = (judge % 5 == 0) & (rng.random(m) < 0.5)
        winner = np.where(swap, data["loser"], data["winner"]).astype(np.int32)
        loser = np.where(swap, data["winner"], data["loser"]).astype(np.int32)
        lists = {"winner_list": [data["names"][k] for k in winner], "loser_list": [data["names"][k] for k in loser]}
        return data | {"winner": winner, "loser": loser, "judge": judge} | lists

    return make


def styled(n: int, m: int, p: int):
    """Votes with p covariates each, as in style control."""
    plain = featured(n, 1, m, penalty=0.5)

    def make(rng: np.random.Generator) -> Data:
        return plain(rng) | {"covariates": rng.normal(size=(m, p))}

    return make


def loss_of_both(data: Data, theta: np.ndarray) -> float:
    """Problem (6) at θ = (w, r), a vote."""
    d, n = data["features"].shape[1], data["n"]
    scores = data["features"] @ theta[:d] + theta[d : d + n]
    margin = scores[data["winner"]] - scores[data["loser"]]
    return float((np.logaddexp(0.0, -margin).sum() + data["l2"] * theta @ theta) / len(margin))


def loss_with_covariates(data: Data, theta: np.ndarray) -> float:
    """Log loss with l2 on the scores, a vote."""
    n = data["n"]
    margin = theta[data["winner"]] - theta[data["loser"]] + data["covariates"] @ theta[n:]
    return float((np.logaddexp(0.0, -margin).sum() + data["l2"] * theta[:n] @ theta[:n]) / len(margin))


# ---- our ways -------------------------------------------------------------------------------------------------------


def ours_rabf(data: Data):
    """From integer arrays and a matrix."""
    from podium import RABF, Comparisons

    winner, loser, items = data["winner"], data["loser"], range(data["n"])

    def run():
        model = RABF(feature_penalty=data["l2"], residual_penalty=data["l2"], standardize=False)
        model.fit(Comparisons.from_arrays(winner, loser, items=items), data["features"])
        return np.concatenate([model.coef_, model.residuals_])

    return run


def ours_auto(data: Data):
    """The same with both penalties chosen from the votes."""
    from podium import RABF, Comparisons

    winner, loser, items = data["winner"], data["loser"], range(data["n"])
    return lambda: RABF().fit(Comparisons.from_arrays(winner, loser, items=items), data["features"]) and None


def ours_crowd(data: Data):
    """From lists of strings."""
    from podium import Comparisons, CrowdBradleyTerry

    def run():
        votes = Comparisons.from_arrays(data["winner_list"], data["loser_list"], judge=data["judge"])
        CrowdBradleyTerry().fit(votes)

    return run


def ours_centrality(data: Data):
    """From integer arrays."""
    from podium import Comparisons, RankCentrality

    return lambda: (
        RankCentrality(prior=0.0)
        .fit(Comparisons.from_arrays(data["winner"], data["loser"], items=range(data["n"])))
        .ranking_.scores
    )


def ours_least_squares(data: Data):
    """From integer arrays."""
    from podium import Comparisons, LeastSquares

    return lambda: (
        LeastSquares()
        .fit(Comparisons.from_arrays(data["winner"], data["loser"], items=range(data["n"])))
        .ranking_.scores
    )


def squares_per_vote(data: Data, scores: np.ndarray) -> float:
    """Squared loss with targets 1, a vote."""
    margin = scores[data["winner"]] - scores[data["loser"]]
    return float(((margin - 1.0) ** 2).mean())


def ours_covariates(data: Data):
    """From integer arrays."""
    from podium import BradleyTerry, Comparisons

    def run():
        votes = Comparisons.from_arrays(
            data["winner"], data["loser"], covariates=data["covariates"], items=range(data["n"])
        )
        model = BradleyTerry(l2=data["l2"]).fit(votes)
        return np.concatenate([model.ranking_.scores, model.coef_])

    return run


def ours_online(data: Data):
    """One gradient step a vote, from integer arrays."""
    from podium import Comparisons, OnlineRABF

    votes = Comparisons.from_arrays(data["winner"], data["loser"], items=range(data["n"]))

    def run():
        model = OnlineRABF(feature_penalty=1e-4, residual_penalty=1e-3, schedule="constant", step=0.1)
        return model.fit(votes, data["features"]).ranking_.scores

    return run


# ---- scenarios ------------------------------------------------------------------------------------------------------

SCENARIOS = (
    Scenario(
        "rabf",
        "RABF-LOG: 2,000 items, 20 features, 100,000 votes, penalties given",
        featured(2000, 20, 100_000),
        (
            Way("podium", ours_rabf),
            Way("scikit-learn newton-cg on the (n+d) design", sklearn.features("newton-cg", 1e-7), repeats=2),
            Way("scikit-learn lbfgs on the (n+d) design", sklearn.features("lbfgs", 1e-7), repeats=2),
            Way("scikit-learn liblinear, as the paper did", sklearn.features("liblinear", 1e-6), repeats=1),
            Way("podium, penalties chosen too", ours_auto, repeats=1),
        ),
        objective=loss_of_both,
    ),
    Scenario(
        "rabf-large",
        "RABF-LOG: 10,000 items, 50 features, 1M votes, penalties given",
        featured(10_000, 50, 1_000_000),
        (
            Way("podium", ours_rabf),
            Way("podium, penalties chosen too", ours_auto, repeats=2),
            Way("scikit-learn newton-cg on the (n+d) design", sklearn.features("newton-cg", 1e-7), reach=60, repeats=1),
            Way("scikit-learn lbfgs on the (n+d) design", sklearn.features("lbfgs", 1e-7), reach=60, repeats=1),
            Way("scikit-learn liblinear, as the paper did", sklearn.features("liblinear", 1e-6), reach=100, repeats=1),
        ),
        full=True,
        objective=loss_of_both,
    ),
    Scenario(
        "crowd",
        "Judges weighed: 100 items, 50 judges, 20,000 votes, lists of strings",
        judged(100, 50, 20_000),
        (Way("podium", ours_crowd), Way("crowd-kit NoisyBradleyTerry", crowdkit.noisy, reach=1, repeats=1)),
    ),
    Scenario(
        "rank-centrality",
        "Rank centrality: 500 items, 100,000 votes",
        featured(500, 1, 100_000),
        (Way("podium", ours_centrality), Way("choix rank_centrality", choix.rank_centrality, reach=5, repeats=2)),
    ),
    Scenario(
        "least-squares",
        "Least squares: 2,000 items, 100,000 votes",
        featured(2000, 1, 100_000),
        (
            Way("podium", ours_least_squares),
            Way("SciPy lsqr on the votes", scipy.least_squares, reach=5),
            Way("SciPy spsolve on the Laplacian", scipy.laplacian, reach=5, repeats=1),
        ),
        objective=squares_per_vote,
    ),
    Scenario(
        "covariates",
        "Style control: 130 items, 4 covariates a vote, 100,000 votes",
        styled(130, 100_000, 4),
        (
            Way("podium", ours_covariates),
            Way(
                "scikit-learn lbfgs on the rows, as FastChat does",
                sklearn.covariates("lbfgs", 1e-7),
                reach=5,
                repeats=2,
            ),
            Way("scikit-learn newton-cg on the rows", sklearn.covariates("newton-cg", 1e-7), reach=5, repeats=2),
        ),
        objective=loss_with_covariates,
    ),
    Scenario(
        "online-rabf",
        "Online RABF: 50,000 steps, 1,000 items, 10 features",
        featured(1000, 10, 50_000),
        (
            Way("podium", ours_online),
            Way("a NumPy loop of rule (19)", literal.online, reach=100, repeats=1),
            Way("openskill, per game, no features", openskill.online, repeats=1),
            Way("elote Elo, per game, no features", elote.online, repeats=1),
        ),
    ),
)
