"""On the Learnability of Multilabel Ranking (Raman, Subedi, Tewari, NeurIPS 2023): what can be run of it.

    python -m papers.multilabel              a few minutes; writes papers/multilabel/{results.json, regret.png, pac.png}
    python -m papers.multilabel --quick      a few seconds, writes nothing
    python -m papers.multilabel --jobs 4     the same numbers from four processes

Claims, checked at the end (and on a smaller scale in tests/multilabel/test_paper.py):

- Table 1: every loss is in the family it is listed in, except reciprocal rank, which is in none;
- Algorithms 3 and 7: expected regret against the best function stays below the bound of the proof, and grows no faster
  than T^(2/3), which the bound gives for β = 1/3 (a tenth of slack in the exponent);
- Algorithm 4: mistakes beyond those of the best candidate vanish with the sample;
- the practical online learners: regret per round against the best linear ranker in hindsight falls as well,
  except for the hard votes of "threshold", which keep most of it;
- PAC: excess risk of the linear ranker falls with the sample, for a loss of each family;
- sorting by the expected target is the best ranking for the losses that have a target (excess 0), and pairwise or
  softmax scores are not.
"""

from __future__ import annotations

import argparse
import json
import math
from itertools import islice, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from scipy.optimize import minimize

from benchmarks import printed as tables
from podium.engine import Engine, Serial, engine_for
from podium.metrics import check_family, loss_family, ranking_loss
from podium.metrics.names import parse
from podium.multilabel import (
    AgnosticThresholdLearner,
    ExpertLabelRanker,
    Halving,
    LabelRanker,
    OnlineLabelRanker,
    sample_sizes,
)
from podium.multilabel.targets import targets_for

HERE = Path(__file__).parent / "multilabel"
SERIAL = Serial()
PAPER = {  # Table 1 as printed
    "sum@2": "sum@2", "prec@2": "prec@2", "ap": "sum@K", "auc": "sum@K", "rr": "prec@1", "pairwise": "sum@K",
    "dcg": "sum@K", "dcg@2": "sum@2",
}  # fmt: skip


def table_1(K: int = 4) -> list[dict[str, Any]]:
    """Each loss, the family the paper gives it, and whether brute force agrees."""
    rows = []
    for name, family in PAPER.items():
        found = check_family(name, K)[family.replace("K", str(K))]
        graded = "" if parse(name).binary else bool(check_family(name, 3, B=2)[family.replace("K", "3")])
        example = "" if found else f"{found.reason}: y = {found.relevance}, ranks {found.ranks}"
        rows.append({"loss": name, "paper": family, "holds": bool(found), "graded": graded, "why": example})
        assert bool(found) == (loss_family(name) == family)
    return rows


def expert_regret(
    loss: str, rounds: list[int], *, K: int = 3, beta: float = 1 / 3, runs: int = 6, engine: Engine = SERIAL
) -> list[dict[str, float]]:
    """Expected regret of Algorithm 3 or 7 against the best of two ranking functions on two instances, with noise."""
    out = []
    found = engine.map(_expert_run, list(product(rounds, range(runs))), loss, K, beta)
    for T in rounds:
        regrets, bounds = zip(*islice(found, runs), strict=True)
        out.append({"rounds": T, "regret": float(np.mean(regrets)), "bound": float(np.mean(bounds))})
    return out


def _expert_run(place: tuple[int, int], loss: str, K: int, beta: float) -> tuple[float, float]:
    """Regret and its bound for one number of rounds and one seed."""
    T, seed = place
    rng = np.random.default_rng(seed)
    table = np.array([[rng.permutation(K) + 1 for _ in range(2)] for _ in range(2)])
    ranker = ExpertLabelRanker(K, lambda i, j: Halving(table[:, :, i] <= j), horizon=T, loss=loss, beta=beta, seed=seed)
    xs = rng.integers(2, size=T)
    clean = (table[0, xs] <= (parse(loss).p or 1)).astype(int)
    ys = np.where(rng.random((T, 1)) < 0.75, clean, (rng.random((T, K)) < 0.4).astype(int))
    for x, y in zip(xs.tolist(), ys, strict=True):
        ranker.update(x, y)
    best = min(float(ranking_loss(loss, ys, ranks=h[xs]).sum()) for h in table)
    return sum(ranker.expected_) - best, regret_bound(ranker, T)


