"""podium grade: learning on, text columns, missing values, bins, weights, files without header, curved boundaries."""

import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from podium.cli import main
from podium.cli.messages import worded
from podium.errors import InputError
from podium.models import load
from podium.ordinal import PassiveAggressiveOrdinal
from podium.ordinal.grading.grader import Grader
from podium.ordinal.grading.landmarks import LandmarkMap, RowSample
from podium.ordinal.grading.running import RunningScale

from suites.ordinal import graded


def podium(*arguments, **more):
    return CliRunner().invoke(main, ["grade", *map(str, arguments)], **more)


def rows_like_abalone(n=300, seed=0):
    """Lines in the form of the UCI file: a letter, seven measures, rings; no header."""
    rng = np.random.default_rng(seed)
    size = rng.beta(5, 3, n)
    rings = np.clip(np.round(3 + 12 * size + rng.normal(scale=1.5, size=n)), 1, 29).astype(int)
    kind = np.where(size < 0.45, "I", rng.choice(["M", "F"], n))
    measures = size[:, None] * [0.8, 0.65, 0.22, 1.5, 0.7, 0.35, 0.45] * rng.normal(1, 0.05, (n, 7))
    lines = [",".join([k, *(f"{v:.4f}" for v in m), str(r)]) for k, m, r in zip(kind, measures, rings, strict=True)]
    return lines, kind, measures, rings


def test_a_file_in_abalone_s_form_goes_through_with_one_command(tmp_path):
    lines, kind, measures, rings = rows_like_abalone()
    path, model = tmp_path / "abalone.data", tmp_path / "m.podium"
    path.write_text("\n".join(lines) + "\n")
    done = podium(
        "fit", path, "--no-header", "--label", 9, "--bins", "7,9,12", "--one-hot", "--C", 0.05, "--save", model
    )
    assert done.exit_code == 0, done.output
    grader = load(model)
    assert grader.features == ["1=F", "1=I", "1=M", *"2345678"]
    assert grader.grades.tolist() == ["up to 7", "up to 9", "up to 12", "over 12"]
    # The same by hand: indicators, standardised by all rows, grades as the paper cuts them; one pass in order.
    X = np.column_stack([*(kind == each for each in "FIM"), measures.round(4)]).astype(float)
    y = np.digitize(rings, [7.5, 9.5, 12.5])
    model_by_hand = PassiveAggressiveOrdinal(C=0.05, classes=[0, 1, 2, 3])
    model_by_hand.partial_fit((X - X.mean(axis=0)) / X.std(axis=0), y)
    assert_allclose(grader.classifier.coef_, model_by_hand.coef_, atol=1e-9)
    told = podium("evaluate", path, "--no-header", "--label", 9, "--model", model)
    assert told.exit_code == 0, told.output
    guess = model_by_hand.predict((X - X.mean(axis=0)) / X.std(axis=0))
    assert f"mean absolute error {np.abs(guess - y).mean():.3f}" in told.stderr
    got = podium("predict", path, "--no-header", "--id", 9, "--model", model)
    assert pl.read_csv(io.StringIO(got.stdout))["grade"].to_list() == grader.grades[guess].tolist()


def test_a_file_without_header_read_as_if_it_had_one_says_what_to_do(tmp_path):
    (tmp_path / "a.data").write_text("\n".join(rows_like_abalone(20)[0]))
    for label in (9, 99):
        done = podium("fit", tmp_path / "a.data", "--label", label, "--save", tmp_path / "m")
        assert "if the file has no header, set --no-header" in worded(done.exception)


@pytest.fixture
def parts(tmp_path):
    X, y, _ = graded(n=400)
    frame = pl.DataFrame({f"x{j}": 10 * X[:, j] + 3 for j in range(4)}).with_columns(
        g=pl.Series(y), w=pl.Series(np.random.default_rng(2).choice([0.0, 1.0, 2.5], 400))
    )
    frame[:250].write_csv(tmp_path / "old.csv")
    frame[250:].write_csv(tmp_path / "more.csv")
    frame.write_csv(tmp_path / "all.csv")
    return tmp_path, frame


