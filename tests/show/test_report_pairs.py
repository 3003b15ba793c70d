"""Who beat whom on the page: records as counted by hand, groups of many items, cards that open in a browser."""

import re

import numpy as np
import pytest
from scipy.stats import binomtest

from podium import BradleyTerry, Comparisons, DynamicBradleyTerry
from podium.evaluate.diagnosis import diagnose
from podium.show.report import Report
from podium.show.report_pairs import MAX_GROUPS, MAX_SINGLE_ITEMS, _cell, _groups, head_to_head, score_interval

from helpers import simulate, thin_data
from suites.browser import FLAGS, browser_path
from suites.pages import Reader


def cells(page):
    """The matrix as text: the record of each cell, None where there is none."""
    body = re.search(r'<table class="pairs">.*?<tbody>(.*?)</tbody>', page, flags=re.DOTALL)[1]
    rows = re.findall(r"<tr>(.*?)</tr>", body)
    return [
        [found or None for found in re.findall(r'<td(?: class="hit[^"]*" data-r="([^"]*)")?>', row)] for row in rows
    ]


def many(n, m):
    winner, loser, _ = simulate(n, m, np.random.default_rng(1))
    return Comparisons.from_arrays(winner, loser, items=[f"item {k}" for k in range(n)])


def test_every_cell_is_the_record_counted_by_hand():
    votes = Comparisons.from_arrays(list("aaabbc"), list("bbbacb"), tie=[0, 0, 1, 0, 0, 0])
    page = "".join(head_to_head(votes, ["a", "b", "c"], 0.95))
    assert [[cell and cell.split()[:3] for cell in row] for row in cells(page)] == [
        [None, ["2", "1", "1"], None],
        [["1", "1", "2"], None, ["1", "0", "1"]],
        [None, ["1", "0", "1"], None],
    ]
    shares = re.findall(r'data-r="[^"]*">(\d+)</td>', page)
    assert shares == ["62", "38", "50", "50"], "a tie is half a win: 2.5 of 4"
    table = re.findall(r"<tr>(<td.*?)</tr>", page[page.index("records") :])
    assert [re.findall(r">([^<>]+)</td>", row) for row in table] == [
        ["a", "b", "2", "1", "1", "62 %"],
        ["b", "c", "1", "0", "1", "50 %"],
    ]


@pytest.mark.parametrize(
    ("won", "tied", "lost", "kind", "share"),
    [
        (1, 0, 0, "m1", 100), (0, 0, 1, "m1 lost", 0), (1, 0, 1, "m0", 50), (0, 4, 0, "m0", 50),  # (1 + 2) / 5, …
        (3, 2, 0, "m2", 80), (6, 0, 0, "m3", 100), (96, 0, 0, "m4", 100), (0, 0, 96, "m4 lost", 0),
        (2, 8, 0, "m1", 60), (0, 8, 2, "m1 lost", 40), (10**4, 0, 0, "m4", 100),
    ],
)  # fmt: skip
def test_the_colour_of_a_cell_is_how_far_the_middle_of_its_interval_is_from_even(won, tied, lost, kind, share):
    """The middle by Agresti and Coull, (points + 2) / (votes + 4), in tenths from one half, at most four."""
    votes = won + tied + lost
    middle = (won + tied / 2 + 2) / (votes + 4)
    assert int(kind[1]) == min(4, round(abs(middle - 0.5) * 10))
    cell = _cell(won, tied, lost, votes, None, None, (0, 1))
    assert cell == f'<td class="hit {kind}" data-r="{won} {tied} {lost} - - -">{share}</td>'
    assert _cell(0, 0, 0, 0, None, None, (0, 1)) == "<td></td>"


def test_a_cell_tells_its_interval_and_what_was_expected():
    expected = np.array([[np.nan, 0.25], [0.75, np.nan]])
    low, high = (f"{100 * end:.0f}" for end in score_interval(2.5, 4, 0.9))
    assert f'data-r="2 1 1 {low} {high} 25"' in _cell(2, 1, 1, 4, 0.9, expected, (0, 1))
    assert 'data-r="2 1 1 - - 75"' in _cell(2, 1, 1, 4, None, expected, (1, 0))
    assert 'data-r="2 1 1 - - -"' in _cell(2, 1, 1, 4, None, expected, (0, 0))


