# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons of the list of takes."""

from __future__ import annotations

import bpy

from .. import ids
from ..takes import kept
from .base import ActionOperator


class SUPPLE_OT_keep_take(ActionOperator, bpy.types.Operator):
    """Keep the present frames and settings as a take, which later simulations and Free leave
    alone"""

    bl_idname = ids.KEEP_TAKE
    bl_label = "Keep as Take"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return kept.why_no_keep(context)

    def act(self, context: bpy.types.Context) -> str:
        return kept.keep(context)


class SUPPLE_OT_show_take(ActionOperator, bpy.types.Operator):
    """Play the frames of the selected take. Settings stay as they are"""

    bl_idname = ids.SHOW_TAKE
    bl_label = "Show Take"

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return kept.why_no_show(context)

    def act(self, context: bpy.types.Context) -> str:
        return kept.show(context, kept.active(context.scene))


class _TakeOperator(ActionOperator):
    """An operator on the selected take."""

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        is_there = kept.active(context.scene) is not None
        return "" if is_there else "There is no take. Press Keep as Take after a simulation."


class SUPPLE_OT_restore_take(_TakeOperator, bpy.types.Operator):
    """Set all settings of soft bodies, colliders and the scene as they were in the selected take"""

    bl_idname = ids.RESTORE_TAKE
    bl_label = "Restore Settings"

    def act(self, context: bpy.types.Context) -> str:
        return kept.restore(context, kept.active(context.scene))


class SUPPLE_OT_remove_take(_TakeOperator, bpy.types.Operator):
    """Remove the selected take. Its frames move to the trash of the cache, unless they are in use.
    Undo brings them back"""

    bl_idname = ids.REMOVE_TAKE
    bl_label = "Remove Take"

    def act(self, context: bpy.types.Context) -> str:
        return kept.remove(context, kept.active(context.scene))
