"""podium ask: an interview in the terminal, one key a question, nothing lost."""

from __future__ import annotations

import datetime
import json
import os
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from podium.cli.locking import locked
from podium.cli.options import SEED, NumberRange, id_option, output_options
from podium.cli.output import Output
from podium.cli.question import Question, plain
from podium.errors import InputError

if TYPE_CHECKING:
    from podium.active import ActiveRanker

__all__ = ["ask"]

PRESETS = ("quick", "standard", "thorough", "few_rounds", "exact", "paper")
ANSWERS = {"1": 1, "a": 1, "\x1b[D": 1, "2": 0, "b": 0, "\x1b[C": 0, "=": 0.5, "t": 0.5, "s": None}
HELP = "[b]1[/b]/← left  [b]2[/b]/→ right  [b]=[/b] tie  [b]s[/b] skip  [b]u[/b] undo  [b]r[/b] ranking  [b]q[/b] quit"
AT_ONCE = 150  # items whose order is searched anew after every answer, in a tenth of a second


@click.command()
@click.argument("items", type=click.Path(dir_okay=False))
@click.option(
    "--log",
    required=True,
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Answers, one JSON object a line; resumed where there are some.",
)
@click.option("--rater", help="Your name, kept with each answer.")
@id_option("id, else the first")
@click.option(
    "--text", "text_column", metavar="COLUMN", help="Column shown for each item.  [default: text, else the label]"
)
@click.option(
    "--preset",
    type=click.Choice(PRESETS),
    default="standard",
    show_default=True,
    help="How many questions, how chosen.",
)
@click.option("--top", type=click.IntRange(1), help="Care for the first K places only.")
@click.option("--budget", type=click.IntRange(1), help="Most questions to ask.")
@click.option(
    "--random-share",
    type=NumberRange(0, 1, max_open=True),
    default=0.1,
    show_default=True,
    help="Share of random check questions.",
)
@click.option("--seed", type=SEED, help="Of the choice of questions.  [default: drawn, and kept in the log]")
@output_options()
def ask(
    items: str,
    log: str,
    rater: str | None,
    id: str | None,
    text_column: str | None,
    preset: str,
    top: int | None,
    budget: int | None,
    random_share: float,
    seed: int | None,
    out: Output,
) -> None:
    """Order the ITEMS of a table by asking you, two at a time.

    Each answer is on disk before the next question. Call again with the same log to go on. At the end, or when you
    quit, the ranking so far goes to standard output. `podium rank LOG…` reads the logs of several raters.
    """
    texts = _read_items(items, id, text_column)
    path = Path(log)
    with locked(path):
        ranker = _begun(path, texts, preset, top, budget, random_share, seed)
        try:
            with _Log(path, ranker) as written:
                _Session(ranker, texts, rater, written).run()
        except OSError as problem:
            raise InputError(f"cannot write {log}: {problem.strerror}; choose another path") from problem
        places = ranker.places()
    out.write(places)


def _begun(
    path: Path,
    texts: dict[str, str],
    preset: str,
    top: int | None,
    budget: int | None,
    random_share: float,
    seed: int | None,
) -> ActiveRanker:
    """The ranker that the log of an earlier call leads to; a new one where there is none."""
    from podium.active import ActiveRanker
    from podium.active.journal import parse_log

    if path.exists() and path.stat().st_size:
        rows = parse_log(path.read_bytes().splitlines(), path.name)
        ranker = ActiveRanker.replay(list(texts), rows)
        _same_options(str(path), ranker)
        click.echo(f"resumed {path}: {ranker.interview.evidence.distinct} pairs answered", err=True)
        return ranker
    if top is not None and top >= len(texts):
        raise InputError(f"--top {top}: there are {len(texts)} items; give 1 to {len(texts) - 1}")
    if top is not None and preset in ("exact", "paper"):
        raise InputError(f"--preset {preset} orders all items; leave --top out, or take another preset")
    goal = "order" if top is None else ("top", top)
    return ActiveRanker(list(texts), preset=preset, goal=goal, budget=budget, random_share=random_share, seed=seed)


