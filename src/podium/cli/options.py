"""Options that several commands share, each worded once: columns, labels, models, pictures, seeds, output."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import click

from podium.cli.output import FORMATS, Output
from podium.errors import InputError

__all__ = [
    "SEED",
    "Command",
    "Decorator",
    "NumberRange",
    "Penalty",
    "chosen_columns",
    "column_options",
    "id_option",
    "ids_option",
    "level_option",
    "metric_options",
    "model_option",
    "new_file",
    "output_options",
    "plot_option",
    "refuse_overwriting",
    "save_option",
    "seed_option",
    "votes_argument",
]

Command: TypeAlias = Callable[..., Any]
Decorator: TypeAlias = Callable[[Command], Command]

COLUMNS = {
    "winner": "column of the winner",
    "loser": "column of the loser",
    "left": "column of the left (first) item",
    "right": "column of the right (second) item",
    "outcome": "column of the outcome: 1, 0 or 0.5 for the left item, or the winner's label",
    "left_wins": "column that counts the wins of the left item",
    "right_wins": "column that counts the wins of the right item",
    "tie_count": "column that counts ties",
    "margin": "column of the margin, left over right",
    "ranking": "column of whole orders, best first",
    "weight": "column of what each vote weighs",
    "count": "column of how many equal votes a row stands for",
    "judge": "column of the judge",
    "group": "column of a group of votes that go together",
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


def column_options(command: Command) -> Command:
    """Add an option for each column of a vote file; what is not given is recognised by name."""
    for name, words in reversed(COLUMNS.items()):
        command = click.option(_dashed(name), metavar="COLUMN", help=f"{words.capitalize()}.")(command)
    command = click.option("--delimiter", metavar="CHAR", help="What separates cells of a CSV file.")(command)
    return click.option(
        "--input-format",
        type=click.Choice(["csv", "parquet", "jsonl", "json", "ipc"]),
        help="Format of the files, where the name does not tell.",
    )(command)


def chosen_columns(given: dict[str, Any]) -> dict[str, Any]:
    """The column options out of a command's options, as `read_comparisons` takes them; an empty name says: none."""
    picked = {name: given.pop(name) for name in COLUMNS}
    picked["ties"] = picked.pop("tie_count")
    picked = {name: False if value == "" else value for name, value in picked.items()}
    picked["delimiter"], picked["format"] = given.pop("delimiter"), given.pop("input_format")
    return {name: value for name, value in picked.items() if value is not None}


def id_option(otherwise: str) -> Decorator:
    """The one column of labels."""
    return click.option("--id", "id", metavar="COLUMN", help=f"Column of the items' labels.  [default: {otherwise}]")


def ids_option(command: Command) -> Command:
    """Columns of labels in a table of examples."""
    words = "Column of labels: no feature, carried into predictions; may be given again."
    return click.option("--id", "ids", multiple=True, metavar="COLUMN", help=words)(command)


def save_option(*, required: bool = False) -> Decorator:
    """Where to write a model."""
    return click.option(
        "--save", type=_FILE, metavar="FILE", required=required, callback=new_file, help="Write the fitted model here."
    )


def model_option(written_by: str) -> Decorator:
    """Where to read one from."""
    return click.option(
        "--model", type=_FILE, metavar="FILE", required=True, help=f"Model written by `{written_by} --save`."
    )


def plot_option(what: str) -> Decorator:
    """Where to draw."""
    return click.option(
        "--plot", type=_FILE, metavar="FILE", callback=_picture, help=f"Draw {what}: .png, .svg or .pdf."
    )


def seed_option(of: str) -> Decorator:
    """Where randomness begins."""
    return click.option("--seed", type=SEED, default=0, show_default=True, help=f"Of {of}.")


def level_option(of: str) -> Decorator:
    """How sure an interval is to be."""
    return click.option("--level", default=0.95, show_default=True, type=NumberRange(0.5, 0.9999), help=f"Of {of}.")


def metric_options(*, empty: str, relevant_from: float | None = None, gain: str = "exp") -> Decorator:
    """How ranking metrics treat grades, equal scores and rows without anything relevant."""
    options: list[Decorator] = [
        click.option(
            "--relevant-from",
            type=float,
            default=relevant_from,
            show_default=relevant_from is not None,
            help="Relevant from here on, for metrics that know relevant or not (prec, recall, hit, ap, rr, auc).",
        ),
        click.option(
            "--gain",
            type=click.Choice(["exp", "linear"]),
            default=gain,
            show_default=True,
            help="Of a grade y in (n)DCG: 2^y - 1, or y as trec_eval.",
        ),
        click.option(
            "--ties",
            type=click.Choice(["label", "average", "worst"]),
            default="label",
            show_default=True,
            help="Equal scores: by label (documents: later name first, as trec_eval), averaged, or the worst order.",
        ),
        click.option(
            "--empty",
            type=click.Choice(["skip", "zero_loss", "one"]),
            default=empty,
            show_default=True,
            help="Where nothing is relevant: left out, gain 1, or gain 0.",
        ),
    ]

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def output_options(*forms: str, default: str = "table") -> Decorator:
    """Add `--format` and `--output`; the command is called with `out`, an `Output`, in their place."""
    offered = forms or FORMATS
    words = f"Form of the output.  [default: by the suffix of --output; else {default}]"

    def add(command: Command) -> Command:
        @functools.wraps(command)
        def called(*args: Any, style: str | None, output: Path | None, **given: Any) -> Any:
            refuse_overwriting(click.get_current_context())
            return command(*args, out=Output.chosen(style, output, offered, default), **given)

        made = click.option("--format", "style", type=click.Choice(offered), help=words)(called)
        return click.option(
            "-o",
            "--output",
            type=_FILE,
            metavar="FILE",
            callback=new_file,
            help="Write here instead of to standard output.",
        )(made)

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
    for at, (option, path) in enumerate(outputs):
        for other, place in outputs[:at]:
            if _same(path, place):
                raise InputError(f"{other} and {option} are both {path}; give each a file of its own")
        if any(_same(path, place) for place in inputs):
            raise InputError(f"{option} {path} would overwrite what is read; choose another name")


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
