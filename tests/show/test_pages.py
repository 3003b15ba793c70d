"""Pages part by part: parts side by side, sections of each kind of model, tables over time, limits and refusals."""

import re
import types

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from podium import (
    RABF,
    BradleyTerry,
    Comparisons,
    CrowdBradleyTerry,
    DynamicBradleyTerry,
    LeastSquares,
    PlackettLuce,
    Ranking,
    Rankings,
    WinRate,
)
from podium.errors import InputError
from podium.show import plots, report, report_pairs, report_parts, report_sections, report_time
from podium.show.report import Report, vote_summary
from podium.show.report_board import leaderboard
from podium.show.report_parts import Beside

from helpers import thin_data

PAIRS = [("a", "b")] * 7 + [("b", "a")] * 3 + [("b", "c")] * 6 + [("c", "b")] * 4 + [("c", "a")] * 2


def fitted(pairs=PAIRS, model=None):
    votes = Comparisons.from_pairs(pairs)
    with thin_data():
        return votes, (model or BradleyTerry()).fit(votes)


def texts(page):
    """Heads, and the words of every cell, row by row."""
    plain = re.compile(r"<svg.*?</svg>|<[^>]+>")
    heads = [plain.sub("", each) for each in re.findall(r"<th.*?</th>", page)]
    body = re.search(r"<tbody>(.*?)</tbody>", page, flags=re.DOTALL)[1]
    rows = [re.findall(r"<td.*?</td>", row) for row in re.findall(r"<tr.*?</tr>", body)]
    return heads, [[plain.sub("", each) for each in row] for row in rows]


