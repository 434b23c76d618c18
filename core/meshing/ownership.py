# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tets a surface runs through: where tets of several parts overlap, those of its own part."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..geometry.closest_point import closest_in_triangle

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# Of the places closest to a point, the triangle closest to it is among so many.
_CANDIDATES = 12


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

    def beside(self, points: FloatArray) -> IndexArray:
        """For each point (P, 3), in metres, a tet that the surface closest to it runs through."""
        from scipy.spatial import cKDTree  # which Blender itself does not have

        count = min(_CANDIDATES, len(self.tets))
        _, rows = cKDTree(self.places).query(points, count)
        rows = rows.reshape(len(points), count)
        repeated = np.repeat(points, count, axis=0)
        _, squared = closest_in_triangle(repeated, self.triangles[rows.ravel()])
        nearest = squared.reshape(rows.shape).argmin(axis=1)
        beside: IndexArray = self.tets[rows[np.arange(len(points)), nearest]]
        return beside
