"""What comes in and what goes out of the asking: every value at its edge, every refusal with its words."""

import hashlib
import itertools
import math
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium.active import ActiveRanker, PaperOptions, oracles, rank_with, ranker, rehearsal, results, validation
from podium.active.features import Features
from podium.active.oracles import FunctionOracle, MatrixOracle, Simulated, asker
from podium.active.planner import Planner, Questions
from podium.active.presets import check_preset, questions_of
from podium.active.tally import CHECK, CHOSEN, REPEAT
from podium.errors import DataWarning, InputError
from podium.text import about

FRUIT = ("fig", "pear", "plum", "kiwi", "lime")
CODES = {fruit: code for code, fruit in enumerate(FRUIT)}


# ---- values from outside --------------------------------------------------------------------------------------------


def test_values_that_are_good_come_back_plain():
    assert validation.item_labels(np.array([3, 1])) == (3, 1)
    assert [type(label) for label in validation.item_labels([np.int64(3), np.float64(1.5)])] == [int, float]
    assert validation.item_labels(label for label in "ab") == ("a", "b")
    assert validation.item_labels(["a", ("b", 1), None]) == ("a", ("b", 1), None)
    assert [validation.top_of(goal, 5) for goal in ("order", ("top", 1), ["top", 4], ("top", np.int64(2)))] == [None, 1, 4, 2]  # fmt: skip  # noqa: E501
    assert (validation.whole_number("k", 3, 3), validation.whole_number("k", np.int8(4), 3)) == (3, 4)
    assert type(validation.whole_number("k", np.int8(4), 3)) is int
    assert (validation.seed_of(0), validation.seed_of(7)) == (0, 7)
    assert len({validation.seed_of(None) for _ in range(4)}) > 1
    assert validation.seed_of(None) >= 0
    assert (validation.share_of(0), validation.share_of(0.999), validation.share_of("0.5")) == (0.0, 0.999, 0.5)
    assert validation.pair_codes([("plum", "fig")], CODES, FRUIT).tolist() == [[2, 0]]
    assert validation.pair_codes([], CODES, FRUIT).shape == (0, 2)
    assert_allclose(validation.answer_values([1, 0, 0.5, None, True, False], 6), [1, 0, 0.5, np.nan, 1, 0])
    assert validation.judge_names("ann", 2) == ["ann", "ann"]
    assert validation.judge_names(None, 2) == [None, None]
    assert validation.judge_names(("ann", None), 2) == ["ann", None]
    assert validation.judge_names(np.array(["ann", "bob"]), 2) == ["ann", "bob"]
    assert validation.codes_of("left", 2, 3, 4).tolist() == [2, 2, 2, 2]
    assert validation.codes_of("left", [0, 2], 3).tolist() == [0, 2]
    assert validation.codes_of("left", [], 3).dtype == np.int64
    assert validation.codes_of("judge", [2**62], None).tolist() == [2**62]
    assert_allclose(validation.values_of(0.5, 3), [0.5] * 3)
    assert_allclose(validation.values_of([1, 0, np.nan], 3), [1, 0, np.nan])
    assert validation.values_of([True, False], 2).tolist() == [1.0, 0.0]
    assert validation.kinds_of(None, 3).tolist() == [CHOSEN] * 3
    assert validation.kinds_of("check", 2).tolist() == [CHECK] * 2
    assert validation.kinds_of(["repeat", "chosen", "check"], 3).tolist() == [REPEAT, CHOSEN, CHECK]
    assert validation.kinds_of([0, 1, 2], 3).tolist() == [CHOSEN, CHECK, REPEAT]
    assert validation.kinds_of(2, 2).tolist() == [REPEAT] * 2


