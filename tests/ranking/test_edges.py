"""A ranking and its uncertainty at their edges: against items without an end, in other hands, printed, and refused."""

import dataclasses
import math
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

import podium.ranking.ranking as ranking_module
from podium import BradleyTerry, Comparisons, Ranking
from podium.errors import ConvergenceError, DataWarning, InputError
from podium.ranking.uncertainty import (
    Information,
    ScoreCovariance,
    critical,
    dense,
    estimate,
    graph,
    is_determined,
    many,
    quasi,
    redraw,
    score_covariance,
)
from podium.ranking.uncertainty.information import Alternative
from podium.ranking.uncertainty.lists import ListInformation
from podium.ranking.uncertainty.posterior import posterior_covariance
from podium.ranking.uncertainty.worth import cluster_worth, votes_worth

import reference_uncertainty as reference
from helpers import simulate, thin_data


def voted(n=4, m=120, seed=3, **more):
    rng = np.random.default_rng(seed)
    left, right, won = reference.votes(rng, np.linspace(1, -1, n), m)
    u = reference.fit(n, left, right, won, np.ones(m), l2=0.05)
    judge = rng.integers(0, 40, m)
    return reference.information(n, left, right, won, np.ones(m), u, l2=0.05, clusters={"judge": judge}, **more)


def ranked(information, unit=1.0, **more):
    labels = [f"i{k}" for k in range(information.n)]
    return Ranking(labels, unit * information.scores, information=information, unit=unit, **more)


# ---- against an item ------------------------------------------------------------------------------------------------


def test_errors_against_an_item_are_infinite_where_either_has_no_end():
    ranking = ranked(voted(open_above=np.arange(4) == 2), unit=2.0)
    matrix = ranking.covariance
    against = ranking.shown(reference="i0").std_errors
    wanted = [2 * math.sqrt(matrix[i, i] + matrix[0, 0] - 2 * matrix[i, 0]) for i in (1, 3)]
    assert_allclose(against[[1, 3]], wanted)
    assert (against[0], against[2]) == (0.0, np.inf)
    assert ranking.shown(reference="i2").std_errors.tolist() == [np.inf, np.inf, 0.0, np.inf]
    assert ranking.std_errors[2] == np.inf
    assert np.isfinite(ranking.std_errors[[0, 1, 3]]).all()
    assert ranking.held_fixed == "mean of the 3 bounded items"
    assert ranking.shown(reference="i0").held_fixed == "score of 'i0'"
    below = ranked(voted(open_below=np.arange(4) == 2))
    assert below.std_errors[2] == np.inf
    assert below.held_fixed == "mean of the 3 bounded items"
    assert ranked(voted(open_below=np.arange(4) > 0)).held_fixed == "score of the one bounded item"


def test_where_no_score_has_an_end_the_mean_is_held_fixed():
    ranking = ranked(
        voted(open_above=np.array([True, True, False, False]), open_below=np.array([False, False, True, True]))
    )
    assert ranking.held_fixed == "mean score"
    assert (ranking.std_errors == np.inf).all()


def test_intervals_against_what_was_shown_or_asked_for():
    ranking = ranked(voted())
    shown = ranking.shown(reference="i1")
    assert_allclose(shown.intervals(), ranking.intervals(reference="i1"))
    assert_allclose(shown.intervals(reference="mean"), ranking.intervals())
    assert shown.rank_method is None
    assert ranking.reference is None
    for bad in ("zebra", ("item", "zebra")):
        with pytest.raises(InputError, match="'zebra' is not in this ranking"):
            ranking.shown(reference=bad)


def test_quasi_variances_are_in_the_unit_of_the_scores():
    information = voted()
    plain, elo = ranked(information).quasi_variances(), ranked(information, unit=3.0).quasi_variances()
    assert_allclose(elo, 9 * plain)
    matrix = ranked(information).covariance
    assert_allclose(plain, quasi.quasi_variances(matrix)[0])
    opened = ranked(dataclasses.replace(information, open_above=np.arange(4) == 2)).quasi_variances()
    assert np.isnan(opened).tolist() == [False, False, True, False]


