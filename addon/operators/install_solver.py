# SPDX-License-Identifier: GPL-3.0-or-later
"""Install Solver: downloads what the worker needs, after asking."""

from __future__ import annotations

import textwrap

import bpy

from ...core.errors import SuppleError
from .. import ids
from ..worker import solver_environment, warm_worker
from ..worker.solver_install import Installation, download_size, install, why_offline

# Letters that fit into the dialog.
_LINE = 60


class SUPPLE_OT_install_solver(bpy.types.Operator):
    """Download what Supple's solver needs, such as PyTorch. Blender's own Python stays as it is"""

    bl_idname = ids.INSTALL_SOLVER
    bl_label = "Install Solver"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        reason = why_offline()
        if reason:
            cls.poll_message_set(reason)
        return not reason

    def invoke(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        return context.window_manager.invoke_props_dialog(
            self, width=420, confirm_text="Download and Install"
        )

    def draw(self, context: bpy.types.Context) -> None:
        column = self.layout.column(align=True)
        column.label(text="Supple's solver needs PyTorch and other packages, which pip downloads:")
        for line in textwrap.wrap(download_size(), _LINE):
            column.label(text=line, icon="IMPORT")
        folder = solver_environment.solver_folder()
        column.label(
            text=f"Into: {folder or 'the Python that Blender runs in'}", icon="FILE_FOLDER"
        )
        column.label(text="Blender stays usable meanwhile; Esc cancels.", icon="INFO")

    def execute(self, context: bpy.types.Context) -> set[str]:
        try:
            if bpy.app.background:
                install(lambda line: print(line, flush=True))
                return {"FINISHED"}
            self._installation = Installation()
        except SuppleError as error:
            self.report({"ERROR"}, str(error))
            return {"CANCELLED"}
        manager = context.window_manager
        self._timer = manager.event_timer_add(0.25, window=context.window)
        manager.modal_handler_add(self)
        context.workspace.status_text_set("Installing Supple's solver   Esc: cancel")
        return {"RUNNING_MODAL"}

    def modal(self, context: bpy.types.Context, event: bpy.types.Event) -> set[str]:
        # Where an animation plays, Esc stops that first.
        is_playing = context.screen.is_animation_playing
        if event.type == "ESC" and event.value == "PRESS" and not is_playing:
            self.cancel(context)
            self.report({"INFO"}, "The solver was not installed.")
            return {"CANCELLED"}
        if event.type != "TIMER":
            return {"PASS_THROUGH"}
        # Asked first: what pip prints last is still shown.
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
            self.report({"ERROR"}, str(error))
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
