"""Parts of `podium rank`: marks, boards, what is read and how, what is refused; each by itself."""

import contextlib
import dataclasses
import types
import warnings
from pathlib import Path

import click
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from podium import BradleyTerry, Comparisons, PlackettLuce, Rankings, WinRate
from podium.cli import boards, marking, rank
from podium.cli.boards import Boards
from podium.cli.columns import Columns
from podium.cli.features import Knowledge, refuse_unused, words_without
from podium.cli.marking import Marking
from podium.cli.methods import RankerOptions, begun, maker
from podium.cli.output import Output
from podium.cli.show import Intervals, Pictures, Selection
from podium.errors import DataWarning, InputError, SeparationWarning
from podium.pairwise.bradley_terry import common_sd
from podium.ranking import award_marks
from podium.text import width

from helpers import Noted, refusal, simulate, thin_data

COLUMNS = dict.fromkeys(Columns.__slots__) | {"rank_columns": ()}
SELECTION = {"top": None, "min_votes": 0, "by": None, "pool": False, "differences": False}
INTERVALS = {"ci": None, "level": 0.9, "simultaneous": False, "ranks": None, "reference": None, "seed": 0}
KNOWN = dict.fromkeys(Knowledge.__slots__) | {"covariates": (), "style": "difference"}
FITTING = dict.fromkeys(RankerOptions.__slots__) | {"side_effect": False, "bias_reduction": False, "margins": False}


def columns(**more):
    return Columns(**COLUMNS | more)


def selection(**more):
    return Selection(**SELECTION | more)


def intervals(**more):
    return Intervals(**INTERVALS | more)


def known(**more):
    return Knowledge(**KNOWN | more)


def fitting(**more):
    return RankerOptions(**FITTING | more)


def pictures(**more):
    return Pictures(**dict.fromkeys(Pictures.__slots__) | {"picture": "intervals"} | more)


def voted(m=200, n=4, seed=1):
    winner, loser, _ = simulate(n, m, np.random.default_rng(seed))
    return Comparisons(list("abcdefgh"[:n]), winner.astype(np.int32), loser.astype(np.int32))


@pytest.fixture(scope="module")
def model():
    return BradleyTerry(l2=0.1).fit(voted())


# ---- marks ----------------------------------------------------------------------------------------------------------


def test_marks_stand_before_the_scores_and_chances_go_without_a_level(model):
    ranking = model.ranking_
    marked = Marking((0.0, 100.0), None, {"A": 50.0}, False)
    frame = ranking.to_frame(0.9)
    whole = marked.applied(ranking, frame, 0.9)
    expected = award_marks(ranking, (0.0, 100.0), boundaries={"A": 50.0}, level=0.9).to_frame()
    assert whole["item"].to_list() == frame["item"].to_list()
    names = expected.columns
    assert whole.columns[: len(names)] == names
    assert {"mark_lower", "mark_upper", "chance", "P(A)"} <= set(names)
    assert whole.columns[len(names) :] == [name for name in frame.columns if name not in names]
    for name in names[1:]:
        assert whole.sort("item")[name].to_list() == expected.sort("item")[name].to_list()
    without = marked.applied(ranking, ranking.to_frame(None), None)
    assert [name for name in names if name not in without.columns] == [
        name for name in names if name in ("mark_lower", "mark_upper", "chance") or name.startswith("P(")]  # fmt: skip
    assert without["mark"].to_list() == pytest.approx(whole["mark"].to_list())


def test_marks_are_of_the_shown_items_in_their_order(model):
    frame = model.ranking_.to_frame(0.9).head(2)
    whole = Marking((0.0, 1.0), None, None, False).applied(model.ranking_, frame, 0.9)
    assert whole["item"].to_list() == frame["item"].to_list()


def test_a_page_has_marks_intervals_known_marks_grades_and_chances(model, tmp_path):
    ranking = model.ranking_
    first, *_, last = ranking.order
    (tmp_path / "known.csv").write_text(f"item,mark\n{first},90\n{last},10.5\n")
    marked = Marking(None, str(tmp_path / "known.csv"), {"A": 50.0}, False)
    frame = marked.applied(ranking, ranking.to_frame(0.9), 0.9)
    found = marked.columns(frame)
    rows = {row["item"]: row for row in frame.to_dicts()}
    assert list(found) == ["Mark", "Mark from … to", "Known", "Grade", "Chance"]
    for item, row in rows.items():
        assert found["Mark"][item] == (f"{row['mark']:.1f}", row["mark"])
        ends = f"{row['mark_lower']:.1f} … {row['mark_upper']:.1f}"
        assert found["Mark from … to"][item] == (ends, row["mark_lower"])
        assert found["Grade"][item] == (row["grade"], row["mark"])
        assert found["Chance"][item][1] == row["chance"]
        assert found["Chance"][item][0].endswith(" %")
    assert found["Known"] == {first: ("90", 90.0), last: ("10.5", 10.5)}
    plain = Marking((0.0, 10.0), None, None, False)
    bare = plain.columns(plain.applied(ranking, ranking.to_frame(None), None))
    assert list(bare) == ["Mark"]
    assert bare["Mark"][first] == ("10.00", pytest.approx(10.0))


def test_a_scale_may_begin_below_zero():
    assert Marking((-15.0, 10.0), None, None, False)._digits() == 1
    assert Marking((-5.0, 10.0), None, None, False)._digits() == 2
    assert Marking((10.0, -15.0), None, None, False)._digits() == 1


def test_what_a_campaign_wishes_of_marks(tmp_path):
    (tmp_path / "known.csv").write_text("item,mark\na,90\nb,10\n")
    path = str(tmp_path / "known.csv")
    assert Marking(None, None, None, False).wish(["a"]) is None
    assert Marking((0.0, 9.0), None, None, False).wish(["a"]) == {"scale": [0.0, 9.0]}
    both = Marking(None, path, {"A": 5.0}, False)
    assert both.wish(["a", "b"]) == {"known": {"a": 90.0, "b": 10.0}, "boundaries": {"A": 5.0}}
    assert refusal(both.wish, ["a", "c"]) == f"{path}, row 2: there is no item 'b'; correct the name, or remove the row"
    assert refusal(both.wish, ["a", " B"]) == f"{path}, row 2: there is no item 'b'; do you mean ' B'?"
    idle = "boundaries= is about marks; add marks='0:100' or known_marks="
    assert refusal(Marking(None, None, {"A": 5.0}, False).wish, ["a"]) == idle


