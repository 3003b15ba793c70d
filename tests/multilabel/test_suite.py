"""Every learner of the family passes the common suite; what partial_fit continues with, against a slow twin."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge

from podium.errors import InputError
from podium.multilabel import (
    AgnosticLabelRanker,
    ExpertLabelRanker,
    ExpertThresholdLearner,
    Halving,
    LabelRanker,
    OnlineLabelRanker,
)

from reference_multilabel import adagrad, squared_gradients
from suites.multilabel import LabelSuite, StreamSuite, labelled

NAN = float("nan")
POSITIVE = [0, -1.0, NAN, float("inf"), "much", None, True]
COUNTS = [0, -1, 2.5, "many", None, True]
LINEAR = [(name, value) for name in ("C", "rate", "tol") for value in POSITIVE]
LINEAR += [("max_iter", value) for value in COUNTS]
LINEAR += [("max_relevance", value) for value in POSITIVE if value is not None]
LINEAR += [("standardize", "no"), ("standardize", None), ("surrogate", "hinge"), ("surrogate", None)]
LINEAR += [("scorer", "tree"), ("scorer", None), ("scorer", Ridge)]
PLAIN = {"loss": "sum@1", "tol": 1e-9, "surrogate": "univariate", "C": 1.0, "standardize": False}


class TestDefault(StreamSuite):
    """Scale, penalty and surrogate are chosen from the data."""

    bad = LINEAR
    exact = 1e-4  # pairs are solved less exactly

    def make(self, **options):
        return LabelRanker(**({"loss": "sum@1", "tol": 1e-9} | options))

    def test_units_of_features_do_not_matter(self):
        X, Y = labelled()
        units = np.array([1e-6, 1.0, 1e3, 1e9])
        plain, other = self.make().fit(X, Y), self.make().fit(X * units, Y)
        assert other.validation_ == pytest.approx(plain.validation_)
        assert_allclose(other.decision_function(X * units), plain.decision_function(X), atol=1e-4)

    def test_a_row_of_weight_two_is_two_rows_also_when_choosing(self):
        X, Y = labelled()
        weight = np.arange(len(X)) % 3
        once = self.make().fit(X, Y, sample_weight=weight)
        twice = self.make().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
        assert once.validation_ == pytest.approx(twice.validation_)
        assert (once.C_, once.surrogate_) == (twice.C_, twice.surrogate_)


class TestPlain(StreamSuite):
    bad = LINEAR
    far = {"standardize": True}  # noqa: RUF012

    def make(self, **options):
        return LabelRanker(**(PLAIN | options))


class TestTrees(LabelSuite):
    bad = [("scorer", "tree"), ("surrogate", "softmax"), ("max_relevance", 0)]  # noqa: RUF012
    scorer = "trees"

    @pytest.fixture(autouse=True)
    def few_trees(self, monkeypatch):
        monkeypatch.setattr("podium.multilabel.trees.TREES", 20)
        monkeypatch.setattr("podium.multilabel.selection.TREES", 10)
        monkeypatch.setattr("podium.multilabel.trees.ROUNDS", 10)

    def make(self, **options):
        return LabelRanker(**({"loss": "sum@1", "scorer": self.scorer, "tol": 1e-7} | options))


class TestAuto(TestTrees):
    exact = 1e-3  # a chance is good to the tolerance of the logistic regressions
    scorer = "auto"


class TestStandardized(StreamSuite):
    bad = LINEAR

    def make(self, **options):
        return LabelRanker(**(PLAIN | {"standardize": True} | options))

    def test_sparse_tables_are_dense_tables(self):
        """A sparse table is not centred: the same only where the means are 0 already."""
        X, Y = labelled()
        X = np.vstack([X, -X])
        Y = np.vstack([Y, Y[::-1]])
        dense, thin = self.make().fit(X, Y), self.make().fit(sparse.csr_array(X), sparse.csr_array(Y))
        assert_allclose(thin.decision_function(X), dense.decision_function(X), atol=1e-6)
        dense.partial_fit(X, Y)
        thin = self.make().fit(X, Y).partial_fit(sparse.csr_array(X), Y)
        assert_allclose(thin.decision_function(X), dense.decision_function(X), atol=1e-6)

    def test_pieces_are_the_whole(self):
        X, Y = labelled()
        once, pieces = self.make().fit(X, Y).partial_fit(X, Y), self.make().fit(X, Y)
        for start in range(0, 160, 40):
            pieces.partial_fit(X[start : start + 40], Y[start : start + 40])
        assert_allclose(pieces.decision_function(X), once.decision_function(X), atol=1e-9)

    def test_refused_examples_change_nothing(self):
        X, Y = labelled()
        learner = self.make().fit(X, Y)
        before = learner.decision_function(X)
        with pytest.raises(InputError, match="y has 2 labels"):
            learner.partial_fit(X, Y[:, :2])
        assert_array_equal(learner.decision_function(X), before)

    def test_a_row_without_a_relevant_label_is_no_mistake(self):
        X, Y = labelled()
        assert np.isfinite(self.make().fit(X, Y).partial_fit(X[:1], [[0, 0, 0]]).coef_).all()

    def test_sizes_come_from_fit(self):
        with pytest.raises(InputError, match="standardize=True: the size of the features is measured by fit"):
            self.make().partial_fit(*labelled())

    def test_units_of_features_do_not_matter(self):
        X, Y = labelled()
        units = np.array([1e-6, 1.0, 1e3, 1e9])
        plain = self.make().fit(X, Y).partial_fit(X[:9], Y[:9])
        scaled = self.make().fit(X * units, Y).partial_fit(X[:9] * units, Y[:9])
        assert_allclose(scaled.decision_function(X * units), plain.decision_function(X), atol=1e-5)


class TestSoftmax(StreamSuite):
    bad = LINEAR
    exact = 1e-3
    far = {"standardize": True}  # noqa: RUF012

    def make(self, **options):
        return LabelRanker(**(PLAIN | {"tol": 1e-8, "surrogate": "softmax"} | options))


class TestPairwise(TestSoftmax):
    def make(self, **options):
        return LabelRanker(**(PLAIN | {"tol": 1e-8, "surrogate": "pairwise"} | options))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")  # of SciPy, on features of size 1e140
class TestRegressor(LabelSuite):
    bad = [("scorer", "tree"), ("scorer", None), ("surrogate", "softmax"), ("max_relevance", 0)]  # noqa: RUF012
    exact = 1e-5

    def make(self, **options):
        return LabelRanker(**({"loss": "sum@1", "scorer": Ridge(1.0, solver="sparse_cg", tol=1e-12)} | options))


@pytest.mark.filterwarnings("ignore:lbfgs failed")  # scikit-learn's word on features of size 1e140
class TestClassifier(LabelSuite):
    bad = TestRegressor.bad
    exact = 1e-4
    far = {"scorer": Ridge(1.0, solver="sparse_cg", tol=1e-12)}  # noqa: RUF012

    def make(self, **options):
        return LabelRanker(**({"loss": "sum@1", "scorer": LogisticRegression(tol=1e-10, max_iter=5000)} | options))


class OnlineRankers(StreamSuite):
    ordered = True
    exact = 1e-9
    scale = {"max_relevance": 2}  # noqa: RUF012
    bad = [("rate", value) for value in POSITIVE] + [("experts", value) for value in [*COUNTS, 1]]
    bad += [("max_relevance", value) for value in POSITIVE] + [("mode", "bandit"), ("mode", None)]
    bad += [("random_state", value) for value in (-1, 0.5, "a", True)]
    mode = ""

    def make(self, **options):
        return OnlineLabelRanker(**({"loss": "sum@1", "mode": self.mode, "random_state": 1} | options))

    def test_a_feature_that_never_varies_gives_finite_scores_that_still_rank(self):
        X, Y = labelled(400)
        wide = np.column_stack([X, np.zeros(len(X))])
        assert_allclose(self.make().fit(wide, Y).decision_function(wide), self.make().fit(X, Y).decision_function(X))

    def test_another_mode_half_way_is_refused(self):
        X, Y = labelled()
        other = "threshold" if self.mode != "threshold" else "hedge"
        learner = self.make().partial_fit(X, Y).set_params(mode=other)
        with pytest.raises(InputError, match=f"mode='{other}': the examples so far were learned with '{self.mode}'"):
            learner.partial_fit(X, Y)


class TestMarginal(OnlineRankers):
    mode = "marginal"


class TestThreshold(OnlineRankers):
    mode = "threshold"
    learns = 0.8  # whole votes leave many ties


class TestHedge(OnlineRankers):
    mode = "hedge"


def best_first(X):
    """A candidate: the features themselves are the scores."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)[:, :3]


