# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps a scene through its frames and records what changes over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.scene.channel import Channel
from ..animated import animated_settings, is_animated
from ..units import exact_float
from .surfaces import Points, base_coordinates

Matrices = NDArray[np.float64]
Samples = NDArray[np.float64]

#: Of an object without pins.
NO_PINS: NDArray[np.int32] = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class Motion:
    """Of one object over the frames of a simulation.

    Args:
        matrices: channel of (4, 4) object to world in Blender units.
        pins: channel of (P, 3) pinned vertices in its own space.
    """

    matrices: Channel
    pins: Channel

    def pin_path(self, unit: float) -> Channel | None:
        """Of (P, 3) pinned vertices in the world in metres; None when they stay put.

        Args:
            unit: metres in a Blender unit.
        """
        matrices, pins = self.matrices.samples, self.pins.samples
        if len(matrices) == len(pins) == 1 or pins.shape[1] == 0:
            return None
        turned = pins @ matrices[:, :3, :3].swapaxes(1, 2)
        return Channel(unit * (turned + matrices[:, None, :3, 3]))


@contextmanager
def preserved_frame(scene: bpy.types.Scene) -> Iterator[None]:
    """Returns to the current frame afterwards."""
    frame, subframe = scene.frame_current, scene.frame_subframe
    try:
        yield
    finally:
        scene.frame_set(frame, subframe=subframe)


class Recording:
    """Numbers of the scene over the frames of a simulation.

    Args:
        read: what they are now, always in the same shape; a copy.
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

    def channel(self) -> Channel:
        """Of what was read, a constant where it is the same at all frames."""
        array = np.stack(self._taken)
        return Channel(array[:1] if (array == array[0]).all() else array)


def keyed_settings(obj: bpy.types.Object) -> dict[str, Recording]:
    """Those of an object that can be keyed, by name, as they were typed."""
    settings = obj.supple.bl_rna.properties
    names = [each.identifier for each in settings if each.is_animatable and each.type == "FLOAT"]
    return {name: _setting_recording(obj, name) for name in names}


def _setting_recording(obj: bpy.types.Object, name: str) -> Recording:
    is_keyed = name in animated_settings(obj)

    def read(depsgraph: bpy.types.Depsgraph) -> Samples:
        # A value that was set is in the evaluated object only once something tells Blender.
        source = obj.evaluated_get(depsgraph) if is_keyed else obj
        return np.array(exact_float(getattr(source.supple, name)))

    return Recording(read, is_keyed)


class MotionRecording:
    """Of an object, and of the vertices of its own mesh that are ``pinned``."""

    def __init__(self, obj: bpy.types.Object, pinned: NDArray[np.int32]) -> None:
        def pins(depsgraph: bpy.types.Depsgraph) -> Points:
            return base_coordinates(obj, depsgraph)[pinned]

        self._matrices = matrix_recording(obj)
        self._pins = Recording(pins, len(pinned) > 0 and _may_bend(obj))
        self.recordings = [self._matrices, self._pins]

    def motion(self) -> Motion:
        return Motion(self._matrices.channel(), self._pins.channel())


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
