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
        import torch

        from ..assembly.tensor_channel import TensorChannel
        from ..potentials import Pressure as PressureEnergy

        triangles, weights = gas_boundary(system.meshes[body])
        samples = torch.as_tensor(self.pascal.samples).to(system.mass)
        rest, name = system.rest_positions(), system.bodies[body].name
        first = system.vertex_offsets[body]
        return PressureEnergy(TensorChannel(samples), triangles + first, weights, rest, name)


def burst_warning(bodies: Sequence[SoftBody]) -> str:
    """A sentence more for messages on what diverges: on the bodies with gas inside, if any."""
    names = ", ".join(body.name for body in bodies if body.has_pressure)
    if not names:
        return ""
    return f" The pressure inside of {names} may have burst what holds it: lower it."
