# SPDX-License-Identifier: GPL-3.0-or-later
"""The guide that comes with the extension: pages of ``docs`` as HTML for a web browser.

This module reads only the part of Markdown that the pages use: headings, paragraphs, lists,
tables, blocks of code, pictures, links, bold, italics and code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
#: The pages that are packed, in the order of the navigation, with their titles there.
PAGES = {
    "user_guide": "User Guide",
    "reference": "Reference",
    "settings": "Settings",
    "materials": "Materials",
    "glossary": "Glossary",
}
_STYLE = Path(__file__).with_name("guide.css")
_BULLET, _NUMBER = re.compile(r"- "), re.compile(r"\d+\. ")
_HEADING = re.compile(r"(#+) (.*)")
_LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
_MARKS = (
    (re.compile(r"\*\*(.+?)\*\*"), r"<b>\1</b>"),
    (re.compile(r"\*([^*\s](?:[^*]*[^*\s])?)\*"), r"<i>\1</i>"),
)


def write(folder: Path) -> Path:
    """Write the pages into a folder, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PAGES:
        text = (DOCS / f"{name}.md").read_text(encoding="utf-8")
        (folder / f"{name}.html").write_text(page(name, text), encoding="utf-8")
    return folder


def page(name: str, text: str) -> str:
    """One page as HTML."""
    style = _STYLE.read_text(encoding="utf-8")
    links = "".join(f'<a href="{each}.html">{title}</a>' for each, title in PAGES.items())
    body = "\n".join(_blocks(text.splitlines()))
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>Supple: {PAGES[name]}</title><style>{style}</style></head>\n"
        f"<body><nav>{links}</nav>\n{body}\n</body></html>\n"
    )


def anchor(heading: str) -> str:
    """The name of a section in links, such as ``ground-and-fluid``."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _blocks(lines: list[str]) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line, end = lines[at], at + 1
        if line.startswith("```"):
            while end < len(lines) and not lines[end].startswith("```"):
                end += 1
            yield f"<pre>{escape(chr(10).join(lines[at + 1 : end]))}</pre>"
            end += 1
        elif match := _HEADING.fullmatch(line):
            level, heading = len(match[1]), match[2]
            yield f'<h{level} id="{anchor(heading)}">{_inline(heading)}</h{level}>'
        elif line.strip():
            while end < len(lines) and _continues(line, lines[end]):
                end += 1
            block = lines[at:end]
            yield from _table(block) if line.startswith("|") else _paragraphs(block)
        at = end


def _continues(first: str, line: str) -> bool:
    """Whether a line belongs to the same table, list or paragraph as the one that begins it."""
    is_other = line.startswith(("```", "#")) or line.startswith("|") != first.startswith("|")
    return bool(line.strip()) and not is_other


def _table(lines: list[str]) -> Iterator[str]:
    yield "<table>"
    for index, line in enumerate(lines):
        if index != 1:
            kind = "td" if index else "th"
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            row = (f"<{kind}>{_inline(cell.strip())}</{kind}>" for cell in cells)
            yield f"<tr>{''.join(row)}</tr>"
    yield "</table>"


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """A paragraph, or a list with its items; lists do not stand within others."""
    marks = {"ul": _BULLET, "ol": _NUMBER}
    kind = next((tag for tag, mark in marks.items() if mark.match(lines[0])), "")
    if not kind:
        yield f"<p>{_inline(chr(10).join(lines))}</p>"
        return
    items: list[list[str]] = []
    for line in lines:
        if match := marks[kind].match(line):
            items.append([line[match.end() :]])
        else:
            items[-1].append(line.strip())
    # Steps go on counting after a picture or a paragraph between them.
    start = f' start="{lines[0].partition(".")[0]}"' if kind == "ol" else ""
    yield f"<{kind}{start}>"
    yield from (f"<li>{_inline(' '.join(item))}</li>" for item in items)
    yield f"</{kind}>"


def _inline(text: str) -> str:
    """A text with its marks; code has none."""
    parts = text.split("`")
    return "".join(
        f"<code>{escape(part)}</code>" if index % 2 else _marked(part)
        for index, part in enumerate(parts)
    )


def _marked(text: str) -> str:
    text = _LINK.sub(_link, escape(text.replace("\\|", "|"), quote=False))
    for mark, tags in _MARKS:
        text = mark.sub(tags, text)
    return text


def _link(match: re.Match[str]) -> str:
    is_picture, label, target = match.groups()
    if is_picture:
        return f'<img src="{(DOCS / target).as_uri()}" alt="{label}">'
    name, hash_, section = target.partition("#")
    if name.startswith("http"):
        return f'<a href="{target}">{label}</a>'
    if name and name.removesuffix(".md") not in PAGES:
        return label  # A page that is not packed.
    page_name = f"{name.removesuffix('.md')}.html" if name else ""
    return f'<a href="{page_name}{hash_}{section}">{label}</a>'