def told(count=5, m=300, seed=0, **more):
    """Votes with sides, ties, a covariate and times, of items that differ by a third each."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, count, m)
    right = (left + rng.integers(1, count, m)) % count
    length = rng.normal(0, 2, (m, 1))
    margin = 0.3 * (right - left) + 0.5 + 0.3 * length[:, 0] + rng.logistic(size=m)
    outcome = np.where(np.abs(margin) < 0.4, 0, np.sign(margin)).astype(np.int8)
    fields = {"covariates": length, "covariate_names": ("length",), "time": np.arange(m) // 20 * 1.0} | more
    return Comparisons(tuple(f"i{k}" for k in range(count)), left.astype(np.int32), right.astype(np.int32),
                       outcome=outcome, sided=True, **{k: v for k, v in fields.items() if v is not None})  # fmt: skip


# ---- parts side by side ---------------------------------------------------------------------------------------------


def ranks(items, scores):
    return Ranking(items, scores)


def test_ranks_of_parts_stand_side_by_side_in_the_order_of_the_whole():
    votes, _ = fitted()
    whole = ranks(["a", "<b>", "c"], [3.0, 2.0, 1.0])
    parts = {
        "en & de": (ranks(["<b>", "a", "c"], [3.0, 2.0, 1.0]), votes),
        "fr": (ranks(["c", "a"], [2.0, 1.0]), votes),
    }
    beside = Beside(by="<language>", parts=parts)
    title, caption, region, head, body = report_parts.matrix(beside, whole.to_frame(None), None, False)
    assert title == "<h2>Ranks by &lt;language&gt;</h2>"
    assert "Empty: no votes there." in caption
    assert 'aria-label="Ranks by &lt;language&gt;"' in region
    heads, rows = texts(head + body)
    assert heads == ["Item", "Overall", "en &amp; de22 votes", "fr22 votes"]
    assert rows == [["a", "1", "2", "2"], ["&lt;b&gt;", "2", "1", ""], ["c", "3", "3", "1"]]
    assert report_parts.matrix(Beside(), whole.to_frame(None), None, False) == []


@pytest.mark.parametrize("simultaneous", [False, True])
@pytest.mark.parametrize("level", [0.6, 0.95])
def test_parts_have_intervals_of_the_level_asked_for(level, simultaneous):
    votes, model = fitted()
    frame = model.ranking_.to_frame(level, simultaneous)
    beside = Beside(by="town", parts={"x": (model.ranking_, votes)})
    small = re.findall(r"<small>(\d–\d)</small>", report_parts.matrix(beside, frame, level, simultaneous)[-1])
    expected = [f"{low}–{high}" for low, high in zip(frame["rank_lower"], frame["rank_upper"], strict=True)]
    assert small == [ends for each in expected for ends in (each, each)]
    board = Report(model.ranking_, votes, level=level, simultaneous=simultaneous, beside=beside)._parts(9)[0]
    assert [row[5] for row in texts(board)[1]] == expected


def test_the_page_of_parts_has_a_tab_and_its_boards_hold_as_many_rows_as_the_page():
    votes, model = fitted()
    beside = Beside(by="town", parts={"x": (model.ranking_, votes)}, remarks={"x": ["thin data"]})
    page = str(Report(model.ranking_, votes, beside=beside, top=2))
    panel = re.search(r'<section class="panel v1" aria-label="By town">(.*?)</section>', page, flags=re.DOTALL)[1]
    matrix, board = panel.split("<details")
    assert [row[0] for row in texts(matrix)[1]] == list(model.ranking_.order[:2])
    assert [row[1][0] for row in texts(board)[1]] == list(model.ranking_.order[:2])
    assert "… and 1 more item below." in board
    assert '<p class="warn">Thin data.</p>' in board
    assert "<b>1</b> group by town" in page
    named = re.findall(r"<span>([^<]*)</span></label>", page)
    assert named == ["Overall", "By town", "Head to head", "Checks"]
    alone = re.findall(r"<span>([^<]*)</span></label>", str(Report(model.ranking_, votes)))
    assert alone == ["Overall", "Head to head", "Checks"]


def test_boards_of_parts_count_in_the_words_and_digits_of_the_page():
    votes = told(time=None, covariates=None, covariate_names=None, vote_is="game")
    with thin_data():
        elo = BradleyTerry(scale="elo").fit(votes).ranking_
    page = Report(elo, votes, beside=Beside(by="town", parts={"x": (elo, votes)}))
    heads, rows = texts(page._parts(9)[0])
    assert heads[-1] == "Games"
    assert all("." not in row[2] for row in rows), "Elo has no decimals"
    assert "300 games" in page._parts(9)[0]


def test_a_picture_of_the_page_is_drawn_wide_and_narrow_with_its_words():
    drawn = report_parts.figure_of(plots.history([1, 2], ["a"], np.array([[1.0], [2.0]])), "mine", "How <it>\nwent")
    assert drawn.startswith('<div class="figure"><svg class="wide" role="img" aria-label="How &lt;it&gt;\\nwent"')
    assert drawn.count('role="img"') == 2
    wide, narrow = (float(each) for each in re.findall(r'<svg class="\w+"[^>]* viewBox="0 0 ([\d.]+)', drawn))
    assert narrow < wide
    assert narrow / 72 < 4.2, "inches of a phone"
    clips = [set(re.findall(r'clipPath id="(\w+)"', each)) for each in drawn.split('<svg class="narrow"')]
    assert all(clips)
    assert not clips[0] & clips[1]


# ---- words on the page ----------------------------------------------------------------------------------------------


def test_tiers_out_of_order_are_said_to_be():
    votes, model = fitted()
    page = Report(model.ranking_, votes)
    means = "items of one tier are not significantly below its leader, with all pairs looked at"
    assert page._about_tiers(pl.DataFrame({"tier": [1, 1, 2]})) == f"A stronger line begins a new tier: {means}."
    mixed = page._about_tiers(pl.DataFrame({"tier": [1, 2, 1]}))
    assert mixed.startswith(
        f"Tiers: {means}. They need not follow the order: an item with a wide interval may be of an earlier tier than"
    )
    assert mixed.endswith("All below a stronger line are of later tiers than all above it.")


def test_bars_that_rest_on_the_votes_alone_are_explained_where_they_do():
    votes, model = fitted()
    frame = model.ranking_.to_frame(0.95)
    alone = "Bars rest on the votes alone."

    def said(ranking, **more):
        return any(text.startswith(alone) for text in Report(ranking, votes, **more)._meaning(frame))

    assert model.ranking_.posterior is not None
    assert said(model.ranking_)
    assert not said(model.ranking_, level=None)
    assert not said(model.ranking_.with_uncertainty("sandwich"))
    with thin_data():
        assert not said(BradleyTerry(l2=0.1).fit(votes).ranking_)
        featured = RABF(feature_penalty=1.0, residual_penalty=1.0).fit(votes)
    assert not said(featured.ranking_, model=featured)
    assert not any("An arrow marks" in text for text in Report(model.ranking_, votes)._meaning(frame))


def test_what_a_page_means_by_its_scores_is_in_the_unit_of_the_model():
    votes = told(time=None, covariates=None, covariate_names=None)
    with thin_data():
        squares = RABF(loss="squared", feature_penalty=1.0, residual_penalty=1.0).fit(votes)
        least = LeastSquares().fit(votes)
    for model in (squares, least):
        assert plots.unit_of(model.ranking_, model) == "score, in units of the margin"
        page = Report(model.ranking_, votes, model=model)
        assert page._meaning(model.ranking_.to_frame(0.95))[0] == "Scores are in units of the margin."
    assert plots.unit_of(squares.ranking_) == "score, in log-odds"


@pytest.mark.parametrize(
    ("side", "covariates", "words"),
    [(True, True, "Style and position bias"), (False, True, "Style"), (True, False, "Position bias")],
)
def test_effects_that_are_taken_out_are_named(side, covariates, words):
    votes = told(time=None, **({} if covariates else {"covariates": None, "covariate_names": None}))
    with thin_data():
        model = BradleyTerry(side_effect=side).fit(votes)
        plain = BradleyTerry().fit(told(time=None, covariates=None, covariate_names=None)).ranking_
    page = Report(model.ranking_, votes, model=model, beside=Beside(plain=plain))
    assert page._effects() == words
    low = words.lower()
    assert f"Without effects: the rank with {low} left in." in page._meaning(model.ranking_.to_frame(0.95))
    names = re.findall(r'download="leaderboard-([^"]+)\.csv"', page._downloads(model.ranking_.to_frame(0.95), 9)[1])
    assert names == ["-".join([*low.split(), "left", "in"])]
    assert Report(model.ranking_, votes, beside=Beside(plain=plain))._effects() == ("Style" if covariates else "")


def test_what_is_taken_along_with_effects_left_in_is_that_leaderboard():
    from base64 import b64decode

    votes = told(time=None)
    with thin_data():
        model = BradleyTerry().fit(votes)
        plain = BradleyTerry().fit(told(time=None, covariates=None, covariate_names=None)).ranking_
    page = Report(model.ranking_, votes, model=model, beside=Beside(plain=plain), title="T", top=3)
    below = re.findall(r'<td class="item">([^<]*).*?<span>without effects (\d+)</span>', str(page))  # on a phone
    assert below == [(item, str(1 + sum(plain.scores > plain.score(item)))) for item in model.ranking_.order[:3]]
    kept = {name: b64decode(text).decode() for name, text in
            re.findall(r'download="([^"]+)" href="data:[^"]*base64,([^"]*)"', "".join(page._downloads(model.ranking_.to_frame(0.95), 3)))}  # fmt: skip  # noqa: E501
    assert ">T, style left in<" in kept["leaderboard-style-left-in.svg"]
    assert ">T<" in kept["leaderboard.svg"]
    for name, ranking in (("leaderboard", model.ranking_), ("leaderboard-style-left-in", plain)):
        table = pl.read_csv(kept[f"{name}.csv"].encode())
        assert table["item"].to_list() == list(ranking.order[:3])
        assert table["score"].to_list() == pytest.approx(sorted(ranking.scores, reverse=True)[:3], abs=1e-3)


def test_facts_of_rankings_speak_of_rankings():
    lists = Rankings.from_lists([list("abc"), list("bac"), list("cab")], judge=["x", "y", "x"])
    with thin_data():
        model = PlackettLuce().fit(lists, {name: {"size": float(k)} for k, name in enumerate("abcd")})
    votes = Comparisons.from_rankings(lists)
    facts = [re.sub(r"<[^>]+>", "", each) for each in Report(model.ranking_, votes, model=model, level=None)._facts()]
    assert facts == ["3 rankings", "9 pairs", "4 items", "2 respondents", "1 without rankings"]
    summary = vote_summary(votes)
    assert summary["Pairs put in order"] == "9"
    assert summary["Pairs per item"] == "6 to 6, median 6"
    assert (summary["Respondents"], summary["Rankings"]) == ("2", "3")
    assert "Judges" not in summary
    assert "Groups" not in summary


def test_groups_of_votes_are_counted():
    votes = Comparisons.from_arrays(list("aab"), list("bbc"), group=["g", "g", "h"])
    assert vote_summary(votes)["Groups"] == "2"
    assert "Rankings" not in vote_summary(votes)


def test_days_of_votes_are_told_without_their_hours():
    hours = np.array([0.75, 1.25, 40.5]) + 20454  # days since 1970: 2026-01-01 and later
    votes = Comparisons.from_arrays(list("aab"), list("bbc"), time=hours)
    from dataclasses import replace

    dated = Report(Ranking(["a", "b", "c"], [3.0, 2.0, 1.0]), replace(votes, time_is="date"))
    assert dated._facts()[-1] == "2026-01-01 to 2026-02-10"
    assert not any("2026" in fact for fact in Report(dated.ranking, votes)._facts()), "numbers are no days"


def test_reliability_has_a_title_of_its_own():
    votes, model = fitted()
    page = str(Report(model.ranking_, votes, reliability=["half of <it>", "votes.csv: fine"]))
    assert "<h2>Can the marks be relied on?</h2>\n<p>Half of &lt;it&gt;.</p>\n<p>votes.csv: fine.</p>" in page
    assert "relied on" not in str(Report(model.ranking_, votes))


def test_sections_of_the_checks_stand_in_order():
    votes, model = fitted()
    parts = Report(model.ranking_, votes, model=model, command="podium rank x")._trust()
    assert [part for part in parts if part.startswith("<h2>")] == ["<h2>The data</h2>", "<h2>Method</h2>"]
    assert parts[-2:] == ["<p>To make this page again:</p>", "<pre>podium rank x</pre>"]
    assert parts[1] == report.listed(vote_summary(votes))
    assert "<dt>Settings</dt><dd>l2: auto" in parts[3]


# ---- who beat whom --------------------------------------------------------------------------------------------------


def test_beyond_so_many_items_pairs_are_left_out(monkeypatch):
    votes, model = fitted()
    page = Report(model.ranking_, votes)
    frame = model.ranking_.to_frame(0.95)
    monkeypatch.setattr(report, "MAX_PAIRED_ITEMS", 3)
    assert len(page._pairs(frame)) == 4
    monkeypatch.setattr(report, "MAX_PAIRED_ITEMS", 2)
    assert page._pairs(frame) == []
    assert "Head to head" not in str(page)


def test_pairs_are_of_the_items_shown_whatever_their_labels():
    winner, loser = [0, 0, 1, 2, 1, 2], [1, 2, 2, 0, 0, 1]
    votes = Comparisons.from_arrays(winner, loser, items=[10, 20, 30])
    ranking = Ranking([40, 10, 20, 30], [9.0, 3.0, 2.0, 1.0])  # of whom one has no vote

    def rows(**more):
        page = Report(ranking, votes, **more)
        found = page._pairs(ranking.to_frame(0.95).head(more.get("top", 9)))
        return re.findall(r"<bdi>(\d+)</bdi>", "".join(found))

    assert rows() == ["10", "20", "30"]
    assert rows(top=3) == ["10", "20"]


def test_a_single_item_has_no_pairs():
    votes, _ = fitted()
    assert report_pairs.head_to_head(votes, ["a"], 0.95) == []
    assert len(report_pairs.head_to_head(votes, ["a", "b"], 0.95)) == 4


@pytest.mark.parametrize("level", [0.9, None])
def test_the_hint_names_the_interval_that_a_cell_opens(level):
    votes, _ = fitted()
    hint = report_pairs.head_to_head(votes, list("abc"), level)[1]
    assert hint.startswith('<p class="soft">Votes that the row’s item won against the column’s, in per cent')
    words = "; in brackets the 90 % interval of that share alone" if level else ""
    assert hint.endswith(f"or use the arrow keys for its record{words}.</p>")


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_what_is_expected_is_the_chance_of_the_scores_a_tie_counting_half(ties):
    """By hand from the scores and ν."""
    votes = told(time=None, covariates=None, covariate_names=None)
    with thin_data():
        model = BradleyTerry(ties=ties, l2=0.5).fit(votes)
    order = list(model.ranking_.order)
    share = report_pairs._expected(votes, order, model)
    nu = model.tie_strength_ or 0.0
    for i, one in enumerate(order):
        assert np.isnan(share[i, i])
        for j, other in enumerate(order):
            if i != j:
                gap = model.ranking_.score(one) - model.ranking_.score(other)
                win, loss = np.exp(gap / 2), np.exp(-gap / 2)
                assert share[i, j] == pytest.approx((win + nu / 2) / (win + nu + loss), abs=0.01)
                assert share[i, j] + share[j, i] == pytest.approx(1)


@pytest.mark.parametrize(
    "ranker",
    [BradleyTerry(l2=0.5, side_effect=True), RABF(feature_penalty=1.0, residual_penalty=1.0, side_effect=True)],
)
def test_what_is_expected_of_a_pair_is_what_it_wins_on_the_sides_it_was_on(ranker):
    """By hand: i0 was left three times and right once against i1, and only left against i2, with half weights."""
    left, right = [0, 0, 0, 1, 0, 0, 1, 2, 2], [1, 1, 1, 0, 2, 2, 2, 1, 1]
    outcome, weight = [1, 1, -1, 1, 1, -1, 1, 1, -1], [1.0, 1, 1, 1, 0.5, 0.5, 1, 1, 1]
    votes = Comparisons(
        ("i0", "i1", "i2", "i3"), np.array(left, np.int32), np.array(right, np.int32),
        outcome=np.array(outcome, np.int8), weight=np.array(weight), sided=True,
    )  # fmt: skip
    with thin_data():
        model = ranker.fit(votes)
    score, side = model.ranking_.score, model.side_effect_
    assert abs(side) > 0.05

    def chance(one, other, lean):
        return 1 / (1 + np.exp(score(other) - score(one) - lean))

    share = report_pairs._expected(votes, ["i2", "i0", "i1"], model)
    assert share[1, 2] == pytest.approx((3 * chance("i0", "i1", side) + chance("i0", "i1", -side)) / 4)
    assert share[1, 0] == pytest.approx(chance("i0", "i2", side))
    assert share[0, 2] == pytest.approx((2 * chance("i2", "i1", side) + chance("i2", "i1", -side)) / 3)
    assert share + share.T == pytest.approx(np.where(np.eye(3), np.nan, 1.0), nan_ok=True)
    assert np.isnan(report_pairs._expected(votes, ["i0", "i3"], model)).all()  # who never met


def test_of_very_many_items_and_of_other_models_nothing_is_expected(monkeypatch):
    votes, model = fitted()
    assert report_pairs._expected(votes, list("abc"), WinRate().fit(votes)) is None
    assert report_pairs._expected(votes, list("abc"), None) is None
    with thin_data():
        assert (
            report_pairs._expected(votes, list("abc"), RABF(feature_penalty=1.0, residual_penalty=1.0).fit(votes))
            is not None
        )
    monkeypatch.setattr(report_pairs, "MAX_EXPECTED_ITEMS", 3)
    assert report_pairs._expected(votes, list("abc"), model) is not None
    monkeypatch.setattr(report_pairs, "MAX_EXPECTED_ITEMS", 2)
    assert report_pairs._expected(votes, list("abc"), model) is None


@pytest.mark.parametrize("count", [5, 14])
def test_with_covariates_what_is_expected_of_a_pair_is_the_mean_chance_of_its_votes(count):
    """By hand, each vote with its own covariate and side; of 91 pairs too, more than the checks list."""
    votes = told(count, 900, time=None)
    with thin_data():
        model = BradleyTerry(ties="davidson", side_effect=True, l2=0.5).fit(votes)
    order = list(model.ranking_.order)
    share, points = report_pairs._expected(votes, order, model), {}
    for left, right, length in zip(votes.left, votes.right, votes.covariates[:, 0], strict=True):
        one, other = votes.items[left], votes.items[right]
        gap = model.ranking_.score(one) - model.ranking_.score(other) + model.side_effect_ + model.coef_[0] * length
        weights = np.exp([gap / 2, -gap / 2])
        chance = (weights[0] + model.tie_strength_ / 2) / (weights.sum() + model.tie_strength_)
        points.setdefault((one, other), []).append(chance)
        points.setdefault((other, one), []).append(1 - chance)
    for i, one in enumerate(order):
        for j, other in enumerate(order):
            if (one, other) in points:
                assert share[i, j] == pytest.approx(np.mean(points[one, other]))
            else:
                assert np.isnan(share[i, j])
    bare = told(count, 900, time=None, covariates=None, covariate_names=None)
    assert np.isnan(report_pairs._expected(bare, order, model)).all()


def test_pairs_of_which_nothing_is_expected_have_an_empty_cell():
    share = np.array([[np.nan, 0.25, np.nan], [0.75, np.nan, np.nan], [np.nan] * 3])
    won = np.array([[0.0, 3.0, 2.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    table = report_pairs._records(["i1", "i0", "i2"], won, np.zeros((3, 3)), "votes", share)
    heads, cells = texts(table)
    assert heads == ["Item", "Against", "Won", "Tied", "Lost", "Rate", "Expected"]
    assert cells == [["i1", "i0", "3", "0", "1", "75 %", "25 %"], ["i1", "i2", "2", "0", "0", "100 %", ""]]
    assert 'data-v="0.250000"' in table
    unknown = report_pairs._records(["i1", "i0", "i2"], won, np.zeros((3, 3)), "votes", np.full((3, 3), np.nan))
    assert "Expected" not in unknown
    assert texts(unknown)[1] == [cells[0][:6], cells[1][:6]]


def test_pairs_alike_keep_the_order_of_the_ranking():
    n = 30
    won = np.triu(np.ones((n, n)), 1)
    won[3, 4] = 5.0
    table = report_pairs._records([f"i{k}" for k in range(n)], won, np.zeros((n, n)), "votes", None)
    pairs = [(row[0], row[1]) for row in texts(table)[1]]
    others = [(f"i{i}", f"i{j}") for i in range(n) for j in range(i + 1, n) if (i, j) != (3, 4)]
    assert pairs == [("i3", "i4"), *others]
    assert f"{n * (n - 1) // 2} pairs as a table" in table


def test_a_share_of_all_or_none_has_an_interval_within_its_ends():
    for points, votes in ((0, 3), (3, 3), (0.5, 1)):
        low, high = report_pairs.score_interval(points, votes, 0.95)
        assert 0 <= low <= points / votes <= high <= 1
    assert report_pairs.score_interval(0, 3, 0.95)[0] == 0
    assert report_pairs.score_interval(3, 3, 0.95)[1] == pytest.approx(1)


# ---- sections of models ---------------------------------------------------------------------------------------------

Z90 = norm.ppf(0.95)


def side_of(parts):
    """The side's effect and half-width as written, with the unit."""
    found = re.search(r": ([+-][\d.]+)(?: ± ([\d.e+-]+) \(([\d.]+) %\))? ([\w -]+); scores are corrected", parts)
    return found.groups() if found else None


