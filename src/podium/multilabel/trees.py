"""A forest, one for all labels, or boosted trees, kept as arrays: saved and loaded without running code.

Trees are grown by scikit-learn, one after the other, on the targets of all labels at once: a leaf holds the mean target
of each label, which is sparse where labels are many. Scores are the mean over the trees. Splits are at random places
(ExtraTreeRegressor), or at the best place of a feature (DecisionTreeRegressor): better where labels hang on a few
features that tell nothing one by one. Best places are much the same for every tree that sees the same rows, so each
tree sees a bootstrap sample of its own.

Boosted trees are scikit-learn's histogram trees, label by label: each corrects those before it. They are better where
every label hangs on features, and on places of these, of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.errors import InputError
from podium.multilabel.linear import CERTAIN
from podium.multilabel.rows import different_rows

__all__ = ["Forest", "boost", "grow"]

TREES = 200
MAX_FEATURES = 100
MAX_LEAVES = 5000
GREEDY_LEAF = 2
ROUNDS = 100  # of boosting
DENSE = 50_000_000  # cells of a table of features that may be written out
BLOCK = 2_000_000  # cells of a table, or steps down the trees, at a time
LARGEST = 1e30  # feature that scikit-learn's trees, which hold them in single precision, can work with
TINY = 1e-37  # and the smallest


@dataclass(frozen=True, slots=True)
class Forest:
    """Nodes of all trees, one after the other; a leaf has `left` -1 and a row of mean targets.

    Of boosted trees, a row of log-odds times the number of trees, so that their mean is the sum.

    A row of features goes to `left` where its value is at most `threshold`, else to `right`. Row k of the sparse
    table (`ends`, `labels`, `values`) belongs to node k.
    """

    roots: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    ends: np.ndarray
    labels: np.ndarray
    values: np.ndarray
    n_labels: int
    n_features: int

    def scores(self, X: Any) -> np.ndarray:
        """Mean target of each label (rows, labels)."""
        from scipy import sparse

        means = sparse.csr_array((self.values, self.labels, self.ends), shape=(len(self.left), self.n_labels))
        out = np.empty((X.shape[0], self.n_labels))
        count = len(self.roots)
        step = max(1, BLOCK // max(self.n_features, count))
        for first in range(0, X.shape[0], step):
            leaves = self._leaves(_single(X[first : first + step]))
            rows = np.arange(0, leaves.size + 1, count)
            share = np.full(leaves.size, 1.0 / count)
            picked = sparse.csr_array((share, leaves.reshape(-1), rows), shape=(len(leaves), len(self.left)))
            out[first : first + step] = (picked @ means).toarray()
        return out

    def _leaves(self, x: np.ndarray) -> np.ndarray:
        """The leaf of each row in each tree (rows, trees)."""
        node = np.tile(self.roots, (len(x), 1))
        rows, trees = (each.reshape(-1) for each in np.indices(node.shape))
        while rows.size:
            at = node[rows, trees]
            inner = self.left[at] >= 0
            rows, trees, at = rows[inner], trees[inner], at[inner]
            low = x[rows, self.feature[at]] <= self.threshold[at]
            node[rows, trees] = np.where(low, self.left[at], self.right[at])
        return node

    def sound(self) -> bool:
        """Whether every node that is pointed to exists, and comes later, so that every row reaches a leaf."""
        n = len(self.left)
        if not n or not len(self.roots) or any(len(each) != n for each in (self.right, self.feature, self.threshold)):
            return False
        inner = self.left >= 0
        own = np.arange(n)[inner]
        ends = len(self.ends) == n + 1 and self.ends[0] == 0 and self.ends[-1] == len(self.labels) == len(self.values)
        return bool(
            ends
            and (np.diff(self.ends) >= 0).all()
            and _within(self.roots, 0, n)
            and (self.left[inner] > own).all()
            and (self.right[inner] > own).all()
            and _within(self.left[inner], 0, n)
            and _within(self.right[inner], 0, n)
            and _within(self.feature[inner], 0, self.n_features)
            and _within(self.labels, 0, self.n_labels)
            and np.isfinite(self.values).all()
        )


def _within(codes: np.ndarray, low: int, high: int) -> bool:
    return codes.dtype.kind == "i" and (not codes.size or bool(low <= codes.min() and codes.max() < high))


def grow(X: Any, targets: Any, weight: np.ndarray, *, greedy: bool = False, trees: int | None = None) -> Forest:
    """Grow trees on sparse `targets`, always the same ones from the same data.

    A split looks at a third of the features, at most 100. Leaves hold one row, two with `greedy` splits (at the best
    place), or more where there are so many rows that the trees would fill the memory. With `greedy` splits the
    different rows are drawn anew for each tree, as many as there are; equal rows are drawn together.
    """
    from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

    features = max(1, min(X.shape[1] // 3, MAX_FEATURES))
    kind = DecisionTreeRegressor if greedy else ExtraTreeRegressor
    leaf = max(-(-X.shape[0] // MAX_LEAVES), GREEDY_LEAF if greedy else 1)
    units = _units(X)  # scikit-learn takes a feature that varies by less than 1e-7 for a constant
    x = _over(_single(X) if X.shape[0] * X.shape[1] <= DENSE else X.astype(np.float32), units)
    x = x.tocsc() if hasattr(x, "tocsr") else x
    goal = targets.toarray()
    even = weight if (weight != weight[0]).any() else None
    number = different_rows(_over(X, units), weight) if greedy and weight.any() else None
    grown = []
    for seed in range(TREES if trees is None else trees):
        tree = kind(max_features=features, min_samples_leaf=leaf, random_state=seed)
        share = even if number is None else weight * _draws(number, seed)
        grown.append(_nodes(tree.fit(x, goal, sample_weight=share).tree_, units))
    return _join(grown, targets.shape[1], X.shape[1])


def boost(X: Any, targets: Any, weight: np.ndarray) -> Forest:
    """Boost trees on each label of sparse `targets`, always the same ones from the same data; scores are log-odds.

    100 rounds of rate 0.06, trees of up to 15 leaves with 20 rows each, a split looking at half of the features: chosen
    on generated data. A target between 0 and 1 is learned as two rows, by weight.
    """
    from scipy import sparse
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    used = np.flatnonzero(weight > 0)
    X, goals, weight = X[used], targets[used].tocsc(), weight[used]
    units = _units(X)
    x = _over(_single(X), units)
    even = (weight == weight[0]).all()
    start, grown = np.zeros(targets.shape[1]), []
    with threadpool_limits(1, user_api="openmp"):  # on tables this small threads cost more than they save
        for label in range(targets.shape[1]):
            rows, hard, share = _halves(goals[:, [label]].toarray().reshape(-1), weight)
            if len(np.unique(hard)) < 2:
                start[label] = CERTAIN if hard[0] else -CERTAIN
                continue
            model = HistGradientBoostingClassifier(
                max_iter=ROUNDS, learning_rate=0.06, max_leaf_nodes=15, min_samples_leaf=20, l2_regularization=1.0,
                max_features=0.5, early_stopping=False, random_state=0,
            )  # fmt: skip
            model.fit(x[rows], hard, sample_weight=None if even and len(rows) == len(used) else share)
            start[label] = float(np.asarray(model._baseline_prediction).reshape(-1)[0])
            grown += [(label, predictors[0].nodes) for predictors in model._predictors]
    count = len(grown) + 1
    alone = np.array([-1], dtype=np.int32)
    first = (alone, np.zeros(1), alone, alone, sparse.csr_array((start * count)[None].astype(np.float32)))
    rest = [_boosted_nodes(nodes, label, targets.shape[1], count, units) for label, nodes in grown]
    return _join([first, *rest], targets.shape[1], X.shape[1])


def _halves(goal: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, 0/1 targets and weights: a row with a target in between is there twice."""
    share = np.concatenate([goal * weight, (1 - goal) * weight])
    kept = np.flatnonzero(share > 0)
    kept = kept[np.argsort(kept % len(goal), kind="stable")]  # as they came
    return kept % len(goal), (kept < len(goal)).astype(np.int64), share[kept]


