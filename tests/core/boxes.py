# SPDX-License-Identifier: GPL-3.0-or-later
"""A box as an artist models it: of eight corners and twelve triangles."""

from __future__ import annotations

import numpy as np

_SIDES = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
BOX_TRIANGLES = np.array(
    [triangle for a, b, c, d in _SIDES for triangle in ([a, b, c], [a, c, d])], dtype=np.int32
)


def box_corners(
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0),
    size: tuple[float, float, float] = (1.0, 1.0, 1.0),
) -> np.ndarray:
    """The (8, 3) corners, of which ``BOX_TRIANGLES`` are seen counter-clockwise from outside."""
    units = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
    return np.asarray(origin) + units * np.asarray(size)
