"""Nested models against R's anova and logLik, the ½χ² of a boundary, and the level of the tests."""

import dataclasses
import json
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

from baseball import baseball
from podium import BradleyTerry, Comparisons
from podium.cli import main
from podium.errors import InputError
from podium.evaluate import compare_nested, likelihood_ratio_test
from podium.evaluate.nested import _ratio


def test_home_advantage_in_baseball_agrees_with_r():
    """anova(m0, m1, test = "Chisq"), logLik, AIC and BIC of BTm on single games; BradleyTerry2 1.1.2 on R 4.2.2."""
    votes = baseball()
    plain = BradleyTerry(l2=0, tol=1e-9).fit(votes)
    home = BradleyTerry(l2=0, side_effect=True, tol=1e-9).fit(votes)
    test = likelihood_ratio_test(plain, home)
    assert test.statistic == pytest.approx(5.4106090846, abs=1e-6)
    assert test.degrees == 1
    assert test.p_value == pytest.approx(0.020014731366, abs=1e-8)
    assert home.log_likelihood_ == pytest.approx(-169.542871452, abs=1e-6)
    assert home.n_parameters_ == 7
    assert home.aic_ == pytest.approx(353.085742905, abs=1e-6)
    assert home.bic_ == pytest.approx(378.352045471, abs=1e-6)


def test_the_frame_says_the_same():
    frame = compare_nested(baseball())
    assert frame["model"].to_list() == ["scores", "+ position bias"]
    assert frame["p_value"][0] is None
    assert frame["p_value"][1] == pytest.approx(0.020014731366, abs=1e-6)
    assert frame["aic"][1] == pytest.approx(353.085742905, abs=1e-4)
    assert frame["bic"][1] == pytest.approx(378.352045471, abs=1e-4)
    assert frame["log_likelihood"][1] == pytest.approx(-169.542871452, abs=1e-5)
    assert frame["statistic"].to_list() == [None, pytest.approx(5.4106090846, abs=1e-4)]
    assert frame["degrees"].to_list() == [None, 1]
    assert frame["parameters"].to_list() == [6, 7]


def test_a_parameter_at_the_end_of_its_range_counts_half():
    from scipy.stats import chi2

    one = _ratio(-10.0, -8.5, 1, boundary=1)
    assert one.p_value == pytest.approx(chi2.sf(3.0, 1) / 2)
    assert _ratio(-10.0, -8.5, 2, boundary=1).p_value == pytest.approx((chi2.sf(3.0, 1) + chi2.sf(3.0, 2)) / 2)
    assert _ratio(-10.0, -10.0, 1, boundary=1).p_value == pytest.approx(1.0)


def honest(rng, n=6, m=240, judges=8, unreliable=False):
    """Votes with sides, a covariate without effect, and judges, alike or half of them flipping coins."""
    scores = 0.6 * rng.normal(size=n)
    left = rng.integers(0, n, m).astype(np.int32)
    right = ((left + rng.integers(1, n, m)) % n).astype(np.int32)
    judge = rng.integers(0, judges, m).astype(np.int32)
    slope = np.where(unreliable & (judge % 2 == 0), 0.0, 1.0 + unreliable)
    won = rng.random(m) < 1 / (1 + np.exp(-slope * (scores[left] - scores[right])))
    outcome = np.where(won, 1, -1).astype(np.int8)
    columns = {"outcome": outcome, "sided": True, "judge": judge, "judges": tuple(range(judges))}
    covariates = {"covariates": rng.normal(size=(m, 1)), "covariate_names": ("x",)}
    return Comparisons(tuple(range(n)), left, right, **columns), covariates


def test_effects_that_are_not_there_are_found_as_often_as_the_level_says():
    p_values = []
    for seed in range(100):
        votes, covariates = honest(np.random.default_rng([3, seed]))
        votes = dataclasses.replace(votes, judge=None, judges=(), **covariates)
        p_values.append(compare_nested(votes)["p_value"].to_list()[1:])
    below = np.mean(np.array(p_values) < 0.05)
    assert 0.01 <= below <= 0.09  # 200 tests: 5 % give or take 4


def test_judges_who_differ_are_found_and_judges_alike_are_not():
    alike = compare_nested(honest(np.random.default_rng(0))[0])
    assert alike["model"].to_list() == ["scores", "+ position bias", "scores + judges differ"]
    assert alike["p_value"][-1] > 0.05
    assert compare_nested(honest(np.random.default_rng(1), unreliable=True)[0])["p_value"][-1] < 0.001


