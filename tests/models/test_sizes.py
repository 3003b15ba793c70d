"""What must agree before a kernel may follow the arrays of a file: each part longer, shorter or another."""

from types import SimpleNamespace

import numpy as np
import pytest

from podium import models
from podium.models import SIZES


def own(**parts):
    return SimpleNamespace(**parts)


def spoilt(make, path, value):
    """The good one with one part replaced; a path goes through attributes and keys."""
    good = make()
    *way, last = path.split(".")
    place = good
    for name in way:
        place = place[int(name)] if isinstance(place, list) else place[name] if isinstance(place, dict) else getattr(place, name)  # noqa: E501  # fmt: skip
    old = place[last] if isinstance(place, dict) else getattr(place, last)
    new = value(old) if callable(value) else value
    if isinstance(place, dict):
        place[last] = new
    else:
        setattr(place, last, new)
    return good


def longer(axis=0):
    return lambda array: np.insert(array, array.shape[axis], 0, axis)


def shorter(axis=0):
    return lambda array: np.delete(array, -1, axis)


def along(path, axes):
    """Both ways along every axis."""
    return [(path, change(axis)) for axis in range(axes) for change in (longer, shorter)]


# ---- information ----------------------------------------------------------------------------------------------------


def information():
    """Three items, two pairs, four votes, one extra parameter."""
    codes = np.array([0, 2], np.int32)
    votes = np.array([0, 1, 2, 0], np.int32)
    return own(
        n=3, extras=1, left=codes, right=codes[::-1].copy(), curvature=np.ones(2), vote_left=votes,
        vote_right=np.roll(votes, 1), vote_gradient=np.ones(4), vote_weight=np.ones(4), vote_weight_sq=np.ones(4),
        target=np.ones(4), vote_extra_gradient=np.ones((4, 1)), clusters={"judge": np.zeros(4)}, scores=np.zeros(3),
        open_above=np.zeros(3, bool), open_below=np.zeros(3, bool), border=np.ones((3, 1)), corner=np.ones((1, 1)),
        alternatives=[own(curvature=np.ones(2), shift=np.zeros(4), border=np.ones((3, 1)), corner=np.ones((1, 1)))],
        fits=True,
    )  # fmt: skip


def without_votes():
    plain = information()
    for name in ("vote_left", "vote_right", "vote_gradient", "vote_weight", "vote_weight_sq", "target"):
        setattr(plain, name, None)
    plain.vote_extra_gradient, plain.clusters = None, {}
    return plain


def without_extras():
    plain = without_votes()
    plain.extras, plain.border, plain.corner, plain.alternatives = 0, None, None, []
    for name in ("scores", "open_above", "open_below"):
        setattr(plain, name, None)
    return plain


@pytest.mark.parametrize("make", [information, without_votes, without_extras])
@pytest.mark.parametrize("kind", ["Information", "ListInformation", "WeightedInformation"])
def test_information_that_fits(make, kind):
    assert SIZES[kind](make())
    if kind != "Information":
        assert not SIZES[kind](spoilt(make, "fits", False))
        assert not SIZES[kind](spoilt(make, "curvature", np.ones(3)))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *along("left", 1), *along("right", 1), *along("curvature", 1), *along("vote_left", 1), *along("vote_right", 1),
        *along("vote_gradient", 1), *along("vote_weight", 1), *along("vote_weight_sq", 1), *along("target", 1),
        *along("vote_extra_gradient", 2), *along("clusters.judge", 1), *along("scores", 1), *along("open_above", 1),
        *along("open_below", 1), *along("border", 2), *along("corner", 2), *along("alternatives.0.curvature", 1),
        *along("alternatives.0.shift", 1), *along("alternatives.0.border", 2), *along("alternatives.0.corner", 2),
        ("alternatives.0.border", None), ("alternatives.0.corner", None), ("n", 2), ("n", 4), ("extras", 0),
        ("extras", 2),
        *((name, array) for name in ("left", "right") for array in (
            np.array([0, 3], np.int32), np.array([-1, 2], np.int32), np.array([0, 2.0]), np.array([0, 2], np.uint32))),
        *((name, array) for name in ("vote_left", "vote_right") for array in (
            np.array([0, 1, 3, 0], np.int32), np.array([0, -1, 2, 0], np.int32), np.array([0.0, 1, 2, 0]))),
    ],
)  # fmt: skip
def test_information_with_one_part_of_another_size(path, value):
    assert SIZES["Information"](spoilt(information, path, value)) is False


