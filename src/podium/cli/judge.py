"""`podium judge`: a model or a command compares the items of a table, and the order comes out."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.calling import gathered
from podium.cli.help import Decorator, GroupedCommand, option
from podium.cli.options import SEED, NumberRange, id_option, new_file, output_options
from podium.cli.output import Output, leaderboard, say
from podium.errors import InputError
from podium.text import counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.campaign.items import Items
    from podium.judge.pairs import Judged
    from podium.judge.run import Asker, Progress, Settings
    from podium.store.base import Store
    from podium.store.values import Campaign

__all__ = ["judge"]

EXAMPLES = (
    ("podium judge a.jsonl --question 'Clearer?' --base-url URL --model NAME", "by a model behind a server"),
    ("podium judge a.jsonl --question 'Clearer?' --command './my_judge -q'", "by a program"),
    ("podium judge campaign.db --base-url URL --model NAME", "beside the people of a campaign"),
)
PRESETS = ("quick", "standard", "thorough")
FAILED = ("gone", "noise", "rejected", "refused")  # reasons that leave exit code 1
INTERRUPTED = 130
LINE_EVERY = 30.0  # seconds between lines of progress where nobody watches
LETTERS = 4  # of a token
CONTEXTS = ("context", "prompt")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the items come from, and what is asked of them."""

    question: str | None
    db: str | None
    campaign: str | None
    id: str | None
    text: str | None
    reference: str | None
    criteria: tuple[str, ...]
    gold: Path | None


