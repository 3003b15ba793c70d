"""The algorithms of "Exact Passive-Aggressive Algorithms …" as printed, for comparison; the library's own are exact.

    python -m papers.ordinal_printed      # every misprint we found, with the numbers that show it; seconds

Losses are clipped at zero, and support sets start with the two thresholds next to the label whether or not these have
a loss. Symbols as in the paper, but indices from 0. Algorithm 2 (SCA) is a reconstruction: the copy of the paper that
we have holds no listing of it, only Section III.A.1 in words, Lemma 1, and the listing of Algorithm 3.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from scipy.optimize import minimize

from podium.ordinal.losses import mistake_bound, slacks

ROUNDS = 200  # after which SCA-I is said not to converge


def losses(score, theta, low, high):
    under = [max(0.0, 1 + t - score) for t in theta[:low]]
    over = [max(0.0, 1 + score - t) for t in theta[high:]]
    return under[::-1], over  # nearest threshold first


def support(under, over, q, scale):
    """Algorithm 2 (SCA), from the words about it: grow both sets outwards while the next multiplier is positive."""
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


def nearest(w, theta, x, low, high, half):
    """Programme (3) by SLSQP: as printed, the second term has no 1/2 (`half` = 1); the printed updates need 1/2."""
    d, v0 = len(w), np.concatenate([w, theta])
    side = np.array([1.0 if i < low else -1.0 if i >= high else 0.0 for i in range(len(theta))])
    used = side != 0

    def cost(v):
        return 0.5 * ((v[:d] - w) ** 2).sum() + half * ((v[d:] - theta) ** 2).sum()

    def margin(v):
        return (side * (v[:d] @ x - v[d:]) - 1)[used]

    best = minimize(
        cost, v0 + 0.1, constraints={"type": "ineq", "fun": margin}, options={"ftol": 1e-15, "maxiter": 1000}
    )
    return best.x[:d], best.x[d:]


def missing_half() -> dict[str, Any]:
    """(3): 1/2 |w - w_t|² + |theta - theta_t|². One example, two grades: which programme does the update solve?"""
    w, theta, x = np.zeros(2), np.zeros(1), np.array([3.0, -4.0])
    a = 1 / (1 + x @ x)  # the printed update, all of whose sums have one term
    as_printed, with_half = nearest(w, theta, x, 1, 1, 1.0), nearest(w, theta, x, 1, 1, 0.5)
    return {
        "threshold by the printed update": -a,
        "by programme (3) as printed": float(as_printed[1][0]),
        "by (3) with 1/2": float(with_half[1][0]),
    }


def wrong_signs() -> dict[str, Any]:
    """lambda_i = 1 - w·x - theta_i - a|x|² = l_i - a|x|²: the two sides differ, as l_i = 1 + theta_i - w·x."""
    w, theta, x = np.array([0.3]), np.array([-0.4]), np.array([1.0])
    moved = float((theta - nearest(w, theta, x, 1, 1, 0.5)[1])[0])  # lambda itself: a threshold under moves by it
    score, q, a = float(w @ x), float(x @ x), moved
    return {
        "lambda, from the programme": moved,
        "1 - w·x - theta - a|x|²": float(1 - score - theta[0] - a * q),
        "l - a|x|²": float(1 + theta[0] - score - a * q),
    }


def loss_off_the_support() -> dict[str, Any]:
    """Theorem 4's proof: "l_i = 0 for all i not in S". Here a threshold has a loss and does not move."""
    w, theta, x, low, high = np.zeros(1), np.array([-0.9, 3.0]), np.array([np.sqrt(10.0)]), 2, 2
    losses_before = slacks([w @ x], theta, [low], [high])[0]
    new_w, new_theta = nearest(w, theta, x, low, high, 0.5)
    return {
        "losses before": losses_before.round(6).tolist(),
        "how far the thresholds moved": np.abs(new_theta - theta).round(6).tolist(),
        "w": float(new_w[0]),
    }


