"""The quality of judging by loops: infit with ties, weights and counts, halves of judges, and what is told of both."""

import math
import warnings

import numpy as np
import pytest
from scipy.stats import kendalltau, norm

from podium import BradleyTerry, Comparisons, PlackettLuce, Ranking, Rankings
from podium.errors import InputError, PodiumWarning
from podium.evaluate import judging, judging_quality, scale_separation
from podium.ranking.uncertainty import Information, ScoreCovariance

ITEMS = "abcd"


def rows(seed=0, m=60, judges=5):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 4, m)
    right = (left + rng.integers(1, 4, m)) % 4
    return {
        "left": [ITEMS[k] for k in left], "right": [ITEMS[k] for k in right],
        "outcome": rng.choice([0.0, 0.5, 1.0], m, p=[0.35, 0.15, 0.5]).tolist(),
        "judge": [f"j{k}" for k in rng.integers(0, judges, m)],
    }  # fmt: skip


def quality(table, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        return judging_quality(Comparisons.from_frame(table), **({"splits": 1} | more))


@pytest.mark.parametrize("more", [{}, {"weight": True}, {"count": True}])
def test_infit_and_chance_by_a_loop(more):
    table = rows()
    rng = np.random.default_rng(1)
    weight, count = np.ones(60), np.ones(60)
    if "weight" in more:
        table["weight"] = weight = rng.uniform(0.5, 2.0, 60)
    if "count" in more:
        table["count"] = count = rng.integers(1, 5, 60)
        weight = count
    votes = Comparisons.from_frame(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        ranking = BradleyTerry().fit(votes).ranking_
    score = dict(zip(ranking.items, ranking.estimates, strict=True))
    found = quality(table)
    for frame, name, belongs in (
        (found.item_fit, "item", lambda label, k: label in (table["left"][k], table["right"][k])),
        (found.judge_fit, "judge", lambda label, k: label == table["judge"][k]),
    ):
        infits, beyond = {}, {}
        for row in frame.to_dicts():
            square = information = variance = number = 0.0
            for k in range(60):
                if belongs(row[name], k):
                    p = 1 / (1 + math.exp(score[table["right"][k]] - score[table["left"][k]]))
                    spread = p * (1 - p)
                    square += weight[k] * (table["outcome"][k] - p) ** 2
                    information += weight[k] * spread
                    variance += weight[k] ** 2 / count[k] * spread * (1 - 4 * spread)
                    number += count[k]
            assert row["votes"] == number
            assert row["infit"] == pytest.approx(square / information, rel=1e-5)
            infits[row[name]] = square / information
            sd = math.sqrt(variance) / information
            beyond[row[name]] = (math.cbrt(square / information) - 1) * 3 / sd + sd / 3
        limit = norm.ppf(1 - 0.05 / len(infits))
        values = np.array(list(infits.values()))
        above = values.mean() + 2 * values.std(ddof=1)
        for row in frame.to_dicts():
            assert row["beyond_chance"] == (beyond[row[name]] > limit)
            assert row["misfit"] == (row["beyond_chance"] or infits[row[name]] > above)
        assert frame["infit"].is_sorted(descending=True)


def test_items_without_votes_have_no_infit_and_labels_are_text():
    votes = Comparisons.from_arrays([0, 1, 0, 2, 1, 2], [1, 0, 2, 0, 2, 1], items=[10, 20, 30, 40])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        found = judging_quality(votes, splits=1)
    assert set(found.item_fit["item"]) == {"10", "20", "30"}
    assert found.judge_fit is None
    assert found.split_half is None


@pytest.mark.parametrize("judges", [2, 3, 5])
def test_halves_of_judges_are_drawn_by_the_seed(judges):
    table = rows(judges=judges, m=90)
    votes = Comparisons.from_frame(table)
    found = judging_quality(votes, splits=3, seed=7).split_half
    rng = np.random.default_rng(7)
    correlations, agreements = [], []
    for _ in range(3):
        first = rng.permutation(judges)[: judges // 2]
        inside = np.isin(votes.judge, first)
        scores = []
        for half in (inside, ~inside):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PodiumWarning)
                ranking = BradleyTerry().fit(votes.take(np.flatnonzero(half))).ranking_
            scores.append([ranking.score(item) for item in ITEMS])
        correlations.append(np.corrcoef(*scores)[0, 1])
        agreements.append((1 + kendalltau(*scores).statistic) / 2)
    assert found.correlation == pytest.approx(np.mean(correlations), abs=1e-6)
    assert (found.low, found.high) == pytest.approx((min(correlations), max(correlations)), abs=1e-6)
    assert found.agreement == pytest.approx(np.mean(agreements), abs=1e-6)


def test_halves_are_drawn_twenty_times_from_seed_0_unless_told(monkeypatch):
    asked = {}
    monkeypatch.setattr(
        judging, "_split_half", lambda votes, ranking, splits, rng: asked.update(splits=splits, first=rng.random())
    )
    judging_quality(Comparisons.from_frame(rows()))
    assert asked == {"splits": 20, "first": np.random.default_rng(0).random()}
    judging_quality(Comparisons.from_frame(rows()), splits=3, seed=np.int64(4))
    assert asked == {"splits": 3, "first": np.random.default_rng(4).random()}


@pytest.mark.parametrize("bad", [{"splits": 0}, {"splits": 1.5}, {"seed": -1}, {"seed": 1.5}, {"seed": True}])
def test_numbers_that_cannot_be_are_named(bad):
    with pytest.raises(InputError, match=f"{next(iter(bad))}="):
        judging_quality(Comparisons.from_frame(rows()), **bad)
    with pytest.raises(InputError, match="comparisons must be a Comparisons, not int"):
        judging_quality(3)
    with pytest.raises(InputError, match="check must be a Comparisons, not str"):
        judging_quality(Comparisons.from_frame(rows()), check="x")


def scale_of(scores, errors):
    """A ranking with errors that are told."""
    n = len(scores)
    information = Information(n, np.arange(n - 1), np.arange(1, n), np.ones(n - 1))
    covariance = ScoreCovariance(np.diag(np.square(errors)), open_above=np.isinf(errors))
    return Ranking(range(n), scores, information=information, covariance=covariance)


def test_scale_separation_is_the_share_of_variance_that_is_no_error():
    scores, errors = np.array([2.0, 0.0, -1.0, -1.0]), np.array([0.5, 0.25, 0.5, 0.75])
    variance = sum((score - 0.0) ** 2 for score in scores) / 3
    found = scale_separation(scale_of(scores, errors))
    assert found == (pytest.approx((variance - np.mean(errors**2)) / variance), 4)
    open_ended = scale_separation(scale_of(scores, np.array([np.inf, 0.25, 0.5, 0.75])))
    rest = np.array([0.0, -1.0, -1.0])
    wanted = (rest.var(ddof=1) - np.mean(errors[1:] ** 2)) / rest.var(ddof=1)
    assert open_ended == (pytest.approx(wanted), 3)
    two = scale_separation(scale_of(scores, np.array([np.inf, np.inf, 0.5, 0.75])))
    assert two == (None, 2)
    assert scale_separation(scale_of(np.ones(4), errors)) == (None, 4)
    near = scale_separation(scale_of(1e-8 * np.arange(4.0), errors))
    assert near[0] is not None
    with pytest.raises(InputError, match="ranking must be a Ranking, not list"):
        scale_separation([1.0])


def test_where_the_scale_comes_from():
    table = rows(m=90)
    plain = quality(table)
    assert (plain.separation_from, plain.why) == ("all pairs", None)
    chosen = quality(table, chosen=True)
    assert (chosen.separation, chosen.separation_from, chosen.why) == (None, "all pairs", judging.CHOSEN)
    assert chosen.item_fit.equals(plain.item_fit)
    check = Comparisons.from_frame(rows(m=50, seed=3))
    checked = quality(table, chosen=True, check=check)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        wanted = scale_separation(BradleyTerry().fit(check).ranking_)[0]
    assert checked.separation == pytest.approx(wanted)
    assert checked.separation_from == "check pairs"
    unchosen = quality(table, check=check)
    assert unchosen.separation == pytest.approx(plain.separation)
    assert unchosen.separation_from == "all pairs"


def test_a_scale_that_cannot_be_fitted_says_why(monkeypatch):
    def refused(ranking):
        raise InputError("the ink has run out")

    monkeypatch.setattr(judging, "scale_separation", refused)
    found = quality(rows())
    assert found.separation is None
    assert found.words()[0] == "no scale separation reliability: the ink has run out"


def test_rankings_have_a_scale_by_plackett_luce_and_no_infit():
    lists = [list("abcd"), list("bacd"), list("abdc"), list("dcba"), list("bcad"), list("cabd")]
    rankings = Rankings.from_lists(lists)
    found = judging_quality(rankings, splits=2)
    assert found.separation == pytest.approx(scale_separation(PlackettLuce().fit(rankings).ranking_)[0])
    assert found.separation_from == "all rankings"
    assert (found.item_fit, found.judge_fit) == (None, None)
    rng = np.random.default_rng(0)
    correlations = []
    for _ in range(2):
        first = rng.permutation(6)[:3]
        inside = np.isin(np.arange(6), first)
        halves = []
        for half in (inside, ~inside):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PodiumWarning)
                ranking = PlackettLuce().fit(rankings.take(np.flatnonzero(half))).ranking_
            halves.append([ranking.score(item) for item in ITEMS])
        correlations.append(np.corrcoef(*halves)[0, 1])
    assert found.split_half.correlation == pytest.approx(np.mean(correlations), abs=1e-5)


def test_items_that_a_half_does_not_name_have_no_score_there():
    votes = Comparisons.from_arrays([0, 1, 0], [1, 0, 1], items=list(ITEMS))
    whole = Ranking(tuple("dcba"), range(4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        scores = judging._scores_of(votes, whole)
        ranking = BradleyTerry().fit(votes).ranking_
    assert np.isnan(scores[:2]).all()
    assert scores[2:].tolist() == pytest.approx([ranking.score("b"), ranking.score("a")])


def test_a_half_that_cannot_be_ranked_has_no_scores(monkeypatch):
    def refused(votes):
        raise InputError("too thin")

    monkeypatch.setattr(judging, "_fit", refused)
    assert np.isnan(judging._scores_of(Comparisons.from_frame(rows()), Ranking(ITEMS, range(4)))).all()


def test_seconds_of_other_judges_leave_a_column_of_numbers_without_any():
    found = quality(rows(), seconds={"zebra": 3}).judge_fit
    assert found["seconds"].null_count() == len(found)
    assert str(found.schema["seconds"]) == "Float64"
    some = quality(rows(), seconds={"j1": 3, "zebra": 4}).judge_fit
    assert dict(zip(some["judge"], some["seconds"], strict=True))["j1"] == 3.0
    assert some["seconds"].null_count() == len(some) - 1


def at_normal(normal, sd):
    """The infit that is so many deviations beyond 1 by Wilson and Hilferty."""
    return (1 + (normal - sd / 3) * sd / 3) ** 3


@pytest.mark.parametrize(("count", "sd"), [(1, 0.3), (2, 0.3), (4, 0.2), (4, 0.9), (7, 0.5)])
@pytest.mark.parametrize("by", [-1e-6, 1e-6])
def test_an_infit_is_beyond_chance_from_its_normal_quantile_on(count, sd, by):
    """A twentieth over all judges: the quantile of 1 − 0.05 / count."""
    limit = norm.ppf(1 - 0.05 / count)
    information = np.full(count, 5.0)
    infit = np.ones(count)
    infit[0] = at_normal(limit + by, sd)
    columns = np.stack([infit * information, information, (sd * information) ** 2, np.full(count, 9.0)])
    frame = judging._frame("judge", [f"j{k}" for k in range(count)], np.arange(count), columns)
    found = dict(zip(frame["judge"], frame["beyond_chance"], strict=True))
    assert found["j0"] == (by > 0)
    assert sum(found.values()) == (by > 0)


def test_who_has_no_infit_misfits_in_nothing():
    columns = np.stack([[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 0.0], np.full(4, 1.0), np.full(4, 3.0)])
    frame = judging._frame("judge", list("abcd"), np.arange(4), columns)
    assert frame["infit"].to_list() == [0.5, 0.5, 0.5, None]
    assert not frame["misfit"].any()
    assert not frame["beyond_chance"].any()


@pytest.mark.parametrize("more", [{}, {"weight": True}, {"count": True}])
def test_each_vote_brings_its_square_its_information_and_its_variance(more, monkeypatch):
    table = rows()
    rng = np.random.default_rng(2)
    weight, count = np.ones(60), np.ones(60)
    if "weight" in more:
        table["weight"] = weight = rng.uniform(0.5, 2.0, 60)
    if "count" in more:
        table["count"] = count = weight = rng.integers(1, 5, 60)
    asked = {}
    monkeypatch.setattr(judging, "_frame", lambda name, labels, code, columns: asked.update({name: (code, columns)}))
    votes = Comparisons.from_frame(table)
    score = np.linspace(1.0, -1.0, 4)
    judging._fits(votes, Ranking(votes.items, score), None)
    for k in range(60):
        i, j = votes.left[k], votes.right[k]
        p = 1 / (1 + math.exp(score[j] - score[i]))
        outcome = (votes.outcome[k] + 1) / 2
        spread = p * (1 - p)
        fourth = p * (1 - p) ** 4 + (1 - p) * p**4  # of x − p: its variance is that less the square of p(1 − p)
        wanted = [
            weight[k] * (outcome - p) ** 2,
            weight[k] * spread,
            weight[k] ** 2 / count[k] * (fourth - spread**2),
            count[k],
        ]
        assert asked["judge"][1][:, k].tolist() == pytest.approx(wanted)
        for side, end in ((0, i), (60, j)):
            assert asked["item"][0][side + k] == end
            assert asked["item"][1][:, side + k].tolist() == pytest.approx(wanted)
    assert asked["judge"][0].tolist() == votes.judge.tolist()


def test_a_scale_needs_a_variance_beyond_rounding():
    errors = np.full(3, 0.5)
    assert scale_separation(scale_of(np.array([0.0, 0.9e-9, 1.8e-9]), errors)) == (None, 3)
    assert scale_separation(scale_of(np.array([0.0, 1.2e-9, 2.4e-9]), errors))[0] is not None
