"""From an order to marks: scores on a scale that people know, each with its interval, and grades with their chances."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.validation import instance_of
from podium.errors import DataWarning, InputError, Option
from podium.numeric import adjusted_p_values
from podium.ranking.ranking import Ranking
from podium.ranking.uncertainty import Information, posterior_covariance, quantile
from podium.text import storable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Marks", "award_marks", "grade_words", "known_marks_words"]

MAX_MARK = 1e9
ENOUGH_KNOWN = 5  # known marks that say how well marks fit a line


@dataclass(frozen=True, eq=False)
class Marks:
    """Marks of items, in their order in the ranking's `items`; made by `award_marks`.

    Attributes
    ----------
    items, marks : labels, and the mark of each
    lower, upper : bounds at `level`, held within the scale; NaN where the ranker has no likelihood
    known : marks that were known beforehand, by item
    grade_names : the grades, best first, the last for marks below every boundary; empty without boundaries
    grades : the grade of each item
    chances : (items, grades), the chance that an item's true mark has that grade; NaN where the mark has no bounds
    slope, intercept : mark = intercept + slope · score, before marks are held within the scale
    highest_is_best : False on a scale as (6, 1)
    """

    items: tuple[Hashable, ...]
    marks: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    level: float
    known: Mapping[Hashable, float]
    grade_names: tuple[str, ...]
    grades: tuple[str, ...]
    chances: np.ndarray
    slope: float
    intercept: float
    highest_is_best: bool = True

    def to_frame(self) -> pl.DataFrame:
        """One row an item, the best mark first, with the chance of its grade and of each grade."""
        import polars as pl

        columns: dict[str, Any] = {
            "item": [storable(item) for item in self.items],
            "mark": self.marks,
            "mark_lower": self.lower,
            "mark_upper": self.upper,
        }
        if self.known:
            columns["known"] = [self.known.get(item) for item in self.items]
        if self.grade_names:
            best = [self.grade_names.index(grade) for grade in self.grades]
            columns |= {"grade": self.grades, "chance": self.chances[np.arange(len(best)), best]}
            columns |= {f"P({name})": self.chances[:, k] for k, name in enumerate(self.grade_names)}
        frame = pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))
        return frame.sort("mark", descending=self.highest_is_best, maintain_order=True)


def award_marks(
    ranking: Ranking,
    scale: tuple[float, float] | None = None,
    *,
    known: Mapping[Hashable, float] | None = None,
    boundaries: Mapping[str, float] | None = None,
    level: float = 0.95,
) -> Marks:
    """Turn the scores of a ranking into marks.

    With a `scale` alone, the lowest score is its low end and the highest its high end, and marks lie between in
    proportion. With `known` marks of some items, the line through these items' scores and marks (least squares) gives
    the marks of all; a `scale` then holds them within its ends.

    Items that were never compared with most of the others have a mark, but neither bounds nor chances of grades: no
    vote says where they lie.

    The interval of a mark is that of its score on this line: by the posterior where the penalty came from the votes
    (`l2="auto"`), else by the likelihood. With known marks it also carries how well they determine the line: by their
    scatter about it, and at least by the error of their scores. A known mark far from the line through the others is
    warned of. The ends of a `scale` alone are by definition those of
    the lowest and highest score found, and add nothing.

    Parameters
    ----------
    ranking : made by a ranker; without a likelihood there are marks, but no intervals
    scale : (low, high), the mark of the lowest score and of the highest; (6, 1) where the best mark is 1
    known : marks of at least two items with different scores
    boundaries : the least mark of each grade, as {"A": 70, "B": 55}
    level : of the intervals

    Examples
    --------
    >>> marks = award_marks(Ranking(["x", "y", "z"], [2.0, 0.0, 1.0]), (0, 100), boundaries={"A": 70, "B": 40})
    >>> marks.marks.tolist(), marks.grades
    ([100.0, 0.0, 50.0], ('A', 'below B', 'B'))
    """
    instance_of(Ranking, ranking, "ranking")
    ends = _checked_scale(scale)
    if ends is None and not known:
        raise InputError("no scale: give the lowest and the highest mark, or known marks of some items")
    turn = -1.0 if ends is not None and ends[0] > ends[1] else 1.0  # a falling scale is turned over, and back at last
    width = quantile(level)
    scores, errors = _scores(ranking, width, level)
    if known:
        anchors = {place: turn * mark for place, mark in _checked_known(known, ranking).items()}
        slope, intercept, line_errors = _line(ranking, scores, errors, anchors, turn, width, level)
    else:
        assert ends is not None, "one of the two was given"
        if not np.ptp(scores) > 1e-12:
            raise InputError("all items have the same score, so no scale can be laid through them; gather more votes")
        slope = turn * (ends[1] - ends[0]) / float(np.ptp(scores))
        intercept, line_errors = turn * ends[0] - slope * float(scores.min()), np.zeros(len(scores))
    marks = intercept + slope * scores
    spread = np.hypot(slope * errors, line_errors)
    bounds = marks - width * spread, marks + width * spread
    names, least = _checked_boundaries(boundaries, ends, turn)
    chances = _chances(marks, spread, least, -np.inf if ends is None else turn * ends[0])
    place = np.searchsorted(-np.array(least), -marks, side="left") if least else np.zeros(len(marks), dtype=int)
    marks, lower, upper = (turn * values + 0.0 for values in (marks, *bounds[:: int(turn)]))
    if ends is not None:
        marks, lower, upper = (np.clip(values, min(ends), max(ends)) for values in (marks, lower, upper))
    grades = tuple(names[k] for k in place.tolist()) if names else ()
    line = turn * slope / ranking.unit, turn * intercept
    given = dict(known or {})
    return Marks(ranking.items, marks, lower, upper, level, given, names, grades, chances, *line, turn > 0)


def grade_words(tables: Iterable[pl.DataFrame], each: str) -> list[str]:
    """How to read the chances of grades in these tables of marks; `each` says where the chance of each grade stands."""
    import polars as pl

    lines: list[str] = []
    graded = [table for table in tables if "chance" in table.columns and table["chance"].count()]
    if any(table["chance"].null_count() for table in graded):
        lines.append("a grade without a chance is a guess: the votes set no bounds to the mark of that item")
    largest = pl.max_horizontal(pl.selectors.starts_with("P("))
    if any(table.select((pl.col("chance") < largest).any()).item() for table in graded):
        lines.append(
            "a grade is that of the mark, its chance the chance of that grade: for some items another grade is "
            f"likelier ({each})"
        )
    return lines


def known_marks_words(known: int) -> list[str]:
    """What intervals of marks rest on where few marks are known; nothing where enough are, or none.

    >>> known_marks_words(3)[0].partition(",")[0]
    '3 known marks say little about how well marks fit their line'
    """
    if known == 2:
        return [
            "two known marks always fit a line: intervals take it as the right one and carry the errors of scores "
            "alone; more known marks would tell how well marks fit it"
        ]
    if 2 < known < ENOUGH_KNOWN:
        return [
            f"{known} known marks say little about how well marks fit their line, so intervals may be wide; more "
            "known marks narrow them"
        ]
    return []


def _scores(ranking: Ranking, width: float, level: float) -> tuple[np.ndarray, np.ndarray]:
    """Scores in log-odds and their standard errors: the posterior's, or those of the votes alone; NaN without any."""
    if ranking.information is None:
        return ranking.scores / ranking.unit, np.full(len(ranking), np.nan)
    credible = ranking.posterior is not None and ranking.uncertainty in ("auto", "hessian")
    lower, upper = ranking.intervals(level, reference="mean", kind="credible" if credible else "confidence")
    scores = ranking.scores if credible else ranking.estimates
    with np.errstate(invalid="ignore"):
        errors = (upper - lower) / (2 * width * ranking.unit)
    if credible and (posterior := ranking.posterior) is not None and posterior.groups is not None:
        errors = _errors_among_most(posterior, posterior.groups)
    return scores / ranking.unit, errors


