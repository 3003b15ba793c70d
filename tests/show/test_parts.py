"""What each picture draws, read back from it: positions, shares, names and words; and what is refused before."""

import math
import types

import numpy as np
import polars as pl
import pytest
from matplotlib.text import Text

from podium import BradleyTerry, Comparisons, Ranking
from podium.errors import InputError
from podium.evaluate.feature_diagnosis import LearningCurve
from podium.show import (
    active_plots,
    canvas,
    embedded,
    feature_plots,
    grade_plots,
    plots,
    report_parts,
    report_time,
    time_plots,
)
from podium.show import report as page
from podium.show import report_board as board
from podium.show import report_sections as sections


def words(figure):
    """Every text of a figure that says something."""
    return [" ".join(each.get_text().split()) for each in figure.findobj(Text) if each.get_text()]


# ---- grades ---------------------------------------------------------------------------------------------------------


def test_progress_is_the_error_against_examples_seen():
    ax = grade_plots.progress([(10, 0.8), (20, 0.5)])
    (line,) = ax.lines
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([10, 20], [0.8, 0.5])
    assert ax.get_ylim() == (0, pytest.approx(0.8 * 1.15))
    assert (line.get_marker(), ax.get_xlabel()) == ("o", "examples seen, again with each pass")
    assert (ax.get_ylabel(), ax.get_title()) == (
        "mean absolute error so far (grades)", "Error before learning from each example")  # fmt: skip
    assert grade_plots.progress([(k, 1.0) for k in range(30)]).lines[0].get_marker() == "None"
    assert grade_plots.progress([(k, 1.0) for k in range(29)]).lines[0].get_marker() == "o"
    assert grade_plots.progress([(1, 0.0)]).get_ylim() == (0, 1)
    assert grade_plots.progress([(1, 0.5)], ax=ax) is ax
    for bad, said in (([(1, 2, 3)], r"curve has shape \(1, 3\)"), ([1, 2], "curve has shape"), ([], "curve has shape"),
                      ([(1, math.nan)], "not finite"), ([(math.inf, 1)], "not finite")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            grade_plots.progress(bad)


def test_scores_of_each_grade_are_boxes_of_their_quantiles():
    scores = np.concatenate([np.arange(101.0), np.arange(101.0) / 2 + 50])
    labels = [0] * 101 + [2] * 101
    ax = grade_plots.scores_by_grade(scores, labels, [40.0, math.inf, 60.0], ["low", "mid", "high"])
    boxes = [(each.get_x(), each.get_width(), each.get_y() + each.get_height() / 2) for each in ax.patches]
    assert boxes == [(25.0, 50.0, 0.0), (62.5, 25.0, 2.0)]
    lines = [(list(each.get_xdata()), list(each.get_ydata())) for each in ax.lines]
    assert lines[0] == ([pytest.approx(5.0), pytest.approx(95.0)], [0, 0])
    assert lines[1] == ([50.0, 50.0], [-0.25, 0.25])
    assert lines[2][0] == [pytest.approx(52.5), pytest.approx(97.5)]
    assert [each[0] for each in lines[4:]] == [[40.0, 40.0], [60.0, 60.0]]
    assert [each.get_text() for each in ax.get_yticklabels()] == ["low (101)", "mid (0)", "high (101)"]
    assert [each.get_text() for each in ax.get_legend().get_texts()] == ["thresholds"]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == (
        "score", "true grade (examples)", "Scores and thresholds")  # fmt: skip
    assert grade_plots.scores_by_grade(scores, labels, [math.inf], "abc").get_legend() is None
    with pytest.raises(InputError, match="give one label for each score"):
        grade_plots.scores_by_grade([1.0, 2.0], [0], [], "ab")
    with pytest.raises(InputError, match="give one label for each score"):
        grade_plots.scores_by_grade([[1.0]], [[0]], [], "ab")
    with pytest.raises(InputError, match="grades"):
        grade_plots.scores_by_grade([1.0], [0], [], 5)


def test_confusion_is_the_share_of_each_true_grade():
    ax = grade_plots.confusion([[3, 1], [0, 0]], ["low", "high"])
    assert ax.images[0].get_array().tolist() == [[0.75, 0.25], [0.0, 0.0]]
    cells = {each.get_position(): (each.get_text(), each.get_color()) for each in ax.texts}
    assert cells[0, 0] == ("75 %", "white")
    assert cells[1, 0] == ("25 %", "black")
    assert cells[0, 1] == ("0 %", "black")
    for labels in (ax.get_xticklabels(), ax.get_yticklabels()):
        assert [each.get_text() for each in labels] == ["low", "high"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted grade", "true grade")
    assert len(grade_plots.confusion(np.eye(12), range(12)).texts) == 144
    assert len(grade_plots.confusion(np.eye(13), range(13)).texts) == 0
    ticks = [each.get_text() for each in grade_plots.confusion(np.eye(50), range(50)).get_xticklabels()]
    assert ticks == [str(k) for k in range(0, 50, 3)]
    for bad, grades, said in (([[1]], "ab", "for 2 grades; give a row and a column for each"),
                              (np.zeros((0, 0)), "", "give a row"), ([[-1]], "a", "numbers from 0 up"),
                              ([[math.nan]], "a", "numbers from 0 up")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            grade_plots.confusion(bad, grades)


# ---- questions, features, time --------------------------------------------------------------------------------------


def test_the_cost_of_an_order_by_questions():
    curves = {"one": [(4.0, 1.1), (2.0, 1.5)], "two": [(3.0, 1.0)]}
    ax = active_plots.cost_by_questions(curves, title="Cost")
    one, two = ax.lines
    assert (list(one.get_xdata()), list(one.get_ydata())) == ([2.0, 4.0], [0.5, pytest.approx(0.1)])
    assert list(two.get_ydata()) == [1e-4]  # nothing above the best
    assert (one.get_linewidth(), two.get_linewidth(), ax.get_yscale()) == (1.4, 0, "log")
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == (
        "questions per item", "cost above the best known", "Cost")  # fmt: skip
    assert [each.get_text() for each in ax.get_legend().get_texts()] == ["one", "two"]
    assert one.get_marker() != two.get_marker()
    plain = active_plots.cost_by_questions(curves, log=False)
    assert (list(plain.lines[0].get_ydata()), plain.get_yscale()) == ([1.5, 1.1], "linear")
    assert plain.get_ylabel() == "cost ÷ best known"
    many = active_plots.cost_by_questions({str(k): [(1.0, 2.0)] for k in range(9)})
    assert many.lines[8].get_color() == many.lines[0].get_color()
    assert active_plots.cost_by_questions(curves, ax=ax) is ax
    for bad, said in (({}, "there is no curve to draw"), ({"a": [1.0]}, r"the points of 'a' have shape \(1,\)"),
                      ({"a": [(1.0, 2.0, 3.0)]}, "give"), ({"a": np.zeros((0, 2))}, "have shape")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            active_plots.cost_by_questions(bad)


def test_learning_curves_are_means_with_their_standard_errors():
    fields = LearningCurve.__dataclass_fields__
    table = np.array([[0.6, 0.7], [0.5, 0.5]])
    given = {name: np.array([100, 1000]) if name == "sizes" else table for name in fields}
    curve = LearningCurve(**given)
    (ax,) = feature_plots.learning_curves(curve).axes
    for line in ax.lines[:2]:
        assert (list(line.get_xdata()), list(line.get_ydata())) == ([100, 1000], [pytest.approx(0.65), 0.5])
    low, high = ax.collections[0].get_datalim(ax.transData).intervaly
    assert (low, high) == (pytest.approx(0.5), pytest.approx(0.65 + 0.05))  # a standard deviation of 0.0707 over √2
    assert list(ax.lines[2].get_ydata()) == [pytest.approx(math.log(2))] * 2
    assert [each.get_text() for each in ax.get_xticklabels()] == ["100", "1,000"]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale()) == (
        "votes learned from", "log loss of a held-out vote", "log")  # fmt: skip
    assert "coin flips" in [each.get_text() for each in ax.texts]
    single = LearningCurve(**{name: value if name == "sizes" else table[:, :1] for name, value in given.items()})
    assert feature_plots.learning_curves(single).axes[0].collections[0].get_datalim(ax.transData).height >= 0


def frame(items, times=(1, 2, 3), width=0.5):
    rows = [(item, time, k + time / 10, k + time / 10 - width, k + time / 10 + width)
            for k, item in enumerate(items) for time in times]  # fmt: skip
    return pl.DataFrame(rows, schema=["item", "time", "score", "lower", "upper"], orient="row")


def test_curves_over_time_are_drawn_best_first_with_their_bands():
    figure = time_plots.curves(frame("ab"), title="Moving", unit="points")
    (ax,) = figure.axes
    assert [list(line.get_ydata()) for line in ax.lines] == [[1.1, 1.2, 1.3], [0.1, 0.2, 0.3]]
    assert [each.get_text() for each in ax.texts] == ["b", "a"]
    assert len(ax.collections) == 2
    assert (ax.get_xlim(), ax.get_xlabel(), ax.get_ylabel()) == ((1, 3), "time", "points")
    low, high = ax.get_ylim()
    assert (low, high) == (pytest.approx(-0.4 - 0.05 * 2.2), pytest.approx(1.8 + 0.05 * 2.2))
    assert "Moving" in words(figure)
    bare = time_plots.curves(frame("ab"), bands=False)
    assert len(bare.axes[0].collections) == 0
    assert bare.axes[0].get_ylim()[0] == pytest.approx(0.1 - 0.05 * 1.2)
    assert "Scores over time, 2 items" in words(bare)
    assert time_plots.curves(frame("a", times=(5,))).axes[0].lines[0].get_marker() == "o"
    assert ax.lines[0].get_marker() == ""
    for bad, said in ((frame("a").drop("lower"), "curves need a column 'lower'; give the frame"),
                      (frame("a").head(0), "there is no curve to draw")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            time_plots.curves(bad)
    for bad in ({"unit": 3}, {"title": 3}, {"bands": "yes"}):
        with pytest.raises(InputError, match=next(iter(bad))):
            time_plots.curves(frame("a"), **bad)


def test_nine_curves_are_told_apart_by_dashes():
    lines = time_plots.curves(frame("abcdefghij")).axes[0].lines
    looks = {(line.get_color(), line.get_linestyle()) for line in lines}
    assert len(looks) == 10


# ---- the canvas -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"top": 0}, "top=0"), ({"top": 1.5}, "top=1.5"), ({"min_votes": -1}, "min_votes=-1"),
        ({"level": 0}, "level=0"),
        ({"level": 1}, "level=1"), ({"level": 1.0}, "between 0 and 1"), ({"level": "x"}, "level='x'"),
        ({"title": 3}, "title=3: it must be text"), ({"unit": b"x"}, "unit="),
    ],
)  # fmt: skip
def test_options_are_refused_before_anything_is_drawn(given, said):
    with pytest.raises(InputError, match=said):
        canvas.check_options(**given)


def test_options_at_their_ends_are_taken():
    canvas.check_options(top=1, min_votes=0, level=1e-9, title=None, unit="")
    canvas.check_options(level=np.float64(0.999))


def test_each_picture_checks_its_options():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("a", "b")])
    ranking = BradleyTerry().fit(votes).ranking_
    calls = {
        "intervals": lambda **bad: plots.intervals(ranking, **bad),
        "wins": lambda **bad: plots.wins(votes, ranking, **bad),
        "history": lambda **bad: plots.history([1, 2], ["a"], np.zeros((2, 1)), **bad),
    }
    for call in calls.values():
        for bad in ({"top": 0}, {"title": 3}):
            with pytest.raises(InputError, match=next(iter(bad))):
                call(**bad)
    with pytest.raises(InputError, match="unit"):
        calls["history"](unit=3)
    with pytest.raises(InputError, match="title"):
        plots.calibration({"x": ([0.5],) * 4}, title=3)
    with pytest.raises(InputError, match="there is no calibration curve to draw"):
        plots.calibration({})
    for times, scores, said in (([2, 1], np.zeros((2, 1)), "the first first"),
                                ([1, math.nan], np.zeros((2, 1)), "finite"),
                                ([1], np.zeros((2, 1)), "scores must be 1 times × 1 item"),
                                ([], np.zeros((0, 1)), "there is no score to draw")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            plots.history(times, ["a"], scores)


def test_limits_of_an_axis_show_all_finite_values():
    assert canvas.span(np.array([0.0, 10.0, math.nan]), np.array([-10.0, math.inf])) == (-11.0, 11.0)
    assert canvas.span(np.array([3.0])) == (2.5, 3.5)
    with pytest.raises(InputError, match="there is no finite number to draw"):
        canvas.span(np.array([math.nan]))


def test_heights_that_are_pushed_apart_are_the_nearest():
    """By hand: three at 0 with a gap of 1 become 1, 0, -1; a pair at 5 and one far below stay as they are."""
    assert canvas.apart(np.array([0.0, 0.0, 0.0]), 1.0).tolist() == [1.0, 0.0, -1.0]
    assert canvas.apart(np.array([5.0, 4.0, 0.0]), 1.0).tolist() == [5.0, 4.0, 0.0]
    assert canvas.apart(np.array([5.0, 4.9, 0.0]), 1.0).tolist() == pytest.approx([5.45, 4.45, 0.0])
    assert canvas.apart(np.array([9.0, 1.0, 1.0, 0.9]), 1.0).tolist() == pytest.approx(
        [9.0, 1.966666667, 0.966666667, -0.033333333]
    )


def test_labels_are_cut_in_the_middle():
    assert canvas.short("x" * 34) == "x" * 34
    assert canvas.short("a" * 30 + "b" * 10) == "a" * 22 + "…" + "a" * 1 + "b" * 10
    assert canvas.short("a\n b") == "a b"
    assert len(canvas.short("y" * 99, 24)) == 24
    assert canvas.label_width(["ab", "c"], 72) == pytest.approx(2 * 0.62)
    assert canvas.label_width(["茶茶"], 72) == pytest.approx(3.4 * 0.62)


def test_sheets_grow_by_long_titles_and_keep_their_pictures():
    figure = canvas.sheet(3.0, 2.0)
    ax = canvas.axes_at(figure, 0.3, 0.5, 1.5, 1.0)
    assert ax.get_position().bounds == pytest.approx((0.1, 0.25, 0.5, 0.5))
    canvas.headline(figure, "word " * 30)
    lines = figure.texts[0].get_text().count("\n") + 1
    assert lines > 1
    assert figure.get_size_inches()[1] == pytest.approx(2.0 + 0.17 * (lines - 1))
    canvas.footnote(figure, "small " * 40)
    high = figure.get_size_inches()[1]
    small = figure.texts[1].get_text().count("\n") + 1
    assert high == pytest.approx(2.0 + 0.17 * (lines - 1) + 0.13 * (small - 1))
    left, bottom, width, height = ax.get_position(original=True).bounds
    assert (left * 3.0, bottom * high, width * 3.0, height * high) == pytest.approx(
        (0.3, 0.5 + 0.13 * (small - 1), 1.5, 1.0)
    )
    assert figure.texts[0].get_position()[1] * high == pytest.approx(high - 0.12)


def test_places_for_pictures_to_embed(tmp_path):
    assert embedded.check_embed_path(tmp_path / "a.SVG") == tmp_path / "a.SVG"
    with pytest.raises(InputError, match=r"a picture to embed is an SVG, so its name must end in \.svg"):
        embedded.check_embed_path(tmp_path / "a.png")
    with pytest.raises(InputError, match="no folder"):
        embedded.check_embed_path(tmp_path / "none" / "a.svg")
    with pytest.raises(InputError, match="there is no folder"):
        canvas.check_path(tmp_path / "none" / "a.png")
    with pytest.raises(InputError, match="the name has no ending"):
        canvas.check_path(tmp_path / "a")


# ---- pictures of votes ----------------------------------------------------------------------------------------------


def test_what_scores_are_measured_in():
    plain = Ranking(["a", "b"], [1.0, 0.0])
    votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("a", "b")])
    assert plots.unit_of(plain) == "score"
    assert plots.unit_of(BradleyTerry().fit(votes).ranking_) == "score, in log-odds"
    elo = BradleyTerry(scale="elo").fit(votes).ranking_ if "scale" in BradleyTerry().get_params() else None
    assert elo is None or plots.unit_of(elo) == "score, on the Elo scale"
    with pytest.raises(InputError, match="ranking"):
        plots.unit_of(3)


