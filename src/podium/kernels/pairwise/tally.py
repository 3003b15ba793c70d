"""Votes added up as they are read: into a table of all pairs, or into rows found by open addressing."""

import cython
from cython.cimports.libc.string import memcpy
from cython.cimports.podium.kernels.pairwise.memory import prefetch

AHEAD = cython.declare(cython.Py_ssize_t, 16)  # votes between asking memory for a cell and using it
BLOCK = cython.declare(cython.Py_ssize_t, 64)  # rows whose places are asked for before the first is looked at

tally = cython.fused_type(cython.uint, cython.ulonglong)
found = cython.fused_type(
    cython.uchar, cython.ushort, cython.uint, cython.ulonglong
)  # by another process, it may be narrow


def count_cells(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    outcome: cython.const[cython.schar][::1],
    cells: tally[:, :, ::1],
) -> None:
    """Add one to cells[left, right, outcome + 1] for each vote, or to cells[left, right, 0] where `outcome` is empty.

    Codes are in range: the caller made room.
    """
    k: cython.Py_ssize_t
    rows: cython.Py_ssize_t = left.shape[0]
    room: cython.size_t = cells.shape[0]
    depth: cython.size_t = cells.shape[2]
    at: cython.size_t
    if rows == 0:
        return
    flat: cython.pointer(tally) = cython.address(cells[0, 0, 0])
    with cython.nogil:
        if depth == 1:
            for k in range(rows):
                if k + AHEAD < rows:
                    prefetch(flat + (room * left[k + AHEAD] + right[k + AHEAD]))
                flat[room * left[k] + right[k]] += 1
        else:
            for k in range(rows):
                if k + AHEAD < rows:
                    prefetch(flat + depth * (room * left[k + AHEAD] + right[k + AHEAD]))
                at = depth * (room * left[k] + right[k]) + (outcome[k] + 1)
                flat[at] += 1


def add_cells(
    other: cython.const[found][:, :, ::1],
    code: cython.const[cython.int][::1],
    cells: tally[:, :, ::1],
) -> None:
    """Add a table whose item i is item code[i] here; the table here has room for all and cells that are wide enough."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    o: cython.Py_ssize_t
    with cython.nogil:
        for i in range(code.shape[0]):
            for j in range(code.shape[0]):
                for o in range(cells.shape[2]):
                    if other[i, j, o]:
                        cells[code[i], code[j], o] += other[i, j, o]


def add_to_cells(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    outcome: cython.const[cython.schar][::1],
    count: cython.const[cython.longlong][::1],
    cells: tally[:, :, ::1],
) -> None:
    """The same as `count_cells` for rows that stand for `count` equal votes."""
    k: cython.Py_ssize_t
    single: cython.bint = cells.shape[2] == 1
    o: cython.Py_ssize_t
    with cython.nogil:
        for k in range(left.shape[0]):
            o = 0 if single else outcome[k] + 1
            cells[left[k], right[k], o] += count[k]  # C narrows it: the caller made the cells wide enough


def rows_of_cells(
    cells: cython.const[found][:, :, ::1],
    n: cython.Py_ssize_t,
    left: cython.int[::1],
    right: cython.int[::1],
    outcome: cython.schar[::1],
    count: cython.longlong[::1],
) -> None:
    """A row for every cell that is not zero among the first n items, by left, right and outcome.

    The outputs have as many rows; `outcome` is empty where the table has one cell a pair.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    o: cython.Py_ssize_t
    row: cython.Py_ssize_t = 0
    single: cython.bint = cells.shape[2] == 1
    with cython.nogil:
        for i in range(n):
            for j in range(n):
                for o in range(cells.shape[2]):
                    if cells[i, j, o]:
                        left[row] = cython.cast(cython.int, i)
                        right[row] = cython.cast(cython.int, j)
                        if not single:
                            outcome[row] = cython.cast(cython.schar, o - 1)
                        count[row] = cython.cast(cython.longlong, cells[i, j, o])
                        row += 1


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
@cython.nogil
def mixed(key: cython.pointer(cython.const[cython.ulonglong]), width: cython.Py_ssize_t) -> cython.size_t:
    """All words of a key spread over all bits."""
    mixer: cython.ulonglong = 0x9E3779B97F4A7C15
    mix: cython.ulonglong = 0
    w: cython.Py_ssize_t
    for w in range(width):
        mix = (mix ^ key[w]) * mixer
        mix = mix ^ (mix >> 32)
    return mix


