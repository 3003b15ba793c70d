"""Votes at the edge of what can be ranked: every ranker gives a right answer, or says in a sentence why not."""

import warnings

import numpy as np
import pandas as pd
import pytest

from podium import (
    RABF,
    BradleyTerry,
    Comparisons,
    CrowdBradleyTerry,
    DynamicBradleyTerry,
    Elo,
    LeastSquares,
    OnlineRABF,
)
from podium.errors import InputError, PodiumError, PodiumWarning

RANKERS = {
    "BradleyTerry": lambda votes: BradleyTerry().fit(votes),
    "Davidson": lambda votes: BradleyTerry(ties="davidson").fit(votes),
    "side": lambda votes: BradleyTerry(side_effect=True).fit(votes),
    "RABF": lambda votes: RABF().fit(votes),
    "RABF, features that are all alike": lambda votes: RABF().fit(votes, np.ones((len(votes.items), 2))),
    "RABF, side": lambda votes: RABF(side_effect=True).fit(votes),
    "crowd": lambda votes: CrowdBradleyTerry().fit(votes),
    "crowd, leans": lambda votes: CrowdBradleyTerry(side_effect=True).fit(votes),
    "dynamic": lambda votes: DynamicBradleyTerry().fit(votes),
    "dynamic, side": lambda votes: DynamicBradleyTerry(side_effect=True).fit(votes),
    "least squares": lambda votes: LeastSquares().fit(votes),
}

LEFT, RIGHT = np.array([0, 0, 1, 0, 0, 1, 2, 1]), np.array([1, 2, 2, 1, 2, 2, 0, 0])
WON = np.array([1, 1, 1, 1, -1, 1, -1, 1], dtype=np.int8)  # 0 wins 5 of 6, 1 three of 5, 2 one of 6


def votes(left=LEFT, right=RIGHT, outcome=WON, judge=None, weight=None):
    judge = np.arange(len(left)) % 2 if judge is None else judge
    return Comparisons(
        tuple("abc"[: int(max(left.max(), right.max())) + 1]), left, right, outcome=outcome, sided=True, weight=weight,
        time=np.arange(len(left)) * 1.0, judge=judge, judges=tuple(f"j{k}" for k in range(int(judge.max()) + 1)),
    )  # fmt: skip


CASES = {
    "one judge": votes(judge=np.zeros(8, int)),
    "judges with one vote each": votes(judge=np.arange(8)),
    "all ties": votes(outcome=np.zeros(8, np.int8)),
    "the first item only wins": votes(outcome=np.where(LEFT == 0, 1, np.where(RIGHT == 0, -1, WON)).astype(np.int8)),
    "two items": votes(LEFT[:4] * 0, LEFT[:4] * 0 + 1, WON[4:]),
    "one vote": votes(LEFT[:1], RIGHT[:1], WON[:1], np.zeros(1, int)),
    "a weight of 1e-300": votes(weight=np.where(np.arange(8) == 4, 1e-300, 1.0)),
}
BEST = {"one judge": "a", "judges with one vote each": "a", "the first item only wins": "a", "a weight of 1e-300": "a"}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ranker", RANKERS)
def test_a_right_answer_or_a_sentence(ranker, case):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", PodiumWarning)
        try:
            ranking, sentence = RANKERS[ranker](CASES[case]).ranking_, ""
            lower, upper = ranking.intervals(0.95)
        except PodiumError as problem:
            sentence = str(problem)
    if sentence:
        assert "\n" not in sentence
        return
    assert np.isfinite(ranking.scores).all()
    if case == "all ties":
        assert np.ptp(ranking.scores) == pytest.approx(0.0, abs=1e-6)
    elif case in BEST:
        assert ranking.order[0] == BEST[case]
    assert np.all(lower <= ranking.scores + 1e-9)
    assert np.all(ranking.scores <= upper + 1e-9)


@pytest.mark.parametrize("ranker", [Elo, OnlineRABF])
@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA, pd.NaT, "", "  "])
def test_a_single_vote_names_both_items(ranker, nothing):
    """As every row of a file must: a NaN is no other NaN's equal, and would be a new item each time."""
    model = ranker().update("tea", "milk")
    for role, pair in (("winner", (nothing, "milk")), ("loser", ("tea", nothing))):
        with pytest.raises(InputError, match=f"{role} is missing"):
            model.update(*pair)
    assert model.ranking_.items == ("tea", "milk")
