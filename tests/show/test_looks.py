"""How every picture looks: colours of the palette, letters that can be read, marks where the numbers say, no waste."""

import functools
import itertools
import re
import warnings

import numpy as np
import polars as pl
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import Collection
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from podium import RABF, BradleyTerry, Comparisons, Ranking
from podium import show as pictures
from podium.errors import DataWarning
from podium.evaluate.feature_diagnosis import LearningCurve, residual_outliers
from podium.show import canvas
from podium.show.canvas import BAND, BLUE, INK, LINES, ON_LIGHT, SOFT, VERMILLION

from helpers import simulate, thin_data

ITEMS = [f"item-{k}" for k in range(9)]
SIZES = np.array([100, 1000, 10_000])
COSTS = [(6, 1.02), (4, 1.1), (2, 1.5), (3, 1.2)]
GRADES = [0] * 20 + [1] * 20 + [2] * 20
BINS = ([0.55, 0.7, 0.9], [0.5, 0.72, 0.88], [0.4, 0.6, 0.8], [0.6, 0.8, 0.95])


@functools.cache
def ranked():
    winner, loser, _ = simulate(9, 600, np.random.default_rng(3))
    votes = Comparisons.from_arrays(winner, loser, items=ITEMS)
    with thin_data():
        return votes, BradleyTerry().fit(votes).ranking_


@functools.cache
def featured():
    """Twelve items whose scores are twice their size, but for one that is much better and one that is much worse."""
    rng = np.random.default_rng(5)
    size, noise = rng.normal(size=12), rng.normal(size=12)
    scores = 2 * size
    scores[3], scores[8] = scores[3] + 3, scores[8] - 3
    left, right = rng.integers(12, size=(2, 3000))
    left, right = left[left != right], right[left != right]
    won = rng.random(len(left)) < 1 / (1 + np.exp(scores[right] - scores[left]))
    votes = Comparisons.from_arrays(
        np.where(won, left, right), np.where(won, right, left), items=[f"i{k}" for k in range(12)]
    )
    table = pl.DataFrame({"item": [f"i{k}" for k in range(12)], "size": size, "noise": noise})
    with thin_data():
        return RABF().fit(votes, table, id="item")


def learned():
    without = np.array([[0.68, 0.70], [0.62, 0.63], [0.54, 0.55]])
    tables = {"sizes": SIZES, "without_features": without, "with_features": without - 0.05}
    return LearningCurve(**{name: tables[name] for name in LearningCurve.__dataclass_fields__})


def moving():
    rows = [
        (item, t, k + t / 10, k + t / 10 - 0.5, k + t / 10 + 0.5) for k, item in enumerate("abcd") for t in (1, 2, 3)
    ]
    return pl.DataFrame(rows, schema=["item", "time", "score", "lower", "upper"], orient="row")


DRAWN = {
    "intervals": lambda: pictures.intervals(ranked()[1]),
    "wins": lambda: pictures.wins(*ranked()),
    "history": lambda: pictures.history([10, 50, 100], ITEMS, np.linspace(0, 1, 9) * np.array([[1.0], [2.0], [3.0]])),
    "calibration": lambda: pictures.calibration({"one": BINS, "two": BINS}),
    "curves": lambda: pictures.curves(moving()),
    "learning_curves": lambda: pictures.learning_curves(learned()),
    "coefficients": lambda: pictures.coefficients(featured()),
    "outliers": lambda: pictures.outliers(featured()),
    "cost_by_questions": lambda: pictures.cost_by_questions({"one": COSTS, "two": COSTS[1:]}).figure,
    "progress": lambda: pictures.progress([(10, 0.8), (20, 0.5), (30, 0.4)]).figure,
    "scores_by_grade": lambda: pictures.scores_by_grade(np.arange(60.0), GRADES, [20.0, 40.0], "abc").figure,
    "confusion": lambda: pictures.confusion([[3, 1], [1, 4]], ["low", "high"]).figure,
}
STYLED = ("intervals", "wins", "history", "calibration", "curves", "learning_curves", "coefficients", "outliers")
PALETTE = {INK, SOFT, BAND, ON_LIGHT, *LINES, "#dddddd", "#b0b0b0", "#ffffff", "#000000"}


