"""Slips of print, shown by numbers: each number against another way to it."""

import numpy as np
import pytest

from papers import printed

SHOWN = {title.split(":")[0]: show() for title, show in printed.SLIPS.items()}


def test_the_unbiased_loss_is_the_clean_one_on_average_and_the_printed_squares_are_not_it():
    shown = SHOWN["RABF, Lemma 5"]
    rho, t = 0.2, 0.7

    def loss(y):
        return ((1 - rho) * (t - y) ** 2 - rho * (t + y) ** 2) / (1 - 2 * rho)

    assert (1 - rho) * loss(1) + rho * loss(-1) == pytest.approx((t - 1) ** 2)
    assert shown["unbiased loss"] == pytest.approx(loss(1))
    assert shown["with the square"] == pytest.approx(loss(1))
    assert shown["as printed"] - loss(1) > 1


def test_error_over_excess_loss_is_bounded_for_the_hinge_loss_alone():
    shown = SHOWN["RABF, Theorems 1, 2, 5, 6"]
    grid = np.linspace(-3, 3, 600_001)
    losses = {
        "log": lambda m: np.logaddexp(0, -m),
        "squared": lambda m: (1 - m) ** 2,
        "hinge": lambda m: np.maximum(0, 1 - m),
    }
    for name, loss in losses.items():
        mean = 0.6 * loss(grid) + 0.4 * loss(-grid)
        assert shown[f"{name} loss, a = 0.1"] == pytest.approx(0.2 / (loss(0.0) - mean.min()), rel=1e-6)
    assert shown["log loss, a = 0.001"] > 50 * shown["log loss, a = 0.1"]
    assert shown["hinge loss, a = 0.001"] == pytest.approx(1)


def test_a_split_by_the_old_order_loses_the_improvement():
    shown = SHOWN["Active, line 12 of Algorithm 2"]
    assert shown["least cost after a split by π₁"] == shown["cost of π₁"] == 0
    assert shown["least cost after a split by π"] == 4  # item 7 stays before 3, 4, 5 and 6


def test_the_two_counts_of_questions_do_not_imply_each_other():
    ratios = SHOWN["Active, Theorem 3.1 against section 3.5"].values()
    assert min(ratios) < 1 < max(ratios)


def test_two_of_the_conditions_do_not_give_the_third():
    shown = SHOWN["Active, Lemma 2.6"]
    assert shown["(2.6) holds: largest |sampled - cost|"] <= 0.5
    assert shown["(2.3) holds: best in the decomposition"] <= 1.5
    assert shown["cost of σ*"] == 2.5 > shown["printed limit, 1 + 2ε"]


def test_the_command_prints_every_slip(capsys):
    shown = printed.main([])
    told = capsys.readouterr().out
    assert all(title in told for title in shown)
    assert len(shown) == len(printed.SLIPS)
