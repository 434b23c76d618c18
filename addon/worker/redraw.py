# SPDX-License-Identifier: GPL-3.0-or-later
"""Redraw the sidebars after changes in other processes or threads."""

from __future__ import annotations

import bpy


def redraw_sidebars() -> None:
    for window in bpy.context.window_manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                for region in area.regions:
                    if region.type == "UI":
                        region.tag_redraw()
