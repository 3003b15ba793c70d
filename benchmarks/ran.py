"""Which functions a measuring command ran, and whether they are still what they were.

One file a command in benchmarks/results/ran, a line a source file: its name, and the functions of it that ran (see
`traced/sitecustomize.py`). A figure is as this code prints it while all of them, what their modules do when they are
imported, and every compiled kernel that those import, do what they did in the commit it was measured on.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

HERE = Path(__file__).parent
TRACED = HERE / "traced"
RAN = HERE / "results" / "ran"

ASSIGNED = " ="  # behind the name of what a module assigns

Functions = Mapping[str, Collection[str]]  # of each source file, by its place in the project


def tracing(said: Path, root: Path) -> dict[str, str]:
    """What the environment of a process must hold so that it writes down there which functions of a project run."""
    return {
        "PODIUM_RAN": str(said),
        "PODIUM_RAN_ROOT": str(root),
        "PYTHONPATH": os.pathsep.join([str(TRACED), *filter(None, [os.environ.get("PYTHONPATH")])]),
    }


def kept(name: str) -> Functions | None:
    """The functions that a command ran when it was last measured, by source file."""
    path = RAN / name
    if not path.exists():
        return None
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return {place: functions for place, *functions in lines}


def keep(name: str, said: str) -> None:
    """Keep what processes wrote down, `src/podium/text.py:plural` a line; a module alone says that it was imported."""
    found: dict[str, set[str]] = {}
    for line in said.splitlines():
        place, _, function = line.partition(":")
        found.setdefault(place, set()).update([function] if function else [])
    RAN.mkdir(parents=True, exist_ok=True)
    lines = (" ".join([place, *sorted(functions)]) for place, functions in sorted(found.items()))
    (RAN / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def does_the_same(before: str, now: str, functions: Collection[str], package: bool = False) -> bool:
    """Whether a module does the same when it is imported, and each of these functions of it when it runs.

    A name that it assigns now and did not before (or the other way round) matters to those who use it.
    """
    old, new = parts(before, package), parts(now, package)
    ran = ("", *functions)
    if any(old.get(name) != new.get(name) for name in ran):
        return False
    assigned = {name for name in (*old, *new) if name.endswith(ASSIGNED)}
    used = {name for name in assigned if any(_uses(new.get(part, ""), name.removesuffix(ASSIGNED)) for part in ran)}
    return all(old.get(name) == new.get(name) for name in assigned if name in used or (name in old and name in new))


def parts(source: str, package: bool = False) -> dict[str, str]:
    """What Python runs of a module: of each function and method, and under "" of the rest when it is imported.

    Without docstrings, comments, what errors and warnings say, and `__all__`. An import goes with the functions that
    use what it names; those of a package (`__init__.py`) are what it hands out. A function that nothing decorates does
    nothing by being there; a method may stand in the way of another one, so a class names its own. What the module
    assigns to a name stands under that name, as in "DAY =".
    """
    tree = statements(source)
    imports = [] if package else [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    found: dict[str, list[ast.AST]] = {}
    assigned = {node: names for node in tree.body if (names := _assigned(node))}
    for node, names in assigned.items():
        for name in names:
            if name != "__all__":
                found.setdefault(name + ASSIGNED, []).append(node)
    rest = _rest([node for node in tree.body if node not in assigned], "", found, imports)
    return {name: _told(nodes, imports) for name, nodes in {**found, "": rest}.items()}


def _assigned(node: ast.stmt) -> list[str]:
    """The names to which a statement assigns; none if it does something else or more."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    each = [name for target in targets for name in (target.elts if isinstance(target, ast.Tuple) else [target])]
    names = [name.id for name in each if isinstance(name, ast.Name)]
    return names if len(names) == len(each) else []


def _uses(part: str, name: str) -> bool:
    return f"Name(id={name!r}" in part


def _rest(
    body: Iterable[ast.stmt], before: str, found: dict[str, list[ast.AST]], imports: Collection[ast.AST]
) -> list[ast.AST]:
    """What a module or class does besides its functions, which are added to those found."""
    rest: list[ast.AST] = []
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found.setdefault(before + node.name, []).append(node)
            rest += [ast.Name(node.name), *node.decorator_list] if before or node.decorator_list else []
        elif isinstance(node, ast.ClassDef):
            head = ast.ClassDef(node.name, node.bases, node.keywords, [], node.decorator_list)
            rest += [head, *_rest(node.body, f"{before}{node.name}.", found, imports)]
        elif node not in imports and not _only_for_types(node):
            rest.append(node)
    return rest


def _told(nodes: Iterable[ast.AST], imports: Iterable[ast.AST]) -> str:
    """These statements, and the imports of the names that they use."""
    nodes = list(nodes)
    used = {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}
    named = sorted({told for node in imports for told in _names(node, used)})
    return "\n".join([*named, *map(ast.dump, nodes)])


def _names(node: ast.AST, used: Collection[str]) -> list[str]:
    """What an import binds of the names that are used, one line each."""
    assert isinstance(node, (ast.Import, ast.ImportFrom))
    whence = node.module or "" if isinstance(node, ast.ImportFrom) else "import"
    bound = ((alias, (alias.asname or alias.name).partition(".")[0]) for alias in node.names)
    return [f"{whence} {alias.name} as {name}" for alias, name in bound if name in used or name == "*"]


def _only_for_types(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def statements(source: str) -> ast.Module:
    """What Python runs of a file, without docstrings, what errors and warnings say and which are known."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise):
            node.exc = None
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "warnings.warn":
            node.args = []
        if isinstance(body := getattr(node, "body", None), list):
            said = body[:1] if isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant) else []
            body[:] = [each for each in body if each not in said and not _imports_errors(each)]
    return tree


def _imports_errors(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "podium.errors"
