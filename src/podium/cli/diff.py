"""`podium diff`: two leaderboards against each other."""

from __future__ import annotations

import os
import sys
import warnings
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.columns import Columns, column_options
from podium.cli.help import GroupedCommand, option
from podium.cli.options import level_option, output_options
from podium.cli.output import Output, say
from podium.errors import InputError, PodiumWarning
from podium.text import counted, fitted, number, one_line

if TYPE_CHECKING:
    import polars as pl

    from podium.evaluate.differences import Differences, Standing

__all__ = ["diff"]

SHOWN = 30
# Columns of a leaderboard beside item and score, as they come together.
OPTIONAL = (("lower", "upper"), ("std_error",), ("comparisons",), ("settings",))


EXAMPLES = (
    ("podium diff january.csv february.csv", "who moved between two leaderboards"),
    ("podium diff old.podium new.podium --reference gpt-4", "two saved models, relative to one item"),
)


@click.command(cls=GroupedCommand, examples=EXAMPLES)
@click.argument("first")
@click.argument("second")
@column_options
@level_option("the intervals and of the tests")
@option(
    "Intervals",
    "--reference",
    metavar="mean|weighted-mean|ITEM",
    help="Compare scores relative to this.  [default: mean]",
)
@output_options()
def diff(first: str, second: str, out: Output, columns: Columns, level: float, reference: str | None) -> None:
    """Compare the leaderboards FIRST and SECOND: who moved, and what is more than chance.

    Each is a leaderboard written by `podium rank` (with the columns item and score), a saved model, or a file of votes,
    which is then ranked by bradley-terry (rankings by plackett-luce); its columns may be named by option. One may be -
    for standard input.

    Scores are compared with the mean of the common items held fixed, or the mean weighted by votes, or an item. A
    change marked * is significant for all items at once (Holm), if the two come from different votes. Leaderboards
    that were not fitted alike (method, ties, covariates, penalty, …) are compared by ranks alone.
    """
    from podium.evaluate.differences import compare_rankings

    if first == second == "-":
        raise InputError("standard input can be read once only; name a file for one of the two")
    sources = [_source(path) for path in (first, second)]
    known = [_standing(source) for source in sources]
    if columns.named() and not any(side is None for side in known):
        raise InputError("options about columns are for files of votes, and both are leaderboards; drop them")
    sides = [side or _ranked(source, columns.arguments()) for side, source in zip(known, sources, strict=True)]
    changes = compare_rankings(sides[0], sides[1], reference)
    frame = changes.to_frame(level)
    out.write(frame, _table(frame, out.room) if out.for_people else None)
    if os.path.exists(first) and os.path.exists(second) and os.path.samefile(first, second):
        say(f"{first} and {second} are the same file")
    for path, side in zip((first, second), sides, strict=True):
        if side.settings is None:
            say(f"{path} does not say how it was fitted; it is taken to be in log-odds, and fitted as the other")
    _remark(changes, frame)
    _name_penalties(*(side.settings or {} for side in sides), tested="significant" in frame.columns)