def test_learning_on_is_learning_on_with_the_scale_of_all_rows(parts):
    folder, frame = parts
    podium("fit", folder / "old.csv", "--label", "g", "--id", "w", "--C", 0.05, "--save", folder / "m")
    before = load(folder / "m")
    done = podium(
        "fit", folder / "more.csv", "--label", "g", "--id", "w", "--model", folder / "m", "--save", folder / "n"
    )
    assert done.exit_code == 0, done.output
    after = load(folder / "n")
    assert after.classifier.n_seen_ == 400
    assert done.stdout.splitlines()[1].split()[:3] == ["150", "4", "5"]
    values = frame.select("x0", "x1", "x2", "x3").to_numpy()
    assert_allclose(after.scale.mean, values.mean(axis=0))
    assert_allclose(after.scale.deviation, values.std(axis=0))
    # By hand: the old model's parameters in the new units, then one pass over the new rows.
    old, new = before.classifier, PassiveAggressiveOrdinal(C=0.05, classes=[1, 2, 3, 4, 5], average=False)
    w, theta, _, _ = old._parts()
    ratio = values.std(axis=0) / values[:250].std(axis=0)
    shift = (values.mean(axis=0) - values[:250].mean(axis=0)) / values[:250].std(axis=0)
    new.set_params(coef_init=w * ratio, thresholds_init=theta - w @ shift)
    new.partial_fit((values[250:] - values.mean(axis=0)) / values.std(axis=0), frame["g"].to_numpy()[250:])
    assert_allclose(after.classifier._parts()[0], new.coef_, atol=1e-9)
    assert_allclose(after.classifier._parts()[1], new.thresholds_, atol=1e-9)
    # The first fifty new rows are graded by the old model.
    off = np.abs(before.predict(values[250:300]) - frame["g"].to_numpy()[250:300]).sum()
    assert after.curve[len(before.curve)] == pytest.approx((300, (250 * before.error + off) / 300))
    assert after.error == pytest.approx((400 * after.curve[-1][1] - 250 * before.error) / 150)


@pytest.mark.parametrize("C", [0.05, "auto"])
def test_a_scale_that_follows_changes_nothing_that_was_said(C):
    X, y, _ = graded(n=100)
    grader = Grader.empty(list("abcd"), PassiveAggressiveOrdinal(C=C, classes=[1, 2, 3, 4, 5]))
    grader.learn(X, y)
    before = grader.scores(X) - grader.classifier.thresholds_[0]
    grader._follow(50 * X[:30] + 7)
    assert_allclose(grader.scores(X) - grader.classifier.thresholds_[0], before, atol=1e-9)


def test_without_save_the_model_itself_learns_on(parts):
    folder, _ = parts
    podium("fit", folder / "old.csv", "--label", "g", "--id", "w", "--save", folder / "m")
    said = podium("fit", folder / "more.csv", "--label", "g", "--id", "w", "--model", folder / "m")
    assert "saved" in said.stderr
    assert load(folder / "m").classifier.n_seen_ == 400
    piped = podium(
        "fit", "-", "--label", "g", "--id", "w", "--model", folder / "m", input=(folder / "more.csv").read_text()
    )
    assert piped.exit_code == 0, piped.output
    assert load(folder / "m").classifier.n_seen_ == 550


@pytest.mark.parametrize(
    ("text", "arguments", "message"),
    [
        ("x0,x1,x2,g\n1,2,3,1\n", [], "the table lacks the column 'x3'"),
        ("x0,x1,x2,x3,hue,age,g\n1,2,3,4,1,1,1\n", [], "has the columns 'hue', 'age', which the model does not know"),
        ("x0,x1,x2,x3,g\n1,2,3,4,1.5\n", [], "row 1: 1.5 is not one of the grades"),
        ("x0,x1,x2,x3,g\n1,2,3,4,good\n", [], "row 1: 'good' is not one of the grades"),
        ("x0,x1,x2,x3,g\n1,2,3,4,2\n", ["--C", "1"], "--C was settled when the model of --model began; drop it"),
        ("x0,x1,x2,x3,g\n1,2,3,4,2\n", ["--bins", "1"], "--bins was settled"),
        ("x0,x1,x2,x3,g\n1,2,3,4,2\n", ["--classes", "2..6"], "the model knows 1, 2, 3, 4, 5"),
        ("x0,x1,x2,x3,g\n", [], "no rows"),
    ],
)
def test_what_the_model_cannot_learn_on_from_is_refused(text, arguments, message, parts):
    folder, _ = parts
    podium("fit", folder / "old.csv", "--label", "g", "--id", "w", "--save", folder / "m")
    before = (folder / "m").read_bytes()
    (folder / "bad.csv").write_text(text)
    done = podium("fit", folder / "bad.csv", "--label", "g", "--model", folder / "m", *arguments)
    assert isinstance(done.exception, InputError), done.output
    assert message in worded(done.exception)
    assert (folder / "m").read_bytes() == before


