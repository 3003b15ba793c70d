"""What stands in a model file, cell by cell: how values are written, what is read back, and what is refused."""

import datetime
import io
import json
import math
import warnings
import zipfile
from dataclasses import dataclass, field

import numpy as np
import pytest

import podium
from podium import WinRate, models
from podium.errors import InputError
from podium.models import MAX_RATIO, _array_header, _Arrays, _class_of, _name_of, _pack, _read, _unpack, _upgraded, load

# ---- values ---------------------------------------------------------------------------------------------------------

DAY, MOMENT = datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5, 6)
PLAIN = [None, True, False, 0, -7, 2**70, "tea", "", 2.5, -0.0, 1e300]
WRITTEN = [
    (math.inf, {"float": "inf"}), (-math.inf, {"float": "-inf"}), (math.nan, {"float": "nan"}),
    (DAY, {"date": "2026-01-02"}), (MOMENT, {"datetime": "2026-01-02T03:04:05.000006"}),
    ([1, [2.5, "x"]], [1, [2.5, "x"]]), ((1, ("a",)), {"tuple": [1, {"tuple": ["a"]}]}), ((), {"tuple": []}),
    ({"a": 1, (2, 3): [DAY]}, {"dict": [["a", 1], [{"tuple": [2, 3]}, [{"date": "2026-01-02"}]]]}), ({}, {"dict": []}),
    (np.float64(2.5), 2.5), (np.int32(7), 7), (np.bool_(True), True), (np.str_("x"), "x"),
    (np.float32(np.inf), {"float": "inf"}),
]  # fmt: skip


def same(one, other):
    return type(one) is type(other) and (one == other or (one != one and other != other))


@pytest.mark.parametrize("value", PLAIN)
def test_plain_values_stand_as_they_are(value):
    assert same(_pack(value, [], "x"), value)
    assert same(_unpack(value, None), value)


@pytest.mark.parametrize(("value", "written"), WRITTEN)
def test_other_values_say_what_they_are(value, written):
    arrays = []
    assert _pack(value, arrays, "x") == written
    assert arrays == []
    json.dumps(written, allow_nan=False)
    plain = value.item() if isinstance(value, np.generic) else value
    assert same(_unpack(written, None), plain)


class Moment(datetime.datetime):
    """A kind of time that another package brings along."""


def test_times_of_other_packages_come_back_as_times():
    stamp = pytest.importorskip("pandas").Timestamp(MOMENT)
    for value in (stamp, Moment(2026, 1, 2, 3, 4, 5, 6)):
        back = _unpack(_pack(value, [], "x"), None)
        assert type(back) is datetime.datetime
        assert back == value == MOMENT


def test_times_finer_than_microseconds_are_refused_and_those_of_numpy_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    for value in (pandas.Timestamp("2026-01-02T03:04:05.000000006"), pandas.NaT):
        with pytest.raises(InputError, match=r"cannot save x: .* is no time in whole microseconds; round it to them"):
            _pack(value, [], "x")
    times = [np.datetime64("2026-01-02T03:04:05.000000006"), np.datetime64("2026-01-02"), np.timedelta64(7, "ns")]
    podium.save(WinRate(prior=[*times, np.datetime64("NaT")]), tmp_path / "m.podium")
    back = podium.load(tmp_path / "m.podium").prior
    assert [(each.dtype, each) for each in back[:3]] == [(each.dtype, each) for each in times]
    assert np.isnat(back[3])


def test_arrays_with_a_field_of_objects_are_refused_by_name(tmp_path):
    model = WinRate(prior=np.zeros(2, dtype=[("a", object)]))
    said = r"cannot save WinRate.prior: an array of \[\('a', 'O'\)\] cannot be stored without pickle"
    with pytest.raises(InputError, match=said):
        podium.save(model, tmp_path / "m.podium")
    assert not (tmp_path / "m.podium").exists()


def test_arrays_go_aside_and_leave_their_number():
    one, two = np.arange(3), np.eye(2, dtype=bool)
    arrays = []
    written = _pack({"a": one, "b": [two, one]}, arrays, "x")
    assert written == {"dict": [["a", {"array": 0}], ["b", [{"array": 1}, {"array": 2}]]]}
    assert [array is each for array, each in zip(arrays, (one, two, one), strict=True)] == [True] * 3
    asked = []
    _unpack(written, lambda number: asked.append(number) or number)
    assert asked == [0, 1, 2]


@pytest.mark.parametrize("shape", [(), (4,), (2, 2), (0,), (2, 0)])
def test_arrays_of_objects_are_written_cell_by_cell(shape):
    cells = np.empty(shape, object)
    cells.ravel()[:] = ["a", None, (1, "b"), DAY][: cells.size]
    arrays = []
    written = _pack(cells, arrays, "x")
    assert (list(written), written["shape"], arrays) == (["objects", "shape"], list(shape), [])
    again = _unpack(written, None)
    assert (again.dtype, again.shape) == (object, shape)
    assert again.tolist() == cells.tolist()


