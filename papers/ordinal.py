"""Reproduce "Exact Passive-Aggressive Algorithms for Learning to Rank Using Interval Labels" (Manwani and Chandra).

    python -m papers.ordinal --data DIR            # figures 1 and 2 and the exactness study; minutes
    python -m papers.ordinal --runs 10             # faster; without --data the sets are downloaded
    python -m papers.ordinal --jobs 4              # the same numbers from four processes, which share the runs

Writes figure1.png, figure2.png, exactness.png and results.json beside itself, in `ordinal/`, and prints the verdict:
each claim of the paper with what was measured. docs/ordinal-paper.md discusses it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks import printed as tables
from papers import ordinal_printed as printed
from podium.datasets import load_graded
from podium.engine import Engine, Serial, engine_for
from podium.errors import InputError
from podium.ordinal import MedianBaseline, OrdinalPerceptron, PassiveAggressiveOrdinal, PRank
from podium.ordinal.losses import slacks

OUT = Path(__file__).resolve().parent / "ordinal"
SERIAL = Serial()
NAMES = {"abalone": "Abalone", "california": "California", "parkinsons": "Parkinsons", "mslr": "MSLR (5,000 rows)"}
SHARES = (0.0, 0.5, 0.75)
RANGES = np.array([[-1, 0], [0, 1], [-2, 0], [0, 2], [-2, 2]])
STEPS = (0.001, 0.01, 0.1, 1.0)
CHOSEN = {"pa": 1.0, "pa1": 0.01, "pa2": 0.001}  # the C drawn in the figures; plain PA has none
LABEL = {"pa": "PA", "pa1": "PA-I", "pa2": "PA-II", "prank": "PRank", "mcp": "perceptron"}
COLOUR = {"pa": "#D55E00", "pa1": "#0072B2", "pa2": "#009E73", "prank": "#CC79A7", "mcp": "#E69F00"}
GREY = "#666666"


def interval_labels(y: np.ndarray, K: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Section VI.B: a share of the labels becomes one of five ranges around the truth, clipped to [1, K]."""
    labels = np.stack([y, y], axis=1)
    chosen = rng.random(len(y)) < share
    labels[chosen] += RANGES[rng.integers(len(RANGES), size=int(chosen.sum()))]
    return np.clip(labels, 1, K)


def learner(kind: str, C: float, K: int):
    grades = np.arange(1, K + 1)
    if kind == "prank":
        return PRank(classes=grades, standardize=False)
    if kind == "mcp":
        return OrdinalPerceptron(classes=grades, standardize=False)
    return PassiveAggressiveOrdinal(kind, C=C, average=False, classes=grades)


def one_run(X, y, K, share, trials, rng, rules):
    """Errors of every trial for each rule (kind, C, printed?), against the truth and against the labels given."""
    rows = rng.integers(len(y), size=trials)
    X, y = X[rows], y[rows]
    labels = interval_labels(y, K, share, rng)
    out = {}
    for rule in rules:
        kind, C, as_printed = rule
        given = np.stack([y, y], axis=1) if kind in ("prank", "mcp") else labels  # as in the paper
        if as_printed:
            got = 1 + printed.run(X, labels[:, 0] - 1, labels[:, 1] - 1, K, kind, C)
        else:
            got = learner(kind, C, K).progressive(X, given)
        inside = np.maximum(0, np.maximum(labels[:, 0] - got, got - labels[:, 1]))
        out[rule] = np.abs(got - y), inside
    return out


def numbered_run(place, X, y, K, trials, seed, exact, old, printed_runs):
    """The run of one share of ranges and number; the number alone seeds it, and the first few run the printed rules."""
    share, run = place
    rng = np.random.default_rng([seed, run])
    return one_run(X, y, K, share, trials, rng, exact + (old if run < printed_runs else []))


def study(name: str, data, runs: int, printed_runs: int, trials: int, seed: int, engine: Engine = SERIAL) -> dict:
    """Mean error curves over the runs of one data set, keyed by share of ranges and rule."""
    X, y = load_graded(name, data)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    K = int(y.max())
    median = MedianBaseline().fit(X, y)
    result = {"rows": len(y), "features": X.shape[1], "median": float(np.mean(np.abs(y - median.grade_))), "shares": {}}
    exact = [("prank", 0.0, False), ("mcp", 0.0, False), ("pa", 1.0, False)]
    exact += [(kind, C, False) for kind in ("pa1", "pa2") for C in STEPS]
    old = [(kind, CHOSEN[kind], True) for kind in ("pa", "pa1", "pa2")]
    places = list(itertools.product(SHARES, range(runs)))
    made = engine.map(numbered_run, places, X, y, K, trials, seed, exact, old, printed_runs)
    for share in SHARES:
        total: dict = {}
        for errors in itertools.islice(made, runs):
            for rule, curves in errors.items():
                n = printed_runs if rule[2] else runs
                add = [np.cumsum(each) / np.arange(1, trials + 1) / n for each in curves]
                total[rule] = [a + b for a, b in zip(total[rule], add, strict=True)] if rule in total else add
        result["shares"][share] = total
    return result


