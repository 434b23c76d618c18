# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of Blender's force fields act on the soft bodies of a scene."""

from __future__ import annotations

import bpy

from ..capture.absorbers import absorbers
from ..capture.force_fields import acting_fields
from .scene import SUPPLE_PT_scene
from .sidebar import Sidebar, draw_settings, write


class SUPPLE_PT_force_fields(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_force_fields"
    bl_label = "Force Fields"
    bl_parent_id = SUPPLE_PT_scene.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        draw_settings(layout, context.scene.supple, "effector_collection")
        names = ", ".join(field.name for field in acting_fields(context))
        write(layout, context, f"Acting: {names}" if names else "No active force fields.")
        if absorbing := ", ".join(obj.name for obj in absorbers(context)):
            write(layout, context, f"Absorbing: {absorbing}")
