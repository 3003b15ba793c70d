"""Rank Aggregation and Prediction with Item Features (AISTATS 2017): do features make few votes enough?

    python -m papers.rabf                     all of it, about two minutes; writes PNG and JSON to papers/rabf/
    python -m papers.rabf --quick             smaller sizes, a look
    python -m papers.rabf --jobs 4            the same numbers from four processes
    python -m papers.rabf --items items.csv --votes votes.csv     the same question for your own data
    python -m papers.rabf --items forbes.csv --truth marketvalue  Figure 4a, by a reader who has the Forbes list
    python -m papers.rabf --items teams.csv --votes games.csv --truth wins      Figure 4b, by one who has the NBA games

The paper's main text and its Forbes and NBA data are not at hand. Two stand-ins take their place in Figure 4: 442
patients with ten measurements and the progress of their diabetes, as scikit-learn ships them, compared by the
difference in progress; and a made-up league of 30 teams with eight season averages and noisy game margins. Its
synthetic procedure is rebuilt from Appendices B to E: features are normal, true scores are linear in them, then the
features of some items are spoilt (noise added, or rows shuffled) and votes are drawn at random, as signs or as real-
valued differences, some of them flipped.

Claims, checked at the end and, smaller, in tests/papers/test_rabf.py:

1. Figure 2: with C·log n spoilt items, ‖r‖² grows like log n; with m = 50·log n votes the Kendall distance of RABF-LOG
   and RABF-SQ does not grow with n, that of MLE and LS does, whether no votes are flipped, 10 % or 20 %.
2. Figure 3: RABF stays at least as good as votes alone and as features alone, whatever the noise in features or votes.
3. Theorem 6, for a strongly convex loss: online RABF-SQ on real-valued votes falls at least like 1/√T when features
   are perfect, and stays higher the larger ‖r‖² is. Its last model comes to the batch optimum like 1/T.
4. Figure 4, on stand-ins: RABF-SQ on real-valued votes is as good as votes alone and as features alone at any number of
   votes, to three pairs in a hundred, and better than votes alone while there is one vote an item, or half of one.
5. Theorem 3: both kinds of corruption of C'·log n rows leave ‖r‖² = O(log n).
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import printed as tables
from podium.data.comparisons import Comparisons
from podium.engine import Engine, Serial, engine_for
from podium.errors import PodiumWarning
from podium.metrics import kendall_distance
from podium.pairwise.bradley_terry import BradleyTerry
from podium.pairwise.least_squares import LeastSquares
from podium.pairwise.online import OnlineRABF
from podium.pairwise.rabf import RABF

HERE = Path(__file__).parent / "rabf"
SERIAL = Serial()
FEATURES = 10
PENALTY = {"feature_penalty": 0.1, "residual_penalty": 1.0}
NAMES = {"rabf_log": "RABF-LOG", "rabf_sq": "RABF-SQ", "mle": "MLE", "ls": "LS", "features": "features alone"}


# ---- data -----------------------------------------------------------------------------------------------------


def items(n: int, spoilt: int, rng: np.random.Generator, kind: str = "shuffle") -> tuple[np.ndarray, np.ndarray]:
    """Features, of which `spoilt` rows are no longer those the scores came from; and the scores."""
    clean = rng.normal(size=(n, FEATURES))
    truth = clean @ rng.normal(size=FEATURES)
    truth /= truth.std()
    seen = clean.copy()
    rows = rng.permutation(n)[:spoilt]
    if kind == "shuffle":
        seen[rows] = clean[rng.integers(0, n, spoilt)]
    else:
        seen[rows] += rng.uniform(-2.0, 2.0, (spoilt, FEATURES))
    return seen, truth


def votes(truth: np.ndarray, m: int, flipped: float, rng: np.random.Generator, real: bool = False) -> Comparisons:
    """Random pairs, the better item winning except in a share `flipped`; with `real`, by the true difference."""
    n = len(truth)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = (truth[left] > truth[right]) ^ (rng.random(m) < flipped)
    margin = np.abs(truth[left] - truth[right]) if real else None
    winner, loser = np.where(won, left, right), np.where(won, right, left)
    return Comparisons.from_arrays(winner, loser, margin=margin, items=range(n))


def distance(scores: np.ndarray, truth: np.ndarray) -> float:
    """D_kτ, the share of pairs in the wrong order; a tie is half wrong."""
    return kendall_distance(scores, truth) / (len(truth) * (len(truth) - 1) / 2)


def unexplained(seen: np.ndarray, truth: np.ndarray) -> float:
    """‖r‖²: the squared distance of the true scores from what features can say."""
    weights = np.linalg.lstsq(seen, truth, rcond=None)[0]
    return float(((truth - seen @ weights) ** 2).sum())


def fit(method: str, data: Comparisons, seen: np.ndarray, auto: bool = False) -> np.ndarray:
    """Scores of all items by one of the methods; with `auto` every penalty is chosen from the votes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # with 50·log n votes most items are never compared
        loss = "logistic" if method in ("rabf_log", "mle") else "squared"
        if method in ("mle", "ls") and auto:
            return RABF(loss=loss).fit(data).ranking_.scores
        if method == "mle":
            return BradleyTerry(l2=PENALTY["residual_penalty"]).fit(data).ranking_.scores
        if method == "ls":
            return LeastSquares(l2=PENALTY["residual_penalty"]).fit(data).ranking_.scores
        penalty: dict[str, Any] = {} if auto else dict(PENALTY)
        if method == "features":
            penalty["residual_penalty"] = 1e6
        return RABF(loss=loss, standardize=False, **penalty).fit(data, seen).ranking_.scores


