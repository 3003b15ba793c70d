"""The one seam to the planner: a campaign's votes and settings in, a loaded `Planner` out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.active.planner import Planner
from podium.campaign.live import Live
from podium.campaign.options import Options
from podium.store.values import KINDS, Item

__all__ = ["LEVEL", "PLANNER_KINDS", "RANKS", "RANK_TYPE", "loaded_planner", "predicted", "ranks_by_code"]

RANKS, RANK_TYPE = "ranks", "<i4"  # how the order of the last plan is kept: by code, -1 for an item that is not in it

LEVEL = 0.9  # of the planner's bands
PLANNER_KINDS = ("chosen", "check", "repeat")
# What is gold or imported was not chosen by the planner, but tells as much as what was.
KIND_CODES = np.array([PLANNER_KINDS.index(kind) if kind in PLANNER_KINDS else 0 for kind in KINDS])


def loaded_planner(items: Sequence[Item], live: Live, options: Options, seed: int, plans: int = 0) -> Planner:
    """The planner of a campaign with the votes that count; `plans` is how many plans were made before.

    Skips are not told: who skipped a pair is not asked again, and what many skipped is given as tired.
    """
    rows = [item.features for item in items]
    width = {None if row is None else len(row) for row in rows}
    features = np.array(rows, dtype=np.float64) if len(width) == 1 and None not in width else None
    goal = options.goal if options.top is None or options.top < len(items) else "order"
    planner = Planner(len(items), seed=seed, goal=goal, random_share=options.check_share, features=features)
    planner.plans = plans
    planner.load(live.left, live.right, live.value, live.judge, KIND_CODES[live.kind])
    return planner


def ranks_by_code(planner: Planner, live: Live) -> NDArray[np.int32]:
    """The rank of each item in the planner's order, from 0; nothing where no vote tells."""
    ranks = np.full(int(live.codes.max(initial=-1)) + 1 if len(live) else 0, -1, dtype=RANK_TYPE)
    if len(live):
        ranks[live.codes[planner.order()]] = np.arange(len(live.codes))
    return ranks


def predicted(ranks: NDArray[np.int32], left: int, right: int) -> float | None:
    """1 where the left item is ahead, 0 where the right one is, None where one of them is not in the order."""
    if max(left, right) >= len(ranks) or min(ranks[left], ranks[right]) < 0:
        return None
    return float(ranks[left] < ranks[right])
