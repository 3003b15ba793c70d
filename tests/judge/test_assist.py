"""People's votes with a model's help: against the formulas of PPI++ written out, laws, and coverage by simulation."""

import pickle

import numpy as np
import pytest
from scipy.optimize import root
from scipy.special import expit

from podium import Comparisons
from podium.errors import InputError
from podium.judge import assist
from podium.judge.assist import assisted
from podium.ranking.uncertainty import quantile


def comparisons(n, a, b, won, names=None):
    labels = names or [f"i{k}" for k in range(n)]
    return Comparisons(labels, a.astype(np.int32), b.astype(np.int32), outcome=np.where(won, 1, -1).astype(np.int8))


def world(rng, n, people, pairs, bias=0.7, swap=False):
    """True scores, votes of people on a random part of the pairs, votes of a model that sees other scores."""
    scores = rng.normal(size=n)
    scores -= scores.mean()
    seen = 1.5 * (scores + bias * rng.normal(size=n))
    a, b = np.triu_indices(n, 1)
    chosen = rng.permutation(len(a))[:pairs]
    a, b, draw = a[chosen], b[chosen], rng.random(pairs)
    said, theirs = draw < expit(seen[a] - seen[b]), draw < expit(scores[a] - scores[b])
    return scores, comparisons(n, a[:people], b[:people], theirs[:people]), comparisons(n, a, b, said)


def by_the_book(people, model, n, lam):
    """PPI++ for logistic regression with one column an item, the last item at 0: slow, and as the paper writes it."""

    def design(votes):
        x = np.zeros((len(votes.left), n))
        x[np.arange(len(x)), votes.left] += 1
        x[np.arange(len(x)), votes.right] -= 1
        return x[:, :-1], (votes.outcome + 1) / 2

    x, y = design(people)
    x_all, f_all = design(model)
    k = len(x)
    f, x_rest, f_rest = f_all[:k], x_all[k:], f_all[k:]

    def gradient(theta):
        mine = x.T @ (expit(x @ theta) - y) / k - lam * x.T @ (expit(x @ theta) - f) / k
        return mine + lam * x_rest.T @ (expit(x_rest @ theta) - f_rest) / len(x_rest)

    theta = root(gradient, np.zeros(n - 1), tol=1e-12).x
    whole = np.concatenate([x, x_rest])
    chance = expit(whole @ theta)
    inverse = np.linalg.inv((whole * (chance * (1 - chance))[:, None]).T @ whole / len(whole))
    g, g_hat = x * (expit(x @ theta) - y)[:, None], x * (expit(x @ theta) - f)[:, None]
    g_rest = x_rest * (expit(x_rest @ theta) - f_rest)[:, None]
    meat = k / len(x_rest) * np.cov(lam * g_rest.T) + np.cov(g.T - lam * g_hat.T)
    covariance = inverse @ meat @ inverse / k
    centring = np.vstack([np.eye(n - 1), np.zeros(n - 1)])
    centring = centring - centring.mean(0)
    return centring @ theta, centring @ covariance @ centring.T


@pytest.mark.parametrize("lam", [0.0, 0.4, 0.9])
def test_scores_and_errors_are_those_of_the_formulas(lam, monkeypatch):
    n, k = 10, 25
    rng = np.random.default_rng(8)
    a, b = np.triu_indices(n, 1)
    order = rng.permutation(len(a))
    a, b = a[order], b[order]
    labels, a, b = [f"i{each}" for each in range(n)], a.astype(np.int32), b.astype(np.int32)
    theirs, said = (rng.choice(np.array([-1, 0, 0, 1], dtype=np.int8), size) for size in (k, len(a)))
    people, model = Comparisons(labels, a[:k], b[:k], outcome=theirs), Comparisons(labels, a, b, outcome=said)
    monkeypatch.setattr(assist, "_weight", lambda *_: lam)
    found = assisted(people, model, pull=0.0)
    assert found.weight == lam
    scores, covariance = by_the_book(people, model, n, lam)
    assert found.ranking.scores == pytest.approx(scores, abs=1e-6)
    assert found.ranking.covariance == pytest.approx(covariance, abs=1e-6)


