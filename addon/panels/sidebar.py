# SPDX-License-Identifier: GPL-3.0-or-later
"""Base classes and functions of the panels."""

from __future__ import annotations

import textwrap
from typing import Any

import bpy

from ..capture.objects import is_soft_body
from ..properties.object import SuppleScene
from ..settings import names_in
from ..settings.object import OBJECT
from ..settings.scene import SCENE
from ..translations import translated


class Sidebar:
    """A panel of the tab Supple. Its class has the name that Blender knows it by."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Supple"
    bl_idname = ""
    #: The settings that it draws, by the ``panel`` of their rows.
    panel = ""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.bl_idname = cls.__name__

    def draw(self: Any, context: bpy.types.Context) -> None:
        draw_panel(self.layout, context.object.supple, self.panel)


class SoftBodySidebar(Sidebar):
    """A panel on the active soft body."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return is_soft_body(context.object)


class BodyPanel(SoftBodySidebar):
    """A panel below the one of the active soft body."""

    bl_parent_id = "SUPPLE_PT_body"
    bl_options = {"DEFAULT_CLOSED"}


class MaterialPanel(SoftBodySidebar):
    """A panel below the one of the material."""

    bl_parent_id = "SUPPLE_PT_material"
    bl_options = {"DEFAULT_CLOSED"}


class ScenePanel(Sidebar):
    """A panel below the one of the scene."""

    bl_parent_id = "SUPPLE_PT_scene"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self: Any, context: bpy.types.Context) -> None:
        draw_panel(self.layout, context.scene.supple, self.panel)


class TickedScenePanel(ScenePanel):
    """A panel whose header has a tick, without which its settings are greyed out."""

    #: The setting of the tick.
    tick = ""

    def draw_header(self: Any, context: bpy.types.Context) -> None:
        self.layout.prop(context.scene.supple, self.tick, text="")

    def draw(self: Any, context: bpy.types.Context) -> None:
        self.layout.active = getattr(context.scene.supple, self.tick)
        draw_panel(self.layout, context.scene.supple, self.panel)


def draw_settings(layout: bpy.types.UILayout, props: bpy.types.PropertyGroup, *names: str) -> None:
    """Settings one below the other. Settings that can be keyed have a dot."""
    column = layout.column()
    for name in names:
        described = props.bl_rna.properties[name]
        # A number has its name inside, which leaves room for the unit; a menu needs its room.
        column.use_property_split = described.type not in ("FLOAT", "INT") or described.is_array
        row = column.row(align=True)
        row.prop(props, name)
        if described.is_animatable:
            row.prop_decorator(props, name)


def draw_panel(layout: bpy.types.UILayout, props: bpy.types.PropertyGroup, panel: str) -> None:
    """The settings that belong in a panel, by their rows."""
    table = SCENE if isinstance(props, SuppleScene) else OBJECT
    draw_settings(layout, props, *names_in(panel, table, props))


def write(
    layout: bpy.types.UILayout, context: bpy.types.Context, text: str, icon: str = "NONE"
) -> None:
    """A text of several lines, as wide as the sidebar."""
    scale = context.preferences.system.ui_scale
    width = max(20, int(context.region.width / (7.5 * scale)) - 6)
    column = layout.column(align=True)
    for line in textwrap.wrap(translated(text), width):
        column.label(text=line, icon=icon)
        icon = "BLANK1" if icon != "NONE" else "NONE"
