"""Measure every figure that README and docs quote, then write what was measured into them: hours of one core.

python -m benchmarks.measure [--data DIR] [--only WORDS …] [--budget MINUTES]
python -m benchmarks.measure --list          only say which commands there are, on which page, when last and how long

It goes on where it stopped: what the code of the working tree prints is left as it is (no function that the command ran
has changed since, see `ran`), the rest runs oldest first. What a command prints is kept in benchmarks/results/printed
with day and commit as soon as it has come to its end, and fills the marked blocks of the pages, as do
benchmarks/results/*.json (see `benchmarks.figures`). A command that fails, or that needs what is not here (copies of
public data, a model's server), is named at the end.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import figures, printed, ran

ROOT = Path(__file__).parent.parent
NAMED = re.compile(r"`python -m ((?:benchmarks|papers)\.[^`]+)`")
NEEDED = re.compile(r"(?<![\w.-])[A-Z]{3,}(?![\w.])")  # DIR, URL, NAME: what only a user has
RUN = "benchmarks.run --full --data DIR"
ITSELF = ("benchmarks.measure", "benchmarks.figures")


@dataclass(frozen=True, slots=True)
class Command:
    """A command as it is typed after `python -m`, and the pages that quote what it measures."""

    words: str
    pages: tuple[str, ...]

    @property
    def seconds(self) -> float | None:
        """How long it took when it last ran."""
        last = printed.kept(self.words)
        return last.seconds if last else None

    def last(self) -> str:
        """When it was measured last, on which commit, and how long it took."""
        last = printed.kept(self.words)
        return str(last).partition("\n")[0] if last else "never kept"


def commands() -> list[Command]:
    """Every command of README and docs, once, oldest first; each family of `benchmarks.run` is one of them."""
    named: dict[str, set[str]] = {}
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        marked = (figures.COMMAND.fullmatch(name) for _, name, *_ in figures.BLOCK.findall(text))
        for words in [*(found[1] for found in marked if found), *NAMED.findall(text)]:
            words = " ".join(words.split())
            if words.split()[0] in ITSELF:
                continue
            ran = words.startswith("benchmarks.run")
            for each in [f"{RUN} --family {family}" for family in figures.FAMILIES] if ran else [words]:
                named.setdefault(each, set()).add(str(page.relative_to(ROOT)))
    bare = {words for words in named if any(other.startswith(f"{words} ") for other in named)}  # only mentioned
    found = [Command(words, tuple(sorted(pages))) for words, pages in named.items() if words not in bare]
    days = {command: last.day if (last := printed.kept(command.words)) else "" for command in found}
    return sorted(found, key=days.__getitem__)


def filled(words: str, data: str | None) -> str | None:
    """The command with the folder of public data in its place; None where it needs something else."""
    if data is None:
        words = words.replace(RUN, "benchmarks.run --full")  # scenarios that need data are skipped by name
    else:
        words = words.replace("DIR", shlex.quote(data))
    return None if NEEDED.search(words) or "…" in words else words


def measured(command: Command, words: str, limit: float | None = None) -> str:
    """Run it, keep what it prints and which functions ran; what went wrong, or nothing."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        traced = Path(folder) / "ran"
        try:
            done = subprocess.run(
                [sys.executable, "-m", *shlex.split(words)], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                encoding="utf-8", timeout=limit, env=os.environ | ran.tracing(traced, ROOT),
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "not finished within the budget"
        if done.returncode != 0:
            return f"failed with exit code {done.returncode}"
        printed.keep(command.words, done.stdout, time.monotonic() - begin)
        ran.keep(printed.file_of(command.words).name, traced.read_text(encoding="utf-8"))
    return ""


def minutes(seconds: float) -> str:
    """A time in words."""
    return f"{seconds:.0f} s" if seconds < 99.5 else f"{seconds / 60:.0f} min"


def rest(waiting: Sequence[Command]) -> str:
    """About how long these will take, by how long each took last."""
    known = [command.seconds for command in waiting if command.seconds is not None]
    unknown = len(waiting) - len(known)
    return f"about {minutes(sum(known))} for {len(known)}" + (f", {unknown} of unknown length" if unknown else "")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", metavar="DIR", help="folder with copies of the public data sets")
    parser.add_argument("--list", action="store_true", help="name the commands and when each was measured last")
    parser.add_argument("--only", nargs="+", metavar="WORDS", help="commands that contain one of these, current or not")
    parser.add_argument(
        "--budget", type=float, metavar="MINUTES", help="begin nothing that would take longer than this"
    )
    options = parser.parse_args(arguments)
    known = commands()
    if options.only:
        known = [command for command in known if any(words in command.words for words in options.only)]
        if not known:
            raise SystemExit(f"no page quotes a command with {' or '.join(options.only)}; see --list")
    if options.list:
        for command in known:
            mark = "*" if printed.is_current(command.words) else " "
            print(f"{mark} {command.last():36}  {command.words}  ({', '.join(command.pages)})")
        print("\n* by the code as it is")
        return
    begin, left, waiting = time.monotonic(), [], []
    for command in known:
        if filled(command.words, options.data) is None:
            left.append(f"{command.words}: needs what is not here")
        elif options.only or not printed.is_current(command.words):
            waiting.append(command)
    for at, command in enumerate(waiting):
        over = None if options.budget is None else 60 * options.budget - (time.monotonic() - begin)
        if over is not None and over < (command.seconds or 0.001):
            left.append(f"{command.words}: left for another day, takes {minutes(command.seconds or 0)}")
            continue
        words = filled(command.words, options.data)
        assert words is not None
        print(f"python -m {words}  ({command.last()}; to go: {rest(waiting[at:])})", flush=True)
        if problem := measured(command, words, over):
            left.append(f"{command.words}: {problem}")
    figures.main([])
    print("\n".join(left) if left else "all was measured")


if __name__ == "__main__":
    main()
