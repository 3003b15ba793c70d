"""Parts of a diagnosis by hand: a judge against the others, refits, halves, histories, redraws, and what is told."""

import math
import types
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import BradleyTerry, Comparisons, Elo, Ranking, WinRate
from podium.errors import InputError, PodiumWarning
from podium.evaluate.diagnosis import diagnose, exact, refit, score_history, steadiness
from podium.evaluate.diagnosis.exact import ExactRedraws
from podium.evaluate.diagnosis.history import History, _anchored
from podium.evaluate.diagnosis.judges import JudgeTest
from podium.evaluate.diagnosis.misfit import Cycles, Fit
from podium.evaluate.diagnosis.table import MIN_PENALTY, Model, Table

ROUND = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "b"), ("b", "a"), ("a", "c"), ("c", "b"), ("a", "d"), ("d", "b")]
QUICK = {"replicates": 3, "splits": 1}


def pairs_of(pairs, **more):
    winner, loser = zip(*pairs, strict=True)
    return Comparisons.from_arrays(winner, loser, **more)


# ---- judges ---------------------------------------------------------------------------------------------------------


def judged(seed, m=40, n=4, judges=3, ties=True, counted=False):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, m).astype(np.int32)
    right = ((left + rng.integers(1, n, m)) % n).astype(np.int32)
    outcome = rng.choice([-1, 0, 1] if ties else [-1, 1], m).astype(np.int8)
    more = {"count": rng.integers(1, 4, m), "ordered": False} if counted else {}
    judge = rng.integers(0, judges, m).astype(np.int32)
    return Comparisons(tuple(range(n)), left, right, outcome=outcome, judge=judge, judges=tuple(range(judges)), **more)


def mantel_haenszel(votes, judge, one, other):
    """Pair by pair: the judge's wins against the share of all, hypergeometric, by what a vote does to the difference.

    In least squares that is L⁻¹ (e_one − e_other), L the Laplacian of the votes with a ridge next to nothing.
    """
    n = len(votes.items)
    count = np.ones(len(votes.left)) if votes.count is None else votes.count
    decided, won, mine, my_wins = np.zeros((4, n, n))
    for i, j, outcome, number, who in zip(votes.left, votes.right, votes.outcome, count, votes.judge, strict=True):
        if outcome != 0:
            for a, b, points in ((i, j, outcome > 0), (j, i, outcome < 0)):
                decided[a, b] += number
                won[a, b] += number * points
                mine[a, b] += number * (who == judge)
                my_wins[a, b] += number * points * (who == judge)
    laplacian = np.diag(decided.sum(axis=1)) - decided + RIDGE * np.eye(n)
    flow = np.linalg.solve(laplacian, np.eye(n)[one] - np.eye(n)[other])
    above = spread = 0.0
    for a in range(n):
        for b in range(a + 1, n):
            total = decided[a, b]
            if total > 1:
                share, pull = won[a, b] / total, flow[a] - flow[b]
                above += pull * (my_wins[a, b] - mine[a, b] * share)
                spread += pull**2 * mine[a, b] * share * (1 - share) * (total - mine[a, b]) / (total - 1)
    return above / math.sqrt(spread)


RIDGE = 1e-3


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("more", [{}, {"ties": False}, {"counted": True}])
def test_a_judge_is_set_against_all_pair_by_pair(seed, more):
    votes = judged(seed, **more)
    test = JudgeTest(votes)
    for judge in range(3):
        for one, other in ((0, 1), (3, 2), (1, 3)):
            wanted = mantel_haenszel(votes, judge, one, other)
            assert test.z_value(judge, one, other) == pytest.approx(wanted, rel=1e-6, abs=1e-7)
            assert test.z_value(judge, other, one) == pytest.approx(-test.z_value(judge, one, other))


