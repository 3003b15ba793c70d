"""The algorithms of "Exact Passive-Aggressive Algorithms …" as printed, for comparison; the library's own are exact.

Their losses are clipped at zero, and their support sets start with the two thresholds next to the label whether or not
these have a loss. Symbols as in the paper, but indices from 0.
"""

import numpy as np

ROUNDS = 200  # after which SCA-I is said not to converge


def losses(score, theta, low, high):
    under = [max(0.0, 1 + t - score) for t in theta[:low]]
    over = [max(0.0, 1 + score - t) for t in theta[high:]]
    return under[::-1], over  # nearest threshold first


def support(under, over, q, scale):
    """Algorithm 2 (SCA): grow both sets outwards while the multiplier of the next threshold is positive."""
    left, right = min(1, len(under)), min(1, len(over))
    total = sum(under[:left]) - sum(over[:right])
    grown = True
    while grown:
        grown = False
        size = scale + q * (left + right + 1)
        if left < len(under) and under[left] - q * (under[left] + total) / size > 0:
            total += under[left]
            left, grown = left + 1, True
            continue
        if right < len(over) and over[right] + q * (total - over[right]) / size > 0:
            total -= over[right]
            right, grown = right + 1, True
    return left, right, total / (scale + q * (left + right))


def multipliers(under, over, q, variant, C):
    """Multipliers of both sides, nearest first, and whether the procedure came to an end."""
    if variant == "pa1":
        return iterate(under, over, q, C)
    scale = 1.0 if variant == "pa" else 1 + 1 / (2 * C)
    left, right, a = support(under, over, q, scale)
    return [(loss - a * q) / scale for loss in under[:left]], [(loss + a * q) / scale for loss in over[:right]], True


def iterate(under, over, q, C):
    """Algorithm 3 (SCA-I): recompute all multipliers and their sum a in turn until they stay."""
    lam, mu = [min(C, loss) for loss in under[:1]], [min(C, loss) for loss in over[:1]]
    a = sum(lam) - sum(mu)
    for _ in range(ROUNDS):
        new_lam = [min(C, loss - a * q) for loss in under]
        new_mu = [min(C, loss + a * q) for loss in over]
        new_lam = [v if i == 0 or v > 0 else 0.0 for i, v in enumerate(new_lam)]
        new_mu = [v if i == 0 or v > 0 else 0.0 for i, v in enumerate(new_mu)]
        new = sum(new_lam) - sum(new_mu)
        if abs(new - a) <= 1e-10 * (1 + abs(a)) and len(lam) == len(new_lam):
            return new_lam, new_mu, True
        lam, mu, a = new_lam, new_mu, new
        if not np.isfinite(a):
            break
    return lam, mu, False


def step(w, theta, x, low, high, variant, C):
    """One trial as printed; returns new parameters and whether the support sets were found."""
    score, q = float(w @ x), float(x @ x)
    under, over = losses(score, theta, low, high)
    if not any(under) and not any(over):
        return w, theta, True
    lam, mu, found = multipliers(under, over, q, variant, C)
    theta = theta.copy()
    for i, value in enumerate(lam):
        theta[low - 1 - i] -= value
    for i, value in enumerate(mu):
        theta[high + i] += value
    return w + (sum(lam) - sum(mu)) * x, theta, found


def run(X, low, high, K, variant, C):
    """Predictions of every trial, before its update, as `OnlineClassifier.progressive` gives them."""
    w, theta = np.zeros(X.shape[1]), np.zeros(K - 1)
    predicted = np.empty(len(X), dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        for t, x in enumerate(X):
            score = float(w @ x)
            predicted[t] = next((i for i, b in enumerate(theta) if score < b), K - 1)
            w, theta, _ = step(w, theta, x, int(low[t]), int(high[t]), variant, C)
            if not (np.isfinite(w).all() and np.isfinite(theta).all()):
                w, theta = np.nan_to_num(w), np.sort(np.nan_to_num(theta))
    return predicted
