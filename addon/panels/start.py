# SPDX-License-Identifier: GPL-3.0-or-later
"""How the active soft body starts."""

from __future__ import annotations

import bpy

from .. import ids
from ..start_runs import RUN
from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_settings


class SUPPLE_PT_start(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_start"
    bl_label = "Start"
    bl_parent_id = SUPPLE_PT_body.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        draw_settings(layout, props, "start_shape")
        layout.operator(ids.TAKE_START)
        if props.start_shape == RUN:
            draw_settings(layout, props, "start_run", "start_run_frame")
            return
        if props.start_shape == "rest":
            draw_settings(layout, props, "start_settled")
        draw_settings(layout, props, "start_from_animation")
        if not props.start_from_animation:
            draw_settings(layout, props, "start_velocity", "start_spin")
