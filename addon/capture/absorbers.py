# SPDX-License-Identifier: GPL-3.0-or-later
"""What absorbs Blender's force fields, as soft bodies feel them."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.scene.absorber import Absorber
from ..animated import animated_paths
from ..units import exact_float
from .force_fields import acts
from .mesh_colliders import MeshCollider
from .motion import Recording
from .objects import is_soft_body

#: Of what an object absorbs, as keys have it.
ABSORPTION = "collision.absorption"


def absorbers(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The objects of the view layer that absorb a field, by name; none where no field that acts
    is absorbed."""
    scene, objects = context.scene, context.view_layer.objects
    if not any(is_absorbed(scene, obj) for obj in objects):
        return []
    found = [obj for obj in objects if absorbs(obj) and obj.visible_get()]
    return sorted(found, key=lambda obj: obj.name)


def is_absorbed(scene: bpy.types.Scene, obj: bpy.types.Object) -> bool:
    """Whether an object has a force field that acts, and can be absorbed."""
    return acts(scene, obj) and bool(obj.field.use_absorption)


def absorbs(obj: bpy.types.Object) -> bool:
    """Whether an object has Blender's Collision with a *Field Absorption* that is above 0 or
    animated. That of a soft body does not count."""
    return has_absorption(obj) and not is_soft_body(obj)


def has_absorption(obj: bpy.types.Object) -> bool:
    """Whether it would absorb were it no soft body."""
    collision = obj.collision
    if collision is None or not collision.use:
        return False
    return collision.absorption > 0.0 or has_keyed_absorption(obj)


def has_keyed_absorption(obj: bpy.types.Object) -> bool:
    """Whether it may be another one in every frame."""
    return ABSORPTION in animated_paths(obj)


class AbsorberRecording:
    """What absorbs, and what is recorded of it over the frames.

    Args:
        obj: the object.
        depsgraph: at the first of the frames.
        unit: metres in a Blender unit.

    Raises:
        CaptureError: when it has no faces.
    """

    def __init__(self, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, unit: float) -> None:
        role, cure = "an absorber", "set its Field Absorption to 0"
        self._mesh = MeshCollider(obj, depsgraph, unit, role, cure)
        self._absorption = Recording(
            lambda now: np.array(exact_float(obj.evaluated_get(now).collision.absorption)),
            has_keyed_absorption(obj),
        )
        self.recordings = [self._mesh.recording, self._absorption]

    def described(self) -> Absorber:
        """What the solver gets, once all frames were recorded.

        Raises:
            CaptureError: when its settings make no sense.
        """
        mesh = self._mesh.described()
        return Absorber(mesh.vertices, mesh.triangles, self._absorption.channel(), mesh.name)
