"""Diagnosis and the quality of judging on tables so small that everything can be counted by hand."""

import math
import warnings
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.stats import kendalltau, norm
from scipy.stats import t as student

from podium import BradleyTerry, Comparisons, Elo, Rankings
from podium.errors import InputError, PodiumWarning
from podium.evaluate import assessment, judging_quality, plan_votes, scale_separation
from podium.evaluate.diagnosis import MERGED_FROM, _as_counts, diagnose, misfit
from podium.evaluate.diagnosis.misfit import Cycles, Fit, Test, _shares, _together
from podium.evaluate.diagnosis.steadiness import Reliability
from podium.evaluate.diagnosis.table import Model, Table
from podium.evaluate.judging import CHANCE, Judging, _frame, unknown_quality

ROWS = {
    "left": [*"aabbcaab"],
    "right": [*"bbacabcc"],
    "outcome": [1, 0.5, 1, 1, 1, 0, 0.5, 1],
}


def table(**more):
    return Comparisons.from_frame(ROWS | more)


def fit_of(votes, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        model = BradleyTerry(l2=0.1, **settings).fit(votes)
    return Fit(Table.of(votes, model.side_effect), Model.of(model))


def test_redraws_keep_the_wins_of_few_votes_or_of_few_votes_an_item(monkeypatch):
    """Three items of eight votes: 16 votes of two items each are less than 3 items times 6 votes, not than times 5."""
    fit = fit_of(table())
    for most, each, exact in ((8, 0, True), (7, 5, False), (7, 16 / 3, False), (7, 6, True)):
        monkeypatch.setattr(misfit, "MAX_EXACT_VOTES", most)
        monkeypatch.setattr(misfit, "MIN_BOOTSTRAP_VOTES", each)
        assert fit.exact == exact
    weighted = fit_of(table(weight=[1, 2, 1, 1, 1, 1, 1, 1]))
    assert not weighted.exact
    assert not fit_of(table(weight=[0.5] * 8)).exact
    assert not fit_of(Comparisons.from_frame(ROWS | {"x": range(8)}, covariates=["x"])).exact
    assert fit_of(table(), side_effect=True).exact


def test_weighted_votes_are_drawn_and_told_without_their_ties():
    none = [1, 0, 1, 1, 1, 0, 1, 1]
    weight = [1, 2, 1, 1, 1, 1, 1, 1]
    quick = {"replicates": 3, "splits": 1, "influence": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        assert diagnose(table(outcome=none, weight=weight), **quick).decided is None
        found = diagnose(table(weight=weight), **quick)
        assert diagnose(table(), **quick).decided is None
    pairs = {frozenset(row[:2]): row[2] for row in found.decided.iter_rows()}
    assert pairs == {
        frozenset("ab"): 3,
        frozenset("bc"): 2,
        frozenset("ac"): 1,
    }  # without ties
    assert {frozenset(row[:2]): row[2] for row in found.residuals.iter_rows()}[frozenset("ab")] == 5
    assert found.votes_per_item == pytest.approx(16 / 3)


@pytest.mark.parametrize("rows", [4 * 9, 4 * 9 + 1])
def test_votes_are_merged_where_there_are_more_than_four_a_square_of_items(rows):
    assert MERGED_FROM == 4
    votes = Comparisons.from_arrays(*(np.resize(list(text), rows) for text in ("abc", "bca")))
    merged = _as_counts(votes, BradleyTerry())
    assert (merged is votes) == (rows == 36)
    assert len(merged) == rows
    assert _as_counts(votes, Elo()) is votes  # which goes by their order
    counted = votes.merged()
    assert _as_counts(counted, BradleyTerry()) is counted


@pytest.mark.parametrize("settings", [{}, {"side_effect": True}, {"ties": "davidson"}])
@pytest.mark.parametrize("weight", [None, [1, 2, 1, 3, 1, 1, 0.5, 1]])
def test_what_is_expected_of_a_pair_and_its_error_by_a_loop(settings, weight):
    votes = table() if weight is None else table(weight=weight)
    fit = fit_of(votes, **settings)
    weight = weight or [1] * 8
    model, side = fit.model, fit.model.effects[0] if settings.get("side_effect") else 0.0
    chance, ties, rare_sum = [], 0.0, 0.0
    for left, right, outcome, w in zip(*ROWS.values(), weight, strict=True):
        gap = model.scores[votes.items.index(left)] - model.scores[votes.items.index(right)] + side
        win, tie, loss = (
            math.exp(gap / 2),
            math.exp(model.log_nu) if model.log_nu is not None else 0,
            math.exp(-gap / 2),
        )
        total = win + tie + loss
        chance.append((win / total, tie / total))
        expected = (win + tie / 2) / total
        ties += w * (outcome == 0.5)
        rare_sum += 2 * w * min(expected, 1 - expected)
    share = min(1, ties / rare_sum)
    sums = {}
    for (left, right, outcome, w), (win, tie) in zip(zip(*ROWS.values(), weight, strict=True), chance, strict=True):
        expected = win + tie / 2
        if model.log_nu is None:  # ties are so many that the votes' own number of them is expected
            tie = 2 * share * min(expected, 1 - expected)
            win = expected - tie / 2
        pair = tuple(sorted((votes.items.index(left), votes.items.index(right))))
        forward = votes.items.index(left) == pair[0]
        sums.setdefault(pair, np.zeros(4))
        sums[pair] += [
            w, w * (outcome if forward else 1 - outcome), w * (expected if forward else 1 - expected),
            w * w * (win + tie / 4 - expected**2),
        ]  # fmt: skip
    wanted = np.array([sums[pair] for pair in sorted(sums)]).T
    assert_allclose([fit.votes, fit.won, fit.expected], wanted[:3])
    assert_allclose(fit.std_error**2, wanted[3])
    residual = (fit.won - fit.expected) / fit.std_error
    freedom = len(sums) - (3 - 1)
    assert fit.measures()[1] == pytest.approx(residual @ residual / freedom)
    assert fit.measures()[0] == pytest.approx(np.abs(fit.residual).max())


def test_pairs_far_from_the_scores_are_told_from_the_side_that_won_more():
    fit = fit_of(table())
    frame = fit.residual_frame(("a", "b", "c"))
    assert frame["residual"].is_sorted(descending=True)
    assert (frame["won"] >= frame["expected"]).all()
    for item, against, votes, won, *_ in frame.iter_rows():
        points = sum(
            outcome if left == item else 1 - outcome
            for left, right, outcome in zip(*ROWS.values(), strict=True)
            if {left, right} == {item, against}
        )
        assert won == points
        assert votes == sum({*ends} == {item, against} for ends in zip(ROWS["left"], ROWS["right"], strict=True))
    assert len(fit.residual_frame(("a", "b", "c"), most=2)) == 2


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(("most", "few"), [(12, True), (11, False)])
def test_what_goes_round_is_looked_for_up_to_so_many_pairs_of_opponents(dense, most, few, monkeypatch):
    """Each of three items has two opponents: 3 · 2² pairs of them."""
    votes = Table.of(table())
    monkeypatch.setattr(misfit, "MAX_DENSE_ITEMS", 3 if dense else 2)
    monkeypatch.setattr(misfit, "MAX_TRIPS", most)
    cycles = Cycles(votes)
    assert (cycles.dense, cycles.few) == (dense, dense or few)
    off = np.array([1.0, -2.0, 0.5])  # a-b, a-c, b-c
    known = 2 * ((-2.0 * 0.5) ** 2 + (1.0 * 0.5) ** 2 + (1.0 * -2.0) ** 2)
    assert cycles.round_trips(off) == pytest.approx(known if dense or few else 0.0)
    assert cycles.freedom == 1


def test_shares_count_the_votes_themselves_and_what_is_equal():
    drawn = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]])
    assert _shares(drawn, np.array([2.0, 5.0])).tolist() == [3 / 4, 1.0]
    assert _shares(drawn, np.array([3.0 + 2e-9, 6.0])).tolist() == [2 / 4, 1 / 4]
    assert _shares(drawn, np.array([3.0 + 4e-9, 5.0 + 1e-8])).tolist() == [1 / 4, 1 / 4]


