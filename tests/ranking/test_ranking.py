"""Ranking: order, table, words, and what it refuses."""

import pickle
from functools import partial

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import podium
import podium.ranking.uncertainty as inference
from podium.errors import DataWarning, InputError
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import settled

import reference_uncertainty as reference
from helpers import thin_data

ELO = 400 / np.log(10)


def fitted(shift=0.0, unit=1.0, lazily=False, posterior=False, **more):
    rng = np.random.default_rng(7)
    truth = np.array([1.0, -1.0, 0.5, 0.0])
    left, right, won = reference.votes(rng, truth, 200)
    u = reference.fit(4, left, right, won, np.ones(200))
    judge = rng.permutation(200) % 40
    e = reference.information(4, left, right, won, np.ones(200), u, clusters={"judge": judge}, **more)
    record = (np.array([1.0, 2, 3, 4]), np.array([4.0, 3, 2, 1]), np.zeros(4))
    return Ranking(
        ["ale", "bun", "cod", "dip"],
        shift + unit * u,
        information=(lambda: e) if lazily else e,
        posterior=e if posterior else None,
        unit=unit,
        record=record,
    )


def test_equal_scores_keep_the_order_of_the_items_and_share_a_rank():
    ranking = Ranking("abcd", [1, 3, 1, 3])
    assert ranking.order == ("b", "d", "a", "c")
    assert list(ranking) == ["b", "d", "a", "c"]
    assert ranking.ranks.tolist() == [3, 1, 3, 1]
    assert len(ranking) == 4


def test_an_unknown_item_is_named_with_the_nearest_labels():
    ranking = Ranking(["gpt-large", "llama", "mistral"], [1, 2, 3])
    with pytest.raises(InputError, match=r"'gpt-larg' is not in this ranking; did you mean 'gpt-large'\?"):
        ranking.score("gpt-larg")
    with pytest.raises(InputError, match="the 3 items are in `items`"):
        ranking.score(["zzz"])


def test_scores_must_match_the_items_and_be_finite():
    with pytest.raises(InputError, match="2 items: give as many scores"):
        Ranking("ab", [1.0])
    with pytest.raises(InputError, match="the score of 'b' is nan"):
        Ranking("ab", [1.0, np.nan])


def test_a_ranking_of_scores_only_has_no_intervals_and_says_so():
    ranking = Ranking("ab", [1.0, 2.0])
    assert ranking.std_errors is None
    for ask in (ranking.intervals, ranking.rank_intervals, ranking.tiers, ranking.probability_best):
        with pytest.raises(InputError, match="scores only, so no intervals exist"):
            ask()
    frame = ranking.to_frame()
    assert frame["item"].to_list() == ["b", "a"]
    assert frame["lower"].null_count() == frame["tier"].null_count() == frame["wins"].null_count() == 2
    assert "no intervals" in repr(ranking)


def test_the_table_has_the_pinned_columns_best_first():
    frame = fitted().to_frame()
    assert frame.columns == (
        [
            "item",
            "score",
            "std_error",
            "lower",
            "upper",
            "rank",
            "rank_lower",
            "rank_upper",
            "tier",
            "wins",
            "losses",
            "ties",
            "comparisons",
        ]
    )
    assert frame["score"].is_sorted(descending=True)
    assert frame["rank"].to_list() == [1, 2, 3, 4]
    assert frame["comparisons"].to_list() == [5.0] * 4
    assert ((frame["rank_lower"] <= frame["rank"]) & (frame["rank"] <= frame["rank_upper"])).all()
    assert_allclose(frame["upper"] - frame["score"], 1.959963984540054 * frame["std_error"], rtol=1e-12)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.999])
