"""podium grade: what it writes, what it refuses, and that pieces of a table are as good as the whole."""

import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

from podium.cli import main
from podium.cli.messages import worded
from podium.errors import InputError
from podium.models import load
from podium.ordinal.grading.grader import Grader
from podium.ordinal.grading.running import RunningScale
from podium.ordinal.passive_aggressive import PassiveAggressiveOrdinal

from suites.ordinal import graded


@pytest.fixture
def table(tmp_path):
    X, y, ranges = graded(n=400)
    frame = pl.DataFrame({f"x{j}": 10 * X[:, j] + 3 for j in range(4)}).with_columns(
        name=pl.Series([f"dish {k}" for k in range(400)]),
        number=pl.Series(range(400)),
        grade=pl.Series(y),
        low=pl.Series([None if lo == 1 else lo for lo in ranges[:, 0].tolist()]),
        high=pl.Series(ranges[:, 1]),
    )
    frame.write_csv(tmp_path / "t.csv")
    return tmp_path / "t.csv"


def podium(*arguments, **more):
    return CliRunner().invoke(main, ["grade", *map(str, arguments)], **more)


IDS = ["--id", "name", "--id", "number", "--id", "low", "--id", "high"]


def test_fit_predict_and_evaluate_agree_with_one_another(table, tmp_path):
    model = tmp_path / "m.podium"
    fitted = podium("fit", table, "--label", "grade", *IDS, "--save", model, "--passes", 3)
    assert fitted.exit_code == 0, fitted.output
    assert fitted.stdout.splitlines()[0].split() == ["rows", "features", "grades", "error"]
    assert fitted.stdout.splitlines()[1].split()[:3] == ["400", "4", "5"]
    got = podium("predict", table, "--model", model, "--id", "name", "--level", 0.9)
    frame = pl.read_csv(io.StringIO(got.stdout))
    assert frame.columns == ["name", "grade", "score", "lower", "upper"]
    assert ((frame["lower"] <= frame["grade"]) & (frame["grade"] <= frame["upper"])).all()
    truth = pl.read_csv(table)["grade"]
    error = (frame["grade"] - truth).abs().mean()
    assert error < 0.4
    told = podium("evaluate", table, "--label", "grade", "--model", model, "--format", "csv")
    assert f"mean absolute error {error:.3f}, right {100 * (frame['grade'] == truth).mean():.1f} %" in told.stderr
    confusion = pl.read_csv(io.StringIO(told.stdout))
    assert confusion["rows"].sum() == 400
    assert confusion["right"].sum() == (frame["grade"] == truth).sum()


def test_ranges_with_open_ends_are_learned_in_one_pass_from_standard_input(table, tmp_path):
    model = tmp_path / "m.podium"
    columns = ["--low", "low", "--high", "high", "--id", "name", "--id", "number", "--id", "grade"]
    done = podium("fit", "-", *columns, "--classes", "1..5", "--save", model, input=table.read_text())
    assert done.exit_code == 0, done.output
    error = podium("evaluate", table, "--low", "low", "--high", "high", "--model", model).stderr
    assert float(error.split("error ")[1].split(",")[0]) < 0.4


def test_the_scale_is_that_of_the_whole_table_and_is_in_the_model(table, tmp_path):
    for more in ([], ["--classes", "1,2,3,4,5"]):
        podium("fit", table, "--label", "grade", *IDS, "--save", tmp_path / "m", *more)
        scale = load(tmp_path / "m").scale
        values = pl.read_csv(table).select("x0", "x1", "x2", "x3").to_numpy()
        assert_allclose(scale.mean, values.mean(axis=0))
        assert_allclose(scale.deviation, values.std(axis=0))


def test_pieces_give_the_running_scale_of_the_whole():
    X = np.random.default_rng(0).normal(size=(100, 3)) * [1, 10, 0] + 5
    scale = RunningScale.empty(3)
    for piece in (X[:1], X[1:1], X[1:37], X[37:]):
        scale.add(piece)
    assert_allclose(scale.mean, X.mean(axis=0))
    assert_allclose(scale.apply(X)[:, :2].std(axis=0), 1)
    assert_allclose(scale.apply(X)[:, 2], 0, atol=1e-12)


