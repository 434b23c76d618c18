# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of surface parts that may come close, as the broad phase finds them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...kernels.broad_phase import find_among, merged
from ...kernels.continuous_collision import CandidateStencils

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
        """Return the stencils on a surface with (E, 2) edges and (F, 3) triangles, for the
        kernels.
        """
        return CandidateStencils(self.edge_edges, self.face_vertices, edges, triangles)

    def places_among(self, known: Candidates) -> NDArray[np.int64]:
        """(K,) the place of each pair among known ones; −1 where it is none of them."""
        places, edges = np.empty(len(self), dtype=np.int64), len(self.edge_edges)
        find_among(self.edge_edges, known.edge_edges, 0, places[:edges])
        start = len(known.edge_edges)
        find_among(self.face_vertices, known.face_vertices, start, places[edges:])
        return places

    def merged(self, others: Candidates) -> Candidates:
        """With those that are only among others."""
        return Candidates(
            merged(self.edge_edges, others.edge_edges),
            merged(self.face_vertices, others.face_vertices),
        )

    def __len__(self) -> int:
        return len(self.edge_edges) + len(self.face_vertices)


def pair_keys(pairs: IndexPairs) -> NDArray[np.int64]:
    """Return the (P,) keys of (P, 2) indices, in the order of pairs."""
    keys: NDArray[np.int64] = (pairs[:, 0].astype(np.int64) << 32) + pairs[:, 1]
    return keys
