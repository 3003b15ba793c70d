"""One tree of errors and warnings, each with a message that says where, what, what now."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

__all__ = [
    "ConnectivityWarning",
    "ConvergenceError",
    "ConvergenceWarning",
    "DataWarning",
    "EngineError",
    "InPython",
    "InputError",
    "NotFittedError",
    "Option",
    "PodiumError",
    "PodiumWarning",
    "RefusedError",
    "SeparationWarning",
    "UnavailableError",
]


LINE_ENDS = re.compile("[\n-\r\x1c-\x1e\x85\u2028\u2029]")  # where str.splitlines cuts


class _Unset(Enum):  # an enum keeps its identity when an error travels between processes
    UNSET = "unset"


@dataclass(frozen=True)
class Option:
    """A part of a message that names an option, with its value where there is one.

    Python says `missing='mean'`, the command line `--missing mean`. `column` marks options that name a column of the
    votes, where False says that there is none.

    >>> str(InputError("'kind' holds text; set ", Option("one_hot", True)))
    "'kind' holds text; set one_hot=True"
    """

    name: str
    value: Any = _Unset.UNSET
    column: bool = False

    @property
    def has_value(self) -> bool:
        """Whether the message gives a value beside the name."""
        return self.value is not _Unset.UNSET

    def __str__(self) -> str:
        return f"{self.name}={self.value!r}" if self.has_value else f"{self.name}="


class InPython(str):
    """A part of a message for users of Python only, about what the command line has no option for."""

    __slots__ = ()


class _Message:
    """A message of parts: text, options, and asides in Python; each front end words the options in its own way.

    It is one line, whatever labels, values and other people's messages are part of it.

    >>> str(InputError("no item is called ", "tea\\npot"))
    'no item is called tea\\\\npot'
    """

    args: tuple[Any, ...]

    def __str__(self) -> str:
        return self.worded(str)

    def worded(self, wording: Callable[[Option], str], *, python: bool = True) -> str:
        """The message with its options as `wording` says them; asides in Python are left out if not `python`."""
        parts = (part for part in self.args if python or not isinstance(part, InPython))
        text = "".join(wording(part) if isinstance(part, Option) else str(part) for part in parts)
        return LINE_ENDS.sub(lambda end: repr(end[0])[1:-1], text)

    @property
    def options(self) -> tuple[Option, ...]:
        """The options that the message names."""
        return tuple(part for part in self.args if isinstance(part, Option))


class PodiumError(_Message, Exception):
    """Root of every error podium raises on purpose; its arguments are the parts of the message, in order."""


class InputError(PodiumError, ValueError):
    """The data or an option is not usable; the message names the row, the label and the way out."""


class ConvergenceError(PodiumError, ArithmeticError):
    """No optimum was reached; the message says which setting to change."""


if TYPE_CHECKING:

    class NotFittedError(PodiumError, ValueError, AttributeError):
        """Something learned was asked for before `fit`."""


class RefusedError(PodiumError, ValueError):
    """A campaign does not allow this now; `code` says why in one word, for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code

    def __reduce__(self) -> tuple[type[RefusedError], tuple[str, ...]]:
        return type(self), (self.code, *self.args)


class UnavailableError(PodiumError):
    """The database cannot do this at the moment (full, locked, gone). Try again: no vote counts twice."""


class EngineError(PodiumError, RuntimeError):
    """Worker processes could not do the work; the message names what they were at."""


class PodiumWarning(_Message, UserWarning):
    """Root of every warning podium gives; a message of parts, as that of an error."""


class ConvergenceWarning(PodiumWarning):
    """The optimum was reached less exactly than asked."""


class ConnectivityWarning(PodiumWarning):
    """Some items were never compared, even indirectly, so their order is only a guess."""


class SeparationWarning(PodiumWarning):
    """Some items only win or only lose; their scores are held finite by the penalty alone."""


class DataWarning(PodiumWarning):
    """The data were usable, but something about them deserves a look."""


def __getattr__(name: str) -> Any:
    """`NotFittedError` is scikit-learn's, too, and made on first use: `import podium` does not load scikit-learn."""
    if name != "NotFittedError":
        raise AttributeError(f"module 'podium.errors' has no attribute {name!r}")
    from sklearn.exceptions import NotFittedError as Theirs

    about = {
        "__doc__": "Something learned was asked for before `fit`; scikit-learn's error of this name.",
        "__module__": __name__,
    }
    globals()[name] = error = type(name, (PodiumError, Theirs), about)
    return error
