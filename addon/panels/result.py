# SPDX-License-Identifier: GPL-3.0-or-later
"""How the frames of the active soft body are shown."""

from __future__ import annotations

import bpy

from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_settings


class SUPPLE_PT_result(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_result"
    bl_label = "Result"
    bl_parent_id = SUPPLE_PT_body.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        draw_settings(self.layout, context.object.supple, "smooth")
