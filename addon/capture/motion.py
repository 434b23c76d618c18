# SPDX-License-Identifier: GPL-3.0-or-later
"""Step a scene through its frames and record the values that change over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.scene.channel import Channel
from ..animated import animated_settings, is_animated
from ..driving import is_driven
from ..units import exact_float
from .surfaces import Points, driven_coordinates

Matrices = NDArray[np.float64]
Samples = NDArray[np.float64]

# The distance from a straight line as a ratio to the largest coordinate, for rounding in single
# precision.
STRAIGHT_TOLERANCE = 1e-6


@dataclass(frozen=True)
class Motion:
    """The motion of one object over the frames of a simulation.

    Args:
        matrices: channel of (4, 4) object to world in Blender units.
        pins: channel of (P, 3) vertices in the world in Blender units.
    """

    matrices: Channel
    pins: Channel


@contextmanager
def preserved_frame(scene: bpy.types.Scene) -> Iterator[None]:
    """Return to the current frame afterwards. Time Stretching is off meanwhile: it stretches
    playback, and would act twice."""
    frame, subframe, render = scene.frame_current, scene.frame_subframe, scene.render
    stretched = render.frame_map_old, render.frame_map_new
    try:
        if stretched[0] != stretched[1]:
            render.frame_map_old = render.frame_map_new = stretched[0]
        yield
    finally:
        if stretched[0] != stretched[1]:
            render.frame_map_old, render.frame_map_new = stretched
        scene.frame_set(frame, subframe=subframe)


class Recording:
    """Numbers of the scene over the frames of a simulation.

    Args:
        read: a copy of the present numbers, always in the same shape.
        may_change: whether they could differ from one frame to the next. Numbers that turn out
            to be constant may be included.
        per_frame: samples a frame.
    """

    def __init__(
        self, read: Callable[[bpy.types.Depsgraph], Samples], may_change: bool, per_frame: int = 1
    ) -> None:
        self.may_change, self.per_frame = may_change, per_frame
        self._read = read
        self._taken: list[Samples] = []

    def take(self, depsgraph: bpy.types.Depsgraph) -> None:
        if self.may_change or not self._taken:
            self._taken.append(self._read(depsgraph))

    def channel(self) -> Channel:
        """The recorded values as a channel: a constant where all frames agree, and one sample
        per frame where values between frames lie on straight lines."""
        array = np.stack(self._taken)
        if (array == array[0]).all():
            return Channel(array[:1])
        frames = Channel(array[:: self.per_frame])
        if _is_between(array, frames.samples, self.per_frame):
            return frames
        return Channel(array, self.per_frame)


def keyed_settings(obj: bpy.types.Object, row: str = "") -> dict[str, Recording]:
    """Recordings of an object's settings that can be keyed, by name, with numbers as typed.

    Args:
        row: the path of a row of the settings, such as ``attachments[0]``; empty for their own.
    """
    settings = _settings(obj, row).bl_rna.properties
    names = [
        each.identifier
        for each in settings
        if each.is_animatable and each.type in ("FLOAT", "BOOLEAN")
    ]
    return {name: setting_recording(obj, name, row=row) for name in names}


def setting_recording(
    owner: bpy.types.Object | bpy.types.Scene, name: str, per_frame: int = 1, row: str = ""
) -> Recording:
    """A recording of a setting of an object or a scene, with numbers as typed.

    Args:
        row: as ``keyed_settings`` has it.
    """
    is_keyed = (f"{row}.{name}" if row else name) in animated_settings(owner)

    def read(depsgraph: bpy.types.Depsgraph) -> Samples:
        # An evaluated object has a new value only after a tag or an edit.
        source = owner.evaluated_get(depsgraph) if is_keyed else owner
        return np.array(exact_float(getattr(_settings(source, row), name)))

    return Recording(read, is_keyed, per_frame)


def _settings(owner: bpy.types.Object | bpy.types.Scene, row: str) -> bpy.types.PropertyGroup:
    return owner.supple.path_resolve(row) if row else owner.supple


class MotionRecording:
    """A recording of the motion of an object and of its vertices that are pinned or have goals.

    Args:
        obj: the object.
        pins: (P,) indices of those vertices.
        per_frame: samples of them a frame.
    """

    def __init__(self, obj: bpy.types.Object, pins: NDArray[np.int32], per_frame: int) -> None:
        def read(depsgraph: bpy.types.Depsgraph) -> Points:
            local = driven_coordinates(obj, depsgraph)[pins]
            return transform(world_matrix(obj, depsgraph), local)

        may_change = len(pins) > 0 and (may_move(obj) or _may_bend(obj))
        self._matrices = matrix_recording(obj)
        self._pins = Recording(read, may_change, per_frame)
        self.recordings = [self._matrices, self._pins]

    def motion(self) -> Motion:
        return Motion(self._matrices.channel(), self._pins.channel())


def matrix_recording(obj: bpy.types.Object) -> Recording:
    """Record the (4, 4) matrix from object to world in Blender units."""
    return Recording(lambda depsgraph: world_matrix(obj, depsgraph), may_move(obj))


def record(context: bpy.types.Context, recordings: Sequence[Recording], frames: range) -> None:
    """Take all recordings in one pass over the frames, since stepping takes most of the time.

    The recordings with more than a sample a frame have the same number of them.
    """
    changing = [recording for recording in recordings if recording.may_change]
    finer = [recording for recording in changing if recording.per_frame > 1]
    per_frame = finer[0].per_frame if finer else 1
    for frame in frames if changing else frames[:1]:
        context.scene.frame_set(frame)
        _take(context, recordings)
        for part in range(1, per_frame if frame != frames[-1] else 1):
            context.scene.frame_set(frame, subframe=part / per_frame)
            _take(context, finer)


def _take(context: bpy.types.Context, recordings: Sequence[Recording]) -> None:
    depsgraph = context.evaluated_depsgraph_get()
    for recording in recordings:
        recording.take(depsgraph)


def world_matrix(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Matrices:
    return np.array(obj.evaluated_get(depsgraph).matrix_world, dtype=np.float64)


def transform(matrix: Matrices, points: Points) -> Points:
    """Transform (V, 3) points by a 4x4 matrix."""
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def may_move(obj: bpy.types.Object | None) -> bool:
    """Whether anything could move the object. Objects that turn out to stand still may be
    included."""
    while obj is not None:
        if is_animated(obj) or len(obj.constraints) > 0 or obj.rigid_body is not None:
            return True
        if obj.parent is not None and (obj.parent_type != "OBJECT" or _carries(obj.parent)):
            return True
        obj = obj.parent
    return False


def _carries(parent: bpy.types.Object) -> bool:
    """Whether an object is a curve that its children follow."""
    return parent.type == "CURVE" and parent.data.use_path


def _may_bend(obj: bpy.types.Object) -> bool:
    keys = obj.data.shape_keys
    return is_driven(obj) or (keys is not None and is_animated(keys))


def _is_between(finer: Samples, frames: Samples, per_frame: int) -> bool:
    """Whether samples lie on straight lines from frame to frame."""
    tolerance = STRAIGHT_TOLERANCE * float(np.abs(frames).max(initial=0.0))
    parts = np.arange(1, per_frame).reshape(-1, *[1] * (frames.ndim - 1)) / per_frame
    # Frame by frame, since most bent motion is bent from the first frame on.
    for index, (start, end) in enumerate(pairwise(frames)):
        between = finer[index * per_frame + 1 : (index + 1) * per_frame]
        if (np.abs(between - start - parts * (end - start)) > tolerance).any():
            return False
    return True
