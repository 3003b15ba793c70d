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


def errors_while_learning(scaled, grades):
    """Mean error of what a model says of each fifty rows before it learns them; of the first fifty, one by one."""
    model, off = PassiveAggressiveOrdinal(C=0.5, classes=[1, 2, 3, 4, 5]), []
    for start in range(0, len(grades), 50):
        x, y = scaled[start : start + 50], grades[start : start + 50]
        if start:
            off.extend(abs(model.predict(x) - y))
        model.partial_fit(x, y)
        if not start:
            off.append(50 * model.mae_)
    return sum(off) / len(grades)


def test_the_error_while_learning_is_that_of_rows_kept_out():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12_000, 6))
    y = 1 + np.digitize(X @ rng.normal(size=6) + 2 * rng.normal(size=12_000), [-3, -1, 1, 3])
    grader = Grader.empty(list("abcdef"), PassiveAggressiveOrdinal(classes=[1, 2, 3, 4, 5]))
    grader.learn(X[:6000], y[:6000])
    kept_out = np.mean(abs(grader.predict(X[6000:]) - y[6000:]))
    assert grader.curve[-1][1] == pytest.approx(kept_out, rel=0.07)
    assert grader.classifier.mae_ > 1.15 * kept_out  # that of the last update, not of the mean


@pytest.mark.parametrize("passes", [1, 3])
def test_fitting_files_is_fitting_the_standardised_whole(files, table, passes):
    grader = Grader.fit(files, label="grade", id=["low", "high"], passes=passes, C=0.5)
    scaled = StandardScaler().fit_transform(features(table))
    whole = PassiveAggressiveOrdinal(C=0.5, classes=grader.grades)
    for _ in range(passes):
        whole.partial_fit(scaled, table["grade"].to_numpy())
    assert_allclose(grader.classifier.coef_, whole.coef_, atol=1e-9)
    assert (grader.rows, grader.error) == (400, pytest.approx(errors_while_learning(scaled, table["grade"].to_numpy())))
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
        ({"label": "grade", "id": "name"}, "no column 'name'; found x0"),
        ({"label": "grade", "weight": "size"}, "no column 'size'; found x0"),
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


def test_grades_as_far_apart_as_whole_numbers_go_have_no_gaps_to_list(tmp_path):
    table = tmp_path / "far.csv"
    table.write_text(f"x,grade\n0,{-(2**62)}\n1,{-(2**62)}\n2,{2**62}\n3,{2**62}\n")
    assert Grader.fit(table, label="grade").gaps == []


def test_one_grade_for_classes_is_refused_with_those_that_are_known(tmp_path):
    table = tmp_path / "two.csv"
    table.write_text("x,grade\n0,1\n1,1\n2,2\n3,2\n")
    grader = Grader.fit(table, label="grade")
    with pytest.raises(InputError, match="the model knows 1, 2; list these"):
        grader.partial_fit(table, label="grade", classes=np.array(7.0))


def test_a_frame_is_no_file():
    with pytest.raises(InputError, match="give a path, a list of paths, or an open file"):
        Grader.fit(pl.DataFrame({"x": [0.0, 1.0], "grade": [1, 2]}), label="grade")
