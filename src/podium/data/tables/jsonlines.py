"""JSON, one object a line or one array of objects, with what is wrong named by row.

polars reads the values. It turns a number among texts into text and gives no row for a line it cannot read, so those
are looked for here: the first by a search of the bytes, the second only once polars has given up.
"""

from __future__ import annotations

import io
import json
import re
import warnings
from collections.abc import Generator, Iterator
from typing import IO, TYPE_CHECKING, Any

from podium.data.tables.nested import Names, picked, roots
from podium.errors import DataWarning, InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_json_array", "read_json_lines"]

HALF = re.compile(rb"\\u[dD][89a-fA-F]")  # where half a character could stand
NOTE = b'{"podium":'
BLOCK = 1 << 24  # bytes parsed at a time


def read_json_lines(stream: IO[bytes], where: str) -> Generator[Any, list[str], None]:
    """Yield the names that the first lines hold; sent those to read, yield frames of them, some rows at a time."""
    rows, rest, noted = 0, b"", False
    schema: dict[str, Any] | None = None
    chosen: list[str] = []
    ahead: bytes | None = stream.read(BLOCK)
    if ahead and ahead.startswith(NOTE):  # a journal: votes may be taken back further down
        stream = io.BytesIO(_that_count(ahead + stream.read()))
        ahead = None
    while True:
        more, ahead = (stream.read(BLOCK) if ahead is None else ahead), None
        data = rest + more
        end = data.rfind(b"\n") + 1 if more else len(data)
        noted = noted or NOTE in data[:end]
        block, rest = _without_notes(data[:end]), data[end:]
        if block and not block.isspace():
            frame = _parse(block, where, rows, schema)
            if schema is None:
                chosen = yield Names(frame.schema)
                schema = {name: frame.schema[name] for name in roots(chosen, frame.schema)}
            frame = frame.select(picked(chosen, frame.schema))
            _refuse_mixed(block, frame, where, rows)
            yield frame
            rows += frame.height
        if not more:
            break
    if schema is None and not noted:
        raise InputError(f"{where} is empty; expected one JSON object a line")
    if schema is None:
        warnings.warn(f"{where} is the log of an interview without answers; it adds nothing", DataWarning, stacklevel=2)


def _that_count(journal: bytes) -> bytes:
    """The lines of a journal without the votes that an undo takes back, or of a judge who is excluded."""
    lines = journal.split(b"\n")
    notes = [_note(line) for line in lines if line.startswith(NOTE) and (b'"undo"' in line or b'"exclude"' in line)]
    gone = {note.get("row") for note in notes if note.get("podium") == "undo"}
    out = [note.get("judge") for note in notes if note.get("podium") == "exclude"]
    return b"\n".join(
        line
        for number, line in enumerate(lines, start=1)
        if number not in gone and not (out and not line.startswith(NOTE) and _note(line).get("judge") in out)
    )


def _note(line: bytes) -> dict[str, Any]:
    try:
        note = json.loads(line)
    except ValueError:
        return {}
    return note if isinstance(note, dict) else {}


def _without_notes(block: bytes) -> bytes:
    """Leave out the notes of an interview's log: lines that begin with {"podium": are no votes."""
    if NOTE not in block:
        return block
    return b"".join(line for line in block.splitlines(keepends=True) if not line.startswith(NOTE))


