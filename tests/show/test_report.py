"""The report: what it says, that it is one safe file, and how a browser shows it."""

import re
import subprocess
import sys
from base64 import b64decode

import numpy as np
import pytest

from podium import BradleyTerry, Comparisons, Rankings, WinRate
from podium.errors import InputError
from podium.evaluate.diagnosis import diagnose, score_history
from podium.show.report import Report, check_path, vote_summary
from podium.show.report_look import SCRIPT
from podium.show.report_parts import Beside, anchors, listings

from helpers import simulate, thin_data
from suites.browser import FLAGS, browser_path, on_each_screen
from suites.pages import Reader


def full_report(names, m=600):
    winner, loser, _ = simulate(len(names), m, np.random.default_rng(4))
    judge = np.random.default_rng(0).integers(0, 5, len(winner))
    votes = Comparisons.from_arrays(winner, loser, items=names, judge=judge)
    with thin_data():
        ranking = BradleyTerry().fit(votes).ranking_
        return Report(
            ranking,
            votes,
            title="Models & <more>",
            command="podium rank 'a b.csv' --title '<x>'",
            warnings=("watch <out>",),
            diagnosis=diagnose(votes, replicates=9, splits=2),
            history=score_history(votes),
        )


NASTY = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "a & b", "日本語", "plain", "x" * 200]


def test_the_page_is_one_closed_file_without_addresses_and_names_are_text():
    page = str(full_report(NASTY))
    reader = Reader(page)
    assert not {"img", "iframe", "link", "object", "embed"} & set(reader.tags)
    assert reader.tags.count("script") == 1, "our own, which holds no data"
    assert f"<script>{SCRIPT}</script>" in page
    kinds = ("#", "data:image/png", "data:image/svg+xml;base64,", "data:text/csv;base64,")
    assert all(address.startswith(kinds) for address in reader.addresses)
    assert "url(http" not in page
    assert "@import" not in page
    text = "".join(reader.words)
    for name in NASTY:
        assert name in text


def test_the_page_tells_the_leaderboard_the_data_and_how_to_make_it_again():
    report = full_report(["a", "b", "c", "d"])
    text = "".join(Reader(str(report)).words)
    for said in (
        "Models & <more>", "Watch <out>.", "600 votes 4 items", "Bars are 95 % confidence intervals",
            "relative to the mean score", "Split-half reliability",
        "6 of 6 (100 %)", "podium rank 'a b.csv' --title '<x>'", "Scores as votes came in", "Who beat whom",
    ):  # fmt: skip
        assert said in text
    rows = re.findall(r'<tr id="item-[a-d]"[^>]*><td class="n">\d</td><td class="item">([a-d])<a', str(report))
    assert rows == list(report.ranking.order)


def test_intervals_without_an_end_are_arrows_and_said():
    votes = Comparisons.from_pairs([("top", "a"), ("a", "b"), ("b", "a"), ("top", "b")])
    with thin_data():
        page = str(Report(BradleyTerry().fit(votes).ranking_, votes))
    assert "▸" in page
    assert "… ∞" in page
    assert "does not end" in page


def test_a_method_without_intervals_says_so():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "c")])
    page = str(Report(WinRate().fit(votes).ranking_, votes, method="win-rate"))
    assert "scores without intervals" in page
    assert "Bars are" not in page


def test_a_clear_winner_is_called_one():
    votes = Comparisons.from_pairs([("a", "b")] * 90 + [("b", "a")] * 10 + [("b", "c")] * 50 + [("c", "b")] * 50)
    assert "<b>a</b> leads, significantly above every other item (95 %)" in str(
        Report(BradleyTerry().fit(votes).ranking_, votes)
    )


def test_the_summary_counts():
    votes = Comparisons.from_arrays(["a", "b", "x"], ["b", "a", "y"], tie=[1, 0, 0], judge=["j", "k", "j"])
    told = vote_summary(votes)
    assert told["Votes"] == "3"
    assert told["Ties"] == "33.3 %"
    assert told["Pairs compared"] == "2 of 6 (33.3 %)"
    assert told["Connected"].startswith("no: 2 groups")
    assert told["Judges"] == "2"


