"""How good was the judging? Reliability and fit as comparative judgement defines them."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.comparisons import Comparisons
from podium.data.rankings import Rankings
from podium.data.validation import instance_of, whole_option
from podium.errors import InputError, Option, PodiumError, PodiumWarning
from podium.evaluate.diagnosis.steadiness import Reliability
from podium.metrics.distances import kendall_tau
from podium.pairwise.bradley_terry import BradleyTerry
from podium.pairwise.plackett_luce import PlackettLuce
from podium.ranking.ranking import Ranking
from podium.ranking.uncertainty import quantile
from podium.text import counted, number, one_line, storable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Judging", "judging_quality", "scale_separation", "unknown_quality"]

ENOUGH = 0.8  # the reliability that comparative judgement asks for
CHANCE = 0.05  # of sets in which chance alone puts the infit of some judge (or item) beyond it
CHOSEN = (
    "no scale separation reliability: pairs were chosen by the answers before, which inflates it even on random ones; "
    "ask random check pairs"
)


@dataclass(frozen=True, eq=False)
class Judging:
    """Reliability of the scale, and how well items and judges fit it; made by `judging_quality`.

    Attributes
    ----------
    separation : scale separation reliability (SSR), or None with the reason in `why`
    separation_from : "all pairs" or "check pairs"; and of how many items, where some only won or only lost
    split_half : agreement of the scores from one half of the judges with those from the other; None with few judges
    item_fit, judge_fit : frames of item or judge, votes, infit, beyond_chance: more than the model leads to in one of
        twenty such sets, and misfit: that, or an infit above mean + 2 sd of them all; the judges' also with seconds,
        the median time of a judgement, where it was given. Rankings have none: their pairs depend on each other.
    """

    separation: float | None
    separation_from: str
    why: str | None
    split_half: Reliability | None
    item_fit: pl.DataFrame | None
    judge_fit: pl.DataFrame | None

    @property
    def reliable(self) -> bool:
        """Whether there is a scale separation reliability, and it is .8 or more."""
        return self.separation is not None and self.separation >= ENOUGH

    def words(self) -> list[str]:
        """The same in sentences."""
        lines = []
        if self.separation is None:
            lines.append(self.why or "no scale separation reliability")
        else:
            below = "" if self.reliable else f", below {ENOUGH:g}: more votes are needed before marks can be relied on"
            value = number(self.separation, 2) if self.separation >= 0 else "below 0"  # errors larger than the spread
            lines.append(f"scale separation reliability {value} ({self.separation_from}){below}")
        if self.split_half is not None and self.split_half.full is not None:
            half = self.split_half
            spread = f"halves correlate by {number(half.low, 2)} to {number(half.high, 2)}"
            lines.append(f"split-half reliability by judges {number(half.full or 0.0, 2)} ({spread})")
        for frame, what in ((self.judge_fit, "judge"), (self.item_fit, "item")):
            if frame is None:
                continue
            misfits = frame.filter(frame["misfit"]).to_dicts()
            lines += [
                f"misfit: {what} {one_line(row[what])}, infit {row['infit']:.2f} ({counted(row['votes'], 'vote')}; "
                f"{'beyond' if row['beyond_chance'] else 'within'} chance)"
                for row in misfits[:4]
            ]
            if len(misfits) > 4:
                lines.append(f"misfit: and {counted(len(misfits) - 4, f'more {what}')}")
        if self.judge_fit is not None and "seconds" in self.judge_fit.columns:
            times = self.judge_fit["seconds"].drop_nulls().to_numpy()
            if len(times):
                ends = f"judges {times.min():.1f} to {times.max():.1f}"
                lines.append(f"median seconds a judgement: {np.median(times):.1f} ({ends})")
        return lines


def unknown_quality(why: str) -> Judging:
    """Nothing but the reason why nothing is known."""
    return Judging(None, "", why, None, None, None)


def scale_separation(ranking: Ranking) -> tuple[float | None, int]:
    """Return the scale separation reliability of a ranking, and the items it is over.

    SSR = (var(û) − mean s.e.²) / var(û), with scores û and errors of the votes alone, not pulled together by a
    penalty: the share of the scores' variance that is not error. Items that only won or only lost have no such score
    and are left out. None with fewer than three items, or where all scores are equal.

    Examples
    --------
    >>> from podium import BradleyTerry, Comparisons
    >>> votes = Comparisons.from_arrays([0, 0, 1, 1, 0, 2, 1, 2] * 9, [1, 2, 2, 0, 1, 0, 2, 1] * 9, items=list("abc"))
    >>> separation, items = scale_separation(BradleyTerry().fit(votes).ranking_)
    >>> round(separation, 2), items
    (0.54, 3)
    """
    instance_of(Ranking, ranking, "ranking")
    errors = ranking.std_errors
    if errors is None:
        raise InputError("this ranker has no standard errors, so its scale has no separation reliability")
    bounded = np.isfinite(errors)
    scores, count = ranking.estimates[bounded], int(bounded.sum())
    variance = float(scores.var(ddof=1)) if count > 2 else 0.0
    if not variance > 1e-18:
        return None, count
    return (variance - float((errors[bounded] ** 2).mean())) / variance, count


def judging_quality(
    comparisons: Comparisons | Rankings,
    *,
    check: Comparisons | None = None,
    chosen: bool = False,
    seconds: Mapping[Hashable, float] | None = None,
    splits: int = 20,
    seed: int = 0,
) -> Judging:
    """Return the reliability of votes, and the fit of items and judges, by a Bradley-Terry fit.

    Infit is the information-weighted mean square of Rasch measurement, Σ(x − p)² / Σ p(1 − p) over the votes of an item
    or a judge: 1 is expected, more says that votes are less predictable than the model has it. Some are above mean +
    2 sd by chance alone; the variance of that sum, Σ p(1 − p)(1 − 4p(1 − p)), says which.

    Rankings are taken as they are, by a Plackett-Luce fit: they have a reliability of the scale and of halves of the
    respondents, and no infit, as the pairs of one ranking depend on each other.

    Parameters
    ----------
    comparisons : the votes, with judges if split-half reliability and the judges' fit are wanted; or rankings
    check : those of them that are on pairs drawn at random, where the others were chosen
    chosen : whether pairs were chosen by the answers before: the scale separation reliability then comes from `check`,
        or there is none, as choosing inflates it even on random answers (Bramley 2015)
    seconds : the median time of a judgement, by judge
    splits : random halves of the judges
    """
    ranked = isinstance(comparisons, Rankings)
    if not isinstance(comparisons, Rankings):
        instance_of(Comparisons, comparisons, "comparisons")
    if check is not None:
        instance_of(Comparisons, check, "check")
    whole_option("splits", splits, least=1)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(Option("seed", seed), ": a whole number from 0")
    ranking = _fit(comparisons)
    separation, source, why = None, "all rankings" if ranked else "all pairs", None
    if not chosen or check is not None:
        source = "check pairs" if chosen else source
        try:
            scale = _fit(check) if chosen and check is not None else ranking
            separation, items = scale_separation(scale)
            source += f", {items} of {len(scale)} items" if items < len(scale) else ""
        except PodiumError as problem:
            items, why = 0, f"no scale separation reliability: {problem}"
        if separation is None and why is None:
            have = f"{counted(items, 'item')}, too few, have scores" if items else "no item has a score"
            why = f"no scale separation reliability: {have} that votes bound on both sides; more votes are needed"
    else:
        why = CHOSEN
    item_fit, judge_fit = (None, None) if isinstance(comparisons, Rankings) else _fits(comparisons, ranking, seconds)
    halves = _split_half(comparisons, ranking, splits, np.random.default_rng(seed))
    return Judging(separation, source, why, halves, item_fit, judge_fit)


def _fit(votes: Comparisons | Rankings) -> Ranking:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # the ranking itself tells them
        return PlackettLuce().fit(votes).ranking_ if isinstance(votes, Rankings) else BradleyTerry().fit(votes).ranking_


def _fits(
    votes: Comparisons, ranking: Ranking, seconds: Mapping[Hashable, float] | None
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Infit of every item and every judge."""
    scores = ranking.estimates
    margin = scores[votes.left] - scores[votes.right]
    chance = 1 / (1 + np.exp(-np.clip(margin, -500, 500)))
    outcome = np.ones(len(margin)) if votes.outcome is None else (votes.outcome + 1) / 2
    number_of = np.ones(len(margin)) if votes.count is None else votes.count.astype(float)
    weight = number_of if votes.weight is None else votes.weight
    spread = chance * (1 - chance)
    square, information = weight * (outcome - chance) ** 2, weight * spread
    variance = weight**2 / np.maximum(number_of, 1) * spread * (1 - 4 * spread)  # of a square: E(x − p)⁴ − (p(1 − p))²
    columns = np.stack([square, information, variance, number_of])
    both = np.concatenate([votes.left, votes.right])
    items = _frame("item", votes.items, both, np.tile(columns, 2))
    if votes.judge is None:
        return items, None
    judges = _frame("judge", votes.judges, votes.judge, columns)
    if seconds is not None:
        import polars as pl

        times = {storable(judge): _seconds(judge, value) for judge, value in seconds.items()}
        column = [times.get(judge) for judge in judges["judge"]]
        judges = judges.with_columns(pl.Series("seconds", column, dtype=pl.Float64))
    return items, judges


