# SPDX-License-Identifier: GPL-3.0-or-later
"""The rest of an artist's first hour: pins, recorded fields, Jiggle, Bake, Doctor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
import numpy as np

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 24


def scenario(ui: Ui) -> Steps:
    scene, cube = bpy.context.scene, bpy.data.objects["Cube"]
    scene.frame_end, scene.supple.cache_folder = LAST, str(ui.work / "cache")
    ui.unfold("fields")
    yield from ui.open_sidebar("Supple")
    yield from ui.click_button("supple.add")
    yield from ui.wait_for(lambda: cube.supple.enabled, "Add Soft Body")
    yield from _pins(ui)
    yield from _recorded_fields(ui)
    yield from _jiggle(ui)
    yield from _bake(ui)
    yield from _doctor(ui)
    ui.assert_clean_log()


def _pins(ui: Ui) -> Steps:
    cube = bpy.data.objects["Cube"]
    group = cube.vertex_groups.new(name="Top")
    top = max(vertex.co.z for vertex in cube.data.vertices)
    group.add([v.index for v in cube.data.vertices if v.co.z > top - 1e-3], 1.0, "REPLACE")
    cube.supple.pin_group = "Top"
    yield from ui.screenshot("10 pins")
    yield from ui.simulate()
    yield from ui.screenshot("11 pinned")
    start, end = ui.shape(cube, 1), ui.shape(cube, LAST)
    held = [v.index for v in cube.data.vertices if v.co.z > top - 1e-3]
    assert np.abs(end - start)[held].max() < 1e-4


def _recorded_fields(ui: Ui) -> Steps:
    bpy.context.view_layer.objects.active = None
    yield from ui.scroll_to_end()
    yield from ui.screenshot("12 recorded fields")
    ui.activate("Cube")
    bpy.context.scene.supple.record_stretch = True
    bpy.context.scene.supple.field = "stretch"
    yield from ui.simulate()
    yield from ui.click_button("supple.show_field")
    yield from ui.screenshot("13 stretch")


def _jiggle(ui: Ui) -> Steps:
    with ui.context():
        bpy.ops.mesh.primitive_uv_sphere_add(radius=0.6, location=(4, 0, 0))
        ball = bpy.context.object
        ball.name = "Belly"
        for frame, z in ((1, 0.0), (12, 1.5), (LAST, 0.0)):
            ball.location.z = z
            ball.keyframe_insert("location", frame=frame)
    ui.activate("Belly")
    bpy.context.scene.frame_set(1)
    yield from ui.screenshot("14 before jiggle")
    yield from ui.click_button("supple.jiggle")
    yield from ui.wait_for(lambda: bpy.data.objects["Belly"].supple.jiggle_group, "Jiggle")
    yield from ui.screenshot("15 jiggle")
    yield from ui.simulate()
    yield from ui.screenshot("16 jiggled")
    rest, moved = ui.shape(ball, 1), ui.shape(ball, 8)
    assert np.ptp(moved - rest, axis=0).max() > 1e-3, "it moves as a whole"


def _bake(ui: Ui) -> Steps:
    cube = bpy.data.objects["Cube"]
    cube.supple.young *= 2.0
    yield from ui.click_button("supple.bake")
    yield from ui.wait(0.5)
    yield from ui.screenshot("17 outdated bake asked about")
    assert cube.data.shape_keys is None
    yield from ui.hover("WINDOW")
    yield from ui.key("ESC")
    yield from ui.wait(0.3)
    cube.supple.young /= 2.0
    yield from ui.click_button("supple.bake")
    yield from ui.wait_for(lambda: bpy.data.objects["Belly"].data.shape_keys, "shape keys", 120)
    yield from ui.wait_for(lambda: ui.module("runs").current is None, "the end of the bake", 120)
    yield from ui.screenshot("17 baked")
    assert not ui.plays("Belly") and not ui.plays("Cube")


def _doctor(ui: Ui) -> Steps:
    doctor = ui.module("operators.solver")
    with ui.context():
        bpy.ops.supple.doctor("INVOKE_DEFAULT")
    yield from ui.screenshot("18 doctor at work")
    yield from ui.wait_for(lambda: doctor._latest, "the doctor's report", 90)
    yield from ui.wait(1.0)
    yield from ui.screenshot("19 doctor")
    yield from ui.move(60, 60)
    yield from ui.wait(0.5)
    yield from ui.screenshot("20 the report stays")
    bpy.context.window_manager.clipboard = ""
    yield from ui.key("RET")
    copied = lambda: "Unused caches" in bpy.context.window_manager.clipboard  # noqa: E731
    yield from ui.wait_for(copied, "Copy Report")
