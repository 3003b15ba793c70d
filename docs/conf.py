"""Sphinx configuration: builds offline."""

from podium._version import __version__

project = "Podium"
author = "The Podium developers"
copyright = "2026, the Podium developers"
release = version = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Podium"
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
napoleon_use_rtype = False
exclude_patterns = ["_build"]