def test_new_grades_at_the_ends_are_taken_in_and_said(parts):
    folder, _ = parts
    podium("fit", folder / "old.csv", "--label", "g", "--id", "w", "--save", folder / "m")
    (folder / "new.csv").write_text("x0,x1,x2,x3,g\n90,3,3,3,7\n-90,3,3,3,0\n")
    said = podium("fit", folder / "new.csv", "--label", "g", "--model", folder / "m")
    assert said.exit_code == 0, said.output
    assert "new grades: 0, 6 and 7; now 0 to 7" in said.stderr
    grader = load(folder / "m")
    assert grader.grades.tolist() == list(range(8))
    assert set(grader.recent[2].astype(int)) <= set(range(1, 6)) | {0, 7}
    assert grader.interval(np.zeros((1, 4))).shape == (1, 2)
    named = podium(
        "fit", folder / "old.csv", "--label", "g", "--id", "w", "--model", folder / "m", "--classes", "-1..9"
    )
    assert named.exit_code == 0, named.output
    assert load(folder / "m").grades.tolist() == list(range(-1, 10))


def test_weights_multiply_c(parts):
    folder, frame = parts
    done = podium("fit", folder / "all.csv", "--label", "g", "--weight", "w", "--C", 0.05, "--save", folder / "m")
    assert done.exit_code == 0, done.output
    used = frame.filter(pl.col("w") > 0)
    X = used.select("x0", "x1", "x2", "x3").to_numpy()
    model = PassiveAggressiveOrdinal(C=0.05, classes=[1, 2, 3, 4, 5])
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    model.partial_fit(Z, used["g"].to_numpy(), sample_weight=used["w"].to_numpy())
    assert_allclose(load(folder / "m").classifier.coef_, model.coef_, atol=1e-9)
    on = podium("fit", folder / "more.csv", "--label", "g", "--weight", "w", "--model", folder / "m")
    assert on.exit_code == 0, on.output
    refused = podium(
        "fit", folder / "all.csv", "--label", "g", "--weight", "w", "--variant", "pa", "--save", folder / "m"
    )
    assert "--weight does not go with --variant pa" in worded(refused.exception)


@pytest.mark.parametrize(("cell", "message"), [("", "is missing"), ("-1", "is -1")])
def test_a_weight_that_is_none_is_named_by_its_row(cell, message, tmp_path):
    (tmp_path / "t.csv").write_text(f"x,g,w\n1,1,1\n2,2,1\n3,1,{cell}\n")
    done = podium("fit", tmp_path / "t.csv", "--label", "g", "--weight", "w", "--save", tmp_path / "m")
    assert f"row 3: the weight 'w' {message}" in worded(done.exception)


def test_a_missing_value_counts_as_the_mean_of_those_there(tmp_path):
    X, y, _ = graded(n=120, d=2)
    holes = np.random.default_rng(1).random(X.shape) < 0.2
    there = np.where(holes, np.nan, X)
    pl.DataFrame({"a": there[:, 0], "b": there[:, 1], "g": y}).with_columns(pl.col("a", "b").fill_nan(None)).write_csv(
        tmp_path / "t.csv"
    )
    refused = podium("fit", tmp_path / "t.csv", "--label", "g", "--save", tmp_path / "m")
    assert "is missing or not a number" in worded(refused.exception)
    assert "--missing mean" in worded(refused.exception)
    done = podium("fit", tmp_path / "t.csv", "--label", "g", "--missing", "mean", "--C", 0.05, "--save", tmp_path / "m")
    assert done.exit_code == 0, done.output
    Z = (there - np.nanmean(there, axis=0)) / np.nanstd(there, axis=0)
    model = PassiveAggressiveOrdinal(C=0.05, classes=[1, 2, 3, 4, 5]).partial_fit(np.nan_to_num(Z), y)
    assert_allclose(load(tmp_path / "m").classifier.coef_, model.coef_, atol=1e-9)
    (tmp_path / "new.csv").write_text("a,b\n,\n")
    assert podium("predict", tmp_path / "new.csv", "--model", tmp_path / "m").exit_code == 0


def test_pieces_with_holes_give_the_running_scale_of_the_whole():
    X = np.random.default_rng(0).normal(size=(100, 3)) * [1, 10, 3] + 5
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    X[:10, 0] = np.nan
    scale = RunningScale.empty(3)
    for piece in (X[:1], X[1:1], X[1:37], X[37:]):
        scale.add(piece)
    assert_allclose(scale.mean, np.nanmean(X, axis=0))
    assert_allclose(scale.deviation, np.nanstd(X, axis=0))


