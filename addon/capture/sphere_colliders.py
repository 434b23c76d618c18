# SPDX-License-Identifier: GPL-3.0-or-later
"""Colliders of explicit steps, which land on balls that stand still."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.errors import SceneError
from ...core.scene.ground import Sphere
from ..units import exact_float
from .captured import CaptureError
from .friction import coefficients
from .motion import matrix_recording, transform, world_matrix
from .surfaces import Points, evaluated_surface

# The largest extent may be longer than the smallest by this part. The coarse icosphere that
# Blender offers first has 5 %, turned ones less.
EXTENT_TOLERANCE_RATIO = 0.1
# So far from the sphere a vertex may lie, in radii.
RADIUS_TOLERANCE_RATIO = 0.05

# What lets any mesh be a collider.
CURE = "choose the integrator Automatic or Implicit Euler and a Contact other than Never"


class SphereCollider:
    """A collider that is about a ball, and what is recorded of it over the frames.

    Args:
        obj: the object.
        depsgraph: at the first of the frames.
        unit: metres in a Blender unit.

    Raises:
        CaptureError: when it is not a sphere.
    """

    def __init__(self, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, unit: float) -> None:
        self.recording = matrix_recording(obj)
        self._name, self._sphere = obj.name, _sphere(obj, depsgraph, unit)

    def described(self) -> Sphere:
        """What the solver gets, once all frames were recorded.

        Raises:
            CaptureError: when it moves.
        """
        if not self.recording.channel().is_constant:
            raise CaptureError(
                f"{self._name} is animated, and without contact only still spheres can be "
                f"colliders. Clear its animation, untick Collider, or {CURE}."
            )
        return self._sphere


def _sphere(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, unit: float) -> Sphere:
    fit = _fit_empty if obj.type == "EMPTY" else _fit_mesh
    center, radius = fit(obj, depsgraph)
    x, y, z = (float(unit * part) for part in center)
    props = obj.supple
    friction, kinetic = coefficients(props, "collider_")
    try:
        return Sphere(
            (x, y, z),
            unit * radius,
            friction,
            exact_float(props.collider_restitution),
            exact_float(props.collider_penalty),
            obj.name,
            kinetic,
        )
    except SceneError as error:
        raise CaptureError(str(error)) from error


def _fit_empty(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> tuple[Points, float]:
    """Center and radius of the sphere that is drawn, in Blender units."""
    matrix = world_matrix(obj, depsgraph)
    _check_finite(obj, matrix)
    axes = np.linalg.svd(matrix[:3, :3], compute_uv=False)
    if axes[0] > (1.0 + RADIUS_TOLERANCE_RATIO) * axes[-1]:
        raise CaptureError(_uneven(obj, 2.0 * obj.empty_display_size * axes))
    return matrix[:3, 3], float(obj.empty_display_size * axes[0])


def _fit_mesh(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> tuple[Points, float]:
    """Center of the bounding box and distance of the farthest vertex, in Blender units."""
    points = transform(world_matrix(obj, depsgraph), evaluated_surface(obj, depsgraph)[0])
    if len(points) == 0:
        raise CaptureError(f"{obj.name} has no vertices; it cannot be a collider.")
    _check_finite(obj, points)
    extents = np.ptp(points, axis=0)
    center = 0.5 * (points.min(axis=0) + points.max(axis=0))
    distances = np.linalg.norm(points - center, axis=1)
    radius = float(distances.max())
    if extents.max() > (1.0 + EXTENT_TOLERANCE_RATIO) * extents.min():
        raise CaptureError(_uneven(obj, extents))
    if distances.min() < (1.0 - RADIUS_TOLERANCE_RATIO) * radius:
        raise CaptureError(
            f"{obj.name} is not a sphere: a vertex lies {1.0 - distances.min() / radius:.0%} of "
            "the radius inside the one around it. Without contact only spheres can be colliders; "
            f"use one, untick Collider, or {CURE}."
        )
    return center, radius


def _check_finite(obj: bpy.types.Object, values: Points) -> None:
    if not np.isfinite(values).all():
        raise CaptureError(f"{obj.name} is not at a finite place; check its transform.")


def _uneven(obj: bpy.types.Object, extents: Points) -> str:
    x, y, z = extents
    return (
        f"{obj.name} is not a sphere: its sides measure {x:.3g}, {y:.3g} and {z:.3g}. Without "
        f"contact only spheres can be colliders; scale it evenly, untick Collider, or {CURE}."
    )
