# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that begin on something are at rest in the first frame."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.capture.scene import capture
from supple.addon.panels.start import SUPPLE_PT_start

from .conftest import world_positions
from .layout import drawn

LAST = 6


def standing(scene: bpy.types.Scene, heights: tuple[float, ...]) -> list[bpy.types.Object]:
    """Cubes of 1 m, one above the other, made soft at once."""
    scene.supple.ground_height, scene.frame_end = 0.0, LAST
    cubes = []
    for height in heights:
        bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0, 0, height))
        cubes.append(bpy.context.object)
    for cube in cubes:
        cube.select_set(True)
    bpy.ops.supple.add()
    for cube in cubes:
        cube.supple.resolution = 3
    return cubes


def jump(obj: bpy.types.Object) -> float:
    """The largest distance that a vertex of a body moves after the first frame."""
    first = world_positions(obj, 1)
    path = [world_positions(obj, frame) for frame in range(2, LAST + 1)]
    return max(float(np.linalg.norm(points - first, axis=1).max()) for points in path)


def test_a_body_that_stands_on_the_ground_does_not_jump_at_the_first_frame(scene, solver_here):
    (cube,) = standing(scene, (0.5,))
    bpy.ops.supple.simulate()
    assert jump(cube) < 2e-3
    # The weight presses it down by about a tenth.
    assert 0.85 < world_positions(cube, 1)[:, 2].max() < 0.97
    cube.supple.start_settled = False
    bpy.ops.supple.simulate()
    assert jump(cube) > 0.02
    assert world_positions(cube, 1)[:, 2].max() == pytest.approx(1.0, abs=0.01)


def test_a_stack_of_three_stands_from_the_first_frame(scene, solver_here):
    cubes = standing(scene, (0.5, 1.5, 2.5))
    bpy.ops.supple.simulate()
    for number, cube in enumerate(cubes):
        assert jump(cube) < 5e-3
        points = world_positions(cube, LAST)
        assert np.abs(points[:, :2].mean(axis=0)).max() < 0.02
        assert points[:, 2].mean() > 0.85 * (number + 0.5)


def test_what_starts_in_another_shape_does_not_start_settled(scene):
    (cube,) = standing(scene, (0.5,))
    assert capture(bpy.context).scene.bodies[0].starts_settled
    assert "start_settled" in drawn(SUPPLE_PT_start, cube).settings
    cube.shape_key_add(name="Basis")
    key = cube.shape_key_add(name="Tall", from_mix=False)
    for point in key.points:
        point.co.z *= 1.5
    key.value, cube.supple.start_shape = 1.0, "pose"
    cube.location.z = 2.0
    assert not capture(bpy.context).scene.bodies[0].starts_settled
    assert "start_settled" not in drawn(SUPPLE_PT_start, cube).settings