@pytest.mark.parametrize(
    ("codes", "fits"),
    [([], True), ([0], True), ([2, 0, 1], True), ([3], False), ([-1], False), ([0, 3], False), ([-1, 0], False)],
)
def test_codes_are_whole_numbers_of_items(codes, fits):
    for kind in (np.int32, np.int64):
        assert models._within(np.array(codes, kind), 3) is fits
    for kind in (np.float64, np.uint32, bool):
        assert models._within(np.array([0, 1], kind), 3) is False


# ---- rankings and rankers -------------------------------------------------------------------------------------------


def ranking():
    return own(items=("a", "b", "c"), scores=np.zeros(3), _information=own(n=3))


@pytest.mark.parametrize(
    ("path", "value", "fits"),
    [
        ("_information", None, True), ("_information.n", 3, True), ("_information.n", 2, False),
        ("_information.n", 4, False), ("scores", np.zeros(2), False), ("scores", np.zeros(4), False),
        ("scores", np.zeros((3, 1)), False), ("scores", np.zeros(3, np.float32), False),
        ("scores", np.zeros(3, int), False), ("items", ("a", "b"), False),
    ],
)  # fmt: skip
def test_a_ranking_has_a_score_for_each_item(path, value, fits):
    assert SIZES["Ranking"](ranking()) is True
    assert SIZES["Ranking"](spoilt(ranking, path, value)) is fits


def online():
    """Room for four items, of which three came, with two features."""
    return own(
        _index={"a": 0, "b": 1, "c": 2}, _features=np.zeros((4, 2)), _rest=np.zeros((3, 4)), _weights=np.zeros((3, 2)),
        _moments=np.zeros((3, 2)), _scalars=np.zeros(5), _spec=own(names=["x", "y"]),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *along("_features", 2), *along("_rest", 2), *along("_weights", 2), *along("_moments", 2), *along("_scalars", 1),
        ("_spec.names", ["x"]), ("_spec.names", ["x", "y", "z"]), ("_index", {"a": 0, "b": 2, "c": 1}),
        ("_index", {"a": 1, "b": 2, "c": 3}), ("_index", dict(zip("abcde", range(5), strict=True))),
    ],
)  # fmt: skip
def test_an_online_ranker_has_room_for_its_items(path, value):
    assert SIZES["OnlineRABF"](online()) is True
    assert SIZES["OnlineRABF"](spoilt(online, "_index", dict(zip("abcd", range(4), strict=True)))) is True
    assert SIZES["OnlineRABF"](spoilt(online, path, value)) is False


def elo():
    return own(_index={"a": 0, "b": 1}, _ratings=np.zeros(2), _record=np.zeros((3, 2)))


@pytest.mark.parametrize(
    ("path", "value", "fits"),
    [
        ("_record", None, True),
        *((path, value, False) for path, value in (*along("_ratings", 1), *along("_record", 2))),
        ("_index", {"a": 1, "b": 0}, False), ("_index", {"a": 0}, False), ("_index", {"a": 0, "b": 2}, False),
        ("_ratings", np.zeros((2, 1)), False),
    ],
)  # fmt: skip
def test_ratings_are_one_for_each_item(path, value, fits):
    assert SIZES["Elo"](elo()) is True
    assert SIZES["Elo"](spoilt(elo, path, value)) is fits


