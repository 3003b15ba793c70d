"""Counting votes in files: podium beside polars' streaming group-by and DuckDB's, each in a process of its own.

    python -m benchmarks.counting                 20 million votes in 16 files (minutes)
    python -m benchmarks.counting --votes 2e6     smaller
    python -m benchmarks.counting --growth        how time and memory grow; writes docs/counting.png

CPU seconds (of all processes of a way) and the peak of its memory, one thread, start-up and imports left out of the
time. Every way must find the same number of votes and of distinct (left, right, outcome) cells.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.printed import head, row

ROOT = Path(__file__).resolve().parent.parent
ITEMS, JUDGES = 2000, 50

START = """
import json, resource, sys, time
def cpu():
    them = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + them.ru_utime + them.ru_stime
def done(votes, cells):
    took = cpu() - begin
    # ru_maxrss of a process starts at that of its parent, which made the files; its workers start from it
    own = int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
    peak = (own + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024
    wall = time.perf_counter() - clock
    print(json.dumps({"cpu": took, "wall": wall, "megabytes": peak, "votes": int(votes), "cells": int(cells)}))
source = sys.argv[1]
"""
GO = "begin, clock = cpu(), time.perf_counter()\n"
PODIUM = """
import polars
from podium import read_comparisons
if __name__ == "__main__":
    begin, clock = cpu(), time.perf_counter()
    votes = read_comparisons(source, {options})
    done(len(votes), len(votes.left))
"""
POLARS = (
    "import polars as pl\n"
    + GO
    + """
counts = pl.scan_{format}(source).group_by({columns}).len().collect(engine="streaming")
done(counts["len"].sum(), len(counts))
"""
)
DUCKDB = (
    "import duckdb\n"
    + GO
    + """
duckdb.sql("SET threads TO 1")
counts = duckdb.sql(f'''CREATE TABLE counts AS SELECT {names}, count(*) AS votes FROM '{{source}}' GROUP BY {names}''')
done(*duckdb.sql("SELECT sum(votes), count(*) FROM counts").fetchall()[0])
"""
)


def write_files(folder: Path, votes: int, files: int, *, items: int = ITEMS, format: str = "parquet") -> None:
    """Votes with text labels, a tenth of them ties, by 50 judges."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    names = pl.Series([f"model-{i:04}-instruct" for i in range(items)])
    words, judges = pl.Series(["right", "left", "tie"]), pl.Series([f"judge-{j}" for j in range(JUDGES)])
    strength = rng.normal(size=items)
    for k in range(files):
        m = votes // files
        left = rng.integers(items, size=m)
        right = (left + 1 + rng.integers(items - 1, size=m)) % items
        won = rng.random(m) < 1 / (1 + np.exp(strength[right] - strength[left]))
        outcome = np.where(rng.random(m) < 0.1, 2, won)
        judge = rng.integers(JUDGES, size=m)
        columns = {"left": names[left], "right": names[right], "outcome": words[outcome], "judge": judges[judge]}
        frame = pl.DataFrame(columns)
        path = folder / f"part{k:03}.{format}"
        {"csv": frame.write_csv, "parquet": frame.write_parquet, "jsonl": frame.write_ndjson}[format](path)


def ways(format: str, judges: bool) -> dict[str, str]:
    columns = ["left", "right", "outcome"] + (["judge"] if judges else [])
    judge = "" if judges else "judge=False, "
    found = {"podium": PODIUM.format(options=f"{judge}jobs=1")}
    if format == "parquet" and not judges:
        found["podium, sides folded"] = PODIUM.format(options=f"{judge}jobs=1, fold_sides=True")
        found["podium, jobs=2"] = PODIUM.format(options=f"{judge}jobs=2")
    found["polars"] = POLARS.format(format=format, columns=columns)
    found["duckdb"] = DUCKDB.format(names=", ".join(f'"{name}"' for name in columns))
    return found


def measure(script: str, source: str) -> dict[str, float]:
    """Run one way in a fresh process."""
    threads = dict.fromkeys(("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "way.py"
        path.write_text(START + script)
        command = [sys.executable, str(path), source]
        done = subprocess.run(command, env=os.environ | threads, capture_output=True, text=True)
    if done.returncode:
        return {"problem": done.stderr.strip().splitlines()[-1]}
    return json.loads(done.stdout.splitlines()[-1])


TITLES = {
    "podium": "`read_comparisons(…)`", "podium, sides folded": "the same, `fold_sides=True`",
    "podium, jobs=2": "the same, `jobs=2` (both processes together)",
    "polars": "polars, streaming `group_by(…).len()`", "duckdb": "DuckDB, `GROUP BY`",
}  # fmt: skip


def compare(votes: int, files: int, only: list[str] | None) -> None:
    """Every kind of file, every way."""
    kinds = {"plain": ("parquet", False), "judges": ("parquet", True), "csv": ("csv", False)}
    for kind, (format, judges) in kinds.items():
        if only and kind not in only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), votes, files, format=format)
            found = {name: measure(script, f"{folder}/*.{format}") for name, script in ways(format, judges).items()}
        base = found["polars"]
        cells = {way["cells"] for name, way in found.items() if "cells" in way and "folded" not in name}
        assert len(cells) == 1, f"the ways disagree: {found}"
        what = f"{'CSV' if format == 'csv' else 'Parquet'} files{', judges too' if judges else ''}"
        head(f"{votes:,} votes in {files} {what}: {cells.pop():,} distinct rows", "CPU", "Times polars", "Memory")
        for name, way in found.items():
            if "problem" in way:
                row(TITLES[name], way["problem"], "", "")
                continue
            ratio = way["cpu"] / base["cpu"]
            row(TITLES[name], f"{way['cpu']:.1f} s", f"{ratio:.2f}", f"{way['megabytes']:,.0f} MB")


def growth(largest: int) -> dict[str, list[dict]]:
    """Time and memory by votes, by items and by files, the other two held."""
    results: dict[str, list[dict]] = {"votes": [], "items": [], "files": []}
    plans = [("votes", int(largest * share), 8, ITEMS) for share in (0.05, 0.1, 0.2, 0.5, 1.0)]
    plans += [("items", largest // 10, 8, items) for items in (100, 300, 1000, 3000, 10_000)]
    plans += [("files", largest // 10, files, ITEMS) for files in (1, 2, 4, 8, 16, 32)]
    for what, votes, files, items in plans:
        with tempfile.TemporaryDirectory() as folder:
            write_files(Path(folder), votes, files, items=items)
            point = {"votes": votes, "files": files, "items": items}
            for name in ("podium", "polars"):
                point[name] = measure(ways("parquet", False)[name], f"{folder}/*.parquet")
        results[what].append(point)
        print(what, {key: value for key, value in point.items() if not isinstance(value, dict)}, end=" ")
        print({name: (round(point[name]["cpu"], 2), round(point[name]["megabytes"])) for name in ("podium", "polars")})
    return results


def draw(results: dict[str, list[dict]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.5), layout="constrained")
    axes = figure.subplots(2, 3)
    for column, (what, rows) in enumerate(results.items()):
        for line, (measured, unit) in enumerate((("cpu", "CPU seconds"), ("megabytes", "peak memory, MB"))):
            axis = axes[line, column]
            for name, style in (("podium", "o-"), ("polars", "s--")):
                axis.plot([each[what] for each in rows], [each[name][measured] for each in rows], style, label=name)
            axis.set(xscale="log", ylim=(0, None), xlabel=what if line else "", ylabel="" if column else unit)
            axis.minorticks_off()
            axis.grid(alpha=0.3)
    axes[0, 0].legend()
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--votes", type=float, default=20e6)
    parser.add_argument("--files", type=int, default=16)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--only", nargs="+", choices=["plain", "judges", "csv"], help="some kinds of files")
    parser.add_argument("--no-save", action="store_true")
    given = parser.parse_args()
    if given.growth:
        found = growth(int(given.votes))
        if not given.no_save:
            draw(found, ROOT / "docs" / "counting.png")
    else:
        compare(int(given.votes), given.files, given.only)


if __name__ == "__main__":
    main()
