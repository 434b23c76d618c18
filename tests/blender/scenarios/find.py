# SPDX-License-Identifier: GPL-3.0-or-later
"""Hit the Target in a window: Esc leaves the scene as it was, and one undo takes a throw back."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

ADDON = "bl_ext.user_default.supple.addon"
FRAME = 8
# The search that is broken off takes far longer than a key takes to arrive.
FINE, COARSE = 16, 3


def scenario(ui: Ui) -> Steps:
    scene, cube = bpy.context.scene, bpy.data.objects["Cube"]
    scene.frame_end, scene.supple.cache_folder = FRAME, str(ui.work / "cache")
    cube.location.z = 2.0
    with ui.context():
        bpy.ops.supple.add()
        bpy.ops.object.empty_add(location=(1.0, 0.0, 2.2))
    target = bpy.context.object
    bpy.context.view_layer.objects.active = cube
    soft = cube.supple
    soft.resolution, soft.fit_target, soft.fit_frame = FINE, target, FRAME
    ui.unfold("goals")
    yield from ui.open_sidebar("Supple")
    yield from ui.find_button("supple.find")
    with ui.context():
        bpy.ops.ed.undo_push(message="Begin")
        bpy.ops.supple.find("INVOKE_DEFAULT", tool="hit_target")
    yield from ui.wait_for(lambda: _running() is not None, "the search to begin")
    yield from ui.hover()
    yield from ui.key("ESC")
    yield from ui.wait_for(lambda: _running() is None, "the search to end", timeout=3.0)
    assert tuple(soft.start_velocity) == (0.0, 0.0, 0.0)

    soft.resolution = COARSE
    with ui.context():
        bpy.ops.supple.find("INVOKE_DEFAULT", tool="hit_target")
    yield from ui.wait(0.3)
    yield from ui.wait_for(lambda: _running() is None, "a throw to be found", timeout=240.0)
    reports = "\n".join(ui.reports())
    assert bpy.data.objects["Cube"].supple.start_velocity[0] > 1.0, reports
    yield from ui.screenshot("found")
    yield from ui.hover()
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait(0.5)
    assert tuple(bpy.data.objects["Cube"].supple.start_velocity) == (0.0, 0.0, 0.0)
    assert bpy.data.objects["Cube"].supple.enabled


def _running() -> object:
    return importlib.import_module(f"{ADDON}.runs").current