# ---- studies --------------------------------------------------------------------------------------------------


# All data of a study come from one Generator, so they are drawn here, one after the other; only fits go to the engine.

Draw = tuple[np.ndarray, np.ndarray, Comparisons, tuple[str, ...]]


def measured(draw: Draw, auto: bool) -> tuple[float, dict[str, float]]:
    """What features miss in one draw of items and votes, and the distance each of its methods is left with."""
    seen, truth, data, methods = draw
    return unexplained(seen, truth), {method: distance(fit(method, data, seen, auto), truth) for method in methods}


def sublinear(sizes: list[int], repeats: int, seed: int = 0, engine: Engine = SERIAL) -> dict[str, Any]:
    """Appendix D, Figure 2."""
    methods, shares = ("rabf_log", "rabf_sq", "mle", "ls"), (0.0, 0.1, 0.2)

    def draws() -> Iterator[Draw]:
        rng = np.random.default_rng(seed)
        for flipped in shares:
            for n in sizes:
                for _ in range(repeats):
                    seen, truth = items(n, round(50 * np.log(n)), rng)
                    yield seen, truth, votes(truth, round(50 * np.log(n)), flipped, rng), methods

    made: dict[str, Any] = {"sizes": sizes, "norm": [], "distance": {}}
    found = engine.map(measured, draws(), False)
    for flipped in shares:
        table: dict[str, list[float]] = {method: [] for method in methods}
        for _ in sizes:
            norms, distances = zip(*islice(found, repeats), strict=True)
            for method in methods:
                table[method].append(float(np.mean([each[method] for each in distances])))
            if flipped == 0.0:
                made["norm"].append(float(np.mean(norms)))
        made["distance"][f"{flipped:g}"] = table
    return made


def robustness(
    n: int,
    m: int,
    repeats: int,
    seed: int = 1,
    levels: dict[str, list[float]] | None = None,
    engine: Engine = SERIAL,
) -> dict[str, Any]:
    """Figure 3's protocol: noise in features, noise in votes; signs and real values. Penalties come from the votes."""
    levels = levels or {"features": [0.0, 0.1, 0.2, 0.4, 0.6, 0.8], "votes": [0.0, 0.1, 0.2, 0.3, 0.4]}
    methods = {False: ("rabf_log", "rabf_sq", "mle", "ls", "features"), True: ("rabf_sq", "ls", "features")}

    def draws() -> Iterator[Draw]:
        rng = np.random.default_rng(seed)
        for what, shares in levels.items():
            for real in (False, True):
                for share in shares:
                    spoilt, flipped = (share, 0.1) if what == "features" else (0.1, share)
                    for _ in range(repeats):
                        seen, truth = items(n, round(spoilt * n), rng)
                        yield seen, truth, votes(truth, m, flipped, rng, real), methods[real]

    made: dict[str, Any] = {"levels": levels, "distance": {}}
    found = engine.map(measured, draws(), True)
    for what, shares in levels.items():
        for real in (False, True):
            table: dict[str, list[float]] = {method: [] for method in methods[real]}
            for _ in shares:
                distances = [each for _, each in islice(found, repeats)]
                for method in methods[real]:
                    table[method].append(float(np.mean([each[method] for each in distances])))
            made["distance"][f"{what}, {'real' if real else 'sign'}"] = table
    return made