def test_a_judge_alone_on_the_pairs_or_without_votes_is_like_all():
    alone = pairs_of([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")], judge=["x", "x", "y", "y"])
    test = JudgeTest(alone)
    assert test.z_value(0, 0, 1) == test.z_value(1, 0, 1) == 0.0
    together = pairs_of([("a", "b"), ("a", "b"), ("b", "a"), ("b", "a")], judge=["x", "x", "y", "y"])
    # Two of two for a where all gave a two of four: (2 − 1) / √(2 · ¼ · 2/3).
    assert JudgeTest(together).z_value(0, 0, 1) == pytest.approx(1 / math.sqrt(1 / 3))
    assert JudgeTest(together).z_value(1, 0, 1) == pytest.approx(-1 / math.sqrt(1 / 3))
    agreed = pairs_of([("a", "b")] * 4, judge=["x", "x", "y", "y"])
    assert JudgeTest(agreed).z_value(0, 0, 1) == 0.0


# ---- refits ---------------------------------------------------------------------------------------------------------


def test_a_refit_has_the_settings_and_penalty_of_the_model_and_no_anchor():
    votes = pairs_of(ROUND)
    model = BradleyTerry(scale="elo", anchor=("d", 1500.0)).fit(votes)
    again = refit.refitting(model, model.ranking_.items)
    part = votes.take(np.arange(7))  # d is not among them
    found = again(part)
    wanted = BradleyTerry(scale="elo", l2=model.l2_).fit(pairs_of(ROUND[:7])).ranking_
    assert np.isnan(found[model.ranking_.items.index("d")])
    for item in "abc":
        assert found[model.ranking_.items.index(item)] == pytest.approx(wanted.score(item), abs=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(again(votes.take(np.array([0])))).sum() == 2  # thin, and silent
    strict = BradleyTerry(l2=0).fit(votes)
    assert refit.refitting(strict, strict.ranking_.items)(votes.take(np.array([0]))) is None  # no finite scores


def test_votes_on_items_that_the_model_has_not_ranked_are_refused():
    votes, other = pairs_of(ROUND), pairs_of([("a", "z"), ("z", "a")])
    model = BradleyTerry().fit(votes)
    says = "the votes are on 'z', which the model has not ranked; fit it to these votes"
    with pytest.raises(InputError, match=says):
        refit.refitting(model, model.ranking_.items)(other)
    for ask in (refit.fitted_to, lambda model, votes: diagnose(votes, model)):
        with pytest.raises(InputError, match=says):
            ask(model, other)
    assert refit.fitted_to(model, votes) is model
    with pytest.raises(InputError, match="model must be a Ranker, not int"):
        refit.fitted_to(3, votes)


def test_votes_among_the_items_they_name():
    votes = Comparisons.from_arrays([4, 1, 4], [1, 4, 3], items=list("abcde"))
    seen = refit._among_seen(votes)
    assert tuple(seen.items) == ("b", "d", "e")
    assert (seen.left.tolist(), seen.right.tolist()) == ([2, 0, 2], [0, 2, 1])
    whole = pairs_of([("a", "b")])
    assert refit._among_seen(whole) is whole


@pytest.mark.parametrize("side", [False, True])
def test_condensed_votes_are_the_counts_of_pairs(side):
    rows = {
        "left": list("aabbca"),
        "right": list("bbaaac"),
        "outcome": [1, 0, 1, 0.5, 1, 0.5],
        "weight": [1, 2, 1, 3, 1, 1],
    }
    votes = Comparisons.from_frame(rows)
    model = BradleyTerry(l2=0.1, side_effect=side)
    small = refit.condensed(model, votes)
    assert small.sided == side
    assert not small.ordered
    assert small.weight.sum() == 9
    assert (small.weight > 0).all()
    one, two = (BradleyTerry(l2=0.1, side_effect=side, tol=1e-9).fit(each) for each in (votes, small))
    assert_allclose(one.ranking_.scores, two.ranking_.scores, atol=1e-6)
    assert not side or one.side_effect_ == pytest.approx(two.side_effect_, abs=1e-6)
    assert refit.condensed(Elo(), votes) is votes
    with_more = Comparisons.from_frame(rows | {"x": range(6)}, covariates=["x"])
    assert refit.condensed(model, with_more) is with_more


# ---- halves ---------------------------------------------------------------------------------------------------------


def halves(*scores):
    """A refit that knows its answers."""
    turn = iter(scores)
    return lambda votes: next(turn)


def test_reliability_is_over_items_that_both_halves_score():
    votes = pairs_of(ROUND)
    nan = np.nan
    one, other = np.array([1.0, 2.0, 4.0, nan, 0.0]), np.array([2.0, 1.0, 5.0, 3.0, -1.0])
    third = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    found = steadiness.reliability(votes, halves(one, other, third, -third), 2, np.random.default_rng(0))
    kept = [0, 1, 2, 4]
    first = np.corrcoef(one[kept], other[kept])[0, 1]
    assert (found.low, found.high) == pytest.approx((-1.0, first))
    assert found.correlation == pytest.approx((first - 1) / 2)
    assert found.agreement == pytest.approx((5 / 6 + 0) / 2)  # one of six pairs is turned, then all


@pytest.mark.parametrize(
    "answers",
    [
        (None, np.arange(3.0)),
        (np.arange(3.0), None),
        (np.array([1.0, 2.0, np.nan]), np.arange(3.0)),
        (np.ones(3), np.arange(3.0)),
        (np.arange(3.0), np.ones(3)),
    ],
)
def test_halves_too_thin_to_be_scored_have_no_reliability(answers):
    assert steadiness.reliability(pairs_of(ROUND), halves(*answers), 1, np.random.default_rng(0)) is None


def test_three_items_are_enough_for_halves_and_one_vote_is_not():
    found = steadiness.reliability(pairs_of(ROUND), halves(np.arange(3.0), np.arange(3.0)), 1, np.random.default_rng(0))
    assert (found.correlation, found.low, found.high, found.agreement) == pytest.approx((1.0,) * 4)
    assert steadiness.reliability(pairs_of(ROUND[:1]), halves(), 1, np.random.default_rng(0)) is None


def test_a_lead_is_a_difference_whose_lower_end_is_above_0():
    pairs = [("a", "b")] * 40 + [("b", "a")] * 10 + [("b", "c")] * 12 + [("c", "b")] * 10
    ranking = BradleyTerry().fit(pairs_of(pairs)).ranking_
    ahead = steadiness.lead_test(ranking)
    for one in "abc":
        for other in "abc":
            if one != other:
                lower = ranking.intervals(reference=other)[0][ranking.items.index(one)]
                assert ahead(one, other) == (lower > ranking.score(other))
    assert ahead("a", "b")
    assert not ahead("b", "c")
    assert steadiness.lead_test(Ranking("ab", [1.0, 0.0]))("a", "b") is False  # scores only: nothing is significant


def influence(after, before, items, votes, model=None, shown=None, ahead=lambda one, other: False):
    model = model or types.SimpleNamespace(uses=types.SimpleNamespace(order=False))
    shown = np.ones(len(items), bool) if shown is None else np.array(shown)
    return steadiness.influence(model, votes, after, np.array(before), tuple(items), shown, ahead)


def test_without_an_item_the_others_are_ranked_among_themselves():
    votes = pairs_of([("a", "b"), ("b", "c"), ("c", "a"), ("a", "b")])
    seen = []

    def refitted(part):
        seen.append(sorted({*part.left.tolist(), *part.right.tolist()}))
        return np.array([0.0, 3.0, 1.0])

    found = influence(refitted, [3.0, 2.0, 1.0], "abc", votes)
    assert seen == [[1, 2], [0, 2], [0, 1]]  # without a, b and c, the busiest first
    assert [row[:3] for row in found.rows] == [("item", "a", 3.0), ("item", "b", 3.0), ("item", "c", 2.0)]
    leaders = [row[3] for row in found.rows]
    assert leaders == ["b", "c", "b"]
    assert found.tried == {"item": (3, 3)}


def test_two_items_and_one_judge_are_not_left_out():
    votes = pairs_of([("a", "b"), ("b", "a")], judge=["x", "x"])
    found = influence(lambda part: np.array([1.0, 0.0]), [1.0, 0.0], "ab", votes)
    assert (found.rows, found.tried) == ([], {})


def test_refits_that_fail_or_score_one_item_are_passed_over():
    votes = pairs_of([("a", "b"), ("b", "c"), ("c", "a")], judge=["x", "y", "y"])
    assert influence(lambda part: None, [3.0, 2.0, 1.0], "abc", votes).rows == []
    one = influence(lambda part: np.array([1.0, np.nan, np.nan]), [3.0, 2.0, 1.0], "abc", votes)
    assert one.rows == []
    assert one.tried == {"item": (3, 3), "judge": (2, 2)}


@pytest.mark.parametrize("significant", [False, True])
def test_another_leader_is_a_turn_where_the_lead_was_significant(significant):
    votes = pairs_of([("a", "b"), ("b", "c"), ("c", "a")])
    asked = []

    def ahead(one, other):
        asked.append((one, other))
        return significant

    found = influence(lambda part: np.array([0.0, 3.0, 1.0]), [3.0, 2.0, 1.0], "abc", votes, ahead=ahead)
    turned = {row[1]: row[-1] for row in found.rows}
    assert turned == {"a": False, "b": significant, "c": significant}  # without the leader another leads anyhow
    assert set(asked) == {("a", "c"), ("a", "b")}
    assert len(asked) == 2  # each asked once
    still = influence(lambda part: np.array([3.0, 2.0, 1.0]), [3.0, 2.0, 1.0], "abc", votes, ahead=ahead)
    assert [row[-1] for row in still.rows if row[1] != "a"] == [False, False]


def test_who_leads_is_asked_among_those_shown():
    votes = pairs_of([("a", "b"), ("b", "c"), ("c", "a")], judge=["x", "y", "y"])
    asked = []
    after = np.array([9.0, 1.0, 3.0])
    found = influence(
        lambda part: after, [3.0, 2.0, 1.0], "abc", votes, shown=[False, True, True],
        ahead=lambda one, other: asked.append((one, other)) or True,
    )  # fmt: skip
    assert [row[3] for row in found.rows if row[0] == "judge"] == ["c", "c"]
    assert asked == [("b", "c")]
    assert [row[-1] for row in found.rows if row[0] == "judge"] == [True, True]


def test_counted_votes_make_a_judge_busy():
    votes = Comparisons(
        tuple("ab"), np.array([0, 1]), np.array([1, 0]), outcome=np.ones(2, np.int8), count=np.array([2, 5]),
        judge=np.array([0, 1]), judges=("x", "y"), ordered=False,
    )  # fmt: skip
    found = influence(lambda part: np.array([1.0, 0.0]), [1.0, 0.0], "ab", votes)
    assert [row[1:3] for row in found.rows] == [("y", 5.0), ("x", 2.0)]


# ---- histories ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("points", "cuts"), [(1, [9]), (2, [4, 9]), (3, [3, 6, 9]), (4, [2, 4, 7, 9]), (40, [*range(1, 10)])]
)
def test_a_history_is_cut_into_even_shares(points, cuts):
    """Shares of nine votes, rounded to whole votes; half a vote to the even one."""
    history = score_history(pairs_of(ROUND), points=points)
    assert history.votes.tolist() == cuts
    model = BradleyTerry().fit(pairs_of(ROUND))
    assert history.items == model.ranking_.items
    assert_allclose(history.scores[-1], model.ranking_.scores)
    again = refit.refitting(model, model.ranking_.items)
    for row, cut in zip(history.scores[:-1], cuts, strict=False):
        assert_allclose(row, again(pairs_of(ROUND).take(slice(cut))))


def test_a_history_has_forty_points_unless_told():
    votes = pairs_of(ROUND * 10)
    assert len(score_history(votes, WinRate().fit(votes)).votes) == 40
    for points in (0, 1.5, -1, "3"):
        with pytest.raises(InputError, match="points="):
            score_history(votes, points=points)


def test_a_history_is_in_the_order_of_time_and_unknown_before_votes_can_be_ranked():
    pairs = [("c", "a"), ("b", "c"), ("a", "b"), ("b", "a")]
    votes = pairs_of(pairs, time=[4.0, 3.0, 2.0, 1.0])
    history = score_history(votes, BradleyTerry(l2=0.1).fit(votes), points=4)
    known = [
        {item for item, there in zip(history.items, row, strict=True) if there} for row in np.isfinite(history.scores)
    ]
    assert known == [{"a", "b"}, {"a", "b"}, {"a", "b", "c"}, {"a", "b", "c"}]
    strict = score_history(votes, BradleyTerry(l2=0).fit(votes), points=4)
    assert np.isnan(strict.scores[0]).all()  # b beat a once: no finite scores yet
    assert np.isfinite(strict.scores[1]).sum() == 2


def test_a_history_of_an_anchored_model_keeps_the_anchor_where_it_is():
    votes = pairs_of(ROUND)
    for anchor in (("c", 7.0), {"c": 7.0}):
        model = BradleyTerry(l2=0.1, anchor=anchor).fit(votes)
        history = score_history(votes, model, points=9)
        place = history.items.index("c")
        assert np.isnan(history.scores[0]).all()  # c has no vote yet
        assert_allclose(history.scores[1:, place], 7.0)
        scores = np.array([1.0, 2.0, 4.0, 8.0])
        assert _anchored(scores, model, tuple("abcd")).tolist() == [4.0, 5.0, 7.0, 11.0]
    plain = BradleyTerry(l2=0.1).fit(votes)
    assert _anchored(scores, plain, tuple("abcd")) is scores


def test_a_history_of_some_items():
    history = History(np.array([1, 2]), ("a", "b", "c"), np.arange(6.0).reshape(2, 3))
    assert history.among(None) is history
    some = history.among({"c", "a", "zebra"})
    assert some.items == ("a", "c")
    assert some.scores.tolist() == [[0.0, 2.0], [3.0, 5.0]]
    assert some.votes.tolist() == [1, 2]
    for bad in ("ab", 3, iter("ab")):
        with pytest.raises(InputError, match="items must be a list of items, not"):
            history.among(bad)


def test_votes_without_an_order_have_no_history():
    votes = pairs_of(ROUND)
    counted = votes.merged()
    with pytest.raises(InputError, match="the votes are counted, so their order is not known; give them one by one"):
        score_history(counted)
    with pytest.raises(InputError, match="score_history takes Comparisons"):
        score_history(ROUND)


# ---- redraws --------------------------------------------------------------------------------------------------------


def test_moves_grow_with_the_votes_between_their_bounds(monkeypatch):
    """At least 100, four a vote, and no more steps of about 5 + √n than 30 million over all redraws."""
    asked = []
    moved = ExactRedraws._moved

    def noted(self, won, moves, rng):
        asked.append(moves)
        return moved(self, won, min(moves, 5), rng)

    monkeypatch.setattr(ExactRedraws, "_moved", noted)
    few, many = (Table.of(pairs_of(ROUND[:7] * times)) for times in (1, 20))
    assert len(list(ExactRedraws(few, False).draw(2, np.random.default_rng(0)))) == 2
    assert asked == [100] * 3  # back, and forward twice
    asked.clear()
    redraws = ExactRedraws(many, False)
    list(redraws.draw(1, np.random.default_rng(0)))
    assert asked == [4 * 140] * 2
    assert redraws.redraws == 1
    asked.clear()
    monkeypatch.setattr(exact, "MAX_STEPS", 3000)
    list(ExactRedraws(many, False).draw(1, np.random.default_rng(0)))
    assert asked == [int(3000 / ((5 + math.sqrt(3)) * 2))] * 2


def test_a_redraw_starts_from_moved_votes_and_counts_what_moved():
    table = Table.of(pairs_of(ROUND * 3))
    redraws = ExactRedraws(table, False)
    before = redraws.won.copy()
    tables = list(redraws.draw(4, np.random.default_rng(1)))
    assert redraws.redraws == 4
    assert redraws.moved > 0
    assert (redraws.won == before).all()  # the votes themselves stay
    wins = np.bincount(table.left, table.wins, 4) + np.bincount(table.right, table.losses, 4)
    for each in tables:
        assert (each.wins + each.losses == table.wins + table.losses).all()
        assert (np.bincount(each.left, each.wins, 4) + np.bincount(each.right, each.losses, 4) == wins).all()


def test_a_model_of_a_fit_is_in_log_odds_about_their_mean():
    votes = Comparisons.from_frame({"left": list("aabbca"), "right": list("bbaaac"), "outcome": [1, 0, 1, 0.5, 1, 0.5]})
    fitted = BradleyTerry(l2=0.25, ties="davidson", side_effect=True, scale="elo", anchor=("a", 1500)).fit(votes)
    model = Model.of(fitted)
    plain = fitted.ranking_.scores / fitted.ranking_.unit
    assert_allclose(model.scores, plain - plain.mean())
    assert model.effects.tolist() == [fitted.side_effect_]
    assert model.log_nu == pytest.approx(math.log(fitted.tie_strength_))
    assert model.l2 == 0.25
    least = Model.of(BradleyTerry(l2=0).fit(votes))
    assert least.l2 == MIN_PENALTY
    assert (least.log_nu, least.effects.tolist()) == (None, [])
    auto = BradleyTerry().fit(votes)
    assert Model.of(auto).l2 == auto.l2_


def test_items_without_votes_are_groups_of_their_own():
    """Pairs less items plus groups: circles that scores cannot explain."""
    one, two = np.array([0, 1, 0, 3], np.int32), np.array([1, 2, 2, 4], np.int32)
    ones = np.ones(4)
    for n, freedom in ((5, 4 - (5 - 2)), (6, 4 - (6 - 3))):
        assert Cycles(Table(n, one, two, ones, ones, 0 * ones, 2 * ones)).freedom == freedom == 1
    chain = Table(3, one[:2], two[:2], ones[:2], ones[:2], 0 * ones[:2], 2 * ones[:2])
    assert Cycles(chain).freedom == 0
    assert Cycles(chain).measure(chain) == (0.0, 0.0)
    even = Table(3, one[:3], two[:3], ones[:3], ones[:3], 0 * ones[:3], 2 * ones[:3])
    assert Cycles(even).measure(even) == (0.0, 0.0)  # nobody won more: nothing is said, and nothing is cyclic


# ---- the whole ------------------------------------------------------------------------------------------------------


def quiet(votes, model=None, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        return diagnose(votes, model, **(QUICK | more))


def test_a_diagnosis_without_being_told():
    votes = pairs_of(ROUND)
    asked = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            Fit, "tests", lambda self, replicates, rng, chances=None: asked.update(n=replicates, rng=rng) or (None,) * 3
        )
        patch.setattr(
            "podium.evaluate.diagnosis.reliability", lambda votes, refit, splits, rng: asked.update(splits=splits)
        )
        found = diagnose(votes)
    assert (asked["n"], asked["splits"], found.replicates) == (199, 20, 199)
    assert asked["rng"].random() == np.random.default_rng(0).random()
    assert found.tried == {"item": (4, 4)}
    assert found.against is None
    assert found.decided is None
    assert found.votes_per_item == 2 * 9 / 4
    assert found.leader == BradleyTerry().fit(votes).ranking_.order[0]


def test_a_diagnosis_without_refits():
    found = quiet(pairs_of(ROUND), influence=False)
    assert found.influence.shape == (0, 10)
    assert found.tried == {}
    assert found.replicates == 3


def test_a_leader_is_named_among_those_shown():
    votes = pairs_of(ROUND)
    order = BradleyTerry().fit(votes).ranking_.order
    assert quiet(votes, shown=[order[2], order[1]], influence=False).leader == order[1]
    assert quiet(votes, shown={order[3], "zebra"}, influence=False).leader == order[3]
    with pytest.raises(
        InputError, match=f"shown names no item of the ranking; there are 4, such as '{votes.items[0]}'"
    ):
        quiet(votes, shown=["zebra"])
    for bad in ("a", 3):
        with pytest.raises(InputError, match="shown"):
            quiet(votes, shown=bad)
    with pytest.raises(InputError, match="cannot be a label"):
        quiet(votes, shown=[["a"]])


@pytest.mark.parametrize("model", [Elo(), WinRate()])
def test_other_rankers_are_measured_against_bradley_terry(model):
    votes = pairs_of(ROUND * 2)
    found = quiet(votes, model.fit(votes))
    assert found.against == "Bradley-Terry"
    assert found.leader == model.ranking_.order[0]
    plain = quiet(votes, BradleyTerry(l2=1e-3).fit(votes), influence=False)
    assert found.residuals.equals(plain.residuals)
    assert plain.against is None


@pytest.mark.parametrize("bad", [{"replicates": 0}, {"replicates": 1.5}, {"splits": 0}, {"seed": -1}])
def test_numbers_that_cannot_be_are_named(bad):
    with pytest.raises(InputError, match=f"{next(iter(bad))}="):
        diagnose(pairs_of(ROUND), **bad)
    with pytest.raises(InputError, match="diagnose takes Comparisons"):
        diagnose(ROUND)


def test_the_seed_decides_and_0_is_the_default():
    votes = pairs_of(ROUND * 4)
    one, same, other = (
        quiet(votes, influence=False, splits=3, **seed).reliability for seed in ({}, {"seed": 0}, {"seed": 5})
    )
    assert one == same != other


def tied(m=60, seed=0):
    """Votes with sides and ties, decided by neither."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 4, m)
    right = (left + rng.integers(1, 4, m)) % 4
    outcome = rng.choice([0.0, 0.5, 1.0], m, p=[0.35, 0.2, 0.45])
    return {"left": [f"i{k}" for k in left], "right": [f"i{k}" for k in right], "outcome": outcome.tolist()}


@pytest.mark.parametrize(
    "settings", [{"ties": "davidson"}, {"side_effect": True}, {"ties": "davidson", "side_effect": True}]
)
def test_residuals_are_those_of_the_likelihood_with_the_settings_of_the_model(settings):
    votes = Comparisons.from_frame(tied())
    auto, plain = (BradleyTerry(l2=l2, **settings).fit(votes) for l2 in ("auto", 1e-3))
    found = quiet(votes, auto, influence=False)
    assert found.residuals.equals(quiet(votes, plain, influence=False).residuals)
    assert not found.residuals.equals(quiet(votes, influence=False).residuals)


def test_who_is_ahead_is_asked_of_the_model_or_where_it_has_no_errors_of_bradley_terry(monkeypatch):
    asked = []
    monkeypatch.setattr(
        "podium.evaluate.diagnosis.lead_test", lambda ranking: asked.append(ranking) or (lambda *pair: False)
    )
    votes = pairs_of(ROUND)
    own, bare = BradleyTerry(l2=0.1).fit(votes), WinRate().fit(votes)
    quiet(votes, own)
    quiet(votes, bare)
    assert asked[0] is own.ranking_
    assert asked[1] is not bare.ranking_
    assert asked[1].information is not None
    assert_allclose(asked[1].scores, BradleyTerry(l2=1e-3).fit(votes).ranking_.scores)


@pytest.mark.parametrize("settings", [{}, {"ties": "davidson", "side_effect": True}])
def test_redraws_come_from_scores_pulled_together_with_the_settings_of_the_model(settings):
    from podium.evaluate import diagnosis

    rows = tied()
    votes = Comparisons.from_frame(rows | {"weight": np.linspace(0.5, 2.0, 60)})
    decided = votes.take(np.flatnonzero(np.array(rows["outcome"]) != 0.5))
    model = BradleyTerry(l2=1e-3, **settings).fit(votes)
    fit = Fit(Table.of(votes, model.side_effect), Model.of(model))
    tested, chances = diagnosis._bootstrap(fit, model, votes)
    auto = BradleyTerry(l2="auto", **settings).fit(votes)
    assert chances.l2 == pytest.approx(auto.l2_)
    assert len(chances.effects) == len(fit.model.effects) == bool(settings)
    assert not tested.table.ties.any()
    assert tested.model.log_nu is None
    model = BradleyTerry(l2=1e-3, **settings).fit(decided)
    fit = Fit(Table.of(decided, model.side_effect), Model.of(model))
    tested, chances = diagnosis._bootstrap(fit, model, decided)
    assert tested is fit  # without ties all votes are decided
    assert_allclose(chances.scores, Model.of(BradleyTerry(l2="auto", **settings).fit(decided)).scores)


def test_a_judge_is_asked_whether_it_favoured_the_leader_over_who_leads_without_it(monkeypatch):
    """Items are numbered otherwise in the votes than in the ranking."""
    votes = Comparisons.from_arrays([2, 1, 0, 1], [1, 0, 2, 2], items=list("cba"), judge=[0, 1, 1, 0])
    asked = []

    class Asked:
        def __init__(self, given):
            assert given is votes

        def z_value(self, *codes):
            asked.append(codes)
            return 0.0

    monkeypatch.setattr(steadiness, "JudgeTest", Asked)
    found = influence(lambda part: np.array([0.0, 3.0, 1.0]), [3.0, 2.0, 1.0], "abc", votes)
    assert [row[-1] for row in found.rows if row[0] == "judge"] == [False, False]
    assert sorted(asked) == [(0, 2, 1), (1, 2, 1)]  # each judge on a, who led, and b
