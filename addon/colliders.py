# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects that soft bodies land on: so far those that are spheres and stand still."""

from __future__ import annotations

import bpy
import numpy as np

from ..core.contact_settings import Collider
from ..core.errors import SceneError
from ..core.scene import Sphere
from .captured import CaptureError
from .motion import NO_PINS, follow, transform, world_matrix
from .surfaces import Points, coordinates
from .units import exact

# The largest extent may be longer than the smallest by this share. The coarse icosphere that
# Blender offers first has 5 %, turned ones less.
UNEVEN = 0.1
# So far from the sphere a vertex may lie, in radii.
OFF_SPHERE = 0.05


def can_collide(obj: bpy.types.Object | None) -> bool:
    """Whether the object is of a kind that soft bodies can land on."""
    if obj is None or obj.supple.is_preview:
        return False
    if obj.type == "MESH":
        return not obj.supple.enabled
    return obj.type == "EMPTY" and obj.empty_display_type == "SPHERE"


def capture_colliders(
    context: bpy.types.Context, frames: range, unit: float
) -> list[Sphere | Collider]:
    """The colliders of the view layer, in the order of their names; hidden ones do not count.

    Args:
        context: at the first of the frames.
        frames: over which they have to stand still.
        unit: metres in a Blender unit.

    Raises:
        CaptureError: when one moves or is not a sphere.
    """
    found = [obj for obj in context.view_layer.objects if can_collide(obj) and obj.supple.collider]
    shown = sorted((obj for obj in found if obj.visible_get()), key=lambda obj: obj.name)
    depsgraph = context.evaluated_depsgraph_get()
    spheres: list[Sphere | Collider] = [_sphere(obj, depsgraph, unit) for obj in shown]
    for obj, motion in zip(
        shown, follow(context, shown, [NO_PINS] * len(shown), frames), strict=True
    ):
        if len(motion.matrices) > 1:
            raise CaptureError(
                f"{obj.name} is animated; only still spheres can be colliders so far. Clear its "
                "animation, or untick Collider."
            )
    return spheres


def _sphere(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, unit: float) -> Sphere:
    fit = _fit_empty if obj.type == "EMPTY" else _fit_mesh
    center, radius = fit(obj, depsgraph)
    x, y, z = (float(unit * part) for part in center)
    own = obj.supple
    try:
        return Sphere(
            (x, y, z),
            unit * radius,
            exact(own.collider_friction),
            exact(own.collider_restitution),
            exact(own.collider_penalty),
            obj.name,
        )
    except SceneError as error:
        raise CaptureError(str(error)) from error


def _fit_empty(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> tuple[Points, float]:
    """Center and radius of the sphere that is drawn, in Blender units."""
    matrix = world_matrix(obj, depsgraph)
    _check_finite(obj, matrix)
    axes = np.linalg.svd(matrix[:3, :3], compute_uv=False)
    if axes[0] > (1.0 + OFF_SPHERE) * axes[-1]:
        raise CaptureError(_uneven(obj, 2.0 * obj.empty_display_size * axes))
    return matrix[:3, 3], float(obj.empty_display_size * axes[0])


def _fit_mesh(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> tuple[Points, float]:
    """Center of the bounding box and distance of the farthest vertex, in Blender units."""
    points = _evaluated_points(obj, depsgraph)
    if len(points) == 0:
        raise CaptureError(f"{obj.name} has no vertices; it cannot be a collider.")
    _check_finite(obj, points)
    extents = np.ptp(points, axis=0)
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    distances = np.linalg.norm(points - center, axis=1)
    radius = float(distances.max())
    if extents.max() > (1.0 + UNEVEN) * extents.min():
        raise CaptureError(_uneven(obj, extents))
    if distances.min() < (1.0 - OFF_SPHERE) * radius:
        raise CaptureError(
            f"{obj.name} is not a sphere: a vertex lies {1.0 - distances.min() / radius:.0%} of "
            "the radius inside the one around it. Only spheres can be colliders so far; use one, "
            "or untick Collider."
        )
    return center, radius


def _evaluated_points(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> Points:
    """(V, 3) vertices of the mesh that is seen, in the world."""
    evaluated = obj.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    try:
        local = coordinates(mesh.vertices, len(mesh.vertices))
    finally:
        evaluated.to_mesh_clear()
    return transform(world_matrix(obj, depsgraph), local)


def _check_finite(obj: bpy.types.Object, values: Points) -> None:
    if not np.isfinite(values).all():
        raise CaptureError(f"{obj.name} is not at a finite place; check its transform.")


def _uneven(obj: bpy.types.Object, extents: Points) -> str:
    x, y, z = extents
    return (
        f"{obj.name} is not a sphere: its sides measure {x:.3g}, {y:.3g} and {z:.3g}. Only spheres "
        "can be colliders so far; scale it evenly, or untick Collider."
    )
