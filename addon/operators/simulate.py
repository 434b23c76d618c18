# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate."""

from __future__ import annotations

import bpy

from ..runs import Simulation
from .worker_operator import WorkerOperator


class SUPPLE_OT_simulate(WorkerOperator, bpy.types.Operator):
    """Simulate all soft bodies of the scene. Goes on where a cancelled simulation stopped"""

    bl_idname = "supple.simulate"
    bl_label = "Simulate"
    bl_options = {"REGISTER", "UNDO"}

    _run: Simulation
    _shown = -1

    def begin(self, context: bpy.types.Context) -> Simulation:
        return Simulation(context)

    def show(self, context: bpy.types.Context) -> None:
        """The scene's frame follows the newest one, unless the user plays the animation."""
        newest = self._run.playback.last_shown
        if newest != self._shown and not context.screen.is_animation_playing:
            context.scene.frame_set(newest)
            self._shown = newest
