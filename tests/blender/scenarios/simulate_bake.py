# SPDX-License-Identifier: GPL-3.0-or-later
"""The first minutes of an artist: a monkey, three clicks, undo, save, open again."""

from __future__ import annotations

import importlib
import json
import time
from typing import TYPE_CHECKING

import bpy
import numpy as np

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 36


def scenario(ui: Ui) -> Steps:
    monkey = _monkey(ui)
    rest = shape(monkey)
    yield from ui.open_sidebar("Supple")
    yield from ui.click_button("supple.add")
    yield from ui.wait_for(lambda: monkey().supple.enabled, "the monkey to be a soft body")
    yield from ui.screenshot("added")

    seconds = yield from _click_simulate(ui, monkey)
    (ui.screenshots / "first_frame.json").write_text(json.dumps({"seconds": seconds}))
    yield from ui.wait_for(lambda: not running(), "the simulation to end", 60)
    yield from ui.wait(0.3)
    yield from ui.wait_for(lambda: ui.window.screen.is_animation_playing, "the frames to play")
    with ui.context():
        bpy.ops.screen.animation_cancel(restore_frame=False)
    bpy.context.scene.frame_set(LAST)
    # The viewport and renders have other levels.
    shown = [(m.show_viewport, m.show_render) for m in monkey().modifiers if m.type == "MESH_CACHE"]
    assert shown == [(True, True), (True, False), (False, True)]
    assert -1e-5 < shape(monkey)[:, 2].min() < 0.01, "it should be seen to lie on the ground"
    monkey().supple.smooth = 4
    yield from ui.wait(0.3)
    assert [m.type for m in monkey().modifiers][:2] == ["MESH_CACHE", "CORRECTIVE_SMOOTH"]
    simulated = shape(monkey)
    assert np.abs(simulated - rest).max() > 1.0, "it should have fallen and be bent"
    yield from ui.screenshot("simulated")

    yield from ui.click_button("supple.bake")
    yield from ui.wait_for(lambda: monkey().data.shape_keys is not None, "shape keys")
    assert len(monkey().data.shape_keys.key_blocks) >= LAST
    assert not [m for m in monkey().modifiers if m.type == "MESH_CACHE"]
    assert monkey().modifiers[0].type == "CORRECTIVE_SMOOTH"
    yield from _assert_plays(ui, monkey, simulated)
    yield from ui.screenshot("baked")

    yield from ui.hover("WINDOW")
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait_for(lambda: monkey().data.shape_keys is None, "undo of the bake")
    assert [m for m in monkey().modifiers if m.type == "MESH_CACHE"]
    yield from ui.key("Z", ctrl=True, shift=True)
    yield from ui.wait_for(lambda: monkey().data.shape_keys is not None, "redo of the bake")

    path = str(ui.work / "baked.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    bpy.ops.wm.open_mainfile(filepath=path)
    yield from ui.wait(0.5)
    assert monkey().supple.enabled
    warm_worker = importlib.import_module("bl_ext.user_default.supple.addon.worker.warm_worker")
    assert warm_worker._ready is not None, "a file with soft bodies gets a worker that waits"
    yield from _assert_plays(ui, monkey, simulated)
    yield from ui.open_sidebar("Supple")
    yield from ui.screenshot("reopened")


def _monkey(ui: Ui):
    """Replaces the default cube; answers how to find the monkey, whatever undo replaced."""
    ui.clear(LAST)
    with ui.context():
        bpy.ops.mesh.primitive_monkey_add(location=(0.0, 0.0, 2.0))
        bpy.context.object.modifiers.new("Subdivision", "SUBSURF").levels = 1
        bpy.ops.ed.undo_push(message="Monkey")
    return lambda: bpy.data.objects["Suzanne"]


def _click_simulate(ui: Ui, monkey):
    """Seconds from the click to the first simulated frame."""
    button = yield from ui.find_button("supple.simulate")
    began = time.monotonic()
    yield from ui.click(button.x, button.y)

    def moved() -> bool:
        scene = bpy.context.scene
        plays = monkey().modifiers[0].type == "MESH_CACHE"
        return plays and scene.frame_current > scene.frame_start

    yield from ui.wait_for(moved, "the first frame")
    return time.monotonic() - began


def _assert_plays(ui: Ui, monkey, simulated) -> Steps:
    scene = bpy.context.scene
    scene.frame_set(scene.frame_start)
    yield
    assert np.abs(shape(monkey) - simulated).max() > 0.5
    scene.frame_set(LAST)
    yield
    np.testing.assert_allclose(shape(monkey), simulated, atol=1e-5)


def shape(monkey) -> np.ndarray:
    """The (V, 3) visible points in the world."""
    evaluated = monkey().evaluated_get(bpy.context.evaluated_depsgraph_get())
    points = np.empty(3 * len(evaluated.data.vertices), dtype=np.float32)
    evaluated.data.vertices.foreach_get("co", points)
    matrix = np.array(evaluated.matrix_world)
    return points.reshape(-1, 3) @ matrix[:3, :3].T + matrix[:3, 3]


def running() -> bool:
    session = importlib.import_module("bl_ext.user_default.supple.addon.worker.session")
    return bool(session.is_running())