def test_a_name_that_is_nearly_one_is_offered(tmp_path):
    (tmp_path / "known.csv").write_text("item,mark\nessey 1,90\n")
    marked = Marking(None, str(tmp_path / "known.csv"), None, False)
    told = refusal(marked.wish, ["essay 1", "tea"])
    assert told.endswith("row 1: there is no item 'essey 1'; do you mean 'essay 1'?")


@pytest.mark.parametrize(("mark", "number"), [
    (3, 3.0), (2.5, 2.5), ("7", 7.0), (True, None), (None, None), ("x", None), ([], None),
])  # fmt: skip
def test_a_mark_is_a_number_or_none(mark, number):
    found = marking._number(mark)
    assert np.isnan(found) if number is None else found == number


def files_of(tmp_path, rows, **named):
    pl.DataFrame(rows).write_csv(tmp_path / "votes.csv")
    return marking._of_files(str(tmp_path / "votes.csv"), columns(**named))


VOTES = {"winner": ["a", "b", "c", "a"], "loser": ["b", "c", "a", "c"], "judge": ["Ann", "Ann", "Bob", "Ann"]}


def test_judges_pairs_and_seconds_are_read_anew(tmp_path):
    whole, check, chosen, seconds = files_of(tmp_path, VOTES)
    assert (len(whole), whole.judges, check, chosen, seconds) == (4, ("Ann", "Bob"), None, False, None)
    kinds = {"kind": ["check", "chosen", "check", "other"]}
    whole, check, chosen, _ = files_of(tmp_path, VOTES | kinds)
    assert (len(whole), len(check), chosen) == (4, 2, True)
    _, check, chosen, _ = files_of(tmp_path, VOTES | {"kind": ["check"] * 4})
    assert (len(check), chosen) == (4, False)
    _, check, chosen, _ = files_of(tmp_path, VOTES | {"kind": ["chosen"] * 4})
    assert (check, chosen) == (None, True)


@pytest.mark.parametrize(("name", "per_second"), [("ms", 1000.0), ("seconds", 1.0), ("duration", 1.0)])
def test_the_median_time_of_each_judge_is_in_seconds(tmp_path, name, per_second):
    rows = VOTES | {name: [1000.0, 3000.0, 500.0, 8000.0]}
    assert files_of(tmp_path, rows)[3] == {"Ann": 3000.0 / per_second, "Bob": 500.0 / per_second}
    holes = VOTES | {name: ["1000", "", "x", "8000"]}
    assert files_of(tmp_path, holes)[3] == {"Ann": 4500.0 / per_second}
    nobody = {key: value for key, value in rows.items() if key != "judge"}
    assert files_of(tmp_path, nobody)[3] is None
    other = {("reader" if key == "judge" else key): value for key, value in rows.items()}
    assert files_of(tmp_path, other, judge="reader")[3] == {"Ann": 3000.0 / per_second, "Bob": 500.0 / per_second}


def test_the_first_clock_is_taken_and_rankings_have_none(tmp_path):
    rows = VOTES | {"duration": [9.0] * 4, "ms": [1000.0] * 4}
    assert files_of(tmp_path, rows)[3] == {"Ann": 1.0, "Bob": 1.0}
    lists = {"ranking": ["a > b > c", "b > a > c"], "judge": ["Ann", "Bob"], "kind": ["check", "chosen"]}
    whole, *rest = files_of(tmp_path, lists)
    assert isinstance(whole, Rankings)
    assert rest == [None, False, None]


def test_format_and_delimiter_are_those_typed(tmp_path):
    pl.DataFrame(VOTES | {"kind": ["check"] * 4, "ms": [2000.0] * 4}).write_csv(tmp_path / "v.data", separator=";")
    typed = columns(input_format="csv", delimiter=";")
    whole, check, chosen, seconds = marking._of_files(str(tmp_path / "v.data"), typed)
    assert (len(whole), len(check), chosen, seconds) == (4, 4, False, {"Ann": 2.0, "Bob": 2.0})


@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("chosen", [False, True])
def test_quality_is_asked_for_with_what_was_read(monkeypatch, typed, chosen):
    asked, read = Noted("quality"), Noted(("whole", "check", chosen, {"Ann": 1.0}))
    monkeypatch.setattr("podium.evaluate.judging.judging_quality", asked)
    monkeypatch.setattr(marking, "_of_files", read)
    marked, where = Marking((0.0, 1.0), None, None, typed), columns()
    assert marked.quality(("v.csv",), where, None) == "quality"
    assert marked.quality(("v.csv", "w.csv"), where, None) == "quality"
    assert read.calls == [(("v.csv", where), {}), ((["v.csv", "w.csv"], where), {})]
    expected = {"check": "check", "chosen": chosen or typed, "seconds": {"Ann": 1.0}}
    assert asked.calls == [(("whole",), expected)] * 2
    monkeypatch.setattr(marking, "_of_campaign", lambda content: (content, "check", chosen))
    assert marked.quality(("c.db",), where, "campaign") == "quality"
    assert asked.calls[2] == (("campaign",), {"check": "check", "chosen": chosen or typed})


def test_quality_that_cannot_be_found_says_why(monkeypatch):
    marked = Marking((0.0, 1.0), None, None, False)
    told = marked.quality(("-", "v.csv"), columns(), None)
    assert told.words()[0] == "reliability is not told of votes from standard input; give a file"

    def fails(source, where):
        raise InputError("row 3: no winner")

    monkeypatch.setattr(marking, "_of_files", fails)
    told = marked.quality(("v.csv",), columns(), None)
    assert told.words()[0] == "reliability could not be found: row 3: no winner"


def test_check_pairs_of_a_campaign_are_told_from_chosen_ones(monkeypatch):
    def of(kinds):
        kinds = np.array(kinds)
        live = types.SimpleNamespace(of_kind=lambda kind: kinds == kind)
        monkeypatch.setattr("podium.campaign.live.live_votes", lambda content: live)
        monkeypatch.setattr("podium.campaign.live.live_comparisons", lambda content: votes)
        return marking._of_campaign("content")

    votes = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a")])
    whole, check, chosen = of(["check", "chosen", "check"])
    assert whole is votes
    assert (len(check), chosen) == (2, True)
    assert [check.items[k] for k in check.left] == ["a", "c"]
    assert of(["check"] * 3)[2] is False
    assert of(["chosen"] * 3)[1] is None
    assert of(["spread"] * 3)[1:] == (None, False)