def test_histories_name_the_best_and_count_the_rest():
    scores = np.linspace(0, 1, 30)[None, :] * np.array([[1.0], [2.0], [3.0]])
    items = [f"i{k}" for k in range(30)]
    whole = plots.history([10, 100, 1000], items, scores, unit="points")
    (ax,) = whole.axes
    assert [each.get_text() for each in ax.texts] == [f"i{k}" for k in range(29, 21, -1)]
    assert len(ax.lines) == 30
    assert (ax.get_xlim(), ax.get_xlabel(), ax.get_ylabel()) == ((0, 1000), "votes", "points")
    assert "Scores as votes came in (22 others in grey)" in words(whole)
    some = plots.history([10, 100, 1000], items, scores, top=26, title="Mine")
    assert len(some.axes[0].texts) == 24
    assert len(some.axes[0].lines) == 26
    assert "Mine (the first 26 of 30 items) (2 others in grey)" in words(some)
    late = scores.copy()
    late[-1, 29] = math.nan
    assert plots.history([1, 2, 3], items, late).axes[0].texts[0].get_text() == "i28"


def test_intervals_in_columns_of_sixty_and_what_is_left_out():
    ranking = Ranking([f"i{k}" for k in range(130)], -np.arange(130.0))
    figure = plots.intervals(ranking, title="All")
    assert [len(ax.get_yticklabels()) for ax in figure.axes] == [44, 44, 42]
    assert figure.axes[1].get_yticklabels()[0].get_text() == "45  i44"
    assert figure.axes[0].get_ylim() == (43.5, -0.5)
    few = plots.intervals(ranking, top=2)
    assert any("below: 128 more items" in each for each in words(few))
    assert "Scores" in words(few)
    votes = Comparisons.from_pairs([("a", "b")] * 6 + [("b", "a")] * 4 + [("a", "c"), ("c", "a")])
    fitted = BradleyTerry().fit(votes).ranking_
    shown = plots.intervals(fitted, min_votes=10)
    assert [each.get_text()[3:] for each in shown.axes[0].get_yticklabels()] == ["a", "b"]
    assert "Scores with 95 % intervals" in words(shown)
    with pytest.raises(InputError, match="no item has so many votes; give less"):
        plots.intervals(fitted, min_votes=99)
    with pytest.raises(InputError, match="no item has so many votes; give less"):
        plots.wins(votes, fitted, min_votes=99)
    heat = plots.wins(votes, fitted, min_votes=10)
    assert [each.get_text() for each in heat.axes[0].texts] == ["60", "40"]
    first = plots.wins(votes, fitted, top=2)
    assert "Votes won by the row's item, % (the first 2 of 3)" in words(first)


