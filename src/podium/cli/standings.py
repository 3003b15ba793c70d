"""Leaderboards that were written before: from a table, a saved model, or votes that are ranked now."""

from __future__ import annotations

import os
import sys
import warnings
import zipfile
from contextlib import suppress
from io import BytesIO
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.errors import InputError, PodiumWarning

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from podium.evaluate.differences import Standing

__all__ = ["Piped", "leaderboard_in", "ranked_votes", "source_of", "standing_in"]

# Columns of a leaderboard beside item and score, as they come together.
OPTIONAL = (("lower", "upper"), ("std_error",), ("comparisons",), ("settings",), ("rank",))


def standing_in(path: str) -> Standing:
    """The leaderboard of a file, or of a saved model."""
    leaderboard = leaderboard_in(source_of(path))
    if leaderboard is None:
        raise InputError(f"{path} is no leaderboard: it has no columns item and score; write one with podium rank -o")
    return leaderboard


class Piped(BytesIO):
    """What came by a pipe, kept so that it can be read again."""

    def __init__(self, data: bytes, name: str) -> None:
        super().__init__(data)
        self.name: str = name

    def __str__(self) -> str:
        return self.name


def source_of(path: str) -> str | Piped:
    """The path, or what it gives only once: standard input, a pipe of the shell."""
    if path == "-":
        return Piped(sys.stdin.buffer.read(), "standard input")
    place = Path(path)
    return Piped(place.read_bytes(), path) if place.exists() and not (place.is_file() or place.is_dir()) else path


def leaderboard_in(source: str | Piped) -> Standing | None:
    """A leaderboard from a table with item and score, or a model file; None where it is votes."""
    from podium.evaluate.differences import standing
    from podium.models import load
    from podium.pairwise.base import Ranker
    from podium.ranking.ranking import Ranking

    path = source.name if isinstance(source, Piped) else source
    if path.endswith(".podium") or (not os.path.isdir(path) and zipfile.is_zipfile(source)):
        model = load(source)  # type: ignore[arg-type]  # zipfile reads both
        if not isinstance(model, Ranker | Ranking):
            raise InputError(f"{path}: a {type(model).__name__} holds no leaderboard; save one with podium rank --save")
        return standing(model)
    return _leaderboard(source, path)


def ranked_votes(source: str | Piped, columns: dict[str, Any]) -> Standing:
    """The leaderboard of a file of votes."""
    from podium.data.files import read_votes
    from podium.data.rankings import Rankings
    from podium.evaluate.differences import standing
    from podium.pairwise.bradley_terry import BradleyTerry
    from podium.pairwise.plackett_luce import PlackettLuce

    if isinstance(source, Piped):
        source.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # `podium rank` is where they are told
        chosen: dict[str, Any] = {"judge": False, "group": False, "keep": "counts"}
        votes = read_votes(source, **chosen | columns)[None]
        return standing(PlackettLuce().fit(votes) if isinstance(votes, Rankings) else BradleyTerry().fit(votes))


def _read(source: str | Piped) -> pl.DataFrame | None:
    """The columns of a leaderboard that are there; None when it is no leaderboard."""
    from podium.data.files import read_table

    for count in range(len(OPTIONAL), -1, -1):
        for names in combinations(OPTIONAL, count):
            if isinstance(source, Piped):
                source.seek(0)
            with suppress(InputError):  # of votes: their reader says what is wrong, with the row
                return read_table(source, columns=["item", "score", *chain(*names)])
    return None


def _leaderboard(source: str | Piped, path: str) -> Standing | None:
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
        raise InputError(f"{path}: {twice!r} appears twice; give one leaderboard, written without --by")
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
    errors = None if errors is None else errors / unit
    return Standing(items, scores / unit, errors, None, votes, settings, centres, _ranks(frame))


def _ranks(frame: pl.DataFrame) -> NDArray[np.int64] | None:
    """Ranks as they were given, which count items that were not listed for their few votes too."""
    import polars as pl

    if "rank" not in frame.columns:
        return None
    ranks = frame["rank"].cast(pl.Int64, strict=False)
    return None if ranks.null_count() or (ranks < 1).any() else ranks.to_numpy()


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
