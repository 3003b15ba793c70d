"""What the planner says of itself and what it asks next, each part worked out by hand or by a plain loop."""

import math
import sys
import warnings
from collections import Counter
from functools import partial
from itertools import pairwise, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, logit
from scipy.stats import kstest, norm

from podium import BradleyTerry
from podium.active import ActiveRanker, aims, bands, clean, locks, models, rehearsal, summary
from podium.active.choice import least_certain, swiss_round
from podium.active.clean import clean_pairs, partial_order
from podium.active.ledger import Ledger
from podium.active.many import head_chance
from podium.active.model_scores import Scores
from podium.active.models import _doubt, _share, _turning, _vague, draft_model, fold_of
from podium.active.oracles import MODELS, Simulated
from podium.active.order import SparseWins
from podium.active.paper.decompose import _pairs_within
from podium.active.paper.erm import _order_block, _sampled
from podium.active.paper.improve import Ensemble, _pairs_of, _votes, draw_ensemble
from podium.active.paper.interview import Interview
from podium.active.paper.learners import _best_step
from podium.active.paper.quicksort import _middle_pivots, quicksort
from podium.active.paper.state import State as PaperState
from podium.active.paper.votes import Votes
from podium.active.planner import Planner
from podium.active.summary import State, Summary, summarise
from podium.active.tally import CHECK, CHOSEN, REPEAT, Ballots, distinct, is_among, pair_keys
from podium.errors import DataWarning, InputError


def tally_of(n, votes):
    """Votes as (left, right, value, judge, kind); nan is a skip."""
    ballots = Ballots(n)
    columns = zip(*votes, strict=True) if votes else [[]] * 5
    types = (np.int64, np.int64, np.float64, np.int64, np.int64)
    ballots.add(*(np.array(list(column), dtype=kind) for column, kind in zip(columns, types, strict=True)))
    return ballots.tally


# ---- votes ----------------------------------------------------------------------------------------------------------


def test_votes_are_the_same_from_either_side_and_in_any_order():
    votes = [(3, 1, 1.0, 0, CHOSEN), (0, 2, 0.5, 2, CHECK), (1, 3, 1.0, 1, REPEAT), (2, 0, np.nan, 1, CHOSEN)]
    tally = tally_of(4, votes)
    assert list(zip(tally.low, tally.high, tally.value, tally.judge, tally.kind, strict=True)) == [
        (0, 2, 0.5, 2, CHECK), (1, 3, 0.0, 0, CHOSEN), (1, 3, 1.0, 1, REPEAT),
    ]  # fmt: skip
    assert (tally.skipped_low.tolist(), tally.skipped_high.tolist(), tally.skipped_judge.tolist()) == ([0], [2], [1])
    assert tally.keys.tolist() == [0 * 4 + 2, 1 * 4 + 3]
    assert [part.tolist() for part in tally.sums()] == [[0.5, 1.0], [1.0, 2.0]]
    one_by_one = Ballots(4)
    for vote in reversed(votes):
        one_by_one.add(*(np.array([part]) for part in vote))
        again = one_by_one.tally
    for name in ("low", "high", "value", "judge", "kind", "skipped_low", "skipped_judge"):
        assert getattr(again, name).tolist() == getattr(tally, name).tolist()
    one_by_one.clear()
    assert len(one_by_one.tally) == 0
    one_by_one.add(*np.zeros((5, 0)))
    assert one_by_one.tally.judges == 1


def test_a_judge_has_a_number_below_a_million():
    ballots = Ballots(3)
    ballots.add(*(np.array([value]) for value in (0, 1, 1.0, 999_999, 0)))
    with pytest.raises(InputError, match="judge 1000000 is too large a number; number the judges from 0"):
        ballots.add(*(np.array([value]) for value in (0, 1, 1.0, 1_000_000, 0)))


def test_keys_of_pairs():
    assert pair_keys(np.array([[1, 2], [2, 1], [0, 4]]), 5).tolist() == [7, 7, 4]
    assert distinct(np.array([3, 5]), np.array([1, 3])).tolist() == [1, 3, 5]
    assert distinct(np.zeros(0, dtype=np.int64)).tolist() == []
    assert is_among(np.array([0, 3, 9]), np.array([3, 5])).tolist() == [False, True, False]
    assert is_among(np.array([0]), np.zeros(0, dtype=np.int64)).tolist() == [False]


# ---- the summary ----------------------------------------------------------------------------------------------------


def state_of(votes, n=5, off=1.0, fitted=None, top=None, settled=False, finished=False, order=None):
    order = np.arange(n) if order is None else np.array(order)
    half = np.full(n, off) if np.isscalar(off) else np.array(off)
    return State(top, tally_of(n, votes), fitted, order, half, bands.ranks_between(order, half), settled, finished)


def fit(chances, turning=False, straight=True, floor=0.1, scale=2.0, tested=None):
    chances = np.array(chances)
    return SimpleNamespace(
        turning=turning, straight=straight, posterior=SimpleNamespace(floor=floor, scale=scale),
        held_out_chances=lambda: chances, tested=np.ones(len(chances), bool) if tested is None else np.array(tested),
    )  # fmt: skip


def test_nothing_asked_is_said_as_nothing():
    found = summarise(state_of([], off=[0.0, 1, 2, 3, 4]))
    assert (found.questions, found.pairs, found.repeated, found.skipped, found.judges) == (0, 0, 0, 0, 0)
    assert (found.agreement, found.agreement_interval, found.noise, found.cost_interval) == (None,) * 4
    assert (found.cost, found.stable, found.turning, found.finished) == (0.0, False, False, False)
    assert found.within_ranks == pytest.approx(3.6)


def votes_of(checks, hits, n=5, rest=0):
    """Check votes of which so many agree with the order 0, 1, 2 …; then others that all do."""
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    rows = [(*pairs[k % len(pairs)], float(k < hits), 0, CHECK) for k in range(checks)]
    return rows + [(*pairs[k % len(pairs)], 1.0, 1, CHOSEN) for k in range(rest)]


@pytest.mark.parametrize(("checks", "hits"), [(10, 8), (8, 8), (9, 0)])
def test_agreement_has_the_score_interval_of_nine_in_ten(checks, hits):
    """Wilson's ends: where the share is 1.645 standard deviations off."""
    votes = votes_of(checks, hits)
    state = state_of(votes, fitted=fit(np.full(checks, 0.9)))
    found = summarise(state)
    share, z = hits / checks, norm.ppf(0.95)
    assert found.agreement == pytest.approx(share)
    for end in found.agreement_interval:
        assert abs(share - end) == pytest.approx(z * math.sqrt(max(end * (1 - end), 0) / checks), abs=1e-3)
    assert found.agreement_interval[0] <= share + 1e-9
    assert found.agreement_interval[1] >= share - 1e-9
    assert found.check_votes == checks
    contradicted, rest = checks - hits, 10 - len(state.tally.keys)
    assert found.cost == pytest.approx(contradicted + rest * (1 - share))
    low, high = found.agreement_interval
    assert found.cost_interval == pytest.approx((contradicted + rest * (1 - high), contradicted + rest * (1 - low)))


def test_only_check_votes_that_were_predicted_without_them_count():
    votes = [*votes_of(4, 4), (0, 1, 1.0, 2, CHOSEN)]
    tested = fit([0.9] * 5, tested=[False] * 5)
    assert summarise(state_of(votes, fitted=tested)).agreement is None
    tested = fit([0.9] * 5, tested=[True, True, False, True, True])
    found = summarise(state_of(votes, fitted=tested))
    assert (found.agreement, found.check_votes) == (1.0, 4)
    mean = (1 + 1.645**2 / 6) / (1 + 1.645**2 / 3)  # of three
    assert sum(found.agreement_interval) / 2 == pytest.approx(mean)
    wrong = fit([0.4] * 5)
    assert summarise(state_of(votes, fitted=wrong)).agreement == 0.0
    half = fit([0.5] * 5)  # no lower item is foreseen to win
    assert summarise(state_of(votes, fitted=half)).agreement == 0.0


def test_votes_on_one_pair_are_one_answer_and_a_contradiction_is_its_share():
    votes = [(0, 1, 1.0, 0, CHOSEN), (0, 1, 0.0, 1, CHOSEN), (2, 1, 1.0, 0, REPEAT), (3, 4, np.nan, 0, CHOSEN)]
    found = summarise(state_of(votes, fitted=fit([0.5] * 3)))
    assert (found.questions, found.pairs, found.repeated, found.skipped, found.judges) == (4, 2, 1, 1, 2)
    assert found.cost == pytest.approx(0.5 + 1.0)  # before 20 answers mistakes are not guessed
    found = summarise(state_of(votes, fitted=fit([0.5] * 3), order=[0, 2, 1, 3, 4]))
    assert found.cost == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("count", "changes", "stable"),
    [
        (20, {}, True), (19, {}, False), (20, {"turning": True}, False), (20, {"straight": False}, False),
        (20, {"off": 2.0}, False),
    ],
)  # fmt: skip
def test_when_to_stop(count, changes, stable):
    """Of 5 items a typical band may cover 0.6 ranks beside the item's own."""
    changes = dict(changes)
    off = changes.pop("off", 0.5)
    votes = votes_of(0, 0, rest=count)
    found = summarise(state_of(votes, off=off, fitted=fit([0.5] * count, **changes)))
    assert found.stable == stable
    assert found.turning == changes.get("turning", False)
    assert (found.until_stable == 0) == stable
    assert found.noise == (0.1 if count >= 20 else None)
    assert found.close_calls == (2.0 if count >= 20 else None)
    ended = summarise(state_of(votes, off=off, fitted=fit([0.5] * count, **changes), finished=True))
    assert (ended.until_stable, ended.until_stable_upper, ended.finished) == (0, 0, True)