def regret_bound(ranker: ExpertLabelRanker, T: int) -> float:
    """M sqrt(2 T ln N), plus the rounds in which the expert that guesses right can be wrong: T / |B| log2|H| M each.

    The proof's terms with Halving as the realizable learner (log2 2 mistakes each), for the rounds drawn.
    """
    largest = math.sqrt(2 * math.log(max(ranker.experts_, 2)) / T) / ranker.tree.rate
    hedge = largest * math.sqrt(2 * T * math.log(max(ranker.experts_, 2)))
    learners = ranker.n_labels * len(ranker.cuts)
    guessed = max(int(ranker.tree.guessed_rounds.sum()), 1)
    return hedge + largest * min(T, learners * T / guessed)


def linear_stream(rng: np.random.Generator, n: int, d: int = 6, K: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Examples whose labels are relevant with logistic chances."""
    truth = np.random.default_rng(99).normal(size=(d, K))
    X = rng.normal(size=(n, d))
    return X, (rng.random((n, K)) < 1 / (1 + np.exp(-(1.5 * X @ truth - 0.8)))).astype(int)


def online_regret(mode: str, rounds: list[int], loss: str = "sum@2") -> list[dict[str, float]]:
    """Regret per round against the linear ranker fitted to the whole stream."""
    X, Y = linear_stream(np.random.default_rng(5), max(rounds))
    ranker = OnlineLabelRanker(loss, mode, random_state=0)
    for start in range(0, max(rounds), 50):
        ranker.partial_fit(X[start : start + 50], Y[start : start + 50])
    out = []
    for T in rounds:
        best = -LabelRanker(loss, C=100).fit(X[:T], Y[:T]).score(X[:T], Y[:T])
        out.append({"rounds": T, "regret": float(ranker.losses_[:T].mean() - best)})
    return out


def pac(
    loss: str, sizes: list[int], *, runs: int = 8, learner: Any = LabelRanker, engine: Engine = SERIAL
) -> list[dict[str, float]]:
    """Excess risk over the best ranking (known chances) of the linear ranker, by sample size."""
    rng = np.random.default_rng(11)
    test, truth_rng = rng.normal(size=(4000, 6)), np.random.default_rng(99)
    chances = 1 / (1 + np.exp(-(1.5 * test @ truth_rng.normal(size=(6, 6)) - 0.8)))
    ys = (rng.random(chances.shape) < chances).astype(int)
    best = float(ranking_loss(loss, ys, chances).mean())
    found = engine.map(_risk, list(product(sizes, range(runs))), loss, learner, test, ys)
    return [{"examples": n, "excess": float(np.mean([risk - best for risk in islice(found, runs)]))} for n in sizes]


def _risk(place: tuple[int, int], loss: str, learner: Any, test: np.ndarray, ys: np.ndarray) -> float:
    """Test risk of the learner after one sample size and seed."""
    n, seed = place
    X, Y = linear_stream(np.random.default_rng(1000 + seed), n)
    return float(ranking_loss(loss, ys, learner(loss).fit(X, Y).decision_function(test)).mean())


def growth(rows: list[dict[str, float]]) -> float:
    """Exponent x of regret ~ T^x between the first and the last horizon."""
    first, last = rows[0], rows[-1]
    return math.log(last["regret"] / first["regret"]) / math.log(last["rounds"] / first["rounds"])


def algorithm_4(
    sizes: list[int], *, runs: int = 6, noise: float = 0.2, engine: Engine = SERIAL
) -> list[dict[str, float]]:
    """Mistakes of Algorithm 4 about "label 0 is among the first 2", beyond those of the best of five linear rankers."""
    found = engine.map(_threshold_run, list(product(sizes, range(runs))), noise)
    return [{"examples": n, "excess": float(np.mean(list(islice(found, runs))))} for n in sizes]


def _threshold_run(place: tuple[int, int], noise: float) -> float:
    """Excess for one sample size and seed: half of the sample is relabelled, half chooses."""
    n, seed = place
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(5, 4, 4))
    candidates = [_Linear(each) for each in weights]
    X, test = rng.normal(size=(n, 4)), rng.normal(size=(4000, 4))

    def answers(x: np.ndarray) -> np.ndarray:
        scores = candidates[0](x)
        return np.asarray((scores > scores[:, [0]]).sum(axis=1) < 2)

    y = answers(X) ^ (rng.random(n) < noise)
    base = LabelRanker("sum@2", C=100.0, surrogate="univariate")
    learner = AgnosticThresholdLearner(base, candidates, 0, 2, loss="sum@2", random_state=seed).fit(X, y.astype(int))
    return float((1 - 2 * noise) * np.mean(learner.predict(test) != answers(test)))  # a flip hides a mistake


class _Linear:
    """A linear ranker, as a candidate."""

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = weights

    def __call__(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(x @ self.weights)


def theorem_sizes() -> list[dict[str, Any]]:
    """Examples that Lemma 4.6 and what follows from it ask for, for an excess loss of 0.1 with chance 0.95."""
    out = []
    for d, K, loss in ((6, 6, "sum@2"), (6, 6, "prec@2"), (100, 20, "sum@3"), (100, 20, "prec@1")):
        found = sample_sizes(d, K, loss=loss)
        out.append({"features": d, "labels": K, "loss": loss, "vc": found.vc, "examples": found.examples,
                    "algorithm 4, unlabelled": found.unlabelled, "algorithm 4, labelled": found.labelled})  # fmt: skip
    return out


def consistency(
    losses: list[str], *, K: int = 4, draws: int = 40, engine: Engine = SERIAL
) -> dict[str, dict[str, float]]:
    """Largest excess, over random distributions of y at one x, of sorting by each surrogate's best scores."""
    return dict(zip(losses, engine.map(_worst_excess, losses, K, draws), strict=True))


def _worst_excess(name: str, K: int, draws: int) -> dict[str, float]:
    """Largest excess of each surrogate for one loss."""
    rows = np.array(list(product((0, 1), repeat=K)))
    orders = np.array(list(permutations(range(1, K + 1))))
    found = targets_for(parse(name), sparse.csr_array(rows.astype(float)), 1)
    by_order = np.array([ranking_loss(name, rows, ranks=np.tile(pi, (len(rows), 1))) for pi in orders])
    worst = {"target": 0.0, "softmax": 0.0, "pairwise": 0.0}
    for seed in range(draws):
        chances = np.random.default_rng(seed).dirichlet(np.full(len(rows), 0.08))
        scores = {
            "target": (chances * found.weight) @ found.values.toarray(),
            "softmax": chances @ (rows / np.maximum(rows.sum(axis=1, keepdims=True), 1)),
            "pairwise": _pairwise_scores(rows, chances),
        }
        risk = by_order @ chances
        for kind, s in scores.items():
            mine = np.argsort(np.argsort(-s, kind="stable")) + 1
            place = int(np.flatnonzero((orders == mine).all(axis=1))[0])
            worst[kind] = max(worst[kind], float(risk[place] - risk.min()))
    return worst


def _pairwise_scores(rows: np.ndarray, chances: np.ndarray) -> np.ndarray:
    """Scores that minimise the expected mean logistic loss over pairs of a row."""
    n = rows.sum(axis=1)
    pairs = np.maximum(n * (rows.shape[1] - n), 1)
    ahead = np.einsum("r,ri,rj->ij", chances / pairs, rows, 1 - rows)

    def value(s: np.ndarray) -> tuple[float, np.ndarray]:
        gap = s[:, None] - s[None, :]
        pull = ahead / (1 + np.exp(gap))
        loss = float((ahead * np.logaddexp(0, -gap)).sum()) + 1e-9 * float(s @ s)
        return loss, pull.sum(axis=0) - pull.sum(axis=1) + 2e-9 * s

    return np.asarray(minimize(value, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"gtol": 1e-10}).x)


