"""`podium predict` of games to come: from the raw file to the table."""

import csv
import io
import re

import pytest

import podium
from podium import BradleyTerry, cli, read_comparisons
from podium.data.files import read_fixtures


class Result:
    def __init__(self, exit_code, captured):
        self.exit_code, self.stdout, self.stderr = exit_code, captured.out, captured.err


SEASON = """Date,HomeTeam,AwayTeam,FTHG,FTAG,FTR
12/08/2023,Ajax,Brugge,2,1,H
19/08/2023,Brugge,Celtic,0,0,D
26/08/2023,Celtic,Ajax,0,3,A
02/09/2023,Brugge,Ajax,1,0,H
09/09/2023,Celtic,Brugge,2,2,D
16/09/2023,Ajax,Celtic,4,1,H
23/09/2023,Celtic,Brugge,1,0,H
30/09/2023,Brugge,Celtic,2,0,H
"""
FIXTURES = "Date,HomeTeam,AwayTeam\n14/10/2023,Ajax,Brugge\n21/10/2023,Celtic,Dundee\n28/10/2023,Brugge,Celtic\n"


@pytest.fixture
def run(capfd):
    def call(arguments):
        with pytest.raises(SystemExit) as stop:
            cli.run(arguments)
        return Result(stop.value.code, capfd.readouterr())

    return call


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "season.csv").write_text(SEASON)
    (tmp_path / "fixtures.csv").write_text(FIXTURES)
    return tmp_path


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_from_a_season_to_chances(folder, run):
    options = "--time Date --method dynamic --drift 0.02 --sd 1 --ties davidson --side-effect --save m.podium"
    assert run(["rank", "season.csv", *options.split()]).exit_code == 0
    result = run(["predict", "fixtures.csv", "--model", "m.podium", "--time", "Date", "--level", "0.9"])
    assert result.exit_code == 0
    assert "fixtures.csv, row 2: 'Dundee' is not in the model; its chances are left empty" in result.stderr
    assert "2 pairs predicted" in result.stderr
    first, second, third = rows(result.stdout)
    assert (first["left"], first["right"], first["time"]) == ("Ajax", "Brugge", "2023-10-14")
    assert second["win"] == second["tie_upper"] == ""
    model = podium.load("m.podium")
    asked = read_fixtures(io.StringIO("Date,home,away\n2023-10-28,Brugge,Celtic\n"), time="Date")
    chances, bounds = model.predict_proba(asked)[0], model.predict_interval(asked, 0.9)
    for k, name in enumerate(("win", "tie", "loss")):
        assert float(third[name]) == pytest.approx(chances[k], rel=1e-6)
        assert float(third[f"{name}_lower"]) == pytest.approx(bounds[0][0, k], rel=1e-6)
        assert float(third[f"{name}_lower"]) < chances[k] < float(third[f"{name}_upper"])


def test_a_table_with_a_promoted_team_says_ways_on_that_work(folder, run):
    assert run(["rank", "season.csv", "--save", "m.podium"]).exit_code == 0
    asked = ["predict", "fixtures.csv", "--played", "season.csv", "--table", "--model"]
    refused = run([*asked, "m.podium"])
    assert refused.exit_code == 2
    way = "leave its fixtures out, or fit a model that knows it by a row of --features, by --method rabf or dynamic"
    assert f"'Dundee' is not in the model; correct the label, {way}" in refused.stderr
    (folder / "teams.csv").write_text("team,budget\nAjax,9\nBrugge,7\nCeltic,5\nDundee,2\n")
    for method in ("rabf", "dynamic --time Date"):
        options = f"--features teams.csv --method {method} --save t.podium"
        assert run(["rank", "season.csv", *options.split()]).exit_code == 0
        table = run([*asked, "t.podium"])
        assert table.exit_code == 0
        assert {row["item"] for row in rows(table.stdout)} == {"Ajax", "Brugge", "Celtic", "Dundee"}
    (folder / "fixtures.csv").write_text(FIXTURES.replace("21/10/2023,Celtic,Dundee\n", ""))
    assert run([*asked, "m.podium"]).exit_code == 0


