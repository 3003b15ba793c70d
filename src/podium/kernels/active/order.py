"""Orders of a tournament: cost, subset dynamic program, insertion moves, triangle packing.

`wins[u, v]` is the weight of the votes for u before v; an order pays wins[v, u] for every u it puts before v.
"""

import cython


def cost(wins: cython.const[cython.double][:, ::1], order: cython.const[cython.longlong][::1]) -> cython.double:
    """Return the sum of wins[v, u] over all u placed before v."""
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    total: cython.double = 0.0
    n: cython.Py_ssize_t = order.shape[0]
    with cython.nogil:
        for i in range(n):
            for j in range(i):
                total += wins[order[i], order[j]]
    return total


LOW = cython.declare(cython.Py_ssize_t, 3)  # items whose subsets are solved together, eight at a time


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _subset_sums(
    wins: cython.pointer(cython.const[cython.double]), k: cython.Py_ssize_t, first: cython.Py_ssize_t,
    count: cython.Py_ssize_t, sums: cython.p_double,
) -> cython.void:  # fmt: skip
    """Fill sums[s * k + v] with what item v pays for coming after items first + i, i in the bits of s < 2**count."""
    s: cython.Py_ssize_t
    v: cython.Py_ssize_t
    bit: cython.Py_ssize_t
    for v in range(k):
        sums[v] = 0.0
    for s in range(1, 1 << count):
        bit = 0
        while not (s >> bit) & 1:
            bit += 1
        for v in range(k):
            sums[s * k + v] = sums[(s & (s - 1)) * k + v] + wins[v * k + first + bit]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _solve_eight(
    best: cython.p_double, chunk: cython.Py_ssize_t, k: cython.Py_ssize_t,
    near: cython.pointer(cython.const[cython.double]), middle: cython.pointer(cython.const[cython.double]),
    high: cython.pointer(cython.const[cython.double]),
) -> cython.void:  # fmt: skip
    """Fill best for the eight sets of items LOW and up in the bits of `chunk`, and any of the first three.

    near[v * 8 + i], middle[v] and high[v] add up to what item v pays for coming after such a set. An item of `chunk`
    leaves eight sets that lie side by side, so that all eight are compared at once.
    """
    least: cython.double[8]
    i: cython.Py_ssize_t
    v: cython.Py_ssize_t
    base: cython.double
    value: cython.double
    without: cython.pointer(cython.const[cython.double])
    row: cython.pointer(cython.const[cython.double])
    for i in range(8):
        least[i] = 1e300
    if chunk == 0:
        least[0] = 0.0
    for v in range(LOW, k):
        if (chunk >> (v - LOW)) & 1:
            without = best + ((chunk ^ (1 << (v - LOW))) << LOW)
            row = near + 8 * v
            base = middle[v] + high[v]
            for i in range(8):
                value = without[i] + (row[i] + base)
                least[i] = value if value < least[i] else least[i]
    for i in range(1, 8):
        for v in range(3):
            if (i >> v) & 1:
                value = least[i ^ (1 << v)] + (near[8 * v + i] + (middle[v] + high[v]))
                least[i] = value if value < least[i] else least[i]
    for i in range(8):
        best[(chunk << LOW) + i] = least[i]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _read_back(
    best: cython.p_double, wins: cython.pointer(cython.const[cython.double]), k: cython.Py_ssize_t,
    order: cython.pointer(cython.longlong),
) -> cython.void:  # fmt: skip
    """Write the order behind best[all items], from its end: the last of a set is the item that leaves the cheapest."""
    s: cython.Py_ssize_t = (1 << k) - 1
    place: cython.Py_ssize_t
    u: cython.Py_ssize_t
    v: cython.Py_ssize_t
    last: cython.Py_ssize_t
    value: cython.double
    least: cython.double
    for place in range(k - 1, -1, -1):
        least = 1e300
        last = 0
        for v in range(k - 1, -1, -1):
            if (s >> v) & 1:
                value = best[s ^ (1 << v)]
                for u in range(k):
                    if (s >> u) & 1 and u != v:
                        value += wins[v * k + u]
                if value < least:
                    least = value
                    last = v
        order[place] = last
        s ^= 1 << last


