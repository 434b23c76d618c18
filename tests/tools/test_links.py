# SPDX-License-Identifier: GPL-3.0-or-later
"""Links of the pages lead to files and headings that exist, and pictures are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from supple.tools.prose import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Path):
    broken = [link for link in links(page.read_text(encoding="utf-8")) if not is_there(page, link)]
    assert broken == []


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Make a jelly", "make-a-jelly"),
        ("References of the solver's own", "references-of-the-solvers-own"),
        ("Impact at 100 m/s", "impact-at-100-ms"),
    ],
)
def test_a_heading_has_the_anchor_that_links_to_it_name(heading: str, anchor: str):
    assert anchors(f"# Page\n\n## {heading}\n") == {"page", anchor}


def links(text: str) -> list[str]:
    """Return the targets of a page's links and pictures that are not on the web."""
    text = re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target for target in targets if not target.startswith(("http:", "https:"))]


def is_there(page: Path, link: str) -> bool:
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target.read_text(encoding="utf-8"))


def anchors(text: str) -> set[str]:
    """Return the anchors of a page's headings, by the rule of its Markdown readers."""
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}