def test_an_order_that_is_settled_is_stable_however_wide():
    votes = votes_of(0, 0, rest=20)
    found = summarise(state_of(votes, off=4.0, settled=True, fitted=fit([0.5] * 20, turning=True)))
    assert found.stable
    assert (found.noise, found.close_calls) == (0.0, None)
    assert summarise(state_of(votes[:19], off=4.0, settled=True)).noise is None


@pytest.mark.parametrize("floor", [0.0, 0.003, 0.1, 0.45, 0.5])
def test_questions_until_stable(floor):
    """Each carries 1 − H(floor) bits, 1.7 bits halve the band of an item, and bands are twice the half-widths."""
    n, off = 40, 12.0
    p = min(max(floor, 0.003), 0.45)
    bits = 1 + p * math.log2(p) + (1 - p) * math.log2(1 - p)
    expected = math.ceil(n * 1.7 / bits * math.log2(2 * off / (0.15 * (n - 1))))
    votes = votes_of(0, 0, n=n, rest=25)
    state = state_of(votes, n=n, off=off, fitted=fit([0.5] * 25, floor=floor))
    found = summarise(state)
    assert found.until_stable == expected
    lower, upper = state.bands
    wide = np.mean(upper - lower) / (0.15 * (n - 1))
    assert found.width == pytest.approx(np.mean(upper - lower))
    assert found.until_stable_upper == max(expected, math.ceil(25 * (wide**2 - 1)))
    assert summary._if_close(10, 0.5) == 0
    assert summary._until_stable(np.full(n, 0.1), np.ones(n), 0.0) == math.ceil(
        n * 1.7 / (1 + 0.003 * math.log2(0.003) + 0.997 * math.log2(0.997)) * 0.1
    )


def test_of_the_first_few_only_those_count_who_may_be_among_them():
    off = np.array([0.5, 0.5, 0.5, 4.0, 4.0])
    votes = votes_of(0, 0, rest=20)
    whole = summarise(state_of(votes, off=off, fitted=fit([0.5] * 20)))
    state = state_of(votes, off=off, fitted=fit([0.5] * 20), top=1)
    first = summarise(state)
    weight = head_chance(np.arange(5), off / 2, 1) + 1e-9
    lower, upper = state.bands
    assert first.width == pytest.approx(np.sum(weight * (upper - lower)) / weight.sum())
    assert first.width < whole.width


def test_the_chance_to_be_among_the_first():
    rank, std = np.array([0, 2, 3, 9]), np.array([0.0, 1.0, 1.0, 3.0])
    assert_allclose(head_chance(rank, std, 2), expit(-2 * (rank - 2) / (std + 1)))
    assert head_chance(np.array([1000]), np.array([0.0]), 1)[0] > 0


def said(**more):
    whole = {
        "items": 10, "questions": 30, "pairs": 28, "repeated": 0, "skipped": 0, "judges": 1, "check_votes": 0,
        "agreement": None, "agreement_interval": None, "noise": None, "close_calls": None, "cost": 0.0,
        "cost_interval": None, "within_ranks": 1.4, "width": 1.0, "stable": False, "turning": False, "finished": False,
        "until_stable": 10, "until_stable_upper": 20,
    }  # fmt: skip
    return str(Summary(**(whole | more))).splitlines()


def test_the_summary_in_words():
    assert said()[:2] == [
        "10 items, 30 questions (3.0 an item)",
        "mistakes: too few answers to tell; nine in ten items within 1 rank",
    ]
    assert said(skipped=2, repeated=3)[1] == "2 skipped, 3 asked again"
    assert said(repeated=3)[1] == "3 asked again"
    assert said(noise=0.061)[1].startswith("mistakes about 6.1 %;")
    assert said(agreement=0.9, agreement_interval=(0.8, 0.95), check_votes=12)[1] == (
        "agreement on check pairs 90 % (80 % to 95 %, 12)"
    )
    assert said(turning=True)[2].startswith("far pairs contradict the order, as on a circle")
    assert said(stable=True, finished=True)[-1] == "stable: more questions would change little"
    assert said(finished=True)[-1] == "not stable, but no useful pair is left to ask"
    assert said()[-1].startswith("not stable yet: about 10 to 20 more questions")
    assert "new" not in said(pairs=35)[-1]  # ten pairs are left for ten questions
    assert said(pairs=36)[-1].endswith("; 9 pairs are new, the rest would be asked again")
    assert said(pairs=40, skipped=4)[-1].endswith("; 1 pair is new, the rest would be asked again")


# ---- bands ----------------------------------------------------------------------------------------------------------


def test_ranks_between_are_whole_and_inside_the_list():
    lower, upper = bands.ranks_between(np.array([2, 0, 1]), np.array([0.4, 0.6, 9.0]))
    assert lower.tolist() == [2, 2, 1]  # of item 0 at rank 2, item 1 at rank 3, item 2 at rank 1
    assert upper.tolist() == [2, 3, 3]
    lower, upper = bands.ranks_between(np.arange(9), np.full(9, 1.5))
    assert lower.tolist() == [1, 1, 2, 3, 4, 5, 6, 7, 8]
    assert upper.tolist() == [2, 3, 4, 5, 6, 7, 8, 9, 9]


def modelled(n, **more):
    scores = SimpleNamespace(mean=-np.arange(n) * 1.0, variance=np.full(n, 4.0), covariance=None)
    posterior = SimpleNamespace(std=np.full(n, 2.0), floor=0.1)
    whole = {"turning": False, "loose": 1.0, "vague": 0.0, "share": 0.5, "doubt": 1.0}
    return SimpleNamespace(scores=scores, posterior=posterior, **(whole | more))


@pytest.mark.parametrize("checks", [0, 15])
@pytest.mark.parametrize("more", [{}, {"share": 1.0}, {"share": 1.0, "vague": 0.5}, {"loose": 1.25, "doubt": 1.5}])
def test_a_band_is_the_wider_of_two_models(checks, more):
    """Model A: 1.8 · 1.645 rank deviations; model B: 2.2 of its own over √(1 − 2·floor), and a rank more."""
    n = 60
    votes = [(k, k + 1, 1.0, 0, CHECK) for k in range(checks)]
    tally = tally_of(n, [*votes, (50, 52, 1.0, 0, CHOSEN)])
    models = modelled(n, **more)
    spread = bands.rank_spread(models.scores)
    assert spread[30] == pytest.approx(2.0, abs=0.5)  # scores one apart, each known to ±2
    by_score = 1.8 * models.loose * 1.645 * spread * (1.0 if models.share < 1 else models.vague)
    by_place = 2.2 * 2.0 / math.sqrt(0.8) + 1.0
    unasked = 1 - (checks + 1) / (n * (n - 1) / 2)
    blind = 1 + 2.0 * unasked * math.exp(-checks / 15.0)
    expected = np.minimum(np.maximum(by_score, by_place) * models.doubt * blind, n - 1)
    assert_allclose(bands.half_widths(tally, models), expected)
    assert bands.half_widths(tally, modelled(n, turning=True)).tolist() == [n - 1.0] * n


def test_ranks_spread_as_draws_of_the_scores_do():
    mean = np.array([2.0, 1.0, 0.0])
    covariance = np.array([[0.5, 0.1, 0.0], [0.1, 0.4, 0.0], [0.0, 0.0, 0.3]])
    scores = SimpleNamespace(mean=mean, covariance=covariance)
    drawn = np.random.default_rng(5).multivariate_normal(mean, covariance, 40_000)
    ranks = np.argsort(np.argsort(-drawn, axis=1), axis=1)
    assert_allclose(bands.rank_spread(scores), ranks.std(axis=0), atol=0.09)
    assert bands._drawn_ranks(scores).shape == (200, 3)
    assert_allclose(bands._drawn_ranks(scores).mean(axis=0), ranks.mean(axis=0), atol=0.15)


# ---- what held-out votes say ----------------------------------------------------------------------------------------


def test_logits_are_divided_by_what_fits_the_votes_best():
    rng = np.random.default_rng(1)
    truth = rng.normal(0, 1.5, 4000)
    value = (rng.random(4000) < expit(truth)).astype(float)
    assert _doubt(expit(truth), value)[0] == 1.0
    assert _doubt(expit(truth), value)[1] == 0.0
    divisor, gain = _doubt(expit(2 * truth), value)
    assert divisor == 2.0

    def likelihood(x):
        return float(np.sum(value * np.log(expit(x)) + (1 - value) * np.log(expit(-x))))

    assert gain == pytest.approx(likelihood(truth) - likelihood(2 * truth), rel=1e-2)
    few = slice(0, 12)
    assert _doubt(expit(2 * truth[few]), 1 - value[few])[0] == 4.0
    assert _doubt(expit(0.3 * truth[few]), 1 - value[few], trust=0.01)[0] == 1.0
    assert _doubt(np.zeros(0), np.zeros(0)) == (1.0, 0.0)


def test_doubt_that_is_expected_less_counts_less():
    chances, value = np.array([0.9, 0.9, 0.9]), np.array([1.0, 0.0, 0.0])
    log_fit = np.array([np.sum(value * x - np.log1p(np.exp(x))) for x in logit(0.9) / models.DOUBTS])
    for trust in (0.2, 0.5, 1.0, np.inf):
        best = np.argmax(log_fit - 0.5 * (np.log(models.DOUBTS) / trust) ** 2)
        divisor, gain = _doubt(chances, value, trust)
        assert (divisor, gain) == (models.DOUBTS[best], pytest.approx(log_fit[best] - log_fit[0], abs=1e-9))


