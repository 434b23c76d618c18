# SPDX-License-Identifier: GPL-3.0-or-later
"""The main panel: buttons, notices and the state of the run; statistics below it."""

from __future__ import annotations

from itertools import groupby

import bpy

from ...core.job import Job
from .. import driving, ids, modifiers, runs
from ..capture.objects import is_soft_body, soft_bodies
from ..fits import fit_run
from ..modifiers import find_modifier
from ..playback import mesh_cache, refined_frames
from ..properties import selection
from ..remembered import remembered
from ..reports import ignored, intersections, outdated, run_reports
from ..reports.notices import Notice, notices
from ..reports.run_reports import StepReport
from ..translations import translated
from ..worker import solver_environment, warm_worker
from ..worker.solver_install import why_offline
from .base import SupplePanel, write


def latest_report(scene: bpy.types.Scene) -> StepReport:
    """Return the report on the present run, else on the one that the scene plays."""
    if isinstance(work := runs.current, runs.Run):
        return run_reports.read(work.job, work.start_frame)
    shown = mesh_cache.shown_folder(scene)
    if shown is None:
        return StepReport()
    return run_reports.read(Job(shown), modifiers.shown_start(scene))


def remembered_report(context: bpy.types.Context) -> StepReport:
    key = ("report", context.scene.session_uid)
    return remembered(context, key, lambda: latest_report(context.scene))


_SHOWN = 5


def simulate_text(context: bpy.types.Context, shown_notices: list[Notice]) -> str:
    """Return the text of the Simulate button, which gives the state of the played frames."""
    state = outdated.worst(notice.state for notice in shown_notices)
    if not state and any(map(find_modifier, soft_bodies(context))):
        state = outdated.UP_TO_DATE
    simulate = translated("Simulate")
    return f"{simulate} ({translated(state)})" if state else simulate


def latest_notices(context: bpy.types.Context) -> list[Notice]:
    """The notices of the scene, sorted by their buttons."""
    key = ("notices", context.scene.session_uid)
    return remembered(context, key, lambda: sorted(notices(context), key=_button))


def draw_notices(
    layout: bpy.types.UILayout, context: bpy.types.Context, shown: list[Notice]
) -> None:
    """Draw notices with their buttons, except Simulate, which is above them."""
    for (operator, name, hint_of), group in groupby(shown, _button):
        alike = list(group)
        box = layout.box()
        for notice in alike[:_SHOWN]:
            write(box, context, notice.text, icon="ERROR" if notice.is_problem else "INFO")
        if len(alike) > _SHOWN:
            write(box, context, f"And {len(alike) - _SHOWN} more.")
        row = box.row(align=True)
        if operator and operator != ids.SIMULATE:
            button = row.operator(operator)
            if name:
                button.object_name = name
        if hint_of:
            row.operator(ids.DISMISS_HINT, text="Dismiss", icon="X").object_name = hint_of


def _button(notice: Notice) -> tuple[str, str, str]:
    return notice.operator, notice.name, notice.hint_of


class SUPPLE_PT_main(SupplePanel):
    bl_label = "Soft Bodies"
    guide = "reference#the-buttons"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        if problem := remembered(context, "installation", _installation_problem):
            _draw_installation(layout, context, problem)
        # Buttons keep their places for every selection, also during a run.
        _draw_selection(layout)
        shown = latest_notices(context) if runs.current is None else []
        key = ("simulate", context.scene.session_uid)
        text = remembered(context, key, lambda: simulate_text(context, shown))
        _draw_buttons(layout, runs.current, text)
        if runs.current is not None:
            _draw_work(layout, context, runs.current)
        else:
            _draw_results(layout, context)
            _draw_preparation(layout)
            draw_notices(layout, context, shown)
        key = ("ignored", context.scene.session_uid)
        for message in remembered(context, key, lambda: ignored.messages(context, is_redraw=True)):
            write(layout, context, message, icon="ERROR")


