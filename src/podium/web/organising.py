"""The API for organisers: make a campaign, change it while it runs, see where it stands, take results out."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, File, Form, Query, Request, UploadFile
from fastapi.responses import FileResponse
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool

from podium.campaign import setup
from podium.campaign.exchange import import_votes, journal_lines, ranking_frame, votes_frame
from podium.campaign.items import read_items, without_text
from podium.campaign.judges import without_judge
from podium.campaign.options import Options
from podium.campaign.standing import LEVEL, Share, Standing, pairs_left, stable_at
from podium.data.writing import write_table
from podium.errors import InputError, RefusedError
from podium.store.reader import Reader
from podium.store.values import Campaign, Item, Judge
from podium.store.writer import Writer
from podium.web import forms
from podium.web.content import item_view, preview
from podium.web.judging import EXAMPLE, card
from podium.web.session import Number, OperatorHere, OrganiserHere, organiser_of
from podium.web.state import State, state_of

__all__ = ["router"]

router = APIRouter(prefix="/api/v1", tags=["organiser"])
Mine = Annotated[int, Depends(organiser_of)]
Upload = Annotated[UploadFile, File(description="a table: CSV, JSON Lines or Parquet")]
TABLE_TYPES = {"csv": "text/csv", "jsonl": "application/jsonl", "parquet": "application/vnd.apache.parquet"}
MOST_UNPACKED = 200_000_000  # bytes
SUFFIXES = {".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".zip", ".gz"}
TRIED = 3  # pairs shown to an organiser who tries it
DAY = 24 * 60 * 60_000


@router.get("/campaigns")
async def campaigns(request: Request, who: OrganiserHere) -> list[dict[str, Any]]:
    """The campaigns whose organiser you are: the one of your link."""
    campaign = await state_of(request).read(lambda reader: reader.campaign(who.campaign))
    return [_campaign(campaign)]


@router.post("/campaigns", status_code=201)
async def new_campaign(
    request: Request,
    who: OperatorHere,
    file: Upload,
    title: Annotated[str, Form(min_length=1, max_length=200)],
    question: Annotated[str, Form(min_length=1, max_length=1000)],
    instructions: Annotated[str, Form(max_length=100_000)] = "",
) -> dict[str, Any]:
    """Make a campaign of the items of a file, as a draft; the answer holds its organiser's secret, shown only now."""
    state = state_of(request)
    items = await _uploaded(file, read_items)
    now = await state.now()

    def job(writer: Writer) -> tuple[Campaign, str]:
        return setup.new_campaign(
            writer, items, title=title, question=question, now=now, instructions=instructions, state="draft"
        )

    made, token = await state.write(0, job)
    return {"campaign": made.id, "token": token, "link": f"{state.url}/o#{token}"}


@router.post("/preview")
async def preview_items(request: Request, who: OperatorHere, file: Upload) -> dict[str, Any]:
    """Read a file of items and store nothing: what is in it, or each problem with its row."""
    items = await _uploaded(file, read_items)
    bare = not any(item.body or item.media for item in items.items)
    return {"items": len(items.items), "rows": [_previewed(item) for item in items.items[:20]], "labels_alone": bare}


@router.get("/campaigns/{campaign}")
async def campaign_card(request: Request, campaign: Mine) -> dict[str, Any]:
    """What the campaign asks, and its options."""
    return _campaign(await state_of(request).read(lambda reader: reader.campaign(campaign)))


@router.patch("/campaigns/{campaign}")
async def change_campaign(request: Request, campaign: Mine, body: forms.CampaignChange) -> dict[str, Any]:
    """Open, pause or close; change title, instructions (votes carry their version) or options; a draft's question."""
    state = state_of(request)
    now = await state.now()

    def job(writer: Writer) -> Campaign:
        setup.set_words(writer, now, title=body.title, question=body.question)
        if body.instructions is not None and body.instructions != writer.locked.instructions:
            setup.set_instructions(writer, body.instructions, now)
        if body.options:
            setup.set_options(writer, _merged(writer.locked, body.options), now)
        if body.state is not None:
            setup.set_state(writer, body.state, now)
        return writer.locked

    return _campaign(await state.write(campaign, job))


@router.get("/campaigns/{campaign}/items")
async def items(request: Request, campaign: Mine) -> list[dict[str, Any]]:
    """All items, withdrawn ones too."""
    there = await state_of(request).read(lambda reader: reader.items(campaign))
    return [_previewed(item) | {"code": item.code, "withdrawn": item.withdrawn is not None} for item in there]