def _errors_among_most(posterior: Information, groups: np.ndarray) -> np.ndarray:
    """Errors where groups were never compared: those beside the mean of the group of most items, if there is one."""
    sizes = np.bincount(groups)
    most = (groups == sizes.argmax()) & (2 * sizes.max() > len(groups))
    errors = np.full(len(groups), np.inf)
    if most.any():
        known = posterior_covariance(dataclasses.replace(posterior, groups=None))
        variance = known.variance[most]
        if known.matrix is not None:
            among = known.matrix[np.ix_(most, most)]
            variance = variance - 2 * among.mean(axis=1) + among.mean()
        errors[most] = np.sqrt(variance)
    return errors


def _line(
    ranking: Ranking,
    scores: np.ndarray,
    errors: np.ndarray,
    known: dict[int, float],
    turn: float,
    width: float,
    level: float,
) -> tuple[float, float, np.ndarray]:
    """Slope and intercept of the line through known marks, and its error at every score."""
    from scipy.special import stdtrit

    at, marks = np.array(list(known)), np.array(list(known.values()))
    x = scores[at]
    square = float(((x - x.mean()) ** 2).sum())
    if not square > 1e-12:
        raise InputError("the items with known marks have the same score, so no line goes through them; give others")
    slope = float((x - x.mean()) @ (marks - marks.mean())) / square
    if not slope > 0:
        labels = [ranking.items[k] for k in at.tolist()]
        best, worst = labels[int(x.argmax())], labels[int(x.argmin())]
        raise InputError(
            f"the known marks do not rise with the scores: {best!r} is ranked above {worst!r} by the votes; "
            "correct the marks, or where the best mark is the lowest, turn the scale over: from the worst mark to the "
            "best, as 6 to 1"
        )
    intercept = float(marks.mean() - slope * x.mean())
    count = len(at)
    bounded = errors[at][np.isfinite(errors[at])]
    variance = float(np.mean((slope * bounded) ** 2)) if len(bounded) else 0.0
    if count > 2:
        residual = marks - intercept - slope * x
        leverage = 1 / count + (x - x.mean()) ** 2 / square
        named = {ranking.items[k]: turn * mark for k, mark in known.items()}
        _warn_of_odd(named, turn * residual, leverage, slope * errors[at])
        ratio = float(stdtrit(count - 2, (1 + level) / 2)) / width  # the line's error has Student's distribution
        scatter = float(residual @ residual) / (count - 2) * ratio**2
        variance = max(variance, float(scatter))
    error = np.sqrt(variance * (1 / count + (scores - x.mean()) ** 2 / square))
    return slope, intercept, error


