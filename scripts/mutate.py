"""Change one place of the source at random, run the tests that reach it, and name the changes that no test noticed.

python scripts/mutate.py ROOM … [--count N] [--seed S] [--minutes M] [--seconds T] [--slow T] [--thin] [--tests PATH …]

ROOM is a folder or module of src/podium: pairwise, data, data/pairs, models … A change is one of: another
comparison, another sum or product, another constant, `and` for `or`, a `not` more or less, a statement removed, another
value returned, two arguments swapped, a keyword left out. What only people read is left alone (messages, annotations,
docstrings, `__repr__`), and so are compiled kernels, which have slow twins in the tests.

All is done in a copy: the tree stays as it is. One process collects the tests of the room once (those of BESIDE too, or
those of --tests instead) and forks from there. First every test runs and notes the lines it reaches, which is kept in
build/mutate until source or test changes; then each change is put into the functions in memory, and into the file for
processes that tests start, and the tests that reach it run, quickest first, until one fails. So a change takes a second
or two; a little longer where a process cannot be forked (see `Cold`). One that runs for much longer than the tests did
counts as noticed. Tests that take longer than --slow seconds are left out: with a small number a busy machine has a
first list quickly, and what survives there is tried again against all tests: see `scripts/mutate_again.py`.
What survives is printed as a diff, for a person to judge: it may be a missing test, or a change that alters nothing
(the same optimum from another starting point, a limit never reached). With --thin those statements are changed, once
each, that the fewest tests reach: much of that survives, so it finds missing tests, but it is no fair share. With
--lines the modules are listed with the share of their functions' lines that the tests reach.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import gc
import hashlib
import importlib
import itertools
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TextIO

import pytest

PACKAGE = "podium"
COPIED = ("src", "tests", "examples", "benchmarks", "papers", "docs", "scripts", "pyproject.toml", "README.md",
          "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "Containerfile")  # fmt: skip
COMPARE = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult, ast.Mod: ast.Add, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
BESIDE = {  # tests of a room that stand elsewhere, beside REFUSALS
    "metrics": ["cli/test_metrics.py"],
    "pairwise": [
        *("data/test_kept.py", "evaluate/test_league.py", "evaluate/test_nested.py", "cli/test_surveys.py"),
        *("test_models.py", "test_golden.py"),
    ],
    "ranking": [
        *("kernels/test_uncertainty.py", "pairwise/test_std_errors.py", "pairwise/test_spreads.py"),
        *("pairwise/test_plackett_luce.py", "pairwise/test_base.py", "evaluate/test_feature_diagnosis.py"),
        "test_models.py",
    ],
    "data": [
        "test_hostile_labels.py",
        "cli/test_spreadsheets.py",
        "cli/test_features.py",
        "pairwise/test_dynamic_features.py",
    ],
    "ordinal": ["cli/test_grade.py", "cli/test_grade_more.py"],
    "multilabel": ["cli/test_label.py"],
    "evaluate": ["cli/test_check.py", "cli/test_diff.py"],
    "active": ["cli/test_ask.py", "cli/test_plan.py", "cli/test_simulate.py"],
    "campaign": ["cli/test_campaign.py"],
    "cli": [
        *("campaign/test_marks.py", "evaluate/test_nested.py", "web/test_serve.py", "judge/test_remote.py"),
        *("show/test_embed.py", "show/test_report.py", "show/test_report_board.py", "show/test_report_time.py"),
        *("data/test_arena.py", "metrics/test_trec.py", "test_hostile_labels.py"),
    ],
    "judge": ["cli/test_judge.py"],
    "show": ["evaluate/test_feature_diagnosis.py", "cli/test_grade.py"],
    "store": ["campaign"],
    "models": ["test_golden.py"],
    "numeric": ["metrics/test_comparing.py", "kernels/test_small_solves.py", "evaluate/test_assessment.py", "ranking"],
    "text": ["ranking/test_ranking.py"],
}
REFUSALS = "test_refusals.py"
HEAVY = (
    "hypothesis.strategies",
    "numpy",
    "polars",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "scipy.stats",
    "sklearn.base",
)
FIRST_TESTS = 12
ELSEWHERE = 77  # exit status: the change is not one of functions alone
CANNOT_MATTER = {"strict", "stacklevel", "copy", "exist_ok"}  # keywords that only check, or only save time
SYMMETRIC = {
    "max",
    "min",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "gcd",
    "logaddexp",
    "array_equal",
    "union1d",
    "isinstance",
    "and_",
    "or_",
    "UniqueConstraint",
}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)
FOR_TYPES = {"cast", "TypeVar", "ParamSpec", "NewType", "namedtuple"}


@dataclass(frozen=True)
class Change:
    """One change of one file: the lines `first` to `last` become `text`, which has as many lines."""

    path: Path
    first: int
    last: int
    text: str
    before: str
    kind: str
    statement: range  # lines of the statement around it, without the block below it
    in_function: bool

    def source(self) -> str:
        """The whole file with the change."""
        lines = self.path.read_text(encoding="utf-8").splitlines(keepends=True)
        return "".join([*lines[: self.first - 1], self.text, *lines[self.last :]])

    def __str__(self) -> str:
        """The change as a person reads it."""
        old = "\n".join("  - " + line for line in self.before.rstrip().splitlines())
        new = "\n".join("  + " + line for line in self.text.splitlines() if line.strip(" ()") or line in self.before)
        return f"{inside(self.path)}:{self.first} ({self.kind})\n{old}\n{new}"


# ---- what may be changed --------------------------------------------------------------------------------------------


def changes(path: Path) -> list[Change]:
    """Every change of a file that leaves it Python."""
    source = path.read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    found = []
    tree = ast.parse(source)
    functions = [
        range(node.body[0].lineno, (node.end_lineno or 0) + 1) for node in ast.walk(tree) if isinstance(node, FUNCTION)
    ]
    for node, statement, new, kind in _nodes(tree):
        first, last = node.lineno, node.end_lineno or node.lineno
        head = lines[first - 1].encode()[: node.col_offset].decode()
        tail = lines[last - 1].encode()[node.end_col_offset or 0 :].decode()
        below = "\n" * (last - first)
        text = f"{head}({new}{below}){tail}" if isinstance(node, ast.expr) else f"{head}{new}{tail}{below}"
        before = "".join(lines[first - 1 : last])
        if text.strip() != before.strip():
            found.append(
                Change(path, first, last, text, before, kind, statement, any(first in each for each in functions))
            )
    return found


def draw(files: list[Path], seed: int, count: int) -> list[Change]:
    """So many changes of these files, at random."""
    return list(itertools.islice(filter(is_python, _shuffled(files, seed)), count))


def thin(files: list[Path], seed: int, count: int, reach: Reach) -> list[Change]:
    """One change for each of so many statements, those that the fewest tests reach first."""
    reached = {path: reach.reached(path) for path in files}
    of_statement = {(each.path, each.statement): each for each in _shuffled(files, seed) if each.in_function}

    def tests(change: Change) -> int:
        return max(reached[change.path][line] for line in change.statement)

    return list(itertools.islice(filter(is_python, sorted(of_statement.values(), key=tests)), count))


def _shuffled(files: list[Path], seed: int) -> list[Change]:
    possible = [change for path in files for change in changes(path)]
    random.Random(seed).shuffle(possible)
    return possible


def is_python(change: Change) -> bool:
    """Whether the file is still Python with the change; asked of those that are tried only, as parsing takes long."""
    try:
        ast.parse(change.source())
    except SyntaxError:
        return False
    return True


def _nodes(tree: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, range, str, str]]:
    statement = range(0)
    for node in _code(tree):
        if isinstance(node, ast.stmt):
            block = getattr(node, "body", None)
            end = block[0].lineno if isinstance(block, list) and block else (node.end_lineno or node.lineno) + 1
            statement = range(node.lineno, max(end, node.lineno + 1))
            if _may_go(node):
                yield node, statement, "pass", "statement removed"
            if isinstance(node, ast.Return) and node.value is not None:
                for value in _other_values(node.value):
                    yield node.value, statement, value, "value returned"
            if isinstance(node, ast.If | ast.While) and not isinstance(
                node.test, ast.Compare | ast.BoolOp | ast.UnaryOp
            ):
                yield node.test, statement, f"not ({ast.unparse(node.test)})", "not"
        elif isinstance(node, ast.expr):
            for new, kind in _others(node):
                yield node, statement, ast.unparse(new), kind


def _code(node: ast.AST) -> Iterator[ast.AST]:
    """Nodes that are run, without what only people read: annotations, messages, names handed out, text."""
    yield node
    if isinstance(node, ast.Raise | ast.Assert):
        return
    for name, field in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_params", "bases"):
            continue
        for child in field if isinstance(field, list) else [field]:
            if isinstance(child, ast.AST) and not _for_people(child):
                yield from _code(child)


def _for_people(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign):
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        return any(name.startswith("__") or name in ("Array", "Floats", "P", "T") for name in names)
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    if isinstance(node, ast.FunctionDef):
        return node.name == "__repr__" or any("overload" in ast.unparse(each) for each in node.decorator_list)
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) or _called(node.value) == "warn"
    if isinstance(node, ast.keyword):
        return node.arg in CANNOT_MATTER
    return isinstance(node, ast.JoinedStr) or _called(node) in FOR_TYPES or _called(node).endswith(("Error", "Warning"))


def _called(node: ast.AST) -> str:
    """The last name of what is called, of `warnings.warn(…)` "warn"."""
    return ast.unparse(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""


def _may_go(node: ast.stmt) -> bool:
    """Statements whose loss is not seen at once, as that of a name would be."""
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets)
    return isinstance(node, ast.AugAssign | ast.Raise | ast.Continue | ast.Break | ast.Delete) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await)
    )


def _other_values(value: ast.expr) -> Iterator[str]:
    if isinstance(value, ast.Compare | ast.BoolOp) or (
        isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    ):
        yield from ("True", "False")
    elif not (isinstance(value, ast.Constant) and value.value is None):
        yield "None"


def _others(node: ast.expr) -> Iterator[tuple[ast.expr, str]]:
    """The same expression with one part of it changed."""
    if isinstance(node, ast.Compare):
        for k, op in enumerate(node.ops):
            if type(op) in COMPARE:
                ops = [*node.ops[:k], COMPARE[type(op)](), *node.ops[k + 1 :]]
                yield ast.Compare(node.left, ops, node.comparators), "comparison"
    elif isinstance(node, ast.BinOp) and type(node.op) in ARITHMETIC:
        if not any(isinstance(side, ast.JoinedStr) or _is_text(side) for side in (node.left, node.right)):
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
    elif isinstance(node, ast.Call):
        yield from _other_calls(node)


def _other_calls(node: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    first = node.args[:2]
    if len(first) == 2 and not any(isinstance(each, ast.Starred) for each in first) and _called(node) not in SYMMETRIC:
        yield ast.Call(node.func, [*reversed(first), *node.args[2:]], node.keywords), "arguments swapped"
    for k, keyword in enumerate(node.keywords):
        if keyword.arg and keyword.arg not in CANNOT_MATTER:
            yield ast.Call(node.func, node.args, [*node.keywords[:k], *node.keywords[k + 1 :]]), "keyword left out"


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


# ---- which tests reach which line -----------------------------------------------------------------------------------

Lines = dict[str, list[int]]  # of each file
OTHER_PROCESS = "another process"  # in place of a file, of a test that starts one


@dataclass
class Reach:
    """What each test of a room reaches, and the seconds it takes."""

    lines: dict[str, Lines]
    spent: dict[str, float]

    def near(self, change: Change) -> list[str]:
        """The tests that reach the change's statement.

        What stands outside of functions has run before any test: there, all that reach the file, or all where the file
        has no function that is reached (a module of tables).
        """
        file, wanted = inside(change.path), set(change.statement)
        if not change.in_function:
            return [test for test, lines in self.lines.items() if file in lines] or list(self.lines)
        return [test for test, lines in self.lines.items() if not wanted.isdisjoint(lines.get(file, ()))]

    def tests(self, change: Change, most: float) -> list[str]:
        """Those to try against a change, quickest first, for at most so many seconds.

        What none reaches, a process may that a test starts, where no notes are taken, or the import of the file, as a
        function does that makes a decorator: there, those that start one or reach the file.
        """
        elsewhere = {OTHER_PROCESS, inside(change.path)}
        near = self.near(change) or [test for test, lines in self.lines.items() if not elsewhere.isdisjoint(lines)]
        own = change.path.stem.strip("_")
        near.sort(key=lambda test: self.spent[test] * (1.0 if own in test.partition("::")[0] else 2.0))
        total = itertools.accumulate(self.spent[test] for test in near)
        return [test for test, seconds in zip(near, total, strict=True) if seconds <= most] or near[:1]

    def reached(self, path: Path) -> Counter[int]:
        """Lines of a file that any test reaches, each with how many do."""
        return Counter(line for lines in self.lines.values() for line in lines.get(inside(path), ()))


def inside(path: str | Path) -> str:
    """The path of a module within the package."""
    return str(path).partition(f"/src/{PACKAGE}/")[2]


class Noting(ast.NodeTransformer):
    """Statements inside functions say first that they are reached, `__seen__((file, line))`: all, or some lines."""

    def __init__(self, file: str, lines: set[int] | None = None) -> None:
        self.file, self.lines, self.depth = file, lines, 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Go inside."""
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Every block of statements, once inside a function."""
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody") if self.depth else ():
            block = getattr(node, name, None)
            if isinstance(block, list):
                setattr(node, name, [each for statement in block for each in (*self._note(statement), statement)])
        return node

    def _note(self, statement: ast.stmt) -> Iterator[ast.stmt]:
        if self.lines is not None and statement.lineno not in self.lines:
            return
        note = ast.parse(f"__seen__(({self.file!r}, {statement.lineno}))").body[0]
        for each in ast.walk(note):
            ast.copy_location(each, statement)
        yield note


class SlowError(Exception):
    """A test takes longer than asked for."""


def noting(files: list[Path], lines: dict[str, set[int]] | None = None) -> set[tuple[str, int]]:
    """Put notes into the functions of these files, or at some lines; those reached from now on are in the set."""
    seen: set[tuple[str, int]] = set()
    builtins.__dict__["__seen__"] = seen.add

    def started(event: str, details: object) -> None:
        if event in ("subprocess.Popen", "os.fork", "os.posix_spawn"):
            seen.add((OTHER_PROCESS, 0))

    sys.addaudithook(started)
    for path in files:
        name = ".".join(path.with_suffix("").parts[path.parts.index("src") + 1 :])
        with contextlib.suppress(ImportError):  # of what is not installed
            importlib.import_module(name.removesuffix(".__init__"))
        wanted = None if lines is None else lines.get(inside(path))
        tree = Noting(inside(path), wanted).visit(ast.parse(path.read_text(encoding="utf-8")))
        put(path, compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True))
    return seen


def noted(
    items: list[pytest.Item], session: pytest.Session, seen: set[tuple[str, int]], slow: float
) -> tuple[Reach, list[str]]:
    """Run these tests in this process, each with its notes; name those that fail as it is, or take too long."""

    def stop(number: int, frame: object) -> None:
        raise SlowError

    signal.signal(signal.SIGPROF, stop)
    reach, failing = Reach({}, {}), []
    for item, after in itertools.zip_longest(items, items[1:]):
        seen.clear()
        began, failed = _cpu(), session.testsfailed
        try:
            signal.setitimer(signal.ITIMER_PROF, slow)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
            signal.setitimer(signal.ITIMER_PROF, 0)
        except Exception:  # the signal came to pytest itself, which may have made another error of it
            with contextlib.suppress(Exception):
                session._setupstate.teardown_exact(None)
            session.testsfailed += 1
        if session.testsfailed > failed or _cpu() - began > slow:
            failing.append(item.nodeid)
            continue
        found: Lines = defaultdict(list)
        for file, line in sorted(seen):
            found[file].append(line)
        reach.lines[item.nodeid], reach.spent[item.nodeid] = found, _cpu() - began
    return reach, failing


def _cpu() -> float:
    """Seconds of this process and those it started."""
    return sum(os.times()[:4])


# ---- trying a change ------------------------------------------------------------------------------------------------


def _codes(code: CodeType) -> Iterator[CodeType]:
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield each
            yield from _codes(each)


def _key(code: CodeType) -> tuple[str, int]:
    return code.co_qualname, code.co_firstlineno


def put(path: Path, new: CodeType) -> bool:
    """Put other code into the functions of a module in memory; False if that alone would not be the whole change."""
    file = str(path)
    if not any(getattr(module, "__file__", None) == file for module in list(sys.modules.values())):
        return True  # whoever imports it reads the changed file
    old = compile(path.read_text(encoding="utf-8"), file, "exec", dont_inherit=True)
    before, after = {_key(code): code for code in _codes(old)}, {_key(code): code for code in _codes(new)}
    changed = {key for key in before if key not in after or before[key] != after[key]}
    living: dict[tuple[str, int], list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if type(each) is FunctionType and each.__code__.co_filename == file:
            living[_key(each.__code__)].append(each)
    whole = any(key in living for key in changed) and _own(old) == _own(new)
    for key in changed:
        for function in living.get(key, ()):
            try:
                function.__code__ = after[key]
            except (KeyError, ValueError):
                whole = False
    return whole


def _own(code: CodeType) -> list[object]:
    """What a module's first run does, class bodies and defaults too, without the functions in it."""
    found: list[object] = [code.co_code, [each for each in code.co_consts if not isinstance(each, CodeType)]]
    inner = [each for each in code.co_consts if isinstance(each, CodeType)]
    classes = [each for each in inner if {"__module__", "__qualname__"} <= set(each.co_names)]
    return [*found, *map(_own, classes)]


