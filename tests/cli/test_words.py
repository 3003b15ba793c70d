"""What commands say, by hand: of models that are made up here, so that every number in a line is known beforehand."""

import math
import re
import types
import warnings

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from podium import BradleyTerry, Comparisons
from podium.cli import boards, compare, grade, label, marking, model_words, output
from podium.cli.methods import RankerOptions
from podium.errors import InputError, Option
from podium.show.report_sections import sections

Z = 1.959963984540054


def made(**more):
    """A model of features as `words_about` reads one: nothing learned beside the scores, unless told."""
    ranking = types.SimpleNamespace(information=object(), unit=1.0, items=("a", "b", "c"))
    given = {
        "ranking_": ranking, "feature_names_": (), "coef_": np.zeros(0), "coef_std_errors_": np.zeros(0),
        "explained_": 0.0, "unseen_": (), "boundary_": (), "covariate_names_": (), "covariate_coef_": np.zeros(0),
        "covariate_std_errors_": np.zeros(0), "side_effect": False, "side_effect_": 0.0, "side_effect_std_error_": 0.0,
        "tie_strength_": None, "in_margins": False, "tie_strength_interval": lambda level: (0.5, 2.0),
    }  # fmt: skip
    return types.SimpleNamespace(**given | more)


# ---- effects --------------------------------------------------------------------------------------------------------


def test_effects_are_lines_with_their_half_widths():
    names, effects, errors = ("size", "long name"), np.array([0.5, -2.0]), np.array([0.1, math.nan])
    assert model_words._effects(names, effects, errors, 0.95) == [
        f"  size       +0.5 ± {Z * 0.1:.2g}",
        "  long name  ignored: the same for every compared item",
    ]
    assert model_words._effects(names, effects, np.zeros(2), None) == ["  size       +0.5", "  long name  -2"]
    told = model_words._effects(names, effects, np.zeros(2), None, np.array([2.0, 0.25]))
    assert told == ["  size       +0.5  (sd 2)", "  long name  -2  (sd 0.25)"]


@pytest.mark.parametrize(("sd", "told"), [(1.0, False), (1.0 + 1e-10, False), (1.0 + 1e-8, True), (0.5, True)])
def test_deviations_of_what_was_standardised_are_not_told(sd, told):
    (line,) = model_words._effects(("size",), np.ones(1), np.zeros(1), None, np.array([sd]))
    assert ("(sd " in line) == told


@pytest.mark.parametrize(("count", "more"), [(12, []), (13, ["  … and 1 more"]), (20, ["  … and 8 more"])])
def test_twelve_effects_are_told_and_the_others_counted(count, more):
    names = tuple(f"f{k}" for k in range(count - 1)) + ("a much longer name",) * (count > 12)
    names = names if len(names) == count else (*names, f"f{count - 1}")
    lines = model_words._effects(names, np.arange(float(count)), np.zeros(count), None)
    assert len(lines) == 12 + len(more)
    assert lines[12:] == more
    assert lines[3] == "  f3   +3"  # as wide as the widest that is told, f11


@pytest.mark.parametrize("unit", [1.0, 173.7])
def test_what_features_explain(unit):
    model = made(feature_names_=("size",), coef_=np.array([0.5]), coef_std_errors_=np.array([0.1]), explained_=0.876)
    assert model_words._explained(model, 0.95, unit) == [
        "features explain about 88 % of the scores' variance; score per unit:",
        f"  size  {unit * 0.5:+.4g} ± {unit * Z * 0.1:.2g}",
    ]
    assert model_words._explained(made(), 0.95, unit) == []
    model.ranking_.information = None
    assert model_words._explained(model, None, unit)[1] == f"  size  {unit * 0.5:+.4g}"


def test_items_that_only_features_know_are_named_up_to_four():
    def told(unseen, names=("size",), ranked="abcdefg"):
        ranking = types.SimpleNamespace(items=tuple(ranked))
        return model_words._unseen(made(unseen_=tuple(unseen), feature_names_=names, ranking_=ranking), "votes")

    assert told("ab") == ["ranked by features alone, without votes: 2 (a, b)"]
    assert told("abcd") == ["ranked by features alone, without votes: 4 (a, b, c, d)"]
    assert told("abcde") == ["ranked by features alone, without votes: 5 (a, b, c, d, …)"]
    assert told("xyb") == ["ranked by features alone, without votes: 1 (b)"]
    assert told("xy") == told("ab", names=()) == told("") == []


