"""Leagues: predictions made before each game, and the chances of the final table."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.tables.times import shown_times
from podium.data.validation import flag_option, instance_of, number_option, seed_option, union_of_labels, whole_option
from podium.errors import DataWarning, InputError, Option
from podium.pairwise.base import Ranker
from podium.text import counted, one_line

if TYPE_CHECKING:
    import polars as pl

__all__ = ["before_first_vote", "final_table", "forecasts", "unpredicted"]

Floats = NDArray[np.float64]

DRAWS_AT_ONCE = 1000
MAX_FIXTURES = 5000  # whose errors are drawn together
TOP = 4  # among which many the chance to be is told, where nobody asks for another number
MAX_NAMED = 5  # rows that are named one by one


def forecasts(
    model: Any,
    comparisons: Comparisons,
    *,
    start: float = 0.3,
    refit: bool = False,
    features: Any = None,
    id: str | None = None,
) -> Floats:
    """Chances of each vote from those before it: predict, then learn; (rows, 3), in the order of time.

    The votes of the first `start` share of rows are learned from at once and not predicted (their rows are NaN). After
    that the votes of each time are predicted together and then learned: by `partial_fit`, or with `refit` by a fit to
    all votes so far (which rankers without `partial_fit` need). The model given is left as it is. Where votes have no
    times, each is a time of its own. `features` (and `id`) of the items go to the fit, as in `RABF.fit`.

    >>> from podium import Elo
    >>> votes = Comparisons.from_pairs([("a", "b")] * 4)
    >>> forecasts(Elo(k=32), votes, start=0.5)[2:, 0].round(3).tolist()
    [0.587, 0.623]
    """
    instance_of(Ranker, model, "model")
    c = as_comparisons(comparisons, "forecasts").by_time()
    number_option("start", start, above=0, below=1)
    flag_option("refit", refit)
    if features is not None and not model.uses.features:
        raise InputError(Option("features"), f" do not apply to {type(model).__name__}; leave them out")
    about = {} if features is None else {"features": features, "id": id}
    if c.count is not None:
        raise InputError("the votes are counted, and forecasts need them one by one; keep each vote a row")
    goes_on = getattr(model, "partial_fit", None) is not None and not refit
    if not goes_on and not refit:
        raise InputError(
            f"{type(model).__name__} cannot go on with further votes; it has to be fitted anew each time (refit)"
        )
    rows = len(c.left)
    time = np.arange(rows, dtype=np.float64) if c.time is None else c.time
    first = int(np.searchsorted(time, time[min(int(start * rows), rows - 1)]))
    if first == 0:
        raise InputError(f"all of the first {start:g} of the votes are of one time; there is none to learn from before")
    chances = np.full((rows, 3), np.nan)
    learner = model.unfitted().fit(c.take(slice(0, first)), **about)
    while first < rows:
        end = int(np.searchsorted(time, time[first], side="right"))
        block = c.take(slice(first, end))
        chances[first:end] = learner.predict_proba(block)
        learner = learner.partial_fit(block) if goes_on else model.unfitted().fit(c.take(slice(0, end)), **about)
        first = end
    return chances


def final_table(
    model: Any,
    fixtures: Comparisons,
    played: Comparisons | None = None,
    *,
    points: Sequence[float] = (3, 1, 0),
    top: int | None = None,
    draws: int = 10_000,
    seed: int | None = 0,
) -> pl.DataFrame:
    """Chances of the final table, by playing the remaining fixtures many times; one row for each item, best first.

    Each draw takes strengths as they may truly be (where the model knows its errors) and then an outcome of every
    fixture. `points` are those of a win, a tie and a loss; items with equal points are put in a random order, as goals
    are not simulated. Columns: item, points (so far), expected_points, first, top (among the first `top`), last,
    expected_rank.

    Parameters
    ----------
    model : a fitted ranker
        One that counts a tie half gives it no chance of its own: no ties are played then, and a `DataWarning` says so.
        `ties="davidson"` models them.
    fixtures : Comparisons
        Pairs still to be played, left at home; see `read_fixtures`.
    played : Comparisons, optional
        The games so far, for the points that items have already.
    top : int, optional
        Without, 4, or all but one of fewer items.
    """
    import polars as pl

    instance_of(Ranker, model, "model")
    left_over = as_comparisons(fixtures, "final_table")
    worth, draws = _points(points), whole_option("draws", draws, least=1)
    chosen = None if top is None else whole_option("top", top, least=1)
    rng = np.random.default_rng(seed_option("seed", seed))
    _refuse_strangers(model, left_over)
    if len(left_over.left) > MAX_FIXTURES:
        raise InputError(f"{len(left_over.left):,} fixtures are more than {MAX_FIXTURES:,}; simulate fewer at a time")
    items, so_far = _so_far(left_over, played, worth)
    among = min(TOP, len(items) - 1) if chosen is None else chosen
    if among >= len(items):
        most = "1" if len(items) == 2 else f"1 to {len(items) - 1}"
        words = f": there are {len(items)} items, so all of them are among the first {among}; give {most}"
        raise InputError(Option("top", among), words)
    _warn_of_ties(model, played)
    place = {item: k for k, item in enumerate(items)}
    codes = np.array([place[item] for item in left_over.items])
    ends = codes[left_over.left], codes[left_over.right]
    total, ranks, hits = np.zeros(len(items)), np.zeros(len(items)), np.zeros((3, len(items)))
    for begin in range(0, draws, DRAWS_AT_ONCE):
        some = min(DRAWS_AT_ONCE, draws - begin)
        table = so_far + _played_out(model, left_over, ends, worth, some, len(items), rng)
        order = np.lexsort((rng.random(table.shape), -table), axis=1)
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.broadcast_to(np.arange(len(items)), order.shape), axis=1)
        total += table.sum(axis=0)
        ranks += (rank + 1).sum(axis=0)
        hits += [(rank == 0).sum(axis=0), (rank < among).sum(axis=0), (rank == len(items) - 1).sum(axis=0)]
    columns = {"points": so_far, "expected_points": total / draws}
    columns |= dict(zip(("first", "top", "last"), hits / draws, strict=True)) | {"expected_rank": ranks / draws}
    frame = pl.DataFrame({"item": list(items)} | columns, strict=False)
    return frame.sort("expected_points", descending=True, maintain_order=True)


def unpredicted(model: Ranker, fixtures: Comparisons, place: str = "") -> tuple[NDArray[np.bool_], list[str]]:
    """Which fixtures the model can give no chances of, and why, in sentences; `place` says of which file the rows are.

    An item may be unknown, or the date before the first vote.
    """
    known = set(model.ranking_.items)
    unknown = np.array([item not in known for item in fixtures.items])
    strange = unknown[fixtures.left] | unknown[fixtures.right]
    sentences = []
    for row in np.flatnonzero(strange)[:MAX_NAMED].tolist():
        code = int(fixtures.left[row] if unknown[fixtures.left[row]] else fixtures.right[row])
        label = one_line(str(fixtures.items[code]))
        sentences.append(f"{place}row {row + 1}: {label!r} is not in the model; its chances are left empty")
    if (more := int(strange.sum()) - MAX_NAMED) > 0:
        sentences.append(f"… and {counted(more, 'row')} more with items that are not in the model")
    early, words = before_first_vote(model, fixtures)
    early &= ~strange
    if early.any():
        sentences.append(f"{place}row {int(np.argmax(early)) + 1}: {words}; its chances are left empty")
        if (more := int(early.sum()) - 1) > 0:
            sentences.append(f"… and {counted(more, 'row')} more before it")
    return strange | early, sentences


def before_first_vote(model: Any, fixtures: Comparisons) -> tuple[NDArray[np.bool_], str]:
    """Which fixtures are of a time before the first vote, when scores that move have none; in words, too."""
    times = getattr(model, "times_", None)
    if times is None or fixtures.time is None:
        return np.zeros(len(fixtures.left), dtype=bool), ""
    time = np.floor(fixtures.time) if fixtures.time_is == "date" else fixtures.time
    first = shown_times(np.array([times[0]]), model._time_is)[0]
    return time < times[0], f"it is before the model's first vote, {first}"


def _points(points: Any) -> Floats:
    try:
        worth = np.asarray(points)
        worth = worth.astype(np.float64) if worth.dtype.kind in "buif" else np.empty(0)
    except (TypeError, ValueError, OverflowError):
        worth = np.empty(0)
    if worth.shape != (3,) or not np.isfinite(worth).all():
        raise InputError(Option("points", points), ": give three numbers, for a win, a tie and a loss, as 3,1,0")
    return worth


def _refuse_strangers(model: Ranker, fixtures: Comparisons) -> None:
    known = set(model.ranking_.items)
    for row, ends in enumerate(zip(fixtures.left.tolist(), fixtures.right.tolist(), strict=True), start=1):
        for code in ends:
            if fixtures.items[code] not in known:
                raise InputError(f"row {row}: {fixtures.items[code]!r} is not in the model; correct the label")


def _warn_of_ties(model: Ranker, played: Comparisons | None) -> None:
    """Say so where games had ties, and those to come will have none."""
    had_some = model.counts_ties_half_ or (played is not None and bool(played.record()[2].any()))
    if model.tie_strength_ or not had_some:
        return
    modelled = "fit it with " if model.uses.ties else "fit one that models ties, as Bradley-Terry, with "
    warnings.warn(
        DataWarning(
            "the model gives a tie no chance of its own, so no ties are played, and points are those of a league "
            f"without ties; {modelled}",
            Option("ties", "davidson"),
            " for one that has them",
        ),
        stacklevel=3,
    )


def _so_far(fixtures: Comparisons, played: Comparisons | None, worth: Floats) -> tuple[tuple[Hashable, ...], Floats]:
    """All items, and the points they have."""
    if played is None:
        return tuple(fixtures.items), np.zeros(len(fixtures.items))
    c = as_comparisons(played, "final_table")
    items, _ = union_of_labels(c.items, fixtures.items)
    wins, losses, ties = c.record()
    points = np.zeros(len(items))
    points[: len(c.items)] = worth[0] * wins + worth[1] * ties + worth[2] * losses
    return items, points


def _played_out(
    model: Ranker, c: Comparisons, ends: tuple[Any, Any], worth: Floats, draws: int, n: int, rng: np.random.Generator
) -> Floats:
    """Points from the fixtures, (draws, items)."""
    chances = model.draw_chances(c, draws, rng)
    win, tie = chances[:, :, 0], chances[:, :, 1]
    drawn = rng.random(win.shape)
    outcome = np.where(drawn < win, 0, np.where(drawn < win + tie, 1, 2))
    table = np.zeros((draws, n))
    for fixture, (left, right) in enumerate(zip(*(end.tolist() for end in ends), strict=True)):
        table[:, left] += worth[outcome[:, fixture]]
        table[:, right] += worth[2 - outcome[:, fixture]]
    return table
