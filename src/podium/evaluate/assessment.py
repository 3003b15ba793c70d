"""Assessment: which method predicts votes it has not seen, and are its chances honest?

Votes are dealt into folds; each method is fitted on all folds but one and predicts that one. A method without win
chances of its own (scores only) is given the best one it could have: chance = 1 / (1 + exp(−b·(difference of scores))),
with the slope b fitted on the same training votes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.data.splits import deal
from podium.errors import InputError, PodiumError, PodiumWarning
from podium.pairwise import METHODS, ranker
from podium.pairwise._fit.rows import vote_rows
from podium.ranking.ranking import Ranking
from podium.ranking.uncertainty import mean_chance_margin, quantile

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Assessment", "assess", "known_methods"]

Floats = NDArray[np.float64]

BINS = 10
LEAST = 1e-9  # a chance is never taken to be nearer to 0 or 1: one upset would cost infinitely much
SKIPPED = {"rabf"}  # is for features of the items


@dataclass(frozen=True, eq=False)
class Assessment:
    """How well each method predicted held-out votes.

    Attributes
    ----------
    log_loss, brier, accuracy : dicts of method to an array with one value per fold
    curves : dict of method to (predicted, observed, lower, upper) by bins of the favourite's predicted chance
    problems : dict of method to the error that kept it from being assessed
    """

    log_loss: dict[str, Floats]
    brier: dict[str, Floats]
    accuracy: dict[str, Floats]
    curves: dict[str, tuple[Floats, Floats, Floats, Floats]]
    problems: dict[str, PodiumError]
    folds: int
    votes: int

    def to_frame(self) -> pl.DataFrame:
        """One row per method, the best log loss first: each measure with half the width of its 95 % interval.

        The interval is of the mean over folds, by Student's t. `worse` is by how much the log loss exceeds the best
        one's, fold by fold, with the half-width of that difference: it is what tells methods apart.
        """
        import polars as pl

        order = sorted(self.log_loss, key=lambda name: float(self.log_loss[name].mean()))
        rows = []
        for name in order:
            row: dict[str, Any] = {"method": name}
            for measure in ("log_loss", "brier", "accuracy"):
                values = getattr(self, measure)[name]
                row[measure], row[f"{measure}_pm"] = float(values.mean()), _half_width(values)
            behind = self.log_loss[name] - self.log_loss[order[0]]
            row["worse"], row["worse_pm"] = float(behind.mean()), _half_width(behind)
            row["calibration"] = self.calibration_error(name)
            rows.append(row)
        return pl.DataFrame(rows)

    def calibration_error(self, method: str) -> float:
        """Mean distance of the observed shares from the predicted chances over the bins of the curve."""
        predicted, observed, _, _ = self.curves[method]
        return float(np.mean(np.abs(predicted - observed)))


def known_methods(*, features: bool = False) -> list[str]:
    """Names of the methods that can be assessed on any votes, or on votes between items with features.

    >>> "bradley-terry" in known_methods(), "rabf" in known_methods(), "rabf" in known_methods(features=True)
    (True, False, True)
    """
    return [name for name in METHODS if features or name not in SKIPPED]


def assess(
    comparisons: Comparisons,
    methods: Sequence[str] | Mapping[str, Callable[[], Any]] | None = None,
    *,
    features: Any = None,
    id: str | None = None,
    folds: int = 10,
    seed: int = 0,
) -> Assessment:
    """Fit each method on all folds of the votes but one, and let it predict that one.

    Parameters
    ----------
    comparisons : Comparisons
    methods : names, or a dict of name to a function that makes the ranker; default all
    features, id
        Of the items, as in `RABF.fit`; for the methods that use them.
    folds : int
    seed : int
        Of the deal. Full rankings are dealt whole, counts are split without unrolling them.

    Examples
    --------
    >>> votes = Comparisons.from_pairs([("a", "b")] * 30 + [("b", "a")] * 10)
    >>> found = assess(votes, ["bradley-terry", "win-rate"], folds=4)
    >>> sorted(found.log_loss)
    ['bradley-terry', 'win-rate']
    """
    if folds < 2:
        raise InputError(f"folds is {folds}; at least two are needed")
    makers = _makers(methods, features is not None)
    about = {"features": features, "id": id}
    hands = deal(comparisons, folds, np.random.default_rng(seed))
    whole = hands.sum(axis=1)
    scores: dict[str, list[tuple[float, float, float]]] = {name: [] for name in makers}
    told: dict[str, list[tuple[Floats, Floats, Floats]]] = {name: [] for name in makers}
    problems: dict[str, PodiumError] = {}
    for fold in range(folds):
        train, test = comparisons.share(whole - hands[:, fold]), comparisons.share(hands[:, fold])
        for name, make in makers.items():
            if name in problems:
                continue
            try:
                chance, outcome, weight = _predicted(make(), train, test, about)
            except PodiumError as problem:
                problems[name] = problem
                continue
            scores[name].append(_measures(chance, outcome, weight))
            told[name].append((chance, outcome, weight))
    fine = [name for name in makers if name not in problems]
    if not fine:
        name, first = next(iter(problems.items()))
        raise InputError(f"no method could be assessed; {name}: ", *first.args) from first
    columns = {name: np.array(scores[name]).T for name in fine}
    log_loss, brier, accuracy = ({name: columns[name][k] for name in fine} for k in range(3))
    return Assessment(
        log_loss,
        brier,
        accuracy,
        curves={name: calibration(*(np.concatenate(part) for part in zip(*told[name], strict=True))) for name in fine},
        problems=problems,
        folds=folds,
        votes=len(comparisons),
    )


def calibration(chance: Floats, outcome: Floats, weight: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return (predicted, observed, lower, upper) of the favourite by bins of equal weight, with Wilson intervals."""
    upset = chance < 0.5
    chance, outcome = np.where(upset, 1 - chance, chance), np.where(upset, 1 - outcome, outcome)
    order = np.argsort(chance, kind="stable")
    chance, outcome, weight = chance[order], outcome[order], weight[order]
    middle = np.cumsum(weight) - weight / 2
    bins = np.minimum((BINS * middle / weight.sum()).astype(np.int64), BINS - 1)
    size = np.bincount(bins, weight, BINS)
    kept = size > 0
    predicted = np.bincount(bins, weight * chance, BINS)[kept] / size[kept]
    observed = np.bincount(bins, weight * outcome, BINS)[kept] / size[kept]
    z, n = quantile(0.95), size[kept]
    centre = (observed + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(np.maximum(observed * (1 - observed), 0) / n + z * z / (4 * n * n))
    return predicted, observed, centre - half, centre + half


def _makers(
    methods: Sequence[str] | Mapping[str, Callable[[], Any]] | None, features: bool
) -> dict[str, Callable[[], Any]]:
    if isinstance(methods, Mapping):
        made = dict(methods)
    else:
        names = known_methods(features=features) if methods is None else methods
        made = {name: ranker(name) for name in names}
    if not made:
        raise InputError("name at least one method")
    return made


def _predicted(
    model: Any, train: Comparisons, test: Comparisons, about: Mapping[str, Any]
) -> tuple[Floats, Floats, Floats]:
    """Fit on `train`; the chance, the outcome (1, ½, 0) and the weight of every row of `test`, for its left item."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # a fold may be thin where the whole is not
        model.fit(train, **(about if hasattr(model, "with_features") else {}))
    left, right, outcome, weight = vote_rows(test)
    scores = _scores(model.ranking_, test.items)
    margin = scores[left] - scores[right]
    if not hasattr(model, "win_probability"):
        return _logistic(_slope(scores, *vote_rows(train)) * margin), outcome, weight
    if test.judge is not None and hasattr(model, "reliability_"):
        known = dict(zip(model.judges_, model.reliability_, strict=True))
        margin = margin * np.array([known.get(judge, 1.0) for judge in test.judges])[test.judge]
    if getattr(model, "side_effect", False) and test.sided:
        margin = margin + model.side_effect_
    if test.covariates is not None and hasattr(model, "with_covariates"):
        margin = margin + test.covariates @ getattr(model, "covariate_coef_", model.coef_)
    margin = mean_chance_margin(margin, _margin_variance(model.ranking_, test.items, left, right))
    ties = getattr(model, "tie_strength_", None) or 0.0
    if ties:  # Davidson's expected points: the chance of a win and half that of a tie
        top = np.maximum(np.abs(margin) / 2, 0.0)
        win, loss, tie = np.exp(margin / 2 - top), np.exp(-margin / 2 - top), ties * np.exp(-top)
        return (win + tie / 2) / (win + loss + tie), outcome, weight
    own = getattr(model, "_vote_chances", _logistic)  # a model of margins, or of flipped votes, is not logistic
    return own(margin), outcome, weight


def _scores(ranking: Ranking, items: Sequence[Hashable]) -> Floats:
    """Scores in the order of `items`; one that the training votes do not name stands in the middle."""
    known = dict(zip(ranking.items, ranking.scores.tolist(), strict=True))
    middle = float(ranking.scores.mean())
    return np.array([known.get(item, middle) for item in items]) / ranking.unit


def _margin_variance(ranking: Ranking, items: Sequence[Hashable], left: NDArray[Any], right: NDArray[Any]) -> Floats:
    """How well the margins are known, under a prior from the votes; 0 without one, and for items it has not seen."""
    if ranking.posterior is None:
        return np.zeros(len(left))
    place = {item: k for k, item in enumerate(ranking.items)}
    codes = np.array([place.get(item, -1) for item in items])
    one, other = codes[left], codes[right]
    known: Floats = ranking.difference_variance(np.maximum(one, 0), np.maximum(other, 0))
    return np.where((one >= 0) & (other >= 0), known, 0.0)


def _logistic(margin: Floats) -> Floats:
    chance: Floats = 1.0 / (1.0 + np.exp(-np.clip(margin, -700, 700)))
    return chance


def _slope(scores: Floats, left: NDArray[Any], right: NDArray[Any], outcome: Floats, weight: Floats) -> float:
    """The b that makes 1 / (1 + exp(−b·difference)) most likely; a little prior keeps it finite on consistent votes."""
    gap = scores[left] - scores[right]
    size = math.sqrt(float(weight @ gap**2) / float(weight.sum())) or 1.0
    gap = gap / size
    b = 0.0
    for _ in range(50):
        chance = _logistic(b * gap)
        slope = float(weight @ (gap * (chance - outcome))) + 1e-3 * b
        curve = float(weight @ (gap**2 * chance * (1 - chance))) + 1e-3
        step = slope / curve
        b -= math.copysign(min(abs(step), 5.0), step)
        if abs(step) < 1e-9:
            break
    return b / size


def _measures(chance: Floats, outcome: Floats, weight: Floats) -> tuple[float, float, float]:
    """Log loss, Brier score and accuracy; a tie counts half for both, and so does a guess of one half."""
    total = float(weight.sum())
    safe = np.clip(chance, LEAST, 1 - LEAST)
    log_loss = -float(weight @ (outcome * np.log(safe) + (1 - outcome) * np.log(1 - safe))) / total
    brier = float(weight @ (chance - outcome) ** 2) / total
    right = np.where(chance == 0.5, 0.5, np.where(chance > 0.5, outcome, 1 - outcome))
    return log_loss, brier, float(weight @ right) / total


def _half_width(values: Floats) -> float:
    from scipy.stats import t

    k = len(values)
    return float(t.ppf(0.975, k - 1) * values.std(ddof=1) / math.sqrt(k))
