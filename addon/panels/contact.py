# SPDX-License-Identifier: GPL-3.0-or-later
"""How soft bodies touch each other, and the active one with what."""

from __future__ import annotations

import bpy

from ..capture import is_soft_body, soft_bodies
from ..contact_capture import is_possible
from .sidebar import Sidebar

_SCENE_SETTINGS = ("self_contact", "contact_distance", "contact_formulation", "friction_updates")


class SUPPLE_PT_contact(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_contact"
    bl_label = "Contact"
    bl_parent_id = "SUPPLE_PT_main"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, own = self.layout, context.scene.supple
        layout.use_property_split = True
        layout.prop(own, "contact")
        if is_possible(context.scene, soft_bodies(context)):
            for name in _SCENE_SETTINGS:
                layout.prop(own, name)


class SUPPLE_PT_body_contact(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_body_contact"
    bl_label = "This Body"
    bl_parent_id = "SUPPLE_PT_contact"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return is_soft_body(context.object) and is_possible(context.scene, soft_bodies(context))

    def draw(self, context: bpy.types.Context) -> None:
        layout, own = self.layout, context.object.supple
        layout.use_property_split = True
        layout.prop(own, "friction")
        layout.prop(own, "sliding_friction")
        layout.prop(own, "contact_surface")
        if own.contact_surface == "mesh":
            layout.prop(own, "contact_detail")
