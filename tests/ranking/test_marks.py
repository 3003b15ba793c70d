"""Marks and grades: closed forms on given scores, and known truth for intervals and chances."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import linregress, norm
from scipy.stats import t as student

from benchmarks.coverage_marks import simulate
from podium import BradleyTerry, Comparisons, Ranking, WinRate
from podium.errors import DataWarning, InputError, PodiumWarning
from podium.ranking import award_marks
from podium.ranking.marks import _chances

BY_HAND = Ranking(["x", "y", "z", "w"], [3.0, -1.0, 1.0, 0.0])


def simulated(rng, n=20, votes=160, spread=1.5):
    """Centred true scores, and a ranking of votes drawn from them."""
    truth = rng.normal(0, spread, n)
    truth -= truth.mean()
    left = rng.integers(0, n, votes)
    right = (left + rng.integers(1, n, votes)) % n
    won = rng.random(votes) < 1 / (1 + np.exp(truth[right] - truth[left]))
    winner, loser = np.where(won, left, right), np.where(won, right, left)
    return truth, fitted(Comparisons.from_arrays(winner, loser, items=list(range(n))))


def fitted(votes, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        return BradleyTerry(**options).fit(votes).ranking_


def test_a_scale_goes_from_the_lowest_score_to_the_highest():
    marks = award_marks(BY_HAND, (1, 6))
    assert_allclose(marks.marks, [6, 1, 3.5, 2.25])  # 1 + 5 (s + 1) / 4
    assert_allclose(marks.intercept + marks.slope * BY_HAND.scores, marks.marks)
    assert np.isnan(marks.lower).all()  # scored by hand: nobody knows how well


@pytest.mark.parametrize(
    "known", [{"x": 80, "y": 40}, {"x": 80, "y": 41, "z": 63}, {"x": 80, "y": 41, "z": 63, "w": 50}]
)
def test_known_marks_lay_the_least_squares_line(known):
    marks = award_marks(BY_HAND, known=known)
    line = linregress([BY_HAND.score(item) for item in known], list(known.values()))
    assert_allclose(marks.marks, line.intercept + line.slope * BY_HAND.scores)
    assert marks.to_frame().filter(known=80)["item"].to_list() == ["x"]


def test_a_scale_holds_known_marks_within_its_ends():
    marks = award_marks(BY_HAND, (0, 50), known={"y": 40, "w": 60}, boundaries={"A": 45})
    assert_allclose(marks.marks, [50, 40, 50, 50])
    assert marks.grades == ("A", "below A", "A", "A")


def test_intervals_are_those_of_the_scores_on_the_line():
    ranking = simulated(np.random.default_rng(1))[1]
    marks = award_marks(ranking, (-1e6, 1e6), level=0.9)
    lower, upper = ranking.intervals(0.9, kind="credible")
    inside = (marks.lower > -1e6) & (marks.upper < 1e6)
    assert inside.any()
    assert_allclose(marks.lower[inside], (marks.intercept + marks.slope * lower)[inside], rtol=1e-9)
    assert_allclose(marks.upper[inside], (marks.intercept + marks.slope * upper)[inside], rtol=1e-9)
    assert marks.upper.max() == 1e6


def test_without_a_prior_intervals_are_those_of_the_likelihood_on_any_scale_of_scores():
    rng = np.random.default_rng(2)
    votes = Comparisons.from_arrays(rng.integers(0, 5, 900), 5 + rng.integers(0, 5, 900), items=list("abcdefghij"))
    back = Comparisons.from_arrays(5 + rng.integers(0, 5, 700), rng.integers(0, 5, 700), items=list("abcdefghij"))
    for ranking in (fitted(votes + back, l2=0), fitted(votes + back).with_uncertainty("sandwich")):
        marks = award_marks(ranking, (0, 100))
        lower, _ = ranking.intervals()
        assert_allclose(marks.lower, np.clip(marks.intercept + marks.slope * lower, 0, 100), atol=1e-9)
    elo = award_marks(fitted(votes + back, scale="elo"), (0, 100))
    plain = award_marks(fitted(votes + back), (0, 100))
    assert_allclose(elo.marks, plain.marks, atol=1e-6)
    assert_allclose(elo.upper, plain.upper, atol=1e-6)


def test_the_line_adds_its_own_error():
    """By hand: regression's variance of the line at each score, with Student's quantile, or the scores' own error."""
    ranking = simulated(np.random.default_rng(3), n=8, votes=300)[1]
    lower, upper = ranking.intervals(kind="credible")
    z = norm.ppf(0.975)
    error, scores = (upper - lower) / (2 * z), ranking.scores
    for noise in (0.0, 20.0):  # the scores' error decides, then the scatter of the marks
        known = {k: 50 + 10 * scores[k] + noise * (-1) ** k for k in range(5)}
        marks = award_marks(ranking, known=known)
        line = linregress(scores[:5], list(known.values()))
        residual = np.array(list(known.values())) - line.intercept - line.slope * scores[:5]
        scatter = residual @ residual / 3 * (student.ppf(0.975, 3) / z) ** 2
        variance = max(np.mean((line.slope * error[:5]) ** 2), scatter)
        square = ((scores[:5] - scores[:5].mean()) ** 2).sum()
        at = variance * (1 / 5 + (scores - scores[:5].mean()) ** 2 / square)
        half = z * np.sqrt((line.slope * error) ** 2 + at)
        assert_allclose(marks.upper - marks.marks, half, rtol=1e-9)


