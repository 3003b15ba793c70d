"""Try what survived `scripts/mutate.py` against every test of the suite that reaches it, quick or slow.

python -m scripts.mutate_again KEPT … [--seconds T] [--jobs N]

KEPT is what `mutate.py --keep KEPT` wrote. First the whole suite runs once on the source as it is, with notes at the
statements that were changed, and says which test reaches which: as long as `make test`, and kept in build/mutate until
one of their files changes or KEPT has more. Then each survivor is put into a copy of the tree, and the tests that reach
it run there in an ordinary process, those of its own room and the quickest first, until one fails or their seconds are
used up. Tests that start a process, where no notes are taken, come last. A line for each says which test noticed it.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from scripts import mutate

HERE = Path(__file__).resolve().parent.parent
TO_NOTE, NOTES = "MUTATE_TO_NOTE", "MUTATE_NOTES"  # in the environment of the suite's processes: files
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


@dataclass(eq=False)
class Notes:
    """A pytest plugin: for each test that passes, the noted lines it reaches and the seconds it takes."""

    out: Path
    seen: set[tuple[str, int]]
    found: dict[str, dict[str, object]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Around one test."""
        self.seen.clear()
        began = sum(os.times()[:4])
        done = yield
        if item.nodeid not in self.failed:
            self.found[item.nodeid] = {"lines": sorted(self.seen), "spent": sum(os.times()[:4]) - began}
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        """A test that fails without a change says nothing of one."""
        report = yield
        if report.failed:
            self.failed.add(item.nodeid)
        return report

    def pytest_sessionfinish(self) -> None:
        """Each process of the suite has a file of its own."""
        (self.out / f"{os.getpid()}.json").write_text(json.dumps(self.found), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Called in each process of the suite, which has this module as a plugin."""
    if config.option.numprocesses and not hasattr(config, "workerinput"):
        return  # only hands out the tests
    wanted = {file: set(lines) for file, lines in json.loads(Path(os.environ[TO_NOTE]).read_text("utf-8")).items()}
    package = config.rootpath / "src" / mutate.PACKAGE
    seen = mutate.noting([package / file for file in wanted], wanted)
    config.pluginmanager.register(Notes(Path(os.environ[NOTES]), seen))


@dataclass(frozen=True)
class Tests:
    """Which test reaches which noted line, `file:line`, and its seconds."""

    lines: dict[str, set[str]]
    spent: dict[str, float]

    def near(self, change: mutate.Change, room: str, most: float) -> list[str]:
        """Those to try, its room's own first, then the quickest, for at most so many seconds."""
        wanted = set(noted(change))
        reaching = [test for test, lines in self.lines.items() if lines & wanted]
        starting = [test for test, lines in self.lines.items() if f"{mutate.OTHER_PROCESS}:0" in lines]
        own = (f"tests/{room}/", f"tests/test_{room}.py")
        order = sorted(reaching, key=lambda test: (not test.startswith(own), self.spent[test]))
        order += sorted(set(starting) - set(reaching), key=self.spent.__getitem__)
        used, found = 0.0, []
        for test in order:
            used += self.spent[test]
            if used <= most:
                found.append(test)
        return found


def noted(change: mutate.Change) -> list[str]:
    """The lines of which a test reaches one if it may notice a change: its statement; outside of functions, any."""
    file = mutate.inside(change.path)
    first = [change.statement.start] if change.in_function else first_lines(change.path)
    return [f"{file}:{line}" for line in first]


def first_lines(path: Path) -> list[int]:
    """The first statement of each function of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node.body[0].lineno for node in ast.walk(tree) if isinstance(node, mutate.FUNCTION)]


def drawn(rows: list[dict[str, str]], root: Path) -> dict[str, mutate.Change]:
    """The changes that rows of a kept file name, by the words they are named with."""
    found = {}
    for room in {row["room"] for row in rows}:
        named = {row["change"] for row in rows if row["room"] == room}
        for path in mutate.files_of(room, root):
            if any(change.startswith(f"{mutate.inside(path)}:") for change in named):
                found |= {str(change): change for change in mutate.changes(path) if str(change) in named}
    return found


def reach(changes: list[mutate.Change], copy: Path, jobs: int, kept: Path) -> Tests:
    """Run the whole suite once with notes, or take what was kept of the same source and the same lines or more."""
    wanted = sorted({line for change in changes for line in noted(change)})
    paths = {change.path for change in changes}
    source = {mutate.inside(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {"source": {}, "noted": []}
    if not (source.items() <= known["source"].items() and set(wanted) <= set(known["noted"])):
        known = {"source": source, "noted": wanted, "tests": _run_suite(wanted, copy, jobs)}
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(known), encoding="utf-8")
    tests = known["tests"]
    lines = {test: {f"{file}:{line}" for file, line in each["lines"]} for test, each in tests.items()}
    return Tests(lines, {test: each["spent"] for test, each in tests.items()})


def _run_suite(wanted: list[str], copy: Path, jobs: int) -> dict[str, dict[str, object]]:
    by_file = defaultdict(list)
    for line in wanted:
        file, _, number = line.rpartition(":")
        by_file[file].append(int(number))
    with tempfile.TemporaryDirectory(prefix="mutate-notes-") as place:
        notes = Path(place)
        (notes / "wanted").write_text(json.dumps(by_file), encoding="utf-8")
        outside = {TO_NOTE: str(notes / "wanted"), NOTES: place}
        words = [*PYTEST, "-n", str(jobs), "-p", "scripts.mutate_again", "--ignore=tests/fuzz"]
        done = subprocess.run(words, cwd=copy, env=_environment(copy) | outside, check=False, stdout=sys.stderr)
        if done.returncode > 1:  # 1: some tests fail
            raise SystemExit("the tests did not run to their end")
        found = {}
        for path in notes.glob("*.json"):
            found |= json.loads(path.read_text(encoding="utf-8"))
        return found


def noticed_by(change: mutate.Change, tests: list[str], copy: Path, seconds: float) -> str:
    """The first of the tests that fails with the change in place; none: an empty word."""
    before = change.path.read_text(encoding="utf-8")
    change.path.write_text(change.source(), encoding="utf-8")
    try:
        done = subprocess.run(
            [*PYTEST, "-x", "-rfE", *tests], cwd=copy, env=_environment(copy), capture_output=True, text=True,
            timeout=60 + 5 * seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "it takes far longer"
    finally:
        change.path.write_text(before, encoding="utf-8")
    if done.returncode == 0:
        return ""
    named = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return named[0].split(" - ")[0] if named else f"exit status {done.returncode}"


def _environment(copy: Path) -> dict[str, str]:
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return dict(os.environ) | threads | {"PYTHONPATH": f"{copy / 'src'}:{copy}:{HERE}", "PYTHONDONTWRITEBYTECODE": "1"}


def main() -> None:
    """Read the options; try each survivor, and say how many of all that were kept are noticed now."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kept", type=Path, nargs="+")
    parser.add_argument("--seconds", type=float, default=120.0, help="of tests tried against one change")
    parser.add_argument("--jobs", type=int, default=2, help="processes of the suite")
    parser.add_argument("--root", type=Path, default=HERE, help="the tree")
    options = parser.parse_args()
    rows = [json.loads(line) for path in options.kept for line in path.read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory(prefix="mutate-") as place:
        copy = Path(place).resolve()
        mutate.copied(options.root, copy)
        changes = drawn(rows, copy)
        if gone := [row["change"] for row in rows if row["change"] not in changes]:
            print(f"{len(gone)} are left out, as the source has changed since:", *gone, sep="\n")
        rows = [row for row in rows if row["change"] in changes]
        tests = reach(list(changes.values()), copy, options.jobs, options.root / "build" / "mutate" / "again.json")
        alive = [row for row in rows if not row["noticed"]]
        noticed = 0
        for row in alive:
            change = changes[row["change"]]
            near = tests.near(change, row["room"], options.seconds)
            test = noticed_by(change, near, copy, options.seconds) if near else ""
            noticed += bool(test)
            print(f"{change}\n  ({test or f'{len(near)} tests do not notice it'})", flush=True)
    first = len(rows) - len(alive)
    print(f"{first + noticed} of {len(rows)} noticed, {noticed} of them by tests that were not tried before")


if __name__ == "__main__":
    main()
