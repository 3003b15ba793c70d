"""Public data sets, from a folder of copies or from their original source.

A loader looks for its file in `data`, else in the folder that the environment variable PODIUM_DATA names, else
downloads it from the source. Nothing is kept: give a folder to read a copy again.
"""

from __future__ import annotations

import io
import os
import urllib.request
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from podium.data.validation import is_sound
from podium.errors import InputError
from podium.text import first_line

__all__ = ["load_graded", "load_multilabel"]

Array = np.ndarray[Any, np.dtype[Any]]


def find_file(name: str, data: str | os.PathLike[str] | None = None) -> Path | None:
    """The copy of a data set's file in `data` or PODIUM_DATA; None when no folder was named."""
    folder = data if data is not None else os.environ.get("PODIUM_DATA")
    if folder is None:
        return None
    path = Path(folder) / name
    if not path.exists():
        raise InputError(f"{path} does not exist; put {name} there, or name no folder to download it")
    return path


def download(url: str) -> bytes:
    """The bytes behind a fixed address of ours."""
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return bytes(answer.read())
    except OSError as problem:
        raise InputError(f"cannot download {url}: {problem}; pass data=, a folder with a copy") from problem


@contextmanager
def _as_a_copy(name: str) -> Iterator[None]:
    """Whatever goes wrong in reading a file of a known form means that it is another one, or damaged."""
    try:
        yield
    except InputError:
        raise
    except Exception as problem:
        raise InputError(
            f"the copy of {name} is not what was published, or is damaged ({first_line(problem)}); get it anew"
        ) from problem


# Grades: tables binned into grades, as in the study of passive-aggressive ordinal learning.

UCI = "https://archive.ics.uci.edu/static/public"


def load_graded(name: str, data: str | os.PathLike[str] | None = None) -> tuple[Array, Array]:
    """Features and grades 1..K of "abalone", "california", "parkinsons" or "mslr".

    - abalone: 7 measurements and the sex as three indicators; rings 1-7, 8-9, 10-12, 13-29 (UCI, CC BY 4.0).
    - california: 8 features; median house value in steps of 100,000 (StatLib, Pace and Barry 1997).
    - parkinsons: 18 voice measures, age, sex and time; total UPDRS up to 17, 27, 37, and above. motor_UPDRS and the
      subject would give the answer away and are left out (UCI, Tsanas et al. 2010, CC BY 4.0).
    - mslr: 136 features of web search, relevance 0-4 as grades 1-5; only from a folder, since its licence is for
      research: `msn1.fold1.train.5k.txt` in svmlight format.
    """
    loaders = {"abalone": _abalone, "california": _california, "parkinsons": _parkinsons, "mslr": _mslr}
    if not isinstance(name, str) or name not in loaders:
        raise InputError(f"no data set {name!r}; choose among {', '.join(loaders)}")
    with _as_a_copy(name):
        X, y = loaders[name](data)
        if not len(X):
            raise ValueError("it holds no rows")
        _check_finite(np.asarray(X, dtype=np.float64).sum(axis=1), "a feature")
        return X, y


def _check_finite(values: Array, what: str) -> None:
    """Refuse rows where something is no number: no published row has one."""
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(f"row {bad[0] + 1}: {what} is no number")


def _binned(edges: list[float], values: Any) -> Array:
    """Grades 1, 2, … by the edges that values are above."""
    numbers = np.asarray(values, dtype=np.float64)
    _check_finite(numbers, "the grade")
    return 1 + np.searchsorted(edges, numbers, side="left")


def _table(path: Path | None, archive: str, member: str) -> Any:
    import polars as pl

    if path is not None:
        return pl.read_csv(path)
    with zipfile.ZipFile(io.BytesIO(download(f"{UCI}/{archive}"))) as packed:
        return pl.read_csv(packed.read(member), has_header=member != "abalone.data")


def _abalone(data: Any) -> tuple[Array, Array]:
    table = _table(find_file("abalone.csv", data), "1/abalone.zip", "abalone.data")
    sex, *measures, rings = table.get_columns()
    indicators = np.stack([(sex == each).to_numpy() for each in "MFI"], axis=1)
    X = np.hstack([indicators, np.stack([column.to_numpy() for column in measures], axis=1)])
    return X, _binned([7, 9, 12], rings.to_numpy())


def _california(data: Any) -> tuple[Array, Array]:
    path = find_file("california_housing.csv", data)
    if path is None:
        from sklearn.datasets import fetch_california_housing

        X, value = fetch_california_housing(return_X_y=True)
        value = value * 100_000
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # an empty file is refused below
            table = np.genfromtxt(path, delimiter=",", skip_header=1)
        table = table[np.isfinite(table).all(axis=1)]
        X, value = table[:, :-1], table[:, -1]
    return X, _binned([100_000, 200_000, 300_000, 400_000], value)


def _parkinsons(data: Any) -> tuple[Array, Array]:
    path = find_file("parkinsons_updrs.csv", data)
    table = _table(path, "189/parkinsons+telemonitoring.zip", "parkinsons_updrs.data")
    X = table.drop("subject#", "motor_UPDRS", "total_UPDRS").to_numpy().astype(float)
    return X, _binned([17, 27, 37], np.floor(table["total_UPDRS"].to_numpy()))


def _mslr(data: Any) -> tuple[Array, Array]:
    path = find_file("msn1.fold1.train.5k.txt", data)
    if path is None:
        raise InputError("mslr is not downloaded, because of its licence; pass data=, a folder with a copy")
    from sklearn.datasets import load_svmlight_file

    X, relevance = load_svmlight_file(str(path))[:2]
    if not np.isin(relevance, range(5)).all():
        row = int(np.argmin(np.isin(relevance, range(5)))) + 1
        raise ValueError(f"row {row}: the relevance {relevance[row - 1]:g} is none of 0, 1, 2, 3, 4")
    return X.toarray(), 1 + relevance.astype(np.int64)


# Labels: sets of the MULAN collection.


def load_multilabel(name: str, data: str | os.PathLike[str] | None = None) -> tuple[Any, Any, int]:
    """Sparse features, sparse 0/1 relevance and the size of the usual training split, of a set of the MULAN collection.

    "emotions", "scene", "yeast", "bibtex" or "delicious", from `NAME.npz` in a folder: arrays X_data, X_indices,
    X_indptr, X_shape (CSR), Y_indices, Y_indptr, Y_shape (CSR of ones) and n_train. The collection publishes RAR
    archives of ARFF files, which are not read here: https://mulan.sourceforge.net/datasets-mlc.html. Check each set's
    terms.
    """
    from scipy import sparse

    known = ("emotions", "scene", "yeast", "bibtex", "delicious")
    if not isinstance(name, str) or name not in known:
        raise InputError(f"no data set {name!r}; choose among {', '.join(known)}")
    path = find_file(f"{name}.npz", data)
    if path is None:
        raise InputError(f"name a folder with {name}.npz: data=, or PODIUM_DATA; the archives of MULAN are not read")
    with _as_a_copy(name), path.open("rb") as file, np.load(file, allow_pickle=False) as held:
        X = sparse.csr_array((held["X_data"], held["X_indices"], held["X_indptr"]), shape=tuple(held["X_shape"]))
        ones = np.ones(len(held["Y_indices"]))
        Y = sparse.csr_array((ones, held["Y_indices"], held["Y_indptr"]), shape=tuple(held["Y_shape"]))
        for table in (X, Y):
            if not is_sound(table):
                raise ValueError("the arrays of a table do not fit together")
        return X, Y, int(held["n_train"])
