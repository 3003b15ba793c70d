"""What a cluster costs beside one process: CPU of all processes together, on this machine.

    python -m benchmarks.cluster             the table of docs/large.md (minutes)
    python -m benchmarks.cluster --votes 4   millions of votes instead of 20
    python -m benchmarks.cluster --fit       a fit whose rows are kept on two workers, beside the fit here
    python -m benchmarks.cluster --kept      the same with 20 million votes that the workers read from files and keep

Files are read by one process, by two (`jobs=2`), by two Dask workers that run already (the least of three runs), and by
two of which one is killed in mid-work; what is read must be the same to the bit. CPU is that of this process and of the
workers, by /proc.
"""

from __future__ import annotations

import argparse
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.counting import write_files
from podium import BradleyTerry, Comparisons, read_comparisons
from podium.data import keep_comparisons
from podium.engine import connect
from podium.pairwise._fit import row_sums, strength_model

FILES = 16
TICK = os.sysconf("SC_CLK_TCK")


def ticks(pid: int) -> float:
    """Seconds of CPU that a process has taken."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except FileNotFoundError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / TICK


def same(one: Any, other: Any) -> bool:
    columns = ("left", "right", "outcome", "count")
    return one.items == other.items and all(
        getattr(one, name).tobytes() == getattr(other, name).tobytes() for name in columns
    )


def measured(read: Any, pids: list[int]) -> tuple[Any, dict[str, float]]:
    """What is read, and the seconds that it took: CPU of this process, of those of `pids`, and on the clock."""
    before, clock = [ticks(pid) for pid in pids], time.perf_counter()
    here, ended = time.process_time(), os.times()
    votes = read()
    cpu = time.process_time() - here + sum(max(0.0, ticks(pid) - old) for pid, old in zip(pids, before, strict=True))
    after = os.times()
    cpu -= sum(old for pid, old in zip(pids, before, strict=True) if not ticks(pid))  # the whole life of one killed
    cpu += after.children_user + after.children_system - ended.children_user - ended.children_system
    return votes, {"cpu": cpu, "wall": time.perf_counter() - clock}


def least(read: Any, pids: list[int], runs: int = 3) -> tuple[Any, dict[str, float]]:
    """The run of several that took the least CPU."""
    return min((measured(read, pids) for _ in range(runs)), key=lambda one: one[1]["cpu"])


def killing(pid: int) -> Any:
    """A report of progress that kills a worker at the first third."""
    done: list[bool] = []

    def progress(votes: int, size: int, total: int) -> None:
        if not done and size > total / 3:
            done.append(True)
            os.kill(pid, signal.SIGKILL)

    return progress


def run(millions: float) -> dict[str, Any]:
    """All ways; those that start nothing three times."""
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), int(1e6 * millions), FILES, items=2000, format="parquet")
        source, options = f"{folder}/*.parquet", {"judge": False}
        alone, rows["one process"] = least(lambda: read_comparisons(source, **options, jobs=1), [])
        both, rows["two processes (`jobs=2`), start included"] = measured(
            lambda: read_comparisons(source, **options, jobs=2), []
        )
        assert same(alone, both)
        clock = time.perf_counter()
        with connect("local:2") as engine:
            pids = list(engine.client.run(os.getpid).values())
            start = {"cpu": sum(map(ticks, pids)), "wall": time.perf_counter() - clock}
            read_comparisons(source, **options, engine=engine)  # workers have loaded what they need
            there, rows["two Dask workers, warm"] = least(
                lambda: read_comparisons(source, **options, engine=engine), pids
            )
            assert same(alone, there)
            again, rows["the same, one killed at a third"] = measured(
                lambda: read_comparisons(source, **options, engine=engine, progress=killing(pids[0])), pids
            )
            assert same(alone, again)
            left = [pid for pid in engine.client.run(os.getpid).values() if pid not in pids]
            rows["the same, one killed at a third"]["cpu"] += sum(map(ticks, left))  # of the one in its place
        rows["start of two Dask workers"] = start
    return {"votes": int(1e6 * millions), "rows": rows}


def fits(millions: float) -> dict[str, Any]:
    """A fit here and with rows kept on two workers: with a covariate (Newton here) and without (sweeps here)."""
    rows: dict[str, Any] = {}
    sums: list[int] = []
    point, product = row_sums.KeptSums.point, row_sums.KeptSums.product

    def counting(way: Any) -> Any:
        return lambda self, *arguments: (sums.append(1), way(self, *arguments))[1]

    row_sums.KeptSums.point, row_sums.KeptSums.product = counting(point), counting(product)  # type: ignore[method-assign]
    strength_model.rows_that_pay = lambda *_, **__: 0  # type: ignore[attr-defined]
    with connect("local:2") as engine:
        pids = list(engine.client.run(os.getpid).values())
        for name, covariate in (("with a covariate", True), ("plain votes", False)):
            data = single_votes(int(1e6 * millions), 2000, covariate)
            size = len(data.left) if covariate else len(data.pairs.left)
            model = BradleyTerry(l2=0.01, tol=1e-9)
            here, alone = measured(lambda model=model, data=data: model.fit(data).ranking_.scores, [])
            sums.clear()
            there, shared = measured(
                lambda model=model, data=data: model.fit(data, engine=engine).ranking_.scores, pids
            )
            off = float(np.max(np.abs(here - there)))
            rows[name] = {"rows": size, "here": alone, "there": shared, "sums": len(sums), "apart": off}
    return rows


def kept(millions: float) -> dict[str, Any]:
    """Votes with a covariate in files, read and kept by two workers, beside reading and fitting them here."""
    rows: dict[str, Any] = {"rows": int(1e6 * millions)}
    with tempfile.TemporaryDirectory() as folder:
        votes = single_votes(rows["rows"], 2000, True)
        for k, run in enumerate(np.array_split(np.arange(rows["rows"]), FILES)):
            votes.take(slice(int(run[0]), int(run[-1]) + 1)).to_frame().write_parquet(f"{folder}/{k:02}.parquet")
        del votes
        model, options = BradleyTerry(l2=0.01, tol=1e-9), {"covariates": ["length"]}
        with connect("local:2") as engine:
            pids = list(engine.client.run(os.getpid).values())
            before = resident()
            there, rows["kept"] = measured(lambda: keep_comparisons(folder, engine=engine, **options), pids)
            scores, rows["fit there"] = measured(lambda: model.fit(there).ranking_.scores, pids)
            rows["megabytes more here"] = resident() - before
            rows["steps"] = model.n_iter_
        here, rows["read here"] = measured(lambda: read_comparisons(folder, **options, jobs=1), [])
        alone, rows["fit here"] = measured(lambda: model.fit(here).ranking_.scores, [])
        rows["apart"] = float(np.max(np.abs(alone - scores)))
        assert model.ranking_.items == there.items
    return rows


def resident() -> float:
    """Megabytes that this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def kept_table(saved: dict[str, Any]) -> str:
    lines = [f"| {saved['rows']:,} votes with a covariate | Here, CPU | On two workers, CPU of all |", "|---|--:|--:|"]
    for name, one, other in (("reading", "read here", "kept"), ("fit", "fit here", "fit there")):
        lines.append(f"| {name} | {saved[one]['cpu']:.1f} s | {saved[other]['cpu']:.1f} s |")
    lines.append(f"| memory held here, beyond | | {saved['megabytes more here']:.0f} MB |")
    lines.append(f"| scores apart by | | {saved['apart']:.0e} |")
    return "\n".join(lines)


