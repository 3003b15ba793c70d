"""Every mark of a picture: where it stands, what it is beside the others, and which pictures are refused."""

import itertools
import re
import struct
import warnings
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.text import Text

from podium import RABF, BradleyTerry, Comparisons, Ranking
from podium import show as pictures
from podium.errors import DataWarning, InputError
from podium.evaluate.feature_diagnosis import LearningCurve
from podium.show import canvas, feature_plots, plots
from podium.show.canvas import BLUE, INK, LINES, MARKERS, SOFT

from helpers import thin_data


def ranked(pairs):
    votes = Comparisons.from_pairs(pairs)
    with thin_data():
        return votes, BradleyTerry().fit(votes).ranking_


FEW = [("a", "b")] * 7 + [("b", "a")] * 3 + [("b", "c")] * 6 + [("c", "b")] * 4 + [("c", "a")] * 2


def chain(n):
    """Each item met its neighbours, so that the heat map has cells without a fit."""
    names = [str(k) for k in range(n)]
    votes = Comparisons.from_arrays(np.arange(n - 1), np.arange(1, n), items=names)
    return votes, Ranking(names, -np.arange(float(n)))


def laid_out(figure):
    paper = FigureCanvasAgg(figure)
    paper.draw()
    return paper.get_renderer()


def in_inches(figure, ax):
    """Left, bottom, width and height of the axes."""
    width, height = figure.get_size_inches()
    left, bottom, across, up = ax.get_position(original=True).bounds
    return left * width, bottom * height, across * width, up * height


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [{"top": 0}, {"top": 1.5}, {"min_votes": -1}, {"level": 1.5}, {"unit": 3}, {"title": 3}],
    ids=str,
)
def test_intervals_refuse_each_option_that_is_none(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        plots.intervals(Ranking(["a", "b"], [1.0, 0.0]), **bad)


@pytest.mark.parametrize("bad", [{"top": 0}, {"min_votes": -1}, {"title": 3}], ids=str)
def test_the_heat_map_refuses_each_option_that_is_none(bad):
    votes, ranking = chain(3)
    with pytest.raises(InputError, match=next(iter(bad))):
        plots.wins(votes, ranking, **bad)


@pytest.mark.parametrize("bad", [{"top": 0}, {"unit": 3}, {"title": 3}, {"noun": 3}], ids=str)
def test_the_history_refuses_each_option_that_is_none(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        plots.history([1, 2], ["a"], np.zeros((2, 1)), **bad)


def test_pictures_of_something_else_are_refused_by_name():
    votes, ranking = chain(3)
    for call, name in (
        (lambda: plots.intervals(3), "ranking"), (lambda: plots.wins(3, ranking), "comparisons"),
        (lambda: plots.wins(votes, 3), "ranking"), (lambda: plots.win_rates(3), "comparisons"),
        (lambda: plots.unit_of(ranking, 3), "model"), (lambda: plots.calibration(3), "curves"),
        (lambda: pictures.learning_curves(3), "curve"), (lambda: pictures.cost_by_questions([1]), "curves"),
        (lambda: pictures.save(3, "a.png"), "figure"), (lambda: plots.history([1], 3, np.zeros((1, 1))), "items"),
        (lambda: plots.history([[1]], ["a"], np.zeros((1, 1))), "votes"),
        (lambda: plots.history([1], ["a"], "x"), "scores"), (lambda: pictures.progress("x"), "curve"),
        (lambda: pictures.scores_by_grade("x", [0], [], "a"), "scores"),
        (lambda: pictures.scores_by_grade([1.0], "x", [], "a"), "labels"),
        (lambda: pictures.scores_by_grade([1.0], [0], "x", "a"), "thresholds"),
        (lambda: pictures.confusion("x", "a"), "counts"), (lambda: pictures.confusion([[1]], 3), "grades"),
        (lambda: pictures.cost_by_questions({"one": "x"}), "the points of 'one'"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=name):
            call()


@pytest.mark.parametrize("order", [["a", "nobody"], [["a"]], 3], ids=str)
def test_win_rates_of_strangers_are_refused(order):
    votes, _ = ranked(FEW)
    with pytest.raises(InputError, match=r"order must list items of the votes \("):
        plots.win_rates(votes, order)


# ---- intervals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "columns"), [(1, [1]), (60, [60]), (61, [31, 30]), (120, [60, 60]), (121, [41, 41, 39])])
def test_columns_hold_at_most_sixty_and_share_one_scale_and_one_height(n, columns):
    figure = plots.intervals(Ranking([f"i{k}" for k in range(n)], -np.arange(float(n))))
    assert [len(ax.get_yticklabels()) for ax in figure.axes] == columns
    margin = 0.05 * (n - 1) or 0.5
    for ax in figure.axes:
        assert ax.get_xlim() == pytest.approx((-(n - 1) - margin, margin))
        assert ax.get_ylim() == (columns[0] - 0.5, -0.5)
        assert ax.get_yticks().tolist() == list(range(len(ax.get_yticklabels())))
    places = [in_inches(figure, ax) for ax in figure.axes]
    assert len({tuple(np.round(place[1:], 9)) for place in places}) == 1
    steps = np.diff([place[0] for place in places])
    assert steps == pytest.approx(np.full(len(steps), figure.get_size_inches()[0] / len(columns)))
    dots = [line.get_xydata().tolist() for ax in figure.axes for line in ax.lines]
    starts = np.cumsum([0, *columns])
    expected = [[[-float(k), k - first] for k in range(first, end)] for first, end in itertools.pairwise(starts)]
    assert dots == expected


def test_rows_are_as_far_apart_in_a_picture_of_two_as_in_one_of_twenty():
    apart = []
    for n in (2, 3, 20, 61):
        figure = plots.intervals(Ranking([f"i{k}" for k in range(n)], -np.arange(float(n))))
        rows = len(figure.axes[0].get_yticklabels())
        apart.append(in_inches(figure, figure.axes[0])[3] / rows)
    assert apart == pytest.approx([apart[0]] * 4)
    single = plots.intervals(Ranking(["a"], [1.0]))
    assert in_inches(single, single.axes[0])[3] == pytest.approx(2 * apart[0]), "room for the words around it"


def test_one_item_alone_can_be_asked_for():
    votes, ranking = ranked(FEW)
    figure = plots.intervals(ranking, top=1)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["1  a"]
    assert [" ".join(text.get_text().split()) for text in figure.texts] == [
        "Scores with 95 % intervals",
        "score, in log-odds; items of one tier (shaded, numbered) are not significantly below its leader; below: 2 more"
        " items",
    ]
    assert len(plots.wins(votes, ranking, top=1).axes[0].get_yticklabels()) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, ["Scores", "score"]),
        ({"unit": "points"}, ["Scores", "points"]),
        ({"title": "Mine"}, ["Mine", "score"]),
        ({"top": 1}, ["Scores", "score; below: 1 more item"]),
        ({"level": None}, ["Scores", "score"]),
    ],
    ids=str,
)
def test_what_is_said_of_scores_without_intervals(options, said):
    figure = plots.intervals(Ranking(["a", "b"], [1.0, 0.0]), **options)
    assert [text.get_text() for text in figure.texts] == said