def test_features_are_rows_of_numbers_up_to_a_size():
    assert validation.feature_table(None, FRUIT) is None
    flat = validation.feature_table([1, 2, 3, 4, 5], FRUIT)
    assert (flat.tolist(), flat.dtype) == ([1.0, 2.0, 3.0, 4.0, 5.0], np.float64)
    assert validation.feature_table(np.eye(5)[:, :2].T.copy().T, FRUIT).flags.c_contiguous
    assert validation.feature_table([[1e100, -1e100]] * 5, FRUIT).shape == (5, 2)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: validation.item_labels(b"ab"), "^items is the text b'ab'; give a list of labels$"),
        (lambda: validation.item_labels(frozenset("ab")), "^items is a set, which has no order to number them by;"),
        (lambda: validation.item_labels([]), "^0 items; an order needs at least two$"),
        (lambda: validation.item_labels(["a", "\ud800"]), r"^item 2 is '\\ud800', half of a character"),
        (lambda: validation.item_labels(["a", {}]), "^item 2 is {}; a label is text, a number or a tuple of these$"),
        (lambda: validation.item_labels(["a", "b", "c", "b"]), "^items 2 and 4 are both 'b'; labels must differ$"),
        (lambda: validation.item_labels([1, True]), "^items 1 and 2 are both True; labels must differ$"),
        (lambda: validation.top_of(("top", 0), 5), r"^goal is \('top', 0\); k is a whole number from 1 to 4$"),
        (lambda: validation.top_of(("top", True), 5), "k is a whole number from 1 to 4$"),
        (lambda: validation.top_of(("best", 2), 5), r"^goal is \('best', 2\); it is 'order' or \('top', k\)$"),
        (lambda: validation.top_of(("top", 2, 3), 5), r"it is 'order' or \('top', k\)$"),
        (lambda: validation.top_of((1, 2), 5), r"it is 'order' or \('top', k\)$"),
        (lambda: validation.whole_number("k", 2, 3), "^k is 2; it is a whole number, at least 3$"),
        (lambda: validation.whole_number("k", np.True_, 0), "it is a whole number, at least 0$"),
        (lambda: validation.whole_number("k", "4", 0), "^k is '4'; it is a whole number, at least 0$"),
        (lambda: validation.share_of(-0.1), "^random_share is -0.1; it is a number, at least 0 and less than 1$"),
        (lambda: validation.share_of(None), "^random_share is None; it is a number"),
        (lambda: validation.share_of(10**400), "random_share is 1000.*; it is a number"),
        (lambda: validation.feature_table(np.zeros((5, 1, 1)), FRUIT), r"^features have shape \(5, 1, 1\); one row for"),  # noqa: E501
        (lambda: validation.feature_table([1, 2, 3, 4, 5, 6], FRUIT), r"^features have shape \(6,\); one row for each of the 5"),  # noqa: E501
        (lambda: validation.feature_table([[0, 1]] * 4 + [[0, -2e100]], FRUIT), r"^features of 'lime', column 2: -2e\+100 is too"),  # noqa: E501
        (lambda: validation.feature_table([0, 1, 2e100, 3, 4e100], FRUIT), "^features of 'plum', column 1: 2e.100 is too"),  # noqa: E501
        (lambda: validation.feature_table([[1, 2], [1, "x"], *[[1, 2]] * 3], FRUIT), "^features of 'pear', column 2: 'x' is not a number$"),  # noqa: E501
        (lambda: validation.feature_table([1, 2, [], 4, 5], FRUIT), "^features of 'plum': 0 numbers where 'fig' has 1; give all"),  # noqa: E501
        (lambda: validation.feature_table([[1, 2], [1], *[[1, 2]] * 3], FRUIT), "^features of 'pear': 1 number where 'fig' has 2; give all"),  # noqa: E501
        (lambda: ActiveRanker(["a", "b"], features=[10**400, 1]), "^features of 'a', column 1: the number is too large; divide the column$"),  # noqa: E501
        (lambda: ActiveRanker(["a", "b"], features=[[1, 2], [1]]), "^features of 'b': 1 number where 'a' has 2; give all items alike$"),  # noqa: E501
        (lambda: validation.pair_codes([("fig", "pear"), ("fig", "fig")], CODES, FRUIT), "^pair 2: 'fig' is compared with itself; leave"),  # noqa: E501
        (lambda: validation.pair_codes([("fig", "pear"), ("fig", "leek")], CODES, FRUIT), "^pair 2: no item 'leek'; there are 5, such as 'fig'$"),  # noqa: E501
        (lambda: validation.pair_codes([("fig", "pear", "plum")], CODES, FRUIT), r"^pair 1 is \('fig', 'pear', 'plum'\); a pair is \(left"),  # noqa: E501
        (lambda: validation.pair_codes([("fig", {})], CODES, FRUIT), "^pair 1: no item {}; there are 5"),
        (lambda: validation.answer_values([1, 0, "x"], 3), r"^answer 3 is 'x'; it is 1 \(left first\), 0 \(right first\), 0.5 \(tie\) or"),  # noqa: E501
        (lambda: validation.answer_values([1, {}], 2), "^answer 2 is {}; it is 1"),
        (lambda: validation.answer_values([1], 2), "^1 answer for 2 pairs; give one for each pair$"),
        (lambda: validation.judge_names(["ann", []], 2), r"^judge 2 is \[\]; a name is text or a number$"),
        (lambda: validation.codes_of("left", [[0]], 3), r"^left is an array of int64 of shape \(1, 1\); give whole numbers, one"),  # noqa: E501
        (lambda: validation.codes_of("left", [0.0], 3), r"^left is an array of float64 of shape \(1,\); give whole"),
        (lambda: validation.codes_of("left", 1, 3), r"^left is an array of int64 of shape \(\); give whole"),
        (lambda: validation.codes_of("left", [0, 1], 3, 3), "^2 numbers in left for 3 rows; give one a row$"),
        (lambda: validation.codes_of("left", [0, 3], 3), "^left, row 2: 3; numbers are 0 to 2$"),
        (lambda: validation.codes_of("judge", [0, -1], None), "^judge, row 2: -1; numbers are 0 to 9223372036854775806$"),  # noqa: E501
        (lambda: Planner(4, seed=0).tell([0], [1], [1.0], [2**63]), "^judge, row 1: 9223372036854775808; numbers are 0 to"),  # noqa: E501
        (lambda: validation.codes_of("judge", [2**63 - 1], None), "^judge, row 1: 9223372036854775807; numbers are 0 to 9223372036854775806$"),  # noqa: E501
        (lambda: validation.values_of([1, 0], 3), r"^value has shape \(2,\) for 3 rows; give one answer a row$"),
        (lambda: validation.values_of([1, 0.25], 2), "^value, row 2: 0.25; answers are 1, 0.5, 0, or nan for a skip$"),
        (lambda: validation.kinds_of(["check", "maybe"], 2), "^kind 'maybe' is unknown; there are chosen, check, repeat$"),  # noqa: E501
        (lambda: validation.kinds_of([0, 3], 2), "^kind, row 2: 3; numbers are 0 to 2$"),
        (lambda: validation.kinds_of([None], 1), "^kind 'None' is unknown"),
    ],
)  # fmt: skip
def test_values_that_mean_nothing_are_refused_in_a_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


# ---- presets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 10, 100])
@pytest.mark.parametrize(
    ("preset", "appetite"),
    [("quick", 1.8), ("standard", 3.2), ("thorough", 5.0), ("few_rounds", 2.5), ("exact", None), ("paper", None)],
)
def test_a_preset_asks_so_many_questions_an_item_and_bit_and_at_most_all_pairs(preset, appetite, n):
    pairs = n * (n - 1) // 2
    expected = pairs if appetite is None else min(math.ceil(appetite * n * math.log2(n)), pairs)
    assert questions_of(preset, n, None) == expected
    assert questions_of(preset, n, 3) == 3


@pytest.mark.parametrize(
    ("given", "message"),
    [(("fast", 5, None), "^no preset 'fast'; there are quick, standard, thorough, few_rounds, exact, paper$"),
     (("paper", 5, 7), "^paper is 7; give PaperOptions"),
     (("quick", 5, PaperOptions()), "^options of the paper's algorithm are for preset 'paper', not 'quick'$"),
     (("paper", 5, PaperOptions(learner="trees")), "learner 'trees' learns from features; give some"),
     (("exact", 21, None), "^preset 'exact' is for up to 20 items; these are 21: use 'thorough'$")],
)  # fmt: skip
def test_presets_that_do_not_go_together_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        check_preset(*given)


