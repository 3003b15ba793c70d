"""Parts of the commands that make tables: predictions, metrics, labels, grades, and leaderboards read again."""

import io
import sys
import types
import warnings
from pathlib import Path
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from podium import BradleyTerry, Comparisons, load, save
from podium.cli import diff, grade, label, metrics, predict, standings
from podium.cli.typeset import Cell
from podium.metrics import compare_runs
from podium.ranking.uncertainty import quantile

from helpers import Noted, refusal


class Out:
    """In place of an output: keeps what is written."""

    def __init__(self, form="csv", room=None):
        self.form, self.room, self.written, self.for_people = form, room, [], form == "table"

    def write(self, frame, text=None):
        self.written.append((frame, text))

    def write_text(self, text):
        self.written.append(text)


# ---- predictions ----------------------------------------------------------------------------------------------------


@pytest.fixture
def typed(monkeypatch):
    names = set()
    monkeypatch.setattr(predict, "is_typed", lambda name: name in names)
    return names


PAIRS = Comparisons(["a", "b", "zoe"], np.array([0, 1, 0]), np.array([1, 2, 1]), outcome=[1, 1, 1], sided=True)


class Chances:
    """A model with chances that are known beforehand."""

    def __init__(self, half, bounds=True):
        self.counts_ties_half_, self.bounds = half, bounds
        self.uses = types.SimpleNamespace(ties=True)
        self.ranking_ = types.SimpleNamespace(items=("a", "b"))
        self.asked, self.tie_strength_ = [], None

    def predict_proba(self, pairs):
        return np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.6, 0.3, 0.1]])

    def predict_interval(self, pairs, level):
        self.asked.append((pairs, level))
        chances = self.predict_proba(pairs)
        return (chances - 0.05, chances + 0.05) if self.bounds else None


@pytest.mark.parametrize("half", [False, True])
def test_chances_have_bounds_and_strangers_have_none(typed, capsys, half, monkeypatch):
    monkeypatch.setattr("podium.evaluate.league.unpredicted", lambda model, pairs, place: (np.array([False, True, False]), ["row 2: who?"]))  # fmt: skip  # noqa: E501
    model, out = Chances(half), Out()
    predict._predict_pairs(model, PAIRS, "", 0.9, out)
    ((frame, text),) = out.written
    names = ["win_plus_half_tie"] if half else ["win", "tie", "loss"]
    assert text is None
    assert [name for name in frame.columns if name not in ("left", "right")] == [
        *names, *(f"{name}_{end}" for name in names for end in ("lower", "upper"))]  # fmt: skip
    assert frame["left"].to_list() == ["a", "b", "a"]
    assert frame["right"].to_list() == ["b", "zoe", "b"]
    for k, name in enumerate(names):
        chance = [0.5, 0.6] if k == 0 else [0.3, 0.3] if k == 1 else [0.2, 0.1]
        assert frame[name].to_list() == [chance[0], None, chance[1]]
        assert frame[f"{name}_lower"].to_list() == [
            pytest.approx(chance[0] - 0.05),
            None,
            pytest.approx(chance[1] - 0.05),
        ]
        assert frame[f"{name}_upper"].to_list() == [
            pytest.approx(chance[0] + 0.05),
            None,
            pytest.approx(chance[1] + 0.05),
        ]
    assert model.asked == [(PAIRS, 0.9)]
    err = capsys.readouterr().err.splitlines()
    what = "left wins, plus half a tie" if half else "left wins, ties, loses"
    assert err[:2] == ["row 2: who?", f"2 pairs predicted: {what}; bounds hold with 90 % confidence"]
    assert len(err) == 2 + half


def test_a_model_without_bounds_refuses_a_level_that_is_typed(typed, capsys):
    out = Out()
    sure = Chances(False, bounds=False)
    sure.ranking_.items = ("a", "b", "zoe")
    predict._predict_pairs(sure, PAIRS, "", 0.9, out)
    assert out.written[0][0].columns == ["left", "right", "win", "tie", "loss"]
    assert capsys.readouterr().err == "3 pairs predicted: left wins, ties, loses\n"
    typed.add("level")
    told = refusal(predict._predict_pairs, Chances(False, bounds=False), PAIRS, "", 0.9, out)
    assert told == "level= is about bounds, and Chances knows none; drop it"


def chosen(**more):
    return {"points": "3,1,0", "played": None, "left": None, "right": None, "outcome": None, "left_goals": None,
            "right_goals": None, "top": 4, "draws": 50, "seed": 7} | more  # fmt: skip


@pytest.fixture
def played(monkeypatch, tmp_path):
    table = Noted(pl.DataFrame({"item": ["a"], "top": [1.0]}))
    monkeypatch.setattr("podium.evaluate.league.final_table", table)
    monkeypatch.setattr("podium.evaluate.league.before_first_vote", lambda model, pairs: (np.zeros(3, bool), ""))
    (tmp_path / "played.csv").write_text("h,g,res,judge,group\na,b,1,Ann,x\n")
    table.path = str(tmp_path / "played.csv")
    return table


def test_a_final_table_is_played_by_what_was_typed(played, capsys):
    out = Out()
    predict._predict_table("model", PAIRS, chosen(points="2,1,-0.5", top=3), out)
    assert played.calls == [
        (("model", PAIRS, None), {"points": [2.0, 1.0, -0.5], "top": 3, "draws": 50, "seed": 7})]  # fmt: skip
    assert out.written[0][0].columns == ["item", "top_3"]
    assert capsys.readouterr().err.splitlines() == [
        "3 fixtures played 50 times; equal points: by lot",
        "points so far are not given (--played FILE); the table is of the fixtures alone",
    ]
    named = {"left": "h", "right": "g", "outcome": "res"}
    predict._predict_table("model", PAIRS, chosen(played=played.path, **named), out)
    games = played.calls[1][0][2]
    assert (games.items[games.left[0]], games.items[games.right[0]]) == ("a", "b")
    assert games.count is not None
    assert games.judge is games.group is None
    err = capsys.readouterr().err.splitlines()
    assert err[0] == (
        "2 fixtures of 3, as row 1, met on the same side in --played already; remove those that were played"
    )
    assert len(err) == 2


@pytest.mark.parametrize("points", ["3,1", "3,1,0,0", "a,b,c", ""])
def test_points_are_three_numbers(played, points):
    told = refusal(predict._predict_table, "model", PAIRS, chosen(points=points), Out())
    assert told == f"points={points!r}: give three numbers, as 3,1,0"


def test_a_fixture_before_the_first_vote_is_named_by_its_row(played, monkeypatch):
    monkeypatch.setattr(
        "podium.evaluate.league.before_first_vote", lambda model, pairs: (np.array([False, True, True]), "too early")
    )
    told = refusal(predict._predict_table, "model", PAIRS, chosen(), Out())
    assert told == "row 2: too early; correct the date, or remove the row"


def test_the_column_of_labels_is_the_one_that_is_no_feature():
    model = types.SimpleNamespace(feature_columns_=("x", "y"))
    table = pl.DataFrame({"name": ["a"], "x": [1], "y": [2]})
    assert predict._label_column(model, table, None) == "name"
    assert predict._label_column(model, table, "x") == "x"
    assert predict._label_column(model, table.drop("name"), None) is None
    two = table.with_columns(more=1)
    told = refusal(predict._label_column, model, two, None)
    assert told == "columns name, more are no features; say which names the items by id="
    assert predict._label_column(model, two, "more") == "more"
    told = refusal(predict._label_column, model, table, "who")
    assert told == "no column 'who' (given as id=); found name, x, y"


