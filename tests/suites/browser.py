"""The system's Chromium, where there is one; a failure where PODIUM_REQUIRE asks for it."""

import os
import shutil

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip


def browser_path():
    """Its path, or a skip by name and reason."""
    path = next((path for name in NAMES if (path := shutil.which(name))), None)
    if path is None:
        reason = "browser: no Chromium on this machine"
        if "browser" in os.environ.get("PODIUM_REQUIRE", "").split(","):
            pytest.fail(reason)
        pytest.skip(reason)
    return path
