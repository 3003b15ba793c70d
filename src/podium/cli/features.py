"""Features, covariates and judges on the command line: options, rankers that use them, words about what was learned."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.calling import gathered
from podium.cli.help import option
from podium.cli.options import Penalty, id_option, split_names, style_arguments, style_option
from podium.errors import InputError, Option
from podium.pairwise import METHODS, ranker
from podium.ranking.leaderboard import unit_word
from podium.text import aligned, counted, one_line, p_value

if TYPE_CHECKING:
    import numpy as np

    from podium.pairwise.crowd import CrowdBradleyTerry
    from podium.pairwise.dynamic import DynamicBradleyTerry
    from podium.pairwise.plackett_luce import PlackettLuce

__all__ = [
    "Knowledge",
    "RankerOptions",
    "begun",
    "knowledge_options",
    "maker",
    "ranker_options",
    "refuse_unused",
    "words_about",
    "words_without",
]

SHOWN = 12  # coefficients, outliers and judges put into words
MIN_VOTES_PER_PARAMETER = 10.0  # below which effects at a fixed penalty are too large


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is known beside who won: a table of item features, and covariates of each vote."""

    features: str | None
    id: str | None
    missing: str | None
    one_hot: bool | None
    covariates: tuple[str, ...]
    row_weights: str | None
    style: str

    @property
    def of_votes(self) -> dict[str, Any]:
        """The covariates and what is to be done with them, as `read_comparisons` takes it."""
        return style_arguments(self.covariates, self.style)

    @property
    def uses_covariates(self) -> bool:
        """Whether votes are read with covariates."""
        return bool(self.of_votes)

    def arguments(self) -> dict[str, Any]:
        """The table of features, if there is one, as `fit` takes it."""
        if self.features is not None:
            from podium.data.files import read_table

            return {"features": read_table(self.features), "id": self.id}
        for name in ("id", "missing", "one_hot", "row_weights"):
            if getattr(self, name) is not None:
                raise InputError(Option(name), " is about ", Option("features"), ", which is not given; drop it")
        return {}

    @property
    def treatment(self) -> dict[str, Any]:
        """How the ranker is to treat the features, where it was typed."""
        return {
            name: value for name in ("missing", "one_hot", "row_weights") if (value := getattr(self, name)) is not None
        }


knowledge_options = gathered(
    "known",
    Knowledge,
    option(
        "Data",
        "--features",
        metavar="FILE",
        help="Read item features from this table, for rabf, online-rabf, plackett-luce and dynamic.",
    ),
    id_option("the column of --features that holds every compared item"),
    option(
        "Data",
        "--missing",
        type=click.Choice(["error", "mean"]),
        help="Refuse missing features, or replace them by the mean.",
    ),
    option("Data", "--one-hot", is_flag=True, default=None, help="Give each value of a text feature its own column."),
    option(
        "Data",
        "--covariates",
        metavar="NAMES",
        callback=split_names,
        help="Control for these columns of the votes (style control), separated by commas; length stands for length_a "
        "and length_b.",
    ),
    option(
        "Data",
        "--row-weights",
        metavar="COLUMN",
        help="Let this column of --features say how far each item's features count in rabf, from 0 up.",
    ),
    style_option("Data"),
)


class _Norms(click.ParamType):  # type: ignore[type-arg]  # not generic in older releases
    """Two limits; the ranker says which numbers it takes."""

    name = "W,R"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Two numbers, separated by a comma."""
        if isinstance(value, tuple):
            return value
        try:
            first, second = (float(part) for part in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not W,R: two numbers, as 2,0.5", param, ctx)
        if not (0.0 < first < math.inf and 0.0 < second < math.inf):
            self.fail(f"{value!r}: both must be finite numbers above 0", param, ctx)
        return first, second


class _Anchor(click.ParamType):  # type: ignore[type-arg]  # not generic in older releases
    """An item and the score it is to have."""

    name = "ITEM=SCORE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Divide at the last equals sign; an item may hold some."""
        if isinstance(value, tuple):
            return value
        item, _, score = value.rpartition("=")
        try:
            anchor = (item, float(score))
        except ValueError:
            item = ""
        return anchor if item else self.fail(f"{value!r} is not ITEM=SCORE", param, ctx)


