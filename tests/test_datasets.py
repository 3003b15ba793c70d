"""Loaders read a copy from a folder, or what the source sends, and bin grades as the paper does."""

import io
import warnings
import zipfile

import numpy as np
import pytest
from scipy import sparse

from podium.datasets import load_graded, load_multilabel
from podium.errors import InputError


@pytest.fixture
def source(monkeypatch):
    """What the original source would send, by address; how long each was waited for."""
    sends, waited = {}, []

    def urlopen(url, timeout):
        waited.append(timeout)
        if url not in sends:
            raise OSError("no such host")
        return io.BytesIO(sends[url])

    monkeypatch.delenv("PODIUM_DATA", raising=False)
    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    return sends, waited


def zipped(name, text):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("Readme", "not this one")
        archive.writestr(name, text)
    return packed.getvalue()


def test_abalone_s_rings_become_four_grades(tmp_path, monkeypatch):
    rows = "\n".join(f"M,1,2,3,4,5,6,7,{rings}" for rings in (1, 7, 8, 9, 10, 12, 13, 29))
    (tmp_path / "abalone.csv").write_text(f"sex,a,b,c,d,e,f,g,rings\n{rows}\n")
    X, y = load_graded("abalone", tmp_path)
    assert y.tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert X[0].tolist() == [1, 0, 0, 1, 2, 3, 4, 5, 6, 7]
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path))
    assert load_graded("abalone")[1].tolist() == y.tolist()


def test_california_s_values_become_five_grades(tmp_path):
    rows = "\n".join(
        f"1,2,3,4,5,6,7,8,{value}" for value in (14999, 1e5, 100001, 2e5, 200001, 3e5, 300001, 4e5, 400001)
    )
    (tmp_path / "california_housing.csv").write_text(f"a,b,c,d,e,f,g,h,v\n{rows}\n1,,3,4,5,6,7,8,9\n")  # one with a gap
    X, y = load_graded("california", tmp_path)
    assert y.tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5]
    assert X.tolist() == [[1, 2, 3, 4, 5, 6, 7, 8]] * 9


def test_parkinsons_leaves_out_what_gives_the_answer_away(tmp_path):
    (tmp_path / "parkinsons_updrs.csv").write_text(
        "subject#,age,motor_UPDRS,total_UPDRS,PPE\n"
        + "\n".join(f"9,70,8,{v},0.5" for v in (7, 17.9, 18, 27.5, 28, 37.9, 38, 54.992))
    )
    X, y = load_graded("parkinsons", tmp_path)
    assert y.tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert X[0].tolist() == [70, 0.5]


def test_relevance_from_0_to_4_becomes_grades_from_1_to_5(tmp_path):
    (tmp_path / "msn1.fold1.train.5k.txt").write_text("0 qid:1 1:3 2:1\n4 qid:1 1:0 2:5\n")
    X, y = load_graded("mslr", tmp_path)
    assert y.tolist() == [1, 5]
    assert X.tolist() == [[3, 1], [0, 5]]


def test_what_is_not_there_is_said(tmp_path, monkeypatch):
    with pytest.raises(InputError, match="does not exist"):
        load_graded("abalone", tmp_path)
    with pytest.raises(InputError, match="choose among abalone"):
        load_graded("wine")
    monkeypatch.delenv("PODIUM_DATA", raising=False)
    with pytest.raises(InputError, match="licence"):
        load_graded("mslr")


def test_california_without_a_copy_comes_from_scikit_learn_in_dollars(source, monkeypatch):
    table = np.arange(24.0).reshape(3, 8), np.array([0.9, 1.0, 5.0])  # in hundreds of thousands
    monkeypatch.setattr(
        "sklearn.datasets.fetch_california_housing", lambda *, return_X_y: table if return_X_y else None
    )
    X, y = load_graded("california")
    assert X.tolist() == table[0].tolist()
    assert y.tolist() == [1, 1, 5]


def test_abalone_without_a_copy_comes_from_its_source_where_no_row_has_names(source):
    sends, waited = source
    rows = "M,1,2,3,4,5,6,7,7\nF,2,2,3,4,5,6,7,8\nI,3,2,3,4,5,6,7,13\n"
    sends["https://archive.ics.uci.edu/static/public/1/abalone.zip"] = zipped("abalone.data", rows)
    X, y = load_graded("abalone")
    assert y.tolist() == [1, 2, 4]
    assert X.tolist() == [[*sex, each, 2, 3, 4, 5, 6, 7] for each, sex in enumerate(np.eye(3).tolist(), start=1)]
    assert waited == [60]


def test_parkinsons_without_a_copy_comes_from_its_source_where_the_first_row_names_columns(source):
    sends, _ = source
    table = "subject#,age,motor_UPDRS,total_UPDRS,PPE\n9,70,8,7,0.5\n9,71,8,30,0.5\n"
    address = "https://archive.ics.uci.edu/static/public/189/parkinsons+telemonitoring.zip"
    sends[address] = zipped("parkinsons_updrs.data", table)
    X, y = load_graded("parkinsons")
    assert X.tolist() == [[70, 0.5], [71, 0.5]]
    assert y.tolist() == [1, 3]


def test_a_source_that_does_not_answer_is_named_with_the_way_out(source):
    with pytest.raises(
        InputError, match=r"^cannot download https://.*abalone\.zip: no such host; pass data=, a folder"
    ):
        load_graded("abalone")


ABALONE = "sex,a,b,c,d,e,f,g,rings\n"