# ---- sections of a report -------------------------------------------------------------------------------------------


def test_effects_left_out_of_a_fit_say_so():
    assert sections._half_width(1.0, 0.95, ".2f") == ("1.96",)
    assert sections._half_width(math.nan, 0.95, ".2f") == ("ignored",)
    assert sections._half_width(1.0, None, ".2f") == ()
    assert (sections._pm(0.9), sections._pm(None)) == (["± (90 %)"], [])


def test_sides_and_ties_in_words():
    def model(nu, ends=None):
        return types.SimpleNamespace(tie_strength_=nu, tie_strength_interval=lambda level: ends)

    both = sections._side_and_ties(model(1.0, (0.5, 2.0)), "home advantage", (0.5, 0.1), "log-odds", 0.95)
    assert both[0] == "<h2>Home advantage and ties</h2>"
    told = "Home advantage, in favour of the side at home: +0.5 ± 0.2 (95 %) log-odds"
    assert both[1] == f"<p>{told}; scores are corrected for it.</p>"
    assert "tie with chance 33.3 % (20.0 … 50.0 %; Davidson’s ν = 1)" in both[2]
    none = sections._side_and_ties(model(0.0, (0.0, 0.5)), "", None, "", 0.95)[1]
    assert none == "<p>No tie was seen: two equal items tie with chance 20.0 % at most (Davidson’s ν = 0).</p>"
    assert "its chance is taken to be 0" in sections._side_and_ties(model(0.0), "", None, "", 0.95)[1]
    bare = sections._side_and_ties(model(None), "position bias", (-0.5, 0.1), "points", None)
    assert bare[1] == "<p>Position bias, in favour of the left side: -0.5 points; scores are corrected for it.</p>"
    assert sections._side_and_ties(model(None), "position bias", None, "", 0.95) == []


