"""Tables of grades piece by piece: columns and their refusals, features, surveys, and a grader that learns on."""

import datetime
import io
import math
from functools import partial

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from podium.errors import InputError
from podium.ordinal import PassiveAggressiveOrdinal
from podium.ordinal.conformal import Misses, grade_sets, miss, score_chances
from podium.ordinal.grading import grader as module
from podium.ordinal.grading.grader import Grader, _check_options, _writable
from podium.ordinal.grading.landmarks import LandmarkMap
from podium.ordinal.grading.survey import Reading, Survey, once_only, silently
from podium.ordinal.grading.tables import (
    FeatureColumns,
    GradeColumns,
    _header_hint,
    _label_column,
    column,
    grades_of_bins,
    pieces,
    upper_ends,
)

from suites.ordinal import graded

nan, inf = math.nan, math.inf
GRADES = [1, 2, 3, 4, 5]


# ---- which columns hold what ----------------------------------------------------------------------------------------


def test_columns_are_named_once_and_the_rest_are_features():
    where = GradeColumns.named("g", id=["name", "time", "name"], weight="w")
    assert (where.ends, where.ids, where.weight, where.bins) == (("g",), ("name", "time"), "w", ())
    assert where.others == {"g", "name", "time", "w"}
    assert GradeColumns.named(low="a", high="b", id="name", bins=(1.0,)).ends == ("a", "b")
    assert GradeColumns.named("g", id="name").ids == ("name",)
    assert GradeColumns.named("g").others == {"g"}
    frame = pl.DataFrame({"x": [1.0], "name": ["n"], "g": [1], "y": [2], "w": [1.0], "time": ["t"]})
    assert where.features(frame) == ["x", "y"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"label": "g", "weight": "g"}, "weight='g': name the column of the rows' weights, and no other"),
        ({"low": "a", "high": "b", "weight": "a"}, "weight='a': name the column"),
        ({"low": "a", "high": "b", "weight": "b"}, "weight='b': name the column"),
        ({"label": "g", "weight": 3}, "weight=3: name the column"),
        ({"label": "g", "id": 3}, "id=3: name a column, or several in a list"),
        ({"label": "g", "id": ["a", 3]}, r"id=\['a', 3\]: name a column, or several in a list"),
        ({"label": "g", "id": {"a"}}, "id=.*: name a column, or several in a list"),
        ({}, "say where the grades are by label=, or by low= and high= for ranges"),
        ({"label": "g", "high": "b"}, "label= is an exact grade, low= and high= are the ends of a range; give one"),
        ({"label": "g", "low": "b"}, "label= is an exact grade, low= and high= are the ends of a range; give one"),
        ({"low": "a"}, r"low= is one end of a range; name the other by high= \(an empty cell is an open end\)"),
        ({"high": "a"}, "high= is one end of a range; name the other by low="),
        ({"low": "a", "high": "a"}, "low= and high= both name 'a'; for exact grades use label='a'"),
    ],
)
def test_columns_that_make_no_sense_together_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        GradeColumns.named(**given)


def test_every_column_named_must_be_there():
    frame = pl.DataFrame({"x": [1.0], "g": [1]})
    for where, name in (
        (GradeColumns.named("mark"), "mark"),
        (GradeColumns.named("g", id="who"), "who"),
        (GradeColumns.named("g", weight="w"), "w"),
        (GradeColumns.named(low="g", high="top"), "top"),
    ):
        with pytest.raises(InputError, match=rf"^no column '{name}'; found x, g$"):
            where.features(frame)
    assert column(frame, "g").to_list() == [1]
    for names, hint in ((["x", "3"], False), (["x", "3.5"], True), (["-2"], True), (["x"], False), (["7"], False)):
        found = _header_hint(pl.DataFrame({name: [1] for name in names}))
        assert bool(found) is hint
    with pytest.raises(InputError, match=r"found 1.5, 2; if the file has no header, set no_header=True"):
        column(pl.DataFrame({"1.5": [1], "2": [2]}), "g")


def test_text_is_a_feature_only_where_asked_for():
    where = GradeColumns.named("g")
    frame = pl.DataFrame({"hue": ["a", "b"], "x": [1.0, 2.0], "kind": ["u", "v"], "g": [1, 2]})
    with pytest.raises(
        InputError, match="column 'hue' is not numeric; leave it out by id='hue', or set one_hot=True to"
    ):
        where.features(frame)
    assert where.features(frame, one_hot=True) == ["hue", "x", "kind"]
    assert where.features(frame.select("hue", "g"), one_hot=True) == ["hue"]
    cast = frame.with_columns(pl.col("hue").cast(pl.Categorical), pl.col("kind").cast(pl.Enum(["u", "v"])))
    assert where.features(cast, one_hot=True) == ["hue", "x", "kind"]
    with pytest.raises(InputError, match="column 'kind' is not numeric; leave it out by id='kind'"):
        where.features(cast.drop("hue"))
    odd = pl.DataFrame({"x": ["1", "2", "n/a", "4"], "g": [1, 2, 1, 2]})
    with pytest.raises(
        InputError, match=r"row 3: 'x' is 'n/a', .*; correct it, or empty the cell and set missing='mean'"
    ):
        where.features(odd, one_hot=True)
    with pytest.raises(InputError):
        where.features(frame.select("g"))  # nothing to learn from
    with pytest.raises(InputError):
        where.features(frame.select("g"), one_hot=True)
    with pytest.raises(InputError, match="has no header, set no_header=True"):
        where.features(frame.rename({"x": "0.5"}))


