"""Diagnosis: residuals by a plain loop, tests that ring as often as they should, and what dropping votes moves."""

import math
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from podium import BradleyTerry, Comparisons
from podium.data.splits import deal
from podium.errors import InputError, PodiumWarning
from podium.evaluate.diagnosis import diagnose, score_history
from podium.evaluate.diagnosis.misfit import Fit
from podium.evaluate.diagnosis.table import Model, Table

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
        scores = BradleyTerry(l2=1e-3, tol=1e-8).fit(comparisons).ranking_.scores  # those of the likelihood
        found = diagnose(comparisons, replicates=1, splits=1, influence=False).residuals
    expected = {}
    for i in range(n):
        for j in range(n):
            met = [row for row in rows if {row[0], row[1]} == {i, j}]
            won = sum(row[2] if row[0] == i else 1 - row[2] for row in met)
            chance = 1 / (1 + math.exp(scores[j] - scores[i]))
            if met and won >= len(met) * chance:
                # Twice the log of the likelihood ratio: the pair's own share of wins against the expected one.
                own = won / len(met)
                ratio = won * math.log(own / chance) if won else 0.0
                ratio += (len(met) - won) * math.log((1 - own) / (1 - chance)) if won < len(met) else 0.0
                expected[i, j] = (len(met), won, len(met) * chance, math.sqrt(max(2 * ratio, 0.0)))
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


def test_rock_paper_scissors_is_all_cyclic():
    found = diagnose(Comparisons.from_pairs([("r", "s"), ("s", "p"), ("p", "r")] * 20), replicates=99)
    assert found.cyclic.value == pytest.approx(1)
    assert found.cyclic.p_value == pytest.approx(0.01)
    assert any(finding.concern and "cyclic" in finding.text for finding in found.findings())


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


def test_redrawn_votes_are_as_many_on_every_row_and_fall_as_the_model_says():
    votes = drawn(4, 4000, 3)
    model = BradleyTerry(l2=0.01).fit(votes)
    fit = Fit(Table.of(votes), Model.of(model))
    rng = np.random.default_rng(4)
    redraws = [fit.drawn(rng) for _ in range(200)]
    for each in redraws:
        assert_allclose(each.wins + each.losses + each.ties, fit.table.total)
    share = sum(each.wins for each in redraws) / (200 * fit.table.total)
    chance = [
        model.win_probability(i, j) for i, j in zip(fit.table.left.tolist(), fit.table.right.tolist(), strict=True)
    ]
    assert_allclose(share, chance, atol=0.02)
    again, (t, *_) = fit.model.refitted(redraws[0]), redraws
    won, lost = (np.concatenate([t.left, t.right]), np.concatenate([t.right, t.left]))
    number = np.rint(np.concatenate([t.wins, t.losses])).astype(int)
    counted = Comparisons.from_arrays(np.repeat(won, number), np.repeat(lost, number), items=range(4))
    assert_allclose(again.scores, BradleyTerry(l2=fit.model.l2).fit(counted).ranking_.scores, atol=1e-3)


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
    for test in (found.largest, found.dispersion, found.cyclic):  # every outcome fits as well
        assert (test.p_value, test.enough, test.significant) == (1.0, False, False)


def test_reliability_grows_with_the_votes_and_is_one_for_certain_ones():
    few, many = (diagnose(drawn(10, m, seed=1), replicates=1, influence=False).reliability for m in (150, 5000))
    assert few.correlation < many.correlation
    assert few.low <= few.correlation <= few.high
    assert many.full == pytest.approx(2 * many.correlation / (1 + many.correlation))
    order = [(a, b) for a in range(6) for b in range(a + 1, 6)] * 30
    with thin_data():
        assert diagnose(Comparisons.from_pairs(order), replicates=1).reliability.agreement == pytest.approx(1)


def test_dropping_an_item_is_a_refit_without_it():
    comparisons = drawn(6, 200, seed=5)
    kept = (comparisons.left != 2) & (comparisons.right != 2)
    others = [0, 1, 3, 4, 5]
    model = BradleyTerry().fit(comparisons)
    with thin_data():  # the item that is left out is on its own
        before, after = (
            BradleyTerry(l2=model.l2_).fit(c).ranking_.scores[others] for c in (comparisons, comparisons.take(kept))
        )
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


@pytest.mark.parametrize("options", [{}, {"ties": "davidson", "side_effect": True}, {"l2": 0.0}], ids=str)
def test_however_few_the_votes_there_is_a_diagnosis_wherever_there_is_a_ranking(options):
    ranked = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        left = rng.integers(0, 8, 12)
        right = (left + rng.integers(1, 8, 12)) % 8
        outcome = rng.integers(-1, 2, 12).astype(np.int8)
        votes_of = Comparisons(
            tuple("ABCDEFGH"),
            left,
            right,
            outcome=outcome,
            sided=True,
            judge=rng.integers(0, 3, 12),
            judges=tuple("xyz"),
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PodiumWarning)
            try:
                model = BradleyTerry(**options).fit(votes_of)
            except InputError:
                continue
            assert diagnose(votes_of, model, replicates=3, splits=1).findings()
            ranked += 1
    assert ranked or options == {"l2": 0.0}


