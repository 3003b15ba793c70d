"""Things of a wrong type or shape, at any public entry, are refused in a sentence that names them."""

import json
import re
import sqlite3
import warnings
import zipfile

import numpy as np
import pytest

import podium
from podium import (
    RABF,
    BradleyTerry,
    Comparisons,
    CrowdBradleyTerry,
    DynamicBradleyTerry,
    Elo,
    LeastSquares,
    OnlineRABF,
    PlackettLuce,
    RankCentrality,
    Ranking,
    WinRate,
)
from podium.active import Planner, Simulated, kemeny
from podium.active.journal import problem_of
from podium.datasets import load_graded, load_multilabel
from podium.errors import ConvergenceError, InputError, Option, PodiumWarning
from podium.evaluate import (
    assess,
    final_table,
    forecasts,
    judging_quality,
    learning_curve,
    plan_votes,
    risk_bound,
)
from podium.evaluate.diagnosis import diagnose, score_history
from podium.evaluate.differences import compare_rankings, read_settings, standing
from podium.metrics import check_family, footrule, kendall_distance, ranking_gain, top_k_kendall
from podium.multilabel import AgnosticLabelRanker, ExpertLabelRanker, Halving, LabelRanker, binary_relevance
from podium.ordinal import (
    ConformalGrades,
    CumulativeLogit,
    MarginOrdinal,
    PassiveAggressiveOrdinal,
    PRank,
    accuracy,
    errors,
    mae,
    mistake_bound,
    neg_mae,
    read_labels,
    surrogate,
)
from podium.ordinal.grading.grader import Grader
from podium.ranking import award_marks
from podium.ranking.uncertainty.critical import _root
from podium.show import active_plots, canvas, feature_plots, grade_plots, plots
from podium.show.report import Report, vote_summary

from suites.store import new_campaign


def numbered(items, left, right, **more):
    """Votes by number: reading labels starts Polars' threads, and then scripts/mutate.py cannot fork any more."""
    return Comparisons(tuple(items), np.array(left, dtype=np.int32), np.array(right, dtype=np.int32), **more)


VOTES = numbered("abc", [0, 1, 2, 0], [1, 2, 0, 2])
OTHER = numbered("axc", [0, 1, 2], [1, 2, 0])
RANKING = BradleyTerry().fit(VOTES).ranking_
CURVE = {"a": [(1, 1.5), (2, 1.2)]}