def _seconds(judge: Hashable, value: Any) -> float:
    try:
        seconds = float(value)
    except (TypeError, ValueError, OverflowError):
        seconds = -1.0
    if not 0 <= seconds < np.inf:
        raise InputError(f"the seconds of judge {judge!r} are {value!r}; give a number, 0 or more")
    return seconds


def _frame(name: str, labels: Any, code: np.ndarray, columns: np.ndarray) -> pl.DataFrame:
    """Infit from squares, information, variance and number of each row's votes."""
    import polars as pl

    count = len(labels)
    square, information, variance, votes = (np.bincount(code, values, count) for values in columns)
    infit = np.divide(square, information, out=np.full(count, np.nan), where=information > 1e-12)
    known = infit[~np.isnan(infit)]
    limit = known.mean() + 2 * known.std(ddof=1) if len(known) > 2 else np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        sd = np.sqrt(variance) / information
        normal = (np.cbrt(infit) - 1) * 3 / sd + sd / 3  # Wilson and Hilferty's, as Rasch measurement takes it
    beyond = np.nan_to_num(normal, nan=0.0) > quantile(1 - 2 * CHANCE / max(len(known), 1))
    frame = pl.DataFrame(
        {
            name: [storable(label) for label in labels],
            "votes": votes,
            "infit": infit,
            "misfit": (np.nan_to_num(infit, nan=0.0) > limit) | beyond,  # of five, none can be beyond that limit
            "beyond_chance": beyond,
        }
    )
    return (
        frame.filter(pl.col("votes") > 0)
        .with_columns(pl.col("infit").fill_nan(None))
        .sort("infit", descending=True, nulls_last=True, maintain_order=True)
    )


