"""Where each item may stand, given its answers and where its partners stand: posteriors on a grid of all scales."""

import cython
from cython.cimports.libc.math import exp, sqrt

SLACK = cython.declare(cython.double, 0.005)  # of a log-likelihood: what is nearer to its limit counts as the limit
NOTHING = cython.declare(cython.double, -45.0)  # logarithm of a share of the mass that is not worth an exponential

# How likely an answer is by where its item stands: a table over the logit, from sure to be wrong to sure to be right.
Curve = cython.struct(
    near=cython.pointer(cython.const[cython.double]),
    far=cython.pointer(cython.const[cython.double]),  # for partners beyond `bound` places
    last=cython.Py_ssize_t,
    middle=cython.double,  # the entry of two items at the same place
    end=cython.double[2],  # the two limits of the table
    far_end=cython.double[2],
    reach=cython.double[2],  # entries from the middle to where the table is flat, downwards and upwards
    bound=cython.double,
)

# The places at which the posterior of one item is computed: cells low to high - 1 of the room.
Grid = cython.struct(
    cells=cython.Py_ssize_t,
    low=cython.Py_ssize_t,
    high=cython.Py_ssize_t,
    centre=cython.double,
    per_place=cython.double,  # units a place
    offset=cython.double,
    most=cython.int,
    finder=cython.pointer(cython.const[cython.int]),  # finder[k]: the first cell at least k - offset units from centre
    place=cython.p_double,
    mass=cython.p_double,
    jump=cython.p_double,  # what the logarithm of the mass gains from this cell on
)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _flat_ends(curve: cython.pointer(Curve)) -> cython.void:
    """Find where the table comes near its two limits."""
    i: cython.Py_ssize_t = 0
    last: cython.Py_ssize_t = curve.last
    curve.middle = 0.5 * last
    curve.end[0], curve.end[1] = curve.near[0], curve.near[last]
    curve.far_end[0], curve.far_end[1] = curve.far[0], curve.far[last]
    while i < last and curve.near[i + 1] - curve.near[0] < SLACK:
        i += 1
    curve.reach[0] = curve.middle - i if i < curve.middle else 1.0
    i = last
    while i > 0 and curve.near[last] - curve.near[i - 1] < SLACK:
        i -= 1
    curve.reach[1] = i - curve.middle if i > curve.middle else 1.0


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _lay_out(
    grid: cython.pointer(Grid),
    steps: cython.pointer(cython.const[cython.double]),
    centre: cython.double,
    size: cython.double,
    top: cython.double,
    prior: cython.double,
    precision: cython.double,
) -> cython.void:
    """Set the cells at centre + size * steps that lie within 0..top, and one at each end if the grid goes beyond."""
    g: cython.Py_ssize_t
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = grid.cells
    while centre + size * steps[low + 1] <= 0.0:
        low += 1
    while centre + size * steps[high - 2] >= top:
        high -= 1
    for g in range(low, high):
        grid.place[g] = centre + size * steps[g]
    if grid.place[low] < 0.0:
        grid.place[low] = 0.0
    if grid.place[high - 1] > top:
        grid.place[high - 1] = top
    for g in range(low, high):
        grid.mass[g] = -0.5 * precision * (grid.place[g] - prior) * (grid.place[g] - prior)
        grid.jump[g] = 0.0
    grid.jump[high] = 0.0
    grid.low, grid.high = low, high
    grid.centre = centre
    grid.per_place = 1.0 / size


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _cell_at(grid: cython.pointer(Grid), place: cython.double, more: cython.int) -> cython.Py_ssize_t:
    """The first cell not before `place`, or one too early (more = 0); or the first beyond it, or one too late (1)."""
    k: cython.int = cython.cast(cython.int, (place - grid.centre) * grid.per_place + grid.offset)
    g: cython.Py_ssize_t
    k = k if k > 0 else 0
    k = k if k < grid.most else grid.most
    g = grid.finder[k + more]
    g = g if g > grid.low else grid.low
    return g if g < grid.high else grid.high


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add_far(
    grid: cython.pointer(Grid), bound: cython.double, where: cython.double, left: cython.double, right: cython.double
) -> cython.void:
    """Add `left` to the cells more than `bound` places above a partner, `right` to those as far below."""
    g: cython.Py_ssize_t
    if where - grid.place[grid.low] > bound:
        g = _cell_at(grid, where - bound, 0)
        while g < grid.high and where - grid.place[g] > bound:
            g += 1
        grid.jump[grid.low] += left
        grid.jump[g] -= left
    if grid.place[grid.high - 1] - where > bound:
        g = _cell_at(grid, where + bound, 0)
        while g < grid.high and grid.place[g] - where <= bound:
            g += 1
        grid.jump[g] += right


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _add_vote(
    grid: cython.pointer(Grid), curve: cython.pointer(Curve), where: cython.double, width: cython.double,
    lead: cython.double,
) -> cython.double:  # fmt: skip
    """Add the log-likelihood of one answer, its partner at `where`, `width` places an entry of the table.

    The table is flat but for a zone round the partner: only cells in the zone look it up, and `jump` has what the
    cells beyond it gain. Returns what all cells gain.
    """
    won: cython.int = lead > 0.0
    weight: cython.double = lead if won else -lead
    sharp: cython.double = (2 * won - 1) / width
    base: cython.double = where * sharp + curve.middle
    start: cython.double = where - width * curve.reach[won]
    end: cython.double = where + width * curve.reach[1 - won]
    left: cython.double = weight * curve.end[won]
    right: cython.double = weight * curve.end[1 - won]
    low: cython.Py_ssize_t = _cell_at(grid, start, 0) if start > 0.0 else grid.low
    high: cython.Py_ssize_t = _cell_at(grid, end, 1) if end < grid.place[grid.high - 1] else grid.high
    last: cython.int = curve.last
    place: cython.p_double = grid.place
    mass: cython.p_double = grid.mass
    near: cython.pointer(cython.const[cython.double]) = curve.near
    g: cython.Py_ssize_t
    at: cython.int
    grid.jump[low] -= left
    grid.jump[high] += right
    for g in range(low, high):
        at = cython.cast(cython.int, base - place[g] * sharp)
        at = at if at > 0 else 0
        at = at if at < last else last
        mass[g] += weight * near[at]
    if where - place[grid.low] > curve.bound or place[grid.high - 1] - where > curve.bound:
        _add_far(
            grid, curve.bound, where,
            weight * (curve.far_end[won] - curve.end[won]), weight * (curve.far_end[1 - won] - curve.end[1 - won]),
        )  # fmt: skip
    return left


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _add_wide_vote(
    grid: cython.pointer(Grid), curve: cython.pointer(Curve), where: cython.double, width: cython.double,
    lead: cython.double,
) -> cython.void:  # fmt: skip
    """Like `_add_vote`, cell by cell: for a partner who may stand almost anywhere, and for ties (lead 0)."""
    g: cython.Py_ssize_t
    at: cython.Py_ssize_t
    z: cython.double
    gap: cython.double
    most: cython.double = curve.last
    for g in range(grid.low, grid.high):
        gap = where - grid.place[g]
        z = (gap if lead >= 0.0 else -gap) / width + curve.middle
        at = cython.cast(cython.Py_ssize_t, 0.0 if z < 0.0 else (most if z > most else z))
        if lead == 0.0:
            grid.mass[g] += 0.5 * (curve.near[at] + curve.near[curve.last - at])
        elif -curve.bound <= gap <= curve.bound:
            grid.mass[g] += (lead if lead > 0.0 else -lead) * curve.near[at]
        else:
            grid.mass[g] += (lead if lead > 0.0 else -lead) * curve.far[at]


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _add_votes(
    grid: cython.pointer(Grid), curve: cython.pointer(Curve), start: cython.longlong, end: cython.longlong,
    partner: cython.pointer(cython.const[cython.int]), lead: cython.pointer(cython.const[cython.double]),
    position: cython.p_double, width: cython.p_double, wide: cython.double,
) -> cython.void:  # fmt: skip
    """Add the log-likelihood of rows start to end - 1; partners of more than `wide` places an entry are looked up."""
    k: cython.longlong
    j: cython.int
    common: cython.double = 0.0
    for k in range(start, end):
        j = partner[k]
        if lead[k] != 0.0 and width[j] <= wide:
            common += _add_vote(grid, curve, position[j], width[j], lead[k])
        else:
            _add_wide_vote(grid, curve, position[j], width[j], lead[k])
    grid.jump[grid.low] += common


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _moments(
    grid: cython.pointer(Grid), temper: cython.double, mean: cython.p_double, std: cython.p_double
) -> cython.double:
    """Turn log-likelihoods into masses; write mean and standard deviation (at least 0.2), return the total."""
    g: cython.Py_ssize_t
    low: cython.Py_ssize_t = grid.low
    high: cython.Py_ssize_t = grid.high
    run: cython.double = 0.0
    peak: cython.double = -1e300
    total: cython.double = 0.0
    first: cython.double = 0.0
    second: cython.double = 0.0
    away: cython.double
    step: cython.double
    for g in range(low, high):
        run += grid.jump[g]
        grid.mass[g] += run
        peak = grid.mass[g] if grid.mass[g] > peak else peak
    for g in range(low, high):
        step = grid.place[g + 1 if g + 1 < high else g] - grid.place[g - 1 if g > low else g]
        run = temper * (grid.mass[g] - peak)
        grid.mass[g] = exp(run) * (0.5 * step + 1e-12) if run > NOTHING else 0.0
        away = grid.place[g] - grid.centre
        total += grid.mass[g]
        first += grid.mass[g] * away
        second += grid.mass[g] * away * away
    first /= total
    second = second / total - first * first
    mean[0] = grid.centre + first
    std[0] = sqrt(second) if second > 0.04 else 0.2
    return total


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _quantile(grid: cython.pointer(Grid), goal: cython.double) -> cython.double:
    """The place with mass `goal` before it, the mass of a cell being spread halfway to its neighbours."""
    g: cython.Py_ssize_t = grid.low
    run: cython.double = 0.0
    left: cython.double
    right: cython.double
    while g < grid.high - 1 and run + grid.mass[g] < goal:
        run += grid.mass[g]
        g += 1
    left = 0.5 * (grid.place[g - 1] + grid.place[g]) if g > grid.low else grid.place[g]
    right = 0.5 * (grid.place[g + 1] + grid.place[g]) if g + 1 < grid.high else grid.place[g]
    return left + (right - left) * (goal - run) / grid.mass[g] if grid.mass[g] > 0.0 else left


