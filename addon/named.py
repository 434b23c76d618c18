# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects in messages: by name, or by number if a status bar could not show all names."""

from __future__ import annotations

from collections.abc import Sequence

import bpy

#: The number of objects that a message names at most.
NAMED = 3


def named(objects: Sequence[bpy.types.Object], plural: str = "soft bodies") -> str:
    """Names of objects for a message, such as ``Cube, Ball`` or ``25 soft bodies``."""
    if len(objects) > NAMED:
        return f"{len(objects)} {plural}"
    return ", ".join(obj.name for obj in objects)
