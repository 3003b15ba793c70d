"""Files in, tables out: every way in gives the same votes, and whatever is wrong is named."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import podium
from podium.data.files import read_comparisons, read_comparisons_by, read_table, scan_table
from podium.data.tables import delimited, jsonlines
from podium.data.tables.labels import _look_alikes
from podium.data.writing import replacing, write_table
from podium.errors import DataWarning, InputError

text = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\n", exclude_categories=["Cs"]), max_size=12)
labels = st.one_of(st.sampled_from(["tea", "café", 'a "quoted", one', "x;y|z"]), text.filter(lambda t: t.strip()))
votes = st.lists(
    st.tuples(labels, labels, st.sampled_from(["left", "right", "tie"])).filter(lambda v: v[0] != v[1]),
    min_size=1,
    max_size=20,
).filter(lambda cast: not _look_alikes(tuple({t for v in cast for t in v[:2]})))  # which are warned of
SMALL = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
MARKED = tuple("=+-@\t＝＋－＠")
VOTES = [("tea", "milk", "left"), ("milk", "mate", "right"), ("tea", "mate", "tie"), ("tea", "milk", "left")]


def tally(comparisons):
    """How often each (left, right, outcome) occurs, in the user's labels."""
    found = Counter()
    for row in comparisons.to_frame().iter_rows(named=True):
        found[row["left"], row["right"], row["outcome"]] += row.get("count") or 1
    return found


def counted(cast):
    meaning = {"left": 1, "right": 0, "tie": 0.5}
    return Counter((left, right, meaning[outcome]) for left, right, outcome in cast)


def table(cast):
    return {name: [vote[k] for vote in cast] for k, name in enumerate(["left", "right", "outcome"])}


def csv_text(cast, delimiter=","):
    """Votes as a spreadsheet keeps them: text that begins as a marked formula does has one apostrophe more."""
    lines = io.StringIO(newline="")
    rows = [[f"'{cell}" if cell.lstrip("'")[:1] in MARKED and cell[0] == "'" else cell for cell in row] for row in cast]
    csv.writer(lines, delimiter=delimiter).writerows([("left", "right", "outcome"), *rows])
    return lines.getvalue()


def write(path: Path, cast) -> Path:
    """A file of votes by the end of its name, written without our own writer."""
    kind = path.name.split(".", 1)[1]
    if kind.startswith(("csv", "tsv", "psv", "txt")):
        data = csv_text(cast, {"t": "\t", "p": "|"}.get(kind[0], ";" if "semi" in path.name else ",")).encode()
    elif kind.startswith(("jsonl", "ndjson")):
        data = b"\n".join(json.dumps(dict(zip(table(cast), vote, strict=True))).encode() for vote in cast)
    elif kind.startswith("json"):
        data = json.dumps([dict(zip(table(cast), vote, strict=True)) for vote in cast]).encode()
    else:
        frame, buffer = pl.DataFrame(table(cast)), io.BytesIO()
        (frame.write_parquet if "parquet" in kind else frame.write_ipc)(buffer)
        data = buffer.getvalue()
    path.write_bytes(gzip.compress(data) if kind.endswith(".gz") else data)
    return path


NAMES = ["v.csv", "semi.csv", "v.tsv", "v.psv", "v.csv.gz", "v.jsonl", "v.ndjson.gz", "v.json", "v.parquet", "v.arrow"]

# ---- every way in ------------------------------------------------------------------------------------------------


@SMALL
@given(votes, st.sampled_from(NAMES), st.sampled_from(["rows", "counts"]))
def test_every_format_gives_the_votes_that_were_written(tmp_path, cast, name, keep):
    found = read_comparisons(write(tmp_path / name, cast), keep=keep)
    assert tally(found) == counted(cast)
    assert found.items == tuple(dict.fromkeys(item for vote in cast for item in vote[:2]))
    assert len(found) == len(cast)
    assert found.ordered == (keep == "rows")


@SMALL
@given(votes, st.integers(12, 60), st.sampled_from(["csv", "jsonl"]))
def test_blocks_may_end_anywhere(cast, size, kind):
    lines = (
        csv_text(cast) if kind == "csv" else "\n".join(json.dumps(dict(zip(table(cast), v, strict=True))) for v in cast)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "BLOCK", max(size, len("left,right,outcome\r\n")))
        patch.setattr(jsonlines, "BLOCK", size)
        found = read_comparisons(io.BytesIO(lines.encode()), keep="rows")
    assert found.to_frame().select("left", "right").rows() == [vote[:2] for vote in cast]


