"""Ready-made ways to ask: how many questions, in how many rounds, by which algorithm."""

from __future__ import annotations

from functools import partial

import numpy as np

from podium.active.bisect import BisectOptions, Estimate, bisect, head_chance
from podium.active.features import Features
from podium.active.order import EXACT_LIMIT, exact_order
from podium.active.paper.decompose import PaperOptions, sample_and_rank
from podium.active.posterior import Posterior
from podium.active.state import Flow, Start, State
from podium.errors import InputError

__all__ = ["PRESETS", "all_pairs", "is_stable", "start_of"]

# Questions per item and bit of log2(n): what the preset asks unless a budget says otherwise.
APPETITE = {"quick": 1.8, "standard": 3.2, "thorough": 5.0, "few_rounds": 2.5}
PRESETS = ("quick", "standard", "thorough", "few_rounds", "exact", "paper")
STABLE_SHARE, STABLE_PLACES = 0.01, 0.4
FEW = 8  # rounds of few_rounds


def start_of(
    preset: str,
    n: int,
    *,
    budget: int | None = None,
    random_share: float = 0.0,
    top: int | None = None,
    features: Features | None = None,
    paper: PaperOptions | None = None,
) -> Start:
    """The algorithm of a preset, ready to be driven by an `Interview`."""
    if preset not in PRESETS:
        raise InputError(f"no preset {preset!r}; there are {', '.join(PRESETS)}")
    if paper is not None and preset != "paper":
        raise InputError(f"options of the paper's algorithm are for preset 'paper', not {preset!r}")
    if preset == "paper":
        return partial(sample_and_rank, options=paper or PaperOptions())
    if preset == "exact":
        if n > EXACT_LIMIT:
            raise InputError(f"preset 'exact' is for up to {EXACT_LIMIT} items; these are {n}: use 'thorough'")
        return all_pairs
    questions = APPETITE[preset] * np.log2(n) if budget is None else budget / n
    if preset == "few_rounds":
        per_round = questions / FEW
        options = BisectOptions(
            sort=False,
            warm=min(1.5 * per_round, (n - 1) / 4) * (1 - random_share),
            rounds=FEW,
            own=1 - random_share,
            most=int(np.ceil(per_round)) + 2,
            questions=questions,
            top=top,
        )
    else:
        until = partial(is_stable, top=top) if budget is None and preset != "thorough" else None
        options = BisectOptions(questions=questions, own=1 - random_share, top=top, until=until)
    return partial(bisect, options=options, features=features)


def all_pairs(state: State) -> Flow:
    """Ask every pair at once and return an order of least cost."""
    pairs = np.column_stack(np.triu_indices(state.n, 1))
    answers = yield pairs[state.rng.permutation(len(pairs))]
    del answers  # all are in the evidence, with those of other raters
    wins = np.zeros((state.n, state.n))
    votes = state.evidence.votes()
    np.add.at(wins, (votes.left, votes.right), votes.value)
    np.add.at(wins, (votes.right, votes.left), 1.0 - votes.value)
    return exact_order(wins)


def is_stable(posterior: Posterior | Estimate, top: int | None = None) -> bool:
    """Whether more questions would change little: the cost that the spread of places may still hide is under one per
    cent of the cost that the noise makes unavoidable, or under four tenths of a place per item
    (less with fewer than 40 items). With `top`, an item counts by its chance to be among the first so many,
    and only mistakes against four times as many are held to be unavoidable.

    An item off by a spread of s places is on the wrong side of about s/2 others, and each of these costs 1 - 2·floor.
    """
    n = len(posterior.spread)
    weight = None if top is None else head_chance(np.argsort(posterior.order), posterior.spread, top)
    hidden = 0.5 * float(np.average(posterior.spread, weights=weight)) * (1.0 - 2.0 * posterior.floor)
    others = n - 1 if top is None else min(n - 1, 4 * top)
    unavoidable = posterior.floor * others / 2 + posterior.scale * np.log(2.0)
    return bool(hidden <= STABLE_SHARE * unavoidable + STABLE_PLACES * min(1.0, n / 40))
