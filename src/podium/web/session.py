"""Who a visitor is: nobody, a judge of a campaign, its organiser, or the operator of the server.

A link carries a secret in its fragment, which no server log and no referrer ever sees. The page posts it once, and it
comes back as a cookie that scripts cannot read.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request, Response

from podium.campaign.tokens import hash_of, is_token
from podium.errors import RefusedError
from podium.store.reader import Reader
from podium.web.limits import TooManyError
from podium.web.state import State, Who, state_of

__all__ = [
    "JudgeHere",
    "Number",
    "OperatorHere",
    "OrganiserHere",
    "Who",
    "address_of",
    "bearer",
    "enter",
    "find",
    "judge_here",
    "leave",
    "may_try",
    "organiser_of",
    "token_of",
    "who_is",
]

DAYS_90 = 90 * 24 * 60 * 60
REMEMBERED = 20.0  # seconds
MOST_KNOWN = 50_000
ROLES = ("judge", "organiser", "operator")


def address_of(request: Request) -> str:
    """Where a request comes from; what a proxy says only where the server was told that there is one."""
    state = state_of(request)
    said = request.headers.get("x-forwarded-for") if state.behind_proxy else None
    return said.split(",")[-1].strip() if said else (request.client.host if request.client else "nowhere")


def cookie_name(state: State, role: str) -> str:
    """The cookie of a role; with TLS it is bound to this host."""
    return f"__Host-podium-{role}" if state.secure else f"podium-{role}"


def enter(state: State, response: Response, role: str, token: str) -> None:
    """Let the browser keep the secret of a link as a cookie."""
    response.set_cookie(
        cookie_name(state, role), token, max_age=DAYS_90, path="/", httponly=True, samesite="lax", secure=state.secure
    )


def leave(state: State, response: Response) -> None:
    """Forget whoever this browser was."""
    for role in ROLES:
        response.delete_cookie(cookie_name(state, role), path="/", httponly=True, samesite="lax", secure=state.secure)


def find(reader: Reader, token: str, operator_hash: str | None) -> Who | None:
    """Whose secret this is."""
    hashed = hash_of(token)
    known = reader.judge_of_token(hashed)
    if known is not None:
        return Who("judge", known[0], known[1].id)
    for each in reader.campaigns():
        if is_token(token, each.admin_hash):
            return Who("organiser", each.id)
    if operator_hash is not None and is_token(token, operator_hash):
        return Who("operator")
    return None


def may_try(request: Request) -> None:
    """Refuse an address that has shown too many wrong links."""
    wait = state_of(request).wrong.full(address_of(request))
    if wait:
        raise TooManyError(wait, "too many wrong links from your address; wait a minute and try again")


async def who_is(request: Request, token: str) -> Who:
    """Whose secret this is, or a refusal that counts against the address."""
    return await _whose(request, token, hash_of(token))


async def _whose(request: Request, token: str, key: str) -> Who:
    """The same, with the secret's hash. Remembered for a moment: each transaction asks anyway who may still vote."""
    state = state_of(request)
    now = state.clock()
    who, until = state.known.get(key, (None, 0.0))
    if who is not None and now < until:
        return who
    may_try(request)
    who = await state.read(lambda reader: find(reader, token, state.operator_hash))
    if who is None:
        state.wrong.wait(address_of(request))
        raise RefusedError("unknown-token", "this link is not known; ask for a new one")
    if len(state.known) >= MOST_KNOWN:
        state.known.clear()
    state.known[key] = (who, now + REMEMBERED)
    return who


def token_of(request: Request, role: str) -> str | None:
    """The secret that the browser keeps for a role."""
    return request.cookies.get(cookie_name(state_of(request), role))


async def _here(request: Request, role: str) -> Who:
    token = token_of(request, role) or bearer(request)
    if token is None:
        raise RefusedError("no-session", "nobody is known here; open your link again")
    key = hash_of(token)
    who = await _whose(request, token, key)
    if who.role != role:
        raise RefusedError(
            "no-session", f"this needs the link of {'a' if role == 'judge' else 'an'} {role}; open that one"
        )
    wait = state_of(request).requests.wait(key)
    if wait:
        raise TooManyError(wait, "too many requests; wait a second")
    return who


def bearer(request: Request) -> str | None:
    """A program may say its secret in a header instead."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


Number = Annotated[int, Path(ge=0, le=2**31 - 1)]  # of a campaign, an item or a judge in an address


async def judge_here(request: Request) -> Who:
    """The judge whose request this is."""
    return await _here(request, "judge")


async def _organiser(request: Request) -> Who:
    return await _here(request, "organiser")


async def _operator(request: Request) -> Who:
    return await _here(request, "operator")


async def organiser_of(campaign: Number, who: Annotated[Who, Depends(_organiser)]) -> int:
    """The campaign of the address, where this is its organiser; any other is as if it did not exist."""
    if who.campaign != campaign:
        raise RefusedError("unknown-campaign", f"there is no campaign {campaign}; check its number")
    return campaign


JudgeHere = Annotated[Who, Depends(judge_here)]
OrganiserHere = Annotated[Who, Depends(_organiser)]
OperatorHere = Annotated[Who, Depends(_operator)]
