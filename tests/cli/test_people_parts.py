"""Parts of the commands for people who judge: interviews, questions on a screen, campaigns, the server."""

import contextlib
import io
import socket
import threading
import types
from pathlib import Path

import click
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from rich.console import Console

from podium.cli import ask, campaign, campaign_files, interview, serve
from podium.cli.interview import LEASE, Interview
from podium.cli.question import Question, plain
from podium.errors import InputError, UnavailableError

from helpers import Noted, refusal

# ---- a question on a screen -----------------------------------------------------------------------------------------


def screen(width=60, height=20):
    return Console(file=io.StringIO(), width=width, height=height, legacy_windows=False)


def lines_shown(question, console):
    console.file.truncate(0)
    console.file.seek(0)
    console.print(question.shown())
    return console.file.getvalue().splitlines()


def test_two_texts_stand_side_by_side_in_half_of_the_screen_each():
    console = screen(60)
    question = Question(("a", "b"), {"a": "tea", "b": "milk"}, console)
    lines = lines_shown(question, console)
    assert lines[0].index("1 a") < 29 < lines[0].index("2 b")
    assert {len(line.rstrip()) for line in lines} == {58}  # two of half of what is left beside two columns
    assert len(lines) == 1 + 4  # borders and a free line around the one that is shown
    assert "tea" in lines[2]
    assert "milk" in lines[2]
    assert question.pages == 1
    narrow = screen(30)
    assert Question(("a", "b"), {"a": "x", "b": "y"}, narrow)._width == 20


