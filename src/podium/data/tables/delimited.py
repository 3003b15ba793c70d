"""Delimited text (CSV and its kin), a block at a time, with what is wrong named by row.

polars parses the fields. It fills short rows, renames equal headers and gives no row number for long ones or for bytes
that are not UTF-8, so rows are walked over first.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Generator
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from podium.data.spreadsheets import plain, plain_name
from podium.errors import InputError, Option
from podium.kernels.text import lines as kernel

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_delimited", "sniff_delimiter"]

BLOCK = 1 << 23  # bytes parsed at a time: with what copies there are, a few dozen megabytes
MAX_ROW_BYTES = 1 << 28  # a row longer than this is an open quote, not a row
DELIMITERS = ",;\t|"
BOM = b"\xef\xbb\xbf"


def read_delimited(
    stream: IO[bytes], where: str, delimiter: str | None = None, *, no_header: bool = False
) -> Generator[Any, list[str], None]:
    """Yield the header; sent the columns to read, yield frames of them, all as text, some rows at a time.

    Where there is no header, columns are called 1, 2, and so on.
    """
    import polars as pl

    data = stream.read(BLOCK).removeprefix(BOM)
    _refuse_other_text(data, where)
    delimiter = _checked(delimiter) if delimiter is not None else sniff_delimiter(data)
    header, start = _header(data, delimiter, where, final=len(data) < BLOCK, numbered=no_header)
    chosen = yield list(header)  # whoever asks may add columns of its own
    rows, data = 0, data[start:]
    yield pl.DataFrame(schema=dict.fromkeys(chosen, pl.String))
    while True:
        more = stream.read(BLOCK)
        block, data, count = _good_rows(data, more, delimiter, len(header), where, rows)
        rows += count
        if count:
            yield _parse(block, delimiter, header, chosen, count, where, rows)
        if not more and not data:
            return


def sniff_delimiter(data: bytes) -> str:
    """The delimiter the first line holds most of; a comma if it holds none."""
    first = data.lstrip(b"\r\n").split(b"\n", 1)[0].decode(errors="replace")
    outside = "".join(first.split('"')[0::2])
    return max(DELIMITERS, key=outside.count)


def _checked(delimiter: str) -> str:
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter)
    if not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n':
        raise InputError(
            Option("delimiter", delimiter), " is not one plain character; give one such as ',' or ';' or 'tab'"
        )
    return delimiter


def _refuse_other_text(data: bytes, where: str) -> None:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{where} is UTF-16 text; save it as UTF-8")
    if data.startswith(b"SQLite format 3\0"):
        export = "`podium campaign export votes --db FILE -o votes.csv`"
        raise InputError(f"{where} is a database, not a table; where it holds a campaign, {export} writes its votes")
    if b"\0" in data[: 1 << 16]:
        raise InputError(f"{where} is not a CSV file: it holds binary data; save it as text")
    if b"\n" not in data and b"\r" in data.strip():
        raise InputError(f"{where} ends its lines with carriage returns (CR) alone; save it with LF or CRLF line ends")


def _header(data: bytes, delimiter: str, where: str, final: bool, numbered: bool = False) -> tuple[list[str], int]:
    """The names of the columns and where the first row begins; numbers, and the very start, if there is no header."""
    scan, blanks = np.zeros(4, np.int64), np.zeros(1, np.int64)
    start = 0
    while start < len(data) and data[start : start + 1] in (b"\n", b"\r"):
        start += 1
    end = start
    while (end := data.find(b"\n", end)) >= 0 or final:
        end = end + 1 if end >= 0 else len(data)
        line = np.frombuffer(data[start:end], np.uint8)
        if kernel.scan_rows(line, ord(delimiter), 0, True, blanks, scan) != kernel.OPEN_QUOTE or end == len(data):
            break
    text = _decoded(data[start:end], where)
    names = next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), [])
    if not any(name.strip() for name in names):
        raise InputError(f"{where} is empty; expected a header and rows")
    if numbered:
        return [str(k + 1) for k in range(len(names))], start
    names = [plain_name(name) for name in names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"{where}: the header names {twice[0]!r} {names.count(twice[0])} times; give every column its own name"
        )
    return names, end


def _good_rows(
    data: bytes, more: bytes, delimiter: str, columns: int, where: str, rows: int
) -> tuple[bytes, bytes, int]:
    """The complete rows of what is at hand, the bytes after them, and their number."""
    scan, blanks = np.zeros(4, np.int64), np.zeros(1024, np.int64)
    data += more
    status = kernel.scan_rows(np.frombuffer(data, np.uint8), ord(delimiter), columns, not more, blanks, scan)
    end, count, blank, fields = scan.tolist()
    if status == kernel.OPEN_QUOTE or len(data) - end > MAX_ROW_BYTES:
        raise InputError(f"{where}, row {rows + count + 1}: a quote opens that never closes; close it or remove it")
    block = data[:end]
    if b"\0" in block:
        row = rows + _rows_before(block, block.index(b"\0"), delimiter) + 1
        raise InputError(f"{where}, row {row}: a NUL byte is no text; remove it, or save the file as text")
    if not block.isascii():
        _decoded(block, where, rows, delimiter)
        _refuse_marks(block, where, rows, delimiter)
    if status == kernel.RAGGED:
        _refuse_ragged(data[end:], delimiter, columns, fields, f"{where}, row {rows + count + 1}")
    if status == kernel.STRAY_QUOTE:
        raise InputError(
            f"{where}, row {rows + count + 1}: a quote stands inside a field; "
            "put the whole field in quotes and double those within"
        )
    if blank:
        block = _without_blanks(block, blanks[:blank].tolist())
    return block, data[end:], count


def _refuse_ragged(rest: bytes, delimiter: str, columns: int, fields: int, where: str) -> None:
    line = rest[: rest.find(b"\n") if b"\n" in rest else len(rest)].decode(errors="replace").strip("\r")
    shown = line if len(line) <= 60 else line[:57] + "..."
    many = "field" if fields == 1 else "fields"
    raise InputError(
        f"{where}: {fields} {many} where the header has {columns} ({shown!r}); "
        f"complete the row, or quote fields that hold {delimiter!r}"
    )


def _decoded(block: bytes, where: str, rows: int | None = None, delimiter: str = ",") -> str:
    """The block as text; a byte that is not UTF-8 is an error that names its row (the header, when `rows` is None)."""
    try:
        return block.decode()
    except UnicodeDecodeError as problem:
        around = block[max(0, problem.start - 10) : problem.start + 10].decode("latin-1").strip()
        byte = block[problem.start]
        place = "the header" if rows is None else f"row {rows + _rows_before(block, problem.start, delimiter) + 1}"
        raise InputError(
            f"{where}, {place}: byte 0x{byte:02x} is not UTF-8 text (near {around!r}); save the file as UTF-8"
        ) from None


def _refuse_marks(block: bytes, where: str, rows: int, delimiter: str) -> None:
    """Stop at a byte order mark that begins a row: polars would drop some, and others would be part of a label."""
    place = 0 if block.startswith(BOM) else block.find(b"\n" + BOM) + 1
    if block.startswith(BOM, place):
        row = rows + _rows_before(block, place, delimiter) + 1
        raise InputError(f"{where}, row {row}: it begins with a byte order mark, as where files were joined; remove it")


def _rows_before(block: bytes, place: int, delimiter: str) -> int:
    """How many rows end before a place."""
    scan, blanks = np.zeros(4, np.int64), np.zeros(place + 1, np.int64)
    kernel.scan_rows(np.frombuffer(block[:place], np.uint8), ord(delimiter), 0, False, blanks, scan)
    return int(scan[1])


def _without_blanks(block: bytes, blanks: list[int]) -> bytes:
    pieces, start = [], 0
    for blank in blanks:
        pieces.append(block[start:blank])
        start = block.index(b"\n", blank) + 1 if b"\n" in block[blank:] else len(block)
    return b"".join([*pieces, block[start:]])


def _parse(
    block: bytes, delimiter: str, header: list[str], chosen: list[str], count: int, where: str, rows: int
) -> pl.DataFrame:
    import polars as pl

    positions = sorted(header.index(name) for name in chosen)
    untold = InputError(
        f"{where}: a quote in rows {rows - count + 1} to {rows} is opened and not closed, or stands inside a cell; "
        'write a cell that holds quotes as "say ""yes""", with quotes around it and each of its own doubled'
    )
    try:
        frame = pl.read_csv(block, has_header=False, separator=delimiter, columns=positions, infer_schema=False)
    except pl.exceptions.PolarsError as problem:
        raise untold from problem
    if (frame.height, frame.width) != (count, len(positions)):
        raise untold
    frame.columns = [header[place] for place in positions]
    frame = plain(frame) if b"'" in block else frame
    return pl.DataFrame([frame.get_column(name) for name in chosen])  # select would take a name such as * for a pattern
