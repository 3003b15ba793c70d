"""The documentation does what it says: shell examples are run, and every command is told of."""

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from podium.cli import COMMANDS
from podium.cli.stories import STORIES

from suites.browser import FLAGS as BROWSER_FLAGS
from suites.browser import browser_path

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = {"podium", "head", "tail", "cat", "ls", "echo", "printf", "wc", "cut", "sort", "grep"}  # not make, pip, git …
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def blocks(text):
    return re.findall(r"^```console\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def examples(block):
    """(command, shown output) of each `$ ` line; here-documents and continued lines belong to the command."""
    found, lines = [], iter(block.splitlines())
    for line in lines:
        if not line.startswith("$ "):
            assert found, f"output before any command: {line!r}"
            found[-1][1].append(line)
            continue
        command = [line[2:]]
        while command[-1].endswith("\\"):
            command.append(next(lines))
        if here := re.search(r"<<-? *['\"]?(\w+)", line):
            for more in lines:
                command.append(more)
                if more == here[1]:
                    break
        found.append(("\n".join(command), []))
    return [(command, "\n".join(shown)) for command, shown in found]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p.read_text())], ids=lambda p: str(p.relative_to(ROOT)))
def test_shell_examples_print_what_is_shown(page, tmp_path):
    folder = tmp_path / "examples"
    shutil.copytree(ROOT / "examples", folder)
    environment = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    environment |= {"COLUMNS": "120", "LC_ALL": "C.UTF-8"}
    for block in blocks(page.read_text()):
        for command, shown in examples(block):
            if command.split()[0] not in RUN:
                continue
            done = subprocess.run(
                ["bash", "-c", command], cwd=folder, env=environment, text=True, timeout=120,
                capture_output=True, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            if not shown.strip():
                assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
            elif not any(matches(shown, printed) for printed in readings(done)):
                pytest.fail(f"$ {command}\nshown:\n{shown}\nprinted:\n{done.stdout}{done.stderr}")


def readings(done):
    """What a reader may see: in a terminal words come before or after the data; a page may show the data alone."""
    return done.stderr + done.stdout, done.stdout + done.stderr, done.stdout


def matches(shown, printed):
    return doctest.OutputChecker().check_output(f"{shown}\n", re.sub(r"\x1b\[[0-9;]*m", "", printed), FLAGS)


def test_every_command_is_documented():
    text = "\n".join(page.read_text() for page in PAGES)
    missing = [name for name in COMMANDS if not re.search(rf"podium {name}\b", text)]
    assert not missing


def test_every_page_is_in_the_table_of_contents():
    contents = "\n".join((ROOT / "docs" / name).read_text() for name in ("index.md", "api.md", "benchmarks.md"))
    listed = set(re.findall(r"^([\w/-]+)$", contents, flags=re.MULTILINE))
    assert {str(p.relative_to(ROOT / "docs").with_suffix("")) for p in PAGES[1:]} - {"index"} <= listed


def test_the_parser_knows_here_documents_and_continued_lines():
    block = "$ cat > a <<EOF\nx\nEOF\n$ echo one \\\n  two\none two\n"
    assert examples(block) == [("cat > a <<EOF\nx\nEOF", ""), ("echo one \\\n  two", "one two")]


def test_the_tree_in_contributing_shows_every_room():
    shown = (ROOT / "CONTRIBUTING.md").read_text().partition("## The house")[2].partition("The contracts are")[0]
    tree = {word for line in re.findall(r"^    (\S.*)$", shown, flags=re.MULTILINE) for word in line[:14].split()}
    rooms = {
        path.stem + "/" * path.is_dir() for path in (ROOT / "src" / "podium").iterdir() if path.name[0] not in "_."
    }
    assert tree == rooms - {"py"}, "draw the room in CONTRIBUTING.md"


def test_the_gallery_shows_every_story_and_its_pictures_are_there():
    text = (ROOT / "docs" / "gallery.md").read_text()
    for story in STORIES:
        assert f"podium demo {story}" in text
        assert f"](gallery-{story}.png)" in text
        assert (ROOT / "docs" / f"gallery-{story}.png").read_bytes().startswith(b"\x89PNG"), "make pictures"


def formulas():
    """Every formula of the pages."""
    for page in PAGES[1:]:
        text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(), flags=re.DOTALL)
        for block, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$\n]+?)\$", text, flags=re.DOTALL):
            yield page.name, block or inline


