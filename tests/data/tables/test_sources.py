"""Where data comes from and what it is taken for; delimited text row by row; all by hand."""

import gzip
import io
import os
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

from podium.data.files import read_comparisons, read_comparisons_by
from podium.data.tables import delimited, sources
from podium.data.tables.delimited import read_delimited, sniff_delimiter
from podium.data.tables.readers import Table
from podium.data.tables.sources import Source, by_name, find_sources, is_packed, opened, refuse_twice
from podium.errors import InputError

# ---- names and content ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("v.csv", "csv"), ("v.TSV", "csv"), ("v.psv", "csv"), ("v.txt", "csv"), ("v.jsonl", "jsonl"),
        ("v.ndjson", "jsonl"),
        ("v.json", "json"), ("v.parquet", "parquet"), ("v.pq", "parquet"), ("v.arrow", "ipc"), ("v.ipc", "ipc"),
        ("v.feather", "ipc"), ("v.csv.gz", "csv"), ("v.jsonl.zst", "jsonl"), ("v", None), ("v.xlsx", None),
        ("v.gz", None),
        ("2024.csv.json", "json"),
    ],
)  # fmt: skip
def test_a_name_promises_a_format(name, format):
    assert by_name(Source(name, Path(name))) == format
    assert by_name(Source("there", url=f"https://host/path/{name}?q=x.json")) == format
    assert is_packed(Source(name.upper())) == name.endswith((".gz", ".zst"))
    assert by_name(Source("open", stream=io.BytesIO())) is None


PARQUET, ARROW = b"PAR1....", b"ARROW1.."


@pytest.mark.parametrize(
    ("head", "name", "given", "found"),
    [
        (b"a,b\n", "v", None, "csv"), (b'{"a": 1}', "v", None, "jsonl"), (b"\xef\xbb\xbf [1]", "v", None, "json"),
        (PARQUET, "v", None, "parquet"), (ARROW, "v", None, "ipc"), (b'{"a": 1}', "v.json", None, "jsonl"),
        (b"[1]", "v.jsonl", None, "json"), (b"a", "v.json", None, "json"), (b"{x", "v.csv", None, "csv"),
        (b"a,b\n", "v.json", "csv", "csv"), (PARQUET, "v.pq", None, "parquet"), (ARROW, "v.feather", None, "ipc"),
    ],
)  # fmt: skip
def test_content_settles_what_the_name_leaves_open(head, name, given, found):
    assert sources._settle(Source(name, Path(name), format=given), head) == found


@pytest.mark.parametrize(
    ("head", "name", "given", "said"),
    [
        (b"", "v.csv", None, r"v\.csv is empty; expected a header and rows"),
        (PARQUET, "v.csv", None, r"v\.csv is Parquet by its content; rename it, or so$"),
        (b"a,b\n", "v.parquet", None, "is not Parquet by its content; rename it"),
        (ARROW, "v.pq", None, "is Arrow IPC by its"),
        (b"a,b\n", "v.csv", "ipc", r"is not Arrow IPC by its content, whatever format='ipc' says; drop that"),
        (b"PK\x03\x04" + b"." * 26 + b"podium.json", "m.podium", None, "is a saved model; `podium diff` compares it"),
    ],
)  # fmt: skip
def test_a_name_that_promises_something_else_is_refused(head, name, given, said):
    with pytest.raises(InputError, match=said):
        sources._settle(Source(name, Path(name), format=given, hint=(", or so",)), head)


# ---- files, folders, streams ----------------------------------------------------------------------------------------


