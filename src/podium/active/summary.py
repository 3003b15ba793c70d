"""Honest words about an order that was made by asking: agreement, cost, likely errors, and when to stop.

Answers to pairs that were chosen because they were hard say little about the rest. Check pairs are drawn uniformly,
and each is predicted by fits that have not seen it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.active.bands import TYPICAL
from podium.active.many import head_chance
from podium.active.models import Models
from podium.active.tally import CHECK, Tally
from podium.text import about, counted, percent

__all__ = ["MIN_CHECK_VOTES", "MIN_TELLING_VOTES", "State", "Summary", "summarise"]

MIN_CHECK_VOTES = 250  # check votes before scores may have intervals
MIN_TELLING_VOTES = 20  # answers before the share of mistakes is more than a guess made beforehand
LEVEL_Z = 1.645  # 90 %


@dataclass(frozen=True, slots=True)
class Summary:
    """Where the asking stands.

    Attributes
    ----------
    items, questions, pairs, repeated, skipped : int
        Answers, the distinct pairs they are on, answers to pairs that had one already, and pairs only skipped.
    judges : int
        How many have answered.
    check_votes : int
        Answered check pairs; `agreement` is the share of them that fits to the other answers predicted, with a 90 %
        interval (None without check votes).
    noise, close_calls : float or None
        Estimated share of plain mistakes, and the width of the zone, in ranks, where answers waver; None before 20
        answers.
    cost : float
        Estimated number of all n(n-1)/2 answers that contradict the order, with a 90 % interval.
    within_ranks : float
        Nine in ten items stand within so many ranks of their true one.
    width : float
        Ranks that a typical band covers beside the item's own.
    stable : bool
        The stop signal: a typical band covers at most 15 % of the list, or no answer contradicts another and together
        they imply the whole order. With goal ("top", k), of the items that may be among the first k. Never given
        before 20 answers, nor while `turning`, nor before far pairs show that it is not.
    turning : bool
        Far pairs contradict the order much more often than near ones, as on a circle: where it begins is arbitrary.
    finished : bool
        No useful pair is left to ask, not even once more, whether stable or not.
    until_stable, until_stable_upper : int
        About how many more questions `stable` takes: the first where wrong answers are plain mistakes, the second where
        they are close calls, which many votes settle slowly; 0 where it is, or where no question is left.
    """

    items: int
    questions: int
    pairs: int
    repeated: int
    skipped: int
    judges: int
    check_votes: int
    agreement: float | None
    agreement_interval: tuple[float, float] | None
    noise: float | None
    close_calls: float | None
    cost: float
    cost_interval: tuple[float, float] | None
    within_ranks: float
    width: float
    stable: bool
    turning: bool
    finished: bool
    until_stable: int
    until_stable_upper: int

    def __str__(self) -> str:
        asked = counted(self.questions, "question")
        lines = [f"{counted(self.items, 'item')}, {asked} ({self.questions / self.items:.1f} an item)"]
        details = {"skipped": self.skipped, "asked again": self.repeated}
        if any(details.values()):
            lines.append(", ".join(f"{count} {what}" for what, count in details.items() if count))
        if self.agreement is not None and self.agreement_interval is not None:
            low, high = self.agreement_interval
            between = f"{percent(low)} to {percent(high)}"
            lines.append(f"agreement on check pairs {percent(self.agreement)} ({between}, {self.check_votes})")
        mistakes = (
            "mistakes: too few answers to tell" if self.noise is None else f"mistakes about {percent(self.noise, 1)}"
        )
        lines.append(f"{mistakes}; nine in ten items within {counted(round(self.within_ranks), 'rank')}")
        if self.turning:
            lines.append("far pairs contradict the order, as on a circle: where it begins is arbitrary")
        lines.append(self._signal())
        return "\n".join(lines)

    def _signal(self) -> str:
        if self.stable:
            return "stable: more questions would change little"
        if self.finished:
            return "not stable, but no useful pair is left to ask"
        forecast = f"not stable yet: {about(self.until_stable, self.until_stable_upper, 'more question')}"
        fresh = self.items * (self.items - 1) // 2 - self.pairs - self.skipped
        if fresh >= self.until_stable:
            return forecast
        return (
            f"{forecast}; {counted(fresh, 'pair')} {'is' if fresh == 1 else 'are'} new, the rest would be asked again"
        )


@dataclass(frozen=True, slots=True)
class State:
    """What a planner knows after the votes so far: the order, and by how many ranks each item may be off.

    `models` may be None where the order is settled, or nothing was answered, and there are no check votes.
    """

    top: int | None
    tally: Tally
    models: Models | None
    order: np.ndarray
    half_widths: np.ndarray
    bands: tuple[np.ndarray, np.ndarray]
    settled: bool
    finished: bool


def summarise(state: State) -> Summary:
    """Put the state of a planner in numbers."""
    n, tally, off = len(state.order), state.tally, state.half_widths
    lower, upper = state.bands
    fitted = None if state.settled or not len(tally) else state.models
    weight = np.ones(n) if state.top is None else _head(state)
    width = float(np.average(upper - lower, weights=weight))
    turning = fitted is not None and fitted.turning
    narrow = state.settled or width <= TYPICAL * (n - 1)
    straight = fitted is None or fitted.straight
    stable = len(tally) >= MIN_TELLING_VOTES and not turning and straight and narrow
    share = _check_share(state)
    posterior = fitted.posterior if fitted is not None and len(tally) >= MIN_TELLING_VOTES else None
    floor = 0.0 if posterior is None else posterior.floor
    contradicted = _contradicted(state)
    wrong = 1.0 - share[0] if share else floor
    rest = n * (n - 1) // 2 - len(tally.keys)
    more = 0 if stable or state.finished else _until_stable(off, weight, floor)
    return Summary(
        items=n,
        questions=len(tally) + len(tally.skipped_low),
        pairs=len(tally.keys),
        repeated=len(tally) - len(tally.keys),
        skipped=len(tally.asked_keys) - len(tally.keys),
        judges=len(np.unique(tally.judge)),
        check_votes=int(np.count_nonzero(tally.kind == CHECK)),
        agreement=share[0] if share else None,
        agreement_interval=share[1:] if share else None,
        noise=floor if posterior is not None or (state.settled and len(tally) >= MIN_TELLING_VOTES) else None,
        close_calls=None if posterior is None else posterior.scale,
        cost=contradicted + rest * wrong,
        cost_interval=(contradicted + rest * (1 - share[2]), contradicted + rest * (1 - share[1])) if share else None,
        within_ranks=float(np.quantile(off, 0.9)),
        width=width,
        stable=stable,
        turning=turning,
        finished=state.finished,
        until_stable=more,
        until_stable_upper=more and max(more, _if_close(len(tally), width / (TYPICAL * (n - 1)))),
    )


def _head(state: State) -> np.ndarray:
    rank = np.argsort(state.order)
    assert state.top is not None
    return head_chance(rank, state.half_widths / 2.0, state.top) + 1e-9


def _contradicted(state: State) -> float:
    """Pairs whose answer, the mean of several, contradicts the order."""
    tally = state.tally
    if not len(tally):
        return 0.0
    rank = np.argsort(state.order)
    points, total = tally.sums()
    ahead = rank[tally.pair_low] < rank[tally.pair_high]
    return float(np.where(ahead, 1.0 - points / total, points / total).sum())


def _check_share(state: State) -> tuple[float, float, float] | None:
    """The share of check votes that fits to other pairs predicted, with its 90 % score interval."""
    tally = state.tally
    if state.models is None or not (tally.kind == CHECK).any():
        return None
    checks = (tally.kind == CHECK) & state.models.tested
    if not checks.any():
        return None
    predicted = state.models.held_out_chances()[checks] > 0.5
    hits = np.where(predicted, tally.value[checks], 1.0 - tally.value[checks])
    count, share, z2 = len(hits), float(hits.mean()), LEVEL_Z**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = LEVEL_Z * np.sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return share, float(centre - half), float(centre + half)


def _until_stable(off: np.ndarray, weight: np.ndarray, floor: float) -> int:
    """A question carries 1 - H(floor) bits and about half of them count; a bit halves the uncertainty of one item."""
    n = len(off)
    floor = min(max(floor, 0.003), 0.45)
    bits = 1.0 + floor * np.log2(floor) + (1 - floor) * np.log2(1 - floor)
    typical = 2.0 * float(np.average(off, weights=weight))
    halvings = max(0.1, float(np.log2(typical / (TYPICAL * (n - 1)))))
    return int(np.ceil(float(weight.sum()) * 1.7 / bits * halvings))


def _if_close(votes: int, wide: float) -> int:
    """Bands that are so many times too wide, and narrow as the root of the votes, as between items that are close."""
    return int(np.ceil(votes * max(0.0, wide**2 - 1.0)))
