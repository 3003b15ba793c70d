"""Who answers: simulated judges with a known truth, matrices, functions."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol

import numpy as np

from podium.active.validation import ANSWERS, MEANING, codes_of
from podium.data.validation import array_of, entries_of, flag_option, number_option, whole_option
from podium.errors import InputError
from podium.text import counted

__all__ = ["MODELS", "FunctionOracle", "MatrixOracle", "Oracle", "Simulated", "asker"]

SCORED = ("normal", "heavy-tailed", "near-ties")
MODELS = (
    "flips", "bradley-terry", "cyclic", "chaos", "long-range", *SCORED, "blocks", "unequal", "left-leaning", "tiring",
)  # fmt: skip
UNEQUAL = np.array([0.0, 0.5, 1.0, 2.0, 3.0])  # mistakes of judges 0, 1, …, as multiples of the level


class Oracle(Protocol):
    """Answers pairs of item codes: 1 the left one goes first, 0 the right one, 0.5 a tie, nan no answer."""

    def answer(self, pairs: np.ndarray) -> np.ndarray:
        """Answer each row of `pairs`, an array of item codes with two columns."""
        ...


class FunctionOracle:
    """Put each pair to a function of two labels, which returns 1, 0, 0.5, a bool, or None to skip.

    >>> oracle = FunctionOracle(lambda a, b: a < b, ["pear", "apple"])
    >>> oracle.answer(np.array([[0, 1], [1, 0]])).tolist()
    [0.0, 1.0]
    """

    def __init__(self, function: Callable[[Any, Any], float | bool | None], items: Sequence[Hashable]) -> None:
        self.function = function
        self.items = tuple(entries_of("items", items, "a list of labels"))

    def answer(self, pairs: np.ndarray) -> np.ndarray:
        """Call the function for each pair, one after the other."""
        asked = _codes(pairs, len(self.items)).tolist()
        return np.array([self._one(self.items[u], self.items[v]) for u, v in asked], dtype=np.float64)

    def _one(self, left: Any, right: Any) -> float:
        answer = self.function(left, right)
        try:
            return ANSWERS[answer]
        except (KeyError, TypeError):
            raise InputError(f"the answer to {left!r} against {right!r} was {answer!r}; {MEANING}") from None


def asker(oracle: Any, items: Sequence[Any]) -> Callable[[np.ndarray], np.ndarray]:
    """How to put pairs of codes to `oracle`, a function of two labels or an `Oracle`; what it says is checked."""
    if not hasattr(oracle, "answer"):
        if not callable(oracle):
            raise InputError(f"the oracle is {oracle!r}; give a function of two items, or an object with answer(pairs)")
        return FunctionOracle(oracle, items).answer
    known = getattr(oracle, "n", len(items))
    if known != len(items):
        raise InputError(f"the oracle knows {counted(known, 'item')} and there are {len(items)}; give it the same ones")

    def answer(pairs: np.ndarray) -> np.ndarray:
        answers = np.asarray(oracle.answer(pairs))
        if answers.shape != (len(pairs),) or answers.dtype.kind not in "biuf":
            raise InputError(
                f"the oracle gave an array of {answers.dtype} of shape {answers.shape} for "
                f"{counted(len(pairs), 'pair')}; it gives one number a pair"
            )
        values: np.ndarray = answers.astype(np.float64)
        bad = np.flatnonzero(~(np.isnan(values) | (values == 0.0) | (values == 1.0) | (values == 0.5)))
        if len(bad):
            left, right = (items[u] for u in pairs[bad[0]])
            raise InputError(
                f"the oracle said {answers[bad[0]]} of {left!r} against {right!r}; it is 1 (left first), 0 (right "
                "first), 0.5 (tie) or nan (skip)"
            )
        return values

    return answer


def _codes(pairs: Any, n: int) -> np.ndarray:
    """Pairs of item numbers, one a row."""
    table = array_of(pairs, "pairs")
    if table.ndim != 2 or table.shape[1] != 2:
        raise InputError(f"pairs have shape {table.shape}; give two item numbers a row")
    return np.column_stack([codes_of("pairs", table[:, 0], n), codes_of("pairs", table[:, 1], n)])


def _whole_order(order: Any, n: int) -> np.ndarray:
    """Every item number once."""
    codes = codes_of("order", order, n, n)
    if len(np.unique(codes)) != n:
        raise InputError(f"order names an item twice; give each number from 0 to {n - 1} once")
    return codes


class MatrixOracle:
    """Read answers from a square array: entry [u, v] is 1 if u goes before v, 0 if after, 0.5 a tie."""

    def __init__(self, wins: np.ndarray) -> None:
        self.wins = array_of(wins, "wins")
        if self.wins.ndim != 2 or self.wins.shape[0] != self.wins.shape[1]:
            raise InputError(f"the answers have shape {self.wins.shape}; a square array is needed")
        if self.wins.dtype.kind not in "biuf":
            raise InputError(f"the answers are of type {self.wins.dtype}; numbers are needed: 1, 0, 0.5 or nan")
        self.n = len(self.wins)

    def answer(self, pairs: np.ndarray) -> np.ndarray:
        """Look each pair up."""
        left, right = _codes(pairs, self.n).T
        answers: np.ndarray = self.wins[left, right].astype(np.float64)
        return answers


class Simulated:
    """A judge, or several, of n items with a hidden order and a known kind of mistake.

    Parameters
    ----------
    n : int
    model : str
        "flips": every answer is wrong with chance `level`. "bradley-terry": items d places apart are confused with
        chance 1 / (1 + exp(d / (level·n))). "cyclic": the items stand on a circle and each goes before the half that
        follows it, with flips of chance `level`. "chaos": every other tenth of the order is a tournament of coin
        flips, the rest is clean but for flips of chance `level`. "long-range": an adversary turns the share `level` of
        all pairs round, the farthest ones.

        Noise in scores: items whose scores differ by s are confused with chance 1 / (1 + exp(s / level)), scores being
        "normal", "heavy-tailed" (t with 1.3 degrees of freedom) or "near-ties" (five clusters). "blocks": within a
        fifth of the order every answer is a coin flip, elsewhere wrong with chance `level`. "unequal": judge j flips
        `level` times 0, ½, 1, 2 or 3 (j modulo 5) of the answers; a pair put to nobody by name gets one of the five,
        always the same. "left-leaning": with chance `level` the left item
        goes first, whichever it is. "tiring": flips grow from none to `level` over the first 10 n answers.
    level : float
    seed : int
    persistent : bool
        True: the same pair gets the same answer of the same judge for ever (the paper's setting). False: mistakes are
        drawn afresh.

    Examples
    --------
    >>> judge = Simulated(5, "flips", 0.0, seed=3)
    >>> judge.cost(judge.order)
    0
    """

    def __init__(
        self, n: int, model: str = "flips", level: float = 0.1, *, seed: int = 0, persistent: bool = True
    ) -> None:
        n = whole_option("n", n, least=1)
        if not isinstance(model, str) or model not in MODELS:
            raise InputError(f"no noise model {model!r}; there are {', '.join(MODELS)}")
        if number_option("level", level, least=0) > 1:
            raise InputError(f"level is {level:g}; it lies between 0 and 1")
        flag_option("persistent", persistent)
        rng = np.random.default_rng([whole_option("seed", seed, least=0), n])
        self.n = n
        self.model = model
        self.level = level
        self.persistent = persistent
        self.order = rng.permutation(n)
        self.place = np.argsort(self.order)
        self.answered = 0
        self._salt = np.uint64(rng.integers(0, 2**63))
        self._scores = _hidden_scores(model, n, rng)[self.place]
        self._rng = rng

    @property
    def consistent(self) -> bool:
        """Whether asking again is of no use."""
        return self.persistent

    def answer(self, pairs: np.ndarray, judge: int | np.ndarray | None = None) -> np.ndarray:
        """Draw the answer of `judge` to each pair; the same again for a pair asked before, if `persistent`."""
        left, right = _codes(pairs, self.n).T
        who = self._somebody(left, right) if judge is None else codes_of("judge", judge, None, len(left))
        draws = self._luck(left, right, who) if self.persistent else self._rng.random(len(left))
        answers = self._decide(left, right, draws, who, self.answered + np.arange(len(left)))
        self.answered += len(left)
        return answers.astype(np.float64)

    def _decide(
        self, left: np.ndarray, right: np.ndarray, draws: np.ndarray, judge: Any = 0, number: Any = None
    ) -> np.ndarray:
        """True where the left item is put first. `draws` are uniform, the same for (u, v) and (v, u)."""
        first = self.place[left] < self.place[right]
        answers: np.ndarray = first ^ (draws < self._mistakes(left, right, judge, number))
        return answers

    def _mistakes(self, left: np.ndarray, right: np.ndarray, judge: Any = 0, number: Any = None) -> np.ndarray:
        """The chance of each answer to contradict the hidden order; `number` counts the answers given before, of a
        judge who does not tire if None: then half way."""
        n, level = self.n, self.level
        gap = self.place[right] - self.place[left]
        far = np.abs(gap)
        chance: np.ndarray
        if self.model == "bradley-terry":
            chance = 1.0 / (1.0 + np.exp(np.minimum(far / max(level * n, 1e-9), 700.0)))
        elif self.model in SCORED:
            apart = np.abs(self._scores[left] - self._scores[right])
            chance = 1.0 / (1.0 + np.exp(np.minimum(apart / max(level, 1e-9), 700.0)))
        elif self.model == "long-range":
            chance = (far > (1.0 - np.sqrt(level)) * n).astype(np.float64)
        elif self.model == "cyclic":
            chance = np.where(2 * far > n, 1.0 - level, level)
        elif self.model in ("chaos", "blocks"):
            block = self.place * (10 if self.model == "chaos" else 5) // n
            coin = (block[left] == block[right]) & ((self.model == "blocks") | (block[left] % 2 == 0))
            chance = np.where(coin, 0.5, level)
        elif self.model == "unequal":
            chance = np.minimum(level * UNEQUAL[np.asarray(judge) % len(UNEQUAL)], 0.5) * np.ones(len(left))
        elif self.model == "left-leaning":
            chance = np.where(gap < 0, level, 0.0)
        elif self.model == "tiring":
            part = 0.5 if number is None else np.minimum(np.asarray(number) / (10.0 * n), 1.0)
            chance = level * part * np.ones(len(left))
        else:
            chance = np.full(len(left), level)
        return chance

    def _somebody(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Who answers a pair put to nobody by name: judge 0, of unequal ones any, for each pair always the same."""
        if self.model != "unequal":
            return np.zeros(len(left), dtype=np.int64)
        return (self._luck(left, right, len(UNEQUAL)) * len(UNEQUAL)).astype(np.int64)

    def _luck(self, left: np.ndarray, right: np.ndarray, judge: Any = 0) -> np.ndarray:
        """A uniform number per pair and judge, always the same: hashed by splitmix64, so that no n² array is needed."""
        key = np.minimum(left, right).astype(np.uint64) * np.uint64(self.n) + np.maximum(left, right).astype(np.uint64)
        key = key + np.asarray(judge, dtype=np.uint64) * np.uint64(self.n) * np.uint64(self.n)
        z = (key + self._salt) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        uniform: np.ndarray = ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * 2.0**-53
        return uniform

    def features(self, *, informative: bool = True) -> np.ndarray:
        """Four columns that somebody might know of the items: the hidden place with an error of a tenth of n and three
        random ones, or, if not `informative`, four random ones."""
        flag_option("informative", informative)
        rng = np.random.default_rng([int(self._salt), self.n])
        table = rng.normal(size=(self.n, 4))
        if informative:
            table[:, 0] = self.place + 0.1 * self.n * table[:, 0]
        return table

    def matrix(self) -> np.ndarray:
        """All answers as a square array; needs persistent mistakes."""
        if not self.persistent:
            raise InputError("a judge with fresh mistakes has no fixed answers; use persistent=True")
        wins = np.zeros((self.n, self.n), dtype=np.int8)
        for u in range(self.n - 1):
            others = np.arange(u + 1, self.n)
            left = np.full(len(others), u)
            who = self._somebody(left, others)
            wins[u, others] = self._decide(left, others, self._luck(left, others, who), who)
            wins[others, u] = 1 - wins[u, others]
        return wins

    def cost(self, order: np.ndarray) -> int:
        """How many of all n(n-1)/2 answers contradict `order`."""
        order = _whole_order(order, self.n)
        against = 0
        for i in range(self.n - 1):
            left, later = np.full(self.n - 1 - i, order[i]), order[i + 1 :]
            who = self._somebody(left, later)
            against += int(np.count_nonzero(~self._decide(left, later, self._luck(left, later, who), who)))
        return against

    def excess(self, order: np.ndarray) -> float:
        """Expected cost of `order` above that of the hidden order, in per cent of all pairs.

        A pair that stands the other way than in the hidden order costs 1 - 2·(chance of a mistake): what is hard to
        tell apart costs little.
        """
        order = _whole_order(order, self.n)
        total = 0.0
        for i in range(self.n - 1):
            later = order[i + 1 :]
            wrong = later[self.place[later] < self.place[order[i]]]
            left = np.full(len(wrong), order[i])
            mistakes = 0.5 * (self._mistakes(left, wrong) + self._mistakes(wrong, left))  # shown on either side
            total += float((1.0 - 2.0 * mistakes).sum())
        return 100.0 * total / max(1, self.n * (self.n - 1) // 2)


def _hidden_scores(model: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Scores from the best place to the last, of a model with noise in scores."""
    if model == "normal":
        scores = rng.normal(size=n)
    elif model == "heavy-tailed":
        scores = rng.standard_t(1.3, size=n)
    elif model == "near-ties":
        scores = np.arange(n) * 5 // n + rng.normal(0.0, 0.05, n)
    else:
        return np.zeros(n)
    return np.sort(scores)[::-1]
