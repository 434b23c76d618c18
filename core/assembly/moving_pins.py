# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices whose motion is prescribed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..scene.channel import Channel
from .tensor_channel import TensorChannel

if TYPE_CHECKING:
    from ..system import System


@dataclass(frozen=True)
class MovingPins:
    """Pinned vertices that follow a path.

    Args:
        vertices: (P,) indices.
        path: channel of their (3, P) positions.
    """

    vertices: Tensor
    path: TensorChannel

    @staticmethod
    def of(system: System) -> MovingPins | None:
        """Those of all bodies; None where all stay."""
        moving = [
            (start + body.pinned, body.pin_path)
            for start, body in zip(system.vertex_offsets, system.bodies, strict=False)
            if body.pinned is not None and body.pin_path is not None
        ]
        if not moving:
            return None
        vertices = np.concatenate([indices for indices, _ in moving]).astype(np.int64)
        path = Channel.side_by_side([path for _, path in moving])
        components_first = path.mapped(lambda samples: samples.swapaxes(1, 2))
        return MovingPins(
            torch.as_tensor(vertices, device=system.device),
            system.tensor_channel(components_first),
        )

    def positions(self, frame: int, fraction: float) -> Tensor:
        """(3, P) positions a ``fraction`` of the way from ``frame`` to the next."""
        return self.path.at(frame, fraction)
