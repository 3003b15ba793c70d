"""Diagnosis: do the votes look like the model that ranks them, and does the ranking hang on a few of them?

Everything is measured against plain Bradley-Terry scores, ties counting half. What chance alone would give is found by
simulation: votes are redrawn from the fitted scores on the same pairs, refitted, and measured in the same way (a
parametric bootstrap), so that thin pairs, estimated scores and ties are all allowed for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.comparisons import Comparisons
from podium.errors import InputError
from podium.likelihoods import LogisticRows
from podium.metrics.distances import kendall_tau
from podium.pairs import Adjacency, Pairs
from podium.solvers import LinearSolver, Rows, coordinate_newton, newton
from podium.splits import deal, share, take

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Diagnosis", "Finding", "History", "Reliability", "Test", "diagnose", "score_history"]

Floats = NDArray[np.float64]

L2 = 1e-3  # the penalty of the default ranker
ALARM = 0.05  # a p-value below is a concern
RELIABLE = 0.7  # a reliability below is a concern
MOST = 50  # items and judges whose influence is tried: those with the most votes


@dataclass(frozen=True)
class Test:
    """A measure of misfit, what chance gives on average, and how often chance gives as much."""

    value: float
    expected: float
    p_value: float

    __test__ = False  # not a test of ours, whatever pytest thinks


@dataclass(frozen=True)
class Reliability:
    """How well scores from one half of the votes agree with those from the other, over random halves.

    `correlation` is the mean over the splits of the correlation of the two halves' scores, `low` and `high` its range;
    `full` is stepped up to all votes by Spearman and Brown's 2r/(1 + r); `agreement` is the share of pairs of items
    that both halves put in the same order.
    """

    correlation: float
    low: float
    high: float
    agreement: float

    @property
    def full(self) -> float:
        """Expected correlation with another set of votes as large as this one."""
        return 2 * self.correlation / (1 + self.correlation) if self.correlation > -1 else -1.0


@dataclass(frozen=True)
class Finding:
    """One result in words; `concern` when it deserves a look before the ranking is shown."""

    name: str
    text: str
    concern: bool


@dataclass(frozen=True)
class History:
    """Scores after so many votes: `scores[t, i]` after `votes[t]`, NaN before the item's first vote."""

    votes: NDArray[np.int64]
    items: tuple[Hashable, ...]
    scores: Floats


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """What `diagnose` found.

    Attributes
    ----------
    residuals : frame with item, against, votes, won, expected, residual (in standard deviations); the largest first
    largest : Test of the largest residual
    dispersion : Test of Σ residual² / degrees of freedom; 1 when votes vary as the model expects
    cyclic : Test of the share of the evidence that no scores could explain (the HodgeRank residual)
    reliability : Reliability, or None with too few votes
    influence : frame with kind, dropped, votes, leader, moved, rank_before, rank_after, shift, swaps; strongest first
    replicates : how many times votes were simulated
    """

    residuals: pl.DataFrame
    largest: Test
    dispersion: Test
    cyclic: Test
    reliability: Reliability | None
    influence: pl.DataFrame
    replicates: int
    leader: Hashable

    def findings(self) -> list[Finding]:
        """The results in words, for the report and the command line."""
        return [*self._fit(), *self._steadiness()]

    @property
    def concerns(self) -> list[Finding]:
        """The findings that deserve a look."""
        return [finding for finding in self.findings() if finding.concern]

    def _fit(self) -> Iterator[Finding]:
        if np.isnan(self.dispersion.value):
            text = "The pairs form no circle, so that scores fit them all exactly: there is nothing to test."
            yield Finding("Fit", text, concern=False)
            return
        worst = self.residuals.row(0, named=True)
        text = (
            f"{worst['item']} won {worst['won']:,.4g} of {worst['votes']:,.4g} against {worst['against']}, expected "
            f"{worst['expected']:,.3g}: {_chance(self.largest)}."
        )
        yield Finding("Largest residual", text, self.largest.p_value < ALARM)
        text = f"Votes vary {self.dispersion.value:.3g} times as much as the model expects: {_chance(self.dispersion)}."
        if concern := self.dispersion.p_value < ALARM:
            text += " Intervals are too narrow; errors clustered by judge, or a bootstrap of judges, may mend them."
        yield Finding("Over-dispersion", text, concern)
        text = (
            f"{100 * self.cyclic.value:.3g} % of the evidence goes in circles, {100 * self.cyclic.expected:.3g} % is "
            f"expected: {_chance(self.cyclic)}."
        )
        if concern := self.cyclic.p_value < ALARM:
            text += " No single ranking can explain these votes; there may be several kinds of judges or questions."
        yield Finding("Transitivity", text, concern)

    def _steadiness(self) -> Iterator[Finding]:
        r = self.reliability
        if r is not None:
            text = (
                f"Scores from two halves of the votes correlate {r.correlation:.2f} ({r.low:.2f} to {r.high:.2f}), "
                f"which means {r.full:.2f} for all votes; they order {100 * r.agreement:.0f} % of the pairs alike."
            )
            yield Finding("Split-half reliability", text, r.full < RELIABLE)
        for kind in ("judge", "item"):
            found = self.influence.filter(self.influence["kind"] == kind)
            if len(found) == 0:
                continue
            first = found.row(0, named=True)
            text = f"No pair changes order when any one {kind} is left out."
            if first["swaps"]:
                text = (
                    f"The most influential {kind} is {first['dropped']}: without it, {first['moved']} goes from rank "
                    f"{first['rank_before']} to {first['rank_after']}, and {first['swaps']:,} "
                    f"{'pair changes' if first['swaps'] == 1 else 'pairs change'} order."
                )
            others = found.filter((found["leader"] != str(self.leader)) & (found["dropped"] != str(self.leader)))
            if len(others):
                row = others.row(0, named=True)
                text += f" Without {row['dropped']}, {row['leader']} would lead instead of {self.leader}."
            yield Finding(
                f"Influence of a {kind}" if kind == "judge" else "Influence of an item", text, len(others) > 0
            )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; a test that could not be made is None."""
        r = self.reliability
        return {
            "findings": [vars(finding) for finding in self.findings()],
            "tests": {
                name: None if np.isnan(test.value) else vars(test)
                for name, test in (("largest", self.largest), ("dispersion", self.dispersion), ("cyclic", self.cyclic))
            },
            "reliability": None if r is None else vars(r) | {"full": r.full},
            "residuals": self.residuals.to_dicts(),
            "influence": self.influence.to_dicts(),
            "replicates": self.replicates,
        }


def _chance(test: Test) -> str:
    if test.p_value < ALARM:
        return f"chance would give as much in {test.p_value:.1%} of cases"
    return f"no more than chance gives (p = {test.p_value:.2f})"


def diagnose(
    comparisons: Comparisons, *, replicates: int = 199, splits: int = 20, influence: bool = True, seed: int = 0
) -> Diagnosis:
    """Measure how well one ranking explains the votes, and how much it hangs on single items and judges.

    Parameters
    ----------
    comparisons : Comparisons
    replicates : int
        Simulations behind the p-values; the smallest possible one is 1 / (replicates + 1).
    splits : int
        Random halvings behind the reliability.
    influence : bool
        Whether to refit without each of the 50 most compared items, and the 50 busiest judges.
    seed : int

    Examples
    --------
    >>> rock = [("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")] * 30
    >>> found = diagnose(Comparisons.from_pairs(rock), replicates=99)
    >>> round(found.cyclic.value, 2), found.cyclic.p_value
    (1.0, 0.01)
    """
    if replicates < 1 or splits < 1:
        raise InputError(f"replicates ({replicates}) and splits ({splits}) must be at least 1")
    rng = np.random.default_rng(seed)
    votes = replace(comparisons, sided=False) if comparisons.sided else comparisons
    table = _Table.of(votes.pairs, len(votes.items))
    fit = _Fit(table)
    tests = fit.tests(replicates, rng)
    moved = _influence(votes, fit.scores) if influence else []
    return Diagnosis(
        fit.residual_frame(votes.items),
        *tests,
        reliability=_reliability(votes, splits, rng),
        influence=_influence_frame(moved),
        replicates=replicates,
        leader=votes.items[int(np.argmax(np.where(table.seen, fit.scores, -np.inf)))],
    )


# ---- fit ------------------------------------------------------------------------------------------------------------


COLUMNS = ("left", "right", "wins", "losses", "ties", "squares")


@dataclass(frozen=True, eq=False)
class _Table:
    """Unordered pairs with wins of the left, wins of the right and ties, as weights; and Σw² of all their votes."""

    n: int
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    wins: Floats
    losses: Floats
    ties: Floats
    squares: Floats

    @classmethod
    def of(cls, p: Pairs, n: int) -> _Table:
        squares = p.left_wins_sq + p.right_wins_sq + p.ties_sq
        wins, losses, ties, squares = (
            np.asarray(v, dtype=np.float64) for v in (p.left_wins, p.right_wins, p.ties, squares)
        )
        return cls(n, p.left, p.right, wins, losses, ties, squares)

    @property
    def total(self) -> Floats:
        return self.wins + self.losses + self.ties

    @property
    def points(self) -> Floats:
        return self.wins + 0.5 * self.ties

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Items that any vote names."""
        mask = np.zeros(self.n, dtype=bool)
        mask[self.left] = mask[self.right] = True
        return mask

    def adjacency(self) -> Adjacency:
        none = np.zeros(len(self.left))
        return Adjacency.of_pairs(
            Pairs(self.left, self.right, self.wins, self.losses, self.ties, none, none, none), self.n
        )

    def without(self, item: int) -> _Table:
        kept = (self.left != item) & (self.right != item)
        return replace(self, **{name: getattr(self, name)[kept] for name in COLUMNS})


