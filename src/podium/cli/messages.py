"""The library's messages on the command line: the options that they carry are said as the user types them."""

from __future__ import annotations

import shlex

from podium.errors import Option, PodiumError, PodiumWarning

__all__ = ["option_name", "worded"]

# What the command line calls otherwise: `--format` is that of the output, `--ties` how ties are treated.
RENAMED = {"format": "input_format", "engine": "cluster", "kind": "ci"}
RENAMED_COLUMNS = {"ties": "tie_count"}


def worded(problem: object) -> str:
    """Return what an error or a warning says, with `--l2` where Python says `l2=`.

    >>> from podium.errors import InPython, InputError
    >>> worded(InputError("'kind' holds text; set ", Option("one_hot", True)))
    "'kind' holds text; set --one-hot"
    >>> worded(InputError("no optimum in 9 steps; raise ", Option("l2"), InPython(" (or max_iter=, tol=)")))
    'no optimum in 9 steps; raise --l2'
    """
    if isinstance(problem, PodiumError | PodiumWarning):
        return problem.worded(_typed, python=False)
    return str(problem)


def option_name(option: Option) -> str:
    """Return the option as it is typed, without its value."""
    name = (RENAMED | RENAMED_COLUMNS if option.column else RENAMED).get(option.name, option.name)
    return f"--{name.replace('_', '-')}"


def _typed(option: Option) -> str:
    name = option_name(option)
    if option.has_value and option.value is False and option.column:
        return f"{name}="
    if not option.has_value or option.value is True:
        return name
    value = f"{option.value:.10g}" if isinstance(option.value, float) else str(option.value)
    return f"{name} {shlex.quote(value)}"
