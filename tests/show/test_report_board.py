"""The leaderboard of a page says what is so: tiers, kinds of intervals, items without votes, warnings of parts."""

import re

import numpy as np
import polars as pl
import pytest

from podium import RABF, BradleyTerry, Comparisons, DynamicBradleyTerry, Elo, PlackettLuce, Rankings
from podium.cli import run
from podium.ranking.leaderboard import frame
from podium.show.report import Report
from podium.show.report_board import leaderboard
from podium.show.report_pairs import head_to_head


def board(tiers):
    """A table of items of these tiers, best first."""
    n = len(tiers)
    scores = np.arange(n, 0, -1.0)
    known = {
        "score": scores,
        "lower": scores - 1,
        "upper": scores + 1,
        "rank": np.arange(n) + 1,
        "tier": np.array(tiers),
    }
    known |= {"rank_lower": np.arange(n) + 1, "rank_upper": np.arange(n) + 1, "comparisons": np.full(n, 9.0)}
    return leaderboard(frame([f"i{k}" for k in range(n)], known), 2, 100)


def lines(page):
    """Rows above which a stronger line stands."""
    rows = re.findall(r"<tr( class=\"first\")?><td", page)
    return [k for k, first in enumerate(rows) if first]


@pytest.mark.parametrize(
    ("tiers", "cuts", "column"),
    [([1, 1, 2, 2, 3], [2, 4], False), ([1, 2, 1, 3], [3], True), ([1, 1, 2, 1], [], True), ([1], [], False)],
)
def test_a_line_stands_where_all_below_are_of_later_tiers(tiers, cuts, column):
    page = board(tiers)
    assert lines(page) == cuts
    assert (">Tier</th>" in page) == column
    if column:
        assert [int(tier) for tier in re.findall(r"<span>tier (\d)</span>", page)] == tiers, (
            "on a phone, below the name"
        )


def votes_with_times():
    rng = np.random.default_rng(4)
    left = rng.integers(0, 5, 200)
    right = (left + rng.integers(1, 5, 200)) % 5
    won = rng.random(200) < 1 / (1 + np.exp(0.6 * (left - right)))
    winner, loser = np.where(won, left, right), np.where(won, right, left)
    return Comparisons.from_arrays(winner, loser, items=list("abcde"), time=np.arange(200.0))


def test_intervals_of_a_posterior_are_not_called_confidence_intervals():
    votes, table = votes_with_times(), {"item": list("abcdef"), "size": [5.0, 4.5, 3.0, 2.5, 1.0, 3.5]}
    dynamic = DynamicBradleyTerry(drift=0.05, sd=1.0).fit(votes)
    featured = RABF().fit(votes, pl.DataFrame(table), id="item")
    for model in (dynamic, featured):
        page = str(Report(model.ranking_, votes, model=model))
        assert "Bars are 95 % credible intervals" in page
        assert "95 % credible, from the curvature of the posterior" in page
        assert "95 % confidence," not in page
    plain = BradleyTerry().fit(votes)
    page = str(Report(plain.ranking_, votes, model=plain))
    assert "Bars are 95 % confidence intervals" in page
    assert "credible" not in page
    assert featured.credible_intervals_
    featured.ranking_ = featured.ranking_.with_uncertainty("sandwich")
    assert not featured.credible_intervals_
    lists = Rankings.from_lists([["a", "b", "c"], ["b", "a", "c"], ["c", "a", "b"], ["a", "c", "b"]])
    assert not PlackettLuce().fit(lists).credible_intervals_
    assert PlackettLuce().fit(lists, pl.DataFrame(table), id="item").credible_intervals_


def test_items_without_votes_are_counted_and_a_leader_without_them_is_named_as_such():
    rng = np.random.default_rng(2)
    size = np.arange(12.0)
    left = rng.integers(0, 11, 300)
    right = (left + rng.integers(1, 11, 300)) % 11
    won = rng.random(300) < 1 / (1 + np.exp(0.7 * (size[right] - size[left])))
    names = [f"p{k}" for k in range(12)]
    votes = Comparisons.from_arrays(np.where(won, left, right), np.where(won, right, left), items=names[:11])
    model = RABF().fit(votes, pl.DataFrame({"item": names, "size": size}), id="item")
    assert model.ranking_.order[0] == "p11"
    page = str(Report(model.ranking_, votes, model=model))
    assert "<span><b>12</b> items</span> <span><b>1</b> without votes</span>" in page
    assert "<b>p11</b>, which has no votes yet, leads by its features" in page
    assert "<dt>Items compared</dt><dd>11</dd>" in page


