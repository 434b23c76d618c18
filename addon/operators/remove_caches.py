# SPDX-License-Identifier: GPL-3.0-or-later
"""Remove Unused Caches."""

from __future__ import annotations

import bpy
from bpy.props import BoolProperty

from .. import ids
from ..cache import unused_caches
from .action_operator import ActionOperator

_SHOWN = 20


class SUPPLE_OT_remove_caches(ActionOperator, bpy.types.Operator):
    """Delete simulated frames that no file plays. Lists them, with their sizes, and asks first"""

    bl_idname = ids.REMOVE_CACHES
    bl_label = "Remove Unused Caches"

    others_too: BoolProperty(
        name="Also What Other Files May Use",
        description="Files that are not open, or were never saved, may still play these frames",
        default=False,
        options={"SKIP_SAVE"},
    )

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return ""

    def act(self, context: bpy.types.Context) -> str:
        count, size = unused_caches.remove(self.others_too)
        if count == 0:
            return "There are no simulated frames to remove."
        folders = "folder" if count == 1 else "folders"
        return (
            f"Removed {count} {folders} of simulated frames, {unused_caches.formatted_size(size)}."
        )

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        self._found = unused_caches.find()
        result: set[str] = context.window_manager.invoke_props_dialog(
            self, width=700, confirm_text="Remove"
        )
        return result

    def draw(self, context: bpy.types.Context) -> None:
        unused = [each for each in self._found if not each.user]
        others = [each for each in self._found if each.user]
        self._list("Nothing uses:", unused)
        if others:
            self.layout.prop(self, "others_too")
            self._list("Other files may use:", others)

    def _list(self, title: str, caches: list[unused_caches.UnusedCache]) -> None:
        column = self.layout.column(align=True)
        column.label(text=title if caches else "There is nothing that nothing uses.")
        for each in caches[:_SHOWN]:
            column.label(text=str(each), icon="FILE_FOLDER")
        if len(caches) > _SHOWN:
            column.label(text=f"and {len(caches) - _SHOWN} smaller ones")
