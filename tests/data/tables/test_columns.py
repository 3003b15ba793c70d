"""Which column plays which role, by name or by option: every form, and each way to be told that it cannot be known."""

import pytest

from podium.data.tables import names as known
from podium.data.tables.columns import Layout, arena_covariates, recognise, recognise_sides, refuse_difference
from podium.data.tables.names import Names, listed
from podium.errors import InputError

NONE = Layout("winner", "", "")
FIELDS = [name for name in Layout.__dataclass_fields__ if name not in ("form", "left", "right")]


def told(columns, **options):
    """The form, both sides, and every other role that a column plays."""
    layout = recognise(columns.split(), **options)
    more = {name: getattr(layout, name) for name in FIELDS if getattr(layout, name) != getattr(NONE, name)}
    return layout.form, layout.left, layout.right, more


VOTES = [
    ("winner loser", {}, ("winner", "winner", "loser", {})),
    ("chosen rejected", {}, ("winner", "chosen", "rejected", {})),
    ("Winner LOSER margin", {}, ("winner", "Winner", "LOSER", {"margin": "margin"})),
    ("x y", {"winner": "x", "loser": "y"}, ("winner", "x", "y", {})),
    ("winner x", {"loser": "x"}, ("winner", "winner", "x", {})),
    ("left right winner loser", {"winner": "winner", "loser": "loser"}, ("winner", "winner", "loser", {})),
    ("left right winner loser", {"outcome": "winner"},
     ("outcome", "left", "right", {"outcome": "winner", "names_winner": True})),
    ("left right outcome", {}, ("outcome", "left", "right", {"outcome": "outcome"})),
    ("model_a model_b winner", {}, ("outcome", "model_a", "model_b", {"outcome": "winner", "names_winner": True})),
    ("left right x", {"winner": "x"}, ("outcome", "left", "right", {"outcome": "x", "names_winner": True})),
    ("left right x", {"outcome": "x"}, ("outcome", "left", "right", {"outcome": "x"})),
    ("left right outcome margin", {}, ("outcome", "left", "right", {"outcome": "outcome", "margin": "margin"})),
    ("left right outcome margin", {"margin": False}, ("outcome", "left", "right", {"outcome": "outcome"})),
    ("left right outcome m", {"outcome": "outcome", "margin": "m"},
     ("outcome", "left", "right", {"outcome": "outcome", "margin": "m"})),
    ("left right winner_a winner_b winner_tie", {},
     ("flags", "left", "right", {"flags": ("winner_a", "winner_b", "winner_tie")})),
    ("left right winner_a winner_b winner_tie margin", {},
     ("flags", "left", "right", {"flags": ("winner_a", "winner_b", "winner_tie"), "margin": "margin"})),
    ("left right left_wins right_wins", {},
     ("counts", "left", "right", {"left_wins": "left_wins", "right_wins": "right_wins"})),
    ("left right wins_a wins_b draws count", {},
     ("counts", "left", "right", {"left_wins": "wins_a", "right_wins": "wins_b", "ties": "draws"})),
    ("left right p q t", {"left_wins": "p", "right_wins": "q", "ties": "t"},
     ("counts", "left", "right", {"left_wins": "p", "right_wins": "q", "ties": "t"})),
    ("left right left_wins right_wins ties", {"ties": False},
     ("counts", "left", "right", {"left_wins": "left_wins", "right_wins": "right_wins"})),
    ("left right margin", {}, ("margin", "left", "right", {"margin": "margin"})),
    ("left right m", {"margin": "m"}, ("margin", "left", "right", {"margin": "m"})),
    ("home away home_goals away_goals", {},
     ("goals", "home", "away", {"left_goals": "home_goals", "right_goals": "away_goals"})),
    ("home away p q", {"left_goals": "p", "right_goals": "q"},
     ("goals", "home", "away", {"left_goals": "p", "right_goals": "q"})),
    ("home away FTHG FTAG FTR", {},
     ("outcome", "home", "away", {"outcome": "FTR", "left_goals": "FTHG", "right_goals": "FTAG"})),
    ("home away FTHG FTAG FTR", {"left_goals": False}, ("outcome", "home", "away", {"outcome": "FTR"})),
    ("home away FTHG FTAG FTR", {"outcome": "FTR"}, ("outcome", "home", "away", {"outcome": "FTR"})),
    ("home away p q FTR", {"outcome": "FTR", "left_goals": "p", "right_goals": "q"},
     ("outcome", "home", "away", {"outcome": "FTR", "left_goals": "p", "right_goals": "q"})),
    ("left right outcome weight count rater cluster", {},
     ("outcome", "left", "right", {"outcome": "outcome", "weight": "weight", "count": "count", "judge": "rater",
                                   "group": "cluster"})),
    ("left right outcome weight user", {"weight": False}, ("outcome", "left", "right", {"outcome": "outcome"})),
    ("winner loser day lang", {"time": "day", "by": "lang"},
     ("winner", "winner", "loser", {"time": "day", "by": "lang"})),
    ("winner loser time", {}, ("winner", "winner", "loser", {})),
    ("winner loser time", {"time": False}, ("winner", "winner", "loser", {})),
    ("winner loser length_a length_b turns", {"covariates": ["length", "turns"]},
     ("winner", "winner", "loser", {"covariates": {"length": ("length_a", "length_b"), "turns": ("turns",)}})),
    ("winner loser length_a length_b", {"covariates": "length_b"},
     ("winner", "winner", "loser", {"covariates": {"length": ("length_a", "length_b")}})),
    ("winner loser m.len_a m.len_b", {"covariates": "len"},
     ("winner", "winner", "loser", {"covariates": {"len": ("m.len_a", "m.len_b")}})),
    ("winner loser", {"covariates": False}, ("winner", "winner", "loser", {})),
]  # fmt: skip
LISTS = [
    ("ranking", {}, ("ranking", "ranking", "ranking", {})),
    ("order weight", {"ranking": "order"}, ("ranking", "order", "order", {"weight": "weight"})),
    ("ranking group user", {}, ("ranking", "ranking", "ranking", {"judge": "user"})),
    ("ranking judge", {"judge": False}, ("ranking", "ranking", "ranking", {})),
    ("Rank_2 id Rank_1", {}, ("ranking", "Rank_1", "Rank_1", {"places": ("Rank_1", "Rank_2")})),
    ("tea milk", {"rank_columns": ["milk", "tea"]}, ("ranking", "milk", "milk", {"ranks": ("milk", "tea")})),
    ("q_tea q_milk n", {"rank_columns": ["q_*"]}, ("ranking", "q_tea", "q_tea", {"ranks": ("q_tea", "q_milk")})),
    ("q_tea q_milk q_who", {"rank_columns": ["q_*"], "judge": "q_who"},
     ("ranking", "q_tea", "q_tea", {"ranks": ("q_tea", "q_milk"), "judge": "q_who"})),
    ("q_* q_milk", {"rank_columns": ["q_*", "q_milk", "q_*"]},
     ("ranking", "q_*", "q_*", {"ranks": ("q_*", "q_milk")})),
    ("respondent item rank", {}, ("ranking", "item", "item", {"rank": "rank", "judge": "respondent"})),
    ("who option place group", {"judge": "who"},
     ("ranking", "option", "option", {"rank": "place", "judge": "who", "group": "group"})),
    ("user i rank", {"item": "i"}, ("ranking", "i", "i", {"rank": "rank", "judge": "user"})),
    ("user item r weight", {"rank": "r"},
     ("ranking", "item", "item", {"rank": "r", "judge": "user", "weight": "weight"})),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "options", "expected"), VOTES + LISTS)