# ---- boards ---------------------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def in_a_command():
    """A command is being run, with no option typed."""
    with click.Context(click.Command("rank")) as context:
        yield context


def board(form="table", path=None, marked=None, **more):
    given = {
        "method": "bradley-terry", "columns": columns(), "known": known(), "intervals": intervals(),
        "selection": selection(), "marking": marked or Marking(None, None, None, False), "out": Output(form, path),
        "balance": None,
    }  # fmt: skip
    return Boards(**given | more)


def test_a_part_is_fitted_put_in_a_table_and_told(model, capsys):
    made = board()
    assert made.add(None, voted(), lambda: model) == (model, model.ranking_)
    assert len(made.frames) == len(made.texts) == 1
    frame = made.frames[0]
    assert frame["item"].to_list() == list(model.ranking_.order)
    assert frame["settings"].n_unique() == 1
    expected = model.ranking_.to_frame(0.9)
    assert frame.drop("settings").equals(expected)
    assert made.texts[0].splitlines()[0].split()[-1] == "votes"
    assert made.texts[0].splitlines()[1].split()[2] == f"{expected['score'][0]:.2f}"
    err = capsys.readouterr().err.splitlines()
    assert err[0] == "200 votes on 4 items, bradley-terry; 90 % confidence intervals, relative to the mean"
    made.write()
    assert capsys.readouterr().out.rstrip("\n") == made.texts[0]


@pytest.mark.parametrize(("by", "name"), [("language", "language"), ("score", "by score")])
def test_a_part_has_its_value_before_the_table_and_its_name_above(model, capsys, by, name):
    made = board(selection=selection(by=by))
    made.add("fr", voted(), lambda: model)
    made.add(7, voted(), lambda: model)
    assert made.frames[0].columns[0] == name
    assert made.frames[0][name].to_list() == ["fr"] * 4
    assert [text.splitlines()[0] for text in made.texts] == [f"{by} = fr", f"{by} = 7"]
    err = capsys.readouterr().err.splitlines()
    assert err[0] == f"{by} = fr"
    assert f"{by} = 7" in err


@pytest.mark.parametrize(("selected", "marked"), [
    ({}, None), ({"differences": True}, None), ({}, Marking((0.0, 9.0), None, None, False)),
])  # fmt: skip
def test_tables_are_as_wide_as_the_terminal(capsys, selected, marked):
    votes = voted()
    long = dataclasses.replace(votes, items=[f"{item * 30} {item}" for item in votes.items])
    fitted = BradleyTerry(l2=0.1).fit(long)
    made = board(marked=marked, selection=selection(**selected))
    made.out = types.SimpleNamespace(for_people=True, room=52, form="table")
    made.add(None, long, lambda: fitted)
    assert max(map(width, made.texts[0].splitlines())) <= 52
    made.out = types.SimpleNamespace(for_people=True, room=None, form="table")
    made.add(None, long, lambda: fitted)
    assert max(map(width, made.texts[1].splitlines())) > 52


def test_for_programs_there_is_no_text(model):
    made = board("csv")
    made.add(None, voted(), lambda: model)
    assert (len(made.frames), made.texts) == (1, [])


def test_warnings_of_a_part_are_told_below_its_name(model, capsys):
    said = []

    def fit():
        warnings.warn("few votes", DataWarning, stacklevel=2)
        return model

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, *rest: said.append(
            (str(message), category, capsys.readouterr().err)
        )
        board(selection=selection(by="language")).add("fr", voted(), fit)
        assert said == [("few votes", DataWarning, "language = fr\n")]
        said.clear()
        capsys.readouterr()
        board().add(None, voted(), fit)
        assert said == [("few votes", DataWarning, "")]


@pytest.mark.parametrize("always", [True, False])
def test_a_name_is_told_where_something_is_told_below_it(capsys, always):
    with boards._told_below("all\nof it", always=always):
        pass
    assert capsys.readouterr().err == ("all\\nof it\n" if always else "")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *rest: print(message)
        with boards._told_below("all", always=always):
            warnings.warn("few", DataWarning, stacklevel=2)
    assert capsys.readouterr() == ("few\n", "all\n")
    with pytest.raises(InputError), boards._told_below("all", always=always):
        raise InputError("no")
    assert capsys.readouterr() == ("", "")


def test_of_all_parts_together_only_warnings_are_told(capsys):
    with board(selection=selection(by="language")).about_all():
        pass
    assert capsys.readouterr().err == ""
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *rest: None
        with board(selection=selection(by="language")).about_all():
            warnings.warn("few", DataWarning, stacklevel=2)
    assert capsys.readouterr().err == "all values of language together\n"


def fails():
    raise InputError("too few")


def test_a_part_that_fails_is_left_out_with_its_votes_named(model):
    made = board(selection=selection(by="language"))
    assert made.add("fr", voted(), fails) is None
    made.add("de", voted(), lambda: model)
    assert made.add("it", voted(10), fails) is None
    with pytest.warns(DataWarning) as heard:
        made.leave_out()
    assert [str(each.message) for each in heard] == [
        "language = fr, 200 votes on 4 items, is left out: too few",
        "language = it, 10 votes on 4 items, is left out: too few",
    ]
    with pytest.raises(InputError, match=r"^too few$"):
        board().add(None, voted(), fails)


def test_where_every_part_fails_the_first_is_told():
    made = board(selection=selection(by="language"))
    made.add("fr", voted(), fails)
    made.add("de", voted(), fails)
    assert refusal(made.leave_out) == "language = fr: too few"


def test_tables_of_parts_without_an_item_are_refused(model, capsys):
    for least, kept in ((1000, 0), (1, 4)):
        made = board(selection=selection(by="language", min_votes=least))
        made.add("fr", voted(), lambda: model)
        assert len(made.frames[0]) == kept
        if kept:
            made.write()
        else:
            assert refusal(made.write) == "no part has an item with 1,000 votes; lower min_votes="
            assert any(
                line.startswith("no item has 1,000 votes, the most is ")
                for line in capsys.readouterr().err.splitlines()
            )


