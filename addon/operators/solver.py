# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons that install and examine the solver."""

from __future__ import annotations

import textwrap
import webbrowser
from pathlib import Path
from typing import Any

import bpy
from bpy.props import StringProperty

from ...core.errors import SuppleError
from .. import guide, ids
from ..remembered import redraw_panels
from ..reports import doctor
from ..reports.doctor import Examination, Finding
from ..translations import translated
from ..worker import solver_environment, warm_worker
from ..worker.solver_install import (
    Installation,
    download_size,
    install,
    packages_folder,
    why_offline,
)

# Letters that fit into the dialog.
_LINE = 60


class SUPPLE_OT_install_solver(bpy.types.Operator):
    """Download PyTorch and the solver's other packages. Does not change Blender's Python"""

    bl_idname = ids.INSTALL_SOLVER
    bl_label = "Install Solver"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        reason = why_offline()
        if reason:
            cls.poll_message_set(translated(reason))
        return not reason

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        confirm = "Download and Install" if packages_folder() is None else "Install"
        return context.window_manager.invoke_props_dialog(self, width=420, confirm_text=confirm)

    def draw(self, context: bpy.types.Context) -> None:
        column = self.layout.column(align=True)
        packages = packages_folder()
        if packages is None:
            column.label(
                text="Supple's solver needs PyTorch and other packages. pip downloads them:"
            )
            for line in textwrap.wrap(download_size(), _LINE):
                column.label(text=line, icon="IMPORT")
        else:
            column.label(
                text="Supple's solver needs PyTorch and other packages. pip installs them:"
            )
            column.label(text=f"From: {packages}", icon="IMPORT")
        folder = solver_environment.solver_folder()
        column.label(
            text=f"Folder: {folder or 'the Python that Blender runs in'}", icon="FILE_FOLDER"
        )
        column.label(text="You can keep working. Press Esc to cancel.", icon="INFO")

    def execute(self, context: bpy.types.Context) -> set[str]:
        try:
            if bpy.app.background:
                install(lambda line: print(line, flush=True))
                return {"FINISHED"}
            self._installation = Installation()
        except SuppleError as error:
            self.report({"ERROR"}, translated(str(error)))
            return {"CANCELLED"}
        manager = context.window_manager
        # Closing the window of the preferences would cancel an operator that belongs to it.
        window = context.window.parent or context.window
        with context.temp_override(window=window):
            self._timer = manager.event_timer_add(0.25, window=window)
            manager.modal_handler_add(self)
        context.workspace.status_text_set("Installing Supple's solver   Esc: cancel")
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        # While an animation plays, Esc stops it first.
        is_playing = context.screen.is_animation_playing
        if event.type == "ESC" and event.value == "PRESS" and not is_playing:
            self.cancel(context)
            self.report({"INFO"}, "The solver was not installed.")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        # Read first, so that the last output of pip is still shown.
        running = self._installation.running()
        for line in self._installation.lines():
            context.workspace.status_text_set(f"{line[:100]}   Esc: cancel")
        return {"PASS_THROUGH"} if running else self._finish(context)

    def cancel(self, context: bpy.types.Context) -> None:
        """Also called by Blender when it closes."""
        self._installation.cancel()
        self._clear(context)

    def _finish(self, context: bpy.types.Context) -> set[str]:
        self._clear(context)
        try:
            self._installation.finish()
        except SuppleError as error:
            self.report({"ERROR"}, translated(str(error)))
            return {"CANCELLED"}
        self.report({"INFO"}, "Supple's solver is installed.")
        # The first worker of an installation compiles its loops: it had better begin now.
        warm_worker.prepare()
        for window in context.window_manager.windows:
            for area in window.screen.areas:
                area.tag_redraw()
        return {"FINISHED"}

    def _clear(self, context: bpy.types.Context) -> None:
        context.window_manager.event_timer_remove(self._timer)
        if context.workspace is not None:
            context.workspace.status_text_set(None)


_TICK_SECONDS = 0.1
_WIDTH_PIXELS, _WIDTH_LETTERS = 520, 78

# The examination under way in a window, and the latest result.
_current: Examination | None = None
_latest: list[Finding] = []


class SUPPLE_OT_doctor(bpy.types.Operator):
    """Check what Supple needs on this machine. Takes a few seconds, and you can keep working"""

    bl_idname = ids.DOCTOR
    bl_label = "Doctor"

    @classmethod
    def poll(cls: Any, context: bpy.types.Context) -> bool:
        if _current is not None:
            cls.poll_message_set("The doctor is running. Its report comes in a moment.")
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
        context.workspace.status_text_set("Supple's doctor is running …")
        bpy.app.timers.register(_look, first_interval=_TICK_SECONDS)
        return {"FINISHED"}


class SUPPLE_OT_doctor_report(bpy.types.Operator):
    """Copy the doctor's report, such as for a bug report"""

    bl_idname = ids.DOCTOR_REPORT
    bl_label = "Copy Report"
    bl_options = {"INTERNAL"}

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        return context.window_manager.invoke_props_dialog(
            self, width=_WIDTH_PIXELS, title="Supple Doctor", confirm_text=self.bl_label
        )

    def draw(self, context: bpy.types.Context) -> None:
        column = self.layout.column(align=True)
        for icon, text in doctor.lines(_latest):
            for line in textwrap.wrap(translated(text), _WIDTH_LETTERS):
                column.label(text=line, icon=icon)
                icon = "BLANK1"

    def execute(self, context: bpy.types.Context) -> set[str]:
        context.window_manager.clipboard = doctor.formatted(_latest)
        self.report({"INFO"}, "Copied the report to the clipboard.")
        return {"FINISHED"}


def forget() -> None:
    """Forget the examination when another file is opened, since Blender ends timers then."""
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
    redraw_panels()
    if len(windows):
        with bpy.context.temp_override(window=windows[-1], screen=windows[-1].screen):
            bpy.ops.supple.doctor_report("INVOKE_DEFAULT")
    return None


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
