"""Runs against each other: paired tests over the queries, corrected for their number, and the letters of a table."""

from __future__ import annotations

import string
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from podium.errors import InputError, Option
from podium.metrics.report import Report
from podium.numeric import CORRECTIONS, adjusted_p_values
from podium.text import counted, storable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RunComparison", "compare_runs"]

TESTS = ("student", "permutation")
ROUNDING = 1e-12  # share of the values up to which differences between queries are the same
MAX_EXACT = 17  # queries that differ, up to which every pattern of signs is tried
CHUNK = 1 << 22  # signs held at a time


@dataclass(frozen=True, eq=False)
class RunComparison:
    """Every two runs on every metric: differences, intervals, p-values; made by `compare_runs`.

    Row m of an array is metric m of `metrics`, column k is pair k of `pairs`, (earlier run, later run); differences are
    Row m of an array is metric m of `metrics`, column k is pair k of `pairs`, (earlier run, later run); differences are
    later less earlier, over so many `queries` that have the metric in both. `lower` and `upper` are Student's, each
    interval on its own; they are NaN, as Student's p is, where the difference is the same in every query. Letters name
    the runs: a for the first.
    """

    runs: tuple[str, ...]
    metrics: tuple[str, ...]
    kind: str
    test: str
    correction: str
    level: float
    pairs: tuple[tuple[int, int], ...]
    means: np.ndarray
    queries: np.ndarray
    differences: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    p_values: np.ndarray
    adjusted: np.ndarray

    @property
    def letters(self) -> tuple[str, ...]:
        """A letter for each run; numbers where there are more than 52 runs."""
        count = len(self.runs)
        letters = string.ascii_letters
        return tuple(letters[:count]) if count <= len(letters) else tuple(str(k + 1) for k in range(count))

    @property
    def significant(self) -> np.ndarray:
        """Which differences are significant at `level` after the correction."""
        return self.adjusted < 1 - self.level

    @property
    def has_untested(self) -> bool:
        """Whether some pair has no p-value: no query has the metric, or Student's test has no variance to go by."""
        return bool(np.isnan(self.p_values).any())

    def better_than(self, metric: str, run: str) -> tuple[str, ...]:
        """Letters of the runs that `run` is significantly better than: a larger gain, or a smaller loss."""
        for name, known in ((metric, self.metrics), (run, self.runs)):
            if name not in known:
                raise InputError(f"{name!r} was not compared; there are {', '.join(map(repr, known))}")
        m, own = self.metrics.index(metric), self.runs.index(run)
        better = self.differences[m] > 0 if self.kind == "gain" else self.differences[m] < 0
        beaten = []
        for k, (one, other) in enumerate(self.pairs):
            if self.significant[m, k] and (other if better[k] else one) == own:
                beaten.append(one if better[k] else other)
        return tuple(self.letters[k] for k in sorted(beaten))

    def to_frame(self) -> pl.DataFrame:
        """One row for every metric and pair: the difference run − against with its interval and p-values."""
        import polars as pl

        metrics, count = len(self.metrics), len(self.pairs)
        labels = [storable(run) for run in self.runs]
        columns: dict[str, Any] = {
            "metric": np.repeat(self.metrics, count).tolist(),
            "run": [labels[other] for _, other in self.pairs] * metrics,
            "against": [labels[one] for one, _ in self.pairs] * metrics,
            "queries": self.queries.ravel(),
            "difference": self.differences.ravel(),
            "lower": self.lower.ravel(),
            "upper": self.upper.ravel(),
            "p_value": self.p_values.ravel(),
            "p_adjusted": self.adjusted.ravel(),
            "significant": self.significant.ravel(),
        }
        return pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))


def compare_runs(
    reports: Mapping[str, Report],
    *,
    test: Literal["student", "permutation"] = "student",
    correction: Literal["holm", "bonferroni", "fdr", "none"] = "holm",
    level: float = 0.95,
    permutations: int = 10_000,
    seed: int = 0,
) -> RunComparison:
    """Test every two runs on every metric, query by query.

    Parameters
    ----------
    reports : the `ranking_report` of each run, over the same queries with the same metrics, by the run's name.
    test : "student", the paired t test, or "permutation", Fisher's randomisation test: the sign of each query's
        difference is turned at random. Up to 17 queries that differ every pattern of signs is tried; beyond, so many
        `permutations` are drawn, and p is (1 + those as extreme) / (1 + permutations), which is never 0.
    correction : over the pairs of runs of one metric. "holm" and "bonferroni" keep the chance of any false difference
        below 1 − level; "fdr" (Benjamini and Hochberg) keeps their expected share among those called significant.
    level : of the intervals and of significance.

    A query in which either run has no value (`empty="skip"`) is left out of a pair.

    Examples
    --------
    >>> from podium.metrics import ranking_report
    >>> relevance = [[1, 0, 0]] * 5
    >>> scores = [[3, 2, 1], [1, 2, 3], [2, 3, 1], [1, 2, 3], [2, 3, 1]]
    >>> first = ranking_report(relevance, scores, metrics=["rr"], kind="gain")
    >>> second = ranking_report(relevance, [[3, 2, 1]] * 5, metrics=["rr"], kind="gain")
    >>> found = compare_runs({"first": first, "second": second})
    >>> found.differences.round(3).tolist(), found.p_values.round(3).tolist(), found.better_than("rr", "second")
    ([[0.467]], [[0.019]], ('a',))
    """
    values, kind = _checked(reports, test, correction, level, permutations, seed)
    metrics = tuple(next(iter(reports.values())))
    pairs = tuple((i, j) for j in range(len(reports)) for i in range(j))
    one, other = (np.array([pair[side] for pair in pairs]) for side in (0, 1))
    rng = np.random.default_rng(seed)
    shape = (len(metrics), len(pairs))
    differences, lower, upper, p_values, adjusted = (np.empty(shape) for _ in range(5))
    queries = np.empty(shape, dtype=np.int64)
    for m in range(len(metrics)):
        gaps = values[m, other] - values[m, one]
        queries[m] = np.count_nonzero(~np.isnan(gaps), axis=1)
        largest = np.nanmax(np.abs(values[m]), initial=0.0)
        gaps[np.abs(gaps) <= ROUNDING * largest] = 0.0
        differences[m], lower[m], upper[m], p_values[m] = _student(gaps, ROUNDING * largest, level)
        if test == "permutation":
            drawn = _permutation(np.nan_to_num(gaps), permutations, rng)
            p_values[m] = np.where(np.isnan(differences[m]), np.nan, drawn)
        adjusted[m] = adjusted_p_values(p_values[m], correction)
    means = np.array([[report[name] for report in reports.values()] for name in metrics])
    return RunComparison(
        tuple(reports), metrics, kind, test, correction, level, pairs, means, queries, differences, lower, upper,
        p_values, adjusted,
    )  # fmt: skip