class Scores:
    feature_names_ = ("x",)
    feature_columns_ = ("x",)

    def __init__(self, information):
        self.ranking_ = types.SimpleNamespace(information=information, items=("a", "d", "z"))
        self.unseen_ = ("d",)

    def predict(self, table, return_std=False):
        scores = table["x"].to_numpy().astype(float)
        return (scores, scores / 10) if return_std else scores


def test_items_are_scored_best_first_with_bounds_and_ranks(capsys, tmp_path):
    table = pl.DataFrame({"name": ["a", "b", "c", "d"], "x": [1.0, 3.0, 3.0, 2.0]})
    frame = predict._scored(Scores(object()), table, "name", 0.9)
    half = quantile(0.9) / 10
    assert frame["item"].to_list() == ["b", "c", "d", "a"]
    assert frame.columns == ["item", "score", "std_error", "lower", "upper", "rank"]
    assert frame["rank"].to_list() == [1, 1, 3, 4]
    assert frame["score"].to_list() == [3.0, 3.0, 2.0, 1.0]
    assert frame["std_error"].to_list() == [0.3, 0.3, 0.2, 0.1]
    assert frame["lower"].to_list() == pytest.approx([score * (1 - half) for score in (3, 3, 2, 1)])
    assert frame["upper"].to_list() == pytest.approx([score * (1 + half) for score in (3, 3, 2, 1)])
    bare = predict._scored(Scores(None), table.drop("name"), None, 0.9)
    assert bare["item"].to_list() == [2, 3, 4, 1]
    assert bare["std_error"].to_list() == bare["lower"].to_list() == [None] * 4
    assert bare.schema == frame.schema | {"item": pl.Int64}
    told = refusal(
        predict._scored, Scores(None), table.with_columns(name=pl.Series(["a", "b", None, None])), "name", 0.9
    )
    assert told == "row 3: column 'name' is empty; name every item, or remove the row"
    table.write_csv(tmp_path / "items.csv")
    out = Out()
    predict._predict_items(Scores(object()), str(tmp_path / "items.csv"), None, 0.9, out)
    assert out.written[0][0].equals(frame)
    assert capsys.readouterr().err == (
        "4 items scored by 1 feature\nthese scores leave out the votes that the model has on 1 item of them ('a'); "
        "the leaderboard of podium rank counts them\n"
    )
    twice = table.with_columns(name=pl.Series(["a", "b", "c", "b"]))
    told = refusal(predict._scored, Scores(None), twice, "name", 0.9)
    assert told == "row 4: 'b' appears in row 2 too; remove one"


def test_a_file_of_pairs_is_told_from_a_table_of_features(tmp_path):
    (tmp_path / "pairs.csv").write_text("home,away\na,b\n")
    (tmp_path / "items.csv").write_text("name,x\na,1\n")
    assert predict._has_sides(str(tmp_path / "pairs.csv"), {"left": None, "right": None}) is True
    assert predict._has_sides(str(tmp_path / "items.csv"), {"left": None, "right": None}) is False
    assert predict._has_sides("nowhere", {"left": "l", "right": None}) is True
    assert predict._has_sides("nowhere", {"left": None, "right": "r"}) is True


def test_fixtures_are_read_with_the_covariates_of_the_model(monkeypatch):
    asked = Noted("pairs")
    monkeypatch.setattr("podium.data.files.read_fixtures", asked)
    named = {"left": "l", "right": "", "time": None}
    assert predict._read_pairs("f.csv", types.SimpleNamespace(covariate_names_=("x",)), named) == "pairs"
    predict._read_pairs("f.csv", types.SimpleNamespace(covariate_names_=()), named)
    sides = {"left": "l", "right": None, "time": None, "season": None}
    assert asked.calls == [(("f.csv",), sides | {"covariates": ["x"]}), (("f.csv",), sides | {"covariates": None})]


# ---- metrics --------------------------------------------------------------------------------------------------------


def compared(**more):
    given = {"test": "student", "correction": "holm", "pairs": ((0, 1), (0, 2), (1, 2)), "level": 0.95}
    given["queries"] = np.full((1, 3), 9)
    return types.SimpleNamespace(**given | more)


@pytest.mark.parametrize(("more", "how"), [
    ({}, "Student's paired t test over 9 queries, Holm's correction over 3 pairs of each metric"),
    ({"correction": "bonferroni"},
     "Student's paired t test over 9 queries, Bonferroni's correction over 3 pairs of each metric"),
    ({"correction": "fdr", "test": "permutation"},
     "randomisation test over 9 queries, false discoveries held over 3 pairs by Benjamini and Hochberg of each metric"),
    ({"correction": "none", "pairs": ((0, 1), (0, 2))},
     "Student's paired t test over 9 queries, no correction for 2 pairs of each metric"),
    ({"pairs": ((0, 1),), "queries": np.array([[1], [9]])}, "Student's paired t test over 1 to 9 queries"),
    ({"pairs": ((0, 1),)}, "Student's paired t test over 9 queries"),
])  # fmt: skip
def test_how_runs_were_tested_is_a_sentence(more, how):
    below = "--differences lists every pair"
    assert metrics._words(compared(**more), False) == (
        f"letters: significantly better than that run ({how}, p below 0.05); {below}"
    )
    assert metrics._words(compared(**more), True) == f"{how}; 95 % intervals, each on its own (Student)"


def test_letters_are_set_apart_where_some_have_two():
    assert metrics._joined(["a", "c"]) == "ac"
    assert metrics._joined(["a", "ab"]) == "a,ab"
    assert metrics._joined([]) == ""


def test_runs_are_called_by_their_files_where_these_differ():
    assert metrics._short(["x/a.run", "y/b.run"]) == ["a", "b"]
    assert metrics._short(["x/a.run", "y/a.run"]) == ["x/a.run", "y/a.run"]


class Report(dict):
    """Means, and each query's value in a frame."""

    def __init__(self, **values):
        super().__init__({name: float(np.mean(each)) for name, each in values.items()})
        self.values_of = values

    def to_frame(self):
        return pl.DataFrame(self.values_of)


def comparison():
    """Three runs: the first is better than the others in ap, and nobody in rr."""
    better = {("ap", "x/a.run"): ["b", "c"]}
    return types.SimpleNamespace(
        letters=("a", "b", "c"), better_than=lambda metric, path: better.get((metric, path), [])
    )


REPORTS = {
    "x/a.run": Report(ap=[0.5, 1.0], rr=[0.25, 0.25]), "x/b.run": Report(ap=[0.0, 0.25], rr=[np.nan, 0.25]),
    "x/c.run": Report(ap=[0.0, 0.5], rr=[0.25, 0.25]),
}  # fmt: skip
TYPED = {"ap": "map", "rr": "mrr"}


def test_means_are_a_row_for_each_run_and_metric():
    frame = metrics._means(REPORTS, comparison(), TYPED)
    assert frame.to_dicts()[:4] == [
        {"run": "x/a.run", "metric": "map", "mean": 0.75, "letter": "a", "better_than": "bc"},
        {"run": "x/a.run", "metric": "mrr", "mean": 0.25, "letter": "a", "better_than": ""},
        {"run": "x/b.run", "metric": "map", "mean": 0.125, "letter": "b", "better_than": ""},
        {"run": "x/b.run", "metric": "mrr", "mean": None, "letter": "b", "better_than": ""},
    ]
    assert metrics._means(REPORTS, None, TYPED).columns == ["run", "metric", "mean"]