def drawn(name):
    """The figure, and what renders it; laid out."""
    figure = DRAWN[name]()
    paper = FigureCanvasAgg(figure)
    paper.draw()
    return figure, paper.get_renderer()


def texts(figure):
    """All that is said in a figure; labels of ticks beyond the ends of an axis are not drawn."""
    found = [*figure.texts, *(each for legend in figure.legends for each in legend.get_texts())]
    for ax in figure.axes:
        found += [*ax.texts, *(ax.get_legend().get_texts() if ax.get_legend() else ())]
        found += [ax.title, ax._left_title, ax._right_title, ax.xaxis.label, ax.yaxis.label]
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [tick for tick in axis.get_major_ticks() if low <= tick.get_loc() <= high]
            found += [label for tick in ticks for label in (tick.label1, tick.label2) if label.get_visible()]
    return [each for each in found if each.get_text().strip()]


def check_colours(figure, name):
    """All of the palette."""
    found = {to_hex(each.get_color()) for each in texts(figure)}
    for line in figure.findobj(Line2D):
        marked = line.get_marker() not in ("", "None", None, "|", 2, 3)
        found |= {to_hex(line.get_color())}
        found |= {to_hex(line.get_markerfacecolor()), to_hex(line.get_markeredgecolor())} if marked else set()
    for ax in figure.axes[: 1 if name == "wins" else None]:  # the scale of colours has all of them
        for group in ax.findobj(Collection):
            found |= {to_hex(each) for each in (*group.get_facecolor(), *group.get_edgecolor())}
        found |= {to_hex(patch.get_facecolor()) for patch in ax.findobj(Rectangle)}
    assert found <= PALETTE


def check_letters(figure, name):
    """Large enough to read, and smaller than the headline."""
    sizes = sorted(each.get_fontsize() for each in texts(figure))
    assert sizes[0] >= 7
    if name in STYLED:
        titled = name not in ("learning_curves", "outliers")
        assert sizes[-1] <= 10
        assert sum(size > 9 for size in sizes) == titled, "the headline alone is larger than 9 points"
    else:
        assert sizes[-1] <= 12


