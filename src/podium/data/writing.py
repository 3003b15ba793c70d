"""Tables and files out, whole or not at all."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from podium.data.spreadsheets import guarded
from podium.errors import InputError
from podium.text import one_line

if TYPE_CHECKING:
    import polars as pl

__all__ = ["as_csv", "is_stream", "replacing", "write_table"]

FORMATS = ("csv", "json", "jsonl", "parquet")


def write_table(frame: pl.DataFrame, target: Any = "-", format: str | None = None) -> None:
    """Write a table to a path (whole or not at all), an open file, or "-" for standard output.

    The format is csv, json, jsonl or parquet: as given, else by the end of the name, else csv. In csv, text that a
    spreadsheet would take for a formula (it begins with = + - @) has an apostrophe before it; `read_table` and all that
    reads files here takes it away again.
    """
    if format is None:
        suffix = Path(target).suffix.lower() if isinstance(target, (str, os.PathLike)) else ""
        format = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}.get(suffix, "csv")
    if format not in FORMATS:
        raise InputError(f"format {format!r} is unknown; choose among {', '.join(FORMATS)}")
    if target == "-":
        sys.stdout.flush()
        _write(frame, sys.stdout.buffer, format)
        sys.stdout.buffer.flush()
    elif hasattr(target, "write"):
        _write(frame, target, format)
    else:
        with replacing(target) as file:
            _write(frame, file, format)


def as_csv(frame: pl.DataFrame, *, header: bool = True) -> str:
    """The one way from a table to CSV: no label can be taken for a formula, and all are read back as they were."""
    return guarded(frame).write_csv(include_header=header)


def _write(frame: pl.DataFrame, file: IO[bytes], format: str) -> None:
    for name, kind in frame.schema.items():
        if not _holds(format, kind):
            others = [word for word in reversed(FORMATS) if _holds(word, kind)]
            way = f"write {others[0]}" if others else "turn it into text or numbers"
            raise InputError(f"column {one_line(name)!r} is {kind}, which {format} cannot hold; {way}, or leave it out")
    if format == "csv":
        file.write(as_csv(frame).encode())
    elif format == "parquet":
        frame.write_parquet(file)
    elif format == "jsonl":
        frame.write_ndjson(file)
    else:
        rows = re.sub(rb"\n(?=.)", b",\n ", frame.write_ndjson().encode().rstrip(b"\n"))
        file.write(b"[" + rows + b"]\n")


def _holds(format: str, kind: Any) -> bool:
    """Whether polars writes columns of this kind: asked first, as it would panic rather than say no."""
    import polars as pl

    inner = [field.dtype for field in kind.fields] if isinstance(kind, pl.Struct) else []
    inner += [kind.inner] if isinstance(kind, pl.List | pl.Array) else []
    no = {"csv": (pl.Binary, pl.Duration, pl.Object), "parquet": (pl.Object,)}.get(format, (pl.Binary, pl.Object))
    if format == "csv" and kind.is_nested():
        return False
    if format == "parquet" and isinstance(kind, pl.Struct) and not inner:
        return False
    return kind not in no and all(_holds(format, each) for each in inner)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path`; it takes that name only if the block ends well.

    A reader never sees half a file, and a failed run leaves the old one as it was. A link stays one: the file it points
    to is replaced. What is there and no plain file (a pipe, a device such as /dev/stdout) is written to as it is.
    """
    if is_stream(Path(path)):
        with _appending(Path(path)) as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    try:
        handle = tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False)  # noqa: SIM115
    except OSError as problem:
        raise InputError(f"cannot write {path}: {problem.strerror}; choose another path") from problem
    try:
        with handle:
            yield handle
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(handle.name, 0o666 & ~umask)
        os.replace(handle.name, target)
    except OSError as problem:
        Path(handle.name).unlink(missing_ok=True)
        raise InputError(f"cannot write {path}: {problem.strerror}; choose another path") from problem
    except BaseException:
        Path(handle.name).unlink(missing_ok=True)
        raise


def is_stream(path: Path) -> bool:
    """Whether writing goes through `path` (a pipe, /dev/stdout) rather than to a file that could be replaced."""
    return (path.exists() and not path.is_file()) or path.parent == Path("/dev")


@contextmanager
def _appending(path: Path) -> Iterator[IO[bytes]]:
    """Open what is there; nothing is made or cut off, as /dev/stdout may stand for a file others write to as well."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_APPEND), "wb") as file:
            yield file
    except OSError as problem:
        raise InputError(f"cannot write {path}: {problem.strerror}; choose another path") from problem