def test_quasi_variances_of_two_are_half_the_variance_of_their_difference():
    q, error = quasi.quasi_variances(np.array([[2.0, 0.5], [0.5, 1.0]]))
    assert (q.tolist(), error) == ([1.0, 1.0], 0.0)
    says = "quasi-variances need an error of every difference that is finite and not 0"
    for matrix in (np.ones((2, 2)), np.array([[np.inf, 0.0], [0.0, 1.0]])):
        with pytest.raises(InputError, match=says):
            quasi.quasi_variances(matrix)
    with pytest.raises(InputError, match="at least two items are needed"):
        quasi.quasi_variances(np.ones((1, 1)))


def test_quasi_variances_end_where_steps_do(monkeypatch):
    half = np.random.default_rng(0).normal(size=(5, 5))
    monkeypatch.setattr(quasi, "MAX_STEPS", 1)
    with pytest.raises(
        ConvergenceError, match="no quasi-variances in 1 steps: the errors of differences vary too much"
    ):
        quasi.quasi_variances(half @ half.T)


# ---- in other hands -------------------------------------------------------------------------------------------------


def test_other_errors_keep_everything_else():
    information, prior = voted(), voted(seed=4)
    spreads = (Alternative(1.0, prior.curvature, 0.1, None, None, np.zeros(4)),)
    record = tuple(np.ones((3, 4)))
    before = Ranking(
        "abcd", information.scores, information=information, posterior=prior, spreads=spreads, unit=2.0, record=record,
        note="by hand", credible=True,
    ).shown(reference="b", rank_method="guaranteed")  # fmt: skip
    after = before.with_uncertainty("cluster", cluster="judge")
    assert (after.uncertainty, after.cluster) == ("cluster", "judge")
    for name in ("items", "information", "posterior", "spreads", "unit", "record", "note", "credible", "reference"):
        assert getattr(after, name) is getattr(before, name), name
    assert after.rank_method == "guaranteed"
    assert after.scores.tolist() == before.scores.tolist()


def test_a_bootstrap_is_drawn_as_it_was_asked_for():
    information = voted()
    asked = {"replicates": 60, "seed": 5}
    found = ranked(information).with_uncertainty("bootstrap", **asked)
    assert_allclose(found.covariance, score_covariance(information, "bootstrap", **asked).matrix)
    other = ranked(information).with_uncertainty("bootstrap", replicates=60, seed=6)
    assert not np.allclose(found.covariance, other.covariance)
    by_judge = ranked(information).with_uncertainty("bootstrap", cluster="judge", **asked)
    assert_allclose(by_judge.covariance, score_covariance(information, "bootstrap", "judge", **asked).matrix)
    assert by_judge.cluster == "judge"
    drawn = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking_module.inference, "score_covariance", lambda *given, **more: drawn.append(more))
        ranked(information).with_uncertainty("bootstrap")
        ranked(information).with_uncertainty("bootstrap", replicates=7, seed=1, jobs=2, engine="x")
    assert drawn == [
        {"replicates": 1000, "seed": None, "jobs": 1, "engine": None},
        {"replicates": 7, "seed": 1, "jobs": 2, "engine": "x"},
    ]


def test_errors_that_came_with_the_scores_cannot_be_replaced_and_are_kept():
    information = voted()
    covariance = ScoreCovariance(np.diag([1.0, 2.0, 3.0, 4.0]))
    ranking = Ranking("abcd", information.scores, information=information, covariance=covariance)
    assert_allclose(ranking.std_errors, np.sqrt([1.0, 2.0, 3.0, 4.0]))
    with pytest.raises(InputError, match="the errors of this ranking were worked out with its scores; fit votes alone"):
        ranking.with_uncertainty("sandwich")
    again = pickle.loads(pickle.dumps(ranking))
    assert_allclose(again.std_errors, ranking.std_errors)
    with pytest.raises(InputError, match="were worked out with its scores"):
        again.with_uncertainty("sandwich")
    plain = pickle.loads(pickle.dumps(ranked(information)))
    assert plain.with_uncertainty("sandwich").uncertainty == "sandwich"


