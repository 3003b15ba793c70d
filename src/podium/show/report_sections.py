"""Sections of the report about what a model learned besides scores: features, covariates, side, ties, judges."""

from __future__ import annotations

import math
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
from podium.show import feature_plots
from podium.show.report_parts import answers, figure_of
from podium.text import MAX_LOG_ODDS, one_line

__all__ = ["sections"]

MAX_ROWS = 200  # of a table
Featured = RABF | PlackettLuce | DynamicBradleyTerry


def sections(
    model: Any, level: float | None = 0.95, comparisons: Comparisons | None = None, sided: str = "position bias"
) -> list[str]:
    """Return HTML on what `model` learned besides its ranking; nothing for rankers that learn scores only.

    Effects are in the unit of its ranking, those of covariates per standard deviation over the votes, where these are
    given; ± is half the width of the confidence interval, left out without a level. `sided` is what an effect of sides
    is called.
    """
    votes = "votes" if comparisons is None else answers(comparisons)
    sds = comparisons.covariate_sds() if comparisons is not None and comparisons.covariates is not None else None
    if isinstance(model, RABF):
        sure = model.ranking_.information is not None  # with the hinge loss there are no errors
        level = level if sure else None
        each = 1.0 if sds is None else sds
        errors = each * model.covariate_std_errors_ if sure else 0.0 * model.covariate_coef_
        effects = zip(model.covariate_names_, each * model.covariate_coef_, errors, strict=True)
        side_error = (sure and model.side_effect_std_error_) or 0.0
        side = (model.side_effect_, side_error) if model.side_effect else None
        ends = _side_and_ties(model, sided, side, "of margin" if model.in_margins else "log-odds", level)
        far = math.inf if model.in_margins else 1.0
        return _features(model, level, votes) + _effects(list(effects), "", level, sds, votes, far) + ends
    if isinstance(model, PlackettLuce):
        return _features(model, level, "rankings")
    if isinstance(model, DynamicBradleyTerry):
        unit = model.ranking_.unit
        side = (unit * model.side_effect_, unit * float(model.effect_std_errors_[0])) if model.side_effect else None
        return _features(model, level, votes) + _side_and_ties(model, sided, side, unit_word(unit), level)
    if isinstance(model, BradleyTerry):
        unit = model.ranking_.unit
        each = unit if sds is None else unit * sds
        rows = list(zip(model.covariate_names_, each * model.coef_, each * model.coef_std_errors_, strict=True))
        side = (unit * model.side_effect_, unit * (model.side_effect_std_error_ or 0.0)) if model.side_effect else None
        word = unit_word(unit)
        return _effects(rows, word, level, sds, votes, unit) + _side_and_ties(model, sided, side, word, level)
    return _judges(model, level) if isinstance(model, CrowdBradleyTerry) else []


def _pm(level: float | None) -> list[str]:
    return [] if level is None else [f"± ({100 * level:g} %)"]


def _half_width(error: float, level: float | None, form: str) -> tuple[str, ...]:
    """The cell below `_pm`; an effect without a standard error is one that was left out of the fit."""
    half = format(quantile(level or 0.95) * error, form) if error == error else "ignored"
    return () if level is None else (half,)


def _features(model: Featured, level: float | None, votes: str) -> list[str]:
    if not model.feature_names_:
        return []
    caption = f"Features explain about {100 * model.explained_:.0f} % of the variance of the scores."
    if level is not None and len(model.feature_names_) > feature_plots.MAX_COEFFICIENTS:
        caption += f" The {feature_plots.MAX_COEFFICIENTS} most significant are drawn."
    parts = ["<h2>Features</h2>", f"<p>{caption}</p>"]
    if level is not None:
        parts.append(figure_of(feature_plots.coefficients(model, level=level, title=""), "coefficients", caption))
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
    effects: list[tuple[str, float, float]],
    unit: str,
    level: float | None,
    sds: np.ndarray | None,
    votes: str,
    per_log_odds: float = 1.0,
) -> list[str]:
    if not effects:
        return []
    rows = [(name, f"{effect:+.4g}", *_half_width(error, level, ".2g")) for name, effect, error in effects]
    measured = f", in {unit}" if unit else ""
    note = f"Effect of a {votes[:-1]}'s covariates on the margin{measured}, left minus right; scores hold at equal "
    note += "covariates."
    heads = ["Covariate", "Per unit", *_pm(level)]
    if sds is not None:
        blank = [""] * len(_pm(level))
        for k, (name, effect, error) in enumerate(effects):
            if sds[k] == 0.0:
                rows[k] = (name, "not known: the same in all", *blank)
            elif max(abs(effect), error) > MAX_LOG_ODDS * per_log_odds:
                rows[k] = (name, "no end to it", *blank)
        heads[1:] = ["Per standard deviation", *_pm(level), "Standard deviation"]
        rows = [(*row, f"{sd:.4g}") for row, sd in zip(rows, sds, strict=True)]
    return ["<h2>Covariates</h2>", f'<p class="soft">{note}</p>', _table(heads, rows)]


