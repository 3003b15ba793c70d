"""Weights, sparse mappings, new features and new grades one example at a time; and start values."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from podium.errors import InputError
from podium.ordinal import OrdinalPerceptron, PassiveAggressiveOrdinal, PRank, mae

from suites.ordinal import graded, learned

GRADES = [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    "make",
    [
        lambda: PassiveAggressiveOrdinal(classes=GRADES),
        lambda: PassiveAggressiveOrdinal("pa2", C=0.1, classes=GRADES),
        lambda: PassiveAggressiveOrdinal(C=0.1, kernel="rbf", classes=GRADES),
        lambda: OrdinalPerceptron(classes=GRADES),
    ],
)
def test_a_weight_does_what_the_weight_of_a_row_does(make):
    X, y, _ = graded(n=60)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], 60)
    table, single = make().partial_fit(X, y, sample_weight=weight), make()
    for x, label, w in zip(X, y.tolist(), weight.tolist(), strict=True):
        single.learn_one(x, label, weight=w)
    assert_allclose(learned(single), learned(table), atol=1e-9)
    assert single.n_seen_ == table.n_seen_ == (weight > 0).sum()
    assert single.mae_ == pytest.approx(table.mae_)


def test_weights_are_refused_where_they_mean_nothing_or_are_none():
    for model in (PassiveAggressiveOrdinal("pa", classes=GRADES), PRank(classes=GRADES)):
        with pytest.raises(InputError, match=r"sample_weight cannot be used|no weights"):
            model.learn_one([1.0], 2, weight=2.0)
        assert model.learn_one([1.0], 2, weight=1.0).n_seen_ == 1
    for bad in (-1, np.nan, "much"):
        with pytest.raises(InputError, match="weight="):
            PassiveAggressiveOrdinal(classes=GRADES).learn_one([1.0], 2, weight=bad)


@pytest.mark.parametrize(
    "options", [{}, {"C": 0.1}, {"C": 0.1, "average": False}, {"C": 0.1, "kernel": "rbf", "gamma": 1}]
)
def test_a_feature_that_comes_later_is_one_that_was_zero_so_far(options):
    rng = np.random.default_rng(0)
    names = list("abcdef")
    X = rng.normal(size=(150, 6)) * (rng.random((150, 6)) < 0.4)
    X[:40, 3:] = 0.0
    X[:, 0] += 1
    y = (1 + np.digitize(X @ [1, -1, 0, 2, 0, 1], [-0.5, 0.5])).tolist()
    growing, known = (PassiveAggressiveOrdinal(classes=[1, 2, 3], grow=grow, **options) for grow in (True, False))
    for x, label in zip(X, y, strict=True):
        growing.learn_one({name: value for name, value in zip(names, x.tolist(), strict=True) if value != 0}, label)
        known.learn_one(dict(zip(names, x.tolist(), strict=True)), label)
    order = [growing.feature_names_in_.tolist().index(name) for name in names]
    if "kernel" not in options:
        assert_allclose(growing.coef_[order], known.coef_, atol=1e-9)
    assert_allclose(growing.thresholds_, known.thresholds_, atol=1e-9)
    grown, whole = (
        [model.predict_one(dict(zip(names, x.tolist(), strict=True))) for x in X] for model in (growing, known)
    )
    assert grown == whole
    assert growing.predict_one({"a": 1.0, "never seen": 5.0}) == known.predict_one(
        dict.fromkeys(names, 0.0) | {"a": 1.0}
    )


@pytest.mark.parametrize("options", [{}, {"C": 0.1}, {"C": 0.1, "kernel": "rbf"}])
@pytest.mark.parametrize("whole", [False, True])
def test_grades_that_come_later_are_learned_as_well_as_those_known(options, whole):
    X, y, _ = graded(n=1500, seed=3)
    middle = (y > 1) & (y < 5)
    first = np.flatnonzero(middle)[:200]
    rest = np.setdiff1d(np.arange(1000), first)
    order = np.concatenate([first, rest])
    grown = PassiveAggressiveOrdinal(classes=[2, 3, 4], grow=True, **options)
    known = PassiveAggressiveOrdinal(classes=GRADES, **options)
    for model in (grown, known):
        if whole:
            model.partial_fit(X[first], y[first]).partial_fit(X[rest], y[rest])
        else:
            for k in order:
                model.learn_one(X[k], int(y[k]))
        assert_array_equal(model.classes_, GRADES)
        assert (np.diff(model.thresholds_) >= 0).all()
    error, usual = (mae(y[1000:], model.predict(X[1000:]), classes=GRADES) for model in (grown, known))
    assert error < usual + 0.05


def test_whole_numbers_on_the_way_to_a_new_grade_are_grades_too():
    model = PassiveAggressiveOrdinal(C=0.1, classes=[3, 4], grow=True)
    assert model.learn_one([1.0], 7).classes_.tolist() == [3, 4, 5, 6, 7]
    assert model.learn_one([1.0], (1, None)).classes_.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert model.learn_one([1.0], "7-8").classes_.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    halves = PassiveAggressiveOrdinal(C=0.1, classes=[1, 1.5, 2], grow=True)
    assert halves.learn_one([1.0], 3.5).classes_.tolist() == [1, 1.5, 2, 3.5]


def test_without_growing_nothing_new_is_taken_in():
    model = PassiveAggressiveOrdinal(classes=[1, 2]).learn_one({"a": 1.0, "b": 2.0}, 1)
    with pytest.raises(InputError, match="3 is not one of the grades"):
        model.learn_one({"a": 1.0, "b": 2.0}, 3)
    with pytest.raises(InputError, match="lacks the features"):
        model.learn_one({"a": 1.0}, 1)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ({"a": 1.0, "z": "text"}, 2, "'z' of the example is 'text'"),
        ({"a": 1.0, "z": np.nan}, 2, "'z' of the example is nan"),
        ({"a": np.nan, "z": 1.0}, 2, "'a' of the example is nan"),
        ({"a": "text"}, 9, "'a' of the example is 'text'"),
        ({"z": None}, 9, "'z' of the example is None"),
        ({"a": 1.0, "z": 1.0}, (9, 1), "lower end above"),
        ({"a": 1.0, "z": 1.0}, "good", "'good' is not one of the grades"),
        ({"a": 1.0, "z": 1.0}, 1.5, "1.5 is not one of the grades"),
        ({"a": 1.0}, 10**6, "1 new grades at once|new grade"),
    ],
)
def test_a_bad_example_makes_nothing_grow(x, y, message):
    model = PassiveAggressiveOrdinal(C=0.1, classes=[1, 2, 3], grow=True).learn_one({"a": 1.0, "b": 1.0}, 2)
    if y == 10**6:
        assert model.learn_one(x, y).classes_.tolist() == [1, 2, 3, 10**6]  # too far for all numbers in between
        return
    with pytest.raises(InputError, match=message):
        model.learn_one(x, y)
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.n_features_in_ == 2
    assert model.n_seen_ == 1


def test_words_are_added_by_name_at_either_end():
    X, y, _ = graded(n=200, K=3)
    words = np.array(["fair", "good", "great"])
    model = PassiveAggressiveOrdinal(C=0.1, classes=words.tolist(), random_state=0).fit(X, words[y - 1])
    before = model.predict(X)
    model.add_grades(below=["awful", "poor"], above=["superb"])
    assert model.classes_.tolist() == ["awful", "poor", "fair", "good", "great", "superb"]
    inner = model.thresholds_[[2, 3]]
    assert_array_equal(
        np.array(["fair", "good", "great"])[np.searchsorted(inner, model.project(X), side="right")], before
    )
    assert model.learn_one(X[0], "superb").n_seen_ == model.n_seen_
    for wrong, message in (({"below": ["good"]}, "may appear once"), ({"above": [7]}, "give words")):
        with pytest.raises(InputError, match=message):
            model.add_grades(**wrong)
    with pytest.raises(InputError, match="do not rise"):
        PassiveAggressiveOrdinal(C=0.1).fit(X, y).add_grades(above=[2.5])


@pytest.mark.parametrize("variant", ["pa1", "pa2"])
def test_the_first_step_from_start_values_is_the_nearest_point_to_them(variant):
    # The programme itself, by another optimiser: 1/2 |w - w0|² + 1/2 |θ - θ0|² + C sum of losses (squared in PA-II).
    w0, theta0, x, C = np.array([0.5, -1.0]), np.array([-0.3, 0.2, 0.4]), np.array([1.0, 2.0]), 0.4
    model = PassiveAggressiveOrdinal(
        variant, C=C, classes=[1, 2, 3, 4], average=False, coef_init=w0, thresholds_init=theta0
    ).learn_one(x, 3)

    def constraint(v):  # thresholds under grade 3 lie under the score, the last one above
        return np.array([1, 1, -1]) * (v[:2] @ x - v[2:5]) - 1 + v[5:]

    def cost(v):
        loss = v[5:].sum() if variant == "pa1" else (v[5:] ** 2).sum()
        return ((v[:2] - w0) ** 2).sum() / 2 + ((v[2:5] - theta0) ** 2).sum() / 2 + C * loss

    best = minimize(
        cost,
        np.concatenate([w0, theta0, np.full(3, 5.0)]),
        constraints=[{"type": "ineq", "fun": constraint}, {"type": "ineq", "fun": lambda v: v[5:]}],
        options={"ftol": 1e-14, "maxiter": 500},
    ).x
    assert_allclose(model.coef_, best[:2], atol=1e-6)
    assert_allclose(model.thresholds_, best[2:5], atol=1e-6)


def test_start_values_of_a_model_go_on_where_it_was():
    X, y, _ = graded(n=100)
    once = PassiveAggressiveOrdinal(C=0.1, average=False, classes=GRADES).partial_fit(X, y)
    half = PassiveAggressiveOrdinal(C=0.1, average=False, classes=GRADES).partial_fit(X[:50], y[:50])
    start = {"coef_init": half.coef_, "thresholds_init": half.thresholds_}
    again = PassiveAggressiveOrdinal(C=0.1, average=False, classes=GRADES, **start).partial_fit(X[50:], y[50:])
    assert_allclose(again.coef_, once.coef_)
    assert_allclose(again.thresholds_, once.thresholds_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coef_init": [1.0, 2.0]}, "is in the units of X"),
        ({"C": 1.0, "coef_init": [1.0]}, "coef_init"),
        ({"C": 1.0, "thresholds_init": [1.0]}, "thresholds_init"),
        ({"C": 1.0, "thresholds_init": [1.0, 0.0]}, "increasing order"),
        ({"C": 1.0, "coef_init": ["a", "b"]}, "coef_init"),
    ],
)
def test_start_values_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        PassiveAggressiveOrdinal(classes=[1, 2, 3], **options).learn_one([1.0, 2.0], 1)