def test_a_settled_scale_makes_pieces_as_good_as_the_whole():
    X, y, _ = graded()
    whole, pieces = (Grader.empty(list("abcd"), PassiveAggressiveOrdinal(classes=[1, 2, 3, 4, 5])) for _ in range(2))
    for grader in (whole, pieces):
        grader.scale.add(X)
        grader.settled = True
    whole.learn(X, y)
    for start in range(0, 300, 37):
        pieces.learn(X[start : start + 37], y[start : start + 37], row=start)
    assert_allclose(pieces.classifier.coef_, whole.classifier.coef_)
    assert whole.curve[-1][0] == pieces.curve[-1][0] == 300


def test_pictures_are_drawn(table, tmp_path):
    model = tmp_path / "m"
    assert podium("fit", table, "--label", "grade", *IDS, "--save", model, "--plot", tmp_path / "a.svg").exit_code == 0
    assert podium("evaluate", table, "--label", "grade", "--model", model, "--plot", tmp_path / "b.png").exit_code == 0
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ("", ["--label", "mark"], "no column 'mark'; found"),
        ("", [], "say where the grades are"),
        ("", ["--label", "g", "--low", "g"], "give one or the other"),
        ("", ["--high", "g"], "name the other by --low"),
        ("", ["--label", "g", "--classes", "3"], "at least two different grades"),
        ("", ["--label", "g", "--classes", "1,1,2"], "at least two different grades"),
        ("", ["--label", "g", "--classes", "1..2"], "row 3: 3 is not one of the grades 1, 2"),
        ("", ["--label", "g", "--classes", "5..1"], "last grade must be above"),
        ("", ["--label", "g", "--classes", "a..c"], "give whole numbers"),
        ("", ["--label", "g", "--C", "0"], "--C 0"),
        ("", ["--label", "g", "--plot", "p.gif"], "use .png, .svg or .pdf"),
        ("1.5,,2\n", ["--label", "g"], "row 4: 'y' is missing"),
        ("inf,1,2\n", ["--label", "g"], "row 4: 'x' is infinite"),
        ("1,1,\n", ["--label", "g"], "row 4: no grade"),
        ("", ["--low", "g", "--high", "x"], "lower end above"),
    ],
)
def test_bad_input_is_refused_in_words(change, arguments, message, tmp_path):
    table = tmp_path / "t.csv"
    table.write_text("x,y,g\n0.5,1,1\n1.5,2,2\n2.5,4,3\n" + change)
    done = podium("fit", table, "--save", tmp_path / "m", *arguments)
    assert isinstance(done.exception, InputError)
    assert message in worded(done.exception)
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(("more", "message"), [([], "no row has a grade"), (["--classes", "1..3"], "no rows")])
def test_a_table_without_rows_teaches_nothing(more, message, tmp_path):
    (tmp_path / "t.csv").write_text("x,g\n")
    done = podium("fit", tmp_path / "t.csv", "--label", "g", "--save", tmp_path / "m", *more)
    assert isinstance(done.exception, InputError)
    assert message in worded(done.exception)


def test_a_table_without_a_feature_of_the_model_or_another_model_is_refused(table, tmp_path):
    podium("fit", table, "--label", "grade", *IDS, "--save", tmp_path / "m")
    (tmp_path / "other.csv").write_text("x0,x1,x2\n1,2,3\n")
    assert "no column 'x3'" in str(podium("predict", tmp_path / "other.csv", "--model", tmp_path / "m").exception)
    (tmp_path / "text.csv").write_text("x0,x1,x2,x3\n1,2,3,much\n")
    assert "'x3' is not numeric" in str(podium("predict", tmp_path / "text.csv", "--model", tmp_path / "m").exception)
    assert "no such file" in str(podium("predict", table, "--model", tmp_path / "absent").exception)
    assert "not a podium model" in str(podium("predict", table, "--model", table).exception)


def test_svmlight_lines_are_named_as_what_they_are(tmp_path):
    (tmp_path / "g.svm").write_text("1 1:0.5 2:1\n2 1:0.1\n")
    for words in (
        ("fit", "--label", "1", "--save", tmp_path / "m"),
        ("fit", "--label", "1", "--no-header", "--save", "m"),
    ):
        done = podium(words[0], tmp_path / "g.svm", *words[1:])
        assert "g.svm holds svmlight lines, which only `podium label` reads; give a table" in str(done.exception)