def _boosted_nodes(nodes: Any, label: int, n_labels: int, count: int, units: np.ndarray) -> tuple[Any, ...]:
    """The same as `_nodes` for a tree of one label, whose values are added up."""
    from scipy import sparse

    leaf = nodes["is_leaf"].astype(bool)
    feature = np.where(leaf, -1, nodes["feature_idx"]).astype(np.int32)
    left, right = (np.where(leaf, -1, nodes[side].astype(np.int64)).astype(np.int32) for side in ("left", "right"))
    where = np.flatnonzero(leaf)
    values = (nodes["value"][leaf] * count).astype(np.float32)
    means = sparse.csr_array((values, (where, np.full(len(where), label))), shape=(len(leaf), n_labels))
    return feature, nodes["num_threshold"] * units[np.maximum(feature, 0)], left, right, means


def _draws(number: np.ndarray, seed: int) -> np.ndarray:
    """How often a bootstrap sample of the different rows draws each row, by the number of the row it equals."""
    rows = int(number.max()) + 1
    drawn = np.random.default_rng(seed).multinomial(rows, np.full(rows, 1 / rows))
    return np.where(number < 0, 0, drawn[number])


def _units(X: Any) -> np.ndarray:
    """A power of two about as large as each feature gets: dividing by it rounds nothing."""
    largest = np.asarray(abs(X).max(axis=0).toarray()).reshape(-1) if hasattr(X, "tocsr") else np.abs(X).max(axis=0)
    bounded = np.where(largest > TINY, np.minimum(largest, LARGEST), 1.0)
    return np.exp2(np.ceil(np.log2(bounded))).astype(np.float32)


