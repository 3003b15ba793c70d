"""How much one visitor may ask for: requests a second, wrong links a minute, votes a day. In memory, per process."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Hashable

__all__ = ["PerDay", "Rate", "TooManyError"]

MOST_KNOWN = 50_000  # visitors remembered; whoever was silent longest is forgotten first
DAY = 24 * 60 * 60


class TooManyError(Exception):
    """A visitor asked for too much; `wait` seconds from now there is room again."""

    def __init__(self, wait: float, message: str) -> None:
        super().__init__(message)
        self.wait = wait


class Rate:
    """At most `most` in `seconds`, counted per visitor, with the times of the last ones kept.

    >>> clock = iter([0.0, 0.5, 0.6, 1.1]).__next__
    >>> rate = Rate(2, 1.0, clock)
    >>> [rate.wait("ann") for _ in range(4)]
    [0.0, 0.0, 0.4, 0.0]
    """

    def __init__(self, most: int, seconds: float, clock: Callable[[], float]) -> None:
        self.most, self.seconds, self.clock = most, seconds, clock
        self._times: OrderedDict[Hashable, deque[float]] = OrderedDict()

    def wait(self, visitor: Hashable) -> float:
        """Count one more; the seconds until there is room again where there is none, else 0."""
        now = self.clock()
        times = self._times.get(visitor)
        if times is None:
            times = self._times[visitor] = deque()
            if len(self._times) > MOST_KNOWN:
                self._times.popitem(last=False)
        else:
            self._times.move_to_end(visitor)
        while times and now - times[0] >= self.seconds:
            times.popleft()
        if len(times) >= self.most:
            return times[0] + self.seconds - now
        times.append(now)
        return 0.0

    def full(self, visitor: Hashable) -> float:
        """The seconds until there is room, without counting one."""
        times = self._times.get(visitor)
        now = self.clock()
        recent = [at for at in times or () if now - at < self.seconds]
        return recent[0] + self.seconds - now if len(recent) >= self.most else 0.0


class PerDay:
    """At most `most` a day for each visitor; days begin at midnight, UTC."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._day = -1
        self._counts: dict[Hashable, int] = {}

    def take(self, visitor: Hashable, count: int, now: int) -> bool:
        """Count `count` more, at `now` in milliseconds; whether there was room for them."""
        day = now // (DAY * 1000)
        if day != self._day:
            self._day, self._counts = day, {}
        had = self._counts.get(visitor, 0)
        if had + count > self.most:
            return False
        self._counts[visitor] = had + count
        return True
