# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses an edge length that would take minutes and gigabytes, and names one that would not."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError

REGULAR_TETS_PER_CUBE = 8.5  # of edge 1 in a unit of volume
_CELLS_AROUND = 3  # the lattice has this many spare along each axis


def check_budget(
    vertices: NDArray[np.float64], edge_length: float, tets_per_cube: float, most: int
) -> None:
    """Raise SceneError if the bounding box of vertices (V, 3) holds more than `most` tets."""
    size = np.ptp(vertices, axis=0)

    def tets(length: float) -> float:
        return tets_per_cube * float(np.prod(size / length + _CELLS_AROUND))

    if tets(edge_length) <= most:
        return
    enough = edge_length
    while tets(enough) > most:
        enough *= 1.05
    raise SceneError(
        f"An edge length of {edge_length:.3g} m could give {tets(edge_length):.1e} tets, more than "
        f"the {most:.0e} allowed; use {enough:.2g} m or more (a lower resolution)."
    )
