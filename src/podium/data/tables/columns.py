"""Which column is what: the forms of pairwise data, recognised by the names of their columns or given by option.

=================  ==========================================================================================
`winner, loser`    one row a vote, no ties
`left, right` and  `outcome` (1, 0, 0.5, words, or the winner's label), or three columns of flags
                   (`winner_model_a, winner_model_b, winner_tie`), or counts (`left_wins, right_wins, ties`),
                   or a real-valued `margin` of left over right, or goals of both (`home_goals, away_goals`)
`ranking`          one row a whole order, best first; or columns for its places (`Rank 1`, `Rank 2`, …), or for items,
                   each with its rank (`rank_columns`); or a row for each item (`respondent, item, rank`)
=================  ==========================================================================================

Each may carry `weight`, `count`, `judge`, `group` and covariates (a ranking is a group of its own and has no
covariates). Nothing is guessed: two candidates for one role, or none, is an error that lists what was found; so is an
option that nothing is read by.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from podium.data.tables.names import FLAGS, GOALS, RESPONDENTS, SIDES, WINS, Given, Names, listed
from podium.data.tables.surveys import place_columns
from podium.data.validation import entries_of
from podium.errors import InputError, Option

__all__ = ["Layout", "arena_covariates", "recognise", "recognise_sides", "refuse_difference"]

Form: TypeAlias = Literal["winner", "outcome", "flags", "counts", "margin", "goals", "ranking"]

SIDE_PARTS = [("a", "b"), ("A", "B"), ("left", "right"), ("1", "2")]  # of the names of two columns
ARENA = ("sum_assistant_tokens", "header_count", "list_count", "bold_count")  # what FastChat controls for
LISTS = ("item", "rank", "rank_columns")
ROLES = (
    "winner", "loser", "left", "right", "outcome", "left_wins", "right_wins", "ties", "margin", "left_goals",
    "right_goals", "ranking",
)  # fmt: skip
BESIDE = ("weight", "count", "judge", "group")
EXPECTED = (
    "expected winner and loser; or left and right (or home and away, model_a and model_b, a and b) with outcome, "
    "margin, goals, or left_wins and right_wins; or ranking, or Rank 1, Rank 2, …, or respondent, item and rank; or "
    "name them, as ",
    Option("winner", "COLUMN"),
    " and ",
    Option("loser", "COLUMN"),
    ", as ",
    Option("left", "COLUMN"),
    ", ",
    Option("right", "COLUMN"),
    " and ",
    Option("outcome", "COLUMN"),
    ", or as ",
    Option("rank_columns"),
    " where columns are items and hold their ranks",
)


@dataclass(frozen=True, slots=True)
class Layout:
    """The column that plays each role; None where there is none. `form` says how a row tells who won.

    A winner, a ranking and the item of a long table of rankings stand in `left`, the first column of several of one
    ranking too: `places` are those of its places, `ranks` those of items. `names_winner` says that the outcome goes by
    the name of winner, so that a number in it may well be the winner's label.
    """

    form: Form
    left: str
    right: str
    outcome: str | None = None
    names_winner: bool = False
    flags: tuple[str, ...] = ()
    left_wins: str | None = None
    right_wins: str | None = None
    ties: str | None = None
    margin: str | None = None
    left_goals: str | None = None
    right_goals: str | None = None
    weight: str | None = None
    count: str | None = None
    judge: str | None = None
    group: str | None = None
    time: str | None = None
    by: str | None = None
    places: tuple[str, ...] = ()
    ranks: tuple[str, ...] = ()
    rank: str | None = None
    covariates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Every column that is read, once."""
        single = [self.left, self.right, self.outcome, *self.flags, self.left_wins, self.right_wins, self.ties]
        single += [self.margin, self.left_goals, self.right_goals]
        single += [self.weight, self.count, self.judge, self.group, self.time, self.by]
        single = [*self.places, *self.ranks, self.rank, *single]
        names = [name for name in single if name is not None]
        return list(dict.fromkeys([*names, *(name for chosen in self.covariates.values() for name in chosen)]))

    @property
    def in_a_league(self) -> bool:
        """Whether rows are games: there are goals, or the sides are called home and away, or the result is FTR."""
        if self.form == "goals":
            return True
        left, right = (name.strip().casefold() for name in (self.left, self.right))
        called = (self.outcome or "").strip().casefold()
        return (left.startswith("home") and right.startswith("away")) or called == "ftr"


