"""What the measuring commands printed: one file each in benchmarks/results/printed, with its day and commit.

The first line of a file says when: `2026-11-18, 18bdd1b, 35 s` is the day, the commit and how long it took. A table
that was copied into a page by hand before its command was kept says `2026-11-16, 90ad063, copied from the page`: the
day and commit of that page, not of a measurement. The rest is what the command printed; its tables are in Markdown.
"""

from __future__ import annotations

import ast
import datetime
import re
import subprocess
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from benchmarks import ran

HERE = Path(__file__).parent
ROOT = HERE.parent
PRINTED = HERE / "results" / "printed"
CODE = ("src", "setup.py", "benchmarks/*.py", "papers/*.py")  # what decides a measurement; pages and results do not
NO_FIGURE = "src/podium/errors.py"  # what it holds ends a measurement, and moves none
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Print:
    """What a command printed, and when."""

    day: str
    commit: str
    seconds: float | None  # None: copied from a page
    text: str

    @property
    def tables(self) -> list[str]:
        """Its Markdown tables, in order."""
        return TABLE.findall(self.text)

    def __str__(self) -> str:
        took = "copied from the page" if self.seconds is None else f"{self.seconds:.0f} s"
        return f"{self.day}, {self.commit}, {took}\n\n{self.text}"


def file_of(words: str) -> Path:
    """Where what a command prints is kept."""
    return PRINTED / (re.sub(r"[^\w.]+", "-", words).strip("-") + ".txt")


def kept(words: str) -> Print | None:
    """What a command printed when it last ran to its end."""
    path = file_of(words)
    if not path.exists():
        return None
    head, _, text = path.read_text(encoding="utf-8").partition("\n\n")
    day, commit, took = head.split(", ", 2)
    return Print(day, commit, None if took.startswith("copied") else float(took.removesuffix(" s")), text)


def keep(words: str, text: str, seconds: float) -> None:
    """Keep what a command printed just now, with day and commit."""
    PRINTED.mkdir(parents=True, exist_ok=True)
    now = stamp()
    file_of(words).write_text(str(Print(now["date"], now["commit"], seconds, text)), encoding="utf-8")


def stamp() -> dict[str, str]:
    """The day, and the commit of the working tree, with a + where code was changed since."""
    commit = _git("describe", "--always", "--exclude=*").stdout.strip()
    changed = _git("status", "--porcelain", "--", *CODE).stdout.strip()
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": commit + ("+" if changed else ""),
    }


def is_current(words: str) -> bool:
    """Whether the code of the working tree prints it: every function that it ran does what it did in that commit.

    Comments, docstrings and messages of errors may be others, and so may all that did not run (see `ran`).
    """
    last, functions = kept(words), ran.kept(file_of(words).name)
    if last is None or functions is None or not re.fullmatch(r"[0-9a-f]+", last.commit):  # one with a + is not known
        return False
    kernels = {str(path.relative_to(ROOT)) for path in _kernels(ROOT / place for place in functions)}
    changed = _git("diff", "--name-only", "--relative", last.commit, "--", "setup.py", *kernels, *functions)
    return changed.returncode == 0 and all(
        _does_the_same(last.commit, place, functions.get(place)) for place in changed.stdout.splitlines()
    )


def _does_the_same(commit: str, place: str, functions: Collection[str] | None) -> bool:
    """Whether a file does what it did, all of it or these functions."""
    if place == NO_FIGURE:
        return True
    before, now = _git("show", f"{commit}:./{place}"), ROOT / place
    if before.returncode or not now.exists() or now.suffix != ".py":
        return False
    texts = before.stdout, now.read_text(encoding="utf-8")
    if functions is None:
        return ast.dump(ran.statements(texts[0])) == ast.dump(ran.statements(texts[1]))
    return ran.does_the_same(*texts, functions, package=now.name == "__init__.py")


def _kernels(places: Iterable[Path]) -> set[Path]:
    """Compiled kernels that these files import, and those that these use, each with what it declares."""
    found: set[Path] = set()
    waiting = [path for path in places if path.suffix == ".py" and path.exists()]
    while waiting:
        path = waiting.pop()
        files = (ROOT / "src" / f"{place}{end}" for place in _imported_kernels(path) for end in (".py", ".pxd"))
        new = {file for file in files if file.exists()} - found
        found |= new
        waiting += [file for file in new if file.suffix == ".py"]
    return found


@cache
def _imported_kernels(path: Path) -> set[str]:
    """Places of kernels that a file may import: `podium/kernels/pairwise/graph`."""
    named: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            named += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            named += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    places = {name.removeprefix("cython.cimports.") for name in named}
    return {place.replace(".", "/") for place in places if place.startswith("podium.kernels.")}


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def head(*names: str) -> None:
    """Print the head of a Markdown table; the first column is text, the others are numbers."""
    print(f"\n| {' | '.join(names)} |\n|---|{'--:|' * (len(names) - 1)}", flush=True)


def row(*cells: object) -> None:
    """Print a row of it, shares as everywhere with a blank before the sign."""
    print(re.sub(r"(?<=\d)%", " %", f"| {' | '.join(map(str, cells))} |"), flush=True)