def test_several_files_are_one_table(table, tmp_path):
    frame = pl.read_csv(table)
    frame[:150].write_csv(tmp_path / "a.csv")
    frame[150:].write_csv(tmp_path / "b.csv")
    for name, files in (("one", [table]), ("two", [tmp_path / "a.csv", tmp_path / "b.csv"])):
        podium("fit", *files, "--label", "grade", *IDS, "--save", tmp_path / name)
    assert_allclose(load(tmp_path / "one").classifier.coef_, load(tmp_path / "two").classifier.coef_)


def test_ranges_that_are_all_open_teach_nothing(tmp_path):
    (tmp_path / "t.csv").write_text("x,low,high\n1,,\n2,,\n")
    done = podium(
        "fit", tmp_path / "t.csv", "--low", "low", "--high", "high", "--classes", "1..3", "--save", tmp_path / "m"
    )
    assert "every range is open at both ends" in worded(done.exception)
    assert not (tmp_path / "m").exists()


def test_text_that_is_no_label_is_refused_with_the_way_out(table, tmp_path):
    done = podium("fit", table, "--label", "grade", "--save", tmp_path / "m")
    assert "column 'name' is not numeric; leave it out by --id name" in worded(done.exception)


def test_decimal_commas_grade_as_decimal_points_do(tmp_path):
    rows = [(f"{k % 7}.{k % 10}", "low" if k % 7 < 3 else "high") for k in range(60)]
    points, commas = tmp_path / "points.csv", tmp_path / "commas.csv"
    points.write_text("words;grade\n" + "".join(f"{words};{grade}\n" for words, grade in rows))
    commas.write_text(points.read_text().replace(".", ","))
    told = []
    for file in (points, commas):
        done = podium("fit", file, "--label", "grade", "--classes", "low,high", "--save", tmp_path / "m")
        assert done.exit_code == 0, done.output
        told.append((done.stdout, podium("predict", file, "--model", tmp_path / "m", "--format", "csv").stdout))
    assert told[0] == told[1]
    assert told[0][1].count("\n") == 61


@pytest.mark.parametrize("form", ["table", "csv", "json", "jsonl", "parquet"])
def test_every_form_of_predictions_holds_the_same_rows(form, table, tmp_path):
    podium("fit", table, "--label", "grade", *IDS, "--save", tmp_path / "m")
    place = tmp_path / f"out.{'txt' if form == 'table' else form}"
    assert podium("predict", table, "--model", tmp_path / "m", "--id", "name", "-o", place).exit_code == 0
    assert podium("predict", table, "--model", tmp_path / "m", "--format", form).exit_code == 0
    if form == "table":
        assert len(place.read_text().splitlines()) == 401
        return
    read = {"csv": pl.read_csv, "json": pl.read_json, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}[form]
    assert read(place)["name"].to_list() == pl.read_csv(table)["name"].to_list()


@pytest.mark.parametrize("command", ["fit", "predict", "evaluate"])
def test_every_command_is_in_the_documentation(command):
    assert f"$ podium grade {command} " in Path("docs/ordinal.md").read_text()


def test_the_error_while_learning_is_that_of_rows_not_seen_before(table, tmp_path):
    arguments = ["fit", table, "--label", "grade", *IDS, "--save", tmp_path / "m.podium", "--format", "csv"]
    once, thrice = (podium(*arguments, "--passes", n) for n in (1, 3))
    error = [float(result.stdout.splitlines()[1].split(",")[-1]) for result in (once, thrice)]
    assert error[0] == error[1]
    assert "for the first time" in thrice.stderr


