"""Change one line of the source at random, run the tests that call it, and name the changes that no test noticed.

python scripts/mutate.py ROOM … [--count N] [--seed S] [--minutes M] [--by-file] [--keep FILE]

ROOM is a folder of src/podium that tests/ has too: pairwise, data, metrics, ordinal, multilabel … A change is one of:
another comparison, another sum or product, another constant, a `not` more or less, `and` for `or`, nothing returned.
All is done in a copy: the tree stays as it is. First the room's tests run once and each notes the functions it calls;
then a change is tried against the tests that call its function, quickest first, until one fails. A change that runs for
much longer than the tests did counts as noticed. With --by-file no test is run first: a change is tried against the
FILES test files of the room that speak of its module most, which is quicker and leaves more survivors to judge.
What survives is printed as a diff, for a person to judge: it may be a
missing test, or a change that alters nothing (the same optimum from another starting point, a limit never reached).
Messages of errors, annotations and compiled kernels are left alone.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import itertools
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "examples", "benchmarks", "papers", "docs", "pyproject.toml", "README.md", "CONTRIBUTING.md")
FIRST_TESTS = (
    12  # most changes are noticed by one of these: from one file, as collecting many takes longer than running
)
FILES = 3  # of tests, with --by-file
MAX_TESTS = 200  # tried against one change, quickest first
COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult, ast.Mod: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One change of one file: the lines `first` to `last` become `text`."""

    path: Path
    first: int
    last: int
    text: str
    before: str
    kind: str
    function: int  # first line of the innermost function around it, decorators included; 0 outside of any


# ---- what may be changed --------------------------------------------------------------------------------------------


def changes(path: Path) -> list[Change]:
    """Every change of a file; `is_python` says whether the file can still be read."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    found = []
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node, new, kind in _nodes(tree):
        around = [f for f in functions if f.body[0].lineno <= node.lineno <= (f.end_lineno or 0)]
        start = max((min([f.lineno, *(d.lineno for d in f.decorator_list)]) for f in around), default=0)
        first, last = node.lineno, node.end_lineno or node.lineno
        head = lines[first - 1].encode()[: node.col_offset].decode()
        tail = lines[last - 1].encode()[node.end_col_offset or 0 :].decode()
        text = f"{head}{new}{tail}"
        before = "".join(lines[first - 1 : last])
        if text != before:
            found.append(Change(path, first, last, text, before, kind, start))
    return found


def is_python(change: Change) -> bool:
    """Whether the file is still Python with the change; asked of those that are tried only, as parsing takes long."""
    lines = change.path.read_text(encoding="utf-8").splitlines(keepends=True)
    try:
        ast.parse("".join([*lines[: change.first - 1], change.text, *lines[change.last :]]))
    except SyntaxError:
        return False
    return True


def _nodes(tree: ast.AST) -> Iterator[tuple[ast.expr, str, str]]:
    for node in _code(tree):
        if isinstance(node, ast.Return):
            if node.value is not None and not (isinstance(node.value, ast.Constant) and node.value.value is None):
                yield node.value, "None", "return"
        elif isinstance(node, ast.expr):
            for new, kind in _others(node):
                yield node, f"({ast.unparse(new)})", kind


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that are run, without what only people read: annotations, messages, names handed out, text."""
    yield node
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Raise | ast.JoinedStr | ast.Assert):
                continue
            if isinstance(child, ast.Assign) and any(
                isinstance(t, ast.Name) and (t.id.startswith("__") or t.id in ("Array", "Floats", "P"))
                for t in child.targets
            ):
                continue
            if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.Expr) and _is_message(child.value):
                continue
            yield from _code(child)


def _is_message(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Call) and "warn" in ast.unparse(value.func))