def _warn_of_odd(
    known: Mapping[Hashable, float], residual: np.ndarray, leverage: np.ndarray, errors: np.ndarray
) -> None:
    """Name known marks that lie further from the line through the others than chance leads to, by Holm at 5 %.

    The residual over the error that the others show has Student's distribution (externally studentised); where the
    votes leave the mark a larger error, that is taken, and known.
    """
    from scipy.special import ndtr, stdtr

    degrees = len(known) - 3
    if degrees < 1:
        return
    away = residual / np.maximum(1 - leverage, 1e-12)  # from the line through the others
    shown = np.maximum(residual @ residual - residual * away, 0.0) / degrees
    own = np.where(np.isfinite(errors), errors, 0.0) ** 2
    spread = np.sqrt(np.maximum(shown, own))
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(away) * np.sqrt(1 - leverage) / spread
    tail = np.where(own < shown, stdtr(degrees, -t), ndtr(-t))
    on_line = np.abs(residual) <= 1e-9 * np.ptp(list(known.values()))  # but for rounding
    p = adjusted_p_values(np.where(on_line, 1.0, 2 * tail), "holm")
    for (label, mark), off, value in zip(known.items(), away.tolist(), p.tolist(), strict=True):
        if value < 0.05:
            warnings.warn(
                f"the known mark of {label!r} is {mark:.15g}, but the other known marks and the votes say "
                f"{mark - off:.3g}, further off than chance leads to: check it, as it moves all marks",
                DataWarning,
                stacklevel=4,
            )


