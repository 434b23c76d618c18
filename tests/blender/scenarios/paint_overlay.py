# SPDX-License-Identifier: GPL-3.0-or-later
"""The chosen paint is drawn over a soft body and follows the brush."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

ADDON = "bl_ext.user_default.supple.addon"


def scenario(ui: Ui) -> Steps:
    overlay = importlib.import_module(f"{ADDON}.panels.paint_overlay")
    with ui.context():
        bpy.ops.mesh.primitive_monkey_add(size=2.0, location=(0.0, 0.0, 1.5))
        bpy.ops.object.modifier_add(type="SUBSURF")
        bpy.ops.supple.add()
    bpy.data.objects["Cube"].hide_set(True)
    body = bpy.context.object
    group = body.vertex_groups.new(name="Right")
    for vertex in body.data.vertices:
        group.add([vertex.index], min(max(0.5 + vertex.co.x, 0.0), 1.0), "REPLACE")
    body.supple.paint_friction = "Right"
    with ui.context():
        bpy.ops.view3d.view_selected()
    yield from ui.open_sidebar("Supple")
    yield from ui.redraw()
    assert not overlay._batches, "it should be off at first"
    bpy.context.scene.supple.paint_overlay = "friction"
    yield from ui.redraw()
    yield from ui.screenshot("friction")
    ((_, batch),) = overlay._batches.values()
    assert batch is not None
    yield from ui.redraw()
    assert overlay._batches[body.session_uid][1] is batch, "it should be kept"
    bpy.context.scene.supple.paint_overlay = "density"
    yield from ui.redraw()
    assert overlay._batches[body.session_uid][1] is None, "density is not painted"
