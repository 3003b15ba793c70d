"""Build the documentation of every tag v* and of the working tree, side by side, with links from each to the others.

python scripts/versions.py FOLDER [ROOT]

FOLDER/0.2.0/ holds the pages of the tag v0.2.0, FOLDER/dev/ those of the working tree, FOLDER/index.html the list. Each
version is built from its own source with its own kernels; the menu is plain links, which work offline, without script.
"""

import html
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

DEV = "dev"
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Podium: documentation by version</title>
<style>body {{ font: 1.1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 3rem auto; padding: 0 1rem; }}</style>
<h1>Podium</h1>
<p>Documentation by version, the newest first, and of what is being worked on:</p>
<ul>
{items}
</ul>
</html>
"""


def git(root, *words):
    """What git says."""
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout


def tags(root):
    """Tags v*, the newest version first."""
    return git(root, "tag", "--list", "v*", "--sort=-version:refname").split()


def checked_out(root, tag, folder):
    """The source of a tag in a folder, its kernels compiled, or taken from the working tree where they are the same."""
    archive = subprocess.run(["git", "archive", tag], cwd=root, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    same = subprocess.run(
        ["git", "diff", "--quiet", tag, "--", "src/podium/kernels", "setup.py"], cwd=root, check=False
    )
    compiled = [path for end in ("so", "pyd") for path in (root / "src").rglob(f"*.{end}")]
    if same.returncode == 0 and compiled:
        for path in compiled:
            shutil.copy(path, folder / path.relative_to(root))
    elif (folder / "setup.py").exists():
        command = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace", "--parallel", "2"]
        subprocess.run(command, cwd=folder, check=True)


def build(source, target, name, names):
    """One version, which knows the names of all."""
    env = os.environ | {
        "PYTHONPATH": str(source / "src"),
        "PODIUM_DOCS_VERSION": name,
        "PODIUM_DOCS_VERSIONS": " ".join(names),
    }
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(source / "docs"), str(target / name)]
    subprocess.run(command, cwd=source, env=env, check=True)


def main(target, root="."):
    """Build all, then the list."""
    target, root = Path(target).resolve(), Path(root).resolve()
    shutil.rmtree(target, ignore_errors=True)
    found = {tag.removeprefix("v"): tag for tag in tags(root)}
    names = [*found, DEV]
    for name, tag in found.items():
        with tempfile.TemporaryDirectory() as folder:
            checked_out(root, tag, Path(folder))
            build(Path(folder), target, name, names)
    build(root, target, DEV, names)
    days = {name: git(root, "log", "-1", "--format=%cs", tag).strip() for name, tag in found.items()}
    days[DEV] = "the working tree"
    items = (
        f'<li><a href="{html.escape(name)}/index.html">{html.escape(name)}</a>, {days[name]}</li>' for name in names
    )
    (target / "index.html").write_text(PAGE.format(items="\n".join(items)), encoding="utf-8")
    print(f"wrote {', '.join(names)} to {target}")


if __name__ == "__main__":
    main(*sys.argv[1:])