@pytest.mark.parametrize("scale", ["log-odds", "elo"])
@pytest.mark.parametrize("kind", ["bradley-terry", "dynamic"])
def test_effects_of_a_model_are_in_the_unit_of_its_scores(kind, scale):
    unit, word = (1.0, "log-odds") if scale == "log-odds" else (400 / np.log(10), "Elo points")
    votes = told() if kind == "bradley-terry" else told(covariates=None, covariate_names=None)
    with thin_data():
        if kind == "bradley-terry":
            model = BradleyTerry(side_effect=True, ties="davidson", scale=scale, l2=0.5).fit(votes)
            error = model.side_effect_std_error_
        else:
            model = DynamicBradleyTerry(drift=0.1, sd=1.0, side_effect=True, ties="davidson", scale=scale).fit(votes)
            error = model.effect_std_errors_[0]
    whole = report_sections.sections(model, 0.9, votes, "home advantage")
    page = "".join(whole)
    effect, half, level, named = side_of(page)
    assert (effect, half) == (f"{unit * model.side_effect_:+.3g}", f"{Z90 * unit * error:.2g}")
    assert (level, named) == ("90", word)
    assert "<h2>Home advantage and ties</h2>" in page
    assert f"%; Davidson’s ν = {model.tie_strength_:.3g})" in page
    if kind == "bradley-terry":
        sd = float(votes.covariate_sds()[0])
        heads, rows = texts(page)
        assert heads == ["Covariate", "Per standard deviation", "± (90 %)", "Standard deviation"]
        expected = unit * sd * model.coef_[0], Z90 * unit * sd * model.coef_std_errors_[0]
        assert rows == [["length", f"{expected[0]:+.4g}", f"{expected[1]:.2g}", f"{sd:.4g}"]]
        bare = texts("".join(report_sections.sections(model, 0.9)))
        each = unit * model.coef_[0], Z90 * unit * model.coef_std_errors_[0]
        assert bare == (["Covariate", "Per unit", "± (90 %)"], [["length", f"{each[0]:+.4g}", f"{each[1]:.2g}"]])
        assert f"on the margin, in {word}, left minus right" in page


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_effects_beside_features_have_errors_where_there_is_a_likelihood(loss):
    votes = told(time=None, margin=None)
    features = {f"i{k}": {"size": float(k * k % 3)} for k in range(5)} | {"new": {"size": 1.0}}
    with thin_data():
        model = RABF(loss=loss, feature_penalty=1.0, residual_penalty=1.0, side_effect=True).fit(votes, features)
    page = "".join(report_sections.sections(model, 0.9, votes))
    effect, half, level, named = side_of(page)
    sure = loss != "hinge"
    sd = float(votes.covariate_sds()[0])
    assert effect == f"{model.side_effect_:+.3g}"
    assert named == ("of margin" if loss == "squared" else "log-odds")
    assert (half, level) == ((f"{Z90 * model.side_effect_std_error_:.2g}", "90") if sure else (None, None))
    covariates = page[page.index("<h2>Covariates") :]
    width = [f"{Z90 * sd * model.covariate_std_errors_[0]:.2g}"] if sure else []
    heads, rows = texts(covariates)
    assert heads == ["Covariate", "Per standard deviation", *["± (90 %)"] * sure, "Standard deviation"]
    assert rows == [["length", f"{sd * model.covariate_coef_[0]:+.4g}", *width, f"{sd:.4g}"]]
    assert "on the margin, left minus right" in page
    table = page[page.index("</svg>") :] if sure else page
    heads, rows = texts(table)
    half = [f"{Z90 * model.coef_std_errors_[0]:.2g}"] if sure else []
    assert heads[: 2 + sure] == ["Feature", "Score per unit", *["± (90 %)"] * sure]
    assert rows[0] == ["size", f"{model.coef_[0]:+.4g}", *half]
    assert ("<svg" in page) == sure
    assert "without votes: new (1 in all)" in page
    without = "".join(report_sections.sections(model, None, votes))
    assert "±" not in without
    assert "<svg" not in without
    plain = report_sections.sections(RABF(feature_penalty=1.0, residual_penalty=1.0).fit(told(time=None, covariates=None, covariate_names=None)), 0.9)  # fmt: skip  # noqa: E501
    assert plain == []


