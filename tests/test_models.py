"""Model files: what is saved comes back, and nothing else does."""

import datetime
import importlib
import io
import json
import warnings
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import podium
from podium import WinRate
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
        "Alternative",
        "Information",
        "FeatureColumns",
        "FeatureScale",
        "LandmarkMap",
        "FeatureSpec",
        "Forest",
        "ListInformation",
        "WeightedInformation",
        "Ranking",
        "RunningScale",
        "ScoreCovariance",
        "SparseBasis",
        "Stream",
        "SupportSet",
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
        (
            {"podium": "0.1", "format": 1, "model": {"object": "Popen", "version": 1, "state": {}}},
            "unknown class 'Popen'",
        ),
        ({"podium": "0.1", "format": 1, "model": {"array": 7}}, "not a podium model file, or a damaged one"),
        ({"podium": "0.1"}, "not a podium model file, or a damaged one"),
        ([], "not a podium model file, or a damaged one"),
    ],
)
def test_strange_files_are_refused_with_a_reason(header, message, tmp_path):
    write(tmp_path / "m.podium", header)
    with pytest.raises(InputError, match=message):
        podium.load(tmp_path / "m.podium")


class Later(WinRate):
    """Win rates, whose state has changed twice since; what the first version stored it reads no more."""

    __module__ = "podium.later"
    __name__ = __qualname__ = "WinRate"
    state_version = 3

    @classmethod
    def upgraded(cls, state, version):
        if version < 2:
            raise InputError("too old")
        return {"prior": state.pop("pull"), **state}


def stored(model, path, version, **renamed):
    """A file as an older version wrote it."""
    podium.save(model, path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["podium.json"])
    state = header["model"]["state"]
    header["model"]["state"] = {renamed.get(name, name): value for name, value in state.items()}
    header["model"].pop("version")
    header["model"] |= {} if version is None else {"version": version}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in (members | {"podium.json": json.dumps(header)}).items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (None, "the WinRate in it was written by an older podium, whose form is no longer read; fit again"),
        (0, "the WinRate in it was written by an older podium, whose form is no longer read; fit again"),
        (2, "the WinRate in it was written by a newer podium; upgrade podium"),
        (-1, "version -1; the file is damaged"),
        ("one", "version 'one'; the file is damaged"),
    ],
)
def test_a_class_of_another_version_is_refused_in_a_sentence(version, message, tmp_path):
    path = tmp_path / "m.podium"
    stored(MODELS["WinRate"][0](), path, version)
    with pytest.raises(InputError, match=message):
        podium.load(path)


def test_an_older_version_is_read_where_the_class_says_how(tmp_path, monkeypatch):
    path = tmp_path / "m.podium"
    model = MODELS["WinRate"][0]().set_params(prior=2.0)
    stored(model, path, 2, prior="pull")
    monkeypatch.setattr("podium.pairwise.counting.WinRate", Later)
    again = podium.load(path)
    assert type(again) is Later
    assert again.prior == 2.0
    assert_array_equal(again.ranking_.scores, model.ranking_.scores)
    stored(model, path, 1)
    with pytest.raises(InputError, match="too old"):
        podium.load(path)


def test_other_files_are_refused(tmp_path):
    (tmp_path / "m.podium").write_text("not a zip")
    with pytest.raises(InputError, match=r"not a podium model file, or a damaged one \(File is not a zip file\)"):
        podium.load(tmp_path / "m.podium")
    with pytest.raises(InputError, match="no such file"):
        podium.load(tmp_path / "absent.podium")
    with pytest.raises(InputError, match="cannot be read: "):
        podium.load(tmp_path)  # a folder


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


