# SPDX-License-Identifier: GPL-3.0-or-later
"""The panel on the tools that find settings of the active soft body."""

from __future__ import annotations

import bpy

from .. import ids, runs
from ..fits import fit_run
from ..fits.table import TOOLS
from ..translations import translated
from .base import SoftBodyPanel, draw_settings, write


class SUPPLE_PT_goals(SoftBodyPanel):
    bl_label = "Goals"
    is_closed = True
    guide = "reference#goals"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        for name, tool in TOOLS.items():
            box = layout.box()
            box.operator(ids.FIND, text=tool.label, icon=tool.icon).tool = name
            draw_settings(box, obj.supple, *tool.settings)
            if control_label := tool.control_label(obj):
                row = box.row()
                row.label(text=translated(control_label), icon="CHECKMARK")
                row.operator(ids.REMOVE_CONTROL, icon="X")
        outcome = fit_run.latest
        if runs.current is None and outcome is not None and outcome.uid == obj.session_uid:
            fit_run.draw(layout, outcome.losses)
            write(layout, context, outcome.message, icon="INFO")
