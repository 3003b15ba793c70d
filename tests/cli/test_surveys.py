"""Surveys from the raw file to the table, by every command that takes them."""

import csv
import html
import io
import json
import re

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from podium import PlackettLuce, Rankings, read_rankings
from podium.cli import main
from podium.errors import DataWarning, InputError

NAMES = [f"item {k:02d}" for k in range(30)]
TRUTH = np.random.default_rng(18).normal(size=30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Four hundred respondents list their top 5 of 30, as three tools would write it."""
    where = tmp_path_factory.mktemp("surveys")
    rng = np.random.default_rng(5)
    lists = np.argsort(-(TRUTH + rng.gumbel(size=(400, 30))), axis=1)[:, :5].tolist()
    with (where / "wide.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "region", *(f"Rank {k}" for k in range(1, 6))])
        rows.writerows([r, "north" if r % 2 else "south", *(NAMES[k] for k in each)] for r, each in enumerate(lists))
    with (where / "long.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["respondent", "item", "rank"])
        rows.writerows([r, NAMES[k], place] for r, each in enumerate(lists) for place, k in enumerate(each, start=1))
    with (where / "ranks.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["respondent", *NAMES])
        for r, each in enumerate(lists):
            rows.writerow([r, *({k: place for place, k in enumerate(each, start=1)}.get(k, "") for k in range(30))])
    with (where / "text.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["ranking"])
        rows.writerows([" > ".join(NAMES[k] for k in each)] for each in lists)
    return where


@pytest.fixture
def run(folder, monkeypatch):
    monkeypatch.chdir(folder)

    def call(*args):
        done = CliRunner().invoke(main, list(args))
        if isinstance(done.exception, InputError):
            raise done.exception
        assert done.exit_code == 0, done.output
        return done

    return call


def scores(done):
    return {row["item"]: float(row["score"]) for row in csv.DictReader(io.StringIO(done.stdout))}


def spearman(found):
    order = np.argsort(np.argsort([found.get(name, -99.0) for name in NAMES]))
    return np.corrcoef(order, np.argsort(np.argsort(TRUTH)))[0, 1]


FORMS = {"wide.csv": (), "long.csv": (), "ranks.csv": ("--rank-columns", "item *"), "text.csv": ()}


@pytest.mark.parametrize("name", FORMS)
def test_a_top_5_of_30_gives_the_true_order(run, name):
    done = run("rank", name, "--unranked", "below", "--format", "csv", *FORMS[name])
    assert spearman(scores(done)) >= 0.97
    assert "400 rankings of 30 items, plackett-luce" in done.stderr
    told = "so say what holds of the others: unranked='below' if they could .* unranked='unknown' if nothing is known"
    with pytest.raises(InputError, match=told):
        run("rank", name, *FORMS[name])


def test_the_table_is_that_of_the_library(run):
    lists = read_rankings("wide.csv", unranked="below")
    ranking = PlackettLuce().fit(lists).ranking_
    found = scores(run("rank", "wide.csv", "--unranked", "below", "--format", "csv"))
    assert found == pytest.approx(dict(zip(ranking.items, ranking.scores, strict=True)), abs=1e-6)


def test_parts_have_a_ranking_each(run):
    done = run("rank", "wide.csv", "--unranked", "below", "--by", "region", "--top", "3")
    assert done.stdout.count("rank  item") == 2
    assert done.stderr.count("200 rankings of 30 items") == 2
    with pytest.raises(InputError, match="pool= is about the parts of"):
        run("rank", "wide.csv", "--unranked", "below", "--by", "region", "--pool")


@pytest.mark.parametrize("long", [False, True])
@pytest.mark.filterwarnings("ignore::podium.errors.SeparationWarning")
def test_rankings_without_a_part_are_left_out_with_a_remark(run, folder, long):
    rows = "id,team,Rank 1,Rank 2\n1,x,tea,milk\n2,,milk,tea\n3,y,milk,tea\n4, ,tea,milk\n"
    if long:
        rows = "id,team,item,rank\n1,x,tea,1\n1,x,milk,2\n2,,milk,1\n2,,tea,2\n3,y,tea,2\n3,y,milk,1\n"
        rows += "4,,tea,1\n4,,milk,2\n"
    (folder / "parts.csv").write_text(rows)
    options = ("--judge", "id", "--ci", "none", "--format", "csv")
    with pytest.warns(DataWarning, match="2 rankings without a 'team', left out"):
        table = pl.read_csv(io.StringIO(run("rank", "parts.csv", "--by", "team", *options).stdout))
    assert table.filter(pl.col("rank") == 1).select("team", "item").rows() == [("x", "tea"), ("y", "milk")]
    (folder / "parts.csv").write_text("team,Rank 1,Rank 2\n,tea,milk\n,milk,tea\n")
    with pytest.raises(InputError, match="column 'team' is empty in every row"):
        run("rank", "parts.csv", "--by", "team")


def test_marks_of_a_survey_are_as_reliable_as_its_rankings(run):
    done = run("rank", "long.csv", "--unranked", "below", "--marks", "0:100")
    assert "(all rankings)" in done.stderr
    assert "misfit" not in done.stderr  # as pairs, every respondent would have 135 votes
    head, *rows = done.stdout.splitlines()
    assert head.split()[-1] == "pairs"
    assert sum(int(row.split()[-1].replace(",", "")) for row in rows) == 2 * 400 * 135, "both items of a pair count it"


def test_errors_by_respondent_bootstrap_and_none(run):
    for ci in ("judge", "ranking", "sandwich", "bootstrap"):
        done = run("rank", "long.csv", "--unranked", "below", "--ci", ci, "--top", "2")
        assert "interval" in done.stdout
    assert "interval" not in run("rank", "long.csv", "--unranked", "below", "--ci", "none", "--top", "2").stdout


def test_a_page_a_picture_and_a_model_are_written(run, folder):
    made = ("--report", "page.html", "--plot", "picture.png", "--save", "survey.podium", "--top", "3")
    run("rank", "wide.csv", "--unranked", "below", *made)
    page = (folder / "page.html").read_text()
    assert "400 rankings" in re.sub("<[^>]*>", "", page)
    assert "plackett-luce" in page
    assert (folder / "picture.png").stat().st_size > 1000
    done = run("diff", "survey.podium", "wide.csv", "--unranked", "below")
    assert "0 changes are significant" in done.stderr
    run("rank", "wide.csv", "--unranked", "below", "--plot", "wins.png", "--picture", "wins")
    with pytest.raises(InputError, match="follows votes one by one, and these are rankings"):
        run("rank", "wide.csv", "--unranked", "below", "--plot", "h.png", "--picture", "history")


def test_other_methods_are_given_pairs(run):
    done = run("rank", "wide.csv", "--unranked", "below", "--method", "borda", "--format", "csv")
    assert "400 rankings as 54,000 pairs of 30 items, borda" in done.stderr
    assert spearman(scores(done)) >= 0.95
    with pytest.raises(InputError, match="side_effect= does not apply to"):
        run("rank", "wide.csv", "--unranked", "below", "--side-effect")
    with pytest.raises(InputError, match="belong to a comparison of two items"):
        run("rank", "wide.csv", "--unranked", "below", "--covariates", "id", "--method", "bradley-terry")


def test_check_tests_whether_one_score_an_item_explains_the_rankings(run, folder):
    done = run("check", "wide.csv", "--unranked", "below", "--replicates", "19")
    assert "within chance" in done.stdout
    assert "400 rankings of 30 items, 19 simulations" in done.stderr
    camps = ["a > b > c > d"] * 40 + ["d > c > b > a"] * 40
    (folder / "camps.csv").write_text("ranking\n" + "\n".join(camps) + "\n")
    told = json.loads(run("check", "camps.csv", "--replicates", "39", "--format", "json").stdout)
    assert told["fit"]["concern"]
    assert CliRunner().invoke(main, ["check", "camps.csv", "--replicates", "39", "--strict"]).exit_code == 1
    run("rank", "camps.csv", "--report", "camps.html")
    fit = PlackettLuce().fit(read_rankings("camps.csv")).goodness_of_fit()
    page = (folder / "camps.html").read_text()
    assert '<p class="warn"><b>Fit.</b> The order of two items differs' in page
    assert f"by {fit.statistic:.4g} (Pearson, 6 pairs): one score for each item does not" in page
    assert f"(p = {fit.p_value:.2f})" in page
    with pytest.raises(InputError, match="is about votes on pairs, and these are rankings"):
        run("check", "wide.csv", "--unranked", "below", "--side-effect")
    (folder / "tied.csv").write_text("respondent,item,rank\nann,tea,1\nann,milk,1\nbob,milk,1\nbob,tea,2\n")
    with pytest.raises(InputError, match=r"^the test of rankings simulates them, which it cannot with ties"):
        run("check", "tied.csv")


def test_methods_are_compared_on_whole_rankings_held_out(run):
    done = run("compare", "wide.csv", "--unranked", "below", "--method", "borda", "--method", "plackett-luce")
    assert done.stdout.splitlines()[1].startswith("plackett-luce")


def test_ties_are_modelled_on_request(run, folder):
    (folder / "ties.csv").write_text(
        'ranking\n"[""a"", [""b"", ""c""]]"\n"[""b"", ""a"", ""c""]"\n"[""c"", ""a"", ""b""]"\n'
    )
    assert "strength of ties, against one item's: 2 items" in run("rank", "ties.csv", "--ties", "davidson").stderr
    assert "strength" not in run("rank", "ties.csv", "--ties", "efron").stderr
    with pytest.raises(InputError, match="ties='half' is not known; use 'efron' or 'davidson'"):
        run("rank", "ties.csv", "--ties", "half")
    (folder / "votes.csv").write_text("winner,loser\na,b\nb,a\n")
    with pytest.raises(InputError, match="ties='efron' is not known; use 'half' or 'davidson'"):
        run("rank", "votes.csv", "--ties", "efron")


def test_features_place_items_that_no_ranking_knows(run, folder):
    with (folder / "about.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["name", "size"])
        rows.writerows([name, f"{truth:.4f}"] for name, truth in zip(NAMES, TRUTH, strict=True))
        rows.writerows([["great", 4], ["awful", -4]])
    done = run("rank", "wide.csv", "--unranked", "below", "--features", "about.csv", "--format", "csv",
               "--save", "featured.podium")  # fmt: skip
    found = scores(done)
    assert len(found) == 32
    assert next(iter(found)) == "great"
    assert list(found)[-1] == "awful"
    assert "ranked by features alone, without rankings: 2 (great, awful)" in done.stderr
    model = PlackettLuce().fit(read_rankings(folder / "wide.csv", unranked="below"), pl.read_csv(folder / "about.csv"))
    assert found == pytest.approx(dict(zip(model.ranking_.items, model.ranking_.scores, strict=True)), abs=1e-6)
    told = run("predict", "about.csv", "--model", "featured.podium", "--format", "csv").stdout
    assert next(row["item"] for row in csv.DictReader(io.StringIO(told))) == "great"
    with pytest.raises(InputError, match="its penalty on what features do not explain is l2="):
        run("rank", "wide.csv", "--unranked", "below", "--features", "about.csv", "--residual-penalty", "1")
    with pytest.raises(InputError, match="features= does not apply to method='borda'"):
        run("rank", "wide.csv", "--unranked", "below", "--features", "about.csv", "--method", "borda")
    with pytest.raises(InputError, match="scores that move need votes with times"):
        run("rank", "wide.csv", "--unranked", "below", "--features", "about.csv", "--method", "dynamic")


@pytest.mark.filterwarnings("ignore::podium.errors.SeparationWarning")
def test_what_nobody_of_a_part_lists_was_on_offer_to_it_all_the_same(run, folder):
    """Passed over by all of the south, "rare" is last there and not forgotten; where it is unknown, nothing is said."""
    rows = [("a", "b"), ("b", "a"), ("a", "rare"), ("c", "a"), ("rare", "c")]
    south = [("a", "b"), ("b", "a"), ("a", "c"), ("c", "b"), ("b", "c")]
    with (folder / "regions.csv").open("w") as file:
        table = csv.writer(file)
        table.writerow(["Rank 1", "Rank 2", "region"])
        table.writerows([*row, "north"] for row in rows)
        table.writerows([*row, "south"] for row in south)
    told = run("rank", "regions.csv", "--unranked", "below", "--by", "region", "--format", "csv", "--l2", "0.1").stdout
    found = {row["item"]: float(row["score"]) for row in csv.DictReader(io.StringIO(told)) if row["region"] == "south"}
    lists = Rankings.from_lists([list(row) for row in south], items=["a", "b", "c", "rare"], unranked="below")
    alone = PlackettLuce(l2=0.1).fit(lists).ranking_
    assert found == pytest.approx({item: alone.score(item) for item in alone.items}, abs=1e-6)
    assert min(found, key=found.get) == "rare"
    told = run(
        "rank", "regions.csv", "--unranked", "unknown", "--by", "region", "--format", "csv", "--l2", "0.1"
    ).stdout
    assert {row["item"] for row in csv.DictReader(io.StringIO(told)) if row["region"] == "south"} == {"a", "b", "c"}


@pytest.mark.filterwarnings("ignore::podium.errors.SeparationWarning")
def test_a_part_with_one_item_listed_ranks_it_above_all_that_were_on_offer(run, folder):
    """One respondent chose x of three: it is first, and the two others share the place below."""
    rows = "Dept,Choice 1,Choice 2\na,x,y\na,y,z\na,z,x\n"
    (folder / "depts.csv").write_text(f"{rows}b,x,\n")
    options = ("--by", "Dept", "--report", "depts.html", "--format", "csv")
    table = pl.read_csv(io.StringIO(run("rank", "depts.csv", "--unranked", "below", *options).stdout))
    assert set(table.filter(Dept="b").select("item", "rank").rows()) == {("x", 1), ("y", 2), ("z", 2)}
    left_out = "Dept = b, 1 ranking, is left out: only one item, 'x'"
    with pytest.warns(DataWarning, match=left_out):
        table = pl.read_csv(io.StringIO(run("rank", "depts.csv", "--unranked", "unknown", *options).stdout))
    assert table["Dept"].to_list() == ["a"] * 3
    assert left_out in html.unescape((folder / "depts.html").read_text())
    (folder / "depts.csv").write_text(f"{rows}b,,\n")
    with pytest.warns(DataWarning) as heard:
        table = pl.read_csv(io.StringIO(run("rank", "depts.csv", "--unranked", "below", *options).stdout))
    assert "Dept = b, 1 ranking, is left out: no ranking lists an item: there is nothing to rank" in map(
        str, (each.message for each in heard)
    )
    assert table["Dept"].to_list() == ["a"] * 3
    (folder / "depts.csv").write_text("Dept,Choice 1,Choice 2\nb,x,\n")
    with pytest.raises(InputError, match=r"depts\.csv: only one item, 'x'"):
        run("rank", "depts.csv", "--unranked", "unknown", *options)


def test_a_page_of_rankings_with_features_tells_what_these_are_worth(run, folder):
    with (folder / "sweet.csv").open("w") as file:
        rows = csv.writer(file)
        rows.writerow(["item", "sweetness"])
        rows.writerows([name, score] for name, score in zip(NAMES, TRUTH, strict=True))
        rows.writerows([["great", 4]])
    run("rank", "wide.csv", "--unranked", "below", "--features", "sweet.csv", "--report", "sweet.html")
    page = (folder / "sweet.html").read_text()
    assert "<h2>Features</h2>" in page
    assert "sweetness" in page
    assert "without rankings: great (1 in all)" in page


def test_a_page_of_parts_stands_on_the_ranking_of_all_together(run, folder):
    run("rank", "wide.csv", "--unranked", "below", "--by", "region", "--report", "parts.html")
    run("rank", "wide.csv", "--unranked", "below", "--report", "whole.html")
    parts, whole = ((folder / name).read_text() for name in ("parts.html", "whole.html"))

    def first_table(page):
        board = page[page.index('<table class="board') : page.index("</table>")]
        return [re.sub("<[^>]*>", " ", row).split() for row in board.split("<tr")[1:]]

    numbers = [[cell for cell in row if re.fullmatch(r"[-0-9.,–]+", cell)] for row in first_table(whole)]
    assert len(numbers) == 31
    assert [[cell for cell in row if re.fullmatch(r"[-0-9.,–]+", cell)] for row in first_table(parts)] == numbers
    assert "north" in parts
    assert "north" not in whole


def test_the_picture_of_rankings_asks_for_no_pairs(run, folder, monkeypatch):
    monkeypatch.setattr("podium.data.rankings.MAX_PAIRS", 10)
    run("rank", "wide.csv", "--unranked", "below", "--plot", "alone.png")
    assert (folder / "alone.png").stat().st_size > 1000
    with pytest.raises(InputError, match="pairs and more each"):
        run("rank", "wide.csv", "--unranked", "below", "--plot", "wins.png", "--picture", "wins")