def _chances(marks: np.ndarray, spread: np.ndarray, least: Sequence[float], lowest: float) -> np.ndarray:
    """The chance of each grade, best first, the last below every boundary; no mark is below the `lowest`."""
    from scipy.special import ndtr

    if not least:
        return np.empty((len(marks), 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (marks[:, None] - np.array(least)) / spread[:, None]
    distance = np.where(np.isinf(spread)[:, None], np.nan, distance)
    reached = np.where(np.array(least) <= lowest, 1.0, ndtr(distance))
    above = np.hstack([np.zeros((len(marks), 1)), reached, np.ones((len(marks), 1))])
    return np.diff(above, axis=1)


def _checked_scale(scale: Any) -> tuple[float, float] | None:
    if scale is None:
        return None
    try:
        low, high = (float("nan") if end is np.ma.masked else float(end) for end in scale)
    except (TypeError, ValueError, OverflowError):
        raise InputError(Option("scale", scale), " is no scale; give two numbers, low and high") from None
    if not (abs(low) <= MAX_MARK and abs(high) <= MAX_MARK and low != high):
        raise InputError(Option("scale", scale), ": the two ends must be different numbers")
    return low, high


def _number(mark: Any) -> float | None:
    """A mark as a number; None where it is none."""
    if mark is np.ma.masked:
        return None
    try:
        value = float(mark)
    except (TypeError, ValueError, OverflowError):
        return None
    return value if abs(value) <= MAX_MARK else None


def _checked_known(known: Any, ranking: Ranking) -> dict[int, float]:
    instance_of(Mapping, known, "known")
    place = {item: k for k, item in enumerate(ranking.items)}
    checked: dict[int, float] = {}
    for item, mark in known.items():
        if item not in place:
            raise InputError(
                f"the known mark of {item!r} is of an item that has no votes; remove it, or correct the name"
            )
        value = _number(mark)
        if value is None:
            raise InputError(f"the known mark of {item!r} is {mark!r}; give a number")
        checked[place[item]] = value
    if len(checked) < 2:
        raise InputError("one known mark fixes no scale; give those of two items or more")
    return checked


def _checked_boundaries(
    boundaries: Any, ends: tuple[float, float] | None, turn: float
) -> tuple[tuple[str, ...], list[float]]:
    """Names of the grades, and where each but the last begins; negative on a scale that falls."""
    if not boundaries:
        return (), []
    instance_of(Mapping, boundaries, "boundaries")
    names: list[str] = []
    least: list[float] = []
    for name, mark in boundaries.items():
        value = _number(mark)
        if value is None:
            raise InputError(f"the boundary of grade {name!r} is {mark!r}; give the least mark that earns it")
        if ends is not None and not min(ends) <= value <= max(ends):
            raise InputError(
                f"the boundary of grade {name!r}, {value:.15g}, is outside the scale {ends[0]:.15g} to {ends[1]:.15g}"
            )
        if least and not turn * value < least[-1]:
            rule = "lower" if turn > 0 else "higher"
            raise InputError(
                f"grade {name!r} begins at {value:.15g} and {names[-1]!r} at {turn * least[-1]:.15g}; name the best "
                f"grade first, each with a {rule} boundary than the one before"
            )
        names.append(str(name))
        least.append(turn * value)
    return (*names, f"below {names[-1]}"), least
