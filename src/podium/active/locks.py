"""Advisory locks between processes: the system frees them when their holder ends, also when it is killed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from podium.errors import DataWarning

__all__ = ["lock", "session", "unlock"]

TAKEN = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)  # what the systems say of a lock that another process holds


@contextlib.contextmanager
def session(log: Path, name: str) -> Iterator[bool]:
    """Hold the one session that `name` may have on `log` at a time; yields False if a live process has it.

    The lock is on a hidden file beside the log, taken away at the end. What a killed process leaves of it is empty and
    keeps nobody out.
    """
    path = _beside(log.resolve(), name)
    try:
        file = _held(path)
    except OSError as problem:  # a directory one may not write to, a file system without locks
        warnings.warn(
            f"{path.parent}: a second session of the same judge cannot be kept out here ({problem.strerror}); "
            "take care that there is none",
            DataWarning,
            stacklevel=3,
        )
        yield True
        return
    try:
        yield file is not None
    finally:
        if file is not None:
            if sys.platform != "win32":  # while it is held: whoever waits for it sees that it is gone
                path.unlink(missing_ok=True)
            file.close()


def _beside(log: Path, name: str) -> Path:
    mark = hashlib.sha256(f"{log.name}\x1f{name}".encode(errors="surrogatepass")).hexdigest()[:16]
    return log.with_name(f".{log.name[:40]}.{mark}.lock")


def _held(path: Path) -> IO[bytes] | None:
    """The file with its lock, None if another has it."""
    while True:
        file = path.open("a+b")
        try:
            lock(file, wait=False)
            if os.path.exists(path) and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                return file
        except FileNotFoundError:  # its last holder has just taken it away: begin again
            pass
        except OSError as problem:
            file.close()
            if problem.errno in TAKEN:
                return None
            raise
        file.close()


def lock(file: IO[bytes], *, wait: bool = True) -> None:
    """Lock the whole file for this process; with `wait=False` an OSError says that another has it."""
    if sys.platform == "win32":
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def unlock(file: IO[bytes]) -> None:
    """Let go of it."""
    if sys.platform == "win32":
        import msvcrt

        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_UN)
