"""How many votes a ranking with features needs: by the RABF paper's bounds, and by how errors have fallen so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.validation import number_option, seed_option, whole_option
from podium.errors import InputError, InPython, Option
from podium.evaluate.feature_diagnosis import residual_norm
from podium.pairwise.rabf import RABF

__all__ = ["RiskBound", "VotePlan", "plan_votes", "risk_bound"]

Floats = NDArray[np.float64]

SIZES = (0.25, 0.35, 0.5, 0.7, 1.0)  # shares of the votes on the curve
MAX_PAIRS = 20_000  # pairs that stand for all
SLOWEST, FASTEST = -0.05, -2.0  # exponents of votes a curve may have
MAX_WRITTEN_VOTES = 1e12  # votes that are no longer written out


@dataclass(frozen=True, slots=True)
class RiskBound:
    """A bound on the expected loss of a vote, R_ℓ ≤ empirical + complexity + deviation, with probability 1 − delta.

    Attributes
    ----------
    votes : m
    empirical : mean loss of the votes fitted
    complexity : 2 L (√2 X W + R) √(2/m), of Lemmas 1 and 2: weights no longer than W, residuals than R, features than X
    deviation : B √(log(1/delta) / 2m)
    loss, delta, lipschitz, largest : which loss, its Lipschitz constant L and its largest value B within the limits
    feature_norm, residual_norm, radius : W, R and X
    """

    loss: str
    votes: float
    delta: float
    empirical: float
    feature_norm: float
    residual_norm: float
    radius: float
    lipschitz: float
    largest: float

    @property
    def complexity(self) -> float:
        """Twice the Rademacher complexity of the losses."""
        return self._numerators[0] / math.sqrt(self.votes)

    @property
    def deviation(self) -> float:
        """What chance adds."""
        return self._numerators[1] / math.sqrt(self.votes)

    @property
    def _numerators(self) -> tuple[float, float]:
        lengths = math.sqrt(2.0) * self.radius * self.feature_norm + self.residual_norm
        chance = self.largest * math.sqrt(math.log(1.0 / self.delta) / 2.0)
        return 2.0 * self.lipschitz * lengths * math.sqrt(2.0), chance

    @property
    def value(self) -> float:
        """The bound on the expected loss."""
        return self.empirical + self.complexity + self.deviation

    @property
    def error(self) -> float:
        """A bound on the share of votes that the scores have the wrong way round; none loses less than a tie."""
        return min(1.0, self.value / {"logistic": math.log(2.0), "squared": 1.0, "hinge": 1.0}[self.loss])

    def votes_for(self, epsilon: float) -> float:
        """Votes after which the bound on the error beyond the best possible is ε.

        Excess loss x is excess error of at most √(2x) for the log loss, √x for the squared and x for the hinge loss
        (Bartlett, Jordan & McAuliffe 2006). The paper's theorems take these for straight lines, as only the last is.
        """
        number_option("epsilon", epsilon, above=0)
        excess = {"logistic": epsilon**2 / 2.0, "squared": epsilon**2, "hinge": epsilon}[self.loss]
        with np.errstate(over="ignore", divide="ignore"):  # more than a float can say is inf
            return float((np.float64(sum(self._numerators)) / excess) ** 2)


def risk_bound(model: RABF, comparisons: Comparisons, *, delta: float = 0.05) -> RiskBound:
    """The bound of Theorems 1 and 2 for a fitted RABF and the votes it was fitted to.

    W and R are those of `max_norm`, for which it is a theorem; else the lengths found, ‖w‖ and the root of
    `residual_norm`, as the paper's (4) takes the true ones. Expect it to be far above what is so: see `plan_votes`.

    >>> votes = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("a", "c"), ("c", "b")] * 500)
    >>> model = RABF(loss="hinge", max_norm=(0.5, 0.5)).fit(votes, {"a": [2.0], "b": [1.0], "c": [0.0]})
    >>> bound = risk_bound(model, votes)
    >>> bound.empirical < 0.6 < bound.value < 1.5
    True
    """
    c = as_comparisons(comparisons, "risk_bound")
    if not isinstance(model, RABF):
        raise InputError(f"a fitted RABF is expected, not a {type(model).__name__}")
    model._check_fitted()
    if not 0.0 < number_option("delta", delta, above=0) < 1.0:
        raise InputError(f"delta={delta!r}: a probability between 0 and 1 is expected")
    if model.tie_strength_ or model.flip_rate or model.effects_:
        raise InputError("the bounds are about scores alone; fit without side, covariates, modelled ties and flips")
    _, _, outcome, weight = c.vote_rows()
    margin = model._margins(c)
    if model.max_norm is not None:
        limits = float(model.max_norm[0]), float(model.max_norm[1])
    else:
        known = model.loss != "hinge"
        rest = residual_norm(model) if known else float(model.residuals_ @ model.residuals_)
        limits = float(np.linalg.norm(model.coef_ * model._scale)), math.sqrt(rest)
    radius = model.feature_radius_
    farthest = 2.0 * radius * limits[0] + math.sqrt(2.0) * limits[1]
    if model.loss == "squared":
        target = 2.0 * outcome - 1.0 if c.margin is None else c.margin
        off = farthest + float(np.max(np.abs(target)))
        each, lipschitz, largest = (margin - target) ** 2, 2.0 * off, off**2
    elif model.loss == "hinge":
        each = outcome * np.maximum(1.0 - margin, 0.0) + (1.0 - outcome) * np.maximum(1.0 + margin, 0.0)
        lipschitz, largest = 1.0, 1.0 + farthest
    else:
        each = np.logaddexp(0.0, margin) - outcome * margin
        lipschitz, largest = 1.0, float(np.logaddexp(0.0, farthest))
    empirical = float(np.average(each, weights=weight))
    return RiskBound(model.loss, float(weight.sum()), float(delta), empirical, *limits, radius, lipschitz, largest)


@dataclass(frozen=True, slots=True)
class VotePlan:
    """How many votes until a share ε of the pairs of items is in the wrong order.

    Attributes
    ----------
    epsilon : what is asked for
    sizes, errors : votes learned from, and the expected share of misordered pairs there, by the posterior
    by_curve : votes where that curve, a power of the votes, reaches ε; the number to plan with (infinite where more
        votes have not helped, or where no float holds so many)
    by_bound : votes where the paper's bound does; a guarantee, and larger by orders of magnitude
    exponent : of the votes in the curve: −½ is what the theorems say
    """

    epsilon: float
    sizes: tuple[int, ...]
    errors: tuple[float, ...]
    by_curve: float
    by_bound: float
    exponent: float

    def __str__(self) -> str:
        now = f"{self.sizes[-1]:,} votes: about {100 * self.errors[-1]:.1f} % of pairs in the wrong order"
        if math.isinf(self.by_curve) and self.exponent == SLOWEST:
            return f"{now}, and more votes have not lowered it so far: the items may well be equal"
        votes = f"{self.by_curve:,.0f}" if self.by_curve < MAX_WRITTEN_VOTES else f"{self.by_curve:.2g}"
        return (
            f"{now}; {100 * self.epsilon:g} % needs about {votes} votes by the learning curve, "
            f"{self.by_bound:.2g} by the bound of Theorem 2"
        )


def plan_votes(
    comparisons: Comparisons,
    features: Any = None,
    *,
    epsilon: float = 0.05,
    splits: int = 3,
    seed: int = 0,
    id: str | None = None,
    **options: Any,
) -> VotePlan:
    """About how many votes until a share `epsilon` of the pairs is in the wrong order, by the curve and by the bound.

    The curve: RABF (with `options`) is fitted to growing parts of the votes, and each time the posterior says how
    probable it is that a pair of compared items is in the wrong order. No truth is needed, and ties and noise in the
    votes are allowed for.
    """
    rows = len(as_comparisons(comparisons, "plan_votes").left)
    if not 0.0 < number_option("epsilon", epsilon, above=0) < 0.5:
        raise InputError(f"epsilon={epsilon!r}: a share of pairs between 0 and 0.5 is expected")
    whole_option("splits", splits, least=1)
    if comparisons.count is not None:
        raise InputError("a plan takes votes apart; keep each vote a row", InPython(" (keep=)"))
    if rows < 20:
        raise InputError(f"{rows} votes are too few to plan by; it needs at least 20")
    if options.get("loss") == "hinge":
        raise InputError(Option("loss", "hinge"), " has no posterior to plan by; use another")
    rng = np.random.default_rng(seed_option("seed", seed))
    sizes = tuple(max(2, round(share * rows)) for share in SIZES)
    errors = np.zeros((len(sizes), splits))
    for split in range(splits):
        order = rng.permutation(rows)
        for place, size in enumerate(sizes):
            model = RABF(**options).fit(comparisons.take(order[:size]), features, id=id)
            errors[place, split] = _misordered(model, rng)
    means = errors.mean(axis=1)
    exponent = float(np.polyfit(np.log(sizes), np.log(np.maximum(means, 1e-12)), 1)[0])
    exponent = min(max(exponent, FASTEST), SLOWEST)
    with np.errstate(over="ignore"):  # a tiny epsilon needs more votes than a float can say: inf
        by_curve = float(sizes[-1] * np.float64(means[-1] / epsilon) ** (-1.0 / exponent))
    if exponent == SLOWEST and means[-1] > epsilon:
        by_curve = math.inf  # more votes have not helped so far
    plain = {name: value for name, value in options.items() if name not in ("side_effect", "ties", "flip_rate")}
    bare = _without_covariates(comparisons)
    whole = RABF(**plain).fit(bare, features, id=id)
    by_bound = risk_bound(whole, bare).votes_for(epsilon)
    return VotePlan(float(epsilon), sizes, tuple(means.tolist()), by_curve, by_bound, exponent)


def _without_covariates(c: Comparisons) -> Comparisons:
    import dataclasses

    return c if c.covariates is None else dataclasses.replace(c, covariates=None, covariate_names=())


def _misordered(model: RABF, rng: np.random.Generator) -> float:
    """The mean posterior probability that a pair of compared items is in the wrong order."""
    from scipy.special import ndtr

    ranking = model.ranking_
    unseen = set(model.unseen_)
    met = np.array([k for k, item in enumerate(ranking.items) if item not in unseen])
    one, other = np.triu_indices(len(met), 1)
    if len(one) > MAX_PAIRS:
        kept = rng.choice(len(one), MAX_PAIRS, replace=False)
        one, other = one[kept], other[kept]
    gap = np.abs(ranking.scores[met[one]] - ranking.scores[met[other]])
    errors, covariance = ranking.std_errors, ranking.covariance
    assert errors is not None
    variance = errors[met[one]] ** 2 + errors[met[other]] ** 2
    if covariance is not None:
        variance = variance - 2.0 * covariance[met[one], met[other]]
    return float(ndtr(-gap / np.sqrt(np.maximum(variance, 1e-300))).mean())
