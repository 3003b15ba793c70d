"""The same votes in every form: rows, outcomes, counts, frames and files, split or merged, give the same counts."""

import io
import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from podium import Comparisons, read_comparisons

ITEMS = ["tea", "coffee", "mate", "a label longer than a view holds", 'x, "y"\nz', "Slack > Teams", "ü"]
item = st.sampled_from(ITEMS)
vote = st.tuples(item, item, st.sampled_from([1, 0, 0.5])).filter(lambda v: v[0] != v[1])
casts = st.lists(vote, min_size=1, max_size=25)
won = st.tuples(item, item, st.just(1)).filter(lambda v: v[0] != v[1])


def counted(cast, sided=False):
    """{(one, other): [wins of one, wins of other, ties]} by a plain loop, one before other by name unless sided."""
    found = {}
    for left, right, outcome in cast:
        turn = not sided and left > right
        pair = (right, left) if turn else (left, right)
        place = 2 if outcome == 0.5 else int((outcome == 0) != turn)
        found.setdefault(pair, [0, 0, 0])[place] += 1
    return found


def tally(votes, sided=False):
    """The same of what was read."""
    found = {}
    pairs = votes.pairs_by_side if sided else votes.pairs
    for i, j, a, b, t in zip(*(column.tolist() for column in pairs), strict=True):
        left, right = votes.items[i], votes.items[j]
        turn = not sided and left > right
        found[(right, left) if turn else (left, right)] = [b, a, t] if turn else [a, b, t]
    return found


def as_outcomes(cast):
    return pl.DataFrame(
        {name: [v[k] for v in cast] for k, name in enumerate(["left", "right", "outcome"])}, strict=False
    )


def as_words(cast):
    words = {1: "left", 0: "right", 0.5: "tie"}
    return as_outcomes(cast).with_columns(outcome=pl.Series([words[v[2]] for v in cast]))


def as_flags(cast):
    flags = {f"winner_{end}": [int(v[2] == value) for v in cast] for end, value in (("a", 1), ("b", 0), ("tie", 0.5))}
    return as_outcomes(cast).drop("outcome").with_columns(**{name: pl.Series(flag) for name, flag in flags.items()})


def as_counts(cast):
    rows = [(*pair, *counts) for pair, counts in counted(cast, sided=True).items()]
    return pl.DataFrame(rows, schema=["left", "right", "left_wins", "right_wins", "ties"], orient="row")


def as_counted_rows(cast):
    """One row for each distinct vote, with how often it was cast."""
    return as_outcomes(cast).group_by("left", "right", "outcome", maintain_order=True).agg(pl.len().alias("count"))


def as_split_counts(cast):
    """Counts of one row spread over two, and rows that count nothing."""
    whole = as_counts(cast)
    wins = ["left_wins", "right_wins", "ties"]
    part = whole.with_columns(pl.col(wins) // 2)
    return pl.concat([part, whole.with_columns(pl.col(name) - part[name] for name in wins)]).reverse()


def as_margins(cast):
    return as_outcomes(cast).with_columns(margin=pl.col("outcome") * 2 - 1).drop("outcome")


def as_winners(cast):
    return pl.DataFrame({"winner": [v[0] for v in cast], "loser": [v[1] for v in cast]})


def as_rankings(cast):
    return pl.DataFrame({"ranking": [[v[0], v[1]] for v in cast]})


def as_texts(cast):
    """Rankings in text: items in quotes, or a JSON list."""
    quoted = [" > ".join('"' + one.replace('"', '""') + '"' for one in v[:2]) for v in cast]
    texts = [json.dumps(v[:2]) if k % 2 else quoted[k] for k, v in enumerate(cast)]
    return pl.DataFrame({"ranking": texts})


def frame_of_columns(frame):
    return {name: frame[name].to_list() for name in frame.columns}


def said(frame):
    """What holds of items that a ranking does not list."""
    return {"unranked": "unknown"} if "ranking" in frame.columns else {}


def in_parts(frame, keep):
    """Two files, the second with the first rows."""
    cut = len(frame) // 2
    parts = [part for part in (frame[cut:], frame[:cut]) if part.height]
    return read_comparisons([file_of(part, "jsonl") for part in parts], keep=keep, **said(frame))


def file_of(frame, kind):
    file = io.BytesIO()
    if kind == "json":
        file.write(json.dumps(frame.to_dicts()).encode())
    else:
        {"jsonl": frame.write_ndjson}.get(kind, getattr(frame, f"write_{kind}", None))(file)
    file.seek(0)
    return file


WAYS = {
    "polars": lambda frame, keep: Comparisons.from_frame(frame, keep=keep, **said(frame)),
    "lazy": lambda frame, keep: Comparisons.from_frame(frame.lazy(), keep=keep, **said(frame)),
    "pandas": lambda frame, keep: Comparisons.from_frame(
        pd.DataFrame(frame_of_columns(frame)), keep=keep, **said(frame)
    ),
    "arrow": lambda frame, keep: Comparisons.from_frame(frame.to_arrow(), keep=keep, **said(frame)),
    "columns": lambda frame, keep: Comparisons.from_frame(frame_of_columns(frame), keep=keep, **said(frame)),
    "parts": in_parts,
    **{
        kind: lambda frame, keep, kind=kind: read_comparisons(
            file_of(frame, kind), keep=keep, format=kind, **said(frame)
        )
        for kind in ("csv", "json", "jsonl", "parquet", "ipc")
    },
}
WON = [as_winners, as_outcomes, as_counts, as_rankings, as_texts]
FORMS = [as_outcomes, as_words, as_flags, as_counts, as_counted_rows, as_split_counts, as_margins]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_votes_with_sides(form, way):
    @settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(casts, st.sampled_from(["rows", "counts"]))
    def holds(cast, keep):
        votes = WAYS[way](form(cast), keep)
        assert tally(votes) == counted(cast)
        assert tally(votes, sided=True) == counted(cast, sided=True)
        assert len(votes) == len(cast)

    holds()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", WON, ids=lambda form: form.__name__)
def test_votes_that_were_won(form, way):
    if (form, way) == (as_rankings, "csv"):
        pytest.skip("a CSV file has no lists")

    @settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(won, min_size=1, max_size=25), st.sampled_from(["rows", "counts"]))
    def holds(cast, keep):
        votes = WAYS[way](form(cast), keep)
        assert tally(votes) == counted(cast)
        assert len(votes) == len(cast)

    holds()


@settings(max_examples=50, deadline=None)
@given(st.lists(won, min_size=1, max_size=25))
def test_lists_and_arrays(cast):
    winner, loser = [v[0] for v in cast], [v[1] for v in cast]
    codes = [np.array([ITEMS.index(one) for one in column]) for column in (winner, loser)]
    ways = [
        Comparisons.from_pairs(zip(winner, loser, strict=True)),
        Comparisons.from_arrays(winner, loser),
        Comparisons.from_arrays(np.array(winner), np.array(loser)),
        Comparisons.from_arrays(np.array(winner, dtype=object), np.array(loser, dtype=object)),
        Comparisons.from_arrays(*codes, items=ITEMS),
        Comparisons.from_rankings([list(v[:2]) for v in cast], unranked="unknown"),
        Comparisons(ITEMS, *codes),
        Comparisons(ITEMS, codes[1], codes[0], outcome=[-1] * len(cast)),
        sum(Comparisons.from_pairs([v[:2]]) for v in cast),
        Comparisons.from_frame(Comparisons.from_arrays(winner, loser).to_frame()),
    ]
    for votes in ways:
        assert tally(votes) == counted(cast)
        assert len(votes) == len(cast)