def test_a_stored_ranking_holds_what_it_held():
    information, prior = voted(), voted(seed=4)
    spreads = (Alternative(1.0, prior.curvature, 0.1, None, None, np.zeros(4)),)
    before = Ranking(
        "abcd", information.scores, information=lambda: information, posterior=lambda: prior, spreads=lambda: spreads,
        unit=2.0, record=lambda: tuple(np.ones((3, 4))), note="by hand", credible=True, uncertainty="hessian",
    ).shown(reference="b", rank_method="guaranteed")  # fmt: skip
    after = pickle.loads(pickle.dumps(before))
    for name in ("items", "unit", "uncertainty", "cluster", "note", "credible", "reference", "rank_method"):
        assert getattr(after, name) == getattr(before, name), name
    assert not after.scores.flags.writeable
    assert after.posterior.alternatives == ()
    assert len(after.spreads) == 1
    assert after.spreads[0].ridge == 0.1
    assert [each.tolist() for each in after.record] == [[1.0] * 4] * 3
    assert_allclose(after.information.curvature, information.curvature)
    state = before.__getstate__()
    for name in ("_posterior", "reference", "rank_method", "credible"):
        del state[name]  # as older versions stored it
    old = Ranking.__new__(Ranking)
    old.__setstate__(state)
    assert (old.posterior, old.reference, old.rank_method, old.credible, old.spreads) == (None, None, None, False, ())
    assert Ranking.upgraded(state, 1) is state


def test_scores_are_a_copy_that_cannot_be_written():
    mine = np.array([1.0, 2.0])
    ranking = Ranking("ab", mine)
    mine[0] = 9.0
    assert ranking.score("a") == 1.0
    with pytest.raises(ValueError, match="read-only"):
        ranking.scores[0] = 3.0
    assert (ranking.unit, ranking.uncertainty, ranking.cluster, ranking.note, ranking.credible) == (
        1.0,
        "auto",
        None,
        None,
        False,
    )
    assert (ranking.information, ranking.posterior, ranking.spreads, ranking.record) == (None, None, (), None)
    assert ranking.covariance is None
    with pytest.raises(InputError, match=r"^1 item: give as many scores; got an array of shape \(2,\)$"):
        Ranking("a", [1.0, 2.0])
    with pytest.raises(InputError, match=r"^the score of 'b' is inf; scores must be finite$"):
        Ranking("abc", [1.0, np.inf, np.nan])


def test_at_most_three_labels_are_offered():
    ranking = Ranking(["apple1", "apple2", "apple3", "apple4"], range(4))
    with pytest.raises(InputError, match=r"did you mean 'apple\d' or 'apple\d' or 'apple\d'\?$"):
        ranking.score("apple5")


# ---- printed --------------------------------------------------------------------------------------------------------


def test_printing_computes_intervals_of_few_items_and_shows_those_that_are_known(monkeypatch):
    later = "intervals are computed when asked for: .intervals(), .rank_intervals(), .to_frame()"
    monkeypatch.setattr(ranking_module, "MAX_QUICK_ITEMS", 4)
    assert "95 % confidence intervals" in repr(ranked(voted()))
    monkeypatch.setattr(ranking_module, "MAX_QUICK_ITEMS", 3)
    ranking = ranked(voted())
    assert repr(ranking).splitlines()[-1] == later
    assert repr(ranking).splitlines()[0].split() == ["rank", "item", "score"]
    ranking.intervals()
    assert repr(ranking).splitlines()[0].split() == ["rank", "item", "score", "interval", "ranks", "tier"]
    assert later not in repr(ranking)
    monkeypatch.setattr(estimate, "MIN_QUICK_ITEMS", 20)
    monkeypatch.setattr(ranking_module, "MAX_QUICK_ITEMS", 20)
    many_items = ranked(voted(n=40, m=900))
    assert repr(many_items).splitlines()[-1] == later
    many_items.intervals()  # variances alone are enough
    assert later not in repr(many_items)


