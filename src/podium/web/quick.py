"""The short way for what every comparison asks: a vote, and the pairs in hand.

The same checks and the same functions as behind the long way, without looking through all routes and collecting their
dependencies. Whatever is unusual about a request (an address with more in it, a body that is not as it should be) goes
the long way, which has the words for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from podium.errors import PodiumError
from podium.web import forms, judging, session
from podium.web.guard import Receive, Scope, Send
from podium.web.limits import TooManyError
from podium.web.state import state_of

__all__ = ["Quick"]

VOTES, NEXT = ("POST", "/api/v1/votes"), ("GET", "/api/v1/next")


class Quick:
    """Answers votes and requests for the next pairs itself, hands everything else on; `answer` words a refusal."""

    def __init__(self, app: Any, answer: Callable[[Request, Exception], Awaitable[Response]]) -> None:
        self.app, self.answer = app, answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        way = (scope.get("method"), scope.get("path"))
        if way not in (VOTES, NEXT) or scope["query_string"] or scope.get("root_path"):
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        if way == VOTES and not request.headers.get("content-type", "").startswith("application/json"):
            await self.app(scope, receive, send)
            return
        try:
            if way == NEXT:
                body = await judging.hand_of(state_of(request), await session.judge_here(request))
            else:
                messages = await _whole(receive)
                try:
                    votes = forms.VotesIn.model_validate_json(b"".join(each.get("body", b"") for each in messages))
                except ValidationError:
                    await self.app(scope, _again(messages, receive), send)
                    return
                body = await judging.voted(state_of(request), await session.judge_here(request), votes)
        except (PodiumError, HTTPException, TooManyError) as problem:
            response = await self.answer(request, problem)
            await response(scope, receive, send)
            return
        headers = [(b"content-length", str(len(body)).encode()), (b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


async def _whole(receive: Receive) -> list[Any]:
    """All messages of a body, or as many as came before the sender went."""
    messages = [await receive()]
    while messages[-1].get("more_body"):
        messages.append(await receive())
    return messages


def _again(messages: list[Any], receive: Receive) -> Receive:
    """The same messages once more, then what comes after them."""
    rest = iter(messages)

    async def once_more() -> Any:
        return next(rest, None) or await receive()

    return once_more
