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


def on_each_screen(path):
    """A page in the browser, as wide as on a phone and on a laptop."""
    found, playwright = browser_path(), pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=found, args=list(FLAGS))
        for width in (390, 1280):
            page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
            page.goto(path.as_uri())
            yield width, page
        browser.close()