def single_votes(m: int, n: int, covariate: bool) -> Comparisons:
    """Votes of normal scores, perhaps with a covariate, which keeps each a row of its own."""
    rng = np.random.default_rng(0)
    truth, length = rng.normal(size=n), rng.normal(size=(m, 1))
    left = rng.integers(0, n, m).astype(np.int32)
    right = ((left + rng.integers(1, n, m)) % n).astype(np.int32)
    margin = truth[left] - truth[right] + (0.3 * length[:, 0] if covariate else 0.0)
    outcome = np.where(rng.random(m) < 1 / (1 + np.exp(-margin)), 1, -1).astype(np.int8)
    more: dict[str, Any] = {"covariates": length, "covariate_names": ("length",)} if covariate else {}
    return Comparisons(tuple(range(n)), left, right, outcome=outcome, sided=True, **more)


def fit_table(saved: dict[str, Any]) -> str:
    lines = [
        "| Votes | Rows | Fit here, CPU | On two workers, CPU of all | Sums | Scores apart |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name, row in saved.items():
        cpu = f"{row['here']['cpu']:.1f} s | {row['there']['cpu']:.1f} s"
        lines.append(f"| {name} | {row['rows']:,} | {cpu} | {row['sums']} | {row['apart']:.0e} |")
    return "\n".join(lines)


def table(saved: dict[str, Any]) -> str:
    one = saved["rows"]["one process"]
    lines = ["| Way | CPU | Times one process | Clock |", "|---|--:|--:|--:|"]
    for name, row in saved["rows"].items():
        ratio = "" if name.startswith("start") else f"{row['cpu'] / one['cpu']:.2f}"
        lines.append(f"| {name} | {row['cpu']:.1f} s | {ratio} | {row['wall']:.1f} s |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--votes", type=float, help="millions: 20, or 2 for a fit")
    parser.add_argument("--fit", action="store_true", help="fits with rows kept on workers")
    parser.add_argument("--kept", action="store_true", help="votes that workers read and keep")
    given = parser.parse_args()
    if given.fit:
        print(fit_table(fits(given.votes or 2.0)))
    elif given.kept:
        print(kept_table(kept(given.votes or 20.0)))
    else:
        print(table(run(given.votes or 20.0)))


if __name__ == "__main__":
    main()
