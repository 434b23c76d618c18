# SPDX-License-Identifier: GPL-3.0-or-later
"""A bake that takes a while, behind Subdivision: is seen to go on, broken off, and done again."""

from __future__ import annotations

import importlib
import json
import time
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 40


def scenario(ui: Ui) -> Steps:
    _monkey(ui)
    yield from ui.open_sidebar("Supple")
    yield from ui.click_button("supple.simulate")
    yield from ui.wait_for(lambda: _plays() and not _busy(), "the simulation to end", 300)
    yield from ui.wait(0.3)

    yield from ui.click_button("supple.bake")
    yield from ui.wait_for(lambda: _busy() and _share() > 0.1, "the fit to be under way")
    yield from ui.screenshot("under way")
    assert not bpy.ops.supple.free.poll() and not bpy.ops.supple.bake.poll()
    yield from ui.hover("WINDOW")
    # Nothing else gets through meanwhile.
    yield from ui.key("X")
    began = time.monotonic()
    yield from ui.key("ESC")
    yield from ui.wait_for(lambda: not _busy(), "Esc to cancel")
    seconds = time.monotonic() - began
    (ui.screenshots / "cancelled_bake.json").write_text(json.dumps({"seconds": seconds}))
    yield from ui.wait(0.3)
    assert any("Cancelled. Nothing was baked." in line for line in ui.reports())
    assert _keys() is None and _plays(), "all is as it was"
    yield from ui.screenshot("cancelled")

    yield from ui.click_button("supple.bake")
    yield from ui.wait_for(lambda: _keys() is not None, "shape keys", 60)
    yield from ui.wait(0.3)
    assert len(_keys().key_blocks) > LAST and not _busy()
    assert not _plays(), "the keys are in place of the frames"
    assert any(f"Baked {LAST} frames to shape keys: Suzanne. Sub" in line for line in ui.reports())
    yield from ui.screenshot("baked")
    yield from ui.hover("WINDOW")
    yield from ui.key("Z", ctrl=True)
    yield from ui.wait_for(lambda: _keys() is None, "undo of the bake")
    assert _plays()


def _monkey(ui: Ui) -> None:
    ui.clear(LAST)
    with ui.context():
        bpy.ops.mesh.primitive_monkey_add(location=(0.0, 0.0, 1.2))
        modifier = bpy.context.object.modifiers.new("Subdivision", "SUBSURF")
        modifier.levels = modifier.render_levels = 2
        bpy.ops.supple.add()
        bpy.context.object.supple.resolution = 6
        bpy.ops.ed.undo_push(message="Monkey")


def _keys():
    return bpy.data.objects["Suzanne"].data.shape_keys


def _plays() -> bool:
    return any(m.type == "MESH_CACHE" for m in bpy.data.objects["Suzanne"].modifiers)


def _work():
    return importlib.import_module("bl_ext.user_default.supple.addon.runs").current


def _busy() -> bool:
    return _work() is not None


def _share() -> float:
    return float(_work().progress())