def test_items_with_few_votes_and_all_but_the_first_are_left_out(model):
    won, lost, tied = model.ranking_.record
    votes = dict(zip(model.ranking_.items, (won + lost + tied).tolist(), strict=True))
    counts = sorted(votes.values())
    for least in (counts[1], counts[1] + 0.5, counts[-1]):
        frame = boards._table(model.ranking_, intervals(), selection(min_votes=least))
        assert set(frame["item"]) == {item for item, count in votes.items() if count >= least}
    told = refusal(boards._table, model.ranking_, intervals(), selection(min_votes=counts[-1] + 1))
    assert told == f"no item has {counts[-1] + 1:g} votes, the most is {counts[-1]:g}; lower min_votes="
    assert len(boards._table(model.ranking_, intervals(), selection(top=3))) == 3
    assert len(boards._table(model.ranking_, intervals(), selection())) == 4
    unknown = types.SimpleNamespace(
        to_frame=lambda **more: pl.DataFrame(
            {"item": ["a"], "comparisons": [None]}, schema_overrides={"comparisons": pl.Float64}
        )
    )
    told = refusal(boards._table, unknown, intervals(), selection(min_votes=1))
    assert told == "min_votes=: a model that learns on does not know the votes of items; drop it"


@pytest.mark.parametrize(("ci", "simultaneous"), [(None, True), (None, False), ("none", False)])
def test_the_table_is_that_of_the_ranking_at_the_level(ci, simultaneous):
    asked = Noted(pl.DataFrame({"item": ["a"]}))
    boards._table(types.SimpleNamespace(to_frame=asked), intervals(ci=ci, simultaneous=simultaneous), selection())
    assert asked.calls == [((), {"level": None if ci else 0.9, "simultaneous": simultaneous})]


def test_differences_are_of_the_items_shown(model):
    shown = pl.Series("item", model.ranking_.order[:3])
    frame = boards._differences(model.ranking_, intervals(), shown)
    whole = model.ranking_.differences(0.9)
    kept = [row for row in whole.to_dicts() if {row["item"], row["against"]} <= set(shown)]
    assert frame.to_dicts() == kept
    assert 0 < len(kept) < len(whole)
    told = refusal(boards._differences, model.ranking_, intervals(ci="none"), shown)
    assert told == "differences= is about standard errors, and there are none; leave ci= out"
    made = board(selection=selection(differences=True, top=3))
    made.add(None, voted(), lambda: model)
    assert made.frames[0].to_dicts() == kept
    number = made.texts[0].splitlines()[1].split()[2]
    assert number == f"{kept[0]['difference']:.4f}"


def test_points_have_no_decimals_and_marks_a_table_of_their_own(capsys):
    elo = BradleyTerry(l2=0.1, scale="elo").fit(voted())
    made = board()
    made.add(None, voted(), lambda: elo)
    assert made.texts[0].splitlines()[1].split()[2] == f"{elo.ranking_.to_frame(0.9)['score'][0]:.0f}"
    marked = board(marked=Marking((0.0, 100.0), None, None, False))
    marked.add(None, voted(), lambda: elo)
    assert marked.texts[0].splitlines()[0].split() == ["rank", "item", "mark", "interval", "votes"]
    assert marked.frames[0].columns[1] == "mark"


def test_a_model_keeps_the_intervals_asked_for_unless_they_are_none(model):
    class Asked:
        def __init__(self, answer):
            self.answer, self.calls = answer, []

        def applied(self, *args):
            self.calls.append(args)
            return self.answer

    mine = types.SimpleNamespace(information=object())
    for answer, kept in (
        (types.SimpleNamespace(information=object()), True),
        (types.SimpleNamespace(information=None), False),
    ):
        holder, asked = types.SimpleNamespace(ranking_=mine), Asked(answer)
        made = board(intervals=asked, columns=columns(jobs=3))
        assert made.applied(holder) is answer
        assert (holder.ranking_ is answer) is kept
        assert asked.calls == [(mine, 3, None)]


def test_how_a_leaderboard_was_made_holds_what_is_around_the_model(model):
    made = board(balance="pairs", intervals=intervals(reference="a"), known=known(style="arena"))
    from podium.evaluate.differences import settings_of

    assert made.settings(model) == f"{settings_of(model)} balance=pairs reference=a", "style is that of covariates"
    lengths = np.array([[0.5], [-1.0], [0.2], [1.0], [-0.3], [0.0]])
    winner, loser = np.array([[0, 1, 2, 0, 1, 0], [1, 2, 0, 1, 0, 2]], np.int32)
    votes = Comparisons(list("abc"), winner, loser, covariates=lengths, covariate_names=("length",))
    with thin_data():
        styled = BradleyTerry(l2=0.1).fit(votes)
    assert made.settings(styled) == f"{settings_of(styled)} balance=pairs reference=a style=arena"
    assert made.settings(styled, True) == f"{settings_of(styled)} balance=pairs pool=True reference=a style=arena"
    assert board().settings(model) == settings_of(model)


def test_what_a_table_counts():
    votes = voted(20)
    assert boards._noun(votes) == "vote"
    assert boards._noun(dataclasses.replace(votes, vote_is="game", sided=True)) == "game"
    assert boards._noun(Rankings.from_lists([["a", "b"]])) == "pair"
    assert boards._sds(votes) is boards._sds(Rankings.from_lists([["a", "b"]])) is None
    values = np.array([[1.0], [2.0], [6.0]])
    styled = Comparisons(["a", "b"], np.zeros(3, np.int32), np.ones(3, np.int32), covariates=values,
                         covariate_names=("x",))  # fmt: skip
    np.testing.assert_allclose(boards._sds(styled), styled.covariate_sds())


@pytest.mark.parametrize(("ci", "told"), [(None, True), ("none", False)])
def test_a_remark_names_method_level_and_reference(capsys, model, ci, told):
    boards._remark(voted(), model, model.ranking_, "elo", intervals(ci=ci), False)
    line = "200 votes on 4 items, elo" + ("; 90 % confidence intervals, relative to the mean" if told else "")
    assert capsys.readouterr().err.splitlines() == [line]
    win = WinRate().fit(voted())
    boards._remark(voted(), win, win.ranking_, "win-rate", intervals(), False)
    assert capsys.readouterr().err.splitlines()[0] == "200 votes on 4 items, win-rate"


@pytest.mark.parametrize(("pool", "centre"), [(False, "the mean"), (True, "that of all parts together")])
def test_a_remark_says_what_a_penalty_from_the_votes_pulls_to(capsys, pool, centre):
    auto = BradleyTerry().fit(voted())
    boards._remark(voted(), auto, auto.ranking_, "bradley-terry", intervals(), pool)
    from podium.ranking.leaderboard import prior_words

    err = capsys.readouterr().err.splitlines()
    assert err[1] == prior_words(auto.ranking_.posterior.ridge**-0.5, centre, "votes")
    lists = Rankings.from_lists([["a", "b", "c"], ["b", "a", "c"], ["c", "b", "a"]] * 9)
    listed = PlackettLuce().fit(lists)
    boards._remark(lists, listed, listed.ranking_, "plackett-luce", intervals(), pool)
    err = capsys.readouterr().err.splitlines()
    assert err[1] == prior_words(listed.ranking_.posterior.ridge**-0.5, centre, "rankings")


