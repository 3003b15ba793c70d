"""Tables and words on their way out: which form, how wide, what is counted, and what a bar of progress shows."""

import io
import json
import sys
import types
from pathlib import Path
from typing import ClassVar

import click
import numpy as np
import polars as pl
import pytest

from podium import Comparisons, Rankings
from podium.cli import output
from podium.cli.output import FORMATS, Output, cells, leaderboard, room_of, say_if_half, table, votes_on_items, wrapped
from podium.errors import InputError
from podium.text import width

# ---- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "room", "lines"), [
    ("one two three", 13, ["one two three"]), ("one two three", 12, ["one two", "three"]),
    ("one two three", 7, ["one two", "three"]), ("! one two three", 10, ["! one two", "  three"]),
    ("  one two three", 10, ["  one two", "    three"]), (" one two three", 9, [" one two", " three"]),
    ("    one two three", 12, ["    one two", "      three"]), ("!one two three", 9, ["!one two", "three"]),
    ("short\n\none two three", 8, ["short", "", "one two", "three"]),
    ("! aa bb cc dd ee", 8, ["! aa bb", "  cc dd", "  ee"]), ("  aa bb cc dd", 8, ["  aa bb", "    cc", "    dd"]),
])  # fmt: skip
def test_lines_are_broken_between_words_and_go_on_as_they_began(text, room, lines):
    assert wrapped(text, room).split("\n") == lines
    assert wrapped(text, None) == text


def test_only_a_terminal_has_a_width(monkeypatch):
    monkeypatch.setattr(output.shutil, "get_terminal_size", lambda: types.SimpleNamespace(columns=77))
    assert room_of(None) is None
    assert room_of(io.StringIO()) is None
    terminal = types.SimpleNamespace(isatty=lambda: True)
    assert room_of(terminal) == 77
    monkeypatch.setattr("sys.stdout", terminal)
    assert Output("table", None).room == 77
    assert Output("table", Path("x")).room is None