def test_files_of_a_folder_are_sorted_and_say_what_their_folders_say(tmp_path):
    for name in ("b.csv", "a.parquet", "lang=en/x=1=2/c.csv", ".hidden.csv", "_tmp/d.csv", "note.md", "plain/e.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    found = find_sources(tmp_path)
    assert [str(one.path.relative_to(tmp_path)) for one in found] == [
        "a.parquet",
        "b.csv",
        "lang=en/x=1=2/c.csv",
        "plain/e.jsonl",
    ]
    assert [one.folders for one in found] == [{}, {}, {"lang": "en", "x": "1=2"}, {}]
    assert [one.name for one in find_sources(str(tmp_path / "*.csv"))] == [str(tmp_path / "b.csv")]
    assert len(find_sources(str(tmp_path / "**" / "*.csv"))) >= 2
    assert [one.format for one in find_sources([tmp_path / "b.csv", tmp_path / "note.md"], "csv")] == ["csv", "csv"]
    assert find_sources(f"file://{tmp_path}/b.csv")[0].path == tmp_path / "b.csv"
    for source, said in (
        (tmp_path / "_tmp" / "..", None), (tmp_path / "none.csv", "no such file: .*; check the path"),
        (str(tmp_path / "*.feather"), "no file matches .*; check the pattern"),
        ([], "no files: the list of paths is empty"),
        (3, "cannot read from 3; give a path, a list of paths, or an open file"), (b"x", "cannot read from b'x'"),
    ):  # fmt: skip
        if said:
            with pytest.raises(InputError, match=said):
                find_sources(source)
    columns = {"winner": ["tea"], "loser": ["milk"]}
    rows = [("tea", "milk")]
    for data in (pd.DataFrame(columns), pl.DataFrame(columns), pl.LazyFrame(columns), columns, rows, np.array(rows)):
        with pytest.raises(
            InputError, match=f"cannot read from a {type(data).__name__}; .* taken by Comparisons.from_frame"
        ):
            find_sources(data)
    (tmp_path / "empty").mkdir()
    with pytest.raises(
        InputError, match=r"folder .*empty holds no data files; expected names that end in \.csv, \.tsv"
    ):
        find_sources(tmp_path / "empty")
    with pytest.raises(InputError, match="format 'xlsx' is unknown; choose among csv, json, jsonl, parquet, ipc"):
        find_sources(tmp_path, "xlsx")
    (tmp_path / "x.svm").write_text("1 1:2")
    with pytest.raises(InputError, match=r"x\.svm holds svmlight lines, which only `podium label` reads; give a table"):
        find_sources(tmp_path / "x.svm")
    assert find_sources(tmp_path / "x.svm", "csv")[0].format == "csv"


def test_streams_addresses_and_standard_input(monkeypatch):
    named, nameless = io.BytesIO(b"a"), io.BytesIO(b"a")
    named.name = "mine.csv"
    assert [find_sources(stream)[0].name for stream in (named, nameless)] == ["mine.csv", "the open file"]
    address = find_sources("https://host/v.csv")[0]
    assert (address.url, address.path) == ("https://host/v.csv", None)
    monkeypatch.setattr("sys.stdin", io.StringIO("a,b\n"))
    dash = find_sources("-")[0]
    assert dash.name == "standard input"
    with opened(dash) as file:
        assert (file.format, file.stream.read(), file.position()) == ("csv", b"a,b\n", 0)
    with pytest.raises(
        InputError, match=r"ftp://h/v\.csv: from ftp:// only Parquet and Arrow IPC files are read; copy"
    ):
        sources._fetched("ftp://h/v.csv")


def test_a_file_twice_would_count_double(tmp_path):
    (tmp_path / "a").write_text("x")
    os.link(tmp_path / "a", tmp_path / "b")
    stream = io.BytesIO()
    addresses = [Source("u", url="https://h/1"), Source("v", url="https://h/2")]
    refuse_twice([Source("a", tmp_path / "a"), Source("s", stream=stream), *addresses])
    for one, other in (
        (Source("a", tmp_path / "a"), Source("b", tmp_path / "b")),
        (Source("s", stream=stream), Source("b", stream=stream)),
        (Source("u", url="https://h/1"), Source("b", url="https://h/1")),
    ):  # fmt: skip
        with pytest.raises(InputError, match=r"^b is given twice, and its votes would count double; name it once"):
            refuse_twice([one, other])


def test_sizes_of_files_and_of_their_shares(tmp_path):
    (tmp_path / "a").write_bytes(b"x" * 90)
    assert Source("a", tmp_path / "a").size == 90
    assert Source("a", tmp_path / "a", share=(0, 1, 3)).size == 30
    assert (Source("a", tmp_path / "gone").size, Source("a").size) == (0, 0)


def test_packed_and_damaged_files(tmp_path):
    path = tmp_path / "v.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n1,2\n"))
    with opened(Source("v", path)) as file:
        assert (file.format, file.stream.read()) == ("csv", b"a,b\n1,2\n")
        assert file.position() == path.stat().st_size
    path.write_bytes(gzip.compress(b"a,b\n" * 9999)[:-9])
    with (
        pytest.raises(InputError, match=r"^v ends early or is damaged: .*; copy it again"),
        opened(Source("v", path)) as file,
    ):
        file.stream.read()
    path.write_bytes(b"\x1f\x8bno")
    with pytest.raises(InputError, match=r"^v (is not a good gzip file|ends early)"), opened(Source("v", path)) as file:
        file.stream.read()
    with (
        pytest.raises(InputError, match=r"^cannot read v: No such file or directory; check the path"),
        opened(Source("v", tmp_path / "no")),
    ):
        pass


