# SPDX-License-Identifier: GPL-3.0-or-later
"""Two takes of a jelly: kept, compared as a ghost, shown, removed, and back by undo."""

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
    ui.unfold("takes")
    yield from ui.open_sidebar("Supple")
    yield from ui.simulate()
    soft = ui.shape(_cube(), 16)
    yield from ui.click_button("supple.keep_take")
    yield from ui.wait_for(lambda: len(_takes()) == 1, "a take")
    _cube().supple.young *= 10.0
    with ui.context():
        bpy.ops.ed.undo_push(message="Stiffness")
    yield from ui.simulate()
    hard = ui.shape(_cube(), 16)
    assert np.abs(soft - hard).max() > 0.01
    yield from ui.click_button("supple.keep_take")
    yield from ui.wait_for(lambda: len(_takes()) == 2, "another take")
    _takes()[0].show_ghost = True
    yield from ui.screenshot("ghost")
    _takes()[0].show_ghost = False

    scene.supple.take_index = 0
    with ui.context():
        bpy.ops.ed.undo_push(message="Chosen take")
    yield from ui.click_button("supple.show_take")
    yield from ui.wait(0.5)
    np.testing.assert_allclose(ui.shape(_cube(), 16), soft, atol=1e-6)
    yield from ui.hover()
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait(0.5)
    np.testing.assert_allclose(ui.shape(_cube(), 16), hard, atol=1e-6)
    yield from ui.key("Z", ctrl=True, shift=True)
    yield from ui.wait(0.5)
    np.testing.assert_allclose(ui.shape(_cube(), 16), soft, atol=1e-6)
    yield from ui.click_button("supple.restore_take")
    yield from ui.wait(0.5)
    assert ui.module("reports.outdated").changed(_cube()) == []
    yield from ui.screenshot("restored")
    yield from _removed(ui, hard)
    ui.assert_clean_log()


def _removed(ui: Ui, hard: np.ndarray) -> Steps:
    """The other take goes to the trash, and undo brings it back."""
    bpy.context.scene.supple.take_index = 1
    with ui.context():
        bpy.ops.ed.undo_push(message="Chosen take")
    folders = len(_folders(ui))
    yield from ui.click_button("supple.remove_take")
    yield from ui.wait_for(lambda: len(_takes()) == 1, "the take to go")
    assert len(_folders(ui)) == folders - 1
    yield from ui.hover()
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait_for(lambda: len(_takes()) == 2, "undo")
    yield from ui.wait(0.5)
    assert len(_folders(ui)) == folders
    yield from ui.click_button("supple.show_take")
    yield from ui.wait(0.5)
    np.testing.assert_allclose(ui.shape(_cube(), 16), hard, atol=1e-6)


def _cube() -> bpy.types.Object:
    return bpy.data.objects["Cube"]


def _takes() -> list[bpy.types.PropertyGroup]:
    return list(bpy.context.scene.supple.takes)


def _folders(ui: Ui) -> list[str]:
    return [path.name for path in (ui.work / "cache").iterdir() if (path / "scene.json").exists()]
