"""The paper's claims on a small scale: what holds, what does not, and that the printed algorithms are not exact."""

import json

import numpy as np
import pytest
import quadprog
from numpy.testing import assert_allclose

from papers import ordinal as study
from papers import ordinal_batch as batch
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


def by_quadprog(w, theta, x, low, high, half):
    """Programme (3) by another solver than the one that shows the misprint."""
    d, n = len(w), len(theta)
    side = [1 if i < low else -1 if i >= high else 0 for i in range(n)]
    rows = [np.concatenate([s * x, -s * np.eye(n)[i]]) for i, s in enumerate(side) if s]
    hessian = np.diag(np.concatenate([np.ones(d), np.full(n, 2 * half)]))
    start = np.concatenate([w, 2 * half * theta])
    return quadprog.solve_qp(hessian, start, np.array(rows).T, np.ones(len(rows)))[0]


def test_every_misprint_is_shown_by_numbers(capsys):
    shown = printed.main([])
    told = capsys.readouterr().out
    assert all(title in told for title in shown)
    half, signs, off, one, four, five = shown.values()
    for U in ("0", "0.1"):  # put into the polynomial, the root gives 0 and the printed number more
        left = {name: L**2 - 72 * float(U) * L - 9 for name, L in four.items() if name.endswith(f"U = {U}")}
        assert left[f"largest root, U = {U}"] == pytest.approx(0, abs=1e-9)
        assert left[f"as printed, U = {U}"] > 1
    x = np.array([3.0, -4.0])
    update, as_printed, corrected = half.values()
    assert update == pytest.approx(-1 / 26)  # by hand: a = 1 / (1 + |x|²)
    assert as_printed == pytest.approx(by_quadprog(np.zeros(2), np.zeros(1), x, 1, 1, 1.0)[-1], abs=1e-5)
    assert corrected == pytest.approx(update, abs=1e-5)
    assert abs(as_printed - update) > 0.01
    true, as_printed, corrected = signs.values()
    assert true == pytest.approx(corrected, abs=1e-6)
    assert abs(true - as_printed) > 0.5
    assert off["losses before"][0] == pytest.approx(0.1)  # a loss, and the threshold stays
    assert off["how far the thresholds moved"] == pytest.approx([0, 4 / 11], abs=1e-5)
    assert 0 < one["largest double sum / bound"] <= 1
    assert five["loss"] > five["printed bound"]
    assert five["loss"] <= five["corrected, C = 1"]


def test_a_kernel_parts_circles_which_neither_online_nor_batch_directions_do(capsys):
    table = batch.main(["--generated", "--splits", "1"])["circles"]
    median = table["constant median"][0]
    for linear in ("PA, online", "loss (2), batch", "cumulative logit, batch"):
        assert table[linear][0] > 0.8 * median
    for bent in ("PA, rbf, budget 1,000", "PA, rbf, budget 100"):
        assert table[bent][0] < 0.2 * median
    assert "|  | Circles |" in capsys.readouterr().out