def test_presets_that_go_together_pass():
    assert check_preset("exact", 20, None) is None
    assert check_preset("thorough", 21, None) is None
    assert check_preset("paper", 5, PaperOptions(learner="trees"), features=True) is None


@pytest.mark.parametrize(
    ("options", "what"),
    [({"preset": "exact", "features": np.eye(5)}, "features"), ({"preset": "exact", "goal": ("top", 2)}, r"goal \('top', 2\)"),  # noqa: E501
     ({"preset": "paper", "goal": ("top", 2)}, r"goal \('top', 2\)"),
     ({"preset": "paper", "goal": ("top", 2), "features": np.eye(5)}, r"goal \('top', 2\)"),
     ({"preset": "exact", "goal": ("top", 2), "features": np.eye(5)}, "features")],
)  # fmt: skip
def test_what_a_preset_has_no_use_for_is_named(options, what):
    with pytest.raises(InputError, match=f"^preset '{options['preset']}' has no use for {what}; leave it out"):
        ActiveRanker(FRUIT, **options)


# ---- who answers ----------------------------------------------------------------------------------------------------


def test_a_function_is_asked_by_label_and_its_answers_are_checked():
    oracle = FunctionOracle(
        lambda a, b: {("x", "y"): True, ("y", "x"): None, ("x", "z"): 0.5}.get((a, b), 0), ["x", "y", "z"]
    )
    assert_allclose(oracle.answer([[0, 1], [1, 0], [0, 2], [2, 1]]), [1.0, np.nan, 0.5, 0.0])
    with pytest.raises(InputError, match=r"^pairs have shape \(2,\); give two item numbers a row$"):
        oracle.answer([0, 1])
    with pytest.raises(InputError, match=r"^pairs have shape \(1, 3\); give two"):
        oracle.answer([[0, 1, 2]])
    with pytest.raises(InputError, match=r"^pairs, row 1: 3; numbers are 0 to 2$"):
        oracle.answer([[0, 3]])
    with pytest.raises(InputError, match=r"^pairs, row 1: 3; numbers are 0 to 2$"):
        oracle.answer([[3, 0]])
    with pytest.raises(InputError, match=r"^the answer to 'x' against 'y' was 2; it is 1 \(left first\)"):
        FunctionOracle(lambda a, b: 2, ["x", "y"]).answer([[0, 1]])


def test_an_array_is_looked_up_from_the_left_item():
    wins = np.array([[0, 1, 0.5], [0, 0, np.nan], [0.5, 1, 0]])
    oracle = MatrixOracle(wins)
    assert oracle.n == 3
    assert_allclose(oracle.answer([[0, 1], [1, 0], [0, 2], [1, 2], [2, 1]]), [1, 0, 0.5, np.nan, 1])
    assert MatrixOracle(np.array([[False, True], [False, False]])).answer([[0, 1]]).tolist() == [1.0]
    with pytest.raises(InputError, match=r"^the answers have shape \(2, 3\); a square array is needed$"):
        MatrixOracle(np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"^the answers are of type complex128; numbers are needed: 1, 0, 0.5 or nan$"):
        MatrixOracle(np.zeros((2, 2), dtype=complex))


def test_what_an_oracle_says_is_checked_pair_by_pair():
    pairs = np.array([[0, 1], [2, 1]])

    def ask(said, **more):
        return asker(SimpleNamespace(answer=lambda given: said, **more), ["x", "y", "z"])

    assert_allclose(ask([True, 0])(pairs), [1.0, 0.0])
    assert_allclose(ask([0.5, np.nan], n=3)(pairs), [0.5, np.nan])
    with pytest.raises(
        InputError, match=r"^the oracle said 0.25 of 'z' against 'y'; it is 1 \(left first\), 0 \(right first\), 0"
    ):
        ask([1.0, 0.25])(pairs)
    with pytest.raises(
        InputError, match=r"^the oracle gave an array of int64 of shape \(1,\) for 2 pairs; it gives one number a pair$"
    ):
        ask(np.array([1]))(pairs)
    with pytest.raises(InputError, match=r"^the oracle gave an array of complex128 of shape \(2,\) for 2 pairs"):
        ask(np.array([1, 0], dtype=complex))(pairs)
    with pytest.raises(InputError, match=r"^the oracle knows 1 item and there are 3; give it the same ones$"):
        ask([1, 0], n=1)
    with pytest.raises(
        InputError, match=r"^the oracle is 'me'; give a function of two items, or an object with answer\(pairs\)$"
    ):
        asker("me", ["x"])


@pytest.mark.parametrize(
    ("given", "message"),
    [(((0,), {}), "n=0"), (((3, 7), {}), "^no noise model 7; there are flips, bradley-terry, cyclic"),
     (((3, "flips", -0.1), {}), "level=-0.1"), (((3, "flips", 1.5), {}), "^level is 1.5; it lies between 0 and 1$"),
     (((3,), {"persistent": "no"}), "persistent"), (((3,), {"seed": -1}), "seed=-1")],
)  # fmt: skip
def test_judges_that_cannot_be_simulated_are_refused(given, message):
    with pytest.raises(InputError, match=message):
        Simulated(*given[0], **given[1])


def test_a_simulated_judge_remembers_and_a_fresh_one_does_not():
    assert (Simulated(3).consistent, Simulated(3, persistent=False).consistent) == (True, False)
    assert (Simulated(3).model, Simulated(3).level, Simulated(3, level=1.0).level) == ("flips", 0.1, 1.0)
    pairs = np.tile([[0, 1]], (200, 1))
    assert len(set(Simulated(5, "flips", 0.5, seed=1).answer(pairs).tolist())) == 1
    fresh = Simulated(5, "flips", 0.5, seed=1, persistent=False).answer(pairs)
    assert 60 < fresh.sum() < 140
    by_judge = Simulated(5, "flips", 0.5, seed=1).answer(pairs, np.arange(200))
    assert 60 < by_judge.sum() < 140
    assert Simulated(5, "flips", 0.5, seed=1).answer(pairs, 3).tolist() == [by_judge[3]] * 200
    assert Simulated(5, "flips", 0.5, seed=1).answer(pairs[:1]).tolist() == [by_judge[0]]  # nobody is judge 0
    with pytest.raises(InputError, match=r"^3 numbers in judge for 2 rows; give one a row$"):
        Simulated(5).answer(pairs[:2], [0, 1, 2])
    assert Simulated(1).excess([0]) == 0.0
    assert Simulated(6, seed=1).order.tolist() != Simulated(6, seed=2).order.tolist()
    assert Simulated(6, seed=1).order.tolist() == Simulated(6, seed=1).order.tolist()