def online(n: int, most: int, repeats: int, seed: int = 2, engine: Engine = SERIAL) -> dict[str, Any]:
    """Theorem 6: distance after T votes, for several sizes of what features miss."""
    times = [int(t) for t in np.unique(np.geomspace(30, most, 12).astype(int))]
    kinds = (0, n // 20, n // 4)

    def draws() -> Iterator[tuple[np.ndarray, np.ndarray, list[Comparisons]]]:
        rng = np.random.default_rng(seed)
        for spoilt in kinds:
            for _ in range(repeats):
                seen, truth = items(n, spoilt, rng)
                yield seen, truth, [votes(truth, int(t), 0.0, rng, real=True) for t in np.diff(times, prepend=0)]

    made: dict[str, Any] = {"times": times, "curves": []}
    found = engine.map(learned, draws())
    for _ in kinds:
        norms, table = zip(*islice(found, repeats), strict=True)
        made["curves"].append({"norm": float(np.mean(norms)), "distance": np.array(table).mean(axis=0).tolist()})
    return made


def learned(draw: tuple[np.ndarray, np.ndarray, list[Comparisons]]) -> tuple[float, list[float]]:
    """What features miss in one draw, and the distance after each batch of its votes."""
    seen, truth, batches = draw
    model = OnlineRABF(
        loss="squared", feature_penalty=1e-4, residual_penalty=1e-3, schedule="sqrt", step=0.5, average=False
    )
    distances = [distance(model.partial_fit(batch, seen).ranking_.scores, truth) for batch in batches]
    return unexplained(seen, truth), distances


def rate(votes_in_all: int, most: int, repeats: int, seed: int = 4) -> dict[str, Any]:
    """Theorem 6's step, online-to-batch: how far the loss, penalised, is above its least value after T votes.

    Votes are drawn from a fixed set, so that the least value is known: RABF-SQ at m/2 times the penalties. The squared
    loss is strongly convex with them, and steps of 1/(λt) then promise 1/T.
    """
    penalty, schedules = 0.1, ("strong", "sqrt")
    times = [int(t) for t in np.geomspace(1000, most, 7)]
    table: dict[str, list[list[float]]] = {schedule: [] for schedule in schedules}
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        seen, truth = items(60, 6, rng)
        data = votes(truth, votes_in_all, 0.1, rng, real=True)
        whole = 0.5 * penalty * votes_in_all
        batch = RABF(loss="squared", feature_penalty=whole, residual_penalty=whole, standardize=False).fit(data, seen)
        draws = [rng.integers(0, votes_in_all, int(t)) for t in np.diff(times, prepend=0)]
        for schedule in schedules:
            model = OnlineRABF(
                loss="squared",
                feature_penalty=penalty,
                residual_penalty=penalty,
                schedule=schedule,
                average=False,
                standardize=False,
            )
            gaps = []
            for drawn in draws:
                model.partial_fit(data.take(drawn), seen)
                gaps.append(penalised(model, data, seen, penalty) - penalised(batch, data, seen, penalty))
            table[schedule].append(gaps)
    return {"times": times} | {schedule: np.mean(gaps, axis=0).tolist() for schedule, gaps in table.items()}


def penalised(model: RABF | OnlineRABF, data: Comparisons, seen: np.ndarray, penalty: float) -> float:
    """The squared loss a vote, with half the penalty of rule (19)."""
    scores = seen @ model.coef_ + model.residuals_
    off = scores[data.left] - scores[data.right] - data.margin
    return float(np.mean(off**2) + 0.5 * penalty * (model.coef_ @ model.coef_ + model.residuals_ @ model.residuals_))


Table = tuple[np.ndarray, np.ndarray, Comparisons | None]


def stand_ins(seed: int = 5) -> dict[str, Table]:
    """Features, true scores and, where there are games, the votes to draw from."""
    from sklearn.datasets import load_diabetes

    patients = load_diabetes()
    rng = np.random.default_rng(seed)
    strength = rng.normal(size=30)
    averages = 0.6 * strength[:, None] * rng.uniform(-1.0, 1.0, 8) + 0.5 * rng.normal(size=(30, 8))
    left = rng.integers(0, 30, 1230)  # a season
    right = (left + rng.integers(1, 30, 1230)) % 30
    by = strength[left] - strength[right] + 1.5 * rng.normal(size=1230)
    winner, loser = np.where(by > 0, left, right), np.where(by > 0, right, left)
    games = Comparisons.from_arrays(winner, loser, margin=np.abs(by), items=range(30))
    return {
        "442 patients (for Forbes)": (standard(patients.data), standard(patients.target[:, None])[:, 0], None),
        "a league of 30 teams (for NBA)": (standard(averages), strength, games),
    }


def standard(table: np.ndarray) -> np.ndarray:
    """Columns with mean 0 and standard deviation 1; a constant one is 0."""
    size = table.std(axis=0)
    return (table - table.mean(axis=0)) / np.where(size > 0, size, 1.0)


def figure4(tables: dict[str, Table], repeats: int, seed: int = 6, engine: Engine = SERIAL) -> dict[str, Any]:
    """Figure 4: distance to the true order against the number of real-valued votes. Penalties come from the votes."""
    methods, shares = ("rabf_sq", "ls", "features"), (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)

    def draws() -> Iterator[Draw]:
        rng = np.random.default_rng(seed)
        for seen, truth, games in tables.values():
            for share in shares:
                size = round(share * len(truth))
                for _ in range(repeats):
                    if games is None:
                        yield seen, truth, votes(truth, size, 0.0, rng, real=True), methods
                    else:
                        rows = rng.choice(len(games.left), min(size, len(games.left)), replace=False)
                        yield seen, truth, games.take(rows), methods

    made: dict[str, Any] = {}
    found = engine.map(measured, draws(), True)
    for name, (_, truth, _games) in tables.items():
        table: dict[str, list[float]] = {method: [] for method in methods}
        for _ in shares:
            distances = [each for _, each in islice(found, repeats)]
            for method in methods:
                table[method].append(float(np.mean([each[method] for each in distances])))
        made[name] = {"votes": [round(share * len(truth)) for share in shares], "distance": table}
    return made


def of_files(items_file: str, truth: str, votes_file: str | None) -> dict[str, Table]:
    """A table of one's own: items with features and a column that says how good they are; and games, if there are."""
    from podium.data.features import read_features
    from podium.data.files import read_comparisons, read_table

    table = read_table(items_file)
    if truth not in table.columns:
        raise SystemExit(f"{items_file}: no column {truth!r} (given as --truth); found {', '.join(table.columns)}")
    games = None if votes_file is None else read_comparisons(votes_file, keep="rows")
    texts = [name for name in table.columns if table[name].dtype.is_numeric() is False]
    names = table[texts[0]].to_list() if texts else list(range(len(table)))
    labels = names if games is None else list(games.items)
    _, matrix, spec = read_features(table, labels, id=texts[0] if texts else None, one_hot=True, missing="mean")
    kept = [k for k, name in enumerate(spec.names) if name != truth]
    scores = matrix[: len(labels), list(spec.names).index(truth)]
    seen = matrix[: len(labels), kept]
    return {Path(items_file).stem: (standard(seen), standard(scores[:, None])[:, 0], games)}


def corruption(sizes: list[int], repeats: int, seed: int = 3) -> dict[str, Any]:
    """Theorem 3: ‖r‖² over log n for both kinds of corruption of 10·log n rows."""
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {"sizes": sizes}
    for kind in ("noise", "shuffle"):
        made[kind] = [
            float(np.mean([unexplained(*items(n, round(10 * np.log(n)), rng, kind)) for _ in range(repeats)]))
            / np.log(n)
            for n in sizes
        ]
    return made


# ---- claims ---------------------------------------------------------------------------------------------------


def growth(sizes: list[int], values: list[float]) -> float:
    """Slope of the distance against log n: what a tenfold n adds, over log 10."""
    return float(np.polyfit(np.log(sizes), values, 1)[0])


def power(sizes: list[int], values: list[float]) -> float:
    """Exponent with which values grow with n: 1 for n, ½ for √n, about 0.13 for log n at these sizes."""
    return float(np.polyfit(np.log(sizes), np.log(np.maximum(values, 1e-4)), 1)[0])


def claims(found: dict[str, Any]) -> dict[str, bool]:
    """Each claim, and whether the numbers bear it out."""
    verdict: dict[str, bool] = {}
    if "sublinear" in found:
        s = found["sublinear"]
        for flipped, table in s["distance"].items():
            for method in ("rabf_log", "rabf_sq"):
                slope = growth(s["sizes"], table[method])
                verdict[f"{NAMES[method]} does not grow with n, {flipped} flipped"] = (
                    slope < 0.01 and table[method][-1] < 0.3
                )
            for method in ("mle", "ls"):
                verdict[f"{NAMES[method]} grows with n, {flipped} flipped"] = growth(s["sizes"], table[method]) > 0.015
        verdict["what features miss grows like log n"] = power(s["sizes"], s["norm"]) < 0.35
    if "robustness" in found:
        for what, table in found["robustness"]["distance"].items():
            best = "rabf_sq" if "real" in what else "rabf_log"
            alone = np.minimum(table["ls" if "real" in what else "mle"], table["features"])
            verdict[f"RABF is no worse than votes alone or features alone, {what}"] = bool(
                (np.array(table[best]) <= alone + 0.02).all()
            )
    if "online" in found:
        o = found["online"]
        last = o["curves"][0]["distance"]
        verdict["online RABF falls at least like T^-0.5 with perfect features"] = power(o["times"], last) < -0.5
        means = [float(np.mean(curve["distance"])) for curve in o["curves"]]
        verdict["the more features miss, the more votes are needed"] = means[0] < means[1] < means[2]
    if "rate" in found:
        falls = power(found["rate"]["times"], found["rate"]["strong"])
        verdict["online RABF-SQ comes to the batch optimum like 1/T"] = -1.2 < falls < -0.85
    for name, study in found.get("figure4", {}).items():
        table = {method: np.array(values) for method, values in study["distance"].items()}
        alone = np.minimum(table["ls"], table["features"])
        verdict[f"Figure 4: RABF-SQ is no worse than votes or features alone, {name}"] = bool(
            (table["rabf_sq"] <= alone + 0.03).all()
        )
        verdict[f"Figure 4: RABF-SQ is better than LS with few votes, {name}"] = bool(
            (table["rabf_sq"][:2] < table["ls"][:2] - 0.02).all()
        )
    if "corruption" in found:
        for kind in ("noise", "shuffle"):
            verdict[f"‖r‖² is O(log n), {kind}"] = power(found["corruption"]["sizes"], found["corruption"][kind]) < 0.2
    return verdict


# ---- pictures -------------------------------------------------------------------------------------------------

STYLE = {
    "rabf_log": ("o-", "#0072b2"), "rabf_sq": ("s-", "#56b4e9"), "mle": ("^--", "#d55e00"), "ls": ("v--", "#e69f00"),
    "features": ("D:", "#767676"),
}  # fmt: skip


def draw(found: dict[str, Any], folder: Path) -> None:
    """One picture a study."""
    pictures = (
        ("sublinear", _sublinear), ("robustness", _robustness), ("figure4", _figure4), ("theorems", _theorems)
    )  # fmt: skip
    for name, picture in pictures:
        if name in found or (name == "theorems" and "online" in found):
            figure = picture(found)
            figure.savefig(folder / f"{name}.png", dpi=110)


def _panels(count: int, width: float, height: float) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, count, squeeze=False)[0]
    for each in axes:
        each.spines[["top", "right"]].set_visible(False)
        each.tick_params(labelsize=8)
    return figure, axes


