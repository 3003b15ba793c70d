"""Slow twins of the ranking metrics: the definitions as double loops over labels, written for reading."""

import itertools
import math

import numpy as np


def ranks_by_label(scores):
    """Rank of each label, scores falling, the smaller label first on ties (paper, appendix B)."""
    K = len(scores)
    return [
        sum(scores[m] >= scores[i] for m in range(i + 1)) + sum(scores[m] > scores[i] for m in range(i + 1, K))
        for i in range(K)
    ]


def gain_of(kind, p, ranks, y, gain="exp"):
    """Plain gain of a full ranking, without normaliser."""
    K = len(y)
    worth = [(2.0**v - 1 if gain == "exp" else v) for v in y]
    top = range(K) if p is None else [i for i in range(K) if ranks[i] <= p]
    n = sum(v > 0 for v in y)
    match kind:
        case "sum":
            return sum((p + 1 - min(ranks[i], p + 1)) * y[i] for i in range(K))
        case "prec":
            return sum(y[i] for i in top) / p
        case "recall":
            return sum(y[i] for i in top) / n
        case "hit":
            return float(any(y[i] for i in top))
        case "ap":
            return sum(sum(y[j] for j in range(K) if ranks[j] <= ranks[i]) / ranks[i] for i in range(K) if y[i]) / n
        case "rr":
            return max((1 / ranks[i] for i in top if y[i]), default=0.0)
        case "auc":
            return 1 - bad_pairs(ranks, y) / (n * (K - n))
        case "pairwise":
            return sum(y[i] < y[j] for i in range(K) for j in range(K)) - bad_pairs(ranks, y)
        case "dcg":
            return sum(worth[i] / math.log2(1 + ranks[i]) for i in top)
        case "ndcg":
            return gain_of("dcg", p, ranks, y, gain) / best("dcg", p, y, gain)
    raise AssertionError(kind)


def bad_pairs(ranks, y):
    K = len(y)
    return sum(ranks[i] < ranks[j] and y[i] < y[j] for i in range(K) for j in range(K))


def best(kind, p, y, gain="exp"):
    """Largest gain any ranking can have: all are tried up to six labels, then labels sorted by relevance."""
    K = len(y)
    if K <= 5:
        return max(gain_of(kind, p, pi, y, gain) for pi in itertools.permutations(range(1, K + 1)))
    return gain_of(kind, p, ranks_by_label(list(y)), y, gain)


def loss_of(kind, p, ranks, y, gain="exp"):
    """The paper's losses: least possible to what it is; 0 where the definition divides by 0."""
    n = sum(v > 0 for v in y)
    if n == 0 or (kind == "auc" and n == len(y)):
        return 0.0
    if kind == "prec":
        return p * (best(kind, p, y, gain) - gain_of(kind, p, ranks, y, gain))
    return best(kind, p, y, gain) - gain_of(kind, p, ranks, y, gain)


def orders_of(scores):
    """Ranks for every way to order equal scores."""
    values = sorted(set(scores), reverse=True)
    groups = [[i for i, s in enumerate(scores) if s == v] for v in values]
    for choice in itertools.product(*(itertools.permutations(g) for g in groups)):
        ranks = [0] * len(scores)
        for place, label in enumerate(itertools.chain(*choice), start=1):
            ranks[label] = place
        yield ranks


def expected_gain(kind, p, scores, y, gain="exp"):
    """Mean over every order of the tied labels."""
    return float(np.mean([gain_of(kind, p, ranks, y, gain) for ranks in orders_of(scores)]))


def worst_ranks(scores, y):
    """Equal scores: the less relevant label first."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], y[i]))
    ranks = [0] * len(scores)
    for place, label in enumerate(order, start=1):
        ranks[label] = place
    return ranks


def trec_measures(judged, run, level=1, cuts=(1, 3, 5, 10), gain="linear"):
    """What trec_eval prints for one query, from its definitions (the measures' own texts, trec_eval 9, `-m all_trec`).

    `judged` maps documents to grades, `run` documents to scores. Documents are sorted by score, equal scores by name,
    the later name first. A document is relevant with a grade of at least `level`; a grade below 0 is worth nothing.
    """
    order = sorted(sorted(run, reverse=True), key=lambda doc: -run[doc])
    hits = [judged.get(doc, 0) >= level for doc in order]
    relevant = sum(grade >= level for grade in judged.values())
    found = {"map": 0.0, "recip_rank": 0.0}
    for place, hit in enumerate(hits, start=1):
        if hit:
            found["map"] += sum(hits[:place]) / place / relevant
            found["recip_rank"] = found["recip_rank"] or 1 / place

    def discounted(grades, k):
        worth = [max(grade, 0) if gain == "linear" else 2 ** max(grade, 0) - 1 for grade in grades[:k]]
        return sum(value / math.log2(place + 1) for place, value in enumerate(worth, start=1))

    def ndcg(k):
        best = discounted(sorted(judged.values(), reverse=True), k)
        return discounted([judged.get(doc, 0) for doc in order], k) / best if best else 0.0

    found["ndcg"] = ndcg(None)
    for k in cuts:
        found[f"P_{k}"] = sum(hits[:k]) / k
        found[f"recall_{k}"] = sum(hits[:k]) / relevant if relevant else 0.0
        found[f"success_{k}"] = float(any(hits[:k]))
        found[f"ndcg_cut_{k}"] = ndcg(k)
    return found


def kendall_pairs(a, b, w):
    """Weight of pairs that agree, disagree, tied in a only, in b only, in both: a double loop."""
    out = {"agree": 0.0, "against": 0.0, "a": 0.0, "b": 0.0, "both": 0.0}
    for i in range(len(a)):
        for j in range(i):
            x, y = np.sign(a[i] - a[j]), np.sign(b[i] - b[j])
            key = ("both" if y == 0 else "a") if x == 0 else "b" if y == 0 else "agree" if x == y else "against"
            out[key] += w[i] * w[j]
    return out


def top_k_kendall(a, b, ties):
    """Fagin, Kumar and Sivakumar (2003), the four cases of K^(p) pair by pair."""
    items = list(dict.fromkeys([*a, *b]))
    total = 0.0
    for i, j in itertools.combinations(items, 2):
        ia, ja, ib, jb = (x.index(v) if v in x else None for x, v in ((a, i), (a, j), (b, i), (b, j)))
        if None not in (ia, ja, ib, jb):
            total += (ia < ja) != (ib < jb)
        elif (ia is None and ja is None) or (ib is None and jb is None):
            total += ties
        else:
            far = len(items) + 1
            sa = (far if ia is None else ia) < (far if ja is None else ja)
            sb = (far if ib is None else ib) < (far if jb is None else jb)
            total += sa != sb
    return total
