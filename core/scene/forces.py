# SPDX-License-Identifier: GPL-3.0-or-later
"""The forces on a scene or a body that are described by a few numbers. No torch here.

The registry of ``potentials`` makes their energies.

The registry of ``potentials`` makes the energies of the forces that are described here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from . import checks
from .channel import Channel


class DescribedForce:
    """Base of the dataclasses that describe a force on all bodies of a scene."""


class BodyForce:
    """Base of the dataclasses that describe a force on one body, such as the pressure in it."""


@runtime_checkable
class CustomForce(Protocol):
    """A force of a script: anything that makes an energy of a scene as tensors."""

    def potential(self, system: Any) -> Any:
        """Return the ``Potential`` whose gradient, taken away, is the force; or several."""
        ...


Force = DescribedForce | CustomForce


@dataclass(frozen=True, eq=False)
class Accelerations(BodyForce):
    """Forces on single vertices, in proportion to their masses.

    Args:
        channel: of (N, 3) accelerations of the tet vertices of a body, in m/s².
    """

    channel: Channel


@dataclass(frozen=True, eq=False)
class Drag(BodyForce):
    """A force against all motion of a body, in proportion to its mass.

    Args:
        rate: channel of the rate in 1/s at which velocities decay.
        factors: on it, a number or (M,) one a tet.
    """

    rate: Channel
    factors: float | NDArray[np.float64] = 1.0


@dataclass(frozen=True)
class Pressure(BodyForce):
    """The pressure of the gas in a body's hollows; a body without gas counts as all gas.

    Args:
        pascal: above that around the body; below 0 it is sucked in.
    """

    pascal: Channel


@dataclass(frozen=True)
class TargetVolume(BodyForce):
    """The volume that the gas in a body swells or shrinks to, as far as its walls let it.

    Args:
        factors: on the volume that the gas has in the modelled shape.
        stiffness: in Pa, of the pressure for each whole of that volume that is missing.
    """

    factors: Channel
    stiffness: float


@dataclass(frozen=True)
class Fluid(DescribedForce):
    """A still fluid below a level, everywhere. Its buoyancy acts on the volume of the bodies'
    material, as if hollows were full of fluid, and its drag slows them.

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
