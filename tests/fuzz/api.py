"""Votes, rankers, metrics, grades and labels with strange data and options: refused perhaps, never stumbled over."""

import contextlib
import inspect
import types
from dataclasses import replace

import numpy as np
import polars as pl

from fuzz import inputs
from fuzz.inputs import LEVEL, odd, pick, value
from fuzz.options import options
from podium.errors import InputError, NotFittedError


def votes(rng):
    """Comparisons that were accepted, by any of the ways to make them."""
    from podium import Comparisons

    rows = int(rng.integers(0 if odd(rng, 0.3) else 8, 30))
    names = inputs.labels(rng, int(rng.integers(2, 7)))
    match int(rng.integers(5)) if LEVEL[0] else 4 * int(rng.integers(2)):
        case 0:
            if odd(rng, 0.3):
                return Comparisons.from_pairs([(pick(rng, names), pick(rng, names)) for _ in range(rows)])
            steps = rng.integers(0, len(names), rows), rng.integers(1, len(names), rows)
            return Comparisons.from_pairs(
                [(names[k], names[(k + d) % len(names)]) for k, d in zip(*steps, strict=True)]
            )
        case 1:
            table = inputs.vote_columns(rng, rows)
            frame = table
            with contextlib.suppress(Exception):  # what polars itself does not take
                frame = table if rng.random() < 0.5 else pl.DataFrame(table, strict=False, nan_to_null=True)
            return Comparisons.from_frame(frame)
        case 2:
            lists = [list(rng.permutation(len(names))[: int(rng.integers(0, len(names) + 1))]) for _ in range(rows)]
            return Comparisons.from_rankings(
                [[names[int(k)] for k in each] for each in lists], unranked=pick(rng, ("below", "unknown", None))
            )
        case 3:
            more = {
                name: pick(rng, (inputs.numbers(rng, rows), inputs.array(rng, rows)))
                for name in ("weight", "tie", "margin", "covariates")
                if rng.random() < 0.2
            }
            more |= {name: inputs.labels(rng, rows) for name in ("judge", "group") if rng.random() < 0.2}
            codes = [
                inputs.pick(
                    rng,
                    (
                        rng.integers(0, len(names), rows),
                        rng.integers(-1, 9, rows).astype(np.int8),
                        inputs.array(rng, rows),
                    ),
                )
                for _ in range(2)
            ]
            return Comparisons.from_arrays(*codes, items=names if rng.random() < 0.7 else None, **more)
        case _:
            left = rng.integers(0, 5, rows + 20)
            right = (left + rng.integers(1, 5, rows + 20)) % 5
            more = {"weight": rng.integers(1, 4, rows + 20)} if rng.random() < 0.3 else {}
            more |= {"judge": rng.integers(0, 3, rows + 20)} if rng.random() < 0.5 else {}
            more |= {"tie": rng.random(rows + 20) < 0.2} if rng.random() < 0.3 else {}
            return Comparisons.from_arrays(left, right, items=[f"i{k}" for k in range(5)], **more)


def comparisons(rng, folder):
    data = votes(rng)
    repr(data), len(data), data.pairs, data.record(), data.components(), data.components(strong=True), data.to_frame()
    _ = data + votes(rng)
    _ = data.merged(), data.shape


def reading(rng, folder):
    from podium import read_comparisons
    from podium.data.files import read_comparisons_by, read_table
    from podium.data.writing import write_table

    columns = inputs.vote_columns(rng, int(rng.integers(0, 25)))
    path = inputs.table_file(rng, folder, columns)
    if rng.random() < 0.5:
        read_comparisons(
            path, **{name: pick(rng, [*columns, value(rng)]) for name in ("weight", "judge") if rng.random() < 0.2}
        )
        return
    if rng.random() < 0.3:
        read_comparisons_by(path, pick(rng, [*columns, value(rng)]))
        return
    table = read_table(path)
    write_table(table, folder / f"again.{pick(rng, ('csv', 'json', 'jsonl', 'parquet', 'x'))}")


def in_time(rng, data):
    """The same votes at times."""
    rows = len(data.left)
    when = pick(rng, (np.arange(rows), rng.integers(0, 5, rows), rng.normal(size=rows) * 1e3, np.zeros(rows)))
    return replace(data, time=when.astype(float))


def features(rng, items):
    match int(rng.integers(5)):
        case 4:
            from scipy.sparse import csr_array, random_array

            if rng.random() < 0.5:
                made = inputs.array(rng, len(items), 2)
                return (
                    csr_array(made)
                    if made.dtype.kind in "biufc"
                    and made.dtype != np.float16
                    and made.dtype.isnative
                    and made.ndim in (1, 2)
                    else made
                )
            shape = len(items) + int(rng.random() < 0.1), int(rng.integers(0, 9))
            return random_array(shape, density=0.4, format=pick(rng, ("csr", "coo", "csc")), rng=rng)
        case 0:
            return {item: inputs.numbers(rng, 2) for item in items}
        case 1:
            return pl.DataFrame({"id": [str(item) for item in items], "f": rng.normal(size=len(items))})
        case 2:
            return inputs.array(rng, len(items), 2)
        case _:
            return {item: {"size": 1.0 * k, "kind": pick(rng, ("a", "b", None))} for k, item in enumerate(items)}


