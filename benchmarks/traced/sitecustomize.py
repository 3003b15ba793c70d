"""Write down which functions of src, benchmarks and papers run, in this process and every process it starts.

Python imports this file by its name where its folder is on PYTHONPATH: `benchmarks.measure` puts it there, and names in
PODIUM_RAN the file to write to, in PODIUM_RAN_ROOT the project. Each function gets a first line that asks whether it
has been written down; later calls only ask (some 20 ns). Compiled kernels are not seen: `benchmarks.printed` takes
those whole that a module imports.
"""

from __future__ import annotations

import builtins
import os
import sys
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path

ROOT = Path(os.environ.get("PODIUM_RAN_ROOT", Path(__file__).parent.parent.parent)).resolve()
OURS = ("podium", "benchmarks", "papers")
COMPILED = os.environ.get("PODIUM_RAN_COMPILED", str(ROOT / "build" / "traced"))
SEEN: set[str] = set()


class Finder:
    """Finds our modules where Python finds them, and has them read by `Loader`."""

    @staticmethod
    def find_spec(name, path=None, target=None) -> ModuleSpec | None:
        if name.partition(".")[0] not in OURS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


class Loader(SourceFileLoader):
    """Reads a module so that its functions say when they first run."""

    def get_code(self, fullname):
        if place := where(self.path):
            ran(f"{place}:")
        before = sys.pycache_prefix, sys.dont_write_bytecode
        sys.pycache_prefix, sys.dont_write_bytecode = COMPILED, False  # once, into a folder of its own
        try:
            return super().get_code(fullname)
        finally:
            sys.pycache_prefix, sys.dont_write_bytecode = before

    def source_to_code(self, data, path, *, _optimize=-1):
        if (place := where(path)) is None:
            return super().source_to_code(data, path, _optimize=_optimize)
        return compile(told(data, place), path, "exec", dont_inherit=True, optimize=_optimize)


def where(path: str) -> str | None:
    """The place of a file of ours in the project."""
    try:
        return Path(path).resolve().relative_to(ROOT).as_posix()
    except ValueError:
        return None


def told(source: bytes, place: str):
    """The module, each of whose functions and methods first says that it runs."""
    import ast

    tree = ast.parse(source)
    waiting = [("", tree)]
    while waiting:
        before, node = waiting.pop()
        for each in node.body:
            if isinstance(each, ast.ClassDef):
                waiting.append((f"{before}{each.name}.", each))
            elif isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
                name = f"{place}:{before}{each.name}"
                line = ast.parse(f"{name!r} in __podium_seen__ or __podium_ran__({name!r})").body[0]
                for part in ast.walk(line):
                    part.lineno = part.end_lineno = each.body[0].lineno
                each.body.insert(ast.get_docstring(each, clean=False) is not None, line)
    return tree


def ran(name: str) -> None:
    """Write a function down; whole lines, so that processes may share the file."""
    SEEN.add(name)
    file = os.open(os.environ["PODIUM_RAN"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, f"{name}\n".encode())
    finally:
        os.close(file)


if os.environ.get("PODIUM_RAN"):
    builtins.__podium_seen__ = SEEN
    builtins.__podium_ran__ = ran
    sys.meta_path.insert(0, Finder)
