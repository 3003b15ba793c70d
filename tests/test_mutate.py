"""The script that changes lines at random: what it changes, and that what it calls noticed is."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from scripts import mutate

SMALL = '''
"""A module of 7 lines."""
LIMIT = 3

def larger(a: int, b: int) -> int:
    """The larger one of 2."""
    return a if a > b else b

def capped(values: list[int], most: int) -> list[int]:
    if not values:
        raise ValueError("give 1 value or more, not " + str(0))
    kept = sorted(values, reverse=True)
    return kept[:min(LIMIT, most)]

def never(a):
    return a + 1

def apart():
    return 3
'''
TESTS = """
import subprocess
import sys
import pytest
from podium.small import capped, larger

def test_larger():
    assert [larger(1, 2), larger(2, 1)] == [2, 2]

def test_capped():
    assert capped([1, 4, 2, 3, 5], 9) == [5, 4, 3]
    assert capped([1, 2], 1) == [2]
    with pytest.raises(ValueError, match="1 value"):
        capped([], 1)

def test_apart():
    code = "from podium.small import apart; assert apart() == 3"
    subprocess.run([sys.executable, "-c", code], check=True)
"""


def written(tmp_path):
    for name, text in {
        "src/podium/__init__.py": "",
        "src/podium/small.py": SMALL,
        "tests/test_small.py": TESTS,
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "src/podium/small.py"


def test_each_kind_of_change_is_made_and_nothing_that_only_people_read_is_changed(tmp_path):
    path = written(tmp_path)
    found = mutate.changes(path)
    assert Counter(change.kind for change in found) == {
        "constant": 4,  # LIMIT, reverse, + 1, 3
        "comparison": 1,
        "not": 2,  # `a if not a > b`, `if values`
        "statement removed": 1,  # the refusal
        "keyword left out": 1,
        "value returned": 4,
        "arithmetic": 1,
    }
    lines = SMALL.splitlines()
    for change in found:
        assert mutate.is_python(change)
        changed = change.source().splitlines()
        assert len(changed) == len(lines)
        assert [line for line, old in zip(changed, lines, strict=True) if line != old] == [change.text.rstrip("\n")]


def test_a_statement_over_several_lines_keeps_its_number_of_lines(tmp_path):
    path = tmp_path / "src.py"
    path.write_text("def f(a):\n    a.append(\n        1\n    )\n    return (\n        a ==\n        2\n    )\n")
    for change in mutate.changes(path):
        assert mutate.is_python(change), change
        assert change.source().count("\n") == 8


def test_survivors_are_what_no_test_can_tell_and_what_none_reaches(tmp_path):
    written(tmp_path)
    quick = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    asked = [sys.executable, mutate.__file__, "small", "--root", str(tmp_path), "--count", "99", "--lines"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=tmp_path, env=quick).stdout
    survivors = [line[4:].strip() for line in said.splitlines() if line.startswith("  + ")]
    assert sorted(survivors) == [
        "return (None)",  # never is never called
        "return (a - 1)",
        "return a + (2)",
        "return a if (a >= b) else b",  # the same
    ]
    assert "small: 10 of 14 noticed (71.4 %), 3 reached by no test" in said
    assert "not reached: 16, 19" in said  # the second in a process of its own
    assert Path(tmp_path / "src/podium/small.py").read_text() == SMALL
