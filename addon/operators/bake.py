# SPDX-License-Identifier: GPL-3.0-or-later
"""Bake."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, EnumProperty, IntProperty

from ...core.errors import legible
from .. import actions, bake_run, ids
from ..bake_run import Bake
from .timed_operator import TimedOperator

# Objects that the question before a bake names.
_MOST_LINES = 5


class SUPPLE_OT_bake(TimedOperator, bpy.types.Operator):
    """Turn the simulated frames of all soft bodies into shape keys, which need no Supple to play"""

    bl_idname = ids.BAKE
    bl_label = "Bake"
    bl_options = {"REGISTER", "UNDO"}

    changes_meanwhile = lets_others_act = False

    step: IntProperty(
        name="Frame Step",
        description=(
            "One key every so many frames, and one at the last; the mesh goes straight from one to "
            "the next. Fewer keys make a smaller file"
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
        description="Whether frames that are out of date are baked unasked",
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
        result: set[str] = self.execute(context) if is_quick else super().invoke(context, event)
        return result

    def act(self: Any, context: bpy.types.Context) -> str:
        changes = bake_run.outdated_changes(context)
        if changes and not self.is_confirmed:
            self.report({"WARNING"}, legible(bake_run.outdated_warning(changes)))
        return actions.bake(context, self.step, self.kind)


def _ask(context: bpy.types.Context, changes: list[str], choices: dict[str, Any]) -> None:
    def draw(popup: bpy.types.Menu, _context: bpy.types.Context) -> None:
        popup.layout.label(text="Changed since it was simulated:")
        for text in changes[:_MOST_LINES]:
            popup.layout.label(text=legible(text), icon="DOT")
        if len(changes) > _MOST_LINES:
            popup.layout.label(text=f"And {len(changes) - _MOST_LINES} more objects.")
        popup.layout.separator()
        popup.layout.operator_context = "INVOKE_DEFAULT"
        popup.layout.operator(ids.SIMULATE, text="Simulate Again", icon="PLAY")
        button = popup.layout.operator(
            ids.BAKE, text="Bake the Earlier Simulation", icon="SHAPEKEY_DATA"
        )
        for name, value in {**choices, "is_confirmed": True}.items():
            setattr(button, name, value)

    context.window_manager.popup_menu(draw, title="The Simulation Is Out of Date", icon="ERROR")