def test_a_judge_tires_over_ten_answers_an_item():
    n = 10
    judge = Simulated(n, "tiring", 1.0, seed=3, persistent=False)
    pairs = np.tile([judge.order[[0, -1]]], (100, 1))
    first = judge.answer(pairs)
    assert judge.answered == 100
    assert first[:20].sum() > first[-20:].sum() + 5
    assert judge.answer(pairs).tolist() == [0.0] * 100  # by now every answer is wrong
    assert judge.answered == 200


@pytest.mark.parametrize("order", [[0, 1, 1], [0, 1], [0, 1, 3]])
def test_the_cost_is_that_of_a_whole_order(order):
    judge = Simulated(3)
    for measure in (judge.cost, judge.excess):
        with pytest.raises(
            InputError,
            match=r"order names an item twice; give each number from 0 to 2 once|in order for 3 rows|order, row 3: 3",
        ):
            measure(order)


def test_pairs_are_confused_by_their_scores_or_their_places():
    """At level 0 a judge errs nowhere, however close; and far beyond it nothing overflows."""
    for model in ("bradley-terry", "normal", "near-ties"):
        judge = Simulated(12, model, 0.0, seed=1)
        assert judge.cost(judge.order) == 0
        assert judge.cost(judge.order[::-1]) == 66
        assert judge.excess(judge.order[::-1]) == pytest.approx(100.0)
    assert oracles.UNEQUAL.tolist() == [0.0, 0.5, 1.0, 2.0, 3.0]


# ---- results --------------------------------------------------------------------------------------------------------


def test_tiers_begin_where_a_band_begins_below_the_end_of_the_first_of_the_tier_before():
    order = np.array([2, 0, 1, 3, 4])
    off = np.array([0.4, 0.5, 0.6, 1.5, 0.5])  # of items 0, 1, 2, …: bands -0.6–0.6, 0.6–1.4, 1.5–2.5, 1.5–4.5, 3.5–4.5
    assert results.tiers(order, off) == [[2, 0], [1, 3], [4]]
    assert results.tiers(order, np.zeros(5)) == [[2], [0], [1], [3], [4]]
    assert results.tiers(order, np.full(5, 0.5)) == [[2, 0], [1, 3], [4]]  # bands that touch overlap
    assert results.tiers(order, np.full(5, 9.0)) == [order.tolist()]
    assert results.tiers(order, off, [np.array([3, 0, 2]), np.array([4, 1])]) == [[2, 0, 3], [1, 4]]


def test_the_table_of_ranks_has_a_row_an_item():
    order = np.array([2, 0, 1])
    table = results.rank_table(
        "xyz", order, (np.array([2, 2, 2]), np.array([2, 2, 1])), np.array([7, 8, 9]), np.array([3, 4, 5])
    )
    assert table.to_dicts() == [
        {"item": "z", "rank": 1, "rank_lower": 1, "rank_upper": 1, "tier": 9, "answers": 5},
        {"item": "x", "rank": 2, "rank_lower": 2, "rank_upper": 2, "tier": 7, "answers": 3},
        {"item": "y", "rank": 3, "rank_lower": 2, "rank_upper": 3, "tier": 8, "answers": 4},
    ]
    mixed = results.rank_table(
        ["x", 1, ("y", 2)], order, (np.ones(3), np.ones(3)), np.ones(3), np.ones(3)
    )  # labels of any kind
    assert len(mixed) == 3


@pytest.mark.parametrize(
    ("judges", "named"), [([], False), ([None], False), (["ann"], True), ([None, "ann"], True), (["ann", "bob"], True)]
)
def test_votes_for_other_rankers_have_judges_where_there_are_names(judges, named):
    last = max(len(judges) - 1, 0)
    columns = (
        np.array([0, 1, 2, 0]), np.array([1, 2, 0, 2]), np.array([1.0, 0.5, np.nan, 0.0]), np.array([0, last, 0, last])
    )  # fmt: skip
    votes = results.comparisons(("x", "y", "z"), columns, judges)
    assert votes.items == ("x", "y", "z")
    assert (votes.left.tolist(), votes.right.tolist(), votes.outcome.tolist()) == ([0, 1, 0], [1, 2, 2], [1, 0, -1])
    assert votes.judges == (tuple(judges) if named else ())
    if named:
        assert votes.judge.tolist() == [0, last, last]
    else:
        assert votes.judge is None


def test_questions_have_kinds_in_words():
    asked = Questions(np.array([0, 2, 1]), np.array([1, 0, 2]), np.array([CHOSEN, CHECK, REPEAT]))
    assert len(asked) == 3
    assert asked.pairs.tolist() == [[0, 1], [2, 0], [1, 2]]
    assert asked.kinds == ["chosen", "check", "repeat"]


# ---- features -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "message"),
    [(np.zeros(4), r"^features have shape \(4, 1\); one row for each of the 3 items is needed$"),
     (np.zeros((3, 1, 1)), r"^features have shape \(3, 1, 1\); one row"),
     ([[0.0, 1.0], [1.0, np.inf], [np.nan, 2.0]], "^features: row 2, column 2 is inf; numbers are needed$")],
)  # fmt: skip
def test_features_without_a_number_for_every_item_are_refused(values, message):
    with pytest.raises(InputError, match=message):
        Features(values, 3)


def test_a_place_weighs_at_most_nine_tenths_in_its_own_guess():
    """One item apart from all others in its feature: the fit goes through it, and without it knows nothing."""
    n = 200
    table = np.zeros(n)
    table[0] = 1.0
    found = Features(table, n)
    solve, leverage = found._everyone
    design = np.column_stack([np.ones(n), (table - table.mean()) / table.std()])
    hat = design @ np.linalg.solve(design.T @ design + np.diag([0.0, 1.0]), design.T)
    assert hat[0, 0] > 0.95
    assert_allclose(leverage, np.minimum(np.diag(hat), 0.9))
    assert_allclose(design @ solve, hat)


