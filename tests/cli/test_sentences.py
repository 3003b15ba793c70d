"""Every sentence that a command says beside its table: in whole, and with the numbers of this very run."""

import hashlib
import json
import re
import types

import numpy as np
import polars as pl
import pytest

from podium import BradleyTerry, PlackettLuce, load
from podium.active.rehearsal import QUESTIONS_PER_ITEM
from podium.cli import diff, predict, run, serve
from podium.cli.ask import _begun
from podium.cli.judge_items import _gold, criteria_of
from podium.data.files import read_comparisons, read_votes
from podium.errors import EngineError, InputError
from podium.evaluate.diagnosis import diagnose
from podium.evaluate.differences import Differences
from podium.judge.assist import assisted
from podium.show.report import fit_words
from podium.store import open_store

from helpers import thin_data

SECRET = "each link is a secret and is shown only now; keep the organiser's, hand on the others"


def call(capfd, *args):
    with pytest.raises(SystemExit) as stop:
        run([str(arg) for arg in args])
    out, err = capfd.readouterr()
    assert stop.value.code == 0, err
    return out, err.splitlines()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "votes.csv").write_text("winner,loser\n" + "a,b\na,b\nb,a\nb,c\nb,c\nc,b\na,c\na,c\nc,a\n" * 4)
    (tmp_path / "items.csv").write_text("id,text\na,tea\nb,milk\nc,coffee\n")
    (tmp_path / "labels.csv").write_text("id\na\nb\n")
    return tmp_path


# ---- campaigns ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("db", ["campaign.db", "other.db"])
def test_a_new_campaign_says_what_it_is_and_how_its_links_work(folder, capfd, db):
    out, err = call(
        capfd, "campaign", "new", "items.csv", "--judges", 2, "--judge", "Ann", "--db", db, "--format", "csv"
    )
    rows = [line.split(",") for line in out.splitlines()]
    assert [who for who, _ in rows] == ["who", "organiser", "Ann", "judge 1", "judge 2"]
    assert all(
        link.startswith(f"http://127.0.0.1:8000/{'o' if k == 0 else 'j'}#") for k, (_, link) in enumerate(rows[1:])
    )
    assert len({link for _, link in rows}) == 5
    more = "" if db == "campaign.db" else ", with --db other.db"
    about = f"campaign 'items' in {db}: 3 items, 3 judges"
    assert err == [SECRET, about, f"the links work while `podium serve` runs{more}"]


def test_labels_alone_and_a_server_elsewhere_are_said(folder, capfd):
    url = ["--url", "https://x.example"]
    out, err = call(capfd, "campaign", "new", "labels.csv", "--title", "Hot & cold", *url, "--format", "csv")
    assert out.splitlines()[1].startswith("organiser,https://x.example/o#")
    assert err == [
        SECRET,
        "judges see the labels alone: no column is called text, body or file; --text COLUMN shows another one",
        "campaign 'hot-cold' in campaign.db: 2 items, 0 judges",
        "the links work while `podium serve` runs",
    ]
    out, err = call(capfd, "campaign", "invite", "Bob", "Zoe", *url, "--format", "csv")
    assert [line.partition(",")[0] for line in out.splitlines()] == ["who", "Bob", "Zoe"]
    assert err[0] == SECRET


def test_items_without_a_text_beside_texts_are_named(folder, capfd):
    call(capfd, "campaign", "new", "items.csv")
    (folder / "bare.csv").write_text("id\nd\ne\n")
    err = call(capfd, "campaign", "add-items", "bare.csv")[1]
    alone = "judges see the labels alone of 'd' and 'e', beside the texts of others"
    assert err == [
        f"{alone}: no text or file stands beside them; --text COLUMN shows another column",
        "2 items added, 5 in all",
    ]
    (folder / "full.csv").write_text("id,text\nf,cola\n")
    assert call(capfd, "campaign", "add-items", "full.csv")[1] == ["1 item added, 6 in all"]
    (folder / "late.csv").write_text("winner,loser\na,g\n")
    err = call(capfd, "campaign", "import", "late.csv", "--add")[1]
    assert err[0].startswith(
        "judges see the labels alone of 'g', beside the texts of others; add them with their texts"
    )
    call(capfd, "campaign", "new", "labels.csv", "--db", "labels.db")
    assert call(capfd, "campaign", "add-items", "bare.csv", "--db", "labels.db")[1] == ["2 items added, 4 in all"]


def test_an_import_tells_votes_from_skips_and_undone_ones(folder, capfd):
    call(capfd, "campaign", "new", "items.csv")
    pair = {"left": "a", "right": "b", "judge": "Ann"}
    rows = [{"podium": "ask"}, pair | {"outcome": 1}, {"podium": "skip"} | pair, pair | {"outcome": 0}]
    rows += [{"podium": "undo", "row": 2}, pair | {"outcome": 0.5}]
    (folder / "ann.jsonl").write_text("\n".join(map(json.dumps, rows)))
    said = call(capfd, "campaign", "import", "ann.jsonl")[1]
    assert said == ["3 votes, 1 skip and 1 undo added, 0 items and 1 judge new"]
    said = call(capfd, "campaign", "import", "ann.jsonl")[1]
    assert said == ["0 votes added, 5 rows there already, 0 items and 0 judges new"]


