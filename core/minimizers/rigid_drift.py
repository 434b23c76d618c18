# SPDX-License-Identifier: GPL-3.0-or-later
"""How far the forces that a search leaves over would carry whole bodies."""

from __future__ import annotations

import torch
from torch import Tensor

from ..system import System

# Rounding of the forces on its vertices is below so many units of the sum of their sizes.
ROUND_OFF_FACTOR = 16.0


class RigidDrift:
    """Of the bodies without pins, whose inertia alone holds them where nothing touches.

    A Newton step may be short since surfaces that all but meet are stiff in all directions, while
    the body has its way still to go; the net force tells.

    Args:
        system: of those bodies.
    """

    def __init__(self, system: System) -> None:
        slices = system.body_slices()
        # Pinned bodies have the number after the last free one.
        self._count = 0
        numbers = torch.empty(len(system.free), dtype=torch.long)
        free = [bool(system.free[where].all()) for where in slices]
        for where, is_free in zip(slices, free, strict=True):
            numbers[where] = self._count if is_free else sum(free)
            self._count += is_free
        self._numbers = numbers.to(system.device)
        self._masses = system.mass.new_zeros(len(slices) + 1)
        self._masses.index_add_(0, self._numbers, system.mass)
        self._round_off = ROUND_OFF_FACTOR * torch.finfo(system.dtype).eps

    def __call__(self, gradient: Tensor, step: float) -> float:
        """The largest, h² |Σ ∂E/∂x| / m, in metres.

        Args:
            gradient: (3, N) of an incremental potential, in newtons.
            step: h, in seconds.
        """
        if self._count == 0:
            return 0.0
        # The sums of the forces along each axis, and of their sizes.
        sums = gradient.new_zeros(6, len(self._masses))
        sums.index_add_(1, self._numbers, torch.cat([gradient, gradient.abs()]))
        net = (sums[:3].abs() - self._round_off * sums[3:]).clamp(min=0.0)
        accelerations = torch.linalg.vector_norm(net, dim=0) / self._masses
        return step * step * float(accelerations[: self._count].max())
