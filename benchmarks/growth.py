"""How time grows on this machine, by votes, items and workers, as a picture for docs/large.md.

    python -m benchmarks.growth          measures (about a minute), writes results/growth.json and docs/growth.png
    python -m benchmarks.growth --page   draws again from the last results

CPU seconds of all processes together, one thread each, votes of normal scores of deviation 1; the least of two runs.
Reading and counting is of Parquet files with text labels; a fit and standard errors are of votes in memory. Workers are
Dask's, on this machine, already running: their line is CPU, not time on the clock, which is shared with others here.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cluster import measured
from benchmarks.counting import ROOT, write_files
from podium import BradleyTerry, Comparisons, read_comparisons
from podium.engine import connect

HERE = Path(__file__).resolve().parent
VOTES = (125_000, 500_000, 2_000_000)
ITEMS = (1_000, 2_000, 5_000, 10_000, 30_000)
WORKERS = (1, 2, 3)
VOTES_PER_ITEM = 10
FILES = 8


def least(work: Callable[[], Any]) -> float:
    """CPU seconds of this process, the least of two runs."""
    times = []
    for _ in range(2):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def votes_of(n: int, m: int) -> Comparisons:
    rng = np.random.default_rng(0)
    truth = rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(truth[right] - truth[left]))
    return Comparisons.from_arrays(np.where(won, left, right), np.where(won, right, left), items=range(n))


def measure() -> dict[str, Any]:
    """Seconds by votes, by items and by workers."""
    warnings.simplefilter("ignore")
    saved: dict[str, Any] = {"votes": {}, "items": {}, "workers": {}}
    for votes in VOTES:
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), votes, FILES, items=2000, format="parquet")
            source = f"{folder}/*.parquet"
            reading = least(lambda source=source: read_comparisons(source, judge=False, jobs=1))
            data = read_comparisons(source, judge=False, jobs=1)
            saved["votes"][votes] = {"reading": reading, "fit": least(lambda data=data: fresh_fit(data))}
            if votes == VOTES[-1]:
                for workers in WORKERS:
                    saved["workers"][workers] = by_workers(source, workers)
        print(f"{votes:,} votes: {saved['votes'][votes]}", flush=True)
    for items in ITEMS:
        data = votes_of(items, VOTES_PER_ITEM * items)
        errors = least(lambda data=data: BradleyTerry().fit(data).ranking_.std_errors)
        fit = least(lambda data=data: fresh_fit(data))
        saved["items"][items] = {"fit": fit, "errors": max(errors - fit, 1e-4)}
        print(f"{items:,} items: {saved['items'][items]}", flush=True)
    return saved


def fresh_fit(data: Comparisons) -> None:
    """A fit that counts the pairs, too."""
    BradleyTerry().fit(data.take(slice(None)))


def by_workers(source: str, workers: int) -> float:
    with connect(f"local:{workers}") as engine:
        pids = list(engine.client.run(os.getpid).values())
        read_comparisons(source, judge=False, engine=engine)
        times = [measured(lambda: read_comparisons(source, judge=False, engine=engine), pids)[1] for _ in range(2)]
    return min(each["cpu"] for each in times)


def draw(saved: dict[str, Any], path: Path) -> None:
    """Three curves: by votes, by items, by workers."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (by_votes, by_items, shared) = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for axes, lines, wanted in (
        (by_votes, saved["votes"], {"reading": "reading and counting", "fit": "fit"}),
        (by_items, saved["items"], {"fit": "fit", "errors": "standard errors"}),
    ):
        x = [int(key) for key in lines]
        for (name, title), marker in zip(wanted.items(), "os", strict=True):
            axes.loglog(x, [row[name] for row in lines.values()], marker=marker, label=title)
        first = next(iter(lines.values()))[next(iter(wanted))]
        axes.loglog(x, [first * each / x[0] for each in x], color="0.7", linestyle=":", label="in proportion")
        axes.set_xticks(x, [f"{each:,}" for each in x], rotation=20, fontsize=8)
        axes.set_xticks([], minor=True)
        axes.legend(frameon=False, fontsize=8)
    by_votes.set(xlabel="votes of 2,000 items", ylabel="CPU seconds", title="More votes")
    by_items.set(xlabel=f"items, {VOTES_PER_ITEM} votes each", title="More items")
    count = [int(key) for key in saved["workers"]]
    one = list(saved["votes"].values())[-1]["reading"]
    shared.plot(count, list(saved["workers"].values()), marker="o", label="all processes together")
    shared.axhline(one, color="0.7", linestyle=":", label="one process, no cluster")
    shared.set(
        xlabel="Dask workers on one machine", title=f"{int(list(saved['votes'])[-1]):,} votes read", xticks=count
    )
    shared.set_ylim(bottom=0)
    shared.legend(frameon=False, fontsize=8)
    for axes in (by_votes, by_items, shared):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="draw again from the last results")
    path = HERE / "results" / "growth.json"
    if not parser.parse_args().page:
        path.write_text(json.dumps(measure(), indent=1) + "\n")
    draw(json.loads(path.read_text()), ROOT / "docs" / "growth.png")


if __name__ == "__main__":
    main()
