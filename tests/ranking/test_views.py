"""What a ranking with a prior is read from: the likelihood for intervals, the posterior for ranks and firsts."""

import dataclasses

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from podium import Ranking
from podium.errors import DataWarning, InputError
from podium.ranking.uncertainty import ScoreCovariance, covariance, rank_intervals, score_covariance, tiers
from podium.ranking.uncertainty.chances import probability_best_over
from podium.ranking.uncertainty.information import Alternative
from podium.ranking.uncertainty.posterior import posterior_covariance
from podium.ranking.uncertainty.worth import cluster_worth, posteriors, votes_worth

import reference_uncertainty as reference

RNG = np.random.default_rng(8)
LEFT, RIGHT, WON = reference.votes(RNG, np.array([0.8, 0.3, 0.0, -0.3, -0.8]), 90)
JUDGE = RNG.integers(0, 35, 90)
UNIT = 2.5


def at(l2, **more):
    """What the votes say at the optimum under a penalty."""
    u = reference.fit(5, LEFT, RIGHT, WON, np.ones(90), l2=l2)
    return reference.information(5, LEFT, RIGHT, WON, np.ones(90), u, l2=l2, clusters={"judge": JUDGE}, **more)


LIKELIHOOD, POSTERIOR = at(1e-3), at(0.5)
SHRUNKEN = POSTERIOR.scores + 0.7  # with another mean


def ranking(likelihood=LIKELIHOOD, **more):
    return Ranking(
        "abcde", UNIT * SHRUNKEN, information=likelihood, posterior=POSTERIOR, unit=UNIT, **more
    )  # fmt: skip


def test_confidence_intervals_lie_around_the_scores_of_the_likelihood():
    found = ranking()
    centre = LIKELIHOOD.scores - LIKELIHOOD.scores.mean() + SHRUNKEN.mean()
    error = np.sqrt(covariance(LIKELIHOOD).diagonal())
    lower, upper = found.intervals(0.9)
    assert_allclose(found.estimates, UNIT * centre)
    assert_allclose(lower, UNIT * (centre - norm.ppf(0.95) * error))
    assert_allclose(upper, UNIT * (centre + norm.ppf(0.95) * error))
    assert_allclose(found.std_errors, UNIT * error)
    lower, upper = found.intervals(reference="c")
    held = LIKELIHOOD.scores - LIKELIHOOD.scores[2] + SHRUNKEN[2]
    m = covariance(LIKELIHOOD)
    apart = np.sqrt(m.diagonal() + m[2, 2] - 2 * m[2])
    assert_allclose((lower + upper) / 2, UNIT * held)
    assert_allclose((upper - lower) / 2, UNIT * norm.ppf(0.975) * apart, atol=1e-12)


def test_credible_intervals_lie_around_the_scores_themselves():
    error = np.sqrt(posterior_covariance(POSTERIOR).matrix.diagonal())
    lower, upper = ranking().intervals(0.8, kind="credible")
    assert_allclose(lower, UNIT * (SHRUNKEN - norm.ppf(0.9) * error))
    assert_allclose(upper, UNIT * (SHRUNKEN + norm.ppf(0.9) * error))


def test_open_items_keep_their_score_and_the_mean_is_that_of_the_others():
    opened = np.arange(5) == 1
    likelihood = dataclasses.replace(LIKELIHOOD, open_above=opened)
    found = ranking(likelihood)
    kept = ~opened
    centre = LIKELIHOOD.scores - LIKELIHOOD.scores[kept].mean() + SHRUNKEN[kept].mean()
    assert_allclose(found.estimates, UNIT * np.where(opened, SHRUNKEN, centre))
    lower, upper = found.intervals()
    assert_allclose(((lower + upper) / 2)[kept], (UNIT * centre)[kept])
    assert upper[1] == np.inf
    everywhere = ranking(dataclasses.replace(LIKELIHOOD, open_above=opened, open_below=~opened))
    assert_allclose(everywhere.estimates, UNIT * SHRUNKEN)


def test_without_scores_of_its_own_the_likelihood_is_about_those_shown():
    found = ranking(dataclasses.replace(LIKELIHOOD, scores=None))
    lower, upper = found.intervals()
    assert_allclose((lower + upper) / 2, UNIT * SHRUNKEN)


