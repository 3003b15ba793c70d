"""What a report says in words, and its leaderboard cell by cell, against frames and votes made by hand."""

import math
import re
import types
from base64 import b64decode
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from podium import RABF, BradleyTerry, Comparisons, DynamicBradleyTerry, Elo, PlackettLuce, Ranking, Rankings
from podium.errors import InputError
from podium.show import feature_plots, plots, report, report_sections, report_time
from podium.show.embedded import MAX_ITEMS, embed, write_embed
from podium.show.report import Report, vote_summary
from podium.show.report_board import in_order, leaderboard
from podium.show.report_parts import Beside, listings

from helpers import thin_data

VOTES = Comparisons.from_pairs(
    [("a", "b")] * 7 + [("b", "a")] * 3 + [("b", "c")] * 6 + [("c", "b")] * 4 + [("c", "a")] * 2
)


def board(rows, **more):
    names = ("item", "rank", "score", "lower", "upper", "rank_lower", "rank_upper", "tier", "comparisons")
    frame = pl.DataFrame([dict(zip(names, row, strict=True)) for row in rows])
    return leaderboard(frame, 2, more.pop("most", 9), **more)


def cells(page):
    """Heads, and the text of every cell, row by row."""
    plain = re.compile(r"<svg.*?</svg>|<[^>]+>")
    heads = [plain.sub("", each) for each in re.findall(r"<th.*?</th>", page)]
    rows = [
        [plain.sub("", each) for each in re.findall(r"<td.*?</td>", row)]
        for row in re.findall(r"<tr.*?</tr>", page)[1:]
    ]
    return heads, rows


TWO = [("a", 1, 1.234, 0.5, 2.0, 1, 1, 1, 1200.0), ("b", 2, -1.0, -math.inf, 0.25, 2, 3, 2, 7.0)]


def test_a_leaderboard_cell_by_cell():
    heads, rows = cells(board(TWO))
    assert heads == ["Rank", "Item", "Score", "Interval", "From … to", "Ranks", "Votes"]
    assert rows == [
        ["1", "aranks 1–1", "1.23", "", "0.50 … 2.00", "1–1", "1,200"],
        ["2", "branks 2–3", "−1.00", "", "−∞ … 0.25", "2–3", "7"],
    ]
    assert '<tr class="first">' in board(TWO)
    assert board(TWO).count('class="first"') == 1
    assert "<caption>Mine</caption>" in board(TWO, name="Mine")
    assert "<caption>" not in board(TWO)
    assert "… and 1 more item below." in board(TWO, most=1)
    assert "below." not in board(TWO, most=2)
    assert cells(board(TWO, counted_as="Games"))[0][-1] == "Games"
    assert 'id="item-a"' in board(TWO, beside=Beside())
    assert "id=" not in board(TWO)


def test_tiers_that_are_not_in_order_have_a_column():
    mixed = [("a", 1, 2.0, 1.0, 3.0, 1, 2, 2, 9.0), ("b", 2, 1.0, -1.0, 3.0, 1, 2, 1, 9.0)]
    heads, rows = cells(board(mixed))
    assert heads == ["Rank", "Item", "Score", "Interval", "From … to", "Ranks", "Tier", "Votes"]
    assert [row[6] for row in rows] == ["2", "1"]
    assert "tier 2" in rows[0][1]
    assert (in_order([1, 1, 2]), in_order([2, 1]), in_order([1, None, 2])) == (True, False, True)


def test_a_leaderboard_without_intervals_or_votes():
    bare = [("a", 1, 2.0, None, None, None, None, None, None), ("b", 2, 1.0, None, None, None, None, None, None)]
    heads, rows = cells(board(bare))
    assert heads == ["Rank", "Item", "Score", "drawn"]
    assert rows == [["1", "a", "2.00", ""], ["2", "b", "1.00", ""]]


def test_what_moved_and_what_more_is_told_have_their_columns():
    beside = Beside(before={"a": 3}, more={"Mark": {"a": ("70", 70.0)}})
    heads, rows = cells(board(TWO, beside=beside))
    assert heads == ["Rank", "Item", "Score", "Interval", "From … to", "Ranks", "Moved", "Mark", "Votes"]
    assert [row[6:8] for row in rows] == [["▲ 2", "70"], ["new", ""]]
    assert "mark 70" in rows[0][1]
    assert "▲ 2" in rows[0][1]
    still = cells(board(TWO, beside=Beside(before={"a": 1, "b": 2})))[1]
    assert still[0][6] == "–"
    assert "–" not in still[0][1].replace("1–1", "")  # nothing is told under the name


