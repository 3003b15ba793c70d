"""What `podium rank` does with features, covariates and judges: options, and words about what was learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from podium.cli.options import Command, Decorator, id_option

if TYPE_CHECKING:
    import numpy as np

__all__ = ["feature_options", "given_features", "words_about"]

SHOWN = 12  # coefficients, outliers and judges put into words


def feature_options(command: Command) -> Command:
    """Add the options about features and covariates."""
    options: list[Decorator] = [
        click.option("--features", metavar="FILE", help="Table of item features; ranks by --method rabf."),
        id_option("the column of --features that holds every compared item"),
        click.option("--loss", type=click.Choice(["logistic", "squared"]), help="Of rabf: who won, or by how much."),
        click.option("--flip-rate", type=float, help="Share of votes known to be the wrong way round."),
        click.option("--feature-penalty", type=float, help="Of rabf; else chosen from the votes."),
        click.option("--residual-penalty", type=float, help="Of rabf; else chosen from the votes."),
        click.option("--missing", type=click.Choice(["error", "mean"]), help="What to do about missing features."),
        click.option("--one-hot", is_flag=True, default=None, help="A column per value of text features."),
        click.option("--covariates", metavar="NAMES", help="Columns of votes, comma-separated, to control for."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def given_features(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments of `fit`: the table of features, if there is one."""
    if given["features"] is None:
        if given["id"] is not None:
            raise click.UsageError("--id names a column of --features, which is not given")
        return {}
    from podium.io import read_table

    return {"features": read_table(given["features"]), "id": given["id"]}


def words_about(model: Any) -> list[str]:
    """Lines on coefficients, residual outliers, items without votes, and judges, where the model has them."""
    from podium.pairwise.crowd import CrowdBradleyTerry
    from podium.pairwise.rabf import RABF

    if isinstance(model, RABF):
        return _about_features(model)
    if isinstance(model, CrowdBradleyTerry):
        rows = model.judge_frame().head(SHOWN).rows(named=True)
        lines = [
            f"  {row['judge']}  {row['reliability']:.2f} ± {1.96 * row['std_error']:.2f}  {row['votes']:g} votes"
            + (f"  ({row['flag']})" if row["flag"] else "")
            for row in rows
        ]
        return ["reliability of judges, least first (1: average, 0: chance)", *lines]
    lines = []
    if getattr(model, "covariate_names_", ()):
        lines.append("covariates, log-odds per unit")
        lines += _effects(model.covariate_names_, model.coef_, model.coef_std_errors_)
    if getattr(model, "side_effect", False):
        side, error = model.side_effect_, model.side_effect_std_error_
        lines.append(f"advantage of the left side: {side:+.3g} ± {1.96 * error:.2g} log-odds")
    if getattr(model, "tie_strength_", None) is not None:
        chance = model.tie_strength_ / (2.0 + model.tie_strength_)
        lines.append(f"equals tie with chance {100 * chance:.1f} % (Davidson's ν = {model.tie_strength_:.3g})")
    return lines


def _about_features(model: Any) -> list[str]:
    from podium.feature_diagnosis import residual_outliers

    lines = []
    if model.feature_names_:
        lines.append(f"features explain {100 * model.explained_:.0f} % of the scores' variance; score per unit:")
        lines += _effects(model.feature_names_, model.coef_, model.coef_std_errors_)
        found = residual_outliers(model)
        for row in found.head(SHOWN).rows(named=True):
            side = "better" if row["residual"] > 0 else "worse"
            lines.append(f"  {row['item']} is {side} than its features say, by {abs(row['residual']):.2f}")
    if model.unseen_:
        some = ", ".join(str(item) for item in model.unseen_[:4]) + (", …" if len(model.unseen_) > 4 else "")
        lines.append(f"ranked by features alone, without votes: {len(model.unseen_)} ({some})")
    for name in model.boundary_:
        lines.append(f"the {name} penalty stopped at the end of its range: the votes hardly say how large it should be")
    if model.covariate_names_:
        lines.append("covariates, per unit")
        lines += _effects(model.covariate_names_, model.covariate_coef_, model.covariate_std_errors_)
    return lines


def _effects(names: tuple[str, ...], effects: np.ndarray, errors: np.ndarray) -> list[str]:
    width = max(len(name) for name in names[:SHOWN])
    lines = [
        f"  {name.ljust(width)}  {effect:+.4g} ± {1.96 * error:.2g}"
        for name, effect, error in list(zip(names, effects, errors, strict=True))[:SHOWN]
    ]
    return lines + ([f"  … and {len(names) - SHOWN} more"] if len(names) > SHOWN else [])