@pytest.mark.parametrize(
    "name",
    ["Elo", "OnlineRABF", "DynamicBradleyTerry", "LabelRanker", "PRank", "OrdinalPerceptron",
     "PassiveAggressiveOrdinal", "OnlineLabelRanker"],
)  # fmt: skip
def test_a_model_without_data_has_nothing_to_fit(name):
    assert SIZES[name](own()) is True


# ---- scores that move -----------------------------------------------------------------------------------------------


def dynamic():
    """Four items, of which the last never plays; five nodes (item and time) and it; two features, a side, ties."""
    history = {
        "items": tuple("abcd"), "left": np.array([0, 1, 0], np.int32), "right": np.array([1, 2, 2], np.int32),
        "time": np.array([1.0, 1.0, 2.0]), "wins": np.ones(3), "losses": np.ones(3), "ties": np.array([0.0, 1.0, 0.0]),
    }  # fmt: skip
    return own(
        _history=history, _scores=np.zeros(6), drift_=0.1, side_effect=True, ties="davidson",
        _spec=own(names=["x", "y"]),
        _basis=None, coef_=np.zeros(2), _mean=np.zeros(2), _scale=np.ones(2), _ignored=np.zeros(2, bool),
        _table=np.zeros((4, 2)), _extras=np.zeros(4),
    )  # fmt: skip


def changed(**parts):
    def make():
        good = dynamic()
        for name, value in parts.items():
            setattr(good, name, value)
        return good

    return make


def test_scores_that_move_are_one_for_each_item_and_time():
    fits = SIZES["DynamicBradleyTerry"]
    assert fits(dynamic())
    assert fits(changed(drift_=0, _scores=np.zeros(4))())  # nothing moves: one for each item
    assert fits(changed(drift_=0)()) is False
    assert fits(changed(_scores=np.zeros(4))()) is False
    assert fits(changed(side_effect=False, _extras=np.zeros(3))())
    assert fits(changed(side_effect=False)()) is False
    assert fits(changed(ties="half", _extras=np.zeros(3))())
    assert fits(changed(ties="half")()) is False
    assert fits(changed(side_effect=False, ties="half", _extras=np.zeros(2))())
    assert fits(changed(_basis=np.zeros((2, 5)), _extras=np.zeros(8))())  # one for each of the basis, and one more
    assert fits(changed(_basis=np.zeros((2, 5)))()) is False
    assert fits(changed(_basis=np.zeros((2, 5)), _extras=np.zeros(7))()) is False
    none = {name: np.zeros(0) for name in ("coef_", "_mean", "_scale", "_ignored")}
    bare = {**none, "_spec": own(names=[]), "_table": np.zeros((4, 0)), "_extras": np.zeros(2)}
    assert fits(changed(**bare)())
    assert fits(changed(**bare, _basis=np.zeros((0, 5)))())  # without features their basis says nothing


def test_ties_have_a_parameter_only_where_there_were_any():
    fits = SIZES["DynamicBradleyTerry"]
    without = spoilt(dynamic, "_history.ties", np.zeros(3))
    assert fits(without) is False
    without._extras = np.zeros(3)
    assert fits(without)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *along("_scores", 1), *along("coef_", 1), *along("_mean", 1), *along("_scale", 1), *along("_ignored", 1),
        *along("_table", 2), *along("_extras", 1),
        *((f"_history.{name}", change()) for name in ("left", "right", "time", "wins", "losses", "ties")
          for change in (longer, shorter)),
        ("_history.left", np.array([0, 2, 0], np.int32)),
        ("_history.left", np.array([0, 1, 4], np.int32)), ("_history.right", np.array([1, 2, -1], np.int32)),
        ("_history.left", np.array([0.0, 1.0, 0.0])), ("_history.right", np.array([1.0, 2.0, 2.0])),
        ("_history.time", np.array([1.0, 1.0, 1.0])), ("_history.items", tuple("abc")),
        ("_history.items", tuple("abcde")), ("_spec.names", ["x"]),
    ],
)  # fmt: skip
def test_scores_that_move_with_one_part_of_another_size(path, value):
    assert SIZES["DynamicBradleyTerry"](spoilt(dynamic, path, value)) is False