@pytest.mark.parametrize("size", [1, 3, 100])
def test_any_object_that_reads_is_bytes(size):
    for stream in (io.StringIO("té,b\n"), io.BytesIO("té,b\n".encode())):
        raw = sources._Raw(stream)
        assert raw.readable()
        assert b"".join(raw.read(size) for _ in range(8)) == "té,b\n".encode()


# ---- delimited text -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        (b"a,b;c\n", ","), (b"a;b;c,d\n", ";"), (b"a\tb\n;;;", "\t"), (b"a|b", "|"), (b"abc", ","), (b"\n\r\na;b", ";"),
        (b'"x,y,z";b\n', ";"), (b"", ","),
    ],
)  # fmt: skip
def test_the_sign_of_which_the_first_line_holds_most_divides(text, sign):
    assert sniff_delimiter(text) == sign


def rows(text, *chosen, **options):
    steps = read_delimited(io.BytesIO(text if isinstance(text, bytes) else text.encode()), "v.csv", **options)
    header = next(steps)
    frames = [steps.send(list(chosen) or header), *steps]
    return header, [row for frame in frames for row in frame.rows()]


@pytest.mark.parametrize("block", [1 << 23, 16])  # the first holds the header
def test_rows_are_read_whatever_the_blocks(monkeypatch, block):
    monkeypatch.setattr(delimited, "BLOCK", block)
    text = '\ufeff\n"a",b\r\n1,"x\ny"\n\n2,"say ""hi"""\r\n3,'
    assert rows(text) == (["a", "b"], [("1", "x\ny"), ("2", 'say "hi"'), ("3", None)])
    assert rows(text, "b", "a")[1][0] == ("x\ny", "1")
    assert rows("1;2\n3;4", no_header=True) == (["1", "2"], [("1", "2"), ("3", "4")])
    assert rows("a.b\n1.2", delimiter=".")[1] == [("1", "2")]
    assert rows("a\tb\n1\t2", delimiter="tab")[1] == rows("a\tb\n1\t2", delimiter="\\t")[1] == [("1", "2")]
    assert rows("a,b\n")[1] == []


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("a,a,b,b\n", {}, r"v\.csv: the header names 'a' 2 times; give every column its own name"),
        ("", {}, r"v\.csv is empty; expected a header and rows"), (" , \n", {}, "is empty; expected a header and rows"),
        ("a,b\n1,2\n3\n", {}, r"v\.csv, row 2: 1 field where the header has 2 \('3'\); complete the row, or quote"),
        ("a,b\n1,2,3\n", {}, "row 1: 3 fields where the header has 2"),
        ("a,b\n" + "x" * 70 + "\n", {}, r"row 1: 1 field where the header has 2 \('x{57}\.\.\.'\)"),
        ("a,b\n" + "x" * 60 + "\n", {}, r"\('x{60}'\)"),
        ('a,b\n1,2\n3,"x\n', {}, "row 2: a quote opens that never closes"),
        ('a,b\n1,x"y"\n', {}, "row 1: a quote stands inside a field; put the whole field in quotes"),
        ("a,b\n1,2\n3,\0\n", {}, "row 2: a NUL byte is no text|holds binary data"),
        (b"a,b\n1,2\n\xff,3\n", {}, r"row 2: byte 0xff is not UTF-8 text \(near '1,2"),
        (b"\xff,b\n", {}, "the header: byte 0xff"),
        ("a,b\n1,2\n\ufeff3,4\n", {}, "row 2: it begins with a byte order mark, as where files were joined; remove it"),
        (b"\xff\xfea\0", {}, r"v\.csv is UTF-16 text; save it as UTF-8"), (b"\xfe\xff\0a", {}, "is UTF-16 text"),
        (b"a,b\r1,2\r", {}, r"ends its lines with carriage returns \(CR\) alone; save it with LF or CRLF"),
        (b"SQLite format 3\0\x10", {}, "is a database, not a table; .* `podium campaign export votes --db FILE"),
        (b"a\0b", {}, "is not a CSV file: it holds binary data; save it as text"),
        ("a,b\n", {"delimiter": "::"}, "delimiter='::' is not one plain character; give one such as"),
        ("a,b\n", {"delimiter": '"'}, "is not one plain character"),
        ("a,b\n", {"delimiter": "é"}, "is not one plain character"),
        ("a,b\n", {"delimiter": ""}, "is not one plain character"),
    ],
)  # fmt: skip
def test_bad_text_is_named_with_its_row(text, options, said):
    with pytest.raises(InputError, match=said):
        rows(text, **options)


