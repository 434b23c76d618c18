# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of surface parts that may come close, as the broad phase finds them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...kernels.detection import CandidateStencils

IndexPairs = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Candidates:
    """Sorted by their columns from the first to the last, each pair once.

    Args:
        edge_edges: (E, 2) edges of the surface's mesh, the lower index first.
        face_vertices: (F, 2) a face and a vertex.
    """

    edge_edges: IndexPairs
    face_vertices: IndexPairs

    @staticmethod
    def none() -> Candidates:
        nothing = np.empty((0, 2), dtype=np.int32)
        return Candidates(nothing, nothing)

    def stencils(self, edges: IndexPairs, triangles: NDArray[np.int32]) -> CandidateStencils:
        """Of a surface with (E, 2) edges and (F, 3) triangles, for the kernels."""
        return CandidateStencils(self.edge_edges, self.face_vertices, edges, triangles)

    def carried(self, known: Candidates, values: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each pair the value that it had among known ones, or zero; few of (K,) are others."""
        found = np.zeros(len(self), dtype=np.int64)
        parts = [(self.edge_edges, known.edge_edges), (self.face_vertices, known.face_vertices)]
        first = start = 0
        for own, other in parts:
            of_other = values[first : first + len(other)]
            held = np.flatnonzero(of_other)
            if len(held) and len(own):
                keys, wanted = pair_keys(own), pair_keys(other[held])
                places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
                is_there = keys[places] == wanted
                found[start + places[is_there]] = of_other[held[is_there]]
            first, start = first + len(other), start + len(own)
        return found

    def __len__(self) -> int:
        return len(self.edge_edges) + len(self.face_vertices)


def pair_keys(pairs: IndexPairs) -> NDArray[np.int64]:
    """(P,) of (P, 2) indices, in the order of pairs."""
    keys: NDArray[np.int64] = (pairs[:, 0].astype(np.int64) << 32) + pairs[:, 1]
    return keys