@pytest.mark.parametrize("row", [0, 40])
def test_weights_of_rows_are_numbers_from_zero(row):
    where = GradeColumns.named("g", weight="w")
    assert GradeColumns.named("g").weights(pl.DataFrame({"g": [1]}), 0) is None
    assert where.weights(pl.DataFrame({"w": [0, 2]}), row).tolist() == [0.0, 2.0]
    for bad, shown in ((None, "missing"), (-0.5, "-0.5"), (inf, "inf"), (nan, "missing")):
        frame = pl.DataFrame({"w": [1.0, bad, -3.0]})
        with pytest.raises(InputError, match=f"^row {row + 2}: the weight 'w' is {shown}; give a number from 0 up"):
            where.weights(frame, row)
    with pytest.raises(InputError, match="weight='w': the column is not numeric; a weight is a number from 0"):
        where.weights(pl.DataFrame({"w": ["1"]}), row)


def test_labels_are_read_as_what_the_grades_are():
    where = GradeColumns.named("g")
    text = pl.DataFrame({"g": ["1", None, "3"]})
    assert_array_equal(where.labels(text, [1, 2, 3])[0], [1.0, nan, 3.0])
    assert where.labels(text, ["1", "2", "3"])[0].tolist() == ["1", None, "3"]
    assert where.labels(pl.DataFrame({"g": ["1", "2-3"]}), [1, 2, 3])[0].tolist() == ["1", "2-3"]
    ends = GradeColumns.named(low="a", high="b")
    frame = pl.DataFrame({"a": ["1", ""], "b": [3, None]})
    assert [each.tolist()[0] for each in ends.labels(frame, [1, 2, 3])] == ["1", 3.0]
    low, high = ends.read(frame, np.array([1, 2, 3]), 0)
    assert (low.tolist(), high.tolist()) == ([0, 0], [2, 2])
    low, high = where.read(pl.DataFrame({"g": [3, 1]}), np.array([1, 2, 3]), 0)
    assert low.tolist() == high.tolist() == [2, 0]
    with pytest.raises(InputError, match=r"^row 12: 9 is not one of the grades 1, 2, 3"):
        where.read(pl.DataFrame({"g": [3, 9]}), np.array([1, 2, 3]), 10)


def test_grades_of_bins_are_where_numbers_lie():
    where = GradeColumns.named("g", bins=(7.0, 9.5))
    found = where.labels(pl.DataFrame({"g": [6.9, 7.0, 7.1, 9.5, 9.6, None]}), None)[0].tolist()
    assert found == ["up to 7", "up to 7", "up to 9.5", "up to 9.5", "over 9.5", None]
    assert where.labels(pl.DataFrame({"g": ["8", "10"]}), None)[0].tolist() == ["up to 9.5", "over 9.5"]
    assert where.grades_in(pl.DataFrame({"g": [1.0]})) == []
    for cells, message in (
        (["x"], "column 'g' is not numeric; bins= divide numbers"),
        ([inf], "holds an infinite number"),
    ):
        with pytest.raises(InputError, match=message):
            where.labels(pl.DataFrame({"g": cells}), None)
    assert grades_of_bins((0.1 + 0.2,)).tolist() == ["up to 0.3", "over 0.3"]
    assert upper_ends(None, [1, 2]) == ()
    assert upper_ends([1, 2.5], None) == (1.0, 2.5)
    with pytest.raises(InputError, match="bins= make grades, and classes= name them; give one of them"):
        upper_ends([1], [1, 2])
    for wrong, shown in (([], ""), ([1, 1], "1,1"), ([2, 1], "2,1"), ([1, inf], "1,inf"), ([nan], "nan")):
        with pytest.raises(InputError, match=rf"bins='{shown}': give increasing numbers, as 7,9,12"):
            upper_ends(wrong, None)


def test_grades_that_occur_are_found_in_each_column():
    where, ends = GradeColumns.named("g"), GradeColumns.named(low="a", high="b")
    assert [each.tolist() for each in where.grades_in(pl.DataFrame({"g": [3, None, 1, 3]}))] == [[1, 3]]
    assert where.grades_in(pl.DataFrame({"g": [3, None, 1, 3]}))[0].dtype.kind == "i"
    assert [each.tolist() for each in where.grades_in(pl.DataFrame({"g": ["10", "2-3", "9"]}))] == [[2, 3, 9, 10]]
    assert [each.tolist() for each in where.grades_in(pl.DataFrame({"g": ["b", "a"]}))] == [["a", "b"]]
    frame = pl.DataFrame({"a": [1, 2], "b": [None, None]}, schema={"a": pl.Int64, "b": pl.Int64})
    assert [each.tolist() for each in ends.grades_in(frame)] == [[1, 2]]
    both = ends.grades_in(pl.DataFrame({"a": ["1", "2-3"], "b": ["4", "5"]}))
    assert [each.tolist() for each in both] == [["1", "2-3"], [4, 5]]  # in two columns nothing is a range