@pytest.mark.parametrize(("height", "rows"), [(20, 11), (14, 5), (10, 5), (13, 5), (15, 6)])
def test_a_page_is_what_the_screen_has_beside_nine_lines_and_at_least_five(height, rows):
    console = screen(60, height)
    text = "\n".join(f"line {k}" for k in range(23))
    question = Question(("a", "b"), {"a": text, "b": "short"}, console)
    pages = -(-23 // rows)
    assert question.pages == pages
    seen = []
    for page in range(pages):
        lines = lines_shown(question, console)
        assert len(lines) == rows + 4
        begin = min(page * rows, 23 - rows)
        shown = [line for line in text.splitlines() if any(f"{line} " in each for each in lines)]
        assert shown == [f"line {k}" for k in range(begin, begin + rows)]
        assert f"lines {begin + 1}–{begin + rows} of 23" in lines[-1]
        assert lines[-1].count("lines ") == 1, "the short text has one page"
        assert any("short" in line for line in lines)
        seen.append(question.page)
        question.turn()
    assert seen == list(range(pages))
    assert question.page == 0


def test_a_text_of_a_whole_page_has_one():
    console = screen(60, 20)
    question = Question(("a", "b"), {"a": "\n".join("x" * 11), "b": ""}, console)
    assert question.pages == 1
    assert not any("of 11" in line for line in lines_shown(question, console))


def test_lines_are_as_wide_as_the_panel_less_border_and_padding():
    console = screen(60)  # each panel has 29 columns, and 23 inside
    question = Question(("a", "b"), {"a": "x" * 23, "b": "x" * 24}, console)
    assert [len(lines) for lines in question._lines] == [1, 2]


def test_brackets_and_control_characters_do_nothing():
    console = screen(60)
    question = Question(("[b]a", "b"), {"[b]a": "one\ttwo\x1b[31m\n[i]three", "b": "x"}, console)
    text = "\n".join(lines_shown(question, console))
    for words in ("[b]a", "one two", "[i]three"):
        assert words in text
    assert "\x1b[31m" not in text
    assert plain("a\nb[c]") == "a\\nb\\[c]"


# ---- an interview ---------------------------------------------------------------------------------------------------


class Journal:
    """In place of a log: notes what is done to it."""

    def __init__(self, rows=()):
        self.rows, self.path, self.done = list(rows), "log.jsonl", []
        self.standing = types.SimpleNamespace(
            held_by=lambda judge, now: [(("x", "y"), judge)], out=self._out, counting=list
        )

    def _out(self, now, but):
        self.done.append(("out", now, but))
        return {"out"}

    def time(self, now):
        return now + 1000.0

    def join(self, judge):
        self.done.append(("join", judge))

    def release(self, judge, now):
        self.done.append(("release", judge, now))

    def lease(self, questions, judge, now, seconds):
        self.done.append(("lease", questions, judge, now, seconds))

    def note(self, rows):
        self.done.append(("note", rows))
        self.rows += rows

    def undo(self, judge, now, until):
        self.done.append(("undo", judge, until))

    @contextlib.contextmanager
    def locked(self):
        self.done.append("locked")
        yield
        self.done.append("unlocked")


class Ranker:
    preset, done, asked, answered, model_, budget = "quick", False, (), 0, None, None
    items = ("a", "b", "c", "d")

    def __init__(self, **more):
        self.taken, self.calls = [], []
        for name, value in more.items():
            setattr(self, name, value)

    def take_rows(self, rows):
        self.taken += rows

    def next_pair(self, judge, out):
        self.calls.append((judge, out))
        return (("a", "b"), "check")


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(interview.time, "time", lambda: 50.0)


def begun(ranker=None, judge=None, rows=()):
    made = Interview(ranker or Ranker(), {"a": "x"}, judge, Journal(rows))
    made.console = Console(file=io.StringIO(), width=100)
    return made


def said(made):
    return made.console.file.getvalue()


def test_a_judge_with_a_name_joins_and_gets_what_was_in_hand(clock):
    made = begun(judge="ann", rows=[1, 2])
    assert made.journal.done == [("join", "ann")]
    assert made.again == [(("x", "y"), "ann")]
    assert (made._taken, made.told_stable, made.judge) == (2, False, "ann")
    nobody = begun()
    assert (nobody.journal.done, nobody.again) == ([], [])
    console = Interview(Ranker(), {}, None, Journal()).console
    assert console.stderr is True
    assert console.render_str("12 'votes'").spans == [], "nothing is coloured that we did not colour"


@pytest.mark.parametrize("judge", [None, "ann"])
def test_the_next_pair_is_around_what_others_have_in_hand_and_is_leased(clock, judge):
    made = begun(judge=judge, rows=[])
    assert LEASE == 600.0
    made.again.clear()
    made.journal.done.clear()
    made.journal.rows.append({"left": "a"})
    assert made._next() == (("a", "b"), "check")
    assert made.ranker.calls == [(judge, {"out"})]
    lease = [("lease", [(("a", "b"), "check")], judge, 50.0, LEASE)] if judge else []
    assert made.journal.done == ["locked", ("out", 1050.0, judge), *lease, "unlocked"]
    assert made.ranker.taken == [{"left": "a"}]
    made.ranker.next_pair = lambda judge, out: None
    made.journal.done.clear()
    assert made._next() is None
    assert made.journal.done == ["locked", ("out", 1050.0, judge), "unlocked"]


def test_what_was_left_open_comes_first(clock):
    made = begun()
    made.again = [(("c", "d"), "chosen"), (("a", "b"), "check")]
    assert made._next() == (("a", "b"), "check")
    assert made._next() == (("c", "d"), "chosen")
    assert made.journal.done == []


def test_the_papers_path_asks_one_pair_at_a_time_by_a_row(clock):
    made = begun(Ranker(preset="paper", asked=(("c", "d"),)))
    assert made._next() == (("c", "d"), "chosen")
    assert made.journal.done == ["locked", ("note", [{"podium": "ask", "max_pairs": 1}]), "unlocked"]
    assert made.ranker.taken == [{"podium": "ask", "max_pairs": 1}]
    assert begun(Ranker(preset="paper"))._next() is None
    done = begun(Ranker(preset="paper", done=True, asked=(("c", "d"),)))
    assert done._next() is None
    assert not any(isinstance(each, tuple) for each in done.journal.done)


def test_rows_are_taken_once(clock):
    made = begun(rows=[{"n": 1}])
    made.journal.rows += [{"n": 2}, {"n": 3}]
    made._catch_up()
    made._catch_up()
    made.journal.rows.append({"n": 4})
    made._catch_up()
    assert made.ranker.taken == [{"n": 2}, {"n": 3}, {"n": 4}]
    made.journal.rows.append({"podium": "item", "item": "new"})
    assert refusal(made._catch_up) == (
        "log.jsonl: somebody has added ['new'] since this session began; your answers are kept: call again with the "
        "longer table of items"
    )


@pytest.mark.parametrize("judge", [None, "ann"])
def test_whoever_leaves_hands_back_and_takes_the_last_rows(clock, judge):
    made, order = begun(judge=judge), []
    made._interview = lambda: order.append("interview")
    made._catch_up = lambda: order.append("taken")
    made.journal.done.clear()
    made.run()
    assert order == ["interview", "taken"]
    assert made.journal.done == [*([("release", "ann", 50.0)] if judge else []), "locked", "unlocked"]

    def fails():
        raise InputError("no")

    made._interview = fails
    made.journal.done.clear()
    refusal(made.run)
    assert made.journal.done == ([("release", "ann", 50.0)] if judge else [])


@pytest.mark.parametrize(("key", "undone"), [("u", 1), ("x", 0)])
def test_at_the_end_the_last_answer_may_be_taken_back(clock, key, undone):
    made, asks, undos = begun(), [True, False], []
    made.ranker.summary = lambda: "12 votes\nall stable"
    made.ranker.model_ = "a score of features"
    made._ask = lambda: asks.pop(0)
    made._ended = lambda: "Done."
    made._press = lambda: key
    made._undo = lambda: undos.append(1)
    made._interview()
    assert len(undos) == undone
    assert len(asks) == 1 - undone
    assert said(made).splitlines() == [
        "Done. 12 votes; all stable", "a score of features", "u undo the last answer, any other key ends"]  # fmt: skip


def test_an_interview_that_is_quit_says_nothing_more(clock):
    made = begun()
    made._ask = lambda: False
    made._interview()
    assert said(made) == ""
    made = begun()
    made.ranker.summary = lambda: "s"
    made._ask, made._ended, made._press = (lambda: True), (lambda: "Done."), (lambda: "q")
    made._interview()
    assert said(made).count("\n") == 2  # without a model of features


@pytest.mark.parametrize(("judge", "until"), [(None, None), ("ann", 1050.0 + LEASE)])
def test_who_undoes_has_the_pair_in_hand_for_as_long_as_any(clock, judge, until):
    made = begun(judge=judge)
    made.journal.done.clear()
    made._undo()
    assert made.journal.done == [("undo", judge, until)]
    made.journal.undo = lambda *args, **more: {"left": "a", "right": "b", "kind": "check"}
    made.again.clear()
    made._undo()
    assert made.again == [(("a", "b"), "check")]


def test_the_first_three_are_shown_where_they_take_no_wait():
    order = types.SimpleNamespace(order=(3, "b", "c", "d"))
    for count, answered, shown in ((4, 1, ["3", "b", "c"]), (150, 1, ["3", "b", "c"]), (151, 1, []), (4, 0, [])):
        ranker = Ranker(items=range(count), answered=answered, ranking_=order)
        assert begun(ranker)._leaders() == shown


@pytest.mark.parametrize("terminal", [True, False, None])
def test_the_standing_is_a_table_of_twenty(monkeypatch, terminal):
    rows = [
        {"rank": k, "item": f"[i]{k}", "rank_lower": k, "rank_upper": k + 1, "tier": 7, "answers": 9}
        for k in range(1, 23)
    ]
    made, pressed = begun(Ranker(ranks=lambda: pl.DataFrame(rows), summary=lambda: "the summary")), []
    made._press = lambda: pressed.append(1)
    stdin = None if terminal is None else types.SimpleNamespace(isatty=lambda: terminal)
    monkeypatch.setattr("sys.stdin", stdin)
    made._standing()
    text = said(made)
    assert "[i]20" in text
    assert "[i]21" not in text
    assert [word.strip() for word in text.splitlines()[1].strip("┃").split("┃")] == [
        "rank", "item", "may be", "tier", "answers"]  # fmt: skip
    assert [cell.strip() for cell in text.splitlines()[3].strip("│").split("│")] == ["1", "[i]1", "1–2", "7", "9"]
    assert "the summary" in text
    assert ("any key goes back to the question" in text) is (len(pressed) == 1) is (terminal is True)


def test_a_key_of_a_terminal_is_taken_as_it_is(monkeypatch):
    made = begun()
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(isatty=lambda: True, closed=False))
    monkeypatch.setattr(click, "getchar", lambda: "x")
    assert made._press() == "x"

    def ends(problem):
        raise problem

    for problem in (KeyboardInterrupt, EOFError):
        monkeypatch.setattr(click, "getchar", lambda problem=problem: ends(problem))
        assert made._press() == "q"
    monkeypatch.setattr("sys.stdin", types.SimpleNamespace(closed=True))
    assert made._press() == "q"


