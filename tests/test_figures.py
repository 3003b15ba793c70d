"""Every marked figure of README and docs is the one that was measured, with its day and commit."""

import json
import re

import pytest

from benchmarks import figures, measure


@pytest.mark.parametrize("page", figures.PAGES)
def test_every_marked_block_is_what_the_results_say(page):
    text = (figures.ROOT / page).read_text()
    assert figures.BLOCK.search(text)
    assert figures.rewritten(text) == text, "run make figures"
    assert text.count("<!-- figures:") == text.count("<!-- /figures -->") == len(figures.BLOCK.findall(text))


def test_every_family_with_results_is_on_the_page():
    page = (figures.ROOT / "docs" / "benchmarks.md").read_text()
    with_results = {path.stem for path in figures.RESULTS.glob("*.json") if figures.kept(path.stem)}
    assert with_results == set(re.findall(r"<!-- figures:([\w-]+) -->", page)) - {"summary"}
    assert figures.PICTURE.read_bytes().startswith(b"\x89PNG")


def test_a_result_that_changes_makes_the_block_stale(tmp_path, monkeypatch):
    for path in figures.RESULTS.glob("*.json"):
        (tmp_path / path.name).write_text(path.read_text())
    changed = json.loads((tmp_path / "pairwise.json").read_text())
    changed["arrays"]["results"][0]["seconds"] = 0.123
    changed["arrays"] |= {"date": "2030-01-02", "commit": "abc1234"}
    (tmp_path / "pairwise.json").write_text(json.dumps(changed))
    monkeypatch.setattr(figures, "RESULTS", tmp_path)
    text = figures.rewritten((figures.ROOT / "README.md").read_text())
    assert "| 0.12 s |" in text
    assert "2030-01-02: abc1234" in text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0045, "4.5 ms"), (0.0996, "0.1 s"), (1.234, "1.2 s"), (14.75, "15 s")]
)
def test_times_are_short(seconds, text):
    assert figures.time_of(seconds) == text


def test_every_command_that_a_page_quotes_can_be_run_by_the_one_that_measures_all():
    named = measure.commands()
    words = [command.words for command in named]
    assert len(words) == len(set(words)) > 20
    assert len({command.file for command in named}) == len(named), "each keeps what it prints in a file of its own"
    for command in named:
        module = figures.ROOT / (command.words.split()[0].replace(".", "/") + ".py")
        assert module.exists() or (module.with_suffix("") / "__main__.py").exists(), command
    pages = {page for command in named for page in command.pages}
    assert {"README.md", "docs/leagues.md", "docs/judge.md", "docs/active-theory.md"} <= pages


def test_what_only_a_user_has_is_not_made_up():
    assert measure.filled("papers.ordinal --data DIR", None) is None
    assert measure.filled("papers.ordinal --data DIR", "a b") == "papers.ordinal --data 'a b'"
    assert measure.filled("benchmarks.run --full --data DIR", None) == "benchmarks.run --full"
    assert measure.filled("benchmarks.judge injections --base-url URL --model NAME", "d") is None
    assert measure.filled("benchmarks.active grid --picture FILE", "d") is None


def test_what_was_printed_is_kept_with_day_and_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "PRINTED", tmp_path / "printed")
    command = measure.Command("papers.nothing --here", ("docs/x.md",))
    assert not measure.measured(command, "papers.there_is_no_such_thing")
    assert command.last() == "not kept"
    assert measure.measured(command, "this"), "the Zen of Python stands for a table"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d, \w*\+?", command.last())
    assert "Beautiful is better than ugly." in command.file.read_text()
