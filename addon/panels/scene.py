# SPDX-License-Identifier: GPL-3.0-or-later
"""All settings that the soft bodies of a scene share."""

from __future__ import annotations

import bpy

from .sidebar import Sidebar


class SUPPLE_PT_scene(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_scene"
    bl_label = "Scene"

    def draw(self, context: bpy.types.Context) -> None:
        pass
