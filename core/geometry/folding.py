# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the tets of a body lie over each other, as they cannot at any rest shape."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .tet_mesh import TetMesh, signed_volumes

Points = NDArray[np.float64]

# The two ends of each edge of a tet, then the other two corners.
EDGES = np.array(
    [[0, 1, 2, 3], [0, 2, 1, 3], [0, 3, 1, 2], [1, 2, 0, 3], [1, 3, 0, 2], [2, 3, 0, 1]]
)
FULL_TURN = 2.0 * np.pi
# The angles around an edge inside add up to one turn but for this rounding.
TURN_TOLERANCE = 1e-6
# Edges that are longer or shorter by less than this ratio cannot be folded: where the angles around
# one add up to two turns, some of them have doubled, which takes more strain.
MAX_SAFE_STRAIN = 0.3


class Folds:
    """Looks for tets that are inside out, and for edges around which tets go twice or not at all.

    An elastic energy has stable states in which all tets have their right side out, and yet lie
    around some edge in two turns: as around the branch point of √z, each neighbour fits, but the
    body overlaps itself.

    Args:
        mesh: of a body.
    """

    def __init__(self, mesh: TetMesh) -> None:
        self._tets = mesh.tets
        ends = np.sort(mesh.tets[:, EDGES[:, :2]].reshape(-1, 2), axis=1)
        self._edges, around = np.unique(ends, axis=0, return_inverse=True)
        self._around = around.reshape(-1)
        self._lengths = self._edge_lengths(mesh.vertices)
        self._inside = np.abs(self._turns(mesh.vertices) - 1.0) < TURN_TOLERANCE

    def found(self, positions: Points) -> bool:
        """Whether there is any at (N, 3) ``positions``."""
        strains = np.abs(self._edge_lengths(positions) / self._lengths - 1.0)
        if strains.max() < MAX_SAFE_STRAIN:
            return False
        if (signed_volumes(positions, self._tets) <= 0.0).any():
            return True
        turns = self._turns(positions)[self._inside]
        return bool((np.abs(turns - 1.0) > 0.5).any())

    def _edge_lengths(self, positions: Points) -> Points:
        ends = positions[self._edges]
        lengths: Points = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        return lengths

    def _turns(self, positions: Points) -> Points:
        """(E,) the angles of the tets around each edge, added up, in turns."""
        corners: Any = positions[self._tets[:, EDGES]]
        base, axis = corners[:, :, 0], corners[:, :, 1] - corners[:, :, 0]
        across = [np.cross(axis, corners[:, :, other] - base) for other in (2, 3)]
        sine = np.linalg.norm(np.cross(*across), axis=2)
        angles = np.arctan2(sine, (across[0] * across[1]).sum(axis=2))
        return np.bincount(self._around, angles.ravel()) / FULL_TURN
