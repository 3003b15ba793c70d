"""What a campaign's calls tell of their judge, and the calls as lines to keep: both read from the store."""

from __future__ import annotations

import io
import json
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.campaign.exchange import moment
from podium.campaign.live import live_votes
from podium.errors import PodiumError, PodiumWarning
from podium.judge.ledger import Ledger, Material, header_of, page_text
from podium.judge.tally import Agreement, Tally, agreement, longer_won, position, proportion
from podium.store.content import Content
from podium.store.reader import Reader
from podium.store.values import Item

__all__ = ["against", "call_lines", "length_errors", "tally_of"]

MINE = "campaign = :campaign AND judge = :judge"
SUMS = (
    "SELECT sum(CASE WHEN done IS NOT NULL OR tries > 0 THEN 1 ELSE 0 END), "
    "sum(tokens_in), sum(tokens_out), max(COALESCE(counted, 0)), sum(cost), "
    "sum(CASE WHEN tries > 1 THEN tries - 1 ELSE 0 END), "
    f"sum(CASE WHEN cost IS NULL AND tokens_in IS NOT NULL THEN 1 ELSE 0 END) FROM call WHERE {MINE}"
)
PROBLEMS = f"SELECT problem, count(*) FROM call WHERE {MINE} AND problem IS NOT NULL GROUP BY problem ORDER BY problem"
# Outcomes for the item shown first, of each pair: as it is, turned, and whether it was turned at all.
ORDERS = (
    "SELECT a.outcome, b.outcome, b.request IS NULL, count(*) FROM call a LEFT JOIN call b ON b.campaign = a.campaign "
    "AND b.judge = a.judge AND b.question = a.question AND b.turned = 1 AND b.again IS NULL "
    "WHERE a.campaign = :campaign AND a.judge = :judge AND a.turned = 0 AND a.again IS NULL "
    "AND a.outcome IS NOT NULL GROUP BY 1, 2, 3"
)
REPEATS = (
    "SELECT a.outcome, b.outcome, count(*) FROM call a JOIN call b ON b.campaign = a.campaign AND b.request = a.again "
    "WHERE a.campaign = :campaign AND a.judge = :judge AND a.again IS NOT NULL AND a.done IS NOT NULL GROUP BY 1, 2"
)
VOTES = f'SELECT "left", "right", outcome, kind, predicted FROM vote WHERE {MINE} AND undoes IS NULL'


def tally_of(ledger: Ledger, material: Material) -> Tally:
    """A judge in numbers, from all its calls so far; the database counts, as there may be very many."""
    values = {"campaign": ledger.campaign.id, "judge": ledger.judge.id}

    def look(reader: Reader) -> list[Any]:
        return [reader.run(sql, values) for sql in (SUMS, PROBLEMS, ORDERS, REPEATS, VOTES)]

    sums, problems, orders, repeats, votes = ledger.store.read(look)
    answered, tokens_in, tokens_out, counted, cost, repeated, unpriced = sums[0]
    calls = int(answered or 0)  # those that a run stopped before it sent them are none
    both = [row for row in orders if not row[2] and row[1] is not None]
    times = [row[3] for row in both]
    single = [row for row in orders if row[2]]
    return Tally(
        calls=calls,
        requests=calls + int(repeated or 0),
        pairs=sum(row[2] is not None for row in votes),
        skips=sum(row[2] is None for row in votes),
        position=position(
            _repeated([row[0] for row in both], times),
            _repeated([row[1] for row in both], times),
            _repeated([row[0] for row in single], [row[3] for row in single]),
        ),
        length=_length(votes, material),
        repeat=proportion(_repeated([float(row[0] == row[1]) for row in repeats], [row[2] for row in repeats])),
        gold=_gold(votes),
        problems={str(name): int(count) for name, count in problems},
        tokens_in=int(tokens_in or 0),
        tokens_out=int(tokens_out or 0),
        counted=bool(counted),
        cost=None if cost is None else float(cost),
        ties=sum(row[2] == 0.5 for row in votes),
        unpriced=int(unpriced or 0),
    )


def _repeated(values: Sequence[float], times: Sequence[int]) -> NDArray[np.float64]:
    return np.repeat(np.array(values, dtype=np.float64), np.array(times, dtype=np.int64))


def _length(votes: Sequence[Any], material: Material) -> Any:
    kept = [(row[2], material.length(row[0]), material.length(row[1])) for row in votes if row[2] is not None]
    return longer_won(*zip(*kept, strict=True)) if kept else None


def _gold(votes: Sequence[Any]) -> Any:
    return proportion([row[2] == row[4] for row in votes if row[3] == "gold" and row[2] is not None])


