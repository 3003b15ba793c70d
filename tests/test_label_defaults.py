"""The table of defaults beside rivals: its measure, its standard errors, and fits that take too long."""

import time

import numpy as np
import pytest
from sklearn.metrics import label_ranking_average_precision_score

from benchmarks import label_defaults
from benchmarks.label_defaults import by_row, difference, limited


def test_the_measure_is_scikit_learns_row_by_row():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, (60, 6))
    truth[:3], truth[3:6] = 0, 1  # no label, every label
    scores = np.round(rng.normal(size=(60, 6)), 0)  # many are equal
    one = [label_ranking_average_precision_score(truth[[i]], scores[[i]]) for i in range(60)]
    np.testing.assert_allclose(by_row(truth, scores), one, atol=1e-12)


def test_the_error_of_one_split_is_that_of_a_paired_mean():
    rng = np.random.default_rng(1)
    ours, theirs = rng.random((2, 50))
    mean, error = difference([ours], [theirs], [rng.permutation(50)])
    assert mean == pytest.approx((ours - theirs).mean())
    assert error == pytest.approx((ours - theirs).std() / np.sqrt(50))


def test_the_same_rows_in_two_splits_do_not_make_the_error_smaller():
    rng = np.random.default_rng(2)
    ours, theirs = rng.random((2, 50))
    once = difference([ours], [theirs], [np.arange(50)])
    assert difference([ours] * 2, [theirs] * 2, [np.arange(50)] * 2) == pytest.approx(once)
    other = difference([ours] * 2, [theirs] * 2, [np.arange(50), np.arange(50, 100)])
    assert other == pytest.approx((once[0], once[1] / np.sqrt(2)))


def test_a_fit_beyond_its_cpu_seconds_is_stopped_and_said(monkeypatch):
    def slow(X, Y, rows):
        until = time.process_time() + 5
        while time.process_time() < until:
            pass

    def quick(X, Y, rows):
        return rows[:, : Y.shape[1]]

    monkeypatch.setattr(label_defaults, "ways", lambda: {"podium linear": quick, "one-vs-rest": quick, "chain": slow})
    run = label_defaults.compared("logistic", "", 0.2)
    kept = label_defaults.result("logistic", run)
    assert kept["problems"] == {"chain": "not finished in 0.2 s of CPU"}
    assert kept["bars"]["podium linear"] == {"beside": "one-vs-rest", "gap": 0.0, "error": 0.0}
    assert "chain: not finished in 0.2 s of CPU" in label_defaults.table({"logistic": kept})
    assert limited(5.0, lambda: np.ones(2))[0].tolist() == [1, 1]


@pytest.mark.parametrize("name", label_defaults.GENERATED)
def test_a_generated_set_is_the_same_every_time_and_has_labels_of_both_kinds(name):
    first, again = (next(iter(label_defaults.GENERATED[name]("", None))) for _ in range(2))
    np.testing.assert_array_equal(first.Y, again.Y)
    assert first.X.shape[0] == len(first.Y)
    assert len(first.truth) == len(first.which)
    share = first.Y.mean(axis=0)
    assert (share > 0).any()
    assert (share < 1).all()


def test_more_samples_begin_with_the_usual_ones():
    usual, more = (list(label_defaults.GENERATED["rules"]("", some)) for some in (None, 3))
    assert (len(usual), len(more)) == (2, 3)
    np.testing.assert_array_equal(usual[1].Y, more[1].Y)
    assert len(set(np.concatenate([each.which for each in more]))) == sum(len(each.which) for each in more)
