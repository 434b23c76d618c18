# SPDX-License-Identifier: GPL-3.0-or-later
"""A mesh that no other object uses while it is baked, so that shape keys deform one object alone.

The copy knows the mesh that it was made of, and ``give_back`` returns to that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..animated import is_animated, own_curves

# Keys on a copy: the mesh that it was copied from, and a digest of the copy's content then.
_SHARED, _CONTENT = "supple_shared_mesh", "supple_content"
# The name, count and type of an attribute's values.
_VALUES: dict[str, tuple[str, int, type]] = {
    "FLOAT": ("value", 1, np.float32),
    "INT": ("value", 1, np.int32),
    "INT8": ("value", 1, np.int32),
    "BOOLEAN": ("value", 1, np.bool_),
    "FLOAT2": ("vector", 2, np.float32),
    "FLOAT_VECTOR": ("vector", 3, np.float32),
    "FLOAT_COLOR": ("color", 4, np.float32),
    "BYTE_COLOR": ("color", 4, np.float32),
    "INT32_2D": ("value", 2, np.int32),
    "QUATERNION": ("value", 4, np.float32),
}


def give_own_mesh(obj: bpy.types.Object) -> bpy.types.Mesh | None:
    """Copies the mesh of ``obj`` where it is shared or linked; returns that one, else None."""
    shared = obj.data
    if not (_is_linked(shared) or sharing_objects(obj)):
        return None
    obj.data = shared.copy()
    obj.data.name = obj.name
    _copy_action(obj.data.shape_keys)
    return shared


def remember(obj: bpy.types.Object, shared: bpy.types.Mesh) -> None:
    """Record the mesh that the mesh of ``obj`` is a copy of, and its content."""
    obj.data[_SHARED], obj.data[_CONTENT] = shared, _content(obj.data)


def forget(mesh: bpy.types.Mesh) -> None:
    """Make a mesh independent of the one that it was copied from."""
    for key in (_SHARED, _CONTENT):
        if key in mesh:
            del mesh[key]


def shared_mesh(obj: bpy.types.Object) -> bpy.types.Mesh | None:
    """The mesh that the one of ``obj`` was copied from for a bake; None for any other."""
    mesh = obj.data.get(_SHARED) if obj.type == "MESH" else None
    return mesh if isinstance(mesh, bpy.types.Mesh) else None


def give_back(obj: bpy.types.Object) -> None:
    """Lets ``obj`` use the mesh again that its own was copied from, unless its own was edited."""
    shared = shared_mesh(obj)
    if shared is None:
        return
    if _content(obj.data) == obj.data[_CONTENT]:
        take_back(obj, shared)
    else:
        forget(obj.data)


def take_back(obj: bpy.types.Object, shared: bpy.types.Mesh | None) -> None:
    """Undoes ``give_own_mesh``, which returned ``shared``."""
    if shared is None:
        return
    copied, keys = obj.data, obj.data.shape_keys
    action = keys.animation_data.action if keys and keys.animation_data else None
    obj.data = shared
    _follow_library(obj)
    if copied.users == 0:
        bpy.data.meshes.remove(copied)
    if action is not None and action.users == 0:
        bpy.data.actions.remove(action)


def sharing_objects(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """The other objects that have the mesh of ``obj``, but for the one it overrides."""
    if obj.data.users < 2:
        return []
    return [
        other
        for other in bpy.data.objects
        if other.data == obj.data and other != obj and other.is_editable
    ]


def _is_linked(mesh: bpy.types.Mesh) -> bool:
    return not mesh.is_editable or mesh.override_library is not None


def _follow_library(obj: bpy.types.Object) -> None:
    """Lets an override take its mesh from its library again, also another one."""
    overridden = obj.override_library
    if overridden is None or overridden.reference.data != obj.data:
        return
    for changed in [each for each in overridden.properties if each.rna_path == "data"]:
        overridden.properties.remove(changed)


def _copy_action(keys: bpy.types.Key | None) -> None:
    """The copied keys would share the curves, into which a bake writes."""
    data = None if keys is None else keys.animation_data
    if data is None or data.action is None:
        return
    slot = data.action_slot
    data.action = data.action.copy()
    if slot is not None:
        data.action_slot = data.action.slots.get(slot.identifier)


def _content(mesh: bpy.types.Mesh) -> str:
    """Return a digest of the parts of a mesh that a user can edit."""
    hashed = hashlib.blake2b(digest_size=8)
    for part in _parts(mesh):
        hashed.update(part.encode() if isinstance(part, str) else np.asarray(part).tobytes())
    return hashed.hexdigest()


def _parts(mesh: bpy.types.Mesh) -> Iterator[Any]:
    yield repr([material and material.name for material in mesh.materials])
    corners = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    sizes = np.empty(len(mesh.polygons), dtype=np.int32)
    mesh.polygons.foreach_get("loop_total", sizes)
    edges = np.empty(2 * len(mesh.edges), dtype=np.int32)
    mesh.edges.foreach_get("vertices", edges)
    yield from (corners, sizes, edges)
    for attribute in mesh.attributes:
        # Blender's records of selections and the colours of fields are no edits.
        if attribute.name.startswith((".", "Supple ")) or attribute.data_type not in _VALUES:
            continue
        name, count, kind = _VALUES[attribute.data_type]
        values: NDArray[Any] = np.empty(count * len(attribute.data), dtype=kind)
        attribute.data.foreach_get(name, values)
        yield f"{attribute.name} {attribute.domain} {attribute.data_type}"
        yield values
    for index, vertex in enumerate(mesh.vertices):
        for group in vertex.groups:
            yield np.array([index, group.group, group.weight])
    keys = mesh.shape_keys
    if keys is None:
        return
    moving = is_animated(keys)
    for block in keys.key_blocks:
        points = np.empty(3 * len(block.points), dtype=np.float32)
        block.points.foreach_get("co", points)
        yield repr((block.name, block.relative_key.name, block.vertex_group))
        yield repr("" if moving else (block.value, block.mute))
        yield points
    for curve in own_curves(keys):
        yield repr([curve.data_path, *(tuple(point.co) for point in curve.keyframe_points)])
