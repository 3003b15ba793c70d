"""One driver for every algorithm that asks: hand out pairs, take answers in any order, replay."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from podium.active.paper.state import NO_PAIRS, Flow, Start, State
from podium.active.paper.votes import Votes

__all__ = ["Asked", "Interview", "Told"]

TAIL = 0.25  # share of a batch that may still be open when the algorithm goes on without it
IDLE = 50  # times in a row that an algorithm may ask for nothing but skipped pairs before it is ended


@dataclass(frozen=True, slots=True)
class Asked:
    """An event: questions were asked for. `digest` is a checksum of the pairs that were handed out."""

    max_pairs: int | None
    digest: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Told:
    """An event: answers came in. Row k: values[k] (1, 0.5, 0, nan for a skip) of judge judges[k] on pairs[k].

    `times` is whatever the caller wants to keep with the rows; nothing here reads it.
    """

    pairs: np.ndarray
    values: np.ndarray
    judges: np.ndarray
    times: tuple[Any, ...] | None = None


@dataclass(slots=True)
class _Batch:
    """What the algorithm waits for, and what of it still has to be handed out."""

    pairs: np.ndarray
    keys: np.ndarray
    queue: np.ndarray  # pairs to hand out, check pairs among them
    version: int  # of the votes when the queue was laid out
    handed: int = 0


@dataclass(slots=True)
class CheckPairs:
    """Random pairs asked to measure, not to sort: drawn uniformly, asked where there is no answer yet."""

    share: float
    rng: np.random.Generator
    owed: float = 0.0
    keys: list[int] = field(default_factory=list)
    predicted: list[int] = field(default_factory=list)  # places from the lower to the higher code, before the answer

    def draw(self, count: int, state: State, taken: np.ndarray) -> np.ndarray:
        """Pairs to go with `count` questions, in the share asked for, none of them among the keys `taken`."""
        self.owed += count * self.share / (1.0 - self.share)
        wanted = int(self.owed)
        self.owed -= wanted
        n = state.n
        room = n * (n - 1) // 2 - state.votes.distinct - len(taken)
        wanted = min(wanted, room // 2)  # a few pairs are left: no use in guessing for them
        place = np.empty(n, dtype=np.int64)
        place[state.order] = np.arange(n)
        pairs = NO_PAIRS
        while len(pairs) < wanted:
            tries = self.rng.integers(0, n, size=(2 * (wanted - len(pairs)) + 8, 2))
            tries = tries[tries[:, 0] != tries[:, 1]]
            keys = state.votes.keys(tries)
            new = ~state.votes.closed(keys) & ~np.isin(keys, taken)
            new &= np.isin(np.arange(len(keys)), np.unique(keys, return_index=True)[1])
            some = np.flatnonzero(new)[: wanted - len(pairs)]
            taken = np.concatenate([taken, keys[some]])
            pairs = np.concatenate([pairs, tries[some]])
            self.keys.extend(keys[some].tolist())
            self.predicted.extend((place[keys[some] % n] - place[keys[some] // n]).tolist())
        return pairs


class Interview:
    """Drive an algorithm by `ask` and `tell`; its state is a function of the seed and the list of events.

    Parameters
    ----------
    n : int
        Items are 0 … n - 1 here.
    start : callable
        Given a `State`, the algorithm: a generator that yields pairs and is sent answers.
    seed : int
    budget : int, optional
        Most distinct pairs to ask.
    random_share : float
        Share of the questions that are uniformly random check pairs.

    Examples
    --------
    >>> from podium.active.paper.quicksort import quicksort
    >>> interview = Interview(4, quicksort, seed=1)
    >>> while not interview.done:
    ...     pairs = interview.ask()
    ...     contradictions = interview.tell(pairs, pairs[:, 0] < pairs[:, 1])
    >>> interview.order.tolist()
    [0, 1, 2, 3]
    """

    def __init__(
        self, n: int, start: Start, *, seed: int, budget: int | None = None, random_share: float = 0.0
    ) -> None:
        self.n = n
        self.start = start
        self.seed = seed
        self.budget = n * (n - 1) // 2 if budget is None else budget
        self.random_share = random_share
        self._begin()

    def _begin(self) -> None:
        asking, checking = np.random.SeedSequence(self.seed).spawn(2)
        self.state = State(self.n, np.random.default_rng(asking))
        self.checks = CheckPairs(self.random_share, np.random.default_rng(checking))
        self.events: list[Asked | Told] = []
        self.rounds = 0
        self.contradictions = 0
        self._asked: list[np.ndarray] = []  # keys handed out, never one of them twice
        self.asked = 0  # distinct pairs handed out
        self._open = NO_PAIRS  # handed out, not answered: key, and left·n + right as shown
        self._flow: Flow = self.start(self.state)
        self._finished = False
        self._idle = 0
        self._batch = self._next(None)
        self._settle()

    @property
    def votes(self) -> Votes:
        return self.state.votes

    @property
    def order(self) -> np.ndarray:
        """The algorithm's best order so far, codes, best first."""
        return self.state.order

    @property
    def unasked_answers(self) -> int:
        """Distinct pairs that were answered without having been asked."""
        return self.votes.distinct - sum(int(self.votes.closed(keys).sum()) for keys in self._asked)

    @property
    def finished(self) -> bool:
        """The algorithm itself has come to its end."""
        return self._finished

    @property
    def done(self) -> bool:
        """No question is left: the algorithm has its order, or the budget is spent and answered."""
        if len(self._open):
            return False
        return self._finished or self.asked >= self.budget

    def ask(self, max_pairs: int | None = None) -> np.ndarray:
        """Return up to `max_pairs` pairs (all that can be put at once if omitted) to show, left and right.

        Pairs handed out before come again only when nothing else is left: the algorithm goes on without the last
        quarter of a batch, and answers that come later are still used.
        """
        pairs = self._pairs_to_show(max_pairs)
        self.events.append(Asked(max_pairs, f"{zlib.crc32(pairs.astype('<i8').tobytes()):08x}"))
        return pairs

    def _pairs_to_show(self, max_pairs: int | None) -> np.ndarray:
        while not self._finished and self.asked < self.budget:
            pairs = self._hand_out(self._batch, max_pairs)
            if len(pairs):
                return pairs
            waiting = np.count_nonzero(np.isin(self._batch.keys, self._open[:, 0]))
            if waiting > TAIL * len(self._batch.pairs):
                break
            self._batch = self._next(self._batch)
            self._settle()
        again = self._open[:max_pairs, 1]
        return np.column_stack([again // self.n, again % self.n])

    def _hand_out(self, batch: _Batch, max_pairs: int | None) -> np.ndarray:
        """The next pairs of the queue that are still without an answer, within the budget."""
        room = self.budget - self.asked
        most = room if max_pairs is None else min(room, max_pairs)
        parts: list[np.ndarray] = []
        count = 0
        while count < most and batch.handed < len(batch.queue):
            pairs = batch.queue[batch.handed : batch.handed + most - count]
            batch.handed += len(pairs)
            keys = self.votes.keys(pairs)
            if self.votes.version != batch.version:  # answers came in meanwhile, perhaps to these
                fresh = ~self.votes.closed(keys)
                pairs, keys = pairs[fresh], keys[fresh]
            parts.append(pairs)
            count += len(pairs)
            self._asked.append(keys)
            self._open = np.concatenate([self._open, np.column_stack([keys, pairs[:, 0] * self.n + pairs[:, 1]])])
        self.asked += count
        return np.concatenate(parts) if parts else NO_PAIRS

    def _settle(self) -> None:
        """Let the algorithm go on while all it waits for is answered or skipped."""
        while not self._finished and not len(self._open):
            batch = self._batch
            rest = batch.queue[batch.handed :]
            if not self.votes.closed(self.votes.keys(rest)).all():
                return
            self._batch = self._next(batch)

    def _next(self, batch: _Batch | None) -> _Batch:
        """Send the answers of `batch` to the algorithm and lay out what it asks next."""
        try:
            if batch is None:
                pairs = next(self._flow)
            else:
                answers = self.votes.answers(batch.pairs)
                self._idle = 0 if len(batch.queue) or not np.isnan(answers).any() else self._idle + 1
                if self._idle > IDLE:
                    return self._end(self.state.order)
                self.rounds += len(batch.queue) > 0
                pairs = self._flow.send(answers)
        except StopIteration as end:
            return self._end(np.asarray(end.value, dtype=np.int64))
        keys, first = np.unique(self.votes.keys(pairs), return_index=True)
        new = ~self.votes.closed(keys)
        if len(self._open):
            new &= ~np.isin(keys, self._open[:, 0])
        queue = pairs[np.sort(first[new])]
        if self.checks.share > 0 and len(queue):
            taken = np.concatenate([self._open[:, 0], self.votes.keys(queue)])
            checks = self.checks.draw(len(queue), self.state, taken)
            place = self.checks.rng.integers(0, len(queue) + 1, size=len(checks))
            queue = np.insert(queue, place, checks, axis=0)
        turned = self.checks.rng.random(len(queue)) < 0.5  # neither side may have the better seat
        queue = np.where(turned[:, None], queue[:, ::-1], queue)
        return _Batch(pairs, self.votes.keys(pairs), queue, self.votes.version)

    def _end(self, order: np.ndarray) -> _Batch:
        self.state.order = order
        self._finished = True
        return _Batch(NO_PAIRS, np.zeros(0, dtype=np.int64), NO_PAIRS, self.votes.version)

    def tell(
        self,
        pairs: np.ndarray,
        values: np.ndarray,
        judges: np.ndarray | None = None,
        times: tuple[Any, ...] | None = None,
    ) -> list[int]:
        """Take answers, also to pairs that were not asked; return the rows that contradict the same judge."""
        pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
        values = np.asarray(values, dtype=np.float64)
        judges = np.zeros(len(pairs), dtype=np.int64) if judges is None else np.asarray(judges, dtype=np.int64)
        self.events.append(Told(pairs, values, judges, times))
        changed = self.votes.tell(pairs, values, judges)
        self.contradictions += len(changed)
        self._open = self._open[~self.votes.closed(self._open[:, 0])]
        self._settle()
        return changed

    def undo(self, judge: int | None = None) -> tuple[int, int] | None:
        """Take back the last answer (of `judge`): everything is as if it had not been given. Returns its pair."""
        for number in range(len(self.events) - 1, -1, -1):
            event = self.events[number]
            if not isinstance(event, Told):
                continue
            rows = np.arange(len(event.pairs)) if judge is None else np.flatnonzero(event.judges == judge)
            if len(rows):
                keep = np.arange(len(event.pairs)) != rows[-1]
                times = event.times and tuple(t for t, kept in zip(event.times, keep, strict=True) if kept)
                rest = Told(event.pairs[keep], event.values[keep], event.judges[keep], times)
                events = [*self.events[:number], *([rest] if keep.any() else []), *self.events[number + 1 :]]
                self.replay(events)
                return int(event.pairs[rows[-1], 0]), int(event.pairs[rows[-1], 1])
        return None

    def replay(self, events: list[Asked | Told]) -> None:
        """Begin anew and repeat `events`: the same seed and events give the same state."""
        self._begin()
        for event in events:
            if isinstance(event, Asked):
                self.ask(event.max_pairs)
            else:
                self.tell(event.pairs, event.values, event.judges, event.times)