def test_effects_of_covariates_in_a_table():
    assert sections._effects([], "", 0.95, None, "votes") == []
    plain = sections._effects([("length", 0.25, 0.1)], "log-odds", 0.95, None, "votes")
    assert "Effect of a vote's covariates on the margin, in log-odds, left minus right" in plain[1]
    assert "Per unit" in plain[2]
    assert '<td class="n">+0.25</td>' in plain[2]
    assert '<td class="n">0.2</td>' in plain[2]
    spread = sections._effects([("length", 0.25, 0.1)], "", 0.95, np.array([2.5]), "games")
    assert "Effect of a game's covariates on the margin, left minus right" in spread[1]
    heads = [spread[2].index(each) for each in ("Per standard deviation", "± (95 %)", ">Standard deviation")]
    assert heads == sorted(heads)
    assert '<td class="n">2.5</td>' in spread[2]


def test_a_judge_is_drawn_on_the_scale_of_all():
    drawn = sections._judge_bar(0.5, 0.25, -1.0, 1.0)
    for place in ('x1="50.00%"', 'x1="97.00%"', 'x1="61.75%" x2="85.25%"', 'cx="73.50%"'):
        assert place in drawn


def test_judges_in_a_table():
    rows = [{"judge": "Ann", "reliability": 1.2, "std_error": 0.1, "lean": 0.5, "lean_std_error": 0.2, "votes": 1234.0,
             "p_value": 0.04, "flag": "slow"},
            {"judge": "Bob", "reliability": -0.5, "std_error": 0.5, "lean": -0.1, "lean_std_error": 0.1, "votes": 7.0,
             "p_value": None, "flag": None}]  # fmt: skip

    def told(sd=1.0, side=False, level=0.95):
        model = types.SimpleNamespace(reliability_sd_=sd, side_effect=side, judge_frame=lambda: pl.DataFrame(rows))
        return sections._judges(model, level)

    title, note, table = told()
    assert title == "<h2>Judges</h2>"
    assert "Reliability is 1 for the average judge" in note
    for cell in (">1.20<", ">0.20<", ">-0.50<", ">0.98<", ">1,234<", ">0.04<", ">slow<", ">Ann<"):
        assert cell in table, cell
    low, high = -0.5 - 1.959963984540054 * 0.5, 1.2 + 1.959963984540054 * 0.1
    assert f'cx="{3 + 94 * (1.2 - low) / (high - low):.2f}%"' in table
    assert "Lean to the left" not in table
    leaning = told(side=True)[2]
    assert ("Lean to the left" in leaning, ">+0.50<" in leaning, ">0.39<" in leaning) == (True, True, True)
    alike = told(sd=0.0)
    assert "all count alike" in alike[1]
    assert ("Reliability" in alike[2], ">1.20<" in alike[2]) == (False, False)
    bare = told(level=None)[2]
    assert ("±" in bare, ">0.20<" in bare) == (False, False)


