"""Make the pictures of the app in these pages: python docs/app_pictures.py [FOLDER]

A campaign on the bundled essays, votes of simulated readers, a real server, the system's Chromium.
"""

import math
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from podium.client import Judge
from podium.errors import RefusedError

HERE = Path(__file__).parent
READERS = ["Ann", "Ben", "Chloe", "Dev"]
VOTES = 30  # of each


def main(folder):
    """Write app-judge.png and app-live.png, and narrow dark ones beside them."""
    random.seed(1)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as place:
        items = HERE.parent / "examples" / "street-essays.csv"
        named = [part for name in READERS for part in ("--judge", name)]
        about = ["--title", "Street essays", "--question", "Which essay argues better?", "--url", url, "--seed", "1"]
        command = [sys.executable, "-m", "podium", "campaign", "new", str(items), "--target", "40", *about, *named]
        made = subprocess.run(command, cwd=place, capture_output=True, text=True, check=True).stdout
        organiser, *judges = re.findall(r"(http\S+)", made)
        serve = [sys.executable, "-m", "podium", "serve", "--port", str(port)]
        server = subprocess.Popen(serve, cwd=place, stderr=subprocess.PIPE, text=True)
        for line in server.stderr:
            if "make a campaign" in line:
                break
        try:
            for link in judges:
                answer(link)
            take(organiser, judges[0], url, folder)
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()


def answer(link):
    """Votes of a reader: longer words win more often."""

    def quality(view):
        words = re.sub("<[^>]*>", "", view["html"]).split()
        return sum(map(len, words)) / len(words)

    def judge(left, right):
        return float(random.random() < 1 / (1 + math.exp(16 * (quality(right) - quality(left)))))

    with Judge.by_link(link) as reader:
        for _ in range(200):
            try:
                pairs = reader.next()["questions"]
                reader.vote(pairs[0]["id"], judge(pairs[0]["left"], pairs[0]["right"]), ms=random.randint(6000, 25000))
            except RefusedError:
                return
            if reader.next()["answered"] >= VOTES:
                return


def take(organiser, judge, url, folder):
    """Take the pictures."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for tail, width, height, scheme in (("", 1280, 860, "light"), ("-phone", 390, 780, "dark")):
            context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
            page = context.new_page()
            page.goto(judge)
            page.locator("#judging").wait_for()
            page.screenshot(path=folder / f"app-judge{tail}.png")
            page.goto(organiser)
            page.wait_for_url("**/o/live")
            page.locator("td.place").first.wait_for()
            page.screenshot(path=folder / f"app-live{tail}.png", full_page=True)
            page.goto(f"{url}/o/judges")
            page.screenshot(path=folder / f"app-judges{tail}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