@dataclass(frozen=True, slots=True)
class Model:
    """Who judges."""

    base_url: str | None
    model: str | None
    command: str | None
    name: str | None
    answer: Any
    prompt: Path | None
    temperature: float
    max_tokens: int
    timeout: float
    concurrency: int
    rpm: float | None
    tpm: float | None
    extra_body: str | None
    headers: tuple[str, ...]

    def asker(self, seed: int | None) -> Asker:
        """The one that is meant."""
        if (self.base_url is None) == (self.command is None):
            raise click.UsageError("give either --base-url and --model, or --command; one of them judges")
        if self.command is not None:
            from podium.judge.command import CommandJudge

            try:
                words = shlex.split(self.command)
            except ValueError as problem:
                raise InputError(
                    f"--command {self.command!r} cannot be read: {problem}; correct its quotes"
                ) from problem
            return CommandJudge(words, concurrency=self.concurrency)
        if not self.model:
            raise click.UsageError("--base-url needs --model; name the model as the server does")
        from podium.judge.http import HttpJudge

        return HttpJudge(
            str(self.base_url), self.model, answer=self.answer, template=_text(self.prompt),
            temperature=self.temperature, max_tokens=self.max_tokens, timeout=self.timeout,
            concurrency=self.concurrency, rpm=self.rpm, tpm=self.tpm, extra_body=_body(self.extra_body),
            headers=_headers(self.headers), seed=seed,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Amount:
    """How much is asked."""

    preset: str
    goal: str
    budget: int | None
    max_calls: int | None
    max_cost: float | None
    price_in: float | None
    price_out: float | None
    one_order: bool
    repeat: float
    against: tuple[str, ...]
    anyway: bool
    keep_prompts: bool
    seed: int | None
    dry_run: bool

    @property
    def top(self) -> int | None:
        """The places that matter; None for all."""
        word, _, number = self.goal.partition(":")
        if self.goal == "order":
            return None
        if word != "top" or not number.isascii() or not number.isdigit() or not 0 < int(number[:10]) < 2**31:
            raise InputError(f"--goal {self.goal!r} is neither order nor top:K; give one, as top:20")
        return int(number[:10])

    def settings(self, concurrency: int) -> Settings:
        """As the library takes it."""
        from podium.judge.run import Settings

        if self.max_cost is not None and self.price_in is None and self.price_out is None:
            raise InputError("--max-cost needs prices; give --price-in and --price-out, per million tokens")
        return Settings(
            self.preset, self.budget, self.max_calls, self.max_cost, self.price_in, self.price_out, concurrency,
            self.one_order, self.repeat, self.anyway, keep_prompts=self.keep_prompts, seed=self.seed,
        )  # fmt: skip

    @property
    def others(self) -> list[tuple[str, str]]:
        """Files and judges to compare with."""
        found = []
        for each in self.against:
            path, mark, name = each.rpartition(":")
            if not mark or not path or not name:
                raise InputError(f"--against {each!r} names no judge; give FILE:JUDGE, as campaign.db:reader-1")
            found.append((path, name))
        return found


_FILE = click.Path(dir_okay=False, path_type=Path)


def _source_options() -> Decorator:
    return gathered(
        "source",
        Source,
        option("Data", "--question", help="Ask this of each pair."),
        option(
            "Data",
            "--db",
            metavar="FILE",
            help="Keep the campaign here; one that is there goes on.  [default: the items' name with .podium.db]",
        ),
        option("Data", "--campaign", metavar="NAME", help="Choose one of several campaigns of a file."),
        id_option("id, else the first"),
        option("Data", "--text", metavar="COLUMN", help="Name the column that is shown.  [default: text or body]"),
        option(
            "Data", "--reference", metavar="COLUMN", help="Name a column of answers known to be good, shown above both."
        ),
        option(
            "Data",
            "--criterion",
            "criteria",
            multiple=True,
            metavar="NAME=TEXT",
            help="Judge by this; given again, each is a campaign of its own, side by side.",
        ),
        option("Data", "--gold", type=_FILE, metavar="FILE", help="Ask these votes too, whose answers are known."),
    )


def _model_options() -> Decorator:
    return gathered(
        "who",
        Model,
        option(
            "Model",
            "--base-url",
            metavar="URL",
            help="Ask the server at this address; its key is in PODIUM_API_KEY or OPENAI_API_KEY.",
        ),
        option("Model", "--model", metavar="NAME", help="Ask this model."),
        option(
            "Model", "--command", metavar="WORDS", help="Ask this program instead: a JSON object a line in, one out."
        ),
        option("Model", "--as", "name", metavar="NAME", help="Name the judge.  [default: the model's name]"),
        option(
            "Model",
            "--answer",
            type=click.Choice(["json", "word", "logprobs"]),
            default="json",
            show_default=True,
            help="Ask for the verdict in this form.",
        ),
        option(
            "Model",
            "--prompt",
            type=_FILE,
            metavar="FILE",
            help="Read the prompt from a file (Jinja2) that shows {{ left }} and {{ right }}.",
        ),
        option("Model", "--temperature", type=float, default=0.0, show_default=True, help="Send this temperature."),
        option(
            "Model",
            "--max-tokens",
            type=click.IntRange(1),
            default=1024,
            show_default=True,
            help="Let an answer have this many tokens.",
        ),
        option(
            "Model",
            "--timeout",
            type=NumberRange(0.1, 3600),
            default=120.0,
            show_default=True,
            help="Wait this many seconds for a request.",
        ),
        option(
            "Model",
            "--concurrency",
            type=click.IntRange(1, 1000),
            default=16,
            show_default=True,
            help="Keep this many calls out at a time.",
        ),
        option("Model", "--rpm", type=NumberRange(0, min_open=True), help="Send at most this many requests a minute."),
        option("Model", "--tpm", type=NumberRange(0, min_open=True), help="Use at most this many tokens a minute."),
        option("Model", "--extra-body", metavar="JSON", help="Add these fields to each request."),
        option(
            "Model",
            "--header",
            "headers",
            multiple=True,
            metavar="NAME=VALUE",
            help="Add a header to each request; may be given again.",
        ),
    )


def _amount_options() -> Decorator:
    return gathered(
        "amount",
        Amount,
        option(
            "Measures",
            "--preset",
            type=click.Choice(PRESETS),
            default="standard",
            show_default=True,
            help="Ask about this many pairs, as in `podium ask`.",
        ),
        option(
            "Measures",
            "--goal",
            default="order",
            show_default=True,
            metavar="order|top:K",
            help="Care for the whole order, or for the first K places.",
        ),
        option("Measures", "--budget", type=click.IntRange(1), help="Ask about at most this many pairs."),
        option("Measures", "--max-calls", type=click.IntRange(1), help="Make at most this many calls."),
        option("Measures", "--max-cost", type=NumberRange(0, min_open=True), help="Spend at most this much."),
        option("Measures", "--price-in", type=NumberRange(0), help="Price a million tokens that are sent at this."),
        option("Measures", "--price-out", type=NumberRange(0), help="Price a million tokens that come back at this."),
        option(
            "Measures",
            "--one-order",
            is_flag=True,
            help="Ask each pair once, of random pairs, and fit the advantage of the first place.",
        ),
        option(
            "Measures",
            "--repeat",
            type=NumberRange(0, 1),
            default=0.0,
            show_default=True,
            help="Ask this share of the calls again, word for word.",
        ),
        option(
            "Measures",
            "--against",
            multiple=True,
            metavar="FILE:JUDGE",
            help="Compare with a judge of a campaign, on the same pairs; may be given again.",
        ),
        option("Measures", "--anyway", is_flag=True, help="Go on with a judge that contradicts itself."),
        option("Output", "--keep-prompts", is_flag=True, help="Keep the whole prompts, not only their hash."),
        option(
            "Measures", "--seed", type=SEED, help="Random seed for the choice of pairs.  [default: drawn, and kept]"
        ),
        option(
            "Output", "--dry-run", is_flag=True, help="Print the first prompt and what all would cost; ask nothing."
        ),
    )


@click.command(cls=GroupedCommand, examples=EXAMPLES)
@click.argument("items", type=click.Path())
@_source_options()
@_model_options()
@_amount_options()
@option("Output", "--report", type=_FILE, metavar="FILE", callback=new_file, help="Write the standing as an HTML page.")
@output_options()
@click.pass_context
def judge(
    context: click.Context, items: str, source: Source, who: Model, amount: Amount, report: Path | None, out: Output
) -> None:
    """Let a model rank the ITEMS of a table, two at a time and in both orders, or judge beside the people of a file.

    Every call and every vote is on disk at once; the same command goes on where the last one ended. Ctrl-C waits for
    the calls that are out. At the end the ranking goes to standard output, the judge in numbers to standard error.
    """
    _check_extra()
    from podium.judge.pairs import judged
    from podium.store import open_store
    from podium.store.file import is_campaign_file

    asker, settings, others = who.asker(amount.seed), amount.settings(who.concurrency), amount.others
    there = is_campaign_file(items)
    read = None if there else _read(items, source)
    if there:
        _refuse_idle(source, items)
    elif not source.question:
        raise click.UsageError("--question is missing; say what is asked of each pair")
    if amount.dry_run:
        _dry_run(items, read, source, who, amount, asker)
        return
    db = items.partition("#")[0] if there else source.db or f"{Path(items).with_suffix('')}.podium.db"
    ended: list[tuple[str, Judged]] = []
    with open_store(db, new=read is not None) as store:
        for title, words in _criteria(source.criteria):
            campaign = _campaign(store, items, read, source, amount, title, words)
            if amount.one_order:
                say("one order: pairs are random, and the advantage of the first place is fitted")
            with _progress() as told:
                ended.append((title, judged(store, campaign, asker, settings, name=who.name, others=others, told=told)))
            _tell(title if len(source.criteria) > 1 else None, ended[-1][1])
            if ended[-1][1].why in (*FAILED, "interrupted"):
                break
            asker = who.asker(amount.seed)  # the last one was closed
        if report is not None and ended[-1][1].standing.places:
            _write_report(store, ended[-1][1], report)
    _write(ended, out)
    if (last := ended[-1][1].why) in FAILED or last == "interrupted":
        context.exit(INTERRUPTED if last == "interrupted" else 1)


# What comes in


def _check_extra() -> None:
    import importlib.util

    missing = [name for name in ("httpx", "jinja2", "sqlalchemy") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"a model as judge needs {', '.join(missing)}; pip install 'podium[judge]'")


def _refuse_idle(source: Source, items: str) -> None:
    given: dict[str, Any] = {"question": source.question, "db": source.db, "id": source.id, "text": source.text}
    given |= {"reference": source.reference, "criterion": source.criteria, "gold": source.gold}
    for name, value in given.items():
        if value:
            raise InputError(f"--{name}: {items} is a campaign, which has its own; leave it out")


@dataclass(frozen=True, slots=True)
class _Read:
    items: Items
    extra: dict[str, dict[int, str]]
    gold: tuple[tuple[str, str, int], ...]


def _read(path: str, source: Source) -> _Read:
    """Items with texts, and what goes with them; refused with the row where a text is missing."""
    from podium.campaign.items import read_items

    if Path(path).is_dir():
        items, extra = read_items(path), {}
    else:
        from podium.data.files import read_table

        table = read_table(path)
        names = table.columns
        if {"winner", "loser"} <= set(names) or {"left", "right", "outcome"} <= set(names):
            raise InputError(
                f"{path} holds votes, not items; give a table with a row for each item, or `podium rank` it"
            )
        if source.reference is not None and source.reference not in names:
            raise InputError(f"{path} has no column {source.reference!r}; there are {', '.join(names)}")
        items = read_items(path, label=source.id, text=source.text)
        shown = source.text or next((name for name in ("text", "body") if name in names), None)
        for row, item in enumerate(items.items, start=1):
            if shown is not None and item.media is None and not (item.body or "").strip():
                raise InputError(f"{path}, row {row}: the text of {item.label!r} is empty; every item needs one")
        columns = {"context": next((name for name in CONTEXTS if name in names), None), "reference": source.reference}
        extra = {
            name: {row: str(cell) for row, cell in enumerate(table[column].to_list()) if cell not in (None, "")}
            for name, column in columns.items()
            if column is not None
        }
    if len(items.items) < 2:
        raise InputError(f"{path}: {counted(len(items.items), 'item')}; an order needs at least two")
    return _Read(items, extra, _gold(source.gold, {item.label for item in items.items}))


def _gold(path: Path | None, labels: set[str]) -> tuple[tuple[str, str, int], ...]:
    """Votes whose answers are known."""
    if path is None:
        return ()
    from podium.data.files import read_comparisons

    votes = read_comparisons(str(path), keep="rows")
    outcome = [1] * len(votes.left) if votes.outcome is None else votes.outcome.tolist()
    rows: dict[frozenset[str], tuple[str, str, int]] = {}
    for row, (a, b, said) in enumerate(zip(votes.left.tolist(), votes.right.tolist(), outcome, strict=True), start=1):
        left, right = str(votes.items[a]), str(votes.items[b])
        for label in (left, right):
            if label not in labels:
                raise InputError(f"{path}, row {row}: there is no item {label!r}; check its name")
        if said == 0:
            raise InputError(f"{path}, row {row}: {left!r} and {right!r} tie; a known answer has a winner")
        if frozenset((left, right)) in rows:
            raise InputError(f"{path}, row {row}: {left!r} and {right!r} appear twice; keep one of the rows")
        rows[frozenset((left, right))] = (left, right, int(said > 0))
    return tuple(rows.values())


def _criteria(given: tuple[str, ...]) -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for each in given:
        name, mark, words = each.partition("=")
        if not mark or not name.strip() or not words.strip():
            raise InputError(
                f"--criterion {each!r} is not NAME=TEXT; give both, as clarity='The text is easy to follow'"
            )
        if name.strip() in found:
            raise InputError(f"--criterion {name.strip()!r} appears twice; names must differ")
        found[name.strip()] = words.strip()
    return list(found.items()) or [("judge", "")]


def _campaign(
    store: Store, items: str, read: _Read | None, source: Source, amount: Amount, title: str, words: str
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
        texts = {item.label: item.body for item in read.items.items}
        check_same(store, known, texts, source.question, words)
        return known
    options = Options(top=amount.top, tired_after=1, gold=read.gold)
    return new_campaign(
        store, read.items, read.extra, title=title, question=source.question, instructions=words, options=options,
        seed=amount.seed,
    )  # fmt: skip


def _text(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError as problem:
        raise InputError(f"{path} is not UTF-8 text; convert it") from problem


def _body(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"--extra-body is no JSON ({problem}); give an object, as '{{\"top_p\": 0.9}}'") from problem
    if not isinstance(body, dict):
        raise InputError("--extra-body is no JSON object; give one, as '{\"top_p\": 0.9}'")
    return body


def _headers(given: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for each in given:
        name, mark, value = each.partition("=")
        plain = name.strip().replace("-", "").replace("_", "")
        if not mark or not plain.isalnum() or not each.isascii() or not each.isprintable():
            raise InputError("--header: one is not NAME=VALUE in plain letters; give it as X-Team=red")
        found[name.strip()] = value.strip()
    return found


# Before it runs, while it runs, and after


def _dry_run(items: str, read: _Read | None, source: Source, who: Model, amount: Amount, asker: Any) -> None:
    """Print the first prompt, and say what all would take; nothing is sent and nothing written."""
    from podium.active.presets import questions_of
    from podium.judge.prompt import Asked

    if read is None:
        raise InputError("--dry-run is for items; a campaign's first pair is known when it is asked")
    rows, words = read.items.items, _criteria(source.criteria)
    texts = [item.body if item.body is not None else item.label for item in rows]
    context, reference = (read.extra.get(name, {}).get(0) for name in ("context", "reference"))
    first = Asked(
        "dry-run", str(source.question), texts[0], texts[1], context, reference, words[0][1], fence="3f9a1c2e"
    )
    pairs = amount.budget or questions_of(amount.preset, len(rows), None)
    calls = min(2 * pairs, amount.max_calls or 2 * pairs) * len(words)
    prompt = getattr(asker, "prompt", None)
    if prompt is None:
        click.echo(json.dumps({"id": first.id, "question": first.question, "left": first.left, "right": first.right,
                               "context": first.context, "reference": first.reference,
                               "instructions": first.instructions}, ensure_ascii=False))  # fmt: skip
        say(f"nothing was asked; up to {counted(pairs, 'pair')} of {counted(len(rows), 'item')}, {calls:,} calls")
        return
    messages = prompt.messages(first)
    click.echo("\n\n".join(f"[{each['role']}]\n{each['content']}" for each in messages))
    around = sum(len(str(each["content"])) for each in messages) - len(texts[0]) - len(texts[1])
    tokens = (around + 2 * sum(map(len, texts)) / len(texts)) / LETTERS * calls
    back = 1 if who.answer == "logprobs" else 60
    say(
        f"nothing was asked; up to {counted(pairs, 'pair')} of {counted(len(rows), 'item')}, {calls:,} calls, about "
        f"{tokens / 1e6:.2f} M tokens in and {back * calls / 1e6:.2f} M out"
    )
    if amount.price_in is not None or amount.price_out is not None:
        cost = (tokens * (amount.price_in or 0) + back * calls * (amount.price_out or 0)) / 1e6
        say(
            f"about {cost:.2f} in all"
            + ("" if amount.max_cost is None else f"; --max-cost stops at {amount.max_cost:g}")
        )


@contextmanager
def _progress() -> Iterator[Callable[[Progress], None]]:
    """A line that changes on a terminal, plain lines every half minute elsewhere."""
    watched = sys.stderr.isatty()
    last = [time.monotonic()]
    from rich.console import Console

    status: Any = Console(stderr=True, highlight=False).status("beginning") if watched else nullcontext()
    with status as shown:

        def told(now: Progress) -> None:
            if watched:
                shown.update(_words(now))
            elif time.monotonic() - last[0] > LINE_EVERY:
                last[0] = time.monotonic()
                say(_words(now))

        yield told


def _words(now: Progress) -> str:
    rate = now.here / max(now.seconds, 1e-9)
    parts = [
        f"{now.pairs:,} of at most {counted(now.limit, 'pair')}",
        f"{now.calls:,} calls ({rate:.1f}/s, {now.out} out)",
    ]
    if now.calibrating:
        parts.insert(0, "calibration")
    if now.tokens_in:
        parts.append(f"{(now.tokens_in + now.tokens_out) / 1e6:.2f} M tokens")
    if now.cost:
        parts.append(f"cost {now.cost:.2f}, about {now.cost / max(1, now.pairs) * now.limit:.2f} in all")
    if now.both:
        parts.append(f"{100 * now.same / now.both:.0f} % the same in both orders")
    if now.skips:
        parts.append(f"{now.skips:,} skipped")
    if now.until_stable:
        left = 2 * now.until_stable / max(rate, 1e-9)
        parts.append(f"about {now.until_stable:,} more until stable, {_duration(left)}")
    return "; ".join(parts)


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 6000
        else f"{seconds / 3600:.1f} h"
    )


def _tell(title: str | None, ended: Judged) -> None:
    if title is not None:
        say(f"{title}:")
    for line in ended.tally.words():
        say(line)
    say(one_line(f"{ended.judge}: {ended.words}"))
    if ended.why in ("budget", "max-calls", "max-cost") and ended.standing.until_stable and ended.ranking is None:
        say(f"about {counted(ended.standing.until_stable, 'more vote')} until stable")
    if ended.why == "noise":
        say("fewer than 55 % of the pairs have the same verdict in both orders; another model or question, or --anyway")
    if ended.path is not None:
        say(f"kept in {ended.path}; intervals cover this judge's noise and the pairs drawn, not whether it is right")


def _write_report(store: Store, ended: Judged, path: Path) -> None:
    from podium.campaign.report import write_report
    from podium.campaign.setup import campaign_named

    it = store.read(lambda reader: campaign_named(reader, ended.campaign))
    write_report(store.read(lambda reader: reader.content(it.id)), str(path))
    say(f"wrote {path}")


def _write(ended: list[tuple[str, Judged]], out: Output) -> None:
    """The ranking; of several criteria, the places side by side."""
    import polars as pl

    known = [(title, each) for title, each in ended if each.order]
    if not known:
        if ended[-1][1].why in (*FAILED, "interrupted"):
            return  # its words were told
        raise InputError("nothing was answered, so there is no ranking; see what the server or the command says")
    if len(ended) == 1:
        each = known[0][1]
        frame = each.to_frame()
        out.write(frame, leaderboard(frame, digits=2, room=out.room) if each.ranking is not None else None)
        return
    places = [pl.DataFrame({"item": list(each.order), title: range(1, len(each.order) + 1)}) for title, each in known]
    whole = places[0]
    for more in places[1:]:
        whole = whole.join(more, on="item", how="left")
    mean = pl.mean_horizontal(pl.exclude("item"))
    out.write(whole.with_columns(mean_place=mean).sort("mean_place", "item"))