def import_heavy() -> None:
    """What tests import when they first need it: once here, not in every process that is forked."""
    for name in HEAVY:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


@dataclass
class Cold:
    """A process that has imported what every test needs, nothing of ours, and forks one for each question.

    For what a process with everything collected cannot do: a change outside of functions, and tests with Polars, whose
    threads do not follow a fork.
    """

    ask: TextIO
    answer: TextIO

    @classmethod
    def start(cls, room: Room) -> Cold:
        """Fork it while nothing is collected."""
        (there, ask), (answer, back) = os.pipe(), os.pipe()
        if not os.fork():
            os.close(ask)
            os.close(answer)
            import_heavy()
            with os.fdopen(there) as questions, os.fdopen(back, "w") as answers:
                for line in questions:
                    question = json.loads(line)
                    print(
                        _in_child(lambda question=question: room.answer(question), question["seconds"]),
                        file=answers,
                        flush=True,
                    )
            os._exit(0)
        os.close(there)
        os.close(back)
        return cls(os.fdopen(ask, "w"), os.fdopen(answer))

    def run(self, tests: list[str], seconds: float, note: bool = False) -> int:
        """The exit status of these tests on the files as they are now."""
        print(json.dumps({"tests": tests, "seconds": seconds, "note": note}), file=self.ask, flush=True)
        return int(self.answer.readline())