def test_no_damage_to_a_file_is_a_surprise(tmp_path):
    """Flip, cut and splice bytes of every kind of model: refused in one sentence, or as good as before."""
    rng = np.random.default_rng(4)
    path = tmp_path / "m.podium"
    refused = []
    for make, _ in MODELS.values():
        podium.save(make(), path)
        whole = path.read_bytes()
        for _ in range(60):
            data = bytearray(whole)
            at = rng.integers(0, len(data), size=rng.integers(1, 4))
            match rng.integers(0, 3):
                case 0:
                    data[at[0]] ^= 1 << int(rng.integers(0, 8))
                case 1:
                    data = data[: at[0]]
                case _:
                    for place in at:
                        data[place] = int(rng.integers(0, 256))
            path.write_bytes(data)
            try:
                podium.load(path)
            except InputError as problem:
                refused.append(str(problem))
    assert len(refused) > 10 * len(MODELS)
    for sentence in refused:
        assert sentence.startswith(f"{path}: ")
        assert len(sentence.splitlines()) == 1


def with_array(path, data, header=None, copies=1):
    """A file that asks for one array, whose bytes are given."""
    uses = [{"array": 0}] * copies
    model = {"object": "WinRate", "version": 1, "state": {"prior": uses}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("podium.json", json.dumps(header or {"podium": "0.1", "format": 1, "model": model}))
        archive.writestr("0.npy", data)


def npy(shape, data=b"", descr="<f8"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + data


@pytest.mark.parametrize(
    "data",
    [
        npy("(1000000000000,)"),
        npy("(2, 3)", bytes(8)),
        npy("(-1,)", bytes(8)),
        npy("(1,)", bytes(8), "|O"),
        npy("(99999999999999999999999,)", bytes(8)),
        b"",
    ],
)
def test_an_array_that_lies_about_its_size_takes_no_memory(data, tmp_path):
    path = tmp_path / "m.podium"
    with_array(path, data)
    with pytest.raises(InputError, match="damaged"):
        podium.load(path)


def test_a_small_file_cannot_grow_without_bound(tmp_path):
    path = tmp_path / "m.podium"
    with_array(path, npy("(1,)", bytes(8)), copies=2)
    with pytest.raises(InputError, match="array 0 is used twice"):
        podium.load(path)
    with_array(path, npy("(1,)", bytes(8)))
    data = bytearray(path.read_bytes())
    entry = data.rindex(b"PK\x01\x02")  # the array's place in the directory; its size is 24 bytes on
    data[entry + 24 : entry + 28] = (2**31).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"0\.npy claims 2147483648 bytes"):
        podium.load(path)


@pytest.mark.parametrize(
    "model",
    [
        json.loads("[" * 400 + "]" * 400),
        {"object": "WinRate", "version": 1, "state": []},
        {"object": "WinRate", "version": 1, "state": {}, "tuple": []},
        {"object": "WinRate", "version": 1, "state": {}},
        {"object": ["WinRate"], "version": 1, "state": {}},
        {"object": "Ranking", "version": 1, "state": {"items": {"tuple": [1, 2]}}},
        {"object": "Information", "version": 1, "state": {"n": 2, "left": [0], "right": [7], "curvature": [1.0]}},
        {"object": "WinRate", "version": 1, "state": {"prior": {"float": "one"}}},
        {"object": "WinRate", "version": 1, "state": {"prior": {"array": 1e400}}},
        7,
        None,
    ],
)
def test_headers_that_make_no_sense_are_refused(model, tmp_path):
    write(tmp_path / "m.podium", {"podium": "0.1", "format": 1, "model": model})
    with pytest.raises(InputError, match=r"m\.podium: .*(damaged|do not trust the file)"):
        podium.load(tmp_path / "m.podium")


def test_a_nest_without_end_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "m.podium", "w") as archive:
        archive.writestr("podium.json", '{"podium": "0.1", "format": 1, "model": ' + "[" * 200_000)
    with pytest.raises(InputError, match="damaged"):
        podium.load(tmp_path / "m.podium")


