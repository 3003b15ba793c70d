"""Which penalty, which surrogate, linear or trees: chosen on rows held out of the training data, by the loss asked for.

Rows are dealt into parts by their features, not by their place: the order of the rows does not matter, equal rows stay
together, and a row of weight 2 counts as two. Every candidate sees the same parts, so their losses compare row by row.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import combinations
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
from podium.multilabel.trees import boost, grow

__all__ = ["Setting", "averaged", "choose", "describe"]

Parts = list[np.ndarray]  # a table for each part

PENALTIES = tuple(4.0**k for k in range(-7, 4))  # of C, from strong to weak
COUPLED_PENALTIES = tuple(4.0**k for k in range(-5, 4))
WORSE = 2  # steps along the penalties that may fail to improve before the rest is left out
MIN_ROWS = 12  # different rows below which there is nothing to hold out
MAX_ROWS_OF_FIVE = 500  # rows up to which five parts are made, not three
WORK = 60_000_000  # numbers (entries of X times labels) that all fits of one penalty may touch
COUPLED_WORK = 20_000_000
TREES = 80  # in a forest on trial
GREEDY_CELLS = 2_000_000  # of a table of features up to which the best places of splits are looked for
BOOSTED_LABELS = 200  # labels, and cells of a table of features times labels, up to which trees are boosted
BOOSTED_CELLS = 20_000_000


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to fit: linear with a surrogate and a penalty (`C` 0: label frequencies), trees, or a mean of these."""

    linear: bool = True
    surrogate: str = "univariate"
    C: float = 1.0
    forest: str = ""  # split at "random" or the "best" places; "": none
    boosted: bool = False

    @property
    def scorer(self) -> str:
        """ "linear", "trees" or "both"."""
        trees = bool(self.forest) or self.boosted
        return "both" if trees and self.linear else "trees" if trees else "linear"


BLIND = Setting(C=0.0)


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
    fixed = Setting(False, forest="random") if scorer == "trees" else Setting(True, surely, 1.0 if C == "auto" else C)
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
    blind = next((each for each in tried if each == BLIND), best)
    return blind if _within_chance(tried[blind] - tried[best], weight) else best


def _within_chance(gain: np.ndarray, weight: np.ndarray) -> bool:
    """Whether the mean gain is within one standard error of none."""
    total = weight.sum()
    mean = float(weight @ gain) / total
    return bool(mean <= np.sqrt(weight @ np.square(gain - mean)) / total)


def describe(setting: Setting) -> str:
    """A setting in words."""
    if setting.scorer == "linear":
        return "label frequencies" if setting.C == 0 else f"linear, {setting.surrogate}, C={setting.C:.3g}"
    forest = f"trees, {setting.forest} splits"
    if (setting.linear, bool(setting.forest), setting.boosted) == (False, True, False):
        return forest
    members = ["linear"] * setting.linear + [forest] * bool(setting.forest) + ["boosted trees"] * setting.boosted
    return members[0] if len(members) == 1 else f"mean of {', '.join(members[:-1])} and {members[-1]}"


def _linear(trial: _Trial, surrogate: str, C: Any) -> dict[Setting, np.ndarray]:
    """Losses of penalties and surrogates, each along its penalties from strong to weak."""
    tried = {}
    designs = [design(trial.scaled[part.train]) for part in trial.parts]
    names = ["univariate"] if surrogate == "auto" else [surrogate]
    if surrogate == "auto" and _size(trial.scaled) * trial.relevance.shape[1] <= COUPLED_WORK:
        names.append("pairwise")
    if C == "auto":
        tried[BLIND] = trial.losses([_frequency_scores(trial, part) for part in trial.parts])
    for name in names:
        grid = PENALTIES if name == "univariate" else COUPLED_PENALTIES
        tried |= _along(trial, designs, name, grid if C == "auto" else (C,))
    return tried


