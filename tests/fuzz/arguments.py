"""Every public function and method called as it should be, but for one argument that is something else.

`ordinary` lists the calls; `tests/fuzz/test_fuzz.py` checks that between them they enter all that is public.
"""

import atexit
import contextlib
import copy
import dataclasses
import functools
import inspect
import io
import pathlib
import shutil
import tempfile
import warnings
from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from fuzz.inputs import NO_NUMBERS, NUMBERS, TEXTS, pick
from podium.errors import InputError, Option

# Arguments whose size is work asked for, not a mistake.
HEAVY = ("max_iter", "permutations", "replicates", "splits", "draws", "restarts", "horizon", "n_labels", "n", "K", "B", "jobs", "threads",
         "points", "folds", "passes", "max_pairs", "count", "dpi", "experts", "size", "sample", "budget", "at", "p")  # fmt: skip
# Left to Python and to matplotlib: what calls back, and whose axes are drawn on.
NOT_OURS = ("progress", "ax", "deep")
ODD_NUMBERS = (*NUMBERS, *NO_NUMBERS, 2.0, 10**400, np.float32(1e38), np.int8(3), np.longdouble("1e4000"))
ODD_ARRAYS = (
    [], [[]], [[1, 2], [3]], [None], ["a", "b"], [0.5, float("nan")], [1, 10**400], np.ones(2), np.array(1.0), np.ones((2, 2, 2)), np.zeros((0, 3)),
    np.array([[1.0, np.inf], [0.0, 1.0]]), np.array(["a", "b"]), np.ones(3, dtype=complex), np.array([1, "a", None], dtype=object),
    np.array(["2020-01-01"], dtype="datetime64[D]"), np.ma.masked_array([1.0, 2.0], [True, False]), np.array([5, -7, 2**40]), np.full(24, 1e308),
    np.ones((24, 2), dtype=np.float16), np.full((24, 2), 1e200), np.arange(24) % 2 == 0, np.full((24, 3), -1), [0] * 24, [True] * 60,
)  # fmt: skip


def kind_of(thing):
    """What may stand in the place of an ordinary argument: something of its kind. Another kind is left to Python."""
    if isinstance(thing, bool | np.bool_) or thing is None:
        return ()
    if isinstance(thing, int | float | np.number):
        return ODD_NUMBERS
    if isinstance(thing, str):
        return (*TEXTS, "\ud800")
    if isinstance(thing, np.ndarray | list | tuple):
        return ODD_ARRAYS
    return ()


@dataclass(frozen=True)
class Call:
    """A function and ordinary arguments; `fresh` ones are used up by the call and made anew for each."""

    name: str
    function: object
    arguments: dict

    def __call__(self, **changed):
        arguments = {name: each() if isinstance(each, Fresh) else each for name, each in self.arguments.items()}
        found = self.function(**(arguments | changed))
        if inspect.isgenerator(found):
            found = list(found)
        return found


class Fresh:
    """An argument made anew for each call."""

    def __init__(self, make):
        self.make = make

    def __call__(self):
        return self.make()


def of(name, function, /, **arguments):
    return Call(name, function, arguments)


def methods(thing, *calls):
    """Calls of methods, each of a copy of `thing`."""
    made = []
    for name, arguments in calls:

        def call(name=name, **given):
            return getattr(copy.deepcopy(thing), name)(**given)

        made.append(Call(f"{type(thing).__name__}.{name}", call, arguments))
    return made


@functools.cache
def votes():
    from podium import Comparisons

    rng = np.random.default_rng(5)
    left = rng.integers(0, 5, 60)
    right = (left + rng.integers(1, 5, 60)) % 5
    more = {"judge": rng.integers(0, 3, 60), "covariates": {"length": rng.normal(size=60)}}
    more |= {"time": rng.integers(0, 9, 60)}
    return Comparisons.from_arrays(left, right, items=list("abcde"), **more)


def sided():
    """Votes that say which side an item stood on."""
    from podium import Comparisons

    rng = np.random.default_rng(6)
    left = rng.integers(0, 5, 60)
    right = (left + rng.integers(1, 5, 60)) % 5
    table = {"left": left, "right": right, "outcome": rng.choice([1.0, 0.0, 0.5], 60)}
    return Comparisons.from_frame({name: column.tolist() for name, column in table.items()})


FEATURES = {label: [float(k), float(k * k % 3)] for k, label in enumerate("abcde")}


