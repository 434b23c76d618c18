# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames follow their file; the tab says what is missing or older, with a button that helps."""

from __future__ import annotations

import importlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

ADDON = "bl_ext.user_default.supple.addon"
LAST = 8


def scenario(ui: Ui) -> Steps:
    # Unsaved files keep their frames in the user's cache: here in one that is empty, but for loops.
    os.environ["NUMBA_CACHE_DIR"] = str(_module("worker.solver_environment").kernel_folder())
    os.environ["XDG_CACHE_HOME"] = str(ui.work / "user")
    _drop()
    yield from ui.open_sidebar("Supple")
    yield from _simulated(ui)
    yield from _saved_and_moved(ui)
    yield from _moved_without_frames(ui)
    yield from _changed_and_baked(ui)
    yield from _freed_and_undone(ui)
    yield from _doctor(ui)
    yield from _unused(ui)


def _drop() -> None:
    cube = bpy.data.objects["Cube"]
    bpy.context.scene.frame_end = LAST
    cube.location.z, cube.supple.resolution, cube.supple.enabled = 2.0, 3, True


def _saved_and_moved(ui: Ui) -> Steps:
    user = ui.work / "user" / "supple"
    assert len(list(user.iterdir())) == 1
    file = ui.work / "first" / "drop.blend"
    file.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(file))
    yield from ui.screenshot("saved")
    assert list(user.iterdir()) == [] and _notices() == []
    yield from _assert_falls(ui)
    # And with the key, once it has a name.
    saved = file.stat().st_mtime_ns
    yield from ui.hover("WINDOW")
    yield from ui.key("S", ctrl=True)
    yield from ui.wait_for(lambda: file.stat().st_mtime_ns > saved, "the file to be saved")
    yield from _opened(ui, shutil.move(file.parent, ui.work / "second"))
    yield from ui.screenshot("moved")
    assert _notices() == []
    yield from _assert_falls(ui)


def _moved_without_frames(ui: Ui) -> Steps:
    (ui.work / "third").mkdir()
    shutil.move(ui.work / "second" / "drop.blend", ui.work / "third")
    yield from _opened(ui, ui.work / "third")
    yield from ui.screenshot("without frames")
    assert "Cube does not play its frames:" in _only("supple.simulate")
    assert not bpy.ops.supple.bake.poll()
    yield from _simulated(ui)
    assert _notices() == []
    yield from _assert_falls(ui)


def _changed_and_baked(ui: Ui) -> Steps:
    cube = bpy.data.objects["Cube"]
    cube.supple.young *= 2.0
    yield from ui.redraw()
    yield from ui.screenshot("changed")
    assert "is out of date: Stiffness" in _only("supple.simulate")
    yield from _simulated(ui)
    _press(ui, "bake")
    yield from ui.wait_for(lambda: cube.data.shape_keys is not None, "shape keys")
    assert _notices() == []
    cube.supple.young *= 2.0
    yield from _simulated(ui)
    yield from ui.screenshot("older than its simulation")
    assert "older than its simulation" in _only("supple.bake")
    _press(ui, "bake")
    yield from ui.wait_for(lambda: not cube.modifiers, "the bake to take the place of playback")
    assert _notices() == []
    yield from ui.screenshot("baked")


def _freed_and_undone(ui: Ui) -> Steps:
    bpy.data.objects["Cube"].supple.young *= 2.0
    yield from _simulated(ui)
    _press(ui, "free")
    yield from ui.wait(0.5)
    yield from ui.screenshot("asked for the bake")
    yield from ui.key("RET")
    yield from ui.wait_for(lambda: not bpy.data.objects["Cube"].modifiers, "Free")
    yield from ui.redraw()
    yield from ui.screenshot("freed")
    yield from ui.hover("WINDOW")
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait_for(lambda: bpy.data.objects["Cube"].modifiers, "undo of Free")
    yield from ui.screenshot("undone")
    assert not any("does not play its frames" in notice.text for notice in _notices())
    with ui.context("UI"):
        assert bpy.ops.supple.bake.poll(), "undo brought no frames back"
    yield from _assert_falls(ui)


def _unused(ui: Ui) -> Steps:
    bpy.ops.wm.save_mainfile()
    unused = ui.work / "third" / "supple_cache" / "gone-Scene-0123456789ab"
    shown = _module("playback.mesh_cache").shown_folder(bpy.context.scene)
    shutil.copytree(shown, unused)
    with ui.context():
        bpy.ops.preferences.addon_show(module="bl_ext.user_default.supple")
    yield from ui.wait(1.0)
    yield from ui.screenshot("preferences")
    with bpy.context.temp_override(window=bpy.context.window_manager.windows[-1]):
        bpy.ops.supple.remove_caches("INVOKE_DEFAULT")
    yield from ui.wait(0.5)
    yield from ui.screenshot("unused")
    assert unused.exists()
    with ui.context():
        assert bpy.ops.supple.remove_caches() == {"FINISHED"}
    assert not unused.exists() and shown.exists()


def _doctor(ui: Ui) -> Steps:
    doctor = _module("operators.solver")
    with ui.context():
        bpy.ops.supple.doctor("INVOKE_DEFAULT")
    assert not bpy.ops.supple.doctor.poll()
    yield from ui.wait_for(lambda: doctor._latest, "the doctor's report", 60)
    yield from ui.hover("WINDOW")
    yield from ui.wait(1.0)
    yield from ui.screenshot("doctor")
    yield from ui.key("RET")
    yield from ui.wait_for(
        lambda: "Unused caches" in bpy.context.window_manager.clipboard, "Copy Report"
    )
    assert "numba" in bpy.context.window_manager.clipboard


def _simulated(ui: Ui) -> Steps:
    _press(ui, "simulate")
    yield from ui.wait(0.3)
    yield from ui.wait_for_end()
    yield from ui.wait(0.3)
    yield from ui.stop_playing()


def _press(ui: Ui, operator: str) -> None:
    """As the button in the sidebar does, which takes long to find; one step of undo."""
    with ui.context("UI"):
        getattr(bpy.ops.supple, operator)("INVOKE_DEFAULT", True)


def _opened(ui: Ui, folder: Path) -> Steps:
    bpy.ops.wm.open_mainfile(filepath=str(Path(folder) / "drop.blend"))
    yield from ui.wait(0.5)
    yield from ui.open_sidebar("Supple")


def _assert_falls(ui: Ui) -> Steps:
    heights = []
    for frame in (1, LAST):
        bpy.context.scene.frame_set(frame)
        yield
        cube = bpy.data.objects["Cube"].evaluated_get(bpy.context.evaluated_depsgraph_get())
        heights.append(min((cube.matrix_world @ vertex.co).z for vertex in cube.data.vertices))
    assert heights[1] < heights[0] - 0.3, heights


def _module(name: str):
    return importlib.import_module(f"{ADDON}.{name}")


def _notices() -> list:
    return _module("reports.notices").notices(bpy.context)


def _only(operator: str) -> str:
    (notice,) = _notices()
    assert notice.operator == operator
    return str(notice.text)
