"""Two leaderboards against each other by hand: references, errors with and without covariances, settings, the table."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from podium import BradleyTerry, Comparisons, Ranking
from podium.errors import InputError
from podium.evaluate.differences import (
    Standing,
    _word,
    compare_rankings,
    read_settings,
    settings_of,
    standing,
    unlike_settings,
    unlike_words,
)
from podium.ranking.differences import holm

A = Standing(
    ("x", "y", "z", "u"), np.array([2.0, 0.5, -1.0, 9.0]), np.array([0.3, 0.4, 0.5, 0.6]),
    votes=np.array([10.0, 20.0, 30.0, 99.0]),
)  # fmt: skip
B = Standing(
    ("z", "w", "y", "x"), np.array([0.0, 7.0, 1.0, -1.0]), np.array([0.1, 0.9, 0.2, 0.7]),
    votes=np.array([30.0, 99.0, 0.0, 10.0]),
)  # fmt: skip


def root(rng, n):
    """A covariance of n scores whose mean is held fixed."""
    half = rng.normal(size=(n, n + 2))
    half -= half.mean(axis=0)
    return half @ half.T / n


def with_covariance(standing, seed):
    covariance = root(np.random.default_rng(seed), len(standing.items))
    return Standing(
        standing.items, standing.scores, np.sqrt(covariance.diagonal()), covariance=covariance, votes=standing.votes
    )


def test_common_items_come_in_the_order_of_the_first_and_the_rest_is_told():
    found = compare_rankings(A, B)
    assert found.items == ("x", "y", "z")
    assert found.ranks.tolist() == [[1, 2, 3], [3, 1, 2]]
    assert found.only == (("u",), ("w",))
    assert found.unlike == ()
    assert not found.bounded
    assert_allclose(found.scores, [[1.5, 0.0, -1.5], [-1.0, 1.0, 0.0]], atol=1e-12)  # each less the mean of the three
    assert_allclose(found.std_errors, np.hypot([0.3, 0.4, 0.5], [0.7, 0.2, 0.1]))
    change = np.array([-2.5, 1.0, 1.5])
    p = 2 * norm.sf(np.abs(change) / found.std_errors)
    assert_allclose(found.p_values, p)
    assert_allclose(found.adjusted, holm(p))
    assert compare_rankings(A, B, "mean").scores.tolist() == found.scores.tolist()


def test_agreement_is_the_share_of_pairs_in_the_same_order():
    assert compare_rankings(A, B).agreement == pytest.approx(1 / 3)
    assert compare_rankings(A, A).agreement == 1.0
    upside_down = Standing(A.items, -A.scores)
    assert compare_rankings(A, upside_down).agreement == 0.0


def test_a_weighted_mean_is_by_the_votes_of_both():
    found = compare_rankings(A, B, "weighted-mean")
    weight = np.array([20.0, 20.0, 60.0]) / 100
    for row, scores in zip(found.scores, ([2.0, 0.5, -1.0], [-1.0, 1.0, 0.0]), strict=True):
        assert_allclose(row, scores - weight @ scores)
    # without covariances a score less the mean varies by no more than the two errors together
    own = np.array([[0.3, 0.4, 0.5], [0.7, 0.2, 0.1]])
    wide = own + (own @ weight)[:, None]
    assert_allclose(found.std_errors, np.hypot(*wide))
    assert found.bounded


def test_against_an_item_it_stands_still_and_the_rest_is_bounded_by_sums():
    found = compare_rankings(A, B, "y")
    assert_allclose(found.scores, [[1.5, 0.0, -1.5], [-2.0, 0.0, -1.0]], atol=1e-12)
    assert_allclose(found.std_errors, [math.hypot(0.7, 0.9), 0.0, math.hypot(0.9, 0.3)])
    assert found.bounded
    assert found.p_values[1] == 1.0


@pytest.mark.parametrize("reference", [None, "mean", "y", "weighted-mean"])
def test_with_covariances_errors_are_those_of_the_contrast(reference):
    a, b = with_covariance(A, 1), with_covariance(B, 2)
    found = compare_rankings(a, b, reference)
    weight = {"y": np.array([0.0, 1.0, 0.0]), "weighted-mean": np.array([0.2, 0.2, 0.6])}.get(
        reference, np.full(3, 1 / 3)
    )
    wanted = np.zeros(3)
    for side, places in ((a, [0, 1, 2]), (b, [3, 2, 0])):
        joint = side.covariance[np.ix_(places, places)]
        for i in range(3):
            contrast = np.eye(3)[i] - weight
            wanted[i] += contrast @ joint @ contrast
    assert_allclose(found.std_errors, np.sqrt(wanted), atol=1e-12)
    assert not found.bounded
    half = compare_rankings(a, B, reference)
    assert half.bounded == (reference in ("y", "weighted-mean"))  # one upper bound makes all of them bounds


@pytest.mark.parametrize("exact", [False, True])
def test_items_without_an_end_are_left_out_of_the_mean_and_never_significant(exact):
    open_ended = np.array([np.inf, 0.4, 0.5, 0.6])
    covariance = None
    if exact:
        covariance = np.diag([np.inf, 0.16, 0.25, 0.36])
    a = Standing(A.items, A.scores, open_ended, covariance=covariance, votes=A.votes)
    found = compare_rankings(a, B)
    assert_allclose(found.scores, [[2.25, 0.75, -0.75], [-1.5, 0.5, -0.5]], atol=1e-12)  # y and z have mean 0
    assert found.std_errors[0] == np.inf
    assert np.isfinite(found.std_errors[1:]).all()
    assert found.p_values[0] == 1.0
    weighted = compare_rankings(a, B, "weighted-mean")
    assert_allclose(weighted.scores[0], np.array([2.0, 0.5, -1.0]) - (0.25 * 0.5 - 0.75), atol=1e-12)
    against = compare_rankings(a, B, "x")
    assert against.std_errors[0] == 0.0  # it stands still by definition
    assert (against.std_errors[1:] == np.inf).all()


def test_where_no_item_has_both_ends_the_mean_is_of_all():
    a = Standing(A.items, A.scores, np.full(4, np.inf))
    found = compare_rankings(a, B)
    assert_allclose(found.scores, [[1.5, 0.0, -1.5], [-1.0, 1.0, 0.0]], atol=1e-12)
    assert (found.p_values == 1.0).all()


def test_estimates_are_compared_where_errors_are_known_and_ranks_are_of_the_scores():
    estimates = np.array([1.0, 3.0, -4.0, 0.0])
    a = Standing(A.items, A.scores, A.std_errors, estimates=estimates)
    found = compare_rankings(a, B)
    assert_allclose(found.scores[0], [1.0, 3.0, -4.0], atol=1e-12)
    assert found.ranks[0].tolist() == [1, 2, 3]
    assert_allclose(compare_rankings(B, a).scores[1], np.array([-4.0, 3.0, 1.0]))
    untested = compare_rankings(a, Standing(B.items, B.scores))
    assert_allclose(untested.scores[0], [1.5, 0.0, -1.5], atol=1e-12)
    assert untested.std_errors is untested.p_values is untested.adjusted is None
    assert not untested.bounded
    other_side = compare_rankings(Standing(A.items, A.scores), Standing(B.items, B.scores, B.std_errors))
    assert other_side.std_errors is None


def test_the_table_is_in_the_order_of_the_second():
    found = compare_rankings(A, B)
    frame = found.to_frame(0.9)
    assert frame.columns == [
        "item", "rank_a", "rank_b", "climbed", "score_a", "score_b", "change", "std_error", "lower", "upper",
        "p_value", "p_adjusted", "significant",
    ]  # fmt: skip
    assert frame["item"].to_list() == ["y", "z", "x"]
    assert frame["climbed"].to_list() == [1, 1, -2]
    assert frame["rank_a"].to_list() == [2, 3, 1]
    assert frame["rank_b"].to_list() == [1, 2, 3]
    order = [1, 2, 0]
    change = (found.scores[1] - found.scores[0])[order]
    half = norm.ppf(0.95) * found.std_errors[order]
    for name, values in {
        "score_a": found.scores[0][order], "score_b": found.scores[1][order], "change": change,
        "std_error": found.std_errors[order], "lower": change - half, "upper": change + half,
        "p_value": found.p_values[order], "p_adjusted": found.adjusted[order],
    }.items():  # fmt: skip
        assert_allclose(frame[name].to_numpy(), values, err_msg=name)
    assert frame["significant"].to_list() == (found.adjusted[order] < 0.1).tolist()
    half = norm.ppf(0.975) * found.std_errors[order]
    assert_allclose(found.to_frame()["upper"].to_numpy(), change + half)
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        found.to_frame(1.0)


def test_of_equal_ranks_the_higher_estimate_comes_first():
    a = Standing(("p", "q", "r"), np.array([1.0, 2.0, 3.0]), np.ones(3))
    b = Standing(("p", "q", "r"), np.zeros(3), np.ones(3), estimates=np.array([0.0, 2.0, -2.0]))
    assert compare_rankings(a, b).to_frame()["item"].to_list() == ["q", "p", "r"]


def test_leaderboards_that_were_not_fitted_alike_have_ranks_alone():
    a = Standing(A.items, A.scores, A.std_errors, settings={"method": "bradley-terry", "l2": "0.1"})
    b = Standing(B.items, B.scores, B.std_errors, settings={"method": "elo", "k": "24"})
    found = compare_rankings(a, b)
    assert found.unlike == ("method: bradley-terry and elo",)
    assert found.std_errors is found.p_values is found.adjusted is None
    assert found.to_frame().columns == ["item", "rank_a", "rank_b", "climbed"]
    assert unlike_words(found.unlike).startswith(
        "not fitted alike (method: bradley-terry and elo): scores of different"
    )


def test_which_settings_make_scores_another_quantity():
    one = {"method": "m", "l2": "0.1", "side_effect": "True", "scale": "elo", "anchor": "a=0", "sd": "1"}
    assert unlike_settings(one, dict(one)) == ()
    assert unlike_settings(one, one | {"scale": "log-odds", "anchor": "b=1", "sd": "2"}) == ()
    assert unlike_settings(one, one | {"l2": "0.2"}) == ("l2: 0.1 and 0.2",)
    assert unlike_settings(one | {"ties": "half"}, one) == ("ties: half and none",)
    more = one | {"side_effect": "False", "covariates": "length"}
    assert unlike_settings(one, more) == ("side effect: True and False", "covariates: none and length")
    assert unlike_settings(one, {"method": "other", "l2": "9"}) == ("method: m and other",)
    assert unlike_settings(None, one) == unlike_settings(one, None) == ()


def test_settings_are_written_in_words_that_can_be_read_again():
    votes = Comparisons.from_pairs([("a b", "c"), ("c", "a b"), ("a b", "c")])
    model = BradleyTerry(l2=0.125, scale="elo", anchor=("a b", 1000)).fit(votes)
    text = settings_of(model)
    assert text.startswith("method=bradley-terry l2=0.125 ")
    told = read_settings(text)
    assert told["method"] == "bradley-terry"
    assert told["anchor"] == "a b=1000"
    assert told["scale"] == "elo"
    assert (_word(0.5), _word(1e-7), _word(True), _word(None), _word("x y"), _word(3)) == (
        "0.5", "1e-07", "True", "None", "x y", "3",
    )  # fmt: skip
    assert _word(("tea", 1500.0)) == "tea=1500"
    assert _word(("a", "b", "c")) == "('a', 'b', 'c')"
    assert read_settings("a=1=2 b 'c d=e f'") == {"a": "1=2", "b": "", "c d": "e f"}
    with pytest.raises(InputError, match="settings are text, not int; give what the leaderboard's file says"):
        read_settings(3)
    with pytest.raises(InputError, match=r"the settings \"a='\" cannot be read: .*; write the leaderboard anew"):
        read_settings("a='")


@pytest.mark.parametrize("scale", ["log-odds", "elo"])
@pytest.mark.parametrize("l2", [0.125, "auto"])
def test_a_standing_is_the_ranking_in_log_odds_against_the_mean(scale, l2):
    pairs = [("a", "b")] * 7 + [("b", "a")] * 4 + [("b", "c")] * 6 + [("c", "b")] * 3 + [("a", "c")] * 2 + [("c", "a")]
    model = BradleyTerry(l2=l2, scale=scale).fit(Comparisons.from_pairs(pairs))
    ranking = model.ranking_
    for source in (model, ranking, ranking.shown(reference="b")):
        told = standing(source)
        assert told.items == ranking.items
        assert_allclose(told.scores, ranking.scores / ranking.unit, atol=1e-12)
        assert_allclose(told.std_errors, ranking.std_errors / ranking.unit)
        assert_allclose(told.covariance, ranking.covariance)
        assert told.votes.tolist() == [14.0, 20.0, 12.0]
        assert (told.settings is None) == (source is not model)
        if l2 == "auto":
            assert_allclose(told.estimates, ranking.estimates / ranking.unit)
        else:
            assert told.estimates is None
    assert standing(model).settings == read_settings(settings_of(model))


def test_a_standing_of_scores_alone():
    told = standing(Ranking("ab", [1.0, 2.0]))
    assert (told.std_errors, told.covariance, told.votes, told.settings, told.estimates) == (None,) * 5
    for what, name in ((3, "int"), (A, "Standing"), ("ab", "str")):
        with pytest.raises(InputError, match=f"a ranking or a fitted ranker is needed, not {name}"):
            standing(what)


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("u", "^reference: 'u' is not in both leaderboards; give an item of both, or 'mean'$"),
        ("w", "^reference: 'w' is not in both leaderboards"),
        (3, "^reference: 3 is not in both leaderboards"),
    ],
)
def test_a_reference_must_be_in_both(reference, says):
    with pytest.raises(InputError, match=says):
        compare_rankings(A, B, reference)


def test_references_that_cannot_be_are_named():
    for name in ("mean", "weighted-mean"):
        both = Ranking([name, "b"], [1.0, 0.0])
        with pytest.raises(
            InputError, match=f"^reference: '{name}' is an item here; leave it out for the mean, or rename"
        ):
            compare_rankings(both, both, name)
        assert compare_rankings(both, both).scores.tolist() == [[0.5, -0.5]] * 2
    bare = Standing(A.items, A.scores, A.std_errors)
    for pair in ((bare, B), (B, bare)):
        with pytest.raises(
            InputError, match=r"^reference: a weighted mean needs the votes of each item; a leaderboard"
        ):
            compare_rankings(*pair, "weighted-mean")
    none = Standing(A.items, A.scores, A.std_errors, votes=np.zeros(4))
    with pytest.raises(InputError, match=r"^reference: no item that is bounded in both has votes; use 'mean'$"):
        compare_rankings(none, none, "weighted-mean")


def test_what_two_leaderboards_do_not_share_is_shown():
    with pytest.raises(InputError, match=r"no item in common: .* and .*; spell labels alike"):
        compare_rankings(Ranking("abcd", range(4)), Ranking("wxyz", range(4)))
    with pytest.raises(InputError, match="share only 'd'; at least two items are needed"):
        compare_rankings(Ranking("abcd", range(4)), Ranking("dxyz", range(4)))


def test_a_weighted_mean_may_be_of_light_votes():
    light, heavy = (
        [Standing(each.items, each.scores, each.std_errors, votes=each.votes * unit) for each in (A, B)]
        for unit in (1e-3, 1.0)
    )
    assert_allclose(compare_rankings(*light, "weighted-mean").scores, compare_rankings(*heavy, "weighted-mean").scores)
