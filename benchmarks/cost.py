"""What counting costs: seconds of CPU per vote, per distinct row and per process, and what that predicts.

    python -m benchmarks.cost                the tables of docs/large.md (minutes)
    python -m benchmarks.cost --no-check     without the prediction that is checked at ten times the size

Costs with a table of all pairs are fitted, none below 0, to eight files of few and many items and votes. Costs per vote
of the other ways are slopes between two sizes with the same distinct rows; the cost of a distinct row by key, and of an
item's label, is what is left where nearly all are distinct. One process, one thread, start-up and imports left out, the
least of three runs. Costs of Dask are of all processes together, with two workers on this machine.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.cluster import measured, ticks
from benchmarks.counting import PODIUM, measure, write_files
from podium.engine import connect

RUNS = 3
CELLS = 3 * 2000**2  # of the table of 2,000 items
BASE = 2_000_000  # votes until which memory is used for the first time
LARGEST = 2 * BASE  # votes of the largest file that the model is made from
LABELS = 200_000  # items of a file with few votes each
DENSE = (
    "file, whatever is in it",
    "vote, Parquet, table of all pairs",
    "vote of the first 2 million, more: memory used for the first time",
    "distinct row, table of all pairs",
    "cell of the table, once",
)
ENGINE = """
from podium.engine import Processes
if __name__ == "__main__":
    import numpy as np
    import polars
    from podium.data.files import is_number
    {what}
"""
START = """
    begin, clock = cpu(), time.perf_counter()
    with Processes(2) as engine:  # with what a worker that reads files has to load
        list(engine.map(is_number, [polars.Int64, polars.Int64]))
    done(0, 0)
"""
SUM = """
    with Processes(2) as engine:
        list(engine.map(len, ["a", "b"]))
        begin, clock = cpu(), time.perf_counter()
        for _ in range(20):
            list(engine.map(np.zeros, [{cells}]))
        done(0, 0)
"""


@dataclass(frozen=True)
class Point:
    """One measurement: CPU seconds, megabytes, and the rows that came out."""

    votes: int
    cells: int
    cpu: float
    megabytes: float


def read(votes: int, items: int, *, judges: bool = False, format: str = "parquet") -> Point:
    """Count so many votes of so many items in one file."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), votes, 1, items=items, format=format)
        script = PODIUM.format(options=f"{'' if judges else 'judge=False, '}jobs=1")
        rows = [measure(script, f"{folder}/*.{format}") for _ in range(RUNS)]
    best = min(rows, key=lambda row: row["cpu"])
    return Point(votes, int(best["cells"]), best["cpu"], best["megabytes"])


def slope(small: Point, large: Point) -> float:
    return (large.cpu - small.cpu) / (large.votes - small.votes)


