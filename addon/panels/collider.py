# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether soft bodies land on the active object."""

from __future__ import annotations

import bpy

from ..capture.contact import is_possible
from ..capture.objects import can_collide
from .sidebar import Sidebar, draw_panel


class SUPPLE_PT_collider(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_collider"
    bl_label = ""  # the header names the object

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return can_collide(context.object)

    def draw_header(self, context: bpy.types.Context) -> None:
        obj = context.object
        self.layout.prop(obj.supple, "collider", text=f"Collider: {obj.name}")

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        layout.active = props.collider
        touching = is_possible(context.scene)
        draw_panel(layout, props, "collider")
        draw_panel(layout, props, "mesh collider" if touching else "sphere collider")
