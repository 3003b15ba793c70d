"""Orders that disagree least with the votes: cost, exact search, local search, lower bounds, `kemeny`.

`wins[u, v]` is the weight of votes for u before v. An order pays wins[v, u] for every u it puts before v (equation
2.1 of Ailon's paper; Kemeny's rule when the votes are whole ballots). The least cost is NP-hard to find; up to 20
items the subset dynamic program of Held and Karp finds it, beyond that local search comes close and a lower bound
says how close.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.validation import entries_of, seed_option, whole_option
from podium.errors import InputError
from podium.kernels.active import order as kernel
from podium.text import counted

if TYPE_CHECKING:
    from podium.data.comparisons import Comparisons

__all__ = [
    "EXACT_LIMIT",
    "Kemeny",
    "SparseWins",
    "exact_order",
    "insertion_search",
    "iterated_search",
    "kemeny",
    "lower_bound",
    "mfast_cost",
    "window_search",
]

EXACT_LIMIT = 20  # 2**20 subsets: 11 ms and 8 MB
WINDOW = 10


@dataclass(frozen=True, slots=True)
class Kemeny:
    """An order of least disagreement and how far from the best it can be.

    `order` lists the labels, best first; it breaks votes of weight `cost`; every order breaks at least `lower_bound`.
    `exact` says that the order is proved best.
    """

    order: tuple[Any, ...]
    cost: float
    lower_bound: float
    exact: bool

    @property
    def gap(self) -> float:
        """Cost over lower bound, less one: 0 is optimal, 0.02 at most two per cent above the best."""
        if self.cost <= self.lower_bound:
            return 0.0
        return self.cost / self.lower_bound - 1.0 if self.lower_bound > 0 else float("inf")


def kemeny(
    votes: Comparisons | np.ndarray,
    *,
    items: Sequence[Hashable] | None = None,
    restarts: int = 20,
    seed: int | None = 0,
) -> Kemeny:
    """Return the order that contradicts the least weight of votes.

    Parameters
    ----------
    votes : Comparisons or square array
        Of an array, entry [u, v] is the weight of votes for u before v. A tie counts half for each side.
    items : sequence, optional
        Labels of the rows of an array; 0, 1, … if omitted.
    restarts : int
        Perturbations tried beyond 20 items; more may find a cheaper order.
    seed : int, optional
        Of the perturbations.

    Examples
    --------
    Three voters rank a > b > c, two b > c > a, two c > a > b: a cycle, cheapest cut at its weakest link.

    >>> import numpy as np
    >>> wins = np.array([[0, 5, 3], [2, 0, 5], [4, 2, 0]])
    >>> best = kemeny(wins, items=["a", "b", "c"])
    >>> best.order, best.cost, best.exact
    (('a', 'b', 'c'), 8.0, True)
    """
    whole_option("restarts", restarts, least=0)
    seed_option("seed", seed)
    wins, labels = _wins_and_labels(votes, items)
    if len(labels) <= EXACT_LIMIT:
        order = exact_order(wins)
        least = mfast_cost(wins, order)
        return Kemeny(tuple(labels[u] for u in order), least, least, exact=True)
    order = iterated_search(wins, restarts=restarts, rng=np.random.default_rng(seed))
    least = mfast_cost(wins, order)
    bound = lower_bound(wins, order=order)
    return Kemeny(tuple(labels[u] for u in order), least, min(bound, least), exact=bound >= least - 1e-9)


def _wins_and_labels(
    votes: Comparisons | np.ndarray, items: Sequence[Hashable] | None
) -> tuple[np.ndarray, tuple[Hashable, ...]]:
    if not isinstance(votes, np.ndarray) and hasattr(votes, "pairs"):
        if items is not None:
            raise InputError("items is for arrays; Comparisons bring their own labels: leave items out")
        pairs, labels = votes.pairs, tuple(votes.items)
        wins = np.zeros((len(labels), len(labels)))
        np.add.at(wins, (pairs.left, pairs.right), np.asarray(pairs.left_wins) + 0.5 * np.asarray(pairs.ties))
        np.add.at(wins, (pairs.right, pairs.left), np.asarray(pairs.right_wins) + 0.5 * np.asarray(pairs.ties))
        return wins, labels
    wins = _checked(votes)
    labels = (
        tuple(range(len(wins)))
        if items is None
        else tuple(items if isinstance(items, str) else entries_of("items", items, "a list of labels"))
    )
    if len(labels) != len(wins):
        raise InputError(
            f"{counted(len(labels), 'item')} for {counted(len(wins), 'row')} of votes; give one label per row"
        )
    return wins, labels


def _checked(votes: Any) -> np.ndarray:
    """Square, finite, non-negative; the diagonal is ignored."""
    try:
        table = np.asarray(votes)
        if table.dtype.kind in "cmMV":  # NumPy would drop the imaginary part, or count days
            raise TypeError
        wins: np.ndarray = np.array(table, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise InputError("votes hold something that is no number; entry [u, v] is the weight of votes for u") from None
    if wins.ndim != 2 or wins.shape[0] != wins.shape[1]:
        raise InputError(f"votes have shape {wins.shape}; a square array is needed, entry [u, v] for u before v")
    np.fill_diagonal(wins, 0.0)
    bad = np.argwhere(~np.isfinite(wins) | (wins < 0))
    if len(bad):
        u, v = bad[0]
        raise InputError(f"votes[{u}, {v}] is {wins[u, v]:g}; weights of votes are finite and not negative")
    return wins


def mfast_cost(wins: np.ndarray, order: np.ndarray | Sequence[int]) -> float:
    """Return the weight of votes that `order` contradicts: the sum of wins[v, u] over u before v (equation 2.1).

    >>> mfast_cost(np.array([[0, 1], [0, 0]]), [1, 0])
    1.0
    """
    wins = np.ascontiguousarray(wins, dtype=np.float64)
    return float(kernel.cost(wins, _checked_order(order, len(wins))))


def _checked_order(order: np.ndarray | Sequence[int], n: int) -> np.ndarray:
    order = np.array(order, dtype=np.int64)
    if order.shape != (n,) or not np.array_equal(np.sort(order), np.arange(n)):
        raise InputError(f"an order of {counted(n, 'item')} holds each of 0 … {n - 1} once")
    return order


def exact_order(wins: np.ndarray) -> np.ndarray:
    """Return an order of least cost by the subset dynamic program; up to 20 items.

    >>> exact_order(np.array([[0, 0, 0], [1, 0, 1], [1, 0, 0]])).tolist()
    [1, 2, 0]
    """
    wins = _checked(wins)
    if len(wins) > EXACT_LIMIT:
        raise InputError(
            f"{counted(len(wins), 'item')}; exact orders go up to {EXACT_LIMIT}: use kemeny or insertion_search"
        )
    order: np.ndarray = _exact_windows(wins[None])[0]
    return order


def _exact_windows(windows: np.ndarray) -> np.ndarray:
    """Best order of each of many windows (w, k, k)."""
    count, k, _ = windows.shape
    size = max(k, 3)
    if k < size:  # items that nobody compared make up the least size
        padded = np.zeros((count, size, size))
        padded[:, :k, :k] = windows
        windows = padded
    best = np.empty(1 << size)
    room = np.empty(size * (16 + (1 << (size - 2) // 2) + (1 << (size - 3) - (size - 2) // 2)))
    orders = np.zeros((count, size), dtype=np.int64)
    kernel.held_karp(np.ascontiguousarray(windows, dtype=np.float64), best, room, orders)
    kept: np.ndarray = orders[orders < k].reshape(count, k)
    return kept


def insertion_search(wins: np.ndarray, order: np.ndarray | Sequence[int], *, max_passes: int = 100) -> np.ndarray:
    """Move single items to their best place until no move lowers the cost. The cost never rises.

    >>> insertion_search(np.array([[0, 0, 0], [1, 0, 1], [1, 0, 0]]), [0, 1, 2]).tolist()
    [1, 2, 0]
    """
    wins = np.ascontiguousarray(wins, dtype=np.float64)
    order = _checked_order(order, len(wins))
    place = np.argsort(order)
    for _ in range(max_passes):
        if kernel.insertion_pass(wins, order, order.copy(), place) <= 0:
            break
    return order


def window_search(wins: np.ndarray, order: np.ndarray | Sequence[int], *, width: int = WINDOW) -> np.ndarray:
    """Order every window of `width` neighbours exactly, windows overlapping by half, until nothing improves.

    Finds exchanges of whole groups, which single moves cannot. The cost never rises.
    """
    wins = np.ascontiguousarray(wins, dtype=np.float64)
    order = _checked_order(order, len(wins))
    width = min(width, len(order))
    if not 2 <= width <= EXACT_LIMIT:
        return order
    before = np.inf
    while (now := mfast_cost(wins, order)) < before - 1e-9:
        before = now
        for offset in (0, width // 2):
            _solve_windows(order, width, offset, lambda rows: wins[rows[:, :, None], rows[:, None, :]])
    return order


def _solve_windows(order: np.ndarray, width: int, offset: int, cut: Any) -> None:
    """Replace each full window of `order` from `offset` on by its best order; ties keep what is there."""
    count = (len(order) - offset) // width
    if count < 1:
        return
    rows = order[offset : offset + count * width].reshape(count, width)
    windows = cut(rows)
    orders = _exact_windows(windows)
    picked = np.arange(count)[:, None, None]
    upper = np.triu(np.ones((width, width), dtype=bool), 1)
    reordered = windows[picked, orders[:, :, None], orders[:, None, :]]
    gain = (np.swapaxes(windows, 1, 2) * upper).sum((1, 2)) - (np.swapaxes(reordered, 1, 2) * upper).sum((1, 2))
    orders[gain <= 1e-9] = np.arange(width)
    order[offset : offset + count * width] = np.take_along_axis(rows, orders, axis=1).ravel()


def iterated_search(
    wins: np.ndarray,
    order: np.ndarray | Sequence[int] | None = None,
    *,
    restarts: int = 20,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    """Local search, then `restarts` times: shuffle a random stretch, search again, keep the better order."""
    wins = np.ascontiguousarray(wins, dtype=np.float64)
    rng = np.random.default_rng(0) if rng is None else rng
    n = len(wins)
    if order is None:
        order = np.argsort(wins.sum(0) - wins.sum(1), kind="stable")  # by losses less wins
    best = window_search(wins, insertion_search(wins, order))
    least = mfast_cost(wins, best)
    for _ in range(restarts if n > 2 else 0):
        trial = best.copy()
        width = int(rng.integers(2, max(3, min(n, 40)) + 1))
        first = int(rng.integers(0, n - min(width, n) + 1))
        trial[first : first + width] = rng.permutation(trial[first : first + width])
        trial = window_search(wins, insertion_search(wins, trial))
        cost = mfast_cost(wins, trial)
        if cost < least:
            best, least = trial, cost
    return best


def lower_bound(wins: np.ndarray, *, order: np.ndarray | None = None, method: str = "auto") -> float:
    """Return a cost that no order can beat.

    Every order pays min(wins[u, v], wins[v, u]) for each pair. The rest is a weighted tournament, of which
    `method="packing"` packs directed triangles (each is broken somewhere; greedy, O(n³) at worst) and `method="lp"`
    solves the linear programme over the triangle inequalities, added as they are violated: stronger, for up to about
    60 items. "auto" takes the programme up to 40 items.

    >>> lower_bound(np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]))
    1.0
    """
    if method not in ("auto", "packing", "lp"):
        raise InputError(f"method is {method!r}; it is 'auto', 'packing' or 'lp'")
    wins = _checked(wins)
    unavoidable = float(np.minimum(wins, wins.T).sum() / 2)
    margin = np.maximum(wins - wins.T, 0.0)
    if method == "lp" or (method == "auto" and len(wins) <= 40):
        return unavoidable + _lp_bound(margin)
    if order is None:
        order = insertion_search(wins, np.argsort(wins.sum(0) - wins.sum(1), kind="stable"))
    return unavoidable + float(kernel.pack_triangles(margin, _checked_order(order, len(wins))))


def _lp_bound(margin: np.ndarray) -> float:
    """Least of sum margin[u, v]·(1 - x[u, v]) over 0 <= x <= 1 with x[u, v] + x[v, w] + x[w, u] <= 2, lazily."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_array, vstack

    n = len(margin)
    if n < 3:
        return 0.0
    first, second = np.triu_indices(n, 1)
    number = np.zeros((n, n), dtype=np.int64)
    number[first, second] = np.arange(len(first))
    cost = margin[second, first] - margin[first, second]  # x = 1 puts first before second
    constant = float(margin[first, second].sum())
    rows: list[Any] = []
    limits = np.zeros(0)
    x = (cost < 0).astype(float)
    triple = _triples(n)
    u, v, w = triple.T
    while True:
        around = x[number[u, v]] + x[number[v, w]] - x[number[u, w]]  # in [0, 1] for an order
        broken = np.flatnonzero((around > 1 + 1e-7) | (around < -1e-7))
        if not len(broken):
            return _rounded_down(constant + float(cost @ x), margin)
        worst = broken[np.argsort(-np.abs(around[broken] - 0.5), kind="stable")[: 20 * n]]
        sign = np.where(around[worst] > 0.5, 1.0, -1.0)
        at = np.arange(len(worst))
        columns = [number[u[worst], v[worst]], number[v[worst], w[worst]], number[u[worst], w[worst]]]
        entries = (np.concatenate([sign, sign, -sign]), (np.tile(at, 3), np.concatenate(columns)))
        rows.append(coo_array(entries, shape=(len(worst), len(first))))
        limits = np.concatenate([limits, (sign > 0).astype(float)])
        x = linprog(cost, A_ub=vstack(rows, format="csr"), b_ub=limits, bounds=(0, 1), method="highs").x