@pytest.mark.parametrize(("gain", "vague"), [(5.0, 0.0), (10.0, 0.0), (15.0, 0.5), (20.0, 1.0), (99.0, 1.0)])
def test_neighbours_are_vague_by_what_doubt_gains(gain, vague, monkeypatch):
    monkeypatch.setattr(models, "_doubt", lambda chances, value, trust=np.inf: (3.0, gain))
    few = np.full(499, 0.6), np.ones(499)
    assert _vague(*few) == (pytest.approx(vague), 1.0)
    for hits, least in ((0.62, 0.0), (0.6, 0.5), (0.58, 1.0), (0.5, 1.0)):
        value = (np.arange(500) < 500 * hits).astype(float)
        found, loose = _vague(np.full(500, 0.6), value)
        assert found == pytest.approx(max(vague, least))
        assert loose == pytest.approx(1 + max(vague, least) * 0.25)
    monkeypatch.setattr(models, "_doubt", lambda chances, value, trust=np.inf: (1.75, gain))
    assert _vague(np.full(500, 0.6), np.zeros(500))[1] == 1.0


def test_the_mixture_must_be_worth_its_constants():
    value = np.ones(10)
    for gain, share in ((1.9, 0.0), (2.1, 1.0)):  # log-likelihood that model B is better by, in all
        seen = np.tile([0.5, 0.5 * math.exp(gain / 10)], (10, 1))
        assert _share(seen, value) == share
        assert _share(1 - seen, 1 - value) == share
    mixed = np.column_stack([np.tile([0.999, 0.001], 20), np.tile([0.001, 0.999], 20)])
    assert _share(mixed, np.ones(40)) == 0.5
    assert _share(np.zeros((0, 2)), np.zeros(0)) == 0.0


def far_and_near(far, wrong_far, near, wrong_near, n=30):
    """Votes on pairs 11 and 1 apart in the order 0, 1, …, so many of them the wrong way round."""
    votes = [(k % (n - 11), k % (n - 11) + 11, float(k >= wrong_far), k, CHOSEN) for k in range(far)]
    votes += [(k % (n - 1), k % (n - 1) + 1, float(k >= wrong_near), k, CHOSEN) for k in range(near)]
    return tally_of(n, votes)


@pytest.mark.parametrize(
    ("far", "wrong_far", "near", "wrong_near"),
    [(19, 19, 40, 0), (20, 20, 40, 0), (20, 1, 40, 0), (100, 8, 40, 0), (100, 9, 40, 0), (100, 3, 40, 0),
     (400, 25, 40, 0), (100, 25, 100, 10), (100, 10, 100, 10), (40, 30, 0, 0)],
)  # fmt: skip
def test_far_pairs_that_contradict_the_order(far, wrong_far, near, wrong_near):
    """Turning beyond 0.08 and 2.5 errors; straight where 1.282 errors more are no more than 0.08; 20 pairs tell."""
    tally = far_and_near(far, wrong_far, near, wrong_near)
    found = _turning(tally, SimpleNamespace(order=np.arange(30)))
    if far < 20 or not near:
        assert found == (False, True)
        return
    share = wrong_near / near
    error = math.sqrt(max(share * (1 - share), 0.01) / far)
    more = wrong_far / far - share
    assert found == (more > max(0.08, 2.5 * error), more + 1.282 * error <= 0.08)


def test_a_pair_is_far_beyond_a_third_of_all_ranks():
    for gap, tells in ((10, False), (11, True)):
        votes = [(k % 19, k % 19 + gap, 0.0, k, CHOSEN) for k in range(40)]
        votes += [(k, k + 1, 1.0, 0, CHOSEN) for k in range(20)]
        assert _turning(tally_of(30, votes), SimpleNamespace(order=np.arange(30)))[0] == tells


def test_all_votes_on_a_pair_are_in_one_of_five_parts():
    votes = [(i, j, 1.0, judge, CHOSEN) for i in range(30) for j in range(i) for judge in (0, 1)]
    tally = tally_of(30, votes)
    part = fold_of(tally)
    assert set(part.tolist()) == {0, 1, 2, 3, 4}
    assert all(len(set(part[begin : begin + 2].tolist())) == 1 for begin in tally.first)
    assert np.bincount(part).min() > 0.15 * len(tally)


def test_a_draft_holds_out_a_fifth_and_half_of_the_other_check_votes():
    votes = [(i, j, 1.0, 0, CHECK if (i + j) % 3 == 0 else CHOSEN) for i in range(40) for j in range(i)]
    tally = tally_of(40, votes)
    draft = draft_model(tally)
    checks = tally.kind == CHECK
    assert draft.part.mean() == pytest.approx(0.2, abs=0.05)
    assert (draft.out[draft.part]).all()
    assert not (draft.out & ~draft.part & ~checks).any()
    assert draft.out[checks].mean() == pytest.approx(0.5, abs=0.1)
    assert (draft.seen[~draft.out] == 0.5).all()
    assert (draft.seen[draft.out] > 0.5).mean() < 0.5  # the lower of a pair lost each time


# ---- sorting without a contradiction --------------------------------------------------------------------------------


def test_first_rounds_pair_those_of_equal_record():
    """Ten items: first any disjoint pairs; then winners meet winners, and nobody the same twice."""
    tally = tally_of(10, [])
    known = partial_order(tally)
    none = np.zeros((0, 2), dtype=np.int64)
    pairs = clean_pairs(known, np.zeros(0, dtype=np.int64), none, 5, seed=3)
    assert sorted(pairs.ravel().tolist()) == list(range(10))
    votes = [(int(u), int(v), 1.0, 0, CHOSEN) for u, v in pairs]
    tally = tally_of(10, votes)
    second = clean_pairs(partial_order(tally), tally.keys, none, 5, seed=3)
    assert sorted(second.ravel().tolist()) == list(range(10))
    won = {int(u) for u, _ in pairs}
    assert sum((int(u) in won) == (int(v) in won) for u, v in second) >= 4
    assert not is_among(pair_keys(second, 10), tally.keys).any()
    few = clean_pairs(known, np.zeros(0, dtype=np.int64), none, 2, seed=3)
    assert few.tolist() == pairs[:2].tolist()
    busy = clean_pairs(known, np.zeros(0, dtype=np.int64), pairs[:3], 5, seed=3)
    assert not set(busy.ravel().tolist()) & set(pairs[:3].ravel().tolist())


def test_a_swiss_round_pairs_the_least_asked_from_the_top():
    none = np.zeros(0, dtype=np.int64)
    order, degree = np.array([3, 1, 0, 2]), np.array([1, 0, 0, 1])
    assert swiss_round(order, np.zeros(4, dtype=np.int64), none, 9).tolist() == [[3, 1], [0, 2]]
    assert swiss_round(order, degree * 0, none, 1).tolist() == [[3, 1]]
    assert swiss_round(order, 1 - degree, none, 9).tolist() == [[3, 0]]
    least = swiss_round(np.array([0, 1, 2]), np.array([0, 1, 1]), none, 9)  # alone among the least: its nearest
    assert least.tolist() == [[0, 1]]
    barred = np.array([0 * 3 + 1])
    assert swiss_round(np.array([0, 1, 2]), np.array([0, 1, 1]), barred, 9).tolist() == [[0, 2]]
    assert swiss_round(np.array([0, 1, 2]), np.array([0, 1, 1]), np.array([1, 2]), 9).tolist() == []


def test_what_is_implied_is_what_paths_say():
    votes = [(0, 1, 1.0, 0, CHOSEN), (1, 2, 1.0, 0, CHOSEN), (3, 2, 0.0, 0, CHOSEN), (3, 4, 1.0, 1, CHOSEN)]
    known = partial_order(tally_of(5, votes))
    paths = np.triu(np.ones((5, 5), bool), 1)  # 0 < 1 < 2 < 3 < 4
    assert known.implied.tolist() == paths.tolist()
    assert known.sorted_chain(np.array([4, 0, 2])).tolist() == [0, 2, 4]
    part = partial_order(tally_of(5, votes[:2]))
    assert part.sorted_chain(np.array([2, 0])).tolist() == [0, 2]
    assert part.sorted_chain(np.array([2, 3])) is None
    low, high = part.bounds(np.array([0, 2]))
    assert (low[1], high[1], low[3], high[3]) == (1, 2, 0, 3)
    assert partial_order(tally_of(5, [*votes, (2, 0, 1.0, 0, CHOSEN)])) is None
    assert partial_order(tally_of(5, [*votes, (1, 0, 1.0, 1, CHOSEN)])) is None
    assert partial_order(tally_of(5, [(0, 1, 0.5, 0, CHOSEN)])) is None


def test_a_finished_order_is_checked_two_to_four_places_apart(monkeypatch):
    n = 30
    tally = tally_of(n, [(k, k + 1, 1.0, 0, CHOSEN) for k in range(n - 1)])
    known = partial_order(tally)
    none = np.zeros(0, dtype=np.int64)
    pairs = clean._verified(known, known.order, none, 1000)
    apart = np.abs(np.diff(pairs, axis=1)).ravel()
    assert len(pairs) == 60  # the fewest
    assert apart.tolist() == sorted(apart.tolist())
    assert np.bincount(apart)[2:].tolist() == [28, 27, 5]
    assert len(clean._verified(known, known.order, none, 7)) == 7
    shut = np.sort(pair_keys(pairs[:10], n))
    assert clean._verified(known, known.order, shut, 1000).tolist() == pairs[10:].tolist()
    monkeypatch.setattr(clean, "FEWEST", 3)
    assert len(clean._verified(known, known.order, none, 1000)) == 8  # a quarter of thirty


def test_stages_are_one_less_than_powers_of_two():
    assert clean._stages(15, 200) == [31, 63, 127, 200]
    sizes = clean._stages(15, 1000)
    assert sizes[-1] == 1000
    assert all(math.log2(size + 1) == round(math.log2(size + 1)) for size in sizes[:-1])
    assert sizes == sorted(set(sizes))
    assert clean._stages(15, 15) == []


