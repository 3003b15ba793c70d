"""Assessment: measures by hand, folds that hold nothing back, and chances that are honest when the model is right."""

import math
import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import RABF, BradleyTerry, Comparisons, Ranking
from podium.data.splits import deal
from podium.errors import InputError, PodiumWarning
from podium.evaluate.assessment import assess, calibration, known_methods
from podium.evaluate.differences import Standing, compare_rankings
from podium.pairwise import METHODS, ranker
from podium.pairwise.base import Ranker, logistic
from podium.ranking.differences import holm

from helpers import simulate, thin_data


class Fixed(Ranker):
    """A ranker that has made up its mind."""

    def __init__(self, scores):
        self.scores = scores

    def fit(self, comparisons):
        self.ranking_ = Ranking(comparisons.items, self.scores)
        return self

    def _outcomes(self, margins):
        return logistic(margins)


def test_the_measures_are_those_of_a_plain_loop():
    rng = np.random.default_rng(0)
    winner, loser, _ = simulate(4, 60, rng)
    tie = rng.random(len(winner)) < 0.2
    votes = Comparisons.from_arrays(winner, loser, tie=tie, items=range(4))
    scores = np.array([0.5, 0.1, -0.4, -0.2])
    found = assess(votes, {"fixed": lambda: Fixed(scores)}, folds=3, seed=5)
    hands = deal(votes, 3, np.random.default_rng(5))
    for fold in range(3):
        log_loss, brier, right, count = 0.0, 0.0, 0.0, 0
        for a, b, tied, chosen in zip(winner, loser, tie, hands[:, fold], strict=True):
            if chosen:
                p, y = 1 / (1 + math.exp(scores[b] - scores[a])), 0.5 if tied else 1.0
                log_loss -= y * math.log(p) + (1 - y) * math.log(1 - p)
                brier += (p - y) ** 2
                right += y if p > 0.5 else 1 - y
                count += 1
        assert found.log_loss["fixed"][fold] == pytest.approx(log_loss / count)
        assert found.brier["fixed"][fold] == pytest.approx(brier / count)
        assert found.accuracy["fixed"][fold] == pytest.approx(right / count)


def test_counted_votes_are_assessed_as_single_ones_are():
    rng = np.random.default_rng(1)
    winner, loser, _ = simulate(5, 3000, rng)
    single = Comparisons.from_arrays(winner, loser, items=range(5))
    p = single.pairs
    counted = Comparisons(
        range(5), np.concatenate([p.left, p.right]), np.concatenate([p.right, p.left]),
        count=np.concatenate([p.left_wins, p.right_wins]).astype(np.int64), ordered=False,
    )  # fmt: skip
    one, other = (assess(c, ["bradley-terry"], folds=5).to_frame() for c in (single, counted))
    assert other["log_loss"][0] == pytest.approx(one["log_loss"][0], abs=0.01)
    assert other["accuracy"][0] == pytest.approx(one["accuracy"][0], abs=0.01)


def test_the_right_model_is_calibrated_and_an_overconfident_one_is_not():
    winner, loser, truth = simulate(8, 20_000, np.random.default_rng(2))
    votes = Comparisons.from_arrays(winner, loser, items=range(8))
    found = assess(votes, {"right": BradleyTerry, "bold": lambda: Fixed(3 * truth)}, folds=4)
    assert found.calibration_error("right") < 0.02
    assert found.calibration_error("bold") > 0.05
    frame = found.to_frame()
    assert frame["method"].to_list() == ["right", "bold"]
    assert frame["worse"][0] == 0
    assert frame["worse"][1] > frame["worse_pm"][1]


def test_scores_on_any_scale_are_given_the_chances_they_deserve():
    winner, loser, truth = simulate(8, 20_000, np.random.default_rng(3))
    votes = Comparisons.from_arrays(winner, loser, items=range(8))

    class Scaled(Ranker):
        def fit(self, comparisons):
            self.ranking_ = Ranking(comparisons.items[::-1], 1000 + 173 * truth[::-1])  # order and scale of its own
            return self._fitted_to(comparisons)

    found = assess(votes, {"right": lambda: Fixed(truth), "scaled": Scaled}, folds=3)
    assert found.log_loss["scaled"].mean() == pytest.approx(found.log_loss["right"].mean(), abs=2e-3)


def test_every_method_that_needs_no_features_can_be_assessed():
    winner, loser, _ = simulate(6, 400, np.random.default_rng(4))
    judge = np.random.default_rng(0).integers(0, 3, len(winner))
    with thin_data():
        found = assess(Comparisons.from_arrays(winner, loser, judge=judge), folds=3)
    assert set(found.log_loss) | set(found.problems) == set(known_methods())
    assert not found.problems
    for name, values in found.log_loss.items():
        assert values.mean() < 0.75, name


