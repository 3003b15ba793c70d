"""Which penalty, which surrogate, linear or trees: chosen on rows held out of the training data, by the loss asked for.

Rows are dealt into parts by their features, not by their place: the order of the rows does not matter, equal rows stay
together, and a row of weight 2 counts as two. Every candidate sees the same parts, so their losses compare row by row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from podium.engine import Engine
from podium.errors import ConvergenceError
from podium.metrics import ranking_report
from podium.metrics.names import Metric
from podium.multilabel.linear import Design, design, fit_frequencies, fit_logistic
from podium.multilabel.rows import different_rows
from podium.multilabel.surrogates import fit_coupled
from podium.multilabel.targets import Targets
from podium.multilabel.trees import grow

__all__ = ["Setting", "averaged", "choose", "describe"]

PENALTIES = tuple(4.0**k for k in range(-7, 4))  # of C, from strong to weak
COUPLED_PENALTIES = tuple(4.0**k for k in range(-5, 4))
WORSE = 2  # steps along the penalties that may fail to improve before the rest is left out
MIN_ROWS = 12  # different rows below which there is nothing to hold out
MAX_ROWS_OF_FIVE = 500  # rows up to which five parts are made, not three
WORK = 60_000_000  # numbers (entries of X times labels) that all fits of one penalty may touch
COUPLED_WORK = 20_000_000
TREES = 80  # in a forest on trial
GREEDY_CELLS = 2_000_000  # of a table of features up to which the best places of splits are looked for


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to fit: "linear" with a surrogate and a penalty (`C` 0: label frequencies), "trees", or "both"."""

    scorer: str = "linear"
    surrogate: str = "univariate"
    C: float = 1.0
    greedy: bool = False  # of trees: splits at the best place


@dataclass(frozen=True, slots=True)
class _Part:
    """Rows to train on and rows held out of it."""

    train: np.ndarray
    held: np.ndarray


@dataclass(frozen=True, slots=True)
class _Trial:
    """The examples as given (for trees) and scaled (for the linear scorer), and what is asked of them."""

    X: Any
    scaled: Any
    relevance: Any
    targets: Targets
    weight: np.ndarray
    loss: Metric
    parts: list[_Part]
    tol: float
    max_iter: int
    engine: Engine | None = None

    def losses(self, scores: list[np.ndarray]) -> np.ndarray:
        """Loss of every row held out, part by part, from the scores that each part gives them."""
        metric = str(self.loss)
        reports = [
            ranking_report(self.relevance[part.held], each, metrics=[metric], clip=True)
            for part, each in zip(self.parts, scores, strict=True)
        ]
        return np.concatenate([next(iter(report.per_row.values())) for report in reports])

    @property
    def held_weight(self) -> np.ndarray:
        """Weight of every row held out, part by part."""
        return np.concatenate([self.weight[part.held] for part in self.parts])


def choose(
    X: Any,
    scaled: Any,
    relevance: Any,
    targets: Targets,
    weight: np.ndarray,
    loss: Metric,
    *,
    scorer: str,
    surrogate: str,
    C: Any,
    tol: float,
    max_iter: int,
    engine: Engine | None = None,
) -> tuple[Setting, dict[str, float]]:
    """The setting to fit with, and the mean held-out loss of each that was tried, by its description."""
    surely = "univariate" if surrogate == "auto" else surrogate
    fixed = Setting("trees") if scorer == "trees" else Setting("linear", surely, 1.0 if C == "auto" else C)
    if scorer == "linear" and surrogate != "auto" and C != "auto":
        return fixed, {}
    parts = _parts(scaled, relevance, weight)
    if not parts:
        return fixed, {}
    trial = _Trial(X, scaled, relevance, targets, weight, loss, parts, max(tol, 1e-3), max_iter, engine)
    tried = _linear(trial, surrogate, C) if scorer != "trees" else {}
    if scorer != "linear":
        tried |= _with_trees(trial, tried)
    if not tried:  # no fit came to an end; the one fit that is left says so
        return fixed, {}
    means = {each: float(np.average(lost, weights=trial.held_weight)) for each, lost in tried.items()}
    return _best(tried, means, trial.held_weight), {describe(each): mean for each, mean in means.items()}


