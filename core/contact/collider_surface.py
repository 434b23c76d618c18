# SPDX-License-Identifier: GPL-3.0-or-later
"""What touches of a collider."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..contact_settings import Collider
from ..strays import without_strays
from .degenerate import without_degenerate
from .thickness import thickened


def collider_surface(collider: Collider) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """(T, C, 3) path of the vertices that take part, T = 1 where it stands still, and their
    (F, 3) triangles: those that have an area, and a skin around them where it has a thickness."""
    kept = without_degenerate(collider.at(0), collider.triangles)
    used = without_strays(collider.vertices, kept)
    vertices, triangles = thickened(*used, collider.thickness)
    path = vertices if vertices.ndim == 3 else vertices[None]
    return path, triangles.astype(np.int32)