@pytest.mark.parametrize(
    ("name", "file", "text", "words"),
    [
        ("california", "california_housing.csv", "a,b,c,d,e,f,g,h,v\n", "get it anew"),
        ("abalone", "abalone.csv", ABALONE, "it holds no rows"),
        ("abalone", "abalone.csv", ABALONE + "M,1,2,3,4,5,6,7,8\nM,1,,3,4,5,6,7,8\n", "row 2: a feature is no number"),
        ("abalone", "abalone.csv", ABALONE + "M,1,2,3,4,5,6,7,\nM,1,2,3,4,5,6,7,8\n", "row 1: the grade is no number"),
        ("mslr", "msn1.fold1.train.5k.txt", "0 1:3\n4 1:3\n5 1:3\n", "row 3: the relevance 5 is none of 0, 1, 2, 3, 4"),
        ("mslr", "msn1.fold1.train.5k.txt", "-1 qid:1 1:3\n4 qid:1 1:3\n", "row 1: the relevance -1 is none of"),
        ("parkinsons", "parkinsons_updrs.csv", "a,b\n1,2\n", "get it anew"),
    ],
)  # fmt: skip
def test_a_copy_that_is_another_file_is_refused_with_the_reason(tmp_path, name, file, text, words):
    (tmp_path / file).write_text(text)
    with pytest.raises(InputError, match=rf"^the copy of {name} is not what was published, or is damaged \(.*{words}"):
        load_graded(name, tmp_path)


def test_every_relevance_from_0_to_4_is_a_grade(tmp_path):
    (tmp_path / "msn1.fold1.train.5k.txt").write_text("".join(f"{each} qid:1 1:3\n" for each in range(5)))
    _, y = load_graded("mslr", tmp_path)
    assert y.tolist() == [1, 2, 3, 4, 5]
    assert y.dtype == np.int64


def packed_labels(folder, name="scene", **other):
    """A file as `load_multilabel` reads it, of two tables written out here."""
    X, Y = sparse.csr_array([[0, 1.5, 0], [2.5, 0, 0]]), sparse.csr_array([[1, 0], [1, 1]])
    held = {f"X_{part}": getattr(X, part) for part in ("data", "indices", "indptr", "shape")}
    held |= {f"Y_{part}": getattr(Y, part) for part in ("indices", "indptr", "shape")}
    np.savez(folder / f"{name}.npz", **{**held, "n_train": 1, **other})


@pytest.mark.parametrize("name", ["emotions", "scene", "yeast", "bibtex", "delicious"])
def test_labels_come_as_two_tables_and_the_size_of_the_training_split(tmp_path, monkeypatch, name):
    packed_labels(tmp_path, name)
    X, Y, n_train = load_multilabel(name, tmp_path)
    assert X.toarray().tolist() == [[0, 1.5, 0], [2.5, 0, 0]]
    assert Y.toarray().tolist() == [[1, 0], [1, 1]]
    assert n_train == 1
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path))
    assert load_multilabel(name)[0].toarray().tolist() == X.toarray().tolist()


@pytest.mark.parametrize(
    "other",
    [{"X_indices": np.array([1, 3])}, {"Y_indices": np.array([0, 0, 2])}, {"X_indptr": np.array([0, 2, 1])},
     {"Y_indptr": np.array([0, 1])}, {"X_data": np.array([None, 1.5], dtype=object)},
     {"n_train": np.array(1, dtype=object)}],  # what has to be unpickled may be a program
    ids=lambda other: next(iter(other)),
)  # fmt: skip
def test_tables_of_labels_that_do_not_fit_together_are_refused(tmp_path, other):
    packed_labels(tmp_path, **other)
    with pytest.raises(InputError, match="the copy of scene is not what was published, or is damaged"):
        load_multilabel("scene", tmp_path)


@pytest.mark.parametrize("name", ["mirflickr", None, ["scene"]])
def test_labels_that_are_not_known_or_not_there_are_said(tmp_path, monkeypatch, name):
    with pytest.raises(InputError, match="choose among emotions, scene, yeast, bibtex, delicious"):
        load_multilabel(name, tmp_path)
    with pytest.raises(InputError, match="choose among abalone, california, parkinsons, mslr"):
        load_graded(name, tmp_path)
    with pytest.raises(InputError, match=r"scene\.npz does not exist"):
        load_multilabel("scene", tmp_path)
    monkeypatch.delenv("PODIUM_DATA", raising=False)
    with pytest.raises(InputError, match=r"name a folder with scene\.npz"):
        load_multilabel("scene")


def test_a_label_that_no_row_has_is_a_column_all_the_same(tmp_path):
    packed_labels(tmp_path, Y_shape=np.array([2, 4]), X_shape=np.array([2, 5]))
    X, Y, _ = load_multilabel("scene", tmp_path)
    assert (X.shape, Y.shape) == ((2, 5), (2, 4))
    assert Y.toarray().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0]]


def test_a_folder_that_is_given_comes_before_that_of_the_environment(tmp_path, monkeypatch):
    there, here = tmp_path / "there", tmp_path / "here"
    for folder, relevance in ((there, 1), (here, 3)):
        folder.mkdir()
        (folder / "msn1.fold1.train.5k.txt").write_text(f"{relevance} qid:1 1:3\n")
    monkeypatch.setenv("PODIUM_DATA", str(there))
    assert load_graded("mslr", here)[1].tolist() == [4]
    assert load_graded("mslr")[1].tolist() == [2]


def test_an_empty_table_is_refused_without_a_warning_of_another_package(tmp_path):
    (tmp_path / "california_housing.csv").write_text("a,b,c,d,e,f,g,h,v\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match="the copy of california is not what was published") as told:
            load_graded("california", tmp_path)
    assert not isinstance(told.value.__cause__, Warning)