def test_an_import_names_no_options_as_a_way_out_that_it_has_not(folder, capfd):
    call(capfd, "campaign", "new", "items.csv")
    (folder / "odd.csv").write_text("a,b\n1,2\n")
    said = refused(capfd, "campaign", "import", "odd.csv")
    assert "cannot tell who won" in said
    assert said.rstrip().endswith("an import has no such options: change the file instead")


def test_an_export_that_comes_back_says_nothing_of_scores(folder, capfd):
    call(capfd, "campaign", "new", "items.csv")
    head = "seq,time,judge,left,right,outcome,kind,undoes,reason,ms,version,counts\n"
    row = "1,2026-01-01T00:00:00.000+00:00,Ann,a,b,1.0,chosen,,,,1,true\n"
    (folder / "log.csv").write_text(head + row)
    assert call(capfd, "campaign", "import", "log.csv")[1] == ["1 vote added, 0 items and 1 judge new"]
    row += "2,2026-01-01T00:00:01.000+00:00,Ann,b,c,,chosen,,,,1,false\n"
    row += "3,2026-01-01T00:00:02.000+00:00,Ann,c,a,1.0,chosen,,,,1,false\n"
    row += "4,2026-01-01T00:00:03.000+00:00,Ann,c,a,,chosen,3,,,1,false\n"
    (folder / "log.csv").write_text(head + row)
    assert call(capfd, "campaign", "import", "log.csv")[1] == [
        "0 votes added, 1 row there already, 0 items and 0 judges new; 3 rows of the file left out: undone, skipped or "
        "not counted there"
    ]


def test_marks_that_cannot_be_given_yet_say_why(folder, capfd):
    (folder / "known.csv").write_text("item,mark\na,10\nb,90\n")
    call(capfd, "campaign", "new", "items.csv", "--known-marks", "known.csv")
    (folder / "ballots.csv").write_text("winner,loser,judge\n" + "a,b,Ann\nb,c,Ann\na,c,Ann\n" * 3)
    call(capfd, "campaign", "import", "ballots.csv")
    err = call(capfd, "rank", "campaign.db")[1]
    (why,) = [line for line in err if line.startswith("no marks yet: ")]
    assert len(why) > len("no marks yet: ") + 10
    assert not any(line.startswith("marks with") for line in err)
    assert err[-1] == "place_lower to place_upper hold an item's true place with a chance of about 90 %"


# ---- comparing ------------------------------------------------------------------------------------------------------


def test_how_votes_were_dealt_and_who_was_left_out_is_said(folder, capfd):
    out, err = call(capfd, "compare", "votes.csv", "--folds", 3, "--method", "win-rate", "--method", "crowd")
    way = "name the column of the judge by --judge, or use Bradley-Terry"
    assert err == ["36 votes in 3 folds", f"crowd was left out: the votes name no judge; {way}"]
    assert "crowd" not in out
    assert "win-rate" in out


def changes(**more):
    given = {"items": ("a", "b"), "only": ((), ()), "agreement": 0.75, "unlike": (), "bounded": False}
    return types.SimpleNamespace(**given | more)


@pytest.mark.parametrize(("significant", "words"), [
    ([True, False], "1 change is significant (*), for all items at once"),
    ([True, True], "2 changes are significant (*), for all items at once"),
    ([False, False], "0 changes are significant (*), for all items at once"),
    (None, "no standard errors in one of them, so nothing can be called significant"),
])  # fmt: skip
def test_two_leaderboards_are_compared_in_words(capsys, significant, words):
    frame = pl.DataFrame({"item": ["a", "b"]} | ({} if significant is None else {"significant": significant}))
    diff._remark(changes(), frame)
    assert capsys.readouterr().err.splitlines() == [
        "2 items in both; 75.0 % of their pairs stand in the same order", words]  # fmt: skip
    diff._remark(changes(agreement=float("nan"), only=(("x",), tuple("uvwxyz")), bounded=True), frame)
    lines = capsys.readouterr().err.splitlines()
    assert lines[:3] == [
        "2 items in both; no pair is ordered in both", "only in the first: 1 (x)",
        "only in the second: 6 (u, v, w, x, y, …)",
    ]  # fmt: skip
    bound = "a table holds no covariances, so intervals are upper bounds; compare saved models for exact ones"
    assert (bound in lines) == (significant is not None)
    assert {"items", "only", "agreement", "unlike", "bounded"} <= {*Differences.__dataclass_fields__, *dir(Differences)}


