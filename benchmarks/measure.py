"""Measure every figure that README and docs quote, then write what was measured into them: hours of one core.

python -m benchmarks.measure [--data DIR]    run every command that these pages name, then rewrite their figures
python -m benchmarks.measure --list          only say which commands these are, on which page, and when last measured

Each command runs once. Those that keep results (benchmarks/results/*.json) feed the marked blocks, which are rewritten
at the end with day and commit; what every command prints is kept in benchmarks/results/printed/, with the day and the
commit in its first line, for the tables that a reader has to compare. A command that fails, or that needs what is not
here (copies of public data, a model's server), is named at the end, and the others go on.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks import figures
from benchmarks.run import stamp

ROOT = Path(__file__).parent.parent
PRINTED = figures.RESULTS / "printed"
NAMED = re.compile(r"`python -m ((?:benchmarks|papers)\.[^`]+)`")
NEEDED = re.compile(r"(?<![\w.-])[A-Z]{3,}(?![\w.])")  # DIR, URL, NAME: what only a user has
ITSELF = ("benchmarks.measure", "benchmarks.figures")


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it is typed after `python -m`, and the pages that quote what it measures."""

    words: str
    pages: tuple[str, ...]

    @property
    def file(self) -> Path:
        """Where what it prints is kept."""
        return PRINTED / (re.sub(r"[^\w.]+", "-", self.words).strip("-") + ".txt")

    def last(self) -> str:
        """When it was measured last, and on which commit."""
        return self.file.read_text(encoding="utf-8").partition("\n")[0] if self.file.exists() else "not kept"


def commands() -> list[Command]:
    """Every command of README and docs, once; all scenarios of `benchmarks.run` are one of them."""
    named: dict[str, set[str]] = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for words in NAMED.findall(page.read_text(encoding="utf-8")):
            words = " ".join(words.split())
            if words.split()[0] in ITSELF:
                continue
            whole = "benchmarks.run --full --data DIR" if words.startswith("benchmarks.run") else words
            named.setdefault(whole, set()).add(str(page.relative_to(ROOT)))
    return [Command(words, tuple(sorted(pages))) for words, pages in named.items()]


def filled(words: str, data: str | None) -> str | None:
    """The command with the folder of public data in its place; None where it needs something else."""
    if data is None:
        words = words.replace(" --full --data DIR", " --full")  # scenarios that need data are skipped by name
    else:
        words = words.replace("DIR", shlex.quote(data))
    return None if NEEDED.search(words) or "…" in words else words


def measured(command: Command, words: str) -> bool:
    """Run it and keep what it prints; whether it came to its end."""
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(words)], cwd=ROOT, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    )
    if done.returncode == 0:
        PRINTED.mkdir(exist_ok=True)
        command.file.write_text(f"{', '.join(stamp().values())}\n\n{done.stdout}", encoding="utf-8")
    return done.returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="DIR", help="folder with copies of the public data sets")
    parser.add_argument("--list", action="store_true", help="name the commands and when each was measured last")
    options = parser.parse_args()
    left: list[str] = []
    for command in commands():
        words = filled(command.words, options.data)
        if options.list:
            print(f"{command.last():24}  {command.words}  ({', '.join(command.pages)})")
        elif words is None:
            left.append(f"{command.words}: needs what is not here")
        else:
            print(f"python -m {words}", flush=True)
            if not measured(command, words):
                left.append(f"{command.words}: failed")
    if not options.list:
        figures.main()
        print("\n".join(left) if left else "all was measured")


if __name__ == "__main__":
    main()