def test_units_of_ten_and_more_are_printed_without_decimals():
    for unit, shown in ((9.99, "12.34"), (10.0, "12")):
        line = repr(Ranking("ab", [12.34, 0.0], unit=unit)).splitlines()[1]
        assert line.split() == ["1", "a", shown]


# ---- where variances are found in a quicker way ---------------------------------------------------------------------


def test_credible_intervals_of_many_items_need_no_matrix(monkeypatch):
    n = 60
    prior = voted(n=n, m=1500)
    ranking = Ranking(range(n), prior.scores, information=prior, posterior=prior)
    whole = posterior_covariance(prior).matrix
    monkeypatch.setattr(estimate, "MIN_QUICK_ITEMS", n - 1)
    lower, upper = ranking.intervals(kind="credible")
    assert ranking._posterior_variances.matrix is None
    assert ranking._posterior_covariance is None
    assert_allclose((upper - lower) / 2, norm.ppf(0.975) * np.sqrt(whole.diagonal()), rtol=0.01)
    lower, upper = ranking.intervals(reference=3, kind="credible")
    error = np.sqrt(whole.diagonal() + whole[3, 3] - 2 * whole[3])
    assert_allclose((upper - lower) / 2, norm.ppf(0.975) * error, atol=1e-9)
    assert ranking._posterior_covariance.matrix is not None
    monkeypatch.setattr(estimate, "MIN_QUICK_ITEMS", n)
    dense_ones = Ranking(range(n), prior.scores, information=prior, posterior=prior)
    lower, upper = dense_ones.intervals(kind="credible")
    assert_allclose((upper - lower) / 2, norm.ppf(0.975) * np.sqrt(whole.diagonal()), rtol=1e-9)
    assert dense_ones._posterior_variances is None


def test_a_quick_way_that_gave_covariances_after_all_is_not_asked_again(monkeypatch):
    n = 60
    prior = voted(n=n, m=1500)
    monkeypatch.setattr(estimate, "MIN_QUICK_ITEMS", n - 1)
    monkeypatch.setattr(many, "quick_variances", lambda part: None)
    ranking = Ranking(range(n), prior.scores, information=prior, posterior=prior)
    ranking.intervals(kind="credible")
    assert ranking._posterior_covariance is ranking._posterior_variances
    ranking.intervals()
    assert ranking._covariance is ranking._variances
    assert ranking._covariance.matrix is not None


def test_differences_vary_as_if_independent_where_there_is_no_matrix(monkeypatch):
    prior = voted()
    ranking = ranked(prior, posterior=prior)
    places = np.array([0, 1]), np.array([2, 3])
    alone = ScoreCovariance(variances=np.array([1.0, 2.0, 3.0, 4.0]))
    monkeypatch.setattr(Ranking, "_credible", lambda self: alone)
    assert ranking.difference_variance(*places).tolist() == [4.0, 6.0]
    for bad in ([4], [-5]):
        with pytest.raises(InputError, match="one"):
            ranking.difference_variance(bad, [0])
        with pytest.raises(InputError, match="other"):
            ranking.difference_variance([0], bad)


# ---- what the votes leave open --------------------------------------------------------------------------------------


def with_extra(**more):
    """Three items beside one effect."""
    rows = {"border": np.zeros((3, 1)), "corner": np.eye(1)}
    return Information(3, np.array([0, 1]), np.array([1, 2]), np.array([2.0, 3.0]), **(rows | more))


def test_scores_that_effects_explain_as_well_are_all_open():
    opened = np.array([True, True, False])
    for information in (
        with_extra(open_above=opened),
        with_extra(open_above=np.ones(3, bool)),
        with_extra(corner=np.zeros((1, 1))),
    ):
        found = score_covariance(information)
        assert found.matrix is None
        assert (found.variance == np.inf).all()
        assert found.open_above.all()
        assert found.open_below.all()
    two = score_covariance(with_extra(open_above=np.array([True, False, False])))
    assert two.open_ended.tolist() == [True, False, False]
    assert_allclose(two.matrix[1:, 1:], np.array([[1, -1], [-1, 1]]) / (4 * 3.0))  # the votes of the two alone
    with pytest.raises(InputError, match="the votes leave some scores undetermined"):
        score_covariance(Information(3, np.array([0]), np.array([1]), np.array([2.0])))