# ---- tables ---------------------------------------------------------------------------------------------------------


def test_a_table_knows_its_columns_and_gives_those_chosen(tmp_path):
    (tmp_path / "lang=en").mkdir()
    path = tmp_path / "lang=en" / "v.jsonl"
    path.write_text('{"a": "1", "b": "2"}\n')
    (source,) = find_sources(tmp_path)
    table = Table(source)
    assert table.columns == ["a", "b", "lang"]
    found = list(table.batches(["lang", "b"]))
    assert pl.concat([batch.frame for batch in found]).rows() == [("en", "2")]
    assert {batch.format for batch in found} == {"jsonl"}
    assert sum(batch.size for batch in found) == path.stat().st_size
    own = Source("v", path, folders={"a": "hidden"})
    assert Table(own).columns == ["a", "b"], "a column of the file comes first"
    with pytest.raises(InputError, match=r"v: column '\^a\$' has a name that is read as a pattern; rename it"):
        Table(Source("v", stream=io.StringIO("^a$,b\n1,2\n")))
    for end in ("parquet", "arrow"):
        frame = pl.DataFrame({"a": [1, 2, 3], "m": [{"p": 1}] * 3})
        frame.write_parquet(tmp_path / "t.parquet") if end == "parquet" else frame.write_ipc(tmp_path / "t.arrow")
        columnar = Source("t", tmp_path / f"t.{end}")
        table = Table(columnar)
        assert (table.columns, table.nested) == (["a", "m"], ["m.p"])
        assert pl.concat([batch.frame for batch in table.batches(["m.p", "a"])]).rows() == [(1, 1), (1, 2), (1, 3)]
        part = Table(Source("t", tmp_path / f"t.{end}", share=(1, 2, 3)))
        assert pl.concat([batch.frame for batch in part.batches(["a"])])["a"].to_list() == [2, 3]
        streamed = Table(Source("t", stream=io.BytesIO((tmp_path / f"t.{end}").read_bytes())))
        assert pl.concat([batch.frame for batch in streamed.batches(["a"])])["a"].to_list() == [1, 2, 3]
        with pytest.raises(InputError, match=r"^t is (parquet|ipc), which has no delimiter; drop delimiter="):
            Table(columnar, ";")
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(InputError, match=r"^bad cannot be read: .*; write it again"):
        Table(Source("bad", tmp_path / "bad.parquet"))


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize(("name", "text"), [
    ("v.csv", "winner,loser\n{},x\n"), ("v.tsv", "winner\tloser\n{}\tx\n"), ("v.psv", "winner|loser\n{}|x\n"),
    ("v.jsonl", '{{"winner": "{}", "loser": "x"}}\n'), ("v.json", '[{{"winner": "{}", "loser": "x"}}]'),
])  # fmt: skip
def test_what_a_folder_says_is_a_column_of_every_file_of_text_in_it(name, text, packed, tmp_path):
    for lang, winner in (("en", "tea"), ("de", "Tee")):
        (tmp_path / f"lang={lang}").mkdir()
        path = tmp_path / f"lang={lang}" / (name + (".gz" if packed is gzip.compress else ""))
        path.write_bytes(packed(text.format(winner).encode()))
    assert read_comparisons(tmp_path).items == ("Tee", "x", "tea")
    parts = read_comparisons_by(tmp_path, "lang")
    assert {lang: (part.items, len(part)) for lang, part in parts.items()} == {
        "de": (("Tee", "x"), 1),
        "en": (("tea", "x"), 1),
    }
