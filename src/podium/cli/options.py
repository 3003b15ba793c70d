"""Options that several commands share: which column is which, and where output goes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["chosen_columns", "column_options", "output_options", "votes_argument"]

F = TypeVar("F", bound=Callable[..., Any])

COLUMNS = {
    "winner": "column of the winner",
    "loser": "column of the loser",
    "left": "column of the left (first) item",
    "right": "column of the right (second) item",
    "outcome": "column of the outcome: 1, 0 or 0.5 for the left item, or the winner's name",
    "left_wins": "column that counts the wins of the left item",
    "right_wins": "column that counts the wins of the right item",
    "tie_count": "column that counts ties",
    "margin": "column of the margin, left over right",
    "weight": "column of the vote's weight",
    "judge": "column of the judge",
    "group": "column of a group of votes that go together",
}

votes_argument = click.argument("votes", nargs=-1, required=True)


def column_options(command: F) -> F:
    """Add an option for each column of a vote file; what is not given is recognised by name."""
    for name, words in reversed(COLUMNS.items()):
        command = click.option(f"--{name.replace('_', '-')}", metavar="COLUMN", help=f"{words.capitalize()}.")(command)
    command = click.option("--delimiter", metavar="CHAR", help="What separates cells of a CSV file.")(command)
    return click.option(
        "--input-format",
        type=click.Choice(["csv", "parquet", "jsonl", "json", "ipc"]),
        help="Format of the files, where the name does not tell.",
    )(command)


def chosen_columns(given: dict[str, Any]) -> dict[str, Any]:
    """The column options out of a command's options, under the names that `read_comparisons` takes."""
    picked = {name: given.pop(name) for name in COLUMNS}
    picked["ties"] = picked.pop("tie_count")
    picked["delimiter"], picked["format"] = given.pop("delimiter"), given.pop("input_format")
    return {name: value for name, value in picked.items() if value is not None}


def output_options(*formats: str) -> Callable[[F], F]:
    """Add `--format` and `--output`; without a format the output file's suffix decides."""

    def add(command: F) -> F:
        command = click.option(
            "--format", "style", type=click.Choice(formats), help="Form of the output; else by its suffix."
        )(command)
        return click.option(
            "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write here instead of to stdout."
        )(command)

    return add