def _over(X: Any, units: np.ndarray) -> Any:
    return X.multiply(1 / units).tocsr() if hasattr(X, "tocsr") else X / units


def _single(X: Any) -> np.ndarray:
    """Features as scikit-learn's trees see them: dense, in single precision."""
    x = X.toarray() if hasattr(X, "tocsr") else X
    if x.size and np.abs(x).max() > LARGEST:
        row, column = (int(each) for each in np.argwhere(np.abs(x) > LARGEST)[0])
        raise InputError(
            f"feature {column + 1} is as large as {x[row, column]:.3g}; trees take features up to {LARGEST:g}: scale it"
        )
    return np.ascontiguousarray(x, dtype=np.float32)


def _nodes(tree: Any, units: np.ndarray) -> tuple[Any, ...]:
    """Nodes of one tree, split at values of the features as given; mean targets of its leaves as a sparse table."""
    from scipy import sparse

    value = tree.value[:, :, 0]
    leaves = tree.children_left < 0
    means = sparse.csr_array(np.where(leaves[:, None], value, 0.0).astype(np.float32))
    return (
        tree.feature.astype(np.int32), tree.threshold * units[np.maximum(tree.feature, 0)],
        tree.children_left.astype(np.int32), tree.children_right.astype(np.int32), means,
    )  # fmt: skip


def _join(grown: list[tuple[Any, ...]], n_labels: int, n_features: int) -> Forest:
    """One numbering for the nodes of all trees."""
    sizes = np.array([len(each[0]) for each in grown])
    starts = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int32)
    feature, threshold = (np.concatenate([each[k] for each in grown]) for k in (0, 1))
    left, right = (
        np.concatenate([np.where(each[k] >= 0, each[k] + at, -1) for each, at in zip(grown, starts, strict=True)])
        for k in (2, 3)
    )
    means = [each[4] for each in grown]
    counts = np.concatenate([np.diff(each.indptr) for each in means])
    return Forest(
        starts, feature, threshold, left.astype(np.int32), right.astype(np.int32),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.concatenate([each.indices for each in means]).astype(np.int32),
        np.concatenate([each.data for each in means]), n_labels, n_features,
    )  # fmt: skip
