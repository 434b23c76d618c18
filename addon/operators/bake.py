# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake, Free, and the frames on the disk."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty

from .. import actions, bake_run, ids
from ..bake_run import Bake
from ..cache import unused_caches
from ..named import named
from ..translations import OWN_CONTEXT, translated
from .base import ActionOperator, TimedOperator

# Objects that the question before a bake names.
_MOST_LINES = 5


class SUPPLE_OT_bake(TimedOperator, bpy.types.Operator):
    """Convert the simulated frames of all soft bodies to shape keys, which play without Supple"""

    bl_idname = ids.BAKE
    bl_label = "Bake"

    changes_meanwhile = lets_others_act = False

    step: IntProperty(
        name="Frame Step",
        description=(
            "Number of frames from one key to the next. The mesh moves straight between keys, "
            "and the last frame always has a key. Fewer keys make a smaller file"
        ),
        default=1,
        min=1,
        soft_max=10,
        options={"SKIP_SAVE"},
    )

    kind: EnumProperty(
        name="Keys",
        description="Kind of shape keys",
        items=bake_run.KINDS,
        default=bake_run.AUTOMATIC,
        options={"SKIP_SAVE"},
    )

    is_confirmed: BoolProperty(
        description="Bake frames that are out of date without asking",
        options={"HIDDEN", "SKIP_SAVE"},
    )

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return actions.why_no_bake(context)

    def begin(self: Any, context: bpy.types.Context) -> Bake:
        return Bake(context, self.step, self.kind)

    def invoke(self: Any, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        changes = bake_run.outdated_changes(context)
        if changes and not (self.is_confirmed or bpy.app.background):
            _ask(context, changes, {"step": self.step, "kind": self.kind})
            return {"CANCELLED"}
        is_quick = bake_run.is_quick(context)
        return self.execute(context) if is_quick else super().invoke(context, event)

    def act(self: Any, context: bpy.types.Context) -> str:
        changes = bake_run.outdated_changes(context)
        if changes and not self.is_confirmed:
            self.report({"WARNING"}, translated(bake_run.outdated_warning(changes)))
        return actions.bake(context, self.step, self.kind)


def _ask(context: bpy.types.Context, changes: list[str], choices: dict[str, Any]) -> None:
    def draw(popup: bpy.types.Menu, _context: bpy.types.Context) -> None:
        popup.layout.label(text="Changed since the simulation:")
        for text in changes[:_MOST_LINES]:
            popup.layout.label(text=translated(text), icon="DOT")
        if len(changes) > _MOST_LINES:
            popup.layout.label(text=translated(f"And {len(changes) - _MOST_LINES} more objects."))
        popup.layout.separator()
        popup.layout.operator_context = "INVOKE_DEFAULT"
        popup.layout.operator(ids.SIMULATE, text="Simulate Again", icon="PLAY")
        button = popup.layout.operator(
            ids.BAKE, text="Bake the Earlier Simulation", icon="SHAPEKEY_DATA"
        )
        for name, value in {**choices, "is_confirmed": True}.items():
            setattr(button, name, value)

    context.window_manager.popup_menu(draw, title="The Simulation Is Out of Date", icon="ERROR")


class SUPPLE_OT_free(ActionOperator, bpy.types.Operator):
    """Remove the simulated frames of all soft bodies, and their baked shape keys. Undo brings them
    back, until Remove Unused Caches deletes the frames from the disk"""

    bl_idname = ids.FREE
    # Blender's own translations of the word mean free as in freedom.
    bl_translation_context = OWN_CONTEXT
    bl_label = "Free"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return "" if actions.can_free(context.scene) else "There is nothing to remove."

    def act(self, context: bpy.types.Context) -> str:
        return actions.free(context)

    def invoke(self: Any, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        baked = actions.baked_bodies(context.scene)
        if bpy.app.background or not baked:
            return self.execute(context)
        result = context.window_manager.invoke_confirm(
            self,
            event,
            title="Also Remove the Bake?",
            message=(
                f"The baked shape keys of {named(baked)} are removed with the simulated frames."
            ),
            confirm_text="Remove",
            icon="WARNING",
        )
        return result


class SUPPLE_OT_pack_frames(ActionOperator, bpy.types.Operator):
    """Prepare the file for other machines, such as a render farm. Stores the simulated frames
    beside the file, or inside it as a bake"""

    bl_idname = ids.PACK_FRAMES
    bl_label = "Pack Frames"

    where: EnumProperty(
        name="Frames",
        description="Place where other machines find the frames",
        items=[
            ("BESIDE", "Beside the File", "In the folder supple_cache beside the .blend file"),
            (
                "INSIDE",
                "Inside the File",
                ("As shape keys, which need neither other files nor Supple"),
            ),
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
        return context.window_manager.invoke_props_dialog(self, confirm_text="Pack")

    def draw(self: Any, context: bpy.types.Context) -> None:
        self.layout.prop(self, "where", expand=True)
        for text in actions.pack_notes(context):
            self.layout.label(text=translated(text))


_SHOWN = 20


class SUPPLE_OT_remove_caches(ActionOperator, bpy.types.Operator):
    """Delete simulated frames that no file plays. Lists them with their sizes and asks first"""

    bl_idname = ids.REMOVE_CACHES
    bl_label = "Remove Unused Caches"
    bl_options = set()

    others_too: BoolProperty(
        name="Include Other Files' Frames",
        description=(
            "Also delete frames that other files, or files that were never saved, may still play"
        ),
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
        self._caches = unused_caches.find()
        return context.window_manager.invoke_props_dialog(self, width=700, confirm_text="Remove")

    def draw(self, context: bpy.types.Context) -> None:
        unused = [each for each in self._caches if not each.user]
        others = [each for each in self._caches if each.user]
        self._list("Unused:", unused)
        if others:
            self.layout.prop(self, "others_too")
            self._list("Other files may use:", others)

    def _list(self, title: str, caches: list[unused_caches.UnusedCache]) -> None:
        column = self.layout.column(align=True)
        column.label(text=title if caches else "There are no unused frames.")
        for each in caches[:_SHOWN]:
            column.label(text=str(each), icon="FILE_FOLDER")
        if len(caches) > _SHOWN:
            column.label(text=translated(f"and {len(caches) - _SHOWN} smaller ones"))
