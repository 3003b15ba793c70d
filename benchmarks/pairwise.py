"""Pairwise rankers: plain Bradley-Terry from arrays, frames, lists and files; intervals; rating one game at a time."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import Data, Scenario, Way
from benchmarks.peers import arena_rank, choix, crowdkit, elote, evalica, fastchat, openskill, sklearn, trueskill

__all__ = ["SCENARIOS"]


# ---- data -----------------------------------------------------------------------------------------------------------


def votes(n: int, m: int, *, l2: float = 1e-3, near: int | None = None, spread: float = 1.0):
    """Votes of a Bradley-Terry model on pairs drawn evenly; with `near`, only |i − j| ≤ near meet."""

    def make(rng: np.random.Generator) -> Data:
        truth = rng.normal(0, spread, n)
        left = rng.integers(0, n, m)
        right = (left + rng.integers(1, n, m)) % n if near is None else left + rng.integers(1, near + 1, m)
        left, right = left[right < n], right[right < n]
        won = rng.random(len(left)) < 1 / (1 + np.exp(truth[right] - truth[left]))
        winner, loser = np.where(won, left, right).astype(np.int32), np.where(won, right, left).astype(np.int32)
        return {"n": n, "winner": winner, "loser": loser, "l2": l2}

    return make


def named(n: int, m: int, **more):
    """The same with labels, as lists of strings: winner first, and with sides and an outcome."""
    plain = votes(n, m)

    def make(rng: np.random.Generator) -> Data:
        data = plain(rng)
        names = [f"model-{k:05d}-instruct" for k in range(n)]
        first = rng.random(len(data["winner"])) < 0.5
        side = np.where(first, data["winner"], data["loser"]), np.where(first, data["loser"], data["winner"])
        by_winner = [[names[k] for k in data[end].tolist()] for end in ("winner", "loser")]
        by_side = [[names[k] for k in codes.tolist()] for codes in side]
        sided = more.get("sided", False)
        outcome = ["model_a" if won else "model_b" for won in first.tolist()]
        lists = by_side if sided else by_winner
        return data | {"names": names, "left_list": lists[0], "right_list": lists[1], "outcome_list": outcome} | more

    return make


def loss_per_vote(data: Data, scores: np.ndarray) -> float:
    """Penalised loss over the number of votes, at the shift that the penalty likes best."""
    scores = scores - scores.mean()
    margin = scores[data["winner"]] - scores[data["loser"]]
    loss = np.logaddexp(0.0, -margin).sum() + data["l2"] * float(scores @ scores)
    return float(loss / len(margin))


# ---- our ways -------------------------------------------------------------------------------------------------------


def ours_arrays(data: Data):
    """From integer arrays to scores."""
    from podium import BradleyTerry, Comparisons

    winner, loser, items, l2 = data["winner"], data["loser"], range(data["n"]), data["l2"]
    return lambda: BradleyTerry(l2=l2).fit(Comparisons.from_arrays(winner, loser, items=items)).ranking_.scores


def ours_auto(data: Data):
    """The same with the penalty from the votes, as by default."""
    from podium import BradleyTerry, Comparisons

    winner, loser, items = data["winner"], data["loser"], range(data["n"])
    return lambda: BradleyTerry().fit(Comparisons.from_arrays(winner, loser, items=items)).ranking_.scores


def ours_counted(data: Data):
    """From votes already counted, as choix takes them."""
    from podium import BradleyTerry, Comparisons

    votes_of = Comparisons.from_arrays(data["winner"], data["loser"], items=range(data["n"]))
    votes_of.adjacency.sums  # noqa: B018  # counted before the clock starts, as the rival's matrix is
    model = BradleyTerry(l2=data["l2"])
    return lambda: model.fit(votes_of).ranking_.scores


def ours_lists(data: Data):
    """From two lists of strings."""
    from podium import BradleyTerry, Comparisons

    winner, loser = data["left_list"], data["right_list"]
    return lambda: _in_order(data, BradleyTerry(l2=1e-3).fit(Comparisons.from_arrays(winner, loser)).ranking_)


def ours_frame(library: str):
    """From a frame of strings in the arena's columns."""

    def prepare(data: Data):
        from podium import BradleyTerry, Comparisons

        columns = {"model_a": data["left_list"], "model_b": data["right_list"], "winner": data["outcome_list"]}
        frame = __import__(library).DataFrame(columns)
        return lambda: _in_order(data, BradleyTerry(l2=1e-3).fit(Comparisons.from_frame(frame)).ranking_)

    return prepare


def _in_order(data: Data, ranking) -> np.ndarray:
    place = {item: k for k, item in enumerate(ranking.items)}
    return ranking.scores[[place[name] for name in data["names"]]]


def ours_bootstrap(data: Data):
    """Standard errors from refits on redrawn counts."""
    from podium import BradleyTerry, Comparisons

    ranking = (
        BradleyTerry(l2=1e-3)
        .fit(Comparisons.from_arrays(data["winner"], data["loser"], items=range(data["n"])))
        .ranking_
    )
    rounds = data["rounds"]

    def run():
        ranking.with_uncertainty("bootstrap", replicates=rounds, seed=0).std_errors  # noqa: B018

    return run