def recognise(
    columns: Sequence[str],
    *,
    covariates: Any = None,
    by: str | None = None,
    time: Given = None,
    unranked: str | None = None,
    **options: Given,
) -> Layout:
    """Find the role of each column among the names `columns`.

    An option names a column; None leaves it to be recognised; False says that there is none. Times and covariates are
    never recognised: they keep votes apart that are otherwise counted together.

    >>> recognise(["model_a", "model_b", "winner", "turn"]).form
    'outcome'
    """
    _refuse_unusable({**options, "by": by, "time": time})
    names = Names(columns, options if by is None else {**options, "by": by})
    # A single place orders nothing, but where all that it does not name lie below.
    form, roles = _form(names, 1 if unranked == "below" else 2)
    extras = _beside(names, form, roles)
    taken = [*roles.get("places", ()), *roles.get("ranks", ())]
    taken += [name for name in roles.values() if isinstance(name, str)]
    if by is not None:
        names.require(by, "by")
    if time:
        names.require(time, "time")
    for role, name in (extras | {"time": time or None}).items():
        if name in taken:
            raise InputError(
                f"column {name!r} is given as ", Option(role, column=True), " but already tells who met or who won"
            )
    layout = Layout(form, **roles, **extras, time=time or None, by=by, covariates=_covariates(names, covariates))
    _refuse_unused(names, layout)
    _refuse_doubled(layout)
    return layout


def recognise_sides(columns: Sequence[str], left: Given = None, right: Given = None) -> tuple[str, str]:
    """The columns of the two items of a row that is still to be compared.

    >>> recognise_sides(["Date", "HomeTeam", "AwayTeam"])
    ('HomeTeam', 'AwayTeam')
    """
    _refuse_unusable({"left": left, "right": right})
    names = Names(columns, {"left": left, "right": right})
    sides = names.together(("left", "right"), SIDES)
    if not sides:
        raise InputError(
            f"cannot tell who is to meet whom: found columns {listed(names.columns)}; expected home and away, "
            "or left and right; or name them, as ", Option("left", "COLUMN"), " and ", Option("right", "COLUMN"),
        )  # fmt: skip
    return sides[0], sides[1]


def _beside(names: Names, form: Form, roles: Mapping[str, Any]) -> dict[str, Any]:
    """What stands beside votes or rankings: weight, count, judge, group."""
    extras: dict[str, Any] = {role: names.option(role) or names.recognised(role) for role in BESIDE}
    if form == "counts" and not names.option("count"):
        extras["count"] = None  # the counts are those of the wins
    long = form == "ranking" and roles.get("rank") is not None
    if form == "ranking" and not names.option("group") and not long:
        extras["group"] = None  # each ranking is one
    if form == "ranking" and names.options.get("judge") is None:
        extras["judge"] = names.recognised("judge", RESPONDENTS)
    if long:
        extras["judge"] = _respondent(names, extras["judge"] or names.first(RESPONDENTS))
    return extras


def _refuse_unusable(options: Mapping[str, Any]) -> None:
    """Options that do not exist, or do not name a column."""
    known = (*ROLES, *LISTS, *BESIDE, "time", "covariates", "by")
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise InputError(f"no such option: {', '.join(unknown)}; choose among {', '.join(known)}")
    columns = options.get("rank_columns")
    if columns is not None and not (
        isinstance(columns, list | tuple) and columns and all(isinstance(name, str) for name in columns)
    ):
        raise InputError(Option("rank_columns", columns), ": give a list of columns, one for each item")
    for role, name in options.items():
        if role == "rank_columns":
            continue
        if not (name is None or name is False or isinstance(name, str)):
            raise InputError(f"{role} is {name!r}; give the name of a column, or False for none")


def _refuse_unused(names: Names, layout: Layout) -> None:
    """An option that names a column which is then not read is a mistake of the user's."""
    form = layout.form
    sides = {"winner": ("winner", "loser"), "ranking": ("ranking",)}.get(form, ("left", "right"))
    if form == "ranking" and (layout.places or layout.ranks or layout.rank):
        sides = ("item", "rank") if layout.rank else ()
    read = {*sides, *(role for role in ROLES[4:-1] if getattr(layout, role))}
    read |= {"winner"} if form == "outcome" and layout.outcome == names.option("winner") else set()
    for role in (*ROLES, "item", "rank"):
        if names.option(role) and role not in read:
            raise InputError(
                Option(role, names.option(role), column=True),
                f" would not be read, as votes are taken from {listed(layout.columns)}; drop it",
            )
    if names.options.get("rank_columns") and not layout.ranks:
        raise InputError(
            Option("rank_columns"), f" would not be read, as votes are taken from {listed(layout.columns)}; drop it"
        )


