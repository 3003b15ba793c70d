"""Diagnosis: residuals by a plain loop, tests that ring as often as they should, and what dropping votes moves."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from podium import BradleyTerry, Comparisons
from podium.diagnosis import Reliability, diagnose, score_history
from podium.errors import InputError
from podium.splits import deal, share, take

from helpers import as_comparisons, simulate, thin_data
from strategies import votes


def drawn(n, m, seed, **more):
    winner, loser, _ = simulate(n, m, np.random.default_rng(seed), **more)
    return Comparisons.from_arrays(winner, loser, items=range(n))


@settings(max_examples=25, deadline=None)
@given(votes(outcomes=(1.0, 0.0), weighted=False, most_votes=40))
def test_residuals_are_those_of_a_double_loop(given_votes):
    n, rows = given_votes
    comparisons = as_comparisons(n, rows)
    with thin_data():
        scores = BradleyTerry(tol=1e-8).fit(comparisons).ranking_.scores
        found = diagnose(comparisons, replicates=1, splits=1, influence=False).residuals
    expected = {}
    for i in range(n):
        for j in range(n):
            met = [row for row in rows if {row[0], row[1]} == {i, j}]
            won = sum(row[2] if row[0] == i else 1 - row[2] for row in met)
            chance = 1 / (1 + math.exp(scores[j] - scores[i]))
            if met and won >= len(met) * chance:
                residual = (won - len(met) * chance) / math.sqrt(len(met) * chance * (1 - chance))
                expected[i, j] = (len(met), won, len(met) * chance, residual)
    for item, against, *numbers in found.iter_rows():
        if numbers[-1] > 1e-3:  # which side an exact fit is told from is a matter of rounding
            assert_allclose(numbers, expected[int(item), int(against)], atol=2e-3)
    assert found["residual"].is_sorted(descending=True)


def test_the_cyclic_share_is_that_of_dense_least_squares():
    comparisons = drawn(7, 300, seed=3)
    p = comparisons.pairs
    design = np.zeros((len(p), 7))
    design[np.arange(len(p)), p.left], design[np.arange(len(p)), p.right] = 1, -1
    mean = (p.left_wins - p.right_wins) / p.total
    root = np.sqrt(p.total)
    fitted = design @ np.linalg.lstsq(root[:, None] * design, root * mean, rcond=None)[0]
    share_of_rest = (p.total @ (mean - fitted) ** 2) / (p.total @ mean**2)
    found = diagnose(comparisons, replicates=1, splits=1, influence=False)
    assert found.cyclic.value == pytest.approx(share_of_rest, rel=1e-6)


def test_rock_paper_scissors_is_all_circles():
    found = diagnose(Comparisons.from_pairs([("r", "s"), ("s", "p"), ("p", "r")] * 20), replicates=99)
    assert found.cyclic.value == pytest.approx(1)
    assert found.cyclic.p_value == pytest.approx(0.01)
    assert any(finding.concern and "circles" in finding.text for finding in found.findings())


@pytest.mark.parametrize("ties", [False, True])
def test_on_transitive_votes_the_alarms_ring_at_their_level(ties):
    level, sets, replicates = 0.2, 80, 39
    rang = np.zeros(3)
    for seed in range(sets):
        rng = np.random.default_rng([seed, ties])
        winner, loser, _ = simulate(7, 160, rng)
        tied = (rng.random(len(winner)) < 0.3) if ties else None
        comparisons = Comparisons.from_arrays(winner, loser, items=range(7), tie=tied)
        with thin_data():
            found = diagnose(comparisons, replicates=replicates, splits=1, influence=False, seed=seed)
        rang += np.array([test.p_value for test in (found.largest, found.dispersion, found.cyclic)]) <= level
    # Four standard deviations of a binomial count around its level; ties drawn evenly are a little less spread.
    slack = 4 * math.sqrt(level * (1 - level) / sets)
    assert (rang / sets < level + slack).all()
    assert (rang / sets > 0.02).all()


def test_votes_that_go_together_are_found_over_dispersed():
    rng = np.random.default_rng(0)
    winner, loser, _ = simulate(8, 60, rng)
    votes_of = Comparisons.from_arrays(np.repeat(winner, 10), np.repeat(loser, 10), items=range(8))  # ten of each
    found = diagnose(votes_of, replicates=99, influence=False)
    assert found.dispersion.value > 3
    assert found.dispersion.p_value == pytest.approx(0.01)


def test_a_chain_of_pairs_leaves_nothing_to_test():
    with thin_data():
        found = diagnose(Comparisons.from_pairs([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("a", "b")]))
    assert "nothing to test" in found.findings()[0].text
    assert found.to_dict()["tests"]["dispersion"] is None


def test_reliability_grows_with_the_votes_and_is_one_for_certain_ones():
    few, many = (diagnose(drawn(10, m, seed=1), replicates=1, influence=False).reliability for m in (150, 5000))
    assert few.correlation < many.correlation
    assert few.low <= few.correlation <= few.high
    assert many.full == pytest.approx(2 * many.correlation / (1 + many.correlation))
    order = [(a, b) for a in range(6) for b in range(a + 1, 6)] * 30
    with thin_data():
        assert diagnose(Comparisons.from_pairs(order), replicates=1).reliability.agreement == pytest.approx(1)
    assert Reliability(-1.0, -1.0, -1.0, 0.0).full == -1


def test_dropping_an_item_is_a_refit_without_it():
    comparisons = drawn(6, 200, seed=5)
    kept = (comparisons.left != 2) & (comparisons.right != 2)
    others = [0, 1, 3, 4, 5]
    with thin_data():  # the item that is left out is on its own
        before, after = (BradleyTerry().fit(c).ranking_.scores[others] for c in (comparisons, take(comparisons, kept)))
    swaps = sum((before[a] - before[b]) * (after[a] - after[b]) < 0 for a in range(5) for b in range(a))
    shift = np.abs((after - after.mean()) - (before - before.mean())).max()
    frame = diagnose(comparisons, replicates=1, splits=1).influence
    row = frame.filter(frame["dropped"] == "2").row(0, named=True)
    assert row["shift"] == pytest.approx(shift, abs=1e-3)
    assert row["swaps"] == swaps
    assert row["votes"] == len(comparisons) - kept.sum()


def test_the_judge_who_turns_the_ranking_is_named():
    honest = [("good", "fair"), ("good", "fair"), ("fair", "good"), ("fair", "poor"), ("good", "poor")] * 4
    liar = [("poor", "good"), ("poor", "fair")] * 9
    pairs = honest + liar
    comparisons = Comparisons.from_arrays(
        [w for w, _ in pairs], [x for _, x in pairs], judge=["ann", "bob"] * (len(honest) // 2) + ["eve"] * len(liar)
    )
    with thin_data():
        found = diagnose(comparisons, replicates=9)
    judges = found.influence.filter(found.influence["kind"] == "judge")
    assert judges["dropped"][0] == "eve"
    assert any(f.concern and "Without eve, good would lead instead of poor" in f.text for f in found.findings())


def test_the_last_point_of_the_history_is_the_ranking():
    comparisons = drawn(5, 400, seed=2)
    history = score_history(comparisons, points=8)
    assert history.votes.tolist() == [50, 100, 150, 200, 250, 300, 350, 400]
    assert_allclose(history.scores[-1], BradleyTerry().fit(comparisons).ranking_.scores, atol=1e-4)
    half = BradleyTerry().fit(take(comparisons, slice(200))).ranking_.scores
    assert_allclose(history.scores[3], half, atol=1e-4)


def test_counted_votes_have_no_history():
    counted = Comparisons(("a", "b"), np.array([0]), np.array([1]), count=np.array([5]), ordered=False)
    with pytest.raises(InputError, match="their order is not known"):
        score_history(counted)
    with pytest.raises(InputError, match="must be at least 1"):
        diagnose(counted, replicates=0)


@settings(deadline=None)
@given(votes(), st.integers(2, 4), st.integers(0, 100))
def test_dealt_votes_are_all_the_votes(given_votes, parts, seed):
    n, rows = given_votes
    comparisons = as_comparisons(n, rows * parts * 2)
    hands = deal(comparisons, parts, np.random.default_rng(seed))
    dealt = [share(comparisons, hands[:, k]) for k in range(parts)]
    assert sum(map(len, dealt)) == len(comparisons)
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1
    total = dealt[0]
    for part in dealt[1:]:
        total = total + part
    assert_allclose(np.sort(total.pairs.total), np.sort(comparisons.pairs.total))


def test_counts_and_weights_are_split_in_proportion():
    comparisons = Comparisons(
        ("a", "b"), np.array([0, 1]), np.array([1, 0]),
        count=np.array([400, 600]), weight=np.array([200.0, 600.0]), weight_sq=np.array([100.0, 600.0]),
        ordered=False,
    )  # fmt: skip
    hands = deal(comparisons, 2, np.random.default_rng(0))
    half, rest = (share(comparisons, hands[:, k]) for k in (0, 1))
    assert (half.count + rest.count).tolist() == [400, 600]
    assert_allclose(half.weight / half.count, [0.5, 1.0])
    assert_allclose(half.weight_sq + rest.weight_sq, [100.0, 600.0])
    assert abs(len(half) - 500) < 5 * math.sqrt(250)


def test_a_ranking_stays_in_one_hand():
    comparisons = Comparisons.from_rankings([["a", "b", "c", "d"]] * 9)
    hands = deal(comparisons, 3, np.random.default_rng(1))
    for ranking in range(9):
        assert (hands[comparisons.group == ranking].sum(axis=0) > 0).sum() == 1
    with pytest.raises(InputError, match="9 rankings cannot be dealt into 10 parts"):
        deal(comparisons, 10, np.random.default_rng(1))
