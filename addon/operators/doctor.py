# SPDX-License-Identifier: GPL-3.0-or-later
"""Doctor: what the solver finds on this machine, on the console and as a text in the file."""

from __future__ import annotations

import re

import bpy

from .. import ids
from ..reports import doctor

_TEXT = "Supple Doctor"


class SUPPLE_OT_doctor(bpy.types.Operator):
    """Check what Supple's solver needs on this machine. Takes some seconds"""

    bl_idname = ids.DOCTOR
    bl_label = "Doctor"

    def execute(self, context: bpy.types.Context) -> set[str]:
        report = doctor.report()
        print(report, flush=True)
        if bpy.app.background:
            return {"FINISHED"}
        text = bpy.data.texts.get(_TEXT) or bpy.data.texts.new(_TEXT)
        text.from_string(report)
        self._show(context, report)
        self.report({"INFO"}, f"The report is on the console and in the text “{_TEXT}”.")
        return {"FINISHED"}

    def _show(self, context: bpy.types.Context, report: str) -> None:
        def draw(popup: bpy.types.Menu, _context: bpy.types.Context) -> None:
            for line in report.splitlines():
                # Columns are for letters of one width, which Blender does not draw.
                popup.layout.label(text=re.sub(r":  +", ": ", line, count=1))

        context.window_manager.popup_menu(draw, title=_TEXT, icon="INFO")
