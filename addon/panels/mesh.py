# SPDX-License-Identifier: GPL-3.0-or-later
"""How the active soft body is filled."""

from __future__ import annotations

import bpy

from .sidebar import SoftBodySidebar, write


class SUPPLE_PT_mesh(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_mesh"
    bl_label = "Tetrahedra"
    bl_parent_id = "SUPPLE_PT_main"

    def draw(self, context: bpy.types.Context) -> None:
        layout, own = self.layout, context.object.supple
        layout.use_property_split = True
        layout.prop(own, "resolution")
        layout.prop(own, "mesh_method")
        layout.operator("supple.tetrahedralize", icon="MESH_ICOSPHERE")
        for line in context.scene.supple.mesh_report.splitlines():
            write(layout, context, line)
