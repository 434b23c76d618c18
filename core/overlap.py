# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses bodies that begin inside of what they are to land on. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import SceneError
from .scene import Ground, SoftBody, Sphere
from .tetrahedralizers.triangle_distance import point_triangle_distance
from .tetrahedralizers.winding_number import solid_angle_fraction

# How far into an obstacle counts as touching it, in diagonals of the body.
TOUCHING = 1e-3

Points = NDArray[np.floating[Any]]
Triangles = NDArray[np.integer[Any]]


def check_above_ground(name: str, points: Points, ground: Ground) -> None:
    """Refuses a body that starts in the ground; one that stands on it may dip in a little.

    Args:
        name: of the body.
        points: (N, 3) in metres.
        ground: of its scene.

    Raises:
        SceneError: with the depth.
    """
    depth = ground.height - float(points[:, 2].min())
    if depth > TOUCHING * _diagonal(points):
        raise SceneError(
            f"{name} starts {depth:.3g} m below the ground; raise it or lower the ground."
        )


def raise_needed(body: SoftBody, points: Points, ground: Ground, floor: float) -> float:
    """By how much a body has to rise for its free points (N, 3) to reach ``floor``, in metres.

    The tets of a surface may stand out of it, and into what it stands on.

    Raises:
        SceneError: when a body that was given as tetrahedra starts in the ground.
    """
    depth = max(0.0, floor - float(points[:, 2].min(initial=np.inf)))
    if depth > 0.0 and body.skin is None:
        check_above_ground(body.name, points, ground)
    return depth


def check_clear_of(
    name: str, vertices: Points, triangles: Triangles, colliders: Sequence[Sphere]
) -> None:
    """Refuses a body that overlaps a collider at the start, or surrounds it.

    Args:
        name: of the body.
        vertices, triangles: (V, 3) in metres and (T, 3), its surface, which may be open.
        colliders: of its scene.

    Raises:
        SceneError: with the depth.
    """
    for sphere in colliders:
        depth = sphere.radius - _signed_distance(np.array(sphere.center), vertices, triangles)
        if depth > TOUCHING * _diagonal(vertices):
            raise SceneError(
                f"{name} starts {depth:.3g} m inside the collider {sphere.name}; move them apart."
            )


def _signed_distance(point: Points, vertices: Points, triangles: Triangles) -> float:
    """From a point to the surface, negative where the surface surrounds it."""
    a, b, c = (vertices[triangles] - point).swapaxes(0, 1)
    distance = float(point_triangle_distance(np.zeros_like(a), a, b, c).min())
    surrounded = abs(float(solid_angle_fraction(a.T, b.T, c.T).sum())) > 0.5
    return -distance if surrounded else distance


def _diagonal(points: Points) -> float:
    return float(np.linalg.norm(np.ptp(points, axis=0)))