def _in_child(work: Callable[[], int], seconds: float) -> int:
    """What a function returns in a process of its own, which ends after so long."""
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 2))
            signal.alarm(int(8 * seconds))  # a test that waits for ever
            code = work()
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    _end_group(child)
    return code


def survives(
    change: Change, tests: list[str], session: pytest.Session | None, cold: Cold, spent: dict[str, float]
) -> bool:
    """Whether every one of the tests passes with the change in place; without a session, each time collected anew."""
    if not tests:
        return True
    seconds = 20 + 4 * sum(spent[test] for test in tests)
    before, source = change.path.read_text(encoding="utf-8"), change.source()

    def warm() -> int:
        assert session is not None
        if not put(change.path, compile(source, str(change.path), "exec", dont_inherit=True)):
            return ELSEWHERE
        change.path.write_text(source, encoding="utf-8")
        named = {item.nodeid: item for item in session.items}
        return int(not _all_pass([named[test] for test in tests], session, spent))

    try:
        code = _in_child(warm, seconds) if session else ELSEWHERE
        if code == ELSEWHERE:
            change.path.write_text(source, encoding="utf-8")
            files = Counter(_file(test) for test in tests)
            most = files.most_common(1)[0][0]  # collecting many files takes longer than running their tests
            code = cold.run([test for test in tests if test.startswith(most)][:FIRST_TESTS], seconds)
            if code == 0 and len(tests) > 1:
                code = cold.run(tests, seconds)
    finally:
        change.path.write_text(before, encoding="utf-8")
    return code == 0


