"""podium ask: an interview in the terminal, one key a question, nothing lost."""

from __future__ import annotations

import datetime
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.help import GroupedCommand, option
from podium.cli.options import MAX_COUNT, SEED, NumberRange, id_option, output_options
from podium.cli.output import Output
from podium.cli.question import Question, plain
from podium.errors import InputError, Option
from podium.text import counted, some

if TYPE_CHECKING:
    import numpy as np

    from podium.active import ActiveRanker
    from podium.active.journal import Journal

__all__ = ["ask"]

PRESETS = ("quick", "standard", "thorough", "few_rounds", "exact", "paper")
ANSWERS = {"1": 1, "a": 1, "\x1b[D": 1, "2": 0, "b": 0, "\x1b[C": 0, "=": 0.5, "t": 0.5, "s": None}
HELP = "[b]1[/b]/← left  [b]2[/b]/→ right  [b]=[/b] tie  [b]s[/b] skip  [b]u[/b] undo  [b]r[/b] ranking  [b]q[/b] quit"
MAX_SEARCHED_ITEMS = 150  # items whose order is searched anew after every answer, in a tenth of a second
LOOK_EVERY = 5  # answers between two looks at the stop signal
LEASE = 600.0  # seconds for which a question is in somebody's hands


@click.command(
    cls=GroupedCommand,
    examples=(
        ("podium ask drinks.csv --log votes.jsonl --judge ann", "go on, or begin"),
        ("podium ask drinks.csv --log votes.jsonl --judge ann --top 5", "only the first five matter"),
        ("podium rank votes.jsonl", "the votes of all judges, as any others"),
    ),
)
@click.argument("items", type=click.Path(dir_okay=False))
@option(
    "Data",
    "--log",
    required=True,
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Keep the votes here, one JSON object a line; go on where there are some.",
)
@option(
    "Data",
    "--judge",
    metavar="NAME",
    help="Keep your name with each vote; several judges may share a log, each name once at a time.",
)
@id_option("id, else the first")
@option(
    "Data",
    "--text",
    "text_column",
    metavar="COLUMN",
    help="Show this column of each item.  [default: text, else the label]",
)
@option(
    "Data",
    "--features",
    metavar="FILE",
    help="Read item features from this table. With --preset paper the order is that of a score learnt from them.",
)
@option(
    "Data",
    "--missing",
    type=click.Choice(["error", "mean"]),
    help="Refuse missing features, or replace them by the mean.",
)
@option("Data", "--one-hot", is_flag=True, default=None, help="Give each value of a text feature its own column.")
@option(
    "Model",
    "--preset",
    type=click.Choice(PRESETS),
    metavar="PRESET",
    default="standard",
    show_default=True,
    help=f"Ask this many questions, chosen in this way: {', '.join(PRESETS)}.",
)
@option("Model", "--top", type=click.IntRange(1, MAX_COUNT), help="Care for the first ranks only, down to this one.")
@option("Model", "--budget", type=click.IntRange(1, MAX_COUNT), help="Ask at most this many questions.")
@option(
    "Model",
    "--random-share",
    type=NumberRange(0, 1, max_open=True),
    metavar="SHARE",
    default=0.1,
    show_default=True,
    help="Choose this share of the questions at random, as a check.",
)
@option(
    "Model",
    "--seed",
    type=SEED,
    help="Random seed for the choice of questions.  [default: drawn, and kept in the log]",
)
@output_options()
def ask(
    items: str,
    log: str,
    judge: str | None,
    id: str | None,
    text_column: str | None,
    preset: str,
    features: str | None,
    missing: str | None,
    one_hot: bool | None,
    top: int | None,
    budget: int | None,
    random_share: float,
    seed: int | None,
    out: Output,
) -> None:
    """Order the ITEMS of a table by asking you, two at a time.

    Each answer is on disk before the next question. Call again with the same log to go on. At the end, or when you
    quit, the ranking so far goes to standard output. Several people may work on one log, each with --judge: nobody gets
    what another has in hand. `podium rank LOG` reads it as votes.
    """
    from podium.active.journal import Journal

    texts = _read_items(items, id, text_column)
    path = Path(log)
    table = _read_features(features, missing, one_hot, id, text_column, list(texts))
    new = _begun(texts, preset, top, budget, random_share, seed, table)
    try:
        journal = Journal(path, new.head)
        try:
            with journal.session(judge):
                ranker = _resumed(journal, texts, table) if journal.resumed else new
                _Session(ranker, texts, judge, journal).run()
        finally:
            journal.close()
    except OSError as problem:
        raise InputError(f"cannot write {log}: {problem.strerror}; choose another path") from problem
    if not any("outcome" in row for _, row in journal.standing.counting()):
        raise InputError(
            f"nothing was answered, so there is no ranking; call again with --log {log} and answer (u undoes a skip)"
        )
    out.write(ranker.ranks())


