# SPDX-License-Identifier: GPL-3.0-or-later
"""The first press of Simulate on meshes as Blender adds them."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.capture.surfaces import Points

from ..conftest import world_positions

SECOND = 25  # the frame a second after the first


def rigid_distance(points: Points, moved: Points) -> float:
    """The largest distance of points (V, 3) from where the rigid motion that comes closest takes
    them."""
    centred, around = points - points.mean(axis=0), moved - moved.mean(axis=0)
    left, _, right = np.linalg.svd(centred.T @ around)
    handed = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
    return float(np.linalg.norm(centred @ left @ handed @ right - around, axis=1).max())


def affine_distance(points: Points, moved: Points) -> float:
    """The deformation of the closest affine map, which is all that eight corners show."""
    basis = np.column_stack([points, np.ones(len(points))])
    best, *_ = np.linalg.lstsq(basis, moved, rcond=None)
    return float(np.linalg.norm(basis @ best - moved, axis=1).max())


@pytest.mark.parametrize(
    "add", [bpy.ops.mesh.primitive_cube_add, bpy.ops.mesh.primitive_monkey_add]
)
def test_one_press_shows_a_mesh_fall_and_bend_within_a_second(scene, solver_here, add):
    scene.supple.ground_height, scene.frame_end = 0.0, SECOND
    add()
    obj = bpy.context.object
    assert bpy.ops.supple.simulate() == {"FINISHED"}
    start, size = world_positions(obj, 1), 2.0
    path = [world_positions(obj, frame) for frame in range(2, SECOND + 1)]
    falling = [start[:, 2].mean() - points[:, 2].mean() for points in path]
    assert max(falling) > 0.5 * size
    assert max(rigid_distance(start, points) for points in path) > 0.1 * size
    assert max(affine_distance(start, points) for points in path) > 0.02 * size
    lowest = min(points[:, 2].min() for points in path)
    assert lowest == pytest.approx(scene.supple.ground_height, abs=0.01 * size)


def test_a_coarse_mesh_is_subdivided_before_it_is_simulated(scene, solver_here):
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    cube = bpy.context.object
    bpy.ops.supple.simulate()
    points = np.array([vertex.co for vertex in cube.data.vertices])
    assert len(points) > 500
    np.testing.assert_allclose(np.abs(points).max(axis=1), 0.5, atol=1e-6)


@pytest.mark.parametrize("case", ["refused", "modifier", "shared"])
def test_a_coarse_mesh_stays_where_more_would_change_or_nobody_wants_it(scene, solver_here, case):
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    cube = bpy.context.object
    if case == "modifier":
        cube.modifiers.new("Bevel", "BEVEL")
    elif case == "shared":
        scene.collection.objects.link(bpy.data.objects.new("Other", cube.data))
    bpy.ops.supple.simulate(subdivide=case != "refused")
    assert len(cube.data.vertices) == 8