CALLS = {
    "masked scale of marks": (
        lambda: award_marks(Ranking("ab", [1.0, 2.0]), np.ma.masked_array([1.0, 2.0], [True, False])),
        "the two ends must be different numbers",
    ),
    "masked mark": (
        lambda: award_marks(Ranking("ab", [1.0, 2.0]), known={"a": np.ma.masked, "b": 1.0}),
        "the known mark of 'a' is .*; give a number",
    ),
    "votes from a number": (lambda: Comparisons.from_arrays(np.float64(3), [1]), "winner: .* is no column"),
    "votes from no array": (lambda: Comparisons.from_arrays(np.array(3), [1]), "winner: .* is no column"),
    "votes from no pairs": (lambda: Comparisons.from_pairs(5), "pairs: 5 is no column"),
    "judges from a number": (lambda: Comparisons.from_arrays(["a"], ["b"], judge=5), "judge: 5 is no column"),
    "ragged features": (lambda: podium.RABF().fit(VOTES, {"a": [1, [2]], "b": 1, "c": 2}), "each item needs a flat"),
    "cuts": (lambda: binary_relevance([[1.0, 2.0]] * 3, [1, 2]), "2 cuts for 3 rows"),
    "scores in a line": (lambda: binary_relevance([1.0, 2.0], 1), r"shape \(2,\) is given; it must be \(any, any"),
    "scores in words": (lambda: binary_relevance([["x"]], 1), "scores: numbers are expected"),
    "a candidate's words": (
        lambda: AgnosticLabelRanker(LabelRanker(), [lambda X: "x"]).fit(np.eye(4), np.eye(4)),
        "the scores of candidate 1: numbers are expected",
    ),
    "an instance in words": (lambda: Halving([[0, 1]]).predict("x"), "x is 'x'; an instance is the number of a column"),
    "an instance beyond": (lambda: Halving([[0, 1]]).predict(2), "0 to 1"),
    "classes of one": (lambda: read_labels([1, 2], classes="x"), "give at least two grades"),
    "classes in lists": (lambda: read_labels([1, 2], classes=[[1], [1, 2]]), "give the grades in a list"),
    "no labels": (lambda: accuracy([], []), "there is no label|no row"),
    "a label alone": (lambda: errors(3, 3), "."),
    "weights in words": (lambda: mae([1, 2], [1, 2], sample_weight=["x", "y"]), "sample_weight: numbers are expected"),
    "weights below zero": (lambda: mae([1, 2], [1, 2], sample_weight=[-1, 1]), "sample_weight must be finite, 0"),
    "weights of another length": (lambda: mae([1, 2], [1, 2], sample_weight=[1]), r"shape \(1,\) is given; it must be"),
    "thresholds in words": (lambda: surrogate([0.0], "x", [0], [0]), "thresholds: numbers are expected"),
    "a score alone": (lambda: surrogate(0.0, [1.0], [0], [0]), "scores: shape"),
    "coefficients": (
        lambda: mistake_bound("pa", [[1.0], [2.0]], [1, 2], coef=[1, 2], thresholds=[0.0]), "coef: shape"),
    "C in words": (
        lambda: mistake_bound("pa", [[1.0], [2.0]], [1, 2], coef=[1], thresholds=[0.0], C="x"), "C='x'"),
    "a grade in a list": (
        lambda: PassiveAggressiveOrdinal(classes=[1, 2]).learn_one([1.0], [2]), r"\[2\] is not one of the grades"),
    "grades in a list": (
        lambda: PassiveAggressiveOrdinal(classes=[1, 2]).learn_one([1.0], (1, [2])), "is not one of the grades"),
    "an example of no length": (
        lambda: PassiveAggressiveOrdinal(classes=[1, 2]).learn_one(np.array(1.0), 1), "give the features of one"),
    "steps in words": (lambda: PassiveAggressiveOrdinal(max_iter=None).fit([[1.0], [2.0]], [1, 2]), "max_iter=None"),
    "half a step": (lambda: PassiveAggressiveOrdinal(max_iter=1.5).fit([[1.0], [2.0]], [1, 2]), "max_iter=1.5"),
    "a tolerance in words": (lambda: PassiveAggressiveOrdinal(tol="x").fit([[1.0], [2.0]], [1, 2]), "tol='x'"),
    "a level in words": (
        lambda: ConformalGrades(PRank().fit([[1.0], [2.0]], [1, 2])).calibrate([[1.0]] * 4, [1, 2, 1, 2])
        .predict_interval([[1.0]], level="x"),
        "level='x' must lie between 0 and 1"),
    "pairs out": (lambda: Planner(3, seed=1).plan(1, out=5), "out is 5; give pairs of item numbers"),
    "ragged pairs": (lambda: Planner(3, seed=1).plan(1, tired=[[1], [1, 2]]), "tired is .*give pairs"),
    "features in words": (lambda: Planner(2, seed=1, features=["x", "y"]), "features: numbers are expected"),
    "no ranking": (lambda: standing("x"), "a ranking or a fitted ranker is needed, not str"),
    "no rankings": (lambda: compare_rankings(RANKING, 5), "a ranking or a fitted ranker is needed, not int"),
    "no settings": (lambda: read_settings(5), "settings are text, not int"),
    "other votes": (lambda: diagnose(OTHER, Elo().fit(VOTES), replicates=2, splits=2), "the model has not ranked"),
    "a drawing of nothing": (lambda: canvas.save("x", "p.png"), "figure must be a Figure, not str"),
    "dots": (lambda: canvas.save(plots.intervals(RANKING), "p.png", dpi=0), "dpi=0"),
    "intervals of nothing": (lambda: plots.intervals(None), "ranking must be a Ranking, not NoneType"),
    "a top in words": (lambda: plots.intervals(RANKING, top="x"), "top='x'"),
    "a top of zero": (lambda: plots.wins(VOTES, RANKING, top=0), "top=0: it must be a whole number of at least 1"),
    "a level beyond": (lambda: plots.intervals(RANKING, level=2), "level=2: it must lie between 0 and 1"),
    "a number as title": (lambda: plots.wins(VOTES, RANKING, title=3), "title=3: it must be text"),
    "nobody has as many": (lambda: plots.intervals(RANKING, min_votes=1e9), "no item has so many votes"),
    "no one has as many": (lambda: plots.wins(VOTES, RANKING, min_votes=1e9), "no item has so many votes"),
    "no votes to draw": (lambda: plots.win_rates(5), "comparisons must be a Comparisons, not int"),
    "an order of strangers": (lambda: plots.win_rates(VOTES, ["x"]), "order must list items of the votes"),
    "no history": (lambda: plots.history([], [], np.zeros((0, 0))), "there is no score to draw"),
    "history in words": (lambda: plots.history([1], ["a"], "x"), "scores: numbers are expected"),
    "curves in a list": (lambda: plots.calibration([1]), "curves must be a dict, not list"),
    "no model": (lambda: plots.unit_of(RANKING, "x"), "model must be a Ranker, not str"),
    "no error": (lambda: grade_plots.progress([]), "at least one"),
    "grades without number": (lambda: grade_plots.confusion([[1]], 5), "grades must be a Sequence, not int"),
    "counts of another size": (lambda: grade_plots.confusion([[1]], "ab"), "give a row and a column for each"),
    "labels of another size": (lambda: grade_plots.scores_by_grade([1.0], [0, 1], [], "ab"), "one label for each"),
    "no curves": (lambda: active_plots.cost_by_questions({}), "there is no curve to draw"),
    "points": (lambda: active_plots.cost_by_questions({"a": [1, 2]}), "give .questions, cost. pairs"),
    "coefficients of nothing": (
        lambda: feature_plots.coefficients(5),
        "model must be a RABF, PlackettLuce or DynamicBradleyTerry with features, not int",
    ),
    "no learning": (lambda: feature_plots.learning_curves(5), "curve must be a LearningCurve, not int"),
    "a page of nothing": (lambda: Report("x", VOTES), "ranking must be a Ranking, not str"),
    "a page without votes": (lambda: Report(RANKING, "x"), "comparisons must be a Comparisons, not str"),
    "a page by nobody": (lambda: Report(RANKING, VOTES, model="x"), "model must be a Ranker, not str"),
    "a page's warnings": (lambda: Report(RANKING, VOTES, warnings=[1]), "warnings must be a list of sentences"),
    "an empty page": (lambda: str(Report(RANKING, VOTES, min_votes=1e9)), "min_votes.*no item has so many votes"),
    "a summary of nothing": (lambda: vote_summary(None), "comparisons must be a Comparisons, not NoneType"),
    "a top set in words": (lambda: RANKING.top_set("x"), "k must lie between 1 and the number of items, 3; got 'x'"),
    "a top set in halves": (lambda: RANKING.top_set(1.5), "k must lie between 1 and the number of items, 3; got 1.5"),
    "imaginary ranks": (lambda: kendall_distance([1j, 2], [1, 2]), "a: numbers are expected"),
    "one rank": (lambda: footrule(1.0, 2.0), "two vectors of equal length are needed"),
    "a relevance beyond": (
        lambda: ranking_gain("prec@1", [[1, 0]], [[1, 0]], relevant_from=10**400),
        "relevant_from=1000.* is no relevance"),
    "a seed in words": (
        lambda: PassiveAggressiveOrdinal(random_state="x").fit([[1.0], [2.0]], [1, 2]), "random_state='x'"),
    "a flag in words": (
        lambda: PassiveAggressiveOrdinal(shuffle="no").fit([[1.0], [2.0]], [1, 2]), "shuffle='no': it must be True or"),
    "a variant in a list": (
        lambda: PassiveAggressiveOrdinal(variant=["pa"]).fit([[1.0], [2.0]], [1, 2]), r"variant=\['pa'\] is not known"),
    "C beyond": (lambda: PassiveAggressiveOrdinal(C=10**400).fit([[1.0], [2.0]], [1, 2]), "C=1000"),
    "Newton steps in words": (lambda: CumulativeLogit(max_iter="x").fit([[1.0], [2.0]], [1, 2]), "max_iter='x'"),
    "a Newton tolerance below": (lambda: CumulativeLogit(tol=-1).fit([[1.0], [2.0]], [1, 2]), "tol=-1"),
    "an imaginary example": (
        lambda: PassiveAggressiveOrdinal(classes=[1, 2]).learn_one([1j], 1),
        "not a row of numbers: its values are complex"),
    "no learner": (lambda: neg_mae("x", [[1.0]], [1]), "estimator must be a fitted learner of grades, not str"),
    "a horizon in halves": (
        lambda: ExpertLabelRanker(3, lambda i, j: Halving([[0, 1]]), horizon=4.0),
        "horizon=4.0: it must be a whole number"),
    "halvings in words": (lambda: diagnose(VOTES, replicates="x"), "replicates='x'"),
    "a diagnosis by nobody": (lambda: diagnose(VOTES, "x"), "model must be a Ranker, not str"),
    "a diagnosis of nothing": (lambda: diagnose("x"), "diagnose takes Comparisons, not str"),
    "a seed of smiles": (lambda: diagnose(VOTES, seed="x"), "seed='x'"),
    "a history by another": (lambda: score_history(OTHER, BradleyTerry().fit(VOTES)), "the model has not ranked"),
    "a history among letters": (lambda: score_history(VOTES, points=2).among("ab"), "items must be a list of items"),
    "folds in words": (lambda: assess(VOTES, folds="x"), "folds='x'"),
    "a deal in words": (lambda: assess(VOTES, folds=2, seed="x"), "seed='x'"),
    "sizes in a number": (lambda: learning_curve(VOTES, None, sizes=0.5), "sizes are shares of the votes up to 0.8"),
    "an endless penalty": (lambda: RABF(residual_penalty=1e16).fit(VOTES), "residual_penalty=1e.16: at most 1e.12"),
    "an endless feature": (
        lambda: OnlineRABF().fit(VOTES, {"a": [1.0], "b": [1e200], "c": [2.0]}),
        "feature '.*' of 'b' is 1e.200, too large to be squared"),
    "a page's warnings in a number": (lambda: Report(RANKING, VOTES, warnings=0.5), "warnings must be a list of"),
    "restarts in words": (lambda: kemeny(np.eye(3), restarts="x"), "restarts='x'"),
    "a simulation of nobody": (lambda: Simulated(0), "n=0: it must be a whole number of at least 1"),
    "no pass": (lambda: Grader.fit("t.csv", label="grade", passes=0), "passes=0: it must be"),
    "a tie in words": (lambda: top_k_kendall("ab", "ba", ties="x"), "ties='x': it must be a finite number"),
    "an example of nothing": (lambda: PRank(classes=[1, 2]).learn_one([], 1), "the example has no features"),
    "points beyond floats": (lambda: final_table(BradleyTerry().fit(VOTES), VOTES, points=[10**400, 1, 0]), "points="),
    "a set without name": (lambda: load_graded([]), r"no data set \[\]"),
    "labels without name": (lambda: load_multilabel({}), r"no data set \{\}"),
}  # fmt: skip