# ---- the votes in words ---------------------------------------------------------------------------------------------


def test_votes_are_summed_up_as_counted_by_hand():
    assert vote_summary(VOTES) == {
        "Votes": "22",
        "Ties": "0.0 %",
        "Items compared": "3",
        "Votes per item": "12 to 20, median 12",
        "Pairs compared": "3 of 3 (100 %)",
        "Connected": "yes: every item was compared with every other, directly or through others",
    }
    frame = {
        "left": list("abcd"),
        "right": list("badc"),
        "outcome": [1, 0.5, 1, 0.5],
        "judge": list("xxyz"),
        "weight": [1.0, 2.0, 1.0, 2.5],
    }
    split = vote_summary(Comparisons.from_frame(frame, judge="judge", weight="weight"))
    assert split["Votes"] == "4, total weight 6.5"
    assert split["Ties"] == "69.2 %"
    assert split["Connected"] == "no: 2 groups of items were never compared with each other"
    assert split["Pairs compared"] == "2 of 6 (33.3 %)"
    assert split["Judges"] == "3"
    with pytest.raises(InputError, match="comparisons"):
        vote_summary(3)


def lead(rows, level=0.95, **ranking):
    made = types.SimpleNamespace(**{"information": 1} | ranking)
    return report._lead(made, pl.DataFrame(rows, schema=["item", "tier", "comparisons"], orient="row"), level)


def test_the_result_in_a_sentence():
    one = [("a", 1, 5.0), ("b", 2, 5.0), ("c", 2, 5.0)]
    assert lead(one) == "<b>a</b> leads, significantly above every other item (95 %)."
    assert lead(one, None) == "<b>a</b> leads. No confidence intervals were asked for."
    assert lead(one, information=None) == "<b>a</b> leads. This method gives scores without intervals."
    two = [("a", 1, 5.0), ("b", 1, 5.0), ("c", 2, 5.0)]
    assert lead(two) == "<b>a</b> leads, but <b>b</b> is not significantly below it (95 %)."
    assert lead(two[:2]) == "<b>a</b> leads, but <b>b</b> is not significantly below it (95 %)."
    every = [(name, 1, 5.0) for name in "abc"]
    assert lead(every) == "<b>a</b> leads, but no other item is significantly below it (95 %)."
    three = [*every, ("d", 2, 5.0)]
    assert lead(three) == "<b>a</b> leads, but <b>b</b> and <b>c</b> are not significantly below it (95 %)."
    many = [*((name, 1, 5.0) for name in "abcdefg"), ("z", 2, 1.0)]
    assert "<b>b</b>, <b>c</b>, <b>d</b>, <b>e</b> and 2 more are not" in lead(many)
    five = [*((name, 1, 5.0) for name in "abcde"), ("z", 2, 1.0)]
    assert "<b>b</b>, <b>c</b>, <b>d</b> and <b>e</b> are not" in lead(five)
    idle = [("a", 1, 0.0), ("b", 2, 5.0)]
    assert lead(idle).startswith("<b>a</b>, which has no votes yet, leads by its features, significantly")


def test_small_words():
    assert (report._strong("1,200 votes"), report._strong("12 % ties")) == ("<b>1,200</b> votes", "<b>12 %</b> ties")
    assert report._warned(["watch out.", "Watch out", "<b>"]) == [
        '<p class="warn">Watch out.</p>',
        '<p class="warn">&lt;b&gt;.</p>',
    ]
    told = [report._setting(value) for value in (("tea", 1500.0), True, False, 0.123456, 3, "auto")]
    assert told == ["tea = 1500", "yes", "no", "0.1235", "3", "auto"]
    assert report.listed({"a<": "b>"}) == "<dl><dt>a&lt;</dt><dd>b&gt;</dd></dl>"
    frame = Ranking(["a", "b"], [1.0, 0.0]).to_frame()
    assert report._digits(types.SimpleNamespace(unit=1.0), frame) == 2
    assert report._digits(types.SimpleNamespace(unit=173.7), frame) == 0


# ---- pages ----------------------------------------------------------------------------------------------------------


def plain(text):
    return re.sub(r"<[^>]+>", "", text)


def made(model=None, votes=VOTES, **more):
    fitted = (model or BradleyTerry()).fit(votes)
    return Report(fitted.ranking_, votes, model=fitted, **more)


