"""Linear label rankers: sparse rows times a block of labels, logistic sums, and the one-pass stochastic learner.

Weights are (features + 1, labels), the last row the intercept, so that one row's work on all labels is contiguous.
`x` is CSR (`indptr`, `indices`, `data`).
"""

import cython
from cython.cimports.libc.math import exp, fabs, log1p, sqrt

real = cython.fused_type(cython.float, cython.double)


def forward(
    indptr: cython.const[cython.int][::1],
    indices: cython.const[cython.int][::1],
    data: cython.const[real][::1],
    weights: cython.const[real][:, ::1],
    out: real[:, ::1],
) -> None:
    """Write x @ weights + intercept into `out`."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    c: cython.Py_ssize_t
    width: cython.Py_ssize_t = out.shape[1]
    last: cython.Py_ssize_t = weights.shape[0] - 1
    value: real
    row: cython.pointer(real)
    source: cython.pointer(cython.const[real])
    with cython.nogil:
        for i in range(out.shape[0]):
            row = cython.address(out[i, 0])
            source = cython.address(weights[last, 0])
            for c in range(width):
                row[c] = source[c]
            for k in range(indptr[i], indptr[i + 1]):
                value = data[k]
                source = cython.address(weights[indices[k], 0])
                for c in range(width):
                    row[c] += value * source[c]


def backward(
    indptr: cython.const[cython.int][::1],
    indices: cython.const[cython.int][::1],
    data: cython.const[real][::1],
    residual: cython.const[real][:, ::1],
    out: real[:, ::1],
) -> None:
    """Add transposed x @ residual to `out`, and the column sums of `residual` to its last row."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    c: cython.Py_ssize_t
    width: cython.Py_ssize_t = out.shape[1]
    last: cython.Py_ssize_t = out.shape[0] - 1
    value: real
    row: cython.pointer(cython.const[real])
    target: cython.pointer(real)
    with cython.nogil:
        for i in range(residual.shape[0]):
            row = cython.address(residual[i, 0])
            target = cython.address(out[last, 0])
            for c in range(width):
                target[c] += row[c]
            for k in range(indptr[i], indptr[i + 1]):
                value = data[k]
                target = cython.address(out[indices[k], 0])
                for c in range(width):
                    target[c] += value * row[c]


def curve(
    indptr: cython.const[cython.int][::1],
    indices: cython.const[cython.int][::1],
    data: cython.const[cython.float][::1],
    curvature: cython.const[cython.float][:, ::1],
    vector: cython.const[cython.float][:, ::1],
    row: cython.float[::1],
    out: cython.float[:, ::1],
) -> None:
    """Add x' (curvature * (x vector)) to `out`, one row of x at a time; `row` is room for one row of labels."""
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    c: cython.Py_ssize_t
    width: cython.Py_ssize_t = out.shape[1]
    last: cython.Py_ssize_t = out.shape[0] - 1
    value: cython.float
    here: cython.p_float = cython.address(row[0])
    source: cython.pointer(cython.const[cython.float])
    target: cython.p_float
    with cython.nogil:
        for i in range(curvature.shape[0]):
            source = cython.address(vector[last, 0])
            for c in range(width):
                here[c] = source[c]
            for k in range(indptr[i], indptr[i + 1]):
                value = data[k]
                source = cython.address(vector[indices[k], 0])
                for c in range(width):
                    here[c] += value * source[c]
            source = cython.address(curvature[i, 0])
            target = cython.address(out[last, 0])
            for c in range(width):
                here[c] *= source[c]
                target[c] += here[c]
            for k in range(indptr[i], indptr[i + 1]):
                value = data[k]
                target = cython.address(out[indices[k], 0])
                for c in range(width):
                    target[c] += value * here[c]


def logistic(
    margin: cython.const[cython.double][:, ::1],
    target: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    loss: cython.double[::1],
    residual: cython.double[:, ::1],
    curvature: cython.float[:, ::1],
) -> None:
    """Add weight (log(1 + e^m) - target m) to `loss` by label; write its first and second derivatives."""
    i: cython.Py_ssize_t
    c: cython.Py_ssize_t
    m: cython.double
    w: cython.double
    tail: cython.double
    chance: cython.double
    with cython.nogil:
        for i in range(margin.shape[0]):
            w = weight[i]
            for c in range(margin.shape[1]):
                m = margin[i, c]
                tail = exp(-fabs(m))  # at most 1, so nothing overflows
                chance = (1.0 if m > 0 else tail) / (1.0 + tail)
                loss[c] += w * (log1p(tail) + (m if m > 0 else 0.0) - target[i, c] * m)
                residual[i, c] = w * (chance - target[i, c])
                curvature[i, c] = cython.cast(cython.float, w * chance * (1.0 - chance))


def pairwise_logistic(
    margin: cython.const[cython.double][:, ::1],
    relevance: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    residual: cython.double[:, ::1],
) -> cython.double:
    """Sum of weight * mean over pairs y_i > y_j of log(1 + e^(m_j - m_i)); its gradient is added to `residual`."""
    i: cython.Py_ssize_t
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    n: cython.Py_ssize_t = margin.shape[1]
    pairs: cython.double
    gap: cython.double
    tail: cython.double
    force: cython.double
    total: cython.double = 0.0
    with cython.nogil:
        for i in range(margin.shape[0]):
            pairs = 0.0
            for a in range(n):
                if relevance[i, a] > 0:
                    for b in range(n):
                        pairs += relevance[i, a] > relevance[i, b]
            if pairs == 0.0:
                continue
            for a in range(n):
                if relevance[i, a] > 0:
                    for b in range(n):
                        if relevance[i, a] > relevance[i, b]:
                            gap = margin[i, a] - margin[i, b]
                            tail = exp(-fabs(gap))
                            force = weight[i] / pairs * (tail if gap > 0 else 1.0) / (1.0 + tail)
                            total += weight[i] / pairs * (log1p(tail) + (0.0 if gap > 0 else -gap))
                            residual[i, a] -= force
                            residual[i, b] += force
    return total


