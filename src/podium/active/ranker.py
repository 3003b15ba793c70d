"""ActiveRanker: labels in, questions out, an order at any time."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from podium.active import results, validation
from podium.active.journal import check_header, header, problem_of
from podium.active.ledger import Ledger
from podium.active.oracles import Oracle, asker
from podium.active.order import exact_order
from podium.active.paper.decompose import sample_and_rank
from podium.active.paper.interview import Interview
from podium.active.paper.learners import PaperModel
from podium.active.paper.options import PaperOptions
from podium.active.planner import Planner
from podium.active.presets import FEW_ROUNDS, check_preset, questions_of
from podium.active.summary import MIN_CHECK_VOTES, Summary
from podium.active.tally import CHECK, KINDS
from podium.data.comparisons import Comparisons
from podium.errors import DataWarning, InputError, Option
from podium.ranking.ranking import Ranking
from podium.text import about, counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ActiveRanker", "rank_with"]

Pair = tuple[Any, Any]


class ActiveRanker:
    """Order items by asking which of two goes first, with as few questions as possible.

    `ask` gives pairs, `tell` takes answers, `ranking_` is the best order so far, at any time. A thin shell over
    `Planner`, which chooses the pairs: it knows the labels and remembers what is out.

    Parameters
    ----------
    items : sequence of labels
    preset : str
        "standard" (about 3 log2 n questions an item, fewer if the answers are clean), "quick" (under 2),
        "thorough" (5), "few_rounds" (at most 8 rounds, for judges that answer in bulk), "exact" (up to 20 items: all
        pairs and a proved optimum), "paper" (Ailon's algorithm, as published but for what docs/active-theory.md lists).
    goal : "order" or ("top", k)
        With ("top", k) the questions go to the items that may be among the first k, until those ranks are stable.
    budget : int, optional
        Most questions to ask; all of them are used then, pairs again where that helps, unless nothing is left to learn.
    random_share : float
        Share of the questions that are random check pairs. They measure what the others cannot.
    features : (n, d) array, optional
        Numbers that may tell where an item stands. With preset "paper" the order is that of a score of the features
        alone, learnt from the answers (SVM3).
    repeats : "auto" or "never"
        Whether a pair may be asked again; "never" for a judge known to be consistent.
    seed : int, optional
        The same seed and answers give the same questions. Drawn and kept in the log if omitted.
    paper : PaperOptions, optional
        Accuracy and constants of preset "paper".

    Attributes
    ----------
    ranking_ : Ranking
    tiers_ : list of tuples of labels, best first
    model_ : PaperModel, once preset "paper" with features is done; else None
    done : bool
    log : list of dicts; see `podium.active.journal`

    Examples
    --------
    >>> ranker = ActiveRanker(["pear", "fig", "apple", "plum"], seed=1)
    >>> while not ranker.done:
    ...     pairs = ranker.ask()
    ...     ranker.tell(pairs, [1 if left < right else 0 for left, right in pairs])
    >>> ranker.ranking_.order
    ('apple', 'fig', 'pear', 'plum')
    """

    def __init__(
        self,
        items: Sequence[Hashable],
        *,
        preset: str = "standard",
        goal: str | tuple[str, int] = "order",
        budget: int | None = None,
        random_share: float = 0.1,
        features: Any = None,
        repeats: str = "auto",
        seed: int | None = None,
        paper: PaperOptions | None = None,
    ) -> None:
        self.items = validation.item_labels(items)
        n = len(self.items)
        self.preset = preset
        self.goal = goal
        self.top = validation.top_of(goal, n)
        self.budget = None if budget is None else validation.whole_number("budget", budget, 1)
        self.random_share = validation.share_of(random_share)
        self.repeats = repeats
        self.paper = paper
        self.seed = validation.seed_of(seed)
        table = validation.feature_table(features, self.items)
        check_preset(preset, n, paper, features=table is not None)
        if (preset == "exact" and table is not None) or (preset in ("exact", "paper") and self.top is not None):
            what = "features" if table is not None and preset == "exact" else f"goal {goal!r}"
            raise InputError(f"preset {preset!r} has no use for {what}; leave it out, or take another preset")
        self._features = None if table is None else hashlib.sha256(table.tobytes()).hexdigest()[:16]
        self.planner = Planner(
            n, seed=self.seed, goal=goal, random_share=self.random_share, repeats=repeats, features=table
        )
        self.rounds = 0
        self._limit = questions_of(preset, n, self.budget)
        self._codes = {item: code for code, item in enumerate(self.items)}
        self._judges: dict[Any, int] = {}
        self._ledger = Ledger()
        self._times: dict[int, Any] = {}
        self._events: list[tuple[str, int, int]] = []
        self._out: dict[int, tuple[int, int, int]] = {}  # left, right and kind of what is asked for
        self._last = np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)  # pairs and kinds of the last round
        self._stable: tuple[int, bool] = (-1, False)
        self._excluded: set[Any] = set()
        self._lines: dict[int, int] = {}  # row of a log -> row of the ledger
        self._row = 1  # rows of a log taken so far, the header among them
        self.asked: list[Pair] = []  # what the last ask of a log gave
        self._interview = self._begin_paper(table) if preset == "paper" else None
        if self.budget is not None and self.budget < n - 1:
            warnings.warn(
                f"{counted(self.budget, 'question')} cannot connect {counted(n, 'item')}; at least {n - 1} are needed. "
                "The order will be the best so far, most of it a guess",
                DataWarning,
                stacklevel=2,
            )

    def _begin_paper(self, table: np.ndarray | None) -> Interview:
        rows = table[:, None] if table is not None and table.ndim == 1 else table
        start = partial(sample_and_rank, options=self.paper or PaperOptions(), features=rows)
        return Interview(len(self.items), start, seed=self.seed, budget=self.budget, random_share=self.random_share)

    # Asking

    @property
    def answered(self) -> int:
        """Answers and skips that count."""
        return len(self._ledger)

    @property
    def done(self) -> bool:
        """No question is left: nothing is out, and the order is stable, or the budget spent, or nothing left to ask."""
        if self._interview is not None:
            return self._interview.done
        return not self._out and self._spent()

    def _spent(self) -> bool:
        """Nothing more is to be planned."""
        if self.answered >= self._limit or (self.preset == "few_rounds" and self.rounds >= FEW_ROUNDS):
            return True
        if self.budget is not None:
            return self.planner.exhausted
        return self.planner.finished or (self.preset in ("quick", "standard") and self._looks_stable())

    def _looks_stable(self) -> bool:
        """The stop signal, looked at once for so many answers as there are items: it takes several fits."""
        step = self.answered // len(self.items)
        if step < 3:
            return False
        if step != self._stable[0]:
            self._stable = step, self.planner.summary().stable
        return self._stable[1]

    def ask(self, max_pairs: int | None = None) -> list[Pair]:
        """Return distinct pairs that can be put in parallel: the left and the right item of each.

        What is out is not asked again, unless nothing else is left.
        """
        if max_pairs is not None:
            max_pairs = validation.whole_number("max_pairs", max_pairs, 1)
        items = self.items
        return [(items[u], items[v]) for u, v in self._ask(max_pairs).tolist()]

    def _ask(self, max_pairs: int | None, judge: int | None = None, *, hold: bool = True) -> np.ndarray:
        """Pairs of codes; without `hold` they are told before anything else is asked, and are not noted as out."""
        if self._interview is not None:
            self._events.append(("ask", -1 if max_pairs is None else max_pairs, 0))
            return self._interview.ask(max_pairs)
        room = self._limit - self.answered - len(self._out)
        count = min(room, self._round() if max_pairs is None else max_pairs)
        out = np.array([row[:2] for row in self._out.values()], dtype=np.int64).reshape(-1, 2)
        if count > 0 and not self._spent():
            self.planner.plans = self.answered  # plans are numbered by the answers: a restart asks the same
            questions = self.planner.plan(count, out=out, judge=judge)
            if len(questions):
                pairs = questions.pairs
                if hold:
                    rows = zip(questions.left.tolist(), questions.right.tolist(), questions.kind.tolist(), strict=True)
                    self._out.update(zip(_either_way(pairs), rows, strict=True))
                self.rounds += 1
                self._last = pairs, questions.kind
                return pairs
        return out if max_pairs is None else out[:max_pairs]

    def next_pair(self, judge: Hashable | None = None, out: Iterable[Pair] = ()) -> tuple[Pair, str] | None:
        """One pair for `judge` and the kind of question, planned around what others have in hand; None if nothing is
        left for this judge. Nothing is remembered: who shares a journal writes down what is out."""
        if self._spent():
            return None
        held = validation.pair_codes(validation.listed("out", out, "pairs"), self._codes, self.items)
        self.planner.plans = self.answered
        questions = self.planner.plan(
            1, out=held, judge=None if judge is None else self._judges.get(judge, len(self._judges))
        )
        if not len(questions):
            return None
        return (self.items[questions.left[0]], self.items[questions.right[0]]), questions.kinds[0]

    def _round(self) -> int:
        """Pairs to ask at once unless the caller says how many."""
        n = len(self.items)
        if self.preset == "exact":
            return n * (n - 1) // 2
        if self.preset == "few_rounds":
            return max(1, -(-self._limit // FEW_ROUNDS))
        return self.planner.round_size

    def tell(
        self,
        pairs: Iterable[Pair],
        answers: Iterable[float | bool | None],
        judges: Hashable | Sequence[Hashable] | None = None,
        *,
        times: Sequence[Any] | None = None,
    ) -> None:
        """Take answers: 1 the left item goes first, 0 the right one, 0.5 a tie, None skipped.

        Any pairs, in any order, asked or not. `judges` is one label for all, or one each. A judge's second answer to a
        pair that was not asked again replaces the first, and a warning says so if they differ.
        """
        pairs = validation.listed("pairs", pairs, "a list of (left, right)")
        values = validation.answer_values(answers, len(pairs))
        codes = validation.pair_codes(pairs, self._codes, self.items)
        named = validation.judge_names(judges, len(pairs))
        if times is not None:
            times = validation.per_pair("times", times, len(pairs))
        who = np.array([self._judges.setdefault(name, len(self._judges)) for name in named], dtype=np.int64)
        changed = self._tell(codes, values, who, times)
        if changed:
            left, right = pairs[changed[0]]
            name = "" if named[changed[0]] is None else f"{named[changed[0]]!r} "
            more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
            warnings.warn(
                f"{name}answered {left!r} against {right!r} differently before{more}; the last answer counts",
                DataWarning,
                stacklevel=2,
            )

    def _tell(
        self, codes: np.ndarray, values: np.ndarray, who: np.ndarray, times: Sequence[Any] | None = None
    ) -> list[int]:
        """Enter votes; return the rows that replace another answer of the same judge."""
        kind, stray = self._taken_in(codes)
        changed, replaced = [], False
        known = self._known_keys() if len(stray) else None
        for k in stray:
            key = (min(codes[k].tolist()), max(codes[k].tolist()), int(who[k]))
            if known is not None and key in known:
                row = self._ledger.find(*key)
                assert row is not None
                before = self._ledger.row(row)
                value = values[k] if before[0] == codes[k, 0] else 1.0 - values[k]
                if not (np.isnan(before[2]) or np.isnan(value)) and before[2] != value:
                    changed.append(k)
                self._ledger.remove(row)
                self._events.append(("undo", row, 0))
                replaced = True
        first = self._ledger.size
        self._ledger.add(codes[:, 0], codes[:, 1], values, who, kind)
        self._events.append(("tell", first, self._ledger.size))
        if times is not None:
            self._times.update({first + k: time for k, time in enumerate(times)})
        if replaced:
            self.planner.load(*self._ledger.columns())
        else:
            self.planner.tell(codes[:, 0], codes[:, 1], values, who, kind)
        if self._interview is not None:
            self._interview.tell(codes, values, who)
            self.rounds = self._interview.rounds
        return changed

    def _taken_in(self, codes: np.ndarray) -> tuple[np.ndarray, Sequence[int]]:
        """Of answered pairs, which are out no more: their kinds, and the rows of those that were not out."""
        if codes is self._last[0] and len(self._out) in (0, len(codes)) and self._interview is None:
            self._out.clear()  # the last round as it was asked, and nothing else is out
            return self._last[1], ()
        asked = [self._out.pop(key, None) for key in _either_way(codes)]
        kind = np.array([0 if row is None else row[2] for row in asked], dtype=np.int64)
        if self._interview is not None:
            return kind, range(len(codes))
        return kind, [k for k, row in enumerate(asked) if row is None]

    def _known_keys(self) -> set[tuple[int, int, int]]:
        left, right, _, judge, _ = self._ledger.columns()
        low, high = np.minimum(left, right).tolist(), np.maximum(left, right).tolist()
        return set(zip(low, high, judge.tolist(), strict=True))

    def undo(self, judge: Hashable | None = None) -> Pair | None:
        """Take back the last answer (of `judge`): everything is as if it had not been given. Returns its pair."""
        if judge is not None and judge not in self._judges:
            return None
        code = None if judge is None else self._judges[judge]
        row = self._ledger.last(code)
        if row is None:
            return None
        self._take_back(row)
        left, right = self._ledger.row(row)[:2]
        return self.items[left], self.items[right]

    # Results

    def _order(self, aim: str = "truth") -> np.ndarray:
        if self._interview is not None and self.done:
            return self._interview.order
        if self.preset == "exact":
            tally = self.planner.tally
            points, total = tally.sums()
            wins = np.zeros((tally.n, tally.n))
            wins[tally.pair_low, tally.pair_high], wins[tally.pair_high, tally.pair_low] = points, total - points
            return exact_order(wins)
        return self.planner.order(aim)

    def order(self, aim: str = "truth") -> tuple[Any, ...]:
        """Labels, best first: nearest to the order behind the noise, or (`aim="answers"`) contradicting the fewest
        answers, as the paper has it."""
        return tuple(self.items[u] for u in self._order(aim).tolist())

    @property
    def ranking_(self) -> Ranking:
        """The best order so far. A score is the number of items below; it has no interval (see `check_scores`)."""
        n = len(self.items)
        scores = np.empty(n)
        scores[self._order()] = np.arange(n - 1, -1, -1)
        note = "Order from chosen questions: scores count the items below and have no intervals."
        if self.budget is not None and self.done:
            short = self.summary()
            if not short.stable:
                more = about(short.until_stable, short.until_stable_upper, "more question")
                note += f" The budget is spent; {more} until stable."
        return Ranking(self.items, scores, note=note)

    @property
    def tiers_(self) -> list[tuple[Any, ...]]:
        """Groups of items, best first: the blocks of a decomposition, or items whose bands of ranks overlap."""
        paper = self._interview
        blocks = paper.state.blocks if paper is not None and paper.done else None
        groups = results.tiers(self._order(), self.planner.half_widths(), blocks)
        return [tuple(self.items[u] for u in tier) for tier in groups]

    @property
    def model_(self) -> PaperModel | None:
        """The score of the features that preset "paper" has learnt; None before it is done, and without features."""
        return None if self._interview is None or not self.done else self._interview.state.model

    def ranks(self) -> pl.DataFrame:
        """One row an item, best first: rank from 1, the 90 % band it may truly stand in, its tier, its answers."""
        tier = np.empty(len(self.items), dtype=np.int64)
        for number, members in enumerate(self.tiers_, start=1):
            tier[[self._codes[item] for item in members]] = number
        return results.rank_table(self.items, self._order(), self.planner.bands(), tier, self.planner.tally.degree)

    def summary(self) -> Summary:
        """Questions asked, noise, agreement on check pairs, estimated cost, bands, and the stop signal."""
        return self.planner.summary()

    @property
    def comparisons(self) -> Comparisons:
        """All answers, for any other ranker. Chosen pairs bias intervals of scores; `check_comparisons` do not."""
        return results.comparisons(self.items, self._ledger.columns()[:4], list(self._judges))

    @property
    def check_comparisons(self) -> Comparisons:
        """The answers to check pairs only: a uniform sample of the pairs that had no answer when they were drawn."""
        *columns, kind = self._ledger.columns()
        kept = tuple(column[kind == CHECK] for column in columns)
        return results.comparisons(self.items, kept, list(self._judges))

    def check_scores(self) -> Ranking:
        """Bradley-Terry scores of the check votes alone, with approximate intervals; needs 250 of them.

        Votes on chosen pairs would give intervals that are too narrow: 95 % ones held 40 to 91 % of true scores.
        """
        from podium.pairwise.bradley_terry import BradleyTerry

        votes = self.check_comparisons
        if len(votes) < MIN_CHECK_VOTES:
            raise InputError(
                f"{counted(len(votes), 'check vote')}; scores with intervals need {MIN_CHECK_VOTES}: ask more, or "
                "raise random_share"
            )
        ranking = BradleyTerry(l2=0.1).fit(votes).ranking_
        ranking.note = "Scores of check votes only; intervals are approximate."
        return ranking

    # Log

    @property
    def head(self) -> dict[str, Any]:
        """The header of the log."""
        goal = self.goal if isinstance(self.goal, str) else list(self.goal)
        options: dict[str, Any] = {
            "goal": goal,
            "budget": self.budget,
            "random_share": self.random_share,
            "features": self._features,
            "repeats": self.repeats,
        }
        if self.paper is not None:
            options["paper"] = asdict(self.paper)
        return header(self.items, self.seed, self.preset, options)

    @property
    def log(self) -> list[dict[str, Any]]:
        """Header and events, ready for JSON lines."""
        rows = [self.head]
        line: dict[int, int] = {}  # row of the ledger -> row of the log
        for event, first, last in self._events:
            if event == "ask":
                rows.append({"podium": "ask", "max_pairs": None if first < 0 else first})
            elif event == "undo":
                rows.append({"podium": "undo", "row": line[first]})
            else:
                for number in range(first, last):
                    line[number] = len(rows) + 1
                    rows.append(self._vote_row(number))
        return rows

    def _vote_row(self, number: int) -> dict[str, Any]:
        left, right, value, judge, kind = self._ledger.row(number)
        row: dict[str, Any] = {"podium": "skip"} if np.isnan(value) else {}
        row |= {"left": self.items[left], "right": self.items[right]}
        if not np.isnan(value):
            row["outcome"] = value if value == 0.5 else int(value)
        names = {code: name for name, code in self._judges.items()}
        if names[judge] is not None:  # votes of nobody in particular have no judge at all
            row["judge"] = names[judge]
        row["kind"] = KINDS[kind]
        row["time"] = self._times.get(number)
        return row

    @classmethod
    def replay(cls, items: Sequence[Hashable], log: Sequence[dict[str, Any]], *, features: Any = None) -> Self:
        """Rebuild the ranker from `log` (rows as in `log`): what counts is the votes, so nothing else is repeated.

        Logs of the first edition are read as well; questions may then go on differently.
        """
        labels = validation.item_labels(items)
        head = check_header(log, labels)
        options = head["options"]
        goal = options.get("goal", "order")
        paper = options.get("paper")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # what was said once need not be said again
            ranker = cls(
                labels,
                preset=head["preset"],
                goal=tuple(goal) if isinstance(goal, list) else goal,
                budget=options.get("budget"),
                random_share=options.get("random_share", 0.1),
                features=features,
                repeats=options.get("repeats", "auto"),
                seed=head["seed"],
                paper=None if paper is None else _paper_of(paper),
            )
        if ranker._features != options.get("features"):
            begun = "without" if options.get("features") is None else "with" if features is None else "with other"
            raise InputError(f"the log was begun {begun} features; give the same now, in ", Option("features"))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            ranker.take_rows(log[1:])
        return ranker

    def take_rows(self, rows: Sequence[dict[str, Any]]) -> None:
        """Go on with rows of a log: those after the header, and after the rows taken before."""
        for row in validation.listed("rows", rows, "those of a log"):
            self._row += 1
            if problem := problem_of(row):
                raise InputError(
                    f"log, row {self._row}: {problem}; mend it, or read the file with parse_log, which leaves it out"
                )
            try:
                self._take_row(row)
            except InputError as error:
                raise InputError(f"log, row {self._row}: {error}") from error

    def _take_row(self, row: dict[str, Any]) -> None:
        kind = row.get("podium")
        if kind == "ask" and self._interview is not None and "max_pairs" in row:
            most = row["max_pairs"]
            most = most if most is None else validation.whole_number("max_pairs", most, 1)
            self.asked = [(self.items[u], self.items[v]) for u, v in self._ask(most).tolist()]
        elif kind == "undo":
            if row["row"] not in self._lines:
                raise InputError(f"an undo of row {row['row']!r}, which is no vote")
            self._take_back(self._lines.pop(row["row"]))
        elif kind == "exclude":
            self.exclude(row["judge"])
        elif kind in (None, "skip") and row.get("judge") not in self._excluded:
            self._lines[self._row] = self._ledger.size
            self._take(row)

    def _take_back(self, number: int) -> None:
        """Undo one row of the ledger."""
        judge = self._ledger.row(number)[3]
        if self._interview is not None:
            self._interview.undo(judge)
        self._ledger.remove(number)
        self._events.append(("undo", number, 0))
        self.planner.load(*self._ledger.columns())
        self._stable = (-1, False)

    def _take(self, row: dict[str, Any]) -> None:
        """One vote or skip of a log, as it was put."""
        left, right = (tuple(cell) if isinstance(cell, list) else cell for cell in (row["left"], row["right"]))
        codes = validation.pair_codes([(left, right)], self._codes, self.items)
        value = validation.answer_values([row.get("outcome")], 1)
        name = validation.judge_names(row.get("judge"), 1)[0]
        who = np.array([self._judges.setdefault(name, len(self._judges))])
        kind = validation.kinds_of(row.get("kind", "chosen"), 1)
        self._out.pop(_either_way(codes)[0], None)
        first = self._ledger.size
        self._ledger.add(codes[:, 0], codes[:, 1], value, who, kind)
        self._events.append(("tell", first, self._ledger.size))
        if row.get("time") is not None:
            self._times[first] = row["time"]
        self.planner.tell(codes[:, 0], codes[:, 1], value, who, kind)
        if self._interview is not None:
            self._interview.tell(codes, value, who)

    def exclude(self, judge: Hashable) -> None:
        """Leave all answers of a judge out from now on."""
        if judge not in self._judges:
            raise InputError(f"no answer is of a judge {judge!r}; there are {', '.join(map(repr, self._judges))}")
        code = self._judges[judge]
        self._excluded.add(judge)
        for number in range(self._ledger.size):
            if self._ledger.counts(number) and self._ledger.row(number)[3] == code:
                self._ledger.remove(number)
                self._events.append(("undo", number, 0))
        self.planner.load(*self._ledger.columns())


def _either_way(codes: np.ndarray) -> list[int]:
    """One number a pair, the same from either side, however many items are added later."""
    keys: list[int] = ((codes.min(axis=1) << 32) | codes.max(axis=1)).tolist()
    return keys


def _paper_of(options: Any) -> PaperOptions:
    try:
        return PaperOptions(**options)
    except TypeError as problem:
        raise InputError(f"the log's header has options of preset 'paper' that do not exist: {options!r}") from problem


def rank_with(
    oracle: Callable[[Any, Any], float | bool | None] | Oracle,
    items: Sequence[Hashable],
    *,
    max_pairs: int | None = None,
    **options: Any,
) -> ActiveRanker:
    """Put the questions of an `ActiveRanker` to `oracle` until it is done; return the ranker.

    `oracle` is a function of two labels that returns 1, 0, 0.5, a bool or None, or an object whose `answer` takes an
    (m, 2) array of item numbers (see `podium.active.oracles`). It is held to be consistent, so that no pair is asked
    twice, unless it has an attribute `consistent` that says otherwise. `options` are those of `ActiveRanker`.

    >>> rank_with(lambda a, b: a > b, range(30), seed=0).ranking_.order[:3]
    (29, 28, 27)
    """
    if getattr(oracle, "consistent", True):
        options.setdefault("repeats", "never")
    ranker = ActiveRanker(items, **options)
    answer = asker(oracle, ranker.items)
    if max_pairs is not None:
        max_pairs = validation.whole_number("max_pairs", max_pairs, 1)
    ranker._judges.setdefault(None, 0)
    while not ranker.done:
        pairs = ranker._ask(max_pairs, hold=False)
        ranker._tell(pairs, answer(pairs), np.zeros(len(pairs), dtype=np.int64))
    return ranker