def _others(node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The same expression with one part of it changed."""
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            if type(op) in COMPARE:
                ops = [*node.ops[:k], COMPARE[type(op)](), *node.ops[k + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators), "comparison"
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        if not isinstance(node.left, ast.Constant | ast.JoinedStr) or not isinstance(node.left.value, str):  # type: ignore[union-attr]
            yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right), "arithmetic"
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values), "and, or"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand, "not" if isinstance(node.op, ast.Not) else "arithmetic"
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse), "not"
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value), "constant"
        elif isinstance(node.value, int):
            yield ast.Constant(node.value + 1), "constant"
        elif isinstance(node.value, float):
            yield ast.Constant(node.value * 2 or 1.0), "constant"


# ---- which tests call which function ---------------------------------------------------------------------------------

NOTE = """
import json, sys, time
CALLED, SPENT, NOW = {}, {}, set()
def _call(frame, event, argument):
    code = frame.f_code
    if code not in NOW and "/src/podium/" in code.co_filename:
        NOW.add(code)
def pytest_runtest_logstart(nodeid, location):
    NOW.clear(); SPENT[nodeid] = time.process_time(); sys.settrace(_call)
def pytest_runtest_logfinish(nodeid, location):
    sys.settrace(None); SPENT[nodeid] = time.process_time() - SPENT[nodeid]
    CALLED[nodeid] = sorted({(code.co_filename, code.co_firstlineno) for code in NOW})
def pytest_unconfigure(config):
    json.dump({"called": CALLED, "spent": SPENT}, open("reach.json", "w"))
"""


def reach(copy: Path, room: str) -> tuple[dict[tuple[str, int], set[str]], dict[str, float]]:
    """The tests that call each function (its file and first line), and the seconds each test takes."""
    (copy / "note_lines.py").write_text(NOTE, encoding="utf-8")
    ask = ["-q", "-p", "no:cacheprovider", "-p", "note_lines", "--hypothesis-seed=0", f"tests/{room}", f"src/podium/{room}"]  # fmt: skip  # noqa: E501
    environment = _environment(copy) | {"PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *ask], cwd=copy, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        print(done.stdout[-3000:], done.stderr[-2000:])
        raise SystemExit(f"the tests of {room} fail before anything is changed")
    kept = json.loads((copy / "reach.json").read_text())
    tests: dict[tuple[str, int], set[str]] = defaultdict(set)
    for test, functions in kept["called"].items():
        for file, line in functions:
            tests[file, line].add(test)
    return tests, kept["spent"]


def _environment(copy: Path) -> dict[str, str]:
    return os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1"}


def tests_of(change: Change, tests: dict[tuple[str, int], set[str]], spent: dict[str, float]) -> list[str]:
    """The tests that call the function of the change, quickest first; those of its file for what stands outside."""
    file = str(change.path)
    found = tests.get((file, change.function), set())
    if not change.function:
        found = set().union(*(called for (name, _), called in tests.items() if name == file))
    return sorted(found, key=lambda test: spent[test])[:MAX_TESTS]


def files_of(change: Change, copy: Path, room: str) -> list[str]:
    """The test files of the room that speak of the changed module most, those named after it first."""
    word = re.compile(rf"\b{change.path.stem.strip('_')}\b|\b{_function_name(change)}\b")
    score = {}
    for file in sorted((copy / "tests" / room).rglob("test_*.py")):
        named = change.path.stem in file.stem or file.stem.removeprefix("test_") in change.path.stem
        score[file.relative_to(copy).as_posix()] = 100 * named + len(word.findall(file.read_text(encoding="utf-8")))
    best = sorted(score, key=lambda name: -score[name])
    return best[:FILES]


def _function_name(change: Change) -> str:
    """The function around the change, as tests would call it."""
    lines = change.path.read_text(encoding="utf-8").splitlines()
    found = [re.match(r"\s*def (\w+)", line) for line in lines[max(change.function - 1, 0) : change.first]]
    return next((each[1] for each in found if each), change.path.stem)


# ---- trying a change ------------------------------------------------------------------------------------------------


def survives(change: Change, tests: list[str], copy: Path, seconds: float) -> bool:
    """Whether every one of the tests passes with the change in place."""
    if not tests:
        return True
    source = change.path.read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    lines[change.first - 1 : change.last] = [change.text]
    change.path.write_text("".join(lines), encoding="utf-8")
    files = Counter(_file(test) for test in tests)
    one = [test for test in tests if _file(test) == files.most_common(1)[0][0]][:FIRST_TESTS]  # a whole file, by file
    try:
        return _pass(one, copy, seconds) and (len(one) == len(tests) or _pass(tests, copy, seconds))
    finally:
        change.path.write_text(source, encoding="utf-8")


def _file(test: str) -> str:
    return test.partition("::")[0]


def _pass(tests: list[str], copy: Path, seconds: float) -> bool:
    child = os.fork()  # what every test imports is there already
    if not child:
        _run(tests, copy, seconds)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def _run(tests: list[str], copy: Path, seconds: float) -> None:
    """In a process of its own: run the tests, and leave with their verdict."""
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 2))
        os.chdir(copy)
        os.environ.update(_environment(copy))
        sys.path[:0] = [str(copy / "src"), str(copy)]
        sys.dont_write_bytecode = True
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        import pytest

        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--hypothesis-seed=0", *tests]))
    finally:
        os._exit(code)


def _preload() -> None:
    """Import once what every test needs; nothing of ours, and nothing that starts threads."""
    for name in ("hypothesis.strategies", "numpy", "pytest", "scipy.sparse.linalg", "scipy.stats", "sklearn.base"):
        importlib.import_module(name)


def diff(change: Change, room: str) -> str:
    """The change as a person reads it."""
    inside = str(change.path).partition("/src/podium/")[2]
    old = "\n".join("  - " + line for line in change.before.rstrip().splitlines())
    new = "\n".join("  + " + line for line in change.text.rstrip().splitlines())
    return f"{inside}:{change.first} ({change.kind})\n{old}\n{new}"


def main() -> None:
    """Read the options, try so many changes of each room, say how many were noticed and name the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="+")
    parser.add_argument("--count", type=int, default=100, help="changes of each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0, help="stop a room after so much of processor time")
    parser.add_argument("--by-file", action="store_true", help="choose tests by the names in their files")
    parser.add_argument("--keep", type=Path, help="keep the verdicts here, a line of JSON each")
    options = parser.parse_args()
    _preload()
    with tempfile.TemporaryDirectory(prefix="mutate-") as place:
        copy = Path(place).resolve()
        for name in COPIED:
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, copy / name)
        for room in options.rooms:
            _try_room(room, copy, options)


