"""Scores that move, on the page: curves, the table at a few dates, and the chances of games to come."""

import dataclasses
import re
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from podium import BradleyTerry, Comparisons, DynamicBradleyTerry
from podium.data.files import read_comparisons, read_fixtures
from podium.errors import InputError
from podium.evaluate.diagnosis import score_history
from podium.show.report import Report

from suites.browser import on_each_screen
from suites.pages import Reader


@pytest.fixture(scope="module")
def season(tmp_path_factory):
    """Games of five teams of whom one climbs, and the games that are left."""
    folder, rng = tmp_path_factory.mktemp("season"), np.random.default_rng(5)
    lines, teams = ["date,home,away,home_goals,away_goals"], ["<Ajax>", "Brugge", "Celtic", "Dynamo", "Espanyol"]
    for k in range(120):
        one, other = rng.permutation(5)[:2]
        gap = 0.4 * (other - one) + (3 * k / 120) * ((one == 4) * 1.0 - (other == 4) * 1.0)
        goals = rng.poisson(np.exp(0.2 + gap / 2)), rng.poisson(np.exp(0.2 - gap / 2))
        day = np.datetime64("2026-01-01") + 2 * k
        lines.append(f"{day},{teams[one]},{teams[other]},{goals[0]},{goals[1]}")
    (folder / "season.csv").write_text("\n".join(lines) + "\n")
    (folder / "left.csv").write_text("date,home,away\n2026-09-01,<Ajax>,Espanyol\n2026-09-05,Brugge,Celtic\n")
    return folder


@pytest.fixture(scope="module")
def model(season):
    votes = read_comparisons(season / "season.csv", time="date", keep="rows")
    return DynamicBradleyTerry(drift=0.1, sd=1.0, ties="davidson", side_effect=True).fit(votes), votes


def rows(page, after):
    body = re.search(r"<tbody>(.*?)</tbody>", page[page.index(after) :], flags=re.DOTALL)[1]
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", body)]


def test_the_last_column_is_the_leaderboard_and_the_first_is_of_the_first_days(model):
    fitted, votes = model
    page = str(Report(fitted.ranking_, votes, model=fitted))
    Reader(page)
    assert '<p class="soft">The score of each item over time.' in page
    days = fitted.times_[1] - fitted.times_[0]
    assert f"<p>Scores move by about 0.1 log-odds a day, {0.1 * days**0.5:.3g} from first to last.</p>" in page
    table = {
        row[0]: [int(re.search(r"\d+", cell)[0]) if cell else None for cell in row[1:]]
        for row in rows(page, "The table over time")
    }
    assert list(table) == [name.replace("<", "&lt;").replace(">", "&gt;") for name in fitted.ranking_.order]
    assert [ranks[-1] for ranks in table.values()] == sorted(fitted.ranking_.ranks.tolist())
    early = fitted.curves(points=6)
    first = early.filter(pl.col("time") == early["time"].min()).sort("score", descending=True)["item"].to_list()
    names = [name.replace("&lt;", "<").replace("&gt;", ">") for name, ranks in table.items() if ranks[0] == 1]
    assert names == first[:1]
    assert sum(ranks[0] is None for ranks in table.values()) == 3, "on the first day two of five have played"
    assert table["Espanyol"][1] > table["Espanyol"][-1], "the one that climbs"


def test_every_item_has_a_picture_of_its_curve_in_its_band(model):
    fitted, votes = model
    page = str(Report(fitted.ranking_, votes, model=fitted, level=0.8))
    assert "<h2>Each with its 80 % band</h2>" in page
    frame = fitted.curves(level=0.8)
    low, high = frame["lower"].min(), frame["upper"].max()
    pictures = re.findall(r"<figcaption><i>(\d+)</i> (.*?)</figcaption>(.*?)</figure>", page)
    assert [int(place) for place, _, _ in pictures] == [1, 2, 3, 4, 5]
    for item, (_, name, drawn) in zip(fitted.ranking_.order, pictures, strict=True):
        assert name == item.replace("<", "&lt;").replace(">", "&gt;")
        part = frame.filter(pl.col("item") == item).sort("time")
        band, line = re.search(r'<polygon points="(.*?)"/><polyline [^>]*points="(.*?)"/></svg>', drawn).groups()
        up = [high - (high - low) * float(point.split(",")[1]) / 80 for point in [*line.split(), *band.split()]]
        assert up[: len(part)] == pytest.approx(part["score"].to_list(), abs=0.01)
        assert up[len(part) :] == pytest.approx([*part["upper"], *part["lower"].reverse()], abs=0.01)
    assert "band</h2>" not in str(Report(fitted.ranking_, votes, model=fitted, level=None))


