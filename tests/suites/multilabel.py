"""What every learner of label rankings must do: taken over by the tests of each."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from podium.errors import InputError, NotFittedError, PodiumError

from reference_metrics import loss_of, ranks_by_label


def labelled(n=160, d=4, K=3, seed=0):
    """Features, half of them 0, and 0/1 relevance that follows from them with some noise; no row without a label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    Y = (X @ rng.normal(size=(d, K)) + 0.3 * rng.normal(size=(n, K)) > 0.2).astype(int)
    Y[np.arange(n), rng.integers(K, size=n)] = 1
    return X, Y


def mean_loss(learner, X, Y, p=1):
    """sum@p by its definition, with nothing of ours but the scores."""
    scores = learner.decision_function(X)
    pairs = zip(scores.tolist(), Y.tolist(), strict=True)
    return float(np.mean([loss_of("sum", p, ranks_by_label(s), y) for s, y in pairs]))


class LabelSuite:
    """Subclass with `make(**options)`, a fresh learner for sum@1 with a fixed seed and a tight tolerance.

    `ordered` says that the order of examples matters, `exact` up to which difference two fits are the same, `scale`
    what a fit needs to be told when relevance goes to 2, `far` when a feature is far from 0, `learns` the share left of
    the loss of a blind ranking, and `bad` lists options with values that mean nothing.
    """

    ordered = False
    exact = 1e-6
    learns = 0.6
    scale: dict[str, object] = {}  # noqa: RUF012
    far: dict[str, object] = {}  # noqa: RUF012
    bad: list[tuple[str, object]] = []  # noqa: RUF012

    def make(self, **options):
        raise NotImplementedError

    def agree(self, first, second, X):
        assert_allclose(first.decision_function(X), second.decision_function(X), atol=self.exact, rtol=1e-6)

    def test_it_learns(self):
        X, Y = labelled(400)
        blind = float(np.mean([loss_of("sum", 1, [1, 2, 3], y) for y in Y.tolist()]))
        assert mean_loss(self.make().fit(X, Y), X, Y) < self.learns * blind

    def test_fit_forgets_everything_before(self):
        X, Y = labelled(seed=1)
        other_X, other_Y = labelled(d=6, K=5, seed=2)
        fresh = self.make().fit(X, Y)
        again = self.make().fit(other_X, other_Y).fit(X, Y)
        self.agree(again, fresh, X)
        assert set(vars(again)) == set(vars(fresh))
        assert again.decision_function(X).shape == (len(X), 3)

    def test_a_refused_fit_changes_nothing(self):
        X, Y = labelled()
        learner = self.make().fit(X, Y)
        before = learner.decision_function(X)
        wrong = Y.astype(float)
        wrong[4, 1] = np.nan
        for bad_X, bad_Y in ((X[:, :2], wrong), (np.where(X > 2, np.inf, X), Y), (X, Y[:-1])):
            with pytest.raises(InputError):
                learner.fit(bad_X, bad_Y)
            assert_array_equal(learner.decision_function(X), before)

    def test_a_clone_learns_the_same(self):
        X, Y = labelled()
        learner = self.make().fit(X, Y)
        self.agree(clone(learner).fit(X, Y), learner, X)

    def test_a_pickle_scores_the_same(self):
        X, Y = labelled()
        learner = self.make().fit(X, Y)
        again = pickle.loads(pickle.dumps(learner))
        assert_array_equal(again.decision_function(X), learner.decision_function(X))
        assert_array_equal(again.rank(X), learner.rank(X))

    def test_labels_are_sorted_by_score_and_the_smaller_comes_first(self):
        X, Y = labelled()
        learner = self.make().fit(X, Y)
        scores = learner.decision_function(X)
        expected = [sorted(range(3), key=lambda i: (-row[i], i)) for row in scores.tolist()]
        assert_array_equal(learner.rank(X), expected)
        assert_array_equal(learner.rank(X, top=2), np.array(expected)[:, :2])
        for top in (0, 4, -1, 1.5, True):
            with pytest.raises(InputError, match=f"top={top!r}: there are 3 labels"):
                learner.rank(X, top=top)

    def test_twice_the_relevance_is_the_same_order(self):
        X, Y = labelled()
        self.agree(self.make(**self.scale).fit(X, 2 * Y), self.make().fit(X, Y), X)

    @pytest.mark.parametrize("value", [0.0, 0.1, 1e6 + 0.1])
    def test_a_feature_that_never_varies_gives_finite_scores_that_still_rank(self, value):
        X, Y = labelled(400)
        wide = np.column_stack([X, np.full(len(X), value)])
        learner = self.make().fit(wide, Y) if abs(value) < 10 else self.make(**self.far).fit(wide, Y)
        blind = float(np.mean([loss_of("sum", 1, [1, 2, 3], y) for y in Y.tolist()]))
        assert mean_loss(learner, wide, Y) < 0.75 * blind
        wide[:, -1] += 0.5
        moved = learner.decision_function(wide)
        assert np.abs(moved).max() < 1e4

    def test_one_label_has_one_ranking(self):
        X, Y = labelled(K=3)
        one = Y[:, [0]]
        learner = self.make().fit(X, one)
        assert learner.decision_function(X).shape == (len(X), 1)
        assert (learner.rank(X) == 0).all()

    def test_sparse_tables_are_dense_tables(self):
        X, Y = labelled()
        dense = self.make().fit(X, Y)
        for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
            self.agree(self.make().fit(form(X), form(Y)), dense, X)
            assert_allclose(dense.decision_function(form(X)), dense.decision_function(X), atol=1e-12)

    def test_the_order_of_examples_does_not_matter_in_a_batch(self):
        if self.ordered:
            pytest.skip("one example after the other: the order matters")
        X, Y = labelled()
        mixed = np.random.default_rng(3).permutation(len(X))
        self.agree(self.make().fit(X[mixed], Y[mixed]), self.make().fit(X, Y), X)

    def test_the_arrays_passed_in_are_left_alone(self):
        X, Y = labelled()
        before = X.copy(), Y.copy()
        X.setflags(write=False)
        Y.setflags(write=False)
        self.make().fit(X, Y).decision_function(X)
        assert_array_equal(X, before[0])
        assert_array_equal(Y, before[1])

    def test_columns_name_the_labels(self):
        pd = pytest.importorskip("pandas")
        X, Y = labelled()
        learner = self.make().fit(X, pd.DataFrame(Y, columns=["calm", "sad", "angry"]))
        assert set(learner.rank(X).ravel()) == {"calm", "sad", "angry"}

    @pytest.mark.parametrize(
        ("spoil", "says"),
        [
            (lambda X, Y: (np.where(X > 1e3, np.nan, X), Y), "NaN: row 2, feature 3"),
            (lambda X, Y: (np.where(X > 1e3, -np.inf, X), Y), "-inf: row 2, feature 3"),
            (lambda X, Y: (sparse.csr_array(np.where(X > 1e3, np.nan, X)), Y), "NaN: row 2, feature 3"),
            (lambda X, Y: (np.where(X > 1e3, 1e200, X), Y), r"row 2, feature 3: 1e\+200 is so large"),
            (lambda X, Y: (X, np.where(np.arange(len(Y))[:, None] == 4, np.nan, Y)), "row 5, label 0: relevance nan"),
            (lambda X, Y: (X, np.where(np.arange(len(Y))[:, None] == 4, -1, Y)), "row 5, label 0: relevance -1"),
            (lambda X, Y: (X, Y[:-1]), r"X has 160 rows but y has 159"),
            (lambda X, Y: (X, None), "requires y"),
            (lambda X, Y: (X, Y[:, 0]), "one column for each label"),
            (lambda X, Y: (X[:0], Y[:0]), "0 sample"),
        ],
    )
    def test_bad_examples_are_named_with_their_row(self, spoil, says):
        X, Y = labelled()
        X[1, 2] = 1e4
        with pytest.raises(InputError, match=says):
            self.make().fit(*spoil(X, Y))

    def test_another_number_of_features_is_refused(self):
        X, Y = labelled()
        learner = self.make().fit(X, Y)
        for wrong in (X[:, :2], sparse.csr_array(np.column_stack([X, X]))):
            with pytest.raises(InputError, match=f"{wrong.shape[1]} features.* 4 features"):
                learner.decision_function(wrong)

    def test_nan_in_a_new_example_is_refused(self):
        X, Y = labelled()
        learner = self.make().fit(X, Y)
        with pytest.raises(InputError, match="NaN: row 1, feature 1"):
            learner.rank(np.full((1, 4), np.nan))

    def test_nothing_is_ranked_before_fit(self):
        with pytest.raises(NotFittedError):
            self.make().rank([[1.0]])

    def test_huge_features_are_ranked_or_refused(self):
        X, Y = labelled()
        for size in (1e6, 1e30, 1e140):
            try:
                scores = self.make().fit(size * X, Y).decision_function(size * X)
            except PodiumError as problem:
                scores, said = np.zeros(1), str(problem)
            else:
                said = "scale"
            assert np.isfinite(scores).all()
            assert "scale" in said

    def test_an_option_that_means_nothing_is_named_with_its_value(self):
        assert self.bad
        X, Y = labelled()
        for name, value in [*self.bad, ("loss", "best@3"), ("loss", 3), ("loss", "sum"), ("loss", None)]:
            with pytest.raises(InputError) as found:
                self.make(**{name: value}).fit(X, Y)
            assert f"{name}={value!r}" in str(found.value)


