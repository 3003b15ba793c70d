"""One model file for all estimators: a zip of `.npy` arrays and a JSON header, read without running code.

The header names a class of ours from `KNOWN`, or a ranker that an installed package offers, and holds its state;
whatever else it asks for is refused. An estimator joins by adding its name here and itself to the round-trip suite.

Each class has a version of what it stores: its `state_version`, 1 where it names none. A class whose state changes
raises it, and may say how older states are read, by a class method `upgraded(state, version)`, from
`oldest_read` on. Else these are refused.
"""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import inspect
import io as bytes_io
import json
import math
import os
import warnings
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from podium._version import __version__
from podium.data.writing import replacing
from podium.errors import InputError

__all__ = ["load", "save"]

FORMAT = 1
HEADER = "podium.json"
MAX_RATIO = 1032  # deflate makes nothing smaller than this

# Class name -> module. Only these are ever built from a file.
KNOWN: dict[str, str] = {
    "Alternative": "podium.ranking.uncertainty",
    "Borda": "podium.pairwise.counting",
    "BradleyTerry": "podium.pairwise.bradley_terry",
    "Copeland": "podium.pairwise.counting",
    "CrowdBradleyTerry": "podium.pairwise.crowd",
    "CumulativeLogit": "podium.ordinal.cumulative",
    "DynamicBradleyTerry": "podium.pairwise.dynamic",
    "Elo": "podium.pairwise.elo",
    "Information": "podium.ranking.uncertainty",
    "FeatureColumns": "podium.ordinal.grading.tables",
    "FeatureScale": "podium.ordinal.scaling",
    "FeatureSpec": "podium.data.features.reading",
    "Forest": "podium.multilabel.trees",
    "Grader": "podium.ordinal.grading.grader",
    "LabelRanker": "podium.multilabel.ranker",
    "LandmarkMap": "podium.ordinal.grading.landmarks",
    "LeastSquares": "podium.pairwise.least_squares",
    "ListInformation": "podium.ranking.uncertainty",
    "MarginOrdinal": "podium.ordinal.margin",
    "MedianBaseline": "podium.ordinal.baselines",
    "OnlineLabelRanker": "podium.multilabel.online",
    "OnlineRABF": "podium.pairwise.online",
    "OrdinalPerceptron": "podium.ordinal.baselines",
    "PRank": "podium.ordinal.passive_aggressive",
    "PassiveAggressiveOrdinal": "podium.ordinal.passive_aggressive",
    "PlackettLuce": "podium.pairwise.plackett_luce",
    "RABF": "podium.pairwise.rabf",
    "RankCentrality": "podium.pairwise.spectral",
    "Ranking": "podium.ranking.ranking",
    "RunningScale": "podium.ordinal.grading.running",
    "ScoreCovariance": "podium.ranking.uncertainty",
    "SparseBasis": "podium.pairwise._fit.feature_model",
    "SupportSet": "podium.ordinal.dual",
    "Stream": "podium.multilabel.streaming",
    "WeightedInformation": "podium.ranking.uncertainty",
    "WinRate": "podium.pairwise.counting",
}


