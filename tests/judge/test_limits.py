"""Rates and crowds under a clock of our own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.judge.limits import Crowd, Pace, retry_after


@given(st.floats(1, 5000), st.integers(10, 200))
def test_no_more_than_so_many_a_minute(per_minute, count):
    pace, now, sent = Pace(per_minute), 0.0, []
    for _ in range(count):
        now += pace.wait(now)
        sent.append(now)
    rate = (count - 1) / (sent[-1] - sent[0]) * 60
    assert rate == pytest.approx(per_minute, rel=0.05)


def test_tokens_are_corrected_by_what_was_used():
    pace, now, used = Pace(6000.0), 0.0, 0
    rng = np.random.default_rng(1)
    for _ in range(400):
        now += pace.wait(now, 100)
        real = int(rng.integers(50, 400))
        pace.correct(100, real)
        used += real
    now += pace.wait(now, 0)
    assert used / now * 60 == pytest.approx(6000, rel=0.05)


def test_a_crowd_is_halved_once_for_those_sent_together_and_grows_by_one_a_minute():
    crowd = Crowd(16)
    for _ in range(16):
        crowd.too_much(now=10.0, sent=5.0)
    assert crowd.limit(10.0) == 8
    crowd.too_much(now=11.0, sent=10.5)
    assert crowd.limit(11.0) == 4
    assert [crowd.limit(11.0 + 60 * k) for k in (1, 2, 12, 500)] == [5, 6, 16, 16]
    for k in range(20):
        crowd.too_much(1000.0 + k, 1000.0 + k)
    assert crowd.limit(1020.0) == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("3", 3.0), ("0", 0.0), ("-5", 0.0), ("1e9", 600.0), ("nan", None), ("soon", None), (None, None),
     ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0), ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0), ("Thu, 99 Foo", None)],
)  # fmt: skip
def test_retry_after_is_seconds_or_a_date(value, seconds):
    assert retry_after(value, 100.0) == seconds