def test_scores_that_move_have_votes():
    empty = {name: np.zeros(0, np.int32) for name in ("left", "right")}
    empty |= {name: np.zeros(0) for name in ("time", "wins", "losses", "ties")}
    none = changed(_history={"items": tuple("abcd"), **empty}, _scores=np.zeros(4), _extras=np.zeros(3))
    assert SIZES["DynamicBradleyTerry"](none()) is False


# ---- labels ---------------------------------------------------------------------------------------------------------


def stream():
    return own(weights=np.zeros((4, 2)), squares=np.zeros((4, 2)))


def test_a_stream_has_squares_of_the_same_size():
    fits = SIZES["Stream"]
    assert fits(stream()) is True
    for path, value in (*along("weights", 2), *along("squares", 2)):
        assert fits(spoilt(stream, path, value)) is False
    assert fits(own(weights=np.zeros(4), squares=np.zeros(4))) is False
    assert fits(own(weights=np.zeros((4, 2, 1)), squares=np.zeros((4, 2, 1)))) is False


@pytest.mark.parametrize("name", ["OnlineLabelRanker", "LabelRanker"])
def test_streams_have_a_weight_for_each_feature_and_one_more(name):
    fits = SIZES[name]
    beside = {"labels_": ["a", "b"], "n_features_in_": 3}
    assert fits(own(**beside, streams_=[stream(), stream()])) is True
    assert fits(own(**beside, stream_=stream())) is True
    assert fits(own(**beside, streams_=[stream()], stream_=stream())) is True
    for path, value in along("weights", 1):
        wrong = spoilt(stream, path, value)
        assert fits(own(**beside, streams_=[stream(), wrong])) is False
        assert fits(own(**beside, stream_=wrong)) is False
        assert fits(own(**beside, streams_=[stream()], stream_=wrong)) is False


@pytest.mark.parametrize("name", ["forest_", "boosted_"])
def test_trees_are_of_the_features_and_labels_there_are(name):
    fits = SIZES["LabelRanker"]
    beside = {"labels_": ["a", "b"], "n_features_in_": 3}
    for features, labels, good in (
        (3, 2, True),
        (2, 2, False),
        (4, 2, False),
        (3, 1, False),
        (3, 3, False),
        (2, 3, False),
    ):
        trees = own(n_features=features, n_labels=labels)
        assert fits(own(**beside, **{name: trees})) is good
        assert fits(own(**beside, forest_=own(n_features=3, n_labels=2), boosted_=trees)) is good
    assert SIZES["Forest"](own(sound=lambda: "asked")) == "asked"


# ---- grades ---------------------------------------------------------------------------------------------------------


def graded(lanes=2, averages=False, d=3, grades=4):
    """A model of three features, four grades and two lanes."""
    size = d + grades - 1
    return own(
        n_features_in_=d, classes_=np.arange(grades), _named=list("abcd")[:grades], _steps=np.zeros(lanes),
        _codes={k: k for k in range(grades)}, _lanes=np.zeros((lanes, (2 if averages else 1) * size)),
        _judged=np.zeros((lanes if lanes > 1 else 0, size)), _losses=np.zeros(lanes), _scaled=np.zeros(d), _lead=0,
        _averages=averages, _scale=own(metric=np.zeros((4, d)), squares=np.zeros(d)),
    )  # fmt: skip


