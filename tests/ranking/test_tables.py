"""Tables of a ranking by hand: differences with their p-values, scores made one, ranks, and what stands below."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from podium.ranking import leaderboard
from podium.ranking.differences import difference_frame, two_sided
from podium.ranking.ranks import ranks, settled
from podium.ranking.uncertainty import ScoreCovariance

MATRIX = np.array([[2.0, 0.5, -1.0], [0.5, 1.0, 0.2], [-1.0, 0.2, 3.0]])


@pytest.mark.parametrize("level", [0.95, 0.4])
def test_differences_of_all_pairs_by_hand(level):
    scores = np.array([3.0, 1.0, 0.5])
    frame = difference_frame(["a", 2, "\ud800"], scores, ScoreCovariance(MATRIX), unit=10.0, level=level)
    assert frame.columns == [
        "item", "against", "difference", "std_error", "lower", "upper", "p_value", "p_adjusted", "significant",
    ]  # fmt: skip
    assert list(zip(frame["item"], frame["against"], strict=True)) == [("a", "2"), ("a", "\\ud800"), ("2", "\\ud800")]
    pairs = [(0, 1), (0, 2), (1, 2)]
    gap = np.array([scores[i] - scores[j] for i, j in pairs])
    error = np.array([math.sqrt(MATRIX[i, i] + MATRIX[j, j] - 2 * MATRIX[i, j]) for i, j in pairs])
    z = norm.ppf((1 + level) / 2)
    p = 2 * norm.sf(gap / error)
    falling = np.argsort(p)
    holm = np.empty(3)
    holm[falling] = np.maximum.accumulate(np.minimum(p[falling] * [3, 2, 1], 1))
    for name, values in {
        "difference": 10 * gap, "std_error": 10 * error, "lower": 10 * (gap - z * error),
        "upper": 10 * (gap + z * error), "p_value": p, "p_adjusted": holm,
    }.items():  # fmt: skip
        assert_allclose(frame[name].to_numpy(), values, err_msg=name)
    assert frame["significant"].to_list() == (holm < 1 - level).tolist()


def test_a_difference_without_error_is_certain_unless_it_is_none():
    gap, error = np.array([0.0, 0.9e-12, 1.5e-12, -1.0, 3.0, -2.0]), np.array([0.0, 0.0, 0.0, 0.0, np.inf, 1.0])
    assert two_sided(gap, error).tolist() == pytest.approx([1.0, 1.0, 0.0, 0.0, 1.0, 2 * norm.sf(2.0)])


def settled_by_loop(scores, within):
    """Neighbours join; a group wider than ten times that stays apart; the middle one of a group stands for it."""
    order = sorted(range(len(scores)), key=lambda k: scores[k])
    groups = []
    for k in order:
        if groups and scores[k] - scores[groups[-1][-1]] <= within:
            groups[-1].append(k)
        else:
            groups.append([k])
    found = list(scores)
    for group in groups:
        if scores[group[-1]] - scores[group[0]] <= 10 * within:
            for k in group:
                found[k] = scores[group[(len(group) - 1) // 2]]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_near_scores_are_made_one_as_by_a_loop(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 60, 25) / 4.0
    for within in (0.0, 0.25, 0.5, 1.0):
        assert settled(scores, within).tolist() == settled_by_loop(scores.tolist(), within)
        assert settled(scores, np.float16(within)).tolist() == settled_by_loop(scores.tolist(), within)


def test_scores_that_are_apart_are_left_alone():
    scores = np.array([3.0, 1.0, 2.0])
    assert settled(scores, 0.5) is scores
    nothing = np.empty(0)
    assert settled(nothing, 1.0) is nothing
    chain = np.arange(11) * 1.0
    assert len(set(settled(chain, 1.0))) == 1  # ten steps are no more than ten times one
    assert settled(np.arange(12) * 1.0, 1.0).tolist() == list(range(12))


def test_equal_scores_share_the_better_rank():
    scores = [2.0, 5.0, 2.0, 7.0, -1.0, 5.0]
    assert ranks(np.array(scores)).tolist() == [1 + sum(other > score for other in scores) for score in scores]
    assert ranks(np.empty(0)).tolist() == []


def test_what_is_not_known_of_an_item_is_null():
    frame = leaderboard.frame(["a", "b"], {"score": np.array([1.0, 0.0]), "rank": np.array([1, 2])})
    assert frame.columns == [
        "item", "score", "std_error", "lower", "upper", "rank", "rank_lower", "rank_upper", "tier", "wins", "losses",
        "ties", "comparisons",
    ]  # fmt: skip
    assert frame["rank"].to_list() == [1, 2]
    kinds = {name: str(frame.schema[name]) for name in frame.columns}
    assert {name for name, kind in kinds.items() if kind == "Int64"} == {"rank", "rank_lower", "rank_upper", "tier"}
    assert kinds["item"] == "String"
    assert kinds["comparisons"] == "Float64"
    for name in frame.columns:
        assert frame[name].null_count() == (0 if name in ("item", "score", "rank") else 2)


def test_cells_are_in_words():
    cells = leaderboard.interval_cells(
        np.array([-0.126, -np.inf]),
        np.array([1.0, 2.5]),
        np.array([1, 2]),
        np.array([3, 2]),
        np.array([1, 2]),
        digits=2,
    )
    assert cells == [["-0.13 … 1.00", "-∞ … 2.50"], ["1–3", "2–2"], ["1", "2"]]
    assert leaderboard.unit_word(1.0) == "log-odds"
    assert leaderboard.unit_word(173.7) == "Elo points"
    assert leaderboard.prior_words(0.456, "the features", "games") == (
        "few games pull a score towards the features: true scores seem to lie about 0.46 log-odds from it (l2=auto)"
    )


@pytest.mark.parametrize(("count", "told"), [(29, True), (30, False)])
def test_fewer_than_thirty_clusters_are_told(count, told):
    information = SimpleNamespace(counted=True, cluster_count=lambda cluster: count)
    lines = leaderboard.remarks(information, ("cluster", "judge"), ("cluster", "judge"), "mean score")
    assert lines[0] == "95 % confidence intervals, relative to the mean score (clustered by judge)"
    assert lines[1:] == (
        [
            f"there are {count} judges only: intervals clustered by it tend to be too narrow below 30; read them as a "
            "lower bound, or get votes from more judges"
        ]
        if told
        else []
    )