def test_items_off_their_features_are_listed_with_their_errors():
    from podium.evaluate.feature_diagnosis import residual_outliers

    rng = np.random.default_rng(5)
    size = rng.normal(size=12)
    scores = 2 * size
    scores[3], scores[8] = scores[3] + 3, scores[8] - 3
    left = rng.integers(0, 12, 2000)
    right = (left + rng.integers(1, 12, 2000)) % 12
    won = rng.random(2000) < 1 / (1 + np.exp(scores[right] - scores[left]))
    votes = Comparisons.from_arrays(np.where(won, left, right), np.where(won, right, left), items=[f"i{k}" for k in range(12)])  # fmt: skip  # noqa: E501
    with thin_data():
        model = RABF(feature_penalty=0.1, residual_penalty=0.5).fit(
            votes, {f"i{k}": {"size": size[k]} for k in range(12)}
        )
    for level in (0.9, None):
        far = residual_outliers(model, level=level or 0.95).to_dicts()
        assert {row["item"] for row in far} >= {"i3", "i8"}
        page = "".join(report_sections.sections(model, level, votes))
        assert "Items significantly better (+) or worse (−) than their features predict:" in page
        heads, rows = texts(page[page.index("features predict:") :])
        assert heads == ["Item", "Residual", *(["± (90 %)"] if level else [])]
        assert rows == [
            [row["item"], f"{row['residual']:+.2f}", *([f"{Z90 * row['std_error']:.2f}"] if level else [])]
            for row in far
        ]