def test_answers_settle_as_many_pairs_either_way_where_they_are_even():
    """Two chains of two: who heads both settles as many pairs either way; a head against a foot does not."""
    later = np.zeros((4, 4), bool)
    later[0, 1] = later[2, 3] = True

    def settled(u, v):  # open pairs (a, b) with a at or above u, b at or below v
        above = [a for a in range(4) if a == u or later[a, u]]
        below = [b for b in range(4) if b == v or later[v, b]]
        return sum(not (later[a, b] or later[b, a] or a == b) for a in above for b in below)

    pairs = np.array([[0, 2], [0, 3], [1, 2], [1, 3]])
    expected = [abs(math.log(settled(u, v) / settled(v, u))) for u, v in pairs.tolist()]
    assert_allclose(clean._imbalance(later, pairs), expected, atol=1e-6)


def test_pairs_are_taken_in_turn_no_item_twice():
    pairs = np.array([[0, 1], [1, 2], [3, 4], [5, 6]])
    assert clean._disjoint(pairs, np.array([6]), 9).tolist() == [[0, 1], [3, 4]]
    assert clean._disjoint(pairs, np.zeros(0, int), 2).tolist() == [[0, 1], [3, 4]]
    assert clean._disjoint(pairs, np.zeros(0, int), 0).shape == (0, 2)


# ---- when a ranker stops --------------------------------------------------------------------------------------------


def test_the_stop_signal_is_looked_at_once_for_so_many_answers_as_items(monkeypatch):
    ranker = ActiveRanker(list("abcdefgh"), seed=0)
    looks = []

    def look(self):
        looks.append(ranker.answered)
        return SimpleNamespace(stable=ranker.answered >= 32)

    monkeypatch.setattr(Planner, "summary", look)
    monkeypatch.setattr(Planner, "finished", False)
    for count, stable in ((23, False), (24, False), (31, False), (32, True), (39, True)):
        monkeypatch.setattr(ranker, "_ledger", [None] * count)
        for _ in range(2):
            assert ranker._looks_stable() == stable
    assert looks == [24, 32]


# ---- the published algorithm and rehearsals -------------------------------------------------------------------------


def test_pairs_of_places_are_all_of_them_where_as_many_are_asked_for():
    rng = np.random.default_rng(0)
    every = [[i, j] for i in range(5) for j in range(i + 1, 5)]
    assert _pairs_within(5, 10, rng).tolist() == every
    assert _pairs_within(5, 11, rng).tolist() == every
    some = _pairs_within(5, 9, rng)
    assert some.shape == (9, 2)
    assert (some[:, 0] < some[:, 1]).all()
    drawn = _pairs_within(30, 400, rng)
    assert len({tuple(pair) for pair in drawn.tolist()}) > 200
    assert (drawn.min(), drawn.max()) == (0, 29)


@pytest.mark.parametrize("best", [0.01, 0.3, 1.0, 7.0, 5000.0])
def test_the_best_step_is_where_a_convex_loss_turns(best):
    direction = np.array([1.0, -2.0])
    loss = SimpleNamespace(at=lambda scores: (0.0, (scores - best * direction) * 1e-3))
    assert _best_step(loss, np.zeros(2), direction) == pytest.approx(best, rel=1e-2, abs=2e-4)
    assert _best_step(loss, np.zeros(2), np.zeros(2)) == 0.0


@pytest.mark.parametrize(("share", "most"), [(0.5, int(0.5 * 8 * 3)), (9.0, 28), (None, None)])
def test_a_rehearsal_has_a_budget_by_the_logarithm_and_at_most_all_pairs(share, most, monkeypatch):
    asked = []

    def rank_with(judge, items, **options):
        asked.append(options["budget"])
        return SimpleNamespace(
            summary=lambda: SimpleNamespace(questions=16, within_ranks=2.0, stable=True), rounds=3,
            order=lambda aim="truth": list(range(8)),
        )  # fmt: skip

    monkeypatch.setattr(rehearsal, "rank_with", rank_with)
    judge = Simulated(8, "flips", 0.0, seed=1)
    found = rehearsal.rehearse(judge, "quick", log2_share=share)
    assert asked == [most]
    assert (found.questions_per_item, found.rounds, found.stated_within, found.stable) == (2.0, 3, 2.0, 1.0)
    assert found.ranks_off == pytest.approx(np.quantile(np.abs(np.arange(8) - judge.place), 0.9))
    assert found.cost_ratio == max(judge.cost(np.arange(8)), 1)


def test_held_out_chances_are_mixed_by_how_far_each_model_is_believed():
    held = np.array([[0.2, 0.6], [0.9, 0.5]])
    one = SimpleNamespace(share=0.25, held_out=held)
    assert_allclose(models.Models.held_out_chances(one), [0.3, 0.8])


def test_votes_among_neighbours_are_those_within_a_twentieth_of_the_ranks(monkeypatch):
    """Of 40 items those less than two places apart; the chances come first, then the votes."""
    tally = tally_of(
        40, [(k, k + 1, 1.0, 0, CHOSEN) for k in range(10)] + [(k, k + 2, 1.0, 0, CHECK) for k in range(5)]
    )
    seen = np.column_stack([np.full(15, 0.8), np.full(15, 0.8)])
    given = []
    monkeypatch.setattr(models, "_vague", lambda chances, value: given.append((chances, value)) or (0.0, 1.0))
    posterior = SimpleNamespace(order=np.arange(40))
    everything = np.ones(15, bool)
    models._models(tally, None, posterior, None, None, seen, everything, everything)
    ((chances, value),) = given
    assert_allclose(chances, 0.8)
    assert value.tolist() == [1.0] * 10


def test_the_log_of_the_published_algorithm_has_its_asks():
    ranker = ActiveRanker(list("abcdefgh"), preset="paper", seed=3)
    for most in (2, None):
        pairs = ranker.ask(most)
        ranker.tell(pairs, [1] * len(pairs))
    asks = [row["max_pairs"] for row in ranker.log if row.get("podium") == "ask"]
    assert asks == [2, None]


def test_one_pair_for_a_judge_is_planned_by_the_number_of_answers():
    """Nothing is remembered: whoever asks again after as many answers gets the same pair, also after other plans."""
    ranker = ActiveRanker(list("abcdefgh"), seed=3)
    first = ranker.next_pair("ann")
    ranker.planner.plans = 99
    assert ranker.next_pair("ann") == first
    assert ranker.planner.plans in (0, 1)


# ---- many items, sorted in ------------------------------------------------------------------------------------------


def chained(n, *chains):
    """What votes on the neighbours of each chain imply."""
    rows = [(u, v, 1.0, 0, CHOSEN) for chain in chains for u, v in pairwise(chain)]
    return partial_order(tally_of(n, rows)), tally_of(n, rows).keys


def bounded(n, chain, between):
    """Of each item the numbers, from 1, of the chain between which it is known to stand."""
    low, high = np.zeros(n, dtype=np.int64), np.full(n, len(chain) + 1, dtype=np.int64)
    for item, (first, last) in between.items():
        low[item], high[item] = first, last
    return low, high


def test_each_item_meets_the_middle_of_its_gap_or_the_nearest_that_is_left():
    chain, n = np.arange(7), 20
    low, high = bounded(n, chain, {8: (4, 8), 9: (0, 2), 10: (3, 4), 11: (2, 4), 12: (5, 7)})
    items, idle = np.array([7, 8, 9, 10, 11, 12]), np.zeros(n, dtype=bool)
    every = [(7, 3), (8, 5), (9, 0), (11, 2), (12, 5)]  # 10 has its gap already
    assert clean._bisect(items, chain, low, high, idle, set(), 99) == every
    assert clean._bisect(items, chain, low, high, idle, set(), 2) == every[:2]
    assert clean._bisect(items, chain, low, high, idle, set(), 0) == []
    busy = idle.copy()
    busy[[7, 11]] = True
    assert clean._bisect(items, chain, low, high, busy, set(), 99) == [(8, 5), (9, 0), (12, 5)]
    shut = {3 * n + 7, 2 * n + 7, 0 * n + 9, 2 * n + 11}  # nothing else is left for 9 and 11
    assert clean._bisect(items, chain, low, high, idle, shut, 99) == [(7, 4), (8, 5), (12, 5)]
    only = {at * n + 7 for at in (1, 2, 3, 4, 5, 6)}
    assert clean._bisect(items[:1], chain, low, high, idle, only, 9) == [(7, 0)]
    assert clean._bisect(items[:1], chain, low, high, idle, only - {6 * n + 7} | {0 + 7}, 9) == [(7, 6)]
    long = np.arange(9)
    low, high = bounded(n, long, {})
    far = {at * n + 12 for at in range(1, 8)}  # three places to each side of the middle are looked at, no more
    assert clean._bisect(np.array([12]), long, low, high, idle, far, 9) == []
    assert clean._bisect(np.array([12]), long, low, high, idle, far - {7 * n + 12}, 9) == [(12, 7)]


def test_items_that_share_a_gap_meet_one_another():
    n = 20
    known, _ = chained(n, [0, 1, 2], [10, 11])
    low, high = bounded(n, np.arange(3), {10: (1, 2), 11: (1, 2), 12: (1, 2), 13: (2, 3), 14: (2, 3), 15: (0, 4)})
    new, idle = np.array([12, 14, 11, 13, 10, 15]), np.zeros(n, dtype=bool)

    def settled(busy=idle, shut=(), count=99):
        return [tuple(sorted(pair)) for pair in clean._settle_gaps(known, new, low, high, busy, set(shut), count)]

    first, second = settled()  # 10 before 11 is known: one of them meets 12; 13 meets 14; 15 has no gap yet
    assert first in [(10, 12), (11, 12)]
    assert second == (13, 14)
    assert settled(count=1) == [first]
    assert settled(count=0) == []
    busy = idle.copy()
    busy[12] = True
    assert settled(busy) == [(13, 14)]
    assert settled(shut=[13 * n + 14]) == [first]
    assert settled(shut=[10 * n + 12, 11 * n + 12, 13 * n + 14]) == []