@dataclass(frozen=True, slots=True)
class RankerOptions:
    """The method, and its options where they were typed."""

    method: str | None
    l2: float | str | None
    ties: str | None
    side_effect: bool
    bias_reduction: bool
    scale: str | None
    anchor: tuple[str, float] | None
    balance: str | None
    half_life: str | None
    drift: float | str | None
    sd: float | str | None
    at: str | None
    k: float | None
    side_advantage: float | None
    margins: bool
    loss: str | None
    flip_rate: float | None
    flip_loss: str | None
    feature_penalty: float | None
    residual_penalty: float | None
    max_norm: tuple[float, float] | None
    model: Path | None

    @property
    def arguments(self) -> dict[str, Any]:
        """The options of the ranker itself."""
        typed = {name: getattr(self, name) for name in self.__slots__ if name not in ("method", "balance", "model")}
        return {name: value for name, value in typed.items() if value is not None and value is not False}

    def described(self, method: str, more: str | None) -> str:
        """The method and what was chosen about it, for a page."""
        words = [f"{name.replace('_', '-')}={value}" for name, value in self._shown()]
        words += ["side-effect"] if self.side_effect else []
        words += ["bias-reduction"] if self.bias_reduction else []
        words += ["margins"] if self.margins else []
        words += [more] if more else []
        return f"{method} ({', '.join(words)})" if words else method

    def _shown(self) -> list[tuple[str, Any]]:
        anchor = None if self.anchor is None else f"{self.anchor[0]}={self.anchor[1]:g}"
        shown = {"l2": self.l2, "ties": self.ties, "scale": self.scale, "anchor": anchor, "balance": self.balance}
        shown |= {name: getattr(self, name) for name in ("half_life", "drift", "sd", "at", "k", "side_advantage")}
        return [(name, value) for name, value in shown.items() if value is not None]


ranker_options = gathered(
    "fitting",
    RankerOptions,
    option(
        "Model",
        "--method",
        type=click.Choice(list(METHODS)),
        metavar="METHOD",
        help=f"Rank by this method: {', '.join(METHODS)}.  "
        "[default: bradley-terry; rabf with --features; plackett-luce for rankings]",
    ),
    option(
        "Model",
        "--l2",
        type=Penalty(),
        help="Ridge penalty on the scores, or auto: chosen from the votes.  [default: auto]",
    ),
    option(
        "Model",
        "--ties",
        type=click.Choice(["half", "davidson", "efron"]),
        help="Count a tie as half a win for each, or model ties; in rankings average over orders (efron), or model "
        "ties.  [default: half; efron for rankings]",
    ),
    option(
        "Model", "--side-effect", is_flag=True, help="Estimate the position bias (home advantage) of the left side."
    ),
    option(
        "Model",
        "--bias-reduction",
        is_flag=True,
        help="Correct scores and effects for few votes by Firth's method; needs --l2 as a number, usually 0.",
    ),
    option(
        "Model",
        "--scale",
        type=click.Choice(["log-odds", "elo"]),
        help="Give scores in this unit.  [default: log-odds]",
    ),
    option("Model", "--anchor", type=_Anchor(), help="Shift all scores so that ITEM has SCORE."),
    option(
        "Model",
        "--balance",
        type=click.Choice(["pairs"]),
        help="Let every pair that met count alike, however often it met.",
    ),
    option(
        "Model",
        "--half-life",
        metavar="TIME",
        help="Let a vote of --time weigh half as much for every TIME of age, as 90d, 12w, 1y or a number.",
    ),
    option(
        "Model",
        "--drift",
        type=Penalty(),
        help="How far scores of --method dynamic move in one unit of time (a day), or auto.  [default: auto]",
    ),
    option(
        "Model",
        "--sd",
        type=Penalty(),
        help="Spread of newcomers' scores in dynamic, or auto.  [default: auto]",
    ),
    option("Model", "--at", metavar="TIME", help="Rank by the scores at this time, for --method dynamic."),
    option("Model", "--k", type=float, help="Most points one game moves in --method elo.  [default: 16]"),
    option("Model", "--side-advantage", type=float, metavar="POINTS", help="Head start of the left side in elo."),
    option("Model", "--margins", is_flag=True, help="Let games with larger margins move elo ratings more."),
    option(
        "Model",
        "--loss",
        type=click.Choice(["logistic", "squared", "hinge"]),
        help="Fit rabf to who won (logistic, or hinge: no intervals), or by how much (squared).  [default: logistic]",
    ),
    option("Model", "--flip-rate", type=float, metavar="SHARE", help="Share of votes known to be the wrong way round."),
    option(
        "Model",
        "--flip-loss",
        type=click.Choice(["lapse", "corrected"]),
        help="Correct for such votes by likelihood (default for who won), or by the paper's unbiased loss.",
    ),
    option(
        "Model",
        "--feature-penalty",
        type=float,
        help="Penalty on the features' weights in rabf, plackett-luce and dynamic.  [default: chosen from the votes]",
    ),
    option(
        "Model",
        "--residual-penalty",
        type=float,
        help="Penalty on what features do not explain in rabf.  [default: chosen from the votes]",
    ),
    option(
        "Model",
        "--max-norm",
        type=_Norms(),
        help="Limit the length of the features' weights, and of what they do not explain, instead of penalties (rabf).",
    ),
    option(
        "Model",
        "--model",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Learn on from the model that `podium rank --method online-rabf --save` wrote.",
    ),
)


