"""Features, covariates and judges on the command line: options, rankers that use them, words about what was learned."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from podium.cli.options import Command, Decorator, id_option
from podium.pairwise import ranker
from podium.ranking.leaderboard import unit_word
from podium.text import one_line

if TYPE_CHECKING:
    import numpy as np

__all__ = [
    "given_features",
    "maker",
    "penalty_options",
    "refuse_unused",
    "table_options",
    "words_about",
    "words_without",
]

SHOWN = 12  # coefficients, outliers and judges put into words


def table_options(command: Command) -> Command:
    """Add the options about what is known of items and votes: a table of features, covariates."""
    options: list[Decorator] = [
        click.option("--features", metavar="FILE", help="Table of item features, for --method rabf."),
        id_option("the column of --features that holds every compared item"),
        click.option("--missing", type=click.Choice(["error", "mean"]), help="What to do about missing features."),
        click.option("--one-hot", is_flag=True, default=None, help="A column per value of text features."),
        click.option("--covariates", metavar="NAMES", help="Columns of votes, comma-separated, to control for."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def penalty_options(command: Command) -> Command:
    """Add the options of a fit with features."""
    options: list[Decorator] = [
        click.option("--loss", type=click.Choice(["logistic", "squared"]), help="Of rabf: who won, or by how much."),
        click.option("--flip-rate", type=float, help="Share of votes known to be the wrong way round."),
        click.option(
            "--flip-loss",
            type=click.Choice(["lapse", "corrected"]),
            help="How: by likelihood (default for who won), or the unbiased loss of the paper.",
        ),
        click.option("--feature-penalty", type=float, help="Of rabf; else chosen from the votes."),
        click.option("--residual-penalty", type=float, help="Of rabf; else chosen from the votes."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def given_features(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `fit`: the table of features, if there is one."""
    if given["features"] is not None:
        from podium.data.files import read_table

        return {"features": read_table(given["features"]), "id": given["id"]}
    for name in ("id", "missing", "one_hot"):
        if given[name] is not None:
            raise click.UsageError(f"--{name.replace('_', '-')} is about --features, which is not given")
    return {}


def maker(method: str, options: dict[str, Any]) -> Callable[[], Any]:
    """A function that makes the ranker; an option it does not know is refused, not ignored."""
    cls = ranker(method)
    known = inspect.signature(cls).parameters
    for name in options:
        if name not in known:
            raise click.UsageError(f"--{name.replace('_', '-')} does not apply to --method {method}")
    return partial(cls, **options)


def refuse_unused(method: str, given: dict[str, Any]) -> None:
    """A table or covariates that the method would not look at are a mistake worth telling."""
    cls = ranker(method)
    if given["features"] is not None and not cls.uses.features:
        raise click.UsageError(f"--features does not apply to --method {method}; use rabf")
    if given["covariates"] is not None and not cls.uses.covariates:
        raise click.UsageError(f"--covariates do not apply to --method {method}; use bradley-terry or rabf")


def words_without(method: str, given: dict[str, Any]) -> list[str]:
    """What a method made for features does without them."""
    if given["features"] is not None or method != "rabf":
        return []
    return [f"{method} without --features: bradley-terry with a penalty chosen from the votes"]


def words_about(model: Any, level: float | None = 0.95) -> list[str]:
    """Lines on coefficients, residual outliers, items without votes, and judges, where the model has them."""
    from podium.pairwise.bradley_terry import BradleyTerry
    from podium.pairwise.crowd import CrowdBradleyTerry
    from podium.pairwise.rabf import RABF

    if isinstance(model, RABF):
        return _about_features(model, level)
    if isinstance(model, CrowdBradleyTerry):
        rows = model.judge_frame().head(SHOWN).rows(named=True)
        lines = [
            f"  {one_line(row['judge'])}  {row['reliability']:.2f}{_half(row['std_error'], level, '.2f')}  "
            + ("1 vote" if row["votes"] == 1 else f"{row['votes']:g} votes")
            + (f"  ({row['flag']})" if row["flag"] else "")
            for row in rows
        ]
        return ["reliability of judges, least first (1: average, 0: chance)", *lines]
    if not isinstance(model, BradleyTerry):
        return []
    lines, unit = [], model.ranking_.unit
    if model.covariate_names_:
        lines.append(f"covariates, {unit_word(unit)} per unit")
        lines += _effects(model.covariate_names_, unit * model.coef_, unit * model.coef_std_errors_, level)
    if (error := model.side_effect_std_error_) is not None:
        half = _half(unit * error, level, ".2g")
        lines.append(f"advantage of the left side: {unit * model.side_effect_:+.3g}{half} {unit_word(unit)}")
    if model.tie_strength_ is not None:
        chance = model.tie_strength_ / (2.0 + model.tie_strength_)
        lines.append(f"equals tie with chance {100 * chance:.1f} % (Davidson's ν = {model.tie_strength_:.3g})")
    return lines


def _about_features(model: Any, level: float | None) -> list[str]:
    from podium.evaluate.feature_diagnosis import residual_outliers

    lines = []
    if model.feature_names_:
        lines.append(f"features explain {100 * model.explained_:.0f} % of the scores' variance; score per unit:")
        lines += _effects(model.feature_names_, model.coef_, model.coef_std_errors_, level)
        found = residual_outliers(model, level=level or 0.95)
        for row in found.head(SHOWN).rows(named=True):
            side = "better" if row["residual"] > 0 else "worse"
            lines.append(f"  {one_line(row['item'])} is {side} than its features say, by {abs(row['residual']):.2f}")
    if model.unseen_:
        some = ", ".join(one_line(item) for item in model.unseen_[:4]) + (", …" if len(model.unseen_) > 4 else "")
        lines.append(f"ranked by features alone, without votes: {len(model.unseen_)} ({some})")
    for name in model.boundary_:
        lines.append(f"the {name} penalty stopped at the end of its range: the votes hardly say how large it should be")
    if model.covariate_names_:
        lines.append("covariates, per unit")
        lines += _effects(model.covariate_names_, model.covariate_coef_, model.covariate_std_errors_, level)
    return lines


def _half(error: float, level: float | None, form: str) -> str:
    from podium.ranking.uncertainty import quantile

    return "" if level is None else f" ± {format(quantile(level) * error, form)}"


def _effects(names: tuple[str, ...], effects: np.ndarray, errors: np.ndarray, level: float | None) -> list[str]:
    names = tuple(one_line(name) for name in names)
    width = max(len(name) for name in names[:SHOWN])
    lines = [
        f"  {name.ljust(width)}  "
        + (
            f"{effect:+.4g}{_half(error, level, '.2g')}"
            if error == error
            else "ignored: the same for every compared item"
        )
        for name, effect, error in list(zip(names, effects, errors, strict=True))[:SHOWN]
    ]
    return lines + ([f"  … and {len(names) - SHOWN} more"] if len(names) > SHOWN else [])
