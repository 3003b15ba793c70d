"""Run every story of `podium demo` and take a picture of what it shows: python scripts/pictures.py [FOLDER]

Pages are opened in the system's Chromium; a story that ends in a table is shown as the terminal shows it. Fails if a
story no longer ends in what it promises; that pixels differ from one machine to the next is no failure.
"""

import html
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from podium.cli.stories import STORIES

ROOT = Path(__file__).resolve().parent.parent
TERMINAL = (
    '<body style="margin:0;background:#16181c;color:#e8e8e8;font:14px/1.45 monospace"><pre style="padding:1rem">{}'
)
TABS = {"league": "Over time"}  # where a page opens for its picture, unless on its first tab
HEIGHTS = {"league": 1180}  # of the window in which more must be seen


def main(folder):
    """Write gallery-STORY.png for every story, and the arena page of the README."""
    with tempfile.TemporaryDirectory() as place, sync_playwright() as engine:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = engine.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(viewport={"width": 1280, "height": 860}, color_scheme="light").new_page()
        for story, told in STORIES.items():
            command = [sys.executable, "-m", "podium", "demo", story]
            environment = os.environ | {"COLUMNS": "110", "PYTHONUNBUFFERED": "1"}  # both streams in their order
            streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
            done = subprocess.run(command, cwd=place, text=True, env=environment, **streams)
            shown = Path(place) / f"demo-{story}" / told.shows
            if done.returncode or not shown.exists():
                raise SystemExit(f"podium demo {story} did not end in {told.shows}:\n{done.stdout}")
            target = folder / f"gallery-{story}.png"
            if shown.suffix == ".png":
                shutil.copy(shown, target)
                continue
            if shown.suffix != ".html":
                shown = shown.with_suffix(".html")
                shown.write_text(TERMINAL.format(html.escape(_said(story, done))))
            page.set_viewport_size({"width": 1280, "height": HEIGHTS.get(story, 860)})
            page.goto(shown.as_uri())
            if story in TABS:
                page.get_by_text(TABS[story], exact=True).click()
            page.screenshot(path=target)
            if story == "arena":
                shutil.copy(target, folder / "arena-page.png")
        browser.close()


def _said(story, done):
    """What the terminal shows of a story, its first lines."""
    return "\n".join([f"$ podium demo {story}", *done.stdout.splitlines()[1:]][:44])


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs")
