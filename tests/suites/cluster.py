"""A Dask cluster on this machine, where Dask is installed; a failure where PODIUM_REQUIRE asks for it."""

import importlib.util
import os

import pytest

__all__ = ["require_dask"]


def require_dask():
    """Skip where there is no Dask, unless it was asked for."""
    if importlib.util.find_spec("distributed") is None:
        if "cluster" in os.environ.get("PODIUM_REQUIRE", "").split(","):
            pytest.fail("Dask is not installed, and PODIUM_REQUIRE asks for it")
        pytest.skip("Dask is not installed (pip install 'podium[cluster]')")