def test_times_are_whole_seconds_of_utc():
    assert interview._now().endswith("+00:00")
    assert len(interview._now()) == len("2026-11-18T12:00:00+00:00")


# ---- what an interview is begun with --------------------------------------------------------------------------------


def test_items_have_labels_and_texts_by_their_usual_names(tmp_path):
    def read(text, *columns):
        (tmp_path / "i.csv").write_text(text)
        return ask._read_items(str(tmp_path / "i.csv"), *(columns or (None, None)))

    assert read("text,id\nGreen,tea\n,milk\n") == {"tea": "Green", "milk": ""}
    assert read("name,colour\ntea,green\nmilk,white\n") == {"tea": "tea", "milk": "milk"}
    assert read("name,colour\ntea,green\nmilk,white\n", "colour", "name") == {"green": "tea", "white": "milk"}
    assert read("id\n1\n2\n") == {"1": "1", "2": "2"}
    place = tmp_path / "i.csv"
    assert refusal(read, "id,text\na,b\nc,d\n", "id", "x") == f"{place}: no column 'x'; there are id, text"
    assert refusal(read, "id,text\na,b\nc,d\n", "x", None) == f"{place}: no column 'x'; there are id, text"


def test_features_of_the_items_leave_labels_and_texts_out(tmp_path):
    def read(text, missing=None, one_hot=None, id_column=None, text_column=None, items=("b", "a")):
        (tmp_path / "f.csv").write_text(text)
        return ask._read_features(str(tmp_path / "f.csv"), missing, one_hot, id_column, text_column, list(items))

    assert read("id,x,text\na,1,t\nb,2,u\nc,3,v\n").tolist() == [[2.0], [1.0]]
    assert read("id,x,body\na,1,t\nb,2,u\n", text_column="body").tolist() == [[2.0], [1.0]]
    assert read("name,x\na,1\nb,2\n", id_column="name").tolist() == [[2.0], [1.0]]
    assert read("name,x\na,1\nb,2\n", id_column="other").tolist() == [[2.0], [1.0]]
    assert read("x,id\n1,a\n2,b\n").tolist() == [[2.0], [1.0]]
    assert read("id,x\n1,5\n2,6\n", items=("2", "1")).tolist() == [[6.0], [5.0]]
    assert read("id,x\na,\nb,2\nc,4\n", missing="mean").shape == (2, 1)
    hot = read("id,kind\na,red\nb,blue\n", one_hot=True)
    assert hot.shape == (2, 1)
    assert hot[0, 0] != hot[1, 0]
    assert ask._read_features(None, None, None, None, None, []) is None
    told = "{}= is about features=, which is not given; drop it"
    assert refusal(ask._read_features, None, "mean", None, None, None, []) == told.format("missing")
    assert refusal(ask._read_features, None, None, True, None, None, []) == told.format("one_hot")