@pytest.mark.parametrize("sided", [False, True])
def test_each_covariate_is_added_to_those_before_it(sided):
    votes, _ = honest(np.random.default_rng(4))
    x = np.random.default_rng(5).normal(size=(len(votes.left), 3))
    votes = dataclasses.replace(votes, judge=None, judges=(), sided=sided)
    with_all = dataclasses.replace(votes, covariates=x, covariate_names=("x", "y", "z"))
    frame = compare_nested(with_all)
    models = [BradleyTerry(l2=0).fit(votes)]
    if sided:
        models.append(BradleyTerry(l2=0, side_effect=True).fit(votes))
    for k in (1, 2, 3):
        part = dataclasses.replace(votes, covariates=x[:, :k].copy(), covariate_names=("x", "y", "z")[:k])
        models.append(BradleyTerry(l2=0, side_effect=sided).fit(part))
    assert frame["model"].to_list() == ["scores", *["+ position bias"][:sided], "+ x", "+ y", "+ z"]
    for column in ("log_likelihood", "aic", "bic"):
        assert frame[column].to_list() == pytest.approx([getattr(model, f"{column}_") for model in models], abs=1e-6)
    assert frame["parameters"].to_list() == [model.n_parameters_ for model in models]
    gains = 2 * np.diff([model.log_likelihood_ for model in models])
    assert frame["statistic"].to_list()[1:] == pytest.approx(gains, abs=1e-6)
    assert frame["degrees"].to_list()[1:] == [1] * len(gains)


def test_what_is_no_test_is_refused():
    votes = baseball()
    plain, home = (BradleyTerry(l2=0, side_effect=side).fit(votes) for side in (False, True))
    with pytest.raises(InputError, match="is about the maximum of the likelihood; fit with l2=0"):
        likelihood_ratio_test(BradleyTerry().fit(votes), home)
    with pytest.raises(InputError, match=r"aic_ is about the maximum of the likelihood; fit with l2=0"):
        _ = BradleyTerry().fit(votes).aic_
    with pytest.raises(InputError, match="without bias_reduction"):
        _ = BradleyTerry(l2=0, bias_reduction=True).fit(votes).bic_
    for models in ((plain, votes), (votes, plain)):
        with pytest.raises(InputError, match="takes fitted BradleyTerry models, not Comparisons"):
            likelihood_ratio_test(*models)
    with pytest.raises(InputError, match="the larger model lacks 'side'"):
        likelihood_ratio_test(home, plain)
    with pytest.raises(InputError, match="the same effects"):
        likelihood_ratio_test(home, home)
    with pytest.raises(InputError, match="different votes"):
        likelihood_ratio_test(BradleyTerry(l2=0).fit(Comparisons.from_pairs([("a", "b"), ("b", "a")])), home)
    with pytest.raises(InputError, match="no sides, covariates or judges"):
        compare_nested(Comparisons.from_pairs([("a", "b"), ("b", "a")]))
    with pytest.raises(InputError, match="takes Comparisons"):
        compare_nested([("a", "b")])
    weighted = Comparisons.from_arrays(["a", "b"], ["b", "a"], weight=[0.5, 0.7])
    with pytest.raises(InputError, match="needs votes that are counts"):
        _ = BradleyTerry(l2=0).fit(weighted).aic_


def test_the_command_prints_the_tests(tmp_path):
    votes = baseball()
    lines = ["home,away,outcome"]
    for left, right, outcome, count in zip(votes.left, votes.right, votes.outcome, votes.count, strict=True):
        lines += [f"t{left},t{right},{'left' if outcome > 0 else 'right'}"] * int(count)
    path = tmp_path / "games.csv"
    path.write_text("\n".join(lines) + "\n")
    options = ["compare", str(path), "--left", "home", "--right", "away", "--nested"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shown = CliRunner().invoke(main, [*options, "--format", "json"])
    assert shown.exit_code == 0, shown.output
    rows = json.loads(shown.stdout)
    rows = rows["rows"] if isinstance(rows, dict) else rows
    assert rows[1]["p_value"] == pytest.approx(0.020014731366, abs=1e-6)
    table = CliRunner().invoke(main, [*options, "--format", "table"])
    assert "+ position bias" in table.stdout
    assert "0.0200" in table.stdout
    refused = CliRunner().invoke(main, [*options, "--method", "elo"])
    assert isinstance(refused.exception, InputError)
    assert "does not apply to" in str(refused.exception)