def falls(rows: list[dict[str, float]], key: str, per: str | None = None, to: float = 0.5) -> bool:
    """Whether the last value (per round, if asked) is less than `to` times the first."""
    values = [row[key] / (row[per] if per else 1) for row in rows]
    return values[-1] < to * values[0]


def study(quick: bool = False, engine: Engine = SERIAL) -> dict[str, Any]:
    rounds = [64, 512] if quick else [64, 256, 1024, 4096]
    online = [250, 1000, 4000] if quick else [250, 1000, 4000, 16000]
    sizes = [50, 200, 800] if quick else [50, 200, 800, 3200, 12800]
    names = ["sum@2", "prec@2", "auc", "ndcg@2"]
    modes = ("marginal", "threshold", "hedge")
    return {
        "table 1": table_1(),
        "expert regret": {loss: expert_regret(loss, rounds, engine=engine) for loss in ("sum@1", "prec@2")},
        "algorithm 4": algorithm_4(sizes[:4], runs=3 if quick else 10, engine=engine),
        "theorem sizes": theorem_sizes(),
        "online regret": dict(zip(modes, engine.map(online_regret, modes, online), strict=True)),
        "pac": {loss: pac(loss, sizes, runs=3 if quick else 8, engine=engine) for loss in ("sum@2", "prec@2")},
        "consistency": consistency(names, draws=15 if quick else 200, engine=engine),
    }


