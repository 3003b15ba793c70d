"""The paper's online constructions, exactly: experts over guessed rankings, followed by exponential weights.

"On the Learnability of Multilabel Ranking", Algorithms 3, 6 and 7. On a random few rounds (B_t = 1 with chance T^β / T)
an expert updates its learners with a guessed ranking φ(t); there is an expert for every way to guess, and E_0, which
never updates. Only what the learners are told matters, so guesses that agree on the top p are one expert: K! / (K − p)!
guesses a round for sum@p, K over p for prec@p; each stands for as many of the K! rankings. Experts whose learners are
in the same state will never differ again, so their weights are added up: what is kept is a list of states, with
the weights of the full set. Learners say what state they are in by a method `key`, as `Halving` does; without it only
experts that have guessed alike are one, their number grows as guesses^|B|, and large problems are refused.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from itertools import combinations, permutations
from typing import Any, Protocol, Self

import numpy as np

from podium.data.validation import array_of, floats_of, number_option, seed_option, whole_option
from podium.errors import InputError, Option
from podium.metrics import ranking_loss
from podium.metrics.names import Metric
from podium.multilabel.options import family_of, loss_named
from podium.text import counted

__all__ = ["ExpertLabelRanker", "ExpertThresholdLearner", "Halving"]

LIMIT = 100_000  # experts, and guesses of a round, which are listed
MAX_ROUNDS = 1_000_000  # which of them are guessed is drawn beforehand
MAX_LABELS = 1_000  # the largest loss is looked for in a table of labels by labels


class OnlineLearner(Protocol):
    """Predicts a value for x, and is told the true one."""

    def predict(self, x: Any) -> Any: ...

    def update(self, x: Any, value: Any) -> None: ...


class Halving:
    """Majority vote over the functions of a finite class that were never wrong; log2(size) mistakes if one is right.

    `table` (functions, instances) holds the values 0/1; an instance x is its column. When no function is left, all
    are taken back.
    """

    def __init__(self, table: Any) -> None:
        self.table = array_of(table, "table")
        if self.table.ndim != 2 or not self.table.size or not np.isin(self.table, (0, 1)).all():
            raise InputError("table: one row of 0/1 values for each function, one column for each instance")
        self.alive = np.ones(len(self.table), dtype=bool)

    def predict(self, x: int) -> int:
        """Return the majority of the functions that are left."""
        votes = self.table[self.alive, self._column(x)]
        return int(2 * votes.sum() > len(votes))

    def update(self, x: int, value: int) -> None:
        """Drop the functions that are wrong about `x`; when none is left, take all back."""
        left = self.alive & (self.table[:, self._column(x)] == value)
        self.alive = left if left.any() else np.ones(len(self.table), dtype=bool)

    def key(self) -> bytes:
        """The functions that are left: two learners with the same key behave the same from here on."""
        return self.alive.tobytes()

    def _column(self, x: Any) -> int:
        if not isinstance(x, int | np.integer) or not 0 <= x < self.table.shape[1]:
            raise InputError(f"x is {x!r}; an instance is the number of a column, 0 to {self.table.shape[1] - 1}")
        return int(x)

    def __deepcopy__(self, memo: Any) -> Self:
        twin = copy.copy(self)
        twin.alive = self.alive.copy()
        return twin


class _Experts:
    """Exponential weights over the states that all experts are in; the first is that of E_0, which never updates."""

    def __init__(
        self, start: Any, guesses: Sequence[Any], n_labels: int, horizon: int, beta: float, largest: float, rng: Any
    ) -> None:
        if whole_option("horizon", horizon, least=1) > MAX_ROUNDS:
            raise InputError(f"a horizon of {horizon}: at most {counted(MAX_ROUNDS, 'round')} can be planned for")
        number_option("beta", beta, above=0, below=1)
        self.guessed_rounds = rng.random(horizon) < horizon ** (beta - 1)
        rounds = int(self.guessed_rounds.sum())
        self.size = len(guesses) ** rounds + (rounds > 0)
        if self.size > LIMIT and _key(start) is None:
            raise InputError(
                f"1e{int(math.log10(self.size))} experts would be needed ({len(guesses)} guesses in each of "
                f"{counted(rounds, 'round')}), the limit is {LIMIT}; take a smaller horizon, beta, p or K, or learners "
                "that tell their state by a method key"
            )
        self.states, self.lost = [start], np.zeros(1)
        self.weight = np.zeros(1)  # logarithm of the number of experts in a state, less rate times what each has lost
        if rounds:
            self.states, self.lost = [start, copy.deepcopy(start)], np.zeros(2)
            self.weight = np.array([0.0, rounds * math.lgamma(n_labels + 1)])
        self.guesses = guesses
        self.rate = math.sqrt(2 * math.log(max(self.size, 2)) / horizon) / largest
        self.round = 0

    def chances(self) -> np.ndarray:
        """Chance of each state, over all experts in it."""
        e = np.exp(self.weight - self.weight.max())
        return np.asarray(e / e.sum())

    def learn(self, losses: np.ndarray, tell: Callable[[Any, Any], None]) -> None:
        """Charge the states and, in a round of guesses, let all but the first branch."""
        if self.round >= len(self.guessed_rounds):
            raise InputError(f"the horizon was {counted(len(self.guessed_rounds), 'round')}; this is one more")
        lost, weight = self.lost + losses, self.weight - self.rate * losses
        if self.guessed_rounds[self.round]:
            self.states, self.lost, self.weight = self._branched(lost, weight, tell)
        else:
            self.lost, self.weight = lost, weight
        self.round += 1

    def _branched(
        self, lost: np.ndarray, weight: np.ndarray, tell: Callable[[Any, Any], None]
    ) -> tuple[list[Any], np.ndarray, np.ndarray]:
        """The states after all guesses, equal ones added up, with the least that an expert in each has lost."""
        states, least, mass = [self.states[0]], [float(lost[0])], [float(weight[0])]
        place: dict[Any, int] = {}
        for number, state in enumerate(self.states[1:], start=1):
            for guess in self.guesses:
                twin = copy.deepcopy(state)
                tell(twin, guess)
                key = _key(twin)
                at = len(states) if key is None else place.setdefault(key, len(states))
                share = float(weight[number]) - math.log(len(self.guesses))
                if at < len(states):
                    least[at], mass[at] = min(least[at], float(lost[number])), float(np.logaddexp(mass[at], share))
                    continue
                if at >= LIMIT:
                    raise InputError(
                        f"the learners of the experts are in more than {LIMIT} different states; take a smaller "
                        "horizon, beta, p or K"
                    )
                states.append(twin)
                least.append(float(lost[number]))
                mass.append(share)
        return states, np.array(least), np.array(mass)


def _key(state: Any) -> Any:
    """What tells whether two experts are in the same state, or None if their learners do not say."""
    learners = state.values() if isinstance(state, dict) else [state]
    keys = tuple(each.key() if hasattr(each, "key") else None for each in learners)
    return None if None in keys else keys


class ExpertLabelRanker:
    """Agnostic online ranker for small problems: Algorithm 3 (losses of the sum@p family) and 7 (prec@p family).

    Each expert owns binary learners A_i^j, label i among the first j (j = 1..p, or p only). It adds their answers to
    votes v and predicts a π that minimises ⟨π, v⟩ (the smaller label first on ties). The ranker follows one expert
    drawn by exponential weights. Expected regret: M sqrt(2 T ln N) over the best of N experts, M the largest loss.

    Parameters
    ----------
    n_labels : K
    learner : function (i, j) -> fresh online learner for "label i is among the first j", i from 0, j from 1
    horizon : number of rounds T
    loss : "sum@p", "prec@p", or another loss whose family is one of these
    beta : guesses happen in about T^beta rounds
    top : largest relevance, for the largest loss M
    seed : of the guessed rounds and the draws

    Attributes
    ----------
    expected_ : expected loss of every round so far; `experts_` : number N of experts in all, E_0 among them

    Examples
    --------
    >>> ranks = np.array([[[1, 2, 3], [3, 1, 2]], [[2, 1, 3], [1, 3, 2]]])  # two functions on two instances
    >>> ranker = ExpertLabelRanker(3, lambda i, j: Halving(ranks[:, :, i] <= j), horizon=8, loss="prec@1", seed=1)
    >>> for x in [0, 1] * 4:
    ...     order = ranker.predict(x)
    ...     ranker.update(x, [1, 0, 0] if x == 0 else [0, 1, 0])
    >>> len(ranker.expected_)
    8
    """

    def __init__(
        self,
        n_labels: int,
        learner: Callable[[int, int], OnlineLearner],
        *,
        horizon: int,
        loss: str = "sum@1",
        beta: float = 0.4,
        top: int = 1,
        seed: int | None = None,
    ) -> None:
        self.loss = loss_named(loss)
        self.n_labels = _label_count(n_labels)
        whole_option("top", top, least=1)
        seed_option("seed", seed)
        if not callable(learner):
            raise InputError(f"learner={learner!r}: a function (i, j) -> online learner is needed")
        n_labels = self.n_labels
        p, self.ordered = family_of(self.loss, n_labels)
        self.cuts = list(range(1, p + 1)) if self.ordered else [p]
        self.rng = np.random.default_rng(seed)
        guesses = _guesses(n_labels, p, self.ordered)
        start = {(i, j): learner(i, j) for i in range(n_labels) for j in self.cuts}
        self.tree = _Experts(start, guesses, n_labels, horizon, beta, _largest(self.loss, n_labels, top), self.rng)
        self.experts_ = self.tree.size
        self.expected_: list[float] = []
        self._seen: tuple[Any, list[np.ndarray]] | None = None

    def predict(self, x: Any) -> np.ndarray:
        """Ranks (1 = best) of the labels by an expert drawn by weight."""
        ranks = self._rankings(x)
        return ranks[int(self.rng.choice(len(ranks), p=self.tree.chances()))]

    def update(self, x: Any, relevance: Any) -> None:
        """See the relevance of x: charge every expert, and guess if this is a round of guesses."""
        ranks = self._rankings(x)
        losses = np.asarray(
            ranking_loss(
                str(self.loss),
                np.tile(floats_of("relevance", relevance, (None,)), (len(ranks), 1)),
                ranks=np.array(ranks),
            )
        )
        self.expected_.append(float(self.tree.chances() @ losses))
        self._seen = None

        def tell(state: dict[tuple[int, int], OnlineLearner], guess: tuple[frozenset[int], ...]) -> None:
            for (i, j), each in state.items():
                each.update(x, int(i in guess[self.cuts.index(j)]))

        self.tree.learn(losses, tell)

    def _rankings(self, x: Any) -> list[np.ndarray]:
        if self._seen is None or self._seen[0] is not x:
            self._seen = (x, [self._ranking(state, x) for state in self.tree.states])
        return self._seen[1]

    def _ranking(self, state: dict[tuple[int, int], OnlineLearner], x: Any) -> np.ndarray:
        votes = np.zeros(self.n_labels)
        for (i, _), each in state.items():
            votes[i] += each.predict(x)
        ranks = np.empty(self.n_labels, dtype=np.int64)
        ranks[np.argsort(-votes, kind="stable")] = np.arange(1, self.n_labels + 1)
        return ranks


class ExpertThresholdLearner:
    """The way back, Algorithm 6: from an online ranker to an agnostic learner of "label i is among the first j".

    Each expert owns a copy of `ranker` (predict(x) -> ranks, update(x, relevance)), answers 1{rank of i ≤ j}, and in
    the rounds of guesses tells its ranker BinRel(φ(t), j).
    """

    def __init__(
        self,
        ranker: OnlineLearner,
        n_labels: int,
        label: int,
        cut: int,
        *,
        horizon: int,
        beta: float = 0.4,
        seed: int | None = None,
    ) -> None:
        self.n_labels = _label_count(n_labels)
        self.label, self.cut = whole_option("label", label, least=0), whole_option("cut", cut, least=1)
        seed_option("seed", seed)
        if label >= n_labels or cut > n_labels:
            raise InputError(
                Option("label", label),
                f", cut={cut!r}: the examples have only {counted(n_labels, 'label')}, counted from 0",
            )
        self.rng = np.random.default_rng(seed)
        guesses = _guesses(n_labels, cut, ordered=False)
        self.tree = _Experts(ranker, guesses, n_labels, horizon, beta, 1.0, self.rng)
        if not hasattr(ranker, "predict") or not hasattr(ranker, "update"):
            raise InputError(f"ranker is {ranker!r:.50}, no online ranker; give one with predict and update")
        self.experts_ = self.tree.size
        self.expected_: list[float] = []

    def predict(self, x: Any) -> int:
        """The answer of an expert drawn by weight."""
        answers = self._answers(x)
        return int(answers[int(self.rng.choice(len(answers), p=self.tree.chances()))])

    def update(self, x: Any, value: int) -> None:
        """See the right answer."""
        if not isinstance(value, int | np.integer) or value not in (0, 1):
            raise InputError(f"value is {value!r}; the right answer is 0 or 1")
        losses = (self._answers(x) != value).astype(float)
        self.expected_.append(float(self.tree.chances() @ losses))

        def tell(state: OnlineLearner, guess: tuple[frozenset[int], ...]) -> None:
            state.update(x, [int(i in guess[0]) for i in range(self.n_labels)])

        self.tree.learn(losses, tell)

    def _answers(self, x: Any) -> np.ndarray:
        return np.array([int(state.predict(x)[self.label] <= self.cut) for state in self.tree.states])


def _label_count(n_labels: int) -> int:
    if whole_option("n_labels", n_labels, least=1) > MAX_LABELS:
        raise InputError(f"{counted(n_labels, 'label')}: experts rank at most {counted(MAX_LABELS, 'label')}")
    return int(n_labels)


def _guesses(n_labels: int, p: int, ordered: bool) -> list[tuple[frozenset[int], ...]]:
    """What a guessed ranking tells: the sets of its first j labels, for j = 1..p or for p only."""
    count = math.perm(n_labels, p) if ordered else math.comb(n_labels, p)
    if count > LIMIT:
        raise InputError(
            f"the first {p} of {counted(n_labels, 'label')} can be guessed in 1e{int(math.log10(count))} ways, each "
            f"with an expert of its own; the limit is {LIMIT}: take a smaller p or K"
        )
    if ordered:
        tops = permutations(range(n_labels), p)
        return [tuple(frozenset(top[:j]) for j in range(1, p + 1)) for top in tops]
    return [(frozenset(chosen),) for chosen in combinations(range(n_labels), p)]


def _largest(loss: Metric, n_labels: int, top: int) -> float:
    """Largest loss: the relevant labels last, for every number of them, all of relevance `top`."""
    ranks = np.arange(n_labels, 0, -1)
    rows = [[top] * n + [0] * (n_labels - n) for n in range(1, n_labels + 1)]
    losses = ranking_loss(str(loss), np.array(rows), ranks=np.tile(ranks, (n_labels, 1)))
    return max(float(np.max(losses)), 1e-12)
