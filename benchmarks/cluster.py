"""What a cluster costs beside one process: CPU of all processes together, on this machine.

    python -m benchmarks.cluster             writes results/cluster.json and the table of docs/large.md (minutes)
    python -m benchmarks.cluster --votes 4   millions of votes instead of 20

Files are read by one process, by two (`jobs=2`), by two Dask workers that run already, and by two of which one is
killed in mid-work; what is read must be the same to the bit. CPU is that of this process and of the workers, by /proc.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.counting import ROOT, write_files
from podium import read_comparisons
from podium.engine import connect

HERE = Path(__file__).resolve().parent
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


def killing(pid: int) -> Any:
    """A report of progress that kills a worker at the first third."""
    done: list[bool] = []

    def progress(votes: int, size: int, total: int) -> None:
        if not done and size > total / 3:
            done.append(True)
            os.kill(pid, signal.SIGKILL)

    return progress


def run(millions: float) -> dict[str, Any]:
    """All ways, once each."""
    rows: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), int(1e6 * millions), FILES, items=2000, format="parquet")
        source, options = f"{folder}/*.parquet", {"judge": False}
        alone, rows["one process"] = measured(lambda: read_comparisons(source, **options, jobs=1), [])
        alone, rows["one process"] = measured(lambda: read_comparisons(source, **options, jobs=1), [])
        both, rows["two processes (`jobs=2`), start included"] = measured(
            lambda: read_comparisons(source, **options, jobs=2), []
        )
        assert same(alone, both)
        clock = time.perf_counter()
        with connect("local:2") as engine:
            pids = list(engine.client.run(os.getpid).values())
            start = {"cpu": sum(map(ticks, pids)), "wall": time.perf_counter() - clock}
            read_comparisons(source, **options, engine=engine)  # workers have loaded what they need
            there, rows["two Dask workers, warm"] = measured(
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


def table(saved: dict[str, Any]) -> str:
    one = saved["rows"]["one process"]
    lines = ["| Way | CPU | Times one process | Clock |", "|---|--:|--:|--:|"]
    for name, row in saved["rows"].items():
        ratio = "" if name.startswith("start") else f"{row['cpu'] / one['cpu']:.2f}"
        lines.append(f"| {name} | {row['cpu']:.1f} s | {ratio} | {row['wall']:.1f} s |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--votes", type=float, default=20.0, help="millions")
    saved = run(parser.parse_args().votes)
    (HERE / "results" / "cluster.json").write_text(json.dumps(saved, indent=1) + "\n")
    page = ROOT / "docs" / "large.md"
    marks = re.compile(r"(<!-- cluster -->\n).*?(<!-- end of cluster -->)", re.DOTALL)
    page.write_text(marks.sub(lambda found: f"{found[1]}{table(saved)}\n{found[2]}", page.read_text()))
    print(table(saved))


if __name__ == "__main__":
    main()
