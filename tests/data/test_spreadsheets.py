"""CSV that is opened in a spreadsheet runs nothing, and CSV that is read back here has the labels it was made of."""

import csv
import io
import re
import warnings
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import podium
from podium import Comparisons
from podium.data.files import read_comparisons, read_rankings, read_table
from podium.data.writing import as_csv, write_table
from podium.errors import DataWarning, InputError

START = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
letters = st.characters(blacklist_categories=("Cs",), blacklist_characters="\0\ufeff")
labels = st.builds("{}{}".format, st.text("'=+-@ ", max_size=3), st.text(letters, min_size=1, max_size=4)).filter(
    lambda label: label == label.strip()
)


def is_number(cell):
    return re.fullmatch(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", cell, re.ASCII) is not None


def cells_of(text):
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]


@given(st.lists(labels, min_size=1, max_size=6, unique=True))
@example(["=cmd|' /C calc'!A0", "'=x", "''=x", "'", "-5", "'-5", "-5 apples", "+1e3", "@ann", "tea", "'tea'"])
def test_no_cell_is_a_formula_and_every_label_comes_back(names):
    frame = pl.DataFrame({"item": names, "score": [-1.5] * len(names)})
    text = as_csv(frame)
    assert not [cell for cell in cells_of(text) if cell.startswith(START) and not is_number(cell)]
    assert "-1.5" in cells_of(text), "numbers stay numbers"
    with_word = as_csv(pl.concat([frame, pl.DataFrame({"item": ["a word"], "score": [0.0]})]))
    assert read_table(io.StringIO(with_word))["item"].to_list() == [*names, "a word"]


@given(st.lists(labels, min_size=2, max_size=6, unique=True))
def test_names_of_columns_are_held_to_the_same(names):
    frame = pl.DataFrame({name: ["a", "b"] for name in names})
    text = as_csv(frame)
    assert not [cell for cell in cells_of(text) if cell.startswith(START) and not is_number(cell)]
    assert read_table(io.StringIO(text)).columns == names
    wanted = names[1]
    assert read_table(io.StringIO(text), columns=[wanted])[wanted].to_list() == ["a", "b"]


@given(st.lists(labels, min_size=3, max_size=5, unique=True), st.sampled_from(["csv", "jsonl", "json", "parquet"]))
def test_votes_are_read_alike_from_every_form(names, form):
    rows = {"winner": names, "loser": names[1:] + names[:1], "judge": names[::-1]}
    file = io.BytesIO()
    write_table(pl.DataFrame(rows), file, form)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # "NA" is remarked
        read = read_comparisons(io.BytesIO(file.getvalue()), format=form, keep="rows")
    made = Comparisons.from_pairs(list(zip(rows["winner"], rows["loser"], strict=True)))
    assert set(read.items) == set(made.items)
    won = [(read.items[a], read.items[b]) for a, b in zip(read.left.tolist(), read.right.tolist(), strict=True)]
    assert won == list(zip(rows["winner"], rows["loser"], strict=True))
    assert [read.judges[k] for k in read.judge] == rows["judge"]


@pytest.mark.parametrize("form", ["csv", "jsonl", "json", "parquet"])
def test_a_column_may_be_called_star_and_a_pattern_is_refused(form):
    """polars takes both for more than one column."""
    for name in ("*", "^a.*$"):
        file = io.BytesIO()
        write_table(pl.DataFrame({"ab": ["=x", "y"], name: ["y", "=z"]}), file, form)
        if name == "*":
            assert read_table(io.BytesIO(file.getvalue()), columns=["*"], format=form)["*"].to_list() == ["y", "=z"]
            assert read_table(io.BytesIO(file.getvalue()), format=form).columns == ["ab", "*"]
        else:
            with pytest.raises(InputError, match=r"column '\^a\.\*\$' has a name that is read as a pattern; rename it"):
                read_table(io.BytesIO(file.getvalue()), format=form)


def test_rankings_in_columns_come_back(tmp_path):
    names = ["=1+1", "'=1+1", "@b", "-c", "d"]
    frame = pl.DataFrame({f"rank_{k + 1}": [names[k], names[-1 - k]] for k in range(5)})
    write_table(frame, tmp_path / "r.csv")
    assert set(read_rankings(tmp_path / "r.csv").items) == set(names)


def test_other_forms_hold_labels_as_they_are(tmp_path):
    frame = pl.DataFrame({"item": ["=1+1", "'=1+1", "@b"]})
    write_table(frame, tmp_path / "t.jsonl")
    write_table(frame, tmp_path / "t.parquet")
    assert pl.read_ndjson(tmp_path / "t.jsonl").equals(frame)
    assert pl.read_parquet(tmp_path / "t.parquet").equals(frame)


def test_categories_are_text_and_what_is_missing_stays_so():
    frame = pl.DataFrame({"kind": pl.Series(["=a", None, "b"], dtype=pl.Categorical), "n": [-1, 2, None]})
    assert cells_of(as_csv(frame)) == ["kind", "n", "'=a", "-1", "", "2", "b", ""]


@pytest.mark.parametrize("word", [r"\.write_csv\(", r"csv\.(writer|DictWriter)\("])
def test_there_is_one_way_to_csv(word):
    """A second one would forget the guard."""
    root = Path(podium.__file__).parent
    found = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if re.search(word, path.read_text())}
    assert found <= {"data/writing.py"}


@pytest.mark.parametrize("word", [r"read_csv\(", r"csv\.(reader|DictReader)\("])
def test_there_is_one_way_from_csv(word):
    """Beside it stand only words after an option, files of data sets, and TREC's own form, which has no quotes."""
    root = Path(podium.__file__).parent
    found = {path.relative_to(root).as_posix() for path in root.rglob("*.py") if re.search(word, path.read_text())}
    assert found <= {"data/tables/delimited.py", "cli/columns.py", "datasets.py", "metrics/trec.py"}
