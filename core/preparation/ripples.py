# SPDX-License-Identifier: GPL-3.0-or-later
"""How viscous a body must be for ripples on it to die away while it goes on wobbling.

A block of height H that stands on its face shears to and fro at no less than ω = (π / 2H) √(G / ρ).
At that rate a Kelvin–Voigt solid of viscosity η has the loss factor tan δ = η ω / G (Ferry,
"Viscoelastic Properties of Polymers", 1980, chapter 1): of a wave k times as fast it is k times as
much, and half of that is its damping ratio.
"""

from __future__ import annotations

import math

#: Of the slowest wobble, where nobody has chosen a viscosity: it loses 6 % from swing to swing,
#: and one ten times as fast half of its height. Gelatine has 0.03 (Bonavia 2025).
DEFAULT_LOSS_FACTOR = 0.02


def default_viscosity(
    size: float,
    young: float,
    poisson: float,
    density: float,
    loss_factor: float = DEFAULT_LOSS_FACTOR,
) -> float:
    """Viscosity in Pa s with which the slowest wobble of a body has a loss factor.

    Args:
        size: of the body where it is longest, in metres.
        young: Young's modulus in Pa.
        poisson: Poisson's ratio.
        density: in kg/m³.
        loss_factor: tan δ of that wobble.
    """
    shear_modulus = young / (2.0 * (1.0 + poisson))
    slowest = 0.5 * math.pi / size * math.sqrt(shear_modulus / density)
    return loss_factor * shear_modulus / slowest