def _installation_problem() -> str:
    """The missing parts of the solver, and the cure; empty when it is complete."""
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
    row.operator(ids.ADD_COLLIDER, icon="MOD_PHYSICS")
    row = column.row(align=True)
    row.operator(ids.JIGGLE, icon="MOD_WAVE")
    row.operator(ids.REMOVE, text="Remove", icon="REMOVE")


def _draw_buttons(layout: bpy.types.UILayout, work: runs.Work | None, simulate: str) -> None:
    """Draw Simulate, or the progress of the present work in its place, above Bake and Free."""
    column = layout.column(align=True)
    column.scale_y = 1.5
    if work is None:
        row = column.row(align=True)
        row.operator(ids.SIMULATE, text=simulate, icon="PLAY")
        row.operator(ids.RESUME, text="", icon="FF")
    else:
        row = column.row(align=True)
        row.progress(factor=work.progress(), text=translated(work.describe()))
        if isinstance(work, runs.Simulation):
            row.operator(ids.PAUSE, text="", icon="PLAY" if work.is_paused else "PAUSE")
        row.operator(ids.CANCEL, text="", icon="X")
    row = column.row(align=True)
    row.operator(ids.BAKE, icon="SHAPEKEY_DATA")
    row.operator(ids.FREE, icon="TRASH")


def _draw_work(layout: bpy.types.UILayout, context: bpy.types.Context, work: runs.Work) -> None:
    if isinstance(work, runs.Simulation) and (pace := work.pace()):
        write(layout, context, pace, icon="TIME")
    if isinstance(work, runs.Run):
        _draw_report(layout, context)
        fit_run.draw(layout, work.losses)
    write(layout, context, work.cancelling, icon="INFO")


def _draw_results(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    if (failure := intersections.latest(context.scene)) is not None:
        _draw_failure(layout, context, failure)
    _draw_report(layout, context)
    if not is_soft_body(context.object):
        key = ("selection", context.scene.session_uid)
        text = remembered(context, key, lambda: _selection_advice(context))
        if text:
            write(layout, context, text, icon="INFO")


def _selection_advice(context: bpy.types.Context) -> str:
    """The reason why no selected object can become a soft body; empty where one can."""
    return "" if selection.candidates(context) else selection.why_none(context)


def _draw_preparation(layout: bpy.types.UILayout) -> None:
    """Draw the progress of compiling, once per installation."""
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
    report = remembered_report(context)
    for text in filter(None, (report.frames, report.events)):
        write(layout, context, text, icon="INFO")
    if report.warning:
        write(layout, context, report.warning, icon="ERROR")


class SUPPLE_PT_statistics(SupplePanel):
    bl_label = "Statistics"
    parent, is_closed = SUPPLE_PT_main, True
    guide = "reference#statistics"

    def draw(self, context: bpy.types.Context) -> None:
        obj, report = context.object, remembered_report(context)
        texts = [report.steps]
        if is_soft_body(obj):
            props = obj.supple
            texts += [props.mesh_report, props.parts_report, props.touching_report]
            texts += [_shaping(context)] if props.touching_report else []
        for text in filter(None, texts):
            write(self.layout, context, text)


def _shaping(context: bpy.types.Context) -> str:
    """The note on modifiers that act on the simulated frames; empty without any."""
    obj = context.object
    names = [
        modifier.name
        for modifier in driving.refiners(obj)
        if driving.is_shown(obj, modifier) and not driving.keeps_vertices(modifier)
    ]
    if not names:
        return ""
    shown, depsgraph = refined_frames.shown_points(obj), context.view_layer.depsgraph
    if depsgraph and shown == len(obj.evaluated_get(depsgraph).data.vertices):
        return ""
    shapes, it = ("shapes", "it") if len(names) == 1 else ("shape", "them")
    cure = f"Apply {it}" if shown is None else "Simulate again"
    return (
        f"{' and '.join(names)} {shapes} the simulated frames again, so that the visible mesh "
        f"can differ from the surface that collides. {cure} to see that surface."
    )
