# SPDX-License-Identifier: GPL-3.0-or-later
"""Redraw the panels after changes in other processes or threads."""

from __future__ import annotations

import bpy

from .. import remembered

# The places of panels, by editor and region.
_PLACES = (("VIEW_3D", "UI"), ("PROPERTIES", "WINDOW"))


def redraw_panels() -> None:
    """Draw the panels of all windows with newly computed values."""
    remembered.forget()
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            for region in area.regions:
                if (area.type, region.type) in _PLACES:
                    region.tag_redraw()
