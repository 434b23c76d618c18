# SPDX-License-Identifier: GPL-3.0-or-later
"""A cube of a real material falls on a ball that is ticked as a collider."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy
import numpy as np

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

LAST = 30
BALL = 0.8


def scenario(ui: Ui) -> Steps:
    scene = bpy.context.scene
    scene.frame_end, scene.supple.cache_folder = LAST, str(ui.work / "cache")
    # Explicit steps without contact, which take the ball for what it is.
    scene.supple.integrator, scene.supple.contact = "symplectic_euler", "never"
    cube = _cube_over_ball(ui)
    yield from ui.open_sidebar("Supple")
    yield from ui.screenshot("ball")
    _select(ui, cube)
    yield from ui.click_button("supple.add")
    yield from ui.wait_for(lambda: cube.supple.enabled, "the cube to be a soft body")
    with ui.context():
        assert bpy.ops.supple.apply_preset(preset="marshmallow", size="real") == {"FINISHED"}
    assert cube.supple.young == 30_000.0
    assert cube.supple.model == "corotated_linear"
    yield from ui.click_button("supple.simulate")
    yield from ui.wait(0.2)
    yield from ui.wait_for_end()
    assert any(f"Simulated frames 1 to {LAST}" in line for line in ui.reports())
    for frame in range(1, LAST + 1):
        scene.frame_set(frame)
        yield
        assert np.linalg.norm(_seen(cube), axis=1).min() > 0.9 * BALL, (
            f"frame {frame} is inside the ball"
        )
    scene.frame_set(20)
    yield
    # Without the ball it would lie on the ground.
    assert _seen(cube)[:, 2].mean() > BALL, "it should lie on the ball"
    yield from ui.screenshot("landed")


def _cube_over_ball(ui: Ui) -> bpy.types.Object:
    cube = bpy.data.objects["Cube"]
    cube.scale, cube.location.z, cube.supple.resolution = (0.25, 0.25, 0.25), 1.4, 6
    with ui.context():
        bpy.ops.mesh.primitive_uv_sphere_add(radius=BALL, segments=48, ring_count=24)
        ball = bpy.context.object
        ball.supple.collider = True
    return cube


def _select(ui: Ui, obj: bpy.types.Object) -> None:
    with ui.context():
        bpy.ops.object.select_all(action="DESELECT")
    obj.select_set(True)
    bpy.context.view_layer.objects.active = obj


def _seen(cube: bpy.types.Object) -> np.ndarray:
    """(V, 3) vertices in the world."""
    evaluated = cube.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([evaluated.matrix_world @ vertex.co for vertex in evaluated.data.vertices])