def maker(method: str, options: dict[str, Any]) -> Callable[[], Any]:
    """A function that makes the ranker; an option it does not know is refused, not ignored."""
    cls = ranker(method)
    known = inspect.signature(cls).parameters
    for name in options:
        if name not in known:
            way: tuple[Any, ...] = ("; drop it",)
            if name == "residual_penalty" and "l2" in known:
                way = ("; its penalty on what features do not explain is ", Option("l2"))
            if name == "residual_penalty" and "drift" in known:
                way = ("; what features do not explain has a spread there, ", Option("sd"))
            raise InputError(Option(name), " does not apply to ", Option("method", method), *way)
    return partial(cls, **options)


def begun(fitting: RankerOptions, others: dict[str, Any]) -> Any:
    """The saved model to learn on from, if one is named; `others` are options about all votes, or about many models."""
    if fitting.model is None:
        return None
    from podium.models import load
    from podium.pairwise.online import OnlineRABF

    saved = Option("model")
    for name in fitting.arguments:
        raise InputError(Option(name), " was settled when the model of ", saved, " began; drop it")
    for name, given in ({"balance": fitting.balance} | others).items():
        if given:
            raise InputError(
                Option(name), " does not go with ", saved, ", which learns on, vote by vote; drop one of them"
            )
    model = load(fitting.model)
    if not isinstance(model, OnlineRABF):
        raise InputError(f"{fitting.model} holds a {type(model).__name__}; only online-rabf learns on from a file")
    if fitting.method not in (None, "online-rabf"):
        raise InputError(Option("method", fitting.method), " is not that of ", saved, ", online-rabf; drop it")
    return model


def refuse_unused(method: str, known: Knowledge) -> None:
    """A table or covariates that the method would not look at are a mistake worth telling."""
    cls = ranker(method)
    idle = Option("method", method)
    if known.features is not None and not cls.uses.features:
        others = "; use rabf, plackett-luce for rankings, or dynamic for votes with times"
        raise InputError(Option("features"), " does not apply to ", idle, others)
    if known.uses_covariates and not cls.uses.covariates:
        raise InputError(
            Option("covariates" if known.covariates else "style"),
            " does not apply to ",
            idle,
            "; use bradley-terry or rabf",
        )


def words_without(method: str, known: Knowledge) -> list[str]:
    """What a method made for features does without them."""
    if known.features is not None or method != "rabf":
        return []
    return [f"{method} without --features: bradley-terry with a penalty chosen from the votes"]


def words_about(model: Any, level: float | None = 0.95, sds: np.ndarray | None = None) -> list[str]:
    """Lines on coefficients, residual outliers, items without votes, and judges, where the model has them."""
    import numpy as np

    from podium.pairwise.bradley_terry import BradleyTerry
    from podium.pairwise.crowd import CrowdBradleyTerry
    from podium.pairwise.dynamic import DynamicBradleyTerry
    from podium.pairwise.online import OnlineRABF
    from podium.pairwise.plackett_luce import PlackettLuce
    from podium.pairwise.rabf import RABF

    if isinstance(model, PlackettLuce):
        return _about_features(model, level, None, "rankings") + _about_ties(model)
    if isinstance(model, OnlineRABF):
        lines = [f"{counted(model.n_votes_, 'vote')} learned from in all"]
        if model.feature_names_:
            lines.append("score per unit of each feature:")
            unknown = np.where(model.coef_ == 0.0, np.nan, 0.0)  # the same for every item
            lines += _effects(model.feature_names_, model.coef_, unknown, None)
        return lines
    if isinstance(model, RABF):
        return _about_features(model, level, sds)
    if isinstance(model, CrowdBradleyTerry):
        return _about_judges(model, level)
    if isinstance(model, DynamicBradleyTerry):
        return _about_drift(model, level)
    if not isinstance(model, BradleyTerry):
        return []
    lines, unit = [], model.ranking_.unit
    if model.covariate_names_:
        lines.append(f"covariates, {unit_word(unit)} {_per(sds)}")
        each = unit if sds is None else unit * sds
        lines += _effects(model.covariate_names_, each * model.coef_, each * model.coef_std_errors_, level, sds)
    if (error := model.side_effect_std_error_) is not None:
        effect, half = unit * model.side_effect_, _half(unit * error, level, ".2g")
        lines.append(f"position bias, in favour of the left side: {effect:+.3g}{half} {unit_word(unit)}")
    if lines and model.votes_per_parameter_ < MIN_VOTES_PER_PARAMETER and not model.bias_reduction:
        words = f"{model.votes_per_parameter_:.1f} votes for each score and effect estimated are few"
        way = ", and effects may be too large; use --bias-reduction, or --l2 auto"
        lines.append(words + (way if model.sd_ is None else "; effects are rough"))
    if model.tie_strength_ is not None:
        lines.append(_tie_words(model.tie_strength_))
    return lines