@pytest.mark.parametrize(("one", "other", "tested", "words"), [
    ({"sd": "1.234"}, {"sd": "1.226"}, True, None), ({"sd": "1"}, {}, True, None),
    ({"sd": "1"}, {"sd": "2"}, True, "true scores seem to lie about 1.00 log-odds from the mean in the first, 2.00 in "
     "the second (l2=auto); changes are of scores without the penalty"),
    ({"sd": "1"}, {"sd": "2"}, False,
     "true scores seem to lie about 1.00 log-odds from the mean in the first, 2.00 in the second (l2=auto)"),
])  # fmt: skip
def test_penalties_that_differ_are_named(capsys, one, other, tested, words):
    diff._name_penalties(one, other, tested=tested)
    assert capsys.readouterr().err == (f"{words}\n" if words else "")


# ---- predicting -----------------------------------------------------------------------------------------------------


def test_chances_say_what_they_are_and_with_which_confidence(folder, capfd):
    call(capfd, "rank", "votes.csv", "--ties", "davidson", "--l2", 0.1, "--save", "ties.podium")
    (folder / "tied.csv").write_text("left,right,outcome\n" + "a,b,1\nb,a,0.5\nb,c,1\na,c,0.5\nc,b,1\nc,a,0\n" * 4)
    call(capfd, "rank", "tied.csv", "--l2", 0.1, "--save", "half.podium")
    (folder / "new.csv").write_text("left,right\na,b\nb,c\n")
    err = call(capfd, "predict", "new.csv", "--model", "ties.podium", "--level", 0.9)[1]
    assert err[0] == "2 pairs predicted: left wins, ties, loses; bounds hold with 90 % confidence"
    err = call(capfd, "predict", "new.csv", "--model", "half.podium")[1]
    assert err[0].startswith("2 pairs predicted: left wins, plus half a tie")
    err = call(capfd, "predict", "new.csv", "--model", "ties.podium", "--table", "--draws", 50, "--top", 2)[1]
    assert err == [
        "2 fixtures played 50 times; equal points: by lot",
        "points so far are not given (--played FILE); the table is of the fixtures alone",
    ]
    assert isinstance(load("ties.podium"), BradleyTerry)


@pytest.mark.parametrize(("played", "words"), [
    ("a,b,1\nc,a,1\n", "1 fixture of 3, as row 2, "), ("a,b,1\nb,c,0\n", "2 fixtures of 3, as row 2, "),
    ("b,a,1\nc,b,0\n", None),  # on the other side
    ("a,b,1\na,b,0\n", None),  # some pair met twice, so that a third time is nothing to wonder at
])  # fmt: skip
def test_fixtures_that_were_played_are_told(folder, capsys, played, words):
    (folder / "played.csv").write_text(f"left,right,outcome\n{played}")
    (folder / "new.csv").write_text("left,right,outcome\nc,b,1\na,b,1\nb,c,1\n".replace("c,b,1\n", "a,c,1\n"))
    pairs = read_comparisons("new.csv", keep="rows")
    for keep in ("rows", "counts"):
        predict._say_if_played(pairs, read_comparisons("played.csv", keep=keep))
        rest = "met on the same side in --played already; remove those that were played\n"
        assert capsys.readouterr().err == (f"{words}{rest}" if words else "")


# ---- grades and labels ----------------------------------------------------------------------------------------------


@pytest.fixture
def graded(folder):
    rng = np.random.default_rng(3)
    x = rng.normal(size=400)
    grade = 1 + (x > -0.5).astype(int) + (x > 0.5)
    pl.DataFrame({"x": x, "noise": rng.normal(size=400), "g": grade}).write_csv("grades.csv")
    return folder


def test_grades_are_compared_in_a_sentence_with_one_digit(graded, capfd):
    call(capfd, "grade", "fit", "grades.csv", "--label", "g", "--save", "g.podium", "--passes", 3)
    out, err = call(capfd, "grade", "evaluate", "grades.csv", "--label", "g", "--model", "g.podium", "--format", "csv")
    grader = load("g.podium")
    table = pl.concat(list(grader.grade(["grades.csv"])))
    truth = pl.read_csv("grades.csv")["g"]
    wrong = (table["grade"].cast(pl.Int64) - truth).abs()
    right = f"{100 * (wrong == 0).mean():.1f} %"
    assert err[-1] == f"400 rows: mean absolute error {wrong.mean():.3f}, right {right}"
    assert not any("gives every row the grade" in line for line in err)
    assert out.splitlines()[0].startswith("grade,")
    pl.DataFrame({"x": [0.0] * 6, "noise": [0.0] * 6, "g": [1, 2, 3] * 2}).write_csv("alike.csv")
    err = call(capfd, "grade", "evaluate", "alike.csv", "--label", "g", "--model", "g.podium")[1]
    assert [line for line in err if "gives every row" in line] == ["the model gives every row the grade 2"]
    pl.DataFrame({"x": [0.0] * 6, "noise": [0.0] * 6, "g": [2] * 6}).write_csv("one.csv")
    err = call(capfd, "grade", "evaluate", "one.csv", "--label", "g", "--model", "g.podium")[1]
    assert not any("gives every row" in line for line in err)  # which is right


