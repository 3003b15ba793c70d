"""Where each item stands, as far as the answers tell: a posterior over places for every item.

The model is local: the chance that an answer puts u before v, when v stands d places below u, is

    floor + (1 - 2·floor) / (1 + exp(-d / scale)),

a share of plain mistakes (`floor`, at any distance) and a zone of close calls (`scale` places wide). One sweep takes
the items one by one, computes the posterior of each over a grid of all scales, the others standing where they stand
with their own standard deviation, and moves it to the mean. Both constants are fitted to fresh answers only: each is
predicted before it is used, so neither can flatter itself.
"""

from __future__ import annotations

import numpy as np

from podium.active.order import SparseWins
from podium.kernels.active import bisect as kernel

__all__ = ["Posterior"]

REACH = 12.0  # the table of log-likelihoods covers logits -REACH … REACH
CELLS = 1024
BLUR = 0.55  # sqrt(3)/pi: the logistic scale of a normal deviation of one
TEMPER = 1.3  # weight of an answer, tuned: a deviation that shrinks faster asks closer to home sooner
SIDE = 16  # grid cells to each side of an item
RATIO = 1.3  # of one cell to the next: 16 cells reach 54 standard deviations
FEWER, COARSER = 11, 1.45  # the same for many items: 11 cells reach 33 spreads
UNIT = 0.5  # finest cell, in places
FLOORS = np.array([0.003, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.125, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4])
SCALES = np.array([0.0003, 0.001, 0.003, 0.006, 0.01, 0.015, 0.03, 0.06, 0.1, 0.2])  # as shares of n
MIN_FAR_SHARE = 1 / 3  # share of all places beyond which two items are far apart
FAR_FLOOR = 0.3  # mistakes among far pairs count as so many at most: less would leave the cut of a cycle open
MEMORY = 4  # rounds of fresh answers that the constants are fitted to
STRETCH = 2048  # neighbours visited in one go
SAMPLE = 6000  # of them at most so many