def test_features_of_rankings_have_their_section():
    rng = np.random.default_rng(0)
    lists = Rankings.from_lists([list(rng.permutation(list("abcde"))) for _ in range(40)])
    table = {name: {"size": float(k)} for k, name in enumerate("abcdef")}
    with thin_data():
        model = PlackettLuce().fit(lists, table)
    page = "".join(report_sections.sections(model, 0.9))
    assert "<h2>Features</h2>" in page
    assert "Ranked by features alone, without rankings: f (1 in all)." in page
    assert f"Features explain about {100 * model.explained_:.0f} % of the variance of the scores." in page


def test_games_without_covariates_are_called_games_in_each_section():
    votes = told(time=None, vote_is="game")
    with thin_data():
        model = RABF(feature_penalty=1.0, residual_penalty=1.0).fit(
            votes, {f"i{k}": {"size": float(k)} for k in range(6)}
        )
    page = "".join(report_sections.sections(model, 0.9, votes))
    assert "Effect of a game's covariates" in page
    assert "without games: i5 (1 in all)" in page


ANN = {"judge": "<Ann>", "reliability": 1.2, "std_error": 0.1, "lean": 0.5, "lean_std_error": 0.2, "votes": 1234.0,
       "p_value": 0.04, "flag": "chance"}  # fmt: skip