def test_without_a_level_a_likelihood_is_drawn_as_dots_too():
    _, ranking = ranked(FEW)
    (ax,) = plots.intervals(ranking, level=None).axes
    assert not ax.collections
    assert not ax.texts
    (dots,) = ax.lines
    assert (dots.get_marker(), dots.get_linestyle(), to_hex(dots.get_color())) == ("o", "None", INK)
    sure = plots.intervals(ranking).axes[0].lines[-1]
    assert (sure.get_marker(), to_hex(sure.get_color())) == ("o", BLUE)
    assert sure.get_xdata().tolist() == sorted(ranking.scores, reverse=True)


def test_intervals_without_an_end_reach_the_edge_and_their_arrows_are_whole():
    _, ranking = ranked([("top", "a"), ("a", "b"), ("b", "a"), ("top", "b"), ("a", "low"), ("b", "low")])
    (ax,) = plots.intervals(ranking).axes
    ends = ranking.to_frame(0.95)
    low, high = ax.get_xlim()
    expected = [[max(low, lower), min(high, upper)] for lower, upper in zip(ends["lower"], ends["upper"], strict=True)]
    found = [segment[:, 0].tolist() for segment in ax.collections[0].get_segments()]
    np.testing.assert_allclose(found, expected)
    assert (ends["upper"][0], ends["lower"][3]) == (np.inf, -np.inf)
    arrows = [line for line in ax.lines if line.get_marker() in ("<", ">")]
    assert [line.get_clip_on() for line in arrows] == [False, False]
    assert {to_hex(line.get_color()) for line in arrows} == {BLUE}
    finite = [value for name in ("score", "lower", "upper") for value in ends[name] if np.isfinite(value)]
    margin = 0.05 * (max(finite) - min(finite))
    assert (low, high) == pytest.approx((min(finite) - margin, max(finite) + margin))


def test_numbers_of_tiers_are_soft_smaller_than_names_and_never_hidden():
    _, ranking = ranked([("a", "b")] * 90 + [("b", "a")] * 10)
    (ax,) = plots.intervals(ranking).axes
    assert [text.get_text() for text in ax.texts] == ["1", "2"]
    names = ax.get_yticklabels()[0].get_fontsize()
    for text in ax.texts:
        assert to_hex(text.get_color()) == SOFT
        assert text.get_fontsize() < names
        assert not text.get_annotation_clip()
    assert all(patch.get_linewidth() == 0 for patch in ax.patches)
    assert all(patch.get_zorder() < line.get_zorder() for patch in ax.patches for line in ax.get_xgridlines())


# ---- grids and ticks ------------------------------------------------------------------------------------------------

MOVING = [(item, t, k + t / 10, k + t / 10 - 0.5, k + t / 10 + 0.5) for k, item in enumerate("ab") for t in (1, 2, 3)]
COLUMNS = ["item", "time", "score", "lower", "upper"]
BINS = ([0.55, 0.7], [0.5, 0.72], [0.4, 0.6], [0.6, 0.8])


def lined(axis):
    """Whether the grid of an axis is seen."""
    return {line.get_visible() for line in axis.get_gridlines()} == {True}


