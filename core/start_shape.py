# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a body is when a simulation starts. No torch here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .errors import SceneError
from .scene import SoftBody
from .tet_mesh import TetMesh


def start_positions(body: SoftBody) -> NDArray[np.float64]:
    """(N, 3) tet vertices at the start, in metres: led ones where their path begins.

    Raises:
        SceneError: when the body has no tetrahedra.
    """
    if not isinstance(body.mesh, TetMesh):
        raise SceneError(f"{body.name} has no tetrahedra; discretize the scene first.")
    placed = body.initial_positions
    start = (body.mesh.vertices if placed is None else placed).copy()
    if body.pinned is not None and body.pin_path is not None:
        start[body.pinned] = body.pin_path[0]
    return start