def test_two_measures_are_added_in_units_of_their_deviation():
    rng = np.random.default_rng(0)
    both = rng.normal(size=(6, 5)) * [1, 1, 1, 100, 0.01]
    measured, drawn = _together(both[0], both[1:])
    z = (both[:, 3:] - both[:, 3:].mean(axis=0)) / both[:, 3:].std(axis=0)
    assert_allclose(np.vstack([measured, drawn]), np.column_stack([both[:, :3], z.sum(axis=1)]))
    both[:, 4] = 7.0  # always the same says nothing
    assert_allclose(_together(both[0], both[1:])[1][:, 3], z[1:, 0])


def test_a_p_value_of_a_twentieth_is_none_of_concern():
    assert not Test(1.0, 1.0, 0.05).significant
    assert Test(1.0, 1.0, 0.0499).significant
    assert Test(1.0, 1.0, 0.5).enough


# ---- judging --------------------------------------------------------------------------------------------------------


def test_a_scale_of_two_has_no_separation_and_one_of_three_has():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("a", "b")])
    assert scale_separation(BradleyTerry().fit(votes).ranking_) == (None, 2)
    three = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a"), ("a", "b")])
    found, items = scale_separation(BradleyTerry().fit(three).ranking_)
    assert items == 3
    assert found < 0
    equal = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a")])
    assert scale_separation(BradleyTerry().fit(equal).ranking_) == (None, 3)