def test_rows_keep_their_order_and_frames_agree_with_files(tmp_path):
    from_file = read_comparisons(write(tmp_path / "v.parquet", VOTES), keep="rows")
    from_frame = podium.Comparisons.from_frame(table(VOTES))
    assert from_file.to_frame().equals(from_frame.to_frame())


@pytest.mark.parametrize("name", ["v.csv", "v.jsonl", "v.json", "v.parquet", "v.arrow", "v.csv.gz"])
def test_a_name_that_says_nothing_leaves_it_to_the_content(tmp_path, name):
    path = write(tmp_path / name, VOTES).rename(tmp_path / "votes")
    assert tally(read_comparisons(path)) == counted(VOTES)


@pytest.mark.parametrize("name", ["v.csv", "v.parquet", "v.csv.gz", "v.jsonl"])
def test_open_files_are_read_and_left_open(tmp_path, name):
    with open(write(tmp_path / name, VOTES), "rb") as file:
        assert tally(read_comparisons(file)) == counted(VOTES)
        assert not file.closed
    assert tally(read_comparisons(io.BytesIO((tmp_path / name).read_bytes()))) == counted(VOTES)


def test_text_files_keep_their_own_encoding(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes("winner,loser\ncafé,thé\n".encode("latin-1"))
    with open(path, encoding="latin-1") as file:
        assert read_comparisons(file).items == ("café", "thé")
    with open(path, encoding="utf-8") as file, pytest.raises(InputError, match=r"v.csv is not utf-8 text"):
        read_comparisons(file)


def test_standard_input_is_a_dash(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(csv_text(VOTES).encode())))
    assert tally(read_comparisons("-")) == counted(VOTES)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"winner,loser\na,a\n")))
    with pytest.raises(InputError, match=r"^standard input, row 1: 'a' is compared with itself"):
        read_comparisons("-")


def test_globs_lists_and_folders_add_up(tmp_path):
    paths = [write(tmp_path / name, VOTES) for name in ("one.csv", "two.parquet", "three.jsonl")]
    thrice = Counter({vote: 3 * count for vote, count in counted(VOTES).items()})
    assert tally(read_comparisons(paths)) == thrice
    assert tally(read_comparisons(tmp_path)) == thrice
    assert tally(read_comparisons(str(tmp_path / "t*.*"))) == tally(read_comparisons(paths[:2]))


def test_folders_named_key_equals_value_are_columns(tmp_path):
    for judge in ("ann", "bob"):
        (tmp_path / f"judge={judge}").mkdir()
        write(tmp_path / f"judge={judge}" / "v.parquet", VOTES)
    found = read_comparisons(tmp_path)
    assert found.judges == ("ann", "bob")
    assert read_comparisons(tmp_path, judge=False).judge is None


def test_hidden_files_in_a_folder_are_not_read(tmp_path):
    write(tmp_path / "v.csv", VOTES)
    (tmp_path / ".cache.csv").write_text("nonsense")
    (tmp_path / "_SUCCESS").write_text("")
    assert tally(read_comparisons(tmp_path)) == counted(VOTES)


def test_columns_are_given_by_option_and_others_ignored(tmp_path):
    path = tmp_path / "v.csv"
    path.write_text('id,first,second,who,text\n1,a,b,second,"long, with\nlines"\n2,b,c,first,x\n')
    found = read_comparisons(path, left="first", right="second", outcome="who")
    assert tally(found) == Counter({("a", "b", 0): 1, ("b", "c", 1): 1})


def test_labels_of_a_csv_file_are_text_and_of_a_parquet_file_what_they_are(tmp_path):
    (tmp_path / "v.csv").write_text("winner,loser\n007,7\n")
    assert read_comparisons(tmp_path / "v.csv").items == ("007", "7")
    pl.DataFrame({"winner": [7], "loser": [9]}).write_parquet(tmp_path / "v.parquet")
    assert read_comparisons(tmp_path / "v.parquet").items == (7, 9)


def test_the_bundled_example_is_read():
    examples = Path(__file__).parents[2] / "examples"
    found = read_comparisons(examples / "chess-1948.csv")
    rows = list(csv.DictReader((examples / "chess-1948.csv").open()))
    assert len(found) == sum(int(row[name]) for row in rows for name in ("left_wins", "right_wins", "ties"))