def test_the_level_reaches_every_end_of_an_interval(level):
    width = scipy.stats.norm.ppf((1 + level) / 2)
    ranking = fitted(posterior=True)
    frame = ranking.to_frame(level)
    assert_allclose(frame["upper"] - frame["score"], width * frame["std_error"], rtol=1e-9)
    assert_allclose(frame["score"] - frame["lower"], width * frame["std_error"], rtol=1e-9)
    gap = ranking.scores[:, None] - ranking.scores
    covariance = inference.covariance(ranking.information)
    error = np.sqrt(covariance.diagonal()[:, None] + covariance.diagonal() - 2 * covariance + np.eye(4))
    best, worst = 1 + (gap < -width * error).sum(axis=1), 4 - (gap > width * error).sum(axis=1)
    assert_allclose(ranking.rank_intervals(level), (best, worst))
    assert_allclose(frame.sort("item")[["rank_lower", "rank_upper"]].to_numpy().T, (best, worst))
    first = int(ranking.scores.argmax())
    assert (ranking.tier_numbers(level)[gap[first] <= width * error[first]] == 1).all()
    newcomer = five_and_a_newcomer()[1]
    lower = newcomer.intervals(level)[0][5]
    assert np.prod(reference.sigmoid(lower - newcomer.scores[:3])) == pytest.approx((1 - level) / 2, rel=1e-6)


def test_an_anchor_moves_the_bounds_but_no_width_rank_or_tier():
    here, there = fitted(), fitted(shift=1000.0, unit=ELO)
    assert_allclose(there.std_errors, ELO * here.std_errors, rtol=1e-9)
    for reference_item in ("mean", "bun"):
        low, high = here.intervals(reference=reference_item)
        low_moved, high_moved = there.intervals(reference=reference_item)
        assert_allclose(low_moved, 1000 + ELO * low, rtol=1e-9)
        assert_allclose(high_moved, 1000 + ELO * high, rtol=1e-9)
    assert_allclose(there.rank_intervals(), here.rank_intervals())
    assert there.tiers() == here.tiers()
    assert there.probability_above("ale", "bun") == pytest.approx(here.probability_above("ale", "bun"))


def test_against_an_item_the_bounds_are_those_of_the_difference():
    ranking = fitted()
    c = reference.centred_inverse(
        reference.hessian(4, *[getattr(ranking.information, k) for k in ("left", "right", "curvature")], 2e-3), 4
    )
    lower, upper = ranking.intervals(level=0.9, reference="cod")
    se = np.sqrt(np.diag(c) + c[2, 2] - 2 * c[2])
    assert_allclose(upper - lower, 2 * 1.6448536269514722 * se, atol=1e-9)
    assert lower[2] == upper[2] == ranking.score("cod")


def test_an_item_that_only_wins_is_open_above_to_rank_one():
    ranking = fitted(open_above=np.array([False, True, False, False]))
    assert ranking.std_errors[1] == np.inf
    lower, upper = ranking.intervals()
    assert upper[1] == np.inf
    assert np.isfinite(lower[1])
    assert ranking.rank_intervals()[0][1] == 1
    assert ranking.to_frame(simultaneous=True).filter(item="bun")["rank_lower"].item() == 1
    assert "∞" in repr(ranking)


def test_evidence_is_made_on_first_use_and_once():
    calls = []

    def make():
        calls.append(1)
        return fitted().information

    ranking = Ranking(["ale", "bun", "cod", "dip"], [1, 2, 3, 4], information=make)
    assert ranking.order[0] == "dip"
    assert calls == []
    assert ranking.std_errors is not None
    assert ranking.tiers()
    assert calls == [1]


def test_other_uncertainty_keeps_the_scores():
    ranking = fitted()
    robust = ranking.with_uncertainty("cluster")
    assert robust.cluster == "judge"
    assert_allclose(robust.scores, ranking.scores)
    assert not np.allclose(robust.std_errors, ranking.std_errors)
    assert robust != ranking
    assert "clustered by judge" in repr(robust)
    with pytest.raises(InputError, match="scores only"):
        Ranking("ab", [1, 2]).with_uncertainty("sandwich")


@pytest.mark.parametrize("how", ["pickle", "file"])
def test_a_ranking_survives_storage_even_before_its_evidence_was_made(how, tmp_path):
    ranking = fitted(lazily=True)
    if how == "pickle":
        again = pickle.loads(pickle.dumps(ranking))
    else:
        podium.save(ranking, tmp_path / "r.podium")
        again = podium.load(tmp_path / "r.podium")
    assert again == ranking
    assert_allclose(again.std_errors, ranking.std_errors)
    assert again.to_frame().equals(ranking.to_frame())
    assert_allclose(again.with_uncertainty("cluster").std_errors, ranking.with_uncertainty("cluster").std_errors)