# ---- methods and features -------------------------------------------------------------------------------------------


def test_an_option_that_a_method_does_not_know_is_refused_with_a_way_out():
    assert refusal(maker, "elo", {"l2": 1.0}) == "l2= does not apply to method='elo'; drop it"
    assert refusal(maker, "plackett-luce", {"residual_penalty": 1.0}) == (
        "residual_penalty= does not apply to method='plackett-luce'; its penalty on what features do not explain is l2="
    )
    assert refusal(maker, "dynamic", {"residual_penalty": 1.0}) == (
        "residual_penalty= does not apply to method='dynamic'; what features do not explain has a spread there, sd="
    )
    assert refusal(maker, "dynamic", {"k": 1.0}) == "k= does not apply to method='dynamic'; drop it"
    assert maker("bradley-terry", {"l2": 0.5})().l2 == 0.5


def test_what_a_model_that_learns_on_has_settled_is_refused(tmp_path, monkeypatch):
    assert begun(fitting(), {}) is None
    saved = fitting(model=Path("m.podium"))
    told = refusal(begun, fitting(model=Path("m.podium"), l2=1.0), {})
    assert told == "l2= was settled when the model of model= began; drop it"
    for name, made, others in (("balance", fitting(model=Path("m"), balance="pairs"), {}), ("by", saved, {"by": "x"}),
                               ("report", saved, {"by": None, "report": Path("r")})):  # fmt: skip
        told = refusal(begun, made, others)
        assert told == f"{name}= does not go with model=, which learns on, vote by vote; drop one of them"
    from podium.pairwise.online import OnlineRABF

    monkeypatch.setattr("podium.models.load", lambda path: WinRate())
    assert refusal(begun, saved, {}) == "m.podium is a file of WinRate; only online-rabf learns on from a file"
    own = OnlineRABF()
    monkeypatch.setattr("podium.models.load", lambda path: own)
    assert begun(saved, {"by": None}) is own
    assert begun(fitting(model=Path("m"), method="online-rabf"), {}) is own
    told = refusal(begun, fitting(model=Path("m"), method="elo"), {})
    assert told == "method='elo' is not that of model=, online-rabf; drop it"


def test_features_and_covariates_that_nothing_looks_at_are_refused():
    refuse_unused("rabf", known(features="f.csv", covariates=("x",)))
    refuse_unused("elo", known())
    assert refusal(refuse_unused, "elo", known(features="f.csv")) == (
        "features= does not apply to method='elo'; use rabf, plackett-luce for rankings, or dynamic for votes with "
        "times"
    )
    told = refusal(refuse_unused, "elo", known(covariates=("x",)))
    assert told == "covariates= does not apply to method='elo'; use bradley-terry or rabf"
    told = refusal(refuse_unused, "elo", known(style="arena"))
    assert told == "style= does not apply to method='elo'; use bradley-terry or rabf"
    assert words_without("rabf", known()) == [
        "rabf without --features: bradley-terry with a penalty chosen from the votes"
    ]
    assert words_without("rabf", known(features="f")) == words_without("elo", known()) == []


def test_what_is_known_reaches_the_library(tmp_path):
    (tmp_path / "f.csv").write_text("id,x\na,1\n")
    given = known(features=str(tmp_path / "f.csv"), id="id", missing="mean", one_hot=True, row_weights="w").arguments()
    assert (list(given), given["id"], given["features"].columns) == (["features", "id"], "id", ["id", "x"])
    assert known().arguments() == {}
    for name in ("id", "missing", "one_hot", "row_weights"):
        told = refusal(known(**{name: "x"}).arguments)
        assert told == f"{name}= is about features=, which is not given; drop it"
    assert known(missing="mean", row_weights="w").treatment == {"missing": "mean", "row_weights": "w"}
    assert known(one_hot=True).treatment == {"one_hot": True}
    assert known().of_votes == {}
    assert known(covariates=("x", "y")).of_votes == {"covariates": ["x", "y"]}
    assert known(covariates=("x",), style="arena").of_votes == {"covariates": ["x"], "style": "arena"}
    assert known(style="arena").of_votes == {"covariates": None, "style": "arena"}
    assert [known(**each).uses_covariates for each in ({}, {"covariates": ("x",)}, {"style": "arena"})] == [
        False, True, True]  # fmt: skip


def test_columns_reach_the_library_by_their_names():
    assert columns().named() == {}
    typed = columns(left="l", tie_count="t", judge="", input_format="csv", delimiter=";", unranked="below",
                    rank_columns=("A", "B"), jobs=3)  # fmt: skip
    named = {"left": "l", "ties": "t", "judge": False, "delimiter": ";", "format": "csv", "unranked": "below",
             "rank_columns": ["A", "B"]}  # fmt: skip
    assert typed.named() == named
    assert typed.arguments() == named | {"jobs": 3}
    assert columns().arguments() == {"jobs": None}
    assert columns().engine() is None
    columns().refuse_cluster("why")
    columns().refuse_time("check")
    columns(time="").refuse_time("check")
    assert refusal(columns(cluster="x").refuse_cluster, "a campaign is one file") == (
        "cluster= shares the work of many machines, and a campaign is one file; drop it"
    )
    told = refusal(columns(time="day").refuse_time, "check")
    assert told == "time= does not apply to podium check, which takes votes of all times alike"


def test_a_cluster_is_connected_once_with_its_certificates(monkeypatch):
    asked, closed = Noted(), []

    @contextlib.contextmanager
    def connect(*args, **more):
        asked(*args, **more)
        yield "engine"
        closed.append(1)

    monkeypatch.setattr("podium.engine.connect", connect)
    typed = columns(cluster="tls://h", cluster_ca="a", cluster_cert="b", cluster_key="c")
    with click.Context(click.Command("x")):
        assert typed.engine() == "engine"
        assert typed.arguments() == {"engine": "engine"}
        assert closed == []
    assert closed == [1]
    assert asked.calls == [(("tls://h",), {"ca": "a", "cert": "b", "key": "c"})]