def test_blank_lines_and_a_byte_order_mark_are_not_rows(tmp_path):
    path = tmp_path / "v.csv"
    path.write_bytes(b"\xef\xbb\xbf\r\nwinner;loser\r\n\r\na;b\r\n" + b"\r\n" * 3000 + b"b;c")
    assert len(read_comparisons(path)) == 2


# ---- rankings ----------------------------------------------------------------------------------------------------


def test_rankings_are_lists_best_first(tmp_path):
    (tmp_path / "r.jsonl").write_text('{"ranking": ["a", "b", "c"]}\n{"ranking": ["c", "a"]}\n')
    (tmp_path / "r.csv").write_text("judge,ranking\nann,a > b > c\nbob,c>a\n")
    expected = podium.Comparisons.from_rankings([["a", "b", "c"], ["c", "a"]], unranked="unknown").to_frame()
    assert read_comparisons(tmp_path / "r.jsonl", unranked="unknown").to_frame().equals(expected)
    judged = read_comparisons(tmp_path / "r.csv", unranked="unknown")
    assert judged.to_frame().drop("judge").equals(expected)
    assert judged.to_frame()["judge"].to_list() == ["ann", "ann", "ann", "bob"]
    assert read_comparisons(tmp_path / "r.csv", judge=False, unranked="unknown").to_frame().equals(expected)


def test_rankings_of_several_files_are_clusters_of_their_own(tmp_path):
    (tmp_path / "1.csv").write_text("ranking\na>b\n")
    (tmp_path / "2.csv").write_text("ranking\nb>a\na>c\n")
    assert read_comparisons(tmp_path, unranked="unknown").to_frame()["group"].to_list() == [1, 2, 3]


def test_options_reach_files_of_rankings(tmp_path):
    (tmp_path / "r.csv").write_text("ranking,w\na>b,2\nb>a,0.5\n")
    assert read_comparisons(tmp_path / "r.csv", weight="w").weight.tolist() == [2.0, 0.5]
    with pytest.raises(InputError, match=r"r.csv: no column 'nope' \(given as winner=\); found 'ranking', 'w'"):
        read_comparisons(tmp_path / "r.csv", winner="nope")
    (tmp_path / "one.csv").write_text("ranking\na\nb\n")
    with pytest.raises(InputError, match=r"one.csv: no ranking holds two items: there is nothing to compare"):
        read_comparisons(tmp_path / "one.csv", unranked="unknown")


@pytest.mark.parametrize("line", ['{"ranking": ["a", null]}', '{"ranking": null}', '{"ranking": ["a", ""]}'])
def test_a_ranking_with_a_hole_is_named(tmp_path, line):
    (tmp_path / "r.jsonl").write_text('{"ranking": ["a", "b"]}\n' + line + "\n")
    with pytest.raises(InputError, match=r"r.jsonl, row 2: .* is no ranking"):
        read_comparisons(tmp_path / "r.jsonl")


def test_votes_and_rankings_are_not_mixed(tmp_path):
    (tmp_path / "1.csv").write_text("ranking\na>b\n")
    (tmp_path / "2.csv").write_text("winner,loser\na,b\n")
    with pytest.raises(InputError, match=r"2.csv holds votes and .*1.csv rankings; read them on their own"):
        read_comparisons(tmp_path)
    with pytest.raises(InputError, match=r"1.csv holds rankings and .*2.csv votes; read them on their own"):
        read_comparisons([tmp_path / "2.csv", tmp_path / "1.csv"])


# ---- several files ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plain", "full", "column"),
    [
        ("winner,loser\na,b\n", "winner,loser,weight\na,b,5\n", "weight"),
        ("a,b,wins_a,wins_b\nx,y,1,0\n", "a,b,wins_a,wins_b,ties\nx,y,1,0,4\n", "ties"),
    ],
)
def test_a_column_that_only_some_files_have_is_named_with_both(tmp_path, plain, full, column):
    (tmp_path / "plain.csv").write_text(plain)
    (tmp_path / "full.csv").write_text(full)
    with pytest.raises(InputError, match=rf"full.csv: column '{column}' is here but not in .*plain.csv"):
        read_comparisons([tmp_path / "plain.csv", tmp_path / "full.csv"])
    with pytest.raises(InputError, match=rf"plain.csv: column '{column}' is in .*full.csv but not here"):
        read_comparisons([tmp_path / "full.csv", tmp_path / "plain.csv"])
    assert len(read_comparisons(tmp_path, **{column: False})) == 2


# ---- one ranking per value ---------------------------------------------------------------------------------------


