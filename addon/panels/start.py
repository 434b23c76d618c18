# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel on the first frame of the active soft body."""

from __future__ import annotations

import bpy

from .. import ids
from .base import SoftBodyPanel, draw_panel, draw_settings


class SUPPLE_PT_start(SoftBodyPanel):
    bl_label = "Start"
    is_closed = True
    guide = "reference#start"

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.object.supple
        draw_settings(layout, props, "start_shape")
        layout.operator(ids.TAKE_START)
        draw_panel(layout, props, "start")
