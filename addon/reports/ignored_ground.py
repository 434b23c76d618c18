# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders that the ground keeps bodies away from."""

from __future__ import annotations

from collections.abc import Iterator

import bpy
import numpy as np
from numpy.typing import NDArray

from ..capture.motion import transform
from ..capture.objects import shown_colliders
from ..capture.surfaces import vertex_coordinates
from ..units import metres_per_unit

# Of the smallest body, by so much the ground may lie above a collider.
_DEPTH_RATIO = 0.01


def messages(
    context: bpy.types.Context, bodies: list[bpy.types.Object], most_vertices: float
) -> Iterator[str]:
    """One for each collider that is below the ground, and for each open one that goes below: a
    solid that stands in the ground is meant to.

    Args:
        most_vertices: of a mesh that may be looked at now.
    """
    props, unit = context.scene.supple, metres_per_unit(context.scene)
    if not props.use_ground:
        return
    ground = props.ground_height
    reach = ground - _DEPTH_RATIO * min(max(body.dimensions) for body in bodies)
    for obj in shown_colliders(context):
        if obj.type != "MESH" or _box_heights(obj).min() >= reach:
            continue
        lowest, highest, is_open = _extent(context, obj, most_vertices)
        if highest < reach or (is_open and lowest < reach):
            part = "is" if highest < reach else "goes"
            yield (
                f"{obj.name}: the collider {part} below the ground, down to {unit * lowest:.3g} m, "
                f"and bodies land on that first, at {unit * ground:.3g} m. Lower its Height, or "
                "untick Ground, under Scene."
            )


def _box_heights(obj: bpy.types.Object) -> NDArray[np.float64]:
    """(8,) of the corners of its bounding box, in Blender units."""
    return transform(np.array(obj.matrix_world), np.array(obj.bound_box))[:, 2]


def _extent(
    context: bpy.types.Context, obj: bpy.types.Object, most_vertices: float
) -> tuple[float, float, bool]:
    """Its lowest and highest point in Blender units, as Blender shows it now, and whether its
    surface has an edge."""
    depsgraph = context.view_layer.depsgraph
    mesh = None if depsgraph is None else obj.evaluated_get(depsgraph).data
    if mesh is None or len(mesh.vertices) > most_vertices:
        corners = _box_heights(obj)
        return float(corners.min()), float(corners.max()), False
    heights = transform(np.array(obj.matrix_world), vertex_coordinates(mesh))[:, 2]
    edges = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.loops.foreach_get("edge_index", edges)
    is_open = bool((np.bincount(edges, minlength=1) == 1).any())
    return float(heights.min()), float(heights.max()), is_open