def test_grades_and_their_chances_by_hand():
    ranking = simulated(np.random.default_rng(4))[1]
    boundaries = {"A": 70, "B": 55, "C": 30}
    marks = award_marks(ranking, (0, 100), boundaries=boundaries)
    assert marks.grade_names == ("A", "B", "C", "below C")
    assert_allclose(marks.chances.sum(axis=1), 1)
    line = marks.intercept + marks.slope * ranking.scores
    lower, upper = ranking.intervals(kind="credible")
    sd = marks.slope * (upper - lower) / (2 * norm.ppf(0.975))
    assert_allclose(marks.chances[:, 1], norm.cdf(70, line, sd) - norm.cdf(55, line, sd), atol=1e-12)
    for mark, grade in zip(line, marks.grades, strict=True):
        earned = [name for name, least in boundaries.items() if mark >= least]
        assert grade == (earned[0] if earned else "below C")
    row = marks.to_frame().row(0, named=True)
    assert row["chance"] == row[f"P({row['grade']})"]


@pytest.mark.parametrize("lowest", [-np.inf, 30.0, 40.0])
def test_chances_of_grades_are_normal_tails_and_all_reach_the_lowest_mark(lowest):
    found = _chances(np.array([60.0, 30.0, 50.0]), np.array([10.0, 4.0, np.inf]), [70.0, 40.0], lowest)
    for row, (mark, sd) in zip(found[:2], ((60.0, 10.0), (30.0, 4.0)), strict=True):
        first = norm.sf(70.0, mark, sd)
        second = 1.0 if lowest >= 40.0 else norm.sf(40.0, mark, sd)
        assert_allclose(row, [first, second - first, 1.0 - second], atol=1e-12)
    assert np.isnan(found[2, 0])  # nothing is known of it
    sure = _chances(np.array([60.0, 75.0, 10.0]), np.zeros(3), [70.0, 40.0], -np.inf)
    assert sure.tolist() == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    assert _chances(np.array([60.0]), np.ones(1), [], 0.0).shape == (1, 0)


def test_a_mark_on_the_boundary_earns_the_grade():
    assert award_marks(BY_HAND, (0, 4), boundaries={"A": 4, "B": 2, "C": 1}).grades == ("A", "below C", "B", "C")


@pytest.mark.parametrize("anchors", [0, 2, 6])
def test_intervals_hold_the_true_marks_and_chances_what_they_say(anchors):
    """40 data sets of 20 items with 8 votes an item, items without known marks: 560 to 800 marks.

    The error of a line through few known marks is taken to be cautious: 95 % intervals hold 96 to 98 %.
    """
    found = simulate(20, 8, anchors, sets=40, seed=10 + anchors)
    assert 0.93 <= found.held <= (0.99 if anchors else 0.97)
    for said, came in (found.unlikely, found.likely):
        assert abs(said - came) < (0.08 if anchors else 0.05)