def test_where_nobody_is_below_the_first_the_page_says_so_in_one_sentence():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c"), ("c", "b"), ("b", "a")])
    page = str(Report(BradleyTerry().fit(votes).ranking_, votes))
    assert "leads, but no other item is significantly below it (95 %)." in page


def test_a_table_without_intervals_has_no_heading_for_them():
    votes = votes_with_times()
    page = str(Report(Elo().fit(votes).ranking_, votes))
    assert ">Interval</th>" not in page


def test_one_win_has_less_colour_than_forty():
    def much(wins):
        votes = Comparisons.from_arrays(["a"] * wins, ["b"] * wins)
        return int(re.search(r'class="hit m(\d)"', "".join(head_to_head(votes, ["a", "b"], 0.95)))[1])

    assert much(1) < much(4) < much(40) == 4


def test_a_page_of_rankings_speaks_of_rankings_and_pairs():
    lists = Rankings.from_lists(
        [["tea", "milk", "cola"], ["milk", "tea", "cola"], ["tea", "cola", "milk"]], judge=["ann", "bob", "cem"]
    )
    model = PlackettLuce().fit(lists)
    page = str(Report(model.ranking_, Comparisons.from_rankings(lists), model=model))
    assert "<h2>Who was above whom</h2>" in page
    assert "Rankings in which the row’s item is above the column’s" in page
    assert "<dt>Pairs put in order</dt><dd>9</dd>" in page
    assert "Who beat whom" not in page
    assert "<dt>Votes" not in page
    assert "<b>3</b> respondents" in page


def test_people_whose_votes_were_left_out_are_not_counted(tmp_path, capsys):
    survey, votes, page = (tmp_path / name for name in ("survey.csv", "votes.csv", "page.html"))
    survey.write_text("respondent,Rank 1,Rank 2\na,x,y\nb,y,x\nc,,\n")
    with pytest.raises(SystemExit, match="0"):
        run(["rank", str(survey), "--report", str(page)])
    assert "<b>2</b> rankings" in page.read_text()
    assert "<b>2</b> respondents" in page.read_text()
    assert "<dt>Respondents</dt><dd>2</dd>" in page.read_text()
    votes.write_text("winner,loser,judge,lang\na,b,p,en\nb,a,q,en\na,b,p,de\nb,a,q,de\na,b,r,\n")
    with pytest.raises(SystemExit, match="0"):
        run(["rank", str(votes), "--by", "lang", "--report", str(page)])
    assert "1 vote without a 'lang', left out" in capsys.readouterr().err
    assert "<b>2</b> judges" in page.read_text()
    assert "<dt>Judges</dt><dd>2</dd>" in page.read_text()


def test_scores_that_do_not_move_have_no_table_over_time():
    votes = votes_with_times()
    still = DynamicBradleyTerry(drift=0.0, sd=1.0).fit(votes)
    page = str(Report(still.ranking_, votes, model=still))
    assert "Drift was set to 0: each item has one score at all times." in page
    assert "The table over time" not in page


def test_what_is_warned_of_a_part_stands_with_that_part(tmp_path, capfd):
    rows = ["winner,loser,language"]
    rows += ["a,b,en", "b,c,en", "c,a,en", "a,c,en", "c,b,en", "b,a,en"] * 3
    rows += ["a,b,de", "a,c,de", "b,c,de", "c,b,de"]  # where a never loses
    file, target = tmp_path / "votes.csv", tmp_path / "page.html"
    file.write_text("\n".join(rows) + "\n")
    with pytest.raises(SystemExit) as stop:
        run(["rank", str(file), "--by", "language", "--report", str(target)])
    assert stop.value.code == 0
    assert "'a' never loses" in capfd.readouterr().err
    page = target.read_text()
    head, parts = page[: page.index("<section")], page.split('<details class="card">')[1:]
    assert "never loses" not in head
    told = {re.search(r"<bdi>(\w+)</bdi>", part)[1]: "never loses" in part for part in parts}
    assert told == {"en": False, "de": True}
