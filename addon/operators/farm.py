# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons that hand the file to a render farm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
from bpy.props import StringProperty

from ...core.errors import SuppleError
from .. import ids, preferences
from ..farm import flamenco
from ..farm.farm_job import FarmJob
from ..farm.submit import submit
from ..farm_formats import FLAMENCO
from .base import ActionOperator


class SUPPLE_OT_submit(ActionOperator, bpy.types.Operator):
    """Hand the file to a render farm, which simulates it once, bakes it and renders the frames.
    Writes a job beside the file, or submits it to Flamenco"""

    bl_idname = ids.SUBMIT
    bl_label = "Submit"
    bl_options = {"REGISTER"}

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return "" if bpy.data.is_saved else "A farm reads the file from the disk. Save it first."

    def act(self, context: bpy.types.Context) -> str:
        props = context.scene.supple
        job = FarmJob.from_scene(context.scene, props.farm_chunk)
        folder = job.file.with_name(f"{job.file.stem}_job")
        manager = getattr(preferences.find(), "flamenco_manager", "")
        if props.farm == FLAMENCO and manager and not bpy.app.online_access:
            raise SuppleError(
                "Online access is off. Turn on Preferences > System > Network > Allow Online "
                "Access, then submit again."
            )
        return submit(job, props.farm, folder, manager)


class SUPPLE_OT_copy_job_type(ActionOperator, bpy.types.Operator):
    """Copy the job type Supple into the folder scripts beside the program of a Flamenco manager,
    which reads it at its next start"""

    bl_idname = ids.COPY_JOB_TYPE
    bl_label = "Copy Job Type"
    bl_options = {"REGISTER"}

    directory: StringProperty(subtype="DIR_PATH", options={"HIDDEN", "SKIP_SAVE"})

    @classmethod
    def unavailable_reason(cls, context: bpy.types.Context) -> str:
        return ""

    def invoke(self: Any, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        if bpy.app.background:
            return self.execute(context)
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def act(self: Any, context: bpy.types.Context) -> str:
        if not self.directory:
            raise SuppleError("Choose the folder scripts of the manager.")
        return f"Copied {flamenco.copy_job_type(Path(self.directory))}."
