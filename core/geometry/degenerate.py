# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds triangles without area, which take no part in contact."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Triangles = NDArray[np.integer[Any]]

# A triangle of less area, in squares of its longest edge, is a line to rounding.
MIN_AREA_RATIO = 1e-14


def without_degenerate(vertices: FloatArray, triangles: Triangles) -> Triangles:
    """The triangles (G, 3) that have an area, of (F, 3).

    Contact divides by areas and edge lengths. The edges of a triangle that goes are mostly those
    of its neighbours too.

    Args:
        vertices: (V, 3) at the start.
        triangles: (F, 3) indices of vertices.
    """
    return triangles[are_valid(vertices, triangles)]


def are_valid(vertices: FloatArray, triangles: Triangles) -> NDArray[np.bool_]:
    """(F,) whether triangles have three corners and an area; arguments as above."""
    repeated = (triangles == np.roll(triangles, 1, axis=1)).any(axis=1)
    return have_area(vertices[triangles]) & ~repeated


def have_area(corners: FloatArray) -> NDArray[np.bool_]:
    """(…, F) whether triangles with corners (…, F, 3, 3) are more than lines."""
    edges = np.roll(corners, -1, axis=-2) - corners
    doubled = np.linalg.norm(np.cross(edges[..., 0, :], edges[..., 1, :]), axis=-1)
    longest_squared = np.einsum("...i,...i->...", edges, edges).max(axis=-1)
    result: NDArray[np.bool_] = doubled > 2.0 * MIN_AREA_RATIO * longest_squared
    return result