BOB = ANN | {"judge": "Bob", "reliability": 0.8, "lean": -0.25, "votes": 7.0, "p_value": None, "flag": None}


def judged(rows, sd=1.0, side=False, level=0.9):
    frame = pl.DataFrame(rows, schema_overrides={"p_value": pl.Float64, "flag": pl.String})
    model = types.SimpleNamespace(reliability_sd_=sd, side_effect=side, judge_frame=lambda: frame)
    return report_sections._judges(model, level)


@pytest.mark.parametrize("side", [True, False])
@pytest.mark.parametrize("sd", [1.0, 0.0])
@pytest.mark.parametrize("level", [0.9, None])
def test_judges_cell_by_cell(sd, side, level):
    heads, rows = texts(judged([ANN, BOB], sd, side, level)[2])
    pm = ["± (90 %)"] if level else []
    reliability = ["drawn", "Reliability", *pm] if sd else []
    assert heads == ["Judge", *reliability, *(["Lean to the left", *pm] if side else []), "Votes", "p", "Flag"]
    width = [f"{Z90 * 0.1:.2f}"] if level else []
    lean = [f"{Z90 * 0.2:.2f}"] if level else []
    assert rows == [
        ["&lt;Ann&gt;", *(["", "1.20", *width] if sd else []), *(["+0.50", *lean] if side else []), "1,234", "0.04",
         "chance"],
        ["Bob", *(["", "0.80", *width] if sd else []), *(["-0.25", *lean] if side else []), "7", "", ""],
    ]  # fmt: skip
    page = judged([ANN, BOB], sd, side, level)[2]
    on_a_desk = [re.findall(r'<t[hd] class="n wide">([^<]*)<', row) for row in page.split("<tr>")[1:]]
    assert on_a_desk == [["Votes", "p"], ["1,234", "0.04"], ["7", ""]], "the rest is on a phone too"


def test_what_is_said_of_judges_depends_on_whether_they_differ():
    p = (
        " p is that of being at least half as reliable as the median judge, from 25 votes up; flags allow for the "
        "number of judges."
    )
    notes = [
        re.sub(r"<[^>]+>", "", judged(rows, sd)[1]) for rows, sd in (([ANN, BOB], 0.0), ([BOB], 0.0), ([BOB], 1.0))
    ]
    assert notes == [
        "The votes are too few to weigh judges by, and all count alike; a flag is from a test of the judge by itself."
        + p,
        "The votes do not show that judges differ in reliability; all count alike." + p,
        "Reliability is 1 for the average judge, 0 for random votes (the two lines), negative for reversed votes." + p,
    ]


def test_judges_are_drawn_on_a_scale_that_holds_0_1_and_all_intervals():
    """Within 0 and 1 where all intervals are; without a level there is no whisker, on the same scale as at 95 %."""

    def places(rows, level):
        page = judged(rows, 1.0, False, level)[2]
        return [tuple(map(float, each)) for each in re.findall(
            r'class="whisker" x1="([\d.]+)%" x2="([\d.]+)%".*?cx="([\d.]+)%"', page)]  # fmt: skip

    half = Z90 * 0.1
    calm = BOB | {"reliability": 0.5}
    assert places([calm], 0.9) == [pytest.approx((3 + 94 * (0.5 - half), 3 + 94 * (0.5 + half), 50.0), abs=0.006)]
    high, low = 1.2 + norm.ppf(0.975) * 0.1, -0.3 - norm.ppf(0.975) * 0.1
    at = [3 + 94 * (value - low) / (high - low) for value in (1.2, -0.3)]
    assert places([ANN, BOB | {"reliability": -0.3}], None) == [pytest.approx((x, x, x), abs=0.006) for x in at]
    lines = re.findall(r'class="zero" x1="([\d.]+)%" x2="([\d.]+)%"', judged([calm])[2])
    assert lines == [("3.00", "3.00"), ("97.00", "97.00")]


def test_real_judges_have_their_section_at_the_level_of_the_page():
    votes = told(time=None, covariates=None, covariate_names=None, judge=np.arange(300, dtype=np.int32) % 4,
                 judges=tuple("wxyz"))  # fmt: skip
    with thin_data():
        model = CrowdBradleyTerry(reliability_sd=0.5, side_effect=True).fit(votes)
    heads, rows = texts("".join(report_sections.sections(model, 0.9, votes)))
    frame = model.judge_frame()
    assert [row[0] for row in rows] == frame["judge"].to_list()
    assert [row[3] for row in rows] == [f"{Z90 * error:.2f}" for error in frame["std_error"]]
    assert [row[5] for row in rows] == [f"{Z90 * error:.2f}" for error in frame["lean_std_error"]]
    assert heads.count("± (90 %)") == 2


# ---- scores that move -----------------------------------------------------------------------------------------------


def moving(count=3, m=120, **options):
    votes = told(count, m, covariates=None, covariate_names=None)
    with thin_data():
        return DynamicBradleyTerry(**{"drift": 0.1, "sd": 1.0} | options).fit(votes)


def test_the_first_eight_curves_are_drawn_and_all_are_in_the_table():
    model = moving(10, 300)
    order = list(model.ranking_.order)
    parts = report_time.over_time(model, order, 0.9, "points")
    caption = "The score of each item over time. The first 8 of 10 are drawn here; all are in the table below."
    assert parts[2] == f'<p class="soft">{caption}</p>'
    drawn = [name for name in order if f">{name}<" in parts[3].split('<svg class="narrow"')[0]]
    assert drawn == order[:8]
    assert f'aria-label="{caption}"' in parts[3]
    assert "".join(parts).count("<figure>") == 10
    _, rows = texts(parts[-2] + parts[-1])
    assert [row[0] for row in rows] == order


def test_no_table_is_promised_where_scores_stand_still():
    model = moving(10, 300, drift=0)
    parts = report_time.over_time(model, list(model.ranking_.order), 0.9, "points")
    assert "<table" not in "".join(parts)
    caption = "The score of each item over time. The first 8 of 10 are drawn here."
    assert parts[2] == f'<p class="soft">{caption}</p>'
    assert f'aria-label="{caption}"' in parts[3]