def test_games_to_come_have_the_chances_of_predict_proba(model, season):
    fitted, votes = model
    fixtures = read_fixtures(season / "left.csv", time="date")
    page = str(Report(fitted.ranking_, votes, model=fitted, fixtures=fixtures))
    Reader(page)
    assert "small: where it may lie, with 95 % confidence" in page
    chances, bounds = fitted.predict_proba(fixtures), np.stack(fitted.predict_interval(fixtures, 0.95), axis=2)
    for row, (win, tie, loss), ends, day in zip(
        rows(page, "<h2>Games to come"), chances, 100 * bounds, ["2026-09-01", "2026-09-05"], strict=True
    ):
        assert row[0] == day
        small = [f"<small>{low:.0f} … {high:.0f}</small>" for low, high in ends]
        assert row[3:6] == [f"{100 * share:.0f} %{end}" for share, end in zip((win, tie, loss), small, strict=True)]
        widths = [float(width) for width in re.findall(r' width="([\d.]+)%"', row[6])]
        assert widths == pytest.approx([100 * win, 100 * tie, 100 * loss], abs=0.01)


def heads(page, after):
    head = re.search(r"<thead>(.*?)</thead>", page[page.index(after) :], flags=re.DOTALL)[1]
    return [re.sub("<span.*", "", text) for text in re.findall(r"<th[^>]*>(.*?)</th>", head)]


def test_games_are_called_so_and_sides_by_where_they_play(model, season):
    """The same rows under the names left and right are votes."""
    fitted, games = model
    fixtures = read_fixtures(season / "left.csv", time="date")
    page = str(Report(fitted.ranking_, games, model=fitted, fixtures=fixtures, history=score_history(games, points=4)))
    assert "given the games, the true score" in page
    assert "vote" not in re.sub(r"<style>.*?</style>|<script>.*?</script>|<[^>]*>", " ", page, flags=re.DOTALL)
    assert heads(page, "<table")[-1] == "Games"
    assert heads(page, "<h2>Games to come")[1:6] == ["Home", "Away", "Home wins", "Tie", "Away wins"]
    assert "<b>120</b> games" in page
    assert "Home advantage, in favour of the side at home" in page
    assert "Games that the row’s item won" in page
    for name in ("season", "left"):
        table = pl.read_csv(season / f"{name}.csv").rename({"home": "left", "away": "right"})
        if name == "season":  # goals would make it a game
            gap = pl.col("home_goals") - pl.col("away_goals")
            table = table.select("date", "left", "right", outcome=0.5 + gap.sign() / 2)
        table.write_csv(season / f"{name}-sides.csv")
    votes = read_comparisons(season / "season-sides.csv", time="date")
    plain = str(
        Report(fitted.ranking_, votes, model=fitted, fixtures=read_fixtures(season / "left-sides.csv", time="date"))
    )
    assert heads(plain, "<table")[-1] == "Votes"
    assert heads(plain, "<h2>Games to come")[1:6] == ["Left", "Right", "Left wins", "Tie", "Right wins"]
    assert "<b>120</b> votes" in plain


def test_on_a_phone_the_names_of_curves_are_seen_without_scrolling(model, tmp_path):
    fitted, games = model
    Report(fitted.ranking_, games, model=fitted, history=score_history(games, points=4)).write(tmp_path / "page.html")
    for width, page in on_each_screen(tmp_path / "page.html"):
        for tab in ("Over time", "Checks"):
            page.get_by_text(tab, exact=True).click()
            drawn = page.locator(".figure svg:visible")
            assert drawn.count() == 1
            for name in ("Brugge", "Espanyol"):
                box = drawn.get_by_text(name).bounding_box()
                assert box["x"] + box["width"] <= width, (name, tab)
                assert box["height"] > 9, "letters that can be read"


def test_on_a_phone_both_teams_of_a_game_to_come_and_its_chances_are_seen_and_no_name_is_broken(model, tmp_path):
    fitted, games = model
    long = [{"Brugge": "Mönchengladbach", "Celtic": "Wolverhampton Wanderers"}.get(item, item) for item in games.items]
    games = dataclasses.replace(games, items=tuple(long))
    fitted = fitted.unfitted().fit(games)
    fixtures = Comparisons.from_pairs([("Mönchengladbach", "Wolverhampton Wanderers")])
    Report(fitted.ranking_, games, model=fitted, fixtures=fixtures).write(tmp_path / "page.html")
    for width, page in on_each_screen(tmp_path / "page.html"):
        page.get_by_text("Games to come", exact=True).first.click()
        cells = page.locator("table.chances td:visible")
        for cell in cells.all():
            box = cell.bounding_box()
            assert box["x"] + box["width"] <= width
        assert "Wolverhampton Wanderers" in " ".join(" ".join(cells.all_inner_texts()).split())
        lines = page.locator("table.chances td.item").first.evaluate(
            "(cell) => { const range = document.createRange(); range.selectNode(cell.firstChild);"
            " return range.getClientRects().length; }"
        )
        assert lines == 1, "of one word"