@SMALL
@given(votes, st.data())
def test_votes_divided_by_a_column_are_those_of_each_value(tmp_path, cast, data):
    langs = data.draw(st.lists(st.sampled_from(["en", "de", "fr"]), min_size=len(cast), max_size=len(cast)))
    pl.DataFrame(table(cast) | {"lang": langs}).write_parquet(tmp_path / "v.parquet")
    parts = read_comparisons_by(tmp_path / "v.parquet", "lang")
    assert list(parts) == list(dict.fromkeys(langs))
    for lang, found in parts.items():
        mine = [vote for vote, spoken in zip(cast, langs, strict=True) if spoken == lang]
        assert tally(found) == counted(mine)
        assert found.items == tuple(dict.fromkeys(item for vote in mine for item in vote[:2]))


def test_rankings_are_divided_too(tmp_path):
    (tmp_path / "r.csv").write_text("lang,ranking\nen,a>b\nde,c>d>e\nen,b>a\n")
    parts = read_comparisons_by(tmp_path / "r.csv", "lang")
    assert {value: (votes.items, len(votes)) for value, votes in parts.items()} == {
        "en": (("a", "b"), 2),
        "de": (("c", "d", "e"), 3),
    }


# ---- bad input ---------------------------------------------------------------------------------------------------