def worst_first(X):
    return -best_first(X)


class TestAgnostic(LabelSuite):
    ordered = True  # a random half of the examples is relabelled
    bad = [("share", value) for value in (0, 1, NAN, "half", None)] + [("random_state", -1), ("random_state", "a")]
    bad += [("base", 3), ("base", LabelRanker), ("candidates", 3), ("candidates", "ab")]
    candidates = (best_first, worst_first)

    def make(self, **options):
        given = {"base": LabelRanker("sum@1", tol=1e-9), "candidates": list(self.candidates), "loss": "sum@1"}
        return AgnosticLabelRanker(**(given | {"random_state": 0} | options))

    def test_it_learns(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 4))
        Y = (X[:, :3] > 0.5).astype(int)
        learner = self.make().fit(X, Y)
        assert learner.chosen_ == 0
        assert np.mean(learner.rank(X)[:, 0] == X[:, :3].argmax(axis=1)) > 0.8

    def test_fit_forgets_everything_before(self):
        X, Y = labelled(seed=1)
        other_X, other_Y = labelled(d=6, seed=2)
        fresh, again = self.make().fit(X, Y), self.make().fit(other_X, other_Y).fit(X, Y)
        assert set(vars(again)) == set(vars(fresh))
        assert (again.chosen_, again.n_features_in_) == (fresh.chosen_, 4)
        assert_allclose(again.losses_, fresh.losses_)
        assert_allclose(again.decision_function(X), fresh.decision_function(X), atol=1e-6)

    def test_a_feature_that_never_varies_gives_finite_scores_that_still_rank(self):
        X, Y = labelled()
        wide = np.column_stack([X, np.full(len(X), 0.1)])
        assert np.isfinite(self.make().fit(wide, Y).decision_function(wide)).all()

    def test_one_label_has_one_ranking(self):
        X, Y = labelled()
        learner = self.make(candidates=[first_only]).fit(X, Y[:, [0]])
        assert (learner.rank(X) == 0).all()

    def test_a_candidate_that_gives_nan_is_named(self):
        X, Y = labelled()
        with pytest.raises(InputError, match="candidate 2 gives a score that is NaN or infinite for row 1"):
            self.make(candidates=[best_first, lambda x: best_first(x) * NAN]).fit(X, Y)

    def test_unlabelled_examples_have_the_same_features(self):
        X, Y = labelled()
        with pytest.raises(InputError, match=r"3 features.* 4 features"):
            self.make().fit(X, Y, unlabelled=X[:, :3])


