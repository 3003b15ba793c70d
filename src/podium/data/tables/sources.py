"""Where data comes from: paths, globs, folders, open files and standard input, each with its format.

The format is what an option says, else what the name ends in, else what the first bytes look like.
"""

from __future__ import annotations

import errno
import glob
import gzip
import io
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from podium.errors import InputError, Option

__all__ = ["SVMLIGHT", "Format", "Opened", "Source", "by_name", "find_sources", "is_packed", "opened", "refuse_twice"]

Format: TypeAlias = Literal["csv", "json", "jsonl", "parquet", "ipc"]

FORMATS: tuple[Format, ...] = ("csv", "json", "jsonl", "parquet", "ipc")
SUFFIXES: dict[str, Format] = {
    **dict.fromkeys((".csv", ".tsv", ".psv", ".txt"), "csv"),
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    ".json": "json",
    **dict.fromkeys((".parquet", ".pq"), "parquet"),
    **dict.fromkeys((".arrow", ".ipc", ".feather"), "ipc"),
}
SVMLIGHT = (".svm", ".svmlight", ".libsvm")  # lines without columns
URL = re.compile(r"(?!file:)[a-zA-Z][a-zA-Z0-9+.-]+://")
PACKED = (".gz", ".zst")
MAGIC: dict[bytes, Format] = {b"PAR1": "parquet", b"ARROW1": "ipc"}
TITLES = {"csv": "CSV", "json": "JSON", "jsonl": "JSON Lines", "parquet": "Parquet", "ipc": "Arrow IPC"}


@dataclass(frozen=True)
class Source:
    """One file or stream: what errors call it, where it is, and what the folders above it say (`key=value`)."""

    name: str
    path: Path | None = None
    stream: IO[Any] | None = None
    url: str | None = None
    format: Format | None = None
    folders: dict[str, str] = field(default_factory=dict)
    no_header: bool = False  # a delimited file whose columns are called 1, 2, …
    hint: tuple[str | Option, ...] = ()  # what to do, beside renaming it, where name and content disagree
    share: tuple[int, int, int] | None = (
        None  # of a Parquet file: the row it begins at, its rows, and those of the file
    )

    @property
    def size(self) -> int:
        """Bytes of the file, or of a share of it; 0 where there is none, or no longer."""
        try:
            whole = 0 if self.path is None else self.path.stat().st_size
        except OSError:
            return 0
        return whole if self.share is None else whole * self.share[1] // self.share[2]


@dataclass(frozen=True)
class Opened:
    """A source ready to be read: its format, and its bytes from the start, unpacked."""

    source: Source
    format: Format
    stream: IO[bytes]
    raw: IO[bytes]

    def position(self) -> int:
        """How many bytes of a file were read so far, packed as they are."""
        return self.raw.tell() if self.source.path is not None else 0


def find_sources(source: Any, format: str | None = None) -> list[Source]:
    """Every file `source` stands for, in the order given; files of a glob or a folder are sorted by name.

    `source` is a path, a glob, a folder, an open file, "-" for standard input, or a list of these.
    """
    if format is not None and format not in FORMATS:
        raise InputError(f"format {format!r} is unknown; choose among {', '.join(FORMATS)}")
    kind: Any = format
    if hasattr(source, "read"):
        name = getattr(source, "name", None)
        return [Source(name if isinstance(name, str) else "the open file", stream=source, format=kind)]
    if isinstance(source, (str, os.PathLike)):
        return _find_path(os.fspath(source), kind)
    if _holds_rows(source):
        raise InputError(
            f"cannot read from a {type(source).__name__}; give a path, a list of paths, or an open file. "
            "Votes in a table or a list are taken by Comparisons.from_frame and from_pairs, "
            "orders in a list by Rankings.from_lists"
        )
    if isinstance(source, Iterable) and not isinstance(source, bytes):
        sources = [one for part in source for one in find_sources(part, format)]
        if not sources:
            raise InputError("no files: the list of paths is empty")
        return sources
    raise InputError(f"cannot read from {source!r}; give a path, a list of paths, or an open file")


