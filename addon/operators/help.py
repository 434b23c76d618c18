# SPDX-License-Identifier: GPL-3.0-or-later
"""The button that opens the guide."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import bpy
from bpy.props import StringProperty

from .. import guide, ids


class SUPPLE_OT_help(bpy.types.Operator):
    """Open the guide at the section about this panel, in the web browser"""

    bl_idname = ids.HELP
    bl_label = "Supple Guide"
    bl_options = {"INTERNAL"}

    page: StringProperty(
        name="Page",
        description="Page of the guide, and its section after #",
        default="user_guide",
        options={"SKIP_SAVE"},
    )

    def execute(self, context: bpy.types.Context) -> set[str]:
        name, _, section = self.page.partition("#")
        folder = guide.write(Path(bpy.app.tempdir) / "supple_guide")
        address = (folder / f"{name}.html").as_uri()
        webbrowser.open(f"{address}#{section}" if section else address)
        return {"FINISHED"}
