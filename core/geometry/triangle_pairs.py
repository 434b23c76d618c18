# SPDX-License-Identifier: GPL-3.0-or-later
"""The distance of triangles, pair by pair. No torch here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Corners = NDArray[np.float64]
Distances = NDArray[np.float64]
Flags = NDArray[np.bool_]


def triangle_distance(
    first: Corners, second: Corners, cutoff: float, shared: Flags | None = None
) -> Distances:
    """Distance of each triangle (K, 3 corners, 3) to its own other one; infinite beyond ``cutoff``.

    0 where they cross. Triangles without area count as their edges.

    Args:
        shared: (K, 3, 3) whether a corner of the first is one of the second: what has such corners
            in common, an edge and another, or an edge and a triangle, is not compared.
    """
    from ..kernels.triangle_pairs import measure  # numba, which Blender itself does not have

    if shared is None:
        shared = np.broadcast_to(np.zeros(1, dtype=bool), (len(first), 3, 3))
    distances = np.empty(len(first))
    measure(
        *(np.ascontiguousarray(first), np.ascontiguousarray(second), cutoff),
        *(np.ascontiguousarray(shared), distances),
    )
    return distances