def test_the_printed_table_is_aligned_and_short():
    ranking = Ranking([f"item {i}" for i in range(50)], np.arange(50))
    lines = repr(ranking).splitlines()
    assert lines[0].split() == ["rank", "item", "score"]
    assert lines[1].split() == ["1", "item", "49", "49.00"]
    assert len({len(line) for line in lines[:21]}) == 1
    assert lines[21] == "… and 30 more"


def test_notebook_html_escapes_labels():
    page = Ranking(["<script>alert(1)</script>", "b"], [1, 2], note="a < b")._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "a &lt; b" in page


def test_labels_of_mixed_types_become_text_in_the_table():
    assert Ranking([1, "a"], [2, 1]).to_frame()["item"].to_list() == ["1", "a"]
    assert Ranking([10, 20], [2, 1]).to_frame()["item"].to_list() == [10, 20]


def test_a_bootstrap_is_kept_when_stored(tmp_path):
    ranking = fitted().with_uncertainty("bootstrap", replicates=50)  # no seed: it could not be drawn again
    podium.save(ranking, tmp_path / "r.podium")
    assert_allclose(podium.load(tmp_path / "r.podium").std_errors, ranking.std_errors)
    assert_allclose(pickle.loads(pickle.dumps(ranking)).std_errors, ranking.std_errors)
    assert "bootstrap" in repr(ranking)


def test_six_thousand_items_print_without_waiting_and_have_intervals_when_asked():
    rng = np.random.default_rng(8)
    n = 6000
    truth = rng.normal(size=n)
    left, right, won = reference.votes(rng, truth, 30 * n)
    e = reference.information(n, left, right, won, np.ones(30 * n), truth)
    ranking = Ranking(range(n), truth, information=e)
    assert "computed when asked for" in repr(ranking)
    lower, upper = ranking.intervals()
    assert (lower < truth).all()
    assert (truth < upper).all()
    best, worst = ranking.rank_intervals()
    assert ((best <= ranking.ranks) & (ranking.ranks <= worst)).all()
    wide_best, wide_worst = ranking.rank_intervals(simultaneous=True)
    assert ((wide_best <= best) & (worst <= wide_worst)).all()
    assert ranking.tiers()[0][0] == ranking.order[0]
    assert ranking.probability_best().sum() == pytest.approx(1)


def five_and_a_newcomer(wins=3, l2=1e-3, **more):
    """Three hundred votes on five items, and `new`, who won every one of a few more; the same without `new`."""
    rng = np.random.default_rng(4)
    left, right, won = reference.votes(rng, np.array([1.2, 0.4, 0.3, -0.6, -1.3]), 300)
    known = reference.fit(5, left, right, won, np.ones(300), l2=l2)
    before = Ranking("abcde", known, information=reference.information(5, left, right, won, np.ones(300), known, l2=l2))
    left = np.concatenate([left, np.full(wins, 5)])
    right, won = np.concatenate([right, np.arange(wins) % 3]), np.concatenate([won, np.ones(wins)])
    u = reference.fit(6, left, right, won, np.ones(len(won)), l2=l2)
    ends = {"open_above": np.arange(6) == 5, "open_below": np.zeros(6, dtype=bool)}
    e = reference.information(6, left, right, won, np.ones(len(won)), u, l2=l2, **ends)
    return before, Ranking([*"abcde", "new"], u, information=e, **more)


@pytest.mark.parametrize("l2", [1e-3, 1e-6])
@pytest.mark.parametrize("kind", ["hessian", "sandwich", "bootstrap"])
def test_an_undefeated_newcomer_leaves_the_intervals_of_the_others_alone(kind, l2):
    before, after = five_and_a_newcomer(l2=l2)
    plain = before.with_uncertainty(kind, seed=1).std_errors
    assert_allclose(
        after.with_uncertainty(kind, seed=1).std_errors[:5], plain, rtol=0.08 if kind == "bootstrap" else 0.02
    )
    assert "relative to the mean of the 5 bounded items" in repr(after)