def _solve(table: _Table, tol: float = 1e-5) -> Floats:
    """Bradley-Terry scores of the table, ties counting half."""
    a = table.adjacency()
    found = coordinate_newton(a, L2, tol, 300)
    if not found.converged:
        rows, loss = Rows(table.n, table.left, table.right), LogisticRows(table.points, table.total)
        found = newton(rows, loss, L2, tol, 300, votes=a.sums[1], scores=found.scores)
    return found.scores


class _Fit:
    """Scores of a table, and how far each pair is from them."""

    def __init__(self, table: _Table, circles: _Circles | None = None) -> None:
        self.table = table
        self.circles = circles or _Circles(table)
        self.scores = _solve(table)
        margin = self.scores[table.left] - self.scores[table.right]
        self.chance = 1.0 / (1.0 + np.exp(-margin))  # that the left item takes the point
        rare = np.minimum(self.chance, 1.0 - self.chance)
        possible = 2.0 * float(table.total @ rare)
        # A tie has chance 2·tied·min(p, 1 − p), which leaves the expected points at p whatever `tied` is.
        self.tied = min(1.0, float(table.ties.sum()) / possible) if possible > 0 else 0.0
        spread = self.chance * (1.0 - self.chance)
        variance = np.maximum(spread - 0.5 * self.tied * rare, 0.01 * spread)
        self.residual = (table.points - table.total * self.chance) / np.sqrt(
            np.maximum(table.squares * variance, 1e-12)
        )

    def measures(self) -> tuple[float, float, float, float]:
        """Largest residual, dispersion, cyclic evidence, and its share of all."""
        dispersion = float(self.residual @ self.residual) / self.circles.freedom if self.circles.freedom else np.nan
        return float(np.max(np.abs(self.residual))), dispersion, *self.circles.measure(self.table)

    def redrawn(self, rng: np.random.Generator) -> _Table:
        """Votes on the same pairs, drawn from the fitted scores; weighted ones as the equal votes they are worth."""
        t = self.table
        number = np.maximum(np.rint(t.total**2 / t.squares), 1.0).astype(np.int64)
        size = t.total / number
        tie = 2.0 * self.tied * np.minimum(self.chance, 1.0 - self.chance)
        win = np.clip(self.chance - tie / 2.0, 0.0, 1.0)
        wins = rng.binomial(number, win)
        ties = rng.binomial(number - wins, np.clip(tie / np.maximum(1.0 - win, 1e-300), 0.0, 1.0))
        return replace(t, wins=size * wins, ties=size * ties, losses=size * (number - wins - ties))

    def tests(self, replicates: int, rng: np.random.Generator) -> tuple[Test, Test, Test]:
        """Each measure against the same measure of redrawn votes."""
        found = np.array(self.measures())
        drawn = np.array([_Fit(self.redrawn(rng), self.circles).measures() for _ in range(replicates)])
        # Equal in exact arithmetic must count as equal.
        more = (drawn >= found - 1e-9 * np.abs(found)).sum(axis=0)
        p_values = (1.0 + more) / (1.0 + replicates)
        mean = drawn.mean(axis=0)
        largest, dispersion, _, cyclic = (Test(*map(float, each)) for each in zip(found, mean, p_values, strict=True))
        return largest, dispersion, replace(cyclic, p_value=float(p_values[2]))

    def residual_frame(self, items: Any, most: int = 50) -> pl.DataFrame:
        """The pairs furthest from the scores, told from the side of the item that won more than expected."""
        import polars as pl

        t = self.table
        rows = []
        for k in np.argsort(-np.abs(self.residual), kind="stable")[:most].tolist():
            up = self.residual[k] >= 0
            ends = (t.left[k], t.right[k]) if up else (t.right[k], t.left[k])
            won, expected = (t.points[k], t.total[k] * self.chance[k])
            if not up:
                won, expected = t.total[k] - won, t.total[k] - expected
            names = [str(items[end]) for end in ends]
            rows.append((*names, float(t.total[k]), float(won), float(expected), float(abs(self.residual[k]))))
        return pl.DataFrame(rows, ["item", "against", "votes", "won", "expected", "residual"], orient="row")


