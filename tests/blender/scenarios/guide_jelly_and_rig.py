# SPDX-License-Identifier: GPL-3.0-or-later
"""Make a Jelly and Pin to a Rig of docs/user_guide.md work step by step, at the first try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
import numpy as np
from bpy_extras.view3d_utils import location_3d_to_region_2d
from mathutils import Vector

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui


def scenario(ui: Ui) -> Steps:
    yield from _make_a_jelly(ui)
    yield from _pin_to_a_rig(ui)
    ui.assert_clean_log()


def _make_a_jelly(ui: Ui) -> Steps:
    yield from ui.new_file("jelly", last=24)
    cube = bpy.data.objects["Cube"]
    with ui.context():
        bpy.ops.supple.quick_jelly("INVOKE_DEFAULT")
    yield from ui.wait_for_end()
    yield from ui.wait(0.5)
    yield from ui.stop_playing()
    heights = [float(ui.shape(cube, frame)[:, 2].min()) for frame in (1, 24)]
    assert heights[1] < heights[0] - 0.5, heights
    stiffness = cube.supple.young
    with ui.context():
        bpy.ops.supple.apply_preset("EXEC_DEFAULT", preset="silicone")
    assert cube.supple.young != stiffness
    yield from ui.simulate_cleanly()
    yield from ui.click_button("supple.bake")
    yield from ui.wait_for(lambda: cube.data.shape_keys, "the bake")
    yield from ui.screenshot("jelly")


def _pin_to_a_rig(ui: Ui) -> Steps:
    sphere = yield from ui.new_object("rig", 24, bpy.ops.mesh.primitive_uv_sphere_add)
    yield from ui.hover()
    yield from ui.key("TAB")
    yield from ui.wait_for(lambda: sphere.mode == "EDIT", "Edit Mode")
    region = ui.region()
    yield from ui.click(region.x + 60, region.y + 60)
    yield from ui.wait(0.3)
    top = location_3d_to_region_2d(
        region, ui.area().spaces.active.region_3d, Vector((0.0, 0.0, 1.0))
    )
    yield from ui.click(region.x + top.x, region.y + top.y)
    yield from ui.wait(0.3)
    with ui.context():
        for _ in range(4):
            bpy.ops.mesh.select_more()
        bpy.ops.object.vertex_group_add()
        bpy.ops.object.vertex_group_assign()
    yield from ui.hover()
    yield from ui.key("TAB")
    yield from ui.wait_for(lambda: sphere.mode == "OBJECT", "Object Mode")
    pinned = [vertex.index for vertex in sphere.data.vertices if vertex.groups]
    assert 100 < len(pinned) < len(sphere.data.vertices) / 2, len(pinned)
    with ui.context():
        bpy.ops.object.armature_add()
    armature = bpy.context.object
    with ui.context():
        sphere.select_set(True)
        bpy.ops.object.parent_set(type="ARMATURE")
    ui.activate(armature.name)
    yield from ui.press_i(armature)
    bpy.context.scene.frame_set(20)
    yield from ui.transform("G", "X", "3")
    yield from ui.press_i(armature)
    # In the view, the ball lies before the armature, which has moved with it.
    side = location_3d_to_region_2d(
        region, ui.area().spaces.active.region_3d, Vector((3.5, -0.6, -0.2))
    )
    yield from ui.click(region.x + side.x, region.y + side.y)
    yield from ui.wait_for(lambda: bpy.context.object == sphere, "the sphere to be selected")
    yield from ui.make_soft(sphere)
    sphere.supple.pin_group = "Group"
    yield from ui.simulate_cleanly()
    places = {frame: ui.shape(sphere, frame) for frame in (1, 8, 20)}
    moved = places[20][pinned].mean(axis=0) - places[1][pinned].mean(axis=0)
    assert np.allclose(moved, (3.0, 0.0, 0.0), atol=1e-3), moved
    assert places[1][pinned, 2].min() > 0.5
    lowest = places[1][:, 2].argmin()
    lag = places[8][pinned, 0].mean() - places[8][lowest, 0]
    assert lag > 0.05, lag
    yield from ui.screenshot("rig")