# ---- rank -----------------------------------------------------------------------------------------------------------


def read(monkeypatch, method="bradley-terry", *, ci=None, report=None, in_order=False, sides=False, votes=("v.csv",),
         covariates=None, by=None, **named):  # fmt: skip
    asked = Noted("sets")
    monkeypatch.setattr("podium.data.files.read_votes", asked)
    shown = types.SimpleNamespace(pictures=pictures(report=report), in_order=in_order)
    assert rank._read(votes, columns(**named), covariates or {}, method, by, ci, shown, sides) == "sets"
    ((args, more),) = asked.calls
    assert callable(more.pop("progress"))
    assert more.pop("jobs") is None
    return args, more


COUNTS = {"judge": False, "group": False, "keep": "counts", "fold_sides": True}


def test_judges_groups_and_order_are_read_where_they_matter(monkeypatch):
    assert read(monkeypatch) == (("v.csv", None), COUNTS)
    assert read(monkeypatch, votes=("v.csv", "w.csv"), by="language")[0] == (["v.csv", "w.csv"], "language")
    assert read(monkeypatch, judge="reader", group="g")[1] == COUNTS | {"judge": "reader", "group": "g"}
    assert read(monkeypatch, ci="group")[1] == {key: value for key, value in COUNTS.items() if key != "group"}
    assert read(monkeypatch, ci="judge")[1] == {key: value for key, value in COUNTS.items() if key != "judge"}
    assert read(monkeypatch, "crowd")[1] == COUNTS | {"judge": None}
    assert read(monkeypatch, report=Path("r"))[1] == COUNTS | {"judge": None}
    rows = {"keep": "rows", "fold_sides": False}
    assert read(monkeypatch, in_order=True)[1] == COUNTS | rows
    assert read(monkeypatch, "elo")[1] == COUNTS | rows
    assert read(monkeypatch, sides=True)[1] == COUNTS | {"fold_sides": False}
    assert read(monkeypatch, covariates={"covariates": ["x"]})[1] == COUNTS | {"covariates": ["x"]}


def test_times_that_nothing_looks_at_are_refused():
    idle = "time= does not apply to method='{}' alone; add half_life='90d', or use dynamic or elo"
    check = rank._refuse_idle_time
    assert refusal(check, columns(time="d"), "bradley-terry", fitting(), pictures()) == idle.format("bradley-terry")
    assert refusal(check, columns(time="d"), "win-rate", fitting(), pictures()) == idle.format("win-rate")
    for allowed in (
        (columns(), "bradley-terry", fitting(), pictures()),
        (columns(time="d"), "bradley-terry", fitting(half_life="90d"), pictures()),
        (columns(time="d"), "dynamic", fitting(), pictures()), (columns(time="d"), "elo", fitting(), pictures()),
        (columns(time="d"), "bradley-terry", fitting(), pictures(report=Path("r"))),
        (columns(time="d"), "bradley-terry", fitting(), pictures(picture="history")),
        (columns(), "dynamic", fitting(), pictures(picture="curves")),
    ):  # fmt: skip
        check(*allowed)
    told = refusal(check, columns(), "bradley-terry", fitting(), pictures(picture="curves"))
    assert told == "picture='curves' is of scores that move; use method='dynamic'"


def test_a_file_that_holds_one_ranking_is_refused_with_parts():
    rank._refuse_one_of_many(selection(by="x"), {"save": None, "plot": None})
    rank._refuse_one_of_many(selection(), {"save": Path("m"), "plot": Path("p")})
    for name in ("save", "plot"):
        files = {"save": None, "plot": None} | {name: Path("f")}
        told = refusal(rank._refuse_one_of_many, selection(by="x"), files)
        assert told == f"{name}= holds one ranking; leave by= out, or rank the parts one by one"


LISTS = Rankings.from_lists([["a", "b", "c"], ["b", "a", "c"]])


def test_rankings_go_to_the_method_made_for_them_and_to_others_as_pairs():
    def of(method="bradley-terry", made=None, pictured=None, **more):
        return rank._of_rankings(method, made or fitting(), known(**more), pictured or pictures(), {None: LISTS})

    assert of() == ("plackett-luce", {None: LISTS})
    assert of("plackett-luce", fitting(method="plackett-luce")) == ("plackett-luce", {None: LISTS})
    method, sets = of("elo", fitting(method="elo"))
    assert method == "elo"
    assert isinstance(sets[None], Comparisons)
    assert len(sets[None]) == 6
    method, sets = of("bradley-terry", fitting(method="bradley-terry", balance="pairs"))
    assert isinstance(sets[None], Comparisons)
    for made in (fitting(balance="pairs"), fitting(method="plackett-luce", balance="pairs")):
        told = refusal(of, made.method or "bradley-terry", made)
        assert told == "balance= is about pairs; name a method for them, as method='bradley-terry'"
    told = refusal(of, covariates=("x",))
    assert told == "covariates= belong to a comparison of two items, and these are rankings; drop it"
    told = refusal(of, pictured=pictures(plot=Path("x"), picture="history"))
    assert told == "picture='history' follows votes one by one, and these are rankings; drop it"
    of(pictured=pictures(picture="history"))
    of(pictured=pictures(plot=Path("x"), picture="wins"))


@pytest.mark.parametrize(("method", "ties", "may"), [
    (None, "efron", True), ("plackett-luce", "efron", False), (None, "half", False), (None, None, False),
])  # fmt: skip
def test_ties_by_efron_wait_until_rankings_are_read(method, ties, may):
    assert rank._may_be_lists(fitting(method=method, ties=ties)) is may


def test_votes_of_all_parts_are_all_votes():
    parts = [Comparisons.from_pairs([("a", "b")] * 3), Comparisons.from_pairs([("b", "c")] * 2),
             Comparisons.from_pairs([("c", "d")])]  # fmt: skip
    whole = rank._together(parts)
    assert (len(whole), set(whole.items)) == (6, set("abcd"))
    assert len(rank._together(parts[:1])) == 3
    lists = [Rankings.from_lists([["a", "b"]]), Rankings.from_lists([["c", "b"], ["b", "c"]])]
    whole = rank._together(lists)
    assert isinstance(whole, Rankings)
    assert (len(whole), tuple(whole.items)) == (3, ("a", "b", "c"))


PARTS = {"fr": voted(120, 4, 1), "de": voted(60, 4, 2)}