def _try_room(room: str, copy: Path, options: argparse.Namespace) -> None:
    tests, spent = ({}, {}) if options.by_file else reach(copy, room)
    rng = random.Random(options.seed)
    possible = [change for path in sorted((copy / "src" / "podium" / room).rglob("*.py")) for change in changes(path)]
    rng.shuffle(possible)
    chosen = list(itertools.islice(filter(is_python, possible), options.count))
    print(f"{room}: {len(chosen)} of {len(possible)} changes, {len(spent) or 'the nearest files of'} tests", flush=True)
    began, killed, tried, unreached = sum(os.times()[:4]), 0, 0, 0
    for change in chosen:
        if sum(os.times()[:4]) - began > 60 * options.minutes:
            break
        against = files_of(change, copy, room) if options.by_file else tests_of(change, tests, spent)
        alive = survives(change, against, copy, 30 + 10 * sum(spent.get(test, 6.0) for test in against))
        tried += 1
        killed += not alive
        unreached += not against
        if alive:
            print(diff(change, room) + ("" if against else "\n  (no test of the room calls this function)"), flush=True)
        if options.keep:
            row = {"room": room, "kind": change.kind, "line": diff(change, room), "noticed": not alive, "tests": len(against)}  # fmt: skip  # noqa: E501
            with options.keep.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    share = f"{100 * killed / tried:.1f} %" if tried else "none"
    print(f"{room}: {killed} of {tried} noticed ({share}); {unreached} called by no test of the room\n", flush=True)


if __name__ == "__main__":
    main()
