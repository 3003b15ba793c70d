"""Which column is what: the forms of pairwise data, recognised by the names of their columns or given by option.

=================  ==========================================================================================
`winner, loser`    one row a vote, no ties
`left, right` and  `outcome` (1, 0, 0.5, words, or the winner's label), or three columns of flags
                   (`winner_model_a, winner_model_b, winner_tie`), or counts (`left_wins, right_wins, ties`),
                   or a real-valued `margin` of left over right
=================  ==========================================================================================

Each may carry `weight`, `count`, `judge`, `group` and covariates. Nothing is guessed: two candidates for one role, or
none, is an error that lists what was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from podium.errors import InputError

__all__ = ["Layout", "Option", "listed", "recognise"]

Option: TypeAlias = "str | Literal[False] | None"

SIDES = [
    ("left", "right"),
    ("model_a", "model_b"),
    ("a", "b"),
    ("item_a", "item_b"),
    ("option_a", "option_b"),
    ("player_a", "player_b"),
    ("team_a", "team_b"),
    ("item_1", "item_2"),
    ("item1", "item2"),
    ("model_1", "model_2"),
    ("model1", "model2"),
    ("player_1", "player_2"),
    ("player1", "player2"),
    ("team_1", "team_2"),
    ("team1", "team2"),
    ("home", "away"),
    ("white", "black"),
]
WINS = [
    ("left_wins", "right_wins"),
    ("wins_left", "wins_right"),
    ("a_wins", "b_wins"),
    ("wins_a", "wins_b"),
    ("win_a", "win_b"),
    ("wins_1", "wins_2"),
]
FLAGS = [("winner_model_a", "winner_model_b", "winner_tie"), ("winner_a", "winner_b", "winner_tie")]
NAMES: dict[str, tuple[str, ...]] = {
    "winner": ("winner", "preferred", "better", "chosen"),
    "loser": ("loser", "worse", "rejected"),
    "outcome": ("outcome", "result", "winner", "preference", "vote"),
    "ties": ("ties", "draws", "tie", "wins_tie"),
    "margin": ("margin",),
    "weight": ("weight", "weights"),
    "count": ("count",),
    "judge": ("judge", "judge_id", "voter", "annotator", "annotator_id", "rater", "rater_id"),
    "group": ("group", "group_id", "cluster"),
}
ROLES = ("winner", "loser", "left", "right", "outcome", "left_wins", "right_wins", "ties", "margin")
EXPECTED = (
    "expected winner and loser; or left and right (or model_a and model_b, a and b) with outcome, margin, "
    "or left_wins and right_wins"
)


@dataclass(frozen=True, slots=True)
class Layout:
    """The column that plays each role; None where there is none. `form` says how a row tells who won."""

    form: Literal["winner", "outcome", "flags", "counts", "margin"]
    left: str
    right: str
    outcome: str | None = None
    flags: tuple[str, ...] = ()
    left_wins: str | None = None
    right_wins: str | None = None
    ties: str | None = None
    margin: str | None = None
    weight: str | None = None
    count: str | None = None
    judge: str | None = None
    group: str | None = None
    by: str | None = None
    covariates: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Every column that is read, once."""
        single = [self.left, self.right, self.outcome, *self.flags, self.left_wins, self.right_wins, self.ties]
        single += [self.margin, self.weight, self.count, self.judge, self.group, self.by]
        names = [name for name in single if name is not None]
        return list(dict.fromkeys([*names, *(name for given in self.covariates.values() for name in given)]))


def recognise(found: Sequence[str], *, covariates: Any = None, by: str | None = None, **options: Option) -> Layout:
    """Find the role of each column among the names `found`.

    An option names a column; None leaves it to be recognised; False says that there is none.

    >>> recognise(["model_a", "model_b", "winner", "turn"]).form
    'outcome'
    """
    unknown = sorted(set(options) - {*ROLES, *NAMES})
    if unknown:
        raise InputError(f"no such option: {', '.join(unknown)}; choose among {', '.join([*ROLES, *NAMES])}")
    names = _Names(found, options)
    form, roles = _form(names)
    extras: dict[str, str | None] = {
        role: names.given(role) or names.recognised(role) for role in ("weight", "count", "judge", "group")
    }
    if form == "counts" and extras["count"]:
        extras["count"] = None  # the counts are those of the wins
    taken = [name for name in roles.values() if isinstance(name, str)]
    for role, name in extras.items():
        if name in taken:
            raise InputError(f"column {name!r} is given as {role} but already tells who met or who won")
    if by is not None:
        names.require(by, "by")
    return Layout(form, **roles, **extras, by=by, covariates=_covariates(names, covariates))  # type: ignore[arg-type]


