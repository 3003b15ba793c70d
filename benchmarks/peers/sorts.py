"""Plain sorts by asking: no defence against mistakes, no question beyond the sort."""

from __future__ import annotations

import numpy as np

from podium.active.paper.interview import Interview
from podium.active.paper.quicksort import quicksort as asking_quicksort


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
