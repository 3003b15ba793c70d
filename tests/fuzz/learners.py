"""Learners of labels and grades beyond the usual two: the paper's constructions, graders of tables, losses of grades."""

import io

import numpy as np

from fuzz import inputs
from fuzz.inputs import odd, pick, value
from fuzz.options import options


def any_of(rng, usual, chance=0.3):
    """One of the usual things, or anything at all."""
    return value(rng) if odd(rng, chance) else pick(rng, usual)


def agnostic(rng, folder):
    from podium.multilabel import (
        AgnosticLabelRanker,
        AgnosticThresholdLearner,
        LabelRanker,
        OnlineLabelRanker,
        binary_relevance,
        sample_sizes,
    )

    count = 3
    good = (
        lambda X: np.tile(np.arange(count), (X.shape[0], 1)),
        lambda X: rng.normal(size=(X.shape[0], count)),
        LabelRanker("sum@1").fit(np.eye(3), np.eye(3)),
    )
    bad = (lambda X: inputs.array(rng, X.shape[0], count), lambda X: value(rng), LabelRanker(), value(rng))
    candidates = [pick(rng, bad if odd(rng, 0.3) else good) for _ in range(int(rng.integers(1, 4)))]
    base = any_of(rng, (LabelRanker("sum@1"), OnlineLabelRanker("sum@1")), 0.1)
    chosen = options(rng, AgnosticLabelRanker, skip=("base", "candidates")) | {"random_state": 1}
    model = AgnosticLabelRanker(base, any_of(rng, (candidates,), 0.1), **chosen)
    rows = int(rng.integers(0, 4)) if odd(rng, 0.2) else 12
    X = inputs.array(rng, rows, 3)
    y = inputs.array(rng, rows, count) if odd(rng, 0.3) else rng.integers(0, 2, (rows, count))
    model.fit(X, y, any_of(rng, (None, X, inputs.array(rng, 4, 3)), 0.1))
    model.decision_function(X), model.rank(any_of(rng, (X,), 0.2))
    place = AgnosticThresholdLearner(base, candidates, any_of(rng, (0, 1), 0.1), any_of(rng, (1, 2), 0.1), **chosen)
    place.fit(X, any_of(rng, (rng.integers(0, 2, rows),), 0.1)).predict(X)
    sample_sizes(any_of(rng, (1, 5)), any_of(rng, (2, 9)), loss=any_of(rng, ("sum@1", "prec@2", "rr")))
    binary_relevance(any_of(rng, (model.decision_function(X), inputs.array(rng, 3, 4))), any_of(rng, (0, 1, 2, 99)))


def experts(rng, folder):
    from podium.multilabel import ExpertLabelRanker, ExpertThresholdLearner, Halving

    count = int(rng.integers(1, 5))
    table = rng.integers(0, 2, (3, 2))

    def learner(i, j):
        return Halving(table)

    Halving(any_of(rng, (table, inputs.array(rng, 3, 2)), 0.2))
    sizes = {"horizon": any_of(rng, (4, 6)), "beta": any_of(rng, (0.1, 0.4)), "seed": any_of(rng, (0, 1, None), 0.1)}
    words = {"loss": any_of(rng, ("sum@1", "prec@1", "sum@2", "ap", "auc", "rr", "dcg@2")), "top": any_of(rng, (1, 2))}
    ranker = ExpertLabelRanker(any_of(rng, (count,), 0.1), any_of(rng, (learner,), 0.1), **sizes, **words)
    for _ in range(3):
        x = any_of(rng, (0, 1), 0.1)
        ranker.predict(x)
        ranker.update(x, inputs.array(rng, count) if odd(rng, 0.2) else rng.integers(0, 2, count))
    back = ExpertThresholdLearner(
        any_of(rng, (ranker,), 0.1), count, any_of(rng, (0, 1), 0.2), any_of(rng, (1,), 0.2), **sizes
    )
    back.predict(0)
    back.update(0, any_of(rng, (0, 1), 0.2))


def grades(rng, folder):
    """What is said about grades: errors, bounds, readers."""
    from podium import ordinal as room

    rows = int(rng.integers(0, 9))
    y = rng.integers(1, 4, rows)
    given = any_of(rng, (y, y.tolist(), np.stack([y, y + 1], 1), list("abc"), inputs.array(rng, rows)))
    predicted = any_of(rng, (rng.integers(1, 4, rows), inputs.array(rng, rows)))
    classes = any_of(rng, (None, [1, 2, 3, 4], "abc"), 0.2)
    weight = {"sample_weight": any_of(rng, (None, np.ones(rows), inputs.array(rng, rows)))}
    X = inputs.array(rng, rows, 2)
    calls = (
        lambda: room.accuracy(given, predicted, classes=classes, **weight),
        lambda: room.mae(given, predicted, classes=classes, **weight),
        lambda: room.errors(given, predicted, classes=classes),
        lambda: room.read_labels(given, classes=classes),
        lambda: room.read_labels(None, any_of(rng, (y,)), any_of(rng, (y + 1, y))),
        lambda: room.surrogate(any_of(rng, (rng.normal(size=rows),)), any_of(rng, ([0.0, 1.0],)), y, y),
        lambda: room.neg_mae(any_of(rng, (room.MedianBaseline().fit(np.eye(3), [1, 2, 3]),)), X, given),
        lambda: room.mistake_bound(
            any_of(rng, ("pa", "pa1", "pa2")), X, given, any_of(rng, ([1.0, 0.0],)), any_of(rng, ([0.0, 1.0],)),
            C=any_of(rng, (1.0,)), classes=classes,
        ),
    )  # fmt: skip
    pick(rng, calls)()


def grader(rng, folder):
    from podium.ordinal.grading.grader import Grader

    columns = inputs.feature_columns(rng, int(rng.integers(0 if odd(rng, 0.3) else 8, 25)))
    path = inputs.table_file(rng, folder, columns)
    chosen = options(rng, Grader.fit, share=0.2, skip=("tables", "progress", "label", "low", "high", "passes"))
    ids = {"id": [name for name in columns if "id" in name]} if "id" in columns else {}
    model = Grader.fit(path, **({"label": any_of(rng, ("grade",), 0.1)} | ids | chosen))
    again = path if not odd(rng, 0.5) else inputs.table_file(rng, folder, inputs.feature_columns(rng, 9), "more")
    found = model.evaluate(again, label="grade", sample=any_of(rng, (0, 3), 0.1))
    _ = found.rows, found.error, found.accuracy, found.to_frame(), model.grades, model.error
    list(model.grade(again, id=any_of(rng, ((), "id"), 0.1), level=any_of(rng, (None, 0.8), 0.2)))
    more = options(rng, Grader.partial_fit, share=0.2, skip=("tables", "progress", "label", "low", "high", "passes"))
    model.partial_fit(again, **({"label": any_of(rng, ("grade",), 0.1)} | ids | more))
    X = inputs.array(rng, 3, len(model.features))
    model.predict(X), model.scores(X), model.interval(X, level=any_of(rng, (0.5, 0.9)))
    model.learn(X, any_of(rng, (rng.choice(model.grades, 3),), 0.3))
    Grader.fit(io.StringIO("f,grade\n1,1\n2,2\n"), label="grade", classes=[1, 2])


def targets():
    return {"agnostic": agnostic, "experts": experts, "grades": grades, "grader": grader}