def _about_ties(model: PlackettLuce) -> list[str]:
    """Strengths of ties, where they are modelled."""
    told = [f"{counted(size, 'item')} {value:.3g}" for size, value in model.tie_strengths_.items()]
    return [f"strength of ties, against one item's: {', '.join(told)}"] if told else []


def _about_drift(model: DynamicBradleyTerry, level: float | None) -> list[str]:
    """How fast scores move, and effects."""
    unit, (first, last) = model.ranking_.unit, model.times_
    word, span = unit_word(unit), (last - first) ** 0.5
    around = " around what their features say" if model.feature_names_ else ""
    lines = [f"newcomers' scores have a standard deviation of {unit * model.sd_:.3g} {word}{around}"]
    if model.drift_:
        moved = f"scores move by about {unit * model.drift_:.3g} {word} in one unit of time (a day, for dates)"
        lines.append(f"{moved}, {unit * model.drift_ * span:.3g} from first to last")
    else:
        lines.append("the votes do not show that scores moved: drift 0")
    lines = _explained(model, level, unit) + lines + _unseen(model, "votes")
    if model.side_effect:
        half = _half(unit * float(model.effect_std_errors_[0]), level, ".2g")
        lines.append(f"position bias, in favour of the left side: {unit * model.side_effect_:+.3g}{half} {word}")
    if model.tie_strength_ is not None:
        lines.append(_tie_words(model.tie_strength_))
    return lines


def _tie_words(strength: float) -> str:
    return f"equals tie with chance {100 * strength / (2.0 + strength):.1f} % (Davidson's ν = {strength:.3g})"


def _about_judges(model: CrowdBradleyTerry, level: float | None) -> list[str]:
    """The least reliable judges; where judges count alike, those that are flagged."""
    alike, frame = model.reliability_sd_ == 0, model.judge_frame()
    lines = ["reliability of judges, least first (1: average, 0: chance)"]
    if alike:
        lines = [f"reliability: {counted(len(frame), 'judge')} not shown to differ; all count alike"]
        frame = frame.filter(frame["flag"].is_not_null())
    rows = frame.head(SHOWN).rows(named=True)
    columns = {"judge": [one_line(row["judge"]) for row in rows]}
    if not alike:
        columns["reliability"] = [f"{row['reliability']:.2f}{_half(row['std_error'], level, '.2f')}" for row in rows]
    columns["votes"] = [f"{row['votes']:,.10g}" for row in rows]
    if any(row["flag"] for row in rows):
        columns["flag"] = [row["flag"] or "" for row in rows]
        columns["p"] = [p_value(row["p_value"]) if row["flag"] else "" for row in rows]
    lines += _indented(columns) if rows else []
    lines += [f"  … and {len(frame) - SHOWN} more"] if len(frame) > SHOWN else []
    if model.side_effect:
        lean, sd = model.side_effect_, model.lean_sd_
        lines.append(f"position bias, in favour of the left side: {lean:+.3g} log-odds; between judges ± {sd:.2g}")
        leans = abs(model.lean_ - lean).tolist()
        far = sorted(range(len(leans)), key=lambda k: -leans[k])[: SHOWN if sd else 0]
        halves = [_half(float(model.lean_std_errors_[k]), level, ".2f") for k in far]
        told = [f"{model.lean_[k]:+.2f}{half}" for k, half in zip(far, halves, strict=True)]
        names = [one_line(str(model.judges_[k])) for k in far]
        lines += _indented({"judge": names, "bias": told}) if far else []
    return lines


def _indented(columns: dict[str, list[str]]) -> list[str]:
    """A small table, its first and its flag column to the left."""
    to_left = ["judge", "flag"]
    rows = aligned(list(columns), list(columns.values()), to_left=to_left)
    return ["  " + line.rstrip() for line in rows.splitlines()]