SPARSE = {
    "features": lambda table: podium.RABF().fit(VOTES, table),
    "X of grades": lambda table: PassiveAggressiveOrdinal().fit(table, [0, 1, 0, 1]),
    "X of labels": lambda table: LabelRanker().fit(table, [[1, 0], [0, 1], [1, 0], [0, 1]]),
    "y of labels": lambda table: LabelRanker().fit(np.arange(8.0).reshape(4, 2), table),
    "relevance": lambda table: ranking_gain("ap", table, np.arange(8.0).reshape(4, 2)),
    "scores": lambda table: ranking_gain("ap", np.ones((4, 2)), table),
}


@pytest.mark.parametrize("form", ["csr_array", "csc_array"])
@pytest.mark.parametrize("change", [("indptr", 1, 9), ("indptr", -1, -1), ("indices", 0, 7), ("indices", 1, -3)])
@pytest.mark.parametrize("taker", SPARSE)
def test_a_sparse_table_that_points_elsewhere_is_refused(taker, change, form):
    from scipy import sparse

    rows = len(VOTES.items) if taker == "features" else 4
    table = getattr(sparse, form)(np.arange(1.0, 2 * rows + 1).reshape(rows, 2))
    part, place, value = change
    getattr(table, part)[place] = value
    with pytest.raises(InputError, match="a sparse table whose arrays do not fit together"):
        SPARSE[taker](table)


