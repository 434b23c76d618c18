# SPDX-License-Identifier: GPL-3.0-or-later
"""A fluid at rest that bodies float and sink in. No torch before it is at work."""

from __future__ import annotations

from dataclasses import dataclass

from . import checks
from .forces import DescribedForce


@dataclass(frozen=True)
class Fluid(DescribedForce):
    """A still fluid below a level, everywhere. It carries what the material of bodies displaces,
    as if their hollows were full of it, and slows them.

    Args:
        level: z of its surface in metres.
        density: in kg/m³.
        drag: the drag coefficient, that of a body which faces the flow with a quarter of its
            surface, as convex ones do in the mean.
        damping: rate in 1/s at which velocities in it decay besides.
    """

    level: float = 0.0
    density: float = 1000.0
    drag: float = 1.0
    damping: float = 0.5

    def __post_init__(self) -> None:
        checks.finite(self.level, "Fluid: the level")
        checks.above_zero(self.density, "Fluid: the density in kg/m³")
        checks.at_least_zero(self.drag, "Fluid: the drag coefficient")
        checks.at_least_zero(self.damping, "Fluid: the damping per second")
