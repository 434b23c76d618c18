# SPDX-License-Identifier: GPL-3.0-or-later
"""Build the bar that the examples simulate."""

from __future__ import annotations

import numpy as np

from ..core import TetMesh, tetrahedralize

_CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
_SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
_TRIANGLES = [half for a, b, c, d in _SIDES for half in ([a, b, c], [a, c, d])]


def bar(cells: int) -> TetMesh:
    """40 cm long, 10 cm wide and high.

    Args:
        cells: about how many along it.
    """
    return box((0.4, 0.1, 0.1), 0.4 / cells)


def box(size: tuple[float, float, float], edge_length: float, height: float = 0.0) -> TetMesh:
    """Filled with tets of an edge length in metres, so high above the ground."""
    corners = _CORNERS * size + [0.0, 0.0, height]
    return tetrahedralize(corners, _TRIANGLES, edge_length=edge_length)
