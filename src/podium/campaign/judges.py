"""How judges judge: pace, agreement with the rest, consistency, sides; and the order without one of them."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.campaign.live import Live, live_votes
from podium.campaign.standing import Share, share, standing
from podium.errors import PodiumError, PodiumWarning
from podium.store.content import Content
from podium.store.values import Judge

__all__ = ["JudgeReport", "Moved", "judge_reports", "without_judge"]


VERDICTS = {
    "chance": "significantly less reliable than half the median judge, and not shown to be better than coin flips",
    "contrary": "significantly worse than coin flips: likely the wrong way round",
}  # what a flag of `CrowdBradleyTerry` says


@dataclass(frozen=True, slots=True)
class JudgeReport:
    """A judge in numbers; None where there is nothing to tell from.

    Attributes
    ----------
    votes, skips : int
        Rows that stand.
    seconds : float
        Median time of a vote.
    agreement : Share
        Of the votes on check pairs, those that the order of all *other* judges' votes predicts.
    consistency : Share
        Of the pairs answered twice, those answered alike.
    gold : Share
        Of the pairs whose answer is known, those answered so.
    left : Share
        How often the left side was chosen; about half where nothing is amiss.
    longest_run : int
        Votes for the same side in a row, at most.
    flag : str
        Sentences: whether one side was chosen more often than chance explains, and what `CrowdBradleyTerry` makes of
        the judge.
    """

    judge: Judge
    votes: int
    skips: int
    seconds: float | None
    agreement: Share | None
    consistency: Share | None
    gold: Share | None
    left: Share | None
    longest_run: int
    flag: str | None


@dataclass(frozen=True, slots=True)
class Moved:
    """An item's place with and without a judge; None where it has none."""

    item: str
    before: int | None
    after: int | None


def judge_reports(content: Content, ms: NDArray[np.int64]) -> list[JudgeReport]:
    """Every judge, excluded ones too; `ms` is how long each row of the log took, -1 where unknown."""
    shown = [each.id for each in content.judges if each.state == "excluded"]
    everybody = live_votes(_restored(content))
    skipped = content.votes.skipped()
    flags = _flags(everybody, content)
    reports = []
    for judge in content.judges:
        mine = everybody.judge == judge.id
        times = ms[everybody.rows[mine]]
        times = times[times >= 0]
        value = everybody.value[mine]
        decided = value[value != 0.5]
        rest = ~mine & ~np.isin(everybody.judge, shown)
        reports.append(
            JudgeReport(
                judge=judge,
                votes=int(mine.sum()),
                skips=int((skipped & (content.votes.judge == judge.id)).sum()),
                seconds=float(np.median(times)) / 1000 if len(times) else None,
                agreement=_agreement_with(everybody, mine & everybody.of_kind("check"), rest),
                consistency=_consistency(everybody, mine),
                gold=_gold(everybody, mine),
                left=share(decided),
                longest_run=_longest_run(value),
                flag=_sentences(
                    None if judge.kind == "import" else _leaning(decided, len(content.judges)),
                    VERDICTS.get(flags.get(judge.id, "")),
                ),
            )
        )
    return reports


def without_judge(content: Content, judge: int) -> list[Moved]:
    """The order with the judge and without, side by side; whether the judge is excluded now does not matter."""
    whole = _restored(content, judge)
    before = {each.item: each.place for each in standing(whole).places}
    after = {each.item: each.place for each in standing(whole, without=[judge]).places}
    items = sorted(before, key=lambda item: before[item]) or sorted(after, key=lambda item: after[item])
    return [Moved(item, before.get(item), after.get(item)) for item in items]


def _restored(content: Content, *judges: int) -> Content:
    """The campaign as if these judges (or all) had not been excluded."""
    back = [replace(each, state="active") if not judges or each.id in judges else each for each in content.judges]
    return replace(content, judges=back)


def _agreement_with(live: Live, asked: NDArray[np.bool_], rest: NDArray[np.bool_]) -> Share | None:
    if not asked.any() or not rest.any():
        return None
    scores = _scores(live, rest)
    if scores is None:
        return None
    ahead = scores[live.left[asked]] - scores[live.right[asked]]
    value = live.value[asked]
    return share(np.where(ahead > 0, value, 1.0 - value)[ahead != 0])


def _scores(live: Live, kept: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    from podium.data.comparisons import Comparisons
    from podium.pairwise.bradley_terry import BradleyTerry

    outcome = np.sign(2 * live.value[kept] - 1).astype(np.int8)
    codes = live.left[kept].astype(np.int32), live.right[kept].astype(np.int32)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PodiumWarning)
            ranking = BradleyTerry(l2=0.1).fit(Comparisons(range(len(live.codes)), *codes, outcome=outcome)).ranking_
    except PodiumError:
        return None
    return np.asarray(ranking.scores, dtype=np.float64)


def _consistency(live: Live, mine: NDArray[np.bool_]) -> Share | None:
    """Each second answer to a pair against the first."""
    first: dict[tuple[int, int], float] = {}
    same = []
    for left, right, value in zip(
        live.left[mine].tolist(), live.right[mine].tolist(), live.value[mine].tolist(), strict=True
    ):
        key, points = ((left, right), value) if left < right else ((right, left), 1.0 - value)
        if key in first:
            same.append(float(first[key] == points))
        else:
            first[key] = points
    return share(np.array(same))


def _gold(live: Live, mine: NDArray[np.bool_]) -> Share | None:
    kept = mine & live.of_kind("gold") & ~np.isnan(live.predicted)
    value = live.value[kept]
    return share(np.where(live.predicted[kept] > 0.5, value, 1.0 - value))


def _longest_run(value: NDArray[np.float64]) -> int:
    decided = value[value != 0.5]
    if not len(decided):
        return 0
    ends = np.flatnonzero(np.diff(decided) != 0)
    edges = np.concatenate([[-1], ends, [len(decided) - 1]])
    return int(np.diff(edges).max())


def _sentences(*words: str | None) -> str | None:
    """What there is to say, one sentence each; None where there is nothing."""
    return " ".join(f"{each[0].upper()}{each[1:]}." for each in words if each) or None


def _leaning(decided: NDArray[np.float64], judges: int) -> str | None:
    """Words for a judge who chose one side more often than chance explains: an exact sign test, as sides are drawn.

    At 1 %, shared among all judges.
    """
    count, left = len(decided), int(decided.sum())
    most = max(left, count - left)
    ways = math.lgamma(count + 1) - count * math.log(2)
    tail = sum(math.exp(ways - math.lgamma(k + 1) - math.lgamma(count - k + 1)) for k in range(most, count + 1))
    if 2 * tail * judges >= 0.01:
        return None
    return f"chose the {'left' if left == most else 'right'} side {most} of {count} times, more than chance explains"


def _flags(live: Live, content: Content) -> dict[int, str]:
    """Flags of judges, where there are some to compare."""
    from podium.data.comparisons import Comparisons
    from podium.pairwise.crowd import CrowdBradleyTerry

    if not len(live):
        return {}
    present, judge = np.unique(live.judge, return_inverse=True)
    votes = Comparisons(
        range(len(live.codes)),
        live.left.astype(np.int32),
        live.right.astype(np.int32),
        outcome=np.sign(2 * live.value - 1).astype(np.int8),
        judge=judge.astype(np.int32),
        judges=tuple(present.tolist()),
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PodiumWarning)
            flags: dict[Any, str] = CrowdBradleyTerry().fit(votes).flags_
    except PodiumError:
        return {}
    return {int(key): flag for key, flag in flags.items()}