def _same_options(log: str, ranker: ActiveRanker) -> None:
    """Refuse options that the log, which decides when it is resumed, does not have."""
    top = None if isinstance(ranker.goal, str) else ranker.goal[1]
    begun = {
        "preset": ranker.preset,
        "top": top,
        "budget": ranker.budget,
        "random_share": ranker.random_share,
        "seed": ranker.seed,
    }
    context = click.get_current_context()
    for name, value in begun.items():
        if (
            context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
            and context.params[name] != value
        ):
            option = "--" + name.replace("_", "-")
            was = f"without {option}" if value is None else f"with {option} {value}"
            raise InputError(f"{log} was begun {was}; leave {option} out to go on, or begin another log")


def _read_items(path: str, id_column: str | None, text_column: str | None) -> dict[str, str]:
    """Label -> text of every item, in the order of the table."""
    from podium.data.files import read_table

    table = read_table(path)
    name = id_column or ("id" if "id" in table.columns else table.columns[0])
    shown = text_column or ("text" if "text" in table.columns else name)
    for column in (name, shown):
        if column not in table.columns:
            raise InputError(f"{path}: no column {column!r}; there are {', '.join(table.columns)}")
    texts: dict[str, str] = {}
    for row, (label, text) in enumerate(zip(table[name].to_list(), table[shown].to_list(), strict=True), start=1):
        if label is None or str(label) == "":
            raise InputError(f"{path}, row {row}: column {name!r} is empty; every item needs a name")
        if str(label) in texts:
            raise InputError(f"{path}, row {row}: {str(label)!r} is there twice; names must differ")
        texts[str(label)] = "" if text is None else str(text)
    if len(texts) < 2:
        raise InputError(f"{path}: {len(texts)} items; an order needs at least two")
    return texts


class _Log:
    """The log file: appended to and synced event by event; written anew after an undo."""

    def __init__(self, path: Path, ranker: ActiveRanker) -> None:
        self.path = path
        self.ranker = ranker
        self._file: IO[str] | None = None
        self._events = 0

    def __enter__(self) -> _Log:
        fresh = not self.path.exists() or self.path.stat().st_size == 0
        if not fresh:
            _mend_end(self.path)
        self._file = self.path.open("a", encoding="utf-8")
        if fresh:
            self._put(self.ranker.log[:1])
        self._events = 0 if fresh else len(self.ranker.interview.events)
        return self

    def __exit__(self, *problem: object) -> None:
        assert self._file is not None
        self._file.close()

    def save(self) -> None:
        """Append what happened since, and wait until it is on disk."""
        events = self.ranker.interview.events
        self._put([row for event in events[self._events :] for row in self.ranker.log_rows(event)])
        self._events = len(events)

    def rewrite(self) -> None:
        """Replace the file by the log as it is now."""
        from podium.data.writing import replacing

        assert self._file is not None
        self._file.close()
        with replacing(self.path) as target:
            target.write(b"".join(_line(row).encode() for row in self.ranker.log))
            target.flush()
            os.fsync(target.fileno())
        self._file = self.path.open("a", encoding="utf-8")
        self._events = len(self.ranker.interview.events)

    def _put(self, rows: list[dict[str, Any]]) -> None:
        assert self._file is not None
        self._file.writelines(_line(row) for row in rows)
        self._file.flush()
        os.fsync(self._file.fileno())


def _mend_end(path: Path) -> None:
    """Let the file end with a whole line: one that a crash cut short held no answer yet, and is taken out."""
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole == len(data):
        return
    try:
        json.loads(data[whole:])
    except ValueError:
        os.truncate(path, whole)
    else:
        with path.open("ab") as file:
            file.write(b"\n")


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