def test_the_order_of_grades_is_the_declared_one_or_that_of_those_found():
    where = GradeColumns.named("g")
    assert where.order(np.array([1, 2]), None).tolist() == [1, 2]
    assert where.order(np.array(["a", "b"]), np.array(["b", "a"])).tolist() == ["b", "a"]
    with pytest.raises(InputError, match=r"^no row has a grade in 'g'$"):
        where.order(None, None)
    with pytest.raises(InputError, match="no row has a grade in 'a' or 'b'"):
        GradeColumns.named(low="a", high="b").order(None, None)
    with pytest.raises(InputError, match="all rows have the same grade, 7; there is nothing to learn"):
        where.order(np.array([7]), None)
    assert len(where.order(np.arange(100), None)) == 100
    with pytest.raises(
        InputError, match="'g' holds more than 100 different values; name the grades by classes=, or divide"
    ):
        where.order(np.arange(101), None)


def test_a_column_of_grades_holds_numbers_words_or_yes_and_no():
    frame = pl.DataFrame(
        {
            "whole": [1], "word": ["a"], "yes": [True], "none": [None], "half": [0.5],
            "kind": pl.Series(["a"], dtype=pl.Categorical), "listed": pl.Series(["a"], dtype=pl.Enum(["a"])),
            "money": pl.Series([1.5]).cast(pl.Decimal(10, 2)), "long": pl.Series([2]).cast(pl.Int128),
            "day": [datetime.date(2020, 1, 1)], "list": [[1, 2]],
        }
    )  # fmt: skip
    kinds = {
        "whole": pl.Int64, "word": pl.String, "yes": pl.Boolean, "none": pl.Null, "half": pl.Float64, "kind": pl.String,
        "listed": pl.String, "money": pl.Float64, "long": pl.Float64,
    }  # fmt: skip
    for name, kind in kinds.items():
        assert _label_column(frame, name).dtype == kind, name
    for name in ("day", "list"):
        with pytest.raises(InputError, match=f"column '{name}' holds .*, but grades are numbers or words"):
            _label_column(frame, name)


# ---- features -------------------------------------------------------------------------------------------------------


def test_values_of_text_are_features_of_their_own():
    frames = [
        pl.DataFrame({"x": [1.0, 2.0], "hue": ["red", ""], "kind": ["u", "v"]}),
        pl.DataFrame({"x": [3.0], "hue": ["blue"], "kind": [None]}, schema_overrides={"kind": pl.String}),
    ]
    found = FeatureColumns.of(frames, ["x", "hue", "kind"])
    assert found.columns == ("x", "hue", "kind")
    assert found.levels == {"hue": ("blue", "red"), "kind": ("u", "v")}
    assert found.names == ["x", "hue=blue", "hue=red", "kind=u", "kind=v"]
    assert [found.column_of(k) for k in range(5)] == ["x", "hue", "hue", "kind", "kind"]
    assert_array_equal(found.values(frames[0]), [[1, 0, 1, 1, 0], [2, nan, nan, 0, 1]])
    assert_array_equal(found.values(frames[1]), [[3, 1, 0, nan, nan]])
    assert found.values(frames[0]).flags.c_contiguous
    for row in (0, 30):
        with pytest.raises(
            InputError, match=rf"^row {row + 2}: 'hue' is 'green'; the model knows 'blue', 'red': leave"
        ):
            found.values(pl.DataFrame({"x": [1.0] * 2, "hue": ["red", "green"], "kind": ["u", "u"]}), row)
    with pytest.raises(InputError, match="column 'x' is not numeric here, but the model was fitted on numbers"):
        found.values(pl.DataFrame({"x": ["a"], "hue": ["red"], "kind": ["u"]}))
    holes = pl.DataFrame({"x": [None], "hue": ["red"], "kind": ["u"]}, schema_overrides={"x": pl.String})
    assert_array_equal(found.values(holes), [[nan, 0, 1, 1, 0]])
    with pytest.raises(InputError, match="no column 'kind'"):
        found.values(pl.DataFrame({"x": [1.0], "hue": ["red"]}))


def test_too_many_texts_or_none_are_no_feature():
    hundred = pl.DataFrame({"t": [f"n{k}" for k in range(100)]})
    assert len(FeatureColumns.of([hundred, hundred], ["t"]).names) == 100
    with pytest.raises(
        InputError, match="column 't' holds more than 100 different texts, too many for a feature; leave it"
    ):
        FeatureColumns.of([hundred, pl.DataFrame({"t": ["other"]})], ["t"])
    with pytest.raises(InputError, match="column 't' is empty; leave it out by id='t'"):
        FeatureColumns.of([pl.DataFrame({"t": ["", None]})], ["t"])
    known = FeatureColumns(("t",), {"t": tuple("abcdefghi")})
    with pytest.raises(
        InputError, match="the model knows 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h' …: leave such rows out"
    ):
        known.values(pl.DataFrame({"t": ["z"]}))
    with pytest.raises(InputError, match="the model knows 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h': leave such rows out"):
        FeatureColumns(("t",), {"t": tuple("abcdefgh")}).values(pl.DataFrame({"t": ["z"]}))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a"], "the table lacks the column 'b', of which the model has learned; add what is missing"),
        ([], "the table lacks the columns 'a', 'b', of which"),
        (["a", "b", "c"], "the table has the column 'c', which the model does not know; leave it out by id='c'"),
        ([*"abcdefg"], "the table has the columns 'c', 'd', 'e', 'f' and 1 more, which the model does not know"),
        ([*"abcdef"], "the table has the columns 'c', 'd', 'e', 'f', which the model does not know"),
    ],
)
def test_a_table_to_learn_on_from_has_the_same_features(names, message):
    known, where = FeatureColumns(("a", "b")), GradeColumns.named("g")
    assert known.refuse_others(["b", "a"], where) is None
    with pytest.raises(InputError, match=message):
        known.refuse_others(names, where)