def rankers(rng, folder):
    import podium
    from podium.pairwise import METHODS, ranker

    method = pick(rng, list(METHODS))
    made = ranker(method)(**options(rng, ranker(method)))
    data = votes(rng)
    if ranker(method).uses.time and rng.random() < 0.8:  # which few of the ways above give
        data = in_time(rng, data)
    more = [features(rng, data.items)] if ranker(method).uses.features and rng.random() < 0.6 else []
    fitted = made.fit(data, *more)
    look_at(rng, fitted.ranking_)
    for name in ("win_probability", "tie_probability"):
        if hasattr(fitted, name):
            getattr(fitted, name)(pick(rng, data.items), pick(rng, [*data.items, value(rng)]))
    touch(fitted)
    for name, args in (
        ("update", data.items[:2]), ("add", ({"new": [1.0, 2.0]},)), ("judge_frame", ()), ("partial_fit", (data,)),
        ("predict", more or [{"new": [1.0, 2.0]}]), ("set_params", ()),
    ):  # fmt: skip
        if hasattr(fitted, name) and rng.random() < 0.5:
            strange = tuple(value(rng) for _ in args)
            getattr(fitted, name)(*(pick(rng, (args, strange)) if odd(rng, 0.2) and args else args))
    if rng.random() < 0.2:
        podium.save(fitted, folder / "m.podium")
        look_at(rng, podium.load(folder / "m.podium").ranking_)


def touch(thing):
    """Read every public property; one that needs more than there is says so."""
    for name in dir(type(thing)):
        if not name.startswith("_") and not callable(getattr(type(thing), name)):
            try:
                with contextlib.suppress(InputError, NotFittedError):
                    getattr(thing, name)
            except AttributeError as problem:  # an attribute that this model has not says which it has instead
                if "; see " not in str(problem):
                    raise


def look_at(rng, ranking):
    repr(ranking), str(ranking), ranking.order, ranking.ranks, ranking.record
    calls = (
        lambda: ranking.score(pick(rng, [*ranking.items, value(rng)])),
        lambda: ranking.intervals(**options(rng, ranking.intervals)),
        lambda: ranking.rank_intervals(**options(rng, ranking.rank_intervals)),
        lambda: ranking.tiers(**options(rng, ranking.tiers)),
        lambda: ranking.probability_above(pick(rng, [*ranking.items, "x"]), pick(rng, [*ranking.items, value(rng)])),
        lambda: ranking.probability_best(),
        lambda: ranking.top_set(pick(rng, (1, 2, 0, -1, value(rng)))),
        lambda: (
            ranking.with_uncertainty(
                pick(rng, ("auto", "hessian", "sandwich", "cluster", "bootstrap", value(rng)))
            ).std_errors
        ),
        lambda: ranking.to_frame(**options(rng, ranking.to_frame)),
        lambda: ranking._repr_html_(),
    )
    with contextlib.suppress(InputError):  # without a likelihood most of these are refused
        pick(rng, calls)()


def ranking(rng, folder):
    from podium import Ranking
    from podium.evaluate.differences import compare_rankings

    made = []
    for _ in range(2):
        count = int(rng.integers(0 if odd(rng, 0.2) else 2, 6))
        made.append(
            Ranking(inputs.labels(rng, count), pick(rng, (inputs.numbers(rng, count), inputs.array(rng, count))))
        )
        look_at(rng, made[-1])
    compare_rankings(*made).to_frame()


def measures(rng, folder):
    from podium import metrics

    name = pick(
        rng,
        [
            name
            for name in metrics.__all__
            if isinstance(getattr(metrics, name), types.FunctionType) and name != "compare_runs"
        ],
    )
    function = getattr(metrics, name)
    rows, width = (int(rng.integers(0, 5)), int(rng.integers(0, 7))) if odd(rng, 0.5) else (3, 4)
    if name in ("check_family", "loss_family"):
        lead = [pick(rng, ("sum@1", "prec@2", "ap", value(rng)))] + ([] if name == "loss_family" else [3, 1])
        function(*lead, **options(rng, function, skip=("B",)))
        return
    first = next(iter(inspect.signature(function).parameters))
    if first in ("name", "loss"):
        lead = [
            pick(rng, ("x", "p@0", value(rng)))
            if odd(rng, 0.2)
            else pick(rng, ("sum@1", "prec@2", "ap", "ndcg", "auc", "rr"))
        ]
    else:
        lead = []
    shape = (width,) if rng.random() < 0.3 or first in ("a", "b") else (rows, width)
    relevance = pick(rng, (rng.integers(0, 2, shape), inputs.array(rng, *shape), rng.integers(0, 4, shape).tolist()))
    if rng.random() < 0.1 and first not in ("a", "b"):
        from scipy import sparse

        relevance = sparse.csr_array(np.atleast_2d(rng.integers(0, 2, shape)))
    scores = inputs.array(rng, *shape)
    chosen = options(rng, function, skip=("scores", "relevance"))
    needed = {
        name: 1
        for name, each in inspect.signature(function).parameters.items()
        if each.default is each.empty and name in ("p", "k")
    }
    function(*lead, relevance, scores, **(needed | chosen))


