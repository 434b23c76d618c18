# SPDX-License-Identifier: GPL-3.0-or-later
"""How the active soft body starts."""

from __future__ import annotations

import bpy

from .. import ids
from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_panel, draw_settings


class SUPPLE_PT_start(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_start"
    bl_label = "Start"
    bl_parent_id = SUPPLE_PT_body.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        draw_settings(layout, props, "start_shape")
        layout.operator(ids.TAKE_START)
        draw_panel(layout, props, "start")