def test_one_item_with_ends_among_open_ones_has_no_width():
    plain = Information(
        3, np.array([0, 1]), np.array([1, 2]), np.array([2.0, 3.0]), open_above=np.array([True, True, False])
    )
    found = score_covariance(plain)
    assert found.variance.tolist() == [np.inf, np.inf, 0.0]


@pytest.mark.parametrize("n", [6, 502])
def test_groups_that_never_met_are_undetermined_however_many_items(n):
    left, right = np.arange(n - 1), np.arange(1, n)
    met = left != n // 2
    apart = Information(n, left[met], right[met], np.ones(met.sum()))
    with pytest.raises(InputError, match="the votes leave some scores undetermined"):
        dense.covariance(apart)
    joined = Information(n, left, right, np.ones(n - 1))
    chain = dense.covariance(joined)
    assert chain[0, 0] + chain[-1, -1] - 2 * chain[0, -1] == pytest.approx(n - 1)  # resistors in a row
    assert is_determined(joined)


def test_with_more_than_five_hundred_items_votes_are_taken_to_be_enough(monkeypatch):
    apart = Information(4, np.array([0, 2]), np.array([1, 3]), np.ones(2))
    assert not is_determined(apart)
    monkeypatch.setattr(dense, "MAX_TRIED_ITEMS", 4)
    assert not is_determined(apart)
    monkeypatch.setattr(dense, "MAX_TRIED_ITEMS", 3)
    assert is_determined(apart)


# ---- rankings as votes ----------------------------------------------------------------------------------------------


def test_what_rankings_of_one_cluster_are_worth():
    value = np.array([0.4, -0.4, 0.3, -0.3])
    e = ListInformation(
        3, np.array([0, 1]), np.array([1, 2]), np.ones(2), vote_weight=np.ones(2), vote_weight_sq=np.ones(2),
        list_row=np.array([0, 0, 1, 1]), list_item=np.array([0, 1, 0, 1]), list_value=value,
        clusters={"judge": np.array([0, 0])},
    )  # fmt: skip
    variance = np.array([1.0, 2.0, 5.0])
    alone = (0.4**2 + 0.3**2) * 3.0
    together = 0.7**2 * 3.0
    assert cluster_worth(e, "judge", variance) == pytest.approx(alone / together)
    assert votes_worth(e, 0.5) == 1.0  # ties are none in rankings


def test_drawn_rankings_are_as_many_however_many_are_held_at_once(monkeypatch):
    from podium.ranking.uncertainty import lists

    e = ListInformation(
        3, np.array([0, 1]), np.array([1, 2]), np.ones(2), vote_weight=np.ones(2), vote_weight_sq=np.ones(2),
        list_row=np.array([0, 0, 1, 1]), list_item=np.array([0, 1, 0, 1]), list_value=np.array([0.4, -0.4, 0.3, -0.3]),
    )  # fmt: skip
    whole = e.redrawn(np.eye(3), 7, None, np.random.default_rng(0))
    for held in (1, 4, 6):
        monkeypatch.setattr(lists, "MAX_HELD_DRAWS", held)
        assert_allclose(e.redrawn(np.eye(3), 7, None, np.random.default_rng(0)), whole)


# ---- draws ----------------------------------------------------------------------------------------------------------


def test_the_root_of_a_matrix_that_rounding_made_indefinite_leaves_its_negative_part_out():
    matrix = np.array([[1.0, 2.0], [2.0, 1.0]])
    lifted = matrix + 1.0 + 1e-9 * np.eye(2)
    values, axes = np.linalg.eigh(lifted)
    assert values[0] < 0
    root = critical._root(matrix)
    assert_allclose(root @ root.T, axes @ np.diag([0.0, values[1]]) @ axes.T, atol=1e-12)
    fine = np.array([[2.0, 0.5], [0.5, 1.0]])
    root = critical._root(fine)
    shared = root @ root.T
    assert shared[0, 0] + shared[1, 1] - 2 * shared[0, 1] == pytest.approx(2.0)  # the difference varies as before
    assert np.isfinite(critical._root(np.zeros((2, 2)))).all()


