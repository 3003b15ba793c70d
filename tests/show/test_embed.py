"""The leaderboard as a picture for other pages: what it says, that it is one safe file, and how it is asked for."""

import re
import subprocess
import sys
from base64 import b64decode
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from podium import BradleyTerry, Comparisons, Ranking, WinRate
from podium.errors import InputError
from podium.show import embed
from podium.show.report import Report
from podium.text import width

from helpers import simulate, thin_data

SVG = "{http://www.w3.org/2000/svg}"


def words(picture):
    return [element.text for element in ElementTree.fromstring(picture).iter(f"{SVG}text")]


def fitted(n=14, m=400):
    winner, loser, _ = simulate(n, m, np.random.default_rng(3))
    votes = Comparisons.from_arrays(winner, loser, items=[f"<item {k}> & co" for k in range(n)])
    with thin_data():
        return BradleyTerry().fit(votes).ranking_, votes


def test_it_is_whole_xml_without_script_or_address_and_says_what_the_table_says():
    ranking, _ = fitted()
    picture = embed(ranking, title="Models & <more>", level=0.9)
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(picture).iter()}
    assert tags <= {"svg", "title", "style", "rect", "text", "line", "circle"}
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")
    told = [word for word in words(picture) if word not in "◂▸"]
    assert told[0] == "Models & <more>"
    assert "90 % interval" in told
    assert any("4 more below" in word for word in told)
    for row in ranking.to_frame(0.9).head(10).to_dicts():
        place = told.index(row["item"])
        assert told[place - 1] == str(row["rank"])
        assert float(told[place + 1].replace("−", "-")) == pytest.approx(row["score"], abs=0.0051)
        assert told[place + 2] == f"{row['rank_lower']}–{row['rank_upper']}"


def test_bars_lie_in_the_order_of_the_scores_and_within_the_picture():
    ranking, _ = fitted()
    root = ElementTree.fromstring(embed(ranking, top=14))
    dots = [float(dot.get("cx")) for dot in root.iter(f"{SVG}circle")]
    assert dots == sorted(dots, reverse=True)
    spans = [(float(s.get("x1")), float(s.get("x2"))) for s in root.iter(f"{SVG}line") if s.get("class") == "span"]
    assert all(0 < low <= dot <= high < 640 for (low, high), dot in zip(spans, dots, strict=True))


def parts(picture, tag, kind=None):
    """The attributes of each such element, in order."""
    found = [each.attrib for each in ElementTree.fromstring(picture).iter(f"{SVG}{tag}")]
    return [each for each in found if kind is None or each.get("class") == kind]


def test_marks_stand_on_a_scale_from_300_to_500_and_rows_are_28_apart():
    """By hand: scores and ends between -2 and 6, so that each unit is 25 wide; `Ranking` is not asked."""
    rows = {"score": [4.0, 1.0, 0.0], "lower": [2.0, -2.0, -np.inf], "upper": [6.0, 4.0, np.inf]}
    frame = pl.DataFrame(rows | {"item": ["a", "b", "c"], "rank": [1, 2, 3], "rank_lower": [1, 1, 2],
                                 "rank_upper": [2, 3, 3], "comparisons": [9.0, 8.0, 7.0]})  # fmt: skip
    ranking = Ranking(["a", "b", "c"], [4.0, 1.0, 0.0])
    ranking.to_frame = lambda *options: frame
    picture = embed(ranking)
    spans = [(float(each["x1"]), float(each["x2"])) for each in parts(picture, "line", "span")]
    assert spans == [(400.0, 500.0), (300.0, 450.0), (300.0, 500.0)]
    assert [float(each["cx"]) for each in parts(picture, "circle")] == [450.0, 375.0, 350.0]
    tops = [64, 92, 120]
    assert [int(each["y1"]) for each in parts(picture, "line", "rule")] == tops
    assert [int(each["cy"]) for each in parts(picture, "circle")] == [top + 14 for top in tops]
    assert [(each["y1"], each["y2"]) for each in parts(picture, "line", "span")] == [(str(t + 14),) * 2 for t in tops]
    for line in parts(picture, "line", "rule"):
        assert (line["x1"], line["x2"], line["y1"]) == ("14", "626", line["y2"])
    (frame_around,) = parts(picture, "rect")
    high = 64 + 3 * 28 + 30
    assert (frame_around["width"], frame_around["height"]) == ("639", str(high - 1))
    assert ElementTree.fromstring(picture).get("viewBox") == f"0 0 640 {high}"
    written = {(each.text, each.get("x"), each.get("y")) for each in ElementTree.fromstring(picture).iter(f"{SVG}text")}
    assert written == {
        ("Leaderboard", "14", "28"), ("Made with Podium", "14", str(high - 11)), ("95 % interval", "300", "54"),
        *((head, x, "54") for head, x in (("Rank", "38"), ("Item", "52"), ("Score", "565"), ("Ranks", "628"))),
        *((text, x, str(top + 19)) for top, *row in zip(tops, "123", "abc", ("4.00", "1.00", "0.00"),
                                                        ("1–2", "1–3", "2–3"), strict=True)
          for text, x in zip(row, ("38", "52", "565", "628"), strict=True)),
        ("◂", "292", "139"), ("▸", "500", "139"),
    }  # fmt: skip


