# SPDX-License-Identifier: GPL-3.0-or-later
"""Origin Follows: a baked copy whose object moves, so that its keys are small."""

from __future__ import annotations

import re

import bpy
import numpy as np
import pytest
from mathutils import Vector

from .conftest import LAST, Throw
from .formats import world

FRAMES = range(1, LAST + 1)


@pytest.mark.parametrize("baked", [False, True])
def test_the_copy_moves_as_the_body(thrown: Throw, baked: bool) -> None:
    obj = thrown(baked)
    expected = [world(obj, frame) for frame in FRAMES]
    bpy.ops.supple.move_origins()
    copy = bpy.data.objects["Bar Baked"]
    for frame, points in zip(FRAMES, expected, strict=True):
        np.testing.assert_allclose(world(copy, frame), points, rtol=0, atol=1e-5)
    assert obj.hide_get() and obj.hide_render and not copy.modifiers


def test_the_object_takes_the_rigid_motion_and_the_keys_the_rest(thrown: Throw) -> None:
    obj = thrown()
    expected = [world(obj, frame).mean(axis=0) for frame in FRAMES]
    bpy.ops.supple.move_origins()
    copy = bpy.data.objects["Bar Baked"]
    offsets = []
    for frame, centre in zip(FRAMES, expected, strict=True):
        bpy.context.scene.frame_set(frame)
        offsets.append(copy.matrix_world.inverted() @ Vector(centre))
    np.testing.assert_allclose(offsets, [offsets[0]] * len(offsets), atol=1e-5)
    keys = copy.data.shape_keys.key_blocks
    basis = np.array([tuple(point.co) for point in keys[0].points])
    shapes = np.array([[tuple(point.co) for point in each.points] for each in keys[1:]])
    # They would have to reach more than 2 without.
    assert np.abs(shapes - basis).max() < 0.8


def test_a_free_of_the_body_leaves_the_copy(thrown: Throw) -> None:
    obj = thrown(baked=True)
    expected = world(obj, 6)
    bpy.ops.supple.move_origins()
    bpy.ops.supple.free()
    assert obj.data.shape_keys is None
    np.testing.assert_allclose(world(bpy.data.objects["Bar Baked"], 6), expected, atol=1e-5)


def test_a_sheared_body_is_refused(thrown: Throw) -> None:
    obj = thrown()
    parent = bpy.data.objects.new("Parent", None)
    bpy.context.scene.collection.objects.link(parent)
    parent.scale = (1.0, 1.0, 3.0)
    obj.parent = parent
    with pytest.raises(RuntimeError, match=re.escape("Bar is sheared by its parent.")):
        bpy.ops.supple.move_origins()
    assert "Bar Baked" not in bpy.data.objects
