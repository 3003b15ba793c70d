"""podium demo: every story runs to its end, and finds what was planted in its data."""

import contextlib
import json
import re
from collections import Counter

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from podium.cli import main
from podium.cli.demo import NAMES
from podium.cli.stories import STORIES


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