def test_the_last_point_of_the_history_is_the_ranking():
    comparisons = drawn(5, 400, seed=2)
    history = score_history(comparisons, points=8)
    assert history.votes.tolist() == [50, 100, 150, 200, 250, 300, 350, 400]
    model = BradleyTerry().fit(comparisons)
    assert_allclose(history.scores[-1], model.ranking_.scores, atol=1e-4)
    half = BradleyTerry(l2=model.l2_).fit(comparisons.take(slice(200))).ranking_.scores  # one penalty for the curve
    assert_allclose(history.scores[3], half, atol=1e-4)


def test_counted_votes_have_no_history():
    counted = Comparisons(("a", "b"), np.array([0]), np.array([1]), count=np.array([5]), ordered=False)
    with pytest.raises(InputError, match="their order is not known"):
        score_history(counted)
    with pytest.raises(InputError, match="a whole number of at least 1"):
        diagnose(counted, replicates=0)


@settings(deadline=None)
@given(votes(), st.integers(2, 4), st.integers(0, 100))
def test_dealt_votes_are_all_the_votes(given_votes, parts, seed):
    n, rows = given_votes
    comparisons = as_comparisons(n, rows * parts * 2)
    hands = deal(comparisons, parts, np.random.default_rng(seed))
    dealt = [comparisons.share(hands[:, k]) for k in range(parts)]
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
    half, rest = (comparisons.share(hands[:, k]) for k in (0, 1))
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


def arena(m=500, seed=0):
    """Votes with sides, ties, a covariate and judges, in which the wordy item leads only until length is held fixed."""
    rng = np.random.default_rng(seed)
    skill, wordy = np.array([0.9, 0.6, 0.0, -0.4, -0.9]), np.array([0.0, 2.0, 0.0, -1.0, 0.0])
    left = rng.integers(0, 5, m)
    right = (left + rng.integers(1, 5, m)) % 5
    length = wordy[left] - wordy[right] + rng.normal(size=m)
    half = (skill[left] - skill[right] + 0.6 * length + 0.5) / 2
    chances = np.array([np.exp(half), np.full(m, 0.8), np.exp(-half)])
    drawn_from = rng.random(m) * chances.sum(axis=0)
    outcome = 1 - (drawn_from > chances[0]).astype(int) - (drawn_from > chances[0] + chances[1]).astype(int)
    return Comparisons(
        tuple("ABCDE"), left.astype(np.int32), right.astype(np.int32), outcome=outcome.astype(np.int8), sided=True,
        covariates=length[:, None], covariate_names=("length",), judge=rng.integers(0, 4, m).astype(np.int32),
        judges=("ann", "bob", "cem", "dot"),
    )  # fmt: skip


def without_covariates(votes_of):
    return replace(votes_of, covariates=None, covariate_names=())


SETTINGS = [
    ({"ties": "davidson"}, False),
    ({"side_effect": True, "l2": 0.5}, False),
    ({"ties": "davidson", "side_effect": True, "scale": "elo"}, True),
    ({"anchor": ("C", 7.0)}, True),
]


@pytest.mark.parametrize(("settings", "with_length"), SETTINGS)
def test_history_and_influence_are_refits_with_the_settings_of_the_model(settings, with_length):
    all_votes = arena() if with_length else without_covariates(arena())
    model = BradleyTerry(**settings).fit(all_votes)
    history = score_history(all_votes, model, points=4)
    assert_allclose(history.scores[-1], model.ranking_.scores)
    alike = settings | {"l2": model.l2_}
    early = BradleyTerry(**alike).fit(all_votes.take(slice(int(history.votes[1]))))
    assert_allclose(history.scores[1], early.ranking_.scores, atol=1e-3 * model.ranking_.unit)
    found = diagnose(all_votes, model, replicates=1, splits=1)
    assert found.leader == model.ranking_.order[0]
    for row in found.influence.filter(found.influence["kind"] == "judge").to_dicts():
        kept = all_votes.judge != all_votes.judges.index(row["dropped"])
        refitted = BradleyTerry(**alike).fit(all_votes.take(kept)).ranking_
        assert row["leader"] == refitted.order[0]
        place = model.ranking_.items.index(row["moved"])
        assert (row["rank_before"], row["rank_after"]) == (model.ranking_.ranks[place], refitted.ranks[place])


