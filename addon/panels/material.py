# SPDX-License-Identifier: GPL-3.0-or-later
"""What the active soft body is made of."""

from __future__ import annotations

import bpy

from .sidebar import SoftBodySidebar, draw_settings


class SUPPLE_PT_material(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_material"
    bl_label = "Material"
    bl_parent_id = "SUPPLE_PT_body"

    def draw(self, context: bpy.types.Context) -> None:
        layout, own = self.layout, context.object.supple
        layout.operator_menu_enum("supple.apply_preset", "preset", text="Preset", icon="PRESET")
        draw_settings(layout, own, "model", "young", "poisson")
        if own.model == "st_venant_kirchhoff":
            draw_settings(layout, own, "guard")
        draw_settings(layout, own, "density", "damping", "stiffness_damping", "viscosity")
