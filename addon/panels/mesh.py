# SPDX-License-Identifier: GPL-3.0-or-later
"""How the active soft body is filled."""

from __future__ import annotations

import bpy

from .. import ids
from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_settings, write


class SUPPLE_PT_mesh(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_mesh"
    bl_label = "Tetrahedra"
    bl_parent_id = SUPPLE_PT_body.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        layout.operator(ids.SUIT_RESOLUTION)
        draw_settings(layout, props, "mesh_method")
        layout.operator(ids.TETRAHEDRALIZE, icon="MESH_ICOSPHERE")
        if props.mesh_report:
            layout.label(text=props.mesh_report)
        for report in (props.parts_report, props.bending_report):
            if report:
                write(layout, context, report)
