"""CrowdBradleyTerry: Bradley-Terry scores from judges who are not equally reliable."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.validation import number_option
from podium.errors import InputError, Option, SeparationWarning
from podium.pairwise._fit.judge_model import JudgeModel
from podium.pairwise._fit.judge_tests import JudgeTest, flag_judges
from podium.pairwise._fit.marginal import MAX_SD
from podium.pairwise._fit.solvers import SEPARATES
from podium.pairwise.base import Ranker, Uses, logistic
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import settled
from podium.ranking.uncertainty import mean_chance_margin

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CrowdBradleyTerry"]

Floats = NDArray[np.float64]

NODES = 21  # of a mean over a judge's slope


class CrowdBradleyTerry(Ranker):
    """Rank items by votes of judges who are not equally reliable.

    Judge k prefers i to j with chance 1 / (1 + exp(−b_k (s_i − s_j))). The slope b_k is the judge's reliability: 1 on
    average over judges, 0 for one who flips coins, negative for one who answers the wrong way round. Slopes are draws
    from N(1, τ²) and are integrated out (a random-effects model), so that many judges with few votes each do no harm;
    τ comes from the votes. Where judges are more likely alike, τ = 0 and this is `BradleyTerry`.

    Parameters
    ----------
    l2 : float or "auto"
        Pull of the scores towards zero; "auto" takes it from the votes, as in `BradleyTerry`.
    reliability_sd : float or "auto"
        Standard deviation τ of the judges' reliabilities. "auto" takes its posterior mean, the prior being that judges
        differ in two sets of three, then by about .5; it is 0 where judges are more likely alike, and unless there are
        15 votes for each item's score, and ten judges have five votes, or three have 25.
    side_effect : bool
        Estimate how far each judge leans to the left side, whatever is shown there: draws from a normal distribution
        whose mean and standard deviation come from the votes, the latter 0 unless leans that differ raise the
        log-likelihood by 1.35. Needs votes that say which side was which. With `l2="auto"` the mean is found without
        the penalty, as the side effect of `BradleyTerry` is.
    max_iter : int
        Newton steps allowed before `ConvergenceError`.
    tol : float
        How far a score may be from the optimum, in log-odds.

    Attributes
    ----------
    ranking_ : Ranking
    judges_ : labels of the judges
    reliability_, reliability_std_errors_ : arrays, aligned with `judges_`
        Mean and standard deviation of each judge's slope, given the votes.
    reliability_sd_ : float
        τ; 0 where judges are taken to be alike.
    lean_, lean_std_errors_ : arrays, aligned with `judges_`
        Each judge's lean to the left side, in log-odds; 0 without `side_effect`.
    side_effect_, lean_sd_ : float
        Mean of the leans over judges, and their standard deviation.
    side_effect_std_error_ : float or None
        Standard error of that mean; None without `side_effect`, and with an `l2` that is a number for very many items.
    l2_, sd_ : float
        The penalty used and, with "auto", the standard deviation of the true scores.
    flags_ : dict from judge to "chance" or "contrary"
    log_likelihood_ : float, with the judges integrated out
    n_iter_ : int

    References
    ----------
    Louis (1982) for the Hessian; Benjamini & Hochberg (1995) for the flags.

    Examples
    --------
    >>> most, few = ["tea"] * 20 + ["milk"] * 5, ["tea"] * 5 + ["milk"] * 20
    >>> votes = Comparisons.from_arrays(
    ...     most * 3 + few, [{"tea": "milk", "milk": "tea"}[item] for item in most * 3 + few],
    ...     judge=[name for name in ("ann", "bob", "kim", "eve") for _ in range(25)])
    >>> model = CrowdBradleyTerry().fit(votes)
    >>> model.ranking_.order, model.flags_
    (('tea', 'milk'), {'eve': 'contrary'})
    """

    uses = Uses(judges=True, sides=True)
    state_version = 3  # since the mean lean has an error
    oldest_read = 2  # before, judges' reliabilities were parameters of their own

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Version 2 did not tell the error of the mean lean."""
        return {"side_effect_std_error_": None} | state

    def __init__(
        self,
        *,
        l2: float | str = "auto",
        reliability_sd: float | str = "auto",
        side_effect: bool = False,
        max_iter: int = 200,
        tol: float = 1e-6,
    ) -> None:
        self.l2 = l2
        self.reliability_sd = reliability_sd
        self.side_effect = side_effect
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, comparisons: Comparisons) -> Self:
        """Find the scores of the items, and how reliable the judges are."""
        c = comparisons
        self._check(c)
        assert c.judge is not None
        auto = self.l2 == "auto"
        c.check_connected(None if auto else float(self.l2))
        model = JudgeModel(c, bool(self.side_effect), self.tol, self.max_iter)
        loose, free = model.differences(self.reliability_sd)
        self.sd_: float | None = None
        if auto and self.side_effect:
            loose = model.hold_lean(loose, free)
        if auto:
            self.sd_, found = model.prior(loose)
            self._l2 = 0.5 / self.sd_**2
        else:
            self._l2 = float(self.l2) * model.worth
            found = model.penalised(loose, self._l2, loose)
        self.l2_ = self._l2 / model.worth
        self.n_iter_ = found.n_iter
        self.judges_ = c.judges
        self.reliability_, self.reliability_std_errors_ = found.integral.slope()
        self.lean_, self.lean_std_errors_ = found.integral.lean()
        self._side, self.reliability_sd_, self.lean_sd_ = (float(each) for each in found.extras)
        self.side_effect_std_error_ = model.lean_error(found, self._l2)
        self._found, self._cast = found, np.bincount(c.judge, c.vote_rows()[3], len(c.judges))
        vars(self).pop("_tests", None)
        scores = settled(found.scores, self.tol)
        open_ended = np.logical_or(*c.adjacency.open_ended)
        # An open-ended score is held by the penalty alone, and must not move the others by moving the mean.
        scores = scores - (scores if open_ended.all() else scores[~open_ended]).mean()
        self.ranking_ = Ranking(
            c.items,
            scores,
            information=partial(model.information, loose, model.loose_l2, free)
            if auto
            else partial(model.information, found, self._l2, ()),
            posterior=partial(model.posterior, found, self._l2) if auto else None,
            record=c.record,
        )
        if abs(self._side) > SEPARATES:
            warnings.warn(
                f"the side separates the votes (almost) perfectly: its effect {self._side:.3g} has no finite optimum; "
                "leave it out, or look for a leak",
                SeparationWarning,
                stacklevel=2,
            )
        self._model = model
        self._fitted_to(c)
        self._log_likelihood = model.log_likelihood(found) / model.worth
        return self

    def _check(self, c: Comparisons) -> None:
        as_comparisons(c)
        for name in ("l2", "reliability_sd"):
            value = getattr(self, name)
            if not (isinstance(value, str) and value == "auto"):
                number_option(name, value, least=0, more=", or 'auto'")
        if self.reliability_sd != "auto" and float(self.reliability_sd) > MAX_SD:
            raise InputError(
                f"reliability_sd is {self.reliability_sd!r}, more than judges differ by; give at most {MAX_SD:g}"
            )
        number_option("tol", self.tol, above=0)
        number_option("max_iter", self.max_iter, least=1, whole=True)
        if c.judge is None:
            raise InputError(
                "the votes name no judge; name the column of the judge by ", Option("judge"), ", or use Bradley-Terry"
            )
        if len(c.judges) == 1:
            raise InputError(f"the only judge is {c.judges[0]!r}: there is no one to compare with; use Bradley-Terry")
        if self.side_effect and not c.sided:
            raise InputError(
                Option("side_effect", True),
                " needs votes that say which item stood on which side: give left, right and outcome "
                "rather than winner and loser",
            )

    # ---- chances --------------------------------------------------------------------------------------------

    def predict_proba(self, comparisons: Comparisons) -> Floats:
        """Chances that the left item of each row wins, ties (never) and loses: (rows, 3).

        A judge that the model knows is predicted by that judge's reliability, as well as it is known; votes without a
        judge, or of a new one, by the mean over all judges. With a penalty from the votes chances allow for how well
        the scores are known, too. Ties of the votes were counted half: a win is a win plus half a tie.
        """
        c = as_comparisons(comparisons, "predict_proba")
        self._check_fitted()
        place = {judge: k for k, judge in enumerate(self.judges_)}
        codes = np.full(len(c.left), -1)
        if c.judge is not None:
            codes = np.array([place.get(judge, -1) for judge in c.judges] or [-1])[c.judge]
        where = {item: k for k, item in enumerate(self.ranking_.items)}
        ends = np.array([where.get(item, -1) for item in c.items])
        one, other = ends[c.left], ends[c.right]
        known = (one >= 0) & (other >= 0)
        variance = np.where(known, self.ranking_.difference_variance(np.maximum(one, 0), np.maximum(other, 0)), 0.0)
        win = self._win_chances(self._margins(c), variance, codes, leaning=c.sided)
        return np.stack([win, np.zeros_like(win), 1.0 - win], axis=1)

    def win_probability(self, a: Hashable, b: Hashable, *, judge: Hashable | None = None) -> float:
        """Chance that some judge, or the one named, prefers `a`, neither side being favoured."""
        self._check_fitted()
        if judge is not None and judge not in self.judges_:
            raise InputError(f"{judge!r} is not among the {len(self.judges_)} judges")
        code = -1 if judge is None else self.judges_.index(judge)
        gap = np.array([self.ranking_.score(a) - self.ranking_.score(b)])  # refuses an unknown item by name
        places = np.array([[self.ranking_.items.index(item)] for item in (a, b)])
        variance = self.ranking_.difference_variance(*places)
        return float(self._win_chances(gap, variance, np.array([code]), leaning=False)[0])

    def _win_chances(self, gap: Floats, variance: Floats, judge: NDArray[Any], *, leaning: bool) -> Floats:
        """Chances at score differences known so well, by judges of these numbers; −1 is any judge."""
        slope, slope_sd = (
            np.append(each, typical)[judge]
            for each, typical in ((self.reliability_, 1.0), (self.reliability_std_errors_, self.reliability_sd_))
        )
        lean, lean_sd = np.zeros(len(gap)), np.zeros(len(gap))
        if leaning:
            lean, lean_sd = (
                np.append(each, typical)[judge]
                for each, typical in ((self.lean_, self._side), (self.lean_std_errors_, self.lean_sd_))
            )
        win = np.zeros(len(gap))
        nodes, mass = np.polynomial.hermite_e.hermegauss(NODES if slope_sd.any() else 1)
        for node, share in zip(nodes, mass / mass.sum(), strict=True):
            b = slope + slope_sd * node
            win += share * logistic(mean_chance_margin(b * gap + lean, b**2 * variance + lean_sd**2))[0]
        return win

    @property
    def log_likelihood_(self) -> float:
        """Log-likelihood of the votes it was fitted to, the judges integrated out; a tie is half a win for both."""
        self._check_fitted()
        return self._log_likelihood

    @property
    def side_effect_(self) -> float:
        """Mean of the judges' leans to the left side, in log-odds; 0 where it was not estimated."""
        self._check_fitted()
        return self._side

    def _chosen(self) -> dict[str, Any]:
        return {"sd": self.sd_, "judges_sd": self.reliability_sd_}

    # ---- judges ---------------------------------------------------------------------------------------------

    @property
    def flags_(self) -> dict[Hashable, str]:
        """Judges whose votes are worse than an honest judge's: "chance" or "contrary".

        Tested are judges with at least 25 decided votes, each against scores found without them. "contrary": coin flips
        would agree with the others more. "chance": significantly less reliable than half the median judge, and not
        shown to be better than coin flips, which is no accusation. Where all judges are honest, somebody is flagged
        in at most 5 % of sets.
        """
        tested = {k: JudgeTest(*row) for k, row in enumerate(self._judge_tests().tolist()) if row[0] == row[0]}
        return {self.judges_[k]: flag for k, flag in flag_judges(tested).items()}

    def _judge_tests(self) -> Floats:
        """P-values of every judge's tests, (judges, 3); NaN for judges with too few votes."""
        self._check_fitted()
        if "_tests" not in vars(self):
            self._tests = np.full((len(self.judges_), 3), np.nan)
            for k, test in self._model.tests(self._found, self._l2).items():
                self._tests[k] = test.honest, test.chance, test.better
        return self._tests

    def judge_frame(self) -> pl.DataFrame:
        """One row a judge, least reliable first: reliability, its standard error, votes, p-value and flag.

        The p-value is that of being at least half as reliable as the median judge; null with fewer than 25 votes.
        With `side_effect` also the lean to the left side and its standard error.
        """
        import polars as pl

        flags = self.flags_
        leans = {"lean": self.lean_, "lean_std_error": self.lean_std_errors_} if self.side_effect else {}
        return pl.DataFrame(
            {
                "judge": [str(judge) for judge in self.judges_],
                "reliability": self.reliability_,
                "std_error": self.reliability_std_errors_,
                **leans,
                "votes": self._cast,
                "p_value": pl.Series(self._judge_tests()[:, 0], nan_to_null=True),
                "flag": pl.Series([flags.get(judge) for judge in self.judges_], dtype=pl.String),
            }
        ).sort("reliability", "p_value", nulls_last=True, maintain_order=True)

    def __getstate__(self) -> dict[str, Any]:
        if "_model" in vars(self):
            self._judge_tests()
        return {name: value for name, value in super().__getstate__().items() if name not in ("_model", "_found")}