def renumber(codes):
    """Another number for an item, so that nothing but the number is wrong."""
    codes[codes == codes.max()] = 7


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("BradleyTerry", lambda m: (m.ranking_.record, m.ranking_.information.left.fill(7))),
        ("BradleyTerry", lambda m: (m.ranking_.record, m.ranking_.information.right.fill(-1))),
        ("Elo", lambda m: m._index.update({0: 9})),
        ("DynamicBradleyTerry", lambda m: (m.ranking_.record, m._history["left"].fill(7))),
        ("DynamicBradleyTerry", lambda m: (m.ranking_.record, [renumber(m._history[s]) for s in ("left", "right")])),
        ("DynamicBradleyTerry", lambda m: setattr(m, "_scores", m._scores[:2])),
        ("DynamicBradleyTerry, features", lambda m: setattr(m, "_table", m._table[:2])),
        ("DynamicBradleyTerry, features", lambda m: setattr(m, "_extras", m._extras[:1])),
        ("DynamicBradleyTerry, features", lambda m: setattr(m, "coef_", m.coef_[:1])),
        ("OnlineRABF", lambda m: setattr(m, "_rest", m._rest[:, :1])),
        ("OnlineRABF", lambda m: setattr(m, "_moments", m._moments[:, :0])),
        ("OrdinalPerceptron", lambda m: setattr(m, "_W", m._W[:1])),
        ("PassiveAggressiveOrdinal", lambda m: setattr(m, "_lanes", m._lanes[:, :1])),
        ("PassiveAggressiveOrdinal", lambda m: setattr(m, "_judged", m._judged[:1])),
        ("PassiveAggressiveOrdinal", lambda m: setattr(m, "_lead", 3)),
        ("PassiveAggressiveOrdinal, kernel", lambda m: setattr(m._support, "size", 999)),
        ("PassiveAggressiveOrdinal, kernel", lambda m: setattr(m._support, "coef", m._support.coef[:, :, :1])),
        ("PRank", lambda m: setattr(m._scale, "metric", m._scale.metric[:2])),
        ("OrdinalPerceptron", lambda m: setattr(m._scale, "squares", m._scale.squares[:1])),
        ("PRank", lambda m: m._codes.update({0: 9})),
        ("LabelRanker, trees", lambda m: setattr(m, "n_features_in_", 99)),
        ("LabelRanker, trees", lambda m: m.forest_.feature.fill(2)),
        ("LabelRanker, trees", lambda m: m.forest_.left.__setitem__(0, 0)),  # a row would go round for ever
        ("LabelRanker, trees", lambda m: m.forest_.roots.fill(10_000)),
        ("LabelRanker, trees", lambda m: m.forest_.labels.fill(3)),
        ("OnlineLabelRanker", lambda m: setattr(m, "n_features_in_", 99)),
        ("OnlineLabelRanker", lambda m: setattr(m.streams_[0], "squares", m.streams_[0].squares[:1])),
    ],
)
def test_arrays_that_a_kernel_would_follow_out_of_bounds_are_refused(name, spoil, tmp_path):
    model = MODELS[name][0]()
    spoil(model)
    podium.save(model, tmp_path / "m.podium")
    with pytest.raises(InputError, match="do not fit one another; the file is damaged"):
        podium.load(tmp_path / "m.podium")


THREADED = {  # what a kernel follows without a look: every axis of each has one size that fits
    "BradleyTerry": ["ranking_.scores", "ranking_._information.right", "ranking_._information.curvature"],
    "BradleyTerry, all options": [
        *(
            f"ranking_._information.vote_{part}"
            for part in ("right", "gradient", "weight", "weight_sq", "extra_gradient")
        ),
        "ranking_._information.border",
        "ranking_._information.scores",
    ],
    "Elo": ["_ratings", "_record"],
    "OnlineRABF": ["_rest", "_weights", "_moments", "_scalars"],
    "DynamicBradleyTerry, features": [
        *("_scores", "_table", "_extras", "coef_", "_mean", "_scale", "_ignored"),
        *(f"_history.{column}" for column in ("left", "right", "time", "wins", "losses", "ties")),
    ],
    "OrdinalPerceptron": ["_W", "_lag", "_scale.metric", "_scale.squares"],
    "PassiveAggressiveOrdinal": [
        "_lanes",
        "_judged",
        "_losses",
        "_scaled",
        "_scale.metric",
        "_scale.squares",
        "_steps",
    ],
    "PassiveAggressiveOrdinal, kernel": [
        *(
            "_support.rows",
            "_support.lengths",
            "_support.coef",
            "_support.raw",
            "_lanes",
            "_judged",
            "_losses",
            "_scaled",
        )
    ],
    "PRank": ["_lanes", "_judged", "_losses", "_scaled"],
    "OnlineLabelRanker": ["streams_.0.weights", "streams_.0.squares"],
}


