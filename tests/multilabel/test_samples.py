"""Sample sizes of the theorems against the inequalities they come from, and against what can be shattered."""

import math
from itertools import pairwise, product

import numpy as np
import pytest

from podium.errors import InputError
from podium.multilabel import sample_sizes, vc_bound

from reference_metrics import loss_of


@pytest.mark.parametrize(("d", "K"), [(1, 3), (2, 3), (5, 4), (10, 5), (100, 20), (3, 1000)])
def test_the_vc_bound_is_the_last_size_that_the_growth_function_allows(d, K):
    m, s = vc_bound(d, K), K - 1
    assert m <= d * s * math.log2(math.e * m / d)
    assert m + 1 > d * s * math.log2(math.e * (m + 1) / d)
    assert m <= 2 * d * s * math.log2(3 * s)  # Blumer, Ehrenfeucht, Haussler, Warmuth (1989), Lemma 3.2.3
    assert m >= d


def shattered(d, K, label, cut, points, rng):
    """Whether random linear rankers answer "label among the first cut" in every way on some random points."""
    W = rng.normal(size=(4000, K, d))
    for _ in range(3):
        x = rng.normal(size=(points, d))
        scores = W @ x.T
        ranks = 1 + (scores > scores[:, [label]]).sum(axis=1)
        if len(np.unique(ranks <= cut, axis=0)) == 2**points:
            return True
    return False


@pytest.mark.parametrize(("d", "K"), [(1, 2), (2, 2), (1, 3), (2, 3)])
def test_no_more_points_than_the_bound_are_shattered(d, K):
    rng = np.random.default_rng(0)
    largest = max(m for m in range(1, 5) for j in range(1, K) if shattered(d, K, 0, j, m, rng))
    assert d <= largest <= vc_bound(d, K)
    if K == 2:
        assert largest == d == vc_bound(d, K)


@pytest.mark.parametrize("loss", ["sum@1", "sum@2", "prec@1", "prec@3"])
@pytest.mark.parametrize("B", [1, 2])
def test_the_sizes_are_the_least_at_which_the_inequalities_hold(loss, B):
    d, K, epsilon, delta = 3, 4, 0.2, 0.1
    kind, p = loss.split("@")[0], int(loss[-1])
    rows = list(product((0, B), repeat=K))
    largest = max(loss_of(kind, p, ranks, y) for ranks in ([1, 2, 3, 4], [4, 3, 2, 1]) for y in rows)
    classes = K * p if kind == "sum" else K

    def excess(n, chance):
        massart = math.sqrt(2 * d * (K - 1) * math.log(math.e * n / d) / n)
        return 2 * (2 * B * classes * massart + 3 * largest * math.sqrt(math.log(2 / chance) / (2 * n)))

    found = sample_sizes(d, K, loss=loss, epsilon=epsilon, delta=delta, max_relevance=B)
    assert excess(found.examples, delta) <= epsilon < excess(found.examples - 1, delta)
    assert excess(found.unlabelled, delta / 2) <= epsilon / 2 < excess(found.unlabelled - 1, delta / 2)
    ways = math.log(math.comb(K, p)) * found.unlabelled
    assert found.labelled == math.ceil(8 / epsilon**2 * (math.log(4 / delta) + ways))
    assert found.vc == vc_bound(d, K)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"loss": "ap"}, "sum@p and prec@p; choose one"),
        ({"loss": "rr"}, "sum@p and prec@p; choose one"),
        ({"loss": "sum@9"}, "only 4 labels"),
        ({"epsilon": 0}, "epsilon=0"),
        ({"epsilon": 1e-40}, "raise epsilon"),
        ({"delta": 1}, "delta=1"),
        ({"n_features": 0}, "n_features=0"),
        ({"n_labels": 1}, "n_labels=1"),
        ({"max_relevance": 0.5}, "max_relevance=0.5"),
    ],
)
def test_bad_input_is_named(given, says):
    with pytest.raises(InputError, match=says):
        sample_sizes(**({"n_features": 3, "n_labels": 4} | given))


def test_a_distance_whose_square_is_no_number_needs_no_more_examples_than_a_smaller_one():
    sizes = [sample_sizes(3, 4, epsilon=epsilon) for epsilon in (0.5, 1e3, 1e200, 1e308)]
    for one, other in pairwise(sizes):
        assert one.examples >= other.examples
        assert one.labelled >= other.labelled


def test_a_chance_whose_inverse_is_no_number_needs_more_examples():
    sizes = [sample_sizes(3, 4, epsilon=0.5, delta=delta) for delta in (0.05, 1e-100, 5e-324)]
    for one, other in pairwise(sizes):
        assert one.examples < other.examples < 100 * one.examples
