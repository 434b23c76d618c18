# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulation that is disturbed: renamed, undone, deleted, cancelled and taken up again."""

from __future__ import annotations

import importlib
import json
import time
from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

FRAMES = 2000


def scenario(ui: Ui) -> Steps:
    _bodies(ui)
    yield from ui.open_sidebar("Supple")
    yield from ui.click_button("supple.simulate")
    yield from ui.wait_for(lambda: _current() > 5, "frames")
    yield from ui.screenshot("running")

    bpy.data.objects["Left"].name = "Renamed"
    yield from _goes_on(ui)
    bpy.data.objects.remove(bpy.data.objects["Right"])
    yield from _goes_on(ui)
    assert _plays("Renamed")

    yield from ui.hover("WINDOW")
    began = time.monotonic()
    yield from ui.key("ESC")
    yield from ui.wait_for(lambda: not _running(), "Esc to cancel")
    seconds = time.monotonic() - began
    (ui.screenshots / "cancel.json").write_text(json.dumps({"seconds": seconds}))
    yield from ui.wait(0.3)
    reached = _current()
    assert _plays("Renamed"), "the frames so far stay"
    yield from ui.screenshot("cancelled")

    # With the same bodies it goes on; now one is missing, so it is another simulation.
    yield from ui.click_button("supple.simulate")
    yield from ui.wait_for(lambda: _running() and _current() < reached, "a new start")
    yield from ui.wait_for(lambda: _current() > 5, "frames")
    yield from ui.hover("WINDOW")
    yield from ui.key("ESC")
    yield from ui.wait_for(lambda: not _running(), "Esc to cancel")
    reached = _current()
    yield from ui.click_button("supple.simulate")
    yield from ui.wait_for(_running, "the worker")
    yield from ui.wait_for(lambda: _current() > reached, "frames beyond those there were")

    yield from _is_left_alone(ui)
    yield from _ends_with_its_body(ui)

    # Blender ends while it simulates: what there is can be opened and resumed.
    bpy.ops.wm.save_as_mainfile(filepath=str(ui.work / "interrupted.blend"))
    assert _running()


def _bodies(ui: Ui) -> None:
    ui.clear(FRAMES)
    with ui.context():
        for name, x in (("Left", -2.0), ("Right", 2.0)):
            bpy.ops.mesh.primitive_ico_sphere_add(subdivisions=3, location=(x, 0.0, 2.0))
            bpy.context.object.name = name
            bpy.context.object.supple.resolution = 6
            bpy.ops.supple.add()
        bpy.ops.ed.undo_push(message="Two bodies")


def _is_left_alone(ui: Ui) -> Steps:
    """The playhead that the user has moved, and a simulation while the animation plays."""
    bpy.context.scene.frame_set(3)
    yield from ui.wait(1.0)
    assert _running() and _current() == 3
    with ui.context():
        bpy.ops.screen.animation_play()
    yield from ui.wait(0.3)
    yield from ui.hover("WINDOW")
    yield from ui.key("ESC")
    yield from ui.wait_for(lambda: not ui.window.screen.is_animation_playing, "Esc to stop it")
    yield from ui.wait(0.3)
    assert _running()


def _ends_with_its_body(ui: Ui) -> Steps:
    with ui.context():
        bpy.ops.ed.undo_push(message="Simulating")
        bpy.data.objects["Renamed"].supple.enabled = False
        bpy.ops.ed.undo_push(message="None any more")
    yield from ui.wait_for(lambda: not _running(), "the end")
    with ui.context():
        bpy.ops.ed.undo()
    assert bpy.data.objects["Renamed"].supple.enabled
    yield from ui.click_button("supple.simulate")
    yield from ui.wait_for(_running, "the worker")


def _goes_on(ui: Ui) -> Steps:
    reached = _current()
    yield from ui.wait_for(lambda: _running() and _current() > reached + 3, "more frames")


def _current() -> int:
    return int(bpy.context.scene.frame_current)


def _plays(name: str) -> bool:
    return any(m.type == "MESH_CACHE" for m in bpy.data.objects[name].modifiers)


def _running() -> bool:
    session = importlib.import_module("bl_ext.user_default.supple.addon.worker.session")
    return bool(session.is_running())
