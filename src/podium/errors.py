"""One tree of errors and warnings, each with a message that says where, what, what now."""

from __future__ import annotations

__all__ = [
    "ConnectivityWarning",
    "ConvergenceError",
    "ConvergenceWarning",
    "DataWarning",
    "InputError",
    "NotFittedError",
    "PodiumError",
    "PodiumWarning",
    "RefusedError",
    "SeparationWarning",
    "UnavailableError",
]


class PodiumError(Exception):
    """Root of every error podium raises on purpose."""


class InputError(PodiumError, ValueError):
    """The data or an option is not usable; the message names the row, the label and the way out."""


class ConvergenceError(PodiumError, ArithmeticError):
    """No optimum was reached; the message says which setting to change."""


class NotFittedError(PodiumError, AttributeError):
    """Something learned was asked for before `fit`."""


class RefusedError(PodiumError, ValueError):
    """A campaign does not allow this now; `code` says why in one word, for programs."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class UnavailableError(PodiumError):
    """The database cannot do this at the moment (full, locked, gone). Try again: no vote counts twice."""


class PodiumWarning(UserWarning):
    """Root of every warning podium gives."""


class ConvergenceWarning(PodiumWarning):
    """The optimum was reached less exactly than asked."""


class ConnectivityWarning(PodiumWarning):
    """Some items were never compared, even indirectly, so their order is only a guess."""


class SeparationWarning(PodiumWarning):
    """Some items only win or only lose; their scores are held finite by the penalty alone."""


class DataWarning(PodiumWarning):
    """The data were usable, but something about them deserves a look."""
