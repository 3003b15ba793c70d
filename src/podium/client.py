"""The web API from Python: vote as a judge, or run a campaign as its organiser.

>>> Judge("http://127.0.0.1:8000", "secret")
Judge('http://127.0.0.1:8000')
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from podium.errors import InputError, RefusedError, UnavailableError

if TYPE_CHECKING:
    import httpx

__all__ = ["Judge", "Organiser"]

TRIES = 5
LONGEST_WAIT = 5.0  # seconds


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
            headers = {"Authorization": f"Bearer {self._token}", "X-Podium": "1"}
            self._open = httpx.Client(base_url=f"{self.url}/api/v1/", headers=headers, timeout=self._timeout)
        return self._open

    def ask(self, method: str, path: str, body: Any = None, **more: Any) -> Any:
        """Send a request; where the server asks to wait, wait. What it refuses is raised in its own words."""
        import httpx

        for attempt in range(TRIES):
            try:
                answer = self._http.request(method, path, json=body, **more)
            except httpx.HTTPError as problem:
                raise UnavailableError(f"{self.url} does not answer ({problem}); try again") from problem
            if answer.status_code != 429 or attempt == TRIES - 1:
                break
            time.sleep(min(float(answer.headers.get("retry-after", 1)), LONGEST_WAIT))
        if answer.is_success:
            return answer.json() if answer.headers.get("content-type", "").startswith("application/json") else answer
        try:
            problem_said = answer.json()
        except ValueError:
            problem_said = {"code": "failed", "message": f"{self.url} answered {answer.status_code}"}
        if answer.status_code in (429, 503):
            raise UnavailableError(problem_said["message"])
        raise RefusedError(problem_said["code"], problem_said["message"])

    def close(self) -> None:
        """Close the connection."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


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
        answer: dict[str, Any] = self.ask("GET", "next", params={"k": count})
        return answer

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
        receipt = self.ask("POST", "votes", {"votes": [row]})["receipts"][0]
        if receipt["status"] == "refused":
            raise RefusedError(receipt["code"], receipt["message"])
        return own

    def media(self, path: str) -> bytes:
        """The picture, sound, film or page of an item in hand, by the address that `next` gives."""
        content: bytes = self.ask("GET", f"{self.url}{path}").content
        return content

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
        campaigns: dict[str, Any] = self.ask("GET", "campaigns")[0]
        return campaigns

    def _path(self, rest: str) -> str:
        return f"campaigns/{self.campaign['id']}{rest}"

    def invite(self, *names: str) -> dict[str, str]:
        """Invite judges; returns each one's link, which is shown only now."""
        return {row["name"]: row["link"] for row in self.ask("POST", self._path("/judges"), {"names": list(names)})}

    def change(self, **changes: Any) -> dict[str, Any]:
        """Change the state (open, paused, closed), title, instructions or options, and the question of a draft."""
        changed: dict[str, Any] = self.ask("PATCH", self._path(""), changes)
        return changed

    def ranking(self) -> list[dict[str, Any]]:
        """The order so far."""
        rows: list[dict[str, Any]] = self.ask("GET", self._path("/ranking"))
        return rows

    def summary(self) -> dict[str, Any]:
        """Whether to go on."""
        summary: dict[str, Any] = self.ask("GET", self._path("/summary"))
        return summary

    def export(self, what: str, path: str, *, form: str = "csv") -> None:
        """Write votes, ranking, journal, report or all to a file."""
        answer = self.ask("GET", self._path(f"/export/{what}"), params={"form": form})
        Path(path).write_bytes(answer.content)