def _lines(axes: Any, x: list[float], table: dict[str, list[float]]) -> None:
    for method, values in table.items():
        style, color = STYLE[method]
        axes.plot(x, values, style, color=color, label=NAMES[method], markersize=4.5)
    axes.set_ylim(0.0, 0.55)


def _sublinear(found: dict[str, Any]) -> Any:
    s = found["sublinear"]
    figure, axes = _panels(4, 11.0, 3.1)
    axes[0].plot(s["sizes"], s["norm"], "o-", color="#1a1a1a", markersize=4.5)
    axes[0].set_ylabel("what features miss, ‖r‖²")
    axes[0].set_ylim(0.0, 1.2 * max(s["norm"]))
    axes[0].set_title("C log n items spoilt", fontsize=9)
    for each, (flipped, table) in zip(axes[1:], s["distance"].items(), strict=True):
        _lines(each, s["sizes"], table)
        each.set_title(f"{100 * float(flipped):g} % of votes flipped", fontsize=9)
    axes[1].set_ylabel("share of pairs in the wrong order")
    axes[1].legend(frameon=False, fontsize=8, loc="lower left")
    for each in axes:
        each.set_xscale("log")
        each.set_xticks([500, 2000, 10_000], ["500", "2,000", "10,000"])
        each.minorticks_off()
        each.set_xlabel("items; 50·log n votes", fontsize=9)
    return figure