def chances_by_hand(model, test):
    """Log loss of held-out votes by the chances the model itself gives, pair by pair."""
    rows = zip(test.left, test.right, np.ones(len(test.left)) if test.outcome is None else test.outcome, strict=True)
    loss = 0.0
    for left, right, outcome in rows:
        pair = (test.items[left], test.items[right]) if outcome > 0 else (test.items[right], test.items[left])
        loss -= math.log(model.win_probability(*pair))
    return loss / len(test.left)


OWN_CHANCES = {
    name: partial(ranker(name)) for name in METHODS if hasattr(ranker(name), "win_probability") and name != "crowd"
} | {
    "on the scale of Elo": partial(BradleyTerry, scale="elo"),
    "rabf on margins": partial(RABF, loss="squared"),
    "rabf on margins with flips": partial(RABF, loss="squared", flip_rate=0.2),
    "rabf with flips": partial(RABF, flip_rate=0.2, feature_penalty=1.0, residual_penalty=1.0),
    "rabf with flips, corrected": partial(
        RABF, flip_rate=0.2, flip_loss="corrected", feature_penalty=1.0, residual_penalty=1.0
    ),
}  # judges differ, so the chances of "crowd" are checked by judge below


@pytest.mark.parametrize("name", OWN_CHANCES)
@pytest.mark.parametrize("margins", [False, True])
def test_held_out_votes_are_predicted_by_the_chances_of_the_model_itself(name, margins):
    rng = np.random.default_rng(6)
    winner, loser, _ = simulate(6, 400, rng)
    margin = rng.exponential(size=400) if margins else None
    votes = Comparisons.from_arrays(winner, loser, margin=margin, items=range(6))
    features = rng.normal(size=(6, 1))
    given = {"features": features} if OWN_CHANCES[name].func.uses.features else {}
    found = assess(votes, {name: OWN_CHANCES[name]}, folds=3, seed=1, **given)
    hands = deal(votes, 3, np.random.default_rng(1))
    for fold in range(3):
        model = OWN_CHANCES[name]().fit(votes.share(hands.sum(axis=1) - hands[:, fold]), **given)
        expected = chances_by_hand(model, votes.share(hands[:, fold]))
        assert found.log_loss[name][fold] == pytest.approx(expected, rel=1e-9)


def test_held_out_votes_of_judges_are_predicted_by_the_judges_own_chances():
    rng = np.random.default_rng(7)
    winner, loser, _ = simulate(5, 400, rng)
    votes = Comparisons.from_arrays(winner, loser, judge=rng.integers(0, 3, 400), items=range(5))
    crowd = ranker("crowd")
    found = assess(votes, {"crowd": crowd}, folds=2, seed=1)
    hands = deal(votes, 2, np.random.default_rng(1))
    model, test = crowd().fit(votes.share(hands[:, 1])), votes.share(hands[:, 0])
    loss = [
        math.log(model.win_probability(test.items[i], test.items[j], judge=test.judges[k]))
        for i, j, k in zip(test.left, test.right, test.judge, strict=True)
    ]
    assert found.log_loss["crowd"][0] == pytest.approx(-np.mean(loss), rel=1e-9)


def test_full_rankings_are_never_torn():
    rankings = [list(np.random.default_rng(k).permutation(4)) for k in range(12)]
    votes = Comparisons.from_rankings(rankings)
    hands = deal(votes, 3, np.random.default_rng(0))
    for fold in range(3):
        inside = set(votes.share(hands[:, fold]).group.tolist())
        outside = set(votes.share(hands.sum(axis=1) - hands[:, fold]).group.tolist())
        assert not inside & outside
    assert assess(votes, ["win-rate"], folds=3).folds == 3


def test_calibration_bins_hold_equal_weight_and_tell_the_favourite():
    chance, outcome = np.array([0.2, 0.8, 0.6, 0.4]), np.array([0.0, 1.0, 0.0, 0.0])
    predicted, observed, lower, upper = calibration(chance, outcome, np.ones(4))
    assert_allclose(np.sort(predicted), [0.6, 0.6, 0.8, 0.8])
    assert observed.sum() == pytest.approx(3)  # favourites won at 0.2→0.8, 0.8 and 0.4→0.6
    assert (lower <= observed + 1e-12).all()
    assert (observed <= upper + 1e-12).all()


