# SPDX-License-Identifier: GPL-3.0-or-later
"""Forces or pin motion that bring a body through its keys, kept as a mesh, and its keyed poses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import bpy
import numpy as np

from ...core.scene.channel import Channel
from ...core.scene.rest_shape import ControlKind, TetControl
from .. import driving
from ..animated import own_curves
from ..bake import shape_keys
from ..new_mesh import new_mesh
from .motion import Matrices, preserved_frame, transform, world_matrix
from .objects import soft_bodies
from .rest_shape import basis_shown, has_shape_keys
from .surfaces import (
    Points,
    corner_vertices,
    driven_coordinates,
    vertex_coordinates,
    without_supple,
)

_BY, _FRAME = "supple_by", "control "


def keep(obj: bpy.types.Object, control: TetControl, matrix: Matrices, unit: float) -> None:
    """Lets a body be driven from now on.

    Args:
        matrix: (4, 4) object to world when that was captured, in Blender units.
        unit: metres in a Blender unit.
    """
    inverse = np.linalg.inv(matrix)
    vertices = transform(inverse, control.vertices / unit)
    mesh = new_mesh(f"{obj.name} follows its keys", vertices, control.tets)
    for frame, sample in enumerate(control.channel.samples):
        places = sample / unit @ inverse[:3, :3].T
        attribute = mesh.attributes.new(f"{_FRAME}{frame}", "FLOAT_VECTOR", "POINT")
        attribute.data.foreach_set("vector", places.astype(np.float32).ravel())
    mesh[_BY] = control.by
    obj.supple.kept_control = mesh


def kept_by(obj: bpy.types.Object) -> str:
    """``forces`` or ``pins``, by which a body follows its keys; empty where by neither."""
    mesh = obj.supple.kept_control
    by = "" if mesh is None else str(mesh.get(_BY, ""))
    return by if by and f"{_FRAME}0" in mesh.attributes else ""


def acts(obj: bpy.types.Object) -> bool:
    """Whether the body is driven: missing pins cannot move."""
    by = kept_by(obj)
    return by == "forces" or (by == "pins" and bool(obj.supple.pin_group))


def kept_control(obj: bpy.types.Object, matrix: Matrices, unit: float) -> TetControl | None:
    """Return the control that a body keeps; None for none. Arguments as of ``keep``."""
    if not acts(obj):
        return None
    mesh = obj.supple.kept_control
    by: ControlKind = "pins" if kept_by(obj) == "pins" else "forces"
    vertices = unit * transform(matrix, vertex_coordinates(mesh))
    samples = unit * _samples(mesh) @ matrix[:3, :3].T
    return TetControl(vertices, corner_vertices(mesh).reshape(-1, 4), by, Channel(samples))


def remove(obj: bpy.types.Object) -> None:
    """Lets a body be driven no more."""
    obj.supple.kept_control = None


def values(obj: bpy.types.Object) -> list[Points]:
    """The arrays of a kept control; empty where there is none."""
    mesh = obj.supple.kept_control
    return [vertex_coordinates(mesh), _samples(mesh)] if acts(obj) else []


def _samples(mesh: bpy.types.Mesh) -> Points:
    """Return (T, N, 3) samples as they are kept."""
    count = sum(attribute.name.startswith(_FRAME) for attribute in mesh.attributes)
    values = np.empty((count, 3 * len(mesh.vertices)), dtype=np.float32)
    for frame, row in enumerate(values):
        mesh.attributes[f"{_FRAME}{frame}"].data.foreach_get("vector", row)
    return values.reshape(count, -1, 3).astype(np.float64)


# The begins of the data paths that move or bend an object.
_MOVING = (
    *("location", "rotation_", "scale", "delta_"),
    *("modifiers[", "constraints[", "pose.bones["),
)


def keyed_frames(obj: bpy.types.Object) -> list[int]:
    """Return the frames at which anything that moves or bends an object has keys, ascending.

    The keys of the object, its shape keys, its parents, and the objects that bend it, such as an
    armature. A key between two frames counts for the nearer one.
    """
    return sorted({round(point.co.x) for curve in _curves(obj) for point in curve.keyframe_points})


def keyed_poses(context: bpy.types.Context, obj: bpy.types.Object, frames: Sequence[int]) -> Points:
    """Return (K, V, 3) vertices of the object's own mesh at frames, in the world, in Blender
    units."""
    bodies, poses = soft_bodies(context), []
    with preserved_frame(context.scene), without_supple(bodies), basis_shown(bodies):
        context.scene.frame_set(frames[0])
        with driving.without_refiners([obj]):
            for frame in frames:
                context.scene.frame_set(frame)
                depsgraph = context.evaluated_depsgraph_get()
                local = driven_coordinates(obj, depsgraph)
                poses.append(transform(world_matrix(obj, depsgraph), local))
    return np.stack(poses)


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
    """Return the object, the objects that bend it, and all their parents, each once."""
    bending = [getattr(modifier, "object", None) for modifier in driving.drivers(obj)]
    carriers: list[bpy.types.Object] = []
    for each in (obj, *bending):
        while each is not None and each not in carriers:
            carriers.append(each)
            each = each.parent
    return carriers
