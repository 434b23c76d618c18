# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the tets of a body lie over each other, as they cannot at any rest shape."""

from __future__ import annotations

from functools import cached_property

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
        self._tets, self._rest = mesh.tets, mesh.vertices
        ends = np.sort(mesh.tets[:, EDGES[:, :2]].reshape(-1, 2), axis=1).astype(np.int64)
        count = len(mesh.vertices)
        keys, self._around = np.unique(ends[:, 0] * count + ends[:, 1], return_inverse=True)
        self._edges = np.stack([keys // count, keys % count], axis=1)
        self._lengths = self._edge_lengths(mesh.vertices)

    @cached_property
    def _inside(self) -> NDArray[np.bool_]:
        """(E,) edges that tets are all around."""
        return np.abs(self._turns(self._rest) - 1.0) < TURN_TOLERANCE

    def found(self, positions: Points) -> bool:
        """Whether there is any at (N, 3) ``positions``."""
        strains = np.abs(self._edge_lengths(positions) / self._lengths - 1.0)
        if strains.max() < MAX_SAFE_STRAIN:
            return False
        if (signed_volumes(positions, self._tets) <= 0.0).any():
            return True
        # Inside it is a whole number of turns, and not none, since no angle is below 0.
        is_wound = self._turns(positions) > 1.5
        return bool(is_wound.any() and (is_wound & self._inside).any())

    def _edge_lengths(self, positions: Points) -> Points:
        ends = positions[self._edges]
        lengths: Points = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)
        return lengths

    def _turns(self, positions: Points) -> Points:
        """(E,) the angles of the tets around each edge, added up, in turns."""
        a, b, c, d = positions[self._tets].swapaxes(0, 1)
        # Inward normals of the faces that the corners are opposite to, twice as long as these are
        # large: those of two faces span the edge between them times six volumes.
        normals = [np.cross(c - a, d - a), np.cross(d - a, b - a), np.cross(b - a, c - a)]
        normals.insert(0, -(normals[0] + normals[1] + normals[2]))
        volumes = np.abs(np.einsum("ij,ij->i", b - a, normals[1]))
        cosine = np.stack(
            [-np.einsum("ij,ij->i", normals[k], normals[m]) for *_, k, m in EDGES.tolist()], axis=1
        )
        sine = (
            self._edge_lengths(positions)[self._around].reshape(-1, len(EDGES)) * volumes[:, None]
        )
        angles = np.arctan2(sine, cosine)
        return np.bincount(self._around, angles.ravel(), len(self._edges)) / FULL_TURN
