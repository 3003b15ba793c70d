"""What people see in a terminal: no line is broken by it, and nothing is shortened in a pipe or a file."""

import math
import os
import re
import sys

import numpy as np
import polars as pl
import pytest

from podium.cli.output import LEFT_OUT, MIN_ITEM, _bars, leaderboard, wrapped
from podium.text import width

NAMES = [f"{maker}-{size}b-instruct-2024-{k:02d}-v1" for k, (maker, size) in enumerate(
    (maker, size) for maker in ("qwen", "llama", "gemma", "mixtral") for size in (7, 72)
)]  # fmt: skip


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    """Votes on eight models with real names, of 26 to 31 characters."""
    rng = np.random.default_rng(1)
    left = rng.integers(0, 8, 2000)
    right = (left + rng.integers(1, 8, 2000)) % 8
    won = rng.random(2000) < 1 / (1 + np.exp((left - right) / 4))
    names = np.array(NAMES)
    path = tmp_path_factory.mktemp("votes") / "votes.csv"
    columns = {"winner": names[np.where(won, left, right)], "loser": names[np.where(won, right, left)]}
    pl.DataFrame(columns).write_csv(path)
    return path


def in_a_terminal(columns, *args):
    """What a terminal of so many columns is sent, stdout and stderr together."""
    pty, termios, fcntl = (pytest.importorskip(name) for name in ("pty", "termios", "fcntl"))
    import struct
    import subprocess

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    command = [sys.executable, "-m", "podium", *map(str, args)]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env=environment) as process:
        os.close(slave)
        sent = b""
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:  # Linux says so where others send nothing more
                break
            if not piece:
                break
            sent += piece
    os.close(master)
    assert process.returncode == 0, sent.decode()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sent.decode().replace("\r\n", "\n"))
    return [line.split("\r")[-1] for line in text.split("\n")]  # of a bar of progress, its last state


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_no_line_of_a_leaderboard_is_wider_than_the_terminal(votes, columns):
    lines = in_a_terminal(columns, "rank", votes)
    assert all(width(line) <= columns for line in lines), lines
    head = next(line for line in lines if line.startswith("rank")).split()
    every = ["rank", "item", "score", "interval", "ranks", "tier", "votes"]
    left_out = ["tier", "votes"] if columns == 60 else []
    assert head == [name for name in every if name not in left_out]
    assert any("left out, as the terminal has 60 columns: tier, votes" in line for line in lines) is (columns == 60)
    if columns >= 80:
        assert all(any(name in line for line in lines) for name in NAMES)
    assert any("●" in line for line in lines) is (columns == 120)


def test_a_check_breaks_between_words(votes):
    lines = in_a_terminal(80, "check", votes, "--replicates", 19)
    assert all(width(line) <= 80 for line in lines)
    whole = " ".join(" ".join(lines).split())
    assert "Split-half reliability" in whole
    assert all(name in whole for name in NAMES[:1])


@pytest.mark.parametrize("target", ["pipe", "file"])
def test_a_pipe_and_a_file_get_everything(votes, target, tmp_path):
    import subprocess

    more = ["-o", str(tmp_path / "board.txt")] if target == "file" else []
    command = [sys.executable, "-m", "podium", "rank", str(votes), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "40"})
    text = (tmp_path / "board.txt").read_text() if more else done.stdout
    assert text.splitlines()[0].split() == ["rank", "item", "score", "interval", "ranks", "tier", "votes"]
    assert all(name in text for name in NAMES)
    assert text.count("●") == 8


def board(names):
    """A ranking's frame with these names."""
    n = len(names)
    numbers = {name: [float(k) for k in range(n)] for name in ("score", "lower", "upper")}
    whole = {name: list(range(1, n + 1)) for name in ("rank", "rank_lower", "rank_upper", "tier")}
    return pl.DataFrame({"item": names, **numbers, **whole, "comparisons": [100.0] * n})


@pytest.mark.parametrize("room", [40, 50, 60, 70, 80, 90, 100, 110, 120])
def test_columns_go_in_the_stated_order_and_labels_stay_different(room, capsys):
    names = [f"a-rather-long-name-of-a-model-{k:03d}-which-is-cut" for k in range(12)]
    lines = leaderboard(board(names), digits=2, room=room).splitlines()
    assert all(width(line) <= max(room, 4 + 2 + MIN_ITEM + 30) for line in lines)
    shown = [name for name in LEFT_OUT[1:] if name in lines[0]]
    assert shown == list(LEFT_OUT[1:])[len(LEFT_OUT) - 1 - len(shown) :]
    labels = {line.split()[1] for line in lines[1:]}
    assert len(labels) == 12


def test_words_are_kept_whole_and_lines_below_are_indented():
    text = "! Transitivity: much of what these votes say is cyclic\n\n  tea won 3 of 4 against coffee, expected 2"
    assert wrapped(text, None) == text
    lines = wrapped(text, 24).split("\n")
    assert all(len(line) <= 24 for line in lines)
    assert " ".join(" ".join(lines).split()) == " ".join(text.split())
    assert lines[1].startswith("  ")
    assert "" in lines


def test_an_arrow_marks_an_open_end_wherever_the_score_lies():
    """The score of an item that only won may be the largest number of the table; its arrow is not drawn over."""
    frame = pl.DataFrame({"score": [3.0, 0.0, -3.0], "lower": [-1.0, -1.0, -math.inf], "upper": [math.inf, 1.0, 1.0]})
    first, middle, last = _bars(frame, 20)
    assert first.endswith("●▸")
    assert middle.count("●") == 1
    assert last.startswith("◂●")