def test_more_items_join_a_log_and_are_counted(monkeypatch, capsys):
    asked, rows = Noted(types.SimpleNamespace(answered=1)), []
    monkeypatch.setattr("podium.active.ActiveRanker", types.SimpleNamespace(replay=asked))
    same = Noted()
    monkeypatch.setattr(ask, "_same_options", same)

    def resumed(n, labels, fits=True, added=0):
        rows.clear()
        journal = types.SimpleNamespace(
            head={"n": n}, standing=types.SimpleNamespace(added=["x"] * added), path="l.jsonl", rows="rows",
            fits=lambda known: fits, append=rows.extend,
        )  # fmt: skip
        made = ask._resumed(journal, dict.fromkeys(labels, ""), "features")
        return made, capsys.readouterr().err.splitlines()

    made, err = resumed(3, "abc")
    assert made is asked.answer
    assert asked.calls == [((["a", "b", "c"], "rows"), {"features": "features"})]
    assert (rows, err) == ([], ["resumed l.jsonl: 1 answer"])
    assert same.calls == [(("l.jsonl", made), {})]
    _, err = resumed(2, "abcd")
    assert rows == [{"podium": "item", "item": "c"}, {"podium": "item", "item": "d"}]
    assert err == ["2 more items", "resumed l.jsonl: 1 answer"]
    _, err = resumed(2, "abcd", added=1)
    assert rows == [{"podium": "item", "item": "d"}]
    assert err[0] == "1 more item"
    for more in ({"fits": False}, {"added": 2}):
        assert resumed(2, "abcd", **more)[1] == ["resumed l.jsonl: 1 answer"]
        assert rows == []
    resumed(1, "abcd")
    assert rows == [], "of fewer than two items nothing was asked"
    assert refusal(resumed, "3", "abc") == "l.jsonl: its header says '3' items; the log is damaged"


@pytest.mark.parametrize(("typed", "words"), [
    ({"preset": "quick"}, "with --preset thorough; leave --preset"), ({"preset": "thorough"}, None), ({"top": 3}, None),
    ({"top": 2}, "with --top 3; leave --top"), ({"budget": 9}, "without --budget; leave --budget"), ({"seed": 4}, None),
    ({"seed": 5}, "with --seed 4; leave --seed"),
    ({"random_share": 0.5}, "with --random-share 0.1; leave --random-share"),
])  # fmt: skip
def test_a_log_goes_on_as_it_was_begun(typed, words):
    ranker = types.SimpleNamespace(preset="thorough", goal=("top", 3), budget=None, random_share=0.1, seed=4)
    with click.Context(ask.ask) as context:
        context.params = dict.fromkeys(("preset", "top", "budget", "random_share", "seed")) | typed
        for name in typed:
            context.set_parameter_source(name, click.core.ParameterSource.COMMANDLINE)
        if words is None:
            ask._same_options("l.jsonl", ranker)
        else:
            told = refusal(ask._same_options, "l.jsonl", ranker)
            assert told == f"l.jsonl was begun {words} out to go on, or begin another log"