@pytest.mark.parametrize("n", [31, 40, 64, 500])
def test_groups_of_neighbours_are_as_even_as_can_be_and_named_by_their_ends(n):
    order = [f"i{k}" for k in range(n)]
    starts = np.linspace(0, n, 17).astype(int)
    sides = _groups(order, starts)
    assert len(sides.places) == 16
    first = 1
    for place, name, title in zip(sides.places, sides.names, sides.titles, strict=True):
        begin, _, end = place.partition("–")
        end = end or begin
        assert int(begin) == first
        assert n // 16 <= int(end) - first + 1 <= n // 16 + 1
        single = begin == end
        assert name == (order[first - 1] if single else f"{order[first - 1]} … {order[int(end) - 1]}")
        assert title == (name if single else f"Places {place}: {name}")
        first = int(end) + 1
    assert first == n + 1
    page = "".join(head_to_head(many(n, 10 * n), order_of(n), 0.95))
    assert f"{n} items in 16 groups of neighbours" in page
    assert re.findall(r"<i>([\d–]+)</i>", page) == sides.places


def order_of(n):
    return [f"item {k}" for k in range(n)]


def test_the_table_of_pairs_has_a_thousand_rows_and_counts_the_others():
    n = 46  # 1035 pairs
    left, right = np.triu_indices(n, 1)
    often = np.where(np.arange(len(left)) < 35, 1, 2)
    votes = Comparisons.from_arrays(np.repeat(left, often), np.repeat(right, often), items=range(n))
    page = "".join(head_to_head(votes, list(range(n)), None))
    assert "The 1,000 pairs with most votes as a table, of 1,035" in page
    body = page[page.index("records") :]
    assert body.count("<tr>") == 1001
    assert '<td class="n" data-v="1">1</td>' not in body  # those with one vote are the 35 left out
    few = "".join(head_to_head(many(5, 400), order_of(5), None))
    assert "10 pairs as a table" in few


@pytest.mark.parametrize(("points", "votes"), [(0, 1), (8, 10), (50, 50), (3, 200)])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_the_interval_of_a_share_is_that_of_scipy(points, votes, level):
    other = binomtest(points, votes).proportion_ci(level, method="wilson")
    assert score_interval(points, votes, level) == pytest.approx((other.low, other.high), abs=1e-9)


def test_weights_are_no_counts_and_get_no_interval():
    votes = Comparisons.from_arrays(["a", "b"], ["b", "a"], weight=[0.5, 1.25])
    assert cells("".join(head_to_head(votes, ["a", "b"], 0.95)))[0][1] == "0.5 0 1.25 - - -"
    wins = Comparisons.from_arrays(list("aab"), list("bba"), weight=[1.0, 2.0, 1.5], tie=[0, 0, 1])  # of ties alone
    assert cells("".join(head_to_head(wins, ["a", "b"], 0.95)))[0][1] == "3 1.5 0 - - -"
    whole = Comparisons.from_arrays(list("aab"), list("bba"), weight=[1.0, 2.0, 3.0], tie=[0, 0, 1])
    assert cells("".join(head_to_head(whole, ["a", "b"], 0.95)))[0][1].split()[:3] == ["3", "3", "0"]
    assert "-" not in cells("".join(head_to_head(whole, ["a", "b"], 0.95)))[0][1].split()[3:5]


def test_with_covariates_it_is_what_the_checks_of_the_fit_expect_of_these_votes():
    rng = np.random.default_rng(2)
    left, right = rng.integers(0, 4, 300), rng.integers(1, 4, 300)
    votes = Comparisons.from_arrays(left, (left + right) % 4, items=list("abcd"), covariates=rng.normal(size=(300, 1)))
    model = BradleyTerry().fit(votes)
    known = diagnose(votes, model, replicates=9, splits=2)
    order = model.ranking_.order
    share = {(row["item"], row["against"]): row["expected"] / row["votes"] for row in known.residuals.to_dicts()}
    for i, row in enumerate(cells(str(Report(model.ranking_, votes, model=model, diagnosis=known)))):
        for j, cell in enumerate(row):
            if cell is not None:
                one, other = (order[i], order[j]), (order[j], order[i])
                expected = 100 * (share[one] if one in share else 1 - share[other])
                # nearly: chances allow for the scores' own errors
                assert int(cell.split()[5]) == pytest.approx(expected, abs=1.5)


def test_what_is_expected_is_what_the_scores_say_and_no_other_models_word():
    votes = many(5, 400)
    model = BradleyTerry().fit(votes)
    page = str(Report(model.ranking_, votes, model=model))
    order, scores = model.ranking_.order, np.sort(model.ranking_.scores)[::-1]
    for i, row in enumerate(cells(page)):
        for j, cell in enumerate(row):
            if cell is not None:
                expected = 100 * model.win_probability(order[i], order[j])
                assert int(cell.split()[5]) == pytest.approx(expected, abs=0.5001)
                by_scores = 100 / (1 + np.exp(scores[j] - scores[i]))
                assert expected == pytest.approx(by_scores, abs=1), "nearly: chances allow for the scores' own errors"
    winner, loser, _ = simulate(5, 400, np.random.default_rng(1))
    votes = Comparisons.from_arrays(winner, loser, items=votes.items, time=np.arange(400.0))
    moving = DynamicBradleyTerry(drift=0.1, sd=1.0).fit(votes)
    page = str(Report(moving.ranking_, votes, model=moving, diagnosis=diagnose(votes, moving, replicates=9, splits=2)))
    assert {cell.split()[5] for row in cells(page) for cell in row if cell} == {"-"}