def test_the_role_of_each_column(columns, options, expected):
    assert told(columns, **options) == expected


REFUSED = [
    ("item rank", {}, "cannot tell who met whom: found columns 'item', 'rank'"),
    ("user item", {}, "cannot tell who met whom"), ("user rank", {}, "cannot tell who met whom"),
    ("item rank", {"item": "item"},
     "a row for each item ranked needs a column of the respondent; found 'item', 'rank'; name it by judge="),
    ("user item", {"item": "item"}, "item and rank come together; give rank= too"),
    ("user rank", {"rank": "rank"}, "item and rank come together; give item= too"),
    ("Rank_1 Rank_3", {}, "columns 'Rank_1', 'Rank_3' are named after places and place 2 is not among them once"),
    ("Rank_2 Rank_3", {}, "place 1 is not among them once"),
    ("Rank_1 Rank-1 Rank_2", {}, "place 1 is not among them once"),
    ("Rank_1 Rank_2 Rank-2", {}, "place 2 is not among them once"),
    ("Rank_0 Rank_1", {}, "place 2 is not among them once"),
    ("Rank_1 Rank_2", {"ranking": False}, "cannot tell who met whom"),
    ("home away p q", {"left_goals": "p"}, "left_goals and right_goals come together; give right_goals= too"),
    ("home away p q", {"right_goals": "q"}, "left_goals and right_goals come together; give left_goals= too"),
    ("home away q FTR", {"outcome": "FTR", "right_goals": "q"}, "give left_goals= too"),
    ("left right left_wins right_wins home_goals away_goals", {}, "'left_wins', 'right_wins' and 'home_goals', "
                                                                  "'away_goals' each tell who won"),
    ("left right margin home_goals away_goals", {}, "'margin' and 'home_goals', 'away_goals' each tell who won"),
    ("left right winner_a winner_b winner_tie outcome", {}, "'winner_tie' and 'outcome' each tell who won; say by"),
    ("left right x", {"loser": "x"}, "winner and loser come together; give winner= too"),
    ("winner loser x", {"left": "x"}, "left and right come together; give right= too"),
    ("tea milk", {"rank_columns": ["x*"]}, r"rank_columns='x\*': no column fits; found 'tea', 'milk'"),
    ("tea milk", {"rank_columns": ["te*"]}, "rank_columns= names one item, 'tea'; a ranking needs at least two"),
    ("tea milk", {"rank_columns": "tea"}, "rank_columns='tea': give a list of columns, one for each item"),
    ("tea milk", {"rank_columns": []}, "give a list of columns, one for each item"),
    ("tea milk", {"rank_columns": ["tea", 3]}, "give a list of columns, one for each item"),
    ("ranking tea milk", {"ranking": "ranking", "rank_columns": ["tea", "milk"]},
     "rank_columns= would not be read, as votes are taken from 'ranking'; drop it"),
    ("tea milk x", {"rank_columns": ["tea", "milk"], "item": "x"}, "item='x' would not be read"),
    ("tea milk w", {"rank_columns": ["tea", "milk"], "winner": "w"}, "winner='w' would not be read"),
    ("winner loser x", {"left_wins": "x", "winner": "winner", "loser": "loser"}, "left_wins='x' would not be read"),
    ("winner loser x", {"rank": "x"}, "item and rank come together"),
    ("user item rank n", {"count": "n"}, "count='n' beside a row for each item ranked; give a weight instead"),
    ("ranking day", {"time": "day"}, "time='day' is about votes on pairs, and these are rankings; drop it"),
    ("winner loser", {"time": "loser"}, "column 'loser' is given as time= but already tells who met or who won"),
    ("tea milk", {"rank_columns": ["tea", "milk"], "judge": "tea"}, "'tea' is given as judge= but already tells"),
    ("Rank_1 Rank_2", {"weight": "Rank_2"}, "'Rank_2' is given as weight= but already tells"),
    ("winner loser", {"by": "lang"}, r"no column 'lang' \(given as by=\)"),
    ("winner loser", {"time": "day"}, r"no column 'day' \(given as time=\)"),
    ("winner loser p.len_a p.len_b q.len_a q.len_b", {"covariates": "len"},
     "covariate 'len' could be 'p.len' or 'q.len'; give the whole name"),
    ("left right winner_a winner_b winner_tie winner_model_a winner_model_b", {}, "could each be who won; keep one"),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "options", "said"), REFUSED)