def _begun(
    texts: dict[str, str],
    preset: str,
    top: int | None,
    budget: int | None,
    random_share: float,
    seed: int | None,
    features: np.ndarray | None,
) -> ActiveRanker:
    """A new ranker."""
    from podium.active import ActiveRanker

    if top is not None and top >= len(texts):
        raise InputError(f"--top {top}: there are {counted(len(texts), 'item')}; give 1 to {len(texts) - 1}")
    if top is not None and preset in ("exact", "paper"):
        raise InputError(f"--preset {preset} orders all items; leave --top out, or take another preset")
    goal = "order" if top is None else ("top", top)
    return ActiveRanker(
        list(texts),
        preset=preset,
        goal=goal,
        budget=budget,
        random_share=random_share,
        features=features,
        seed=seed,
    )


def _resumed(journal: Journal, texts: dict[str, str], features: np.ndarray | None) -> ActiveRanker:
    """The ranker that the rows of earlier calls, and of others, lead to."""
    from podium.active import ActiveRanker

    labels = list(texts)
    begun = journal.head.get("n", 0)
    if not isinstance(begun, int):
        raise InputError(f"{journal.path}: its header says {begun!r} items; the log is damaged")
    known = begun + len(journal.standing.added)
    if len(labels) > known >= 2 and journal.fits(labels[:known]):
        journal.append([{"podium": "item", "item": label} for label in labels[known:]])
        click.echo(counted(len(labels) - known, "more item"), err=True)
    ranker = ActiveRanker.replay(labels, journal.rows, features=features)
    _same_options(str(journal.path), ranker)
    click.echo(f"resumed {journal.path}: {counted(ranker.answered, 'answer')}", err=True)
    return ranker


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
        raise InputError(f"{path}: {counted(len(texts), 'item')}; an order needs at least two")
    return texts


def _read_features(
    path: str | None,
    missing: str | None,
    one_hot: bool | None,
    id_column: str | None,
    text_column: str | None,
    items: list[str],
) -> np.ndarray | None:
    """The features of every item, a row each; the labels and the text that is shown are none."""
    if path is None:
        for name, value in (("missing", missing), ("one_hot", one_hot)):
            if value is not None:
                raise InputError(Option(name), " is about ", Option("features"), ", which is not given; drop it")
        return None
    import polars as pl

    from podium.data.features import read_features
    from podium.data.files import read_table

    table = read_table(path)
    table = table.drop([text_column or "text"], strict=False)
    name = id_column if id_column in table.columns else "id" if "id" in table.columns else table.columns[0]
    table = table.with_columns(pl.Series(name, [None if label is None else str(label) for label in table[name]]))
    _, rows, _ = read_features(table, items, id=name, missing=missing or "error", one_hot=bool(one_hot))
    kept: np.ndarray = rows[: len(items)]
    return kept


