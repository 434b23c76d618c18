# SPDX-License-Identifier: GPL-3.0-or-later
"""Doctor: what the solver finds on this machine."""

from __future__ import annotations

import textwrap
from typing import Any

import bpy

from ...core.errors import legible
from .. import ids
from ..reports import doctor, doctor_summary
from ..reports.doctor import Examination, Finding
from ..worker.redraw import redraw_sidebars

_TICK_SECONDS = 0.1
_WIDTH_PIXELS, _WIDTH_LETTERS = 520, 78

# What is under way in a window, and what was found last.
_current: Examination | None = None
_latest: list[Finding] = []


class SUPPLE_OT_doctor(bpy.types.Operator):
    """Check what Supple needs on this machine. Takes some seconds, in which you can go on"""

    bl_idname = ids.DOCTOR
    bl_label = "Doctor"

    @classmethod
    def poll(cls: Any, context: bpy.types.Context) -> bool:
        if _current is not None:
            cls.poll_message_set("The doctor is at work; its report comes in a moment.")
        return _current is None

    def execute(self, context: bpy.types.Context) -> set[str]:
        """Waits, as scripts do."""
        print(doctor.report(), flush=True)
        return {"FINISHED"}

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        global _current
        if bpy.app.background or context.window is None:
            return self.execute(context)
        _current = Examination()
        context.workspace.status_text_set("Supple's doctor is at work …")
        bpy.app.timers.register(_look, first_interval=_TICK_SECONDS)
        return {"FINISHED"}


class SUPPLE_OT_doctor_report(bpy.types.Operator):
    """Copy all that the doctor has found, for a bug report"""

    bl_idname = ids.DOCTOR_REPORT
    bl_label = "Copy Report"
    bl_options = {"INTERNAL"}

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        result: set[str] = context.window_manager.invoke_props_dialog(
            self, width=_WIDTH_PIXELS, title="Supple Doctor", confirm_text=self.bl_label
        )
        return result

    def draw(self, context: bpy.types.Context) -> None:
        column = self.layout.column(align=True)
        for icon, text in doctor_summary.lines(_latest):
            for line in textwrap.wrap(legible(text), _WIDTH_LETTERS):
                column.label(text=line, icon=icon)
                icon = "BLANK1"

    def execute(self, context: bpy.types.Context) -> set[str]:
        context.window_manager.clipboard = doctor.formatted(_latest)
        self.report({"INFO"}, "Copied the report.")
        return {"FINISHED"}


def forget() -> None:
    """For when another file is opened: Blender ends timers then."""
    global _current
    _current = None
    if bpy.app.timers.is_registered(_look):
        bpy.app.timers.unregister(_look)


def _look() -> float | None:
    """Waits for the report, and shows it in the window that was used last."""
    global _current, _latest
    if _current is None:
        return None
    if not _current.is_done():
        return _TICK_SECONDS
    _latest, _current = _current.findings(), None
    windows = bpy.context.window_manager.windows
    for window in windows:
        window.workspace.status_text_set(None)
    redraw_sidebars()
    if len(windows):
        with bpy.context.temp_override(window=windows[-1], screen=windows[-1].screen):
            bpy.ops.supple.doctor_report("INVOKE_DEFAULT")
    return None
