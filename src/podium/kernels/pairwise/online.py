"""Loops of rankers that learn vote by vote: stochastic gradient steps with features, and Elo."""

import cython
from cython.cimports.libc.math import exp, fabs, sqrt


def sgd(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    target: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    features: cython.const[cython.double][:, ::1],
    precision: cython.const[cython.double][::1],
    squared: cython.bint,
    flips: cython.double,
    schedule: cython.int,
    rate: cython.double,
    offset: cython.double,
    shrink_w: cython.double,
    shrink_r: cython.double,
    tiny: cython.double,
    scalars: cython.double[::1],
    w: cython.double[::1],
    r: cython.double[::1],
    late_w: cython.double[::1],
    late_r: cython.double[::1],
    sum_w: cython.double[::1],
    sum_r: cython.double[::1],
) -> None:
    """Rule (19), one step a row; a step costs O(d) because shrinkage is a factor common to all weights, or residuals.

    `scalars`, kept between calls, are t, the factors of w and r, and their sums over past steps (mass). The weights are
    factor·w, the residuals factor·r. The step size is `rate` (schedule 0), rate/√t (1) or 1/(rate·(t + offset)) (2).
    `target` is 1, 0 or ½ for the log loss and the margin wanted for the squared one. With the log loss a share `flips`
    of votes is reported the wrong way round. A factor below `tiny` is multiplied in, long before it underflows. For
    averages, Σ over past steps of factor·w is sum_w + mass·w − late_w, and likewise for r.

    Weights are in the users' units; `precision`, 1/scale² of each feature, makes the step that of scaled ones. Steps
    are capped: with z the scaled row of the design, a step·weight above 1/‖z‖² (log loss) or 1/(4‖z‖²) (squared loss)
    is cut down to it. A vote then moves its own margin by at most 1, or half the way to its target: nothing diverges.
    """
    k: cython.Py_ssize_t
    f: cython.Py_ssize_t
    d: cython.Py_ssize_t = features.shape[1]
    t: cython.double = scalars[0]
    factor_w: cython.double = scalars[1]
    factor_r: cython.double = scalars[2]
    mass_w: cython.double = scalars[3]
    mass_r: cython.double = scalars[4]
    with cython.nogil:
        for k in range(left.shape[0]):
            i: cython.Py_ssize_t = left[k]
            j: cython.Py_ssize_t = right[k]
            t += 1.0
            step: cython.double = rate
            if schedule == 1:
                step = rate / sqrt(t)
            elif schedule == 2:
                step = 1.0 / (rate * (t + offset))
            along: cython.double = 0.0
            reach: cython.double = 2.0  # ‖z‖²
            for f in range(d):
                gap: cython.double = features[i, f] - features[j, f]
                along += w[f] * gap
                reach += precision[f] * gap * gap
            margin: cython.double = factor_w * along + factor_r * (r[i] - r[j])
            slope: cython.double
            if squared:
                slope = 2.0 * (margin - target[k])
            else:
                tail: cython.double = exp(-fabs(margin))
                small: cython.double = tail / (1.0 + tail)
                chance: cython.double = 1.0 - small if margin > 0 else small
                slope = chance - target[k]
                if flips > 0.0:  # −log of the chance q = flips + (1 − 2·flips)·chance of the vote as reported
                    reported: cython.double = flips + (1.0 - 2.0 * flips) * chance
                    bend: cython.double = (1.0 - 2.0 * flips) * small * (1.0 - small)
                    slope = bend * (reported - target[k]) / (reported * (1.0 - reported))
            gain: cython.double = step * weight[k]
            most: cython.double = (0.25 if squared else 1.0) / reach
            if gain > most:
                gain = most
            factor_w *= 1.0 - step * shrink_w
            factor_r *= 1.0 - step * shrink_r
            if factor_w < tiny or factor_r < tiny:
                for f in range(d):
                    sum_w[f] += mass_w * w[f] - late_w[f]
                    late_w[f] = 0.0
                    w[f] *= factor_w
                for f in range(r.shape[0]):
                    sum_r[f] += mass_r * r[f] - late_r[f]
                    late_r[f] = 0.0
                    r[f] *= factor_r
                factor_w = 1.0
                factor_r = 1.0
                mass_w = 0.0
                mass_r = 0.0
            move: cython.double = gain * slope / factor_w
            for f in range(d):
                change: cython.double = move * precision[f] * (features[i, f] - features[j, f])
                w[f] -= change
                late_w[f] -= change * mass_w
            move = gain * slope / factor_r
            r[i] -= move
            r[j] += move
            late_r[i] -= move * mass_r
            late_r[j] += move * mass_r
            mass_w += factor_w
            mass_r += factor_r
    scalars[0] = t
    scalars[1] = factor_w
    scalars[2] = factor_r
    scalars[3] = mass_w
    scalars[4] = mass_r


def elo(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    outcome: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    k_factor: cython.double,
    slope: cython.double,
    advantage: cython.double,
    ratings: cython.double[::1],
) -> None:
    """Move both ratings by k·weight·(outcome − expected); expected is 1/(1 + exp(−slope·(difference + advantage)))."""
    k: cython.Py_ssize_t
    with cython.nogil:
        for k in range(left.shape[0]):
            i: cython.Py_ssize_t = left[k]
            j: cython.Py_ssize_t = right[k]
            expected: cython.double = 1.0 / (1.0 + exp(-slope * (ratings[i] - ratings[j] + advantage)))
            move: cython.double = k_factor * weight[k] * (outcome[k] - expected)
            ratings[i] += move
            ratings[j] -= move
