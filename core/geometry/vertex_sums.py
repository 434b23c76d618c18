# SPDX-License-Identifier: GPL-3.0-or-later
"""Sums at vertices of what is around them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Cells = NDArray[np.integer[Any]]


def vertex_sums(values: FloatArray, cells: Cells, count: int) -> FloatArray:
    """(count, K) sums of what the corners (M, corners, K) of cells give to their vertices."""
    columns = values.reshape(cells.size, -1).T
    return np.stack([np.bincount(cells.ravel(), column, count) for column in columns], axis=1)


def vertex_areas(vertices: FloatArray, triangles: Cells) -> FloatArray:
    """(V,) a third of the area of the (F, 3) triangles around each of (V, 3) vertices, in m²."""
    thirds = corner_areas(vertices, triangles)
    return np.bincount(triangles.ravel(), thirds, len(vertices)).astype(np.float64)


def corner_areas(vertices: FloatArray, triangles: Cells) -> FloatArray:
    """(3F,) a third of the area of a triangle, for each of its corners, in m²."""
    a, b, c = vertices[triangles].swapaxes(0, 1)
    return np.repeat(np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6.0, 3)