HEAD = b"left,right,outcome\ntea,milk,left\n"
BAD = {
    "unknown outcome": (HEAD + b"a,b,maybe\n", r"v.csv, row 2: outcome 'maybe' is unknown; .*\('a' or 'b'\)"),
    "self-comparison": (HEAD + b"tea,tea,left\n", r"v.csv, row 2: 'tea' is compared with itself; remove the row"),
    "empty label": (HEAD + b",tea,left\n", r"v.csv, row 2: column 'left' is empty"),
    "no outcome": (HEAD + b"a,b,\n", r"v.csv, row 2: column 'outcome' is empty; an unknown outcome is not a tie"),
    "missing column": (b"x,y\n1,2\n", r"v.csv: cannot tell who met whom: found columns 'x', 'y'; expected winner"),
    "empty file": (b"", r"v.csv is empty; expected a header and rows"),
    "blank file": (b"\n\n", r"v.csv is empty; expected a header and rows"),
    "header only": (b"left,right,outcome\n", r"v.csv has a header and no rows"),
    "binary": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", r"v.csv is not a CSV file: it holds binary data"),
    "parquet inside": (b"PAR1....", r"v.csv is Parquet by its content; rename it, or name its format"),
    "latin-1": (HEAD + "café,tea,left\n".encode("latin-1"), r"v.csv, row 2: byte 0xe9 is not UTF-8 text \(near .*caf"),
    "latin-1 header": ("modèle,x\n1,2\n".encode("latin-1"), r"v.csv, the header: byte 0xe8 is not UTF-8"),
    "utf-16": ("left,right\n".encode("utf-16"), r"v.csv is UTF-16 text; save it as UTF-8"),
    "long row": (HEAD + b"a,b,left,x\n", r"v.csv, row 2: 4 fields where the header has 3 \('a,b,left,x'\)"),
    "short row": (HEAD + b"a\n", r"v.csv, row 2: 1 field where the header has 3 \('a'\)"),
    "short and long": (HEAD + b"a,b\na,b,left,x\n", r"v.csv, row 2: 2 fields where the header has 3"),
    "duplicate headers": (b"left,right,left\na,b,c\n", r"v.csv: the header names 'left' 2 times"),
    "open quote": (HEAD + b'"a,b,left\n', r"v.csv, row 2: a quote opens that never closes"),
    "stray quote": (HEAD + b'5" disk,b,left\n', r"v.csv, row 2: a quote stands inside a field"),
    "text after a quote": (HEAD + b'"a"x,b,left\n', r"v.csv, row 2: a quote stands inside a field"),
    "row after a quoted line break": (
        HEAD + b'"a\nb",c,left\na,a,left\n',
        r"v.csv, row 3: 'a' is compared with itself",
    ),
    "carriage returns": (b"winner,loser\ra,b\r", r"v.csv ends its lines with carriage returns \(CR\) alone; save it"),
    "row after a blank line": (HEAD + b"\na,a,left\n", r"v.csv, row 2: 'a' is compared with itself"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_csv_is_named_with_its_file_and_row(tmp_path, what):
    data, message = BAD[what]
    path = tmp_path / "v.csv"
    path.write_bytes(data)
    with pytest.raises(InputError, match=message):
        read_comparisons(path)


@pytest.mark.parametrize("weight", ["nan", "-1", "inf", "", "heavy"])
def test_a_bad_weight_is_named_with_its_file_and_row(tmp_path, weight):
    (tmp_path / "v.csv").write_text(f"winner,loser,weight\na,b,1\na,b,{weight}\n")
    with pytest.raises(InputError, match=r"v.csv, row 2: weight is (nan|-1|inf|missing|heavy); give a finite number"):
        read_comparisons(tmp_path / "v.csv")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("count", ["", ",3"])
def test_a_weight_whose_square_is_no_number_is_named(tmp_path, count):
    head = "winner,loser,weight" + (",count" if count else "")
    (tmp_path / "v.csv").write_text(f"{head}\na,b,1{count}\na,b,1e200{count}\n")
    with pytest.raises(InputError, match=r"v.csv, row 2: weight is 1e\+200, too large to be summed"):
        read_comparisons(tmp_path / "v.csv")


BAD_JSON = {
    "broken line": ('{"winner": "a", "loser": "b"}\n{"winner": "a"\n', r"v.jsonl, row 2: not JSON"),
    "no object": ('{"winner": "a", "loser": "b"}\n["a", "b"]\n', r"v.jsonl, row 2: \['a', 'b'\] is not an object"),
    "number among text": (
        '{"winner": "a", "loser": "b"}\n{"winner": 7, "loser": "b"}\n',
        r"v.jsonl, row 2: winner is the number 7 here and text elsewhere",
    ),
    "lacking value": ('{"winner": "a", "loser": "b"}\n{"winner": "a"}\n', r"v.jsonl, row 2: column 'loser' is empty"),
    "blank": ("\n", r"v.jsonl is empty; expected one JSON object a line"),
    "self": (
        '\n{"winner": "a", "loser": "b"}\n\n{"winner": "b", "loser": "b"}',
        r"v.jsonl, row 2: 'b' is compared with",
    ),
}


@pytest.mark.parametrize("what", BAD_JSON)
def test_bad_json_lines_are_named_with_their_row(tmp_path, what):
    data, message = BAD_JSON[what]
    (tmp_path / "v.jsonl").write_text(data)
    with pytest.raises(InputError, match=message):
        read_comparisons(tmp_path / "v.jsonl")


def test_digits_in_json_text_are_no_numbers(tmp_path):
    lines = [{"winner": "7", "loser": "x", "note": '"winner": 7'}, {"winner": "x", "loser": "8", "note": ""}]
    (tmp_path / "v.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert read_comparisons(tmp_path / "v.jsonl").items == ("7", "x", "8")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("[]", "v.json is an empty array"),
        ('[{"winner": "a"', r"v.json, line 1: not JSON"),
        ('[{"winner": 1, "loser": 2}, 3]', r"v.json, row 2: 3 is not an object"),
    ],
)
def test_bad_json_arrays_are_named(tmp_path, data, message):
    (tmp_path / "v.json").write_text(data)
    with pytest.raises(InputError, match=message):
        read_comparisons(tmp_path / "v.json")


def test_labels_that_are_numbers_in_one_file_and_text_in_another_name_both(tmp_path):
    pl.DataFrame({"winner": [1], "loser": [2]}).write_parquet(tmp_path / "1.parquet")
    pl.DataFrame({"winner": ["1"], "loser": ["2"]}).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(InputError, match=r"'winner' holds numbers in .*1.parquet and text in .*2.parquet"):
        read_comparisons(tmp_path)


def test_a_pipe_of_the_shell_is_told_how_it_is_read():
    code = "import sys; from podium import cli; cli.run(sys.argv[1:])"
    for command in ("rank", "check", "rank -"):
        line = f"{sys.executable} -c '{code}' {command} " + ("<(" if "-" not in command else "< <(")
        done = subprocess.run(
            ["bash", "-c", line + "printf 'winner,loser\na,b\nb,a\n')"], capture_output=True, text=True
        )
        if "-" in command:
            assert done.returncode == 0, done.stderr
        else:
            assert done.returncode == 2
            assert "a pipe is taken as standard input alone; give -, and pipe into the command" in done.stderr


def test_files_that_cannot_be_read_are_named(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"no such file: .*none.csv; check the path"):
        read_comparisons(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"no file matches .*\*.csv"):
        read_comparisons(str(tmp_path / "*.csv"))
    with pytest.raises(InputError, match=r"folder .* holds no data files"):
        read_comparisons(tmp_path)
    with pytest.raises(InputError, match="the list of paths is empty"):
        read_comparisons([])
    with pytest.raises(InputError, match="cannot read from 3"):
        read_comparisons(3)
    path = write(tmp_path / "v.csv", VOTES)

    def refuse(*given, **options):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match=r"cannot read .*v.csv: Permission denied"):
        read_comparisons(path)


