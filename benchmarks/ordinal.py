"""Graders: passes over the rows beside their floor, one example at a time beside river, batch fits beside others."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

from benchmarks.harness import Data, Scenario, Way, public_data
from benchmarks.printed import head, row

__all__ = ["SCENARIOS"]

HERE = Path(__file__).resolve().parent
FLAGS = ["-O3", "-g0", "-fno-math-errno", "-fno-trapping-math"]  # those of setup.py


# ---- data -----------------------------------------------------------------------------------------------------------


def graded(n: int, d: int, K: int):
    """Rows whose grade is a noisy linear score cut at its quantiles."""

    def make(rng: np.random.Generator) -> Data:
        X = rng.normal(size=(n, d))
        direction = rng.normal(size=d)
        z = X @ direction / np.linalg.norm(direction) + rng.normal(scale=0.5, size=n)
        return {"X": X, "y": np.searchsorted(np.quantile(z, np.arange(1, K) / K), z), "K": K}

    return make


def split(made):
    """The same, standardised, a fifth of the rows held out."""

    def make(rng: np.random.Generator) -> Data:
        data = made(rng)
        X, y = data["X"], data["y"]
        X = X[:, X.std(axis=0) > 0]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        test = np.random.default_rng(0).random(len(y)) < 0.2
        train = np.ascontiguousarray(X[~test]), y[~test]
        return {"train": train, "rows": X[test], "truth": y[test]}

    return make


def loaded(name: str):
    """A public data set, from the folder given with --data."""

    def make(rng: np.random.Generator) -> Data:
        from podium.datasets import load_graded

        with public_data() as folder:
            X, y = load_graded(name, folder)
        return {"X": X, "y": y - 1}

    return make


def error(data: Data, grades: np.ndarray) -> float:
    """Mean absolute error on the held-out rows."""
    return float(np.abs(grades - data["truth"]).mean())


# ---- passes ---------------------------------------------------------------------------------------------------------


def kernel_pass(variant: str, average: bool, C: float = 0.01):
    """The compiled pass by itself, from zero."""

    def prepare(data: Data):
        from podium.kernels.ordinal import passes as kernel
        from podium.ordinal.online import row_arrays

        d, n, rows = data["X"].shape[1], data["K"] - 1, row_arrays(data["X"])
        codes, none = data["y"].astype(np.int32), np.empty(0, np.int64)
        code = {"pa": 0, "pa1": 1, "pa2": 2}[variant]
        strength = np.array([C if code else np.inf])

        def run():
            state = [np.zeros(d), np.zeros(n), np.zeros(d * average), np.zeros(n * average)]
            kernel.learn_rows(*rows, codes, codes, strength, none, *state, np.empty(0, np.int32), np.zeros(2), code, 0)

        return run

    return prepare


def floor(form: str):
    """One dot product and one addition a row, compiled as setup.py compiles ours."""

    def prepare(data: Data):
        work, X = getattr(_compiled(), form), data["X"]
        return lambda: work(X, np.zeros(X.shape[1]), 0.01)

    return prepare


def _compiled():
    from Cython.Build import cythonize
    from setuptools import Extension
    from setuptools.dist import Distribution

    folder = tempfile.mkdtemp()
    extension = Extension("ordinal_floor", [str(HERE / "ordinal_floor.py")], extra_compile_args=FLAGS)
    directives = {"boundscheck": False, "wraparound": False, "cdivision": True, "initializedcheck": False}
    modules = cythonize([extension], build_dir=folder, language_level=3, compiler_directives=directives, quiet=True)
    command = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
    command.build_lib = command.build_temp = folder
    command.ensure_finalized()
    command.run()
    spec = importlib.util.spec_from_file_location("ordinal_floor", next(Path(folder).glob("ordinal_floor*.so")))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ours_partial_fit(data: Data):
    from podium.ordinal import PassiveAggressiveOrdinal

    X, y, grades = data["X"], data["y"], range(data["K"])

    def run():
        PassiveAggressiveOrdinal(classes=grades).partial_fit(X, y)

    return run


def linear_model(name: str):
    """`partial_fit` of one of scikit-learn's linear models."""

    def prepare(data: Data):
        from sklearn import linear_model as models

        X, y = data["X"], data["y"]
        more = {"classes": np.arange(data["K"])} if "Classifier" in name else {}

        def run():
            getattr(models, name)().partial_fit(X, y, **more)

        return run

    return prepare


def ours_learn_one(data: Data):
    from podium.ordinal import PassiveAggressiveOrdinal

    rows, labels, grades = list(data["X"]), data["y"].tolist(), range(data["K"])

    def run():
        model = PassiveAggressiveOrdinal(classes=grades)
        for x, label in zip(rows, labels, strict=True):
            model.learn_one(x, label)

    return run


