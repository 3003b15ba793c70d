"""The image that `Containerfile` builds, as far as can be told without building it."""

import json
import re
import tomllib
from pathlib import Path

import click
from packaging.specifiers import SpecifierSet

from podium.cli import main

HERE = Path(__file__).parents[2]
LINES = re.sub(r"\\\n\s*", "", (HERE / "Containerfile").read_text()).splitlines()
PROJECT = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]


def said(word):
    return [line.removeprefix(f"{word} ") for line in LINES if line.startswith(f"{word} ")]


def test_its_python_is_one_that_podium_takes():
    for line in said("FROM"):
        version = re.match(r"python:([\d.]+)", line)
        assert version is not None, line
        assert version[1] in SpecifierSet(PROJECT["requires-python"])


def test_it_installs_extras_that_exist():
    asked = re.findall(r"\[([\w,-]+)\]'", " ".join(said("RUN")))
    assert asked == ["serve,postgres", "serve,postgres"]
    assert set(asked[0].split(",")) <= set(PROJECT["optional-dependencies"])


def test_it_starts_a_command_that_exists_with_options_that_exist():
    [program, command, *given] = json.loads(said("ENTRYPOINT")[0])
    assert program in PROJECT["scripts"]
    serve = main.get_command(click.Context(main), command)
    known = {name for each in serve.params for name in each.opts}
    assert {each for each in given if each.startswith("--")} <= known


def test_nobody_is_root_and_data_outlive_the_container():
    assert said("USER") == ["podium"]
    assert said("VOLUME") == said("WORKDIR") == ["/data"]
    assert LINES.index("USER podium") < LINES.index(f"ENTRYPOINT {said('ENTRYPOINT')[0]}")


def test_what_was_compiled_for_another_machine_stays_out():
    ignored = (HERE / ".dockerignore").read_text().split()
    assert {"**/*.so", ".git", "build"} <= set(ignored)