def test_damaged_files_are_named(tmp_path):
    whole = write(tmp_path / "v.csv.gz", VOTES * 1000).read_bytes()
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cut.csv.gz ends early or is damaged"):
        read_comparisons(tmp_path / "cut.csv.gz")
    whole = write(tmp_path / "v.parquet", VOTES).read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"cut.parquet cannot be read"):
        read_comparisons(tmp_path / "cut.parquet")
    (tmp_path / "text.parquet").write_text("winner,loser\n")
    with pytest.raises(InputError, match=r"text.parquet is not Parquet by its content"):
        read_comparisons(tmp_path / "text.parquet")
    (tmp_path / "v.csv.zst").write_bytes(b"\x28\xb5\x2f\xfd....")
    with pytest.raises(InputError, match=r"v.csv.zst .*(install zstandard|cannot read|damaged)"):
        read_comparisons(tmp_path / "v.csv.zst")


def test_options_that_make_no_sense_are_refused(tmp_path):
    path = write(tmp_path / "v.parquet", VOTES)
    with pytest.raises(InputError, match="format 'xls' is unknown; choose among csv, json"):
        read_comparisons(path, format="xls")
    with pytest.raises(InputError, match="is parquet, which has no delimiter"):
        read_comparisons(path, delimiter=";")
    for delimiter in (";;", "", 3):
        with pytest.raises(InputError, match=f"delimiter={delimiter!r} is not one plain character"):
            read_comparisons(write(tmp_path / "v.csv", VOTES), delimiter=delimiter)
    assert tally(read_comparisons(write(tmp_path / "v.tsv", VOTES), delimiter="tab")) == counted(VOTES)


# ---- tables ------------------------------------------------------------------------------------------------------


def test_tables_know_numbers_from_codes(tmp_path):
    (tmp_path / "1.csv").write_text("item,price,stock,code,mixed,none\ntea,2.5,3,007,1,\n")
    (tmp_path / "2.csv").write_text("item,price,stock,code,mixed,none\nmilk,1,,010,x,\n")
    frame = read_table(tmp_path)
    assert frame.rows() == [("tea", 2.5, 3, "007", "1", None), ("milk", 1.0, None, "010", "x", None)]
    assert frame.schema["stock"] == pl.Int64
    assert read_table(tmp_path / "1.csv", columns=["stock", "item"]).rows() == [(3, "tea")]


def test_tables_are_checked_like_votes(tmp_path):
    (tmp_path / "1.csv").write_text("item,price\ntea,1\n")
    with pytest.raises(InputError, match=r"1.csv has no column 'colour'; found 'item', 'price'"):
        read_table(tmp_path / "1.csv", columns=["colour"])
    (tmp_path / "2.csv").write_text("item,cost\ntea,1\n")
    with pytest.raises(InputError, match=r"2.csv has columns 'item', 'cost', the file before 'item', 'price'"):
        read_table(tmp_path)
    (tmp_path / "2.csv").write_text("item,price\ntea\n")
    with pytest.raises(InputError, match=r"2.csv, row 1: 1 field where the header has 2"):
        read_table(tmp_path)


def test_text_that_looks_like_numbers_stays_text_where_the_file_says_so(tmp_path):
    frame = pl.DataFrame({"item": ["1", "2"]})
    frame.write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").equals(frame)


def test_a_table_in_pieces_is_the_whole_table(tmp_path, monkeypatch):
    frame = pl.DataFrame({"item": [f"i{k}" for k in range(50)], "price": [k / 4 for k in range(50)]})
    frame.write_csv(tmp_path / "t.csv")
    monkeypatch.setattr(delimited, "BLOCK", 64)
    pieces = list(scan_table(tmp_path / "t.csv"))
    assert len(pieces) > 3
    assert pl.concat(pieces).equals(frame)