@pytest.mark.parametrize("call", CALLS)
def test_it_is_refused_in_one_sentence(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, words = CALLS[call]
    with pytest.raises(InputError, match=words) as refusal:
        function()
    assert len(str(refusal.value).splitlines()) == 1
    assert not list(tmp_path.iterdir())


COPIES = {
    "abalone": "abalone.csv", "california": "california_housing.csv", "parkinsons": "parkinsons_updrs.csv",
    "mslr": "msn1.fold1.train.5k.txt", "yeast": "yeast.npz",
}  # fmt: skip


@pytest.mark.parametrize("data", [b"", b"a,b\n\xff,", b"PK\x03\x04", b"1,2\n3\n4,5,6\n"])
@pytest.mark.parametrize("name", COPIES)
def test_a_damaged_copy_of_a_data_set_is_named(name, data, tmp_path):
    (tmp_path / COPIES[name]).write_bytes(data)
    load = load_multilabel if name == "yeast" else load_graded
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=f"the copy of {name} is .*damaged .*get it anew"):
            load(name, tmp_path)


NO_GRADES = [
    ("abalone", "sex,a,b,rings\nM,0.1,0.2,7\nF,0.2,0.3,nan\n", "row 2: the grade is no number"),
    ("abalone", "sex,a,b,rings\nM,0.1,0.2,7\nF,,0.3,5\n", "row 2: a feature is no number"),
    ("parkinsons", "subject#,age,motor_UPDRS,total_UPDRS,x\n1,70,20,,1\n2,6,9,11,2\n", "row 1: the grade is no number"),
    ("mslr", "0 qid:1 1:3 2:0.5\n2e300 qid:1 1:1 2:0\n", "row 2: the relevance 2e.300 is none of"),
    ("mslr", "0 qid:1 1:3 2:0.5\n0.5 qid:1 1:1 2:0\n", "row 2: the relevance 0.5 is none of"),
    ("mslr", "0 qid:1 1:3 2:inf\n1 qid:1 1:1 2:0\n", "row 1: a feature is no number|[Ii]nf"),
]


