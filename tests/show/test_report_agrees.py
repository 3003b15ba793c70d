"""One fitted model feeds the page and the pictures: whatever the options, every section says what the table says."""

import itertools
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import podium
import podium.evaluate.diagnosis
import podium.ranking.uncertainty
from podium.cli.rank import rank
from podium.pairwise import METHODS
from podium.show import plots

ITEMS = ("ash", "beech", "cedar", "dogwood", "elm")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Votes with sides, ties, judges and a covariate that makes beech lead until it is held fixed."""
    made = tmp_path_factory.mktemp("agree")
    rng = np.random.default_rng(3)
    m, skill, wordy = 400, np.array([0.9, 0.5, 0.0, -0.4, -0.9]), np.array([0.0, 2.5, 0.0, -1.0, 0.0])
    left = rng.integers(0, 5, m)
    right = (left + rng.integers(1, 5, m)) % 5
    long = wordy[left] + rng.normal(size=m), wordy[right] + rng.normal(size=m)
    half = (skill[left] - skill[right] + 0.6 * (long[0] - long[1]) + 0.5) / 2
    chances = np.array([np.exp(half), np.full(m, 0.8), np.exp(-half)])
    place = rng.random(m) * chances.sum(axis=0)
    outcome = 1 - 0.5 * ((place > chances[0]).astype(int) + (place > chances[0] + chances[1]).astype(int))
    names = np.array(ITEMS)
    columns = {"left": names[left], "right": names[right], "outcome": outcome, "judge": rng.integers(0, 40, m)}
    columns |= {"day": np.arange(m) // 10}
    pl.DataFrame(columns | {"length_a": long[0], "length_b": long[1]}).write_csv(made / "votes.csv")
    pl.DataFrame({"name": names, "size": skill + 0.1}).write_csv(made / "items.csv")
    return made


class Page(HTMLParser):
    """The words of a page, and the cells of its tables, as wide screens show them."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.words, self.depth, self.on_phones = [], [], 0, False
        self.feed(text)
        self.text = " ".join("".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self.depth = 1
        elif ("class", "narrow") in attrs:
            self.on_phones = True

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self.depth = 0
        if tag in ("small", "svg"):
            self.on_phones = False

    def handle_data(self, data):
        if self.on_phones:
            return
        self.words.append(data)
        if self.depth:
            self.tables[-1][-1][-1] += data


def run(folder, monkeypatch, *options):
    """The leaderboard as data, the page, and what was drawn as history."""
    drawn = []
    draw = plots.history
    monkeypatch.setattr(plots, "history", lambda *args, **more: drawn.append((args, more)) or draw(*args, **more))
    monkeypatch.chdir(folder)
    quick = podium.evaluate.diagnosis.diagnose
    few = lambda *args, **more: quick(*args, **more | {"replicates": 3, "splits": 2})  # noqa: E731
    monkeypatch.setattr(podium.evaluate.diagnosis, "diagnose", few)
    done = CliRunner().invoke(rank, ["votes.csv", "--report", "page.html", "--format", "json", *options])
    assert done.exit_code == 0, (done.output, done.exception)
    return json.loads(done.stdout), Page(Path("page.html").read_text()), drawn, done.stderr


BRADLEY_TERRY = [
    [*ties, *side, *length, *scale]
    for ties, side, length, scale in itertools.product(
        ([], ["--ties", "davidson"]),
        ([], ["--side-effect"]),
        ([], ["--covariates", "length"]),
        ([], ["--scale", "elo"]),
    )
]
SHOWN = itertools.cycle(
    [[], ["--level", "0.8", "--top", "2"], ["--ci", "judge", "--level", "0.99"], ["--top", "3", "--simultaneous"]]
)
TIMED = {"dynamic": ["--time", "day"]}
OTHERS = [["--method", method, *TIMED.get(method, [])] for method in METHODS] + [
    ["--features", "items.csv"],
    ["--ci", "none"],
]
OTHERS += [["--anchor", "elm=1500", "--scale", "elo"], ["--l2", "30"], ["--min-votes", "161"]]


@pytest.mark.parametrize("options", [[*one, *next(SHOWN)] for one in BRADLEY_TERRY] + OTHERS, ids=" ".join)
def test_every_section_says_what_the_leaderboard_says(folder, monkeypatch, options):
    rows, page, drawn, told = run(folder, monkeypatch, *options)
    leader, scores = rows[0]["item"], {row["item"]: row["score"] for row in rows}
    digits = 0 if max(scores.values()) > 100 else 2
    # The headline and the table.
    assert f"{leader} leads" in page.text
    table = page.tables[0][1:]
    assert [(cells[1], float(cells[2].replace("−", "-"))) for cells in table] == [
        (row["item"], pytest.approx(row["score"], abs=0.5 * 10**-digits + 1e-9)) for row in rows
    ]
    if rows[0]["rank_lower"] is not None:
        shown = [cells[5] for cells in table]
        assert shown == [f"{row['rank_lower']}–{row['rank_upper']}" for row in rows]
    # The history ends where the table is, in its unit, and shows as many.
    ((votes, items, lines), more) = drawn[0]
    assert votes[-1] == 400
    for item, score in scores.items():
        assert lines[-1][items.index(item)] == pytest.approx(score)
    top = int(options[options.index("--top") + 1]) if "--top" in options else None
    assert more["top"] == top
    elo = "elo" in options
    assert ("Elo" in more["unit"]) == elo
    assert ("Elo scale" in page.text) == elo
    # Checks name the same leader.
    assert all(name == leader for name in re.findall(r"would lead instead of (\w+)", page.text))
    # One level, in every word.
    level = options[options.index("--level") + 1] if "--level" in options else "0.95"
    percent = f"{100 * float(level):g}"
    assert set(re.findall(r"([\d.]+) % (?:intervals|confidence)", page.text)) <= {percent}
    assert set(re.findall(r"\(([\d.]+) %\)(?! confidence)", page.text.split("Who beat whom")[0])) <= {percent}
    if "--ci" in options and "none" in options:
        assert "±" not in page.text + told


def half_widths(text):
    return [float(number) for number in re.findall(r"± ([\d.e-]+)", text)]


def test_the_level_reaches_every_half_width(folder, monkeypatch):
    options = ["--covariates", "length", "--side-effect", "--ties", "davidson"]
    low, high = (run(folder, monkeypatch, *options, "--level", level) for level in ("0.6826894921", "0.9544997361"))
    for one, two in ((low[3], high[3]), (low[1].text, high[1].text)):  # one standard error, and two
        narrow, wide = half_widths(one), half_widths(two)
        assert len(narrow) == len(wide) > 0
        assert wide == pytest.approx([2 * width for width in narrow], rel=0.06)  # two digits are printed


def test_side_ties_and_covariates_are_on_the_page_in_the_unit_of_the_scores(folder, monkeypatch):
    monkeypatch.chdir(folder)
    votes = podium.read_comparisons("votes.csv", covariates=["length"])
    model = podium.BradleyTerry(ties="davidson", side_effect=True).fit(votes)
    options = ["--covariates", "length", "--side-effect", "--ties", "davidson"]
    for scale, unit, word in (("log-odds", 1.0, "log-odds"), ("elo", 400 / np.log(10), "Elo points")):
        page = run(folder, monkeypatch, *options, "--scale", scale)[1]
        assert f"in favour of the left side: {unit * model.side_effect_:+.3g} ±" in page.text
        assert f"{word}; scores are corrected for it" in page.text
        assert f"ν = {model.tie_strength_:.3g}" in page.text
        assert f"{unit * model.coef_[0] * votes.covariate_sds()[0]:+.4g}" in page.text


def test_errors_of_effects_are_those_that_were_asked_for(folder, monkeypatch):
    monkeypatch.chdir(folder)
    votes = podium.read_comparisons("votes.csv", covariates=["length"])
    model = podium.BradleyTerry().fit(votes)
    model.ranking_ = model.ranking_.with_uncertainty("cluster", cluster="judge")
    _, page, _, told = run(folder, monkeypatch, "--covariates", "length", "--ci", "judge")
    half = podium.ranking.uncertainty.quantile(0.95) * model.coef_std_errors_[0] * votes.covariate_sds()[0]
    assert half_widths(told) == pytest.approx([half], rel=0.06)
    assert f"{half:.2g}" in page.text


@pytest.mark.parametrize(
    "options", [["--scale", "elo"], ["--ties", "davidson"], ["--top", "2"], ["--min-votes", "161"]]
)
def test_the_picture_of_the_history_follows_the_options(folder, monkeypatch, options):
    rows, _, drawn, _ = run(folder, monkeypatch, *options, "--plot", "history.svg", "--picture", "history")
    ((_, items, lines), _), *_ = drawn
    text = Path("history.svg").read_text()
    assert (">score, on the Elo scale<" in text) == ("elo" in options)
    for row in rows:
        assert lines[-1][items.index(row["item"])] == pytest.approx(row["score"])
        assert f">{row['item']}<" in text
    for item in set(ITEMS) - {row["item"] for row in rows}:
        assert f">{item}<" not in text


def test_no_quantile_is_written_out_in_the_source():
    """A level must reach every width: the normal quantile of 95 % comes from `quantile` alone."""
    root = Path(podium.__file__).parent
    written = re.compile(r"(?<![\d.])1\.9(6|59|600)\d*")
    for path in root.rglob("*.py"):
        assert not written.search(path.read_text()), path.name


SETTINGS = [
    ([], ["l2: auto", "sd: 0.", "ties: half", "side effect: no", "95 % confidence"]),
    (["--l2", "0.3"], ["l2: 0.3"]),
    (["--ties", "davidson", "--side-effect"], ["ties: davidson", "side effect: yes"]),
    (["--covariates", "length"], ["covariates: length"]),
    (["--scale", "elo", "--anchor", "elm=1500"], ["scale: elo", "anchor: elm = 1500"]),
    (["--ci", "judge", "--level", "0.8"], ["80 % confidence, clustered by judge"]),
    (["--ci", "bootstrap", "--simultaneous"], ["bootstrap", "ranks of all items at once"]),
    (["--features", "items.csv"], ["features: ", "feature penalty: auto"]),
    (["--method", "elo"], ["elo"]),
]


@pytest.mark.parametrize(("options", "words"), SETTINGS, ids=[" ".join(options) for options, _ in SETTINGS])
def test_the_page_says_all_that_decides_the_scores_and_the_intervals(folder, monkeypatch, options, words):
    *_, page, _, _ = run(folder, monkeypatch, *options)
    method = page.text[page.text.index("Made with") - 600 :]
    assert all(word in method for word in words), method
