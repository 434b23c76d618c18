# SPDX-License-Identifier: GPL-3.0-or-later
"""How the soft bodies of a scene touch each other and colliders."""

from __future__ import annotations

import bpy

from ..capture.contact import is_possible
from .scene import SUPPLE_PT_scene
from .sidebar import Sidebar, draw_panel


class SUPPLE_PT_contact(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_contact"
    bl_label = "Contact"
    bl_parent_id = SUPPLE_PT_scene.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.scene.supple
        # The panel has its name already.
        layout.prop(props, "contact", text="")
        if is_possible(context.scene):
            draw_panel(layout, props, "contact")
