"""What holds for every command: its help, and how it refuses what cannot be."""

import importlib
import os
import re

import click
import numpy as np
import polars as pl
import pytest

from podium.cli import ABOUT, COMMANDS, run
from podium.cli.help import GroupedCommand

from suites.ordinal import graded

LABEL = ["--labels", "tag_*", "--id", "doc"]
# Command -> (arguments that work, an option with a value it cannot have, an option that names a column); None: no such.
CALLS = {
    "ask": (["items.csv", "--log", "log.jsonl"], ["--budget", "0"], "--id"),
    "campaign add-items": (["more.csv", "--db", "c.db"], None, "--id"),
    "campaign close": (["--db", "c.db"], None, None),
    "campaign export": (["votes", "--db", "c.db", "-o", "out.csv"], None, None),
    "campaign import": (["ballots.csv", "--db", "c.db"], None, None),
    "campaign invite": (["Bob", "--db", "c.db"], ["--target", "0"], None),
    "campaign new": (["items.csv", "--title", "T", "--question", "Q?", "--db", "new.db"], ["--top", "0"], "--id"),
    "campaign open": (["--db", "c.db"], None, None),
    "campaign pause": (["--db", "c.db"], None, None),
    "campaign votes": (["--db", "c.db"], ["--format", "xml"], None),
    "check": (["votes.csv", "--replicates", "9"], ["--replicates", "none"], "--winner"),
    "compare": (["votes.csv", "--method", "win-rate", "--folds", "3"], ["--folds", "1"], "--winner"),
    "demo": (["labels", "--folder", "shown"], ["--seed", "x"], None),
    "diff": (["votes.csv", "other.csv"], ["--level", "2"], "--winner"),
    "grade evaluate": (["grades.csv", "--model", "grade.podium", "--label", "g"], ["--format", "xml"], "--label"),
    "grade fit": (["grades.csv", "--save", "new.podium", "--label", "g"], ["--passes", "0"], "--label"),
    "grade predict": (["grades.csv", "--model", "grade.podium"], ["--level", "2"], "--id"),
    "judge": (["items.csv", "--question", "Q?", "--command", "cat", "--dry-run"], ["--concurrency", "0"], "--id"),
    "label evaluate": (["tags.csv", "--model", "label.podium", *LABEL], ["--at", "x"], "--id"),
    "label fit": (["tags.csv", "--save", "new.podium", *LABEL], ["--C", "much"], "--id"),
    "label predict": (["tags.csv", "--model", "label.podium", *LABEL], ["--top", "0"], "--id"),
    "metrics": (["qrels.csv", "run.csv"], ["--gain", "square"], None),
    "plan": (["--items", "5", "--runs", "1", "--reliability", "0.3"], ["--items", "2"], None),
    "predict": (["features.csv", "--model", "rabf.podium"], ["--format", "xml"], "--id"),
    "rank": (["votes.csv"], ["--l2", "much"], "--winner"),
    "serve": (["--db", "served.db", "--port", "0"], ["--port", "x"], None),
    "simulate": (["-n", "5", "--runs", "1", "--preset", "quick"], ["--runs", "0"], None),
}


def leaves():
    """Every command that does something, by what is typed."""
    for name, place in COMMANDS.items():
        module, _, function = place.partition(":")
        command = getattr(importlib.import_module(module), function)
        if isinstance(command, click.Group):
            yield from ((f"{name} {part}", each) for part, each in command.commands.items())
        else:
            yield name, command


