# SPDX-License-Identifier: GPL-3.0-or-later
"""What acts on the active soft body."""

from __future__ import annotations

import bpy

from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_panel


class SUPPLE_PT_forces(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_forces"
    bl_label = "Forces"
    bl_parent_id = SUPPLE_PT_body.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        draw_panel(self.layout, context.object.supple, "forces")