def test_what_cannot_be_told_is_said(columns, options, said):
    with pytest.raises(InputError, match=said):
        recognise(columns.split(), **options)


def test_what_is_expected_is_told_whole():
    with pytest.raises(InputError) as problem:
        recognise(["x", "y"])
    assert str(problem.value) == (
        "cannot tell who met whom: found columns 'x', 'y'; expected winner and loser; or left and right (or home and "
        "away, model_a and model_b, a and b) with outcome, margin, goals, or left_wins and right_wins; or ranking, or "
        "Rank 1, Rank 2, …, or respondent, item and rank; or name them, as winner='COLUMN' and loser='COLUMN', as "
        "left='COLUMN', right='COLUMN' and outcome='COLUMN', or as rank_columns= where columns are items and hold "
        "their ranks"
    )
    with pytest.raises(InputError) as problem:
        recognise(["left", "right", "x"])
    assert str(problem.value) == (
        "cannot tell who won: found columns 'left', 'right', 'x', read 'left' against 'right'; expected outcome, "
        "winner, margin, home_goals and away_goals, or left_wins and right_wins; or name it, as outcome='COLUMN'"
    )
    with pytest.raises(InputError) as problem:
        recognise(["winner", "loser", "left", "right"])
    assert str(problem.value) == (
        "columns 'winner', 'loser' and 'left', 'right' both tell who met whom; give winner= and loser=, or left=, "
        "right= and outcome="
    )