def test_a_log_of_the_whole_order_has_no_first():
    ranker = types.SimpleNamespace(preset="quick", goal="order", budget=None, random_share=0.1, seed=4)
    with click.Context(ask.ask) as context:
        context.params = {"top": 3}
        context.set_parameter_source("top", click.core.ParameterSource.COMMANDLINE)
        told = refusal(ask._same_options, "l.jsonl", ranker)
    assert told == "l.jsonl was begun without --top; leave --top out to go on, or begin another log"


# ---- campaigns ------------------------------------------------------------------------------------------------------


def test_a_password_is_not_shown():
    assert campaign._safe("campaign.db") == "campaign.db"
    assert campaign._safe("postgresql://ann:p@w:1@host/name") == "postgresql://ann@host/name"
    assert campaign._safe("postgresql:///name?user=ann&password=pw") == "postgresql:///name?user=ann&password=…"
    assert campaign._safe("postgresql://ann@host:5/name") == "postgresql://ann@host:5/name"
    assert campaign._safe("postgresql://host/name") == "postgresql://host/name"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("items.csv").write_text("id,text,x\na,tea,1\nb,milk,2\nc,coffee,3\n")
    Path("more.csv").write_text("name,body,x\nd,juice,4\ne,water,5\n")
    Path("how.txt").write_text("Read both.")
    return tmp_path


def call(*args):
    done = CliRunner().invoke(campaign.campaign, [str(arg) for arg in args])
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def content():
    from podium.store.file import read_campaign_file

    return read_campaign_file("campaign.db")


def test_a_campaign_is_made_of_all_that_was_typed(folder):
    done = call(
        "new",
        "items.csv",
        "--title",
        "Drinks",
        "--question",
        "Better?",
        "--instructions",
        "how.txt",
        "--features",
        "x",
        "--judge",
        "Ann",
        "--judges",
        2,
        "--no-ties",
        "--top",
        2,
        "--votes-per-pair",
        3,
        "--budget",
        40,
        "--target",
        5,
        "--check-share",
        0.2,
        "--seed",
        7,
        "--marks",
        "0:10",
        "--boundaries",
        "A=5",
        "--url",
        "https://x.example",
        "--format",
        "csv",
    )
    made = content()
    it = made.campaign
    assert (it.title, it.question, it.instructions, it.seed) == ("Drinks", "Better?", "Read both.", 7)
    options = it.options if not isinstance(it.options, dict) else types.SimpleNamespace(**it.options)
    for name, value in {
        "ties": False,
        "top": 2,
        "votes_per_pair": 3,
        "budget": 40,
        "target": 5,
        "check_share": 0.2,
    }.items():
        assert getattr(options, name) == value, name
    assert options.marks == {"scale": [0.0, 10.0], "boundaries": {"A": 5.0}}
    assert [(item.label, item.body) for item in made.items] == [("a", "tea"), ("b", "milk"), ("c", "coffee")]
    rows = [line.split(",") for line in done.stdout.splitlines()[1:]]
    assert [who for who, _ in rows] == ["organiser", "Ann", "judge 1", "judge 2"]
    assert all(link.startswith(f"https://x.example/{'j' if k else 'o'}#") for k, (_, link) in enumerate(rows))


def test_items_are_added_under_the_names_of_their_columns(folder):
    call("new", "items.csv", "--id", "text", "--text", "id")
    assert [(item.label, item.body) for item in content().items] == [("tea", "a"), ("milk", "b"), ("coffee", "c")]
    done = call("add-items", "more.csv", "--id", "body", "--text", "name")
    assert done.stderr == "2 items added, 5 in all\n"
    assert [(item.label, item.body) for item in content().items][3:] == [("juice", "d"), ("water", "e")]
    again = CliRunner().invoke(campaign.campaign, ["add-items", "more.csv", "--id", "body"])
    assert isinstance(again.exception, InputError)


@pytest.mark.parametrize(("verb", "state"), [("pause", "paused"), ("close", "closed")])
def test_a_campaign_is_paused_closed_and_opened(folder, verb, state):
    call("new", "items.csv")
    assert call(verb).stderr == f"campaign 'items' is {state}\n"
    assert content().campaign.state == state
    if verb == "pause":
        assert call("open").stderr == "campaign 'items' is open\n"
        assert content().campaign.state == "open"