def test_words_are_broken_as_wide_as_stderr(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(output, "room_of", lambda stream: asked.append(stream) or 8)
    output.say("one two three")
    assert asked == [sys.stderr]
    assert capsys.readouterr() == ("", "one two\nthree\n")
    output.say("\x1b[31m")
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(("half", "models_ties", "words"), [
    (False, True, ""),
    (True, True, "fit it with --ties davidson for the chance of each outcome"),
    (True, False, "fit one that models ties, as dynamic or bradley-terry with --ties davidson for the chance of each "
                  "outcome"),
])  # fmt: skip
def test_ties_that_count_half_are_told(capsys, half, models_ties, words):
    say_if_half(types.SimpleNamespace(counts_ties_half_=half, uses=types.SimpleNamespace(ties=models_ties)))
    whole = f"the model counts a tie half, so chances are of a win plus half a tie; {words}\n"
    assert capsys.readouterr().err == (whole if words else "")


# ---- what was read --------------------------------------------------------------------------------------------------


def weighted(weights, **more):
    n = len(weights)
    return Comparisons(["a", "b"], np.zeros(n, np.int32), np.ones(n, np.int32), weight=np.array(weights), **more)


@pytest.mark.parametrize(("votes", "words"), [
    (Comparisons.from_pairs([("a", "b")]), "1 vote on 2 items"),
    (Comparisons.from_pairs([("a", "b"), ("b", "c")]), "2 votes on 3 items"),
    (weighted([1.0, 1.0]), "2 votes on 2 items"), (weighted([0.5, 1.5]), "2 votes on 2 items"),
    (weighted([1.0, 1.0 + 1e-9]), "2 votes on 2 items"),
    (weighted([1.0, 1.0 + 3e-9]), "2 votes of total weight 2 on 2 items"),
    (weighted([1.0, 1.0 + 1e-3]), "2 votes of total weight 2.001 on 2 items"),
    (weighted([2.0, 2.0, 2.0]), "3 votes of total weight 6 on 2 items"),
    (weighted([1000.0, 1.0, 1.0]), "3 votes of total weight 1,002 (worth 1 vote of equal weight) on 2 items"),
    (weighted([4.0] * 100 + [0.001] * 100),
     "200 votes of total weight 400.1 on 2 items"),  # worth 100.05, a little more than half
    (weighted([4.0] * 100 + [0.001] * 102),
     "202 votes of total weight 400.102 (worth 100 votes of equal weight) on 2 items"),
    (weighted([4.0] * 3 + [0.001] * 9, vote_is="game"),
     "12 games of total weight 12.009 (worth 3 games of equal weight) on 2 items"),
    (Rankings.from_lists([["a", "b", "c"], ["b", "a", "c"]]), "2 rankings of 3 items"),
    (Rankings.from_lists([["a", "b"], ["b", "a"], ["a", "b"]], weight=[1000, 1, 1]),
     "3 rankings of total weight 1,002 (worth 1 ranking of equal weight) of 2 items"),
    (Rankings.from_lists([["a", "b"], ["b", "a"]], weight=[1000, 1000]), "2 rankings of total weight 2,000 of 2 items"),
    (Comparisons.from_rankings(Rankings.from_lists([["a", "b", "c"], ["b", "a", "c"]])),
     "2 rankings as 6 pairs of 3 items"),
])  # fmt: skip
def test_what_was_read_is_counted_in_words(votes, words):
    """Votes of weights w are worth (Σw)²/Σw² votes of equal weight, which is told where it is less than half."""
    assert votes_on_items(votes) == words


# ---- forms ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def chosen(monkeypatch):
    monkeypatch.setattr(output, "refuse_overwriting", lambda context: None)

    def choose(form=None, path=None, offered=FORMATS, default="table"):
        with click.Context(click.Command("x")):
            return Output.chosen(offered, default, form, path)

    return choose


def test_the_form_is_that_asked_for_or_of_the_suffix(chosen):
    assert chosen() == Output("table", None)
    assert chosen(default="csv") == Output("csv", None)
    assert chosen("json") == Output("json", None)
    assert chosen("json", Path("-")) == Output("json", None)
    assert chosen(None, Path("-"), default="csv") == Output("csv", None)
    for suffix, form in (("csv", "csv"), ("CSV", "csv"), ("json", "json"), ("jsonl", "jsonl"), ("ndjson", "jsonl"),
                         ("parquet", "parquet"), ("txt", "table")):  # fmt: skip
        assert chosen(None, Path(f"x.{suffix}")) == Output(form, Path(f"x.{suffix}"))
    papers = (*FORMATS, "markdown", "latex")
    assert chosen(None, Path("x.md"), papers).form == "markdown"
    assert chosen(None, Path("x.tex"), papers).form == "latex"


def test_a_form_may_go_to_a_file_of_no_other(chosen):
    for form, name in (("csv", "x.dat"), ("csv", "x.csv"), ("csv", "x.txt"), ("json", "x.jsonl"), ("jsonl", "x.json"),
                       ("table", "x.txt"), ("table", "x")):  # fmt: skip
        assert chosen(form, Path(name)) == Output(form, Path(name))
    for form, name, meant in (("csv", "x.json", "json"), ("table", "x.csv", "csv"), ("json", "x.parquet", "parquet")):
        with pytest.raises(InputError) as told:
            chosen(form, Path(name))
        assert str(told.value) == f"{name} is to be {form} by --format and {meant} by its suffix; change one of them"


def test_a_suffix_that_means_nothing_here_is_refused(chosen):
    with pytest.raises(InputError) as told:
        chosen(None, Path("x.doc"), ("table", "json"))
    assert str(told.value) == "x.doc: the suffix names no format (.json, .txt); add --format"
    with pytest.raises(InputError) as told:
        chosen(None, Path("x.csv"), ("table", "json"))
    assert str(told.value) == "x.csv: this command does not write csv; use .json or .txt"


def test_a_file_that_is_read_is_not_written(monkeypatch):
    seen = []
    monkeypatch.setattr(output, "refuse_overwriting", seen.append)
    with click.Context(click.Command("x")) as context:
        Output.chosen(FORMATS, "table", None, None)
    assert seen == [context]


FRAMES = [pl.DataFrame({"item": ["a", "ü"], "score": [1.0, None]}), pl.DataFrame({"item": ["c"], "score": [3.0]})]
ROWS = [row for frame in FRAMES for row in frame.to_dicts()]


@pytest.mark.parametrize("target", ["file", "stdout"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "json", "parquet", "table"])
def test_pieces_are_written_as_one_table(form, target, tmp_path, capfdbinary):
    path = tmp_path / "x" if target == "file" else None
    Output(form, path).write_pieces(iter(FRAMES))
    data = path.read_bytes() if path else capfdbinary.readouterr().out
    if form == "csv":
        assert data.decode() == "item,score\na,1.0\nü,\nc,3.0\n"
    elif form == "table":
        assert [line.split() for line in data.decode().splitlines()] == [
            ["item", "score"], ["a", "1.0000"], ["ü"], ["c", "3.0000"]]  # fmt: skip
    elif form == "parquet":
        assert pl.read_parquet(io.BytesIO(data)).to_dicts() == ROWS
    else:
        assert (json.loads(data) if form == "json" else [json.loads(line) for line in data.splitlines()]) == ROWS


def test_what_was_printed_before_stays_before_and_all_is_handed_on(monkeypatch):
    class Sink(io.RawIOBase):
        sent = b""

        def writable(self):
            return True

        def write(self, data):
            self.sent += bytes(data)
            return len(data)

    sink = Sink()
    stream = io.TextIOWrapper(io.BufferedWriter(sink), encoding="utf-8")
    monkeypatch.setattr("sys.stdout", stream)
    stream.write("head\n")
    Output("csv", None).write_pieces(FRAMES[1:])
    assert sink.sent == b"head\nitem,score\nc,3.0\n"


def test_text_takes_the_place_of_the_table_for_people_alone(capsys, tmp_path):
    Output("table", None).write(FRAMES[1], "in words")
    Output("table", None).write(FRAMES[1])
    Output("csv", None).write(FRAMES[1], "in words")
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["in", "words"], ["item", "score"], ["c", "3.0000"], ["item,score"], ["c,3.0"]]  # fmt: skip
    Output("table", tmp_path / "x.txt").write_text("a\x1bb")
    told = (tmp_path / "x.txt").read_bytes()
    assert told.endswith(b"b\n")
    assert b"\x1b" not in told
    assert [Output(form, None).for_people for form in ("table", "csv", "markdown")] == [True, False, False]


