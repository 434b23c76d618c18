# SPDX-License-Identifier: GPL-3.0-or-later
"""Pages to look at in a browser: one file of HTML, with pictures beside it."""

from __future__ import annotations

import html
from pathlib import Path
from urllib.parse import quote

from .job.files import write_whole

_STYLES = {
    "body": "font: 14px/1.4 system-ui, sans-serif; margin: 2em; background: #1d1e22; color: #ddd",
    "h1": "font-size: 20px",
    "h2": "font-size: 16px; margin-top: 2em",
    "a": "color: #8bd",
    ".cards": "display: flex; flex-wrap: wrap; gap: 12px",
    ".card": "width: 192px; background: #26282e; border-radius: 6px; overflow: hidden",
    ".card img, .card .none": "width: 192px; height: 144px; display: block",
    ".card p": "margin: 6px 10px",
    ".failed": "color: #f87",
    ".warning": "color: #fc6",
    "svg": "background: #26282e; border-radius: 6px; margin: 0 12px 12px 0",
}


def write(path: Path, title: str, body: str) -> None:
    """Write a page.

    Args:
        path: of the file.
        title: as text.
        body: as HTML.

    Raises:
        JobError: it cannot be written.
    """
    style = "".join(f"{name} {{{rules}}}\n" for name, rules in _STYLES.items())
    head = f"<meta charset=utf-8><title>{text(title)}</title><style>{style}</style>"
    whole = f"<!doctype html>\n<html lang=en>{head}<body><h1>{text(title)}</h1>\n{body}\n</html>\n"
    write_whole(path, whole.encode(errors="replace"))


def text(value: object) -> str:
    """Escape a text for HTML."""
    return html.escape(str(value))


def picture(name: str) -> str:
    """An image beside the page; an empty place without one."""
    return f'<img src="{quote(name)}" alt="">' if name else '<div class="none"></div>'


def card(image: str, lines: list[str]) -> str:
    """A picture with lines of HTML below it."""
    below = "".join(f"<p>{line}</p>" for line in lines)
    return f'<div class="card">{picture(image)}{below}</div>'


def cards(each: list[str]) -> str:
    """Cards side by side."""
    return f'<div class="cards">\n{chr(10).join(each)}\n</div>'
