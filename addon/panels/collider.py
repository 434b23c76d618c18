# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether soft bodies land on the active object."""

from __future__ import annotations

import bpy

from ..capture.contact import is_possible
from ..capture.objects import can_collide
from .sidebar import Sidebar, draw_settings

_OF_ALL = ("collider_friction", "collider_sliding_friction")
_OF_MESHES = (*_OF_ALL, "collider_thickness")
_OF_SPHERES = (*_OF_ALL, "collider_restitution", "collider_penalty")


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
        draw_settings(layout, props, *(_OF_MESHES if touching else _OF_SPHERES))