def against(mine: Content, judge: int, theirs: Content, other: int) -> Agreement | None:
    """A model and a person (or another model) on the pairs that both judged; None where there are none."""
    ours, others = _by_pair(mine, judge), _by_pair(theirs, other)
    both = sorted(set(ours) & set(others))
    return agreement([ours[pair] for pair in both], [others[pair] for pair in both])


def _by_pair(content: Content, judge: int) -> dict[tuple[str, str], float]:
    """Outcomes for the item whose label comes first; of several votes the last."""
    live = live_votes(content)
    found = {}
    for k in np.flatnonzero(live.judge == judge).tolist():
        a, b, value = live.labels[live.left[k]], live.labels[live.right[k]], float(live.value[k])
        found[(a, b) if a < b else (b, a)] = value if a < b else 1 - value
    return found


def pairs_of(content: Content, judge: int) -> list[tuple[str, str]]:
    """The pairs that a judge has judged, newest last."""
    live = live_votes(content)
    mine: NDArray[np.bool_] = live.judge == judge
    return [
        (live.labels[a], live.labels[b])
        for a, b in zip(live.left[mine].tolist(), live.right[mine].tolist(), strict=True)
    ]


def length_errors(lines: Iterable[str]) -> str | None:
    """The `--ci` by which `podium rank` takes these lines of calls with length held constant; None where by none.

    Calls about a pair belong together ("group"), but too few of them may be about items with a bounded score: then it
    is "sandwich". Each is tried, so that what is recommended is not refused.
    """
    from podium.data.files import read_comparisons
    from podium.pairwise.bradley_terry import BradleyTerry

    text = "".join(lines).encode()
    options: dict[str, Any] = {"format": "jsonl", "covariates": ["length"], "judge": False}
    for kind in ("group", "sandwich"):
        group = "group" if kind == "group" else None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PodiumWarning)  # `podium rank` is where they are told
            try:
                votes = read_comparisons(io.BytesIO(text), group=group or False, **options)
                ranking = BradleyTerry(side_effect=True).fit(votes).ranking_
                ranking.with_uncertainty("cluster" if group else kind, cluster=group).intervals()
            except PodiumError:
                continue
        return kind
    return None


def call_lines(reader: Reader, campaign: int) -> Iterator[str]:
    """Every call as a line of JSON, after the headers of the judges who made them.

    Both calls about a pair carry its number as `group` and weigh one half each, so that `podium rank calls.jsonl
    --side-effect --ci group` fits the position bias. `length` is how much longer the first text is, as a log ratio of
    letters: with `--covariates length` the order is that of texts of one length.
    """
    items = reader.items(campaign)
    labels = [item.label for item in items]
    letters = [math.log(1 + len(_text(reader, campaign, item))) for item in items]
    names = {judge.id: judge.name for judge in reader.judges(campaign) if judge.kind == "model"}
    for id, name in names.items():
        yield _line({"podium": "judge", "judge": name, "header": header_of(reader, campaign, id)})
    twice = {row[0] for row in reader.run(
        "SELECT DISTINCT question FROM call WHERE campaign = :c AND turned = 1 AND outcome IS NOT NULL", {"c": campaign}
    )}  # fmt: skip
    for call in reader.calls(campaign):
        counts = call.outcome is not None and call.again is None
        note = {} if counts else {"podium": "repeat" if call.again else "call" if call.done is None else "skip"}
        row = note | {
            "left": labels[call.first],
            "right": labels[call.second],
            "outcome": call.outcome,
            "weight": 0.5 if call.question in twice else 1.0,
            "group": call.question,
            "length": letters[call.first] - letters[call.second],
            "judge": names.get(call.judge),
            "order": call.turned,
            "request": call.request,
            "again": call.again,
            "time": moment(call.done),
            "sent": moment(call.at),
            "model": call.model,
            "prompt_hash": call.prompt_hash,
            "parameters": json.loads(call.parameters or "{}"),
            "p": call.p,
            "problem": call.problem,
            "reason": call.reason,
            "raw": call.raw,
            "tokens_in": call.tokens_in,
            "tokens_out": call.tokens_out,
            "counted": bool(call.counted),
            "ms": call.ms,
            "tries": call.tries,
            "cost": call.cost,
            "prompt": call.prompt,
        }
        yield _line(row)


def _text(reader: Reader, campaign: int, item: Item) -> str:
    """What is read of an item; of a picture, the text beside it."""
    if item.media is None:
        return item.label if item.body is None else item.body
    if item.kind != "html":
        return item.body or ""
    page = reader.media(campaign, item.media)
    assert page is not None
    return page_text(item.body, page.bytes)


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
