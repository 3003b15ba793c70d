"""Options whose values travel together: a command is called with one typed value in place of each of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from podium.cli.help import Decorator, Handler

__all__ = ["gathered"]


def gathered(name: str, kind: Callable[..., Any], *options: Decorator) -> Decorator:
    """Add options; the command is called with `kind` of their values, by its parameters, as its argument `name`."""
    own = list(inspect.signature(kind).parameters)

    def add(command: Handler) -> Handler:
        @functools.wraps(command)
        def called(*args: Any, **arguments: Any) -> Any:
            value = kind(**{each: arguments.pop(each) for each in own})
            return command(*args, **arguments, **{name: value})

        handler: Handler = called
        for each in reversed(options):
            handler = each(handler)
        return handler

    return add