def _along(trial: _Trial, designs: list[Design], surrogate: str, grid: tuple[float, ...]) -> dict[Setting, np.ndarray]:
    """Held-out loss for each penalty, every fit begun where the one before ended; stops when it grows worse."""
    tried: dict[Setting, np.ndarray] = {}
    ends: list[np.ndarray | None] = [None] * len(designs)
    for C in grid:
        setting = Setting(True, surrogate, C)
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
    """Losses of trees, and of means of the best univariate linear scorer, the better forest, and boosted trees."""
    weight = trial.held_weight
    cells = trial.X.shape[0] * trial.X.shape[1]
    kinds = ("random", "best") if cells <= GREEDY_CELLS else ("random",)
    forests = {Setting(False, forest=kind): _forest_scores(trial, kind) for kind in kinds}
    lost = {each: trial.losses(held) for each, held in forests.items()}
    trees = min(lost, key=lambda each: weight @ lost[each])
    members = {trees: forests[trees]}
    if linear := [each for each in tried if each.surrogate == "univariate"]:
        line = min(linear, key=lambda each: weight @ tried[each])
        members[line] = [_chances(_linear_scores(trial, part, line)) for part in trial.parts]
        lost[_mean([line, trees])] = trial.losses([averaged(pair) for pair in zip(*members.values(), strict=True)])
    few = trial.relevance.shape[1] <= BOOSTED_LABELS and cells * trial.relevance.shape[1] <= BOOSTED_CELLS
    boosted = _boosted_scores(trial, members, tried | lost) if few else []
    if boosted:
        alone = Setting(False, boosted=True)
        for count in range(len(members) + 1):
            for others in combinations(members, count):
                scores = zip(boosted, *(members[each] for each in others), strict=True)
                lost[_mean([alone, *others])] = trial.losses([averaged(each) for each in scores])
    return lost


def _mean(members: list[Setting]) -> Setting:
    """The mean of settings of one kind each."""
    line = next((each for each in members if each.linear), None)
    forest = "".join(each.forest for each in members)
    boosted = any(each.boosted for each in members)
    if line is None:
        return Setting(False, forest=forest, boosted=boosted)
    return Setting(True, line.surrogate, line.C, forest, boosted)


def _boosted_scores(trial: _Trial, members: dict[Setting, Parts], tried: dict[Setting, np.ndarray]) -> Parts:
    """Chances of the rows held out of each part, by boosted trees; none where features say nothing, or where on the
    first part these trees, and their mean with what is there, are clearly worse than the best of the others."""
    means = {each: float(np.average(lost, weights=trial.held_weight)) for each, lost in tried.items()}
    best = _best(tried, means, trial.held_weight)
    if best == BLIND:
        return []
    out: Parts = []
    for part in trial.parts:
        targets, weight = trial.targets.values[part.train], trial.targets.weight[part.train]
        if not weight.any():
            return []
        out.append(_chances(boost(trial.X[part.train], targets, weight).scores(trial.X[part.held])))
        if len(out) == 1:
            first = replace(trial, parts=trial.parts[:1])
            before = tried[best][: len(part.held)]
            both = averaged([out[0], *(each[0] for each in members.values())])
            gains = [before - first.losses([each]) for each in (out[0], both)]
            if all(_clearly_lost(gain, first.held_weight) for gain in gains):
                return []
    return out


def _clearly_lost(gain: np.ndarray, weight: np.ndarray) -> bool:
    """Whether the mean gain is below none by more than a standard error."""
    return bool(weight @ gain < 0 and not _within_chance(-gain, weight))


def _forest_scores(trial: _Trial, kind: str) -> Parts:
    """Scores of the rows held out of each part, by a small forest."""
    out = []
    for part in trial.parts:
        targets, weight = trial.targets.values[part.train], trial.targets.weight[part.train]
        forest = grow(trial.X[part.train], targets, weight, greedy=kind == "best", trees=TREES)
        out.append(forest.scores(trial.X[part.held]))
    return out


def _linear_scores(trial: _Trial, part: _Part, setting: Setting) -> np.ndarray:
    """Log-odds of the rows held out of a part."""
    if setting.C == 0:
        return _frequency_scores(trial, part)
    return _held_scores(trial, part, _fit(trial, part, design(trial.scaled[part.train]), None, setting))


def averaged(chances: Iterable[np.ndarray]) -> np.ndarray:
    """Mean of the targets that scorers predict."""
    return np.asarray(np.mean(list(chances), axis=0))


def _chances(margins: np.ndarray) -> np.ndarray:
    """Targets that log-odds predict."""
    from scipy.special import expit

    return np.asarray(expit(margins))


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
