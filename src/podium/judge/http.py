"""A model behind an OpenAI-compatible server: one client, retries, limits. The key comes from the environment alone."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import numpy as np

from podium.errors import InputError, PodiumError
from podium.judge.limits import MOST_OUT, Crowd, Pace, check_number, check_whole, retry_after
from podium.judge.prompt import REMINDERS, SCHEMA, Asked, Prompt
from podium.judge.verdict import MOST_RAW, Form, Verdict, read_response

if TYPE_CHECKING:
    import httpx

__all__ = ["HttpJudge", "UnreachableError", "address_of"]

KEYS = ("PODIUM_API_KEY", "OPENAI_API_KEY")
AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 529)
STOP = (401, 402, 403, 404, 405)
MOVED = (301, 302, 303, 307, 308)
MOST_TRIES = 6  # after the first
MAX_SECONDS = 600.0  # of one call, waits included
MAX_BACKOFF = 60.0
MAX_BODY = 4_000_000  # bytes of an answer, unpacked
LETTERS = 4  # of a token, where the server does not count
# How the form of a JSON answer is asked for, the strictest first; what a server refuses is not tried again.
RESPONSE_FORMATS: tuple[dict[str, Any] | None, ...] = (
    {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}},
    {"type": "json_object"},
    None,
)


class _Hidden(dict[str, str]):
    """Values that no repr shows."""

    def __repr__(self) -> str:
        return f"<{len(self)} hidden>"


class UnreachableError(PodiumError):
    """A call was tried as often as is allowed; nothing was answered. The pair is asked again later."""


class HttpJudge:
    """A model that answers chat completions.

    Parameters
    ----------
    base_url : str
        Address of the API, as http://localhost:8000/v1.
    model : str
    answer : "json", "word" or "logprobs"
        The form of the verdict: an object, the last line, or the chances of one token.
    template : str, optional
        Text of a prompt file (Jinja2) in place of our own prompt.
    temperature : float
    max_tokens : int
    timeout : float
        Seconds for one request.
    concurrency : int
        Calls out at a time; halved while the server says that it is too much.
    rpm, tpm : float, optional
        Most requests and tokens a minute.
    extra_body, headers : mapping, optional
        Sent along with each request.

    The key is read from PODIUM_API_KEY, else OPENAI_API_KEY; it is never printed, logged or stored.

    Examples
    --------
    >>> HttpJudge("http://localhost:8000/v1", "qwen3-32b")
    HttpJudge('http://localhost:8000/v1', 'qwen3-32b')
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        answer: Form = "json",
        template: str | None = None,
        temperature: float = 0.0,
        max_tokens: int = 1024,
        timeout: float = 120.0,
        concurrency: int = 16,
        rpm: float | None = None,
        tpm: float | None = None,
        extra_body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        seed: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if answer not in ("json", "word", "logprobs"):
            raise InputError(f"answer is {answer!r:.50}; it is 'json', 'word' or 'logprobs'")
        if not isinstance(base_url, str) or not isinstance(model, str) or not model.strip():
            raise InputError("base_url and model are text; name the model as the server does")
        if template is not None and not isinstance(template, str):
            raise InputError(f"template is {template!r:.50}; give the text of a prompt file")
        check_number("temperature", temperature, low=-1e6, high=1e6)
        check_number("timeout", timeout, low=1e-3, high=86_400)
        check_whole("max_tokens", max_tokens)
        check_whole("concurrency", concurrency, most=MOST_OUT)
        for name, rate in (("rpm", rpm), ("tpm", tpm)):
            check_number(name, rate, optional=True, low=1e-6)
        self.base_url = address_of(base_url)
        self.model = model
        self.prompt = Prompt(answer, template)
        self.timeout = timeout
        self.concurrency = concurrency
        try:
            json.dumps(dict(extra_body or {}))
            given = {str(name): str(value) for name, value in dict(headers or {}).items()}
        except (TypeError, ValueError) as problem:
            raise InputError(f"extra_body or headers are no names with values ({problem}); give mappings") from problem
        self._body = {"model": model, "temperature": temperature, "max_tokens": max_tokens} | dict(extra_body or {})
        if answer == "logprobs":
            self._body |= {"logprobs": True, "top_logprobs": 20, "max_tokens": 1}
        self._headers = _Hidden(given)
        self._formats = 0 if answer == "json" else len(RESPONSE_FORMATS) - 1
        self._requests, self._tokens, self._crowd = Pace(rpm), Pace(tpm), Crowd(concurrency)
        self._out = 0
        self._mean_tokens = 0.0
        self._rng = np.random.default_rng(seed)  # of waits only
        self._clock, self._sleep = clock, sleep
        self._client: httpx.AsyncClient | None = None
        self._secrets = _Hidden({})

    def __repr__(self) -> str:
        return f"HttpJudge({self.base_url!r}, {self.model!r})"

    def header(self) -> dict[str, Any]:
        """Who judges, as every export says: nothing secret."""
        body = {name: value for name, value in self._body.items() if name != "model"}
        return {
            "model": self.model,
            "server": self.base_url,
            "prompt": self.prompt.hash,
            "answer": self.prompt.form,
            "parameters": body,
            "headers": sorted(self._headers),
        }

    async def answer(self, question: Asked) -> Verdict:
        """Ask; an answer in another form is asked for once more, with a reminder."""
        messages = self.prompt.messages(question)
        begun = self._clock()
        verdict = await self._ask(messages, begun)
        if verdict.problem not in ("form", "empty"):
            return verdict
        said = {"role": "assistant", "content": verdict.raw or "(nothing)"}
        reminder = {"role": "user", "content": REMINDERS[self.prompt.form]}
        second = await self._ask([*messages, said, reminder], begun)
        return replace(
            second,
            tokens_in=(second.tokens_in or 0) + (verdict.tokens_in or 0),
            tokens_out=(second.tokens_out or 0) + (verdict.tokens_out or 0),
            tries=second.tries + verdict.tries,
            counted=second.counted or verdict.counted,
        )

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def _ask(self, messages: list[dict[str, Any]], begun: float) -> Verdict:
        """One answer, whatever it takes within the limits."""
        length = sum(len(str(each["content"])) for each in messages)
        tries = 0
        while True:
            tries += 1
            step = self._formats
            body = self._body | {"messages": messages}
            if RESPONSE_FORMATS[step] is not None:
                body["response_format"] = RESPONSE_FORMATS[step]
            status, data, wait = await self._post(json.dumps(body).encode(), length / LETTERS)
            if status == 200:
                return self._verdict(data, length, tries)
            said = self._said(data)
            if status in (400, 422) and self._refuses_format(said) and step < len(RESPONSE_FORMATS) - 1:
                self._formats = max(self._formats, step + 1)
                continue
            if status in STOP or (status in (400, 422) and self._is_unknown_model(said)):
                raise InputError(f"{self.base_url}, model {self.model!r}: the server says {status} {said or ''}".rstrip() + _what_now(status))  # fmt: skip  # noqa: E501
            if status not in AGAIN and status != 0:
                raw = f"{status}: {said}"[:MOST_RAW]
                return Verdict(None, problem="too-long" if status == 1 else "rejected", raw=raw, tries=tries)
            pause = self._rng.uniform(0.0, min(MAX_BACKOFF, 2.0 ** (tries - 1))) if wait is None else wait
            if tries > MOST_TRIES or self._clock() - begun + pause > MAX_SECONDS:
                what = said or "no answer"
                raise UnreachableError(f"{self.base_url}: {what if status == 0 else f'{status} {what}'}; go on later")
            await self._sleep(pause)

    def _verdict(self, data: bytes, length: int, tries: int) -> Verdict:
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            text = self._clean(data[:MOST_RAW].decode("utf-8", "replace"))
            return Verdict(None, problem="form", raw=text, tokens_in=length // LETTERS, counted=True, tries=tries)
        verdict = read_response(body, self.prompt.form)
        if verdict.tokens_in is None or verdict.tokens_out is None:
            verdict = replace(
                verdict, tokens_in=length // LETTERS, tokens_out=len(verdict.raw) // LETTERS, counted=True
            )
        used = (verdict.tokens_in or 0) + (verdict.tokens_out or 0)
        self._tokens.correct(length / LETTERS, used)
        return replace(verdict, raw=self._clean(verdict.raw), tries=tries) if self._secrets else replace(verdict, tries=tries)  # fmt: skip  # noqa: E501

    async def _post(self, body: bytes, tokens: float) -> tuple[int, bytes, float | None]:
        """Status, body and the wait that is asked for. Status 0: no answer came, 1: too large a one."""
        await self._turn(tokens)
        sent = self._clock()
        try:
            status, data, after = await self._send(body)
        except _transport_errors() as problem:
            return 0, f"{type(problem).__name__} {problem}".strip().encode(), None
        finally:
            self._out -= 1
        if status == 429:
            self._crowd.too_much(self._clock(), sent)
        return status, data, retry_after(after, time.time())

    async def _turn(self, tokens: float) -> None:
        """Wait until another call may go out."""
        while self._out >= self._crowd.limit(self._clock()):
            await self._sleep(0.05)
        self._out += 1
        now = self._clock()
        wait = max(self._requests.wait(now), self._tokens.wait(now, tokens))
        if wait > 0:
            try:
                await self._sleep(wait)
            except BaseException:
                self._out -= 1
                raise

    async def _send(self, body: bytes) -> tuple[int, bytes, str | None]:
        client = self._opened()
        url = f"{self.base_url}/chat/completions"
        for _ in range(5):
            async with client.stream("POST", url, content=body) as response:
                if response.status_code in MOVED:
                    url = self._redirected(url, response.headers.get("location"), response.status_code)
                    continue
                parts, size = [], 0
                async for part in response.aiter_bytes():
                    parts.append(part)
                    size += len(part)
                    if size > MAX_BODY:
                        return 1, b"an answer of more than 4 MB", None
                return response.status_code, b"".join(parts), response.headers.get("retry-after")
        raise InputError(f"{self.base_url} sends from one address to the next; give the last one as --base-url")

    def _redirected(self, url: str, to: str | None, status: int) -> str:
        """The new address, on the same host only: a key is never sent to another."""
        new = urljoin(url, to or "")
        if _host(new) != _host(url) or not to:
            raise InputError(f"{self.base_url}: the server says {status}, go to {_host(new) or 'nowhere'}; give that address as --base-url if you trust it")  # fmt: skip  # noqa: E501
        return new

    def _opened(self) -> httpx.AsyncClient:
        if self._client is None:
            try:
                import httpx
            except ImportError as problem:
                raise InputError("a model needs httpx; pip install 'podium[judge]'") from problem
            key = next((os.environ[name] for name in KEYS if os.environ.get(name)), None)
            headers = {"Content-Type": "application/json"} | self._headers
            if key is not None:
                if not key.isascii() or not key.isprintable():
                    raise InputError(f"the key in {' or '.join(KEYS)} holds a character that no header can; copy it again")  # fmt: skip  # noqa: E501
                headers["Authorization"] = f"Bearer {key}"
            self._secrets = _Hidden({name: each for name, each in {"key": key or "", **self._headers}.items() if each})
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=self.concurrency)
            try:
                self._client = httpx.AsyncClient(
                    headers=headers, timeout=self.timeout, limits=limits, follow_redirects=False
                )
            except (ValueError, TypeError, UnicodeError) as problem:
                raise InputError("--header: a name or value is not what HTTP takes; give NAME=VALUE in ASCII") from problem  # fmt: skip  # noqa: E501
        return self._client

    def _said(self, data: bytes) -> str:
        """The server's words in an error, on one line and without secrets."""
        text = data[:20_000].decode("utf-8", "replace")
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            return self._clean(" ".join(text.split())[:300])
        error = body.get("error", body) if isinstance(body, dict) else body
        if isinstance(error, dict):
            error = error.get("message") or error.get("detail") or error
        return self._clean(" ".join(str(error).split())[:300])

    def _clean(self, text: str) -> str:
        for secret in self._secrets.values():
            text = text.replace(secret, "[key]")
        return text

    def _refuses_format(self, said: str) -> bool:
        return any(word in said for word in ("response_format", "json_schema", "json_object", "structured output"))

    def _is_unknown_model(self, said: str) -> bool:
        low = said.lower()
        words = ("not found", "does not exist", "unknown", "not exist", "invalid model", "not a valid model")
        return "model" in low and any(word in low for word in words)