def with_kernel(lanes=2):
    """The same with examples that are kept: no weights of features."""
    good = graded(lanes)
    good._lanes, good._judged = np.zeros((lanes, 3)), np.zeros((lanes if lanes > 1 else 0, 3))
    good._support = own(
        rows=np.zeros((5, 3)), lengths=np.zeros(5), coef=np.zeros((3, lanes, 5)), raw=np.zeros((0, 3)), size=5
    )
    return good


@pytest.mark.parametrize("name", ["PRank", "PassiveAggressiveOrdinal"])
def test_thresholds_fit_in_every_form(name):
    fits = SIZES[name]
    for good in (graded(), graded(averages=True), graded(1), graded(1, averages=True), with_kernel(), with_kernel(1)):
        assert fits(good)
    none = graded()
    none._scale = none._support = None
    assert fits(none)
    one_lane = graded(1)
    one_lane._judged = np.zeros((1, 6))  # a single lane is not judged
    assert fits(one_lane) is False
    assert fits(spoilt(graded, "_averages", True)) is False


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *along("_lanes", 2), *along("_judged", 2), *along("_losses", 1), *along("_scaled", 1), *along("_steps", 1),
        *along("_scale.metric", 2), *along("_scale.squares", 1), *along("classes_", 1), ("_lead", 2), ("_lead", -1),
        ("_named", list("abc")), ("_named", list("abcde")), ("_codes", {0: 0, 1: 1, 2: 2}),
        ("_codes", {0: 0, 1: 2, 2: 1, 3: 3}), ("_codes", {k: k for k in range(5)}), ("n_features_in_", 2),
    ],
)  # fmt: skip
def test_thresholds_with_one_part_of_another_size(path, value):
    assert SIZES["PRank"](spoilt(graded, "_lead", 1))
    assert SIZES["PRank"](spoilt(graded, path, value)) is False


@pytest.mark.parametrize(
    ("path", "value"),
    [
        *along("_support.rows", 2), *along("_support.lengths", 1), *along("_support.coef", 3), *along("_lanes", 2),
        *along("_judged", 2), *((f"_support.{name}", size) for name, size in (("size", 6), ("size", -1))),
        ("_support.raw", np.zeros((0, 2))), ("_support.raw", np.zeros((4, 3))), ("_support.raw", np.zeros((5, 2))),
    ],
)  # fmt: skip
def test_a_kernel_with_one_part_of_another_size(path, value):
    assert SIZES["PRank"](spoilt(with_kernel, "_support.size", 0))
    assert SIZES["PRank"](spoilt(with_kernel, "_support.raw", np.zeros((5, 3))))
    assert SIZES["PRank"](spoilt(with_kernel, path, value)) is False


def perceptron():
    good = graded()
    good._W, good._lag = np.zeros((4, 4)), np.zeros((4, 4))
    return good


def test_a_perceptron_has_weights_for_each_grade():
    fits = SIZES["OrdinalPerceptron"]
    assert fits(perceptron())
    assert fits(spoilt(perceptron, "_lag", np.zeros((0, 4))))
    assert fits(spoilt(perceptron, "_scale", None))
    assert fits(spoilt(perceptron, "_lag", np.zeros((0, 3)))) is False
    for path, value in (
        *along("_W", 2), *along("_lag", 2), *along("_scale.metric", 2), *along("_scale.squares", 1),
        ("_named", list("abc")), ("_codes", {0: 1, 1: 0, 2: 2, 3: 3}), ("n_features_in_", 4), ("n_features_in_", 2),
    ):  # fmt: skip
        assert fits(spoilt(perceptron, path, value)) is False, path


def test_what_does_not_fit_is_refused_by_its_name():
    from podium.errors import InputError

    models._check_sizes("Elo", elo())
    models._check_sizes("WinRate", own())  # has no arrays that a kernel follows
    with pytest.raises(InputError) as caught:
        models._check_sizes("Elo", spoilt(elo, "_ratings", np.zeros(3)))
    assert str(caught.value) == "the arrays of the Elo in it do not fit one another; the file is damaged"