def read_json_array(stream: IO[bytes], where: str) -> Generator[Any, list[str], None]:
    """Yield the names in a file that is one array of objects; sent those to read, yield a frame of them.

    An array of arrays is one of rankings, each the items best first.
    """
    text = stream.read()
    try:
        rows = json.loads(text)
    except UnicodeDecodeError as problem:
        raise InputError(f"{where}: byte {problem.start} is not UTF-8 text; save the file as UTF-8") from problem
    except json.JSONDecodeError as problem:
        raise InputError(f"{where}, line {problem.lineno}: not JSON ({problem.msg}); correct it") from problem
    except (ValueError, RecursionError) as problem:  # a number of thousands of digits, lists within lists without end
        raise InputError(f"{where} cannot be read: {problem}; correct it") from problem
    if not isinstance(rows, list):
        raise InputError(f"{where} holds a single {type(rows).__name__}; expected an array of objects")
    if rows and all(isinstance(row, list) for row in rows):
        rows = [{"ranking": row} for row in rows]
    lines = b"\n".join(json.dumps(row).encode() for row in rows)
    if not rows:
        raise InputError(f"{where} is an empty array; expected objects, one for each row")
    frame = _parse(lines, where, 0, None)
    chosen = yield Names(frame.schema)
    frame = frame.select(picked(chosen, frame.schema))
    _refuse_mixed(lines, frame, where, 0)
    yield frame


def _parse(block: bytes, where: str, rows: int, schema: dict[str, Any] | None) -> pl.DataFrame:
    """Read lines with the columns known so far; where they do not fit, with those the lines themselves show."""
    import polars as pl

    if HALF.search(block):  # polars would make the same character of all of them
        for row, line in enumerate(_lines(block), start=rows + 1):
            if HALF.search(line):
                _refuse_bad_line(line, f"{where}, row {row}")
    try:
        if schema is not None:
            try:
                return pl.read_ndjson(block, schema=schema)
            except pl.exceptions.PolarsError:
                pass
        return pl.read_ndjson(block, infer_schema_length=None)
    except pl.exceptions.PolarsError as problem:
        for row, line in enumerate(_lines(block), start=rows + 1):
            _refuse_bad_line(line, f"{where}, row {row}")
        raise InputError(f"{where}: {str(problem).splitlines()[0]}; give each column values of one kind") from problem


def _refuse_bad_line(line: bytes, where: str) -> None:
    try:
        value = json.loads(line, parse_constant=_refuse_constant)
    except UnicodeDecodeError as problem:
        byte = line[problem.start]
        raise InputError(f"{where}: byte 0x{byte:02x} is not UTF-8 text; save the file as UTF-8") from problem
    except json.JSONDecodeError as problem:
        raise InputError(f"{where}: not JSON ({problem.msg} at character {problem.pos + 1}); correct it") from problem
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{where} cannot be read: {problem}; correct it") from problem
    if not isinstance(value, dict):
        shown = repr(value) if len(repr(value)) <= 60 else repr(value)[:57] + "..."
        way = "write one for each row, with names for its values"
        way += ', as {"ranking": ["a", "b"]} for a ranking' if isinstance(value, list) else ""
        raise InputError(f"{where}: {shown} is not an object; {way}")
    for name, held in value.items():
        if isinstance(held, int) and not -(1 << 127) <= held < (1 << 127):
            raise InputError(f"{where}: {name} is a number of {len(str(abs(held)))} digits, too large; make it text")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        half = str(problem.object)[problem.start]
        raise InputError(f"{where}: {half!r} is half a character (a lone surrogate); write the text anew") from problem


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no value of JSON")


def _refuse_mixed(block: bytes, frame: pl.DataFrame, where: str, rows: int) -> None:
    """A text column must not hold numbers: polars would have turned 1 into "1", a label of its own."""
    import polars as pl

    for name in frame.columns:
        if frame.schema[name] == pl.String and frame[name].str.contains("^[-0-9]").any():
            number = re.compile(re.escape(json.dumps(name).encode()) + rb"\s*:\s*-?[0-9]")
            for match in number.finditer(block):
                start = block.rfind(b"\n", 0, match.start()) + 1
                line = block[start : block.find(b"\n", start) if b"\n" in block[start:] else len(block)]
                value = json.loads(line).get(name)
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    row = rows + sum(1 for _ in _lines(block[:start])) + 1
                    raise InputError(
                        f"{where}, row {row}: {name} is the number {value} here and text elsewhere; make all of it text"
                    )


def _lines(block: bytes) -> Iterator[bytes]:
    return (line for line in block.split(b"\n") if line.strip())
