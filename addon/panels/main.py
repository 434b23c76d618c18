# SPDX-License-Identifier: GPL-3.0-or-later
"""The first panel: from a mesh to a bake, top to bottom."""

from __future__ import annotations

import bpy

from .. import ids, runs
from ..capture.objects import is_soft_body
from ..fits import loss_plot
from ..properties import selection
from ..reports import ignored, intersections
from ..worker import solver_environment, warm_worker
from ..worker.solver_install import why_offline
from .latest_run import latest_report
from .notices import draw_notices, forget_notices, latest_notices, simulate_text
from .sidebar import Sidebar, write


class SUPPLE_PT_main(Sidebar, bpy.types.Panel):
    bl_idname = "SUPPLE_PT_main"
    bl_label = "Soft Bodies"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        if problem := _what_is_missing():
            _draw_installation(layout, context, problem)
        # Every button stands where it is, whatever is selected and whether something runs.
        _draw_selection(layout)
        found = latest_notices(context) if runs.current is None else []
        _draw_buttons(layout, runs.current, simulate_text(context, found))
        if runs.current is not None:
            forget_notices()
            _draw_work(layout, context, runs.current)
        else:
            _draw_results(layout, context)
            _draw_preparation(layout)
            draw_notices(layout, context, found)
        for message in ignored.messages(context, is_redraw=True):
            write(layout, context, message, icon="ERROR")


def _what_is_missing() -> str:
    """What the solver lacks, and the cure; empty when it is all there."""
    if solver_environment.find() is None:
        return solver_environment.why_not_found()
    return solver_environment.why_incomplete()


def _draw_installation(
    layout: bpy.types.UILayout, context: bpy.types.Context, problem: str
) -> None:
    box = layout.box()
    write(box, context, problem, icon="ERROR")
    if reason := why_offline():
        write(box, context, reason, icon="INFO")
    box.operator(ids.INSTALL_SOLVER, icon="IMPORT")
    box.operator(ids.DOCTOR, icon="INFO")


def _draw_selection(layout: bpy.types.UILayout) -> None:
    column = layout.column(align=True)
    row = column.row(align=True)
    row.operator(ids.ADD, icon="ADD")
    row.operator(ids.JIGGLE, icon="MOD_WAVE")
    column.operator(ids.REMOVE, icon="REMOVE")


def _draw_buttons(layout: bpy.types.UILayout, work: runs.Work | None, simulate: str) -> None:
    """Simulate, or in its place the progress of what runs, above Bake and Free."""
    column = layout.column(align=True)
    column.scale_y = 1.5
    if work is None:
        column.operator(ids.SIMULATE, text=simulate, icon="PLAY")
    else:
        column.progress(factor=work.progress(), text=work.describe())
    row = column.row(align=True)
    row.operator(ids.BAKE, icon="SHAPEKEY_DATA")
    row.operator(ids.FREE, icon="TRASH")
    layout.operator(ids.PACK_FRAMES, icon="PACKAGE")


def _draw_work(layout: bpy.types.UILayout, context: bpy.types.Context, work: runs.Work) -> None:
    if isinstance(work, runs.Run):
        _draw_report(layout, context)
        loss_plot.draw(layout, work.losses)
    write(layout, context, work.cancelling, icon="INFO")


def _draw_results(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    if (failure := intersections.latest(context.scene)) is not None:
        _draw_failure(layout, context, failure)
    _draw_report(layout, context)
    if not is_soft_body(context.object) and not selection.candidates(context):
        write(layout, context, selection.why_none(context), icon="INFO")


def _draw_preparation(layout: bpy.types.UILayout) -> None:
    """What the waiting worker compiles, once an installation; everything works meanwhile."""
    if (progress := warm_worker.progress()) is not None:
        layout.progress(factor=progress, text=runs.PREPARING)


def _draw_failure(
    layout: bpy.types.UILayout, context: bpy.types.Context, failure: intersections.Failure
) -> None:
    write(layout, context, failure.message, icon="ERROR")
    column = layout.column(align=True)
    column.operator(ids.SELECT_INTERSECTIONS, icon="RESTRICT_SELECT_OFF")
    column.operator(ids.PUSH_APART, icon="FULLSCREEN_ENTER")


def _draw_report(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    report = latest_report(context.scene)
    for text in filter(None, (report.frames, report.events)):
        write(layout, context, text, icon="INFO")
    if report.warning:
        write(layout, context, report.warning, icon="ERROR")
