"""Learning by inner products against the quadratic programmes themselves, in the space that the kernel spans."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.utils.estimator_checks import check_estimator

import podium
from podium.errors import InputError
from podium.ordinal import CumulativeLogit, MarginOrdinal, OrdinalPerceptron, PassiveAggressiveOrdinal, PRank, mae

from reference_ordinal import online, passive_aggressive_step
from suites.ordinal import OnlineDefaultsSuite, graded

GRADES = [1, 2, 3, 4, 5]


class TestKernel(OnlineDefaultsSuite):
    def make(self):
        return PassiveAggressiveOrdinal(kernel="rbf", gamma=0.05, max_iter=2, random_state=0)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_s_checks_pass():
    check_estimator(
        PassiveAggressiveOrdinal(kernel="rbf", max_iter=3),
        expected_failed_checks=dict.fromkeys(
            (f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")),
            "an online learner is not indifferent to whether a row comes twice or weighs double",
        ),
        on_skip=None,
    )


def rings(n=400, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, 1 + np.digitize(np.hypot(X[:, 0], X[:, 1]), [0.8, 1.5])


@pytest.mark.parametrize("variant", ["pa", "pa1", "pa2"])
@pytest.mark.parametrize("kernel", ["rbf", "own"])
@pytest.mark.parametrize("average", [False, True])
def test_every_step_is_the_programme_s_solution_in_the_kernel_s_space(variant, kernel, average):
    # Rows of a root of the Gram matrix are vectors with the kernel's inner products: quadprog takes them as they are.
    X, _, ranges = graded(n=60, d=3)
    own = polynomial_kernel(X, degree=2) if kernel == "own" else rbf_kernel(X, gamma=0.3)
    values, vectors = np.linalg.eigh(own)
    rows = vectors * np.sqrt(np.maximum(values, 0))
    low, high = (ranges - 1).T

    def step(w, theta, x, lo, hi):
        return passive_aggressive_step(w, theta, x, lo, hi, variant, 0.1)

    w, theta, mean_w, mean_theta, errors, _ = online(step, rows, low, high, 4)
    by = "rbf" if kernel == "rbf" else lambda A, B: polynomial_kernel(A, B, degree=2)
    model = PassiveAggressiveOrdinal(variant, C=0.1, kernel=by, gamma=0.3, average=average, budget=None)
    model.partial_fit(X, ranges, classes=GRADES)
    assert_allclose(model.thresholds_, mean_theta if average else theta, atol=1e-6)
    assert_allclose(model.project(X), rows @ (mean_w if average else w), atol=1e-6)
    assert model.mae_ == pytest.approx(np.mean(errors))


@pytest.mark.parametrize("C", [0.05, "auto"])
def test_the_linear_kernel_is_the_linear_learner(C):
    X, _, ranges = graded(n=200)
    plain, dual = (
        PassiveAggressiveOrdinal(C=C, kernel=kernel, max_iter=2, random_state=0).fit(X, ranges)
        for kernel in ("linear", lambda A, B: A @ B.T)
    )
    assert plain.C_ == dual.C_
    shift = plain.thresholds_ - dual.thresholds_  # the linear one tells both in the units of X
    assert_allclose(shift, shift[0], atol=1e-9)
    assert_allclose(plain.project(X) - shift[0], dual.project(X), atol=1e-9)


def test_a_kernel_bends_what_a_direction_cannot():
    X, y = rings()
    bent = PassiveAggressiveOrdinal(kernel="rbf", random_state=0).fit(X[:300], y[:300])
    always = np.full(100, 2)
    assert mae(y[300:], bent.predict(X[300:]), classes=[1, 2, 3]) < 0.5 * mae(y[300:], always, classes=[1, 2, 3])


def test_a_budget_is_kept_and_costs_little():
    X, y = rings(n=600)
    whole, few = (
        PassiveAggressiveOrdinal(C=0.1, kernel="rbf", gamma=0.5, budget=budget, max_iter=3, random_state=0).fit(
            X[:300], y[:300]
        )
        for budget in (None, 40)
    )
    assert len(few.support_vectors_) == 40 < len(whole.support_vectors_)
    error, more = (mae(y[300:], each.predict(X[300:]), classes=[1, 2, 3]) for each in (whole, few))
    assert more < error + 0.1
    one = PassiveAggressiveOrdinal(C=0.1, kernel="rbf", budget=1).partial_fit(X, y, classes=[1, 2, 3])
    assert len(one.support_vectors_) == 1


def test_what_is_given_up_is_projected_onto_the_nearest_that_stays():
    # Three examples, room for two. The least one, of coefficient a, is orthogonally projected: a k(r, n) / k(n, n).
    X = np.array([[0.0, 1.0], [0.1, 1.0], [5.0, 1.0]])
    gram = np.array([[1.0, 0.5], [0.5, 1.0]])
    linear = PassiveAggressiveOrdinal(
        C=1.0, kernel=lambda A, B: A @ gram @ B.T, budget=2, average=False, classes=[1, 2]
    )
    full = PassiveAggressiveOrdinal(C=1.0, kernel=lambda A, B: A @ gram @ B.T, average=False, classes=[1, 2])
    for x, y in zip(X[:2], (2, 1), strict=True):
        linear.learn_one(x, y)
        full.learn_one(x, y)
    before, kept = full.dual_coef_, X[:2]
    sizes = before**2 * np.einsum("ij,jk,ik->i", kept, gram, kept)
    least, other = int(sizes.argmin()), int(sizes.argmax())
    linear.learn_one(X[2], 2)
    full.learn_one(X[2], 2)
    k = kept @ gram @ kept.T
    expected = before[other] + before[least] * k[least, other] / k[other, other]
    where = [row.tolist() for row in linear.support_vectors_].index(X[other].tolist())
    assert linear.dual_coef_[where] == pytest.approx(expected)
    assert linear.thresholds_ == pytest.approx(full.thresholds_)


def test_an_example_that_comes_again_is_kept_once():
    X, y = rings(n=50)
    model = PassiveAggressiveOrdinal(C=0.1, kernel="rbf", max_iter=8, tol=None, random_state=0).fit(X, y)
    assert len(model.support_vectors_) == len(model.dual_coef_) <= 50
    assert len(np.unique(model.support_vectors_, axis=0)) == len(model.support_vectors_)


def test_one_by_one_and_in_tables_is_the_same_with_scales_and_candidates_too():
    X, _, ranges = graded(n=120)
    table = PassiveAggressiveOrdinal(kernel="rbf", classes=GRADES).partial_fit(X * 50 + 7, ranges)
    single = PassiveAggressiveOrdinal(kernel="rbf", classes=GRADES)
    for x, label in zip(X * 50 + 7, ranges, strict=True):
        single.learn_one(x, tuple(label))
    assert_allclose(single.project(X * 50 + 7), table.project(X * 50 + 7), atol=1e-9)
    assert single.predict_one(X[0] * 50 + 7) == table.predict(X[:1] * 50 + 7)[0]


def test_it_is_saved_unless_the_kernel_is_a_function(tmp_path):
    X, y = rings()
    model = PassiveAggressiveOrdinal(kernel="rbf", random_state=0).fit(X, y)
    podium.save(model, tmp_path / "m.podium")
    again = podium.load(tmp_path / "m.podium")
    assert_allclose(again.project(X), model.project(X))
    assert_allclose(again.partial_fit(X[:9], y[:9]).project(X), model.partial_fit(X[:9], y[:9]).project(X))
    own = PassiveAggressiveOrdinal(kernel=lambda A, B: (1 + A @ B.T) ** 2, max_iter=1).fit(X[:50], y[:50])
    with pytest.raises(InputError, match="cannot be stored without pickle"):
        podium.save(own, tmp_path / "n.podium")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "poly"}, "kernel='poly' is not known"),
        ({"kernel": lambda A, B: A}, "one number for each pair of rows"),
        ({"kernel": lambda A: A}, "does not take two tables"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "NaN or infinity"),
        ({"kernel": lambda A, B: -A @ B.T}, r"k\(x, x\) = -"),
        ({"kernel": "rbf", "gamma": 0}, "gamma=0"),
        ({"kernel": "rbf", "budget": 0}, "budget=0"),
        ({"kernel": "rbf", "C": 1.0, "coef_init": [1.0, 2.0]}, "does not have"),
    ],
)
def test_what_is_no_kernel_is_refused(options, message):
    X, y = rings(n=20)
    with pytest.raises(InputError, match=message):
        PassiveAggressiveOrdinal(**options).fit(X, y)


def test_a_kernel_that_fails_on_the_way_leaves_the_model_as_it_was():
    X, y = rings(n=60)
    bad = {"now": False}

    def kernel(A, B):
        return rbf_kernel(A, B) * (np.nan if bad["now"] and (A > 1).any() else 1.0)

    model = PassiveAggressiveOrdinal(C=0.1, kernel=kernel).partial_fit(X[:30], y[:30], classes=[1, 2, 3])
    before = model.project(X), model.thresholds_
    bad["now"] = True
    with pytest.raises(InputError, match="NaN or infinity"):
        model.partial_fit(X[30:], y[30:])
    bad["now"] = False
    assert_allclose(model.project(X), before[0])
    assert_allclose(model.thresholds_, before[1])


def test_there_is_either_a_direction_or_examples():
    X, y = rings(n=30)
    with pytest.raises(AttributeError, match="see support_vectors_"):
        _ = PassiveAggressiveOrdinal(kernel="rbf").partial_fit(X, y, classes=[1, 2, 3]).coef_
    with pytest.raises(AttributeError, match="see coef_"):
        _ = PassiveAggressiveOrdinal().partial_fit(X, y, classes=[1, 2, 3]).dual_coef_


def test_examples_that_are_kept_follow_the_scale_of_the_features():
    X, y = rings(300)
    X = X * [1.0, 50.0] + [3.0, -200.0]
    model = PassiveAggressiveOrdinal(kernel="rbf", standardize=True, budget=None)
    for part in np.array_split(np.arange(300), 7):
        model.partial_fit(X[part], y[part], classes=[1, 2, 3])
    model.predict(X)
    kept = model._support.raw[: model._support.size]
    assert len(kept) > 3
    assert np.abs(kept[:, None] - X).sum(axis=2).min(axis=1).max() < 1e-9  # rows as they came
    assert_allclose(model._support.rows[: len(kept)], (kept - X.mean(axis=0)) / X.std(axis=0), atol=0.35)
    assert_allclose(model._support.rows[: len(kept)], (kept - model._scale.origin) * model._scale.factor, rtol=1e-12)


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("make", [PassiveAggressiveOrdinal, OrdinalPerceptron, PRank])
def test_an_example_with_a_hole_is_refused_and_changes_nothing(make, standardize):
    X, y, _ = graded(n=60, d=3)
    given = {"standardize": standardize} | ({"C": 0.1} if make is PassiveAggressiveOrdinal else {})
    model = make(**given).fit(X, y)
    seen = model.n_seen_
    before = model.predict(X).tolist()
    for hole in (np.nan, np.inf):
        for ask in (lambda x: model.learn_one(x, 1), model.predict_one):
            with pytest.raises(InputError, match="contains NaN or inf; fill in a value or leave the example out"):
                ask([hole, 0.0, 0.0])
    assert model.predict(X).tolist() == before
    assert model.learn_one(X[0], y[0]).n_seen_ == seen + 1


def test_yes_or_no_is_asked_of_what_is_yes_or_no():
    X, y = rings(20)
    for option in ("grow", "probability"):
        with pytest.raises(InputError, match=f"{option}='perhaps'"):
            PassiveAggressiveOrdinal(**{option: "perhaps"}).fit(X, y)


@pytest.mark.filterwarnings("error")
def test_numbers_too_large_to_square_end_in_a_sentence_without_foreign_warnings():
    X, y = rings(20)
    for make in (PassiveAggressiveOrdinal, MarginOrdinal, CumulativeLogit):
        with pytest.raises(InputError, match="X"):
            make().fit(X * 1e300, y)
