"""Open every page of a folder in the system's Chromium, as wide as a phone, and name those that run off its edge.

python scripts/narrow.py FOLDER [WIDTH]
"""

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

# What sticks out, but for what scrolls in a place of its own.
WIDE = """() => {
  const width = document.documentElement.clientWidth;
  return document.documentElement.scrollWidth <= width ? [] : [...document.querySelectorAll("body *")]
    .filter((node) => node.getBoundingClientRect().right > width + 1).slice(-1)
    .map((node) => `${node.tagName.toLowerCase()} ${node.textContent.trim().slice(0, 40)}`);
}"""


def browser_path():
    """The system's Chromium; None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def overflowing(folder, width=390):
    """Pages that can be scrolled sideways, each with something that sticks out."""
    found = {}
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=browser_path(), args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
        for path in sorted(Path(folder).rglob("*.html")):
            page.goto(path.resolve().as_uri())
            if wide := page.evaluate(WIDE):
                found[str(path.relative_to(folder))] = wide
        browser.close()
    return found


def main():
    """Name the pages, and fail if there is one; where there is no browser, say so (CI asks for one)."""
    if browser_path() is None:
        print("no Chromium on this machine: the width of the pages was not checked")
        raise SystemExit(1 if "browser" in os.environ.get("PODIUM_REQUIRE", "").split(",") else 0)
    found = overflowing(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 390)
    for page, wide in found.items():
        print(page, *wide)
    raise SystemExit(1 if found else 0)


if __name__ == "__main__":
    main()