def test_open_pairs_of_a_gap_go_by_height():
    """Of 1 before 2 before 3 and 4 before 5: those meet first whose shares of items above are nearest."""
    known, _ = chained(8, [1, 2, 3], [4, 5])
    assert clean._open_in([1, 2], known) == []
    assert clean._open_in([2, 1], known) == []
    assert clean._open_in([1, 4], known) == [(1, 4)]
    height = {1: 1 / 4, 2: 2 / 4, 3: 3 / 4, 4: 1 / 3, 5: 2 / 3}  # (above + 1) / (above + below + 2)
    found = clean._open_in([1, 2, 3, 4, 5], known)
    assert sorted(found) == [(u, v) for u in (1, 2, 3) for v in (4, 5)]
    apart = [abs(height[u] - height[v]) for u, v in found]
    assert apart == sorted(apart)


@pytest.mark.parametrize(("size", "step"), [(127, 7), (255, 6), (31, 10), (7, 17)])
def test_near_pairs_of_a_chain_are_checked_for_a_fiftieth_of_the_questions(size, step):
    """Sorting in takes log2(size) questions an item: every 1 / (0.02 · log2) items a pair, two to five places apart."""
    assert step == int(1 / (0.02 * math.log2(size)))
    chain = np.arange(size)
    pairs = clean._near_checks(chain, set(), size, 999)
    assert [u for u, _ in pairs] == list(range(0, size - 5, step))
    assert [v - u for u, v in pairs] == [2 + k % 4 for k in range(len(pairs))]
    assert clean._near_checks(chain, set(), size, 1) == pairs[:1]
    assert clean._near_checks(chain, {pairs[0][0] * size + pairs[0][1]}, size, 999) == pairs[1:]