def posterior_sweep(
    start: cython.const[cython.longlong][::1],
    partner: cython.const[cython.int][::1],
    lead: cython.const[cython.double][::1],
    row: cython.const[cython.longlong][::1],
    visit: cython.const[cython.int][::1],
    position: cython.double[::1],
    std: cython.double[::1],
    scale: cython.double,
    blur: cython.double,
    temper: cython.double,
    table: cython.const[cython.double][::1],
    far_table: cython.const[cython.double][::1],
    far: cython.double,
    reach: cython.double,
    steps: cython.const[cython.double][::1],
    finder: cython.const[cython.int][::1],
    unit: cython.double,
    prior: cython.const[cython.double][::1],
    precision: cython.double,
    quantile: cython.const[cython.double][:, ::1],
    target: cython.double[:, ::1],
    width: cython.double[::1],
    room: cython.double[:, ::1],
) -> None:
    """Move every item of `visit` to the mean of its posterior over positions; write its std and quantiles.

    Row row[v] of start/partner/lead holds v's partners; lead > 0 says v before the partner, weight |lead|; 0 is a tie.
    At position t the answer "v before j" has log-likelihood table(z), z = (position[j] - t) / s_j, with
    s_j**2 = scale**2 + (blur * std[j])**2; the table covers -reach..reach. Beyond `far` places from j the answer has
    far_table(z) instead. The grid is position[v] + units of its std times `steps`, clipped to 0..n-1; `unit` is its
    least unit; finder[k] counts the steps below k - (len(finder) - 2) / 2. A normal prior around prior[v] has the given
    precision (0: none). Items move at once, so later ones see them. `width` (n) and `room` (3, steps + 1) are room.
    """
    n: cython.Py_ssize_t = position.shape[0]
    i: cython.Py_ssize_t
    r: cython.Py_ssize_t
    v: cython.longlong
    size: cython.double
    total: cython.double
    per: cython.double = 2.0 * reach / (table.shape[0] - 1)
    wide: cython.double
    curve: Curve
    grid: Grid
    curve.near, curve.far = cython.address(table[0]), cython.address(far_table[0])
    curve.last, curve.bound = table.shape[0] - 1, far
    grid.cells, grid.finder, grid.offset = steps.shape[0], cython.address(finder[0]), 0.5 * (finder.shape[0] - 2)
    grid.place, grid.mass = cython.address(room[0, 0]), cython.address(room[1, 0])
    grid.jump, grid.most = cython.address(room[2, 0]), finder.shape[0] - 2
    with cython.nogil:
        _flat_ends(cython.address(curve))
        wide = far / (curve.reach[0] if curve.reach[0] > curve.reach[1] else curve.reach[1])
        for v in range(n):
            width[v] = per * sqrt(scale * scale + blur * blur * std[v] * std[v])
        for i in range(visit.shape[0]):
            v = visit[i]
            size = std[v] * 0.25 if std[v] * 0.25 > unit else unit
            _lay_out(cython.address(grid), cython.address(steps[0]), position[v], size, n - 1.0, prior[v], precision)
            if start[row[v]] < start[row[v] + 1]:  # else there may be no votes at all, and no first one to point at
                _add_votes(
                    cython.address(grid), cython.address(curve), start[row[v]], start[row[v] + 1],
                    cython.address(partner[0]), cython.address(lead[0]), cython.address(position[0]),
                    cython.address(width[0]), wide,
                )  # fmt: skip
            total = _moments(cython.address(grid), temper, cython.address(position[v]), cython.address(std[v]))
            width[v] = per * sqrt(scale * scale + blur * blur * std[v] * std[v])
            for r in range(quantile.shape[1]):
                target[i, r] = _quantile(cython.address(grid), quantile[i, r] * total)