def test_parts_share_a_penalty_and_pooled_ones_a_centre():
    auto = BradleyTerry(scale="elo", anchor=("a", 1000.0))
    assert rank._shared_prior(PARTS, auto, selection()) == {}
    assert rank._shared_prior(PARTS, BradleyTerry(l2=0.1), selection(by="x")) == {}
    assert rank._shared_prior(PARTS, WinRate(), selection(by="x")) == {}
    assert rank._shared_prior(PARTS, auto, selection(by="x")) == {"sd": common_sd(auto, PARTS.values())}
    pooled = rank._shared_prior(PARTS, auto, selection(by="x", pool=True))
    whole = BradleyTerry().fit(PARTS["fr"] + PARTS["de"]).ranking_
    shift = pooled["centre"]["a"] - whole.score("a")  # a common one does not matter
    assert pooled["centre"] == pytest.approx({item: shift + whole.score(item) for item in whole.items})
    assert pooled["sd"] == pytest.approx(common_sd(auto, list(PARTS.values()), pooled["centre"]))
    words = "pool= is about the parts of by= and a penalty from the votes (bradley-terry, l2='auto')"
    assert refusal(rank._shared_prior, PARTS, auto, selection(pool=True)) == words
    assert refusal(rank._shared_prior, PARTS, BradleyTerry(l2=0.1), selection(by="x", pool=True)) == words