def test_cells_are_numbers_words_and_p_values():
    assert cells(pl.Series("x", [1.0, None, 2.34567])) == ["1.0000", "", "2.3457"]
    assert cells(pl.Series("x", [1.0, 2.34567]), 2) == ["1.00", "2.35"]
    assert cells(pl.Series("x", [1, None, 3])) == ["1", "", "3"]
    for name in ("p", "p_value", "p_adjusted"):
        assert cells(pl.Series(name, [0.5, None, 1e-9])) == ["0.5000", "", "< 0.0001"]
    frame = pl.DataFrame({"word": ["tea", "x"], "n": [1, 22], "score": [0.5, 10.0]})
    assert table(frame, digits=1) == "word   n  score\ntea    1    0.5\nx     22   10.0"
    assert table(frame).splitlines()[1] == "tea    1   0.5000"


def test_words_of_a_table_are_shortened_to_the_terminal():
    frame = pl.DataFrame({"name": ["a" * 30, "b" * 30], "against": ["c" * 30, "d" * 30], "n": [1, 2]})
    lines = table(frame, room=40).splitlines()
    assert max(map(width, lines)) <= 40
    assert len(lines) == 3
    assert "…" in lines[1]


# ---- a leaderboard --------------------------------------------------------------------------------------------------


def board(labels, **more):
    n = len(labels)
    ends = {"score": [0.0] * n, "lower": [-1.0] * n, "upper": [1.0] * n}
    ranks = {"rank": list(range(1, n + 1)), "rank_lower": [1] * n, "rank_upper": [n] * n, "tier": [1] * n}
    return pl.DataFrame({"item": labels, **ends, **ranks, "comparisons": [1234.0] * n} | more)