def test_what_is_wrong_with_a_row_is_told_with_its_file(folder, run):
    assert run(["rank", "season.csv", "--save", "m.podium"]).exit_code == 0
    (folder / "gap.csv").write_text("home,away\nAjax,Brugge\nAjax,\n")
    refused = run(["predict", "gap.csv", "--model", "m.podium"])
    assert "podium: gap.csv, row 2: column 'away' is empty" in refused.stderr
    refused = run(["predict", "fixtures.csv", "--model", "m.podium", "--table"])
    assert "podium: fixtures.csv, row 2: 'Dundee' is not in the model; correct the label" in refused.stderr
    (folder / "more").mkdir()
    (folder / "more" / "one.csv").write_text("home,away\nAjax,Brugge\n")
    (folder / "more" / "two.csv").write_text("home,away\nAjax,Ajax\n")
    assert (
        "podium: more, row 2: 'Ajax' is compared with itself" in run(["predict", "more", "--model", "m.podium"]).stderr
    )


def test_the_final_table_counts_the_points_so_far(folder, run):
    assert run(["rank", "season.csv", "--ties", "davidson", "--side-effect", "--save", "m.podium"]).exit_code == 0
    (folder / "left.csv").write_text("home,away\nAjax,Brugge\nBrugge,Celtic\n")
    asked = ["predict", "left.csv", "--model", "m.podium", "--table", "--played", "season.csv", "--top", "2"]
    result = run(asked)
    assert result.exit_code == 0
    table = {row["item"]: row for row in rows(result.stdout)}
    assert {item: float(row["points"]) for item, row in table.items()} == {"Ajax": 9, "Brugge": 8, "Celtic": 5}
    assert sum(float(row["top_2"]) for row in table.values()) == pytest.approx(2)
    assert run(asked).stdout == result.stdout  # the same seed
    other = rows(run([*asked, "--seed", "5", "--draws", "50"]).stdout)
    assert [row["expected_points"] for row in other] != [row["expected_points"] for row in table.values()]


def test_of_few_items_all_but_one_are_the_first(folder, run):
    assert run(["rank", "season.csv", "--save", "m.podium"]).exit_code == 0
    (folder / "left.csv").write_text("home,away\nAjax,Brugge\nBrugge,Celtic\n")
    asked = ["predict", "left.csv", "--model", "m.podium", "--table"]
    table = rows(run(asked).stdout)
    assert sum(float(row["top_2"]) for row in table) == pytest.approx(2)
    refused = run([*asked, "--top", "3"]).stderr
    assert "--top 3: there are 3 items, so all of them are among the first 3; give 1 to 2" in refused
    (folder / "left.csv").write_text("home,away\nAjax,Brugge\n")
    assert "top_1" in rows(run(asked).stdout)[0]
    assert "among the first 2; give 1" in run([*asked, "--top", "2"]).stderr


def test_a_final_table_without_ties_says_so(folder, run):
    assert run(["rank", "season.csv", "--side-effect", "--save", "m.podium"]).exit_code == 0
    (folder / "left.csv").write_text("home,away\nAjax,Brugge\nBrugge,Celtic\n")
    result = run(["predict", "left.csv", "--model", "m.podium", "--table", "--top", "2"])
    assert result.exit_code == 0
    assert "no ties are played, and points are those of a league without ties" in result.stderr
    assert "fit it with --ties davidson for one that has them" in result.stderr
    assert sum(float(row["expected_points"]) for row in rows(result.stdout)) == pytest.approx(3 * 2)