def save(model: object, path: str | os.PathLike[str]) -> None:
    """Write `model` to `path`; the file loads without running any code from it.

    Raises `InputError` when the model holds something that only pickle could store.
    """
    if _name_of(type(model)) is None:
        raise InputError(
            f"cannot save a {type(model).__name__}; model files hold {', '.join(filter(_is_public, sorted(KNOWN)))}"
        )
    arrays: list[np.ndarray] = []
    header = {"podium": __version__, "format": FORMAT, "model": _pack(model, arrays, type(model).__name__)}
    text = json.dumps(header, allow_nan=False, indent=1)
    with replacing(path) as target, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(HEADER, text)
        for number, array in enumerate(arrays):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _is_public(name: str) -> bool:
    """Whether users meet this class; the others are parts of models."""
    rooms = map(importlib.import_module, ("podium", "podium.ordinal", "podium.multilabel"))
    return any(name in room.__all__ for room in rooms)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model written by `save`. Nothing in the file is executed, and a damaged one is refused.

    What it takes in memory is bounded by the size of the file, whatever sizes the file itself claims.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(_read(archive, HEADER))
            if header["format"] > FORMAT:
                raise InputError(
                    f"{path}: written by the newer podium {header['podium']}; this is {__version__}: upgrade podium"
                )
            if not isinstance(header["model"], dict) or not {"object", "ranker"} & header["model"].keys():
                raise InputError(f"{path}: not a podium model file, or a damaged one (it holds no model)")
            model = _unpack(header["model"], _Arrays(archive).take)
            if type(model).__module__ in ("builtins", "numpy", "datetime"):
                raise InputError(f"{path}: not a podium model file, or a damaged one (it holds no model)")
            return model
    except FileNotFoundError as problem:
        raise InputError(f"{path}: no such file") from problem
    except OSError as problem:
        raise InputError(f"{path}: cannot be read: {problem.strerror or problem}") from problem
    except InputError as problem:
        if str(problem).startswith(str(path)):
            raise
        raise InputError(f"{path}: ", *problem.args) from problem
    except (
        Exception
    ) as problem:  # a damaged file goes wrong anywhere: in zlib, json, NumPy, or where a value is checked
        what = (str(problem) or type(problem).__name__).splitlines()[0]
        raise InputError(f"{path}: not a podium model file, or a damaged one ({what})") from problem


def _read(archive: zipfile.ZipFile, name: str) -> bytes:
    """One member whole, after a look at the size it claims."""
    member = archive.getinfo(name)
    if member.file_size > MAX_RATIO * member.compress_size + 64:
        raise InputError(f"{name} claims {member.file_size} bytes, more than it can hold; the file is damaged")
    return archive.read(member)


