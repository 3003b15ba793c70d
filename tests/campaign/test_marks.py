"""Marks of a campaign are the same on its page, in its API and exports, and by `podium rank --marks`."""

import io
import re
from html import unescape

import numpy as np
import pytest
from click.testing import CliRunner

from podium.campaign import setup
from podium.campaign.exchange import ranking_frame
from podium.campaign.items import Items
from podium.campaign.marks import campaign_marks
from podium.campaign.options import Options
from podium.campaign.report import report_page
from podium.campaign.standing import standing
from podium.cli import main
from podium.data.files import read_table
from podium.errors import InputError
from podium.store import open_store
from podium.store.values import Item, Vote

LABELS = ("ash & elm", "=birch", "cedar", "<b>oak</b>", "pine", "樺")
WISH = {"scale": [0, 100], "boundaries": {"A": 70, "B": 40}}


def made(path, votes=80, marks=WISH):
    rng = np.random.default_rng(3)
    with open_store(str(path), new=True) as store:
        items = Items([Item(-1, label) for label in LABELS])
        chosen = Options.of({"marks": marks})
        campaign, _ = store.write(
            0, lambda w: setup.new_campaign(w, items, title="T", question="Q?", now=1, seed=1, options=chosen)
        )
        store.write(campaign.id, lambda writer: setup.invite(writer, ["ann"], 1))
        rows = []
        for k in range(votes):
            left, right = rng.choice(len(LABELS), 2, replace=False).tolist()
            outcome = float((left < right) == (rng.random() < 0.8))
            rows.append(Vote(0, str(k), left, right, outcome, kind="check", predicted=0.7))
        store.write(campaign.id, lambda writer: writer.append_votes(rows))
        return store.read(lambda reader: reader.content(campaign.id))


def ranked(*arguments):
    done = CliRunner().invoke(main, ["rank", *map(str, arguments), "--format", "csv"])
    assert done.exit_code == 0, done.output
    return {row["item"]: row for row in read_table(io.StringIO(done.stdout)).to_dicts()}, done.stderr


def test_rank_with_marks_the_standing_the_export_and_the_report_agree(tmp_path):
    content = made(tmp_path / "c.db")
    typed, _ = ranked(tmp_path / "c.db", "--marks", "0:100", "--boundaries", "A=70,B=40")
    plain, said = ranked(tmp_path / "c.db")
    export = ranking_frame(standing(content), marked=campaign_marks(content)).to_dicts()
    assert len(export) == len(typed) == len(plain) == 6
    for row in export:
        for name in ("mark", "mark_lower", "mark_upper", "chance", "P(A)", "P(B)", "P(below B)"):
            assert float(typed[row["item"]][name]) == pytest.approx(row[name], abs=1e-9)
            assert float(plain[row["item"]][name]) == pytest.approx(row[name], abs=1e-9)
        assert row["grade"] == typed[row["item"]]["grade"] == plain[row["item"]]["grade"]
    assert {min(row["mark"] for row in export), max(row["mark"] for row in export)} == {0.0, 100.0}
    assert "marks with 95 % intervals, as the campaign asks for them" in said
    page = report_page(content).partition("<h2>Marks</h2>")[2].partition("</table>")[0]
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr><td.*?</tr>", page)]
    assert [unescape(row[0]) for row in cells] == [row["item"] for row in export]
    assert [row[1] for row in cells] == [f"{row['mark']:.1f}" for row in export]
    assert [row[3] for row in cells] == [row["grade"] for row in export]


LIKELIER = "for some items another grade is likelier"


@pytest.mark.parametrize(("votes", "boundaries", "likelier"), [
    (12, {"A": 55, "B": 45}, True), (4000, {"A": 98, "B": 2}, False), (12, None, False),
])  # fmt: skip
def test_a_grade_that_is_not_the_likeliest_is_told_everywhere(tmp_path, votes, boundaries, likelier):
    wish = {"scale": [0, 100]} | ({"boundaries": boundaries} if boundaries else {})
    content = made(tmp_path / "c.db", votes=votes, marks=wish)
    rows = ranking_frame(standing(content), marked=campaign_marks(content)).to_dicts()
    chances = [(row["chance"], [row[name] for name in row if name.startswith("P(")]) for row in rows if boundaries]
    assert any(own < max(each) for own, each in chances) == likelier
    assert any(LIKELIER in line for line in campaign_marks(content).notes()) == likelier
    assert (LIKELIER in report_page(content)) == likelier
    assert (LIKELIER in ranked(tmp_path / "c.db")[1]) == likelier


def test_marks_of_a_campaign_are_printed_as_those_of_votes_are(tmp_path):
    content = made(tmp_path / "c.db")
    done = CliRunner().invoke(main, ["rank", str(tmp_path / "c.db")])
    heads, *lines = done.stdout.splitlines()
    assert " ".join(heads.split()) == "place item likely places mark interval grade chance votes skips"
    rows = ranking_frame(standing(content), marked=campaign_marks(content)).to_dicts()
    for line, row in zip(lines, rows, strict=True):
        low, high = row["place_lower"], row["place_upper"]
        ends = f"{row['mark_lower']:.1f} … {row['mark_upper']:.1f}"
        band = str(low) if low == high else f"{low}–{high}"
        shown = f"{row['place']} {row['item']} {band} {row['mark']:.1f} {ends}".split()
        assert line.split()[: len(shown)] == shown
        assert re.search(rf" {re.escape(row['grade'])} +[<>\d ]+\d %  +{row['votes']} +{row['skips']}$", line)
    assert "likely places hold an item's true place" in done.stderr


