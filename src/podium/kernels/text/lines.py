"""Delimited text, row by row: where rows end and how many fields each has, with quotes understood.

Quotes follow RFC 4180: a field that begins with one ends at the next single one; two of them stand for one.
"""

import cython
from cython.cimports.libc.string import memchr

GOOD, RAGGED, STRAY_QUOTE, OPEN_QUOTE, MANY_BLANKS = range(5)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def count(
    data: cython.pointer(cython.const[cython.uchar]), size: cython.Py_ssize_t, wanted: cython.uchar
) -> cython.Py_ssize_t:
    """How many of the bytes are the one wanted."""
    k: cython.Py_ssize_t
    found: cython.Py_ssize_t = 0
    for k in range(size):
        found += data[k] == wanted
    return found


@cython.cfunc
@cython.exceptval(check=False)
@cython.nogil
def quoted_row(
    data: cython.pointer(cython.const[cython.uchar]),
    size: cython.Py_ssize_t,
    separator: cython.uchar,
    fields: cython.p_longlong,
) -> cython.Py_ssize_t:
    """The length of a row that holds quotes, without its line end; -1 if a quote stays open, -2 if one is astray."""
    k: cython.Py_ssize_t = 0
    fields[0] = 1
    while True:
        if k < size and data[k] == 34:
            k += 1
            while k < size and (data[k] != 34 or (k + 1 < size and data[k + 1] == 34)):
                k += 1 if data[k] != 34 else 2
            if k >= size:
                return -1
            k += 1
            if k < size and data[k] != separator and data[k] != 10 and data[k] != 13:
                return -2
        while k < size and data[k] != separator and data[k] != 10:
            if data[k] == 34:
                return -2
            k += 1
        if k >= size or data[k] == 10:
            return k
        fields[0] += 1
        k += 1


def scan_rows(
    data: cython.const[cython.uchar][::1],
    separator: cython.uchar,
    columns: cython.Py_ssize_t,
    final: cython.bint,
    blanks: cython.longlong[::1],
    found: cython.longlong[::1],
) -> cython.int:
    """Walk over complete rows until one is wrong.

    With `final` the end of the data ends a row too. On return `found` holds the bytes walked over, the rows in them,
    the blank lines among those (their starts are in `blanks`; they are not rows), and the fields of the last row read.
    Returns GOOD, or what is wrong with the next row. `columns` 0 accepts any number of fields.
    """
    at: cython.Py_ssize_t = 0
    rows: cython.Py_ssize_t = 0
    blank: cython.Py_ssize_t = 0
    length: cython.Py_ssize_t
    size: cython.Py_ssize_t = data.shape[0]
    fields: cython.longlong = 0
    status: cython.int = GOOD
    end: cython.p_void
    start: cython.pointer(cython.const[cython.uchar])
    open_quote: cython.int = OPEN_QUOTE
    stray_quote: cython.int = STRAY_QUOTE
    ragged: cython.int = RAGGED
    many: cython.int = MANY_BLANKS
    with cython.nogil:
        while at < size:
            start = cython.address(data[at])
            end = memchr(start, 10, size - at)
            if end == cython.NULL:
                if not final:
                    break
                length = size - at
            else:
                length = cython.cast(cython.pointer(cython.const[cython.uchar]), end) - start
            if length == 0 or (length == 1 and start[0] == 13):
                if blank == blanks.shape[0]:
                    status = many
                    break
                blanks[blank] = at
                blank += 1
                at += length + 1
                continue
            if memchr(start, 34, length) == cython.NULL:
                fields = 1 + count(start, length, separator)
            else:
                length = quoted_row(start, size - at, separator, cython.address(fields))
                if length == -1 and final:
                    status = open_quote
                if length == -2:
                    status = stray_quote
                if length < 0 or (at + length == size and not final):
                    break
            if columns and fields != columns:
                status = ragged
                break
            rows += 1
            at += length + 1
    found[0] = at if at < size else size
    found[1] = rows
    found[2] = blank
    found[3] = fields
    return status
