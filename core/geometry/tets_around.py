# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the tets that points lie in, near tets that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compiled import compiled

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
Tets = NDArray[np.integer[Any]]


def barycentric_maps(vertices: FloatArray, tets: Tets) -> FloatArray:
    """(M, 4, 4): the barycentric coordinates of x in a tet are A[:, :3] x + A[:, 3]."""
    corners = vertices[tets].swapaxes(1, 2)
    homogeneous = np.concatenate([corners, np.ones((len(tets), 1, 4))], axis=1)
    return np.linalg.inv(homogeneous)


class TetsAround:
    """The tets around each vertex.

    Args:
        tets: (M, 4).
        count: of vertices.
    """

    def __init__(self, tets: Tets, count: int) -> None:
        corners = tets.ravel()
        order = np.argsort(corners, kind="stable")
        #: (4 M,) tets by vertex.
        self.tets: IndexArray = order // 4
        #: (N + 1,) where those of each vertex begin.
        self.offsets: IndexArray = np.searchsorted(corners[order], np.arange(count + 1))

    def locate(
        self, positions: FloatArray, tets: Tets, points: FloatArray, near: IndexArray
    ) -> tuple[IndexArray, FloatArray]:
        """(P,) the tet, of those around tets ``near`` (P,), that each point lies in or least
        outside of, and its least barycentric coordinate there."""
        owner, least = np.empty(len(points), dtype=np.intp), np.empty(len(points))
        maps = barycentric_maps(positions, tets)
        _locate(points, near, tets, maps, self.offsets, self.tets, owner, least)
        return owner, least


@compiled()
def coordinate(row: Any, x: float, y: float, z: float) -> float:
    """A barycentric coordinate of a point."""
    return float(row[0] * x + row[1] * y + row[2] * z + row[3])


@compiled()
def _least_coordinate(maps: Any, point: Any) -> float:
    least = np.inf
    for a in range(4):
        least = min(least, coordinate(maps[a], point[0], point[1], point[2]))
    return float(least)


@compiled()
def _locate(
    points: Any, near: Any, tets: Any, maps: Any, offsets: Any, around: Any, owner: Any, least: Any
) -> None:
    for p in range(len(points)):
        winner = near[p]
        best = _least_coordinate(maps[winner], points[p])
        for corner in range(4):
            if best >= 0.0:
                break
            vertex = tets[near[p], corner]
            for slot in range(offsets[vertex], offsets[vertex + 1]):
                found = _least_coordinate(maps[around[slot]], points[p])
                if found > best:
                    best, winner = found, around[slot]
        owner[p], least[p] = winner, best
