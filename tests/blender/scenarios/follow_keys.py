# SPDX-License-Identifier: GPL-3.0-or-later
"""Follow My Keys in a window: Esc leaves the scene as it was, what is found passes through the
keys, and one button takes it away."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

import bpy
import numpy as np

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

ADDON = "bl_ext.user_default.supple.addon"
FRAME = 6
# The search that is broken off takes far longer than a key takes to arrive.
FINE, COARSE = 12, 2


def scenario(ui: Ui) -> Steps:
    scene, cube = bpy.context.scene, bpy.data.objects["Cube"]
    scene.frame_end, scene.supple.cache_folder = FRAME, str(ui.work / "cache")
    for frame, x in ((1, 0.0), (FRAME, 0.5)):
        cube.location = (x, 0.0, 2.0)
        cube.keyframe_insert("location", frame=frame)
    scene.frame_set(1)
    with ui.context():
        bpy.ops.supple.add()
    scene.supple.integrator, scene.supple.contact = "implicit_euler", "never"
    cube.supple.resolution = FINE
    ui.unfold("goals")
    yield from ui.open_sidebar("Supple")
    yield from ui.find_button("supple.find")
    with ui.context():
        bpy.ops.ed.undo_push(message="Begin")
        bpy.ops.supple.find("INVOKE_DEFAULT", tool="follow_keys")
    yield from ui.wait_for(lambda: _running() is not None, "the search to begin")
    yield from ui.hover()
    yield from ui.key("ESC")
    yield from ui.wait_for(lambda: _running() is None, "the search to end", timeout=3.0)
    assert _control(cube) is None

    bpy.data.objects["Cube"].supple.resolution = COARSE
    with ui.context():
        bpy.ops.supple.find("INVOKE_DEFAULT", tool="follow_keys")
    yield from ui.wait(0.3)
    yield from ui.wait_for(lambda: _running() is None, "forces to be found", timeout=240.0)
    assert _control(cube) is not None, "\n".join(ui.reports())
    with ui.context():
        bpy.ops.supple.simulate("INVOKE_DEFAULT")
    yield from ui.wait(0.3)
    yield from ui.wait_for(lambda: _running() is None, "the frames", timeout=120.0)
    scene.frame_set(FRAME)
    middle = _points(cube).mean(axis=0)
    assert np.abs(middle - (0.5, 0.0, 2.0)).max() < 0.05, middle
    yield from ui.screenshot("followed")
    with ui.context():
        # It plays, and the sidebar is long: looking for a button takes minutes meanwhile.
        bpy.ops.supple.remove_control()
    assert _control(cube) is None and cube.supple.enabled


def _control(obj: bpy.types.Object) -> object:
    return obj.supple.kept_control


def _points(obj: bpy.types.Object) -> np.ndarray:
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([mesh.matrix_world @ vertex.co for vertex in mesh.data.vertices])


def _running() -> object:
    return importlib.import_module(f"{ADDON}.runs").current
