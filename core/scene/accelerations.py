# SPDX-License-Identifier: GPL-3.0-or-later
"""What speeds up the vertices of a body besides. No torch before it is at work."""

from __future__ import annotations

from dataclasses import dataclass

from .channel import Channel
from .forces import BodyForce


@dataclass(frozen=True, eq=False)
class Accelerations(BodyForce):
    """Forces on single vertices, in proportion to their masses.

    Args:
        channel: of (N, 3) accelerations of the tet vertices of a body, in m/s².
    """

    channel: Channel
