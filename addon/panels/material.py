# SPDX-License-Identifier: GPL-3.0-or-later
"""What the active soft body is made of."""

from __future__ import annotations

import bpy

from .sidebar import SoftBodySidebar

_SETTINGS = (
    *("model", "young", "poisson", "density"),
    *("damping", "stiffness_damping", "viscosity"),
)


class SUPPLE_PT_material(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_material"
    bl_label = "Material"
    bl_parent_id = "SUPPLE_PT_main"

    def draw(self, context: bpy.types.Context) -> None:
        layout, own = self.layout, context.object.supple
        layout.use_property_split = True
        layout.operator_menu_enum("supple.apply_preset", "preset", text="Preset", icon="PRESET")
        for name in _SETTINGS:
            layout.prop(own, name)
            if name == "poisson" and own.model == "st_venant_kirchhoff":
                layout.prop(own, "guard")
