# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones and skin weights that follow the motion of soft bodies, for game engines."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ...core.geometry.skinning import Skinning, fit_bones
from ..bake import key_curves
from ..named import named
from ..steps import Steps
from .copies import Copies, plain_copy, quaternions
from .motion import Motion

# The largest error that needs no advice, as a ratio to the size of a body.
_CLOSE_RATIO = 0.02
# The length of a bone that is drawn, as a ratio to the size of a body.
_LENGTH_RATIO = 0.1


@dataclass(frozen=True)
class _Fitted:
    """The bones of a body; its motion is relative to ``origin`` in the world."""

    motion: Motion
    origin: NDArray[np.float64]
    skinning: Skinning

    def errors(self) -> tuple[float, float]:
        """The root mean square and the largest error, as ratios to the size."""
        errors = self.skinning.errors / self.motion.size()
        return float(np.sqrt((errors**2).mean())), float(errors.max())


class Bones(Copies):
    """A fit of bones to all moving bodies.

    Args:
        context: the context of the scene with the bodies.
        count: the number of bones of each body.
    """

    def __init__(self, context: bpy.types.Context, count: int) -> None:
        self._count = count
        self._fitted: dict[bpy.types.Object, _Fitted] = {}
        super().__init__(context)

    def describe(self) -> str:
        return "Fitting bones to the motion"

    def fit(self, obj: bpy.types.Object, motion: Motion) -> Steps[None]:
        origin = motion.matrices[0, :3, 3]
        points = motion.points - origin
        skinning = yield from fit_bones(points[0], points, self._count)
        self._fitted[obj] = _Fitted(motion, origin, skinning)

    def make(self, context: bpy.types.Context) -> str:
        action = key_curves.new_action(f"{context.scene.name} Bones")
        for obj, fitted in self._fitted.items():
            _make(context, obj, fitted, action)
        errors = [fitted.errors() for fitted in self._fitted.values()]
        mean, largest = max(each[0] for each in errors), max(each[1] for each in errors)
        text = (
            f"Bones follow {named(self.objects)} to {mean:.1%} of its size, {largest:.1%} at most."
        )
        return text if mean <= _CLOSE_RATIO else f"{text} Set more Bones to come closer."


def _make(
    context: bpy.types.Context, obj: bpy.types.Object, fitted: _Fitted, action: bpy.types.Action
) -> None:
    """Make a skinned copy of a body and its armature, and key the bones."""
    skinning, origin = fitted.skinning, fitted.origin
    armature = bpy.data.objects.new(f"{obj.name} Bones", bpy.data.armatures.new(obj.name))
    armature.location = origin
    context.scene.collection.objects.link(armature)
    copy = plain_copy(obj, f"{obj.name} Skinned", fitted.motion)
    points = fitted.motion.points[0] - origin
    squares = skinning.weights**2 + 1e-12
    heads = squares.T @ points / squares.sum(axis=0)[:, None]
    names = _add_bones(context, armature, heads, _LENGTH_RATIO * fitted.motion.size())
    for bone, name in enumerate(names):
        group = copy.vertex_groups.new(name=name)
        for vertex in np.flatnonzero(skinning.weights[:, bone]):
            group.add([int(vertex)], float(skinning.weights[vertex, bone]), "REPLACE")
    copy.parent = armature
    copy.matrix_parent_inverse = Matrix.Translation(origin).inverted()
    modifier = copy.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    copy.modifiers.move(len(copy.modifiers) - 1, 0)
    _key(armature, names, fitted, action)
    copy.select_set(True)
    armature.select_set(True)
    context.view_layer.objects.active = armature


def _add_bones(
    context: bpy.types.Context,
    armature: bpy.types.Object,
    heads: NDArray[np.float64],
    length: float,
) -> list[str]:
    """Add upright bones at (B, 3) heads, and return their names."""
    view_layer = context.view_layer
    view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    for number, head in enumerate(heads):
        bone = armature.data.edit_bones.new(f"Bone {number + 1:02d}")
        bone.head, bone.tail = head, head + np.array([0.0, 0.0, length])
    names = [bone.name for bone in armature.data.edit_bones]
    bpy.ops.object.mode_set(mode="OBJECT")
    return names


def _key(
    armature: bpy.types.Object, names: list[str], fitted: _Fitted, action: bpy.types.Action
) -> None:
    """Key place and turn of each bone at each frame."""
    skinning = fitted.skinning
    channels = key_curves.object_channels(armature, action)
    frames = fitted.motion.start + np.arange(len(skinning.offsets))
    for bone, name in enumerate(names):
        rest = np.array(armature.data.bones[name].matrix_local)
        axes, head = rest[:3, :3], rest[:3, 3]
        rotations, offsets = skinning.rotations[:, bone], skinning.offsets[:, bone]
        places = (rotations @ head + offsets - head) @ axes
        turns = quaternions(axes.T @ rotations @ axes)
        path = f'pose.bones["{name}"]'
        armature.pose.bones[name].rotation_mode = "QUATERNION"
        for values, attribute in ((places, "location"), (turns, "rotation_quaternion")):
            for index, column in enumerate(values.T):
                points = np.column_stack([frames, column])
                key_curves.write_curve(channels, f"{path}.{attribute}", points, index)