def _robustness(found: dict[str, Any]) -> Any:
    r = found["robustness"]
    figure, axes = _panels(4, 11.0, 3.1)
    for each, (what, table) in zip(axes, r["distance"].items(), strict=True):
        kind = what.split(",")[0]
        _lines(each, r["levels"][kind], table)
        each.set_title(what.replace("sign", "signs").replace("real", "real values"), fontsize=9)
        each.set_xlabel(
            "share of items with wrong features" if kind == "features" else "share of votes flipped", fontsize=9
        )
    axes[0].set_ylabel("share of pairs in the wrong order")
    axes[0].legend(frameon=False, fontsize=7.5, loc="upper left", ncols=2)
    return figure


def _figure4(found: dict[str, Any]) -> Any:
    studies = found["figure4"]
    figure, axes = _panels(len(studies), 4.2 * len(studies), 3.3)
    for each, (name, study) in zip(axes, studies.items(), strict=True):
        _lines(each, study["votes"], study["distance"])
        each.set_xscale("log")
        each.set_title(name, fontsize=9)
        each.set_xlabel("real-valued votes", fontsize=9)
    axes[0].set_ylabel("share of pairs in the wrong order")
    axes[0].legend(frameon=False, fontsize=8)
    return figure


def _theorems(found: dict[str, Any]) -> Any:
    o, c = found["online"], found["corruption"]
    figure, axes = _panels(2, 8.0, 3.3)
    for curve, (style, color) in zip(o["curves"], (STYLE["rabf_log"], STYLE["ls"], STYLE["mle"]), strict=True):
        axes[0].plot(
            o["times"], curve["distance"], style, color=color, label=f"‖r‖² = {curve['norm']:.0f}", markersize=4
        )
    start = o["curves"][0]["distance"][0]
    guide = start * np.sqrt(o["times"][0] / np.array(o["times"]))
    axes[0].plot(o["times"], guide, color="#1a1a1a", linewidth=0.8, label="1/√T")
    axes[0].set_xscale("log")
    axes[0].set_yscale("log")
    axes[0].set_yticks([0.001, 0.01, 0.1, 0.4], ["0.001", "0.01", "0.1", "0.4"])
    axes[0].minorticks_off()
    axes[0].set_xlabel("votes T, one step each", fontsize=9)
    axes[0].set_ylabel("share of pairs in the wrong order")
    axes[0].set_title("Theorem 6: online RABF-SQ", fontsize=9)
    axes[0].legend(frameon=False, fontsize=8)
    for kind, (style, color) in (("noise", STYLE["rabf_log"]), ("shuffle", STYLE["mle"])):
        axes[1].plot(c["sizes"], c[kind], style, color=color, label=f"10·log n rows: {kind}", markersize=4.5)
    axes[1].set_xscale("log")
    axes[1].set_ylim(0.0, None)
    axes[1].set_xlabel("items", fontsize=9)
    axes[1].set_ylabel("‖r‖² / log n")
    axes[1].set_title("Theorem 3: two kinds of corruption", fontsize=9)
    axes[1].legend(frameon=False, fontsize=8)
    return figure


