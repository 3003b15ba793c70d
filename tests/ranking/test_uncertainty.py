"""Uncertainty against slow twins, closed forms and laws."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from podium import Ranking
from podium.errors import DataWarning, InputError
from podium.ranking.uncertainty import (
    Information,
    ScoreCovariance,
    bootstrap,
    covariance,
    extra_covariance,
    extra_std_errors,
    graph,
    is_determined,
    many,
    probability_above,
    probability_best,
    rank_intervals,
    score_covariance,
    tiers,
    top_set,
)

import reference_uncertainty as reference


@pytest.fixture
def season():
    """Twelve items, 600 weighted votes by 30 judges, and the fitted information."""
    rng = np.random.default_rng(1)
    truth = rng.normal(size=12)
    left, right, won = reference.votes(rng, truth, 600)
    won[::7] = 0.5
    weight = rng.exponential(size=600)
    u = reference.fit(12, left, right, won, weight)
    judge = rng.integers(30, size=600)
    return reference.information(12, left, right, won, weight, u, clusters={"judge": judge})


def test_one_pair_has_the_variance_of_the_textbook():
    one = Information(2, np.array([0]), np.array([1]), np.array([40 * 0.3 * 0.7]))
    found = score_covariance(one)
    assert found.differences(0)[1] == pytest.approx(1 / (40 * 0.3 * 0.7))


@pytest.mark.parametrize("ridge", [0.0, 2e-3, 1.0])
def test_hessian_kind_is_the_projected_inverse(season, ridge):
    e = Information(12, season.left, season.right, season.curvature, ridge=ridge)
    expected = reference.centred_inverse(reference.hessian(12, e.left, e.right, e.curvature, ridge), 12)
    assert_allclose(covariance(e), expected, atol=1e-11)


def test_sandwich_is_the_sum_of_outer_products_over_votes(season):
    bread = reference.centred_inverse(
        reference.hessian(12, season.left, season.right, season.curvature, season.ridge), 12
    )
    gradients = (
        reference.directions(12, season.left, season.right) * (season.vote_gradient * season.vote_weight)[:, None]
    )
    meat = sum(np.outer(g, g) for g in gradients)
    assert_allclose(covariance(season, "sandwich"), bread @ meat @ bread, atol=1e-11)


@pytest.mark.parametrize("lonely", [0, 25])
def test_cluster_kind_sums_gradients_within_clusters_first(season, lonely):
    codes = season.clusters["judge"].copy()
    codes[:lonely] = -1
    e = reference.information(
        12, season.left, season.right, season.target, season.vote_weight, season.scores, clusters={"judge": codes}
    )
    bread = reference.centred_inverse(reference.hessian(12, e.left, e.right, e.curvature, e.ridge), 12)
    gradients = reference.directions(12, e.left, e.right) * (e.vote_gradient * e.vote_weight)[:, None]
    sums = [gradients[codes == c].sum(axis=0) for c in np.unique(codes) if c >= 0]
    sums += list(gradients[codes < 0])
    meat = sum(np.outer(s, s) for s in sums) * len(sums) / (len(sums) - 1)
    assert_allclose(covariance(e, "cluster"), bread @ meat @ bread, atol=1e-11)


def test_extras_are_profiled_out(season):
    rng = np.random.default_rng(2)
    z = rng.normal(size=(600, 2))
    rows = np.hstack([reference.directions(12, season.left, season.right), z])
    whole = rows.T @ (season.curvature[:, None] * rows)
    whole[:12, :12] += season.ridge * np.eye(12)
    e = Information(
        12,
        season.left,
        season.right,
        season.curvature,
        ridge=season.ridge,
        border=whole[:12, 12:],
        corner=whole[12:, 12:],
        vote_left=season.left,
        vote_right=season.right,
        vote_gradient=season.vote_gradient,
        vote_weight=season.vote_weight,
        vote_weight_sq=season.vote_weight_sq,
        vote_extra_gradient=season.vote_gradient[:, None] * z,
        clusters=season.clusters,
    )
    bread = reference.centred_inverse(whole, 12)
    gradients = rows * (season.vote_gradient * season.vote_weight)[:, None]
    assert_allclose(covariance(e), bread[:12, :12], atol=1e-11)
    assert_allclose(extra_std_errors(e), np.sqrt(np.diag(np.linalg.inv(whole))[12:]), rtol=1e-9)
    robust = bread @ (gradients.T @ gradients) @ bread
    assert_allclose(covariance(e, "sandwich"), robust[:12, :12], atol=1e-11)
    assert_allclose(extra_covariance(e, "sandwich"), robust[12:, 12:], atol=1e-11)
    assert_allclose(extra_covariance(e, "bootstrap"), robust[12:, 12:], atol=1e-11)
    codes = season.clusters["judge"]
    sums = np.array([gradients[codes == c].sum(axis=0) for c in np.unique(codes)])
    assert_allclose(extra_covariance(e, "cluster"), (bread @ sums.T @ sums @ bread)[12:, 12:] * 30 / 29, atol=1e-11)


def test_feature_weights_move_the_mean_and_are_handled():
    """Border columns that do not sum to zero (features): the plain block inverse, then centring."""
    rng = np.random.default_rng(3)
    n, d = 9, 2
    x = rng.normal(size=(n, d)) + 1
    left, right, _ = reference.votes(rng, np.zeros(n), 80)
    curvature = rng.random(80)
    ridge, keep = 0.8, 0.3
    e = Information(n, left, right, curvature, ridge, border=-ridge * x, corner=ridge * x.T @ x + keep * np.eye(d))
    whole = np.block(
        [
            [reference.hessian(n, left, right, curvature, ridge), -ridge * x],
            [-ridge * x.T, ridge * x.T @ x + keep * np.eye(d)],
        ]
    )
    assert_allclose(covariance(e), reference.centred_inverse(whole, n)[:n, :n], atol=1e-11)


def test_groups_never_compared_have_no_intervals_without_a_penalty():
    apart = Information(4, np.array([0, 2]), np.array([1, 3]), np.array([5.0, 5.0]))
    with pytest.raises(InputError, match="never compared"):
        covariance(apart)


def test_what_a_kind_needs_is_said(season):
    bare = Information(2, np.array([0]), np.array([1]), np.array([1.0]))
    with pytest.raises(InputError, match="'sandwich' needs every vote's gradient"):
        covariance(bare, "sandwich")
    with pytest.raises(InputError, match="'jackknife' is not known; choose one of auto, hessian"):
        covariance(season, "jackknife")
    with pytest.raises(InputError, match="no cluster 'group' in the votes: the votes have 'judge'"):
        covariance(season, "cluster", "group")
    with pytest.raises(InputError, match="takes no cluster"):
        covariance(season, "hessian", "judge")
    alone = reference.information(
        2,
        np.array([0, 0]),
        np.array([1, 1]),
        np.array([1.0, 0.0]),
        np.ones(2),
        np.zeros(2),
        clusters={"judge": np.zeros(2, dtype=int)},
    )
    with pytest.raises(InputError, match="at least two clusters; the votes have 1"):
        covariance(alone, "cluster")


scores_and_covariance = st.integers(2, 9).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-6, 6), min_size=n, max_size=n),
        st.integers(0, 2**32 - 1),
        st.lists(st.sampled_from(["", "above", "below"]), min_size=n, max_size=n),
    )
)


@settings(max_examples=60, deadline=None)
@given(scores_and_covariance)
def test_rank_intervals_follow_the_definition(case):
    values, seed, ends = case
    n = len(values)
    u = np.array(values, dtype=float)
    half = np.random.default_rng(seed).normal(size=(n, n))
    c = half @ half.T
    above, below = np.array([e == "above" for e in ends]), np.array([e == "below" for e in ends])
    s = ScoreCovariance(matrix=c, open_above=above, open_below=below)
    z = 1.959963984540054
    lower = np.where(below, -np.inf, u - z * np.sqrt(np.diag(c)))
    upper = np.where(above, np.inf, u + z * np.sqrt(np.diag(c)))
    best, worst = np.ones(n, dtype=int), np.full(n, n)
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            se = np.sqrt(c[i, i] + c[j, j] - 2 * c[i, j])
            best[i] += lower[j] > upper[i] if ends[i] or ends[j] else u[j] - u[i] > z * se
            worst[i] -= upper[j] < lower[i] if ends[i] or ends[j] else u[i] - u[j] > z * se
    found = rank_intervals(u, s, method="pairwise")
    assert_allclose(found[0], best)
    assert_allclose(found[1], worst)
    for method in ("pairwise", "guaranteed"):
        each = rank_intervals(u, s, method=method)
        together = rank_intervals(u, s, simultaneous=True, method=method)
        assert (each[0] <= best).all()
        assert (each[1] >= worst).all()
        assert (together[0] <= best).all()
        assert (together[1] >= worst).all()


def test_many_items_compare_marginal_intervals():
    rng = np.random.default_rng(4)
    u, v = rng.normal(size=40), rng.exponential(size=40) * 0.05
    open_above = np.arange(40) == 3
    lower, upper = u - 1.959963984540054 * np.sqrt(v), u + 1.959963984540054 * np.sqrt(v)
    upper[3] = np.inf
    best, worst = rank_intervals(u, ScoreCovariance(variances=v, open_above=open_above), method="pairwise")
    for i in range(40):
        assert best[i] == 1 + np.sum(lower > upper[i])
        assert worst[i] == 40 - np.sum(upper < lower[i])


def test_a_tier_holds_all_not_significantly_below_its_first():
    u = np.array([0.0, 3.0, 2.9, 0.1, -5.0])
    c = np.diag([0.01, 0.01, 0.01, 9.0, 0.01])
    assert tiers(u, ScoreCovariance(matrix=c)).tolist() == [2, 1, 1, 1, 3]
    assert tiers(u, ScoreCovariance(variances=np.diag(c))).tolist() == [2, 1, 1, 1, 3]


def test_confidence_that_one_is_above_the_other_is_the_normal_tail():
    s = ScoreCovariance(matrix=np.array([[1.0, 0.0], [0.0, 3.0]]))
    assert probability_above(np.array([1.0, 0.0]), s, 0, 1) == pytest.approx(0.6914624612740131)  # Φ(½)
    assert probability_above(np.array([1.0, 0.0]), s, 1, 0) == pytest.approx(1 - 0.6914624612740131)


def test_confidence_to_be_best_of_two_is_the_confidence_to_be_above():
    s = ScoreCovariance(matrix=np.array([[1.0, -1.0], [-1.0, 1.0]]))
    best = probability_best(np.array([1.0, 0.0]), s)
    assert best.sum() == pytest.approx(1)
    assert best[0] == pytest.approx(0.6914624612740131, abs=0.015)  # three standard errors of 10,000 draws


def test_the_top_set_leaves_out_only_the_clearly_lower():
    u = np.array([5.0, 4.9, 0.0])
    s = ScoreCovariance(matrix=np.eye(3) * 0.01)
    assert top_set(u, s, 1).tolist() == [True, True, False]
    with pytest.raises(InputError, match="between 1 and the number of items, 3; got 4"):
        top_set(u, s, 4)


@pytest.mark.parametrize("level", [0, 1, -1, 1.5, float("nan")])
def test_a_level_outside_zero_to_one_is_refused(level):
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        rank_intervals(np.zeros(2), ScoreCovariance(matrix=np.eye(2)), level)


def test_relabelling_the_items_permutes_everything(season):
    rng = np.random.default_rng(5)
    place = rng.permutation(12)  # old code -> new code
    moved = reference.information(
        12,
        place[season.left],
        place[season.right],
        season.target,
        season.vote_weight,
        season.scores[np.argsort(place)],
        clusters=season.clusters,
    )
    for kind in ("hessian", "sandwich", "cluster"):
        here, there = score_covariance(season, kind), score_covariance(moved, kind)
        assert_allclose(there.matrix[np.ix_(place, place)], here.matrix, atol=1e-12)
        old, new = rank_intervals(season.scores, here), rank_intervals(moved.scores, there)
        assert (new[0][place] == old[0]).all()
        assert (new[1][place] == old[1]).all()
        assert (tiers(moved.scores, there)[place] == tiers(season.scores, here)).all()


def graph_of(name, n, rng):
    """Pairs of graphs that are easy and hard for the large-n paths."""
    m = 30 * n
    left = rng.integers(n, size=m)
    right = (left + rng.integers(1, n, size=m)) % n
    if name == "chain":  # only |i − j| ≤ 5 met
        left = rng.integers(n - 5, size=m)
        right = left + rng.integers(1, 6, size=m)
    if name == "star":  # everyone met item 0 alone
        left, right = np.repeat(np.arange(1, n), 10), np.zeros(10 * (n - 1), dtype=int)
    if name == "bridge":  # two halves joined by three votes
        half = n // 2
        left, right = left % half, right % half
        right = np.where(left == right, (right + 1) % half, right)
        left[::2] += half
        right[::2] += half
        left[:3], right[:3] = [0, 1, 2], [n - 1, n - 2, n - 3]
    return left, right


def robust_information(name, rng, n=300, ridge=2e-3):
    left, right = graph_of(name, n, rng)
    m = len(left)
    clusters = {"judge": rng.integers(60, size=m)}
    weight = rng.exponential(size=m)
    chance = 0.1 + 0.8 * rng.random(m)
    return Information(
        n,
        left,
        right,
        weight * chance * (1 - chance),
        ridge=ridge,
        vote_left=left,
        vote_right=right,
        vote_gradient=chance - (rng.random(m) < chance),
        vote_weight=weight,
        vote_weight_sq=weight**2,
        clusters=clusters,
    )


@pytest.mark.parametrize("ridge", [0.0, 2e-3, 3.0])
@pytest.mark.parametrize("name", ["random", "chain", "star", "bridge"])
def test_variances_of_many_items_match_the_dense_inverse(name, ridge):
    e = robust_information(name, np.random.default_rng(11), ridge=ridge)
    assert_allclose(many.variances(e), covariance(e).diagonal(), rtol=0.04)


@pytest.mark.parametrize("name", ["random", "chain", "star", "bridge"])
@pytest.mark.parametrize("kind", ["sandwich", "cluster"])
def test_robust_variances_of_many_items_match_the_dense_ones(name, kind):
    e = robust_information(name, np.random.default_rng(12))
    ratio = many.variances(e, kind) / covariance(e, kind).diagonal()
    assert np.median(ratio) == pytest.approx(1, abs=0.04)
    # 60 judges are solved one by one; single votes by 256 mixes, 9 % of noise, where the series does not converge.
    assert np.abs(ratio - 1).max() < (0.04 if kind == "cluster" or name == "random" else 0.45)


@pytest.mark.parametrize("name", ["chain", "bridge"])
def test_probing_without_a_factor_still_finds_the_variances(name, monkeypatch):
    monkeypatch.setattr(graph, "MAX_FACTOR_COST", 0.0)  # no factor is small enough
    e = robust_information(name, np.random.default_rng(13))
    assert graph.Graph(e).factor is None
    assert_allclose(many.variances(e), covariance(e).diagonal(), rtol=0.15)


def test_few_probes_say_how_far_off_they_are(monkeypatch):
    monkeypatch.setattr(graph, "MAX_FACTOR_COST", 0.0)
    monkeypatch.setattr(many, "PROBES", 32)
    monkeypatch.setattr(many, "DEFLATED_DIRECTIONS", 1)
    e = robust_information("chain", np.random.default_rng(13))
    with pytest.warns(DataWarning, match=r"random probes and are good to about \d+ %") as warned:
        error = np.sqrt(many.variances(e) / covariance(e).diagonal()) - 1
    said = int(str(warned[0].message).partition("about ")[2].partition(" %")[0]) / 100
    assert said == pytest.approx(error.std(), rel=0.35)


def test_what_the_votes_leave_open_is_not_determined(season):
    free = dataclasses.replace(season, border=np.zeros((12, 1)), corner=np.zeros((1, 1)))
    assert not is_determined(free)
    assert is_determined(dataclasses.replace(free, corner=np.ones((1, 1))))


def test_the_series_is_taken_where_it_agrees_and_refused_where_not():
    for name, fine in [("random", True), ("chain", False), ("star", False), ("bridge", False)]:
        made = graph.Graph(robust_information(name, np.random.default_rng(14)))
        found = many._hessian_series(made)
        assert (found is not None and many._agrees(made, found)) is fine


def test_extras_of_many_items_match_the_dense_ones(monkeypatch):
    rng = np.random.default_rng(15)
    plain = robust_information("random", rng)
    z = rng.normal(size=(len(plain.left), 2))
    rows = reference.directions(plain.n, plain.left, plain.right)
    parts = {f.name: getattr(plain, f.name) for f in dataclasses.fields(plain)}
    parts |= {
        "border": rows.T @ (plain.curvature[:, None] * z),
        "corner": z.T @ (plain.curvature[:, None] * z),
        "vote_extra_gradient": plain.vote_gradient[:, None] * z,
    }
    e = Information(**parts)
    dense = {
        kind: (covariance(e, kind).diagonal(), extra_covariance(e, kind)) for kind in ("hessian", "sandwich", "cluster")
    }
    monkeypatch.setattr("podium.ranking.uncertainty.estimate.DENSE_LIMIT", 10)
    assert_allclose(many.variances(e), dense["hessian"][0], rtol=0.01)
    assert_allclose(many.variances(e, "cluster"), dense["cluster"][0], rtol=1e-4)
    assert np.median(many.variances(e, "sandwich") / dense["sandwich"][0]) == pytest.approx(1, abs=0.04)
    for kind, (_, expected) in dense.items():
        assert_allclose(extra_covariance(e, kind), expected, rtol=1e-4, atol=1e-9)


def test_many_items_in_groups_never_compared_have_no_intervals_without_a_penalty(monkeypatch):
    apart = Information(4, np.array([0, 2]), np.array([1, 3]), np.array([5.0, 5.0]))
    with pytest.raises(InputError, match="never compared"):
        many.variances(apart)


@settings(max_examples=25, deadline=None)
@given(st.integers(3, 40), st.integers(0, 2**32 - 1))
def test_the_sparse_inverse_diagonal_matches_the_dense_one_on_any_graph(n, seed):
    rng = np.random.default_rng(seed)
    extra = rng.integers(3 * n)
    left = np.concatenate([np.arange(1, n), rng.integers(n, size=extra)])
    right = np.concatenate([[rng.integers(i) for i in range(1, n)], rng.integers(n, size=extra)]).astype(int)
    keep = left != right
    e = Information(n, left[keep], right[keep], rng.exponential(size=keep.sum()) + 1e-3, ridge=rng.choice([0, 1e-3, 1]))
    made = graph.Graph(e)
    expected = covariance(e)
    assert_allclose(made.factor.inverse_diagonal(), expected.diagonal(), rtol=1e-7)
    force = rng.normal(size=(n, 2))
    force -= force.mean(axis=0)
    assert_allclose(made.factor.solve(force), expected @ force, atol=1e-6 * np.abs(expected).max())


def test_bootstrap_replicates_are_the_optima_of_the_redrawn_votes():
    """With cluster draws known from the same seed, each replicate must equal a fresh fit of the weighted votes."""
    rng = np.random.default_rng(16)
    left, right, won = reference.votes(rng, rng.normal(size=6), 240)
    judge = rng.integers(20, size=240)
    weight = rng.exponential(size=240)
    u = reference.fit(6, left, right, won, weight, l2=0.01)
    e = reference.information(6, left, right, won, weight, u, l2=0.01, clusters={"judge": judge})
    found = bootstrap(e, replicates=8, cluster="judge", rng=np.random.default_rng(3))
    times = np.random.default_rng(3).poisson(1.0, size=(8, 20))
    errors = np.sqrt(covariance(e).diagonal())
    for b in range(8):
        again = reference.fit(6, left, right, won, weight * times[b, judge], l2=0.01)
        assert_allclose(found[b], again - again.mean(), atol=0.01 * errors.min())


@pytest.mark.parametrize("weights", ["counts", "importance"])
def test_the_bootstrap_varies_as_the_sandwich_says(weights):
    rng = np.random.default_rng(17)
    left, right, won = reference.votes(rng, 0.5 * rng.normal(size=8), 2000)
    weight = np.ones(2000) if weights == "counts" else rng.exponential(size=2000)
    u = reference.fit(8, left, right, won, weight)
    e = reference.information(8, left, right, won, weight, u)
    found = score_covariance(e, "bootstrap", replicates=3000, seed=1)
    robust = np.sqrt(covariance(e, "sandwich").diagonal())
    assert_allclose(np.sqrt(found.variance), robust, rtol=0.08)  # 3000 replicates: sd to 1.3 %, plus second order
    same = score_covariance(e, "bootstrap", replicates=3000, seed=1)
    assert (same.matrix == found.matrix).all()


def test_a_pair_row_of_many_votes_is_redrawn_like_the_single_votes():
    """Merged rows (Σw, Σw²), with means small and large enough for the normal limit, spread as the single votes do."""
    wins, losses = np.array([400.0, 12.0, 7.0]), np.array([300.0, 9.0, 9.0])
    left, right = np.array([0, 0, 1]), np.array([1, 2, 2])
    rows = (np.tile(left, 2), np.tile(right, 2), np.repeat([1.0, 0.0], 3), np.concatenate([wins, losses]))
    u = reference.fit(3, *rows)
    chance = reference.sigmoid(u[left] - u[right])
    merged = Information(
        3,
        left,
        right,
        (wins + losses) * chance * (1 - chance),
        ridge=2e-3,
        vote_left=rows[0],
        vote_right=rows[1],
        vote_gradient=np.concatenate([chance - 1, chance]),
        vote_weight=rows[3],
        vote_weight_sq=rows[3],
        target=rows[2],
        scores=u,
    )
    found = score_covariance(merged, "bootstrap", replicates=4000, seed=2)
    assert_allclose(np.sqrt(found.variance), np.sqrt(covariance(merged, "sandwich").diagonal()), rtol=0.08)


def test_without_a_target_the_bootstrap_takes_one_step():
    rng = np.random.default_rng(18)
    plain = robust_information("random", rng, n=20)
    found = score_covariance(plain, "bootstrap", replicates=3000, seed=1)
    assert_allclose(np.sqrt(found.variance), np.sqrt(covariance(plain, "sandwich").diagonal()), rtol=0.08)


def test_replicates_that_lose_an_items_only_win_are_refitted_too():
    """The one upset is left out of a third of the replicates; their optimum is far away but penalised."""
    left, right = np.array([0, 0, 1, 1, 2]), np.array([1, 1, 2, 2, 0])
    won, weight = np.array([1.0, 0.0, 1.0, 0.0, 1.0]), np.array([30.0, 1.0, 5.0, 4.0, 2.0])
    u = reference.fit(3, left, right, won, weight, l2=0.05)
    e = reference.information(3, left, right, won, weight, u, l2=0.05)
    e = dataclasses.replace(e, vote_weight_sq=weight, clusters={"row": np.arange(5)})
    found = bootstrap(e, replicates=50, cluster="row", rng=np.random.default_rng(5))
    times = np.random.default_rng(5).poisson(1.0, size=(50, 5))
    errors = np.sqrt(covariance(e).diagonal())
    for b in range(50):
        again = reference.fit(3, left, right, won, weight * times[b], l2=0.05)
        assert_allclose(found[b], again - again.mean(), atol=0.01 * errors.min())


def test_the_bootstrap_says_what_it_cannot_do(season):
    with pytest.raises(InputError, match="replicates=1: it must be a whole number of at least 2"):
        bootstrap(season, replicates=1, rng=np.random.default_rng(0))
    big = Information(
        5001,
        *(np.zeros(1, dtype=int), np.ones(1, dtype=int), np.ones(1)),
        vote_left=np.zeros(1, dtype=int),
        vote_right=np.ones(1, dtype=int),
        vote_gradient=np.ones(1),
        vote_weight=np.ones(1),
        vote_weight_sq=np.ones(1),
    )
    with pytest.raises(InputError, match="above 5,000 use 'sandwich'"):
        bootstrap(big, rng=np.random.default_rng(0))


def test_beyond_the_limit_only_variances_are_held(monkeypatch):
    e = robust_information("random", np.random.default_rng(19))
    whole = score_covariance(e)
    monkeypatch.setattr("podium.ranking.uncertainty.estimate.DENSE_LIMIT", 100)
    alone = score_covariance(e)
    assert alone.matrix is None
    assert_allclose(alone.variance, whole.variance, rtol=0.02)
    u = np.random.default_rng(20).normal(size=e.n)
    strict, loose = rank_intervals(u, alone), rank_intervals(u, whole)
    assert (strict[0] <= loose[0]).mean() > 0.99  # no overlap is the stricter test
    assert (strict[1] >= loose[1]).mean() > 0.99


def test_features_of_many_items_match_the_dense_ones():
    rng = np.random.default_rng(21)
    plain = robust_information("random", rng)
    n, ridge = plain.n, 0.7
    x = rng.normal(size=(n, 3)) + 0.5
    parts = {f.name: getattr(plain, f.name) for f in dataclasses.fields(plain)}
    parts |= {
        "ridge": ridge,
        "border": -ridge * x,
        "corner": ridge * x.T @ x + 0.2 * np.eye(3),
        "vote_extra_gradient": np.zeros((len(plain.vote_gradient), 3)),  # votes see the scores alone
    }
    e = Information(**parts)
    assert not e.shift_free
    assert_allclose(many.variances(e), covariance(e).diagonal(), rtol=0.02)
    assert_allclose(many.variances(e, "cluster"), covariance(e, "cluster").diagonal(), rtol=1e-3)


def test_confidence_to_be_best_leaves_out_the_hopeless_only():
    """Three contenders and one far below: shares agree with independent draws of our own."""
    u = np.array([0.3, 0.0, -50.0, 0.1])
    c = np.diag([1.0, 0.5, 1.0, 2.0])
    draws = np.random.default_rng(22).multivariate_normal(u, c, size=40_000).argmax(axis=1)
    expected = np.bincount(draws, minlength=4) / 40_000
    assert_allclose(probability_best(u, ScoreCovariance(matrix=c)), expected, atol=0.02)
    assert_allclose(probability_best(u, ScoreCovariance(variances=np.diag(c))), expected, atol=0.02)


@pytest.mark.parametrize("kind", ["hessian", "sandwich", "cluster"])
@pytest.mark.parametrize("limit", [5000, 100])
def test_open_ended_items_leave_the_rest_as_it_was(kind, limit, monkeypatch):
    """Three items that met only each other, and one that beat a core item; dense and large n."""
    core = robust_information("random", np.random.default_rng(23), n=150)
    outside = np.isin(np.arange(154), [150, 151, 152])
    more = {"left": [150, 151, 153], "right": [151, 152, 0], "curvature": [0.2, 0.2, 1e-3]}
    more |= {"vote_left": more["left"], "vote_right": more["right"], "vote_gradient": [-0.3, -0.3, -0.01]}
    more |= {"vote_weight": [1.0] * 3, "vote_weight_sq": [1.0] * 3}
    joined = {name: np.concatenate([getattr(core, name), values]) for name, values in more.items()}
    clusters = {"judge": np.concatenate([core.clusters["judge"], [0, 1, 2]])}
    ends = {"open_above": outside | (np.arange(154) == 153), "open_below": outside}
    e = dataclasses.replace(core, n=154, clusters=clusters, **joined, **ends)
    expected = covariance(core, kind).diagonal()
    monkeypatch.setattr("podium.ranking.uncertainty.estimate.DENSE_LIMIT", limit)
    found = score_covariance(e, kind)
    assert (found.matrix is None) is (limit == 100)
    assert_allclose(found.variance[:150], expected, rtol=1e-9 if limit == 5000 else 0.05)
    assert np.isinf(found.variance[150:]).all()
    lower, upper = found.bounds(np.zeros(154), 1.959963984540054)
    assert np.isinf(lower[150:153]).all()
    assert np.isinf(upper[150:]).all()
    # One vote with margin log(0.99/0.01) is lost with chance 0.975 when the item lies log(0.99/0.01) + log(39) lower.
    assert lower[153] == pytest.approx(-np.log(99) - np.log(39))


def test_auto_is_the_sandwich_only_when_weights_are_not_counts(season):
    assert season.choose("auto") == "sandwich"
    assert_allclose(covariance(season, "auto"), covariance(season, "sandwich"))
    counted = dataclasses.replace(season, vote_weight=np.ones(600), vote_weight_sq=np.ones(600))
    assert counted.choose("auto") == "hessian"
    assert dataclasses.replace(season, vote_gradient=None).choose("auto") == "hessian"


@pytest.mark.parametrize("ridge", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("reach", [1, 4, 12])
@pytest.mark.parametrize(("limit", "open_ended"), [(5000, 0), (100, 0), (505, 10)])
def test_quick_standard_errors_of_who_meets_neighbours_only_are_exact(reach, ridge, limit, open_ended, monkeypatch):
    """A chain or a band, of more or fewer items than a matrix may have, or more with those whom the votes do not bound.

    The truth is the inverse of H less its mean, by NumPy.
    """
    monkeypatch.setattr("podium.ranking.uncertainty.estimate.MIN_QUICK_ITEMS", 200)
    monkeypatch.setattr("podium.ranking.uncertainty.estimate.DENSE_LIMIT", limit)
    monkeypatch.delattr("podium.ranking.uncertainty.estimate.covariance")
    rng = np.random.default_rng(25)
    n = 500
    left = np.repeat(np.arange(n - 1), 20)
    right = np.minimum(left + rng.integers(1, reach + 1, len(left)), n - 1)
    right[::20] = left[::20] + 1
    curvature = rng.uniform(0.05, 0.25, len(left))
    loose = np.arange(n + open_ended) >= n
    votes = (np.append(left, n + np.arange(open_ended)), np.append(right, np.zeros(open_ended, dtype=int)))
    curvatures, ends = np.append(curvature, np.full(open_ended, 1e-3)), {"open_above": loose, "open_below": loose}
    e = Information(n + open_ended, *votes, curvatures, ridge=ridge, **(ends if open_ended else {}))
    found = score_covariance(e, variances_only=True)
    assert found.matrix is None, "it did without"
    hessian = np.diag(np.full(n, ridge))
    for i, j, w in zip(left, right, curvature, strict=True):
        hessian[i, i] += w
        hessian[j, j] += w
        hessian[i, j] -= w
        hessian[j, i] -= w
    centring = np.eye(n) - 1 / n
    truth = centring @ np.linalg.pinv(hessian, hermitian=True) @ centring
    assert_allclose(found.variance[:n], truth.diagonal(), rtol=1e-7)
    assert np.isinf(found.variance[n:]).all()


@pytest.mark.parametrize(
    ("votes_per_item", "sd", "ridge"), [(10, 1.0, 0.0), (4, 1.0, 1.0), (60, 1.0, 1e-3), (10, 3.0, 0.5)]
)
def test_quick_standard_errors_are_those_of_the_dense_inverse(votes_per_item, sd, ridge, monkeypatch):
    """Within half a percent for 99 items in 100, whatever is taken: the series with exact solves, or the inverse."""
    monkeypatch.setattr("podium.ranking.uncertainty.estimate.MIN_QUICK_ITEMS", 200)
    rng = np.random.default_rng(24)
    n, m = 600, 600 * votes_per_item
    u = sd * rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    chance = 1 / (1 + np.exp(u[right] - u[left]))
    e = Information(n, left, right, chance * (1 - chance), ridge=ridge)
    found, whole = score_covariance(e, variances_only=True), score_covariance(e)
    assert whole.matrix is not None
    assert found.matrix is None
    off = np.abs(np.sqrt(found.variance / whole.variance) - 1)
    assert np.quantile(off, 0.99) < 0.005
    assert off.max() < 0.01


@pytest.mark.parametrize("name", ["chain", "star", "bridge"])
def test_where_the_series_is_wrong_quick_standard_errors_are_the_dense_ones(name, monkeypatch):
    monkeypatch.setattr("podium.ranking.uncertainty.estimate.MIN_QUICK_ITEMS", 100)
    e = robust_information(name, np.random.default_rng(25))
    found = score_covariance(e, variances_only=True)
    assert_allclose(found.variance, covariance(e).diagonal(), rtol=1e-9)


def test_standard_errors_do_not_depend_on_what_was_asked_before(monkeypatch):
    monkeypatch.setattr("podium.ranking.uncertainty.estimate.MIN_QUICK_ITEMS", 100)
    e = robust_information("random", np.random.default_rng(26))
    first, second = (Ranking(range(e.n), np.zeros(e.n), information=e, uncertainty="hessian") for _ in range(2))
    assert second.covariance is not None
    assert (first.std_errors == second.std_errors).all()
    assert not np.array_equal(first.std_errors, np.sqrt(first.covariance.diagonal()))
    assert (first.std_errors == second.std_errors).all()
    assert_allclose(first.std_errors, np.sqrt(first.covariance.diagonal()), rtol=0.01)