def test_grades_that_are_words_say_in_which_order_they_were_taken(tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("x,grade\n" + "".join(f"{k},{word}\n" for k, word in enumerate(["poor", "fair", "good"] * 5)))
    said = podium("fit", path, "--label", "grade", "--save", tmp_path / "m.podium")
    assert "in the order of the alphabet: fair < good < poor" in said.stderr
    named = podium("fit", path, "--label", "grade", "--save", tmp_path / "m.podium", "--classes", "poor,fair,good")
    assert "alphabet" not in named.stderr


def test_one_column_is_no_range(table, tmp_path):
    said = podium("fit", table, "--low", "low", "--high", "low", "--save", tmp_path / "m.podium")
    assert "--low and --high both name 'low'" in worded(said.exception)


@pytest.mark.parametrize("name", ["grade", "score", "lower"])
def test_an_id_column_that_the_output_has_itself_is_refused(name, table, tmp_path):
    podium("fit", table, "--label", "grade", *IDS, "--save", tmp_path / "m")
    frame = pl.read_csv(table).with_columns(score=1, lower=2)
    frame.write_csv(tmp_path / "more.csv")
    done = podium("predict", tmp_path / "more.csv", "--model", tmp_path / "m", "--id", name, "--level", 0.9)
    assert f"--id {name}: the output has a column '{name}' of its own" in worded(done.exception)
    twice = podium("predict", table, "--model", tmp_path / "m", "--id", "name", "--id", "name")
    assert pl.read_csv(io.StringIO(twice.stdout)).columns == ["name", "grade", "score"]


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ("1..1000000000", "that is 1,000,000,000 grades; at most 10,000"),
        ("1..99999999999999999999", "at most 10,000"),
        ("nan,1,2", "not NaN or infinity"),
    ],
)
def test_classes_that_make_no_sense_are_refused(classes, message, table, tmp_path):
    done = podium("fit", table, "--label", "grade", *IDS, "--classes", classes, "--save", tmp_path / "m")
    assert isinstance(done.exception, InputError)
    assert message in worded(done.exception)


ODD = {
    "date": pl.date(2020, 1, 1),
    "duration": pl.duration(seconds=pl.col("x")),
    "list": pl.concat_list("x"),
    "struct": pl.struct("x"),
    "nothing": pl.lit(None),
    "decimal": pl.col("x").cast(pl.Decimal(10, 2)),
    "boolean": pl.col("x") > 5,
    "category": pl.col("word").cast(pl.Categorical),
    "enum": pl.col("word").cast(pl.Enum(["poor", "fair", "good"])),
    "binary": pl.col("word").cast(pl.Binary),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("role", ["feature", "label", "id", "evaluate"])
def test_a_column_of_any_type_in_any_role_is_used_or_refused_in_words(odd, role, tmp_path):
    frame = pl.DataFrame({"x": range(12), "word": ["poor", "fair", "good"] * 4, "g": [1, 2, 3, 1] * 3})
    frame.with_columns(ODD[odd].alias("odd")).write_parquet(tmp_path / "t.parquet")
    path, model = tmp_path / "t.parquet", ["--model", tmp_path / "m"]
    podium("fit", path, "--label", "g", "--id", "word", "--id", "odd", "--save", tmp_path / "m")
    arguments = {
        "feature": ["fit", path, "--label", "g", "--id", "word", "--save", tmp_path / "n"],
        "label": ["fit", path, "--label", "odd", "--id", "word", "--id", "g", "--save", tmp_path / "n"],
        "id": ["predict", path, *model, "--id", "odd"],
        "evaluate": ["evaluate", path, *model, "--label", "odd"],
    }[role]
    done = podium(*arguments)
    assert done.exit_code == 0 or isinstance(done.exception, InputError), done.exception


def test_the_order_of_an_enum_and_written_ranges_are_taken(tmp_path):
    levels = ["poor", "fair", "good"]
    frame = pl.DataFrame({"x": range(30), "g": [levels[k // 10] for k in range(30)]})
    frame.with_columns(pl.col("g").cast(pl.Enum(levels))).write_parquet(tmp_path / "t.parquet")
    said = podium("fit", tmp_path / "t.parquet", "--label", "g", "--save", tmp_path / "m")
    assert load(tmp_path / "m").grades.tolist() == levels
    assert "alphabet" not in said.stderr
    (tmp_path / "r.csv").write_text("x,g\n" + "".join(f"{k},{['1', '2', '3-4', '10'][k // 5]}\n" for k in range(20)))
    assert podium("fit", tmp_path / "r.csv", "--label", "g", "--save", tmp_path / "m").exit_code == 0
    assert load(tmp_path / "m").grades.tolist() == [1, 2, 3, 4, 10]
    told = podium("evaluate", tmp_path / "r.csv", "--label", "g", "--model", tmp_path / "m")
    assert told.exit_code == 0