def test_text_is_refused_or_each_of_its_values_is_a_feature(tmp_path):
    (tmp_path / "t.csv").write_text("hue,x,g\nred,1,1\nblue,2,2\n,3,1\nred,4,2\n")
    refused = podium("fit", tmp_path / "t.csv", "--label", "g", "--save", tmp_path / "m")
    assert "column 'hue' is not numeric; leave it out by --id hue, or set --one-hot" in worded(refused.exception)
    (tmp_path / "odd.csv").write_text("hue,x,g\nred,1,1\nblue,n/a,2\nred,3,1\nred,4,2\n")
    for more in ([], ["--one-hot"], ["--one-hot", "--missing", "mean"]):
        odd = podium("fit", tmp_path / "odd.csv", "--label", "g", *more, "--save", tmp_path / "m")
        assert "row 2: 'x' is 'n/a', where most rows have numbers; correct it, or empty the cell" in worded(
            odd.exception
        )
    hole = podium("fit", tmp_path / "t.csv", "--label", "g", "--one-hot", "--save", tmp_path / "m")
    assert "row 3: 'hue' is missing" in worded(hole.exception)
    done = podium("fit", tmp_path / "t.csv", "--label", "g", "--one-hot", "--missing", "mean", "--save", tmp_path / "m")
    assert done.exit_code == 0, done.output
    assert load(tmp_path / "m").features == ["hue=blue", "hue=red", "x"]
    (tmp_path / "n.csv").write_text("hue,x\nred,1\ngreen,2\n")
    new = podium("predict", tmp_path / "n.csv", "--model", tmp_path / "m")
    assert "row 2: 'hue' is 'green'; the model knows 'blue', 'red'" in worded(new.exception)
    (tmp_path / "many.csv").write_text("name,g\n" + "".join(f"n{k},{1 + k % 2}\n" for k in range(150)))
    many = podium("fit", tmp_path / "many.csv", "--label", "g", "--one-hot", "--save", tmp_path / "m")
    assert "more than 100 different texts" in worded(many.exception)
    text = "".join(f"{'ab'[k % 2]},{1 + k % 2}\n" for k in range(40))
    piped = podium(
        "fit", "-", "--label", "g", "--classes", "1,2", "--one-hot", "--save", tmp_path / "m", input=f"name,g\n{text}"
    )
    assert piped.exit_code == 0, piped.output


def test_a_gap_between_whole_grades_is_said(tmp_path):
    (tmp_path / "t.csv").write_text("x,g\n" + "".join(f"{k},{[1, 2, 5][k % 3]}\n" for k in range(30)))
    said = podium("fit", tmp_path / "t.csv", "--label", "g", "--save", tmp_path / "m").stderr
    assert "no row has the grades 3 and 4: the grades around them count as neighbours; --classes 1..5 keeps" in said
    assert (
        "no row"
        not in podium("fit", tmp_path / "t.csv", "--label", "g", "--classes", "1..5", "--save", tmp_path / "m").stderr
    )


@pytest.mark.parametrize(
    ("bins", "message"),
    [("9,7", "give increasing numbers"), ("a,b", "give increasing numbers"), ("", "give increasing numbers")],
)
def test_bins_that_are_none_are_refused(bins, message, tmp_path):
    (tmp_path / "t.csv").write_text("x,g\n1,1\n2,9\n")
    assert message in worded(
        podium("fit", tmp_path / "t.csv", "--label", "g", "--bins", bins, "--save", tmp_path / "m").exception
    )
    both = podium(
        "fit", tmp_path / "t.csv", "--label", "g", "--bins", "3", "--classes", "1,2", "--save", tmp_path / "m"
    )
    assert "give one of them" in worded(both.exception)
    (tmp_path / "w.csv").write_text("x,g\n1,good\n2,bad\n")
    words = podium("fit", tmp_path / "w.csv", "--label", "g", "--bins", "3", "--save", tmp_path / "m")
    assert "'g' is not numeric" in worded(words.exception)


def test_bins_of_ranges_with_open_ends(tmp_path):
    (tmp_path / "t.csv").write_text(
        "x,lo,hi\n" + "".join(f"{k},{k - 2},{'' if k > 20 else k + 2}\n" for k in range(30))
    )
    done = podium(
        "fit", tmp_path / "t.csv", "--low", "lo", "--high", "hi", "--bins", "9.5,19.5", "--save", tmp_path / "m"
    )
    assert done.exit_code == 0, done.output
    assert load(tmp_path / "m").grades.tolist() == ["up to 9.5", "up to 19.5", "over 19.5"]