def test_every_column_that_is_read_is_listed_once():
    names = ["model_a", "model_b", "winner", "weight", "count", "judge", "group", "day", "lang"]
    names += ["len_a", "len_b", "turns"]
    layout = recognise(
        [*names, "other"], time="day", by="lang", covariates=["len", "turns", "weight"],
    )  # fmt: skip
    assert layout.columns == names
    assert recognise(["user", "item", "rank"]).columns == ["rank", "item", "user"]
    goals = recognise(["home", "away", "home_goals", "away_goals"])
    assert goals.columns == ["home", "away", "home_goals", "away_goals"]


@pytest.mark.parametrize(
    ("columns", "league"),
    [
        ("home away result", True), ("Home_Team Away_Team outcome", True), ("left right FTR", True),
        ("left right outcome", False), ("left right home_goals away_goals", True), ("white black result", False),
        ("home left outcome", False), ("left away outcome", False),
    ],
)  # fmt: skip
def test_games_are_those_of_a_home_side_of_goals_or_of_ftr(columns, league):
    one, other, *_ = columns.split()
    assert recognise(columns.split(), left=one, right=other).in_a_league == league


@pytest.mark.parametrize("sides", known.SIDES)
def test_both_sides_of_a_pair_still_to_meet_are_known_by_name(sides):
    assert recognise_sides(["x", *sides]) == sides
    assert recognise_sides([*sides, "p", "q"], "p", "q") == ("p", "q")
    with pytest.raises(InputError, match="left and right come together; give right= too"):
        recognise_sides([*sides, "p"], "p")
    with pytest.raises(InputError) as problem:
        recognise_sides(["x"])
    assert str(problem.value) == (
        "cannot tell who is to meet whom: found columns 'x'; expected home and away, or left and right; or name them, "
        "as left='COLUMN' and right='COLUMN'"
    )


def test_covariates_of_the_arena_are_those_that_are_there():
    columns = [
        "sum_assistant_a_tokens",
        "sum_assistant_b_tokens",
        "meta.bold_count_a",
        "meta.bold_count_b",
        "list_count_a",
    ]
    assert arena_covariates(columns) == ["sum_assistant_tokens", "bold_count"]
    with pytest.raises(InputError) as problem:
        arena_covariates(["x"])
    assert str(problem.value) == (
        "style='arena' takes sum_assistant_tokens, header_count, list_count, bold_count, each of both sides, and finds "
        "none in 'x'; name them by covariates="
    )


def test_names_are_listed_up_to_twenty():
    assert listed([]) == "none"
    assert listed(["a", "b"]) == "'a', 'b'"
    assert listed([str(k) for k in range(20)]).count("'") == 40
    assert listed([str(k) for k in range(22)]).endswith("'19' and 2 more")
    assert listed(["a", "b", "c"], 1) == "'a' and 2 more"


def test_a_name_is_found_in_any_case_and_with_blanks():
    names = Names([" Home Team ", "Away_team", "JUDGE"], {"judge": None, "weight": False})
    assert names.together(("left", "right"), known.SIDES) == (" Home Team ", "Away_team")
    assert names.recognised("judge") == "JUDGE"
    assert names.recognised("weight") is None
    assert names.first(("judge", "user")) == "JUDGE"
    assert names.first(("user",)) is None
    assert Names(["judge", "user"], {}).first(("judge", "user")) is None
    assert Names(["left", "right"], {"left": False}).together(("left", "right"), known.SIDES) is None


@pytest.mark.parametrize(
    ("one", "before", "said"),
    [
        ("winner loser weight", "winner loser",
         "b: column 'weight' is here but not in a; give every file the same columns, or leave it out .* weight=False"),
        ("winner loser", "winner loser count", "b: column 'count' is in a but not here; .* with count=False"),
        ("left right outcome margin", "left right outcome", "'margin' is here but not in a; .* with margin=False"),
        ("left right outcome", "home away outcome",
         "b: votes are read from 'left', 'right', 'outcome', in a from 'home', 'away', 'outcome'; give every file the"),
        ("ranking", "winner loser", "b holds rankings and a votes; read them on their own"),
        ("winner loser", "ranking", "b holds votes and a rankings; read them on their own"),
    ],
)  # fmt: skip
def test_files_that_do_not_fit_together_are_named_with_what_differs(one, before, said):
    with pytest.raises(InputError, match=said):
        refuse_difference(recognise(one.split()), "b", recognise(before.split()), "a")
    refuse_difference(recognise(one.split()), "b", recognise(one.split()), "a")
