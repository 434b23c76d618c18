# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds the active soft body, and what drives it."""

from __future__ import annotations

import bpy

from .. import driving
from ..reports import ignored
from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_panel, write


class SUPPLE_PT_pins(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_pins"
    bl_label = "Pins"
    bl_parent_id = SUPPLE_PT_body.bl_idname

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        layout.use_property_split, layout.use_property_decorate = True, False
        layout.prop_search(obj.supple, "pin_group", obj, "vertex_groups")
        # What jiggles has goals of its own.
        if not obj.supple.jiggle_group and ignored.has_partial_weights(obj, obj.supple.pin_group):
            draw_panel(layout, obj.supple, "goals")
        if obj.supple.pin_group:
            draw_panel(layout, obj.supple, "pins")
        if text := driving.order(obj):
            write(layout, context, f"{text}.", icon="MODIFIER")
        if len(obj.vertex_groups) == 0:
            write(layout, context, "To pin, assign vertices to a vertex group.", icon="INFO")