def test_the_errors_stay_with_the_ranking():
    """After pickling, in tables, and no others can be asked for."""
    _, people, model = world(np.random.default_rng(3), 8, 22, 28)
    ranking = assisted(people, model).ranking
    lower, upper = ranking.intervals()
    width = quantile(0.95) * np.sqrt(np.diag(ranking.covariance))
    np.testing.assert_allclose(upper - lower, 2 * width, rtol=1e-12)
    again = pickle.loads(pickle.dumps(ranking))
    np.testing.assert_array_equal(again.intervals(), (lower, upper))
    np.testing.assert_array_equal(again.shown(reference="i2").covariance, ranking.covariance)
    with pytest.raises(InputError, match="were worked out with its scores; fit votes alone"):
        again.with_uncertainty("hessian")


def test_without_further_pairs_it_is_people_alone():
    rng = np.random.default_rng(0)
    _, people, model = world(rng, 10, 45, 45)
    found = assisted(people, model)
    assert (found.weight, found.alone, found.gain) == (0.0, 0, 1.0)


def test_turning_sides_and_renaming_change_nothing():
    rng = np.random.default_rng(1)
    _, people, model = world(rng, 9, 30, 36)
    one = assisted(people, model)
    turned = Comparisons(people.items, people.right, people.left, outcome=-people.outcome)
    other = assisted(turned, model)
    assert other.ranking.scores == pytest.approx(one.ranking.scores)
    mirrored = [Comparisons(each.items, each.left, each.right, outcome=-each.outcome) for each in (people, model)]
    assert assisted(*mirrored).ranking.scores == pytest.approx(-one.ranking.scores, abs=1e-8)
    assert (one.both, one.alone, one.weight) == (30, 6, 0.0)  # six pairs are too few to tell how the model varies
    _, people, model = world(rng, 12, 40, 66)
    one = assisted(people, model)
    mirrored = [Comparisons(each.items, each.left, each.right, outcome=-each.outcome) for each in (people, model)]
    assert assisted(*mirrored).ranking.scores == pytest.approx(-one.ranking.scores, abs=1e-8)
    assert one.weight > 0


@pytest.mark.parametrize("bias", [0.0, 0.7])
def test_intervals_hold_the_truth_whatever_the_models_errors(bias):
    held, count, errors, alone = 0, 0, [], []
    for seed in range(1000, 1060):
        scores, people, model = world(np.random.default_rng(seed), 20, 100, 190, bias)
        found = assisted(people, model)
        lower, upper = found.ranking.intervals()
        held, count = held + int(np.sum((lower <= scores) & (scores <= upper))), count + 20
        errors.append(np.mean((found.ranking.scores - scores) ** 2))
        alone.append(np.mean((assisted(people, people).ranking.scores - scores) ** 2))
    assert held / count > 0.9
    assert np.mean(errors) < np.mean(alone)  # and the help helps


def test_a_model_that_knows_nothing_is_not_trusted():
    weights = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        _, people, model = world(rng, 20, 100, 190)
        noise = Comparisons(model.items, model.left, model.right, outcome=rng.choice([-1, 1], 190).astype(np.int8))
        weights.append(assisted(people, noise).weight)
    assert np.mean(weights) < 0.1


def test_what_cannot_be_corrected_is_refused_by_name():
    people = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")])
    model = Comparisons.from_pairs([("x", "y"), ("y", "z")])
    with pytest.raises(InputError, match="have no pair in common; have people judge some of the model's pairs"):
        assisted(people, model)
    with pytest.raises(InputError, match="people judged 3 pairs of the model's, for 3 items; a correction needs more"):
        assisted(people, people)
    rows = [(a, b) for a in "abcd" for b in "abcd" if a < b]
    with pytest.raises(InputError, match=r"do not connect \['e', 'f'\] with the rest"):
        assisted(Comparisons.from_pairs([*rows, ("e", "f")]), Comparisons.from_pairs([*rows, ("e", "f"), ("a", "e")]))
