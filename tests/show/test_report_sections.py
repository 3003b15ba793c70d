"""Sections of the report on features, covariates and judges."""

import re

import numpy as np

from podium import RABF, BradleyTerry, Comparisons, CrowdBradleyTerry, DynamicBradleyTerry, WinRate
from podium.show.report import Report
from podium.show.report_sections import sections


def votes(**more):
    rng = np.random.default_rng(0)
    left = rng.integers(0, 8, 400)
    right = (left + rng.integers(1, 8, 400)) % 8
    won = rng.random(400) < 1 / (1 + np.exp(0.4 * (left - right)))
    labels = [f"<i>{k}" for k in range(8)]
    return Comparisons.from_arrays(np.where(won, left, right), np.where(won, right, left), items=labels, **more)


def test_features_outliers_and_unseen_items_are_on_the_page_and_escaped():
    features = {f"<i>{k}": {"<size>": float(k)} for k in range(8)} | {"<new>": {"<size>": 3.5}}
    data = votes()
    model = RABF(feature_penalty=0.1, residual_penalty=1.0).fit(data, features)
    page = str(Report(model.ranking_, data, model=model))
    assert "<h2>Features" in page
    assert "&lt;size&gt;" in page
    assert f"{model.coef_[0]:+.4g}" in page
    assert "without votes: &lt;new&gt;" in page
    assert "<new>" not in page
    assert "<size>" not in page
    drawn = re.findall(r'<text style="[^"]*"', page)
    assert drawn
    assert all("fill: var(--" in text for text in drawn), "black letters cannot be read on a dark page"


def test_scores_that_move_have_their_features_effects_and_newcomers_on_the_page():
    rng = np.random.default_rng(0)
    left = rng.integers(0, 6, 200)
    right = (left + rng.integers(1, 6, 200)) % 6
    data = Comparisons(
        tuple(range(6)), left, right, outcome=rng.choice([-1, 0, 1], 200).astype(np.int8), sided=True,
        time=np.arange(200) // 20 * 1.0,
    )  # fmt: skip
    features = {k: {"<size>": float(k * k % 5)} for k in range(7)}
    model = DynamicBradleyTerry(
        drift=0.1, sd=1.0, feature_penalty=0.5, side_effect=True, ties="davidson", scale="elo"
    ).fit(data, features)
    page = str(Report(model.ranking_, data, model=model))
    assert "<h2>Features</h2>" in page
    assert page.count(">Features explain") == 1, "in a sentence"
    assert ">features explain" not in page, "and not in the picture again"
    assert f"{400 / np.log(10) * model.coef_[0]:+.4g}" in page
    assert "without votes: 6 (1 in all)" in page
    assert "<h2>Position bias and ties</h2>" in page
    assert "Items without votes are left out of these ranks" in page
    assert "<size>" not in page


def test_covariates_and_judges_have_their_tables():
    rng = np.random.default_rng(1)
    styled = BradleyTerry().fit(votes(covariates={"longer": rng.normal(size=400)}))
    assert f"{styled.coef_[0]:+.4g}" in "".join(sections(styled))
    judged = votes(judge=rng.choice(["ann", "<bob>"], 400))
    crowd = CrowdBradleyTerry(reliability_sd=0.5).fit(judged)
    html = "".join(sections(crowd))
    assert "&lt;bob&gt;" in html
    assert f"{crowd.reliability_[0]:.2f}" in html
    assert "all count alike" in "".join(sections(CrowdBradleyTerry().fit(judged)))


def test_rankers_that_learn_scores_only_add_nothing():
    assert sections(WinRate().fit(votes())) == []
    assert sections(None) == []