def test_sides_ties_penalties_and_limits_each_have_a_line():
    sided = made(side_effect=True, side_effect_=0.25, side_effect_std_error_=0.1, tie_strength_=1.0)
    half = f" ± {Z * 0.1:.2g}"
    assert model_words._about_features(sided, 0.95, None, "vote") == [
        f"position bias, in favour of the left side: +0.25{half} log-odds",
        "equals tie with chance 33.3 % (20.0 … 50.0 %; Davidson's ν = 1)",
    ]
    assert model_words._side_and_ties(sided, 100.0, "points", 0.95, "game")[0] == (
        f"home advantage, in favour of the side at home: +25 ± {100 * Z * 0.1:.2g} points"
    )
    assert model_words._side_and_ties(sided, 1.0, "x", None, "vote")[0].endswith(": +0.25 x")
    margins = made(side_effect=True, in_margins=True)
    assert model_words._about_features(margins, None, None, "vote") == [
        "position bias, in favour of the left side: +0 of margin"
    ]
    assert model_words._about_features(sided, 0.95, None, "ranking") == []
    bounds = made(boundary_=("feature", "residual"))
    assert model_words._about_features(bounds, 0.95, None, "game") == [
        f"the {name} penalty stopped at the end of its range: the games hardly say how large it should be"
        for name in ("feature", "residual")
    ]
    for binding, words in (
        ((), "neither limit of --max-norm binds"), (("feature",), "the feature limit of --max-norm binds"),
        (("feature", "residual"), "the feature limit and the residual limit of --max-norm bind"),
    ):  # fmt: skip
        limited = made(max_norm=(1.0, 2.0), binding_=binding)
        assert model_words._about_features(limited, 0.95, None, "vote") == [words]
    assert model_words._about_features(made(max_norm=None), 0.95, None, "vote") == []


def test_covariates_are_told_per_unit_or_per_standard_deviation():
    model = made(covariate_names_=("length",), covariate_coef_=np.array([0.5]), covariate_std_errors_=np.array([0.1]))
    assert model_words._about_features(model, 0.95, None, "vote") == [
        "covariates, per unit", f"  length  +0.5 ± {Z * 0.1:.2g}"]  # fmt: skip
    assert model_words._about_features(model, 0.95, np.array([4.0]), "vote") == [
        "covariates, per standard deviation over the votes", f"  length  +2 ± {4 * Z * 0.1:.2g}  (sd 4)"]  # fmt: skip
    model.ranking_.information = None  # of the hinge loss there are no errors
    assert model_words._about_features(model, 0.95, None, "vote")[1] == "  length  +0.5"


@pytest.mark.parametrize(
    ("each", "reduced", "sd", "words"),
    [
        (9.99, False, None, "10.0 votes for each score and effect estimated are few, and effects may be too large; "
                            "use --bias-reduction, or --l2 auto"),
        (9.99, False, 1.0, "10.0 votes for each score and effect estimated are few; effects are corrected for it "
                           "(Firth), and rough"),
        (10.0, False, None, None), (9.99, True, None, None),
    ],
)  # fmt: skip
def test_few_votes_for_each_effect_are_told(each, reduced, sd, words):
    votes = Comparisons(["a", "b"], [0, 1, 0, 1], [1, 0, 1, 0], outcome=[1, 1, -1, 1], sided=True)
    model = BradleyTerry(l2=0.1, side_effect=True).fit(votes)
    model.votes_per_parameter_, model.bias_reduction, model.sd_ = each, reduced, sd
    lines = model_words.words_about(model)
    effect, error = model.side_effect_, model.side_effect_std_error_
    assert lines[0] == f"position bias, in favour of the left side: {effect:+.3g} ± {Z * error:.2g} log-odds"
    assert lines[1:] == ([words] if words else [])
    assert model_words.words_about(model, None)[0].endswith(f": {effect:+.3g} log-odds")
    without = BradleyTerry(l2=0.1).fit(votes)
    without.votes_per_parameter_ = 1.0
    assert model_words.words_about(without) == []  # there is no effect


