# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels on the playback of simulated frames, and on their way to other programs."""

from __future__ import annotations

import bpy

from .. import ids
from ..capture.objects import is_soft_body
from .base import ScenePanel, draw_panel


class SUPPLE_PT_playback(ScenePanel):
    bl_label = "Playback"
    guide = "reference#playback"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        draw_panel(layout, context.scene.supple, "playback")
        if is_soft_body(context.object):
            draw_panel(layout, context.object.supple, "playback")
        layout.operator(ids.LOOP, icon="FILE_REFRESH")


class SUPPLE_PT_export(ScenePanel):
    bl_label = "Export"
    guide = "reference#export"

    def draw(self, context: bpy.types.Context) -> None:
        column = self.layout.column(align=True)
        column.operator(ids.EXPORT_ALEMBIC, icon="EXPORT")
        column.operator(ids.EXPORT_USD, icon="EXPORT")
        column = self.layout.column(align=True)
        column.operator(ids.MAKE_BONES, icon="ARMATURE_DATA")
        column.operator(ids.MOVE_ORIGINS, icon="OBJECT_ORIGIN")
