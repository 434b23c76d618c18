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


def barycentric_coordinates(maps: FloatArray, points: FloatArray) -> FloatArray:
    """(K, 4) of each point (K, 3) by the map of its own tet (K, 4, 4)."""
    return np.asarray(np.einsum("kai,ki->ka", maps[:, :, :3], points) + maps[:, :, 3])


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
        self, maps: FloatArray, tets: Tets, points: FloatArray, near: IndexArray
    ) -> tuple[IndexArray, FloatArray, IndexArray]:
        """(P,) the tet, of those around tets ``near`` (P,), that each point lies in or least
        outside of, its least barycentric coordinate there, and the tet that might as well be it, or
        -1: where tets overlap, those count first that have most corners in common with the one
        that is near.

        Args:
            maps: (M, 4, 4) as ``barycentric_maps`` has them.
        """
        owner, least = np.empty(len(points), dtype=np.intp), np.empty(len(points))
        rival = np.full(len(points), -1)
        _locate(points, near, tets, maps, self.offsets, self.tets, owner, least, rival)
        return owner, least, rival


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
def _shared_corners(tets: Any, one: int, two: int) -> int:
    shared = 0
    for a in range(4):
        for b in range(4):
            if tets[one, a] == tets[two, b]:
                shared += 1
    return shared


@compiled()
def _locate(
    points: Any,
    near: Any,
    tets: Any,
    maps: Any,
    offsets: Any,
    around: Any,
    owner: Any,
    least: Any,
    rival: Any,
) -> None:
    for p in range(len(points)):
        winner, most = near[p], 0
        best = _least_coordinate(maps[winner], points[p])
        if best < 0.0:
            for corner in range(4):
                vertex = tets[near[p], corner]
                for slot in range(offsets[vertex], offsets[vertex + 1]):
                    tet = around[slot]
                    found = _least_coordinate(maps[tet], points[p])
                    if tet == winner or (found < 0.0 and most > 0):
                        continue
                    shared = 0
                    if found >= 0.0:
                        shared = _shared_corners(tets, near[p], tet)
                    if shared > most:
                        best, winner, most, rival[p] = found, tet, shared, -1
                    elif shared == most and found > best:
                        rival[p] = winner if best >= 0.0 else -1
                        best, winner = found, tet
                    elif shared == most and found >= 0.0:
                        rival[p] = tet
        owner[p], least[p] = winner, best