def river(data: Data):
    from benchmarks.peers.river import learn

    rows = [{f"f{j}": float(v) for j, v in enumerate(x)} for x in data["X"]]
    numbers = [float(v) for v in data["y"].tolist()]

    def run():
        learn(rows, numbers)

    return run


# ---- batch fits -----------------------------------------------------------------------------------------------------


def ours_logit(data: Data):
    from podium.ordinal import CumulativeLogit

    return lambda: CumulativeLogit(l2=1.0).fit(*data["train"]).predict_median(data["rows"])


def ours_online(data: Data):
    from podium.ordinal import PassiveAggressiveOrdinal

    return lambda: PassiveAggressiveOrdinal(random_state=0).fit(*data["train"]).predict(data["rows"])


def peer(module: str, model: str):
    """A rival that fits and returns a function from rows to grades."""

    def prepare(data: Data):
        fit = getattr(importlib.import_module(f"benchmarks.peers.{module}"), model)
        return lambda: fit(*data["train"])(data["rows"])

    return prepare


def batch(statsmodels: bool = True) -> tuple[Way, ...]:
    """The ways of fitting all rows at once; statsmodels takes minutes on wide data."""
    slow = (Way("statsmodels OrderedModel", peer("statsmodels", "ordered_logit"), reach=10, repeats=1),)
    return (
        Way("podium, CumulativeLogit", ours_logit),
        Way("podium, PassiveAggressiveOrdinal", ours_online),
        Way("mord LogisticAT", peer("mord", "logistic_at"), reach=10, repeats=1),
        Way("mord OrdinalRidge", peer("mord", "ordinal_ridge")),
        Way("skordinal LogisticAT", peer("skordinal", "logistic_at"), reach=1, repeats=1),
        *(slow if statsmodels else ()),
    )


def process(code: str):
    """A new process that runs `code`."""

    def prepare(data: Data):
        def run():
            subprocess.run([sys.executable, "-c", code], check=True)

        return run

    return prepare


FIRST_FIT = (
    "import numpy as np; from podium.ordinal import PassiveAggressiveOrdinal as P; r = np.random.default_rng(0); "
    "X = r.normal(size=(1000, 8)); P().fit(X, np.digitize(X[:, 0], [-1, 0, 1]))"
)


# ---- scenarios ------------------------------------------------------------------------------------------------------


def one_pass(name: str, d: int, K: int, n: int, near: float) -> Scenario:
    """A pass beside the least it could cost."""
    return Scenario(
        name,
        f"A compiled pass over {n:,} rows, {d} features, {K} grades",
        graded(n, d, K),
        (
            Way("podium, PA-I averaged", kernel_pass("pa1", True), repeats=25),
            Way("podium, PA-I", kernel_pass("pa1", False), repeats=25),
            Way("podium, PA-II averaged", kernel_pass("pa2", True), repeats=25),
            Way("podium, PA", kernel_pass("pa", False), repeats=25),
            Way("floor: a dot product and an addition a row", floor("plain"), reach=1 / near, repeats=25),
            Way("floor with the product in four sums", floor("unrolled"), repeats=25),
        ),
    )


def partial_fit(name: str, d: int, n: int, reach: float) -> Scenario:
    """`partial_fit` beside scikit-learn's linear models."""
    return Scenario(
        name,
        f"`partial_fit` on {n:,} rows, {d} features, 5 grades",
        graded(n, d, 5),
        (
            Way("podium", ours_partial_fit, repeats=9),
            Way("scikit-learn PassiveAggressiveRegressor", linear_model("PassiveAggressiveRegressor"), reach=reach),
            Way("scikit-learn PassiveAggressiveClassifier", linear_model("PassiveAggressiveClassifier"), reach=10),
            Way("scikit-learn SGDRegressor", linear_model("SGDRegressor"), reach=1),
            Way("scikit-learn SGDClassifier", linear_model("SGDClassifier"), reach=1),
        ),
    )


def on_data(name: str, title: str) -> Scenario:
    """Batch fits on a public data set."""
    wide = name == "mslr"
    return Scenario(
        f"graded-{name}",
        f"Batch fits, {title}",
        split(loaded(name)),
        batch(not wide),
        full=True,
        objective=error,
        quality=lambda data, grades: f"MAE {error(data, grades):.3f}",
    )


