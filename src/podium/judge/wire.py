"""The way to a server: connections, the key from the environment, redirects, and how many requests when.

Each call that is out has a client of its own with one connection: httpx looks through all connections of a client for
each request, which with 64 of them costs more than everything that we do.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from podium.errors import InputError
from podium.judge.limits import Crowd, Pace, retry_after

if TYPE_CHECKING:
    import httpx

__all__ = ["MAX_BODY", "NO_ANSWER", "TOO_LARGE", "Reply", "Wire", "address_of"]

KEYS = ("PODIUM_API_KEY", "OPENAI_API_KEY")
MOVED = (301, 302, 303, 307, 308)
MAX_MOVES = 5
MAX_BODY = 4_000_000  # bytes of an answer, unpacked
MIN_SECRET = 8  # characters of a header's value from which on it is taken out of every text
NO_ANSWER, TOO_LARGE = 0, 1  # in place of a status


class Hidden(dict[str, str]):
    """Values that no repr shows."""

    def __repr__(self) -> str:
        return f"<{len(self)} hidden>"


class Reply(NamedTuple):
    """What came back; `wait` is what the server asks for, in seconds."""

    status: int
    data: bytes
    wait: float | None = None


@dataclass(slots=True)
class Rates:
    """Requests and tokens a minute, and calls out at a time."""

    requests: Pace
    tokens: Pace
    crowd: Crowd
    out: int = 0


class Wire:
    """Posts to one address, so many at a time and a minute, the key in the header and nowhere else."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        *,
        timeout: float,
        rates: Rates,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.base_url = base_url
        self.headers = Hidden(headers)
        self.timeout = timeout
        self.rates = rates
        self.clock, self.sleep = clock, sleep
        self._secrets = Hidden({})
        self._sent: Hidden | None = None  # the headers of every request
        self._url: Any = None
        self._tls: object = None  # made once: it reads all certificates
        self._free: list[httpx.AsyncClient] = []
        self._opened: list[httpx.AsyncClient] = []

    async def post(self, body: bytes, tokens: float) -> Reply:
        """Send when it is time to; a dropped connection is `NO_ANSWER` with its words."""
        await self._turn(tokens)
        sent = self.clock()
        client = self._free.pop() if self._free else self._new_client()
        try:
            status, data, after = await self._send(client, body)
        except _transport_errors() as problem:
            return Reply(NO_ANSWER, f"{type(problem).__name__} {problem}".strip().encode())
        except _address_error() as problem:
            words = f"{self.base_url} sends to an address that is none ({problem}); look at what runs there"
            raise InputError(words) from problem
        finally:
            self.rates.out -= 1
            self._free.append(client)
        if status == 429:
            self.rates.crowd.too_much(self.clock(), sent)
        return Reply(status, data, retry_after(after, time.time()))

    async def close(self) -> None:
        """Close the connections."""
        opened, self._opened, self._free = self._opened, [], []
        for client in opened:
            await client.aclose()

    def clean(self, text: str) -> str:
        """A text without secrets, also where a server repeats them."""
        for secret in self._secrets.values():
            if secret in text:
                text = text.replace(secret, "[key]")
        return text

    async def _turn(self, tokens: float) -> None:
        """Wait until another call may go out."""
        rates = self.rates
        while rates.out >= rates.crowd.limit(self.clock()):
            await self.sleep(0.05)
        rates.out += 1
        now = self.clock()
        wait = max(rates.requests.wait(now), rates.tokens.wait(now, tokens))
        if wait > 0:
            try:
                await self.sleep(wait)
            except BaseException:
                rates.out -= 1
                raise

    async def _send(self, client: httpx.AsyncClient, body: bytes) -> tuple[int, bytes, str | None]:
        url: Any = self._url  # parsed once
        for _ in range(MAX_MOVES):
            async with client.stream("POST", url, content=body) as response:
                if response.status_code in MOVED:
                    url = self._redirected(str(url), response.headers.get("location"), response.status_code)
                    continue
                parts, size = [], 0
                async for part in response.aiter_bytes():
                    parts.append(part)
                    size += len(part)
                    if size > MAX_BODY:
                        return TOO_LARGE, b"an answer of more than 4 MB", None
                return response.status_code, b"".join(parts), response.headers.get("retry-after")
        raise InputError(f"{self.base_url} sends from one address to the next; give the last one as --base-url")

    def _redirected(self, url: str, to: str | None, status: int) -> str:
        """The new address, on the same host only: a key is never sent to another."""
        try:
            new = urljoin(url, to or "")
            where = _host(new) or "nowhere"
        except ValueError:
            new, where = "", "nowhere"
        if where != _host(url) or not to:
            raise InputError(
                f"{self.base_url}: the server says {status}, go to {where}; give that address as --base-url if you "
                f"trust it"
            )
        return new

    def _new_client(self) -> httpx.AsyncClient:
        try:
            import httpx
        except ImportError as problem:
            raise InputError("a model needs httpx; pip install 'podium[judge]'") from problem
        if self._sent is None:
            self._sent = self._with_key()
            self._url = httpx.URL(f"{self.base_url}/chat/completions")
        if self._tls is None:
            self._tls = httpx.create_ssl_context() if self.base_url.startswith("https:") else False
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=1)
        try:
            client = httpx.AsyncClient(
                headers=self._sent,
                timeout=self.timeout,
                limits=limits,
                follow_redirects=False,
                verify=self._tls,  # type: ignore[arg-type]
            )
        except (ValueError, TypeError, UnicodeError) as problem:
            words = "--header: a name or value is not what HTTP takes; give NAME=VALUE in ASCII"
            raise InputError(words) from problem
        self._opened.append(client)
        return client

    def _with_key(self) -> Hidden:
        """The headers, with the key where the environment has one."""
        key = next((os.environ[name] for name in KEYS if os.environ.get(name)), None)
        headers = Hidden({"Content-Type": "application/json"} | self.headers)
        if key is not None:
            if not key.isascii() or not key.isprintable():
                names = " or ".join(KEYS)
                raise InputError(f"the key in {names} holds a character that no header can; copy it again")
            headers["Authorization"] = f"Bearer {key}"
        long = {name: value for name, value in self.headers.items() if len(value) >= MIN_SECRET}
        self._secrets = Hidden(long | ({"key": key} if key else {}))
        return headers


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
        words = f"--base-url {url!r} is no address ({problem}); give one as http://localhost:8000/v1"
        raise InputError(words) from problem
    if parts.scheme not in ("http", "https") or not host:
        raise InputError(f"--base-url {url!r} is no address; give one that begins with http:// or https://")
    if parts.username is not None or parts.password is not None:
        raise InputError("--base-url holds a name or a password; take it out, and set PODIUM_API_KEY")
    if parts.query or parts.fragment or not plain.isprintable() or " " in plain:
        short = plain.partition("?")[0].partition("#")[0]  # what follows may be a secret
        raise InputError(f"--base-url {short!r} holds more than an address; give one as http://localhost:8000/v1")
    return plain


def _host(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.netloc else ""


def _transport_errors() -> tuple[type[Exception], ...]:
    import httpx

    return (httpx.TransportError, httpx.DecodingError)


def _address_error() -> type[Exception]:
    """What httpx says of an address in a redirect, also where it is not followed."""
    import httpx

    return httpx.InvalidURL