@router.post("/campaigns/{campaign}/items", status_code=201)
async def add_items(request: Request, campaign: Mine, file: Upload) -> dict[str, Any]:
    """Add the items of a file while the campaign runs; votes so far stay. Beside texts, those without one are named."""
    state = state_of(request)
    there = await state.read(lambda reader: reader.items(campaign))
    read = await _uploaded(file, partial(read_items, known=frozenset(item.label for item in there)))
    now = await state.now()
    added = await state.write(campaign, lambda writer: setup.add_items(writer, read, now))
    return {"added": len(added), "items": len(there) + len(added), "without_text": without_text(added, there)}


@router.get("/campaigns/{campaign}/items/{code}")
async def item(request: Request, campaign: Mine, code: Number) -> dict[str, Any]:
    """One item as judges see it, with its label."""
    there = await state_of(request).read(lambda reader: reader.items_of(campaign, [code]))
    if code not in there:
        raise RefusedError("unknown-item", f"there is no item {code} in this campaign")
    return {"code": code, "label": there[code].label, "withdrawn": there[code].withdrawn is not None} | item_view(
        there[code]
    )


@router.patch("/campaigns/{campaign}/items/{code}")
async def change_item(request: Request, campaign: Mine, code: Number, body: forms.ItemChange) -> dict[str, bool]:
    """Withdraw an item (it is asked no more, and its votes stay out of results), or bring it back."""
    state = state_of(request)
    now = await state.now()
    await state.write(campaign, lambda writer: setup.withdraw(writer, code, now, back=not body.withdrawn))
    return {"withdrawn": body.withdrawn}


@router.get("/campaigns/{campaign}/try")
async def try_it(request: Request, campaign: Mine) -> dict[str, Any]:
    """A few pairs as a judge would see them; nothing is stored."""
    state = state_of(request)

    def look(reader: Reader) -> tuple[Campaign, list[Item]]:
        return reader.campaign(campaign), [each for each in reader.items(campaign) if each.withdrawn is None]

    it, there = await state.read(look)
    views = [item_view(each) for each in there[: 2 * TRIED]]
    pairs = [
        {"id": number, "left": left, "right": right, "repeat": False}
        for number, (left, right) in enumerate(zip(views[::2], views[1::2], strict=False), start=1)
    ]
    about = {"campaign": card(it), "judge": "you", "who": f"try-{it.slug}", "completion": None}
    return about | {"questions": pairs, "why": None if pairs else "done", "answered": 0, "target": len(pairs)}


# People


@router.get("/campaigns/{campaign}/judges")
async def judges(request: Request, campaign: Mine) -> list[dict[str, Any]]:
    """Everybody who judges."""
    return [_judge(each) for each in await state_of(request).read(lambda reader: reader.judges(campaign))]


@router.post("/campaigns/{campaign}/judges", status_code=201)
async def invite(request: Request, campaign: Mine, body: forms.NewJudges) -> list[dict[str, Any]]:
    """Invite judges; each link is a secret and shown only now."""
    state = state_of(request)
    now = await state.now()
    invited = await state.write(campaign, lambda writer: setup.invite(writer, body.names, now, target=body.target))
    return [_judge(judge) | {"link": f"{state.url}/j#{token}"} for judge, token in invited]


@router.patch("/campaigns/{campaign}/judges/{judge}")
async def change_judge(request: Request, campaign: Mine, judge: Number, body: forms.JudgeChange) -> dict[str, Any]:
    """Rename, withdraw the link, exclude from results, restore; items never shown to this judge."""
    state = state_of(request)
    now = await state.now()

    def job(writer: Writer) -> Judge:
        writer.judge(campaign, judge)
        if body.name is not None:
            setup.rename(writer, judge, body.name, now)
        if body.conflicts is not None:
            setup.set_conflicts(writer, judge, body.conflicts, now)
        if body.state is not None:
            change: dict[str, Callable[..., None]] = {
                "active": setup.reinstate, "revoked": setup.revoke, "excluded": setup.exclude
            }  # fmt: skip
            change[body.state](writer, judge, now)
        return writer.judge(campaign, judge)

    return _judge(await state.write(campaign, job))


@router.post("/campaigns/{campaign}/judges/{judge}/link", status_code=201)
async def new_link(request: Request, campaign: Mine, judge: Number) -> dict[str, str]:
    """A new link for a judge who lost it; the old one stops working."""
    state = state_of(request)
    now = await state.now()
    token = await state.write(campaign, lambda writer: setup.new_link(writer, judge, now))
    state.known.clear()
    return {"link": f"{state.url}/j#{token}"}