def first_only(X):
    return best_first(X)[:, :1]


def test_partial_fit_after_fit_is_adagrad_from_the_fit_on():
    """As if the examples of fit had been seen, their squared gradients added up, at the fitted coefficients."""
    X, Y = labelled(60)
    learner = LabelRanker(**PLAIN, rate=0.3).fit(X[:40], Y[:40])
    start = np.vstack([learner.coef_.T, learner.intercept_])
    seen = squared_gradients(X[:40], Y[:40].astype(float), np.ones(40), start)
    learner.partial_fit(X[40:50], Y[40:50]).partial_fit(X[50:], Y[50:])
    _, weights = adagrad(X[40:], Y[40:].astype(float), np.ones(20), 0.3, start=(start, seen))
    assert_allclose(learner.coef_, weights[:-1].T, rtol=1e-5, atol=1e-6)
    assert_allclose(learner.intercept_, weights[-1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("surrogate", ["softmax", "softmax-normalised", "pairwise"])
def test_partial_fit_of_coupled_labels_is_adagrad_on_their_loss(surrogate):
    """Against steps along a slope found by differences of the loss, written out."""
    X, Y = labelled(12)
    learner = LabelRanker("sum@1", rate=0.3, surrogate=surrogate).partial_fit(X[:5], Y[:5]).partial_fit(X[5:], Y[5:])
    weights, squares = np.zeros((5, 3)), np.zeros((5, 3))
    for x, y in zip(X, Y, strict=True):
        row = np.append(x, 1.0)

        def value(flat, row=row, y=y):
            m = row @ flat.reshape(5, 3)
            if surrogate == "pairwise":
                pairs = [(i, j) for i in range(3) for j in range(3) if y[i] > y[j]]
                return sum(np.log1p(np.exp(m[j] - m[i])) for i, j in pairs) / max(len(pairs), 1)
            t = y / y.sum() if "normalised" in surrogate else y
            return sum(t[i] * (np.log(np.exp(m).sum()) - m[i]) for i in range(3))

        flat = weights.reshape(-1)
        slope = np.array([(value(flat + h) - value(flat - h)) / 2e-5 for h in 1e-5 * np.eye(15)]).reshape(5, 3)
        slope[row == 0] = 0
        squares += slope**2
        weights = weights - 0.3 * slope / (np.sqrt(squares) + 1e-8)
    assert_allclose(learner.coef_, weights[:-1].T, atol=1e-4)
    assert_allclose(learner.intercept_, weights[-1], atol=1e-4)


def test_partial_fit_does_not_start_anew_from_a_fit_it_cannot_continue():
    X, Y = labelled()
    coupled = LabelRanker("sum@1", surrogate="softmax").fit(X, Y).set_params(surrogate="univariate")
    ridge = LabelRanker("sum@1", Ridge()).fit(X, Y).set_params(scorer="linear")
    trees = LabelRanker("sum@1", "trees").fit(X, Y).set_params(scorer="linear")
    for learner, says in (
        (coupled, "surrogate='univariate': fit was with 'softmax'; call fit again"),
        (ridge, "partial_fit cannot go on from a fit with another scorer"),
        (trees, "partial_fit cannot go on from a fit with another scorer"),
    ):
        before = learner.decision_function(X)
        with pytest.raises(InputError, match=says):
            learner.partial_fit(X, Y)
        assert_array_equal(learner.decision_function(X), before)


@pytest.mark.parametrize("loss", ["auc", "ndcg@2", "recall@2", "dcg", "prec@2"])
def test_an_example_teaches_the_same_alone_and_in_company(loss):
    X, Y = labelled()
    for make in (lambda: LabelRanker(loss), lambda: OnlineLabelRanker(loss)):
        whole, single = make().partial_fit(X, Y), make()
        for x, y in zip(X, Y, strict=True):
            single.partial_fit(x[None], y[None])
        assert_allclose(single.decision_function(X), whole.decision_function(X), atol=1e-9)


EXPERTS = [("horizon", value) for value in COUNTS] + [("beta", value) for value in (0, 1, NAN, "a", None)]
EXPERTS += [("n_labels", value) for value in COUNTS] + [("seed", -1), ("seed", "a")]


@pytest.mark.parametrize(
    ("name", "value"), [*EXPERTS, ("top", 0), ("top", NAN), ("learner", 3), ("loss", "best"), ("loss", "sum@9")]
)
def test_options_of_the_expert_ranker_are_named(name, value):
    given = {"n_labels": 3, "learner": lambda i, j: Halving([[0, 1]]), "horizon": 4, "seed": 0}
    with pytest.raises(InputError) as found:
        ExpertLabelRanker(**(given | {name: value}))
    assert f"{name}={value!r}" in str(found.value)


@pytest.mark.parametrize(("name", "value"), [*EXPERTS, ("label", 3), ("label", -1), ("cut", 0), ("cut", 4)])
def test_options_of_the_threshold_learner_are_named(name, value):
    given = {"ranker": None, "n_labels": 3, "label": 0, "cut": 1, "horizon": 4, "seed": 0}
    with pytest.raises(InputError) as found:
        ExpertThresholdLearner(**(given | {name: value}))
    assert f"{name}={value!r}" in str(found.value)


@pytest.mark.parametrize("table", [[], [0, 1], [[0, 2]], [[0.5, 1]], [[NAN, 1]]])
def test_a_table_of_functions_is_0_and_1(table):
    with pytest.raises(InputError, match="table: one row of 0/1 values"):
        Halving(table)