def own_data(items_file: str, votes_file: str, folder: Path, splits: int = 5) -> None:
    """A learning curve with and without features, for votes and items of one's own."""
    from podium.data.files import read_comparisons, read_table
    from podium.evaluate.feature_diagnosis import learning_curve
    from podium.show.feature_plots import coefficients, learning_curves
    from podium.show.plots import save

    data, table = read_comparisons(votes_file, keep="rows"), read_table(items_file)
    curve = learning_curve(data, table, splits=splits, one_hot=True)
    save(learning_curves(curve), folder / "own-learning-curve.png")
    save(coefficients(RABF(one_hot=True).fit(data, table)), folder / "own-coefficients.png")
    for size, saved in zip(curve.sizes, curve.advantage, strict=True):
        print(f"{size:>9,} votes: features save {saved:+.4f} of log loss a vote")


def run(quick: bool = False, engine: Engine = SERIAL) -> dict[str, Any]:
    """All studies."""
    sizes = [500, 1000, 2000] if quick else [500, 1000, 2000, 5000, 10_000]
    repeats = 3 if quick else 10
    return {
        "sublinear": sublinear(sizes, repeats, engine=engine),
        "robustness": robustness(150, 1500, 2 if quick else 6, engine=engine),
        "online": online(300, 10_000 if quick else 100_000, repeats, engine=engine),
        "figure4": figure4(stand_ins(), 3 if quick else 10, engine=engine),
        "rate": rate(600, 100_000 if quick else 1_000_000, 6 if quick else 8),
        "corruption": corruption(sizes, 2 * repeats),
    }