def test_two_hundred_rows_and_the_others_counted():
    rows = [f"<tr>{k}</tr>" for k in range(203)]
    assert "… and 3 more" in sections._as_table("", rows)
    assert "more" not in sections._as_table("", rows[:200])
    assert sections._as_table("", rows).count("<tr>") == 201  # and the heads


# ---- parts of a page ------------------------------------------------------------------------------------------------


def test_a_bar_stands_on_its_rail_by_hand():
    drawn = board.bar(2.0, 1.0, 3.0, 0.0, 4.0)
    for part in ('x="26.50%" width="47.00%"', 'cx="50.00%"'):
        assert part in drawn
    assert "tip" not in drawn
    open_ended = board.bar(2.0, -math.inf, 3.0, 0.0, 4.0)
    assert ('x="3.00%" width="70.50%"' in open_ended, "◂" in open_ended, "▸" in open_ended) == (True, True, False)
    assert "▸" in board.bar(2.0, 1.0, math.inf, 0.0, 4.0)
    assert "span" not in board.bar(2.0, None, None, 0.0, 4.0)
    assert 'cx="3.00%"' in board.bar(2.0, None, None, 2.0, 2.0)
    assert 'cx="97.00%"' in board.bar(9.0, None, None, 0.0, 4.0)
    assert 'cx="3.00%"' in board.bar(-9.0, None, None, 0.0, 4.0)


