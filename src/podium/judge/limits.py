"""How many calls, and how fast: requests and tokens a minute, and calls out at a time. Pure: the time is passed in."""

from __future__ import annotations

import email.utils
import math
from typing import Any

from podium.errors import InputError

__all__ = ["MOST_OUT", "Crowd", "Pace", "check_number", "check_whole", "retry_after"]

MOST_OUT = 1000  # calls at a time
MINUTE = 60.0
MAX_RETRY_AFTER = 600.0  # seconds


def check_whole(name: str, value: Any, *, optional: bool = False, most: int = 2**31 - 1) -> None:
    """Refuse what is no whole number from 1 on."""
    if optional and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise InputError(f"{name} is {value!r:.50}; give a whole number from 1 to {most:,}")


def check_number(name: str, value: Any, *, optional: bool = False, low: float = 0.0, high: float = 1e12) -> None:
    """Refuse what is no number between two bounds."""
    if optional and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InputError(f"{name} is {value!r:.50}; give a number from {low:g} to {high:g}")


class Pace:
    """At most so many a minute, evenly: each reservation says how long to wait for its turn."""

    def __init__(self, per_minute: float | None) -> None:
        self.per_minute = per_minute
        self._free = -math.inf  # when the next turn is

    def wait(self, now: float, amount: float = 1.0) -> float:
        """Reserve `amount`, and return the seconds until its turn."""
        if self.per_minute is None:
            return 0.0
        turn = max(now, self._free)
        self._free = turn + amount * MINUTE / self.per_minute
        return turn - now

    def correct(self, reserved: float, used: float) -> None:
        """What was reserved turned out to be another amount."""
        if self.per_minute is not None and self._free > -math.inf:
            self._free += (used - reserved) * MINUTE / self.per_minute


class Crowd:
    """Calls that may be out at a time: halved when the server says it is too much, one more after each minute."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._limit = float(most)
        self._since = -math.inf

    def limit(self, now: float) -> int:
        """How many may be out now."""
        if self._limit >= self.most:
            return self.most
        return int(min(self.most, self._limit + max(0.0, now - self._since) // MINUTE))

    def too_much(self, now: float, sent: float) -> None:
        """A call that was sent at `sent` was refused; those sent before the last halving say nothing new."""
        if sent >= self._since:
            self._limit = max(1.0, self.limit(now) // 2)
            self._since = now


def retry_after(value: str | None, now: float) -> float | None:
    """Seconds that a server asks to wait, given as seconds or as a date; None where it says nothing we can read.

    >>> retry_after("2.5", 0.0)
    2.5
    >>> retry_after("Thu, 01 Jan 1970 00:01:00 GMT", 50.0)
    10.0
    """
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER) if math.isfinite(seconds) else None
