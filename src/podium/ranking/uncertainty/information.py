"""Information: what a fitted likelihood model hands over so that others can say how sure its scores are."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from podium.errors import InputError

__all__ = ["KINDS", "WEIGHTED", "Alternative", "Information", "WeightedInformation"]

# How the covariance of the scores may be estimated; `Information.require` says what each needs, `Information.choose`
# what "auto" stands for.
KINDS = ("auto", "hessian", "sandwich", "cluster", "bootstrap")
WEIGHTED = "weighted"  # what "auto" stands for where weights are not counts and the model says how votes vary
MAX_WEIGHT_EXCESS = 0.01  # share by which Σ w² may differ from Σ w before weights are no longer taken for counts


@dataclass(frozen=True, eq=False, slots=True)
class Alternative:
    """Penalties that the votes leave possible beside those that were chosen, and what is different there.

    Attributes
    ----------
    share : float
        How probable they are; the shares of all alternatives sum to one.
    curvature, ridge, border, corner
        As in `Information`.
    shift : float array (n + p)
        How far the optimum there is from the one that is shown, in scores and extra parameters.
    """

    share: float
    curvature: np.ndarray
    ridge: float
    border: np.ndarray | None
    corner: np.ndarray | None
    shift: np.ndarray


@dataclass(frozen=True, eq=False, slots=True)
class Information:
    """What the votes say about the scores: the curvature of the loss at the optimum, and each vote's gradient.

    The Hessian of the penalised loss in the scores u and the extra parameters e (tie, side, covariate coefficients,
    feature weights) is kept in parts, because u alone may be a million long:

        H = [[ Laplacian(left, right, curvature) + ridge·I, border ], [ borderᵀ, corner ]]

    Attributes
    ----------
    n : int
        Number of items.
    left, right : int arrays
        One entry per row of curvature, usually a unique pair; a pair may appear in several rows.
    curvature : float array
        Second derivative of the row's loss along u_left − u_right: Σ weight·p(1−p) for a logistic model.
    ridge : float
        Second derivative of the penalty, 2·l2. With 0 the common shift has no curvature; centring takes it out.
    border, corner : float arrays (n, p) and (p, p), or None
        Mixed and pure second derivatives of the extra parameters.
    vote_left, vote_right, vote_gradient : arrays, or None
        d loss / d (u_left − u_right) of ONE vote of weight 1 in the row. There may be more of these rows than of
        curvature: one per pair × outcome (× cluster). The sandwich, cluster and bootstrap kinds need them.
    vote_weight, vote_weight_sq : float arrays
        Σ w and Σ w² over the votes of the row. When weights are not counts only Σ w² makes the sandwich honest.
    vote_extra_gradient : float array (rows, p), or None
        Derivative of one vote's loss with respect to the extra parameters.
    target : float array, or None
        Share of the row's votes that left won (1, 0, or ½ for a tie counted half). Plain logistic models give it; with
        it and `scores` the bootstrap refits, without it takes one Newton step.
    scores : float array, or None
        The optimum, in log-odds.
    clusters : dict of str to int array
        Name ("judge", "group", "ranking") to the cluster code of every row of votes; −1 is a vote of its own.
    open_above, open_below : bool arrays, or None
        Items whose score has no finite upper (they only win) or lower bound (they only lose).
    tie_strength : float
        Davidson's ν where ties are outcomes of their own, else 0: a vote's margin follows from its gradient and this.
    groups : int array, or None
        Group of each item, where groups were never compared with each other: a posterior's prior places them, no vote.
    alternatives : tuple of Alternative
        Where penalties were chosen from the votes, the other ones that the votes leave possible. Covariances are then
        the mean over these, and the covariance of where they put the optimum.
    """

    state_version: ClassVar[int] = 2  # since alternatives are stored

    n: int
    left: np.ndarray
    right: np.ndarray
    curvature: np.ndarray
    ridge: float = 0.0
    border: np.ndarray | None = None
    corner: np.ndarray | None = None
    vote_left: np.ndarray | None = None
    vote_right: np.ndarray | None = None
    vote_gradient: np.ndarray | None = None
    vote_weight: np.ndarray | None = None
    vote_weight_sq: np.ndarray | None = None
    vote_extra_gradient: np.ndarray | None = None
    target: np.ndarray | None = None
    scores: np.ndarray | None = None
    clusters: dict[str, np.ndarray] = field(default_factory=dict)
    open_above: np.ndarray | None = None
    open_below: np.ndarray | None = None
    tie_strength: float = 0.0
    groups: np.ndarray | None = None
    alternatives: tuple[Alternative, ...] = ()

    def __post_init__(self) -> None:
        assert len(self.left) == len(self.right) == len(self.curvature), "one entry per curvature row"
        assert (self.border is None) == (self.corner is None), "border and corner come together"
        assert (self.vote_extra_gradient is None) or self.border is not None, "extra pulls need their curvature"

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """A state of version 1 had no alternatives."""
        return state

    def under_each_penalty(self) -> Iterator[tuple[Alternative, Information]]:
        """The alternatives, each with the whole information there."""
        for one in self.alternatives:
            changed = {name: getattr(one, name) for name in ("curvature", "ridge", "border", "corner")}
            yield one, dataclasses.replace(self, alternatives=(), **changed)

    @property
    def prior_variance(self) -> float:
        """Variance of a score (given its features) that no vote speaks of."""
        if not self.alternatives:
            return 1.0 / self.ridge
        return sum(one.share / one.ridge for one in self.alternatives)

    @property
    def extras(self) -> int:
        """Number of extra parameters."""
        return 0 if self.corner is None else len(self.corner)

    @property
    def has_gradients(self) -> bool:
        """Whether the gradient of every vote is known."""
        return self.vote_gradient is not None

    @property
    def shift_free(self) -> bool:
        """Whether adding a constant to every score changes nothing but the penalty; false with feature weights."""
        if self.border is None:
            return True
        rounding = 1e-12 * self.curvature.sum()  # all that is left of an effect that no score speaks of
        return bool(np.all(np.abs(self.border.sum(axis=0)) <= 1e-9 * np.abs(self.border).sum(axis=0) + rounding))

    @property
    def counted(self) -> bool:
        """Whether weights are counts of votes: Σ w² = Σ w; taken to be so where the votes' weights are not known."""
        if self.vote_weight is None or self.vote_weight_sq is None:
            return True
        off = float(np.abs(self.vote_weight_sq - self.vote_weight).sum())
        return off <= MAX_WEIGHT_EXCESS * float(self.vote_weight.sum())

    @property
    def votes_per_weight(self) -> float:
        """Σw/Σw²: how many votes a weight of 1 is worth; 1 where weights are counts, or not known."""
        if self.counted or self.vote_weight is None or self.vote_weight_sq is None:
            return 1.0
        squares = float(self.vote_weight_sq.sum())
        return float(self.vote_weight.sum()) / squares if squares > 0 else 1.0

    def choose(self, kind: str) -> str:
        """What "auto" stands for: "hessian" when weights are counts, else "sandwich"; other kinds as they are."""
        if kind != "auto":
            return kind
        robust = self.has_gradients and not (self.extras and self.vote_extra_gradient is None)
        return "sandwich" if robust and not self.counted else "hessian"

    def require(self, kind: str, cluster: str | None = None) -> str | None:
        """Check that `kind` can be had from this information; return the name of the cluster it will use."""
        if kind not in (*KINDS, WEIGHTED):
            raise InputError(f"uncertainty {kind!r} is not known; choose one of {', '.join(KINDS)}")
        if cluster is not None and kind not in ("cluster", "bootstrap"):
            raise InputError(f"uncertainty {kind!r} takes no cluster; use 'cluster' or 'bootstrap'")
        kind = self.choose(kind)
        if kind == WEIGHTED:
            return None
        if kind != "hessian" and not self.has_gradients:
            raise InputError(
                f"uncertainty {kind!r} needs every vote's gradient, which this ranker does not give; use 'hessian'"
            )
        if self.extras and kind != "hessian" and self.vote_extra_gradient is None:
            raise InputError(
                f"uncertainty {kind!r} needs every vote's gradient in the extra parameters too; use 'hessian'"
            )
        if kind == "cluster" and cluster is None:
            if len(self.clusters) != 1:
                raise InputError(f"name the cluster: {self._choices()}")
            return next(iter(self.clusters))
        if cluster is not None and cluster not in self.clusters:
            raise InputError(f"no cluster {cluster!r} in the votes: {self._choices()}")
        return cluster

    def cluster_count(self, cluster: str) -> int:
        """Number of clusters; a row without one counts by itself."""
        codes = self.clusters[cluster]
        known = codes >= 0
        return len(np.unique(codes[known])) + int(np.count_nonzero(~known))

    def _choices(self) -> str:
        if not self.clusters:
            return "the votes name no judge, group or ranking"
        return "the votes have " + ", ".join(repr(name) for name in self.clusters)

    def vote_gradients(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return left, right, slope, Σ w and Σ w² of the gradient rows; `require` has checked that they exist."""
        columns = (self.vote_left, self.vote_right, self.vote_gradient, self.vote_weight, self.vote_weight_sq)
        left, right, slope, weight, weight_sq = (each for each in columns if each is not None)
        return left, right, slope, weight, weight_sq

    def summed_curvature(self) -> np.ndarray:
        """Curvature of each item's own score: the diagonal of H."""
        n = self.n
        total = np.bincount(self.left, self.curvature, n) + np.bincount(self.right, self.curvature, n)
        diagonal: np.ndarray = total + self.ridge
        return diagonal


@dataclass(frozen=True, eq=False, slots=True)
class WeightedInformation(Information):
    """Information from votes whose weights are not counts, and how their gradients vary under the model.

    Attributes
    ----------
    squared_curvature, squared_border, squared_corner : as curvature, border and corner
        The same with squared weights in place of weights.
    """

    state_version: ClassVar[int] = 1

    squared_curvature: np.ndarray = field(default_factory=lambda: np.empty(0))
    squared_border: np.ndarray | None = None
    squared_corner: np.ndarray | None = None

    @property
    def fits(self) -> bool:
        """Whether the arrays fit one another."""
        squared = (self.squared_curvature, self.squared_border, self.squared_corner)
        plain = (self.curvature, self.border, self.corner)
        shapes = [[None if each is None else each.shape for each in parts] for parts in (squared, plain)]
        return shapes[0] == shapes[1]

    def choose(self, kind: str) -> str:
        """What "auto" stands for: "weighted" when weights are not counts; other kinds as they are."""
        return WEIGHTED if kind == "auto" and not self.counted else Information.choose(self, kind)
