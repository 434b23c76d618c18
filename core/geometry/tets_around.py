# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the tets that points lie in, near tets that are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.barycentric import locate, write_maps
from .groups import grouped

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
Tets = NDArray[np.integer[Any]]


def barycentric_maps(vertices: FloatArray, tets: Tets) -> FloatArray:
    """(M, 4, 4): the barycentric coordinates of x in a tet are A[:, :3] x + A[:, 3]."""
    maps = np.empty((len(tets), 4, 4))
    write_maps(vertices, tets, maps)
    return maps


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
        #: (N + 1,) where the tets of each vertex begin.
        self.offsets: IndexArray
        order, self.offsets = grouped(tets.ravel(), count)
        #: (4 M,) tets by vertex.
        self.tets: IndexArray = order // 4

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
        locate(points, near, tets, maps, self.offsets, self.tets, owner, least, rival)
        return owner, least, rival
