"""One model file for all estimators: a zip of `.npy` arrays and a JSON header, read without running code.

The header names a class of ours from `KNOWN` and holds its state; whatever else it asks for is refused.
An estimator joins by adding its name here and itself to the round-trip suite.
"""

from __future__ import annotations

import dataclasses
import datetime
import importlib
import io as bytes_io
import json
import math
import os
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

from podium._version import __version__
from podium.errors import InputError
from podium.io import replacing

__all__ = ["load", "save"]

FORMAT = 1
HEADER = "podium.json"

# Class name -> module. Only these are ever built from a file.
KNOWN: dict[str, str] = {
    "Borda": "podium.pairwise.counting",
    "BradleyTerry": "podium.pairwise.bradley_terry",
    "Copeland": "podium.pairwise.counting",
    "CrowdBradleyTerry": "podium.pairwise.crowd",
    "CumulativeLogit": "podium.ordinal.cumulative",
    "Elo": "podium.pairwise.elo",
    "Evidence": "podium.uncertainty",
    "FeatureSpec": "podium.features",
    "Grader": "podium.ordinal.stream",
    "LabelRanker": "podium.multilabel.ranker",
    "LeastSquares": "podium.pairwise.least_squares",
    "MedianBaseline": "podium.ordinal.baselines",
    "OnlineLabelRanker": "podium.multilabel.online",
    "OnlineRABF": "podium.pairwise.online",
    "OrdinalPerceptron": "podium.ordinal.baselines",
    "PRank": "podium.ordinal.passive_aggressive",
    "PassiveAggressiveOrdinal": "podium.ordinal.passive_aggressive",
    "RABF": "podium.pairwise.rabf",
    "RankCentrality": "podium.pairwise.spectral",
    "Ranking": "podium.ranking",
    "RunningScale": "podium.ordinal.stream",
    "Spread": "podium.uncertainty",
    "Stream": "podium.multilabel.streaming",
    "WinRate": "podium.pairwise.counting",
}


def save(model: object, path: str | os.PathLike[str]) -> None:
    """Write `model` to `path`; the file loads without running any code from it.

    Raises `InputError` when the model holds something that only pickle could store.
    """
    if type(model).__name__ not in KNOWN:
        raise InputError(f"cannot save a {type(model).__name__}; model files hold {', '.join(sorted(KNOWN))}")
    arrays: list[np.ndarray] = []
    header = {"podium": __version__, "format": FORMAT, "model": _pack(model, arrays, type(model).__name__)}
    text = json.dumps(header, allow_nan=False, indent=1)
    with replacing(path) as target, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(HEADER, text)
        for number, array in enumerate(arrays):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model written by `save`. Nothing in the file is executed."""
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read(HEADER))
            if header["format"] > FORMAT:
                raise InputError(
                    f"{path}: written by the newer podium {header['podium']}; this is {__version__}: upgrade podium"
                )

            def array(number: int) -> np.ndarray:
                return np.lib.format.read_array(bytes_io.BytesIO(archive.read(f"{number}.npy")), allow_pickle=False)

            return _unpack(header["model"], array)
    except FileNotFoundError as problem:
        raise InputError(f"{path}: no such file") from problem
    except OSError as problem:
        raise InputError(f"{path}: cannot be read: {problem.strerror}") from problem
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError, IndexError) as problem:
        if isinstance(problem, InputError):
            raise
        raise InputError(f"{path}: not a podium model file, or a damaged one ({problem})") from problem


def _pack(value: Any, arrays: list[np.ndarray], where: str) -> Any:
    """Turn a value into JSON; arrays go aside and leave their number."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, datetime.date):  # datetime too
        return {type(value).__name__: value.isoformat()}
    if isinstance(value, np.ndarray):
        if value.dtype.kind in "OT":
            return {"objects": _pack(value.ravel().tolist(), arrays, where), "shape": list(value.shape)}
        arrays.append(value)
        return {"array": len(arrays) - 1}
    if isinstance(value, list):
        return [_pack(each, arrays, where) for each in value]
    if isinstance(value, tuple):
        return {"tuple": [_pack(each, arrays, where) for each in value]}
    if isinstance(value, dict):
        return {"dict": [[_pack(k, arrays, where), _pack(v, arrays, f"{where}[{k!r}]")] for k, v in value.items()]}
    name = type(value).__name__
    if name in KNOWN and type(value).__module__.startswith("podium."):
        state = _state(value)
        return {"object": name, "state": {k: _pack(v, arrays, f"{where}.{k}") for k, v in state.items()}}
    raise InputError(f"cannot save {where}: a {name} cannot be stored without pickle")


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
    name = value["object"]
    if name not in KNOWN:
        raise InputError(f"the file asks for an unknown class {name!r}; upgrade podium, or do not trust the file")
    cls = getattr(importlib.import_module(KNOWN[name]), name)
    state = {k: _unpack(v, array) for k, v in value["state"].items()}
    if hasattr(cls, "__dataclass_fields__"):
        return cls(**state)
    made = cls.__new__(cls)
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    else:
        vars(made).update(state)
    return made
