"""Marks by hand: every field on rising and falling scales, known marks with errors, and each refusal in its words."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from scipy.stats import t as student

from podium import Ranking
from podium.errors import InputError
from podium.ranking import award_marks
from podium.ranking.uncertainty import Information, ScoreCovariance

SCORES = np.array([3.0, -1.0, 1.0, 0.0])
ERRORS = np.array([0.4, 0.3, 0.5, 0.2])


def ranking(unit=1.0, **more):
    """Four items with errors that are known."""
    information = Information(4, np.arange(3), np.arange(1, 4), np.ones(3))
    covariance = ScoreCovariance(np.diag(ERRORS**2), **more)
    return Ranking("xyzw", unit * SCORES, information=information, covariance=covariance, unit=unit)


@pytest.mark.parametrize("unit", [1.0, 173.7])
@pytest.mark.parametrize("scale", [(0.0, 8.0), (8.0, 0.0), (-3.0, 5.0), (1.0, 6.0), (6.0, 1.0)])
@pytest.mark.parametrize("level", [0.95, 0.5])
def test_a_scale_by_hand(scale, level, unit):
    low, high = scale
    found = award_marks(ranking(unit), scale, level=level)
    slope = (high - low) / 4
    marks = low + slope * (SCORES + 1)
    half = norm.ppf((1 + level) / 2) * abs(slope) * ERRORS
    ends = sorted(scale)
    assert_allclose(found.marks, marks, atol=1e-9)
    assert_allclose(found.lower, np.clip(marks - half, *ends), atol=1e-9)
    assert_allclose(found.upper, np.clip(marks + half, *ends), atol=1e-9)
    assert (found.slope, found.intercept) == pytest.approx((slope / unit, low + slope))
    assert found.highest_is_best == (high > low)
    assert found.level == level
    assert (found.items, dict(found.known), found.grade_names, found.grades) == (tuple("xyzw"), {}, (), ())
    assert found.chances.shape == (4, 0)
    assert found.to_frame().columns == ["item", "mark", "mark_lower", "mark_upper"]
    assert found.to_frame()["item"].to_list() == ["x", "z", "w", "y"]


def test_intervals_are_at_95_percent_unless_told():
    assert award_marks(ranking(), (0, 8)).level == 0.95


@pytest.mark.parametrize("turn", [1, -1])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_known_marks_by_hand(count, turn):
    """The line's variance: the mean square of the scores' errors on it, or with three and more marks their scatter."""
    known = dict(list({"x": 80.0, "y": 41.0, "z": 66.0, "w": 40.0}.items())[:count])
    told = {item: 100 - mark if turn < 0 else mark for item, mark in known.items()}
    found = award_marks(ranking(), None if turn > 0 else (100, 0), known=told, level=0.9)
    at = ["xyzw".index(item) for item in known]
    slope, intercept = np.polyfit(SCORES[at], list(known.values()), 1)
    z, mean = norm.ppf(0.95), SCORES[at].mean()
    square = ((SCORES[at] - mean) ** 2).sum()
    variance = np.mean((slope * ERRORS[at]) ** 2)
    if count > 2:
        residual = np.array(list(known.values())) - intercept - slope * SCORES[at]
        scatter = residual @ residual / (count - 2) * (student.ppf(0.95, count - 2) / z) ** 2
        assert scatter > variance
        variance = max(variance, scatter)
    spread = np.sqrt((slope * ERRORS) ** 2 + variance * (1 / count + (SCORES - mean) ** 2 / square))
    marks = intercept + slope * SCORES
    lower, upper = marks - z * spread, marks + z * spread
    if turn < 0:
        marks, lower, upper = (np.clip(100 - each, 0, 100) for each in (marks, upper, lower))
    assert_allclose(found.marks, marks)
    assert_allclose(found.lower, lower)
    assert_allclose(found.upper, upper)
    assert found.highest_is_best == (turn > 0)
    assert dict(found.known) == told
    frame = found.to_frame()
    assert dict(zip(frame["item"], frame["known"], strict=True)) == {item: told.get(item) for item in "xyzw"}
    assert frame["mark"].is_sorted(descending=turn > 0)
    assert (found.slope, found.intercept) == pytest.approx((turn * slope, intercept if turn > 0 else 100 - intercept))


def test_known_marks_of_items_without_an_end_add_no_error_of_their_own():
    ends = ranking(open_above=np.array([True, False, False, False]))
    found = award_marks(ends, known={"x": 80, "y": 40})
    variance = (10 * ERRORS[1]) ** 2  # that of y alone is known
    at = variance * (1 / 2 + (SCORES - 1.0) ** 2 / 8)
    half = norm.ppf(0.975) * np.sqrt((10 * ERRORS) ** 2 + at)
    assert_allclose((found.upper - found.marks)[1:], half[1:])
    both = ranking(open_above=np.array([True, True, False, False]))
    found = award_marks(both, known={"x": 80, "y": 40})
    assert_allclose((found.upper - found.marks)[2:], (norm.ppf(0.975) * 10 * ERRORS)[2:])


@pytest.mark.parametrize("turn", [1, -1])
def test_grades_and_chances_by_hand(turn):
    """Marks 100, 0, 50 and 25; the lowest mark of all is reached by all."""
    scale = (0, 100) if turn > 0 else (100, 0)
    least = {"A": 75.0, "B": 50.0, "C": 0.0}
    found = award_marks(ranking(), scale, boundaries={k: v if turn > 0 else 100 - v for k, v in least.items()})
    assert found.grade_names == ("A", "B", "C", "below C")
    assert found.grades == ("A", "C", "B", "C")
    marks, sd = np.array([100.0, 0.0, 50.0, 25.0]), 25 * ERRORS
    above = np.column_stack([norm.sf(75, marks, sd), norm.sf(50, marks, sd), np.ones(4), np.ones(4)])
    assert_allclose(found.chances, np.diff(above, axis=1, prepend=0), atol=1e-12)
    frame = found.to_frame()
    assert frame.columns[4:] == ["grade", "chance", "P(A)", "P(B)", "P(C)", "P(below C)"]
    for row in frame.to_dicts():
        k = "xyzw".index(row["item"])
        assert row["grade"] == found.grades[k]
        assert row["chance"] == pytest.approx(found.chances[k, "ABC".index(row["grade"])])
        assert [row[f"P({name})"] for name in found.grade_names] == pytest.approx(found.chances[k].tolist())


def test_without_a_scale_no_mark_is_the_lowest():
    found = award_marks(ranking(), known={"x": 100, "y": 0}, boundaries={"A": 0})
    assert found.chances[1, 0] == pytest.approx(0.5)
    assert found.grades == ("A", "A", "A", "A")


def test_scores_by_hand_have_marks_and_nothing_more():
    plain = Ranking("xyzw", SCORES)
    found = award_marks(plain, (0, 100), boundaries={"A": 50})
    assert found.marks.tolist() == [100.0, 0.0, 50.0, 25.0]
    assert np.isnan(found.lower).all()
    assert np.isnan(found.upper).all()
    assert found.grades == ("A", "below A", "A", "below A")
    frame = found.to_frame()
    assert frame["mark_lower"].null_count() == 4
    known = award_marks(plain, known={"x": 80, "y": 40, "z": 50})
    assert np.isfinite(known.marks).all()


def test_a_mark_of_nothing_is_not_written_with_a_sign():
    falling = award_marks(Ranking("ab", [1.0, -1.0]), (1, 0))
    assert [str(mark) for mark in falling.marks] == ["0.0", "1.0"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "no scale: give the lowest and the highest mark, or known marks of some items"),
        ({"known": {}}, "no scale: give the lowest and the highest mark, or known marks of some items"),
        ({"scale": (1, 2, 3)}, "scale=(1, 2, 3) is no scale; give two numbers, low and high"),
        ({"scale": "ab"}, "scale='ab' is no scale; give two numbers, low and high"),
        ({"scale": (5, 5)}, "scale=(5, 5): the two ends must be different numbers"),
        ({"scale": (0, 1.1e9)}, "scale=(0, 1100000000.0): the two ends must be different numbers"),
        ({"known": [("x", 1)]}, "known must be a Mapping, not list"),
        ({"known": {"x": 1}}, "one known mark fixes no scale; give those of two items or more"),
        ({"known": {"x": 1, "tea": 2}}, "the known mark of 'tea' is of an item that has no votes; remove it"),
        ({"known": {"x": 1, "y": "good"}}, "the known mark of 'y' is 'good'; give a number"),
        ({"known": {"x": 1, "y": math.nan}}, "the known mark of 'y' is nan; give a number"),
        ({"known": {"x": 1, "y": -1.1e9}}, "the known mark of 'y' is -1100000000.0; give a number"),
        ({"scale": (0, 9), "boundaries": [3]}, "boundaries must be a Mapping, not list"),
        ({"scale": (0, 9), "boundaries": {"A": "x"}}, "the boundary of grade 'A' is 'x'; give the least mark"),
        ({"scale": (0, 9), "boundaries": {"A": 9.5}}, "the boundary of grade 'A', 9.5, is outside the scale 0 to 9"),
        ({"scale": (9, 0), "boundaries": {"A": -1}}, "the boundary of grade 'A', -1, is outside the scale 9 to 0"),
        ({"scale": (0, 9), "boundaries": {"A": 5, "B": 5}},
         "grade 'B' begins at 5 and 'A' at 5; name the best grade first, each with a lower"),
        ({"scale": (9, 0), "boundaries": {"A": 3, "B": 2}},
         "grade 'B' begins at 2 and 'A' at 3; name the best grade first, each with a higher"),
    ],
)  # fmt: skip
def test_what_cannot_be_marked_is_said_from_the_start(options, says):
    with pytest.raises(InputError) as problem:
        award_marks(ranking(), **options)
    assert str(problem.value).startswith(says)


def test_known_marks_must_rise_with_the_scores():
    with pytest.raises(InputError, match="the known marks do not rise with the scores: 'x' is ranked above 'y' by the"):
        award_marks(ranking(), known={"z": 5, "y": 9, "x": 1, "w": 5})
    with pytest.raises(InputError, match="do not rise"):
        award_marks(ranking(), known={"x": 5, "y": 5})
    with pytest.raises(InputError, match="have the same score, so no line goes through them; give others"):
        award_marks(Ranking("abc", [0.0, 1.2e-6, 3.0]), known={"a": 1, "b": 2})
    assert award_marks(Ranking("abc", [0.0, 1.6e-6, 3.0]), known={"a": 1, "b": 2}).slope == pytest.approx(1 / 1.6e-6)
    with pytest.raises(InputError, match="ranking must be a Ranking, not str"):
        award_marks("abc", (0, 1))


def test_boundaries_may_stand_at_the_ends_of_the_scale():
    found = award_marks(ranking(), (0, 8), boundaries={"A": 8, "B": 0})
    assert found.grades == ("A", "B", "B", "B")
    assert award_marks(ranking(), (0, 8), boundaries={}).grade_names == ()
    numbered = award_marks(ranking(), (0, 8), boundaries={1: 4})
    assert numbered.grade_names == ("1", "below 1")


def test_scores_that_differ_by_rounding_have_no_scale():
    with pytest.raises(InputError, match="all items have the same score, so no scale can be laid through them; gather"):
        award_marks(Ranking("ab", [1e-12, 0.0]), (0, 1))
    assert award_marks(Ranking("ab", [1.5e-12, 0.0]), (0, 1)).marks.tolist() == [1.0, 0.0]


def test_marks_do_not_depend_on_what_a_ranking_shows_its_intervals_against():
    plain, shown = (award_marks(each, (0, 8)) for each in (ranking(), ranking().shown(reference="x")))
    assert_allclose(shown.lower, plain.lower)
    assert_allclose(shown.upper, plain.upper)


def test_known_marks_may_rise_slowly():
    found = award_marks(ranking(), known={"x": 1.0, "y": 0.5})
    assert found.slope == pytest.approx(0.125)
    assert_allclose(found.marks, [1.0, 0.5, 0.75, 0.625])