def test_where_the_best_mark_is_the_lowest_all_is_turned_over():
    ranking = simulated(np.random.default_rng(5))[1]
    down = award_marks(ranking, (6, 1), boundaries={"very good": 1.5, "good": 2.5})
    up = award_marks(ranking, (1, 6), boundaries={"very good": 5.5, "good": 4.5})
    assert_allclose(down.marks, 7 - up.marks)
    assert_allclose(down.lower, 7 - up.upper)
    assert_allclose(down.chances, up.chances)
    assert down.grades == up.grades
    assert down.to_frame()["item"].to_list() == up.to_frame()["item"].to_list()
    best, last = ranking.order[0], ranking.order[-1]
    known = award_marks(ranking, (6, 1), known={best: 1.3, last: 5.0})
    assert known.marks[ranking.items.index(best)] == pytest.approx(1.3)
    assert known.known[last] == 5.0
    with pytest.raises(
        InputError, match=r"'very good' begins at 1.5 and 'good' at 2.5; name the best grade first, each with a higher"
    ):
        award_marks(ranking, (6, 1), boundaries={"good": 2.5, "very good": 1.5})


def test_a_ranker_without_a_likelihood_has_marks_and_no_intervals():
    votes = Comparisons.from_pairs([("a", "b"), ("a", "c"), ("b", "c"), ("c", "a")])
    marks = award_marks(WinRate().fit(votes).ranking_, (0, 10), boundaries={"A": 5})
    assert marks.to_frame()["mark_lower"].null_count() == 3
    assert np.isnan(marks.chances).any()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "no scale: give the lowest and the highest mark"),
        ({"scale": (5, 5)}, "the two ends must be different"),
        ({"scale": (0, float("nan"))}, "the two ends must be different"),
        ({"scale": 7}, "is no scale; give two numbers"),
        ({"known": {"x": 3}}, "one known mark fixes no scale"),
        ({"known": {"x": 3, "tea": 4}}, "the known mark of 'tea' is of an item that has no votes"),
        ({"known": {"x": 3, "y": "good"}}, "the known mark of 'y' is 'good'; give a number"),
        ({"known": {"x": 3, "y": 4}}, "do not rise with the scores: 'x' is ranked above 'y'"),
        ({"scale": (0, 9), "boundaries": {"B": 3, "A": 5}}, "grade 'A' begins at 5 and 'B' at 3; name the best"),
        ({"scale": (0, 9), "boundaries": {"A": 12}}, "outside the scale 0 to 9"),
        ({"scale": (0, 9), "boundaries": {"A": None}}, "the boundary of grade 'A' is None"),
        ({"scale": (0, 9), "level": 1.5}, "level"),
    ],
)
def test_what_cannot_be_marked_is_named(options, says):
    with pytest.raises(InputError, match=says):
        award_marks(BY_HAND, **options)


def test_equal_scores_have_no_scale():
    with pytest.raises(InputError, match="all items have the same score"):
        award_marks(Ranking(["a", "b"], [1.0, 1.0]), (0, 1))
    with pytest.raises(InputError, match="have the same score, so no line"):
        award_marks(Ranking(["a", "b", "c"], [1.0, 1.0, 2.0]), known={"a": 1, "b": 2})


@pytest.mark.parametrize("options", [{"scale": (0, 100)}, {"known": {"x": 60.0, "y": 40.0}}])
def test_the_line_is_told_in_the_units_of_the_scores(options):
    elo = Ranking(["x", "y", "z"], [1600.0, 1400.0, 1550.0], unit=400 / np.log(10))
    marks = award_marks(elo, **options)
    assert_allclose(marks.intercept + marks.slope * elo.scores, marks.marks)


