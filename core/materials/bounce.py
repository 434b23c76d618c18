# SPDX-License-Identifier: GPL-3.0-or-later
"""Bounciness: the share of its height to which a body comes back, and its loss factor.

Rebounds of rubber follow exp(−π tan δ), tan δ at the frequency of the bounce (A. N. Gent (editor),
"Engineering with Rubber", 3rd edition, Hanser, 2012, on dynamic mechanical properties). A bounce is
slower than the slowest vibration, at which a body has its loss factor, and a Kelvin–Voigt solid
loses in proportion to the frequency.
"""

from __future__ import annotations

import math

#: A fall of one metre ends so fast, in m/s.
LANDING_SPEED = math.sqrt(2.0 * 9.81)
# Twists are the slowest vibration of a ball, of this frequency times its radius over the speed of
# shear waves (Lamb, "On the Vibrations of an Elastic Sphere", 1881).
_TWIST = 2.50


def contact_seconds(
    inverse_mass: float, curvature: float, compliance: float, speed: float
) -> float:
    """Return for how long elastic balls touch that hit each other, 2.87 (m²/(R E*² v))^(1/5).

    Source: Johnson, "Contact Mechanics", Cambridge University Press, 1985, section 11.4.

    Args:
        inverse_mass, curvature, compliance: 1/m in 1/kg, 1/R in 1/m and 1/E* in 1/Pa, each the sum
            over both; E* = E/(1 − ν²).
        speed: with which they close, in m/s.
    """
    power = compliance**2 * curvature / (inverse_mass**2 * speed)
    return float(2.87 * power**0.2)


def frequency_ratio(young: float, poisson: float, density: float) -> float:
    """Return the frequency of a bounce over that of the slowest vibration, for a ball of any size.

    A bounce is half a swing as long as a ball touches that has fallen by one metre. The ratio is
    within a quarter of that of dropped balls, from cork to silicone (docs/physics.md).

    Args:
        young: Young's modulus in Pa, above 0.
        poisson: Poisson's ratio.
        density: in kg/m³, above 0.
    """
    mass, compliance = 4.0 / 3.0 * math.pi * density, (1.0 - poisson**2) / young
    seconds = contact_seconds(1.0 / mass, 1.0, compliance, LANDING_SPEED)
    wave_speed = math.sqrt(young / (2.0 * (1.0 + poisson) * density))
    return math.pi / (seconds * _TWIST * wave_speed)


def undamped_rebound(young: float, poisson: float, density: float) -> float:
    """Return the share of its height to which a ball without damping bounces back from one metre.

    The rest is left in vibrations: 0.9 (v/c)² times what comes back, of the landing speed v and the
    speed c of shear waves. That is within 0.1 of dropped balls up to v = c (docs/physics.md).

    Args:
        young: Young's modulus in Pa, above 0.
        poisson: Poisson's ratio.
        density: in kg/m³, above 0.
    """
    squared_wave_speed = young / (2.0 * (1.0 + poisson) * density)
    return 1.0 / (1.0 + 0.9 * LANDING_SPEED**2 / squared_wave_speed)


def bounciness(loss_factor: float, young: float, poisson: float, density: float) -> float:
    """Return the share of its height, from 0 to 1, to which a ball bounces back from one metre.

    Args:
        loss_factor: tan δ of the slowest vibration, 0 or more.
        young, poisson, density: in Pa, 1 and kg/m³.
    """
    ratio = frequency_ratio(young, poisson, density)
    return undamped_rebound(young, poisson, density) * math.exp(-math.pi * ratio * loss_factor)


def loss_factor(share: float, young: float, poisson: float, density: float) -> float:
    """Return the loss factor with which a ball bounces back to a share of its height.

    It is 0 for shares that no damping lets it reach.

    Args:
        share: above 0, up to 1.
        young, poisson, density: in Pa, 1 and kg/m³.
    """
    ratio = frequency_ratio(young, poisson, density)
    damped = share / undamped_rebound(young, poisson, density)
    return max(0.0, -math.log(damped) / (math.pi * ratio))