def exactness(trials: int, seed: int) -> dict:
    """How often the printed update is not the programme's solution, by |x|², and by how much its objective is worse."""
    rng = np.random.default_rng(seed)
    edges = 10.0 ** np.arange(-3, 3)
    made = {kind: np.zeros((len(edges) - 1, 3)) for kind in ("pa", "pa1", "pa2")}  # with loss, differs, no end
    worst = dict.fromkeys(made, 1.0)
    for _ in range(trials):
        K, d, C = int(rng.integers(2, 21)), 3, 10 ** rng.uniform(-2, 1.5)
        q = 10 ** rng.uniform(-3, 2)
        x = rng.normal(size=d)
        x *= np.sqrt(q) / np.linalg.norm(x)
        w, theta = (
            rng.normal(size=d) / max(1, np.sqrt(q)),
            np.sort(rng.normal(scale=rng.choice([0.5, 1, 3]), size=K - 1)),
        )
        low = int(rng.integers(K))
        high = min(K - 1, low + int(rng.integers(3)))
        if not slacks([w @ x], theta, [low], [high]).any():
            continue
        cell = int(np.searchsorted(edges, q)) - 1
        for kind in made:
            best_w, best_theta = exact_step(w, theta, x, low, high, kind, C)
            old_w, old_theta, ended = printed.step(w, theta, x, low, high, kind, C)
            apart = max(np.abs(best_w - old_w).max(), np.abs(best_theta - old_theta).max())
            made[kind][cell] += [1, apart > 1e-6, not ended]
            if ended:
                ratio = objective(w, theta, old_w, old_theta, x, low, high, kind, C)
                worst[kind] = max(worst[kind], ratio / objective(w, theta, best_w, best_theta, x, low, high, kind, C))
    return {"edges": edges.tolist(), "counts": {k: v.tolist() for k, v in made.items()}, "worst": worst}


def exact_step(w, theta, x, low, high, kind, C):
    from podium.kernels.ordinal import passes as kernel

    state = np.concatenate([w, theta])
    code = {"pa": 0, "pa1": 1, "pa2": 2}[kind]
    kernel.learn_one(x, low, high, C if code else np.inf, state, False, code, 0)
    return state[: len(w)], state[len(w) :]


def objective(w, theta, new_w, new_theta, x, low, high, kind, C) -> float:
    """What the programme minimises. PA has hard constraints; what is left of them is charged 1,000 each."""
    left = slacks([new_w @ x], new_theta, [low], [high])[0]
    charge = {"pa": 1e3 * left.sum(), "pa1": C * left.sum(), "pa2": C * (left**2).sum()}[kind]
    return float(((new_w - w) ** 2).sum() / 2 + ((new_theta - theta) ** 2).sum() / 2 + charge)