@pytest.mark.parametrize("l2", [1e-3, 1e-6])
def test_the_finite_end_of_an_undefeated_item_is_where_its_wins_become_improbable(l2):
    ranking = five_and_a_newcomer(l2=l2)[1]
    lower, upper = ranking.intervals()
    chances = reference.sigmoid(lower[5] - ranking.scores[:3])
    assert np.prod(chances) == pytest.approx(0.025, rel=1e-6)  # Clopper & Pearson for three opponents
    assert upper[5] == np.inf


def test_a_newcomer_drags_nobody_into_its_tier_and_has_no_confidence():
    before, ranking = five_and_a_newcomer()
    tiers = before.tiers(1 - 0.05 * 5 / 6)  # the newcomer takes its share of the error allowed
    assert ranking.tiers() == [("new", *tiers[0]), *tiers[1:]]
    assert ranking.rank_intervals()[0][5] == 1
    assert "new" in ranking.top_set(1)
    assert np.isnan(ranking.probability_above("new", "a"))
    best = ranking.probability_best()
    assert np.isnan(best[5])
    assert best[:5].sum() == pytest.approx(1)


def test_a_champion_with_many_wins_has_a_tier_of_its_own():
    before, ranking = five_and_a_newcomer(wins=90)
    assert ranking.tiers() == [("new",), *before.tiers(1 - 0.05 * 5 / 6)]
    assert ranking.rank_intervals()[1][5] == 1


def test_against_an_open_ended_item_all_others_are_open_below():
    ranking = five_and_a_newcomer()[1]
    lower, upper = ranking.intervals(reference="new")
    assert (lower[:5] == -np.inf).all()
    assert np.isfinite(upper[:5]).all()
    assert lower[5] == upper[5] == ranking.score("new")


def weighted(**more):
    rng = np.random.default_rng(9)
    left, right, won = reference.votes(rng, np.zeros(4), 200)
    weight = rng.exponential(size=200)
    u = reference.fit(4, left, right, won, weight)
    return Ranking("abcd", u, information=reference.information(4, left, right, won, weight, u), **more)


def test_weights_that_are_not_counts_get_the_sandwich_and_say_so():
    ranking = weighted()
    assert_allclose(ranking.std_errors, ranking.with_uncertainty("sandwich").std_errors)
    assert "sandwich, as weights are not counts" in repr(ranking)
    assert not np.allclose(ranking.std_errors, weighted(uncertainty="hessian").std_errors)
    assert_allclose(fitted().std_errors, fitted().with_uncertainty("hessian").std_errors)


def clustered(count):
    rng = np.random.default_rng(9)
    left, right, won = reference.votes(rng, np.zeros(4), 200)
    u = reference.fit(4, left, right, won, np.ones(200))
    e = reference.information(4, left, right, won, np.ones(200), u, clusters={"ranking": rng.permutation(200) % count})
    return Ranking("abcd", u, information=e, uncertainty="cluster", cluster="ranking")


def test_few_clusters_are_warned_of_and_named_below_the_table():
    with pytest.warns(DataWarning, match="there are 7 rankings only"):
        assert clustered(7).std_errors is not None
    assert "there are 7 rankings only" in repr(clustered(7))
    assert clustered(30).std_errors is not None


def test_a_single_cluster_falls_back_and_says_so():
    alone = clustered(1)
    with pytest.warns(DataWarning, match="all votes are of one ranking"):
        assert_allclose(alone.std_errors, clustered(40).with_uncertainty("hessian").std_errors)
    assert "all votes are of one ranking" in repr(clustered(1))
    with pytest.raises(InputError, match="all votes are of one ranking"):
        alone.with_uncertainty("cluster")