def test_means_for_people_have_letters_behind_and_the_best_is_bold_in_papers():
    out = Out("table")
    metrics._write_means(out, REPORTS, comparison(), TYPED)
    frame, text = out.written[0]
    assert frame.equals(metrics._means(REPORTS, comparison(), TYPED))
    assert text.splitlines() == [
        "   run      map        mrr",
        "a  x/a.run  0.7500 bc  0.2500",
        "b  x/b.run  0.1250",
        "c  x/c.run  0.2500     0.2500",
    ]
    paper = Out("markdown")
    metrics._write_means(paper, REPORTS, comparison(), TYPED)
    assert paper.written[0].splitlines() == [
        "|  | run | map | mrr |", "|---|---|--:|--:|", "| a | a | **0.7500**<sup>bc</sup> | **0.2500** |",
        "| b | b | 0.1250 |  |", "| c | c | 0.2500 | **0.2500** |",
    ]  # fmt: skip
    alone = Out("markdown")
    metrics._write_means(alone, {"x/a.run": REPORTS["x/a.run"]}, None, TYPED)
    assert alone.written[0].splitlines() == ["| run | map | mrr |", "|---|--:|--:|", "| a | 0.7500 | 0.2500 |"]
    nothing = Out("latex")
    metrics._write_means(nothing, {"a": Report(ap=[np.nan])}, None, {"ap": "map"})
    assert nothing.written[0].splitlines()[4] == "a &  \\\\"


def test_numbers_of_another_length_end_below_each_other():
    out = Out("table")
    metrics._write_means(out, {"a": Report(dcg=[12.5]), "b": Report(dcg=[1.5])}, None, {"dcg": "dcg"})
    assert out.written[0][1].splitlines() == ["run  dcg", "a    12.5000", "b     1.5000"]


def test_one_row_for_each_run_and_query():
    frame = metrics._per_query(["q1", "q2"], REPORTS, TYPED)
    assert frame.columns == ["run", "query", "map", "mrr"]
    assert frame.to_dicts()[2:4] == [
        {"run": "x/b.run", "query": "q1", "map": 0.0, "mrr": None},
        {"run": "x/b.run", "query": "q2", "map": 0.25, "mrr": 0.25},
    ]
    assert len(frame) == 6


@pytest.mark.parametrize("form", ["table", "latex"])
def test_differences_have_intervals_and_two_p_values(form):
    made = types.SimpleNamespace(to_frame=lambda: pl.DataFrame({
        "metric": ["ap", "rr"], "run": ["a", "a"], "against": ["b", "b"], "difference": [0.25, -0.125],
        "lower": [0.125, None], "upper": [0.375, None], "p_value": [0.00001, None], "p_adjusted": [0.0002, None],
    }))  # fmt: skip
    out = Out(form)
    metrics._write_differences(out, made, TYPED)
    if form == "table":
        frame, text = out.written[0]
        assert frame["metric"].to_list() == ["map", "mrr"]
        assert text.splitlines() == [
            "metric  run  against  difference         interval         p  adjusted p",
            "map     a    b            0.2500  0.1250 … 0.3750  < 0.0001      0.0002",
            "mrr     a    b           -0.1250",
        ]
    else:
        lines = out.written[0].splitlines()
        assert lines[0] == "\\begin{tabular}{lllrrrr}"
        assert lines[4].startswith("map & a & b & 0.2500 & 0.1250 \\dots{} 0.3750 & \\textless{} 0.0001 & 0.0002")


def test_a_table_without_rows_is_its_heads_and_names_are_shortened_to_the_terminal():
    out = Out("table")
    metrics._write(out, pl.DataFrame({"run": [], "query": []}), [])
    assert out.written[0][1].split() == ["run", "query"]
    narrow = Out("table", room=40)
    rows = [[Cell("r" * 30), Cell("q" * 30), Cell("0.5")]]
    metrics._write(narrow, pl.DataFrame({"run": [1], "query": [1], "ap": [1]}), rows)
    assert max(map(len, narrow.written[0][1].splitlines())) <= 40
    assert len(narrow.written[0][1].splitlines()) == 2


def test_real_comparisons_have_what_is_read_here():
    from podium.metrics.trec import run_report

    judged = pl.DataFrame({"query": ["q1", "q2"], "doc": ["a", "b"], "relevance": [1, 1]})
    good = pl.DataFrame({"query": ["q1", "q2"], "doc": ["a", "b"], "score": [1.0, 1.0]})
    reports = {name: run_report(judged, good, metrics=["ap"])[1] for name in ("x", "y")}
    found = compare_runs(reports)
    assert {"letters", "pairs", "level", "test", "correction", "has_untested"} <= set(dir(found))
    assert list(found.better_than("ap", "x")) == []


# ---- labels ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def ranked(monkeypatch):
    """A label ranker whose scores are the features."""
    model = types.SimpleNamespace(
        columns_=("sport", "money", "art"),
        labels_=("sport", "money", "art"),
        loss="ap",
        decision_function=lambda X: np.asarray(X, float),
    )
    monkeypatch.setattr("podium.models.load", lambda path: model)
    return model


def test_labels_are_predicted_best_first_with_rows_and_names(ranked, tmp_path):
    (tmp_path / "new.csv").write_text("doc,sport,money,art\nx,1,3,2\ny,5,5,9\n")
    for top, keep in (("2", 2), ("9", 3)):
        done = CliRunner().invoke(
            label.predict, [str(tmp_path / "new.csv"), "--id", "doc", "--model", "m", "--top", top]
        )
        assert done.exit_code == 0, done.output
        frame = pl.read_csv(done.stdout.encode())
        assert frame.columns == ["row", "doc", "rank", "label", "score"]
        best = [["money", "art", "sport"][:keep], ["art", "sport", "money"][:keep]]
        assert frame["label"].to_list() == best[0] + best[1]
        assert frame["row"].to_list() == [1] * keep + [2] * keep
        assert frame["doc"].to_list() == ["x"] * keep + ["y"] * keep
        assert frame["rank"].to_list() == [*range(1, keep + 1)] * 2
        assert frame["score"].to_list() == ([3.0, 2.0, 1.0][:keep]) + ([9.0, 5.0, 5.0][:keep])
        assert done.stderr == f"2 examples, {keep} of 3 labels each\n"


@pytest.mark.parametrize("name", ["row", "rank", "label", "score"])
def test_a_column_of_predictions_is_no_name_of_an_example(ranked, name, tmp_path):
    done = CliRunner().invoke(label.predict, ["new.csv", "--id", name, "--model", "m"])
    assert (
        str(done.exception) == f"id={name!r}: the predictions have a column {name!r} of their own; rename yours first"
    )


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("1,x", ": whole numbers separated by commas, as in 1,3,5"),
        ("0,1", ": there are 3 labels; give cut-offs from 1 to 3"),
        ("4", ": there are 3 labels; give cut-offs from 1 to 3"),
        ("-1", ": there are 3 labels; give cut-offs from 1 to 3"),
    ],
)
def test_cut_offs_are_whole_numbers_up_to_the_labels(ranked, monkeypatch, at, words):
    examples = types.SimpleNamespace(X=np.eye(3), Y=np.eye(3))
    monkeypatch.setattr("podium.multilabel.tables.read_examples", lambda *args, **more: examples)
    done = CliRunner().invoke(label.evaluate, ["t.csv", "--labels", "tag_*", "--model", "m", "--at", at])
    assert str(done.exception) == f"at={at!r}{words}"


