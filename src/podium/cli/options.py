"""Options that several commands share, each worded once: columns, labels, models, pictures, seeds, output."""

from __future__ import annotations

import functools
import math
import os
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import click

from podium.cli.help import Decorator, Handler, option
from podium.cli.output import FORMATS, Output
from podium.errors import InputError

__all__ = [
    "SEED",
    "Columns",
    "NumberRange",
    "Penalty",
    "column_options",
    "gathered",
    "id_option",
    "ids_option",
    "is_typed",
    "level_option",
    "metric_options",
    "model_option",
    "new_file",
    "output_options",
    "plot_option",
    "refuse_overwriting",
    "save_option",
    "seed_option",
    "split_names",
    "tables_argument",
    "votes_argument",
]

COLUMNS = {
    "winner": "Name the column of the winner.",
    "loser": "Name the column of the loser.",
    "left": "Name the column of the left (first) item.",
    "right": "Name the column of the right (second) item.",
    "outcome": "Name the column of the outcome: 1, 0 or 0.5 for the left item, or the winner's label.",
    "left_wins": "Name the column that counts the wins of the left item.",
    "right_wins": "Name the column that counts the wins of the right item.",
    "tie_count": "Name the column that counts ties.",
    "margin": "Name the column of the margin, left over right.",
    "ranking": "Name the column of whole orders, best first.",
    "weight": "Name the column of the weight of each vote.",
    "count": "Name the column that says how many equal votes a row stands for.",
    "judge": "Name the column of the judge.",
    "group": "Name the column of a group of votes that go together.",
}

OUTPUTS = ("output", "save", "plot", "report", "log")  # options that name a file to write
INPUTS = ("features", "model")  # options that name one to read, as every argument does


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

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Turn what was typed into a float, or leave "auto"."""
        if value == "auto" or isinstance(value, float):
            return value
        try:
            return float(value)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor 'auto'; give one of them", param, ctx)


SEED = click.IntRange(min=0)  # what numpy.random takes, everywhere

votes_argument = click.argument("votes", nargs=-1, required=True)
tables_argument = click.argument("tables", nargs=-1, required=True)


def gathered(name: str, kind: type, *options: Decorator) -> Decorator:
    """Add options whose values travel together: the command is called with one `kind` of them, as `name`."""
    own = [field.name for field in fields(kind)]

    def add(command: Handler) -> Handler:
        @functools.wraps(command)
        def called(*args: Any, **given: Any) -> Any:
            value = kind(**{each: given.pop(each) for each in own})
            return command(*args, **given, **{name: value})

        handler: Handler = called
        for each in reversed(options):
            handler = each(handler)
        return handler

    return add


def is_typed(name: str) -> bool:
    """Whether the user typed the option, rather than leaving it to its default."""
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


def split_names(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[str, ...]:
    """Names separated by commas."""
    return () if value is None else tuple(name.strip() for name in value.split(","))


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a file of votes, and how it is written; None is recognised, an empty name says: none."""

    jobs: int | None
    input_format: str | None
    delimiter: str | None
    winner: str | None
    loser: str | None
    left: str | None
    right: str | None
    outcome: str | None
    left_wins: str | None
    right_wins: str | None
    tie_count: str | None
    margin: str | None
    ranking: str | None
    weight: str | None
    count: str | None
    judge: str | None
    group: str | None

    def arguments(self) -> dict[str, Any]:
        """What was typed, as `read_comparisons` takes it."""
        typed = {name: getattr(self, name) for name in COLUMNS}
        typed["ties"] = typed.pop("tie_count")
        typed = {name: False if value == "" else value for name, value in typed.items()}
        typed |= {"delimiter": self.delimiter, "format": self.input_format}
        return {name: value for name, value in typed.items() if value is not None} | {"jobs": self.jobs}


column_options = gathered(
    "columns",
    Columns,
    option(
        "Data",
        "--jobs",
        type=click.IntRange(1),
        metavar="N",
        help="Work in N processes; results do not depend on it.  [default: 1; as many as cores to read large files]",
    ),
    option(
        "Data",
        "--input-format",
        type=click.Choice(["csv", "parquet", "jsonl", "json", "ipc"]),
        help="Read the files in this format, where their names do not tell.",
    ),
    option("Data", "--delimiter", metavar="CHAR", help="Separate the cells of a CSV file by this character."),
    *(option("Data", f"--{name.replace('_', '-')}", metavar="COLUMN", help=words) for name, words in COLUMNS.items()),
)


def id_option(otherwise: str) -> Decorator:
    """The one column of labels."""
    words = f"Name the column of the items' labels.  [default: {otherwise}]"
    return option("Data", "--id", "id", metavar="COLUMN", help=words)


def ids_option(command: Handler) -> Handler:
    """Columns of labels in a table of examples."""
    words = "Name a column of labels, which is no feature and is carried into predictions; may be given again."
    return option("Data", "--id", "ids", multiple=True, metavar="COLUMN", help=words)(command)


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
            type=click.Choice(["skip", "zero_loss", "one"]),
            default=empty,
            show_default=True,
            help="Leave rows without anything relevant out, or give them gain 1, or gain 0.",
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
    words = f"Write the output in this form.  [default: by the suffix of --output; else {default}]"

    def add(command: Handler) -> Handler:
        @functools.wraps(command)
        def called(*args: Any, style: str | None, output: Path | None, **given: Any) -> Any:
            refuse_overwriting(click.get_current_context())
            return command(*args, out=Output.chosen(style, output, offered, default), **given)

        handler = option("Output", "--format", "style", type=click.Choice(offered), help=words)(called)
        return option(
            "Output",
            "-o",
            "--output",
            type=_FILE,
            metavar="FILE",
            callback=new_file,
            help="Write the output to this file instead of standard output.",
        )(handler)

    return add


def new_file(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Refuse a place where nothing can be written before the work, not after it."""
    if path is not None and not path.parent.is_dir():
        raise InputError(f"cannot write {path}: there is no folder {str(path.parent)!r}; make it, or choose another")
    return path


def refuse_overwriting(context: click.Context) -> None:
    """Refuse an output that is also an input or another output; pipes and devices may be named again."""
    from podium.data.writing import is_stream

    given = context.params
    named = {param.name: param for param in context.command.params if param.name and given.get(param.name)}
    outputs = [(_dashed(name), given[name]) for name in OUTPUTS if name in named and not is_stream(Path(given[name]))]
    if not outputs:
        return
    read = [name for name, param in named.items() if isinstance(param, click.Argument) or name in INPUTS]
    inputs = [place for name in read for part in _parts(given[name]) for place in _files(part)]
    for at, (name, path) in enumerate(outputs):
        for other, place in outputs[:at]:
            if _same(path, place):
                raise InputError(f"{other} and {name} are both {path}; give each a file of its own")
        if any(_same(path, place) for place in inputs):
            raise InputError(f"{name} {path} would overwrite what is read; choose another name")


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _files(given: Any) -> list[Path]:
    """The files an argument stands for; none where it stands for none, which the command itself will tell."""
    from podium.data.tables.sources import find_sources

    try:
        return [one.path or Path("/dev/stdin") for one in find_sources(given)]
    except InputError:
        return []


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)


def _picture(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        from podium.show.plots import check_path

        check_path(path)
    return path


_FILE = click.Path(dir_okay=False, path_type=Path)


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"
