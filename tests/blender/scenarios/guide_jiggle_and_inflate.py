# SPDX-License-Identifier: GPL-3.0-or-later
"""Jiggle a Character and Inflate of docs/user_guide.md work step by step, at the first try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
import numpy as np

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui


def scenario(ui: Ui) -> Steps:
    yield from _jiggle(ui)
    yield from _inflate(ui)
    ui.assert_clean_log()


def _jiggle(ui: Ui) -> Steps:
    monkey = yield from ui.new_object("jiggle", 48, bpy.ops.mesh.primitive_monkey_add)
    yield from ui.press_i(monkey)
    bpy.context.scene.frame_set(12)
    yield from ui.transform("R", "Z", "90")
    yield from ui.press_i(monkey)
    yield from ui.make_soft(monkey, "supple.jiggle")
    assert "Jiggle" in monkey.vertex_groups
    yield from ui.simulate_cleanly()
    modelled = np.array([vertex.co for vertex in monkey.data.vertices])
    off = {}
    for frame in (8, 48):
        simulated = ui.shape(monkey, frame)
        world = np.array(monkey.matrix_world)
        posed = modelled @ world[:3, :3].T + world[:3, 3]
        off[frame] = float(np.abs(simulated - posed).max())
    assert off[8] > 0.02 and off[48] < 0.1 * off[8] + 0.005, off
    yield from ui.screenshot("jiggle")


def _inflate(ui: Ui) -> Steps:
    sphere = yield from ui.new_object("inflate", 60, bpy.ops.mesh.primitive_uv_sphere_add)
    with ui.context():
        bpy.ops.object.modifier_add(type="SOLIDIFY")
    sphere.modifiers["Solidify"].thickness = 0.1
    yield from ui.make_soft(sphere)
    props = sphere.supple
    props.use_target_volume = True
    for frame, volume in ((1, 1.0), (60, 3.0)):
        bpy.context.scene.frame_set(frame)
        props.target_volume = volume
        assert props.keyframe_insert("target_volume")
    yield from ui.simulate_cleanly()
    widths = {frame: float(np.ptp(ui.shape(sphere, frame)[:, 0])) for frame in (1, 60)}
    assert widths[60] > 1.25 * widths[1], widths
    yield from ui.screenshot("inflate")
