"""Honest words about an order that was made by asking: agreement, cost, spread, and when to stop.

Answers to pairs that were chosen because they were hard say little about the rest. Check pairs are drawn uniformly from
the pairs without an answer, and each is predicted before its answer is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.active.bisect import Estimate, head_chance
from podium.active.interview import Interview
from podium.active.presets import STABLE_PLACES, STABLE_SHARE, is_stable

__all__ = ["BAND", "Summary", "summarise"]

BAND = 2.5  # half-width of a 90 % band in posterior spreads, plus one place; measured, see docs/active.md
ENOUGH = 250  # check votes before scores may have intervals
TELLING = 20  # fresh answers before the share of mistakes is more than a guess made beforehand
LEVEL_Z = 1.645  # 90 %


@dataclass(frozen=True, slots=True)
class Summary:
    """Where an interview stands.

    Attributes
    ----------
    items, questions, rounds : int
        Distinct pairs asked, and batches completed.
    skipped, extra, contradictions : int
        Pairs skipped; pairs answered without having been asked; answers that a rater changed.
    check_votes : int
        Answered check pairs; `agreement` is the share of the later half that the order before them predicted, with a
        90 % interval (None without check votes).
    noise, close_calls : float or None
        Estimated share of plain mistakes, and the width of the zone, in places, where answers waver; None before 20
        answers that were predicted before they were used.
    cost : float
        Estimated number of all n(n-1)/2 answers that contradict the order, with a 90 % interval.
    spread : float
        Nine in ten items stand within so many places of where unlimited asking would put them.
    stable : bool
        The stop signal: more questions would change the order little. Never given while `turning`.
    turning : bool
        Far pairs contradict the order much more often than near ones, as on a circle: where it begins is arbitrary.
    until_stable : int
        About how many more questions that takes.
    """

    items: int
    questions: int
    rounds: int
    skipped: int
    extra: int
    contradictions: int
    check_votes: int
    agreement: float | None
    agreement_interval: tuple[float, float] | None
    noise: float | None
    close_calls: float | None
    cost: float
    cost_interval: tuple[float, float] | None
    spread: float
    stable: bool
    turning: bool
    until_stable: int

    def __str__(self) -> str:
        lines = [f"{self.items} items, {self.questions} questions ({self.questions / self.items:.1f} an item)"]
        details = {"skipped": self.skipped, "not asked for": self.extra, "changed": self.contradictions}
        if any(details.values()):
            lines.append(", ".join(f"{count} {what}" for what, count in details.items() if count))
        if self.agreement is not None and self.agreement_interval is not None:
            low, high = self.agreement_interval
            lines.append(f"agreement on check pairs {self.agreement:.0%} ({low:.0%} to {high:.0%}, {self.check_votes})")
        mistakes = "mistakes: too few answers to tell" if self.noise is None else f"mistakes about {self.noise:.1%}"
        lines.append(f"{mistakes}; nine in ten items within {self.spread:.0f} places")
        signal = "stable: more questions would change little"
        if self.turning:
            lines.append("far pairs contradict the order, as on a circle: where it begins is arbitrary")
        lines.append(signal if self.stable else f"not stable yet: about {self.until_stable} more questions")
        return "\n".join(lines)


def summarise(interview: Interview, estimate: Estimate, top: int | None = None) -> Summary:
    """Put the state of an interview in numbers; with `top`, it is stable as soon as the first so many places are."""
    n, evidence = interview.n, interview.evidence
    votes = evidence.votes()
    pairs = n * (n - 1) // 2
    agree, told = _check_results(interview)
    recent = agree[len(agree) // 2 :]
    share = _wilson(recent)
    place = np.empty(n, dtype=np.int64)
    place[estimate.order] = np.arange(n)
    value = np.where(place[votes.left] < place[votes.right], 1.0 - votes.value, votes.value)
    answered = evidence.distinct - evidence.skipped
    known = float(value.sum()) * answered / max(1, len(votes))  # several raters on a pair count as one
    rest = pairs - answered
    wrong = 1.0 - share[0] if share else estimate.floor
    posterior = interview.state.posterior
    known_noise = estimate.fresh + told >= TELLING
    stable = is_stable(estimate, top) and not estimate.turning if posterior is not None else interview.finished
    return Summary(
        items=n,
        questions=interview.asked,
        rounds=interview.rounds,
        skipped=evidence.skipped,
        extra=interview.unasked_answers,
        contradictions=interview.contradictions,
        check_votes=told,
        agreement=share[0] if share else None,
        agreement_interval=share[1:] if share else None,
        noise=estimate.floor if known_noise else None,
        close_calls=estimate.scale if known_noise else None,
        cost=known + rest * wrong,
        cost_interval=(known + rest * (1 - share[2]), known + rest * (1 - share[1])) if share else None,
        spread=float(np.quantile(band(estimate.spread, n), 0.9)),
        stable=stable,
        turning=estimate.turning,
        until_stable=0 if stable else _until_stable(estimate, n, top),
    )


def band(spread: np.ndarray, n: int) -> np.ndarray:
    """Places by which each item may be off, at 90 %."""
    return np.minimum(BAND * spread + 1.0, n - 1.0)


def _check_results(interview: Interview) -> tuple[np.ndarray, int]:
    """Of each answered check pair, in the order asked: 1 where the order before it was right, 0.5 for a tie."""
    n = interview.n
    keys = np.array(interview.checks.keys, dtype=np.int64)
    predicted = np.array(interview.checks.predicted)
    answers = interview.evidence.answers(np.column_stack([keys // n, keys % n]))
    told = ~np.isnan(answers)
    answers, predicted = answers[told], predicted[told]
    return np.where(predicted > 0, answers, 1.0 - answers), len(answers)


def _wilson(hits: np.ndarray) -> tuple[float, float, float] | None:
    """A share with its 90 % score interval."""
    if not len(hits):
        return None
    count, share, z2 = len(hits), float(hits.mean()), LEVEL_Z**2
    centre = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = LEVEL_Z * np.sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return share, float(centre - half), float(centre + half)


def _until_stable(estimate: Estimate, n: int, top: int | None) -> int:
    """A question carries 1 - H(floor) bits and about half of them count; a bit halves the spread of one item."""
    floor = min(max(estimate.floor, 0.003), 0.45)
    bits = 1.0 + floor * np.log2(floor) + (1 - floor) * np.log2(1 - floor)
    weight = np.ones(n) if top is None else head_chance(np.argsort(estimate.order), estimate.spread, top)
    hidden = 0.5 * float(np.average(estimate.spread, weights=weight)) * (1.0 - 2.0 * floor)
    allowed = STABLE_SHARE * (floor * (n - 1) / 2 + estimate.scale * np.log(2.0)) + STABLE_PLACES * min(1.0, n / 40)
    more = float(weight.sum()) * 1.7 / bits * max(0.1, float(np.log2(hidden / allowed)))
    return int(np.ceil(min(more, n * (n - 1) / 2)))
