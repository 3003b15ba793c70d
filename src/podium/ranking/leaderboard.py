"""A ranking as a table: a row for each item, cells in words, and remarks on where the intervals come from."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from podium.data.tables.labels import as_column
from podium.ranking.uncertainty import MIN_CLUSTERS, Information, few_clusters
from podium.text import number, storable

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "COLUMNS", "frame", "interval_cells", "no_bound_words", "open_end_words", "prior_words", "remarks", "score_digits",
    "unit_word",
]  # fmt: skip

# Columns of the table, with their polars types.
COLUMNS = {
    "item": None,
    **dict.fromkeys(("score", "std_error", "lower", "upper"), "Float64"),
    **dict.fromkeys(("rank", "rank_lower", "rank_upper", "tier"), "Int64"),
    **dict.fromkeys(("wins", "losses", "ties", "comparisons"), "Float64"),
}

MIN_SPAN, MAX_SPAN = 1e-7, 0.05  # of scores that are told with more than two decimals; below is what rounding leaves
Source: TypeAlias = tuple[str, str | None]  # where standard errors come from, and by what they are clustered


def frame(items: Sequence[Hashable], known: Mapping[str, np.ndarray]) -> pl.DataFrame:
    """One row an item, in the order given; columns that are not known are null.

    Examples
    --------
    >>> frame(["tea", "milk"], {"score": np.array([0.5, -0.5])}).select("item", "score", "tier").rows()
    [('tea', 0.5, None), ('milk', -0.5, None)]
    """
    import polars as pl

    columns: dict[str, pl.Series] = {}
    for name, kind in COLUMNS.items():
        if kind is None:
            columns[name] = _labels(items)
        else:
            columns[name] = pl.Series(name, known.get(name, [None] * len(items)), dtype=getattr(pl, kind))
    return pl.DataFrame(columns)


def _labels(items: Sequence[Hashable]) -> pl.Series:
    """Labels as a column: as they are when of one plain type, else as text."""
    import polars as pl

    kinds = {type(item) for item in items}
    if len(kinds) == 1 and kinds <= {int, float, bool}:
        return pl.Series("item", as_column(items), strict=False)
    return pl.Series("item", [storable(item) for item in items], dtype=pl.String)


def interval_cells(
    lower: np.ndarray, upper: np.ndarray, best: np.ndarray, worst: np.ndarray, tier: np.ndarray, *, digits: int
) -> list[list[str]]:
    """Columns of intervals, rank intervals and tiers, as text."""
    return [
        [f"{number(low, digits)} … {number(high, digits)}" for low, high in zip(lower, upper, strict=True)],
        [f"{first}–{last}" for first, last in zip(best, worst, strict=True)],
        [str(each) for each in tier],
    ]


def remarks(information: Information, asked: Source, used: Source, fixed: str, *, credible: bool = False) -> list[str]:
    """What stands below a table: what is held fixed, where the errors come from, and when not to trust them.

    `asked` is what the user chose, `used` what it came to; `fixed` is what intervals hold fixed, in words. They are
    `credible` where they are a posterior's.
    """
    kind, cluster = used
    named, source = "confidence", error_source(asked, used)
    if credible:
        named, source = "credible", "from the curvature of the posterior"
    lines = [f"95 % {named} intervals, relative to the {fixed} ({source})"]
    if cluster is not None and information.cluster_count(cluster) < MIN_CLUSTERS:
        lines.append(few_clusters(information, cluster))
    if kind == "hessian" and asked[0] != "hessian" and not information.counted:
        lines.append("weights are not counts, but this ranker gives no other errors: they may be too small")
    return lines


def prior_words(sd: float, centre: str = "the mean", votes: str = "votes") -> str:
    """What a penalty from the votes did to the scores.

    >>> prior_words(0.8)
    'few votes pull a score towards the mean: true scores seem to lie about 0.80 log-odds from it (l2=auto)'
    """
    return (
        f"few {votes} pull a score towards {centre}: true scores seem to lie about {sd:.2f} log-odds from it (l2=auto)"
    )


def no_bound_words(votes: str = "votes") -> str:
    """Why an interval has no end."""
    return (
        f"the {votes} set no bound there, as where an item, or it and all those above or below it, only won or only "
        "lost"
    )


def open_end_words(lower: Iterable[float | None], upper: Iterable[float | None], votes: str = "votes") -> str:
    """What an infinite end of these intervals says; nothing where all have both ends.

    >>> open_end_words([-1.0, -np.inf], [1.0, 0.0]).partition(",")[0]
    'an end of -∞: the votes set no bound there'
    >>> open_end_words([-1.0, None], [1.0, None])
    ''
    """
    ends = [-np.inf] * (-np.inf in lower) + [np.inf] * (np.inf in upper)
    return f"an end of {' or '.join(number(end, 0) for end in ends)}: {no_bound_words(votes)}" if ends else ""


def score_digits(unit: float, *values: Sequence[float | None] | np.ndarray | pl.Series) -> int:
    """Decimals of scores and of the ends of their intervals: more where all lie nearer to each other than two show.

    >>> score_digits(1.0, [0.5, -0.5]), score_digits(400 / np.log(10), [1500.0]), score_digits(1.0, [2e-6, -1e-6])
    (2, 0, 7)
    """
    if unit >= 10:
        return 0
    known = np.concatenate([np.asarray(column, dtype=np.float64) for column in values])
    known = known[np.isfinite(known)]
    span, largest = (np.ptp(known), np.abs(known).max()) if len(known) else (0.0, 0.0)
    return 1 - int(np.floor(np.log10(span))) if MIN_SPAN * max(1.0, largest) < span < MAX_SPAN else 2


def unit_word(unit: float) -> str:
    """What scores of so many units per log-odds are counted in.

    >>> unit_word(1.0), unit_word(400 / np.log(10))
    ('log-odds', 'Elo points')
    """
    return "log-odds" if unit == 1.0 else "Elo points"


def error_source(asked: Source, used: Source) -> str:
    """Where the errors come from: of what was `asked` for, what was `used`."""
    kind, cluster = used
    by = f" by {cluster}" if cluster else ""
    if asked[0] == "cluster" and kind != "cluster":
        by = f"; all votes are of one {asked[1]}"
    elif asked[0] == "auto" and kind == "sandwich":
        by = ", as weights are not counts"
    return {
        "hessian": f"from the likelihood's curvature{by}",
        "weighted": "from the likelihood's curvature, as weights are not counts",
        "sandwich": f"sandwich{by}",
        "cluster": f"clustered{by}",
        "bootstrap": f"bootstrap{by}",
    }[kind]
