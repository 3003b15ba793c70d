"""A model behind an OpenAI-compatible server: what is asked, tried again, and read."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from podium.errors import InputError, PodiumError
from podium.judge.limits import MOST_OUT, Crowd, Pace, check_number, check_whole
from podium.judge.prompt import REMINDERS, SCHEMA, Asked, Prompt
from podium.judge.verdict import MOST_RAW, Form, Problem, Verdict, read_response
from podium.judge.wire import NO_ANSWER, TOO_LARGE, Rates, Reply, Wire, address_of

__all__ = ["HttpJudge", "UnreachableError"]

AGAIN = (408, 409, 425, 429, 500, 502, 503, 504, 529)
STOP = (401, 402, 403, 404, 405)
BAD = (400, 422)  # a server does not like what is asked, or how
MOST_TRIES = 6  # after the first
MAX_SECONDS = 600.0  # of one call, waits included
MAX_BACKOFF = 60.0
LETTERS = 4  # of a token, where the server does not count
# How the form of a JSON answer is asked for, the strictest first; what a server refuses is not tried again.
RESPONSE_FORMATS: tuple[dict[str, Any] | None, ...] = (
    {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}},
    {"type": "json_object"},
    None,
)
FORMAT_WORDS = ("response_format", "json_schema", "json_object", "structured output")
OURS = ("model", "messages", "response_format", "stream", "n")  # fields without which no verdict could be read, or told
UNKNOWN_WORDS = ("not found", "does not exist", "unknown", "not exist", "invalid model", "not a valid model")


class UnreachableError(PodiumError):
    """A call was tried as often as is allowed; nothing was answered. The pair is asked again later."""

    def __init__(self, words: str, tries: int = 0, lost: int = 0) -> None:
        super().__init__(f"{words}; try again later")
        self.words = words
        self.tries, self.lost = tries, lost  # requests that were sent, and those that got no answer


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
        for name in OURS:
            if name in dict(extra_body or {}):
                raise InputError(f"extra_body sets {name!r}, which the judge sets itself; leave it out")
        self._body = {"model": model, "temperature": temperature, "max_tokens": max_tokens} | dict(extra_body or {})
        if answer == "logprobs":
            self._body |= {"logprobs": True, "top_logprobs": 20, "max_tokens": 1}
        self._format = 0 if answer == "json" else len(RESPONSE_FORMATS) - 1
        self._rng = np.random.default_rng(seed)  # of waits only
        self._clock, self._sleep = clock, sleep
        self._answered = False  # whether a chat completion ever came
        self.paid: dict[str, Verdict] = {}  # answers to questions that are out which could not be read, by id
        rates = Rates(Pace(rpm), Pace(tpm), Crowd(concurrency))
        self._wire = Wire(self.base_url, given, timeout=timeout, rates=rates, clock=clock, sleep=sleep)

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
            "headers": sorted(self._wire.headers),
        }

    async def answer(self, question: Asked) -> Verdict:
        """Ask; an answer in another form is asked for once more, with a reminder.

        Until that comes back, the answer that was paid for is in `paid`; where it cannot be had, that answer stands.
        """
        messages = self.prompt.messages(question)
        begun = self._clock()
        verdict = await self._ask(messages, begun)
        if verdict.problem not in ("form", "empty"):
            return verdict
        said = {"role": "assistant", "content": verdict.raw or "(nothing)"}
        reminder = {"role": "user", "content": REMINDERS[self.prompt.form]}
        self.paid[question.id] = verdict
        try:
            second = await self._ask([*messages, said, reminder], begun)
        except UnreachableError as problem:
            second = replace(verdict, tokens_in=0, tokens_out=0, tries=problem.tries, lost=problem.lost)
        self.paid.pop(question.id, None)
        return replace(
            second,
            tokens_in=(second.tokens_in or 0) + (verdict.tokens_in or 0),
            tokens_out=(second.tokens_out or 0) + (verdict.tokens_out or 0),
            tries=second.tries + verdict.tries,
            lost=second.lost + verdict.lost,
            counted=second.counted or verdict.counted,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()

    async def _ask(self, messages: list[dict[str, Any]], begun: float) -> Verdict:
        """One answer, whatever it takes within the limits."""
        length = sum(len(str(each["content"])) for each in messages)
        tries = lost = 0
        while True:
            tries += 1
            step = self._format
            body = self._body | {"messages": messages}
            if RESPONSE_FORMATS[step] is not None:
                body["response_format"] = RESPONSE_FORMATS[step]
            reply = await self._wire.post(json.dumps(body).encode(), length / LETTERS)
            lost += reply.status == NO_ANSWER
            page = reply.status == 200 and _is_page(reply.data)
            if reply.status == 200 and not page:
                self._answered = True
                return replace(self._verdict(reply.data, length, tries), lost=lost)
            if page and not self._answered:
                raise InputError(
                    f"{self.base_url} answers with a web page, not a chat completion; check --base-url (it usually "
                    f"ends with /v1)"
                )
            said = self._said(reply.data)
            if reply.status in BAD and step < len(RESPONSE_FORMATS) - 1 and _has(said, FORMAT_WORDS):
                self._format = max(self._format, step + 1)
                continue
            if not page and reply.status not in (*AGAIN, NO_ANSWER):
                return replace(self._rejected(reply.status, said, tries), lost=lost)
            await self._sleep(self._pause(reply, said, tries, begun, lost))

    def _rejected(self, status: int, said: str, tries: int) -> Verdict:
        """What will not be otherwise when asked again: a skip, or the end of the run."""
        low = said.lower()
        if status in STOP or (status in BAD and "model" in low and _has(low, UNKNOWN_WORDS)):
            where = f"{self.base_url}, model {self.model!r}: the server says {status} {said}".rstrip()
            raise InputError(where + _what_now(status))
        problem: Problem = "too-long" if status == TOO_LARGE else "rejected"
        return Verdict(None, problem=problem, raw=f"{status}: {said}"[:MOST_RAW], tries=tries)

    def _pause(self, reply: Reply, said: str, tries: int, begun: float, lost: int = 0) -> float:
        """Seconds until the next try, or the end where there have been enough."""
        pause = reply.wait
        if pause is None:
            pause = float(self._rng.uniform(0.0, min(MAX_BACKOFF, 2.0 ** (tries - 1))))
        if tries > MOST_TRIES or self._clock() - begun + pause > MAX_SECONDS:
            silent = f"{self.base_url} does not answer ({said or 'no words'})"
            words = silent if reply.status == NO_ANSWER else f"{self.base_url} says {reply.status} {said}"
            raise UnreachableError(words, tries, lost)
        return pause

    def _verdict(self, data: bytes, length: int, tries: int) -> Verdict:
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            text = self._wire.clean(data[:MOST_RAW].decode("utf-8", "replace"))
            return Verdict(None, problem="form", raw=text, tokens_in=length // LETTERS, counted=True, tries=tries)
        verdict = read_response(body, self.prompt.form)
        told: dict[str, Any] = {"raw": self._wire.clean(verdict.raw), "tries": tries}
        if verdict.tokens_in is None or verdict.tokens_out is None:
            told |= {"tokens_in": length // LETTERS, "tokens_out": len(verdict.raw) // LETTERS, "counted": True}
        verdict = replace(verdict, **told)
        self._wire.rates.tokens.correct(length / LETTERS, (verdict.tokens_in or 0) + (verdict.tokens_out or 0))
        return verdict

    def _said(self, data: bytes) -> str:
        """The server's words in an error, on one line and without secrets."""
        text = data[:20_000].decode("utf-8", "replace")
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            return self._wire.clean(" ".join(text.split())[:300])
        error = body.get("error", body) if isinstance(body, dict) else body
        if isinstance(error, dict):
            error = error.get("message") or error.get("detail") or error
        return self._wire.clean(" ".join(str(error).split())[:300])


def _is_page(data: bytes) -> bool:
    """Whether an answer is a page for people: a wrong address, or a server that is being repaired."""
    return data[:1000].lstrip().lower().startswith((b"<!doctype", b"<html", b"<head", b"<?xml", b"<!--"))


def _has(said: str, words: tuple[str, ...]) -> bool:
    return any(word in said for word in words)


def _what_now(status: int) -> str:
    return {
        401: "; set PODIUM_API_KEY to a key that it takes",
        402: "; look at the account's credit",
        403: "; look whether the key may use this model",
        404: "; check --base-url and --model",
        405: "; check --base-url",
    }.get(status, "; check --model")
