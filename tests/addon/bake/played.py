# SPDX-License-Identifier: GPL-3.0-or-later
"""Baked shape keys as Blender evaluates them, and a mesh with keys of its own to bake beside."""

from __future__ import annotations

import bpy
import numpy as np
from numpy.typing import NDArray

Positions = NDArray[np.float32]

START = 10
TOLERANCE = 2e-6


def rest(obj: bpy.types.Object) -> Positions:
    positions = np.empty((len(obj.data.vertices), 3), dtype=np.float32)
    obj.data.vertices.foreach_get("co", positions.ravel())
    return positions


def seen(obj: bpy.types.Object, frame: int, subframe: float = 0.0) -> Positions:
    """The positions at which Blender draws the vertices at a frame."""
    bpy.context.scene.frame_set(frame, subframe=subframe)
    return rest(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()))


def assert_plays(obj: bpy.types.Object, frames: Positions) -> None:
    for index, frame in enumerate(frames):
        np.testing.assert_allclose(seen(obj, START + index), frame, atol=TOLERANCE)


def add_own_keys(obj: bpy.types.Object) -> bpy.types.ShapeKey:
    """Two keys at work: one relative to the other, and limited to a vertex group."""
    group = obj.vertex_groups.new(name="Half")
    group.add(list(range(len(obj.data.vertices) // 2)), 0.5, "REPLACE")
    obj.shape_key_add(name="Basis")
    for name, value in (("Smile", 0.75), ("Wink", 0.5)):
        key = obj.shape_key_add(name=name, from_mix=False)
        shift = np.random.default_rng(len(name)).normal(size=rest(obj).shape)
        key.points.foreach_set("co", (rest(obj) + shift).astype(np.float32).ravel())
        key.value = value
    key.relative_key = obj.data.shape_keys.key_blocks["Smile"]
    key.vertex_group = "Half"
    return key


def move_keys(obj: bpy.types.Object, how: str) -> None:
    """Lets the own key Smile move over the frames."""
    keys = obj.data.shape_keys
    smile = keys.key_blocks["Smile"]
    if how == "driven":
        smile.driver_add("value").driver.expression = "frame / 20"
        return
    for frame, value in ((START, 0.25), (START + 5, 1.0)):
        smile.value = value
        smile.keyframe_insert("value", frame=frame)
    if how == "nla":
        data = keys.animation_data
        action, slot = data.action, data.action_slot
        data.action = None
        data.nla_tracks.new().strips.new("Smiling", START, action).action_slot = slot


def state(obj: bpy.types.Object) -> list[object]:
    """The state of an object that a bake could disturb."""
    keys = obj.data.shape_keys
    found: list[object] = [rest(obj).tolist(), obj.show_only_shape_key, len(bpy.data.actions)]
    if keys is None:
        return found
    data = keys.animation_data
    for block in keys.key_blocks:
        points = np.empty(3 * len(block.points), dtype=np.float32)
        block.points.foreach_get("co", points)
        relative = block.relative_key.name
        found += [block.name, block.value, block.mute, relative, block.frame, points.tolist()]
    paths = [driver.data_path for driver in data.drivers] if data else []
    return [*found, keys.use_relative, obj.active_shape_key.name, data is not None, paths]
