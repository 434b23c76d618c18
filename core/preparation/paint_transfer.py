# SPDX-License-Identifier: GPL-3.0-or-later
"""What is painted on a surface, carried over to the tetrahedra that fill it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..geometry.closest_point import closest_in_triangle
from ..geometry.embedding import embed
from ..geometry.groups import distinct_pairs, first_of_each
from ..geometry.harmonic import harmonic_extension
from ..geometry.tet_mesh import TetMesh
from ..scene.paint import SurfacePaint
from ..scene.skin import SurfaceMesh
from ..scene.soft_body import SoftBody

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.integer[Any]]

# Points of the surface that are embedded are about so many edges of the tets apart.
_SPACING_EDGES = 0.5


def with_painted_settings(
    body: SoftBody, surface: SurfaceMesh, mesh: TetMesh, filled: SurfaceMesh | None = None
) -> SoftBody:
    """A body of tetrahedra, with one value a tet of what is painted on its surface; friction stays
    painted on that.

    Args:
        body: with the settings that factors are on.
        surface: that is painted.
        filled: the same surface where ``mesh`` fills it; None where that is where it stands.
    """
    filled = surface if filled is None else filled
    if not surface.paint:
        return replace(body, mesh=mesh)
    settings: dict[str, Any] = {}
    inside = [paint for paint in surface.paint if paint.setting != "friction"]
    for paint in surface.paint:
        if paint.setting == "friction":
            of_surface = surface.vertices, surface.triangles, paint.factors
            settings["friction_paint"] = SurfacePaint(*of_surface)
    if not inside:
        return replace(body, mesh=mesh, **settings)
    painted = np.stack([paint.factors for paint in inside], axis=1)
    for paint, factors in zip(inside, tet_factors(mesh, filled, painted).T, strict=True):
        if paint.setting == "young":
            settings["material"] = replace(body.material, young=body.material.young * factors)
        elif paint.setting == "yield_stress":
            assert body.plasticity is not None
            stress = body.plasticity.yield_stress * factors
            settings["plasticity"] = replace(body.plasticity, yield_stress=stress)
        elif paint.setting == "drag":
            settings["drag_factors"] = body.drag_factors * factors
        elif np.any(value := getattr(body, paint.setting)):
            settings[paint.setting] = value * factors
    return replace(body, mesh=mesh, **settings)


def tet_factors(mesh: TetMesh, surface: SurfaceMesh, painted: FloatArray) -> FloatArray:
    """(M, K) of the tets, from (V, K) of the surface's vertices.

    Each boundary vertex of the tets takes what is painted on the surface where that is closest, of
    what runs through the tets around it; inside, values are harmonic; a tet has the mean of its
    corners.
    """
    vertices, triangles, weights = _closest(mesh, surface)
    values = np.einsum("bc,bck->bk", weights, painted[triangles])
    factors: FloatArray = harmonic_extension(mesh, vertices, values)[mesh.tets].mean(axis=1)
    return factors


def _samples(surface: SurfaceMesh, spacing: float) -> tuple[IndexArray, FloatArray]:
    """Points in triangles, about as far apart as ``spacing``: (S,) which one each lies in, and
    (S, 3) where."""
    corners = surface.vertices[surface.triangles]
    longest = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    parts = np.maximum(1, np.ceil(longest / (2.0 * spacing))).astype(int)
    triangles, points = [], []
    for count in np.unique(parts):
        weights = _centroids(int(count))
        alike = np.flatnonzero(parts == count)
        triangles.append(np.repeat(alike, len(weights)))
        points.append(np.einsum("sc,tci->tsi", weights, corners[alike]).reshape(-1, 3))
    triangle, point = np.concatenate(triangles), np.concatenate(points)
    # Of many small triangles one in each place will do, but on either side of a gap.
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[triangle]
    places = np.concatenate([np.floor(point / spacing), np.sign(normals)], axis=1)
    _, kept = np.unique(places, axis=0, return_index=True)
    return triangle[kept], point[kept]


def _centroids(count: int) -> FloatArray:
    """(count², 3) barycentric coordinates of the centroids of the triangles that one is cut into by
    ``count`` strips along each side."""
    along, across = (part.ravel() for part in np.indices((count, count)))
    upright = along + across < count
    turned = along + across < count - 1
    first = np.concatenate([3 * along[upright] + 1, 3 * along[turned] + 2])
    second = np.concatenate([3 * across[upright] + 1, 3 * across[turned] + 2])
    return np.stack([3 * count - first - second, first, second], axis=1) / (3.0 * count)


def _closest(mesh: TetMesh, surface: SurfaceMesh) -> tuple[IndexArray, IndexArray, FloatArray]:
    """Where the surface is closest to boundary vertices, of what runs through tets around them.

    Returns:
        (B,) these vertices, (B, 3) the vertices of the triangle that each is closest to, and (B, 3)
        barycentric coordinates in it.
    """
    triangle, points = _samples(surface, _SPACING_EDGES * mesh.edge_length)
    pairs = np.stack([embed(mesh, points).indices, np.tile(triangle[:, None], 4)], axis=2)
    on_boundary = np.zeros(len(mesh.vertices), dtype=bool)
    on_boundary[mesh.surface] = True
    vertex, near = distinct_pairs(pairs[on_boundary[pairs[..., 0]]]).T
    corners = surface.triangles[near]
    weights, squared = closest_in_triangle(mesh.vertices[vertex], surface.vertices[corners])
    first = first_of_each(vertex, squared, near)
    return vertex[first], corners[first], weights[first]
