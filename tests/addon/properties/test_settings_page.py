# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of settings says what their rows say.

Run this file as a module to write the page anew.
"""

from __future__ import annotations

from pathlib import Path

from supple.addon.settings import guide_table
from supple.addon.settings.object import (
    ATTACHMENT,
    BODY,
    CONTACT,
    FIT,
    FORCES,
    JIGGLE,
    MATERIAL,
    PINS,
    START,
)
from supple.addon.settings.scene import SCENE

PAGE = Path(__file__).parents[3] / "docs" / "settings.md"
SECTIONS = {
    "Body": BODY,
    "Material": MATERIAL,
    "Forces": FORCES,
    "Pins": PINS,
    "Attachments": ATTACHMENT,
    "Jiggle": JIGGLE,
    "Contact and colliders": CONTACT,
    "Start": START,
    "Goals": FIT,
    "Scene": SCENE,
}
HEAD = """# Settings

This page lists all settings with their defaults and tooltips. A keyed setting takes keyframes and
drivers. A painted one may differ from place to place by a vertex group or an attribute. The
[reference](reference.md) explains the panels, and the [user guide](user_guide.md) starts with
tasks.
"""


def page() -> str:
    tables = [f"## {title}\n\n{guide_table(rows)}\n" for title, rows in SECTIONS.items()]
    return "\n".join([HEAD, *tables])


def test_the_page_of_settings_is_made_of_their_rows() -> None:
    assert PAGE.read_text(encoding="utf-8") == page()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