def _holds_rows(source: Any) -> bool:
    """Whether this is a table, columns or a list of rows, whose parts nobody means as paths."""
    rows = isinstance(source, list | tuple) and any(isinstance(part, list | tuple | Mapping) for part in source)
    return rows or hasattr(type(source), "columns") or isinstance(source, Mapping) or getattr(source, "ndim", 1) > 1


def refuse_twice(sources: Iterable[Source]) -> None:
    """Refuse a file or stream that appears twice among them, be it by another name: its votes would count double."""
    seen: set[Any] = set()
    for one in sources:
        facts = None if one.path is None else one.path.stat()
        key = one.url or id(one.stream) if facts is None else (facts.st_dev, facts.st_ino)
        if key in seen:
            raise InputError(f"{one.name} is given twice, and its votes would count double; name it once")
        seen.add(key)


def _find_path(path_or_url: str, format: Format | None) -> list[Source]:
    if path_or_url == "-":
        return [Source("standard input", stream=sys.stdin, format=format)]
    if URL.match(path_or_url):
        return [Source(path_or_url, url=path_or_url, format=format)]
    path = Path(path_or_url.removeprefix("file://"))
    if path.is_dir():
        return _find_folder(path, format)
    if path.exists():
        if format is None and path.suffix.lower() in SVMLIGHT:
            raise InputError(
                f"{path_or_url} holds svmlight lines, which only `podium label` reads; give a table, as CSV"
            )
        return [Source(path_or_url, path, format=format)]
    if glob.has_magic(path_or_url):
        matches = sorted(glob.glob(path_or_url, recursive=True))
        if not matches:
            raise InputError(f"no file matches {path_or_url}; check the pattern")
        return [one for match in matches for one in _find_path(match, format)]
    raise InputError(f"no such file: {path_or_url}; check the path")


def _find_folder(root: Path, format: Format | None) -> list[Source]:
    sources = []
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root)
        hidden = any(part.startswith((".", "_")) for part in inside.parts)
        if not hidden and path.is_file() and _by_name(path) is not None:
            folders = dict(part.split("=", 1) for part in inside.parts[:-1] if "=" in part)
            sources.append(Source(str(path), path, format=format, folders=folders))
    if not sources:
        raise InputError(f"folder {root} holds no data files; expected names that end in {', '.join(SUFFIXES)}")
    return sources


def by_name(source: Source) -> Format | None:
    """The format that the name of a file or an address promises."""
    return _by_name(Path(urlsplit(source.url).path) if source.url else source.path or Path())


def is_packed(source: Source) -> bool:
    """Whether a file's name says that it is compressed."""
    return any(source.name.lower().endswith(ending) for ending in PACKED)


def _by_name(path: Path) -> Format | None:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in PACKED]
    return SUFFIXES.get(suffixes[-1]) if suffixes else None


def _why_not(problem: OSError) -> str:
    if problem.errno == errno.ESPIPE:
        return "a pipe is taken as standard input alone; give -, and pipe into the command"
    return f"{problem.strerror or problem}; check the path"


@contextmanager
def opened(source: Source) -> Iterator[Opened]:
    """Open a source, unpack it, and settle its format; errors of reading become ours."""
    try:
        with _bytes(source) as raw:
            stream = _unpacked(raw, source.name)
            yield Opened(source, _settle(source, _peek(stream, 4096)), stream, raw)
    except gzip.BadGzipFile as problem:
        raise InputError(f"{source.name} is not a good gzip file: {problem}") from problem
    except (EOFError, zlib.error) as problem:
        raise InputError(f"{source.name} ends early or is damaged: {problem}; copy it again") from problem
    except (UnicodeDecodeError, UnicodeEncodeError) as problem:
        raise InputError(
            f"{source.name} is not {problem.encoding} text: {problem.reason}; open it as what it is"
        ) from problem
    except OSError as problem:
        raise InputError(f"cannot read {source.name}: {_why_not(problem)}") from problem


