"""`podium rank --marks`, `--known-marks`, `--boundaries`: from the raw file to marks, grades and reliability."""

import html
import json
import re

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm

from podium import BradleyTerry, read_comparisons
from podium.cli import run
from podium.evaluate import judging_quality
from podium.ranking import award_marks
from podium.text import chance


@pytest.fixture
def votes(tmp_path):
    """300 votes of six judges on eight essays, with the seconds each took; Fay does not look."""
    rng = np.random.default_rng(1)
    quality = np.linspace(2, -2, 8)
    rows = []
    for judge, care in zip(("Ann", "Bob", "Cem", "Dot", "Eva", "Fay"), (1, 1, 1, 1, 1, 0), strict=True):
        for _ in range(50):
            a, b = rng.choice(8, 2, replace=False)
            won = int(rng.random() < 1 / (1 + np.exp(-care * (quality[a] - quality[b]))))
            rows.append(
                {"left": f"e{a}", "right": f"e{b}", "outcome": won, "judge": judge, "seconds": 4.0 + rng.random()}
            )
    pl.DataFrame(rows).write_csv(tmp_path / "votes.csv")
    return tmp_path / "votes.csv"


def call(capfd, *args):
    with pytest.raises(SystemExit) as stop:
        run(["rank", *map(str, args)])
    out, err = capfd.readouterr()
    return stop.value.code, out, err


def ok(capfd, *args):
    code, out, err = call(capfd, *args)
    assert code == 0, err
    return out, err


def test_marks_grades_and_reliability_are_those_of_the_library(votes, capfd):
    out, err = ok(capfd, votes, "--marks", "0:100", "--boundaries", "A=70,B=55", "--format", "json", "--level", "0.9")
    ranking = BradleyTerry().fit(read_comparisons(votes, judge=False)).ranking_
    expected = award_marks(ranking, (0, 100), boundaries={"A": 70, "B": 55}, level=0.9).to_frame()
    rows = pl.DataFrame(json.loads(out))
    for name in ("mark", "mark_lower", "mark_upper", "chance", "P(A)", "P(B)", "P(below B)"):
        assert rows.sort("item")[name].to_list() == pytest.approx(expected.sort("item")[name].to_list(), abs=1e-6)
    assert rows["grade"].to_list() == ["A" if m >= 70 else "B" if m >= 55 else "below B" for m in rows["mark"]]
    assert rows["mark"].to_list() == sorted(rows["mark"], reverse=True)
    assert (rows["mark"][0], rows["mark"][-1]) == (pytest.approx(100), pytest.approx(0))
    quality = judging_quality(read_comparisons(votes))
    for line in quality.words():
        if "median" not in line:
            assert line in err
    assert f"scale separation reliability {quality.separation:.2f} (all pairs)" in err
    assert "misfit: judge Fay, infit" in err
    assert "median seconds a judgement: 4." in err


def test_the_table_for_people_has_marks_with_intervals_and_grades_with_chances(votes, capfd):
    out, _ = ok(capfd, votes, "--marks", "0:100", "--boundaries", "A=70,B=55")
    lines = out.splitlines()
    assert lines[0].split() == ["rank", "item", "mark", "interval", "grade", "chance", "votes"]
    assert lines[1].split()[:3] == ["1", "e0", "100.0"]
    assert " %" in lines[1]
    short, _ = ok(capfd, votes, "--marks", "1:6", "--ci", "none", "--top", "3")
    assert short.splitlines()[0].split() == ["rank", "item", "mark", "votes"]
    assert len(short.splitlines()) == 4
    assert "6.00" in short


@pytest.mark.parametrize(("scale", "boundaries"), [("0:100", "A=70,B=0"), ("6:1", "A=2,B=6")])
def test_nobody_falls_below_a_grade_that_begins_at_the_end_of_the_scale(votes, capfd, scale, boundaries):
    rows = json.loads(ok(capfd, votes, "--marks", scale, "--boundaries", boundaries, "--format", "json")[0])
    assert {row["P(below B)"] for row in rows} == {0}
    assert all(row["P(A)"] + row["P(B)"] == pytest.approx(1) for row in rows)