def held_karp(
    windows: cython.const[cython.double][:, :, ::1],
    best: cython.double[::1],
    room: cython.double[::1],
    orders: cython.longlong[:, ::1],
) -> None:
    """Fill orders[w] with the cheapest order of the k items of each window, k from 3 to 20.

    best[S] is the least cost of putting the set S first: best[S + v] = best[S] + sum of wins[v, u] over u in S (Held
    and Karp). The sum is read from three tables, for the first three items, the next half of the others and the rest.
    `best` has 2**k numbers, `room` k * (16 + 2**h + 2**(k - 3 - h)) with h = (k - 2) // 2.
    """
    k: cython.Py_ssize_t = windows.shape[1]
    half: cython.Py_ssize_t = (k - 2) // 2
    w: cython.Py_ssize_t
    s: cython.Py_ssize_t
    v: cython.Py_ssize_t
    wins: cython.pointer(cython.const[cython.double])
    turned: cython.p_double = cython.address(room[0])
    near: cython.p_double = turned + 8 * k
    middle: cython.p_double = near + 8 * k
    high: cython.p_double = middle + (k << half)
    with cython.nogil:
        for w in range(windows.shape[0]):
            wins = cython.address(windows[w, 0, 0])
            _subset_sums(wins, k, 0, LOW, turned)
            for v in range(k):
                for s in range(8):
                    near[8 * v + s] = turned[s * k + v]
            _subset_sums(wins, k, LOW, half, middle)
            _subset_sums(wins, k, LOW + half, k - LOW - half, high)
            for s in range(1 << (k - LOW)):
                _solve_eight(
                    cython.address(best[0]), s, k, near, middle + (s & ((1 << half) - 1)) * k, high + (s >> half) * k
                )
            _read_back(cython.address(best[0]), wins, k, cython.address(orders[w, 0]))


def insertion_pass(
    wins: cython.const[cython.double][:, ::1],
    order: cython.longlong[::1],
    visit: cython.const[cython.longlong][::1],
    place: cython.longlong[::1],
) -> cython.double:
    """Move each item of `visit` to its best place, the others keeping their order; return how much cost was saved.

    `place` is the inverse of `order`; both are updated in place. A move needs a gain above rounding.
    """
    n: cython.Py_ssize_t = order.shape[0]
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    at: cython.Py_ssize_t
    to: cython.Py_ssize_t
    v: cython.longlong
    u: cython.longlong
    gain: cython.double
    top: cython.double
    saved: cython.double = 0.0
    with cython.nogil:
        for i in range(visit.shape[0]):
            v = visit[i]
            at = place[v]
            to = at
            top = 1e-9
            gain = 0.0
            for j in range(at - 1, -1, -1):
                u = order[j]
                gain += wins[v, u] - wins[u, v]
                if gain > top:
                    top = gain
                    to = j
            gain = 0.0
            for j in range(at + 1, n):
                u = order[j]
                gain += wins[u, v] - wins[v, u]
                if gain > top:
                    top = gain
                    to = j
            if to == at:
                continue
            saved += top
            _shift(order, place, at, to)
    return saved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _shift(
    order: cython.longlong[::1], place: cython.longlong[::1], at: cython.Py_ssize_t, to: cython.Py_ssize_t
) -> cython.void:
    """Take the item at `at` out and put it in at `to`."""
    v: cython.longlong = order[at]
    while at < to:
        order[at] = order[at + 1]
        place[order[at]] = at
        at += 1
    while at > to:
        order[at] = order[at - 1]
        place[order[at]] = at
        at -= 1
    order[to] = v
    place[v] = to


