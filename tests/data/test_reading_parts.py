"""Reading part by part: how files are shared out, fixtures and tables, and what is written where."""

import io
import os
import stat
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from podium import Comparisons, Rankings
from podium.data import collecting
from podium.data.files import (
    _kind,
    _typed,
    feature_columns,
    is_number,
    read_comparisons,
    read_comparisons_by,
    read_fixtures,
    read_rankings,
    read_table,
    read_votes,
    scan_table,
)
from podium.data.tables import delimited
from podium.data.tables.sources import Source
from podium.data.writing import as_csv, is_stream, replacing, write_table
from podium.engine import Serial
from podium.errors import InputError

# ---- files shared out -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "format", "share"),
    [
        ("v.csv", None, 4), ("v.json", None, 4), ("v.jsonl", None, 4), ("v.parquet", None, 1), ("v.arrow", None, 1),
        ("v.csv.gz", None, 1), ("v.data", "csv", 4), ("v.csv", "parquet", 1), ("v.data", None, 1),
    ],
)  # fmt: skip
def test_text_has_four_times_the_bytes_for_as_much_work(tmp_path, name, format, share):
    path = tmp_path / name
    path.write_bytes(b"x" * 1000)
    assert collecting._work(Source(str(path), path, format=format)) == 1000 / share


