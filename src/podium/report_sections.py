"""Sections of the report about what a model learned beside scores: features, covariates, judges."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from podium import feature_plots, plots
from podium.feature_diagnosis import residual_outliers
from podium.pairwise.bradley_terry import BradleyTerry
from podium.pairwise.crowd import CrowdBradleyTerry
from podium.pairwise.rabf import RABF

__all__ = ["sections"]

ROWS = 200  # of a table


def sections(model: Any) -> list[str]:
    """HTML of what `model` says beyond its ranking; nothing for rankers that learn scores only."""
    if isinstance(model, RABF):
        return _features(model) + _covariates(
            model.covariate_names_, model.covariate_coef_, model.covariate_std_errors_
        )
    if isinstance(model, BradleyTerry):
        return _covariates(model.covariate_names_, model.coef_, model.coef_std_errors_)
    return _judges(model) if isinstance(model, CrowdBradleyTerry) else []


def _features(model: RABF) -> list[str]:
    if not model.feature_names_:
        return []
    said = f"Features explain {100 * model.explained_:.0f} % of the variance of the scores."
    drawn = plots.svg(feature_plots.coefficients(model), "coefficients")
    drawn = drawn.replace("<svg", f'<svg role="img" aria-label="{escape(said)}"', 1)
    rows = zip(model.feature_names_, model.coef_, model.coef_std_errors_, strict=True)
    parts = [
        "<h2>What features are worth</h2>",
        f"<p>{said}</p>",
        f'<div class="figure">{drawn}</div>',
        _table(
            ["Feature", "Score per unit", "±"],
            [(n, f"{w:+.4g}", f"{1.96 * e:.2g}" if e == e else "ignored") for n, w, e in rows],
        ),
    ]
    far = residual_outliers(model)
    if len(far):
        listed = [(row["item"], f"{row['residual']:+.2f}", f"{1.96 * row['std_error']:.2f}") for row in far.to_dicts()]
        parts += ["<p>Better (+) or worse (−) than their features say:</p>", _table(["Item", "Residual", "±"], listed)]
    if model.unseen_:
        some = ", ".join(str(item) for item in model.unseen_[:8]) + (", …" if len(model.unseen_) > 8 else "")
        parts.append(f"<p>Ranked by features alone, without votes: {escape(some)} ({len(model.unseen_):,} in all).</p>")
    return parts


def _covariates(names: tuple[str, ...], effects: np.ndarray, errors: np.ndarray) -> list[str]:
    if not names:
        return []
    rows = [(n, f"{w:+.4g}", f"{1.96 * e:.2g}") for n, w, e in zip(names, effects, errors, strict=True)]
    said = "What a vote's covariates add to the margin, left minus right; scores are those at equal covariates."
    return ["<h2>Covariates</h2>", f'<p class="soft">{said}</p>', _table(["Covariate", "Per unit", "±"], rows)]


def _judges(model: CrowdBradleyTerry) -> list[str]:
    rows = [
        (
            row["judge"],
            f"{row['reliability']:.2f}",
            f"{1.96 * row['std_error']:.2f}",
            f"{row['votes']:,.10g}",
            row["flag"] or "",
        )
        for row in model.judge_frame().to_dicts()
    ]
    said = "Reliability is 1 for the average judge, 0 for coin flips, negative for answers the wrong way round."
    heads = ["Judge", "Reliability", "±", "Votes", "Flag"]
    return ["<h2>Judges</h2>", f'<p class="soft">{said}</p>', _table(heads, rows)]


def _table(heads: list[str], rows: Sequence[tuple[str, ...]]) -> str:
    kinds = ["item", *["n"] * (len(heads) - 1)]
    top = "".join(f'<th class="{kind}">{escape(head)}</th>' for head, kind in zip(heads, kinds, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f'<td class="{kind}">{escape(cell)}</td>' for cell, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for row in rows[:ROWS]
    )
    more = f'<p class="soft">… and {len(rows) - ROWS:,} more</p>' if len(rows) > ROWS else ""
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{more}"