# ---- methods and marks ----------------------------------------------------------------------------------------------


def options(**given):
    return RankerOptions(**dict.fromkeys(RankerOptions.__slots__) | given)


def test_a_method_is_described_with_all_that_was_chosen_about_it():
    assert options().described("elo", None) == "elo"
    assert options(k=20.0, side_advantage=50.0).described("elo", None) == "elo (k=20.0, side-advantage=50.0)"
    whole = options(l2=0.5, ties="davidson", scale="elo", anchor=("tea", 1000.0), balance="pairs", half_life="90d",
                    drift=0.1, sd=1.0, at="2026-01-01", side_effect=True, bias_reduction=True,
                    margins=True)  # fmt: skip
    assert whole.described("x", "with features") == (
        "x (l2=0.5, ties=davidson, scale=elo, anchor=tea=1000, balance=pairs, half-life=90d, drift=0.1, sd=1.0, "
        "at=2026-01-01, side-effect, bias-reduction, margins, with features)"
    )
    assert options(l2=0.0).described("x", None) == "x (l2=0.0)"  # 0 is a choice
    assert options(l2=0.0, method="x", balance="pairs", side_effect=False).arguments == {"l2": 0.0}


@pytest.mark.parametrize(("scale", "digits"), [((0, 20), 2), ((0, 20.5), 1), ((0, 21), 1), ((30, 5), 1), ((6, 1), 2)])
def test_marks_have_one_digit_where_the_scale_is_wider_than_twenty(scale, digits):
    marked = marking.Marking(scale, None, None, False)
    frame = pl.DataFrame({"rank": [1], "item": ["a"], "mark": [5.125], "comparisons": [1234.0]})
    assert marked.table(frame, None, "votes").split() == [
        "rank",
        "item",
        "mark",
        "votes",
        "1",
        "a",
        f"{5.125:.{digits}f}",
        "1,234",
    ]
    assert marking.Marking(None, "file", None, False)._digits() == 1


def test_a_table_of_marks_has_the_columns_that_there_are():
    marked = marking.Marking((0.0, 100.0), None, None, False)
    rows = {
        "rank": [1, 2], "item": ["a", "b"], "mark": [90.0, 10.0], "mark_lower": [80.0, 5.0], "mark_upper": [99.0, 15.0],
        "known": [90.0, None], "grade": ["A", "B"], "chance": [0.955, None], "comparisons": [3.0, 4.0],
    }  # fmt: skip
    whole = marked.table(pl.DataFrame(rows), None, "games").splitlines()
    assert whole[0].split() == ["rank", "item", "mark", "interval", "known", "grade", "chance", "games"]
    assert whole[1].split() == ["1", "a", "90.0", "80.0", "…", "99.0", "90", "A", "96", "%", "3"]
    assert whole[2].split() == ["2", "b", "10.0", "5.0", "…", "15.0", "B", "4"]
    bare = pl.DataFrame(rows | {"mark_lower": [None, None], "mark_upper": [None, None], "comparisons": [None, None]},
                        schema_overrides={"mark_lower": pl.Float64, "comparisons": pl.Float64})  # fmt: skip
    assert marked.table(bare, None, "games").splitlines()[0].split() == [
        "rank",
        "item",
        "mark",
        "known",
        "grade",
        "chance",
    ]


def test_what_marks_are_is_said():
    assert marking.Marking((0.0, 9.0), None, None, False).words(0.9, []) == [
        "marks on a scale from the lowest item to the best, with 90 % intervals"
    ]
    assert marking.Marking(None, "k.csv", None, False).words(None, []) == ["marks on a scale that the known marks fix"]