class _Circles:
    """The share of pairwise evidence that goes in circles: Jiang, Lim, Yao and Ye (2011), HodgeRank.

    Each pair's mean outcome y (from −1 to 1) is fitted by differences of scores in weighted least squares. What is
    left, Σ w (y − fit)², is the evidence that goes in circles; over Σ w y² it is 0 when one ranking explains everything
    and 1 for rock, paper, scissors. The share is easy to read; the sum is what tells circles from chance.
    """

    def __init__(self, table: _Table) -> None:
        self.weight = np.maximum(table.total, 1e-300)
        rows = Rows(table.n, table.left, table.right)
        self.solve = LinearSolver(rows, 0.0).factor(self.weight, 1e-10)
        groups = int(table.adjacency().components.max()) + 1  # items without votes are groups of their own
        self.freedom = len(table.left) - (table.n - groups)

    def measure(self, table: _Table) -> tuple[float, float]:
        """Cyclic evidence of a table with the same pairs and totals, and its share of all evidence."""
        if not self.freedom:
            return 0.0, 0.0
        mean = (table.wins - table.losses) / self.weight
        flow = self.weight * mean
        n = table.n
        net: Floats = np.bincount(table.left, flow, n).astype(np.float64) - np.bincount(table.right, flow, n)
        scores = self.solve(net)
        rest = mean - (scores[table.left] - scores[table.right])
        circles, whole = float(self.weight @ rest**2), float(self.weight @ mean**2)
        return circles, circles / whole if whole > 0 else 0.0