def call(capfd, *args):
    with pytest.raises(SystemExit) as stop:
        run([str(arg) for arg in args])
    out, err = capfd.readouterr()
    return stop.value.code, out, err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A file for each kind of input, and a model for each command that reads one."""
    path = tmp_path_factory.mktemp("files")
    rng = np.random.default_rng(0)
    (path / "votes.csv").write_text("winner,loser\n" + "a,b\nb,a\nb,c\nc,b\na,c\nc,a\n" * 3)
    (path / "other.csv").write_text("winner,loser\n" + "a,b\nb,a\na,c\nc,b\nb,c\nc,a\n" * 3)
    (path / "items.csv").write_text("id,text\na,tea\nb,milk\n")
    (path / "more.csv").write_text("id,text\nc,coffee\n")
    (path / "ballots.csv").write_text("winner,loser,judge\na,b,Ann\n")
    (path / "features.csv").write_text("item,size\na,1\nb,3\nc,2\n")
    X, y, _ = graded(n=60)
    pl.DataFrame({f"x{j}": X[:, j] for j in range(4)}).with_columns(g=pl.Series(y)).write_csv(path / "grades.csv")
    tags = {f"tag_{j}": rng.integers(0, 2, 30) for j in range(3)}
    pl.DataFrame({"doc": range(30), "x": rng.normal(size=30), **tags}).write_csv(path / "tags.csv")
    (path / "qrels.csv").write_text("query,doc,relevance\nq,a,1\nq,b,0\n")
    (path / "run.csv").write_text("query,doc,score\nq,a,2\nq,b,1\n")
    before = os.getcwd()
    os.chdir(path)
    try:
        for line in (
            "campaign new items.csv --title T --question Q? --db c.db",
            "grade fit grades.csv --label g --save grade.podium",
            "label fit tags.csv --labels tag_* --id doc --save label.podium",
            "rank votes.csv --features features.csv --feature-penalty 1 --residual-penalty 1 --save rabf.podium",
        ):
            with pytest.raises(SystemExit) as stop:
                run(line.split())
            assert stop.value.code == 0
    finally:
        os.chdir(before)
    return path


def is_a_sentence(err):
    assert err.count("\n") == 1, err
    assert err.startswith("podium: ")
    assert "Traceback" not in err
    assert not re.search(r"\b[a-z_]+=(?!\S*/)", err.replace("--judge=", "")), "a Python parameter"


def test_the_table_has_every_command():
    assert set(CALLS) == {name for name, _ in leaves()}


def test_the_first_help_has_a_whole_sentence_for_every_command(capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = call(capfd, "--help")
    assert (code, err) == (0, "")
    assert list(ABOUT) == list(COMMANDS)
    rows = [line.split(maxsplit=1) for line in out.partition("Commands:\n")[2].splitlines() if line]
    assert rows == [[name, about] for name, about in ABOUT.items()], "each on one line, none cut off"
    assert all(len(line) <= 80 for line in out.splitlines())
    assert all(re.match(r"[A-Z].*[.?]$", about) for about in ABOUT.values())


@pytest.mark.parametrize("name", CALLS)
def test_help_says_in_whole_sentences_what_each_option_does(name, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command = dict(leaves())[name]
    code, out, err = call(capfd, *name.split(), "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: podium {name}")
    assert isinstance(command, GroupedCommand), "options are listed in groups"
    for option in command.params:
        if isinstance(option, click.Option):
            words = re.sub(r"\s+\[.*?\]$", "", option.help or "")
            assert re.match(r"[A-Z].*[.]$", words, re.DOTALL), f"{option.opts}: {option.help}"
            assert len(words.split()) > 2, f"{option.opts}: {option.help}"
            assert hasattr(option, "group") or option.name == "help", f"{option.opts} is in no group"
    assert all(len(line) <= 80 for line in out.splitlines()), out
    assert f"$ podium {name}" in out, "there is an example"


@pytest.mark.parametrize("group", ["campaign", "grade", "label"])
def test_the_help_of_a_group_has_each_command_on_one_line(group, capfd, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    out = call(capfd, group, "--help")[1]
    rows = [line.split(maxsplit=1) for line in out.partition("Commands:\n")[2].splitlines() if line]
    assert [name for name, _ in rows] == sorted(name.split()[1] for name in CALLS if name.startswith(f"{group} "))
    assert all(re.match(r"[A-Z].*[^.]\.$", about) for _, about in rows), out


@pytest.mark.parametrize("name", [name for name, (_, bad, _) in CALLS.items() if bad])
def test_a_value_that_an_option_cannot_have_is_one_sentence(name, folder, capfd, monkeypatch):
    monkeypatch.chdir(folder)
    good, bad, _ = CALLS[name]
    code, out, err = call(capfd, *name.split(), *good, *bad)
    assert (code, out) == (2, "")
    is_a_sentence(err)
    assert bad[0] in err
    assert bad[1] in err


COUNTS = [
    (name, option)
    for name, command in leaves()
    for option in command.params
    if isinstance(option.type, click.types.IntParamType) and option.name != "seed"
]


@pytest.mark.parametrize(("name", "option"), COUNTS, ids=lambda each: getattr(each, "name", each))
def test_a_count_beyond_all_counting_is_one_sentence(name, option, folder, capfd, monkeypatch):
    """Frames and arrays count to 2**63: a larger number must not get as far as them."""
    monkeypatch.chdir(folder)
    code, out, err = call(capfd, *name.split(), *CALLS[name][0], option.opts[-1], 10**25)
    assert (code, out) == (2, "")
    is_a_sentence(err)
    assert f"'{option.opts[-1]}'" in err or f"'{option.opts[0]}'" in err


@pytest.mark.parametrize("name", [name for name, (good, _, _) in CALLS.items() if good[0].endswith(".csv")])
def test_a_file_that_is_not_there_is_one_sentence(name, folder, capfd, monkeypatch):
    monkeypatch.chdir(folder)
    good, _, _ = CALLS[name]
    code, out, err = call(capfd, *name.split(), "absent.csv", *good[1:])
    assert (code, out) == (2, "")
    is_a_sentence(err)
    assert "absent.csv" in err
    if "--model" in good:
        at = good.index("--model") + 1
        code, out, err = call(capfd, *name.split(), *good[:at], "absent.podium", *good[at + 1 :])
        assert (code, out) == (2, "")
        is_a_sentence(err)
        assert "absent.podium" in err


@pytest.mark.parametrize("name", [name for name, (_, _, column) in CALLS.items() if column])
def test_a_column_that_is_not_there_is_one_sentence(name, folder, capfd, monkeypatch):
    monkeypatch.chdir(folder)
    good, _, column = CALLS[name]
    code, out, err = call(capfd, *name.split(), *good, column, "nowhere")
    assert (code, out) == (2, "")
    is_a_sentence(err)
    assert "no column 'nowhere'" in err


@pytest.mark.parametrize("name", CALLS)
def test_the_good_call_works(name, folder, capfd, monkeypatch):
    """Else the refusals above could be about something else."""
    if name in ("ask", "serve"):
        pytest.skip("asks a person" if name == "ask" else "runs until it is stopped; see tests/web/test_serve.py")
    monkeypatch.chdir(folder)
    code, out, err = call(capfd, *name.split(), *CALLS[name][0])
    assert code == 0, err
    assert out or err


def test_an_interrupted_command_says_so_and_exits_with_130(folder, capfd, monkeypatch):
    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.chdir(folder)
    monkeypatch.setattr("podium.data.files.read_votes", interrupted)
    code, out, err = call(capfd, "rank", "votes.csv")
    assert (code, out, err.strip()) == (130, "", "interrupted")
