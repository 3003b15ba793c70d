"""Model files of every version so far answer as they did, and no class changes what it stores in silence."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

import podium
from golden.write import FOLDER, golden_path, layout
from podium.errors import InputError

from suites.models import MODELS

REFUSED = {
    "crowdbradleyterry.podium",
    "crowdbradleyterry.Information-2.podium",
}  # names of files that are no longer read
FILES = sorted(FOLDER.glob("*.podium"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_file_of_an_earlier_time_answers_as_it_did_or_is_refused(path):
    told = json.loads(path.with_suffix(".json").read_text())
    if path.name in REFUSED:
        with pytest.raises(InputError, match="was written by an older podium, whose form is no longer read"):
            podium.load(path)
        return
    model = podium.load(path)
    for after, before in zip(MODELS[told["model"]][1](model), told["answers"], strict=True):
        assert_allclose(np.asarray(after, dtype=float), before, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_what_a_class_stores_is_what_its_version_says(name, tmp_path):
    podium.save(MODELS[name][0](), tmp_path / "m.podium")
    now = layout(tmp_path / "m.podium")
    path = golden_path(name, now)
    assert path in FILES, f"{path.name} is missing: run python -m golden.write in tests, and commit what it writes"
    then = layout(path)
    changed = [kind for kind in now if now[kind] != then.get(kind)]
    assert not changed, f"{changed} store other names than their version did: raise state_version, write golden files"


def test_golden_files_are_small():
    files = [path for path in FOLDER.iterdir() if path.suffix in (".podium", ".json")]  # no folder of compiled Python
    assert sum(path.stat().st_size for path in files) < 450_000  # every new form that is stored adds its files