def test_what_cannot_be_stored_is_named_with_its_place():
    for value, where in (
        (object(), "x"), ([1, object()], "x"), ({"k": {7: object()}}, "x['k'][7]"), ((object(),), "x"),
        ({"k": np.array([object()])}, "x['k']"),
    ):  # fmt: skip
        with pytest.raises(InputError) as caught:
            _pack(value, [], "x")
        assert str(caught.value) == f"cannot save {where}: a object cannot be stored without pickle"
    model = WinRate(prior={"deep": [{1, 2}]})
    with pytest.raises(InputError) as caught:
        _pack(model, [], "WinRate")
    assert str(caught.value) == "cannot save WinRate.prior['deep']: a set cannot be stored without pickle"


def test_a_model_is_its_name_its_version_and_its_state():
    assert _pack(WinRate(prior=2.0), [], "WinRate") == {"object": "WinRate", "version": 1, "state": {"prior": 2.0}}


# ---- the archive ----------------------------------------------------------------------------------------------------


def test_a_file_holds_a_header_and_arrays_that_numpy_reads(tmp_path):
    path = tmp_path / "m.podium"
    model = WinRate(prior=[np.arange(3.0), np.eye(2, dtype=bool), np.array(7)])
    podium.save(model, path)
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["podium.json", "0.npy", "1.npy", "2.npy"]
        assert all(each.compress_type == zipfile.ZIP_DEFLATED for each in archive.infolist())
        header = json.loads(archive.read("podium.json"))
        arrays = [np.load(io.BytesIO(archive.read(f"{k}.npy")), allow_pickle=False) for k in range(3)]
    assert header == {
        "podium": podium.__version__, "format": 1,
        "model": {"object": "WinRate", "version": 1, "state": {"prior": [{"array": k} for k in range(3)]}},
    }  # fmt: skip
    for before, after, back in zip(model.prior, arrays, load(path).prior, strict=True):
        np.testing.assert_array_equal(after, before)
        np.testing.assert_array_equal(back, before)
        assert (back.dtype, back.shape) == (before.dtype, before.shape)


def test_what_model_files_hold_is_told(tmp_path):
    with pytest.raises(InputError) as caught:
        podium.save({1: 2}, tmp_path / "m.podium")
    said, names = str(caught.value).split("; model files hold ")
    assert said == "cannot save a dict"
    own = [*podium.__all__, *podium.ordinal.__all__, *podium.multilabel.__all__]
    assert names.split(", ") == sorted(name for name in own if name in models.KNOWN)  # and no part of a model


class Member:
    def __init__(self, size, packed):
        self.file_size, self.compress_size, self.name = size, packed, "0.npy"

    def getinfo(self, name):
        assert name == self.name
        return self

    def read(self, member):
        assert member is self
        return b"data"


@pytest.mark.parametrize("packed", [0, 1, 10])
def test_no_member_is_larger_than_deflate_could_make_it_small(packed):
    most = 1032 * packed + 64
    assert MAX_RATIO == 1032
    assert _read(Member(most, packed), "0.npy") == b"data"
    with pytest.raises(InputError) as caught:
        _read(Member(most + 1, packed), "0.npy")
    assert str(caught.value) == f"0.npy claims {most + 1} bytes, more than it can hold; the file is damaged"


def taken(data, monkeypatch, *, times=1):
    monkeypatch.setattr(models, "_read", lambda archive, name: {"3.npy": data}[name])
    arrays = _Arrays("archive")
    for _ in range(times):
        found = arrays.take(3)
    return found


def npy(array, version=(1, 0)):
    data = io.BytesIO()
    np.lib.format.write_array(data, array, version=version)
    return data.getvalue()


@pytest.mark.parametrize("version", [(1, 0), (2, 0)])
@pytest.mark.parametrize(
    "array",
    [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6).reshape(2, 3)), np.array(7.5), np.zeros((0, 3)),
     np.zeros(0, np.int32), np.array(["a", "bcd"]), np.array([True, False])],
)  # fmt: skip
def test_arrays_of_every_shape_come_back(array, version, monkeypatch):
    found = taken(npy(array, version), monkeypatch)
    np.testing.assert_array_equal(found, array)
    assert (found.dtype, found.shape) == (array.dtype, array.shape)


def header(shape, descr="'<f8'", more=""):
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}{more}}}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


