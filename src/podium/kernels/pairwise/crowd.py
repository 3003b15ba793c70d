"""Loops over the votes of each judge, whose slope and lean are integrated out."""

import cython
from cython.cimports.libc.math import exp, fabs, log, log1p, sqrt

MODE_STEPS = cython.declare(cython.int, 60)
MODE_TOL = cython.declare(cython.double, 1e-11)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _at(
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    gap: cython.const[cython.double][::1],
    points: cython.const[cython.double][::1],
    total: cython.const[cython.double][::1],
    slope: cython.double,
    lean: cython.double,
    sums: cython.pointer(cython.double),
) -> cython.double:
    """Log-likelihood of one judge's rows; sums of the residuals and curvatures, plain and times the gap."""
    r: cython.Py_ssize_t
    likely: cython.double = 0.0
    sums[0] = sums[1] = sums[2] = sums[3] = sums[4] = 0.0
    for r in range(first, last):
        margin: cython.double = slope * gap[r] + lean
        tail: cython.double = exp(-fabs(margin))
        small: cython.double = tail / (1.0 + tail)
        chance: cython.double = 1.0 - small if margin > 0 else small
        residual: cython.double = points[r] - total[r] * chance
        curvature: cython.double = total[r] * small * (1.0 - small)
        likely += points[r] * margin - total[r] * (log1p(tail) + (margin if margin > 0 else 0.0))
        sums[0] += residual
        sums[1] += residual * gap[r]
        sums[2] += curvature
        sums[3] += curvature * gap[r]
        sums[4] += curvature * gap[r] * gap[r]
    return likely


def judge_modes(
    start: cython.const[cython.Py_ssize_t][::1],
    gap: cython.const[cython.double][::1],
    points: cython.const[cython.double][::1],
    total: cython.const[cython.double][::1],
    centre: cython.const[cython.double][::1],
    slope_sd: cython.double,
    lean: cython.double,
    lean_sd: cython.double,
    mode: cython.double[:, ::1],
    root: cython.double[:, ::1],
) -> None:
    """Move `mode` to the most likely z of each judge: slope centre + slope_sd·z₁, lean + lean_sd·z₂, z ~ N(0, I).

    `root` is set to the lower triangle of a Cholesky root of the inverse Hessian there: (l₁₁, l₂₁, l₂₂).
    """
    k: cython.Py_ssize_t
    _step: cython.int
    _half: cython.int
    here: cython.double[5]
    there: cython.double[5]
    with cython.nogil:
        for k in range(start.shape[0] - 1):
            first: cython.Py_ssize_t = start[k]
            last: cython.Py_ssize_t = start[k + 1]
            z: cython.double = mode[k, 0]
            y: cython.double = mode[k, 1]
            height: cython.double = _at(
                first, last, gap, points, total, centre[k] + slope_sd * z, lean + lean_sd * y, cython.address(here[0])
            )
            height -= 0.5 * (z * z + y * y)
            for _step in range(MODE_STEPS):
                up_z: cython.double = slope_sd * here[1] - z
                up_y: cython.double = lean_sd * here[0] - y
                h_zz: cython.double = 1.0 + slope_sd * slope_sd * here[4]
                h_zy: cython.double = slope_sd * lean_sd * here[3]
                h_yy: cython.double = 1.0 + lean_sd * lean_sd * here[2]
                det: cython.double = h_zz * h_yy - h_zy * h_zy
                dz: cython.double = (h_yy * up_z - h_zy * up_y) / det
                dy: cython.double = (h_zz * up_y - h_zy * up_z) / det
                if fabs(dz) + fabs(dy) <= MODE_TOL:
                    break
                for _half in range(30):
                    higher: cython.double = _at(
                        first,
                        last,
                        gap,
                        points,
                        total,
                        centre[k] + slope_sd * (z + dz),
                        lean + lean_sd * (y + dy),
                        cython.address(there[0]),
                    )
                    higher -= 0.5 * ((z + dz) * (z + dz) + (y + dy) * (y + dy))
                    if higher >= height - 1e-13 * fabs(height):
                        break
                    dz *= 0.5
                    dy *= 0.5
                z += dz
                y += dy
                height = higher
                here = there
            mode[k, 0] = z
            mode[k, 1] = y
            h_zz = 1.0 + slope_sd * slope_sd * here[4]
            h_zy = slope_sd * lean_sd * here[3]
            h_yy = 1.0 + lean_sd * lean_sd * here[2]
            det = h_zz * h_yy - h_zy * h_zy
            root[k, 0] = sqrt(h_yy / det)
            root[k, 1] = -h_zy / det / root[k, 0]
            root[k, 2] = sqrt(1.0 / h_yy)