@router.delete("/campaigns/{campaign}/judges/{judge}")
async def erase(request: Request, campaign: Mine, judge: Number) -> dict[str, str]:
    """Forget a person: name, outside id, link and reasons; the votes stay, under a random name."""
    state = state_of(request)
    now = await state.now()
    return {"name": await state.write(campaign, lambda writer: setup.erase(writer, judge, now))}


@router.get("/campaigns/{campaign}/judges/{judge}/without")
async def without(request: Request, campaign: Mine, judge: Number) -> list[dict[str, Any]]:
    """The order with this judge and without, side by side."""
    state = state_of(request)

    def job(reader: Reader) -> Any:
        reader.judge(campaign, judge)
        return reader.content(campaign)

    content = await state.read(job)
    moved = await run_in_threadpool(without_judge, content, judge)
    return [{"item": each.item, "before": each.before, "after": each.after} for each in moved]


@router.post("/campaigns/{campaign}/open-link", status_code=201)
async def open_link(request: Request, campaign: Mine, body: forms.OpenLink) -> dict[str, str]:
    """One link for many, up to a number of judges."""
    state = state_of(request)
    now = await state.now()
    token = await state.write(
        campaign, lambda writer: setup.open_link(writer, now, most=body.most, parameter=body.parameter)
    )
    query = f"?{body.parameter}={EXAMPLE}" if body.parameter else ""
    return {"link": f"{state.url}/j{query}#{token}"}


# Where it stands


@router.get("/campaigns/{campaign}/ranking")
async def ranking(request: Request, campaign: Mine) -> list[dict[str, Any]]:
    """The order so far, as `podium rank` of the same database gives it."""
    state = state_of(request)
    standing = await run_in_threadpool(state.standings.get, campaign)
    marked = await run_in_threadpool(state.marks.get, campaign)
    rows: list[dict[str, Any]] = ranking_frame(standing, marked=marked).to_dicts()
    return rows


@router.get("/campaigns/{campaign}/summary")
async def summary(request: Request, campaign: Mine) -> dict[str, Any]:
    """Whether to go on: stable or about how many more votes, agreement on check pairs, and what is in trouble."""
    state = state_of(request)
    await state.look_again(campaign)
    standing = await run_in_threadpool(state.standings.get, campaign)
    now = await state.now()
    came, content = await state.read(lambda reader: (reader.count_came(campaign, now - DAY), reader.content(campaign)))
    return summary_of(state, standing, await run_in_threadpool(pairs_left, content), came, now)


def summary_of(state: State, standing: Standing, left: int, came: int, now: int) -> dict[str, Any]:
    """The summary as the API and the page give it; a day is forecast once votes came before the last day, too.

    Where it is `far` from stable, how many votes it takes is not known well enough to be told to anyone.
    """
    return {
        "position": list(standing.position),
        "votes": standing.votes,
        "votes_today": came,
        "skips": standing.skips,
        "judges": standing.judges,
        "agreement": _share(standing.agreement),
        "stable": standing.stable,
        "finished": standing.finished,
        "until_stable": None if standing.far else standing.until_stable,
        "until_stable_upper": None if standing.far else standing.until_stable_upper,
        "far": standing.far,
        "pairs_left": left,
        "stable_at": stable_at(standing, came if came < standing.votes and left and not standing.far else 0, now),
        "width": standing.width if standing.places else None,
        "level": LEVEL,
        "trouble": state.trouble or state.planning.trouble,
    }


@router.get("/campaigns/{campaign}/events")
async def events(
    request: Request, campaign: Mine, after: Annotated[int, Query(ge=0, le=2**53)] = 0
) -> list[dict[str, Any]]:
    """What happened beside votes, oldest first."""
    there = await state_of(request).read(lambda reader: reader.events(campaign, after))
    return [
        {"seq": each.seq, "at": each.at, "who": each.who, "verb": each.verb, "data": _public(each.data)}
        for each in there
    ]


# In and out


@router.get("/campaigns/{campaign}/export/{what}", response_class=FileResponse)
async def export(
    request: Request,
    campaign: Mine,
    what: Literal["votes", "ranking", "journal", "report", "all"],
    form: Literal["csv", "jsonl", "parquet"] = "csv",
) -> FileResponse:
    """Votes or ranking as a table, the votes as a journal, the report as a page, or all in one zip."""
    state = state_of(request)
    path, name, kind = await run_in_threadpool(_export, state, campaign, what, form)
    return FileResponse(path, media_type=kind, filename=name, background=BackgroundTask(path.unlink))