def check(found: dict[str, Any]) -> list[str]:
    """The claims that fail."""
    wrong = [row["loss"] for row in found["table 1"] if row["holds"] != (row["loss"] != "rr")]
    wrong += [
        f"{loss}: regret above the bound"
        for loss, rows in found["expert regret"].items()
        if any(row["regret"] > row["bound"] for row in rows)
    ]
    wrong += [
        f"{loss}: regret grows as T^{growth(rows):.2f}"
        for loss, rows in found["expert regret"].items()
        if growth(rows) > 2 / 3 + 0.1
    ]
    wrong += ["algorithm 4: excess"] if not falls(found["algorithm 4"], "excess") else []
    wrong += [
        f"{mode}: regret"
        for mode, rows in found["online regret"].items()
        if mode != "threshold" and not falls(rows, "regret")
    ]
    wrong += [f"{loss}: excess risk" for loss, rows in found["pac"].items() if not falls(rows, "excess")]
    for name, worst in found["consistency"].items():
        wrong += [f"{name}: target has excess {worst['target']:.3g}"] if worst["target"] > 1e-9 else []
    if not any(worst["pairwise"] > 1e-3 for worst in found["consistency"].values()):
        wrong.append("pairwise scores are never worse than the target")
    return wrong


def draw(found: dict[str, Any]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colours = ["#0072B2", "#D55E00", "#009E73"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), constrained_layout=True)
    for (loss, rows), colour, mark in zip(found["expert regret"].items(), colours, "os", strict=False):
        x = [row["rounds"] for row in rows]
        label = f"{loss}, Algorithm {'3' if loss[0] == 's' else '7'}"
        left.plot(x, [row["regret"] / row["rounds"] for row in rows], color=colour, marker=mark, label=label)
    left.plot(x, [row["bound"] / row["rounds"] for row in rows], color="0.4", ls=":", label="bound of the proof (both)")
    left.set(
        xscale="log", yscale="log", xlabel="rounds T", ylabel="expected regret per round", title="Experts, three labels"
    )
    fixed = found["expert regret"]["sum@1"]
    slope = [
        fixed[0]["regret"] / fixed[0]["rounds"] * (row["rounds"] / fixed[0]["rounds"]) ** (-1 / 3) for row in fixed
    ]
    left.plot(x, slope, color="0.7", ls="--", label="T^(2/3) in all, from the first point")
    for (mode, rows), colour, mark in zip(found["online regret"].items(), colours, "os^", strict=True):
        right.plot([r["rounds"] for r in rows], [r["regret"] for r in rows], color=colour, marker=mark, label=mode)
    right.set(xscale="log", xlabel="rounds T", ylabel="regret per round, sum@2", title="Practical learners, six labels")
    right.axhline(0, color="0.7", lw=0.8)
    for axes, rows in ((left, found["expert regret"]["sum@1"]), (right, found["online regret"]["marginal"])):
        axes.set_xticks([row["rounds"] for row in rows], [f"{row['rounds']:,}" for row in rows])
        axes.minorticks_off()
        axes.legend(frameon=False, fontsize=8)
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "regret.png", dpi=110)
    figure, axes = plt.subplots(figsize=(4.8, 3.6), constrained_layout=True)
    for (loss, rows), colour, mark in zip(found["pac"].items(), colours, "os", strict=False):
        axes.plot([r["examples"] for r in rows], [r["excess"] for r in rows], color=colour, marker=mark, label=loss)
    axes.set(
        xscale="log", yscale="log", xlabel="examples", ylabel="excess risk", title="Linear ranker, known best ranking"
    )
    sizes = [row["examples"] for row in rows]
    axes.set_xticks(sizes, [f"{n:,}" for n in sizes])
    axes.xaxis.minorticks_off()
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(HERE / "pac.png", dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share runs, learners and losses")
    given = parser.parse_args()
    quick = given.quick
    with engine_for(given.jobs) as engine:
        found = study(quick, engine)
    wrong = check(found)
    if not quick:
        HERE.mkdir(exist_ok=True)
        (HERE / "results.json").write_text(json.dumps(found | {"claims that fail": wrong}, indent=1) + "\n")
        draw(found)
    tables.head("Loss", "target of the loss", "softmax (normalised)", "pairwise logistic")
    for loss, worst in found["consistency"].items():
        tables.row(loss, *(f"{worst[kind]:.2g}" for kind in ("target", "softmax", "pairwise")))
    for part, rows in found.items():
        print(part, json.dumps(rows, indent=1))
    print("all claims hold" if not wrong else f"claims that fail: {wrong}")


if __name__ == "__main__":
    main()