def test_a_sample_is_sorted_first_and_the_others_are_sorted_in_by_stages():
    """Of 401 items fifteen, then as many as make thirty, each against the middle one; later stages fill up to 64."""
    n, seed = 401, 4
    mixed = np.random.default_rng([seed, 11]).permutation(n)
    none = np.zeros((0, 2), dtype=np.int64)
    begin = clean_pairs(*chained(n), none, 99, seed)
    assert set(begin.ravel().tolist()) <= set(mixed[:15].tolist())
    known, shut = chained(n, mixed[:15].tolist())
    pairs = clean_pairs(known, shut, none, 99, seed)
    check, rest = pairs[:1], pairs[1:]
    assert check.tolist() == [mixed[[0, 2]].tolist()]
    assert rest.tolist() == [[u, mixed[7]] for u in mixed[15:78].tolist()]
    assert len(pairs) == 64
    assert clean_pairs(known, shut, none, 9, seed).tolist() == pairs[:9].tolist()
    assert (
        clean_pairs(known, shut, rest[:20], 99, seed).tolist()[1:]
        == [[u, mixed[7]] for u in mixed[35:98].tolist()][: 64 - 1]
    )
    out = np.array([[mixed[15], mixed[3]]])  # 15 waits for another answer
    assert clean_pairs(known, shut, out, 9, seed).tolist()[1:] == [[u, mixed[7]] for u in mixed[16:24].tolist()]
    stages = clean._stages(15, n)
    longer, shut = chained(n, mixed[: stages[0]].tolist())
    pairs = clean_pairs(longer, shut, none, 999, seed)
    new = pairs[3 : 3 + stages[1] - stages[0]]  # after three checks
    assert set(new[:, 0].tolist()) == set(mixed[stages[0] : stages[1]].tolist())
    assert set(new[:, 1].tolist()) == {int(mixed[stages[0] // 2])}
    whole, shut = chained(n, mixed.tolist())
    last = clean_pairs(whole, shut, none, 999, seed)
    place = np.argsort(mixed)
    assert (np.diff(place[last], axis=1) >= 2).all()
    assert (np.diff(place[last], axis=1) <= 5).all()


def test_up_to_four_hundred_items_all_are_sorted_at_once():
    none = np.zeros((0, 2), dtype=np.int64)
    assert len(clean_pairs(*chained(400), none, 999, 1)) == 200
    assert len(clean_pairs(*chained(401), none, 999, 1)) == 7


def test_swiss_rounds_go_on_for_two_and_a_half_questions_an_item():
    """Of eight items 20 votes; the 19 before leave a round to pair, whoever stands where."""
    none = np.zeros((0, 2), dtype=np.int64)
    order = np.random.default_rng([3, 11]).permutation(8)
    rows = [(int(order[i]), int(order[j]), 1.0, 0, CHOSEN) for i in range(8) for j in range(i + 1, 8)]
    by_gap = sorted(rows, key=lambda row: -abs(int(np.argsort(order)[row[0]] - np.argsort(order)[row[1]])))
    known = partial_order(tally_of(8, by_gap[:20]))
    shut = tally_of(8, by_gap[:20]).keys
    late = clean_pairs(known, shut, none, 9, 3)
    gaps = np.abs(np.diff(np.argsort(order)[late], axis=1))
    assert (gaps == 1).all()  # open pairs only: those two apart are implied or asked
    out = late[:1]
    assert not set(clean_pairs(known, shut, out, 9, 3).ravel().tolist()) & set(out.ravel().tolist())


# ---- simulated judges -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.0, 0.08, 0.3])
@pytest.mark.parametrize("model", MODELS)
def test_a_simulated_judge_errs_as_its_model_says(model, level):
    n = 30
    judge = Simulated(n, model, level, seed=2)
    left, right = (part.ravel() for part in np.indices((n, n)))
    left, right = left[left != right], right[left != right]
    who, number = np.arange(len(left)) % 7, np.arange(len(left))

    def mistake(u, v, judge_number, count):
        a, b = judge.place[u], judge.place[v]
        d = abs(a - b)
        if model == "bradley-terry":
            return expit(-d / (level * n)) if level else 0.0
        if model in ("normal", "heavy-tailed", "near-ties"):
            return expit(-abs(judge._scores[u] - judge._scores[v]) / level) if level else 0.0
        if model == "long-range":
            return float(d > (1 - math.sqrt(level)) * n)
        if model == "cyclic":
            return 1 - level if d > n / 2 else level
        if model == "chaos":  # tenths 0, 2, 4 …
            return 0.5 if a // 3 == b // 3 and (a // 3) % 2 == 0 else level
        if model == "blocks":
            return 0.5 if a // 6 == b // 6 else level
        if model == "unequal":
            return min(level * (0, 0.5, 1, 2, 3)[judge_number % 5], 0.5)
        if model == "left-leaning":
            return level if a > b else 0.0
        if model == "tiring":
            return level * min(count / (10 * n), 1.0)
        return level

    found = judge._mistakes(left, right, who, number)
    expected = [mistake(*row) for row in zip(left, right, who, number, strict=True)]
    assert_allclose(found, expected, atol=1e-12)
    draws = np.random.default_rng(0).random(len(left))
    first = judge.place[left] < judge.place[right]
    assert judge._decide(left, right, draws, who, number).tolist() == (first ^ (draws < expected)).tolist()
    if model == "tiring":
        assert_allclose(judge._mistakes(left, right), level / 2)
    turned = np.column_stack([judge.order, np.zeros(n)])[::-1, 0].astype(int)
    both = 0.5 * (judge._mistakes(left, right) + judge._mistakes(right, left))
    upper = left < right
    total = np.sum(1 - 2 * both[upper])
    assert judge.excess(turned) == pytest.approx(100 * total / (n * (n - 1) / 2))
    assert judge.excess(judge.order) == 0.0


def test_hidden_scores_fall_from_the_best_place_and_are_of_their_family():
    for model in ("normal", "heavy-tailed", "near-ties"):
        judge = Simulated(400, model, 0.5, seed=1)
        scores = judge._scores[judge.order]
        assert (np.diff(scores) <= 0).all()
        if model == "normal":
            assert kstest(scores, "norm").pvalue > 0.01
        elif model == "heavy-tailed":
            assert kstest(scores, "t", args=(1.3,)).pvalue > 0.01
        else:
            near = scores - np.round(scores)
            assert np.bincount(np.round(scores).astype(int)).tolist() == [80] * 5
            assert near.std() == pytest.approx(0.05, rel=0.2)
    assert Simulated(4, "flips", 0.1)._scores.tolist() == [0.0] * 4


def test_features_of_a_simulated_judge_hold_the_place_within_a_tenth():
    judge = Simulated(500, "flips", 0.1, seed=3)
    known, unknown = judge.features(), judge.features(informative=False)
    assert known.shape == unknown.shape == (500, 4)
    assert_allclose(known[:, 1:], unknown[:, 1:])
    assert (known[:, 0] - judge.place).std() == pytest.approx(50.0, rel=0.1)
    assert np.abs(np.corrcoef(unknown.T, judge.place)[4, :4]).max() < 0.15


def test_luck_is_uniform_and_belongs_to_pair_and_judge():
    judge = Simulated(60, "flips", 0.1, seed=1)
    left, right = np.triu_indices(60, 1)
    luck = judge._luck(left, right)
    assert kstest(luck, "uniform").pvalue > 0.01
    assert luck.tolist() == judge._luck(right, left).tolist()
    assert len(np.unique(luck)) == len(luck)
    other = judge._luck(left, right, 1)
    assert abs(np.corrcoef(luck, other)[0, 1]) < 0.1
    assert abs(np.corrcoef(luck[:-1], luck[1:])[0, 1]) < 0.1


# ---- pairs handed out -----------------------------------------------------------------------------------------------


def test_where_nothing_new_is_left_what_is_out_comes_again():
    ranker = ActiveRanker(list("abcd"), preset="exact", seed=0)
    pairs = ranker.ask()
    assert len(pairs) == 6
    assert not ranker.done
    assert ranker.ask() == pairs
    assert ranker.ask(2) == pairs[:2]
    ranker.tell(pairs[:4], [1] * 4)
    assert ranker.ask() == pairs[4:]
    ranker.tell(pairs[4:], [1] * 2)
    assert ranker.done


def test_pairs_of_samples_are_real_and_named_once():
    """Item 0 is real, an item is not its own partner, places outside have nobody."""
    partner = np.array([[[0, 1, -1]], [[0, 2, 3]], [[0, 1, 2]]])
    ensemble = Ensemble(0, partner, np.arange(3))
    items = np.array([10, 20, 30])
    assert _pairs_of(ensemble, items, np.arange(3)).tolist() == [[10, 20], [10, 30], [20, 30]]
    assert _pairs_of(ensemble, items, np.array([1])).tolist() == [[10, 20], [20, 30]]
    assert _pairs_of(ensemble, items, np.array([0])).tolist() == [[10, 20]]
    assert ensemble.place_of(np.array([-1, 0, 2, 3])).tolist() == [-1, 0, 2, 3]
    turned = Ensemble(0, partner, np.array([2, 1, 0]))
    assert turned.place_of(np.array([-1, 0, 2, 3])).tolist() == [-1, 2, 0, 3]
    state = PaperState(40, np.random.default_rng(0))
    state.votes.tell(np.array([[10, 20], [20, 30]]), np.array([1.0, np.nan]), np.zeros(2, dtype=np.int64))
    assert _votes(state, ensemble, items, 0).tolist() == [[0.0, -1.0, 0.0]]
    assert _votes(state, ensemble, items, 1).tolist() == [[1.0, 0.0, 0.0]]


def test_samples_are_drawn_from_all_places_within_reach():
    rng, order = np.random.default_rng(0), np.array([2, 0, 1, 4, 3])
    ensemble = draw_ensemble(order, 1, 2, 400, rng)
    assert (ensemble.least, ensemble.partner.shape) == (1, (5, 2, 400))
    for item, place in enumerate(np.argsort(order)):
        for s, reach in ((0, 2), (1, 4)):
            expected = {int(order[p]) if 0 <= p < 5 else p for p in range(place - reach, place + reach + 1)}
            assert set(ensemble.partner[item, s].tolist()) == expected


def test_a_pair_in_somebodys_hands_is_not_handed_out_again():
    """Three quarters of a batch answered, the algorithm goes on: what is still out comes again only at the end."""
    first = np.array([[0, k] for k in range(1, 9)])

    def flow(state):
        yield first
        yield np.concatenate([first, [[1, 2], [2, 1]]])
        return np.arange(9)

    interview = Interview(9, flow, seed=0)
    pairs = interview.ask()
    assert {tuple(sorted(pair)) for pair in pairs.tolist()} == {(0, k) for k in range(1, 9)}
    interview.tell(pairs[:5], np.ones(5))
    assert interview.ask().tolist() == pairs[5:].tolist()  # three of eight are too many to go on without
    interview.tell(pairs[5:6], np.ones(1))
    assert [sorted(pair) for pair in interview.ask().tolist()] == [[1, 2]]
    assert (interview.asked, interview.done) == (9, False)
    assert [sorted(pair) for pair in interview.ask(2).tolist()] == [sorted(pair) for pair in pairs[6:].tolist()]
    interview.tell([[1, 2]], np.ones(1))
    interview.tell(pairs[6:], np.full(2, np.nan))
    assert interview.done
    assert interview.rounds == 2


def test_on_windows_a_byte_of_the_file_is_locked(monkeypatch, tmp_path):
    said = []
    fake = SimpleNamespace(locking=lambda *given: said.append(given), LK_LOCK=1, LK_NBLCK=2, LK_UNLCK=0)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    monkeypatch.setattr(sys, "platform", "win32")
    with (tmp_path / "a.lock").open("w+b") as file:
        file.write(b"rows")
        for work, mode in ((lambda: locks.lock(file), 1), (lambda: locks.lock(file, wait=False), 2), (lambda: locks.unlock(file), 0)):  # fmt: skip  # noqa: E501
            file.seek(3)
            work()
            assert said.pop() == (file.fileno(), mode, 1)
            assert file.tell() == 0  # from the first byte on


# ---- many items whose answers may be wrong --------------------------------------------------------------------------


def sparse_models(n, votes, **more):
    """Models whose posterior has items in the order of their numbers, with the votes laid out."""
    left, right, edge = (np.array(column) for column in zip(*votes, strict=True))
    whole = {
        "share": 1.0, "table": SparseWins(n, left, right, edge.astype(float)),
        "posterior": SimpleNamespace(order=np.arange(n), floor=0.1),
        "scores": SimpleNamespace(order=np.arange(n)[::-1]),
    }  # fmt: skip
    return SimpleNamespace(**(whole | more))


def test_the_order_of_very_many_items_is_searched_on_the_votes_alone(monkeypatch):
    monkeypatch.setattr(aims, "SQUARE", 5)
    votes = [(1, 0, 1.0), (1, 2, 1.0), (0, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0), (4, 5, 1.0)]
    tally = tally_of(6, [(u, v, 1.0, 0, CHOSEN) for u, v, _ in votes])
    for aim in ("truth", "answers"):
        assert aims.best_order(tally, sparse_models(6, votes), aim).tolist() == [1, 0, 2, 3, 4, 5]
    by_score = sparse_models(6, votes, share=0.49)
    assert aims.best_order(tally, by_score, "truth").tolist() == [5, 4, 3, 2, 1, 0]
    assert aims.best_order(tally, by_score, "answers").tolist() == [1, 0, 2, 3, 4, 5]
    half = sparse_models(6, votes, share=0.5)
    assert aims.best_order(tally, half, "truth").tolist() == [1, 0, 2, 3, 4, 5]
    empty = aims.best_order(tally_of(6, []), by_score, "truth")
    assert empty.tolist() == [5, 4, 3, 2, 1, 0]


@pytest.mark.parametrize(("floor", "mended"), [(0.0201, False), (0.02, True)])
def test_stretches_are_mended_where_answers_are_nearly_clean(monkeypatch, floor, mended):
    monkeypatch.setattr(aims, "SQUARE", 5)
    monkeypatch.setattr(aims, "mend_stretches", lambda table, order: np.array([1, 0, 2, 3, 4, 5]))
    votes = [(1, 0, 1.0), (2, 3, 1.0)]
    models = sparse_models(6, votes, posterior=SimpleNamespace(order=np.arange(6), floor=floor))
    monkeypatch.setattr(SparseWins, "insertion_search", lambda self, order: np.array(order))
    monkeypatch.setattr(SparseWins, "window_search", lambda self, order: np.array(order))
    tally = tally_of(6, [(u, v, 1.0, 0, CHOSEN) for u, v, _ in votes])
    found = aims.best_order(tally, models, "answers").tolist()
    assert found == ([1, 0, 2, 3, 4, 5] if mended else list(range(6)))
    monkeypatch.setattr(aims, "mend_stretches", lambda table, order: np.array([0, 1, 3, 2, 4, 5]))
    assert aims.best_order(tally, models, "answers").tolist() == list(range(6))  # it is no better


@pytest.mark.parametrize(
    ("votes", "scale", "floor", "close"),
    [(400, 1.8, 0.01, True), (399, 1.8, 0.01, False), (400, 1.79, 0.01, False), (400, 1.8, 0.011, False)],
)
def test_mistakes_are_close_calls_where_enough_votes_say_so(votes, scale, floor, close):
    tally = tally_of(30, [(k % 29, k % 29 + 1, 1.0, k, CHOSEN) for k in range(votes)])
    models = SimpleNamespace(posterior=SimpleNamespace(scale=scale, floor=floor))
    assert aims._close_calls_only(tally, models) == close


@pytest.mark.parametrize("close", [False, True])
@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("aim", ["truth", "answers"])
def test_what_the_search_is_given_of_every_pair(monkeypatch, close, share, aim):
    """Chances mixed by how far each model is believed; answered pairs as answered, or drawn a little towards that."""
    n = 4
    by_score, by_place = (np.array([[0.0, *row] for row in part]).reshape(3, 4) for part in (
        [[0.9, 0.8, 0.7], [0.6, 0.55, 0.5], [0.4, 0.3, 0.2]], [[0.7, 0.6, 0.5], [0.9, 0.8, 0.7], [0.6, 0.5, 0.4]]
    ))  # fmt: skip

    def square(rows):
        whole = np.zeros((n, n))
        for u in range(n):
            for v in range(u + 1, n):
                whole[u, v], whole[v, u] = rows[u, v], 1 - rows[u, v]
        return whole

    tables = square(by_score), square(by_place)
    monkeypatch.setattr(aims, "chances", lambda models: tuple(table.copy() for table in tables))
    monkeypatch.setattr(aims, "_close_calls_only", lambda tally, models: close)
    given = []
    monkeypatch.setattr(aims, "exact_order", lambda wins: given.append(wins) or np.arange(n))
    tally = tally_of(n, [(0, 1, 0.0, 0, CHOSEN), (2, 3, 1.0, 0, CHOSEN), (2, 3, 0.0, 1, CHOSEN)])
    models = SimpleNamespace(share=share, weight=np.array([3.0, 1.0]))
    aims.best_order(tally, models, aim)
    answers = {(0, 1): 0.0, (2, 3): 0.75}
    own = {"answers": (1.0, 1.0), "truth": (0.05, 0.1 if close else 0.5)}[aim]
    expected = np.zeros((n, n))
    for u in range(n):
        for v in range(u + 1, n):
            parts = [table[u, v] for table in tables]
            if (u, v) in answers:
                parts = [(1 - o) * part + o * answers[u, v] for o, part in zip(own, parts, strict=True)]
            expected[u, v] = (1 - share) * parts[0] + share * parts[1]
            expected[v, u] = 1 - expected[u, v]
    assert_allclose(given[0], expected, atol=1e-12)


def test_the_least_certain_pairs_are_asked_again_no_item_twice():
    scores = Scores(np.array([0.0, 0.1, 2.0, 2.2, 9.0]), None, np.array([1.0, 1.0, 0.5, 0.5, 4.0]))
    keys = np.array([0 * 5 + 1, 0 * 5 + 2, 1 * 5 + 2, 2 * 5 + 3, 3 * 5 + 4])
    p, variance = scores.chances(*np.divmod(keys, 5))
    worth = p * (1 - p) * np.sqrt(variance)
    first = int(np.argmax(worth))
    assert least_certain(scores, keys, 1).tolist() == [list(divmod(int(keys[first]), 5))]
    chosen, used = [], set()
    for row in np.argsort(-worth):
        pair = divmod(int(keys[row]), 5)
        if not used & set(pair):
            used |= set(pair)
            chosen.append(list(pair))
    assert least_certain(scores, keys, 9).tolist() == chosen


def test_among_many_the_questions_go_to_those_who_may_be_among_the_first():
    n, share = 450, {}
    judge = Simulated(n, "flips", 0.1, seed=1)
    for goal in ("order", ("top", 20)):
        planner = Planner(n, seed=1, goal=goal, repeats="never")
        while len(planner) < 7 * n:
            asked = planner.plan(planner.round_size)
            planner.tell(asked.left, asked.right, judge.answer(asked.pairs), 0, asked.kind)
        degree = planner.tally.degree
        share[goal] = degree[judge.order[:20]].mean() / degree[judge.order[225:]].mean()
    assert share["top", 20] > 1.2 * share["order"]


# ---- the published algorithm in parts -------------------------------------------------------------------------------


def test_the_middle_one_of_three_is_the_pivot_of_a_long_stretch():
    wins = np.triu(np.ones((200, 200)), 1)
    asked = {}
    for middle in (False, True):
        counts = []
        for seed in range(6):
            interview = Interview(200, partial(quicksort, median_of_three=middle), seed=seed)
            while not interview.done:
                pairs = interview.ask()
                interview.tell(pairs, wins[pairs[:, 0], pairs[:, 1]])
            assert interview.order.tolist() == list(range(200))
            counts.append(interview.asked)
        asked[middle] = np.mean(counts)
    assert asked[True] < 0.95 * asked[False]


@pytest.mark.parametrize("three", list(permutations(range(3))))
def test_the_middle_one_of_any_three_is_found(three):
    """A stretch of nine in which one item of each third is drawn; six or fewer items have any pivot."""
    state = PaperState(9, np.random.default_rng(0))
    order = np.arange(9)
    flow = _middle_pivots(order, np.array([9]), state)
    pairs = next(flow)
    assert pairs.shape == (3, 2)
    items = [int(pairs[0, 0]), int(pairs[1, 0]), int(pairs[2, 0])]
    assert [item // 3 for item in items] == [0, 1, 2]
    height = dict(zip(items, three, strict=True))
    with pytest.raises(StopIteration) as end:
        flow.send(np.array([float(height[int(u)] < height[int(v)]) for u, v in pairs]))
    assert height[int(end.value.value[0])] == 1
    short = _middle_pivots(order[:6], np.array([6]), state)
    with pytest.raises(StopIteration):
        next(short)
    assert next(_middle_pivots(order[:7], np.array([7]), state)).shape == (3, 2)


@pytest.mark.parametrize(
    ("sample", "counts"), [(20.0, [3, 10, 10]), (1e9, [3, 28, 28]), (55.9, [3, 28, 28]), (0.5, [3, 1, 1])]
)
def test_small_blocks_are_asked_in_full_and_big_ones_by_their_share(sample, counts):
    """Blocks of 3, 8 and 8 items, those beyond 4 big: 28 pairs each, of which half the sample."""
    state = PaperState(30, np.random.default_rng(0))
    blocks = [np.array([5, 9, 7]), np.arange(10, 18), np.arange(20, 28)]
    ask = _sampled(state, blocks, sample, 4)
    assert [len(pairs) for pairs in ask] == counts
    for block, pairs in zip(blocks, ask, strict=True):
        assert set(pairs.ravel().tolist()) <= set(block.tolist())
        assert (pairs[:, 0] != pairs[:, 1]).all()
    edge = _sampled(state, blocks, 20.0, 8)  # none is big
    assert [len(pairs) for pairs in edge] == [3, 28, 28]


@pytest.mark.parametrize("size", [16, 17])
def test_a_block_is_ordered_by_its_answers_alone(size):
    state = PaperState(40, np.random.default_rng(0))
    block = np.random.default_rng(1).permutation(40)[:size]
    first, second = np.triu_indices(size, 1)
    pairs = np.column_stack([block[first], block[second]])
    state.votes.tell(pairs, (pairs[:, 0] > pairs[:, 1]).astype(float), np.zeros(len(pairs), dtype=np.int64))
    assert _order_block(state, block, pairs).tolist() == sorted(block.tolist(), reverse=True)


def test_votes_of_several_judges_on_a_pair_are_their_mean_and_a_skip_is_none():
    votes = Votes(5)
    pairs = np.array([[0, 1], [3, 2], [1, 4]])
    votes.tell(pairs, np.array([1.0, 1.0, np.nan]), np.zeros(3, dtype=np.int64))
    votes.tell(pairs[:2, ::-1], np.array([1.0, np.nan]), np.array([1, 1]))
    assert_allclose(votes.answers(np.array([[0, 1], [1, 0], [3, 2], [2, 3], [1, 4], [0, 4]])), [0.5, 0.5, 1, 0, np.nan, np.nan])  # fmt: skip  # noqa: E501
    assert (votes.distinct, votes.skipped) == (3, 1)
    rows = votes.rows()
    assert list(zip(rows.left, rows.right, rows.value, rows.judge, strict=True)) == [(0, 1, 1, 0), (2, 3, 0, 0), (0, 1, 0, 1)]  # fmt: skip  # noqa: E501
    assert len(rows) == 3
    assert votes.tell(pairs[2:], np.array([0.5]), np.array([0])) == []  # after a skip it is no contradiction
    assert votes.skipped == 0
    assert votes.tell(pairs[:1], np.array([0.0]), np.array([0])) == [0]
    before = votes.version
    many = np.column_stack(np.triu_indices(30, 1))
    more = Votes(30)
    more.tell(many, np.ones(len(many)), np.zeros(len(many), dtype=np.int64))
    assert (more.distinct, len(more.rows()), votes.version) == (435, 435, before)


def test_a_ledger_finds_the_last_row_of_a_judge_on_a_pair():
    ledger = Ledger()
    ledger.add([0, 1, 0], [1, 2, 1], [1.0, 0.0, 0.5], [0, 0, 1], [0, 1, 0])
    ledger.add([1], [0], [1.0], [0], [2])
    assert ledger.find(0, 1, 0) == ledger.find(1, 0, 0) == 3
    assert ledger.find(1, 0, 1) == 2
    assert ledger.find(1, 2, 1) is None
    assert ledger.find(0, 2, 0) is None
    assert ledger.row(3) == (1, 0, 1.0, 0, 2)
    assert ledger.last() == ledger.last(0) == 3
    ledger.remove(3)
    assert (ledger.last(), ledger.last(0), ledger.last(7)) == (2, 1, None)
    assert ledger.find(0, 1, 0) == 0
    assert (len(ledger), ledger.size, ledger.counts(3), ledger.counts(2)) == (3, 4, False, True)
    ledger.remove(None)
    assert len(ledger) == 3
    ledger.add([], [], [], [], [])
    assert ledger.size == 4
    assert [column.tolist() for column in ledger.columns()] == [[0, 1, 0], [1, 2, 1], [1.0, 0.0, 0.5], [0, 0, 1], [0, 1, 0]]  # fmt: skip  # noqa: E501
    assert [len(column) for column in Ledger().columns()] == [0] * 5


def test_a_second_answer_of_a_judge_replaces_the_first_and_is_said():
    ranker = ActiveRanker(list("abcd"), seed=0)
    ranker.tell([("a", "b"), ("a", "c")], [1, 1], "ann")
    with pytest.warns(
        DataWarning, match=r"^'ann' answered 'b' against 'a' differently before; the last answer counts$"
    ):
        ranker.tell([("b", "a")], [1], "ann")
    assert ranker.answered == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.tell([("a", "b"), ("c", "a")], [0, 0], "ann")  # the same again, from either side
        ranker.tell([("a", "b")], [1], "bob")  # another judge may differ
        ranker.tell([("a", "c")], [None], "ann")  # a skip says nothing
        ranker.tell([("a", "c")], [0], "ann")
    assert ranker.answered == 3
    ranker.tell([("c", "d"), ("b", "d")], [1, 1])
    with pytest.warns(DataWarning, match="^answered 'd' against 'c' differently before, and 1 more; the last"):
        ranker.tell([("d", "c"), ("b", "d")], [1, 0])
    votes = ranker.comparisons
    assert len(votes) == 5
    assert ranker.log[-1]["outcome"] == 0


def test_only_check_votes_make_scores_with_intervals():
    ranker = ActiveRanker(list("abcdef"), seed=0)
    rng = np.random.default_rng(0)
    rows = []
    for k in range(260):
        u, v = sorted(rng.permutation(6)[:2].tolist())
        won = int(rng.random() < 0.75)
        kind = "check" if k < 250 else "chosen"
        rows.append({"left": "abcdef"[u], "right": "abcdef"[v], "outcome": won, "judge": f"j{k}", "kind": kind})
    ranker.take_rows(rows[:249] + rows[250:])
    assert len(ranker.check_comparisons) == 249
    assert len(ranker.comparisons) == 259
    with pytest.raises(InputError, match="249 check votes; scores with intervals need 250"):
        ranker.check_scores()
    ranker.take_rows(rows[249:250])
    ranking = ranker.check_scores()
    again = BradleyTerry(l2=0.1).fit(ranker.check_comparisons).ranking_
    assert_allclose(ranking.scores, again.scores)
    assert ranking.note == "Scores of check votes only; intervals are approximate."


def test_a_plan_for_a_campaign_ends_where_the_reliability_is_beyond_what_is_wanted():
    found = rehearsal.reliability_by_votes(8, 3, 0.3, 0.5, seed=1)
    assert all(0.0 <= each <= 1.0 for each in found)
    assert found[-1] >= 0.75
    assert max(found[:-1], default=0.0) < 0.75
    longer = rehearsal.reliability_by_votes(8, 3, 0.3, 0.8, seed=1)
    assert longer[: len(found)] == found
    assert longer[-1] >= 0.9 or len(longer) == len(rehearsal.QUESTIONS_PER_ITEM)


def test_no_more_pairs_are_handed_out_than_asked_for_whatever_was_answered_meanwhile():
    pairs = np.array([[0, k] for k in range(1, 13)])

    def flow(state):
        yield pairs
        return np.arange(13)

    interview = Interview(13, flow, seed=0)
    first = interview.ask(2)
    assert len(first) == 2
    queue = [pair for pair in pairs.tolist() if sorted(pair) not in [sorted(each) for each in first.tolist()]]
    interview.tell(np.array(queue[:3]), np.ones(3))  # nobody had asked
    second = interview.ask(4)
    assert [sorted(pair) for pair in second.tolist()] == queue[3:7]
    assert interview.asked == 6
    assert interview.unasked_answers == 3
    rest = interview.ask()
    assert [sorted(pair) for pair in rest.tolist()] == queue[7:]
    few = Interview(13, flow, seed=0, budget=5)
    assert [len(few.ask(3)), len(few.ask(3))] == [3, 2]


def test_the_log_has_votes_as_people_write_them():
    ranker = ActiveRanker(["a", ("b", 1), "c"], seed=0)
    pairs = [("a", ("b", 1)), (("b", 1), "c"), ("a", "c")]
    ranker.tell(pairs[:2], [1, 0.5], "ann", times=["t1", "t2"])
    ranker.tell(pairs[2:], [None])
    ranker.tell([("c", "a")], [0], "bob")
    rows = ranker.log[1:]
    assert [row.get("outcome", "none") for row in rows] == [1, 0.5, "none", 0]
    assert [type(row["outcome"]) for row in rows if "outcome" in row] == [int, float, int]
    assert [row.get("judge", "nobody") for row in rows] == ["ann", "ann", "nobody", "bob"]
    assert [row["time"] for row in rows] == ["t1", "t2", None, None]
    assert [row.get("podium") for row in rows] == [None, None, "skip", None]
    assert [(row["left"], row["right"]) for row in rows] == [*pairs, ("c", "a")]
    assert {row["kind"] for row in rows} == {"chosen"}
    again = ActiveRanker.replay(ranker.items, ranker.log)
    assert again.log == ranker.log
    assert again.order() == ranker.order()
    assert ranker.undo("ann") == pairs[1]
    assert ranker.log[-1] == {"podium": "undo", "row": 3}
    assert ranker.undo("nobody here") is None
    assert ActiveRanker.replay(ranker.items, ranker.log).answered == 3


# ---- what is planned ------------------------------------------------------------------------------------------------


def planned(n, votes, **options):
    planner = Planner(n, seed=0, **options)
    if votes:
        planner.load(*zip(*votes, strict=True))
    return planner


def circular(n, count, checks=0):
    """Votes that contradict each other, the first so many of them checks."""
    return [(k % n, (k + 1) % n, 1.0, 0, CHECK if k < checks else CHOSEN) for k in range(count)]


@pytest.mark.parametrize(("votes", "checks", "count", "out", "share"), [
    (10, 0, 5, 0, 0.1), (60, 0, 10, 0, 0.1), (60, 0, 40, 0, 0.1), (70, 3, 40, 10, 0.1), (100, 0, 30, 0, 0.25),
    (100, 25, 30, 0, 0.25), (200, 0, 3, 0, 0.5), (59, 0, 1, 0, 0.9), (61, 0, 10, 5, 0.0),
])  # fmt: skip
def test_check_pairs_are_due_from_six_questions_an_item_on(votes, checks, count, out, share):
    """Ten items: the share of what is beyond 60, less those asked; at most twice the share of one plan."""
    planner = planned(10, circular(10, votes, checks), random_share=share)
    due = math.floor(share * max(0, votes + out + count - 60) - checks - share * out)
    assert planner._checks_due(count, out) == min(max(due, 0), math.ceil(2 * share * count))


def test_while_answers_are_clean_check_pairs_are_due_after_the_swiss_rounds():
    clean_votes = [(i, j, 1.0, 0, CHOSEN) for i in range(10) for j in range(i + 1, 10)]
    for count, due in ((24, 0), (25, 5), (30, 6)):  # two and a half an item; then a tenth of all
        planner = planned(10, clean_votes[:count], random_share=0.1)
        assert planner.partial is not None
        assert planner._checks_due(30, 0) == (min(int(0.1 * (count + 30)), 6) if due else 0)


def test_random_pairs_are_new_and_few_that_are_left_are_listed():
    planner = planned(6, [(0, 1, 1.0, 0, CHOSEN), (1, 2, 1.0, 0, CHOSEN)])
    rng = np.random.default_rng(0)
    none = np.zeros(0, dtype=np.int64)
    barred = np.array([0 * 6 + 2])
    every = planner._checks(99, barred, rng)
    free = {(i, j) for i in range(6) for j in range(i + 1, 6)} - {(0, 1), (1, 2), (0, 2)}
    assert {tuple(pair) for pair in every.tolist()} == free
    assert len(every) == 12
    assert planner._checks(0, none, rng).shape == (0, 2)
    drawn = Counter()
    for seed in range(300):
        some = planner._checks(2, barred, np.random.default_rng(seed))
        pairs = [tuple(pair) for pair in some.tolist()]
        assert len(set(pairs)) == 2
        assert set(pairs) <= free
        drawn.update(pairs)
    assert min(drawn[pair] for pair in free) > 25  # fifty each are expected


@pytest.mark.parametrize(("n", "votes", "size"), [
    (12, 0, 6), (12, 59, 6), (12, 60, 3), (13, 70, 3), (2, 20, 1), (401, 0, 200), (401, 2004, 200), (401, 2005, 401),
])  # fmt: skip
def test_a_round_is_half_the_items_at_first_and_a_quarter_later(n, votes, size):
    """Of more than 400 items as many as there are, from five questions an item on."""
    planner = Planner(n, seed=0)
    if votes:
        left = np.arange(votes) % (n - 1)
        planner.load(left, left + 1, np.random.default_rng(1).integers(0, 2, votes))  # most pairs both ways
        assert planner.partial is None
        assert planner.round_size == size
    else:
        planner.tell([0, 0], [1, 1], [1, 0])
        assert planner.round_size == size


def test_the_first_k_are_of_interest_by_their_chance(monkeypatch):
    given = []
    monkeypatch.setattr("podium.active.planner.most_telling", lambda *parts: given.append(parts) or np.zeros((0, 2), dtype=np.int64))  # fmt: skip  # noqa: E501
    for goal in ("order", ("top", 3)):
        planner = planned(10, circular(10, 70), goal=goal)
        planner._chosen(
            5, np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64), None, np.random.default_rng(0)
        )
        scores, count, asked, out, interest, again = given.pop()
        assert (count, len(out), again) == (5, 0, None)
        assert asked.tolist() == planner.tally.keys.tolist()
        if goal == "order":
            assert interest is None
        else:
            rank = np.argsort(np.argsort(-scores.mean))
            widths = bands.half_widths(planner.tally, planner.models)
            assert_allclose(interest, 0.02 + head_chance(rank, widths / 2, 3))


def test_what_others_have_answered_may_be_asked_of_a_judge_again(monkeypatch):
    given = []
    monkeypatch.setattr("podium.active.planner.most_telling", lambda *parts: given.append(parts) or np.zeros((0, 2), dtype=np.int64))  # fmt: skip  # noqa: E501
    votes = [(k % 6, (k + 1) % 6, 1.0, k % 2, CHOSEN) for k in range(40)]
    none = np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)
    own = {k: sorted({min(u, v) * 6 + max(u, v) for u, v, _, judge, _ in votes if judge == k}) for k in (0, 1)}
    for repeats, judge in (("auto", 0), ("auto", 1), ("auto", None), ("never", 0)):
        planner = planned(6, votes, repeats=repeats)
        planner._chosen(5, *none, judge, np.random.default_rng(0))
        _, _, asked, _, _, again = given.pop()
        if repeats == "auto" and judge is not None:
            assert asked.tolist() == own[judge]
            assert again.tolist() == own[1 - judge]
        else:
            assert again is None
            assert asked.tolist() == sorted({*own[0], *own[1]})