def test_what_a_page_says_of_scores_and_intervals():
    page = made()
    (first, *_) = page._meaning(page.ranking.to_frame(0.95))
    assert first == "Scores are in log-odds."
    bars = page._meaning(page.ranking.to_frame(0.95))[1]
    assert "95 % " in bars
    assert "for each item on its own" in bars
    together = made(simultaneous=True)
    assert "for all items at once" in together._meaning(together.ranking.to_frame(0.95, True))[1]
    assert made(level=None)._meaning(page.ranking.to_frame(None)) == ["Scores are in log-odds."]
    scored = Report(Ranking(["a", "b"], [1.0, 0.0]), VOTES)
    assert not any(each.startswith("Scores are") for each in scored._meaning(scored.ranking.to_frame(0.95)))
    beside = Beside(before={"a": 1}, before_name="last.csv", more_note="Marks.", plain=page.ranking)
    told = made(beside=beside)._meaning(page.ranking.to_frame(0.95))
    assert "Marks." in told
    assert "Moved: places gained or lost since last.csv; new: not listed there." in told
    known = made(beside=Beside(before=dict.fromkeys(map(str, page.ranking.items), 1), before_name="last.csv"))
    assert known._meaning(page.ranking.to_frame(0.95))[-1] == "Moved: places gained or lost since last.csv."
    assert any(each.startswith("Without effects: the rank with") for each in told)


def test_facts_of_a_page():
    facts = [plain(each) for each in made()._facts()]
    assert facts == ["22 votes", "3 items", "95 % intervals"]
    frame = {
        "left": list("abca"),
        "right": list("bcab"),
        "outcome": [1, 0.5, 1, 0],
        "judge": list("xxyz"),
        "date": ["2026-01-01", "2026-01-02", "2026-03-01", "2026-01-05"],
    }
    votes = Comparisons.from_frame(frame, judge="judge", time="date")
    whole = [plain(each) for each in made(votes=votes, level=None)._facts()]
    assert whole == ["4 votes", "3 items", "3 judges", "25.0 % ties", "2026-01-01 to 2026-03-01"]
    idle = Report(Ranking(["a", "b", "c", "d"], [3.0, 2.0, 1.0, 0.0]), VOTES)
    assert "1 without votes" in [plain(each) for each in idle._facts()]
    parts = made(beside=Beside(by="language", parts={"en": (made().ranking, VOTES)}))
    assert "1 group by language" in [plain(each) for each in parts._facts()]
    same = Comparisons.from_frame(frame | {"date": ["2026-01-01"] * 4}, time="date")
    assert [plain(each) for each in made(votes=same)._facts()][-2] == "2026-01-01"


def test_the_leaderboard_with_effects_left_in_stands_beside_it():
    outcome = [1, 1, 0] * 7 + [0, 0, 1] * 3
    sided = Comparisons.from_frame({"left": list("abc") * 10, "right": list("bca") * 10, "outcome": outcome})
    model = BradleyTerry(side_effect=True)
    page = made(model, sided, beside=Beside(plain=BradleyTerry().fit(sided).ranking_))
    assert page._effects() == "Position bias"
    one, other = page._boards(page.ranking.to_frame(0.95), 9)
    assert "<caption>Position bias taken out</caption>" in one
    assert "<caption>Position bias left in</caption>" in other
    assert one.startswith('<div class="card with-effects">')
    assert other.startswith('<div class="card without-effects">')
    assert page._leads(page.ranking.to_frame(0.95))[1].startswith(
        '<p class="lead without-effects">Position bias left in: '
    )
    assert "Position bias taken out" in page._switch()
    names = re.findall(r'download="([^"]+)"', "".join(page._downloads(page.ranking.to_frame(0.95), 9)))
    assert names == [
        "leaderboard.svg",
        "leaderboard.csv",
        "leaderboard-position-bias-left-in.svg",
        "leaderboard-position-bias-left-in.csv",
    ]
    assert made()._switch() == ""
    assert len(made()._boards(page.ranking.to_frame(0.95), 9)) == 1


def test_parts_are_closed_and_many_of_them_together():
    ranking = made().ranking
    few = made(beside=Beside(by="by", parts={str(k): (ranking, VOTES) for k in range(report.MAX_OPEN_PARTS)}))._parts(9)
    assert len(few) == report.MAX_OPEN_PARTS
    assert few[0].startswith('<details class="card"><summary>by = <bdi>0</bdi>, 22 votes</summary>')
    many = made(
        beside=Beside(
            by="by",
            parts={str(k): (ranking, VOTES) for k in range(report.MAX_OPEN_PARTS + 1)},
            remarks={"0": ["thin."]},
        )
    )._parts(9)
    assert (many[0], many[-1]) == ("<details><summary>Each by on its own</summary>", "</details>")
    assert len(many) == report.MAX_OPEN_PARTS + 3
    assert '<p class="warn">Thin.</p>' in many[1]


