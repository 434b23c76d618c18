# SPDX-License-Identifier: GPL-3.0-or-later
"""The poses that an artist has keyed: where an object's own animation has its mesh at its keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import bpy
import numpy as np

from .. import driving
from ..animated import own_curves
from ..bake import shape_keys
from .motion import preserved_frame, transform, world_matrix
from .objects import soft_bodies
from .rest_shape import basis_shown, has_shape_keys
from .surfaces import Points, driven_coordinates, without_supple

# Of what is keyed of an object, what moves or bends it.
_MOVING = (
    *("location", "rotation_", "scale", "delta_"),
    *("modifiers[", "constraints[", "pose.bones["),
)


def keyed_frames(obj: bpy.types.Object) -> list[int]:
    """The frames at which anything that moves or bends an object has keys, ascending.

    Those of the object, of its shape keys, of its parents, and of what bends it, such as an
    armature. A key between two frames counts for the nearer one.
    """
    return sorted({round(point.co.x) for curve in _curves(obj) for point in curve.keyframe_points})


def keyed_poses(context: bpy.types.Context, obj: bpy.types.Object, frames: Sequence[int]) -> Points:
    """(K, V, 3) of the object's own mesh at frames, in the world, in Blender units."""
    bodies, found = soft_bodies(context), []
    with preserved_frame(context.scene), without_supple(bodies), basis_shown(bodies):
        context.scene.frame_set(frames[0])
        with driving.without_refiners([obj]):
            for frame in frames:
                context.scene.frame_set(frame)
                depsgraph = context.evaluated_depsgraph_get()
                local = driven_coordinates(obj, depsgraph)
                found.append(transform(world_matrix(obj, depsgraph), local))
    return np.stack(found)


def _curves(obj: bpy.types.Object) -> Iterator[bpy.types.FCurve]:
    for owner in _movers(obj):
        yield from (curve for curve in own_curves(owner) if curve.data_path.startswith(_MOVING))
    keys = obj.data.shape_keys
    if keys is None or has_shape_keys(obj):
        return
    baked = {"eval_time"} if shape_keys.has_bake(obj) else set()
    baked |= {k.path_from_id("value") for k in keys.key_blocks if shape_keys.is_supple_key(k)}
    yield from (curve for curve in own_curves(keys) if curve.data_path not in baked)


def _movers(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """It, what bends it, and all their parents; each once."""
    bending = [getattr(modifier, "object", None) for modifier in driving.drivers(obj)]
    found: list[bpy.types.Object] = []
    for each in (obj, *bending):
        while each is not None and each not in found:
            found.append(each)
            each = each.parent
    return found