def draw_figure(results: dict, trials: int, against: int, shares, path: Path) -> None:
    figure = Figure(figsize=(3.4 * len(shares), 2.5 * len(results)), layout="constrained")
    axes = figure.subplots(len(results), len(shares), squeeze=False, sharex=True)
    at = np.unique(np.geomspace(20, trials, 120).astype(int)) - 1
    for row, (name, result) in zip(axes, results.items(), strict=True):
        for ax, share in zip(row, shares, strict=True):
            curves = result["shares"][share]
            for kind in ("prank", "mcp", "pa", "pa1", "pa2"):
                if against and kind in ("prank", "mcp"):
                    continue
                C = CHOSEN.get(kind, 0.0)
                shown = LABEL[kind] + (f" C={C:g}" if kind in ("pa1", "pa2") else "")
                ax.plot(at + 1, curves[kind, C, False][against][at], color=COLOUR[kind], label=shown, linewidth=1.6)
            if not against:
                ax.axhline(result["median"], color=GREY, linestyle=":", label="constant median")
            ax.set_title(f"{NAMES[name]}, {share:.0%} ranges" if share else f"{NAMES[name]}, exact labels", fontsize=9)
            ax.grid(alpha=0.3)
            ax.set_ylim(bottom=0, top=1.15 * max(line.get_ydata()[len(at) // 3 :].max() for line in ax.get_lines()[:5]))
        row[0].set_ylabel("mean absolute error", fontsize=8)
    for ax in axes[-1]:
        ax.set_xlabel("trial", fontsize=8)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6, frameon=False, fontsize=8)
    figure.savefig(path, dpi=70)


def draw_exactness(found: dict, path: Path) -> None:
    figure = Figure(figsize=(6.5, 3.6), layout="constrained")
    ax = figure.subplots()
    edges = np.array(found["edges"])
    place = np.arange(len(edges) - 1)
    for k, (kind, hatch) in enumerate((("pa", ""), ("pa1", ""), ("pa2", ""))):
        counts = np.array(found["counts"][kind])
        share = counts[:, 1] / np.maximum(counts[:, 0], 1)
        ax.bar(place + 0.27 * (k - 1), share, 0.25, color=COLOUR[kind], hatch=hatch, label=f"printed {LABEL[kind]}")
        if kind == "pa1":
            ends = counts[:, 2] / np.maximum(counts[:, 0], 1)
            ax.plot(place, ends, "k_", markersize=14, markeredgewidth=2, label="PA-I: of these without end")
    labels = [f"{low:g}-{high:g}" for low, high in itertools.pairwise(edges)]
    ax.set_xticks(place, labels)
    ax.set(xlabel="squared length of the example, |x|²", ylabel="share of trials with loss", ylim=(0, 1))
    ax.set_title("Trials in which the printed update is not the solution of its programme", fontsize=10)
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    ax.grid(axis="y", alpha=0.3)
    figure.savefig(path, dpi=90)


def summary(results: dict, found: dict, trials: int, runs: int) -> dict:
    """Final errors as a table, and the paper's claims with what was measured."""
    final = {}
    for name, result in results.items():
        final[name] = {"rows": result["rows"], "features": result["features"], "median": round(result["median"], 4)}
        for share, curves in result["shares"].items():
            for (kind, C, old), (truth, given) in curves.items():
                key = f"{share:g}|{'printed ' if old else ''}{LABEL[kind]}" + (
                    f" C={C:g}" if kind in ("pa1", "pa2") else ""
                )
                final[name][key] = [round(float(truth[-1]), 4), round(float(given[-1]), 4)]
    return {"trials": trials, "runs": runs, "final": final, "exactness": found, "claims": claims(final)}


def show(told: dict, printed_runs: int) -> None:
    """Print the last errors with exact labels as a table."""
    tables.head("", *(NAMES[name] for name in told["final"]))
    tables.row("constant median", *(f"{found['median']:.3f}" for found in told["final"].values()))
    for way in ("perceptron", "PRank", "PA", "PA-I C=0.01", "PA-II C=0.001",
                "printed PA", "printed PA-I C=0.01", "printed PA-II C=0.001"):  # fmt: skip
        title = way.replace(" C=", ", C = ") + (f" ({printed_runs} runs)" if way.startswith("printed") else "")
        tables.row(title, *(f"{found[f'0|{way}'][0]:.3f}" for found in told["final"].values()))


def claims(final: dict) -> list[dict]:
    """Each claim of section VI.C and D, and on which sets it held."""
    out = []

    def ask(text, names, holds):
        names = [name for name in names if name in final]
        out.append({"claim": text, "holds": {name: bool(holds(final[name])) for name in names}})

    everywhere = list(NAMES)
    small = ("PA", "PA-I C=0.01", "PA-II C=0.001")
    for share, what in ((0.0, "exact labels"), (0.5, "50 % ranges"), (0.75, "75 % ranges")):
        for key in small:
            ask(
                f"{key}, {what}: less error than PRank and the perceptron, which see exact labels",
                everywhere,
                lambda f, key=key, share=share: (
                    f[f"{share:g}|{key}"][0] < min(f[f"{share:g}|PRank"][0], f[f"{share:g}|perceptron"][0])
                ),
            )
    ask(
        "counted against the ranges given, the error falls as their share grows (PA-I C=0.01)",
        everywhere,
        lambda f: f["0.75|PA-I C=0.01"][1] < f["0.5|PA-I C=0.01"][1],
    )
    return out


def main(arguments: list[str] | None = None) -> dict:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with copies of the data sets; else they are downloaded")
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--printed-runs", type=int, default=3, help="runs of the slow printed algorithms")
    parser.add_argument("--trials", type=int, default=7000)
    parser.add_argument("--sets", nargs="*", default=list(NAMES), choices=list(NAMES))
    parser.add_argument("--exact-trials", type=int, default=5000)
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the runs")
    options = parser.parse_args(arguments)
    results = {}
    printed_runs = min(options.runs, options.printed_runs)
    with engine_for(options.jobs) as engine:
        for name in options.sets:
            try:
                results[name] = study(
                    name, options.data, options.runs, printed_runs, options.trials, options.seed, engine
                )
            except InputError as problem:
                print(f"{name} left out: {problem}", file=sys.stderr)
    with np.errstate(over="ignore", invalid="ignore"):  # what the printed procedures run into
        found = exactness(options.exact_trials, options.seed)
    options.out.mkdir(parents=True, exist_ok=True)
    if results:
        draw_figure(results, options.trials, 0, SHARES, options.out / "figure1.png")
        draw_figure(results, options.trials, 1, SHARES[1:], options.out / "figure2.png")
    draw_exactness(found, options.out / "exactness.png")
    told = summary(results, found, options.trials, options.runs)
    (options.out / "results.json").write_text(json.dumps(told, indent=1) + "\n")
    if results:
        show(told, printed_runs)
    for kind, counts in found["counts"].items():
        trials, differ, endless = np.array(counts).sum(axis=0).astype(int)[:3].tolist()
        without_end = f", without an end in {endless}" if kind == "pa1" else ""
        print(f"printed {LABEL[kind]}: not the solution in {differ} of {trials} trials with loss{without_end}")
    for claim in told["claims"]:
        if claim["holds"]:
            held = ", ".join(f"{n} {'yes' if ok else 'NO'}" for n, ok in claim["holds"].items())
            print(f"{claim['claim']}: {held}")
    return told


if __name__ == "__main__":
    main()
