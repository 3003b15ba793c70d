"""A judge in numbers: position, length, repeats, agreement, cost. Pure functions of what was answered."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from podium.judge.verdict import PROBLEMS
from podium.ranking.uncertainty import quantile
from podium.text import counted, percent

__all__ = ["Agreement", "Estimate", "Position", "Tally", "agreement", "longer_won", "position", "proportion"]

Z = quantile(0.95)
TOLD = 0.01  # p-value below which a position bias is told
HOPELESS = 0.55  # a judge whose consistency is surely below is noise


@dataclass(frozen=True, slots=True)
class Estimate:
    """A share of `count` answers (or pairs) with its 95 % interval."""

    value: float
    lower: float
    upper: float
    count: int

    @property
    def is_off_half(self) -> bool:
        """Whether one half is outside the interval."""
        return not self.lower <= 0.5 <= self.upper

    def words(self) -> str:
        """As people read it."""
        return f"{percent(self.value)} ({100 * self.lower:.0f}–{100 * self.upper:.0f})"


def proportion(hits: ArrayLike) -> Estimate | None:
    """A share of yes among answers that are independent (Wilson); None of nothing."""
    values = np.asarray(hits, dtype=np.float64)
    n = len(values)
    if not n:
        return None
    p, z2 = float(values.mean()), Z**2
    centre = (p + z2 / (2 * n)) / (1 + z2 / n)
    half = Z * math.sqrt(p * (1 - p) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return Estimate(p, max(0.0, centre - half), min(1.0, centre + half), n)


@dataclass(frozen=True, slots=True)
class Position:
    """What the place of an item did to the verdicts.

    Attributes
    ----------
    first : Estimate
        How often the first place won; a tie is half. Both calls about a pair are one cluster.
    same : Estimate or None
        Of the pairs asked in both orders, those with the same winner (or a tie) in both.
    first_first, second_second : int
        Pairs in which the first place won both times, or the second place did.
    p_value : float
        Exact sign test of the two.
    """

    first: Estimate
    same: Estimate | None
    first_first: int
    second_second: int
    p_value: float

    @property
    def is_biased(self) -> bool:
        """Whether the bias is beyond chance, at 1 %."""
        return self.p_value < TOLD

    @property
    def is_noise(self) -> bool:
        """Whether fewer than 55 % of pairs, surely, have the same verdict in both orders."""
        return self.same is not None and self.same.upper < HOPELESS


def position(once: ArrayLike, turned: ArrayLike = (), single: ArrayLike = ()) -> Position | None:
    """From outcomes *for the item shown first*: of pairs in one order, of the same pairs turned, and of pairs that
    were asked in one order only.

    >>> position([1, 1, 0, 1], [0, 1, 1, 1]).same.value
    0.5
    """
    a, b, c = (np.asarray(each, dtype=np.float64) for each in (once, turned, single))
    points = np.concatenate([(a + b) / 2, c])
    if not len(points):
        return None
    # One pair each way more: an interval also where all pairs agree (Agresti and Coull's device, for clusters).
    padded = np.concatenate([points, [0.0, 1.0]])
    half = Z * float(padded.std(ddof=1)) / math.sqrt(len(padded))
    centre = float(padded.mean())
    first = Estimate(float(points.mean()), max(0.0, centre - half), min(1.0, centre + half), len(points))
    ahead, behind = int(np.sum((a == 1) & (b == 1))), int(np.sum((a == 0) & (b == 0)))
    return Position(first, proportion(a == 1 - b), ahead, behind, _sign_test(ahead, behind))


def _sign_test(one: int, other: int) -> float:
    if not one + other:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(one, one + other).pvalue)


def longer_won(outcome: ArrayLike, left: ArrayLike, right: ArrayLike) -> Estimate | None:
    """How often the longer of two won: outcomes for the left item, and the lengths of both; ties are half."""
    value, a, b = (np.asarray(each, dtype=np.float64) for each in (outcome, left, right))
    differ = a != b
    return proportion(np.where(a > b, value, 1.0 - value)[differ])


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two judges on the same pairs: the share judged alike, and Cohen's kappa (nan where chance alone agrees)."""

    alike: Estimate
    kappa: float

    def words(self) -> str:
        """As people read it."""
        kappa = "not defined" if math.isnan(self.kappa) else f"{self.kappa:.2f}"
        return f"{self.alike.words()} of {counted(self.alike.count, 'pair')} alike, kappa {kappa}"


