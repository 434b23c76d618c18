# SPDX-License-Identifier: GPL-3.0-or-later
"""The active soft body: how finely it is simulated, and in panels of their own all its settings."""

from __future__ import annotations

import bpy

from .sidebar import SoftBodySidebar, draw_settings


class SUPPLE_PT_body(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_body"
    bl_label = ""  # the header names the body

    def draw_header(self, context: bpy.types.Context) -> None:
        self.layout.label(text=f"Body: {context.object.name}")

    def draw(self, context: bpy.types.Context) -> None:
        draw_settings(self.layout, context.object.supple, "resolution")
