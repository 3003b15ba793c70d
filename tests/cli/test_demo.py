"""podium demo: every story runs to its end, and finds what was planted in its data."""

import contextlib
import json
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from podium.cli import main
from podium.cli.demo import NAMES
from podium.cli.stories import FILLING, OPINIONS, REASONS, STORIES, reasons_given


def told(folder, *arguments):
    with contextlib.chdir(folder):
        return CliRunner().invoke(main, ["demo", *arguments])


def test_every_story_has_a_name_that_can_be_typed():
    assert tuple(STORIES) == NAMES


@pytest.mark.parametrize("story", NAMES)
def test_a_story_runs_to_what_it_shows_and_says_every_command(tmp_path, story):
    result = told(tmp_path, story)
    assert result.exit_code == 0, result.output
    folder = tmp_path / f"demo-{story}"
    assert (folder / STORIES[story].shows).stat().st_size > 100
    for command in STORIES[story].commands:
        assert f"$ podium {command.partition('URL')[0]}" in result.output
    if STORIES[story].shows == "page.html" and story != "judge":
        page = (folder / "page.html").read_text()
        assert re.search(r"<pre>podium rank \w+", page), "the page says the command that makes it, not the story's"
    again = told(tmp_path, story)
    assert again.exit_code != 0
    assert "not empty" in str(again.exception)