def test_pieces_are_numbered_by_the_rows_before(tmp_path):
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    paths[0].write_text("x\n1\n2\n")
    paths[1].write_text("x\n3\n")
    for tables in (paths, tuple(paths)):
        found = list(pieces(tables))
        assert sum(len(frame) for _, frame in found) == 3
        assert [row for row, _ in found] == [0, 2]
    assert next(pieces(paths[0], no_header=True))[1].columns == ["1"]
    assert once_only(io.StringIO("x"))
    assert once_only("-")
    assert once_only(["a.csv", "-"])
    assert not once_only("a.csv")
    assert not once_only(paths)


# ---- what is known before learning ----------------------------------------------------------------------------------


def reading(path, **options):
    given = {"one_hot": False, "missing": "error", "no_header": False, "rbf": None, "rng": np.random.default_rng(0)}
    where = options.pop("where", GradeColumns.named("g"))
    return Reading(path, where, **given | options)


@pytest.fixture
def hues(tmp_path):
    path = tmp_path / "hues.csv"
    lines = ["red,1,1,1", "blue,2,2,1", ",3,1,0", "red,,2,1", "blue,5,3,2", "red,1e200,3,1"]
    path.write_text("hue,x,g,w\n" + "\n".join(lines) + "\n")
    return path


def test_a_survey_finds_grades_features_scale_and_landmarks(hues):
    where = GradeColumns.named("g", weight="w")
    found = reading(hues, where=where, one_hot=True, rbf=2).survey(silently, None)
    assert found.grades.tolist() == [1, 2, 3]
    assert found.declared is None
    assert found.table.names == ["hue=blue", "hue=red", "x"]
    sound = np.array([[0, 1, 1], [1, 0, 2], [1, 0, 5.0]])  # no hole, nothing too large, some weight
    assert found.scale.count == 3
    assert_allclose(found.scale.mean, sound.mean(axis=0))
    assert len(found.sample) == 2
    assert all(row in sound.tolist() for row in found.sample.tolist())
    known = reading(hues, where=where, one_hot=True).survey(silently, np.array([1, 2, 3]))
    assert (known.grades, known.declared, known.sample) == (None, None, None)
    holes = reading(hues, where=where, one_hot=True, missing="mean").survey(silently, None)
    assert holes.scale.count == 4
    assert_allclose(holes.scale.mean, [2 / 4, 2 / 4, 8 / 3])
    told = []

    class Progress:
        def __init__(self, what):
            told.append([what, 0])

        def __enter__(self):
            return lambda rows: told[-1].__setitem__(1, told[-1][1] + rows)

        def __exit__(self, *problem):
            pass

    reading(hues, where=where, one_hot=True).survey(Progress, None)
    reading(hues, where=where, one_hot=True).survey(Progress, np.array([1]))
    assert told == [
        ["looking for the values of text columns", 6], ["looking for grades", 6],
        ["looking for the values of text columns", 6], ["looking at the features", 6],
    ]  # fmt: skip


def test_what_no_survey_has_seen_is_taken_from_the_first_piece(hues):
    where = GradeColumns.named("g", weight="w")
    frame = pl.read_csv(hues)
    table, scale = reading(hues, where=where, one_hot=True).begin(Survey(), frame)
    assert table.names == ["hue=blue", "hue=red", "x"]
    assert scale.count == 0
    survey = Survey()
    _, scale = reading(hues, where=where, one_hot=True, rbf=3).begin(survey, frame)
    assert scale.count == 3
    assert survey.scale is scale
    assert len(survey.sample) == 3
    numbers = frame.drop("hue")
    table, scale = reading(hues, where=where).begin(Survey(), numbers)
    assert (table.columns, table.levels) == (("x",), {})
    seen = reading(hues, where=where, one_hot=True).survey(silently, None)
    assert reading(hues, where=where, one_hot=True).begin(seen, frame) == (seen.table, seen.scale)
    with pytest.raises(InputError, match="rbf=3: there are too few rows to learn from; give more"):
        reading(hues, where=where, one_hot=True, rbf=3).begin(Survey(), frame[:1])
    with pytest.raises(InputError, match="the table has no rows, so there is nothing to learn from"):
        reading(io.StringIO("x,g\n"), one_hot=True).survey(silently, None)


# ---- a grader -------------------------------------------------------------------------------------------------------


def learned(n=120, C=0.5, d=3, **more):
    X, y, _ = graded(n=n, d=d, noise=0.8)
    grader = Grader.empty(list("abcdef")[:d], PassiveAggressiveOrdinal(C=C, classes=GRADES, **more))
    grader.learn(X, y)
    return grader, X, y