@pytest.mark.parametrize(("count", "words"), [
    (2, "wo known marks always fit a line: "),
    (3, "3 known marks say little about how well marks fit their line"),
    (5, None),
])  # fmt: skip
def test_few_known_marks_are_told_wherever_marks_are_shown(tmp_path, count, words):
    known = {label: 90.0 - 15 * LABELS.index(label) for label in (*LABELS[: count - 1], LABELS[-1])}
    content = made(tmp_path / "c.db", marks={"known": known})
    out = str(tmp_path / "r.csv")
    exported = CliRunner().invoke(main, ["campaign", "export", "ranking", "--db", str(tmp_path / "c.db"), "-o", out])
    told = [report_page(content), ranked(tmp_path / "c.db")[1], exported.stderr]
    assert [(words or "known marks") in text for text in told] == [words is not None] * 3


def test_known_marks_lay_the_scale(tmp_path):
    content = made(tmp_path / "c.db", marks={"known": {"ash & elm": 90.0, "樺": 20.0}})
    (tmp_path / "known.csv").write_text("item,mark\nash & elm,90\n樺,20\n")
    typed, _ = ranked(tmp_path / "c.db", "--known-marks", tmp_path / "known.csv")
    own = campaign_marks(content).words()
    assert own["ash & elm"]["mark"] == "90.0"
    assert {item: f"{float(row['mark']):.1f}" for item, row in typed.items()} == {
        item: row["mark"] for item, row in own.items()
    }


def test_without_votes_or_wish_there_are_none(tmp_path):
    assert campaign_marks(made(tmp_path / "a.db", marks=None)) is None
    marked = campaign_marks(made(tmp_path / "b.db", votes=0))
    assert marked.marks is None
    assert "no votes that count yet" in marked.why


@pytest.mark.parametrize(
    ("marks", "said"),
    [
        ([0, 100], "give scale, known marks or both"),
        ({"size": 1}, "give scale, known marks or both"),
        ({}, "marks need a scale, as 0 to 100"),
        ({"scale": [5, 5]}, "the two ends must be different numbers"),
        ({"scale": ["low", 5]}, "is no scale"),
        ({"scale": [0, 10], "boundaries": {"A": 11}}, "outside the scale"),
        ({"scale": [0, 10], "boundaries": {"B": 3, "A": 7}}, "name the best grade first"),
        ({"scale": [0, 10], "boundaries": ["A"]}, "give grades and the least mark of each"),
        ({"scale": [0, 10], "boundaries": {"A": "x"}}, "the boundary of grade 'A' is 'x'"),
        ({"known": {"a": 3}}, "one known mark fixes no scale"),
        ({"known": {"a": 3, "b": "x"}}, "a known mark is 'x'; give a number"),
        ({"known": ["a"]}, "give items and their marks"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_when_it_is_made(marks, said):
    with pytest.raises(InputError, match=said):
        Options.of({"marks": marks})


def test_a_scale_that_falls_may_have_known_marks_that_fall():
    wish = {"scale": [6, 1], "known": {"a": 1.5, "b": 4, "c": 5}, "boundaries": {"good": 2, "fair": 4}}
    assert Options.of({"marks": wish}).marks == wish


def test_campaign_new_takes_the_options_of_rank(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text("id,text\na,one\nb,two\nc,three\n")
    (tmp_path / "known.csv").write_text("item,mark\na,10\nd,20\n")
    call = ["campaign", "new", "items.csv", "--title", "T", "--question", "Q?"]
    done = CliRunner().invoke(main, [*call, "--marks", "0:20", "--boundaries", "A=15"])
    assert done.exit_code == 0, done.output
    with open_store("campaign.db") as store:
        options = store.read(lambda reader: reader.content(1)).campaign.options
    assert options["marks"] == {"scale": [0.0, 20.0], "boundaries": {"A": 15.0}}
    bad = CliRunner().invoke(main, [*call, "--known-marks", "known.csv", "--db", "d.db"])
    assert "row 2: there is no item 'd'" in str(bad.exception)
    idle = CliRunner().invoke(main, [*call, "--boundaries", "A=15", "--db", "e.db"])
    assert "is about marks" in str(idle.exception)


def test_items_added_later_have_no_mark_and_leave_the_others_theirs(tmp_path):
    made(tmp_path / "c.db")
    with open_store(str(tmp_path / "c.db")) as store:
        campaign = store.read(lambda reader: reader.campaigns())[0]
        before = campaign_marks(store.read(lambda reader: reader.content(campaign.id)))
        items = Items([Item(-1, label) for label in ("yew", "willow")])
        store.write(campaign.id, lambda writer: setup.add_items(writer, items, 5))
        content = store.read(lambda reader: reader.content(campaign.id))
    after = campaign_marks(content)
    for label in LABELS:
        for name in ("mark", "grade"):
            assert after.words()[label][name] == before.words()[label][name]
        assert after.words()[label]["chance"] == pytest.approx(before.words()[label]["chance"], abs=0.03)
    assert after.words()["yew"] == {"mark": "–", "lower": None, "upper": None, "grade": "", "chance": None}
    table = {row["item"]: row for row in ranking_frame(standing(content), marked=after).to_dicts()}
    assert table["willow"]["mark"] is table["willow"]["grade"] is None
    assert "yew" in report_page(content)
