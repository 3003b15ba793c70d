"""A simulated model behind a server on this machine, for trying out `podium judge`: no network, no key.

It sees a hidden quality of each item, or what it is told to look for, with noise, and leans a little to the one that is
shown first. The same question gets the same answer.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

__all__ = ["simulated_model"]

NAME = "simulated-1"
LEAN = 0.7  # to the first place, in log-odds
SPREAD = 2.0  # of the hidden qualities, beside noise of 1
LETTERS = 4  # of a token
BLOCK = re.compile(r"\[(A|B) (\w+)\]\n(.*?)\n\[/\1 \2\]", re.DOTALL)


@contextmanager
def simulated_model(likes: Callable[[str], float] | None = None) -> Iterator[str]:
    """Serve the model on a free port while the block runs; gives the address for --base-url.

    `likes` says how good a text is, beside noise of about 1; without it, each text has a quality that is drawn from it.

    >>> from podium.judge import HttpJudge, judge_pairs
    >>> with simulated_model() as url:
    ...     len(judge_pairs(["tea", "milk", "juice"], HttpJudge(url, "simulated"), question="Better?", seed=1).order)
    3
    """
    server = _Server(("127.0.0.1", 0), partial(_Chat, hidden_quality if likes is None else likes))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def hidden_quality(text: str) -> float:
    """How good the model finds a text that it is not told how to judge."""
    return SPREAD * _draw("quality", text)


def chance_of_first(first: str, second: str, likes: Callable[[str], float] = hidden_quality) -> float:
    """The chance that the first of two items is chosen, its noise drawn already: far above or below one half."""
    margin = likes(first) - likes(second) + LEAN + _draw("noise", first, second)
    return 1.0 / (1.0 + math.exp(-max(-50.0, min(50.0, margin))))


def completion(body: dict[str, Any], likes: Callable[[str], float] = hidden_quality) -> dict[str, Any]:
    """The answer to a request for a chat completion, in the form that it asks for."""
    text, pictures = _shown(body["messages"][1]["content"])
    items = {name: item + pictures.get(name, "") for name, _, item in BLOCK.findall(text)}
    chance = chance_of_first(items.get("A", ""), items.get("B", ""), likes)
    winner = "A" if chance > 0.5 else "B"
    choice: dict[str, Any] = {"finish_reason": "stop"}
    said = winner
    if body.get("logprobs"):
        logs = {name: math.log(p) for name, p in (("A", chance), ("B", 1.0 - chance)) if p > 0}
        tops = [{"token": name, "logprob": value} for name, value in logs.items()]
        choice["logprobs"] = {"content": [{"token": winner, "logprob": logs[winner], "top_logprobs": tops}]}
    elif "one JSON object" in str(body["messages"][0]["content"]):
        said = json.dumps({"reason": "It reads better.", "winner": winner})
    choice["message"] = {"role": "assistant", "content": said}
    usage = {"prompt_tokens": len(text) // LETTERS, "completion_tokens": max(1, len(said) // LETTERS)}
    return {"model": NAME, "choices": [choice], "usage": usage}


def _shown(content: Any) -> tuple[str, dict[str, str]]:
    """The text of a user message, and the pictures by the letter of their item."""
    if isinstance(content, str):
        return content, {}
    texts = [part["text"] for part in content if part["type"] == "text"]
    pictures = {}
    for before, part in itertools.pairwise(content):
        if part["type"] == "image_url":
            pictures[before["text"].removeprefix("The picture of ").removesuffix(":")] = part["image_url"]["url"]
    return "\n".join(texts), pictures


def _draw(*words: str) -> float:
    """Noise of a logistic law that depends on the words alone."""
    digest = hashlib.sha256("\x1f".join(words).encode()).digest()
    chance = (int.from_bytes(digest[:8], "big") + 0.5) / 2**64
    return math.log(chance / (1 - chance))


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024  # connections that wait: as many as calls may be out at a time


class _Chat(BaseHTTPRequestHandler):
    """Chat completions, as far as they are needed."""

    protocol_version = "HTTP/1.1"

    def __init__(self, likes: Callable[[str], float], *request: Any) -> None:
        self.likes = likes
        super().__init__(*request)  # which answers at once

    def do_POST(self) -> None:
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        data = json.dumps(completion(body, self.likes)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""