def _refuse_doubled(layout: Layout) -> None:
    """What stands beside votes or rankings but says what their form says already, or does not belong to it."""
    if layout.form == "counts" and layout.count:
        raise InputError(
            Option("count", layout.count), " beside counts of wins, which say it already; drop one of them"
        )
    if layout.form != "ranking":
        return
    if layout.rank and layout.count:
        raise InputError(Option("count", layout.count), " beside a row for each item ranked; give a weight instead")
    if layout.group and not layout.rank:
        raise InputError(
            Option("group", layout.group), " beside rankings, of which each is a group of its own; drop it"
        )
    if layout.time:
        raise InputError(Option("time", layout.time), " is about votes on pairs, and these are rankings; drop it")
    if layout.covariates:
        raise InputError("covariates belong to a comparison of two items; drop them, or give pairs, not rankings")


def _form(names: Names, least_places: int) -> tuple[Form, dict[str, Any]]:
    """How rows tell who won, and the columns that do."""
    if ranking := names.option("ranking"):
        return "ranking", {"left": ranking, "right": ranking}
    if lists := _given_lists(names):
        return "ranking", lists
    pair = _winner_loser(names)
    sides = None if pair and names.option("loser") else names.together(("left", "right"), SIDES)
    if pair and not sides:
        return "winner", dict(zip(("left", "right"), pair, strict=True)) | _margin(names)
    if not sides:
        ranking = names.recognised("ranking")
        if ranking and not names.option("winner"):
            return "ranking", {"left": ranking, "right": ranking}
        if lists := _recognised_lists(names, least_places):
            return "ranking", lists
        alone = place_columns(names.columns, 1)
        if least_places > 1 and [number for number, _ in alone] == [1]:
            raise InputError(
                f"column {alone[0][1]!r} is the only one named after a place, so no row puts two items in order; with ",
                Option("unranked", "below"), " all others lie below the one it names",
            )  # fmt: skip
        raise InputError(f"cannot tell who met whom: found columns {listed(names.columns)}; ", *EXPECTED)
    chosen = any(names.option(role) for role in ("outcome", "left_wins", "margin", "left_goals", "right_goals"))
    if pair and not chosen:
        raise InputError(
            f"columns {listed(pair)} and {listed(sides)} both tell who met whom; give ",
            Option("winner"),
            " and ",
            Option("loser"),
            ", or ",
            Option("left"),
            ", ",
            Option("right"),
            " and ",
            Option("outcome"),
        )
    form, columns = _result(names) if chosen else _recognised_result(names, sides)
    return form, dict(zip(("left", "right"), sides, strict=True)) | columns


def _given_lists(names: Names) -> dict[str, Any] | None:
    """Rankings in the columns that options name."""
    ranks = names.options.get("rank_columns")
    if ranks:
        others = {name for name in names.options.values() if isinstance(name, str)}
        columns = tuple(dict.fromkeys(name for pattern in ranks for name in _matching(names, pattern, others)))
        if len(columns) < 2:
            raise InputError(Option("rank_columns"), f" names one item, {columns[0]!r}; a ranking needs at least two")
        return {"left": columns[0], "right": columns[0], "ranks": columns}
    if names.option("item") or names.option("rank"):
        by_role = {role: names.option(role) or names.recognised(role) for role in ("item", "rank")}
        lacking = [role for role, name in by_role.items() if name is None]
        if lacking:
            raise InputError("item and rank come together; give ", Option(lacking[0], column=True), " too")
        return {"left": by_role["item"], "right": by_role["item"], "rank": by_role["rank"]}
    return None


def _matching(names: Names, pattern: str, others: set[str]) -> list[str]:
    """The column of this name; or where it holds *, all that fit and play no other role."""
    if pattern in names.columns or "*" not in pattern:
        return [names.require(pattern, "rank_columns")]
    fits = re.compile(".*".join(map(re.escape, pattern.split("*"))))
    columns = [name for name in names.columns if fits.fullmatch(name) and name not in others]
    if not columns:
        raise InputError(Option("rank_columns", pattern), f": no column fits; found {listed(names.columns)}")
    return columns


