"""The script that changes lines at random: what it changes, and that what it calls noticed is."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from scripts import mutate, mutate_again

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


def test_what_the_fewest_tests_reach_is_changed_first_and_each_statement_once(tmp_path):
    path = written(tmp_path)
    reached = {"a": [7, 10, 11, 12, 13, 16], "b": [7, 10, 11, 12, 13], "c": [7, 10], "d": [10]}
    reach = mutate.Reach({test: {"small.py": lines} for test, lines in reached.items()}, {})
    found = [change.first for change in mutate.thin([path], 3, 99, reach)]
    assert (found[0], found[1], found[-1]) == (19, 16, 10), "reached by none, one and four"
    assert len(found) == len(set(found)), "a line each"
    assert [change.first for change in mutate.thin([path], 3, 2, reach)] == found[:2]


AT_IMPORT = """
def marked(times):
    def mark(function):
        function.times = times + 1
        return function
    return mark

@marked(2)
def played():
    return 5
"""
TESTS_AT_IMPORT = """
from podium.small import played

def test_played():
    assert (played(), played.times) == (5, 3)
"""


def test_what_runs_when_a_module_is_imported_is_tried_too(tmp_path):
    written(tmp_path).write_text(AT_IMPORT)
    (tmp_path / "tests/test_small.py").write_text(TESTS_AT_IMPORT)
    quick = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    asked = [sys.executable, mutate.__file__, "small", "--root", str(tmp_path), "--count", "99"]
    said = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=tmp_path, env=quick).stdout
    assert "small: 7 of 7 noticed" in said, said


def test_survivors_are_tried_against_the_tests_of_other_rooms(tmp_path):
    path, kept = written(tmp_path), tmp_path / "kept.jsonl"
    (tmp_path / "tests/other").mkdir()
    (tmp_path / "tests/other/test_never.py").write_text(
        "from podium.small import never\n\ndef test_never():\n    assert never(1) == 2\n"
        "def test_that_fails_anyhow():\n    assert never(1) == 3\n"
    )
    changes = [change for change in map(str, mutate.changes(path)) if "a - 1" in change or "a >= b" in change]
    assert len(changes) == 2
    kept.write_text("".join(json.dumps({"room": "small", "change": each, "noticed": False}) + "\n" for each in changes))
    asked = [sys.executable, "-m", mutate_again.__name__, str(kept), "--root", str(tmp_path), "--jobs", "1"]
    root = Path(mutate.__file__).parent.parent
    done = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=root)
    assert "FAILED tests/other/test_never.py::test_never" in done.stdout  # not by the test that fails anyhow
    assert done.stdout.endswith("1 of 2 noticed, 1 of them by tests that were not tried before\n")
    assert path.read_text() == SMALL
