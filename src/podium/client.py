"""The web API from Python: vote as a judge, or run a campaign as its organiser.

>>> Judge("http://127.0.0.1:8000", "secret")
Judge('http://127.0.0.1:8000')
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Self

from podium.errors import InputError, RefusedError, UnavailableError
from podium.text import one_line, storable

if TYPE_CHECKING:
    import httpx

__all__ = ["Judge", "Organiser"]

TRIES = 5
LONGEST_WAIT = 5.0  # seconds
# What a reply must hold to be read here: names and types, of each row of a list.
ITEM = {"kind": str, "html": (str, NoneType), "media": (str, NoneType)}
HAND = {
    "questions": [{"id": int, "left": ITEM, "right": ITEM}],
    "why": (str, NoneType),
    "target": (int, NoneType),
    "who": str,
    "campaign": {"title": str, "question": str, "instructions": str, "ties": bool},
}
RECEIPTS = {"receipts": [{"status": str, "code": (str, NoneType), "message": (str, NoneType)}]}


class _Client:
    """A link's secret on a server; used in a `with` block, it closes its connection."""

    def __init__(self, url: str, token: str, *, timeout: float = 30.0) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._open: httpx.Client | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    @classmethod
    def by_link(cls, link: str, **options: Any) -> Self:
        """From a link as it is sent to people: the address, then # and the secret."""
        address, mark, token = link.partition("#")
        if not mark or not token:
            raise InputError("the link has no secret: the part after # is missing; copy all of it")
        return cls(address.rpartition("/")[0], token, **options)

    @property
    def _http(self) -> httpx.Client:
        if self._open is None:
            try:
                import httpx
            except ImportError as problem:
                raise InputError("the client needs httpx; pip install 'podium[serve]'") from problem
            headers = {"Authorization": f"Bearer {self._token}", "X-Podium": "1", "Content-Type": "application/json"}
            try:
                self._open = httpx.Client(base_url=f"{self.url}/api/v1/", headers=headers, timeout=self._timeout)
            except UnicodeError:
                words = "the secret holds a character that no header can; copy the part after # of the link again"
                raise InputError(words) from None  # which would repeat the secret
            except httpx.InvalidURL as problem:
                words = f"{self.url!r} is no address ({problem}); give one as http://127.0.0.1:8000"
                raise InputError(words) from problem
            if self._open.base_url.scheme not in ("http", "https"):
                self.close()
                raise InputError(f"{self.url!r} is no address; give one as http://127.0.0.1:8000")
        return self._open

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """Send a request and return the JSON that comes back; where the server asks to wait, wait.

        What it refuses is raised in its own words.
        """
        return self._read(self._reply(method, path, body, **more))

    def _asked(self, form: Any, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """The same, where what comes back must have this form."""
        value = self.ask(method, path, body, **more)
        if not _has_form(value, form):
            raise self._stranger(f"{method} {path} with something else than a Podium server")
        return value

    def _read(self, answer: httpx.Response) -> Any:
        try:
            return answer.json()
        except (ValueError, RecursionError):
            raise self._stranger("with something that is no JSON") from None

    def _stranger(self, what: str) -> UnavailableError:
        return UnavailableError(f"{self.url} answers {what}; check the address, and that its version is not older")

    def _reply(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        """What the server says, where it does not refuse."""
        http = self._http
        import httpx

        try:
            content = None if body is None else json.dumps(body, allow_nan=False).encode()
        except (ValueError, TypeError) as problem:
            raise InputError(f"{path}: what was to be sent is no JSON ({problem}); give plain values") from problem
        for attempt in range(TRIES):
            try:
                answer = http.request(method, path, content=content, **more)
            except httpx.InvalidURL as problem:  # of a file, or of a redirect
                raise self._stranger(f"with an address that is none ({problem})") from problem
            except httpx.HTTPError as problem:
                raise UnavailableError(f"{self.url} does not answer ({one_line(str(problem))}); try again") from problem
            if answer.status_code != 429 or attempt == TRIES - 1:
                break
            time.sleep(_wait(answer.headers.get("retry-after")))
        if answer.is_success:
            return answer
        code, words = self._refusal(answer)
        if answer.status_code in (429, 503):
            raise UnavailableError(words)
        raise RefusedError(code, words)

    def _refusal(self, answer: httpx.Response) -> tuple[str, str]:
        """The code and the words of a refusal: the server's, where it is one of ours."""
        try:
            said = answer.json()
        except (ValueError, RecursionError):
            said = None
        if _has_form(said, {"code": str, "message": str}) and said["message"].strip():
            return said["code"], one_line(said["message"])
        return "failed", f"{self.url} answered {answer.status_code}; check the address"

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


def _has_form(value: Any, form: Any) -> bool:
    """Whether a JSON value holds what a form names; it may hold more."""
    if isinstance(form, dict):
        return isinstance(value, dict) and all(name in value and _has_form(value[name], form[name]) for name in form)
    if isinstance(form, list):
        return isinstance(value, list) and all(_has_form(each, form[0]) for each in value)
    return isinstance(value, form) and (not isinstance(value, str) or storable(value) == value)


def _wait(said: str | None) -> float:
    """Seconds to wait, as the server asks; not longer than our own patience."""
    try:
        seconds = float(said or 1)
    except ValueError:  # a date
        return LONGEST_WAIT
    return seconds if 0 <= seconds <= LONGEST_WAIT else LONGEST_WAIT


class Judge(_Client):
    """A judge by a link: get pairs, vote, take back.

    Parameters
    ----------
    url : str
        The server, as http://127.0.0.1:8000.
    token : str
        The secret of the link: what stands after #.
    timeout : float
        Seconds to wait for an answer.
    """

    def next(self, count: int = 3) -> dict[str, Any]:
        """The pairs in hand (`questions`), how far one is, and what the campaign asks."""
        hand: dict[str, Any] = self._asked(HAND, "GET", "next", params={"k": count})
        return hand

    def vote(
        self,
        question: int,
        outcome: float | None,
        *,
        id: str | None = None,
        ms: int | None = None,
        reason: str | None = None,
    ) -> str:
        """Vote on a pair: 1 left, 0 right, 0.5 tie, None to skip; returns the vote's id, with which to repeat or undo.

        Give an `id` of your own before the first try, and sending it again after a failure adds nothing.
        """
        own = id or secrets.token_hex(16)
        row = {"id": own, "question": question, "outcome": outcome, "ms": ms, "reason": reason}
        receipts = self._asked(RECEIPTS, "POST", "votes", {"votes": [row]})["receipts"]
        if len(receipts) != 1:
            raise self._stranger(f"a vote with {len(receipts)} receipts")
        if receipts[0]["status"] == "refused":
            raise RefusedError(receipts[0]["code"] or "refused", receipts[0]["message"] or "the vote was refused")
        return own

    def media(self, path: str) -> bytes:
        """The picture, sound, film or page of an item in hand, by the address that `next` gives."""
        return self._reply("GET", f"{self.url}{path}").content

    def undo(self, of: str) -> None:
        """Take a vote back."""
        self.ask("POST", "undo", {"id": secrets.token_hex(16), "of": of})

    def answer(
        self, judge: Callable[[dict[str, Any], dict[str, Any]], float | None], *, most: int | None = None
    ) -> int:
        """Let a function of two shown items judge until nothing is left, or `most` votes; returns how many."""
        done = 0
        while most is None or done < most:
            pairs = self.next()["questions"]
            if not pairs:
                return done
            self.vote(pairs[0]["id"], judge(pairs[0]["left"], pairs[0]["right"]))
            done += 1
        return done


class Organiser(_Client):
    """The organiser of a campaign by a link: invite, change, look, take results out.

    Parameters
    ----------
    url : str
        The server, as http://127.0.0.1:8000.
    token : str
        The secret of the link: what stands after #.
    timeout : float
        Seconds to wait for an answer.
    """

    @property
    def campaign(self) -> dict[str, Any]:
        """The campaign of the link."""
        campaigns = self._asked([{"id": int}], "GET", "campaigns")
        if not campaigns:
            raise RefusedError("unknown-campaign", f"{self.url} has no campaign of this link; ask for a new one")
        found: dict[str, Any] = campaigns[0]
        return found

    def _path(self, rest: str) -> str:
        return f"campaigns/{self.campaign['id']}{rest}"

    def invite(self, *names: str) -> dict[str, str]:
        """Invite judges; returns each one's link, which is shown only now."""
        rows = self._asked([{"name": str, "link": str}], "POST", self._path("/judges"), {"names": list(names)})
        return {row["name"]: row["link"] for row in rows}

    def change(self, **changes: Any) -> dict[str, Any]:
        """Change the state (open, paused, closed), title, instructions or options, and the question of a draft."""
        changed: dict[str, Any] = self._asked({}, "PATCH", self._path(""), changes)
        return changed

    def ranking(self) -> list[dict[str, Any]]:
        """The order so far."""
        rows: list[dict[str, Any]] = self._asked([{}], "GET", self._path("/ranking"))
        return rows

    def summary(self) -> dict[str, Any]:
        """Whether to go on. Where it is `far` from stable, `until_stable` is None: it is not forecast."""
        summary: dict[str, Any] = self._asked({}, "GET", self._path("/summary"))
        return summary

    def export(self, what: str, path: str, *, form: str = "csv") -> None:
        """Write votes, ranking, journal, report or all to a file."""
        content = self._reply("GET", self._path(f"/export/{what}"), params={"form": form}).content
        try:
            Path(path).write_bytes(content)
        except OSError as problem:
            raise InputError(f"cannot write {path}: {problem.strerror}; choose another path") from problem
