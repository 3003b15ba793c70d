"""A forest, one for all labels, kept as arrays: saved and loaded without running code.

Trees are grown by scikit-learn, one after the other, on the targets of all labels at once: a leaf holds the mean target
of each label, which is sparse where labels are many. Scores are the mean over the trees. Splits are at random places
(ExtraTreeRegressor), or at the best place of a feature (DecisionTreeRegressor): better where labels hang on a few
features that tell nothing one by one. Best places are much the same for every tree that sees the same rows, so each
tree sees a bootstrap sample of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.errors import InputError
from podium.multilabel.rows import different_rows

__all__ = ["Forest", "grow"]

TREES = 200
MAX_FEATURES = 100
MAX_LEAVES = 5000
GREEDY_LEAF = 2
DENSE = 50_000_000  # cells of a table of features that may be written out
BLOCK = 2_000_000  # cells of a table, or steps down the trees, at a time
LARGEST = 1e30  # feature that scikit-learn's trees, which hold them in single precision, can work with
TINY = 1e-37  # and the smallest


@dataclass(frozen=True, slots=True)
class Forest:
    """Nodes of all trees, one after the other; a leaf has `left` -1 and a row of mean targets.

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