def test_the_fit_of_all_parts_for_a_pool_warns_of_nothing():
    apart = {"fr": Comparisons.from_pairs([("a", "b")] * 3), "de": Comparisons.from_pairs([("b", "c")] * 3)}
    with pytest.warns(SeparationWarning):
        BradleyTerry().fit(apart["fr"] + apart["de"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(rank._shared_prior(apart, BradleyTerry(), selection(by="x", pool=True))["centre"]) == set("abc")


# ---- the whole command, without its pictures and pages --------------------------------------------------------------


class Shown:
    """In place of pictures and pages: notes what it is made of and what it is given."""

    def __init__(self, *args):
        self.args, self.method, self.marking = args, args[3], None
        self.warnings, self.reliability, self.part, self.parts = [], [], None, []
        self.unlike, self.written, self.pictures, self.in_order = [], [], args[0], False
        Shown.last = self

    def warn_if_unlike(self, settings):
        self.unlike.append(settings)

    def write(self, *args):
        self.written.append(args)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(rank, "Show", Shown)
    rows = "".join(f"{a},{b},{lang}\n" for a, b, lang in zip("abcabcaabb", "bcabcabccc", "fffffddddd", strict=True)) * 4
    Path("votes.csv").write_text("winner,loser,language\n" + rows)
    Path("lists.csv").write_text(
        "ranking,shift\n" + "a > b > c,x\nb > a > c,y\nb > c > a,x\nc > a > b,y\nc > a > b,x\na > c > b,y\n"
    )
    Path("items.csv").write_text("id,x\na,1\nb,2\nc,3\n")
    return tmp_path


def typed(*args, code=0):
    done = CliRunner().invoke(rank.rank, [str(arg) for arg in args])
    assert done.exit_code == code, (done.output, done.exception)
    return done


def test_a_page_is_given_the_one_model_its_votes_and_features(folder):
    typed("votes.csv", "--l2", "0.5", "--report", "r.html", "--save", "m.podium", "--ci", "sandwich")
    made = Shown.last
    ((model, votes, features),) = made.written
    assert (made.method, made.marking, made.part) == ("bradley-terry (l2=0.5, ci=sandwich)", None, None)
    assert (model.l2, len(votes), features) == (0.5, 40, {})
    assert len(made.unlike) == 1
    assert made.unlike[0].startswith("method=bradley-terry")
    assert Path("m.podium").exists()
    shown, selected, of_intervals, _, where, season = made.args
    assert season == ("votes.csv",)
    assert (shown.report, selected.by, of_intervals.ci, where.left) == (Path("r.html"), None, "sandwich", None)
    typed("votes.csv", "--features", "items.csv", "--feature-penalty", 1, "--residual-penalty", 1)
    assert Shown.last.method == "rabf"
    assert Shown.last.written[0][2]["features"].columns == ["id", "x"]


@pytest.mark.parametrize("where", [["--report", "r.html"], ["--embed", "e.svg"]])
def test_parts_stand_beside_the_fit_of_all_votes(folder, where, monkeypatch):
    read = rank._read
    seen = []

    def noted(*args):
        seen.append(args[-1])
        return read(*args)

    monkeypatch.setattr(rank, "_read", noted)
    typed("votes.csv", "--by", "language", "--l2", "0.5", "--ci", "sandwich", *where)
    made = Shown.last
    ((model, whole, features, parts),) = made.written
    assert (len(whole), features) == (40, {})
    assert {name: len(votes) for name, (_, votes) in parts.items()} == {"f": 20, "d": 20}
    assert all(ranking.information is not None for ranking, _ in parts.values())
    assert model.ranking_.uncertainty == "sandwich"
    assert len(made.unlike) == 1
    assert made.part is None
    assert seen == [where[0] == "--report"]  # a page tells of sides


def test_parts_without_a_page_are_tables_alone(folder):
    done = typed("votes.csv", "--by", "language", "--l2", "0.5", "--format", "csv")
    assert Shown.last.written == Shown.last.unlike == []
    assert pl.read_csv(done.stdout.encode())["language"].to_list() == ["f"] * 3 + ["d"] * 3


def test_a_part_is_named_while_it_is_fitted(folder, monkeypatch):
    parts, add = [], Boards.add

    def noted(self, value, votes, fit):
        parts.append((value, Shown.last.part))
        return add(self, value, votes, fit)

    monkeypatch.setattr(Boards, "add", noted)
    typed("votes.csv", "--by", "language", "--l2", "0.5")
    typed("votes.csv", "--l2", "0.5")
    assert parts == [("f", "f"), ("d", "d"), (None, None)]


@pytest.mark.parametrize(("typed_more", "sides"), [
    ([], False), (["--side-effect"], True), (["--covariates", "x"], True), (["--report", "r.html"], True),
    (["--style", "arena"], True),
])  # fmt: skip
def test_sides_are_kept_where_something_tells_of_them(folder, monkeypatch, typed_more, sides):
    asked = Noted({None: voted()})
    monkeypatch.setattr(rank, "_read", asked)
    monkeypatch.setattr(
        rank,
        "Boards",
        Noted(
            types.SimpleNamespace(
                add=lambda *args: (None, None), leave_out=lambda: None, write=lambda: None, settings=lambda model: ""
            )
        ),
    )
    typed("votes.csv", *typed_more)
    args = asked.calls[0][0]
    assert args[0] == ("votes.csv",)
    assert args[3:6] == ("bradley-terry", None, None)
    assert args[7] is sides


def test_rankings_change_the_method_that_a_page_names(folder):
    typed("lists.csv", "--l2", "0.5", "--ci", "none")
    assert Shown.last.method == "plackett-luce (l2=0.5, ci=none)"
    assert isinstance(Shown.last.written[0][1], Rankings)
    typed("lists.csv", "--ties", "efron")
    assert Shown.last.method == "plackett-luce (ties=efron)"
    assert Shown.last.written[0][0].ties == "efron"
    typed("lists.csv", "--by", "shift", "--l2", "0.5", "--report", "r.html")
    whole = Shown.last.written[0][1]
    assert (type(whole), len(whole)) == (Rankings, 6)
    told = str(CliRunner().invoke(rank.rank, ["votes.csv", "--ties", "efron"]).exception)
    assert "efron" in told


def test_pairs_are_balanced_on_request(folder):
    typed("votes.csv", "--l2", "0.5", "--balance", "pairs")
    balanced = Shown.last.written[0][1]
    assert Shown.last.method == "bradley-terry (l2=0.5, balance=pairs)"
    weights = {}
    for a, b, weight in zip(balanced.left, balanced.right, balanced.weight, strict=True):
        key = frozenset((int(a), int(b)))
        weights[key] = weights.get(key, 0.0) + float(weight)
    assert len({round(weight, 9) for weight in weights.values()}) == 1


@pytest.mark.parametrize("reliable", [True, False])
@pytest.mark.parametrize("by", [False, True])
def test_how_far_marks_can_be_relied_on_is_told_below_them(folder, monkeypatch, reliable, by):
    quality = types.SimpleNamespace(words=lambda: ["reliable or not", "more"], reliable=reliable)
    asked = []
    monkeypatch.setattr(Marking, "quality", lambda self, *args: asked.append(args) or quality)
    more = ["--by", "language"] if by else []
    done = typed("votes.csv", "--marks", "0:10", "--l2", "0.5", "--report", "r.html", *more)
    assert (asked[0][0], asked[0][2]) == (("votes.csv",), None)
    assert isinstance(asked[0][1], Columns)
    made = Shown.last
    assert made.marking is not None
    assert made.reliability == ["reliable or not", "more"]
    assert made.warnings == ([] if reliable else ["reliable or not"])
    heading = ["all votes together"] if by else []
    words = "marks on a scale from the lowest item to the best, with 95 % intervals"
    assert done.stderr.splitlines()[-3 - by :] == [words, *heading, "reliable or not", "more"]
    typed("votes.csv", "--marks", "0:10", "--l2", "0.5", *more)
    assert Shown.last.warnings == []


def test_marks_of_a_method_without_errors_have_no_intervals(folder, monkeypatch):
    quality = types.SimpleNamespace(words=list, reliable=True)
    monkeypatch.setattr(Marking, "quality", lambda self, *args: quality)
    done = typed("votes.csv", "--marks", "0:10", "--method", "win-rate", "--by", "language")
    assert done.stderr.splitlines()[-1] == "marks on a scale from the lowest item to the best"


def test_what_cannot_be_is_refused_before_any_vote_is_read(folder, monkeypatch):
    monkeypatch.setattr(rank, "_read", lambda *args: pytest.fail("votes were read"))
    for args, words in (
        (["--method", "elo", "--features", "items.csv"], "features= does not apply to method='elo'"),
        (["--method", "elo", "--cluster", "local:1"], "cluster= shares the work of many machines, and elo takes votes"),
        (["--method", "elo", "--l2", "1"], "l2= does not apply to method='elo'"),
        (["--title", "T"], "title= is about"), (["--time", "language"], "time= does not apply to"),
        (["--boundaries", "A=1"], "boundaries= is about marks"),
        (["--by", "language", "--save", "m.podium"], "save= holds one ranking"),
        (["--by", "language", "--plot", "p.svg"], "plot= holds one ranking"),
        (["--model", "m.podium", "--by", "language"], "by= does not go with model="),
        (["--model", "m.podium", "--report", "r.html"], "report= does not go with model="),
        (["--assist", "votes.csv", "--marks", "0:1"], "assist= gives scores, not marks; leave marks= out"),
    ):  # fmt: skip
        told = str(CliRunner().invoke(rank.rank, ["votes.csv", *args]).exception)
        assert told.startswith(words), told


def test_a_campaign_is_shown_or_fitted_as_any_votes(folder, monkeypatch):
    content, shown, chosen = object(), Noted(), []
    monkeypatch.setattr(rank, "campaign_in", lambda votes: content)
    monkeypatch.setattr(rank, "show_standing", shown)
    monkeypatch.setattr(rank, "say_if_chosen", chosen.append)
    given = Noted(voted())
    monkeypatch.setattr(rank, "campaign_votes", given)
    typed("c.db", "--top", 3)
    ((it, top, _),) = [call[0] for call in shown.calls]
    assert (it is content, top, given.calls) == (True, 3, [])
    typed("c.db", "--l2", "0.5", "--by", "x", "--style", "arena", code=0)
    ((it, arguments),) = [call[0] for call in given.calls]
    assert it is content
    assert {name: arguments[name] for name in ("by", "covariates", "style")} == {
        "by": "x", "covariates": (), "style": "arena"}  # fmt: skip
    assert chosen == [content]
    told = str(CliRunner().invoke(rank.rank, ["c.db", "--cluster", "local:1"]).exception)
    assert told == "cluster= shares the work of many machines, and a campaign is one file; drop it"


def test_a_model_learns_on_from_its_file(folder, monkeypatch):
    learned = []

    class Old:
        def partial_fit(self, votes, **features):
            learned.append((len(votes), features))
            return BradleyTerry(l2=0.5).fit(voted())

    monkeypatch.setattr(rank, "begun", lambda fitting, others: Old())
    made = []
    monkeypatch.setattr(rank, "maker", lambda method, options: made.append((method, options)) or (lambda: WinRate()))
    typed("votes.csv", "--missing", "mean", "--features", "items.csv")
    assert learned[0][0] == 40
    assert learned[0][1]["features"].columns == ["id", "x"]
    assert made == [("online-rabf", {"missing": "mean"})]