def test_losses_and_gains_are_asked_for_as_typed(ranked, monkeypatch):
    examples = types.SimpleNamespace(X=np.eye(3), Y=np.ones((3, 3)))
    read = Noted(examples)
    monkeypatch.setattr("podium.multilabel.tables.read_examples", read)
    reports = []

    def report(truth, scores, cuts, **more):
        reports.append((truth.tolist(), scores.tolist(), cuts, more))
        return {"ap": 0.25, "rank": 0.5} if more["kind"] == "loss" else {"ap": 0.75}

    monkeypatch.setattr("podium.metrics.ranking_report", report)
    typed = ["--relevant-from", "2", "--gain", "linear", "--ties", "worst", "--empty", "skip", "--at", "1,3,7,9"]
    done = CliRunner().invoke(
        label.evaluate, ["t.csv", "--labels", "t*", "--id", "d", "--model", "m", *typed, "--format", "csv"]
    )
    assert done.exit_code == 0, done.output
    assert read.calls == [
        (("t.csv",), {"labels": ("t*",), "ids": ("d",), "features": ranked.columns_, "known": ranked.labels_})
    ]
    options = {"relevant_from": 2.0, "gain": "linear", "ties": "worst", "empty": "skip"}
    assert reports == [
        (np.ones((3, 3)).tolist(), np.eye(3).tolist(), [1, 3], options | {"kind": kind}) for kind in ("loss", "gain")
    ]
    assert done.stdout.splitlines() == ["metric,loss,gain", "ap,0.25,0.75", "rank,0.5,"]
    assert done.stderr.splitlines() == [
        "3 examples, 3 labels; trained for ap; --at 7,9 left out, there are fewer labels",
        "the loss is what the best order of a row's labels would gain more",
    ]


@pytest.mark.parametrize(
    ("exact", "surrogate", "taken", "words"),
    [
        (True, "auto", "pairwise", None),
        (False, "univariate", "univariate", "guess"),
        (False, "auto", "univariate", "guess"),
        (False, "pairwise", "pairwise", "guess"),
        (False, "auto", "pairwise", "pairs"),
        (False, "auto", None, "guess"),
    ],
)
def test_what_a_label_ranker_is_given_and_what_is_said_of_it(monkeypatch, exact, surrogate, taken, words):
    made = []

    class Ranker:
        def __init__(self, *args, **more):
            made.append((args, more))
            self.scorer_, self.exact_, self.validation_ = "linear", exact, {}
            if taken:
                self.surrogate_ = taken

        def fit(self, X, Y):
            made.append((X, Y))
            return self

    examples = types.SimpleNamespace(X=np.ones((5, 2)), Y=np.ones((5, 3)), labels=("a", "b", "c"), features=("x", "y"))
    monkeypatch.setattr("podium.multilabel.tables.read_examples", lambda *args, **more: examples)
    monkeypatch.setattr("podium.multilabel.LabelRanker", Ranker)
    saved = Noted()
    monkeypatch.setattr("podium.models.save", saved)
    for more, scale in (([], "auto"), (["--standardize"], True), (["--no-standardize"], False)):
        typed = ["--loss", "ap", "--scorer", "trees", "--C", "2", "--surrogate", surrogate, *more, "--format", "csv"]
        done = CliRunner().invoke(label.fit, ["t.csv", "--labels", "t*", "--save", "m.podium", *typed])
        assert done.exit_code == 0, done.output
        assert made[-2] == (("ap", "trees"), {"C": 2.0, "surrogate": surrogate, "standardize": scale})
        assert made[-1][0] is examples.X
        assert made[-1][1] is examples.Y
    ranker, place = saved.calls[0][0]
    assert (ranker.labels_, ranker.columns_, place) == (("a", "b", "c"), ("x", "y"), Path("m.podium"))
    assert done.stdout.splitlines() == [
        "examples,features,labels,loss,scorer,exact", f"5,2,3,ap,linear,{str(exact).lower()}"]  # fmt: skip
    said = {
        None: [], "guess": ["no target makes the ranking best for ap with this surrogate; take it as a good guess"],
        "pairs": ["pairs did better on rows held out; with far more rows, compare --surrogate univariate"],
    }  # fmt: skip
    assert done.stderr.splitlines() == ["trained for ap, saved m.podium", *said[words]]


# ---- grades ---------------------------------------------------------------------------------------------------------


class Grader:
    """In place of a grader: notes how it is made."""

    calls: ClassVar[list] = []

    def __init__(self):
        self.grades, self.rows, self.features, self.error = np.array([1, 2, 3]), 40, ("x", "y"), 0.25
        self.gaps, self.bins, self.curve = [], None, "curve"

    @classmethod
    def fit(cls, tables, **more):
        cls.calls.append((tables, more))
        return cls()

    def partial_fit(self, tables, **more):
        Grader.calls.append((tables, more))
        self.grades = np.array([1, 2, 3, 4])


@pytest.fixture
def grading(monkeypatch):
    Grader.calls = []
    saved = Noted()
    monkeypatch.setattr("podium.ordinal.grading.grader.Grader", Grader)
    monkeypatch.setattr("podium.models.save", saved)
    monkeypatch.setattr(grade, "_load", lambda path: Grader())
    return saved


def fit(*args):
    return CliRunner().invoke(grade.fit, [*args, "--format", "csv"])


def test_a_grader_is_given_all_that_was_typed(grading):
    typed = ["--label", "g", "--low", "l", "--high", "h", "--id", "i", "--id", "j", "--weight", "w", "--no-header",
             "--one-hot", "--missing", "mean", "--bins", "7,9", "--classes", "1..3", "--variant", "pa2", "--C", "0.5",
             "--rbf", "9", "--seed", "4", "--passes", "3", "--save", "m.podium"]  # fmt: skip
    done = fit("a.csv", "b.csv", *typed)
    assert done.exit_code == 0, done.output
    ((tables, more),) = Grader.calls
    assert tables == ("a.csv", "b.csv")
    assert more.pop("classes").tolist() == [1, 2, 3]
    assert more == {
        "label": "g", "low": "l", "high": "h", "id": ("i", "j"), "weight": "w", "no_header": True, "one_hot": True,
        "missing": "mean", "bins": [7.0, 9.0], "variant": "pa2", "C": 0.5, "rbf": 9, "seed": 4, "passes": 3,
        "progress": grade.counting,
    }  # fmt: skip
    assert grading.calls[0][0][1] == Path("m.podium")
    assert done.stdout.splitlines() == ["rows,features,grades,error", "40,2,3,0.25"]
    first = "the error is by how many grades a row was off, on average, before it was learned"
    assert done.stderr.splitlines() == [f"{first} for the first time; saved m.podium"]
    done = fit("a.csv", "--label", "g", "--save", "m.podium")
    assert done.stderr.splitlines() == [f"{first}; saved m.podium"]
    assert Grader.calls[1][1] == {
        "label": "g", "low": None, "high": None, "id": (), "weight": None, "no_header": False, "one_hot": False,
        "missing": "error", "bins": None, "variant": "pa1", "C": "auto", "rbf": None, "seed": 0, "passes": 1,
        "classes": None, "progress": grade.counting,
    }  # fmt: skip


