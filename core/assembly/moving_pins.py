# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices whose motion is prescribed."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from .tensor_channel import TensorChannel


@dataclass(frozen=True)
class MovingPins:
    """Pinned vertices that follow a path.

    Args:
        vertices: (P,) indices.
        path: channel of their (3, P) positions.
    """

    vertices: Tensor
    path: TensorChannel

    def positions(self, frame: int, fraction: float) -> Tensor:
        """(3, P) positions a ``fraction`` of the way from ``frame`` to the next."""
        return self.path.at(frame, fraction)