def rankers():
    import podium
    from podium import pairwise
    from podium.pairwise._fit.featured import FeatureScores

    data, made = votes(), []
    for method in pairwise.METHODS:
        cls = pairwise.ranker(method)
        more = {"features": FEATURES, "id": None} if "features" in inspect.signature(cls.fit).parameters else {}

        def make(cls=cls, more=more, **options):
            fitted = cls(**options).fit(data, *list(more.values())[:1])
            return fitted.ranking_.order, fitted.predict_proba(data)

        defaults = {each.name: each.default for each in inspect.signature(cls).parameters.values()}
        made.append(Call(cls.__name__, make, defaults))
        fitted = cls().fit(data, *list(more.values())[:1])
        made += methods(
            fitted, ("fit", {next(iter(inspect.signature(fitted.fit).parameters)): data} | more), ("score", {"comparisons": data}), ("get_params", {"deep": True}),
            ("predict_proba", {"comparisons": data}), ("unfitted", {}), ("set_params", {}),
            ("predict_interval", {"comparisons": data, "level": 0.9}), ("tie_strength_interval", {"level": 0.9}),
            ("draw_chances", {"comparisons": data, "draws": 2, "rng": np.random.default_rng(0)}),
        )  # fmt: skip
        known = {
            "win_probability": {"a": "a", "b": "b"}, "tie_probability": {"a": "a", "b": "b"}, "partial_fit": {"comparisons": data} | more,
            "update": {"winner": "a", "loser": "b", "tie": False, "weight": 1.0}, "judge_frame": {}, "add": {"features": {"new": [1.0, 2.0]}},
            "predict": {"features": {"new": [1.0, 2.0]}, "return_std": True} if issubclass(cls, FeatureScores) else {"features": [[1.0, 2.0]]},
            "ranking_at": {"at": 5}, "curves": {"items": ["a", "b"], "points": 4, "level": 0.9},
        }  # fmt: skip
        made += methods(fitted, *((name, given) for name, given in known.items() if hasattr(fitted, name)))
        made += [Call(f"{cls.__name__} properties", functools.partial(look, fitted), {})]
    untied = podium.Rankings.from_lists([list("abc"), list("bca"), list("acb"), list("cab")])
    surveyed = podium.PlackettLuce().fit(untied)  # a copy does not keep the rankings that these two look at
    made += [
        Call("PlackettLuce.goodness_of_fit", surveyed.goodness_of_fit, {"replicates": 9, "seed": 1}),
        Call("PlackettLuce.pair_residuals", surveyed.pair_residuals, {}),
    ]
    side = podium.BradleyTerry(side_effect=True, ties="davidson").fit(sided())
    made += methods(side, ("tie_probability", {"a": 0, "b": 1}), ("win_probability", {"a": 0, "b": 1}))
    made += [Call("a side's properties", functools.partial(look, side), {})]
    larger = podium.BradleyTerry(l2=0, side_effect=True).fit(sided())
    made += [Call("properties without a penalty", functools.partial(look, larger), {})]
    made += [of("method_of", pairwise.method_of, cls=podium.Elo), of("ranker", pairwise.ranker, method="elo")]
    return made


def look(thing):
    """Read all public properties; one that the model has not is refused as other missing attributes are."""
    for name in dir(type(thing)):
        member = inspect.getattr_static(type(thing), name)
        if not name.startswith("_") and not callable(member) and not isinstance(member, classmethod | staticmethod):
            with contextlib.suppress(InputError):  # what this model does not say
                getattr(thing, name, None)


def rankings():
    import podium

    ranking = podium.BradleyTerry().fit(votes()).ranking_
    return [
        of("Ranking", podium.Ranking, items=("a", "b"), scores=[1.0, 2.0]),
        Call("Ranking properties", functools.partial(look, ranking), {}),
        *methods(
            ranking, ("score", {"item": "a"}), ("difference_variance", {"one": np.array([0, 1]), "other": np.array([1, 2])}), ("quasi_variances", {}),
            ("to_frame", {"level": 0.9, "simultaneous": True}), ("differences", {"level": 0.9}), ("top_set", {"k": 2, "level": 0.9}),
            ("with_uncertainty", {"kind": "bootstrap", "cluster": None, "replicates": 5, "seed": 1, "jobs": 1}),
            ("with_uncertainty", {"kind": "cluster", "cluster": "judge"}), ("probability_best", {}),
            ("probability_above", {"one": "a", "other": "b"}), ("tier_numbers", {"level": 0.9}), ("tiers", {"level": 0.9}),
            ("rank_intervals", {"level": 0.9, "simultaneous": True, "method": "guaranteed"}),
            ("intervals", {"level": 0.9, "reference": "mean", "kind": "confidence"}),
        ),
    ]  # fmt: skip


def lists():
    """Rankings with ties, weights and judges."""
    from podium import Rankings

    entries = [["a", ["b", "c"]], ["b", "a"], ["c"], ["a", "c", "b"]]
    return Rankings.from_lists(entries, unranked="below", weight=[1.0, 2.0, 1.0, 0.5], judge=["x", "y", "x", "y"])