def number_of(node, path):
    """The number of an array in a file; a path goes through states, keys and places."""
    for name in path.split("."):
        node = (
            node["state"][name] if "state" in node else dict(node["dict"])[name] if "dict" in node else node[int(name)]
        )
    return node["array"]


@pytest.mark.parametrize(("name", "path"), [(name, path) for name, paths in THREADED.items() for path in paths])
def test_an_array_longer_or_shorter_by_one_along_any_axis_is_refused(name, path, tmp_path):
    file = tmp_path / "m.podium"
    podium.save(MODELS[name][0](), file)
    with zipfile.ZipFile(file) as archive:
        members = {each: archive.read(each) for each in archive.namelist()}
    spoilt = f"{number_of(json.loads(members['podium.json'])['model'], path)}.npy"
    whole = np.load(io.BytesIO(members[spoilt]))
    for axis, length in enumerate(whole.shape):
        for other in [np.insert(whole, length, 0, axis), *([np.delete(whole, length - 1, axis)] if length else [])]:
            data = io.BytesIO()
            np.save(data, other)
            with zipfile.ZipFile(file, "w") as archive:
                for each, old in (members | {spoilt: data.getvalue()}).items():
                    archive.writestr(each, old)
            with pytest.raises(InputError, match=r"m\.podium: .*(damaged|give as many scores)"):
                podium.load(file)


class Strange(WinRate):
    """A ranker of nobody's package."""


def test_a_ranker_of_another_package_is_named(tmp_path):
    write(
        tmp_path / "m.podium",
        {"podium": "0.1", "format": 1, "model": {"ranker": "net-wins", "version": 1, "state": {}}},
    )
    with pytest.raises(InputError, match="a ranker 'net-wins' of another package; install that"):
        podium.load(tmp_path / "m.podium")
    votes = podium.Comparisons.from_pairs([("a", "b")])
    with pytest.raises(InputError, match="cannot save a Strange"):
        podium.save(Strange().fit(votes), tmp_path / "other.podium")


LABELS = [
    "tea",
    ("a", 1),
    7,
    True,
    None,
    2.5,
    float("inf"),
    -float("inf"),
    datetime.date(2026, 1, 2),
    datetime.datetime(2026, 1, 2, 3, 4, 5, 6),
    datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
]


def test_every_kind_of_label_comes_back_as_it_was(tmp_path):
    labels = [label for label in LABELS if label is not None]
    votes = podium.Comparisons.from_pairs(list(zip(labels, labels[1:] + labels[:1], strict=True)))
    podium.save(WinRate().fit(votes), tmp_path / "m.podium")
    back = podium.load(tmp_path / "m.podium").ranking_.items
    assert [(type(label), label) for label in back] == [(type(label), label) for label in votes.items]


def test_arrays_of_objects_and_numbers_of_numpy_come_back(tmp_path):
    model = MODELS["WinRate"][0]()
    model.prior = np.float64(2.5)
    model.extra = np.array([["a", None], [datetime.date(2026, 1, 2), (1, "b")]], dtype=object)
    model.odd = {"nan": float("nan"), ("key", 1): [1, {2: 3}]}
    podium.save(model, tmp_path / "m.podium")
    back = podium.load(tmp_path / "m.podium")
    assert type(back.prior) is float
    assert back.extra.dtype == object
    assert back.extra.tolist() == model.extra.tolist()
    assert np.isnan(back.odd.pop("nan"))
    assert back.odd == {("key", 1): [1, {2: 3}]}


@pytest.mark.parametrize(
    "name", ["Elo", "OnlineRABF", "DynamicBradleyTerry", "OrdinalPerceptron", "PRank", "LabelRanker"]
)
def test_a_model_without_data_comes_back_with_its_options(name, tmp_path):
    model = type(MODELS[name][0]())()
    podium.save(model, tmp_path / "m.podium")
    assert podium.load(tmp_path / "m.podium").get_params() == model.get_params()