def test_where_some_only_won_the_scale_says_of_how_many_items_it_is():
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "b"), ("top", "a"), ("top", "b")]
    quality = judging_quality(Comparisons.from_pairs(pairs))
    assert quality.separation_from == "all pairs, 3 of 4 items"
    assert "(all pairs, 3 of 4 items)" in quality.words()[0]
    assert judging_quality(Comparisons.from_pairs(pairs[:4])).separation_from == "all pairs"
    checked = judging_quality(Comparisons.from_pairs(pairs[:4]), chosen=True, check=Comparisons.from_pairs(pairs))
    assert checked.separation_from == "check pairs, 3 of 4 items"
    row = judging_quality(Comparisons.from_pairs([("a", "b"), ("b", "c")]))
    assert "no item has a score that votes bound on both sides; more votes are needed" in row.words()[0]
    two = judging_quality(Comparisons.from_pairs([("a", "b"), ("b", "a"), ("c", "a")]))
    assert "2 items, too few, have scores that votes bound" in two.words()[0]


def judging(**more):
    whole = {"separation": 0.8, "separation_from": "all pairs", "why": None, "split_half": None}
    return Judging(**(whole | {"item_fit": None, "judge_fit": None} | more))


def fits(name, count, **more):
    return pl.DataFrame(
        {name: [f"{name} {k}" for k in range(count)], "votes": [1.0, *[2.0] * (count - 1)], "infit": [1.5] * count,
         "misfit": [True] * count, "beyond_chance": [k == 0 for k in range(count)]} | more
    )  # fmt: skip


def test_the_quality_of_judging_in_words():
    assert judging().reliable
    assert not judging(separation=0.79).reliable
    assert not judging(separation=None).reliable
    assert judging().words() == ["scale separation reliability 0.80 (all pairs)"]
    assert judging(separation=0.79).words() == [
        "scale separation reliability 0.79 (all pairs), below 0.8: more votes are needed before marks can be relied on"
    ]
    assert judging(separation=0.0).words()[0].startswith("scale separation reliability 0.00 (")
    assert unknown_quality("too dark").words() == ["too dark"]
    assert unknown_quality("").words() == ["no scale separation reliability"]
    half = Reliability(0.6, 0.5, 0.7, 0.75)
    assert judging(split_half=half).words()[1:] == [
        "split-half reliability by judges 0.75 (halves correlate by 0.50 to 0.70)"  # 2r / (1 + r)
    ]


@pytest.mark.parametrize("count", [4, 5, 6])
def test_four_that_misfit_are_named_and_the_others_counted(count):
    lines = judging(judge_fit=fits("judge", count), item_fit=fits("item", 1)).words()[1:]
    more = {4: [], 5: ["misfit: and 1 more judge"], 6: ["misfit: and 2 more judges"]}[count]
    assert lines == [
        "misfit: judge judge 0, infit 1.50 (1 vote; beyond chance)",
        *(f"misfit: judge judge {k}, infit 1.50 (2 votes; within chance)" for k in (1, 2, 3)),
        *more,
        "misfit: item item 0, infit 1.50 (1 vote; beyond chance)",
    ]


