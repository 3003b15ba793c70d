"""How much is asked and in which way, and how far a run is."""

from __future__ import annotations

from dataclasses import dataclass

from podium.active.presets import APPETITE, questions_of
from podium.errors import InputError
from podium.judge.limits import MOST_OUT, check_number, check_whole
from podium.judge.verdict import Verdict

__all__ = ["Progress", "Settings"]

CALIBRATION = 40  # random pairs, asked in both orders before the planner starts


@dataclass(frozen=True, slots=True)
class Settings:
    """How much is asked, and in which way; see `judge_pairs`."""

    preset: str = "standard"
    budget: int | None = None
    max_calls: int | None = None
    max_cost: float | None = None
    price_in: float | None = None
    price_out: float | None = None
    concurrency: int = 16
    one_order: bool = False
    repeat: float = 0.0
    anyway: bool = False
    calibration: int = CALIBRATION
    keep_prompts: bool = False
    seed: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.preset, str) or self.preset not in APPETITE:
            raise InputError(f"preset {self.preset!r:.50} is unknown; there are {', '.join(APPETITE)}")
        check_whole("budget", self.budget, optional=True)
        check_whole("max_calls", self.max_calls, optional=True)
        check_whole("concurrency", self.concurrency, most=MOST_OUT)
        for name in ("max_cost", "price_in", "price_out"):
            check_number(name, getattr(self, name), optional=True)
        check_number("repeat", self.repeat, high=1.0)
        seed = self.seed
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63):
            raise InputError(f"seed is {seed!r:.50}; give a whole number from 0 to 2**63 - 1")

    def most_pairs(self, items: int) -> int:
        """Pairs to ask about at most; one call says less than two, so one order takes twice as many."""
        if self.budget is not None:
            return self.budget
        return min(items * (items - 1) // 2, (2 if self.one_order else 1) * questions_of(self.preset, items, None))

    @property
    def is_priced(self) -> bool:
        """Whether it is known what calls cost."""
        return self.price_in is not None or self.price_out is not None

    def cost(self, verdict: Verdict) -> float | None:
        """What a call cost."""
        if not self.is_priced:
            return None
        spent = (verdict.tokens_in or 0) * (self.price_in or 0.0) + (verdict.tokens_out or 0) * (self.price_out or 0.0)
        return spent / 1e6


@dataclass(slots=True)
class Progress:
    """Where a run is; the numbers of earlier runs included."""

    pairs: int = 0
    limit: int = 0
    calls: int = 0
    here: int = 0  # calls of this run
    out: int = 0
    lost: int = 0  # requests of this run that got no answer
    skips: int = 0
    same: int = 0
    both: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    until_stable: int | None = None
    calibrating: bool = False
    orders: int = 2  # calls a pair
    agreed: float | None = None  # share of check pairs that went as the order predicted
