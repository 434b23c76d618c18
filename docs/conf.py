# SPDX-License-Identifier: GPL-3.0-or-later
"""Sphinx's settings for the documentation site: ``python3 dev.py docs``."""

import tomllib
from pathlib import Path

import supple.core

# `supple.core` loads its names on first use; autodoc looks for those that are there.
for _name in supple.core.__all__:
    setattr(supple.core, _name, getattr(supple.core, _name))

project = "Supple"
copyright = "the authors of Supple"
release = tomllib.loads(Path(__file__).parents[1].joinpath("pyproject.toml").read_text())[
    "project"
]["version"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_heading_anchors = 4
# Links to files of the repository beside the pages, and the pages' own headings after a picture.
suppress_warnings = ["myst.xref_missing", "myst.header"]

autodoc_default_options = {
    "members": True,
    "imported-members": True,
    "show-inheritance": True,
    "no-value": True,
}
autodoc_preserve_defaults = True
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autoclass_content = "class"
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"Supple {release}"
# The summaries of search results would be read with requests that browsers refuse to a page
# opened from a file.
html_show_search_summary = False
html_copy_source = False