class _Arrays:
    """The arrays of a file, each given out once, as `save` numbers them."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._taken: set[int] = set()

    def take(self, number: int) -> np.ndarray:
        """Array `number`, if its header tells the truth about its size."""
        if number in self._taken:
            raise InputError(f"array {number} is used twice; the file is damaged")
        self._taken.add(number)
        data = bytes_io.BytesIO(_read(self._archive, f"{number}.npy"))
        shape, _, dtype = _array_header(data)
        size = math.prod(shape) * dtype.itemsize
        left = len(data.getbuffer()) - data.tell()
        if dtype.hasobject or min(shape, default=0) < 0 or size != left:
            raise InputError(f"array {number} of shape {shape} does not fit its {left} bytes; the file is damaged")
        data.seek(0)
        return np.lib.format.read_array(data, allow_pickle=False)


def _array_header(data: bytes_io.BytesIO) -> tuple[tuple[int, ...], bool, np.dtype]:
    read = {(1, 0): np.lib.format.read_array_header_1_0}
    version = np.lib.format.read_magic(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # numpy reads headers that no podium wrote, and says so
        return read.get(version, np.lib.format.read_array_header_2_0)(data)


def _pack(value: Any, arrays: list[np.ndarray], where: str) -> Any:
    """Turn a value into JSON; arrays go aside and leave their number."""
    if isinstance(value, np.datetime64 | np.timedelta64):  # Python's own times know no nanoseconds
        return {"scalar": _pack(np.asarray(value), arrays, where)}
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, datetime.date):  # datetime too
        if getattr(value, "nanosecond", 0):  # a time of pandas, or its NaT
            raise InputError(f"cannot save {where}: {value} is no time in whole microseconds; round it to them")
        return {"datetime" if isinstance(value, datetime.datetime) else "date": value.isoformat()}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OT":
            return {"objects": _pack(value.ravel().tolist(), arrays, where), "shape": list(value.shape)}
        if value.dtype.hasobject:
            raise InputError(f"cannot save {where}: an array of {value.dtype} cannot be stored without pickle")
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, list):
        return [_pack(each, arrays, where) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [_pack(each, arrays, where) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[_pack(k, arrays, where), _pack(v, arrays, f"{where}[{k!r}]")] for k, v in value.items()]}
    named = _name_of(type(value))
    if named is None:
        raise InputError(f"cannot save {where}: a {type(value).__name__} cannot be stored without pickle")
    state = {k: _pack(v, arrays, f"{where}.{k}") for k, v in _state(value).items()}
    return named | {"version": _version(type(value)), "state": state}


def _name_of(cls: type) -> dict[str, str] | None:
    """How a file names a class: one of ours, or a ranker by what users type; None for any other."""
    if cls.__name__ in KNOWN and cls.__module__.startswith("podium."):
        return {"object": cls.__name__}
    from podium.pairwise import METHODS, method_of
    from podium.pairwise.base import Ranker

    method = method_of(cls) if issubclass(cls, Ranker) else ""
    return {"ranker": method} if method in METHODS else None


def _class_of(value: dict[str, Any]) -> type:
    """The class a file names; only classes of ours, and rankers of installed packages."""
    if "ranker" in value:
        from podium.pairwise import METHODS, ranker

        if value["ranker"] in METHODS:
            return ranker(value["ranker"])
        raise InputError(f"it holds a ranker {value['ranker']!r} of another package; install that, and load it again")
    name = value["object"]
    if not isinstance(name, str) or name not in KNOWN:
        raise InputError(f"the file asks for an unknown class {name!r}; upgrade podium, or do not trust the file")
    cls: type = getattr(importlib.import_module(KNOWN[name]), name)
    return cls


def _version(cls: type) -> int:
    return int(getattr(cls, "state_version", 1))


def _upgraded(cls: type, state: dict[str, Any], version: Any) -> dict[str, Any]:
    """The state as this version of the class takes it."""
    now = _version(cls)
    if version == now:
        return state
    if not isinstance(version, int) or not version >= 0:
        raise InputError(f"the {cls.__name__} in it has version {version!r}; the file is damaged")
    if version > now:
        raise InputError(f"the {cls.__name__} in it was written by a newer podium; upgrade podium")
    read = getattr(cls, "upgraded", None)
    if read is None or version < getattr(cls, "oldest_read", 0):
        raise InputError(
            f"the {cls.__name__} in it was written by an older podium, whose form is no longer read; fit again"
        )
    upgraded: dict[str, Any] = read(state, version)
    return upgraded


def _state(value: object) -> dict[str, Any]:
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    state = value.__getstate__()
    return dict(state) if isinstance(state, dict) else {}


def _unpack(value: Any, array: Callable[[int], np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_unpack(each, array) for each in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return array(int(value["array"]))
    if "scalar" in value:
        return _unpack(value["scalar"], array)[()]
    if "tuple" in value:
        return tuple(_unpack(value["tuple"], array))
    if "dict" in value:
        return {_unpack(k, array): _unpack(v, array) for k, v in value["dict"]}
    if "float" in value:
        return float(value["float"])
    if "date" in value:
        return datetime.date.fromisoformat(value["date"])
    if "datetime" in value:
        return datetime.datetime.fromisoformat(value["datetime"])
    if "objects" in value:
        flat = np.empty(len(value["objects"]), dtype=object)
        flat[:] = _unpack(value["objects"], array)
        return flat.reshape(value["shape"])
    cls: Any = _class_of(value)
    name = cls.__name__
    state = _upgraded(cls, {k: _unpack(v, array) for k, v in value["state"].items()}, value.get("version", 0))
    if hasattr(cls, "__dataclass_fields__"):
        model = cls(**state)
        _check_sizes(name, model)
        return model
    needed = inspect.signature(cls).parameters if hasattr(cls, "fit") else {}
    if missing := [option for option in needed if option not in state]:
        raise InputError(f"the {name} in it lacks {', '.join(missing)}; the file is damaged")
    model = cls.__new__(cls)
    if hasattr(model, "__setstate__"):
        model.__setstate__(state)
    else:
        vars(model).update(state)
    _check_sizes(name, model)
    return model


def _check_sizes(name: str, model: Any) -> None:
    """Refuse arrays that do not fit one another: the kernels, which follow them, do not look."""
    if name in SIZES and not SIZES[name](model):
        raise InputError(f"the arrays of the {name} in it do not fit one another; the file is damaged")


def _information_fits(information: Any) -> bool:
    n, rows, pulls = information.n, len(information.left), information.vote_left
    names = ("left", "right", "vote_left", "vote_right")
    codes = [getattr(information, name) for name in names if getattr(information, name) is not None]
    alike = [information.right, information.curvature]
    if pulls is not None:
        pulled = (
            information.vote_right,
            information.vote_gradient,
            information.vote_weight,
            information.vote_weight_sq,
            information.target,
        )
        others = [
            column
            for column in (*pulled, information.vote_extra_gradient, *information.clusters.values())
            if column is not None
        ]
        if any(len(column) != len(pulls) for column in others):
            return False
    extra = information.vote_extra_gradient
    if extra is not None and extra.shape[1:] != (information.extras,):
        return False
    items = (information.scores, information.open_above, information.open_below, information.border)
    size = n + information.extras
    for one in information.alternatives:
        shapes = (one.curvature.shape, one.shift.shape, np.shape(one.border), np.shape(one.corner))
        if shapes != ((rows,), (size,), np.shape(information.border), np.shape(information.corner)):
            return False
    return (
        all(len(column) == rows for column in alike)
        and all(_within(column, n) for column in codes)
        and all(len(column) == n for column in items if column is not None)
    )


def _within(codes: np.ndarray, n: int) -> bool:
    return codes.dtype.kind == "i" and (not len(codes) or 0 <= int(codes.min()) <= int(codes.max()) < n)


def _ranking_fits(ranking: Any) -> bool:
    n = len(ranking.items)
    fits = ranking.scores.shape == (n,) and ranking.scores.dtype == np.float64
    return bool(fits and (ranking._information is None or ranking._information.n == n))


def _numbered(index: dict[Any, int]) -> bool:
    return list(index.values()) == list(range(len(index)))


def _online_fits(model: Any) -> bool:
    if not hasattr(model, "_index"):
        return True
    (rows, d), n = model._features.shape, len(model._index)
    shapes = (model._rest.shape, model._weights.shape, model._moments.shape, model._scalars.shape)
    fits = rows >= n and shapes == ((3, rows), (3, d), (3, d), (5,)) and len(model._spec.names) == d
    return bool(_numbered(model._index) and fits)


def _elo_fits(model: Any) -> bool:
    if not hasattr(model, "_index"):
        return True
    n, record = len(model._index), model._record
    shapes = (model._ratings.shape, None if record is None else record.shape)
    return _numbered(model._index) and shapes in (((n,), None), ((n,), (3, n)))


def _dynamic_fits(model: Any) -> bool:
    if not hasattr(model, "_scores"):
        return True
    history, n = model._history, len(model._history["items"])
    rows = len(history["left"])
    if not rows or any(len(history[name]) != rows for name in ("right", "time", "wins", "losses", "ties")):
        return False
    nodes = len({*zip(history["left"].tolist(), history["time"].tolist(), strict=True),
                 *zip(history["right"].tolist(), history["time"].tolist(), strict=True)})  # fmt: skip
    idle = n - len({*history["left"].tolist(), *history["right"].tolist()})
    fits = all(_within(history[name], n) for name in ("left", "right")) and bool(
        (history["left"] != history["right"]).all()
    )
    fits = fits and model._scores.shape == ((n,) if model.drift_ == 0 else (nodes + idle,))
    d = len(model._spec.names)
    weights = d if model._basis is None or not d else model._basis.shape[1] + 1
    effects = weights + bool(model.side_effect) + (model.ties == "davidson" and bool(history["ties"].any()))
    known = all(part.shape == (d,) for part in (model.coef_, model._mean, model._scale, model._ignored))
    return fits and known and model._table.shape == (n, d) and model._extras.shape == (effects,)


def _stream_fits(stream: Any) -> bool:
    return bool(stream.weights.ndim == 2 and stream.weights.shape == stream.squares.shape)


def _streams_fit(model: Any) -> bool:
    streams = [*getattr(model, "streams_", []), *([model.stream_] if hasattr(model, "stream_") else [])]
    return all(len(stream.weights) == model.n_features_in_ + 1 for stream in streams)


def _labels_fit(model: Any) -> bool:
    if not hasattr(model, "labels_"):
        return True
    forests = [getattr(model, name) for name in ("forest_", "boosted_") if hasattr(model, name)]
    size = (model.n_features_in_, len(model.labels_))
    trees = all((forest.n_features, forest.n_labels) == size for forest in forests)
    return bool(trees and _streams_fit(model))


def _thresholds_fit(model: Any) -> bool:
    if not hasattr(model, "_lanes"):
        return True
    d, lanes, support = model.n_features_in_, len(model._steps), getattr(model, "_support", None)
    size = (d if support is None else 0) + len(model.classes_) - 1
    if support is not None and not _support_fits(support, d, lanes):
        return False
    shapes = [each.shape for each in (model._lanes, model._judged, model._losses, model._scaled)]
    judged = lanes if lanes > 1 else 0
    return (
        _grades_fit(model)
        and _scale_fits(model)
        and shapes == [(lanes, (2 if model._averages else 1) * size), (judged, size), (lanes,), (d,)]
        and 0 <= model._lead < lanes
    )


def _support_fits(support: Any, d: int, lanes: int) -> bool:
    """The examples that a model with a kernel keeps."""
    room = len(support.rows)
    shapes = [each.shape for each in (support.rows, support.lengths, support.coef)]
    fits = shapes == [(room, d), (room,), (3, lanes, room)] and support.raw.shape in ((room, d), (0, d))
    return fits and 0 <= support.size <= room


def _scale_fits(model: Any) -> bool:
    """The scale of the features, where the model keeps one."""
    d = model.n_features_in_
    return model._scale is None or (model._scale.metric.shape == (4, d) and model._scale.squares.shape == (d,))


def _perceptron_fits(model: Any) -> bool:
    if not hasattr(model, "_W"):
        return True
    width = model.n_features_in_ + 1
    shape = (len(model.classes_), width)
    return (
        _grades_fit(model)
        and _scale_fits(model)
        and model._W.shape == shape
        and model._lag.shape in (shape, (0, width))
    )


def _grades_fit(model: Any) -> bool:
    K = len(model.classes_)
    return len(model._named) == K and _numbered(model._codes) and len(model._codes) == K


# What must agree before a kernel may follow the arrays of a value.
SIZES: dict[str, Callable[[Any], bool]] = {
    "DynamicBradleyTerry": _dynamic_fits,
    "Elo": _elo_fits,
    "Forest": lambda forest: forest.sound(),
    "Information": _information_fits,
    "LabelRanker": _labels_fit,
    "ListInformation": lambda information: _information_fits(information) and information.fits,
    "OnlineLabelRanker": _streams_fit,
    "OnlineRABF": _online_fits,
    "OrdinalPerceptron": _perceptron_fits,
    "PRank": _thresholds_fit,
    "PassiveAggressiveOrdinal": _thresholds_fit,
    "Ranking": _ranking_fits,
    "Stream": _stream_fits,
    "WeightedInformation": lambda information: _information_fits(information) and information.fits,
}
