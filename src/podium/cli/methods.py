"""The method of ranking and its options on the command line."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from podium.cli.calling import gathered
from podium.cli.help import option
from podium.cli.options import Penalty
from podium.errors import InputError, Option
from podium.pairwise import METHODS, ranker

__all__ = ["RankerOptions", "begun", "maker", "ranker_options"]


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
        help="Standard deviation of newcomers' scores in --method dynamic, or auto.  [default: auto]",
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
        help="Correct for them by likelihood (lapse; the default for who won), or by the paper's unbiased loss.",
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
    for name, value in ({"balance": fitting.balance} | others).items():
        if value:
            raise InputError(
                Option(name), " does not go with ", saved, ", which learns on, vote by vote; drop one of them"
            )
    model = load(fitting.model)
    if not isinstance(model, OnlineRABF):
        raise InputError(f"{fitting.model} is a file of {type(model).__name__}; only online-rabf learns on from a file")
    if fitting.method not in (None, "online-rabf"):
        raise InputError(Option("method", fitting.method), " is not that of ", saved, ", online-rabf; drop it")
    return model