def ordinal(rng, folder):
    from podium import ordinal as room

    cls = pick(rng, [getattr(room, name) for name in room.__all__ if hasattr(getattr(room, name), "get_params")])
    model = cls(**options(rng, cls))
    rows, width = (int(rng.integers(0, 14)), int(rng.integers(0, 4))) if odd(rng, 0.3) else (12, 2)
    X = examples(rng, rows, width)
    grades = rng.integers(0, 3, rows)
    y = (
        grades
        if not odd(rng, 0.5)
        else pick(
            rng,
            (
                grades,
                grades.tolist(),
                np.stack([grades, grades + 1], 1),
                [pick(rng, ("a", "b")) for _ in range(rows)],
                inputs.array(rng, rows),
                inputs.numbers(rng, rows),
            ),
        )
    )
    fit = pick(
        rng, [getattr(model, name) for name in ("fit", "fit", "partial_fit", "learn_one") if hasattr(model, name)]
    )
    if fit.__name__ == "learn_one":
        for _ in range(3):
            fit(inputs.array(rng, width), pick(rng, (0, 1, (0, 2), value(rng))))
    else:
        fit(
            X,
            y,
            **(
                {"sample_weight": inputs.array(rng, rows)}
                if "sample_weight" in inspect.signature(fit).parameters and odd(rng, 0.3)
                else {}
            ),
        )
    touch(model)
    again = X if rng.random() < 0.5 else examples(rng, 3, width)
    if hasattr(model, "predict_one") and rng.random() < 0.5:
        model.predict_one(inputs.array(rng, width))
    if hasattr(model, "progressive") and rng.random() < 0.3:
        model.progressive(X, y)
    for name in ("predict", "predict_proba", "predict_median", "decision_function", "score"):
        if hasattr(model, name) and rng.random() < 0.5:
            getattr(model, name)(*((X, y) if name == "score" else (again,)))


def examples(rng, rows, width):
    X = inputs.array(rng, rows, width)
    if rng.random() < 0.2 and X.ndim == 2 and X.dtype in (np.float64, np.float32):
        from scipy import sparse

        made = pick(rng, (sparse.csr_array, sparse.coo_array, sparse.csc_matrix))(X)
        if made.format != "coo" and odd(rng, 0.2):
            part = pick(rng, (made.indptr, made.indices))
            if len(part):
                part[int(rng.integers(len(part)))] = pick(rng, (-1, 0, 1, 9, 2**31 - 1))
        return made
    return X


def multilabel(rng, folder):
    from podium.multilabel import LabelRanker, OnlineLabelRanker

    cls = pick(rng, (LabelRanker, OnlineLabelRanker))
    chosen = options(rng, cls)
    if not odd(rng, 0.5):
        chosen["loss"] = pick(rng, ("sum@1", "prec@2", "ndcg@2", "ap", "x"))
    model = cls(**chosen)
    rows, width, count = (
        (int(rng.integers(0, 12)), int(rng.integers(0, 4)), int(rng.integers(1, 5))) if odd(rng, 0.3) else (12, 2, 3)
    )
    X = examples(rng, rows, width)
    y = (
        rng.integers(0, 2, (rows, count))
        if not odd(rng, 0.5)
        else pick(
            rng,
            (
                rng.integers(0, 2, (rows, count)),
                inputs.array(rng, rows, count),
                rng.random((rows, count)),
                rng.integers(0, 3, rows),
            ),
        )
    )
    getattr(model, pick(rng, ("fit", "partial_fit")))(X, y)
    again = X if rng.random() < 0.5 else examples(rng, 3, width)
    for name in ("predict", "decision_function", "rank", "score"):
        if hasattr(model, name) and rng.random() < 0.5:
            getattr(model, name)(*((X, y) if name == "score" else (again,)))


def targets():
    return {
        "comparisons": comparisons,
        "reading": reading,
        "rankers": rankers,
        "ranking": ranking,
        "measures": measures,
        "ordinal": ordinal,
        "multilabel": multilabel,
    }