# ---- steadiness -----------------------------------------------------------------------------------------------------


def _reliability(votes: Comparisons, splits: int, rng: np.random.Generator) -> Reliability | None:
    correlations, agreements = [], []
    for _ in range(splits):
        try:
            hands = deal(votes, 2, rng)
        except InputError:
            return None
        halves = [_Table.of(share(votes, hands[:, side]).pairs, len(votes.items)) for side in (0, 1)]
        both = halves[0].seen & halves[1].seen
        if both.sum() < 3:
            return None
        one, other = (_solve(half)[both] for half in halves)
        if np.ptp(one) == 0 or np.ptp(other) == 0:
            return None
        correlations.append(float(np.corrcoef(one, other)[0, 1]))
        agreements.append((1 + kendall_tau(one, other)) / 2)
    return Reliability(float(np.mean(correlations)), min(correlations), max(correlations), float(np.mean(agreements)))


def _influence(votes: Comparisons, scores: Floats) -> list[tuple[Any, ...]]:
    """Refit without each of the busiest items and judges."""
    table = _Table.of(votes.pairs, len(votes.items))
    met = np.bincount(table.left, table.total, table.n) + np.bincount(table.right, table.total, table.n)
    rows = []
    if table.seen.sum() > 2:
        for item in np.argsort(-met, kind="stable")[:MOST].tolist():
            others = table.seen & (np.arange(table.n) != item)
            refitted = _solve(table.without(item))
            rows.append(("item", votes.items[item], float(met[item]), *_moves(votes, scores, refitted, others)))
    if votes.judge is not None and len(votes.judges) > 1:
        size = np.bincount(votes.judge, votes.count, len(votes.judges))
        for judge in np.argsort(-size, kind="stable")[:MOST].tolist():
            left = votes.judge != judge
            if size[judge] == 0 or not left.any():
                continue
            rest = _Table.of(take(votes, left).pairs, table.n)
            rows.append(
                ("judge", votes.judges[judge], float(size[judge]), *_moves(votes, scores, _solve(rest), rest.seen))
            )
    return rows