@pytest.mark.parametrize("level", [0.3, 0.999])
def test_sets_of_grades_say_how_often_they_hold_the_truth(graded, capfd, level):
    call(capfd, "grade", "fit", "grades.csv", "--label", "g", "--save", "g.podium", "--passes", 3)
    err = call(capfd, "grade", "predict", "grades.csv", "--model", "g.podium", "--level", level)[1]
    grader = load("g.podium")
    share, rows = grader.held(level)
    assert err[0] == (
        f"lower to upper holds the grade of {100 * level:g} % of rows like the last ones learned (of a range it meets "
        "some grade, and holds the true one less often); while learning, "
        f"{100 * share:.0f} % of {rows} rows, by sets from the rows before them"
    )
    more = f"the grade alone is right in {100 * grader.right:.0f} % of these rows, so that sets hold more than asked"
    assert err[1:] == ([more] if grader.right > level else [])
    assert (grader.right > level) == (level == 0.3)


def test_a_label_ranker_says_what_it_was_trained_for(folder, capfd):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    tags = {f"tag_{j}": (x + rng.normal(size=60) > j - 1).astype(int) for j in range(3)}
    pl.DataFrame({"doc": range(60), "x": x, **tags}).write_csv("tags.csv")
    about = ["--labels", "tag_*", "--id", "doc"]
    for loss, exact in (("sum@2", True), ("ap", False)):
        out, err = call(capfd, "label", "fit", "tags.csv", *about, "--save", "l.podium", "--loss", loss, "--C", 1,
                        "--surrogate", "univariate", "--format", "csv")  # fmt: skip
        assert out.splitlines()[1] == f"60,1,3,{loss},linear,{str(exact).lower()}"
        assert f"trained for {loss}, saved l.podium" in err
        guess = f"no target makes the ranking best for {loss} with this surrogate; take it as a good guess"
        assert (guess in err) == (not exact)
        err = call(capfd, "label", "evaluate", "tags.csv", "--model", "l.podium", *about, "--at", "1,3")[1]
        assert err[0] == f"60 examples, 3 labels; trained for {loss}"
        err = call(capfd, "label", "evaluate", "tags.csv", "--model", "l.podium", *about, "--at", "1,4,5")[1]
        assert err == [
            f"60 examples, 3 labels; trained for {loss}; --at 4,5 left out, there are fewer labels",
            "the loss is what the best order of a row's labels would gain more",
        ]


# ---- plans, judges, servers -----------------------------------------------------------------------------------------


def test_a_plan_goes_on_to_the_first_number_of_votes_that_reaches_the_goal_in_the_mean(folder, capfd, monkeypatch):
    """Two runs with made-up reliabilities after 1, 2, 3 … questions for each item; one ends before the other."""
    looks = {7: [0.2, 0.6, 0.9], 8: [0.4, 0.5, 0.6, 0.7, 0.8]}
    asked = []

    def rehearsed(n, judges, noise, reliability, seed):
        asked.append((n, judges, noise, reliability))
        return looks[seed]

    monkeypatch.setattr("podium.active.rehearsal.reliability_by_votes", rehearsed)
    plan = ["plan", "--items", 4, "--runs", 2, "--seed", 7, "--judges", 2, "--seconds", 36, "--format", "csv"]
    out, err = call(capfd, *plan, "--reliability", 0.8)
    table = pl.read_csv(out.encode())
    votes = [4 * each for each in QUESTIONS_PER_ITEM[:4]]
    assert table["votes"].to_list() == votes
    assert table["reliability"].to_list() == pytest.approx([0.3, 0.55, 0.75, 0.8])
    assert table["worst_run"].to_list() == [0.2, 0.5, 0.6, 0.7]
    assert table["votes_per_judge"].to_list() == [each / 2 for each in votes]
    assert table["hours"].to_list() == pytest.approx([each / 100 for each in votes])
    assert table["hours_per_judge"].to_list() == pytest.approx([each / 200 for each in votes])
    assert asked == [(4, 2, 0.5, 0.8)] * 2
    few = "beyond 12 votes 2 judges would be too few: a campaign asks nobody about a pair twice"
    assert err == ([few] if votes[-1] > 12 else [])
    out, err = call(capfd, *plan, "--reliability", 0.95)
    assert len(out.splitlines()) == 6
    last = 4 * QUESTIONS_PER_ITEM[4]
    assert err[-1] == f"0.95 is not reached with {last} votes; judges this unsure may never reach it"
    assert err[:-1] == ([few] if last > 12 else [])


