"""Grader.fit and evaluate: what `podium grade` does, for users of Python."""

import io

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score, confusion_matrix, mean_absolute_error
from sklearn.preprocessing import StandardScaler

from podium.errors import InputError
from podium.ordinal import PassiveAggressiveOrdinal
from podium.ordinal.grading.grader import Grader

from suites.ordinal import graded


@pytest.fixture
def files(tmp_path):
    """Two files of one table, with exact grades and ranges."""
    X, y, ranges = graded(n=400)
    frame = pl.DataFrame({f"x{j}": 10 * X[:, j] + 3 for j in range(4)}).with_columns(
        grade=pl.Series(y), low=pl.Series(ranges[:, 0]), high=pl.Series(ranges[:, 1])
    )
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    frame[:150].write_csv(paths[0])
    frame[150:].write_csv(paths[1])
    return paths


@pytest.fixture
def table(files):
    return pl.concat([pl.read_csv(path) for path in files])


def features(table):
    return table.select("x0", "x1", "x2", "x3").to_numpy()


@pytest.mark.parametrize("passes", [1, 3])
def test_fitting_files_is_fitting_the_standardised_whole(files, table, passes):
    grader = Grader.fit(files, label="grade", id=["low", "high"], passes=passes, C=0.5)
    scaled = StandardScaler().fit_transform(features(table))
    whole = PassiveAggressiveOrdinal(C=0.5, classes=grader.grades)
    errors = []
    for _ in range(passes):
        whole.partial_fit(scaled, table["grade"].to_numpy())
        errors.append(whole.mae_)
    assert_allclose(grader.classifier.coef_, whole.coef_, atol=1e-9)
    assert (grader.rows, grader.error) == (400, pytest.approx(errors[0]))
    assert grader.features == ["x0", "x1", "x2", "x3"]


def test_an_evaluation_is_scikit_learns(files, table):
    grader = Grader.fit(files, label="grade", id=["low", "high"], classes=[1, 2, 3, 4, 5])
    evaluation = grader.evaluate(files, label="grade", sample=170)
    truth, guess = table["grade"].to_numpy(), grader.predict(features(table))
    assert_array_equal(evaluation.counts, confusion_matrix(truth, guess, labels=[1, 2, 3, 4, 5]))
    assert evaluation.error == pytest.approx(mean_absolute_error(truth, guess))
    assert evaluation.accuracy == pytest.approx(accuracy_score(truth, guess))
    frame = evaluation.to_frame()
    assert frame["rows"].to_list() == [int((truth == grade).sum()) for grade in range(1, 6)]
    for grade, error in zip(frame["grade"], frame["error"], strict=True):
        assert error == pytest.approx(np.abs(guess - truth)[truth == grade].mean(), abs=1e-4)
    assert_allclose(evaluation.scores, grader.scores(features(table))[:170])
    assert_array_equal(evaluation.truth, truth[:170] - 1)


def test_a_prediction_inside_its_range_is_right(files, table):
    grader = Grader.fit(files, low="low", high="high", id="grade", classes=range(1, 6))
    evaluation = grader.evaluate(files, low="low", high="high")
    guess, low, high = grader.predict(features(table)), table["low"].to_numpy(), table["high"].to_numpy()
    off = np.maximum(low - guess, 0) + np.maximum(guess - high, 0)
    assert evaluation.error == pytest.approx(off.mean())
    assert evaluation.accuracy == pytest.approx((off == 0).mean())
    assert len(evaluation.scores) == 0


def test_pieces_of_grades_are_those_of_the_whole(files, table):
    grader = Grader.fit(files, label="grade", id=["low", "high"])
    frame = pl.concat(grader.grade(files, id="low", level=0.8))
    assert frame.columns == ["low", "grade", "score", "lower", "upper"]
    assert_array_equal(frame["grade"].to_numpy(), grader.predict(features(table)))
    assert_array_equal(frame["low"].to_numpy(), table["low"].to_numpy())


def test_progress_is_told_of_every_row(files):
    from contextlib import contextmanager

    told = {}

    @contextmanager
    def progress(what):
        told[what] = 0

        def advance(rows):
            told[what] += rows

        yield advance

    grader = Grader.fit(files, label="grade", id=["low", "high"], passes=2, progress=progress)
    grader.evaluate(files, label="grade", progress=progress)
    assert told == {"looking for grades": 400, "pass 1 of 2": 400, "pass 2 of 2": 400, "evaluating": 400}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "say where the grades are by label=, or by low= and high= for ranges"),
        ({"label": "grade", "low": "low"}, "label= is an exact grade, low= and high= are the ends of a range"),
        ({"high": "high"}, "high= is one end of a range; name the other by low="),
        ({"low": "low", "high": "low"}, "both name 'low'; for exact grades use label='low'"),
        ({"label": "mark"}, "no column 'mark'; found x0"),
        ({"label": "x0"}, "'x0' holds more than 100 different values; name the grades by classes="),
    ],
)
def test_columns_that_make_no_sense_are_refused_in_words(files, options, message):
    with pytest.raises(InputError, match=message):
        Grader.fit(files, **options)


@pytest.mark.parametrize("size", [1e150, -1e200, 1.7e308])
def test_a_feature_whose_square_is_no_number_is_named_with_its_row(size):
    table = "size,other,grade\n" + "".join(f"{k},1,{1 + k // 10}\n" for k in range(30))
    grader = Grader.fit(io.StringIO(table), label="grade", classes=[1, 2, 3])
    with pytest.raises(InputError, match=r"row 31: 'size' is .*, too large to learn from"):
        Grader.fit(io.StringIO(table + f"{size},1,3\n"), label="grade", classes=[1, 2, 3])
    with pytest.raises(InputError, match=r"row 1: 'size' is .*, too large to learn from"):
        grader.evaluate(io.StringIO(f"size,other,grade\n{size},1,3\n"), label="grade")
