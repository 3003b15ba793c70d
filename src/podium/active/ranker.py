"""ActiveRanker: labels in, questions out, an order at any time."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from podium.active import results
from podium.active import validation as door
from podium.active.bisect import Estimate, estimate
from podium.active.checks import ENOUGH, Summary, summarise
from podium.active.features import Features
from podium.active.interview import Asked, Interview, Told
from podium.active.journal import check_header, event_rows, header, steps
from podium.active.oracles import Oracle, asker
from podium.active.paper.improve import PaperOptions
from podium.active.presets import start_of
from podium.data.comparisons import Comparisons
from podium.errors import DataWarning, InputError
from podium.ranking.ranking import Ranking

if TYPE_CHECKING:
    import polars as pl

__all__ = ["ActiveRanker", "rank_with"]

Pair = tuple[Any, Any]


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
        With ("top", k) the questions go to the items that may be among the first k, until those places are stable.
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
        seed: int | None = None,
        paper: PaperOptions | None = None,
    ) -> None:
        self.items = door.item_labels(items)
        self.preset = preset
        self.goal = goal
        self.budget = None if budget is None else door.whole_number("budget", budget, 1)
        self.random_share = door.share_of(random_share)
        self.paper = paper
        self.seed = door.seed_of(seed)
        self._codes = {item: code for code, item in enumerate(self.items)}
        self._raters: dict[Any, int] = {}
        self._known: tuple[int, Estimate] | None = None
        table = door.feature_table(features, self.items)
        self._features = None if table is None else hashlib.sha256(table.tobytes()).hexdigest()[:16]
        self.interview = self._begin(table)

    def _begin(self, features: np.ndarray | None) -> Interview:
        n, preset = len(self.items), self.preset
        self.top = top = door.top_of(self.goal, n)
        if preset in ("exact", "paper") and (features is not None or top is not None):
            what = "features" if features is not None else f"goal {self.goal!r}"
            raise InputError(f"preset {preset!r} has no use for {what}; leave it out, or take another preset")
        if self.paper is not None and not isinstance(self.paper, PaperOptions):
            raise InputError(f"paper is {self.paper!r}; give PaperOptions(…)")
        start = start_of(
            preset,
            n,
            budget=self.budget,
            random_share=self.random_share,
            top=top,
            features=None if features is None else Features(features, n),
            paper=self.paper,
        )
        if self.budget is not None and self.budget < n - 1:
            warnings.warn(
                f"{self.budget} questions cannot connect {n} items; at least {n - 1} are needed. The order will be the "
                "best so far, most of it a guess",
                DataWarning,
                stacklevel=3,
            )
        share = 0.0 if preset == "exact" else self.random_share
        return Interview(n, start, seed=self.seed, budget=self.budget, random_share=share)

    # Asking

    @property
    def done(self) -> bool:
        """No question is left."""
        return self.interview.done

    def ask(self, max_pairs: int | None = None) -> list[Pair]:
        """Return distinct pairs without an answer that can be put in parallel: the left and the right item of each."""
        if max_pairs is not None:
            max_pairs = door.whole_number("max_pairs", max_pairs, 1)
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
        pairs = door.listed("pairs", pairs, "a list of (left, right)")
        values = door.answer_values(answers, len(pairs))
        codes = door.pair_codes(pairs, self._codes, self.items)
        named = door.rater_names(raters, len(pairs))
        if times is not None:
            times = door.per_pair("times", times, len(pairs))
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

    # Results

    def _estimate(self) -> Estimate:
        version = self.interview.evidence.version
        if self._known is None or self._known[0] != version:
            state = self.interview.state
            found = state.found[1] if state.found and state.found[0] == version else estimate(state)
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
        blocks = self.interview.state.blocks if self.preset == "paper" and self.done else None
        return [tuple(self.items[u] for u in tier) for tier in results.tiers(self._estimate(), blocks)]

    def places(self) -> pl.DataFrame:
        """One row an item, best first: place from 1, the 90 % band it may truly stand in, its tier, its answers."""
        sizes = [len(tier) for tier in self.tiers_]
        return results.places(self.items, self._estimate(), sizes, self.interview.evidence.votes())

    def summary(self) -> Summary:
        """Questions asked, noise, agreement on check pairs, estimated cost, spread, and the stop signal."""
        return summarise(self.interview, self._estimate(), self.top)

    @property
    def comparisons(self) -> Comparisons:
        """All answers, for any other ranker. Chosen pairs bias intervals of scores; `check_comparisons` do not."""
        return results.comparisons(self.items, self.interview.evidence.votes(), list(self._raters))

    @property
    def check_comparisons(self) -> Comparisons:
        """The answers to check pairs only, those drawn when they had their answer included: a uniform sample."""
        votes, checks = self.interview.evidence.votes(), self.interview.checks
        drawn = np.array([*checks.keys, *checks.known], dtype=np.int64)
        keep = np.isin(votes.left.astype(np.int64) * len(self.items) + votes.right, drawn)
        return results.comparisons(self.items, votes, list(self._raters), keep)

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

    def log_rows(self, event: Asked | Told) -> list[dict[str, Any]]:
        """One event of the interview as rows of the log."""
        return event_rows(event, self.items, list(self._raters))

    @classmethod
    def replay(cls, items: Sequence[Hashable], log: Sequence[dict[str, Any]], *, features: Any = None) -> Self:
        """Rebuild the ranker that wrote `log` (rows as in `log`), in the identical state.

        A warning says where that fails: another version, or a log with changed or missing lines, asks otherwise. All
        answers count even so.
        """
        head = check_header(log, door.item_labels(items))
        options = head["options"]
        goal = options.get("goal", "order")
        paper = options.get("paper")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # what was said once need not be said again
            ranker = cls(
                items,
                preset=head["preset"],
                goal=tuple(goal) if isinstance(goal, list) else goal,
                budget=options.get("budget"),
                random_share=options.get("random_share", 0.1),
                features=features,
                seed=head["seed"],
                paper=None if paper is None else _paper_of(paper),
            )
        if ranker._features != options.get("features"):
            raise InputError("the log was made with other features; give replay the same features")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            parting = ranker._repeat(log[1:])
        if parting is not None:
            warnings.warn(
                f"log, row {parting}: other questions are asked from here on than when the log was written (by another "
                "version, or with other lines); all its answers count, but the state is not the one that was left",
                DataWarning,
                stacklevel=2,
            )
        return ranker

    def _repeat(self, rows: Sequence[dict[str, Any]]) -> int | None:
        """Ask and tell as the rows of a log say; return the first row whose questions are not those of the log."""
        parting = None
        for number, step in steps(rows):
            try:
                if isinstance(step, dict):
                    self.ask(step.get("max_pairs"))
                    asked = self.log_rows(self.interview.events[-1])[0]
                    if parting is None and step.get("pairs", asked["pairs"]) != asked["pairs"]:
                        parting = number
                else:
                    pairs = [(row["left"], row["right"]) for row in step]
                    answers, raters, times = ([row.get(name) for row in step] for name in ("outcome", "judge", "time"))
                    self.tell(pairs, answers, raters, times=times)
            except InputError as problem:
                raise InputError(f"log, row {number}: {problem}") from problem
        return parting


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
    (m, 2) array of item numbers (see `podium.active.oracles`). `options` are those of `ActiveRanker`.

    >>> rank_with(lambda a, b: a > b, range(30), seed=0).ranking_.order[:3]
    (29, 28, 27)
    """
    ranker = ActiveRanker(items, **options)
    answer = asker(oracle, ranker.items)
    if max_pairs is not None:
        max_pairs = door.whole_number("max_pairs", max_pairs, 1)
    ranker._raters.setdefault(None, 0)
    while not ranker.done:
        pairs = ranker.interview.ask(max_pairs)
        ranker.interview.tell(pairs, answer(pairs))
    return ranker
