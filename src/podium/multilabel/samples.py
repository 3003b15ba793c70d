"""How many examples the paper's theorems ask for: Lemma 4.6 with all constants, and what follows from it.

"On the Learnability of Multilabel Ranking" says Õ(K d) for the VC dimension of "label i is among the first j" under
linear rankers of K labels by d features, and hides the constants. Here they are written out:

- such an answer is fixed by the signs of K − 1 linear forms (w_i − w_m) x, each of VC dimension d, so m examples can be
  answered in at most (e m / d)^(d (K − 1)) ways (Sauer), and a set that is shattered has m ≤ d (K − 1) log2(e m / d);
- by Massart's lemma each class has Rademacher complexity at most sqrt(2 d (K − 1) ln(e n / d) / n), and Lemma 4.3 (C.2)
  adds up K p (K) of them, times the largest relevance B;
- with chance 1 − δ no linear ranker's mean loss is farther from its expectation than twice that plus
  3 c sqrt(ln(2 / δ) / 2n), c the largest loss (Proposition C.1); the best on the sample is then within twice as much of
  the best there is.

These are guarantees for the worst case. They ask for far more than learning takes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from podium.data.validation import number_option, whole_option
from podium.errors import InputError, Option
from podium.multilabel.options import family_of, loss_named
from podium.text import counted

__all__ = ["SampleSizes", "sample_sizes", "vc_bound"]


@dataclass(frozen=True, slots=True)
class SampleSizes:
    """Examples that are enough, by the theorems.

    `vc`: bound on the VC dimension of "label i is among the first j". `examples`: for the linear ranker that is best
    on the sample to be within ε of the best, with chance 1 − δ. `unlabelled`, `labelled`: for Algorithm 4 over that
    ranker to learn "label i is among the first p" within ε.
    """

    vc: int
    examples: int
    unlabelled: int
    labelled: int


def vc_bound(n_features: int, n_labels: int) -> int:
    """Lemma 4.6: no more examples than this can be answered in every way by linear rankers.

    >>> vc_bound(1, 2), vc_bound(10, 5), vc_bound(100, 20)
    (1, 241, 16783)
    """
    d, pairs = whole_option("n_features", n_features, least=1), whole_option("n_labels", n_labels, least=1) - 1
    if pairs == 0:
        return 0  # one label is always first
    if pairs == 1:
        return d  # half-spaces through the origin, exactly
    return _last(lambda m: m <= d * pairs * math.log2(math.e * m / d), d)


def sample_sizes(
    n_features: int,
    n_labels: int,
    *,
    loss: str = "sum@3",
    epsilon: float = 0.1,
    delta: float = 0.05,
    max_relevance: int = 1,
) -> SampleSizes:
    """Examples that are enough to learn a linear ranker within `epsilon` of the best, with chance 1 − `delta`.

    For sum@p and prec@p, whose Rademacher complexity the paper bounds (Lemmas 4.3 and C.2).

    >>> sample_sizes(10, 5, loss="prec@1", epsilon=0.5).examples
    1712940
    """
    d, K = whole_option("n_features", n_features, least=1), whole_option("n_labels", n_labels, least=2)
    metric = loss_named(loss)
    if metric.kind not in ("sum", "prec"):
        raise InputError(Option("loss", loss), ": the paper bounds the complexity of sum@p and prec@p; choose one")
    p, ordered = family_of(metric, K)
    B = whole_option("max_relevance", max_relevance, least=1)
    number_option("epsilon", epsilon, above=0)
    number_option("delta", delta, above=0, below=1)
    classes = K * p if ordered else K
    largest = _largest(K, p, ordered) * B

    rarity = -math.log(delta)  # whose inverse may be no number

    def excess(n: int, shares: int) -> float:
        complexity = B * classes * math.sqrt(2 * d * (K - 1) * math.log(math.e * max(n, d) / d) / n)
        return 2 * (2 * complexity + 3 * largest * math.sqrt((math.log(2 * shares) + rarity) / (2 * n)))

    def enough(within: float, shares: int) -> int:
        """Examples until so near, with one of so many equal shares of δ."""
        return _last(lambda n: excess(n, shares) > within, 1) + 1

    unlabelled = enough(epsilon / 2, 2)  # the least loss that is not 0 is 1
    ways = unlabelled * math.log(math.comb(K, p))  # of relabelling them by their first p labels
    labelled = math.ceil(8 / epsilon / epsilon * (math.log(4) + rarity + ways))  # whose square may be no number
    return SampleSizes(vc_bound(d, K), enough(epsilon, 1), unlabelled, labelled)


def _largest(K: int, p: int, ordered: bool) -> int:
    """Largest sum@p or prec@p of 0/1 relevance: n relevant labels ranked last instead of first."""
    if not ordered:
        return max(min(n, p) - max(0, n - (K - p)) for n in range(1, K + 1))
    last = [min(rank, p + 1) for rank in range(1, K + 1)]
    return max(sum(last[K - n :]) - sum(last[:n]) for n in range(1, K + 1))


def _last(holds: Callable[[int], bool], first: int) -> int:
    """The last whole number from `first` on at which something holds that holds up to there and never after."""
    low, high = first, 2 * first
    while holds(high):
        low, high = high, 2 * high
        if high > 1 << 200:
            raise InputError(f"more than {counted(low, 'example')} would be needed; raise epsilon")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
