"""What older model files did not know, names of methods, and errors of chances by their contrasts."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import (
    RABF,
    BradleyTerry,
    Comparisons,
    CrowdBradleyTerry,
    DynamicBradleyTerry,
    Elo,
    OnlineRABF,
    PlackettLuce,
    WinRate,
    pairwise,
)
from podium.errors import InputError
from podium.pairwise import _Methods, method_of, ranker
from podium.pairwise._fit.walk_model import WalkFeatures, written_out
from podium.pairwise.base import Ranker

TREATED = {"feature_penalty": "auto", "standardize": True, "missing": "error", "one_hot": False}


@pytest.mark.parametrize(
    ("cls", "version", "more"),
    [
        (Elo, 1, {"side_advantage": 0.0, "margins": False, "_record": None}),
        (CrowdBradleyTerry, 2, {"side_effect_std_error_": None}),
        (OnlineRABF, 1, {"flip_rate": 0.0}),
        (BradleyTerry, 2, {"half_life": None}),
        (BradleyTerry, 3, {"half_life": None}),
        (DynamicBradleyTerry, 1, TREATED),
    ],
)
def test_what_an_older_file_did_not_know_is_as_it_was_then(cls, version, more):
    assert cls.upgraded({"l2": 0.3}, version) == {"l2": 0.3} | more
    kept = dict.fromkeys(more, "kept")
    assert cls.upgraded(dict(kept), version) == kept


def test_first_files_of_bradley_terry_knew_no_bias_reduction_and_no_counts():
    found = BradleyTerry.upgraded({"l2": 0.3}, 1)
    assert (found["bias_reduction"], found["half_life"], found["l2"]) == (False, None, 0.3)
    assert (found["_n_parameters"], found["_counted"]) == (0, False)
    assert math.isnan(found["votes_per_parameter_"])
    assert math.isnan(found["n_votes_"])


def test_first_files_of_rabf_and_plackett_luce():
    found = RABF.upgraded({"feature_spread_": 1.5, "_covariate_names": ("x", "y"), "covariate_coef_": [2.0, 3.0]}, 1)
    assert found["feature_std_"] == 1.5
    assert found["_columns"] == ("covariate:x", "covariate:y")
    assert found["_extras"] == [2.0, 3.0]
    assert (found["ties"], found["side_effect"], found["max_norm"], found["binding_"]) == ("half", False, None, ())
    assert (found["_basis"], found["row_weights"]) == (None, None)
    assert math.isnan(found["feature_radius_"])
    assert not {"feature_spread_", "_covariate_names", "covariate_coef_"} & set(found)
    none = RABF.upgraded({}, 3)
    assert (none["_columns"], none["_extras"].shape) == ((), (0,))
    scores = np.array([1.0, -1.0])
    found = PlackettLuce.upgraded({"ranking_": SimpleNamespace(scores=scores), "l2": 2}, 1)
    assert found["residuals_"].tolist() == [1.0, -1.0]
    assert found["residuals_"] is not scores
    assert {name: found[name] for name in TREATED} == TREATED
    assert (found["l2"], found["_origin"], found["coef_"].shape) == (2, 0.0, (0,))
    dynamic = DynamicBradleyTerry.upgraded({"_scores": 1, "_history": {"items": "abc"}}, 1)
    assert dynamic["_table"].shape == (3, 0)
    assert (dynamic["_drifts"], dynamic["_held"]) == ([], None)


def test_methods_of_other_packages_are_found_and_a_name_of_ours_stays_ours(monkeypatch):
    points = [
        SimpleNamespace(name=name, module=module, attr=attr)
        for name, module, attr in (
            ("zeal", "podium.pairwise.counting", "WinRate"), ("elo", "elsewhere", "Elo"),
            ("nowhere", "no_such_module_of_ours", "X"), ("strange", "math", "sqrt"),
        )
    ]  # fmt: skip
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: points if group == "podium.rankers" else [])
    methods = _Methods()
    monkeypatch.setattr(pairwise, "METHODS", methods)
    assert list(methods)[-3:] == ["nowhere", "strange", "zeal"]
    assert len(methods) == len(pairwise.OURS) + 3
    assert methods["elo"] == pairwise.OURS["elo"]
    assert ranker("zeal") is WinRate
    assert ranker("elo") is Elo
    with pytest.raises(InputError, match="'nowhere': no_such_module_of_ours:X cannot be loaded"):
        ranker("nowhere")
    with pytest.raises(InputError, match=r"math:sqrt is not a subclass of podium\.pairwise\.Ranker"):
        ranker("strange")
    for unknown in ("none", None, 3):
        with pytest.raises(InputError, match=f"method {unknown!r} is not known; choose one of"):
            ranker(unknown)
    own = type("Own", (Ranker,), {"__module__": "elsewhere"})
    assert method_of(own) == "Own"
    with pytest.raises(NotImplementedError, match="Own does not say how it is fitted"):
        own().fit(None)
    assert method_of(Elo) == "elo"


@pytest.mark.parametrize("l2", ["auto", 0.3])
def test_errors_of_margins_are_those_of_their_contrasts(l2):
    """Left less right, the side where it was taken, covariates; an item nobody met is known to the spread alone."""
    rng = np.random.default_rng(0)
    left = rng.integers(0, 4, 200)
    right = (left + rng.integers(1, 4, 200)) % 4
    x = rng.normal(size=(200, 2))
    won = rng.random(200) < 1 / (1 + np.exp(0.4 * (left - right) - 0.3 - 0.5 * x[:, 0]))
    votes = Comparisons(
        tuple("abcd"), left, right, outcome=np.where(won, 1, -1).astype(np.int8), sided=True, covariates=x,
        covariate_names=("x", "y"),
    )  # fmt: skip
    model = BradleyTerry(l2=l2, side_effect=True).fit(votes)
    covariance = model._joint_covariance()
    assert covariance.shape == (7, 7)
    z = np.array([[0.5, 2.0], [1.0, -1.0], [0.0, 3.0]])
    asked = Comparisons(
        tuple("abcz"), np.array([0, 2, 3]), np.array([1, 0, 1]), outcome=np.ones(3, np.int8), sided=True,
        covariates=z[:, ::-1].copy(), covariate_names=("y", "x"),
    )  # fmt: skip
    place = {item: k for k, item in enumerate(model.ranking_.items)}
    rows = np.zeros((3, 7))
    for row, (one, other) in enumerate(("ab", "ca", "zb")):
        for item, sign in ((one, 1.0), (other, -1.0)):
            if item in place:
                rows[row, place[item]] = sign
        rows[row, 4:6], rows[row, 6] = z[row], 1.0
    unknown = np.array([0.0, 0.0, 1.0]) * (model.sd_ or 0.0) ** 2
    expected = rows @ covariance @ rows.T + np.diag(unknown)
    assert_allclose(model._margin_covariance(asked), expected, atol=1e-12)
    assert_allclose(model._margin_errors(asked), expected.diagonal(), atol=1e-12)


def test_tables_of_features_are_written_out_up_to_a_limit(monkeypatch):
    from scipy.sparse import csr_array

    table = np.arange(6.0).reshape(3, 2)
    assert written_out(csr_array(table)).tolist() == written_out(table).tolist() == table.tolist()
    monkeypatch.setattr("podium.pairwise._fit.walk_model.MAX_DESIGN", 5)
    with pytest.raises(InputError, match="features: 3 items and 2 features are too many; keep fewer features"):
        written_out(table)


def test_the_prior_of_weights_is_centred_where_the_features_explain_a_deviation_of_one():
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(50, 3)) * [1.0, 0.2, 4.0]
    seen = np.arange(50) < 40
    centre = WalkFeatures.prior_centre.fget(SimpleNamespace(matrix=matrix, seen=seen))
    drawn = matrix[seen] @ (math.exp(centre) * rng.normal(size=(3, 40_000)))
    assert np.mean(drawn.var(axis=0)) == pytest.approx(1.0, rel=0.03)
