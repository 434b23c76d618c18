# SPDX-License-Identifier: GPL-3.0-or-later
"""Baked copies whose origins follow the rigid motion of soft bodies, so that the keys are small."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.geometry.rigid_fit import rigid_fits
from ..bake import key_curves, shape_keys
from ..named import named
from ..steps import Steps
from .copies import Copies, plain_copy, quaternions
from .motion import Motion, into


@dataclass(frozen=True)
class _Followed:
    """The place of the origin in each frame, and the vertices beside it.

    Args:
        motion: of the body.
        matrices: (F, 4, 4) of the copy.
        points: (F, V, 3) in the space of the copy.
    """

    motion: Motion
    matrices: NDArray[np.float64]
    points: NDArray[np.float64]


class MovingOrigins(Copies):
    """Baked copies of all moving bodies, with keyed origins.

    Args:
        context: the context of the scene with the bodies.
    """

    def __init__(self, context: bpy.types.Context) -> None:
        self._followed: dict[bpy.types.Object, _Followed] = {}
        super().__init__(context)

    def describe(self) -> str:
        return "Separating motion and deformation"

    def fit(self, obj: bpy.types.Object, motion: Motion) -> Steps[None]:
        yield 0.0
        rigid = np.tile(np.eye(4), (len(motion.points), 1, 1))
        rigid[:, :3, :3], rigid[:, :3, 3] = rigid_fits(motion.points[0], motion.points)
        matrices = rigid @ motion.matrices[0]
        points = np.stack([into(*each) for each in zip(matrices, motion.points, strict=True)])
        self._followed[obj] = _Followed(motion, matrices, points)

    def make(self, context: bpy.types.Context) -> str:
        action = key_curves.new_action(f"{context.scene.name} Moving Origins")
        ratios = [_make(obj, each, action) for obj, each in self._followed.items()]
        return (
            f"The origins of {named(self.objects)} follow the motion. The keys move vertices by "
            f"{max(ratios):.1%} of the size at most."
        )


def _make(obj: bpy.types.Object, followed: _Followed, action: bpy.types.Action) -> float:
    """Make the copy of a body, and return the largest way of a key, as a ratio to the size."""
    motion = followed.motion
    copy = plain_copy(obj, f"{obj.name} Baked", motion)
    copy.shape_key_add(name="Basis", from_mix=False)
    frames = list(range(motion.start, motion.start + len(followed.points)))
    blocks = [
        shape_keys.add_block(copy, f"{shape_keys.PREFIX} {frame:04d}", points)
        for frame, points in zip(frames, followed.points, strict=True)
    ]
    key_curves.write_values(copy.data.shape_keys, blocks, frames, action)
    channels = key_curves.object_channels(copy, action)
    turns = quaternions(followed.matrices)
    for values, path in ((followed.matrices[:, :3, 3], "location"), (turns, "rotation_quaternion")):
        for index, column in enumerate(values.T):
            key_curves.write_curve(channels, path, np.column_stack([frames, column]), index)
    copy.select_set(True)
    largest = np.linalg.norm(followed.points - followed.points[0], axis=2).max()
    extent = np.linalg.norm(np.ptp(followed.points[0], axis=0))
    return float(largest / extent)