def test_fixtures_are_dated_as_the_season_is(folder, run):
    options = "--time Date --method dynamic --drift 0.02 --sd 1"
    (folder / "soon.csv").write_text("Date,HomeTeam,AwayTeam\n08/12/2023,Ajax,Brugge\n09/12/2023,Brugge,Celtic\n")
    asked = ["predict", "soon.csv", "--model", "m.podium", "--time", "Date"]
    done = run(
        ["rank", "season.csv", *options.split(), "--save", "m.podium", "--fixtures", "soon.csv", "--report", "l.html"]
    )
    assert done.exit_code == 0
    assert "2023-12-08" in (folder / "l.html").read_text()
    refused = run(asked).stderr
    assert "soon.csv, row 1: Date is '08/12/2023', which may be day/month or month/day" in refused
    assert "write dates as 2024-05-31, or add --played, a file of the games so far, whose dates say which" in refused
    told = run([*asked, "--played", "season.csv"])
    assert [row["time"] for row in rows(told.stdout)] == ["2023-12-08", "2023-12-09"]
    (folder / "iso.csv").write_text("Date,home,away,FTR\n2023-08-12,Ajax,Brugge,H\n")
    assert "may be day/month or month/day" in run([*asked, "--played", "iso.csv"]).stderr
    american = SEASON.replace("19/08", "08/19").replace("26/08", "08/26").replace("12/08", "08/12")
    american = american.replace("16/09", "09/16").replace("23/09", "09/23").replace("30/09", "09/30")
    (folder / "american.csv").write_text(american)
    told = run([*asked, "--played", "american.csv"])
    assert [row["time"] for row in rows(told.stdout)] == ["2023-08-12", "2023-09-12"]


def test_a_fixture_before_the_first_game_is_its_rows_problem(folder, run):
    options = "--time Date --method dynamic --drift 0 --ties davidson --save m.podium"
    assert run(["rank", "season.csv", *options.split()]).exit_code == 0
    (folder / "old.csv").write_text("Date,home,away\n2022-10-14,Ajax,Brugge\n2023-10-14,Ajax,Brugge\n")
    asked = ["predict", "old.csv", "--model", "m.podium", "--time", "Date"]
    result = run(asked)
    assert "row 1: it is before the model's first vote, 2023-08-12; its chances are left empty" in result.stderr
    first, second = rows(result.stdout)
    assert first["win"] == first["win_lower"] == ""
    assert 0 < float(second["win"]) < 1
    result = run([*asked, "--table", "--top", "1"])
    assert result.exit_code == 2
    assert "row 1: it is before the model's first vote" in result.stderr


OUTCOMES = {"H": 36, "D": 40, "A": 24}


@pytest.fixture
def equals(folder):
    """Two equal teams, either at home: every model of three outcomes has to find these shares."""
    games = [
        f"{pair},{outcome}" for pair in ("P,Q", "Q,P") for outcome, often in OUTCOMES.items() for _ in range(often)
    ]
    (folder / "equals.csv").write_text("\n".join(["home,away,FTR", *games]) + "\n")
    (folder / "next.csv").write_text("home,away\nP,Q\n")
    return folder


def predicted(run, options, season="equals.csv"):
    more = ["--save", "e.podium", "--fixtures", "next.csv", "--report", "e.html"]
    ranked = run(["rank", season, *options, *more])
    assert ranked.exit_code == 0, ranked.stderr
    result = run(["predict", "next.csv", "--model", "e.podium"])
    assert result.exit_code == 0, result.stderr
    [row] = rows(result.stdout)
    return row, (ranked.stderr, result.stderr)


HALF = "the model counts a tie half, so chances are of a win plus half a tie; fit"


def test_ties_counted_half_leave_the_chance_of_a_tie_unknown(equals, run):
    row, told = predicted(run, ["--side-effect", "--l2", "1e-6"])
    assert list(row) == ["left", "right", *(f"win_plus_half_tie{end}" for end in ("", "_lower", "_upper"))]
    assert float(row["win_plus_half_tie"]) == pytest.approx(0.36 + 0.40 / 2, abs=1e-6)
    for words in told:
        assert words.count(f"{HALF} it with --ties davidson for the chance of each outcome") == 1
    page = (equals / "e.html").read_text()
    assert "Home wins + ½ tie</th>" in page
    assert "Away wins + ½ tie</th>" in page
    assert "fit it with <code>--ties davidson</code>" in page
    assert podium.load("e.podium").counts_ties_half_


def test_ties_that_are_modelled_have_their_own_chance(equals, run):
    row, told = predicted(run, ["--side-effect", "--l2", "1e-6", "--ties", "davidson"])
    assert [float(row[name]) for name in ("win", "tie", "loss")] == pytest.approx([0.36, 0.40, 0.24], abs=1e-6)
    page = (equals / "e.html").read_text()
    assert "½ tie" not in page
    assert not any(HALF in words for words in told)


