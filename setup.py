"""Compile the kernels; everything else about the package is in pyproject.toml.

PODIUM_CHECKED=1 compiles them with bounds checks, PODIUM_CHECKED=address also with the address sanitizer, which sees
what goes through pointers: for `make test-checked`, never for use.
"""

import os
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, ExecError

# Optimise, but keep IEEE arithmetic: results must not depend on how a compiler reorders sums.
FLAGS = ["-O3", "-g0", "-fno-math-errno", "-fno-trapping-math"]
LINKING: list[str] = []
CHECKED = os.environ.get("PODIUM_CHECKED", "")
BUILD_DIR = "build/cython"
if CHECKED not in ("", "1", "address"):
    raise SystemExit(f"PODIUM_CHECKED={CHECKED} is unknown; it is 1 or address")
if CHECKED:
    FLAGS[0] = "-O1"
    BUILD_DIR = f"build/cython-checked-{CHECKED}"  # other C code: never to be mixed with that of the fast kernels
if CHECKED == "address":
    LINKING = ["-fsanitize=address"]
    FLAGS += ["-fsanitize=address", "-fno-omit-frame-pointer"]


class BuildKernels(build_ext):
    """build_ext that says what to install when there is no C compiler."""

    def build_extensions(self):
        if self.compiler.compiler_type == "msvc":
            for extension in self.extensions:
                extension.extra_compile_args = ["/O2"]
        try:
            super().build_extensions()
        except (CompileError, ExecError, FileNotFoundError) as problem:
            raise SystemExit(
                f"\npodium's kernels could not be compiled: {problem}\n"
                "A C compiler and Python's headers are needed:\n"
                "  Debian, Ubuntu   apt-get install gcc python3-dev\n"
                "  Fedora           dnf install gcc python3-devel\n"
                "  macOS            xcode-select --install\n"
                "  Windows          Visual Studio Build Tools, 'Desktop development with C++'\n"
            ) from problem


KERNELS = Path("src/podium/kernels")
sources = sorted(path for path in KERNELS.rglob("*.py") if path.stem != "__init__")


def extension(path: Path) -> Extension:
    """The compiled module of one kernel, named after its place under src."""
    name = ".".join(path.relative_to("src").with_suffix("").parts)
    return Extension(name, [str(path)], extra_compile_args=FLAGS, extra_link_args=LINKING)


shared = Extension(
    "podium.kernels._shared", [f"{BUILD_DIR}/_shared.c"], extra_compile_args=FLAGS, extra_link_args=LINKING
)

setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=cythonize(
        [*map(extension, sources), shared],
        build_dir=BUILD_DIR,
        shared_utility_qualified_name="podium.kernels._shared",
        language_level=3,
        compiler_directives={
            "boundscheck": bool(CHECKED),
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": bool(CHECKED),
            "embedsignature": True,
            "show_performance_hints": not CHECKED,
        },
    ),
)