def test_seconds_are_told_where_some_judge_has_them():
    one = judging(judge_fit=fits("judge", 3, seconds=[None, 2.0, 4.0])).words()[-1]
    assert one == "median seconds a judgement: 3.0 (judges 2.0 to 4.0)"
    none = fits("judge", 2).with_columns(seconds=pl.lit(None, pl.Float64))
    assert "seconds" not in " ".join(judging(judge_fit=none).words())
    votes = Comparisons.from_arrays(["a", "b", "a"], ["b", "a", "b"], judge=["p", "p", "q"])
    found = judging_quality(votes, seconds={"p": 0}, splits=1).judge_fit.sort("judge")
    assert found["seconds"].to_list() == [0.0, None]
    with pytest.raises(InputError, match="the seconds of judge 'p' are inf"):
        judging_quality(votes, seconds={"p": np.inf})


def test_halves_of_two_judges_are_the_two_and_one_judge_has_none():
    """Whoever is in which half, the scores are those of each judge alone."""
    mine = [("a", "b"), ("b", "c"), ("a", "c"), ("b", "a"), ("c", "d"), ("d", "a")]
    yours = [("a", "b"), ("c", "b"), ("a", "c"), ("d", "a"), ("c", "d"), ("b", "d")]
    winner, loser = zip(*mine, *yours, strict=True)
    votes = Comparisons.from_arrays(winner, loser, judge=["p"] * 6 + ["q"] * 6)
    found = judging_quality(votes, splits=4).split_half
    scores = []
    for pairs in (mine, yours):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PodiumWarning)
            ranking = BradleyTerry().fit(Comparisons.from_pairs(pairs)).ranking_
        scores.append([ranking.scores[ranking.items.index(item)] for item in "abcd"])
    known = np.corrcoef(*scores)[0, 1]
    assert [found.correlation, found.low, found.high] == pytest.approx([known] * 3)
    assert found.agreement == pytest.approx((1 + kendalltau(*scores).statistic) / 2, abs=1e-6)
    assert judging_quality(votes.take(np.arange(6))).split_half is None
    small = [("a", "b"), ("b", "a")]
    winner, loser = zip(*small, *small, strict=True)
    assert judging_quality(Comparisons.from_arrays(winner, loser, judge=[0, 0, 1, 1])).split_half is None


def test_a_half_that_tells_no_items_apart_agrees_with_nobody():
    circle, order = [("a", "b"), ("b", "c"), ("c", "a")], [("a", "b"), ("b", "c"), ("a", "c")]
    winner, loser = zip(*circle, *order, strict=True)
    votes = Comparisons.from_arrays(winner, loser, judge=["p"] * 3 + ["q"] * 3)
    found = judging_quality(votes, splits=2).split_half
    assert (found.correlation, found.low, found.high) == (0.0, 0.0, 0.0)


def test_items_passed_over_are_scored_in_both_halves_of_rankings():
    """Each names one of four as the best; unranked others stand below it, or are unknown."""
    lists = [["a", "b"], ["b", "a"], ["a", "c"], ["c", "a"], ["d", "a"], ["b", "d"]] * 4
    below = Rankings.from_lists(lists, items=list("abcd"), unranked="below")
    assert judging_quality(below, splits=2).split_half is not None
    far = Rankings.from_lists([["a", "b"], ["b", "a"], ["c", "d"], ["d", "c"]], items=list("abcd"), unranked="unknown")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        assert judging_quality(far, splits=2).split_half is None


def test_infit_of_counts_weights_and_judges_who_saw_nothing():
    """The variance of a sum of n votes of weight w in all is n · (w / n)² · p(1 − p)(1 − 4p(1 − p))."""
    votes = Comparisons.from_frame(
        {"winner": list("abcab"), "loser": list("bcabc"), "judge": list("xxyyy"), "count": [4, 1, 2, 3, 1]},
        judge="judge", count="count",
    )  # fmt: skip
    quality = judging_quality(votes, splits=1)
    scores = BradleyTerry().fit(votes).ranking_.estimates
    p = 1 / (1 + np.exp(scores[votes.right] - scores[votes.left]))
    for row in quality.judge_fit.to_dicts():
        mine = np.array([votes.judges[code] == row["judge"] for code in votes.judge])
        number = np.array([4, 1, 2, 3, 1]) * mine
        information = number @ (p * (1 - p))
        assert row["votes"] == number.sum()
        assert row["infit"] == pytest.approx(number @ (1 - p) ** 2 / information)
    assert quality.judge_fit["infit"].is_sorted(descending=True)
    assert replace(quality, judge_fit=None).judge_fit is None