def _moves(
    votes: Comparisons, before: Floats, after: Floats, kept: NDArray[np.bool_]
) -> tuple[Hashable, Hashable, int, int, float, int]:
    """Leader afterwards, who moved most, from and to which rank, the largest shift, and how many pairs change order."""
    places = np.flatnonzero(kept)
    one, other = before[places], after[places]
    ranks = [1 + len(x) - np.searchsorted(np.sort(x), x, side="right") for x in (one, other)]
    shift = np.abs((other - other.mean()) - (one - one.mean()))
    far = int(np.lexsort((shift, np.abs(ranks[1] - ranks[0])))[-1])
    pairs = len(places) * (len(places) - 1) / 2
    swaps = round(pairs * (1 - kendall_tau(one, other, variant="a")) / 2) if len(places) > 1 else 0
    leader, moved = votes.items[places[int(other.argmax())]], votes.items[places[far]]
    return leader, moved, int(ranks[0][far]), int(ranks[1][far]), float(shift.max()), swaps


def _influence_frame(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    import polars as pl

    schema = {"kind": pl.String, "dropped": pl.String, "votes": pl.Float64, "leader": pl.String, "moved": pl.String}
    schema |= {"rank_before": pl.Int64, "rank_after": pl.Int64, "shift": pl.Float64, "swaps": pl.Int64}
    text = [
        (kind, str(dropped), size, str(leader), str(moved), *rest) for kind, dropped, size, leader, moved, *rest in rows
    ]
    return pl.DataFrame(text, schema, orient="row").sort("swaps", "shift", descending=True, maintain_order=True)


# ---- history --------------------------------------------------------------------------------------------------------


def score_history(comparisons: Comparisons, *, points: int = 40) -> History:
    """Return the Bradley-Terry scores after each of `points` shares of the votes, in the order they were cast.

    >>> votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("c", "a"), ("b", "c")])
    >>> history = score_history(votes, points=2)
    >>> history.votes, [bool(known) for known in np.isfinite(history.scores[0])]
    (array([2, 4]), [True, True, False])
    """
    c, rows = comparisons, len(comparisons.left)
    if not c.ordered or c.count is not None:
        raise InputError("the votes are counted, so their order is not known; give them one by one")
    cuts = np.unique(np.rint(np.linspace(rows / points, rows, points)).astype(np.int64))
    cuts = cuts[cuts > 0]
    scores = np.full((len(cuts), len(c.items)), np.nan)
    for at, cut in zip(scores, cuts, strict=True):
        table = _Table.of(replace(take(c, slice(int(cut))), sided=False).pairs, len(c.items))
        found = _solve(table)
        at[table.seen] = found[table.seen] - found[table.seen].mean()
    return History(cuts, tuple(c.items), scores)
