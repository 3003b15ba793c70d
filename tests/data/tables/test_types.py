"""Every column, whatever its type, in every role: the right answer, or one sentence that names the column."""

import datetime as dt
import io
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from podium import Comparisons, read_comparisons
from podium.data.files import read_comparisons_by
from podium.errors import DataWarning, InputError
from podium.multilabel import LabelRanker

DAY, HOUR = dt.date(2026, 1, 2), dt.datetime(2026, 1, 2, 3)


class Odd:
    """A value that no column knows."""


# Two rows of each type, made when asked for (Polars at work cannot be forked by scripts/mutate.py); what they
# are as labels (None: no labels), and as numbers (None: no numbers).
TYPES = {
    "bool": (lambda: pl.Series([True, False]), ["true", "false"], [1.0, 0.0]),
    "int8": (lambda: pl.Series([1, 2], dtype=pl.Int8), [1, 2], [1.0, 2.0]),
    "int64": (lambda: pl.Series([1, 2]), [1, 2], [1.0, 2.0]),
    "uint64": (lambda: pl.Series([2**64 - 1, 2], dtype=pl.UInt64), [2**64 - 1, 2], [float(2**64), 2.0]),
    "int128": (lambda: pl.Series([2**100, 2], dtype=pl.Int128), [2**100, 2], [float(2**100), 2.0]),
    "float32": (lambda: pl.Series([1.5, 2.0], dtype=pl.Float32), [1.5, 2.0], [1.5, 2.0]),
    "float64": (lambda: pl.Series([1.5, -2.0]), [1.5, -2.0], [1.5, -2.0]),
    "decimal": (lambda: pl.Series([Decimal("1.5"), Decimal("2.0")]), ["1.5", "2.0"], [1.5, 2.0]),
    "text": (lambda: pl.Series(["1", " 2 "]), ["1", " 2 "], [1.0, 2.0]),
    "words": (lambda: pl.Series(["one", "two"]), ["one", "two"], None),
    "categorical": (lambda: pl.Series(["1", "2"], dtype=pl.Categorical), ["1", "2"], [1.0, 2.0]),
    "categorical words": (lambda: pl.Series(["one", "two"], dtype=pl.Categorical), ["one", "two"], None),
    "enum": (lambda: pl.Series(["1", "2"], dtype=pl.Enum(["2", "1"])), ["1", "2"], [1.0, 2.0]),
    "date": (lambda: pl.Series([DAY, dt.date(2026, 1, 3)]), ["2026-01-02", "2026-01-03"], None),
    "datetime": (
        lambda: pl.Series([HOUR, HOUR + dt.timedelta(1)]),
        ["2026-01-02 03:00:00.000000", "2026-01-03 03:00:00.000000"],
        None,
    ),
    "time": (lambda: pl.Series([dt.time(1), dt.time(2)]), ["01:00:00", "02:00:00"], None),
    "duration": (lambda: pl.Series([1, 2], dtype=pl.Duration("ns")), ["1ns", "2ns"], None),
    "binary": (lambda: pl.Series([b"1", b"2"]), ["1", "2"], [1.0, 2.0]),
    "bytes": (lambda: pl.Series([b"1", b"\xff"]), None, None),
    "list": (lambda: pl.Series([["p", "q"], ["q", "p"]]), None, None),
    "array": (lambda: pl.Series([["p", "q"], ["q", "p"]], dtype=pl.Array(pl.String, 2)), None, None),
    "list of lists": (lambda: pl.Series([[["p"]], [["q"]]]), None, None),
    "struct": (lambda: pl.Series([{"p": 1}, {"p": 2}]), None, None),
    "object": (lambda: pl.Series([Odd(), Odd()], dtype=pl.Object), None, None),
    "null": (lambda: pl.Series([None, None]), None, None),
    "half null": (lambda: pl.Series([1, None]), None, None),
    "list of null": (lambda: pl.Series([[None], [None]]), None, None),
}
RANKED = {"list", "array"}
VOTES = {"winner": ["a", "b"], "loser": ["b", "c"]}
SIDES = {"left": ["a", "b"], "right": ["b", "c"]}
LABELS = {"judge": VOTES, "group": VOTES, "winner": {}, "loser": {}, "left": {"outcome": [1, 0]}}
NUMBERS = {"weight": VOTES, "margin": SIDES, "covariate": VOTES, "length_a": VOTES | {"length_b": [0, 0]}}
COUNTS = {"count": VOTES, "left_wins": SIDES | {"right_wins": [1, 1]}, "ties": SIDES | {"left_wins": [1, 1]}}
COUNTS["ties"] |= {"right_wins": [0, 0]}
WAYS = {
    "polars": lambda frame: frame,
    "lazy": lambda frame: frame.lazy(),
    "pandas": lambda frame: frame.to_pandas(),
    "arrow": lambda frame: frame.to_arrow(),
    "columns": lambda frame: {name: frame[name].to_list() for name in frame.columns},
    "parquet": None,
}