def test_numbers_and_cuts_of_a_board():
    told = [board._number(value, 2) for value in (1.005, -0.001, -2.5, math.inf, -math.inf)]
    assert told == ["1.00", "0.00", "−2.50", "∞", "−∞"]
    assert board._cuts([1, 1, 2, 2, 3]) == {2, 4}
    assert board._cuts([1, 2, 1, 3]) == {3}
    assert board._valued("x", None) == '<td class="n wide" data-v="">x</td>'
    assert board._valued("x", 2.5) == '<td class="n wide" data-v="2.5">x</td>'


def test_what_stands_beside_a_leaderboard():
    more = {"Mark": {"a": ("<9>", 9.0)}, "Mark from … to": {"a": ("8 … 10", 8.0)}, "Grade": {"b": ("A", None)}}
    plain = Ranking(["a", "b"], [0.0, 1.0])
    beside = report_parts.Beside(before={"a": 3, "b": 1, "c": 2}, more=more, plain=plain)
    assert beside.change("a", 1) == ('<span class="up">▲ 2</span>', 2.0)
    assert beside.change("b", 2) == ('<span class="down">▼ 1</span>', -1.0)
    assert beside.change("c", 2) == ("–", 0.0)
    assert beside.change("d", 2) == ("new", None)
    assert report_parts.Beside().change("a", 1) == ("new", None)
    assert beside.told("a") == ["mark &lt;9&gt; (8 … 10)"]
    assert (beside.told("b"), beside.told("c")) == (["grade A"], [])
    columns = beside.columns()
    assert columns["Mark"] == {"a": ("&lt;9&gt;", 9.0)}
    assert columns["Without effects"] == {"a": ("2", 2.0), "b": ("1", 1.0)}
    assert "Without effects" not in report_parts.Beside(more=more).columns()
    for bad in ({"by": "x"}, {"parts": {"x": (plain, None)}}):
        with pytest.raises(InputError, match="go together; give both, or neither"):
            report_parts.Beside(**bad)