def votes_of(path, rows, **more):
    columns = {"winner": ["a", "b"] * (rows // 2), "loser": ["b", "c"] * (rows // 2)}
    pl.DataFrame(columns | {name: values * rows for name, values in more.items()}).write_parquet(path)
    return Source(str(path), path)


OPTIONS = {"delimiter": None, "keep": "counts"}


def test_a_share_is_a_run_of_rows_and_all_of_them_are_the_file(tmp_path, monkeypatch):
    one = votes_of(tmp_path / "v.parquet", 10)
    monkeypatch.setattr(collecting, "SHARE_BYTES", one.size / 3)
    assert [each.share for each in collecting._shares(one)] == [(0, 3, 10), (3, 3, 10), (6, 4, 10)]
    assert sum(each.size for each in collecting._shares(one)) == pytest.approx(one.size, abs=3)
    monkeypatch.setattr(collecting, "SHARE_BYTES", 1)
    assert [each.share[1] for each in collecting._shares(one)] == [1] * 10, "no share is empty"
    monkeypatch.setattr(collecting, "SHARE_BYTES", 10 * one.size)
    assert [each.share for each in collecting._shares(one)] == [(0, 10, 10)]
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    bad = Source("bad", tmp_path / "bad.parquet")
    assert collecting._shares(bad) == [bad]


def test_only_large_files_of_counts_are_cut(tmp_path, monkeypatch):
    one = votes_of(tmp_path / "v.parquet", 10)
    weighed = votes_of(tmp_path / "w.parquet", 10, weight=[1.5])
    (tmp_path / "v.csv").write_text("winner,loser\n" + "a,b\n" * 400)
    text = Source("v.csv", tmp_path / "v.csv")
    for share, cut in ((one.size / 1.4, False), (one.size / 1.6, True)):
        monkeypatch.setattr(collecting, "SHARE_BYTES", share)
        assert (len(collecting._in_shares([one], OPTIONS)) > 1) == cut
    monkeypatch.setattr(collecting, "SHARE_BYTES", 100)
    assert len(collecting._in_shares([one], OPTIONS)) == round(one.size / 100)
    assert collecting._in_shares([weighed], OPTIONS) == [weighed], "sums of weights depend on their order"
    assert collecting._in_shares([text], OPTIONS) == [text]
    assert collecting._in_shares([one, text], OPTIONS)[-1] is text
    assert collecting._in_shares([replace(one, format="csv")], OPTIONS) == [replace(one, format="csv")]


def test_whole_numbers_are_summed_exactly_and_weights_margins_and_goals_are_not(tmp_path):
    path = tmp_path / "v.csv"
    for head, exact in (
        ("winner,loser", True), ("left,right,outcome", True), ("winner,loser,weight", False),
        ("left,right,margin", False),
        ("home,away,home_goals,away_goals", False), ("winner,loser,count,judge", True), ("nothing,here", False),
    ):  # fmt: skip
        path.write_text(head + "\n")
        assert collecting._sums_exactly(Source("v", path), OPTIONS) == exact
    assert collecting._layout(Source("open", stream=io.StringIO("winner,loser\n")), OPTIONS) is None


def test_what_was_read_is_added_up_for_the_progress():
    told = []
    add = collecting._adding_up([Source("none")], lambda *numbers: told.append(numbers))
    add((3, 100))
    add((4, 20))
    assert told == [(3, 100, 0), (7, 120, 0)]


def test_a_cluster_reads_no_open_files(tmp_path):
    (tmp_path / "v.csv").write_text("winner,loser\na,b\n")
    assert [one.path for one in collecting.files_for(tmp_path / "v.csv", None, Serial())] == [tmp_path / "v.csv"]
    with pytest.raises(InputError, match="the open file is open here, and a cluster reads elsewhere; give the path"):
        collecting.files_for(io.StringIO("winner,loser\na,b\n"), None, Serial())
    with pytest.raises(InputError, match="is open here, and a cluster reads elsewhere"):
        read_comparisons(io.StringIO("winner,loser\na,b\n"), engine=object())
    with pytest.raises(InputError, match=r"v\.csv is given twice, and its votes would count double; name it once"):
        read_comparisons([tmp_path / "v.csv", str(tmp_path / "v.csv")])


def test_progress_tells_votes_and_bytes_and_ends_with_all_of_them(tmp_path):
    for name, rows in (("a.csv", 3), ("b.csv", 2)):
        (tmp_path / name).write_text("winner,loser\n" + "a,b\n" * rows)
    told = []
    read_comparisons(tmp_path, progress=lambda *numbers: told.append(numbers))
    total = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert told[-1] == (5, total, total)
    assert [each[0] for each in told] == sorted(each[0] for each in told)


# ---- fixtures -------------------------------------------------------------------------------------------------------


def test_fixtures_are_pairs_in_the_order_of_the_file_whatever_stands_beside(tmp_path):
    text = "outcome,home,away,day,weight,winner,x\n1,a,b,3,9,a,0.5\n,c,a,4,,,1.5\n"
    found = read_fixtures(io.StringIO(text), time="day", covariates="x")
    assert found.items == ("a", "b", "c")
    assert (found.left.tolist(), found.right.tolist()) == ([0, 2], [1, 0])
    assert (found.time.tolist(), found.weight, found.vote_is) == ([3.0, 4.0], None, "game")
    assert found.covariates.tolist() == [[0.5], [1.5]]
    assert found.outcome.tolist() == [0, 0]
    named = read_fixtures(io.StringIO("p,q\nx,y\n"), left="q", right="p")
    assert [named.items[code] for code in (*named.left, *named.right)] == ["y", "x"]
    for name, rows in (("1.csv", "left,right\na,b\n"), ("2.csv", "left,right\n"), ("3.csv", "left,right\nb,c\n")):
        (tmp_path / name).write_text(rows)
    assert len(read_fixtures(tmp_path)) == 2


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("home,away\n", {}, "has no rows; there is nothing to predict"),
        ("p,q\na,b\n", {}, "cannot tell who is to meet whom: found columns 'p', 'q'; expected home and away"),
        ("home,away\na,b\n", {"time": "day"}, r"no column 'day' \(given as time=\)"),
        ("home,away\na,a\n", {}, "row 1: 'a' is compared with itself"),
        ("home,away\na,b\n", {"left": 3}, "left is 3; give the name of a column"),
    ],
)
def test_fixtures_that_cannot_be_are_refused(text, options, said):
    with pytest.raises(InputError, match=said):
        read_fixtures(io.StringIO(text), **options)


# ---- votes or rankings ----------------------------------------------------------------------------------------------


def test_votes_and_rankings_are_told_apart_by_what_the_file_holds(tmp_path):
    (tmp_path / "v.csv").write_text("winner,loser,town\na,b,x\nb,a,y\n")
    (tmp_path / "r.csv").write_text("ranking,town\na > b,x\nb > a,y\n")
    assert isinstance(read_votes(tmp_path / "v.csv")[None], Comparisons)
    assert isinstance(read_votes(tmp_path / "r.csv")[None], Rankings)
    assert list(read_votes(tmp_path / "r.csv", by="town")) == ["x", "y"]
    for name in ("v.csv", "r.csv"):
        parts = read_comparisons_by(tmp_path / name, "town")
        assert {value: len(part) for value, part in parts.items()} == {"x": 1, "y": 1}
        assert all(isinstance(part, Comparisons) for part in parts.values())
        for read in (read_votes, read_comparisons_by):
            with pytest.raises(InputError, match="by='' is no column; name the one whose values divide the votes"):
                read(tmp_path / name, "")
        with pytest.raises(InputError, match="by=3 is no column"):
            read_comparisons_by(tmp_path / name, 3)
    with pytest.raises(InputError, match=r"v\.csv holds votes on pairs, not rankings; read it by read_comparisons"):
        read_rankings(tmp_path / "v.csv")
    (tmp_path / "e.csv").write_text("winner,loser\n")
    with pytest.raises(InputError, match=r"e\.csv has a header and no rows; there is nothing to rank"):
        read_comparisons(tmp_path / "e.csv")


