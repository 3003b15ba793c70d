"""People's votes with a model's help, with the pull that is the default: against the same written out in loops."""

import numpy as np
import pytest
from scipy.optimize import root
from scipy.special import expit

from judge.test_assist import comparisons, world
from podium import Comparisons
from podium.errors import InputError
from podium.judge import assist
from podium.judge.assist import assisted


class Book:
    """PPI++ with `pull` ties of each item with an average one, term by term: pairs are (i, j, people, model) or (i, j,
    model)."""

    def __init__(self, n, both, alone, pull):
        self.n, self.both, self.alone, self.pull = n, both, alone, pull

    def gradient(self, scores, weight):
        total = self.pull * (expit(scores) - 0.5) / len(self.both)
        for i, j, said, model in self.both:
            chance = expit(scores[i] - scores[j])
            part = ((chance - said) - weight * (chance - model)) / len(self.both)
            total[i] += part
            total[j] -= part
        for i, j, model in self.alone if weight else ():
            part = weight * (expit(scores[i] - scores[j]) - model) / len(self.alone)
            total[i] += part
            total[j] -= part
        return total

    def scores(self, weight):
        found = root(self.gradient, np.zeros(self.n), args=(weight,), tol=1e-13)
        assert np.abs(self.gradient(found.x, weight)).max() < 1e-10
        return found.x

    def inverse(self, scores):
        matrix = np.diag(self.pull * expit(scores) * expit(-scores) / len(self.both))
        pairs = [each[:2] for each in (*self.both, *self.alone)]
        for i, j in pairs:
            along = np.zeros(self.n)
            along[i], along[j] = 1, -1
            chance = expit(scores[i] - scores[j])
            matrix += chance * (1 - chance) * np.outer(along, along) / len(pairs)
        centring = np.eye(self.n) - np.ones((self.n, self.n)) / self.n
        return centring @ np.linalg.inv(matrix) @ centring

    def left_out(self, weight, scores):
        """The chance of each pair by a fit without it, to first order, no pair deciding more than nine tenths."""
        inverse, found = self.inverse(scores), []
        for i, j, said, model in self.both:
            along = np.zeros(self.n)
            along[i], along[j] = 1, -1
            chance = expit(scores[i] - scores[j])
            leverage = min(0.9, (1 - weight) * chance * (1 - chance) * (along @ inverse @ along) / len(self.both))
            residual = (chance - said) - weight * (chance - model)
            found.append(chance + residual * leverage / (1 - leverage) / (1 - weight))
        return found

    def rows(self, values):
        """Gradients, one a row."""
        rows = np.zeros((len(values), self.n))
        for row, (i, j, value) in zip(rows, values, strict=True):
            row[i], row[j] = value, -value
        return rows

    def rest(self, scores):
        return self.rows([(i, j, expit(scores[i] - scores[j]) - model) for i, j, model in self.alone])

    def weight(self, scores):
        inverse, chances = self.inverse(scores), self.left_out(0.0, scores)
        people = self.rows([(i, j, p - said) for (i, j, said, _), p in zip(self.both, chances, strict=True)])
        model = self.rows([(i, j, p - said) for (i, j, _, said), p in zip(self.both, chances, strict=True)])
        k, m = len(self.both), len(self.alone)
        shared = sum(np.outer(a - people.mean(0), b - model.mean(0)) for a, b in zip(people, model, strict=True)) / k
        every = np.vstack([model, self.rest(scores)])
        spread = sum(np.outer(each - every.mean(0), each - every.mean(0)) for each in every) / (len(every) - 1)
        above = np.trace(inverse @ (shared + shared.T) @ inverse)
        return min(max(above / (2 * (1 + k / m) * np.trace(inverse @ spread @ inverse)), 0.0), 0.98)

    def covariance(self, weight, scores):
        chances = self.left_out(weight, scores)
        mine = self.rows(
            [(i, j, (p - a) - weight * (p - b)) for (i, j, a, b), p in zip(self.both, chances, strict=True)]
        )
        meat = np.cov(mine.T) / len(mine)
        if weight:
            rest = self.rest(scores)
            meat += weight**2 * np.cov(rest.T) / len(rest)
        inverse = self.inverse(scores)
        return inverse @ meat @ inverse


def book_of(people, model, pull):
    """Both on the same items, each pair once at most; outcomes -1, 0, 1."""
    theirs = dict(zip(zip(people.left.tolist(), people.right.tolist(), strict=True), people.outcome, strict=True))
    both, alone = [], []
    for i, j, said in zip(model.left.tolist(), model.right.tolist(), ((model.outcome + 1) / 2).tolist(), strict=True):
        if (i, j) in theirs:
            both.append((i, j, (theirs[i, j] + 1) / 2, said))
        else:
            alone.append((i, j, said))
    return Book(len(model.items), both, alone, pull)


