# SPDX-License-Identifier: GPL-3.0-or-later
"""The tab Supple is in the sidebar with something to press, and every panel draws."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

ADDON = "bl_ext.user_default.supple.addon"


def scenario(ui: Ui) -> Steps:
    yield from _every_panel(ui)
    buttons = yield from ui.buttons()
    assert any(button.operator.startswith("supple.") for button in buttons), buttons
    ground = importlib.import_module(f"{ADDON}.panels.ground_overlay")
    with ui.context():
        assert ground.patches(bpy.context), "the ground should be drawn"
        bpy.context.space_data.overlay.show_overlays = False
        assert not ground.patches(bpy.context), "without overlays nothing should be"
    yield from ui.screenshot("without overlays")


def _every_panel(ui: Ui) -> Steps:
    """Pictures of all panels, open, with every setting."""
    panels = importlib.import_module(f"{ADDON}.panels").CLASSES
    for panel in reversed(panels):
        bpy.utils.unregister_class(panel)
    for panel in panels:
        panel.bl_options = set()
        bpy.utils.register_class(panel)
    cube, props = bpy.data.objects["Cube"].supple, bpy.context.scene.supple
    with ui.context():
        bpy.ops.supple.add()
    cube.model, cube.contact_surface = "st_venant_kirchhoff", "mesh"
    props.ground_response, props.use_scene_range = "projection", False
    yield from ui.open_sidebar("Supple")
    yield from ui.wait(0.5)
    yield from ui.screenshot("body")
    bpy.context.view_layer.objects.active = bpy.data.objects["Light"]
    yield from ui.wait(0.5)
    yield from ui.screenshot("scene")
    bpy.context.view_layer.objects.active = bpy.data.objects["Cube"]
    yield from ui.redraw()