def model() -> dict[str, float]:
    """Seconds of CPU a unit of each kind of work."""
    costs: dict[str, float] = {}
    shapes = {
        "vote, Parquet, rows by key (20 items, 50 judges)": {"judges": True},
        "vote, CSV, table of all pairs": {"format": "csv"},
        "vote, JSON Lines, table of all pairs": {"format": "jsonl"},
    }
    costs |= dense_costs()
    for name, shape in shapes.items():
        large = BASE if shape.get("format") is None else BASE // 4
        items = 20 if shape.get("judges") else 300
        costs[name] = slope(read(large // 4, items, **shape), read(large, items, **shape))
        print(f"{name}: {1e9 * costs[name]:.0f} ns", flush=True)
    by_key = read(BASE // 4, 2000, judges=True)
    keyed = costs["vote, Parquet, rows by key (20 items, 50 judges)"]
    costs["distinct row, rows by key"] = max(0.0, by_key.cpu - keyed * by_key.votes) / by_key.cells
    labels = read(BASE // 4, LABELS, judges=True)
    rest = labels.cpu - keyed * labels.votes - costs["distinct row, rows by key"] * labels.cells
    costs["item, its label"] = max(0.0, rest) / LABELS
    costs["worker process, to start"] = least(ENGINE.format(what=START)) / 2
    cells = 3 * 1000 * 1000 // 2
    costs["megabyte of a sum, between processes"] = least(ENGINE.format(what=SUM.format(cells=cells))) / 20 / 12
    return costs | dask_costs()


def dense_costs() -> dict[str, float]:
    """Of a vote, a distinct row and a cell of the table: the costs that come nearest to the measurements, in ratios."""
    from scipy.optimize import nnls

    shapes = [(votes, items) for items in (300, 2000) for votes in (BASE // 8, BASE // 2, BASE, LARGEST)]
    points = [(read(votes, items), 3 * items**2) for votes, items in shapes]
    design = np.array([counts(point, cells) for point, cells in points])
    cpu = np.array([point.cpu for point, _ in points])
    found, _ = nnls(design / cpu[:, None], np.ones(len(cpu)))
    for (votes, items), said, took in zip(shapes, design @ found, cpu, strict=True):
        print(f"{votes:,} votes of {items} items: {took:.3f} s, by the costs {said:.3f} s", flush=True)
    return dict(zip(DENSE, found.tolist(), strict=True))


def counts(point: Point, cells: int) -> list[float]:
    """How many of each of `DENSE` a file has."""
    return [1.0, point.votes, min(point.votes, BASE), point.cells, cells]


def dask_costs() -> dict[str, float]:
    """Of a worker's start and of a sum, which is mostly Dask's own work."""
    sums, megabytes = 50, 12
    with connect("local:2") as engine:
        pids = list(engine.client.run(os.getpid).values())
        costs = {"Dask worker, to start": sum(map(ticks, pids)) / 2}
        engine.sum(np.zeros, [10, 10])
        _, small = measured(lambda: [engine.sum(np.zeros, [10, 10]) for _ in range(sums)], pids)
        _, large = measured(lambda: [engine.sum(np.zeros, [megabytes << 17] * 2) for _ in range(sums)], pids)
    costs["sum of two parts by Dask"] = small["cpu"] / sums
    costs["megabyte of a sum, by Dask"] = max(0.0, large["cpu"] - small["cpu"]) / sums / megabytes
    return costs


def least(script: str) -> float:
    return min(measure(script, "-")["cpu"] for _ in range(RUNS))


def check(costs: dict[str, float]) -> dict[str, float]:
    """Ten times the votes of the model: what it says, and what is."""
    found = read(10 * LARGEST, 2000)
    said = float(np.dot([costs[name] for name in DENSE], counts(found, CELLS)))
    return {"votes": found.votes, "cells": found.cells, "predicted": said, "cpu": found.cpu, "ratio": found.cpu / said}


def tables(saved: dict) -> str:
    """The costs, and what they predict."""
    costs, lines = saved["costs"], ["| Cost of a … | CPU |", "|---|--:|"]
    for name, seconds in costs.items():
        unit = f"{1e9 * seconds:,.0f} ns" if seconds < 1e-5 else f"{1e3 * seconds:,.1f} ms"
        lines.append(f"| {name} | {unit} |")
    lines += ["", "| What they predict | CPU | Memory |", "|---|--:|--:|"]
    vote, csv = costs["vote, Parquet, table of all pairs"], costs["vote, CSV, table of all pairs"]
    keyed = costs["vote, Parquet, rows by key (20 items, 50 judges)"]
    new, label = costs["distinct row, rows by key"], costs["item, its label"]
    full = CELLS * (costs["distinct row, table of all pairs"] + costs["cell of the table, once"])
    memory = CELLS * (4 + 17)
    plans = (
        ("10⁹ votes of 2,000 items, Parquet", 1e9 * vote + full, memory),
        ("10⁹ votes of 2,000 items, CSV", 1e9 * csv + full, memory),
        ("10¹¹ votes of 2,000 items, Parquet", 1e11 * vote + full, memory),
        ("10⁹ votes of 10⁶ items, 10⁸ distinct rows", 1e9 * keyed + 1e8 * new + 1e6 * label, 1e8 * (24 + 16 + 17)),
        ("10¹⁰ votes of 10⁸ items, 10⁹ distinct rows", 1e10 * keyed + 1e9 * new + 1e8 * label, 1e9 * (24 + 16 + 17)),
    )
    for name, seconds, memory in plans:
        took = f"{seconds:,.0f} s" if seconds < 600 else f"{seconds / 60:,.0f} min"
        lines.append(f"| {name} | {took} | {memory / 1e9:,.1f} GB |")
    if "check" in saved:
        c = saved["check"]
        lines += [
            "", "| Checked at ten times the votes of the model | |", "|---|--:|", f"| votes | {c['votes']:,.0f} |",
            f"| distinct rows | {c['cells']:,.0f} |", f"| predicted | {c['predicted']:.2f} s |",
            f"| measured | {c['cpu']:.2f} s |",
        ]  # fmt: skip
    return "\n".join(lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-check", action="store_true")
    given = parser.parse_args()
    found: dict = {"costs": model()}
    if not given.no_check:
        found["check"] = check(found["costs"])
    print(tables(found))


if __name__ == "__main__":
    main()
