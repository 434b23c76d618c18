# SPDX-License-Identifier: GPL-3.0-or-later
"""What velocities become over a part of a step."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Span:
    """A part of a step, over which velocities become r v + σ a.

    Args:
        retention, impulse: (N,) r, and σ in seconds.
        by_retention, by_impulse: (N,) gradients by both, which grow.
    """

    retention: Tensor
    impulse: Tensor
    by_retention: Tensor
    by_impulse: Tensor

    def add(self, wanted: Tensor, velocities: Tensor, accelerations: Tensor) -> None:
        """Of (3, N) gradients by r v + σ a, those by r and σ."""
        self.by_retention.add_((wanted * velocities).sum(0))
        self.by_impulse.add_((wanted * accelerations).sum(0))

    def add_retention(self, wanted: Tensor, values: Tensor) -> None:
        """Of (3, N) gradients by r times values, that by r."""
        self.by_retention.add_((wanted * values).sum(0))
