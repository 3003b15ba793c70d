"""The pages docs/api*.md list every public name with its methods, and nothing else."""

import importlib
import inspect
import pkgutil
import re
from functools import cached_property
from pathlib import Path

import pytest

import podium

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("api*.md"))  # the first says what is internal; one for each room
PAGE = "\n".join(page.read_text() for page in PAGES)
INTERNAL = {"campaign", "cli", "engine", "kernels", "models", "numeric", "store", "text"}  # as the page says
MODULES = [module.name for module in pkgutil.iter_modules(podium.__path__)]
ROOMS = ["podium", *(f"podium.{name}" for name in MODULES if name not in INTERNAL and not name.startswith("_"))]


def listed():
    """What the page lists: the path of each name, and the members of each class."""
    names = {}
    for line in PAGE.splitlines():
        if found := re.match(r"\.\. auto(\w+):: ([\w.]+)$", line):
            assert found[2] not in names, f"docs/api*.md lists {found[2]} twice"
            names[found[2]] = [] if found[1] in ("class", "exception") else None
        elif found := re.match(r"   :members: (.+)$", line):
            names[next(reversed(names))] = found[1].split(", ")
    return names


def public_names():
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in getattr(module, "__all__", ()):
            if not name.startswith("_") and not inspect.ismodule(getattr(module, name)):
                yield f"{room}.{name}"


def value_of(path):
    room, _, name = path.rpartition(".")
    return getattr(importlib.import_module(room), name)


def own_members(cls):
    kinds = (classmethod, staticmethod, property, cached_property)
    functions = [name for name, value in vars(cls).items() if inspect.isfunction(value) or isinstance(value, kinds)]
    return [name for name in functions if not name.startswith("_") and name != "upgraded"]  # for model files only


def public_members(cls, classes):
    """Methods and properties that `cls` defines, or inherits of ours; not those of its parents that the page lists."""
    parents = [each for each in cls.__mro__[1:] if each.__module__.startswith("podium.")]
    told = {name for each in parents if each in classes for name in public_members(each, classes)}
    inherited = [name for each in parents for name in own_members(each) if name not in told]
    return list(dict.fromkeys([*own_members(cls), *inherited]))


LISTED = listed()
CLASSES = {path: value_of(path) for path, members in LISTED.items() if members is not None}


def test_the_page_says_which_rooms_are_internal():
    sentence = re.search(r"Internal are (.*?)\.\n", PAGE, flags=re.DOTALL)[1]
    assert set(re.findall(r"`podium\.(\w+)`", sentence)) == INTERNAL
    assert set(MODULES) >= INTERNAL


def test_every_public_name_is_listed():
    missing = [path for path in public_names() if path not in LISTED]
    assert not missing, "list them in docs/api*.md, or take them out of __all__"


def test_every_listed_name_is_public():
    assert set(LISTED) <= set(public_names()), "docs/api*.md lists what no room has in its __all__"


@pytest.mark.parametrize("path", CLASSES)
def test_every_method_is_listed(path):
    members = public_members(CLASSES[path], CLASSES.values())
    expected = f"   :members: {', '.join(members)}"
    assert sorted(LISTED[path]) == sorted(members), f"docs/api*.md should say, below {path}:\n{expected}"


@pytest.mark.parametrize("path", LISTED)
def test_what_is_listed_says_what_it_is(path):
    value = value_of(path)
    if inspect.isclass(value) or inspect.isroutine(value):
        assert (value.__doc__ or "").strip(), f"{path} has no docstring"
    undocumented = [name for name in LISTED[path] or () if not inspect.getdoc(getattr(value, name))]
    assert not undocumented, f"methods of {path} without a docstring"


def test_the_documentation_imports_public_names_only():
    """But for campaigns, whose page says that their names are not settled."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    pages = "\n".join(page.read_text() for page in pages if page.name != "campaigns.md")
    assert "not part of the API reference" in (ROOT / "docs" / "campaigns.md").read_text()
    imports = re.findall(r">>> from (podium[\w.]*) import (\w+(?:, \w+)*)", pages)
    assert len(imports) > 10
    assert {f"{room}.{name}" for room, names in imports for name in names.split(", ")} <= set(LISTED)


def test_every_name_is_on_the_page_of_its_room():
    if len(PAGES) == 1:
        return
    for page in PAGES:
        room = "podium" if page.stem == "api-podium" else f"podium.{page.stem.removeprefix('api-')}"
        for path in re.findall(r"^\.\. auto\w+:: ([\w.]+)$", page.read_text(), flags=re.MULTILINE):
            assert path.rpartition(".")[0] == room, f"{path} belongs on another page than {page.name}"


def test_a_class_left_out_and_a_method_left_out_are_noticed():
    class Base:
        def shared(self): ...

    class Child(Base):
        def own(self): ...

        def _private(self): ...

    Base.__module__ = Child.__module__ = "podium.somewhere"
    assert public_members(Child, [Child]) == ["own", "shared"]
    assert public_members(Child, [Base, Child]) == ["own"]
