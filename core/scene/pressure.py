# SPDX-License-Identifier: GPL-3.0-or-later
"""Gas inside of a body. No torch before it is at work."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..geometry.gas_boundary import gas_boundary
from .channel import Channel

if TYPE_CHECKING:
    from ..potentials import Potential
    from ..potentials.enclosed_volume import EnclosedVolume
    from ..system import System
    from .soft_body import SoftBody


@dataclass(frozen=True)
class Pressure:
    """Of the gas in a body's hollows, or, where it has none, as if all of it were gas.

    Args:
        pascal: above that around the body; below 0 it is sucked in.
    """

    pascal: Channel

    def potential(self, system: System, body: int) -> Potential:
        """The energy −p V of the body of that index."""
        from ..potentials import Pressure as PressureEnergy

        return PressureEnergy(system.tensor_channel(self.pascal), _gas(system, body))


@dataclass(frozen=True)
class TargetVolume:
    """Of the gas in a body: what it swells or shrinks to, as far as its walls let it.

    Args:
        factors: on the volume that the gas has in the modelled shape.
        stiffness: in Pa, of the pressure for each whole of that volume that is missing.
    """

    factors: Channel
    stiffness: float

    def potential(self, system: System, body: int) -> Potential:
        """The energy k (V − f V₀)² / 2 V₀ of the body of that index."""
        from ..potentials import TargetVolume as TargetVolumeEnergy

        factors = system.tensor_channel(self.factors)
        return TargetVolumeEnergy(factors, self.stiffness, _gas(system, body))


def _gas(system: System, body: int) -> EnclosedVolume:
    from ..potentials.enclosed_volume import EnclosedVolume

    triangles, weights = gas_boundary(system.meshes[body])
    first, name = system.vertex_offsets[body], system.bodies[body].name
    return EnclosedVolume(triangles + first, weights, system.rest_positions(), name)


def burst_warning(bodies: Sequence[SoftBody]) -> str:
    """A sentence more for messages on what diverges: on the bodies with gas inside, if any."""
    names = ", ".join(body.name for body in bodies if body.has_gas)
    if not names:
        return ""
    return f" The pressure inside of {names} may have burst what holds it: lower it."
