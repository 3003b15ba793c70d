"""The calibration study on a small scale: bands wide enough for 80 sets, narrow enough to fail."""

import numpy as np
import pytest

from papers import calibration

SETS = 80


@pytest.fixture(scope="module")
def found():
    return {
        design: calibration.study(design, SETS, seed=2)
        for design in calibration.DESIGNS
        if design not in ("adaptively chosen pairs", "weights, worth 40 votes per item")
    }


def test_every_claim_of_the_study_holds_in_small(found):
    # 80 sets of 10 to 20 items leave about 0.9 % of noise on a mean coverage of 95 %.
    found["weights, worth 40 votes per item"] = found["weights, worth 150 votes per item"]
    assert calibration.check(found, slack=0.025) == []


def test_the_study_notices_intervals_that_are_too_short_or_too_long(found):
    for share in (0.90, 0.995):
        wrong = {design: {way: dict(row) for way, row in ways.items()} for design, ways in found.items()}
        wrong["weights, worth 40 votes per item"] = wrong["weights, worth 150 votes per item"]
        wrong["uniform pairs, 100 votes per item"]["curvature"]["scores"] = share
        assert len(calibration.check(wrong, slack=0.025)) == 1


def test_bootstrap_covers_like_the_curvature_on_well_specified_votes(found):
    ways = found["uniform pairs, 100 votes per item"]
    assert ways["bootstrap"]["scores"] == pytest.approx(ways["curvature"]["scores"], abs=0.02)


def test_rank_intervals_hold_one_by_one_and_all_at_once(found):
    row = found["uniform pairs, 100 votes per item"]["curvature"]
    assert row["ranks"] >= 0.95
    assert row["all ranks"] <= row["all ranks, simultaneous"]
    assert row["all ranks, simultaneous"] >= 0.95


def test_scores_of_a_crowd_are_the_limit_of_many_judges():
    """With no tastes of their own the judges together say the true scores; with tastes they say smaller gaps."""
    truth = np.array([1.0, 0.2, -1.2])
    assert calibration._crowd_scores(truth, 0.0) == pytest.approx(truth, abs=1e-6)
    shrunk = calibration._crowd_scores(truth, 1.0)
    assert (np.abs(np.diff(shrunk)) < np.abs(np.diff(truth))).all()