SCENARIOS = (
    one_pass("pass-wide", 136, 5, 4000, 1.5),
    one_pass("pass", 8, 5, 40_000, 6),
    one_pass("pass-many-grades", 8, 100, 40_000, 15),
    partial_fit("partial-fit", 8, 40_000, 1.5),
    partial_fit("partial-fit-wide", 136, 4000, 5),
    Scenario(
        "learn-one",
        "`learn_one`, 20,000 examples of 8 features",
        graded(20_000, 8, 5),
        (Way("podium", ours_learn_one), Way("river PARegressor", river, reach=3, repeats=3)),
    ),
    Scenario(
        "graded",
        "Batch fits, generated: 4,000 rows, 10 features, 5 grades",
        split(graded(5000, 10, 5)),
        batch(),
        objective=error,
        quality=lambda data, grades: f"MAE {error(data, grades):.3f}",
    ),
    Scenario(
        "cold-fit",
        "A new process: import, and a first fit of 1,000 rows",
        lambda rng: {},
        (
            Way("podium", process(FIRST_FIT), repeats=4),
            Way("import sklearn.linear_model alone", process("import sklearn.linear_model"), reach=1 / 1.5, repeats=4),
        ),
    ),
    on_data("abalone", "Abalone"),
    on_data("california", "California housing"),
    on_data("parkinsons", "Parkinsons"),
    on_data("mslr", "MSLR, 136 features"),
)


# ---- the default C --------------------------------------------------------------------------------------------------

FIXED = tuple(10 ** (k / 2) for k in range(-8, 5))
UNITS = (1e-3, 1.0, 1e3)
SPLITS = 5
MAX_REGRET = 0.03


def lightgbm_rank(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Relevance 0 to 4 of LightGBM's ranking example, as grades 1 to 5."""
    from scipy.sparse import csr_array

    held = np.load(folder / "lgb_rank.npz")
    parts = [
        csr_array(
            tuple(held[f"X_{part}_{name}"] for name in ("data", "indices", "indptr")), shape=held[f"X_{part}_shape"]
        )
        for part in ("train", "test")
    ]
    return np.vstack([part.toarray() for part in parts]), 1 + np.concatenate([held["y_train"], held["y_test"]]).astype(
        int
    )


def held_out_error(X: np.ndarray, y: np.ndarray, **settings: object) -> float:
    """Mean absolute error on the held-out fifth, over several splits."""
    from podium.errors import DataWarning
    from podium.ordinal import PassiveAggressiveOrdinal, mae

    errors = []
    for seed in range(SPLITS):
        test = np.random.default_rng(seed).random(len(y)) < 0.2
        model = PassiveAggressiveOrdinal(random_state=seed, classes=np.unique(y), **settings)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # one grade for all is what a wrong C gives
            model.fit(X[~test], y[~test])
        errors.append(mae(y[test], model.predict(X[test]), classes=model.classes_))
    return float(np.mean(errors))


TITLES = {"abalone": "Abalone", "california": "California", "parkinsons": "Parkinsons",
          "lgb_rank": "LightGBM's ranking example"}  # fmt: skip


def defaults(folder: Path) -> bool:
    """Print the default's error beside the best of every fixed C and unit, on standardised features; is it near?"""
    from podium.datasets import load_graded

    sets = {name: load_graded(name, folder) for name in ("abalone", "california", "parkinsons")}
    sets["lgb_rank"] = lightgbm_rank(folder)
    near = True
    print(
        f"mean absolute error on a held-out fifth, {SPLITS} splits; regret of the worst default over the best fixed C"
    )
    units = tuple(f"× {unit:g}" for unit in UNITS)
    head(
        "",
        f"Best fixed C, features {units[0]}",
        *units[1:],
        f"Default, features {units[0]}",
        *units[1:],
        "PA-II",
        "Regret",
    )
    for name, (raw, y) in sets.items():
        raw = raw[:, raw.std(axis=0) > 0]
        X = (raw - raw.mean(axis=0)) / raw.std(axis=0)
        fixed = {(C, unit): held_out_error(unit * X, y, C=C) for C in FIXED for unit in UNITS}
        best = min(fixed.values())
        there = [min(error for (_, other), error in fixed.items() if other == unit) for unit in UNITS]
        ours, other = ([held_out_error(unit * X, y, variant=way) for unit in UNITS] for way in ("pa1", "pa2"))
        near &= max(*ours, *other) <= (1 + MAX_REGRET) * best
        cells = (f"{each:.3f}" for each in (*there, *ours, max(other)))
        row(TITLES[name], *cells, f"{max(*ours, *other) / best - 1:.1%}")
    print(f"every regret at most {MAX_REGRET:.0%}: {'yes' if near else 'no'}")
    return near


def main() -> None:
    """`python -m benchmarks.ordinal defaults --data DIR`: how near the default comes to the best fixed C."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("command", choices=["defaults"])
    parser.add_argument("--data", type=Path, required=True, help="folder with copies of the public data sets")
    sys.exit(not defaults(parser.parse_args().data))


if __name__ == "__main__":
    main()