@pytest.mark.parametrize("n", [255, 256, 257, 600])
def test_rows_come_in_blocks_all_of_them_once(n):
    blocks = list(critical.row_blocks(n))
    assert np.concatenate(blocks).tolist() == list(range(n))
    assert max(map(len, blocks)) <= 256
    assert len(blocks) == -(-n // 256)


def test_draws_in_blocks_are_as_many_as_asked_for():
    covariance = ScoreCovariance(variances=np.array([1.0, 4.0]))
    assert sum(len(block) for block in critical.noise_blocks(covariance, 2, 11)) == 11


@pytest.mark.parametrize("held", [1, 30, 119, 400])
def test_a_bootstrap_has_as_many_replicates_however_many_are_held(held, monkeypatch):
    information = voted(m=30)
    monkeypatch.setattr(redraw, "MAX_HELD_DRAWS", held)
    drawn = redraw.bootstrap(information, replicates=9, rng=np.random.default_rng(0))
    assert drawn.shape == (9, 4)
    assert np.isfinite(drawn).all()
    assert_allclose(drawn.mean(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("part", [1, 4, 5, 128])
def test_replicates_are_the_same_however_they_are_shared_out(part, monkeypatch):
    information = voted(m=30)
    whole = redraw.bootstrap(information, replicates=9, rng=np.random.default_rng(0))
    monkeypatch.setattr(redraw, "REFITTED", part)
    assert_allclose(redraw.bootstrap(information, replicates=9, rng=np.random.default_rng(0)), whole, atol=1e-9)


@pytest.mark.parametrize(("replicates", "parts"), [(2, 1), (128, 1), (129, 2)])
def test_processes_share_parts_of_128_replicates(replicates, parts, monkeypatch):
    asked = []
    running = redraw.running
    monkeypatch.setattr(redraw, "running", lambda *given: asked.append(given) or running(1, 1, None))
    redraw.bootstrap(voted(m=30), replicates=replicates, rng=np.random.default_rng(0), jobs=3, engine="x")
    assert asked == [(3, parts, "x")]


def test_draws_are_worth_the_weight_of_their_row():
    rows = {"vote_left": np.zeros(3, int), "vote_right": np.ones(3, int), "vote_gradient": np.zeros(3)}
    weight, square = np.array([6.0, 0.0, 3.0]), np.array([12.0, 0.0, 1.5])
    e = Information(2, np.array([0]), np.array([1]), np.ones(1), vote_weight=weight, vote_weight_sq=square, **rows)
    draws, size = redraw._draws(e, None, 4000, np.random.default_rng(1))
    assert size.tolist() == [2.0, 1.0, 0.5]
    assert_allclose((draws * size).mean(axis=0), weight, rtol=0.05)
    assert_allclose((draws * size).var(axis=0), square, rtol=0.1)
    codes = {"judge": np.array([0, -1, 0])}
    together, size = redraw._draws(dataclasses.replace(e, clusters=codes), "judge", 4000, np.random.default_rng(1))
    assert_allclose(together[:, 0] * size[0] / 6.0, together[:, 2] * size[2] / 3.0)  # one judge, drawn as one
    assert (together[:, 0] * size[0] / 6.0).mean() == pytest.approx(1, abs=0.06)


def test_small_poisson_numbers_are_poisson_by_table_or_not(monkeypatch):
    from scipy.stats import poisson

    mean = np.array([0.2, 3.0, 29.9])
    for tables in (1000, 2):
        monkeypatch.setattr(redraw, "MAX_TABLES", tables)
        drawn = redraw._small_poisson(mean, 20_000, np.random.default_rng(3))
        for column, each in zip(drawn.T, mean, strict=True):
            for value in (0, 1, 3, 30):
                chance = poisson.cdf(value, each)
                assert abs((column <= value).mean() - chance) < 5 * math.sqrt(0.25 / 20_000)


# ---- very many items ------------------------------------------------------------------------------------------------


def chain(n=40, ridge=0.0):
    return Information(n, np.arange(n - 1), np.arange(1, n), np.linspace(1, 2, n - 1), ridge=ridge)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_a_hard_graph_is_solved_by_its_factor_or_by_more_steps(ridge, monkeypatch):
    information = chain(ridge=ridge)
    force = np.random.default_rng(0).normal(size=(40, 2))
    hessian = reference.hessian(40, information.left, information.right, information.curvature, ridge)
    wanted = reference.centred_inverse(hessian, 40) @ force
    made = graph.Graph(information)
    assert made.solve(force, 1) is None
    assert_allclose(made.solve(force, 300), wanted, atol=1e-4 * np.abs(wanted).max())
    monkeypatch.setattr(graph, "MAX_EASY_STEPS", 1)
    assert_allclose(made.must_solve(force), wanted, atol=1e-7 * np.abs(wanted).max())  # by the factor
    monkeypatch.setattr(graph, "MAX_FACTOR_COST", 0.0)
    bare = graph.Graph(information)
    assert bare.factor is None
    assert_allclose(bare.must_solve(force), wanted, atol=1e-4 * np.abs(wanted).max())
    monkeypatch.setattr(graph, "MAX_STEPS", 2)
    with pytest.raises(
        ConvergenceError, match="no standard errors in 2 steps: too few votes connect the items; raise l2"
    ):
        graph.Graph(information).must_solve(force)


def test_pairs_of_a_graph_are_each_there_once():
    e = Information(3, np.array([0, 1, 2, 1]), np.array([1, 0, 1, 2]), np.array([1.0, 2.0, 3.0, 4.0]))
    left, right, curvature = graph.Graph(e).pairs
    assert sorted(zip(left.tolist(), right.tolist(), curvature.tolist(), strict=True)) == [(0, 1, 3.0), (1, 2, 7.0)]
    assert graph.Graph(e).diagonal.tolist() == [3.0, 10.0, 7.0]


@pytest.mark.parametrize("share", [0.04, 0.06])
def test_noise_of_probes_is_told_from_a_twentieth_on(share):
    import warnings

    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        many._warn_of_noise(share)
    assert [str(each.message) for each in heard] == (
        [] if share < 0.05 else [
            "standard errors were found by random probes and are good to about 6 %: the votes connect the items too "
            "unevenly for a faster way"
        ]
    )  # fmt: skip


# ---- ranks ----------------------------------------------------------------------------------------------------------


def test_ranks_of_the_scores_lie_within_rank_intervals_of_errors_from_elsewhere():
    winner, loser, _ = simulate(5, 60, np.random.default_rng(2))
    with thin_data():
        ranking = BradleyTerry().fit(Comparisons.from_arrays(winner, loser, items=range(5))).ranking_
        for kind in ("hessian", "sandwich"):
            best, worst = ranking.with_uncertainty(kind).rank_intervals(0.5)
            assert (best <= ranking.ranks).all()
            assert (ranking.ranks <= worst).all()


def test_top_sets_and_tiers_come_best_first():
    sure = Ranking("abcd", [1.0, 4.0, 3.0, 2.0], information=voted(), covariance=ScoreCovariance(1e-6 * np.eye(4)))
    assert sure.tiers() == [("b",), ("c",), ("d",), ("a",)]
    assert sure.tier_numbers().tolist() == [4, 1, 2, 3]
    assert sure.top_set(2) == ("b", "c")
    unsure = Ranking("abcd", [1.0, 4.0, 3.0, 2.0], information=voted(), covariance=ScoreCovariance(1e6 * np.eye(4)))
    assert unsure.tiers() == [("b", "c", "d", "a")]
    assert unsure.top_set(1) == ("b", "c", "d", "a")
    for k in (0, 5, 1.5, True, "1"):
        with pytest.raises(InputError, match="k must lie between 1 and the number of items, 4; got"):
            sure.top_set(k)


def test_two_clusters_are_enough_for_errors_by_cluster():
    information = dataclasses.replace(voted(), clusters={"judge": np.arange(120) % 2})
    with pytest.warns(DataWarning, match="there are 2 judges only"):
        errors = ranked(information, uncertainty="cluster", cluster="judge").std_errors
    assert_allclose(errors, np.sqrt(dense.covariance(information, "cluster", "judge").diagonal()))
    assert ranked(information).with_uncertainty("cluster").cluster == "judge"


def test_what_is_no_ranking_is_not_equal_to_one():
    assert (Ranking("ab", [1.0, 2.0]) == "ab") is False
    assert Ranking("ab", [1.0, 2.0]).__eq__("ab") is NotImplemented


def test_whole_scores_become_numbers_with_a_fraction():
    assert Ranking("ab", [1, 2]).scores.dtype == np.float64


def test_a_stored_ranking_leaves_out_what_can_be_computed_again_and_computes_it():
    information = voted()
    ranking = ranked(information, posterior=information)
    ranking.intervals(reference="i1")
    assert ranking.__getstate__()["_covariance"] is None
    again = pickle.loads(pickle.dumps(ranking))
    assert again.score("i1") == ranking.score("i1")
    assert_allclose(again.intervals(kind="credible"), ranking.intervals(kind="credible"))
    assert_allclose(again.intervals(reference="i1"), ranking.intervals(reference="i1"))
    assert_allclose(again.rank_intervals(), ranking.rank_intervals())
    assert_allclose(again.std_errors, ranking.std_errors)


@pytest.mark.parametrize(
    ("record", "share"),
    [((0.1, 0.1, 0.2), 0.5), ((0.5, 0.5, 3.0), 0.75), ((2.0, 2.0, 0.0), 0.0), ((0.0, 0.0, 1.0), 1.0)],
)
def test_the_share_of_ties_of_any_weight(record, share):
    arrays = tuple(np.array([each]) for each in record)
    assert Ranking("a", [1.0], record=arrays)._tied_share() == pytest.approx(share)


def test_light_votes_are_worth_as_heavy_ones():
    """Weights of 0.2 and 0.6: for each item Σw²/Σw, on average against that of all."""
    rows = {"vote_left": np.array([0, 1]), "vote_right": np.array([1, 2]), "vote_gradient": np.array([0.1, -0.2])}
    for unit in (1.0, 100.0):
        weight = unit * np.array([0.2, 0.6])
        e = Information(
            3, np.array([0, 1]), np.array([1, 2]), np.ones(2), vote_weight=weight, vote_weight_sq=weight**2, **rows
        )
        own, squares = np.array([0.2, 0.8, 0.6]), np.array([0.04, 0.4, 0.36])
        assert votes_worth(e, 0.0) == pytest.approx(3 / (squares / own).sum() / (0.8 / 0.4))


def test_rankings_of_many_are_in_no_cluster_with_another():
    """A choice of many rankings beside one of cluster 1, on the same item: each counts for itself."""
    e = ListInformation(
        3, np.array([0, 1]), np.array([1, 2]), np.ones(2), vote_weight=np.ones(2), vote_weight_sq=np.ones(2),
        end_item=np.array([2, 2, 2]), end_margin=np.zeros(3), end_votes=np.array([3.0, 4.0, 5.0]),
        end_row=np.array([1, -1, -1]), clusters={"judge": np.array([0, 1])},
    )  # fmt: skip
    assert e.ends("judge")[2].tolist() == [1.0, 1.0, 1.0]


def test_files_say_which_version_of_each_part_they_hold():
    """A number that rises only where something else is stored than before."""
    from podium.ranking.uncertainty.information import WeightedInformation

    versions = {
        kind.__name__: kind.state_version for kind in (Ranking, Information, WeightedInformation, ListInformation)
    }
    assert versions == {"Ranking": 3, "Information": 2, "WeightedInformation": 1, "ListInformation": 2}
    state = {"n": 2}
    assert Information.upgraded(state, 1) is state
    before = ListInformation.upgraded(state, 1)
    assert (before["n"], len(before["squared_curvature"]), before["squared_border"], before["squared_corner"]) == (
        2, 0, None, None,
    )  # fmt: skip
