# SPDX-License-Identifier: GPL-3.0-or-later
"""The tets around points, and those that a surface runs through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .groups import expand, grouped
from .triangle_loops import locate, write_maps
from .triangles import closest_in_triangle

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
Tets = NDArray[np.integer[Any]]


def barycentric_maps(vertices: FloatArray, tets: Tets) -> FloatArray:
    """(M, 4, 4): the barycentric coordinates of x in a tet are A[:, :3] x + A[:, 3]."""
    maps = np.empty((len(tets), 4, 4))
    write_maps(vertices, tets, maps)
    return maps


def barycentric_coordinates(maps: FloatArray, points: FloatArray) -> FloatArray:
    """Return the (K, 4) barycentric coordinates of each point (K, 3) by the map of its tet (K,
    4, 4)."""
    return np.asarray(np.einsum("kai,ki->ka", maps[:, :, :3], points) + maps[:, :, 3])


class TetsAround:
    """The tets around each vertex.

    Args:
        tets: (M, 4).
        count: of vertices.
    """

    def __init__(self, tets: Tets, count: int) -> None:
        #: (N + 1,) where the tets of each vertex begin.
        self.offsets: IndexArray
        order, self.offsets = grouped(tets.ravel(), count)
        #: (4 M,) tets by vertex.
        self.tets: IndexArray = order // 4

    def locate(
        self, maps: FloatArray, tets: Tets, points: FloatArray, near: IndexArray
    ) -> tuple[IndexArray, FloatArray, IndexArray]:
        """Return the (P,) tets around tets ``near`` (P,) that contain each point or are nearest to
        it, the least barycentric coordinates there, and equally good other tets, or -1. Among
        overlapping tets, those with the most corners in common with the near one are preferred.

        Args:
            maps: (M, 4, 4) as ``barycentric_maps`` has them.
        """
        owner, least = np.empty(len(points), dtype=np.intp), np.empty(len(points))
        rival = np.full(len(points), -1)
        locate(points, near, tets, maps, self.offsets, self.tets, owner, least, rival)
        return owner, least, rival


# The number of nearest centroids that contain the closest triangle.
_CANDIDATES = 12
# The rounding of equal distances from triangles, relative to an edge.
_SAME_DISTANCE = 1e-5


@dataclass(frozen=True, eq=False)
class SurfaceTets:
    """Triangles of the surface that tets were made from, each once for every tet it runs through.

    Attributes:
        places: (K, 3) a point of the triangle in or beside the tet, in metres.
        triangles: (K, 3, 3) in metres.
        tets: (K,).
    """

    places: FloatArray
    triangles: FloatArray
    tets: IndexArray

    def followed(
        self, points: FloatArray, vertices: FloatArray, tets: Tets
    ) -> tuple[IndexArray, FloatArray]:
        """For each point (P, 3), in metres, the tet that it lies in or least outside of, around
        one that the surface closest to it runs through, and its least barycentric coordinate there.

        At the end of a gap two overlap: then that of the side of the gap that is closer.

        Args:
            vertices: (N, 3) where they are now.
            tets: (M, 4).
        """
        maps = barycentric_maps(vertices, tets)
        near = self._beside(points, maps)
        owner, least, rival = TetsAround(tets, len(vertices)).locate(maps, tets, points, near)
        tied = np.flatnonzero(rival >= 0)
        owner_squares, rival_squares = (
            self._squared(points[tied], tet[tied]) for tet in (owner, rival)
        )
        tied = tied[rival_squares < owner_squares]
        owner[tied] = rival[tied]
        least[tied] = _least_coordinates(maps, owner[tied], points[tied])
        return owner, least

    def _squared(self, points: FloatArray, tets: IndexArray) -> FloatArray:
        """(P,) squared distance of each point from the triangles in its tet, infinite where there
        are none."""
        order = np.argsort(self.tets, kind="stable")
        first = np.searchsorted(self.tets[order], tets)
        point, offset = expand(np.searchsorted(self.tets[order], tets, side="right") - first)
        rows = order[first[point] + offset]
        _, squared = closest_in_triangle(points[point], self.triangles[rows])
        least = np.full(len(points), np.inf)
        np.minimum.at(least, point, squared)
        return least

    def _beside(self, points: FloatArray, maps: FloatArray) -> IndexArray:
        """Return a tet for each point (P,): one that the surface closest to the point runs
        through, and that contains it or is least far from it."""
        from scipy.spatial import cKDTree  # which Blender itself does not have

        count = min(_CANDIDATES, len(self.tets))
        _, rows = cKDTree(self.places).query(points, count)
        rows = rows.reshape(len(points), count)
        repeated = np.repeat(points, count, axis=0)
        corners = self.triangles[rows.ravel()]
        _, squared = closest_in_triangle(repeated, corners)
        size = np.linalg.norm(corners[:, 1] - corners[:, 0], axis=1).reshape(rows.shape)
        distance = np.sqrt(squared).reshape(rows.shape)
        is_close = distance <= distance.min(axis=1, keepdims=True) + _SAME_DISTANCE * size
        close = np.flatnonzero(is_close)
        least = np.full(rows.shape, -np.inf)
        least.flat[close] = _least_coordinates(maps, self.tets[rows.flat[close]], repeated[close])
        return self.tets[rows[np.arange(len(points)), least.argmax(axis=1)]]


def _least_coordinates(maps: FloatArray, tets: IndexArray, points: FloatArray) -> FloatArray:
    """(K,) least barycentric coordinate of each point (K, 3) in its tet (K,)."""
    return barycentric_coordinates(maps[tets], points).min(axis=1)