def check_room(figure, renderer):
    """Nothing said leaves the sheet or lies over something else that is said, and no wide strip is blank."""
    said = texts(figure)
    boxes = [Text.get_window_extent(each, renderer) for each in said]
    for (one, first), (other, second) in itertools.combinations(zip(said, boxes, strict=True), 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        down = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert across <= 2 or down <= 2, (one.get_text(), other.get_text())  # two pixels are air around letters
    boxes += [ax.get_window_extent(renderer) for ax in figure.axes]
    blank = [
        min(box.x0 for box in boxes), min(box.y0 for box in boxes),
        figure.bbox.width - max(box.x1 for box in boxes), figure.bbox.height - max(box.y1 for box in boxes),
    ]  # fmt: skip
    assert min(blank) >= -1
    assert max(blank) <= 0.45 * figure.dpi
    width, height = figure.get_size_inches()
    assert 4 <= width <= 7
    assert 1.8 <= height <= 5.6


def check_quiet(figure):
    """Grids are fainter than what is drawn on them; legends have no frame."""
    for ax in figure.axes:
        for line in (each for each in (*ax.get_xgridlines(), *ax.get_ygridlines()) if each.get_visible()):
            thin = (to_hex(line.get_color()), line.get_linewidth()) == ("#dddddd", 0.6)
            assert thin or line.get_alpha() <= 0.3
    for legend in [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]:
        assert not legend.get_frame_on()


@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_can_be_read_and_wastes_nothing(name):
    figure, renderer = drawn(name)
    check_colours(figure, name)
    check_letters(figure, name)
    check_room(figure, renderer)
    check_quiet(figure)


@pytest.mark.parametrize("count", [20, 24])
@pytest.mark.parametrize("kind", ["history", "curves", "intervals", "coefficients"])
def test_a_picture_of_many_is_as_high_as_their_names_need(kind, count):
    """Names of 8 points take about a ninth of an inch; a third of an inch for each would be waste."""
    names = [f"item-{k}" for k in range(count)]
    if kind == "history":
        figure = pictures.history([1, 2], names, np.arange(2.0 * count).reshape(2, count), top=count)
    elif kind == "curves":
        rows = [(name, t, k + t, k + t - 0.5, k + t + 0.5) for k, name in enumerate(names) for t in (1, 2)]
        figure = pictures.curves(pl.DataFrame(rows, schema=["item", "time", "score", "lower", "upper"], orient="row"))
    elif kind == "intervals":
        figure = pictures.intervals(Ranking(names, -np.arange(float(count))))
    else:
        figure = pictures.coefficients(many_features(count))
    renderer = FigureCanvasAgg(figure).get_renderer()
    FigureCanvasAgg(figure).draw()
    (ax,) = figure.axes
    named = [*ax.get_yticklabels()] if kind in ("intervals", "coefficients") else ax.texts
    middles = sorted(sum(Text.get_window_extent(each, renderer).intervaly) / 2 for each in named)
    assert len(middles) == count
    gaps = np.diff(middles) / figure.dpi
    assert 0.11 <= gaps.min() <= gaps.max() <= 0.3
    assert figure.get_size_inches()[1] - np.ptp(middles) / figure.dpi <= 1.6


@functools.cache
def many_features(count):
    rng = np.random.default_rng(1)
    table = {"item": [f"i{k}" for k in range(30)]} | {f"item-{k}": rng.normal(size=30) for k in range(count)}
    left, right = rng.integers(30, size=(2, 400))
    left, right = left[left != right], right[left != right]
    votes = Comparisons.from_arrays(left, right, items=table["item"])
    with thin_data():
        return RABF(feature_penalty=1.0, residual_penalty=1.0).fit(votes, pl.DataFrame(table), id="item")


def test_votes_along_an_axis_are_written_with_commas():
    figure = pictures.history([1000, 5000, 9000], ["a"], np.array([[1.0], [2.0], [3.0]]))
    FigureCanvasAgg(figure).draw()
    told = [each.get_text() for each in figure.axes[0].get_xticklabels()]
    assert "4,000" in told
    assert all("." not in each for each in told)


@pytest.mark.parametrize("name", ["calibration", "cost_by_questions", "learning_curves"])
def test_lines_are_told_apart_without_their_colours(name):
    lines = [each for each in DRAWN[name]().axes[0].lines if len(each.get_xdata()) > 2]
    assert len(lines) >= 2
    assert len({(each.get_marker(), each.get_linestyle()) for each in lines}) == len(lines)


# ---- words at their marks -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["history", "curves"])
def test_a_name_stands_right_of_the_end_of_its_line_in_its_colour(name):
    figure, renderer = drawn(name)
    ax = figure.axes[0]
    right = ax.get_window_extent(renderer).x1
    lines = {to_hex(line.get_color()): line for line in ax.lines}
    heights = []
    for text in ax.texts:
        box = Text.get_window_extent(text, renderer)
        line = lines[to_hex(text.get_color())]
        end = ax.transData.transform((line.get_xdata()[-1], line.get_ydata()[-1]))
        assert text.xy == (line.get_xdata()[-1], line.get_ydata()[-1])
        assert right < box.x0 <= right + 0.4 * figure.dpi
        assert abs((box.y0 + box.y1) / 2 - end[1]) <= figure.bbox.height / 8
        assert to_hex(text.arrow_patch.get_edgecolor()) == to_hex(text.get_color())
        assert text.arrow_patch.get_linewidth() < line.get_linewidth()
        heights.append((box.y0 + box.y1) / 2)
    assert heights == sorted(heights, reverse=True)


def test_tiers_are_numbered_at_the_middle_of_their_rows_and_shaded_in_turn():
    _, ranking = ranked()
    figure, renderer = drawn("intervals")
    (ax,) = figure.axes
    tiers = ranking.to_frame(0.95)["tier"].to_list()
    rows = {tier: [k for k, each in enumerate(tiers) if each == tier] for tier in sorted(set(tiers))}
    for text in ax.texts:
        box = Text.get_window_extent(text, renderer)
        own = rows[int(text.get_text())]
        middle = ax.transData.transform((0, (own[0] + own[-1]) / 2))[1]
        assert (box.y0 + box.y1) / 2 == pytest.approx(middle, abs=2)
        assert 0 <= box.x0 - ax.get_window_extent(renderer).x1 <= 8
    assert [int(text.get_text()) for text in ax.texts] == list(rows)
    shaded = [sorted(patch.get_bbox().intervaly) for patch in ax.patches if to_hex(patch.get_facecolor()) == BAND]
    assert shaded == [[own[0] - 0.5, own[-1] + 0.5] for tier, own in rows.items() if tier % 2]
    lines = ax.collections[0]
    ends = ranking.to_frame(0.95)
    found = [segment.tolist() for segment in lines.get_segments()]
    expected = [[[low, k], [high, k]] for k, (low, high) in enumerate(zip(ends["lower"], ends["upper"], strict=True))]
    np.testing.assert_allclose(found, expected)
    assert all(patch.get_zorder() < lines.get_zorder() for patch in ax.patches)


@pytest.mark.parametrize("name", ["wins", "confusion"])
def test_a_number_stands_in_the_middle_of_its_cell_and_can_be_read_on_it(name):
    figure, renderer = drawn(name)
    ax = figure.axes[0]
    image = ax.images[0]
    values = image.get_array()
    assert image.get_clim() == (0, 1)
    for text in ax.texts:
        box = text.get_window_extent(renderer)
        column, row = text.get_position()
        assert text.get_text().rstrip(" %") == f"{100 * values[row, column]:.0f}"
        centre = ax.transData.transform((column, row))
        assert (box.x0 + box.x1) / 2 == pytest.approx(centre[0], abs=2)
        assert (box.y0 + box.y1) / 2 == pytest.approx(centre[1], abs=2)


@pytest.mark.parametrize(("won", "colour"), [(13, "white"), (15, ON_LIGHT), (85, ON_LIGHT), (87, "white")])
def test_numbers_are_white_on_the_deep_colours_alone(won, colour):
    votes = Comparisons.from_pairs([("a", "b")] * won + [("b", "a")] * (100 - won))
    figure = pictures.wins(votes, BradleyTerry().fit(votes).ranking_)
    assert {each.get_color() for each in figure.axes[0].texts} == {colour}


def test_the_line_of_coin_flips_is_named_above_its_end():
    figure, renderer = drawn("learning_curves")
    (ax,) = figure.axes
    (text,) = ax.texts
    box = text.get_window_extent(renderer)
    end = ax.transData.transform((SIZES[-1], np.log(2)))
    assert box.y0 >= end[1] - 0.5
    assert box.x1 == pytest.approx(end[0], abs=1)


def test_learning_curves_have_a_style_each_and_bands_of_their_own_colour():
    figure, _ = drawn("learning_curves")
    (ax,) = figure.axes
    without, held, coin = ax.lines
    curve = learned()
    for line, values, colour, label in (
        (without, curve.without_features, VERMILLION, "votes alone"),
        (held, curve.with_features, BLUE, "votes and features"),
    ):
        assert (to_hex(line.get_color()), line.get_label()) == (colour, label)
        np.testing.assert_allclose(line.get_ydata(), values.mean(axis=1))
    assert to_hex(coin.get_color()) == SOFT
    for band, values, colour in zip(
        ax.collections, (curve.without_features, curve.with_features), (VERMILLION, BLUE), strict=True
    ):
        assert to_hex(band.get_facecolor()[0]) == colour
        assert band.get_facecolor()[0][3] < 0.3
        half = np.abs(values[0, 0] - values[0, 1]) / 2  # the standard error of two
        at_first = band.get_paths()[0].vertices
        ends = at_first[at_first[:, 0] == 100][:, 1]
        assert (ends.min(), ends.max()) == pytest.approx((values[0].mean() - half, values[0].mean() + half))


def test_coefficients_stand_where_the_model_says_and_are_filled_where_significant():
    model = featured()
    figure, _ = drawn("coefficients")
    (ax,) = figure.axes
    effect, error = model.coef_ * model.feature_std_, model.coef_std_errors_ * model.feature_std_
    order = np.argsort(-np.abs(effect) / error)
    assert (
        [each.get_text() for each in ax.get_yticklabels()]
        == [model.feature_names_[k] for k in order]
        == ["size", "noise"]
    )
    (sure, *_), (perhaps, *_) = ax.containers
    half = 1.959964 * error
    assert (sure.get_xdata().tolist(), sure.get_ydata().tolist()) == ([pytest.approx(effect[order[0]])], [0])
    assert (perhaps.get_xdata().tolist(), perhaps.get_ydata().tolist()) == ([pytest.approx(effect[order[1]])], [-1])
    assert (to_hex(sure.get_markerfacecolor()), to_hex(perhaps.get_markerfacecolor())) == (BLUE, "#ffffff")
    assert {(each.get_marker(), each.get_linestyle()) for each in (sure, perhaps)} == {("o", "None")}  # not joined
    spans = [each[2][0].get_segments()[0][:, 0].tolist() for each in ax.containers]
    expected = [[effect[k] - half[k], effect[k] + half[k]] for k in order]
    np.testing.assert_allclose(spans, expected, rtol=1e-6)
    assert sorted(ax.lines[-1].get_xdata()) == [0, 0]
    assert ax.get_ylim() == (-1.6, 0.6)
    assert [each.get_text() for each in figure.legends[0].get_texts()] == ["significant", "may be 0"]
    said = " ".join(ax.get_xlabel().split())
    assert said == "change of score per one standard deviation of the feature, 95 % interval"
    assert ax.get_title(loc="left") == f"features explain about {100 * model.explained_:.0f} % of the scores' variance"
    raw = pictures.coefficients(model, standard=False, level=0.9).axes[0]
    assert " ".join(raw.get_xlabel().split()) == "change of score per one unit of the feature, 90 % interval"
    firsts = [each[0].get_xdata()[0] for each in raw.containers]
    np.testing.assert_allclose(firsts, model.coef_[order])
    span = raw.containers[0][2][0].get_segments()[0][:, 0]
    assert np.ptp(span) / 2 == pytest.approx(1.644854 * model.coef_std_errors_[order[0]], rel=1e-6)


def test_outliers_are_marked_and_named_beside_their_points():
    model = featured()
    figure, renderer = drawn("outliers")
    (ax,) = figure.axes
    far = residual_outliers(model)["item"].to_list()
    assert set(far) >= {"i3", "i8"}
    scores = dict(zip(model.ranking_.items, model.ranking_.scores, strict=True))
    predicted = dict(zip(model.ranking_.items, model.ranking_.scores - model.residuals_, strict=True))
    usual, outlying = ax.collections
    places = {item: (predicted[item], scores[item]) for item in scores}
    np.testing.assert_allclose(
        sorted(map(tuple, outlying.get_offsets().tolist())), sorted(places[item] for item in far)
    )
    others = sorted(places[item] for item in scores if item not in far)
    np.testing.assert_allclose(sorted(map(tuple, usual.get_offsets().tolist())), others)
    assert (to_hex(outlying.get_facecolor()[0]), to_hex(usual.get_facecolor()[0])) == (VERMILLION, SOFT)
    assert outlying.get_sizes()[0] > usual.get_sizes()[0]
    assert {each.get_text() for each in ax.texts} == set(far)
    for text in ax.texts:
        box, point = text.get_window_extent(renderer), ax.transData.transform(places[text.get_text()])
        assert 0 < box.x0 - point[0] < 12 * figure.dpi / 72
        assert -2 <= box.y0 - point[1] < 8 * figure.dpi / 72
    low, high = min(map(min, places.values())), max(map(max, places.values()))
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[low, low], [high, high]])
    words = [each.get_text() for each in ax.get_legend().get_texts()]
    assert words == ["within chance", "better or worse than predicted"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("score predicted by features alone", "score from features and votes")


# ---- on a page ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STYLED)
def test_on_a_page_a_picture_has_no_paper_and_only_the_pages_colours(name):
    figure = DRAWN[name]()
    text = canvas.svg(figure, "x")
    assert text.startswith("<svg")
    assert "<metadata" not in text
    assert "<style" not in text
    assert figure.patch.get_alpha() == 0
    assert all(ax.patch.get_alpha() == 0 for ax in figure.axes)
    for colour in PALETTE - {"#ffffff", "#000000", ON_LIGHT}:
        assert colour not in text
    assert set(re.findall(r"var\(--(\w+)\)", text)) <= {*canvas.PAGE.values()}


@pytest.mark.parametrize("axes", [5.0, 1.0])
def test_a_narrow_figure_keeps_the_room_of_its_names(axes):
    """Margins of 0.75 on the left and 1.25 on the right stay; the axes take what a phone has left, or the least."""
    figure = canvas.sheet(2.0 + axes, 3.0)
    ax = canvas.axes_at(figure, 0.75, 0.5, axes, 2.0)
    canvas.narrow(figure)
    kept = max(canvas.LEAST_AXES, canvas.PHONE - 2.0)
    width, height = figure.get_size_inches()
    assert (width, height) == pytest.approx((2.0 + kept, 3.0))
    left, bottom, across, up = ax.get_position(original=True).bounds
    assert (left * width, bottom * height, across * width, up * height) == pytest.approx((0.75, 0.5, kept, 2.0))
    panel, _ = canvas.panel(6.4, 3.0)
    canvas.narrow(panel)
    assert panel.get_size_inches().tolist() == [canvas.PHONE, 3.0]
    assert 2.5 < canvas.PHONE < 4.2  # inches of a phone, at 96 pixels each


def test_letters_that_no_font_has_are_told_each_time_and_not_of_svg(tmp_path):
    figure = pictures.intervals(Ranking(["\U000103a0", "b"], [1.0, 0.0]))  # a letter of Old Persian
    for kind in ("png", "pdf", "png"):
        with pytest.warns(DataWarning, match="no installed font has some letters of the labels"):
            pictures.save(figure, tmp_path / f"a.{kind}")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pictures.save(figure, tmp_path / "a.svg")
    assert "\U000103a0" in (tmp_path / "a.svg").read_text()


def test_names_with_dollars_are_no_formulas_in_any_picture():
    names = [f"$x_{k}$ & $" for k in range(4)]
    left, right = np.array([0, 1, 2, 0, 1, 3] * 40), np.array([1, 2, 3, 2, 0, 0] * 40)
    votes = Comparisons.from_arrays(left, right, items=names)
    rows = [(name, t, k + t, k + t - 0.5, k + t + 0.5) for k, name in enumerate(names) for t in (1, 2)]
    table = pl.DataFrame(rows, schema=["item", "time", "score", "lower", "upper"], orient="row")
    features = pl.DataFrame({"item": names, "$a$": [1.0, 2.0, 0.0, 9.0], "$b$": [0.0, 1.0, 1.0, 0.5]})
    with thin_data():
        ranking = BradleyTerry().fit(votes).ranking_
        model = RABF(feature_penalty=1.0, residual_penalty=1e-3).fit(votes, features, id="item")
    drawn_with = [
        pictures.intervals(ranking, title="$5 or $6", unit="$ or $"), pictures.wins(votes, ranking, title="$5 or $6"),
        pictures.history([1, 2], names, np.arange(8.0).reshape(2, 4), title="$5 or $6"),
        pictures.curves(table, title="$5 or $6"), pictures.coefficients(model), pictures.outliers(model, level=0.2),
    ]  # fmt: skip
    for figure, least in zip(drawn_with, (6, 9, 5, 5, 2, 1), strict=True):
        named = [each for each in texts(figure) if each.get_text().count("$") > 1]
        assert len(named) >= least
        assert not any(each.get_parse_math() for each in named)


def test_a_ninth_line_begins_again_with_the_first_mark_and_colour():
    ax = pictures.calibration({str(k): BINS for k in range(9)}).axes[0]
    lines = ax.lines[1:]  # the first is the diagonal
    assert [each.get_marker() for each in lines] == [*canvas.MARKERS, canvas.MARKERS[0]]
    assert [to_hex(each.get_color()) for each in lines] == [*LINES, LINES[0]]
    assert len(set(canvas.MARKERS)) == len(set(LINES)) == 8