@pytest.mark.parametrize(
    ("more", "method", "pairwise"),
    [({}, None, True), ({}, "guaranteed", False), ({"uncertainty": "hessian"}, None, False),
     ({"uncertainty": "sandwich"}, None, False)],
)  # fmt: skip
def test_ranks_are_read_from_the_posterior_unless_errors_or_a_method_were_named(more, method, pairwise):
    found = ranking(**more)
    if pairwise:
        view = SHRUNKEN, posterior_covariance(POSTERIOR)
    else:
        centre = LIKELIHOOD.scores - LIKELIHOOD.scores.mean() + SHRUNKEN.mean()
        view = centre, score_covariance(LIKELIHOOD, more.get("uncertainty", "hessian"))
    wanted = rank_intervals(*view, 0.7, False, "pairwise" if pairwise else "guaranteed")
    best, worst = found.rank_intervals(0.7, method=method)
    assert best.tolist() == np.minimum(wanted[0], found.ranks).tolist()
    assert worst.tolist() == np.maximum(wanted[1], found.ranks).tolist()
    if method is None:
        assert found.tier_numbers(0.7).tolist() == tiers(*view, 0.7, "pairwise" if pairwise else "guaranteed").tolist()
        gap, v = view[0][0] - view[0][3], view[1].matrix
        chance = norm.cdf(gap / np.sqrt(v[0, 0] + v[3, 3] - 2 * v[0, 3]))
        assert found.probability_above("a", "d") == pytest.approx(chance)


def test_a_method_that_was_shown_holds_unless_another_is_asked_for():
    plain = ranking()
    shown = plain.shown(rank_method="guaranteed")
    assert (
        np.array(shown.rank_intervals(0.7)).tolist()
        == np.array(plain.rank_intervals(0.7, method="guaranteed")).tolist()
    )
    assert (
        np.array(shown.rank_intervals(0.7, method="pairwise")).tolist() == np.array(plain.rank_intervals(0.7)).tolist()
    )


def test_errors_that_are_themselves_a_posteriors_are_read_pair_by_pair():
    known = ScoreCovariance(posterior_covariance(POSTERIOR).matrix)
    found = Ranking("abcde", SHRUNKEN, information=POSTERIOR, covariance=known, credible=True)
    wanted = rank_intervals(SHRUNKEN, known, 0.7, False, "pairwise")
    assert np.array(found.rank_intervals(0.7)).tolist() == np.array(wanted).tolist()
    plain = Ranking("abcde", SHRUNKEN, information=POSTERIOR, covariance=known)
    wanted = rank_intervals(SHRUNKEN, known, 0.7, False, "guaranteed")
    assert np.array(plain.rank_intervals(0.7)).tolist() == np.array(wanted).tolist()
    with pytest.raises(InputError, match="method='pairwise' needs a posterior: use l2='auto', or RABF with penalties"):
        plain.rank_intervals(method="pairwise")


RECORD = (np.full(5, 6.0), np.full(5, 6.0), np.full(5, 3.0))  # a fifth are ties


@pytest.mark.parametrize("tied", [False, True])
def test_who_is_best_goes_by_the_posterior_of_what_votes_are_worth(tied):
    record = RECORD if tied else None
    worth = votes_worth(LIKELIHOOD, 0.2 if tied else 0.0)
    assert worth == pytest.approx(1.25 if tied else 1.0)
    grouped = dataclasses.replace(POSTERIOR, groups=np.array([0, 0, 0, 0, 1]))
    found = Ranking("abcde", UNIT * SHRUNKEN, information=LIKELIHOOD, posterior=grouped, unit=UNIT, record=record)
    wanted = probability_best_over(posteriors(POSTERIOR, SHRUNKEN, worth))  # groups are taken for average ones
    assert_allclose(found.probability_best(), wanted)


def test_who_is_best_goes_over_all_spreads():
    parts = tuple(
        Alternative(share, POSTERIOR.curvature, ridge, None, None, shift)
        for share, ridge, shift in ((0.3, 0.5, np.linspace(0.5, -0.5, 5)), (0.7, 2.0, np.zeros(5)))
    )
    found = ranking(spreads=parts).probability_best()
    wanted = probability_best_over(posteriors(dataclasses.replace(POSTERIOR, alternatives=parts), SHRUNKEN, 1.0))
    assert_allclose(found, wanted)
    assert not np.allclose(found, ranking().probability_best())
    assert ranking(spreads=lambda: parts).spreads is parts


