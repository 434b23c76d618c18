# SPDX-License-Identifier: GPL-3.0-or-later
"""Names, kinds, defaults and limits of all settings are those that saved files were written with.

``recorded_settings.json`` lists them. A new setting adds a line; a line that changes or goes means
that older files lose what was set in them. Run this file as a module to write the list anew.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bpy

from supple.addon.preferences import SupplePreferences
from supple.addon.properties.object import SuppleAttachment, SuppleObject, SuppleScene

RECORD = Path(__file__).with_name("recorded_settings.json")
OWNERS = (SuppleObject, SuppleScene, SuppleAttachment, SupplePreferences)
_LIMITS = ("hard_min", "hard_max", "soft_min", "soft_max", "array_length", "subtype", "unit")


def _described(each: bpy.types.Property) -> dict[str, Any]:
    """The parts of a setting that files and scripts rely on."""
    found: dict[str, Any] = {"type": each.type, "animatable": each.is_animatable}
    found |= {name: getattr(each, name) for name in _LIMITS if hasattr(each, name)}
    if each.type == "ENUM":
        found["items"] = [item.identifier for item in each.enum_items]
        found["default"] = sorted(each.default_flag) if each.is_enum_flag else each.default
    elif each.type in ("POINTER", "COLLECTION"):
        found["of"] = each.fixed_type.identifier
    elif getattr(each, "is_array", False):
        found["default"] = list(each.default_array)
    else:
        found["default"] = each.default
    return found


def settings() -> dict[str, dict[str, Any]]:
    """All settings, by the name of their owner and their own."""
    return {
        owner.__name__: {
            each.identifier: _described(each)
            for each in owner.bl_rna.properties
            if each.identifier != "rna_type"
        }
        for owner in OWNERS
    }


def test_saved_files_have_the_settings_that_there_are() -> None:
    assert settings() == json.loads(RECORD.read_text())


def write() -> None:
    parts = []
    for owner, rows in settings().items():
        lines = ",\n".join(f'"{name}": {json.dumps(row)}' for name, row in rows.items())
        parts.append(f'"{owner}": {{\n{lines}\n}}')
    RECORD.write_text("{\n" + ",\n".join(parts) + "\n}\n")


if __name__ == "__main__":
    import supple

    supple.register()
    write()
