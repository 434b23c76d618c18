# SPDX-License-Identifier: GPL-3.0-or-later
"""Bakes that are impossible are refused, and an earlier bake stays."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.bake import shape_keys
from supple.core.errors import SuppleError

from .played import START, Positions, assert_plays


@pytest.mark.parametrize("wrong", [(0, 34, 3), (5, 34, 2), (34, 3)])
def test_frames_of_a_wrong_shape_are_refused(obj: bpy.types.Object, wrong: tuple[int, ...]) -> None:
    with pytest.raises(SuppleError, match="no frames"):
        shape_keys.bake(obj, np.zeros(wrong, dtype=np.float32), START)


def test_another_vertex_count_is_refused_in_numbers(
    obj: bpy.types.Object, frames: Positions
) -> None:
    count = len(obj.data.vertices)
    with pytest.raises(SuppleError, match=f"{obj.name} has {count} vertices, but had {count - 1}"):
        shape_keys.bake(obj, frames[:, 1:], START)


def test_a_vertex_that_is_not_finite_is_named_and_an_earlier_bake_kept(
    obj: bpy.types.Object, frames: Positions
) -> None:
    shape_keys.bake(obj, frames, START)
    broken = frames.copy()
    broken[4, 7, 1] = np.nan
    with pytest.raises(SuppleError, match=f"{obj.name}: vertex 7 .* frame 4"):
        shape_keys.bake(obj, broken, START)
    assert_plays(obj, frames)


def test_a_mesh_in_edit_mode_is_refused(obj: bpy.types.Object, frames: Positions) -> None:
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(SuppleError, match="Object Mode"):
        shape_keys.bake(obj, frames, START)


def test_only_meshes_can_be_baked() -> None:
    empty = bpy.data.objects.new("Empty", None)
    assert not shape_keys.has_bake(empty)
    with pytest.raises(SuppleError, match="Empty is not a mesh"):
        shape_keys.bake(empty, np.zeros((1, 1, 3), dtype=np.float32), START)
