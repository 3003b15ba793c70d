"""Learning one example at a time: the shell around the kernels' passes, shared by all online learners."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Self

import numpy as np

from podium.data.validation import check_is_fitted, flag_option, number_option, seed_option, whole_option
from podium.errors import InputError, Option
from podium.ordinal.base import OrdinalClassifier, row_count, weights_of
from podium.ordinal.forms import as_range, number_of
from podium.ordinal.labels import Array, class_list, code_of, read_labels
from podium.ordinal.scaling import FeatureScale
from podium.text import counted, some

__all__ = ["OnlineClassifier"]

EMPTY = np.empty(0)
NO_GRADES = NO_COLUMNS = np.empty(0, dtype=np.int32)
NO_ORDER = np.empty(0, dtype=np.int64)
NOT_FINITE = -2
DENSE = 0.1  # share of entries from which a sparse table is treated as a dense one
ROW = (8,)  # strides of doubles side by side
MAX_STALE_EPOCHS = 2  # epochs without progress before `fit` stops
WARM = 8  # rows until which the scale of the features is renewed at each; later whenever a quarter more was seen


def row_arrays(X: Any) -> tuple[Array, Array, Array]:
    """Rows as the kernels take them: data, indices and indptr; of a dense table the rows end to end, and no indptr."""
    return (X.data, X.indices, X.indptr) if hasattr(X, "indptr") else (X.reshape(-1), NO_COLUMNS, NO_COLUMNS)


class OnlineClassifier(OrdinalClassifier):
    """fit, partial_fit and learn_one over one method, `_pass`, and one example's `_learn`.

    A learner keeps its state in arrays made by `_start`; counters are kept here: examples seen, updates made, and the
    absolute errors of the predictions made just before each example was learned.

    Where the learner standardises, it works on rows scaled by `_scale`, and what it tells is turned back. Scale and
    candidates are renewed whenever the number of examples reaches `_until`, however the examples came.
    """

    max_iter: int
    tol: float | None
    shuffle: bool
    random_state: Any
    warm_start: bool
    _scale: FeatureScale | None
    grow: bool = False
    probability: bool = False
    _open_flags: tuple[str, ...] = ()  # flags that may also be None: the learner then decides
    _finds_infinity = False  # whether `_pass` itself refuses rows with NaN or infinity, and undoes what it did

    @property
    def mae_(self) -> float:
        """Progressive mean absolute error: each example is predicted, by the weights of that moment, before it is
        learned. As long as no example comes twice this is an honest estimate although no data were held out."""
        check_is_fitted(self)
        return self._errors / self.n_seen_ if self.n_seen_ else 0.0

    def _start(self, n_features: int) -> None:
        raise NotImplementedError

    def _pass(
        self, X: Any, low: Array, high: Array, strength: Array, order: Array, predicted: Array, totals: Array
    ) -> int:
        """Learn from the rows; add their absolute errors and their number to `totals`, return the updates made."""
        raise NotImplementedError

    def _learn(self, x: Array, low: int, high: int, weight: float = 1.0) -> int:
        """Learn from one example; return its absolute error, or something negative if nothing was changed."""
        raise NotImplementedError

    def _grade(self, x: Array) -> int:
        """The code of one example's grade."""
        raise NotImplementedError

    def _strength(self, weight: Array | None) -> Array:
        """What the kernel takes per row, or one value for all."""
        raise NotImplementedError

    def _fit(self, X: Any, y: Any, y_lower: Any, y_upper: Any, sample_weight: Any) -> Self:
        self._check_parameters()
        warm = self.warm_start and hasattr(self, "classes_")
        X = self._rows(X, reset=not warm, finite=not self._finds_infinity)
        low, high = self._labels(y, y_lower, y_upper, X.shape[0], known=self.classes_ if warm else None)
        strength = self._strength(self._weights(sample_weight, X))
        if not warm:
            self._begin(X.shape[1], sparse=_sparse(X))
        if self._scale is not None:
            self._squares_finite(X)
            if strength.any():
                self._scale.take(X if len(strength) == 1 else X[strength > 0], at_once=True)
        self._epochs(X if self._scale is None else self._scale.apply(X), low, high, strength)
        self._say_if_one_grade(X, low, high)
        return self

    def _epochs(self, X: Any, low: Array, high: Array, strength: Array) -> None:
        rng = _generator(self.random_state)
        best, stale = np.inf, 0
        for epoch in range(1, self.max_iter + 1):
            order = rng.permutation(X.shape[0]) if self.shuffle else NO_ORDER
            totals = self._learn_rows(X, low, high, strength, order)
            self.n_iter_ = epoch
            error = totals[0] / totals[1] if totals[1] else 0.0
            stale = 0 if self.tol is None or error < best - self.tol else stale + 1
            best = min(best, error)
            if stale == MAX_STALE_EPOCHS:
                break

    def _partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any,
        y_lower: Any = None,
        y_upper: Any = None,
        sample_weight: Any = None,
        predicted: Array | None = None,
    ) -> Self:
        self._refuse_probability()
        first = not hasattr(self, "classes_")
        if first:
            self._check_parameters()
        X = self._rows(X, reset=first, finite=not self._finds_infinity)
        known = self._known(classes, first)
        new = self._beyond_known(y, y_lower, y_upper) if self.grow and not first else ([], [])
        grown = np.array([*new[0], *known.tolist(), *new[1]]) if any(new) else known
        low, high = self._labels(y, y_lower, y_upper, X.shape[0], known=grown)
        strength = self._strength(self._weights(sample_weight, X))
        if self._standardizes() if first else self._scale is not None:
            self._squares_finite(X)
        if any(new):
            self._add_grades(new[0], new[1])
        if first:
            self._set_classes(known)
            self._begin(X.shape[1], sparse=_sparse(X))
        if self._scale is None:
            self._learn_rows(X, low, high, strength, NO_ORDER, predicted)
        else:
            self._learn_scaled(X, low, high, strength, predicted)
        return self

    def progressive(self, X: Any, y: Any, *, classes: Any = None) -> Array:
        """`partial_fit` that returns the grades it predicted just before learning each row.

        >>> from podium.ordinal import PRank
        >>> PRank(classes=[1, 2]).progressive([[-1.0], [1.0], [-1.0], [1.0]], [1, 2, 1, 2]).tolist()
        [2, 1, 1, 2]
        """
        predicted = np.zeros(row_count(X), dtype=np.int32)
        self._partial_fit(X, y, classes, predicted=predicted)
        grades: Array = self.classes_[predicted]
        return grades

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> Self:
        """Learn from a single example at little cost per call.

        `x` is an array, a list, or a mapping from feature names; `y` a grade or a pair (lower, upper) in which None is
        an open end. The grades must be known: from `classes`, or from an earlier `fit` or `partial_fit`. `weight` is
        what `sample_weight` is for a table.
        """
        self._refuse_probability()
        try:
            codes = self._codes
        except AttributeError:
            self._begin_one(x)
            codes = self._codes
        if self.grow:
            self._grow_for(x, y)
            codes = self._codes
        code = codes.get(y) if y.__hash__ and type(y) is not tuple else None
        low, high = (code, code) if code is not None else code_of(y, codes)
        if type(x) is not np.ndarray or x.dtype.char != "d" or x.shape != self._shape or x.strides != ROW:
            x = self._example(x)
        weight = 1.0 if weight == 1.0 else self._weight_one(weight)  # also 1 and True are 1.0
        if weight == 0.0:
            return self
        if self._scale is not None and (self.n_seen_ < WARM or not self._learns_one_scaled()):
            self._squares_finite(x[None], one=True)
            ends = np.array([[low], [high]], dtype=np.int32)
            self._learn_scaled(x[None], ends[0], ends[1], np.full(1, weight))
            return self
        error = self._learn(x, low, high, weight)
        self.n_seen_ += 1
        if error >= 0:
            self.n_updates_ += 1
            self._errors += error
        if self.n_seen_ == self._until:
            self._renew()
        return self

    def predict_one(self, x: Any) -> Any:
        """The grade of a single example; what `predict` says of a table with this one row."""
        try:
            if type(x) is not np.ndarray or x.dtype.char != "d" or x.shape != self._shape or x.strides != ROW:
                x = self._example(x)
        except AttributeError:
            check_is_fitted(self)
            raise
        return self._named[self._grade(x)]

    def _refuse_probability(self) -> None:
        if self.probability:
            raise InputError("probability=True needs rows held out of training: use fit, or set probability=False")

    def _weight_one(self, weight: Any) -> float:
        """The weight of one example, where examples may have weights."""
        value = number_option("weight", weight, least=0)
        self._strength(np.full(1, value))
        return value

    def _beyond_known(self, y: Any, y_lower: Any, y_upper: Any) -> tuple[list[Any], list[Any]]:
        """The grades of a table that lie below and above all that are known."""
        return self._new_grades(read_labels(y, y_lower, y_upper)[2].tolist())

    def _new_grades(self, grades: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        raise NotImplementedError

    def _add_grades(self, below: Sequence[Any], above: Sequence[Any]) -> None:
        raise NotImplementedError

    def _widen(self, features: int, below: int, above: int) -> None:
        raise NotImplementedError

    def _grow_for(self, x: Any, y: Any) -> None:
        """Take in the new features and grades of one example, once everything about it is in order."""
        names: list[Any] = []
        known: dict[Any, int] = {}
        if isinstance(x, Mapping) and getattr(self, "feature_names_in_", None) is not None:
            known = self._columns()
            names = [name for name in x if name not in known]
        ends = _ends_of(y, self._codes)
        under, over = self._new_grades([end for end in ends if end is not None and end not in self._codes])
        if names or under or over:
            grades = [*under, *self._named, *over]
            code_of(y if len(ends) == 1 else tuple(ends), {grade: code for code, grade in enumerate(grades)})
            if not np.isfinite(self._example(x)).all():
                finite(NOT_FINITE)
        if under or over:
            self._add_grades(under, over)
        if names:
            self._widen(len(names), 0, 0)
            self.n_features_in_ = self._shape[0]
            columns = np.empty(self.n_features_in_, dtype=object)
            columns[:] = [*known, *names]
            self.feature_names_in_: Array = columns

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        state.pop("_columns_of", None)
        return state

    def _columns(self) -> dict[Any, int]:
        """Where each named feature is."""
        known = vars(self).get("_columns_of")
        if known is None or known[0] is not self.feature_names_in_:
            known = self.feature_names_in_, {name: k for k, name in enumerate(self.feature_names_in_.tolist())}
            self._columns_of = known
        columns: dict[Any, int] = known[1]
        return columns

    def _begin_one(self, x: Any) -> None:
        self._check_parameters()
        known = self._known(None, first=True)
        if not isinstance(x, Mapping) and (isinstance(x, str) or not np.ndim(x)):
            raise InputError(f"x is {x!r}; give the features of one example, as a list, an array or a mapping")
        if not len(x):
            raise InputError("the example has no features; a grade is learned from one at least")
        if isinstance(x, Mapping):
            self.feature_names_in_ = np.array(list(x), dtype=object)
        self.n_features_in_ = len(x)
        self._set_classes(known)
        self._begin(self.n_features_in_)

    def _example(self, x: Any) -> Array:
        """One example as doubles; a mapping is read by the feature names of the first example or table."""
        if isinstance(x, Mapping):
            names = getattr(self, "feature_names_in_", None)
            if names is None:
                raise InputError("this model was not given feature names; pass the values as an array")
            if self.grow:
                return self._sparse_example(x)
            missing = [name for name in names if name not in x]
            if missing or len(x) != len(names):
                extra = [name for name in x if name not in set(names)]
                raise InputError(_other_names(missing, extra))
            x = [x[name] for name in names]
        return self._numbers_of(x)

    def _sparse_example(self, x: Mapping[Any, Any]) -> Array:
        """A mapping that names what is not 0; a name that the model does not know has no weight."""
        columns = self._columns()
        row = np.zeros(self._shape)
        for name, value in x.items():
            if not _is_number(value):
                raise InputError(f"the feature {name!r} of the example is {value!r}; it must be a finite number")
            if name in columns:
                row[columns[name]] = value
        return row

    def _numbers_of(self, x: Any) -> Array:
        try:
            row = np.asarray(x)
            if row.dtype.kind in "cmMV":  # NumPy would drop an imaginary part, and count a date in its own units
                raise TypeError(f"its values are {row.dtype}")
            values = np.ascontiguousarray(row, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as problem:
            raise InputError(f"the example is not a row of numbers: {problem}") from None
        if values.shape != self._shape:
            raise InputError(
                f"the example has shape {values.shape}, but this model has {counted(self.n_features_in_, 'feature')}"
            )
        return values

    def _known(self, classes: Any, first: bool) -> Array:
        """The grades, when they need not be read from the labels."""
        if not first:
            if classes is not None and not np.array_equal(class_list(classes), self.classes_):
                raise InputError(f"classes is {list(classes)}, but the first call had {self.classes_.tolist()}")
            known: Array = self.classes_
            return known
        classes = self.classes if classes is None else classes
        if classes is None:
            raise InputError("the grades are not known yet: pass ", Option("classes"), ", from lowest to highest")
        return class_list(classes)

    def _standardizes(self) -> bool:
        """Whether the features are put on one scale on the way."""
        raise NotImplementedError

    def _learns_one_scaled(self) -> bool:
        """Whether `_learn` can scale an example itself."""
        return False

    def _begin(self, n_features: int, *, sparse: bool = False) -> None:
        self._number_grades()
        self._shape = (n_features,)
        self.n_seen_ = 0
        self.n_updates_ = 0
        self.n_iter_ = 1
        self._errors = 0
        self._scale = FeatureScale.empty(n_features, centred=not sparse) if self._standardizes() else None
        self._until = -1 if self._scale is None else 1
        self._start(n_features)

    def _number_grades(self) -> None:
        self._named = self.classes_.tolist()
        self._codes = {grade: code for code, grade in enumerate(self._named)}

    def _learn_rows(
        self, X: Any, low: Array, high: Array, strength: Array, order: Array, predicted: Array | None = None
    ) -> Array:
        """One pass over rows on the learner's scale; a part of it at a time where something is renewed on the way."""
        if self._scale is None:
            return self._learn_part(X, low, high, strength, order, predicted)
        order = order if len(order) else np.arange(X.shape[0])
        totals, start = np.zeros(2), 0
        while start < len(order):
            part = order[start : start + self._until - self.n_seen_]
            totals += self._learn_part(X, low, high, strength, part, predicted)
            start += len(part)
        return totals

    def _learn_scaled(self, X: Any, low: Array, high: Array, strength: Array, predicted: Array | None = None) -> None:
        """One pass in the rows' order, each scaled by what came before it."""
        assert self._scale is not None
        if len(strength) > 1 and not strength.all():
            keep = strength > 0
            X, low, high, strength = X[keep], low[keep], high[keep], strength[keep]
        start = 0
        while start < X.shape[0]:
            part = slice(start, start + self._until - self.n_seen_)
            Z = self._scale.take(X[part], at_once=self.n_seen_ < WARM)
            each = strength if len(strength) == 1 else strength[part]
            self._learn_part(Z, low[part], high[part], each, NO_ORDER, None if predicted is None else predicted[part])
            start += Z.shape[0]

    def _learn_part(
        self, X: Any, low: Array, high: Array, strength: Array, order: Array, predicted: Array | None
    ) -> Array:
        totals = np.zeros(2)
        updates = self._pass(X, low, high, strength, order, NO_GRADES if predicted is None else predicted, totals)
        self._errors += int(totals[0])
        self.n_seen_ += int(totals[1])
        self.n_updates_ += updates
        if self.n_seen_ == self._until:
            self._renew()
        return totals

    def _renew(self) -> None:
        """Take in what was seen since the last time, and say when to come back."""
        assert self._scale is not None
        self._scale.renew()
        self._until = self.n_seen_ + max(1, self.n_seen_ // 4 if self.n_seen_ >= WARM else 1)

    def _squares_finite(self, X: Any, *, one: bool = False) -> None:
        """Refuse NaN, infinity, and numbers whose squares overflow, before anything is learned from them."""
        values = np.asarray(X.data if hasattr(X, "indptr") else X, dtype=np.float64).ravel()
        with np.errstate(over="ignore", invalid="ignore"):
            fine = bool(np.isfinite(values @ values))
        if not fine and one:
            finite(NOT_FINITE)
        if not fine:
            self._not_finite(X)

    def _weights(self, sample_weight: Any, X: Any) -> Array | None:
        if sample_weight is None:
            return None
        return weights_of(sample_weight, X)

    def _check_parameters(self) -> None:
        whole_option("max_iter", self.max_iter, least=1)
        if self.tol is not None:
            number_option("tol", self.tol, least=0, more=", or None to run all max_iter epochs")
        if not isinstance(self.random_state, np.random.RandomState | np.random.Generator):
            seed_option("random_state", self.random_state)
        for name in ("shuffle", "warm_start", "average", "standardize"):
            if not (name in self._open_flags and getattr(self, name) is None):
                flag_option(name, getattr(self, name))


def _sparse(X: Any) -> bool:
    """Whether X is stored as sparse, and is: then centring it would cost too much."""
    return hasattr(X, "indptr") and len(X.data) < DENSE * X.shape[0] * X.shape[1]


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float | np.number) and not isinstance(value, complex | np.complexfloating)
    return bool(number and np.isfinite(value))


def _ends_of(y: Any, codes: Collection[Any]) -> list[Any]:
    """The grades that one label names: one, or the two ends of a range, None where open."""
    if isinstance(y, np.generic | np.ndarray):
        y = y.tolist()
    if isinstance(y, tuple | list) and len(y) == 2:
        return [None if end is None or end != end or end == "" or not end.__hash__ else end for end in y]
    ends = as_range(y, codes) or as_range(y, None)
    return [number_of(end) if isinstance(end, str) else end for end in ends] if ends else [y] if y.__hash__ else []


def finite(code: int) -> int:
    """Pass on what a kernel said of one example, unless it said that the example is not finite."""
    if code == NOT_FINITE:
        raise InputError("the example contains NaN or inf; fill in a value or leave the example out")
    return code


def _generator(seed: Any) -> np.random.Generator:
    if isinstance(seed, np.random.RandomState):
        return np.random.default_rng(seed.randint(2**31))
    return np.random.default_rng(seed)


def _other_names(missing: list[str], extra: list[str]) -> str:
    wrong = {"lacks the features": missing, "has the unknown features": extra}
    said = " and ".join(f"{what} {some(names)}" for what, names in wrong.items() if names)
    return f"the example {said}; name each feature of the first example or table, and no other"