class _Session:
    """Question, key, answer, until done or quit. The journal is the truth: what is written there the ranker takes."""

    def __init__(self, ranker: ActiveRanker, texts: dict[str, str], judge: str | None, journal: Journal) -> None:
        from rich.console import Console

        self.ranker = ranker
        self.texts = texts
        self.judge = judge
        self.journal = journal
        self.console = Console(stderr=True, highlight=False)
        self.again: list[tuple[tuple[str, str], str]] = []
        self.told_stable = False
        self._taken = len(journal.rows)
        if judge is not None:
            journal.join(judge)
            self.again = [(pair, "chosen") for pair in journal.standing.held_by(judge, time.time())]

    def run(self) -> None:
        """Ask until all is asked and the last answer stands, or until q; then take what others wrote since."""
        try:
            self._interview()
        finally:
            if self.judge is not None:
                self.journal.release(self.judge, time.time())
        with self.journal.locked():
            self._catch_up()

    def _interview(self) -> None:
        while self._ask():
            self.console.print(f"{self._ended()} " + str(self.ranker.summary()).replace("\n", "; "))
            if self.ranker.model_ is not None:
                self.console.print(str(self.ranker.model_))
            self.console.print("[b]u[/b] undo the last answer, any other key ends")
            if self._press() != "u":
                return
            self._undo()

    def _ended(self) -> str:
        """Why there is no question now: all is asked, or what is left is not for this judge."""
        if self.ranker.done:
            summary = self.ranker.summary()
            if summary.stable or summary.finished:
                return "[b]Done.[/b]"
            option = f"--preset {self.ranker.preset}" if self.ranker.budget is None else "--budget"
            return f"[b]Done:[/b] all {counted(self.ranker.answered, 'question')} of {option} were asked."
        held = len(self.journal.standing.out(self.journal.time(time.time()), but=self.judge))
        if not held:
            return "[b]No question is left for you.[/b]"
        others = f"{counted(held, 'pair')} {'is' if held == 1 else 'are'} in the hands of others"
        return f"[b]No question is left for you:[/b] {others}."

    def _ask(self) -> bool:
        """Put the questions that are left; whether they came to an end by themselves."""
        while (asked := self._next()) is not None:
            pair, kind = asked
            key = self._put(pair)
            if key == "q":
                return False
            if key == "u":
                self.again.append(asked)
                self._undo()
            elif key == "r":
                self._standing()
                self.again.append(asked)
            else:
                self._answer(pair, kind, ANSWERS[key])
                self._signal()
        return True

    def _next(self) -> tuple[tuple[str, str], str] | None:
        """The next pair: what was left open, or a new one around what others have in hand."""
        if self.again:
            return self.again.pop()
        now = time.time()
        with self.journal.locked():
            self._catch_up()
            if self.ranker.preset == "paper":
                return self._next_of_paper()
            out = self.journal.standing.out(self.journal.time(now), but=self.judge)
            question = self.ranker.next_pair(self.judge, out)
            if question is not None and self.judge is not None:
                self.journal.lease([question[0]], self.judge, now, LEASE)
                self._catch_up()
        return question

    def _next_of_paper(self) -> tuple[tuple[str, str], str] | None:
        """The paper's algorithm is a path: asks are rows as well."""
        if self.ranker.done:
            return None
        self.journal.note([{"podium": "ask", "max_pairs": 1}])
        self._catch_up()
        return (self.ranker.asked[0], "chosen") if self.ranker.asked else None

    def _answer(self, pair: tuple[str, str], kind: str, outcome: float | None) -> None:
        row: dict[str, Any] = {"podium": "skip"} if outcome is None else {}
        row |= {"left": pair[0], "right": pair[1]}
        if outcome is not None:
            row["outcome"] = outcome
        if self.judge is not None:
            row["judge"] = self.judge
        self.journal.append([row | {"kind": kind, "time": _now()}])
        self._catch_up()

    def _catch_up(self) -> None:
        """Take the rows that are new, our own and those of others."""
        new = self.journal.rows[self._taken :]
        self._taken += len(new)
        if added := [row["item"] for row in new if row.get("podium") == "item"]:
            raise InputError(
                f"{self.journal.path}: somebody has added {some(added)} since this session began; your answers are "
                "kept: call again with the longer table of items"
            )
        self.ranker.take_rows(new)

    def _put(self, pair: tuple[str, str]) -> str:
        """Show the question, page by page if need be, until a key is pressed that means something else."""
        question = Question(pair, self.texts, self.console)
        asked = self.ranker.answered
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
        until = None if self.judge is None else self.journal.time(time.time()) + LEASE
        undone = self.journal.undo(self.judge, _now(), until=until)
        if undone is None:
            self.console.print("nothing to undo")
            return
        self._catch_up()
        pair = undone["left"], undone["right"]
        self.again.append((pair, undone.get("kind", "chosen")))
        self.told_stable = False
        self.console.print(f"took back {plain(pair[0])} against {plain(pair[1])}")

    def _leaders(self) -> list[str]:
        """The first three, where they can be had without a wait."""
        if not self.ranker.answered or len(self.ranker.items) > MAX_SEARCHED_ITEMS:
            return []
        return [str(item) for item in self.ranker.ranking_.order[:3]]

    def _standing(self) -> None:
        from rich.table import Table

        table = Table("rank", "item", "may be", "tier", "answers")
        for row in self.ranker.ranks().head(20).iter_rows(named=True):
            may = f"{row['rank_lower']}–{row['rank_upper']}"
            table.add_row(str(row["rank"]), plain(row["item"]), may, str(row["tier"]), str(row["answers"]))
        self.console.print(table)
        self.console.print(str(self.ranker.summary()))
        if sys.stdin is not None and sys.stdin.isatty():  # the question would push the table out of a small window
            self.console.print("[b]any key[/b] goes back to the question")
            self._press()

    def _signal(self) -> None:
        if self.told_stable or self.ranker.answered < 2 * len(self.ranker.items) or self.ranker.answered % LOOK_EVERY:
            return
        if self.ranker.summary().stable:
            self.told_stable = True
            self.console.print("[b]The order looks stable:[/b] more questions would change little. q to stop here.")


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
