# SPDX-License-Identifier: GPL-3.0-or-later
"""Drops the vertices that nothing uses."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def without_strays(
    points: NDArray[np.float64], cells: NDArray[np.integer[Any]]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Points (N, 3) that `cells` (M, corners) use, and the cells with their new numbers."""
    used, compact = np.unique(cells, return_inverse=True)
    return points[used], compact.reshape(cells.shape).astype(np.intp)