@pytest.mark.parametrize(("seed", "pull"), [(4, None), (5, 1.0), (6, 0.3), (7, 4.0)])
def test_scores_weight_errors_and_gain_are_those_written_out(seed, pull):
    _, people, model = world(np.random.default_rng(seed), 10, 25, 45)
    found = assisted(people, model) if pull is None else assisted(people, model, pull=pull)
    book = book_of(people, model, 1.0 if pull is None else pull)
    weight = book.weight(book.scores(0.0))
    assert 0.02 < weight < 0.98
    scores = book.scores(weight)
    assert found.weight == pytest.approx(weight, abs=1e-7)
    assert found.ranking.scores == pytest.approx(scores, abs=1e-6)
    covariance, alone = book.covariance(weight, scores), book.covariance(0.0, scores)
    assert found.ranking.covariance == pytest.approx(covariance, abs=1e-6)
    assert found.gain == pytest.approx(np.trace(alone) / np.trace(covariance), rel=1e-6)
    assert (found.both, found.alone, found.unmatched) == (25, 20, 0)


def test_a_pair_that_alone_holds_an_item_decides_no_more_than_nine_tenths():
    """The last item has one pair, which it lost, and next to no pull: that pair's leverage is almost one."""
    rng = np.random.default_rng(3)
    a, b = np.triu_indices(5, 1)
    a, b, said = np.append(a, 0), np.append(b, 5), rng.choice(np.array([-1, 0, 1], dtype=np.int8), 11)
    said[-1] = 1
    labels = [f"i{k}" for k in range(6)]
    votes = Comparisons(labels, a.astype(np.int32), b.astype(np.int32), outcome=said)
    found = assisted(votes, votes, pull=0.05)
    book = book_of(votes, votes, 0.05)
    scores = book.scores(0.0)
    assert found.ranking.scores == pytest.approx(scores, abs=1e-6)
    chance = expit(scores[0] - scores[5])
    along = np.array([1, 0, 0, 0, 0, -1])
    assert chance * (1 - chance) * along @ book.inverse(scores) @ along / 11 > 0.91
    assert found.ranking.covariance == pytest.approx(book.covariance(0.0, scores), rel=1e-5)
    assert (found.weight, found.gain) == (0.0, 1.0)


@pytest.mark.parametrize(("pairs", "trusted"), [(34, False), (35, True)])
def test_the_model_is_trusted_once_it_has_as_many_pairs_of_its_own_as_there_are_items(pairs, trusted):
    _, people, model = world(np.random.default_rng(4), 10, 25, pairs)
    found = assisted(people, model)
    assert found.alone == pairs - 25
    assert (found.weight > 0) == trusted
    if not trusted:
        assert found.ranking.scores == pytest.approx(book_of(people, model, 1.0).scores(0.0), abs=1e-6)


def pairs_of(*rows):
    first, second, people, model = np.array(rows).T
    return assist._Pairs(first.astype(np.int64), second.astype(np.int64), people, model)


def test_a_model_that_says_what_people_say_is_trusted_to_98_in_100_at_most():
    """Where both say the same, the best weight is the spread of these pairs by that of all, over 1 + both / alone."""
    ring = [(0, 1, 1, 1), (1, 2, 1, 1), (0, 2, 0, 0), (0, 1, 0, 0)]
    both, few = pairs_of(*ring), pairs_of(*(ring * 3))
    assert assist._weight(both, pairs_of(*(ring * 500)), np.zeros(3), 3, 0.0) == 0.98
    rows = np.array([[-0.5, 0.5, 0], [0, -0.5, 0.5], [0.5, 0, -0.5], [0.5, -0.5, 0]])  # at scores of 0
    laplacian = np.array([[3, -2, -1], [-2, 3, -1], [-1, -1, 2]]) / 4 / 4
    inverse = np.linalg.pinv(laplacian)
    of_these, of_all = np.cov(rows.T, ddof=0), np.cov(np.tile(rows, (4, 1)).T)
    share = np.trace(inverse @ of_these @ inverse) / np.trace(inverse @ of_all @ inverse)
    assert assist._weight(both, few, np.zeros(3), 3, 0.0) == pytest.approx(share / (1 + 4 / 12))


def test_a_model_that_says_the_opposite_is_not_trusted():
    ring = [(0, 1, 1, 0), (1, 2, 1, 0), (0, 2, 0, 1), (0, 1, 0, 1)]
    both, alone = pairs_of(*ring), pairs_of(*(ring * 3))
    assert assist._weight(both, alone, np.zeros(3), 3, 1.0) == 0.0
    even = pairs_of((0, 1, 0.5, 0.5), (1, 2, 0.5, 0.5), (0, 2, 0.5, 0.5), (0, 1, 0.5, 0.5))
    assert assist._weight(even, even, np.zeros(3), 3, 1.0) == 0.0  # nothing varies