def _side_and_ties(
    model: Any, sided: str, side: tuple[float, float] | None, unit: str, level: float | None
) -> list[str]:
    parts, heads, nu = [], [], model.tie_strength_
    if side is not None:
        half = "" if level is None else f" ± {quantile(level) * side[1]:.2g} ({100 * level:g} %)"
        who = "the side at home" if sided == "home advantage" else "the left side"
        effect = f"{sided.capitalize()}, in favour of {who}: {side[0]:+.3g}{half} {unit}"
        parts.append(f"<p>{effect}; scores are corrected for it.</p>")
        heads.append(sided)
    if nu is not None:
        ends = None if level is None else model.tie_strength_interval(level)
        chance, *bounds = (f"{100 * each / (2.0 + each):.1f}" for each in (nu, *(ends or ())))
        if nu:
            between = f"{bounds[0]} … {bounds[1]} %; " if bounds else ""
            words = f"Two equal items tie with chance {chance} % ({between}Davidson’s ν = {nu:.3g})."
        else:
            most = f"two equal items tie with chance {bounds[1]} % at most" if bounds else "its chance is taken to be 0"
            words = f"No tie was seen: {most} (Davidson’s ν = 0)."
        parts.append(f"<p>{words}</p>")
        heads.append("ties")
    return [f"<h2>{' and '.join(heads).capitalize()}</h2>", *parts] if parts else []


def _judges(model: CrowdBradleyTerry, level: float | None) -> list[str]:
    alike, frame = model.reliability_sd_ == 0, model.judge_frame().to_dicts()
    z = quantile(level or 0.95)
    ends = [row["reliability"] + sign * z * row["std_error"] for row in frame for sign in (-1, 1)]
    low, high = min(0.0, *ends), max(1.0, *ends)
    rows = []
    for row in frame:
        value, half = row["reliability"], z * row["std_error"]
        cells = [f'<td class="item">{escape(one_line(row["judge"]))}</td>']
        if not alike:
            cells.append(f'<td class="bar judge">{_judge_bar(value, half if level else 0.0, low, high)}</td>')
            cells += _numbers(f"{value:.2f}", *_half_width(row["std_error"], level, ".2f"))
        if model.side_effect:
            cells += _numbers(f"{row['lean']:+.2f}", *_half_width(row["lean_std_error"], level, ".2f"))
        cells += _numbers(f"{row['votes']:,.10g}", "" if row["p_value"] is None else f"{row['p_value']:.2g}", wide=True)
        rows.append(f"<tr>{''.join(cells)}{''.join(_numbers(row['flag'] or ''))}</tr>")
    note = (
        "The votes are too few to weigh judges by, and all count alike; a flag is from a test of the judge by itself."
        if alike and any(row["flag"] for row in frame)
        else "The votes do not show that judges differ in reliability; all count alike."
        if alike
        else "Reliability is 1 for the average judge, 0 for random votes (the two lines), negative for reversed votes."
    )
    note += (
        " p is that of being at least half as reliable as the median judge, from 25 votes up; flags allow for the "
        "number of judges."
    )
    heads = "<th>Judge</th>"
    if not alike:
        heads += '<th><span class="away">drawn</span></th>' + "".join(_heads("Reliability", *_pm(level)))
    heads += "".join(_heads("Lean to the left", *_pm(level))) if model.side_effect else ""
    heads += "".join(_heads("Votes", "p", wide=True)) + "".join(_heads("Flag"))
    return ["<h2>Judges</h2>", f'<p class="soft">{note}</p>', _as_table(heads, rows)]


def _judge_bar(value: float, half: float, low: float, high: float) -> str:
    """A judge's reliability with its interval, on a scale with lines at 0 (random) and 1 (average)."""

    def x(where: float) -> str:
        return f"{3 + 94 * (where - low) / (high - low):.2f}%"

    lines = "".join(f'<line class="zero" x1="{x(at)}" x2="{x(at)}" y1="0" y2="100%"/>' for at in (0.0, 1.0))
    span = f'<line class="whisker" x1="{x(value - half)}" x2="{x(value + half)}" y1="50%" y2="50%"/>'
    return f'<svg aria-hidden="true">{lines}{span}<circle class="dot" cx="{x(value)}" cy="50%" r="4"/></svg>'


def _numbers(*cells: str, wide: bool = False) -> list[str]:
    return [f'<td class="n{" wide" if wide else ""}">{escape(cell)}</td>' for cell in cells]


def _heads(*names: str, wide: bool = False) -> list[str]:
    return [f'<th class="n{" wide" if wide else ""}">{escape(name)}</th>' for name in names]


def _table(heads: list[str], rows: Sequence[tuple[str, ...]]) -> str:
    top = f'<th class="item">{escape(heads[0])}</th>' + "".join(_heads(*heads[1:]))
    body = [
        f'<tr><td class="item">{escape(one_line(name))}</td>{"".join(_numbers(*map(one_line, cells)))}</tr>'
        for name, *cells in rows
    ]
    return _as_table(top, body)


def _as_table(heads: str, rows: Sequence[str]) -> str:
    """The first rows, in a card that scrolls where it must."""
    more = f'<p class="soft">… and {len(rows) - MAX_ROWS:,} more</p>' if len(rows) > MAX_ROWS else ""
    body = "".join(rows[:MAX_ROWS])
    return f'<div class="scroll card"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>{more}'
