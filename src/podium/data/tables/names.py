"""The names that columns go by, and the search for the one that plays a role."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias

from podium.errors import InputError, Option

__all__ = ["FLAGS", "GOALS", "RESPONDENTS", "SIDES", "WINS", "Given", "Names", "listed"]

Given: TypeAlias = "str | Literal[False] | None"

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
    ("home_team", "away_team"),
    ("hometeam", "awayteam"),
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
GOALS = [
    ("home_goals", "away_goals"),
    ("home_score", "away_score"),
    ("home_points", "away_points"),
    ("goals_home", "goals_away"),
    ("fthg", "ftag"),
    ("left_goals", "right_goals"),
]
FLAGS = [("winner_model_a", "winner_model_b", "winner_tie"), ("winner_a", "winner_b", "winner_tie")]
NAMES: dict[str, tuple[str, ...]] = {
    "winner": ("winner", "preferred", "better", "chosen"),
    "loser": ("loser", "worse", "rejected"),
    "outcome": ("outcome", "result", "winner", "preference", "vote", "ftr"),
    "ties": ("ties", "draws", "tie", "wins_tie"),
    "margin": ("margin",),
    "ranking": ("ranking",),
    "weight": ("weight", "weights"),
    "count": ("count",),
    "judge": ("judge", "judge_id", "voter", "annotator", "annotator_id", "rater", "rater_id"),
    "group": ("group", "group_id", "cluster"),
    "item": ("item", "option", "candidate"),
    "rank": ("rank", "place", "position"),
}
# Who ranked, in a table of rankings; in a table of votes such a column may be anything.
RESPONDENTS = (*NAMES["judge"], "respondent", "respondent_id", "response_id", "participant", "participant_id", "ballot",
               "user", "user_id")  # fmt: skip


class Names:
    """The columns there are, by exact name or ignoring case, and the options that name some."""

    def __init__(self, columns: Sequence[str], options: Mapping[str, Given]) -> None:
        self.columns = list(columns)
        self.options = options
        self.folded: dict[str, list[str]] = {}
        for name in self.columns:
            self.folded.setdefault(name.strip().casefold().replace(" ", "_"), []).append(name)

    def require(self, name: str, role: str) -> str:
        if name not in self.columns:
            raise InputError(
                f"no column {name!r} (given as ", Option(role, column=True), f"); found {listed(self.columns)}"
            )
        return name

    def option(self, role: str) -> str | None:
        name = self.options.get(role)
        return self.require(name, role) if isinstance(name, str) else None

    def one(self, alias: str) -> str | None:
        names = self.folded.get(alias, [])
        if len(names) > 1:
            raise InputError(f"columns {listed(names)} differ only in case; say by option which one to read")
        return names[0] if names else None

    def recognised(self, role: str, aliases: tuple[str, ...] | None = None) -> str | None:
        if self.options.get(role) is False:
            return None
        hits = [name for alias in aliases or NAMES[role] if (name := self.one(alias))]
        if len(hits) > 1:
            raise InputError(
                f"columns {listed(hits)} could each be the {role}; say which by ", Option(role, column=True)
            )
        return hits[0] if hits else None

    def first(self, aliases: tuple[str, ...]) -> str | None:
        """The one column that goes by one of these names, whatever options say."""
        hits = [name for alias in aliases if (name := self.one(alias))]
        return hits[0] if len(hits) == 1 else None

    def together(self, roles: Sequence[str], aliases: Iterable[tuple[str, ...]]) -> tuple[str, ...] | None:
        """Columns for roles that come together: those given, else the one set of aliases that is all there."""
        named = [self.option(role) for role in roles]
        if any(named):
            if not all(named):
                lacking = roles[named.index(None)]
                raise InputError(f"{' and '.join(roles)} come together; give ", Option(lacking, column=True), " too")
            return tuple(name for name in named if name)
        if any(self.options.get(role) is False for role in roles):
            return None
        sets = [tuple(self.one(alias) for alias in wanted) for wanted in aliases]
        hits = [tuple(name for name in names if name) for names in sets if all(names)]
        if len(hits) > 1:
            could = f"columns {' or '.join(map(listed, hits))} could each be"
            if not roles:
                raise InputError(f"{could} who won; keep one set of them")
            first, second = (Option(role, column=True) for role in roles)
            raise InputError(f"{could} {' and '.join(roles)}; say which by ", first, " and ", second)
        return hits[0] if hits else None


def listed(names: Sequence[str], limit: int = 20) -> str:
    """The names in quotes, the first few if there are many."""
    shown = ", ".join(repr(name) for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown or "none"