def far_mistakes(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    edge: cython.const[cython.double][::1],
    position: cython.const[cython.double][::1],
    std: cython.const[cython.double][::1],
    far: cython.double,
    most: cython.double,
) -> tuple:
    """Count the answers on pairs more than `far` places and two std (at most `most`) apart, and the wrong ones."""
    k: cython.Py_ssize_t
    answers: cython.Py_ssize_t = 0
    wrong: cython.Py_ssize_t = 0
    gap: cython.double
    doubt: cython.double
    with cython.nogil:
        for k in range(left.shape[0]):
            gap = position[right[k]] - position[left[k]]
            if -far <= gap <= far:
                continue
            doubt = 4.0 * (std[left[k]] * std[left[k]] + std[right[k]] * std[right[k]])
            doubt = sqrt(doubt) if doubt < most * most else most
            if gap > far + doubt or -gap > far + doubt:
                answers += 1
                wrong += gap * edge[k] < 0.0
    return answers, wrong


def choose_partners(
    start: cython.const[cython.longlong][::1],
    partner: cython.const[cython.int][::1],
    order: cython.const[cython.longlong][::1],
    visit: cython.const[cython.longlong][::1],
    want: cython.const[cython.longlong][::1],
    target: cython.const[cython.double][:, ::1],
    far: cython.Py_ssize_t,
    seen: cython.longlong[::1],
    head: cython.longlong[::1],
    link: cython.longlong[::1],
    pairs: cython.longlong[:, ::1],
) -> cython.Py_ssize_t:
    """Pair each item of `visit` with up to want[i] items that stand nearest to its targets and are new to it.

    Looks up to `far` places to both sides of a target. `seen` (n, filled with -1), `head` (n, filled with -1) and
    `link` (room for two entries a pair) keep out pairs that were asked before or chosen in this call. Returns how many
    rows of `pairs` were filled.
    """
    n: cython.Py_ssize_t = order.shape[0]
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    r: cython.Py_ssize_t
    d: cython.Py_ssize_t
    side: cython.Py_ssize_t
    at: cython.Py_ssize_t
    spot: cython.Py_ssize_t
    count: cython.Py_ssize_t = 0
    v: cython.longlong
    u: cython.longlong
    e: cython.longlong
    with cython.nogil:
        for i in range(visit.shape[0]):
            v = visit[i]
            if want[i] == 0:
                continue
            seen[v] = v
            for k in range(start[v], start[v + 1]):
                seen[partner[k]] = v
            e = head[v]
            while e >= 0:
                seen[pairs[e >> 1, 1 - (e & 1)]] = v
                e = link[e]
            for r in range(want[i]):
                at = cython.cast(cython.Py_ssize_t, target[i, r] + 0.5)
                u = -1
                for d in range(far):
                    for side in range(2):
                        spot = at + d if side == 0 else at - d - 1
                        if 0 <= spot < n and seen[order[spot]] != v:
                            u = order[spot]
                            break
                    if u >= 0:
                        break
                if u < 0:
                    continue
                seen[u] = v
                pairs[count, 0] = v
                pairs[count, 1] = u
                link[2 * count] = head[v]
                head[v] = 2 * count
                link[2 * count + 1] = head[u]
                head[u] = 2 * count + 1
                count += 1
    return count