def ours_elo(data: Data):
    """Elo over the games in order."""
    from podium.data.comparisons import Comparisons
    from podium.pairwise import ranker

    elo, winner, loser = ranker("elo"), data["left_list"], data["right_list"]

    def run():
        elo().fit(Comparisons.from_arrays(winner, loser))

    return run


def reading(data: Data):
    """Three sums over the arrays: what any reader of them must spend."""
    winner, loser = data["winner"], data["loser"]
    third = winner

    def run():
        int(winner.sum()), int(loser.sum()), int(third.sum())

    return run


def command_line(name: str, *options: str):
    """`podium NAME FILE.parquet`, from the start of the process to its end."""

    def prepare(data: Data):
        import polars as pl

        folder = Path(tempfile.mkdtemp())
        columns = {"model_a": data["left_list"], "model_b": data["right_list"], "winner": data["outcome_list"]}
        pl.DataFrame(columns).write_parquet(folder / "votes.parquet")
        command = [sys.executable, "-m", "podium", name, str(folder / "votes.parquet"), *options]

        def run():
            subprocess.run(command, check=True, capture_output=True, cwd=folder)

        return run

    return prepare


# ---- scenarios ------------------------------------------------------------------------------------------------------

ARENA = (130, 1_700_000)

SCENARIOS = (
    Scenario(
        "arrays",
        "130 items × 1.7M votes, integer arrays to scores",
        votes(*ARENA),
        (
            Way("podium", ours_arrays, repeats=20),
            Way("three sums over the arrays", reading, reach=0.5, repeats=20),
            Way("choix, dense, after a bincount", choix.dense_with_counting, reach=4, repeats=10),
            Way("scikit-learn on counted pairs", sklearn.pairs("lbfgs", 1e-6), reach=25, repeats=5),
            Way("scikit-learn, one row a vote", sklearn.rows("lbfgs", 1e-6), repeats=1, seconds=60),
        ),
        objective=loss_per_vote,
    ),
    Scenario(
        "penalty",
        "130 items × 1.7M votes, integer arrays to scores: what choosing the penalty costs",
        votes(*ARENA),
        (Way("podium", ours_arrays, repeats=10), Way("podium, penalty chosen too", ours_auto, repeats=10)),
    ),
    Scenario(
        "penalty-many",
        "10k items × 1M votes, integer arrays to scores: what choosing the penalty costs",
        votes(10_000, 1_000_000),
        (Way("podium", ours_arrays, repeats=5), Way("podium, penalty chosen too", ours_auto, repeats=3)),
    ),
    Scenario(
        "penalty-million",
        "1M items × 10M votes, integer arrays to scores: what choosing the penalty costs",
        votes(1_000_000, 10_000_000, l2=0.5),
        (
            Way("podium", ours_arrays, repeats=3),
            Way("podium, penalty chosen too", ours_auto, reach=0.25, repeats=3),
        ),
        full=True,
    ),
    Scenario(
        "counted",
        "130 items, votes already counted: the solver alone",
        votes(*ARENA),
        (
            Way("podium", ours_counted, repeats=50),
            Way("choix, dense", choix.dense, repeats=50),
        ),
        objective=loss_per_vote,
    ),
    Scenario(
        "frame",
        "130 items × 1.7M votes, strings in a frame to scores",
        named(*ARENA, sided=True),
        (
            Way("podium, polars frame", ours_frame("polars"), repeats=5),
            Way("podium, pandas frame", ours_frame("pandas"), repeats=5),
            Way("FastChat way, pandas frame", fastchat.leaderboard, reach=30, repeats=3, seconds=60),
            Way("arena-rank, pandas frame, compiled", arena_rank.leaderboard, reach=60, repeats=2, seconds=60),
        ),
        objective=loss_per_vote,
    ),
    Scenario(
        "lists",
        "130 items × 1.7M votes, Python lists of strings to scores",
        named(*ARENA),
        (
            Way("podium", ours_lists, repeats=5),
            Way("evalica", evalica.bradley_terry, reach=5, repeats=3, seconds=60),
            Way("crowd-kit", crowdkit.bradley_terry, repeats=1, seconds=60),
        ),
        objective=loss_per_vote,
    ),
    Scenario(
        "many-items",
        "10k items × 1M votes, integer arrays to scores",
        votes(10_000, 1_000_000),
        (
            Way("podium", ours_arrays, repeats=5),
            Way("scikit-learn lbfgs on counted pairs", sklearn.pairs("lbfgs", 1e-6), reach=12, repeats=1, seconds=60),
            Way(
                "scikit-learn newton-cg, one row a vote",
                sklearn.rows("newton-cg", 1e-6),
                reach=12,
                repeats=1,
                seconds=60,
            ),
            Way("scikit-learn lbfgs, one row a vote", sklearn.rows("lbfgs", 1e-6), reach=12, repeats=1, seconds=60),
        ),
        objective=loss_per_vote,
    ),
    Scenario(
        "many-items-lists",
        "10k items × 1M votes, Python lists of strings to scores",
        named(10_000, 1_000_000),
        (
            Way("podium", ours_lists, repeats=5),
            Way("evalica", evalica.bradley_terry, reach=300, repeats=1, seconds=300),
        ),
        full=True,
        objective=loss_per_vote,
    ),
    Scenario(
        "million-items",
        "1M items × 10M votes, l2 = 1, integer arrays to scores",
        votes(1_000_000, 10_000_000, l2=1.0),
        (
            Way("podium", ours_arrays, repeats=3),
            Way("scikit-learn lbfgs, one row a vote", sklearn.rows("lbfgs", 1e-4), reach=20, repeats=1, seconds=200),
            Way(
                "scikit-learn liblinear, one row a vote",
                sklearn.rows("liblinear", 1e-4),
                reach=20,
                repeats=1,
                seconds=200,
            ),
        ),
        full=True,
        objective=loss_per_vote,
    ),
    Scenario(
        "items-without-a-loss",
        "100k items × 1M votes, l2 = 0.001, of whom hundreds only won or only lost",
        votes(100_000, 1_000_000),
        (
            Way("podium", ours_arrays, repeats=5),
            Way(
                "scikit-learn liblinear, one row a vote",
                sklearn.rows("liblinear", 1e-4),
                reach=6,
                repeats=1,
                seconds=200,
            ),
        ),
        full=True,
        objective=loss_per_vote,
    ),
    Scenario(
        "million-items-without-a-loss",
        "1M items × 10M votes, l2 = 0.001, of whom thousands only won or only lost",
        votes(1_000_000, 10_000_000),
        (
            Way("podium", ours_arrays, repeats=3),
            Way("podium, l2 = 1", lambda data: ours_arrays(data | {"l2": 1.0}), repeats=3),
            Way("scikit-learn lbfgs, one row a vote", sklearn.rows("lbfgs", 1e-4), repeats=1, seconds=200),
            Way(
                "scikit-learn liblinear, one row a vote",
                sklearn.rows("liblinear", 1e-4),
                reach=6,
                repeats=1,
                seconds=200,
            ),
        ),
        full=True,
        objective=loss_per_vote,
    ),
    Scenario(
        "chain",
        "10k items in a chain (only |i − j| ≤ 5 met) × 1M votes",
        votes(10_000, 1_000_000, near=5),
        (
            Way("podium", ours_arrays, repeats=5),
            Way(
                "scikit-learn newton-cg, one row a vote",
                sklearn.rows("newton-cg", 1e-6),
                reach=20,
                repeats=1,
                seconds=90,
            ),
            Way("scikit-learn newton-cg on counted pairs", sklearn.pairs("newton-cg", 1e-6), repeats=1, seconds=90),
        ),
        objective=loss_per_vote,
    ),
    Scenario(
        "bootstrap",
        "100 bootstrap refits, 130 items × 1.7M votes",
        lambda rng: votes(*ARENA)(rng) | {"rounds": 100},
        (
            Way("podium", ours_bootstrap, repeats=5),
            Way("FastChat way", fastchat.bootstrap, reach=50, repeats=1, seconds=90),
        ),
    ),
    Scenario(
        "bootstrap-lists",
        "10 bootstrap refits, 130 items × 1.7M votes, against a package that resamples rows",
        named(*ARENA, rounds=10, evalica_rounds=10),
        (
            Way("podium", ours_bootstrap, repeats=5),
            Way("evalica", evalica.bootstrap, reach=50, repeats=1, seconds=200),
        ),
        full=True,
    ),
    Scenario(
        "command",
        "`podium rank` on a Parquet file of 1.7M votes, start to table",
        named(*ARENA, sided=True),
        (Way("podium", command_line("rank"), repeats=5),),
        limit=2.0,
    ),
    *(
        Scenario(
            f"command-{short}",
            f"`podium {' '.join([name, *options])}` on a Parquet file of 1.7M votes, start to end",
            named(*ARENA, sided=True),
            (Way("podium", command_line(name, *options), repeats=3),),
            limit=3.0,
        )
        for short, name, options in (
            ("check", "check", ()),
            ("compare", "compare", ()),
            ("report", "rank", ("--report", "page.html")),
            ("bootstrap", "rank", ("--ci", "bootstrap")),
        )
    ),
    Scenario(
        "one-by-one",
        "130 items × 100k games, rated one at a time in order",
        named(130, 100_000),
        (
            Way("podium, Elo", ours_elo, repeats=5),
            Way("elote, Elo", elote.online, repeats=1, seconds=60),
            Way("openskill, Plackett-Luce", openskill.online, repeats=1, seconds=60),
            Way("trueskill", trueskill.online, repeats=1, seconds=60),
        ),
    ),
)
