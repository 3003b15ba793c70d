"""How sure scores from rankings are: curvature, single rankings' gradients, and where open-ended scores end."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.pairs import Adjacency
from podium.pairwise._fit.choices import ListFit, ListLoss
from podium.ranking.uncertainty import ListInformation

__all__ = ["list_gradients", "list_information", "list_posterior"]

Floats = NDArray[np.float64]

MAX_TABLE = 5e7  # numbers of a table of all rankings' gradients, where ties are outcomes of their own
MAX_END_ROWS = 1_000_000  # choices against open-ended items held one by one
BINS = 64  # of like choices beyond


def list_information(
    loss: ListLoss,
    found: ListFit,
    *,
    ridge: float,
    squares: Floats,
    clusters: dict[str, NDArray[Any]],
    adjacency: Adjacency,
    votes: NDArray[Any] | None = None,
) -> ListInformation:
    """Curvature and the gradient of every ranking at an optimum.

    Where a vote was made several rankings (a tie of two, half a win for both), `votes` says which; `squares` and
    `clusters` are of votes.
    """
    above, below = adjacency.open_ended
    place = loss.place(found.scores, found.extras)
    weight = loss.weight if votes is None else np.bincount(votes, loss.weight, len(squares))[votes]
    share = np.divide(loss.weight, weight, out=np.zeros(len(weight)), where=weight > 0)
    square = share * (squares if votes is None else squares[votes])  # of each ranking
    information = ListInformation(
        **_pairs(place.pairs),
        ridge=ridge,
        border=np.ascontiguousarray(place.border) if loss.extras else None,
        corner=place.corner if loss.extras else None,
        scores=found.scores,
        open_above=above,
        open_below=below,
        **list_gradients(loss, found, squares=squares, clusters=clusters, votes=votes),
        **_ends(loss, found.scores, above, below, square),
    )
    if information.counted:
        return information
    varied = ListLoss(loss.rankings, davidson=loss.davidson, weight=square).place(found.scores, found.extras)
    return dataclasses.replace(
        information,
        squared_curvature=varied.pairs[information.left, information.right],
        squared_border=np.ascontiguousarray(varied.border) if loss.extras else None,
        squared_corner=varied.corner if loss.extras else None,
    )


def list_gradients(
    loss: ListLoss,
    found: ListFit,
    *,
    squares: Floats,
    clusters: dict[str, NDArray[Any]],
    votes: NDArray[Any] | None = None,
) -> dict[str, Any]:
    """Gradients, weights and clusters of single rankings, as `ListInformation` takes them; none where too many."""
    gradients = _gradients(loss, found)
    if gradients is None:
        return {}
    weight = loss.weight if votes is None else np.bincount(votes, loss.weight, len(squares))
    if votes is not None:
        gradients["list_row"] = votes[gradients["list_row"]].astype(np.int32)
    return {"vote_weight": weight, "vote_weight_sq": squares, "clusters": clusters, **gradients}


def list_posterior(loss: ListLoss, found: ListFit, ridge: float, groups: NDArray[np.int32]) -> ListInformation:
    """Curvature of loss and prior at the optimum; `loss` counts rankings."""
    place = loss.place(found.scores, found.extras)
    return ListInformation(
        **_pairs(place.pairs),
        ridge=ridge,
        border=np.ascontiguousarray(place.border) if loss.extras else None,
        corner=place.corner if loss.extras else None,
        scores=found.scores,
        groups=groups if groups.any() else None,
    )


def _pairs(weights: Floats) -> dict[str, Any]:
    left, right = np.nonzero(np.triu(weights, 1))
    codes = left.astype(np.int32), right.astype(np.int32)
    return {"n": len(weights), "left": codes[0], "right": codes[1], "curvature": weights[left, right]}


def _gradients(loss: ListLoss, found: ListFit) -> dict[str, Any] | None:
    """Gradients of single rankings, as `ListInformation` takes them; None where they are too many to hold."""
    r, n = loss.rankings, loss.n
    if loss.davidson and len(r) * float(n + loss.extras) > MAX_TABLE:
        return None
    values, base, strength, table = loss.single_gradients(found.scores, found.extras)
    if loss.davidson:
        of, at = np.nonzero(table[:, :n])
        return {
            "list_row": of.astype(np.int32),
            "list_item": at.astype(np.int32),
            "list_value": table[of, at],
            "vote_extra_gradient": np.ascontiguousarray(table[:, n:]),
        }
    row: NDArray[Any] = np.repeat(np.arange(len(r), dtype=np.int32), r.sizes)
    item = r.item
    shared: dict[str, Any] = {}
    if loss.everyone:
        shared = {"list_base": base, "list_strength": strength}
    elif r.rest is not None:
        row = np.concatenate([row, np.repeat(np.arange(len(r), dtype=np.int32), r.rest_sizes)])
        values = np.concatenate([values, np.repeat(base, r.rest_sizes) * strength[r.rest]])
        item = np.concatenate([item, r.rest])
    return {"list_row": row, "list_item": item, "list_value": values, **shared}


def _ends(
    loss: ListLoss, scores: Floats, above: NDArray[np.bool_], below: NDArray[np.bool_], square: Floats
) -> dict[str, Any]:
    """Choices between open-ended items and bounded ones (anyone, where none is bounded): item, margin, number, row.

    The choices of an item are worth (Σw)²/Σw², `square` being w² of each ranking.

    An item that was always taken first was taken before the bounded items that were left, with odds of its strength
    to their sum; one that was always left was passed over with the odds turned around.
    """
    r = loss.rankings
    firm = ~(above | below)
    if firm.all():
        return {}
    weight = np.exp(scores - scores.max()) * (firm if firm.any() else 1.0)
    row = np.repeat(np.arange(len(r)), r.sizes)
    left = _left_to_choose(loss, weight, row)
    others = _worth_holding(left - weight[r.item], weight)
    won = np.flatnonzero((above & ~below)[r.item] & (others > 0))
    items, margins = [r.item[won]], [scores[r.item[won]] - (np.log(others[won]) + scores.max())]
    numbers, rows = [_worth_of(r.item[won], loss.weight[row[won]], square[row[won]])], [row[won]]
    chosen = np.flatnonzero((firm[r.item] | (not firm.any())) & (left > 0))
    for i in np.flatnonzero(below & ~above).tolist():
        stages = chosen[_before(loss, i, chosen, row)]
        others = _worth_holding(left[stages] - weight[i], weight)
        stages, others = stages[others > 0], others[others > 0]
        margin: Floats = np.log(others) + scores.max() - scores[i]
        of: NDArray[Any] = row[stages]
        number = _worth_of(np.zeros(len(of), dtype=np.intp), loss.weight[of], square[of])
        if len(stages) * int(below.sum()) > MAX_END_ROWS:
            margin, number = _binned(margin, number)
            of = np.full(len(margin), -1)
        items.append(np.full(len(margin), i, dtype=np.int32))
        margins.append(margin)
        numbers.append(number)
        rows.append(of)
    return {
        "end_item": np.concatenate(items).astype(np.int32),
        "end_margin": np.concatenate(margins),
        "end_votes": np.concatenate(numbers),
        "end_row": np.concatenate(rows).astype(np.int64),
    }


def _worth_of(item: NDArray[Any], weight: Floats, square: Floats) -> Floats:
    """The weights in choices of equal weight: those of an item have the sum (Σw)²/Σw², which is their number."""
    total, squares = np.bincount(item, weight), np.bincount(item, square)
    worth: Floats = weight * np.divide(total, squares, out=np.zeros(len(total)), where=squares > 0)[item]
    return worth


def _left_to_choose(loss: ListLoss, weight: Floats, row: NDArray[np.intp]) -> Floats:
    """Summed weight of what was left at each place of each ranking, the item at that place included."""
    r = loss.rankings
    listed = weight[r.item]
    so_far = np.cumsum(listed)
    whole = np.bincount(row, listed, len(r))
    before = so_far - listed - np.concatenate([[0.0], so_far])[r.start[:-1]][row]
    rest: NDArray[Any] = np.zeros(len(r))
    if loss.everyone:
        rest = np.where(r.rest_sizes > 0, weight.sum() - whole, 0.0)
    elif r.rest is not None:
        rest = np.bincount(np.repeat(np.arange(len(r)), r.rest_sizes), weight[r.rest], len(r))
    return _worth_holding(np.maximum(whole[row] - before, 0.0) + np.maximum(rest, 0.0)[row], weight)


def _worth_holding(left: Floats, weight: Floats) -> Floats:
    """Sums of some weights; 0 where rounding has left nothing of them."""
    return np.where(left > 1e-12 * weight.max(), left, 0.0)


def _before(loss: ListLoss, item: int, places: NDArray[np.intp], row: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which of these places come before the item, in rankings that had it on offer."""
    r = loss.rankings
    end: NDArray[Any] = np.full(len(r), -1, dtype=np.int64)  # not on offer
    if loss.everyone:
        end[:] = len(r.item)
    elif r.rest is not None:
        end[np.repeat(np.arange(len(r)), r.rest_sizes)[r.rest == item]] = len(r.item)
    own = np.flatnonzero(r.item == item)
    end[row[own]] = own
    ahead: NDArray[np.bool_] = places < end[row[places]]
    return ahead


def _binned(margin: Floats, number: Floats) -> tuple[Floats, Floats]:
    """Like choices taken together, each bin at its largest margin: what they say is not made more of."""
    edges = np.unique(np.quantile(margin, np.linspace(0.0, 1.0, BINS + 1)))
    place = np.minimum(np.searchsorted(edges, margin, side="left"), len(edges) - 1)
    total = np.bincount(place, number, len(edges))
    return edges[total > 0], np.asarray(total[total > 0], dtype=np.float64)
