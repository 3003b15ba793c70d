"""Plain sorts by asking: no defence against mistakes, no question beyond the sort."""

from __future__ import annotations

import numpy as np

from podium.active.paper.interview import Interview
from podium.active.paper.quicksort import quicksort as asking_quicksort

MOST_RUNS = 40


def quicksort(judge, questions, seed):
    """Random pivots. Returns the order and the questions used."""
    interview = Interview(judge.n, asking_quicksort, seed=seed)
    while not interview.done:
        pairs = interview.ask()
        interview.tell(pairs, judge.answer(pairs))
    return interview.order, interview.asked


def mergesort(judge, questions, seed):
    """Bottom-up merges from a random order."""
    asked = 0

    def before(u, v):
        nonlocal asked
        asked += 1
        return judge.answer(np.array([[u, v]]))[0] > 0.5

    runs = [[int(u)] for u in np.random.default_rng(seed).permutation(judge.n)]
    while len(runs) > 1:
        merged = []
        for k in range(0, len(runs) - 1, 2):
            left, right, out = runs[k], runs[k + 1], []
            i = j = 0
            while i < len(left) and j < len(right):
                if before(left[i], right[j]):
                    out.append(left[i])
                    i += 1
                else:
                    out.append(right[j])
                    j += 1
            merged.append(out + left[i:] + right[j:])
        runs = merged + ([runs[-1]] if len(runs) % 2 else [])
    return np.array(runs[0]), asked


def repeated(sort):
    """Ranks of a sort repeated from other random starts as long as the questions last, then averaged."""

    def ranks(judge, budgets, seed):
        """Yield the mean order after each number of questions, None before the first sort has ended.

        A consistent judge is not asked the same pair twice: what is known costs nothing.
        """
        total, asked, runs, last = np.zeros(judge.n), 0, 0, None
        known = _Known(judge)
        for budget in budgets:
            while runs < MOST_RUNS:
                if last is None:
                    last, _ = sort(known, budget, 1000 * seed + runs)
                    asked = known.asked
                if asked > budget:
                    break
                total += np.argsort(last)
                runs, last = runs + 1, None
            yield np.argsort(total, kind="stable") if runs else None

    return ranks


class _Known:
    """A judge who is asked each pair once if that is of use only once; counts what is asked."""

    def __init__(self, judge):
        self.judge, self.n, self.asked, self._said = judge, judge.n, 0, {}

    def answer(self, pairs):
        return np.array([self._one(int(u), int(v)) for u, v in pairs])

    def _one(self, u, v):
        if self.judge.persistent and (u, v) in self._said:
            return self._said[u, v]
        self.asked += 1
        said = float(self.judge.answer(np.array([[u, v]]))[0])
        self._said[u, v], self._said[v, u] = said, 1.0 - said
        return said