@pytest.mark.parametrize(("count", "said"), [
    (2, ["two known marks always fit a line: intervals take it as the right one and carry the errors of scores alone; "
         "more known marks would tell how well marks fit it"]),
    (3, ["3 known marks say little about how well marks fit their line, so intervals may be wide; more known marks "
         "narrow them"]),
    (4, ["4 known marks say little about how well marks fit their line, so intervals may be wide; more known marks "
         "narrow them"]),
    (5, []),
])  # fmt: skip
def test_few_known_marks_are_told_to_be_few(tmp_path, count, said):
    path = tmp_path / "known.csv"
    path.write_text("item,mark\n" + "".join(f"e{k},{k}\n" for k in range(count)))
    first = "marks on a scale that the known marks fix"
    marked = marking.Marking(None, str(path), None, False)
    assert marked.words(0.95, []) == [f"{first}, with 95 % intervals", *said]
    assert marked.words(None, []) == [first], "no intervals to be wide"


def test_a_grade_that_is_not_the_likeliest_is_told():
    """A mark of 69 with a standard error of 20: B from 60 to 70 has a chance of 19 %, A of 48 %."""
    reached = norm.cdf((69 - np.array([70.0, 60.0])) / 20)
    wide = {"P(A)": reached[0], "P(B)": reached[1] - reached[0], "P(below B)": 1 - reached[1]}
    sure = {"P(A)": 0.1, "P(B)": 0.8, "P(below B)": 0.1}
    tables = [pl.DataFrame([{"grade": "B", "chance": each["P(B)"]} | each]) for each in (sure, wide)]
    marked = marking.Marking((0.0, 100.0), None, {"A": 70.0, "B": 60.0}, False)
    assert len(marked.words(0.95, tables[:1])) == 1
    assert marked.words(0.95, tables)[1:] == [
        "a grade is that of the mark, its chance the chance of that grade: for some items another grade is likelier "
        "(--format csv has the chance of each)"
    ]
    bare = tables[1].select("grade")
    assert len(marked.words(None, [bare])) == 1, "no chances without a level"


def test_options_about_marks_need_marks():
    idle = marking.Marking(None, None, {"A": 1.0}, False)
    for lone in (idle, marking.Marking(None, None, None, True)):
        assert not lone.wanted
        with pytest.raises(InputError, match="is about marks; add marks='0:100' or known_marks="):
            lone.refuse_idle(False)
    for wanted in (marking.Marking((0.0, 1.0), None, None, False), marking.Marking(None, "k.csv", {"A": 1.0}, True)):
        assert wanted.wanted
        wanted.refuse_idle(False)
        with pytest.raises(InputError, match="differences= is about scores; leave marks= out"):
            wanted.refuse_idle(True)
    marking.Marking(None, None, None, False).refuse_idle(True)


# ---- tables ---------------------------------------------------------------------------------------------------------


def board(rows):
    names = ["rank", "item", "score", "lower", "upper", "rank_lower", "rank_upper", "tier", "comparisons"]
    return pl.DataFrame(rows, schema=names, orient="row", schema_overrides={"lower": pl.Float64, "upper": pl.Float64})


def test_a_leaderboard_draws_its_intervals_to_scale():
    """From -2 to 6 on 17 cells, so that a cell is one half."""
    rows = [(1, "a", 4.0, 2.0, 6.0, 1, 2, 1, 9.0), (2, "b", 1.0, -2.0, 4.0, 1, 3, 1, 8.0),
            (3, "c", 0.0, -math.inf, math.inf, 2, 3, 1, 7.0)]  # fmt: skip
    assert output._bars(board(rows), 17) == ["        ├───●───┤", "├─────●─────┤", "◂───●───────────▸"]
    edges = [(1, "a", 6.0, 6.0, math.inf, 1, 2, 1, 9.0), (2, "b", -2.0, -math.inf, 6.0, 1, 3, 1, 8.0)]
    assert output._bars(board(edges), 5) == ["   ●▸", "◂●──┤"]  # an arrow stays to be seen
    assert output._bars(board([(1, "a", 1.0, 1.0, 1.0, 1, 1, 1, 1.0)]), 5) == ["  ●"]
    endless = [(1, "a", 0.5, -math.inf, math.inf, 1, 2, 1, 9.0), (1, "b", 0.5, -math.inf, math.inf, 1, 2, 1, 8.0)]
    assert output._bars(board(endless), 7) == ["◂──●──▸"] * 2
    wide = [(1, "a", 3.0, -16.0, 986.0, 1, 2, 1, 9.0), (2, "b", -1.0, -3.0, 1.0, 1, 2, 1, 8.0)]
    told = ["├" + "─" * 17 + "●▸", " " * 13 + "├─●─┤"]  # a cell is 1: what is farther than 20 squashes nothing
    assert output._bars(board(wide), 20, far=20.0) == told


