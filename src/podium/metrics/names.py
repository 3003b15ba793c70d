"""Metrics by name: `"sum@3"`, `"prec@5"`, `"ap"`, `"ndcg@10"`: shared by reports, learners and the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass

from podium.errors import InputError

__all__ = ["Metric", "default_metrics", "parse"]

# Which cut-offs a kind takes, and whether it is defined for 0/1 relevance only.
KINDS: dict[str, tuple[str, bool]] = {
    "sum": ("always", False),
    "prec": ("always", False),  # as a loss; see `Metric.needs_binary`
    "recall": ("always", True),
    "hit": ("always", True),
    "ap": ("never", True),
    "auc": ("never", True),
    "rr": ("optional", True),
    "pairwise": ("never", False),
    "dcg": ("optional", False),
    "ndcg": ("optional", False),
}

# What trec_eval, ir_measures, ranx and papers call them; letters of any case, cut-offs after @, _ or a dot.
ALIASES = {
    "map": "ap",
    "mean_average_precision": "ap",
    "average_precision": "ap",
    "mrr": "rr",
    "recip_rank": "rr",
    "reciprocal_rank": "rr",
    "p": "prec",
    "precision": "prec",
    "r": "recall",
    "success": "hit",
    "hits": "hit",
    "hit_rate": "hit",
    "ndcg_cut": "ndcg",
    "dcg_cut": "dcg",
    "map_cut": "ap",
    "recip_rank_cut": "rr",
}

MAX_CUT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its kind and, where it looks at the top only, its cut-off `p`."""

    kind: str
    p: int | None = None

    def __str__(self) -> str:
        return self.kind if self.p is None else f"{self.kind}@{self.p}"

    @property
    def binary(self) -> bool:
        """True when only 0/1 relevance is meant."""
        return KINDS[self.kind][1]

    def needs_binary(self, kind: str) -> bool:
        """True when the loss, or the gain, means 0/1 relevance: grades have a prec@p loss, but no share of p labels."""
        return self.binary or (self.kind == "prec" and kind == "gain")

    @property
    def splits(self) -> bool:
        """True when labels count as relevant or not, once it is said from where on they are."""
        return self.binary or self.kind == "prec"


def parse(name: str | Metric) -> Metric:
    """Read a metric's name, ours or that of other programs.

    >>> parse("sum@3"), parse("ndcg_cut_10"), parse("P@5")
    (Metric(kind='sum', p=3), Metric(kind='ndcg', p=10), Metric(kind='prec', p=5))
    """
    if isinstance(name, Metric):
        return name
    match = (
        re.fullmatch(r"([a-z]+(?:_[a-z]+)*)(?:[@_.](\d+))?", name.lower(), re.ASCII) if isinstance(name, str) else None
    )
    kind = ALIASES.get(match[1], match[1]) if match else ""
    if match is None or kind not in KINDS:
        raise InputError(f"{name!r} is no metric; known are {_known()}")
    p = match[2]
    cut = KINDS[kind][0]
    if p is None and cut == "always":
        raise InputError(f"{name!r} needs a cut-off, as in '{kind}@3'")
    if p is not None and cut == "never":
        raise InputError(f"{name!r}: {kind!r} looks at the whole ranking and takes no cut-off; use {kind!r}")
    if p is not None and not 1 <= int(p) <= MAX_CUT:
        raise InputError(f"{name!r}: a cut-off is at least 1, and at most {MAX_CUT:,}")
    return Metric(kind, None if p is None else int(p))


def default_metrics(at: tuple[int, ...], *, binary: bool, kind: str = "loss") -> list[Metric]:
    """Every metric that fits the data, in a fixed order."""
    chosen = [Metric("sum", p) for p in at]
    chosen += [Metric("prec", p) for p in at if binary or not Metric("prec", p).needs_binary(kind)]
    if binary:
        chosen += [Metric("recall", p) for p in at] + [Metric("hit", p) for p in at]
        chosen += [Metric("ap"), Metric("auc"), Metric("rr")]
    chosen += [Metric("pairwise"), Metric("dcg")] + [Metric("dcg", p) for p in at]
    return chosen + [Metric("ndcg")] + [Metric("ndcg", p) for p in at]


def _known() -> str:
    written = {"always": "{}@p", "never": "{}", "optional": "{0}, {0}@p"}
    return "map, mrr, P@p and the like, that is " + ", ".join(
        written[cut].format(kind) for kind, (cut, _) in KINDS.items()
    )
