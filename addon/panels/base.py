# SPDX-License-Identifier: GPL-3.0-or-later
"""Base classes and functions of the panels."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import bpy

from .. import ids
from ..capture.objects import is_soft_body
from ..properties.object import SuppleScene
from ..settings import AUTOMATIC, PERCENT, Setting, names_in
from ..settings.object import OBJECT
from ..settings.scene import SCENE
from ..translations import translated


class SupplePanel:
    """The content of a panel. ``panels/__init__`` makes its classes, one for each place where it
    stands; the one in the sidebar has the name of this class."""

    if TYPE_CHECKING:
        layout: bpy.types.UILayout

    bl_label = ""
    #: The content of the panel that this one stands below.
    parent: type[SupplePanel] | None = None
    is_closed = False
    #: The page and the section of the guide that Help opens.
    guide = ""
    #: The menu of presets in its header.
    presets: Any = None
    #: The settings that it draws, by the ``panel`` of their rows.
    panel = ""

    def draw_header_preset(self: Any, context: bpy.types.Context) -> None:
        if self.presets is not None:
            self.presets.draw_panel_header(self.layout)
        self.layout.operator(ids.HELP, text="", icon="HELP", emboss=False).page = self.guide

    def draw(self: Any, context: bpy.types.Context) -> None:
        draw_panel(self.layout, context.object.supple, self.panel)


class SoftBodyPanel(SupplePanel):
    """A panel on the active soft body."""

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return is_soft_body(context.object)


class ScenePanel(SupplePanel):
    """A panel on settings that all soft bodies of the scene share."""

    is_closed = True

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


def aligned(layout: bpy.types.UILayout) -> bpy.types.UILayout:
    """A column with labels on the left and dots for keys on the right, as in Blender's physics."""
    column = layout.column()
    column.use_property_split = column.use_property_decorate = True
    return column


def draw_settings(layout: bpy.types.UILayout, props: bpy.types.PropertyGroup, *names: str) -> None:
    """Draw settings one below the other. A vertex group is one of the object that has them."""
    column, described = aligned(layout), props.bl_rna.properties
    for name in names:
        automatic, percent = AUTOMATIC.format(name), PERCENT.format(name)
        if automatic in described:
            row = column.row(heading=described[name].name)
            row.prop(props, automatic)
            if not getattr(props, automatic):
                row.prop(props, name, text="")
        elif name.endswith("_group"):
            column.prop_search(props, name, props.id_data, "vertex_groups")
        else:
            column.prop(props, percent if percent in described else name)


def draw_panel(layout: bpy.types.UILayout, props: bpy.types.PropertyGroup, panel: str) -> None:
    """Draw the settings that belong in a panel, by their rows."""
    table: Sequence[Setting] = SCENE if isinstance(props, SuppleScene) else OBJECT
    draw_settings(layout, props, *names_in(panel, table, props))


def write(
    layout: bpy.types.UILayout, context: bpy.types.Context, text: str, icon: str = "NONE"
) -> None:
    """Draw a text of several lines, as wide as the region."""
    scale = context.preferences.system.ui_scale
    width = max(20, int(context.region.width / (7.5 * scale)) - 6)
    column = layout.column(align=True)
    for line in textwrap.wrap(translated(text), width):
        column.label(text=line, icon=icon)
        icon = "BLANK1" if icon != "NONE" else "NONE"