def test_printing_never_fails():
    def broken():
        raise ArithmeticError("the votes are on fire")

    for text in (
        repr(Ranking("ab", [1, 2], information=broken)),
        Ranking("ab", [1, 2], information=broken)._repr_html_(),
    ):
        assert "2.00" in text
        assert "no intervals: the votes are on fire" in text


def test_an_item_called_mean_is_not_mistaken_for_the_mean():
    ranking = Ranking(["mean", "median", "mode", "sum"], fitted().scores, information=fitted().information)
    with pytest.raises(InputError, match=r"give \('item', 'mean'\) for it"):
        ranking.intervals(reference="mean")
    assert_allclose(ranking.intervals(reference=("item", "mean")), fitted().intervals(reference="ale"))
    assert_allclose(ranking.intervals(), fitted().intervals(reference="mean"))


def test_equal_labels_and_unknown_kinds_are_refused():
    with pytest.raises(InputError, match="'a' appears twice"):
        Ranking(["a", "b", "a"], [1, 2, 3])
    with pytest.raises(InputError, match="'zzz' is not known"):
        Ranking("ab", [1, 2], uncertainty="zzz")


@pytest.mark.parametrize("level", ["x", None, 0, 1, -0.5, 95, 1e-300, 1e-17, 1 - 1.2e-16])
def test_a_level_that_is_none_is_refused(level):
    for ask in (fitted().intervals, fitted().rank_intervals, fitted().tiers):
        with pytest.raises(InputError, match="level must lie between 0 and 1"):
            ask(level)


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("level", [1e-12, 0.5, 1 - 1e-12])
@pytest.mark.parametrize(
    "votes", [[("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")] * 2, [("a", "b"), ("b", "c"), ("c", "b")]]
)
def test_a_level_may_be_near_to_either_end(level, votes):
    with thin_data():
        ranking = podium.BradleyTerry().fit(podium.Comparisons.from_pairs(votes)).ranking_
        assert not np.isnan(np.array(ranking.intervals(level))).any()
        for simultaneous in (False, True):
            ranking.rank_intervals(level, simultaneous=simultaneous)
        ranking.tiers(level), ranking.to_frame(level), ranking.differences(level), ranking.top_set(1, level)


def test_a_table_without_a_level_computes_nothing():
    def never():
        raise AssertionError("not asked for")

    frame = Ranking("ab", [1, 2], information=never).to_frame(level=None)
    assert frame["item"].to_list() == ["b", "a"]
    for name in ("std_error", "lower", "upper", "rank_lower", "rank_upper", "tier"):
        assert frame[name].null_count() == 2
    assert frame.schema == fitted().to_frame().schema


def test_labels_of_any_script_stay_in_their_cell():
    lines = repr(Ranking(["茶", "two\nlines", "e\u0301"], [3, 2, 1])).splitlines()
    assert lines[1].endswith("茶           3.00")
    assert lines[2].endswith("two\\nlines   2.00")
    assert lines[3].endswith("e\u0301            1.00")


@given(st.lists(st.floats(-50, 50), max_size=30), st.sampled_from([0.0, 1e-9, 1e-6, 0.5]))
def test_settling_moves_no_score_far_and_keeps_the_order(values, within):
    before = np.array(values, dtype=float)
    after = settled(before, within)
    assert np.all(np.abs(after - before) <= 10 * within)
    assert np.all(np.diff(after[np.argsort(before, kind="stable")]) >= 0)
    assert set(after.tolist()) <= set(before.tolist())


def test_neighbours_within_the_accuracy_share_a_score_and_a_crowd_stays_apart():
    near = settled(np.array([3.0, 1.0, 1.0 + 0.9e-6, 1.0 + 1.8e-6, 2.0]), 1e-6)
    assert len(set(near[1:4])) == 1
    assert Ranking("abcde", near).ranks.tolist() == [1, 3, 3, 3, 2]
    crowd = np.arange(20) * 0.9e-6
    assert settled(crowd, 1e-6).tolist() == crowd.tolist()


@pytest.mark.parametrize(
    "scores", [["x", 1], [None, 1j], [1 + 1j, 2], np.array(["2020", "2021"], "M8[Y]"), [10**400, 1], [[1], 2], object()]
)
def test_scores_that_are_no_numbers_are_refused(scores):
    with pytest.raises(InputError, match="scores must be numbers, one for each item"):
        Ranking("ab", scores)


