"""Around every request: headers that a browser enforces, and what may not come in at all."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.exceptions import HTTPException

__all__ = ["POLICY", "Guard"]

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    b"content-security-policy": POLICY.encode(),
    b"x-content-type-options": b"nosniff",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-opener-policy": b"same-origin",
    b"cross-origin-resource-policy": b"same-origin",
    b"permissions-policy": b"camera=(), microphone=(), geolocation=()",
}
SAFE = ("GET", "HEAD", "OPTIONS")
MOST_BODY = 64_000  # bytes
MOST_UPLOAD = 10_000_000  # bytes of a file, and a little for what is around it
AROUND = 100_000


class _TooLargeError(HTTPException):
    """Raised where the body is read, so that nothing more of it is."""

    def __init__(self, most: int) -> None:
        super().__init__(413, f"a request has at most {most:,} bytes; send less")


class Guard:
    """Puts the headers on, and turns away what is too large, forged by another page, or in a wrong form."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name.lower(): value for name, value in scope["headers"]}

        async def send_headed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = {name.lower() for name, _ in message["headers"]}
                extra = [(name, value) for name, value in HEADERS.items() if name not in own]
                if scope["path"].startswith(("/api/", "/o", "/j")) and b"cache-control" not in own:
                    extra.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*message["headers"], *extra]}
            await send(message)

        upload = headers.get(b"content-type", b"").startswith(b"multipart/form-data")
        problem = None if scope["method"] in SAFE else _forged(scope, headers, upload)
        if problem is not None:
            await _refuse(send_headed, 403, "forged", problem)
            return
        most = MOST_UPLOAD + AROUND if upload else MOST_BODY
        size = 0

        async def receive_some() -> MutableMapping[str, Any]:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > most:
                raise _TooLargeError(most)
            return message

        try:
            length = int(headers.get(b"content-length", b"0"))
        except ValueError:
            length = 0
        if length > most:
            await _refuse(send_headed, 413, "too-large", str(_TooLargeError(most).detail))
            return
        await self.app(scope, receive_some, send_headed)


def _forged(scope: Scope, given: dict[bytes, bytes], upload: bool) -> str | None:
    """Why a request that changes something cannot be one of ours."""
    if b"x-podium" not in given:
        return "a request that changes something needs the header X-Podium"
    kind = given.get(b"content-type", b"").split(b";")[0].strip()
    if kind not in (b"application/json", b"multipart/form-data") and not (not kind and scope["method"] == "DELETE"):
        return "a request that changes something is JSON, or multipart for uploads"
    origin = given.get(b"origin")
    if origin is not None and origin.partition(b"://")[2] != given.get(b"host", b""):
        return "a request of another page is not taken"
    return None


async def _refuse(send: Send, status: int, code: str, words: str) -> None:
    body = json.dumps({"code": code, "message": words}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
