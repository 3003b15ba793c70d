"""Text columns as the bytes they are: Arrow's string views as NumPy arrays, without a copy and without pyarrow.

The layout and the C structures are those of the Arrow columnar format and its C data interface
(https://arrow.apache.org/docs/format/CDataInterface.html).
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Views", "text_views"]

STRING_VIEW = b"vu"  # the format string of the C data interface


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
    ("private_data", ctypes.c_void_p),
]
_Stream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))),
    ("private_data", ctypes.c_void_p),
]

_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


@dataclass(frozen=True, slots=True)
class Views:
    """A text column: one sixteen-byte view a row, the addresses of the buffers they point into, and validity bits.

    `valid` is empty when no row is null. The memory belongs to the column and lives as long as the `with` block.
    """

    views: NDArray[np.int8]
    buffers: NDArray[np.uintp]
    valid: NDArray[np.uint8]
    held: tuple[NDArray[np.uint8], ...] = ()  # the buffers themselves, where they are ours to keep


@contextmanager
def text_views(column: pl.Series) -> Iterator[Views]:
    """Lend the views of a polars String column, in one piece.

    What the column lends is read only if its schema says that it is string views; else they are laid out anew from its
    values, which takes longer and cannot read memory that is something else.
    """
    capsule = column.rechunk().__arrow_c_stream__()
    stream = _Stream.from_address(_pointer_in(capsule, b"arrow_array_stream"))
    schema, array = _Schema(), _Array()
    try:
        is_text = stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)) == 0 and schema.format == STRING_VIEW
        lent = is_text and stream.get_next(ctypes.byref(stream), ctypes.byref(array)) == 0 and bool(array.release)
        yield _views(array) if lent and array.length == len(column) else _laid_out(column.to_list())
    finally:
        for part in (schema, array):
            if part.release:
                part.release(ctypes.byref(part))
        del stream, capsule  # the capsule's destructor releases the stream


def _laid_out(values: Sequence[str | None]) -> Views:
    """Texts in the layout of string views: the length, then up to twelve bytes, or four, a buffer and an offset."""
    texts = [b"" if value is None else value.encode() for value in values]
    views = np.zeros((len(texts), 16), np.uint8)
    heaps: list[bytearray] = [bytearray()]
    for view, text in zip(views, texts, strict=True):
        view[:4].view(np.int32)[0] = len(text)
        if len(text) <= 12:
            view[4 : 4 + len(text)] = np.frombuffer(text, np.uint8)
            continue
        if len(heaps[-1]) + len(text) >= 1 << 31:  # offsets are 32 bits wide
            heaps.append(bytearray())
        view[4:8] = np.frombuffer(text[:4], np.uint8)
        view[8:].view(np.int32)[:] = len(heaps) - 1, len(heaps[-1])
        heaps[-1] += text
    held = tuple(np.frombuffer(heap or b"\0", np.uint8) for heap in heaps)
    valid = np.packbits(np.array([value is not None for value in values], np.bool_), bitorder="little")
    return Views(views.view(np.int8), np.array([heap.ctypes.data for heap in held], np.uintp), valid, held)


def _views(array: Any) -> Views:
    rows, offset, count = array.length, array.offset, array.n_buffers
    if not rows:
        return _nothing()
    views = _memory(array.buffers[1] + 16 * offset, 16 * rows, np.int8).reshape(rows, 16)
    # Buffers: validity, views, the text buffers, and last the lengths of those (which views make unnecessary).
    buffers = np.array([array.buffers[k] or 0 for k in range(2, count - 1)] or [0], np.uintp)
    valid = np.empty(0, np.uint8)
    if array.null_count and array.buffers[0]:
        valid = _memory(array.buffers[0], (offset + rows + 7) // 8, np.uint8)
        if offset:
            bits = np.unpackbits(valid, bitorder="little")[offset : offset + rows]
            valid = np.packbits(bits, bitorder="little")
    return Views(views, buffers, valid)


def _nothing() -> Views:
    return Views(np.empty((0, 16), np.int8), np.zeros(1, np.uintp), np.empty(0, np.uint8))


def _memory(address: int, size: int, dtype: type[np.generic]) -> NDArray[Any]:
    """Bytes at an address, as an array of one-byte numbers; nothing is copied."""
    lent: NDArray[Any] = np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))
    return lent.view(dtype)
