"""Compile the kernels; everything else about the package is in pyproject.toml."""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError, ExecError

# Optimise, but keep IEEE arithmetic: results must not depend on how a compiler reorders sums.
FLAGS = ["-O3", "-g0", "-fno-math-errno", "-fno-trapping-math"]


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


sources = sorted(path for path in Path("src/podium/kernels").glob("*.py") if path.stem != "__init__")
kernels = [Extension(f"podium.kernels.{path.stem}", [str(path)], extra_compile_args=FLAGS) for path in sources]
shared = Extension("podium.kernels._shared", ["build/cython/_shared.c"], extra_compile_args=FLAGS)

setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=cythonize(
        [*kernels, shared],
        build_dir="build/cython",
        shared_utility_qualified_name="podium.kernels._shared",
        language_level=3,
        compiler_directives={
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "initializedcheck": False,
            "embedsignature": True,
        },
    ),
)