class _Session:
    """Question, key, answer, until done or quit."""

    def __init__(self, ranker: ActiveRanker, texts: dict[str, str], rater: str | None, log: _Log) -> None:
        from rich.console import Console

        self.ranker = ranker
        self.texts = texts
        self.rater = rater
        self.log = log
        self.console = Console(stderr=True, highlight=False)
        self.again: list[tuple[str, str]] = []  # pairs to show before asking for new ones
        self.told_stable = False

    def run(self) -> None:
        """Ask until all is asked and the last answer stands, or until told to quit."""
        while self._ask():
            self.console.print("[b]Done.[/b] " + str(self.ranker.summary()).replace("\n", "; "))
            self.console.print("[b]u[/b] undo the last answer, any other key ends")
            if self._press() != "u":
                return
            self._undo()

    def _ask(self) -> bool:
        """Put the questions that are left; whether they came to an end by themselves."""
        while self.again or not self.ranker.done:
            pair = self.again.pop() if self.again else self.ranker.ask(1)[0]
            key = self._put(pair)
            if key == "q":
                return False
            if key == "u":
                self.again.append(pair)
                self._undo()
            elif key == "r":
                self._standing()
                self.again.append(pair)
            else:
                now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
                self.ranker.tell([pair], [ANSWERS[key]], self.rater, times=[now])
                self.log.save()
                self._signal()
        return True

    def _put(self, pair: tuple[str, str]) -> str:
        """Show the question, page by page if need be, until a key is pressed that means something else."""
        question = Question(pair, self.texts, self.console)
        asked = self.ranker.interview.evidence.distinct
        keys = HELP
        if question.pages > 1:
            keys += f"  [b]space[/b] next of {question.pages} pages"
        while True:
            self.console.rule(f"question {asked + 1}: which goes first?")
            self.console.print(question.shown())
            self.console.print(keys)
            if first := self._leaders():
                self.console.print(f"[dim]so far: {' › '.join(map(plain, first))} …[/dim]")
            key = self._key(keys, turns=question.pages > 1)
            if key != " ":
                return key
            question.turn()

    def _key(self, keys: str, *, turns: bool) -> str:
        while True:
            key = self._press()
            if key in ANSWERS or key in ("u", "r", "q") or (turns and key == " "):
                return key
            self.console.print(f"no answer on that key: {keys}")

    def _press(self) -> str:
        """The next key; q where there is none, or where it ends a program (Ctrl-C, Ctrl-D)."""
        if sys.stdin is None or sys.stdin.closed:  # started with standard input closed
            return "q"
        if sys.stdin.isatty():
            try:
                return click.getchar()
            except (KeyboardInterrupt, EOFError):
                return "q"
        while (key := sys.stdin.read(1)) == "\n":  # a pipe, or a script, may write a line for each key
            pass
        return "q" if key in ("\x03", "\x04", "") else key

    def _undo(self) -> None:
        undone = self.ranker.undo(self.rater)
        if undone is None:
            self.console.print("nothing to undo")
            return
        self.log.rewrite()
        self.again.append(undone)
        self.told_stable = False
        self.console.print(f"took back {plain(undone[0])} against {plain(undone[1])}")

    def _leaders(self) -> list[str]:
        """The first three, where they can be had without a wait."""
        ranker = self.ranker
        if not len(ranker.interview.evidence.votes()):
            return []
        if len(ranker.items) <= AT_ONCE:
            return [str(item) for item in ranker.ranking_.order[:3]]
        known = ranker.interview.state.posterior is not None
        return [str(ranker.items[u]) for u in ranker.interview.order[:3]] if known else []

    def _standing(self) -> None:
        from rich.table import Table

        table = Table("place", "item", "may be", "tier", "answers")
        for row in self.ranker.places().head(20).iter_rows(named=True):
            may = f"{row['place_lower']}–{row['place_upper']}"
            table.add_row(str(row["place"]), plain(row["item"]), may, str(row["tier"]), str(row["answers"]))
        self.console.print(table)
        self.console.print(str(self.ranker.summary()))
        if sys.stdin is not None and sys.stdin.isatty():  # the question would push the table out of a small window
            self.console.print("[b]any key[/b] goes back to the question")
            self._press()

    def _signal(self) -> None:
        from podium.active.presets import is_stable

        posterior = self.ranker.interview.state.posterior
        if posterior is not None and not self.told_stable and is_stable(posterior, self.ranker.top):
            self.told_stable = True
            self.console.print("[b]The order looks stable:[/b] more questions would change little. q to stop here.")
