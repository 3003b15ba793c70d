"""Run the scenarios, print the ratios, and keep them as JSON and as a page beside it (`make figures` writes the docs).

python -m benchmarks.run [--full] [--only NAME …] [--family FAMILY …] [--data DIR] [--no-save]
python -m benchmarks.run --page          rewrite the page from the last results

Scenarios on public data read copies from DIR (see `podium.datasets`) and are left out without it.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from benchmarks.figures import FAMILIES, missed
from benchmarks.harness import NoData, Result, Scenario, run_scenario
from benchmarks.printed import stamp

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PAGE = RESULTS / "README.md"  # in full; the docs have a short page, by `benchmarks.figures`
TOOLS = {"harness", "run", "compare", "figures", "printed", "__init__"}

COLUMNS = "| Way | CPU | Times ours | Wanted | Gap | Memory |{more}\n|---|--:|--:|---|--:|--:|{line}\n"

HEAD = """# Benchmarks, in full

<!-- Written by `python -m benchmarks.run --page` from benchmarks/results/; do not edit. -->

Every figure is measured side by side: the same data, one thread, CPU seconds, warm, the least of several runs. Trust
the ratios rather than the seconds: the machine here had two shared cores. *Times ours* is how many times as long the
other way took; a way called *floor* is the least that the work could cost, and is less than 1. *Wanted* is what we aim
at, and whether it is reached; every aim that is missed is named at the end. *Gap* is the way's loss (per vote, or its
error on held-out rows) less ours: near zero when both reached the same optimum, positive when ours is better. *Memory*
is what was needed beyond the data at its peak. Below each table: the command that prints it, the day, and the commit.

`make bench` runs what takes minutes, of every family, `make bench-full` the rest too; scenarios on public data need
copies of them: `python -m benchmarks.run --full --data DIR`.
"""


def families() -> dict[str, tuple[Scenario, ...]]:
    """Every module of this folder with SCENARIOS, by name."""
    found = {}
    for path in sorted(HERE.glob("*.py")):
        if path.stem not in TOOLS and "\nSCENARIOS" in path.read_text(encoding="utf-8"):
            found[path.stem] = importlib.import_module(f"benchmarks.{path.stem}").SCENARIOS
    return found


def main() -> None:
    """Read the options, run, print, save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the long scenarios too")
    parser.add_argument("--only", nargs="+", help="scenarios by name")
    parser.add_argument("--family", nargs="+", help="files of this folder by name")
    parser.add_argument("--data", metavar="DIR", help="folder with copies of the public data sets")
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument("--page", action="store_true", help="rewrite the full page from the last results")
    options = parser.parse_args()
    known = families()
    if options.data:
        os.environ["PODIUM_BENCHMARK_DATA"] = options.data
    if not options.page and len(asked := options.family or list(known)) > 1:
        # Each in a process of its own: threads that one family has started would hang the forks of the next.
        words = ["--full"] * options.full + ["--no-save"] * options.no_save
        words += ["--only", *options.only] if options.only else []
        words += ["--data", options.data] if options.data else []
        for family in asked:
            subprocess.run([sys.executable, "-m", "benchmarks.run", *words, "--family", family], check=True)
    elif not options.page:
        for family, scenarios in known.items():
            if family not in asked:
                continue
            for scenario in scenarios:
                if (scenario.name in options.only) if options.only else (options.full or not scenario.full):
                    try:
                        results = run_scenario(scenario)
                    except NoData as problem:
                        print(f"\n{scenario.name} left out: {problem}", file=sys.stderr)
                        continue
                    print(text(scenario, results), flush=True)
                    if not options.no_save:
                        save(family, scenario, results)
    if options.page or not options.no_save:
        PAGE.write_text(page(known), encoding="utf-8")


def save(family: str, scenario: Scenario, results: list[Result]) -> None:
    """Keep the results of one scenario; the others of its family stay as they are."""
    path = RESULTS / f"{family}.json"
    kept = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    rows = [{k: v for k, v in asdict(result).items() if k != "objective"} for result in results]
    kept[scenario.name] = {"title": scenario.title, "limit": scenario.limit, **stamp(), "results": rows}
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def text(scenario: Scenario, results: list[Result]) -> str:
    """The results of one scenario as lines for the terminal."""
    lines = [f"\n{scenario.name}: {scenario.title}"]
    for row in map(asdict, results):
        cells = _cells(row, scenario.limit)
        lines.append(
            f"  {row['way']:<42} {cells[0]:>12} {cells[1]:>12}  {cells[2]:<16} {cells[3]:>10} {cells[4]:>9}"
            f"  {row['quality'] or ''}".rstrip()
        )
    return "\n".join(lines)


def page(known: dict[str, tuple[Scenario, ...]]) -> str:
    """The full page, from what the results folder holds."""
    parts = [HEAD]
    for family in known:
        path = RESULTS / f"{family}.json"
        if not path.exists():
            continue
        parts.append(f"\n## {FAMILIES[family]}\n")
        kept = json.loads(path.read_text(encoding="utf-8"))
        for name in (scenario.name for scenario in known[family] if scenario.name in kept):
            parts += _section(name, kept[name])
    parts.append("\n## Aims that are missed\n\n" + "\n".join(missed() or ["None."]) + "\n")
    return "".join(parts)


def _section(name: str, entry: dict) -> list[str]:
    """One scenario: its table, and how to print it again."""
    told = any(row.get("quality") for row in entry["results"])
    parts = [f"\n### {entry['title']}\n\n", COLUMNS.format(more=" Quality |" * told, line="---|" * told)]
    for row in entry["results"]:
        cells = [row["way"], *_cells(row, entry["limit"]), *([row.get("quality") or ""] if told else [])]
        parts.append("| " + " | ".join(cells) + " |\n")
    when = f" ({entry['date']}, {entry['commit']})" if entry.get("date") else ""
    return [*parts, f"\n`python -m benchmarks.run --only {name}`{when}\n"]


def _cells(row: dict, limit: float | None) -> list[str]:
    """Time, ratio, verdict, gap and memory of one way, as text."""
    if more := row.get("more_than"):
        known = row["reach"] and more >= row["reach"]
        return [row["problem"], f"> {more:.3g}×", f"≥ {row['reach']:g}×: yes" if known else "–", "–", "–"]
    if row["problem"]:
        return [row["problem"], "–", "–", "–", "–"]
    seconds, ratio, reach = row["seconds"], row["ratio"], row["reach"]
    ours = ratio is not None and abs(ratio - 1) < 1e-12
    verdict = ""
    if reach:
        want = f"≥ {reach:g}×" if reach >= 1 else f"≥ 1/{1 / reach:g}×"
        verdict = f"{want}: {'yes' if ratio is not None and ratio >= reach else 'no'}"
    elif ours and limit:
        verdict = f"≤ {limit:g} s: {'yes' if seconds <= limit else 'no'}"
    gap = "" if row["gap"] is None or ours else f"{row['gap']:+.1e}"
    return [
        _time(seconds),
        "1" if ours else f"{ratio:.3g}×" if ratio else "–",
        verdict,
        gap,
        f"{row['megabytes']:.0f} MB",
    ]


def _time(seconds: float) -> str:
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


if __name__ == "__main__":
    main()
