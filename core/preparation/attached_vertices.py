# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tet vertices an attachment holds. No torch here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..scene import checks
from ..scene.soft_body import SoftBody
from ..scene.start_shape import skin_embedding_of, start_positions
from .pin_transfer import pinned_tet_vertices


def attached_vertices(body: SoftBody, points: NDArray[np.int32]) -> NDArray[np.int32]:
    """(Q,) indices of the tet vertices that carry attached points (P,).

    Raises:
        SceneError: when the body has no such point, or it is named twice.
    """
    points = checks.indices(points, len(point_positions(body)), f"{body.name}: an attached point")
    return points if body.skin is None else pinned_tet_vertices(skin_embedding_of(body), points)


def point_positions(body: SoftBody) -> NDArray[np.float64]:
    """(V, 3) at the start, in metres: the points of its skin, or its tet vertices without one.

    Raises:
        SceneError: when the body is not made of tetrahedra yet.
    """
    start = start_positions(body)
    return start if body.skin is None else skin_embedding_of(body).interpolate(start)