def test_a_piece_is_learned_fifty_rows_or_a_twentieth_at_a_time():
    X, y, _ = graded(n=2300, d=2, noise=0.8)
    grader = Grader.empty(["a", "b"], PassiveAggressiveOrdinal(C=0.5, classes=GRADES))
    grader.learn(X, y)
    points = [seen for seen, _ in grader.curve]
    expected, seen = [50], 50
    while seen < 2300:
        seen = min(2300, seen + max(50, seen // 20))
        expected.append(seen)
    assert points == expected
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    model = PassiveAggressiveOrdinal(C=0.5, classes=GRADES).partial_fit(Z[:50], y[:50])
    assert grader.curve[0] == (50, pytest.approx(model.mae_))
    off = model.mae_ * 50 + np.abs(model.predict(Z[50:100]) - y[50:100]).sum()
    assert grader.curve[1] == (100, pytest.approx(off / 100))
    model.partial_fit(Z[50:], y[50:])
    assert_allclose(grader.classifier.coef_, model.coef_, atol=1e-9)
    assert grader.error == grader.curve[-1][1]
    assert math.isnan(Grader.empty(["a"], PassiveAggressiveOrdinal(classes=GRADES)).error)


def test_the_last_rows_are_kept_as_they_were_scored(monkeypatch):
    monkeypatch.setattr(module, "MIN_RECENT", 20)
    monkeypatch.setattr(module, "MAX_RECENT", 60)
    grader, X, y = learned(50)
    assert grader.recent.shape == (4, 0)  # the first fifty are scored one by one
    scaled = grader.scale.apply(X)
    for first, last, most in ((0, 5, 27), (5, 15, 32), (15, 50, 50), (0, 50, 60), (0, 50, 60)):
        grader.settled = True
        along, codes = grader._placed(scaled[first:last])
        length = np.linalg.norm(grader.classifier.coef_)
        assert_allclose(along, grader.classifier.project(scaled[first:last]) / length)
        assert_array_equal(codes + 1, grader.predict(X[first:last]))
        before = grader.recent
        grader.learn(X[first:last], y[first:last])
        new = np.stack([along, codes, y[first:last] - 1, y[first:last] - 1])
        assert_allclose(grader.recent, np.hstack([before, new])[:, -most:])
    known = grader.recent
    grader.learn(X, y, fresh=False)
    assert grader.recent is known


@pytest.mark.parametrize(("rows", "kept"), [(250, 200), (350, 200), (500, 250), (8000, 4000), (8400, 4000)])
def test_the_newer_half_of_the_rows_is_kept_from_two_hundred_to_four_thousand(rows, kept):
    X = np.random.default_rng(0).normal(size=(rows, 1))
    grader = Grader.empty(["a"], PassiveAggressiveOrdinal(C=0.1, classes=[1, 2]))
    grader.learn(X, 1 + (X[:, 0] > 0))
    assert grader.recent.shape == (4, kept)
    assert_array_equal(grader.recent[2] == 1, X[-kept:, 0] > 0)


def test_sets_are_those_of_the_recent_rows():
    grader, X, _ = learned(400)
    recent = grader.recent
    scores, codes = recent[0], recent[1:].astype(int)
    chances = score_chances(scores[::2], codes[1, ::2], codes[2, ::2], 5)
    misses = Misses.of(chances.predict_proba(scores[1::2, None]), *codes[:, 1::2])
    assert grader.right == misses.right == np.mean(codes[0, 1::2] == codes[1, 1::2])
    along, first = grader._placed(grader.scale.apply(X[:30]))
    for level in (0.6, 0.9):
        expected = grade_sets(chances.predict_proba(along[:, None]), first, misses.bound(level))
        assert_array_equal(grader.interval(X[:30], level=level), 1 + expected)
    assert_array_equal(grader.interval(X[:30]), grader.interval(X[:30], level=0.9))
    half = recent.shape[1] // 2
    older = recent[:, :half]
    before = score_chances(older[0, ::2], older[2, ::2].astype(int), older[3, ::2].astype(int), 5)
    bound = Misses.of(before.predict_proba(older[0, 1::2, None]), *older[1:, 1::2].astype(int)).bound(0.7)
    newer = recent[:, half:]
    off = miss(before.predict_proba(newer[0][:, None]), *newer[1:].astype(int))
    assert grader.held(0.7) == (np.mean(off <= bound), newer.shape[1])
    assert grader.held() == grader.held(0.9)
    hit = (newer[1] >= newer[2]) & (newer[1] <= newer[3])  # of a level that the grade alone holds, the set is the grade
    assert grader.held(0.2) == (hit.mean(), newer.shape[1])
    sets = grader._sets
    assert grader._sets is sets  # looked for once, until rows are learned
    grader.learn(X[:60], np.ones(60, dtype=int))
    assert grader._sets is not sets


def test_weights_of_zero_are_skipped_by_scale_and_learner():
    X, y, _ = graded(n=120, d=2)
    weight = np.random.default_rng(0).choice([0.0, 0.5, 2.0], 120)
    some, less = (Grader.empty(["a", "b"], PassiveAggressiveOrdinal(C=0.5, classes=GRADES)) for _ in range(2))
    some.learn(np.where(weight[:, None] > 0, X, 1e9), y, weight=weight)
    there = weight > 0
    less.learn(X[there], y[there], weight=weight[there])
    assert_allclose(some.scale.mean, less.scale.mean)
    assert_allclose(some.classifier.coef_, less.classifier.coef_)
    assert some.curve == less.curve
    plain = Grader.empty(["a", "b"], PassiveAggressiveOrdinal(C=0.5, classes=GRADES))
    plain.learn(X[there], y[there])
    assert np.abs(plain.classifier.coef_ - less.classifier.coef_).max() > 1e-6


@pytest.mark.parametrize("row", [0, 70])
def test_a_bad_row_is_named_by_its_number_and_column(row):
    for missing in ("error", "mean"):
        grader, X, y = learned(60)
        grader.missing = missing
        for value, shown in (
            (1e150, r"is 1e\+150, too large to learn from"),
            (-inf, "is infinite"),
            (1e200, r"is 1e\+200,"),
        ):
            bad = X[:3].copy()
            bad[1, 2] = value
            for ask in (grader.predict, grader.scores, partial(grader.learn, lower=y[:3])):
                with pytest.raises(
                    InputError, match=rf"^row {row + 2}: 'c' {shown}.*; fill in a value or drop the row$"
                ):
                    ask(bad, row=row)
    bad[1, 2] = nan
    assert grader.predict(bad).shape == (3,)
    at_mean = bad.copy()
    at_mean[1, 2] = grader.scale.mean[2]
    assert_allclose(grader.scores(bad), grader.scores(at_mean))
    grader.missing = "error"
    way = "fill in a value or drop the row, or fit the model with missing='mean'"
    said = rf"^row {row + 2}: 'c' is missing or not a number; {way}$"
    with pytest.raises(InputError, match=said):
        grader.predict(bad, row=row)
    with pytest.raises(InputError, match="X: shape"):
        grader.predict(X[:, :2])
    with pytest.raises(InputError, match=f"^row {row + 1}: 9 is not one of the grades"):
        grader.learn(X[:1], [9], row=row)


def test_rows_are_counted_from_one_where_nothing_is_said():
    grader, X, y = learned(120)
    bad = X[:3].copy()
    bad[1, 2] = inf
    for ask in (grader.predict, grader.scores, grader.interval, partial(grader.learn, lower=y[:3])):
        with pytest.raises(InputError, match=r"^row 2: 'c' is infinite"):
            ask(bad)
    with pytest.raises(InputError, match=r"^row 3: 9 is not one of the grades"):
        grader.learn(X[:3], [1, 2, 9])
    known = FeatureColumns(("t",), {"t": ("a",)})
    with pytest.raises(InputError, match=r"^row 2: 't' is 'z'"):
        known.values(pl.DataFrame({"t": ["a", "z"]}))


def test_new_grades_at_the_ends_move_the_codes_of_recent_rows():
    grader, _, _ = learned(120)
    before = grader.recent.copy()
    assert grader.add_grades(below=[-1, 0], above=[6]) is grader
    assert grader.grades.tolist() == [-1, 0, 1, 2, 3, 4, 5, 6]
    assert grader.classifier.classes.tolist() == grader.grades.tolist()
    assert_allclose(grader.recent[0], before[0])
    assert_allclose(grader.recent[1:], before[1:] + 2)
    grader._add_beyond([np.array([3, 7]), np.array([-2])])
    assert grader.grades.tolist() == [-2, -1, 0, 1, 2, 3, 4, 5, 6, 7]
    known = grader.recent
    grader._add_beyond([np.array([3])])
    assert grader.recent is known
    grader._add_listed(list(range(-2, 8)))
    assert grader.recent is known
    grader._add_listed(list(range(-3, 10)))
    assert grader.grades.tolist() == list(range(-3, 10))
    for wrong in ([1, 2], list(range(-3, 9)), [-3, -1], list(range(9, -4, -1))):
        with pytest.raises(
            InputError, match=r"classes=.*: the model knows -3, -2, .*, 9; list these, in this order, with"
        ):
            grader._add_listed(wrong)


@pytest.mark.parametrize(
    ("grades", "gaps"),
    [
        ([1, 2, 5], [3, 4]), ([1, 2, 3], []), ([1.0, 4.0], [2, 3]), ([1.5, 4], []), (["a", "b"], []), ([3, 0], [1, 2]),
        ([0, 10_000], list(range(1, 10_000))), ([0, 10_001], []),
    ],
)  # fmt: skip
def test_whole_numbers_between_grades_that_are_no_grades(grades, gaps):
    grader = Grader.empty(["a"], PassiveAggressiveOrdinal(C=0.5, classes=grades))
    grader.learn(np.zeros((1, 1)), grades[:1])
    assert grader.gaps == gaps


def table_of(path, n=90, seed=0, **columns):
    X, y, ranges = graded(n=n, d=2, seed=seed)
    pl.DataFrame({"a": X[:, 0], "b": 5 + X[:, 1], "g": y, **columns}).write_csv(path)
    return X + np.array([0.0, 5.0]), y, ranges


def test_learning_on_counts_its_own_rows_and_errors(tmp_path):
    X, y, _ = table_of(tmp_path / "old.csv")
    more, z, _ = table_of(tmp_path / "more.csv", n=70, seed=1)
    grader = Grader.fit(tmp_path / "old.csv", label="g", C=0.5)
    assert (grader.rows, grader.settled, grader.last_error) == (90, True, None)
    by_hand = Grader.empty(["a", "b"], PassiveAggressiveOrdinal(C=0.5, classes=GRADES))
    by_hand.scale.add(X)
    by_hand.settled = True
    by_hand.learn(X, y)
    assert_allclose(by_hand.curve, grader.curve)
    told = []

    class Progress:
        def __init__(self, what):
            told.append(what)

        def __enter__(self):
            return lambda rows: told.append(rows)

        def __exit__(self, *problem):
            pass

    assert grader.partial_fit(tmp_path / "more.csv", label="g", passes=2, progress=Progress) is grader
    by_hand.settled = False
    before = 90 * by_hand.curve[-1][1]
    by_hand.learn(more, z)
    error = (by_hand.curve[-1][0] * by_hand.curve[-1][1] - before) / 70
    by_hand.settled = True
    by_hand.learn(more, z, fresh=False)
    assert told == ["pass 1 of 2", 70, "pass 2 of 2", 70]
    assert (grader.rows, grader.settled) == (70, True)
    assert grader.error == grader.last_error == pytest.approx(error)
    assert grader.classifier.n_seen_ == 90 + 140
    assert_allclose(grader.classifier.coef_, by_hand.classifier.coef_, atol=1e-9)
    assert_allclose(grader.recent, by_hand.recent, atol=1e-9)
    with pytest.raises(InputError, match="passes=0"):
        grader.partial_fit(tmp_path / "more.csv", label="g", passes=0)
    (tmp_path / "none.csv").write_text("a,b,g\n")
    with pytest.raises(InputError, match="the table has no rows, so there is nothing to learn from"):
        grader.partial_fit(tmp_path / "none.csv", label="g")
    with pytest.raises(InputError, match="no_header="):
        grader.partial_fit(tmp_path / "more.csv", label="g", no_header="x")


def test_learning_on_takes_weights_and_new_grades_where_it_can(tmp_path):
    table_of(tmp_path / "old.csv")
    grader = Grader.fit(tmp_path / "old.csv", label="g", C=0.5)
    (tmp_path / "new.csv").write_text("a,b,g,w\n1,5,7,1\n2,6,3,0\n")
    grader.partial_fit(tmp_path / "new.csv", label="g", weight="w")
    assert grader.grades.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert (grader.rows, grader.classifier.n_seen_) == (1, 91)
    grader.partial_fit(tmp_path / "new.csv", label="g", id="w", classes=range(9))
    assert grader.grades.tolist() == list(range(9))
    exact = Grader.fit(tmp_path / "old.csv", label="g", variant="pa")
    with pytest.raises(InputError, match="weight=: the model was fitted by variant pa, whose updates have no weights"):
        exact.partial_fit(tmp_path / "new.csv", label="g", weight="w")
    with pytest.raises(InputError, match="the table has the column 'w', which the model does not know"):
        grader.partial_fit(tmp_path / "new.csv", label="g")


def test_landmarks_hold_still_while_it_learns_on(tmp_path):
    table_of(tmp_path / "old.csv")
    grader = Grader.fit(tmp_path / "old.csv", label="g", rbf=10, C=0.5)
    mean, marks = grader.scale.mean.copy(), grader.landmarks.rows.copy()
    assert len(marks) == 10
    table_of(tmp_path / "more.csv", seed=1)
    grader.partial_fit(tmp_path / "more.csv", label="g")
    assert_array_equal(grader.scale.mean, mean)
    assert_array_equal(grader.landmarks.rows, marks)
    X = pl.read_csv(tmp_path / "more.csv").select("a", "b").to_numpy()
    scaled = (X - mean) / grader.scale.deviation
    assert_allclose(grader._mapped(X), grader.landmarks.apply(scaled))
    same = Grader.fit(tmp_path / "old.csv", label="g", rbf=10, C=0.5, seed=0)
    other = Grader.fit(tmp_path / "old.csv", label="g", rbf=10, C=0.5, seed=1)
    assert_array_equal(same.landmarks.rows, marks)
    assert np.abs(other.landmarks.rows - marks).max() > 1e-3
    for wrong, message in ((1, "rbf=1"), (5001, "rbf=5001: at most 5,000 rows can stand for all")):
        with pytest.raises(InputError, match=message):
            Grader.fit(tmp_path / "old.csv", label="g", rbf=wrong)
    _check_options("error", False, False, 5000, None, "pa1")
    _check_options("mean", True, True, 2, "w", "pa1")


def test_directions_that_are_rounding_are_left_out_of_landmarks():
    """Two rows close together: their kernel has the eigenvalues 1 ± k, of which the smaller may be next to nothing."""
    for apart, kept in ((1e-4, 2), (1e-6, 1)):  # 1 - k is about apart² / 1, next to 2
        found = LandmarkMap.of(np.array([[0.0], [apart]]))
        assert found.roots.shape == (2, kept)
        mapped = found.apply(np.array([[0.0], [0.5]]))
        assert mapped[0] @ mapped[0] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"missing": "zero"}, "missing='zero'"),
        ({"one_hot": "x"}, "one_hot='x'"),
        ({"no_header": 2}, "no_header=2"),
        ({"weight": "g2", "variant": "pa"}, "weight= does not go with variant='pa': its updates fit each row exactly"),
        ({"passes": 0}, "passes=0"),
        ({"seed": -1}, "seed=-1"),
        ({"variant": "pa9"}, "variant='pa9'"),
        ({"C": -2}, "C=-2"),
        ({"bins": [1], "classes": [1, 2]}, "give one of them"),
    ],
)
def test_options_of_a_fit_are_checked_before_anything_is_read(options, message, tmp_path):
    for table in (io.StringIO("a,g\n1,1\n"), tmp_path / "not there.csv"):
        with pytest.raises(InputError, match=message):
            Grader.fit(table, label="g", **{"classes": [1, 2]} | options)