def address_of(url: str) -> str:
    """An address as we use it: with a scheme, without /chat/completions, a slash or a name and password.

    >>> address_of("http://localhost:8000/v1/chat/completions/")
    'http://localhost:8000/v1'
    """
    plain = url.strip().rstrip("/").removesuffix("/chat/completions").rstrip("/")
    try:
        parts = urlsplit(plain)
        host, _ = parts.hostname, parts.port
    except ValueError as problem:
        raise InputError(f"--base-url {url!r} is no address ({problem}); give one as http://localhost:8000/v1") from problem  # fmt: skip  # noqa: E501
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(f"--base-url {url!r} is no address; give one that begins with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise InputError("--base-url holds a name or a password; take it out, and set PODIUM_API_KEY")
    if parts.query or parts.fragment or not plain.isprintable() or " " in plain:
        raise InputError(f"--base-url {url!r} holds more than an address; give one as http://localhost:8000/v1")
    return plain


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def _transport_errors() -> tuple[type[Exception], ...]:
    import httpx

    return (httpx.TransportError, httpx.DecodingError)


def _what_now(status: int) -> str:
    return {
        401: "; set PODIUM_API_KEY to a key that it takes",
        402: "; look at the account's credit",
        403: "; look whether the key may use this model",
        404: "; check --base-url and --model",
        405: "; check --base-url",
    }.get(status, "; check --model")