def _rounded_down(value: float, margin: np.ndarray) -> float:
    """A bound despite the solver's tolerance; with whole margins every cost is whole, so it may be rounded up."""
    if np.array_equal(margin, np.round(margin)):
        return max(0.0, float(np.ceil(value - 1e-6)))
    return max(0.0, value - 1e-7 * (1.0 + abs(value)))


def _triples(n: int) -> np.ndarray:
    u, v, w = np.ogrid[:n, :n, :n]
    return np.argwhere((u < v) & (v < w))


class SparseWins:
    """Votes on some of the pairs only: the local searches above without a square array.

    Row k says that items left[k] and right[k] were compared and edge[k] = wins[left, right] - wins[right, left].
    """

    __slots__ = ("edge", "lead", "left", "n", "partner", "right", "start")

    def __init__(self, n: int, left: np.ndarray, right: np.ndarray, edge: np.ndarray) -> None:
        self.n = n
        self.left = np.ascontiguousarray(left, dtype=np.int32)
        self.right = np.ascontiguousarray(right, dtype=np.int32)
        self.edge = np.ascontiguousarray(edge, dtype=np.float64)
        self.start = np.zeros(n + 2, dtype=np.int64)
        self.partner = np.empty(2 * len(self.left), dtype=np.int32)
        self.lead = np.empty(2 * len(self.left))
        kernel.neighbours(self.left, self.right, self.edge, self.start, self.partner, self.lead)

    def cost(self, order: np.ndarray) -> float:
        """Weight of net votes that `order` contradicts."""
        place = np.argsort(order)
        against = np.where(place[self.left] < place[self.right], -self.edge, self.edge)
        return float(np.maximum(against, 0.0).sum())

    def insertion_search(self, order: np.ndarray, *, max_passes: int = 100) -> np.ndarray:
        """Move single items to their best place by the known pairs until no move lowers the cost."""
        order = np.array(order, dtype=np.int64)
        place = np.argsort(order)
        longest = int(np.diff(self.start).max(initial=0))
        partner, lead = np.empty_like(self.partner), np.empty_like(self.lead)
        kernel.rows_by_place(self.start, self.partner, self.lead, order, self.start.copy(), partner, lead)
        room = np.ones(self.n, dtype=np.int8), np.empty(longest, dtype=np.int64), np.empty(longest)
        for _ in range(max_passes):
            visit = order.copy()
            if kernel.sparse_insertion_pass(self.start, partner, lead, order, visit, place, *room) <= 0:
                break
        return order

    def window_search(self, order: np.ndarray, *, width: int = WINDOW, passes: int = 1) -> np.ndarray:
        """Order windows of neighbours exactly by the known pairs; see `podium.active.order.window_search`."""
        order = np.array(order, dtype=np.int64)
        width = min(width, self.n)
        for offset in [0, width // 2] * passes:
            _solve_windows(order, width, offset, self._cut)
        return order

    def square(self, items: np.ndarray) -> np.ndarray:
        """Net wins among some items as a square array; takes no longer than their votes."""
        count = self.start[items + 1] - self.start[items]
        rows = np.repeat(self.start[items] - np.cumsum(count) + count, count) + np.arange(int(count.sum()))
        spot = np.full(self.n, -1, dtype=np.int64)
        spot[items] = np.arange(len(items))
        first, second, lead = np.repeat(np.arange(len(items)), count), spot[self.partner[rows]], self.lead[rows]
        inside = (second >= 0) & (lead > 0.0)
        wins = np.zeros((len(items), len(items)))
        np.add.at(wins, (first[inside], second[inside]), lead[inside])
        return wins

    def _cut(self, rows: np.ndarray) -> np.ndarray:
        """The square of net wins of each window of items."""
        count, width = rows.shape
        spot = np.full(self.n, -1, dtype=np.int64)
        spot[rows.ravel()] = np.arange(rows.size)
        a, b = spot[self.left], spot[self.right]
        near = (a >= 0) & (b >= 0) & (a // width == b // width)
        a, b, edge = a[near], b[near], self.edge[near]
        windows = np.zeros((count, width, width))
        np.add.at(windows, (a // width, a % width, b % width), np.maximum(edge, 0.0))
        np.add.at(windows, (a // width, b % width, a % width), np.maximum(-edge, 0.0))
        return windows