def test_a_weight_without_a_least_value_is_halved_until_there_is_one(monkeypatch):
    tried, fitted = [], assist._fitted
    _, people, model = world(np.random.default_rng(4), 10, 25, 45)

    def bounded(both, alone, weight, n, pull):
        tried.append(weight)
        return fitted(both, alone, weight, n, pull) if weight <= limit else None

    monkeypatch.setattr(assist, "_fitted", bounded)
    monkeypatch.setattr(assist, "_weight", lambda *_: 0.8)
    limit = 0.3
    found = assisted(people, model)
    assert (tried, found.weight) == ([0.0, 0.8, 0.4, 0.2], 0.2)
    assert found.ranking.scores == pytest.approx(book_of(people, model, 1.0).scores(0.2), abs=1e-6)
    limit, tried[:] = 0.0, []
    assert assisted(people, model).weight == 0.0
    assert tried == pytest.approx([0.0, *(0.8 / 2**k for k in range(8)), 0.0])  # below a hundredth, none
    monkeypatch.setattr(assist, "_weight", lambda *_: 0.01)
    tried[:] = []
    assert assisted(people, model).weight == 0.0
    assert tried == [0.0, 0.01, 0.0]


def test_votes_that_bound_no_score_are_refused_unless_items_are_pulled():
    a, b = np.triu_indices(5, 1)
    people = comparisons(5, a, b, np.ones(10, dtype=bool))  # the first wins against all, the last loses all
    with pytest.raises(InputError, match=r"^people's votes do not bound every score; have people judge more pairs$"):
        assisted(people, people, pull=0.0)
    assert assisted(people, people).ranking.order == ("i0", "i1", "i2", "i3", "i4")


@pytest.mark.parametrize(("apart", "bounded"), [(15.9, True), (16.1, False)])
def test_scores_up_to_eight_from_their_mean_are_bounded(apart, bounded):
    """Of two items the scores are half the log-odds of the one pair on either side."""
    both = pairs_of((0, 1, expit(apart), 0.5))
    found = assist._fitted(both, both.part(np.array([False])), 0.0, 2, 0.0)
    if bounded:
        assert found == pytest.approx([apart / 2, -apart / 2], abs=1e-6)
    else:
        assert found is None


def test_what_a_pair_is_worth_is_the_share_of_points_whoever_voted_how_often():
    votes = Comparisons(
        ["a", "b", "c"], np.array([0, 1, 0, 1, 2, 2], dtype=np.int32), np.array([1, 0, 1, 0, 0, 1], dtype=np.int32),
        outcome=np.array([1, 1, 0, 1, 1, 1], dtype=np.int8), weight=np.array([2.0, 1.0, 3.0, 0.5, 4.0, 0.0]),
    )  # fmt: skip
    place = {"a": 0, "b": 1, "c": 2}
    assert assist._shares(votes, place) == pytest.approx({(0, 1): (2 + 3 / 2) / 6.5, (0, 2): 0.0})
    turned = {"a": 2, "b": 1, "c": 0}
    assert assist._shares(votes, turned) == pytest.approx({(1, 2): 1 - (2 + 3 / 2) / 6.5, (0, 2): 1.0})


def test_margins_are_refused():
    margins = Comparisons.from_pairs([("a", "b"), ("b", "c")])
    games = Comparisons(margins.items, margins.left, margins.right, margin=np.array([3.0, 1.0]))
    with pytest.raises(InputError, match=r"^margins have no share of points; give votes with a winner, or ties$"):
        assisted(games, games)


def test_pairs_of_people_that_the_model_has_not_judged_are_left_out_and_counted():
    _, people, model = world(np.random.default_rng(4), 10, 25, 45)
    kept = np.arange(45) >= 2
    fewer = Comparisons(model.items, model.left[kept], model.right[kept], outcome=model.outcome[kept])
    found, own = assisted(people, fewer), people
    first = np.arange(25) >= 2
    matched = Comparisons(own.items, own.left[first], own.right[first], outcome=own.outcome[first])
    assert (found.both, found.alone, found.unmatched) == (23, 20, 2)
    assert found.ranking.scores == pytest.approx(assisted(matched, fewer).ranking.scores)


def test_the_record_is_that_of_people_and_the_information_that_of_all_pairs():
    _, people, model = world(np.random.default_rng(4), 10, 25, 45)
    outcome = people.outcome.copy()
    outcome[:3] = 0
    people = Comparisons(people.items, people.left, people.right, outcome=outcome)
    ranking = assisted(people, model).ranking
    wins, losses, ties = np.zeros(10), np.zeros(10), np.zeros(10)
    for i, j, said in zip(people.left, people.right, outcome, strict=True):
        for item, won in ((i, said), (j, -said)):
            (wins if won > 0 else losses if won < 0 else ties)[item] += 1
    assert [each.tolist() for each in ranking.record] == [wins.tolist(), losses.tolist(), ties.tolist()]
    assert ranking.uncertainty == "sandwich"
    known, scores = ranking.information, ranking.scores
    assert (known.n, known.scores.tolist()) == (10, scores.tolist())
    found = {
        (i, j): value
        for i, j, value in zip(known.left.tolist(), known.right.tolist(), known.curvature.tolist(), strict=True)
    }
    assert found == pytest.approx(
        {
            (i, j): expit(scores[i] - scores[j]) * expit(scores[j] - scores[i])
            for i, j in zip(model.left.tolist(), model.right.tolist(), strict=True)
        }
    )