def agreement(mine: ArrayLike, theirs: ArrayLike) -> Agreement | None:
    """Outcomes (1, 0.5, 0) of two judges on the same pairs, sides alike."""
    a, b = np.asarray(mine, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    alike = proportion(a == b)
    if alike is None:
        return None
    chance = sum(float(np.mean(a == value) * np.mean(b == value)) for value in (0.0, 0.5, 1.0))
    kappa = (alike.value - chance) / (1 - chance) if chance < 1 else math.nan
    return Agreement(alike, kappa)


@dataclass(frozen=True, slots=True)
class Tally:
    """A judge's whole run in numbers; `words` says them."""

    calls: int = 0
    pairs: int = 0
    skips: int = 0
    position: Position | None = None
    length: Estimate | None = None
    repeat: Estimate | None = None
    gold: Estimate | None = None
    against: Mapping[str, Agreement | None] = field(default_factory=dict)
    problems: Mapping[str, int] = field(default_factory=dict)
    tokens_in: int = 0
    tokens_out: int = 0
    counted: bool = False
    cost: float | None = None
    requests: int = 0  # of all calls: reminders and what was sent again included
    lost: int = 0  # requests of this run that got no answer
    ties: int = 0  # pairs
    unpriced: int = 0  # calls that were answered while no price was given

    def words(self) -> list[str]:
        """One line a matter."""
        lines = []
        if self.position is not None:
            lines.append(self._position_words(self.position))
        if 2 * self.ties > self.pairs:
            lines.append(f"ties: {self.ties:,} of {counted(self.pairs, 'pair')}, which put no item above another")
        if self.length is not None:
            lines.append(f"length: the longer of two won {self.length.words()}")
        if self.gold is not None:
            lines.append(f"gold: {self.gold.words()} of {counted(self.gold.count, 'known pair')} as known")
        for name, each in self.against.items():
            told = "no pair in common" if each is None else each.words()
            lines.append(f"against {name}: {told}")
        for name, count in self.problems.items():
            lines.append(f"{counted(count, 'answer')} {PROBLEMS.get(name, name)}")
        if self.lost:
            told = f"{counted(self.lost, 'request')} of this run got no answer: connection lost, or too slow"
            lines.append(f"{told}; what the server may charge for that is not known here")
        lines.append("; ".join(self._account()))
        return lines

    def _position_words(self, found: Position) -> str:
        words = f"position: first place chosen {found.first.words()}"
        if found.same is not None:
            words += f"; {found.same.words()} of pairs the same in both orders"
        if found.is_biased:
            words += f"; beyond chance: {found.first_first} pairs went to the first place both times, "
            words += f"{found.second_second} to the second (p = {found.p_value:.2g})"
        return words

    def _account(self) -> Sequence[str]:
        parts = []
        if self.repeat is not None:
            parts.append(f"repeat: {self.repeat.words()} the same")
        unread = self.problems.get("form", 0) + self.problems.get("unknown-value", 0)
        parts.append(f"not parsed {100 * unread / max(1, self.calls):.1f} %")
        parts.append(f"skipped {self.skips:,}")
        about = "about " if self.counted else ""
        spent = counted(self.calls, "call")
        if self.requests > self.calls:
            spent += f" in {self.requests:,} requests"
        if self.tokens_in or self.tokens_out:
            spent += f", {about}{_amount(self.tokens_in)} tokens in, {_amount(self.tokens_out)} out"
        if self.cost is not None:
            spent += f", cost {_money(self.cost)}"
            spent += f", beside {counted(self.unpriced, 'call')} without a price" if self.unpriced else ""
        parts.append(spent)
        return parts


def _money(cost: float) -> str:
    return f"{cost:.2g}" if 0 < cost < 0.1 else f"{cost:.2f}"


def _amount(tokens: int) -> str:
    return f"{tokens / 1e6:.1f} M" if tokens >= 1e5 else f"{tokens:,}"
