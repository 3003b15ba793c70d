"""The package as a whole: what it exports, what it loads, and when."""

import contextlib
import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from setuptools._distutils.filelist import FileList

import podium

ROOT = Path(__file__).parent.parent

HEAVY = ["scipy", "polars", "sklearn", "matplotlib", "click", "rich", "sqlalchemy", "psycopg"]
EXTRAS = {"sqlalchemy", "psycopg"}  # what a room may need beyond the runtime dependencies


def test_import_is_light():
    code = f"import sys, podium; print([m for m in {HEAVY!r} if m in sys.modules])"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "[]"


@pytest.mark.parametrize(("given", "kept"), [({}, "4"), ({"OPENBLAS_THREAD_TIMEOUT": "20"}, "20")])
def test_commands_let_idle_threads_of_linear_algebra_sleep_unless_told_otherwise(given, kept):
    code = (
        "import os, sys\nfrom podium.cli import run\n"
        "assert 'numpy' not in sys.modules, 'it is read when NumPy is loaded'\n"
        "try:\n    run(['--version'])\nexcept SystemExit:\n    print(os.environ['OPENBLAS_THREAD_TIMEOUT'])"
    )
    calm = {name: value for name, value in os.environ.items() if name != "OPENBLAS_THREAD_TIMEOUT"} | given
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=calm)
    assert seen.stdout.splitlines()[-1] == kept


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


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a clone: what git tracks is not known")
def test_the_source_distribution_holds_every_tracked_file():
    """What MANIFEST.in names, and what setuptools adds by itself; tests, docs and scripts run from an unpacked one."""
    files = FileList()
    with contextlib.chdir(ROOT):
        files.findall()
        for line in (ROOT / "MANIFEST.in").read_text().splitlines():
            if line and not line.startswith("#"):
                files.process_template_line(line)
        listed = subprocess.run(["git", "ls-files"], capture_output=True, text=True)
    if listed.returncode:
        pytest.skip(f"git does not tell: {listed.stderr.strip()}")
    held = {Path(name).as_posix().removeprefix("./") for name in files.files}
    by_itself = {"LICENSE", "README.md", "pyproject.toml", "MANIFEST.in"}
    assert set(listed.stdout.splitlines()) - held - by_itself == set()
