"""Which defaults should `PassiveAggressiveOrdinal` have? Held-out error over data sets, splits and settings.

    python -m papers.ordinal_defaults --data DIR      # half a minute; writes ordinal/defaults.json

For each data set and seed a fifth of the rows is held out. The regret of a setting is its error less the least error of
any setting on that set; the default should have a small regret everywhere, not the least somewhere.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from benchmarks import printed
from podium.datasets import load_graded
from podium.ordinal import PassiveAggressiveOrdinal, mae

SETS = {"abalone": "Abalone", "california": "California", "parkinsons": "Parkinsons", "mslr": "MSLR"}
VARIANTS = {"pa": "PA", "pa1": "PA-I", "pa2": "PA-II"}
STEPS = (0.001, 0.003, 0.01, 0.03, 0.1, 1.0)
OUT = Path(__file__).resolve().parent / "ordinal" / "defaults.json"


def settings():
    for average in (True, False):
        yield "pa", 1.0, average
        for variant in ("pa1", "pa2"):
            for C in STEPS:
                yield variant, C, average


def study(data, seeds: int) -> dict[str, dict[str, float]]:
    """Mean held-out error of each setting on each data set."""
    table: dict[str, dict[str, float]] = {}
    for name in SETS:
        X, y = load_graded(name, data)
        spread = X.std(axis=0)
        X = np.ascontiguousarray(((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1))[:, spread > 0])
        for variant, C, average in settings():
            errors = []
            for seed in range(seeds):
                test = np.random.default_rng(seed).random(len(y)) < 0.2
                model = PassiveAggressiveOrdinal(variant, C=C, average=average, random_state=seed)
                errors.append(mae(y[test], model.fit(X[~test], y[~test]).predict(X[test]), classes=np.unique(y)))
            table.setdefault(_words(variant, C, average), {})[name] = float(np.mean(errors))
    return table


def _words(variant: str, C: float, average: bool) -> str:
    aggressive = "" if variant == "pa" else f", C = {C:g}"
    return f"{VARIANTS[variant]}{aggressive}, {'averaged' if average else 'last weights'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with copies of the data sets")
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    table = study(options.data, options.seeds)
    least = {name: min(row[name] for row in table.values()) for name in SETS}
    printed.head("Setting", *SETS.values(), "Worst regret", "Mean")
    for key, row in table.items():
        regret = [row[name] - least[name] for name in SETS]
        row["worst_regret"], row["mean_regret"] = max(regret), float(np.mean(regret))
        printed.row(key, *(f"{row[name]:.3f}" for name in (*SETS, "worst_regret", "mean_regret")))
    rounded = {key: {name: round(value, 4) for name, value in row.items()} for key, row in table.items()}
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({"seeds": options.seeds, "mae": rounded}, indent=1) + "\n")


if __name__ == "__main__":
    main()
