"""Critical values on the very draws by plain loops, and what stands for matrices of very many items written out."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from podium.errors import DataWarning
from podium.ranking.uncertainty import Information, ScoreCovariance, critical, many, probability_best
from podium.ranking.uncertainty.chances import probability_best_over
from podium.ranking.uncertainty.graph import Graph
from podium.ranking.uncertainty.ranks import _leader, rank_intervals, tiers, top_set

import reference_uncertainty as reference


@pytest.fixture
def few_draws(monkeypatch):
    monkeypatch.setattr(critical, "DRAWS", 400)
    return 400


def case(seed, n=5, spread=2.0):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n, n + 1))
    return spread * rng.normal(size=n), ScoreCovariance(half @ half.T / n)


def ordered_draws(scores, covariance, draws):
    """Best first: the order of items, the draws, and the standard errors of all differences."""
    order = np.lexsort((covariance.variance, -scores))
    ordered = covariance.among(order)
    noise = np.concatenate(list(critical.noise_blocks(ordered, len(scores), draws)))
    matrix = ordered.matrix
    error = np.sqrt(matrix.diagonal()[:, None] + matrix.diagonal() - 2 * matrix)
    np.fill_diagonal(error, np.inf)
    return order, noise, error


def quantile(values, level):
    return np.quantile(values, level, axis=0, method="higher")


def width(level):
    return norm.ppf((1 + level) / 2)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("level", [0.95, 0.6])
def test_values_over_all_pairs_and_own_pairs_are_quantiles_of_the_largest_ratio(seed, level, few_draws):
    scores, covariance = case(seed)
    order, noise, error = ordered_draws(scores, covariance, few_draws)
    ratio = np.abs(noise[:, :, None] - noise[:, None, :]) / error
    pairs = min(quantile(ratio.max(axis=(1, 2)), level), width(1 - (1 - level) / 10))
    assert critical.all_pairs_value(scores, covariance, level) == pytest.approx(pairs)
    own = np.empty(5)
    own[order] = np.clip(quantile(ratio.max(axis=2), level), width(level), width(1 - (1 - level) / 4))
    assert_allclose(critical.own_pairs_values(scores, covariance, level), own)


@pytest.mark.parametrize("seed", range(6))
def test_a_stepped_value_leaves_out_what_is_rejected_until_nothing_more_is(seed, few_draws):
    scores, covariance = case(seed, spread=3.0)
    order, noise, error = ordered_draws(scores, covariance, few_draws)
    level, value = 0.9, critical.all_pairs_value(scores, covariance, 0.9)
    gaps = (scores[order][:, None] - scores[order]) / error
    signed = (noise[:, :, None] - noise[:, None, :]) / error
    rejected = 0
    while (gaps > value).sum() > rejected:
        rejected = (gaps > value).sum()
        left = np.where(gaps > value, -np.inf, signed)
        value = min(value, max(quantile(np.maximum(left.max(axis=(1, 2)), 0), level), width(level)))
    assert critical.stepped_value(scores, covariance, level) == pytest.approx(value)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("level", [0.9, 0.5])
def test_a_joint_value_is_that_of_the_most_certain_statement_a_draw_denies(seed, level, few_draws):
    scores, covariance = case(seed, spread=3.0)
    order, noise, error = ordered_draws(scores, covariance, few_draws)
    cautious = 1 - (1 - level) / 5
    gaps = (scores[order][:, None] - scores[order]) / error
    told = gaps > width(cautious)
    denied = []
    for each in noise + scores[order]:
        wrong = told & (each[:, None] <= each)
        denied.append(gaps[wrong].max(initial=0.0))
    wanted = max(quantile(denied, cautious), width(cautious)) if told.any() else width(cautious)
    assert critical.joint_value(scores, covariance, level) == pytest.approx(wanted)


def test_a_joint_value_is_kept_for_the_same_question_and_found_anew_for_another(few_draws, monkeypatch):
    asked = []
    found = critical._joint_value
    monkeypatch.setattr(critical, "_joint_value", lambda *given: asked.append(given[2]) or found(*given))
    scores, covariance = case(1)
    one = critical.joint_value(scores, covariance, 0.9)
    assert critical.joint_value(scores, covariance, 0.9) == one
    critical.joint_value(scores, covariance, 0.8)
    critical.joint_value(scores + np.arange(5), covariance, 0.9)
    critical.joint_value(scores, ScoreCovariance(covariance.matrix), 0.9)
    assert asked == pytest.approx([0.98, 0.96, 0.98, 0.98])


@pytest.mark.parametrize("limit", [5 * 5 * 400, 5 * 5 * 400 - 1])
def test_values_are_simulated_up_to_so_many_operations(limit, few_draws, monkeypatch):
    scores, covariance = case(2)
    simulated = critical.all_pairs_value(scores, covariance, 0.95)
    own = critical.own_pairs_values(scores, covariance, 0.95)
    joint = critical.joint_value(scores, ScoreCovariance(covariance.matrix), 0.95)
    monkeypatch.setattr(critical, "MAX_OPERATIONS", limit)
    again = critical.all_pairs_value(scores, covariance, 0.95)
    few = limit == 5 * 5 * 400
    assert again == pytest.approx(simulated if few else width(1 - 0.05 / 10))
    assert_allclose(critical.own_pairs_values(scores, covariance, 0.95), own if few else width(1 - 0.05 / 4))
    there = critical.joint_value(scores, ScoreCovariance(covariance.matrix), 0.95)
    assert there == pytest.approx(joint if few else width(1 - 0.05 / 10))


@pytest.mark.parametrize("limit", [5 * 5 * 400, 5 * 5 * 400 - 1])
def test_steps_are_taken_up_to_so_many_operations(limit, few_draws, monkeypatch):
    scores, covariance = np.array([0.0, 0.5, 20.0, 40.0, 60.0]), ScoreCovariance(np.eye(5))
    monkeypatch.setattr(critical, "MAX_STEPPED_OPERATIONS", limit)
    blunt = critical.all_pairs_value(scores, covariance, 0.95)
    stepped = critical.stepped_value(scores, covariance, 0.95)
    assert (stepped == blunt) == (limit < 5 * 5 * 400)
    assert stepped <= blunt


def test_items_that_do_not_vary_against_each_other_say_nothing(few_draws):
    """Two of three scores are one: their ratio is left out, not divided by nothing."""
    matrix = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    value = critical.all_pairs_value(np.array([1.0, 1.0, 0.0]), ScoreCovariance(matrix), 0.95)
    assert value == pytest.approx(norm.ppf(0.975), rel=0.15)  # one difference is left


# ---- ranks ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["pairwise", "guaranteed"])
@pytest.mark.parametrize("simultaneous", [False, True])
def test_rank_intervals_count_who_is_called_above_and_below(seed, method, simultaneous, few_draws):
    scores, covariance = case(seed, n=6, spread=1.5)
    level = 0.8
    if simultaneous:
        chosen = critical.joint_value if method == "pairwise" else critical.stepped_value
        values = np.full(6, chosen(scores, covariance, level))
    else:
        values = (
            np.full(6, width(level)) if method == "pairwise" else critical.own_pairs_values(scores, covariance, level)
        )
    best, worst = rank_intervals(scores, covariance, level, simultaneous, method)
    m = covariance.matrix
    for i in range(6):
        reach = [values[i] * np.sqrt(m[i, i] + m[j, j] - 2 * m[i, j]) for j in range(6)]
        assert best[i] == 1 + sum(scores[j] - scores[i] > reach[j] for j in range(6) if j != i)
        assert worst[i] == 6 - sum(scores[i] - scores[j] > reach[j] for j in range(6) if j != i)
    for k in range(1, 7):
        together = rank_intervals(scores, covariance, level, True, method)[0]
        assert top_set(scores, covariance, k, level, method).tolist() == (together <= k).tolist()


@pytest.mark.parametrize("method", ["pairwise", "guaranteed"])
@pytest.mark.parametrize("seed", range(3))
def test_tiers_are_found_greedily_from_the_top(seed, method, few_draws):
    scores, covariance = case(seed, n=8, spread=4.0)
    value = (critical.joint_value if method == "pairwise" else critical.stepped_value)(scores, covariance, 0.8)
    m, left, tier, number = covariance.matrix, sorted(range(8), key=lambda k: -scores[k]), [0] * 8, 0
    while left:
        number += 1
        first = left[0]
        below = [
            k for k in left if scores[first] - scores[k] > value * np.sqrt(m[k, k] + m[first, first] - 2 * m[k, first])
        ]
        for k in left:
            if k not in below:
                tier[k] = number
        left = below
    assert tiers(scores, covariance, 0.8, method).tolist() == tier
    assert number > 1


def test_ranks_and_tiers_are_at_95_percent_and_guaranteed_unless_told(few_draws):
    scores, covariance = case(0, n=6, spread=1.5)
    for found, wanted in (
        (rank_intervals(scores, covariance), rank_intervals(scores, covariance, 0.95, False, "guaranteed")),
        (tiers(scores, covariance), tiers(scores, covariance, 0.95, "guaranteed")),
        (top_set(scores, covariance, 2), top_set(scores, covariance, 2, 0.95, "guaranteed")),
    ):
        assert np.array(found).tolist() == np.array(wanted).tolist()


def test_who_leads_a_tier_among_open_ends():
    lower, upper = np.array([5.0, 1.0, 0.5, 2.5]), np.array([np.inf, 2.0, 1.5, 3.0])
    ends = ScoreCovariance(np.eye(4), open_above=np.array([True, False, False, False]))
    order = np.array([0, 1, 2, 3])
    assert _leader(order, ends, lower, upper) == 0  # its lower end is above the upper one of the best bounded item
    assert _leader(order, ends, np.array([1.9, 1.0, 0.5, 2.5]), upper) == 1
    assert _leader(order, ends, np.array([2.0, 1.0, 0.5, 0.5]), upper) == 1  # as high is not above
    assert _leader(order[:1], ends, lower, upper) == 0
    assert _leader(order[1:], ends, lower, upper) == 1
    assert _leader(order[2:], ScoreCovariance(np.eye(4)), lower, upper) == 2


# ---- who is best ----------------------------------------------------------------------------------------------------


def test_firsts_are_counted_among_the_draws():
    scores, covariance = np.array([0.5, 0.0, -0.2, -30.0]), ScoreCovariance(np.diag([1.0, 0.5, 2.0, 1.0]))
    noise = np.concatenate(list(critical.noise_blocks(covariance.among(np.arange(3)), 3, 1000)))
    first = np.bincount((scores[:3] + noise).argmax(axis=1), minlength=3) / 1000
    assert_allclose(probability_best(scores, covariance, 1000), [*first, 0.0])


def test_six_errors_below_the_first_an_item_is_hopeless():
    covariance = ScoreCovariance(np.diag([0.5, 0.5, 0.5]))  # differences have an error of 1
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        blocks = critical.noise_blocks
        patch.setattr(
            "podium.ranking.uncertainty.chances.noise_blocks",
            lambda covariance, n, draws, stream: seen.append(n) or blocks(covariance, n, draws, stream),
        )
        probability_best(np.array([6.0, 0.0, -0.01]), covariance, 10)
    assert seen == [2]


def test_draws_are_dealt_to_posteriors_by_their_shares():
    one, two, three = (np.array([0.0, 50.0]), np.array([50.0, 0.0]), np.array([0.0, 50.0]))
    sure = ScoreCovariance(np.eye(2))
    possible = [(0.25, one, sure), (0.4, two, sure), (0.35, three, sure)]
    assert probability_best_over(possible, 100).tolist() == [0.4, 0.6]
    assert probability_best_over([(0.0, one, sure), (1.0, two, sure)], 10).tolist() == [1.0, 0.0]
    assert probability_best_over([(0.34, one, sure), (0.66, two, sure)], 3).tolist() == pytest.approx([2 / 3, 1 / 3])


# ---- very many items ------------------------------------------------------------------------------------------------


def robust(seed=0, n=30, m=200, extras=0, lonely=0):
    rng = np.random.default_rng(seed)
    left = rng.integers(n, size=m)
    right = (left + rng.integers(1, n, size=m)) % n
    weight = rng.uniform(0.5, 2.0, m)
    codes = rng.integers(0, 12, m)
    codes[:lonely] = -1
    more = {}
    if extras:
        z = rng.normal(size=(m, extras))
        more = {"border": rng.normal(size=(n, extras)), "corner": 50 * np.eye(extras), "vote_extra_gradient": z}
    return Information(
        n, left, right, rng.uniform(0.1, 0.3, m), ridge=0.3, vote_left=left, vote_right=right,
        vote_gradient=rng.normal(size=m), vote_weight=weight, vote_weight_sq=1.5 * weight**2,
        clusters={"judge": codes}, **more,
    )  # fmt: skip


def dense_gradients(e, cluster):
    """Rows of gradients, of votes or of clusters: Σ g gᵀ is their covariance."""
    rows = reference.directions(e.n, e.vote_left, e.vote_right)
    if e.extras:
        rows = np.hstack([rows * e.vote_gradient[:, None], e.vote_extra_gradient])
    else:
        rows = rows * e.vote_gradient[:, None]
    alone = rows * np.sqrt(e.vote_weight_sq)[:, None]
    if cluster is None:
        return alone
    codes = e.clusters[cluster]
    sums = [(rows * e.vote_weight[:, None])[codes == c].sum(axis=0) for c in np.unique(codes[codes >= 0])]
    count = len(sums) + (codes < 0).sum()
    return np.vstack([*sums, alone[codes < 0]]) * np.sqrt(count / (count - 1))


@pytest.mark.parametrize("extras", [0, 2])
@pytest.mark.parametrize(("cluster", "lonely"), [(None, 0), ("judge", 0), ("judge", 9)])
def test_the_root_of_gradients_is_that_of_all_rows_written_out(extras, cluster, lonely):
    e = robust(extras=extras, lonely=lonely)
    made, rows = many._Gradients(e, cluster), dense_gradients(e, cluster)
    whole = rows.T @ rows
    assert_allclose((made.root.T @ made.root).todense(), whole, atol=1e-9)
    assert_allclose(made.diagonal(), whole.diagonal()[: e.n])
    columns = np.random.default_rng(1).normal(size=(e.n + extras, 3))
    assert_allclose(made.along(columns), columns.T @ whole @ columns)
    mixes = made.mixes(4000, np.random.default_rng(2))
    assert_allclose((mixes @ mixes.T / 4000).diagonal(), whole.diagonal(), rtol=0.25)


def test_the_robust_series_is_the_second_order_of_the_inverse():
    """(D − W)⁻¹ M (D − W)⁻¹, what gradients share taken to the first order only."""
    e = robust()
    made, gradients = Graph(e), many._Gradients(e, None)
    d, w = np.diag(1 / made.diagonal), made.across.toarray()
    shared = -gradients.across.toarray()
    own = np.diag(-shared.sum(axis=1))
    first, second = d @ w @ d, d @ w @ d @ w @ d
    whole = d @ own @ d + 2 * first @ shared @ d + first @ own @ first + 2 * second @ own @ d
    assert_allclose(many._robust_series(made, gradients), whole.diagonal())
    clustered = many._Gradients(e, "judge")
    wanted = whole.diagonal() * clustered.diagonal() / own.diagonal()
    assert_allclose(many._robust_series(made, clustered), wanted)


@pytest.mark.parametrize("extras", [0, 2])
@pytest.mark.parametrize("lonely", [0, 9])
def test_columns_of_clusters_are_solved_one_by_one(extras, lonely):
    e = robust(extras=extras, lonely=lonely)
    bread = whole_inverse(e)
    rows = dense_gradients(e, "judge")
    wanted = (bread @ rows.T @ rows @ bread).diagonal()[: e.n]
    made = Graph(e)
    assert_allclose(many._robust_columns(made, e, many._Gradients(e, "judge")), wanted, rtol=1e-4)


def whole_inverse(e):
    hessian = reference.hessian(e.n, e.left, e.right, e.curvature, e.ridge)
    if e.extras:
        hessian = np.block([[hessian, e.border], [e.border.T, e.corner]])
    return reference.centred_inverse(hessian, e.n)


def test_extra_parameters_are_seen_through_the_scores():
    e = robust(extras=2)
    whole = np.block(
        [[reference.hessian(e.n, e.left, e.right, e.curvature, e.ridge), e.border], [e.border.T, e.corner]]
    )
    inverse = np.linalg.inv(whole)[e.n :, e.n :]
    assert_allclose(many.extra_covariance_of_many(e, "hessian", None), inverse, rtol=1e-4, atol=1e-8)
    centred = dataclasses.replace(e, border=e.border - e.border.mean(axis=0))
    whole = np.block(
        [[reference.hessian(e.n, e.left, e.right, e.curvature, e.ridge), centred.border], [centred.border.T, e.corner]]
    )
    bread = np.linalg.inv(whole)
    for cluster in (None, "judge"):
        rows = dense_gradients(centred, cluster)
        robust_one = (bread @ rows.T @ rows @ bread)[e.n :, e.n :]
        kind = "sandwich" if cluster is None else "cluster"
        assert_allclose(many.extra_covariance_of_many(centred, kind, cluster), robust_one, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_probes_in_all_directions_are_exact(ridge, monkeypatch):
    """With as many loose directions as items nothing is left to probe."""
    e = dataclasses.replace(robust(), ridge=ridge)
    monkeypatch.setattr(many, "DEFLATED_DIRECTIONS", 29)
    wanted = reference.centred_inverse(reference.hessian(e.n, e.left, e.right, e.curvature, ridge), e.n).diagonal()
    assert_allclose(many._hessian_probes(Graph(e)), wanted, rtol=1e-3)


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
def test_the_series_of_variances_differs_from_the_inverse_in_circles_only(ridge):
    """B = (A + d dᵀ/Σd)⁻¹, d the diagonal of A: the series gives B's diagonal but for circles, by precisions of a tree
    and −2·degree/(d Σd); all else, the mean taken out and d dᵀ/Σd with it, is exact."""
    e = dataclasses.replace(robust(n=20, m=150), ridge=ridge)
    made = Graph(e)
    d, n = made.diagonal, e.n
    total = d.sum()
    whole = reference.hessian(n, e.left, e.right, e.curvature, ridge)
    inverse = np.linalg.inv(whole + np.outer(d, d) / total)
    ones = inverse.sum(axis=1)
    along = inverse @ d
    centred = along - along.mean()
    wanted = 1 / many.item_precisions(made.pairs, d, many.SETTLED) - 2 * (d - ridge) / (total * d)
    wanted += ones.sum() / n**2 - 2 * ones / n
    if ridge:
        wanted += centred**2 / (total - d @ along)
    assert_allclose(many._hessian_series(made), wanted, rtol=1e-4)


def test_a_tree_without_a_penalty_has_no_series():
    chain = Information(5, np.arange(4), np.arange(1, 5), np.ones(4))
    assert many._hessian_series(Graph(chain)) is None


def test_weighted_errors_of_many_items_vary_as_the_model_says():
    from podium.ranking.uncertainty.information import WeightedInformation

    plain = robust()
    squared = np.random.default_rng(5).uniform(0.1, 0.4, len(plain.left))
    e = WeightedInformation(plain.n, plain.left, plain.right, plain.curvature, ridge=0.3, squared_curvature=squared,
                            vote_left=plain.vote_left, vote_right=plain.vote_right, vote_gradient=plain.vote_gradient,
                            vote_weight=plain.vote_weight, vote_weight_sq=plain.vote_weight_sq)  # fmt: skip
    kind, changed = many._with_gradients("weighted", e)
    assert kind == "sandwich"
    gradients = many._Gradients(changed, None)
    meat = reference.hessian(e.n, e.left, e.right, squared, 0.0)
    assert_allclose((gradients.root.T @ gradients.root).todense(), meat, atol=1e-12)
    assert (changed.target, changed.clusters) == (None, {})
    bread = whole_inverse(e)
    assert_allclose(many.variances(e, "auto"), (bread @ meat @ bread).diagonal(), rtol=0.05)
    assert many._with_gradients("hessian", e) == ("hessian", e)
    with_more = dataclasses.replace(
        e, border=np.ones((e.n, 1)), corner=np.eye(1), squared_border=np.ones((e.n, 1)), squared_corner=np.eye(1),
        vote_extra_gradient=np.ones((len(e.left), 1)),
    )  # fmt: skip
    assert many._with_gradients("weighted", with_more) == ("sandwich", with_more)


def test_no_variance_is_less_than_with_all_others_held_fixed(monkeypatch):
    e = robust()
    made = Graph(e)
    monkeypatch.setattr(Graph, "must_solve", lambda self, force: np.zeros_like(force))  # as if nothing was found
    assert_allclose(many._hessian_probes(made), (1 - 1 / e.n) ** 2 / made.diagonal)


def test_as_many_clusters_as_probes_are_solved_one_by_one_and_more_are_mixed(monkeypatch):
    e = robust()
    bread, rows = whole_inverse(e), dense_gradients(e, "judge")
    wanted = (bread @ rows.T @ rows @ bread).diagonal()
    made, gradients = Graph(e), many._Gradients(e, "judge")
    monkeypatch.setattr(many, "PROBES", 12)
    assert_allclose(many._robust_columns(made, e, gradients), wanted, rtol=1e-4)
    monkeypatch.setattr(many, "PROBES", 11)
    with pytest.warns(DataWarning, match=r"random probes and are good to about 21 %"):  # 1 / sqrt(2 · 11)
        mixed = many._robust_columns(made, e, gradients)
    assert not np.allclose(mixed, wanted, rtol=1e-2)


def test_mixes_of_votes_have_the_variances_on_average(monkeypatch):
    e = robust()
    bread, rows = whole_inverse(e), dense_gradients(e, None)
    wanted = (bread @ rows.T @ rows @ bread).diagonal()
    monkeypatch.setattr(many, "PROBES", 160)
    monkeypatch.setattr(many, "_warn_of_noise", lambda share: None)
    found = many._robust_columns(Graph(e), e, many._Gradients(e, None))
    assert np.mean(found / wanted) == pytest.approx(1, abs=0.06)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("level", [0.95, 0.6])
def test_values_of_the_fewest_items_are_quantiles_too(n, level, few_draws):
    scores, covariance = case(3, n=n)
    order, noise, error = ordered_draws(scores, covariance, few_draws)
    ratio = np.abs(noise[:, :, None] - noise[:, None, :]) / error
    pairs = min(quantile(ratio.max(axis=(1, 2)), level), width(1 - (1 - level) / (n * (n - 1) / 2)))
    assert critical.all_pairs_value(scores, covariance, level) == pytest.approx(pairs)
    own = np.full(n, width(level))
    if n > 2:
        own[order] = np.clip(quantile(ratio.max(axis=2), level), width(level), width(1 - (1 - level) / 2))
    assert_allclose(critical.own_pairs_values(scores, covariance, level), own)


def test_one_item_has_the_plain_value(few_draws):
    alone = ScoreCovariance(np.eye(1))
    for value in (critical.all_pairs_value, critical.stepped_value, critical.joint_value):
        assert value(np.zeros(1), alone, 0.9) == pytest.approx(
            width(0.9 if value is not critical.joint_value else 0.98)
        )
    assert critical.own_pairs_values(np.zeros(1), alone, 0.9).tolist() == pytest.approx([width(0.9)])


@pytest.mark.parametrize("bounded", [0, 1, 2, 3])
def test_open_items_take_a_share_of_the_error_and_the_rest_is_that_of_the_others(bounded, few_draws):
    """Of n = 5 at 0.9: each open item has 0.1 / 5, the pairs of the others 0.1 · bounded / 5 together."""
    scores, covariance = case(5)
    mask = np.arange(5) >= bounded
    opened = ScoreCovariance(covariance.matrix, open_above=mask)
    ends, rest = width(1 - 0.1 / 5), 1 - 0.1 * bounded / 5
    kept = np.lexsort((covariance.variance, -scores))
    kept = kept[~mask[kept]]
    inner = covariance.among(kept)
    for value in (critical.all_pairs_value, critical.stepped_value):
        wanted = max(ends, value(scores[kept], inner, rest)) if bounded > 1 else ends
        assert value(scores, opened, 0.9) == pytest.approx(wanted)
    own = np.full(5, ends)
    if bounded > 1:
        own[kept] = np.maximum(ends, critical.own_pairs_values(scores[kept], inner, rest))
    assert_allclose(critical.own_pairs_values(scores, opened, 0.9), own)
    assert critical.joint_value(scores, opened, 0.9) == pytest.approx(critical.all_pairs_value(scores, opened, 0.9))


def test_without_covariances_intervals_that_touch_do_not_part():
    """Scores without error: equal ones share all their ranks, others are parted."""
    sure = ScoreCovariance(variances=np.zeros(5))
    best, worst = rank_intervals(np.array([2.0, 1.0, 1.0, 1.0, 0.0]), sure)
    assert best.tolist() == [1, 2, 2, 2, 5]
    assert worst.tolist() == [1, 4, 4, 4, 5]


def test_a_spread_that_is_impossible_stays_so():
    from podium.ranking.uncertainty.information import Alternative
    from podium.ranking.uncertainty.worth import posteriors

    e = robust(n=4, m=20)
    parts = tuple(
        Alternative(share, e.curvature, ridge, None, None, np.zeros(4)) for share, ridge in ((0.0, 0.5), (1.0, 2.0))
    )
    found = posteriors(dataclasses.replace(e, ridge=2.0, alternatives=parts), np.linspace(1, -1, 4), 0.5)
    assert found[0][0] == 0.0


@pytest.mark.parametrize("side", ["open_above", "open_below"])
def test_a_posterior_has_both_ends(side):
    from podium.ranking.uncertainty.posterior import posterior_covariance

    e = robust(n=4, m=20)
    opened = posterior_covariance(dataclasses.replace(e, **{side: np.arange(4) == 1}))
    assert opened.open_ended is None
    assert_allclose(opened.matrix, posterior_covariance(e).matrix)


@pytest.mark.parametrize(("level", "wanted"), [(0.0, 1.0), (0.5, 3.0), (0.6, 4.0), (1.0, 5.0)])
def test_each_draw_is_measured_once_in_its_place(level, wanted, monkeypatch):
    """Five draws in blocks of three and two, of which the k-th measures k; of two the higher is the quantile."""
    monkeypatch.setattr(critical, "DRAWS", 5)
    monkeypatch.setattr(
        critical, "noise_blocks", lambda covariance, n, draws: (np.full((rows, n), rows) for rows in (3, 2))
    )
    begun = iter((1.0, 4.0))

    def measure(noise, table, largest):
        assert noise.shape == (len(largest), 2)
        assert noise.flags.c_contiguous
        largest[:] = next(begun) + np.arange(len(largest))

    assert critical._simulated(ScoreCovariance(np.eye(2)), None, measure, level) == wanted


def test_each_posterior_has_draws_of_its_own():
    scores, covariance = np.array([0.3, 0.0]), ScoreCovariance(np.eye(2))
    wanted = np.zeros(2)
    for stream, draws in ((0, 300), (1, 700)):
        noise = np.concatenate(list(critical.noise_blocks(covariance, 2, draws, stream)))
        wanted += np.bincount((scores + noise).argmax(axis=1), minlength=2)
    found = probability_best_over([(0.3, scores, covariance), (0.7, scores, covariance)], 1000)
    assert_allclose(found, wanted / 1000)
    alone = np.concatenate(list(critical.noise_blocks(covariance, 2, 500)))
    first = np.bincount((scores + alone).argmax(axis=1), minlength=2)
    assert_allclose(probability_best(scores, covariance, 500), first / 500)
