# SPDX-License-Identifier: GPL-3.0-or-later
"""Resume from Here keeps frames up to the playhead; undo, redo, and another file opened midway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
import numpy as np

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 24


def scenario(ui: Ui) -> Steps:
    scene = bpy.context.scene
    scene.frame_end, scene.supple.cache_folder = LAST, str(ui.work / "cache")
    yield from ui.open_sidebar("Supple")
    yield from ui.simulate()
    before = _shapes(ui)
    path = str(ui.work / "resume.blend")
    bpy.ops.wm.save_as_mainfile(filepath=path)
    _cube().supple.young *= 20.0
    bpy.context.scene.frame_set(16)
    with ui.context():
        bpy.ops.ed.undo_push(message="Stiffness")
    yield from _resume(ui)
    yield from ui.screenshot("resumed")
    after = _shapes(ui)
    same = [float(np.abs(a - b).max()) < 1e-6 for a, b in zip(before, after, strict=True)]
    assert same[:11] == [True] * 11 and not any(same[12:]), same
    assert any("Went on from frame 11" in line for line in ui.reports()), ui.reports()
    yield from ui.hover()
    for is_redo, expected in ((False, before), (True, after)):
        yield from ui.key("Z", ctrl=True, shift=is_redo)
        yield from ui.wait(0.5)
        np.testing.assert_allclose(ui.shape(_cube(), 20), expected[19], atol=1e-6)
    yield from _another_file(ui, path, before)
    ui.assert_clean_log()


def _resume(ui: Ui) -> Steps:
    yield from ui.click_button("supple.resume")
    yield from ui.wait(1.0)
    yield from ui.wait_for_end()
    yield from ui.wait(0.5)
    yield from ui.stop_playing()


def _another_file(ui: Ui, path: str, before: list[np.ndarray]) -> Steps:
    """The saved file is opened while frames are resumed; it plays its own ones."""
    _cube().supple.young *= 0.1
    bpy.context.scene.frame_set(13)
    yield from ui.click_button("supple.resume")
    yield from ui.wait(0.5)
    with ui.context():
        bpy.ops.wm.open_mainfile(filepath=path)
    yield from ui.wait(1.0)
    yield from ui.wait_for(lambda: ui.module("runs").current is None, "the run to end")
    assert not ui.module("worker.session").is_running()
    np.testing.assert_allclose(ui.shape(_cube(), 20), before[19], atol=1e-6)


def _shapes(ui: Ui) -> list[np.ndarray]:
    return [ui.shape(_cube(), frame) for frame in range(1, LAST + 1)]


def _cube() -> bpy.types.Object:
    return bpy.data.objects["Cube"]