class Posterior:
    """Expected place of n items, how sure that is, and the noise of the answers.

    Attributes
    ----------
    position, std : (n,) arrays
        Mean and standard deviation of each item's place, 0 the best.
    floor, scale : float
        Share of plain mistakes, and the width in places of the zone of close calls.
    prior, precision : (n,) array, float
        Places expected beforehand (from features), and how much that is worth; precision 0 for nothing.
    fresh : int
        Answers, each predicted before it was used, that `floor` and `scale` rest on.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.position = np.full(n, (n - 1) / 2)
        self.std = np.full(n, max(n / np.sqrt(12), 0.5))
        self.floor = 0.1
        self.scale = max(0.02 * n, 0.05)
        self.prior = np.zeros(n)
        self.precision = 0.0
        self.fresh = 0
        self._fresh: list[tuple[np.ndarray, np.ndarray]] = []
        self._rng = np.random.default_rng(0)  # only the order in which items are visited
        side, ratio = (SIDE, RATIO) if n <= STRETCH else (FEWER, COARSER)
        away = (ratio ** np.arange(1, side + 1) - 1) / (ratio - 1)
        self._steps = np.concatenate([-away[::-1], [0.0], away])
        units = int(away[-1]) + 1
        self._finder = np.searchsorted(self._steps, np.arange(-units, units + 2)).astype(np.int32)

    def start(self, order: np.ndarray, degree: np.ndarray) -> None:
        """Stand in `order`, an item the surer the more votes it has."""
        self.position[order] = np.arange(self.n)
        self.std[:] = np.clip(self.n / np.sqrt(12) / (1.0 + 0.5 * degree), 0.5, None)

    def copy(self) -> Posterior:
        """A posterior that can be swept without changing this one."""
        twin = Posterior(self.n)
        twin.position, twin.std = self.position.copy(), self.std.copy()
        twin.floor, twin.scale, twin.fresh = self.floor, self.scale, self.fresh
        twin.prior, twin.precision = self.prior, self.precision
        return twin

    @property
    def order(self) -> np.ndarray:
        """Items by position, best first."""
        order: np.ndarray = np.argsort(self.position, kind="stable")
        return order

    def sweep(self, table: SparseWins, sweeps: int, quantiles: np.ndarray | None = None) -> np.ndarray:
        """Move every item to its posterior mean, `sweeps` times; return the places at `quantiles` (n, r) at the end."""
        curves = _loglik(self.floor), _loglik(self.far_floor(table))
        none: np.ndarray = np.empty((self.n, 0))
        target = none
        order = self.order
        for number in range(sweeps):
            visit = self._visits(order)
            masses = none if quantiles is None or number + 1 < sweeps else quantiles[visit]
            places = np.empty(masses.shape)
            self._visit(table, curves, order, visit, masses, places)
            order = self.order
            self.position[order] = np.arange(self.n)  # places are ranks again
            if masses.shape[1]:
                target = np.empty(places.shape)
                target[visit] = places
        return target

    def _visit(
        self,
        table: SparseWins,
        curves: tuple[np.ndarray, np.ndarray],
        order: np.ndarray,
        visit: np.ndarray,
        quantiles: np.ndarray,
        target: np.ndarray,
    ) -> None:
        """Move the items of `visit` one by one; `target` takes the places at their quantiles.

        Inside, items are numbered by place: partners are neighbours as a rule, and so are their numbers in memory.
        """
        place = np.empty(self.n, dtype=np.int32)
        place[order] = np.arange(self.n, dtype=np.int32)
        position, std = self.position[order], self.std[order]
        kernel.posterior_sweep(
            table.start, place[table.partner], table.lead, order, place[visit], position, std, self.scale, BLUR,
            TEMPER, *curves, MIN_FAR_SHARE * self.n, REACH, self._steps, self._finder, UNIT, self.prior[order],
            self.precision, quantiles, target, np.empty(self.n), np.empty((3, len(self._steps) + 1)),
        )  # fmt: skip
        self.position[order], self.std[order] = position, std

    def _visits(self, order: np.ndarray) -> np.ndarray:
        """All items in random order; beyond some thousands, stretches of places in random order, for the cache."""
        if self.n <= STRETCH:
            return self._rng.permutation(self.n)
        stretch = np.arange(self.n) // STRETCH
        first = self._rng.permutation(stretch[-1] + 1)[stretch]
        visits: np.ndarray = order[np.argsort(first + self._rng.random(self.n))]
        return visits

    def far_floor(self, table: SparseWins) -> float:
        """Share of mistakes among answers on pairs that stand more than a third of all places apart.

        Where far pairs are wrong more often than near ones, as in a cycle, they must not lead items across the order.
        """
        answers: int
        wrong: int
        answers, wrong = kernel.far_mistakes(
            table.left, table.right, table.edge, self.position, self.std, MIN_FAR_SHARE * self.n, self.n / 6
        )
        return max(self.floor, min((wrong + 10 * self.floor) / (answers + 10), FAR_FLOOR))

    def predict(self, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Places by which the left item of each pair stands above the right one, and the variance of that."""
        left, right = pairs[:, 0], pairs[:, 1]
        return self.position[right] - self.position[left], self.std[left] ** 2 + self.std[right] ** 2

    def chances(self, pairs: np.ndarray, table: SparseWins) -> np.ndarray:
        """How likely an answer puts the left item of each pair first."""
        gap, variance = self.predict(pairs)
        right = 1.0 / (1.0 + np.exp(np.clip(-gap / np.sqrt(self.scale**2 + BLUR**2 * variance), -30, 30)))
        floor = np.where(np.abs(gap) > MIN_FAR_SHARE * self.n, self.far_floor(table), self.floor)
        chances: np.ndarray = floor + (1.0 - 2.0 * floor) * right
        return chances

    def relearn_noise(self, gap: np.ndarray, variance: np.ndarray, answers: np.ndarray) -> None:
        """Fit `floor` and `scale` to these answers alone: the same as before, better predicted."""
        self._fresh, self.fresh = [], 0
        self.learn_noise(gap, variance, answers)

    def learn_noise(self, gap: np.ndarray, variance: np.ndarray, answers: np.ndarray) -> None:
        """Refit `floor` and `scale` with fresh answers to pairs that were predicted (`gap`, `variance`) before."""
        decided = ~np.isnan(answers) & (answers != 0.5)
        agrees = np.where(answers[decided] > 0.5, gap[decided], -gap[decided])
        self.fresh += len(agrees)
        self._fresh = [*self._fresh[1 - MEMORY :], (agrees, variance[decided])]
        agrees, variance = (np.concatenate(column) for column in zip(*self._fresh, strict=True))
        if len(agrees) < 20:
            return
        if len(agrees) > SAMPLE:
            some = self._rng.permutation(len(agrees))[:SAMPLE]
            agrees, variance = agrees[some], variance[some]
        best = -np.inf
        at = np.arange(0, len(agrees), 64)  # one logarithm for so many chances: none is under 0.003
        for scale in SCALES * self.n:
            logit = np.clip(agrees / np.sqrt(scale**2 + BLUR**2 * variance), -30, 30)
            right = 1 / (1 + np.exp(-logit))
            chance = FLOORS[:, None] + (1 - 2 * FLOORS[:, None]) * right
            loglik = np.log(np.multiply.reduceat(chance, at, axis=1)).sum(axis=1)
            if loglik.max() > best:
                best = loglik.max()
                self.floor, self.scale = float(FLOORS[loglik.argmax()]), float(scale)


def _loglik(floor: float) -> np.ndarray:
    """Log-likelihood of an answer by the logit of the distance, as a table."""
    logits = np.linspace(-REACH, REACH, CELLS + 1)
    loglik: np.ndarray = np.log(floor + (1 - 2 * floor) / (1 + np.exp(-logits)))
    return loglik
