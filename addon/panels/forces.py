# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels on pressure, fluid and force fields."""

from __future__ import annotations

import bpy

from ..capture.force_fields import absorbers, acting_fields
from ..capture.objects import is_soft_body
from .base import ScenePanel, SupplePanel, TickedScenePanel, draw_panel, draw_settings, write


class SUPPLE_PT_forces(SupplePanel):
    bl_label = "Forces"
    is_closed = True
    guide = "reference#forces"

    def draw(self, context: bpy.types.Context) -> None:
        if is_soft_body(context.object):
            draw_panel(self.layout, context.object.supple, "forces")


class SUPPLE_PT_fluid(TickedScenePanel):
    bl_label = "Fluid"
    parent = SUPPLE_PT_forces
    guide = "reference#ground-and-fluid"
    panel, tick = "fluid", "use_fluid"


class SUPPLE_PT_force_fields(ScenePanel):
    bl_label = "Force Fields"
    parent = SUPPLE_PT_forces
    guide = "reference#force-fields"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        draw_settings(layout, context.scene.supple, "effector_collection")
        names = ", ".join(field.name for field in acting_fields(context))
        write(layout, context, f"Acting: {names}" if names else "No active force fields.")
        if absorbing := ", ".join(obj.name for obj in absorbers(context)):
            write(layout, context, f"Absorbing: {absorbing}")
