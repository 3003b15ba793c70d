"""What a campaign's calls tell of their judge, and the calls as lines to keep: both read from the store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.campaign.exchange import moment
from podium.campaign.live import live_votes
from podium.judge.ledger import Ledger, Material, header_of
from podium.judge.tally import Agreement, Tally, agreement, longer_won, position, proportion
from podium.store.content import Content
from podium.store.rows import Reader

__all__ = ["against", "call_lines", "tally_of"]

NUMBERS = "question, turned, outcome, first, second, again, problem, tokens_in, tokens_out, counted, cost, done"


def tally_of(ledger: Ledger, material: Material) -> Tally:
    """A judge in numbers, from all its calls so far."""
    campaign, judge = ledger.campaign.id, ledger.judge.id

    def look(reader: Reader) -> tuple[Any, ...]:
        values = {"campaign": campaign, "judge": judge}
        rows = reader.run(
            f"SELECT request, {NUMBERS} FROM call WHERE campaign = :campaign AND judge = :judge ORDER BY number", values
        )
        votes = reader.run(
            'SELECT "left", "right", outcome, kind, predicted FROM vote '
            "WHERE campaign = :campaign AND judge = :judge AND undoes IS NULL",
            values,
        )
        return rows, votes

    rows, votes = ledger.store.read(look)
    done = [row for row in rows if row[12] is not None]
    plain = {(row[1], row[2]): row[3] for row in done if row[6] is None and row[3] is not None}
    once = [(value, plain[q, 1]) for (q, turned), value in plain.items() if not turned and (q, 1) in plain]
    twice = {q for (q, turned) in plain if turned}
    asked_twice = {row[1] for row in rows if row[2]}
    single = [value for (q, turned), value in plain.items() if not turned and q not in twice and q not in asked_twice]
    first, turned = (np.array(each, dtype=np.float64) for each in zip(*once, strict=True)) if once else ((), ())
    costs = [row[11] for row in done if row[11] is not None]
    return Tally(
        calls=len(rows),
        pairs=sum(row[2] is not None for row in votes),
        skips=sum(row[2] is None for row in votes),
        position=position(first, turned, single),
        length=_length(votes, material),
        repeat=_repeat(done),
        gold=_gold(votes),
        problems=_problems(done),
        tokens_in=sum(row[8] or 0 for row in done),
        tokens_out=sum(row[9] or 0 for row in done),
        counted=any(row[10] for row in done),
        cost=sum(costs) if costs else None,
    )


def _length(votes: Sequence[Any], material: Material) -> Any:
    kept = [(row[2], material.length(row[0]), material.length(row[1])) for row in votes if row[2] is not None]
    return longer_won(*zip(*kept, strict=True)) if kept else None


def _repeat(done: Sequence[Any]) -> Any:
    said = {row[0]: row[3] for row in done}
    return proportion([row[3] == said[row[6]] for row in done if row[6] is not None and row[6] in said])


def _gold(votes: Sequence[Any]) -> Any:
    return proportion([row[2] == row[4] for row in votes if row[3] == "gold" and row[2] is not None])


def _problems(done: Sequence[Any]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in done:
        if row[7] is not None:
            counts[row[7]] = counts.get(row[7], 0) + 1
    return counts


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


def call_lines(reader: Reader, campaign: int) -> Iterator[str]:
    """Every call as a line of JSON, after the headers of the judges who made them.

    Both calls about a pair carry its number as `group` and weigh one half each, so that `podium rank calls.jsonl
    --side-effect --ci group` fits the position bias.
    """
    labels = [item.label for item in reader.items(campaign)]
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


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"