def _split_half(
    votes: Comparisons | Rankings, ranking: Ranking, splits: int, rng: np.random.Generator
) -> Reliability | None:
    """Correlation of the scores from two halves of the judges, over random halves; None where halves are too thin."""
    judge = votes.judge
    if judge is None and isinstance(votes, Rankings):
        judge = np.arange(len(votes), dtype=np.int32)  # each of a respondent of its own
    if judge is None:
        return None
    judges = np.unique(judge)
    if len(judges) < 2:
        return None
    correlations, agreements = [], []
    for _ in range(splits):
        first = rng.permutation(judges)[: len(judges) // 2]
        inside = np.isin(judge, first)
        halves = [_scores_of(votes.take(np.flatnonzero(half)), ranking) for half in (inside, ~inside)]
        both = np.isfinite(halves[0]) & np.isfinite(halves[1])
        one, other = halves[0][both], halves[1][both]
        if both.sum() < 3:
            return None
        flat = min(np.ptp(one), np.ptp(other)) < 1e-9  # a half that tells no items apart agrees with nobody
        correlations.append(0.0 if flat else float(np.clip(np.corrcoef(one, other)[0, 1], -1.0, 1.0)))
        agreements.append((1 + kendall_tau(one, other)) / 2)
    low, high = min(correlations), max(correlations)
    return Reliability(float(np.clip(np.mean(correlations), low, high)), low, high, float(np.mean(agreements)))


def _scores_of(votes: Comparisons | Rankings, whole: Ranking) -> np.ndarray:
    """Scores from part of the votes, of the items that it names; NaN for the others."""
    scores = np.full(len(whole), np.nan)
    try:
        ranking = _fit(votes)
    except PodiumError:
        return scores
    seen = np.zeros(len(votes.items), dtype=bool)
    if isinstance(votes, Rankings):
        seen[votes.item] = True
        seen |= votes.everyone  # what was passed over was named too
    else:
        seen[votes.left] = seen[votes.right] = True
    place = {item: k for k, item in enumerate(whole.items)}
    for k in np.flatnonzero(seen).tolist():
        scores[place[votes.items[k]]] = ranking.scores[ranking.items.index(votes.items[k])]
    return scores