def test_elo_counts_each_teams_games(season):
    command = ["rank", "season.csv", "--time", "date", "--method", "elo", "--report", "elo.html"]
    done = subprocess.run(
        [sys.executable, "-m", "podium", *command], cwd=season, capture_output=True, text=True, check=True
    )
    table = pl.read_csv(season / "season.csv")
    played = {row[0]: row[1] for row in pl.concat([table["home"], table["away"]]).value_counts().rows()}
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["rank", "item", "score", "games"]
    assert {line.split()[1]: int(line.split()[3]) for line in lines} == played
    assert done.stderr.startswith("120 games on 5 items, elo")
    page = (season / "elo.html").read_text()
    assert heads(page, "<table")[-1] == "Games"
    assert [int(row[-1]) for row in rows(page, "<table")] == [played[line.split()[1]] for line in lines]


def test_the_command_gives_the_same_chances_as_predict(season):
    fit = ["rank", "season.csv", "--time", "date", "--method", "dynamic", "--ties", "davidson"]
    more = ["--save", "m.podium", "--report", "page.html", "--fixtures", "left.csv"]
    ask = ["predict", "left.csv", "--model", "m.podium", "--time", "date", "-o", "chances.csv"]
    for command in ([*fit, *more], ask):
        done = subprocess.run([sys.executable, "-m", "podium", *command], cwd=season, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    predicted = pl.read_csv(season / "chances.csv")
    told = rows((season / "page.html").read_text(), "<h2>Games to come")
    assert [row[3] for row in told] == [
        f"{100 * row['win']:.0f} %<small>{100 * row['win_lower']:.0f} … {100 * row['win_upper']:.0f}</small>"
        for row in predicted.iter_rows(named=True)
    ]


def test_fixtures_without_dates_are_told_at_the_last_date_and_bad_ones_name_their_file(season):
    fit = ["rank", "season.csv", "--time", "date", "--method", "dynamic", "--report", "undated.html", "--fixtures"]
    (season / "undated.csv").write_text("home,away\nBrugge,Celtic\n")
    (season / "strange.csv").write_text("home,away\nBrugge,Celtic\nBrugge,Nowhere\n")
    (season / "empty.csv").write_text("home\nBrugge\n")
    ends = [
        subprocess.run([sys.executable, "-m", "podium", *fit, name], cwd=season, capture_output=True, text=True)
        for name in ("undated.csv", "strange.csv", "empty.csv")
    ]
    assert [done.returncode for done in ends] == [0, 0, 2]
    assert "as strengths were at the last date" in (season / "undated.html").read_text()
    assert "strange.csv, row 2: 'Nowhere' is not in the model; its chances are left empty" in ends[1].stderr
    assert "empty.csv: " in ends[2].stderr.splitlines()[-1]
    (season / "wrong.csv").write_text("date,home,away,home_goals,away_goals\n2026-01-01,Brugge,Brugge,1,0\n")
    command = [sys.executable, "-m", "podium", "rank", "wrong.csv", *fit[2:], "empty.csv"]
    done = subprocess.run(command, cwd=season, capture_output=True, text=True)
    assert "empty.csv: " in done.stderr, "before any vote is read"


def test_a_team_nobody_knows_is_named_with_its_row(model):
    fitted, votes = model
    fixtures = Comparisons.from_pairs([("Brugge", "Celtic"), ("Brugge", "<Stranger>")])
    page = str(Report(fitted.ranking_, votes, model=fitted, fixtures=fixtures))
    Reader(page)
    assert "Row 2: &#x27;&lt;Stranger&gt;&#x27; is not in the model; its chances are left empty." in page
    known, strange = rows(page, "<h2>Games to come")
    assert " %<small>" in known[2]
    plain = rows(str(Report(fitted.ranking_, votes, model=fitted, fixtures=fixtures, level=None)), "<h2>Games to come")
    assert plain[0][2].endswith(" %")
    assert strange[2:] == [""] * len(known[2:])
    with pytest.raises(InputError, match="fixtures need the fitted model"):
        str(Report(fitted.ranking_, votes, fixtures=fixtures))


def test_scores_that_stand_still_get_no_curves():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("a", "b")])
    fitted = BradleyTerry().fit(votes)
    assert "over time" not in str(Report(fitted.ranking_, votes, model=fitted))