class _Piped(BytesIO):
    """What came by a pipe, kept so that it can be read again."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.name = name


def _source(path: str) -> str | _Piped:
    if path == "-":
        return _Piped(sys.stdin.buffer.read(), "standard input")
    place = Path(path)
    return _Piped(place.read_bytes(), path) if place.exists() and not (place.is_file() or place.is_dir()) else path


def _standing(source: str | _Piped) -> Standing | None:
    """A leaderboard from a table with item and score, or a model file; None where it is votes."""
    from podium.evaluate.differences import standing
    from podium.models import load
    from podium.pairwise.base import Ranker
    from podium.ranking.ranking import Ranking

    path = source.name if isinstance(source, _Piped) else source
    if path.endswith(".podium") or (not os.path.isdir(path) and zipfile.is_zipfile(source)):
        model = load(source)  # type: ignore[arg-type]  # zipfile reads both
        if not isinstance(model, Ranker | Ranking):
            raise InputError(f"{path}: a {type(model).__name__} holds no leaderboard; save one with podium rank --save")
        return standing(model)
    return _leaderboard(source, path)


def _ranked(source: str | _Piped, columns: dict[str, Any]) -> Standing:
    """The leaderboard of a file of votes."""
    from podium.data.files import read_votes
    from podium.data.rankings import Rankings
    from podium.evaluate.differences import standing
    from podium.pairwise.bradley_terry import BradleyTerry
    from podium.pairwise.plackett_luce import PlackettLuce

    if isinstance(source, _Piped):
        source.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # `podium rank` is where they are told
        chosen: dict[str, Any] = {"judge": False, "group": False, "keep": "counts"}
        votes = read_votes(source, **chosen | columns)[None]
        return standing(PlackettLuce().fit(votes) if isinstance(votes, Rankings) else BradleyTerry().fit(votes))


def _read(source: str | _Piped) -> pl.DataFrame | None:
    """The columns of a leaderboard that are there; None when it is no leaderboard."""
    from podium.data.files import read_table

    for count in range(len(OPTIONAL), -1, -1):
        for names in combinations(OPTIONAL, count):
            if isinstance(source, _Piped):
                source.seek(0)
            with suppress(InputError):  # of votes: their reader says what is wrong, with the row
                return read_table(source, columns=["item", "score", *chain(*names)])
    return None


def _leaderboard(source: str | _Piped, path: str) -> Standing | None:
    """A leaderboard file in log-odds; None when it is something else."""
    import numpy as np
    import polars as pl

    from podium.evaluate.differences import Standing

    frame = _read(source)
    if frame is None:
        return None
    items = tuple(frame["item"].cast(pl.String).to_list())
    try:
        scores = frame["score"].cast(pl.Float64).to_numpy()
        errors, votes, lower, upper = (
            frame[name].cast(pl.Float64).to_numpy() if name in frame.columns and not frame[name].null_count() else None
            for name in ("std_error", "comparisons", "lower", "upper")
        )
    except pl.exceptions.PolarsError as problem:
        raise InputError(f"{path}: score, std_error, lower, upper and comparisons must be numbers") from problem
    if frame["item"].is_duplicated().any():
        twice = frame["item"].filter(frame["item"].is_duplicated())[0]
        raise InputError(f"{path}: {twice!r} appears twice; is it one leaderboard, or several (--by)?")
    if not np.isfinite(scores).all() or frame["score"].null_count():
        raise InputError(f"{path}: a score is missing or not finite; write the leaderboard anew with podium rank")
    settings = _settings(frame, path)
    unit = _unit(settings)
    centres = None
    if settings is not None and settings.get("l2") == "auto":  # the intervals lie around the scores by the votes alone
        if lower is None or upper is None:
            errors = None
        else:
            with np.errstate(invalid="ignore"):
                middle = (lower + upper) / 2
            centres = np.where(np.isfinite(middle), middle, scores) / unit
    return Standing(items, scores / unit, None if errors is None else errors / unit, None, votes, settings, centres)


def _settings(frame: pl.DataFrame, path: str) -> dict[str, str] | None:
    """How the leaderboard was fitted, where it says so."""
    from podium.evaluate.differences import read_settings

    if "settings" not in frame.columns or frame["settings"].null_count():
        return None
    settings = frame["settings"].unique().to_list()
    if len(settings) > 1:
        raise InputError(f"{path}: its rows were fitted in {len(settings)} ways (settings); give one leaderboard")
    return read_settings(str(settings[0]))


def _unit(settings: dict[str, str] | None) -> float:
    """Units of the scores per log-odds."""
    from podium.pairwise.bradley_terry import SCALES

    if settings is None:
        return 1.0
    return SCALES["elo" if settings.get("method") == "elo" else settings.get("scale", "log-odds")][0]


def _table(frame: pl.DataFrame, room: int | None) -> str:
    scored, tested = "change" in frame.columns, "significant" in frame.columns
    by = frame["change" if scored else "climbed"].abs()
    moved = frame.sort(by, descending=True, maintain_order=True).head(SHOWN) if len(frame) > SHOWN else frame
    heads = ["item", "rank", *(["change of score", ""] if scored else [])]
    rows = []
    for row in moved.to_dicts():
        arrow = "=" if row["climbed"] == 0 else f"{'▲' if row['climbed'] > 0 else '▼'}{abs(row['climbed'])}"
        cells = [row["item"], f"{row['rank_a']} → {row['rank_b']} {arrow}"]
        if scored:
            width = f" ({_signed(row['lower'])} … {_signed(row['upper'])})" if tested else ""
            cells += [_signed(row["change"]) + width, "*" if tested and row["significant"] else ""]
        rows.append(cells)
    lines = [fitted(heads, list(zip(*rows, strict=True)), room, to_left=heads)]
    if len(frame) > SHOWN:
        lines.append(f"… and {len(frame) - SHOWN:,} more that changed less")
    return "\n".join(lines)


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else ''}{number(value, 2)}"


def _name_penalties(one: Mapping[str, str], other: Mapping[str, str], *, tested: bool) -> None:
    """Penalties from the votes that pulled the two sets of scores together by different amounts."""
    pulls = [float(side["sd"]) for side in (one, other) if "sd" in side]
    if len(pulls) == 2 and f"{pulls[0]:.2f}" != f"{pulls[1]:.2f}":
        words = (
            "true scores seem to lie about {:.2f} log-odds from the mean in the first, {:.2f} in the second (l2=auto)"
        )
        say(words.format(*pulls) + ("; changes are of scores without the penalty" if tested else ""))


def _remark(differences: Differences, frame: pl.DataFrame) -> None:
    same = "no pair is ordered in both" if differences.agreement != differences.agreement else ""
    same = same or f"{100 * differences.agreement:.1f} % of their pairs stand in the same order"
    say(f"{counted(len(differences.items), 'item')} in both; {same}")
    for which, items in zip(("first", "second"), differences.only, strict=True):
        if items:
            some = ", ".join(one_line(item) for item in items[:5]) + (", …" if len(items) > 5 else "")
            say(f"only in the {which}: {len(items):,} ({some})")
    if differences.unlike:
        say(
            f"not fitted alike ({'; '.join(differences.unlike)}): scores of different models differ without any change "
            "of the votes, so only ranks are compared; fit both alike to test for changes"
        )
    elif "significant" in frame.columns:
        if differences.bounded:
            say("a table holds no covariances, so intervals are upper bounds; compare saved models for exact ones")
        many = int(frame["significant"].sum())
        say(f"{counted(many, 'change')} {'is' if many == 1 else 'are'} significant (*), for all items at once")
    else:
        say("no standard errors in one of them, so nothing can be called significant")