def sparse_insertion_pass(
    start: cython.const[cython.longlong][::1],
    partner: cython.const[cython.int][::1],
    edge: cython.const[cython.double][::1],
    order: cython.longlong[::1],
    visit: cython.const[cython.longlong][::1],
    place: cython.longlong[::1],
    stale: cython.char[::1],
    where: cython.longlong[::1],
    lead: cython.double[::1],
) -> cython.double:
    """Like `insertion_pass` where only some pairs are known.

    Row v of the table start/partner/edge holds the partners of v and edge = wins[v, partner] - wins[partner, v].
    Among places of equal gain the nearest is taken. Items that are not `stale` have no better place and are passed
    over; a move makes all partners of the item stale. `where` and `lead` are room for the longest row. Rows should be
    sorted by place but for what has moved since (`rows_by_place`): a pivot of a sort has met everybody.
    """
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    size: cython.Py_ssize_t
    at: cython.longlong
    to: cython.longlong
    v: cython.longlong
    spot: cython.longlong
    force: cython.double
    gain: cython.double
    top: cython.double
    saved: cython.double = 0.0
    with cython.nogil:
        for i in range(visit.shape[0]):
            v = visit[i]
            if not stale[v]:
                continue
            stale[v] = 0
            at = place[v]
            size = start[v + 1] - start[v]
            for j in range(size):  # insertion sort of the partners by place: rows begin sorted and nearly stay so
                spot = place[partner[start[v] + j]]
                force = edge[start[v] + j]
                k = j
                while k > 0 and where[k - 1] > spot:
                    where[k] = where[k - 1]
                    lead[k] = lead[k - 1]
                    k -= 1
                where[k] = spot
                lead[k] = force
            to = at
            top = 1e-9
            gain = 0.0
            k = size
            while k > 0 and where[k - 1] > at:
                k -= 1
            for j in range(k - 1, -1, -1):
                gain += lead[j]
                if gain > top and (j == 0 or where[j - 1] != where[j]):  # several votes on a pair are passed as one
                    top = gain
                    to = where[j]
            gain = 0.0
            for j in range(k, size):
                gain -= lead[j]
                if gain > top and (j + 1 == size or where[j + 1] != where[j]):
                    top = gain
                    to = where[j]
            if to == at:
                continue
            saved += top
            _shift(order, place, at, to)
            for k in range(start[v], start[v + 1]):
                stale[partner[k]] = 1
    return saved


def pack_triangles(margin: cython.double[:, ::1], order: cython.const[cython.longlong][::1]) -> cython.double:
    """Pack directed triangles greedily into `margin` (u beats v by margin[u, v] > 0), which is used up; return the sum.

    Every order pays at least the packed weight: it breaks each triangle somewhere. Triangles are sought through the
    pairs that `order` breaks, shortest first, since only these carry a cycle.
    """
    n: cython.Py_ssize_t = order.shape[0]
    gap: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    u: cython.longlong
    v: cython.longlong
    x: cython.longlong
    amount: cython.double
    total: cython.double = 0.0
    with cython.nogil:
        for gap in range(1, n):
            for i in range(n - gap):
                u = order[i]
                v = order[i + gap]
                if margin[v, u] <= 0:
                    continue
                for j in range(n):  # v beats u although it comes later: look for u -> x -> v
                    x = order[(i + j) % n]
                    if margin[u, x] > 0 and margin[x, v] > 0:
                        amount = margin[v, u]
                        if margin[u, x] < amount:
                            amount = margin[u, x]
                        if margin[x, v] < amount:
                            amount = margin[x, v]
                        margin[v, u] -= amount
                        margin[u, x] -= amount
                        margin[x, v] -= amount
                        total += amount
                        if margin[v, u] <= 0:
                            break
    return total


def neighbours(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    edge: cython.const[cython.double][::1],
    start: cython.longlong[::1],
    partner: cython.int[::1],
    lead: cython.double[::1],
) -> None:
    """Lay rows (left, right, edge) out by item: row v of the table lists its partners, edge signed from v's side.

    `start` has n + 2 zeros and ends as the n + 1 row starts (and one spare); partner and lead hold twice the rows.
    """
    k: cython.Py_ssize_t
    v: cython.Py_ssize_t
    spot: cython.longlong
    with cython.nogil:
        for k in range(left.shape[0]):
            start[left[k] + 2] += 1
            start[right[k] + 2] += 1
        for v in range(2, start.shape[0]):
            start[v] += start[v - 1]
        for k in range(left.shape[0]):
            spot = start[left[k] + 1]
            start[left[k] + 1] += 1
            partner[spot] = right[k]
            lead[spot] = edge[k]
            spot = start[right[k] + 1]
            start[right[k] + 1] += 1
            partner[spot] = left[k]
            lead[spot] = -edge[k]


def rows_by_place(
    start: cython.const[cython.longlong][::1],
    partner: cython.const[cython.int][::1],
    lead: cython.const[cython.double][::1],
    order: cython.const[cython.longlong][::1],
    fill: cython.longlong[::1],
    sorted_partner: cython.int[::1],
    sorted_lead: cython.double[::1],
) -> None:
    """The table of `neighbours` with the partners of each row as they stand in `order`: one pass, no comparison.

    Items in order write themselves into the rows of their partners. `fill` begins as the row starts.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    v: cython.longlong
    spot: cython.longlong
    with cython.nogil:
        for i in range(order.shape[0]):
            v = order[i]
            for k in range(start[v], start[v + 1]):
                spot = fill[partner[k]]
                fill[partner[k]] += 1
                sorted_partner[spot] = cython.cast(cython.int, v)
                sorted_lead[spot] = -lead[k]
