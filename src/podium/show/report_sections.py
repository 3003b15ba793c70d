"""Sections of the report about what a model learned besides scores: features, covariates, side, ties, judges."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from podium.data.comparisons import Comparisons
from podium.evaluate.feature_diagnosis import residual_outliers
from podium.pairwise.bradley_terry import BradleyTerry
from podium.pairwise.crowd import CrowdBradleyTerry
from podium.pairwise.dynamic import DynamicBradleyTerry
from podium.pairwise.plackett_luce import PlackettLuce
from podium.pairwise.rabf import RABF
from podium.ranking.leaderboard import unit_word
from podium.ranking.uncertainty import quantile
from podium.show import feature_plots, plots
from podium.text import one_line

__all__ = ["sections"]

MAX_ROWS = 200  # of a table
Featured = RABF | PlackettLuce | DynamicBradleyTerry


def sections(model: Any, level: float | None = 0.95, comparisons: Comparisons | None = None) -> list[str]:
    """Return HTML on what `model` learned besides its ranking; nothing for rankers that learn scores only.

    Effects are in the unit of its ranking, those of covariates per standard deviation over the votes, where these are
    given; ± is half the width of the confidence interval, left out without a level.
    """
    sds = comparisons.covariate_sds() if comparisons is not None and comparisons.covariates is not None else None
    if isinstance(model, RABF):
        sure = model.ranking_.information is not None  # with the hinge loss there are no errors
        level = level if sure else None
        each = 1.0 if sds is None else sds
        errors = each * model.covariate_std_errors_ if sure else 0.0 * model.covariate_coef_
        effects = zip(model.covariate_names_, each * model.covariate_coef_, errors, strict=True)
        side_error = (sure and model.side_effect_std_error_) or 0.0
        side = (model.side_effect_, side_error) if model.side_effect else None
        ends = _side_and_ties(side, model.tie_strength_, "of margin" if model.in_margins else "log-odds", level)
        return _features(model, level) + _effects(list(effects), "", level, sds) + ends
    if isinstance(model, PlackettLuce):
        return _features(model, level, "rankings")
    if isinstance(model, DynamicBradleyTerry):
        unit = model.ranking_.unit
        side = (unit * model.side_effect_, unit * float(model.effect_std_errors_[0])) if model.side_effect else None
        return _features(model, level) + _side_and_ties(side, model.tie_strength_, unit_word(unit), level)
    if isinstance(model, BradleyTerry):
        unit = model.ranking_.unit
        each = unit if sds is None else unit * sds
        rows = list(zip(model.covariate_names_, each * model.coef_, each * model.coef_std_errors_, strict=True))
        side = (unit * model.side_effect_, unit * (model.side_effect_std_error_ or 0.0)) if model.side_effect else None
        word = unit_word(unit)
        return _effects(rows, word, level, sds) + _side_and_ties(side, model.tie_strength_, word, level)
    return _judges(model, level) if isinstance(model, CrowdBradleyTerry) else []


def _pm(level: float | None) -> list[str]:
    return [] if level is None else [f"± ({100 * level:g} %)"]


def _half_width(error: float, level: float | None, form: str) -> tuple[str, ...]:
    """The cell below `_pm`; an effect without a standard error is one that was left out of the fit."""
    half = format(quantile(level or 0.95) * error, form) if error == error else "ignored"
    return () if level is None else (half,)


def _features(model: Featured, level: float | None, votes: str = "votes") -> list[str]:
    if not model.feature_names_:
        return []
    caption = f"Features explain {100 * model.explained_:.0f} % of the variance of the scores."
    parts = ["<h2>Features</h2>", f"<p>{caption}</p>"]
    if level is not None:
        picture = plots.svg(feature_plots.coefficients(model, level=level), "coefficients")
        picture = picture.replace("<svg", f'<svg role="img" aria-label="{escape(caption)}"', 1)
        parts.append(f'<div class="figure" tabindex="0" role="region" aria-label="Features">{picture}</div>')
    sure, unit = model.ranking_.information is not None, model.ranking_.unit
    errors = model.coef_std_errors_ if sure else 0.0 * model.coef_
    rows = zip(model.feature_names_, unit * model.coef_, unit * errors, strict=True)
    listed = [(name, f"{weight:+.4g}", *_half_width(error, level, ".2g")) for name, weight, error in rows]
    parts.append(_table(["Feature", "Score per unit", *_pm(level)], listed))
    outliers: list[dict[str, Any]] = []
    if sure and not isinstance(model, DynamicBradleyTerry):  # there, residuals differ from time to time
        outliers = residual_outliers(model, level=level or 0.95).to_dicts()
    if outliers:
        parts.append("<p>Items significantly better (+) or worse (−) than their features predict:</p>")
        listed = [
            (row["item"], f"{row['residual']:+.2f}", *_half_width(row["std_error"], level, ".2f")) for row in outliers
        ]
        parts.append(_table(["Item", "Residual", *_pm(level)], listed))
    if model.unseen_:
        some = ", ".join(one_line(item) for item in model.unseen_[:8]) + (", …" if len(model.unseen_) > 8 else "")
        unseen = f"Ranked by features alone, without {votes}: {escape(some)} ({len(model.unseen_):,} in all)."
        parts.append(f"<p>{unseen}</p>")
    return parts


def _effects(
    effects: list[tuple[str, float, float]], unit: str, level: float | None, sds: np.ndarray | None
) -> list[str]:
    if not effects:
        return []
    rows = [(name, f"{effect:+.4g}", *_half_width(error, level, ".2g")) for name, effect, error in effects]
    measured = f", in {unit}" if unit else ""
    note = f"Effect of a vote's covariates on the margin{measured}, left minus right; scores hold at equal covariates."
    heads = ["Covariate", "Per unit", *_pm(level)]
    if sds is not None:
        heads[1:] = ["Per standard deviation", *_pm(level), "Standard deviation"]
        rows = [(*row, f"{sd:.4g}") for row, sd in zip(rows, sds, strict=True)]
    return ["<h2>Covariates</h2>", f'<p class="soft">{note}</p>', _table(heads, rows)]


def _side_and_ties(side: tuple[float, float] | None, nu: float | None, unit: str, level: float | None) -> list[str]:
    parts = []
    if side is not None:
        half = "" if level is None else f" ± {quantile(level) * side[1]:.2g} ({100 * level:g} %)"
        effect = f"Position bias, in favour of the left side: {side[0]:+.3g}{half} {unit}"
        parts.append(f"<p>{effect}; scores are corrected for it.</p>")
    if nu is not None:
        chance = f"{100 * nu / (2.0 + nu):.1f} %"
        parts.append(f"<p>Two equal items tie with chance {chance} (Davidson’s ν = {nu:.3g}).</p>")
    return ["<h2>Position bias and ties</h2>", *parts] if parts else []


def _judges(model: CrowdBradleyTerry, level: float | None) -> list[str]:
    alike, rows, bars = model.reliability_sd_ == 0, [], []
    for row in model.judge_frame().to_dicts():
        shown = () if alike else (f"{row['reliability']:.2f}", *_half_width(row["std_error"], level, ".2f"))
        if model.side_effect:
            shown += (f"{row['lean']:+.2f}", *_half_width(row["lean_std_error"], level, ".2f"))
        p_value = "" if row["p_value"] is None else f"{row['p_value']:.2g}"
        rows.append((row["judge"], *shown, f"{row['votes']:,.10g}", p_value, row["flag"] or ""))
        bars.append((row["judge"], row["reliability"], quantile(level or 0.95) * row["std_error"], bool(row["flag"])))
    note = (
        "The votes do not show that judges differ in reliability; all count alike."
        if alike
        else "Reliability is 1 for the average judge, 0 for random votes, negative for reversed votes."
    )
    note += (
        " p is that of being at least half as reliable as the median judge, from 25 votes up; flags allow for the "
        "number of judges."
    )
    heads = ["Judge", *([] if alike else ["Reliability", *_pm(level)])]
    heads += ["Lean to the left", *_pm(level)] if model.side_effect else []
    table = _table([*heads, "Votes", "p", "Flag"], rows)
    drawn = [] if alike else _judge_bars(bars, level)
    return ["<h2>Judges</h2>", f'<p class="soft">{note}</p>', *drawn, table]


def _judge_bars(judges: list[tuple[str, float, float, bool]], level: float | None) -> list[str]:
    """Each judge's reliability with its interval, on one scale with lines at 0 (random) and 1 (average)."""
    ends = [value + sign * half for _, value, half, _ in judges for sign in (-1, 1)]
    low, high = min(0.0, *ends), max(1.0, *ends)

    def x(value: float) -> str:
        return f"{3 + 94 * (value - low) / (high - low):.2f}%"

    lines = "".join(f'<line class="zero" x1="{x(at)}" x2="{x(at)}" y1="0" y2="100%"/>' for at in (0.0, 1.0))
    rows = []
    for judge, value, half, flagged in judges[:MAX_ROWS]:
        span = f'<line class="whisker" x1="{x(value - half)}" x2="{x(value + half)}" y1="50%" y2="50%"/>'
        bar = f'{lines}{"" if level is None else span}<circle class="dot" cx="{x(value)}" cy="50%" r="4"/>'
        mark = f'<td class="n">{"look" if flagged else ""}</td>'
        name = f'<td class="item">{escape(one_line(judge))}</td>'
        rows.append(f'<tr>{name}<td class="bar judge"><svg aria-hidden="true">{bar}</svg></td>{mark}</tr>')
    caption = "Reliability" + ("" if level is None else f" with {100 * level:g} % intervals")
    heads = f'<th>Judge</th><th>{caption}; lines: 0, random, and 1, the average judge</th><th class="n">Flag</th>'
    return [f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"]


def _table(heads: list[str], rows: Sequence[tuple[str, ...]]) -> str:
    kinds = ["item", *["n"] * (len(heads) - 1)]
    top = "".join(f'<th class="{kind}">{escape(head)}</th>' for head, kind in zip(heads, kinds, strict=True))
    body = "".join(
        "<tr>"
        + "".join(f'<td class="{kind}">{escape(one_line(cell))}</td>' for cell, kind in zip(row, kinds, strict=True))
        + "</tr>"
        for row in rows[:MAX_ROWS]
    )
    more = f'<p class="soft">… and {len(rows) - MAX_ROWS:,} more</p>' if len(rows) > MAX_ROWS else ""
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>{more}'