@pytest.mark.parametrize(
    ("draw", "across", "up"),
    [
        (lambda: plots.intervals(Ranking(["a", "b"], [1.0, 0.0])).axes[0], True, False),
        (lambda: plots.history([1, 2], ["a"], np.array([[1.0], [2.0]])).axes[0], True, True),
        (lambda: plots.calibration({"one": BINS}).axes[0], True, True),
        (lambda: pictures.curves(pl.DataFrame(MOVING, schema=COLUMNS, orient="row")).axes[0], True, True),
        (lambda: pictures.progress([(1, 0.5), (2, 0.4)]), True, True),
        (lambda: pictures.cost_by_questions({"a": [(1, 1.5), (2, 1.2)]}), True, True),
        (lambda: pictures.confusion([[1]], "a"), False, False),
    ],
    ids=["intervals", "history", "calibration", "curves", "progress", "cost", "confusion"],
)
def test_a_grid_is_drawn_where_values_are_read_off(draw, across, up):
    ax = draw()
    laid_out(ax.figure)
    assert (lined(ax.xaxis), lined(ax.yaxis)) == (across, up)


def test_the_finer_grid_is_of_logarithms_alone():
    for log in (True, False):
        ax = pictures.cost_by_questions({"a": [(1, 1.5), (2, 1.002)]}, log=log)
        laid_out(ax.figure)
        fine = [tick.gridline.get_visible() for tick in ax.yaxis.get_minor_ticks()]
        assert (bool(fine) and all(fine)) == log


def test_names_have_no_ticks_and_numbers_do():
    def lengths(axis):
        return {tick.tick1line.get_markersize() for tick in axis.get_major_ticks()}

    (ax,) = plots.intervals(Ranking(["a", "b"], [1.0, 0.0])).axes
    assert lengths(ax.yaxis) == {0}
    assert min(lengths(ax.xaxis)) > 0
    heat = plots.wins(*chain(4)).axes[0]
    assert lengths(heat.xaxis) | lengths(heat.yaxis) == {0}
    learned = pictures.learning_curves(
        LearningCurve(**{name: np.array([100, 1000]) if name == "sizes" else np.full((2, 2), 0.6)
                         for name in LearningCurve.__dataclass_fields__})
    ).axes[0]  # fmt: skip
    laid_out(learned.figure)
    assert len(learned.xaxis.get_minor_ticks()) == 0, "only the sizes are marked"


# ---- who beat whom --------------------------------------------------------------------------------------------------


def test_names_of_the_heat_map_stand_above_and_at_the_left():
    figure = plots.wins(*chain(5))
    ax, bar = figure.axes
    renderer = laid_out(figure)
    assert {label.get_rotation() for label in ax.get_xticklabels()} == {90}
    assert {label.get_rotation() for label in ax.get_yticklabels()} == {0}
    top = ax.get_window_extent(renderer).y1
    assert all(label.get_window_extent(renderer).y0 >= top for label in ax.get_xticklabels())
    assert ax.images[0].get_interpolation() == "nearest", "cells have edges"
    assert not bar._colorbar.outline.get_visible()


@pytest.mark.parametrize("n", [2, 9, 30])
def test_the_scale_of_colours_stands_beside_the_middle_of_the_map(n):
    figure = plots.wins(*chain(n))
    left, bottom, width, height = in_inches(figure, figure.axes[0])
    at, under, thick, high = in_inches(figure, figure.axes[1])
    assert width == pytest.approx(height)
    assert under + high / 2 == pytest.approx(bottom + height / 2)
    assert high == pytest.approx(min(height, 3.0))
    assert 0 < at - (left + width) < 0.3
    assert thick < 0.3
    assert all(label.get_fontsize() == 7 for label in figure.axes[1].get_yticklabels())


def test_cells_are_of_one_size_until_the_sheet_is_full():
    sizes = {n: in_inches(figure, figure.axes[0])[2] / n for n in (8, 12, 20) for figure in [plots.wins(*chain(n))]}
    assert sizes[8] == pytest.approx(sizes[20])
    assert sizes[12] == pytest.approx(sizes[20])
    few, many = (in_inches(figure, figure.axes[0])[2] for figure in (plots.wins(*chain(2)), plots.wins(*chain(5))))
    assert few == pytest.approx(many), "a few cells are larger"


@pytest.mark.parametrize(("n", "names", "numbers"), [(40, 8, True), (41, 6, False)])
def test_beyond_forty_items_names_are_smaller_and_cells_have_no_number(n, names, numbers):
    (ax, _) = plots.wins(*chain(n)).axes
    assert {label.get_fontsize() for label in (*ax.get_yticklabels(), *ax.get_xticklabels())} == {names}
    assert bool(ax.texts) == numbers


def test_the_heat_map_leaves_out_items_that_nobody_compared():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("a", "b")])
    figure = plots.wins(votes, Ranking(["z", "a", "b"], [3.0, 2.0, 1.0]))
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "b"]
    assert figure.texts[0].get_text() == "Votes won by the row's item, %"
    named = plots.wins(votes, Ranking(["a", "b"], [2.0, 1.0]), title="Mine", top=1)
    assert named.texts[0].get_text() == "Mine (the first 1 of 2)"
    values = figure.axes[0].images[0].get_array()
    assert np.ma.getmaskarray(values).tolist() == [[True, False], [False, True]] or np.isnan(values.data).tolist() == [
        [True, False],
        [False, True],
    ]


