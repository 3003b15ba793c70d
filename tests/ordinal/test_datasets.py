"""Loaders of graded data read a copy from a folder and bin it as the paper does."""

import pytest

from podium.datasets import load_graded
from podium.errors import InputError


def test_abalone_s_rings_become_four_grades(tmp_path, monkeypatch):
    rows = "\n".join(f"M,1,2,3,4,5,6,7,{rings}" for rings in (1, 7, 8, 9, 10, 12, 13, 29))
    (tmp_path / "abalone.csv").write_text(f"sex,a,b,c,d,e,f,g,rings\n{rows}\n")
    X, y = load_graded("abalone", tmp_path)
    assert y.tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert X[0].tolist() == [1, 0, 0, 1, 2, 3, 4, 5, 6, 7]
    monkeypatch.setenv("PODIUM_DATA", str(tmp_path))
    assert load_graded("abalone")[1].tolist() == y.tolist()


def test_california_s_values_become_five_grades(tmp_path):
    rows = "\n".join(f"1,2,3,4,5,6,7,8,{value}" for value in (14999, 100000, 100001, 300000, 400000, 400001, 500001))
    (tmp_path / "california_housing.csv").write_text(f"a,b,c,d,e,f,g,h,v\n{rows}\n")
    assert load_graded("california", tmp_path)[1].tolist() == [1, 1, 2, 3, 4, 5, 5]


def test_parkinsons_leaves_out_what_gives_the_answer_away(tmp_path):
    (tmp_path / "parkinsons_updrs.csv").write_text(
        "subject#,age,motor_UPDRS,total_UPDRS,PPE\n"
        + "\n".join(f"9,70,8,{v},0.5" for v in (7, 17.9, 18, 27.5, 38, 54.992))
    )
    X, y = load_graded("parkinsons", tmp_path)
    assert y.tolist() == [1, 1, 2, 2, 4, 4]
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
