"""Reliability and fit as comparative judgement defines them: by hand, and on judges whose care is known."""

import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

from podium import BradleyTerry, Comparisons, Ranking, Rankings
from podium.errors import InputError, PodiumWarning
from podium.evaluate import judging_quality, scale_separation


def judged(rng, care, n=15, each=60, spread=1.5):
    """Votes of judges, each as careful as told: 1 by the model, 0 at random."""
    truth = rng.normal(0, spread, n)
    judge = np.repeat(np.arange(len(care)), each)
    left = rng.integers(0, n, len(judge))
    right = (left + rng.integers(1, n, len(judge))) % n
    won = rng.random(len(judge)) < 1 / (1 + np.exp(np.asarray(care)[judge] * (truth[right] - truth[left])))
    winner, loser = np.where(won, left, right), np.where(won, right, left)
    return truth, Comparisons.from_arrays(winner, loser, items=[f"i{k}" for k in range(n)], judge=judge)


def quiet(votes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        return BradleyTerry().fit(votes).ranking_


def test_scale_separation_by_hand():
    votes = judged(np.random.default_rng(0), [1.0] * 8)[1]
    plain = BradleyTerry(l2=0).fit(votes).ranking_
    variance = np.var(plain.scores, ddof=1)
    expected = (variance - np.mean(plain.std_errors**2)) / variance
    found, items = scale_separation(plain)
    assert (found, items) == (pytest.approx(expected), 15)
    shrunk = scale_separation(BradleyTerry().fit(votes).ranking_)[0]  # the penalty does not enter
    assert shrunk == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("each", [25, 100])
def test_scale_separation_is_the_squared_correlation_with_the_truth(each):
    """What a reliability means: the share of the scores' variance that is true. Mean of 30 data sets."""
    rng = np.random.default_rng(each)
    said, true = [], []
    for _ in range(30):
        truth, votes = judged(rng, [1.0] * 6, each=each)
        scores = quiet(votes).estimates
        said.append(judging_quality(votes, splits=1).separation)
        true.append(np.corrcoef(truth, scores)[0, 1] ** 2)
    assert np.mean(said) == pytest.approx(np.mean(true), abs=0.06)


def test_random_answers_are_not_reliable():
    rng = np.random.default_rng(5)
    quality = judging_quality(judged(rng, [0.0] * 6)[1])
    assert quality.separation < 0.5
    assert not quality.reliable
    assert "below 0.8: more votes are needed" in quality.words()[0]


def test_a_reliability_below_nothing_is_not_told_as_a_number():
    """Where errors are larger than the spread the formula goes below 0, as far as one likes: that is no degree."""
    quality = judging_quality(judged(np.random.default_rng(5), [0.0] * 6)[1])
    assert replace(quality, separation=-3.69).words()[0].startswith("scale separation reliability below 0 (")


def test_split_half_by_judges_is_high_where_judges_agree_and_low_where_they_do_not():
    rng = np.random.default_rng(6)
    agreed = judging_quality(judged(rng, [1.0] * 8, each=80)[1]).split_half
    assert agreed.full > 0.8
    votes = judged(rng, [1.0] * 4, each=80)[1]
    won, lost = votes.left, votes.right  # and four more judges who say the opposite
    both = Comparisons.from_arrays(
        np.concatenate([won, lost]), np.concatenate([lost, won]), items=votes.items,
        judge=np.concatenate([votes.judge, votes.judge + 4]),
    )  # fmt: skip
    assert judging_quality(both).split_half.correlation < 0.3
    assert judging_quality(judged(rng, [1.0])[1]).split_half is None


def test_who_misfits_is_two_standard_deviations_of_a_sample_above_the_mean():
    fits = judging_quality(judged(np.random.default_rng(3), [1] * 6)[1]).judge_fit
    infits = fits["infit"].to_numpy()
    above, squares = infits.max() - infits.mean(), np.sum((infits - infits.mean()) ** 2)
    assert 2 * np.sqrt(squares / 6) < above < 2 * np.sqrt(squares / 5)
    assert not fits["beyond_chance"].any()
    assert not fits["misfit"].any()


def test_infit_by_hand_and_the_careless_judge_misfits():
    votes = judged(np.random.default_rng(7), [1, 1, 1, 1, 1, 1, 1, 0.0])[1]
    quality = judging_quality(votes)
    scores = BradleyTerry().fit(votes).ranking_.estimates
    p = 1 / (1 + np.exp(scores[votes.right] - scores[votes.left]))
    for row in quality.judge_fit.to_dicts():
        mine = votes.judge == int(row["judge"])
        assert row["infit"] == pytest.approx(((1 - p) ** 2)[mine].sum() / (p * (1 - p))[mine].sum())
    infits = quality.judge_fit["infit"]
    limit = infits.mean() + 2 * infits.std()
    assert quality.judge_fit.filter(pl.col("infit") > limit)["judge"].to_list() == ["7"]
    assert quality.judge_fit.filter("misfit")["judge"].to_list() == ["7"]
    for row in quality.item_fit.to_dicts():
        k = votes.items.index(row["item"])
        mine = (votes.left == k) | (votes.right == k)
        assert row["infit"] == pytest.approx(((1 - p) ** 2)[mine].sum() / (p * (1 - p))[mine].sum())
        assert row["votes"] == mine.sum()
    assert quality.judge_fit.filter("beyond_chance")["judge"].to_list() == ["7"]
    assert any("misfit: judge 7, infit" in line and "beyond chance" in line for line in quality.words())


def test_the_careless_one_of_four_judges_misfits():
    """Of four, none can be above the mean + 2 sd of them all: (n − 1) / √n is 1.5. Chance alone decides there."""
    votes = judged(np.random.default_rng(3), [1, 1, 1, 0.0], each=80)[1]
    quality = judging_quality(votes)
    infits = quality.judge_fit["infit"]
    assert not (infits > infits.mean() + 2 * infits.std()).any()
    assert quality.judge_fit.filter("misfit")["judge"].to_list() == ["3"]
    assert any("misfit: judge 3, infit" in line and "beyond chance" in line for line in quality.words())


def test_honest_judges_misfit_by_chance_and_are_seldom_beyond_it():
    """Fifteen honest judges: mean + 2 sd is passed by one in many sets, what chance leads to in few."""
    rng = np.random.default_rng(18)
    fits = [judging_quality(judged(rng, [1.0] * 15, each=30)[1], splits=1).judge_fit for _ in range(40)]
    assert np.mean([fit["misfit"].any() for fit in fits]) > 0.25
    assert np.mean([fit["beyond_chance"].any() for fit in fits]) <= 0.1
    within = next(fit for fit in fits if fit["misfit"].any() and not fit["beyond_chance"].any())
    assert within.filter("misfit")["infit"].min() > 1


def test_rankings_of_pure_chance_have_no_reliability():
    rng = np.random.default_rng(18)
    lists = [rng.permutation(20).tolist() for _ in range(40)]
    rankings = Rankings.from_lists(lists)
    quality = judging_quality(rankings, splits=4)
    assert quality.separation < 0.35
    assert quality.split_half.correlation < 0.35
    assert quality.words()[0].startswith("scale separation reliability")
    assert "(all rankings)" in quality.words()[0]
    assert not any("misfit" in line for line in quality.words())


def test_rankings_of_two_are_as_reliable_as_the_pairs_they_are():
    votes = judged(np.random.default_rng(19), [1.0] * 6)[1]
    pairs = [[votes.items[won], votes.items[lost]] for won, lost in zip(votes.left, votes.right, strict=True)]
    rankings = Rankings.from_lists(pairs, items=votes.items, judge=votes.judge, unranked="unknown")
    one, other = judging_quality(rankings, splits=3), judging_quality(votes, splits=3)
    assert one.separation == pytest.approx(other.separation, abs=1e-4)
    assert one.split_half.correlation == pytest.approx(other.split_half.correlation, abs=1e-3)
    assert "no scale separation reliability" in judging_quality(rankings, chosen=True, splits=1).words()[0]


def test_ties_weights_and_counts_enter_the_infit():
    rows = {
        "left": ["a", "a", "b", "b", "c", "a"],
        "right": ["b", "b", "a", "c", "a", "c"],
        "outcome": [1, 0.5, 1, 1, 1, 0.5],
    }
    rows |= {"judge": ["p"] * 6}
    once = judging_quality(Comparisons.from_frame(rows))
    twice = Comparisons.from_frame({name: [*values, *values] for name, values in rows.items()})
    counted = Comparisons.from_frame(rows | {"count": [2] * 6})
    for votes in (twice, counted, counted.merged()):
        assert_allclose(judging_quality(votes).judge_fit["votes"], [12])
    assert judging_quality(counted).judge_fit["infit"][0] == pytest.approx(judging_quality(twice).judge_fit["infit"][0])
    assert once.judge_fit["infit"][0] > 0


def test_chosen_pairs_have_a_separation_from_check_pairs_or_none():
    rng = np.random.default_rng(8)
    votes = judged(rng, [1.0] * 6, each=80)[1]
    refused = judging_quality(votes, chosen=True)
    assert refused.separation is None
    assert "pairs were chosen by the answers before" in refused.words()[0]
    check = votes.take(np.arange(0, len(votes.left), 2))
    quality = judging_quality(votes, chosen=True, check=check)
    assert quality.separation == pytest.approx(scale_separation(BradleyTerry().fit(check).ranking_)[0])
    assert "(check pairs)" in quality.words()[0]
    assert judging_quality(votes, check=check).separation_from == "all pairs"


def test_few_items_and_seconds():
    votes = Comparisons.from_arrays(["a", "b", "a"], ["b", "a", "b"], judge=["p", "p", "q"])
    quality = judging_quality(votes, seconds={"p": 4.0, "q": 8.0})
    assert quality.separation is None
    assert "2 items, too few, have scores that votes bound on both sides" in quality.words()[0]
    assert quality.judge_fit.sort("judge")["seconds"].to_list() == [4.0, 8.0]
    assert "median seconds a judgement: 6.0 (judges 4.0 to 8.0)" in quality.words()[-1]


def test_what_cannot_be_used_is_named():
    votes = Comparisons.from_pairs([("a", "b")])
    for options, says in (
        ({"splits": 0}, "splits=0"),
        ({"seed": -1}, "seed=-1"),
        ({"check": 3}, "check"),
    ):
        with pytest.raises(InputError, match=says):
            judging_quality(votes, **options)
    with pytest.raises(InputError, match="has no standard errors"):
        scale_separation(Ranking(["a", "b"], [1.0, 0.0]))


@pytest.mark.parametrize("value", [None, "fast", -1, float("nan"), 10**400])
def test_seconds_that_are_none_are_named(value):
    votes = Comparisons.from_arrays(["a"], ["b"], judge=["p"])
    with pytest.raises(InputError, match="the seconds of judge 'p' are"):
        judging_quality(votes, seconds={"p": value})