def test_tables_that_teach_nothing_are_refused(tmp_path):
    path = tmp_path / "t.csv"
    for text, options, message in (
        ("a,g\n", {"label": "g", "classes": [1, 2]}, "the table has no rows, so there is nothing to learn from"),
        ("a,lo,hi\n1,,\n2,,\n", {"low": "lo", "high": "hi", "classes": [1, 2]}, "every range is open at both ends"),
        ("a,g,w\n1,1,0\n2,2,0\n", {"label": "g", "weight": "w", "classes": [1, 2]}, "no rows|non-zero"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            Grader.fit(path, **options)


def test_an_evaluation_keeps_the_first_rows_for_pictures_and_counts_all(tmp_path):
    path = tmp_path / "t.csv"
    X, y, _ = table_of(path)
    grader = Grader.fit(path, label="g", C=0.5)
    told = []

    class Progress:
        def __init__(self, what):
            told.append(what)

        def __enter__(self):
            return lambda rows: told.append(rows)

        def __exit__(self, *problem):
            pass

    table_of(tmp_path / "u.csv", n=30, seed=2)
    both = grader.evaluate([path, tmp_path / "u.csv"], label="g", sample=100, progress=Progress)
    assert told == ["evaluating", 90, 30]
    assert (both.rows, len(both.scores), len(both.truth)) == (120, 100, 100)
    assert_allclose(both.scores[:90], grader.scores(X))
    assert_array_equal(both.truth[:90], y - 1)
    none = grader.evaluate(path, label="g")
    assert (none.rows, len(none.scores)) == (90, 0)
    with pytest.raises(InputError, match="sample=-1"):
        grader.evaluate(path, label="g", sample=-1)
    (tmp_path / "none.csv").write_text("a,b,g\n")
    with pytest.raises(InputError, match="the table has no rows, so there is nothing to evaluate"):
        grader.evaluate(tmp_path / "none.csv", label="g")
    (tmp_path / "bad.csv").write_text("a,b,g\n1,2,1\n1,2,8\n")
    with pytest.raises(InputError, match="row 2: 8 is not one of the grades"):
        grader.evaluate(tmp_path / "bad.csv", label="g")


def test_graded_tables_have_their_labels_grades_scores_and_sets(tmp_path):
    path = tmp_path / "t.csv"
    X, _, _ = table_of(path, n=400, who=[f"n{k}" for k in range(400)])
    grader = Grader.fit(path, label="g", id="who", C=0.5)
    frame = pl.concat(grader.grade(path, id=["who", "g"]))
    assert frame.columns == ["who", "g", "grade", "score"]
    assert frame["who"].to_list() == [f"n{k}" for k in range(400)]
    assert_array_equal(frame["grade"].to_numpy(), grader.predict(X))
    assert_allclose(frame["score"].to_numpy(), grader.scores(X).round(6))
    sets = pl.concat(grader.grade(path, id="who", level=0.8))
    assert sets.columns == ["who", "grade", "score", "lower", "upper"]
    assert_array_equal(sets.select("lower", "upper").to_numpy(), grader.interval(X, level=0.8))
    for name, level in (("grade", None), ("score", None), ("lower", 0.9), ("upper", 0.9)):
        with pytest.raises(
            InputError, match=f"id='{name}': the output has a column '{name}' of its own; rename the one"
        ):
            list(grader.grade(path, id=name, level=level))
    with pytest.raises(InputError, match="no column 'lower'"):
        list(grader.grade(path, id="lower"))
    span = pl.Series("t", [datetime.timedelta(hours=1)])
    assert _writable(span).dtype == pl.String
    assert _writable(pl.Series("t", [1])).dtype == pl.Int64
    for cells in (pl.Series("t", [[1]]), pl.Series("t", [b"x"]), pl.Series("t", [{"a": 1}])):
        with pytest.raises(InputError, match=r"id='t': the column holds .*, which a table cannot show; choose another"):
            _writable(cells)


def test_a_grader_of_an_older_release_is_read():
    state = Grader.upgraded({"features": ["a"]}, 1)
    assert (state["recent"].shape, state["features"]) == ((4, 0), ["a"])
    kept = np.ones((4, 2))
    assert Grader.upgraded({"recent": kept}, 2)["recent"] is kept
    grader, _, _ = learned(60)
    assert grader.table is None
    assert grader._table.columns == ("a", "b", "c")
    with pytest.raises(InputError, match="features is 'abc'; give the names of columns"):
        Grader.empty("abc", PassiveAggressiveOrdinal(classes=GRADES))