def test_pages_that_cannot_be_are_refused_first():
    ranking = made().ranking
    for given, words in (
        ({"warnings": "one"}, "warnings must be a list of sentences"),
        ({"reliability": [3]}, "reliability must be a list"),
        ({"top": 0}, "top=0"),
        ({"min_votes": -1}, "min_votes=-1"),
        ({"simultaneous": 3}, "simultaneous=3"),
        ({"title": 3}, "title=3"),
        ({"model": 3}, "model"),
        ({"beside": 3}, "beside"),
        ({"fixtures": 3}, "fixtures"),
        ({"level": 2}, "level=2"),
        ({"history": 3}, "history"),
        ({"diagnosis": 3}, "diagnosis"),
        ({"fit": 3}, "fit"),
    ):
        with pytest.raises(InputError, match=words):
            Report(ranking, VOTES, **given)
    with pytest.raises(InputError, match="no item has so many votes; give less"):
        str(Report(ranking, VOTES, min_votes=99))
    page = str(Report(ranking, VOTES, min_votes=20))
    assert [row[1][0] for row in cells(page.partition("<table")[2].partition("</table>")[0])[1]] == ["b"]
    assert "To make this page again:" not in page
    assert "<pre>podium rank</pre>" in str(Report(ranking, VOTES, command="podium rank"))


def test_how_a_page_came_about():
    page = made(method="bradley-terry", simultaneous=True)
    lines = page._method()
    assert lines["Ranker"] == "bradley-terry"
    assert lines["Intervals"].startswith("95 % ")
    assert lines["Intervals"].endswith(", ranks of all items at once")
    assert "method:" not in lines["Settings"]
    assert "Intervals" not in made(level=None)._method()
    assert "Settings" not in Report(Ranking(["a", "b"], [1.0, 0.0]), VOTES)._method()
    assert made(Elo())._counted_as() == "Votes"


def test_coefficients_are_drawn_by_significance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    left, right = rng.integers(0, 12, 400), rng.integers(0, 12, 400)
    keep = left != right
    left, right = left[keep], right[keep]
    won = rng.random(len(left)) < 1 / (1 + np.exp(-2.0 * (X[left, 1] - X[right, 1])))
    pairs = [(f"i{a}", f"i{b}") if w else (f"i{b}", f"i{a}") for a, b, w in zip(left, right, won, strict=True)]
    model = RABF().fit(Comparisons.from_pairs(pairs), {f"i{k}": X[k].tolist() for k in range(12)})
    (ax,) = feature_plots.coefficients(model, level=0.9).axes
    labels = [each.get_text() for each in ax.get_yticklabels()]
    assert labels[0] == model.feature_names_[1]
    assert ax.get_ylim() == (-2 + 0.4, 0.6)
    assert ax.get_xlabel() == "change of score per one standard deviation\nof the feature, 90 % interval"
    plain_units = feature_plots.coefficients(model, standard=False).axes[0]
    assert plain_units.get_xlabel().startswith("change of score per one unit\nof the feature, 95 %")
    drawn = feature_plots.outliers(model).axes[0]
    shown = drawn.collections[0].get_offsets()
    scores, predicted = model.ranking_.scores, model.ranking_.scores - model.residuals_
    assert {tuple(np.round(each, 9)) for each in shown} <= {
        tuple(np.round(each, 9)) for each in zip(predicted, scores, strict=True)
    }
    assert (drawn.get_xlabel(), drawn.get_ylabel()) == (
        "score predicted by features alone",
        "score from features and votes",
    )
    names = [each.get_text() for each in drawn.get_legend().get_texts()]
    far = 12 - len(shown)
    assert names == ["within chance", "better or worse than predicted"][: 1 + bool(far)]
    assert len(drawn.texts) == far
    with pytest.raises(InputError, match="model must be a RABF, PlackettLuce or DynamicBradleyTerry"):
        feature_plots.coefficients(BradleyTerry().fit(VOTES))
    for other, kind in ((BradleyTerry().fit(VOTES), "BradleyTerry"), (3, "int")):
        with pytest.raises(InputError, match=f"a fitted RABF or PlackettLuce is expected, not a {kind}"):
            feature_plots.outliers(other)


