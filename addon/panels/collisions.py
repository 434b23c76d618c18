# SPDX-License-Identifier: GPL-3.0-or-later
"""Panels on the ground, colliders and contact."""

from __future__ import annotations

import bpy

from ..capture.contact import is_possible
from ..capture.objects import can_collide, is_soft_body
from .base import ScenePanel, SupplePanel, TickedScenePanel, draw_panel, draw_settings


class SUPPLE_PT_collisions(SupplePanel):
    bl_label = "Collisions"
    guide = "reference#colliders"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.scene is not None

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj = self.layout, context.object
        if is_soft_body(obj):
            draw_panel(layout, obj.supple, "collisions")
        elif can_collide(obj):
            draw_settings(layout, obj.supple, "collider")
            column = layout.column()
            column.active = obj.supple.collider
            draw_panel(column, obj.supple, "collider")
            if is_possible(context.scene):
                draw_panel(column, obj.supple, "mesh collider")
                draw_settings(column, obj.supple, "touches")
            else:
                draw_panel(column, obj.supple, "sphere collider")


class SUPPLE_PT_ground(TickedScenePanel):
    bl_label = "Ground"
    parent = SUPPLE_PT_collisions
    guide = "reference#ground-and-fluid"
    panel, tick = "ground", "use_ground"


class SUPPLE_PT_collisions_advanced(ScenePanel):
    bl_label = "Advanced"
    parent = SUPPLE_PT_collisions
    guide = "reference#contact"

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj, scene = self.layout, context.object, context.scene
        touches_others = is_possible(scene)
        if is_soft_body(obj):
            draw_panel(layout, obj.supple, "surface")
            if touches_others and obj.supple.contact_surface == "mesh":
                draw_settings(layout, obj.supple, "contact_detail")
            if touches_others:
                draw_settings(layout, obj.supple, "touches")
        layout.label(text="All Soft Bodies")
        draw_settings(layout, scene.supple, "contact")
        if touches_others:
            draw_panel(layout, scene.supple, "contact")
