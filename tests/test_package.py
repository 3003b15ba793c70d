"""The package as a whole: what it exports, what it loads, and when."""

import importlib
import pkgutil
import subprocess
import sys

import podium

HEAVY = ["scipy", "polars", "sklearn", "matplotlib", "click", "rich", "sqlalchemy", "psycopg"]
EXTRAS = {"sqlalchemy", "psycopg"}  # what a room may need beyond the runtime dependencies


def test_import_is_light():
    code = f"import sys, podium; print([m for m in {HEAVY!r} if m in sys.modules])"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"


def test_every_exported_name_exists_and_every_lazy_name_is_exported():
    assert set(podium._LAZY) <= set(podium.__all__)
    for name in podium.__all__:
        assert getattr(podium, name) is not None
    assert sorted(podium.__all__) == list(podium.__all__)


def test_every_module_declares_exactly_names_it_has():
    modules = [m.name for m in pkgutil.walk_packages(podium.__path__, "podium.") if "__main__" not in m.name]
    for name in modules:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as problem:
            if problem.name not in EXTRAS:
                raise
            continue
        for exported in getattr(module, "__all__", ()):
            assert hasattr(module, exported), f"{name}.__all__ names {exported!r}, which does not exist"
