"""The paper's claims on a small scale: what holds, what does not, and that the printed algorithms are not exact."""

import json

import numpy as np
from numpy.testing import assert_allclose

from papers import ordinal as study
from papers import ordinal_printed as printed

from suites.ordinal import graded


def test_the_exact_update_is_never_worse_and_the_printed_one_often_is(tmp_path):
    told = study.main(["--sets", "--exact-trials", "400", "--out", str(tmp_path)])
    for kind, counts in told["exactness"]["counts"].items():
        made, differs, _ = np.sum(counts, axis=0)
        assert differs / made > 0.2, kind
    assert json.loads((tmp_path / "results.json").read_text())["exactness"] == told["exactness"]
    assert (tmp_path / "exactness.png").exists()


def test_a_printed_update_moves_a_threshold_that_need_not_move():
    # Label 2 of 3, score 0, both thresholds at 3. By hand: w = 2 and the lower one at 1 satisfy both sides, and cost 4.
    # The print starts with both thresholds in its support set, moves both, and pays 16/3.
    w, theta, x = np.zeros(1), np.array([3.0, 3.0]), np.array([1.0])
    best_w, best_theta = study.exact_step(w, theta, x, 1, 1, "pa", 1.0)
    assert_allclose([*best_w, *best_theta], [2, 1, 3])
    old_w, old_theta, _ = printed.step(w, theta, x, 1, 1, "pa", 1.0)
    assert_allclose(((old_w - w) ** 2).sum() / 2 + ((old_theta - theta) ** 2).sum() / 2, 16 / 3)


def test_small_steps_beat_prank_and_plain_pa_does_not_where_grades_are_noisy():
    X, y, _ = graded(n=3000, noise=1.0)
    jobs = [("prank", 0.0, False), ("pa", 1.0, False), ("pa1", 0.01, False), ("pa2", 0.001, False)]
    runs = [study.one_run(X, y, 5, 0.5, 3000, np.random.default_rng(seed), jobs) for seed in range(3)]
    error = {job[0]: np.mean([run[job][0].mean() for run in runs]) for job in jobs}
    assert error["pa1"] < error["prank"]
    assert error["pa2"] < error["prank"]
    assert error["pa"] > error["pa1"]


def test_ranges_contain_the_truth_and_stay_within_the_grades():
    y = np.random.default_rng(0).integers(1, 5, 500)
    labels = study.interval_labels(y, 4, 0.75, np.random.default_rng(1))
    assert ((labels[:, 0] <= y) & (y <= labels[:, 1])).all()
    assert labels.min() >= 1
    assert labels.max() <= 4
    assert 0.55 < np.mean(labels[:, 0] < labels[:, 1]) < 0.8