# ---- the same model on another table --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settings", [{}, {"side_effect": True}, {"ties": "davidson"}, {"ties": "davidson", "side_effect": True}]
)
@pytest.mark.parametrize("covariate", [False, True])
def test_a_refit_of_a_table_is_a_fit_of_its_votes(settings, covariate):
    more = {"x": [0.1, -0.4, 0.3, 0.9, -1.0, 0.2, 0.5, -0.3]} if covariate else {}
    named = {"covariates": ["x"]} if covariate else {}
    first = Comparisons.from_frame(ROWS | more, **named)
    other = Comparisons.from_frame(ROWS | more | {"outcome": [0, 1, 0.5, 1, 0, 0.5, 0, 0.5]}, **named)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        one, two = (BradleyTerry(l2=0.1, tol=1e-9, **settings).fit(votes) for votes in (first, other))
    side = settings.get("side_effect", False)
    found, wanted = Model.of(one).refitted(Table.of(other, side), tol=1e-10), Model.of(two)
    assert_allclose(found.scores - found.scores.mean(), wanted.scores, atol=1e-6)
    assert_allclose(found.effects, wanted.effects, atol=1e-6)
    assert (found.log_nu is None) == (wanted.log_nu is None)
    assert found.log_nu is None or found.log_nu == pytest.approx(wanted.log_nu, abs=1e-6)


@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("covariate", [False, True])
def test_a_table_of_decided_votes_is_that_of_the_votes_without_ties(side, covariate):
    weight = [1, 2, 1, 3, 1, 1, 0.5, 1]
    rows = ROWS | {"weight": weight} | ({"x": range(8)} if covariate else {})
    named = {"covariates": ["x"]} if covariate else {}
    votes = Comparisons.from_frame(rows, **named)
    kept = [k for k, outcome in enumerate(ROWS["outcome"]) if outcome != 0.5]
    bare = Table.of(votes.take(np.array(kept)), side)
    found = Table.of(votes, side).decided(votes)
    for name in ("left", "right", "wins", "losses", "ties", "squares"):
        assert_allclose(getattr(found, name), getattr(bare, name))
    assert (found.design is None) == (bare.design is None)
    assert found.design is None or found.design.tolist() == bare.design.tolist()
    assert_allclose(found.squares.sum(), sum(weight[k] ** 2 for k in kept))


@pytest.mark.parametrize(("moved", "enough"), [(29, False), (30, True)])
def test_redraws_that_hardly_differ_from_the_votes_tell_nothing(moved, enough, monkeypatch):
    """Ten moves of a redraw must have changed the votes: thirty of three redraws."""
    fit = fit_of(table())

    class Redraws:
        def __init__(self, table, keep_sides):
            self.moved, self.redraws = moved, 3

        def draw(self, replicates, rng):
            return [fit.table] * replicates

    monkeypatch.setattr(misfit, "ExactRedraws", Redraws)
    tests = fit.tests(39, np.random.default_rng(0))
    assert [test.p_value for test in tests] == [1.0] * 3
    assert [test.enough for test in tests] == [False] * 3  # no redraw has another measure
    monkeypatch.setattr(misfit, "_shares", lambda drawn, measured: np.full(4, 0.05))
    assert [test.enough for test in fit.tests(39, np.random.default_rng(0))] == [enough] * 3


@pytest.mark.parametrize(
    ("more", "countable"),
    [({}, True), ({"squares": 1 + 1e-7}, False), ({"squares": 1 + 1e-11}, True), ({"squares": 0.5}, False),
     ({"wins": 0.5}, False), ({"losses": 0.5}, False), ({"ties": 0.5}, False), ({"design": 1.0}, True),
     ({"design": 2.0}, False)],
)  # fmt: skip
def test_votes_are_countable_where_they_are_whole_and_nothing_else_is_known_of_them(more, countable):
    """Each row has three votes of a win, a loss and a tie; numbers given are factors of what is known."""
    ones = np.ones(2)
    known = {"wins": ones, "losses": ones, "ties": ones, "squares": 3 * ones}
    known |= {name: factor * known.get(name, np.ones((2, 1))) for name, factor in more.items()}
    if "squares" not in more:
        known["squares"] = known["wins"] + known["losses"] + known["ties"]
    made = Table(3, np.array([0, 1], np.int32), np.array([1, 2], np.int32), **known)
    assert made.countable == countable
    assert made.points.tolist() == (known["wins"] + 0.5 * known["ties"]).tolist()