def _all_pass(items: list[pytest.Item], session: pytest.Session, spent: dict[str, float]) -> bool:
    for item, after in itertools.zip_longest(items, items[1:]):
        signal.setitimer(signal.ITIMER_PROF, 4 + 4 * spent[item.nodeid])  # ends the process
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        if session.testsfailed:
            return False
    return True


def _end_group(leader: int) -> None:
    """End what the tests of a child have left running."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


# ---- a room ---------------------------------------------------------------------------------------------------------


def files_of(room: str, root: Path) -> list[Path]:
    """The source of a room."""
    inside = root / "src" / PACKAGE / room
    return sorted(inside.rglob("*.py")) if inside.is_dir() else [inside.with_suffix(".py")]


class Room:
    """A pytest plugin: instead of running the tests once, run them once with notes and then against each change."""

    def __init__(self, name: str, copy: Path, options: argparse.Namespace, out: TextIO) -> None:
        self.name, self.copy, self.options, self.out = name, copy, options, out
        self.cold: Cold
        self.question: dict[str, Any] | None = None
        self.kept = options.root / "build" / "mutate" / f"{name}.json"
        self.files = files_of(name, copy)

    def tests(self) -> list[str]:
        """Those asked for, else the room's own and what stands beside."""
        own = [f"tests/{self.name}", f"tests/test_{self.name}.py", f"src/{PACKAGE}/{self.name}", f"src/{PACKAGE}/{self.name}.py"]  # fmt: skip  # noqa: E501
        beside = [f"tests/{name}" for name in [*BESIDE.get(self.name, []), REFUSALS]]
        return [path for path in self.options.tests or [*own, *beside] if (self.copy / path).exists()]

    def say(self, text: str) -> None:
        """Past pytest, which keeps what is printed."""
        print(text, file=self.out, flush=True)

    def pytest_collection(self) -> None:
        """A failure is enough: nobody reads the smallest example of it."""
        from hypothesis import Phase, settings

        settings.register_profile(
            "mutate", deadline=None, derandomize=True, database=None, phases=(Phase.explicit, Phase.generate)
        )
        settings.load_profile("mutate")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """All of it; in a process that answers one question, only that."""
        if self.question is not None:
            if not self.question["note"]:
                return None
            self._note(session)
            return True
        warm = session if _may_fork() else None
        reach = self._reach(session, warm is not None)
        if self.options.lines:
            self._say_lines(reach)
        if self.options.count:
            self._try(warm, reach)
        return True

    def answer(self, question: dict[str, Any]) -> int:
        """Run the tests asked for, in this process; those that fail while notes are taken are named there."""
        self.question = question
        if question["note"]:
            return run_pytest(question["tests"], self) // 2  # 1: some failed
        return run_pytest(["-x", *question["tests"]], self)

    def _reach(self, session: pytest.Session, warm: bool) -> Reach:
        """What the tests reach: of those that have not changed since, as it was kept."""
        known = self._known()
        missing = any(_file(item.nodeid) not in known for item in session.items)
        if missing and warm:
            failed = _in_child(lambda: self._note(session), 3600)
        elif missing:
            failed = self.cold.run(self.tests(), 3600, note=True)
        if missing and failed:
            raise SystemExit(f"the tests of {self.name} end the process")
        reach, here = Reach({}, {}), {item.nodeid for item in session.items}
        for each in self._known().values():
            reach.lines |= {test: lines for test, lines in each["lines"].items() if test in here}
            reach.spent |= each["spent"]
        return reach

    def _known(self) -> dict[str, Any]:
        state = self._state()
        known = json.loads(self.kept.read_text(encoding="utf-8")) if self.kept.exists() else {}
        return {file: each for file, each in known.items() if each["state"] == state.get(file)}

    def _note(self, session: pytest.Session) -> int:
        known, state = self._known(), self._state()
        seen, left_out = noting(self.files), []
        self.kept.parent.mkdir(parents=True, exist_ok=True)
        missing = defaultdict(list)
        for item in session.items:
            if _file(item.nodeid) not in known:
                missing[_file(item.nodeid)].append(item)
        for file, items in missing.items():
            reach, failing = noted(items, session, seen, self.options.slow)
            left_out += failing
            known[file] = {"state": state.get(file), "lines": reach.lines, "spent": reach.spent}
            self.kept.write_text(json.dumps(known), encoding="utf-8")
        if left_out:
            self.say(f"{len(left_out)} tests are left out, as they fail or are slow before a change: {left_out}")
        return 0

    def _state(self) -> dict[str, str]:
        """Of each file with tests: a digest of it and of the room's source."""
        source = hashlib.sha256(b"".join(path.read_bytes() for path in self.files))
        found = {}
        for place in ("tests", "src"):
            for path in (self.copy / place).rglob("*.py"):
                digest = source.copy()
                digest.update(path.read_bytes())
                found[path.relative_to(self.copy).as_posix()] = digest.hexdigest()
        return found

    def _say_lines(self, reach: Reach) -> None:
        for path in self.files:
            functions = [
                node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, FUNCTION)
            ]
            inner = [
                each for node in functions for each in ast.walk(node) if isinstance(each, ast.stmt) and each is not node
            ]
            lines = {
                each.lineno
                for each in inner
                if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
            }
            missed = sorted(lines - reach.reached(path).keys())
            if lines:
                share = 100 * (1 - len(missed) / len(lines))
                self.say(f"{share:5.1f} % of {len(lines)} statements in {inside(path)}; not reached: {_runs(missed)}")

    def _try(self, session: pytest.Session | None, reach: Reach) -> None:
        import_heavy()
        seed, count = self.options.seed, self.options.count
        drawn = thin(self.files, seed, count, reach) if self.options.thin else draw(self.files, seed, count)
        self.say(f"{self.name}: {len(drawn)} changes, {len(reach.spent)} tests")
        began, noticed, tried, unreached = time.time(), 0, 0, 0
        for change in drawn:
            if time.time() - began > 60 * self.options.minutes:
                break
            tests, near = reach.tests(change, self.options.seconds), reach.near(change)
            alive = survives(change, tests, session if near else None, self.cold, reach.spent)
            missed = alive and not near
            tried, noticed, unreached = tried + 1, noticed + (not alive), unreached + missed
            if alive:
                self.say(
                    f"{change}\n  (no test reaches it)" if missed else f"{change}\n  ({len(tests)} tests reach it)"
                )
            if self.options.keep:
                row = {"room": self.name, "kind": change.kind, "change": str(change), "noticed": not alive, "tests": len(tests)}  # fmt: skip  # noqa: E501
                with self.options.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
        share = f"{100 * noticed / tried:.1f} %" if tried else "none"
        self.say(f"{self.name}: {noticed} of {tried} noticed ({share}), {unreached} reached by no test\n")