def test_rounding_decides_neither_the_favourite_nor_the_bin():
    """Votes of one chance are in the order in which they came, whatever a machine adds in the last digit."""
    rng = np.random.default_rng(0)
    chance, outcome = rng.choice([0.3, 0.5, 0.75], 95), rng.choice([0.0, 1.0], 95)
    noise = 1 + rng.choice([-2e-16, 0, 2e-16], 95)
    for here, there in zip(
        calibration(chance, outcome, np.ones(95)), calibration(chance * noise, outcome, np.ones(95)), strict=True
    ):
        assert_allclose(there, here, rtol=1e-12)


def test_bad_options_are_named():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "a")] * 4)
    with pytest.raises(InputError, match="folds=1: it must be a whole number of at least 2"):
        assess(votes, folds=1)
    with pytest.raises(InputError, match="8 votes cannot be dealt into 5 parts"):
        assess(votes, folds=5)
    with pytest.raises(InputError, match="'nonsense' is not known"):
        assess(votes, ["nonsense"])
    with pytest.raises(InputError, match="at least one method"):
        assess(votes, [])


def test_a_change_between_leaderboards_is_tested_by_the_sum_of_the_variances():
    a = Standing(("x", "y", "z"), np.array([1.0, 0.0, -1.0]), np.array([0.3, 0.3, 0.3]))
    b = Standing(("y", "x", "w", "z"), np.array([1.0, -1.0, 5.0, 0.0]), np.array([0.4, 0.4, 0.1, 0.4]))
    found = compare_rankings(a, b)
    assert found.items == ("x", "y", "z")
    assert found.only == ((), ("w",))
    assert_allclose(found.std_errors, 0.5)
    assert_allclose(found.scores[1] - found.scores[0], [-2.0, 1.0, 1.0])
    assert found.p_values[0] == pytest.approx(math.erfc(4 / math.sqrt(2)))
    frame = found.to_frame()
    assert frame["item"].to_list() == ["y", "z", "x"]
    assert frame["significant"].to_list() == [False, False, True]
    assert found.agreement == pytest.approx(1 / 3)  # y and z alone keep their order


def test_equal_leaderboards_differ_in_nothing_and_false_alarms_are_rare():
    rang = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        halves = []
        truth = rng.normal(0, 1, 6)
        for _ in range(2):
            left = rng.integers(0, 6, 400)
            right = (left + rng.integers(1, 6, 400)) % 6
            won = rng.random(400) < 1 / (1 + np.exp(truth[right] - truth[left]))
            votes = Comparisons.from_arrays(np.where(won, left, right), np.where(won, right, left), items=range(6))
            with thin_data():
                halves.append(BradleyTerry().fit(votes).ranking_)
        rang += bool((compare_rankings(*halves).adjusted < 0.1).any())
        assert compare_rankings(halves[0], halves[0]).agreement == 1
    assert rang <= 15  # at level 0.1, six expected; fifteen is beyond four standard deviations


def test_holm_is_the_textbook_step_down():
    p = [0.02, 0.005, 0.3, 0.04]
    expected = []
    for value in p:  # the largest of k-th smallest × (remaining) up to this one
        ordered = sorted(p)
        expected.append(min(1.0, max((4 - k) * ordered[k] for k in range(ordered.index(value) + 1))))
    assert_allclose(holm(np.array(p)), expected)


def test_leaderboards_need_items_in_common():
    a, b = Ranking(["x", "y"], [1.0, 0.0]), Ranking(["u", "v"], [1.0, 0.0])
    with pytest.raises(InputError, match=r"no item in common: \['x', 'y'\] and \['u', 'v'\]"):
        compare_rankings(a, b)
    with pytest.raises(InputError, match="share only 'x'"):
        compare_rankings(a, Ranking(["x", "v"], [1.0, 0.0]))


def test_the_ends_of_calibration_are_those_of_wilson():
    # The shares p that an observed share is z standard errors of p away from: n (q − p)² = z² p (1 − p).
    chance, outcome = np.full(400, 0.7), (np.arange(400) % 4 > 0).astype(float)
    _, observed, lower, upper = calibration(chance, outcome, np.ones(400))
    n, z = 400 / len(observed), 1.959963984540054
    for end in (lower, upper):
        assert_allclose(n * (observed - end) ** 2, z**2 * end * (1 - end), rtol=1e-9)
    assert (lower < observed).all()
    assert (observed < upper).all()


def test_thin_folds_are_not_warned_of():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b"), ("a", "c"), ("c", "d"), ("d", "a")])
    with warnings.catch_warnings():
        warnings.simplefilter("error", PodiumWarning)
        assert assess(votes, ["bradley-terry"], folds=3).folds == 3