# ---- a ranker -------------------------------------------------------------------------------------------------------


def told(preset="standard", n=6, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return ActiveRanker([f"i{k}" for k in range(n)], preset=preset, seed=1, **options)


@pytest.mark.parametrize(
    ("preset", "options", "size"),
    [("exact", {}, 15), ("few_rounds", {}, 2), ("few_rounds", {"budget": 30}, 4), ("few_rounds", {"budget": 32}, 4),
     ("few_rounds", {"budget": 33}, 5), ("standard", {}, 3), ("quick", {}, 3)],
)  # fmt: skip
def test_a_round_is_all_pairs_an_eighth_of_the_budget_or_what_the_planner_says(preset, options, size):
    found = told(preset, **options)
    assert found._round() == size
    assert len(found.ask()) == min(size, 15)


def test_after_eight_rounds_few_rounds_are_over():
    found = told("few_rounds", n=20)
    for count in range(8):
        assert not found.done
        assert found.rounds == count
        pairs = found.ask()
        found.tell(pairs, [int((int(a[1:]) * 7 + int(b[1:]) * 3) % 5 < 3) for a, b in pairs])
    assert found.done
    other = told("thorough", n=20)
    other.rounds = 99
    assert not other._spent()


@pytest.mark.parametrize(
    ("preset", "budget", "finished", "exhausted", "stable", "spent"),
    [("standard", None, False, False, False, False), ("standard", None, True, False, False, True),
     ("standard", None, False, False, True, True), ("quick", None, False, False, True, True),
     ("thorough", None, False, False, True, False), ("few_rounds", None, False, False, True, False),
     ("standard", 40, True, False, True, False), ("standard", 40, False, True, False, True)],
)  # fmt: skip
def test_nothing_more_is_planned_where_the_order_is_known_well_enough(
    monkeypatch, preset, budget, finished, exhausted, stable, spent
):
    found = told(preset, budget=budget)
    monkeypatch.setattr(Planner, "finished", finished)
    monkeypatch.setattr(Planner, "exhausted", exhausted)
    monkeypatch.setattr(ActiveRanker, "_looks_stable", lambda self: stable)
    assert found._spent() == spent
    assert found.done == spent
    assert (found.next_pair() is None) == spent
    found._out[7] = (0, 1, 0)
    assert not found.done  # an answer is still to come


def test_a_budget_is_spent_when_so_many_were_answered_and_what_is_out_counts():
    found = told(budget=7)
    pairs = found.ask(5)
    assert len(pairs) == 5
    more = found.ask(5)
    assert len(more) == 2
    assert found.ask(4) == (pairs + more)[:4]  # nothing new: what is out, again
    found.tell(pairs, [1] * 5)
    assert not found.done
    assert found.answered == 5
    found.tell(more, [1] * 2)
    assert found.done
    assert found._spent()
    assert found.ask() == []


def test_one_pair_is_planned_around_what_is_out_for_the_judge_who_asks():
    found = told(n=3)
    every = [("i0", "i1"), ("i0", "i2"), ("i1", "i2")]
    for pair in every:
        others = [other for other in every if other != pair]
        (left, right), kind = found.next_pair("ann", out=others)
        assert (sorted((left, right)), kind) == (list(pair), "chosen")
        assert found.next_pair(None, out=iter(others)) is not None
    assert found.next_pair("ann", out=every) is None
    found.tell([("i0", "i1")], [None], "ann")
    assert found.next_pair("ann", out=every[1:]) is None  # she has skipped it
    assert sorted(found.next_pair("bob", out=every[1:])[0]) == ["i0", "i1"]
    with pytest.raises(InputError, match=r"^pair 1: no item 'i9'"):
        found.next_pair(out=[("i0", "i9")])
    with pytest.raises(InputError, match=r"^out is 5; give pairs$"):
        found.next_pair(out=5)


def test_answers_are_those_of_their_kind_also_where_only_some_come():
    found, kinds = told("thorough", n=12, random_share=0.5), {}
    for _ in range(12):
        pairs = found.ask(9)
        kinds |= {frozenset((found.items[u], found.items[v])): kind for u, v, kind in found._out.values()}
        for part in (pairs[:4], pairs[4:]):
            found.tell([pair[::-1] for pair in part], [int(a[1:]) * int(b[1:]) % 3 % 2 for a, b in part])
        assert not found._out
    rows = found.log[1:]
    assert {row["kind"] for row in rows} == {"chosen", "check"}
    for row in rows:
        assert row["kind"] == ("chosen", "check", "repeat")[kinds[frozenset((row["left"], row["right"]))]]
    found.tell([("i0", "i1")], [1], "somebody")
    assert found.log[-1]["kind"] == "chosen"  # nobody had asked
    assert len(found.check_comparisons) == sum(row["kind"] == "check" for row in found.log[1:])


def test_an_answer_taken_back_or_left_out_was_never_given():
    found, twin = told(), told()
    pairs = list(itertools.combinations(found.items, 2))
    found.tell(pairs[:6], [1, 0, 1, 1, 0, 1], ["ann", "bob"] * 3)
    twin.tell(pairs[:5:2], [1, 1, 0], "ann")
    assert found.undo("bob") == pairs[5]
    assert (found.answered, found.undo("zoe")) == (5, None)
    found.exclude("bob")
    assert found.answered == 3
    assert found.planner.tally.value.tolist() == twin.planner.tally.value.tolist()
    assert found.order() == twin.order()
    assert found.undo() == pairs[4]
    assert found.undo() == pairs[2]
    assert found.undo("ann") == pairs[0]
    assert found.undo() is None
    with pytest.raises(InputError, match=r"^no answer is of a judge 'zoe'; there are 'ann', 'bob'$"):
        found.exclude("zoe")


def test_a_look_at_the_signal_is_taken_again_after_an_answer_was_taken_back():
    found = told()
    found.tell([("i0", "i1")], [1])
    found._stable = (3, True)
    found.undo()
    assert found._stable == (-1, False)


def test_the_order_of_all_pairs_is_the_one_of_least_contradiction():
    """A circle of three whose weakest link is a tie; votes of two judges count each."""
    found = ActiveRanker(list("abc"), preset="exact", seed=0)
    found.tell([("a", "b"), ("b", "c"), ("c", "a")], [1, 1, 1], "ann")
    found.tell([("b", "a"), ("c", "b"), ("c", "a")], [0, 0, 0.5], "bob")
    assert found.order() == ("a", "b", "c")
    assert found.order("answers") == ("a", "b", "c")
    assert found.ranking_.scores.tolist() == [2.0, 1.0, 0.0]
    assert found.ranking_.note == "Order from chosen questions: scores count the items below and have no intervals."


def test_a_budget_that_is_spent_says_how_many_questions_are_missing():
    found = told(budget=8)
    while not found.done:
        pairs = found.ask()
        found.tell(pairs, [int(a < b) for a, b in pairs])
    short = found.summary()
    assert not short.stable
    assert found.ranking_.note.endswith("until stable.")
    assert " The budget is spent; about " in found.ranking_.note
    assert told().ranking_.note.endswith("have no intervals.")
    early = told(budget=8)
    assert early.ranking_.note.endswith("have no intervals.")


@pytest.mark.parametrize(("budget", "warned"), [(4, True), (5, False)])
def test_a_budget_that_cannot_connect_all_items_is_said(budget, warned):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ActiveRanker(list("abcdef"), budget=budget, seed=0)
    assert [str(each.message) for each in said] == ["4 questions cannot connect 6 items; at least 5 are needed. The order will be the best so far, most of it a guess"] * warned  # fmt: skip  # noqa: E501


def test_the_head_of_a_log_has_every_option_and_a_replay_takes_them():
    features = np.arange(6.0)
    found = told(goal=("top", 2), budget=9, random_share=0.25, repeats="never", features=features)
    assert found.head["options"] | {"features": None} == {"goal": ["top", 2], "budget": 9, "random_share": 0.25, "features": None, "repeats": "never"}  # fmt: skip  # noqa: E501
    again = ActiveRanker.replay(found.items, found.log, features=features)
    for name in ("preset", "goal", "budget", "random_share", "repeats", "seed", "paper", "top"):
        assert getattr(again, name) == getattr(found, name)
    paper = told("paper", paper=PaperOptions(epsilon=0.25, small=3))
    assert paper.head["options"]["paper"]["epsilon"] == 0.25
    assert ActiveRanker.replay(paper.items, paper.log).paper == paper.paper
    old = found.head | {"options": {}, "items": found.head["items"]}
    bare = ActiveRanker.replay(found.items, [old])
    assert (bare.goal, bare.budget, bare.random_share, bare.repeats) == ("order", None, 0.1, "auto")
    wrong = paper.head | {"options": {"paper": {"colour": 1}}}
    with pytest.raises(
        InputError, match=r"^the log's header has options of preset 'paper' that do not exist: {'colour': 1}$"
    ):
        ActiveRanker.replay(paper.items, [wrong])


@pytest.mark.parametrize(
    ("row", "message"),
    [({"left": "i0"}, "^log, row 2: neither an event nor an answer with left and right; mend it, or read the file with"),  # noqa: E501
     ({"podium": "undo", "row": 7}, "^log, row 2: an undo of row 7, which is no vote$"),
     ({"podium": "exclude", "judge": "zoe"}, "^log, row 2: no answer is of a judge 'zoe'"),
     ({"left": "i0", "right": "i9", "outcome": 1}, "^log, row 2: pair 1: no item 'i9'"),
     ({"left": "i0", "right": "i1", "outcome": 1, "kind": "odd"}, "^log, row 2: kind 'odd' is unknown")],
)  # fmt: skip
def test_a_row_of_a_log_that_makes_no_sense_is_named_by_its_number(row, message):
    with pytest.raises(InputError, match=message):
        told().take_rows([row])


def test_rows_of_a_log_are_taken_one_after_the_other():
    found = told()
    pair = found.ask(1)[0]
    found.take_rows(
        [{"left": pair[0], "right": pair[1], "outcome": 0, "judge": "ann", "kind": "check", "time": "noon"}]
    )
    assert not found._out  # it was out
    found.take_rows([{"left": "i3", "right": "i4", "outcome": 0.5, "judge": "bob"}, {"podium": "ask", "max_pairs": 3}])
    found.take_rows([{"podium": "skip", "left": "i1", "right": "i2", "judge": "ann"}, {"podium": "undo", "row": 3}])
    assert found.asked == []  # only the published algorithm goes by what was asked for
    assert found.answered == 2
    assert [row.get("time") for row in found.log[1:] if "left" in row] == ["noon", None, None]
    assert [row.get("kind") for row in found.log[1:] if "left" in row] == ["check", "chosen", "chosen"]
    with pytest.raises(InputError, match=r"^log, row 7: an undo of row 3, which is no vote$"):
        found.take_rows([{"podium": "undo", "row": 3}])
    found.take_rows(
        [{"podium": "exclude", "judge": "ann"}, {"left": "i0", "right": "i5", "outcome": 1, "judge": "ann"}]
    )
    assert found.answered == 0
    assert found.planner.tally.n == 6
    assert len(found.planner) == 0


def test_an_ask_in_the_log_of_the_published_algorithm_is_put_again():
    first = told("paper", n=8)
    pairs = first.ask(3)
    again = ActiveRanker.replay(first.items, first.log)
    assert again.asked == pairs
    assert ActiveRanker.replay(first.items, [*first.log, {"podium": "ask"}]).asked == pairs
    with pytest.raises(InputError, match=r"^log, row 2: max_pairs is 0; it is a whole number, at least 1$"):
        told("paper", n=8).take_rows([{"podium": "ask", "max_pairs": 0}])
    first.tell(pairs, [1] * 3, "ann")
    assert first.rounds == first._interview.rounds
    assert first.undo("ann") == pairs[-1]
    assert first.answered == len(first._interview.votes.rows()) == 2


@pytest.mark.parametrize("most", [None, 2])
def test_an_oracle_is_asked_as_many_pairs_at_once_as_it_takes(most):
    sizes = []

    def answer(pairs):
        sizes.append(len(pairs))
        return (pairs[:, 0] < pairs[:, 1]).astype(float)

    found = rank_with(SimpleNamespace(answer=answer), range(9), max_pairs=most, seed=0)
    assert found.order() == tuple(range(9))
    assert (max(sizes) > 2) == (most is None)
    assert sizes[0] == (4 if most is None else 2)  # half the items
    assert found.rounds == len(sizes)
    assert found.answered == sum(sizes)
    assert found.comparisons.judge is None


def test_an_oracle_is_held_to_be_consistent_unless_it_says_otherwise():
    def oracle(**more):
        return SimpleNamespace(answer=lambda pairs: (pairs[:, 0] < pairs[:, 1]).astype(float), **more)

    assert rank_with(oracle(), range(3), seed=0).repeats == "never"
    assert rank_with(oracle(consistent=True), range(3), seed=0).repeats == "never"
    assert rank_with(oracle(consistent=False), range(3), seed=0).repeats == "auto"
    assert rank_with(oracle(), range(3), seed=0, repeats="auto").repeats == "auto"
    assert rank_with(lambda a, b: a < b, range(3), seed=0).repeats == "never"


def test_pairs_have_one_number_from_either_side():
    codes = np.array([[1, 0], [0, 1], [2, 5], [0, 5]])
    assert ranker._either_way(codes) == [1, 1, (2 << 32) + 5, 5]


# ---- rehearsals -----------------------------------------------------------------------------------------------------


def test_a_mean_rehearsal_has_the_mean_of_each_column():
    one, two = rehearsal.Rehearsal(*range(7)), rehearsal.Rehearsal(*range(2, 9))
    assert rehearsal.mean_rehearsal([one, two]) == rehearsal.Rehearsal(*range(1, 8))


@pytest.mark.parametrize("features", [None, "informative", "useless"])
def test_a_rehearsal_asks_with_the_features_it_is_told(monkeypatch, features):
    given = []

    def rank_with(judge, items, **options):
        given.append((list(items), options))
        return SimpleNamespace(
            summary=lambda: SimpleNamespace(questions=12, within_ranks=1.0, stable=False), rounds=2,
            order=lambda aim="truth": {"truth": list(range(6)), "answers": list(range(6))[::-1]}[aim],
        )  # fmt: skip

    monkeypatch.setattr(rehearsal, "rank_with", rank_with)
    judge = Simulated(6, "flips", 0.2, seed=1)
    found = rehearsal.rehearse(judge, "quick", features=features, seed=4)
    ((items, options),) = given
    assert (items, options["preset"], options["seed"], options["budget"]) == (list(range(6)), "quick", 4, None)
    if features is None:
        assert options["features"] is None
    else:
        assert_allclose(options["features"], judge.features(informative=features == "informative"))
    backwards = np.arange(6)[::-1]
    assert found.cost_ratio == max(judge.cost(backwards), 1) / max(judge.cost(judge.order), 1)
    assert found.excess == judge.excess(np.arange(6))
    assert (found.questions_per_item, found.stable) == (2.0, 0.0)


def test_judges_of_a_planned_campaign_take_turns(monkeypatch):
    monkeypatch.setattr(rehearsal, "QUESTIONS_PER_ITEM", (1, 2, 4))
    told_of, asked = [], []
    tell, plan = Planner.tell, Planner.plan
    monkeypatch.setattr(Planner, "tell", lambda self, *rows: told_of.append(rows) or tell(self, *rows))
    monkeypatch.setattr(Planner, "plan", lambda self, count: asked.append((len(self), count)) or plan(self, count))
    found = rehearsal.reliability_by_votes(8, 3, 0.9, 0.99, seed=1)
    judges = np.concatenate([rows[3] for rows in told_of])
    assert judges.tolist() == [k % 3 for k in range(32)]
    assert len(found) == 3
    for have, count in asked:  # three at once, or what is missing to the next look
        assert count == min(3, next(look for look in (8, 16, 32) if look > have) - have)
    asked.clear()
    rehearsal.reliability_by_votes(16, 2, 0.3, 0.2, seed=1)
    assert asked[0] == (0, 4)  # a quarter of the items


def test_a_ranker_hands_its_options_to_the_planner_and_to_the_published_algorithm():
    features = np.arange(6.0)
    found = told(goal=("top", 2), random_share=0.25, repeats="never", features=features, budget=9)
    planner = found.planner
    assert (planner.n, planner.seed, planner.top, planner.random_share, planner.repeats) == (6, 1, 2, 0.25, "never")
    assert planner._features is not None
    assert found.head["options"]["features"] == hashlib.sha256(features.tobytes()).hexdigest()[:16]
    plain = told()
    assert (plain.random_share, plain.repeats, plain.goal, plain.budget, plain.preset) == (0.1, "auto", "order", None, "standard")  # fmt: skip  # noqa: E501
    assert (plain.rounds, plain.answered, plain.planner._features, plain.head["options"]["features"]) == (
        0,
        0,
        None,
        None,
    )
    paper = told("paper", budget=9, random_share=0.25)._interview
    assert (paper.n, paper.seed, paper.budget, paper.random_share) == (6, 1, 9, 0.25)
    assert (Planner(3, seed=0).random_share, Planner(3, seed=0).repeats, Planner(3, seed=0).top) == (0.1, "auto", None)


def test_what_is_asked_depends_on_the_answers_and_not_on_plans_made_before(monkeypatch):
    one, two = told(n=12), told(n=12)
    two.planner.plans = 99
    assert one.ask(3) == two.ask(3)
    asked = []
    plan = Planner.plan
    monkeypatch.setattr(Planner, "plan", lambda self, count, **more: asked.append(count) or plan(self, count, **more))
    assert one.next_pair() is not None
    assert asked == [1]


@pytest.mark.parametrize(("n", "size"), [(3, 1), (4, 1), (5, 2), (20, 24)])
def test_the_fewest_rounds_have_an_eighth_of_the_questions_each(n, size):
    """Of three items all three pairs are asked, one a round; of twenty 190, the least of those and 2.5 n log2 n."""
    assert told("few_rounds", n=n)._round() == size


def test_the_planner_knows_the_last_answer_of_a_judge_only():
    found = told()
    found.tell([("i0", "i1"), ("i1", "i2")], [1, 1], "ann")
    with pytest.warns(DataWarning, match="the last answer counts"):
        found.tell([("i1", "i0")], [1], "ann")
    assert len(found.planner) == found.answered == 2
    assert found.planner.tally.value.tolist() == [0.0, 1.0]
    found.tell([("i0", "i1")], [1], "bob")
    assert len(found.planner) == found.answered == 3


def test_the_note_of_a_spent_budget_has_the_forecast_of_the_summary():
    found = told(budget=8)
    while not found.done:
        pairs = found.ask()
        found.tell(pairs, [int(a < b) for a, b in pairs])
    short = found.summary()
    assert short.until_stable < short.until_stable_upper
    more = about(short.until_stable, short.until_stable_upper, "more question")
    assert found.ranking_.note.endswith(f" The budget is spent; {more} until stable.")


def test_the_table_of_ranks_counts_tiers_from_one_in_whole_numbers():
    found = told()
    pairs = list(itertools.combinations(found.items, 2))
    found.tell(pairs, [1] * len(pairs))
    table = found.ranks()
    assert table["tier"].dtype.is_integer()
    assert table["tier"].to_list()[0] == 1
    assert table["item"].to_list() == list(found.order())
    assert table["answers"].to_list() == [5] * 6
    assert [number for number, tier in enumerate(found.tiers_, start=1) for _ in tier] == table["tier"].to_list()


def test_what_was_said_once_is_not_said_again_by_a_replay():
    log = told(budget=2).log
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ActiveRanker.replay([f"i{k}" for k in range(6)], log).budget == 2


def test_the_published_algorithm_takes_back_the_answer_of_the_judge_who_undoes():
    found = told("paper", n=8)
    pairs = found.ask(3)
    found.tell(pairs[:1], [1], "ann")
    found.tell(pairs[1:2], [0], "bob")
    found.tell(pairs[2:], [1], "ann")
    assert found.undo("bob") == pairs[1]
    rows = found._interview.votes.rows()
    kept = {frozenset(pair) for pair in (pairs[0], pairs[2])}
    assert {frozenset((found.items[u], found.items[v])) for u, v in zip(rows.left, rows.right, strict=True)} == kept
    again = told("paper", n=8)
    again.take_rows([{"podium": "ask", "max_pairs": 1}, {"podium": "ask", "max_pairs": None}])
    assert len(again.asked) > 1
    assert again.done is False


def test_tiers_of_the_published_algorithm_are_its_blocks_once_it_is_done():
    found = told("paper", n=8)
    before = found.tiers_
    assert sorted(item for tier in before for item in tier) == sorted(found.items)
    while not found.done:
        pairs = found.ask()
        found.tell(pairs, [int(a < b) for a, b in pairs])
    assert found.tiers_ == [tuple(found.items)]  # eight items are one small block
    assert found.order() == found.items


def test_a_simulated_judge_by_default_is_the_first_of_the_first_seed():
    assert Simulated(9).order.tolist() == Simulated(9, seed=0).order.tolist() != Simulated(9, seed=1).order.tolist()
    left, right = np.triu_indices(9, 1)
    judge = Simulated(9, "unequal", 0.4)
    assert judge._luck(left, right).tolist() == judge._luck(left, right, 0).tolist()
    assert judge._mistakes(left, right).tolist() == [0.0] * 36  # the first of unequal judges makes none
    first = judge.place[left] < judge.place[right]
    assert judge._decide(left, right, np.zeros(36)).tolist() == first.tolist()
    assert judge._decide(left, right, np.zeros(36), 1).tolist() == (~first).tolist()


def test_the_farthest_quarter_of_pairs_is_turned_round():
    """At a level of ¼ those more than half of all places apart, and not those exactly half."""
    judge = Simulated(30, "long-range", 0.25, seed=1)
    first = np.full(29, judge.order[0])
    turned = judge._mistakes(first, judge.order[1:])
    assert turned.tolist() == [0.0] * 15 + [1.0] * 14


def test_the_hidden_order_itself_contradicts_as_many_votes_as_the_hidden_order(monkeypatch):
    judge = Simulated(7, "flips", 0.0, seed=1)
    found = SimpleNamespace(
        summary=lambda: SimpleNamespace(questions=7, within_ranks=0.0, stable=True), rounds=1,
        order=lambda aim="truth": judge.order.tolist(),
    )  # fmt: skip
    monkeypatch.setattr(rehearsal, "rank_with", lambda *given, **options: found)
    assert rehearsal.rehearse(judge, "quick") == rehearsal.Rehearsal(1.0, 1, 1.0, 0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize("seed", [1, 2])
def test_reliability_is_the_squared_correlation_of_ranks_with_the_hidden_ones(monkeypatch, seed):
    place = Simulated(8, "normal", 0.3, seed=seed, persistent=False).place
    monkeypatch.setattr(rehearsal, "QUESTIONS_PER_ITEM", (1,))
    monkeypatch.setattr(Planner, "order", lambda self: np.array([3, 0, 6, 1, 7, 2, 5, 4]))
    rank = np.argsort([3, 0, 6, 1, 7, 2, 5, 4])
    expected = np.corrcoef(rank, place)[0, 1] ** 2
    assert rehearsal.reliability_by_votes(8, 2, 0.3, 0.9, seed=seed) == [pytest.approx(expected)]


def test_reliability_is_looked_at_after_more_and_more_questions():
    looks = rehearsal.QUESTIONS_PER_ITEM
    assert all(1 < after / before <= 1.5 for before, after in itertools.pairwise(looks))


def test_all_answers_of_a_judge_take_a_byte_each():
    judge = Simulated(40, "flips", 0.2, seed=1)
    wins = judge.matrix()
    assert (wins.shape, wins.nbytes) == ((40, 40), 1600)
    assert (wins + wins.T + np.eye(40) == 1).all()