def test_the_error_of_a_side_effect_is_the_model_s():
    rng = np.random.default_rng(2)
    left, right = rng.integers(0, 6, 300), rng.integers(0, 6, 300)
    keep = left != right
    left, right = left[keep], right[keep]
    won = rng.random(len(left)) < 1 / (1 + np.exp(-(0.5 + 0.3 * (right - left))))
    frame = {"left": [f"i{k}" for k in left], "right": [f"i{k}" for k in right], "outcome": won.astype(int)}
    votes = Comparisons.from_frame(frame)
    for model in (RABF(side_effect=True, residual_penalty=1.0, feature_penalty=1.0), BradleyTerry(side_effect=True)):
        fitted = model.fit(votes)
        (_, told) = report_sections.sections(fitted, 0.95, votes)[-2:]
        half = 1.959963984540054 * fitted.side_effect_std_error_
        assert f"the left side: {fitted.side_effect_:+.3g} ± {half:.2g} (95 %)" in told
        bare = report_sections.sections(fitted, None, votes)[-1]
        assert "±" not in bare


def test_games_to_come_are_listed_up_to_a_number(monkeypatch):
    model = BradleyTerry().fit(VOTES)
    games = Comparisons.from_frame({"left": list("abc"), "right": list("bca"), "outcome": [1, 1, 1]})
    whole = report_time.fixtures_of(model, games, None)
    assert "more fixture" not in "".join(whole)
    heads, rows = cells("".join(whole))
    assert heads == ["LeftRight", "Right", "Left wins", "Right wins", "Chances"]  # on a phone in one column
    chances = model.predict_proba(games)
    assert [row[:4] for row in rows] == [
        [one + other, other, f"{100 * chance[0]:.0f} %", f"{100 * chance[2]:.0f} %"]
        for one, other, chance in zip("abc", "bca", chances, strict=True)
    ]
    assert whole[1] == '<p class="soft">The chance of each outcome by this model.</p>'
    monkeypatch.setattr(report_time, "MAX_FIXTURES", 2)
    assert "… and 1 more fixture." in report_time.fixtures_of(model, games, None)[-1]
    monkeypatch.setattr(report_time, "MAX_FIXTURES", 3)
    assert "more fixture" not in "".join(report_time.fixtures_of(model, games, None))
    assert report_time.fixtures_of(model, None) == []
    with pytest.raises(InputError, match="fixtures need the fitted model too"):
        report_time.fixtures_of(None, games)
    strange = Comparisons.from_frame({"left": ["a", "a"], "right": ["b", "z"], "outcome": [1, 1]})
    _, (known, unknown) = cells("".join(report_time.fixtures_of(model, strange, None)))
    assert known[2:4] == [f"{100 * chances[0, k]:.0f} %" for k in (0, 2)]
    assert unknown == ["az", "z", "", "", ""]


def test_an_item_that_came_last_is_among_the_best_lines():
    scores = np.array([[0.0, math.nan], [1.0, 2.0]])
    figure = plots.history([1, 2], ["old", "new"], scores, top=1)
    assert [each.get_text() for each in figure.axes[0].texts] == ["new"]


@pytest.mark.parametrize("noun", ["vote", "game"])
def test_both_leaderboards_count_by_the_same_word_and_leave_out_the_same_items(noun):
    """With effects taken out and left in: items of fewer than 16 votes are in neither, those of exactly 16 in both."""
    outcome = [1, 1, 0] * 5 + [0, 0, 1] * 3
    frame = {"left": [*"abc" * 8, "a"], "right": [*"bca" * 8, "d"], "outcome": [*outcome, 1]}
    votes = replace(Comparisons.from_frame(frame), vote_is=noun)
    with thin_data():
        plain = BradleyTerry(scale="elo").fit(votes).ranking_
        page = made(BradleyTerry(side_effect=True), votes, beside=Beside(plain=plain), min_votes=16)
    whole = str(page)
    boards = page._boards(page.ranking.to_frame(0.95).filter(pl.col("comparisons") >= 16), 9)
    for text, digits in zip(boards, (2, 0), strict=True):  # log-odds, and the Elo scale
        heads, rows = cells(text)
        assert heads[-1] == f"{noun.capitalize()}s"
        assert sorted(row[1][0] for row in rows) == ["a", "b", "c"]
        assert {len(row[2].partition(".")[2]) for row in rows} == {digits}
    side = "home advantage" if noun == "game" else "position bias"
    assert f"{side.capitalize()} taken out" in whole
    assert f"{side} left in" in whole.lower()
    assert f"25</b> {noun}s" in whole


