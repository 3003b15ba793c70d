"""The one seam to the planner: a campaign's votes and settings in, a loaded `Planner` out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from podium.active.planner import Planner
from podium.campaign.live import Live
from podium.campaign.options import Options
from podium.store.values import KINDS, Item

__all__ = ["LEVEL", "PLANNER_KINDS", "loaded_planner"]

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
