"""Write a small model file of every kind, and its answers, as this version stores them.

Run `python -m golden.write` in the folder tests when a class has a new `state_version`: the files of the new version
join those of the old ones, which stay and must load, or be refused in a sentence, for ever. Files already there
are left alone.
"""

import json
import tempfile
import zipfile
from pathlib import Path

import numpy as np

import podium

from suites.models import MODELS

FOLDER = Path(__file__).parent


def layout(path):
    """What each class in a model file stores: {(class, version): names}."""
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("podium.json"))
    found = {}

    def look(value):
        if isinstance(value, dict) and "object" in value:
            found.setdefault((value["object"], value["version"]), set()).update(value["state"])
            look(list(value["state"].values()))
        elif isinstance(value, dict):
            look(list(value.values()))
        elif isinstance(value, list):
            for each in value:
                look(each)

    look(header["model"])
    return found


def golden_path(model, versions):
    """A name that says which later versions of classes the file holds."""
    later = [f"{name}-{version}" for name, version in sorted(versions) if version != 1]
    return FOLDER / (".".join([model.lower().replace(", ", "-").replace(" ", "-"), *later]) + ".podium")


def answers_of(name, model):
    return [np.asarray(each, dtype=float).tolist() for each in MODELS[name][1](model)]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name, (make, _) in MODELS.items():
            model, fresh = make(), Path(folder) / "m.podium"
            podium.save(model, fresh)
            path = golden_path(name, layout(fresh))
            if not path.exists():
                path.write_bytes(fresh.read_bytes())
                told = {"model": name, "answers": answers_of(name, model)}
                path.with_suffix(".json").write_text(json.dumps(told) + "\n")
                print(path.name)
