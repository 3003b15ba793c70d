"""OnlineLabelRanker: rank, see the relevance, learn, example after example."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from podium.data.validation import check_is_fitted, choice_option, number_option, seed_option, whole_option
from podium.errors import InputError, Option
from podium.metrics import ranking_report
from podium.metrics.names import Metric, parse
from podium.multilabel.columns import check_columns
from podium.multilabel.inputs import (
    forget,
    labels_by_rank,
    read_features,
    read_relevance,
    read_weights,
    unchanged_on_error,
)
from podium.multilabel.options import loss_named
from podium.multilabel.streaming import Stream
from podium.multilabel.targets import targets_for
from podium.text import counted

__all__ = ["OnlineLabelRanker"]

MODES = ("marginal", "threshold", "hedge")


class OnlineLabelRanker(BaseEstimator):
    """Rank labels online, by one of three constructions over linear learners.

    "marginal": K learners, one for the target of each label (as `LabelRanker.partial_fit`); lowest regret in our runs.
    "threshold": the reduction of "On the Learnability of Multilabel Ranking" (Algorithms 2 and 7): a learner for each
    label i and rank j ≤ p predicts whether i belongs among the first j (for prec@p only j = p); the votes v_i are added
    up and the ranking minimises ⟨π, v⟩, that is, labels are sorted by votes. Ties in the relevance count as their
    chance.
    "hedge": Algorithm 3 with sampled experts instead of all: each expert is a marginal learner with its own rate that
    updates on its own random share of the rounds; exponential weights follow the experts' losses.

    Parameters
    ----------
    loss : name of the ranking loss; sum@p or prec@p for "threshold".
    mode : "marginal", "threshold" or "hedge"
    rate : step size of the learners (AdaGrad)
    experts : number of experts of "hedge"
    max_relevance : largest relevance that can occur (the first examples may not show it)
    random_state : seed of "hedge"

    Attributes
    ----------
    labels_ : the K labels
    losses_ : loss of every example so far, each ranked before its relevance was seen
    weights_ : of the experts, in "hedge"

    Examples
    --------
    >>> ranker = OnlineLabelRanker("sum@1").partial_fit([[1.0, 0.0], [0.0, 1.0]] * 20, [[1, 0], [0, 1]] * 20)
    >>> ranker.rank([[1.0, 0.0], [0.0, 1.0]])
    array([[0, 1],
           [1, 0]])
    >>> bool(ranker.losses_[:4].sum() >= ranker.losses_[-4:].sum())
    True
    """

    def __init__(
        self,
        loss: str = "sum@3",
        mode: str = "marginal",
        *,
        rate: float = 0.5,
        experts: int = 8,
        max_relevance: float = 1.0,
        random_state: int | None = None,
    ) -> None:
        self.loss = loss
        self.mode = mode
        self.rate = rate
        self.experts = experts
        self.max_relevance = max_relevance
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything and learn from these examples in their order."""
        with unchanged_on_error(self):
            forget(self)
            return self.partial_fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Rank each example, record the loss, learn from it. A row of weight 0 is ranked but not learned from."""
        with unchanged_on_error(self):
            loss = self._check_options()
            first = not hasattr(self, "streams_")
            X = read_features(self, X, reset=first)
            relevance, labels = read_relevance(y, X.shape[0])
            weight = read_weights(sample_weight, X.shape[0])
            if relevance.nnz and relevance.data.max() > self.max_relevance:
                raise InputError(
                    f"relevance {relevance.data.max():g} is above max_relevance={self.max_relevance:g}; raise it"
                )
            if first:
                self._begin(X.shape[1], labels, loss)
            if len(labels) != len(self.labels_):
                raise InputError(
                    f"y has {counted(len(labels), 'label')}, but the first examples had {len(self.labels_)}"
                )
            check_columns(y, self.labels_)
            learn = {"marginal": self._learn_marginal, "threshold": self._learn_threshold, "hedge": self._learn_hedge}
            lost = learn[self.mode_](X, relevance, weight, loss)
            self.losses_ = np.concatenate([getattr(self, "losses_", np.zeros(0)), lost])
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores (rows, labels): log-odds, votes, or minus the expected rank over the experts, by mode."""
        check_is_fitted(self, "streams_")
        X = read_features(self, X)
        if self.mode_ == "marginal":
            return self.streams_[0].scores(X)
        if self.mode_ == "threshold":
            return self._votes(self.streams_[0].scores(X))
        ranks = [_ranks(each.scores(X)) for each in self.streams_]
        return -np.tensordot(self.weights_, np.array(ranks), axes=1)

    def rank(self, X: Any, top: int | None = None) -> np.ndarray:
        """Labels of each row, best first; only the first `top` of them if given."""
        scores = self.decision_function(X)
        return labels_by_rank(self.labels_, scores, top)

    def score(self, X: Any, y: Any) -> float:
        """Minus the mean loss: larger is better."""
        scores = self.decision_function(X)
        relevance, _ = read_relevance(y, scores.shape[0])
        check_columns(y, self.labels_)
        return -float(_losses(relevance, scores, parse(self.loss)).mean())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags

    def _check_options(self) -> Metric:
        """Refuse options that mean nothing, or that have changed half-way; returns the loss."""
        choice_option("mode", self.mode, MODES)
        number_option("rate", self.rate, above=0)
        whole_option("experts", self.experts, least=2)
        number_option("max_relevance", self.max_relevance, above=0)
        seed_option("random_state", self.random_state)
        if getattr(self, "mode_", self.mode) != self.mode:
            raise InputError(f"mode={self.mode!r}: the examples so far were learned with {self.mode_!r}; call fit")
        loss = loss_named(self.loss)
        if self.mode == "threshold" and loss.kind not in ("sum", "prec"):
            raise InputError(Option("loss", self.loss), ": mode='threshold' ranks for sum@p or prec@p")
        return loss

    def _begin(self, n_features: int, labels: np.ndarray, loss: Metric) -> None:
        self.labels_, self.mode_ = labels, self.mode
        n_labels = len(labels)
        if self.mode == "threshold":
            p = min(loss.p or 1, n_labels)
            self.cuts_ = np.arange(1, p + 1) if loss.kind == "sum" else np.array([p])
            self.streams_ = [Stream(n_features, n_labels * len(self.cuts_), rate=self.rate)]
        elif self.mode == "marginal":
            self.streams_ = [Stream(n_features, n_labels, rate=self.rate)]
        else:
            rng = np.random.default_rng(self.random_state)
            rates = self.rate * 4.0 ** rng.uniform(-1, 1, size=self.experts)
            self.shares_ = np.concatenate([[1.0], rng.uniform(0.2, 1.0, size=self.experts - 1)])
            self.streams_ = [Stream(n_features, n_labels, rate=float(each)) for each in rates]
            self.weights_ = np.full(self.experts, 1 / self.experts)
            self.lost_ = np.zeros(self.experts)
            self.largest_ = 0.0
            self.draw_seed_ = int(rng.integers(2**62))

    def _learn_marginal(self, X: Any, relevance: Any, weight: np.ndarray, loss: Metric) -> np.ndarray:
        targets = targets_for(loss, relevance, self.max_relevance, weight, alone=True)
        return _losses(relevance, self.streams_[0].learn(X, targets.values, targets.weight), loss)

    def _learn_threshold(self, X: Any, relevance: Any, weight: np.ndarray, loss: Metric) -> np.ndarray:
        goal = top_chances(relevance.toarray(), self.cuts_)
        scores = self.streams_[0].learn(X, goal.reshape(len(goal), -1), weight)
        return _losses(relevance, self._votes(scores), loss)

    def _learn_hedge(self, X: Any, relevance: Any, weight: np.ndarray, loss: Metric) -> np.ndarray:
        """Experts learn on their rounds; the round's loss is the expectation over the expert drawn by weight.

        What happens in a round depends on the rounds before it only, not on how they were cut into calls.
        """
        targets = targets_for(loss, relevance, self.max_relevance, weight, alone=True)
        done, count = getattr(self, "losses_", np.zeros(0)).size, len(self.streams_)
        takes_part = self._draws(done, X.shape[0]) < self.shares_
        lost = np.empty((count, X.shape[0]))
        for number, each in enumerate(self.streams_):
            seen = targets.weight * takes_part[:, number]
            lost[number] = _losses(relevance, each.learn(X, targets.values, seen), loss)
        past = self.lost_[:, None] + np.cumsum(lost, axis=1) - lost
        rate = np.sqrt(2 * np.log(count) / (done + 1 + np.arange(X.shape[0])))
        largest = np.maximum.accumulate(np.concatenate([[self.largest_], lost.max(axis=0)]))
        chances = _softmin(past * rate / np.maximum(largest[:-1], 1e-12))  # while all losses are 0, so is the past
        self.lost_ = self.lost_ + lost.sum(axis=1)
        self.largest_ = float(largest[-1])
        self.weights_ = _softmin(self.lost_[:, None] * rate[-1] / max(self.largest_, 1e-12))[:, 0]
        return np.asarray((chances * lost).sum(axis=0))

    def _draws(self, done: int, rounds: int) -> np.ndarray:
        """Uniform numbers (rounds, experts) of the rounds after the first `done`."""
        bits = np.random.PCG64(self.draw_seed_)
        bits.advance(done * len(self.streams_))  # one number each
        return np.random.Generator(bits).random((rounds, len(self.streams_)))

    def _votes(self, scores: np.ndarray) -> np.ndarray:
        """v_i = number of ranks j whose learner says that label i belongs among the first j."""
        return np.asarray((scores > 0).reshape(len(scores), len(self.cuts_), -1).sum(axis=1), dtype=float)


def top_chances(relevance: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """Chance (rows, cuts, labels) that a label is among the first j by relevance, ties shuffled."""
    above = (relevance[:, None, :] > relevance[:, :, None]).sum(axis=2)
    equal = (relevance[:, None, :] == relevance[:, :, None]).sum(axis=2)
    return np.asarray(np.clip((cuts[None, :, None] - above[:, None, :]) / equal[:, None, :], 0.0, 1.0))


def _losses(relevance: Any, scores: np.ndarray, loss: Metric) -> np.ndarray:
    if relevance.nnz == 0:
        return np.zeros(len(scores))
    return np.asarray(next(iter(ranking_report(relevance, scores, metrics=[str(loss)], clip=True).per_row.values())))


def _ranks(scores: np.ndarray) -> np.ndarray:
    order = np.argsort(-scores, axis=1, kind="stable")
    ranks = np.empty(order.shape)
    np.put_along_axis(ranks, order, np.arange(1.0, scores.shape[1] + 1)[None, :], axis=1)
    return ranks


def _softmin(cost: np.ndarray) -> np.ndarray:
    e = np.exp(cost.min(axis=0) - cost)
    return np.asarray(e / e.sum(axis=0))