class StreamSuite(LabelSuite):
    """Besides, for learners with `partial_fit`."""

    def test_pieces_are_the_whole(self):
        X, Y = labelled()
        once = self.make().partial_fit(X, Y)
        pieces = self.make()
        for start in (0, 1, 2, 60):
            stop = {0: 1, 1: 2, 2: 60, 60: 160}[start]
            pieces.partial_fit(X[start:stop], Y[start:stop])
        assert_allclose(pieces.decision_function(X), once.decision_function(X), atol=1e-9)
        if hasattr(once, "losses_"):
            assert_allclose(pieces.losses_, once.losses_, atol=1e-9)

    def test_partial_fit_goes_on_from_fit(self):
        """A few examples more move a fitted learner far less than they teach a new one."""
        X, Y = labelled(400)
        learner = self.make().fit(X, Y)
        before, scores = mean_loss(learner, X, Y), learner.decision_function(X)
        learner.partial_fit(X[:2], Y[:2])
        assert mean_loss(learner, X, Y) < before + 0.05
        first = [row.argmax() for row in scores]
        assert np.mean(learner.rank(X)[:, 0] != first) < 0.1
        assert not np.array_equal(learner.decision_function(X), scores)

    def test_fit_forgets_the_stream_and_partial_fit_goes_on_from_the_new_fit(self):
        X, Y = labelled(seed=1)
        old_X, old_Y = labelled(d=6, K=5, seed=2)
        fresh = self.make().fit(X, Y)
        again = self.make().fit(old_X, old_Y).partial_fit(old_X, old_Y).fit(X, Y)
        self.agree(again, fresh, X)
        self.agree(again.partial_fit(X[:9], Y[:9]), fresh.partial_fit(X[:9], Y[:9]), X)
        self.agree(again.fit(X, Y), self.make().fit(X, Y), X)

    def test_a_pickle_goes_on_the_same(self):
        X, Y = labelled()
        learner = self.make().fit(X[:100], Y[:100])
        again = pickle.loads(pickle.dumps(learner))
        self.agree(again.partial_fit(X[100:], Y[100:]), learner.partial_fit(X[100:], Y[100:]), X)

    def test_refused_examples_change_nothing(self):
        X, Y = labelled()
        learner = self.make().partial_fit(X, Y)
        before = learner.decision_function(X)
        for bad_X, bad_Y, says in (
            (X[:, :2], Y, "2 features.* 4 features"),
            (X, Y[:, :2], "y has 2 labels, but the first examples had 3"),
            (np.full((1, 4), np.nan), Y[:1], "NaN: row 1"),
            (X[:1], [[0, -1, 0]], "relevance -1"),
            (X[:1], [[0, 9, 0]], "relevance 9 is above"),
        ):
            with pytest.raises(InputError, match=says):
                learner.partial_fit(bad_X, bad_Y)
            assert_array_equal(learner.decision_function(X), before)

    def test_a_row_without_a_relevant_label_is_no_mistake(self):
        X, Y = labelled()
        learner = self.make().partial_fit(X, Y).partial_fit(X[:1], [[0, 0, 0]]).partial_fit(X[:1], [[1, 1, 1]])
        assert np.isfinite(learner.decision_function(X)).all()