def _student(gaps: np.ndarray, rounding: float, level: float) -> tuple[np.ndarray, ...]:
    """Mean, interval and p of each row of gaps; NaN where a row does not vary, but p is 1 where no gap is seen."""
    from scipy.special import stdtr, stdtrit

    known = ~np.isnan(gaps)
    count = known.sum(axis=1)
    filled = np.where(known, gaps, 0.0)
    mean = np.where(count, filled.sum(axis=1) / np.maximum(count, 1), np.nan)
    square = (np.where(known, gaps - mean[:, None], 0.0) ** 2).sum(axis=1)
    spread = np.where(known, gaps, -np.inf).max(axis=1) - np.where(known, gaps, np.inf).min(axis=1)
    varies = (count > 1) & (spread > rounding)
    degrees = np.maximum(count - 1, 1)
    error = np.where(varies, np.sqrt(square / (degrees * np.maximum(count, 1))), np.nan)
    p_value = np.where(varies, 2 * stdtr(degrees, -np.abs(mean) / np.where(varies, error, 1.0)), np.nan)
    p_value[~varies & (count > 0) & ~filled.any(axis=1)] = 1.0
    half = stdtrit(degrees, (1 + level) / 2) * error
    return mean, mean - half, mean + half, p_value


def _permutation(gaps: np.ndarray, permutations: int, rng: np.random.Generator) -> np.ndarray:
    """P-values of sums under random signs: over all patterns where few queries differ, else over some drawn."""
    extreme = np.abs(gaps.sum(axis=1)) - ROUNDING * np.abs(gaps).sum(axis=1)
    p_values = np.empty(len(gaps))
    counts = (gaps != 0).sum(axis=1)
    for k in np.flatnonzero(counts <= MAX_EXACT):
        sums = np.zeros(1)
        for gap in gaps[k][gaps[k] != 0]:
            sums = np.concatenate([sums + gap, sums - gap])
        p_values[k] = np.mean(np.abs(sums) >= extreme[k])
    drawn = np.flatnonzero(counts > MAX_EXACT)
    if len(drawn):
        queries = gaps.shape[1]
        many = gaps[drawn].T.copy()
        as_extreme = np.zeros(len(drawn))
        step = max(1, CHUNK // queries)
        for first in range(0, permutations, step):
            rows = min(step, permutations - first)
            bits = np.unpackbits(rng.integers(0, 256, (rows, -(-queries // 8)), dtype=np.uint8), axis=1)[:, :queries]
            as_extreme += (np.abs((2.0 * bits - 1.0) @ many) >= extreme[drawn]).sum(axis=0)
        p_values[drawn] = (1 + as_extreme) / (1 + permutations)
    return p_values


def _checked(
    reports: Mapping[str, Report], test: str, correction: str, level: float, permutations: int, seed: int
) -> tuple[np.ndarray, str]:
    """Values by metric, run and query, of runs that may be compared."""
    if not isinstance(reports, Mapping) or not all(isinstance(report, Report) for report in reports.values()):
        raise InputError("reports: give a dictionary of run names and their `ranking_report`")
    if len(reports) < 2:
        raise InputError("there are fewer than two runs; give two or more to compare")
    if test not in TESTS:
        raise InputError(Option("test", test), f" is unknown; choose one of {', '.join(map(repr, TESTS))}")
    if correction not in CORRECTIONS:
        raise InputError(
            Option("correction", correction), f" is unknown; choose one of {', '.join(map(repr, CORRECTIONS))}"
        )
    if not 0.5 <= level <= 0.9999:
        raise InputError(Option("level", level), ": give a level from 0.5 to 0.9999")
    if not isinstance(permutations, int | np.integer) or permutations < 1:
        raise InputError(Option("permutations", permutations), ": at least 1, a whole number")
    if not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(Option("seed", seed), ": a whole number from 0")
    names = list(reports)
    first = reports[names[0]]
    for name in names[1:]:
        other = reports[name]
        if (list(other), other.kind, other.rows) != (list(first), first.kind, first.rows):
            raise InputError(
                f"runs {names[0]!r} and {name!r} were not measured alike: {first.kind} of {', '.join(first)} over "
                f"{counted(first.rows, 'query', 'queries')}, and {other.kind} of {', '.join(other)} over {other.rows}"
            )
    return np.array([[report.per_row[metric] for report in reports.values()] for metric in first]), first.kind
