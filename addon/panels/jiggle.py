# SPDX-License-Identifier: GPL-3.0-or-later
"""What of the active soft body wobbles on top of its animation."""

from __future__ import annotations

import bpy

from .. import driving
from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_panel, write


class SUPPLE_PT_jiggle(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_jiggle"
    bl_label = "Jiggle"
    bl_parent_id = SUPPLE_PT_body.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        layout.use_property_split, layout.use_property_decorate = True, False
        layout.prop_search(obj.supple, "jiggle_group", obj, "vertex_groups", text="Group")
        if not obj.supple.jiggle_group:
            return
        draw_panel(layout, obj.supple, "jiggle")
        if text := driving.order(obj):
            write(layout, context, f"{text}.", icon="MODIFIER")
