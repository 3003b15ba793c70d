"""What features are worth: outliers, the size of what they miss, learning curves with and without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.validation import is_one, seed_option, whole_option
from podium.errors import InputError, InPython, Option
from podium.pairwise.plackett_luce import PlackettLuce
from podium.pairwise.rabf import RABF
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LearningCurve", "learning_curve", "residual_norm", "residual_outliers"]

Floats = NDArray[np.float64]


def residual_outliers(model: RABF | PlackettLuce, *, level: float = 0.95) -> pl.DataFrame:
    """Items that are better, or worse, than their features say: where r is far from 0 for its own uncertainty.

    The level holds for all items together (Šidák), so that among thousands of ordinary items few are named by chance.
    The standard deviation of r is what its prior leaves after the votes, (prior⁻¹ + curvature)^−½, with the scores of
    the opponents held fixed.

    Returns a frame with item, residual, std_error and z, farthest first.
    """
    import polars as pl

    from podium.ranking.uncertainty import quantile, width_at

    _need(model)
    information = model.ranking_.information
    assert information is not None
    error = 1.0 / np.sqrt(information.summed_curvature())
    z = model.residuals_ / error
    met = np.array([item not in set(model.unseen_) for item in model.ranking_.items])
    quantile(level)  # refuses what is no level
    far = np.flatnonzero(met & (np.abs(z) > width_at(level ** (1 / max(int(met.sum()), 1)))))
    far = far[np.argsort(-np.abs(z[far]), kind="stable")]
    items = [model.ranking_.items[k] for k in far]
    table = pl.DataFrame({"item": [str(item) for item in items], "residual": model.residuals_[far]})
    return table.with_columns(std_error=pl.Series(error[far]), z=pl.Series(z[far]))


def residual_norm(model: RABF | PlackettLuce) -> float:
    """Estimate ‖r‖², which rules how many votes a ranking needs (Theorems 1-4): the posterior mean of the square.

    The estimates r̂ are shrunk, so ‖r̂‖² alone is too small; the posterior adds each residual's variance. For an item
    without votes that is all there is: its prior variance 1/(2λ_r) is not counted, as no vote speaks of it.
    """
    _need(model)
    information = model.ranking_.information
    assert information is not None
    seen = np.array([item not in set(model.unseen_) for item in model.ranking_.items])
    variances = 1.0 / information.summed_curvature()[seen]
    return float(model.residuals_[seen] @ model.residuals_[seen] + variances.sum())


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """Held-out log loss a vote against the number of votes learned from: one row a size, one column a split."""

    sizes: tuple[int, ...]
    with_features: Floats
    without_features: Floats

    @property
    def advantage(self) -> Floats:
        """Mean log loss saved by features at each size."""
        saved: Floats = (self.without_features - self.with_features).mean(axis=1)
        return saved


def learning_curve(
    comparisons: Comparisons,
    features: Any,
    *,
    sizes: Sequence[float] = (0.05, 0.1, 0.2, 0.4, 0.8),
    splits: int = 5,
    seed: int = 0,
    id: str | None = None,
    **options: Any,
) -> LearningCurve:
    """Learn from growing shares of the votes, with features and without, and predict a held-out fifth of them.

    `options` go to `RABF`; without features it is Bradley-Terry with a penalty from the data.
    """
    rows = len(as_comparisons(comparisons, "learning_curve").left)
    whole_option("splits", splits, least=1)
    if comparisons.count is not None:
        raise InputError("a learning curve takes votes apart; keep each vote a row", InPython(" (keep=)"))
    shares = [] if is_one(sizes) else list(sizes)
    if not shares or any(not isinstance(size, float | int | np.number) or not 0 < size <= 0.8 for size in shares):
        raise InputError(f"sizes are shares of the votes up to 0.8 (a fifth is held out); got {sizes!r}")
    counts = tuple(max(2, round(size * rows)) for size in sizes)
    if rows < 20:
        raise InputError(f"{counted(rows, 'vote')}, too few for a learning curve; it needs at least 20")
    rng = np.random.default_rng(seed_option("seed", seed))
    losses = np.empty((2, len(counts), splits))
    for split in range(splits):
        order = rng.permutation(rows)
        held = comparisons.take(order[round(0.8 * rows) :])
        for place, count in enumerate(counts):
            part = comparisons.take(order[:count])
            for kind, table in enumerate((features, None)):
                model = RABF(**options).fit(part, table, id=id if table is not None else None)
                losses[kind, place, split] = -model.score(held)
    return LearningCurve(counts, losses[0], losses[1])


def _need(model: RABF | PlackettLuce) -> None:
    if not isinstance(model, RABF | PlackettLuce):
        raise InputError(f"a fitted RABF or PlackettLuce is expected, not a {type(model).__name__}")
    model._check_fitted()
    if isinstance(model, PlackettLuce) and not model.feature_names_:
        raise InputError("this PlackettLuce was fitted without features; give them to fit")
    if isinstance(model, RABF) and model.ranking_.information is None:
        raise InputError(Option("loss", model.loss), " is no likelihood: nothing says how sure residuals are")
