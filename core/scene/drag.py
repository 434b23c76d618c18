# SPDX-License-Identifier: GPL-3.0-or-later
"""Still air that holds a body back. No torch before it is at work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .channel import Channel

if TYPE_CHECKING:
    from ..potentials import Potential
    from ..system import System


@dataclass(frozen=True, eq=False)
class Drag:
    """A force against all motion of a body, in proportion to its mass.

    Args:
        rate: channel of the rate in 1/s at which velocities decay.
        factors: on it, a number or (M,) one a tet.
    """

    rate: Channel
    factors: float | NDArray[np.float64] = 1.0

    def potential(self, system: System, body: int) -> Potential:
        """What it takes from a step of the body of that index."""
        import torch

        from ..potentials.drag import DragForce

        mesh, density = system.meshes[body], system.bodies[body].density
        masses = np.zeros(system.vertex_count)
        first = system.vertex_offsets[body]
        own = mesh.lumped_mass(density * np.asarray(self.factors, dtype=np.float64))
        masses[first : first + len(own)] = own
        return DragForce(system.tensor_channel(self.rate), torch.as_tensor(masses).to(system.mass))
