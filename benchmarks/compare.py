"""Time two commits against each other: the same scenarios, ours only, in turns.

    python -m benchmarks.compare [BASE [HEAD]] [--only NAME …]       default: main against the working tree

Each commit is unpacked and built in a folder of its own under build/compare, and the scenarios of the present
working tree are run on both. A ratio above 1 means that HEAD is slower.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.run import families

ROOT = Path(__file__).parent.parent
ROUNDS = 3

TIMER = """
import json, sys
from benchmarks.harness import run_scenario
from benchmarks.run import families
import dataclasses
for family, scenarios in families().items():
    for scenario in scenarios:
        if scenario.name in sys.argv[1:] or (not sys.argv[1:] and not scenario.full):
            only = dataclasses.replace(scenario, ways=scenario.ways[:1])
            print(json.dumps([scenario.name, run_scenario(only)[0].seconds]), flush=True)
"""


def built(commit: str | None) -> Path:
    """Folder with the sources of a commit, compiled; None is the working tree."""
    if commit is None:
        _build(ROOT)
        return ROOT / "src"
    name = subprocess.run(
        ["git", "rev-parse", "--short", commit], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.strip()
    folder = ROOT / "build" / "compare" / name
    if not folder.exists():
        folder.mkdir(parents=True)
        sources = subprocess.run(["git", "archive", name], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "x"], cwd=folder, input=sources, check=True)
    _build(folder)
    return folder / "src"


def _build(folder: Path) -> None:
    """Compile the kernels in place; what the compiler says goes to stderr."""
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace", "-j", str(os.cpu_count() or 1)]
    subprocess.run(command, cwd=folder, check=True, stdout=sys.stderr)


def timed(source: Path, only: list[str]) -> dict[str, float]:
    """CPU seconds of each scenario with the package of `source`."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(source), str(ROOT)])}
    said = subprocess.run(
        [sys.executable, "-c", TIMER, *only], cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True
    )
    return {name: seconds for name, seconds in map(json.loads, said.stdout.splitlines()) if seconds}


def main() -> None:
    """Build both, time them in turns, print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", nargs="?", default="main")
    parser.add_argument("head", nargs="?")
    parser.add_argument("--only", nargs="+", default=[])
    options = parser.parse_args()
    known = {scenario.name for scenarios in families().values() for scenario in scenarios}
    if unknown := sorted(set(options.only) - known):
        parser.error(f"no scenario {', '.join(unknown)}; there are {', '.join(sorted(known))}")
    sides = {"base": built(options.base), "head": built(options.head)}
    best: dict[str, dict[str, float]] = {side: {} for side in sides}
    for _ in range(ROUNDS):
        for side, source in sides.items():
            for name, seconds in timed(source, options.only).items():
                best[side][name] = min(seconds, best[side].get(name, seconds))
    print(f"{'scenario':<20} {'base':>10} {'head':>10} {'head/base':>10}")
    for name, seconds in best["head"].items():
        before = best["base"].get(name)
        shown = f"{1000 * before:>7.1f} ms" if before else f"{'–':>10}"
        print(f"{name:<20} {shown} {1000 * seconds:>7.1f} ms {seconds / before if before else float('nan'):>10.2f}")


if __name__ == "__main__":
    main()
