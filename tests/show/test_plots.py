"""Pictures: the numbers in them, and whether they can be read."""

import itertools
import warnings
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from numpy.testing import assert_allclose

from podium import BradleyTerry, Comparisons, Ranking, WinRate
from podium.errors import DataWarning, InputError
from podium.show import plots
from podium.show.canvas import apart

from helpers import as_comparisons, simulate, thin_data
from strategies import votes


def fitted(n, m, seed=0, names=None):
    winner, loser, _ = simulate(n, m, np.random.default_rng(seed))
    comparisons = Comparisons.from_arrays(winner, loser, items=names or [f"item-{i}" for i in range(n)])
    with thin_data():
        return comparisons, BradleyTerry().fit(comparisons).ranking_


def boxes(figure, texts):
    renderer = FigureCanvasAgg(figure).get_renderer()
    return [text.get_window_extent(renderer) for text in texts]


@settings(max_examples=40, deadline=None)
@given(votes())
def test_win_rates_are_those_of_a_double_loop(given_votes):
    n, rows = given_votes
    points, met = np.zeros((n, n)), np.zeros((n, n))
    for left, right, outcome, weight in rows:
        points[left, right] += weight * outcome
        points[right, left] += weight * (1 - outcome)
        met[left, right] += weight
        met[right, left] += weight
    rate, total = plots.win_rates(as_comparisons(n, rows))
    assert_allclose(total, met)
    for i in range(n):
        for j in range(n):
            if met[i, j]:
                assert rate[i, j] == pytest.approx(points[i, j] / met[i, j])
            else:
                assert np.isnan(rate[i, j])


def test_win_rates_follow_the_order_asked_for():
    comparisons = Comparisons.from_pairs([("a", "b"), ("a", "b"), ("b", "a"), ("b", "c")])
    rate, met = plots.win_rates(comparisons, ["c", "b", "a"])
    assert rate[2, 1] == pytest.approx(2 / 3)
    assert met[2, 0] == 0
    assert np.isnan(rate[2, 0])


@pytest.mark.parametrize(("n", "m"), [(2, 10), (5, 100), (61, 2000), (300, 30_000)])
def test_every_item_is_named_once_and_no_name_overlaps_another_or_leaves_the_picture(n, m):
    _, ranking = fitted(n, m)
    figure = plots.intervals(ranking)
    named = []
    for ax in figure.axes:
        labels = ax.get_yticklabels()
        named += [label.get_text().split("  ", 1)[1] for label in labels]
        extents = boxes(figure, labels)
        for above, below in itertools.pairwise(extents):
            assert below.y1 <= above.y0 + 1
        assert min(box.x0 for box in extents) >= 0
    assert named == list(ranking.order)
    for left, right in zip(figure.axes, figure.axes[1:], strict=False):
        edge = left.get_window_extent().x1
        assert min(box.x0 for box in boxes(figure, right.get_yticklabels())) > edge


@pytest.mark.parametrize(("n", "m"), [(2, 10), (5, 100), (40, 2000), (300, 30_000)])
def test_names_on_the_heat_map_do_not_overlap_and_stay_inside(n, m):
    comparisons, ranking = fitted(n, m)
    figure = plots.wins(comparisons, ranking)
    ax = figure.axes[0]
    across, down = boxes(figure, ax.get_xticklabels()), boxes(figure, ax.get_yticklabels())
    assert all(a.x1 <= b.x0 + 1 for a, b in itertools.pairwise(across))
    assert all(b.y1 <= a.y0 + 1 for a, b in itertools.pairwise(down))
    assert min(box.x0 for box in down) >= 0
    assert max(box.y1 for box in across) <= figure.bbox.height


def test_the_heat_map_writes_the_percentages():
    comparisons = Comparisons.from_pairs([("a", "b")] * 3 + [("b", "a")])
    figure = plots.wins(comparisons, WinRate().fit(comparisons).ranking_)
    assert [text.get_text() for text in figure.axes[0].texts] == ["75", "25"]


def test_intervals_without_an_end_are_arrows_at_the_edge():
    comparisons = Comparisons.from_pairs(
        [("top", "a"), ("a", "b"), ("b", "a"), ("top", "b"), ("a", "low"), ("b", "low")]
    )
    with thin_data():
        ranking = BradleyTerry().fit(comparisons).ranking_
    ax = plots.intervals(ranking).axes[0]
    arrows = {line.get_marker(): line.get_xydata() for line in ax.lines}
    assert_allclose(arrows[">"], [[ax.get_xlim()[1], 0]])
    assert_allclose(arrows["<"], [[ax.get_xlim()[0], 3]])


def test_a_ranking_without_a_likelihood_shows_dots_and_no_tiers():
    figure = plots.intervals(Ranking(["a", "b"], [1.0, 2.0]))
    assert not figure.axes[0].collections
    assert not figure.axes[0].texts


