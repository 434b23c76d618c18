# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulate takes a selected mesh in: at once where nothing is soft yet, else it asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 6


def scenario(ui: Ui) -> Steps:
    scene, cube = bpy.context.scene, bpy.data.objects["Cube"]
    scene.frame_end, scene.supple.cache_folder = LAST, str(ui.work / "cache")
    cube.location.z, cube.supple.resolution = 2.0, 4
    yield from ui.open_sidebar("Supple")
    yield from ui.screenshot("nothing soft")
    yield from ui.click_button("supple.simulate")
    yield from ui.wait_for(lambda: cube.supple.enabled, "the cube to become a soft body")
    yield from _wait_for_end(ui)
    assert any(f"Simulated frames 1 to {LAST}" in line for line in ui.reports())
    yield from ui.screenshot("simulated")

    with ui.context():
        bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0.0, 0.0, 6.0))
    second = bpy.context.object
    second.supple.resolution = 3
    yield from ui.click_button("supple.simulate")
    yield from ui.wait(0.5)
    yield from ui.screenshot("asked")
    assert not second.supple.enabled and ui.module("runs").current is None
    # The first choice is under the mouse.
    yield from ui.key("RET")
    yield from ui.wait_for(lambda: second.supple.enabled, "the second one to become soft, too")
    yield from _wait_for_end(ui)
    assert second.modifiers and second.modifiers[0].type == "MESH_CACHE"
    yield from _warned(ui, second)


def _warned(ui: Ui, obj: bpy.types.Object) -> Steps:
    with ui.context():
        bpy.ops.object.effector_add(type="GUIDE", location=(3.0, 0.0, 1.0))
    bpy.context.view_layer.objects.active = obj
    bpy.context.object.select_set(True)
    yield from ui.wait(0.5)
    yield from ui.screenshot("warned")
    yield from ui.click_button("supple.simulate")
    yield from ui.wait(0.3)
    yield from _wait_for_end(ui)
    reports = "\n".join(ui.reports())
    assert "force field Curve Guide does not act on soft bodies" in reports, reports


def _wait_for_end(ui: Ui) -> Steps:
    yield from ui.wait(0.3)
    yield from ui.wait_for_end()
