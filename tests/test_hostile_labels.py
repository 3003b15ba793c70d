"""Labels that try to steer a terminal, turn the text round or break a page: what people see is safe, data stay raw."""

import csv
import io
import json
import re
import unicodedata
import warnings
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from podium import Comparisons, Ranking
from podium.cli import main
from podium.errors import PodiumWarning
from podium.pairwise.crowd import CrowdBradleyTerry
from podium.pairwise.rabf import RABF
from podium.show import feature_plots, plots
from podium.show.report import Report
from podium.text import one_line, printable

from helpers import thin_data

HOSTILE = [
    "\x1b[31mred\x1b[0m", "right\u202eleft", "\u2066isolate", "bell\x07", "nul\x00byte", "c1\x9b31m", "two\nlines",
    "back\rspace\x08", "\u200emark\u061c", "para\u2029graph", "non\ufffecharacter\uffff", "<b>&amp;'\"]]>", "$\\frac$",
    "x" * 120, "שלום", "日本語 茶",
]  # fmt: skip
BIDI = set("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def assert_safe(text, lines=True):
    for character in text:
        fine = character == "\n" and lines
        assert fine or unicodedata.category(character) not in ("Cc", "Cs", "Zl", "Zp"), repr(character)
        assert character not in BIDI | {"\ufffe", "\uffff"}, repr(character)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    n, m = len(HOSTILE), 700
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    names, judges = np.array(HOSTILE), np.array(["ann", "\x1b[2Jeve", "bob\u202e"])
    won = rng.random(m) < 1 / (1 + np.exp(0.2 * (left - right)))
    columns = {"winner": names[np.where(won, left, right)], "loser": names[np.where(won, right, left)]}
    frame = pl.DataFrame(columns | {"judge": judges[rng.integers(0, 3, m)], "part": judges[rng.integers(0, 2, m)]})
    frame.write_parquet(made / "votes.parquet")  # CSV cannot hold a NUL everywhere
    frame.head(500).write_parquet(made / "early.parquet")
    features = {"name": HOSTILE, "size\x1b[1m": rng.normal(size=n), "$\\alpha\u202e": rng.normal(size=n)}
    pl.DataFrame(features).write_parquet(made / "items.parquet")
    return made


def call(folder, monkeypatch, *args):
    monkeypatch.chdir(folder)
    with thin_data():
        done = CliRunner().invoke(main, list(args), color=True)  # colours would else be taken out by click
    assert done.exit_code == 0, (done.output, done.exception)
    return done


@pytest.mark.parametrize(
    "args",
    [
        ["rank", "votes.parquet"],
        ["rank", "votes.parquet", "--by", "part"],
        ["rank", "votes.parquet", "--method", "crowd"],
        ["rank", "votes.parquet", "--features", "items.parquet"],
        ["rank", "votes.parquet", "--anchor", "right\u202eleft=0"],
        ["rank", "votes.parquet", "-o", "board.txt"],
        ["check", "votes.parquet", "--replicates", "5", "--judge", "judge", "--pairs", "40"],
        ["compare", "votes.parquet", "--folds", "2", "--method", "win-rate", "--method", "borda"],
        ["diff", "early.parquet", "votes.parquet"],
    ],
    ids=" ".join,
)
def test_what_a_command_prints_steers_no_terminal(folder, monkeypatch, args):
    done = call(folder, monkeypatch, *args)
    assert_safe(done.stdout)
    assert_safe(done.stderr)
    if "-o" in args:
        assert_safe((folder / "board.txt").read_text())


@pytest.mark.parametrize("wrong", ["--anchor=bell\x07=1\x1b[0m", "--judge=\x1b[31mno", "--by=\u202epart"])
def test_an_error_names_a_hostile_label_safely(folder, monkeypatch, capfd, wrong):
    from podium.cli import run

    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as stop:
        run(["rank", "votes.parquet", wrong])
    assert stop.value.code == 2
    told = capfd.readouterr().err
    assert_safe(told)
    assert len(told.strip().splitlines()) == 1


@pytest.mark.parametrize("form", ["csv", "json", "jsonl", "parquet"])
def test_data_keep_the_labels_as_they_are(folder, monkeypatch, form):
    call(folder, monkeypatch, "rank", "votes.parquet", "-o", f"board.{form}")
    path = folder / f"board.{form}"
    if form == "csv":
        items = [row["item"] for row in csv.DictReader(io.StringIO(path.read_bytes().decode(), newline=""))]
    elif form == "parquet":
        items = pl.read_parquet(path)["item"].to_list()
    else:
        text = path.read_bytes().decode()
        rows = json.loads(text) if form == "json" else [json.loads(line) for line in text.split("\n") if line]
        items = [row["item"] for row in rows]
    assert sorted(items) == sorted(HOSTILE)


@pytest.mark.parametrize("picture", ["intervals", "wins", "history"])
@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_pictures_are_well_formed(folder, monkeypatch, picture, form):
    monkeypatch.chdir(folder)
    options = ["--plot", f"{picture}.{form}", "--picture", picture, "--title", "bad\x1b[31m\u202e title"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # not every machine has a font with every letter
        done = CliRunner().invoke(main, ["rank", "votes.parquet", *options])
    assert done.exit_code == 0, done.exception
    made = (folder / f"{picture}.{form}").read_bytes()
    if form == "svg":
        texts = "".join(ElementTree.fromstring(made).itertext())
        assert_safe(texts)
        assert "\\x1b[31mred" in texts
    else:
        assert made.startswith({"png": b"\x89PNG", "pdf": b"%PDF"}[form])


class Words(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.words, self.tags = [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for _, value in attrs:
            assert_safe(value or "")

    def handle_data(self, data):
        self.words.append(data)


def assert_safe_page(page):
    words = Words(page)
    assert_safe("".join(words.words))
    for drawn in re.findall(r"<svg role=.*?</svg>", page, flags=re.DOTALL):
        # Inside a page xlink needs no declaration; as a file it does, and matplotlib writes it.
        ElementTree.fromstring(drawn)


@pytest.mark.parametrize("options", [[], ["--method", "crowd"], ["--features", "items.parquet"]], ids=" ".join)
def test_the_page_is_safe_and_its_pictures_are_xml(folder, monkeypatch, options):
    call(folder, monkeypatch, "rank", "votes.parquet", "--report", "page.html", "--title", "bad\x07\u202e", *options)
    page = (folder / "page.html").read_text()
    assert_safe_page(page)
    assert "<b>&amp;'\"]]>" in "".join(Words(page).words)


def test_halves_of_characters_are_shown_as_escapes():
    ranking = Ranking(["half \ud800", "other \udfff", "fine"], [2.0, 1.0, 0.0])
    assert_safe(repr(ranking))
    assert_safe(ranking._repr_html_())
    assert_safe("".join(ElementTree.fromstring(plots.svg(plots.intervals(ranking), "x")).itertext()))
    assert ranking.to_frame()["item"].to_list() == ["half \\ud800", "other \\udfff", "fine"]


def test_pictures_of_features_and_judges_take_any_name():
    rng = np.random.default_rng(2)
    left = rng.integers(0, 6, 300)
    right = (left + rng.integers(1, 6, 300)) % 6
    judges = np.array(["j\x1b[0m", "k\u202e"])[rng.integers(0, 2, 300)]
    votes = Comparisons.from_arrays(left, right, items=HOSTILE[:6], judge=judges)
    names = {item: {"a\x1b": float(k), "$\\b": float(k % 2)} for k, item in enumerate(HOSTILE[:6])}
    model = RABF(feature_penalty=0.1, residual_penalty=0.1).fit(votes, names)
    for figure in (feature_plots.coefficients(model), feature_plots.outliers(model)):
        assert_safe("".join(ElementTree.fromstring(plots.svg(figure, "x")).itertext()))
    assert_safe_page(str(Report(model.ranking_, votes, model=model)))
    crowd = CrowdBradleyTerry().fit(votes)
    assert_safe_page(str(Report(crowd.ranking_, votes, model=crowd)))


@given(st.text(st.characters(codec=None)))
def test_any_text_is_made_safe_and_xml_takes_it(text):
    assert_safe(one_line(text), lines=False)
    assert_safe(printable(text))
    element = ElementTree.Element("text")
    element.text = one_line(text)
    assert ElementTree.fromstring(ElementTree.tostring(element, encoding="unicode")).text == (one_line(text) or None)
    assert one_line(one_line(text)) == one_line(text)