def find_rows(
    keys: cython.const[cython.ulonglong][:, ::1],
    times: cython.const[cython.longlong][::1],
    start: cython.Py_ssize_t,
    used: cython.Py_ssize_t,
    table: cython.ulonglong[:, ::1],
    slots: cython.int[::1],
    codes: cython.int[::1],
) -> tuple[cython.Py_ssize_t, cython.Py_ssize_t]:
    """Find each key's row in `table`, a new one if it is new, and add to the count in the row's last word.

    `table` rows are a key's words and the count, the first `used` of them taken; `slots` (a power of two, -1 where
    free) holds their numbers. `times` is what to add, one each where empty; `codes` takes the rows' numbers, unless
    empty. Stops when slots are half full or the table is; returns the next key and the number of rows taken.
    """
    k: cython.Py_ssize_t = start
    b: cython.Py_ssize_t
    w: cython.Py_ssize_t
    size: cython.Py_ssize_t
    rows: cython.Py_ssize_t = keys.shape[0]
    width: cython.Py_ssize_t = keys.shape[1]
    wide: cython.Py_ssize_t = width + 1
    limit: cython.Py_ssize_t = slots.shape[0] // 2
    mask: cython.size_t = slots.shape[0] - 1
    each: cython.bint = times.shape[0] == 0
    told: cython.bint = codes.shape[0] > 0
    code: cython.int
    slot: cython.size_t
    differ: cython.ulonglong
    places: cython.size_t[64]
    row: cython.p_ulonglong
    key: cython.pointer(cython.const[cython.ulonglong])
    if table.shape[0] < limit:
        limit = table.shape[0]
    if k >= rows:
        return k, used
    key = cython.address(keys[0, 0])
    held: cython.p_ulonglong = cython.address(table[0, 0])
    with cython.nogil:
        while k < rows and used < limit:
            size = rows - k if rows - k < BLOCK else BLOCK
            for b in range(size):
                places[b] = mixed(key + (k + b) * width, width) & mask
                prefetch(cython.address(slots[places[b]]))
            for b in range(size):
                code = slots[places[b]]
                if code >= 0:
                    prefetch(held + code * wide)
            for b in range(size):
                if used >= limit:
                    break
                slot = places[b]
                code = slots[slot]
                while code >= 0:
                    row = held + code * wide
                    differ = 0
                    for w in range(width):
                        differ |= row[w] ^ key[(k + b) * width + w]
                    if differ == 0:
                        break
                    slot = (slot + 1) & mask
                    code = slots[slot]
                if code < 0:
                    code = cython.cast(cython.int, used)
                    slots[slot] = code
                    row = held + code * wide
                    memcpy(row, key + (k + b) * width, 8 * width)
                    row[width] = 0
                    used += 1
                row = held + code * wide
                row[width] += 1 if each else cython.cast(cython.ulonglong, times[k + b])
                if told:
                    codes[k + b] = code
            else:
                b = size
            k += b
    return k, used


def place_rows(table: cython.const[cython.ulonglong][:, ::1], slots: cython.int[::1]) -> None:
    """Fill empty `slots` with the numbers of rows whose keys are known to differ."""
    c: cython.Py_ssize_t
    width: cython.Py_ssize_t = table.shape[1] - 1
    mask: cython.size_t = slots.shape[0] - 1
    slot: cython.size_t
    with cython.nogil:
        for c in range(table.shape[0]):
            slot = mixed(cython.address(table[c, 0]), width) & mask
            while slots[slot] >= 0:
                slot = (slot + 1) & mask
            slots[slot] = cython.cast(cython.int, c)


def add_at(codes: cython.const[cython.int][::1], values: cython.const[cython.double][::1], sums: cython.double[::1]):
    """Add values[k] to sums[codes[k]], in the order of the rows."""
    k: cython.Py_ssize_t
    with cython.nogil:
        for k in range(codes.shape[0]):
            sums[codes[k]] += values[k]


def add_margins(
    codes: cython.const[cython.int][::1],
    weight: cython.const[cython.double][::1],
    margin: cython.const[cython.double][::1],
    within: cython.const[cython.double][::1],
    mean: cython.double[::1],
    squares: cython.double[::1],
    so_far: cython.double[::1],
) -> None:
    """Join rows of weighted mean and Σw(y - mean)² (Chan, Golub and LeVeque 1983), in their order.

    `so_far` is the weight that each mean is of; 0 before its first row.
    """
    k: cython.Py_ssize_t
    c: cython.int
    before: cython.double
    gap: cython.double
    with cython.nogil:
        for k in range(codes.shape[0]):
            c = codes[k]
            before = so_far[c]
            so_far[c] = before + weight[k]
            gap = margin[k] - mean[c]
            mean[c] += gap * (weight[k] / so_far[c])
            squares[c] += within[k] + before * (weight[k] / so_far[c]) * gap * gap


def fold_cells(cells: tally[:, :, ::1]) -> None:
    """Add what stands below the diagonal to its mirror image above it, outcomes turned round, and clear it."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    o: cython.Py_ssize_t
    with cython.nogil:
        for i in range(cells.shape[0]):
            for j in range(i):
                for o in range(3):
                    cells[j, i, o] += cells[i, j, 2 - o]
                    cells[i, j, 2 - o] = 0
