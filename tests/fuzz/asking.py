"""Active ranking: rankers that ask, functions that answer, planners."""

import contextlib
import pickle

import numpy as np

from fuzz import inputs
from fuzz.api import votes
from fuzz.inputs import odd, pick, value
from fuzz.learners import any_of
from fuzz.options import options
from podium.errors import InputError


def active(rng, folder):
    from podium.active import ActiveRanker, kemeny

    if rng.random() < 0.2:
        count = int(rng.integers(0, 7))
        kemeny(
            pick(rng, (inputs.array(rng, count, count), np.abs(rng.normal(size=(count, count))), votes))
            if rng.random() < 0.9
            else value(rng)
        )
        return
    items = inputs.labels(rng, int(rng.integers(0, 9)))
    ranker = ActiveRanker(items, **({"seed": 1} | options(rng, ActiveRanker, share=0.2, skip=("paper",))))
    for _ in range(int(rng.integers(1, 6))):
        if ranker.done:
            break
        pairs = ranker.ask(pick(rng, (1, 3, None, value(rng)) if rng.random() < 0.1 else (1, 3, None)))
        answers = [pick(rng, (1, 0, 0.5, None, True) if rng.random() < 0.98 else (2, "x", float("nan"))) for _ in pairs]
        ranker.tell(pairs, answers, pick(rng, (None, "ann", "bob")))
        if rng.random() < 0.2:
            ranker.undo()
    ranker.ranks(), str(ranker.summary()), ranker.ranking_.order
    if rng.random() < 0.4:
        rows = [dict(row) for row in ranker.log]
        if rng.random() < 0.5:
            spoilt = pick(rng, rows)
            spoilt[pick(rng, list(spoilt))] = value(rng)
        ActiveRanker.replay(items, rows).ranks()


def with_oracle(rng, folder):
    from podium.active import rank_with
    from podium.active.oracles import FunctionOracle, MatrixOracle, Simulated

    items = inputs.labels(rng, int(rng.integers(0 if odd(rng, 0.2) else 2, 9)))
    place = {id(item): k for k, item in enumerate(items)}
    count = len(items)

    def answer(a, b):
        return value(rng) if odd(rng, 0.02) else place.get(id(a), 0) < place.get(id(b), 0)

    square = np.triu(np.ones((count, count)), 1)
    oracles = [answer, lambda a, b: 0.5, lambda a, b: None, lambda a, b: bool(rng.integers(2))]
    if odd(rng, 0.5):
        oracles = [value(rng), MatrixOracle(any_of(rng, (square, inputs.array(rng, count, count))))]
    elif count > 1 and rng.random() < 0.5:
        oracles = [Simulated(count, seed=1), MatrixOracle(square), FunctionOracle(answer, items)]
    chosen = {"seed": 1} | options(rng, __import__("podium").active.ActiveRanker, share=0.1, skip=("paper", "items"))
    ranker = rank_with(pick(rng, oracles), items, max_pairs=any_of(rng, (None, 1, 3), 0.2), **chosen)
    _ = ranker.ranks(), str(ranker.summary()), ranker.ranking_.order, ranker.tiers_, list(ranker.log)
    for look in (lambda: ranker.comparisons, lambda: ranker.check_comparisons, ranker.check_scores):
        with contextlib.suppress(InputError):  # check pairs are few, or none
            look()


def planner(rng, folder):
    from podium.active import Planner

    count = int(rng.integers(0 if odd(rng, 0.2) else 2, 9))
    made = Planner(any_of(rng, (count, list(range(count))), 0.1), **({"seed": 1} | options(rng, Planner, share=0.2)))
    pairs = [[0, 1]] if rng.random() < 0.2 else []
    for _ in range(int(rng.integers(1, 6))):
        asked = made.plan(
            any_of(rng, (1, 3, 8), 0.1), out=any_of(rng, ((), pairs), 0.1), tired=any_of(rng, ((), pairs), 0.1),
            judge=any_of(rng, (None, 0, 1), 0.1),
        )  # fmt: skip
        told = [any_of(rng, (1, 0, 0.5, float("nan")), 0.05) for _ in range(len(asked))]
        judge = any_of(rng, (0, 1, [1] * len(asked)), 0.1)
        kind = any_of(rng, (None, asked.kind, asked.kinds), 0.1)
        tell = made.load if rng.random() < 0.1 else made.tell
        tell(
            any_of(rng, (asked.left,), 0.05), any_of(rng, (asked.right,), 0.05), any_of(rng, (told,), 0.1), judge, kind
        )
    _ = asked.pairs, len(made), made.tally, made.round_size, made.partial, made.prior, made.scores, made.models
    _ = made.settled, made.finished, made.order(any_of(rng, ("truth", "answers"), 0.2)), made.bands()
    made.half_widths(), str(made.summary()), pickle.loads(pickle.dumps(made)).order()


def targets():
    return {"active": active, "with_oracle": with_oracle, "planner": planner}
