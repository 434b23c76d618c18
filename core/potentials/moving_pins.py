# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices whose motion is prescribed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..assembly.tensor_channel import TensorChannel
from ..scene.channel import Channel
from ..scene.soft_body import SoftBody


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
    def of(
        bodies: Sequence[SoftBody], offsets: Sequence[int], template: Tensor
    ) -> MovingPins | None:
        """Those of all bodies; None where all stay.

        Args:
            offsets: index of the first vertex of each body.
            template: on the device and of the precision to work in.
        """
        moving = [
            (start + body.pinned, body.pin_path)
            for start, body in zip(offsets, bodies, strict=False)
            if body.pinned is not None and body.pin_path is not None
        ]
        if not moving:
            return None
        vertices = np.concatenate([indices for indices, _ in moving]).astype(np.int64)
        path = Channel.side_by_side([path for _, path in moving])
        components_first = path.mapped(lambda samples: samples.swapaxes(1, 2))
        return MovingPins(
            torch.as_tensor(vertices, device=template.device),
            TensorChannel.of(components_first, template),
        )

    def positions(self, frame: int, fraction: float) -> Tensor:
        """(3, P) positions a ``fraction`` of the way from ``frame`` to the next."""
        return self.path.at(frame, fraction)
