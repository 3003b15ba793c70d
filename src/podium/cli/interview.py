"""An interview in the terminal: a question, a key, an answer in the journal, and the next question."""

from __future__ import annotations

import datetime
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from podium.cli.question import Question, plain
from podium.errors import InputError
from podium.text import counted, some

if TYPE_CHECKING:
    from podium.active import ActiveRanker
    from podium.active.journal import Journal

__all__ = ["Interview"]

ANSWERS = {"1": 1, "a": 1, "\x1b[D": 1, "2": 0, "b": 0, "\x1b[C": 0, "=": 0.5, "t": 0.5, "s": None}
HELP = "[b]1[/b]/← left  [b]2[/b]/→ right  [b]=[/b] tie  [b]s[/b] skip  [b]u[/b] undo  [b]r[/b] ranking  [b]q[/b] quit"
MAX_SEARCHED_ITEMS = 150  # items whose order is searched anew after every answer, in a tenth of a second
LOOK_EVERY = 5  # answers between two looks at the stop signal
LEASE = 600.0  # seconds for which a question is in somebody's hands


class Interview:
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
            self.again = journal.standing.held_by(judge, time.time())

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
            every_pair = summary.pairs + summary.skipped >= summary.items * (summary.items - 1) // 2
            if summary.stable or summary.finished or every_pair:
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
                self.journal.lease([question], self.judge, now, LEASE)
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