def test_the_page_has_the_marks_of_the_table(votes, capfd, tmp_path):
    page = tmp_path / "page.html"
    out, _ = ok(capfd, votes, "--marks", "0:100", "--boundaries", "<A>=70,B=55", "--report", page, "--format", "json")
    text = page.read_text()
    for row in json.loads(out):
        shown = f">{row['mark']:.1f}</td>", f">{row['mark_lower']:.1f} … {row['mark_upper']:.1f}</td>"
        line = re.search(rf'<tr id="item-{row["item"]}".*?</tr>', text)[0]
        assert all(cell in line for cell in shown)
        assert f">{html.escape(row['grade'])}</td>" in line
        assert f">{html.escape(chance(row['chance']))}</td>" in line
    assert "Marks on a scale from the lowest item to the best, with 95 % intervals." in text
    assert "<A>" not in text
    for sentence in judging_quality(read_comparisons(votes)).words():
        assert f"<p>{sentence[0].upper()}{sentence[1:]}.</p>" in text or "median" in sentence
    assert "more votes are needed before marks can be relied on" not in text, "reliable"


def test_a_page_of_unreliable_marks_says_so_at_its_top(tmp_path, capfd):
    rng, file, page = np.random.default_rng(0), tmp_path / "coins.csv", tmp_path / "page.html"
    pairs = [rng.choice(6, 2, replace=False) for _ in range(60)]
    file.write_text("winner,loser\n" + "".join(f"e{a},e{b}\n" for a, b in pairs))
    ok(capfd, file, "--marks", "0:100", "--report", page)
    text = page.read_text()
    assert "more votes are needed before marks can be relied on" in text[: text.index("<section")]


def test_marks_without_errors_claim_no_intervals(votes, capfd):
    out, err = ok(capfd, votes, "--marks", "0:100", "--method", "elo")
    assert "marks on a scale from the lowest item to the best\n" in err
    assert "interval" not in out


def test_known_marks_come_from_a_file(votes, capfd):
    known = votes.parent / "known.csv"
    known.write_text("item,mark\ne0,80\ne4,55\ne7,35\n")
    page = votes.parent / "known.html"
    out, _ = ok(capfd, votes, "--known-marks", known, "--format", "json", "--report", page)
    row = re.search(r'<tr id="item-e4".*?</tr>', page.read_text())[0]
    assert "<th" in page.read_text().split(">Known<")[0].rsplit("\n", 1)[-1]
    assert 'data-v="55">55</td>' in row
    assert "<span>known 55</span>" in row
    rows = {row["item"]: row for row in json.loads(out)}
    ranking = BradleyTerry().fit(read_comparisons(votes, judge=False)).ranking_
    x = [ranking.score(item) for item in ("e0", "e4", "e7")]
    slope, intercept = np.polyfit(x, [80, 55, 35], 1)
    assert rows["e2"]["mark"] == pytest.approx(intercept + slope * ranking.score("e2"), abs=1e-6)
    assert rows["e4"]["known"] == 55
    assert rows["e2"]["known"] is None
    half = (rows["e2"]["mark_upper"] - rows["e2"]["mark_lower"]) / 2 / norm.ppf(0.975)
    lower, upper = ranking.intervals(kind="credible")
    own = slope * (upper - lower)[ranking.items.index("e2")] / 2 / norm.ppf(0.975)
    assert half > own


def test_pairs_of_a_campaign_say_whether_they_were_chosen(votes, capfd):
    frame = pl.read_csv(votes)
    kinds = np.where(np.arange(300) % 3 == 0, "check", "chosen")
    frame.with_columns(kind=pl.Series(kinds)).write_csv(votes)
    _, err = ok(capfd, votes, "--marks", "0:100")
    check = votes.parent / "check.csv"
    frame.filter(pl.Series(kinds == "check")).write_csv(check)
    separation = judging_quality(read_comparisons(check)).separation
    assert f"scale separation reliability {separation:.2f} (check pairs)" in err
    frame.with_columns(kind=pl.lit("chosen")).write_csv(votes)
    _, err = ok(capfd, votes, "--marks", "0:100")
    assert "no scale separation reliability: pairs were chosen by the answers before" in err
    frame.write_csv(votes)
    _, err = ok(capfd, votes, "--marks", "0:100", "--chosen-pairs")
    assert "no scale separation reliability: pairs were chosen" in err