def _recognised_lists(names: Names, least_places: int) -> dict[str, Any] | None:
    """Rankings by the names of columns: one for each place, or item and rank of a respondent."""
    if any(names.option(role) for role in ROLES) or names.options.get("ranking") is False:
        return None
    places = place_columns(names.columns)
    if places:
        numbers = [number for number, _ in places]
        if numbers != list(range(1, len(numbers) + 1)):
            lacking = next(k for k in itertools.count(1) if numbers.count(k) != 1)
            shown = listed([name for _, name in places])
            raise InputError(f"columns {shown} are named after places and place {lacking} is not among them once")
        columns = tuple(name for _, name in places)
        return {"left": columns[0], "right": columns[0], "places": columns}
    item, rank = names.recognised("item"), names.recognised("rank")
    if item and rank and (names.option("judge") or names.first(RESPONDENTS)):
        return {"left": item, "right": item, "rank": rank}
    alone = place_columns(names.columns, least_places)
    if [number for number, _ in alone] == [1]:
        return {"left": alone[0][1], "right": alone[0][1], "places": (alone[0][1],)}
    return None


def _respondent(names: Names, judge: str | None) -> str:
    """The column that says which rows are of one ranking."""
    if judge is None:
        raise InputError(
            f"a row for each item ranked needs a column of the respondent; found {listed(names.columns)}; name it by ",
            Option("judge", column=True),
        )
    return judge


def _result(names: Names) -> tuple[Form, dict[str, Any]]:
    """The columns given by option that tell how a comparison ended."""
    has_goals = names.option("left_goals") or names.option("right_goals")
    if names.option("outcome"):
        return "outcome", _outcome(names, names.option("outcome")) | _margin(names) | (
            _goals(names) if has_goals else {}
        )
    wins = names.together(("left_wins", "right_wins"), [])
    if wins:
        return "counts", _counts(names, wins)
    return ("goals", _goals(names)) if has_goals else ("margin", _margin(names))


def _recognised_result(names: Names, sides: tuple[str, ...]) -> tuple[Form, dict[str, Any]]:
    """The columns that by their names tell how a comparison ended: one set of them, with or without a margin."""
    if names.option("winner"):
        return "outcome", _outcome(names, names.option("winner")) | _margin(names)
    wins = names.together(("left_wins", "right_wins"), WINS)
    flags = names.together((), FLAGS)
    outcome, margin, goals = names.recognised("outcome"), _margin(names), _goals(names)
    results = [*([wins] if wins else ()), *([flags] if flags else ()), *([(outcome,)] if outcome else ())]
    if goals and (wins or margin):
        results += [(margin["margin"],)] if margin else []
        results.append(tuple(goals.values()))
    elif wins and margin:  # a margin tells by how much one vote was won, not many
        results.append((margin["margin"],))
    if len(results) > 1:
        raise InputError(
            f"columns {' and '.join(map(listed, results))} each tell who won; say by ",
            Option("outcome"),
            ", or ",
            Option("left_wins"),
            " and ",
            Option("right_wins"),
            ", or ",
            Option("margin"),
            ", which to read",
        )
    if wins:
        return "counts", _counts(names, wins)
    if flags:
        return "flags", {"flags": flags} | margin
    if outcome:
        return "outcome", _outcome(names, outcome) | margin | goals
    if margin:
        return "margin", margin
    if goals:
        return "goals", goals
    raise InputError(
        f"cannot tell who won: found columns {listed(names.columns)}, read {sides[0]!r} against {sides[1]!r}; "
        "expected outcome, winner, margin, home_goals and away_goals, or left_wins and right_wins; or name it, as ",
        Option("outcome", "COLUMN"),
    )


def _outcome(names: Names, column: str | None) -> dict[str, Any]:
    assert column is not None
    called = column.strip().casefold() == "winner" or column == names.option("winner")
    return {"outcome": column, "names_winner": called}


def _counts(names: Names, wins: tuple[str, ...]) -> dict[str, Any]:
    ties = names.option("ties") or names.recognised("ties")
    return dict(zip(("left_wins", "right_wins"), wins, strict=True)) | {"ties": ties}


def _winner_loser(names: Names) -> tuple[str, str] | None:
    loser = names.option("loser") or names.recognised("loser")
    winner = names.option("winner") or (names.recognised("winner") if loser else None)
    if loser and winner:
        return winner, loser
    if names.option("loser"):
        raise InputError("winner and loser come together; give ", Option("winner"), " too")
    return None


def _margin(names: Names) -> dict[str, str]:
    margin = names.option("margin") or names.recognised("margin")
    return {"margin": margin} if margin else {}