def judge_moments(
    start: cython.const[cython.Py_ssize_t][::1],
    gap: cython.const[cython.double][::1],
    points: cython.const[cython.double][::1],
    total: cython.const[cython.double][::1],
    centre: cython.const[cython.double][::1],
    slope_sd: cython.double,
    lean: cython.double,
    lean_sd: cython.double,
    mode: cython.const[cython.double][:, ::1],
    root: cython.const[cython.double][:, ::1],
    node: cython.const[cython.double][:, ::1],
    log_mass: cython.const[cython.double][::1],
    likely: cython.double[::1],
    moments: cython.double[:, ::1],
    gradient: cython.double[:, ::1],
    curvature: cython.double[:, ::1],
    corner: cython.double[:, ::1],
    own_left: cython.const[cython.int][::1],
    own_right: cython.const[cython.int][::1],
    own_start: cython.const[cython.Py_ssize_t][::1],
    own_item: cython.const[cython.int][::1],
    chance: cython.double[:, ::1],
    share: cython.double[::1],
    mean: cython.double[::1],
    off: cython.double[::1],
    variance: cython.double[:, ::1],
) -> None:
    """Integrate each judge out: log-likelihood, moments, and the parts of gradient and Hessian (Louis 1982).

    Parameters of the model are the gaps of the rows and, as extras, the mean lean, slope_sd and lean_sd. Written are

        likely     log ∫ of the judge's votes
        moments    mean of z₁, z₂, variance of z₁, covariance, variance of z₂
        gradient   by row: of the log-likelihood in the gap, and the row's part of that in the extras
        curvature  by row: minus the mean second derivative in the gap, and in gap × extras
        corner     (3, 3) minus the mean second derivatives in the extras, summed over judges
        variance   (n + 3, n + 3) added to: variance of the gradient in the scores and the extras; nothing if empty

    `node` (Q, 2) and `log_mass` are those of a rule for ∫ f(x) dx over the plane, less the constant of φ; Q ≤ 256.
    `chance` (most rows of a judge, Q), `share` (Q), `mean` and `off` (most items of a judge + 3) are workspace.
    """
    k: cython.Py_ssize_t
    q: cython.Py_ssize_t
    r: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    zs: cython.double[256]
    ys: cython.double[256]
    slopes: cython.double[256]
    sums: cython.double[14]
    count: cython.Py_ssize_t = node.shape[0]
    n: cython.Py_ssize_t = variance.shape[0] - 3
    spans: cython.bint = variance.shape[0] > 0
    with cython.nogil:
        for k in range(start.shape[0] - 1):
            first: cython.Py_ssize_t = start[k]
            last: cython.Py_ssize_t = start[k + 1]
            top: cython.double = -1e308
            for q in range(count):
                z: cython.double = mode[k, 0] + root[k, 0] * node[q, 0]
                y: cython.double = mode[k, 1] + root[k, 1] * node[q, 0] + root[k, 2] * node[q, 1]
                slope: cython.double = centre[k] + slope_sd * z
                shift: cython.double = lean + lean_sd * y
                value: cython.double = log_mass[q] - 0.5 * (z * z + y * y)
                for r in range(first, last):
                    margin: cython.double = slope * gap[r] + shift
                    tail: cython.double = exp(-fabs(margin))
                    small: cython.double = tail / (1.0 + tail)
                    chance[r - first, q] = 1.0 - small if margin > 0 else small
                    value += points[r] * margin - total[r] * (log1p(tail) + (margin if margin > 0 else 0.0))
                share[q] = value
                if value > top:
                    top = value
            whole: cython.double = 0.0
            for q in range(count):
                share[q] = exp(share[q] - top)
                whole += share[q]
            likely[k] = top + log(whole) + log(root[k, 0] * root[k, 2])
            m_z: cython.double = 0.0
            m_y: cython.double = 0.0
            for q in range(count):
                share[q] /= whole
                m_z += share[q] * (mode[k, 0] + root[k, 0] * node[q, 0])
                m_y += share[q] * (mode[k, 1] + root[k, 1] * node[q, 0] + root[k, 2] * node[q, 1])
            moments[k, 0] = m_z
            moments[k, 1] = m_y
            moments[k, 2] = moments[k, 3] = moments[k, 4] = 0.0
            for q in range(count):
                zs[q] = mode[k, 0] + root[k, 0] * node[q, 0]
                ys[q] = mode[k, 1] + root[k, 1] * node[q, 0] + root[k, 2] * node[q, 1]
                slopes[q] = centre[k] + slope_sd * zs[q]
                moments[k, 2] += share[q] * (zs[q] - m_z) * (zs[q] - m_z)
                moments[k, 3] += share[q] * (zs[q] - m_z) * (ys[q] - m_y)
                moments[k, 4] += share[q] * (ys[q] - m_y) * (ys[q] - m_y)
            for r in range(first, last):
                g: cython.double = gap[r]
                for a in range(14):
                    sums[a] = 0.0
                for q in range(count):
                    p: cython.double = chance[r - first, q]
                    residual: cython.double = share[q] * (points[r] - total[r] * p)
                    c: cython.double = share[q] * total[r] * p * (1.0 - p)
                    z = zs[q]
                    y = ys[q]
                    slope = slopes[q]
                    sums[0] += slope * residual
                    sums[1] += residual
                    sums[2] += z * residual
                    sums[3] += y * residual
                    sums[4] += slope * slope * c
                    sums[5] += slope * c
                    sums[6] += slope * z * c
                    sums[7] += slope * y * c
                    sums[8] += c
                    sums[9] += z * c
                    sums[10] += y * c
                    sums[11] += z * z * c
                    sums[12] += z * y * c
                    sums[13] += y * y * c
                gradient[r, 0] = sums[0]
                gradient[r, 1] = sums[1]
                gradient[r, 2] = g * sums[2]
                gradient[r, 3] = sums[3]
                curvature[r, 0] = sums[4]
                curvature[r, 1] = sums[5]
                curvature[r, 2] = g * sums[6] - sums[2]
                curvature[r, 3] = sums[7]
                corner[0, 0] += sums[8]
                corner[0, 1] += g * sums[9]
                corner[0, 2] += sums[10]
                corner[1, 1] += g * g * sums[11]
                corner[1, 2] += g * sums[12]
                corner[2, 2] += sums[13]
            if not spans:
                continue
            own: cython.Py_ssize_t = own_start[k + 1] - own_start[k]
            at: cython.Py_ssize_t = own_start[k]
            for a in range(own + 3):
                mean[a] = 0.0
            for r in range(first, last):
                mean[own_left[r]] += gradient[r, 0]
                mean[own_right[r]] -= gradient[r, 0]
                mean[own] += gradient[r, 1]
                mean[own + 1] += gradient[r, 2]
                mean[own + 2] += gradient[r, 3]
            for q in range(count):
                weight: cython.double = share[q]
                if weight < 1e-17:
                    continue
                z = mode[k, 0] + root[k, 0] * node[q, 0]
                y = mode[k, 1] + root[k, 1] * node[q, 0] + root[k, 2] * node[q, 1]
                slope = centre[k] + slope_sd * z
                for a in range(own + 3):
                    off[a] = -mean[a]
                for r in range(first, last):
                    residual = points[r] - total[r] * chance[r - first, q]
                    off[own_left[r]] += slope * residual
                    off[own_right[r]] -= slope * residual
                    off[own] += residual
                    off[own + 1] += z * gap[r] * residual
                    off[own + 2] += y * residual
                for a in range(own + 3):
                    i: cython.Py_ssize_t = own_item[at + a] if a < own else n + a - own
                    scaled: cython.double = weight * off[a]
                    for b in range(a + 1):
                        j: cython.Py_ssize_t = own_item[at + b] if b < own else n + b - own
                        variance[i, j] += scaled * off[b]


def sum_distribution(
    step: cython.const[cython.long][::1], chance: cython.const[cython.double][::1], mass: cython.double[::1]
) -> None:
    """Write the distribution of Σ step[r]·(1 with chance[r], else 0) into `mass`, which has Σ step + 1 places."""
    r: cython.Py_ssize_t
    t: cython.Py_ssize_t
    top: cython.Py_ssize_t = 0
    with cython.nogil:
        mass[0] = 1.0
        for t in range(1, mass.shape[0]):
            mass[t] = 0.0
        for r in range(step.shape[0]):
            by: cython.Py_ssize_t = step[r]
            p: cython.double = chance[r]
            top += by
            for t in range(top, by - 1, -1):
                mass[t] = mass[t] * (1.0 - p) + mass[t - by] * p
            for t in range(by - 1, -1, -1):
                mass[t] *= 1.0 - p
