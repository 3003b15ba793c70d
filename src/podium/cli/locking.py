"""One process at a time on a file: an advisory lock that ends with the process, however that ends."""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from podium.errors import DataWarning, InputError

__all__ = ["locked"]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of `path` for the block; refuse where another process holds it.

    The lock is on a file of its own beside `path`, as `path` itself may be replaced by a new file. The system lets go
    of it when the process ends, also when it is killed; the empty file that then stays behind locks nobody out.
    """
    from podium.data.writing import is_stream

    if is_stream(path):
        yield
        return
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{target.name}.lock")
    try:
        handle = _taken(beside)
    except BlockingIOError as problem:
        raise InputError(
            f"{path} is in use by another podium ask; end that one first, or give --log another file"
        ) from problem
    except OSError as problem:
        if not beside.parent.is_dir() or not os.access(beside.parent, os.W_OK):
            raise InputError(f"cannot write {path}: {problem.strerror}; choose another path") from problem
        warnings.warn(  # some network file systems have no locks
            f"{path} cannot be locked here ({problem.strerror}); open it in one process at a time",
            DataWarning,
            stacklevel=3,
        )
        yield
        return
    try:
        yield
    finally:
        with contextlib.suppress(OSError):  # on Windows a file that is open cannot be removed, and may stay
            beside.unlink()
        os.close(handle)


def _taken(beside: Path) -> int:
    """Open and lock the file; BlockingIOError where another holds it.

    Between opening and locking, the holder may have removed the file: a lock on what is no longer there keeps nobody
    out, so it is opened anew.
    """
    while True:
        handle = os.open(beside, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            _lock(handle)
            if _is_still(beside, handle):
                return handle
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _is_still(beside: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(beside), os.fstat(handle))
    except FileNotFoundError:
        return False


def _lock(handle: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError as problem:  # msvcrt says EACCES or EDEADLOCK
            raise BlockingIOError(problem.errno, "locked by another process") from problem
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
