"""The API for judges: enter by a link, get pairs, vote, undo, look back, report an item."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from podium.campaign import desk, setup
from podium.campaign.desk import Ballot, Hand, Receipt
from podium.campaign.options import Options
from podium.errors import RefusedError
from podium.store.reader import Reader
from podium.store.values import Campaign, Item
from podium.store.writer import Writer
from podium.web import forms, session
from podium.web.content import markdown, preview
from podium.web.limits import TooManyError
from podium.web.session import JudgeHere
from podium.web.state import State, Who, state_of

__all__ = ["EXAMPLE", "card", "hand_of", "key_of", "past_votes", "router", "voted"]

router = APIRouter(prefix="/api/v1", tags=["judge"])
IN_HAND = 3
EXAMPLE = "..."  # stands in an open link where a study platform puts its id
MIN_MS = 300  # a key pressed sooner after a pair appears is ignored
BREAK_EVERY = 50
PageSize = Annotated[int, Query(ge=1, le=10)]


@router.post("/session")
async def open_session(request: Request, response: Response, entry: forms.Entry) -> dict[str, str]:
    """Enter by the secret of a link: a judge's, an open one, an organiser's, or the operator's."""
    state = state_of(request)
    session.may_try(request)
    who = await state.read(lambda reader: session.find(reader, entry.token, state.operator_hash))
    if who is not None:
        session.enter(state, response, who.role, entry.token)
        return {"role": who.role}
    open_link = await state.read(lambda reader: setup.campaign_of_open_link(reader, entry.token))
    if open_link is None:
        state.wrong.wait(session.address_of(request))
        raise RefusedError("unknown-token", "this link is not known; ask the organiser for a new one")
    campaign, parameter = open_link
    said = entry.parameters.get(parameter, "") if parameter else ""  # any other part of an address says nothing
    outside_id = said if said not in ("", EXAMPLE) else None
    now = await state.now()
    _, token = await state.write(campaign, lambda writer: setup.join(writer, entry.token, now, outside_id))
    session.enter(state, response, "judge", token)
    return {"role": "judge"}


@router.delete("/session")
async def close_session(request: Request, response: Response) -> dict[str, bool]:
    """Forget who this browser is; votes are safe."""
    session.leave(state_of(request), response)
    return {"left": True}


@router.get("/next", response_model=dict[str, Any])
async def next_pairs(request: Request, who: JudgeHere, k: PageSize = IN_HAND) -> Response:
    """The pairs in hand, the one to show first; the same ones after a reload."""
    return _json(await hand_of(state_of(request), who, k))


async def hand_of(state: State, who: Who, k: int = IN_HAND) -> bytes:
    """What `next` answers."""
    now = await state.now()

    def job(writer: Writer) -> tuple[Given, str]:
        understood = desk.understanding(writer, writer.locked, who.judge)
        name = writer.judge(who.campaign, who.judge).name
        if understood in ("asked", "failed") and writer.locked.state == "open":
            why = "comprehension" if understood == "asked" else "misunderstood"
            return _given(state, writer, Hand((), why, 0, None)), name
        return _given(state, writer, desk.next_pairs(writer, who.judge, now, k)), name

    given, name = await state.write(who.campaign, job, repeatable=True)
    about = {"campaign": card(given.campaign), "judge": name, "who": key_of(given.campaign, who.judge)}
    return await _shown(state, given, about)


@router.post("/comprehension")
async def comprehension(request: Request, who: JudgeHere, body: forms.AnswerIn) -> dict[str, Any]:
    """Answer the question about the instructions; two attempts."""
    state = state_of(request)
    now = await state.now()
    right, left = await state.write(
        who.campaign, lambda writer: desk.answer_comprehension(writer, who.judge, body.answer, now)
    )
    return {"right": right, "left": left}


@router.post("/votes", response_model=dict[str, Any])
async def vote(request: Request, who: JudgeHere, body: forms.VotesIn) -> Response:
    """Take votes, in the order they were made; each is stored, known already, or refused. The next pairs come back."""
    return _json(await voted(state_of(request), who, body))


async def voted(state: State, who: Who, body: forms.VotesIn) -> bytes:
    """What `votes` answers."""
    now = await state.now()
    if not state.today.take((who.campaign, who.judge), len(body.votes), now):
        raise TooManyError(3600, "that is more than 10,000 votes today; go on tomorrow")
    ballots = [Ballot(each.id, each.question, each.outcome, each.reason, each.ms, each.version) for each in body.votes]

    def job(writer: Writer) -> tuple[list[Receipt], Given]:
        receipts, hand = desk.vote(writer, who.judge, ballots, now, IN_HAND)
        return receipts, _given(state, writer, hand)

    receipts, given = await state.write(who.campaign, job, repeatable=True)
    if len(receipts) == 1 and receipts[0].code == "conflict":
        raise RefusedError("conflict", receipts[0].message or "")
    rows = [{"id": each.id, "status": each.status, "code": each.code, "message": each.message} for each in receipts]
    return await _shown(state, given, {"receipts": rows})


