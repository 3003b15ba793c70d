"""Text columns in Arrow's string-view layout to codes, without making a Python object of any row.

A view is sixteen bytes: the length, then either up to twelve bytes of text, or a prefix, the number of a buffer and an
offset into it. The labels seen so far live in `heap`, one after the other, `ends[c]` past the last byte of label c,
and are found by open addressing in `slots` (a power of two, -1 where free). `used` holds the number of labels and of
heap bytes. When either is full the loops stop; the caller makes room and goes on from the row returned.
"""

import cython
from cython.cimports.libc.string import memcmp, memcpy


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def word_at(text: cython.p_char, at: cython.Py_ssize_t, last: cython.Py_ssize_t) -> cython.ulonglong:
    """Eight bytes from `at`, or from `last` when that comes first: reads past nothing and never branches."""
    word: cython.ulonglong = 0
    memcpy(cython.address(word), text + (at if at < last else last), 8)
    return word


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def scrambled(word: cython.ulonglong, step: cython.Py_ssize_t) -> cython.ulonglong:
    """A word spread over all bits, in another way for each step."""
    mixer: cython.ulonglong = 0x9E3779B97F4A7C15
    mix: cython.ulonglong = (word ^ (mixer >> (step & 31))) * (mixer + 2 * step)
    return mix ^ (mix >> 32)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def digest(text: cython.p_char, size: cython.Py_ssize_t) -> cython.ulonglong:
    """Hash all of at least eight bytes; up to 32, the usual length of a label, without a branch."""
    last: cython.Py_ssize_t = size - 8
    mix: cython.ulonglong = scrambled(word_at(text, 0, last), 0) + scrambled(word_at(text, 8, last), 8)
    mix += scrambled(word_at(text, 16, last), 16) + scrambled(word_at(text, 24, last), 24)
    at: cython.Py_ssize_t = 32
    while at < size:
        mix = scrambled(mix ^ word_at(text, at, last), at)
        at += 8
    return mix


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def equal(one: cython.p_char, other: cython.p_char, size: cython.Py_ssize_t) -> cython.bint:
    """Whether two texts of one length, at least eight bytes, agree."""
    if size > 32:
        return memcmp(one, other, size) == 0
    last: cython.Py_ssize_t = size - 8
    differ: cython.ulonglong = word_at(one, 0, last) ^ word_at(other, 0, last)
    differ |= word_at(one, 8, last) ^ word_at(other, 8, last)
    differ |= word_at(one, 16, last) ^ word_at(other, 16, last)
    return differ == 0 and word_at(one, last, last) == word_at(other, last, last)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def place(head: cython.ulonglong, tail: cython.ulonglong) -> cython.size_t:
    """Mix a label's two key words into the place where its search begins."""
    mixer: cython.ulonglong = 0x9E3779B97F4A7C15
    mix: cython.ulonglong = (head ^ (tail * mixer)) * mixer
    return mix ^ (mix >> 32)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def number(
    view: cython.p_char,
    buffers: cython.pointer(cython.const[cython.size_t]),
    slots: cython.p_int,
    mask: cython.size_t,
    keys: cython.p_ulonglong,
    ends: cython.p_longlong,
    heap: cython.p_char,
    room: cython.longlong,
    used: cython.p_longlong,
) -> cython.int:
    """The code of one label, a new one if it is new, or -1 where there is no room for it.

    A label's key is the view itself while that holds the whole text; beyond, the length, the prefix and a digest.
    """
    key: cython.ulonglong[2]
    size: cython.int = 0
    where: cython.int[2]
    memcpy(key, view, 16)
    memcpy(cython.address(size), view, 4)
    text: cython.p_char = view + 4
    if size > 12:
        memcpy(where, view + 8, 8)
        text = cython.cast(cython.p_char, buffers[where[0]]) + where[1]
        key[1] = digest(text, size)
    slot: cython.size_t = place(key[0], key[1]) & mask
    code: cython.int = slots[slot]
    while code >= 0:
        if (keys[2 * code] == key[0]) & (keys[2 * code + 1] == key[1]) and (
            size <= 12 or equal(heap + ends[code] - size, text, size)
        ):
            return code
        slot = (slot + 1) & mask
        code = slots[slot]
    if 2 * cython.cast(cython.size_t, used[0]) > mask or used[1] + size > room:
        return -1
    code = cython.cast(cython.int, used[0])
    slots[slot] = code
    keys[2 * code] = key[0]
    keys[2 * code + 1] = key[1]
    memcpy(heap + used[1], text, size)
    used[0] += 1
    used[1] += size
    ends[code] = used[1]
    return code


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def present(valid: cython.pointer(cython.const[cython.uchar]), row: cython.Py_ssize_t) -> cython.bint:
    """Whether the row's bit is set."""
    return (valid[row >> 3] >> (row & 7)) & 1