@pytest.mark.parametrize(("name", "text", "words"), NO_GRADES)
def test_a_copy_whose_rows_no_publisher_wrote_is_refused_with_its_row(name, text, words, tmp_path):
    (tmp_path / COPIES[name]).write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=words):
            load_graded(name, tmp_path)


def test_sparse_tables_that_point_outside_are_refused(tmp_path):
    shape = np.array([2, 2])
    good = {"data": np.ones(2), "indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "shape": shape}
    wrong = [("indices", [0, 99]), ("indptr", [0, 9, 2]), ("indices", [0, -1]), ("indptr", [0, 9, -1])]
    for change in ({part: np.array(values)} for part, values in wrong):
        X, Y = good | change, good
        arrays = {f"X_{k}": v for k, v in X.items()} | {f"Y_{k}": v for k, v in Y.items() if k != "data"}
        np.savez(tmp_path / "yeast.npz", **arrays, n_train=1)
        with pytest.raises(InputError, match="the copy of yeast is not what was published"):
            load_multilabel("yeast", tmp_path)


@pytest.mark.parametrize("cell", ["", "[1", "{", b"\xff"])
def test_a_cell_that_no_campaign_holds_is_named(cell, tmp_path):
    pytest.importorskip("sqlalchemy")
    from podium.store import open_store
    from podium.store.file import read_campaign_file

    path = tmp_path / "c.db"
    with open_store(str(path), new=True) as store:
        new_campaign(store)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE campaign SET options = ?", (cell,))
    connection.close()
    with pytest.raises(InputError, match=re.escape(f"{path} is damaged: ") + ".*; restore a copy"):
        read_campaign_file(str(path))


def test_a_model_file_that_holds_an_array_is_no_model(tmp_path):
    path = tmp_path / "m.podium"
    podium.save(Elo().fit(VOTES), path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(parts["podium.json"])
    header["model"]["array"] = 0
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (parts | {"podium.json": json.dumps(header).encode()}).items():
            archive.writestr(name, data)
    with pytest.raises(InputError, match="it holds no model"):
        podium.load(path)


@pytest.mark.parametrize("size", ["1e151", "1.7e308"])
def test_a_huge_feature_is_named_also_where_grades_are_looked_for_first(size, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("size,grade\n" + "".join(f"{k},{1 + k // 10}\n" for k in range(30)) + f"{size},3\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=r"row 31: 'size' is .*too large to learn from"):
            Grader.fit(path, label="grade")


def test_a_penalty_beyond_all_numbers_says_nothing_of_overflow():
    X, y = np.eye(4) * 1e3, np.eye(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = LabelRanker("sum@1", surrogate="softmax", C=1e-300).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


def test_scores_of_rankings_are_compared_with_those_of_models():
    assert compare_rankings(RANKING, Ranking("abc", [1.0, 2.0, 3.0])).items == ("a", "b", "c")


def test_a_message_is_one_line_whatever_it_names():
    """A label with a line end, an array whose text has lines, a message of another package."""
    for part in ("tea\npot", "\u2028", np.eye(3), "\r\x85"):
        for problem in (InputError("there is ", part), InputError(Option("C", part), ": no")):
            assert len(str(problem).splitlines()) == 1


def test_numbers_of_numpy_are_options_without_a_word():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BradleyTerry(l2=np.float32(0.5), max_iter=np.int8(50)).fit(VOTES)
    assert model.ranking_.scores == pytest.approx(BradleyTerry(l2=0.5).fit(VOTES).ranking_.scores, abs=1e-6)


def test_a_covariance_that_rounding_left_no_root_is_drawn_from_all_the_same():
    """Nearly singular and not quite symmetric: the draws have its covariance up to that rounding."""
    plain = np.array([[2.0, -1.0, -1.0], [-1.0, 2.0, -1.0], [-1.0, -1.0, 2.0]])
    rounded = plain + 1e-6 * np.array([[0.0, 1.0, -1.0], [-1.0, 0.0, 1.0], [1.0, -1.0, -6.0]])
    for matrix in (plain, rounded, rounded - 1e-6 * np.eye(3)):
        root = _root(matrix)
        contrast = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])
        assert contrast @ root @ root.T @ contrast.T == pytest.approx(contrast @ matrix @ contrast.T, abs=1e-5)


@pytest.mark.parametrize("row", [{"left": {}, "right": "a", "outcome": 1}, {"left": "a", "right": [[]], "outcome": 1},
                                 {"left": "a", "right": "b", "outcome": 1, "judge": []}, {"podium": {}}])  # fmt: skip
def test_a_row_of_a_log_that_names_no_label_is_told(row):
    assert re.search("it is text or a number", problem_of(row))


@pytest.mark.parametrize("number", ["x", None, 0, -3])
def test_a_database_of_no_format_is_named(number, tmp_path):
    pytest.importorskip("sqlalchemy")
    from podium.store import open_store

    path = tmp_path / "c.db"
    with open_store(str(path), new=True) as store:
        new_campaign(store)
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE podium")
        connection.execute("CREATE TABLE podium (format, version)")
        connection.execute("INSERT INTO podium VALUES (?, '1')", (number,))
    connection.close()
    with pytest.raises(InputError, match="does not say which format it has"):
        open_store(str(path))


def test_what_strange_inputs_found_last_is_refused_by_name(tmp_path):
    from podium import CrowdBradleyTerry
    from podium.metrics import ranking_report
    from podium.multilabel import ExpertThresholdLearner

    votes = podium.Comparisons.from_frame(
        {"winner": list("abcab"), "loser": list("bcaba"), "judge": list("xxxyy")}, judge="judge"
    )
    with pytest.raises(InputError, match="'zebra' is not in this ranking"):
        CrowdBradleyTerry().fit(votes).win_probability("a", "zebra")
    with pytest.raises(InputError, match="at=None is no list of cut-offs"):
        ranking_report([[0, 1]], [[0.1, 0.2]], at=None)
    with pytest.raises(InputError, match="no online ranker"):
        ExpertThresholdLearner(3, 2, 0, 1, horizon=4)
    with pytest.raises(InputError, match="a planner takes at most"):
        Planner(2**70, seed=0)
    assert len(Planner(4, seed=0).plan(2**70)) <= 6
    (tmp_path / "votes.csv").write_text("winner,loser\na,b\n")
    with pytest.raises(InputError, match="is no column"):
        podium.data.read_comparisons_by(str(tmp_path / "votes.csv"), False)


FOUR = numbered(
    "abc", [0, 1, 2, 0, 1] * 6, [1, 2, 0, 1, 2] * 6, outcome=np.array([1, 1, 1, -1, 0] * 6, dtype=np.int8),
    judge=np.array([0, 1, 2] * 10, dtype=np.int32), judges=("x", "y", "z"), time=np.arange(30.0), sided=True,
)  # fmt: skip
GRADED = np.arange(8.0).reshape(8, 1), [1, 1, 2, 1, 2, 2, 3, 3]
TINY, NEAR_HALF = 5e-324, float(np.nextafter(0.5, 0))


def ranker(kind, *features, **fixed):
    return lambda **option: kind(**fixed, **option).fit(FOUR, *features)


def learner(kind, **fixed):
    return lambda **option: kind(**fixed, **option).fit(*GRADED)


WITH_FEATURES = {"a": [1.0], "b": [2.0], "c": [0.0]}
STEPS = [("tol", [0, -1e-9], [1e-3]), ("max_iter", [0, -1, 1.5], [1])]
LIMITS = [  # a call, its option, the values refused nearest to those taken, and the nearest that are taken
    *((ranker(BradleyTerry), *each) for each in [*STEPS, ("l2", [-TINY], [0])]),
    *((ranker(CrowdBradleyTerry), *each) for each in [
        *STEPS, ("l2", [-TINY], [0, TINY]), ("reliability_sd", [-TINY, np.nextafter(5.0, 6)], [0, 5.0])]),
    *((ranker(RABF, WITH_FEATURES), *each) for each in [
        *STEPS, ("feature_penalty", [0, 1.1e12], [1e-3, 1e12]), ("residual_penalty", [0, 1.1e12], [1e-3, 1e12]),
        ("flip_rate", [-TINY, 0.5], [0, 0.49])]),
    *((ranker(PlackettLuce, WITH_FEATURES), *each) for each in [
        *STEPS, ("feature_penalty", [0, 1.1e12], [1e-3, 1e12]), ("l2", [-TINY, 0, 1.1e12], [1e-3, 1e12])]),
    (ranker(PlackettLuce), "l2", [-TINY], [0, 1e13]),
    *((ranker(DynamicBradleyTerry, WITH_FEATURES), *each) for each in [
        *STEPS, ("drift", [-TINY], [0]), ("sd", [0, 0.9e-6, 1001], [1e-6, 1e3]),
        ("feature_penalty", [0, 0.9e-12, 1.1e12], [1e-12, 1e12])]),
    (ranker(DynamicBradleyTerry), "drift", [1e4 / np.sqrt(28)], [1e4 / np.sqrt(29)]),
    *((ranker(OnlineRABF, WITH_FEATURES), *each) for each in [
        ("feature_penalty", [-TINY], [0]), ("residual_penalty", [-TINY], [0]), ("step", [0], [TINY]),
        ("flip_rate", [-TINY, 0.5], [0, NEAR_HALF])]),
    *((ranker(OnlineRABF, WITH_FEATURES, schedule="strong"), *each) for each in [
        ("feature_penalty", [0], [1e-3]), ("residual_penalty", [0], [1e-3])]),
    *((ranker(Elo), *each) for each in [
        ("k", [0, 1.1e100], [TINY, 1e100]), ("initial", [1.1e100, -1.1e100], [1e100, -1e100, -1]),
        ("side_advantage", [1.1e100, -1.1e100], [-1])]),
    (ranker(RankCentrality), "prior", [-TINY, 1e150], [0, 1e149]),
    (ranker(WinRate), "prior", [-TINY], [0]),
    (ranker(LeastSquares), "l2", [-TINY], [0]),
    (lambda weight: Elo().fit(FOUR).update("a", "b", weight=weight), "weight", [-TINY], [0]),
    (lambda weight: OnlineRABF().fit(FOUR).update("a", "b", weight=weight), "weight", [-TINY], [0]),
    (lambda draws: BradleyTerry().fit(FOUR).draw_chances(FOUR, draws, np.random.default_rng(0)), "draws", [0], [1]),
    (lambda points: DynamicBradleyTerry(drift=0.1, sd=1).fit(FOUR).curves(points=points), "points", [0], [1]),
    (lambda half_life: FOUR.aged(half_life), "half_life", [0], [1e-3]),
    (lambda folds: assess(FOUR, ["win-rate"], folds=folds), "folds", [1], [2]),
    (lambda start: forecasts(Elo(), FOUR, start=start), "start", [0, 1], [1 / 30, 1 - 1e-9]),
    (lambda top: final_table(Elo().fit(FOUR), FOUR, top=top, draws=9), "top", [0, 3], [1, 2]),
    (lambda draws: final_table(Elo().fit(FOUR), FOUR, top=1, draws=draws), "draws", [0], [1]),
    (lambda points: score_history(FOUR, Elo().fit(FOUR), points=points), "points", [0], [1, 30, 31]),
    (lambda replicates: diagnose(FOUR, replicates=replicates, splits=1), "replicates", [0], [1]),
    (lambda splits: diagnose(FOUR, replicates=1, splits=splits), "splits", [0], [1]),
    (lambda splits: judging_quality(FOUR, splits=splits), "splits", [0], [1]),
    (lambda seed: judging_quality(FOUR, splits=1, seed=seed), "seed", [-1, True, 0.0], [0, np.int64(1)]),
    (lambda splits: learning_curve(FOUR, WITH_FEATURES, splits=splits, sizes=[0.5]), "splits", [0], [1]),
    (lambda sizes: learning_curve(FOUR, WITH_FEATURES, sizes=[sizes], splits=1), "sizes", [0, 0.81, True, "x"], [0.8]),
    (lambda splits: plan_votes(FOUR, WITH_FEATURES, splits=splits), "splits", [0], [1]),
    (lambda epsilon: plan_votes(FOUR, WITH_FEATURES, epsilon=epsilon, splits=1), "epsilon", [0, 0.5], [NEAR_HALF]),
    (lambda delta: risk_bound(RABF().fit(FOUR, WITH_FEATURES), FOUR, delta=delta), "delta", [0, 1], [TINY, 0.999]),
    (
        lambda replicates: BradleyTerry().fit(FOUR).ranking_.with_uncertainty("bootstrap", replicates=replicates),
        "replicates", [1], [2],
    ),
    (lambda K: check_family("rr", K=K), "K", [1, 6], [2]),
    (lambda B: check_family("dcg@1", K=2, B=B), "B", [0], [1]),
    (lambda ties: kendall_distance([1, 2], [1, 1], ties=ties), "ties", [-TINY, 1.1], [0, 1]),
    (lambda ties: top_k_kendall("ab", "ba", ties=ties), "ties", [-TINY, 1.1], [0, 1]),
    (lambda restarts: kemeny(np.eye(3), restarts=restarts), "restarts", [-1], [0]),
    (lambda n: Simulated(n), "n", [0], [1]),
    (lambda level: Simulated(3, level=level), "level", [-TINY, 1.1], [0, 1]),
    (lambda seed: Simulated(3, seed=seed), "seed", [-1], [0]),
    *((learner(CumulativeLogit), *each) for each in [
        ("l2", [-TINY], [0]), ("tol", [-TINY], [0]), ("max_iter", [0], [1])]),
    *((learner(MarginOrdinal), *each) for each in [("l2", [0], [1e-3]), ("tol", [0], [1e-3]), ("max_iter", [0], [1])]),
    *((learner(PassiveAggressiveOrdinal), *each) for each in [
        ("C", [0], [1e-3]), ("tol", [-TINY], [0]), ("max_iter", [0], [1]), ("random_state", [-1], [0])]),
    *((learner(PassiveAggressiveOrdinal, kernel="rbf"), *each) for each in [
        ("gamma", [0], [1e-3]), ("budget", [0], [1])]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "name", "refused", "taken"), LIMITS)
def test_an_option_ends_where_it_says(call, name, refused, taken):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        for value in refused:
            with pytest.raises(InputError, match=name):
                call(**{name: value})
        for value in taken:
            try:
                call(**{name: value})
            except ConvergenceError:
                assert name == "max_iter"