def test_two_columns_known_of_votes_are_not_countable_and_pairs_are_summed_from_either_side():
    ends = np.array([0, 2, 1], np.int32), np.array([1, 1, 0], np.int32)
    wins, losses = np.array([3.0, 1.0, 2.0]), np.array([1.0, 0.0, 5.0])
    none = np.zeros(3)
    two = Table(3, *ends, wins, losses, none, wins + losses, np.ones((3, 2)))
    assert not two.countable
    low, high, index, turned = two.pair
    assert (low.tolist(), high.tolist()) == ([0, 1], [1, 2])
    assert (index.tolist(), turned.tolist()) == ([0, 1, 0], [False, True, True])
    assert two.by_pair(wins, losses).tolist() == [3.0 + 5.0, 0.0]
    assert two.by_pair(wins).tolist() == [5.0, 1.0]


@pytest.mark.parametrize("nu", [None, 0.3, 2.5, 1e-200])
@pytest.mark.parametrize("gap", [0.0, 1.5, -3.0, 2000.0])
def test_chances_of_a_table_are_davidsons(nu, gap):
    model = Model(np.array([gap, 0.0]), np.array([0.4]), None if nu is None else math.log(nu), 0.1)
    row = np.array([0], np.int32), np.array([1], np.int32)
    made = Table(2, *row, *np.ones((4, 1)), np.ones((1, 1)))
    win, tie = model.chances(made)
    margin = gap + 0.4
    top = abs(margin) / 2
    odds = math.exp(margin / 2 - top), math.exp(-margin / 2 - top), (nu or 0.0) * math.exp(-top)
    assert win[0] == pytest.approx(odds[0] / sum(odds))
    assert tie[0] == pytest.approx(odds[2] / sum(odds))
    assert model.margin(made)[0] == pytest.approx(margin)


def test_a_plan_is_made_from_a_quarter_of_the_votes_to_all():
    votes = Comparisons.from_arrays(np.resize(list("abcab"), 40), np.resize(list("bcaca"), 40))
    plan = plan_votes(votes, {"a": [1.0], "b": [0.0], "c": [2.0]}, splits=1)
    assert plan.sizes == (10, 14, 20, 28, 40)
    assert plan.epsilon == 0.05


# ---- held-out votes -------------------------------------------------------------------------------------------------


def test_measures_of_held_out_votes_are_their_sums():
    """A guess of one half is half right, whatever comes; a tie is half a win for both."""
    chance, outcome = np.array([0.9, 0.2, 0.5, 0.7, 1.0]), np.array([1.0, 1.0, 0.0, 0.5, 0.0])
    weight = np.array([1.0, 2.0, 1.0, 4.0, 0.5])
    loss, brier, right = assessment._measures(chance, outcome, weight)
    least = assessment.MIN_CHANCE
    told = [0.9, 0.2, 0.5, math.sqrt(0.7 * 0.3), least]
    assert loss == pytest.approx(-sum(w * math.log(p) for w, p in zip(weight, told, strict=True)) / 8.5)
    assert brier == pytest.approx((0.01 + 2 * 0.64 + 0.25 + 4 * 0.04 + 0.5) / 8.5)
    assert right == pytest.approx((1 + 0 + 0.5 + 4 * 0.5 + 0) / 8.5)


@pytest.mark.parametrize("seed", range(3))
def test_calibration_is_by_bins_of_equal_weight_of_the_favourite(seed):
    rng = np.random.default_rng(seed)
    chance, weight = rng.random(60), rng.integers(1, 4, 60).astype(float)
    outcome = rng.choice([0.0, 0.5, 1.0], 60)
    rows = sorted((max(c, 1 - c), o if c >= 0.5 else 1 - o, w) for c, o, w in zip(chance, outcome, weight, strict=True))
    bins, so_far, whole = {}, 0.0, weight.sum()
    for c, o, w in rows:
        place = min(int(assessment.BINS * (so_far + w / 2) / whole), assessment.BINS - 1)
        bins.setdefault(place, []).append((c, o, w))
        so_far += w
    found = np.array(assessment.calibration(chance, outcome, weight)).T
    assert len(found) == len(bins)
    for row, place in zip(found, sorted(bins), strict=True):
        n = sum(w for _, _, w in bins[place])
        predicted, observed = (sum(each[k] * each[2] for each in bins[place]) / n for k in (0, 1))
        assert_allclose(row[:2], [predicted, observed])
        for end in row[2:]:  # Wilson's ends: where the share observed is 1.96 errors off
            assert abs(observed - end) == pytest.approx(norm.ppf(0.975) * math.sqrt(end * (1 - end) / n), abs=1e-9)