def read(frame, way, **options):
    """The votes, by way of another kind of frame or of a file; a way that cannot hold the type says nothing."""
    if way == "parquet":
        file = io.BytesIO()
        try:
            frame.write_parquet(file)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            pytest.skip("no Parquet file holds it")
        file.seek(0)
        return read_comparisons(file, keep="rows", format="parquet", **options)
    try:
        other = WAYS[way](frame)
    except Exception:
        pytest.skip("there is no such frame")
    return Comparisons.from_frame(other, **options)


@pytest.fixture(params=list(TYPES))
def kind(request):
    return request.param


@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("columns", "pandas")])
@pytest.mark.parametrize("role", list(LABELS))
def test_labels(kind, role, way):
    column, expected = TYPES[kind][0](), TYPES[kind][1]
    others = {"winner": "loser", "loser": "winner", "left": "right"}
    beside = {others[role]: column.gather([1, 0])} if role in others else {}
    frame = pl.DataFrame({role: column} | beside | LABELS[role])
    if expected is None:
        with pytest.raises(InputError, match=rf"column '({role}|{others.get(role)})'"):
            read(frame, way)
        return
    votes = read(frame, way)
    found = {"judge": votes.judges, "group": votes.groups}.get(role, votes.items)
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_parts(kind):
    column, expected = TYPES[kind][0](), TYPES[kind][1]
    file = io.BytesIO()
    try:
        pl.DataFrame(VOTES | {"part": column}).write_parquet(file)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        pytest.skip("no Parquet file holds it")
    file.seek(0)
    if kind == "half null":
        with pytest.warns(DataWarning, match="1 vote without a 'part', left out"):
            assert len(read_comparisons_by(file, "part", format="parquet")) == 1
    elif expected is None:
        with pytest.raises(InputError, match="column 'part'"):
            read_comparisons_by(file, "part", format="parquet")
    else:
        assert list(read_comparisons_by(file, "part", format="parquet")) == expected


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("role", [*NUMBERS, *COUNTS])
def test_numbers(kind, role, way):
    column, expected = TYPES[kind][0](), TYPES[kind][2]
    if kind == "struct" and role in ("covariate", "length_a"):
        expected = [1.0, 2.0]  # counts of one kind, summed
    options = {"covariate": {"covariates": "covariate"}, "length_a": {"covariates": "length"}}.get(role, {})
    frame = pl.DataFrame({role: column} | (NUMBERS | COUNTS)[role])
    if expected is not None:
        low = 0 if role in (*COUNTS, "weight") else -np.inf
        whole = role not in COUNTS or all(value == int(value) and value < 2**53 for value in expected)
        expected = expected if whole and min(expected) >= low else None
    if expected is None:
        with pytest.raises(InputError, match=role):
            read(frame, way, **options)
        return
    votes = read(frame, way, **options)
    if role == "ties":  # a row for each outcome that occurred
        assert votes.count[votes.outcome == 0].tolist() == [value for value in expected if value]
    elif role == "left_wins":
        assert votes.count[votes.outcome == 1].tolist() == [value for value in expected if value]
    else:
        found = votes.covariates[:, 0] if options else getattr(votes, role)
        assert found.tolist() == [value for value in expected if value or role not in ("weight", "count")]


MEANT = {"bool": [1, -1]}  # every other type of the table says something that is no outcome


@pytest.mark.parametrize("way", WAYS)
def test_outcomes(kind, way):
    frame = pl.DataFrame(SIDES | {"outcome": TYPES[kind][0]()})
    if kind in MEANT:
        assert read(frame, way).outcome.tolist() == MEANT[kind]
    else:
        with pytest.raises(InputError, match="outcome"):
            read(frame, way)


@pytest.mark.parametrize("way", WAYS)
def test_rankings(kind, way):
    frame = pl.DataFrame({"ranking": TYPES[kind][0]()})
    if kind in RANKED:
        votes = read(frame, way)
        assert votes.to_frame().select("winner", "loser").rows() == [("p", "q"), ("q", "p")]
    else:
        with pytest.raises(InputError, match=r"ranking"):
            read(frame, way)


