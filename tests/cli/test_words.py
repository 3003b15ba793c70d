"""Messages speak of options, not of parameters."""

import importlib

import click
import pytest

from podium.cli import COMMANDS
from podium.cli.words import OPTIONS, spoken


def options():
    """Every option of every command."""
    found = set()
    for place in COMMANDS.values():
        module, _, name = place.partition(":")
        command = getattr(importlib.import_module(module), name)
        parts = list(command.commands.values()) if isinstance(command, click.Group) else [command]
        found |= {option for part in parts for each in part.params for option in each.opts}
    return found


def test_every_option_that_messages_may_name_exists():
    assert set(OPTIONS.values()) | {"--ties"} <= options()


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("set one_hot=True for a column per value", "set --one-hot for a column per value"),
        ("add it, or set missing='mean'", "add it, or set --missing mean"),
        ("leave it out with judge=False", "leave it out with --judge="),
        ("say which by left= and right=", "say which by --left and --right"),
        ("ties='n ties' would not be read", "--tie-count 'n ties' would not be read"),
        ("use ties='half'", "use --ties half"),
        ("l2=-1.0: it must be finite", "--l2 -1.0: it must be finite"),
        ("keep each vote a row (keep=)", "keep each vote a row"),
        ("column 'left=right' of votes/judge=ann/x.csv", "column 'left=right' of votes/judge=ann/x.csv"),
        ("model 'm' has a=b", "model 'm' has a=b"),
        ("no column 'x' (given as winner=); found 'y'", "no column 'x' (given as --winner); found 'y'"),
        ("delimiter='ab' is not one plain character", "--delimiter ab is not one plain character"),
        ("lang = en: anchor: 'x' is not among the 3 items", "lang = en: --anchor: 'x' is not among the 3 items"),
    ],
)
def test_parameters_become_options_and_nothing_else_is_touched(said, heard):
    assert spoken(said) == heard
