"""Rows by key agree with a dictionary."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.active.paper.keys import KeyRows
from podium.active.paper.votes import Votes

ITEM = st.integers(0, 4)


@settings(max_examples=40, deadline=None)
@given(batches=st.lists(st.sets(st.integers(0, 10**10), max_size=90), max_size=5))
def test_rows_are_those_of_a_dictionary(batches):
    known, twin = KeyRows(), {}
    for batch in batches:
        new = [key for key in batch if key not in twin]
        rows = np.arange(len(twin), len(twin) + len(new))
        known.add(np.array(new, dtype=np.int64), rows)
        twin.update(zip(new, rows.tolist(), strict=True))
        asked = [*twin, *range(50)]
        assert known.find(np.array(asked, dtype=np.int64)).tolist() == [twin.get(key, -1) for key in asked]
        assert len(known) == len(twin)


@settings(max_examples=60, deadline=None)
@given(
    told=st.lists(
        st.lists(
            st.tuples(ITEM, ITEM, st.sampled_from([0.0, 0.5, 1.0, np.nan]), st.integers(0, 2)),
            max_size=6,
        ),
        max_size=5,
    )
)
def test_the_last_word_of_each_judge_counts_however_the_votes_come(told):
    votes, twin = Votes(5), {}
    for rows in told:
        rows = [row for row in rows if row[0] != row[1]]
        table = np.array(rows, dtype=np.float64).reshape(-1, 4)
        votes.tell(table[:, :2].astype(np.int64), table[:, 2], table[:, 3].astype(np.int64))
        for u, v, value, judge in rows:
            twin[min(u, v), max(u, v), judge] = value if u < v else 1.0 - value
    rows = votes.rows()
    entered = dict(zip(zip(rows.left, rows.right, rows.judge, strict=True), rows.value, strict=True))
    assert entered == {key: value for key, value in twin.items() if not np.isnan(value)}
    pairs = {key[:2] for key in twin}
    assert votes.distinct == len(pairs)
    assert votes.skipped == len(pairs - {key[:2] for key in entered})