def _goals(names: Names) -> dict[str, str]:
    """What each side scored; the margin is their difference."""
    none = any(names.options.get(role) is False for role in ("left_goals", "right_goals"))
    goals = None if none else names.together(("left_goals", "right_goals"), GOALS)
    return dict(zip(("left_goals", "right_goals"), goals, strict=True)) if goals else {}


def _covariates(names: Names, wanted: Any) -> dict[str, tuple[str, ...]]:
    """Name -> (column,), or (left's, right's) when it is that of two columns without a and b, or one of the two."""
    if wanted is None or wanted is False:
        return {}
    chosen: dict[str, tuple[str, ...]] = {}
    pairs = _side_pairs(names.columns)
    for name in [wanted] if isinstance(wanted, str) else entries_of("covariates", wanted, "a list of columns"):
        if not isinstance(name, str):
            raise InputError(f"covariate {name!r} is not the name of a column; give its name as text")
        stem, columns = _covariate(name, names.columns, pairs)
        chosen[stem] = columns
    return chosen


def _covariate(name: str, columns: list[str], pairs: dict[str, tuple[str, str]]) -> tuple[str, tuple[str, ...]]:
    """What a covariate is called, and its column, or its two; a name that is the end of a path stands for it."""
    for stem, pair in pairs.items():
        if name in pair:
            return stem, pair
    if name in columns:
        return name, (name,)
    ends = [stem for stem in pairs if stem == name] or [stem for stem in pairs if stem.endswith(f".{name}")]
    if len(ends) == 1:
        return name, pairs[ends[0]]
    if ends:
        raise InputError(f"covariate {name!r} could be {' or '.join(map(repr, ends))}; give the whole name")
    there = f"found {listed(columns)}"
    raise InputError(f"no column for covariate {name!r}, nor a pair such as {name}_a and {name}_b; {there}")


def _side_pairs(columns: list[str]) -> dict[str, tuple[str, str]]:
    """Columns that differ in one part of their names, a and b, by the name without that part.

    >>> _side_pairs(["length_a", "length_b", "meta.sum_a_tokens", "meta.sum_b_tokens", "turn_a"])
    {'length': ('length_a', 'length_b'), 'meta.sum_tokens': ('meta.sum_a_tokens', 'meta.sum_b_tokens')}
    """
    known = set(columns)
    pairs: dict[str, tuple[str, str]] = {}
    for one, other in SIDE_PARTS:
        part = re.compile(rf"(?:(?<=[_. -])|^){one}(?=[_. -]|$)")
        for name in columns:
            for match in part.finditer(name):
                before, after = name[: match.start()], name[match.end() :]
                stem = before + after[1:] if after else before[:-1]
                if f"{before}{other}{after}" in known and stem:
                    pairs.setdefault(stem, (name, f"{before}{other}{after}"))
    return pairs


def arena_covariates(columns: Sequence[str]) -> list[str]:
    """Those of FastChat's covariates that a table has."""
    pairs = _side_pairs(list(columns))
    named = [name for name in ARENA if any(stem == name or stem.endswith(f".{name}") for stem in pairs)]
    if not named:
        wanted = ", ".join(f"{name}" for name in ARENA)
        raise InputError(
            Option("style", "arena"),
            f" takes {wanted}, each of both sides, and finds none in {listed(columns)}; name them by ",
            Option("covariates"),
        )
    return named


def refuse_difference(one: Layout, where: str, before: Layout, place: str) -> None:
    """Files that are read together have the same columns, among those that are read: no value is dropped or made up."""
    if one == before:
        return
    if "ranking" in (one.form, before.form) and one.form != before.form:
        holds = ("rankings", "votes") if one.form == "ranking" else ("votes", "rankings")
        raise InputError(f"{where} holds {holds[0]} and {place} {holds[1]}; read them on their own")
    lacking = [name for name in before.columns if name not in one.columns]
    added = [name for name in one.columns if name not in before.columns]
    if lacking and not added:
        what = f"column {lacking[0]!r} is in {place} but not here"
    elif added and not lacking:
        what = f"column {added[0]!r} is here but not in {place}"
    else:
        what = f"votes are read from {listed(one.columns)}, in {place} from {listed(before.columns)}"
    roles = [role for role in (*ROLES, *BESIDE) if getattr(one, role, None) != getattr(before, role, None)]
    free = not (lacking and added) and roles and roles[0] in (*BESIDE, "ties", "margin")
    way = f", or leave it out with {roles[0]}=False" if free else ""
    raise InputError(f"{where}: {what}; give every file the same columns{way}")
