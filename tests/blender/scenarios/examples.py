# SPDX-License-Identifier: GPL-3.0-or-later
"""Each example moves soon after one click, and undo takes it away."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 24


def scenario(ui: Ui) -> Steps:
    examples = ui.module("examples").EXAMPLES
    assert len(examples) == 6
    yield from ui.hover()
    with ui.context():
        bpy.ops.wm.call_menu(name="VIEW3D_MT_add")
    yield from ui.screenshot("menu")
    yield from ui.key("ESC")
    for name in examples:
        yield from _one(ui, name)
    yield from _undo_and_redo(ui)
    ui.assert_clean_log()


def _one(ui: Ui, name: str) -> Steps:
    with ui.context():
        bpy.ops.wm.read_homefile(app_template="")
    yield from ui.wait(0.5)
    scene = bpy.context.scene
    scene.frame_end, scene.supple.cache_folder = LAST, str(ui.work / name)
    with ui.context():
        bpy.ops.ed.undo_push(message="Settings")
    runs = ui.module("runs")
    began = time.monotonic()
    with ui.context():
        bpy.ops.supple.add_example("INVOKE_DEFAULT", True, example=name)
    yield from ui.wait_for(lambda: runs.current.playback.last_frame >= 2, "two frames", 60.0)
    took = time.monotonic() - began
    print(f"{name} moves after {took:.1f} s", flush=True)
    yield from ui.wait_for_end()
    yield from ui.wait(0.5)
    yield from ui.stop_playing()
    assert not ui.problems(), ui.problems()
    scene.frame_set(LAST)
    yield from ui.screenshot(name)
    body = next(obj for obj in scene.objects if obj.supple.enabled)
    moved = ui.shape(body, LAST) - ui.shape(body, 1)
    assert abs(moved).max() > 0.02, moved


def _undo_and_redo(ui: Ui) -> Steps:
    count = len(bpy.context.scene.objects)
    yield from ui.hover()
    for _ in range(2):
        yield from ui.key("Z", ctrl=True)
        yield from ui.wait(0.5)
    assert len(bpy.context.scene.objects) == 3, list(bpy.context.scene.objects)
    for _ in range(2):
        yield from ui.key("Z", ctrl=True, shift=True)
        yield from ui.wait(0.5)
    assert len(bpy.context.scene.objects) == count
