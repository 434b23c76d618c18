# SPDX-License-Identifier: GPL-3.0-or-later
"""Gas inside of a body. No torch before it is at work."""

from __future__ import annotations

from dataclasses import dataclass

from .channel import Channel
from .forces import BodyForce


@dataclass(frozen=True)
class Pressure(BodyForce):
    """Of the gas in a body's hollows, or, where it has none, as if all of it were gas.

    Args:
        pascal: above that around the body; below 0 it is sucked in.
    """

    pascal: Channel


@dataclass(frozen=True)
class TargetVolume(BodyForce):
    """Of the gas in a body: what it swells or shrinks to, as far as its walls let it.

    Args:
        factors: on the volume that the gas has in the modelled shape.
        stiffness: in Pa, of the pressure for each whole of that volume that is missing.
    """

    factors: Channel
    stiffness: float
