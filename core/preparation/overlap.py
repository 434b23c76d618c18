# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuse bodies that start inside the ground or a sphere. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.triangles import point_triangle_distance
from ..geometry.winding_number import solid_angle_fraction
from ..scene.collision_points import CollisionPoints
from ..scene.contact_settings import Ground, Sphere
from ..scene.scene import Scene
from ..scene.skin import SurfaceMesh
from ..scene.soft_body import start_positions, tet_mesh_of
from ..scene.start import PosedStart

# The allowed penetration of bodies into an obstacle, in diagonals.
MAX_DEPTH_RATIO = 1e-3

Points = NDArray[np.floating[Any]]
Triangles = NDArray[np.integer[Any]]


def check_surfaces(scene: Scene) -> None:
    """Refuses bodies that are surfaces still and lie in the ground or in a sphere.

    One that stands on them may dip in a little, and one that starts in another shape than it rests
    in is where that is.

    Raises:
        SceneError: with the depth.
    """
    for body in scene.bodies:
        if isinstance(body.start, PosedStart) and scene.ground is not None:
            _check_above_ground(body.name, body.start.points, scene.ground)
        if isinstance(body.mesh, SurfaceMesh) and body.start is None:
            vertices = body.mesh.vertices
            if scene.ground is not None:
                _check_above_ground(body.name, vertices, scene.ground)
            _check_outside(body.name, vertices, body.mesh.triangles, scene.spheres)


def check_tetrahedra(scene: Scene) -> None:
    """Refuses bodies that were given as tetrahedra and lie in the ground or in a sphere.

    The tets of a surface may protrude from it into the objects below; and pinned vertices may be
    anywhere.

    Args:
        scene: a result of ``tetrahedralize_scene``.

    Raises:
        SceneError: with the depth.
    """
    for body in scene.bodies:
        if body.skin is not None:
            continue
        mesh, positions = tet_mesh_of(body), start_positions(body)
        _check_outside(body.name, positions, mesh.surface, scene.spheres)
        free = np.ones(len(positions), dtype=bool)
        if body.pinned is not None:
            free[body.pinned] = False
        points = CollisionPoints.of(body, mesh).movable(free, wholly=True).at(positions)
        if scene.ground is not None and len(points) > 0:
            _check_above_ground(body.name, points, scene.ground)


def _check_above_ground(name: str, points: Points, ground: Ground) -> None:
    depth = ground.height - float(points[:, 2].min())
    if depth > MAX_DEPTH_RATIO * _diagonal(points):
        raise SceneError(
            f"{name} starts {depth:.3g} m below the ground; raise it or lower the ground."
        )


def _check_outside(
    name: str, vertices: Points, triangles: Triangles, spheres: Sequence[Sphere]
) -> None:
    """The surface, (V, 3) in metres and (T, 3), may be open; it must not surround a sphere."""
    for sphere in spheres:
        depth = sphere.radius - _signed_distance(np.array(sphere.center), vertices, triangles)
        if depth > MAX_DEPTH_RATIO * _diagonal(vertices):
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
