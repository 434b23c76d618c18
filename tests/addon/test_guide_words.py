# SPDX-License-Identifier: GPL-3.0-or-later
"""The guide and the reference call buttons and settings by the names that the window shows."""

from __future__ import annotations

import re
from pathlib import Path

import bpy
import pytest

from supple.addon.fits.table import TOOLS
from supple.addon.settings.object import OBJECT
from supple.addon.settings.scene import SCENE

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("user_guide.md", "reference.md")
#: Bold words that are a button with a text of its own, keys, or buttons of Blender.
OTHERS = {
    "Dismiss",
    "Alt D",
    "Ctrl P",
    "Ctrl",
    "Shift",
    "Enter",
    "Tab",
    "Esc",
    "Assign",
    "Save As",
    "Save Copy",
    "F3",
    "+",
    "−",
}


@pytest.fixture(scope="module")
def labels() -> set[str]:
    settings = {row.label for row in (*OBJECT, *SCENE)}
    tools = {tool.label for tool in TOOLS.values()}
    buttons = [name for name in dir(bpy.types) if name.startswith("SUPPLE_OT_")]
    return settings | tools | {getattr(bpy.types, name).bl_label for name in buttons}


@pytest.mark.parametrize("page", PAGES)
def test_bold_words_are_buttons(page: str, labels: set[str]):
    text = (DOCS / page).read_text(encoding="utf-8")
    bold = set(re.findall(r"\*\*([^*\n]+)\*\*", text))
    keys = {word for word in bold if len(word) == 1 or re.fullmatch(r"-?[\d.]+", word)}
    sentences = {word for word in bold if word.endswith(".") or "friction" in word}
    assert bold - keys - sentences - OTHERS - labels == set()


@pytest.mark.parametrize("page", PAGES)
def test_tables_of_settings_name_settings(page: str, labels: set[str]):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert set(named_settings(text)) - labels - {"Group"} == set()


def named_settings(text: str) -> list[str]:
    """Return the first cells of the tables whose first column is headed *setting*."""
    names: list[str] = []
    for table in re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE):
        head, _, *rows = table.splitlines()
        if head.startswith("| setting |"):
            names += [row.split("|")[1].strip() for row in rows]
    return names


def test_a_table_of_settings_is_read():
    table = (
        "| setting | effect |\n|---|---|\n| Drag | slows |\n\n| word | x |\n|---|---|\n| a | b |\n"
    )
    assert named_settings(table) == ["Drag"]