def test_a_piece_that_breaks_the_kind_of_a_column_is_named(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_text("item,price\n" + "tea,1\n" * 30 + "milk,cheap\n")
    monkeypatch.setattr(delimited, "BLOCK", 64)
    with pytest.raises(InputError, match=r"row 31: price is 'cheap', above it only numbers"):
        list(scan_table(tmp_path / "t.csv"))


@pytest.mark.parametrize("format", ["csv", "json", "jsonl", "parquet"])
def test_what_is_written_is_read_back(tmp_path, format, capfdbinary):
    frame = pl.DataFrame({"item": ["tea", 'a "quoted", one'], "score": [1.5, None], "rank": [1, 2]})
    write_table(frame, tmp_path / f"t.{format}")
    assert read_table(tmp_path / f"t.{format}").equals(frame)
    write_table(frame, tmp_path / "plain", format)
    assert read_table(tmp_path / "plain", format=format).equals(frame)
    buffer = io.BytesIO()
    write_table(frame, buffer, format)
    assert buffer.getvalue() == (tmp_path / f"t.{format}").read_bytes()


def test_labels_that_a_sheet_would_read_otherwise_survive_a_csv_file(tmp_path):
    items = ["=1+1", "+x", "-y", "@z", 'say "hi"', "two\nlines", "a,b", "cr\rx", " padded ", '"', "crlf\r\nend"]
    frame = pl.DataFrame({"item": items, "score": list(range(len(items)))})
    write_table(frame, tmp_path / "t.csv")
    assert read_table(tmp_path / "t.csv").equals(frame)
    with (tmp_path / "t.csv").open(newline="") as file:
        assert [row["item"] for row in csv.DictReader(file)] == ["'=1+1", "'+x", "'-y", "'@z", *items[4:]]


def test_json_is_an_array_of_rows(tmp_path):
    write_table(pl.DataFrame({"item": ["tea", "milk\n"], "score": [1.5, None]}), tmp_path / "t.json")
    rows = json.loads((tmp_path / "t.json").read_text())
    assert rows == [{"item": "tea", "score": 1.5}, {"item": "milk\n", "score": None}]
    write_table(pl.DataFrame({"item": []}), tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text()) == []


def test_a_table_goes_to_standard_output(capfd):
    write_table(pl.DataFrame({"item": ["tea"]}))
    assert capfd.readouterr().out == "item\ntea\n"


def test_an_unknown_table_format_is_refused(tmp_path):
    with pytest.raises(InputError, match="format 'xls' is unknown; choose among csv, json, jsonl, parquet"):
        write_table(pl.DataFrame({"item": ["tea"]}), tmp_path / "t", "xls")


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"half", None])
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["t.csv"]


def test_a_link_stays_a_link_and_its_file_is_replaced(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "t.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("far/t.csv")
    write_table(pl.DataFrame({"item": ["tea"]}), tmp_path / "link.csv")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "far" / "t.csv").read_text() == "item\ntea\n"
    assert os.listdir(tmp_path / "far") == ["t.csv"]


def test_pipes_and_devices_are_written_to_and_stay(tmp_path, capfd):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_table(pl.DataFrame({"item": ["tea"]}), tmp_path / "pipe")
    assert os.read(reader, 99) == b"item\ntea\n"
    os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    write_table(pl.DataFrame({"item": ["tea"]}), "/dev/null")
    assert Path("/dev/null").is_char_device()
    write_table(pl.DataFrame({"item": ["tea"]}), "/dev/stdout")
    assert capfd.readouterr().out == "item\ntea\n"
    with pytest.raises(InputError, match=r"cannot write .*: Is a directory; choose another path"):
        write_table(pl.DataFrame({"item": ["tea"]}), tmp_path)


def test_an_unwritable_output_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot write .*no/t.csv: No such file or directory; choose another path"):
        write_table(pl.DataFrame({"item": ["tea"]}), tmp_path / "no" / "t.csv")


def test_a_column_of_rankings_may_have_any_name():
    votes = read_comparisons(io.StringIO("order\na > b > c\nb > a > c\n"), ranking="order")
    assert votes.items == ("a", "b", "c")
    assert len(votes) == 6
    with pytest.raises(InputError, match="no column 'order'"):
        read_comparisons(io.StringIO("winner,loser\na,b\n"), ranking="order")


def test_a_log_without_answers_is_told_and_does_not_block_the_others(tmp_path):
    empty, full = tmp_path / "empty.jsonl", tmp_path / "full.jsonl"
    empty.write_text('{"podium": "interview", "seed": 1}\n{"podium": "ask", "max_pairs": 1}\n')
    full.write_text('{"podium": "interview", "seed": 2}\n{"left": "a", "right": "b", "outcome": 1, "judge": "ann"}\n')
    with pytest.warns(DataWarning, match=r"empty.jsonl is the log of an interview without answers; it adds nothing"):
        assert len(read_comparisons([empty, full])) == 1
    with pytest.warns(DataWarning), pytest.raises(InputError, match=r"empty.jsonl has a header and no rows"):
        read_comparisons(empty)
    with pytest.warns(DataWarning), pytest.raises(InputError, match=r"notes of an interview and no rows"):
        read_table(empty)


