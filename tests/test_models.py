"""Model files: what is saved comes back, and nothing else does."""

import json
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import podium
from podium.errors import InputError
from podium.models import KNOWN

from suites.models import MODELS


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_answers_as_before(name, tmp_path):
    make, answers = MODELS[name]
    model = make()
    podium.save(model, tmp_path / "m.podium")
    again = podium.load(tmp_path / "m.podium")
    assert type(again) is type(model)
    for before, after in zip(answers(model), answers(again), strict=True):
        assert_array_equal(np.asarray(before), np.asarray(after))


def test_every_estimator_is_in_the_suite():
    values = {
        "Evidence",
        "FeatureSpec",
        "Ranking",
        "RunningScale",
        "Spread",
        "Stream",
    }  # parts of models, tested with them
    missing = set(KNOWN) - values - {name.partition(",")[0] for name in MODELS}
    assert not missing, f"add to tests/suites/models.py: {missing}"


def test_nothing_is_pickled(tmp_path):
    podium.save(MODELS["BradleyTerry"][0](), tmp_path / "m.podium")
    with zipfile.ZipFile(tmp_path / "m.podium") as archive:
        for name in archive.namelist():
            assert name == "podium.json" or name.endswith(".npy")
            if name.endswith(".npy"):
                with archive.open(name) as member:
                    np.lib.format.read_array(member, allow_pickle=False)


def write(path, header):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("podium.json", json.dumps(header))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"podium": "9.9", "format": 99, "model": None}, "newer podium 9.9"),
        ({"podium": "0.1", "format": 1, "model": {"object": "Popen", "state": {}}}, "unknown class 'Popen'"),
        ({"podium": "0.1", "format": 1, "model": {"array": 7}}, "not a podium model file, or a damaged one"),
        ({"podium": "0.1"}, "not a podium model file, or a damaged one"),
        ([], "not a podium model file, or a damaged one"),
    ],
)
def test_strange_files_are_refused_with_a_reason(header, message, tmp_path):
    write(tmp_path / "m.podium", header)
    with pytest.raises(InputError, match=message):
        podium.load(tmp_path / "m.podium")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "m.podium").write_text("not a zip")
    with pytest.raises(InputError, match="not a podium model file"):
        podium.load(tmp_path / "m.podium")
    with pytest.raises(InputError, match="no such file"):
        podium.load(tmp_path / "absent.podium")


def test_what_cannot_be_stored_is_named(tmp_path):
    with pytest.raises(InputError, match="cannot save a dict"):
        podium.save({}, tmp_path / "m.podium")
    model = MODELS["WinRate"][0]()
    model.prior = object()
    with pytest.raises(InputError, match=r"cannot save WinRate.prior: a object cannot be stored without pickle"):
        podium.save(model, tmp_path / "m.podium")
    assert not list(tmp_path.iterdir())


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "m.podium"
    path.write_text("old")
    model = MODELS["WinRate"][0]()
    model.prior = object()
    with pytest.raises(InputError):
        podium.save(model, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_unwritable_place_is_named(tmp_path):
    with pytest.raises(InputError, match=r"cannot write .*absent.*choose another path"):
        podium.save(MODELS["WinRate"][0](), tmp_path / "absent" / "m.podium")