def test_columns_that_are_empty_are_left_out():
    frame = board(["a", "b"])
    assert leaderboard(frame, digits=1).splitlines()[0].split() == [
        "rank", "item", "score", "interval", "ranks", "tier", "votes"]  # fmt: skip
    none = frame.with_columns(pl.lit(None, pl.Float64).alias("lower"), pl.lit(None, pl.Float64).alias("upper"))
    assert leaderboard(none, digits=1).splitlines()[0].split() == ["rank", "item", "score", "votes"]
    unknown = frame.with_columns(pl.lit(None, pl.Float64).alias("comparisons"))
    assert "votes" not in leaderboard(unknown, digits=1)
    games = leaderboard(frame, digits=1, counted_as="games").splitlines()
    assert games[0].split()[-1] == "games"
    assert games[1].split()[:6] == ["1", "a", "0.0", "-1.0", "…", "1.0"]
    assert games[1].split()[-3:] == ["1–2", "1", "1,234"]


def test_a_score_at_an_end_that_is_closed_lies_on_it():
    """From -2 to 6 on nine cells, one each."""
    frame = board(["a", "b", "c"], score=[6.0, -2.0, 2.0], lower=[2.0, -2.0, 1.0], upper=[6.0, 0.0, 3.0])
    assert output._bars(frame, 9) == ["    ├───●", "●─┤", "   ├●┤"]


def test_a_table_is_as_wide_as_the_terminal(monkeypatch, capsys):
    monkeypatch.setattr(output, "room_of", lambda stream: 30)
    Output("table", None).write(pl.DataFrame({"name": ["a" * 50, "b" * 50], "n": [1, 2]}))
    lines = capsys.readouterr().out.splitlines()
    assert (len(lines), max(map(width, lines))) == (3, 30)


def test_a_score_next_to_zero_has_no_sign():
    frame = board(["a"], score=[-0.001], lower=[-0.004], upper=[0.004])
    assert leaderboard(frame, digits=2).splitlines()[1].split()[2:6] == ["0.00", "0.00", "…", "0.00"]


@pytest.mark.parametrize("counted_as", ["votes", "games"])
def test_the_columns_left_out_are_told_by_their_names(capsys, counted_as):
    leaderboard(board(["a" * 25, "b" * 25]), digits=2, room=60, counted_as=counted_as)
    told = capsys.readouterr().err
    assert told.startswith("left out, as the terminal has 60 columns: tier")
    narrow = leaderboard(board(["a" * 25, "b" * 25]), digits=2, room=30, counted_as=counted_as)
    gone = f"tier, {counted_as}, ranks, interval"
    assert capsys.readouterr().err == f"left out, as the terminal has 30 columns: {gone}\n"
    assert narrow.splitlines()[0].split() == ["rank", "item", "score"]


def test_labels_take_the_room_that_is_left():
    """Rank, score, and the gaps of two: four, five and four columns beside the label."""
    frame = board(["a" * 40, "b" * 40]).with_columns(
        *(pl.lit(None, pl.Float64).alias(name) for name in ("lower", "upper", "comparisons"))
    )
    for room in (40, 45, 53):
        lines = leaderboard(frame, digits=2, room=room).splitlines()
        assert max(map(width, lines)) == room
    assert max(map(width, leaderboard(frame, digits=2, room=54).splitlines())) == 53
    least = leaderboard(frame, digits=2, room=10).splitlines()
    assert len(least[1].split()[1]) == 20


@pytest.mark.parametrize("labels", [["a", "b"], ["ab", "c"], ["teas", "b"], ["teapot", "b"]])
@pytest.mark.parametrize("room", [80, 70, 64])
def test_a_leaderboard_is_no_wider_than_the_terminal_however_short_its_labels(labels, room):
    frame = board(labels, rank_upper=[9, 9], comparisons=[3.0, 3.0])
    assert max(map(width, leaderboard(frame, digits=1, room=room).splitlines())) <= room


