# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps a scene through its frames and reads where objects and pinned vertices go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from .surfaces import Points, own_shape

Matrices = NDArray[np.float64]

#: Of an object without pins.
NO_PINS: NDArray[np.int32] = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class Motion:
    """Of one object over the frames of a simulation.

    Args:
        matrices: (T, 4, 4) object to world in Blender units, T = 1 where it stands still.
        pins: (T, P, 3) pinned vertices in its own space, T = 1 where they keep their place in it.
    """

    matrices: Matrices
    pins: Points

    def pin_path(self) -> Points | None:
        """(T, P, 3) pinned vertices in the world in Blender units; None when they stay put."""
        if len(self.matrices) == len(self.pins) == 1 or self.pins.shape[1] == 0:
            return None
        turned = self.pins @ self.matrices[:, :3, :3].swapaxes(1, 2)
        path: Points = turned + self.matrices[:, None, :3, 3]
        return path


@contextmanager
def frame_kept(scene: bpy.types.Scene) -> Iterator[None]:
    """Returns to the current frame afterwards."""
    frame, subframe = scene.frame_current, scene.frame_subframe
    try:
        yield
    finally:
        scene.frame_set(frame, subframe=subframe)


def follow(
    context: bpy.types.Context,
    objects: Sequence[bpy.types.Object],
    pinned: Sequence[NDArray[np.int32]],
    frames: range,
) -> list[Motion]:
    """The motion of each object, and of the vertices of its own mesh that are ``pinned``."""
    matrices: list[list[Matrices]] = [[] for _ in objects]
    pins: list[list[Points]] = [[] for _ in objects]
    moves = [may_move(obj) for obj in objects]
    bends = [
        len(vertices) > 0 and _may_bend(obj) for obj, vertices in zip(objects, pinned, strict=True)
    ]
    stepped = frames if any(moves) or any(bends) else frames[:1]
    for frame in stepped:
        context.scene.frame_set(frame)
        depsgraph = context.evaluated_depsgraph_get()
        for k, obj in enumerate(objects):
            if moves[k] or frame == frames[0]:
                matrices[k].append(world_matrix(obj, depsgraph))
            if bends[k] or frame == frames[0]:
                pins[k].append(_pinned_points(obj, depsgraph, pinned[k]))
    return [Motion(_one_if_still(m), _one_if_still(p)) for m, p in zip(matrices, pins, strict=True)]


def _pinned_points(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, pinned: NDArray[np.int32]
) -> Points:
    # Not every object has vertices.
    return own_shape(obj, depsgraph)[pinned] if len(pinned) else np.empty((0, 3))


def world_matrix(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Matrices:
    return np.array(obj.evaluated_get(depsgraph).matrix_world, dtype=np.float64)


def transform(matrix: Matrices, points: Points) -> Points:
    """(V, 3) points through a 4x4 matrix."""
    moved: Points = points @ matrix[:3, :3].T + matrix[:3, 3]
    return moved


def _one_if_still(samples: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    array = np.stack(samples)
    return array[:1] if (array == array[0]).all() else array


def may_move(obj: bpy.types.Object | None) -> bool:
    """Whether anything could move the object. Generous: what then stands still is found out."""
    while obj is not None:
        if _is_animated(obj) or len(obj.constraints) > 0 or obj.rigid_body is not None:
            return True
        if obj.parent is not None and obj.parent_type != "OBJECT":
            return True
        obj = obj.parent
    return False


def _may_bend(obj: bpy.types.Object) -> bool:
    return obj.data.shape_keys is not None and _is_animated(obj.data.shape_keys)


def _is_animated(data_block: bpy.types.ID) -> bool:
    data = data_block.animation_data
    return data is not None and bool(data.action or len(data.drivers) or len(data.nla_tracks))
