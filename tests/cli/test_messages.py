"""Messages speak of options as the user types them."""

import ast
import importlib
import pickle
import re
from pathlib import Path

import click
import pytest

from podium.cli import COMMANDS
from podium.cli.messages import option_name, worded
from podium.errors import DataWarning, InputError, InPython, Option

SOURCES = sorted(Path("src/podium").rglob("*.py"))
ASIDE = InPython(" (or max_iter=, tol=)")
LABEL = "column 'left=right' of judge=ann/x.csv"


def command_options():
    """Every option of every command."""
    options = set()
    for place in COMMANDS.values():
        module, _, name = place.partition(":")
        command = getattr(importlib.import_module(module), name)
        parts = list(command.commands.values()) if isinstance(command, click.Group) else [command]
        options |= {option for part in parts for each in part.params for option in each.opts}
    return options


def calls(tree, *endings):
    """Calls of the functions whose names end so."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1].endswith(endings):
            yield node


def test_every_option_that_a_message_names_exists():
    named = set()
    for path in SOURCES:
        for call in calls(ast.parse(path.read_text()), "Option"):
            if call.args and isinstance(call.args[0], ast.Constant):
                column = any(word.arg == "column" for word in call.keywords)
                named.add(option_name(Option(call.args[0].value, column=column)))
    assert len(named) > 20
    assert named <= command_options()


def test_no_message_names_an_option_in_plain_text():
    """Whoever writes `l2=` into the text of an error would show it to people who type `--l2`."""
    names = {option.removeprefix("--").replace("-", "_") for option in command_options() if option.startswith("--")}
    named = re.compile(rf"(?<![\w'\"/.-])({'|'.join(sorted(names))})=")
    plain = []
    for path in SOURCES:
        for call in calls(ast.parse(path.read_text()), "Error", "Warning", "warn"):
            for part in call.args:
                texts = part.values if isinstance(part, ast.JoinedStr) else [part]
                said = "".join(str(text.value) if isinstance(text, ast.Constant) else "…" for text in texts)
                plain += [f"{path}:{call.lineno}: {said}"] if named.search(said) else []
    assert not plain


@pytest.mark.parametrize(
    ("parts", "python", "typed"),
    [
        (["set ", Option("one_hot", True), " too"], "set one_hot=True too", "set --one-hot too"),
        (["or ", Option("missing", "mean")], "or missing='mean'", "or --missing mean"),
        (["drop it by ", Option("judge", False, column=True)], "drop it by judge=False", "drop it by --judge="),
        (["say by ", Option("left_wins")], "say by left_wins=", "say by --left-wins"),
        ([Option("ties", "n ties", column=True), " is idle"], "ties='n ties' is idle", "--tie-count 'n ties' is idle"),
        (["use ", Option("ties", "half")], "use ties='half'", "use --ties half"),
        ([Option("l2", -1.0), ": no"], "l2=-1.0: no", "--l2 -1: no"),
        ([Option("format", "csv"), " is wrong"], "format='csv' is wrong", "--input-format csv is wrong"),
        (["raise ", Option("l2"), ASIDE], "raise l2= (or max_iter=, tol=)", "raise --l2"),
        ([LABEL], LABEL, LABEL),
    ],
)
@pytest.mark.parametrize("kind", [InputError, DataWarning])
def test_python_and_the_command_line_each_word_an_option_in_their_way(kind, parts, python, typed):
    problem = kind(*parts)
    assert (str(problem), worded(problem)) == (python, typed)
    again = pickle.loads(pickle.dumps(problem))
    assert (str(again), worded(again), again.options) == (python, typed, problem.options)
