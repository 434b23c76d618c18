# SPDX-License-Identifier: GPL-3.0-or-later
"""Points of the boundary of a tet mesh that are close to points outside: not one but several, so
that what follows from them does not jump from one point to the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .closest_point import closest_in_triangle
from .point_grid import PointGrid
from .tet_mesh import TetMesh

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# Others count that are farther than the closest by at most this many times the distance, and by no
# more than this many edge lengths.
_SPREAD_RATIO = 1.0
_MAX_SPREAD_RATIO = 0.3
# A triangle whose normal has a cosine with the point's below this counts as farther when a home is
# chosen, by so many edge lengths for each unit below: it is across a gap.
_FACING_COSINE = 0.5
_FACING_PENALTY = 2.0


@dataclass(frozen=True, eq=False)
class NearBoundary:
    """Places on the boundary near P points, several for one point.

    Attributes:
        home: (P,) the surface triangle that each point belongs to.
        point: (K,) increasing indices of points.
        triangle: (K,) indices of surface triangles.
        coordinates: (K, 3) barycentric ones of the place in the triangle.
        weights: (K,) how much it counts; those of a point sum to one.
    """

    home: IndexArray
    point: IndexArray
    triangle: IndexArray
    coordinates: FloatArray
    weights: FloatArray


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Points and triangles close to them: the place there, and how far it is."""

    point: IndexArray
    triangle: IndexArray
    coordinates: FloatArray
    distance: FloatArray
    penalty: FloatArray

    def chosen(self, which: IndexArray | NDArray[np.bool_]) -> _Pairs:
        return _Pairs(*(part[which] for part in vars(self).values()))

    @staticmethod
    def joined(parts: list[_Pairs]) -> _Pairs:
        columns = zip(*(vars(part).values() for part in parts), strict=True)
        return _Pairs(*(np.concatenate(column) for column in columns))


def near_boundary(mesh: TetMesh, points: FloatArray, normals: FloatArray) -> NearBoundary:
    """Where the boundary is close to points (P, 3), P > 0, all of them outside.

    A point's home is the closest triangle, those that face another way counting as farther. Of the
    triangles that an edge of a tet joins to it, each counts by how close it is: the weight falls
    smoothly to zero where another is closer by the spread, and the spread goes to zero with the
    distance.

    Args:
        mesh: of tetrahedra.
        points: (P, 3).
        normals: (P, 3) of the surface that they belong to; zero where it is not known.
    """
    pairs = _close_pairs(mesh, points, normals)
    order = np.lexsort((pairs.triangle, pairs.distance + pairs.penalty, pairs.point))
    home = pairs.triangle[order[np.flatnonzero(np.diff(pairs.point[order], prepend=-1))]]
    pairs = pairs.chosen(order)
    pairs = pairs.chosen(_are_joined(mesh, home[pairs.point], pairs.triangle))
    least = np.full(len(points), np.inf)
    np.minimum.at(least, pairs.point, pairs.distance)
    spread = np.maximum(_spread(mesh, least), np.finfo(np.float64).tiny)
    beyond = (pairs.distance - least[pairs.point]) / spread[pairs.point]
    weights = np.maximum(1.0 - beyond, 0.0) ** 2
    pairs, weights = pairs.chosen(weights > 0.0), weights[weights > 0.0]
    weights = weights / np.bincount(pairs.point, weights)[pairs.point]
    return NearBoundary(home, pairs.point, pairs.triangle, pairs.coordinates, weights)


def _spread(mesh: TetMesh, distance: FloatArray) -> FloatArray:
    return np.minimum(_SPREAD_RATIO * distance, _MAX_SPREAD_RATIO * mesh.edge_length)


def _close_pairs(mesh: TetMesh, points: FloatArray, normals: FloatArray) -> _Pairs:
    """All triangles that may be a point's home, or that count beside it."""
    corners, edge = mesh.vertices[mesh.surface], mesh.edge_length
    low, high = corners.min(axis=1), corners.max(axis=1)
    out = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    out /= np.linalg.norm(out, axis=1, keepdims=True)
    parts, left, search_radius = [], np.arange(len(points)), 0.5 * edge
    while len(left):
        least = np.full(len(points), np.inf)
        found = []
        for triangle, row in PointGrid(points[left], search_radius).pairs(
            low - search_radius, high + search_radius
        ):
            point = left[row]
            coordinates, squared = closest_in_triangle(points[point], corners[triangle])
            cosine = np.einsum("ki,ki->k", out[triangle], normals[point])
            penalty = _FACING_PENALTY * edge * np.maximum(_FACING_COSINE - cosine, 0.0)
            found.append(_Pairs(point, triangle, coordinates, np.sqrt(squared), penalty))
            np.minimum.at(least, point, found[-1].distance + penalty)
        is_done = least + _spread(mesh, least) <= search_radius
        parts += [pairs.chosen(is_done[pairs.point]) for pairs in found]
        left = left[~is_done[left]]
        search_radius *= 2.0
    return _Pairs.joined(parts)


def _are_joined(mesh: TetMesh, first: IndexArray, second: IndexArray) -> NDArray[np.bool_]:
    """Whether triangles (K,) and (K,) of the surface have corners that are of one tet."""
    count = len(mesh.vertices)
    keys = np.unique(count * mesh.tets.astype(np.intp)[:, :, None] + mesh.tets[:, None, :])
    one, two = mesh.surface[first].astype(np.intp), mesh.surface[second]
    wanted = count * one[:, :, None] + two[:, None, :]
    # The largest of all pairs is among the keys.
    joined: NDArray[np.bool_] = (keys[np.searchsorted(keys, wanted)] == wanted).any(axis=(1, 2))
    return joined
