# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins and goals of vertices that a modifier removes from the solid."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from ...core.geometry.winding_number import winding_number
from .. import driving
from ..deforming import keeps_vertices
from .body import Shape
from .captured import CaptureError
from .pins import Pins
from .surfaces import Points

# Of the longest edge at a vertex. Subdivision takes the corner of a cube away by 0.43 of it.
_REACH_RATIO = 0.75


def check_pins(
    context: bpy.types.Context, obj: bpy.types.Object, pins: Pins, shape: Shape, unit: float
) -> None:
    """
    Args:
        shape: of the object at the present frame.
        unit: metres in a Blender unit.

    Raises:
        CaptureError: when a vertex that has a weight in the pin group is not in the solid.
    """
    changing = [
        modifier
        for modifier in driving.refiners(obj)
        if modifier.show_viewport and not keeps_vertices(modifier)
    ]
    # What jiggles does so with all vertices, hidden ones as well.
    if not changing or not obj.supple.pin_group or obj.supple.jiggle_group:
        return
    reach = _reaches(obj, shape.points)[pins.vertices]
    lost = pins.vertices[_is_outside(shape.points[pins.vertices], reach, shape)]
    culprit = _culprit(context, obj, lost, reach[np.isin(pins.vertices, lost)], unit, changing)
    if culprit:
        others = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        raise CaptureError(
            f"{obj.name}: vertex {lost[0]}{others} has a weight in the group "
            f"{obj.supple.pin_group!r} to pin, and the modifier {culprit} leaves no solid where it "
            "is. Take it out of the group, or change or apply the modifier."
        )


def _reaches(obj: bpy.types.Object, points: Points) -> Points:
    """(V,) how far from each vertex the solid may be; without end from those in no edge."""
    edges = np.empty(2 * len(obj.data.edges), dtype=np.int32)
    obj.data.edges.foreach_get("vertices", edges)
    ends = edges.reshape(-1, 2)
    lengths = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    longest = np.zeros(len(points))
    np.maximum.at(longest, ends, lengths[:, None])
    return np.where(longest > 0.0, _REACH_RATIO * longest, np.inf)


def _is_outside(points: Points, reach: Points, shape: Shape) -> NDArray[np.bool_]:
    """(P,) whether points lie outside of a surface, farther from it than they may."""
    tree = BVHTree.FromPolygons(shape.vertices.tolist(), shape.triangles.tolist())
    distances = np.array([tree.find_nearest(point)[3] for point in points.tolist()])
    far = distances > reach
    if far.any():
        inside = np.abs(winding_number(points[far], shape.vertices, shape.triangles)) > 0.5
        far[far] = ~inside
    return far


def _culprit(
    context: bpy.types.Context,
    obj: bpy.types.Object,
    lost: NDArray[np.int32],
    reach: Points,
    unit: float,
    changing: list[bpy.types.Modifier],
) -> str:
    """The name of the first of the modifiers without which none of the vertices is lost; empty
    where they are lost without any, or where there are none."""
    if len(lost) == 0:
        return ""
    try:
        for modifier in reversed(changing):
            modifier.show_viewport = False
            shape = Shape.read(context, obj, unit)
            if not _is_outside(shape.points[lost], reach, shape).any():
                return str(modifier.name)
    finally:
        for modifier in changing:
            modifier.show_viewport = True
    return ""