def test_what_is_left_out_is_said():
    _, ranking = fitted(12, 400)
    figure = plots.intervals(ranking, top=5)
    assert len(figure.axes[0].get_yticklabels()) == 5
    assert any("7 more items" in text.get_text() for text in figure.texts)
    with pytest.raises(InputError, match="top=0"):
        plots.intervals(ranking, top=0)


def test_the_best_lines_are_named_and_wild_beginnings_do_not_squash_the_rest():
    scores = np.array([[40.0, -40.0, np.nan], *[[1.0, 0.5, -1.0]] * 9])
    games = plots.history(range(10, 110, 10), ["x", "y", "z"], scores, noun="game")
    assert (games.axes[0].get_xlabel(), games.texts[0].get_text()) == ("games", "Scores as games came in")
    figure = plots.history(range(10, 110, 10), ["x", "y", "z"], scores, top=2)
    ax = figure.axes[0]
    assert [text.get_text() for text in ax.texts] == ["x", "y"]
    assert ax.get_ylim()[1] < 2
    with pytest.raises(InputError, match=r"2 times × 3 items; got shape \(10, 3\)"):
        plots.history([1, 2], ["x", "y", "z"], scores)


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12), st.floats(0.01, 2))
def test_labels_are_pushed_apart_and_keep_their_order(heights, gap):
    wanted = np.sort(heights)[::-1]
    moved = apart(wanted, gap)
    assert (np.diff(moved) <= -gap + 1e-9).all()
    if (np.diff(wanted) <= -gap).all():
        assert_allclose(moved, wanted, atol=1e-9)


def test_calibration_draws_one_named_curve_per_method():
    x = np.array([0.55, 0.7, 0.9])
    ax = plots.calibration({"one": (x, x, x - 0.1, x + 0.1), "two": (x, x - 0.1, x - 0.2, x)}).axes[0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]
    assert ax.get_ylim()[0] < 0.35
    with pytest.raises(InputError, match="no calibration curve"):
        plots.calibration({})


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_the_same_picture_is_the_same_bytes(tmp_path, kind):
    _, ranking = fitted(5, 100)
    for name in ("one", "two"):
        plots.save(plots.intervals(ranking), tmp_path / f"{name}.{kind}")
    first = (tmp_path / f"one.{kind}").read_bytes()
    assert first == (tmp_path / f"two.{kind}").read_bytes()
    assert first.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[kind])


def test_names_are_shown_as_they_are(tmp_path):
    names = ["<b>&", "$x_1$ and $", "two\nlines", "日本語", "a" * 80]
    comparisons, ranking = fitted(5, 100, names=names)
    plots.save(plots.intervals(ranking), tmp_path / "names.svg")
    text = " ".join(ElementTree.parse(tmp_path / "names.svg").getroot().itertext())
    for shown in ("<b>&", "$x_1$ and $", "two lines", "日本語", "aaa…aaa"):
        assert shown in text
    assert "a" * 40 not in text
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the machine may lack the letters
        plots.save(plots.wins(comparisons, ranking), tmp_path / "names.png")
    assert (tmp_path / "names.png").stat().st_size > 1000


@pytest.mark.parametrize("name", ["picture.gif", "picture"])
def test_an_unknown_format_is_refused(tmp_path, name):
    _, ranking = fitted(3, 30)
    with pytest.raises(InputError, match=r"cannot draw .*picture.*use \.png, \.svg or \.pdf"):
        plots.save(plots.intervals(ranking), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_missing_folder_is_named(tmp_path):
    _, ranking = fitted(3, 30)
    with pytest.raises(InputError, match=r"there is no folder '.*nowhere'"):
        plots.save(plots.intervals(ranking), tmp_path / "nowhere" / "picture.png")


def test_drawing_leaves_the_settings_of_matplotlib_alone():
    import matplotlib

    before = dict(matplotlib.rcParams)
    _, ranking = fitted(3, 30)
    plots.intervals(ranking)
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize("n", [2, 5, 130])
@pytest.mark.parametrize(
    "title", [None, "A very long headline, of the kind that people write on their own pictures, " * 3]
)
def test_what_is_said_above_and_below_a_picture_stays_on_the_sheet(n, title):
    comparisons, ranking = fitted(n, 40 * n, names=[f"i{k}" for k in range(n)])
    pictures = [plots.intervals(ranking, title=title), plots.wins(comparisons, ranking, title=title)]
    for figure in pictures:
        said = [*figure.texts, *(text for ax in figure.axes for text in ax.get_yticklabels())]
        width, height = figure.get_size_inches() * figure.dpi
        for box in boxes(figure, said):
            assert box.x0 >= 0
            assert box.x1 <= width
            assert box.y0 >= 0
            assert box.y1 <= height
        for one, other in itertools.combinations(boxes(figure, figure.texts), 2):
            assert not one.overlaps(other)
