# SPDX-License-Identifier: GPL-3.0-or-later
"""Embedded points as compiled loops want them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..potentials.ground_points import EmbeddedPoints


class PointArrays:
    """Points on a CPU, with room to work in.

    Args:
        points: those of one tet one after the other.
    """

    def __init__(self, points: EmbeddedPoints) -> None:
        #: (S, 4) each.
        self.corners = np.ascontiguousarray(points.corners.cpu().numpy().T.astype(np.int32))
        self.shares = np.ascontiguousarray(points.shares.cpu().numpy().T)
        first = np.ones(len(self.corners), dtype=bool)
        first[1:] = (self.corners[1:] != self.corners[:-1]).any(axis=1)
        #: (G + 1,) where the points of each tet begin.
        self.groups = np.append(np.flatnonzero(first), len(first)).astype(np.int32)
        below = -np.minimum(self.shares, 0.0).sum(axis=1)
        #: (G,) by what share of a tet's height its points may lie below its corners.
        self.outside: NDArray[Any] = np.maximum.reduceat(below, self.groups[:-1])
        count, kind = len(self.corners), self.shares.dtype
        #: (S,) to work with.
        self.near = np.zeros(count, dtype=np.int32)
        #: (S,), (S, 2) and (G,) what one step leaves for the next.
        self.forces, self.friction_forces = (
            np.zeros(count, dtype=kind),
            np.zeros((count, 2), dtype=kind),
        )
        self.was_near = np.zeros(len(self.groups) - 1, dtype=np.bool_)

    def forget(self) -> None:
        """Begins anew."""
        self.forces[:], self.friction_forces[:], self.was_near[:] = 0.0, 0.0, False
