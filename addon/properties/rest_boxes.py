# SPDX-License-Identifier: GPL-3.0-or-later
"""Boxes around objects at rest and volumes of their meshes, cheap enough to be drawn."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.meshing.surface import signed_volume
from ..bake import shape_keys
from ..capture.motion import transform
from ..capture.surfaces import Points, vertex_coordinates
from ..modifiers import find_modifier

# Of the box around an open mesh, the part that counts as its volume.
_OPEN_FILL_RATIO = 0.5
# Of that box, the least part that a closed mesh fills.
_MIN_FILL_RATIO = 0.01

# Around meshes and inside them, which takes milliseconds a redraw, by their session_uid.
_boxes: dict[int, Points] = {}
_volumes: dict[int, float] = {}


def forget() -> None:
    """For whenever Blender reports an edit."""
    _boxes.clear()
    _volumes.clear()


def rest_box(obj: bpy.types.Object) -> Points:
    """(8, 3) corners around the object at rest, in the world in Blender units."""
    return transform(np.array(obj.matrix_world), _own_box(obj))


def _own_box(obj: bpy.types.Object) -> Points:
    """(8, 3) corners around the object at rest, in its own space."""
    if len(obj.data.vertices) and (find_modifier(obj) is not None or shape_keys.has_bake(obj)):
        # Blender's box is of the frame that is shown.
        return _mesh_box(obj.data)
    return np.array(obj.bound_box)


def longest_side(obj: bpy.types.Object) -> float:
    """The longest side of the object at rest along its own axes, in Blender units."""
    matrix = np.array(obj.matrix_world)[:3, :3]
    extents = np.ptp(_own_box(obj), axis=0)
    return float((extents * np.linalg.norm(matrix, axis=0)).max())


def mesh_volume(obj: bpy.types.Object) -> float:
    """The volume inside the object's own mesh in the world, in Blender units; half of the box
    around it where the mesh is open."""
    mesh = obj.data
    if mesh.session_uid not in _volumes:
        _volumes[mesh.session_uid] = _volume(mesh)
    return abs(obj.matrix_world.to_3x3().determinant()) * _volumes[mesh.session_uid]


def _mesh_box(mesh: bpy.types.Mesh) -> Points:
    """(8, 3) corners, without modifiers and shape keys."""
    if mesh.session_uid not in _boxes:
        points = vertex_coordinates(mesh)
        low, high = points.min(axis=0), points.max(axis=0)
        corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        _boxes[mesh.session_uid] = low + corners * (high - low)
    return _boxes[mesh.session_uid]


def _volume(mesh: bpy.types.Mesh) -> float:
    mesh.calc_loop_triangles()
    triangles = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
    if len(triangles) == 0:
        return 0.0
    mesh.loop_triangles.foreach_get("vertices", triangles)
    points = vertex_coordinates(mesh)
    inside = abs(signed_volume(points, triangles.reshape(-1, 3)))
    around = float(np.ptp(points, axis=0).prod())
    is_closed = _MIN_FILL_RATIO * around < inside <= around * (1.0 + 1e-6)
    return inside if is_closed else _OPEN_FILL_RATIO * around
