"""Files and frames in, tables out."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from podium.errors import InputError

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path`; it takes that name only if the block ends well.

    A reader never sees half a file, and a failed run leaves the old one as it was.
    """
    target = Path(path)
    try:
        handle = tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False)  # noqa: SIM115
    except OSError as problem:
        raise InputError(f"cannot write {target}: {problem.strerror}; choose another path") from problem
    try:
        with handle:
            yield handle
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(handle.name, 0o666 & ~umask)
        os.replace(handle.name, target)
    except OSError as problem:
        Path(handle.name).unlink(missing_ok=True)
        raise InputError(f"cannot write {target}: {problem.strerror}; choose another path") from problem
    except BaseException:
        Path(handle.name).unlink(missing_ok=True)
        raise
