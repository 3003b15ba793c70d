"""The pages: what a template needs, put together from values."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool

from podium._version import __version__
from podium.campaign.judges import JudgeReport, judge_reports, without_judge
from podium.campaign.live import live_votes
from podium.campaign.marks import MARKS_LEVEL
from podium.campaign.options import Options
from podium.campaign.standing import LEVEL, MAX_FORECAST, MIN_CHECK_VOTES, pairs_left
from podium.errors import RefusedError
from podium.store.content import Content, load_times
from podium.store.reader import Reader
from podium.store.values import Campaign, Event, Item
from podium.text import about
from podium.web import figures
from podium.web.content import item_view, media_headers, preview
from podium.web.judging import key_of, past_votes
from podium.web.organising import summary_of
from podium.web.session import JudgeHere, Number, OperatorHere, OrganiserHere, bearer, token_of, who_is
from podium.web.state import State, state_of
from podium.web.words import JUDGE

__all__ = ["problem_page", "router"]

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
DAY = 24 * 60 * 60_000
SHOWN = 18  # rows of the order before the rest is folded away
NO_BREAK = "\N{NO-BREAK SPACE}"
LOOK = 3  # skips of an item before it is worth a look
# What can be done about a link that is not known.
ORGANISER_LINK = (
    "The organiser’s link was printed by podium campaign new, or shown where the campaign was made; copy all of it, "
    "and see that podium serve has the campaign’s file."
)
OPERATOR_LINK = "The link that makes campaigns is printed when podium serve starts, and is another at each start."
HTML = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
TITLES = {
    401: "Open your link", 403: "Not possible", 404: "Not found", 429: "One moment", 500: "Something went wrong",
    503: "Back soon",
}  # fmt: skip


def _page(name: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any) -> HTMLResponse:
    html = HTML.get_template(name).render(version=__version__, **values)
    return HTMLResponse(html, status, headers)


def problem_page(request: Request, status: int, code: str, words: str, headers: dict[str, str]) -> Response:
    """An error for people."""
    title = JUDGE.get(f"{code}_title") or TITLES.get(status, "Not possible")
    return _page("problem.html", status=status, headers=headers, title=title, words=words)


@router.get("/")
async def home() -> HTMLResponse:
    return _page("home.html")


@router.get("/docs")
async def api_page(request: Request) -> HTMLResponse:
    return _page("api.html", spec=request.app.openapi())


# The judge


@router.get("/j")
async def judge_page() -> HTMLResponse:
    return _page("judge.html", w=JUDGE, words=json.dumps(JUDGE), source="/api/v1/next", trying=False)


@router.get("/j/history")
async def history_page(request: Request, who: JudgeHere) -> HTMLResponse:
    state = state_of(request)

    def look(reader: Reader) -> tuple[Campaign, list[dict[str, Any]], int]:
        votes = past_votes(reader, who.campaign, who.judge, 50)
        return reader.campaign(who.campaign), votes, reader.count_votes(who.campaign, who.judge)

    campaign, votes, count = await state.read(look)
    now = await state.now()
    numbers = iter(range(count, 0, -1))  # skips have none
    rows = [
        each | {"ago": _ago(now - each["at"]), "number": None if each["outcome"] is None else next(numbers, None)}
        for each in votes
    ]
    return _page(
        "history.html",
        w=JUDGE,
        words=json.dumps(JUDGE),
        who=key_of(campaign, who.judge),
        campaign=campaign,
        options=Options.of(campaign.options),
        rows=rows,
        count=count,
    )


@router.get("/media/{key}")
async def media(request: Request, key: str) -> Response:
    known = [*(token_of(request, role) for role in ("judge", "organiser")), bearer(request)]
    tokens = [token for token in known if token is not None]
    if not tokens:
        raise RefusedError("no-session", "nobody is known here; open your link again")
    for token in tokens:
        who = await who_is(request, token)
        media = await state_of(request).read(partial(Reader.media, campaign=who.campaign, sha256=key))
        if media is not None:
            return Response(media.bytes, media_type=media.type, headers=media_headers(media))
    raise RefusedError("unknown-item", "there is no such file in this campaign")


# The organiser


@router.get("/o")
async def organiser_entry(request: Request) -> Response:
    if token_of(request, "organiser") is not None and "new" not in request.query_params:
        return _page("enter.html", next="/o/live", known=True, where=ORGANISER_LINK)
    return _page("enter.html", next="/o/live", known=False, where=ORGANISER_LINK)


@router.get("/new")
async def operator_entry(request: Request) -> Response:
    known = token_of(request, "operator") is not None
    return _page("enter.html", next="/new/campaign", known=known, where=OPERATOR_LINK)


@router.get("/new/campaign")
async def new_page(request: Request, who: OperatorHere) -> HTMLResponse:
    return _page("new.html")


@router.get("/o/live")
async def live_page(request: Request, who: OrganiserHere) -> HTMLResponse:
    state = state_of(request)
    await state.look_again(who.campaign)
    now = await state.now()
    values = await run_in_threadpool(_live, state, who.campaign, now)
    return _page("live.html", here="live", **values)


def _live(state: State, campaign: int, now: int) -> dict[str, Any]:
    def look(reader: Reader) -> tuple[Content, list[Event], int]:
        return reader.content(campaign), reader.events(campaign), reader.count_came(campaign, now - DAY)

    stands = state.standings.get(campaign)
    content, events, came = state.store.read(look)
    live = live_votes(content)
    marked = state.marks.get(campaign)
    n = len(stands.places)
    summary = summary_of(state, stands, pairs_left(content), came, now)
    checks = int(live.of_kind("check").sum())
    budget = Options.of(content.campaign.options).budget
    return {
        "campaign": content.campaign,
        "items": sum(item.withdrawn is None for item in content.items),
        "judges": sum(judge.state == "active" for judge in content.judges),
        "standing": stands,
        "summary": summary,
        "when": _day(summary["stable_at"], now),
        "per_day": came,
        "done_share": _done(stands.votes, stands.until_stable_upper),
        "times": MAX_FORECAST,
        "forecast": about(stands.until_stable, stands.until_stable_upper, "more vote").removeprefix("about "),
        "goal": figures.goal_width(n),
        "tiers": _tiers(stands),
        "shown": SHOWN,
        "axis": figures.axis(n) if n else [],
        "band": lambda place: figures.band(place, n),
        "curve": figures.curve(events, stands, summary["pairs_left"]),
        "coverage": figures.coverage(live, stands),
        "look": _worth_a_look(content, events, stands),
        "marks": {} if marked is None else marked.words(),
        "notes": [] if marked is None else marked.notes(),
        "no_marks": marked.why if marked is not None and stands.places else None,
        "marks_level": MARKS_LEVEL,
        "chosen": bool(live.of_kind("chosen").any()),
        "checks": checks,
        "enough": MIN_CHECK_VOTES,
        "level": LEVEL,
        "trouble": summary["trouble"],
        "used": budget if budget is not None and len(live) >= budget else None,
    }


def _done(votes: int, left: int) -> float:
    return 100.0 * votes / max(votes + left, 1)


def _tiers(stands: Any) -> list[tuple[str, list[Any]]]:
    """Tiers by letter, each with its places."""
    tiers: dict[int, list[Any]] = {}
    for place in stands.places:
        tiers.setdefault(place.tier, []).append(place)
    return [(_letters(number), places) for number, places in tiers.items()]


def _letters(number: int) -> str:
    """A, B, … Z, AA, AB, … as spreadsheets count."""
    letters = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def _worth_a_look(content: Content, events: list[Event], stands: Any) -> list[dict[str, Any]]:
    """Items that were reported, or skipped often."""
    labels = {item.code: item.label for item in content.items if item.withdrawn is None}
    reports: dict[int, list[str]] = {}
    for event in events:
        if event.verb == "report" and event.data["item"] in labels:
            reports.setdefault(event.data["item"], []).append(event.data["reason"])
    rows = [
        {"code": code, "label": labels[code], "why": f"reported {_times(len(why))}: {', '.join(sorted(set(why)))}"}
        for code, why in reports.items()
    ]
    skipped = sorted((each for each in stands.places if each.skips >= LOOK), key=lambda each: -each.skips)
    rows += [
        {"code": each.code, "label": each.item, "why": f"skipped {_times(each.skips)}"}
        for each in skipped
        if each.code not in reports
    ]
    return rows[:10]


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


@router.get("/o/setup")
async def setup_page(request: Request, who: OrganiserHere) -> HTMLResponse:
    state = state_of(request)

    def look(reader: Reader) -> tuple[Campaign, list[Item], int]:
        active = sum(each.state == "active" and each.kind == "person" for each in reader.judges(who.campaign))
        return reader.campaign(who.campaign), reader.items(who.campaign), active

    campaign, items, judges = await state.read(look)
    rows = [
        {
            "code": item.code,
            "label": item.label,
            "preview": preview(item),
            "words": len(item.body.split()) if item.body else 0,
            "withdrawn": item.withdrawn is not None,
        }
        for item in items
    ]
    options = Options.of(campaign.options)
    return _page("setup.html", here="setup", campaign=campaign, options=options, rows=rows, judges=judges)


@router.get("/o/try")
async def try_page(request: Request, who: OrganiserHere) -> HTMLResponse:
    source = f"/api/v1/campaigns/{who.campaign}/try"
    return _page("judge.html", w=JUDGE, words=json.dumps(JUDGE), source=source, trying=True)


@router.get("/o/items/{code}")
async def item_page(request: Request, who: OrganiserHere, code: Number) -> HTMLResponse:
    state = state_of(request)
    campaign, there = await state.read(
        lambda reader: (reader.campaign(who.campaign), reader.items_of(who.campaign, [code]))
    )
    if code not in there:
        raise RefusedError("unknown-item", f"there is no item {code} in this campaign")
    return _page("item.html", here="setup", campaign=campaign, item=there[code], view=item_view(there[code]))


@router.get("/o/people")
async def people_page(request: Request, who: OrganiserHere) -> HTMLResponse:
    state = state_of(request)
    now = await state.now()

    def look(reader: Reader) -> tuple[Campaign, list[dict[str, Any]]]:
        rows = [
            {
                "judge": judge,
                "votes": reader.count_votes(who.campaign, judge.id),
                "seen": "never" if judge.seen is None else _ago(now - judge.seen),
            }
            for judge in reader.judges(who.campaign)
        ]
        return reader.campaign(who.campaign), rows

    campaign, rows = await state.read(look)
    options = Options.of(campaign.options)
    link = options.texts.get("open_link")
    return _page("people.html", here="people", campaign=campaign, rows=rows, options=options, open_link=link)


@router.get("/o/judges")
async def judges_page(request: Request, who: OrganiserHere) -> HTMLResponse:
    state = state_of(request)
    content, reports = await run_in_threadpool(_reports, state, who.campaign)
    rows = [_judge_row(each, Options.of(content.campaign.options)) for each in reports if each.votes or each.skips]
    return _page("judges.html", here="judges", campaign=content.campaign, rows=rows, level=LEVEL)


def _reports(state: State, campaign: int) -> tuple[Content, list[JudgeReport]]:
    def look(reader: Reader) -> tuple[Content, Any]:
        content = reader.content(campaign)
        return content, load_times(reader.run, campaign, len(content.votes))

    content, ms = state.store.read(look)
    return content, judge_reports(content, ms)


def _judge_row(report: JudgeReport, options: Options) -> dict[str, Any]:
    target = report.judge.target or options.target
    share = report.agreement
    return {
        "report": report,
        "target": target,
        "short": _short(report),
        "progress": min(100.0, 100.0 * report.votes / target) if target else None,
        "initials": "".join(part[0] for part in report.judge.name.split()[:2]).upper(),
        "agreement": None
        if share is None
        else {"x": 100 * share.lower, "width": 100 * (share.upper - share.lower), "at": 100 * share.value},
    }


def _short(report: JudgeReport) -> list[str]:
    """What a narrow screen shows instead of columns, as far as it is known."""
    words = [] if report.seconds is None else [f"{report.seconds:.0f}{NO_BREAK}s a pair"]
    words += [] if report.left is None else [f"{100 * report.left.value:.0f}\u00a0% left"]
    for what, share in (("agreed in", report.agreement), ("gold", report.gold)):
        words += [] if share is None else [f"{what} {share.value * share.count:.10g} of {share.count}"]
    return words


@router.get("/o/judges/{judge}")
async def judge_card(request: Request, who: OrganiserHere, judge: Number) -> HTMLResponse:
    state = state_of(request)

    def look(reader: Reader) -> tuple[Content, Any]:
        return reader.content(who.campaign), reader.judge(who.campaign, judge)

    content, person = await state.read(look)
    moved = await run_in_threadpool(without_judge, content, judge)
    changed = [each for each in moved if each.before != each.after]
    return _page(
        "without.html", here="judges", campaign=content.campaign, judge=person, rows=moved, changed=len(changed)
    )


@router.get("/o/export")
async def export_page(request: Request, who: OrganiserHere) -> HTMLResponse:
    campaign = await state_of(request).read(lambda reader: reader.campaign(who.campaign))
    return _page("export.html", here="export", campaign=campaign)


def _ago(ms: int) -> str:
    """How long ago, in the largest unit that says something."""
    minutes = max(ms, 0) // 60_000
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h" if minutes < 48 * 60 else f"{minutes // (24 * 60)} days"


def _day(at: int | None, now: int) -> str | None:
    """A moment as a day in words."""
    if at is None or at <= now:
        return None
    days = (at - now) / DAY
    if days < 1:
        return "within a day"
    moment = datetime.fromtimestamp(at / 1000, UTC)
    return f"{moment:%A}" if days < 6 else f"{moment.day} {moment:%B %Y}" if days < 365 else "more than a year away"