@contextmanager
def _bytes(source: Source) -> Iterator[IO[bytes]]:
    """The source's raw bytes; a stream that is not ours stays open."""
    if source.path is not None:
        with open(source.path, "rb") as file:
            yield file
        return
    if source.url is not None:
        with _fetched(source.url) as response:
            yield io.BufferedReader(_Raw(response), 1 << 20)
        return
    stream: Any = source.stream
    if stream is sys.stdin:
        stream = getattr(stream, "buffer", stream)
    yield stream if hasattr(stream, "peek") else io.BufferedReader(_Raw(stream), 1 << 20)


def _fetched(url: str) -> Any:
    """The bytes of an address, as they come; polars itself reads columnar files, from wherever it can."""
    scheme = urlsplit(url).scheme.lower()
    if scheme in ("postgres", "postgresql"):  # its address may hold a password
        export = "`podium campaign export votes --db ADDRESS -o votes.csv`"
        raise InputError(
            f"a campaign in PostgreSQL is not read as a file; {export} writes its votes to one, "
            "`export ranking` where it stands"
        )
    if scheme not in ("http", "https"):
        raise InputError(
            f"{url}: from {scheme}:// only Parquet and Arrow IPC files are read; copy the file, or use http"
        )
    from urllib.request import urlopen

    return urlopen(url)


class _Raw(io.RawIOBase):
    """Any object with `read` as raw bytes; text is taken as UTF-8."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.rest = stream, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self.rest:
            chunk = self.stream.read(len(buffer))
            self.rest = chunk.encode() if isinstance(chunk, str) else chunk
        size = min(len(buffer), len(self.rest))
        buffer[:size], self.rest = self.rest[:size], self.rest[size:]
        return size


def _unpacked(stream: Any, name: str) -> IO[bytes]:
    head = _peek(stream, 4)
    if head[:2] == b"\x1f\x8b":
        return io.BufferedReader(gzip.GzipFile(fileobj=stream), 1 << 20)
    if head[:4] == b"\x28\xb5\x2f\xfd":
        try:
            import zstandard  # type: ignore[import-not-found, unused-ignore]
        except ImportError as problem:
            raise InputError(f"{name} is packed by zstd; unpack it, or install zstandard") from problem
        return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(stream), 1 << 20)
    return stream  # type: ignore[no-any-return]


def _peek(stream: Any, size: int) -> bytes:
    return bytes(stream.peek(size)[:size])


def _settle(source: Source, head: bytes) -> Format:
    """The format of unpacked bytes; a name that promises another one is an error."""
    named = source.format or by_name(source)
    magic = next((kind for mark, kind in MAGIC.items() if head.startswith(mark)), None)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    guess: Format = magic or ("jsonl" if text[:1] == b"{" else "json" if text[:1] == b"[" else "csv")
    if not head:
        raise InputError(f"{source.name} is empty; expected a header and rows")
    if head.startswith(b"PK\x03\x04") and head[30:].startswith(b"podium.json"):
        raise InputError(
            f"{source.name} is a saved model; `podium diff` compares it, `podium predict` scores items by it"
        )
    if named is None:
        return guess
    if "json" in named and guess in ("json", "jsonl"):
        return guess  # both endings are used for both
    if magic != (named if named in MAGIC.values() else None):
        what = f"is {TITLES[magic]}" if magic else f"is not {TITLES[named]}"
        if source.format is not None:
            raise InputError(
                f"{source.name} {what} by its content, whatever ", Option("format", source.format), " says; drop that"
            )
        raise InputError(f"{source.name} {what} by its content; rename it", *source.hint)
    return named
