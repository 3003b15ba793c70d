"""`podium serve` as a process: one server a file, no vote lost by kill -9, a clean end."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from podium.client import Judge
from podium.errors import PodiumError
from podium.store.file import read_campaign_file


@pytest.fixture
def folder(tmp_path):
    rows = "".join(f"item {k:02},This is item {k}.\n" for k in range(30))
    (tmp_path / "items.csv").write_text("id,text\n" + rows)
    command = ["campaign", "new", "items.csv", "--title", "T", "--question", "Q?", "--judges", "4", "--seed", "1"]
    done = subprocess.run(
        [sys.executable, "-m", "podium", *command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    (tmp_path / "links").write_text("\n".join(re.findall(r"/j#(\S+)", done.stdout)))
    return tmp_path


def start(folder, *options, port=0):
    """A server that is ready, and its address."""
    server = subprocess.Popen(
        [sys.executable, "-m", "podium", "serve", "--port", str(port), *options],
        cwd=folder, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    for line in server.stderr:
        if "serving" in line:
            break
    return server, line


def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def reach(judge):
    """Wait until the server answers."""
    for _ in range(600):
        try:
            return judge.next()
        except PodiumError:
            time.sleep(0.1)
    raise AssertionError("the server does not answer")


def test_a_second_server_is_refused_and_names_the_first(folder):
    server, _ = start(folder, port=free_port())
    try:
        second = subprocess.run(
            [sys.executable, "-m", "podium", "serve", "--port", "0"], cwd=folder, capture_output=True, text=True
        )
        assert second.returncode == 2
        assert f"process {server.pid}" in second.stderr
        assert second.stderr.count("\n") == 1
    finally:
        server.send_signal(signal.SIGINT)
        _, rest = server.communicate(timeout=30)
    assert "every vote that was acknowledged is on disk" in rest
    assert "Traceback" not in rest


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [("empty.db", b"", "serving"), ("text.db", b"no database at all " * 100, "not an SQLite file")],
    ids=["empty", "text"],
)
def test_a_file_that_is_no_campaign_is_one_sentence(tmp_path, name, data, words):
    (tmp_path / name).write_bytes(data)
    if words == "serving":
        server, line = start(tmp_path, "--db", name, port=free_port())
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=30)
        assert words in line
        return
    done = subprocess.run(
        [sys.executable, "-m", "podium", "serve", "--db", name], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert words in done.stderr


def test_kill_9_under_load_loses_nothing_that_was_acknowledged(folder):
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    tokens = (folder / "links").read_text().split()
    sent, acknowledged, stop = [], [], threading.Event()

    def vote(token):
        with Judge(url, token, timeout=5) as judge:
            pending = None
            while not stop.is_set():
                try:
                    if pending is None:
                        pairs = reach(judge)["questions"]
                        if not pairs:
                            return
                        pending = (pairs[0]["id"], f"{token[:6]}-{len(sent)}-{time.monotonic_ns()}")
                        sent.append(pending[1])
                    judge.vote(pending[0], 1.0, id=pending[1])
                    acknowledged.append(pending[1])
                    pending = None
                except PodiumError as problem:
                    if getattr(problem, "code", None) == "answered":
                        pending = None
                    time.sleep(0.02)

    threads = [threading.Thread(target=vote, args=(token,), daemon=True) for token in tokens]
    server, _ = start(folder, port=port)
    for thread in threads:
        thread.start()
    for _ in range(3):
        had, until = len(acknowledged), time.monotonic() + 60
        while len(acknowledged) < had + 10 and time.monotonic() < until:
            time.sleep(0.1)
        os.kill(server.pid, signal.SIGKILL)
        server.communicate()
        server, _ = start(folder, port=port)
    time.sleep(1.5)
    stop.set()
    for thread in threads:
        thread.join(30)
    server.send_signal(signal.SIGINT)
    server.communicate(timeout=30)
    import sqlite3

    with sqlite3.connect(folder / "campaign.db") as file:
        stored = [row[0] for row in file.execute("SELECT client_id FROM vote WHERE undoes IS NULL")]
    assert len(acknowledged) > 10
    assert not set(acknowledged) - set(stored), "acknowledged and lost"
    assert len(stored) == len(set(stored)), "stored twice"
    assert len(read_campaign_file(str(folder / "campaign.db")).votes) >= len(set(acknowledged))


def test_an_address_in_use_or_unknown_is_one_sentence(folder):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        for options in (["--port", port], ["--host", "no.such.host.invalid"]):
            done = subprocess.run(
                [sys.executable, "-m", "podium", "serve", *options], cwd=folder, capture_output=True, text=True
            )
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
            assert "cannot listen on" in done.stderr
