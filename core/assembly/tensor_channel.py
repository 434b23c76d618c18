# SPDX-License-Identifier: GPL-3.0-or-later
"""A channel as tensors, where integrators read it in every step."""

from __future__ import annotations

from torch import Tensor

from ..scene.channel import around


class TensorChannel:
    """
    Args:
        samples: (T, ...) as a ``Channel`` has them, on the device.
    """

    def __init__(self, samples: Tensor) -> None:
        self.samples = samples

    @property
    def is_constant(self) -> bool:
        return len(self.samples) == 1

    def largest(self) -> Tensor:
        """Of each number the most that it ever is."""
        return self.samples.amax(0)

    def at(self, frame: int, fraction: float) -> Tensor:
        """What it is a ``fraction`` of the way from ``frame`` to the next."""
        first, second = around(frame, len(self.samples))
        return self.samples[first].lerp(self.samples[second], fraction)
