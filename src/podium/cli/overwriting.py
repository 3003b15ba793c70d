"""An output is never written over what is read, nor over another output."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from podium.errors import InputError

__all__ = ["refuse_overwriting"]

OUTPUTS = ("output", "save", "plot", "report", "embed", "log")  # options that name a file to write; others, one to read


def refuse_overwriting(context: click.Context) -> None:
    """Refuse an output that is also an input or another output; pipes and devices may be named again."""
    from podium.data.writing import is_stream

    params = context.params
    named = {param.name: param for param in context.command.params if param.name and params.get(param.name)}
    paths = {name: Path(params[name]) for name in OUTPUTS if name in named}
    for name, path in paths.items():
        if str(path) == "-" and name != "output":
            raise InputError(f"{_dashed(name)} - : this goes to a file, not to standard output; give it a name")
    outputs = [(_dashed(name), path) for name, path in paths.items() if str(path) != "-" and not is_stream(path)]
    if not outputs:
        return
    read = [name for name, param in named.items() if name not in OUTPUTS and _names_a_file(param)]
    inputs = [place for name in read for part in _parts(params[name]) for place in _files(part)]
    for at, (name, path) in enumerate(outputs):
        for other, place in outputs[:at]:
            if _same(path, place):
                raise InputError(f"{other} and {name} are both {path}; give each a file of its own")
        if any(_same(path, place) for place in inputs):
            raise InputError(f"{name} {path} would overwrite what is read; choose another name")


def _names_a_file(param: click.Parameter) -> bool:
    return isinstance(param, click.Argument) or isinstance(param.type, click.Path) or param.metavar == "FILE"


def _parts(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _files(source: Any) -> list[Path]:
    """The files an argument stands for; none where it stands for none, which the command itself will tell."""
    from podium.data.tables.sources import find_sources

    try:
        return [one.path or Path("/dev/stdin") for one in find_sources(source)]
    except InputError:
        return []


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:  # one of them is not there yet
        return os.path.realpath(one) == os.path.realpath(other)


def _dashed(name: str) -> str:
    return f"--{name.replace('_', '-')}"
