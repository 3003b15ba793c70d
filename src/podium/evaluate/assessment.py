"""Assessment: which method predicts votes it has not seen, and are its chances honest?

Votes are dealt into folds; each method is fitted on all folds but one and predicts that one, see
`Ranker.predict_proba`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.splits import deal
from podium.data.validation import choice_option, entries_of, seed_option, whole_option
from podium.engine import running
from podium.errors import InputError, PodiumError, PodiumWarning
from podium.numeric import student_quantile
from podium.pairwise import METHODS, ranker
from podium.pairwise.base import MIN_CHANCE, Ranker
from podium.ranking.uncertainty import quantile

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Assessment", "assess", "known_methods"]

Floats = NDArray[np.float64]

BINS = 10
MERGED_FROM = 4  # held-out votes for each pair of items: so many are nearly all equal to others
SKIPPED = {
    "rabf",
    "plackett-luce",
    "dynamic",
}  # for features of the items; Bradley-Terry on pairs; for votes with times


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
        choice_option("method", method, list(self.curves))
        predicted, observed, _, _ = self.curves[method]
        return float(np.mean(np.abs(predicted - observed)))


def known_methods(*, features: bool = False) -> list[str]:
    """Names of the methods that can be assessed on any votes, or on votes between items with features.

    >>> "bradley-terry" in known_methods(), "rabf" in known_methods(), "rabf" in known_methods(features=True)
    (True, False, True)
    """
    return [name for name in METHODS if name not in SKIPPED or (features and name == "rabf")]


def assess(
    comparisons: Comparisons,
    methods: Sequence[str] | Mapping[str, Callable[[], Ranker]] | None = None,
    *,
    features: Any = None,
    id: str | None = None,
    folds: int = 10,
    seed: int = 0,
    jobs: int | None = 1,
    engine: Any = None,
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
    jobs : int, optional
        Processes that share the folds; None for as many as there are cores. Results do not depend on it.
    engine : distributed.Client, optional
        A Dask cluster whose workers share the folds instead.

    Examples
    --------
    >>> votes = Comparisons.from_pairs([("a", "b")] * 30 + [("b", "a")] * 10)
    >>> found = assess(votes, ["bradley-terry", "win-rate"], folds=4)
    >>> sorted(found.log_loss)
    ['bradley-terry', 'win-rate']
    """
    as_comparisons(comparisons, "assess")
    whole_option("folds", folds, least=2)
    makers = _makers(methods, features is not None)
    about = {"features": features, "id": id}
    hands = deal(comparisons, folds, np.random.default_rng(seed_option("seed", seed)))
    whole = hands.sum(axis=1)
    scores: dict[str, list[tuple[float, float, float]]] = {name: [] for name in makers}
    of_folds: dict[str, list[tuple[Floats, Floats, Floats]]] = {name: [] for name in makers}
    problems: dict[str, PodiumError] = {}
    with running(jobs, folds, engine) as runner:
        for predictions in runner.map(_fold, hands.T, comparisons, whole, makers, about):
            for name, prediction in predictions.items():
                if isinstance(prediction, PodiumError):
                    problems.setdefault(name, prediction)
                else:
                    scores[name].append(_measures(*prediction))
                    of_folds[name].append(prediction)
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
        curves={
            name: calibration(*(np.concatenate(part) for part in zip(*of_folds[name], strict=True))) for name in fine
        },
        problems=problems,
        folds=folds,
        votes=len(comparisons),
    )


def _fold(
    hand: NDArray[np.int64],
    comparisons: Comparisons,
    whole: NDArray[np.int64],
    makers: Mapping[str, Callable[[], Ranker]],
    about: Mapping[str, Any],
) -> dict[str, tuple[Floats, Floats, Floats] | PodiumError]:
    """What each method predicts of the votes in one hand, fitted on all others, or why it does not."""
    train, test = comparisons.share(whole - hand), comparisons.share(hand)
    if len(test.left) > MERGED_FROM * len(test.items) ** 2:
        test = test.merged()  # equal votes have equal chances
    predictions: dict[str, tuple[Floats, Floats, Floats] | PodiumError] = {}
    for name, make in makers.items():
        try:
            predictions[name] = _predicted(make(), train, test, about)
        except PodiumError as problem:
            predictions[name] = problem
    return predictions


def calibration(chance: Floats, outcome: Floats, weight: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return (predicted, observed, lower, upper) of the favourite by bins of equal weight, with Wilson intervals."""
    chance = np.round(chance, 9)  # rounding of sums must not decide who is the favourite, nor which votes share a bin
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
    methods: Sequence[str] | Mapping[str, Callable[[], Ranker]] | None, features: bool
) -> dict[str, Callable[[], Ranker]]:
    if isinstance(methods, Mapping):
        makers = dict(methods)
    else:
        known = known_methods(features=features)
        names = known if methods is None else entries_of("methods", methods, f"names, such as {known[:2]}")
        makers = {name: ranker(name) for name in names}
    if not makers:
        raise InputError("name at least one method")
    return makers


def _predicted(
    model: Ranker, train: Comparisons, test: Comparisons, about: Mapping[str, Any]
) -> tuple[Floats, Floats, Floats]:
    """Fit on `train`; the chance, the outcome (1, ½, 0) and the weight of every row of `test`, for its left item."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # a fold may be thin where the whole is not
        model.fit(train, **(about if model.uses.features else {}))
    win, tie, _ = model.predict_proba(test).T
    _, _, outcome, weight = test.vote_rows()
    return win + tie / 2, outcome, weight


def _measures(chance: Floats, outcome: Floats, weight: Floats) -> tuple[float, float, float]:
    """Log loss, Brier score and accuracy; a tie counts half for both, and so does a guess of one half."""
    total = float(weight.sum())
    safe = np.clip(chance, MIN_CHANCE, 1 - MIN_CHANCE)
    log_loss = -float(weight @ (outcome * np.log(safe) + (1 - outcome) * np.log(1 - safe))) / total
    brier = float(weight @ (chance - outcome) ** 2) / total
    right = np.where(chance == 0.5, 0.5, np.where(chance > 0.5, outcome, 1 - outcome))
    return log_loss, brier, float(weight @ right) / total


def _half_width(values: Floats) -> float:
    k = len(values)
    return student_quantile(k - 1, 0.975) * float(values.std(ddof=1)) / math.sqrt(k)