def stream(
    indptr: cython.const[cython.int][::1],
    indices: cython.const[cython.int][::1],
    data: cython.const[cython.double][::1],
    target: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    rate: cython.double,
    weights: cython.double[:, ::1],
    squares: cython.double[:, ::1],
    room: cython.double[::1],
    margin: cython.double[:, ::1],
) -> None:
    """Predict, then learn, row by row: AdaGrad on the logistic loss of every label.

    `margin` receives the scores given before each row was learned from; a row of weight 0 is only scored. `squares` are
    the sums of squared gradients behind each weight's step size, `room` has space for one number per label.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    c: cython.Py_ssize_t
    at: cython.Py_ssize_t
    width: cython.Py_ssize_t = weights.shape[1]
    last: cython.Py_ssize_t = weights.shape[0] - 1
    value: cython.double
    slope: cython.double
    tail: cython.double
    row: cython.p_double
    line: cython.p_double
    past: cython.p_double
    pull: cython.p_double = cython.address(room[0])
    with cython.nogil:
        for i in range(target.shape[0]):
            row = cython.address(margin[i, 0])
            line = cython.address(weights[last, 0])
            for c in range(width):
                row[c] = line[c]
            for k in range(indptr[i], indptr[i + 1]):
                value = data[k]
                line = cython.address(weights[indices[k], 0])
                for c in range(width):
                    row[c] += value * line[c]
            if weight[i] == 0.0:
                continue
            for c in range(width):
                tail = exp(-fabs(row[c]))
                pull[c] = weight[i] * ((1.0 if row[c] > 0 else tail) / (1.0 + tail) - target[i, c])
            for k in range(indptr[i], indptr[i + 1] + 1):
                at = last if k == indptr[i + 1] else indices[k]
                value = 1.0 if k == indptr[i + 1] else data[k]
                line = cython.address(weights[at, 0])
                past = cython.address(squares[at, 0])
                for c in range(width):
                    slope = pull[c] * value
                    past[c] += slope * slope
                    line[c] -= rate * slope / (sqrt(past[c]) + 1e-8)


def dual_sweeps(
    indptr: cython.const[cython.int][::1],
    indices: cython.const[cython.int][::1],
    data: cython.const[cython.double][::1],
    norms: cython.const[cython.double][::1],
    order: cython.const[cython.int][::1],
    target: cython.const[cython.double][::1],
    cost: cython.const[cython.double][::1],
    sweeps: cython.int,
    quiet: cython.double,
    stiff: cython.double,
    chance: cython.double[::1],
    wait: cython.int[::1],
    rest: cython.int[::1],
    weights: cython.double[::1],
) -> None:
    """Dual coordinate descent on one penalised logistic regression; the last of `weights` is the intercept.

    With q_i the chance given to row i, weights = Σ cost_i (target_i − q_i) x_i, and a step on row i solves
    logit(q) + cost |x|² q = margin + cost |x|² q_old for q, one increasing equation in z = logit(q). Rows whose q moved
    by less than `quiet` rest for 1, 3, 7, … sweeps (`wait` and `rest`, all 0 at first). The intercept is a feature of
    squared size `stiff`, so it is penalised a little. `chance` starts at `target`, `weights` at 0.
    """
    _s: cython.Py_ssize_t
    r: cython.Py_ssize_t
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    _step: cython.int
    margin: cython.double
    slope: cython.double
    goal: cython.double
    low: cython.double
    high: cython.double
    z: cython.double
    q: cython.double
    tail: cython.double
    error: cython.double
    change: cython.double
    last: cython.Py_ssize_t = weights.shape[0] - 1
    with cython.nogil:
        for _s in range(sweeps):
            for r in range(order.shape[0]):
                i = order[r]
                if wait[i] > 0:
                    wait[i] -= 1
                    continue
                if cost[i] == 0.0:
                    continue
                margin = weights[last]
                for k in range(indptr[i], indptr[i + 1]):
                    margin += data[k] * weights[indices[k]]
                slope = cost[i] * (norms[i] + stiff)
                goal = margin + slope * chance[i]
                low = goal - slope  # the root is between
                high = goal
                z = min(max(margin, low), high)
                for _step in range(30):
                    tail = exp(-fabs(z))
                    q = (1.0 if z > 0 else tail) / (1.0 + tail)
                    error = z + slope * q - goal
                    if fabs(error) < 1e-3:
                        break
                    low = z if error < 0 else low
                    high = z if error > 0 else high
                    z -= error / (1.0 + slope * q * (1.0 - q))
                    if z <= low or z >= high:
                        z = 0.5 * (low + high)
                change = cost[i] * (chance[i] - q)
                if fabs(chance[i] - q) < quiet:
                    rest[i] = min(2 * rest[i] + 1, 15)
                    wait[i] = rest[i]
                else:
                    rest[i] = 0
                chance[i] = q
                weights[last] += change * stiff
                for k in range(indptr[i], indptr[i + 1]):
                    weights[indices[k]] += change * data[k]