def test_each_part_has_its_own_scale(votes, capfd):
    frame = pl.read_csv(votes).with_columns(year=pl.Series(["one", "two"] * 150))
    frame.write_csv(votes)
    out, _ = ok(capfd, votes, "--marks", "0:10", "--by", "year", "--format", "json")
    rows = pl.DataFrame(json.loads(out))
    assert rows.group_by("year").agg(pl.col("mark").min())["mark"].to_list() == pytest.approx([0, 0])


def test_what_holds_of_all_votes_is_not_told_of_the_last_part(votes, capfd):
    """The last heading above reliability and misfits is that of all votes, and what is said is as without parts."""
    frame = pl.read_csv(votes).with_columns(year=pl.Series(["one", "two"] * 150))
    frame.write_csv(votes)
    _, whole = ok(capfd, votes, "--marks", "0:10")
    _, err = ok(capfd, votes, "--marks", "0:10", "--by", "year")
    assert "all votes together" not in whole
    before, below = err.split("all votes together\n")
    assert "year = two" in before
    assert "reliability" not in before
    assert "scale separation reliability" in below
    assert "misfit: judge" in below
    assert whole.endswith(below)


def test_numbers_as_labels_and_columns_by_option(votes, capfd):
    frame = pl.read_csv(votes).rename({"judge": "marker"})
    frame.with_columns(pl.col("left", "right").str.slice(1).cast(pl.Int64)).write_parquet(votes.parent / "v.parquet")
    (votes.parent / "known.csv").write_text("item,mark\n0,80\n7,35\n")
    arguments = [votes.parent / "v.parquet", "--known-marks", votes.parent / "known.csv", "--judge", "marker"]
    out, err = ok(capfd, *arguments, "--format", "json")
    assert len(json.loads(out)) == 8
    assert "misfit: judge Fay" in err


BAD = {
    "one": ("item,mark\ne0,80\n", "one known mark fixes no scale"),
    "twice": ("item,mark\ne0,80\ne1,60\ne0,70\n", "row 3: 'e0' has a mark already; keep one of them"),
    "words": ("item,mark\ne0,80\ne1,good\n", "row 2: the mark of 'e1' is 'good'; give a number"),
    "hole": ("item,mark\ne0,80\ne1,\n", "row 2: the mark of 'e1' is None; give a number"),
    "nameless": ("item,mark\ne0,80\n,70\n", "row 2: there is no item"),
    "stranger": ("item,mark\ne0,80\nzoe,60\n", "row 2: there are no votes on 'zoe'; correct the name"),
    "near": ("item,mark\ne0,80\nE1,60\n", "row 2: there are no votes on 'E1'; do you mean 'e1'?"),
    "column": ("item,grade\ne0,80\n", "has no column 'mark'"),
    "falling": ("item,mark\ne0,20\ne7,60\n", "do not rise with the scores: 'e0' is ranked above 'e7'"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_of_known_marks_is_named_by_row(votes, capfd, name):
    content, says = BAD[name]
    path = votes.parent / "known.csv"
    path.write_text(content)
    code, out, err = call(capfd, votes, "--known-marks", path)
    assert (code, out) == (2, "")
    assert any(part in err for part in says.split("|"))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--marks", "100"], "'100' is not LOW:HIGH, as 0:100"),
        (["--marks", "7:7"], "the two ends must be different numbers"),
        (["--marks", "0:nan"], "the two ends must be different numbers"),
        (["--marks", "0:100", "--boundaries", "A"], "'A' is not GRADE=MARK, as A=70"),
        (["--marks", "0:100", "--boundaries", "A=70,A=60"], "grade 'A' is given twice"),
        (["--marks", "0:100", "--boundaries", "B=50,A=70"], "name the best grade first"),
        (["--marks", "0:100", "--boundaries", "A=700"], "outside the scale 0 to 100"),
        (["--boundaries", "A=70"], "--boundaries is about marks; add --marks 0:100"),
        (["--chosen-pairs"], "--chosen-pairs is about marks"),
        (["--marks", "0:100", "--differences"], "--differences is about scores; leave --marks out"),
        (["--known-marks", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_options_that_mean_nothing_are_named(votes, capfd, options, says):
    code, out, err = call(capfd, votes, *options)
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) == 1