def test_judges_are_invited_with_a_target(folder):
    call("new", "items.csv")
    done = call("invite", "Bob", "Zoe", "--target", 9, "--url", "https://x.example", "--format", "csv")
    rows = [line.split(",") for line in done.stdout.splitlines()[1:]]
    assert [who for who, _ in rows] == ["Bob", "Zoe"]
    assert all(link.startswith("https://x.example/j#") for _, link in rows)
    assert {judge.name: judge.target for judge in content().judges if judge.name in ("Bob", "Zoe")} == {
        "Bob": 9,
        "Zoe": 9,
    }


@pytest.mark.parametrize(
    ("what", "name", "suffixes"),
    [
        ("votes", "x.html", ".csv, .json, .jsonl, .parquet"),
        ("ranking", "x", ".csv, .json, .jsonl, .parquet"),
        ("journal", "x.csv", ".jsonl"),
        ("calls", "x.csv", ".jsonl"),
        ("report", "x.csv", ".html"),
        ("all", "x.csv", ".zip"),
    ],
)
def test_what_is_exported_has_a_suffix_of_its_own(folder, what, name, suffixes):
    done = CliRunner().invoke(campaign.campaign, ["export", what, "-o", name])
    assert str(done.exception) == f"{name}: {what} is written to {suffixes}; choose that suffix"


def test_all_can_be_taken_out_and_in_again(folder):
    call("new", "items.csv", "--title", "Drinks")
    Path("votes.csv").write_text("winner,loser,judge\na,b,Ann\nb,c,Ann\na,c,Ann\n")
    assert call("import", "votes.csv").stderr == "3 votes added, 0 items and 1 judge new\n"
    assert call("import", "votes.csv").stderr == "0 votes added, 3 rows there already, 0 items and 0 judges new\n"
    for suffix in ("csv", "json", "jsonl", "parquet"):
        assert call("export", "votes", "-o", f"v.{suffix}").stderr == f"wrote v.{suffix}\n"
        call("export", "ranking", "-o", f"r.{suffix.upper()}")
    readers = {"csv": pl.read_csv, "json": pl.read_json, "jsonl": pl.read_ndjson, "parquet": pl.read_parquet}
    assert {len(read(f"v.{suffix}")) for suffix, read in readers.items()} == {3}
    assert {len(read(f"r.{suffix.upper()}")) for suffix, read in readers.items()} == {3}
    assert pl.read_csv("r.CSV")["item"].to_list() == ["a", "b", "c"]
    call("export", "journal", "-o", "j.jsonl")
    lines = Path("j.jsonl").read_text().split("\n")
    assert (sum('"outcome"' in line for line in lines), lines[-1], "" in lines[:-1]) == (3, "", False)
    call("export", "calls", "-o", "c.jsonl")
    call("export", "report", "-o", "p.html")
    assert "Drinks" in Path("p.html").read_text()
    call("export", "all", "-o", "a.zip")
    done = call("import", "a.zip", "--db", "copy.db")
    assert done.stderr == "campaign 'drinks' in copy.db: 3 rows of votes\n"
    listed = call("votes", "--db", "copy.db", "--format", "csv")
    assert len(listed.stdout.splitlines()) == 4


def test_votes_on_new_items_are_taken_in_on_request(folder):
    call("new", "items.csv")
    Path("votes.csv").write_text("winner,loser,judge\na,zoe,Ann\n")
    refused = CliRunner().invoke(campaign.campaign, ["import", "votes.csv"])
    assert isinstance(refused.exception, InputError)
    assert call("import", "votes.csv", "--add").stderr == (
        "judges see the labels alone of 'zoe', beside the texts of others; add them with their texts by "
        "`podium campaign add-items` before votes on them\n1 vote added, 1 item and 1 judge new\n"
    )


def test_one_of_several_campaigns_is_named(folder):
    call("new", "items.csv", "--title", "First")
    call("new", "more.csv", "--title", "Second")
    assert call("pause", "--campaign", "second").stderr == "campaign 'second' is paused\n"
    assert call("open", "--campaign", "first").stderr == "campaign 'first' is open\n"
    assert isinstance(CliRunner().invoke(campaign.campaign, ["pause"]).exception, InputError)


def test_verbs_of_a_campaign_have_help_and_an_example():
    for verb, words in (("pause", "Give out no more pairs"), ("open", "Give out pairs, for the first time or again"),
                        ("close", "Take no more votes")):  # fmt: skip
        made = campaign.campaign.commands[verb]
        assert made.get_short_help_str(80) == f"{words}."
        assert made.examples == ((f"podium campaign {verb} --db campaign.db", "the one campaign of this file"),)
        assert made.help.startswith(words)


def test_a_campaign_file_among_votes_stands_alone(folder):
    assert campaign_files.campaign_in(("items.csv", "more.csv")) is None
    call("new", "items.csv", "--title", "Drinks")
    assert campaign_files.campaign_in(("campaign.db",)).campaign.title == "Drinks"
    told = refusal(campaign_files.campaign_in, ("items.csv", "campaign.db"))
    assert told == "campaign.db is a campaign; name it alone, or export its votes first"