def test_what_a_ranking_does_not_know_is_refused_in_a_sentence():
    plain, with_prior = fitted(), fitted(posterior=True)
    for call, message in [
        (lambda: plain.intervals(kind="fiducial"), "kind='fiducial' is not known; use 'confidence' or 'credible'"),
        (lambda: plain.intervals(kind="credible"), "credible intervals need a prior"),
        (lambda: plain.shown(rank_method="pairwise"), "needs a posterior"),
        (lambda: plain.shown(rank_method="best"), "rank_method='best' is not known; use 'pairwise' or 'guaranteed'"),
        (lambda: with_prior.difference_variance([0, 1], [0]), "one has 2 places and other 1; give as many of both"),
        (lambda: inference.full_covariance(plain.information, "bootstrap", None), "the bootstrap gives replicates"),
        (
            lambda: plain.information.require("cluster", "group"),
            "no cluster 'group' in the votes: the votes have 'judge'",
        ),
    ]:
        with pytest.raises(InputError, match=message):
            call()
    assert with_prior.shown(rank_method="pairwise").rank_method == "pairwise"


def test_the_variance_of_a_difference_is_that_of_the_posterior_and_0_without_one():
    one, other = np.array([0, 1, 2]), np.array([1, 3, 2])
    assert fitted().difference_variance(one, other).tolist() == [0.0, 0.0, 0.0]
    ranking = fitted(posterior=True)
    covariance = np.linalg.pinv(centred_hessian(ranking.posterior))
    weight = np.eye(4)[one] - np.eye(4)[other]
    assert_allclose(ranking.difference_variance(one, other), np.diag(weight @ covariance @ weight.T), atol=1e-12)


def centred_hessian(information):
    """Σ curvature (e_left − e_right)(e_left − e_right)ᵀ + ridge, where scores have mean 0."""
    gap = np.eye(information.n)[information.left] - np.eye(information.n)[information.right]
    centre = np.eye(information.n) - 1 / information.n
    return gap.T @ (information.curvature[:, None] * gap) + information.ridge * centre


def test_ties_count_as_votes_and_rankings_with_other_errors_are_not_equal():
    votes = podium.Comparisons.from_arrays(["a", "b", "a"], ["b", "c", "c"], tie=[False, True, True])
    table = podium.BradleyTerry().fit(votes).ranking_.to_frame().sort("item")
    assert table["ties"].to_list() == [1, 1, 2]
    assert table["comparisons"].to_list() == [2, 2, 2]
    ranking = Ranking("ab", [1.0, 2.0])
    assert ranking == Ranking("ab", [1.0, 2.0])
    assert ranking != Ranking("ab", [1.0, 2.5])
    assert ranking != Ranking("ab", [1.0, 2.0], unit=2.0)
    assert ranking != "ab"


@pytest.mark.parametrize(
    ("make", "ci"),
    [
        (podium.BradleyTerry, "auto"),
        (partial(podium.BradleyTerry, l2=0), "auto"),
        (partial(podium.BradleyTerry, l2=1), "hessian"),
        (podium.BradleyTerry, "sandwich"),
        (podium.RABF, "auto"),
        (podium.RABF, "sandwich"),
        (podium.DynamicBradleyTerry, "auto"),
    ],
)
def test_a_printed_ranking_names_its_intervals_as_its_ranker_does(make, ci):
    left, right = [*"abacbca"] * 4, [*"bccaabb"] * 4
    votes = podium.Comparisons.from_arrays(left, right, time=np.arange(28.0))
    model = make()
    model.fit(votes, **({"features": np.array([[1.0], [2.0], [4.0]])} if make is podium.RABF else {}))
    model.ranking_ = model.ranking_ if ci == "auto" else model.ranking_.with_uncertainty(ci)
    kind = "credible" if model.credible_intervals_ else "confidence"
    assert f"95 % {kind} intervals, relative to" in str(model.ranking_)
