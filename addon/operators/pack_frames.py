# SPDX-License-Identifier: GPL-3.0-or-later
"""Pack Frames."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import EnumProperty

from .. import actions, ids
from .action_operator import ActionOperator


class SUPPLE_OT_pack_frames(ActionOperator, bpy.types.Operator):
    """Make the file ready for another machine, such as a render farm: put the simulated frames
    beside it, or into it as a bake"""

    bl_idname = ids.PACK_FRAMES
    bl_label = "Pack Frames"
    bl_options = {"REGISTER", "UNDO"}

    where: EnumProperty(
        name="Frames",
        description="Where another machine finds them",
        items=[
            (
                "BESIDE",
                "Beside the File",
                "Into the folder supple_cache, which goes along with the .blend file",
            ),
            ("INSIDE", "Within the File", "As shape keys, which need no other file and no Supple"),
        ],
        default="BESIDE",
        options={"SKIP_SAVE"},
    )

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return actions.why_no_bake(context)

    def act(self, context: bpy.types.Context) -> str:
        return actions.pack_frames(context, is_inside=self.where == "INSIDE")

    def invoke(self: Any, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        result: set[str] = context.window_manager.invoke_props_dialog(self, confirm_text="Pack")
        return result

    def draw(self: Any, context: bpy.types.Context) -> None:
        self.layout.prop(self, "where", expand=True)
        for text in actions.pack_notes(context):
            self.layout.label(text=text)