@functools.cache
def kept_votes(table):
    """A file that workers may open."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="podium-fuzz-calls-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    (folder / "votes.csv").write_bytes(table)
    return str(folder / "votes.csv")


def data():
    import polars as pl

    from podium import BradleyTerry, Comparisons, Rankings, read_comparisons, read_rankings
    from podium.data import keep_comparisons, read_comparisons_by, read_fixtures, read_table, write_table
    from podium.engine import Serial

    codes = np.array([0, 1, 2, 0]), np.array([1, 2, 0, 2])
    table = b"winner,loser,judge\na,b,x\nb,c,y\nc,a,x\na,c,y\n"
    sides = b"left,right,outcome,weight,count,judge,group,x\na,b,1,1,2,j,g,0.5\nb,a,0,1,2,j,g,1.5\n"
    file, more = Fresh(lambda: io.BytesIO(table)), {"format": "csv", "delimiter": ",", "jobs": 1}
    names = {name: name for name in ("left", "right", "outcome", "weight", "count", "judge", "group")}
    return [
        of("from_pairs", Comparisons.from_pairs, pairs=[("a", "b"), ("b", "c")]),
        of("from_rankings", Comparisons.from_rankings, rankings=[["a", "b", "c"], ["b", "a"]], unranked="below"),
        of("from_lists", Rankings.from_lists, lists=[["a", ["b", "c"]], ["b", "a"]], unranked="below", items=["a", "b", "c"],
           offered=[["a", "b", "c"], ["a", "b"]], weight=[1.0, 2.0], judge=["x", "y"], group=["g", "g"]),
        of("Rankings", Rankings, items=["a", "b"], item=np.array([0, 1]), start=np.array([0, 2])),
        *methods(lists(), ("take", {"rows": np.arange(2)}), ("record", {}), ("check_connected", {"l2": 0.5}), ("to_lists", {}),
                 ("to_frame", {}), ("pair_columns", {}), ("columns", {})),
        of("with_items", lists().with_items, items=["a", "b", "c", "d", "e", "f"]),
        Call("Rankings properties", functools.partial(look, lists()), {}),
        of("read_rankings", read_rankings, source=Fresh(lambda: io.BytesIO(b"who,item,rank\nx,a,1\nx,b,2\ny,b,1\n")), unranked="below",
           item="item", rank="rank", judge="who", format="csv", delimiter=",", jobs=1),
        of("from_frame", Comparisons.from_frame, frame={"winner": ["a", "b"], "loser": ["b", "c"]}),
        of("from_frame", Comparisons.from_frame, frame=pl.read_csv(sides), **names, covariates=["x"], keep="rows"),
        of("from_arrays", Comparisons.from_arrays, winner=codes[0], loser=codes[1], weight=np.ones(4), tie=np.zeros(4, bool),
           judge=[0, 0, 1, 1], group=[0, 0, 0, 1], covariates={"x": np.arange(4.0)}, items=list("abc")),
        of("from_arrays", Comparisons.from_arrays, winner=codes[0], loser=codes[1], margin=np.ones(4)),
        *methods(
            votes(), ("check_connected", {"l2": 0.0}), ("components", {"strong": True}), ("to_frame", {}), ("record", {}),
            ("vote_rows", {}), ("share", {"counts": np.ones(60, dtype=int)}), ("take", {"rows": np.arange(9)}), ("weight_squares", {}),
            ("merged", {}), ("balanced", {}), ("covariate_sds", {}), ("by_time", {}), ("aged", {"half_life": 3.0}),
        ),
        Call("Comparisons properties", functools.partial(look, votes()), {}),
        of("read_comparisons", read_comparisons, source=file, winner="winner", loser="loser", keep="rows", fold_sides=True, **more),
        of("read_comparisons", read_comparisons, source=Fresh(lambda: io.BytesIO(sides)), **names, covariates=["x"]),
        of("read_comparisons_by", read_comparisons_by, source=file, by="judge", keep="rows", **more),
        of("keep_comparisons", keep_comparisons, source=kept_votes(sides), engine=Serial(), covariates=["x"],
           format="csv", delimiter=",", **{name: name for name in ("left", "right", "outcome", "weight", "count")}),
        of("BradleyTerry.fit", BradleyTerry(l2=0.5).fit,
           comparisons=Fresh(lambda: keep_comparisons(kept_votes(table), engine=Serial()))),
        of("read_fixtures", read_fixtures, source=Fresh(lambda: io.BytesIO(sides)), left="left", right="right", time=None, covariates=["x"]),
        of("read_table", read_table, source=file, columns=["winner"], format="csv", delimiter=","),
        of("write_table", write_table, frame=pl.read_csv(table), target=Fresh(io.BytesIO), format="csv"),
    ]  # fmt: skip


def measures():
    import types

    from podium import metrics

    usual = {
        "relevance": np.array([[1, 0, 1], [0, 1, 0]]), "scores": np.array([[0.5, 0.1, 0.2], [1.0, 0.0, 2.0]]), "ranks": None, "p": 2,
        "relevant_from": None, "gain": "exp", "a": [1.0, 2.0, 3.0], "b": [1.0, 3.0, 2.0], "weight": [1.0, 1.0, 2.0], "ties": "label",
        "name": "prec@2", "loss": "sum@2", "K": 3, "B": 2, "at": (1, 2), "metrics": ["ap"], "kind": "loss", "group": None,
        "clip": False, "threads": 1,
    }  # fmt: skip
    made = []
    for name in metrics.__all__:
        function = getattr(metrics, name)
        if not isinstance(function, types.FunctionType):
            continue
        given = {each: usual[each] for each in inspect.signature(function).parameters if each in usual}
        for each in ("ties", "empty", "variant"):
            if each in inspect.signature(function).parameters:
                given[each] = inspect.signature(function).parameters[each].default
        made.append(Call(name, function, given))
    report = metrics.ranking_report(usual["relevance"], usual["scores"], at=(1,))
    lists = {"relevance": [[1, 0, 1], [0, 1]], "scores": [[0.5, 0.1, 0.2], [1.0, 0.0]]}
    flat = {"relevance": [1, 0, 1, 0, 1], "scores": [0.5, 0.1, 0.2, 1.0, 0.0], "group": [3, 2]}
    made += [
        Call("ranking_report", metrics.ranking_report, lists),
        Call("ranking_report", metrics.ranking_report, flat),
    ]
    two = {"first": report, "second": metrics.ranking_report(usual["relevance"], -usual["scores"], at=(1,))}
    found = metrics.compare_runs(two)
    given = {"test": "permutation", "correction": "holm", "level": 0.9, "permutations": 99, "seed": 1}
    made = [each for each in made if each.name != "compare_runs"]
    made.append(Call("compare_runs", metrics.compare_runs, {"reports": two, **given}))
    named = ("better_than", {"metric": "ap", "run": "first"})
    made += [
        *methods(found, ("to_frame", {}), named),
        Call("RunComparison properties", functools.partial(look, found), {}),
    ]
    return [*made, *methods(report, ("to_frame", {}))]


def grades():
    from podium import ordinal

    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(24, 2)), np.arange(24) % 3
    made = []
    for name in ordinal.__all__:
        cls = getattr(ordinal, name)
        if not hasattr(cls, "get_params"):
            continue

        def make(cls=cls, **options):
            return cls(**options).fit(X, y).predict(X)

        defaults = {each.name: each.default for each in inspect.signature(cls).parameters.values()}
        made.append(Call(name, make, defaults))
        fitted = cls().fit(X, y)
        if "kernel" in defaults:
            made.append(Call(f"{name} with a kernel", make, defaults | {"kernel": "rbf", "C": 0.1, "max_iter": 1}))
            bent = cls(kernel="rbf", max_iter=1).fit(X, y)
            made += methods(bent, ("predict", {"X": X}), ("learn_one", {"x": X[0], "y": 1}))
        if "probability" in defaults:
            sure = cls(probability=True).fit(X, y)
            made += methods(sure, ("predict_proba", {"X": X}))
        made.append(Call(f"{name} properties", functools.partial(look, fitted), {}))
        weights = {"sample_weight": np.ones(24)}
        usual = {
            "fit": {"X": X, "y": y} | weights, "partial_fit": {"X": X, "y": y, "classes": [0, 1, 2]} | weights, "predict": {"X": X},
            "score": {"X": X, "y": y} | weights, "decision_function": {"X": X}, "project": {"X": X}, "predict_median": {"X": X},
            "predict_proba": {"X": X}, "predict_one": {"x": X[0]},
            "learn_one": {"x": X[0], "y": 1, "weight": 1.0}, "add_grades": {"below": [-2, -1], "above": [3]}, "progressive": {"X": X, "y": y, "classes": [0, 1, 2]},
        }  # fmt: skip
        for method, given in usual.items():
            if hasattr(fitted, method):
                known = inspect.signature(getattr(fitted, method)).parameters
                given = {each: one for each, one in given.items() if each in known}
                made += methods(fitted, (method, given))
                if {"y_lower", "y_upper"} <= set(known):
                    made += methods(fitted, (method, {"X": X, "y_lower": y, "y_upper": np.minimum(y + 1, 2)}))
    sets = ordinal.ConformalGrades(fitted).calibrate(X, y)
    made += methods(
        sets, ("calibrate", {"X": X, "y": y}), ("calibrate", {"X": X, "y_lower": y, "y_upper": y}),
        ("predict_interval", {"X": X, "level": 0.8}),
    )  # fmt: skip
    labels = {"y": y, "predicted": y, "classes": [0, 1, 2]}
    return [
        *made, of("accuracy", ordinal.accuracy, **labels, sample_weight=np.ones(24)), of("errors", ordinal.errors, **labels),
        of("mae", ordinal.mae, **labels, sample_weight=np.ones(24)), of("neg_mae", ordinal.neg_mae, estimator=fitted, X=X, y=y),
        of("mistake_bound", ordinal.mistake_bound, variant="pa1", X=X, y=y, coef=[1.0, 0.0], thresholds=[0.0, 1.0], C=1.0, classes=[0, 1, 2]),
        of("read_labels", ordinal.read_labels, y=y, classes=[0, 1, 2], rows=24, first=1),
        of("read_labels", ordinal.read_labels, y=None, y_lower=y, y_upper=y),
        of("surrogate", ordinal.surrogate, scores=[0.5, 1.5], thresholds=[0.0, 1.0], low=[0, 1], high=[1, 2]),
    ]  # fmt: skip


def graders(folder):
    from podium.ordinal import Grader, PassiveAggressiveOrdinal

    rows = "\n".join(f"r{k},{k % 5},{k % 3},{k % 3 + 1},{min(k % 3 + 2, 3)}" for k in range(150))
    table = folder / "grades.csv"
    table.write_text(f"id,f,g,grade,upper\n{rows}\n")
    fitted = Grader.fit(table, label="grade", id=["id", "upper"])
    X = np.arange(6.0).reshape(3, 2)
    seen = fitted.evaluate(table, label="grade", sample=5)
    return [
        of("Grader.fit", Grader.fit, tables=table, label="grade", id=["id", "upper"], classes=[1, 2, 3], variant="pa1", C="auto", passes=1),
        of("Grader.fit", Grader.fit, tables=table, low="grade", high="upper", id=["id"]),
        of("Grader.fit", Grader.fit, tables=table, label="f", id=["id", "upper"], weight="g", bins=[1, 2], one_hot=True, missing="mean", no_header=False, rbf=5, seed=0),
        of("Grader.empty", Grader.empty, features=["f", "g"], classifier=PassiveAggressiveOrdinal(classes=[1, 2, 3])),
        *methods(
            fitted, ("interval", {"X": X, "level": 0.5, "row": 0}), ("held", {"level": 0.5}), ("predict", {"X": X, "row": 0}), ("scores", {"X": X, "row": 0}),
            ("learn", {"X": X, "lower": [1, 2, 3], "upper": None, "row": 0}), ("learn", {"X": X, "lower": [1, 1, 1], "upper": [1, 2, 3]}),
            ("grade", {"tables": table, "id": ["id"], "level": 0.5}), ("evaluate", {"tables": table, "label": "grade", "sample": 3}),
            ("evaluate", {"tables": table, "low": "grade", "high": "upper"}),
            ("partial_fit", {"tables": table, "label": "grade", "id": ["id", "upper"], "classes": [1, 2, 3, 4], "no_header": False, "passes": 1}),
            ("partial_fit", {"tables": table, "low": "grade", "high": "upper", "id": "id"}), ("add_grades", {"below": [0], "above": [4]}),
        ),
        Call("Grader properties", functools.partial(look, fitted), {}), *methods(seen, ("to_frame", {})),
        Call("Evaluation properties", functools.partial(look, seen), {}),
    ]  # fmt: skip


def labels():
    from podium import multilabel as room

    rng = np.random.default_rng(8)
    X, Y = rng.normal(size=(24, 2)), rng.integers(0, 2, (24, 3))
    made = []
    for cls in (room.LabelRanker, room.OnlineLabelRanker):

        def make(cls=cls, **options):
            return cls(**options).fit(X, Y).rank(X)

        defaults = {each.name: each.default for each in inspect.signature(cls).parameters.values()}
        made.append(Call(cls.__name__, make, defaults | {"loss": "sum@1"}))
        fitted = cls(loss="sum@1").fit(X, Y)
        made += methods(
            fitted, ("fit", {"X": X, "y": Y, "sample_weight": np.ones(24)}), ("rank", {"X": X, "top": 2}), ("score", {"X": X, "y": Y}),
            ("partial_fit", {"X": X, "y": Y, "sample_weight": np.ones(24)}), ("decision_function", {"X": X}),
        )  # fmt: skip
        if hasattr(fitted, "predict"):
            made += methods(fitted, ("predict", {"X": X, "top": 2}), ("predict", {"X": X, "threshold": 0.5}),
                            ("score", {"X": X, "y": Y, "sample_weight": np.ones(24)}))  # fmt: skip
    agnostic = room.AgnosticLabelRanker(room.LabelRanker("sum@1"), [best_first], loss="sum@1", random_state=1)
    defaults = {each.name: each.default for each in inspect.signature(room.AgnosticLabelRanker).parameters.values()}
    defaults |= {"base": room.LabelRanker("sum@1"), "candidates": [best_first], "loss": "sum@1", "random_state": 1}
    made += [Call("AgnosticLabelRanker", lambda **given: room.AgnosticLabelRanker(**given).fit(X, Y).rank(X), defaults)]
    made += methods(agnostic.fit(X, Y), ("fit", {"X": X, "y": Y, "unlabelled": X}), ("rank", {"X": X, "top": 2}),
                    ("decision_function", {"X": X}))  # fmt: skip
    answer = Y[:, 0]
    place = room.AgnosticThresholdLearner(room.LabelRanker("sum@1"), [best_first], 0, 1, loss="sum@1", random_state=1)
    defaults = {name: getattr(place, name) for name in inspect.signature(room.AgnosticThresholdLearner).parameters}
    made += [
        Call(
            "AgnosticThresholdLearner",
            lambda **given: room.AgnosticThresholdLearner(**given).fit(X, answer).predict(X),
            defaults,
        ),
        *methods(place.fit(X, answer), ("fit", {"X": X, "y": answer, "unlabelled": X}), ("predict", {"X": X})),
        of("vc_bound", room.vc_bound, n_features=3, n_labels=4),
        of(
            "sample_sizes", room.sample_sizes, n_features=3, n_labels=4, loss="sum@2", epsilon=0.1, delta=0.05,
            max_relevance=1,
        ),
    ]  # fmt: skip
    table = np.array([[0, 1], [1, 0], [1, 1]])

    def learner(i, j):
        return room.Halving(table)

    sizes = {"horizon": 4, "beta": 0.4, "seed": 1}
    expert = room.ExpertLabelRanker(3, learner, loss="prec@1", top=1, **sizes)
    back = room.ExpertThresholdLearner(expert, 3, 0, 1, **sizes)
    made += [
        of("Halving", room.Halving, table=table),
        of("binary_relevance", room.binary_relevance, scores=[[1.0, 0.0]], cut=1),
    ]
    made += [
        of("ExpertLabelRanker", room.ExpertLabelRanker, n_labels=3, learner=learner, loss="prec@1", top=1, **sizes)
    ]
    names = list(inspect.signature(room.ExpertThresholdLearner).parameters)[:4]
    made += [
        Call(
            "ExpertThresholdLearner",
            room.ExpertThresholdLearner,
            dict(zip(names, (expert, 3, 0, 1), strict=True)) | sizes,
        )
    ]
    made += methods(room.Halving(table), ("key", {}))
    for thing in (room.Halving(table), back):
        made += methods(thing, ("predict", {"x": 0}))

        def told(x, value, thing=thing):
            taught = copy.deepcopy(thing)
            taught.predict(0)
            return taught.update(x, value)

        made.append(of(f"{type(thing).__name__}.update", told, x=0, value=1))

    def taught(x, relevance):
        one = copy.deepcopy(expert)
        one.predict(0)
        return one.update(x, relevance)

    return [
        *made,
        *methods(expert, ("predict", {"x": 0})),
        of("ExpertLabelRanker.update", taught, x=0, relevance=[1, 0, 0]),
    ]


def best_first(X):
    return np.tile(np.arange(3.0), (X.shape[0], 1))


def asking():
    from podium import active

    items = list("abcdef")
    ranker = active.ActiveRanker(items, seed=1)
    for _ in range(6):
        pairs = ranker.ask(2)
        ranker.tell(pairs, [1] * len(pairs), "ann")
    rows = [dict(row) for row in ranker.log]
    defaults = {each.name: each.default for each in inspect.signature(active.ActiveRanker).parameters.values()}
    defaults = {
        name: each for name, each in defaults.items() if name != "paper" and each is not inspect.Parameter.empty
    }
    simulated, wins = active.Simulated(6, "flips", 0.1, seed=1), np.triu(np.ones((6, 6)), 1)
    pairs = np.array([[0, 1], [2, 3]])
    best = active.kemeny(wins)

    def next_told(pairs, answers, judges, times):
        again = copy.deepcopy(ranker)
        again.tell(again.ask(2) if pairs is None else pairs, answers, judges, times=times)

    return [
        Call("ActiveRanker", lambda **given: active.ActiveRanker(**given).ask(2), {"items": items} | defaults | {"seed": 1}),
        *methods(
            ranker, ("exclude", {"judge": "ann"}), ("take_rows", {"rows": []}), ("summary", {}), ("ranks", {}),
            ("order", {"aim": "truth"}), ("undo", {"judge": None}), ("next_pair", {"judge": "ann", "out": ()}), ("ask", {"max_pairs": 2}),
        ),
        of("ActiveRanker.replay", active.ActiveRanker.replay, items=items, log=rows),
        of("ActiveRanker.tell", next_told, pairs=None, answers=[1, 0], judges="ann", times=None),
        Call("ActiveRanker properties", functools.partial(look, ranker), {}),
        of("kemeny", active.kemeny, votes=wins, items=items, restarts=1, seed=1), of("kemeny", active.kemeny, votes=votes()),
        Call("Kemeny properties", functools.partial(look, best), {}),
        of("rank_with", active.rank_with, oracle=simulated, items=items, max_pairs=2, seed=1),
        of("MatrixOracle", active.MatrixOracle, wins=wins), of("Simulated", active.Simulated, n=6, model="flips", level=0.1, seed=1, persistent=True),
        *methods(active.MatrixOracle(wins), ("answer", {"pairs": pairs})),
        *methods(active.FunctionOracle(max_first, items), ("answer", {"pairs": pairs})),
        Call("FunctionOracle", lambda **given: active.FunctionOracle(**given).answer(pairs), {"function": max_first, "items": items}),
        *methods(simulated, ("answer", {"pairs": pairs, "judge": 0}), ("cost", {"order": list(range(6))}),
                 ("excess", {"order": list(range(6))}), ("matrix", {}), ("features", {"informative": True})),
        Call("Simulated properties", functools.partial(look, simulated), {}), *planners(), *margins(),
    ]  # fmt: skip


def margins():
    from podium import active

    rows, wins, inside = np.linspace(0.5, -0.5, 6)[:, None], np.triu(np.ones((6, 6)), 1), [[0, 1, 2], [3, 4, 5]]
    options = {"radius": 5.0, "tolerance": 1e-3, "max_steps": 100}
    judge = active.Simulated(6, "flips", 0.1, seed=1)
    paper = active.PaperOptions(learner="linear")
    learnt = active.rank_with(judge, range(6), preset="paper", features=rows, seed=1, paper=paper).model_
    return [
        of("svm1", active.svm1, features=rows, wins=wins, **options),
        of("svm2", active.svm2, features=rows, blocks=inside, wins=wins, **options),
        of("svm3", active.svm3, features=rows, blocks=inside, winner=[0, 1, 3], loser=[1, 2, 5], weight=None, **options),
        *methods(active.svm1(rows, wins), ("scores", {"features": rows}), ("order", {"features": rows})),
        Call("LargeMargin properties", functools.partial(look, active.svm1(rows, wins)), {}),
        *methods(learnt, ("scores", {"features": rows}), ("order", {"features": rows})),
        Call("PaperModel properties", functools.partial(look, learnt), {}),
    ]  # fmt: skip


def max_first(a, b):
    return a > b


def longer(question):
    return float(len(question.left) > len(question.right))


def judging():
    from podium import judge

    items = {"a": "tea", "b": "coffee", "c": "hot chocolate"}
    done = judge.judge_pairs(items, longer, question="Which?", seed=1)
    more = {
        "question": "Which?",
        "name": "me",
        "budget": 3,
        "max_calls": 9,
        "concurrency": 2,
        "repeat": 0.1,
        "top": 1,
        "preset": "quick",
    }
    address = "http://127.0.0.1:1/v1"
    http = {
        "base_url": address,
        "model": "m",
        "answer": "json",
        "temperature": 0.0,
        "max_tokens": 9,
        "timeout": 1.0,
        "concurrency": 2,
    }
    return [
        of("judge_pairs", judge.judge_pairs, items=items, ask=longer, seed=1, one_order=True, gold=[("a", "b", 1)], **more),
        of("HttpJudge", judge.HttpJudge, rpm=60.0, tpm=1e6, extra_body={"top_p": 1}, headers={"X-A": "b"}, template=None, **http),
        of("CommandJudge", judge.CommandJudge, argv=["cat"], timeout=1.0, concurrency=2),
        *methods(judge.HttpJudge(address, "m"), ("header", {})), *methods(judge.CommandJudge(["cat"]), ("header", {})),
        *methods(done, ("to_frame", {})), *methods(done.tally, ("words", {})), Call("Judged properties", functools.partial(look, done), {}),
    ]  # fmt: skip


def planners():
    from podium.active import Planner

    defaults = {each.name: each.default for each in inspect.signature(Planner).parameters.values()}
    defaults = {name: each for name, each in defaults.items() if each is not inspect.Parameter.empty}
    first = next(iter(inspect.signature(Planner).parameters))
    planner = Planner(6, seed=1)
    asked = planner.plan(4)
    planner.tell(asked.left, asked.right, [1.0] * len(asked), 0, asked.kinds)
    told = {"left": [0, 1], "right": [2, 3], "value": [1.0, 0.0], "judge": 0, "kind": None}
    return [
        Call("Planner", lambda **given: Planner(**given).plan(2), {first: 6} | defaults | {"seed": 1}),
        *methods(
            planner, ("plan", {"count": 2, "out": (), "tired": (), "judge": None}), ("tell", told), ("load", told), ("summary", {}),
            ("half_widths", {}), ("bands", {}), ("order", {"aim": "truth"}),
        ),
        Call("Planner properties", functools.partial(look, planner), {}), Call("Questions properties", functools.partial(look, asked), {}),
    ]  # fmt: skip


def checks():
    import podium
    from podium import evaluate
    from podium.evaluate import assessment, differences

    data, features = votes(), FEATURES
    model, rabf = podium.BradleyTerry().fit(data), podium.RABF().fit(data, features)
    without = dataclasses.replace(data, covariates=None, covariate_names=())
    bare = podium.RABF().fit(without, features)
    found = evaluate.diagnose(data, replicates=3, splits=2)
    assessed = evaluate.assess(data, ["borda", "elo"], folds=2)
    two = evaluate.compare_rankings(model.ranking_, podium.Borda().fit(data).ranking_)
    history = evaluate.score_history(data, points=2)
    curve = evaluate.learning_curve(data, features, sizes=(0.4,), splits=1)
    games = {
        "left": list("abcacb") * 2,
        "right": list("bcabac") * 2,
        "outcome": ["left"] * 6 + ["right"] * 5 + ["left"],
    }
    sided = podium.Comparisons.from_frame(games)
    plain, home = (podium.BradleyTerry(l2=0, side_effect=side).fit(sided) for side in (False, True))
    few = {"replicates": 3, "splits": 2, "seed": 1}
    from podium.ranking import award_marks

    marks = award_marks(model.ranking_, (0, 10), boundaries={"A": 5})
    quality = evaluate.judging_quality(data, splits=2)
    return [
        of("judging_quality", evaluate.judging_quality, comparisons=data, check=data, chosen=True, seconds={"a": 2.0}, splits=2, seed=1),
        of("scale_separation", evaluate.scale_separation, ranking=model.ranking_),
        of("award_marks", award_marks, ranking=model.ranking_, scale=(0, 10), known={"a": 3, "b": 1}, boundaries={"A": 5}, level=0.9),
        of("award_marks", award_marks, ranking=model.ranking_, scale=(0.0, 10.0), level=0.9),
        *methods(quality, ("words", {})),
        *methods(marks, ("to_frame", {})),
        of("assess", evaluate.assess, comparisons=data, methods=["borda", "elo"], features=None, id=None, folds=2, seed=1, jobs=1),
        of("assess", evaluate.assess, comparisons=data, methods=["rabf"], features=features, folds=2),
        of("diagnose", evaluate.diagnose, comparisons=data, model=model, features=None, id=None, shown=["a", "b"], influence=True, **few),
        of("diagnose", evaluate.diagnose, comparisons=data, model=rabf, features=features, influence=False, **few),
        of("forecasts", evaluate.forecasts, model=podium.Elo(), comparisons=data, start=0.5, refit=False),
        of("forecasts", evaluate.forecasts, model=podium.DynamicBradleyTerry(drift=0.1, sd=1.0), comparisons=data, start=0.5, features=features, id=None),
        of("final_table", evaluate.final_table, model=model, fixtures=data, played=data, points=(3, 1, 0), top=2, draws=3, seed=0),
        of("score_history", evaluate.score_history, comparisons=data, model=model, features=None, id=None, points=2),
        of("score_history", evaluate.score_history, comparisons=data, model=rabf, features=features, points=2),
        of("learning_curve", evaluate.learning_curve, comparisons=data, features=features, sizes=(0.4,), splits=1, seed=1, id=None),
        of("risk_bound", evaluate.risk_bound, model=bare, comparisons=without, delta=0.1),
        Call("RiskBound properties", functools.partial(look, evaluate.risk_bound(bare, without, delta=0.1)), {}),
        of("plan_votes", evaluate.plan_votes, comparisons=data, features=features, epsilon=0.1, splits=1, seed=1, id=None),
        of("residual_norm", evaluate.residual_norm, model=rabf), of("residual_outliers", evaluate.residual_outliers, model=rabf, level=0.9),
        of("compare_rankings", evaluate.compare_rankings, first=model.ranking_, second=podium.Elo().fit(data), reference="mean"),
        of("compare_nested", evaluate.compare_nested, votes=sided),
        of("likelihood_ratio_test", evaluate.likelihood_ratio_test, smaller=plain, larger=home),
        of("known_methods", assessment.known_methods, features=True), of("standing", differences.standing, source=model),
        of("settings_of", differences.settings_of, model=model),
        of("read_settings", differences.read_settings, text=differences.settings_of(model)),
        *methods(assessed, ("calibration_error", {"method": "elo"}), ("to_frame", {})), *methods(found, ("to_dict", {}), ("findings", {})),
        *methods(two, ("to_frame", {"level": 0.9})), *methods(history, ("among", {"items": ["a", "b"]})),
        *(Call(f"{type(each).__name__} properties", functools.partial(look, each), {})
          for each in (found, two, curve, found.reliability, found.largest)),
    ]  # fmt: skip


def pictures(folder):
    import podium
    from podium import show
    from podium.evaluate import assess, diagnose, learning_curve, score_history
    from podium.show import plots, report

    data = votes()
    model, rabf = podium.BradleyTerry().fit(data), podium.RABF().fit(data, FEATURES)
    ranking, past = model.ranking_, score_history(data, points=2)
    curves, learned = assess(data, ["elo"], folds=2).curves, learning_curve(data, FEATURES, sizes=(0.4,), splits=1)
    found = diagnose(data, replicates=3, splits=2)
    defaults = {each.name: each.default for each in inspect.signature(report.Report).parameters.values()}
    dynamic = podium.DynamicBradleyTerry(drift=0.1, sd=1.0).fit(data)
    page = {"ranking": ranking, "comparisons": data, "model": model, "diagnosis": found, "history": past}
    page |= {name: each for name, each in defaults.items() if each is not inspect.Parameter.empty and name not in page}
    figure = Fresh(lambda: plots.intervals(ranking))
    common = {"top": 3, "min_votes": 0.0, "title": "Title"}
    return [
        of("intervals", show.intervals, ranking=ranking, level=0.9, unit="log-odds", **common),
        of("embed", show.embed, ranking=ranking, level=0.9, simultaneous=False, **common),
        of("wins", show.wins, comparisons=data, ranking=ranking, **common),
        of("win_rates", show.win_rates, comparisons=data, order=list("abc")),
        of("curves", show.curves, frame=dynamic.curves(points=3), bands=True, unit="log-odds", title="Title"),
        of("history", show.history, votes=past.votes, items=past.items, scores=past.scores, top=3, unit="log-odds", title="Title"),
        of("calibration", show.calibration, curves=curves, title="Title"),
        of("coefficients", show.coefficients, model=rabf, level=0.9, standard=True),
        of("outliers", show.outliers, model=rabf, level=0.9), of("learning_curves", show.learning_curves, curve=learned),
        of("confusion", show.confusion, counts=[[3, 1], [0, 2]], grades=["low", "high"]),
        of("progress", show.progress, curve=[(1, 0.5), (2, 0.25)]),
        of("scores_by_grade", show.scores_by_grade, scores=[0.0, 1.0, 2.0], labels=[0, 1, 1], thresholds=[0.5], grades=["low", "high"]),
        of("cost_by_questions", show.cost_by_questions, curves={"a": [(1.0, 0.5), (2.0, 0.25)]}, title="Title", log=True),
        of("save", show.save, figure=figure, path=folder / "p.svg", dpi=50), of("svg", plots.svg, figure=figure, name="p"),
        of("unit_of", plots.unit_of, ranking=ranking, model=model), of("check_path", plots.check_path, path=folder / "p.png"),
        of("check_path of a page", report.check_path, path=folder / "r.html"),
        of("vote_summary", show.vote_summary, comparisons=data),
        Call("Report", lambda **given: str(report.Report(**given)), page),
        *methods(report.Report(ranking, data), ("write", {"path": folder / "r.html"})),
    ]  # fmt: skip


def stored(folder):
    import podium
    from podium.datasets import load_graded, load_multilabel
    from podium.store import open_store

    data = folder / "data"
    data.mkdir()
    (data / "abalone.csv").write_text("sex,a,b,rings\nM,0.1,0.2,7\nF,0.2,0.3,12\nI,1,2,3\n")
    sparse = {"X_data": np.ones(3), "X_indices": [0, 1, 0], "X_indptr": [0, 2, 3], "X_shape": [2, 2], "n_train": 1,
              "Y_indices": [0, 1], "Y_indptr": [0, 1, 2], "Y_shape": [2, 2]}  # fmt: skip
    np.savez(data / "yeast.npz", **sparse)
    model = podium.Elo().fit(votes())
    podium.save(model, folder / "known.podium")

    def opened(where, new):
        with open_store(where, new=new) as store:
            return store.read(lambda reader: reader.campaigns())

    return [
        of("save", podium.save, model=model, path=folder / "m.podium"), of("load", podium.load, path=folder / "known.podium"),
        of("load_graded", load_graded, name="abalone", data=data), of("load_multilabel", load_multilabel, name="yeast", data=data),
        of("open_store", opened, where=str(folder / "c.db"), new=True),
    ]  # fmt: skip


@functools.cache
def ordinary():
    """All calls; their files are in a folder that lives as long as the process."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="podium-fuzz-calls-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [*rankers(), *rankings(), *data(), *measures(), *grades(), *labels(), *asking(), *judging(), *checks()]
        made.append(Call("Option properties", functools.partial(look, Option("l2", 1.0)), {}))
        return [*made, *graders(folder), *pictures(folder), *stored(folder)]


def too_much(name, thing):
    """Whether a number asks for more work than a test should do."""
    return name in HEAVY and isinstance(thing, int | float | np.number) and not thing <= 100


@functools.cache
def changes():
    """Every call with every argument that can be something else, and what that can be."""
    found = []
    for call in ordinary():
        for name, usual in call.arguments.items():
            if odd := [each for each in kind_of(usual) if name not in NOT_OURS and not too_much(name, each)]:
                found.append((call, name, odd))
    return found


def one_odd(rng, folder):
    """One argument of one call."""
    call, name, odd = pick(rng, changes())
    thing = pick(rng, odd)
    (folder / "inner").mkdir()
    with contextlib.chdir(folder / "inner"):
        try:
            call(**{name: thing})
        finally:
            plt.close("all")
    return "done"


def targets():
    return {"one_odd": one_odd}
