"""ActiveRanker: labels in, questions out, an order at any time."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from podium.active.bisect import Estimate, estimate
from podium.active.checks import ENOUGH, Summary, band, summarise
from podium.active.features import Features
from podium.active.improve import PaperOptions
from podium.active.interview import Asked, Interview
from podium.active.log import check_header, header
from podium.active.oracles import FunctionOracle, Oracle
from podium.active.presets import start_of
from podium.comparisons import Comparisons
from podium.errors import DataWarning, InputError
from podium.ranking import Ranking

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ActiveRanker", "rank_with"]

Pair = tuple[Any, Any]
ANSWERS = {1: 1.0, 0: 0.0, 0.5: 0.5, None: np.nan}


class ActiveRanker:
    """Order items by asking which of two goes first, with as few questions as possible.

    `ask` gives pairs, `tell` takes answers, `ranking_` is the best order so far, at any time. Preferences may be
    cyclic and answers wrong; the same pair is asked once.

    Parameters
    ----------
    items : sequence of labels
    preset : str
        "standard" (about 3 log2 n questions an item, fewer if the answers are clean), "quick" (under 2),
        "thorough" (5), "few_rounds" (at most 8 rounds, for judges that answer in bulk), "exact" (up to 20 items: all
        pairs and a proved optimum), "paper" (Ailon's algorithm as published; see `PaperOptions`).
    goal : "order" or ("top", k)
        With ("top", k) the questions go to the items that may be among the first k.
    budget : int, optional
        Most questions to ask; all of them are used then.
    random_share : float
        Share of the questions that are random check pairs. They measure what the others cannot.
    features : (n, d) array, optional
        Numbers that may tell where an item stands.
    seed : int, optional
        The same seed and answers give the same questions. Drawn and kept in the log if omitted.
    paper : PaperOptions, optional
        Accuracy and constants of preset "paper".

    Attributes
    ----------
    ranking_ : Ranking
    tiers_ : list of tuples of labels, best first
    done : bool
    log : list of dicts; see `podium.active.log`

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
        seed: int | None = None,
        paper: PaperOptions | None = None,
    ) -> None:
        self.items = _checked_items(items)
        n = len(self.items)
        if not 0 <= random_share < 1:
            raise InputError(f"random_share is {random_share:g}; it is at least 0 and less than 1")
        if budget is not None and budget < 1:
            raise InputError(f"budget is {budget}; it is at least one question")
        self.preset = preset
        self.goal = goal
        self.budget = budget
        self.random_share = float(random_share)
        self.paper = paper
        self.seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else int(seed)
        table = None if features is None else np.ascontiguousarray(features, dtype=np.float64)
        self._features = None if table is None else hashlib.sha256(table.tobytes()).hexdigest()[:16]
        self._codes = {item: code for code, item in enumerate(self.items)}
        self._raters: dict[Any, int] = {}
        if budget is not None and budget < n - 1:
            warnings.warn(
                f"{budget} questions cannot connect {n} items; at least {n - 1} are needed. The order will be the best "
                "so far, most of it a guess",
                DataWarning,
                stacklevel=2,
            )
        start = start_of(
            preset,
            n,
            budget=budget,
            random_share=self.random_share,
            top=_checked_top(goal, n),
            features=None if table is None else Features(table, n),
            paper=paper,
        )
        share = 0.0 if preset == "exact" else self.random_share
        self.interview = Interview(n, start, seed=self.seed, budget=budget, random_share=share)
        self._known: tuple[int, Estimate] | None = None

    # Asking

    @property
    def done(self) -> bool:
        """No question is left."""
        return self.interview.done

    def ask(self, max_pairs: int | None = None) -> list[Pair]:
        """Return distinct pairs without an answer that can be put in parallel: the left and the right item of each."""
        if max_pairs is not None and max_pairs < 1:
            raise InputError(f"max_pairs is {max_pairs}; ask for at least one pair")
        items = self.items
        return [(items[u], items[v]) for u, v in self.interview.ask(max_pairs).tolist()]

    def tell(
        self,
        pairs: Iterable[Pair],
        answers: Iterable[float | bool | None],
        raters: Hashable | Sequence[Hashable] | None = None,
        *,
        times: Sequence[Any] | None = None,
    ) -> None:
        """Take answers: 1 the left item goes first, 0 the right one, 0.5 a tie, None skipped.

        Any pairs, in any order, asked or not. `raters` is one label for all, or one each. A rater's second answer to
        the same pair replaces the first, and a warning says so if they differ.
        """
        pairs = list(pairs)
        values = self._values(answers, len(pairs))
        codes = self._pair_codes(pairs)
        named = list(raters) if isinstance(raters, list | tuple | np.ndarray) else [raters] * len(pairs)
        if len(named) != len(pairs):
            raise InputError(f"{len(named)} raters for {len(pairs)} pairs; give one for all or one each")
        if times is not None and len(times) != len(pairs):
            raise InputError(f"{len(times)} times for {len(pairs)} pairs; give one each")
        who = np.array([self._raters.setdefault(name, len(self._raters)) for name in named], dtype=np.int64)
        changed = self.interview.tell(codes, values, who, None if times is None else tuple(times))
        if changed:
            left, right = pairs[changed[0]]
            name = "" if named[changed[0]] is None else f"{named[changed[0]]!r} "
            more = f", and {len(changed) - 1} more" if len(changed) > 1 else ""
            warnings.warn(
                f"{name}answered {left!r} against {right!r} differently before{more}; the last answer counts",
                DataWarning,
                stacklevel=2,
            )

    def undo(self, rater: Hashable | None = None) -> Pair | None:
        """Take back the last answer (of `rater`): everything is as if it had not been given. Returns its pair."""
        if rater is not None and rater not in self._raters:
            return None
        pair = self.interview.undo(None if rater is None else self._raters[rater])
        self._known = None
        return None if pair is None else (self.items[pair[0]], self.items[pair[1]])

    def _values(self, answers: Iterable[float | bool | None], count: int) -> np.ndarray:
        listed = list(answers)
        if len(listed) != count:
            raise InputError(f"{len(listed)} answers for {count} pairs; give one each")
        try:
            return np.array([ANSWERS[answer] for answer in listed], dtype=np.float64)
        except (KeyError, TypeError):
            bad = next(k for k, a in enumerate(listed) if not isinstance(a, Hashable) or a not in ANSWERS)
            raise InputError(
                f"answer {bad + 1} is {listed[bad]!r}; it is 1 (left first), 0 (right first), 0.5 (tie) or None (skip)"
            ) from None

    def _pair_codes(self, pairs: list[Pair]) -> np.ndarray:
        codes = self._codes
        try:
            table = np.array([(codes[left], codes[right]) for left, right in pairs], dtype=np.int64).reshape(-1, 2)
        except (KeyError, TypeError, ValueError):
            raise InputError(self._bad_pair(pairs)) from None
        same = np.flatnonzero(table[:, 0] == table[:, 1])
        if len(same):
            raise InputError(f"pair {same[0] + 1}: {pairs[same[0]][0]!r} is compared with itself; leave it out")
        return table

    def _bad_pair(self, pairs: list[Pair]) -> str:
        for number, pair in enumerate(pairs, start=1):
            if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
                return f"pair {number} is {pair!r}; a pair is (left, right)"
            for item in pair:
                if not isinstance(item, Hashable) or item not in self._codes:
                    return f"pair {number}: no item {item!r}; there are {len(self.items)}, such as {self.items[0]!r}"
        raise AssertionError("every pair is good")

    # Results

    def _estimate(self) -> Estimate:
        version = self.interview.evidence.version
        if self._known is None or self._known[0] != version:
            found = estimate(self.interview.state)
            if self.preset in ("exact", "paper") and self.interview.done:
                found = Estimate(self.interview.order, found.spread, found.floor, found.scale)
            self._known = version, found
        return self._known[1]

    @property
    def ranking_(self) -> Ranking:
        """The best order so far. A score is the number of items below; it has no interval (see `check_scores`)."""
        n = len(self.items)
        scores = np.empty(n)
        scores[self._estimate().order] = np.arange(n - 1, -1, -1)
        note = "Order from chosen questions: scores count the items below and have no intervals."
        if self.budget is not None and self.done:
            short = self.summary()
            if not short.stable:
                note += f" The budget is spent; about {short.until_stable} more questions until stable."
        return Ranking(self.items, scores, note=note)

    @property
    def tiers_(self) -> list[tuple[Any, ...]]:
        """Groups of items, best first: the blocks of a decomposition, or items whose places are not told apart."""
        blocks = self.interview.state.blocks
        if self.preset == "paper" and blocks is not None and self.done:
            place = np.argsort(self._estimate().order)
            return [tuple(self.items[u] for u in block[np.argsort(place[block])]) for block in blocks]
        found = self._estimate()
        off = band(found.spread, len(self.items))
        tiers: list[list[Any]] = []
        edge = -1.0
        for at, item in enumerate(found.order.tolist()):
            if not tiers or at - off[item] > edge:
                tiers.append([])
                edge = at + off[item]
            tiers[-1].append(self.items[item])
        return [tuple(tier) for tier in tiers]

    def places(self) -> pl.DataFrame:
        """One row an item, best first: place from 1, the 90 % band it may truly stand in, its tier, its answers."""
        import polars as pl

        found = self._estimate()
        n = len(self.items)
        place = np.arange(1, n + 1)
        off = band(found.spread, n)[found.order]
        votes = self.interview.evidence.votes()
        answers = np.bincount(votes.left, minlength=n) + np.bincount(votes.right, minlength=n)
        tier = np.repeat(np.arange(1, len(tiers := self.tiers_) + 1), [len(each) for each in tiers])
        return pl.DataFrame(
            {
                "item": [self.items[u] for u in found.order.tolist()],
                "place": place,
                "place_lower": np.maximum(1, np.floor(place - off)).astype(np.int64),
                "place_upper": np.minimum(n, np.ceil(place + off)).astype(np.int64),
                "tier": tier,
                "answers": answers[found.order],
            },
            strict=False,
        )

    def summary(self) -> Summary:
        """Questions asked, noise, agreement on check pairs, estimated cost, spread, and the stop signal."""
        return summarise(self.interview, self._estimate())

    @property
    def comparisons(self) -> Comparisons:
        """All answers, for any other ranker. Chosen pairs bias intervals of scores; `check_comparisons` do not."""
        return self._as_comparisons(None)

    @property
    def check_comparisons(self) -> Comparisons:
        """The answers to check pairs only, those drawn when they had their answer included: a uniform sample."""
        checks = self.interview.checks
        return self._as_comparisons(np.array([*checks.keys, *checks.known], dtype=np.int64))

    def _as_comparisons(self, keys: np.ndarray | None) -> Comparisons:
        votes = self.interview.evidence.votes()
        keep = np.ones(len(votes), dtype=bool)
        if keys is not None:
            keep = np.isin(votes.left.astype(np.int64) * len(self.items) + votes.right, keys)
        named = list(self._raters)
        several = len(named) > 1 or (named and named[0] is not None)
        return Comparisons(
            self.items,
            votes.left[keep],
            votes.right[keep],
            outcome=np.sign(2 * votes.value[keep] - 1).astype(np.int8),
            judge=votes.rater[keep] if several else None,
            judges=tuple(named) if several else (),
        )

    def check_scores(self) -> Ranking:
        """Bradley-Terry scores of the check votes alone, with approximate intervals; needs 250 of them.

        Votes on chosen pairs would give intervals that are far too narrow (measured coverage 10 to 43 %).
        """
        from podium.pairwise.bradley_terry import BradleyTerry

        votes = self.check_comparisons
        if len(votes) < ENOUGH:
            raise InputError(
                f"{len(votes)} check votes; scores with intervals need {ENOUGH}: ask more, or raise random_share"
            )
        found = BradleyTerry(l2=0.1).fit(votes).ranking_
        found.note = "Scores of check votes only; intervals are approximate."
        return found

    # Log

    @property
    def log(self) -> list[dict[str, Any]]:
        """Header and events, ready for JSON lines."""
        goal = self.goal if isinstance(self.goal, str) else list(self.goal)
        options: dict[str, Any] = {
            "goal": goal,
            "budget": self.budget,
            "random_share": self.random_share,
            "features": self._features,
        }
        if self.paper is not None:
            options["paper"] = asdict(self.paper)
        rows = [header(self.items, self.seed, self.preset, options)]
        for event in self.interview.events:
            rows.extend(self.log_rows(event))
        return rows

    def log_rows(self, event: Any) -> list[dict[str, Any]]:
        """One event of the interview as rows of the log."""
        if isinstance(event, Asked):
            return [{"podium": "ask", "max_pairs": event.max_pairs}]
        named, rows = list(self._raters), []
        for k, ((u, v), value) in enumerate(zip(event.pairs.tolist(), event.values.tolist(), strict=True)):
            row: dict[str, Any] = {"podium": "skip"} if np.isnan(value) else {}
            row |= {"left": self.items[u], "right": self.items[v]}
            if not np.isnan(value):
                row["outcome"] = value if value == 0.5 else int(value)
            row["judge"] = named[int(event.raters[k])]
            row["time"] = None if event.times is None else event.times[k]
            if k + 1 < len(event.pairs):
                row["more"] = True  # the next row was told in the same breath
            rows.append(row)
        return rows

    @classmethod
    def replay(cls, items: Sequence[Hashable], log: Sequence[dict[str, Any]], *, features: Any = None) -> Self:
        """Rebuild the ranker that wrote `log` (rows as in `log`), in the identical state."""
        head = check_header(log, _checked_items(items))
        options = head["options"]
        goal = options.get("goal", "order")
        paper = options.get("paper")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # what was said once need not be said again
            ranker = cls(
                items,
                preset=head["preset"],
                goal=goal if isinstance(goal, str) else (goal[0], goal[1]),
                budget=options.get("budget"),
                random_share=options.get("random_share", 0.1),
                features=features,
                seed=head["seed"],
                paper=None if paper is None else PaperOptions(**paper),
            )
        if ranker._features != options.get("features"):
            raise InputError("the log was made with other features; give replay the same features=")
        ranker._repeat(log[1:])
        return ranker

    def _repeat(self, rows: Sequence[dict[str, Any]]) -> None:
        """Apply rows of a log: asks, and answers in the groups in which they were told."""
        group: list[dict[str, Any]] = []
        for row in rows:
            if row.get("podium") == "ask":
                self.interview.ask(row.get("max_pairs"))
            elif row.get("podium") != "interview":
                group.append(row)
                if not row.get("more"):
                    self._tell_rows(group)
                    group = []
        self._tell_rows(group)

    def _tell_rows(self, rows: list[dict[str, Any]]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            self.tell(
                [(row["left"], row["right"]) for row in rows],
                [row.get("outcome") for row in rows],
                [row.get("judge") for row in rows],
                times=[row.get("time") for row in rows],
            )


def rank_with(
    oracle: Callable[[Any, Any], float | bool | None] | Oracle,
    items: Sequence[Hashable],
    *,
    max_pairs: int | None = None,
    **options: Any,
) -> ActiveRanker:
    """Put the questions of an `ActiveRanker` to `oracle` until it is done; return the ranker.

    `oracle` is a function of two labels that returns 1, 0, 0.5, a bool or None, or an object whose `answer` takes an
    (m, 2) array of item numbers (see `podium.active.oracles`). `options` are those of `ActiveRanker`.

    >>> rank_with(lambda a, b: a > b, range(30), seed=0).ranking_.order[:3]
    (29, 28, 27)
    """
    ranker = ActiveRanker(items, **options)
    judge = oracle if hasattr(oracle, "answer") else FunctionOracle(oracle, ranker.items)
    ranker._raters.setdefault(None, 0)
    while not ranker.done:
        pairs = ranker.interview.ask(max_pairs)
        ranker.interview.tell(pairs, judge.answer(pairs))
    return ranker


def _checked_items(items: Sequence[Hashable]) -> tuple[Any, ...]:
    if isinstance(items, str):
        raise InputError(f"items is the text {items!r}; give a list of labels")
    checked = tuple(items)
    if len(checked) < 2:
        raise InputError(f"{len(checked)} items; an order needs at least two")
    seen: dict[Any, int] = {}
    for number, item in enumerate(checked, start=1):
        if item in seen:
            raise InputError(f"items {seen[item]} and {number} are both {item!r}; labels must differ")
        seen[item] = number
    return checked


def _checked_top(goal: Any, n: int) -> int | None:
    if goal == "order":
        return None
    if isinstance(goal, tuple | list) and len(goal) == 2 and goal[0] == "top":
        if isinstance(goal[1], int) and 1 <= goal[1] < n:
            return goal[1]
        raise InputError(f"goal is {goal!r}; k is a whole number from 1 to {n - 1}")
    raise InputError(f"goal is {goal!r}; it is 'order' or ('top', k)")
