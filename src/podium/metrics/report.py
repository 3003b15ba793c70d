"""Every ranking metric in one pass over the scores."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from podium.data.validation import entries_of
from podium.errors import InputError, InPython, Option
from podium.kernels.metrics.gains import statistics
from podium.kernels.metrics.ranks import count_places, pack, places_from_order, unpack
from podium.metrics.formulas import Statistics, per_row
from podium.metrics.names import Metric, default_metrics, parse
from podium.metrics.rows import Rows, read_rows
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Report", "ranking_report"]

TIES = {"label": 0, "average": 1, "worst": 2}
WORDS: dict[str, tuple[str, ...]] = {
    "kind": ("loss", "gain"),
    "ties": tuple(TIES),
    "empty": ("best", "worst", "skip"),
    "gain": ("exp", "linear"),
}
NUMBERS = int | float | np.integer | np.floating
CHUNK = 1 << 16  # scores worked on at a time: they stay in the second-level cache


@dataclass(frozen=True)
class Report(Mapping[str, float]):
    """Metrics by name: `report["ap"]` is the mean over rows, `report.per_row["ap"]` one value for each.

    Rows without a value (see `empty`) are NaN in `per_row` and left out of the mean.
    """

    per_row: dict[str, np.ndarray]
    kind: str
    rows: int

    def __getitem__(self, name: str) -> float:
        if name not in self.per_row and isinstance(name, str):
            name = _canonical(name)
        if name not in self.per_row:
            raise KeyError(f"{name!r} was not asked for; the report holds {', '.join(self.per_row)}")
        values = self.per_row[name]
        known = values[~np.isnan(values)]
        return float(known.mean()) if known.size else float("nan")

    def __iter__(self) -> Iterator[str]:
        return iter(self.per_row)

    def __len__(self) -> int:
        return len(self.per_row)

    def __repr__(self) -> str:
        lines = [f"mean {self.kind} over {counted(self.rows, 'row')}"]
        return "\n".join(lines + [f"  {name:<10} {self[name]:.4f}" for name in self])

    def to_frame(self) -> pl.DataFrame:
        """One row per example, one column per metric."""
        import polars as pl

        return pl.DataFrame(self.per_row)


def ranking_report(
    relevance: Any,
    scores: Any,
    at: Sequence[int] = (1, 3, 5),
    *,
    metrics: Sequence[str] | None = None,
    kind: Literal["loss", "gain"] = "loss",
    ties: Literal["label", "average", "worst"] = "label",
    empty: Literal["best", "worst", "skip"] = "best",
    group: Any = None,
    relevant_from: float | None = None,
    gain: Literal["exp", "linear"] = "exp",
    clip: bool = False,
    threads: int = 1,
) -> Report:
    """Every ranking loss, or gain, of each row and on average, in one pass.

    Scores are sorted downwards; the rank of label i is its place, 1 the best. The losses are those of "On the
    Learnability of Multilabel Ranking" (appendix A), at least 0 and 0 for the best ranking; gains are the figures users
    know. For both, with r the rank of label i and y its relevance:

    | name | loss | gain |
    |---|---|---|
    | `sum@p` | Σ min(r, p + 1) y − least possible | Σ (p + 1 − min(r, p + 1)) y |
    | `prec@p` | most possible − Σ 1{r ≤ p} y | share of the top p that is relevant |
    | `recall@p` | min(p, n)/n − gain | share of the n relevant labels in the top p |
    | `hit@p` | 1 − gain | 1 if a relevant label is in the top p |
    | `ap`, `rr`, `rr@p` | 1 − gain | average precision; 1 / rank of the first relevant label |
    | `auc` | pairs in the wrong order / all pairs | 1 − loss |
    | `pairwise` | pairs in the wrong order | pairs in the right order |
    | `dcg`, `dcg@p` | most possible − gain | Σ (2^y − 1) / log2(1 + r), over the top p |
    | `ndcg`, `ndcg@p` | 1 − gain | DCG / most possible |

    Parameters
    ----------
    relevance : array, sparse matrix, or list of lists
        (rows, labels), 0 for irrelevant. Sparse relevance goes with dense scores, or with sparse scores: then a row
        ranks only the labels stored in `scores`, and relevant labels not stored count as never retrieved. Lists of
        unequal lists, or flat arrays with `group`, are queries with their documents.
    scores : same form; larger is better
    at : cut-offs p of the default metrics. Beyond the number of labels they are refused, unless `clip`; documents of
        queries may be fewer.
    metrics : names, instead of every metric that fits the data; those of other programs are understood (`map`, `mrr`,
        `P@10`, `ndcg_cut_10`) and reported under ours.
    ties : order of equal scores. "label": the smaller label first (the paper's). "average": expectation over all
        orders. "worst": the less relevant first.
    empty : what a row counts where the metric is undefined (no relevant label; for `auc` also no irrelevant one).
        "best": loss 0, gain 1 (the paper's: with loss 1 the losses leave their family). "worst": loss 1, gain 0.
        "skip": NaN, left out of the mean.
    group : sizes of consecutive queries, for flat `relevance` and `scores`.
    relevant_from : graded relevance counts as relevant from here on for metrics of relevant or not (`prec`, `recall`,
        `hit`, `ap`, `auc`, `rr`). Without it they refuse graded relevance, and the default leaves them out, but for the
        loss of `prec@p`, which has a meaning for grades.
    gain : "exp" 2^y − 1, or "linear" y, in DCG.
    threads : rows are shared among that many.

    Examples
    --------
    >>> report = ranking_report([[1, 0, 0, 1], [0, 1, 0, 0]], [[0.9, 0.1, 0.8, 0.2], [0.3, 0.7, 0.1, 0.2]], at=(1, 2))
    >>> report["sum@2"], report["ap"]
    (0.5, 0.0833...)
    >>> report.per_row["prec@2"]
    array([1., 0.])
    """
    check_options(kind=kind, ties=ties, empty=empty, gain=gain, relevant_from=relevant_from)
    rows = read_rows(relevance, scores, group)
    if len(rows.value) == 0:
        raise InputError("no row has a relevant label, so there is nothing to measure")
    binary = rows.is_binary or relevant_from is not None
    chosen = (
        default_metrics(_cuts(at), binary=binary, kind=kind)
        if metrics is None
        else [parse(name) for name in entries_of("metrics", metrics, "names")]
    )
    return evaluate(
        rows,
        chosen,
        kind=kind,
        ties=ties,
        empty=empty,
        relevant_from=relevant_from,
        gain=gain,
        clip=clip,
        threads=threads,
    )


def evaluate(
    rows: Rows,
    chosen: Sequence[Metric],
    *,
    kind: str = "loss",
    ties: str = "label",
    empty: str = "best",
    relevant_from: float | None = None,
    gain: str = "exp",
    clip: bool = False,
    threads: int = 1,
) -> Report:
    """`ranking_report` on rows that were read already."""
    chosen = _fitting(chosen, rows, clip)
    split = relevant_from is not None and not (rows.is_binary and relevant_from <= 1)
    if not split and not rows.is_binary:
        for metric in chosen:
            if metric.needs_binary(kind):
                raise InputError(
                    f"{metric} needs relevance 0 or 1, but the data hold {rows.top:g}; "
                    "say from where on a label is relevant with ",
                    Option("relevant_from"),
                )
    parts = [(rows, chosen)]
    if split and relevant_from is not None:
        binary = [m for m in chosen if m.splits]
        parts = [(rows, [m for m in chosen if not m.splits]), (rows.relevant_from(relevant_from), binary)]
        if binary and len(rows.value) and rows.top < relevant_from:
            raise InputError(
                Option("relevant_from", relevant_from),
                f": the largest relevance is {rows.top:g}, so nothing is relevant; lower it",
            )
    values: dict[str, np.ndarray] = {}
    for here, named in parts:
        if named:
            known = _statistics(here, named, ties, gain, threads)
            values.update({str(m): per_row(m, known, kind=kind, empty=empty) for m in named})
    return Report({str(m): values[str(m)] for m in chosen}, kind, len(rows))


def check_options(**options: Any) -> None:
    """Refuse words that no option knows, and a relevance that is none."""
    threshold = options.pop("relevant_from", None)
    is_number = isinstance(threshold, NUMBERS)
    threshold = threshold.item() if isinstance(threshold, np.generic) else threshold  # narrow types cannot be compared
    for name, word in options.items():
        if word not in WORDS[name]:
            raise InputError(Option(name, word), f" is unknown; choose one of {', '.join(map(repr, WORDS[name]))}")
    if threshold is not None and not (is_number and abs(threshold) <= sys.float_info.max):
        raise InputError(Option("relevant_from", threshold), " is no relevance; give a number")
    if threshold is not None and threshold <= 0:
        raise InputError(Option("relevant_from", threshold), ": 0 means irrelevant; give a number above 0")


def _canonical(name: str) -> str:
    """Our name of a metric, where it is one: "map" is "ap"."""
    try:
        return str(parse(name))
    except InputError:
        return name


def _cuts(at: Sequence[int]) -> tuple[int, ...]:
    if isinstance(at, str) or not isinstance(at, Iterable):
        raise InputError(Option("at", at), " is no list of cut-offs; give whole numbers from 1, such as (1, 5, 10)")
    cuts = tuple(dict.fromkeys(at))
    for p in cuts:
        if isinstance(p, bool) or not isinstance(p, int | np.integer) or p < 1:
            raise InputError(Option("at", tuple(at)), ": cut-offs are whole numbers from 1")
    return tuple(int(p) for p in cuts)


def _fitting(chosen: Sequence[Metric], rows: Rows, clip: bool) -> list[Metric]:
    """Metrics with cut-offs the rows can have; those beyond the labels are refused, or clipped on request."""
    fitting = []
    for metric in chosen:
        if rows.width is not None and metric.p is not None and metric.p > rows.width:
            if not clip:
                raise InputError(
                    f"{metric}: rows have only {counted(rows.width, 'label')}; use a cut-off up to {rows.width}",
                    InPython(" (or clip=)"),
                )
            metric = Metric(metric.kind, rows.width)
        fitting.append(metric)
    return list(dict.fromkeys(fitting))


def _statistics(rows: Rows, metrics: Sequence[Metric], ties: str, gain: str, threads: int) -> Statistics:
    """Run the kernels over chunks of rows, in threads when asked."""
    cuts = np.array(sorted({m.p for m in metrics if m.p is not None}) or [1], dtype=np.int64)
    if gain == "exp" and any(m.kind in ("dcg", "ndcg") for m in metrics):
        _check_exponents(rows)
    levels = int(rows.top) if rows.whole and rows.top <= 31 else 0
    level_gain, gains = _gain(np.arange(32.0), gain), _gain(rows.value, gain) if levels == 0 else rows.value
    widths = np.diff(rows.offsets)
    longest = int(max(widths.max(), np.diff(rows.starts).max(), 1))
    discount = 1 / np.log2(np.arange(2, longest + 2))
    running = np.concatenate([[0.0], np.cumsum(discount)])
    out = np.zeros((len(rows), Statistics.columns(len(cuts))))

    def work(first: int, last: int) -> None:
        ahead, tied = _places(rows, first, last, TIES[ties])
        here = slice(int(rows.starts[first]), int(rows.starts[last]))
        lists, held = np.zeros((4, longest + 1), dtype=np.int32), np.empty((3, longest + 1))
        statistics(
            widths[first:last], rows.starts[first : last + 1], rows.value[here], gains[here], TIES[ties], levels,
            level_gain, discount, running, cuts, ahead, tied, lists, held, out[first:last],
        )  # fmt: skip

    _in_threads(work, _chunks(rows), threads)
    return Statistics(np.ascontiguousarray(out.T), tuple(int(p) for p in cuts))


def _gain(value: np.ndarray, gain: str) -> np.ndarray:
    return np.exp2(np.minimum(value, 1000)) - 1 if gain == "exp" else value


def _check_exponents(rows: Rows) -> None:
    if rows.whole and rows.top <= 1000:
        return
    at = int(np.flatnonzero((rows.value != np.floor(rows.value)) | (rows.value > 1000))[0])
    row = int(np.searchsorted(rows.starts, at, side="right"))
    raise InputError(
        f"row {row}: relevance {rows.value[at]:g}, but 2^y - 1 in DCG needs whole grades up to 1000; use ",
        Option("gain", "linear"),
        ", or leave dcg and ndcg out",
    )


def _chunks(rows: Rows) -> list[tuple[int, int]]:
    """Consecutive rows of about CHUNK scores together."""
    marks = np.arange(0, rows.offsets[-1] + 1, CHUNK)
    cut = np.unique(np.concatenate([[0], np.searchsorted(rows.offsets[:-1], marks[1:]), [len(rows)]]))
    return [(int(a), int(b)) for a, b in pairwise(cut)]


def _in_threads(work: Callable[[int, int], None], chunks: list[tuple[int, int]], threads: int) -> None:
    if threads < 1:
        raise InputError(f"threads={threads!r}: at least 1")
    if threads == 1 or len(chunks) == 1:
        for first, last in chunks:
            work(first, last)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(work, first, last) for first, last in chunks]:
            done.result()


def _places(rows: Rows, first: int, last: int, ties: int) -> tuple[np.ndarray, np.ndarray]:
    """How many labels are ahead of, and tied with, each relevant label of some rows."""
    begin, end = int(rows.starts[first]), int(rows.starts[last])
    ahead, tied = np.empty(end - begin, dtype=np.int32), np.empty(end - begin, dtype=np.int32)
    if rows.width is None:
        _ragged_places(rows, first, last, ties, ahead, tied)
    elif end - begin > _crowded(rows.width) * (last - first):
        _sorted_places(rows, first, last, rows.width, ties, ahead, tied)
    else:
        count_places(rows.scores, rows.offsets, rows.starts, rows.position, ties, ahead, tied, first, last)
    return ahead, tied


def _ragged_places(rows: Rows, first: int, last: int, ties: int, ahead: np.ndarray, tied: np.ndarray) -> None:
    """Count, except in long rows with many relevant labels, which are sorted one by one."""
    widths, counts = np.diff(rows.offsets[first : last + 1]), np.diff(rows.starts[first : last + 1])
    begin = int(rows.starts[first])
    long = first + np.flatnonzero((widths > 400) & (counts > 32))
    done = first
    for row in [*long.tolist(), last]:
        here = slice(int(rows.starts[done]) - begin, int(rows.starts[row]) - begin)
        count_places(rows.scores, rows.offsets, rows.starts, rows.position, ties, ahead[here], tied[here], done, row)
        done = row
        if row < last and rows.position[rows.starts[row] : rows.starts[row + 1]].min() >= 0:
            here = slice(int(rows.starts[row]) - begin, int(rows.starts[row + 1]) - begin)
            _sorted_places(rows, row, row + 1, int(widths[row - first]), ties, ahead[here], tied[here])
            done = row + 1


def _sorted_places(
    rows: Rows, first: int, last: int, width: int, ties: int, ahead: np.ndarray, tied: np.ndarray
) -> None:
    scores = rows.scores[rows.offsets[first] : rows.offsets[last]].reshape(-1, width)
    starts, position = rows.starts[first : last + 1], rows.position[rows.starts[first] : rows.starts[last]]
    bits = max((width - 1).bit_length(), 1)
    keys, order = np.empty(scores.shape), np.empty(width, dtype=np.int32)
    lists, tangled = np.empty((2, width), dtype=np.int32), np.empty(len(scores), dtype=np.uint8)
    pack(scores, bits, keys)
    keys.sort(axis=1)
    unpack(scores, keys, bits, starts, position, ties, ahead, tied, order, lists, tangled)
    for row in np.flatnonzero(tangled):  # scores so close that the packed label hid their order
        here = slice(int(starts[row] - starts[0]), int(starts[row + 1] - starts[0]))
        order = np.argsort(-scores[row], kind="stable").astype(np.int32)
        places_from_order(scores[row], order, position[here], ties, ahead[here], tied[here], lists)


def _crowded(width: int) -> float:
    """Relevant labels per row from which sorting the row is cheaper than counting for each of them."""
    return 8.0 + width / 100
