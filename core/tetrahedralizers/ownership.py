# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tets are beside points of a surface, where tets of several parts overlap."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..tet_mesh import TetMesh

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]


def tets_beside(mesh: TetMesh, surface: FloatArray, points: FloatArray) -> IndexArray | None:
    """For each point (P, 3) the tet that the nearest vertex of a surface lies in, -1 where that is
    not known.

    Args:
        mesh: made from the surface.
        surface: (V, 3) its vertices, in metres.
        points: (P, 3) on it or close to it.

    Returns:
        (P,), or None where the mesh knows of no vertex.
    """
    if mesh.surface_tets is None:
        return None
    if points.shape == surface.shape and (points == surface).all():
        return mesh.surface_tets
    from scipy.spatial import cKDTree

    known = np.flatnonzero(mesh.surface_tets >= 0)
    _, nearest = cKDTree(surface[known]).query(points)
    beside: IndexArray = mesh.surface_tets[known][nearest]
    return beside