def test_methods_are_told_apart_fold_by_fold():
    """Half-widths by Student's t over the folds; `worse` is against the method of the least log loss."""
    losses = {"b": np.array([0.5, 0.7, 0.6]), "a": np.array([0.4, 0.5, 0.6])}
    curve = np.array([0.6, 0.8]), np.array([0.5, 0.85]), np.zeros(2), np.ones(2)
    found = assessment.Assessment(losses, losses, losses, {"a": curve, "b": curve}, {}, 3, 30)
    frame = found.to_frame()
    assert frame["method"].to_list() == ["a", "b"]
    half = student.ppf(0.975, 2) / math.sqrt(3)
    assert frame["log_loss"].to_list() == pytest.approx([0.5, 0.6])
    assert frame["log_loss_pm"].to_list() == pytest.approx([half * 0.1, half * 0.1])
    assert frame["worse"].to_list() == pytest.approx([0.0, 0.1])
    assert frame["worse_pm"].to_list() == pytest.approx([0.0, half * np.std([0.1, 0.2, 0.0], ddof=1)])
    assert frame["calibration"].to_list() == pytest.approx([0.075, 0.075])
    assert found.calibration_error("b") == pytest.approx(0.075)


@pytest.mark.parametrize("rows", [36, 37])
def test_equal_votes_held_out_are_merged_where_they_are_many(rows, monkeypatch):
    """More than four a square of three items: the chances are the same, and asked for once a pair."""
    votes = Comparisons.from_arrays([0, 1, 2] * 40, [1, 2, 0] * 40, items=list("abc"))
    seen = []

    def predicted(model, train, test, about):
        seen.append((len(train), len(test.left), len(test)))
        return np.full(1, 0.5), np.ones(1), np.ones(1)

    monkeypatch.setattr(assessment, "_predicted", predicted)
    hand = (np.arange(120) < rows).astype(np.int64)
    monkeypatch.setattr(assessment, "MERGED_FROM", 4)
    assessment._fold(hand, votes, np.ones(120, dtype=np.int64), {"one": Elo}, {})
    assert seen == [(120 - rows, 3 if rows > 36 else rows, rows)]


def test_infit_is_the_squares_over_the_information_and_misfits_are_beyond_two_deviations():
    code = np.array([0, 1, 2, 3, 4, 5, 0])
    square = np.array([1.0, 1.0, 1.2, 0.9, 1.1, 9.0, 1.0])
    columns = np.stack([square, np.array([1.0, 1, 1, 1, 1, 1, 1]), np.full(7, 0.5), np.arange(1.0, 8.0)])
    frame = _frame("item", "abcdefg", code, columns)
    assert frame["item"].to_list() == ["f", "c", "e", "a", "b", "d"]
    assert frame["infit"].to_list() == pytest.approx([9.0, 1.2, 1.1, 1.0, 1.0, 0.9])
    assert frame["votes"].to_list() == [6.0, 3.0, 5.0, 8.0, 2.0, 4.0]
    infit = np.array(frame["infit"])
    limit = infit.mean() + 2 * infit.std(ddof=1)
    sd = np.sqrt(np.array([0.5, 0.5, 0.5, 1.0, 0.5, 0.5])) / np.array([1.0, 1, 1, 2, 1, 1])
    normal = (np.cbrt(infit) - 1) * 3 / sd + sd / 3
    beyond = normal > norm.ppf(1 - CHANCE / 6)
    assert frame["beyond_chance"].to_list() == beyond.tolist()
    assert frame["misfit"].to_list() == ((infit > limit) | beyond).tolist()
    assert beyond.any()
    unknown = _frame("item", "ab", np.array([0, 1]), np.stack([np.ones(2), np.array([1.0, 0.0]), np.ones(2), np.ones(2)]))  # fmt: skip  # noqa: E501
    assert unknown["infit"].to_list() == [1.0, None]
