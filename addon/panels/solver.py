# SPDX-License-Identifier: GPL-3.0-or-later
"""How the active soft body goes from one frame to the next."""

from __future__ import annotations

import bpy

from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_settings


class SUPPLE_PT_solver(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_solver"
    bl_label = "Solver"
    bl_parent_id = SUPPLE_PT_body.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        draw_settings(self.layout, context.object.supple, "integrator")