@pytest.mark.parametrize(
    ("shape", "descr", "left"),
    [
        ("(2,)", "'<f8'", 15), ("(2,)", "'<f8'", 17), ("(2, 3)", "'<f8'", 40), ("()", "'<f8'", 0), ("(0,)", "'<f8'", 8),
        ("(-1,)", "'<f8'", 8), ("(-1, -1)", "'<f8'", 8), ("(0, -1)", "'<f8'", 0), ("(1,)", "'|O'", 8),
        ("(1,)", "[('a', '<i8'), ('b', '|O')]", 16),
    ],
)  # fmt: skip
def test_an_array_that_does_not_fit_its_bytes_is_refused(shape, descr, left, monkeypatch):
    with pytest.raises(InputError) as caught:
        taken(header(shape, descr) + bytes(left), monkeypatch)
    told = str(eval(shape))
    assert str(caught.value) == f"array 3 of shape {told} does not fit its {left} bytes; the file is damaged"


def test_an_array_that_just_fits_is_taken_once(monkeypatch):
    assert taken(header("(2,)") + bytes(16), monkeypatch).tolist() == [0.0, 0.0]
    with pytest.raises(InputError) as caught:
        taken(header("(2,)") + bytes(16), monkeypatch, times=2)
    assert str(caught.value) == "array 3 is used twice; the file is damaged"


def test_a_header_that_numpy_only_warns_of_is_refused():
    """As Python 2 wrote them; no podium did."""
    old = header("(2L,)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(UserWarning):
            _array_header(io.BytesIO(old))
    shape, fortran, kind = _array_header(io.BytesIO(header("(2, 3)", "'<i4'")))
    assert (shape, fortran, kind) == ((2, 3), False, np.dtype("<i4"))


# ---- reading --------------------------------------------------------------------------------------------------------


def written(path, *, number=1, model=None, **more):
    content = {"podium": "9.9", "format": number, "model": model or {"object": "WinRate", "version": 1, "state": {"prior": 2.0}}}  # noqa: E501  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("podium.json", json.dumps(content | more))
    return path


def refusal(path):
    with pytest.raises(InputError) as caught:
        load(path)
    return str(caught.value)


def test_the_next_format_is_refused_and_older_ones_are_read(tmp_path):
    for number in (0, 1):
        assert load(written(tmp_path / "m.podium", number=number)).prior == 2.0
    path = written(tmp_path / "m.podium", number=2)
    assert refusal(path) == f"{path}: written by the newer podium 9.9; this is {podium.__version__}: upgrade podium"


def test_a_header_holds_a_model_and_nothing_less(tmp_path):
    """What is read may still be none: a date beside the name of a class."""
    nothing = "not a podium model file, or a damaged one (it holds no model)"
    for model in (7, [1], {"tuple": []}, {"object": "WinRate", "tuple": []}, {"object": "x", "date": "2026-01-02"},
                  {"ranker": "x", "objects": [], "shape": [0]}, {"object": "x", "float": "nan"}):  # fmt: skip
        path = written(tmp_path / "m.podium", model=model)
        assert refusal(path) == f"{path}: {nothing}"


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (FileNotFoundError(2, "No such file"), "no such file"),
        (PermissionError(13, "Permission denied"), "cannot be read: Permission denied"),
        (OSError("odd"), "cannot be read: odd"),
        (InputError("it lacks something"), "it lacks something"),
        (KeyError(), "not a podium model file, or a damaged one (KeyError)"),
        (ValueError("one\ntwo"), "not a podium model file, or a damaged one (one)"),
        (RecursionError("too deep"), "not a podium model file, or a damaged one (too deep)"),
    ],
)
def test_every_trouble_is_one_sentence_with_the_path(tmp_path, monkeypatch, problem, words):
    def fails(archive, name):
        raise problem

    path = written(tmp_path / "m.podium")
    monkeypatch.setattr(models, "_read", fails)
    assert refusal(path) == f"{path}: {words}"
    with pytest.raises(InputError) as caught:
        load(path)
    assert caught.value.__cause__ is problem


def test_a_sentence_that_begins_with_the_path_is_left_alone(tmp_path, monkeypatch):
    path = written(tmp_path / "m.podium")
    problem = InputError(f"{path}: its own words")

    def fails(archive, name):
        raise problem

    monkeypatch.setattr(models, "_read", fails)
    with pytest.raises(InputError) as caught:
        load(path)
    assert caught.value is problem


# ---- classes and their versions -------------------------------------------------------------------------------------


class Versions:
    state_version = 5
    oldest_read = 2

    @classmethod
    def upgraded(cls, state, version):
        return state | {"from": version}


