"""What is wrong in print in the papers on features and on active ranking, by numbers.

    python -m papers.printed      # every slip with the numbers that show it; a second

Those of the passive-aggressive paper are in `papers.ordinal_printed`, those of the multilabel one on its page.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import numpy as np


def _entropy(chance: float) -> float:
    return -chance * np.log(chance) - (1 - chance) * np.log(1 - chance)


# ---- rank aggregation with features ---------------------------------------------------------------------------------


def constant_of_lemma_five() -> dict[str, Any]:
    """The unbiased loss ((1 - ρ)(t - y)² - ρ(t + y)²) / (1 - 2ρ) and its two squares, printed and right."""
    t, y, rho = 0.7, 1.0, 0.2
    keep = 1 - 2 * rho
    whole = ((1 - rho) * (t - y) ** 2 - rho * (t + y) ** 2) / keep
    square = (t - y / keep) ** 2 + y**2
    return {"unbiased loss": whole, "as printed": square - y**2 / keep, "with the square": square - y**2 / keep**2}


def psi_is_no_line() -> dict[str, Any]:
    """Theorems 1, 2, 5, 6: error over excess loss, of an even guess where the chance is 1/2 + a. A line would bound it.

    Saying the wrong side costs 2a more errors. The best score loses least; 0, which may be ordered either way, loses
    that much more.
    """
    shown: dict[str, Any] = {}
    for a in (0.1, 0.01, 0.001):
        excess = {
            "log": np.log(2) - _entropy(0.5 + a),
            "squared": 1 - (1 - (2 * a) ** 2),
            "hinge": 1 - (1 - 2 * a),
        }
        for loss, lost in excess.items():
            shown[f"{loss} loss, a = {a:g}"] = float(2 * a / lost)
    return shown


# ---- active ranking -------------------------------------------------------------------------------------------------


def _cost(order: Sequence[int]) -> int:
    """Pairs against the true order 0, 1, 2, …"""
    return sum(u > v for k, u in enumerate(order) for v in order[k + 1 :])


def line_twelve() -> dict[str, Any]:
    """Algorithm 2 improves π to π₁ and splits: by π, as printed, the improvement is lost, whatever is done later."""
    before, after = (7, 0, 1, 2, 3, 4, 5, 6), tuple(range(8))
    least = {}
    for name, order in (("by π", before), ("by π₁", after)):
        halves = (permutations(order[:4]), permutations(order[4:]))
        firsts, lasts = (list(each) for each in halves)
        least[f"least cost after a split {name}"] = min(_cost((*one, *two)) for one in firsts for two in lasts)
    return {"cost of π": _cost(before), "cost of π₁": _cost(after), **least}


def two_counts_of_questions() -> dict[str, Any]:
    """Theorem 3.1: ε⁻⁶ n log⁵ n; section 3.5: ε⁻⁵ n log⁶ n. Their ratio is 1 / (ε log n), on either side of 1."""
    shown = {}
    for epsilon, n in ((0.5, 1000), (0.1, 1000), (0.1, 10**6)):
        first, second = epsilon**-6 * n * np.log(n) ** 5, epsilon**-5 * n * np.log(n) ** 6
        shown[f"first / second, ε = {epsilon:g}, n = {n:,}"] = float(first / second)
    return shown


def lemma_two_six() -> dict[str, Any]:
    """(2.6) and (2.3) allow that the order of least sampled cost costs 1 + 3ε: three orders, the best costs 1."""
    epsilon = 0.5
    cost = {"best in the decomposition": 1 + epsilon, "σ*, of least sampled cost": 1 + 3 * epsilon}
    sampled = {"best in the decomposition": 1 + 2 * epsilon, "σ*, of least sampled cost": 1 + 2 * epsilon}
    off = max(abs(sampled[name] - cost[name]) for name in cost)
    return {
        "(2.6) holds: largest |sampled - cost|": off,
        "(2.3) holds: best in the decomposition": cost["best in the decomposition"],
        "cost of σ*": cost["σ*, of least sampled cost"],
        "printed limit, 1 + 2ε": 1 + 2 * epsilon,
        "pairs for ε³ by Proposition 2.5, over ε⁻⁴": epsilon**-6 / epsilon**-4,
    }


def lemma_three_nine() -> dict[str, Any]:
    """ "Except with probability 1 - O(n⁻⁴)" would be nearly always; O(n⁻⁴) is meant."""
    return {"as printed, n = 100": 1 - 100.0**-4, "right, n = 100": 100.0**-4}


SLIPS = {
    "RABF, Lemma 5: the constant": constant_of_lemma_five,
    "RABF, Theorems 1, 2, 5, 6: error over excess loss has no bound but for the hinge loss": psi_is_no_line,
    "Active, line 12 of Algorithm 2: splits by π": line_twelve,
    "Active, Theorem 3.1 against section 3.5": two_counts_of_questions,
    "Active, Lemma 2.6": lemma_two_six,
    "Active, Lemma 3.9": lemma_three_nine,
}


def main(argv: list[str] | None = None) -> dict[str, dict[str, Any]]:
    argparse.ArgumentParser(description="Show slips of two papers, with numbers.").parse_args(argv)
    shown = {title: show() for title, show in SLIPS.items()}
    for title, numbers in shown.items():
        print(title)
        for name, value in numbers.items():
            print(f"    {name}: {value:.9g}" if isinstance(value, float) else f"    {name}: {value}")
    return shown


if __name__ == "__main__":
    main()
