"""podium campaign, and campaign files in rank and check."""

import csv
import io
import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from podium.campaign import planning
from podium.campaign.standing import standing
from podium.cli import main
from podium.store import open_store
from podium.store.file import read_campaign_file

from suites.campaigns import Bench

VOTES = (
    "left,right,outcome,judge\n"
    + "".join(f"item {a},item {b},1,{judge}\n" for judge in ("x", "y") for a in range(5) for b in range(a + 1, 5))
    + "item 4,item 0,1,z\n"
)  # so that nobody always wins


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "items.csv").write_text("id,text\n" + "".join(f"item {k},text {k}\n" for k in range(5)))
    (tmp_path / "votes.csv").write_text(VOTES)

    def call(*args, fails=None):
        if fails is not None:
            done = subprocess.run([sys.executable, "-m", "podium", *args], capture_output=True, text=True)
            assert done.returncode == 2, done.stderr
            assert len(done.stderr.strip().splitlines()) == 1
            assert fails in done.stderr
            return done
        done = CliRunner().invoke(main, args, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done

    return call


@pytest.fixture
def made(run):
    return run("campaign", "new", "items.csv", "--title", "Tea", "--question", "Which?", "--judges", "2", "--seed", "1")


def test_new_prints_links_whose_secrets_are_not_stored(run, made, tmp_path):
    links = [line.split()[-1] for line in made.stdout.splitlines()[1:]]
    assert [link.partition("#")[0][-2:] for link in links] == ["/o", "/j", "/j"]
    stored = (tmp_path / "campaign.db").read_bytes()
    for link in links:
        assert link.partition("#")[2].encode() not in stored
    assert "5 items, 2 judges" in made.stderr


def test_a_campaign_of_a_table_alone_is_called_as_it_is(run):
    run("campaign", "new", "items.csv")
    with open_store("campaign.db") as store:
        it = store.read(lambda reader: reader.campaign(1))
    assert (it.title, it.question) == ("items", "Which is better?")


def test_rank_and_check_give_the_page_s_numbers(run, made, tmp_path):
    run("campaign", "import", "votes.csv")
    shown = list(csv.DictReader(io.StringIO(run("rank", "campaign.db", "--format", "csv").stdout)))
    with open_store("campaign.db") as store:
        page = standing(store.read(lambda reader: reader.content(1)))
    assert [row["item"] for row in shown] == list(page.order)
    assert [(int(row["place_lower"]), int(row["place_upper"])) for row in shown] == [
        (place.lower, place.upper) for place in page.places
    ]
    assert standing(read_campaign_file("campaign.db")) == page
    assert "21 votes on 5 items" in run("check", "campaign.db", "--replicates", "9").stderr
    assert len(run("rank", "campaign.db", "--top", "2", "--format", "csv").stdout.splitlines()) == 3
    fit = run("rank", "campaign.db", "--method", "bradley-terry", "--format", "json")
    assert "pairs were chosen" not in fit.stderr  # they came from a file
    fitted = json.loads(fit.stdout)
    assert [row["item"] for row in fitted] == list(page.order)


@pytest.mark.filterwarnings("ignore::podium.errors.SeparationWarning")
def test_a_fit_of_chosen_pairs_says_what_its_intervals_are_worth(run, tmp_path):
    store = open_store(str(tmp_path / "asked.db"), new=True)
    bench = Bench(store, 4, ("ann",))
    planning.plan_once(store, bench.id, bench.now)
    bench.answer(0, times=5)
    store.close()
    assert "pairs were chosen by earlier answers" in run("rank", "asked.db", "--method", "bradley-terry").stderr


def test_rank_and_check_of_a_file_need_no_extra(run, made, tmp_path):
    run("campaign", "import", "votes.csv")
    hidden = tmp_path / "hidden" / "sqlalchemy"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('not here')")
    code = f"import sys; sys.path.insert(0, {str(hidden.parent)!r}); from podium.cli import run; run({{}})"
    for args in (["rank", "campaign.db"], ["check", "campaign.db", "--replicates", "9"]):
        done = subprocess.run([sys.executable, "-c", code.format(args)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    done = subprocess.run([sys.executable, "-c", code.format(["campaign", "votes"])], capture_output=True, text=True)
    assert done.returncode == 2
    assert "podium[serve]" in done.stderr


def test_items_that_look_alike_are_remarked_in_the_words_of_rank(run, tmp_path):
    (tmp_path / "votes.csv").write_text("winner,loser\nTea,milk\nmilk,tea\ntea,Tea\n")
    (tmp_path / "items.csv").write_text("id\nTea\nmilk\ntea\n")
    (tmp_path / "more.csv").write_text("id\nMilk\n")

    def remarks(*args):
        done = subprocess.run([sys.executable, "-m", "podium", *args], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return [line for line in done.stderr.splitlines() if "kept apart" in line]

    (of_rank,) = remarks("rank", "votes.csv")
    (of_new,) = remarks("campaign", "new", "items.csv")
    assert of_new == of_rank.replace("(votes.csv, row", "(row").replace("'tea' (row 2)", "'tea' (row 3)")
    (of_more,) = remarks("campaign", "add-items", "more.csv")
    assert "'milk' (in the campaign) and 'Milk' (row 1)" in of_more


def test_a_campaign_from_beginning_to_end(run, made, tmp_path):
    (tmp_path / "more.csv").write_text("id,text\nlate,x\n")
    assert "6 in all" in run("campaign", "add-items", "more.csv").stderr
    assert "/j#" in run("campaign", "invite", "zoe", "--target", "60").stdout
    for verb, state in (("pause", "paused"), ("open", "open"), ("close", "closed")):
        assert f"is {state}" in run("campaign", verb).stderr
    run("campaign", "import", "votes.csv")
    assert "21 rows there already" in run("campaign", "import", "votes.csv").stderr
    assert len(run("campaign", "votes", "--format", "jsonl").stdout.splitlines()) == 21
    for what, name in (
        ("votes", "v.parquet"),
        ("ranking", "r.json"),
        ("journal", "j.jsonl"),
        ("all", "all.zip"),
        ("report", "r.html"),
    ):
        run("campaign", "export", what, "-o", name)
        assert (tmp_path / name).stat().st_size > 0
    assert "'tea' in other.db" in run("campaign", "import", "all.zip", "--db", "other.db").stderr
    there, here = read_campaign_file("other.db"), read_campaign_file("campaign.db")
    assert standing(there) == standing(here)
    run("campaign", "import", "all.zip")
    assert "is open" in run("campaign", "open", "--campaign", "tea-2").stderr
    assert run("rank", "campaign.db#tea", "--format", "csv").stdout == run("rank", "other.db", "--format", "csv").stdout


def test_bad_calls_end_in_one_sentence(run, made, tmp_path):
    (tmp_path / "twice.csv").write_text("id\na\na\n")
    (tmp_path / "text.db").write_text("no database at all\n" * 10)
    run("campaign", "new", "twice.csv", "--title", "T", "--question", "Q", "--db", "n.db", fails="row 2: 'a' appears")
    (tmp_path / "words.txt").write_bytes(b"Take your t\x8ame.")
    for file, says in (("words.txt", "words.txt is not UTF-8 text"), ("none.txt", "none.txt: No such file")):
        told = ("--title", "T", "--question", "Q", "--instructions", file)
        run("campaign", "new", "items.csv", *told, "--db", "n.db", fails=says)
    (tmp_path / "one.csv").write_text("id\na\n")
    run("campaign", "new", "one.csv", "--db", "n.db", fails="1 item; a ranking needs at least two")
    run("campaign", "new", "items.csv", "--judge", "ann", "--judge", "ann", "--db", "n.db", fails="ann")
    assert not list(tmp_path.glob("n.db*"))
    there = (tmp_path / "campaign.db").stat().st_ino
    run("campaign", "new", "one.csv", fails="1 item; a ranking needs at least two")
    assert (tmp_path / "campaign.db").stat().st_ino == there, "one that was there stays"
    run("campaign", "pause", "--db", "none.db", fails="no such file: none.db")
    run("campaign", "pause", "--db", "text.db", fails="is no campaign: it is not an SQLite file")
    run("campaign", "pause", "--campaign", "coffee", fails="there is no campaign 'coffee'; there are tea")
    run("campaign", "export", "all", "-o", "x.csv", fails="all is written to .zip")
    run("campaign", "export", "report", "-o", "x.pdf", fails="report is written to .html")
    run("campaign", "export", "votes", "-o", "x.xlsx", fails="votes is written to .csv, .json, .jsonl, .parquet")
    run("campaign", "invite", "judge 1", fails="a judge 'judge 1' already")
    run("campaign", "import", "none.csv", fails="no such file: none.csv")
    run("rank", "campaign.db", fails="has no votes that count yet")
    run("campaign", "import", "votes.csv")
    run("rank", "campaign.db", "votes.csv", fails="is a campaign; name it alone")
    run("rank", "campaign.db", "--by", "judge", fails="a campaign has its own")
    run("check", "campaign.db", "--judge", "who", fails="a campaign has its own")


def test_a_campaign_by_a_newer_podium_is_refused(run, made):
    import sqlite3

    newer = sqlite3.connect("campaign.db")
    newer.execute("UPDATE podium SET format = 99, version = '9.9'")
    newer.commit()
    newer.close()
    run("rank", "campaign.db", fails="has format 99, written by podium 9.9")
    run("campaign", "votes", fails="has format 99, written by podium 9.9")