def test_a_grader_learns_on_with_what_may_still_be_said(grading):
    done = fit(
        "a.csv",
        "--label",
        "g",
        "--id",
        "i",
        "--weight",
        "w",
        "--model",
        "m.podium",
        "--passes",
        "2",
        "--no-header",
        "--classes",
        "1..4",
    )
    assert done.exit_code == 0, done.output
    ((_, more),) = Grader.calls
    assert more.pop("classes").tolist() == [1, 2, 3, 4]
    assert more == {
        "label": "g",
        "low": None,
        "high": None,
        "id": ("i",),
        "weight": "w",
        "no_header": True,
        "passes": 2,
        "progress": grade.counting,
    }
    assert grading.calls[0][0][1] == Path("m.podium")
    assert done.stderr.splitlines()[1] == "new grade: 4; now 1 to 4"
    fit("a.csv", "--label", "g", "--model", "m.podium", "--save", "n.podium")
    assert grading.calls[1][0][1] == Path("n.podium")
    for name, typed in (("variant", ["--variant", "pa"]), ("C", ["--C", "1"]), ("one_hot", ["--one-hot"]),
                        ("missing", ["--missing", "mean"]), ("rbf", ["--rbf", "9"]), ("seed", ["--seed", "1"]),
                        ("bins", ["--bins", "7"])):  # fmt: skip
        told = str(fit("a.csv", "--label", "g", "--model", "m.podium", *typed).exception)
        assert told == f"{name}= was settled when the model of model= began; drop it"


@pytest.mark.parametrize(("more", "once"), [
    ([], True), (["--classes", "1..3"], False), (["--bins", "7"], False), (["--model", "m"], False),
    (["--classes", "1..3", "--passes", "2"], True), (["--model", "m", "--passes", "2"], True),
])  # fmt: skip
def test_standard_input_is_read_once(grading, more, once):
    done = fit("-", "--label", "g", "--save", "n", *more)
    if once:
        assert str(done.exception) == "standard input can be read only once: give classes=, and one pass"
    else:
        assert done.exit_code == 0, done.output


def test_many_grades_are_too_many():
    assert len(grade._grades("1..10000")) == 10_000
    told = refusal(grade._grades, "0..10000")
    assert told == "classes='0..10000': that is 10,001 grades; at most 10,000 are possible"
    assert refusal(grade._grades, "1,inf").endswith(": a grade is a number or a word, not NaN or infinity")
    assert grade._number("0.5") == 0.5
    assert grade._number("auto") == "auto"


class Drawn:
    """A figure that notes how it is made."""

    made: ClassVar[list] = []

    def __init__(self, **options):
        Drawn.made.append(options)

    def subplots(self, *args, **more):
        Drawn.made.append((args, more))
        return [["left", "right"]]


def test_pictures_have_a_panel_for_each_thing_drawn(monkeypatch):
    Drawn.made, saved, asked = [], Noted(), []
    monkeypatch.setattr("matplotlib.figure.Figure", Drawn)
    monkeypatch.setattr("podium.show.plots.save", saved)
    grade._draw(Path("x.svg"), asked.append, 2)
    assert Drawn.made == [{"figsize": (12, 4), "layout": "constrained"}, ((1, 2), {"squeeze": False})]
    assert asked == [["left", "right"]]
    assert saved.calls[0][0][1:] == (Path("x.svg"),)
    assert saved.calls[0][1] == {"dpi": 110}


def test_scores_and_confusion_are_drawn_side_by_side(monkeypatch):
    scores, confusion = Noted(), Noted()
    monkeypatch.setattr("podium.show.grade_plots.scores_by_grade", scores)
    monkeypatch.setattr("podium.show.grade_plots.confusion", confusion)
    evaluation = types.SimpleNamespace(grades=np.array([1, 2]), scores="s", truth="t", counts="c")
    grader = types.SimpleNamespace(classifier=types.SimpleNamespace(thresholds_="thresholds"))
    grade._panels(["left", "right"], evaluation, grader)
    assert scores.calls == [(("s", "t", "thresholds", [1, 2]), {"ax": "left"})]
    assert confusion.calls == [(("c", [1, 2]), {"ax": "right"})]


@pytest.mark.parametrize("plot", [None, "x.svg"])
def test_grades_are_evaluated_as_typed(monkeypatch, plot):
    evaluation = types.SimpleNamespace(
        counts=np.array([[3, 1], [0, 4]]), grades=np.array([1, 2]), accuracy=0.875, error=0.125, rows=8,
        to_frame=lambda: pl.DataFrame({"grade": [1, 2]}),
    )  # fmt: skip
    asked, drawn = Noted(evaluation), []
    monkeypatch.setattr(grade, "_load", lambda path: types.SimpleNamespace(evaluate=asked))
    monkeypatch.setattr(grade, "_draw", lambda path, draw, panels: drawn.append((path, panels)))
    typed = ["--label", "g", "--no-header", *(["--plot", plot] if plot else []), "--format", "csv"]
    done = CliRunner().invoke(grade.evaluate, ["a.csv", "--model", "m", *typed])
    assert done.exit_code == 0, done.output
    assert asked.calls == [((("a.csv",),), {
        "label": "g", "low": None, "high": None, "sample": 50_000 if plot else 0, "no_header": True,
        "progress": grade.counting,
    })]  # fmt: skip
    assert drawn == ([(Path(plot), 2)] if plot else [])
    assert done.stdout.splitlines() == ["grade", "1", "2"]
    assert done.stderr == "8 rows: mean absolute error 0.125, right 87.5 %\n"


@pytest.mark.parametrize(("counts", "told"), [
    ([[1, 0], [1, 0]], True), ([[3, 0], [4, 0]], True), ([[3, 0], [0, 0]], False), ([[3, 1], [4, 0]], False),
    ([[0, 1], [0, 1]], True), ([[1, 0], [0, 1]], False),
])  # fmt: skip
def test_a_model_that_gives_every_row_one_grade_is_told_where_there_are_others(monkeypatch, counts, told):
    evaluation = types.SimpleNamespace(
        counts=np.array(counts), grades=np.array([7, 9]), accuracy=0.5, error=0.5, rows=2,
        to_frame=lambda: pl.DataFrame({"grade": [7, 9]}),
    )  # fmt: skip
    monkeypatch.setattr(grade, "_load", lambda path: types.SimpleNamespace(evaluate=lambda *args, **more: evaluation))
    done = CliRunner().invoke(grade.evaluate, ["a.csv", "--label", "g", "--model", "m"])
    given = 7 if np.array(counts)[:, 0].any() else 9
    words = [line for line in done.stderr.splitlines() if "every row" in line]
    assert words == ([f"the model gives every row the grade {given}"] if told else [])


@pytest.mark.parametrize(("level", "right", "more"), [(None, 0.9, 0), (0.5, 0.9, 2), (0.9, 0.9, 1), (0.95, 0.9, 1)])
def test_grades_are_predicted_as_typed(monkeypatch, level, right, more):
    asked, held = Noted([pl.DataFrame({"grade": [1]})]), Noted((0.875, 1234))
    grader = types.SimpleNamespace(grade=asked, held=held, right=right)
    monkeypatch.setattr(grade, "_load", lambda path: grader)
    typed = ["--id", "i", "--no-header", *(["--level", str(level)] if level else [])]
    done = CliRunner().invoke(grade.predict, ["a.csv", "--model", "m", *typed])
    assert done.exit_code == 0, done.output
    assert asked.calls == [
        ((("a.csv",),), {"id": ("i",), "level": level, "no_header": True, "progress": grade.counting})
    ]
    assert done.stdout.splitlines() == ["grade", "1"]
    assert held.calls == ([((level,), {})] if level else [])
    lines = done.stderr.splitlines()
    assert len(lines) == more
    if level:
        assert "; while learning, 88 % of 1,234 rows, by sets from the rows before them" in lines[0]


def test_another_model_is_not_a_grader_nor_a_label_ranker(tmp_path):
    model = BradleyTerry(l2=0.1).fit(Comparisons.from_pairs([("a", "b"), ("b", "a")]))
    save(model, tmp_path / "m.podium")
    place = tmp_path / "m.podium"
    told = refusal(grade._load, place)
    assert told == f"{place} is a file of BradleyTerry, not a model of `podium grade fit`"
    assert refusal(label._load, place) == f"{place} is a file of BradleyTerry, not a model of `podium label fit`"
    assert isinstance(load(place), BradleyTerry)


