"""Where each item may stand, given its answers and where its partners stand: posteriors on a grid of all scales."""

import cython
from cython.cimports.libc.math import exp, sqrt


def posterior_sweep(
    start: cython.const[cython.longlong][::1],
    partner: cython.const[cython.int][::1],
    pull: cython.const[cython.double][::1],
    visit: cython.const[cython.longlong][::1],
    position: cython.double[::1],
    spread: cython.double[::1],
    scale: cython.double,
    blur: cython.double,
    temper: cython.double,
    table: cython.const[cython.double][::1],
    far_table: cython.const[cython.double][::1],
    far: cython.double,
    reach: cython.double,
    steps: cython.const[cython.double][::1],
    unit: cython.double,
    prior: cython.const[cython.double][::1],
    precision: cython.double,
    quantile: cython.const[cython.double][:, ::1],
    target: cython.double[:, ::1],
    grid: cython.double[::1],
    mass: cython.double[::1],
    cell: cython.int[::1],
) -> None:
    """Move every item of `visit` to the mean of its posterior over positions; write its spread and quantiles.

    Row v of start/partner/pull holds v's partners; pull > 0 says v before the partner, weight |pull|; 0 is a tie.
    At position t the answer "v before j" has log-likelihood table(z), z = (position[j] - t) / s_j, with
    s_j**2 = scale**2 + (blur * spread[j])**2; the table covers -reach..reach. Beyond `far` places from j the answer has
    far_table(z) instead. The grid is position[v] + spread-sized
    units times `steps`, clipped to 0..n-1; `unit` is its least unit. A normal
    prior around prior[v] has the given precision (0: none). Items move at once, so later ones see them. `grid`, `mass`
    and `cell` are room for one number a step.
    """
    n: cython.Py_ssize_t = position.shape[0]
    cells: cython.Py_ssize_t = steps.shape[0]
    last: cython.Py_ssize_t = table.shape[0] - 1
    per: cython.double = last / (2.0 * reach)
    top: cython.double = n - 1.0
    i: cython.Py_ssize_t
    g: cython.Py_ssize_t
    k: cython.Py_ssize_t
    r: cython.Py_ssize_t
    at: cython.Py_ssize_t
    v: cython.longlong
    j: cython.int
    size: cython.double
    weight: cython.double
    sharp: cython.double
    where: cython.double
    z: cython.double
    peak: cython.double
    total: cython.double
    mean: cython.double
    square: cython.double
    left: cython.double
    right: cython.double
    goal: cython.double
    run: cython.double
    near: cython.bint
    with cython.nogil:
        for i in range(visit.shape[0]):
            v = visit[i]
            size = spread[v] * 0.25
            if size < unit:
                size = unit
            for g in range(cells):
                where = position[v] + size * steps[g]
                grid[g] = 0.0 if where < 0.0 else (top if where > top else where)
                mass[g] = -0.5 * precision * (grid[g] - prior[v]) * (grid[g] - prior[v])
            for k in range(start[v], start[v + 1]):
                j = partner[k]
                weight = pull[k]
                sharp = per / sqrt(scale * scale + blur * blur * spread[j] * spread[j])
                where = position[j]
                if weight < 0.0:
                    sharp = -sharp
                    weight = -weight
                near = where - grid[0] <= far and grid[cells - 1] - where <= far
                if weight > 0.0 and (near or where - grid[cells - 1] > far or grid[0] - where > far):
                    z = (where - grid[0]) * sharp + 0.5 * last  # z is monotone in g: its two ends tell
                    run = (where - grid[cells - 1]) * sharp + 0.5 * last
                    if (z >= last and run >= last) or (z <= 0.0 and run <= 0.0):
                        at = last if z >= last else 0
                        z = weight * (table[at] if near else far_table[at])
                        for g in range(cells):
                            mass[g] += z
                        continue
                    for g in range(cells):
                        z = (where - grid[g]) * sharp + 0.5 * last
                        z = z if z > 0.0 else 0.0
                        z = z if z < last else cython.cast(cython.double, last)
                        cell[g] = cython.cast(cython.int, z)
                    if near:
                        for g in range(cells):
                            mass[g] += weight * table[cell[g]]
                    else:
                        for g in range(cells):
                            mass[g] += weight * far_table[cell[g]]
                elif weight > 0.0:
                    for g in range(cells):
                        z = (where - grid[g]) * sharp + 0.5 * last
                        z = 0.0 if z < 0.0 else (last if z > last else z)
                        at = cython.cast(cython.int, z)
                        if where - grid[g] <= far and grid[g] - where <= far:
                            mass[g] += weight * table[at]
                        else:
                            mass[g] += weight * far_table[at]
                else:
                    for g in range(cells):
                        z = (where - grid[g]) * sharp + 0.5 * last
                        z = 0.0 if z < 0.0 else (last if z > last else z)
                        at = cython.cast(cython.int, z)
                        mass[g] += 0.5 * (table[at] + table[last - at])
            peak = mass[0]
            for g in range(1, cells):
                peak = mass[g] if mass[g] > peak else peak
            total = 0.0
            mean = 0.0
            square = 0.0
            for g in range(cells):
                left = grid[g - 1] if g > 0 else grid[0]
                right = grid[g + 1] if g + 1 < cells else grid[g]
                mass[g] = exp(temper * (mass[g] - peak)) * (0.5 * (right - left) + 1e-12)
                total += mass[g]
                mean += mass[g] * grid[g]
                square += mass[g] * grid[g] * grid[g]
            mean /= total
            square = square / total - mean * mean
            position[v] = mean
            spread[v] = sqrt(square) if square > 0.04 else 0.2
            for r in range(quantile.shape[1]):
                goal = quantile[i, r] * total
                run = 0.0
                g = 0
                while g < cells - 1 and run + mass[g] < goal:
                    run += mass[g]
                    g += 1
                left = 0.5 * (grid[g - 1] + grid[g]) if g > 0 else grid[0]
                right = 0.5 * (grid[g + 1] + grid[g]) if g + 1 < cells else grid[g]
                target[i, r] = left + (right - left) * (goal - run) / mass[g]


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
    made: cython.Py_ssize_t = 0
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
                pairs[made, 0] = v
                pairs[made, 1] = u
                link[2 * made] = head[v]
                head[v] = 2 * made
                link[2 * made + 1] = head[u]
                head[u] = 2 * made + 1
                made += 1
    return made


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
