"""What a fitted ranker has learned, put into lines: effects, features, judges, drift and ties."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from podium.ranking.leaderboard import unit_word
from podium.text import MAX_LOG_ODDS, aligned, counted, one_line, p_value

if TYPE_CHECKING:
    import numpy as np

    from podium.pairwise.crowd import CrowdBradleyTerry
    from podium.pairwise.dynamic import DynamicBradleyTerry
    from podium.pairwise.plackett_luce import PlackettLuce

__all__ = ["words_about"]

UNBOUNDED = "no number: nothing sets an end to it, as it explains (almost) every outcome"
MAX_SHOWN = 12  # coefficients, outliers and judges put into words
MIN_VOTES_PER_PARAMETER = 10.0  # below which effects at a fixed penalty are too large


def words_about(model: Any, level: float | None = 0.95, sds: np.ndarray | None = None, noun: str = "vote") -> list[str]:
    """Lines on coefficients, residual outliers, items without votes, and judges, where the model has them.

    `noun` is what a vote is called: of games it is said who plays at home.
    """
    import numpy as np

    from podium.pairwise.bradley_terry import BradleyTerry
    from podium.pairwise.crowd import CrowdBradleyTerry
    from podium.pairwise.dynamic import DynamicBradleyTerry
    from podium.pairwise.online import OnlineRABF
    from podium.pairwise.plackett_luce import PlackettLuce
    from podium.pairwise.rabf import RABF

    if isinstance(model, PlackettLuce):
        return _about_features(model, level, None, "ranking") + _about_ties(model)
    if isinstance(model, OnlineRABF):
        lines = [f"{counted(model.n_votes_, noun)} learned from in all"]
        if model.feature_names_:
            lines.append("score per unit of each feature:")
            unknown = np.where(model.coef_ == 0.0, np.nan, 0.0)  # the same for every item
            lines += _effects(model.feature_names_, model.coef_, unknown, None)
        return lines
    if isinstance(model, RABF):
        return _about_features(model, level, sds, noun)
    if isinstance(model, CrowdBradleyTerry):
        return _about_judges(model, level)
    if isinstance(model, DynamicBradleyTerry):
        return _about_drift(model, level, noun)
    if not isinstance(model, BradleyTerry):
        return []
    lines, unit = [], model.ranking_.unit
    if model.covariate_names_:
        lines.append(f"covariates, {unit_word(unit)} {_per(sds, noun)}")
        each = unit if sds is None else unit * sds
        lines += _effects(model.covariate_names_, each * model.coef_, each * model.coef_std_errors_, level, sds, unit)
    if (error := model.side_effect_std_error_) is not None:
        lines.append(f"{_side_words(noun)}: {_side_effect(model.side_effect_, error, level, unit, unit_word(unit))}")
    if lines and model.votes_per_parameter_ < MIN_VOTES_PER_PARAMETER and not model.bias_reduction:
        words = f"{model.votes_per_parameter_:.1f} {noun}s for each score and effect estimated are few"
        way = ", and effects may be too large; use --bias-reduction, or --l2 auto"
        if not any(UNBOUNDED in line for line in lines):
            way = way if model.sd_ is None else "; effects are corrected for it (Firth), and rough"
            lines.append(words + way)
    if model.tie_strength_ is not None:
        lines.append(_tie_words(model.tie_strength_, _tie_ends(model, level)))
    return lines


def _about_ties(model: PlackettLuce) -> list[str]:
    """Strengths of ties, where they are modelled."""
    strengths = [f"{counted(size, 'item')} {value:.3g}" for size, value in model.tie_strengths_.items()]
    return [f"strength of ties, against one item's: {', '.join(strengths)}"] if strengths else []


def _about_drift(model: DynamicBradleyTerry, level: float | None, noun: str) -> list[str]:
    """How fast scores move, and effects."""
    unit, (first, last) = model.ranking_.unit, model.times_
    word, span = unit_word(unit), (last - first) ** 0.5
    around = " around what their features say" if model.feature_names_ else ""
    lines = [f"newcomers' scores have a standard deviation of {unit * model.sd_:.3g} {word}{around}"]
    if model.drift_:
        moved = f"scores move by about {unit * model.drift_:.3g} {word} in one unit of time (a day, for dates)"
        lines.append(f"{moved}, {unit * model.drift_ * span:.3g} from first to last")
    elif model.drift != "auto":
        lines.append("drift was set to 0: each item has one score at all times")
    else:
        lines.append(f"the {noun}s do not show that scores moved: drift 0")
        if level is not None and span:
            allowed = "intervals allow for the drifts that they cannot rule out, and are wider for it"
            lines[-1] += f"; {allowed} (--drift 0 holds scores still)"
    lines = _explained(model, level, unit) + lines + _unseen(model, f"{noun}s")
    if model.side_effect:
        half = _half(unit * float(model.effect_std_errors_[0]), level, ".2g")
        lines.append(f"{_side_words(noun)}: {unit * model.side_effect_:+.3g}{half} {word}")
    if model.tie_strength_ is not None:
        lines.append(_tie_words(model.tie_strength_, _tie_ends(model, level)))
    return lines


def _side_words(noun: str) -> str:
    if noun == "game":
        return "home advantage, in favour of the side at home"
    return "position bias, in favour of the left side"


def _tie_ends(model: Any, level: float | None) -> tuple[float, float] | None:
    ends: tuple[float, float] | None = None if level is None else model.tie_strength_interval(level)
    return ends


def _tie_words(strength: float, ends: tuple[float, float] | None = None) -> str:
    """The chance of a tie between equals, with its bounds; without a tie among the votes there is only an upper one."""
    chance, *bounds = (f"{100 * nu / (2.0 + nu):.1f}" for nu in (strength, *(ends or ())))
    if not strength:
        most = f"equals tie with chance {bounds[1]} % at most" if bounds else "its chance is taken to be 0"
        return f"no tie was seen: {most} (Davidson's ν = 0)"
    between = f"{bounds[0]} … {bounds[1]} %; " if bounds else ""
    return f"equals tie with chance {chance} % ({between}Davidson's ν = {strength:.3g})"


def _about_judges(model: CrowdBradleyTerry, level: float | None) -> list[str]:
    """The least reliable judges; where judges count alike, those that are flagged."""
    alike, frame = model.reliability_sd_ == 0, model.judge_frame()
    lines = ["reliability of judges, least first (1: average, 0: chance)"]
    if alike:
        judges = counted(len(frame), "judge")
        frame = frame.filter(frame["flag"].is_not_null())
        lines = [f"reliability: {judges} not shown to differ; all count alike"]
        if len(frame):
            lines = [f"reliability: too few votes to weigh {judges}, so all count alike; a test of each flags"]
    rows = frame.head(MAX_SHOWN).rows(named=True)
    columns = {"judge": [one_line(row["judge"]) for row in rows]}
    if not alike:
        columns["reliability"] = [f"{row['reliability']:.2f}{_half(row['std_error'], level, '.2f')}" for row in rows]
    columns["votes"] = [f"{row['votes']:,.10g}" for row in rows]
    if any(row["flag"] for row in rows):
        columns["flag"] = [row["flag"] or "" for row in rows]
        columns["p"] = [p_value(row["p_value"]) if row["flag"] else "" for row in rows]
    lines += _indented(columns) if rows else []
    lines += [f"  … and {len(frame) - MAX_SHOWN} more"] if len(frame) > MAX_SHOWN else []
    if model.side_effect:
        lean, sd = model.side_effect_, model.lean_sd_
        lines.append(f"position bias, in favour of the left side: {lean:+.3g} log-odds; between judges ± {sd:.2g}")
        leans = abs(model.lean_ - lean).tolist()
        far = sorted(range(len(leans)), key=lambda k: -leans[k])[: MAX_SHOWN if sd else 0]
        halves = [_half(float(model.lean_std_errors_[k]), level, ".2f") for k in far]
        biases = [f"{model.lean_[k]:+.2f}{half}" for k, half in zip(far, halves, strict=True)]
        names = [one_line(str(model.judges_[k])) for k in far]
        lines += _indented({"judge": names, "bias": biases}) if far else []
    return lines


def _indented(columns: dict[str, list[str]]) -> list[str]:
    """A small table, its first and its flag column to the left."""
    to_left = ["judge", "flag"]
    rows = aligned(list(columns), list(columns.values()), to_left=to_left)
    return ["  " + line.rstrip() for line in rows.splitlines()]


def _per(sds: np.ndarray | None, noun: str) -> str:
    """What an effect is told for: a standard deviation of the covariate over the votes, where it is known."""
    return "per unit" if sds is None else f"per standard deviation over the {noun}s"


def _about_features(model: Any, level: float | None, sds: np.ndarray | None, noun: str) -> list[str]:
    from podium.evaluate.feature_diagnosis import residual_outliers

    lines = []
    sure = model.ranking_.information is not None  # with the hinge loss there are no errors
    level = level if sure else None
    if model.feature_names_:
        lines += _explained(model, level, 1.0)
        outliers = residual_outliers(model, level=level or 0.95).rows(named=True) if sure else []
        for row in outliers[:MAX_SHOWN]:
            side = "better" if row["residual"] > 0 else "worse"
            lines.append(f"  {one_line(row['item'])} is {side} than its features say, by {abs(row['residual']):.2f}")
    lines += _unseen(model, f"{noun}s")
    if getattr(model, "max_norm", None) is not None:
        words = " and ".join(f"the {name} limit" for name in model.binding_)
        bind = "bind" if len(model.binding_) > 1 else "binds"
        lines.append(f"{words} of --max-norm {bind}" if words else "neither limit of --max-norm binds")
    for name in model.boundary_:
        lines.append(
            f"the {name} penalty stopped at the end of its range: the {noun}s hardly say how large it should be"
        )
    if model.covariate_names_:
        lines.append(f"covariates, {_per(sds, noun)}")
        each = 1.0 if sds is None else sds
        errors = each * model.covariate_std_errors_ if sure else 0.0 * model.covariate_coef_
        far = math.inf if model.in_margins else 1.0  # margins have no unit in which an effect is too large
        lines += _effects(model.covariate_names_, each * model.covariate_coef_, errors, level, sds, far)
    if noun == "ranking":
        return lines
    unit = "of margin" if model.in_margins else "log-odds"
    return lines + _side_and_ties(model, 1.0, unit, level, noun)


def _explained(model: Any, level: float | None, unit: float) -> list[str]:
    """What features explain, and what each of them is worth."""
    if not model.feature_names_:
        return []
    errors = model.coef_std_errors_ if model.ranking_.information is not None else 0.0 * model.coef_
    lines = [f"features explain about {100 * model.explained_:.0f} % of the scores' variance; score per unit:"]
    return lines + _effects(model.feature_names_, unit * model.coef_, unit * errors, level)


def _unseen(model: Any, votes: str) -> list[str]:
    """The items that only features know."""
    ranked = set(model.ranking_.items)  # at an earlier time these are left out
    unseen = [item for item in model.unseen_ if item in ranked]
    if not (unseen and model.feature_names_):
        return []
    some = ", ".join(one_line(item) for item in unseen[:4]) + (", …" if len(unseen) > 4 else "")
    return [f"ranked by features alone, without {votes}: {len(unseen)} ({some})"]


def _side_and_ties(model: Any, unit: float, word: str, level: float | None, noun: str) -> list[str]:
    lines = []
    if model.side_effect:
        error = 0.0 if level is None else model.side_effect_std_error_
        far = math.inf if model.in_margins else MAX_LOG_ODDS
        lines.append(f"{_side_words(noun)}: {_side_effect(model.side_effect_, error, level, unit, word, far)}")
    if model.tie_strength_ is not None:
        lines.append(_tie_words(model.tie_strength_, _tie_ends(model, level)))
    return lines


def _side_effect(
    effect: float, error: float, level: float | None, unit: float, word: str, far: float = MAX_LOG_ODDS
) -> str:
    if max(abs(effect), error) > far:
        return UNBOUNDED
    return f"{unit * effect:+.3g}{_half(unit * error, level, '.2g')} {word}"


def _effect_words(effect: float, error: float, level: float | None, sd: float | None, unit: float) -> str:
    """An effect with its error, or why it has none; `sd` is that of its covariate, by which it was multiplied."""
    if error != error:
        return "ignored: the same for every compared item"
    if sd == 0.0:
        return "not known: the covariate is the same throughout"
    if sd is not None and max(abs(effect), error) > MAX_LOG_ODDS * unit:
        return UNBOUNDED
    return f"{effect:+.4g}{_half(error, level, '.2g')}"


def _half(error: float, level: float | None, form: str) -> str:
    from podium.ranking.uncertainty import quantile

    return "" if level is None else f" ± {format(quantile(level) * error, form)}"


def _effects(
    names: tuple[str, ...],
    effects: np.ndarray,
    errors: np.ndarray,
    level: float | None,
    sds: np.ndarray | None = None,
    unit: float = 1.0,
) -> list[str]:
    raw = sds is not None and (abs(sds - 1.0) > 1e-9).any()  # nothing to tell of those that were standardised
    deviations = [f"  (sd {sd:.4g})" for sd in sds] if raw and sds is not None else [""] * len(names)
    known = [None] * len(names) if sds is None else sds.tolist()
    names = tuple(one_line(name) for name in names)
    width = max(len(name) for name in names[:MAX_SHOWN])
    lines = [
        f"  {name.ljust(width)}  {_effect_words(effect, error, level, sd, unit)}"
        + (deviation if error == error and sd != 0.0 else "")
        for name, effect, error, deviation, sd in list(zip(names, effects, errors, deviations, known, strict=True))[
            :MAX_SHOWN
        ]
    ]
    return lines + ([f"  … and {len(names) - MAX_SHOWN} more"] if len(names) > MAX_SHOWN else [])