def test_games_without_ties_have_the_chance_of_a_win(equals, run):
    """Nothing was counted half: 36 of 60 games were won at home."""
    text = (equals / "equals.csv").read_text()
    decided = [line for line in text.splitlines() if not line.endswith(",D")]
    (equals / "decided.csv").write_text("\n".join(decided) + "\n")
    row, told = predicted(run, ["--side-effect", "--l2", "1e-6"], "decided.csv")
    assert [float(row[name]) for name in ("win", "tie", "loss")] == pytest.approx([0.6, 0.0, 0.4], abs=1e-6)
    assert not any(HALF in words for words in told)


def test_a_method_that_cannot_model_ties_is_told_which_can(equals, run):
    row, told = predicted(run, ["--method", "elo"])
    assert list(row) == ["left", "right", "win_plus_half_tie"]
    assert all(
        f"{HALF} one that models ties, as dynamic or bradley-terry with --ties davidson" in words for words in told
    )
    assert "(fit one that models ties, as dynamic or bradley-terry with <code>" in (equals / "e.html").read_text()


def test_fixtures_have_the_names_of_the_votes_columns_and_strangers_their_row(folder, run):
    """The page and the model are written all the same, and say of the known pair what the standard names say."""
    options = "--time Date --method dynamic --drift 0.02 --sd 1 --ties davidson --side-effect --report page.html"
    assert run(["rank", "season.csv", *options.split(), "--fixtures", "fixtures.csv"]).exit_code == 0
    standard = (folder / "page.html").read_text()
    for name, text in (("season", SEASON), ("fixtures", FIXTURES)):
        for old, new in {
            "HomeTeam": "Heim",
            "AwayTeam": "Gast",
            "FTHG": "ToreH",
            "FTAG": "ToreG",
            ",FTR": ",x",
        }.items():
            text = text.replace(old, new)
        (folder / f"{name}-de.csv").write_text(text)
    (folder / "page.html").unlink()
    names = "--left Heim --right Gast --left-goals ToreH --right-goals ToreG --save m.podium"
    result = run(["rank", "season-de.csv", *options.split(), *names.split(), "--fixtures", "fixtures-de.csv"])
    assert result.exit_code == 0, result.stderr
    assert "fixtures-de.csv, row 2: 'Dundee' is not in the model; its chances are left empty" in result.stderr
    assert "Ajax" in result.stdout
    assert (folder / "m.podium").exists()
    shares = [
        re.findall(r"\d+ %<small>", to_come((folder / "page.html").read_text())),
        re.findall(r"\d+ %<small>", to_come(standard)),
    ]
    assert shares[0] == shares[1]
    assert len(shares[0]) == 6  # win, tie and loss of two pairs
    assert "Row 2: &#x27;Dundee&#x27; is not in the model; its chances are left empty." in standard


def test_games_so_far_may_have_columns_of_their_own_names(folder, run):
    """Points by hand: Ajax won 3, Brugge 2 and drew 2, Celtic won 1 and drew 2."""
    assert run(["rank", "season.csv", "--ties", "davidson", "--save", "m.podium"]).exit_code == 0
    text = SEASON.replace("HomeTeam", "Heim").replace("AwayTeam", "Gast")
    (folder / "goals.csv").write_text(text.replace("FTHG", "ToreH").replace("FTAG", "ToreG").replace("FTR", "x"))
    text = text.replace("FTHG", "y").replace("FTAG", "z").replace("FTR", "Ausgang")
    (folder / "outcome.csv").write_text(text.replace(",H\n", ",1\n").replace(",D\n", ",0.5\n").replace(",A\n", ",0\n"))
    (folder / "next.csv").write_text("Heim,Gast\nAjax,Brugge\n")
    asked = ["predict", "next.csv", "--model", "m.podium", "--left", "Heim", "--right", "Gast"]
    table = ["--table", "--top", "1", "--played"]
    goals = ["goals.csv", "--left-goals", "ToreH", "--right-goals", "ToreG"]
    for named in (goals, ["outcome.csv", "--outcome", "Ausgang"]):
        result = run([*asked, *table, *named])
        assert result.exit_code == 0, result.stderr
        assert {row["item"]: float(row["points"]) for row in rows(result.stdout)} == {
            "Ajax": 9,
            "Brugge": 8,
            "Celtic": 5,
        }
    result = run([*asked, "--table", "--top", "1", *goals[1:]])
    assert result.exit_code == 2
    assert "--left-goals is about --played, which is not given; add it" in result.stderr