# ---- leaderboards read again ----------------------------------------------------------------------------------------


def leaderboard(tmp_path, text):
    (tmp_path / "b.csv").write_text(text)
    return standings.leaderboard_in(str(tmp_path / "b.csv"))


def test_a_leaderboard_has_what_its_columns_say(tmp_path):
    made = leaderboard(tmp_path, "item,score,std_error,comparisons\na,2,0.5,10\nb,-2,0.25,20\n")
    assert made.items == ("a", "b")
    assert made.scores.tolist() == [2.0, -2.0]
    assert made.std_errors.tolist() == [0.5, 0.25]
    assert made.votes.tolist() == [10.0, 20.0]
    assert (made.covariance, made.settings, made.estimates) == (None, None, None)
    bare = leaderboard(tmp_path, "item,score\n1,2\n2,-2\n")
    assert (bare.items, bare.std_errors, bare.votes) == (("1", "2"), None, None)
    holes = leaderboard(tmp_path, "item,score,std_error,comparisons\na,2,0.5,\nb,-2,,20\n")
    assert (holes.std_errors, holes.votes) == (None, None)
    assert leaderboard(tmp_path, "winner,loser\na,b\n") is None


ELO = 400 / np.log(10)


@pytest.mark.parametrize(("settings", "unit"), [
    ("method=bradley-terry", 1.0), ("method=bradley-terry scale=elo", ELO), ("method=elo", ELO),
    ("method=bradley-terry scale=log-odds", 1.0),
])  # fmt: skip
def test_scores_and_errors_are_brought_to_log_odds(tmp_path, settings, unit):
    made = leaderboard(tmp_path, f"item,score,std_error,settings\na,200,50,{settings}\nb,100,25,{settings}\n")
    np.testing.assert_allclose(made.scores, np.array([200, 100]) / unit)
    np.testing.assert_allclose(made.std_errors, np.array([50, 25]) / unit)
    assert made.settings["method"] == settings.split()[0].partition("=")[2]
    assert made.estimates is None


def test_intervals_of_a_penalty_from_the_votes_lie_around_the_scores_by_votes_alone(tmp_path):
    head = "item,score,lower,upper,std_error,settings\n"
    rows = "a,200,100,500,50,l2=auto scale=elo\nb,100,-inf,300,25,l2=auto scale=elo\n"
    made = leaderboard(tmp_path, head + rows)
    np.testing.assert_allclose(made.estimates, np.array([300, 100]) / ELO)
    np.testing.assert_allclose(made.std_errors, np.array([50, 25]) / ELO)
    open_ends = leaderboard(tmp_path, head + rows + "c,50,-inf,inf,25,l2=auto scale=elo\n")
    np.testing.assert_allclose(open_ends.estimates, np.array([300, 100, 50]) / ELO)
    for lacking in ("lower", "upper"):
        again = leaderboard(tmp_path, (head + rows).replace(lacking, "other"))
        assert (again.estimates, again.std_errors) == (None, None)
    fixed = leaderboard(tmp_path, (head + rows).replace("l2=auto", "l2=1.0"))
    assert fixed.estimates is None
    assert fixed.std_errors is not None


@pytest.mark.parametrize(("text", "words"), [
    ("item,score\na,x\n", "score, std_error, lower, upper and comparisons must be numbers"),
    ("item,score\na,1\nb,2\na,3\n", "'a' appears twice; give one leaderboard, written without --by"),
    ("item,score\na,1\nb,\n", "a score is missing or not finite; write the leaderboard anew with podium rank"),
    ("item,score\na,1\nb,inf\n", "a score is missing or not finite; write the leaderboard anew with podium rank"),
    ("item,score,settings\na,1,x=1\nb,2,x=2\nc,3,x=3\n",
     "its rows were fitted in 3 ways (settings); give one leaderboard"),
])  # fmt: skip
def test_a_leaderboard_that_is_none_is_refused(tmp_path, text, words):
    assert refusal(leaderboard, tmp_path, text) == f"{tmp_path / 'b.csv'}: {words}"


def test_a_saved_model_is_a_leaderboard_and_a_table_that_is_none_is_named(tmp_path):
    model = BradleyTerry(l2=0.1).fit(Comparisons.from_pairs([("a", "b"), ("a", "b"), ("b", "a")]))
    save(model, tmp_path / "m.podium")
    (tmp_path / "m.zip").write_bytes((tmp_path / "m.podium").read_bytes())
    for name in ("m.podium", "m.zip"):
        np.testing.assert_allclose(standings.standing_in(str(tmp_path / name)).scores, model.ranking_.scores)
    piped = standings.Piped((tmp_path / "m.podium").read_bytes(), "standard input")
    np.testing.assert_allclose(standings.leaderboard_in(piped).scores, model.ranking_.scores)
    (tmp_path / "v.csv").write_text("winner,loser\na,b\n")
    place = tmp_path / "v.csv"
    assert refusal(standings.standing_in, str(place)) == (
        f"{place} is no leaderboard: it has no columns item and score; write one with podium rank -o"
    )


def test_what_is_no_ranking_holds_no_leaderboard(monkeypatch):
    monkeypatch.setattr("podium.models.load", lambda source: types.SimpleNamespace())
    told = refusal(standings.leaderboard_in, "x.podium")
    assert told == "x.podium: a SimpleNamespace holds no leaderboard; save one with podium rank --save"


def test_what_a_pipe_gives_once_can_be_read_again(monkeypatch, tmp_path):
    (tmp_path / "b.csv").write_text("x")
    assert standings.source_of(str(tmp_path / "b.csv")) == str(tmp_path / "b.csv")
    assert standings.source_of(str(tmp_path)) == str(tmp_path)
    assert standings.source_of("nowhere.csv") == "nowhere.csv"
    text = b"item,score\na,1\nb,0\n"
    monkeypatch.setattr(sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(text)))
    piped = standings.source_of("-")
    assert (piped.name, piped.getvalue()) == ("standard input", text)
    assert standings.leaderboard_in(piped).items == ("a", "b")
    assert standings.leaderboard_in(piped).items == ("a", "b")
    votes = standings.Piped(b"winner,loser\na,b\na,b\nb,a\n", "standard input")
    assert standings.leaderboard_in(votes) is None
    made = standings.ranked_votes(votes, {})
    assert made.items[int(np.argmax(made.scores))] == "a"


