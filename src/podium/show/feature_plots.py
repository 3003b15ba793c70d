"""Pictures of what features do: coefficients with intervals, learning curves, and items their features do not explain.

Figures belong to nobody (no pyplot); write them with `podium.show.save`. Colours are from the palette of Okabe and
Ito, and no meaning depends on colour alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from podium.data.validation import instance_of
from podium.errors import InputError
from podium.evaluate.feature_diagnosis import LearningCurve, residual_outliers
from podium.pairwise.dynamic import DynamicBradleyTerry
from podium.pairwise.plackett_luce import PlackettLuce
from podium.pairwise.rabf import RABF
from podium.ranking.uncertainty import quantile
from podium.show.canvas import BLUE, SOFT, VERMILLION, check_options, panel, short, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["coefficients", "learning_curves", "outliers"]

MAX_COEFFICIENTS = 40  # drawn, the most significant first; the rest are only counted
MAX_NAMED_OUTLIERS = 12  # named beside their points


@styled
def coefficients(
    model: RABF | PlackettLuce | DynamicBradleyTerry,
    *,
    level: float = 0.95,
    standard: bool = True,
    title: str | None = None,
) -> Figure:
    """Draw each feature's coefficient with its confidence interval, the most significant first.

    With `standard` the effect of one standard deviation of the feature over all ranked items is drawn, so that features
    in different units compare; else the effect of one unit. Scores are those of the ranking. The title says how much
    features explain, unless another is given.
    """
    check_options(title=title)
    if not isinstance(model, RABF | PlackettLuce | DynamicBradleyTerry):
        kind = type(model).__name__
        raise InputError(f"model must be a RABF, PlackettLuce or DynamicBradleyTerry with features, not {kind}")
    names, effects, errors = model.feature_names_, model.coef_, model.coef_std_errors_
    unit = model.ranking_.unit * (model.feature_std_ if standard else np.ones(len(names)))
    effects, errors = effects * unit, errors * unit
    order = np.argsort(-np.abs(effects) / np.maximum(errors, 1e-300), kind="stable")[:MAX_COEFFICIENTS]
    figure, axes = panel(6.4, 1.3 + 0.27 * len(order))
    heights = -np.arange(len(order))
    half = quantile(level) * errors[order]
    significant = np.abs(effects[order]) > half
    for mask, face, label in ((significant, BLUE, "significant"), (~significant, "white", "may be 0")):
        if mask.any():
            axes.errorbar(
                effects[order][mask], heights[mask], xerr=half[mask], fmt="o", color=BLUE, markerfacecolor=face,
                markersize=5, linewidth=1.2, label=label,
            )  # fmt: skip
    axes.axvline(0.0, color=SOFT, linewidth=0.8)
    axes.set_yticks(heights, [short(names[k]) for k in order], parse_math=False)
    axes.set_ylim(-len(order) + 0.4, 0.6)
    what = "one standard deviation" if standard else "one unit"
    axes.set_xlabel(f"change of score per {what}\nof the feature, {100 * level:g} % interval")
    more = f"; {len(names) - MAX_COEFFICIENTS} weaker ones left out" if len(names) > MAX_COEFFICIENTS else ""
    said = f"features explain about {100 * model.explained_:.0f} % of the scores' variance{more}"
    axes.set_title(said if title is None else title, fontsize=10, loc="left", parse_math=False)
    figure.legend(frameon=False, fontsize=8, loc="outside upper right", ncols=2)
    return figure


@styled
def learning_curves(curve: LearningCurve) -> Figure:
    """Draw held-out log loss against votes, with features and without; bands are ± one standard error over splits."""
    instance_of(LearningCurve, curve, "curve")
    figure, axes = panel(6.0, 3.8)
    for values, label, color, style in (
        (curve.without_features, "votes alone", VERMILLION, "s--"),
        (curve.with_features, "votes and features", BLUE, "o-"),
    ):
        mean = values.mean(axis=1)
        error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1]) if values.shape[1] > 1 else np.zeros_like(mean)
        axes.plot(curve.sizes, mean, style, color=color, label=label, markersize=5)
        axes.fill_between(curve.sizes, mean - error, mean + error, color=color, alpha=0.15, linewidth=0)
    axes.axhline(np.log(2.0), color=SOFT, linewidth=0.8)
    axes.annotate("coin flips", (curve.sizes[-1], np.log(2.0)), color=SOFT, fontsize=8, ha="right", va="bottom")
    axes.set_xscale("log")
    axes.set_xticks(curve.sizes, [f"{size:,}" for size in curve.sizes])
    axes.minorticks_off()
    axes.set_xlabel("votes learned from")
    axes.set_ylabel("log loss of a held-out vote")
    axes.legend(frameon=False, fontsize=9)
    return figure


@styled
def outliers(model: RABF | PlackettLuce, *, level: float = 0.95) -> Figure:
    """Draw each item's score against the score its features predict; items far off the line are named."""
    far = residual_outliers(model, level=level)  # which refuses other models
    scores = model.ranking_.scores
    predicted = scores - model.residuals_
    with_votes = np.array([item not in set(model.unseen_) for item in model.ranking_.items])
    named = set(far["item"].to_list())
    outlying = np.array([str(item) in named for item in model.ranking_.items])
    figure, axes = panel(5.6, 5.0)
    low, high = float(min(predicted.min(), scores.min())), float(max(predicted.max(), scores.max()))
    axes.plot([low, high], [low, high], color=SOFT, linewidth=0.8)
    axes.scatter(
        predicted[with_votes & ~outlying],
        scores[with_votes & ~outlying],
        s=14,
        color=SOFT,
        label="within chance",
        linewidths=0,
    )
    if outlying.any():
        axes.scatter(
            predicted[outlying],
            scores[outlying],
            s=26,
            color=VERMILLION,
            marker="D",
            label="better or worse than predicted",
        )
    for name in far["item"].to_list()[:MAX_NAMED_OUTLIERS]:
        k = [str(item) for item in model.ranking_.items].index(name)
        axes.annotate(
            short(name, 24),
            (predicted[k], scores[k]),
            xytext=(5, 3),
            textcoords="offset points",
            fontsize=8,
            parse_math=False,
        )
    axes.set_xlabel("score predicted by features alone")
    axes.set_ylabel("score from features and votes")
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    return figure