def test_a_dry_run_says_what_all_would_cost(folder, capfd):
    """Sixty tokens are taken to come back of each call; what goes in is not priced here."""
    asked = [
        "judge",
        "items.csv",
        "--question",
        "Q?",
        "--base-url",
        "http://127.0.0.1:9/v1",
        "--model",
        "m",
        "--dry-run",
    ]
    err = call(capfd, *asked, "--price-out", 5000)[1]
    said = re.search(r"up to (\d+) pairs of 3 items, (\d+) calls, about [\d,]+ tokens in and (\d+) out", err[-2])
    pairs, calls, out = map(int, said.groups())
    assert (pairs, calls, out) == (3, 6, 360)
    assert err[-1] == f"about {360 * 5000 / 1e6:.2f} in all"
    err = call(capfd, *asked, "--price-out", 5000, "--max-cost", 1.5)[1]
    assert err[-1] == "about 1.80 in all; --max-cost stops at 1.5"
    assert not any(line.endswith("in all") for line in call(capfd, *asked)[1])
    err = call(capfd, "judge", "items.csv", "--question", "Q?", "--command", "cat", "--dry-run")[1]
    assert err == ["nothing was asked; up to 3 pairs of 3 items, 6 calls"]


@pytest.mark.parametrize("token", [None, "secret"])
@pytest.mark.parametrize(
    ("url", "begin"),
    [("https://x.example", "; here they begin with https://x.example"), ("http://127.0.0.1:8000", "")],
)
def test_a_server_says_where_it_is_and_what_it_serves(folder, capfd, token, url, begin):
    call(capfd, "campaign", "new", "items.csv")
    with open_store("campaign.db") as store:
        serve._say_where(store, url, token)
    lines = capfd.readouterr().err.splitlines()
    assert lines == [
        f"serving campaign.db at {url}; Ctrl-C ends it",
        f"  campaign 'items' is open; its links were printed when it was made{begin}",
        *([f"  make a campaign: {url}/new#secret"] if token else []),
    ]


# ---- refusals -------------------------------------------------------------------------------------------------------


def refused(capfd, *args):
    """The sentence without the name of the program."""
    with pytest.raises(SystemExit) as stop:
        run([str(arg) for arg in args])
    out, err = capfd.readouterr()
    assert (stop.value.code, out, err.count("\n")) == (2, "", 1), err
    return err.removeprefix("podium: ").rstrip()


MODEL = ["--question", "Q?", "--base-url", "http://127.0.0.1:9/v1", "--model", "m", "--dry-run"]
VOTES = ["rank", "votes.csv"]


@pytest.mark.parametrize(("args", "words"), [
    ([*VOTES, "--assist", "votes.csv", "--marks", "0:9"], "--assist gives scores, not marks; leave --marks out"),
    ([*VOTES, "--cluster-ca", "x"], "--cluster-ca is for a cluster; add --cluster"),
    ([*VOTES, "--cluster-cert", "x"], "--cluster-cert is for a cluster; add --cluster"),
    ([*VOTES, "--cluster-key", "x"], "--cluster-key is for a cluster; add --cluster"),
    ([*VOTES, "--cluster", "local:1", "--jobs", 2], "--jobs is for this machine alone; drop it, or --cluster"),
    ([*VOTES, "--ranks", "pairwise", "--ci", "sandwich"],
     "--ranks pairwise goes by the posterior's own errors; drop --ci sandwich"),
    ([*VOTES, "--picture", "wins"], "--picture is about --plot, which is not given; add it"),
    ([*VOTES, "--since", "votes.csv"], "--since is about --report, which is not given; add it"),
    ([*VOTES, "--fixtures", "votes.csv"], "--fixtures is about --report, which is not given; add it"),
    ([*VOTES, "--title", "T"], "--title is about --plot, --report or --embed; add one of them"),
    ([*VOTES, "--seed", 3], "--seed is about the bootstrap only; add --ci bootstrap"),
    ([*VOTES, "--ci", "none", "--level", 0.9], "--level is about intervals, and there are none"),
    ([*VOTES, "--ci", "none", "--simultaneous"], "--simultaneous is about intervals, and there are none"),
    ([*VOTES, "--method", "win-rate", "--ranks", "guaranteed"], "--ranks is about intervals, and there are none"),
    ([*VOTES, "--method", "win-rate", "--reference", "a"], "--reference is about intervals, and there are none"),
    (["grade", "fit", "votes.csv", "--label", "loser"], "missing option '--save'; see podium grade fit --help"),
    (["judge", "items.csv", *MODEL, "--extra-body", "[1]"],
     "--extra-body is no JSON object; give one, as '{\"top_p\": 0.9}'"),
    (["judge", "items.csv", *MODEL, "--header", "X Team=red"],
     "--header: one is not NAME=VALUE in plain letters; give it as X-Team=red"),
    (["judge", "items.csv", *MODEL, "--header", "X-Team"],
     "--header: one is not NAME=VALUE in plain letters; give it as X-Team=red"),
    (["judge", "items.csv", *MODEL, "--header", "X-Team=röd"],
     "--header: one is not NAME=VALUE in plain letters; give it as X-Team=red"),
    (["judge", "items.csv", *MODEL, "--gold", "tied.csv"],
     "tied.csv, row 2: 'b' and 'a' tie; a known answer has a winner"),
    (["judge", "items.csv", *MODEL, "--gold", "twice.csv"],
     "twice.csv, row 2: 'b' and 'a' appear twice; keep one of the rows"),
    (["judge", "--server", "ftp://x", "--command", "cat"],
     "--server 'ftp://x' is no address; give one as http://127.0.0.1:8000"),
    (["judge", "--server", "x", "--command", "cat"], "--server 'x' is no address; give one as http://127.0.0.1:8000"),
    (["judge", "--server", "http://x/j#secret", "--command", "cat"],
     "--server holds a secret, which others can see; give the address, and set PODIUM_JUDGE_LINK to the link"),
    (["judge", "--server", "http://x", "--command", "cat"],
     "--server needs a judge's link; set PODIUM_JUDGE_LINK to the one that the organiser sent"),
    (["ask", "items.csv", "--log", "l.jsonl", "--top", 3], "--top 3: there are 3 items; give 1 to 2"),
    (["ask", "items.csv", "--log", "l.jsonl", "--top", 1, "--preset", "exact"],
     "--preset exact orders all items; leave --top out, or take another preset"),
    (["ask", "items.csv", "--log", "l.jsonl", "--top", 1, "--preset", "paper"],
     "--preset paper orders all items; leave --top out, or take another preset"),
    (["diff", "mixed.csv", "votes.csv"],
     "mixed.csv: its rows were fitted in 2 ways (settings); give one leaderboard"),
    (["rank", "votes.csv", "--since", "votes.csv", "--report", "r.html"],
     "votes.csv is no leaderboard: it has no columns item and score; write one with podium rank -o"),
])  # fmt: skip
def test_what_cannot_be_is_refused_in_these_words(folder, capfd, monkeypatch, args, words):
    monkeypatch.delenv("PODIUM_JUDGE_LINK", raising=False)
    (folder / "tied.csv").write_text("left,right,outcome\na,b,1\nb,a,0.5\n")
    (folder / "twice.csv").write_text("left,right,outcome\na,b,1\nb,a,1\n")
    (folder / "mixed.csv").write_text("item,score,settings\na,1,method=elo\nb,2,method=bradley-terry\n")
    assert refused(capfd, *args) == words