def test_a_leaderboard_of_nothing_is_its_heads():
    told = output.leaderboard(board([]).with_columns(pl.col("score").cast(pl.Float64)), digits=2)
    assert told.split() == ["rank", "item", "score"]


def test_too_few_votes_for_the_folds_name_how_many_would_do():
    votes = Comparisons.from_pairs([("a", "b")] * 9)
    compare._refuse_few(votes, 4)
    with pytest.raises(InputError, match="9 votes cannot be dealt into 5 folds; set folds=4 or less"):
        compare._refuse_few(votes, 5)
    with pytest.raises(InputError, match=r"5 votes cannot be dealt into 3 folds; set folds=2$"):
        compare._refuse_few(votes.take(np.arange(5)), 3)
    with pytest.raises(InputError, match="3 votes cannot be dealt into 2 folds; gather more"):
        compare._refuse_few(votes.take(np.arange(3)), 2)


@pytest.mark.parametrize(("methods", "features", "plot", "name"), [
    (("elo",), None, None, "method"), ((), "x.csv", None, "features"), ((), None, "c.svg", "plot"),
])  # fmt: skip
def test_what_nested_models_do_not_look_at_is_refused(methods, features, plot, name):
    known = types.SimpleNamespace(features=features)
    with pytest.raises(InputError, match=" does not apply to nested=True; drop one of them") as told:
        compare._refuse_with_nested(methods, known, plot)
    assert told.value.options[0] == Option(name)
    compare._refuse_with_nested((), types.SimpleNamespace(features=None), None)


def test_measures_of_methods_have_their_half_widths():
    row = {"method": "elo", "log_loss": 0.61234, "log_loss_pm": 0.0123, "worse": 0.01, "worse_pm": 0.002, "brier": 0.21,
           "brier_pm": 0.03, "accuracy": 0.6789, "accuracy_pm": 0.0456, "calibration": 0.0321}  # fmt: skip
    best = row | {"method": "bradley-terry", "worse": 0.0}
    lines = [line.split() for line in compare._table(pl.DataFrame([best, row]), None).splitlines()]
    assert lines[0] == ["method", "log", "loss", "worse", "Brier", "accuracy", "calibration"]
    brier = ["0.2100", "±", "0.0300", "67.9", "%", "±", "4.6", "0.032"]
    assert lines[1] == ["bradley-terry", "0.6123", "±", "0.0123", *brier]
    assert lines[2] == ["elo", "0.6123", "±", "0.0123", "0.0100", "±", "0.0020", *brier]
    nested = {"model": "scores", "parameters": 3, "log_likelihood": -12.344, "aic": 30.69, "bic": 33.5,
              "statistic": None, "degrees": None, "p_value": None}  # fmt: skip
    sided = nested | {"model": "sides", "statistic": 4.567, "degrees": 1, "p_value": 0.0326}
    table = compare._nested_table(pl.DataFrame([nested, sided], infer_schema_length=None), None).splitlines()
    assert table[1].split() == ["scores", "3", "-12.34", "30.69", "33.50"]
    assert table[2].split() == ["sides", "3", "-12.34", "30.69", "33.50", "4.57", "1", "0.0326"]


# ---- what was chosen, and what the penalty pulls -------------------------------------------------------------------


def test_what_a_label_ranker_chose_is_told_beside_what_frequencies_lose():
    def told(**more):
        return label._choice(types.SimpleNamespace(**{"loss": "ap", "validation_": TRIED, "chosen_": "x"} | more))

    TRIED = {"label frequencies": 0.5, "x": 0.25, "y": 0.3}
    assert told() == ["chosen among 3: x, mean ap 0.250 on rows held out (label frequencies alone: 0.500)"]
    assert told(validation_={"x": 0.25}) == ["chosen among 1: x, mean ap 0.250 on rows held out"]
    assert told(validation_={}) == []
    assert told(chosen_="label frequencies") == [
        "chosen among 3: label frequencies, mean ap 0.500 on rows held out",
        "the features said nothing about the labels: every row gets the same ranking, by frequency",
    ]