def test_bad_paths_are_refused_before_any_work(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.html"):
        check_path(tmp_path / "page.pdf")
    with pytest.raises(InputError, match=r"there is no folder '.*nowhere'"):
        check_path(tmp_path / "nowhere" / "page.html")


SIZES = """<iframe src="page.html" style="width:{width}px;height:6000px;border:0" onload="
  const page = this.contentDocument.documentElement;
  document.title = page.scrollWidth + ' ' + getComputedStyle(page.querySelector('.wide')).display"></iframe>"""


@pytest.mark.parametrize(("width", "wide"), [(1280, "table-cell"), (360, "none")])
def test_the_page_fits_a_desk_and_a_phone(tmp_path, width, wide):
    found = browser_path()
    full_report(NASTY).write(tmp_path / "page.html")
    (tmp_path / "frame.html").write_text(SIZES.format(width=width))
    command = [found, "--headless", *FLAGS, "--allow-file-access-from-files"]
    command += [f"--user-data-dir={tmp_path / 'profile'}", "--virtual-time-budget=3000", "--dump-dom"]
    seen = subprocess.run([*command, f"file://{tmp_path}/frame.html"], capture_output=True, text=True, timeout=120)
    title = re.search(r"<title>(\d+) ([\w-]+)</title>", seen.stdout)
    assert title, seen.stderr[-500:]
    assert int(title[1]) <= width
    assert title[2] == wide


def test_a_report_from_the_command_line_escapes_and_reproduces(tmp_path):
    (tmp_path / "votes.csv").write_text("winner,loser\n<i>a</i>,b\nb,<i>a</i>\n<i>a</i>,b\n")
    command = [sys.executable, "-m", "podium", "rank", "votes.csv", "--report", "out.html", "--plot", "out.png"]
    done = subprocess.run([*command, "--title", "A & B"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out.html").read_text()
    assert "<i>a</i>" not in page
    assert "podium rank votes.csv --report out.html --plot out.png --title &#x27;A &amp; B&#x27;" in page
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--plot", "a.gif"], "'.gif' is not a picture format; use .png, .svg or .pdf"),
        (["--plot", "no/a.png"], "there is no folder 'no'"),
        (["--report", "no/a.html"], "there is no folder 'no'"),
        (["--report", "a.txt"], "must end in .html"),
        (["--plot", "a.png", "--picture", "history", "--by", "loser"], "--plot holds one ranking"),
    ],
)
def test_bad_output_is_one_line_before_any_vote_is_read(tmp_path, options, message):
    command = [sys.executable, "-m", "podium", "rank", "missing.csv", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def grouped(tmp_path):
    """Votes of two groups in which the order is turned round, and an earlier leaderboard."""
    rng = np.random.default_rng(1)
    lines = ["winner,loser,town"]
    worth = {"a": 2.0, "b": 1.0, "c": 0.0, "<d>": -1.0}
    for town, sign in (("north & south", 1), ("west", -1)):
        for _ in range(300):
            one, other = rng.permutation(list(worth))[:2]
            better = rng.random() < 1 / (1 + np.exp(-sign * (worth[one] - worth[other])))
            lines.append(",".join([*((one, other) if better else (other, one)), town]))
    (tmp_path / "votes.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "last.csv").write_text("item,score\nb,3\na,2\nc,1\n")


def test_groups_stand_side_by_side_with_what_moved_since_last_time(tmp_path):
    grouped(tmp_path)
    command = [sys.executable, "-m", "podium", "rank", "votes.csv", "--by", "town", "--report", "p.html"]
    done = subprocess.run([*command, "--since", "last.csv"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "p.html").read_text()
    Reader(page)
    ranks = {
        row[0]: row[1:]
        for row in (re.findall(r"<td class=\"item\">(.*?)</td>|data-v=\"(\d)\"><span", each) for each in
            re.findall(r"<tr>(.*?)</tr>", page[page.index("Ranks by town"):page.index("<details")]))
        if row
        for row in [[name or rank for name, rank in row]]
    }  # fmt: skip
    towns = re.findall(r"<th>([^<]*)<small>300 votes", page)
    assert set(towns) == {"north &amp; south", "west"}
    north, west = 1 + towns.index("north &amp; south"), 1 + towns.index("west")
    assert [ranks[item][north] for item in ("a", "b", "c", "&lt;d&gt;")] == ["1", "2", "3", "4"]
    assert [ranks[item][west] for item in ("a", "b", "c", "&lt;d&gt;")] == ["4", "3", "2", "1"]
    overall = {item: int(ranks[item][0]) for item in ("a", "b", "c")}
    for item, old in (("b", 1), ("a", 2), ("c", 3)):
        row = re.search(rf'<tr id="item-{item}".*?</tr>', page)[0]
        moved = old - overall[item]
        assert (f">{'▲' if moved > 0 else '▼'} {abs(moved)}<" in row) if moved else (">–<" in row)
    assert '<tr id="item-d"' in page
    assert ">new</td>" in re.search(r'<tr id="item-d".*?</tr>', page)[0]
    assert page.count("<details") == 2 + 1, "each town's leaderboard, and the pairs as a table"


def test_the_rank_without_style_is_that_of_a_fit_without_it(tmp_path):
    rng = np.random.default_rng(2)
    left, right = rng.integers(0, 4, 800), rng.integers(1, 4, 800)
    right = (left + right) % 4
    style = rng.normal(0, 1, 800) + np.array([0.0, 3.0, 0.0, 0.0])[left] - np.array([0.0, 3.0, 0.0, 0.0])[right]
    worth = np.array([1.0, 0.5, 0.0, -0.5])
    won = rng.random(800) < 1 / (1 + np.exp(-(worth[left] - worth[right] + style)))
    rows = [f"{'abcd'[a]},{'abcd'[b]},{int(w)},{s:.4f}" for a, b, w, s in zip(left, right, won, style, strict=True)]
    (tmp_path / "v.csv").write_text("left,right,outcome,style\n" + "\n".join(rows) + "\n")
    command = [sys.executable, "-m", "podium", "rank", "v.csv", "--covariates", "style", "--report", "p.html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "p.html").read_text()
    plain = BradleyTerry().fit(Comparisons.from_arrays(
        ["abcd"[a] if w else "abcd"[b] for a, b, w in zip(left, right, won, strict=True)],
        ["abcd"[b] if w else "abcd"[a] for a, b, w in zip(left, right, won, strict=True)],
    )).ranking_  # fmt: skip
    assert plain.order[0] == "b", "the one with style"
    for item, rank in zip(plain.items, plain.ranks, strict=True):
        row = re.search(rf'<tr id="item-{item}".*?</tr>', page)[0]
        assert re.findall(r'<td class="n wide" data-v="(\d)">\d</td><td class="n wide"', row) == [str(rank)]
    board = page[page.index('<div class="card without-effects">') :]
    assert "Style left in" in board
    assert tuple(re.findall(r'<td class="item">(\w)<', board[: board.index("</table>")])) == plain.order
    assert 'id="effects" checked>Style taken out' in page
    assert '<p class="lead with-effects"><b>a</b> leads' in page
    assert '<p class="lead without-effects">Style left in: <b>b</b> leads' in page, "the sentence goes with its table"
    assert "the rank with style left in" in page
    assert "position bias" not in page, "no side was asked for"
    for name, first in (("leaderboard", "a"), ("leaderboard-style-left-in", "b")):
        table = b64decode(re.search(rf'download="{name}.csv" href="data:text/csv;base64,([^"]+)"', page)[1]).decode()
        assert table.splitlines()[1].startswith(f"{first},")


def test_every_item_has_an_address_of_its_own():
    names = anchors(["a b", "a-b", "<b>", "日本", "", "!"])
    assert len(set(names.values())) == 6
    assert all(re.fullmatch(r"item-[\w-]+", name) for name in names.values())


@pytest.mark.parametrize(
    ("given", "message"),
    [({"by": "town"}, "go together"), ({"parts": {"a": ()}}, "go together")],
)
def test_parts_and_what_tells_them_apart_go_together(given, message):
    with pytest.raises(InputError, match=message):
        Beside(**given)


def test_the_table_can_be_sorted_and_searched_in_a_browser(tmp_path):
    path = browser_path()
    playwright = pytest.importorskip("playwright.sync_api")
    full_report([f"item {k}" for k in range(12)]).write(tmp_path / "page.html")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=path, args=list(FLAGS))
        page = browser.new_page()
        page.goto(f"file://{tmp_path}/page.html")
        board = page.locator("table.sortable").first
        scores = lambda: [float(v) for v in board.locator("td:nth-child(3)").evaluate_all(  # noqa: E731
            "cells => cells.map(cell => cell.dataset.v)")]  # fmt: skip
        assert scores() == sorted(scores(), reverse=True)
        board.get_by_role("button", name="Score").click()
        assert scores() == sorted(scores())
        board.locator("th", has_text="Item").click()  # in its middle, beside the word
        names = board.locator("tbody td.item").evaluate_all("cells => cells.map(cell => cell.firstChild.textContent)")
        assert names == sorted(f"item {k}" for k in range(12))
        page.get_by_label("Find an item").fill("item 11")
        assert board.locator("tbody tr:visible").count() == 1
        browser.close()


def test_a_capital_is_no_part_of_what_the_user_named():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("a", "b")])
    told = ("few votes", "language = sw, 2 votes on 3 items, is left out", "my column = x: no", "votes.csv: row 2", "β")
    page = str(Report(BradleyTerry().fit(votes).ranking_, votes, warnings=told))
    shown = re.findall(r'<p class="warn">(.*?)\.</p>', page)
    assert shown == ["Few votes", *told[1:4], "Β"]


def test_the_head_of_the_whole_stands_on_one_line_beside_many_groups(tmp_path):
    names = [f"group {k}" for k in range(40)]
    page = full_report(["a", "b", "c"], 60)
    beside = Beside(by="town", parts=dict.fromkeys(names, (page.ranking, page.comparisons)))
    Report(page.ranking, page.comparisons, beside=beside).write(tmp_path / "page.html")
    for _, shown in on_each_screen(tmp_path / "page.html"):
        shown.get_by_text("By town", exact=True).click()
        head = shown.locator(".ranks th", has_text="Overall").get_by_role("button")
        assert head.bounding_box()["height"] < 30, "one line"


def test_a_survey_says_how_often_each_was_first_and_listed():
    lists = Rankings.from_lists([["a", "b"], [["b", "a"], "c"], ["c"]], unranked="below", weight=[1.0, 2.0, 0.5])
    columns = listings(lists)
    assert {item: value for item, (_, value) in columns["First"].items()} == {"a": 3.0, "b": 2.0, "c": 0.5}
    assert {item: shown for item, (shown, _) in columns["Listed"].items()} == {"a": "3", "b": "3", "c": "2.5"}


def test_on_a_phone_what_columns_say_is_told_under_the_name():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("a", "b"), ("a", "<c>"), ("<c>", "b")])
    more = {"Mark": {"a": ("90", 90.0)}, "Mark from … to": {"a": ("80 … 95", 80.0)}, "Grade": {"a": ("<A>", 90.0)}}
    beside = Beside(before={"a": 2, "b": 1}, more=more)
    page = str(Report(BradleyTerry().fit(votes).ranking_, votes, beside=beside))
    row = re.search(r'<tr id="item-a".*?</tr>', page)[0]
    under = re.search(r'<small class="narrow">(.*?)</small>', row)[1]
    parts = re.findall(r"<span>(.*?)</span>(?= <span>|$)", under)
    assert re.fullmatch(r"ranks 1–\d", parts[0])
    assert "▲ 1" in parts[1]
    assert parts[2:] == ["mark 90 (80 … 95)", "grade &lt;A&gt;"]
