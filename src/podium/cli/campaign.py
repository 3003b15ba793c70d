"""`podium campaign`: make a campaign, invite judges, change it while it runs, and take results out."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.help import Decorator, GroupedCommand, option
from podium.cli.marking import Boundaries, Marking, Scale
from podium.cli.options import MAX_COUNT, SEED, URL, NumberRange, output_options, split_names, text_of
from podium.cli.output import Output, say
from podium.errors import InputError
from podium.text import counted, named

if TYPE_CHECKING:
    from podium.store.base import Store
    from podium.store.values import Campaign

__all__ = ["campaign"]

DB = "campaign.db"
NEW = (
    ("podium campaign new essays.csv --title Essays --question 'Better?'", "a table of texts"),
    ("podium campaign new photos/ --title Photos --question 'Sharper?'", "a folder of files"),
)
TABLES = {".csv": "csv", ".json": "json", ".jsonl": "jsonl", ".parquet": "parquet"}
ADD = (("podium campaign add-items more.csv", "items that came late"),)
INVITE = (
    ("podium campaign invite Ann Bob", "a link for each of two judges"),
    ("podium campaign invite Ann --url https://judge.example.org", "links to your own server"),
)
VOTES = (("podium campaign votes -o votes.csv", "the log, as data"),)
IMPORT = (
    ("podium campaign import ann.jsonl", "votes given to `podium ask`"),
    ("podium campaign import campaign.zip --db copy.db", "a whole campaign, into another file"),
)
EXPORT = (
    ("podium campaign export votes -o votes.csv", "every vote, as a table"),
    ("podium campaign export report -o standing.html", "the standing, as a page to show"),
    ("podium campaign export all -o campaign.zip", "everything, for `campaign import`"),
)


@click.group()
def campaign() -> None:
    """Let people compare items two at a time: make a campaign, invite judges, take results out.

    Votes are in one SQLite file (--db campaign.db) or in PostgreSQL (--db postgresql://user@host/name).
    `podium rank campaign.db` shows the order so far.
    """


def _database(new: bool = False) -> Decorator:
    words = "Keep the campaign in this file, or in postgresql://user@host/name."
    named = option("Data", "--campaign", "name", metavar="NAME", help="Choose one of several campaigns.")
    where = option("Data", "--db", default=DB, show_default=True, metavar="DB", help=words)
    return where if new else lambda command: where(named(command))


@contextmanager
def _opened(db: str, name: str | None, *, new: bool = False) -> Iterator[tuple[Store, Any]]:
    """The store, and the campaign in it that is meant."""
    from podium.campaign.setup import campaign_named
    from podium.store import open_store

    with open_store(db, new=new) as store:
        yield store, None if new else store.read(lambda reader: campaign_named(reader, name))


def _links(rows: list[tuple[str, str]], out: Output) -> None:
    import polars as pl

    out.write(pl.DataFrame({"who": [who for who, _ in rows], "link": [link for _, link in rows]}))
    say("each link is a secret and is shown only now; keep the organiser's, hand on the others")


@campaign.command(cls=GroupedCommand, examples=NEW, short_help="Make a campaign of items, and print its links.")
@click.argument("items", type=click.Path())
@_database(new=True)
@option("Data", "--id", "label", metavar="COLUMN", help="Name the column of the labels.  [default: id, else the first]")
@option("Data", "--text", "text", metavar="COLUMN", help="Name the column shown to judges.  [default: text or body]")
@option(
    "Data",
    "--features",
    callback=split_names,
    metavar="COLUMNS",
    help="Name columns of numbers from which ranks may be predicted.",
)
@option("Data", "--title", help="Give the campaign a title.  [default: the name of the table or folder]")
@option("Data", "--question", default="Which is better?", show_default=True, help="Ask this of each pair.")
@option(
    "Data", "--instructions", type=click.Path(dir_okay=False, path_type=Path), help="Read instructions from a file."
)
@option("Data", "--judges", type=click.IntRange(0, 10_000), default=0, help="Make links for this many judges.")
@option("Data", "--judge", "named", multiple=True, metavar="NAME", help="Make a link for a judge; may be given again.")
@option("Model", "--ties/--no-ties", default=True, show_default=True, help="Let judges say that neither is better.")
@option("Model", "--top", type=click.IntRange(1, MAX_COUNT), help="Care for the first ranks only, down to this one.")
@option(
    "Model",
    "--votes-per-pair",
    type=click.IntRange(1, MAX_COUNT),
    default=1,
    show_default=True,
    help="Ask this many judges about each pair.",
)
@option("Model", "--budget", type=click.IntRange(1, MAX_COUNT), help="Pause after this many votes.")
@option("Model", "--target", type=click.IntRange(1, MAX_COUNT), help="Ask each judge for this many votes.")
@option(
    "Model",
    "--check-share",
    type=NumberRange(0, 0.99),
    default=0.1,
    show_default=True,
    help="Choose this share of the pairs at random, as a check.",
)
@option("Model", "--seed", type=SEED, help="Random seed for the choice of pairs.  [default: drawn, and kept]")
@option("Output", "--marks", type=Scale(), help="Show marks on this scale: the lowest item LOW, the best HIGH.")
@option("Output", "--known-marks", metavar="FILE", help="Lay the scale through these marks: a table of item and mark.")
@option("Output", "--boundaries", type=Boundaries(), help="Show grades from these marks on, the best first.")
@option("Output", "--url", default=URL, show_default=True, help="Begin links with this address of the server.")
@output_options()
def new(
    items: str, db: str, label: str | None, text: str | None, features: tuple[str, ...], title: str | None,
    question: str, instructions: Path | None, judges: int, named: tuple[str, ...], seed: int | None, url: str,
    out: Output, marks: tuple[float, float] | None, known_marks: str | None, boundaries: dict[str, float] | None,
    **options: Any,
) -> None:  # fmt: skip
    """Make a campaign of the ITEMS of a table or a folder, and print its links.

    A table has a row an item: a label, perhaps a text, or a file (a picture, a sound, a film, a page) beside it. In a
    folder every file is an item.
    """
    from podium.campaign import setup
    from podium.campaign.items import read_items
    from podium.campaign.options import Options

    read = read_items(items, label=label, text=text, features=features)
    chosen = Options.of(
        options | {"marks": Marking(marks, known_marks, boundaries, False).wish([item.label for item in read.items])}
    )
    words = text_of(instructions) or ""
    title = Path(items).resolve().stem if title is None else title
    names = [*named, *(f"judge {number}" for number in range(1, judges + 1))]
    with _opened(db, None, new=True) as (store, _):
        now = store.now()

        def make(writer: Any) -> tuple[Campaign, str, list[Any]]:
            made, token = setup.new_campaign(
                writer, read, title=title, question=question, now=now, instructions=words, options=chosen, seed=seed
            )
            return made, token, setup.invite(writer, names, now)

        made, token, invited = store.write(0, make)
    _links([("organiser", f"{url}/o#{token}"), *((judge.name, f"{url}/j#{secret}") for judge, secret in invited)], out)
    if not any(item.body or item.media for item in read.items):
        say("judges see the labels alone: no column is called text, body or file; --text COLUMN shows another one")
    say(f"campaign {made.slug!r} in {_safe(db)}: {counted(len(read.items), 'item')}, {counted(len(names), 'judge')}")
    say("the links work while `podium serve` runs" + ("" if db == DB else f", with --db {_safe(db)}"))


@campaign.command(cls=GroupedCommand, examples=ADD, name="add-items", short_help="Add items while the campaign runs.")
@click.argument("items", type=click.Path())
@_database()
@option("Data", "--id", "label", metavar="COLUMN", help="Name the column of the labels.  [default: id, else the first]")
@option("Data", "--text", "text", metavar="COLUMN", help="Name the column shown to judges.  [default: text or body]")
@option(
    "Data",
    "--features",
    callback=split_names,
    metavar="COLUMNS",
    help="Name columns of numbers from which ranks may be predicted.",
)
def add_items(
    items: str, db: str, name: str | None, label: str | None, text: str | None, features: tuple[str, ...]
) -> None:
    """Add the ITEMS of a table or a folder while the campaign runs; votes so far stay."""
    from podium.campaign import setup
    from podium.campaign.items import read_items, without_text

    with _opened(db, name) as (store, it):
        known = store.read(lambda reader: reader.items(it.id))
        taken = frozenset(item.label for item in known)
        read = read_items(items, label=label, text=text, features=features, known=taken)
        now = store.now()
        store.write(it.id, lambda writer: setup.add_items(writer, read, now))
    if bare := without_text(read.items, known):
        say(f"{_alone(bare)}: no text or file stands beside them; --text COLUMN shows another column")
    say(f"{counted(len(read.items), 'item')} added, {len(known) + len(read.items):,} in all")


@campaign.command(cls=GroupedCommand, examples=INVITE)
@click.argument("names", nargs=-1, required=True)
@_database()
@option("Data", "--target", type=click.IntRange(1, MAX_COUNT), help="Ask each for this many votes.")
@option("Output", "--url", default=URL, show_default=True, help="Begin links with this address of the server.")
@output_options()
def invite(names: tuple[str, ...], db: str, name: str | None, target: int | None, url: str, out: Output) -> None:
    """Add judges by NAMES, and print a link for each."""
    from podium.campaign import setup

    with _opened(db, name) as (store, it):
        now = store.now()
        invited = store.write(it.id, lambda writer: setup.invite(writer, names, now, target=target))
    _links([(judge.name, f"{url}/j#{token}") for judge, token in invited], out)


def _state_command(verb: str, state: Any, words: str) -> None:
    example = ((f"podium campaign {verb} --db campaign.db", "the one campaign of this file"),)

    @campaign.command(
        cls=GroupedCommand, examples=example, name=verb, help=words, short_help=words.split(";")[0].rstrip(".") + "."
    )
    @_database()
    def change(db: str, name: str | None) -> None:
        from podium.campaign import setup

        with _opened(db, name) as (store, it):
            now = store.now()
            store.write(it.id, lambda writer: setup.set_state(writer, state, now))
        say(f"campaign {it.slug!r} is {state}")


_state_command("pause", "paused", "Give out no more pairs; votes on pairs that are out are still taken.")
_state_command("open", "open", "Give out pairs, for the first time or again.")
_state_command("close", "closed", "Take no more votes; those already made are safe.")


@campaign.command(cls=GroupedCommand, examples=EXPORT, short_help="Write votes, ranking, report or all to a file.")
@click.argument("what", type=click.Choice(["votes", "ranking", "journal", "report", "calls", "all"]), metavar="WHAT")
@_database()
@option("Output", "-o", "--output", type=click.Path(dir_okay=False), metavar="FILE", required=True,
        help="Write to this file; its suffix says the form: .csv, .json, .jsonl, .parquet, .html, .zip.")  # fmt: skip
def export(what: str, db: str, name: str | None, output: str) -> None:
    """Write WHAT to a file.

    \b
    votes    every vote, as a table
    ranking  the ranking, as a table
    journal  the votes as `podium ask` keeps them (.jsonl)
    report   the standing, as a page (.html)
    calls    the calls to models (.jsonl)
    all      everything, for `podium campaign import` (.zip)
    """
    suffix = Path(output).suffix.lower()
    only = {"journal": ".jsonl", "calls": ".jsonl", "report": ".html", "all": ".zip"}.get(what)
    if (only or suffix) != suffix or (only is None and suffix not in TABLES):
        raise InputError(f"{output}: {what} is written to {only or ', '.join(TABLES)}; choose that suffix")
    with _opened(db, name) as (store, it):
        if what == "all":
            from podium.campaign.archive import write_archive

            write_archive(store, it.id, output)
        elif what == "calls":
            from podium.judge.report import call_lines

            lines = store.read(lambda reader: list(call_lines(reader, it.id)))
            Output("jsonl", Path(output)).write_text("".join(lines).rstrip("\n"))
        elif what == "report":
            from podium.campaign.report import write_report

            write_report(store.read(lambda reader: reader.content(it.id)), output)
        else:
            _export(store, it, what, Output(TABLES.get(suffix, "jsonl"), Path(output)))
    say(f"wrote {output}")


@campaign.command(cls=GroupedCommand, examples=VOTES, short_help="List all votes, undone ones and skips too.")
@_database()
@output_options()
def votes(db: str, name: str | None, out: Output) -> None:
    """List the log of votes: undone ones and skips too; `counts` says which are in the results."""
    with _opened(db, name) as (store, it):
        _export(store, it, "votes", out)


def _export(store: Store, it: Campaign, what: str, out: Output) -> None:
    from podium.campaign.exchange import journal_lines, ranking_frame, votes_frame
    from podium.campaign.marks import campaign_marks
    from podium.campaign.standing import standing

    content, rows = store.read(lambda reader: (reader.content(it.id), list(reader.votes(it.id))))
    if what == "votes":
        out.write(votes_frame(content, rows))
    elif what == "ranking":
        marked = campaign_marks(content)
        out.write(ranking_frame(standing(content), marked=marked))
        for line in marked.notes() if marked is not None else ():
            say(line)
    else:
        out.write_text("".join(journal_lines(content, rows)).rstrip("\n"))


@campaign.command(cls=GroupedCommand, examples=IMPORT, name="import", short_help="Take in votes, or a campaign.")
@click.argument("file", type=click.Path())
@_database()
@option("Data", "--add", is_flag=True, help="Add items that the campaign does not have.")
def import_(file: str, db: str, name: str | None, add: bool) -> None:
    """Take in a FILE: votes (a table, or a journal of `podium ask`), or a whole campaign from a zip.

    The same votes a second time add nothing. A zip becomes a campaign of its own.
    """
    from podium.campaign.archive import is_archive, read_archive
    from podium.campaign.exchange import import_votes
    from podium.campaign.items import without_text

    if is_archive(file):
        with _opened(db, None, new=True) as (store, _):
            whole = read_archive(store, file)
        say(f"campaign {whole.slug!r} in {_safe(db)}: {counted(whole.last_vote, 'row')} of votes")
        return
    with _opened(db, name) as (store, it):
        there = store.read(lambda reader: reader.items(it.id))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "pairs of this campaign were chosen")  # which is about scores of them
            done = import_votes(store, it.id, file, store.now(), add=add)
        added = store.read(lambda reader: reader.items(it.id))[len(there) :]
    if bare := without_text(added, there):
        say(f"{_alone(bare)}; add them with their texts by `podium campaign add-items` before votes on them")
    again = f", {counted(done.repeated, 'row')} there already" if done.repeated else ""
    new = f"{counted(done.items, 'item')} and {counted(done.judges, 'judge')} new"
    others = [counted(many, what) for many, what in ((done.skips, "skip"), (done.undos, "undo")) if many]
    if done.left_out:
        new += f"; {counted(done.left_out, 'row')} of the file left out: undone, skipped or not counted there"
    say(f"{' and '.join([', '.join([counted(done.votes, 'vote'), *others[:-1]]), *others[-1:]])} added{again}, {new}")


def _alone(labels: list[str]) -> str:
    return f"judges see the labels alone of {named(labels)}, beside the texts of others"


def _safe(db: str) -> str:
    """The database as it can be shown, and typed again: without a password."""
    scheme, mark, rest = db.partition("://")
    who, at, where = rest.rpartition("@")
    where = re.sub(r"([?&]password=)[^&]*", r"\1…", where)
    return f"{scheme}{mark}{who.partition(':')[0]}{at}{where}" if mark else db
