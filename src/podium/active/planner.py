"""Which pairs next: a function of the votes and of what is out, for one judge and for fifty."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.active.aims import AIMS, best_order
from podium.active.bands import half_widths, ranks_between
from podium.active.choice import least_certain, most_telling, swiss_round
from podium.active.clean import Partial, clean_pairs, partial_order
from podium.active.features import Features
from podium.active.many import chosen_among_many, head_chance
from podium.active.model_scores import DENSE, Scores, fit_scores
from podium.active.models import HASTY, Draft, Models, draft_model, fit_models, weights_of
from podium.active.summary import MIN_TELLING_VOTES, State, Summary, summarise
from podium.active.tally import (
    CHECK,
    CHOSEN,
    KINDS,
    REPEAT,
    Ballots,
    Tally,
    distinct,
    is_among,
    pair_keys,
)
from podium.active.threads import one_thread
from podium.active.validation import codes_of, kinds_of, share_of, top_of, values_of, whole_number
from podium.errors import InputError
from podium.text import counted

__all__ = ["Planner", "Questions"]

SWISS = 2.5  # questions an item by Swiss rounds, before the models choose
EARLY = 5.0  # questions an item up to which a round is half the items, later a quarter
GROWTH = 0.15  # of the votes so far: a round among thousands of items, whose fits take their time
MOST_ITEMS = 2**31 - 1  # pairs are numbered by 64 bits
MOST_PLANNED = 10_000_000  # questions of one plan
CHECKED = 6.0  # questions an item from which on a share of them are check pairs, where answers may be wrong
SETTLED = 2.0  # ranks by which items may be off where no answer contradicts another: three near ties may be reversed
REPEATS = ("auto", "never")
SAME = 12  # repeated pairs, all answered as before, from which on a judge may be called consistent
UNLIKELY = 4.0  # that many changed answers were expected of them


@dataclass(frozen=True, slots=True)
class Questions:
    """Pairs to put to judges: item numbers, the sides drawn, and why each is asked ("chosen", "check", "repeat")."""

    left: np.ndarray
    right: np.ndarray
    kind: np.ndarray

    def __len__(self) -> int:
        return len(self.left)

    @property
    def pairs(self) -> np.ndarray:
        """(m, 2): left and right item of each."""
        return np.column_stack([self.left, self.right])

    @property
    def kinds(self) -> list[str]:
        """The kind of each in words."""
        return [KINDS[kind] for kind in self.kind.tolist()]


class Planner:
    """Choose pairs of items to compare, and read the order off the answers.

    What is planned depends on the seed, the votes as a set, the pairs that are out and the number of the plan; not on
    the path that led there. A restart, an undo, a late answer, a second server or a removed judge need no special
    case: load the votes that count. Planners pickle and copy.

    Parameters
    ----------
    items : int or sequence
        How many items there are, or the items; here they are numbers from 0.
    seed : int
    goal : "order" or ("top", k)
        With ("top", k) the questions go to items that may be among the first k.
    random_share : float
        Share of the questions that are random check pairs; they measure what the others cannot.
    repeats : "auto" or "never"
        Whether a pair may be asked again: of another judge when that tells more than a new pair, of the same when all
        pairs were asked. "never" for a judge known to be consistent, such as a function.
    features : (n, d) array, optional
        Numbers that may tell where an item stands.

    Examples
    --------
    >>> planner = Planner(4, seed=1)
    >>> while len(asked := planner.plan(2)):
    ...     planner.tell(asked.left, asked.right, asked.left < asked.right, 0, asked.kind)
    >>> planner.order().tolist()
    [0, 1, 2, 3]
    """

    def __init__(
        self,
        items: int | Sized,
        *,
        seed: int,
        goal: str | tuple[str, int] = "order",
        random_share: float = 0.1,
        repeats: str = "auto",
        features: Any = None,
    ) -> None:
        self.n = n = whole_number("items", len(items) if isinstance(items, Sized) else items, 2)
        if n > MOST_ITEMS:
            raise InputError(f"{counted(n, 'item')}; a planner takes at most {MOST_ITEMS:,}")
        self.seed = whole_number("seed", seed, 0)
        self.goal = goal
        self.top = top_of(goal, n)
        self.random_share = share_of(random_share)
        if repeats not in REPEATS:
            raise InputError(f"repeats is {repeats!r}; it is 'auto' or 'never'")
        self.repeats = repeats
        self.plans = 0  # plans made so far: the next one draws other check pairs
        self._features = None if features is None else Features(features, n)
        self._ballots = Ballots(n)
        self._kept: dict[str, Any] = {}  # what was derived from the votes, until they change

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_kept": {}}

    # Votes

    def load(self, left: Any, right: Any, value: Any, judge: Any = 0, kind: Any = None) -> None:
        """Forget all votes and take these: item numbers, 1 / 0.5 / 0 for the left item or nan for a skip, the judge's
        number, and the kind of question."""
        rows = self._rows(left, right, value, judge, kind)
        self._ballots.clear()
        self._kept = {}
        self._ballots.add(*rows)

    def tell(self, left: Any, right: Any, value: Any, judge: Any = 0, kind: Any = None) -> None:
        """Take more votes."""
        self._ballots.add(*self._rows(left, right, value, judge, kind))
        # What contradicts itself goes on to do so, whatever comes: all else is to be derived anew.
        self._kept = {"partial": None} if self._kept.get("partial", self) is None else {}

    def _rows(self, left: Any, right: Any, value: Any, judge: Any, kind: Any) -> tuple[np.ndarray, ...]:
        left, right = codes_of("left", left, self.n), codes_of("right", right, self.n)
        size = len(left)
        if len(right) != size:
            raise InputError(
                f"{counted(size, 'left item')} and {counted(len(right), 'right one')}; give one pair a row"
            )
        same = np.flatnonzero(left == right)
        if len(same):
            raise InputError(f"row {same[0] + 1}: item {left[same[0]]} is compared with itself; leave it out")
        return left, right, values_of(value, size), codes_of("judge", judge, None, size), kinds_of(kind, size)

    @property
    def tally(self) -> Tally:
        """The votes, sorted."""
        return self._ballots.tally

    def __len__(self) -> int:
        return len(self.tally)

    # Planning

    @property
    def round_size(self) -> int:
        """How many pairs are best planned at once where nobody waits: half the items at first, a quarter later; of
        many items as many as there are. While answers are clean, as many as sort."""
        if self.partial is not None and self.top is None and self._features is None:
            return max(1, len(self._sorting))
        early = len(self.tally) < EARLY * self.n
        if self.n > DENSE:
            grown = int(GROWTH * len(self.tally)) if self.n > HASTY else 0
            return max(1, self.n // 2) if early else max(self.n, grown)
        return max(1, self.n // 2 if early else self.n // 4)

    def plan(
        self,
        count: int,
        *,
        out: Iterable[Sequence[int]] | np.ndarray = (),
        tired: Iterable[Sequence[int]] | np.ndarray = (),
        judge: int | None = None,
    ) -> Questions:
        """Up to `count` pairs worth asking now.

        `out` are pairs in somebody's hands: never planned again, and what their answers will tell is counted as told.
        `tired` are pairs that nobody should be asked (again). With `judge`, no pair that this judge has answered or
        skipped, unless marked "repeat". More than is useful is filled with check pairs. Nothing is returned only when
        the order is settled or every pair was asked.
        """
        count = min(whole_number("count", count, 1), MOST_PLANNED)
        judge = None if judge is None else whole_number("judge", judge, 0)
        pending, worn = _pairs_of("out", out, self.n), _pairs_of("tired", tired, self.n)
        with one_thread():
            return self._planned(count, pending, worn, judge)

    def _planned(self, count: int, pending: np.ndarray, worn: np.ndarray, judge: int | None) -> Questions:
        """The pairs of `plan`, its arguments checked."""
        rng = np.random.default_rng([self.seed, self.plans, len(self.tally), len(pending)])
        self.plans += 1
        barred = distinct(pair_keys(pending, self.n), pair_keys(worn, self.n), self._skipped(judge))
        if self.exhausted:
            return _questions(np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64), rng)
        checks = self._checks(self._checks_due(count, len(pending)), barred, rng)
        shut = distinct(barred, pair_keys(checks, self.n))
        chosen = self._chosen(count - len(checks), pending, shut, judge, rng)
        pairs = np.concatenate([chosen, checks])
        kind = np.where(is_among(pair_keys(chosen, self.n), self.tally.keys), REPEAT, CHOSEN)
        kind = np.concatenate([kind, np.full(len(checks), CHECK)])
        if len(pairs) < count:
            more = self._checks(count - len(pairs), distinct(shut, pair_keys(chosen, self.n)), rng)
            pairs, kind = np.concatenate([pairs, more]), np.concatenate([kind, np.full(len(more), CHECK)])
        if not len(pairs) and self._repeatable():
            pairs = self._again(count, barred, judge)
            kind = np.full(len(pairs), REPEAT)
        return _questions(pairs, kind, rng)

    def _chosen(
        self, count: int, out: np.ndarray, barred: np.ndarray, judge: int | None, rng: np.random.Generator
    ) -> np.ndarray:
        """The pairs that tell most, by the stage that the votes are in."""
        tally, n = self.tally, self.n
        if count < 1:
            return np.zeros((0, 2), dtype=np.int64)
        asked = distinct(tally.keys, barred)
        if self.partial is not None and self.top is None and self._features is None:
            if not len(out) and len(asked) == len(tally.asked_keys):
                return self._sorting[:count]
            return clean_pairs(self.partial, asked, out, count, self.seed)
        if len(tally) + len(out) < SWISS * n:
            return self._swiss(asked, out, count)
        if n > DENSE:
            return chosen_among_many(tally, self._draft, asked, out, count, self.top, rng)
        scores = self.scores
        interest = None
        if self.top is not None:
            rank = np.argsort(np.argsort(-scores.mean))
            interest = 0.02 + head_chance(rank, half_widths(self.tally, self.models) / 2.0, self.top)
        again = None
        if self.repeats == "auto" and tally.judges > 1 and judge is not None:
            mine = tally.judge == judge
            own = tally.low[mine] * n + tally.high[mine]
            again, asked = tally.keys[~is_among(tally.keys, distinct(own))], distinct(own, barred)
        return most_telling(scores, count, asked, out, interest, again)

    def _swiss(self, asked: np.ndarray, out: np.ndarray, count: int) -> np.ndarray:
        """Rounds of neighbours: several, if more are wanted at once than one holds."""
        n = self.n
        start = np.random.default_rng([self.seed, 5]).permutation(n)
        order = start[np.argsort(-self.scores.mean[start], kind="stable")]
        degree = self.tally.degree + np.bincount(out.ravel(), minlength=n)
        parts = [np.zeros((0, 2), dtype=np.int64)]
        while count > 0:
            pairs = swiss_round(order, degree, asked, count)
            if not len(pairs):
                break
            parts.append(pairs)
            count -= len(pairs)
            degree = degree + np.bincount(pairs.ravel(), minlength=n)
            asked = distinct(asked, pair_keys(pairs, n))
        return np.concatenate(parts)

    def _checks_due(self, count: int, out: int) -> int:
        """Check pairs that the share asks for by the end of this plan, less those asked; none before they tell."""
        tally = self.tally
        begun = 0.0 if self.partial is not None and len(tally) >= SWISS * self.n else CHECKED * self.n
        due = self.random_share * max(0.0, len(tally) + out + count - begun)
        had = int(np.count_nonzero(tally.kind == CHECK)) + self.random_share * out
        return int(np.clip(np.floor(due - had), 0, np.ceil(2 * self.random_share * count)))

    def _checks(self, count: int, barred: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Uniformly random pairs without an answer."""
        n = self.n
        none = np.zeros((0, 2), dtype=np.int64)
        if count < 1:
            return none
        shut = distinct(self.tally.keys, barred)
        room = n * (n - 1) // 2 - len(shut)
        if room <= 4 * count:  # few are left: list them
            if n > 3000:
                return none
            first, second = np.triu_indices(n, 1)
            free = np.flatnonzero(~is_among(first * n + second, shut))
            some = rng.permutation(free)[:count]
            return np.column_stack([first[some], second[some]]).astype(np.int64)
        drawn: np.ndarray = np.zeros(0, dtype=np.int64)
        while len(drawn) < count:
            tries = rng.integers(0, n, size=(2 * (count - len(drawn)) + 8, 2))
            tries = tries[tries[:, 0] != tries[:, 1]]
            keys = pair_keys(tries, n)
            keys = keys[np.sort(np.unique(keys, return_index=True)[1])]
            keys = keys[~is_among(keys, shut) & ~np.isin(keys, drawn)]
            drawn = np.concatenate([drawn, keys[: count - len(drawn)]])
        return np.column_stack(np.divmod(drawn, n))

    def _again(self, count: int, barred: np.ndarray, judge: int | None) -> np.ndarray:
        """Every pair was asked: those whose second answer tells most, of another judge first."""
        tally, n = self.tally, self.n
        closed = distinct(barred, self._skipped(None))
        mine = tally.judge == judge if judge is not None else np.zeros(len(tally), dtype=bool)
        own = tally.low[mine] * n + tally.high[mine]
        if not is_among(tally.keys, distinct(own, closed)).all():
            closed = distinct(own, closed)
        if n > DENSE:
            return least_certain(self.scores, tally.keys[~is_among(tally.keys, closed)], count)
        return most_telling(self.scores, count, closed, np.zeros((0, 2), dtype=np.int64))

    def _repeatable(self) -> bool:
        """Whether a pair may be asked again: allowed, answers waver or are too few to tell, and the judges do not just
        repeat themselves."""
        tally = self.tally
        if self.repeats == "never":
            return False
        if self.partial is not None:
            return len(tally) < MIN_TELLING_VOTES
        keys = (tally.low * self.n + tally.high) * tally.judges + tally.judge
        same = np.flatnonzero(keys[1:] == keys[:-1])
        if len(same) < SAME or (tally.value[same] != tally.value[same + 1]).any():
            return True
        p = self.scores.chances(tally.low[same], tally.high[same])[0]
        return bool(np.sum(2.0 * p * (1.0 - p)) < UNLIKELY)

    def _skipped(self, judge: int | None) -> np.ndarray:
        """Pairs that `judge`, or anybody, has skipped."""
        tally = self.tally
        mine = slice(None) if judge is None else tally.skipped_judge == judge
        return distinct(tally.skipped_low[mine] * self.n + tally.skipped_high[mine])

    # What the votes say

    def _keep(self, name: str, make: Any) -> Any:
        if name not in self._kept:
            with one_thread():
                self._kept[name] = make()
        return self._kept[name]

    @property
    def partial(self) -> Partial | None:
        """What the votes imply as long as none contradicts another; else None."""
        partial: Partial | None = self._keep("partial", lambda: partial_order(self.tally))
        return partial

    @property
    def prior(self) -> tuple[np.ndarray, float] | None:
        """Scores that the features lead to expect, and what that is worth."""
        features = self._features
        if features is None:
            return None
        found: tuple[np.ndarray, float] = self._keep(
            "prior",
            lambda: features.score_prior(fit_scores(self.tally)),
        )
        return found

    @property
    def scores(self) -> Scores:
        """Model A of all votes."""
        scores: Scores = self._keep(
            "scores", lambda: fit_scores(self.tally, weights_of(self.tally, self.prior), self.prior)
        )
        return scores

    @property
    def _draft(self) -> Draft:
        """What planning among many items needs of the models."""
        draft: Draft = self._keep("draft", lambda: draft_model(self.tally, self.prior))
        return draft

    @property
    def models(self) -> Models:
        """Both models of all votes."""
        models: Models = self._keep(
            "models", lambda: fit_models(self.tally, self.prior, self._draft if self.n > DENSE else None)
        )
        return models

    @property
    def _sorting(self) -> np.ndarray:
        """While answers are clean and nothing is out: all pairs that sort now."""
        none = np.zeros((0, 2), dtype=np.int64)
        known = self.partial
        assert known is not None
        pairs: np.ndarray = self._keep(
            "sorting", lambda: clean_pairs(known, self.tally.asked_keys, none, self.n, self.seed)
        )
        return pairs

    @property
    def settled(self) -> bool:
        """No answer contradicts another, together they imply the whole order, and its neighbours were checked."""
        settled: bool = self._keep("settled", self._is_settled)
        return settled

    def _is_settled(self) -> bool:
        known = self.partial
        if known is None or not len(self.tally) or known.sorted_chain(np.arange(self.n)) is None:
            return False
        return not len(self._sorting)

    @property
    def finished(self) -> bool:
        """No useful pair is left: the order is settled, or every pair has its answer or skip."""
        return self.settled or len(self.tally.asked_keys) >= self.n * (self.n - 1) // 2

    @property
    def exhausted(self) -> bool:
        """`plan` has nothing to give, not even a pair once more."""
        return self.finished and not self._repeatable()

    def order(self, aim: str = "truth") -> np.ndarray:
        """Items, best first: nearest to the order behind the noise, or (`aim="answers"`) contradicting the fewest
        answers."""
        if aim not in AIMS:
            raise InputError(f"aim is {aim!r}; it is 'truth' or 'answers'")
        return self._keep(f"order {aim}", lambda: self._order(aim)).copy()  # type: ignore[no-any-return]

    def _order(self, aim: str) -> np.ndarray:
        if not len(self.tally):
            return np.random.default_rng([self.seed, 5]).permutation(self.n)
        if self.settled:
            assert self.partial is not None
            return self.partial.order
        return best_order(self.tally, self.models, aim)

    def bands(self) -> tuple[np.ndarray, np.ndarray]:
        """First and last rank, from 1, in which each item may truly stand, at 90 %."""
        return ranks_between(self.order(), self.half_widths())

    def half_widths(self) -> np.ndarray:
        """Ranks by which each item may be off, at 90 %; two in a settled order, of few items one: close calls may have
        gone wrong."""
        if self.settled:
            return np.full(self.n, np.clip((self.n - 1) / 4.0, 1.0, SETTLED))
        if not len(self.tally):
            return np.full(self.n, self.n - 1.0)
        widths: np.ndarray = self._keep("half", lambda: half_widths(self.tally, self.models))
        return widths

    def summary(self) -> Summary:
        """Where the asking stands: counts, noise, agreement on check pairs, bands, and the stop signal."""
        summary: Summary = self._keep("summary", lambda: summarise(self._state()))
        return summary

    def _state(self) -> State:
        needed = len(self.tally) and (not self.settled or (self.tally.kind == CHECK).any())
        models = self.models if needed else None
        order, widths = self.order(), self.half_widths()
        return State(self.top, self.tally, models, order, widths, self.bands(), self.settled, self.exhausted)


def _questions(pairs: np.ndarray, kind: np.ndarray, rng: np.random.Generator) -> Questions:
    """Pairs with their sides drawn: neither may have the better seat."""
    turned = rng.random(len(pairs)) < 0.5
    pairs = np.where(turned[:, None], pairs[:, ::-1], pairs)
    return Questions(pairs[:, 0].copy(), pairs[:, 1].copy(), kind.astype(np.int64))


def _pairs_of(name: str, pairs: Any, n: int) -> np.ndarray:
    try:
        table = np.asarray(pairs if isinstance(pairs, np.ndarray) else list(pairs))
    except (TypeError, ValueError):
        raise InputError(f"{name} is {pairs!r}; give pairs of item numbers") from None
    if not table.size:
        return np.zeros((0, 2), dtype=np.int64)
    if table.ndim != 2 or table.shape[1] != 2:
        raise InputError(f"{name} has shape {table.shape}; give pairs of item numbers")
    return np.column_stack([codes_of(name, table[:, 0], n), codes_of(name, table[:, 1], n)])
