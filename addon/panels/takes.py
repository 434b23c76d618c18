# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel with the list of takes."""

from __future__ import annotations

from typing import Any

import bpy

from .. import ids
from ..takes import kept
from .base import ScenePanel, write


class SUPPLE_UL_takes(bpy.types.UIList):
    """Draws a take with its stiffness, and the eye of its ghost"""

    def draw_item(
        self: Any,
        context: bpy.types.Context,
        layout: bpy.types.UILayout,
        props: bpy.types.PropertyGroup,
        take: bpy.types.PropertyGroup,
        icon: int,
        active_props: bpy.types.PropertyGroup,
        active_name: str,
    ) -> None:
        row = layout.row(align=True)
        is_shown = kept.is_shown(context, take)
        row.prop(take, "name", text="", emboss=False, icon="PLAY" if is_shown else "BLANK1")
        row.label(text=take.stiffness)
        ghost = "GHOST_ENABLED" if take.show_ghost else "GHOST_DISABLED"
        row.prop(take, "show_ghost", text="", emboss=False, icon=ghost)


class SUPPLE_PT_takes(ScenePanel):
    bl_label = "Takes"
    guide = "reference#takes"

    def draw(self, context: bpy.types.Context) -> None:
        layout, props = self.layout, context.scene.supple
        row = layout.row()
        row.template_list("SUPPLE_UL_takes", "", props, "takes", props, "take_index", rows=3)
        column = row.column(align=True)
        column.operator(ids.KEEP_TAKE, text="", icon="ADD")
        column.operator(ids.REMOVE_TAKE, text="", icon="REMOVE")
        take = kept.active(context.scene)
        if take is None:
            layout.operator(ids.KEEP_TAKE, icon="ADD")
            return
        write(layout, context, f"{take.frames} frames, {take.date}, {take.size}", icon="INFO")
        row = layout.row(align=True)
        row.operator(ids.SHOW_TAKE, icon="PLAY")
        row.operator(ids.RESTORE_TAKE, icon="LOOP_BACK")