def test_bad_json_says_where_it_is_bad(folder, capfd):
    told = refused(capfd, "judge", "items.csv", *MODEL, "--extra-body", '{"top_p": }')
    assert told.startswith("--extra-body is no JSON (Expecting value: line 1 column 11")
    assert told.endswith("; give an object, as '{\"top_p\": 0.9}'")


@pytest.mark.parametrize(("mark", "shown"), [("", "None"), ("nan", "nan"), ("inf", "inf")])
def test_a_known_mark_that_is_none_is_named_with_its_row(folder, capfd, mark, shown):
    (folder / "known.csv").write_text(f"item,mark\na,90\nb,{mark}\n")
    told = refused(capfd, *VOTES, "--known-marks", "known.csv")
    assert told == f"known.csv, row 2: the mark of 'b' is {shown}; give a number"


def test_known_marks_are_by_item_each_once(folder, capfd):
    for rows, words in (
        ("a,90\na,10\n", "known.csv, row 2: 'a' has a mark already; keep one of them"),
        ("a,90\n,10\n", "known.csv, row 2: there is no item; name it or remove the row"),
        ("a,90\nA,10\n", "known.csv, row 2: there are no votes on 'A'; do you mean 'a'?"),
        ("a,90\nzebra,10\n", "known.csv, row 2: there are no votes on 'zebra'; correct the name, or remove the row"),
    ):
        (folder / "known.csv").write_text(f"item,mark\n{rows}")
        assert refused(capfd, *VOTES, "--known-marks", "known.csv") == words
    (folder / "known.csv").write_text("name,mark\na,90\n")
    told = refused(capfd, *VOTES, "--known-marks", "known.csv")
    assert told == "known.csv has no column 'item'; it needs item and mark, one row for each"
    (folder / "known.csv").write_text("Item , MARK\na,90\nb,50\nc,10\n")
    out, _ = call(capfd, *VOTES, "--known-marks", "known.csv", "--format", "csv")
    table = pl.read_csv(out.encode())
    assert dict(zip(table["item"], table["known"], strict=True)) == {"a": 90.0, "b": 50.0, "c": 10.0}


