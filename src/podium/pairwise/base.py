"""What a ranker is: parameters by name, `fit`, a ranking, chances of the outcome of votes, and what it looks at.

A ranker of your own subclasses `Ranker`, and joins `ranker(name)` and the command line by an entry point of the group
`podium.rankers`. Its constructor stores its options under their names and does nothing else. Its `fit` begins with
`as_comparisons` and the checks of its options, sets `ranking_`, and ends with `return self._fitted_to(comparisons)`.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.pairs import Pairs
from podium.data.validation import number_option
from podium.errors import InputError
from podium.ranking.ranking import Ranking
from podium.ranking.uncertainty import quantile

__all__ = ["Ranker", "Uses", "davidson", "logistic"]

Floats = NDArray[np.float64]

MIN_CHANCE = 1e-9  # a chance is never taken to be nearer to 0 or 1: one upset would cost infinitely much
MAX_LOG_TIES = 700.0  # of log ν, beyond which ν is no number
SEARCH = ("max_iter", "tol")  # parameters of the search for an optimum, which do not change what is estimated


@dataclass(frozen=True, slots=True)
class Uses:
    """What a ranker can look at beyond who beat whom; the rest it does not see.

    Attributes
    ----------
    features : of the items; `fit` takes `features=` and `id=`
    covariates : of the votes
    judges : whose votes they are; needed
    sides : which item was shown on the left
    ties : as an outcome of their own, not only as half a win for both
    margins : by how much
    time : when they were cast; needed, or taken for the order
    order : the votes one by one, in the order they were cast; needed
    """

    features: bool = False
    covariates: bool = False
    judges: bool = False
    sides: bool = False
    ties: bool = False
    margins: bool = False
    time: bool = False
    order: bool = False


class Ranker:
    """What all rankers share. `fit` and `ranking_` are each one's own.

    Attributes
    ----------
    uses : Uses
        What the ranker can look at; the same for every ranker of a class.
    ranking_ : Ranking
    log_likelihood_ : float
        Σ weight · log chance of the votes it was (last) fitted to, at the scores found.
    """

    uses: ClassVar[Uses] = Uses()
    _begins_with: ClassVar[str] = "fit(comparisons)"  # said to those who ask before

    ranking_: Ranking

    def fit(self, comparisons: Comparisons) -> Self:
        """Learn from the votes."""
        raise NotImplementedError(f"{type(self).__name__} does not say how it is fitted")

    def _fitted_to(self, comparisons: Comparisons) -> Self:
        """End of `fit`: the votes are kept until chances are asked for, or the model is stored."""
        self._training = comparisons
        self._moved()
        return self

    def _moved(self) -> None:
        """Forget what was computed from scores that have changed since."""
        vars(self).pop("_log_likelihood", None)
        if "_training" in vars(self):
            vars(self).pop("_slope", None)

    # ---- parameters -----------------------------------------------------------------------------------------

    @classmethod
    def _parameters(cls) -> dict[str, Any]:
        """Names of the parameters, with their defaults."""
        return {name: each.default for name, each in inspect.signature(cls).parameters.items()}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn asks for them; `deep` makes no difference here."""
        return {name: getattr(self, name) for name in self._parameters()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; what was learned before stays until the next `fit`."""
        known = self._parameters()
        for name, value in params.items():
            if name not in known:
                takes = f"it takes {', '.join(known)}" if known else "it takes none"
                raise InputError(f"{type(self).__name__} has no parameter {name!r}; {takes}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults, params = self._parameters(), self.get_params()
        shown = [f"{name}={value!r}" for name, value in params.items() if repr(value) != repr(defaults[name])]
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn's searches want to know: neither a classifier nor a regressor, and no table of numbers."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            no_validation=True,
            input_tags=InputTags(two_d_array=False),
        )

    # ---- what was learned -----------------------------------------------------------------------------------

    @property
    def credible_intervals_(self) -> bool:
        """Whether intervals of `ranking_` are a posterior's: given the votes, the true score lies there so likely.

        Others are confidence intervals: votes collected again and again would give as many that hold it.
        """
        return False

    def __sklearn_is_fitted__(self) -> bool:
        return "ranking_" in vars(self)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise self._not_fitted()

    def _not_fitted(self) -> AttributeError:
        from podium.errors import NotFittedError

        return NotFittedError(f"this {type(self).__name__} is not fitted yet; call {self._begins_with} first")

    def __getattr__(self, name: str) -> Any:
        """What was learned has names that end in _: asked for too early, the error says what to do."""
        if name.endswith("_") and not name.startswith("_") and not self.__sklearn_is_fitted__():
            raise self._not_fitted()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def feature_names_(self) -> tuple[str, ...]:
        """Names of the features of the items that were used."""
        self._check_fitted()
        return ()

    @property
    def covariate_names_(self) -> tuple[str, ...]:
        """Names of the covariates of the votes that were used."""
        self._check_fitted()
        return ()

    @property
    def side_effect_(self) -> float:
        """Advantage of the left side, in log-odds; 0 where it was not estimated."""
        self._check_fitted()
        return 0.0

    @property
    def tie_strength_(self) -> float | None:
        """Davidson's ν; None where ties are not an outcome of their own."""
        self._check_fitted()
        return None

    @property
    def counts_ties_half_(self) -> bool:
        """Whether ties of the votes were counted half, so that nothing is known of the chance of a tie.

        What `predict_proba` gives for a win is then that of a win plus half that of a tie, and so for a loss. A ranker
        that models no ties and keeps no record of the votes is taken to have seen some.
        """
        if self.tie_strength_ is not None:
            return False
        record = self.ranking_.record
        return record is None or bool(record[2].any())

    @property
    def in_margins(self) -> bool:
        """Whether scores are counted in the votes' margins."""
        return False

    @property
    def settings_(self) -> dict[str, Any]:
        """What decides the estimates: parameters, what it chose, and the names of what it was given beside votes."""
        self._check_fitted()
        kept = {name: value for name, value in self.get_params().items() if name not in SEARCH}
        beside = {"features": ",".join(self.feature_names_), "covariates": ",".join(self.covariate_names_)}
        settings = kept | self._chosen() | beside
        return {name: value for name, value in settings.items() if value is not None and value != ""}

    def _chosen(self) -> dict[str, Any]:
        """What the ranker chose from the votes and `settings_` should tell."""
        return {}

    def unfitted(self, **params: Any) -> Self:
        """A new ranker with the same parameters but for `params`, and penalties as this one chose them from the votes.

        >>> from podium import RABF
        >>> votes = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")] * 5)
        >>> model = RABF().fit(votes)
        >>> model.residual_penalty, model.unfitted().residual_penalty == model.residual_penalty_
        ('auto', True)
        """
        kept = self.get_params()
        for name, value in kept.items():
            chosen = vars(self).get(f"{name}_")
            if isinstance(value, str) and value == "auto" and isinstance(chosen, float):
                kept[name] = chosen
        return type(self)(**kept | params)

    # ---- chances --------------------------------------------------------------------------------------------

    def predict_proba(self, comparisons: Comparisons) -> Floats:
        """Chances that the left item of each row wins, ties and loses, under this model: (rows, 3).

        The side, covariates and the judge enter where the model knows of them. The chance of a tie is 0 for a model
        without ties: where the votes had some (`counts_ties_half_`), each was counted half, and the other two are the
        chances of a win and of a loss plus half that of a tie. An item that the model does not know stands in the
        middle. A ranker without chances of its own is given 1 / (1 + exp(−b · difference of scores)), with the b that
        suits the votes it was fitted to best.
        """
        c = as_comparisons(comparisons, "predict_proba")
        self._check_fitted()
        return np.stack(self._outcomes(self._margins(c)), axis=1)

    def score(self, comparisons: Comparisons) -> float:
        """Mean log score of expected points on these votes, weighted; 0 is perfect, −log 2 the toss of a coin.

        A win is one point and a tie half a point for each, for all rankers alike, so that those that model ties and
        those that do not can be compared.
        """
        _, _, outcome, weight = as_comparisons(comparisons, "score").vote_rows()
        win, tie, loss = self.predict_proba(comparisons).T
        points = np.log(np.maximum(win + tie / 2, MIN_CHANCE)), np.log(np.maximum(loss + tie / 2, MIN_CHANCE))
        return float(np.average(outcome * points[0] + (1.0 - outcome) * points[1], weights=weight))

    def predict_interval(self, comparisons: Comparisons, level: float = 0.95) -> tuple[Floats, Floats] | None:
        """Lower and upper bounds of the chances of `predict_proba`, (rows, 3) each; None for a ranker without errors.

        With probability `level` the margin between the two items lies within `quantile(level)` standard errors of the
        one found, and Davidson's ν within `tie_strength_interval`; these are the least and the largest chances that
        margins and ν in their intervals give.
        """
        c = as_comparisons(comparisons, "predict_interval")
        self._check_fitted()
        width = quantile(level)
        variance = self._margin_errors(c)
        if variance is None:
            return None
        half = width * np.sqrt(variance)
        margins = self._margins(c)
        even = np.clip(0.0, margins - half, margins + half)  # where a tie is likeliest
        ends, ties = (margins - half, margins + half, even), self.tie_strength_interval(level)
        if ties is None:
            every = np.array([self._outcomes(end) for end in ends])
        else:
            every = np.array([davidson(end, strength) for end in ends for strength in ties])
        return every.min(axis=0).T, every.max(axis=0).T

    def tie_strength_interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Bounds of Davidson's ν; None where ties are not an outcome of their own, or its error is not known.

        They are `quantile(level)` standard errors of log ν apart from `tie_strength_`. Where no vote was a tie the
        lower one is 0, and at the upper one a tie would have come with a chance of `level`: after 60 votes between
        equals that is where 1 in 20 is a tie.
        """
        width, strength = quantile(level), self.tie_strength_
        if strength is None:
            return None
        if not strength:
            untied = self._untied_votes()
            return None if untied is None else (0.0, _most_ties(*untied, 1.0 - level))
        error = self._tie_error()
        if error is None:
            return None
        low, high = (math.log(strength) + sign * width * error for sign in (-1.0, 1.0))
        return math.exp(max(low, -MAX_LOG_TIES)), math.exp(min(high, MAX_LOG_TIES))

    def _tie_error(self) -> float | None:
        """Standard error of log ν, where it was estimated; None where the ranker does not know it."""
        return None

    def _untied_votes(self) -> tuple[Floats, Floats] | None:
        """Margins and numbers of votes of which none was a tie; None where the ranker does not keep them."""
        return None

    def draw_chances(self, comparisons: Comparisons, draws: int, rng: np.random.Generator) -> Floats:
        """Chances of the rows as they may truly be, (draws, rows, 3): an error of a score is shared by all its rows.

        All draws are those of `predict_proba` where the ranker does not know its errors.
        """
        c = as_comparisons(comparisons, "draw_chances")
        self._check_fitted()
        number_option("draws", draws, least=1, whole=True)
        covariance = self._margin_covariance(c)
        if covariance is None:
            return np.tile(self.predict_proba(c), (draws, 1, 1))
        return np.stack(self._outcomes(_normal_draws(self._margins(c), covariance, draws, rng)), axis=2)

    def _margin_covariance(self, c: Comparisons) -> Floats | None:
        """Covariance of the rows' margins, (rows, rows); None where the ranker does not know it."""
        return None

    def _margin_errors(self, c: Comparisons) -> Floats | None:
        """Variance of each row's margin, in squared log-odds; None where the ranker does not know it."""
        return None

    @property
    def log_likelihood_(self) -> float:
        """Log-likelihood of the votes it was fitted to; a tie is half a win for both where ties are not modelled."""
        self._check_fitted()
        if "_log_likelihood" not in vars(self):
            c = self._training_votes("log_likelihood_")
            _, _, outcome, weight = c.vote_rows()
            win, tie, loss = (np.log(np.maximum(part, 1e-300)) for part in self._outcomes(self._margins(c)))
            tied = 0.5 * (win + loss) if self.tie_strength_ is None else tie
            each = np.where(outcome == 0.5, tied, np.where(outcome == 1.0, win, loss))
            self._log_likelihood = float(weight @ each)
        return self._log_likelihood

    def _training_votes(self, what: str) -> Comparisons:
        if "_training" not in vars(self):
            raise InputError(f"{what} is computed from the votes, and votes given one by one are not kept; call fit")
        return self._training

    def _margins(self, c: Comparisons) -> Floats:
        """What the model has the left item ahead by in each row, in log-odds where the scores are."""
        scores = _aligned(self.ranking_, c.items)
        left, right, _, _ = c.vote_rows()
        gaps: Floats = scores[left] - scores[right]
        return gaps

    def _outcomes(self, margins: Floats) -> tuple[Floats, Floats, Floats]:
        """Chances of win, tie and loss at these margins; a ranker without chances of its own gets the best slope."""
        if "_slope" not in vars(self):
            c = self._training_votes("predict_proba")
            if type(self)._margins is Ranker._margins:  # of the pair alone, so that its votes can be taken together
                self._slope = _best_slope(*_of_pairs(_aligned(self.ranking_, c.items), c.pairs))
            else:
                self._slope = _best_slope(self._margins(c), *c.vote_rows()[2:])
        return logistic(self._slope * margins)

    def _covariate_effects(self, c: Comparisons, coef: Floats) -> Floats | float:
        """What the covariates of the votes add to their margins; votes without any are taken to have equal ones."""
        names = self.covariate_names_
        if c.covariates is None or not names:
            return 0.0
        if missing := [name for name in names if name not in c.covariate_names]:
            raise InputError(
                f"the model was fitted with covariate {missing[0]!r}, which these votes do not have; "
                f"they have {', '.join(map(repr, c.covariate_names))}"
            )
        effects: Floats = c.covariates[:, [c.covariate_names.index(name) for name in names]] @ coef
        return effects

    # ---- storing --------------------------------------------------------------------------------------------

    def __getstate__(self) -> dict[str, Any]:
        """What is stored: not the votes, but what they are kept for."""
        if "_training" in vars(self) and self.__sklearn_is_fitted__():
            _ = self.log_likelihood_  # finds the slope, too
        return {name: value for name, value in vars(self).items() if name != "_training"}


def logistic(margins: Floats) -> tuple[Floats, Floats, Floats]:
    """Chances of win, tie (none) and loss where margins are in log-odds."""
    tail = np.exp(-np.abs(margins))
    likely, upset = 1.0 / (1.0 + tail), tail / (1.0 + tail)
    ahead = margins >= 0
    return np.where(ahead, likely, upset), np.zeros_like(tail), np.where(ahead, upset, likely)


def davidson(margins: Floats, tie_strength: float) -> tuple[Floats, Floats, Floats]:
    """Chances of win, tie and loss in proportion e^(m/2) : ν : e^(−m/2), ν being the tie strength."""
    likely = np.exp(-np.abs(margins))  # the other outcome, and the tie, over the likelier of win and loss
    tie = tie_strength * np.exp(-np.abs(margins) / 2)
    total = 1.0 + likely + tie
    best, worst, ahead = 1.0 / total, likely / total, margins >= 0
    return np.where(ahead, best, worst), tie / total, np.where(ahead, worst, best)


def _most_ties(margins: Floats, number: Floats, chance: float) -> float:
    """The ν at which that many votes with these margins go without a tie with this chance.

    A vote is none with chance 1 / (1 + νq), q = 1 / (e^(m/2) + e^(−m/2)).
    """
    tail = np.exp(-np.abs(margins) / 2)
    share = tail / (1.0 + tail**2)
    low, high = -MAX_LOG_TIES, MAX_LOG_TIES
    while high - low > 1e-9:
        middle = 0.5 * (low + high)
        rare = float(number @ np.log1p(np.exp(middle) * share)) > -math.log(chance)
        low, high = (low, middle) if rare else (middle, high)
    return math.exp(high)


def _normal_draws(mean: Floats, covariance: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draws of a normal vector, (draws, size); the covariance may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    drawn = rng.standard_normal((draws, len(values))) * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(mean + drawn @ vectors.T, dtype=np.float64)


def _aligned(ranking: Ranking, items: Sequence[Any]) -> Floats:
    """Scores in the order of `items`, per unit; one that the ranking does not know stands in the middle."""
    if ranking.items is items:
        return np.asarray(ranking.scores / ranking.unit, dtype=np.float64)
    known = dict(zip(ranking.items, ranking.scores.tolist(), strict=True))
    middle = float(ranking.scores.mean())
    return np.array([known.get(item, middle) for item in items]) / ranking.unit


def _of_pairs(scores: Floats, p: Pairs) -> tuple[Floats, Floats, Floats]:
    """Gap, share of the points and weight of every pair that met."""
    met = np.flatnonzero(p.left_wins + p.right_wins + p.ties > 0)
    total = (p.left_wins + p.right_wins + p.ties)[met].astype(np.float64)
    points = (p.left_wins + p.ties / 2)[met]
    return scores[p.left[met]] - scores[p.right[met]], points / total, total


def _best_slope(gap: Floats, outcome: Floats, weight: Floats) -> float:
    """The b that makes 1 / (1 + exp(−b·gap)) most likely; a little prior keeps it finite on consistent votes."""
    size = math.sqrt(float(weight @ gap**2) / float(weight.sum())) or 1.0
    gap = gap / size
    b = 0.0
    for _ in range(50):
        chance = logistic(b * gap)[0]
        gradient = float(weight @ (gap * (chance - outcome))) + 1e-3 * b
        hessian = float(weight @ (gap**2 * chance * (1 - chance))) + 1e-3
        step = gradient / hessian
        b -= math.copysign(min(abs(step), 5.0), step)
        if abs(step) < 1e-9:
            break
    return b / size