def _per(sds: np.ndarray | None) -> str:
    """What an effect is told for: a standard deviation of the covariate over the votes, where it is known."""
    return "per unit" if sds is None else "per standard deviation over the votes"


def _about_features(model: Any, level: float | None, sds: np.ndarray | None, votes: str = "votes") -> list[str]:
    from podium.evaluate.feature_diagnosis import residual_outliers

    lines = []
    sure = model.ranking_.information is not None  # with the hinge loss there are no errors
    level = level if sure else None
    if model.feature_names_:
        lines += _explained(model, level, 1.0)
        outliers = residual_outliers(model, level=level or 0.95).rows(named=True) if sure else []
        for row in outliers[:SHOWN]:
            side = "better" if row["residual"] > 0 else "worse"
            lines.append(f"  {one_line(row['item'])} is {side} than its features say, by {abs(row['residual']):.2f}")
    lines += _unseen(model, votes)
    if getattr(model, "max_norm", None) is not None:
        words = " and ".join(f"the {name} limit" for name in model.binding_)
        bind = "bind" if len(model.binding_) > 1 else "binds"
        lines.append(f"{words} of --max-norm {bind}" if words else "neither limit of --max-norm binds")
    for name in model.boundary_:
        lines.append(
            f"the {name} penalty stopped at the end of its range: the {votes} hardly say how large it should be"
        )
    if model.covariate_names_:
        lines.append(f"covariates, {_per(sds)}")
        each = 1.0 if sds is None else sds
        errors = each * model.covariate_std_errors_ if sure else 0.0 * model.covariate_coef_
        lines += _effects(model.covariate_names_, each * model.covariate_coef_, errors, level, sds)
    if votes == "rankings":
        return lines
    unit = "of margin" if model.in_margins else "log-odds"
    return lines + _side_and_ties(model, 1.0, unit, level)


def _explained(model: Any, level: float | None, unit: float) -> list[str]:
    """What features explain, and what each of them is worth."""
    if not model.feature_names_:
        return []
    errors = model.coef_std_errors_ if model.ranking_.information is not None else 0.0 * model.coef_
    lines = [f"features explain {100 * model.explained_:.0f} % of the scores' variance; score per unit:"]
    return lines + _effects(model.feature_names_, unit * model.coef_, unit * errors, level)


def _unseen(model: Any, votes: str) -> list[str]:
    """The items that only features know."""
    ranked = set(model.ranking_.items)  # at an earlier time these are left out
    unseen = [item for item in model.unseen_ if item in ranked]
    if not (unseen and model.feature_names_):
        return []
    some = ", ".join(one_line(item) for item in unseen[:4]) + (", …" if len(unseen) > 4 else "")
    return [f"ranked by features alone, without {votes}: {len(unseen)} ({some})"]


def _side_and_ties(model: Any, unit: float, word: str, level: float | None) -> list[str]:
    lines = []
    if model.side_effect:
        half = "" if level is None else _half(unit * model.side_effect_std_error_, level, ".2g")
        lines.append(f"position bias, in favour of the left side: {unit * model.side_effect_:+.3g}{half} {word}")
    if model.tie_strength_ is not None:
        chance = model.tie_strength_ / (2.0 + model.tie_strength_)
        lines.append(f"equals tie with chance {100 * chance:.1f} % (Davidson's ν = {model.tie_strength_:.3g})")
    return lines


def _half(error: float, level: float | None, form: str) -> str:
    from podium.ranking.uncertainty import quantile

    return "" if level is None else f" ± {format(quantile(level) * error, form)}"


def _effects(
    names: tuple[str, ...],
    effects: np.ndarray,
    errors: np.ndarray,
    level: float | None,
    sds: np.ndarray | None = None,
) -> list[str]:
    told = sds is not None and (abs(sds - 1.0) > 1e-9).any()  # nothing to tell of those that were standardised
    deviations = [f"  (sd {sd:.4g})" for sd in sds] if told and sds is not None else [""] * len(names)
    names = tuple(one_line(name) for name in names)
    width = max(len(name) for name in names[:SHOWN])
    lines = [
        f"  {name.ljust(width)}  "
        + (
            f"{effect:+.4g}{_half(error, level, '.2g')}{deviation}"
            if error == error
            else "ignored: the same for every compared item"
        )
        for name, effect, error, deviation in list(zip(names, effects, errors, deviations, strict=True))[:SHOWN]
    ]
    return lines + ([f"  … and {len(names) - SHOWN} more"] if len(names) > SHOWN else [])