def test_a_page_is_what_its_defaults_say():
    ranking = made().ranking
    assert str(Report(ranking, VOTES)) == str(
        Report(ranking, VOTES, title="Leaderboard", method="bradley-terry", command=None, warnings=(), level=0.95,
               simultaneous=False, top=None, min_votes=0.0, diagnosis=None, history=None, fit=None, reliability=(),
               model=None, beside=Beside(), fixtures=None)
    )  # fmt: skip
    assert str(Report(ranking, VOTES)) != str(Report(ranking, VOTES, simultaneous=True))
    assert "To make this page again" not in str(Report(ranking, VOTES))
    assert "<pre>podium rank &lt;x&gt;</pre>" in str(Report(ranking, VOTES, command="podium rank <x>"))


@pytest.mark.parametrize(("count", "said"), [(40, False), (41, True)])
def test_more_than_forty_features_are_said_to_be_drawn_in_part(count, said):
    model = types.SimpleNamespace(
        feature_names_=tuple(f"f{k}" for k in range(count)), explained_=0.5, coef_=np.ones(count), unseen_=(),
        coef_std_errors_=np.ones(count), ranking_=types.SimpleNamespace(information=None, unit=1.0),
    )  # fmt: skip
    for level in (None, 0.95):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(feature_plots, "coefficients", lambda *args, **more: plots.calibration({"x": ([0.5],) * 4}))
            words = report_sections._features(model, level, "votes")[1]
        assert words.startswith("<p>Features explain about 50 % of the variance of the scores.")
        assert ("The 40 most significant are drawn." in words) == (said and level is not None)


@pytest.mark.parametrize("count", [8, 9])
def test_items_that_only_features_know_are_named_up_to_eight(count):
    ranking = types.SimpleNamespace(information=None, unit=1.0)
    model = types.SimpleNamespace(feature_names_=("x",), explained_=0.5, coef_=np.ones(1), coef_std_errors_=np.ones(1),
                                  unseen_=tuple(f"i{k}" for k in range(count)), ranking_=ranking)  # fmt: skip
    told = report_sections._features(model, None, "games")[-1]
    some = ", ".join(f"i{k}" for k in range(8)) + (", …" if count > 8 else "")
    assert told == f"<p>Ranked by features alone, without games: {some} ({count} in all).</p>"


@pytest.mark.parametrize(("p_value", "concern"), [(0.0499, True), (0.05, False), (0.6, False)])
def test_the_fit_of_rankings_is_a_sentence_and_the_pairs_that_fit_least(p_value, concern):
    fit = types.SimpleNamespace(statistic=12.3456, pairs=3, p_value=p_value)
    words = "one score for each item does not explain the rankings" if concern else "within chance"
    sentence = (
        "The order of two items differs from what their scores say by 12.35 (Pearson, 3 pairs): "
        f"{words} (p = {p_value:.2f})."
    )
    assert report.fit_words(fit) == (sentence, concern)
    title, told = report._fit(fit, None)
    assert title == "<h2>Can the ranking be trusted?</h2>"
    mark = ' class="warn"' if concern else ""
    assert told == f"<p{mark}><b>Fit.</b> {sentence}</p>"
    with thin_data():
        model = PlackettLuce().fit(Rankings.from_lists([list("abc"), list("bac"), list("cab"), list("abc")]))
    *_, note, table = report._fit(fit, model)
    assert note == '<p class="soft">Pairs that the scores explain least, in rankings:</p>'
    heads, rows = cells(table)
    assert heads == ["Item", "Against", "Above", "Expected", "Of"]
    expected = [
        [row["item"], row["against"], *(f"{row[name]:,.4g}" for name in ("above", "expected", "rankings"))]
        for row in model.pair_residuals().head(8).to_dicts()
    ]
    assert [[row[0], row[1], *row[2:]] for row in rows] == expected


