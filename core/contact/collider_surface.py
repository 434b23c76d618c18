# SPDX-License-Identifier: GPL-3.0-or-later
"""What touches of a collider."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..contact_settings import Collider
from .degenerate import compact, without_degenerate
from .thickness import thickened


def collider_surface(collider: Collider) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """(T, C, 3) path of the vertices that take part, T = 1 where it stands still, and their
    (F, 3) triangles: those that have an area, and a skin around them where it has a thickness."""
    triangles = without_degenerate(collider.at(0), collider.triangles)
    vertices, triangles = compact(collider.vertices, triangles)
    vertices, triangles = thickened(vertices, triangles, collider.thickness)
    path = vertices if vertices.ndim == 3 else vertices[None]
    return path, triangles.astype(np.int32)