# ---- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("args", "words"), [
    ([*VOTES, "-o", "votes.csv"], "--output votes.csv would overwrite what is read; choose another name"),
    ([*VOTES, "-o", "./votes.csv"], "--output votes.csv would overwrite what is read; choose another name"),
    ([*VOTES, "-o", "link.csv"], "--output link.csv would overwrite what is read; choose another name"),
    ([*VOTES, "--features", "items.csv", "-o", "items.csv"],
     "--output items.csv would overwrite what is read; choose another name"),
    (["rank", "votes.csv", "labels.csv", "--save", "labels.csv"],
     "--save labels.csv would overwrite what is read; choose another name"),
    ([*VOTES, "--save", "x.html", "--report", "x.html"],
     "--save and --report are both x.html; give each a file of its own"),
    ([*VOTES, "-o", "x.svg", "--plot", "x.svg"], "--output and --plot are both x.svg; give each a file of its own"),
    ([*VOTES, "--save", "-"], "--save - : this goes to a file, not to standard output; give it a name"),
    (["predict", "votes.csv", "--model", "m.podium", "-o", "m.podium"],
     "--output m.podium would overwrite what is read; choose another name"),
    (["ask", "items.csv", "--log", "items.csv"], "--log items.csv would overwrite what is read; choose another name"),
    *(([*VOTES, f"--{read}", "items.csv", "--report", "r.html", "-o", "items.csv"],
       "--output items.csv would overwrite what is read; choose another name")
      for read in ("known-marks", "fixtures", "since")),
    (["predict", "votes.csv", "--model", "m.podium", "--table", "--played", "items.csv", "-o", "items.csv"],
     "--output items.csv would overwrite what is read; choose another name"),
    ([*VOTES, "--plot", "x.svg", "--embed", "x.svg"], "--plot and --embed are both x.svg; give each a file of its own"),
])  # fmt: skip
def test_an_output_is_never_written_over_what_is_read_or_written(folder, capfd, args, words):
    (folder / "link.csv").symlink_to(folder / "votes.csv")
    (folder / "m.podium").write_text("x")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert refused(capfd, *args) == words
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


# ---- what reaches the library ---------------------------------------------------------------------------------------


def test_all_that_is_typed_of_an_interview_reaches_the_ranker():
    features = np.arange(8.0).reshape(4, 2)
    texts = dict.fromkeys("abcd", "x")
    given = {"preset": "quick", "top": 2, "budget": 7, "random_share": 0.25, "seed": 5, "features": features}
    made = _begun(texts, **given)
    assert list(made.items) == list("abcd")
    assert (made.preset, made.budget, made.random_share, made.seed) == ("quick", 7, 0.25, 5)
    assert made.goal == ("top", 2)
    assert made._features == hashlib.sha256(features.tobytes()).hexdigest()[:16]  # by which a journal knows them again


@pytest.mark.parametrize(("problem", "code"), [(EngineError("workers left"), 1), (InputError("bad row"), 2)])
def test_a_failure_of_workers_has_a_code_of_its_own(folder, capfd, monkeypatch, problem, code):
    def fails(*args, **options):
        raise problem

    monkeypatch.setattr("podium.data.files.read_votes", fails)
    with pytest.raises(SystemExit) as stop:
        run(["rank", "votes.csv"])
    assert (stop.value.code, capfd.readouterr().err) == (code, f"podium: {problem}\n")


def test_a_dry_run_of_a_program_shows_the_first_line_it_would_be_sent(folder, capfd):
    (folder / "tea.csv").write_text("id,text\na,thé\nb,mjölk\nc,kaffe\n")
    out, _ = call(capfd, "judge", "tea.csv", "--question", "Été?", "--command", "cat", "--dry-run")
    assert json.loads(out) | {"id": ""} == {
        "id": "", "question": "Été?", "left": "thé", "right": "mjölk", "context": None, "reference": None,
        "instructions": json.loads(out)["instructions"],
    }  # fmt: skip
    assert "mjölk" in out  # as people write it


def test_a_reference_may_be_a_number_and_a_name_that_is_not_there_is_told(folder, capfd):
    (folder / "numbers.csv").write_text("winner,loser\n" + "1,2\n1,2\n2,1\n2,3\n2,3\n3,2\n1,3\n3,1\n" * 5)
    out, err = call(capfd, "rank", "numbers.csv", "--l2", 0.1, "--reference", 2, "--format", "csv")
    row = {str(each["item"]): each for each in pl.read_csv(out.encode()).to_dicts()}["2"]
    assert row["lower"] == row["upper"] == row["score"]
    assert err[0].endswith("relative to the score of '2'")
    told = refused(capfd, "rank", "numbers.csv", "--reference", 9)
    assert "9" in told


@pytest.mark.parametrize("top", [1, 2, 99])
def test_the_first_are_those_of_the_whole_table(folder, capfd, top):
    whole = pl.read_csv(call(capfd, *VOTES, "--format", "csv")[0].encode())
    first = pl.read_csv(call(capfd, *VOTES, "--top", top, "--format", "csv")[0].encode())
    assert first.equals(whole.head(top))