def rings(path, n=900, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    y = 1 + np.digitize(np.hypot(X[:, 0], X[:, 1]), [0.8, 1.5])
    pl.DataFrame({"a": 100 * X[:, 0], "b": X[:, 1] - 9, "g": y}).write_csv(path)


def test_rbf_bends_the_boundaries(tmp_path):
    rings(tmp_path / "t.csv")
    rings(tmp_path / "new.csv", seed=1)
    errors = []
    for more in ([], ["--rbf", 60], ["--rbf", 60, "--classes", "1..3"]):
        done = podium("fit", tmp_path / "t.csv", "--label", "g", "--passes", 3, "--save", tmp_path / "m", *more)
        assert done.exit_code == 0, done.output
        told = podium("evaluate", tmp_path / "new.csv", "--label", "g", "--model", tmp_path / "m").stderr
        errors.append(float(told.split("error ")[1].split(",")[0]))
    assert max(errors[1:]) < 0.5 * errors[0]
    on = podium("fit", tmp_path / "new.csv", "--label", "g", "--model", tmp_path / "m")
    assert on.exit_code == 0, on.output
    assert load(tmp_path / "m").classifier.n_features_in_ <= 60
    piped = podium(
        "fit", "-", "--label", "g", "--rbf", 60, "--classes", "1..3", "--save", tmp_path / "m",
        input=(tmp_path / "t.csv").read_text(),
    )  # fmt: skip
    assert piped.exit_code == 0, piped.output


def test_landmarks_give_the_kernel_itself_where_they_are_and_its_projection_elsewhere():
    rng = np.random.default_rng(0)
    marks, X = rng.normal(size=(30, 3)), rng.normal(size=(8, 3))
    mapping = LandmarkMap.of(np.concatenate([marks, marks[:5]]))
    both = np.concatenate([marks, X])
    got = mapping.apply(both) @ mapping.apply(both).T
    K = rbf_kernel(marks, marks, gamma=1 / 3)
    across = rbf_kernel(both, marks, gamma=1 / 3)
    assert_allclose(got[:30, :30], K, atol=1e-6)
    assert_allclose(got, across @ np.linalg.solve(K, across.T), atol=1e-6)


def test_a_sample_takes_every_row_alike():
    counts = np.zeros(20)
    for seed in range(600):
        sample = RowSample(5, np.random.default_rng(seed))
        for piece in np.split(np.arange(20.0)[:, None], [3, 4, 11]):
            sample.add(piece)
        counts[sample.rows[:, 0].astype(int)] += 1
    assert counts.sum() == 3000
    assert abs(counts - 150).max() < 5 * np.sqrt(150 * 0.75)


def test_many_landmarks_take_a_piece_some_rows_at_a_time(tmp_path, monkeypatch):
    rings(tmp_path / "t.csv", n=200)
    tables = []
    for most in (4_000_000, 900):
        monkeypatch.setattr("podium.ordinal.grading.grader.MAX_PRODUCTS", most)
        podium("fit", tmp_path / "t.csv", "--label", "g", "--rbf", 30, "--C", 0.1, "--save", tmp_path / "m")
        tables.append(podium("predict", tmp_path / "t.csv", "--model", tmp_path / "m").stdout)
    assert tables[0] == tables[1]
    many = podium("fit", tmp_path / "t.csv", "--label", "g", "--rbf", 5001, "--save", tmp_path / "m")
    assert "at most 5,000 rows" in worded(many.exception)


@pytest.mark.parametrize("path", sorted(Path("tests/golden").glob("grader*.podium")), ids=lambda path: path.stem)
def test_models_of_earlier_releases_learn_on(path, tmp_path):
    grader = load(path)
    header = ",".join([*grader._table.columns, "y"])
    cells = [grader._table.levels.get(name, ("1", "2")) for name in grader._table.columns]
    lines = "".join(",".join([*(each[k % 2] for each in cells), str(k % 3)]) + "\n" for k in range(8))
    (tmp_path / "more.csv").write_text(f"{header}\n{lines}")
    before = grader.classifier.n_seen_
    assert grader.partial_fit(tmp_path / "more.csv", label="y").classifier.n_seen_ == before + 8
    assert 0 <= grader.error <= len(grader.grades)
