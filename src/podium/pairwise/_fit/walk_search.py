"""How fast scores move, from the votes: the drift and the spreads with the largest marginal likelihood."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.pairwise._fit.walk_model import WalkModel
from podium.pairwise._fit.walks import WalkSolution, log_evidence, solve_walks

__all__ = ["Search", "Spreads"]

Floats = NDArray[np.float64]

LEAST_WALK = 1e-3  # log-odds walked over the whole time, below which nothing moves
MOST_STEP = 10.0  # log-odds walked from one time to the next
LEAST_SD, MOST_SD = 1e-3, 30.0
MAX_TRIES = {2: 60, 3: 120}  # by how many numbers are looked for
FIRST_WALK = 0.1  # log-odds walked over the whole time, from which on drifts are looked at where none was found
LESS_DRIFT = (0.3, 0.65)  # shares of the best drift that may be true too
MORE_DRIFT = 1.5  # and how often as much the next beyond it is
MAX_DRIFTS = 12
FAR_BELOW = 4.0  # of the log evidence: what is left beyond is next to nothing
LEAST_SHARE = 0.01


class Spreads(NamedTuple):
    """What rules the prior: how fast scores move, how far apart newcomers are, and how large the features' weights.

    Weights are of features as they were scaled. In a question None is what to look for.
    """

    drift: float | None
    sd: float | None
    weight_sd: float | None


class Search:
    """Fits a model at drifts and spreads, each try from the scores of the last, and looks for the best of them."""

    def __init__(self, model: WalkModel, span: float, tol: float, max_iter: int) -> None:
        self.model, self.span, self.tol, self.max_iter = model, span, tol, max_iter
        self.scores: Floats | None = None
        self.extras: Floats | None = None

    def fit(self, at: Spreads) -> WalkSolution:
        """The optimum there, from the last one."""
        precision = self.model.precision(at.drift or 0.0, at.sd or 0.0, at.weight_sd or 1.0)
        found = solve_walks(
            self.model.rows, self.model.loss, precision, items=self.model.n, tol=self.tol, max_iter=self.max_iter,
            scores=self.scores, extras=self.extras,
        )  # fmt: skip
        self.scores, self.extras = found.scores, found.point.extras
        return found

    def evidence(self, at: Spreads) -> float:
        """Log marginal likelihood there."""
        return log_evidence(self.model.rows, self.fit(at), self.model.n)

    @property
    def _centres(self) -> dict[str, float]:
        """Logarithms at which the weak prior of the spreads is centred."""
        return {"sd": 0.0, "weight_sd": self.model.prior_centre}

    def prior_and_evidence(self, at: Spreads, asked: Spreads) -> float:
        """The evidence there, and the weak prior log s ~ N(centre, 1) of those spreads that are looked for."""
        logs = {name: math.log(getattr(at, name)) for name in self._centres if getattr(asked, name) is None}
        if not self.model.weights:
            logs.pop("weight_sd", None)
        return self.evidence(at) - 0.5 * sum((x - self._centres[name]) ** 2 for name, x in logs.items())

    def best(self, asked: Spreads) -> tuple[Spreads, float]:
        """The best drift and spreads, those given (not None) as they are, and the evidence there with their prior's.

        Spreads that are looked for have the weak prior that those of Bradley-Terry and RABF have: a handful of votes,
        which say nothing of them, must not make all items equal for certain.
        """
        from scipy.optimize import minimize, minimize_scalar

        if not self.model.weights:
            asked = asked._replace(weight_sd=1.0)  # of no weights
        free = [name for name, value in zip(asked._fields, asked, strict=True) if value is None]
        bounds = self._bounds()

        def values(at: Any) -> Spreads:
            logs = zip(free, np.atleast_1d(at).tolist(), strict=True)
            return asked._replace(**{name: math.exp(min(max(x, bounds[name][0]), bounds[name][1])) for name, x in logs})

        def loss(at: Any) -> float:
            return -self.prior_and_evidence(values(at), asked)

        if not free:
            return asked, -loss([])
        if len(free) == 1:
            found: Any = minimize_scalar(loss, bounds=bounds[free[0]], method="bounded", options={"xatol": 1e-2})
        else:
            begin = self._centres | {"drift": math.log(0.5 / math.sqrt(self.span)) if self.span else 0.0}
            steps = {"drift": 1.0, "sd": -0.7, "weight_sd": -0.7}
            first = np.array([begin[name] for name in free])
            simplex = np.vstack([first, first + np.diag([steps[name] for name in free])])
            limit = MAX_TRIES[len(free)]
            options: Any = {"initial_simplex": simplex, "xatol": 5e-2, "fatol": 5e-2, "maxfev": limit}
            found = minimize(loss, first, method="Nelder-Mead", options=options)
        return values(found.x), -float(found.fun)

    def drifts(self, best: Spreads) -> list[tuple[float, float]]:
        """Drifts that the votes leave possible, with their shares of the posterior; a drift is as likely as any before.

        Empty where the votes leave none but the best.
        """
        assert best.drift, "scores move"
        least = math.exp(self._bounds()["drift"][0])
        drifts = [best.drift * ratio for ratio in LESS_DRIFT if best.drift * ratio > least] + [best.drift]
        return self._shares(best, drifts, [self.evidence(best._replace(drift=drift)) for drift in drifts])

    def drifts_beside_none(self, best: Spreads, evidence: float) -> list[tuple[float, float]]:
        """The same where the votes show no drift: `evidence` is that of none."""
        first = max(FIRST_WALK / math.sqrt(self.span), math.exp(self._bounds()["drift"][0]))
        return self._shares(best, [0.0, first], [evidence, self.evidence(best._replace(drift=first))])

    def _shares(self, best: Spreads, drifts: list[float], found: list[float]) -> list[tuple[float, float]]:
        """Shares of these drifts, which have this evidence, and of larger ones until they are far less likely."""
        while len(drifts) < MAX_DRIFTS and found[-1] > max(found) - FAR_BELOW:
            drifts.append(drifts[-1] * MORE_DRIFT)
            found.append(self.evidence(best._replace(drift=drifts[-1])))
        widths = np.gradient(np.array([0.0, *drifts] if drifts[0] else drifts))
        widths = widths[1:] if drifts[0] else widths * np.where(np.arange(len(drifts)) == 0, 0.5, 1.0)
        shares = np.exp(np.array(found) - max(found)) * widths
        kept = shares / shares.sum() >= LEAST_SHARE
        if kept.sum() < 2:
            return []
        shares = np.where(kept, shares, 0.0) / shares[kept].sum()
        return [(drift, float(share)) for drift, share in zip(drifts, shares.tolist(), strict=True) if share > 0]

    def _bounds(self) -> dict[str, tuple[float, float]]:
        """Logarithms between which to look."""
        sd, centre = (math.log(LEAST_SD), math.log(MOST_SD)), self.model.prior_centre
        bounds = {"sd": sd, "weight_sd": (centre + sd[0], centre + sd[1])}
        if self.span > 0:
            steps = self.model.walks.gap[self.model.walks.gap > 0]
            shortest = float(steps.min()) if len(steps) else self.span
            least, most = LEAST_WALK / math.sqrt(self.span), MOST_STEP / math.sqrt(shortest)
            bounds["drift"] = (math.log(least), math.log(most))
        return bounds