def to_come(page):
    return page[page.index("<h2>Games to come") :].split("</table>")[0]


def test_fixtures_that_were_played_already_are_told(folder, run):
    assert run(["rank", "season.csv", "--save", "m.podium"]).exit_code == 0
    (folder / "all.csv").write_text("home,away\nCeltic,Ajax\nAjax,Celtic\nBrugge,Celtic\n")
    asked = ["predict", "all.csv", "--model", "m.podium", "--table", "--top", "1", "--played"]
    assert "already" not in run([*asked, "season.csv"]).stderr  # where pairs meet at one ground more than once
    (folder / "first.csv").write_text("home,away,result\nAjax,Brugge,H\nBrugge,Celtic,D\n")
    assert "1 fixture of 3, as row 3, met on the same side in --played already" in run([*asked, "first.csv"]).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fixtures.csv", "--model", "m.podium", "--top", "2"], "--top is about --table, which is not given"),
        (["fixtures.csv", "--model", "m.podium", "--id", "x"], "--id is about a table of features"),
        (["fixtures.csv", "--model", "m.podium", "--table"], "row 2: 'Dundee' is not in the model"),
        (
            ["names.csv", "--left", "team", "--right", "place", "--model", "m.podium", "--time", "Date"],
            "no column 'Date' (given as --time); found 'team', 'place'",
        ),
        (["fixtures.csv", "--model", "m.podium", "--time", "HomeTeam"], "--time but already tells who met"),
        (["dates.csv", "--model", "m.podium", "--time", "date"], "row 2: date is '2023-02-30', which is no date"),
        (["self.csv", "--model", "m.podium"], "row 1: 'Ajax' is compared with itself"),
        (["none.csv", "--model", "m.podium"], "has no rows; there is nothing to predict"),
        (
            ["names.csv", "--model", "m.podium"],
            "who is to meet whom: found columns 'team', 'place'; expected",
        ),
        (["fixtures.csv", "--model", "m.podium", "--table", "--points", "3,1"], "--points 3,1: give three numbers"),
        (["fixtures.csv", "--model", "elo.podium", "--level", "0.9"], "--level is about bounds, and Elo knows none"),
    ],
)
def test_what_cannot_be_predicted_is_refused_in_a_sentence(folder, run, arguments, message):
    votes = read_comparisons(io.StringIO(SEASON), keep="rows")
    podium.save(BradleyTerry(l2=0.1).fit(votes), "m.podium")
    podium.save(podium.Elo().fit(votes), "elo.podium")
    (folder / "dates.csv").write_text("date,home,away\n2023-02-01,Ajax,Brugge\n2023-02-30,Ajax,Brugge\n")
    (folder / "self.csv").write_text("home,away\nAjax,Ajax\n")
    (folder / "none.csv").write_text("home,away\n")
    (folder / "names.csv").write_text("team,place\nAjax,1\n")
    result = run(["predict", *arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize("command", [["check", "season.csv"], ["diff", "season.csv", "season.csv"]])
def test_times_that_nothing_looks_at_are_refused(folder, run, command):
    result = run([*command, "--time", "Date"])
    assert result.exit_code == 2
    assert f"--time does not apply to podium {command[0]}" in result.stderr


def test_what_is_said_of_games_calls_them_games(folder, run):
    """Few of them, with a side, covariates, and scores outside their intervals."""
    lines = ["home,away,result,rest,wet"]
    for rest, (home, away, result) in enumerate(("AGA", "AEH", "EZD", "BGH", "GDH", "FGD", "ZGD", "EAH", "DFH", "FBA")):
        lines.append(f"FC {home},FC {away},{result},{rest % 3},1")
    (folder / "few.csv").write_text("\n".join(lines) + "\n")
    for options in ("", "--side-effect", "--covariates rest --side-effect", "--l2 1 --covariates wet"):
        result = run(["rank", "few.csv", *options.split(), "--level", "0.5"])
        assert result.exit_code == 0, (options, result.stderr)
        assert "game" in result.stderr
        assert "vote" not in result.stderr, options