# ---- histories ------------------------------------------------------------------------------------------------------


def test_equal_numbers_of_votes_may_follow_each_other():
    figure = plots.history([5, 5, 6], ["a"], np.array([[1.0], [2.0], [3.0]]))
    assert figure.axes[0].lines[0].get_xdata().tolist() == [5, 5, 6]
    with pytest.raises(InputError, match="give finite numbers of votes, the first first"):
        plots.history([5, 4.5, 6], ["a"], np.array([[1.0], [2.0], [3.0]]))


def test_items_that_end_equal_keep_their_order():
    names = [f"i{k}" for k in range(40)]
    scores = np.zeros((2, 40))
    scores[-1, 20:] = 1.0
    figure = plots.history([1, 2], names, scores)
    assert [text.get_text() for text in figure.axes[0].texts] == names[20:28]
    rows = [(name, t, 1.0, 0.5, 1.5) for name in names for t in (1, 2)]
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    assert [text.get_text() for text in pictures.curves(frame).axes[0].texts] == names


@pytest.mark.parametrize(("wild", "seen"), [(10, False), (19, False), (20, True), (30, True), (99, True)])
def test_the_axis_shows_all_but_the_first_fifth(wild, seen):
    figure = plots.history([wild, 100], ["a", "b"], np.array([[50.0, 0.0], [1.0, 0.0]]))
    low, high = figure.axes[0].get_ylim()
    top = 50.0 if seen else 1.0
    assert (low, high) == pytest.approx((-0.05 * top, 1.05 * top))


@pytest.mark.parametrize(("others", "alpha"), [(1, 1.0), (20, 1.0), (40, 0.5), (80, 0.25), (120, 0.25)])
def test_grey_lines_are_fainter_the_more_there_are(others, alpha):
    """As much ink as twenty, but never fainter than a quarter."""
    count = len(LINES) + others
    figure = plots.history([1, 2], range(count), np.tile(-np.arange(float(count)), (2, 1)))
    grey, coloured = figure.axes[0].lines[:others], figure.axes[0].lines[others:]
    assert len(coloured) == len(LINES)
    assert {line.get_alpha() for line in grey} == {alpha}
    assert {to_hex(line.get_color()) for line in grey} == {"#b0b0b0"}
    assert max(line.get_linewidth() for line in grey) < min(line.get_linewidth() for line in coloured)
    assert [to_hex(line.get_color()) for line in coloured] == list(LINES)


def looks(lines):
    return [(to_hex(line.get_color()), str(line._unscaled_dash_pattern)) for line in lines]


def test_the_named_lines_are_told_apart_by_dashes_round_by_round():
    lines = plots.history([1, 2], range(30), np.tile(-np.arange(30.0), (2, 1)), top=24).axes[0].lines
    assert len(set(looks(lines))) == 24
    for first in range(0, 24, 8):
        assert [colour for colour, _ in looks(lines)[first : first + 8]] == list(LINES)
        assert len({dash for _, dash in looks(lines)[first : first + 8]}) == 1
    rows = [(f"i{k}", t, -float(k), -k - 0.5, -k + 0.5) for k in range(25) for t in (1, 2)]
    curves = pictures.curves(pl.DataFrame(rows, schema=COLUMNS, orient="row")).axes[0].lines
    assert looks(curves)[:24] == looks(lines)
    assert looks(curves)[24] == looks(lines)[0], "and then from the beginning"


@pytest.mark.parametrize("kind", ["history", "curves"])
def test_a_thin_line_leads_from_the_left_of_a_name_to_the_end_of_its_curve(kind):
    if kind == "history":
        figure = plots.history([1, 2], ["first", "second"], np.array([[0.0, 0.0], [1.0, 0.9]]))
    else:
        rows = [
            (name, t, end * t, end * t - 1, end * t + 1) for name, end in (("one", 1.0), ("two", 0.9)) for t in (1, 2)
        ]
        figure = pictures.curves(pl.DataFrame(rows, schema=COLUMNS, orient="row"))
    (ax,) = figure.axes
    renderer = laid_out(figure)
    assert len(ax.texts) == 2
    for text in ax.texts:
        box = Text.get_window_extent(text, renderer)
        start, end = text.arrow_patch.get_transform().transform(text.arrow_patch.get_path().vertices)[[0, -1]]
        point = ax.transData.transform(text.xy)
        assert np.hypot(*(end - point)) < 1
        assert 0 <= box.x0 - start[0] < 8
        assert abs(start[1] - (box.y0 + box.y1) / 2) < 3
        assert not text.get_annotation_clip()
        assert text.get_annotation_clip() is not None, "a name is never hidden"


def test_what_a_history_is_called_by_default():
    figure = plots.history([1, 2], ["a"], np.array([[1.0], [2.0]]))
    (ax,) = figure.axes
    assert (ax.get_xlabel(), ax.get_ylabel(), figure.texts[0].get_text()) == (
        "votes", "score", "Scores as votes came in")  # fmt: skip


