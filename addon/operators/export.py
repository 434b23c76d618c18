# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons that carry the motion to other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.props import BoolProperty, IntProperty, StringProperty

from ...core.errors import SuppleError
from .. import ids, runs
from ..capture.objects import soft_bodies
from ..export import files, motion
from ..export.bones import Bones
from ..export.moving_origin import MovingOrigins
from ..playback import loop
from .base import ActionOperator, TimedOperator


class _FileOperator(ActionOperator):
    """An operator that asks for a file and writes it."""

    filename_ext = ""
    kind = ""

    filepath: StringProperty(name="File Path", subtype="FILE_PATH", options={"SKIP_SAVE"})
    # Blender's file browser then asks before it replaces a file.
    check_existing: BoolProperty(default=True, options={"HIDDEN"})

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return files.why_not(context, cls.kind)

    def invoke(self: Any, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        name = Path(bpy.data.filepath or "untitled").stem
        self.filepath = f"{name}{self.filename_ext}"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def act(self: Any, context: bpy.types.Context) -> str:
        if not self.filepath:
            raise SuppleError("Choose a file to write.")
        path = Path(bpy.path.abspath(self.filepath))
        return files.write(context, path.with_suffix(path.suffix or self.filename_ext), self.kind)


class SUPPLE_OT_export_alembic(_FileOperator, bpy.types.Operator):
    """Write all visible soft bodies to an Alembic file, with their motion and velocities"""

    bl_idname = ids.EXPORT_ALEMBIC
    bl_label = "Export Alembic"

    kind, filename_ext = files.ALEMBIC, ".abc"

    filter_glob: StringProperty(default="*.abc", options={"HIDDEN"})


class SUPPLE_OT_export_usd(_FileOperator, bpy.types.Operator):
    """Write all visible soft bodies to a USD file, with their motion, velocities and recorded
    fields"""

    bl_idname = ids.EXPORT_USD
    bl_label = "Export USD"

    kind, filename_ext = files.USD, ".usdc"

    filter_glob: StringProperty(default="*.usd;*.usda;*.usdc;*.usdz", options={"HIDDEN"})


class _CopyOperator(TimedOperator):
    """An operator that makes plain copies of the moving bodies."""

    changes_meanwhile = lets_others_act = False

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        if context.mode != "OBJECT":
            return "Go back to Object Mode first."
        return motion.why_none(context)

    def act(self, context: bpy.types.Context) -> str:
        work = self.begin(context)
        while work.step():
            pass
        return work.finish(context)


class SUPPLE_OT_make_bones(_CopyOperator, bpy.types.Operator):
    """Fit bones and skin weights to the motion, for game engines. Makes a skinned copy of each
    soft body and hides the body"""

    bl_idname = ids.MAKE_BONES
    bl_label = "Fit Bones"

    count: IntProperty(
        name="Bones",
        description="Number of bones of each body. More bones follow the motion more closely",
        default=24,
        min=1,
        soft_max=100,
    )

    def begin(self: Any, context: bpy.types.Context) -> runs.Work:
        return Bones(context, self.count)


class SUPPLE_OT_move_origins(_CopyOperator, bpy.types.Operator):
    """Make baked copies whose origins follow the motion, so that the keys are small. Hides the
    bodies"""

    bl_idname = ids.MOVE_ORIGINS
    bl_label = "Origin Follows"

    def begin(self, context: bpy.types.Context) -> runs.Work:
        return MovingOrigins(context)


class SUPPLE_OT_loop(ActionOperator, bpy.types.Operator):
    """Blend the last frames into the first, so that the motion repeats without a jump. Simulate
    shows the whole motion again"""

    bl_idname = ids.LOOP
    bl_label = "Loop"

    count: IntProperty(
        name="Blended Frames",
        description="Number of frames at the end that are blended into those at the start",
        default=12,
        min=1,
        soft_max=100,
    )

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return loop.why_none(soft_bodies(context))

    def act(self: Any, context: bpy.types.Context) -> str:
        return loop.make(context, soft_bodies(context), self.count)