def encode_views(
    views: cython.const[cython.char][:, ::1],
    buffers: cython.const[cython.size_t][::1],
    valid: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    codes: cython.int[::1],
    slots: cython.int[::1],
    keys: cython.ulonglong[:, ::1],
    ends: cython.longlong[::1],
    heap: cython.char[::1],
    used: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Number the labels of one column from row `start` on; -1 where `valid` (bits, or empty) says there is none."""
    k: cython.Py_ssize_t = start
    code: cython.int
    rows: cython.Py_ssize_t = views.shape[0]
    check: cython.bint = valid.shape[0] > 0
    data: cython.p_char
    if start >= rows:
        return start
    data = cython.cast(cython.p_char, cython.address(views[0, 0]))
    with cython.nogil:
        while k < rows:
            code = -1
            if not check or present(cython.address(valid[0]), k):
                code = number(
                    data + 16 * k, cython.address(buffers[0]), cython.address(slots[0]), slots.shape[0] - 1,
                    cython.address(keys[0, 0]), cython.address(ends[0]), cython.address(heap[0]), heap.shape[0],
                    cython.address(used[0]),
                )  # fmt: skip
                if code < 0:
                    break
            codes[k] = code
            k += 1
    return k


def encode_view_pairs(
    left: cython.const[cython.char][:, ::1],
    left_buffers: cython.const[cython.size_t][::1],
    left_valid: cython.const[cython.uchar][::1],
    right: cython.const[cython.char][:, ::1],
    right_buffers: cython.const[cython.size_t][::1],
    right_valid: cython.const[cython.uchar][::1],
    start: cython.Py_ssize_t,
    left_codes: cython.int[::1],
    right_codes: cython.int[::1],
    slots: cython.int[::1],
    keys: cython.ulonglong[:, ::1],
    ends: cython.longlong[::1],
    heap: cython.char[::1],
    used: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Number the labels of two columns together, row by row, left before right; -1 where there is none."""
    k: cython.Py_ssize_t = start
    i: cython.int
    j: cython.int
    rows: cython.Py_ssize_t = left.shape[0]
    check_left: cython.bint = left_valid.shape[0] > 0
    check_right: cython.bint = right_valid.shape[0] > 0
    lefts: cython.p_char
    rights: cython.p_char
    if start >= rows:
        return start
    lefts = cython.cast(cython.p_char, cython.address(left[0, 0]))
    rights = cython.cast(cython.p_char, cython.address(right[0, 0]))
    with cython.nogil:
        while k < rows:
            i = -1
            j = -1
            if not check_left or present(cython.address(left_valid[0]), k):
                i = number(
                    lefts + 16 * k, cython.address(left_buffers[0]), cython.address(slots[0]), slots.shape[0] - 1,
                    cython.address(keys[0, 0]), cython.address(ends[0]), cython.address(heap[0]), heap.shape[0],
                    cython.address(used[0]),
                )  # fmt: skip
                if i < 0:
                    break
            if not check_right or present(cython.address(right_valid[0]), k):
                j = number(
                    rights + 16 * k, cython.address(right_buffers[0]), cython.address(slots[0]), slots.shape[0] - 1,
                    cython.address(keys[0, 0]), cython.address(ends[0]), cython.address(heap[0]), heap.shape[0],
                    cython.address(used[0]),
                )  # fmt: skip
                if j < 0:
                    break
            left_codes[k] = i
            right_codes[k] = j
            k += 1
    return k


def insert(keys: cython.const[cython.ulonglong][:, ::1], slots: cython.int[::1]) -> None:
    """Fill empty `slots` with the codes 0, 1, … of labels known to differ."""
    c: cython.Py_ssize_t
    mask: cython.size_t = slots.shape[0] - 1
    slot: cython.size_t
    for c in range(keys.shape[0]):
        slot = place(keys[c, 0], keys[c, 1]) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = cython.cast(cython.int, c)
