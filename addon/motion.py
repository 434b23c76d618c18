# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps a scene through its frames and records where objects and pinned vertices go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from .surfaces import Points, own_shape

Matrices = NDArray[np.float64]
Samples = NDArray[np.float64]

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


class Recording:
    """Numbers of the scene over the frames of a simulation.

    Args:
        read: what they are now, always in the same shape.
        may_change: whether they could differ from one frame to the next. Generous: what then
            stays the same is found out.
    """

    def __init__(self, read: Callable[[bpy.types.Depsgraph], Samples], may_change: bool) -> None:
        self.may_change = may_change
        self._read = read
        self._taken: list[Samples] = []

    def take(self, depsgraph: bpy.types.Depsgraph) -> None:
        if self.may_change or not self._taken:
            self._taken.append(self._read(depsgraph))

    def samples(self) -> Samples:
        """(T, ...) at each frame, T = 1 where they are the same at all."""
        array = np.stack(self._taken)
        return array[:1] if (array == array[0]).all() else array


class MotionRecording:
    """Of an object, and of the vertices of its own mesh that are ``pinned``."""

    def __init__(self, obj: bpy.types.Object, pinned: NDArray[np.int32]) -> None:
        def pins(depsgraph: bpy.types.Depsgraph) -> Points:
            return own_shape(obj, depsgraph)[pinned]

        self._matrices = matrix_recording(obj)
        self._pins = Recording(pins, len(pinned) > 0 and _may_bend(obj))
        self.recordings = [self._matrices, self._pins]

    def motion(self) -> Motion:
        return Motion(self._matrices.samples(), self._pins.samples())


def matrix_recording(obj: bpy.types.Object) -> Recording:
    """(4, 4) object to world in Blender units."""
    return Recording(lambda depsgraph: world_matrix(obj, depsgraph), may_move(obj))


def record(context: bpy.types.Context, recordings: Sequence[Recording], frames: range) -> None:
    """Takes all of them in one pass over the frames: stepping is what costs time."""
    changing = any(recording.may_change for recording in recordings)
    for frame in frames if changing else frames[:1]:
        context.scene.frame_set(frame)
        depsgraph = context.evaluated_depsgraph_get()
        for recording in recordings:
            recording.take(depsgraph)


def world_matrix(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Matrices:
    return np.array(obj.evaluated_get(depsgraph).matrix_world, dtype=np.float64)


def transform(matrix: Matrices, points: Points) -> Points:
    """(V, 3) points through a 4x4 matrix."""
    moved: Points = points @ matrix[:3, :3].T + matrix[:3, 3]
    return moved


def may_move(obj: bpy.types.Object | None) -> bool:
    """Whether anything could move the object. Generous: what then stands still is found out."""
    while obj is not None:
        if is_animated(obj) or len(obj.constraints) > 0 or obj.rigid_body is not None:
            return True
        if obj.parent is not None and obj.parent_type != "OBJECT":
            return True
        obj = obj.parent
    return False


def _may_bend(obj: bpy.types.Object) -> bool:
    return obj.data.shape_keys is not None and is_animated(obj.data.shape_keys)


def is_animated(data_block: bpy.types.ID) -> bool:
    data = data_block.animation_data
    return data is not None and bool(data.action or len(data.drivers) or len(data.nla_tracks))
