# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounciness: the share of its height to which a body comes back, and its loss factor.

Rebounds of rubber follow exp(−π tan δ), tan δ at the frequency of the bounce (A. N. Gent (editor),
"Engineering with Rubber", 3rd edition, Hanser, 2012, on dynamic mechanical properties). A bounce is
slower than the slowest vibration, at which a body has its loss factor, and a Kelvin–Voigt solid
loses in proportion to the frequency.
"""

from __future__ import annotations

import math

#: Frequency of a bounce over that of the slowest vibration of a free body: measured on dropped
#: balls, 0.27 to 0.56 for solids between foam and silicone (docs/physics.md).
BOUNCE_FREQUENCY_RATIO = 1.0 / 3.0


def bounciness(loss_factor: float) -> float:
    """Return the share of its height to which damping lets a body bounce back, from 0 to 1.

    Args:
        loss_factor: tan δ of the slowest vibration, 0 or more.
    """
    return math.exp(-math.pi * BOUNCE_FREQUENCY_RATIO * loss_factor)


def loss_factor(share: float) -> float:
    """Return the loss factor with which a body bounces back to a share of its height.

    Args:
        share: above 0, up to 1.
    """
    return max(0.0, -math.log(share) / (math.pi * BOUNCE_FREQUENCY_RATIO))