@pytest.mark.parametrize(("unit", "told"), [(1.0, "12.50"), (9.99, "12.50"), (10.0, "12"), (173.7, "12")])
def test_scores_have_two_digits_where_their_unit_is_small(unit, told):
    assert told in words(embed(Ranking(["a", "b"], [12.5, -0.5], unit=unit), level=None))


@pytest.mark.parametrize(
    "bad",
    [{"top": 0}, {"top": 1.5}, {"min_votes": -1}, {"level": 0}, {"level": 2}, {"title": 3}, {"simultaneous": "yes"}],
    ids=str,
)
def test_what_cannot_be_drawn_is_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        embed(Ranking(["a", "b"], [1.0, 0.0]), **bad)
    with pytest.raises(InputError, match="ranking"):
        embed({"a": 1.0})


def test_ten_items_are_drawn_unless_asked_for_and_the_rest_counted():
    ranking = Ranking([f"i{k}" for k in range(12)], -np.arange(12.0))
    for top, drawn, said in ((None, 10, "Made with Podium; 2 more below"), (12, 12, "Made with Podium"),
                             (11, 11, "Made with Podium; 1 more below"), (30, 12, "Made with Podium")):  # fmt: skip
        picture = embed(ranking, top=top, level=None)
        assert len(parts(picture, "circle")) == drawn
        assert words(picture)[-1] == said
    title = ElementTree.fromstring(embed(ranking, top=2, level=None)).find(f"{SVG}title").text
    assert title == "Leaderboard: 1 i0, 2 i1"


def test_by_default_intervals_are_of_95_per_cent_one_by_one():
    ranking, _ = fitted()
    assert embed(ranking) == embed(ranking, level=0.95, simultaneous=False)
    assert embed(ranking) != embed(ranking, simultaneous=True)
    few = embed(ranking, min_votes=1)
    assert few == embed(ranking)


def test_without_intervals_and_with_ends_that_do_not_end():
    votes = Comparisons.from_pairs([("top", "a"), ("a", "b"), ("b", "a"), ("top", "b")])
    with thin_data():
        assert "▸" in words(embed(BradleyTerry().fit(votes).ranking_))
    assert "Ranks" not in words(embed(WinRate().fit(votes).ranking_))
    assert "Ranks" not in words(embed(Ranking(["a", "b"], [1.0, 1.0]), level=None))


def test_the_page_holds_the_same_picture_and_the_table_as_data():
    ranking, votes = fitted()
    page = str(Report(ranking, votes, title="T"))
    kept = {kind: b64decode(text).decode() for kind, text in re.findall(r'href="data:([\w/+]+);base64,([^"]*)"', page)}
    assert kept["image/svg+xml"] == embed(ranking, title="T")
    assert pl.read_csv(kept["text/csv"].encode())["item"].to_list() == list(ranking.order)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--embed", "a.png"], "must end in .svg"),
        (["--embed", "no/a.svg"], "there is no folder 'no'"),
        (["--fixtures", "votes.csv"], "--fixtures is about --report, which is not given"),
        (["--title", "T"], "--title is about --plot, --report or --embed"),
    ],
)
def test_what_cannot_be_written_is_refused_in_a_line(tmp_path, options, message):
    (tmp_path / "votes.csv").write_text("winner,loser\na,b\nb,a\n")
    command = [sys.executable, "-m", "podium", "rank", "votes.csv", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_the_command_writes_it_for_all_votes_together_also_with_groups(tmp_path):
    rows = "".join(f"{a},{b},{'xy'[k % 2]}\n" for k, (a, b) in enumerate([("a", "b"), ("b", "c"), ("c", "a")] * 20))
    (tmp_path / "votes.csv").write_text("winner,loser,town\n" + rows)
    for name, more in (("one.svg", []), ("two.svg", ["--by", "town"])):
        command = [sys.executable, "-m", "podium", "rank", "votes.csv", "--embed", name, "--title", "T", *more]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "one.svg").read_text() == (tmp_path / "two.svg").read_text()
    assert words((tmp_path / "one.svg").read_text())[0] == "T"


def test_too_few_votes_are_said():
    with pytest.raises(InputError, match="no item has so many votes"):
        embed(fitted()[0], min_votes=1e6)


def test_wide_letters_stay_out_of_the_bars():
    picture = embed(Ranking(["模型" * 30, "x" * 200], [1.0, 0.0]))
    labels = re.findall(r'<text x="52" y="\d+">(.*?)</text>', picture)
    assert [width(label) <= 30 for label in labels] == [True, True]
    assert all("…" in label for label in labels)
