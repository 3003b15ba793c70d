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
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
PRINTED = HERE / "results" / "printed"
CODE = ("src", "setup.py", "benchmarks/*.py", "papers/*.py")  # what decides a measurement; pages and results do not
NO_FIGURE = "src/podium/errors.py"  # what it holds ends a measurement, and moves none
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
PROGRAM = re.compile(r"^from (podium[\w.]*) import ([\w, ]+)$", re.MULTILINE)
OURS = re.compile(r"podium(\.\w+)+")  # a module that is imported by its name
SOURCE = re.compile(r"^measured in (\S+)$", re.MULTILINE)  # said by a command that goes on from results it keeps itself


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
    """Keep what a command printed just now; where it only printed what it had kept, with the day and commit of that."""
    PRINTED.mkdir(parents=True, exist_ok=True)
    now = stamp()
    if (source := SOURCE.search(text)) and not _git("status", "--porcelain", "--", source[1]).stdout:
        day, commit = _git("log", "-1", "--format=%cs %h", "--", source[1]).stdout.split()
        now = {"date": day, "commit": commit}
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
    """Whether it was printed by the code of the working tree: every file that the command may run is as it was."""
    last = kept(words)
    if last is None or last.seconds is None:
        return False
    return is_as_in(last.commit, code_of(words))


def is_as_in(commit: str, files: set[Path]) -> bool:
    """Whether these files, and how kernels are compiled, do what they did in a commit; one with a + is not known.

    Comments, docstrings and messages of errors may be others.
    """
    if not re.fullmatch(r"[0-9a-f]+", commit):
        return False
    names = sorted(str(path.relative_to(ROOT)) for path in files)
    changed = _git("diff", "--name-only", "--relative", commit, "--", "setup.py", *names)
    return changed.returncode == 0 and all(_does_the_same(commit, name) for name in changed.stdout.splitlines())


def _does_the_same(commit: str, name: str) -> bool:
    if name == NO_FIGURE:
        return True
    before, now = _git("show", f"{commit}:./{name}"), ROOT / name
    if before.returncode or not now.exists() or now.suffix != ".py":
        return False
    return _statements(before.stdout) == _statements(now.read_text(encoding="utf-8"))


def _statements(source: str) -> str:
    """What Python runs of a file, without docstrings, what errors say and which are known."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            node.exc = None
        if isinstance(body := getattr(node, "body", None), list):
            said = body[:1] if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else []
            body[:] = [each for each in body if each not in said and not _imports_errors(each)]
    return ast.dump(tree)


def _imports_errors(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "podium.errors"


def code_of(words: str) -> set[Path]:
    """Files of src, benchmarks and papers that a command may run: its own and what they import, but for this one."""
    module, *options = words.split()
    begin = [module]
    if "--family" in options:  # benchmarks.run finds its families by their names
        begin.append(f"benchmarks.{options[options.index('--family') + 1]}")
    found = {Path(__file__)}
    waiting = [path for each in begin if (path := _file(each))]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += _imported(path)
    found.remove(Path(__file__))  # how a table is written
    return found | {pxd for path in found if (pxd := path.with_suffix(".pxd")).exists()}


@cache
def _imported(path: Path) -> list[Path]:
    """Files that a file imports, by a statement, by name or in a program it holds; with `-m podium` all of src."""
    found: list[Path | None] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [_file(alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found += [_where(node.module, alias.name) for alias in node.names]
        elif isinstance(node, ast.List) and {"-m", "podium"} <= {getattr(word, "value", "") for word in node.elts}:
            found += (ROOT / "src").rglob("*.py")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(_file(node.value) if OURS.fullmatch(node.value) else None)
            found += [
                _where(module, name) for module, names in PROGRAM.findall(node.value) for name in names.split(", ")
            ]
    return [each for each in found if each]


def _file(module: str) -> Path | None:
    """The file of a module of ours."""
    place = module.removeprefix("cython.cimports.").replace(".", "/")
    beside = (ROOT / base / end for base in ("", "src") for end in (f"{place}.py", f"{place}/__init__.py"))
    return next((path for path in beside if path.exists()), None)


def _where(module: str, name: str) -> Path | None:
    """The file that `from module import name` reads: a module of that name, or where a package takes the name from."""
    package = _file(module)
    if (path := _file(f"{module}.{name}")) or package is None or package.name != "__init__.py":
        return path or package
    for node in ast.walk(ast.parse(package.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and name in (alias.name for alias in node.names):
            return _where(node.module, name)
    return package


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def head(*names: str) -> None:
    """Print the head of a Markdown table; the first column is text, the others are numbers."""
    print(f"\n| {' | '.join(names)} |\n|---|{'--:|' * (len(names) - 1)}", flush=True)


def row(*cells: object) -> None:
    """Print a row of it, shares as everywhere with a blank before the sign."""
    print(re.sub(r"(?<=\d)%", " %", f"| {' | '.join(map(str, cells))} |"), flush=True)
