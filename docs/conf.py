"""Sphinx configuration: builds offline."""

import os
import re
import sys
from pathlib import Path

from docutils import nodes

from podium._version import __version__

project = "Podium"
author = "The Podium developers"
copyright = "2026, the Podium developers"
release = version = __version__
sys.path.insert(0, str(Path(__file__).parent))
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "formulas"]
html_math_renderer = "drawn"  # formulas.py beside this file: formulas are read offline
html_static_path = ["_static"]
html_css_files = ["podium.css"]
html_js_files = [("copy.js", {"defer": "defer"})]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Podium"
if versions := os.environ.get("PODIUM_DOCS_VERSIONS", "").split():  # set by scripts/versions.py: a menu of the others
    templates_path = ["_templates"]
    html_context = {"versions": versions, "this_version": os.environ["PODIUM_DOCS_VERSION"]}
    names = ("scroll-start", "brand", "VERSIONS", "search", "navigation", "scroll-end", "variant-selector")
    html_sidebars = {"**": ["versions.html" if name == "VERSIONS" else f"sidebar/{name}.html" for name in names]}
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_ivar = True  # a property of that name has an entry of its own
napoleon_use_rtype = False
default_role = "code"  # `x` is code, not a reference to guess at
exclude_patterns = ["_build", "_templates"]
MAX_SHORT_CODE = 30  # characters
suppress_warnings = ["ref.python"]  # a word in the type of a parameter may be the name of two attributes


def setup(app):
    """Docstrings are written to be read as they stand; what would mean something else to Sphinx is escaped here."""
    app.connect("autodoc-process-docstring", as_written, priority=900)  # after napoleon has read the sections
    app.connect("doctree-resolved", short_code)


def short_code(app, doctree, page):
    """Mark code in a sentence whose every word has room on a line of a phone, so that none is broken after a hyphen."""
    for code in doctree.findall(nodes.literal):
        if max(map(len, code.astext().split()), default=0) <= MAX_SHORT_CODE:
            code["classes"].append("short")


def as_written(app, what, name, obj, options, lines):
    """Bars and names that end in _ stand for themselves; tables drawn with bars become tables."""
    made, table = [], []
    for line in [*lines, ""]:
        if line.lstrip().startswith("| "):
            table.append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif table and line.lstrip().startswith("|-"):
            continue  # the rule below the head
        else:
            made += listed(table) if table else []
            table = []
            field, rest = re.match(r"(\s*:[^:]+:(?=\s)|)(.*)", line).groups()
            made.append(line if line.lstrip().startswith((">>>", "..")) else field + escaped(rest))
    lines[:] = made


def listed(table):
    """A table of cells as a directive."""
    rows = [f"   {'* -' if k == 0 else '  -'} {escaped(cell)}" for row in table for k, cell in enumerate(row)]
    return ["", ".. list-table::", "   :header-rows: 1", "", *rows, ""]


def escaped(text):
    """Text with bars and trailing underscores that stand for themselves, but for what is code."""
    parts = re.split(r"(`+[^`]*`+)", text)
    parts[::2] = [re.sub(r"(?<=\w)_(?!\w)", r"\\_", re.sub(r"(?<!\\)\|", r"\\|", part)) for part in parts[::2]]
    return "".join(parts)
