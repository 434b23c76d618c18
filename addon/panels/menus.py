# SPDX-License-Identifier: GPL-3.0-or-later
"""Entries in Blender's own menus, which search (F3) finds, too."""

from __future__ import annotations

from typing import Any

import bpy

from .. import ids
from ..capture.objects import is_collider, is_soft_body
from ..properties import material_sets


class SUPPLE_MT_object(bpy.types.Menu):
    """Object › Supple, and the same menu at a right click on a body"""

    bl_idname = "SUPPLE_MT_object"
    bl_label = "Supple"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.operator(ids.ADD, icon="ADD")
        layout.operator(ids.ADD_COLLIDER, icon="MOD_PHYSICS")
        layout.operator(ids.JIGGLE, icon="MOD_WAVE")
        layout.operator(ids.REMOVE, icon="REMOVE")
        layout.operator(ids.COPY_SETTINGS, icon="PASTEDOWN")
        layout.operator(ids.SHARE_MATERIAL, icon="LINKED")
        layout.separator()
        layout.operator(ids.SIMULATE, icon="PLAY")
        layout.operator(ids.RESUME, icon="FF")
        layout.operator(ids.BAKE, icon="SHAPEKEY_DATA")
        layout.operator(ids.FREE, icon="TRASH")
        layout.separator()
        layout.operator(ids.HELP, icon="HELP")


class SUPPLE_MT_material_sets(bpy.types.Menu):
    """The material sets of the file"""

    bl_idname = "SUPPLE_MT_material_sets"
    bl_label = "Material Sets"

    def draw(self, context: bpy.types.Context) -> None:
        for name in material_sets.names():
            self.layout.operator(ids.USE_MATERIAL, text=name, translate=False).name = name
        self.layout.operator(ids.SHARE_MATERIAL, icon="LINKED")


CLASSES: list[Any] = [SUPPLE_MT_object, SUPPLE_MT_material_sets]


def _draw_submenu(menu: bpy.types.Menu, context: bpy.types.Context) -> None:
    menu.layout.separator()
    menu.layout.menu(SUPPLE_MT_object.bl_idname, icon="PHYSICS")


def _draw_on_body(menu: bpy.types.Menu, context: bpy.types.Context) -> None:
    if is_soft_body(context.object) or is_collider(context.object):
        _draw_submenu(menu, context)


def _draw_examples(menu: bpy.types.Menu, context: bpy.types.Context) -> None:
    menu.layout.operator_menu_enum(
        ids.ADD_EXAMPLE, "example", text="Supple Example", icon="PHYSICS"
    )


def _draw_quick_jelly(menu: bpy.types.Menu, context: bpy.types.Context) -> None:
    menu.layout.operator(ids.QUICK_JELLY)


def _draw_exports(menu: bpy.types.Menu, context: bpy.types.Context) -> None:
    menu.layout.operator(ids.EXPORT_ALEMBIC, text="Soft Bodies (.abc)")
    menu.layout.operator(ids.EXPORT_USD, text="Soft Bodies (.usdc)")


#: Entries by the names of Blender's menus.
ENTRIES = {
    "TOPBAR_MT_file_export": _draw_exports,
    "VIEW3D_MT_add": _draw_examples,
    "VIEW3D_MT_object": _draw_submenu,
    "VIEW3D_MT_object_context_menu": _draw_on_body,
    "VIEW3D_MT_object_quick_effects": _draw_quick_jelly,
}


def register() -> None:
    for name, draw in ENTRIES.items():
        getattr(bpy.types, name).append(draw)


def unregister() -> None:
    for name, draw in ENTRIES.items():
        getattr(bpy.types, name).remove(draw)
