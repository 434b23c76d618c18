# SPDX-License-Identifier: GPL-3.0-or-later
"""Tets around one edge, which fit together in one turn and in two."""

from __future__ import annotations

import numpy as np

from supple.core.geometry.tet_mesh import TetMesh

# Even permutations, which leave tets the right side out, by which each edge becomes the first.
ORDERS = [[0, 1, 2, 3], [0, 3, 1, 2], [0, 2, 3, 1], [2, 0, 1, 3], [3, 0, 2, 1], [2, 3, 0, 1]]


def fan(turns: int, sides: int = 10, pointed: float = 0.4) -> np.ndarray:
    """The ends of an edge, and points around it so many times, drawn out along it."""
    angles = 2.0 * np.pi * turns * np.arange(sides) / sides
    around = np.column_stack([np.cos(angles), np.sin(angles), np.full(sides, 0.5)])
    return np.vstack([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], around * [1.0, 1.0, pointed]])


def wheel(sides: int = 10, order: int = 0) -> TetMesh:
    """Tets around one edge inside, which is another one of their edges in each order."""
    rim = np.arange(sides)
    tets = np.column_stack([np.zeros_like(rim), np.ones_like(rim), 2 + rim, 2 + (rim + 1) % sides])
    return TetMesh(fan(1, sides), tets[:, ORDERS[order]])
