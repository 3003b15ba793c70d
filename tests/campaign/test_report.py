"""The report of a campaign says what its standing says, whatever its items are called."""

import re
from base64 import b64decode
from html import unescape

import numpy as np
import polars as pl
import pytest

from podium.campaign import setup
from podium.campaign.items import Items
from podium.campaign.live import live_comparisons
from podium.campaign.report import report_page, write_report
from podium.campaign.standing import check_scores, standing
from podium.errors import InputError
from podium.evaluate import judging_quality
from podium.show.report_look import SCRIPT
from podium.store import open_store
from podium.store.values import Item, Vote

HOSTILE = ("<script>alert(1)</script>", "a & b", "=1+1", "plain", "‮turned", "x" * 300)


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "c.db"), new=True) as store:
        yield store


def made(store, votes, kind="chosen"):
    """A campaign of hostile items with so many votes of one judge, the earlier item better three times in four."""
    items = Items([Item(-1, label) for label in HOSTILE])
    campaign, _ = store.write(
        0, lambda w: setup.new_campaign(w, items, title="<b>Tea</b>", question="Which & why?", now=1, seed=1)
    )
    store.write(campaign.id, lambda writer: setup.invite(writer, ["ann <ann@example.org>"], 1))
    rng = np.random.default_rng(2)
    rows = []
    for k in range(votes):
        left, right = rng.choice(len(HOSTILE), 2, replace=False).tolist()
        outcome = float((left < right) == (rng.random() < 0.75))
        rows.append(Vote(0, str(k), left, right, outcome, kind=kind, predicted=float(left < right)))
    store.write(campaign.id, lambda writer: writer.append_votes(rows))
    return store.read(lambda reader: reader.content(campaign.id))


def rows_of(page, heading):
    table = page.partition(heading)[2].partition("</table>")[0]
    return [
        [unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row)]
        for row in re.findall(r"<tr(?: \w+=[^>]*)?><td.*?</tr>", table)
    ]


def test_the_rows_are_those_of_the_standing(store):
    content = made(store, 40)
    now = standing(content)
    page = report_page(content)
    found = rows_of(page, 'aria-label="Order"')
    assert [int(row[0]) for row in found] == [place.place for place in now.places]
    assert [row[1].partition("<a ")[0] for row in found[:2]] == [place.item for place in now.places[:2]]
    ends = [[int(end) for end in row[2].split("–")] for row in found]
    assert [(end[0], end[-1]) for end in ends] == [(place.lower, place.upper) for place in now.places]
    assert [(int(row[4]), int(row[5])) for row in found] == [(place.tier, place.votes) for place in now.places]
    assert f"<b>{now.votes}</b> votes" in page
    assert "<b>1</b> judge<" in page
    assert "<h2>Who beat whom</h2>" in page
    table = b64decode(re.search(r'download="order.csv" href="data:text/csv;base64,([^"]+)"', page)[1])
    assert pl.read_csv(table)["place_upper"].to_list() == [place.upper for place in now.places]
    assert "no confidence intervals of scores" in page


def test_nothing_from_outside_is_taken_for_html_and_no_judge_is_named(store):
    page = report_page(made(store, 30))
    assert page.count("<script>") == 1, "our own, which holds no data"
    assert f"<script>{SCRIPT}</script>" in page
    assert "<b>Tea" not in page
    assert "&lt;b&gt;Tea&lt;/b&gt;" in page
    assert "Which &amp; why?" in page
    assert "example.org" not in page


def test_a_model_as_judge_has_its_numbers_on_the_page_and_a_title_of_its_own(store):
    page = report_page(made(store, 30), title="<i>answers</i>", judge=["length: the longer won 60 %", "<b>"])
    assert "<h1>&lt;i&gt;answers&lt;/i&gt;</h1>" in page
    assert "<title>&lt;i&gt;answers&lt;/i&gt;</title>" in page
    assert "<dt>Length</dt><dd>The longer won 60 %.</dd>" in page.partition("<h2>The judge</h2>")[2]
    assert "&lt;b&gt;." in page
    assert "<h2>The judge</h2>" not in report_page(made(store, 30))


def test_with_enough_check_votes_scores_have_intervals(store):
    content = made(store, 300, kind="check")
    page = report_page(content)
    frame = check_scores(content).to_frame(0.9)
    found = rows_of(page, "<h2>Scores</h2>")
    assert [float(row[1]) for row in found] == pytest.approx(frame["score"].to_list(), abs=0.005)
    assert [float(row[2].split(" … ")[0]) for row in found] == pytest.approx(frame["lower"].to_list(), abs=0.005)
    assert "no confidence intervals of scores" not in page
    assert "greement on check pairs" in page


def test_what_cannot_be_written_is_said_and_leaves_an_older_page(store, tmp_path):
    old = tmp_path / "page.html"
    old.write_text("old")
    with pytest.raises(InputError, match="no votes that count yet"):
        write_report(made(store, 0), old)
    assert old.read_text() == "old"
    with pytest.raises(InputError, match=r"must end in \.html"):
        write_report(made(store, 5), tmp_path / "page.txt")


def test_reliability_comes_from_check_pairs_and_names_nobody(store):
    content = made(store, 300, kind="check")
    separation = judging_quality(live_comparisons(content)).separation
    page = unescape(report_page(content))
    assert f"Scale separation reliability {separation:.2f} (all pairs" in page
    assert "ann <" not in page.partition("<h2>Reliability</h2>")[2]


def test_a_campaign_of_chosen_pairs_alone_has_no_scale_separation(store):
    assert "No scale separation reliability: pairs were chosen" in unescape(report_page(made(store, 60)))


@pytest.mark.parametrize("contrary", [0, 1, 2])
def test_judges_who_misfit_are_counted_on_the_page_and_not_named(store, contrary):
    """Of twenty judges so many answer the other way round; the page says how many `judging_quality` flags."""
    items = Items([Item(-1, f"item {k}") for k in range(6)])
    campaign, _ = store.write(0, lambda w: setup.new_campaign(w, items, title="Tea", question="Which?", now=1, seed=1))
    names = [f"judge-{k}" for k in range(20)]
    store.write(campaign.id, lambda writer: setup.invite(writer, names, 1))
    rng = np.random.default_rng(4)
    rows = []
    for judge in range(20):
        for left in range(6):
            for right in range(left + 1, 6):
                better = rng.random() < 0.9
                outcome = float(better != (judge < contrary))
                rows.append(Vote(judge, f"{judge} {left} {right}", left, right, outcome, kind="check"))
    store.write(campaign.id, lambda writer: writer.append_votes(rows))
    content = store.read(lambda reader: reader.content(campaign.id))
    fit = judging_quality(live_comparisons(content)).judge_fit
    flagged = fit.filter(fit["misfit"])["judge"].to_list()
    assert len(flagged) == contrary
    page = unescape(report_page(content)).partition("<h2>Reliability</h2>")[2]
    said = re.findall(r"(\d+) of (\d+) judges with an infit above the mean \+ 2 standard deviations\.", page)
    assert said == ([(str(contrary), "20")] if contrary else [])
    assert "isfit" not in page
    assert "judge-" not in page