# ---- calibration ----------------------------------------------------------------------------------------------------


def test_each_bin_has_its_interval_and_the_square_is_a_square():
    (ax,) = plots.calibration({"one": BINS}).axes
    found = [segment.tolist() for segment in ax.collections[0].get_segments()]
    np.testing.assert_allclose(found, [[[0.55, 0.4], [0.55, 0.6]], [[0.7, 0.6], [0.7, 0.8]]])
    assert ax.get_aspect() == 1
    diagonal, curve = ax.lines
    assert (list(diagonal.get_xdata()), list(diagonal.get_ydata())) == ([0, 1], [0, 1])
    assert to_hex(diagonal.get_color()) == SOFT
    assert diagonal.get_linestyle() == "--"
    assert diagonal.get_linewidth() < curve.get_linewidth()
    assert ax.collections[0].get_linewidth()[0] < curve.get_linewidth()
    assert 0 < ax.collections[0].get_alpha() < 1
    assert to_hex(ax.collections[0].get_edgecolor()[0]) == to_hex(curve.get_color()) == BLUE
    figure = plots.calibration({"x" * 50: BINS}, title="Mine")
    assert figure.texts[0].get_text() == "Mine"
    (label,) = figure.axes[0].get_legend().get_texts()
    assert label.get_text() == "x" * 22 + "…" + "x" * 11


def test_three_methods_stand_side_by_side_in_each_bin():
    (ax,) = plots.calibration(dict.fromkeys("abc", BINS)).axes
    first = [line.get_xdata()[0] for line in ax.lines[1:]]
    assert first[1] == pytest.approx(0.55)
    assert first[1] - first[0] == pytest.approx(first[2] - first[1])
    assert 0 < first[2] - first[0] < 0.01


def test_the_axes_begin_at_one_half_or_lower():
    (ax,) = plots.calibration({"one": ([0.7], [0.7], [0.6], [0.8])}).axes
    assert ax.get_xlim() == pytest.approx((0.48, 1.02))
    assert ax.get_ylim() == pytest.approx((0.48, 1.02))


# ---- questions, grades ----------------------------------------------------------------------------------------------


def test_nine_strategies_begin_again_with_the_first_mark():
    ax = pictures.cost_by_questions({str(k): [(1.0, 2.0 + k), (2.0, 1.5)] for k in range(9)})
    assert [line.get_marker() for line in ax.lines] == [*MARKERS, MARKERS[0]]
    assert [to_hex(line.get_color()) for line in ax.lines] == [*LINES, LINES[0]]
    assert ax.get_title() == ""
    assert ax.get_yscale() == "log"


def test_a_box_of_a_grade_is_as_high_as_the_line_of_its_median():
    ax = pictures.scores_by_grade(np.arange(10.0), [0] * 10, [4.0, 6.0], ["a"])
    (box,) = ax.patches
    whisker, median, *thresholds = ax.lines
    assert [box.get_y(), box.get_y() + box.get_height()] == list(median.get_ydata())
    assert box.get_facecolor()[3] < 0.5, "the median is seen on it"
    assert to_hex(box.get_edgecolor()) == to_hex(median.get_color()) == BLUE
    assert (to_hex(whisker.get_color()), whisker.get_linewidth()) == (SOFT, 1)
    assert median.get_linewidth() > whisker.get_linewidth()
    assert {line.get_linestyle() for line in thresholds} == {"--"}
    assert pictures.scores_by_grade([1.0], [0], [], "a", ax=ax) is ax


def test_shares_of_grades_that_are_few():
    ax = pictures.confusion([[1, 0], [9, 11]], "ab")
    assert ax.images[0].get_array().tolist() == [[1.0, 0.0], [0.45, 0.55]]
    assert {text.get_position(): text.get_color() for text in ax.texts} == {
        (0, 0): "white", (1, 0): "black", (0, 1): "black", (1, 1): "black"}  # fmt: skip
    assert ax.get_aspect() == "auto"
    assert ax.images[0].get_cmap().name == "Blues"
    assert ax.get_title() == "Which grades are mistaken for which"
    assert pictures.confusion([[44, 56], [1, 1]], "ab").texts[1].get_color() == "white"
    assert pictures.confusion([[1]], "a", ax=ax) is ax


@pytest.mark.parametrize(("count", "step"), [(24, 1), (25, 2), (49, 2), (50, 3)])
def test_of_many_grades_some_are_named(count, step):
    ax = pictures.confusion(np.eye(count), range(count))
    named = [str(k) for k in range(0, count, step)]
    assert [label.get_text() for label in ax.get_xticklabels()] == named
    assert [label.get_text() for label in ax.get_yticklabels()] == named


# ---- features -------------------------------------------------------------------------------------------------------


def with_coefficients(effects, errors, names=None, **more):
    """A model that was told what it learned."""
    count = len(effects)
    learned = {
        "feature_names_": tuple(names or (f"f{k}" for k in range(count))), "explained_": 0.5,
        "coef_": np.array(effects), "coef_std_errors_": np.array(errors), "feature_std_": np.ones(count),
        "ranking_": Ranking(["a", "b"], [1.0, 0.0], **more),
    }  # fmt: skip
    return type("Told", (RABF,), learned)()


