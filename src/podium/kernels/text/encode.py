"""Labels to codes: the pass over Python objects, or over fixed-width records, that turns names into numbers.

Labels repeat: 1.7 million votes name 130 items. So most answers come from two small direct-mapped memories in front
of the dictionary: one keyed by an object's address (rows that share one object), one by a few bytes of a string's
content (rows that hold equal but separate strings, whose hash Python has not computed yet).
"""

import cython
from cython.cimports.cpython.unicode import (
    PyUnicode_CheckExact,
    PyUnicode_DATA,
    PyUnicode_GET_LENGTH,
    PyUnicode_KIND,
)
from cython.cimports.libc.string import memcmp, memcpy

MEMORY = 1 << 13  # entries of each memory: with their codes 200 kB, inside a second-level cache


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def fingerprint(data: cython.p_char, size: cython.size_t) -> cython.size_t:
    """Mix the length, the first and the last eight bytes; labels that agree in these only cost a comparison."""
    mixer: cython.ulonglong = 0x9E3779B97F4A7C15
    head: cython.ulonglong = 0
    tail: cython.ulonglong = 0
    if size >= 8:
        memcpy(cython.address(head), data, 8)
        memcpy(cython.address(tail), data + size - 8, 8)
    elif size >= 4:
        memcpy(cython.address(head), data, 4)
        memcpy(cython.address(tail), data + size - 4, 4)
    elif size > 0:
        memcpy(cython.address(head), data, 1)
        memcpy(cython.address(tail), data + size // 2, 1)
        tail = (tail << 8) | cython.cast(cython.uchar, data[size - 1])
    head = (head ^ size) * mixer
    head = (head ^ (head >> 32) ^ tail) * mixer
    return head ^ (head >> 32)


@cython.cfunc
@cython.inline
@cython.exceptval(-1)
def look_up(label: object, index: dict) -> cython.int:
    """Return the label's number, giving it the next one when it is new."""
    found: object = index.get(label)
    if found is None:
        found = len(index)
        index[label] = found
    return found


@cython.cfunc
@cython.inline
@cython.exceptval(-1)
def code_of(
    label: object, index: dict, places: cython.size_t[::1], texts: cython.size_t[::1], numbers: cython.int[::1]
) -> cython.int:
    """Return the label's number from a memory, else from `index`; `numbers` serves both, `places` first."""
    mask: cython.size_t = places.shape[0] - 1
    address: cython.size_t = cython.cast(cython.size_t, cython.cast(cython.p_void, label))
    slot: cython.size_t = ((address >> 4) * 0x1E3779B1 >> 7) & mask
    if places[slot] == address:
        return numbers[slot]
    code: cython.int
    if not PyUnicode_CheckExact(label):
        return look_up(label, index)  # an object with its own __eq__ may do anything: never remembered
    kind: cython.size_t = PyUnicode_KIND(label)
    size: cython.size_t = PyUnicode_GET_LENGTH(label) * kind
    data: cython.p_char = cython.cast(cython.p_char, PyUnicode_DATA(label))
    spot: cython.size_t = (fingerprint(data, size) + kind) & mask
    known: object
    if texts[spot] != 0:
        known = cython.cast(object, cython.cast(cython.p_void, texts[spot]))
        if (
            PyUnicode_GET_LENGTH(known) * cython.cast(cython.size_t, PyUnicode_KIND(known)) == size
            and PyUnicode_KIND(known) == kind
            and memcmp(PyUnicode_DATA(known), data, size) == 0
        ):
            code = numbers[mask + 1 + spot]
            places[slot] = address
            numbers[slot] = code
            return code
    code = look_up(label, index)
    texts[spot] = address
    numbers[mask + 1 + spot] = code
    places[slot] = address
    numbers[slot] = code
    return code


def encode_lists(
    left: list,
    right: list,
    index: dict,
    left_codes: cython.int[::1],
    right_codes: cython.int[::1],
    places: cython.size_t[::1],
    texts: cython.size_t[::1],
    numbers: cython.int[::1],
) -> None:
    """Number the labels of two lists of one length, row by row, left before right.

    Both lists are the caller's own and keep every label alive, so an address means the same label throughout.
    """
    k: cython.Py_ssize_t
    for k in range(len(left)):
        left_codes[k] = code_of(left[k], index, places, texts, numbers)
        right_codes[k] = code_of(right[k], index, places, texts, numbers)


def encode_list(
    labels: list,
    index: dict,
    codes: cython.int[::1],
    places: cython.size_t[::1],
    texts: cython.size_t[::1],
    numbers: cython.int[::1],
) -> None:
    """Number the labels of one list in order of first appearance."""
    k: cython.Py_ssize_t
    for k in range(len(labels)):
        codes[k] = code_of(labels[k], index, places, texts, numbers)


def encode_records(
    records: cython.const[cython.ulonglong][:, ::1],
    start: cython.Py_ssize_t,
    found: cython.Py_ssize_t,
    first: cython.longlong[::1],
    slots: cython.int[::1],
    codes: cython.int[::1],
) -> tuple[cython.Py_ssize_t, cython.Py_ssize_t]:
    """Number equal rows of words in order of first appearance, from row `start` on, by open addressing.

    `slots` (a power of two, -1 where free) holds codes, `first` the row where each appeared. Stops when `slots` is
    half full; the caller makes more and goes on. Returns the next row and the number of codes so far.
    """
    k: cython.Py_ssize_t = start
    w: cython.Py_ssize_t
    code: cython.int
    mix: cython.ulonglong
    differ: cython.ulonglong
    slot: cython.size_t
    known: cython.Py_ssize_t
    rows: cython.Py_ssize_t = records.shape[0]
    width: cython.Py_ssize_t = records.shape[1]
    mixer: cython.ulonglong = 0x9E3779B97F4A7C15
    mask: cython.size_t = slots.shape[0] - 1
    limit: cython.Py_ssize_t = slots.shape[0] // 2
    with cython.nogil:
        while k < rows and found < limit:
            mix = 0
            for w in range(width):
                mix = (mix ^ records[k, w]) * mixer
                mix = mix ^ (mix >> 32)
            slot = mix & mask
            code = slots[slot]
            while code >= 0:
                known = first[code]
                differ = 0
                for w in range(width):
                    differ |= records[known, w] ^ records[k, w]
                if differ == 0:
                    break
                slot = (slot + 1) & mask
                code = slots[slot]
            if code < 0:
                code = cython.cast(cython.int, found)
                slots[slot] = code
                first[found] = k
                found += 1
            codes[k] = code
            k += 1
    return k, found