def _export(state: State, campaign: int, what: str, form: str) -> tuple[Path, str, str]:
    store = state.store
    slug = store.read(lambda reader: reader.campaign(campaign).slug)
    suffix = {"journal": "jsonl", "report": "html", "all": "zip"}.get(what, form)
    with tempfile.NamedTemporaryFile(suffix=f".{suffix}", delete=False) as file:
        path = Path(file.name)
    try:
        kind = _write_export(state, campaign, what, form, path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path, f"{slug}-{what}.{suffix}", kind


def _write_export(state: State, campaign: int, what: str, form: str, path: Path) -> str:
    store = state.store
    if what == "all":
        from podium.campaign.archive import write_archive

        write_archive(store, campaign, str(path))
        return "application/zip"
    if what == "ranking":
        marked = state.marks.get(campaign)
        write_table(ranking_frame(state.standings.get(campaign), marked=marked), str(path))
        return TABLE_TYPES[form]
    if what == "report":
        from podium.campaign.report import write_report

        write_report(store.read(lambda reader: reader.content(campaign)), str(path))
        return "text/html; charset=utf-8"
    content, rows = store.read(lambda reader: (reader.content(campaign), list(reader.votes(campaign))))
    if what == "journal":
        path.write_text("".join(journal_lines(content, rows)), encoding="utf-8")
        return TABLE_TYPES["jsonl"]
    write_table(votes_frame(content, rows), str(path))
    return TABLE_TYPES[form]


@router.post("/campaigns/{campaign}/import")
async def import_(request: Request, campaign: Mine, file: Upload) -> dict[str, int]:
    """Take in votes: a table, or a journal of `podium ask`; the same file a second time adds nothing."""
    state = state_of(request)
    now = await state.now()
    done = await _uploaded(file, lambda path: import_votes(state.store, campaign, path, now))
    return asdict(done)


async def _uploaded(file: UploadFile, use: Callable[[str], Any]) -> Any:
    """Give what was uploaded to `use` as a path: a table of its own name's kind, or the folder of a zip.

    Words about it name it as the user does.
    """
    name = Path(file.filename or "upload").name
    suffix = Path(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{name}: give a table (.csv, .jsonl, .parquet) or a .zip of files")
    data = await file.read()

    def job() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"upload{suffix}"
            path.write_bytes(data)
            try:
                return use(str(_unpacked(path) if suffix == ".zip" else path))
            except InputError as problem:
                inside = str(path.with_suffix(""))
                words = str(problem).replace(str(path), name).replace(inside + "/", "").replace(inside, name)
                raise InputError(words) from problem

    return await run_in_threadpool(job)


def _unpacked(path: Path) -> Path:
    """The files of a zip as a folder beside it."""
    folder = path.with_suffix("")
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(each.file_size for each in archive.infolist()) > MOST_UNPACKED:
                raise InputError(f"{path} unpacks to more than {MOST_UNPACKED:,} bytes; send fewer files at a time")
            archive.extractall(folder)
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as problem:
        raise InputError(f"{path} cannot be unpacked ({problem}); make a plain zip of it") from problem
    return folder


def _merged(campaign: Campaign, changes: dict[str, Any]) -> dict[str, Any]:
    """Changes of options; words for the pages are changed one by one, and the open link only by its own way."""
    if "texts" not in changes:
        return changes
    if not isinstance(changes["texts"], dict) or "open_link" in changes["texts"]:
        raise InputError("texts holds words for the pages: consent, completion; the open link is made by its own way")
    texts = {**Options.of(campaign.options).texts, **changes["texts"]}
    return changes | {"texts": {name: words for name, words in texts.items() if words is not None}}


def _campaign(campaign: Campaign) -> dict[str, Any]:
    options = _public(campaign.options)
    return {
        "id": campaign.id,
        "slug": campaign.slug,
        "title": campaign.title,
        "question": campaign.question,
        "instructions": campaign.instructions,
        "version": campaign.version,
        "state": campaign.state,
        "options": options,
        "position": list(campaign.position),
    }


def _public(value: Any) -> Any:
    """Without hashes of secrets."""
    if isinstance(value, dict):
        return {key: _public(each) for key, each in value.items() if key != "hash"}
    return value


def _judge(judge: Judge) -> dict[str, Any]:
    return {
        "id": judge.id,
        "name": judge.name,
        "kind": judge.kind,
        "outside_id": judge.outside_id,
        "state": judge.state,
        "target": judge.target,
        "seen": judge.seen,
        "conflicts": list(judge.conflicts),
    }


def _previewed(item: Item) -> dict[str, Any]:
    words = len(item.body.split()) if item.body else 0
    return {"label": item.label, "kind": item.kind, "preview": preview(item), "words": words}


def _share(share: Share | None) -> dict[str, Any] | None:
    if share is None:
        return None
    return asdict(share)
