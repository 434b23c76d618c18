# SPDX-License-Identifier: GPL-3.0-or-later
"""How the material of the active soft body keeps its volume, and how its motion dies away."""

from __future__ import annotations

import bpy

from .material import SUPPLE_PT_material
from .sidebar import SoftBodySidebar, draw_panel


class SUPPLE_PT_volume_and_damping(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_volume_and_damping"
    bl_label = "Volume and Damping"
    bl_parent_id = SUPPLE_PT_material.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        draw_panel(self.layout, context.object.supple, "volume and damping")
