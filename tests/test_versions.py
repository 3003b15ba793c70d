"""The docs of several versions side by side: each its own pages, with links to the others."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytest.importorskip("furo")


def git(folder, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def edition(folder, version):
    """A package of that version with one page, our own settings and menu."""
    (folder / "src" / "podium" / "_version.py").write_text(f'__version__ = "{version}"\n')
    (folder / "docs" / "index.md").write_text(f"# Edition {version}\n\nWords of {version}.\n")


def test_every_tag_and_the_working_tree_have_pages_that_link_to_each_other(tmp_path):
    house, target = tmp_path / "house", tmp_path / "pages"
    (house / "src" / "podium").mkdir(parents=True)
    (house / "src" / "podium" / "__init__.py").write_text("")
    shutil.copytree(ROOT / "docs", house / "docs", ignore=shutil.ignore_patterns("*.md", "*.png"))
    git(tmp_path, "init", "house")
    for version in ("0.9.0", "0.10.0"):
        edition(house, version)
        git(house, "add", ".")
        git(house, "commit", "-m", version)
        git(house, "tag", f"v{version}")
    edition(house, "0.11.dev0")  # not committed

    script = [sys.executable, str(ROOT / "scripts" / "versions.py"), str(target), str(house)]
    subprocess.run(script, check=True, capture_output=True)

    names = ["0.10.0", "0.9.0", "dev"]  # the newest first
    assert re.findall(r'href="([^"]+)/index.html"', (target / "index.html").read_text()) == names
    words = {"0.10.0": "0.10.0", "0.9.0": "0.9.0", "dev": "0.11.dev0"}
    for name in names:
        path = target / name / "index.html"
        page = path.read_text()
        assert f"Words of {words[name]}." in page
        menu = re.search(r'<nav class="versions".*?</nav>', page, re.DOTALL)[0]
        assert f'<strong aria-current="true">{name}</strong>' in menu
        links = re.findall(r'href="([^"]+)"', menu)
        assert len(links) == 2
        for link in links:
            assert "//" not in link, "a browser takes the emptiness between two slashes for a folder"
            assert (path.parent / link).resolve().is_file()