VERSIONS = {
    "Grader": 3, "RunningScale": 2, "PassiveAggressiveOrdinal": 2, "RABF": 4, "BradleyTerry": 3, "CrowdBradleyTerry": 3,
    "Elo": 3, "PlackettLuce": 2, "OnlineRABF": 2, "DynamicBradleyTerry": 4, "ListInformation": 2, "Information": 2,
    "WeightedInformation": 1, "Ranking": 3, "LabelRanker": 2,
}  # fmt: skip


def test_a_class_has_the_version_that_its_files_were_written_with():
    """A number too high would be told to users of an older podium as "newer"; raise it here with what is stored."""
    from podium.models import KNOWN
    from podium.pairwise import METHODS, ranker

    classes = {ranker(name).__name__: ranker(name) for name in METHODS}
    for name, module in KNOWN.items():
        classes[name] = getattr(importlib.import_module(module), name)
    for name, cls in classes.items():
        assert (name, getattr(cls, "state_version", 1)) == (name, VERSIONS.get(name, 1))


@pytest.mark.parametrize(
    ("sizes", "fits"),
    [
        ({}, True), ({"size": 0}, True), ({"size": 4}, True), ({"size": 5}, False), ({"size": -1}, False),
        ({"rows": (3, 2)}, False), ({"lengths": (5,)}, False), ({"coef": (3, 1, 4)}, False), ({"raw": (0, 2)}, True),
        ({"raw": (3, 2)}, False), ({"rows": (4, 3)}, False),
    ],
)  # fmt: skip
def test_kept_examples_fit_the_room_that_they_have(sizes, fits):
    from types import SimpleNamespace

    from podium.models import _support_fits

    shapes = {"rows": (4, 2), "lengths": (4,), "coef": (3, 2, 4), "raw": (4, 2)}
    size = sizes.get("size", 3)
    support = SimpleNamespace(**{name: np.zeros(sizes.get(name, shape)) for name, shape in shapes.items()}, size=size)
    assert _support_fits(support, 2, 2) == fits


@pytest.mark.parametrize("model", [[], "x", 3, None, {}, {"tuple": []}, {"state": {}}])
def test_a_header_without_a_model_holds_none(model, tmp_path):
    path = tmp_path / "m.podium"
    write(path, {"format": 1, "podium": "0", "model": model})
    with pytest.raises(InputError, match=r"not a podium model file, or a damaged one \(it holds no model\)"):
        podium.load(path)


def test_classes_are_named_by_what_users_type_and_others_not_at_all():
    from podium.models import _class_of, _name_of
    from podium.pairwise.base import Ranker

    assert _name_of(WinRate) == {"object": "WinRate"}
    assert _class_of({"ranker": "win-rate"}) is WinRate
    assert _name_of(podium.Ranking) == {"object": "Ranking"}
    assert _name_of(dict) is None
    assert _name_of(object) is None  # which every ranker is, too
    assert _name_of(Ranker) is None
    with pytest.raises(InputError, match="it holds a ranker 'theirs' of another package"):
        _class_of({"ranker": "theirs"})
    for name in ("os", ["Ranking"], None):
        with pytest.raises(InputError, match="the file asks for an unknown class"):
            _class_of({"object": name})


def test_a_model_of_scores_that_move_with_more_features_than_items_comes_back(tmp_path):
    rng = np.random.default_rng(0)
    left = rng.integers(0, 4, 30).astype(np.int32)
    right = ((left + rng.integers(1, 4, 30)) % 4).astype(np.int32)
    votes = podium.Comparisons(tuple("abcd"), left, right, time=np.arange(30.0))
    features = {item: rng.normal(size=9) for item in "abcd"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = podium.DynamicBradleyTerry(drift=0.1, sd=1.0, feature_penalty=1.0).fit(votes, features)
    assert model._basis is not None
    podium.save(model, tmp_path / "m.podium")
    again = podium.load(tmp_path / "m.podium")
    assert_array_equal(again.predict_proba(votes), model.predict_proba(votes))
    again._extras = np.append(again._extras, 0.0)
    podium.save(again, tmp_path / "n.podium")
    with pytest.raises(InputError, match="do not fit one another"):
        podium.load(tmp_path / "n.podium")