@pytest.mark.parametrize(
    ("count", "level", "in_picture", "own"), [(1, 0.9, True, False), (1, None, False, False), (3, 0.9, False, True)]
)
def test_one_curve_has_its_band_in_the_picture_and_several_a_picture_each(monkeypatch, count, level, in_picture, own):
    model = moving()
    asked = []
    monkeypatch.setattr(report_time, "curves", lambda frame, **more: asked.append((frame, more)))
    monkeypatch.setattr(report_time, "figure_of", lambda figure, name, label: f"<svg>{name}, {label}</svg>")
    order = list(model.ranking_.order)[:count]
    parts = report_time.over_time(model, order, level, "points")
    ((frame, more),) = asked
    assert more == {"bands": in_picture, "unit": "points", "title": " "}
    assert frame["item"].unique(maintain_order=True).to_list() == order
    assert frame.equals(model.curves(order, level=level or 0.95))
    assert ("<h2>Each with its 90 % band</h2>" in parts) == own
    assert parts[3] == "<svg>curves, The score of each item over time.</svg>"
    assert "<h2>The table over time</h2>" in parts


def test_of_exactly_eight_curves_all_are_drawn(monkeypatch):
    model = moving(8, 200)
    monkeypatch.setattr(report_time, "curves", lambda frame, **more: frame)
    monkeypatch.setattr(report_time, "figure_of", lambda frame, name, label: str(frame["item"].n_unique()))
    parts = report_time.over_time(model, list(model.ranking_.order), 0.9, "points")
    assert parts[2:4] == ['<p class="soft">The score of each item over time.</p>', "8"]


def test_forty_items_have_a_picture_of_their_own(monkeypatch):
    model = moving(6, 200)
    monkeypatch.setattr(report_time, "MAX_BANDS", 4)
    parts = report_time.over_time(model, list(model.ranking_.order), 0.9, "points")
    assert "".join(parts).count("<figure>") == 4
    assert any(part.endswith("The first 4 of 6.</p>") for part in parts)


def test_there_is_no_past_without_one_or_of_strangers():
    model = moving()
    assert report_time.over_time(model, [], 0.9, "points") == []
    assert report_time.over_time(model, ["nobody"], 0.9, "points") == []
    assert report_time.over_time(BradleyTerry(), ["i0"], 0.9, "points") == []
    votes = told(3, 60, covariates=None, covariate_names=None, time=np.ones(60))
    with thin_data():
        at_once = DynamicBradleyTerry(drift=0.1, sd=1.0).fit(votes)
    assert report_time.over_time(at_once, list(at_once.ranking_.order), 0.9, "points") == []


def test_how_fast_scores_move_in_a_sentence():
    unit = 400 / np.log(10)
    model = moving(scale="elo")
    first, last = model.times_
    speed, whole = unit * 0.1, unit * 0.1 * (last - first) ** 0.5
    said = f"Scores move by about {speed:.3g} Elo points in one unit of time, {whole:.3g} from first to last."
    assert report_time._drift(model, False, "vote") == said
    assert report_time._drift(model, True, "vote") == said.replace("in one unit of time", "a day")
    still = moving(drift=0.0)
    assert report_time._drift(still, False, "vote") == "Drift was set to 0: each item has one score at all times."
    found = types.SimpleNamespace(drift="auto", drift_=0.0, ranking_=still.ranking_)
    assert report_time._drift(found, False, "game") == (
        "The games do not show that scores moved, so each has one score at all times; intervals and bands allow for "
        "the drifts that they cannot rule out, and are wider for it (drift set to 0 holds scores still)."
    )


@pytest.mark.parametrize("scale", ["log-odds", "elo"])
def test_the_table_over_time_is_the_rank_among_those_compared_by_then(scale):
    model = moving(4, 120, scale=scale)
    order = list(model.ranking_.order)
    parts = report_time._table(model, order, "vote")
    frame = model.curves(points=6)
    times = sorted(set(frame["time"]))
    heads, rows = texts(parts[-2] + parts[-1])
    assert heads == ["Item", *(f"{time:.6g}" for time in times)]
    assert len(times) == 6
    digits = 2 if scale == "log-odds" else 0
    for row, item in zip(rows, order, strict=True):
        for cell, time in zip(row[1:], times, strict=True):
            now = {r["item"]: r["score"] for r in frame.filter(pl.col("time") == time).to_dicts()}
            rank = 1 + sum(score > now[item] for score in now.values())
            assert cell == f"{rank}{now[item]:.{digits}f}".replace("-", "−")
    kinds = re.findall(r'<th class="([^"]+)">', parts[-2])
    assert kinds == ["n wide", "n"] * 3, "the last stays on a phone, and every other before it"
    assert "left out of these ranks" not in parts[1]
    part = report_time._table(model, order[:2], "vote")
    assert [row[0] for row in texts(part[-2] + part[-1])[1]] == order[:2]
    for short, whole in zip(texts(part[-2] + part[-1])[1], rows, strict=False):
        assert short == whole, "ranks are those among all"


def test_items_that_came_later_are_empty_before():
    votes = told(3, 60, covariates=None, covariate_names=None)
    late = Comparisons(
        ("i0", "i1", "i2", "late"),
        np.append(votes.left, 3).astype(np.int32), np.append(votes.right, 0).astype(np.int32),
        outcome=np.append(votes.outcome, 1).astype(np.int8), time=np.append(votes.time, 10.0),
    )  # fmt: skip
    with thin_data():
        model = DynamicBradleyTerry(drift=0.1, sd=1.0).fit(late)
    parts = report_time._table(model, list(model.ranking_.order), "game")
    row = next(row for row in texts(parts[-2] + parts[-1])[1] if row[0] == "late")
    assert row[1:-1] == [""] * 5
    assert row[-1][0] in "1234"
    assert re.search(r'<td class="item">late</td><td class="[^"]+" data-v=""></td>', parts[-1])


def test_days_are_written_as_they_are():
    from datetime import date, datetime

    assert report_time._day(3) == "3"
    assert report_time._day(0.1234567) == "0.123457"
    assert report_time._day(date(2026, 1, 2)) == "2026-01-02"
    assert report_time._day(datetime(2026, 1, 2)) == "2026-01-02"
    assert report_time._day(datetime(2026, 1, 2, 3, 4)) == "2026-01-02 03:04:00"