def test_a_campaign_has_columns_of_its_own(monkeypatch):
    monkeypatch.setattr("podium.campaign.live.live_comparisons", lambda content: f"votes of {content}")
    assert campaign_files.campaign_votes(
        "c", {"by": None, "judge": False, "covariates": (), "jobs": 4, "keep": "rows"}
    ) == ("votes of c")
    told = refusal(campaign_files.campaign_votes, "c", {"jobs": 4, "winner": "w"})
    assert told == "winner names a column, and a campaign has its own; leave it out"


@pytest.mark.parametrize(("kinds", "told"), [(["chosen", "check"], True), (["check"], False)])
def test_chosen_pairs_say_what_intervals_are_worth(monkeypatch, capsys, kinds, told):
    live = types.SimpleNamespace(of_kind=lambda kind: np.array(kinds) == kind)
    monkeypatch.setattr("podium.campaign.live.live_votes", lambda content: live)
    campaign_files.say_if_chosen("content")
    assert capsys.readouterr().err == (f"{campaign_files.CHOSEN}\n" if told else "")


@pytest.mark.parametrize(
    ("args", "fit"),
    [
        ([], False),
        (["--top", "3"], False),
        (["-o", "x"], False),
        (["--format", "csv"], False),
        (["--level", "0.9"], True),
        (["--method", "elo"], True),
        (["--top", "3", "--ci", "none"], True),
    ],
)
def test_only_options_that_show_leave_the_standing(args, fit):
    from podium.cli.rank import rank

    with rank.make_context("rank", ["campaign.db", *args]):
        assert campaign_files.asks_for_a_fit() is fit


@pytest.mark.parametrize("why", [None, "too few votes"])
@pytest.mark.parametrize("top", [None, 2])
def test_the_standing_is_told_as_the_page_shows_it(monkeypatch, capsys, why, top):
    frame = pl.DataFrame({"item": ["a", "b", "c"]})
    now = types.SimpleNamespace(places=("a",), to_frame=lambda: frame, words=lambda left: f"{left} left")
    few = ["few known marks"] if why is None else []
    marked, chosen = types.SimpleNamespace(why=why, notes=lambda: few), []
    monkeypatch.setattr("podium.campaign.standing.standing", lambda content: now)
    monkeypatch.setattr("podium.campaign.standing.pairs_left", lambda content: 3)
    monkeypatch.setattr("podium.campaign.marks.campaign_marks", lambda content: marked)
    monkeypatch.setattr("podium.campaign.marks.with_marks", lambda frame, marks: frame.with_columns(mark=1))
    monkeypatch.setattr(campaign_files, "say_if_chosen", chosen.append)
    written = Noted()
    campaign_files.show_standing("content", top, types.SimpleNamespace(write=written, for_people=False))
    assert written.calls[0][0][0].to_dicts() == [{"item": each, "mark": 1} for each in "abc"[: top or 3]]
    marks = "marks with 95 % intervals, as the campaign asks for them" if why is None else "no marks yet: too few votes"
    last = "place_lower to place_upper hold an item's true place with a chance of about 90 %"
    assert capsys.readouterr().err.splitlines() == ["3 left", marks, *few, last]
    assert chosen == (["content"] if why is None else [])
    monkeypatch.setattr("podium.campaign.marks.campaign_marks", lambda content: None)
    campaign_files.show_standing("content", top, types.SimpleNamespace(write=written, for_people=False))
    assert capsys.readouterr().err.splitlines() == ["3 left", last]
    now.places = ()
    empty = types.SimpleNamespace(campaign=types.SimpleNamespace(slug="drinks"))
    told = refusal(campaign_files.show_standing, empty, top, None)
    assert told == "campaign 'drinks' has no votes that count yet; there is nothing to rank"


# ---- the server -----------------------------------------------------------------------------------------------------


@pytest.fixture
def served(monkeypatch, folder):
    """`podium serve` without listening: what the app and the server are made of."""
    noted = types.SimpleNamespace(app=Noted("app"), config=Noted("config"), kept=[], checked=[], runs=[])

    class Server:
        def __init__(self, config):
            assert config == "config"

        def run(self):
            noted.runs.append("run")
            if noted.interrupted:
                raise KeyboardInterrupt

    noted.interrupted = False
    monkeypatch.setattr("podium.web.app.make_app", noted.app)
    monkeypatch.setattr("uvicorn.Server", Server)
    monkeypatch.setattr("uvicorn.Config", noted.config)
    monkeypatch.setattr("podium.campaign.tokens.new_token", lambda: "secret")
    monkeypatch.setattr("podium.campaign.tokens.hash_of", lambda token: f"hash of {token}")
    monkeypatch.setattr(serve, "_check_address", lambda host, port: noted.checked.append((host, port)))
    monkeypatch.setattr(serve, "_keep", lambda hold, server, ended: noted.kept.append((type(server), ended.wait(30))))

    def call(*args):
        return CliRunner().invoke(serve.serve, [str(arg) for arg in args])

    noted.call = call
    noted.server = Server
    return noted