def test_counts_and_rows_are_kept_as_asked(tmp_path):
    text = "winner,loser\na,b\na,b\nb,a\n"
    assert len(read_comparisons(io.StringIO(text)).left) == 2
    assert len(read_comparisons(io.StringIO(text), keep="rows").left) == 3
    divided = text.replace("\n", ",x\n").replace("loser,x", "loser,by")
    assert len(read_comparisons_by(io.StringIO(divided), "by")["x"].left) == 2
    assert len(read_comparisons_by(io.StringIO(divided), "by", keep="rows")["x"].left) == 3
    sides = "left,right,outcome\nb,a,1\na,b,1\nc,a,0\n"
    folded = read_comparisons(io.StringIO(sides), fold_sides=True)
    assert not folded.sided
    assert read_comparisons(io.StringIO(sides)).sided


# ---- tables ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "-2"], pl.Int64), (["1", "2.5"], pl.Float64), (["1", "x"], pl.String), (["007", "8"], pl.String),
        (["-07"], pl.String), (["0", "10"], pl.Int64), (["0.5"], pl.Float64), (["1", None], pl.Int64),
        ([None, None], pl.String), ([], pl.String), (["1e3"], pl.Float64),
    ],
)  # fmt: skip
def test_a_column_of_text_is_numbers_where_all_of_it_is(values, kind):
    column = pl.Series("x", values, dtype=pl.String)
    assert _kind(column) == kind
    assert _typed(column).dtype == kind
    assert _typed(column).null_count() == column.null_count()


def test_a_table_is_typed_where_its_files_are_not(tmp_path):
    (tmp_path / "1.csv").write_text("item,n,m\na,1,x\n")
    (tmp_path / "2.csv").write_text("item,n,m\nb,2.5,y\n")
    (tmp_path / "3.csv").write_text("item,n,m\n")
    table = read_table(tmp_path)
    assert table.to_dict(as_series=False) == {"item": ["a", "b"], "n": [1.0, 2.5], "m": ["x", "y"]}
    assert read_table(tmp_path, columns=["n", "item"]).columns == ["n", "item"]
    assert read_table(tmp_path / "3.csv").columns == ["item", "n", "m"]
    assert read_table(io.StringIO("item|n\na|1\n"), delimiter="|")["n"].to_list() == [1]
    with pytest.raises(InputError, match=r"1\.csv has no column 'q'; found 'item', 'n', 'm'"):
        read_table(tmp_path, columns=["item", "q"])
    (tmp_path / "4.csv").write_text("item,n\nc,1\n")
    with pytest.raises(InputError, match=r"4\.csv has columns 'item', 'n', the file before 'item', 'n', 'm'"):
        read_table(tmp_path)
    pl.DataFrame({"code": ["1", "2"]}).write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["code"].to_list() == ["1", "2"], "it says itself what it holds"


def test_a_table_in_pieces_counts_its_rows_and_may_have_no_header(monkeypatch):
    assert [piece.rows() for piece in scan_table(io.StringIO("a,1\nb,2\n"), no_header=True)] == [[("a", 1), ("b", 2)]]
    (piece,) = scan_table(io.StringIO("x;y\na;1\n"), columns=["y"], delimiter=";")
    assert piece.to_dict(as_series=False) == {"y": [1]}
    assert list(scan_table(io.StringIO("x,y\n"))) == []
    monkeypatch.setattr(delimited, "BLOCK", 16)
    text = "x,y\n" + "a,1\n" * 20 + "b,soon\n"
    with pytest.raises(InputError, match="row 21: y is 'soon', above it only numbers; correct it"):
        list(scan_table(io.StringIO(text)))