def test_every_formula_can_be_drawn_without_a_network(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    from formulas import picture

    found = list(formulas())
    assert len(found) > 50
    for page, latex in found:
        drawn = picture(latex)
        assert drawn.count("<path") == 1, (page, latex)
        assert "M" in drawn.partition(' d="')[2], (page, latex)
        assert "http" not in drawn


COPIED = {
    ">>> a = 1\n>>> for b in [a]:\n...     print(b)\n1\n": "a = 1\nfor b in [a]:\n    print(b)",
    ">>> for b in []:\n...     pass\n>>> c = [\n...     1]\n>>> c\n": "for b in []:\n    pass\n\nc = [\n    1]\n\nc",
    "$ podium rank a.csv\nrank  item\n   1  tea\n$ ls\na.csv\n": "podium rank a.csv\nls",
    "$ cat > a <<EOF\nx\nEOF\n$ echo one \\\n  two\none two\n": "cat > a <<EOF\nx\nEOF\necho one \\\n  two",
    "make demo\n": "make demo",
}


def test_a_word_in_a_narrow_table_is_not_broken_into_letters():
    path = browser_path()
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=path, args=list(BROWSER_FLAGS))
        page = browser.new_page(viewport={"width": 390, "height": 600})
        cells = "".join(f"<td>{each}</td>" for each in ("<code>unknown</code>", "who " * 50, "what " * 50))
        page.set_content(
            f"<article><table class=docutils><tr>{cells}</tr></table><p><code>{'a' * 200}</code></p></article>"
        )
        page.add_style_tag(path=ROOT / "docs" / "_static" / "podium.css")
        assert page.evaluate("document.querySelector('td code').getClientRects().length") == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        browser.close()


def test_an_option_in_a_sentence_is_not_broken_after_its_hyphens(tmp_path):
    """A page as the documentation is built, at widths in which every option comes to the end of a line."""
    application, path = pytest.importorskip("sphinx.application"), browser_path()
    playwright = pytest.importorskip("playwright.sync_api")
    (tmp_path / "index.md").write_text(
        "# Page\n\n" + "`--left-goals`, `podium rank --tie-count` and " * 20 + f"`{'a-' * 200}`\n"
    )
    settings = {
        "extensions": ["myst_parser", "sphinx.ext.autodoc", "formulas"],
        "html_theme": "basic",
        "suppress_warnings": ["*"],
    }
    folders = (tmp_path, ROOT / "docs", tmp_path / "html", tmp_path / "trees")
    application.Sphinx(*folders, "html", confoverrides=settings, status=None, warning=None).build()
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=path, args=list(BROWSER_FLAGS))
        page = browser.new_page()
        page.set_content(f"<article>{re.search('<p>.*</p>', (tmp_path / 'html/index.html').read_text())[0]}</article>")
        page.add_style_tag(path=ROOT / "docs" / "_static" / "podium.css")
        for width in range(300, 400, 10):
            page.set_viewport_size({"width": width, "height": 600})
            rows = page.locator("code.short span.pre").evaluate_all("all => all.map(x => x.getClientRects().length)")
            assert rows == [1] * 20 * 4
            assert page.evaluate("document.documentElement.scrollWidth") <= width
        browser.close()


def test_what_is_copied_is_what_one_types(tmp_path):
    """The button's own function in a browser; what it gives of a console block is what `examples` runs."""
    path = browser_path()
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as engine:
        browser = engine.chromium.launch(executable_path=path, args=list(BROWSER_FLAGS))
        page = browser.new_page()
        page.set_content("<div class=highlight><pre>$ ls\n</pre></div>")
        page.add_script_tag(path=ROOT / "docs" / "_static" / "copy.js")
        assert page.locator("button.copy").count() == 1
        for text, wanted in COPIED.items():
            assert page.evaluate("text => typed(text)", text) == wanted
        for shown in (block for each in PAGES for block in blocks(each.read_text())):
            assert page.evaluate("text => typed(text)", shown) == "\n".join(command for command, _ in examples(shown))
        browser.close()