LAST = "stopped; every vote that was acknowledged is on disk"


def test_a_server_is_made_of_what_was_typed(served):
    done = served.call("--port", 8123, "--db", "own.db")
    assert done.exit_code == 0, done.output
    ((store,), more) = served.app.calls[0]
    assert store.name.endswith("own.db")
    assert more == {"url": "http://127.0.0.1:8123", "operator_hash": "hash of secret", "behind_proxy": False}
    assert served.config.calls == [(("app",), {
        "host": "127.0.0.1", "port": 8123, "log_level": "warning", "access_log": False, "server_header": False,
        "lifespan": "on",
    })]  # fmt: skip
    assert served.checked == [("127.0.0.1", 8123)]
    assert served.kept == [(served.server, True)]
    assert served.runs == ["run"]
    assert done.stderr.splitlines() == [
        "serving own.db at http://127.0.0.1:8123; Ctrl-C ends it", "  own.db is new and holds no campaign yet",
        "  make a campaign: http://127.0.0.1:8123/new#secret", LAST,
    ]  # fmt: skip


def test_a_server_behind_a_proxy_makes_no_campaigns_where_it_may_not(served):
    served.interrupted = True
    done = served.call("--url", "https://x.example/", "--behind-proxy", "--no-new", "--host", "0.0.0.0")
    assert done.exit_code == 0, done.output
    assert served.app.calls[0][1] == {"url": "https://x.example", "operator_hash": None, "behind_proxy": True}
    assert done.stderr.splitlines()[0].endswith(" at https://x.example; Ctrl-C ends it")
    assert done.stderr.splitlines()[1:] == ["  campaign.db is new and holds no campaign yet", LAST]


@pytest.mark.parametrize(
    ("args", "warned"),
    [
        (["--host", "0.0.0.0"], True),
        (["--host", "localhost"], False),
        (["--host", "::1"], False),
        ([], False),
        (["--host", "0.0.0.0", "--url", "http://x.example"], True),
        (["--host", "0.0.0.0", "--url", "https://x.example"], False),
    ],
)
def test_others_can_read_what_is_sent_without_tls(served, args, warned):
    words = "warning: others can read what is sent without TLS; put a proxy with a certificate before it (docs)"
    assert (words in served.call(*args).stderr.splitlines()) is warned


def test_an_address_begins_with_http(served):
    done = served.call("--url", "x.example")
    assert str(done.exception) == "--url x.example: give an address that begins with https://"
    assert served.checked == []


def test_what_the_app_needs_is_named(monkeypatch):
    import importlib.util

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in ("uvicorn", "nh3") else "there")
    assert refusal(serve._check_extra) == "the app needs uvicorn, nh3; pip install 'podium[serve]'"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: "there")
    serve._check_extra()


def test_an_address_that_is_taken_is_refused_and_a_free_one_is_let_go(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        told = refusal(serve._check_address, "127.0.0.1", port)
    assert told.startswith(f"cannot listen on 127.0.0.1:{port} (")
    assert told.endswith("); choose another --host or --port")
    assert "None" not in told
    assert "Errno" not in told, "the system's words alone"
    families = []

    class Listening:
        def close(self):
            families.append("closed")

    def listen(address, family):
        families.append((address, family))
        return Listening()

    monkeypatch.setattr(socket, "create_server", listen)
    serve._check_address("127.0.0.1", 1)
    serve._check_address("::1", 2)
    assert families == [
        (("127.0.0.1", 1), socket.AF_INET), "closed", (("::1", 2), socket.AF_INET6), "closed"]  # fmt: skip


def test_a_server_lives_until_another_takes_the_database(monkeypatch, capsys):
    answers = [True, UnavailableError("away"), True, False, True]
    waits = []

    class Hold:
        def keep(self):
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer

    ended = types.SimpleNamespace(wait=lambda seconds: waits.append(seconds))
    server = types.SimpleNamespace(should_exit=False)
    serve._keep(Hold(), server, ended)
    assert server.should_exit is True
    assert (waits, answers) == ([5.0] * 4, [True])
    assert capsys.readouterr().err == "another server has taken the database over; this one stops\n"
    over = threading.Event()
    over.set()
    serve._keep(None, None, over)
