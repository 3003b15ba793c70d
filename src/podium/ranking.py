"""Ranking: items with scores, and how sure they are."""

from __future__ import annotations

import difflib
import html
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

import podium.uncertainty as how_sure
from podium.errors import InputError
from podium.uncertainty import Evidence, Spread

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Ranking"]

SHOWN = 20  # rows of a printed ranking
QUICK = 1000  # up to so many items printing may compute the intervals

# Columns of the table, with their polars types.
COLUMNS = {
    "item": None,
    **dict.fromkeys(("score", "std_error", "lower", "upper"), "Float64"),
    **dict.fromkeys(("rank", "rank_lower", "rank_upper", "tier"), "Int64"),
    **dict.fromkeys(("wins", "losses", "ties", "comparisons"), "Float64"),
}

Record: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


class Ranking:
    """Items with scores, best first, and how sure the scores and the ranks are.

    Made by a ranker, or by hand for items scored elsewhere. Standard errors and all that follows from them are
    computed when first asked for. What is held fixed matters: intervals are of a score *with the mean of all scores
    held fixed*, unless another reference is named, and no anchor changes their width.

    Parameters
    ----------
    items : sequence of labels
    scores : array of float, aligned with `items`; higher is better
    evidence : Evidence, a function that returns one (called on first use), or None
        None when the ranker has no likelihood: intervals are then refused.
    unit : float
        Units of `scores` per log-odds: 400 / ln 10 on the Elo scale.
    record : (wins, losses, ties), a function that returns them, or None
        Weight sums per item.
    uncertainty : "hessian", "sandwich", "cluster" or "bootstrap"
        Where the standard errors come from; see `with_uncertainty`.
    cluster : str or None
        For "cluster": "judge", "group" or "ranking".
    note : str or None
        A sentence shown below the table, for instance what is anchored.

    Attributes
    ----------
    items, scores, unit, uncertainty, cluster, note

    Examples
    --------
    >>> ranking = Ranking(["tea", "milk", "coffee"], [0.4, -1.0, 0.6])
    >>> ranking.order
    ('coffee', 'tea', 'milk')
    >>> ranking.score("milk")
    -1.0
    """

    def __init__(
        self,
        items: Sequence[Hashable],
        scores: Any,
        *,
        evidence: Evidence | Callable[[], Evidence] | None = None,
        unit: float = 1.0,
        record: Record | Callable[[], Record] | None = None,
        uncertainty: str = "hessian",
        cluster: str | None = None,
        note: str | None = None,
    ) -> None:
        self.items = tuple(items)
        self.scores = np.array(scores, dtype=np.float64)
        if self.scores.shape != (len(self.items),):
            raise InputError(f"{len(self.items)} items need as many scores; got an array of shape {self.scores.shape}")
        if not np.isfinite(self.scores).all():
            bad = int(np.flatnonzero(~np.isfinite(self.scores))[0])
            raise InputError(f"the score of {self.items[bad]!r} is {self.scores[bad]}; scores must be finite")
        self.scores.setflags(write=False)
        self.unit = float(unit)
        self.uncertainty = uncertainty
        self.cluster = cluster
        self.note = note
        self._evidence = evidence
        self._record = record
        self._spread: Spread | None = None
        self._index: dict[Hashable, int] | None = None

    # The order

    @property
    def order(self) -> tuple[Hashable, ...]:
        """Labels, best first; equal scores keep the order of `items`."""
        return tuple(self.items[i] for i in self._best_first())

    @property
    def ranks(self) -> np.ndarray:
        """Rank of each item, from 1; equal scores share the better rank."""
        rising = np.sort(self.scores)
        ranks: np.ndarray = 1 + len(self) - np.searchsorted(rising, self.scores, side="right")
        return ranks

    def score(self, item: Hashable) -> float:
        """Return the score of one item."""
        return float(self.scores[self._place(item)])

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Hashable]:
        """Go through the labels, best first."""
        return iter(self.order)

    # How sure

    @property
    def evidence(self) -> Evidence | None:
        """What the ranker said about the curvature of its loss; None without a likelihood."""
        if callable(self._evidence):
            self._evidence = self._evidence()
        return self._evidence

    @property
    def record(self) -> Record | None:
        """Wins, losses and ties of each item, as sums of weights; None when the ranker keeps no record."""
        if callable(self._record):
            self._record = self._record()
        return self._record

    @property
    def std_errors(self) -> np.ndarray | None:
        """Standard error of each score with the mean held fixed, in the scores' unit; None without a likelihood.

        Infinite for an item that only won or only lost: the votes put no end to its score on one side.
        """
        if self.evidence is None:
            return None
        spread = self._known_spread()
        errors: np.ndarray = self.unit * np.sqrt(spread.variance)
        for mask in (spread.open_above, spread.open_below):
            if mask is not None:
                errors = np.where(mask, np.inf, errors)
        return errors

    def intervals(self, level: float = 0.95, reference: Hashable = "mean") -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper bounds of every score, with the reference's score held fixed.

        `reference` is "mean" (of all items) or an item: the bounds are then those of the difference to that item, laid
        around the scores, and the item itself has none to either side. With more than 5,000 items the difference is
        treated as if the two scores were independent.
        """
        width = self.unit * how_sure.quantile(level)
        spread = self._known_spread()
        if isinstance(reference, str) and reference == "mean":
            half = width * np.sqrt(spread.variance)
            return spread.bounded(self.scores - half, self.scores + half)
        place = self._place(reference)
        half = width * np.sqrt(spread.differences(place))
        half[place] = 0
        lower, upper = spread.bounded(self.scores - half, self.scores + half)
        if spread.open_above is not None and spread.open_above[place]:
            lower = np.full_like(lower, -np.inf)
        if spread.open_below is not None and spread.open_below[place]:
            upper = np.full_like(upper, np.inf)
        lower[place] = upper[place] = self.scores[place]
        return lower, upper

    def rank_intervals(self, level: float = 0.95, simultaneous: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the best and worst rank each item may have, from 1.

        An item is counted above another when the interval of their difference lies above zero. Each interval holds with
        probability `level` on its own; with `simultaneous=True` all of them do at once.
        """
        return how_sure.rank_intervals(self._plain_scores(), self._known_spread(), level, simultaneous)

    def tiers(self, level: float = 0.95) -> list[tuple[Hashable, ...]]:
        """Return groups of items, best first, that the votes do not tell apart from the first of the group."""
        numbers = self.tier_numbers(level)
        groups: list[list[Hashable]] = [[] for _ in range(int(numbers.max(initial=0)))]
        for i in self._best_first():
            groups[numbers[i] - 1].append(self.items[i])
        return [tuple(group) for group in groups]

    def tier_numbers(self, level: float = 0.95) -> np.ndarray:
        """Return the tier of each item, from 1, aligned with `items`."""
        return how_sure.tiers(self._plain_scores(), self._known_spread(), level)

    def probability_above(self, one: Hashable, other: Hashable) -> float:
        """Return the confidence that `one` is truly above `other`; not the chance to win a single comparison."""
        places = self._place(one), self._place(other)
        return how_sure.probability_above(self._plain_scores(), self._known_spread(), *places)

    def probability_best(self) -> np.ndarray:
        """Return the confidence that each item is truly first, by simulation; the values sum to one."""
        return how_sure.probability_best(self._plain_scores(), self._known_spread())

    def top_set(self, k: int, level: float = 0.95) -> tuple[Hashable, ...]:
        """Return items, best first, among which all of the true top `k` are with probability at least `level`."""
        inside = how_sure.top_set(self._plain_scores(), self._known_spread(), k, level)
        return tuple(self.items[i] for i in self._best_first() if inside[i])

    def with_uncertainty(
        self, kind: str, *, cluster: str | None = None, replicates: int = 1000, seed: int | None = None
    ) -> Ranking:
        """Return a ranking with the same scores whose standard errors come from elsewhere.

        Parameters
        ----------
        kind : str
            "hessian": the curvature of the likelihood, right when the model is. "sandwich": also right when weights are
            not counts. "cluster": also right when the votes of one judge, group or ranking go together. "bootstrap":
            the spread of refits on resampled votes (or clusters).
        cluster : str or None
            "judge", "group" or "ranking"; may be left out when the votes name only one of them.
        replicates, seed
            For the bootstrap.
        """
        known = self._require_evidence()
        cluster = known.require(kind, cluster)
        made = Ranking(
            self.items,
            self.scores,
            evidence=known,
            unit=self.unit,
            record=self._record,
            uncertainty=kind,
            cluster=cluster,
            note=self.note,
        )
        if kind == "bootstrap":
            made._spread = how_sure.spread(known, kind, cluster, replicates=replicates, seed=seed)
        return made

    # Tables

    def to_frame(self, level: float = 0.95, simultaneous: bool = False) -> pl.DataFrame:
        """Return a polars frame, one row per item, best first; what is not known is null.

        `simultaneous` is about the rank intervals. An item with an open-ended score has an infinite bound.
        """
        import polars as pl

        rows = self._best_first()
        made: dict[str, pl.Series] = {}
        known = self._columns(level, simultaneous)
        for name, kind in COLUMNS.items():
            if kind is None:
                made[name] = _labels([self.items[i] for i in rows])
            elif name in known:
                made[name] = pl.Series(name, known[name][rows], dtype=getattr(pl, kind))
            else:
                made[name] = pl.Series(name, [None] * len(rows), dtype=getattr(pl, kind))
        return pl.DataFrame(made)

    def _columns(self, level: float, simultaneous: bool) -> dict[str, np.ndarray]:
        known: dict[str, np.ndarray] = {"score": self.scores, "rank": self.ranks}
        errors = self.std_errors
        if errors is not None:
            known["std_error"] = errors
            known["lower"], known["upper"] = self.intervals(level)
            known["rank_lower"], known["rank_upper"] = self.rank_intervals(level, simultaneous)
            known["tier"] = self.tier_numbers(level)
        if self.record is not None:
            known["wins"], known["losses"], known["ties"] = self.record
            known["comparisons"] = known["wins"] + known["losses"] + known["ties"]
        return known

    def __repr__(self) -> str:
        heads, rows, notes = self._shown()
        widths = [max(len(row[c]) for row in [heads, *rows]) for c in range(len(heads))]
        lines = [
            "  ".join(
                cell.ljust(width) if head == "item" else cell.rjust(width)
                for cell, width, head in zip(row, widths, heads, strict=True)
            ).rstrip()
            for row in [heads, *rows]
        ]
        return "\n".join([*lines, *notes])

    def _repr_html_(self) -> str:
        heads, rows, notes = self._shown()
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heads)
        body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        below = "<br>".join(html.escape(note) for note in notes)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{below}</p>"

    def _shown(self) -> tuple[list[str], list[list[str]], list[str]]:
        """Head, rows and remarks of the printed table."""
        places = self._best_first()[:SHOWN]
        sure = self.evidence is not None and (self._spread is not None or len(self) <= QUICK)
        write = f"{{:z.{2 if self.unit < 10 else 0}f}}".format  # z: no negative zero
        heads = ["rank", "item", "score"]
        ranks = self.ranks
        rows = [[str(ranks[i]), str(self.items[i]), write(self.scores[i])] for i in places]
        if sure:
            heads += ["interval", "ranks", "tier"]
            (lower, upper), (best, worst), tier = self.intervals(), self.rank_intervals(), self.tier_numbers()
            for row, i in zip(rows, places, strict=True):
                row += [f"{write(lower[i])} … {write(upper[i])}", f"{best[i]}–{worst[i]}", str(tier[i])]
        notes = [f"… and {len(self) - SHOWN} more"] if len(self) > SHOWN else []
        if sure:
            notes.append(f"95 % intervals, mean score held fixed ({self._way()})")
        elif self.evidence is not None:
            notes.append("intervals are computed when asked for: .intervals(), .rank_intervals(), .to_frame()")
        else:
            notes.append("no intervals: this ranking has scores only")
        return heads, rows, notes + ([self.note] if self.note else [])

    def _way(self) -> str:
        by = f" by {self.cluster}" if self.cluster else ""
        return {
            "hessian": "from the likelihood's curvature",
            "sandwich": "sandwich",
            "cluster": f"clustered{by}",
            "bootstrap": f"bootstrap{by}",
        }[self.uncertainty]

    # Underneath

    def __eq__(self, other: object) -> bool:
        """Equal items with equal scores, in the same order, and standard errors from the same source."""
        if not isinstance(other, Ranking):
            return NotImplemented
        mine = (self.items, self.unit, self.uncertainty, self.cluster)
        theirs = (other.items, other.unit, other.uncertainty, other.cluster)
        return mine == theirs and np.array_equal(self.scores, other.scores)

    __hash__ = None  # type: ignore[assignment]

    def __getstate__(self) -> dict[str, Any]:
        """Values only: what was to be computed on first use is computed now; what can be computed again is left out."""
        return {
            "items": self.items,
            "scores": self.scores,
            "unit": self.unit,
            "uncertainty": self.uncertainty,
            "cluster": self.cluster,
            "note": self.note,
            "_evidence": self.evidence,
            "_record": self.record,
            "_spread": self._spread if self.uncertainty == "bootstrap" else None,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _index=None)
        self.scores.setflags(write=False)

    def _best_first(self) -> np.ndarray:
        return np.argsort(-self.scores, kind="stable")

    def _plain_scores(self) -> np.ndarray:
        """Scores in log-odds, where the spread is."""
        plain: np.ndarray = self.scores / self.unit
        return plain

    def _place(self, item: Hashable) -> int:
        if self._index is None:
            self._index = {label: i for i, label in enumerate(self.items)}
        try:
            return self._index[item]
        except (KeyError, TypeError):
            near = difflib.get_close_matches(str(item), [str(label) for label in self.items[:100_000]], n=3)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"the {len(self)} items are in `items`"
            raise InputError(f"{item!r} is not in this ranking; {hint}") from None

    def _require_evidence(self) -> Evidence:
        known = self.evidence
        if known is None:
            raise InputError(
                "this ranking has scores only, so no intervals exist; use a ranker with a likelihood, as BradleyTerry"
            )
        return known

    def _known_spread(self) -> Spread:
        if self._spread is None:
            self._spread = how_sure.spread(self._require_evidence(), self.uncertainty, self.cluster)
        return self._spread


def _labels(items: list[Hashable]) -> pl.Series:
    """Labels as a column: as they are when of one plain type, else as text."""
    import polars as pl

    kinds = {type(item) for item in items}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return pl.Series("item", items)
    return pl.Series("item", [str(item) for item in items], dtype=pl.String)
