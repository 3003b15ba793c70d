"""Linear algebra in one thread: for arrays of some hundred rows threads wait for one another longer than they work.

On a machine that has anything else to do, a Cholesky factor of 250 rows took a hundred times the CPU with two threads.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]


@cache
def _libraries() -> Any:
    """The libraries of linear algebra, all loaded by now; to look for them takes milliseconds."""
    return ThreadpoolController()


def one_thread() -> AbstractContextManager[Any]:
    """Run a block with one thread for linear algebra; blocks may nest, and the threads are given back."""
    blocks: AbstractContextManager[Any] = _libraries().limit(limits=1, user_api="blas")
    return blocks