def test_every_row_has_a_name_of_its_own():
    assert report_parts.anchors(["A b", "a-b", "a b!", "!", "?"]) == {
        "A b": "item-a-b", "a-b": "item-a-b-2", "a b!": "item-a-b-3", "!": "item-item", "?": "item-item-2"}  # fmt: skip
    assert (
        report_parts.anchor("item-x", "<x>") == '<a class="anchor" href="#item-x" aria-label="Link to &lt;x&gt;"></a>'
    )


def test_cells_of_ranks_say_who_may_be_first():
    cell = report_parts._cell
    assert cell(None) == '<td data-v=""></td>'
    assert cell({"rank": 1, "rank_lower": 1, "rank_upper": 2}) == (
        '<td data-v="1"><span class="best">1</span><small>1–2</small></td>')  # fmt: skip
    assert 'class="perhaps"' in cell({"rank": 2, "rank_lower": 1, "rank_upper": 3})
    assert cell({"rank": 2, "rank_lower": 2, "rank_upper": 3}).startswith('<td data-v="2"><span class="">2')
    assert cell({"rank": 3}) == '<td data-v="3"><span class="">3</span></td>'


def test_tabs_are_of_parts_that_say_something():
    first, *panels = report_parts.tabs({"One": ["<p>1</p>"], "None": [], "Two": ["<p>2</p>"]}, "<b>switch</b>")
    assert first.count("<input") == 2
    assert 'id="view-0" checked><span>One' in first
    assert 'id="view-1"><span>Two' in first
    assert first.endswith("<b>switch</b></div>")
    assert [each.count("<p>") for each in panels] == [1, 1]
    assert 'class="panel v1" aria-label="Two"' in panels[1]


def test_bands_over_time_are_small_pictures_on_one_scale():
    """Two items from time 1 to 3; scores from -0.4 to 1.8: 2.2 high, so that 0 stands at 80 - 80 · 0.4 / 2.2."""
    head, note, pictures = report_time._bands(frame("ab"), 2, 0.9)
    assert head == "<h2>Each with its 90 % band</h2>"
    assert "All from 1 to 3 and from −0.4 to 1.8; grey: the others." in note
    zero = f"{80 - 80 * 0.4 / 2.2:.1f}"
    assert f'y1="{zero}" y2="{zero}"' in pictures
    assert pictures.count("<figure>") == 2
    assert pictures.count('<g id="all-curves">') == 1
    assert pictures.index('<g id="all-curves">') < pictures.index('<use href="#all-curves"/>')
    assert "<i>2</i> b" in pictures
    assert "b: now +1.3" in pictures

    def y(value):
        return f"{80 - 80 * (value + 0.4) / 2.2:.1f}"

    assert f'points="0.0,{y(0.1)} 100.0,{y(0.2)} 200.0,{y(0.3)}"' in pictures
    band = (
        f'<polygon points="0.0,{y(0.6)} 100.0,{y(0.7)} 200.0,{y(0.8)} 200.0,{y(-0.2)} 100.0,{y(-0.3)} 0.0,{y(-0.4)}"/>'
    )
    assert band in pictures
    assert "The first 2 of 9." in report_time._bands(frame("ab"), 9, 0.9)[1]
    assert 'class="zero"' not in report_time._bands(frame("ab", width=0.05), 2, 0.9)[2]


def test_odds_are_one_bar():
    drawn = report_time.odds(0.5, 0.2, 0.3)
    for part in ('class="w" x="0.00%" width="50.00%"', 'class="t" x="50.00%" width="20.00%"',
                 'class="l" x="70.00%" width="30.00%"'):  # fmt: skip
        assert part in drawn
    assert report_time._day(2.5) == "2.5"
    assert report_time._day("2027-01-15 00:00:00") == "2027-01-15"


def test_the_scale_of_the_heat_map_is_named():
    votes = Comparisons.from_pairs([("a", "b")] * 3 + [("b", "a")])
    figure = plots.wins(votes, BradleyTerry().fit(votes).ranking_)
    bar = figure.axes[1]
    assert bar.get_yticks().tolist() == [0, 0.5, 1]
    assert [each.get_text() for each in bar.get_yticklabels()] == ["always lost", "even", "always won"]
    cells = {each.get_text(): each.get_position() for each in figure.axes[0].texts}
    assert cells == {"75": (1, 0), "25": (0, 1)}


def test_calibration_is_drawn_as_given():
    curve = ([0.5, 0.9], [0.4, 0.8], [0.3, 0.7], [0.5, 0.9])
    figure = plots.calibration({"one": curve, "two": curve})
    ax = figure.axes[0]
    assert list(ax.lines[0].get_xdata()) == [0, 1]
    assert list(ax.lines[1].get_xdata()) == pytest.approx([0.4985, 0.8985])
    assert list(ax.lines[2].get_xdata()) == pytest.approx([0.5015, 0.9015])
    assert list(ax.lines[1].get_ydata()) == [0.4, 0.8]
    assert ax.get_xlim() == ax.get_ylim() == (pytest.approx(0.28), pytest.approx(1.02))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted chance", "observed share")
    assert "Calibration on held-out votes" in words(figure)
    assert [each.get_text() for each in ax.get_legend().get_texts()] == ["one", "two"]


