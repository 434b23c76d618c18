# SPDX-License-Identifier: GPL-3.0-or-later
"""How deep the inside of an object lies below its surface."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree

from ...core.errors import SuppleError
from ...core.meshing.surface import check_surface, default_edge_length, signed_volume
from ..capture.surfaces import Points, Triangles
from .suited import shape_of

# Rays are sent from no more triangles.
_MAX_RAYS = 2000
# Of the size: where rays begin below the surface.
_BEGIN_RATIO = 1e-5


def inner_depth(context: bpy.types.Context, obj: bpy.types.Object) -> tuple[float, float]:
    """Of the deepest point that is found, and the length of a tetrahedron's edge, in metres.

    0 of what cannot be filled, or has no inside.
    """
    try:
        shape = shape_of(context, obj)
        points, triangles = check_surface(shape.vertices, shape.triangles)
    except SuppleError:
        return 0.0, 0.0
    edge_length = default_edge_length(points, triangles)
    if obj.supple.is_property_set("resolution"):
        edge_length = shape.longest_side / obj.supple.resolution
    return _deepest(points, triangles), edge_length


def _deepest(points: Points, triangles: Triangles) -> float:
    """The largest distance from a surface, of middles between its two sides."""
    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inwards = -normals if signed_volume(points, triangles) > 0.0 else normals
    tree = BVHTree.FromPolygons(points.tolist(), triangles.tolist())
    begin = _BEGIN_RATIO * float(np.ptp(points, axis=0).max())
    deepest = 0.0
    for index in range(0, len(triangles), -(-len(triangles) // _MAX_RAYS)):
        direction = Vector(inwards[index]).normalized()
        place = Vector(corners[index].mean(axis=0)) + begin * direction
        _, normal, _, distance = tree.ray_cast(place, direction)
        # A ray leaves the solid where the surface faces the other way.
        if normal is not None and normal.dot(Vector(normals[index])) < 0.0:
            _, _, _, depth = tree.find_nearest(place + 0.5 * distance * direction)
            deepest = max(deepest, depth)
    return deepest
