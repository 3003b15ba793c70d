"""Ranking metrics: every one at once, beside packages that compute one or a few of them, and beside one sort."""

from __future__ import annotations

import importlib

import numpy as np

from benchmarks.harness import Data, Scenario, Way

__all__ = ["SCENARIOS"]

NAMES = ("ap", "ndcg@10", "rr")


def labels(rows: int, width: int, relevant: int):
    """Random scores, and as many relevant labels in every row."""

    def make(rng: np.random.Generator) -> Data:
        relevance = np.zeros((rows, width), dtype=np.int8)
        relevance[:, :relevant] = 1
        return {"y": rng.permuted(relevance, axis=1), "s": rng.normal(size=(rows, width))}

    return make


def queries(count: int):
    """Lists of documents of different lengths, one in twenty relevant."""

    def make(rng: np.random.Generator) -> Data:
        sizes = rng.integers(20, 79, size=count)
        y = (rng.random(sizes.sum()) < 0.05).astype(int)
        return {"y": y, "s": rng.normal(size=sizes.sum()), "sizes": sizes}

    return make


def ours(data: Data):
    from podium.metrics import ranking_report

    def run():
        ranking_report(data["y"], data["s"])

    return run


def ours_two_threads(data: Data):
    from podium.metrics import ranking_report

    def run():
        ranking_report(data["y"], data["s"], threads=2)

    return run


def scikit_learn(name: str):
    """One metric of scikit-learn."""

    def prepare(data: Data):
        import sklearn.metrics

        measure = getattr(sklearn.metrics, name)

        def run():
            measure(data["y"], data["s"])

        return run

    return prepare


def one_sort(data: Data):
    """What any ranking metric of dense rows may cost: put every row in order."""

    def run():
        np.argsort(data["s"], axis=1)

    return run


def ours_queries(data: Data):
    from podium.metrics import ranking_report

    options = {"metrics": list(NAMES), "kind": "gain", "gain": "linear", "empty": "worst", "group": data["sizes"]}

    def run():
        found = ranking_report(data["y"], data["s"], **options)
        return [found[name] for name in NAMES]

    return run


def peer(name: str):
    """A rival from arrays to means; what it costs once a process (ranx compiles) is not counted."""

    def prepare(data: Data):
        evaluate = importlib.import_module(f"benchmarks.peers.{name}_metrics").evaluate

        def run():
            found = evaluate(data["y"], data["s"], data["sizes"])
            return [found[key] for key in NAMES]

        return run

    return prepare


def runs(count: int, queries: int):
    """Gains of several runs on the same queries, some of them alike."""

    def make(rng: np.random.Generator) -> Data:
        hard = rng.normal(size=queries)
        gains = {
            f"run {k}": {name: 1 / (1 + np.exp(-(hard + 0.02 * k + 0.5 * rng.normal(size=queries)))) for name in NAMES}
            for k in range(count)
        }
        return {"gains": gains, "queries": queries}

    return make


def ours_tests(test: str):
    """Every two runs on every metric: differences, intervals, p-values, Holm."""

    def prepare(data: Data):
        from podium.metrics import Report, compare_runs

        reports = {name: Report(gains, "gain", data["queries"]) for name, gains in data["gains"].items()}

        def run():
            return compare_runs(reports, test=test, permutations=1000).p_values.ravel()

        return run

    return prepare


def ranx_tests(test: str):
    """The same p-values of ranx, without intervals and correction; compiled before."""

    def prepare(data: Data):
        from benchmarks.peers.ranx_metrics import significance

        def run():
            return significance(data["gains"], test, NAMES)

        return run

    return prepare


def dense(rows: int, width: int, relevant: int) -> Scenario:
    """All metrics beside one sort of the same rows."""
    return Scenario(
        f"dense-{width}-{relevant}",
        f"All metrics of {rows:,} rows × {width} labels, {relevant} of them relevant",
        labels(rows, width, relevant),
        (Way("podium", ours), Way("floor: one np.argsort of the rows", one_sort, reach=1 / 1.1)),
        full=relevant not in (3, width // 4),
    )


SCENARIOS = (
    *(
        Scenario(
            f"labels-{width}",
            f"All metrics of 10,000 rows × {width} labels, {relevant} of them relevant",
            labels(10_000, width, relevant),
            (
                Way("podium", ours, repeats=7),
                Way("scikit-learn nDCG alone", scikit_learn("ndcg_score"), reach=reach[0], repeats=1),
                Way(
                    "scikit-learn LRAP alone",
                    scikit_learn("label_ranking_average_precision_score"),
                    reach=reach[1],
                    repeats=1,
                ),
            ),
        )
        for width, relevant, reach in ((100, 3, (50, 200)), (1000, 5, (40, 60)))
    ),
    Scenario(
        "queries",
        "AP, nDCG@10 and reciprocal rank of 20,000 queries, 979,000 documents, arrays to means",
        queries(20_000),
        (
            Way("podium", ours_queries),
            Way("pytrec_eval", peer("pytrec_eval"), reach=20, repeats=1),
            Way("ir_measures", peer("ir_measures"), reach=20, repeats=1),
            Way("ranx, compiled", peer("ranx"), reach=20, repeats=1),
            Way("torchmetrics", peer("torchmetrics"), reach=20, repeats=1),
        ),
        objective=lambda data, means: float(means.sum()),
        quality=lambda data, means: ", ".join(f"{name} {value:.4f}" for name, value in zip(NAMES, means, strict=True)),
    ),
    *(
        Scenario(
            f"tests-{test}",
            f"Every two of 10 runs on 3 metrics and 2,000 queries: p-values of the {words}",
            runs(10, 2000),
            (Way("podium", ours_tests(test)), Way("ranx, compiled", ranx_tests(theirs), reach=reach, repeats=1)),
            objective=lambda data, p_values: float(np.mean(p_values)),
        )
        for test, theirs, words, reach in (
            ("student", "student", "paired t test", 5),
            ("permutation", "fisher", "randomisation test, 1,000 patterns of signs", 100),
        )
    ),
    *(
        dense(rows, width, relevant)
        for rows, width in ((10_000, 100), (5_000, 1000), (1_000, 5000))
        for relevant in (3, width // 20, width // 4, width // 2, width - 1)
        if (width, relevant) != (100, 5)
    ),
    Scenario(
        "two-threads",
        "All metrics of 10,000 rows × 1000 labels, 300 of them relevant: wall clock",
        labels(10_000, 1000, 300),
        (Way("podium, two threads", ours_two_threads), Way("podium, one thread", ours, reach=1.5)),
        full=True,
        wall=True,
    ),
)