def test_bands_by_date_are_drawn_from_day_to_day():
    from datetime import date

    days = [date(2026, 1, 1), date(2026, 1, 3), date(2026, 1, 11)]
    rows = [("<a>", day, score, score - 1, score + 1) for day, score in zip(days, (0.0, 1.0, -2.0), strict=True)]
    frame = pl.DataFrame(rows[::-1], schema=["item", "time", "score", "lower", "upper"], orient="row")
    head, note, picture = report_time._bands(frame, 1, 0.95)
    assert "All from 2026-01-01 to 2026-01-11 and from −3 to 2; grey: the others.</p>" in note
    assert 'points="0.0,32.0 40.0,16.0 200.0,64.0"' in picture
    assert "<title>&lt;a&gt;: now −2</title>" in picture
    assert head == "<h2>Each with its 95 % band</h2>"


def test_games_with_ties_and_dates_row_by_row():
    model = moving(3, 120, ties="davidson")
    names = list(model.ranking_.items)
    last = model.times_[1]
    games = Comparisons(tuple(names), np.array([0, 1], dtype=np.int32), np.array([1, 2], dtype=np.int32),
                        time=np.array([last + 1, last + 2]), vote_is="game")  # fmt: skip
    parts = report_time.fixtures_of(model, games, None)
    heads, rows = texts("".join(parts))
    assert heads == ["When", "HomeAway", "Away", "Home wins", "Tie", "Away wins", "Chances"]  # on a phone in one column
    chances = model.predict_proba(games)
    for k, row in enumerate(rows):
        when = f"{last + 1 + k:.6g}"
        shares = [f"{100 * share:.0f} %" for share in chances[k]]
        assert row == [when, f"{names[k]}{names[k + 1]}{when}", names[k + 1], *shares, ""]
    assert parts[1] == (
        '<p class="soft">The chance of each outcome by this model, as strengths may be at the date of the game.</p>'
    )
    with pytest.raises(InputError, match="fixtures need the fitted model too, which gives their chances; pass model"):
        report_time.fixtures_of("model", games)


# ---- boards ---------------------------------------------------------------------------------------------------------


def test_the_rail_of_a_board_spans_all_finite_ends():
    names = ("item", "rank", "score", "lower", "upper", "rank_lower", "rank_upper", "tier", "comparisons")
    rows = [("a", 1, 3.0, -np.inf, 4.0, 1, 2, 1, 5.0), ("b", 2, 2.0, 0.0, np.inf, 1, 2, 1, 5.0)]
    frame = pl.DataFrame([dict(zip(names, row, strict=True)) for row in rows])
    page = leaderboard(frame, 2, 9)
    assert re.findall(r'cx="([\d.]+)%"', page) == [f"{3 + 94 * 0.75:.2f}", "50.00"]
    assert re.findall(r'class="span" x="([\d.]+)%" width="([\d.]+)%"', page) == [("3.00", "94.00")] * 2
    assert re.findall(r'class="tip" x="(\d+)%" text-anchor="(\w+)"', page) == [("0", "start"), ("100", "end")]
    part = leaderboard(frame, 2, 1)
    assert re.findall(r'cx="([\d.]+)%"', part) == ["3.00"], "of the rows that are shown"


def test_a_board_of_rows_has_links_to_its_rows_alone_where_it_is_the_pages_own():
    votes, model = fitted()
    page = str(Report(model.ranking_, votes, beside=Beside(by="x", parts={"y": (model.ranking_, votes)})))
    assert len(re.findall(r'<tr id="item-a"', page)) == 1
    assert page.count('href="#item-a"') == 1


# ---- limits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "together"), [(8, False), (9, True)])
def test_up_to_eight_parts_are_listed_at_once(count, together):
    votes, model = fitted()
    beside = Beside(by="town", parts={str(k): (model.ranking_, votes) for k in range(count)})
    parts = Report(model.ranking_, votes, beside=beside)._parts(9)
    assert (parts[0] == "<details><summary>Each town on its own</summary>") == together


@pytest.mark.parametrize(("count", "said"), [(1000, ""), (1001, "… and 1 more fixture.")])
def test_a_thousand_games_to_come_are_listed(count, said):
    votes, model = fitted()
    left = np.arange(count, dtype=np.int32) % 3
    page = "".join(report_time.fixtures_of(model, Comparisons(votes.items, left, (left + 1) % 3)))
    assert page.count('<td class="wide"><svg') == 1000
    assert re.findall(r"… and [^<]*", page) == ([said] if said else [])


@pytest.mark.parametrize(("count", "known"), [(500, True), (501, False)])
def test_every_two_of_five_hundred_items_are_looked_at(count, known):
    with thin_data():
        model = BradleyTerry().fit(votes := told(time=None))
    share = report_pairs._expected(votes, [f"i{k}" for k in range(count)], model)
    assert (share is not None) == known


def test_forty_curves_of_forty_one_have_a_picture_each(monkeypatch):
    monkeypatch.setattr(report_time, "curves", lambda frame, **more: frame)
    monkeypatch.setattr(report_time, "figure_of", lambda frame, name, label: "")
    rows = [(f"i{k}", t, float(k), k - 1.0, k + 1.0) for k in range(41) for t in (1, 2)]
    frame = pl.DataFrame(rows, schema=["item", "time", "score", "lower", "upper"], orient="row")
    asked = []

    class Moving(DynamicBradleyTerry):
        times_, unseen_, drift_, ranking_ = (0.0, 1.0), (), 0.0, Ranking([f"i{k}" for k in range(41)], -np.arange(41.0))

        def curves(self, items=None, **more):
            asked.append(list(items))
            return frame.filter(frame["item"].is_in(items))

    parts = report_time.over_time(Moving(drift=0.0), [f"i{k}" for k in range(41)], 0.9, "points")
    assert asked == [[f"i{k}" for k in range(40)]]
    assert "".join(parts).count("<figure>") == 40
    assert any("The first 40 of 41." in part for part in parts)
