"""Run the scenarios, print the ratios, and keep them as JSON and as a page of the docs.

python -m benchmarks.run [--full] [--only NAME …] [--family FAMILY …] [--no-save]
python -m benchmarks.run --page          rewrite the page from the last results
"""

from __future__ import annotations

import argparse
import importlib
import json
from dataclasses import asdict
from pathlib import Path

from benchmarks.harness import Result, Scenario, run_scenario

HERE = Path(__file__).parent
RESULTS = HERE / "results"
PAGE = HERE.parent / "docs" / "benchmarks.md"
TOOLS = {"harness", "run", "compare", "__init__"}

COLUMNS = "| Way | CPU | Times ours | Wanted | Gap | Memory |\n|---|--:|--:|---|--:|--:|\n"

HEAD = """# Benchmarks

<!-- Written by `python -m benchmarks.run --page` from benchmarks/results/; do not edit. -->

Every figure is measured side by side: the same data, one thread, CPU seconds, warm, the least of several runs, in one
run of `make bench` (minutes) or `make bench-full` (the long ones too). Trust the ratios rather than the seconds: the
machine here had two shared cores. *Times ours* is how many times as long the other way took. *Gap* is its penalised
loss per vote less ours: near zero when both reached the same optimum, positive when ours is better. *Memory* is what
was needed beyond the data at its peak.
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
    parser.add_argument("--no-save", action="store_true", help="print only")
    parser.add_argument("--page", action="store_true", help="rewrite the page of the docs from the last results")
    options = parser.parse_args()
    known = families()
    if not options.page:
        for family, scenarios in known.items():
            if options.family and family not in options.family:
                continue
            for scenario in scenarios:
                if (scenario.name in options.only) if options.only else (options.full or not scenario.full):
                    results = run_scenario(scenario)
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
    kept[scenario.name] = {"title": scenario.title, "limit": scenario.limit, "results": rows}
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def text(scenario: Scenario, results: list[Result]) -> str:
    """The results of one scenario as lines for the terminal."""
    lines = [f"\n{scenario.name}: {scenario.title}"]
    for row in map(asdict, results):
        cells = _cells(row, scenario.limit)
        lines.append(f"  {row['way']:<42} {cells[0]:>12} {cells[1]:>12}  {cells[2]:<16} {cells[3]:>10} {cells[4]:>9}")
    return "\n".join(lines)


def page(known: dict[str, tuple[Scenario, ...]]) -> str:
    """The page of the docs, from what the results folder holds."""
    parts = [HEAD]
    for family in known:
        path = RESULTS / f"{family}.json"
        if not path.exists():
            continue
        parts.append(f"\n## {family.replace('_', ' ').capitalize()}\n")
        kept = json.loads(path.read_text(encoding="utf-8"))
        order = [scenario.name for scenario in known[family] if scenario.name in kept]
        for name in order:
            entry = kept[name]
            parts.append(f"\n### {entry['title']}\n\n{COLUMNS}")
            parts += [
                "| " + " | ".join([row["way"], *_cells(row, entry["limit"])]) + " |\n" for row in entry["results"]
            ]
            parts.append(f"\n`python -m benchmarks.run --only {name}`\n")
    return "".join(parts)


def _cells(row: dict, limit: float | None) -> list[str]:
    """Time, ratio, verdict, gap and memory of one way, as text."""
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
