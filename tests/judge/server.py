"""A real server on 127.0.0.1 that speaks chat completions: a simulated model, which misbehaves on request."""

import asyncio
import gzip
import hashlib
import json
import re
import threading
import time

BLOCK = re.compile(r"\[(A|B) (\w+)\]\n(.*?)\n\[/\1 \2\]", re.DOTALL)


def uniform(*words):
    """A number between 0 and 1 that depends on the words alone."""
    digest = hashlib.sha256("\x1f".join(map(str, words)).encode()).digest()
    return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64


class Model:
    """Scores by text, noise in log-odds drawn anew for each order, and a lean to the first place."""

    def __init__(self, scores, *, lean=0.0, noise=1.0, seed=0, sure=False):
        self.scores, self.lean, self.noise, self.seed, self.sure = scores, lean, noise, seed, sure

    def first_wins(self, first, second):
        import math

        margin = self.scores[first] - self.scores[second] + self.lean
        if self.sure:
            return margin > 0
        draw = uniform(self.seed, first, second)
        return margin + self.noise * math.log(draw / (1 - draw)) > 0


def shown(body):
    """Both items of a request."""
    text = body["messages"][1]["content"]
    text = text if isinstance(text, str) else text[0]["text"]
    found = {name: item for name, _, item in BLOCK.findall(text)}
    return found["A"], found["B"]


def verdict(winner):
    return json.dumps({"reason": "it is better", "winner": winner})


def completion(text, *, model="tiny-1", finish="stop", usage=(100, 10), **message):
    body = {"model": model, "choices": [{"message": {"content": text, **message}, "finish_reason": finish}]}
    if usage:
        body["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1]}
    return body


class Server:
    """`act(body, number)` returns None for a verdict of the model, or what to do instead:

    a dict (the body), a tuple of status, headers, body, bytes (all that is sent); "drop", "half", "hang".
    """

    def __init__(self, model=None, act=None, delay=0.0):
        self.model, self.act, self.delay = model, act, delay
        self.requests, self.headers, self.answered = [], [], 0
        self.most_out = self._out = 0
        self.times = []

    def __enter__(self):
        ready = threading.Event()

        def run():
            self.loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self.loop)
            server = self.loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", 0, limit=2**26))
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
            self.loop.run_forever()
            server.close()
            for task in asyncio.all_tasks(self.loop):
                task.cancel()
            self.loop.run_until_complete(asyncio.sleep(0))
            self.loop.close()

        self.thread = threading.Thread(target=run, daemon=True)
        self.thread.start()
        ready.wait()
        self.url = f"http://127.0.0.1:{self.port}/v1"
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)

    async def _serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in head.split("\r\n")[1:])}
                body = json.loads(await reader.readexactly(int(headers.get("content-length", 0))) or b"null")
                self.headers.append(headers | {"path": head.split()[1]})
                if not await self._answer(writer, body):
                    return
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, writer, body):
        self.requests.append(body)
        self.times.append(time.monotonic())
        self._out += 1
        self.most_out = max(self.most_out, self._out)
        number = len(self.requests)
        said = self.act(body, number) if self.act else None
        if self.delay:
            await asyncio.sleep(self.delay)
        self._out -= 1
        if said == "drop":
            return False
        if isinstance(said, bytes):
            writer.write(said)
            await writer.drain()
            return False
        if said == "hang":
            await asyncio.sleep(30)
        if said is None:
            first, second = shown(body)
            said = completion(verdict("A" if self.model.first_wins(first, second) else "B"))
        status, headers, data = said if isinstance(said, tuple) else (200, {}, said)
        data = json.dumps(data).encode() if isinstance(data, dict | list) else data
        if said == "half" or data == "half":
            writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"choi')
            await writer.drain()
            return False
        if headers.get("Content-Encoding") == "gzip":
            data = gzip.compress(data)
        lines = [f"HTTP/1.1 {status} X", *(f"{k}: {v}" for k, v in headers.items())]
        if headers.get("Transfer-Encoding") == "chunked":
            half = len(data) // 2
            data = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (data[:half], data[half:]) if part)
            data += b"0\r\n\r\n"
        else:
            lines.append(f"Content-Length: {len(data)}")
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + data)
        await writer.drain()
        self.answered += status == 200
        return True