def find_keys(
    keys: cython.const[cython.longlong][::1],
    slot_key: cython.const[cython.longlong][::1],
    slot_row: cython.const[cython.longlong][::1],
    rows: cython.longlong[::1],
) -> None:
    """Look up rows[k] of keys[k] in a table with open addressing, its length a power of two; -1 if absent."""
    mask: cython.ulonglong = slot_key.shape[0] - 1
    mix: cython.ulonglong = 0x1E3779B97F4A7C15  # odd: spreads the keys over all bits
    k: cython.Py_ssize_t
    at: cython.ulonglong
    with cython.nogil:
        for k in range(keys.shape[0]):
            at = cython.cast(cython.ulonglong, keys[k]) * mix
            at = (at >> 20) & mask
            while slot_key[at] >= 0 and slot_key[at] != keys[k]:
                at = (at + 1) & mask
            rows[k] = slot_row[at] if slot_key[at] >= 0 else -1


def add_keys(
    keys: cython.const[cython.longlong][::1],
    rows: cython.const[cython.longlong][::1],
    slot_key: cython.longlong[::1],
    slot_row: cython.longlong[::1],
) -> None:
    """Enter distinct keys, none of them present, into the table of `find_keys`; free slots hold -1."""
    mask: cython.ulonglong = slot_key.shape[0] - 1
    mix: cython.ulonglong = 0x1E3779B97F4A7C15  # odd: spreads the keys over all bits
    k: cython.Py_ssize_t
    at: cython.ulonglong
    with cython.nogil:
        for k in range(keys.shape[0]):
            at = cython.cast(cython.ulonglong, keys[k]) * mix
            at = (at >> 20) & mask
            while slot_key[at] >= 0:
                at = (at + 1) & mask
            slot_key[at] = keys[k]
            slot_row[at] = rows[k]
