# SPDX-License-Identifier: GPL-3.0-or-later
"""Drops the vertices that nothing references."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Cells = NDArray[np.integer[Any]]


def compact_indices(cells: Cells) -> tuple[Cells, NDArray[np.intp]]:
    """Indices (U,) of the points that `cells` (M, corners) use, and the cells by places in them."""
    used, renumbered = np.unique(cells, return_inverse=True)
    return used, renumbered.reshape(cells.shape).astype(np.intp)


def without_unreferenced(
    points: NDArray[np.float64], cells: Cells
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Points (…, U, 3) of (…, N, 3) that `cells` (M, corners) use, and the cells renumbered."""
    used, renumbered = compact_indices(cells)
    return points[..., used, :], renumbered
