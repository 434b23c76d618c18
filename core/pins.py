# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices that are held, or led along a path sampled once a frame."""

from __future__ import annotations

from torch import Tensor


class MovingPins:
    """Pinned vertices that follow a path.

    Args:
        vertices: (P,) indices.
        path: (T, 3, P) positions at the start and after each frame; the last one is kept.
    """

    def __init__(self, vertices: Tensor, path: Tensor) -> None:
        self.vertices, self._path = vertices, path

    def positions(self, frame: int, fraction: float) -> Tensor:
        """(3, P) positions a ``fraction`` of the way from ``frame`` to the next."""
        last = len(self._path) - 1
        before, after = self._path[min(frame, last)], self._path[min(frame + 1, last)]
        return before.lerp(after, fraction)
