# SPDX-License-Identifier: GPL-3.0-or-later
"""The longest time step at which an explicit scheme stays bounded."""

from __future__ import annotations

import math

import torch

from ..system import System

# The Rayleigh quotient approaches the largest eigenvalue from below; this many products bring it
# within a few per cent, which the margin of the caller covers.
POWER_ITERATIONS = 50
# Of the finite difference, in units of the shortest wave's length: far above rounding, far below
# where the material's nonlinearity would be felt.
DIFFERENCE = 1e-4


def critical_step(system: System) -> float:
    """2 / ω in seconds, ω the highest frequency of the elastic system at rest.

    Symplectic Euler and the central difference scheme are stable below it (Hairer, Lubich and
    Wanner, "Geometric Numerical Integration", 2nd edition, section I.5). ω² is the largest
    eigenvalue of M⁻¹K, found by power iteration on differences of the gradient. In terms of the
    mesh: the shortest edge over the speed of the fastest wave, √((λ + 2μ)/ρ), times a factor near
    one that depends on the shape of the tets.
    """
    rest = system.rest_positions()
    scale = DIFFERENCE * system.shortest_edge()
    # A fixed start vector, so that the same scene gets the same step; float64 on the CPU
    # generator, so that every device does.
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(rest.shape, generator=generator, dtype=torch.float64)
    direction = start.to(rest) * (system.inverse_mass > 0.0)
    eigenvalue = 0.0
    for _ in range(POWER_ITERATIONS):
        direction = direction / direction.abs().max()
        difference = torch.zeros_like(rest)
        system.add_gradient(rest - scale * direction, difference)
        difference.neg_()
        system.add_gradient(rest + scale * direction, difference)
        image = system.inverse_mass * difference / (2.0 * scale)
        weighted = system.mass * direction
        eigenvalue = float((weighted * image).sum() / (weighted * direction).sum())
        if not eigenvalue > 0.0:
            break
        direction = image
    return 2.0 / math.sqrt(eigenvalue) if eigenvalue > 0.0 else math.inf
