# SPDX-License-Identifier: GPL-3.0-or-later
"""Map velocities over a part of a step."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Span:
    """A part of a step, over which velocities become r v + σ a.

    Args:
        retention, impulse: (N,) r, and σ in seconds.
        grad_retention, grad_impulse: (N,) gradients by both, which grow.
    """

    retention: Tensor
    impulse: Tensor
    grad_retention: Tensor
    grad_impulse: Tensor

    def add(self, upstream: Tensor, velocities: Tensor, accelerations: Tensor) -> None:
        """Add the gradients by r and σ, from (3, N) gradients by r v + σ a."""
        self.grad_retention.add_((upstream * velocities).sum(0))
        self.grad_impulse.add_((upstream * accelerations).sum(0))

    def add_retention(self, upstream: Tensor, values: Tensor) -> None:
        """Add the gradient by r, from (3, N) gradients by r times values."""
        self.grad_retention.add_((upstream * values).sum(0))
