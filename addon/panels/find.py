# SPDX-License-Identifier: GPL-3.0-or-later
"""What the solver finds for the active soft body."""

from __future__ import annotations

import bpy

from .. import ids, runs
from ..fits import fit_run, loss_plot
from ..fits.table import TOOLS
from .body import SUPPLE_PT_body
from .sidebar import SoftBodySidebar, draw_settings, write


class SUPPLE_PT_find(SoftBodySidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_find"
    bl_label = "Find"
    bl_parent_id = SUPPLE_PT_body.bl_idname
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        for name, tool in TOOLS.items():
            box = layout.box()
            box.operator(ids.FIND, text=tool.label, icon=tool.icon).tool = name
            for setting in tool.settings:
                if setting.endswith("_group"):
                    column = box.column()
                    column.use_property_split, column.use_property_decorate = True, False
                    column.prop_search(obj.supple, setting, obj, "vertex_groups")
                else:
                    draw_settings(box, obj.supple, setting)
            if kept := tool.kept(obj):
                row = box.row()
                row.label(text=kept, icon="CHECKMARK")
                row.operator(ids.REMOVE_CONTROL, icon="X")
        found = fit_run.latest
        if runs.current is None and found is not None and found.uid == obj.session_uid:
            loss_plot.draw(layout, found.losses)
            write(layout, context, found.message, icon="INFO")
