# SPDX-License-Identifier: GPL-3.0-or-later
"""Copies of soft bodies as plain meshes, which other programs can read."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...core.errors import SuppleError
from .. import driving
from ..bake import own_mesh
from ..modifiers import find_smooth
from ..named import named
from ..playback import fields
from ..runs import SteppedWork
from ..steps import Steps, scaled
from .motion import Motion, into, moving_bodies, sampled, why_none

# The share of the progress that reading the motion takes.
_READING_SHARE = 0.3


class Copies(SteppedWork):
    """Work that makes a plain copy of each moving body. Nothing changes before the last step.

    Args:
        context: the context of the scene with the bodies.

    Raises:
        SuppleError: when no body moves.
    """

    cancelling = "Press Esc to cancel. Nothing is made then."
    cancelled = "Cancelled. Nothing was made."

    def __init__(self, context: bpy.types.Context) -> None:
        self.objects = moving_bodies(context)
        if reason := why_none(context):
            raise SuppleError(reason)
        self._steps = self._work(context)

    def fit(self, obj: bpy.types.Object, motion: Motion) -> Steps[None]:
        """Prepare the copy of a body."""
        raise NotImplementedError

    def make(self, context: bpy.types.Context) -> str:
        """Make all copies and return the message for the user."""
        raise NotImplementedError

    def describe(self) -> str:
        """The activity for the status bar."""
        raise NotImplementedError

    def finish(self, context: bpy.types.Context) -> str:
        message = self.make(context)
        for obj in self.objects:
            obj.hide_set(True)
            obj.hide_render = True
        return f"{message} Hidden: {named(self.objects)}."

    def _work(self, context: bpy.types.Context) -> Steps[None]:
        motions = yield from scaled(sampled(context, self.objects), _READING_SHARE)
        share = (1.0 - _READING_SHARE) / len(motions)
        for index, (obj, motion) in enumerate(motions.items()):
            _check_sheared(obj, motion)
            yield from scaled(self.fit(obj, motion), share, _READING_SHARE + index * share)


def plain_copy(obj: bpy.types.Object, name: str, motion: Motion) -> bpy.types.Object:
    """Copy a body as it is in the first frame of its motion, with the modifiers that refine it."""
    smooth = find_smooth(obj)
    refining_names = {each.name for each in (*driving.refiners(obj), *([smooth] if smooth else []))}
    copy = obj.copy()
    copy.data = obj.data.copy()
    copy.name = copy.data.name = name
    for collection in obj.users_collection:
        collection.objects.link(copy)
    fields.hide(copy)
    for modifier in reversed(copy.modifiers):
        if modifier.name not in refining_names:
            copy.modifiers.remove(modifier)
    if copy.data.shape_keys is not None:
        copy.shape_key_clear()
    own_mesh.forget(copy.data)
    if driving.RECORD in copy:
        del copy[driving.RECORD]
    copy.animation_data_clear()
    copy.constraints.clear()
    copy.supple.enabled = copy.supple.collider = False
    copy.parent, copy.rotation_mode = None, "QUATERNION"
    copy.delta_location, copy.delta_scale = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
    copy.delta_rotation_euler, copy.delta_rotation_quaternion = (0, 0, 0), (1, 0, 0, 0)
    copy.matrix_basis = Matrix(motion.matrices[0])
    points = into(motion.matrices[0], motion.points[0])
    copy.data.vertices.foreach_set("co", points.astype(np.float32).ravel())
    copy.data.update()
    return copy


def quaternions(rotations: NDArray[np.float64]) -> NDArray[np.float64]:
    """(F, 4) quaternions of (F, 3, 3) or (F, 4, 4) matrices, without jumps from one to the next."""
    turns = np.array([Matrix(each).to_4x4().decompose()[1] for each in rotations])
    flips = np.where((turns[1:] * turns[:-1]).sum(axis=1) < 0.0, -1.0, 1.0)
    turns[1:] *= np.cumprod(flips)[:, None]
    return turns


def _check_sheared(obj: bpy.types.Object, motion: Motion) -> None:
    matrix = Matrix(motion.matrices[0])
    plain = Matrix.LocRotScale(*matrix.decompose())
    if not np.allclose(plain, matrix, rtol=0.0, atol=1e-5 * motion.size()):
        raise SuppleError(
            f"{obj.name} is sheared by its parent. Choose Object › Apply › All Transforms first."
        )