def test_firsts_and_listings_are_counted_by_hand():
    lists = Rankings.from_lists([["a", "b"], [["b", "c"], "a"], ["c"]], unranked="below", weight=[1.0, 2.0, 0.5])
    found = listings(lists)
    assert {item: value for item, (_, value) in found["First"].items()} == {"a": 1.0, "b": 2.0, "c": 2.5}  # 2nd shared
    assert {item: value for item, (_, value) in found["Listed"].items()} == {"a": 3.0, "b": 3.0, "c": 2.5}
    assert found["First"]["c"][0] == "2.5"
    plain = listings(Rankings.from_lists([["a", "b"]] * 1200 + [["b"]], unranked="below"))
    assert plain == {
        "First": {"a": ("1,200", 1200.0), "b": ("1", 1.0)},
        "Listed": {"a": ("1,200", 1200.0), "b": ("1,201", 1201.0)},
    }


def test_chances_of_games_say_of_which_date_and_which_outcomes_they_are():
    times = Comparisons.from_arrays(list("abab"), list("babc"), time=np.arange(4.0))
    with thin_data():
        moving = DynamicBradleyTerry(drift=0.1, sd=1.0).fit(times)
    assert report_time._as_of(moving, [1.0]) == ", as strengths may be at the date of the game"
    assert report_time._as_of(moving, None) == ", as strengths were at the last date"
    assert report_time._as_of(BradleyTerry(), None) == ""

    def told(half, ties):
        return report_time._chances_of(
            types.SimpleNamespace(counts_ties_half_=half, uses=types.SimpleNamespace(ties=ties))
        )

    assert told(False, True) == "The chance of each outcome"
    assert "(fit it with <code>--ties davidson</code>" in told(True, True)
    assert "(fit one that models ties, as dynamic or bradley-terry with <code>" in told(True, False)
    assert told(True, True).endswith("The chance of a win plus half that of a tie")


def test_pages_and_pictures_are_written_where_they_can_be(tmp_path):
    write_embed(tmp_path / "board.svg", "<svg>té</svg>")
    assert (tmp_path / "board.svg").read_bytes() == "<svg>té</svg>".encode()
    for name in ("a.html", "a.HTM"):
        assert report.check_path(tmp_path / name) == tmp_path / name
    with pytest.raises(InputError, match=r"its name must end in \.html"):
        report.check_path(tmp_path / "a.svg")
    with pytest.raises(InputError, match="there is no folder"):
        report.check_path(tmp_path / "none" / "a.html")


def test_a_page_has_two_thousand_rows_and_counts_the_others():
    names = [f"i{k}" for k in range(2001)]
    votes = Comparisons.from_pairs([("i0", "i1"), ("i1", "i0")])
    page = str(Report(Ranking(names, -np.arange(2001.0)), votes))
    board = page.partition('<table class="board')[2].partition("</table>")[0]
    assert board.count('<td class="item">') == 2000
    assert "… and 1 more item below." in page
    assert "more item" not in str(Report(Ranking(names[:2000], -np.arange(2000.0)), votes))


@pytest.mark.parametrize(("text", "limits"), [
    (plots.intervals.__doc__, {"(or\n    600)": plots.MAX_ITEMS}),
    (plots.wins.__doc__, {"Up to 40": plots.MAX_NUMBERED_ITEMS}),
    (plots.history.__doc__, {"best eight": len(plots.LINES), "up\n    to 24": plots.MAX_NAMED_LINES}),
    (embed.__doc__, {"first ten": MAX_ITEMS}),
])  # fmt: skip
def test_limits_are_those_that_the_docstrings_name(text, limits):
    numbers = {"eight": 8, "ten": 10}
    for words, limit in limits.items():
        assert words in text
        number = words.split()[-1].strip(")")
        assert numbers.get(number) == limit or number == str(limit)


def test_a_picture_on_a_page_has_no_headline_beside_the_pages_own():
    rng = np.random.default_rng(0)
    left = rng.integers(0, 4, 120)
    right = (left + rng.integers(1, 4, 120)) % 4
    votes = Comparisons.from_arrays(left, right, items=list("abcd"), time=np.arange(120.0))
    with thin_data():
        moving = DynamicBradleyTerry(drift=0.05, sd=1.0).fit(votes)
        featured = RABF(feature_penalty=1.0, residual_penalty=1.0).fit(votes, **FEATURED)
    over = report_time.over_time(moving, list("abcd"), 0.9, "points", "vote")
    assert over[0] == "<h2>Scores over time</h2>"
    drawn = [part for part in over if "<svg class=" in part]
    assert len(drawn) == 1
    assert drawn[0].count("<svg class=") == 2  # at its width, and for a phone
    assert "Scores over time, 4 items" not in drawn[0]
    assert drawn[0].count(">points<") == 2
    assert "<h2>Each with its 90 % band</h2>" in over
    pictured = "".join(report_sections._features(featured, 0.95, "votes"))
    assert pictured.count("explain") == 1 + 2  # the page's sentence, and what a screen reader is told of each picture


