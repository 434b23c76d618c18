# SPDX-License-Identifier: GPL-3.0-or-later
"""Joins copies of a cell where the surface goes on from one to the other.

Where a gap ends, two copies of a cell have a face in common with the cell beyond, in which their
material hangs together. When the boundary is drawn in, the end of the gap may come to lie in the
copies: one point of the surface follows the one, its neighbour the other, and as the two come apart
what is seen between is torn.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.tets_around import barycentric_coordinates, barycentric_maps
from .virtual_nodes import VirtualMesh, joined

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# In units of one over the cubic edge of a cell. An edge across which shares step that fast is three
# times as long as at rest once the copies are a third of a cell apart.
_MAX_STEP_RATE = 6.0


def join_copies(
    mesh: VirtualMesh,
    positions: FloatArray,
    points: FloatArray,
    owner: IndexArray,
    edges: IndexArray,
) -> VirtualMesh:
    """The mesh with those copies made one between which the surface would be torn; itself where
    there are none.

    Args:
        mesh: copies of cells.
        positions: (N, 3) of its vertices.
        points: (P, 3) of the surface.
        owner: (P,) tets that they follow.
        edges: (E, 2) points that the surface joins.
    """
    one, two = owner[edges.T]
    crosses = (mesh.cell[one] == mesh.cell[two]) & (one != two)
    edges, one, two = edges[crosses], one[crosses], two[crosses]
    # Copies have their corners in the order of the cell.
    is_apart = mesh.tets[one] != mesh.tets[two]
    maps = barycentric_maps(positions, mesh.tets)
    shares = [
        np.abs(barycentric_coordinates(maps[tet], points[end]))
        for tet, end in zip((one, two), edges.T, strict=True)
    ]
    step = ((shares[0] + shares[1]) * is_apart).sum(axis=1)
    length = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    is_torn = step > _MAX_STEP_RATE * length
    if not is_torn.any():
        return mesh
    return joined(
        mesh, np.stack([mesh.tets[one[is_torn]].ravel(), mesh.tets[two[is_torn]].ravel()])
    )
