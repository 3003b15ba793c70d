"""What `podium judge` says: before it runs, while it runs, and after."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import click

from podium.cli.judge_items import Read, criteria_of
from podium.cli.output import Output, leaderboard, say
from podium.errors import InputError
from podium.text import about, counted, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.cli.judge_options import Amount, Model, Source
    from podium.judge.pairs import Judged
    from podium.judge.settings import Progress
    from podium.store.base import Store
    from podium.store.reader import Reader

__all__ = ["FAILED", "dry_run", "progress", "tell", "write"]

FAILED = ("gone", "unheard", "noise", "unread", "rejected", "refused")  # reasons that leave exit code 1
LINE_EVERY = 30.0  # seconds between lines of progress where nobody watches
LETTERS = 4  # of a token
UNBOUNDED = 10**8  # pairs: no bound was set


def dry_run(read: Read | None, source: Source, who: Model, amount: Amount, asker: Any) -> None:
    """Print the first prompt, and say what all would take; nothing is sent and nothing written."""
    from podium.judge.prompt import Asked

    if read is None:
        raise InputError("--dry-run is for items; a campaign's first pair is known when it is asked")
    rows, words = read.items.items, criteria_of(source.criteria)
    texts = [item.body if item.body is not None else item.label for item in rows]
    context, reference = (read.extra.get(name, {}).get(0) for name in ("context", "reference"))
    first = Asked(
        "dry-run", str(source.question), texts[0], texts[1], context, reference, words[0][1], fence="3f9a1c2e"
    )
    settings = amount.settings(who.concurrency)
    pairs = settings.most_pairs(len(rows))
    both = pairs if not amount.one_order else min(settings.calibration, max(1, len(rows) * (len(rows) - 1) // 8), pairs)
    calls = min(pairs + both, amount.max_calls or pairs + both) * len(words)
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
        f"{_tokens(tokens)} tokens in and {_tokens(back * calls)} out"
    )
    if amount.price_in is not None or amount.price_out is not None:
        cost = (tokens * (amount.price_in or 0) + back * calls * (amount.price_out or 0)) / 1e6
        say(
            f"about {cost:.2f} in all"
            + ("" if amount.max_cost is None else f"; --max-cost stops at {amount.max_cost:g}")
        )


def _tokens(count: float) -> str:
    return f"{count / 1e6:.2f} M" if count >= 1e5 else f"{count:,.0f}"


@contextmanager
def progress() -> Iterator[Callable[[Progress], None]]:
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
    from podium.campaign.standing import MAX_FORECAST

    rate = now.here / max(now.seconds, 1e-9)
    parts = [
        f"{now.pairs:,} of at most {counted(now.limit, 'pair')}",
        f"{now.calls:,} calls ({rate:.1f}/s, {now.out} out)",
    ]
    if now.calibrating:
        parts.insert(0, "calibration")
    if now.tokens_in:
        parts.append(f"{_tokens(now.tokens_in + now.tokens_out)} tokens")
    if now.cost:
        parts.append(f"cost {now.cost:.2f}, about {now.cost / max(1, now.pairs) * now.limit:.2f} in all")
    if now.both:
        parts.append(f"{100 * now.same / now.both:.0f} % the same in both orders")
    if now.agreed is not None:
        parts.append(f"{100 * now.agreed:.0f} % of check pairs as predicted")
    if now.skips:
        parts.append(f"{now.skips:,} skipped")
    if now.lost:
        parts.append(f"{counted(now.lost, 'request')} without an answer")
    rest = max(0, now.limit - now.pairs - now.skips)
    each = now.orders * now.seconds / max(1, now.here)  # seconds a pair
    if now.until_stable and now.until_stable <= min(rest, MAX_FORECAST * now.pairs):
        more = about(now.until_stable, now.until_stable, "pair")
        parts.append(f"{more} or more until stable, {_duration(each * now.until_stable)}")
    elif now.here and rest and not now.calibrating and rest < UNBOUNDED:
        parts.append(f"at most {_duration(each * rest)} more")
    return "; ".join(parts)


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 100
        else f"{seconds / 60:.0f} min"
        if seconds < 6000
        else f"{seconds / 3600:.1f} h"
    )


def tell(title: str | None, ended: Judged, store: Store, *, alone: bool = True) -> None:
    """The judge in numbers, and what stopped it; not `alone`: what is stable depends on votes that are elsewhere."""
    from podium.campaign.standing import MAX_FORECAST

    if title is not None:
        say(f"{title}:")
    for line in ended.tally.words() if ended.why != "unheard" else ():  # calls that nobody heard are no figures
        say(line)
    if (ci := _length_errors(ended, store)) is not None:
        say(
            one_line(
                f"with length held constant: `podium campaign export calls --db {ended.path} -o calls.jsonl`, then "
                f"`podium rank calls.jsonl --covariates length --side-effect --ci {ci}`"
            )
        )
    say(one_line(f"{ended.judge}: {ended.words}"))
    spent = ended.why in ("budget", "max-calls", "max-cost")
    if alone and spent and ended.standing.until_stable and ended.ranking is None:
        more = about(ended.standing.until_stable, ended.standing.until_stable_upper, "more vote")
        far = f"far from stable: it may take more than {MAX_FORECAST} times the votes so far"
        say(f"{far if ended.standing.far else f'{more} until stable'}{_beyond(ended)}")
    if ended.why == "noise":
        say("fewer than 55 % of the pairs have the same verdict in both orders; another model or question, or --anyway")
    if ended.path is not None:
        say(f"kept in {ended.path}; intervals cover this judge's noise and the pairs drawn, not whether it is right")


def _length_errors(ended: Judged, store: Store) -> str | None:
    """Where length decides: the `--ci` by which `podium rank` holds it constant; None where it cannot."""
    from podium.judge.report import call_lines, length_errors

    length = ended.tally.length
    if ended.path is None or length is None or not length.is_off_half:
        return None

    def lines(reader: Reader) -> list[str]:
        (campaign,) = (each.id for each in reader.campaigns() if each.slug == ended.campaign)
        return list(call_lines(reader, campaign))

    return length_errors(store.read(lines))


def _beyond(ended: Judged) -> str:
    """That a judge, who is asked no pair twice, cannot give as many."""
    n = len(ended.order)
    left = max(0, n * (n - 1) // 2 - ended.tally.pairs - ended.tally.skips)
    return f", more than the {counted(left, 'pair')} this judge has left" if ended.standing.until_stable > left else ""


def write(ended: list[tuple[str, Judged]], out: Output) -> None:
    """The ranking; of several criteria, the places side by side."""
    import polars as pl

    known = [(title, each) for title, each in ended if each.order]
    if not known:
        if ended[-1][1].why in (*FAILED, "interrupted"):
            return  # its words were told
        raise InputError("nothing was answered, so there is no ranking; see above why")
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
