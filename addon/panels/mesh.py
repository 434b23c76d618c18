# SPDX-License-Identifier: GPL-3.0-or-later
"""How the active soft body is filled."""

from __future__ import annotations

import bpy

from .. import ids
from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_settings


class SUPPLE_PT_mesh(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_mesh"
    bl_label = "Tetrahedra"
    bl_parent_id = SUPPLE_PT_body.bl_idname

    def draw(self, context: bpy.types.Context) -> None:
        layout, own = self.layout, context.object.supple
        draw_settings(layout, own, "resolution")
        layout.operator(ids.SUIT_RESOLUTION)
        draw_settings(layout, own, "mesh_method")
        layout.operator(ids.TETRAHEDRALIZE, icon="MESH_ICOSPHERE")
        if own.mesh_report:
            layout.label(text=own.mesh_report)
