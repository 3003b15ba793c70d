"""Parts of the fit to rankings by hand: what was left to choose from, who was passed over, and the systems solved."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from podium.data.rankings import Rankings
from podium.pairwise._fit import choices, list_information
from podium.pairwise._fit.choices import ListFit, ListLoss, ListPlace, _pull, maximise, penalised, positive_solver
from podium.pairwise._fit.list_information import (
    _before,
    _binned,
    _ends,
    _left_to_choose,
    _worth_holding,
    list_gradients,
    list_posterior,
)
from podium.pairwise._fit.list_information import (
    list_information as information_of,
)

LISTS = [["a", "b", "c"], ["c", "a"], ["d", "b"], ["b", "c", "a", "d"]]
ITEMS = "abcd"


KINDS = ["unknown", "below", "offered"]


def rest_of(kind, ranking):
    """Items that lie below those listed: none, all others, or of those on offer (all but d) the others."""
    listed = [item for place in ranking for item in (place if isinstance(place, list) else [place])]
    return [item for item in {"unknown": "", "below": ITEMS, "offered": "abc"}[kind] if item not in listed]


def loss_of(kind, lists=LISTS, **more):
    """The loss of these rankings; what they leave out is as `rest_of` says."""
    offered = None
    if kind == "offered":
        flat = [[item for place in ranking for item in place] for ranking in lists]
        offered = [[*ranking, *rest_of(kind, ranking)] for ranking in flat]
    unranked = "unknown" if kind == "unknown" else "below"
    rankings = Rankings.from_lists(lists, items=list(ITEMS), unranked=unranked, offered=offered)
    return ListLoss(rankings, **more)


def rows_of(loss):
    return np.repeat(np.arange(len(loss.rankings)), loss.rankings.sizes)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_to_choose_is_summed_from_each_place_on(kind):
    loss = loss_of(kind)
    weight = np.array([1.0, 2.0, 4.0, 8.0])
    expected = []
    for ranking in LISTS:
        rest = rest_of(kind, ranking)
        expected += [sum(weight[ITEMS.index(item)] for item in [*ranking[k:], *rest]) for k in range(len(ranking))]
    assert_allclose(_left_to_choose(loss, weight, rows_of(loss)), expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("item", range(4))
def test_a_place_is_before_an_item_that_was_still_on_offer(kind, item):
    loss = loss_of(kind)
    row = rows_of(loss)
    places = np.arange(len(row))
    expected = []
    for ranking in LISTS:
        for k in range(len(ranking)):
            offered = ITEMS[item] in [*ranking, *rest_of(kind, ranking)]
            expected.append(offered and ITEMS[item] not in ranking[: k + 1])
    assert _before(loss, item, places, row).tolist() == expected


@pytest.mark.parametrize("kind", KINDS)
def test_choices_that_say_where_scores_end_are_those_of_a_loop(kind):
    """d is open above where it was always taken first, a open below: against the bounded b and c alone."""
    lists = [["d", "b", "c"], ["b", "c", "a"], ["c", "b"], ["d", "c", "a"]]
    loss = loss_of(kind, lists)
    scores = np.array([-2.0, 0.3, -0.1, 1.8])
    above, below = np.array([False, False, False, True]), np.array([True, False, False, False])
    found = _ends(loss, scores, above, below, loss.weight)
    firm, expected = "bc", []
    for number, ranking in enumerate(lists):
        rest = rest_of(kind, ranking)
        for k, chosen in enumerate(ranking):
            later = [*ranking[k + 1 :], *rest]
            others = [np.exp(scores[ITEMS.index(item)]) for item in later if item in firm]
            if chosen == "d" and others:
                expected.append((3, 1.8 - np.log(sum(others)), number))
            if chosen in firm and "a" in later:
                held = np.exp(scores[ITEMS.index(chosen)]) + sum(others)
                expected.append((0, np.log(held) + 2.0, number))
    got = list(zip(found["end_item"], found["end_margin"], found["end_row"], strict=True))
    assert sorted((i, round(m, 9), r) for i, m, r in got) == sorted((i, round(m, 9), r) for i, m, r in expected)
    assert found["end_votes"].tolist() == [1.0] * len(got)
    assert _ends(loss, scores, above & False, below & False, loss.weight) == {}


def test_very_many_choices_are_binned_with_no_more_said_than_before(monkeypatch):
    rng = np.random.default_rng(0)
    margin, number = rng.normal(size=5000), rng.integers(1, 4, 5000).astype(float)
    edges, total = _binned(margin, number)
    assert total.sum() == number.sum()
    assert len(edges) <= 65
    assert (np.diff(edges) > 0).all()
    assert edges[-1] == margin.max()
    for edge, above in zip(edges, [*np.cumsum(total[::-1])[::-1][1:], 0], strict=True):
        assert number[margin > edge].sum() == above  # each is taken at the next edge up
    equal = _binned(np.full(7, 2.0), np.ones(7))
    assert (equal[0].tolist(), equal[1].tolist()) == ([2.0], [7.0])
    lists = [["b", "c", "a"]] * 3 + [["c", "b", "a"]] * 2
    monkeypatch.setattr(list_information, "MAX_END_ROWS", 9)
    above, below = np.zeros(4, bool), np.array([True, False, False, False])
    given = loss_of("unknown", lists), np.array([-2.0, 0.5, 0.1, 0.0]), above, below, np.ones(5)
    found = _ends(*given)
    assert set(found["end_row"].tolist()) == {-1}
    assert found["end_votes"].sum() == 10
    monkeypatch.setattr(list_information, "MAX_END_ROWS", 10)
    assert set(_ends(*given)["end_row"]) == set(range(5))


def test_sums_that_rounding_has_emptied_are_nothing():
    weight = np.array([1.0, 1e6])
    assert _worth_holding(np.array([0.9e-6, 1.1e-6, 3.0]), weight).tolist() == [0.0, 1.1e-6, 3.0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ties", [False, True])
def test_gradients_of_single_rankings_add_up_to_that_of_the_loss(kind, ties):
    lists = [["a", ["b", "c"]], ["c", "a"], [["d", "b"]], ["b", "c", "a", "d"]] if ties else LISTS
    loss = loss_of(kind, lists, davidson=ties)
    assert loss.davidson == ties
    scores, extras = np.array([0.4, 0.1, -0.2, -0.3]), np.full(loss.extras, -0.5)
    fit = ListFit(scores, extras, 1, 0.0, True)
    squares = np.ones(4)
    found = list_gradients(loss, fit, squares=squares, clusters={})
    table = np.zeros((4, 4))
    np.add.at(table, (found["list_row"], found["list_item"]), found["list_value"])
    if "list_base" in found:
        table += np.outer(found["list_base"], found["list_strength"])
    for row in range(4):
        alone = loss_of(kind, [lists[row]], davidson=False)
        if not ties:
            assert_allclose(table[row], alone.value(scores, np.empty(0))[1], atol=1e-12)
    gradient = loss.value(scores, extras)[1]
    assert_allclose(table.sum(axis=0), gradient[:4], atol=1e-12)
    if ties:
        assert_allclose(found["vote_extra_gradient"].sum(axis=0), gradient[4:], atol=1e-12)
    assert found["vote_weight"].tolist() == [1.0] * 4
    halves = list_gradients(loss, fit, squares=np.ones(2), clusters={}, votes=np.array([0, 1, 1, 0]))
    assert halves["vote_weight"].tolist() == [2.0, 2.0]
    assert halves["list_row"].tolist() == np.array([0, 1, 1, 0])[found["list_row"]].tolist()


def test_gradients_are_left_out_where_their_table_would_be_too_large(monkeypatch):
    loss = loss_of("unknown", [["a", ["b", "c"]], ["c", "a"], [["d", "b"]], ["b", "c", "a", "d"]], davidson=True)
    fit = ListFit(np.zeros(4), np.zeros(loss.extras), 1, 0.0, True)
    for most, held in ((20, True), (19, False)):  # 4 rankings of 4 scores and a tie
        monkeypatch.setattr(list_information, "MAX_TABLE", most)
        assert bool(list_gradients(loss, fit, squares=np.ones(4), clusters={})) == held


def test_curvatures_are_second_differences_of_the_loss():
    loss = loss_of("below")
    scores, none = np.array([0.4, 0.1, -0.2, -0.3]), np.empty(0)
    hessian = loss.place(scores, none).hessian()
    for k in range(4):
        step = np.zeros(4)
        step[k] = 1e-5
        slope = (loss.value(scores + step, none)[1] - loss.value(scores - step, none)[1]) / 2e-5
        assert_allclose(hessian[k], slope, atol=1e-7)
    pairs = np.array([[0.0, 2.0], [2.0, 0.0]])
    border, corner = np.array([[0.5], [-0.5]]), np.array([[3.0]])
    assert ListPlace(pairs, border, corner).hessian().tolist() == [[2, -2, 0.5], [-2, 2, -0.5], [0.5, -0.5, 3]]


@pytest.mark.parametrize("n", [5, 300, 301])
def test_positive_systems_are_solved_and_nearly_singular_ones_too(n):
    rng = np.random.default_rng(n)
    root = rng.normal(size=(n, n)) / np.sqrt(n)
    matrix, wanted = root @ root.T + np.eye(n), rng.normal(size=n)
    assert_allclose(positive_solver(matrix.copy())(matrix @ wanted), wanted, rtol=1e-8, atol=1e-8)
    flat = np.ones((n, n))  # all that is known is the sum
    found = positive_solver(flat - 1e-9 * np.eye(n))(np.ones(n))
    assert_allclose(np.ones((n, n)) @ found, 1.0, atol=1e-4)


def test_a_penalty_is_added_to_the_scores_and_without_one_the_shift_is_held():
    hessian = np.array([[2.0, -1.0, 0.2], [-1.0, 4.0, 0.3], [0.2, 0.3, 7.0]])
    assert_allclose(penalised(hessian.copy(), 0.5, 2), hessian + np.diag([0.5, 0.5, 0.0]))
    held = hessian.copy()
    held[:2, :2] += 3.0 / 2
    assert_allclose(penalised(hessian.copy(), 0.0, 2), held)
    precision = np.array([[1.0, 0.4], [0.4, 2.0]])
    whole = hessian.copy()
    whole[:2, :2] += precision
    assert_allclose(penalised(hessian.copy(), precision, 2), whole)
    scores = np.array([1.0, -2.0])
    assert _pull(0.5, 2)(scores).tolist() == [0.5, -1.0]
    assert_allclose(_pull(precision, 2)(scores), precision @ scores)


@pytest.mark.parametrize("precision", [0.3, np.diag([0.2, 0.5, 1.0, 0.4])])
def test_very_many_rankings_begin_at_the_optimum_of_some_and_end_at_that_of_all(monkeypatch, precision):
    rng = np.random.default_rng(1)
    lists = [[ITEMS[k] for k in np.argsort(rng.gumbel(size=4) - 0.5 * np.arange(4))] for _ in range(400)]
    plain = maximise(loss_of("unknown", lists), precision, tol=1e-10, max_iter=100)
    for name, value in (("MANY_LISTED", 100), ("MANY_EACH", 10), ("FIRST_RANKINGS", 50)):
        monkeypatch.setattr(choices, name, value)
    loss = loss_of("unknown", lists)
    assert loss.is_large
    some = loss.thinned()
    assert len(some.rankings) == 50
    assert some.weight.tolist() == [8.0] * 50
    assert some.rankings.item[:4].tolist() == loss.rankings.item[:4].tolist()
    assert some.rankings.item[4:8].tolist() == loss.rankings.item[32:36].tolist()
    found = maximise(loss, precision, tol=1e-10, max_iter=100)
    assert found.converged
    assert_allclose(found.scores, plain.scores, atol=1e-8)
    gradient = loss.value(found.scores, np.empty(0))[1] + _pull(precision, 4)(found.scores)
    assert_allclose(gradient - gradient.mean() * (np.ndim(precision) == 0), 0.0, atol=1e-6)


def test_each_score_alone_solves_its_own_equation():
    loss = loss_of("below", LISTS * 3)
    scores = np.array([0.4, 0.1, -0.2, -0.3])
    found = loss.each_alone(scores, 0.7)
    expected = loss.value(scores, np.empty(0))[1] + loss.chosen
    alone = [
        brentq(lambda s, k=k: expected[k] * np.exp(s - scores[k]) + 0.7 * s - loss.chosen[k], -20, 20) for k in range(4)
    ]
    assert_allclose(found, np.array(alone) - np.mean(alone), atol=1e-8)


@pytest.mark.parametrize("ties", [False, True])
def test_information_has_the_curvature_of_every_pair_and_what_ties_add(ties):
    lists = [["a", ["b", "c"]], ["c", "a"], [["d", "b"]], ["b", "c", "a", "d"], ["d", "c", "b", "a"]] if ties else LISTS
    loss = loss_of("unknown", lists, davidson=ties)
    scores, extras = np.array([0.4, 0.1, -0.2, -0.3]), np.full(loss.extras, -0.5)
    fit = ListFit(scores, extras, 1, 0.0, True)
    linkage = loss.rankings._linkage
    rows = len(lists)
    found = information_of(
        loss, fit, ridge=0.6, squares=np.arange(1.0, rows + 1), clusters={"judge": np.arange(rows)}, adjacency=linkage
    )
    posterior = list_posterior(loss, fit, 0.8, np.array([0, 0, 1, 1], np.int32))
    hessian = loss.place(scores, extras).hessian()
    for each, ridge in ((found, 0.6), (posterior, 0.8)):
        matrix = np.zeros((4, 4))
        for a, b, c in zip(each.left, each.right, each.curvature, strict=True):
            assert a < b
            matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
        assert_allclose(matrix, hessian[:4, :4], atol=1e-12)
        assert (each.n, each.ridge) == (4, ridge)
        if ties:
            assert_allclose(each.border, hessian[:4, 4:])
            assert_allclose(each.corner, hessian[4:, 4:])
        else:
            assert each.border is None
            assert each.corner is None
        assert each.scores is scores
    assert found.vote_weight_sq.tolist() == list(range(1, rows + 1))
    assert found.clusters["judge"].tolist() == list(range(rows))
    above, below = linkage.open_ended
    assert found.open_above.tolist() == above.tolist()
    assert found.open_below.tolist() == below.tolist()
    assert posterior.groups.tolist() == [0, 0, 1, 1]
    assert list_posterior(loss, fit, 0.8, np.zeros(4, np.int32)).groups is None


def test_where_nobody_is_bounded_choices_are_against_anyone():
    loss = loss_of("unknown", [["a", "b"], ["a", "c"]])
    scores = np.array([1.0, -0.5, -0.7, 0.0])
    above, below = np.array([True, False, False, False]), np.array([False, True, True, True])
    found = _ends(loss, scores, above, below, loss.weight)
    told = sorted(zip(found["end_item"], np.round(found["end_margin"], 9), found["end_row"], strict=True))
    expected = [(0, 1.5, 0), (0, 1.7, 1), (1, 1.5, 0), (2, 1.7, 1)]
    assert told == [(item, pytest.approx(margin), row) for item, margin, row in sorted(expected)]
