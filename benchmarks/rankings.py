"""Whole rankings: Plackett-Luce from lists, and from a survey's file to the scores."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from benchmarks.harness import Data, Scenario, Way
from benchmarks.peers import choix

__all__ = ["SCENARIOS"]


def listed(n: int, rows: int, k: int, l2: float = 1e-3):
    """Each ranking is of k of n items, drawn at random and put in order by Plackett-Luce."""

    def make(rng: np.random.Generator) -> Data:
        truth = rng.normal(size=n)
        shown = np.argsort(rng.random((rows, n)), axis=1)[:, :k]
        order = np.argsort(-(truth[shown] + rng.gumbel(size=(rows, k))), axis=1)
        return {"n": n, "l2": l2, "lists": np.take_along_axis(shown, order, axis=1).tolist()}

    return make


def drawn_tops(truth: np.ndarray, rows: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """The top k of rankings by Plackett-Luce: items drawn by their strength, those already listed drawn again."""
    edges = np.cumsum(np.exp(truth))
    top = np.full((rows, k), -1)
    for place in range(k):
        left = np.arange(rows)
        while len(left):
            top[left, place] = np.minimum(np.searchsorted(edges, rng.random(len(left)) * edges[-1]), len(edges) - 1)
            left = left[(top[left, :place] == top[left, place][:, None]).any(axis=1)]
    return top


def top_of_file(n: int, rows: int, k: int):
    """A CSV file of the top k of n items, one column a place.

    Written without polars: its threads do not live on in the processes of the ways, which would wait for them.
    """

    def make(rng: np.random.Generator) -> Data:
        names = np.array([f"item-{i:04d}" for i in range(n)])
        top = drawn_tops(rng.normal(size=n), rows, k, rng)
        path = Path(tempfile.mkdtemp()) / "survey.csv"
        head = ",".join(f"Rank {place + 1}" for place in range(k))
        path.write_text("\n".join([head, *map(",".join, names[top].tolist())]) + "\n", encoding="utf-8")
        return {"n": n, "path": path, "l2": 0.5}

    return make


def loss_per_ranking(data: Data, scores: np.ndarray) -> float:
    """Negative log-likelihood and penalty at these scores, a ranking: a plain sum over choices."""
    total = 0.0
    scores = scores - scores.mean()
    for order in data["lists"]:
        held = scores[order]
        total += float(np.sum(np.logaddexp.accumulate(held[::-1])[::-1] - held))
    return (total + data["l2"] * float(scores @ scores)) / len(data["lists"])


def ours(data: Data):
    """From lists of codes, as choix takes them."""
    from podium import PlackettLuce, Rankings

    model, items = PlackettLuce(l2=data["l2"]), range(data["n"])
    return lambda: model.fit(Rankings.from_lists(data["lists"], items=items, unranked="unknown")).ranking_.scores


def ours_auto(data: Data):
    """The same with the penalty from the data."""
    from podium import PlackettLuce, Rankings

    items = range(data["n"])
    return lambda: (
        PlackettLuce().fit(Rankings.from_lists(data["lists"], items=items, unranked="unknown")).ranking_.scores
    )


def ours_from_file(data: Data):
    """Reading, the penalty from the data, and the fit."""
    from podium import PlackettLuce, read_rankings

    def run() -> None:
        PlackettLuce().fit(read_rankings(data["path"], unranked="below"))

    return run


def ours_reading(data: Data):
    """Reading alone."""
    from podium import read_rankings

    def run() -> None:
        read_rankings(data["path"], unranked="below")

    return run


SCENARIOS = (
    Scenario(
        "rankings",
        "Plackett-Luce: 10,000 rankings of 10 of 200 items, from lists",
        listed(200, 10_000, 10),
        (
            Way("podium", ours),
            Way("podium, penalty chosen too", ours_auto, repeats=2),
            Way("choix opt_rankings", choix.opt_rankings, reach=10, repeats=1, seconds=60.0),
            Way("choix ilsr_rankings", choix.ilsr_rankings, reach=5, repeats=1, seconds=60.0),
        ),
        objective=loss_per_ranking,
    ),
    Scenario(
        "survey",
        "From a CSV file to the scores: 1M respondents list the top 5 of 1,000 items, penalty chosen too",
        top_of_file(1000, 1_000_000, 5),
        (
            Way("podium", ours_from_file, repeats=2),
            Way("floor: reading the file", ours_reading, reach=1 / 3, repeats=2),
        ),
        full=True,
    ),
)