def test_features_are_the_columns_of_numbers_that_play_no_other_role():
    frame = pl.DataFrame({"name": ["a", "b"], "size": [1, 2], "own": [True, False], "w": [0.5, 1.5]})
    assert feature_columns(frame, {"name", "w"}) == ["size", "own"]
    with pytest.raises(InputError, match="column 'name' is not numeric; leave it out by id='name', or turn it into"):
        feature_columns(frame, {"w"})
    with pytest.raises(InputError, match="no column is left for features; found 'name'"):
        feature_columns(frame.select("name"), ["name"])
    odd = pl.DataFrame({"size": [*map(str, range(20)), "soon"]})
    with pytest.raises(InputError, match=r"'soon'.*; correct it, or leave the column out by id='size'"):
        feature_columns(odd, ())
    kinds = {pl.Int8: True, pl.Float32: True, pl.Boolean: True, pl.String: False, pl.Date: False}
    assert {kind: is_number(kind()) for kind in kinds} == kinds


# ---- out ------------------------------------------------------------------------------------------------------------

FRAME = {"a": [1, 2], "b": ["x", "=1"]}


@pytest.mark.parametrize(
    ("name", "begins"),
    [
        ("t.csv", b"a,b\n1,x\n2,'=1\n"), ("t.txt", b"a,b\n"), ("t", b"a,b\n"), ("t.JSON", b'[{"a":1,'),
        ("t.jsonl", b'{"a":1,'), ("t.ndjson", b'{"a":1,'), ("t.parquet", b"PAR1"),
    ],
)  # fmt: skip
def test_a_table_is_written_as_its_name_ends(tmp_path, name, begins):
    frame = pl.DataFrame(FRAME)
    for target in (tmp_path / name, str(tmp_path / name)):
        write_table(frame, target)
        assert Path(target).read_bytes().startswith(begins)
    other = "jsonl" if name != "t.jsonl" else "csv"
    write_table(frame, tmp_path / name, other)
    assert (tmp_path / name).read_bytes()[:1] == (b"{" if other == "jsonl" else b"a")


def test_an_open_file_is_written_to_and_csv_has_its_header_unless_told(tmp_path):
    frame = pl.DataFrame(FRAME)
    buffer = io.BytesIO()
    write_table(frame, buffer)
    assert buffer.getvalue() == b"a,b\n1,x\n2,'=1\n"
    assert as_csv(frame, header=False) == "1,x\n2,'=1\n"
    assert as_csv(frame) == "a,b\n1,x\n2,'=1\n"
    buffer = io.BytesIO()
    write_table(frame, buffer, "json")
    assert buffer.getvalue() == b'[{"a":1,"b":"x"},\n {"a":2,"b":"=1"}]\n'
    with pytest.raises(InputError, match="format 'xlsx' is unknown; choose among csv, json, jsonl, parquet"):
        write_table(frame, buffer, "xlsx")


def test_a_new_file_may_be_read_by_whom_the_mask_lets_and_nothing_else_is_left(tmp_path):
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "a") as file:
            assert [path.name.startswith(".a.") for path in tmp_path.iterdir()] == [True]
            file.write(b"x")
        assert os.umask(0o027) == 0o027, "which is as it was"
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "a"):
        raise KeyboardInterrupt
    with pytest.raises(InputError, match=r"cannot write .*a: No space left on device; choose another path"):  # noqa: SIM117
        with replacing(tmp_path / "a"):
            raise OSError(28, "No space left on device")
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert (tmp_path / "a").read_bytes() == b"x"
    with pytest.raises(InputError, match=r"cannot write .*: No such file or directory; choose another path"):  # noqa: SIM117
        with replacing(tmp_path / "none" / "a"):
            pass


def test_pipes_and_devices_are_streams_and_files_are_not(tmp_path):
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    found = [is_stream(path) for path in (tmp_path / "file", tmp_path / "new", tmp_path / "pipe", Path("/dev/null"),
                                          Path("/dev/nothing"), tmp_path)]  # fmt: skip
    assert found == [False, False, True, True, True, True]
    with replacing("/dev/null") as file:
        assert file.write(b"x") == 1
    with pytest.raises(InputError, match="cannot write /dev/nothing-at-all: No such file or directory; choose another"):  # noqa: SIM117
        with replacing("/dev/nothing-at-all"):
            pass