def test_votes_that_need_a_warning_are_ranked_without(tmp_path):
    (tmp_path / "v.csv").write_text("winner,loser\na,b\na,b\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(standings.ranked_votes(str(tmp_path / "v.csv"), {}).items) == {"a", "b"}


@pytest.mark.parametrize("columns", [{}, {"winner": "w", "loser": "l"}])
def test_votes_are_ranked_as_the_library_does(tmp_path, columns):
    head = "w,l,judge" if columns else "winner,loser,judge"
    (tmp_path / "v.csv").write_text(f"{head}\n" + "a,b,x\na,b,y\nb,a,x\nb,c,x\nc,a,y\n")
    made = standings.ranked_votes(str(tmp_path / "v.csv"), columns)
    votes = Comparisons.from_pairs([("a", "b"), ("a", "b"), ("b", "a"), ("b", "c"), ("c", "a")])
    expected = BradleyTerry().fit(votes).ranking_
    assert dict(zip(made.items, made.scores.tolist(), strict=True)) == pytest.approx(
        {item: expected.score(item) for item in expected.items}, abs=1e-6
    )


def changed(count, *, scored=True, tested=True):
    rows = {
        "item": [f"i{k}" for k in range(count)],
        "rank_a": [k + 1 for k in range(count)],
        "rank_b": [k + 2 for k in range(count)],
        "climbed": [(-1) ** k * (k % 3) for k in range(count)],
    }
    if scored:
        rows |= {"change": [(-1) ** k * k / 4 for k in range(count)], "lower": [-1.0] * count, "upper": [1.0] * count}
    if tested:
        rows |= {"significant": [k == 1 for k in range(count)]}
    return pl.DataFrame(rows)


def test_changes_are_a_table_with_arrows_and_stars():
    lines = diff._table(changed(3), None).splitlines()
    assert lines == [
        "item  rank      change of score",
        "i0    1 → 2 =   +0.00 (-1.00 … +1.00)",
        "i1    2 → 3 ▼1  -0.25 (-1.00 … +1.00)  *",
        "i2    3 → 4 ▲2  +0.50 (-1.00 … +1.00)",
    ]
    assert diff._table(changed(2, tested=False), None).splitlines()[2] == "i1    2 → 3 ▼1  -0.25"
    assert diff._table(changed(2, scored=False, tested=False), None).splitlines()[2] == "i1    2 → 3 ▼1"


def test_of_many_changes_the_largest_are_shown():
    assert len(diff._table(changed(30), None).splitlines()) == 31
    lines = diff._table(changed(33), None).splitlines()
    assert len(lines) == 32
    assert lines[-1] == "… and 3 more that changed less"
    assert [line.split()[0] for line in lines[1:4]] == ["i32", "i31", "i30"]
    lines = diff._table(changed(33, scored=False, tested=False), None).splitlines()
    assert [line.split()[0] for line in lines[1:4]] == ["i2", "i5", "i8"]


# ---- whole commands -------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("pairs.csv").write_text("left,right\na,b\nb,c\n")
    Path("items.csv").write_text("name,x\na,1\nb,2\n")
    Path("votes.csv").write_text("winner,loser\n" + "a,b\nb,c\nc,a\na,c\n" * 5)
    Path("other.csv").write_text("winner,loser\n" + "b,a\nb,c\nc,b\na,c\n" * 5)
    return tmp_path


def fitted_model(featured):
    model = BradleyTerry(l2=0.1).fit(Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a")] * 3))
    if featured:
        from podium import RABF

        known = pl.DataFrame({"id": ["a", "b", "c"], "x": [1.0, 2.0, 4.0]})
        votes = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a")] * 3)
        model = RABF(feature_penalty=1.0, residual_penalty=1.0).fit(votes, features=known)
    return model


@pytest.fixture(params=[False, True], ids=["plain", "featured"])
def predicting(monkeypatch, folder, request):
    """`podium predict` with a model of features or without; what each of the three ways is given."""
    noted = types.SimpleNamespace(featured=request.param)
    for name in ("_predict_items", "_predict_table", "_predict_pairs"):
        setattr(noted, name, Noted())
        monkeypatch.setattr(predict, name, getattr(noted, name))
    monkeypatch.setattr("podium.models.load", lambda path: fitted_model(request.param))

    def call(*args):
        done = CliRunner().invoke(predict.predict, [*args, "--model", "m.podium"])
        return str(done.exception) if done.exception else None

    noted.call = call
    return noted


def test_pairs_tables_and_items_are_predicted_each_in_its_way(predicting):
    assert predicting.call("pairs.csv", "--level", "0.9") is None
    ((model, pairs, _, level, out), _) = predicting._predict_pairs.calls[0]
    assert (len(pairs.left), level, out.form) == (2, 0.9, "csv")
    assert hasattr(model, "ranking_")
    assert predicting.call("pairs.csv", "--table", "--top", "2", "--draws", "9", "--seed", "3") is None
    ((_, pairs, chosen, _), _) = predicting._predict_table.calls[0]
    assert {name: chosen[name] for name in ("top", "draws", "seed", "points")} == {
        "top": 2, "draws": 9, "seed": 3, "points": "3,1,0"}  # fmt: skip
    items = ("items.csv", "--level", "0.9"), ("pairs.csv", "--id", "left")
    for args in items if predicting.featured else ():
        assert predicting.call(*args) is None
    if predicting.featured:
        assert [call[0][1:4] for call in predicting._predict_items.calls] == [
            ("items.csv", None, 0.9), ("pairs.csv", "left", 0.95)]  # fmt: skip
    assert len(predicting._predict_pairs.calls) == len(predicting._predict_table.calls) == 1


def test_what_a_prediction_would_not_look_at_is_refused(predicting):
    for name, args in (
        ("played", ["--played", "votes.csv"]),
        ("points", ["--points", "2,1,0"]),
        ("top", ["--top", "2"]),
        ("draws", ["--draws", "9"]),
        ("seed", ["--seed", "1"]),
    ):
        assert predicting.call("pairs.csv", *args) == f"{name}= is about table=, which is not given; add it"
    for name, args in (("outcome", ["--outcome", "o"]), ("left_goals", ["--left-goals", "g"]),
                       ("right_goals", ["--right-goals", "g"])):  # fmt: skip
        told = f"{name}= is about played=, which is not given; add it"
        assert predicting.call("pairs.csv", "--table", *args) == told
    told = predicting.call("pairs.csv", "--table", "--level", "0.9")
    assert told == "level= is about bounds, and a table has none; drop it"
    if predicting.featured:
        for name, args in (("time", ["--time", "x"]), ("table", ["--table"]), ("played", ["--played", "votes.csv"]),
                           ("outcome", ["--outcome", "o"]), ("top", ["--top", "2"])):  # fmt: skip
            told = f"{name}= is about pairs, and this is a table of features; drop it"
            assert predicting.call("items.csv", *args) == told
    else:
        told = predicting.call("pairs.csv", "--id", "left")
        assert told == "id= is about a table of features, and these are pairs; drop it"
    assert predicting._predict_pairs.calls == predicting._predict_table.calls == predicting._predict_items.calls == []


def test_what_is_no_ranker_predicts_nothing(monkeypatch, folder):
    monkeypatch.setattr("podium.models.load", lambda path: types.SimpleNamespace())
    done = CliRunner().invoke(predict.predict, ["pairs.csv", "--model", "m.podium"])
    assert str(done.exception) == "m.podium is a file of SimpleNamespace, not a model of `podium rank … --save`"


def differ(*args):
    return CliRunner().invoke(diff.diff, [str(arg) for arg in args])


def test_two_leaderboards_are_compared_as_typed(folder, monkeypatch):
    from podium.evaluate import differences

    asked, real = [], differences.compare_rankings
    monkeypatch.setattr(differences, "compare_rankings", lambda *args: asked.append(args) or real(*args))
    Path("board.csv").write_text("item,score,std_error\na,1,0.5\nb,0,0.5\nc,-1,0.5\n")
    done = differ("board.csv", "votes.csv", "--reference", "a", "--format", "csv")
    assert done.exit_code == 0, (done.output, done.exception)
    first, second, reference = asked[0]
    assert (first.scores.tolist(), reference) == ([1.0, 0.0, -1.0], "a")
    assert set(second.items) == set("abc")
    unsaid = "does not say how it was fitted; it is taken to be in log-odds, and fitted as the other"
    assert [line for line in done.stderr.splitlines() if unsaid in line] == [f"board.csv {unsaid}"]
    assert "are the same file" not in done.stderr
    again = differ("votes.csv", "./votes.csv", "--format", "csv")
    assert "votes.csv and ./votes.csv are the same file" in again.stderr.splitlines()
    wide, narrow = (
        pl.read_csv(differ("votes.csv", "other.csv", "--level", level, "--format", "csv").stdout.encode())
        for level in (0.99, 0.5)
    )
    assert (wide["upper"] > narrow["upper"]).all()
    assert differ("votes.csv", "other.csv").stdout.splitlines()[0].split() == ["item", "rank", "change", "of", "score"]


def test_what_two_leaderboards_cannot_be_is_refused(folder):
    Path("board.csv").write_text("item,score\na,1\nb,0\n")
    assert str(differ("-", "-").exception) == "standard input can be read once only; name a file for one of the two"
    told = str(differ("board.csv", "board.csv", "--winner", "w").exception)
    assert told == "options about columns are for files of votes, and both are leaderboards; drop them"
    assert differ("board.csv", "board.csv").exit_code == 0
    assert differ("board.csv", "votes.csv", "--winner", "winner", "--loser", "loser").exit_code == 0
    told = str(differ("votes.csv", "other.csv", "--time", "t").exception)
    assert told == "time= does not apply to podium diff, which takes votes of all times alike"


def test_a_picture_of_learning_has_one_panel(grading, monkeypatch):
    drawn, shown = [], Noted()
    monkeypatch.setattr(grade, "_draw", lambda path, draw, panels: drawn.append((path, panels, draw(["axis"]))))
    monkeypatch.setattr("podium.show.grade_plots.progress", shown)
    assert fit("a.csv", "--label", "g", "--save", "m", "--plot", "p.svg").exit_code == 0
    assert [each[:2] for each in drawn] == [(Path("p.svg"), 1)]
    assert shown.calls == [(("curve",), {"ax": "axis"})]


def test_a_model_needs_a_place(grading):
    done = fit("a.csv", "--label", "g")
    assert done.exit_code == 2
    assert "Missing option '--save'." in done.stderr
    assert Grader.calls == []


def measured(*args):
    return CliRunner().invoke(metrics.metrics, [str(arg) for arg in args])


@pytest.fixture
def judged(folder):
    Path("qrels").write_text("q1 0 a 1\nq1 0 b 0\nq2 0 a 2\nq3 0 c 0\n")
    Path("one").write_text("q1 Q0 a 1 2 x\nq2 Q0 b 1 2 x\nq8 Q0 b 1 2 x\nq9 Q0 b 1 2 x\n")
    Path("two").write_text("q1 Q0 b 1 2 x\nq2 Q0 a 1 2 x\nq3 Q0 a 1 2 x\n")
    return folder


def test_what_is_read_of_each_run_is_told(judged):
    done = measured("qrels", "one", "two", "-m", "rr", "--format", "csv")
    assert done.exit_code == 0, (done.output, done.exception)
    assert done.stderr.splitlines()[:2] == [
        "one: 3 judged queries, 1 of them not answered, counted as nothing retrieved, 1 with nothing relevant, gain 0, "
        "2 queries of the run not judged, left out",
        "two: 3 judged queries, 1 with nothing relevant, gain 0",
    ]
    done = measured("qrels", "two", "-m", "rr", "--relevant-from", 2, "--empty", "best", "--format", "csv")
    assert done.stderr.splitlines() == ["two: 3 judged queries, 2 with nothing relevant, gain 1"]
    assert done.stdout.splitlines()[0] == "run,metric,mean"


def test_runs_are_compared_as_typed(judged, monkeypatch):
    asked = []
    monkeypatch.setattr("podium.metrics.compare_runs", lambda reports, **more: asked.append((list(reports), more)) or compare_runs(reports, **more))  # fmt: skip  # noqa: E501
    typed = ["--test", "permutation", "--correction", "fdr", "--permutations", 99, "--seed", 5, "--level", 0.9]
    done = measured("qrels", "one", "two", "-m", "rr,ap", *typed, "--differences", "--format", "csv")
    assert done.exit_code == 0, (done.output, done.exception)
    assert asked == [(["one", "two"], {
        "level": 0.9, "test": "permutation", "correction": "fdr", "permutations": 99, "seed": 5})]  # fmt: skip
    table = pl.read_csv(done.stdout.encode())
    assert table["metric"].to_list() == ["rr", "ap"]
    assert (
        done.stderr.splitlines()[-1] == "randomisation test over 3 queries; 90 % intervals, each on its own (Student)"
    )
    assert measured("qrels", "one", "-m", "rr", "--format", "csv").exit_code == 0
    assert len(asked) == 1, "one run has none to be compared with"


def test_metrics_are_called_as_they_were_typed_and_once(judged):
    done = measured("qrels", "one", "-m", "map, P@1", "-m", "ap", "--format", "csv")
    assert [line.split(",")[1] for line in done.stdout.splitlines()] == ["metric", "map", "P@1"]
    done = measured("qrels", "one", "two", "-m", "rr", "--per-query")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert lines[0] == ["run", "query", "rr"]
    assert lines[1:] == [["one", "q1", "1.0000"], ["one", "q2", "0.0000"], ["one", "q3", "0.0000"],
                         ["two", "q1", "0.0000"], ["two", "q2", "1.0000"], ["two", "q3", "0.0000"]]  # fmt: skip
    assert "letters" not in done.stderr


def test_differences_that_cannot_be_tested_say_why(judged):
    Path("all").write_text("q1 0 a 1\nq2 0 a 1\n")
    Path("first").write_text("q1 Q0 a 1 2 x\nq2 Q0 a 1 2 x\n")
    Path("none").write_text("q1 Q0 b 1 2 x\nq2 Q0 b 1 2 x\n")
    done = measured("all", "first", "none", "-m", "rr")
    why = "no p-value where two runs differ by the same amount in every query; see --test permutation"
    assert done.stderr.splitlines()[-1] == why
    assert not any(
        line.startswith("no p-value") for line in measured("qrels", "one", "two", "-m", "rr").stderr.splitlines()
    )
    Path("qrels").write_text("q1 0 a 1\n")
    assert measured("qrels", "one", "two", "-m", "rr").stderr.splitlines()[-1] == "no p-value from one query"
    nowhere = "no p-value where no query has the metric in both runs"
    Path("only").write_text("q1 0 a 1\nq1 0 b 1\nq2 0 a 1\nq2 0 b 1\n")  # nothing irrelevant
    for test in ("student", "permutation"):
        asked = ["only", "first", "none", "-m", "rr,auc", "--empty", "skip", "--test", test, "--differences"]
        done = measured(*asked, "--format", "csv")
        table = pl.read_csv(done.stdout.encode())
        assert (table["difference"].to_list(), table["p_value"].to_list()) == ([0.0, None], [1.0, None])
        assert [line for line in done.stderr.splitlines() if line.startswith("no p-value")] == [nowhere]
        assert measured(*asked).stdout.splitlines()[-1].split() == ["auc", "none", "first"]
    Path("only").write_text("q1 0 a 1\nq2 0 a 1\n")
    Path("third").write_text("q1 Q0 c 1 2 x\nq1 Q0 a 2 1 x\nq2 Q0 c 1 2 x\nq2 Q0 a 2 1 x\n")
    done = measured("only", "first", "third", "-m", "rr,auc", "--empty", "skip")
    assert [line for line in done.stderr.splitlines() if line.startswith("no p-value")] == [why, nowhere]
    told = str(measured("qrels", "one", "two", "one").exception)
    assert told == "run one is given twice; name each once"