def _best(tried: dict[Setting, np.ndarray], means: dict[Setting, float], weight: np.ndarray) -> Setting:
    """The lowest loss; what is simpler, or right in the limit, unless another is better by a standard error."""
    right = [each for each in tried if each.surrogate == "univariate"]
    best = min(right or tried, key=lambda each: (means[each], each.C))  # the stronger penalty when two are as good
    for other in tried:
        coupled = other.surrogate != "univariate"
        if coupled and means[other] < means[best] and not _within_chance(tried[best] - tried[other], weight):
            best = other
    blind = next((each for each in tried if each.scorer == "linear" and each.C == 0), best)
    return blind if _within_chance(tried[blind] - tried[best], weight) else best


def _within_chance(gain: np.ndarray, weight: np.ndarray) -> bool:
    """Whether the mean gain is within one standard error of none."""
    total = weight.sum()
    mean = float(weight @ gain) / total
    return bool(mean <= np.sqrt(weight @ np.square(gain - mean)) / total)


def describe(setting: Setting) -> str:
    """A setting in words."""
    trees = "trees, best splits" if setting.greedy else "trees, random splits"
    if setting.scorer != "linear":
        return trees if setting.scorer == "trees" else f"mean of linear and {trees}"
    if setting.C == 0:
        return "label frequencies"
    return f"linear, {setting.surrogate}, C={setting.C:.3g}"


def _linear(trial: _Trial, surrogate: str, C: Any) -> dict[Setting, np.ndarray]:
    """Losses of penalties and surrogates, each along its penalties from strong to weak."""
    tried = {}
    designs = [design(trial.scaled[part.train]) for part in trial.parts]
    names = ["univariate"] if surrogate == "auto" else [surrogate]
    if surrogate == "auto" and _size(trial.scaled) * trial.relevance.shape[1] <= COUPLED_WORK:
        names.append("pairwise")
    if C == "auto":
        tried[Setting(C=0.0)] = trial.losses([_frequency_scores(trial, part) for part in trial.parts])
    for name in names:
        grid = PENALTIES if name == "univariate" else COUPLED_PENALTIES
        tried |= _along(trial, designs, name, grid if C == "auto" else (C,))
    return tried


def _along(trial: _Trial, designs: list[Design], surrogate: str, grid: tuple[float, ...]) -> dict[Setting, np.ndarray]:
    """Held-out loss for each penalty, every fit begun where the one before ended; stops when it grows worse."""
    tried: dict[Setting, np.ndarray] = {}
    ends: list[np.ndarray | None] = [None] * len(designs)
    for C in grid:
        setting = Setting("linear", surrogate, C)
        try:
            ends = [_fit(trial, *each, setting) for each in zip(trial.parts, designs, ends, strict=True)]
        except ConvergenceError:
            break  # a penalty too weak to end with is none to choose
        tried[setting] = trial.losses(
            [_held_scores(trial, part, end) for part, end in zip(trial.parts, ends, strict=True)]
        )
        losses = [float(trial.held_weight @ each) for each in tried.values()]
        if len(losses) > WORSE and min(losses[-WORSE:]) > min(losses):
            break
    return tried


def _fit(trial: _Trial, part: _Part, x: Design, start: np.ndarray | None, setting: Setting) -> np.ndarray:
    targets, weight = trial.targets.values[part.train], trial.targets.weight[part.train]
    options: dict[str, Any] = {"C": setting.C, "tol": trial.tol, "max_iter": trial.max_iter, "start": start}
    if setting.surrogate == "univariate":
        return fit_logistic(x, targets.tocsc(), weight, **options, engine=trial.engine)
    return fit_coupled(setting.surrogate, x, targets, weight, **options)