class _Names:
    """The columns found, by exact name or ignoring case, and the options given."""

    def __init__(self, found: Sequence[str], options: Mapping[str, Option]) -> None:
        self.found = list(found)
        self.options = options
        self.folded: dict[str, list[str]] = {}
        for name in self.found:
            self.folded.setdefault(name.strip().casefold().replace(" ", "_"), []).append(name)

    def require(self, name: str, role: str) -> str:
        if name not in self.found:
            raise InputError(f"no column {name!r} (given as {role}); found {listed(self.found)}")
        return name

    def given(self, role: str) -> str | None:
        name = self.options.get(role)
        return self.require(name, role) if isinstance(name, str) else None

    def one(self, alias: str) -> str | None:
        names = self.folded.get(alias, [])
        if len(names) > 1:
            raise InputError(f"columns {listed(names)} differ only in case; say by option which one to read")
        return names[0] if names else None

    def recognised(self, role: str) -> str | None:
        if self.options.get(role) is False:
            return None
        hits = [name for alias in NAMES[role] if (name := self.one(alias))]
        if role != "outcome" and len(hits) > 1:
            raise InputError(f"columns {listed(hits)} could each be the {role}; say which by {role}=")
        return hits[0] if hits else None

    def together(self, roles: Sequence[str], aliases: Iterable[tuple[str, ...]]) -> tuple[str, ...] | None:
        """Columns for roles that come together: those given, else the first set of aliases that is all there."""
        given = [self.given(role) for role in roles]
        if any(given):
            if not all(given):
                lacking = roles[given.index(None)]
                raise InputError(f"{' and '.join(roles)} come together; give {lacking}= too")
            return tuple(name for name in given if name)
        if any(self.options.get(role) is False for role in roles):
            return None
        for wanted in aliases:
            names = [self.one(alias) for alias in wanted]
            if all(names):
                return tuple(name for name in names if name)
        return None


def _form(names: _Names) -> tuple[Any, dict[str, Any]]:
    """How rows tell who won, and the columns that do."""
    sides = names.together(("left", "right"), SIDES)
    pair = _winner_loser(names)
    if pair and (names.given("loser") or not sides):
        return "winner", dict(zip(("left", "right"), pair, strict=True)) | _margin(names)
    if not sides:
        raise InputError(f"cannot tell who met whom: found columns {listed(names.found)}; {EXPECTED}")
    chosen = any(names.given(role) for role in ("outcome", "left_wins", "margin"))
    if pair and not chosen:
        raise InputError(
            f"columns {listed(pair)} and {listed(sides)} both tell who met whom; "
            "give winner= and loser=, or left=, right= and outcome="
        )
    form, columns = _result(names) if chosen else _recognised_result(names)
    if form is None:
        raise InputError(
            f"cannot tell who won: found columns {listed(names.found)}, read {sides[0]!r} against {sides[1]!r}; "
            "expected outcome, winner, margin, or left_wins and right_wins"
        )
    return form, dict(zip(("left", "right"), sides, strict=True)) | columns


def _result(names: _Names) -> tuple[Any, dict[str, Any]]:
    """The columns given by option that tell how a comparison ended."""
    if names.given("outcome"):
        return "outcome", {"outcome": names.given("outcome")} | _margin(names)
    wins = names.together(("left_wins", "right_wins"), [])
    if wins:
        ties = names.given("ties") or names.recognised("ties")
        return "counts", dict(zip(("left_wins", "right_wins"), wins, strict=True)) | {"ties": ties}
    return "margin", _margin(names)


def _recognised_result(names: _Names) -> tuple[Any, dict[str, Any]]:
    """The columns that by their names tell how a comparison ended; counts say most, a margin alone least."""
    if names.given("winner"):
        return "outcome", {"outcome": names.given("winner")} | _margin(names)
    wins = names.together(("left_wins", "right_wins"), WINS)
    if wins:
        ties = names.given("ties") or names.recognised("ties")
        return "counts", dict(zip(("left_wins", "right_wins"), wins, strict=True)) | {"ties": ties}
    flags = names.together((), FLAGS)
    if flags:
        return "flags", {"flags": flags} | _margin(names)
    outcome = names.recognised("outcome")
    if outcome:
        return "outcome", {"outcome": outcome} | _margin(names)
    margin = _margin(names)
    return ("margin", margin) if margin else (None, {})


def _winner_loser(names: _Names) -> tuple[str, str] | None:
    loser = names.given("loser") or names.recognised("loser")
    winner = names.given("winner") or (names.recognised("winner") if loser else None)
    if loser and winner:
        return winner, loser
    if names.given("loser"):
        raise InputError("winner and loser come together; give winner= too")
    return None


def _margin(names: _Names) -> dict[str, str]:
    margin = names.given("margin") or names.recognised("margin")
    return {"margin": margin} if margin else {}


def _covariates(names: _Names, wanted: Any) -> dict[str, tuple[str, ...]]:
    """Name -> (column,), or (left's, right's) when the name is the stem of two columns."""
    if wanted is None or wanted is False:
        return {}
    chosen: dict[str, tuple[str, ...]] = {}
    for name in [wanted] if isinstance(wanted, str) else wanted:
        ends = [(f"{name}_a", f"{name}_b"), (f"{name}_left", f"{name}_right"), (f"{name}_1", f"{name}_2")]
        ends += [(f"left_{name}", f"right_{name}")]
        pairs = [pair for pair in ends if set(pair) <= set(names.found)]
        if name in names.found:
            chosen[name] = (name,)
        elif pairs:
            chosen[name] = pairs[0]
        else:
            raise InputError(
                f"no column for covariate {name!r}, nor a pair such as {name}_a and {name}_b; "
                f"found {listed(names.found)}"
            )
    return chosen


def listed(names: Sequence[str], limit: int = 20) -> str:
    """The names in quotes, the first few if there are many."""
    shown = ", ".join(repr(name) for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown or "none"