def test_a_loss_looks_no_farther_than_there_are_labels():
    assert [label._loss(None, count) for count in (1, 2, 3, 9)] == ["sum@1", "sum@2", "sum@3", "sum@3"]
    assert label._loss("prec@4", 4) == "prec@4"
    assert label._loss("ap", 1) == "ap"
    with pytest.raises(InputError, match="loss='prec@5': there are only 4 labels; use a cut-off up to 4"):
        label._loss("prec@5", 4)


@pytest.mark.parametrize(("scores", "words"), [
    ([0.0, 0.0, 0.0], ""), ([0.0, 0.0, 2.0], "1 item has its score"), ([0.0, -2.0, 2.0], "2 items have their scores"),
    ([1.0, -1.0, 0.0], ""),  # at its end is not outside
])  # fmt: skip
def test_scores_outside_their_intervals_are_counted(capsys, scores, words):
    ends = (np.full(3, -1.0), np.full(3, 1.0))
    ranking = types.SimpleNamespace(information=object(), scores=np.array(scores), intervals=lambda level: ends)
    boards._say_if_outside(ranking, types.SimpleNamespace(shown_level=0.9))
    why = "the penalty pulls scores, and intervals are of the votes alone; --l2 0.001 all but drops it"
    assert capsys.readouterr().err == (f"{words} outside the interval: {why}\n" if words else "")
    boards._say_if_outside(ranking, types.SimpleNamespace(shown_level=None))
    ranking.information = None
    boards._say_if_outside(ranking, types.SimpleNamespace(shown_level=0.9))
    assert capsys.readouterr().err == ""


def test_settings_that_a_model_does_not_know_are_words_of_a_command_line():
    assert boards._more_settings(None, False, None, None) == ""
    told = boards._more_settings("pairs", True, "two words", "arena")
    assert told == " balance=pairs pool=True 'reference=two words' style=arena"


def test_a_narrow_terminal_has_a_smaller_picture_and_then_fewer_columns(capsys):
    rows = [(1, "tea", 1.0, 0.5, 1.5, 1, 2, 1, 9.0), (2, "milk", -1.0, -1.5, -0.5, 1, 2, 1, 8.0)]
    whole = output.leaderboard(board(rows), digits=2)
    full = max(map(len, whole.splitlines()))
    assert output.leaderboard(board(rows), digits=2, room=full) == whole
    picture = output.MAX_BAR
    for less in range(1, picture - output.MIN_BAR + 1):
        shown = output.leaderboard(board(rows), digits=2, room=full - less)
        assert max(map(len, shown.splitlines())) <= full - less
        heads = shown.splitlines()[0].split()
        assert heads == whole.splitlines()[0].split()
        bars = [re.search(r"[├◂].*[┤▸]", line)[0] for line in shown.splitlines()[1:]]
        assert max(map(len, bars)) <= picture - less
    assert capsys.readouterr().err == ""
    gone = []
    for room in range(full - picture, 20, -1):
        shown = output.leaderboard(board(rows), digits=2, room=room)
        said = capsys.readouterr().err
        heads = shown.splitlines()[0].split()
        left = [name for name in ("interval", "ranks", "tier", "votes") if name not in heads]
        assert set(gone) <= set(left)
        gone = left
        assert ("tea" in shown, "milk" in shown) == (True, True)
        if left:
            names = said.removeprefix(f"left out, as the terminal has {room} columns: ").rstrip().split(", ")
            assert sorted(names) == sorted(left)
        else:
            assert said == ""
    assert gone, "the narrowest has not all of them"


def grader(grades, gaps=(), bins=None):
    return types.SimpleNamespace(grades=np.array(grades), gaps=list(gaps), bins=bins)