@pytest.mark.parametrize(
    ("count", "said"), [(40, ""), (41, "; 1 weaker ones left out"), (43, "; 3 weaker ones left out")]
)
def test_the_forty_most_significant_features_are_drawn(count, said):
    figure = pictures.coefficients(with_coefficients(np.arange(count, 0.0, -1.0), np.ones(count)))
    (ax,) = figure.axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"f{k}" for k in range(40)]
    assert ax.get_title(loc="left") == f"features explain about 50 % of the scores' variance{said}"
    named = pictures.coefficients(with_coefficients([1.0], [1.0]), title="Mine").axes[0]
    assert named.get_title(loc="left") == "Mine"
    with pytest.raises(InputError, match="title"):
        pictures.coefficients(with_coefficients([1.0], [1.0]), title=3)


def test_features_alike_keep_their_order_and_the_unit_of_the_scores_counts():
    model = with_coefficients([1.0] * 30, [1.0] * 30, unit=100.0)
    (ax,) = pictures.coefficients(model).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == [f"f{k}" for k in range(30)]
    (points, *_) = ax.containers[0]
    assert set(points.get_xdata()) == {100.0}
    assert points.get_ydata().tolist() == [-k for k in range(30)]
    assert [text.get_text() for text in ax.figure.legends[0].get_texts()] == ["may be 0"]


def test_a_feature_without_an_error_comes_first():
    (ax,) = pictures.coefficients(with_coefficients([3.0, 1.0], [1.0, 0.0])).axes
    assert [label.get_text() for label in ax.get_yticklabels()] == ["f1", "f0"]


def far_off(count):
    """Items so far from what their features say that all of them are outliers, and one that nobody compared."""
    names = [f"{'very long name ' * 3}{k}" for k in range(count)]
    model = RABF()
    model.ranking_ = Ranking([*names, "idle", "usual"], np.arange(count + 2.0))
    model.residuals_ = np.array([*np.arange(1.0, count + 1), 0.0, 0.5])
    model.unseen_ = ("idle",)
    return model, names


def test_twelve_outliers_are_named_in_a_few_letters_and_idle_items_are_not_drawn(monkeypatch):
    model, names = far_off(14)
    levels = []
    monkeypatch.setattr(
        feature_plots,
        "residual_outliers",
        lambda model, level: levels.append(level) or pl.DataFrame({"item": names[::-1]}),
    )
    (ax,) = pictures.outliers(model, level=0.8).axes
    pictures.outliers(model)
    assert levels == [0.8, 0.95]
    assert [text.get_text() for text in ax.texts] == [
        "very long na…" + f"very long name {k}"[-11:] for k in range(13, 1, -1)
    ]
    usual, outlying = ax.collections
    assert usual.get_offsets().tolist() == [[15.0 - 0.5, 15.0]]
    assert outlying.get_offsets().tolist() == [[k - (k + 1.0), float(k)] for k in range(14)]
    assert ax.lines[0].get_xydata().tolist() == [[-1.0, -1.0], [15.0, 15.0]]
    monkeypatch.setattr(feature_plots, "residual_outliers", lambda model, level: pl.DataFrame({"item": []}))
    (calm,) = pictures.outliers(model).axes
    assert len(calm.collections) == 1
    assert not calm.texts


# ---- scores that move -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "alpha"), [(1, 0.24), (4, 0.12), (16, 0.06), (25, 0.06)])
def test_bands_are_fainter_the_more_there_are(count, alpha):
    """Falling with the root of their number, to a quarter of one alone."""
    rows = [(f"i{k}", t, float(k), k - 0.5, k + 0.5) for k in range(count) for t in (1, 2)]
    (ax,) = pictures.curves(pl.DataFrame(rows, schema=COLUMNS, orient="row")).axes
    assert [band.get_facecolor()[0][3] for band in ax.collections] == pytest.approx([alpha] * count)
    assert all(band.get_linewidth()[0] == 0 for band in ax.collections)
    vertices = ax.collections[0].get_paths()[0].vertices
    assert (vertices[:, 1].min(), vertices[:, 1].max()) == (count - 1.5, count - 0.5)


def test_curves_run_in_the_order_of_time_whatever_the_rows():
    rows = [("a", 3, 0.3, 0.2, 0.4), ("a", 1, 0.1, 0.0, 0.2), ("a", 2, 0.2, 0.1, 0.3)]
    (ax,) = pictures.curves(pl.DataFrame(rows, schema=COLUMNS, orient="row")).axes
    assert ax.lines[0].get_xydata().tolist() == [[1, 0.1], [2, 0.2], [3, 0.3]]
    assert ax.get_ylabel() == "score, in log-odds"


def test_dates_are_written_as_dates_and_numbers_as_times():
    from datetime import date

    days = [date(2026, 1, 1), date(2026, 6, 1), date(2027, 1, 1)]
    rows = [("a", day, 0.1 * k, 0.1 * k - 1, 0.1 * k + 1) for k, day in enumerate(days)]
    figure = pictures.curves(pl.DataFrame(rows, schema=COLUMNS, orient="row"))
    (ax,) = figure.axes
    laid_out(figure)
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert ax.get_xlabel() == ""
    assert 3 <= len(labels) <= 8
    assert "2027" in labels or "2026" in labels
    assert any(label in ("Mar", "Apr", "May", "Jul") for label in labels), "months by name"
    single = pictures.curves(pl.DataFrame([("a", 5, 0.1, 0.0, 0.2)], schema=COLUMNS, orient="row")).axes[0]
    assert single.get_xlabel() == "time"
    assert single.get_xlim()[0] < 5 < single.get_xlim()[1]