@pytest.mark.parametrize(
    ("version", "found"),
    [
        (5, {"a": 1}), (4, {"a": 1, "from": 4}), (2, {"a": 1, "from": 2}),
        (1, "the Versions in it was written by an older podium, whose form is no longer read; fit again"),
        (0, "the Versions in it was written by an older podium, whose form is no longer read; fit again"),
        (6, "the Versions in it was written by a newer podium; upgrade podium"),
        (-1, "the Versions in it has version -1; the file is damaged"),
        (4.5, "the Versions in it has version 4.5; the file is damaged"),
        (None, "the Versions in it has version None; the file is damaged"),
        ("5", "the Versions in it has version '5'; the file is damaged"),
    ],
)  # fmt: skip
def test_states_are_read_from_the_oldest_version_that_is(version, found):
    if isinstance(found, dict):
        assert _upgraded(Versions, {"a": 1}, version) == found
        return
    with pytest.raises(InputError) as caught:
        _upgraded(Versions, {"a": 1}, version)
    assert str(caught.value) == found


def test_where_no_oldest_is_named_all_are_read_and_where_no_way_is_none():
    class All:
        state_version = 2

        @staticmethod
        def upgraded(state, version):
            return version

    class Plain:
        pass

    assert _upgraded(All, {}, 0) == 0
    assert _upgraded(All, {}, 1) == 1
    assert _upgraded(Plain, {"a": 1}, 1) == {"a": 1}
    with pytest.raises(InputError, match="written by an older podium"):
        _upgraded(Plain, {}, 0)
    with pytest.raises(InputError, match="written by a newer podium"):
        _upgraded(Plain, {}, 2)


def test_a_file_without_a_version_is_of_the_first(tmp_path):
    path = written(tmp_path / "m.podium", model={"object": "WinRate", "state": {"prior": 2.0}})
    assert refusal(path).endswith(
        "the WinRate in it was written by an older podium, whose form is no longer read; fit again"
    )


def test_options_that_a_state_lacks_are_named(tmp_path):
    path = written(tmp_path / "m.podium", model={"object": "Elo", "version": 3, "state": {"k": 1.0}})
    told = refusal(path)
    import inspect

    missing = [name for name in inspect.signature(podium.Elo).parameters if name != "k"]
    assert told == f"{path}: the Elo in it lacks {', '.join(missing)}; the file is damaged"


def test_only_classes_of_ours_are_named():
    class WinRate:  # of the same name, from elsewhere
        pass

    assert _name_of(WinRate) is None
    assert _name_of(podium.WinRate) == {"object": "WinRate"}
    for value, words in (
        ({"object": "os"}, "the file asks for an unknown class 'os'; upgrade podium, or do not trust the file"),
        ({"object": 5}, "the file asks for an unknown class 5; upgrade podium, or do not trust the file"),
        ({"ranker": "x"}, "it holds a ranker 'x' of another package; install that, and load it again"),
    ):
        with pytest.raises(InputError) as caught:
            _class_of(value)
        assert str(caught.value) == words
    for name, module in models.KNOWN.items():
        assert _class_of({"object": name}).__module__.startswith(module.rpartition(".")[0])


def test_a_ranker_of_another_package_goes_by_what_users_type(tmp_path, monkeypatch):
    from podium import pairwise

    class Theirs(WinRate):
        pass

    monkeypatch.setattr(pairwise, "METHODS", {**pairwise.METHODS, "theirs": "package:Theirs"})
    monkeypatch.setattr(pairwise, "method_of", lambda cls: "theirs" if cls is Theirs else "")
    monkeypatch.setattr(pairwise, "ranker", lambda name: {"theirs": Theirs}[name])
    assert _name_of(Theirs) == {"ranker": "theirs"}
    podium.save(Theirs(prior=3.0), tmp_path / "m.podium")
    again = load(tmp_path / "m.podium")
    assert (type(again), again.prior) == (Theirs, 3.0)


@dataclass
class Value:
    a: int
    b: int = field(default=0, init=False)


class WithState:
    def __setstate__(self, state):
        self.taken = state


class Slots:
    __slots__ = ()


def test_the_state_of_a_value_is_what_it_is_made_of(monkeypatch):
    assert models._state(Value(3)) == {"a": 3}
    assert models._state(WinRate(prior=2.0)) == {"prior": 2.0}
    assert models._state(Slots()) == {}
    monkeypatch.setattr(models, "_class_of", lambda value: {"Value": Value, "WithState": WithState}[value["object"]])
    assert _unpack({"object": "Value", "version": 1, "state": {"a": [1, 2]}}, None) == Value([1, 2])
    again = _unpack({"object": "WithState", "version": 1, "state": {"a": 1}}, None)
    assert again.taken == {"a": 1}
    checked = []
    monkeypatch.setattr(models, "_check_sizes", lambda name, model: checked.append((name, type(model))))
    _unpack({"object": "Value", "version": 1, "state": {"a": 1}}, None)
    _unpack({"object": "WithState", "version": 1, "state": {}}, None)
    assert checked == [("Value", Value), ("WithState", WithState)]


def test_every_class_that_holds_arrays_for_kernels_is_looked_at():
    assert set(models.SIZES) <= set(models.KNOWN)