def test_who_is_best_counts_votes_of_one_cluster_for_less():
    codes = np.empty(90, int)
    codes[np.lexsort((WON, RIGHT, LEFT))] = np.arange(90) // 3  # thirty judges, each on few pairs
    together = dataclasses.replace(LIKELIHOOD, clusters={"judge": codes})
    found = ranking(together, uncertainty="cluster", cluster="judge").probability_best()
    worth = cluster_worth(together, "judge", posterior_covariance(POSTERIOR).variance)
    assert worth < 0.98
    assert_allclose(found, probability_best_over(posteriors(POSTERIOR, SHRUNKEN, worth)))


def test_the_prior_is_told_below_the_table_in_its_standard_deviation():
    assert "true scores seem to lie about 1.00 log-odds from it (l2=auto)" in repr(ranking())  # 1 / √(2 · 0.5)
    bare = Ranking("abcde", SHRUNKEN, information=LIKELIHOOD, posterior=dataclasses.replace(POSTERIOR, ridge=0.0))
    assert "l2=auto" not in repr(bare)
    assert "l2=auto" not in repr(Ranking("abcde", SHRUNKEN, information=LIKELIHOOD))


def test_a_single_cluster_is_as_if_none_was_named():
    alone = dataclasses.replace(LIKELIHOOD, clusters={"judge": np.zeros(90, int)})
    found = Ranking("abcde", LIKELIHOOD.scores, information=alone, uncertainty="cluster", cluster="judge")
    assert found.error_source == "from the likelihood's curvature; all votes are of one judge"
    says = (
        "all votes are of one judge, so errors cannot be clustered: they are those of independent votes, and likely too"
    )
    with pytest.warns(DataWarning, match=says):
        errors = found.std_errors
    assert_allclose(errors, np.sqrt(covariance(LIKELIHOOD).diagonal()))
    many = Ranking("abcde", LIKELIHOOD.scores, information=LIKELIHOOD, uncertainty="cluster", cluster="judge")
    assert many.error_source == "clustered by judge"
    assert_allclose(many.std_errors, np.sqrt(covariance(LIKELIHOOD, "cluster", "judge").diagonal()))


def test_a_table_has_what_was_asked_for():
    found = ranking(record=RECORD)
    frame = found.to_frame(0.7, simultaneous=True).sort("item")
    assert_allclose(frame["lower"], found.intervals(0.7)[0])
    assert_allclose(frame["upper"], found.intervals(0.7)[1])
    assert frame["rank_lower"].to_list() == found.rank_intervals(0.7, simultaneous=True)[0].tolist()
    assert frame["rank_upper"].to_list() == found.rank_intervals(0.7, simultaneous=True)[1].tolist()
    assert frame["tier"].to_list() == found.tier_numbers(0.7).tolist()
    assert frame["comparisons"].to_list() == [15.0] * 5
    default = found.to_frame().sort("item")
    assert default["rank_lower"].to_list() == found.rank_intervals(0.95, simultaneous=False)[0].tolist()
    assert_allclose(default["lower"], found.intervals(0.95)[0])
    by_default = {"tiers": found.tiers(), "top": found.top_set(2), "differences": found.differences()}
    assert by_default["tiers"] == found.tiers(0.95)
    assert by_default["top"] == found.top_set(2, 0.95)
    assert by_default["differences"].equals(found.differences(0.95))
    assert found.tier_numbers().tolist() == found.tier_numbers(0.95).tolist()


def test_differences_are_of_the_likelihood_best_first():
    found = ranking()
    frame = found.differences(0.9)
    order = list(found.order)
    pairs = [(one, other) for k, one in enumerate(order) for other in order[k + 1 :]]
    assert list(zip(frame["item"], frame["against"], strict=True)) == pairs
    score, m = dict(zip("abcde", LIKELIHOOD.scores, strict=True)), covariance(LIKELIHOOD)
    for row in frame.to_dicts():
        i, j = "abcde".index(row["item"]), "abcde".index(row["against"])
        assert row["difference"] == pytest.approx(UNIT * (score[row["item"]] - score[row["against"]]))
        assert row["std_error"] == pytest.approx(UNIT * np.sqrt(m[i, i] + m[j, j] - 2 * m[i, j]))
