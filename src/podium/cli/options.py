"""Options that several commands share, each worded once: columns, labels, models, pictures, seeds, output."""

from __future__ import annotations

import math
from functools import partial
from pathlib import Path
from typing import Any

import click

from podium.cli.calling import gathered
from podium.cli.help import Decorator, Handler, option
from podium.cli.output import FORMATS, Output
from podium.errors import InputError

__all__ = [
    "MAX_COUNT",
    "SEED",
    "URL",
    "NumberRange",
    "Penalty",
    "id_option",
    "ids_option",
    "is_typed",
    "level_option",
    "metric_options",
    "missing_option",
    "model_option",
    "new_file",
    "one_hot_option",
    "output_options",
    "plot_option",
    "save_option",
    "seed_option",
    "split_names",
    "style_arguments",
    "style_option",
    "tables_argument",
    "text_of",
    "votes_argument",
]


class NumberRange(click.FloatRange):
    """A number between bounds; NaN, which compares with nothing, is refused."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail(f"{value!r} is not a number; give one", param, ctx)
        return number


class Penalty(click.ParamType):  # type: ignore[type-arg]  # not generic in older releases
    """A penalty: a number, or "auto" for one from the data. The ranker says which numbers it takes."""

    name = "NUMBER|auto"

    def get_metavar(self, *args: Any, **more: Any) -> str:
        """As it is typed: click would write AUTO."""
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Turn what was typed into a float, or leave "auto"."""
        if value == "auto" or isinstance(value, float):
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor 'auto'; give one of them", param, ctx)


SEED = click.IntRange(min=0)  # what numpy.random takes, everywhere
URL = "http://127.0.0.1:8000"  # of `podium serve`, unless it is told another
MAX_COUNT = 10**12  # of rows, votes or rounds; more than any table has, and what every library below can count to

votes_argument = click.argument("votes", nargs=-1, required=True)
tables_argument = click.argument("tables", nargs=-1, required=True)


def is_typed(name: str) -> bool:
    """Whether the user typed the option, rather than leaving it to its default."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def split_names(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Names separated by commas."""
    return () if value is None else tuple(name.strip() for name in value.split(","))


def id_option(otherwise: str) -> Decorator:
    """The one column of labels."""
    words = f"Name the column of the items' labels.  [default: {otherwise}]"
    return option("Data", "--id", "id", metavar="COLUMN", help=words)


def ids_option(command: Handler) -> Handler:
    """Columns of labels in a table of examples."""
    words = "Name a column that tells rows apart: no feature, and copied into predictions; may be given again."
    return option("Data", "--id", "ids", multiple=True, metavar="COLUMN", help=words)(command)


def missing_option(command: Handler) -> Handler:
    """What is done with features that are missing."""
    words = "Refuse missing features, or replace them by the mean.  [default: error]"
    return option("Data", "--missing", type=click.Choice(["error", "mean"]), help=words)(command)


def one_hot_option(*, of_all: bool = False) -> Decorator:
    """What is done with text among features; a score, which is relative, needs no column for the first value."""
    which = "each value" if of_all else "each value but the first, against which they count,"
    words = f"Give {which} of a text feature its own column."
    return option("Data", "--one-hot", is_flag=True, default=None, help=words)


def save_option(*, required: bool = False) -> Decorator:
    """Where to write a model."""
    words = "Write the fitted model to this file."
    return option("Output", "--save", type=_FILE, metavar="FILE", required=required, callback=new_file, help=words)


def model_option(written_by: str) -> Decorator:
    """Where to read one from."""
    words = f"Read the model that `{written_by} --save` wrote."
    return option("Model", "--model", type=_FILE, metavar="FILE", required=True, help=words)


def plot_option(what: str) -> Decorator:
    """Where to draw."""
    words = f"Draw {what} into a .png, .svg or .pdf file."
    return option("Output", "--plot", type=_FILE, metavar="FILE", callback=_picture, help=words)


def seed_option(of: str, group: str = "Model") -> Decorator:
    """The seed of what is random."""
    return option(group, "--seed", type=SEED, default=0, show_default=True, help=f"Random seed for {of}.")


def level_option(of: str) -> Decorator:
    """The level of intervals."""
    words = f"Confidence level of {of}."
    return option("Intervals", "--level", default=0.95, show_default=True, type=NumberRange(0.5, 0.9999), help=words)


def style_option(group: str) -> Decorator:
    """What is done with covariates."""
    return option(
        group,
        "--style",
        type=click.Choice(["difference", "arena"]),
        default="difference",
        show_default=True,
        help="Take covariates as left minus right, or as FastChat does: (a - b) / (a + b + 1), standardised.",
    )


def style_arguments(covariates: tuple[str, ...], style: str) -> dict[str, Any]:
    """The covariates and what is done with them, as `read_comparisons` takes it; the arena has some of its own."""
    if style == "arena":
        return {"covariates": list(covariates) or None, "style": "arena"}
    return {"covariates": list(covariates)} if covariates else {}


def metric_options(*, empty: str, relevant_from: float | None = None, gain: str = "exp") -> Decorator:
    """How ranking metrics treat grades, equal scores and rows without anything relevant."""
    options: list[Decorator] = [
        option(
            "Measures",
            "--relevant-from",
            type=float,
            default=relevant_from,
            show_default=relevant_from is not None,
            help="Take grades from here on as relevant, in metrics that know relevant or not "
            "(prec, recall, hit, ap, rr, auc).",
        ),
        option(
            "Measures",
            "--gain",
            type=click.Choice(["exp", "linear"]),
            default=gain,
            show_default=True,
            help="Count a grade y in (n)DCG as 2^y - 1, or as y, as trec_eval does.",
        ),
        option(
            "Measures",
            "--ties",
            type=click.Choice(["label", "average", "worst"]),
            default="label",
            show_default=True,
            help="Order equal scores by label (documents: later name first, as trec_eval), average over all orders, "
            "or take the worst.",
        ),
        option(
            "Measures",
            "--empty",
            type=click.Choice(["best", "worst", "skip"]),
            default=empty,
            show_default=True,
            help="Count rows without anything relevant as the best (gain 1) or the worst (gain 0), or skip them.",
        ),
    ]

    def add(command: Handler) -> Handler:
        for each in reversed(options):
            command = each(command)
        return command

    return add


def output_options(*forms: str, default: str = "table") -> Decorator:
    """Add `--format` and `--output`; the command is called with `out`, an `Output`, in their place."""
    offered = forms or FORMATS
    return gathered(
        "out",
        partial(Output.chosen, offered, default),
        option(
            "Output",
            "-o",
            "--output",
            type=_FILE,
            metavar="FILE",
            callback=new_file,
            help="Write the output to this file instead of standard output.",
        ),
        option(
            "Output",
            "--format",
            "written_as",
            type=click.Choice(offered),
            help=f"Write the output in this form.  [default: by the suffix of --output; else {default}]",
        ),
    )


def new_file(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a place where nothing can be written before the work, not after it."""
    if path is not None and not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {str(path.parent)!r}; make it, or choose another")
    return path


def _picture(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        from podium.show.plots import check_path

        check_path(path)
    return path


_FILE = click.Path(dir_okay=False, path_type=Path)


def text_of(path: Path | None) -> str | None:
    """What a text file holds."""
    if path is None:
        return None
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as problem:
        raise InputError(f"{path} is not UTF-8 text; save the file as UTF-8") from problem
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}; check the path") from problem