KINDS = {
    "binary": (b"x", pl.Binary), "binaries": ([b"x"], pl.List(pl.Binary)), "list": ([1], pl.List(pl.Int64)),
    "in a struct": ({"b": b"x"}, pl.Struct({"b": pl.Binary})), "empty struct": ({}, pl.Struct({})),
    "array": ([1, 2], pl.Array(pl.Int8, 2)), "object": (object(), pl.Object), "duration": (1, pl.Duration),
    "time": (1, pl.Time), "date": (1, pl.Date), "moment": (1, pl.Datetime), "category": ("a", pl.Categorical),
    "enum": ("a", pl.Enum(["a"])), "null": (None, pl.Null), "decimal": (1, pl.Decimal(10, 2)), "huge": (1, pl.Int128),
    "flag": (True, pl.Boolean), "infinite": (float("inf"), pl.Float32),
}  # fmt: skip
REFUSED = {
    "csv": {"binary", "binaries", "list", "in a struct", "empty struct", "array", "object", "duration"},
    "json": {"binary", "binaries", "in a struct", "object"},
    "jsonl": {"binary", "binaries", "in a struct", "object"},
    "parquet": {"empty struct", "object"},
}


@pytest.mark.parametrize("format", ["csv", "json", "jsonl", "parquet"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_column_of_any_kind_is_written_or_refused_by_name(kind, format, tmp_path):
    value, dtype = KINDS[kind]
    frame = pl.DataFrame({"id": [1], "stuff": pl.Series([value], dtype=dtype)})
    path = tmp_path / f"t.{format}"
    if kind not in REFUSED[format]:
        write_table(frame, path)
        assert read_table(path)["id"].to_list() == [1]
        return
    with pytest.raises(InputError, match="column 'stuff' is ") as refusal:
        write_table(frame, path)
    assert f"{frame.schema['stuff']}, which {format} cannot hold" in str(refusal.value)
    assert not path.exists()


def test_what_another_format_holds_is_said(tmp_path):
    with pytest.raises(InputError, match=r"'stuff' is List.Int64., which csv cannot hold; write parquet, or leave it"):
        write_table(pl.DataFrame({"stuff": [[1]]}), tmp_path / "t.csv")
    with pytest.raises(InputError, match="cannot hold; turn it into text or numbers, or leave it out"):
        write_table(pl.DataFrame({"stuff": pl.Series([object()], dtype=pl.Object)}), tmp_path / "t.csv")


def test_a_table_on_stdout_comes_after_what_was_printed():
    code = "import polars, podium.data as data; print('first'); data.write_table(polars.DataFrame({'a': [1]}), '-')"
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=buffered)
    assert done.stdout.split() == ["first", "a", "1"]


@pytest.mark.parametrize("role", ["outcome", "winner", "margin"])
def test_a_role_that_is_named_makes_no_rankings_of_columns_of_places(role):
    with pytest.raises(InputError, match="cannot tell who met whom: found columns 'rank 1', 'rank 2', 'who'"):
        read_comparisons(io.StringIO("rank 1,rank 2,who\na,b,1\nb,c,0\n"), **{role: "who"})


def test_tables_in_pieces_have_decimal_commas_as_whole_ones_do(tmp_path):
    text = "name;size\n" + "a; 2,5\nb;3\n" * 3
    (piece,) = scan_table(io.StringIO(text))
    assert piece.rows() == read_table(io.StringIO(text)).rows() == [("a", 2.5), ("b", 3.0)] * 3
    (tmp_path / "1.csv").write_text("name;size\na;2,5\n")
    (tmp_path / "2.csv").write_text("name;size\nb;1,125\n")
    assert [piece.rows() for piece in scan_table(tmp_path)] == [[("a", 2.5)], [("b", 1.125)]]
    (tmp_path / "2.csv").write_text("name;size\nb;1.125\n")
    with pytest.raises(
        InputError, match=r"row 2: size is '1.125', above it only numbers with decimal commas; correct it"
    ):
        list(scan_table(tmp_path))
    with pytest.raises(InputError, match="row 1: size is '1,250', which may be decimal or thousands"):
        list(scan_table(io.StringIO("name;size\na;1,250\n")))