def test_items_never_compared_with_most_leave_the_others_their_chances():
    """Two more items that met only each other: as without them for the others, which lie where votes say."""
    rng = np.random.default_rng(5)
    truth = rng.normal(0, 1.5, 20)
    left = rng.integers(0, 20, 300)
    right = (left + rng.integers(1, 20, 300)) % 20
    won = rng.random(300) < 1 / (1 + np.exp(truth[right] - truth[left]))
    winner, loser = np.where(won, left, right), np.where(won, right, left)
    boundaries = {"A": 70, "B": 40}
    alone = fitted(Comparisons.from_arrays(winner, loser, items=list(range(20))))
    beside = fitted(Comparisons.from_arrays([*winner, 20], [*loser, 21], items=list(range(22))))
    one, other = (award_marks(each, (0, 100), boundaries=boundaries) for each in (alone, beside))
    assert_allclose(other.chances[:20], one.chances, atol=0.02)
    assert_allclose(other.lower[:20], one.lower, atol=2.0)
    assert np.isnan(other.chances[20:]).all()
    assert (other.lower[20:].tolist(), other.upper[20:].tolist()) == ([0.0, 0.0], [100.0, 100.0])
    frame = other.to_frame()
    assert frame.filter(frame["chance"].is_null())["item"].to_list() == ["20", "21"]


def test_where_no_group_holds_most_items_no_grade_has_a_chance():
    votes = Comparisons.from_pairs(
        [*[("a", "b"), ("b", "a"), ("a", "b")] * 5, *[("c", "d"), ("d", "c"), ("c", "d")] * 5]
    )
    found = award_marks(fitted(votes), (0, 100), boundaries={"A": 70})
    assert np.isnan(found.chances).all()


def anchored(seed, off, falling=False):
    """What is said of ten known marks on the line 50 + 12 · score, the first of them `off` by so much; and its item."""
    rng = np.random.default_rng(seed)
    truth, ranking = simulated(rng, n=30, votes=400)
    at = rng.choice(30, 10, replace=False)
    known = {int(k): float(np.round(50 + 12 * truth[k])) for k in at}
    known[int(at[0])] += off
    scale = None
    if falling:
        known, scale = {item: 100 - mark for item, mark in known.items()}, (1000, -1000)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        award_marks(ranking, scale, known=known)
    return [str(each.message) for each in told], int(at[0]), known


def test_a_wrong_known_mark_is_named_and_right_ones_are_not():
    """Right: 3 to 7 in 100 sets have one named (60 sets: at most 8 with a chance of 97 %). Wrong by 35: most are."""
    assert sum(bool(anchored(seed, 0)[0]) for seed in range(60)) <= 8
    found = [anchored(seed, 35) for seed in range(20)]
    assert sum(any(line.startswith(f"the known mark of {item} is") for line in said) for said, item, _ in found) >= 10


def test_a_wrong_known_mark_is_told_on_a_falling_scale_as_it_was_given():
    seed = next(seed for seed in range(20) if anchored(seed, 35)[0])
    (one, *_), item, _ = anchored(seed, 35)
    (other, *_), _, known = anchored(seed, 35, falling=True)
    assert one.partition(" is ")[0] == other.partition(" is ")[0] == f"the known mark of {item}"
    assert f"is {known[item]:g}, but" in other
    says = [float(line.partition(" say ")[2].partition(",")[0]) for line in (one, other)]
    assert sum(says) == pytest.approx(100, abs=0.2)


def test_marks_on_the_line_but_for_rounding_are_not_named():
    ranking = Ranking([*"abcde"], [0.1, 0.2, 0.3, 0.7, 1.1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        known = {item: 0.1 + 0.7 * score for item, score in zip(ranking.items, ranking.scores, strict=True)}
        awarded = award_marks(ranking, known=known)
    assert awarded.marks == pytest.approx([known[item] for item in awarded.items])


def test_three_known_marks_are_too_few_to_name_one():
    ranking = Ranking(["a", "b", "c", "d"], [0.0, 1.0, 2.0, 3.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        award_marks(ranking, known={"a": 0, "b": 90, "d": 100})
    with pytest.warns(
        DataWarning, match="the known mark of 'c' is 90, but .* say 20, further off than chance leads to"
    ):
        award_marks(
            Ranking([*"abcdef"], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]),
            known={"a": 0, "b": 10, "c": 90, "d": 30, "e": 40, "f": 50.0},
        )
