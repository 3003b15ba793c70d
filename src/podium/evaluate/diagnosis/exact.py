"""Votes redrawn given everyone's wins: exact tests, whatever the true scores are.

Under Bradley-Terry the win totals of the items are sufficient (ties left where they are, and with a side effect
together with the number of wins of the left side): given these, all outcomes of the single votes are equally likely,
whatever the scores. So fitted chances are the same for every redraw, and nothing is refitted.

Redraws come from a Markov chain that reverses circuits of won votes (see the kernel), by the rule of Besag and Clifford
(1989): some moves back from the votes as they are, then as many forward for each redraw. The votes and the redraws are
then exchangeable, so that a p-value is below α in at most a share α of cases however slowly the chain mixes; slow
mixing costs power only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from podium.evaluate.diagnosis.table import Table
from podium.kernels.pairwise.circuits import count_wins, reverse_circuits

__all__ = ["ExactRedraws"]

MIN_MOVES = 100
MOVES_PER_VOTE = 4
MAX_STEPS = 30_000_000  # of all walks together; beyond, each redraw is made with fewer moves
RANDOM_BLOCK = 1 << 16  # random numbers drawn at once


class ExactRedraws:
    """Tables with the same pairs, ties and wins of every item (and of the left side), all equally likely.

    `moved` is the number of moves so far that changed the votes, `redraws` how many tables were made.
    """

    def __init__(self, table: Table, keep_sides: bool) -> None:
        self.table, self.keep_sides = table, keep_sides
        wins, losses = (np.rint(each).astype(np.int64) for each in (table.wins, table.losses))
        rows = np.arange(len(table.left), dtype=np.int32)
        won = np.concatenate([np.repeat(rows, wins), np.repeat(rows, losses)])
        owner = np.concatenate([np.repeat(table.left, wins), np.repeat(table.right, losses)]).astype(np.int32)
        order = np.argsort(owner, kind="stable")
        self.owner, self.won = owner[order], won[order]
        self.start = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=table.n))]).astype(np.int64)
        self.moved = self.redraws = 0

    def draw(self, count: int, rng: np.random.Generator) -> Iterator[Table]:
        """Yield `count` redrawn tables."""
        votes, n = len(self.won), self.table.n
        steps = 5.0 + np.sqrt(n)  # of one walk, about
        moves = max(MIN_MOVES, min(MOVES_PER_VOTE * votes, int(MAX_STEPS / (steps * (count + 1)))))
        origin = self._moved(self.won, moves, rng)
        for _ in range(count):
            won = self._moved(origin, moves, rng)
            self.redraws += 1
            wins = np.zeros(len(self.table.left))
            count_wins(self.table.left, self.owner, won, wins)
            yield replace(self.table, wins=wins, losses=self.table.wins + self.table.losses - wins)

    def _moved(self, won: NDArray[np.int32], moves: int, rng: np.random.Generator) -> NDArray[np.int32]:
        """The votes after so many moves."""
        n, won = self.table.n, won.copy()
        path, step_of = np.empty(2 * n + 2, dtype=np.int64), np.full(n, -1, dtype=np.int64)
        counts = np.zeros(2, dtype=np.int64)
        left, right = self.table.left, self.table.right
        while counts[0] < moves:
            uniform = rng.random(max(min(RANDOM_BLOCK, moves * (n + 1)), 4 * (n + 1)))
            reverse_circuits(
                left, right, self.start, self.owner, won, moves - int(counts[0]), self.keep_sides, uniform, path,
                step_of, counts,
            )  # fmt: skip
        self.moved += int(counts[1])
        return won