# ---- the canvas -----------------------------------------------------------------------------------------------------


def test_a_panel_is_lined_left_and_below_in_soft_grey():
    figure, ax = canvas.panel(4.0, 3.0)
    assert figure.get_size_inches().tolist() == [4.0, 3.0]
    assert {side: spine.get_visible() for side, spine in ax.spines.items()} == {
        "left": True, "bottom": True, "top": False, "right": False}  # fmt: skip
    assert {to_hex(ax.spines[side].get_edgecolor()) for side in ("left", "bottom")} == {SOFT}
    for axis in (ax.xaxis, ax.yaxis):
        tick = axis.get_major_ticks()[0]
        assert (to_hex(tick.label1.get_color()), tick.label1.get_fontsize()) == (INK, 8)
        assert to_hex(tick.tick1line.get_markeredgecolor()) == SOFT
    assert figure.get_layout_engine() is not None


def test_words_around_a_picture_stand_an_eighth_of_an_inch_from_its_edges():
    figure = canvas.sheet(4.0, 2.0)
    canvas.headline(figure, "Above")
    canvas.footnote(figure, "Below")
    above, below = figure.texts
    renderer = laid_out(figure)
    boxes = [text.get_window_extent(renderer) for text in (above, below)]
    for box in boxes:
        assert box.x0 / figure.dpi == pytest.approx(0.12, abs=0.03)
    assert 2.0 - boxes[0].y1 / figure.dpi == pytest.approx(0.12, abs=0.04)
    assert boxes[1].y0 / figure.dpi == pytest.approx(0.12, abs=0.06)
    assert (to_hex(above.get_color()), to_hex(below.get_color())) == ("#000000", SOFT)  # outside of `styled`
    assert above.get_fontsize() > below.get_fontsize()
    assert figure.get_size_inches().tolist() == [4.0, 2.0]


def test_words_are_wrapped_by_the_width_of_the_sheet_but_not_below_twelve_letters():
    letter = 0.62 * 10 / 72  # inches, of 10 points
    wide = canvas.sheet(0.24 + 20.5 * letter, 2.0)
    canvas.headline(wide, "ab " * 14)
    assert max(map(len, wide.texts[0].get_text().split("\n"))) == 20
    slim = canvas.sheet(0.5, 2.0)
    canvas.headline(slim, "abcde " * 4)
    assert slim.texts[0].get_text() == "abcde abcde\nabcde abcde"
    canvas.footnote(slim, "")
    assert slim.texts[1].get_text() == ""


@pytest.mark.parametrize(("dpi", "size"), [(None, (300, 150)), (100, (200, 100))])
def test_a_picture_has_as_many_dots_as_asked_for(tmp_path, dpi, size):
    pictures.save(canvas.sheet(2.0, 1.0), tmp_path / "a.png", **({} if dpi is None else {"dpi": dpi}))
    raw = (tmp_path / "a.png").read_bytes()
    assert struct.unpack(">II", raw[16:24]) == size
    for bad in (0, -1, "x"):
        with pytest.raises(InputError, match="dpi"):
            pictures.save(canvas.sheet(2.0, 1.0), tmp_path / "a.png", dpi=bad)


@pytest.mark.parametrize("name", ["a.png", "b.SVG", "c.pdf"])
def test_files_say_neither_when_nor_with_what_they_were_made(tmp_path, name):
    pictures.save(canvas.sheet(2.0, 1.0), tmp_path / name)
    raw = (tmp_path / name).read_bytes()
    for word in (b"CreationDate", b"<dc:date>", b"Software"):
        assert word not in raw
    assert raw[:4] in (b"\x89PNG", b"<?xm", b"%PDF")


