"""How sure scores that move are: covariances at any time from the joint Hessian of all scores at all times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import ConvergenceError
from podium.pairwise._fit.walk_model import WalkModel
from podium.pairwise._fit.walks import System, WalkSolution, log_evidence
from podium.ranking.uncertainty import Information

__all__ = ["Points", "WalkPosterior"]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

COLUMNS_AT_ONCE = 256  # right-hand sides solved together


@dataclass(frozen=True, eq=False)
class Points:
    """Scores of items at times, read between two nodes (see `Walks.located`); `known` unless that is before the first.

    `free` is the variance that no node tells of: of a bridge, of a walk since the last node, or of a newcomer.
    """

    item: Places
    at: Floats
    before: Places
    after: Places
    weight: Floats
    free: Floats
    known: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.before)


class WalkPosterior:
    """The posterior of one fit: scores of items at times, and the covariance of any of them.

    `others`, called when first needed, gives posteriors of the same votes at other drifts, each with its share: where
    the votes leave open how fast scores move, if at all, variances are means over them, with how far their scores are
    from these.
    """

    def __init__(
        self,
        model: WalkModel,
        found: WalkSolution,
        drift: float,
        sd: float,
        others: Callable[[], Sequence[tuple[float, WalkPosterior]]] = tuple,
    ) -> None:
        found = model.all_effects(found)
        self.model, self.drift, self.sd, self.found, self.point = model, drift, sd, found, found.point
        self._others = others
        self.explained: Floats = model.matrix @ found.point.extras[: model.weights]  # of each item's score
        self.system = System(model.rows, found.point.curvature, found.precision, model.n)

    def log_evidence(self) -> float:
        """Log marginal likelihood of the votes."""
        return log_evidence(self.model.rows, self.found, self.model.n)

    def points(self, item: Places, at: Floats) -> Points:
        """Where to read the scores of items (−1 for one never compared) at times."""
        place = np.maximum(item, 0)
        before, after, weight, bridge = self.model.walks.located(place, at)
        known = (item >= 0) & (self.model.since[place] <= at) & np.isfinite(bridge)
        free = np.where(known, self.drift**2 * np.nan_to_num(bridge), self.sd**2)
        return Points(item, at, before, after, weight, free, known)

    @cached_property
    def parts(self) -> Sequence[tuple[float, WalkPosterior]]:
        """Posteriors at the drifts that the votes leave possible, with their shares; empty where one is enough."""
        return self._others()

    def _over_drifts(self, each: Callable[[WalkPosterior], tuple[Floats, Floats]]) -> Floats:
        """Mean square about the scores here, over the drifts, of what has these variances (a covariance) and means."""
        if not self.parts:
            return each(self)[0]
        own, centre = each(self)
        total = np.zeros_like(own)
        for share, part in self.parts:
            spread, mean = each(part)
            away = mean - centre
            total += share * (spread + (np.outer(away, away) if spread.ndim == 2 else away**2))
        return total

    def _of_mine(self, points: Points) -> Points:
        """The same scores where this posterior reads them."""
        return self.points(points.item, points.at)

    def scores(self, points: Points) -> Floats:
        """The scores there; newcomers are at the mean of the prior: what their features say, else 0."""
        return self.walked(points) + np.where(points.item >= 0, self.explained[points.item], 0.0)

    def walked(self, points: Points) -> Floats:
        """What features do not explain of the scores there."""
        scores, weight = self.point.scores, points.weight
        read = (1.0 - weight) * scores[points.before] + weight * scores[points.after]
        return np.where(points.known, read, 0.0)

    def loadings(self, points: Points) -> Floats:
        """(points, effects): what each point takes of the effects, which is its item's features."""
        loads = np.zeros((len(points), self.model.effects))
        known = points.item >= 0
        loads[known, : self.model.weights] = self.model.matrix[points.item[known]]
        return loads

    def contrasts(self, points: Points) -> Any:
        """(points, nodes), sparse: what each point is made of."""
        from scipy.sparse import coo_array

        row = np.tile(np.arange(len(points)), 2)
        at = np.concatenate([points.before, points.after])
        weight = np.concatenate([1.0 - points.weight, points.weight]) * np.tile(points.known, 2)
        return coo_array((weight, (row, at)), shape=(len(points), len(self.model.walks))).tocsr()

    @cached_property
    def _effects(self) -> tuple[Floats, Floats]:
        """H⁻¹ times the border of the effects, and their Schur complement.

        An effect that was found without the prior is known as well as without it, whatever else is known.
        """
        across = self.system.solve_all(np.ascontiguousarray(self.point.border))
        schur = self.point.corner - self.point.border.T @ across
        if self.model.held is not None:
            side = np.arange(len(schur)) == self.model.weights
            beside = schur[np.ix_(~side, side)]
            known = schur[np.ix_(side, side)] - beside.T @ np.linalg.solve(schur[np.ix_(~side, ~side)], beside)
            schur[np.ix_(side, side)] += 1.0 / self.model.held.variance - known
        return across, schur

    def effect_covariance(self) -> Floats:
        """Covariance of the side effect and of log ν, where they were estimated."""
        return np.asarray(np.linalg.inv(self._effects[1])) if len(self.point.extras) else np.empty((0, 0))

    def covariance(self, contrasts: Any, loads: Floats) -> Floats:
        """Of combinations of nodes, (…, nodes), and effects, (…, effects), with one another."""
        dense, parts = np.asarray(contrasts.todense() if hasattr(contrasts, "todense") else contrasts), []
        for begin in range(0, len(dense), COLUMNS_AT_ONCE):
            part = np.ascontiguousarray(dense[begin : begin + COLUMNS_AT_ONCE].T)
            parts.append(contrasts @ self.system.solve_all(part))
        inner = np.asarray(np.hstack(parts), dtype=np.float64)
        if not len(self.point.extras):
            return inner
        across, schur = self._effects
        rest = loads - contrasts @ across
        return np.asarray(inner + rest @ np.linalg.solve(schur, rest.T), dtype=np.float64)

    def centred_variances(self, points: Points, rows: Places) -> Floats:
        """Variances of some points less the mean of all of them."""

        def each(part: WalkPosterior) -> tuple[Floats, Floats]:
            mine = part._of_mine(points)
            scores = part.scores(mine)
            return part._centred_variances(mine, rows), (scores - scores.mean())[rows]

        return self._over_drifts(each)

    def _centred_variances(self, points: Points, rows: Places) -> Floats:
        contrasts, loads, n = self.contrasts(points), self.loadings(points), len(points)
        mean = np.asarray(contrasts.mean(axis=0)).reshape(1, -1)
        away = np.asarray(contrasts[rows].todense()) - mean
        own = points.free[rows] * (1.0 - 2.0 / n) + points.free.sum() / n**2
        variances = self._row_variances(away, loads[rows] - loads.mean(axis=0)) if len(rows) else np.empty(0)
        kept: Floats = np.maximum(variances + own, 0.0)
        return kept

    def _margin_loads(self, one: Points, other: Points, sided: bool) -> Floats:
        """What differences of points take of the effects."""
        loads = self.loadings(one) - self.loadings(other)
        if sided and self.model.side_effect:
            loads[:, self.model.weights] = 1.0
        return loads

    def margins(self, one: Points, other: Points, sided: bool) -> Floats:
        """Differences of points, with the side effect where rows have sides."""
        margins: Floats = self.scores(one) - self.scores(other)
        if sided and self.model.side_effect:
            margins = margins + self.point.extras[self.model.weights]
        return margins

    def margin_variances(self, one: Points, other: Points, sided: bool, over_drifts: bool = True) -> Floats:
        """Variances of differences of points, with that of the side effect where rows have sides."""

        def each(part: WalkPosterior) -> tuple[Floats, Floats]:
            mine, his = (part._of_mine(points) for points in (one, other))
            return part._margin_variances(mine, his, sided), part.margins(mine, his, sided)

        return self._over_drifts(each) if over_drifts else self._margin_variances(one, other, sided)

    def _margin_variances(self, one: Points, other: Points, sided: bool) -> Floats:
        contrasts, loads = self.contrasts(one) - self.contrasts(other), self._margin_loads(one, other, sided)
        _, first, back = np.unique(_keys(one, other), return_index=True, return_inverse=True)
        variance = np.empty(len(first))
        for begin in range(0, len(first), COLUMNS_AT_ONCE):
            some = first[begin : begin + COLUMNS_AT_ONCE]
            variance[begin : begin + len(some)] = self._row_variances(
                np.asarray(contrasts[some].todense()), loads[some]
            )
        kept: Floats = np.maximum(variance[back] + one.free + other.free, 0.0)
        return kept

    def margin_covariance(self, one: Points, other: Points, sided: bool) -> Floats:
        """Covariance of differences of points; what an item walks after its last node is shared by its rows."""

        def each(part: WalkPosterior) -> tuple[Floats, Floats]:
            mine, his = (part._of_mine(points) for points in (one, other))
            return part._margin_covariance(mine, his, sided), part.margins(mine, his, sided)

        return self._over_drifts(each)

    def _margin_covariance(self, one: Points, other: Points, sided: bool) -> Floats:
        contrasts = np.asarray((self.contrasts(one) - self.contrasts(other)).todense())
        inner = self.covariance(contrasts, self._margin_loads(one, other, sided))
        for mine, his, sign in ((one, one, 1.0), (other, other, 1.0), (one, other, -1.0), (other, one, -1.0)):
            same = (mine.item[:, None] == his.item) & (mine.item >= 0)[:, None]
            inner = inner + sign * same * np.minimum(mine.free[:, None], his.free)
        strangers = (one.item < 0) * one.free + (other.item < 0) * other.free
        return np.asarray(inner + np.diag(strangers), dtype=np.float64)

    def _row_variances(self, contrasts: Floats, loads: Floats) -> Floats:
        solved = self.system.solve_all(np.ascontiguousarray(contrasts.T))
        variance: Floats = np.einsum("ij,ji->i", contrasts, solved)
        if len(self.point.extras):
            across, schur = self._effects
            rest = loads - contrasts @ across
            variance = variance + np.einsum("ij,ji->i", rest, np.linalg.solve(schur, rest.T))
        return variance

    def information(self, points: Points) -> Information:
        """The scores there as pairs with curvatures, of which their covariance is the inverse, the mean held fixed."""

        def each(part: WalkPosterior) -> tuple[Floats, Floats]:
            mine = part._of_mine(points)
            inner = part.covariance(part.contrasts(mine), part.loadings(mine))
            return inner + np.diag(mine.free), part.scores(mine)

        covariance, n = self._over_drifts(each), len(points)
        centred = np.eye(n) - 1.0 / n
        try:
            precision = np.linalg.inv(centred @ covariance @ centred + 1.0 / n) - 1.0 / n
        except np.linalg.LinAlgError:
            raise ConvergenceError(
                "some scores are known so much better than others that numbers do not hold both; bring the weights of "
                "votes closer together"
            ) from None
        left, right = (part.astype(np.int32) for part in np.triu_indices(n, 1))
        pull = -0.5 * (precision + precision.T)[left, right]
        return Information(n, left, right, np.ascontiguousarray(pull), scores=self.scores(points))


def _keys(one: Points, other: Points) -> NDArray[Any]:
    """What tells the contrasts of rows apart."""
    columns = [
        np.where(side.known, part, -1.0)
        for side in (one, other)
        for part in (side.before.astype(np.float64), side.after.astype(np.float64), side.weight)
    ]
    columns += [side.item.astype(np.float64) for side in (one, other)]  # of newcomers, whose features differ
    table = np.ascontiguousarray(np.column_stack(columns))
    return table.view([("", table.dtype)] * table.shape[1]).ravel()
