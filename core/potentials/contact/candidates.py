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

    def __len__(self) -> int:
        return len(self.edge_edges) + len(self.face_vertices)