def test_signs_that_no_file_may_hold_are_replaced_in_titles(tmp_path):
    figure = plots.intervals(Ranking(["a\x00b", "c"], [1.0, 0.0]), title="one\x08two")
    pictures.save(figure, tmp_path / "a.svg")
    text = " ".join(ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    assert "one" in text
    assert "two" in text
    assert "\x08" not in text


def test_missing_letters_are_told_once_however_many_there_are(tmp_path):
    figure = plots.intervals(Ranking(["\U000103a0\U000103a1", "\U000103a2"], [1.0, 0.0]))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pictures.save(figure, tmp_path / "a.png")
    assert [each.category for each in caught] == [DataWarning]


def test_two_figures_of_one_page_share_no_name():
    first, second = (
        set(re.findall(r'id="(\w+)"', canvas.svg(plots.history([1, 2], ["a"], np.array([[1.0], [2.0]])), name)))
        for name in ("one", "two")
    )
    clips = [{each for each in found if re.fullmatch(r"p[0-9a-f]{10}", each)} for found in (first, second)]
    assert all(clips)
    assert not clips[0] & clips[1]


def test_settings_of_fonts_and_colours_hold_while_a_picture_is_drawn():
    import matplotlib

    seen = {}

    @canvas.styled
    def draw():
        """Mine."""
        seen.update(matplotlib.rcParams)
        return canvas.sheet(1.0, 1.0)

    figure = draw()
    assert figure.get_size_inches().tolist() == [1.0, 1.0]
    assert draw.__doc__ == "Mine."
    for name, value in canvas.STYLE.items():
        assert seen[name] == value
    assert seen["font.family"][0] in canvas.FONTS or seen["font.family"] == ["sans-serif"]
    assert set(seen["font.family"]) <= {*canvas.FONTS, "sans-serif"}


DOLLARS = "$x_1$ or $"


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.intervals(Ranking([DOLLARS, "b"], [1.0, 0.0]), title=DOLLARS, unit=DOLLARS),
        lambda: plots.wins(
            Comparisons.from_pairs([(DOLLARS, "b")]), Ranking([DOLLARS, "b"], [1.0, 0.0]), title=DOLLARS
        ),
        lambda: plots.history([1, 2], [DOLLARS], np.array([[1.0], [2.0]]), title=DOLLARS),
        lambda: pictures.curves(
            pl.DataFrame([(DOLLARS, *row[1:]) for row in MOVING[:3]], schema=COLUMNS, orient="row"), title=DOLLARS
        ),
        lambda: pictures.coefficients(with_coefficients([1.0], [1.0], names=[DOLLARS]), title=DOLLARS),
    ],
    ids=["intervals", "wins", "history", "curves", "coefficients"],
)
def test_names_and_titles_with_dollars_are_no_formulas(draw):
    said = [text for text in draw().findobj(Text) if text.get_text().count("$") > 1]
    assert len(said) >= 2
    assert not any(text.get_parse_math() for text in said)


def test_named_outliers_with_dollars_are_no_formulas(monkeypatch):
    model = RABF()
    model.ranking_, model.residuals_, model.unseen_ = Ranking([DOLLARS, "b"], [1.0, 0.0]), np.array([1.0, 0.0]), ()
    monkeypatch.setattr(feature_plots, "residual_outliers", lambda model, level: pl.DataFrame({"item": [DOLLARS]}))
    (text,) = pictures.outliers(model).axes[0].texts
    assert (text.get_text(), text.get_parse_math()) == (DOLLARS, False)


def test_a_headline_is_larger_than_what_axes_say_and_that_larger_than_their_numbers():
    """In points: 10, 9 and 8, with names of 8; above and at the right there is no line."""
    figure = plots.history([1, 2], ["a"], np.array([[1.0], [2.0]]))
    (ax,) = figure.axes
    assert figure.texts[0].get_fontsize() == 10
    assert (ax.xaxis.label.get_fontsize(), ax.yaxis.label.get_fontsize()) == (9, 9)
    ticks = [*ax.get_xticklabels(), *ax.get_yticklabels(), *ax.texts]
    assert {each.get_fontsize() for each in ticks} == {8}
    assert [ax.spines[side].get_visible() for side in ("left", "bottom", "top", "right")] == [True, True, False, False]
    assert {to_hex(spine.get_edgecolor()) for spine in ax.spines.values()} == {SOFT}
    assert to_hex(ax.xaxis.label.get_color()) == to_hex(figure.texts[0].get_color()) == INK
    tick = ax.xaxis.get_major_ticks()[0]
    assert (to_hex(tick.label1.get_color()), to_hex(tick.tick1line.get_color())) == (INK, SOFT)
    legend = plots.calibration({"one": BINS}).axes[0].get_legend()
    assert {each.get_fontsize() for each in legend.get_texts()} == {8}
    assert not legend.get_frame_on()


def test_lines_that_carry_numbers_are_thicker_than_the_grid_and_those_at_none():
    (ax,) = plots.history([1, 2], ["a"], np.array([[1.0], [2.0]])).axes
    grid = ax.get_xgridlines()[0].get_linewidth()
    assert grid < ax.lines[0].get_linewidth()
    _, ranking = ranked(FEW)
    (ax,) = plots.intervals(ranking).axes
    assert ax.get_xgridlines()[0].get_linewidth() < ax.collections[0].get_linewidth()[0] < ax.lines[-1].get_markersize()
    (ax,) = pictures.coefficients(with_coefficients([1.0], [0.1])).axes
    zero, (points, _, (bar,)) = ax.lines[-1], ax.containers[0]
    assert list(zero.get_xdata()) == [0, 0]
    assert zero.get_linewidth() < bar.get_linewidth()[0] < points.get_markersize()


def test_letters_are_of_the_fonts_that_are_installed_in_their_order(monkeypatch):
    assert canvas._fonts()[0] == "DejaVu Sans", "which comes with matplotlib"
    monkeypatch.setattr(canvas, "FONTS", ("No Such Font", "DejaVu Serif", "DejaVu Sans"))
    assert canvas._fonts() == ["DejaVu Serif", "DejaVu Sans"]
    monkeypatch.setattr(canvas, "FONTS", ("No Such Font",))
    assert canvas._fonts() == ["sans-serif"]