def _runs(numbers: list[int]) -> str:
    """[1, 2, 3, 7] as "1–3, 7"."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in runs) or "none"


def main() -> None:
    """Read the options; for each room try so many changes, say how many were noticed and name the others."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="+")
    parser.add_argument("--count", type=int, default=60, help="changes of each room")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0, help="stop a room after so long")
    parser.add_argument("--seconds", type=float, default=40.0, help="of tests tried against one change")
    parser.add_argument("--slow", type=float, default=10.0, help="leave tests out that take longer, in seconds")
    parser.add_argument("--tests", nargs="*", default=[], help="instead of the room's own")
    parser.add_argument("--thin", action="store_true", help="change what the fewest tests reach first")
    parser.add_argument("--lines", action="store_true", help="list the lines that no test reaches")
    parser.add_argument("--keep", type=Path, help="keep the verdicts here, a line of JSON each")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="the tree")
    options = parser.parse_args()
    if options.keep:
        options.keep = options.keep.resolve()
    for room in options.rooms:
        child = os.fork()  # each room collects in a process of its own
        if not child:
            with tempfile.TemporaryDirectory(prefix="mutate-") as place:
                _room(room, Path(place).resolve(), options)
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            raise SystemExit(f"{room}: stopped")


def copied(root: Path, copy: Path) -> None:
    """What tests need of the tree, in another folder."""
    for name in COPIED:
        source = root / name
        if source.exists():
            (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / name)


def _room(room: str, copy: Path, options: argparse.Namespace) -> None:
    copied(options.root, copy)
    out = os.fdopen(os.dup(1), "w")
    os.environ |= {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # fmt: skip  # noqa: E501
    sys.path[:0] = [str(copy / "src"), str(copy)]
    sys.dont_write_bytecode = True
    os.chdir(copy)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    plugin = Room(room, copy, options, out)
    plugin.cold = Cold.start(plugin)
    run_pytest(plugin.tests(), plugin)


def run_pytest(asked: list[str], room: Room) -> int:
    """With the plugin that a room is."""
    return int(
        pytest.main(
            ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(room.copy), *asked], plugins=[room]
        )
    )


def _may_fork() -> bool:
    """Whether Polars answers in a fork: it does not where its threads have been at work already."""

    def work() -> int:
        if "polars" in sys.modules:
            signal.alarm(20)
            polars = sys.modules["polars"]
            polars.DataFrame({"a": [2, 1]}).lazy().sort("a").collect()
        return 0

    return _in_child(work, 20) == 0


def _file(test: str) -> str:
    return test.partition("::")[0]


if __name__ == "__main__":
    main()