def corollary_one(sequences: int, seed: int) -> dict[str, Any]:
    """Corollary 1: its sum has no sum over i, and D |v|² does not follow from Theorem 4, which gives D² |v|².

    With exact updates it holds for the double sum: the multipliers l_i / D are feasible in the dual of the trial, so
    that the best ones gain at least sum l_i² / 2D; whether l_i is 0 off the support does not matter. Here: how near
    the double sum comes to the bound on sequences with an ideal classifier, and by how much single thresholds differ.
    """
    from podium.ordinal import PassiveAggressiveOrdinal

    rng, nearest_to, larger = np.random.default_rng(seed), 0.0, 0
    for _ in range(sequences):
        K, d, T = int(rng.integers(3, 9)), int(rng.integers(1, 5)), int(rng.integers(1, 40))
        u, b = rng.normal(size=d) * 4, np.sort(rng.normal(size=K - 1)) * 3
        X = rng.normal(size=(T, d)) * rng.choice([0.3, 1, 3])
        distance = (X @ u)[:, None] - b
        keep = (np.abs(distance) >= 1).all(axis=1)
        if not keep.any():
            continue
        X, y = X[keep], (distance[keep] >= 0).sum(axis=1)
        model = PassiveAggressiveOrdinal("pa", C=1.0, average=False, classes=list(range(K)))
        squares = np.zeros(K - 1)
        for x, grade in zip(X, y.tolist(), strict=True):
            before = (0.0, np.zeros(K - 1)) if not hasattr(model, "coef_") else (model.coef_ @ x, model.thresholds_)
            squares += slacks([before[0]], before[1], [grade], [grade])[0] ** 2
            model.learn_one(x, grade)
        bound = mistake_bound("pa", X, y, u, b, classes=list(range(K)))
        nearest_to = max(nearest_to, float(squares.sum()) / bound)
        larger += float(squares.sum()) > float(squares.max()) * 1.5
    return {"sequences": sequences, "largest double sum / bound": nearest_to, "double sum > 1.5 × any single": larger}


def last_step_of_theorem_four() -> dict[str, Any]:
    """Theorem 4's proof: the largest root of L² - 4 K1 D U L - D |v|² is printed with D for the root of D before |v|.

    The printed one is larger, so the theorem stands. With U = 0 the true one is Corollary 1: L² <= D |v|².
    """
    D, K1, length = 9.0, 2.0, 1.0
    shown: dict[str, Any] = {}
    for U in (0.0, 0.1):
        shown[f"largest root, U = {U:g}"] = float(np.roots([1.0, -4 * K1 * D * U, -D * length**2]).max())
        shown[f"as printed, U = {U:g}"] = float(2 * K1 * D * U + D * np.sqrt(4 * K1**2 * U**2 + length**2))
    return shown


def theorem_five() -> dict[str, Any]:
    """Theorem 5: sum l <= sum l* + sqrt(D T) |v|. One trial of zeros, ten grades, label 1, v with thresholds at 1.

    There l* is 0, so that it contradicts Corollary 2 as well.
    """
    K, x = 10, np.zeros(1)
    loss = float(slacks([0.0], np.zeros(K - 1), [0], [0]).sum())
    v = np.ones(K - 1)
    ours = mistake_bound("pa1", [x], [0], [0.0], v, C=1.0, classes=list(range(K)))
    return {"loss": loss, "printed bound": float(np.sqrt(1 + 0.0) * np.linalg.norm(v)), "corrected, C = 1": ours}


MISPRINTS = {
    "(3) lacks 1/2 before |theta - theta_t|²": missing_half,
    "signs in lambda_i = 1 - w·x - theta_i - a|x|²": wrong_signs,
    "Theorem 4: l_i = 0 off the support": loss_off_the_support,
    "Corollary 1: the sum over thresholds is missing": lambda: corollary_one(200, 0),
    "Theorem 4: the root in the last step": last_step_of_theorem_four,
    "Theorem 5 and Corollary 2 bound the loss of PA-I": theorem_five,
}


def main(argv: list[str] | None = None) -> dict[str, dict[str, Any]]:
    argparse.ArgumentParser(description="Show every misprint we found, with numbers.").parse_args(argv)
    shown = {title: show() for title, show in MISPRINTS.items()}
    for title, numbers in shown.items():
        print(title)
        for name, value in numbers.items():
            print(f"    {name}: {value:.6g}" if isinstance(value, float) else f"    {name}: {value}")
    return shown


if __name__ == "__main__":
    main()