def main() -> None:
    """Run, draw, check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--items", help="a table of features, for data of your own")
    parser.add_argument("--votes", help="votes on those items")
    parser.add_argument(
        "--truth", help="with --items, the column that says how good each is: Figure 4 on your own table"
    )
    parser.add_argument("--jobs", type=int, help="processes that share the repetitions of the studies; 1 by default")
    parser.add_argument("--folder", type=Path, default=HERE, help="where pictures and numbers go")
    given = parser.parse_args()
    if given.items and given.votes and given.jobs is not None:
        parser.error("--jobs is for the studies; leave it out with --items and --votes")
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.truth and not given.items:
        parser.error("--truth is a column of --items; name that file too")
    if given.truth:
        found = {"figure4": figure4(of_files(given.items, given.truth, given.votes), 3 if given.quick else 10)}
        _figure4(found).savefig(given.folder / "own-figure4.png", dpi=110)
        for name, study in found["figure4"].items():
            for k, size in enumerate(study["votes"]):
                shares = ", ".join(f"{NAMES[m]} {100 * v[k]:.1f} %" for m, v in study["distance"].items())
                print(f"{name}, {size:>7,} votes, pairs in the wrong order: {shares}")
        return
    if given.items and given.votes:
        own_data(given.items, given.votes, given.folder)
        return
    with engine_for(1 if given.jobs is None else given.jobs) as engine:
        found = run(given.quick, engine)
    found["claims"] = claims(found)
    (given.folder / "results.json").write_text(json.dumps(found, indent=1) + "\n")
    draw(found, given.folder)
    shares = ("½", "1", "2", "5", "10", "20")
    tables.head("Pairs in the wrong order", *(f"{share} votes an item" for share in shares))
    for name, study in found["figure4"].items():
        for method, values in study["distance"].items():
            tables.row(f"{name}: {NAMES[method]}", *(f"{value:.2f}" for value in values))
    for claim, holds in found["claims"].items():
        print("holds " if holds else "FAILS ", claim)


if __name__ == "__main__":
    main()
