# SPDX-License-Identifier: GPL-3.0-or-later
"""Still air that holds a body back. No torch before it is at work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .channel import Channel
from .forces import BodyForce


@dataclass(frozen=True, eq=False)
class Drag(BodyForce):
    """A force against all motion of a body, in proportion to its mass.

    Args:
        rate: channel of the rate in 1/s at which velocities decay.
        factors: on it, a number or (M,) one a tet.
    """

    rate: Channel
    factors: float | NDArray[np.float64] = 1.0