def test_a_picture_has_32_cells_and_no_fewer_than_12(capsys):
    """Rank, label, score, interval, ranks, tier and votes: 4, 4, 5, 10, 5, 4 and 5 columns, and seven gaps of two."""
    frame = board(["teas"], lower=[-1.0], upper=[1.0], rank_upper=[9], comparisons=[3.0])
    for room, long in ((None, 32), (200, 32), (83, 32), (82, 31), (63, 12), (62, 0)):
        line = leaderboard(frame, digits=1, room=room).splitlines()[1]
        drawn = line[line.index("├") : line.index("┤") + 1] if "├" in line else ""
        assert len(drawn) == long, room
    assert capsys.readouterr().err == ""


# ---- progress -------------------------------------------------------------------------------------------------------


class Bar:
    """In place of a bar of progress: notes what it is told."""

    made: ClassVar[list] = []

    def __init__(self, *columns, **options):
        self.columns, self.options, self.said = columns, options, []
        self.live = types.SimpleNamespace(is_started=False)
        Bar.made.append(self)

    def add_task(self, words, **more):
        self.said.append(("task", words, more))
        return 7

    def start(self):
        self.said.append("start")
        self.live.is_started = True

    def stop(self):
        self.said.append("stop")

    def update(self, task, **more):
        self.said.append((task, more))

    def advance(self, task, more):
        self.said.append((task, more))

    def __enter__(self):
        return self

    def __exit__(self, *problem):
        self.said.append("end")


class Screen:
    def __init__(self, **options):
        self.options, self.is_terminal = options, Screen.terminal


@pytest.fixture(params=[True, False])
def bars(monkeypatch, request):
    """Whether stderr is a terminal."""
    Bar.made, Screen.terminal = [], request.param
    monkeypatch.setattr("rich.progress.Progress", Bar)
    monkeypatch.setattr("rich.console.Console", Screen)
    return request.param


def test_reading_shows_votes_speed_and_bytes_from_the_second_second_on(bars, monkeypatch):
    now = [50.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    with output.reading() as show:
        for seconds, votes, read, total in (
            (0.5, 10, 100, 1000),
            (1.0, 15, 150, 1000),
            (2.0, 30, 300, 1000),
            (4.0, 80, 900, 0),
        ):
            now[0] = 50.0 + seconds
            show(votes, read, total)
    (bar,) = Bar.made
    assert bar.options["console"].options == {"stderr": True}
    assert (bar.options["transient"], bar.options["disable"]) == (True, not bars)
    assert bar.said == [
        ("task", "reading", {"total": None, "votes": 0, "speed": 0.0}),
        (7, {"completed": 100, "total": 1000, "votes": 10, "speed": 20.0}),
        (7, {"completed": 150, "total": 1000, "votes": 15, "speed": 15.0}), "start",
        (7, {"completed": 300, "total": 1000, "votes": 30, "speed": 15.0}),
        (7, {"completed": 900, "total": None, "votes": 80, "speed": 20.0}), "stop",
    ]  # fmt: skip
    task = types.SimpleNamespace(fields={"votes": 1234, "speed": 5678.9})
    assert bar.columns[2].text_format.format(task=task) == "1,234 votes, 5,679 a second"


def test_a_bar_goes_where_reading_fails(bars):
    with pytest.raises(InputError), output.reading():
        raise InputError("bad row")
    assert Bar.made[0].said[-1] == "stop"


def test_counting_shows_how_many_are_done(bars):
    with output.counting("learning") as advance:
        advance(3)
        advance(4)
    with output.counting("asking", "of 5 campaigns"):
        pass
    bar, other = Bar.made
    assert bar.options["console"].options == {"stderr": True}
    assert (bar.options["transient"], bar.options["disable"]) == (True, not bars)
    assert bar.said == [("task", "learning", {"total": None}), (7, 3), (7, 4), "end"]
    task = types.SimpleNamespace(description="learning", completed=1234.0)
    assert bar.columns[1].text_format.format(task=task) == "learning: 1,234 rows"
    assert other.columns[1].text_format.format(task=task) == "learning: 1,234 of 5 campaigns"
