"""One large Parquet file read by several: what is found, and what is said, does not depend on where it is cut."""

import numpy as np
import polars as pl
import pytest

from podium import read_comparisons, read_rankings
from podium.data import collecting
from podium.engine import Serial
from podium.errors import InputError

ROWS = 1000
KINDS = {
    "plain": {},
    "folded": {"fold_sides": True},
    "judges": {"judge": "judge"},
    "counts": {"count": "count"},
    "covariates": {"covariates": ["x"]},
    "rows": {"keep": "rows", "judge": "judge"},
    "weights": {"weight": "weight"},
}


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    left = rng.integers(9, size=ROWS)
    right = (left + 1 + rng.integers(8, size=ROWS)) % 9
    columns = {
        "left": [f"item {a}" for a in left],
        "right": [f"item {b}" for b in right],
        "outcome": rng.choice(["left", "right", "tie"], ROWS),
        "judge": rng.choice(list("xyz"), ROWS),
        "count": rng.integers(1, 4, ROWS),
        "weight": rng.choice([0.1, 0.7], ROWS),
        "x": rng.choice([0.0, 1.5], ROWS),
    }
    path = tmp_path / "votes.parquet"
    pl.DataFrame(columns).write_parquet(path, row_group_size=150)
    return path


@pytest.fixture
def shares(monkeypatch, file):
    """How many runs of rows were read, with shares of a fifth of the file."""
    monkeypatch.setattr(collecting, "SHARE_BYTES", file.stat().st_size // 5)
    read, honest = [], collecting._count_into
    monkeypatch.setattr(collecting, "_count_into", lambda *given: read.append(given[1].share) or honest(*given))
    return read


@pytest.mark.parametrize("kind", KINDS)
def test_shares_of_a_file_are_the_file_to_the_bit(file, shares, kind):
    options = dict.fromkeys(("judge", "count", "weight"), False) | KINDS[kind]
    whole = read_comparisons(file, **options)
    assert shares == [None]
    parts = read_comparisons(file, **options, engine=Serial())
    if kind == "weights":
        assert shares == [None, None], "sums of such weights depend on how they are grouped"
    else:
        assert [share[:2] for share in shares[1:]] == [(k, 200) for k in range(0, ROWS, 200)]
    assert (parts.items, parts.judges) == (whole.items, whole.judges)
    for name in ("left", "right", "outcome", "count", "weight", "judge", "covariates"):
        one, other = getattr(whole, name), getattr(parts, name)
        assert (one is None) == (other is None), name
        assert one is None or np.asarray(one).tobytes() == np.asarray(other).tobytes(), name


def test_processes_share_it_too(file, monkeypatch):
    monkeypatch.setattr(collecting, "SHARE_BYTES", file.stat().st_size // 5)
    one, other = (read_comparisons(file, judge=False, count=False, weight=False, jobs=jobs) for jobs in (1, 2))
    assert one.to_frame().equals(other.to_frame())


def test_votes_and_bytes_are_told_once(file, shares):
    told = []
    read_comparisons(file, weight=False, count=False, engine=Serial(), progress=lambda *so_far: told.append(so_far))
    votes, size, total = told[-1]
    assert votes == ROWS
    assert size == total == pytest.approx(file.stat().st_size, abs=5)


def test_a_bad_row_has_its_number_in_the_file(file, shares):
    votes = pl.read_parquet(file)
    votes[736, "right"] = votes[736, "left"]
    votes.write_parquet(file, row_group_size=150)
    with pytest.raises(InputError, match=r"votes.parquet, row 737: "):
        read_comparisons(file, weight=False, count=False, engine=Serial())
    assert len(shares) > 3


def test_a_survey_is_not_cut_between_the_rows_of_a_respondent(tmp_path, monkeypatch):
    path = tmp_path / "survey.parquet"
    rows = [
        {"respondent": f"r{k}", "item": item, "rank": place} for k in range(50) for place, item in enumerate("abc", 1)
    ]
    pl.DataFrame(rows).write_parquet(path, row_group_size=10)
    whole = read_rankings(path).to_lists()
    monkeypatch.setattr(collecting, "SHARE_BYTES", path.stat().st_size // 7)
    assert read_rankings(path, engine=Serial()).to_lists() == whole == [list("abc")] * 50


def test_a_file_that_is_no_parquet_is_refused_by_its_reader(tmp_path, monkeypatch):
    monkeypatch.setattr(collecting, "SHARE_BYTES", 10)
    path = tmp_path / "votes.parquet"
    path.write_bytes(b"PAR1" + bytes(100))
    with pytest.raises(InputError, match=r"votes.parquet cannot be read"):
        read_comparisons(path, engine=Serial())