@pytest.mark.parametrize(("made_of", "before", "named", "words"), [
    (grader([1, 2, 3]), None, False, []),
    (grader(["fair", "good", "poor"]), None, False,
     ["grades are words, taken in the order of the alphabet: fair < good < poor; --classes gives another order"]),
    (grader(["fair", "good", "poor"]), None, True, []), (grader(["poor", "fair", "good"]), None, False, []),
    (grader(["a", "b"], bins=[1.0]), None, False, []),
    (grader(["fair", "good", "poor"]), ["fair", "good", "poor"], False, []),
    (grader([1, 2, 5], [3, 4]), None, False,
     ["no row has the grades 3 and 4: the grades around them count as neighbours; --classes 1..5 keeps the places"]),
    (grader([1, 2, 4], [3]), None, False,
     ["no row has the grade 3: the grades around it count as neighbours; --classes 1..4 keeps the place"]),
    (grader([1, 2, 4], [3]), None, True, []),
    (grader([1, 2, 3]), [1, 2], False, ["new grade: 3; now 1 to 3"]),
    (grader([1, 2, 3]), [2], True, ["new grades: 1 and 3; now 1 to 3"]),
    (grader([1, 2, 4], [3]), [1, 2, 4], False, []),
])  # fmt: skip
def test_grades_that_were_found_are_told(capsys, made_of, before, named, words):
    grade._say_about_grades(made_of, before, named)
    assert capsys.readouterr().err.splitlines() == words


def test_few_of_many_grades_are_named():
    assert grade._few([1]) == "1"
    assert grade._few([1, 2]) == "1 and 2"
    assert grade._few([1, 2, 3, 4, 5, 6]) == "1, 2, 3, 4, 5 and 6"
    assert grade._few([1, 2, 3, 4, 5, 6, 7]) == "1, 2, 3, 4, … and 7"


@pytest.mark.parametrize(("typed", "grades"), [
    ("1..3", [1, 2, 3]), ("-1..1", [-1, 0, 1]), ("poor, fair", ["poor", "fair"]), ("1,2.5", [1.0, 2.5]),
    ("3,1", [3, 1]),
    ("1..1", ": the last grade must be above the first"), ("2..1", ": the last grade must be above the first"),
    ("a..b", ": give whole numbers, as in 1..5, or a list, as in poor,fair,good"),
    ("a", ": give at least two different grades, from lowest to highest"),
    ("a,a", ": give at least two different grades, from lowest to highest"),
    ("1,nan", ": a grade is a number or a word, not NaN or infinity"),
])  # fmt: skip
def test_grades_are_named_by_a_range_or_a_list(typed, grades):
    if isinstance(grades, str):
        with pytest.raises(InputError) as told:
            grade._grades(typed)
        assert str(told.value) == f"classes={typed!r}{grades}"
    else:
        found = grade._grades(typed)
        assert found.tolist() == grades
        assert found.dtype.kind == {int: "i", float: "f", str: "U"}[type(grades[0])]
    assert grade._cuts("7,9.5") == [7.0, 9.5]
    with pytest.raises(InputError, match="give increasing numbers, as 7,9,12"):
        grade._cuts("7,x")


def test_effects_that_the_votes_do_not_bound_are_told_in_words():
    """Every vote goes to the longer answer: no finite effect. In other votes the covariate is 2 throughout."""
    rows = [(a, b) for a in "abc" for b in "abc" if a != b] * 4
    left, right = zip(*rows, strict=True)
    one = {"left": left, "right": right, "outcome": [1, 0] * 12, "length": [1.0, -1.0] * 12}
    other = one | {"outcome": ([1, 0, 0, 1, 1] * 5)[:24], "length": [2.0] * 24}
    leak, same = (Comparisons.from_frame(pl.DataFrame(each), covariates="length") for each in (one, other))
    for votes, words in ((leak, "no number: nothing sets an end to it"), (same, "not known: the covariate is")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = BradleyTerry().fit(votes)
            _, line, *rest = model_words.words_about(model, 0.95, votes.covariate_sds())
            page = "".join(sections(model, 0.95, votes))
        assert line.startswith(f"  length  {words}")
        assert "±" not in line
        assert not (votes is leak and "Firth" in "".join(rest))
        assert ("no end to it" if votes is leak else "not known: the same in all") in page