FEATURED = {"features": pl.DataFrame({"item": list("abcd"), "size": [1.0, 2.0, 4.0, 3.0]}), "id": "item"}


def test_checks_of_a_fit_are_findings_and_the_eight_pairs_that_fit_least():
    finding = types.SimpleNamespace
    rows = [
        {"item": f"<{k}>", "against": "b", "won": 1234.5 + k, "expected": 0.123456, "votes": 2000.0} for k in range(9)
    ]
    told = [finding(name="Cycles", text="a few.", concern=True), finding(name="Fit", text="fine.", concern=False)]
    made_up = finding(against=None, findings=lambda: told, residuals=pl.DataFrame(rows), decided=None)
    title, warned, calm, note, *table = report._diagnosis(made_up, "games")
    assert title == "<h2>Can the ranking be trusted?</h2>"
    assert warned == '<p class="warn"><b>Cycles.</b> a few.</p>'
    assert calm == "<p ><b>Fit.</b> fine.</p>"
    assert note.startswith('<p class="soft">Pairs that the scores explain least:</p><table>')
    heads, found = cells(note + "".join(table))
    assert heads == ["Item", "Against", "Won", "Expected", "Games"]
    assert found == [[f"&lt;{k}&gt;", "b", f"{1234.5 + k:,.4g}", "0.1235", "2,000"] for k in range(8)]
    assert table[-1] == "</tbody></table>"
    decided = "".join(report._diagnosis(finding(**vars(made_up) | {"decided": pl.DataFrame(rows)}), "votes"))
    assert "explain least, of all votes (the largest residual is of the decided ones):" in decided
    other = report._diagnosis(finding(**vars(made_up) | {"against": "bradley-terry"}), "votes")
    words = "Residuals and p-values are those of bradley-terry on the same votes, not of this ranker."
    assert other[1] == f'<p class="soft">{words}</p>'


@pytest.mark.parametrize("level", [0.9, None])
def test_tables_of_effects_cell_by_cell(level):
    half = [] if level is None else ["± (90 %)"]
    width = [] if level is None else [f"{1.6448536 * 0.1:.2g}"]
    spread = report_sections._effects([("length", 0.25, 0.1)], "points", level, np.array([2.5]), "votes")[2]
    heads = ["Covariate", "Per standard deviation", *half, "Standard deviation"]
    assert cells(spread) == (heads, [["length", "+0.25", *width, "2.5"]])
    plain = report_sections._effects([("length", -0.25, 0.1)], "points", level, None, "votes")[2]
    assert cells(plain) == (["Covariate", "Per unit", *half], [["length", "-0.25", *width]])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"top": 2},
        {"min_votes": 12.5},
        {"level": 0.8},
        {"level": None},
        {"simultaneous": True},
        {"title": "Hot & cold"},
    ],
    ids=str,
)
def test_what_is_taken_along_follows_the_options_of_the_page(options):
    page = made(**options)
    taken = {
        name: b64decode(text).decode()
        for name, text in re.findall(r'download="([^"]+)" href="data:[^"]*base64,([^"]*)"', str(page))
    }
    assert taken["leaderboard.svg"] == embed(page.ranking, **{"title": "Leaderboard"} | options)
    table = pl.read_csv(taken["leaderboard.csv"].encode())
    frame = page.ranking.to_frame(options.get("level", 0.95), options.get("simultaneous", False))
    frame = frame.filter(frame["comparisons"] >= options.get("min_votes", 0)).head(options.get("top", 99))
    assert table["item"].to_list() == frame["item"].to_list()
    assert table["rank_upper"].to_list() == frame["rank_upper"].to_list()
    assert len(frame) == (2 if "top" in options else 1 if "min_votes" in options else 3)


def test_settings_and_warnings_in_small_words():
    told = [report._setting(value) for value in (("tea", 1000.0), True, False, 0.123456, "half", 3)]
    assert told == ["tea = 1000", "yes", "no", "0.1235", "half", "3"]
    assert report._warned(["thin data.", "thin data", "<b>"]) == [
        '<p class="warn">Thin data.</p>', '<p class="warn">&lt;b&gt;.</p>']  # fmt: skip
    assert report.listed({"a<": "b>"}) == "<dl><dt>a&lt;</dt><dd>b&gt;</dd></dl>"