def _held_scores(trial: _Trial, part: _Part, beta: np.ndarray | None) -> np.ndarray:
    assert beta is not None
    return np.asarray(trial.scaled[part.held] @ beta[:-1] + beta[-1])


def _frequency_scores(trial: _Trial, part: _Part) -> np.ndarray:
    beta = fit_frequencies(0, trial.targets.values[part.train], trial.targets.weight[part.train])
    return np.tile(beta[-1], (len(part.held), 1))


def _with_trees(trial: _Trial, tried: dict[Setting, np.ndarray]) -> dict[Setting, np.ndarray]:
    """Losses of both kinds of trees, and of the mean of the better and the best univariate linear scorer, if any."""
    weight = trial.held_weight
    kinds = (False, True) if trial.X.shape[0] * trial.X.shape[1] <= GREEDY_CELLS else (False,)
    scores = {Setting("trees", greedy=greedy): _forest_scores(trial, greedy) for greedy in kinds}
    lost = {each: trial.losses(held) for each, held in scores.items()}
    linear = [each for each in tried if each.surrogate == "univariate"]
    if linear:
        line, trees = (min(few, key=lambda each: weight @ (tried | lost)[each]) for few in (linear, list(lost)))
        margins = [_linear_scores(trial, part, line) for part in trial.parts]
        both = [averaged(*pair) for pair in zip(margins, scores[trees], strict=True)]
        lost[replace(line, scorer="both", greedy=trees.greedy)] = trial.losses(both)
    return lost


def _forest_scores(trial: _Trial, greedy: bool) -> list[np.ndarray]:
    """Scores of the rows held out of each part, by a small forest."""
    out = []
    for part in trial.parts:
        targets, weight = trial.targets.values[part.train], trial.targets.weight[part.train]
        forest = grow(trial.X[part.train], targets, weight, greedy=greedy, trees=TREES)
        out.append(forest.scores(trial.X[part.held]))
    return out


def _linear_scores(trial: _Trial, part: _Part, setting: Setting) -> np.ndarray:
    """Log-odds of the rows held out of a part."""
    if setting.C == 0:
        return _frequency_scores(trial, part)
    return _held_scores(trial, part, _fit(trial, part, design(trial.scaled[part.train]), None, setting))


def averaged(margins: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Mean of the target that log-odds predict and the one that trees predict."""
    from scipy.special import expit

    return np.asarray((expit(margins) + targets) / 2)


def _size(X: Any) -> int:
    """Numbers that a pass over X reads."""
    return int(X.nnz if hasattr(X, "nnz") else X.size)


def _parts(X: Any, relevance: Any, weight: np.ndarray) -> list[_Part]:
    """Parts of the rows, dealt out along a fixed direction through the features; none if there are too few rows."""
    number = different_rows(X, weight)
    used = np.flatnonzero(number >= 0)
    number = number[used]
    rows, size = int(number.max(initial=-1)) + 1, _size(X) * relevance.shape[1]
    if rows < MIN_ROWS or relevance.shape[1] == 1:  # one label has one ranking
        return []
    # A fixed shuffle of the places: neighbours along the direction are as likely apart as others.
    number = np.random.default_rng(1).permutation(rows)[number]
    made, taken, kept = _plan(rows, WORK * rows // max(size, 1))
    held = [(number % made == fold) & (number < kept) for fold in range(taken)]
    parts = [_Part(used[~each & (number < kept)], used[each]) for each in held]
    return [part for part in parts if _teaches(relevance, part.train)]


def _plan(rows: int, most: int) -> tuple[int, int, int]:
    """Parts to make, parts to hold out one after the other, and rows to use, when `most` rows may be trained on."""
    if rows <= MAX_ROWS_OF_FIVE and most >= 4 * rows:
        return 5, 5, rows
    if most >= 2 * rows:
        return 3, 3, rows
    return 3, 1, min(rows, max(3 * most // 2, 60))


def _teaches(relevance: Any, rows: np.ndarray) -> bool:
    """Whether any label of these rows is relevant."""
    return bool(relevance[rows].nnz)