def test_a_story_that_needs_more_than_is_installed_says_so_before_it_writes(tmp_path, monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = told(tmp_path, "judge")
    assert "pip install 'podium[judge]'" in str(result.exception)
    assert not (tmp_path / "demo-judge").exists()


def test_the_reader_who_guesses_is_found(tmp_path):
    result = told(tmp_path, "essays", "--folder", "here", "--seed", "3")
    judges = [line.split() for line in result.output.splitlines() if line.startswith("  reader ")]
    assert judges[0][:2] == ["reader", "12"], "the least reliable is told first"
    votes = pl.read_csv(tmp_path / "here" / "votes.csv")
    assert votes["judge"].n_unique() == 12


def test_in_the_arena_length_helps_and_it_is_said(tmp_path):
    result = told(tmp_path, "arena")
    effects = [float(line.split()[1]) for line in result.output.splitlines() if line.startswith("  length ")]
    assert np.all(np.array(effects) > 0)
    assert len(effects) == 1 + 3 + 1


def test_the_games_to_come_are_those_that_were_not_played(tmp_path):
    told(tmp_path, "league")
    played, left = (pl.read_csv(tmp_path / "demo-league" / name) for name in ("season.csv", "fixtures.csv"))
    pairs = Counter((row["home"], row["away"]) for frame in (played, left) for row in frame.to_dicts())
    assert len(pairs) == 90
    assert set(pairs.values()) == {2}, "everyone at everyone's home twice"
    chances = pl.read_csv(tmp_path / "demo-league" / "predicted.csv")
    assert np.allclose(chances["win"] + chances["tie"] + chances["loss"], 1)
    assert len(chances) == len(left)


def test_the_simulated_model_finds_the_essays_with_more_reasons(tmp_path):
    told(tmp_path, "judge")
    folder = tmp_path / "demo-judge"
    reasons = {row["id"]: row["text"].count("because") for row in pl.read_csv(folder / "essays.csv").to_dicts()}
    order = pl.read_csv(folder / "order.csv")["item"].to_list()
    true = [reasons[item] for item in order]
    pairs = [(a, b) for k, a in enumerate(true) for b in true[k + 1 :] if a != b]
    assert sum(a > b for a, b in pairs) > 0.85 * len(pairs)
    calls = [json.loads(line) for line in (folder / "calls.jsonl").read_text().splitlines()]
    assert len(calls) > 2 * 24, "each pair in both orders"
    page = (folder / "page.html").read_text()
    assert "<h1>essays</h1>" in page, "the page is called as the file"
    assert "<dt>Position</dt><dd>First place chosen" in page.partition("<h2>The judge</h2>")[2]


# ---- the data of a story are what its words say ---------------------------------------------------------------------


def written(tmp_path, story, seed=0):
    STORIES[story].write(tmp_path, np.random.default_rng(seed))
    return tmp_path


def near(values, mean, sd):
    """Whether the mean of a sample is within five standard errors of the one planted."""
    return abs(np.mean(np.asarray(values)) - mean) < 5 * sd / np.sqrt(len(values))


def slopes(y, *columns):
    """Of a least-squares fit with a constant."""
    table = np.column_stack([*columns, np.ones(len(y))])
    return np.linalg.lstsq(table, y, rcond=None)[0][:-1]


def test_the_arena_has_the_languages_ties_and_lengths_it_tells_of(tmp_path):
    folder = written(tmp_path, "arena")
    votes = pl.read_ndjson(folder / "battles.jsonl")
    assert len(votes) == 9000
    assert votes.head(6000).equals(pl.read_ndjson(folder / "last-month.jsonl"))
    assert set(votes["model_a"]) == set(votes["model_b"])
    assert votes["model_a"].n_unique() == 12
    assert not (votes["model_a"] == votes["model_b"]).any()
    for language, share in {"English": 0.6, "German": 0.25, "Chinese": 0.15}.items():
        assert near(votes["language"] == language, share, np.sqrt(share * (1 - share)))
    ties = (votes["winner"] == "tie").mean()
    assert 0.08 < ties < 0.2  # a fifth where two are even, fewer where not
    lengths = np.log(votes["length_a"].to_numpy())
    by_model = {name: lengths[(votes["model_a"] == name).to_numpy()] for name in set(votes["model_a"])}
    assert np.mean([each.std() for each in by_model.values()]) == pytest.approx(0.5, abs=0.05)
    assert 0.15 < np.std([each.mean() for each in by_model.values()]) < 0.7
    assert np.mean(lengths) == pytest.approx(5.5, abs=0.4)
    decided = votes.filter(pl.col("winner") != "tie")
    won = (decided["winner"] == "model_a").to_numpy().astype(float)
    ratio = np.log(decided["length_a"].to_numpy() / decided["length_b"].to_numpy())
    sides = [
        (decided["model_a"] == name).to_numpy().astype(float) - (decided["model_b"] == name).to_numpy()
        for name in sorted(by_model)[1:]
    ]
    (length, *_), middle = slopes(won, ratio, *sides), won.mean()
    assert length == pytest.approx(0.5 * 0.21, rel=0.3)  # a chance moves by about a fifth of its log-odds
    assert 0.5 < middle < 0.55  # the first place has a little more


def test_eleven_readers_agree_on_the_essays_and_one_does_not(tmp_path):
    votes = pl.read_csv(written(tmp_path, "essays") / "votes.csv")
    assert len(votes) == 1600
    essays = set(votes["winner"]) | set(votes["loser"])
    assert essays == {f"essay {k:02}" for k in range(1, 81)}
    assert set(votes["judge"]) == {f"reader {k}" for k in range(1, 13)}
    assert all(100 < count < 170 for count in votes["judge"].value_counts()["count"])
    others = votes.filter(pl.col("judge") != "reader 12")
    points = Counter(others["winner"].to_list())
    points.subtract(others["loser"].to_list())
    ahead = {
        name: np.mean([points[a] > points[b] for a, b in part.select("winner", "loser").iter_rows()])
        for (name,), part in votes.group_by("judge")
    }
    assert ahead.pop("reader 12") < 0.62
    assert min(ahead.values()) > 0.68
    assert np.mean(list(ahead.values())) < 0.92  # nobody is sure of everything


def test_the_league_plays_every_week_and_a_quarter_of_it_is_left(tmp_path):
    folder = written(tmp_path, "league")
    played, left = (pl.read_csv(folder / name, try_parse_dates=True) for name in ("season.csv", "fixtures.csv"))
    assert (len(played), len(left)) == (135, 45)
    days = sorted({*played["date"], *left["date"]})
    assert str(days[0]) == "2026-08-08"
    assert {(b - a).days for a, b in pairwise(days)} == {7}
    assert len(days) == 36
    assert max(played["date"]) < min(left["date"])
    for _, week in pl.concat([played.select("date", "home", "away"), left]).group_by("date"):
        assert len({*week["home"], *week["away"]}) == 10  # everyone once
    many = pl.concat([
        pl.read_csv(written(tmp_path, "league", seed) / "season.csv").select("home_goals", "away_goals")
        for seed in range(12)
    ])  # fmt: skip
    ratio = many["home_goals"].mean() / many["away_goals"].mean()
    assert ratio == pytest.approx(np.exp(0.15), rel=0.08)  # at home, goals are 1.16 times as many
    # exp(0.2) goals between equals; strengths of 0.45, and their drift, make the mean larger: exp(0.45² + …)
    assert many["away_goals"].mean() == pytest.approx(np.exp(0.2 + 0.45**2 + 27 / 2 * 0.035**2), rel=0.15)


def test_everyone_in_the_survey_lists_three_dishes(tmp_path):
    table = pl.read_csv(written(tmp_path, "survey") / "survey.csv")
    assert table.columns == ["respondent", "shift", "Rank 1", "Rank 2", "Rank 3"]
    assert table["respondent"].to_list() == [f"r{k}" for k in range(1, 251)]
    lists = table.select("Rank 1", "Rank 2", "Rank 3").rows()
    assert all(len(set(each)) == 3 for each in lists)
    assert len({dish for each in lists for dish in each}) == 14
    assert near(table["shift"] == "day", 0.5, 0.5)
    firsts = Counter(table["Rank 1"].to_list()).most_common()
    assert firsts[0][1] > 3 * firsts[-1][1]  # some are liked more


def test_grades_follow_the_counts_of_an_essay_and_readers_are_unsure_by_one(tmp_path):
    folder = written(tmp_path, "grades")
    tables = {name: pl.read_csv(folder / f"{name}.csv") for name in ("graded", "held-out", "new")}
    assert [len(each) for each in tables.values()] == [1200, 400, 40]
    assert [each.columns[4:] for each in tables.values()] == [["low", "high"], ["low", "high"], []]
    assert tables["new"]["essay"].to_list() == [f"E{k:04}" for k in range(1, 41)]
    table = tables["graded"]
    assert near(table["words"], 449.5, 120)  # whole words, rounded down
    assert table["words"].std() == pytest.approx(120, rel=0.1)
    assert near(table["errors"], 7, np.sqrt(7))
    assert near(table["sources"], 2.2, np.sqrt(2.2))
    low, high = table["low"].to_numpy(), table["high"].to_numpy()
    assert set(low) | set(high) == {1, 2, 3, 4, 5}
    wide = high - low
    assert set(wide) == {0, 1, 2}
    assert (wide == 2).mean() == pytest.approx(0.3**2, abs=0.04)  # unsure on both sides
    assert (wide == 0).mean() == pytest.approx(0.7**2, abs=0.12)  # the ends have one side alone
    words, errors, sources = slopes(
        (low + high) / 2, *(table[name].to_numpy() for name in ("words", "errors", "sources"))
    )
    assert words > 0
    assert errors / words == pytest.approx(-0.22 / 0.006, rel=0.25)
    assert sources / words == pytest.approx(0.5 / 0.006, rel=0.25)
    shares = [((low <= grade) & (grade <= high)).mean() for grade in range(1, 6)]
    assert min(shares) > 0.08
    assert max(shares) < 0.45


def test_three_tenths_of_the_tags_fit_and_hang_on_the_words(tmp_path):
    folder = written(tmp_path, "labels")
    tables = {name: pl.read_csv(folder / f"{name}.csv") for name in ("articles", "held-out", "new")}
    assert [len(each) for each in tables.values()] == [800, 200, 20]
    assert "tag_sport" not in tables["new"].columns
    counts, tags = (tables["articles"].select(pl.col(f"^{kind}_.*$")).to_numpy() for kind in ("word", "tag"))
    assert (counts.shape[1], tags.shape[1]) == (12, 6)
    assert tags.mean() == pytest.approx(0.3, abs=0.001)
    assert near(counts.ravel(), 1.5, np.sqrt(1.5))
    table = np.column_stack([counts, np.ones(len(counts))])
    told = table @ np.linalg.lstsq(table, tags, rcond=None)[0]
    linked = [np.corrcoef(one, other)[0, 1] for one, other in zip(told.T, tags.T, strict=True)]
    assert min(linked) > 0.2
    assert 0.35 < np.mean(linked) < 0.8  # words tell much, not all
    assert tables["new"]["title"].to_list() == [f"article {k}" for k in range(1, 21)]


def test_essays_of_the_judge_have_up_to_six_reasons_and_some_filling(tmp_path):
    table = pl.read_csv(written(tmp_path, "judge") / "essays.csv")
    assert table["id"].to_list() == [f"essay {k:02}" for k in range(1, 25)]
    found = {"reasons": Counter(), "filling": Counter()}
    for text in table["text"]:
        sentences = [f"{each}." for each in text.removesuffix(".").split(". ")]
        assert sum(each in OPINIONS for each in sentences) == 1
        reasons = [each for each in sentences if each in REASONS]
        filling = [each for each in sentences if each in FILLING]
        assert len(set(reasons)) == len(reasons)
        assert len(reasons) + len(filling) + 1 == len(sentences)
        assert sentences[0] in OPINIONS
        found["reasons"][len(reasons)] += 1
        found["filling"][len(filling)] += 1
        assert reasons_given(text) == pytest.approx(1.2 * len(reasons))
    assert set(found["filling"]) == {1, 2, 3}
    assert {0, 6} <= set(found["reasons"]) <= set(range(7))


@pytest.mark.parametrize("story", NAMES)
def test_another_seed_is_other_data_and_the_same_seed_the_same(tmp_path, story):
    files = []
    for name, seed in (("one", 1), ("two", 1), ("three", 2)):
        (tmp_path / name).mkdir()
        written(tmp_path / name, story, seed)
        files.append({each.name: each.read_bytes() for each in sorted((tmp_path / name).iterdir())})
    assert files[0] == files[1]
    assert files[0] != files[2]
