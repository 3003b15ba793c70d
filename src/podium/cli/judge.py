"""`podium judge`: a model or a command compares the items of a table, and the order comes out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.help import GroupedCommand, option
from podium.cli.judge_items import UNNAMED, Read, check_extra, criteria_of, read_source
from podium.cli.judge_options import FILE, Amount, Model, Source, amount_options, model_options, source_options
from podium.cli.judge_words import FAILED, dry_run, progress, tell, write
from podium.cli.options import new_file, output_options
from podium.cli.output import Output, say
from podium.errors import InputError

if TYPE_CHECKING:
    from podium.judge.pairs import Judged
    from podium.store.base import Store
    from podium.store.values import Campaign

__all__ = ["judge"]

EXAMPLES = (
    ("podium judge a.jsonl --question 'Clearer?' --base-url URL --model NAME", "by a model behind a server"),
    ("podium judge a.jsonl --question 'Clearer?' --command './my_judge -q'", "by a program"),
    ("podium judge campaign.db --base-url URL --model NAME", "beside the people of a campaign"),
    ("podium judge --server http://HOST:8000 --base-url URL --model NAME", "beside people at `podium serve`"),
)
INTERRUPTED = 130


@click.command(cls=GroupedCommand, examples=EXAMPLES)
@click.argument("items", type=click.Path(), required=False)
@source_options()
@model_options()
@amount_options()
@option("Output", "--report", type=FILE, metavar="FILE", callback=new_file, help="Write the standing as an HTML page.")
@output_options()
@click.pass_context
def judge(
    context: click.Context,
    items: str | None,
    source: Source,
    who: Model,
    amount: Amount,
    report: Path | None,
    out: Output,
) -> None:
    """Let a model rank the ITEMS of a table, two at a time and in both orders, or judge beside the people of a file.

    Every call and every vote is on disk at once; the same command goes on where the last one ended. Ctrl-C waits for
    the calls that are out. At the end the ranking goes to standard output, the judge in numbers to standard error.
    """
    check_extra()
    who.refuse_idle(context)
    if source.server is not None:
        from podium.cli.judge_server import judge_at

        ended = [judge_at(items, source, who, amount, report)]
    else:
        ended = _judge_here(items, source, who, amount, report)
    if not ended:
        return
    write(ended, out)
    if (last := ended[-1][1].why) in FAILED or last == "interrupted":
        context.exit(INTERRUPTED if last == "interrupted" else 1)


def _judge_here(
    items: str | None, source: Source, who: Model, amount: Amount, report: Path | None
) -> list[tuple[str, Judged]]:
    """Judge the items of a table, or those of a campaign's file: one campaign for each criterion."""
    from podium.judge.pairs import judged
    from podium.store import open_store
    from podium.store.file import is_campaign_file

    if items is None:
        raise click.UsageError("the ITEMS are missing; give a table, a folder or a campaign's file, or --server")
    asker, settings, others = who.asker(amount.seed), amount.settings(who.concurrency), amount.others
    there = is_campaign_file(items)
    read = None if there else read_source(items, source)
    if there:
        _refuse_idle(source, items)
    elif not source.question:
        raise click.UsageError("--question is missing; say what is asked of each pair")
    if amount.dry_run:
        dry_run(read, source, who, amount, asker)
        return []
    db = items.partition("#")[0] if there else source.db or f"{Path(items).with_suffix('')}.podium.db"
    ended: list[tuple[str, Judged]] = []
    with open_store(db, new=read is not None) as store:
        for title, words in criteria_of(source.criteria):
            campaign = _campaign(store, items, read, source, amount, title, words)
            if amount.one_order:
                say("one order: pairs are random, and the advantage of the first place is fitted")
            with progress() as told:
                ended.append((title, judged(store, campaign, asker, settings, name=who.name, others=others, told=told)))
            tell(title if len(source.criteria) > 1 else None, ended[-1][1], store)
            if ended[-1][1].why in (*FAILED, "interrupted"):
                break
            asker = who.asker(amount.seed)  # the last one was closed
        if report is not None and ended[-1][1].standing.places:
            _write_report(store, items, *ended[-1], report)
    return ended


def _refuse_idle(source: Source, items: str) -> None:
    typed: dict[str, Any] = {"question": source.question, "db": source.db, "id": source.id, "text": source.text}
    typed |= {"reference": source.reference, "criterion": source.criteria, "gold": source.gold}
    for name, value in typed.items():
        if value:
            raise InputError(f"--{name}: {items} is a campaign, which has its own; leave it out")


def _campaign(
    store: Store, items: str, read: Read | None, source: Source, amount: Amount, title: str, words: str
) -> Campaign:
    """The campaign that is meant: one of a file, one that was begun before, or a new one."""
    from podium.campaign.options import Options
    from podium.campaign.setup import campaign_named
    from podium.judge.ledger import found_campaign, new_campaign
    from podium.judge.pairs import check_same

    if read is None:
        name = items.partition("#")[2] or source.campaign
        return store.read(lambda reader: campaign_named(reader, name))
    assert source.question is not None
    known = found_campaign(store, title)
    if known is not None:
        check_same(store, known, read.items.items, source.question, words)
        return known
    options = Options(top=amount.top, tired_after=1, gold=read.gold)
    return new_campaign(
        store, read.items, read.extra, title=title, question=source.question, instructions=words, options=options,
        seed=amount.seed,
    )  # fmt: skip


def _write_report(store: Store, items: str, title: str, ended: Judged, path: Path) -> None:
    """The standing, under the name of what was judged, and the judge in numbers."""
    from podium.campaign.report import write_report
    from podium.campaign.setup import campaign_named

    it = store.read(lambda reader: campaign_named(reader, ended.campaign))
    named = (
        f"{Path(items).stem}: {title}" if title != UNNAMED else it.title if it.title != UNNAMED else Path(items).stem
    )
    write_report(store.read(lambda reader: reader.content(it.id)), str(path), title=named, judge=ended.tally.words())
    say(f"wrote {path}")