@router.post("/undo", response_model=dict[str, Any])
async def undo(request: Request, who: JudgeHere, body: forms.UndoIn) -> Response:
    """Take back a vote; its pair is in hand again, first."""
    state = state_of(request)
    now = await state.now()

    def job(writer: Writer) -> tuple[Receipt, Given]:
        receipt, hand = desk.undo(writer, who.judge, body.id, body.of, now, IN_HAND)
        return receipt, _given(state, writer, hand)

    receipt, given = await state.write(who.campaign, job, repeatable=True)
    return _json(await _shown(state, given, {"receipt": {"id": receipt.id, "status": receipt.status}}))


@router.get("/history")
async def history(
    request: Request, who: JudgeHere, limit: Annotated[int, Query(ge=1, le=500)] = 50
) -> list[dict[str, Any]]:
    """One's own last votes, newest first."""
    return await state_of(request).read(lambda reader: past_votes(reader, who.campaign, who.judge, limit))


def past_votes(reader: Reader, campaign: int, judge: int, limit: int) -> list[dict[str, Any]]:
    """A judge's last votes with the beginning of both items, newest first."""
    votes = desk.history(reader, campaign, judge, limit)
    items = reader.items_of(campaign, {code for each in votes for code in (each.left, each.right)})
    return [
        {
            "id": each.client_id,
            "question": each.question,
            "left": preview(items[each.left]),
            "right": preview(items[each.right]),
            "left_media": _media(items[each.left]),
            "right_media": _media(items[each.right]),
            "outcome": each.outcome,
            "at": each.received,
        }
        for each in votes
    ]


def _media(item: Item) -> dict[str, str] | None:
    return None if item.media is None else {"kind": item.kind, "address": f"/media/{item.media}"}


@router.post("/reports")
async def report(request: Request, who: JudgeHere, body: forms.ReportIn) -> dict[str, bool]:
    """Tell the organiser that an item of a pair in hand is broken."""
    state = state_of(request)
    now = await state.now()

    def job(writer: Writer) -> None:
        question = writer.question(who.campaign, body.question)
        if question is None or writer.shown(who.campaign, question.id, who.judge) is None:
            raise RefusedError("not-given", f"pair {body.question} was not given to you")
        item = question.left if body.side == "left" else question.right
        desk.report(writer, who.judge, item, body.reason, now)

    await state.write(who.campaign, job)
    return {"reported": True}


def key_of(campaign: Campaign, judge: int) -> str:
    """Under which name a browser keeps a judge's votes that are on their way."""
    return f"{campaign.slug}-{judge}"


@dataclass(frozen=True, slots=True)
class Given:
    """What a judge was given in a transaction, with the items of it that are not remembered."""

    campaign: Campaign
    hand: Hand
    unread: dict[int, Item]


def _given(state: State, writer: Writer, hand: Hand) -> Given:
    return Given(writer.locked, hand, state.unread(writer, writer.locked.id, hand.questions))


async def _shown(state: State, given: Given, more: dict[str, Any]) -> bytes:
    """The pairs in hand and how far the judge is, with whatever else is said, as JSON.

    The pairs are JSON already: to write their texts anew with every vote would be most of the work.
    """
    campaign, hand = given.campaign, given.hand
    enough = hand.why in ("done", "waiting") or (hand.target is not None and hand.answered >= hand.target)
    about = {
        "why": hand.why,
        "version": campaign.version,
        "ties": bool(campaign.options.get("ties", True)),
        "answered": hand.answered,
        "target": hand.target,
        "completion": campaign.options.get("texts", {}).get("completion") if enough else None,
    }
    pairs = await state.shown(campaign.id, hand.questions, given.unread)
    return f'{{"questions":{pairs},{_ENCODE(about | more)[1:]}'.encode()


_ENCODE = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def card(campaign: Campaign) -> dict[str, Any]:
    """What a judge may know of a campaign: never how it stands."""
    options = Options.of(campaign.options)
    texts = options.texts
    asked = texts.get("comprehension")
    return {
        "title": campaign.title,
        "question": campaign.question,
        "instructions": markdown(campaign.instructions),
        "version": campaign.version,
        "ties": options.ties,
        "min_ms": MIN_MS,
        "break_every": BREAK_EVERY,
        "comprehension": {name: asked[name] for name in ("question", "answers")} if asked else None,
        "consent": markdown(texts["consent"]) if texts.get("consent") else None,
    }