def test_nothing_is_said_of_a_rest_where_all_are_drawn():
    votes = Comparisons.from_pairs([("a", "b")] * 3 + [("b", "a")] + [("b", "c")] * 2 + [("c", "a")])
    ranking = BradleyTerry().fit(votes).ranking_
    assert not any("below: " in each for each in words(plots.intervals(ranking, top=3)))
    assert any("below: 1 more item" in each for each in words(plots.intervals(ranking, top=2)))
    assert "Votes won by the row's item, %" in words(plots.wins(votes, ranking, top=3))
    assert "Votes won by the row's item, % (the first 2 of 3)" in words(plots.wins(votes, ranking, top=2))
    whole = plots.history([1, 2], ["a", "b"], np.array([[1.0, 2.0], [2.0, 1.0]]), top=2)
    assert "Scores as votes came in" in words(whole)
    part = plots.history([1, 2], ["a", "b"], np.array([[1.0, 2.0], [2.0, 1.0]]), top=1)
    assert "Scores as votes came in (the first 1 of 2 items)" in words(part)


def test_a_method_without_a_bin_is_named_and_moves_no_axis():
    none = ([], [], [], [])
    ax = plots.calibration({"one": ([0.6], [0.7], [0.45], [0.8]), "two": none}).axes[0]
    assert [each.get_text() for each in ax.get_legend().get_texts()] == ["one", "two"]
    assert ax.get_xlim()[0] == pytest.approx(0.43)
    assert plots.calibration({"two": none}).axes[0].get_xlim()[0] == pytest.approx(0.48)
    low = plots.calibration({"one": ([0.4], [0.7], [0.45], [0.8])}).axes[0]
    assert low.get_xlim()[0] == pytest.approx(0.38)


@pytest.mark.parametrize(("n", "named", "step"), [(80, 80, 1), (81, 41, 2), (161, 54, 3)])
def test_of_very_many_items_one_in_so_many_is_named(n, named, step):
    left, right = np.arange(n - 1), np.arange(1, n)
    votes = Comparisons.from_arrays(np.repeat(left, 2), np.repeat(right, 2), items=[str(k) for k in range(n)])
    ranking = Ranking([str(k) for k in range(n)], -np.arange(float(n)))
    figure = plots.wins(votes, ranking)
    ax = figure.axes[0]
    assert [each.get_text() for each in ax.get_yticklabels()] == [str(k) for k in range(0, n, step)]
    assert len(ax.get_xticklabels()) == named
    assert any(f"one in {step} is named" in each for each in words(figure)) == (step > 1)
    assert not ax.texts  # no numbers beyond forty


@pytest.mark.parametrize(("n", "size"), [(24, 7), (25, 5.5), (40, 5.5)])
def test_numbers_of_many_cells_are_smaller(n, size):
    votes = Comparisons.from_arrays(np.arange(n - 1), np.arange(1, n), items=[str(k) for k in range(n)])
    figure = plots.wins(votes, Ranking([str(k) for k in range(n)], -np.arange(float(n))))
    assert {each.get_fontsize() for each in figure.axes[0].texts} == {size}
    assert {each.get_fontsize() for each in figure.axes[0].get_yticklabels()} == {8}


def test_the_line_at_none_is_drawn_where_it_lies_inside():
    """A band that only touches 0 has no line there: it would lie on the edge."""

    def has_line(low, high):
        rows = [("a", t, (low + high) / 2, low, high) for t in (1, 2)]
        table = pl.DataFrame(rows, schema=["item", "time", "score", "lower", "upper"], orient="row")
        return 'class="zero"' in report_time._bands(table, 1, 0.9)[2]

    assert [has_line(*ends) for ends in ((-1.0, 1.0), (0.0, 1.0), (-1.0, 0.0), (0.5, 1.0))] == [
        True,
        False,
        False,
        False,
    ]


@pytest.mark.parametrize(("unit", "digits"), [(1.0, 2), (9.99, 2), (10.0, 0), (173.7, 0)])
def test_a_page_gives_two_digits_where_the_unit_is_small(unit, digits):
    ranking = Ranking(["a", "b"], [1.0, 0.0], unit=unit)
    assert page._digits(ranking, ranking.to_frame()) == digits
