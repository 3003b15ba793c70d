"""Nested models: do position bias, covariates or differences between judges explain more than chance would?

Wilks' test: twice the gain in log-likelihood of the larger of two nested models, each at its maximum, is χ² with as
many degrees of freedom as it has more parameters, if the smaller one is true. A parameter that the smaller model puts
at the end of its range (a standard deviation of 0) counts half: the statistic is then an even mixture of χ² with and
without it (Self & Liang 1987). Penalised fits are no maxima, so that models are fitted with l2 = 0 here.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.comparisons import Comparisons, as_comparisons
from podium.errors import InputError, Option
from podium.pairwise.bradley_terry import BradleyTerry
from podium.pairwise.crowd import CrowdBradleyTerry

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LikelihoodRatio", "compare_nested", "likelihood_ratio_test"]

LARGEST_RELIABILITY_SD = 3.0  # of judges' slopes about 1
SEARCH_STEPS = 20


@dataclass(frozen=True, slots=True)
class LikelihoodRatio:
    """A likelihood-ratio test.

    Attributes
    ----------
    statistic : float
        Twice the gain in log-likelihood.
    degrees : int
        Parameters that the larger model has more.
    boundary : int
        How many of these (0 or 1) the smaller model puts at the end of their range.
    p_value : float
    """

    statistic: float
    degrees: int
    boundary: int
    p_value: float


def likelihood_ratio_test(smaller: BradleyTerry, larger: BradleyTerry) -> LikelihoodRatio:
    """Test a model against a larger one with more effects, both fitted with `l2=0` to the same votes.

    >>> votes = Comparisons.from_frame({"left": list("aabbab"), "right": list("bbaaba"), "outcome": list("lrlrll")})
    >>> plain, sided = (BradleyTerry(l2=0, side_effect=side).fit(votes) for side in (False, True))
    >>> round(likelihood_ratio_test(plain, sided).p_value, 2)  # twice 6 ln 2 + 4 ln 2/3 + 2 ln 1/3, chi-squared
    0.41
    """
    for model in (smaller, larger):
        if not isinstance(model, BradleyTerry):
            raise InputError(f"likelihood_ratio_test takes fitted BradleyTerry models, not {type(model).__name__}")
        model._require_maximum("a likelihood-ratio test")
    if smaller.ranking_.items != larger.ranking_.items or smaller.n_votes_ != larger.n_votes_:
        raise InputError("the two models were fitted to different votes; fit both to the same")
    if smaller.ties != larger.ties and larger.tie_strength_ != 0.0:
        raise InputError(
            "ties counted half and ties as outcomes of their own are likelihoods of different things; fit both with "
            "the same ",
            Option("ties"),
        )
    if more := [name for name in smaller.effects_ if name not in larger.effects_]:
        raise InputError(f"the larger model lacks {more[0]!r}, which the smaller one has: they are not nested")
    degrees = larger.n_parameters_ - smaller.n_parameters_
    if degrees == 0:
        raise InputError("the two models have the same effects; there is nothing to test")
    return _ratio(smaller.log_likelihood_, larger.log_likelihood_, degrees)


def _ratio(smaller: float, larger: float, degrees: int, boundary: int = 0) -> LikelihoodRatio:
    from scipy.special import chdtrc  # scipy.stats takes a second to load

    statistic = max(2.0 * (larger - smaller), 0.0)  # rounding may leave it below
    beyond = float(chdtrc(degrees, statistic))
    if boundary:
        fewer = float(chdtrc(degrees - 1, statistic)) if degrees > 1 else float(statistic == 0.0)
        beyond = 0.5 * (beyond + fewer)
    return LikelihoodRatio(statistic, degrees, boundary, beyond)


def compare_nested(votes: Comparisons) -> pl.DataFrame:
    """Fit Bradley-Terry models of growing size with `l2=0`, each tested against the one before.

    First the scores alone; then with the position bias, where votes say which side was which; then with each of their
    covariates; and, where they name judges and have no covariates, with judges who are not equally reliable.

    Returns a frame with model, parameters, log_likelihood, aic, bic, statistic, degrees and p_value.
    """
    import polars as pl

    c = as_comparisons(votes, "compare_nested")
    rows: list[dict[str, Any]] = []
    model: BradleyTerry | None = None
    for name, part, side in _steps(c):
        larger = BradleyTerry(l2=0, side_effect=side).fit(part)
        test = None if model is None else likelihood_ratio_test(model, larger)
        rows.append(_row(name, larger.n_parameters_, larger.log_likelihood_, larger.n_votes_, test))
        model = larger
    assert model is not None, "the scores alone come first"
    if c.judge is not None and c.covariates is None and len(c.judges) > 1:
        rows.append(_with_judges(c, model))
    if len(rows) == 1:
        raise InputError("the votes have no sides, covariates or judges: there is no effect to test")
    return pl.DataFrame(rows, infer_schema_length=None)


def _steps(c: Comparisons) -> list[tuple[str, Comparisons, bool]]:
    """Name, votes with the covariates so far, and whether with the side."""
    plain = dataclasses.replace(c, covariates=None, covariate_names=())
    steps = [("scores", plain, False)]
    if c.sided:
        steps.append(("+ position bias", plain, True))
    for k, name in enumerate(c.covariate_names, start=1):
        assert c.covariates is not None, "they have names"
        part = dataclasses.replace(c, covariates=c.covariates[:, :k].copy(), covariate_names=c.covariate_names[:k])
        steps.append((f"+ {name}", part, c.sided))
    return steps


def _with_judges(c: Comparisons, model: BradleyTerry) -> dict[str, Any]:
    """The row of a model whose judges' reliabilities vary about 1, with the most likely standard deviation."""
    from scipy.optimize import minimize_scalar

    plain = BradleyTerry(l2=0).fit(dataclasses.replace(c, covariates=None, covariate_names=()))

    def loss(sd: float) -> float:
        return -CrowdBradleyTerry(l2=0, reliability_sd=sd).fit(c).log_likelihood_

    bounds = (0.0, LARGEST_RELIABILITY_SD)
    optimum = minimize_scalar(loss, bounds=bounds, method="bounded", options={"maxiter": SEARCH_STEPS, "xatol": 1e-3})
    best = max(-float(optimum.fun), plain.log_likelihood_)
    test = _ratio(plain.log_likelihood_, best, 1, boundary=1)
    name = "scores + judges differ" if model.effects_ else "+ judges differ"
    return _row(name, plain.n_parameters_ + 1, best, plain.n_votes_, test)


def _row(
    name: str, parameters: int, log_likelihood: float, votes: float, test: LikelihoodRatio | None
) -> dict[str, Any]:
    return {
        "model": name,
        "parameters": parameters,
        "log_likelihood": log_likelihood,
        "aic": 2.0 * parameters - 2.0 * log_likelihood,
        "bic": parameters * float(np.log(votes)) - 2.0 * log_likelihood,
        "statistic": None if test is None else test.statistic,
        "degrees": None if test is None else test.degrees,
        "p_value": None if test is None else test.p_value,
    }
