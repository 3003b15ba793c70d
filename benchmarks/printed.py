"""What the measuring commands printed: one file each in benchmarks/results/printed, with its day and commit.

The first line of a file says when: `2026-11-18, 18bdd1b, 35 s` is the day, the commit and how long it took. A table
that was copied into a page by hand before its command was kept says `2026-11-16, 90ad063, copied from the page`: the
day and commit of that page, not of a measurement. The rest is what the command printed; its tables are in Markdown.
"""

from __future__ import annotations

import datetime
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
PRINTED = HERE / "results" / "printed"
CODE = ("src", "setup.py", "benchmarks/*.py", "papers/*.py")  # what decides a measurement; pages and results do not
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
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
    """Whether it was printed by the code of the working tree: src and the command's own file are as they were."""
    last = kept(words)
    if last is None or last.seconds is None or not re.fullmatch(r"[0-9a-f]+", last.commit):
        return False
    own = words.split()[0].replace(".", "/") + ".py"
    return _git("diff", "--quiet", last.commit, "--", "src", "setup.py", own).returncode == 0


def _git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)


def head(*names: str) -> None:
    """Print the head of a Markdown table; the first column is text, the others are numbers."""
    print(f"\n| {' | '.join(names)} |\n|---|{'--:|' * (len(names) - 1)}", flush=True)


def row(*cells: object) -> None:
    """Print a row of it, shares as everywhere with a blank before the sign."""
    print(re.sub(r"(?<=\d)%", " %", f"| {' | '.join(map(str, cells))} |"), flush=True)