PANDAS = {
    "category of numbers": (lambda: pd.Series([1, 2], dtype="category"), [1, 2], [1.0, 2.0]),
    "category of text": (lambda: pd.Series(["1", "2"], dtype="category"), ["1", "2"], [1.0, 2.0]),
    "nullable": (lambda: pd.Series([1, 2], dtype="Int64"), [1, 2], [1.0, 2.0]),
    "nullable hole": (lambda: pd.Series([1, None], dtype="Int64"), None, None),
    "string": (lambda: pd.Series(["1", "2"], dtype="string"), ["1", "2"], [1.0, 2.0]),
    "objects of text": (lambda: pd.Series(["1", "2"], dtype=object), ["1", "2"], [1.0, 2.0]),
    "text and numbers": (lambda: pd.Series([1, "2"], dtype=object), None, None),
    "dates and numbers": (lambda: pd.Series([1, DAY], dtype=object), None, None),
    "large": (lambda: pd.Series([2**70, 2], dtype=object), [2**70, 2], [float(2**70), 2.0]),
    "too large": (lambda: pd.Series([2**200, 2], dtype=object), None, None),
    "surrogates": (lambda: pd.Series(["\ud800", "2"], dtype=object), None, None),
    "bytes": (lambda: pd.Series([b"1", b"\xff"], dtype=object), None, None),
    "objects": (lambda: pd.Series([Odd(), Odd()], dtype=object), None, None),
    "sets": (lambda: pd.Series([{1}, {2}], dtype=object), None, None),
    "complex": (lambda: pd.Series([1j, 2.0]), None, None),
    "period": (lambda: pd.Series(pd.period_range("2020", periods=2, freq="M")), None, None),
    "interval": (lambda: pd.Series(pd.interval_range(0, 2)), None, None),
    "timedelta": (lambda: pd.Series(pd.to_timedelta([1, 2])), ["1ns", "2ns"], None),
    "sparse": (lambda: pd.Series([1, 2]).astype("Sparse[int]"), [1, 2], [1.0, 2.0]),
}
ARROW = {
    "dictionary": (lambda: pa.array(["1", "2"]).dictionary_encode(), ["1", "2"], [1.0, 2.0]),
    "large text": (lambda: pa.array(["1", "2"], pa.large_utf8()), ["1", "2"], [1.0, 2.0]),
    "views": (lambda: pa.array(["1", "2"], pa.string_view()), ["1", "2"], [1.0, 2.0]),
    "no type": (lambda: pa.nulls(2), None, None),
    "map": (lambda: pa.array([[("a", 1)], [("b", 2)]], pa.map_(pa.string(), pa.int64())), None, None),
    "wide decimal": (lambda: pa.array([1, 2]).cast(pa.decimal256(40, 0)), None, None),
    "interval": (lambda: pa.array([(1, 2, 3)] * 2, pa.month_day_nano_interval()), None, None),
}


@pytest.mark.parametrize("role", ["judge", "weight", "winner"])
@pytest.mark.parametrize(("make", "table"), [(pd.DataFrame, PANDAS), (pa.table, ARROW)], ids=["pandas", "arrow"])
def test_types_of_other_frames(make, table, role):
    for kind, (column, labels, numbers) in table.items():
        frame = make({role: column()} | ({"loser": pd.Series([7, 8]).astype(str)} if role == "winner" else VOTES))
        expected = numbers if role == "weight" else labels
        numeric = role == "winner" and labels is not None and not isinstance(labels[0], str)  # beside text
        if expected is None or numeric:
            with pytest.raises(InputError, match=role):
                Comparisons.from_frame(frame)
        else:
            votes = Comparisons.from_frame(frame)
            found = {"judge": votes.judges, "winner": votes.items[::2], "weight": votes.weight}[role]
            assert list(found) == expected, kind


def test_addresses_of_objects_are_no_labels_even_where_they_spell_text():
    """What polars lends pyarrow of Python objects are their addresses, and some are valid text."""
    pa = pytest.importorskip("pyarrow")
    judge = pa.array([b"@S+\x01\x0f\x7f\x00\x00", b"PS,\x01\x0f\x7f\x00\x00"], pa.binary(8))
    table = pa.table({"winner": ["a", "b"], "loser": ["b", "a"], "judge": judge})
    with pytest.raises(InputError, match="column 'judge'"):
        Comparisons.from_frame(table)
    assert len(Comparisons.from_frame(table, judge=False)) == 2


def test_covariates_and_relevance_beyond_all_sums_are_named():
    with pytest.raises(InputError, match=r"row 2: covariate 'x' is 1e\+200; it must lie between"):
        Comparisons.from_arrays(["a", "b"], ["b", "a"], covariates={"x": [0.0, 1e200]})
    with pytest.raises(InputError, match=r"row 1: relevance 1e\+308 is too large to be summed"):
        LabelRanker().fit([[0.0], [1.0]], [[1e308, 0], [0, 1]])