@pytest.mark.parametrize(("settings", "with_length"), SETTINGS)
def test_residuals_are_those_of_the_model_vote_by_vote(settings, with_length):
    all_votes = arena() if with_length else without_covariates(arena())
    model = BradleyTerry(**{"l2": 1e-3} | settings).fit(all_votes)
    scores, nu = model.ranking_.scores / model.ranking_.unit, model.tie_strength_ or 0.0
    won, expected, variance = np.zeros((3, 5, 5))
    for k, (i, j) in enumerate(zip(all_votes.left, all_votes.right, strict=True)):
        margin = scores[i] - scores[j] + (model.side_effect_ if model.side_effect else 0.0)
        margin += float(all_votes.covariates[k] @ model.coef_) if with_length else 0.0
        win, tie, loss = np.array([math.exp(margin / 2), nu, math.exp(-margin / 2)]) / (
            math.exp(margin / 2) + nu + math.exp(-margin / 2)
        )
        points = (all_votes.outcome[k] + 1) / 2
        for a, b, took, mean in ((i, j, points, win + tie / 2), (j, i, 1 - points, loss + tie / 2)):
            won[a, b] += took
            expected[a, b] += mean
            variance[a, b] += win + tie / 4 - (win + tie / 2) ** 2
    found = diagnose(all_votes, model, replicates=1, splits=1, influence=False).residuals
    assert len(found) == 10
    for row in found.to_dicts():
        a, b = "ABCDE".index(row["item"]), "ABCDE".index(row["against"])
        assert (row["won"], row["expected"]) == pytest.approx((won[a, b], expected[a, b]), abs=1e-3)
        if nu:  # where ties are half wins, their variance is estimated as well
            votes_of_pair = won[a, b] + won[b, a]
            own, mean = won[a, b] / votes_of_pair, expected[a, b] / votes_of_pair
            worth = mean * (1 - mean) * votes_of_pair**2 / variance[a, b]  # votes without ties that vary as much
            ratio = own * math.log(own / mean) + (1 - own) * math.log((1 - own) / (1 - mean))
            assert row["residual"] == pytest.approx(math.sqrt(2 * worth * ratio), abs=1e-3)


def test_alarms_of_a_model_with_side_and_ties_ring_at_their_level():
    level, sets = 0.2, 40
    rang = np.zeros(3)
    for seed in range(sets):
        votes_of = without_covariates(arena(150, seed))
        rng = np.random.default_rng(seed)
        half = 0.5 * (0.5 - 0.2 * (votes_of.left - votes_of.right))
        chances = np.array([np.exp(half), np.full(150, 0.8), np.exp(-half)])
        place = rng.random(150) * chances.sum(axis=0)
        outcome = 1 - (place > chances[0]).astype(int) - (place > chances[0] + chances[1]).astype(int)
        votes_of = replace(votes_of, outcome=outcome.astype(np.int8))
        model = BradleyTerry(ties="davidson", side_effect=True).fit(votes_of)
        found = diagnose(votes_of, model, replicates=19, splits=1, influence=False, seed=seed)
        rang += np.array([test.p_value for test in (found.largest, found.dispersion, found.cyclic)]) <= level
    slack = 4 * math.sqrt(level * (1 - level) / sets)
    assert (rang / sets < level + slack).all()
    assert (rang > 0).all()


@settings(max_examples=60, deadline=None)
@given(votes(outcomes=(1.0, 0.0, 0.5), weighted=False, most_votes=30), st.integers(0, 50))
def test_reliability_stays_within_its_bounds_and_the_words_fit(given_votes, seed):
    n, rows = given_votes
    comparisons = as_comparisons(n, rows)
    with thin_data():
        found = diagnose(comparisons, replicates=1, splits=3, influence=False, seed=seed)
    r = found.reliability
    if r is None:
        return
    assert -1 <= r.low <= r.correlation <= r.high <= 1
    assert 0 <= r.agreement <= 1
    assert r.full is None or 0 <= r.full <= 1
    assert (r.full is None) == (r.correlation < 0)
    (text,) = [each.text for each in found.findings() if each.name == "Split-half reliability"]
    assert ("no agreement" in text) == (r.correlation < 0)
    assert all(-1 <= float(number) <= 1 for number in re.findall(r"-?\d\.\d\d", text.split(" With ")[0]))


def test_halves_that_contradict_each_other_have_no_reliability():
    # Each pair met twice, once won by either: whatever one half says the other denies.
    rows = [(a, b) for a in "abcde" for b in "abcde" if a != b]
    with thin_data():
        found = diagnose(Comparisons.from_pairs(rows), replicates=1, influence=False)
    assert found.reliability.correlation < 0
    assert found.reliability.full is None
    assert found.to_dict()["reliability"]["full"] is None
    assert any("no agreement" in each.text and "8 votes an item" in each.text for each in found.findings())
    with thin_data():
        many = diagnose(Comparisons.from_pairs(rows * 10), replicates=1, splits=1, influence=False)
    reliability = [each for each in many.findings() if "reliability" in each.name]
    assert [each.concern for each in reliability] == [many.reliability.full is None or many.reliability.full < 0.7]


def test_residuals_and_tests_are_those_of_the_likelihood_whatever_the_penalty():
    votes = drawn(8, 60, seed=9)
    with thin_data():
        plain, auto = (BradleyTerry(l2=l2).fit(votes) for l2 in (1e-3, "auto"))
    mine, theirs = (diagnose(votes, model, replicates=19, influence=False) for model in (auto, plain))
    assert mine.residuals.equals(theirs.residuals)
    assert mine.dispersion == theirs.dispersion
    assert mine.against is None


def test_a_history_has_no_more_points_than_votes():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("a", "b"), ("b", "c"), ("c", "a")])
    assert score_history(votes, points=10**17).votes.tolist() == [1, 2, 3, 4, 5]