@pytest.mark.parametrize("n", [2, 5, MAX_SINGLE_ITEMS, MAX_SINGLE_ITEMS + 1, 137, 500])
def test_the_matrix_has_no_more_rows_than_people_can_read_and_loses_no_vote(n):
    votes = many(n, 12 * n)
    order = votes.items
    page = "".join(head_to_head(votes, order, 0.95))
    Reader(page)
    table = cells(page)
    assert len(table) == (n if n <= MAX_SINGLE_ITEMS else MAX_GROUPS)
    assert all(len(row) == len(table) for row in table)
    group = np.searchsorted(np.linspace(0, n, MAX_GROUPS + 1).astype(int), np.arange(n), side="right")
    group = np.arange(n) if n <= MAX_SINGLE_ITEMS else group
    left, right, outcome, _ = votes.vote_rows()
    winner = np.where(outcome == 1, left, right)
    loser = np.where(outcome == 1, right, left)
    across = group[winner] != group[loser]
    assert sum(float(cell.split()[0]) for row in table for cell in row if cell) == across.sum()
    assert sum(float(cell.split()[2]) for row in table for cell in row if cell) == across.sum()


def test_a_card_opens_by_mouse_by_key_and_by_touch_and_nothing_runs_off_a_phone(tmp_path):
    path = browser_path()
    playwright = pytest.importorskip("playwright.sync_api")
    votes = many(14, 900)
    with thin_data():
        model = BradleyTerry().fit(votes)
    found = diagnose(votes, model, replicates=9, splits=2)
    Report(model.ranking_, votes, model=model, diagnosis=found).write(tmp_path / "page.html")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=path, args=list(FLAGS))
        for width, touch in ((1280, False), (390, True)):
            context = browser.new_context(
                viewport={"width": width, "height": 800}, has_touch=touch, color_scheme="dark" if touch else "light"
            )
            page = context.new_page()
            page.goto(f"file://{tmp_path}/page.html")
            assert not page.locator("table.pairs").is_visible(), "behind its tab"
            page.get_by_text("Head to head").click()
            card, first = page.locator("#card"), page.locator("td.hit").first
            assert not card.is_visible()
            first.tap() if touch else first.hover()
            won, tied, lost, *_ = first.get_attribute("data-r").split()
            assert f"{won} · {tied} · {lost}" in card.inner_text()
            assert card.inner_text().startswith(model.ranking_.order[0])
            box = card.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            page.keyboard.press("Escape")
            first.focus()
            page.keyboard.press("ArrowDown")
            below = page.evaluate("document.activeElement.parentNode.rowIndex")
            assert below > 1
            assert card.inner_text().startswith(model.ranking_.order[below - 1])
            for tab in page.locator(".tabs label").all():
                tab.click()
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                assert page.evaluate(FAINT) == [], "letters that can hardly be seen"
            context.close()
        plain = browser.new_context(java_script_enabled=False).new_page()
        plain.goto(f"file://{tmp_path}/page.html")
        plain.get_by_text("Head to head").click()
        plain.get_by_text("pairs as a table").click()
        assert plain.locator("table.records tbody tr").first.is_visible()
        browser.close()


# Letters whose contrast with what lies behind them is below 3 : 1. Colours go through a canvas, which knows them all.
FAINT = """() => {
  const dot = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => { dot.clearRect(0, 0, 1, 1); dot.fillStyle = colour; dot.fillRect(0, 0, 1, 1);
    return [...dot.getImageData(0, 0, 1, 1).data]; };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const behind = (node) => { for (; node; node = node.parentElement) {
    const colour = rgb(getComputedStyle(node).backgroundColor); if (colour[3] > 200) return colour; }
    return [255, 255, 255, 255]; };
  const faint = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim());
    if (!own || !node.getClientRects().length || node.closest("script, style, title")) continue;
    const drawn = node instanceof SVGElement;
    const [one, other] = [rgb(getComputedStyle(node)[drawn ? "fill" : "color"]), behind(node)].map(light);
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 3) faint.push(`${node.textContent.trim().slice(0, 30)} ${ratio.toFixed(2)}`);
  }
  return faint;
}"""