@pytest.mark.parametrize("people", [14, 60])
def test_a_models_help_is_told_as_the_library_found_it(folder, capfd, people):
    rng = np.random.default_rng(3)
    for name, count in (("people.csv", people), ("model.csv", 400)):
        left = rng.integers(0, 7, count)
        right = (left + rng.integers(1, 7, count)) % 7
        won = rng.random(count) < 1 / (1 + np.exp(left - right))
        rows = [f"i{a},i{b}" if win else f"i{b},i{a}" for a, b, win in zip(left, right, won, strict=True)]
        (folder / name).write_text("\n".join(["winner,loser", *rows]) + "\n")
    known = assisted(*(read_comparisons(name, judge=False, group=False) for name in ("people.csv", "model.csv")))
    helped = ["rank", "people.csv", "--assist", "model.csv", "--level", 0.9, "--format", "csv"]
    out, err = call(capfd, *helped)
    table = pl.read_csv(out.encode())
    frame = known.ranking.to_frame(level=0.9)
    assert table["item"].to_list() == [str(item) for item in frame["item"]]
    np.testing.assert_allclose(table["lower"], frame["lower"])
    assert err[0] == (
        f"{known.both} pairs judged by people and the model, {known.alone} pairs by the model alone; "
        "90 % confidence intervals, relative to the mean"
    )
    enough = known.both >= 3 * 7
    worth = f"; it is worth about {known.gain:.1f} times as many pairs of people" if enough else ""
    words = f"the model counts {known.weight:.2f} of a person's vote{worth}, if theirs are a random part of its own"
    assert words in err
    few = f"warning: {known.both} pairs of people for 7 items; with fewer than 3 an item, intervals are a little too "
    assert (f"{few}narrow" in err) == (not enough)
    assert enough == (people == 60)
    top = pl.read_csv(call(capfd, *helped, "--top", 2)[0].encode())
    assert top.equals(table.head(2))


@pytest.mark.parametrize("pairs", [0, 2])
@pytest.mark.parametrize("kind", ["votes", "rankings"])
def test_a_check_says_what_the_library_finds(folder, capfd, kind, pairs):
    (folder / "lists.csv").write_text("ranking\n" + "a > b > c\nb > a > c\na > c > b\n" * 6)
    name = "votes.csv" if kind == "votes" else "lists.csv"
    out, err = call(capfd, "check", name, "--replicates", 9, "--seed", 4, "--pairs", pairs, "--l2", 0.1)
    document = json.loads(
        call(capfd, "check", name, "--replicates", 9, "--seed", 4, "--l2", 0.1, "--format", "json")[0]
    )
    with thin_data():
        if kind == "votes":
            comparisons = read_comparisons("votes.csv", keep="counts")
            found = diagnose(comparisons, BradleyTerry(l2=0.1).fit(comparisons), replicates=9, seed=4)
            expected = [f"{'!' if each.concern else ' '} {each.name}: {each.text}" for each in found.findings()]
            rows = [
                f"{row['item']} won {row['won']:,.4g} of {row['votes']:,.4g} against {row['against']}, expected "
                f"{row['expected']:,.3g} ({row['residual']:.1f} sd)"
                for row in found.residuals.to_dicts()
            ]
            assert document == json.loads(json.dumps(found.to_dict()))
        else:
            model = PlackettLuce(l2=0.1).fit(read_votes("lists.csv", keep="counts")[None])
            fit = model.goodness_of_fit(replicates=9, seed=4)
            sentence, concern = fit_words(fit)
            expected = [f"{'!' if concern else ' '} Fit: {sentence[0].lower()}{sentence[1:]}"]
            rows = [
                f"{row['item']} was above {row['against']} in {row['above']:,.4g} of {row['rankings']:,.4g}, expected "
                f"{row['expected']:,.3g} ({row['residual']:.1f} sd)"
                for row in model.pair_residuals().to_dicts()
            ]
            known = {"statistic": fit.statistic, "pairs": fit.pairs, "p_value": fit.p_value, "concern": concern}
            assert document == {"fit": known, "residuals": model.pair_residuals().to_dicts()}
    least = ["Pairs that fit least:", *rows[:pairs]] if pairs else []
    assert " ".join(out.split()) == " ".join(" ".join([*expected, *least]).split())
    how = "9 redraws" if kind == "votes" else "9 simulations"
    assert err[-1].endswith(f", {how}")
    assert err[-1].startswith("36 votes on 3 items" if kind == "votes" else "18 rankings")


def test_known_answers_are_pairs_with_who_won(folder):
    (folder / "gold.csv").write_text("left,right,outcome\na,b,1\nc,a,0\n")
    assert _gold(folder / "gold.csv", {"a", "b", "c"}) == (("a", "b", 1), ("c", "a", 0))
    (folder / "won.csv").write_text("winner,loser\nb,a\n")
    assert _gold(folder / "won.csv", {"a", "b"}) == (("b", "a", 1),)
    assert _gold(None, set()) == ()
    assert criteria_of(("style=Which reads better?", "truth = Which is true?")) == [
        ("style", "Which reads better?"), ("truth", "Which is true?")]  # fmt: skip
