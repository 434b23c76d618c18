# SPDX-License-Identifier: GPL-3.0-or-later
"""What speeds up the vertices of a body besides. No torch before it is at work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from .channel import Channel

if TYPE_CHECKING:
    from ..potentials import Potential
    from ..system import System


@dataclass(frozen=True, eq=False)
class Accelerations:
    """Forces on single vertices, in proportion to their masses.

    Args:
        channel: of (N, 3) accelerations of the tet vertices of a body, in m/s².
    """

    channel: Channel

    def potential(self, system: System, body: int) -> Potential:
        """What they do to the body of that index."""
        from ..potentials.vertex_accelerations import VertexAccelerations

        where = system.body_slices()[body]
        channel = self.channel.mapped(lambda samples: samples.swapaxes(1, 2))
        return VertexAccelerations(system.mass, where, system.tensor_channel(channel))
